//! The packet engine: what happens on a congested link, packet by packet.
//!
//! ```no_run
//! # fn scenario() -> ackclock_scenario::Scenario { unimplemented!() }
//! let outcome = ackclock_packet::run(&scenario(), &ackclock_packet::Options::default())?;
//! println!("{}", outcome.links[0].utilization);
//! # Ok::<(), ackclock_packet::Error>(())
//! ```

mod access;
mod ack_reports;
mod bitmap;
mod calendar;
mod capture;
mod class;
mod draw;
mod engine;
mod finish;
mod flow;
mod follower;
mod link;
mod measurements;
mod medium;
mod memory;
mod one_way;
mod outcome;
mod packet;
mod polled;
mod prefetch;
mod probe;
mod ring;
mod setup;
mod simulation;
mod steering;
mod tcp;
mod traffic;

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use ackclock_algorithms::Time;

pub use outcome::{
    ClassOutcome, FlowOutcome, FlowTrace, Ledger, LinkOutcome, LinkTrace, Outcome, QueueAccount,
    Traces, TransferOutcome,
};
pub use simulation::{Simulation, run, with_controllers, with_endpoints};
pub use steering::Controllers;
pub use tcp::drive::{Arrival, Departure, Endpoint, Info};

/// How to run a scenario, and what to record. The default records no traces.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Force the general path of the engine: an event for each transmission and each arrival. The
    /// results are the same, bit for bit.
    pub general: bool,
    /// Series to record over time.
    pub traces: TraceSelection,
    /// Seed instead of the scenario's own, for replications.
    pub seed: Option<u64>,
    /// Where a user's own algorithm reports that it failed.
    pub abort: Option<Abort>,
    /// Packets to capture. Anything here takes the general path.
    pub captures: CaptureSelection,
}

/// Captures, to be taken while the run goes on ([`Simulation::take_captures`]).
#[derive(Clone, Debug, Default)]
pub struct CaptureSelection {
    /// Packets on these links, by index: at the entry, or (`true`) the exit.
    pub links: Vec<(usize, bool)>,
    /// Events of these flows' senders, by index over all classes.
    pub flows: Vec<usize>,
}

impl CaptureSelection {
    /// True if there is nothing to capture.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.links.is_empty() && self.flows.is_empty()
    }
}

/// The next bytes of each capture, in the order of [`CaptureSelection`].
#[derive(Clone, Debug, Default)]
pub struct Captured {
    /// Bytes of pcapng files.
    pub links: Vec<Vec<u8>>,
    /// Bytes of qlog files (JSON text sequences).
    pub flows: Vec<Vec<u8>>,
}

/// Which traces are recorded.
#[derive(Clone, Debug, Default)]
pub struct TraceSelection {
    /// Every link's queue.
    pub links: bool,
    /// These flows' windows.
    pub flows: FlowSelection,
    /// Equal parts of the measurement window in which the payload of every flow is counted; below
    /// two, and in a run until all is done: none.
    pub parts: u32,
    /// They will be taken in pieces while the run goes on ([`Simulation::take_traces`]).
    pub streamed: bool,
    /// Bytes of samples that a run may hold, beyond which it ends with an error: nothing else bounds
    /// those of a run until all is done.
    pub most_bytes: Option<u64>,
}

/// Some flows of a scenario.
#[derive(Clone, Debug, Default)]
pub enum FlowSelection {
    /// None.
    #[default]
    None,
    /// All.
    All,
    /// The first so many of each class.
    PerClass(u32),
    /// These, by index over all classes.
    List(Vec<usize>),
}

/// Where a user's own algorithm reports that it failed: the traits of the algorithms return no
/// errors. The engine stops soon after.
#[derive(Clone, Debug, Default)]
pub struct Abort(Arc<AbortCell>);

#[derive(Debug, Default)]
struct AbortCell {
    raised: AtomicBool,
    failure: Mutex<Option<(f64, String)>>,
}

impl Abort {
    /// Reports a failure at simulated time `at`; the first one counts.
    pub fn raise(&self, at: Time, message: String) {
        let mut failure = self
            .0
            .failure
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if failure.is_none() {
            *failure = Some((at.seconds(), message));
        }
        self.0.raised.store(true, Ordering::Release);
    }

    /// The first failure, and its simulated time, s.
    #[must_use]
    pub fn raised(&self) -> Option<(f64, String)> {
        if !self.0.raised.load(Ordering::Acquire) {
            return None;
        }
        self.0
            .failure
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

/// Why a run failed.
#[derive(Clone, Debug, PartialEq)]
pub enum Error {
    /// The scenario asks for something that the engine cannot do.
    Unsupported(String),
    /// The counters of a flow or a queue do not balance: a bug in the engine.
    Conservation(String),
    /// A user's own algorithm failed.
    Algorithm {
        /// Simulated time, s.
        at: f64,
        /// Its message.
        message: String,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsupported(message) => write!(f, "{message}"),
            Self::Conservation(message) => write!(
                f,
                "conservation of packets is violated (please report this): {message}"
            ),
            Self::Algorithm { at, message } => {
                write!(f, "at {at:.6} s of simulated time: {message}")
            }
        }
    }
}

impl std::error::Error for Error {}

/// How far a run has come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Simulated time, s.
    pub now: f64,
    /// When the run will end, s, if that is known.
    pub end: Option<f64>,
    /// Packets that have begun transmission, summed over all links.
    pub departures: u64,
    /// Nothing remains to be done.
    pub done: bool,
}
