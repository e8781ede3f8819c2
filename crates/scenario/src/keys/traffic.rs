//! Traffic that an application can send, and the keys of each kind.

use super::*;
use crate::sizes::Sizes;

/// Traffic that the application wants to send.
#[derive(Clone, Debug, PartialEq)]
pub enum Traffic {
    /// TCP: always has data.
    Bulk,
    /// TCP: `bytes` of payload, then the flow is done; its completion time is measured from start
    /// to the last ACK.
    Transfer {
        /// Payload, bytes.
        bytes: u64,
    },
    /// TCP limited by its application, which writes at `rate` bit/s of payload.
    AppLimited {
        /// bit/s.
        rate: f64,
    },
    /// UDP, one packet each `packet_size / rate`.
    Cbr {
        /// bit/s on the wire.
        rate: f64,
    },
    /// UDP at `rate` during exponential on-times, silent during exponential off-times.
    OnOff {
        /// bit/s on the wire while on.
        rate: f64,
        /// Mean on-time, s.
        on: f64,
        /// Mean off-time, s.
        off: f64,
    },
    /// UDP packets as a Poisson process of mean `rate` bit/s on the wire.
    Poisson {
        /// bit/s.
        rate: f64,
        /// Sizes exponential with mean `packet_size` (at least 1 B) instead of fixed.
        exponential_sizes: bool,
    },
    /// TCP: transfers with think times between them, one after the other.
    Http {
        /// Sizes of the transfers.
        sizes: Sizes,
        /// Mean of the exponential time from the last ACK of one transfer to the start of the next,
        /// s.
        think: f64,
        /// One connection for all transfers, instead of a new one for each.
        persistent: bool,
    },
    /// TCP: a Poisson process of transfers, each a connection of its own.
    Arrivals {
        /// Transfers a second.
        rate: f64,
        /// Their sizes.
        sizes: Sizes,
    },
    /// TCP: HTTP responses after the PackMime model (Cao et al., INFOCOM 2004), each a connection
    /// of its own.
    PackMime {
        /// Connections a second.
        rate: f64,
        /// Mean size of a response, bytes, to which the model's sizes are scaled; `None`: its own.
        mean_size: Option<f64>,
        /// Whether the server takes its time before it answers.
        server_delay: bool,
    },
}

impl Traffic {
    /// Whether a TCP sender carries it.
    #[must_use]
    pub fn is_tcp(&self) -> bool {
        matches!(
            self,
            Self::Bulk
                | Self::Transfer { .. }
                | Self::AppLimited { .. }
                | Self::Http { .. }
                | Self::Arrivals { .. }
                | Self::PackMime { .. }
        )
    }

    /// Whether a transport of others can carry it: one connection from the start of the flow.
    #[must_use]
    pub fn fits_endpoint(&self) -> bool {
        matches!(
            self,
            Self::Bulk | Self::Transfer { .. } | Self::AppLimited { .. }
        )
    }

    /// Whether connections come and go: each flow of the class is then a source of connections, not
    /// a connection.
    #[must_use]
    pub fn opens_connections(&self) -> bool {
        matches!(self, Self::Arrivals { .. } | Self::PackMime { .. })
    }
}

/// A kind of traffic and its keys.
#[derive(Clone, Copy, Debug)]
pub struct TrafficKind {
    /// Its name.
    pub kind: &'static str,
    /// Whether TCP carries it.
    pub tcp: bool,
    /// Meaning.
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
