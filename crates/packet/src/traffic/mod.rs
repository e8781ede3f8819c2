//! Traffic: what applications want sent, and how it fared.

pub(crate) mod application;
pub(crate) mod packmime;
pub(crate) mod transfers;
