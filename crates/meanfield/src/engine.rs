//! The engine: windows, queue and delay line step by step.

mod class;
mod events;
mod measure;
mod queue;
mod setup;

use crate::error::Error;
use crate::history::{QueueStep, Ring};
use crate::model::{Closure, Event, Model, Options};
use crate::outcome::{Balance, Outcome, Snapshot};
use class::ClassState;
use measure::{LinkLedger, Measured, Sampling};

/// Steps between two checks of the balances.
const CHECK_EVERY: u64 = 1 << 14;

/// A run of the mean-field engine.
///
/// Each class has a distribution of windows ([`WindowLaw`](crate::WindowLaw),
/// [`Hazard`](crate::Hazard)). What comes back to it through the delay line in a step, over what
/// was in flight when that was sent, is the growth of its windows, in round trips (Reynier 2006,
/// equation (5), with the queueing delay that the packets met and ACKs at the rate of the
/// bottleneck); the fraction of it that was dropped or marked is the loss per packet. What the
/// class sends in the step is what came back plus the change of the sum of its windows, so that
/// packets are conserved (equation (7) as corrected: `dF/dt = B - a`). When windows shrink faster
/// than packets come back, nothing is sent and the difference is owed.
#[derive(Clone, Debug)]
pub struct MeanField {
    model: Model,
    options: Options,
    dt: f64,
    step: u64,
    last: u64,
    events: Vec<Event>,
    next_event: usize,
    classes: Vec<ClassState>,
    /// Number of sources of each unresponsive traffic.
    sources: Vec<f64>,
    queue_steps: Ring<QueueStep>,
    queue: f64,
    aqm_state: Vec<f64>,
    scratch: [Vec<f64>; 3],
    probability: f64,
    ledger: LinkLedger,
    measured: Measured,
    sample: Sampling,
    balance: Balance,
    snapshots: Vec<Snapshot>,
    notes: Vec<String>,
    failed: Option<Error>,
}

impl MeanField {
    pub(crate) fn set_notes(&mut self, notes: Vec<String>) {
        self.notes = notes;
    }

    /// Caveats about how the model represents the scenario.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Simulated time, s.
    #[must_use]
    pub fn time(&self) -> f64 {
        self.step as f64 * self.dt
    }

    /// When the run ends, s.
    #[must_use]
    pub fn duration(&self) -> f64 {
        self.last as f64 * self.dt
    }

    /// Length of a step, s.
    #[must_use]
    pub fn time_step(&self) -> f64 {
        self.dt
    }

    /// Waiting packets now.
    #[must_use]
    pub fn queue(&self) -> f64 {
        self.queue
    }

    /// Mean window of the active flows of a class now, packets; NaN without any, or without such a
    /// class.
    #[must_use]
    pub fn window_mean(&self, class: usize) -> f64 {
        self.classes
            .get(class)
            .map_or(f64::NAN, |state| state.grid.packets() / state.flows)
    }

    /// Runs until `time` or the end, whichever comes first.
    ///
    /// # Errors
    /// If a balance is violated, or an event asks for what is not possible.
    pub fn run_until(&mut self, time: f64) -> Result<(), Error> {
        let until = if time >= self.duration() {
            self.last
        } else {
            (time / self.dt).max(0.0) as u64
        };
        while self.step < until {
            self.step()?;
        }
        Ok(())
    }

    /// Runs to the end and returns what was measured.
    ///
    /// # Errors
    /// As for [`MeanField::run_until`].
    pub fn finish(mut self) -> Result<Outcome, Error> {
        self.run_until(f64::INFINITY)?;
        self.check_balances()?;
        Ok(self.into_outcome())
    }

    /// Takes one step. Does nothing after the end.
    ///
    /// # Errors
    /// If a balance is violated, or an event asks for what is not possible.
    pub fn step(&mut self) -> Result<(), Error> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        if self.step >= self.last {
            return Ok(());
        }
        let now = self.time();
        while self.next_event < self.events.len()
            && self.events[self.next_event].at <= now + 0.5 * self.dt
        {
            let action = self.events[self.next_event].what.clone();
            self.next_event += 1;
            self.apply(action)
                .inspect_err(|error| self.failed = Some(error.clone()))?;
        }
        self.take_samples(now);
        let (mut arrivals, mut markable) = (0.0, 0.0);
        for state in &mut self.classes {
            match self.options.closure {
                Closure::DelayLine => {
                    let back = state.line.collect(self.step, &self.queue_steps);
                    state.rtt = state.class.rtt.max(state.line.age(self.step) * self.dt);
                    state.respond(back);
                }
                Closure::Little => {
                    let rtt = state.class.rtt + self.queue / self.model.bottleneck.rate;
                    state.follow_little(self.dt, rtt, self.step, &self.queue_steps);
                }
            }
            if state.debt > 0.0 {
                self.balance.debt = self.balance.debt.max(state.debt);
                self.balance.debt_steps += 1;
            }
            if state.flight <= 0.0 && state.flows > 0.0 {
                let error = state.below_a_cell();
                self.failed = Some(error.clone());
                return Err(error);
            }
            arrivals += state.arrivals;
            if state.class.ecn {
                markable += state.arrivals;
            }
        }
        for (sources, traffic) in self.sources.iter().zip(&self.model.unresponsive) {
            arrivals += sources * traffic.rate * self.dt;
        }
        self.pass_queue(
            arrivals,
            if self.model.bottleneck.marks {
                markable
            } else {
                0.0
            },
        );
        self.step += 1;
        if self.step.is_multiple_of(CHECK_EVERY) {
            self.check_balances()
                .inspect_err(|error| self.failed = Some(error.clone()))?;
        }
        Ok(())
    }
}
