//! Traces, snapshots, balances and the outcome.

use super::MeanField;
use crate::error::Error;
use crate::model::Closure;
use crate::outcome::{ClassSummary, LinkSummary, Outcome, Snapshot, Traces};

/// Allowed violation of the balance of mass, relative.
const MASS_TOLERANCE: f64 = 1e-12;
/// Allowed violation of the balances of packets, relative.
const PACKET_TOLERANCE: f64 = 1e-9;

/// Cells that a mean window should be wide.
const MIN_MEAN_CELLS: f64 = 2.0;

/// A sum that does not lose what is small beside it (Neumaier).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sum {
    pub(super) high: f64,
    pub(super) low: f64,
}

impl Sum {
    #[inline]
    pub(super) fn add(&mut self, value: f64) {
        let total = self.high + value;
        self.low += if self.high.abs() >= value.abs() {
            (self.high - total) + value
        } else {
            (value - total) + self.high
        };
        self.high = total;
    }

    pub(super) fn value(self) -> f64 {
        self.high + self.low
    }
}

/// Every packet since the start; each term is counted on its own.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LinkLedger {
    pub(super) arrived: Sum,
    pub(super) dropped: Sum,
    pub(super) served: Sum,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Measured {
    pub(super) steps: f64,
    pub(super) arrived: f64,
    pub(super) dropped: f64,
    pub(super) marked: f64,
    pub(super) served: f64,
    pub(super) capacity: f64,
    pub(super) queue: f64,
    pub(super) queue_squared: f64,
    pub(super) delay: f64,
    pub(super) min: f64,
    pub(super) max: f64,
    pub(super) full: f64,
    pub(super) empty: f64,
}

/// Sums since the last sample, and what has been sampled.
#[derive(Clone, Debug, Default)]
pub(super) struct Sampling {
    pub(super) next: f64,
    pub(super) next_snapshot: f64,
    pub(super) served: f64,
    pub(super) capacity: f64,
    pub(super) arrived: f64,
    pub(super) signals: f64,
    pub(super) traces: Traces,
}

impl MeanField {
    pub(super) fn take_samples(&mut self, now: f64) {
        let half = 0.5 * self.dt;
        if let Some(interval) = self.options.sample
            && now + half >= self.sample.next
        {
            let sample = &mut self.sample;
            sample.next += interval;
            let traces = &mut sample.traces;
            traces.time.push(now);
            traces.queue.push(self.queue);
            traces.utilization.push(if sample.capacity > 0.0 {
                sample.served / sample.capacity
            } else {
                0.0
            });
            traces.signals.push(sample.signals / sample.arrived);
            for (trace, state) in traces.classes.iter_mut().zip(&self.classes) {
                trace.flows.push(state.flows);
                trace.window_mean.push(state.grid.packets() / state.flows);
                trace.atom.push(state.grid.atom() / state.flows);
            }
            (
                sample.served,
                sample.capacity,
                sample.arrived,
                sample.signals,
            ) = (0.0, 0.0, 0.0, 0.0);
        }
        if let Some(interval) = self.options.snapshot
            && now + half >= self.sample.next_snapshot
        {
            self.sample.next_snapshot += interval;
            let now = (0..self.classes.len())
                .filter_map(|class| self.snapshot(class))
                .collect::<Vec<_>>();
            self.snapshots.extend(now);
        }
    }

    /// The distribution of the windows of a class now, if there is such a class. Without active
    /// flows every value is NaN.
    #[must_use]
    pub fn snapshot(&self, class: usize) -> Option<Snapshot> {
        let state = self.classes.get(class)?;
        let bins = self.options.bins;
        let w_max = state.class.w_max;
        let width = w_max / bins as f64;
        let mut density = vec![0.0; bins];
        for (low, high, mass) in state.grid.contents() {
            let (low, high) = (low.clamp(0.0, w_max), high.clamp(0.0, w_max));
            let first = ((low / width) as usize).min(bins - 1);
            let last = ((high / width) as usize).min(bins - 1);
            for (bin, density) in density.iter_mut().enumerate().take(last + 1).skip(first) {
                let share = if high > low {
                    let inside = high.min((bin + 1) as f64 * width) - low.max(bin as f64 * width);
                    inside.max(0.0) / (high - low)
                } else {
                    f64::from(u8::from(bin == first))
                };
                *density += mass * share / (width * state.flows);
            }
        }
        Some(Snapshot {
            time: self.time(),
            class,
            w_max,
            density,
            atom: state.grid.atom() / state.flows,
        })
    }

    pub(super) fn check_balances(&mut self) -> Result<(), Error> {
        let time = self.time();
        for state in &mut self.classes {
            if state.flows > 0.0 {
                let total = state.grid.mass();
                let mass = (total - state.flows).abs() / state.flows;
                self.balance.mass = self.balance.mass.max(mass);
                if mass <= MASS_TOLERANCE {
                    // near an equilibrium every step rounds the same way: put right before it adds
                    // up
                    self.balance.rounding += mass;
                    state.grid.scale(state.flows / total);
                }
                if self.options.closure == Closure::Little {
                    continue;
                }
                let expected = state.flight + state.debt;
                let in_flight = (state.line.in_flight(self.step) - expected).abs()
                    / expected.max(f64::MIN_POSITIVE);
                self.balance.in_flight = self.balance.in_flight.max(in_flight);
            }
        }
        let arrived = self.ledger.arrived.value();
        let rest = arrived - self.ledger.dropped.value() - self.ledger.served.value() - self.queue;
        let packets = rest.abs() / arrived.max(1.0);
        self.balance.packets = self.balance.packets.max(packets);
        for (what, error, allowed) in [
            ("mass", self.balance.mass, MASS_TOLERANCE),
            (
                "packets at the queue",
                self.balance.packets,
                PACKET_TOLERANCE,
            ),
            (
                "packets in flight",
                self.balance.in_flight,
                PACKET_TOLERANCE,
            ),
        ] {
            if error > allowed || error.is_nan() {
                return Err(Error::Balance {
                    what,
                    error,
                    allowed,
                    time,
                });
            }
        }
        Ok(())
    }

    pub(super) fn into_outcome(self) -> Outcome {
        let m = self.measured;
        let seconds = m.steps * self.dt;
        let mean = m.queue / m.steps;
        let lost_or_marked = (m.dropped + m.marked) / m.arrived;
        let link = LinkSummary {
            utilization: m.served / m.capacity,
            loss: m.dropped / m.arrived,
            marks: m.marked / m.arrived,
            signals: 1.0 - (1.0 - lost_or_marked) * (1.0 - self.model.bottleneck.wire_loss),
            throughput: m.served / seconds,
            queue_mean: mean,
            queue_std: (m.queue_squared / m.steps - mean * mean).max(0.0).sqrt(),
            queue_min: m.min,
            queue_max: m.max,
            delay_mean: m.delay / m.steps,
            full: m.full / m.steps,
            empty: m.empty / m.steps,
        };
        let classes = self
            .classes
            .iter()
            .map(|state| {
                let c = state.measured;
                ClassSummary {
                    name: state.class.name.clone(),
                    origin: state.class.origin,
                    rtt: state.class.rtt,
                    flows: c.flows / m.steps,
                    window_mean: c.windows / c.flows,
                    atom: c.atom / c.flows,
                    arrivals: c.arrivals / (c.flows * self.dt),
                    throughput: c.accepted / (c.flows * self.dt),
                }
            })
            .collect();
        let mut notes = self.notes;
        for state in self.classes.iter().filter(|state| state.class.open_ended) {
            let atom = state.measured.atom / state.measured.flows;
            if atom > 1e-3 {
                let (share, name, w_max) = (100.0 * atom, &state.class.name, state.class.w_max);
                notes.push(format!(
                    "flows `{name}`: {share:.1} % of them are at the end of the grid, {w_max:.0} packets; give `max_window` to bound them on purpose"
                ));
            }
        }
        for state in &self.classes {
            let mean = state.measured.windows / state.measured.flows;
            let width = state.grid.lowest_width();
            if mean < MIN_MEAN_CELLS * width {
                let name = &state.class.name;
                notes.push(format!(
                    "flows `{name}`: cells of {width:.3} packets, and a mean window of {mean:.3}: \
                     too coarse a grid; give `max_window`: the fewer packets, the narrower the cells"
                ));
            }
        }
        if self.balance.debt_steps > 0 {
            notes.push(format!(
                "windows shrank below what was in flight in {} steps (debt of at most {:.3} packets): nothing was sent until it was paid",
                self.balance.debt_steps, self.balance.debt
            ));
        }
        Outcome {
            window: self.model.measure,
            end: self.last as f64 * self.dt,
            link,
            classes,
            traces: self.sample.traces,
            snapshots: self.snapshots,
            balance: self.balance,
            notes,
            steps: self.step,
        }
    }
}
