//! Departures that are events of their own: queues that judge at departure, schedulers, shapers,
//! rates that change.

use ackclock_algorithms::aqm::Verdict;
use ackclock_scenario::Capacity;

use super::leaf::Moment;
use super::scheduled::Scheduled;
use super::tree::Tree;
use super::{Fate, Link, Offer, scheduled_in, tree_in};
use crate::packet::Packet;

impl Link {
    /// Whether packets that are not dropped come out one after the other, in the order in which
    /// they are sent.
    pub(crate) fn is_orderly(&self) -> bool {
        self.extras
            .as_ref()
            .is_none_or(|extras| extras.impairments.is_empty() && extras.server.is_none())
    }

    pub(super) fn offer_event_driven(&mut self, now: u64, packet: &Packet) -> Offer {
        if self.is_sending(now) {
            self.clock.account(now, self.queue.len(), self.bytes);
            self.queue.push_back((now, *packet));
            self.bytes += u64::from(packet.size);
            return Offer::Waits;
        }
        self.begin_at_once(now, packet)
    }

    /// A packet arrives at a link without a scheduler that sends nothing.
    #[inline(never)]
    fn begin_at_once(&mut self, now: u64, packet: &Packet) -> Offer {
        let served = self.served;
        if self.free > now || served {
            self.clock.account(now, self.queue.len(), self.bytes);
            self.queue.push_back((now, *packet));
            self.bytes += u64::from(packet.size);
            if served {
                return Offer::Waits;
            }
            return self.wait_for_shaper();
        }
        self.busy.gap(self.idle_from(), now);
        Offer::Acts(self.begin(now, now, *packet, self.free == now))
    }

    /// Event-driven departures: packets wait, and nothing is sent before a shaper lets the first of
    /// them go.
    #[cold]
    #[inline(never)]
    fn wait_for_shaper(&mut self) -> Offer {
        let waits = self.length() > 0;
        match &mut self.extras {
            Some(extras) if waits && !extras.shaped => {
                extras.shaped = true;
                Offer::Acts(self.free)
            }
            _ => Offer::Waits,
        }
    }

    /// Since when the link has been idle, if it is.
    pub(super) fn idle_from(&self) -> u64 {
        match &self.extras {
            Some(extras) => extras.impairments.idle_from(self.free),
            None => self.free,
        }
    }

    /// Service begins; a shaper may hold the packet back first.
    #[inline(always)]
    fn begin(&mut self, now: u64, arrival: u64, packet: Packet, follows: bool) -> u64 {
        self.serving = Some(packet);
        self.begin_serving(now, arrival, packet.size, follows)
    }

    /// The same with the packet in its place: when its transmission ends.
    #[inline(always)]
    fn begin_serving(&mut self, now: u64, arrival: u64, size: u32, follows: bool) -> u64 {
        self.started(size);
        self.record(arrival, now);
        let impaired = if self.plain {
            None
        } else {
            self.extras.as_mut()
        };
        let Some(extras) = impaired else {
            self.free = self.transmitter.finish(now, size, follows);
            return self.free;
        };
        let start = extras.impairments.begins(now, size);
        let follows = follows && start == now;
        let finish = self.transmitter.finish(start, size, follows);
        self.free = extras.impairments.open_from(finish);
        extras.finish = finish;
        finish
    }

    /// A probe of flow `flow` of its class has taken `delay`, ps: the rate follows.
    #[inline(never)]
    pub(crate) fn on_probe(&mut self, now: u64, flow: usize, delay: u64) {
        let sent = self.counters.started_bytes;
        let follower = self.extras.as_mut().and_then(|it| it.autorate.as_mut());
        let Some(rate) = follower.and_then(|it| it.on_probe(now, flow, delay, sent)) else {
            return;
        };
        self.transmitter.set_rate(now, rate);
        self.on_rate_change(now, rate);
    }

    /// A packet arrives at a link with a scheduler.
    pub(super) fn offer_scheduled(&mut self, now: u64, packet: &mut Packet) -> Offer {
        let transmitter = &self.transmitter;
        let rate_at = |time| transmitter.rate_at(time);
        let served = self.served;
        let sending = self.serving.is_some() || self.free > now || served;
        let view = Self::packet_view(packet);
        let Some(scheduled) = scheduled_in(&mut self.extras) else {
            return Offer::Dropped;
        };
        let queue = scheduled.classify(now, &view, &self.label);
        let (label, random) = (&self.label, &mut self.random);
        match scheduled.judge_arrival(queue, now, (&view, label), rate_at, sending, random) {
            Verdict::Accept => {}
            Verdict::Mark => {
                self.mark(packet);
            }
            Verdict::Drop => {
                self.drop_packet(packet.size);
                let before = scheduled_in(&mut self.extras).map(|it| it.packets());
                let also = scheduled_in(&mut self.extras)
                    .and_then(|scheduled| scheduled.also_dropped(now, queue));
                if let (Some(also), Some(before)) = (also, before) {
                    self.drop_waiting(now, before, also);
                }
                return Offer::Dropped;
            }
        }
        let Some(scheduled) = scheduled_in(&mut self.extras) else {
            return Offer::Dropped;
        };
        self.clock.account(now, scheduled.packets(), self.bytes);
        self.bytes += u64::from(packet.size);
        scheduled.push(queue, now, packet);
        if self.filters_acks {
            let superseded = scheduled.superseded(now, queue, &self.reported);
            if let Some(old) = superseded {
                self.drop_waiting(now, self.length() + 1, old);
            }
        }
        let acts = if sending {
            None
        } else {
            self.busy.gap(self.idle_from(), now);
            let follows = self.free == now;
            // none: dropped, and counted as such, or the scheduler waits
            self.serve(now, true, follows)
        };
        if self.serving.is_some() && !sending {
            return acts.map_or(Offer::Waits, Offer::Acts);
        }
        self.make_room(now, queue);
        match acts {
            Some(at) => Offer::Acts(at),
            None if sending && !self.is_sending(now) && !served => self.wait_for_shaper(),
            None => Offer::Waits,
        }
    }

    /// A packet that waited among `before` has been dropped.
    fn drop_waiting(&mut self, now: u64, before: usize, packet: Packet) {
        self.clock.account(now, before, self.bytes);
        self.drop_packet(packet.size);
        self.bytes -= u64::from(packet.size);
        self.judged.push((packet, Fate::Dropped));
    }

    /// Drops what the queues have no room for after a packet has joined `arrived`.
    #[inline]
    fn make_room(&mut self, now: u64, arrived: usize) {
        while (self.is_over_capacity() || self.scheduled().is_some_and(Scheduled::overflows))
            && self.drop_victims(now, arrived)
        {}
    }

    /// False if nothing was dropped: where the capacity has fallen, other queues may hold more than
    /// it, and the one that the scheduler drops from nothing.
    #[inline(never)]
    fn drop_victims(&mut self, now: u64, arrived: usize) -> bool {
        let Some(scheduled) = scheduled_in(&mut self.extras) else {
            return false;
        };
        let (judged, counters, bytes) = (&mut self.judged, &mut self.counters, &mut self.bytes);
        scheduled.overflow(now, arrived, |packet| {
            counters.drops += 1;
            counters.dropped_bytes += u64::from(packet.size);
            counters.overflows += 1;
            *bytes -= u64::from(packet.size);
            judged.push((*packet, Fate::Dropped));
        })
    }

    /// A packet arrives at a link whose queue has classes.
    #[inline(never)]
    pub(super) fn offer_tree(&mut self, now: u64, packet: &mut Packet) -> Offer {
        let sending = self.serving.is_some() || self.free > now;
        let label = self.label;
        let Some((tree, mut moment)) = self.moment(now) else {
            return Offer::Dropped;
        };
        let packets = tree.packets();
        let joined = tree.arrive(&mut moment, packet, &label);
        let bytes = tree.bytes();
        self.clock.account(now, packets, self.bytes);
        self.bytes = bytes;
        if !joined {
            return Offer::Dropped;
        }
        let free = self.free;
        let acts = if !sending {
            self.ask_tree(now)
        } else if self.is_sending(now) {
            tree_in(&mut self.extras).and_then(|tree| tree.reopens(free))
        } else {
            // the link's own shaper has its bucket overdrawn
            tree_in(&mut self.extras).and_then(|tree| tree.ask_at(free))
        };
        acts.map_or(Offer::Waits, Offer::Acts)
    }

    /// The transmitter is free: the next packet of a queue with classes goes into service, unless
    /// none may. When the transmitter acts next.
    #[inline(always)]
    fn ask_tree(&mut self, now: u64) -> Option<u64> {
        match tree_in(&mut self.extras)?.shut_until(now) {
            Some(until) => tree_in(&mut self.extras)?.ask_at(until),
            None => self.send_from_tree(now),
        }
    }

    /// The queue with classes, and what it works with.
    #[inline(always)]
    fn moment(&mut self, now: u64) -> Option<(&mut Tree, Moment<'_>)> {
        let rate = self.transmitter.rate_at(now);
        let tree = tree_in(&mut self.extras)?;
        let moment = Moment {
            now,
            rate,
            random: &mut self.random,
            counters: &mut self.counters,
            judged: &mut self.judged,
            reported: &self.reported,
            measured: (self.window.0..self.window.1).contains(&now),
            leaving: &mut self.serving,
            arrival: now,
        };
        Some((tree, moment))
    }

    pub(super) fn timer_of_tree(&mut self, now: u64, rate: f64) -> bool {
        let Some((tree, moment)) = self.moment(now) else {
            return false;
        };
        tree.on_timer(&mut Moment { rate, ..moment });
        true
    }

    /// The transmitter is free: the next packet of a queue with classes goes into service, or what
    /// waits is asked again. When the transmitter acts next.
    #[inline(never)]
    fn send_from_tree(&mut self, now: u64) -> Option<u64> {
        let (tree, mut moment) = self.moment(now)?;
        let packets = tree.packets();
        let next = tree.send(&mut moment);
        let arrival = moment.arrival;
        let bytes = tree.bytes();
        self.clock.account(now, packets, self.bytes);
        self.bytes = bytes;
        match next {
            Ok(size) => {
                self.busy.gap(self.idle_from(), now);
                let follows = self.free == now;
                let finish = self.begin_serving(now, arrival, size, follows);
                let late = self.acts.are_late();
                tree_in(&mut self.extras)?.begun(finish, late)
            }
            Err(at) => {
                self.counters.finished += u64::from(self.in_service);
                self.in_service = false;
                at
            }
        }
    }

    /// The transmitter of a link whose queue has classes acts: a transmission ends, or packets that
    /// were held back may go. Times to ask again that have been overtaken mean nothing.
    #[inline(never)]
    fn transmit_from_tree(&mut self, now: u64) -> (Option<Packet>, Option<u64>) {
        let Some(tree) = tree_in(&mut self.extras) else {
            return (None, None);
        };
        let wakes = tree.wakes(now);
        let ends = now == tree.finish;
        if ends {
            tree.finish = u64::MAX;
        }
        if !(ends || wakes && !self.is_sending(now)) {
            return (None, None);
        }
        let mut sent = if ends { self.serving.take() } else { None };
        if let Some(packet) = sent
            && let Some(extras) = &mut self.extras
            && extras.impairments.loses()
        {
            self.in_service = false;
            self.counters.losses += 1;
            self.judged.push((packet, Fate::Lost));
            sent = None;
        }
        if self.free > now {
            // the link's own shaper has its bucket overdrawn
            self.counters.finished += u64::from(self.in_service);
            self.in_service = false;
            let free = self.free;
            let at = tree_in(&mut self.extras).and_then(|tree| tree.ask_at(free));
            return (sent, at);
        }
        (sent, self.ask_tree(now))
    }

    fn is_over_capacity(&self) -> bool {
        match self.capacity {
            Capacity::Packets(limit) => self.length() > limit as usize,
            Capacity::Bytes(limit) => self.bytes > limit,
            Capacity::Unlimited => false,
        }
    }

    /// The scheduler's next packet goes into service: when that ends. `direct`: it has just arrived
    /// at an idle link.
    fn serve(&mut self, now: u64, direct: bool, follows: bool) -> Option<u64> {
        if scheduled_in(&mut self.extras)?.shut_until(now).is_some() {
            return self.wait_for_scheduler(now);
        }
        let rate = self.transmitter.rate_at(now);
        loop {
            let scheduled = scheduled_in(&mut self.extras)?;
            let before = scheduled.packets();
            let (random, packet) = (&mut self.random, &mut self.serving);
            let Some(taken) = scheduled.take(now, rate, direct, Self::packet_view, random, packet)
            else {
                return self.wait_for_scheduler(now);
            };
            if !direct {
                self.clock.account(now, before, self.bytes);
            }
            self.bytes -= u64::from(taken.size);
            if taken.verdict != Verdict::Accept && !self.serves_judged(taken.verdict) {
                continue;
            }
            let finish = self.begin_serving(now, taken.arrival, taken.size, follows);
            let late = self.acts.are_late();
            let extras = self.extras.as_mut()?;
            let scheduled = extras.scheduled.as_mut()?;
            scheduled.sends(&taken, finish);
            if late && let Some(until) = scheduled.shut_until(finish) {
                // nothing happens at the end of the transmission
                extras.wake = Some(until);
                return Some(until);
            }
            return Some(finish);
        }
    }

    /// Whether the packet that was to be served is, though it may be marked.
    #[inline(never)]
    pub(super) fn serves_judged(&mut self, verdict: Verdict) -> bool {
        let Some(mut packet) = self.serving.take() else {
            return false;
        };
        let leaves = self.leaves(verdict, &mut packet);
        if leaves {
            self.serving = Some(packet);
        }
        leaves
    }

    /// When a scheduler that shapes lets a packet go, unless the transmitter looks earlier.
    fn wait_for_scheduler(&mut self, now: u64) -> Option<u64> {
        let extras = self.extras.as_mut()?;
        let at = extras.scheduled.as_ref()?.opens(now)?;
        if extras.wake.is_some_and(|wake| wake <= at) {
            return None;
        }
        extras.wake = Some(at);
        Some(at)
    }

    /// Event-driven departures: the transmission that ends now has sent this packet; and when the
    /// next ends, if one begins. What becomes of packets on the way out is left in `judged`.
    #[inline]
    pub(crate) fn transmit(&mut self, now: u64) -> (Option<Packet>, Option<u64>) {
        if !self.plain {
            return self.transmit_otherwise(now);
        }
        let sent = self.serving.take();
        let next = if self.scheduled().is_some() {
            self.serve(now, false, true)
        } else {
            self.begin_next(now)
        };
        (sent, next)
    }

    /// The same of a link that is not plain.
    #[inline(never)]
    fn transmit_otherwise(&mut self, now: u64) -> (Option<Packet>, Option<u64>) {
        if self.tree().is_some() {
            self.transmit_from_tree(now)
        } else {
            self.transmit_impaired(now)
        }
    }

    /// The same where the queue has no classes.
    #[inline(never)]
    fn transmit_impaired(&mut self, now: u64) -> (Option<Packet>, Option<u64>) {
        if let Some(extras) = &mut self.extras {
            if self.served {
                return self.transmit_served(now);
            }
            if extras.wake.is_some_and(|wake| wake <= now) {
                extras.wake = None;
            }
            let late = self.acts.are_late();
            if self.serving.is_some() && extras.finish > now || late && self.free > now {
                return (None, None); // a packet has come that need not wait
            }
        }
        let mut sent = self.serving.take();
        if let Some(extras) = &mut self.extras {
            if let Some(packet) = sent
                && extras.impairments.loses()
            {
                // it is not among those that have come out
                self.in_service = false;
                self.counters.losses += 1;
                self.judged.push((packet, Fate::Lost));
                sent = None;
            }
            extras.shaped = false;
            if self.free > now {
                // sent, and the bucket is overdrawn
                self.counters.finished += u64::from(self.in_service);
                self.in_service = false;
                return match self.wait_for_shaper() {
                    Offer::Acts(at) => (sent, Some(at)),
                    _ => (sent, None),
                };
            }
            if extras.scheduled.is_some() {
                let follows = self.free == now;
                if !follows {
                    self.busy.gap(self.idle_from(), now);
                }
                return (sent, self.serve(now, false, follows));
            }
        }
        (sent, self.begin_next(now))
    }

    /// The next packet of a queue without a scheduler goes into service: when that ends.
    fn begin_next(&mut self, now: u64) -> Option<u64> {
        while let Some((arrival, mut packet)) = self.queue.pop_front() {
            self.clock.account(now, self.queue.len() + 1, self.bytes);
            self.bytes -= u64::from(packet.size);
            if !self.judge_departure(now, arrival, &mut packet) {
                continue;
            }
            return Some(self.begin(now, arrival, packet, true));
        }
        None
    }
}
