//! Keys of a queue: one without classes; one with classes, and each of its classes.

use std::collections::HashMap;
use std::sync::Arc;

use ackclock_algorithms::classes::{AnyClassScheduler, ClassParams, ClassSchedulerSpec};
use ackclock_algorithms::registry::AqmSpec;
use ackclock_algorithms::scheduler::SchedulerSpec;

use super::Fallback::{Derived, Required};
use super::declare::keys;
use super::{FlowClass, Key, Kind, Section};
use crate::form::{
    AqmName, ByHand, ClassScheduler, CodePoints, Form, Limit, Name, Names, Or, ReadByHand,
    SchedulerOf,
};
use crate::options::{Dscp, Style};
use crate::reader::{Reader, Table};
use crate::tree::Node;
use crate::value::Capacity;

/// `queue = { ... }`; the parameters of the AQM stand beside these keys.
pub const QUEUE: Section = Section {
    name: "queue",
    repeated: false,
    doc: "A link's queue: its AQM, the AQM's parameters, its limit. The packet in service is not counted.",
    keys: Queue::KEYS,
};

keys! {
    /// A queue: its AQM, its limit, and what chooses among sub-queues.
    pub struct Queue / QueueDraft {
        /// Several sub-queues that take turns, each under the AQM, instead of a single queue; they
        /// share the capacity.
        scheduler: Option<SchedulerSpec> as Or<SchedulerOf> = "none", or "none" = "a single queue, first in, first out";
        /// Active queue management. A scheduler's name stands for that scheduler with its own AQM.
        aqm: AqmSpec as ByHand<AqmName> = Derived("drop-tail; with a scheduler, what belongs to it (fq_codel: codel)");
        /// Largest number of packets or bytes that wait. A time means the bytes that the link sends
        /// in it, at its rate at the start.
        capacity: Capacity as ReadByHand<Limit> = Derived("`\"100 ms\"`; with scheduler fq_codel `\"10240 packets\"`");
    }
    with {
        /// The classes of a queue that has some, in place of all others.
        tree: SharedTree,
    }
}

/// `queue = { scheduler = "htb", classes = [...] }`.
pub const TREE: Section = Section {
    name: "queue",
    repeated: false,
    doc: "A queue with classes: each with parameters of the scheduler and, at a leaf, a queue of its own.",
    keys: Tree::KEYS,
};

keys! {
    /// A queue with classes.
    pub struct Tree / TreeDraft {
        /// Scheduler that chooses among classes.
        scheduler: ClassSchedulerSpec as ClassScheduler = Required;
        /// The class of packets that no class asks for. Without one, every class of flows that
        /// crosses the link must be asked for.
        default: Option<usize> as ByHand<Name> = Derived("none");
        [
            /// The classes, in order; those of a class in a list of its own.
            classes: Classes = Required;
        ]
    }
    with {
        /// The classes, each before those that belong to it.
        classes: Vec<TreeClass>,
    }
}

/// `classes = [ { ... } ]`; the parameters of the scheduler's classes stand beside these keys.
pub const CLASS: Section = Section {
    name: "classes",
    repeated: true,
    doc: "A class of a queue: what it takes, its parameters, and either a queue or classes of its own.",
    keys: TreeClass::KEYS,
};

keys! {
    /// A class of a queue.
    pub struct TreeClass / TreeClassDraft {
        /// Name that no other class of this queue has.
        name: String as ReadByHand<Name> = Required;
        /// Classes of flows whose packets it takes, ACKs included; the first class that asks for
        /// one gets it.
        flows: Vec<String> as Names = Derived("none");
        /// Code points whose packets it takes, of classes of flows that no class asks for by name.
        dscp: Vec<Dscp> as CodePoints = Derived("none");
        [
            /// Queue of the class: any queue, also one with classes.
            queue: Queue = Derived("drop-tail with the default capacity, a time at the most that the class can send");
            /// Classes that share what this one has, in place of a queue.
            classes: Classes = Derived("none");
        ]
    }
    with {
        /// The class that it belongs to.
        parent: Option<usize>,
        /// Its parameters.
        params: ClassParams,
        /// Its queue; `None` where it has classes of its own.
        queue: Option<Box<Queue>>,
    }
}

/// Which class of a tree takes what.
pub struct Filters<'t> {
    by_name: HashMap<&'t str, usize>,
    by_code: HashMap<Dscp, usize>,
    default: Option<usize>,
}

impl Filters<'_> {
    /// The class that takes packets of a class of flows with this code point.
    #[must_use]
    pub fn class_of(&self, flows: &FlowClass, code: Dscp) -> Option<usize> {
        let by_name = self.by_name.get(flows.name.as_str());
        let class = by_name.or_else(|| self.by_code.get(&code)).copied();
        class.or(self.default)
    }
}

impl Tree {
    /// Which class takes what: the first that asks for it.
    #[must_use]
    pub fn filters(&self) -> Filters<'_> {
        let mut filters = Filters {
            by_name: HashMap::new(),
            by_code: HashMap::new(),
            default: self.default,
        };
        for (at, class) in self.classes.iter().enumerate().rev() {
            let names = class.flows.iter().map(|name| (name.as_str(), at));
            filters.by_name.extend(names);
            let codes = class.dscp.iter().map(|code| (*code, at));
            filters.by_code.extend(codes);
        }
        filters
    }

    /// The most that a class sends, bit/s, where the queue sends `rate`.
    #[must_use]
    pub fn class_rate(&self, class: &TreeClass, rate: f64) -> f64 {
        let own = self.scheduler.class_rate(&class.params);
        own.map_or(rate, |own| own.min(rate))
    }

    /// The scheduler at work.
    #[must_use]
    pub fn build(&self) -> Option<AnyClassScheduler> {
        let classes: Vec<_> = self
            .classes
            .iter()
            .map(|class| (class.parent, class.queue.is_some(), class.params))
            .collect();
        self.scheduler.build(&classes)
    }
}

/// A queue's tree, shared by copies of the scenario.
pub type SharedTree = Option<Arc<Tree>>;
