//! FQ-CoDel's scheduler: byte-based round robin that serves new flows first.
//!
//! Sub-queues that have packets stand in one of two rows. One that becomes active joins the row of
//! new queues with a credit of one quantum. The first new queue, or without new ones the first old
//! one, sends while its credit is above zero; each packet lowers the credit by its size. A queue
//! whose credit is used up gets another quantum and goes to the end of the old row. A new queue
//! that has run empty also goes there (else a flow that sends a packet at a time would be served
//! first for ever); an old one that has run empty leaves. When the buffer is full, half of the
//! packets of the longest sub-queue, at most 64, are dropped from its head.

//= RFC 8290 4.1.1/1: not applicable, every packet has its flow
//= RFC 8290 5.2.1/1: done, test the_control_law_by_hand; CoDel's own 100 ms

use std::collections::VecDeque;

use super::{Alike, Backlog, Hash, Label, Scheduler, SchedulerAlgorithm, SchedulerView, Victim};
use crate::aqm::PacketView;
use crate::meta::{About, Algorithm};
use crate::{Interval, Time, parameters};

parameters! {
    /// Parameters of FQ-CoDel's scheduler; those of CoDel stand beside them.
    pub struct FqCodelParams {
        /// Allowance of a sub-queue in a turn, bytes.
        quantum: bytes = 1514.0, in Interval::between(1.0, 1e9), "RFC 8290, section 5.2.4";
        /// Sub-queues into which flows are hashed. "exact": each flow has its own.
        buckets: number("exact") = 1024.0, in Interval::between(1.0, 65536.0), "RFC 8290, section 5.2.5";
        /// Packets that a full buffer drops at once, at most.
        drop_batch: packets = 64.0, in Interval::between(1.0, 1e6), "RFC 8290, section 4.1";
        /// Whether CoDel spares a sub-queue with no more than one packet left only while no more is
        /// left in all sub-queues together. Linux does so, and thus drops the last packets of
        /// flows; in RFC 8289, section 5.4, each queue counts for itself.
        //= RFC 8289 4.4/1: deviation, each queue counts for itself unless `spare_by_total` is set
        //= RFC 8289 4.4/1 (`spare_by_total`): done, no test
        spare_by_total: flag = false, "Linux 6.1";
    }
}

impl Algorithm for FqCodelParams {
    const ABOUT: About = About {
        kind: "fq_codel",
        title: "FQ-CoDel",
        summary: "Flows are hashed into sub-queues, each under CoDel (or the AQM given), which take turns by bytes; flows that have just become active go first.",
        citation: "T. Hoeiland-Joergensen et al., The Flow Queue CoDel packet scheduler and active queue management algorithm, RFC 8290 (2018)",
        ecn: true,
    };

    fn check(&self) -> Result<(), crate::ValueError> {
        super::whole_buckets(self.buckets)
    }
}

impl SchedulerAlgorithm for FqCodelParams {
    type Scheduler = FqCodel;

    const ALIKE: Alike = Alike::Each;

    /// ECN is on by default (RFC 8290, section 5.2.6).
    const AQM: Option<(&'static str, &'static [(&'static str, bool)])> =
        Some(("codel", &[("ecn", true)]));

    /// RFC 8290, section 5.2.3.
    //= RFC 8290 5.2.3/1: done, test overflow_takes_half_of_the_fattest
    const CAPACITY: Option<u32> = Some(10240);

    fn build(&self, view: &SchedulerView) -> FqCodel {
        let hash = Hash::new(self.buckets, view);
        FqCodel {
            quantum: self.quantum as i64,
            drop_batch: self.drop_batch as u32,
            spare_by_total: self.spare_by_total,
            empty: Vec::new(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            credits: Vec::new(),
            active: Vec::new(),
            hash,
        }
    }
}

/// FQ-CoDel's scheduler at work.
#[derive(Debug)]
pub struct FqCodel {
    quantum: i64,
    drop_batch: u32,
    spare_by_total: bool,
    /// Sub-queues that were empty in their turn, where their CoDel is to know.
    empty: Vec<usize>,
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    credits: Vec<i64>,
    /// Whether a sub-queue stands in a row.
    active: Vec<bool>,
    hash: Hash,
}

impl FqCodel {
    /// A sub-queue of `count` becomes active.
    #[inline(never)]
    fn begin(&mut self, queue: usize, count: usize) {
        if self.active.len() < count {
            self.active.resize(count, false);
            self.credits.resize(count, 0);
        }
        self.active[queue] = true;
        self.credits[queue] = self.quantum;
        self.new.push_back(queue);
    }
}

impl Scheduler for FqCodel {
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

    #[inline(always)]
    fn joined(&mut self, queue: usize, backlog: &[Backlog]) {
        if !self.active.get(queue).is_some_and(|active| *active) {
            self.begin(queue, backlog.len());
        }
    }

    #[inline(always)]
    fn next(&mut self, _now: Time, backlog: &[Backlog]) -> Option<usize> {
        loop {
            let is_new = !self.new.is_empty();
            let row = if is_new { &mut self.new } else { &mut self.old };
            let queue = *row.front()?;
            if self.credits[queue] <= 0 {
                self.credits[queue] += self.quantum;
                row.pop_front();
                self.old.push_back(queue);
            } else if backlog[queue].packets == 0 {
                row.pop_front();
                if self.spare_by_total {
                    self.empty.push(queue);
                }
                if is_new && !self.old.is_empty() {
                    self.old.push_back(queue);
                } else {
                    self.active[queue] = false;
                }
            } else {
                return Some(queue);
            }
        }
    }

    #[inline]
    fn sent(&mut self, queue: usize, size: u32, _backlog: &[Backlog]) {
        self.credits[queue] -= i64::from(size);
    }

    #[inline]
    fn found_empty(&mut self) -> Option<usize> {
        self.empty.pop()
    }

    #[inline]
    fn shows_total(&self) -> bool {
        self.spare_by_total
    }

    fn overflow_victim(&self, _arrived: usize, backlog: &[Backlog]) -> Victim {
        let queue = self.hash.fattest(backlog);
        Victim {
            queue,
            head: true,
            packets: (backlog[queue].packets / 2).clamp(1, self.drop_batch),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NumberOr;
    use crate::Parameters as _;
    use crate::scheduler::test::{Queues, VIEW, of_flow};

    fn queues() -> Queues<FqCodel> {
        let params = FqCodelParams {
            quantum: 1000.0,
            buckets: NumberOr::Word("exact"),
            ..FqCodelParams::from_values(&[]).unwrap()
        };
        Queues::new(params.build(&VIEW))
    }

    fn take(queues: &mut Queues<FqCodel>) -> usize {
        queues.take(Time::ZERO).unwrap().0
    }

    #[test]
    fn a_new_flow_goes_before_old_ones() {
        let mut queues = queues();
        for flow in [0, 0, 0, 0, 1, 1, 1, 1] {
            queues.put(Time::ZERO, of_flow(flow, 1000), Label::default());
        }
        // each uses its credit up as a new queue, then they take turns as old ones
        assert_eq!(
            [take(&mut queues), take(&mut queues), take(&mut queues)],
            [0, 1, 0]
        );
        queues.put(Time::ZERO, of_flow(2, 300), Label::default());
        assert_eq!(
            [take(&mut queues), take(&mut queues), take(&mut queues)],
            [2, 1, 0]
        );
    }

    /// A new queue that has run empty goes to the end of the old row: its next packet finds it
    /// there and waits its turn (RFC 8290, section 4.2).
    #[test]
    fn a_flow_of_single_packets_is_not_served_first_for_ever() {
        let mut queues = queues();
        for _ in 0..4 {
            queues.put(Time::ZERO, of_flow(0, 1000), Label::default());
            queues.put(Time::ZERO, of_flow(1, 1000), Label::default());
        }
        take(&mut queues);
        take(&mut queues);
        queues.put(Time::ZERO, of_flow(2, 300), Label::default());
        assert_eq!(take(&mut queues), 2);
        assert_eq!(take(&mut queues), 0); // finds queue 2 empty and moves it
        queues.put(Time::ZERO, of_flow(2, 300), Label::default());
        assert_eq!([take(&mut queues), take(&mut queues)], [1, 2]);
    }

    /// Two backlogged flows share by bytes, not by packets.
    #[test]
    fn shares_are_by_bytes() {
        let mut queues = queues();
        let mut sent = [0_u32; 2];
        for _ in 0..6000 {
            for (flow, size) in [(0, 1000), (1, 125)] {
                while queues.backlog[flow].packets < 20 {
                    queues.put(Time::ZERO, of_flow(flow as u32, size), Label::default());
                }
            }
            let (queue, _, packet) = queues.take(Time::ZERO).unwrap();
            sent[queue] += packet.size;
        }
        assert!(sent[0].abs_diff(sent[1]) <= 2000, "{sent:?}");
    }

    /// RFC 8290, section 4.1: half of the fattest queue, from its head, at most `drop_batch`.
    #[test]
    fn overflow_takes_half_of_the_fattest() {
        let mut queues = queues();
        for _ in 0..10 {
            queues.put(Time::ZERO, of_flow(3, 1000), Label::default());
        }
        for _ in 0..50 {
            queues.put(Time::ZERO, of_flow(4, 100), Label::default());
        }
        let victim = queues.scheduler.overflow_victim(4, &queues.backlog);
        // the first to be used
        assert_eq!((victim.queue, victim.head, victim.packets), (0, true, 5));
        for _ in 0..200 {
            queues.put(Time::ZERO, of_flow(3, 1000), Label::default());
        }
        assert_eq!(
            queues.scheduler.overflow_victim(4, &queues.backlog).packets,
            64
        );
    }
}
