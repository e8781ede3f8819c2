//! Fair queueing packet by packet: flows take turns.
//!
//! Sub-queues that have packets stand in a row. The first sends one packet and goes to the end if
//! it has more, so that backlogged flows get equal rates in packets, whatever they send; in bytes
//! those of large packets get more ([`super::Drr`] shares by bytes). When the buffer is full the
//! newest packet of the longest sub-queue makes room.

use std::collections::VecDeque;

use super::{Alike, Backlog, Hash, Label, Scheduler, SchedulerAlgorithm, SchedulerView, Victim};
use crate::aqm::PacketView;
use crate::meta::{About, Algorithm};
use crate::{Interval, Time, parameters};

parameters! {
    /// Parameters of fair queueing.
    pub struct FqParams {
        /// Sub-queues into which flows are hashed. "exact": each flow has its own.
        buckets: number("exact") = word "exact", in Interval::between(1.0, 65536.0), "Nagle, section 4: one queue a source";
    }
}

impl Algorithm for FqParams {
    const ABOUT: About = About {
        kind: "fq",
        title: "Fair queueing",
        summary: "Flows take turns, one packet each; a full buffer drops from the longest sub-queue.",
        citation: "J. Nagle, On packet switches with infinite storage, IEEE Transactions on Communications 35(4), 1987",
        ecn: false,
    };

    fn check(&self) -> Result<(), crate::ValueError> {
        super::whole_buckets(self.buckets)
    }
}

impl SchedulerAlgorithm for FqParams {
    type Scheduler = Fq;

    const ALIKE: Alike = Alike::Each;

    fn build(&self, view: &SchedulerView) -> Fq {
        Fq {
            hash: Hash::new(self.buckets, view),
            turns: VecDeque::new(),
        }
    }
}

/// Fair queueing at work.
#[derive(Debug)]
pub struct Fq {
    hash: Hash,
    /// Sub-queues that have packets, and some that an AQM has emptied, in the order of their turns.
    turns: VecDeque<usize>,
}

impl Scheduler for Fq {
    fn queues(&self) -> usize {
        self.hash.queues as usize
    }

    fn numbers_by_use(&self) -> bool {
        true
    }

    #[inline]
    fn classify(&mut self, packet: &PacketView, label: &Label) -> usize {
        self.hash.queue(packet.flow, label.flow_hash)
    }

    #[inline]
    fn joined(&mut self, queue: usize, backlog: &[Backlog]) {
        // one that was emptied by drops may still stand in the row
        if backlog[queue].packets == 1 && !self.turns.contains(&queue) {
            self.turns.push_back(queue);
        }
    }

    #[inline]
    fn next(&mut self, _now: Time, backlog: &[Backlog]) -> Option<usize> {
        while let Some(&queue) = self.turns.front() {
            if backlog[queue].packets > 0 {
                return Some(queue);
            }
            self.turns.pop_front();
        }
        None
    }

    #[inline]
    fn sent(&mut self, queue: usize, _size: u32, backlog: &[Backlog]) {
        self.turns.pop_front();
        if backlog[queue].packets > 0 {
            self.turns.push_back(queue);
        }
    }

    fn overflow_victim(&self, _arrived: usize, backlog: &[Backlog]) -> Victim {
        Victim {
            queue: self.hash.fattest(backlog),
            head: false,
            packets: 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Parameters as _;
    use crate::scheduler::test::{Queues, VIEW, of_flow};

    #[test]
    fn flows_take_turns_whatever_they_have() {
        let mut queues = Queues::new(FqParams::from_values(&[]).unwrap().build(&VIEW));
        for flow in [0, 0, 0, 0, 3, 3, 5] {
            queues.put(Time::ZERO, of_flow(flow, 1000), Label::default());
        }
        let order: Vec<u32> = std::iter::from_fn(|| queues.take(Time::ZERO))
            .map(|(.., packet)| packet.flow)
            .collect();
        assert_eq!(order, [0, 3, 5, 0, 3, 0, 0]);
    }

    #[test]
    fn a_full_buffer_drops_from_the_longest() {
        let mut queues = Queues::new(FqParams::from_values(&[]).unwrap().build(&VIEW));
        for flow in [1, 2, 2, 4] {
            queues.put(Time::ZERO, of_flow(flow, 1000), Label::default());
        }
        let victim = queues.scheduler.overflow_victim(4, &queues.backlog);
        // the second to be used
        assert_eq!((victim.queue, victim.head, victim.packets), (1, false, 1));
    }
}
