//! The queue: what the AQM drops or marks, what overflows, what is sent.

use ackclock_algorithms::fluid::AqmInput;

use super::MeanField;
use crate::history::{QueueStep, Sent};
use crate::model::{Closure, QueueLaw};

/// The fates of the arrivals of a step, packets.
struct Passed {
    arrivals: f64,
    markable: f64,
    probability: f64,
    /// Dropped by the AQM.
    early: f64,
    /// Packets that the AQM let through.
    offered: f64,
    /// The part of it that a full queue dropped, and the part that it took.
    overflow: f64,
    accepted: f64,
    served: f64,
    /// Waiting before the step.
    before: f64,
}

impl Passed {
    /// Part of what the AQM let through that the queue took.
    fn taken(&self) -> f64 {
        if self.offered > 0.0 {
            self.accepted / self.offered
        } else {
            1.0
        }
    }
}

impl MeanField {
    /// Drops, queues and sends the arrivals of this step; `markable` of them can be marked by the
    /// AQM.
    pub(super) fn pass_queue(&mut self, arrivals: f64, markable: f64) {
        let probability = self.aqm_probability(arrivals);
        let bottleneck = &self.model.bottleneck;
        let service = bottleneck.rate * self.dt;
        let early = (arrivals - markable) * probability;
        let offered = arrivals - early;
        let level = self.queue + offered - service;
        let overflow = (level - bottleneck.room()).max(0.0).min(offered);
        let accepted = offered - overflow;
        let passed = Passed {
            arrivals,
            markable,
            probability,
            early,
            offered,
            overflow,
            accepted,
            // below zero the link idles for a part of the step
            served: if level < 0.0 {
                self.queue + accepted
            } else {
                service
            },
            before: self.queue,
        };
        self.queue = if level < 0.0 {
            0.0
        } else {
            (level - overflow).max(0.0)
        };
        self.remember(&passed);
        self.count(&passed, service);
    }

    /// Probability of the AQM at the middle of the step, where the queue is estimated with the last
    /// one; its states move on.
    fn aqm_probability(&mut self, arrivals: f64) -> f64 {
        let dt = self.dt;
        let bottleneck = &self.model.bottleneck;
        let service = bottleneck.rate * dt;
        let guess = (self.queue + arrivals * (1.0 - self.probability) - service)
            .clamp(0.0, bottleneck.buffer);
        if let Some(limit) = bottleneck.aqm.hard_limit() {
            let marks = bottleneck.marks && 0.5 * (self.queue + guess) >= limit;
            self.probability = f64::from(u8::from(marks));
            return self.probability;
        }
        let flows: f64 = self.classes.iter().map(|state| state.flows).sum();
        let mut input = AqmInput {
            limit: bottleneck.buffer,
            sampling: arrivals / dt,
            averaging: bottleneck.averaging,
            flows,
            rtt: 0.0,
            ..AqmInput::new(0.5 * (self.queue + guess), arrivals / dt, bottleneck.rate)
        };
        let waiting = input.queue / bottleneck.rate;
        let round_trips: f64 = self
            .classes
            .iter()
            .map(|state| state.flows * (state.class.rtt + waiting))
            .sum();
        input.rtt = if flows > 0.0 {
            round_trips / flows
        } else {
            waiting
        };
        let observed = if bottleneck.aqm.follows_rate() {
            AqmInput {
                arrivals: self.windows_over_round_trips(),
                ..input
            }
        } else {
            input
        };
        let probability = if self.aqm_state.is_empty() {
            bottleneck.aqm.probability(&observed, &[])
        } else {
            let [middle, slope, moved] = &mut self.scratch;
            midpoint(
                &*bottleneck.aqm,
                &input,
                dt,
                &self.aqm_state,
                middle,
                slope,
                moved,
            );
            let probability = bottleneck.aqm.probability(&observed, middle);
            self.aqm_state.copy_from_slice(moved);
            probability
        };
        self.probability = probability;
        probability
    }

    /// Packets/s of flows that send their windows evenly over a round trip, and of the unresponsive
    /// traffic.
    fn windows_over_round_trips(&self) -> f64 {
        let flows: f64 = self
            .classes
            .iter()
            .map(|state| state.flight / state.rtt)
            .sum();
        let others: f64 = self
            .sources
            .iter()
            .zip(&self.model.unresponsive)
            .map(|(sources, traffic)| sources * traffic.rate)
            .sum();
        flows + others
    }

    /// For the delay lines: what passed in this step, and what each class sent.
    fn remember(&mut self, passed: &Passed) {
        let kept = if passed.offered > 0.0 {
            (1.0 - passed.probability) * passed.taken()
        } else {
            1.0 - passed.probability
        };
        let signals = 1.0 - kept * (1.0 - self.model.bottleneck.wire_loss);
        let oldest = self
            .classes
            .iter()
            .map(|state| state.line.oldest())
            .min()
            .unwrap_or(self.step);
        self.queue_steps.put(
            self.step,
            QueueStep {
                accepted: passed.accepted,
                served: passed.served,
                signals,
            },
            oldest,
        );
        for state in &mut self.classes {
            if self.options.closure == Closure::Little {
                continue;
            }
            state.line.put(
                self.step,
                Sent {
                    packets: state.arrivals,
                    rounds: state.rounds,
                },
            );
        }
        self.sample.arrived += passed.arrivals;
        self.sample.signals += passed.arrivals * signals;
    }

    /// Counters of the ledger, of the samples and of the measurement window.
    fn count(&mut self, passed: &Passed, service: f64) {
        let dropped = passed.early + passed.overflow;
        self.ledger.arrived.add(passed.arrivals);
        self.ledger.dropped.add(dropped);
        self.ledger.served.add(passed.served);
        self.sample.served += passed.served;
        self.sample.capacity += service;
        let now = self.step as f64 * self.dt;
        let (from, to) = self.model.measure;
        if now < from - 0.5 * self.dt || now >= to - 0.5 * self.dt {
            return;
        }
        let taken = passed.taken() * (1.0 - self.model.bottleneck.wire_loss);
        for state in &mut self.classes {
            let kept = if state.class.ecn && self.model.bottleneck.marks {
                taken
            } else {
                taken * (1.0 - passed.probability)
            };
            let measured = &mut state.measured;
            measured.flows += state.flows;
            measured.windows += state.grid.packets();
            measured.atom += state.grid.atom();
            measured.arrivals += state.arrivals;
            measured.accepted += state.arrivals * kept;
        }
        let queue = 0.5 * (passed.before + self.queue);
        let measured = &mut self.measured;
        measured.steps += 1.0;
        measured.arrived += passed.arrivals;
        measured.dropped += dropped;
        measured.marked += passed.markable * passed.probability;
        measured.served += passed.served;
        measured.capacity += service;
        measured.queue += queue;
        measured.queue_squared += queue * queue;
        measured.delay += queue / self.model.bottleneck.rate;
        measured.min = measured.min.min(self.queue);
        measured.max = measured.max.max(self.queue);
        measured.full += f64::from(u8::from(passed.overflow > 0.0));
        measured.empty += f64::from(u8::from(self.queue == 0.0));
    }
}

/// One step of the implicit midpoint rule, exact about the stiffness of each state on its own:
/// `middle` at half the step, `moved` at its end.
fn midpoint(
    law: &dyn QueueLaw,
    input: &AqmInput,
    dt: f64,
    state: &[f64],
    middle: &mut [f64],
    slope: &mut [f64],
    moved: &mut [f64],
) {
    law.derivative(input, state, slope);
    middle.copy_from_slice(state);
    for i in 0..state.len() {
        let nudge = 1e-6 * (1.0 + state[i].abs());
        middle[i] = state[i] + nudge;
        // `moved` serves as scratch for the derivative beside the point
        law.derivative(input, middle, moved);
        middle[i] = state[i];
        let stiffness = (moved[i] - slope[i]) / nudge;
        slope[i] /= 1.0 - (0.5 * dt * stiffness).min(0.5);
    }
    for (middle, slope) in middle.iter_mut().zip(slope.iter()) {
        *middle += 0.5 * dt * slope;
    }
    law.derivative(input, middle, slope);
    for ((moved, state), slope) in moved.iter_mut().zip(state).zip(slope.iter()) {
        *moved = state + dt * slope;
    }
}
