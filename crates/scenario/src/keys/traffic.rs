//! What an application can send, and the keys of each kind.

use super::*;

/// A kind of traffic and its keys.
#[derive(Clone, Copy, Debug)]
pub struct TrafficKind {
    /// Its name.
    pub kind: &'static str,
    /// Whether TCP carries it.
    pub tcp: bool,
    /// What it is.
    pub doc: &'static str,
    /// Its keys beside `kind`.
    pub keys: &'static [Key],
}

/// `traffic = { kind = ..., ... }`.
pub const TRAFFIC: &[TrafficKind] = &[
    TrafficKind {
        kind: "bulk",
        tcp: true,
        doc: "TCP that always has data to send.",
        keys: &[],
    },
    TrafficKind {
        kind: "transfer",
        tcp: true,
        doc: "TCP with this much to send; the completion time runs from the start to the last ACK.",
        keys: &[Key::new("size", Kind::Size, Required, "Payload.")],
    },
    TrafficKind {
        kind: "app-limited",
        tcp: true,
        doc: "TCP whose application writes at a constant rate.",
        keys: &[Key::new("rate", Kind::Rate, Required, "Payload written per second.").changeable()],
    },
    TrafficKind {
        kind: "cbr",
        tcp: false,
        doc: "UDP at a constant rate: one packet each `packet_size / rate`.",
        keys: &[Key::new(
            "rate",
            Kind::Rate,
            Required,
            "Rate on the wire, headers included.",
        )
        .changeable()],
    },
    TrafficKind {
        kind: "on-off",
        tcp: false,
        doc: "UDP at a constant rate during exponential on-times, silent during exponential off-times.",
        keys: &[
            Key::new(
                "rate",
                Kind::Rate,
                Derived("by `density`"),
                "Rate on the wire while on, headers included.",
            )
            .changeable(),
            Key::new(
                "density",
                Kind::Share,
                Derived("none"),
                "Instead of `rate`: what all flows of the class send while on, over the rate of the slowest link of their path at the start.",
            )
            .changeable(),
            Key::new("on", Kind::Span, Text("1 s"), "Mean on-time."),
            Key::new("off", Kind::Span, Text("1 s"), "Mean off-time."),
        ],
    },
    TrafficKind {
        kind: "poisson",
        tcp: false,
        doc: "UDP packets as a Poisson process.",
        keys: &[
            Key::new(
                "rate",
                Kind::Rate,
                Required,
                "Mean rate on the wire, headers included.",
            )
            .changeable(),
            Key::new(
                "sizes",
                Kind::Choice(PacketSizes::CHOICES),
                Text(PacketSizes::DEFAULT),
                "Sizes of the packets.",
            ),
        ],
    },
    TrafficKind {
        kind: "http",
        tcp: true,
        doc: "TCP sessions: a transfer, a think time after its last ACK, the next transfer.",
        keys: &[
            Key::new(
                "size",
                Kind::Sizes,
                Text("exponential 12 kB"),
                "Payload of each transfer.",
            ),
            Key::new("think", Kind::Span, Text("500 ms"), "Mean think time (exponential)."),
            Key::new(
                "persistent",
                Kind::Flag,
                Flag(false),
                "Whether all transfers use one connection, instead of a new one (with its slow start) each.",
            ),
        ],
    },
    TrafficKind {
        kind: "poisson-arrivals",
        tcp: true,
        doc: "TCP transfers that arrive as a Poisson process, each a connection of its own with its own draw of `rtt`; each flow of the class is such a process.",
        keys: &[
            Key::new(
                "rate",
                Kind::Frequency,
                Derived("by `load`"),
                CONNECTION_RATE,
            )
            .changeable(),
            Key::new(
                "load",
                Kind::Share,
                Derived("none"),
                "Instead of `rate`: payload that arrives (all flows of the class together), over the rate of the slowest link of the path at the start.",
            )
            .changeable(),
            Key::new("size", Kind::Sizes, Required, "Payload of each transfer."),
        ],
    },
    TrafficKind {
        kind: "packmime",
        tcp: true,
        doc: "HTTP responses over TCP after the PackMime model (Cao et al., INFOCOM 2004), each a connection of its own with its own draw of `rtt`.",
        keys: &[
            Key::new(
                "rate",
                Kind::Frequency,
                Required,
                "New connections a second, from 0.001 on.",
            )
            .changeable(),
            Key::new(
                "mean_size",
                Kind::Size,
                Text("model"),
                "Mean payload of a response, to which the model's sizes are scaled.",
            )
            .or("model", "the model's own sizes, whose mean is 8.6 kB at 50 /s"),
            Key::new(
                "server_delay",
                Kind::Flag,
                Flag(true),
                "Whether the server waits before it answers, as the model has it (mostly a few milliseconds, at most 100 ms).",
            ),
        ],
    },
];

/// Traffic whose `rate` is a number of connections a second.
const CONNECTION_RATE: &str = "New connections a second.";
