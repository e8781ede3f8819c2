//! Tests of the fluid engine from outside: one binary, because linking takes longer than testing.

mod aqms;
mod charts;
mod common;
mod diagnoses;
mod end_host;
mod formulas;
mod lyapunov;
mod oscillation;
mod overflow;
mod papers;
mod schedulers;
mod senders;

mod reference {
    pub(crate) mod end_host;
    pub(crate) mod lyapunov;
}
