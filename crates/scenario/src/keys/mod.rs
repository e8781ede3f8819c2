//! Every key of a scenario file: name, kind, default, meaning. Parser, suggestions, schema and
//! documentation read these tables.
//!
//! The parameters of AQMs and congestion controls are not here: they come from the registry of
//! algorithms.

pub(crate) mod declare;
mod flows;
mod link;
mod tcp;
mod templates;
mod traffic;
mod tree;

pub use crate::key::{Fallback, Key, Kind, Section};
pub(crate) use flows::FlowClassDraft;
pub use flows::{FLOWS, FlowClass};
pub use link::{JITTER, Jitter, LINK, Link, TRACE};
pub(crate) use tcp::RULES;
pub use tcp::Tcp;
pub use templates::{DUMBBELL, PARKING_LOT, REVERSE};
pub use traffic::{TRAFFIC, Traffic, TrafficKind};
pub use tree::{CLASS, QUEUE, Queue, SharedTree, TREE, Tree, TreeClass};

use crate::options::*;

use self::Fallback::{Derived, Flag, Integer, Required, Text};

/// `[scenario]`.
pub const SCENARIO: Section = Section {
    name: "scenario",
    repeated: false,
    doc: "The run as a whole.",
    keys: &[
        Key::new(
            "name",
            Kind::Text,
            Text("scenario"),
            "Title shown in results.",
        ),
        Key::new("duration", Kind::Span, Required, "Simulated time.").or(
            "until done",
            "until the last finite transfer has been acknowledged completely",
        ),
        Key::new(
            "measure",
            Kind::Window,
            Text("whole run"),
            "The part of the run that results count.",
        )
        .or("whole run", "from zero to the end"),
        Key::new(
            "seed",
            Kind::Integer(0, i64::MAX),
            Integer(1),
            "Seed of every random stream: the same seed gives the same bits.",
        ),
        Key::new("sample", Kind::Span, Text("auto"), "Interval of traces.")
            .or("auto", "a thousandth of the duration, at least 1 ms"),
    ],
};

/// `[[change]]`: these keys choose when and what; the others are the changeable keys of links and flows.
pub const CHANGE: Section = Section {
    name: "change",
    repeated: true,
    doc: "Something that changes during the run: any numeric key of a link, of its queue, or of a class of flows.",
    keys: &[
        Key::new("at", Kind::Time, Required, "When."),
        Key::new(
            "over",
            Kind::Span,
            Derived("at once"),
            "With `count`: flows enter or leave one after the other, evenly from `at` to so much later.",
        ),
        Key::new(
            "every",
            Kind::Span,
            Derived("once"),
            "The change comes again after each such time, until the end of the run. Values of a link's keys may then be lists, of which each time has the next: rate, delay and loss by slot.",
        ),
        Key::new(
            "until",
            Kind::Time,
            Derived("the end of the run"),
            "With `every`: it does not come again after that.",
        ),
        Key::new(
            "link",
            Kind::Name,
            Derived("none"),
            "The link that changes: `rate`, `delay`, `loss`, `capacity`, numeric parameters of its AQM.",
        ),
        Key::new(
            "flows",
            Kind::Name,
            Derived("none"),
            "The class that changes: `count`, `rtt`, `access_rate`, `max_window`, `rate` of its traffic.",
        ),
    ],
};

/// The tables of a scenario file, in order.
pub const SECTIONS: &[&Section] = &[&SCENARIO, &LINK, &DUMBBELL, &PARKING_LOT, &FLOWS, &CHANGE];

/// Returns the messages about keys that contradict each other, each without its place.
pub fn contradictions() -> impl Iterator<Item = &'static str> {
    RULES.iter().map(|rule| rule.problem)
}
