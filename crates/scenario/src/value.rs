//! Values of keys that are more than a number.

use ackclock_algorithms::Time;

/// Index of a link in [`Scenario::links`](crate::Scenario::links).
pub type LinkId = usize;

/// Index of a class in [`Scenario::flows`](crate::Scenario::flows).
pub type ClassId = usize;

/// When a run ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum End {
    /// At this time.
    At(Time),
    /// When the last finite transfer has been acknowledged completely.
    UntilDone,
}

/// Limit of a queue, excluding the packet in service.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Capacity {
    /// At most so many packets wait.
    Packets(u32),
    /// At most so many bytes wait.
    Bytes(u64),
    /// No limit.
    Unlimited,
}

/// A number drawn once per flow from the flow's own stream.
#[derive(Clone, Debug, PartialEq)]
pub enum Distribution {
    /// The same for all.
    Fixed(f64),
    /// Flow `i` of the class takes entry `i` (modulo the length).
    List(Vec<f64>),
    /// Evenly spaced from the first to the second over the class's flows.
    Range(f64, f64),
    /// Uniform between the two.
    Uniform(f64, f64),
    /// Normal with mean and standard deviation, redrawn below zero.
    Normal(f64, f64),
    /// Exponential with this mean.
    Exponential(f64),
}
