//! What senders and routers do, as pure code: no clock, no I/O, no engine, no allocation per packet.
//!
//! One algorithm is one file (in [`congestion`] or [`aqm`]) that holds everything about it: parameters with unit, default, range and
//! source, its behaviour per packet, its fluid law where one exists, its citation and its tests. One line in [`registry`] makes it known
//! to the scenario language, the command line, the documentation and the parametrised tests.

pub mod aqm;
pub mod congestion;
pub mod fluid;
pub mod params;
mod random;
pub mod registry;
mod scalar;
mod time;

pub use params::{
    DefaultValue, Fault, Interval, Kind, NumberOr, ParameterSpec, Parameters, Value, ValueError,
};
pub use random::{Owner, Stream};
pub use scalar::Scalar;
pub use time::Time;
