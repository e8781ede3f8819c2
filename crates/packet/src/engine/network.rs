//! Packets on their way: access links, shared queues, wires.

use ackclock_algorithms::scheduler::Label;

use super::Engine;
use crate::calendar::{Class as Order, Entry, Kind, Tag};
use crate::class::Class;
use crate::flow::Flow;
use crate::link::late::tag;
use crate::link::{Fate, Offer};
use crate::packet::{Flags, Outbound, Packet};

/// The part of a packet of `flow` that a router sees.
#[inline(always)]
pub(super) fn label(flow: &Flow, class: &Class, packet: &Packet) -> Label {
    let back = packet.flags.has(Flags::ACK);
    let washed = packet.hop > class.hosts.washed[usize::from(back)];
    let label = Label {
        identity: flow.identity.hash,
        flow_hash: flow.hashed(packet),
        priority: class.priority,
        l4s: packet.flags.is_scalable(),
        dscp: if washed { 0 } else { class.hosts.dscp },
        hosts: flow.identity.hosts,
        translated: class.hosts.translated,
        class: flow.class,
    };
    if back { label.reversed() } else { label }
}

impl Engine {
    /// A packet reaches the queue of `link`.
    #[inline]
    pub(crate) fn arrive(&mut self, link: usize, mut packet: Packet) {
        let now = self.now;
        let marked = packet.flags.has(Flags::CE);
        if packet.flags.has(Flags::SYN) {
            // other packets do not come this way where acts are looked at late
            self.catch_up_on_link(link, now);
        }
        let state = &mut self.links[link];
        if state.labelled {
            let flow = &self.flows[packet.slot as usize];
            let class = &self.classes[flow.class as usize];
            packet.priority = class.priority;
            state.label = label(flow, class, &packet);
            if state.filters_acks && packet.blocks != 0 && class.sender.recovery.is_selective() {
                state.reported.insert(&packet, flow.reported(&packet));
            }
        }
        if self.capture.is_some() {
            self.capture_packet(link, &packet, false);
        }
        let offer = self.links[link].offer(now, &mut packet);
        if packet.flags.has(Flags::CE) && !marked {
            self.record_mark(&packet);
        }
        match offer {
            Offer::Departs(finish) => {
                let at = self.links[link].exit(finish);
                self.forward(link, packet, at);
            }
            _ => self.take_offer(link, &packet, offer),
        }
    }

    /// Goes on with a packet whose departure was not known at its arrival.
    #[inline(never)]
    fn take_offer(&mut self, link: usize, packet: &Packet, offer: Offer) {
        match offer {
            Offer::Departs(_) => {}
            Offer::Dropped => {
                self.links[link].reported.forget(packet);
                self.record_drop(packet);
                self.record_judged(link);
            }
            Offer::Policed => {
                self.links[link].reported.forget(packet);
                self.record_loss(packet);
            }
            Offer::Acts(at) => {
                if let Some(at) = self.links[link].acts.add(at) {
                    self.calendar.push_near(at, tag(link));
                }
                self.settle(link);
            }
            Offer::Waits => self.settle(link),
            Offer::Asks => {
                self.record_judged(link);
                self.on_medium(link);
            }
        }
    }

    /// Records what an arrival has done to packets of a link, whichever they are.
    #[inline(always)]
    pub(super) fn settle(&mut self, link: usize) {
        self.record_judged(link);
        if self.links[link].begun().is_some() {
            self.pass_on(link);
        }
    }

    /// A packet whose transmission has begun goes on, where acts are looked at late.
    #[inline(never)]
    fn pass_on(&mut self, link: usize) {
        if let Some((packet, finish)) = self.links[link].begun() {
            let packet = *packet;
            self.links[link].goes_on();
            self.come_out(link, packet, finish);
        }
    }

    /// A link waits for its turn on its medium, or has had it.
    #[inline(never)]
    fn on_medium(&mut self, link: usize) {
        let Some(at) = self.media.iter().position(|medium| medium.has(link)) else {
            return;
        };
        let (medium, now) = (&mut self.media[at], self.now);
        if medium.holder == Some(link) && !self.links[link].sends() {
            medium.holder = None;
        }
        if self.links[link].asks() {
            medium.ask(link);
        }
        while self.media[at].holder.is_none() {
            let Some(next) = self.media[at].next() else {
                return;
            };
            if let Some(time) = self.links[next].begin_batch(now) {
                self.calendar.push_near(time, tag(next));
                if self.links[next].sends() {
                    self.media[at].hold(next, time - now);
                }
            }
            self.record_judged(next);
        }
    }

    /// Records the fate of packets that a link held.
    #[inline]
    pub(super) fn record_judged(&mut self, link: usize) {
        if self.links[link].has_judged() {
            self.record_fates(link);
        }
    }

    #[inline(never)]
    fn record_fates(&mut self, link: usize) {
        let mut judged = std::mem::take(&mut self.links[link].judged);
        for (packet, fate) in judged.drain(..) {
            if fate != Fate::Marked {
                self.links[link].reported.forget(&packet);
            }
            match fate {
                Fate::Marked => self.record_mark(&packet),
                Fate::Dropped => self.record_drop(&packet),
                Fate::Lost => self.record_loss(&packet),
            }
        }
        self.links[link].judged = judged;
    }

    fn record_mark(&mut self, packet: &Packet) {
        if packet.flags.0 & (Flags::SYN | Flags::ACK) != 0 {
            return;
        }
        let inside = self.in_window(self.now);
        let flow = &mut self.flows[packet.slot as usize];
        flow.measured.window.marks += u64::from(inside);
    }

    fn record_drop(&mut self, packet: &Packet) {
        self.forget_datagram(packet.slot, packet.seq, packet.flags);
        let inside = self.in_window(self.now);
        let flow = &mut self.flows[packet.slot as usize];
        if packet.flags.has(Flags::ACK) || packet.flags.has(Flags::SYN) {
            flow.connection.controls -= 1;
            return;
        }
        flow.measured.whole.drops += 1;
        flow.measured.window.drops += u64::from(inside);
    }

    /// A policer or a wire has taken a packet away.
    fn record_loss(&mut self, packet: &Packet) {
        self.forget_datagram(packet.slot, packet.seq, packet.flags);
        let inside = self.in_window(self.now);
        let flow = &mut self.flows[packet.slot as usize];
        if packet.flags.has(Flags::ACK) || packet.flags.has(Flags::SYN) {
            flow.connection.controls -= 1;
            return;
        }
        flow.measured.whole.losses += 1;
        flow.measured.window.losses += u64::from(inside);
    }

    /// A transmission of an event-driven link ends, and the next one takes its place in the
    /// calendar.
    #[inline(never)]
    pub(super) fn take_transmit(&mut self, event: Entry, near: bool) {
        let (link, now) = (event.tag.entity(), event.time);
        let held = self.calendar.take(near, now);
        let late = self.links[link].acts.are_late();
        if late {
            self.catch_up_on_link(link, now);
        }
        if now > self.end {
            self.calendar.drop(held);
            return;
        }
        self.now = now;
        let (sent, next) = if late {
            (None, self.links[link].acts.next_entry(now))
        } else {
            self.links[link].transmit(now)
        };
        match next {
            Some(at) => self.calendar.put(held, at, event.tag),
            None => self.calendar.drop(held),
        }
        self.record_judged(link);
        if let Some(packet) = sent {
            self.come_out(link, packet, now);
        }
        if !self.media.is_empty() {
            self.on_medium(link);
        }
    }

    /// Whoever looks at a link catches up on the acts of its transmitter until `until` first.
    #[inline(always)]
    pub(super) fn catch_up_on_link(&mut self, link: usize, until: u64) {
        if self.links[link].acts.are_due(until) {
            self.let_act(link, until.min(self.end));
        }
    }

    #[inline(never)]
    fn let_act(&mut self, link: usize, until: u64) {
        let now = self.now;
        while let Some(at) = self.links[link].acts.take(until) {
            self.now = at;
            let state = &mut self.links[link];
            let (_, next) = state.transmit(at);
            if let Some(next) = next {
                state.acts.insert(next);
            }
            self.record_judged(link);
            if !self.pass_on_fast(link) {
                self.pass_on(link);
            }
        }
        self.now = now;
    }

    /// The same for all links.
    pub(crate) fn catch_up_on_links(&mut self, until: u64) {
        for link in 0..self.links.len() {
            self.catch_up_on_link(link, until);
        }
    }

    /// A packet leaves the transmitter of `link` at `finish`.
    #[inline(always)]
    fn come_out(&mut self, link: usize, packet: Packet, finish: u64) {
        if self.deliver_fast(link, &packet, finish) {
            return;
        }
        if self.capture.is_some() {
            self.capture_packet(link, &packet, true);
        }
        self.links[link].reported.forget(&packet);
        let at = self.links[link].exit_event_driven(finish);
        if self.links[link].reorders() {
            self.forward_unordered(link, packet, at);
        } else {
            self.forward(link, packet, at);
        }
    }

    /// A packet will come out of a `link` that lets packets overtake each other: whatever follows
    /// must see it then, not before.
    fn forward_unordered(&mut self, link: usize, mut packet: Packet, at: u64) {
        packet.hop += 1;
        let wire = &mut self.links[link].wire;
        let place = wire.partition_point(|(other, _)| *other <= at);
        wire.insert(place, (at, packet));
        // one event a packet, not only for the head: another may become the head
        self.calendar
            .push_near(at, Tag::new(Order::Arrival, link, Kind::Wire));
    }

    /// A packet will come out of `link` at `at`.
    #[inline]
    fn forward(&mut self, link: usize, mut packet: Packet, at: u64) {
        packet.hop += 1;
        let class = &self.classes[self.flows[packet.slot as usize].class as usize];
        let is_ack = packet.flags.has(Flags::ACK);
        let path = if is_ack {
            class.route.reverse.as_deref().unwrap_or(&[])
        } else {
            &class.route.path
        };
        if (packet.hop as usize) < path.len() || class.route.time_varying {
            self.links[link].send_on(&mut self.calendar, link, at, packet);
        } else if is_ack {
            self.return_ack(packet, at);
        } else {
            self.deliver_data(packet, at);
        }
    }

    /// The head of a link's wire reaches the next queue of its path, or the private path of its
    /// flow, and the one after it takes its place in the calendar.
    #[inline(never)]
    pub(super) fn take_wire(&mut self, event: Entry, near: bool) {
        let (link, now) = (event.tag.entity(), event.time);
        let held = self.calendar.take(near, now);
        if now > self.end {
            self.calendar.drop(held); // it stays on its way
            return;
        }
        self.now = now;
        let reorders = self.links[link].reorders();
        let wire = &mut self.links[link].wire;
        let (_, packet) = wire.pop_front().expect("a wire event stands for a packet");
        match wire.front() {
            Some(&(at, _)) if !reorders => self.calendar.put(held, at, event.tag),
            _ => self.calendar.drop(held),
        }
        if !self.cross_next(&packet) {
            self.come_to_end(packet);
        }
    }

    /// A packet that comes out of a wire reaches whatever is next.
    fn come_to_end(&mut self, packet: Packet) {
        let class = &self.classes[self.flows[packet.slot as usize].class as usize];
        let is_ack = packet.flags.has(Flags::ACK);
        let path = if is_ack {
            class.route.reverse.as_deref().unwrap_or(&[])
        } else {
            &class.route.path
        };
        match path.get(packet.hop as usize) {
            Some(&next) => self.arrive(next, packet),
            None if is_ack => self.return_ack(packet, self.now),
            None => {
                if !class.route.probes.is_empty() {
                    self.on_probe(&packet);
                }
                self.deliver_data(packet, self.now);
            }
        }
    }

    /// A probe has crossed its last link: the rates that follow it do.
    #[inline(never)]
    fn on_probe(&mut self, packet: &Packet) {
        let state = &self.flows[packet.slot as usize];
        let class = state.class as usize;
        let flow = state.place.number() - self.class_flows[class].start;
        let delay = self.now - packet.stamp;
        for index in 0..self.classes[class].route.probes.len() {
            let link = self.classes[class].route.probes[index];
            self.links[link].on_probe(self.now, flow, delay);
        }
    }

    pub(super) fn on_aqm_timer(&mut self, link: usize) {
        self.catch_up_on_link(link, self.now);
        self.links[link].on_timer(self.now);
        if let Some(next) = self.links[link].next_timer() {
            self.calendar.push_far(
                next.max(self.now + 1),
                Tag::new(Order::AqmTimer, link, Kind::AqmTimer),
            );
        }
    }

    /// Puts a packet on the flow's uplink at `sent` (sender's clock).
    #[inline]
    pub(super) fn launch(&mut self, flow: usize, mut packet: Packet, sent: u64) {
        let state = &mut self.flows[flow];
        let class = &self.classes[state.class as usize];
        if class.rehashes {
            packet.rehashes = state.times_rehashed();
        }
        let mut at = sent + state.delays.sender_access;
        if let Some(uplink) = &mut state.uplink {
            let Some(finish) = uplink.offer(sent, packet.size) else {
                if packet.flags.has(Flags::SYN) {
                    state.connection.controls -= 1;
                } else {
                    state.measured.whole.drops += 1;
                    if sent >= self.window.0 && sent < self.window.1 {
                        state.measured.window.drops += 1;
                    }
                    self.forget_datagram(packet.slot, packet.seq, packet.flags);
                }
                return;
            };
            at = finish + state.delays.sender_access;
        }
        // a coalesced flow's event is the arrival itself; others wait for their turn among what
        // arrives now
        if class.coalesced && at == self.now && at <= self.end {
            self.arrive(class.route.path[0], packet);
            return;
        }
        let packet = Outbound {
            at,
            seq: packet.seq,
            stamp: packet.stamp,
            size: packet.size,
            rehashes: packet.rehashes,
            flags: packet.flags,
        };
        state.delay_outbound(&mut self.calendar, packet);
    }

    pub(super) fn arrive_reverse(&mut self, flow: usize, packet: Packet) {
        let class = &self.classes[self.flows[flow].class as usize];
        if let Some(&first) = class.route.reverse.as_ref().and_then(|path| path.first()) {
            self.arrive(first, packet);
        }
    }

    pub(super) fn on_ack_access(&mut self, flow: usize) {
        let state = &mut self.flows[flow];
        let tag = Tag::of_flow(Order::Arrival, state.place, Kind::AckAccess);
        let cold = state.cold();
        let (_, packet) = cold
            .acks_out
            .pop_front()
            .expect("an ACK event stands for an ACK");
        if let Some(&(at, _)) = cold.acks_out.front() {
            self.calendar.push_near(at, tag);
        }
        self.arrive_reverse(flow, packet);
    }
}
