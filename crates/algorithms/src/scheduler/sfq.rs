//! SFQ: stochastic fairness queueing, as in Linux.
//!
//! Flows are hashed into sub-queues that take turns: one sends until its allotment is used up, gets
//! another `quantum` and goes to the end of the row. A full buffer drops from the sub-queue with
//! most packets, of equals from the one that came to its length last. No sub-queue holds more than
//! `depth` packets, and no more than `flows` sub-queues have packets.
//!
//! With `red` each sub-queue is under RED (SFQRED): by the average of its bytes, which is not
//! lowered for idle time, an arriving packet is dropped or marked; between the thresholds with a
//! probability that grows with the packets since the last drop. With `headdrop` packets go from the
//! head of the sub-queue in place of those that arrive.
//!
//! After `perturb` the hash function changes, and packets that wait move to their new sub-queues,
//! each old one's after the other's, so that those of a flow stay in order. None is dropped if there
//! are more than `depth` or `flows` then (in Linux the rest is). Of packets with ECN the arriving one
//! is marked, with `headdrop` too (in Linux then the first).

use std::collections::{HashMap, VecDeque};

use super::{Backlog, Hash, Label, Scheduler, SchedulerAlgorithm, SchedulerView, Victim};
use crate::aqm::{PacketView, Verdict};
use crate::meta::{About, Algorithm};
use crate::params::inconsistent;
use crate::{Interval, NumberOr, Stream, Time, ValueError, parameters};

parameters! {
    /// Parameters of SFQ.
    pub struct SfqParams {
        /// Allotment of a sub-queue in a turn, bytes.
        quantum: bytes = 1514.0, in Interval::between(1.0, 1e9), "tc-sfq(8): quantum";
        /// Sub-queues into which flows are hashed. "exact": each flow has its own.
        buckets: number("exact") = 1024.0, in Interval::between(1.0, 65536.0), "tc-sfq(8): divisor";
        /// Sub-queues with packets, at most.
        flows: number = 127.0, in Interval::between(1.0, 65536.0), "tc-sfq(8): flows";
        /// Packets of a sub-queue, at most.
        depth: packets = 127.0, in Interval::between(1.0, 65536.0), "tc-sfq(8): depth";
        /// Whether packets are dropped from the head of a sub-queue in place of arriving ones.
        headdrop: flag = false, "tc-sfq(8): headdrop";
        /// Time after which the hash function changes.
        perturb: time("never") = word "never", in Interval::above(0.0), "tc-sfq(8): perturb";
        /// Whether each sub-queue is under RED.
        red: flag = false, "tc-sfq(8), SFQRED: redflowlimit and what follows";
        /// Average of a sub-queue from which RED drops.
        min_threshold: bytes = 8000.0, in Interval::at_least(0.0), "tc-sfq(8): min, of its example";
        /// Average of a sub-queue from which RED drops all.
        max_threshold: bytes = 60000.0, in Interval::above(0.0), "tc-sfq(8): max, of its example";
        /// Probability of RED at the maximal threshold.
        max_probability: number = 0.02, in Interval::above_to(0.0, 1.0), "tc-sfq(8): probability";
        /// Weight of the queue in the average.
        weight: number = 0.0625, in Interval::above_to(0.0, 1.0), "tc-sfq(8): burst, avpkt";
        /// Whether RED marks ECN-capable packets.
        ecn: flag = false, "tc-sfq(8): ecn";
        /// Whether RED drops ECN-capable packets too above the maximal threshold.
        harddrop: flag = false, "tc-sfq(8): harddrop";
    }
}

impl Algorithm for SfqParams {
    const ABOUT: About = About {
        kind: "sfq",
        title: "SFQ",
        summary: "Stochastic fairness queueing: flows are hashed into sub-queues, which take turns by bytes; a full buffer drops from the longest. Its sub-queues may be under RED.",
        citation: "P. McKenney, Stochastic fairness queueing, INFOCOM 1990; Linux 6.1, tc-sfq(8)",
        ecn: true,
    };

    fn check(&self) -> Result<(), ValueError> {
        if self.min_threshold >= self.max_threshold {
            let allowed = format!("below max_threshold ({} B)", self.max_threshold);
            return Err(inconsistent("min_threshold", self.min_threshold, allowed));
        }
        super::whole_buckets(self.buckets)
    }
}

impl SchedulerAlgorithm for SfqParams {
    type Scheduler = Sfq;

    const AQM: Option<(&'static str, &'static [(&'static str, bool)])> = None;

    /// tc-sfq(8): limit.
    const CAPACITY: Option<u32> = Some(127);

    fn build(&self, view: &SchedulerView) -> Sfq {
        let hash = Hash::new(self.buckets, view);
        Sfq {
            row: VecDeque::new(),
            slots: Vec::new(),
            changes: 0,
            now: Time::ZERO,
            too_deep: None,
            identities: HashMap::new(),
            moves: false,
            next_perturbation: match self.perturb {
                NumberOr::Number(time) => Some(Time::from_seconds(time)),
                NumberOr::Word(_) => None,
            },
            params: *self,
            hash,
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    standing: bool,
    allotment: i64,
    /// Number of the last change of its length.
    changed: u64,
    /// RED's average, bytes, and packets since its last drop; -1 below the minimal threshold.
    average: f64,
    since: i64,
    drawn: f64,
}

/// SFQ at work.
#[derive(Clone, Debug)]
pub struct Sfq {
    params: SfqParams,
    hash: Hash,
    row: VecDeque<usize>,
    slots: Vec<Slot>,
    changes: u64,
    now: Time,
    /// A sub-queue whose first packet gives way to the one that has just joined.
    too_deep: Option<usize>,
    /// The identity of each flow since all was last empty at a change of the hash function, if it changes.
    identities: HashMap<u32, u32>,
    /// Whether it has just changed.
    moves: bool,
    next_perturbation: Option<Time>,
}

impl Sfq {
    /// The sub-queue of a flow whose header is hashed from `identity`.
    fn queue(&mut self, flow: u32, identity: u32) -> usize {
        let queue = self.hash.queue(flow, identity);
        if queue == self.slots.len() {
            self.slots.push(Slot::default());
        }
        queue
    }

    fn touch(&mut self, queue: usize) {
        self.changes += 1;
        self.slots[queue].changed = self.changes;
    }

    /// RED on a packet that arrives at a sub-queue with packets; `None` lets it in.
    fn red(
        &mut self,
        queue: usize,
        packet: &PacketView,
        bytes: u64,
        random: &mut Stream,
    ) -> Option<Verdict> {
        let params = &self.params;
        let slot = &mut self.slots[queue];
        slot.average += params.weight * (bytes as f64 - slot.average);
        let marks = params.ecn && packet.ecn_capable;
        if slot.average < params.min_threshold {
            slot.since = -1;
            return None;
        }
        if slot.average >= params.max_threshold {
            slot.since = -1;
            return Some(if marks && !params.harddrop {
                Verdict::Mark
            } else {
                Verdict::Drop
            });
        }
        slot.since += 1;
        if slot.since == 0 {
            slot.drawn = random.uniform();
            return None;
        }
        let part =
            (slot.average - params.min_threshold) / (params.max_threshold - params.min_threshold);
        if part * params.max_probability * slot.since as f64 >= slot.drawn {
            slot.since = 0;
            slot.drawn = random.uniform();
            return Some(if marks { Verdict::Mark } else { Verdict::Drop });
        }
        None
    }
}

impl Scheduler for Sfq {
    fn queues(&self) -> usize {
        self.hash.queues as usize
    }

    fn numbers_by_use(&self) -> bool {
        true
    }

    fn classify(&mut self, packet: &PacketView, label: &Label) -> usize {
        if self.next_perturbation.is_some() {
            self.identities.insert(packet.flow, label.identity);
        }
        self.queue(packet.flow, label.identity)
    }

    fn judges(&self) -> bool {
        true
    }

    fn judge_arrival(
        &mut self,
        now: Time,
        queue: usize,
        packet: &PacketView,
        _label: &Label,
        backlog: &[Backlog],
        random: &mut Stream,
    ) -> Verdict {
        self.now = now;
        let state = &backlog[queue];
        if state.packets == 0 {
            let slot = &mut self.slots[queue];
            (slot.average, slot.since) = (0.0, -1);
            let taken = self.row.len() as f64;
            return if slot.standing || taken < self.params.flows {
                Verdict::Accept
            } else {
                Verdict::Drop
            };
        }
        let mut verdict = Verdict::Accept;
        if self.params.red {
            verdict = self
                .red(queue, packet, state.bytes, random)
                .unwrap_or(verdict);
        }
        let too_deep = f64::from(state.packets) >= self.params.depth;
        if verdict != Verdict::Drop && !too_deep {
            return verdict;
        }
        if self.params.headdrop {
            self.too_deep = Some(queue);
            return if verdict == Verdict::Mark {
                verdict
            } else {
                Verdict::Accept
            };
        }
        Verdict::Drop
    }

    fn joined(&mut self, queue: usize, _backlog: &[Backlog]) {
        self.touch(queue);
        let slot = &mut self.slots[queue];
        if !slot.standing {
            slot.standing = true;
            slot.allotment = self.params.quantum as i64;
            self.row.push_back(queue);
        }
    }

    fn next(&mut self, _now: Time, backlog: &[Backlog]) -> Option<usize> {
        loop {
            let queue = *self.row.front()?;
            let slot = &mut self.slots[queue];
            if backlog[queue].packets == 0 {
                slot.standing = false;
                self.row.pop_front();
            } else if slot.allotment <= 0 {
                slot.allotment += self.params.quantum as i64;
                self.row.rotate_left(1);
            } else {
                return Some(queue);
            }
        }
    }

    fn sent(&mut self, queue: usize, size: u32, backlog: &[Backlog]) {
        self.touch(queue);
        let slot = &mut self.slots[queue];
        if backlog[queue].packets > 0 {
            slot.allotment -= i64::from(size);
        } else {
            slot.standing = false;
            self.row.pop_front();
        }
    }

    fn removed(&mut self, _now: Time, queue: usize, _size: u32, _backlog: &[Backlog]) {
        self.touch(queue);
        self.too_deep = None;
    }

    fn overflows(&self) -> bool {
        self.too_deep.is_some()
    }

    fn overflow_victim(&self, arrived: usize, backlog: &[Backlog]) -> Victim {
        let longest = |&queue: &usize| (backlog[queue].packets, self.slots[queue].changed);
        let queue = self.row.iter().copied().max_by_key(longest);
        Victim {
            queue: self.too_deep.or(queue).unwrap_or(arrived),
            head: self.params.headdrop,
            packets: 1,
        }
    }

    fn next_timer(&self) -> Option<Time> {
        self.next_perturbation
    }

    fn on_timer(&mut self, now: Time, backlog: &[Backlog]) {
        let (NumberOr::Number(time), Some(salt)) = (self.params.perturb, self.hash.salt) else {
            self.next_perturbation = None;
            return;
        };
        self.hash.salt = Some(crate::random::mix(salt));
        self.next_perturbation = Some(now + Time(Time::from_seconds(time).0.max(1)));
        self.moves = backlog.iter().any(|state| state.packets > 0);
        if !self.moves {
            self.identities.clear();
        }
        self.row.clear();
        for slot in &mut self.slots {
            (slot.standing, slot.average, slot.since) = (false, 0.0, -1);
        }
    }

    fn moves(&mut self) -> bool {
        std::mem::take(&mut self.moves)
    }

    fn place(&mut self, flow: u32, backlog: &[Backlog]) -> usize {
        let identity = self.identities.get(&flow).copied().unwrap_or_default();
        let queue = self.queue(flow, identity);
        let bytes = backlog.get(queue).map_or(0, |state| state.bytes);
        let slot = &mut self.slots[queue];
        slot.average += self.params.weight * (bytes as f64 - slot.average);
        queue
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::test::{Queues, VIEW, of_flow};
    use crate::{Owner, Parameters as _};

    fn exact() -> SfqParams {
        SfqParams {
            buckets: NumberOr::Word("exact"),
            ..SfqParams::from_values(&[]).unwrap()
        }
    }

    #[test]
    fn the_longest_gives_way_and_of_equals_the_last() {
        let mut queues = Queues::new(exact().build(&VIEW));
        for flow in [0, 0, 0, 1, 2, 2, 2] {
            queues.put(Time::ZERO, of_flow(flow, 1000), Label::default());
        }
        let victim = queues.scheduler.overflow_victim(1, &queues.backlog);
        assert_eq!((victim.queue, victim.head), (2, false));
        let order: Vec<usize> = std::iter::from_fn(|| queues.take(Time::ZERO))
            .map(|(queue, ..)| queue)
            .collect();
        // an allotment of 1514 lets two packets of 1000 go
        assert_eq!(order, [0, 0, 1, 2, 2, 0, 2]);
    }

    /// Bytes that a flow has sent above its allotment count in its next turn.
    #[test]
    fn bytes_are_shared_whatever_the_sizes() {
        let mut queues = Queues::new(exact().build(&VIEW));
        for _ in 0..200 {
            for (flow, size) in [(0, 1000), (1, 1500)] {
                queues.put(Time::ZERO, of_flow(flow, size), Label::default());
            }
        }
        let mut sent = [0; 2];
        for _ in 0..200 {
            let (queue, _, packet) = queues.take(Time::ZERO).unwrap();
            sent[queue] += packet.size;
        }
        assert!(sent[0].abs_diff(sent[1]) <= 2 * 1514, "{sent:?}");
    }

    #[test]
    fn depth_drops_what_arrives_or_the_head() {
        let mut random = Stream::new(1, Owner::Queue, 0);
        for (headdrop, expected) in [(false, Verdict::Drop), (true, Verdict::Accept)] {
            let params = SfqParams {
                depth: 2.0,
                headdrop,
                ..exact()
            };
            let mut queues = Queues::new(params.build(&VIEW));
            let packet = of_flow(0, 1000);
            for _ in 0..2 {
                queues.put(Time::ZERO, packet, Label::default());
            }
            let (scheduler, backlog) = (&mut queues.scheduler, &queues.backlog);
            let verdict = scheduler.judge_arrival(
                Time::ZERO,
                0,
                &packet,
                &Label::default(),
                backlog,
                &mut random,
            );
            assert_eq!((verdict, scheduler.overflows()), (expected, headdrop));
            assert_eq!(scheduler.overflow_victim(0, backlog).head, headdrop);
        }
    }

    #[test]
    fn red_drops_by_the_average_of_a_flow() {
        let params = SfqParams {
            red: true,
            min_threshold: 3000.0,
            max_threshold: 6000.0,
            max_probability: 0.5,
            weight: 1.0,
            ..exact()
        };
        let mut random = Stream::new(1, Owner::Queue, 0);
        let mut queues = Queues::new(params.build(&VIEW));
        let packet = of_flow(0, 1000);
        queues.scheduler.classify(&packet, &Label::default());
        let mut drops = |waiting: u32| {
            let backlog = [Backlog {
                packets: waiting,
                bytes: u64::from(waiting) * 1000,
                ..Backlog::default()
            }];
            let scheduler = &mut queues.scheduler;
            let verdicts = (0..1000).map(|_| {
                scheduler.judge_arrival(
                    Time::ZERO,
                    0,
                    &packet,
                    &Label::default(),
                    &backlog,
                    &mut random,
                )
            });
            verdicts.filter(|verdict| *verdict == Verdict::Drop).count()
        };
        assert_eq!(drops(2), 0);
        assert_eq!(drops(6), 1000);
        // p = 0.25: a drop after one to four packets, each number as likely as another
        let some = drops(4) + drops(5);
        assert!((700..1000).contains(&some), "{some}");
    }

    #[test]
    fn perturbation_moves_flows() {
        let params = SfqParams {
            perturb: NumberOr::Number(10.0),
            ..SfqParams::from_values(&[]).unwrap()
        };
        let mut sfq = params.build(&VIEW);
        let places = |sfq: &mut Sfq| -> Vec<usize> {
            (0..20)
                .map(|identity| {
                    let label = Label {
                        identity,
                        ..Label::default()
                    };
                    sfq.classify(&of_flow(identity, 100), &label)
                })
                .collect()
        };
        let before = places(&mut sfq);
        let due = sfq.next_timer().unwrap();
        sfq.on_timer(due, &[]);
        assert_ne!(places(&mut sfq), before);
        assert_eq!(sfq.next_timer(), Some(due + due));
    }
}
