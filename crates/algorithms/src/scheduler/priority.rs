//! Strict priority.
//!
//! Eight sub-queues, one a priority; the highest that has a packet sends, and a packet in service
//! is not interrupted. Low priorities starve while higher ones fill the link. When the buffer is
//! full the newest packet of the lowest priority that has one makes room.

use super::{Alike, Backlog, Label, Scheduler, SchedulerAlgorithm, SchedulerView, Victim};
use crate::aqm::PacketView;
use crate::meta::{About, Algorithm};
use crate::{Time, parameters};

/// Priorities there are: those of a priority code point.
const PRIORITY_LEVELS: usize = 8;

parameters! {
    /// Strict priority has no parameters: the `priority` of each class of flows says where its
    /// packets go.
    pub struct PriorityParams {}
}

impl Algorithm for PriorityParams {
    const ABOUT: About = About {
        kind: "priority",
        title: "Strict priority",
        summary: "Always sends from the highest priority that has packets (the `priority` of each class of flows, 7 first); a full buffer drops the newest of the lowest.",
        citation: "IEEE 802.1Q, strict priority algorithm; L. Kleinrock, Queueing Systems volume 2 (1976), section 3.6: head-of-the-line discipline",
        ecn: false,
    };
}

impl SchedulerAlgorithm for PriorityParams {
    type Scheduler = Priority;

    const ALIKE: Alike = Alike::One;

    fn build(&self, _view: &SchedulerView) -> Priority {
        Priority
    }
}

/// Strict priority at work.
#[derive(Debug)]
pub struct Priority;

impl Scheduler for Priority {
    fn queues(&self) -> usize {
        PRIORITY_LEVELS
    }

    #[inline]
    fn classify(&mut self, _packet: &PacketView, label: &Label) -> usize {
        // the first sub-queue is the highest priority
        PRIORITY_LEVELS - 1 - usize::from(label.priority).min(PRIORITY_LEVELS - 1)
    }

    #[inline]
    fn next(&mut self, _now: Time, backlog: &[Backlog]) -> Option<usize> {
        backlog.iter().position(|queue| queue.packets > 0)
    }

    fn overflow_victim(&self, arrived: usize, backlog: &[Backlog]) -> Victim {
        let lowest = backlog.iter().rposition(|queue| queue.packets > 0);
        Victim {
            queue: lowest.unwrap_or(arrived),
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
    fn the_highest_goes_first_and_the_lowest_gives_way() {
        let mut queues = Queues::new(PriorityParams::default().build(&VIEW));
        for (flow, priority) in [(0, 0), (1, 3), (2, 7), (3, 3), (4, 0)] {
            let label = Label {
                priority,
                ..Label::default()
            };
            queues.put(Time::ZERO, of_flow(flow, 100), label);
        }
        assert_eq!(
            queues.scheduler.overflow_victim(0, &queues.backlog).queue,
            7
        );
        let order: Vec<u32> = std::iter::from_fn(|| queues.take(Time::ZERO))
            .map(|(_, _, packet)| packet.flow)
            .collect();
        assert_eq!(order, [2, 1, 3, 0, 4]);
    }
}
