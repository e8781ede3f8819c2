//! Keys of a class of flows, and which of them other styles and other names concern.

use super::*;

/// `[[flows]]`.
pub const FLOWS: Section = Section {
    name: "flows",
    repeated: true,
    doc: "A class of flows that share a description.",
    keys: &joined::<{ CLASS.len() + Tcp::KEYS.len() }>(CLASS, Tcp::KEYS),
};

/// Keys of every class, whatever it sends.
const CLASS: &[Key] = &[
        Key::new("name", Kind::Name, Derived("flows-1, flows-2, ... by position"), "Unique name, used in changes and results."),
        Key::new("count", Kind::Integer(0, u32::MAX as i64), Integer(1), "Number of flows (at the start, where a change sets it).").changeable(),
        Key::new("path", Kind::Path, Derived("by `from` and `to`; in a topology template, its whole length"), "Links that the data crosses, in order."),
        Key::new(
            "reverse_path",
            Kind::Path,
            Derived("none; with `from` and `to` the shortest way back, where there is one"),
            "Links that the ACKs cross, in order, sharing those queues.",
        )
        .or("none", "ACKs return over a pure delay"),
        Key::new("from", Kind::Name, Derived("none"), "Node of the sender, instead of `path`: the data takes the fewest links."),
        Key::new("to", Kind::Name, Derived("none"), "Node of the receiver."),
        Key::new(
            "rtt",
            Kind::Distribution,
            Derived("the propagation of `path` and `reverse_path`; without a reverse path, twice that of `path`"),
            "Base round-trip time: propagation alone, the links' included. What the links do not cover lies on the access sides.",
        )
        .changeable(),
        Key::new("priority", Kind::Integer(0, 7), Integer(0), "Priority of the class's packets at links with a priority scheduler: higher ones go first."),
        Key::new(
            "access_rate",
            Kind::Rate,
            Text("unlimited"),
            "Rate of the sender's uplink and of the receiver's downlink, each with a queue of its own.",
        )
        .or("unlimited", "access adds delay only")
        .changeable(),
        Key::new("access_buffer", Kind::Capacity, Text("unlimited"), "Limit of each access queue (drop-tail)."),
        Key::new("start", Kind::Distribution, Text("0 s"), "When flows start."),
        Key::new("stop", Kind::Span, Text("never"), "When senders stop: they send nothing new, and nothing again.").or("never", "at the end of the run"),
        Key::new("traffic", Kind::Traffic, Text("bulk"), "What the application sends."),
        Key::new("packet_size", Kind::Size, Text("1500 B"), "Size of a full data packet on the wire, headers included."),
        Key::new("header_size", Kind::Size, Text("40 B"), "Headers in each data packet (IPv4 and TCP without options: 40 B)."),
];

const fn joined<const N: usize>(some: &[Key], more: &[Key]) -> [Key; N] {
    let mut all = [some[0]; N];
    let mut at = 0;
    while at < N {
        all[at] = if at < some.len() {
            some[at]
        } else {
            more[at - some.len()]
        };
        at += 1;
    }
    all
}
