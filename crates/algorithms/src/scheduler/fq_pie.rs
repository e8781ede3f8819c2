//! FQ-PIE: the rows of FQ-CoDel's scheduler over PIE.
//!
//! Flows are hashed into sub-queues, each under a PIE of its own, which take turns by bytes; those
//! that have just become active go first. A full buffer drops what arrives, whatever its flow.

use super::fq_codel::{FqCodel, FqCodelParams};
use super::{Alike, Backlog, Label, Scheduler, SchedulerAlgorithm, SchedulerView, Victim};
use crate::aqm::PacketView;
use crate::meta::{About, Algorithm};
use crate::{Interval, Time, parameters};

parameters! {
    /// Parameters of FQ-PIE's scheduler; those of PIE stand beside them.
    pub struct FqPieParams {
        /// Allowance of a sub-queue in a turn, bytes.
        quantum: bytes = 1514.0, in Interval::between(1.0, 1e9), "tc-fq_pie(8): quantum";
        /// Sub-queues into which flows are hashed. "exact": each flow has its own.
        buckets: number("exact") = 1024.0, in Interval::between(1.0, 65536.0), "tc-fq_pie(8): flows";
    }
}

impl Algorithm for FqPieParams {
    const ABOUT: About = About {
        kind: "fq_pie",
        title: "FQ-PIE",
        summary: "Flows are hashed into sub-queues, each under PIE (or the AQM given), which take turns by bytes; a full buffer drops what arrives.",
        citation: "G. Ramakrishnan et al., FQ-PIE queue discipline in the Linux kernel: design, implementation and challenges, IEEE LCN Symposium 2019; Linux, tc-fq_pie(8)",
        ecn: true,
    };

    fn check(&self) -> Result<(), crate::ValueError> {
        super::whole_buckets(self.buckets)
    }
}

impl SchedulerAlgorithm for FqPieParams {
    type Scheduler = FqPie;

    const ALIKE: Alike = Alike::Each;

    /// A sub-queue has a share of the link that changes, so that its length over the rate of the link
    /// is not its delay: PIE goes by time stamps, as in Linux 6.1.
    const AQM: Option<(&'static str, &'static [(&'static str, bool)])> =
        Some(("pie", &[("timestamps", true)]));

    /// tc-fq_pie(8): limit.
    const CAPACITY: Option<u32> = Some(10240);

    fn build(&self, view: &SchedulerView) -> FqPie {
        let rows = FqCodelParams {
            quantum: self.quantum,
            buckets: self.buckets,
            drop_batch: 1.0,
            spare_by_total: false,
        };
        FqPie(rows.build(view))
    }
}

/// FQ-PIE's scheduler at work.
#[derive(Debug)]
pub struct FqPie(FqCodel);

impl Scheduler for FqPie {
    fn queues(&self) -> usize {
        self.0.queues()
    }

    fn numbers_by_use(&self) -> bool {
        true
    }

    #[inline]
    fn classify(&mut self, packet: &PacketView, label: &Label) -> usize {
        self.0.classify(packet, label)
    }

    #[inline]
    fn joined(&mut self, queue: usize, backlog: &[Backlog]) {
        self.0.joined(queue, backlog);
    }

    #[inline]
    fn next(&mut self, now: Time, backlog: &[Backlog]) -> Option<usize> {
        self.0.next(now, backlog)
    }

    #[inline]
    fn sent(&mut self, queue: usize, size: u32, backlog: &[Backlog]) {
        self.0.sent(queue, size, backlog);
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

    #[test]
    fn new_flows_go_first_and_a_full_buffer_drops_what_arrives() {
        let params = FqPieParams {
            quantum: 1000.0,
            buckets: crate::NumberOr::Word("exact"),
        };
        let mut queues = Queues::new(params.build(&VIEW));
        for flow in [0, 0, 0, 1, 1] {
            queues.put(Time::ZERO, of_flow(flow, 1000), Label::default());
        }
        let victim = queues.scheduler.overflow_victim(1, &queues.backlog);
        assert_eq!((victim.queue, victim.head, victim.packets), (1, false, 1));
        let mut take = || queues.take(Time::ZERO).unwrap().0;
        assert_eq!([take(), take(), take()], [0, 1, 0]);
        queues.put(Time::ZERO, of_flow(2, 100), Label::default());
        assert_eq!(queues.take(Time::ZERO).unwrap().0, 2);
    }
}
