//! Every key of a scenario file: name, kind, default, meaning. Parser, suggestions, schema and
//! documentation read these tables.
//!
//! The parameters of AQMs and congestion controls are not here: they come from the registry of
//! algorithms.

mod flows;
mod link;
mod templates;
mod traffic;

pub(crate) use flows::RENAMED;
pub use flows::{FLOWS, tcp_keys};
pub use link::{JITTER, LINK, QUEUE, TRACE};
pub use templates::{DUMBBELL, PARKING_LOT, REVERSE};
pub use traffic::{TRAFFIC, TrafficKind};

use crate::options::*;
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
    /// The link of the other direction in a topology template.
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
                r#""12 kB", "exponential 12 kB", "pareto 12 kB, 1.3" (mean and tail index), "log-normal 12 kB, 30 kB" (mean and standard deviation), "#,
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
    /// What holds in style "linux", where that is something else.
    pub linux: Option<Fallback>,
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
            linux: None,
            changeable: false,
            doc,
        }
    }

    const fn or(mut self, word: &'static str, meaning: &'static str) -> Self {
        self.word = Some((word, meaning));
        self
    }

    const fn linux(mut self, default: Fallback) -> Self {
        self.linux = Some(default);
        self
    }

    const fn changeable(mut self) -> Self {
        self.changeable = true;
        self
    }

    /// What holds when it is not given, by the style of the class.
    #[must_use]
    pub fn default_in(&self, style: Style) -> Fallback {
        match (style, self.linux) {
            (Style::Linux, Some(default)) => default,
            _ => self.default,
        }
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

/// The tables of a scenario file, in order.
pub const SECTIONS: &[&Section] = &[&SCENARIO, &LINK, &DUMBBELL, &PARKING_LOT, &FLOWS, &CHANGE];
