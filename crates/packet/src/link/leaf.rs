//! Leaves of a queue with classes: a first in, first out queue under an AQM, or several queues under
//! a scheduler; and what they work with.

use ackclock_algorithms::aqm::{Aqm as _, QueueView, Verdict};
use ackclock_algorithms::registry::AqmInstance;
use ackclock_algorithms::scheduler::Label;
use ackclock_algorithms::{Stream, Time};
use ackclock_scenario::Capacity;

use super::scheduled::Scheduled;
use super::{Counters, Fate, Link, Reported};
use crate::packet::{Flags, Packet};
use crate::ring::Ring;

/// Surroundings of queues while a packet arrives or leaves.
pub(super) struct Moment<'l> {
    pub(super) now: u64,
    pub(super) rate: f64,
    pub(super) random: &'l mut Stream,
    pub(super) counters: &'l mut Counters,
    /// Fates of packets that waited.
    pub(super) judged: &'l mut Vec<(Packet, Fate)>,
    pub(super) reported: &'l Reported,
    /// Whether the measurement window is open.
    pub(super) measured: bool,
    /// The packet that a queue lets go, and when it arrived: here, not in what functions return, so
    /// that it is copied once.
    pub(super) leaving: &'l mut Option<Packet>,
    pub(super) arrival: u64,
}

impl Moment<'_> {
    pub(super) fn dropped(&mut self, size: u32, full: bool) {
        self.counters.drops += 1;
        self.counters.dropped_bytes += u64::from(size);
        self.counters.overflows += u64::from(full);
    }

    /// As [`Link::mark`].
    fn marked(&mut self, packet: &mut Packet) -> bool {
        let new = packet.flags.has(Flags::ECT) && !packet.flags.has(Flags::CE);
        if new {
            packet.flags.0 |= Flags::CE;
            self.counters.marks += 1;
        }
        new
    }

    /// As [`Link::serves_judged`].
    #[inline(never)]
    fn leaves_judged(&mut self, verdict: Verdict) -> bool {
        let Some(mut packet) = self.leaving.take() else {
            return false;
        };
        let leaves = self.leaves(verdict, &mut packet);
        if leaves {
            *self.leaving = Some(packet);
        }
        leaves
    }

    /// As [`Link::leaves`].
    fn leaves(&mut self, verdict: Verdict, packet: &mut Packet) -> bool {
        match verdict {
            Verdict::Accept => true,
            Verdict::Mark => {
                if self.marked(packet) {
                    self.judged.push((*packet, Fate::Marked));
                }
                true
            }
            Verdict::Drop => {
                self.dropped(packet.size, false);
                self.judged.push((*packet, Fate::Dropped));
                false
            }
        }
    }
}

/// Packets and bytes that wait.
pub(super) type Counts = (usize, u64);

/// Answer of a queue that is to send.
pub(super) enum Next {
    /// The packet is [`Moment::leaving`].
    Packet,
    /// Packets wait until then.
    Wait(u64),
    /// It is empty.
    Nothing,
}

/// A first in, first out queue under an AQM.
pub(super) struct Fifo {
    pub(super) waiting: Ring<(u64, Packet)>,
    pub(super) bytes: u64,
    pub(super) aqm: AqmInstance,
    pub(super) capacity: Capacity,
    /// When it was emptied.
    pub(super) free: u64,
}

impl Fifo {
    #[inline(always)]
    pub(super) fn counts(&self) -> Counts {
        (self.waiting.len(), self.bytes)
    }

    pub(super) fn view(&self, moment: &Moment<'_>, size: u32) -> QueueView {
        let packets = self.waiting.len() as u32;
        let full = match self.capacity {
            Capacity::Packets(limit) => packets >= limit,
            Capacity::Bytes(limit) => self.bytes + u64::from(size) > limit,
            Capacity::Unlimited => false,
        };
        QueueView {
            packets,
            bytes: self.bytes,
            full: full && packets > 0,
            idle_since: (packets == 0).then_some(Time(self.free)),
            rate: moment.rate,
            head_sojourn: Some(
                self.waiting
                    .front()
                    .map_or(Time::ZERO, |(arrival, _)| Time(moment.now - arrival)),
            ),
        }
    }

    /// False if the packet is dropped.
    pub(super) fn arrive(&mut self, moment: &mut Moment<'_>, packet: &mut Packet) -> bool {
        let view = self.view(moment, packet.size);
        let packet_view = Link::packet_view(packet);
        let verdict = self
            .aqm
            .enqueue(Time(moment.now), &packet_view, &view, moment.random);
        if view.full || verdict == Verdict::Drop {
            moment.dropped(packet.size, view.full);
            return false;
        }
        if verdict == Verdict::Mark {
            moment.marked(packet);
        }
        self.waiting.push_back((moment.now, *packet));
        self.bytes += u64::from(packet.size);
        true
    }

    pub(super) fn take(&mut self, moment: &mut Moment<'_>) -> Next {
        while let Some((arrival, mut packet)) = self.waiting.pop_front() {
            self.bytes -= u64::from(packet.size);
            if self.waiting.is_empty() {
                self.free = moment.now;
            }
            if self.aqm.decides_at_dequeue() {
                let view = QueueView {
                    idle_since: None,
                    ..self.view(moment, packet.size)
                };
                let sojourn = Time(moment.now - arrival);
                let packet_view = Link::packet_view(&packet);
                let now = Time(moment.now);
                let verdict = self
                    .aqm
                    .dequeue(now, sojourn, &packet_view, &view, moment.random);
                if !moment.leaves(verdict, &mut packet) {
                    continue;
                }
            }
            (*moment.leaving, moment.arrival) = (Some(packet), arrival);
            return Next::Packet;
        }
        Next::Nothing
    }
}

/// Sub-queues that share a capacity under a scheduler without classes.
pub(super) struct Shared {
    pub(super) scheduled: Scheduled,
    pub(super) bytes: u64,
    pub(super) capacity: Capacity,
}

impl Shared {
    #[inline(always)]
    pub(super) fn counts(&self) -> Counts {
        (self.scheduled.packets(), self.bytes)
    }

    fn is_over(&self) -> bool {
        match self.capacity {
            Capacity::Packets(limit) => self.scheduled.packets() > limit as usize,
            Capacity::Bytes(limit) => self.bytes > limit,
            Capacity::Unlimited => false,
        }
    }

    #[inline(always)]
    pub(super) fn arrive(
        &mut self,
        moment: &mut Moment<'_>,
        packet: &mut Packet,
        label: &Label,
    ) -> bool {
        let view = Link::packet_view(packet);
        let (now, rate) = (moment.now, moment.rate);
        let scheduled = &mut self.scheduled;
        let queue = scheduled.classify(now, &view, label);
        let labelled = (&view, label);
        match scheduled.judge_arrival(queue, now, labelled, |_| rate, true, moment.random) {
            Verdict::Accept => {}
            Verdict::Mark => {
                moment.marked(packet);
            }
            Verdict::Drop => {
                moment.dropped(packet.size, false);
                if let Some(also) = scheduled.also_dropped(now, queue) {
                    self.lose(moment, also, false);
                }
                return false;
            }
        }
        scheduled.push(queue, now, packet);
        self.bytes += u64::from(packet.size);
        if let Some(old) = scheduled.superseded(now, queue, moment.reported) {
            self.lose(moment, old, false);
        }
        while self.is_over() || self.scheduled.overflows() {
            let mut gone = Vec::new();
            if !self
                .scheduled
                .overflow(now, queue, |packet| gone.push(*packet))
            {
                break; // what is left is in other queues
            }
            for packet in gone {
                self.lose(moment, packet, true);
            }
        }
        true
    }

    /// A packet that waited has been dropped.
    fn lose(&mut self, moment: &mut Moment<'_>, packet: Packet, full: bool) {
        self.bytes -= u64::from(packet.size);
        moment.dropped(packet.size, full);
        moment.judged.push((packet, Fate::Dropped));
    }

    #[inline(always)]
    pub(super) fn take(&mut self, moment: &mut Moment<'_>) -> Next {
        let (now, rate) = (moment.now, moment.rate);
        while let Some(taken) = self.scheduled.take(
            now,
            rate,
            false,
            Link::packet_view,
            moment.random,
            moment.leaving,
        ) {
            self.bytes -= u64::from(taken.size);
            if taken.verdict != Verdict::Accept && !moment.leaves_judged(taken.verdict) {
                continue;
            }
            self.scheduled.sends(&taken, now);
            moment.arrival = taken.arrival;
            return Next::Packet;
        }
        self.scheduled.opens(now).map_or(Next::Nothing, Next::Wait)
    }
}
