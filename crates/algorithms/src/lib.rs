//! The algorithms of senders and routers as pure code: no clock, no I/O, no engine, no allocation per
//! packet.
//!
//! One algorithm is one file (in [`congestion`], [`aqm`], [`scheduler`], [`service`] or [`impairment`]) that
//! holds everything about it: parameters with unit, default, range and source, its behaviour per
//! packet, its fluid law where one exists, its citation and its tests. One line in the `mod.rs`
//! beside it makes it known to the scenario language, the command line, the documentation, the
//! engines and the tests that run over every algorithm.
//!
//! # Adding an algorithm
//!
//! 1. Write the file. [`parameters!`] declares the parameters; the struct that it makes implements
//!    [`Algorithm`](meta::Algorithm) (name, summary, citation, consistency of parameters),
//!    [`CongestionAlgorithm`](congestion::CongestionAlgorithm) or [`AqmAlgorithm`](aqm::AqmAlgorithm) (builds the working instance, which implements
//!    [`CongestionControl`](congestion::CongestionControl) or [`Aqm`](aqm::Aqm)) and, if there is a fluid law,
//!    [`FluidTcp`](fluid::FluidTcp) or [`FluidAqm`](fluid::FluidAqm). `congestion/aimd.rs` and `aqm/threshold.rs` are short examples.
//! 2. In `mod.rs` add `mod`, `pub use` and the line in the list, under "with fluid law" or "packets only".
//!
//! An algorithm built on another takes over its parameters (`include` in [`parameters!`]) and
//! calls its parts: see `aqm/adaptive_red.rs`.

pub mod aqm;
pub mod classes;
pub mod congestion;
pub mod fluid;
mod forward;
pub mod impairment;
pub mod library;
pub mod link;
pub mod meta;
pub mod params;
mod plain;
mod random;
pub mod registry;
mod scalar;
pub mod scheduler;
pub mod service;
mod time;

pub use params::{
    DefaultValue, Fault, Interval, Kind, NumberOr, ParameterSpec, Parameters, Value, ValueError,
};
pub use random::{Owner, Stream};
pub use scalar::Scalar;
pub use time::Time;
