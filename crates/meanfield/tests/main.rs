//! Tests of the mean-field engine from outside: one binary, because linking takes longer than testing.

mod common;
mod dynamics;
mod scenario;
mod stability;
mod stationary;

mod reference {
    pub(crate) mod monte_carlo;
}
