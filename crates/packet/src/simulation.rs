//! A run from its set-up to its result.

use std::sync::Arc;

use ackclock_algorithms::Time;
use ackclock_algorithms::library::Endpoints;
use ackclock_algorithms::registry::CongestionSpec;
use ackclock_endpoint::{ControllerFactory, EndpointFactory};
use ackclock_scenario::{FlowClass, Scenario, WindowReduction};

use crate::engine::Engine;
use crate::{Abort, Captured, Controllers, Error, Options, Outcome, Progress, Traces};
use crate::{finish, link, setup};

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
    /// run until all is done takes longer than a time can hold, or waits for transfers that have
    /// been stopped, and when the samples held are more than
    /// [`TraceSelection::most_bytes`](crate::TraceSelection::most_bytes).
    pub fn step(&mut self, events: u64) -> Result<Progress, Error> {
        let done = self.engine.step(events)?;
        if self.engine.now >= link::schedule::NEVER_PS {
            return Err(Error::Unsupported(
                "the transfers are not done within 106 days of simulated time, the most that a run \
                 can take"
                    .to_owned(),
            ));
        }
        if !done && self.engine.waits_for_stopped_transfers() {
            return Err(Error::Unsupported(
                "duration \"until done\" has no end: the transfers that are not complete have been \
                 stopped, and other flows go on; give a duration in seconds"
                    .to_owned(),
            ));
        }
        if let Some(held) = self.engine.recorder.excess() {
            return Err(Error::Unsupported(format!(
                "the samples fill {:.3} GB of memory by {} s of simulated time; a longer `sample`, a \
                 duration in seconds or fewer traces need less",
                held as f64 * 1e-9,
                Time(self.engine.now).seconds()
            )));
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

    /// Takes what was captured since the last call, if any of it is at least `bytes` long; what is
    /// left at the end is taken with `bytes` = 0, after the last step and before
    /// [`Simulation::finish`].
    pub fn take_captures(&mut self, bytes: usize) -> Option<Captured> {
        let until = self.engine.now.min(self.engine.end);
        self.engine.capture.as_mut()?.take(bytes, until)
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
}

/// Puts a transport of others at the ends of the flows of class `class`, in place of the engine's
/// TCP; `options` is a text for it.
///
/// # Errors
/// [`Error::Unsupported`] if there is no such class.
pub fn with_endpoints(
    scenario: &mut Scenario,
    class: &str,
    factory: Arc<dyn EndpointFactory>,
    options: &str,
) -> Result<(), Error> {
    let endpoints = Endpoints {
        factory,
        options: options.to_owned(),
    };
    class_of(scenario, class)?.tcp.congestion = CongestionSpec::Custom(Arc::new(endpoints));
    Ok(())
}

/// Gives the TCP of class `class` congestion controllers of others; `options` is a text for them,
/// and `abort`, which goes into the [`Options`] of the run, stops it where one fails.
///
/// # Errors
/// [`Error::Unsupported`] if there is no such class.
pub fn with_controllers(
    scenario: &mut Scenario,
    class: &str,
    factory: Arc<dyn ControllerFactory>,
    options: &str,
    abort: &Abort,
) -> Result<(), Error> {
    let seed = scenario.seed;
    let class = class_of(scenario, class)?;
    let controllers = Controllers {
        factory,
        options: options.to_owned(),
        class: class.name.clone(),
        seed,
        payload: class.packet_size.saturating_sub(class.header_size).max(1),
        ecn: class.tcp.ecn,
        abort: abort.clone(),
    };
    class.tcp.reduction = WindowReduction::AtOnce; // the controller owns the window
    class.tcp.congestion = CongestionSpec::Custom(Arc::new(controllers));
    Ok(())
}

fn class_of<'s>(scenario: &'s mut Scenario, name: &str) -> Result<&'s mut FlowClass, Error> {
    let class = scenario.flows.iter_mut().find(|class| class.name == name);
    class.ok_or_else(|| Error::Unsupported(format!("there are no flows \"{name}\"")))
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
