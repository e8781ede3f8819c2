//! A run from its set-up to its result.

use ackclock_algorithms::Time;
use ackclock_algorithms::scheduler::{Scheduler as _, SchedulerView};
use ackclock_scenario::{End, Scenario, Traffic};

use crate::engine::Engine;
use crate::{Error, FlowSelection, Options, Outcome, Progress, Traces};
use crate::{finish, flow, link, setup};

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
    /// [`Error::Algorithm`] when a user's own algorithm has failed; [`Error::Unsupported`] when a
    /// run until all is done takes longer than a time can hold.
    pub fn step(&mut self, events: u64) -> Result<Progress, Error> {
        let done = self.engine.step(events)?;
        if self.engine.now >= link::schedule::NEVER {
            return Err(Error::Unsupported(
                "the transfers are not done within 106 days of simulated time, the most that a run \
                 can take"
                    .to_owned(),
            ));
        }
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
            if let Some(scheduler) = &link.scheduler {
                let flows = (0..scenario.flows.len()).map(|id| scenario.max_count(id));
                let queues = scheduler.build(&SchedulerView {
                    flows: flows.fold(0, |sum, count| count.saturating_add(sum)),
                    salt: 0,
                });
                bytes = bytes.saturating_add(queues.queues() as u64 * link::scheduled::SUB_QUEUE);
            }
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
