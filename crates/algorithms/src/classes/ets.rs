//! Enhanced transmission selection: strict classes before classes that share what is left.
//!
//! Strict classes go first, in their order. The others take turns by deficit round robin: a class's
//! counter starts at its quantum when it becomes active; it sends while its first packet is no
//! larger than the counter, which each packet lowers, and else the counter grows by the quantum and
//! the class goes to the end of the row. With quanta alone this is tc's `drr`.

use std::collections::VecDeque;

use super::{ClassAlgorithm, ClassScheduler, Declared, Turn};
use crate::meta::{About, Algorithm};
use crate::scheduler::Backlog;
use crate::{Interval, Time, parameters};

parameters! {
    /// All parameters are those of the classes.
    pub struct EtsParams {}
}

parameters! {
    /// A class of enhanced transmission selection.
    pub struct EtsClassParams {
        /// Whether the class goes before all that are not strict, and after the strict ones before
        /// it.
        strict: flag = false, "Linux, tc-ets(8): strict";
        /// Bytes that a class that is not strict may send in a turn.
        quantum: bytes = 1514.0, in Interval::between(1.0, 1e9), "Linux, tc-ets(8): quanta; an Ethernet frame";
    }
}

impl Algorithm for EtsParams {
    const ABOUT: About = About {
        kind: "ets",
        title: "Enhanced transmission selection",
        summary: "Strict classes first, in order; the others share what they leave, by deficit round robin with a quantum each.",
        citation: "IEEE 802.1Qaz; Linux, tc-ets(8) and tc-drr(8); M. Shreedhar and G. Varghese, IEEE/ACM Transactions on Networking 4(3), 1996",
        ecn: false,
    };
}

impl ClassAlgorithm for EtsParams {
    type Class = EtsClassParams;
    type Scheduler = Ets;

    const LEVELS: usize = 1;
    const CLASSES: usize = 16;

    fn build(&self, classes: &[Declared<EtsClassParams>]) -> Ets {
        let params = classes.iter().map(|class| class.params);
        Ets {
            strict: params.clone().map(|class| class.strict).collect(),
            quantum: params.map(|class| class.quantum as u64).collect(),
            deficit: vec![0; classes.len()],
            active: VecDeque::new(),
        }
    }
}

/// Enhanced transmission selection at work.
#[derive(Debug)]
pub struct Ets {
    strict: Vec<bool>,
    quantum: Vec<u64>,
    deficit: Vec<u64>,
    active: VecDeque<usize>,
}

impl ClassScheduler for Ets {
    fn joined(&mut self, _now: Time, class: usize, _backlog: &[Backlog]) {
        if !self.strict[class] && !self.active.contains(&class) {
            self.deficit[class] = self.quantum[class];
            self.active.push_back(class);
        }
    }

    fn next(&mut self, _now: Time, backlog: &[Backlog]) -> Turn {
        let strict = self.strict.iter().zip(backlog);
        if let Some(first) = strict
            .into_iter()
            .position(|(strict, it)| *strict && it.packets > 0)
        {
            return Turn::Send(first);
        }
        while let Some(&class) = self.active.front() {
            let head = u64::from(backlog[class].head);
            if backlog[class].packets == 0 {
                self.active.pop_front();
            } else if head == 0 {
                return Turn::Peek(class);
            } else if head <= self.deficit[class] {
                return Turn::Send(class);
            } else {
                self.deficit[class] += self.quantum[class];
                self.active.rotate_left(1);
            }
        }
        Turn::Idle
    }

    fn sent(&mut self, now: Time, class: usize, size: u32, backlog: &[Backlog]) {
        if !self.strict[class] {
            self.deficit[class] = self.deficit[class].saturating_sub(u64::from(size));
            if backlog[class].packets == 0 {
                self.emptied(now, class);
            }
        }
    }

    fn emptied(&mut self, _now: Time, class: usize) {
        self.active.retain(|other| *other != class);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classes::test::Queues;

    /// One strict class and two that share 3 to 1.
    fn built() -> Ets {
        let class = |strict, quantum| Declared {
            parent: None,
            leaf: true,
            params: EtsClassParams { strict, quantum },
        };
        EtsParams::default().build(&[
            class(true, 1514.0),
            class(false, 4500.0),
            class(false, 1500.0),
        ])
    }

    #[test]
    fn quanta_are_shares_of_what_strict_classes_leave() {
        let second = (Time::ZERO, Time::from_seconds(10.0));
        let sent = Queues::new(built(), 3).saturate(&[0, 1, 2], 1000, 10e6, second);
        assert_eq!(sent[1..], [0, 0]);
        let sent = Queues::new(built(), 3).saturate(&[1, 2], 1000, 10e6, second);
        let share = sent[1] as f64 / (sent[1] + sent[2]) as f64;
        assert!((share - 0.75).abs() < 0.001, "{share}");
    }
}
