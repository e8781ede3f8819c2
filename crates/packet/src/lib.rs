//! The packet engine: what happens on a congested link, packet by packet.
//!
//! ```no_run
//! # fn scenario() -> ackclock_scenario::Scenario { unimplemented!() }
//! let outcome = ackclock_packet::run(&scenario(), &ackclock_packet::Options::default())?;
//! println!("{}", outcome.links[0].utilization);
//! # Ok::<(), ackclock_packet::Error>(())
//! ```

mod access;
mod bitmap;
mod calendar;
mod class;
mod draw;
mod engine;
mod finish;
mod flow;
mod link;
mod one_way;
mod outcome;
mod packet;
mod probe;
mod ring;
mod setup;
mod tcp;
mod traffic;

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use ackclock_algorithms::Time;
use ackclock_scenario::{End, Scenario, Traffic};

use engine::Engine;
pub use outcome::{
    ClassOutcome, FlowOutcome, FlowTrace, Ledger, LinkOutcome, LinkTrace, Outcome, Traces,
    TransferOutcome,
};
pub use tcp::drive::{Arrival, Departure, Endpoint, Info};

/// How to run a scenario, and what to record. The default records no traces.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Force the general path of the engine: an event for each transmission and each arrival. The
    /// results are the same, bit for bit.
    pub general: bool,
    /// What is recorded over time.
    pub traces: TraceSelection,
    /// Seed instead of the scenario's own, for replications.
    pub seed: Option<u64>,
    /// Where a user's own algorithm reports that it failed.
    pub abort: Option<Abort>,
}

/// Which traces are recorded.
#[derive(Clone, Debug, Default)]
pub struct TraceSelection {
    /// Every link's queue.
    pub links: bool,
    /// These flows' windows.
    pub flows: FlowSelection,
    /// They will be taken in pieces while the run goes on ([`Simulation::take_traces`]).
    pub streamed: bool,
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

    fn take(&self) -> Option<(f64, String)> {
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
        /// What it said.
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

/// A run in progress.
pub struct Simulation {
    engine: Engine,
    names: Vec<String>,
}

impl Simulation {
    /// Sets up a run.
    ///
    /// # Errors
    /// [`Error::Unsupported`] names what the engine cannot do.
    pub fn new(scenario: &Scenario, options: &Options) -> Result<Self, Error> {
        let names = scenario
            .links
            .iter()
            .map(|link| link.name.clone())
            .collect();
        Ok(Self {
            engine: setup::build(scenario, options)?,
            names,
        })
    }

    /// Runs at most `events` events.
    ///
    /// # Errors
    /// [`Error::Algorithm`] when a user's own algorithm has failed.
    pub fn step(&mut self, events: u64) -> Result<Progress, Error> {
        let done = self.engine.step(events)?;
        Ok(Progress {
            now: Time(self.engine.now.min(self.engine.end)).seconds(),
            end: (self.engine.end != u64::MAX).then(|| Time(self.engine.end).seconds()),
            departures: self
                .engine
                .links
                .iter()
                .map(|link| link.counters.starts)
                .sum(),
            done,
        })
    }

    /// Takes the samples since the last call, if they fill at least `bytes` bytes; `None`
    /// otherwise. Called often, it keeps the memory of long traces bounded. Samples that are never
    /// taken are in [`Outcome::traces`].
    pub fn take_traces(&mut self, bytes: usize) -> Option<Traces> {
        self.engine.recorder.take(bytes)
    }

    /// The class of flow `flow`, by index in the scenario.
    ///
    /// # Panics
    /// If there is no such flow.
    #[must_use]
    pub fn class_of(&self, flow: usize) -> usize {
        assert!(flow < self.engine.rows.len(), "there is no flow {flow}");
        self.engine.class_of(flow)
    }

    /// Ends the run and takes its results.
    ///
    /// # Errors
    /// [`Error::Conservation`] when the counters do not balance.
    pub fn finish(self) -> Result<Outcome, Error> {
        finish::finish(self.engine, self.names)
    }

    /// A rough estimate of the memory that a run will need, in bytes: flows with 64 segments each
    /// in flight, full queues and traces. It is no bound: flows with larger windows need more.
    #[must_use]
    pub fn memory_estimate(scenario: &Scenario, options: &Options) -> u64 {
        let mut bytes = 0_u64;
        let samples = match scenario.end {
            End::At(end) => end.0 / setup::sample_interval(scenario) + 1,
            End::UntilDone => 100_000,
        };
        // of traces taken in pieces few samples are held
        let samples = if options.traces.streamed {
            samples.min(10_000)
        } else {
            samples
        };
        for id in 0..scenario.flows.len() {
            let count = u64::from(scenario.max_count(id));
            let in_flight = 64;
            let flow = size_of::<flow::Flow>() as u64 + 64 * in_flight;
            // connections last for a second or two and rest for one
            let open = match scenario.flows[id].traffic {
                Traffic::Arrivals { rate, .. } | Traffic::PackMime { rate, .. } => {
                    (3.0 * rate).min(1e9) as u64
                }
                _ => 0,
            };
            bytes = bytes.saturating_add(count.saturating_mul(1 + open).saturating_mul(flow));
            let traced = match &options.traces.flows {
                FlowSelection::None => 0,
                FlowSelection::All => count,
                FlowSelection::PerClass(n) => count.min(u64::from(*n)),
                FlowSelection::List(list) => list.len() as u64,
            };
            bytes = bytes.saturating_add(traced.saturating_mul(samples).saturating_mul(32));
        }
        for link in &scenario.links {
            let waiting = link::in_packets(link.capacity, 64.0).min(link.rate / 512.0);
            bytes = bytes.saturating_add((waiting.min(1e12) as u64).min(1 << 40) * 24);
            if options.traces.links {
                bytes = bytes.saturating_add(samples.saturating_mul(64));
            }
        }
        bytes
    }
}

/// Runs a scenario to its end.
///
/// # Errors
/// See [`Error`].
pub fn run(scenario: &Scenario, options: &Options) -> Result<Outcome, Error> {
    let mut simulation = Simulation::new(scenario, options)?;
    while !simulation.step(1 << 20)?.done {}
    simulation.finish()
}
