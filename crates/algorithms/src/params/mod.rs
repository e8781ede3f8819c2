//! Parameters of algorithms: declared once, read by the scenario parser, the schema, the
//! documentation and the algorithm itself.

use std::fmt;

use crate::Scalar;

mod declare;
mod fields;

#[doc(hidden)]
pub use declare::{join, read};
#[doc(hidden)]
pub use fields::{Assign, Field, Lift, settable};

/// The quantity that a parameter measures, and so which units a scenario file may give it in. Values are in the
/// unit named here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A plain number.
    Number,
    /// A time, s.
    Time,
    /// A rate, bit/s.
    Rate,
    /// A number of packets.
    Packets,
    /// A number of bytes.
    Bytes,
    /// A frequency, Hz.
    Frequency,
    /// True or false.
    Flag,
    /// One of [`ParameterSpec::words`].
    Choice,
}

impl Kind {
    /// The unit of values of this kind; empty for plain numbers, flags and choices.
    #[must_use]
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Number | Self::Flag | Self::Choice => "",
            Self::Time => "s",
            Self::Rate => "bit/s",
            Self::Packets => "packets",
            Self::Bytes => "B",
            Self::Frequency => "Hz",
        }
    }

    /// Whether values are numbers.
    #[must_use]
    pub const fn is_numeric(self) -> bool {
        !matches!(self, Self::Flag | Self::Choice)
    }
}

/// The value that a parameter has when a scenario gives none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DefaultValue {
    /// None: the scenario must give it.
    Required,
    /// A number in the unit of the parameter's kind.
    Number(f64),
    /// True or false.
    Flag(bool),
    /// A choice, or a word in place of a number ("auto").
    Word(&'static str),
}

/// The numbers that a parameter may take. NaN and infinities are never allowed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Lower end; minus infinity without one.
    pub low: f64,
    /// Whether the lower end itself is excluded.
    pub low_open: bool,
    /// Upper end; infinity without one.
    pub high: f64,
    /// Whether the upper end itself is excluded.
    pub high_open: bool,
}

impl Interval {
    /// Every finite number.
    pub const ANY: Self = Self::between(f64::NEG_INFINITY, f64::INFINITY);

    /// `low <= x <= high`.
    #[must_use]
    pub const fn between(low: f64, high: f64) -> Self {
        Self {
            low,
            low_open: false,
            high,
            high_open: false,
        }
    }

    /// `low < x <= high`.
    #[must_use]
    pub const fn above_to(low: f64, high: f64) -> Self {
        Self {
            low,
            low_open: true,
            high,
            high_open: false,
        }
    }

    /// The largest number, if there is one.
    #[must_use]
    pub fn most(self) -> Option<f64> {
        (self.high.is_finite() && !self.high_open).then_some(self.high)
    }

    /// `low <= x < high`.
    #[must_use]
    pub const fn from_below(low: f64, high: f64) -> Self {
        Self {
            low,
            low_open: false,
            high,
            high_open: true,
        }
    }

    /// `low < x < high`.
    #[must_use]
    pub const fn inside(low: f64, high: f64) -> Self {
        Self {
            low,
            low_open: true,
            high,
            high_open: true,
        }
    }

    /// `x >= low`.
    #[must_use]
    pub const fn at_least(low: f64) -> Self {
        Self::between(low, f64::INFINITY)
    }

    /// `x > low`.
    #[must_use]
    pub const fn above(low: f64) -> Self {
        Self::above_to(low, f64::INFINITY)
    }

    /// Whether `x` is allowed.
    #[must_use]
    pub fn contains(&self, x: f64) -> bool {
        let over = if self.low_open {
            x > self.low
        } else {
            x >= self.low
        };
        let under = if self.high_open {
            x < self.high
        } else {
            x <= self.high
        };
        x.is_finite() && over && under
    }
}

impl fmt::Display for Interval {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let below = if self.high_open { "below" } else { "at most" };
        match (self.low.is_finite(), self.high.is_finite()) {
            (false, false) => write!(out, "any number"),
            (true, false) if self.low_open => write!(out, "above {}", self.low),
            (true, false) => write!(out, "{} or more", self.low),
            (false, true) => write!(out, "{below} {}", self.high),
            (true, true) if self.low_open => {
                write!(out, "above {}, {below} {}", self.low, self.high)
            }
            (true, true) => write!(out, "from {}, {below} {}", self.low, self.high),
        }
    }
}

/// Everything known about a parameter, as plain data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ParameterSpec {
    /// Key in a scenario.
    pub name: &'static str,
    /// The quantity that it measures.
    pub kind: Kind,
    /// Its value when none is given.
    pub default: DefaultValue,
    /// Numbers that it may take.
    pub range: Interval,
    /// A choice's names; for a number, words allowed in its place.
    pub words: &'static [&'static str],
    /// Its meaning.
    pub doc: &'static str,
    /// Where meaning and default come from.
    pub source: &'static str,
}

impl ParameterSpec {
    /// The allowed values in words: `"above 0 packets"`, `"packets or bytes"`.
    #[must_use]
    pub fn allowed(&self) -> String {
        let words = self
            .words
            .iter()
            .map(|word| format!("\"{word}\""))
            .collect::<Vec<_>>()
            .join(", ");
        match self.kind {
            Kind::Flag => "true or false".to_owned(),
            Kind::Choice => format!("one of {words}"),
            _ => {
                let unit = self.kind.unit();
                let space = if unit.is_empty() { "" } else { " " };
                let or = if words.is_empty() {
                    String::new()
                } else {
                    format!(", or {words}")
                };
                format!("{}{space}{unit}{or}", self.range)
            }
        }
    }

    /// The error that `found` is not allowed here.
    #[must_use]
    pub fn error(&self, fault: Fault, text: String) -> ValueError {
        ValueError {
            name: self.name.to_owned(),
            fault,
            found: text,
            allowed: self.allowed(),
        }
    }

    /// The default as a value; `None` for a required parameter.
    #[must_use]
    pub fn default_value(&self) -> Option<Value> {
        match self.default {
            DefaultValue::Required => None,
            DefaultValue::Number(number) => Some(Value::Number(number)),
            DefaultValue::Flag(flag) => Some(Value::Flag(flag)),
            DefaultValue::Word(word) => Some(Value::Word(word.to_owned())),
        }
    }

    fn number(&self, number: f64) -> Result<f64, ValueError> {
        if self.range.contains(number) {
            Ok(number)
        } else {
            Err(self.error(Fault::OutOfRange, number.to_string()))
        }
    }

    fn word(&self, text: &str) -> Result<&'static str, ValueError> {
        let word = self.words.iter().find(|word| **word == text);
        word.copied()
            .ok_or_else(|| self.error(Fault::OutOfRange, format!("\"{text}\"")))
    }
}

/// The value of a parameter, numbers in the unit of its kind.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A number.
    Number(f64),
    /// True or false.
    Flag(bool),
    /// A choice, or a word in place of a number.
    Word(String),
}

impl fmt::Display for Value {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(out),
            Self::Flag(flag) => flag.fmt(out),
            Self::Word(word) => write!(out, "\"{word}\""),
        }
    }
}

/// The fault of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// No parameter (or algorithm) has this name.
    Unknown,
    /// The parameter has no default and no value was given.
    Missing,
    /// A number where a flag or choice is wanted, or the like.
    WrongKind,
    /// A number out of range, or a word that is not among the choices.
    OutOfRange,
    /// Each value is allowed alone, but they contradict each other.
    Inconsistent,
    /// The value cannot be changed during a run.
    NotChangeable,
}

/// A value that an algorithm cannot take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueError {
    /// The parameter; `"kind"` when it is the algorithm's own name that is unknown.
    pub name: String,
    /// The fault.
    pub fault: Fault,
    /// The value that was given; empty if none was.
    pub found: String,
    /// The allowed values, in words.
    pub allowed: String,
}

impl fmt::Display for ValueError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            name,
            fault,
            found: result,
            allowed,
        } = self;
        match fault {
            Fault::Unknown if name == "kind" => {
                write!(out, "there is no algorithm {result}; there are {allowed}")
            }
            Fault::Unknown => write!(out, "there is no parameter `{name}`; there are {allowed}"),
            Fault::Missing => write!(out, "`{name}` is missing; it must be {allowed}"),
            Fault::WrongKind | Fault::OutOfRange | Fault::Inconsistent => {
                write!(out, "`{name}` is {result}; it must be {allowed}")
            }
            Fault::NotChangeable => write!(out, "`{name}` cannot change during a run; {allowed}"),
        }
    }
}

impl std::error::Error for ValueError {}

/// A number, or a word in its place ("auto").
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NumberOr<S = f64> {
    /// The number.
    Number(S),
    /// One of [`ParameterSpec::words`].
    Word(&'static str),
}

impl<S: Scalar> NumberOr<S> {
    /// The number, or what `auto` makes of the word.
    #[inline]
    pub fn or_else(self, auto: impl FnOnce(&'static str) -> S) -> S {
        match self {
            Self::Number(number) => number,
            Self::Word(word) => auto(word),
        }
    }
}

/// A set of parameters that [`parameters!`](crate::parameters) declared.
pub trait Parameters: Clone + fmt::Debug + Send + Sync + Sized + 'static {
    /// The specifications of the parameters, in order.
    const SPEC: &'static [ParameterSpec];

    /// Reads the given values and takes the defaults of all others; values of unknown names are
    /// passed over.
    ///
    /// # Errors
    /// Names the first parameter that is missing or cannot take its value.
    fn read(values: &[(String, Value)]) -> Result<Self, ValueError>;

    /// Reads the given values and takes the defaults of all others. Does not compare parameters
    /// with each other.
    ///
    /// # Errors
    /// Names the first parameter that is unknown, missing or cannot take its value.
    fn from_values(values: &[(String, Value)]) -> Result<Self, ValueError> {
        match values
            .iter()
            .find(|(key, _)| Self::SPEC.iter().all(|spec| spec.name != key))
        {
            Some((key, _)) => Err(unknown(Self::SPEC, key)),
            None => Self::read(values),
        }
    }

    /// Every parameter with its value, in order.
    fn values(&self) -> Vec<(&'static str, Value)>;

    /// Sets a numeric parameter, within its range.
    ///
    /// # Errors
    /// Names the parameter if there is none of that name, it is not numeric, or the value is out of
    /// its range.
    fn set(&mut self, name: &str, value: f64) -> Result<(), ValueError>;
}

/// The error that `name` is not among the parameters `specs`.
#[must_use]
pub fn unknown(specs: &[ParameterSpec], name: &str) -> ValueError {
    let names = specs
        .iter()
        .map(|spec| spec.name)
        .collect::<Vec<_>>()
        .join(", ");
    let allowed = if names.is_empty() {
        "none".to_owned()
    } else {
        names
    };
    ValueError {
        name: name.to_owned(),
        fault: Fault::Unknown,
        found: name.to_owned(),
        allowed,
    }
}

/// The error that two values contradict each other: `name` is `found` but must be `allowed`.
#[must_use]
pub fn inconsistent(name: &str, value: f64, allowed: String) -> ValueError {
    ValueError {
        name: name.to_owned(),
        fault: Fault::Inconsistent,
        found: value.to_string(),
        allowed,
    }
}
