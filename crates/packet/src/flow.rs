//! A flow: its ends, its private path, its counters.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::mem::offset_of;

use ackclock_algorithms::Stream;
use ackclock_algorithms::registry::ControllerFactory;
use ackclock_algorithms::scheduler::{Ends as HostEnds, SackBlocks};
use ackclock_scenario::Traffic;

use crate::access::Access;
use crate::ack_reports::{AckReports, Report};
use crate::calendar::{Calendar, Class as Order, Kind, Place, Tag};
use crate::class::{
    Class, ClockOffsets, Delays, clock_offsets, clock_offsets_if_coalesced, delays_of,
};
use crate::draw::entity;
use crate::measurements::{FlowCounters, FlowTotals, Measurements, Parts, Watch};
use crate::packet::{Ack, Flags, Outbound, Packet};
use crate::polled::Polled;
use crate::prefetch::{LINE_BYTES, prefetch, prefetch_at};
use crate::ring::Ring;
use crate::tcp::receiver::{Config, Receiver};
use crate::tcp::{self, Sender};
use crate::traffic::application::Application;

/// A UDP source.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Source {
    /// Bits a second while it sends.
    pub(crate) rate: f64,
    /// End of the present burst, ps.
    pub(crate) burst_end: u64,
    pub(crate) next_seq: u64,
}

/// The two ends of a flow.
#[allow(
    clippy::large_enum_variant,
    reason = "nearly all flows are TCP, and a pointer more would cost each packet a cache miss"
)]
pub(crate) enum Ends {
    Tcp {
        sender: Sender,
        receiver: Receiver,
    },
    /// A transport of others.
    Polled(Box<Polled>),
    Udp(Source),
    /// No ends of its own: it opens connections, which other flows carry.
    ConnectionSource,
}

/// Parts that few flows need.
#[derive(Default)]
pub(crate) struct ColdState {
    /// On the way to the receiver.
    pub(crate) inbound: VecDeque<(u64, Packet)>,
    /// ACKs on the way to the first reverse queue.
    pub(crate) acks_out: VecDeque<(u64, Packet)>,
    /// When packets will find the receiver's downlink full.
    pub(crate) dropping: VecDeque<u64>,
    pub(crate) reports: AckReports,
    pub(crate) last_ack_out: u64,
}

impl ColdState {
    /// Whether nothing is on its way.
    pub(crate) fn is_empty(&self) -> bool {
        self.inbound.is_empty() && self.acks_out.is_empty()
    }
}

/// A data packet on its last way to the receiver.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Arriving {
    /// When it is there.
    pub(crate) at: u64,
    /// When it was sent, and whether its one-way delay is measured.
    pub(crate) sent: u64,
    pub(crate) measured: bool,
    /// New payload that the application then gets, bytes, where that is known already.
    pub(crate) payload: u64,
}

/// A flow of the scenario, by number.
pub(crate) enum FlowSlot {
    /// It has not started: what its state will begin with. A stopped one does not start.
    Waiting {
        random: Stream,
        rtt: u64,
        stopped: bool,
    },
    /// Slot of its state.
    Live(u32),
    /// It has ended for good, and its state has been given back.
    Over(Box<FlowSummary>),
}

impl FlowSlot {
    pub(crate) fn slot(&self) -> Option<usize> {
        match self {
            Self::Live(slot) => Some(*slot as usize),
            Self::Waiting { .. } | Self::Over(_) => None,
        }
    }
}

/// Summary of a flow for the results.
pub(crate) struct FlowSummary {
    pub(crate) rtt: u64,
    pub(crate) start: u64,
    pub(crate) completion: u64,
    pub(crate) delivered: u64,
    pub(crate) whole: FlowTotals,
    pub(crate) window: FlowCounters,
    pub(crate) watch: Watch,
    pub(crate) parts: Option<Box<Parts>>,
    /// Congestion window, if there is an established connection.
    pub(crate) cwnd: Option<f64>,
    pub(crate) counters: tcp::Counters,
}

/// Data packets on a flow's private ways: to the first queue, and from the last.
#[derive(Default)]
pub(crate) struct DataPath {
    /// On the way to the first queue, after the uplink; and when the last of it gets there.
    pub(crate) outbound: Ring<Outbound>,
    pub(crate) last_outbound: u64,
    /// Packets that have passed the last queue, and when the last of them is there.
    pub(crate) arriving: Ring<Arriving>,
    pub(crate) last_arrival: u64,
}

/// ACKs on a flow's private way back.
#[derive(Default)]
pub(crate) struct AckPath {
    /// In order of arrival, and when the last of them is there.
    pub(crate) ring: Ring<Ack>,
    pub(crate) last: u64,
    /// How much later than it comes an ACK may be taken while its packets would wait for the uplink
    /// anyway; see [`Flow::ack_event_time`].
    pub(crate) max_delay: u64,
}

/// Entries of a flow that stand in the calendar: if so, or when; `u64::MAX`: never.
pub(crate) struct CalendarEntries {
    pub(crate) ack: bool,
    pub(crate) application: bool,
    /// A paced sender is looked at again.
    pub(crate) pacing: u64,
    /// The retransmission timer.
    pub(crate) timer: u64,
    pub(crate) delayed_ack: u64,
}

impl Default for CalendarEntries {
    fn default() -> Self {
        Self {
            ack: false,
            application: false,
            pacing: u64::MAX,
            timer: u64::MAX,
            delayed_ack: u64::MAX,
        }
    }
}

/// How the present connection came to be.
#[derive(Default)]
pub(crate) struct Connection {
    /// When the first SYN left, and how many followed.
    pub(crate) syn_sent: u64,
    pub(crate) syn_retries: u32,
    /// SYNs on their way to the receiver, and ACKs on a way back that others use.
    pub(crate) controls: u32,
    /// Segments and ACKs with earlier time stamps belong to a connection that is over.
    pub(crate) opened: u64,
    /// How long the server takes before it sends, ps.
    pub(crate) server_delay: u64,
}

/// Data that the application of a flow sends.
pub(crate) struct Transfer {
    /// Segments that it will ever write, and payload of the last of them, bytes.
    pub(crate) total: u64,
    pub(crate) tail: u32,
    /// Start (by the sender's clock) and size (bytes) of the present transfer of a session or a
    /// connection that comes and goes.
    pub(crate) began: u64,
    pub(crate) bytes: u64,
    pub(crate) completion: u64,
    /// From when an application-limited flow has written at its present rate, and segments written
    /// until then.
    pub(crate) written_from: u64,
    pub(crate) written_before: u64,
}

impl Default for Transfer {
    fn default() -> Self {
        Self {
            total: u64::MAX,
            tail: 0,
            began: 0,
            bytes: 0,
            completion: u64::MAX,
            written_from: 0,
            written_before: 0,
        }
    }
}

/// How a flow is told from others.
#[derive(Default)]
pub(crate) struct Identity {
    /// Number of the flow in whose results this one counts: itself, or the source that opened its
    /// connection.
    pub(crate) owner: u32,
    /// Hash by routers: follows the names of class and connection, not the order in which flows
    /// came to be.
    pub(crate) hash: u32,
    /// The same of the hosts of its sender and receiver.
    pub(crate) hosts: HostEnds<u32>,
}

/// A flow that has started, or is about to.
///
/// Of many flows none is in the caches when its next packet comes, so that what each packet needs
/// lies together: from the measurements to the hot part of the sender.
#[repr(C)]
pub(crate) struct Flow {
    pub(crate) measured: Measurements,
    pub(crate) acks: AckPath,
    /// Its number and its own slot.
    pub(crate) place: Place,
    pub(crate) class: u32,
    pub(crate) stopped: bool,
    pub(crate) scheduled: CalendarEntries,
    pub(crate) delays: Delays,
    pub(crate) clock_offsets: ClockOffsets,
    pub(crate) cold: Option<Box<ColdState>>,
    pub(crate) uplink: Option<Access>,
    pub(crate) downlink: Option<Access>,
    pub(crate) ends: Ends,
    pub(crate) random: Stream,
    pub(crate) data: DataPath,
    pub(crate) identity: Identity,
    pub(crate) rtt: u64,
    /// Start by the sender's clock; `u64::MAX` before it.
    pub(crate) start: u64,
    pub(crate) connection: Connection,
    pub(crate) transfer: Transfer,
    pub(crate) application: Option<Box<Application>>,
}

impl Flow {
    /// Returns the hash that the sender's host gave a packet.
    #[inline]
    pub(crate) fn hashed(&self, packet: &Packet) -> u32 {
        (self.identity.hash).wrapping_add(u32::from(packet.rehashes).wrapping_mul(0x9e37_79b9))
    }

    /// How often a Linux sender has named the flow anew: at each timeout (`sk_rethink_txhash`), so
    /// that what it sends from then on moves to another sub-queue.
    pub(crate) fn times_rehashed(&self) -> u16 {
        match &self.ends {
            Ends::Tcp { sender, .. } => sender.counters.timeouts as u16,
            Ends::Polled(_) | Ends::Udp(_) | Ends::ConnectionSource => 0,
        }
    }

    /// Asks the processor for what each packet needs.
    #[inline(always)]
    pub(crate) fn prefetch(&self) {
        let first = offset_of!(Self, measured.window.sent);
        let last = offset_of!(Self, ends) + Sender::HOT_BYTES;
        for offset in (first..last).step_by(LINE_BYTES) {
            prefetch_at(self, offset);
        }
    }

    /// Asks for what lies elsewhere, once that is there: the ACKs that come next, the receiver.
    #[inline(always)]
    pub(crate) fn prefetch_rest(&self) {
        if let Some(ack) = self.acks.ring.front() {
            prefetch(ack);
            prefetch_at(ack, LINE_BYTES);
        }
        if let Ends::Tcp { receiver, .. } = &self.ends {
            prefetch(receiver);
            prefetch_at(receiver, LINE_BYTES);
        }
    }

    /// A flow of a class that has not started; its path has no delay yet.
    pub(crate) fn new(class: usize, place: Place, ends: Ends, random: Stream, owner: u32) -> Self {
        Self {
            ends,
            data: DataPath::default(),
            acks: AckPath::default(),
            place,
            class: class as u32,
            identity: Identity {
                owner,
                ..Identity::default()
            },
            scheduled: CalendarEntries::default(),
            rtt: 0,
            delays: Delays::default(),
            clock_offsets: ClockOffsets::default(),
            uplink: None,
            downlink: None,
            start: u64::MAX,
            stopped: false,
            connection: Connection::default(),
            transfer: Transfer::default(),
            application: None,
            measured: Measurements::default(),
            cold: None,
            random,
        }
    }

    /// Returns its summary for the results; its measurements go with them.
    pub(crate) fn summary(&mut self) -> FlowSummary {
        let (cwnd, counters) = match &self.ends {
            Ends::Tcp { sender, .. } => {
                let stands = sender.state != tcp::State::Closed;
                (stands.then_some(sender.window.cwnd), sender.counters)
            }
            Ends::Polled(polled) => (polled.cwnd(), polled.counters),
            Ends::Udp(_) | Ends::ConnectionSource => (None, tcp::Counters::default()),
        };
        FlowSummary {
            rtt: self.rtt,
            start: self.start,
            completion: self.transfer.completion,
            delivered: self.measured.delivered,
            whole: self.measured.whole,
            window: self.measured.window,
            watch: std::mem::take(&mut self.measured.watch),
            parts: self.measured.parts.take(),
            cwnd,
            counters,
        }
    }

    /// Whether nothing of a transfer that is complete is on its way any more, so that nothing can
    /// happen to it. Its counters must be flushed.
    pub(crate) fn is_over(&self) -> bool {
        let Ends::Tcp { receiver, .. } = &self.ends else {
            return false;
        };
        let taken = self.measured.whole.drops + self.measured.whole.losses;
        self.transfer.completion != u64::MAX
            && self.measured.whole.sent == self.measured.delivered + taken
            && self.connection.syn_retries == 0 // a SYN may still be there
            && receiver.due == 0
            && self.acks.ring.is_empty()
            && self.data.outbound.is_empty()
            && self.cold.as_deref().is_none_or(ColdState::is_empty)
    }

    /// Keeps the SACK blocks of an ACK that leaves at `at`, and what it offers: their number.
    #[inline(never)]
    pub(crate) fn keep_report(&mut self, blocks: Vec<(u64, u64)>, at: u64, config: &Config) -> u32 {
        let offer = match &mut self.ends {
            Ends::Tcp { receiver, .. } => receiver.offer(at, config),
            _ => None,
        };
        self.cold().reports.keep(Report { blocks, offer })
    }

    /// Keeps those of an ACK for segment `sack` on the private way, if it speaks for several
    /// segments or the receive buffer limits the sender; 0 if not.
    #[inline]
    pub(crate) fn keep_merged(&mut self, sack: u64, at: u64, config: &Config) -> u32 {
        let Ends::Tcp { receiver, .. } = &mut self.ends else {
            return 0;
        };
        let blocks = if receiver.take_unreported() {
            receiver.blocks(sack)
        } else if receiver.has_buffer() {
            Vec::new()
        } else {
            return 0;
        };
        self.keep_report(blocks, at, config)
    }

    /// Takes the report of an ACK that has arrived at `now`, by the sender's clock, and by its
    /// number (0: none): its SACK blocks.
    #[inline(always)]
    pub(crate) fn hear_report(&mut self, number: u32, now: u64) -> Vec<(u64, u64)> {
        match number {
            0 => Vec::new(),
            _ => self.take_report(number, now),
        }
    }

    #[cold]
    #[inline(never)]
    fn take_report(&mut self, number: u32, now: u64) -> Vec<(u64, u64)> {
        let Some(cold) = &mut self.cold else {
            return Vec::new();
        };
        let Report { blocks, offer } = cold.reports.take(number);
        if let (Some(offer), Ends::Tcp { sender, receiver }) = (offer, &mut self.ends) {
            sender.hear_offer(offer.edge);
            receiver.note_heard(now, offer.sent);
        }
        blocks
    }

    /// SACK blocks of an ACK on its way, a duplicate's first, as many as its option holds.
    #[cold]
    pub(crate) fn reported(&self, ack: &Packet) -> SackBlocks {
        let mut reported = SackBlocks::default();
        if let Some(cold) = &self.cold {
            let twice = ack.flags.has(Flags::SENT_TWICE);
            let duplicate = twice.then(|| (ack.sack, ack.sack + 1));
            let report = cold.reports.of(ack.blocks);
            let blocks = report
                .into_iter()
                .flat_map(|report| &report.blocks)
                .copied();
            for (place, block) in reported.iter_mut().zip(duplicate.into_iter().chain(blocks)) {
                *place = block;
            }
        }
        reported
    }

    pub(crate) fn cold(&mut self) -> &mut ColdState {
        self.cold.get_or_insert_default()
    }

    /// Event time less sender's clock.
    #[inline]
    pub(crate) fn sender_clock_offset(&self) -> u64 {
        match &self.ends {
            Ends::Tcp { sender, .. } if sender.state == tcp::State::Closed => {
                self.clock_offsets.connecting
            }
            _ => self.clock_offsets.sender,
        }
    }

    /// Event time of the delayed-ACK timer less receiver's clock: where a receiver has no events of
    /// its own the timer matters when its ACK reaches the sender.
    pub(crate) fn due_offset(&self, class: &Class) -> u64 {
        if class.coalesced && class.route.reverse.is_none() {
            self.delays.receiver_return + self.clock_offsets.sender
        } else {
            self.clock_offsets.receiver
        }
    }

    /// Records the data packets that have reached the receiver by `now`.
    #[inline]
    pub(crate) fn flush(&mut self, now: u64, window: (u64, u64), class: &Class) {
        while let Some(&packet) = self.data.arriving.front()
            && packet.at <= now
        {
            self.data.arriving.pop_front();
            self.record_arrival(packet.at, packet.sent, packet.measured, window, class);
            self.record_payload(packet.at, packet.payload, window);
        }
    }

    /// Data packet `seq` that was sent at `sent` will reach the receiver at `at`. It is counted now
    /// where nobody can ask before then: the end of the run is known, and its connection is the
    /// flow's only one.
    #[inline(always)]
    #[expect(clippy::too_many_arguments, reason = "inlined")]
    pub(crate) fn expect(
        &mut self,
        at: u64,
        sent: u64,
        seq: u64,
        now: u64,
        end: u64,
        window: (u64, u64),
        class: &Class,
    ) {
        let measured = class.one_way.measures(seq);
        if at <= end && end != u64::MAX && !class.lifetime.reuses_flow_state {
            self.record_arrival(at, sent, measured, window, class);
        } else {
            let packet = Arriving {
                at,
                sent,
                measured,
                payload: 0,
            };
            self.expect_later(packet, now, window, class);
        }
    }

    #[inline(never)]
    fn expect_later(&mut self, packet: Arriving, now: u64, window: (u64, u64), class: &Class) {
        self.flush(now, window, class);
        self.data.arriving.push_back(packet);
    }

    /// A data packet that was sent at `sent` reaches the receiver at `at`. Those of a flow are
    /// recorded in order.
    #[inline(always)]
    fn record_arrival(
        &mut self,
        at: u64,
        sent: u64,
        measured: bool,
        window: (u64, u64),
        class: &Class,
    ) {
        self.measured.delivered += 1;
        if at >= window.0 && at < window.1 {
            self.measured.window.received += 1;
        }
        if measured {
            self.record_delay(at, sent, window, class);
        }
    }

    /// The one-way delay of the packet that was delivered last.
    #[inline(never)]
    pub(crate) fn record_delay(&mut self, at: u64, sent: u64, window: (u64, u64), class: &Class) {
        if at >= window.0 && at < window.1 {
            let number = self.measured.delivered;
            class
                .one_way
                .record(&mut self.measured.latest, number, at - sent);
        }
    }

    /// A data packet reaches the receiver, and the application gets new payload. Its arrival is
    /// counted elsewhere ([`Flow::delivered`]).
    #[inline(always)]
    pub(crate) fn record_data(&mut self, at: u64, payload: u64, window: (u64, u64)) {
        if self.measured.counts(at, window) {
            self.measured.window.received += 1;
            self.measured.window.payload += payload;
        }
    }

    /// With the data packet expected last the application gets new payload at `at`.
    #[inline]
    pub(crate) fn accept(
        &mut self,
        at: u64,
        now: u64,
        end: u64,
        window: (u64, u64),
        class: &Class,
        payload: u64,
    ) {
        if (end == u64::MAX || class.lifetime.reuses_flow_state)
            && at > now
            && let Some(packet) = self.data.arriving.back_mut()
        {
            packet.payload = payload; // the run may end before
            return;
        }
        self.record_payload(at, payload, window);
    }

    /// When an ACK is taken. What it lets out reaches the queue when the uplink has sent it: where
    /// that is busy the ACK waits until then, so that both are one event. Nobody sees it, as
    /// whoever looks at the sender before that takes its ACKs first
    /// ([`crate::engine::Engine::catch_up`]), and no timer that an ACK starts is shorter than
    /// `max_ack_delay`.
    #[inline(always)]
    pub(crate) fn ack_event_time(&self, ack: &Ack) -> u64 {
        let Some(uplink) = &self.uplink else {
            return ack.at;
        };
        let busy = uplink.free + self.clock_offsets.sender;
        if busy <= ack.at || ack.flags.has(Flags::SYN) {
            return ack.at;
        }
        busy.min(ack.at + self.acks.max_delay)
    }

    /// A packet waits for its uplink, and reaches the first queue at `at`.
    #[inline(never)]
    pub(crate) fn delay_outbound(&mut self, calendar: &mut Calendar, mut packet: Outbound) {
        packet.at = packet.at.max(self.data.last_outbound);
        self.data.last_outbound = packet.at;
        self.data.outbound.push_back(packet);
        if self.data.outbound.len() == 1 {
            let tag = Tag::of_flow(Order::Arrival, self.place, Kind::Access);
            calendar.push_near(packet.at, tag);
        }
    }

    /// The application gets new payload.
    #[inline]
    pub(crate) fn record_payload(&mut self, at: u64, payload: u64, window: (u64, u64)) {
        if self.measured.counts(at, window) {
            self.measured.window.payload += payload;
        }
    }

    /// Records the packets that the receiver's downlink has dropped by `now`.
    #[inline(always)]
    pub(crate) fn flush_drops(&mut self, now: u64, window: (u64, u64)) {
        if let Some(cold) = &self.cold
            && !cold.dropping.is_empty()
        {
            self.record_dropping(now, window);
        }
    }

    #[cold]
    #[inline(never)]
    fn record_dropping(&mut self, now: u64, window: (u64, u64)) {
        let Some(cold) = &mut self.cold else { return };
        while let Some(&at) = cold.dropping.front()
            && at <= now
        {
            cold.dropping.pop_front();
            self.measured.whole.drops += 1;
            self.measured.window.drops += u64::from(at >= window.0 && at < window.1);
        }
    }
}

/// The state of a flow of the scenario whose class begins at number `first`; `random` and `rtt` are
/// what it drew.
pub(crate) fn make_flow(
    class: &Class,
    id: usize,
    first: usize,
    place: Place,
    seed: u64,
    random: Stream,
    rtt: u64,
) -> Flow {
    let index = (place.number() - first) as u32;
    let owner = entity(&class.name, u64::from(index));
    let endpoints = class.opening.controller.custom();
    let endpoints = endpoints.and_then(ControllerFactory::endpoints);
    let ends = match (endpoints, &class.traffic) {
        (Some(endpoints), _) => Ends::Polled(Box::new(Polled::new(
            endpoints,
            index,
            random.clone().bits(),
            class.sizes.packet,
            class.sizes.payload,
            class.sender.ecn.ect != 0,
        ))),
        (None, Traffic::Arrivals { .. } | Traffic::PackMime { .. }) => Ends::ConnectionSource,
        (
            None,
            Traffic::Bulk
            | Traffic::Transfer { .. }
            | Traffic::AppLimited { .. }
            | Traffic::Http { .. },
        ) => Ends::Tcp {
            sender: class.new_sender(index),
            receiver: Receiver::default(),
        },
        (
            None,
            &(Traffic::Cbr { rate, .. }
            | Traffic::OnOff { rate, .. }
            | Traffic::Poisson { rate, .. }),
        ) => Ends::Udp(Source {
            rate,
            ..Source::default()
        }),
    };
    let access = || (class.access.rate).map(|rate| Access::new(rate, class.access.buffer));
    let mut flow = Flow::new(id, place, ends, random, place.number() as u32);
    flow.measured.parts.clone_from(&class.parts);
    flow.rtt = rtt;
    (flow.identity.hash, flow.identity.hosts) =
        class.hosts.of_flow(u64::from(index), (owner >> 32) as u32);
    if let Traffic::Transfer { .. } = class.traffic {
        flow.transfer.total = class.lifetime.total;
        flow.transfer.tail = class.sizes.payload;
    }
    if class.lifetime.reuses_flow_state {
        let application = Application::new(&class.name, u64::from(index), seed, &class.traffic);
        flow.application = Some(Box::new(application));
    }
    if !class.traffic.opens_connections() {
        // what does has no path of its own
        (flow.uplink, flow.downlink) = (access(), access());
        flow.set_delays(class);
        if class.has_short_path()
            && flow.uplink.is_some()
            && let Ends::Tcp { sender, .. } = &flow.ends
        {
            flow.acks.max_delay = sender.max_ack_delay(&class.sender);
        }
    }
    flow
}

impl Flow {
    /// Records the window up to `now`, by the sender's clock.
    #[inline(always)]
    pub(crate) fn record_window(&mut self, now: u64, window: (u64, u64)) {
        let Ends::Tcp { sender, .. } = &self.ends else {
            return;
        };
        let watch = &mut self.measured.watch;
        let stands = sender.state != tcp::State::Closed;
        if stands && watch.since >= window.0 && now < window.1 {
            // nearly always: no edge of the window lies between
            let span = now.saturating_sub(watch.since);
            watch.integral += sender.window.cwnd * span as i64 as f64;
            watch.time += span;
            watch.since = now;
        } else {
            let cwnd = stands.then_some(sender.window.cwnd);
            watch.record_edges(now, window, cwnd, &sender.counters);
        }
    }

    /// Private delays from its round trip, and the lag of its events behind its clocks.
    pub(crate) fn set_delays(&mut self, class: &Class) {
        self.delays = delays_of(class, self.rtt);
        self.clock_offsets = clock_offsets_if_coalesced(class, self.rtt);
    }

    /// Sets what the connection is to carry.
    pub(crate) fn set_transfer(&mut self, bytes: u64, payload: u32) {
        let payload = u64::from(payload);
        self.transfer.bytes = bytes;
        self.transfer.total = bytes.div_ceil(payload);
        self.transfer.tail = (bytes - (self.transfer.total - 1) * payload) as u32;
    }

    /// A new connection that opens at `at`: whatever bears an earlier time stamp belongs to the
    /// last one.
    pub(crate) fn renew(&mut self, new: Sender, at: u64) {
        if let Ends::Tcp { sender, receiver } = &mut self.ends {
            let counters = sender.counters;
            *sender = new;
            sender.counters = counters;
            *receiver = Receiver::default();
        }
        self.scheduled.pacing = u64::MAX;
        self.connection.opened = at;
    }

    /// Returns, for a source, the flow of a connection that has been over for some time at `now`.
    pub(crate) fn next_idle_flow(&mut self, now: u64) -> Option<u32> {
        let idle_flows = &mut self.application.as_mut()?.idle_flows;
        let &Reverse((from, _, slot)) = idle_flows.peek()?;
        if from >= now {
            return None;
        }
        idle_flows.pop();
        Some(slot)
    }

    /// Notes, for a source, that a flow may be used again after `from`.
    pub(crate) fn add_idle_flow(&mut self, from: u64, number: u32, slot: u32) {
        if let Some(application) = &mut self.application {
            application.idle_flows.push(Reverse((from, number, slot)));
        }
    }

    /// Nothing of its last connection is on its way any more at `now`. Its counters must be
    /// flushed.
    ///
    /// The answer is the same on both paths of the engine: a coalesced flow hears of its packets
    /// earlier, and takes its ACKs later, by their lag.
    pub(crate) fn is_quiet(&self, now: u64, class: &Class) -> bool {
        let Ends::Tcp { receiver, .. } = &self.ends else {
            return false;
        };
        let lag = clock_offsets(class, &self.delays).sender;
        let taken = self.measured.whole.drops + self.measured.whole.losses;
        self.measured.whole.sent == self.measured.delivered + taken
            && self.connection.controls == 0
            && receiver.due == 0
            && self.acks.ring.is_empty()
            && self.data.outbound.is_empty()
            && self.cold.as_deref().is_none_or(ColdState::is_empty)
            && self.data.last_arrival < now
            && self.acks.last.saturating_sub(self.clock_offsets.sender) + lag < now
    }

    /// Forgets the private path of the last connection.
    pub(crate) fn rest(&mut self) {
        self.delays = Delays::default();
        self.acks.last = 0;
        self.scheduled.pacing = u64::MAX;
        (self.data, self.acks.ring) = (DataPath::default(), Ring::default());
        self.cold = None;
    }
}
