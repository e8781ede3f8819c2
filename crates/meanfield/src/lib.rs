//! Placeholder of the crate's first commit.
