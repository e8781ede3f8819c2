//! The engine: windows, queue and delay line step by step.

use ackclock_algorithms::fluid::AqmInput;

use crate::error::{Error, check};
use crate::grid::{Grid, Step};
use crate::history::{DelayLine, Passage, Returned, Ring, Sent};
use crate::model::{Action, Class, Closure, Event, Model, Options};
use crate::outcome::{Balance, ClassSummary, ClassTrace, LinkSummary, Outcome, Snapshot, Traces};

/// Allowed violation of the balance of mass, relative.
const MASS: f64 = 1e-12;
/// Allowed violation of the balances of packets, relative.
const PACKETS: f64 = 1e-9;
/// Steps between two checks of the balances.
const CHECK_EVERY: u64 = 1 << 14;
/// Steps beyond which a run is refused.
const MOST_STEPS: f64 = 1e12;

/// A run of the mean-field engine.
///
/// Each class has a distribution of windows ([`WindowLaw`](crate::WindowLaw), [`Hazard`](crate::Hazard)). What comes back to it through the delay line in
/// a step, over what was in flight when that was sent, is the growth of its windows, in round trips (Reynier 2006, equation (5), with the queueing
/// delay that the packets met and ACKs at the rate of the bottleneck); the fraction of it that was dropped or marked is the loss per packet.
/// What the class sends in the step is what came back plus the change of the sum of its windows, so that packets are conserved (equation (7) as
/// corrected: `dF/dt = B - a`). When windows shrink faster than packets come back, nothing is sent and the difference is owed.
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
    passages: Ring<Passage>,
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

#[derive(Clone, Debug)]
struct ClassState {
    class: Class,
    grid: Grid,
    line: DelayLine,
    /// Active flows.
    flows: f64,
    /// Sum of the windows, packets.
    flight: f64,
    debt: f64,
    /// Windows of flows that start in this step, packets.
    started: f64,
    /// Packets that arrive in this step.
    arrivals: f64,
    rounds: f64,
    measured: ClassMeasured,
}

/// Sums over the measurement window.
#[derive(Clone, Copy, Debug, Default)]
struct ClassMeasured {
    flows: f64,
    flight: f64,
    atom: f64,
    arrivals: f64,
    accepted: f64,
}

/// A sum that does not lose what is small beside it (Neumaier).
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    high: f64,
    low: f64,
}

impl Sum {
    #[inline]
    fn add(&mut self, value: f64) {
        let total = self.high + value;
        self.low += if self.high.abs() >= value.abs() {
            (self.high - total) + value
        } else {
            (value - total) + self.high
        };
        self.high = total;
    }

    fn value(self) -> f64 {
        self.high + self.low
    }
}

/// Every packet since the start; each term is counted on its own.
#[derive(Clone, Copy, Debug, Default)]
struct LinkLedger {
    arrived: Sum,
    dropped: Sum,
    served: Sum,
}

#[derive(Clone, Copy, Debug, Default)]
struct Measured {
    steps: f64,
    arrived: f64,
    dropped: f64,
    marked: f64,
    served: f64,
    capacity: f64,
    queue: f64,
    queue_squared: f64,
    delay: f64,
    min: f64,
    max: f64,
    full: f64,
    empty: f64,
}

/// Sums since the last sample, and what has been sampled.
#[derive(Clone, Debug, Default)]
struct Sampling {
    next: f64,
    next_snapshot: f64,
    served: f64,
    capacity: f64,
    arrived: f64,
    signals: f64,
    traces: Traces,
}

impl MeanField {
    /// Prepares a run.
    ///
    /// # Errors
    /// If a number is out of range.
    pub fn from_model(model: Model, options: Options) -> Result<Self, Error> {
        let bottleneck = &model.bottleneck;
        check(
            bottleneck.rate > 0.0 && bottleneck.rate.is_finite(),
            "the bottleneck's rate",
            bottleneck.rate,
            "above 0 packets/s",
        )?;
        check(
            bottleneck.buffer >= 0.0,
            "the buffer",
            bottleneck.buffer,
            "0 packets or more",
        )?;
        check(
            options.steps_per_rtt >= 2.0 && options.steps_per_rtt.is_finite(),
            "the number of steps a round trip",
            options.steps_per_rtt,
            "2 or more",
        )?;
        check(
            options.bins >= 1,
            "the number of bins",
            options.bins as f64,
            "1 or more",
        )?;
        for class in &model.classes {
            check(
                class.rtt > 0.0 && class.rtt.is_finite(),
                "the base round-trip time",
                class.rtt,
                "above 0 s",
            )?;
        }
        for traffic in &model.unresponsive {
            check(
                traffic.rate >= 0.0 && traffic.rate.is_finite(),
                "the rate of unresponsive traffic",
                traffic.rate,
                "0 or more",
            )?;
        }
        for interval in [options.sample, options.snapshot].into_iter().flatten() {
            check(
                interval > 0.0,
                "the sampling interval",
                interval,
                "above 0 s",
            )?;
        }
        for event in &model.events {
            check(
                event.at >= 0.0 && event.at.is_finite(),
                "the time of an event",
                event.at,
                "0 s or more",
            )?;
            let (index, count) = match event.what {
                Action::Start { class, .. }
                | Action::Stop { class, .. }
                | Action::Rtt { class, .. }
                | Action::MaxWindow { class, .. } => (class, model.classes.len()),
                Action::Sources { traffic, .. } | Action::SourceRate { traffic, .. } => {
                    (traffic, model.unresponsive.len())
                }
                Action::Rate(_) | Action::Buffer(_) | Action::Aqm { .. } => (0, 1),
            };
            check(
                index < count,
                "the class of an event",
                index as f64,
                "one of the model's",
            )?;
        }
        // every round trip that occurs must be longer than a step
        let shortest = model
            .events
            .iter()
            .filter_map(|event| {
                if let Action::Rtt { rtt, .. } = event.what {
                    Some(rtt)
                } else {
                    None
                }
            })
            .chain(model.classes.iter().map(|class| class.rtt))
            .fold(f64::INFINITY, f64::min);
        check(
            shortest > 0.0,
            "the base round-trip time",
            shortest,
            "above 0 s",
        )?;
        let shortest = if shortest.is_finite() { shortest } else { 0.01 };
        let dt = shortest / options.steps_per_rtt;
        check(
            model.duration > 0.0 && model.duration / dt <= MOST_STEPS,
            "the duration",
            model.duration,
            "above 0 s, and at most 1e12 steps",
        )?;
        let (from, to) = model.measure;
        check(
            from >= 0.0 && from < to && to <= model.duration,
            "the start of the measurement window",
            from,
            "from 0 to before its end, which is at most the duration",
        )?;
        let classes = model
            .classes
            .iter()
            .map(|class| {
                Ok(ClassState {
                    grid: Grid::new(
                        &class.law,
                        class.w_max,
                        options.cells_per_packet,
                        options.hazard,
                    )?,
                    line: DelayLine::new(class.rtt / dt),
                    class: class.clone(),
                    flows: 0.0,
                    flight: 0.0,
                    debt: 0.0,
                    started: 0.0,
                    arrivals: 0.0,
                    rounds: 0.0,
                    measured: ClassMeasured::default(),
                })
            })
            .collect::<Result<Vec<_>, Error>>()?;
        let mut events = model.events.clone();
        events.sort_by(|a, b| a.at.total_cmp(&b.at));
        let states = bottleneck.aqm.states();
        let traces = Traces {
            classes: vec![ClassTrace::default(); classes.len()],
            ..Traces::default()
        };
        Ok(Self {
            dt,
            step: 0,
            last: libm::ceil(model.duration / dt - 1e-9) as u64,
            events,
            next_event: 0,
            classes,
            sources: vec![0.0; model.unresponsive.len()],
            passages: Ring::new(),
            queue: 0.0,
            aqm_state: vec![0.0; states],
            scratch: [vec![0.0; states], vec![0.0; states], vec![0.0; states]],
            probability: 0.0,
            ledger: LinkLedger::default(),
            measured: Measured {
                min: f64::INFINITY,
                ..Measured::default()
            },
            sample: Sampling {
                traces,
                ..Sampling::default()
            },
            balance: Balance::default(),
            snapshots: Vec::new(),
            notes: Vec::new(),
            failed: None,
            model,
            options,
        })
    }

    pub(crate) fn set_notes(&mut self, notes: Vec<String>) {
        self.notes = notes;
    }

    /// What the user should know of how the model represents the scenario.
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

    /// Mean window of the active flows of a class now, packets; NaN without any, or without such a class.
    #[must_use]
    pub fn window_mean(&self, class: usize) -> f64 {
        self.classes
            .get(class)
            .map_or(f64::NAN, |state| state.flight / state.flows)
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
                    let back = state.line.collect(self.step, &self.passages);
                    state.respond(back);
                }
                Closure::Little => {
                    let rtt = state.class.rtt + self.queue / self.model.bottleneck.rate;
                    state.follow_little(self.dt, rtt, self.step, &self.passages);
                }
            }
            if state.debt > 0.0 {
                self.balance.debt = self.balance.debt.max(state.debt);
                self.balance.debt_steps += 1;
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

    /// What arrives in this step is dropped, queued and sent; `markable` of it can be marked by the AQM.
    fn pass_queue(&mut self, arrivals: f64, markable: f64) {
        let dt = self.dt;
        let bottleneck = &self.model.bottleneck;
        let service = bottleneck.rate * dt;
        // the AQM at the middle of the step, where the queue is estimated with the last probability
        let guess = (self.queue + arrivals * (1.0 - self.probability) - service)
            .clamp(0.0, bottleneck.buffer);
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
        let probability = if self.aqm_state.is_empty() {
            bottleneck.aqm.probability(&input, &[])
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
            let probability = bottleneck.aqm.probability(&input, middle);
            self.aqm_state.copy_from_slice(moved);
            probability
        };
        self.probability = probability;
        let early = (arrivals - markable) * probability;
        let offered = arrivals - early;
        let level = self.queue + offered - service;
        let overflow = (level - bottleneck.buffer).max(0.0).min(offered);
        let accepted = offered - overflow;
        // below zero the link idles for a part of the step
        let served = if level < 0.0 {
            self.queue + accepted
        } else {
            service
        };
        let before = self.queue;
        self.queue = if level < 0.0 {
            0.0
        } else {
            (level - overflow).max(0.0)
        };
        let full = overflow > 0.0;
        let signals = if offered > 0.0 {
            1.0 - (1.0 - probability) * (accepted / offered)
        } else {
            probability
        };
        let oldest = self
            .classes
            .iter()
            .map(|state| state.line.oldest())
            .min()
            .unwrap_or(self.step);
        self.passages.put(
            self.step,
            Passage {
                accepted,
                served,
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
        self.ledger.arrived.add(arrivals);
        self.ledger.dropped.add(early + overflow);
        self.ledger.served.add(served);
        let sample = &mut self.sample;
        sample.served += served;
        sample.capacity += service;
        sample.arrived += arrivals;
        sample.signals += arrivals * signals;
        let now = self.step as f64 * dt;
        let (from, to) = self.model.measure;
        if now >= from - 0.5 * dt && now < to - 0.5 * dt {
            let passing = if offered > 0.0 {
                accepted / offered
            } else {
                1.0
            };
            for state in &mut self.classes {
                let kept = if state.class.ecn && self.model.bottleneck.marks {
                    passing
                } else {
                    passing * (1.0 - probability)
                };
                let measured = &mut state.measured;
                measured.flows += state.flows;
                measured.flight += state.flight;
                measured.atom += state.grid.atom();
                measured.arrivals += state.arrivals;
                measured.accepted += state.arrivals * kept;
            }
            let queue = 0.5 * (before + self.queue);
            let measured = &mut self.measured;
            measured.steps += 1.0;
            measured.arrived += arrivals;
            measured.dropped += early + overflow;
            measured.marked += markable * probability;
            measured.served += served;
            measured.capacity += service;
            measured.queue += queue;
            measured.queue_squared += queue * queue;
            measured.delay += queue / self.model.bottleneck.rate;
            measured.min = measured.min.min(self.queue);
            measured.max = measured.max.max(self.queue);
            measured.full += f64::from(u8::from(full));
            measured.empty += f64::from(u8::from(self.queue == 0.0));
        }
    }

    fn apply(&mut self, action: Action) -> Result<(), Error> {
        match action {
            Action::Start {
                class,
                flows,
                window,
            } => {
                let state = &mut self.classes[class];
                check(
                    flows >= 0.0 && flows.is_finite(),
                    "the number of flows that start",
                    flows,
                    "0 or more",
                )?;
                check(
                    window > 0.0,
                    "the window at the start",
                    window,
                    "above 0 packets",
                )?;
                let before = state.grid.packets();
                state.grid.add(window.max(state.class.law.floor()), flows);
                state.started += state.grid.packets() - before;
                state.flows += flows;
            }
            Action::Stop { class, flows } => {
                let state = &mut self.classes[class];
                check(
                    flows >= 0.0,
                    "the number of flows that stop",
                    flows,
                    "0 or more",
                )?;
                if state.flows > 0.0 {
                    let left = (1.0 - flows / state.flows).max(0.0);
                    let now = self.step;
                    self.balance.abandoned += state.line.in_flight(now) * (1.0 - left);
                    state.line.scale(now, left);
                    state.grid.scale(left);
                    state.flows *= left;
                    state.debt *= left;
                    state.flight = state.grid.packets();
                }
            }
            Action::Sources { traffic, change } => {
                self.sources[traffic] = (self.sources[traffic] + change).max(0.0);
            }
            Action::SourceRate { traffic, rate } => {
                check(
                    rate >= 0.0 && rate.is_finite(),
                    "the rate of unresponsive traffic",
                    rate,
                    "0 or more",
                )?;
                self.model.unresponsive[traffic].rate = rate;
            }
            Action::Rate(rate) => {
                check(
                    rate > 0.0 && rate.is_finite(),
                    "the bottleneck's rate",
                    rate,
                    "above 0 packets/s",
                )?;
                self.model.bottleneck.rate = rate;
            }
            Action::Buffer(buffer) => {
                check(buffer >= 0.0, "the buffer", buffer, "0 packets or more")?;
                self.model.bottleneck.buffer = buffer;
            }
            Action::Rtt { class, rtt } => {
                let state = &mut self.classes[class];
                state.class.rtt = rtt;
                state.line.set_lag(rtt / self.dt);
            }
            Action::MaxWindow { class, w_max } => {
                let state = &mut self.classes[class];
                let mut grid = Grid::new(
                    &state.class.law,
                    w_max,
                    self.options.cells_per_packet,
                    self.options.hazard,
                )?;
                for (low, high, mass) in state.grid.contents() {
                    grid.add((0.5 * (low + high)).max(0.0), mass);
                }
                grid.add(state.class.w_max, state.grid.atom());
                state.grid = grid;
                state.class.w_max = w_max;
            }
            Action::Aqm { name, value } => {
                let law = self.model.bottleneck.aqm.with(&name, value)?;
                if law.states() != self.aqm_state.len() {
                    return Err(Error::Unsupported(format!(
                        "a change of `{name}` to {value}: it adds or removes a state of the AQM"
                    )));
                }
                self.model.bottleneck.aqm = law;
            }
        }
        Ok(())
    }

    fn take_samples(&mut self, now: f64) {
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

    /// The distribution of the windows of a class now, if there is such a class. Without active flows every value is NaN.
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

    fn check_balances(&mut self) -> Result<(), Error> {
        let time = self.time();
        for state in &mut self.classes {
            if state.flows > 0.0 {
                let total = state.grid.mass();
                let mass = (total - state.flows).abs() / state.flows;
                self.balance.mass = self.balance.mass.max(mass);
                if mass <= MASS {
                    // near an equilibrium every step rounds the same way: put right before it adds up
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
            ("mass", self.balance.mass, MASS),
            ("packets at the queue", self.balance.packets, PACKETS),
            ("packets in flight", self.balance.in_flight, PACKETS),
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

    fn into_outcome(self) -> Outcome {
        let m = self.measured;
        let seconds = m.steps * self.dt;
        let mean = m.queue / m.steps;
        let link = LinkSummary {
            utilization: m.served / m.capacity,
            loss: m.dropped / m.arrived,
            marks: m.marked / m.arrived,
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
                    window_mean: c.flight / c.flows,
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

impl ClassState {
    /// Windows follow what came back; what is to be sent follows.
    #[inline]
    fn respond(&mut self, back: Returned) {
        let before = self.flight;
        if back.rounds > 0.0 {
            self.grid.advance(Step {
                rounds: back.rounds,
                losses: back.losses,
            });
        }
        self.flight = self.grid.packets();
        let wanted = (self.flight - before) + back.packets - self.debt;
        self.arrivals = wanted.max(0.0);
        self.debt = (-wanted).max(0.0);
        let middle = 0.5 * (before + self.started + self.flight);
        self.started = 0.0;
        self.rounds = if middle > 0.0 {
            self.arrivals / middle
        } else {
            0.0
        };
    }
}

impl ClassState {
    /// The Little-like closure: each flow sends a window a round trip, and learns of losses a round trip late.
    fn follow_little(&mut self, dt: f64, rtt: f64, now: u64, passages: &Ring<Passage>) {
        let ago = (rtt / dt) as u64;
        let signals = now
            .checked_sub(ago)
            .filter(|step| (self.line.oldest()..now).contains(step))
            .map_or(0.0, |step| passages.get(step).signals);
        let rounds = dt / rtt;
        let before = self.flight + self.started;
        if self.flows > 0.0 {
            self.grid.advance(Step {
                rounds,
                losses: rounds * signals,
            });
        }
        self.flight = self.grid.packets();
        self.started = 0.0;
        self.arrivals = 0.5 * (before + self.flight) * rounds;
        // what may still be asked for: the largest round trip is that of a full queue, or of the queue as it is
        self.line.forget_before(now.saturating_sub(2 * ago + 64));
    }
}

/// One step of the implicit midpoint rule, exact about the stiffness of each state on its own: `middle` at half the step, `moved` at its end.
fn midpoint(
    law: &dyn crate::model::QueueLaw,
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
