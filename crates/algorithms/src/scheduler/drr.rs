//! Deficit round robin.
//!
//! Active sub-queues stand in a row. The first one's deficit counter grows by a quantum when its
//! turn begins; it sends while the packet at its head is no larger than the counter, which each
//! packet lowers by its size. What is left is kept for the next turn unless the sub-queue is empty.

use std::collections::VecDeque;

use super::{Alike, Backlog, Hash, Label, Scheduler, SchedulerAlgorithm, SchedulerView, Victim};
use crate::aqm::PacketView;
use crate::meta::{About, Algorithm};
use crate::{Interval, Time, choices, parameters};

choices! {
    /// Which packet a full buffer drops.
    pub enum Overflow {
        /// The newest of the longest sub-queue.
        Longest = "longest",
        /// The one that arrives, whatever its flow.
        Arriving = "arriving",
    }
}

parameters! {
    /// Parameters of deficit round robin.
    pub struct DrrParams {
        /// Allowance of a sub-queue in a turn, bytes. From the largest packet on, the work per
        /// packet does not depend on the number of flows.
        quantum: bytes = 1514.0, in Interval::between(1.0, 1e9), "Shreedhar and Varghese, section III; RFC 8290, section 5.2.4: an Ethernet frame";
        /// Sub-queues into which flows are hashed. "exact": each flow has its own.
        buckets: number("exact") = word "exact", in Interval::between(1.0, 65536.0), "Shreedhar and Varghese, section III";
        /// Which packet a full buffer drops. "arriving" is Linux's sch_fq, where a flow that fills
        /// the buffer shuts others out although they take turns.
        overflow: choice(Overflow) = Longest, "Shreedhar and Varghese, section III; Linux, tc-fq(8): limit";
    }
}

impl Algorithm for DrrParams {
    const ABOUT: About = About {
        kind: "drr",
        title: "Deficit round robin",
        summary: "Flows take turns by bytes: each may send a quantum a turn and keeps what it could not use; a full buffer drops from the longest sub-queue.",
        citation: "M. Shreedhar and G. Varghese, Efficient fair queueing using deficit round robin, IEEE/ACM Transactions on Networking 4(3), 1996",
        ecn: false,
    };

    fn check(&self) -> Result<(), crate::ValueError> {
        super::whole_buckets(self.buckets)
    }
}

impl SchedulerAlgorithm for DrrParams {
    type Scheduler = Drr;

    const ALIKE: Alike = Alike::Each;

    fn build(&self, view: &SchedulerView) -> Drr {
        let hash = Hash::new(self.buckets, view);
        Drr {
            quantum: self.quantum as u64,
            overflow: self.overflow,
            active: VecDeque::new(),
            deficit: Vec::new(),
            standing: Vec::new(),
            turn_begun: false,
            hash,
        }
    }
}

/// Deficit round robin at work.
#[derive(Debug)]
pub struct Drr {
    quantum: u64,
    overflow: Overflow,
    active: VecDeque<usize>,
    deficit: Vec<u64>,
    /// Whether a sub-queue stands in the row.
    standing: Vec<bool>,
    /// Whether the first of the row has got its quantum for this turn.
    turn_begun: bool,
    hash: Hash,
}

impl Drr {
    fn leave(&mut self, queue: usize) {
        self.active.pop_front();
        self.standing[queue] = false;
        self.deficit[queue] = 0;
        self.turn_begun = false;
    }
}

impl Scheduler for Drr {
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
        if self.standing.len() < backlog.len() {
            self.standing.resize(backlog.len(), false);
            self.deficit.resize(backlog.len(), 0);
        }
        if !self.standing[queue] {
            self.standing[queue] = true;
            self.active.push_back(queue);
        }
    }

    fn next(&mut self, _now: Time, backlog: &[Backlog]) -> Option<usize> {
        while let Some(&queue) = self.active.front() {
            if backlog[queue].packets == 0 {
                self.leave(queue);
                continue;
            }
            if !self.turn_begun {
                self.turn_begun = true;
                self.deficit[queue] += self.quantum;
            }
            if u64::from(backlog[queue].head) <= self.deficit[queue] {
                return Some(queue);
            }
            self.active.rotate_left(1);
            self.turn_begun = false;
        }
        None
    }

    #[inline]
    fn sent(&mut self, queue: usize, size: u32, backlog: &[Backlog]) {
        self.deficit[queue] -= u64::from(size);
        if backlog[queue].packets == 0 {
            self.leave(queue);
        }
    }

    fn overflow_victim(&self, arrived: usize, backlog: &[Backlog]) -> Victim {
        Victim {
            queue: match self.overflow {
                Overflow::Longest => self.hash.fattest(backlog),
                Overflow::Arriving => arrived,
            },
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

    /// Three packets wait for flow 0, and one for flow 1 arrives.
    #[test]
    fn a_full_buffer_drops_from_the_longest_or_what_arrives() {
        for (overflow, victim) in [(Overflow::Longest, 0), (Overflow::Arriving, 1)] {
            let params = DrrParams {
                overflow,
                ..DrrParams::from_values(&[]).unwrap()
            };
            let mut queues = Queues::new(params.build(&VIEW));
            for flow in [0, 0, 0, 1] {
                queues.put(Time::ZERO, of_flow(flow, 1500), Label::default());
            }
            let dropped = queues.scheduler.overflow_victim(1, &queues.backlog);
            assert_eq!((dropped.queue, dropped.packets), (victim, 1));
        }
    }

    /// The worked example of the paper (figures 2 and 3): quantum 500; 200, 750, 20 wait for flow
    /// 0; 500, 500 for flow 1; 200, 600, 100 for flow 2; 50, 700, 180 for flow 3.
    #[test]
    fn the_papers_example() {
        let params = DrrParams {
            quantum: 500.0,
            ..DrrParams::from_values(&[]).unwrap()
        };
        let mut queues = Queues::new(params.build(&VIEW));
        for (flow, sizes) in [
            vec![200, 750, 20],
            vec![500, 500],
            vec![200, 600, 100],
            vec![50, 700, 180],
        ]
        .iter()
        .enumerate()
        {
            for size in sizes {
                queues.put(Time::ZERO, of_flow(flow as u32, *size), Label::default());
            }
        }
        let order: Vec<(usize, u32)> = std::iter::from_fn(|| queues.take(Time::ZERO))
            .map(|(queue, _, packet)| (queue, packet.size))
            .collect();
        // first round: 0 sends 200 and keeps 300, 1 sends 500, 2 sends 200 and keeps 300, 3 sends
        // 50 and keeps 450; second: all the rest
        let expected = [
            (0, 200),
            (1, 500),
            (2, 200),
            (3, 50),
            (0, 750),
            (0, 20),
            (1, 500),
            (2, 600),
            (2, 100),
            (3, 700),
            (3, 180),
        ];
        assert_eq!(order, expected);
    }

    /// While flows are backlogged, the bytes that any two of them have sent over any interval
    /// differ by at most quantum + 2 largest packets (Shreedhar and Varghese, theorem 2 and its
    /// remark: 3 Max when quantum = Max).
    #[test]
    fn fairness_bound() {
        let params = DrrParams {
            quantum: 1500.0,
            ..DrrParams::from_values(&[]).unwrap()
        };
        let mut queues = Queues::new(params.build(&VIEW));
        let sizes = [
            [1500, 1500, 1500],
            [40, 1500, 700],
            [40, 40, 40],
            [576, 1000, 41],
        ];
        let mut sent = [0_i64; 4];
        let mut history = vec![sent];
        let mut put = [0_usize; 4];
        for _ in 0..4000 {
            for flow in 0..4 {
                while queues.backlog[flow].packets < 3 {
                    queues.put(
                        Time::ZERO,
                        of_flow(flow as u32, sizes[flow][put[flow] % 3]),
                        Label::default(),
                    );
                    put[flow] += 1;
                }
            }
            let (queue, _, packet) = queues.take(Time::ZERO).unwrap();
            sent[queue] += i64::from(packet.size);
            history.push(sent);
        }
        for pair in [(0, 1), (0, 2), (1, 3), (2, 3)] {
            let difference: Vec<i64> = history
                .iter()
                .map(|sent| sent[pair.0] - sent[pair.1])
                .collect();
            let spread = difference.iter().max().unwrap() - difference.iter().min().unwrap();
            assert!(spread <= 3 * 1500, "{pair:?}: {spread}");
            assert!(spread > 0);
        }
    }

    #[test]
    fn an_empty_sub_queue_keeps_no_deficit() {
        let params = DrrParams {
            quantum: 1500.0,
            ..DrrParams::from_values(&[]).unwrap()
        };
        let mut queues = Queues::new(params.build(&VIEW));
        queues.put(Time::ZERO, of_flow(0, 100), Label::default());
        queues.take(Time::ZERO).unwrap();
        assert_eq!(queues.scheduler.deficit[0], 0);
        // otherwise 1400 would be left, and both of these would go in one turn
        for flow in [0, 0, 1] {
            queues.put(Time::ZERO, of_flow(flow, 1400), Label::default());
        }
        let order: Vec<usize> = std::iter::from_fn(|| queues.take(Time::ZERO))
            .map(|(queue, ..)| queue)
            .collect();
        assert_eq!(order, [0, 1, 0]);
    }
}
