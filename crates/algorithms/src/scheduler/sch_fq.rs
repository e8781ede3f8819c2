//! Linux's fq: turns by credit for flows, each of which may have a maximal rate.
//!
//! A flow that becomes active goes first until its credit is used up; a new flow's is
//! `initial_quantum`, so that the initial window of a connection may go at once, and one that comes
//! back after `refill_delay` has at least a quantum. A flow whose credit is used up gets a quantum
//! and goes to the end of the old row. A flow has `flow_limit` packets at most; a full buffer drops
//! what arrives.
//!
//! With `maxrate` a flow that has used its credit waits until the bytes that it sent are paid for
//! at that rate; below `low_rate_threshold` each packet is paid for by itself.
//!
//! It is the queue of a router: packets of senders on the same host, whose sockets pace them and
//! give them a time to go, have no counterpart, and so there is neither `horizon` nor pacing by
//! sockets. The pacing of senders is the endpoint's own (`pacing` of the flows).

use std::collections::{BTreeSet, VecDeque};

use super::{Backlog, Hash, Label, Scheduler, SchedulerAlgorithm, SchedulerView, Victim};
use crate::aqm::{PacketView, Verdict};
use crate::meta::{About, Algorithm};
use crate::{Interval, NumberOr, Stream, Time, ValueError, parameters};

parameters! {
    /// Parameters of Linux's fq.
    pub struct SchFqParams {
        /// Credit of a flow for a turn, bytes.
        quantum: bytes = 3028.0, in Interval::between(1.0, 1e9), "tc-fq(8): quantum, two Ethernet frames";
        /// Credit of a flow that is new, bytes.
        initial_quantum: bytes = 15140.0, in Interval::between(1.0, 1e9), "tc-fq(8): initial_quantum, ten Ethernet frames";
        /// Packets of a flow, at most.
        flow_limit: packets = 100.0, in Interval::at_least(1.0), "tc-fq(8): flow_limit";
        /// Numbers to which the flows that a router forwards are hashed. "exact": each flow has its
        /// own, as those of the host's own sockets.
        buckets: number("exact") = 1024.0, in Interval::between(1.0, 65536.0), "tc-fq(8): orphan_mask";
        /// Largest rate of a flow.
        maxrate: rate("unlimited") = word "unlimited", in Interval::above(0.0), "tc-fq(8): maxrate";
        /// Rate up to which each packet is paid for before the next.
        low_rate_threshold: rate = 550e3, in Interval::at_least(0.0), "tc-fq(8): low_rate_threshold";
        /// Rest of a flow after which its credit is at least a quantum.
        refill_delay: time = 0.04, in Interval::at_least(0.0), "tc-fq(8): refill_delay";
        /// Sojourn time above which ECN-capable packets are marked.
        ce_threshold: time("none") = word "none", in Interval::at_least(0.0), "tc-fq(8): ce_threshold";
    }
}

impl Algorithm for SchFqParams {
    const ABOUT: About = About {
        kind: "sch_fq",
        title: "Linux's fq",
        summary: "Flows take turns by credit, new ones first with enough for an initial window, each with a limit of packets and, if wanted, of rate; a full buffer drops what arrives.",
        citation: "Linux 6.1, tc-fq(8); E. Dumazet, pkt_sched: fq: Fair Queue packet scheduler, 2013",
        ecn: true,
    };

    fn check(&self) -> Result<(), ValueError> {
        super::whole_buckets(self.buckets)
    }
}

impl SchedulerAlgorithm for SchFqParams {
    type Scheduler = SchFq;

    const AQM: Option<(&'static str, &'static [(&'static str, bool)])> = None;

    /// tc-fq(8): limit.
    const CAPACITY: Option<u32> = Some(10000);

    fn build(&self, view: &SchedulerView) -> SchFq {
        let hash = Hash::new(self.buckets, view);
        SchFq {
            params: *self,
            flows: Vec::new(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            throttled: BTreeSet::new(),
            now: Time::ZERO,
            hash,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Flow {
    active: bool,
    credit: i64,
    /// When it last came to rest.
    rested: Time,
    /// When its next packet may go; zero before it has been paced.
    next: Time,
}

/// Linux's fq at work.
#[derive(Clone, Debug)]
pub struct SchFq {
    params: SchFqParams,
    hash: Hash,
    flows: Vec<Flow>,
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    /// Flows that wait for their time.
    throttled: BTreeSet<(Time, usize)>,
    now: Time,
}

impl Scheduler for SchFq {
    fn queues(&self) -> usize {
        self.hash.queues as usize
    }

    fn numbers_by_use(&self) -> bool {
        true
    }

    fn classify(&mut self, packet: &PacketView, label: &Label) -> usize {
        let queue = self.hash.queue(packet.flow, label.flow_hash);
        if queue == self.flows.len() {
            self.flows.push(Flow {
                active: false,
                credit: self.params.initial_quantum as i64,
                rested: Time::ZERO,
                next: Time::ZERO,
            });
        }
        queue
    }

    fn judges(&self) -> bool {
        true
    }

    fn judge_arrival(
        &mut self,
        now: Time,
        queue: usize,
        _packet: &PacketView,
        _label: &Label,
        backlog: &[Backlog],
        _random: &mut Stream,
    ) -> Verdict {
        self.now = now;
        if f64::from(backlog[queue].packets) >= self.params.flow_limit {
            Verdict::Drop
        } else {
            Verdict::Accept
        }
    }

    fn joined(&mut self, queue: usize, _backlog: &[Backlog]) {
        let flow = &mut self.flows[queue];
        if !flow.active {
            flow.active = true;
            if self.now.since(flow.rested).seconds() > self.params.refill_delay {
                flow.credit = flow.credit.max(self.params.quantum as i64);
            }
            self.new.push_back(queue);
        }
    }

    fn next(&mut self, now: Time, backlog: &[Backlog]) -> Option<usize> {
        self.now = now;
        while let Some(&(time, queue)) = self.throttled.first()
            && time <= now
        {
            self.throttled.pop_first();
            self.old.push_back(queue);
        }
        loop {
            let is_new = !self.new.is_empty();
            let row = if is_new { &mut self.new } else { &mut self.old };
            let queue = *row.front()?;
            let flow = &mut self.flows[queue];
            if flow.credit <= 0 {
                flow.credit += self.params.quantum as i64;
                row.pop_front();
                self.old.push_back(queue);
            } else if backlog[queue].packets == 0 {
                row.pop_front();
                if is_new && !self.old.is_empty() {
                    self.old.push_back(queue);
                } else {
                    flow.active = false;
                    flow.rested = now;
                }
            } else if flow.next > now {
                row.pop_front();
                self.throttled.insert((flow.next, queue));
            } else {
                return Some(queue);
            }
        }
    }

    fn opens(&self, _now: Time) -> Option<Time> {
        self.throttled.first().map(|(time, _)| *time)
    }

    fn judge(
        &mut self,
        _queue: usize,
        sojourn: Time,
        packet: &PacketView,
        _backlog: &[Backlog],
        _random: &mut Stream,
    ) -> Verdict {
        match self.params.ce_threshold {
            NumberOr::Number(time) if packet.ecn_capable && sojourn.seconds() > time => {
                Verdict::Mark
            }
            _ => Verdict::Accept,
        }
    }

    fn sent(&mut self, queue: usize, size: u32, _backlog: &[Backlog]) {
        let flow = &mut self.flows[queue];
        flow.credit -= i64::from(size);
        let NumberOr::Number(rate) = self.params.maxrate else {
            return;
        };
        let mut paid = f64::from(size);
        if rate <= self.params.low_rate_threshold {
            flow.credit = 0;
        } else {
            if flow.credit > 0 {
                return;
            }
            paid = paid.max(self.params.quantum);
        }
        let mut time = Time::from_seconds((paid * 8.0 / rate).min(1.0)).0;
        if flow.next > Time::ZERO {
            // what the last wait was too long
            time -= (time / 2).min(self.now.since(flow.next).0);
        }
        flow.next = self.now + Time(time);
    }

    fn overflow_victim(&self, arrived: usize, _backlog: &[Backlog]) -> Victim {
        Victim {
            queue: arrived,
            head: false,
            packets: 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::test::{Queues, VIEW, of_flow};
    use crate::{Owner, Parameters as _};

    fn queues(maxrate: NumberOr) -> Queues<SchFq> {
        let params = SchFqParams {
            buckets: NumberOr::Word("exact"),
            maxrate,
            ..SchFqParams::from_values(&[]).unwrap()
        };
        Queues::new(params.build(&VIEW))
    }

    /// Ten frames of a new flow go at once, then flows take turns by two.
    #[test]
    fn an_initial_window_goes_at_once() {
        let mut queues = queues(NumberOr::Word("unlimited"));
        for flow in [0, 1] {
            for _ in 0..15 {
                queues.put(Time::ZERO, of_flow(flow, 1514), Label::default());
            }
        }
        let order: Vec<usize> = std::iter::from_fn(|| queues.take(Time::ZERO))
            .map(|(queue, ..)| queue)
            .collect();
        assert_eq!(order[..10], [0; 10]);
        assert_eq!(order[10..20], [1; 10]);
        assert_eq!(order[20..26], [0, 0, 1, 1, 0, 0]);
    }

    /// A flow that comes back after a rest has what it has not used, and a turn at least.
    #[test]
    fn a_rest_takes_no_credit_away() {
        let mut random = Stream::new(1, Owner::Queue, 0);
        for (first, expected) in [(2, 8), (10, 2)] {
            let mut queues = queues(NumberOr::Word("unlimited"));
            let packet = of_flow(0, 1514);
            for _ in 0..first {
                queues.put(Time::ZERO, packet, Label::default());
            }
            while queues.take(Time::ZERO).is_some() {}
            let (backlog, later) = (&queues.backlog, Time::from_seconds(0.05));
            let label = Label::default();
            (queues.scheduler).judge_arrival(later, 0, &packet, &label, backlog, &mut random);
            for flow in [0, 1] {
                for _ in 0..10 {
                    queues.put(later, of_flow(flow, 1514), Label::default());
                }
            }
            let order = std::iter::from_fn(|| queues.take(later)).map(|(queue, ..)| queue);
            assert_eq!(order.take_while(|queue| *queue == 0).count(), expected);
        }
    }

    #[test]
    fn maxrate_paces_each_flow() {
        let mut queues = queues(NumberOr::Number(1e6));
        let mut random = Stream::new(1, Owner::Queue, 0);
        for flow in [0, 1] {
            for _ in 0..50 {
                queues.put(Time::ZERO, of_flow(flow, 1514), Label::default());
            }
        }
        let (mut now, mut sent) = (Time::ZERO, 0);
        while sent < 100 {
            match queues.take(now) {
                Some((queue, _, packet)) => {
                    let backlog = &queues.backlog;
                    queues
                        .scheduler
                        .judge(queue, now, &packet, backlog, &mut random);
                    sent += 1;
                }
                None => now = queues.scheduler.opens(now).unwrap(),
            }
        }
        // 40 packets of each at 1 Mbit/s after ten at once
        let seconds = now.seconds();
        assert!((0.45..0.52).contains(&seconds), "{seconds}");
    }

    #[test]
    fn a_flow_has_a_limit() {
        let mut queues = queues(NumberOr::Word("unlimited"));
        let mut random = Stream::new(1, Owner::Queue, 0);
        let packet = of_flow(0, 100);
        let mut backlog = vec![Backlog::default(); 8];
        let mut verdict = |packets| {
            backlog[0].packets = packets;
            let scheduler = &mut queues.scheduler;
            scheduler.judge_arrival(
                Time::ZERO,
                0,
                &packet,
                &Label::default(),
                &backlog,
                &mut random,
            )
        };
        assert_eq!(
            (verdict(99), verdict(100)),
            (Verdict::Accept, Verdict::Drop)
        );
    }
}
