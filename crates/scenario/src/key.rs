//! Keys of a scenario file: a key's name, what its value may be, its default, its meaning.

use crate::options::Style;
use crate::units::Dimension;

/// Kind of a key's value.
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
    /// A scheduler with classes, and its own parameters.
    ClassScheduler,
    /// Classes of a scheduler.
    Classes,
    /// Names of classes of flows.
    Names,
    /// Code points in the header, by their names.
    CodePoints(&'static [(&'static str, &'static str)]),
    /// A loss model with its parameters, or a probability.
    Loss,
    /// A service with its parameters.
    Service,
    /// Times in which a link sends nothing: a table of these keys.
    Stalls,
    /// A rate that follows probes: a table of these keys.
    Autorate,
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
    /// Traffic of the application.
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
    /// Returns the allowed values, in words.
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
            Self::ClassScheduler => r#"a name such as "htb", or a table such as { kind = "htb", r2q = 10 }"#.to_owned(),
            Self::Classes => r#"a list of tables such as { name = "calls", rate = "2 Mbit/s", flows = ["calls"], queue = { aqm = "codel" } }"#.to_owned(),
            Self::Names => r#"names of classes of flows, such as ["web", "video"]"#.to_owned(),
            Self::CodePoints(_) => r#"code points, such as ["ef", "cs6"]"#.to_owned(),
            Self::Loss => r#"a probability such as "0.1 %", or a table such as { kind = "gilbert-elliott", good_to_bad = 0.01, bad_to_good = 0.3 }"#.to_owned(),
            Self::Service => r#"a name such as "wifi", or a table such as { kind = "lte", block_error = 0.05 }"#.to_owned(),
            Self::Stalls => r#"a table such as { interval = "20 s", shortest = "0.3 s", longest = "2.5 s" }"#.to_owned(),
            Self::Autorate => r#"a table such as { probes = "pings", min = "5 Mbit/s", max = "80 Mbit/s" }"#.to_owned(),
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

/// Default of a key.
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
    /// Kind of its value.
    pub kind: Kind,
    /// A word allowed in the value's place, and its meaning.
    pub word: Option<(&'static str, &'static str)>,
    /// Default.
    pub default: Fallback,
    /// Default in style "linux", where that is another.
    pub linux: Option<Fallback>,
    /// Meaning.
    pub doc: &'static str,
}

impl Key {
    pub(crate) const fn new(
        name: &'static str,
        kind: Kind,
        default: Fallback,
        doc: &'static str,
    ) -> Self {
        Self {
            name,
            kind,
            word: None,
            default,
            linux: None,
            doc,
        }
    }

    pub(crate) const fn or(mut self, word: &'static str, meaning: &'static str) -> Self {
        self.word = Some((word, meaning));
        self
    }

    pub(crate) const fn linux(mut self, default: Fallback) -> Self {
        self.linux = Some(default);
        self
    }

    /// Returns the default by the style of the class.
    #[must_use]
    pub fn default_in(&self, style: Style) -> Fallback {
        match (style, self.linux) {
            (Style::Linux, Some(default)) => default,
            _ => self.default,
        }
    }

    /// Returns the allowed values, in words.
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
    /// Meaning.
    pub doc: &'static str,
    /// Its keys.
    pub keys: &'static [Key],
}

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
