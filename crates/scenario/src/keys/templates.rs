//! Keys of the topology templates: short forms of links.

use super::Fallback::{Derived, Integer, Required, Text};
use super::declare::joined;
use super::{Key, Kind, Section};

/// `[dumbbell]`.
pub const DUMBBELL: Section = Section {
    name: "dumbbell",
    repeated: false,
    doc: concat!(
        "Topology template: one link `bottleneck` from node `left` to node `right`, and with `reverse` a link `bottleneck-reverse` back. ",
        "Flows without a path go from left to right; `from = \"right\", to = \"left\"` makes them go the other way."
    ),
    keys: LINKS,
};

/// `[parking_lot]`.
pub const PARKING_LOT: Section = Section {
    name: "parking_lot",
    repeated: false,
    doc: concat!(
        "Topology template: equal links `hop-1`, `hop-2`, ... in a row between the nodes `node-0`, `node-1`, ..., and with `reverse` ",
        "links `hop-1-reverse`, ... back. Flows without a path cross all hops."
    ),
    keys: &joined::<{ 1 + LINKS.len() }>(
        &[Key::new(
            "hops",
            Kind::Integer(1, 1000),
            Integer(2),
            "Number of links in the row.",
        )],
        LINKS,
    ),
};

/// Keys of the links that a template stands for.
const LINKS: &[Key] = &[
    Key::new("rate", Kind::Rate, Required, "Rate of each link."),
    Key::new(
        "delay",
        Kind::Time,
        Text("0 s"),
        "Propagation delay of each.",
    ),
    Key::new(
        "queue",
        Kind::Queue,
        Derived("drop-tail with the default capacity"),
        "Queue of each.",
    ),
    Key::new(
        "reverse",
        Kind::Reverse,
        Derived("none: ACKs return over a pure delay"),
        "The links of the other direction, which ACKs then share.",
    ),
];

/// `reverse = { ... }` of a topology template.
pub const REVERSE: Section = Section {
    name: "reverse",
    repeated: false,
    doc: "The links of the other direction.",
    keys: &[
        Key::new("rate", Kind::Rate, Derived("as forward"), "Rate."),
        Key::new(
            "delay",
            Kind::Time,
            Derived("as forward"),
            "Propagation delay.",
        ),
        Key::new("queue", Kind::Queue, Derived("as forward"), "Queue."),
    ],
};
