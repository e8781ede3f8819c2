//! The common case in one go: bulk data crosses one link, or several whose departures are known at
//! arrival, and its ACKs come back over a private path.
//!
//! Where departures are known at arrival nothing else can look at the flow from the ACK that opens
//! the window to the ACKs of what it lets out, so that flow, class and link are looked up once and
//! nothing is handed on. Where they are events this is done in two parts: up to the queue, and from
//! the end of the transmission on. What happens is
//! what the steps of [`Engine`] do one after the other; those are taken by `Options::general`, for
//! connection set-up and for every other path.

use super::Engine;
use super::network::label;
use crate::calendar::{Calendar, Class as Order, Entry, Held, Kind, Place, Tag};
use crate::class::Class;
use crate::flow::{Ends, Flow};
use crate::link::late::tag;
use crate::link::{Link, Offer, OfferOutcome};
use crate::one_way::is_chosen;
use crate::packet::{Ack, Flags, Outbound, Packet};
use crate::prefetch::prefetch;
use crate::tcp::receiver::Reply;

/// More flows than this are not in the caches when their events come.
const MOST_IN_CACHE: usize = 2000;

/// When something happens, in a run that ends and measures then.
#[derive(Clone, Copy)]
struct Moment {
    now: u64,
    end: u64,
    window: (u64, u64),
}

impl Moment {
    #[inline]
    fn measures(&self, time: u64) -> bool {
        time >= self.window.0 && time < self.window.1
    }
}

impl Engine {
    /// Asks the processor for what a timer of a flow needs.
    #[inline]
    pub(super) fn prefetch_timer(&self, tag: Tag) {
        let Some(flow) = self.flows.get(tag.slot()) else {
            return;
        };
        flow.prefetch();
    }

    /// Asks the processor for the state of the flows whose events come soon, and of the next one
    /// for the rest.
    #[inline(never)]
    fn prefetch_flows(&mut self) {
        let flows = &self.flows;
        self.calendar.foresee(|tag| {
            if let Some(flow) = flows.get(tag.slot()) {
                flow.prefetch();
            }
        });
        if let Some(next) = self.calendar.look_ahead()
            && let Some(flow) = self.flows.get(next.slot())
        {
            flow.prefetch_rest();
        }
    }

    /// The flow's next ACK reaches its sender, and the one after it takes its place in the
    /// calendar.
    #[inline(always)]
    pub(crate) fn take_ack(&mut self, event: Entry, near: bool) {
        let flow = event.tag.slot();
        let time = event.time;
        let held = self.calendar.take(near, time);
        // the next event, as far as is known, waits for two loads of which the second needs the
        // first
        if self.flows.len() > MOST_IN_CACHE {
            self.prefetch_flows();
        } else if let Some(next) = self.calendar.look_ahead()
            && let Some(flow) = self.flows.get(next.slot())
            && let Some(ack) = flow.acks.ring.front()
        {
            prefetch(ack);
        }
        let state = &mut self.flows[flow];
        let Some(&ack) = state.acks.ring.front().filter(|ack| ack.at <= time) else {
            // the one that the event was for was taken before
            self.wait_again(flow, held, event.tag);
            return;
        };
        state.acks.ring.skip_front();
        let now = ack.at - state.clock_offsets.sender;
        if now <= self.end {
            self.now = time;
            let class = &self.classes[state.class as usize];
            if let Some(first) = class.fast_path
                && let Ends::Tcp { sender, .. } = &mut state.ends
                && let plain = sender.fast_path_eligible(&ack)
                && (plain || !ack.flags.has(Flags::SYN))
            {
                // here and in `take_access` to look the flow up again, as `short_path` does, costs 1 to 2 %
                let moment = Moment {
                    now: time,
                    end: self.end,
                    window: self.window,
                };
                let mut path = FastPath::<false> {
                    link: &mut self.links[first],
                    calendar: &mut self.calendar,
                    class,
                    moment,
                };
                if plain {
                    path.take_ack_fast_path(state, now, (ack.cum, ack.echo));
                } else {
                    path.take_ack_slow_path(state, now, &ack);
                }
                path.calendar.wait(held, state, event.tag);
                return;
            }
            if !class
                .event_path
                .is_some_and(|first| self.take_ack_of_events(flow, first, &ack))
            {
                self.on_ack(flow, &ack);
            }
        }
        let state = &mut self.flows[flow];
        self.calendar.wait(held, state, event.tag);
    }

    /// The same where departures are events; false if the ACK is none of an established
    /// connection's.
    #[inline(never)]
    fn take_ack_of_events(&mut self, flow: usize, first: usize, ack: &Ack) -> bool {
        let state = &mut self.flows[flow];
        let Ends::Tcp { sender, .. } = &mut state.ends else {
            return false;
        };
        let plain = sender.fast_path_eligible(ack);
        if !plain && ack.flags.has(Flags::SYN) {
            return false;
        }
        let now = ack.at - state.clock_offsets.sender;
        self.catch_up_on_link(first, self.now);
        let (mut path, state) = self.short_path::<true>(flow, first);
        if plain {
            path.take_ack_fast_path(state, now, (ack.cum, ack.echo));
        } else {
            path.take_ack_slow_path(state, now, ack);
        }
        self.settle(first);
        true
    }

    /// The short path of a flow over link `first`, at the present time.
    #[inline(always)]
    fn short_path<const EVENTS: bool>(
        &mut self,
        flow: usize,
        first: usize,
    ) -> (FastPath<'_, EVENTS>, &mut Flow) {
        let state = &mut self.flows[flow];
        let path = FastPath {
            link: &mut self.links[first],
            calendar: &mut self.calendar,
            class: &self.classes[state.class as usize],
            moment: Moment {
                now: self.now,
                end: self.end,
                window: self.window,
            },
        };
        (path, state)
    }

    #[cold]
    #[inline(never)]
    fn wait_again(&mut self, flow: usize, held: Held, tag: Tag) {
        self.calendar.wait(held, &mut self.flows[flow], tag);
    }

    /// Sends all that the sender may send at `now`, by its clock; see [`Engine::send`]. False where
    /// the flow has no short path.
    #[inline]
    pub(crate) fn send_short(&mut self, flow: usize, now: u64) -> bool {
        let class = &self.classes[self.flows[flow].class as usize];
        if let Some(first) = class.fast_path {
            self.send_fast::<false>(flow, first, now);
        } else if let Some(first) = class.event_path {
            self.send_fast::<true>(flow, first, now);
        } else {
            return false;
        }
        true
    }

    /// The same on a path of known departures, or of events.
    #[inline(never)]
    fn send_fast<const EVENTS: bool>(&mut self, flow: usize, first: usize, now: u64) {
        let state = &mut self.flows[flow];
        let class = &self.classes[state.class as usize];
        if state.stopped || now >= class.lifetime.stop || now > self.end {
            return;
        }
        if EVENTS {
            self.catch_up_on_link(first, self.now);
        }
        let (mut path, state) = self.short_path::<EVENTS>(flow, first);
        path.send(state, now);
        if EVENTS {
            self.settle(first);
        }
    }

    /// Bulk data whose transmission has begun goes on, where acts of the link are looked at late.
    /// False if it is none.
    #[inline(always)]
    pub(crate) fn pass_on_fast(&mut self, link: usize) -> bool {
        let state = &mut self.links[link];
        let Some((packet, finish)) = state.begun() else {
            return false;
        };
        let (slot, stamp, seq, flags) = (packet.slot, packet.stamp, packet.seq, packet.flags);
        if flags.has(Flags::SYN) {
            return false;
        }
        state.goes_on();
        let (mut path, state) = self.short_path::<true>(slot as usize, link);
        path.deliver(state, finish, stamp, seq, flags);
        true
    }

    /// A packet of bulk data comes out of the only link of its path; false where it is none.
    #[inline(always)]
    pub(crate) fn deliver_fast(&mut self, link: usize, packet: &Packet, finish: u64) -> bool {
        let state = &mut self.flows[packet.slot as usize];
        let class = &self.classes[state.class as usize];
        if class.event_path != Some(link) || packet.flags.has(Flags::SYN) {
            return false;
        }
        let (mut path, state) = self.short_path::<true>(packet.slot as usize, link);
        path.deliver(state, finish, packet.stamp, packet.seq, packet.flags);
        true
    }

    /// The head of what the flow's uplink has sent reaches the first queue, and the one after it
    /// takes its place in the calendar.
    #[inline(never)]
    pub(crate) fn take_access(&mut self, event: Entry, near: bool) {
        let flow = event.tag.slot();
        let time = event.time;
        let held = self.calendar.take(near, time);
        let state = &mut self.flows[flow];
        if time > self.end {
            self.calendar.drop(held); // it stays on its way
            return;
        }
        self.now = time;
        let packet = state
            .data
            .outbound
            .pop_front()
            .expect("an access event stands for a packet");
        match state.data.outbound.front() {
            Some(next) => self.calendar.put(held, next.at, event.tag),
            None => self.calendar.drop(held),
        }
        let class = &self.classes[state.class as usize];
        let first = match class.fast_path {
            Some(first) if !packet.flags.has(Flags::SYN) => first,
            _ => {
                self.take_access_of_events(flow, &packet);
                return;
            }
        };
        let mut path = FastPath::<false> {
            link: &mut self.links[first],
            calendar: &mut self.calendar,
            class,
            moment: Moment {
                now: time,
                end: self.end,
                window: self.window,
            },
        };
        path.cross(state, 0, packet.stamp, packet.seq, packet.flags);
    }

    /// A packet of bulk data comes out of a wire to the next link of its path; false where it is
    /// none, or another path than the short one.
    #[inline(always)]
    pub(crate) fn cross_next(&mut self, packet: &Packet) -> bool {
        let state = &mut self.flows[packet.slot as usize];
        let class = &self.classes[state.class as usize];
        let hop = usize::from(packet.hop);
        let Some(&next) = class.route.path.get(hop) else {
            return false;
        };
        if class.fast_path.is_none() || packet.flags.has(Flags::SYN) {
            return false;
        }
        let mut path = FastPath::<false> {
            link: &mut self.links[next],
            calendar: &mut self.calendar,
            class,
            moment: Moment {
                now: self.now,
                end: self.end,
                window: self.window,
            },
        };
        path.cross(state, hop, packet.stamp, packet.seq, packet.flags);
        true
    }

    /// The same where departures are events, and off the short path.
    #[inline(never)]
    fn take_access_of_events(&mut self, flow: usize, packet: &Outbound) {
        let state = &mut self.flows[flow];
        let class = &self.classes[state.class as usize];
        let first = match class.event_path {
            Some(first) if !packet.flags.has(Flags::SYN) => first,
            _ => {
                let packet = packet.packet(state.place);
                self.arrive(class.route.path[0], packet);
                return;
            }
        };
        self.catch_up_on_link(first, self.now);
        let (mut path, state) = self.short_path::<true>(flow, first);
        path.join_queue(state, packet);
        self.settle(first);
    }
}

impl Calendar {
    /// The flow's next ACK takes the place of the one that was taken out: what that has let out
    /// tells when.
    #[inline(always)]
    fn wait(&mut self, held: Held, state: &mut Flow, tag: Tag) {
        if let Some(next) = state.acks.ring.front() {
            self.put(held, state.ack_event_time(next), tag);
        } else {
            state.scheduled.ack = false;
            self.drop(held);
        }
    }
}

/// The path of a flow's data; `EVENTS`: departures from its link are events.
struct FastPath<'e, const EVENTS: bool> {
    link: &'e mut Link,
    calendar: &'e mut Calendar,
    class: &'e Class,
    moment: Moment,
}

impl<const EVENTS: bool> FastPath<'_, EVENTS> {
    /// An ACK of new data (what it acknowledges and echoes) reaches a sender that knows of no loss.
    /// Its end is that of [`FastPath::send`]; one function for both costs 23 instructions a packet
    /// (3 %).
    #[inline(never)]
    fn take_ack_fast_path(&mut self, state: &mut Flow, now: u64, ack: (u64, u64)) {
        state.record_window(now, self.moment.window);
        let config = &self.class.sender;
        let Ends::Tcp { sender, .. } = &mut state.ends else {
            return;
        };
        sender.on_ack_fast_path(now, ack, config, &mut state.random);
        if state.stopped || now >= self.class.lifetime.stop {
            return;
        }
        let Some(room) = sender.room_after_fast_path(config) else {
            self.send_each(state, now);
            return;
        };
        if room > 0 {
            let begin = sender.take(now, room, config);
            self.launch_new(state, now, begin, room);
        }
        self.arm_timer(state);
    }

    /// Any other ACK of an established connection.
    #[inline(never)]
    fn take_ack_slow_path(&mut self, state: &mut Flow, now: u64, ack: &Ack) {
        state.record_window(now, self.moment.window);
        let config = &self.class.sender;
        let Ends::Tcp { sender, .. } = &mut state.ends else {
            return;
        };
        if ack.blocks != 0 {
            self.take_merged_ack(state, now, ack);
            return;
        }
        if sender.sack_fast_path_eligible(ack) {
            sender.on_sack_fast_path(ack, config);
        } else {
            sender.on_ack_slow_path(now, ack, &[], config, &mut state.random);
        }
        if state.stopped || now >= self.class.lifetime.stop {
            return;
        }
        if sender.is_full() {
            self.arm_timer(state);
        } else {
            self.send(state, now);
        }
    }

    /// An ACK that speaks for several segments.
    #[cold]
    #[inline(never)]
    fn take_merged_ack(&mut self, state: &mut Flow, now: u64, ack: &Ack) {
        let blocks = state.hear_report(ack.blocks, now);
        if let Ends::Tcp { sender, .. } = &mut state.ends {
            sender.on_ack_slow_path(now, ack, &blocks, &self.class.sender, &mut state.random);
        }
        if !state.stopped && now < self.class.lifetime.stop {
            self.send(state, now);
        }
    }

    /// Sends all that the sender may send at `now`, by its clock.
    fn send(&mut self, state: &mut Flow, now: u64) {
        let config = &self.class.sender;
        let Ends::Tcp { sender, .. } = &mut state.ends else {
            return;
        };
        let Some(room) = sender.room(config) else {
            self.send_each(state, now);
            return;
        };
        if room > 0 {
            let begin = sender.take(now, room, config);
            self.launch_new(state, now, begin, room);
        }
        self.arm_timer(state);
    }

    /// Asks the sender for one segment after the other.
    #[inline(never)]
    fn send_each(&mut self, state: &mut Flow, now: u64) {
        let config = &self.class.sender;
        while let Ends::Tcp { sender, .. } = &mut state.ends {
            if sender.pacer.next() > now {
                if state.scheduled.pacing == u64::MAX {
                    state.scheduled.pacing = sender
                        .pacer
                        .next()
                        .saturating_add(state.clock_offsets.sender);
                    let tag = Tag::of_flow(Order::Arrival, state.place, Kind::Pace);
                    self.calendar.push_near(state.scheduled.pacing, tag);
                }
                break;
            }
            let Some(segment) = sender.next_segment(now, config) else {
                sender.on_nothing_to_send();
                break;
            };
            let flags = segment.ecn_flags(config);
            let inside = u64::from(self.moment.measures(now));
            state.measured.whole.sent += 1;
            state.measured.window.sent += inside;
            state.measured.window.retransmissions += inside * u64::from(segment.retransmission);
            self.launch(state, now, segment.seq, flags);
        }
        self.arm_timer(state);
    }

    /// Keeps one entry of the retransmission timer in the calendar, no later than the timer itself.
    #[inline(always)]
    fn arm_timer(&mut self, state: &mut Flow) {
        if let Ends::Tcp { sender, .. } = &state.ends {
            let next = sender
                .timers
                .next()
                .saturating_add(state.clock_offsets.sender);
            if next < state.scheduled.timer {
                self.arm_timer_at(state, next);
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn arm_timer_at(&mut self, state: &mut Flow, next: u64) {
        // a flow that was stopped may come back after its timer should have run
        let at = next.max(self.moment.now);
        if at < state.scheduled.timer {
            state.scheduled.timer = at;
            let tag = Tag::of_flow(Order::Arrival, state.place, Kind::Timer);
            self.calendar.push_far(at, tag);
        }
    }

    /// New segments leave the sender at `now`, by its clock.
    #[inline(always)]
    fn launch_new(&mut self, state: &mut Flow, now: u64, begin: u64, count: u64) {
        let flags = Flags(self.class.sender.ecn.ect);
        state.measured.whole.sent += count;
        if self.moment.measures(now) {
            state.measured.window.sent += count;
        }
        for seq in begin..begin + count {
            self.launch(state, now, seq, flags);
        }
    }

    /// A segment leaves the sender at `now`, by its clock.
    #[inline(always)]
    fn launch(&mut self, state: &mut Flow, now: u64, seq: u64, flags: Flags) {
        let size = self.class.sizes.packet;
        let mut at = now + state.delays.sender_access;
        if let Some(uplink) = &mut state.uplink {
            let Some(finish) = uplink.offer(now, size) else {
                self.record_drop(state, now);
                return;
            };
            at = finish + state.delays.sender_access;
        }
        let arrives = at == self.moment.now && at <= self.moment.end;
        if arrives && !EVENTS {
            self.cross(state, 0, now, seq, flags);
            return;
        }
        let packet = Outbound {
            at,
            seq,
            stamp: now,
            size,
            // departures that are known at arrival are from no queue that hashes flows
            rehashes: if EVENTS && self.class.rehashes {
                state.times_rehashed()
            } else {
                0
            },
            flags,
        };
        if arrives {
            self.join_queue(state, &packet);
        } else {
            state.delay_outbound(self.calendar, packet);
        }
    }

    /// A packet of the flow is dropped.
    #[cold]
    #[inline(never)]
    fn record_drop(&self, state: &mut Flow, at: u64) {
        state.measured.whole.drops += 1;
        state.measured.window.drops += u64::from(self.moment.measures(at));
    }

    /// A packet of the flow is marked.
    #[cold]
    #[inline(never)]
    fn record_mark(&self, state: &mut Flow, at: u64) {
        state.measured.window.marks += u64::from(self.moment.measures(at));
    }

    /// Data reaches the link, which is the path's after `hop` others, leaves it, and goes on or is
    /// acknowledged, or not.
    #[inline(always)]
    fn cross(&mut self, state: &mut Flow, hop: usize, stamp: u64, seq: u64, mut flags: Flags) {
        let (now, size) = (self.moment.now, self.class.sizes.packet);
        let flow = state.place.number();
        let (finish, marked) = match self.link.offer_precomputed(now, size, flow, flags) {
            OfferOutcome::Departs(finish) => (finish, false),
            OfferOutcome::Marked(finish) => (finish, true),
            OfferOutcome::Dropped => {
                self.record_drop(state, now);
                return;
            }
        };
        if marked {
            flags.0 |= Flags::CE;
            self.record_mark(state, now);
        }
        if hop + 1 < self.class.route.path.len() {
            self.go_on(state.place, hop, finish, stamp, seq, flags);
            return;
        }
        self.deliver(state, finish, stamp, seq, flags);
    }

    /// Data that has left the transmitter at `finish` goes on to the next link of its path.
    // out of the way of paths of one link, of which it takes 0.6 % where it is inlined
    #[inline(never)]
    fn go_on(&mut self, flow: Place, hop: usize, finish: u64, stamp: u64, seq: u64, flags: Flags) {
        let packet = Packet {
            hop: hop as u16 + 1,
            ..Packet::new(flow, seq, stamp, self.class.sizes.packet, flags)
        };
        let at = self.link.exit(finish);
        let own = self.class.route.path[hop];
        self.link.send_on(self.calendar, own, at, packet);
    }

    /// Data reaches a link whose departures are events. What becomes of others that wait there is
    /// left in `judged`.
    #[inline(never)]
    fn join_queue(&mut self, state: &mut Flow, sent: &Outbound) {
        let (class, now) = (self.class, self.moment.now);
        let mut packet = sent.packet(state.place);
        if self.link.labelled {
            packet.priority = class.priority;
            self.link.label = label(state, class, &packet);
        }
        match self.link.offer(now, &mut packet) {
            Offer::Acts(at) => {
                if let Some(at) = self.link.acts.add(at) {
                    self.calendar.push_near(at, tag(class.route.path[0]));
                }
            }
            Offer::Waits | Offer::Asks => {}
            Offer::Dropped | Offer::Policed | Offer::Departs(_) => self.record_drop(state, now),
        }
        if packet.flags.has(Flags::CE) {
            self.record_mark(state, now);
        }
    }

    /// Data has left the link's transmitter at `finish`, and is acknowledged, or not.
    #[inline(always)]
    fn deliver(&mut self, state: &mut Flow, finish: u64, stamp: u64, seq: u64, flags: Flags) {
        let Moment { now, end, window } = self.moment;
        let (class, size) = (self.class, self.class.sizes.packet);
        let mut at = self.link.exit(finish);
        if let Some(downlink) = &mut state.downlink {
            let limited = downlink.is_limited();
            let finish = downlink.offer(at, size);
            if limited {
                state.flush_drops(now, window);
            }
            let Some(finish) = finish else {
                state.cold().dropping.push_back(at);
                return;
            };
            at = finish;
        }
        // in order: the link and the downlink are, and the delay stays
        at += state.delays.receiver_access;
        // nobody can ask for the flow's counters before the end, where that is known (a bulk flow
        // has one connection)
        let known = end != u64::MAX && at <= end;
        if known {
            state.measured.delivered += 1;
            if is_chosen(seq) {
                state.record_delay(at, stamp, window, class);
            }
        } else {
            state.expect(at, stamp, seq, now, end, window, class);
            if at > end {
                return;
            }
        }
        let lag = state.delays.receiver_return + state.clock_offsets.sender;
        let Ends::Tcp { receiver, .. } = &mut state.ends else {
            return;
        };
        let due = receiver.due;
        if due != 0 && (due < at || receiver.must_flush(flags, &class.receiver)) {
            self.answer_before(state, at, lag);
        }
        let Ends::Tcp { receiver, .. } = &mut state.ends else {
            return;
        };
        if known && receiver.fast_path_eligible(seq, flags, &class.receiver) {
            let reply = receiver.on_data_fast_path(at, stamp, &class.receiver);
            let due = receiver.due;
            state.record_data(at, u64::from(class.sizes.payload), window);
            match reply {
                Some(reply) => self.answer(state, reply, at + lag, 0),
                None => self.arm_delayed_ack(state, due + lag),
            }
        } else {
            self.take_data_slow_path(state, at, seq, stamp, flags, known);
        }
    }

    /// The ACK that the receiver holds back goes before what comes at `at`.
    #[inline(never)]
    fn answer_before(&mut self, state: &mut Flow, at: u64, lag: u64) {
        let Ends::Tcp { receiver, .. } = &mut state.ends else {
            return;
        };
        let due = receiver.due;
        let reply = if due < at {
            receiver.on_due()
        } else {
            receiver.flush()
        };
        let sent = due.min(at);
        let blocks = state.keep_merged(reply.sack, sent, &self.class.receiver);
        self.answer(state, reply, sent + lag, blocks);
    }

    /// Data that is not plain reaches the receiver at `at`; `known`: nobody can ask for the flow's
    /// counters before.
    #[inline(never)]
    fn take_data_slow_path(
        &mut self,
        state: &mut Flow,
        at: u64,
        seq: u64,
        stamp: u64,
        flags: Flags,
        known: bool,
    ) {
        let Moment { now, end, window } = self.moment;
        let class = self.class;
        let lag = state.delays.receiver_return + state.clock_offsets.sender;
        let Ends::Tcp { receiver, .. } = &mut state.ends else {
            return;
        };
        if known && let Some(reply) = receiver.on_gap_fast_path(seq, flags, &class.receiver) {
            state.record_data(at, 0, window);
            self.answer(state, reply, at + lag, 0);
            return;
        }
        let before = receiver.next;
        let reply = receiver.on_data_slow_path(at, seq, stamp, flags, &class.receiver);
        let payload = (receiver.next - before) * u64::from(class.sizes.payload);
        let due = receiver.due;
        if known {
            state.record_data(at, payload, window);
        } else {
            state.accept(at, now, end, window, class, payload);
        }
        match reply {
            Some(reply) => {
                let blocks = state.keep_merged(reply.sack, at, &class.receiver);
                self.answer(state, reply, at + lag, blocks);
            }
            None => self.arm_delayed_ack(state, due + lag),
        }
    }

    /// Keeps one entry of the receiver's timer in the calendar, no later than the timer itself.
    #[inline(always)]
    fn arm_delayed_ack(&mut self, state: &mut Flow, at: u64) {
        if at < state.scheduled.delayed_ack {
            state.scheduled.delayed_ack = at;
            let tag = Tag::of_flow(Order::Arrival, state.place, Kind::DelayedAck);
            self.calendar.push_far(at, tag);
        }
    }

    /// An ACK with these SACK blocks, by number, that will reach the sender at `at` (the sender's
    /// event time).
    #[inline(always)]
    fn answer(&mut self, state: &mut Flow, reply: Reply, at: u64, blocks: u32) {
        if !state.scheduled.ack {
            state.scheduled.ack = true;
            let tag = Tag::of_flow(Order::Arrival, state.place, Kind::Ack);
            self.calendar.push_near(at, tag);
        }
        state.acks.ring.push_back(Ack {
            at,
            cum: reply.cum,
            echo: reply.echo,
            sack: reply.sack,
            blocks,
            flags: Flags(Flags::ACK | reply.flags),
            marked: reply.marked,
        });
    }
}
