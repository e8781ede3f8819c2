//! Tests of the scenario language from outside: one binary, because linking takes longer than
//! testing.

mod bad_input;
mod corpus;
mod language;
mod properties;
mod shipped;
mod traffic;
mod trees;
