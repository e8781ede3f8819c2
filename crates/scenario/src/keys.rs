//! Every key of a scenario file: name, kind, default, meaning. Parser, suggestions, schema and documentation read these tables.
//!
//! The parameters of AQMs and congestion controls are not here: they come from the registry of algorithms.

use crate::options::{
    EcnFeedback, LossDetection, Named as _, Pacing, PacketSizes, Recovery, RttSamples, Style,
    TraceFormat, Undo, WindowReduction,
};
use crate::units::Dimension;

/// What a key's value may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// Any text.
    Text,
    /// True or false.
    Flag,
    /// A whole number from the first to the second.
    Integer(i64, i64),
    /// A time, zero allowed.
    Time,
    /// A time above zero.
    Span,
    /// A data rate above zero.
    Rate,
    /// A size of at least one byte.
    Size,
    /// A number of packets, at least one.
    Packets,
    /// A whole number of packets, at least one.
    WholePackets,
    /// A queue's limit.
    Capacity,
    /// Times drawn once per flow.
    Distribution,
    /// Two times, `A .. B`.
    Window,
    /// One of these names (with its meaning).
    Choice(&'static [(&'static str, &'static str)]),
    /// Names of links, in the order in which they are crossed.
    Path,
    /// Name of a link, a class or a node.
    Name,
    /// An AQM with its parameters and the queue's limit.
    Queue,
    /// A data rate above zero, or a table of a rate over time.
    RateOrTrace,
    /// A scheduler with its parameters.
    Scheduler,
    /// A loss model with its parameters, or a probability.
    Loss,
    /// A distribution of delays, or a table of one.
    Jitter,
    /// A token bucket: a table of these keys.
    Shaper,
    /// A token bucket: a table of these keys.
    Policer,
    /// Times and rates.
    Steps,
    /// A congestion control with its parameters.
    Congestion,
    /// What the application sends.
    Traffic,
    /// Payload of transfers, drawn once a transfer.
    Sizes,
    /// Something a second, above zero.
    Frequency,
    /// A number above zero, or per cent.
    Share,
    /// The link of the other direction in a ready shape.
    Reverse,
}

impl Kind {
    /// What is allowed, in words.
    #[must_use]
    pub fn allowed(self) -> String {
        match self {
            Self::Text => "a text".to_owned(),
            Self::Flag => "true or false".to_owned(),
            Self::Integer(low, i64::MAX) => format!("a whole number, {low} or more"),
            Self::Integer(low, high) => format!("a whole number from {low} to {high}"),
            Self::Time => Dimension::Time.allowed().to_owned(),
            Self::Span => format!("{}, above zero", Dimension::Time.allowed()),
            Self::Rate => format!("{}, above zero", Dimension::Rate.allowed()),
            Self::Size => format!("{}, at least 1 B", Dimension::Size.allowed()),
            Self::Packets => format!("{}, at least 1", Dimension::Packets.allowed()),
            Self::WholePackets => format!("{}, whole, at least 1", Dimension::Packets.allowed()),
            Self::Capacity => {
                r#""300 packets", "300 kB", "unlimited", or a time such as "100 ms" (what the link sends in it)"#.to_owned()
            }
            Self::Distribution => concat!(
                r#""10 ms", a list ["5 ms", "15 ms"] (dealt to the flows in turn), "range 10 ms .. 200 ms" (evenly spaced), "#,
                r#""uniform 38 ms .. 42 ms", "normal 100 ms, 10 ms", "exponential 1 s""#
            )
            .to_owned(),
            Self::Window => r#"two times such as "75 s .. 100 s""#.to_owned(),
            Self::Choice(choices) => {
                let names: Vec<_> = choices.iter().map(|(name, _)| format!("\"{name}\"")).collect();
                names.join(", ")
            }
            Self::Path => r#"names of links, in order, such as ["access", "bottleneck"]"#.to_owned(),
            Self::Name => "a name".to_owned(),
            Self::Queue => r#"a table such as { aqm = "red", min_threshold = "50 packets", max_threshold = "150 packets" }"#.to_owned(),
            Self::RateOrTrace => format!(
                r#"{}, above zero; or a rate over time: {{ trace = "file.csv" }} or {{ steps = [["0 s", "10 Mbit/s"], ["5 s", "2 Mbit/s"]] }}"#,
                Dimension::Rate.allowed()
            ),
            Self::Scheduler => r#"a name such as "fq_codel", or a table such as { kind = "drr", quantum = "1514 B" }"#.to_owned(),
            Self::Loss => r#"a probability such as "0.1 %", or a table such as { kind = "gilbert-elliott", good_to_bad = 0.01, bad_to_good = 0.3 }"#.to_owned(),
            Self::Jitter => format!(
                r#"what is added to each packet's delay: {}; or a table such as {{ delay = "exponential 2 ms", reorder = true }}"#,
                Self::Distribution.allowed()
            ),
            Self::Shaper | Self::Policer => r#"a table such as { rate = "20 Mbit/s", burst = "30 kB" }"#.to_owned(),
            Self::Steps => r#"times and rates such as [["0 s", "10 Mbit/s"], ["5 s", "2 Mbit/s"]]"#.to_owned(),
            Self::Congestion => r#"a name such as "cubic", or a table such as { kind = "compound", gamma = 30 }"#.to_owned(),
            Self::Traffic => r#"a table such as { kind = "transfer", size = "1 MB" }"#.to_owned(),
            Self::Sizes => concat!(
                r#""12 kB", "exponential 12 kB", "pareto 12 kB, 1.3" (mean and tail index), "log-normal 12 kB, 30 kB" (mean and deviation), "#,
                r#""web-search", or a table of sizes and the probability of sizes up to each, [["1 kB", 0.5], ["10 kB", 1]]"#
            )
            .to_owned(),
            Self::Frequency => r#"a number a second such as "50 /s" (/s, Hz, kHz), above zero"#.to_owned(),
            Self::Share => r#"a number above zero such as 0.8, or "80 %""#.to_owned(),
            Self::Reverse => r#"a table such as { rate = "10 Mbit/s" }"#.to_owned(),
        }
    }
}

/// What holds when a key is not given.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fallback {
    /// It must be given.
    Required,
    /// As if this text stood in the file.
    Text(&'static str),
    /// As if this flag stood in the file.
    Flag(bool),
    /// As if this number stood in the file.
    Integer(i64),
    /// Something that depends on the rest of the scenario, described here.
    Derived(&'static str),
}

/// A key of a scenario file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// What its value may be.
    pub kind: Kind,
    /// A word allowed in the value's place, and its meaning.
    pub word: Option<(&'static str, &'static str)>,
    /// What holds when it is not given.
    pub default: Fallback,
    /// Whether a `[[change]]` may set it.
    pub changeable: bool,
    /// What it means.
    pub doc: &'static str,
}

impl Key {
    const fn new(name: &'static str, kind: Kind, default: Fallback, doc: &'static str) -> Self {
        Self {
            name,
            kind,
            word: None,
            default,
            changeable: false,
            doc,
        }
    }

    const fn or(mut self, word: &'static str, meaning: &'static str) -> Self {
        self.word = Some((word, meaning));
        self
    }

    const fn changeable(mut self) -> Self {
        self.changeable = true;
        self
    }

    /// What is allowed, in words.
    #[must_use]
    pub fn allowed(&self) -> String {
        match self.word {
            Some((word, _)) => format!("{}, or \"{word}\"", self.kind.allowed()),
            None => self.kind.allowed(),
        }
    }
}

/// A table of a scenario file and its keys.
#[derive(Clone, Copy, Debug)]
pub struct Section {
    /// Its name in the file.
    pub name: &'static str,
    /// Whether the file may hold several (`[[name]]`).
    pub repeated: bool,
    /// What it describes.
    pub doc: &'static str,
    /// Its keys.
    pub keys: &'static [Key],
}

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

/// `[[link]]`.
pub const LINK: Section = Section {
    name: "link",
    repeated: true,
    doc: "A directed link: a queue, a transmitter, a propagation delay.",
    keys: &[
        Key::new(
            "name",
            Kind::Name,
            Required,
            "Unique name, used in paths, changes and results.",
        ),
        Key::new(
            "rate",
            Kind::RateOrTrace,
            Required,
            "Speed of the transmitter: constant but for changes, or a rate over time.",
        )
        .changeable(),
        Key::new(
            "delay",
            Kind::Time,
            Text("0 s"),
            "Propagation delay in this direction.",
        )
        .changeable(),
        Key::new(
            "queue",
            Kind::Queue,
            Derived("drop-tail with the default capacity"),
            "What waits and who is dropped.",
        ),
        Key::new(
            "policer",
            Kind::Policer,
            Text("none"),
            "Token bucket before the queue: drops packets that do not conform to `rate` and `burst`.",
        )
        .or("none", "every packet may join the queue"),
        Key::new(
            "shaper",
            Kind::Shaper,
            Text("none"),
            "Token bucket behind the queue: holds packets back to a sustained `rate`; a `burst` goes at the rate of the link.",
        )
        .or("none", "the link always sends at its own rate"),
        Key::new(
            "loss",
            Kind::Loss,
            Text("none"),
            "Packets lost on the wire, after transmission: a probability, or a loss model with its parameters.",
        )
        .or("none", "nothing is lost"),
        Key::new(
            "jitter",
            Kind::Jitter,
            Text("none"),
            "Delay that is added to each packet's propagation.",
        )
        .or("none", "every packet has the same propagation delay"),
        Key::new(
            "from",
            Kind::Name,
            Derived("none"),
            "Node where the link begins; only flows with `from` and `to` need nodes.",
        ),
        Key::new(
            "to",
            Kind::Name,
            Derived("none"),
            "Node where the link ends.",
        ),
    ],
};

/// `queue = { ... }`; the parameters of the AQM stand beside these keys.
pub const QUEUE: Section = Section {
    name: "queue",
    repeated: false,
    doc: "A link's queue: its AQM, the AQM's parameters, its limit. The packet in service is not counted.",
    keys: &[
        Key::new(
            "scheduler",
            Kind::Scheduler,
            Text("none"),
            "Several sub-queues that take turns, each under the AQM, instead of a single queue; they share the capacity.",
        )
        .or("none", "a single queue, first in, first out"),
        Key::new(
            "aqm",
            Kind::Text,
            Derived("drop-tail; with a scheduler, what belongs to it (fq_codel: codel)"),
            "Active queue management. A scheduler's name stands for that scheduler with its own AQM.",
        ),
        Key::new(
            "capacity",
            Kind::Capacity,
            Derived("`\"100 ms\"`; with scheduler fq_codel `\"10240 packets\"`"),
            "Largest number of packets or bytes that wait. A time means the bytes that the link sends in it, at its rate at the start.",
        )
        .changeable(),
    ],
};

/// `rate = { ... }` of a link.
pub const TRACE: Section = Section {
    name: "rate",
    repeated: false,
    doc: "A link's rate over time: from a file, or as steps. AQMs see the present rate in the queue, but are not told of changes.",
    keys: &[
        Key::new(
            "trace",
            Kind::Text,
            Derived("none: `steps` are given"),
            "File with the rate, relative to the scenario's own. The scenario that is stored with results has the steps themselves.",
        ),
        Key::new(
            "format",
            Kind::Choice(TraceFormat::CHOICES),
            Text(TraceFormat::DEFAULT),
            "How the file is written.",
        ),
        Key::new(
            "steps",
            Kind::Steps,
            Derived("those of the file"),
            "Each step's beginning and its rate, which may be zero; the first at 0 s.",
        ),
        Key::new(
            "repeat",
            Kind::Span,
            Derived("never; a Mahimahi trace, after its last line"),
            "After this time the trace begins anew.",
        )
        .or("never", "the last step lasts for ever"),
    ],
};

/// `jitter = { ... }` of a link.
pub const JITTER: Section = Section {
    name: "jitter",
    repeated: false,
    doc: "What is added to each packet's propagation delay.",
    keys: &[
        Key::new(
            "delay",
            Kind::Distribution,
            Required,
            "Drawn anew for each packet.",
        ),
        Key::new(
            "reorder",
            Kind::Flag,
            Flag(false),
            "Whether packets may overtake each other; otherwise a packet waits for those before it.",
        ),
    ],
};

/// `[[flows]]`.
pub const FLOWS: Section = Section {
    name: "flows",
    repeated: true,
    doc: "A class of flows that share a description.",
    keys: &[
        Key::new("name", Kind::Name, Derived("flows-1, flows-2, ... by position"), "Unique name, used in changes and results."),
        Key::new("count", Kind::Integer(0, u32::MAX as i64), Integer(1), "Number of flows (at the start, where a change sets it).").changeable(),
        Key::new("path", Kind::Path, Derived("by `from` and `to`; in a ready shape, its whole length"), "Links that the data crosses, in order."),
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
        // TCP only, from here
        Key::new("style", Kind::Choice(Style::CHOICES), Text(Style::DEFAULT), "Where the defaults of the class's TCP and of its congestion control come from."),
        Key::new("ack_size", Kind::Size, Text("40 B"), "Size of a pure ACK on the wire."),
        Key::new("congestion", Kind::Congestion, Text("cubic"), "Congestion control (RFC 9438 is the default of today's stacks)."),
        Key::new("recovery", Kind::Choice(Recovery::CHOICES), Text(Recovery::DEFAULT), "How losses are repaired."),
        Key::new("reduction", Kind::Choice(WindowReduction::CHOICES), Text(WindowReduction::DEFAULT), "How the window comes down when selective ACKs find a loss; needs recovery \"sack\"."),
        Key::new("loss_detection", Kind::Choice(LossDetection::CHOICES), Text(LossDetection::DEFAULT), "What tells a lost segment from one that is late; \"rack\" needs recovery \"sack\"."),
        Key::new(
            "detect_lost_retransmissions",
            Kind::Flag,
            Flag(false),
            "Whether a lost retransmission is found when something sent after it is acknowledged selectively, as RACK does (RFC 8985), instead of by a timeout; needs recovery \"sack\".",
        ),
        Key::new("handshake", Kind::Flag, Flag(true), "Whether a three-way handshake of one round trip precedes the data; its packets cross the queues."),
        Key::new("initial_window", Kind::Packets, Text("10 packets"), "Initial window (RFC 6928: 10 segments)."),
        Key::new("initial_ssthresh", Kind::Packets, Text("unlimited"), "Initial slow-start threshold (RFC 5681, section 3.1: arbitrarily high).")
            .or("unlimited", "slow start until the first loss or mark"),
        Key::new("max_window", Kind::WholePackets, Text("unlimited"), "Largest window that the receiver offers (W_max).")
            .or("unlimited", "the receiver never limits")
            .changeable(),
        Key::new(
            "ecn",
            Kind::Flag,
            Derived("false, as in today's stacks; \"accurate\" where the congestion control counts marks"),
            "Whether ECN is negotiated (RFC 3168). A congestion control that counts marks gets the accurate kind in either case.",
        )
        .or("accurate", "and the receiver echoes each mark as it came (RFC 8257, section 3.2)"),
        Key::new("ecn_feedback", Kind::Choice(EcnFeedback::CHOICES), Text(EcnFeedback::DEFAULT), "How marks come back to the sender; both ends have it. Needs ECN."),
        Key::new("pacing", Kind::Choice(Pacing::CHOICES), Text(Pacing::DEFAULT), "How the segments of a window are spread over time."),
        Key::new(
            "hystart",
            Kind::Flag,
            Flag(false),
            "Whether the initial slow start ends when the round trip grows (HyStart++, RFC 9406), whatever the congestion control.",
        ),
        Key::new("delayed_ack", Kind::Flag, Flag(true), "Whether the receiver acknowledges every second segment (RFC 5681, section 4.2)."),
        Key::new("delayed_ack_timeout", Kind::Span, Text("40 ms"), "Longest wait of a delayed ACK (RFC 5681: below 500 ms; Linux: 40 ms)."),
        Key::new("limited_transmit", Kind::Flag, Flag(true), "Whether each of the first two duplicate ACKs lets one new segment out (RFC 3042)."),
        Key::new(
            "ecn_pause",
            Kind::Flag,
            Flag(true),
            "Whether a sender whose window is one segment waits for the retransmission timer when that is marked, since one cannot be halved (RFC 3168, section 6.1.2; Linux sends on), and twice as long after each further mark (ns-2). Not where the congestion control counts marks.",
        ),
        Key::new("min_rto", Kind::Span, Text("200 ms"), "Smallest retransmission timeout (RFC 6298, rule 2.4 says 1 s; Linux and most other stacks use about 200 ms)."),
        Key::new("max_rto", Kind::Span, Text("60 s"), "Largest retransmission timeout (RFC 6298, rule 2.5: at least 60 s)."),
        Key::new("initial_rto", Kind::Span, Text("1 s"), "Retransmission timeout before the first sample (RFC 6298, rule 2.1)."),
        Key::new("rtt_samples", Kind::Choice(RttSamples::CHOICES), Text(RttSamples::DEFAULT), "Which ACKs give samples of the round trip to the retransmission timer; style \"linux\" has its own way."),
        Key::new("clock_granularity", Kind::Span, Text("none"), "Tick in which the retransmission timer's samples are taken, the G of RFC 6298 (ns-2: 10 ms); with one sample a window the averages are in whole eighths and quarters of it, as in 4.4BSD. Style \"linux\" has its own ticks.")
            .or("none", "an exact clock"),
        Key::new(
            "restart_rto_on_every_ack",
            Kind::Flag,
            Flag(false),
            "Whether every ACK restarts the retransmission timer, duplicates too, as in ns-2's Linux-derived agent; RFC 6298 (rule 5.3): those that acknowledge new data. Style \"linux\" has its own rules.",
        ),
        Key::new("undo", Kind::Choice(Undo::CHOICES), Text(Undo::DEFAULT), "What tells that a reduction of the window was needless, so that it is taken back: by the response of RFC 4015 after a timeout, else at once (RFC 9438, section 4.9)."),
        Key::new(
            "dup_threshold",
            Kind::Integer(1, 1000),
            Integer(3),
            "Duplicate ACKs, or segments selectively acknowledged above, that mean a loss (RFC 5681, RFC 6675).",
        ),
    ],
};

/// Keys of [`FLOWS`] that only TCP has.
pub const TCP_KEYS: &[&str] = &[
    "style",
    "ack_size",
    "congestion",
    "recovery",
    "reduction",
    "loss_detection",
    "detect_lost_retransmissions",
    "handshake",
    "initial_window",
    "initial_ssthresh",
    "max_window",
    "ecn",
    "ecn_feedback",
    "pacing",
    "hystart",
    "delayed_ack",
    "delayed_ack_timeout",
    "limited_transmit",
    "ecn_pause",
    "min_rto",
    "max_rto",
    "initial_rto",
    "rtt_samples",
    "clock_granularity",
    "restart_rto_on_every_ack",
    "undo",
    "dup_threshold",
];

/// A key of an earlier version.
pub(crate) struct Renamed {
    pub(crate) old: &'static str,
    /// The key in its place; the hint is given where that is one of the table's.
    pub(crate) new: &'static str,
    pub(crate) instead: &'static str,
}

/// Keys of earlier versions that scenario files may still have.
pub(crate) const RENAMED: &[Renamed] = &[Renamed {
    old: "whole_packets",
    new: "form",
    instead: "form = \"linux\" for true, form = \"paper\" for false",
}];

/// Defaults of style "linux" that differ.
pub const LINUX: &[(&str, Fallback)] = &[
    ("reduction", Text("prr")),
    ("loss_detection", Text("rack")),
    ("ecn_pause", Flag(false)),
    ("max_rto", Text("120 s")),
];

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
            Key::new("rate", Kind::Frequency, Required, CONNECTION_RATE).changeable(),
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
            "link",
            Kind::Name,
            Derived("none"),
            "The link that changes: `rate`, `delay`, `capacity`, numeric parameters of its AQM.",
        ),
        Key::new(
            "flows",
            Kind::Name,
            Derived("none"),
            "The class that changes: `count`, `rtt`, `access_rate`, `max_window`, `rate` of its traffic.",
        ),
    ],
};

/// `[dumbbell]`.
pub const DUMBBELL: Section = Section {
    name: "dumbbell",
    repeated: false,
    doc: concat!(
        "Ready shape: one link `bottleneck` from node `left` to node `right`, and with `reverse` a link `bottleneck-reverse` back. ",
        "Flows without a path go from left to right; `from = \"right\", to = \"left\"` makes them go the other way."
    ),
    keys: &[
        Key::new("rate", Kind::Rate, Required, "Rate of the bottleneck."),
        Key::new("delay", Kind::Time, Text("0 s"), "Its propagation delay."),
        Key::new(
            "queue",
            Kind::Queue,
            Derived("drop-tail with the default capacity"),
            "Its queue.",
        ),
        Key::new(
            "reverse",
            Kind::Reverse,
            Derived("none: ACKs return over a pure delay"),
            "The link of the other direction, which ACKs then share.",
        ),
    ],
};

/// `[parking_lot]`.
pub const PARKING_LOT: Section = Section {
    name: "parking_lot",
    repeated: false,
    doc: concat!(
        "Ready shape: equal links `hop-1`, `hop-2`, ... in a row between the nodes `node-0`, `node-1`, ..., and with `reverse` ",
        "links `hop-1-reverse`, ... back. Flows without a path cross all hops."
    ),
    keys: &[
        Key::new(
            "hops",
            Kind::Integer(1, 1000),
            Integer(2),
            "Number of links in the row.",
        ),
        Key::new("rate", Kind::Rate, Required, "Rate of each."),
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
    ],
};

/// `reverse = { ... }` of a ready shape.
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

/// The tables of a scenario file, in order.
pub const SECTIONS: &[&Section] = &[&SCENARIO, &LINK, &DUMBBELL, &PARKING_LOT, &FLOWS, &CHANGE];
