//! Strict priority among declared classes.
//!
//! The first class that has a packet sends, and a packet in service is not interrupted. Later
//! classes starve while earlier ones fill the link.

use super::{ClassAlgorithm, ClassScheduler, Declared, Turn};
use crate::meta::{About, Algorithm};
use crate::scheduler::Backlog;
use crate::{Time, parameters};

parameters! {
    /// Strict priority has no parameters: the order of the classes is their priority.
    pub struct PrioParams {}
}

parameters! {
    /// A class has no parameters.
    pub struct PrioClassParams {}
}

impl Algorithm for PrioParams {
    const ABOUT: About = About {
        kind: "prio",
        title: "Strict priority classes",
        summary: "Always sends from the first class that has packets.",
        citation: "Linux, tc-prio(8); L. Kleinrock, Queueing Systems volume 2 (1976), section 3.6",
        ecn: false,
    };
}

impl ClassAlgorithm for PrioParams {
    type Class = PrioClassParams;
    type Scheduler = Prio;

    const LEVELS: usize = 1;
    const CLASSES: usize = 16;

    fn build(&self, _classes: &[Declared<PrioClassParams>]) -> Prio {
        Prio
    }
}

/// Strict priority at work.
#[derive(Debug)]
pub struct Prio;

impl ClassScheduler for Prio {
    fn joined(&mut self, _now: Time, _class: usize, _backlog: &[Backlog]) {}

    fn next(&mut self, _now: Time, backlog: &[Backlog]) -> Turn {
        match backlog.iter().position(|class| class.packets > 0) {
            Some(class) => Turn::Send(class),
            None => Turn::Idle,
        }
    }

    fn sent(&mut self, _now: Time, _class: usize, _size: u32, _backlog: &[Backlog]) {}

    fn emptied(&mut self, _now: Time, _class: usize) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classes::test::Queues;

    #[test]
    fn the_first_class_goes_first() {
        let mut queues = Queues::new(Prio, 3);
        for class in [2, 0, 1, 2, 0] {
            queues.put(class, 100);
        }
        let order: Vec<usize> = std::iter::from_fn(|| queues.take())
            .map(|it| it.1)
            .collect();
        assert_eq!(order, [0, 0, 1, 2, 2]);
    }
}
