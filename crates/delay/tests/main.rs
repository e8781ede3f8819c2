//! Tests of delay equations from outside: one binary, because linking takes longer than testing.

mod common;
mod compound_red;
mod cycles;
mod hopf;
mod roots;
mod trajectories;

mod reference {
    pub(crate) mod fixed;
}
