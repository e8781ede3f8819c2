//! A link: a queue under an AQM, a transmitter, a propagation delay.
//!
//! Where the AQM judges packets as they arrive, a departure is known at arrival: the queue is then
//! only a ring of starts of transmission (precomputed departures). An AQM that judges at departure
//! needs the packets themselves and an event per transmission (event-driven departures). Both give
//! the same bits where both apply. Links with a scheduler or impairments are always event-driven.

mod events;
pub(crate) mod impairments;
pub(crate) mod late;
mod leaf;
pub(crate) mod schedule;
pub(crate) mod scheduled;
pub(crate) mod served;
pub(crate) mod tree;
mod wire;

use std::collections::VecDeque;

use ackclock_algorithms::aqm::{Aqm as _, Observation, PacketView, QueueView, Verdict};
use ackclock_algorithms::impairment::LossSpec;
use ackclock_algorithms::registry::AqmInstance;
use ackclock_algorithms::scheduler::Label;
use ackclock_algorithms::{Stream, Time};
use ackclock_scenario::Capacity;

use crate::follower::Follower;
use crate::outcome::{Ledger, QueueAccount};
use crate::packet::{Flags, Packet, Reported};
use crate::probe::{BusyClock, DelayHistogram, QueueClock};
use crate::ring::Ring;
use impairments::Impairments;
use late::Acts;
use schedule::{Rate, Schedule, Transmitter};
use scheduled::Scheduled;
use served::Server;
use tree::Tree;

/// A packet that waits for a precomputed departure.
#[derive(Clone, Copy, Debug, Default)]
struct Waiting {
    arrival: u64,
    start: u64,
    size: u32,
}

/// Fate of a packet that was offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Offer {
    /// Dropped.
    Dropped,
    /// Dropped by the policer.
    Policed,
    /// Precomputed: it will have left at this time.
    Departs(u64),
    /// Event-driven: the transmitter acts next at this time. A transmission that began now ends
    /// then, or a shaper then lets a packet go.
    Acts(u64),
    /// Event-driven: it waits.
    Waits,
    /// Event-driven: it waits, and the link for its turn on its medium.
    Asks,
}

/// Fate of data that meets a link with precomputed departures.
pub(crate) enum OfferOutcome {
    Dropped,
    /// It will have left at this time.
    Departs(u64),
    /// The same, and it has been marked.
    Marked(u64),
}

/// Fate of a packet that a link held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Marked on the way out of the queue.
    Marked,
    /// Dropped from the queue.
    Dropped,
    /// Lost on the wire.
    Lost,
}

/// Parts that only a few links have.
pub(crate) struct Extras {
    pub(crate) scheduled: Option<Scheduled>,
    pub(crate) tree: Option<Tree>,
    pub(crate) impairments: Impairments,
    /// Setter of the rate by the delays of probes.
    pub(crate) autorate: Option<Box<Follower>>,
    /// The transmitter of a link that sends batches.
    pub(crate) server: Option<Box<Server>>,
    /// Whether packets may overtake each other.
    pub(crate) reorders: bool,
    /// Whether packets wait for a shaper while nothing is sent: it lets the first go when the
    /// transmitter is free.
    pub(crate) shaped: bool,
    /// When the packet in service will have been sent.
    pub(crate) finish: u64,
    /// When the transmitter looks again whether a scheduler that shapes lets a packet go.
    pub(crate) wake: Option<u64>,
}

impl Extras {
    /// Number of packets that wait in its own queues, if it has some.
    #[inline]
    fn packets(&self) -> Option<usize> {
        match (&self.scheduled, &self.tree) {
            (Some(scheduled), _) => Some(scheduled.packets()),
            (None, Some(tree)) => Some(tree.packets()),
            (None, None) => None,
        }
    }
}

fn tree_in(extras: &mut Option<Box<Extras>>) -> Option<&mut Tree> {
    extras.as_mut()?.tree.as_mut()
}

fn scheduled_in(extras: &mut Option<Box<Extras>>) -> Option<&mut Scheduled> {
    extras.as_mut()?.scheduled.as_mut()
}

/// Counts since the start of the run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counters {
    pub(crate) arrivals: u64,
    pub(crate) arrived_bytes: u64,
    pub(crate) drops: u64,
    pub(crate) dropped_bytes: u64,
    pub(crate) overflows: u64,
    pub(crate) marks: u64,
    /// Dropped by the policer, before the queue.
    pub(crate) policed: u64,
    /// Lost on the wire.
    pub(crate) losses: u64,
    pub(crate) starts: u64,
    pub(crate) started_bytes: u64,
    pub(crate) finished: u64,
    /// Time without transmission up to the last look, ps.
    pub(crate) idle: u64,
}

/// A directed link.
pub(crate) struct Link {
    // what every packet touches
    waiting: Ring<Waiting>,
    bytes: u64,
    /// When the transmitter is free again, and a shaper lets the next packet go.
    free: u64,
    capacity: Capacity,
    transmitter: Transmitter,
    pub(crate) aqm: AqmInstance,
    /// Whether the AQM judges what arrives.
    judges_arrivals: bool,
    random: Stream,
    pub(crate) counters: Counters,
    clock: QueueClock,
    delays: DelayHistogram,
    /// The measurement window.
    window: (u64, u64),
    in_service: bool,
    // event-driven departures
    pub(crate) event_driven: bool,
    pub(crate) acts: Acts,
    /// Whether packets are taken in batches.
    served: bool,
    /// Whether a packet leaves the queue as soon as the one before it has been sent, and comes out:
    /// nothing polices, shapes, loses or delays it, and its queue has no classes.
    plain: bool,
    queue: Ring<(u64, Packet)>,
    serving: Option<Packet>,
    extras: Option<Box<Extras>>,
    /// Label that a scheduler may know of the flow of the packet that is offered next.
    pub(crate) label: Label,
    /// Whether it has a scheduler, or an AQM that looks at priorities: packets are to be offered
    /// with label and priority.
    pub(crate) labelled: bool,
    /// Whether ACKs that wait may give way to later ones.
    pub(crate) filters_acks: bool,
    pub(crate) reported: Reported,
    /// Fates of packets beside the one that was offered, for the engine to record.
    pub(crate) judged: Vec<(Packet, Fate)>,
    // beyond the transmitter
    delay: Schedule<u64>,
    /// The delay now, and until when.
    present_delay: (u64, u64),
    /// Whether it stays so, and packets come out in the order in which they went in.
    steady: bool,
    last_exit: u64,
    /// Packets on their way to the next link of their path, or out of the last where delays change.
    pub(crate) wire: VecDeque<(u64, Packet)>,
    busy: BusyClock,
    pub(crate) at_opening: Counters,
    pub(crate) at_closing: Option<Counters>,
    frozen: Option<(QueueClock, BusyClock)>,
}

impl Link {
    pub(crate) fn new(
        rate: Rate,
        delay: Schedule<u64>,
        capacity: Capacity,
        aqm: AqmInstance,
        random: Stream,
        window: (u64, u64),
        general: bool,
    ) -> Self {
        Self {
            waiting: Ring::default(),
            bytes: 0,
            free: 0,
            capacity,
            transmitter: Transmitter::new(rate),
            event_driven: general || aqm.decides_at_dequeue(),
            labelled: aqm.reads_priority(),
            judges_arrivals: aqm.judges_arrivals(),
            aqm,
            random,
            counters: Counters::default(),
            clock: QueueClock::default(),
            delays: DelayHistogram::default(),
            window,
            in_service: false,
            acts: Acts::default(),
            queue: Ring::default(),
            serving: None,
            served: false,
            plain: true,
            extras: None,
            label: Label::default(),
            filters_acks: false,
            reported: Reported::default(),
            judged: Vec::new(),
            steady: delay.is_constant(),
            present_delay: (delay.value_at(0), 0),
            delay,
            last_exit: 0,
            wire: VecDeque::new(),
            busy: BusyClock::default(),
            at_opening: Counters::default(),
            at_closing: None,
            frozen: None,
        }
    }

    /// The same link with a scheduler or impairments.
    pub(crate) fn with(mut self, extras: Extras) -> Self {
        self.event_driven = true;
        self.served = extras.server.is_some();
        self.plain = extras.tree.is_none()
            && extras.server.is_none()
            && extras.impairments.is_empty()
            && !extras.scheduled.as_ref().is_some_and(Scheduled::judges);
        self.labelled |= extras.scheduled.is_some() || extras.tree.is_some();
        self.filters_acks = extras
            .scheduled
            .as_ref()
            .is_some_and(Scheduled::filters_acks)
            || extras.tree.as_ref().is_some_and(Tree::filters_acks);
        self.extras = Some(Box::new(extras));
        self
    }

    /// Number of waiting packets.
    #[inline]
    pub(crate) fn length(&self) -> usize {
        match &self.extras {
            Some(extras) => extras.packets().unwrap_or(self.queue.len()),
            None if self.event_driven => self.queue.len(),
            None => self.waiting.len(),
        }
    }

    fn scheduled(&self) -> Option<&Scheduled> {
        self.extras.as_ref()?.scheduled.as_ref()
    }

    fn tree(&self) -> Option<&Tree> {
        self.extras.as_ref()?.tree.as_ref()
    }

    /// Whether a packet that waits has been dropped or marked.
    #[inline(always)]
    pub(crate) fn has_judged(&self) -> bool {
        !self.judged.is_empty()
    }

    /// Whether packets may overtake each other on the wire.
    pub(crate) fn reorders(&self) -> bool {
        self.extras.as_ref().is_some_and(|extras| extras.reorders)
    }

    /// Number of waiting bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Precomputed departures: lets every packet leave the queue whose transmission begins by
    /// `now`.
    #[inline(always)]
    pub(crate) fn advance(&mut self, now: u64) {
        while let Some(&Waiting {
            arrival,
            start,
            size,
        }) = self.waiting.front()
        {
            if start > now {
                break;
            }
            self.clock.account(start, self.waiting.len(), self.bytes);
            self.waiting.skip_front();
            self.bytes -= u64::from(size);
            self.counters.starts += 1;
            self.record(arrival, start);
        }
    }

    /// Event-driven departures: a transmission begins; the one before it is over. (Where departures
    /// are precomputed the rest follows from the starts: [`Link::flush`], [`Link::ledger`].)
    #[inline]
    fn started(&mut self, size: u32) {
        self.counters.finished += u64::from(self.in_service);
        self.in_service = true;
        self.counters.starts += 1;
        self.counters.started_bytes += u64::from(size);
    }

    /// A sojourn in the queue ends at `start`.
    #[inline]
    fn record(&mut self, arrival: u64, start: u64) {
        if start >= self.window.0 && start < self.window.1 {
            self.delays.record(start - arrival);
        }
    }

    /// Whether nothing waits or is sent, and whether a packet of this size has no room among
    /// `packets`.
    #[inline(always)]
    fn is_idle_or_full(&self, now: u64, packets: u32, size: u32) -> (bool, bool) {
        let full = match self.capacity {
            Capacity::Packets(limit) => packets >= limit,
            Capacity::Bytes(limit) => self.bytes + u64::from(size) > limit,
            Capacity::Unlimited => false,
        };
        // with a service packets may wait for it while nothing is sent
        let idle = self.free <= now && self.serving.is_none() && packets == 0;
        // a packet that can be sent at once never waits
        (idle, full && !idle)
    }

    fn view(&self, now: u64, size: u32) -> QueueView {
        let packets = self.length() as u32;
        let (idle, full) = self.is_idle_or_full(now, packets, size);
        QueueView {
            packets,
            bytes: self.bytes,
            full,
            idle_since: idle.then_some(Time(self.free)),
            rate: self.rate_of_queue(self.transmitter.rate_at(now)),
            head_sojourn: self.shaped().map(|_| {
                let head = self.queue.front();
                head.map_or(Time::ZERO, |(arrival, _)| Time(now - arrival))
            }),
        }
    }

    /// The rate of the shaper behind which the queue waits, bit/s.
    fn shaped(&self) -> Option<f64> {
        self.extras.as_ref()?.impairments.shaped()
    }

    /// The most that the queue is served at, bit/s, where the transmitter has this rate.
    fn rate_of_queue(&self, line: f64) -> f64 {
        self.shaped().map_or(line, |shaped| line.min(shaped))
    }

    fn packet_view(packet: &Packet) -> PacketView {
        PacketView {
            size: packet.size,
            flow: packet.flow,
            ecn_capable: packet.flags.has(Flags::ECT),
            scalable: packet.flags.is_scalable(),
            syn: packet.flags.has(Flags::SYN),
            priority: packet.priority,
        }
    }

    /// A packet arrives; it may be marked.
    #[inline]
    pub(crate) fn offer(&mut self, now: u64, packet: &mut Packet) -> Offer {
        let size = packet.size;
        if !self.event_driven {
            self.advance(now);
        }
        self.counters.arrivals += 1;
        self.counters.arrived_bytes += u64::from(size);
        if let Some(extras) = &mut self.extras {
            if !self.plain && !extras.impairments.admits(now, size) {
                self.counters.policed += 1;
                return Offer::Policed;
            }
            if extras.scheduled.is_some() {
                let offer = self.offer_scheduled(now, packet);
                return self.woken(now, offer);
            }
            if extras.tree.is_some() {
                return self.offer_tree(now, packet);
            }
        }
        let (full, verdict) = self.judge_arrival(now, packet);
        if full || verdict == Verdict::Drop {
            self.drop_packet(size);
            self.counters.overflows += u64::from(full);
            return Offer::Dropped;
        }
        if verdict == Verdict::Mark {
            self.mark(packet);
        }
        if self.event_driven {
            let offer = self.offer_event_driven(now, packet);
            return self.woken(now, offer);
        }
        Offer::Departs(self.depart(now, size))
    }

    /// Whether the queue has no room for a packet, and what the AQM decides on it.
    #[inline(always)]
    fn judge_arrival(&mut self, now: u64, packet: &Packet) -> (bool, Verdict) {
        if !self.judges_arrivals {
            let (_, full) = self.is_idle_or_full(now, self.length() as u32, packet.size);
            return (full, Verdict::Accept);
        }
        let view = self.view(now, packet.size);
        let packet_view = Self::packet_view(packet);
        let verdict = self
            .aqm
            .enqueue(Time(now), &packet_view, &view, &mut self.random);
        (view.full, verdict)
    }

    /// When its queue last changed, or it will have sent what is in it.
    pub(crate) fn last_moment(&self) -> u64 {
        self.clock.last().max(self.free)
    }

    /// [`Link::offer`] with precomputed departures, of a data packet that is not labelled.
    #[inline(always)]
    pub(crate) fn offer_precomputed(
        &mut self,
        now: u64,
        size: u32,
        flow: usize,
        flags: Flags,
    ) -> OfferOutcome {
        match self.aqm {
            // inlined for speed: what `offer_judged` comes to where only a full queue drops
            AqmInstance::DropTail(_) => {
                if self.find(now, size) {
                    return self.overflow(size);
                }
                OfferOutcome::Departs(self.depart(now, size))
            }
            _ => self.offer_judged(now, size, flow, flags),
        }
    }

    /// [`Link::offer_precomputed`] where an AQM decides.
    #[inline(never)]
    fn offer_judged(&mut self, now: u64, size: u32, flow: usize, flags: Flags) -> OfferOutcome {
        let full = self.find(now, size);
        let verdict = self.ask(now, size, flow, flags, full);
        if full {
            return self.overflow(size);
        }
        if verdict == Verdict::Drop {
            self.drop_packet(size);
            return OfferOutcome::Dropped;
        }
        let finish = self.depart(now, size);
        if verdict == Verdict::Mark && flags.has(Flags::ECT) && !flags.has(Flags::CE) {
            self.counters.marks += 1;
            return OfferOutcome::Marked(finish);
        }
        OfferOutcome::Departs(finish)
    }

    /// Precomputed departures: a packet arrives and finds the queue as it is then, full or not.
    #[inline(always)]
    fn find(&mut self, now: u64, size: u32) -> bool {
        self.advance(now);
        self.counters.arrivals += 1;
        self.counters.arrived_bytes += u64::from(size);
        self.free > now
            && match self.capacity {
                Capacity::Packets(limit) => self.waiting.len() as u32 >= limit,
                Capacity::Bytes(limit) => self.bytes + u64::from(size) > limit,
                Capacity::Unlimited => false,
            }
    }

    #[cold]
    #[inline(never)]
    fn overflow(&mut self, size: u32) -> OfferOutcome {
        self.drop_packet(size);
        self.counters.overflows += 1;
        OfferOutcome::Dropped
    }

    /// Precomputed departures: what the AQM decides on a data packet.
    #[inline(always)]
    fn ask(&mut self, now: u64, size: u32, flow: usize, flags: Flags, full: bool) -> Verdict {
        let view = QueueView {
            packets: self.waiting.len() as u32,
            bytes: self.bytes,
            full,
            idle_since: (self.free <= now).then_some(Time(self.free)),
            rate: self.transmitter.rate_at(now),
            head_sojourn: None,
        };
        let packet = PacketView {
            size,
            flow: flow as u32,
            ecn_capable: flags.has(Flags::ECT),
            scalable: flags.is_scalable(),
            syn: false,
            priority: 0,
        };
        match &mut self.aqm {
            // inlined for speed: what `ask_any` comes to for the AQM used most
            AqmInstance::Red(red) => red.enqueue(Time(now), &packet, &view, &mut self.random),
            _ => self.ask_any(now, packet, view),
        }
    }

    #[inline(never)]
    fn ask_any(&mut self, now: u64, packet: PacketView, view: QueueView) -> Verdict {
        self.aqm
            .enqueue(Time(now), &packet, &view, &mut self.random)
    }

    /// Precomputed departures: a packet joins the queue, and when it will have left is known.
    #[inline(always)]
    fn depart(&mut self, now: u64, size: u32) -> u64 {
        let follows = self.free >= now;
        let start = if follows { self.free } else { now };
        if start > now {
            self.clock.account(now, self.waiting.len(), self.bytes);
            self.waiting.push_back(Waiting {
                arrival: now,
                start,
                size,
            });
            self.bytes += u64::from(size);
        } else {
            self.busy.gap(self.free, now);
            self.counters.starts += 1;
            self.record(now, now);
        }
        self.free = self.transmitter.finish(start, size, follows);
        self.free
    }

    fn drop_packet(&mut self, size: u32) {
        self.counters.drops += 1;
        self.counters.dropped_bytes += u64::from(size);
    }

    /// Marks a packet; false if it may not be marked (a mistake of a user's own AQM must not invent
    /// a mark) or is marked already.
    fn mark(&mut self, packet: &mut Packet) -> bool {
        let new = packet.flags.has(Flags::ECT) && !packet.flags.has(Flags::CE);
        if new {
            packet.flags.0 |= Flags::CE;
            self.counters.marks += 1;
        }
        new
    }

    /// Whether a packet that is taken out of a queue goes on, marked or not; `judged` tells the
    /// engine what became of it otherwise.
    #[inline(always)]
    fn leaves(&mut self, verdict: Verdict, packet: &mut Packet) -> bool {
        match verdict {
            Verdict::Accept => true,
            Verdict::Mark => {
                if self.mark(packet) {
                    self.judged.push((*packet, Fate::Marked));
                }
                true
            }
            Verdict::Drop => {
                self.drop_packet(packet.size);
                self.judged.push((*packet, Fate::Dropped));
                false
            }
        }
    }

    /// The AQM's timer, if it has one.
    pub(crate) fn next_timer(&self) -> Option<u64> {
        let own = || self.aqm.next_timer().map(|time| time.0);
        let Some(extras) = &self.extras else {
            return own();
        };
        match (&extras.scheduled, &extras.tree) {
            (Some(scheduled), _) => scheduled.next_timer(),
            (None, Some(tree)) => tree.next_timer(),
            (None, None) => own(),
        }
    }

    pub(crate) fn on_timer(&mut self, now: u64) {
        self.advance(now);
        let (rate, sending) = (self.transmitter.rate_at(now), self.is_sending(now));
        if let Some(scheduled) = scheduled_in(&mut self.extras) {
            scheduled.on_timer(now, rate, sending, &mut self.random);
            return;
        }
        if self.timer_of_tree(now, rate) {
            return;
        }
        let view = self.view(now, 0);
        self.aqm.on_timer(Time(now), &view, &mut self.random);
    }

    /// The rate has changed, as its schedule said.
    pub(crate) fn on_rate_change(&mut self, now: u64, rate: f64) {
        self.advance(now);
        let rate = self.rate_of_queue(rate);
        self.aqm.on_link_change(Time(now), rate);
        let transmitter = &self.transmitter;
        if let Some(scheduled) = scheduled_in(&mut self.extras) {
            scheduled.on_link_change(now, rate, |time| transmitter.rate_at(time));
        }
        if let Some(tree) = tree_in(&mut self.extras) {
            tree.on_link_change(now, rate);
        }
    }

    /// Another value of one of the AQM's parameters.
    pub(crate) fn set_parameter(&mut self, now: u64, name: &str, value: f64) -> Result<(), String> {
        let transmitter = &self.transmitter;
        match scheduled_in(&mut self.extras) {
            Some(scheduled) => {
                scheduled.set_parameter(now, |time| transmitter.rate_at(time), name, value)
            }
            None => self.aqm.set_parameter(name, value),
        }
        .map_err(|error| error.to_string())
    }

    pub(crate) fn set_capacity(&mut self, capacity: Capacity) {
        self.capacity = capacity;
    }

    /// Changes the losses on the wire of a link that has some.
    pub(crate) fn set_loss(&mut self, loss: &LossSpec) {
        if let Some(extras) = &mut self.extras {
            extras.impairments.set_loss(loss);
        }
    }

    /// Brings the counters up to `now`.
    pub(crate) fn flush(&mut self, now: u64) {
        self.advance(now);
        self.clock.account(now, self.length(), self.bytes);
        self.idle_until(now);
        self.counters.idle = self.busy.idle;
        if !self.event_driven {
            self.counters.started_bytes =
                self.counters.arrived_bytes - self.counters.dropped_bytes - self.bytes;
        }
    }

    /// The measurement window opens.
    pub(crate) fn open_window(&mut self, now: u64) {
        self.flush(now);
        self.at_opening = self.counters;
        if let Some(tree) = tree_in(&mut self.extras) {
            tree.window(true);
        }
        self.clock.restart(now);
        self.busy.restart(now);
    }

    /// The measurement window closes.
    pub(crate) fn close_window(&mut self, now: u64) {
        self.flush(now);
        self.at_closing = Some(self.counters);
        if let Some(tree) = tree_in(&mut self.extras) {
            tree.window(false);
        }
        self.frozen = Some((self.clock.clone(), self.busy.clone()));
    }

    /// Statistics of the closed window.
    pub(crate) fn window_statistics(&self) -> Option<(&QueueClock, &BusyClock, &DelayHistogram)> {
        self.frozen
            .as_ref()
            .map(|(clock, busy)| (clock, busy, &self.delays))
    }

    /// The ledger of the whole run, at its end.
    pub(crate) fn ledger(&mut self, end: u64) -> Ledger {
        self.advance(end);
        if !self.event_driven {
            self.in_service = self.counters.starts > 0;
            self.counters.finished = self.counters.starts - u64::from(self.in_service);
        }
        if self.in_service && self.free <= end {
            self.counters.finished += 1;
            self.in_service = false;
        }
        // precomputed, the transmitter is taken by what still waits: only what has begun is in
        // service
        let batch = self.extras.as_ref().and_then(|it| it.server.as_ref());
        let serving = u64::from(self.in_service) + batch.map_or(0, |it| it.held().count() as u64);
        Ledger {
            sent: self.counters.arrivals,
            delivered: self.counters.finished,
            dropped: self.counters.drops,
            lost: self.counters.policed + self.counters.losses,
            in_flight: self.length() as u64 + serving,
        }
    }

    /// The account of each class of a queue that has some.
    pub(crate) fn accounts_of_classes(&self) -> Vec<QueueAccount> {
        let mut accounts = Vec::new();
        if let Some(tree) = self.tree() {
            tree.accounts("", &mut accounts);
        }
        accounts
    }

    /// The AQM's inner state.
    pub(crate) fn observe(&self) -> Observation {
        self.scheduled()
            .map_or_else(|| self.aqm.observe(), Scheduled::observe)
    }

    /// Event-driven departures: packets of each flow that wait or are being sent.
    pub(crate) fn held(&self) -> impl Iterator<Item = &Packet> {
        let scheduled = self.scheduled().into_iter().flat_map(Scheduled::held);
        let batch = self.extras.as_ref().and_then(|it| it.server.as_ref());
        let mut classes = Vec::new();
        if let Some(tree) = self.tree() {
            tree.held(&mut classes);
        }
        self.queue
            .iter()
            .map(|(_, packet)| packet)
            .chain(&self.serving)
            .chain(batch.into_iter().flat_map(|it| it.held()))
            .chain(scheduled)
            .chain(classes)
    }
}

/// Whether a capacity limits anything.
pub(crate) fn in_packets(capacity: Capacity, packet: f64) -> f64 {
    match capacity {
        Capacity::Packets(n) => f64::from(n),
        Capacity::Bytes(bytes) => bytes as f64 / packet,
        Capacity::Unlimited => f64::INFINITY,
    }
}
