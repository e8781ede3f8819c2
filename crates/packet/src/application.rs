//! What applications ask of their connections: sessions of transfers, and connections that come and go. And how the transfers fared.
//!
//! A session is one flow whose connection is made anew for each transfer. A source of connections is a flow without ends of its own; its
//! connections live in further flows behind those of the scenario, which are used again once nothing of the old connection is left.
//! Segments that outlive their connection are known by their time stamps and ignored, as RFC 9293's TIME-WAIT would have it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use ackclock_algorithms::{Owner, Stream, Time};
use ackclock_scenario::Traffic;

use crate::access::Access;
use crate::calendar::{Class as Order, Kind, Place, Tag};
use crate::engine::Engine;
use crate::flow::{Delays, Ends, Flow, Rare};
use crate::outcome::TransferOutcome;
use crate::packmime::PackMime;
use crate::probe::DelayHistogram;
use crate::ring::Ring;
use crate::setup;
use crate::tcp::receiver::Receiver;
use crate::tcp::{Sender, State};

/// The application of a session, or a source of connections.
pub(crate) struct Application {
    /// Sizes of transfers.
    sizes: Stream,
    /// Think times, or gaps between connections.
    times: Stream,
    packmime: Option<PackMime>,
    /// Seed of the run, and what the connections' own streams are derived from.
    seed: u64,
    base: u64,
    /// Connections opened so far, and the sum of their base round trips, ps.
    pub(crate) opened: u64,
    pub(crate) round_trips: u128,
    /// When the next transfer starts; entries of the calendar for other times are void.
    next_at: u64,
}

impl Application {
    pub(crate) fn new(name: &str, index: u64, seed: u64, traffic: &Traffic) -> Self {
        let entity = |what: &str| setup::entity(&format!("{name}\u{1f}{what}"), index);
        let packmime = match traffic {
            Traffic::PackMime {
                rate, mean_size, ..
            } => Some(PackMime::new(*rate, *mean_size)),
            _ => None,
        };
        Self {
            sizes: Stream::new(seed, Owner::Traffic, entity("sizes")),
            times: Stream::new(seed, Owner::Traffic, entity("times")),
            packmime,
            seed,
            base: entity("connections"),
            opened: 0,
            round_trips: 0,
            next_at: u64::MAX,
        }
    }

    fn draw_size(&mut self, traffic: &Traffic) -> u64 {
        match (&mut self.packmime, traffic) {
            (Some(packmime), _) => packmime.size(&mut self.sizes),
            (None, Traffic::Http { sizes, .. } | Traffic::Arrivals { sizes, .. }) => {
                sizes.draw(&mut self.sizes)
            }
            _ => 1,
        }
    }

    /// Time to the next connection of a source, or a session's think time, ps; at least one.
    fn draw_time(&mut self, traffic: &Traffic) -> u64 {
        let seconds = match (&mut self.packmime, traffic) {
            (Some(packmime), _) => packmime.gap(&mut self.times),
            (None, Traffic::Http { think, .. }) => self.times.exponential(*think),
            (None, Traffic::Arrivals { rate, .. }) => self.times.exponential(1.0 / rate),
            _ => f64::INFINITY,
        };
        // beyond the longest run: never
        Time::from_seconds(seconds.min(1e7)).0.max(1)
    }
}

/// Flows that carry the connections of a class, ready to be used again from a time on.
#[derive(Default)]
pub(crate) struct Pool {
    /// Time, number and slot.
    waiting: BinaryHeap<Reverse<(u64, u32, u32)>>,
}

/// How long a flow rests after its connection is over, beside the lag of its events behind its clock: nearly always long enough that nothing
/// of the old connection is on its way any more.
const REST: u64 = Time::PER_SECOND;

/// Transfers of one class, all sizes and by size.
#[derive(Clone, Debug, Default)]
pub(crate) struct Transfers {
    /// All sizes first, then those of [`SIZES`].
    tallies: [Tally; 1 + SIZES.len()],
}

/// Upper ends of the classes of sizes, bytes (exclusive).
const SIZES: [u64; 5] = [10_000, 100_000, 1_000_000, 10_000_000, u64::MAX];

/// Transfers that began inside the measurement window.
#[derive(Clone, Debug, Default)]
struct Tally {
    started: u64,
    censored: u64,
    bytes: u128,
    times: DelayHistogram,
}

impl Transfers {
    fn of_size(&mut self, bytes: u64) -> impl Iterator<Item = &mut Tally> {
        let class = 1 + SIZES.partition_point(|end| *end <= bytes);
        let tallies = self.tallies.iter_mut().enumerate();
        tallies
            .filter(move |(at, _)| *at == 0 || *at == class)
            .map(|(_, tally)| tally)
    }

    /// A transfer of `bytes` began.
    fn start(&mut self, bytes: u64) {
        for tally in self.of_size(bytes) {
            tally.started += 1;
            tally.bytes += u128::from(bytes);
        }
    }

    /// It took `time`, ps.
    fn complete(&mut self, bytes: u64, time: u64) {
        for tally in self.of_size(bytes) {
            tally.times.record(time);
        }
    }

    /// The run ended before it did.
    pub(crate) fn censor(&mut self, bytes: u64) {
        for tally in self.of_size(bytes) {
            tally.censored += 1;
        }
    }

    /// Results, all sizes first; sizes that did not occur are left out. An error if transfers got lost.
    pub(crate) fn outcomes(&self, class: usize) -> Result<Vec<TransferOutcome>, String> {
        let edges = std::iter::once(0).chain(SIZES);
        let mut found = Vec::new();
        for (at, (tally, from)) in self
            .tallies
            .iter()
            .zip(std::iter::once(0).chain(edges))
            .enumerate()
        {
            let completed = tally.times.count();
            if tally.started != completed + tally.censored {
                return Err(format!(
                    "class {class}: {} transfers started, {completed} completed, {} censored",
                    tally.started, tally.censored
                ));
            }
            if at > 0 && tally.started == 0 {
                continue;
            }
            let to = if at == 0 { u64::MAX } else { SIZES[at - 1] };
            found.push(TransferOutcome {
                class,
                size_from: from as f64,
                size_to: if to == u64::MAX {
                    f64::INFINITY
                } else {
                    to as f64
                },
                started: tally.started,
                completed,
                censored: tally.censored,
                size_mean: tally.bytes as f64 / tally.started as f64,
                fct_mean: tally.times.mean(),
                fct_percentiles: [0.50, 0.95, 0.99].map(|part| tally.times.percentile(part)),
                fct_max: tally.times.max(),
                fct_histogram: tally.times.bins(),
            });
        }
        Ok(found)
    }
}

impl Engine {
    /// The transfer that the flow carries began inside the measurement window.
    fn counts(&self, flow: usize) -> bool {
        let at = self.flows[flow].began;
        at >= self.window.0 && at < self.window.1
    }

    /// A source begins: its first connection comes after a gap.
    pub(crate) fn start_source(&mut self, flow: usize) {
        self.flows[flow].start = self.now;
        self.schedule_arrival(flow);
    }

    /// Draws when a source opens its next connection.
    fn schedule_arrival(&mut self, flow: usize) {
        let state = &mut self.flows[flow];
        let class = &self.classes[state.class as usize];
        let Some(application) = &mut state.application else {
            return;
        };
        let at = self.now + application.draw_time(&class.traffic);
        application.next_at = at;
        if at < class.stop && at <= self.end {
            let tag = Tag::of_flow(Order::Global, state.place, Kind::Application);
            self.calendar.push_far(at, tag);
        }
    }

    /// A source opens a connection.
    pub(crate) fn on_arrive(&mut self, source: usize) {
        let state = &mut self.flows[source];
        let Some(application) = &state.application else {
            return;
        };
        if state.stopped || application.next_at != self.now {
            return;
        }
        self.open_connection(source);
        self.schedule_arrival(source);
    }

    fn open_connection(&mut self, source: usize) {
        let now = self.now;
        let id = self.flows[source].class as usize;
        let class = &self.classes[id];
        let Some(application) = &mut self.flows[source].application else {
            return;
        };
        let number = application.opened;
        application.opened += 1;
        let bytes = application.draw_size(&class.traffic);
        let entity = application
            .base
            .wrapping_add(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut random = Stream::new(application.seed, Owner::Flow, entity);
        let least = Time(class.links_forward + class.links_reverse).seconds();
        let rtt = Time::from_seconds(setup::draw(
            &class.rtt,
            least,
            number as u32,
            1,
            &mut random,
        ))
        .0;
        let server_delay = match class.traffic {
            Traffic::PackMime {
                server_delay: true, ..
            } => Time::from_seconds(PackMime::server_delay(&mut random)).0,
            _ => 0,
        };
        application.round_trips += u128::from(rtt);
        let controller = class.controller.build(number as u32);
        let sender = Sender::new(controller, &class.sender, class.initial_ssthresh);

        let slot = self.take_flow(id, source);
        let class = &self.classes[id];
        let state = &mut self.flows[slot];
        state.random = random;
        state.rtt = rtt;
        state.identity = (entity >> 32) as u32;
        state.server_delay = server_delay;
        state.connect_retries = 0;
        for (access, buffer) in [
            (&mut state.uplink, class.access_buffer),
            (&mut state.downlink, class.access_buffer),
        ] {
            *access = class.access_rate.map(|rate| Access::new(rate, buffer));
        }
        state.renew(sender, now);
        state.began = now;
        state.completion = u64::MAX;
        setup::set_delays(class, state);
        state.set_transfer(bytes, class.payload);
        self.begin_transfer(slot);
        let at = now + self.flows[slot].sender_shift();
        self.calendar
            .push_far(at, self.flow_tag(slot, Kind::Start, Order::Sender));
    }

    /// A flow for a new connection of the class: one that is at rest, or another one.
    fn take_flow(&mut self, class: usize, source: usize) -> usize {
        let owner = self.flows[source].owner;
        while let Some(&Reverse((from, number, slot))) = self.pools[class].waiting.peek()
            && from < self.now
        {
            self.pools[class].waiting.pop();
            let state = &mut self.flows[slot as usize];
            state.settle(self.now, self.window);
            state.settle_drops(self.now, self.window);
            if state.is_quiet() {
                state.rest();
                state.owner = owner;
                return slot as usize;
            }
            self.pools[class]
                .waiting
                .push(Reverse((self.now + REST, number, slot)));
        }
        let built = &self.classes[class];
        let sender = Sender::new(
            built.controller.build(0),
            &built.sender,
            built.initial_ssthresh,
        );
        let ends = Ends::Tcp {
            sender,
            receiver: Receiver::default(),
        };
        let random = self.flows[source].random.clone();
        let slot = self.flows.len();
        let place = Place::new(self.numbered, slot);
        self.numbered += 1;
        self.flows
            .push(Flow::new(class, place, ends, random, owner));
        slot
    }

    /// Books that a transfer begins now, by the flow's own clock.
    fn begin_transfer(&mut self, flow: usize) {
        if self.counts(flow) {
            let state = &self.flows[flow];
            self.transfers[state.class as usize].start(state.bytes);
        }
    }

    /// A session begins its next transfer, at `sent` by its own clock; false where it is not the time.
    pub(crate) fn start_session(&mut self, flow: usize, sent: u64) -> bool {
        let state = &mut self.flows[flow];
        let class = &self.classes[state.class as usize];
        let Some(application) = &mut state.application else {
            return true; // a connection of a source: all is set
        };
        if application.opened > 0 && application.next_at != sent {
            return false;
        }
        application.next_at = u64::MAX;
        application.opened += 1;
        application.round_trips += u128::from(state.rtt);
        let bytes = application.draw_size(&class.traffic);
        (state.opened, state.began) = (sent, sent);
        state.connect_retries = 0;
        state.completion = u64::MAX;
        state.set_transfer(bytes, class.payload);
        self.begin_transfer(flow);
        true
    }

    /// A TCP application has something to send: a server that has thought, or a session's next transfer over its open connection.
    pub(crate) fn write_transfer(&mut self, flow: usize, now: u64) {
        let state = &mut self.flows[flow];
        let class = &self.classes[state.class as usize];
        let persistent = matches!(
            class.traffic,
            Traffic::Http {
                persistent: true,
                ..
            }
        );
        if let Some(application) = &mut state.application
            && persistent
            && state.completion != u64::MAX
        {
            if application.next_at != now {
                return;
            }
            application.next_at = u64::MAX;
            application.opened += 1;
            application.round_trips += u128::from(state.rtt);
            let bytes = application.draw_size(&class.traffic);
            let Ends::Tcp { sender, .. } = &mut state.ends else {
                return;
            };
            sender.restart_if_idle(now, &class.sender);
            state.began = now;
            state.completion = u64::MAX;
            let before = state.total;
            state.set_transfer(bytes, class.payload);
            state.total += before;
            self.begin_transfer(flow);
        }
        let state = &mut self.flows[flow];
        if let Ends::Tcp { sender, .. } = &mut state.ends {
            sender.written = state.total;
        }
    }

    /// The transfer of `flow` is complete at `now`, by its own clock: it is booked, and the next one prepared.
    pub(crate) fn complete_transfer(&mut self, flow: usize, now: u64) {
        let inside = self.counts(flow);
        let state = &mut self.flows[flow];
        let id = state.class as usize;
        let class = &self.classes[id];
        if inside {
            self.transfers[id].complete(state.bytes, now - state.began);
        }
        let lag = setup::lags(class, &state.delays);
        let Some(application) = &mut state.application else {
            let from = now + lag.into_iter().max().unwrap_or(0) + REST;
            let number = state.place.number() as u32;
            let entry = Reverse((from, number, flow as u32));
            self.pools[id].waiting.push(entry);
            return;
        };
        // the next start's event must not lie before this one, which the last segment's way to the first queue separates from its clock
        let think = application
            .draw_time(&class.traffic)
            .max(lag[0].saturating_sub(lag[1]) + 1);
        let next = now + think;
        application.next_at = next;
        let (shift, connect_shift) = (state.shift, state.connect_shift);
        if matches!(
            class.traffic,
            Traffic::Http {
                persistent: true,
                ..
            }
        ) {
            self.calendar.push_far(
                next + shift,
                self.flow_tag(flow, Kind::Application, Order::Sender),
            );
            return;
        }
        let number = application.opened as u32;
        let sender = Sender::new(
            class.controller.build(number),
            &class.sender,
            class.initial_ssthresh,
        );
        state.renew(sender, next);
        self.calendar.push_far(
            next + connect_shift,
            self.flow_tag(flow, Kind::Start, Order::Sender),
        );
    }

    /// A session or a source that was stopped goes on.
    pub(crate) fn resume(&mut self, flow: usize) {
        let now = self.now;
        let state = &mut self.flows[flow];
        let is_source = matches!(state.ends, Ends::Source);
        let connected =
            matches!(&state.ends, Ends::Tcp { sender, .. } if sender.state != State::Closed);
        let Some(application) = &mut state.application else {
            return;
        };
        if application.next_at == u64::MAX || application.next_at > now {
            return; // in the middle of a transfer, or the entry of the calendar still stands
        }
        application.next_at = now;
        let (kind, order) = match (is_source, connected) {
            (true, _) => {
                self.schedule_arrival(flow);
                return;
            }
            (false, true) => (Kind::Application, Order::Sender),
            (false, false) => (Kind::Start, Order::Sender),
        };
        self.calendar
            .push_far(now, self.flow_tag(flow, kind, order));
    }

    /// The sources of a class open connections at another rate from now on.
    pub(crate) fn change_arrivals(&mut self, class: usize, rate: f64) {
        let mean = match &self.classes[class].traffic {
            Traffic::PackMime { mean_size, .. } => *mean_size,
            _ => None,
        };
        for flow in self.slots(class) {
            if let Some(application) = &mut self.flows[flow].application
                && let Some(packmime) = &mut application.packmime
            {
                packmime.set_rate(rate, mean);
            }
            if self.flows[flow].start != u64::MAX && !self.flows[flow].stopped {
                self.schedule_arrival(flow);
            }
        }
    }
}

impl Flow {
    /// What the connection is to carry.
    fn set_transfer(&mut self, bytes: u64, payload: u32) {
        let payload = u64::from(payload);
        self.bytes = bytes;
        self.total = bytes.div_ceil(payload);
        self.tail = (bytes - (self.total - 1) * payload) as u32;
    }

    /// A new connection that opens at `at`: whatever bears an earlier time stamp belongs to the last one.
    fn renew(&mut self, new: Sender, at: u64) {
        if let Ends::Tcp { sender, receiver } = &mut self.ends {
            let counters = sender.counters;
            *sender = new;
            sender.counters = counters;
            *receiver = Receiver::default();
        }
        self.pace_at = u64::MAX;
        self.opened = at;
    }

    /// Nothing of its last connection is on its way any more. Its books must be settled.
    fn is_quiet(&self) -> bool {
        let rare = self.rare.as_deref();
        self.whole.sent == self.delivered + self.whole.drops
            && self.acks.is_empty()
            && self.outbound.is_empty()
            && rare.is_none_or(Rare::is_empty)
    }

    /// Forgets the private path of the last connection.
    fn rest(&mut self) {
        self.delays = Delays::default();
        (self.last_ack, self.last_arrival) = (0, 0);
        self.pace_at = u64::MAX;
        self.acks = Ring::default();
        (self.outbound, self.last_outbound) = (Ring::default(), 0);
        self.rare = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Options;

    /// Ten thousand connections a second need no more flows than are open at a time, or at rest after that.
    #[test]
    fn flows_are_used_again() {
        let scenario = ackclock_scenario::parse(
            "[scenario]\nduration = \"8 s\"\n[[link]]\nname = \"link\"\nrate = \"1 Gbit/s\"\n[[flows]]\npath = [\"link\"]\nrtt = \"20 ms\"\n\
             traffic = { kind = \"poisson-arrivals\", rate = \"10000 /s\", size = \"3 kB\" }\n",
            "test",
        )
        .expect("the scenario is right");
        let mut engine = setup::build(&scenario, &Options::default()).expect("it can be built");
        while !engine.step(1 << 20).expect("it runs") {}
        let opened = engine.flows[0]
            .application
            .as_ref()
            .expect("a source")
            .opened;
        assert!((79_000..81_000).contains(&opened), "{opened}");
        // 1 s of rest, two round trips and a delayed ACK
        assert!(
            (10_500..11_500).contains(&engine.flows.len()),
            "{}",
            engine.flows.len()
        );
    }

    #[test]
    fn transfers_are_tallied_by_size() {
        let mut transfers = Transfers::default();
        for bytes in [1, 9_999, 10_000, 99_999, 10_000_000, 1 << 40] {
            transfers.start(bytes);
            if bytes < 1 << 40 {
                transfers.complete(bytes, bytes * 1_000_000);
            } else {
                transfers.censor(bytes);
            }
        }
        let rows = transfers.outcomes(0).unwrap();
        let counts: Vec<_> = rows
            .iter()
            .map(|row| (row.size_from, row.size_to, row.started, row.completed))
            .collect();
        assert_eq!(
            counts,
            [
                (0.0, f64::INFINITY, 6, 5),
                (0.0, 1e4, 2, 2),
                (1e4, 1e5, 2, 2),
                (1e7, f64::INFINITY, 2, 1)
            ]
        );
        assert_eq!(rows[1].size_mean, 5000.0);
        assert!((rows[1].fct_mean - 0.005).abs() < 1e-12);
        assert!(rows[3].fct_max == 10.0 && rows[3].censored == 1);
        transfers.start(5);
        assert!(transfers.outcomes(0).is_err(), "one was lost");
    }
}
