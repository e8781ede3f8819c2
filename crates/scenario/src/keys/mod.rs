//! Every key of a scenario file: name, kind, default, meaning. Parser, suggestions, schema and
//! documentation read these tables.
//!
//! The parameters of AQMs and congestion controls are not here: they come from the registry of
//! algorithms.

mod change;
pub(crate) mod declare;
mod flows;
mod link;
mod scenario;
mod tcp;
mod templates;
mod traffic;
mod tree;

pub use crate::key::{Fallback, Key, Kind, Section};
pub use change::{CHANGE, Change, Setting, Target};
pub(crate) use flows::FlowClassDraft;
pub use flows::{FLOWS, FlowClass};
pub(crate) use link::{AUTORATE_KEYS, LinkDraft};
pub use link::{Autorate, JITTER, Jitter, LINK, Link, TRACE};
pub(crate) use scenario::ScenarioDraft;
pub use scenario::{SCENARIO, Scenario};
pub(crate) use tcp::RULES;
pub use tcp::Tcp;
pub use templates::{DUMBBELL, PARKING_LOT, REVERSE};
pub(crate) use traffic::Bottleneck;
pub use traffic::{TRAFFIC, Traffic, TrafficKind};
pub use tree::{CLASS, Filters, QUEUE, Queue, SharedTree, TREE, Tree, TreeClass};

/// The tables of a scenario file, in order.
pub const SECTIONS: &[&Section] = &[&SCENARIO, &LINK, &DUMBBELL, &PARKING_LOT, &FLOWS, &CHANGE];

/// Returns the messages about keys that contradict each other, each without its place.
pub fn contradictions() -> impl Iterator<Item = &'static str> {
    RULES.iter().map(|rule| rule.problem)
}
