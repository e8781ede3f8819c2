//! Parameters of algorithms: declared once, read by the scenario parser, the schema, the documentation and the algorithm itself.

use std::fmt;

use crate::Scalar;

/// What a parameter measures, and so which units a scenario file may give it in. Values are in the unit named here.
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

/// All that there is to know of a parameter, as plain data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ParameterSpec {
    /// Key in a scenario.
    pub name: &'static str,
    /// What it measures.
    pub kind: Kind,
    /// Its value when none is given.
    pub default: DefaultValue,
    /// Numbers that it may take.
    pub range: Interval,
    /// A choice's names; for a number, words allowed in its place.
    pub words: &'static [&'static str],
    /// What it means.
    pub doc: &'static str,
    /// Where meaning and default come from.
    pub source: &'static str,
}

impl ParameterSpec {
    /// What is allowed, in words: `"above 0 packets"`, `"packets or bytes"`.
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
    pub fn error(&self, fault: Fault, found: String) -> ValueError {
        ValueError {
            name: self.name.to_owned(),
            fault,
            found,
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

    fn word(&self, found: &str) -> Result<&'static str, ValueError> {
        let word = self.words.iter().find(|word| **word == found);
        word.copied()
            .ok_or_else(|| self.error(Fault::OutOfRange, format!("\"{found}\"")))
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

/// What is wrong with a value.
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
    /// What is wrong.
    pub fault: Fault,
    /// What was given; empty if nothing was.
    pub found: String,
    /// What is allowed.
    pub allowed: String,
}

impl fmt::Display for ValueError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            name,
            fault,
            found,
            allowed,
        } = self;
        match fault {
            Fault::Unknown if name == "kind" => {
                write!(out, "there is no algorithm {found}; there are {allowed}")
            }
            Fault::Unknown => write!(out, "there is no parameter `{name}`; there are {allowed}"),
            Fault::Missing => write!(out, "`{name}` is missing; it must be {allowed}"),
            Fault::WrongKind | Fault::OutOfRange | Fault::Inconsistent => {
                write!(out, "`{name}` is {found}; it must be {allowed}")
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
    /// What the parameters are, in order.
    const SPEC: &'static [ParameterSpec];

    /// Reads the given values and takes the defaults of all others; values of unknown names are passed over.
    ///
    /// # Errors
    /// Names the first parameter that is missing or cannot take its value.
    fn read(values: &[(String, Value)]) -> Result<Self, ValueError>;

    /// Reads the given values and takes the defaults of all others. Does not compare parameters with each other.
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
    /// Names the parameter if there is none of that name, it is not numeric, or the value is out of its range.
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
pub fn inconsistent(name: &str, found: f64, allowed: String) -> ValueError {
    ValueError {
        name: name.to_owned(),
        fault: Fault::Inconsistent,
        found: found.to_string(),
        allowed,
    }
}

/// What a field of a parameter struct can do. An implementation detail of [`parameters!`](crate::parameters).
#[doc(hidden)]
pub trait Field: Sized {
    fn read(spec: &ParameterSpec, value: &Value) -> Result<Self, ValueError>;
    fn value(&self) -> Value;
}

impl Field for f64 {
    fn read(spec: &ParameterSpec, value: &Value) -> Result<Self, ValueError> {
        match value {
            Value::Number(number) => spec.number(*number),
            other => Err(spec.error(Fault::WrongKind, other.to_string())),
        }
    }

    fn value(&self) -> Value {
        Value::Number(*self)
    }
}

impl Field for NumberOr<f64> {
    fn read(spec: &ParameterSpec, value: &Value) -> Result<Self, ValueError> {
        match value {
            Value::Number(number) => spec.number(*number).map(Self::Number),
            Value::Word(word) => spec.word(word).map(Self::Word),
            other @ Value::Flag(_) => Err(spec.error(Fault::WrongKind, other.to_string())),
        }
    }

    fn value(&self) -> Value {
        match self {
            Self::Number(number) => Value::Number(*number),
            Self::Word(word) => Value::Word((*word).to_owned()),
        }
    }
}

impl Field for bool {
    fn read(spec: &ParameterSpec, value: &Value) -> Result<Self, ValueError> {
        match value {
            Value::Flag(flag) => Ok(*flag),
            other => Err(spec.error(Fault::WrongKind, other.to_string())),
        }
    }

    fn value(&self) -> Value {
        Value::Flag(*self)
    }
}

/// How a field takes a number during a run. An implementation detail of [`parameters!`](crate::parameters).
#[doc(hidden)]
pub trait Assign<S> {
    fn assign(&mut self, spec: &ParameterSpec, value: S) -> Result<(), ValueError>;
}

impl<S: Scalar> Assign<S> for S {
    fn assign(&mut self, spec: &ParameterSpec, value: S) -> Result<(), ValueError> {
        spec.number(value.re())?;
        *self = value;
        Ok(())
    }
}

impl<S: Scalar> Assign<S> for NumberOr<S> {
    fn assign(&mut self, spec: &ParameterSpec, value: S) -> Result<(), ValueError> {
        spec.number(value.re())?;
        *self = Self::Number(value);
        Ok(())
    }
}

/// The error that a flag or choice cannot take a number.
#[doc(hidden)]
pub fn not_changeable<S: Scalar>(spec: &ParameterSpec, value: S) -> ValueError {
    let allowed = "only numeric parameters can".to_owned();
    ValueError {
        name: spec.name.to_owned(),
        fault: Fault::NotChangeable,
        found: value.re().to_string(),
        allowed,
    }
}

/// How a field of `f64` becomes one of another scalar. An implementation detail of [`parameters!`](crate::parameters).
#[doc(hidden)]
pub trait Lift<T> {
    fn lift(&self) -> T;
}

impl<S: Scalar> Lift<S> for f64 {
    fn lift(&self) -> S {
        S::from_f64(*self)
    }
}

impl<S: Scalar> Lift<NumberOr<S>> for NumberOr<f64> {
    fn lift(&self) -> NumberOr<S> {
        match self {
            Self::Number(number) => NumberOr::Number(S::from_f64(*number)),
            Self::Word(word) => NumberOr::Word(word),
        }
    }
}

impl Lift<Self> for bool {
    fn lift(&self) -> Self {
        *self
    }
}

/// Reads the field of parameter `index` from `values`. An implementation detail of [`parameters!`](crate::parameters).
#[doc(hidden)]
pub fn read<T: Field>(
    specs: &[ParameterSpec],
    name: &str,
    values: &[(String, Value)],
) -> Result<T, ValueError> {
    let spec = specs
        .iter()
        .find(|spec| spec.name == name)
        .ok_or_else(|| unknown(specs, name))?;
    // the last of two equal keys counts; files cannot have two
    match values.iter().rev().find(|(key, _)| key == name) {
        Some((_, value)) => T::read(spec, value),
        None => match spec.default_value() {
            Some(value) => T::read(spec, &value),
            None => Err(spec.error(Fault::Missing, String::new())),
        },
    }
}

/// `first` and `second` in one array. An implementation detail of [`parameters!`](crate::parameters).
#[doc(hidden)]
#[must_use]
pub const fn join<const N: usize>(
    first: &[ParameterSpec],
    second: &[ParameterSpec],
) -> [ParameterSpec; N] {
    let empty = ParameterSpec {
        name: "",
        kind: Kind::Number,
        default: DefaultValue::Required,
        range: Interval::ANY,
        words: &[],
        doc: "",
        source: "",
    };
    let mut all = [empty; N];
    let mut index = 0;
    while index < N {
        all[index] = if index < first.len() {
            first[index]
        } else {
            second[index - first.len()]
        };
        index += 1;
    }
    all
}

/// Declares the parameters of an algorithm.
///
/// Each line holds documentation, name, kind, default, range and source:
///
/// ```
/// use ackclock_algorithms::{Interval, Parameters as _, Value, choices, parameters};
///
/// choices! {
///     /// What is counted.
///     pub enum Mode {
///         /// Packets.
///         Packets = "packets",
///         /// Bytes.
///         Bytes = "bytes",
///     }
/// }
///
/// parameters! {
///     /// Parameters of an example.
///     pub struct ExampleParams {
///         /// Where it begins.
///         threshold: packets = required, in Interval::at_least(0.0), "nowhere";
///         /// How fast it forgets.
///         weight: number("auto") = word "auto", in Interval::above_to(0.0, 1.0), "nowhere";
///         /// What is counted.
///         mode: choice(Mode) = Packets, "nowhere";
///         /// Whether it is kind.
///         gentle: flag = true, "nowhere";
///     }
/// }
///
/// let params = ExampleParams::from_values(&[("threshold".into(), Value::Number(5.0))]).unwrap();
/// assert_eq!(params.threshold, 5.0);
/// assert!(ExampleParams::from_values(&[]).is_err());
/// ```
///
/// The struct is generic over the scalar of its numbers (`ExampleParams<S = f64>`), so that an analysis can differentiate
/// in a parameter: `lift` changes the scalar, `set_scalar` sets a numeric parameter to a scalar.
///
/// An algorithm built on another takes over its parameters with a first line `include base: BaseParams;`.
#[macro_export]
macro_rules! parameters {
    (
        $(#[$attribute:meta])*
        $visibility:vis struct $name:ident {}
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        $visibility struct $name<S = f64>(std::marker::PhantomData<S>);

        $crate::parameters!(@common $name [] {});
    };
    (
        $(#[$attribute:meta])*
        $visibility:vis struct $name:ident without numbers {
            $(
                $(#[doc = $doc:literal])+
                $field:ident : flag = $default:literal, $source:literal;
            )+
        }
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        $visibility struct $name<S = f64> {
            $(
                $(#[doc = $doc])+
                pub $field: bool,
            )+
            scalar: std::marker::PhantomData<S>,
        }

        $crate::parameters!(@common $name [] {
            $(
                $field [flag]
                $crate::ParameterSpec {
                    name: stringify!($field),
                    kind: $crate::Kind::Flag,
                    default: $crate::DefaultValue::Flag($default),
                    range: $crate::Interval::ANY,
                    words: &[],
                    doc: concat!($($doc),+).trim_ascii_start(),
                    source: $source,
                };
            )+
        } [scalar]);
    };
    (
        $(#[$attribute:meta])*
        $visibility:vis struct $name:ident {
            $(include $base:ident: $base_type:ident;)?
            $(
                $(#[doc = $doc:literal])+
                $field:ident : $kind:ident $(($($word:tt),+))? = $default:tt $($default_word:literal)?
                    $(, in $range:expr)?, $source:literal;
            )+
        }
    ) => {
        $(#[$attribute])*
        $visibility struct $name<S = f64> {
            $(
                /// The parameters of the algorithm that this one is built on.
                pub $base: $base_type<S>,
            )?
            $(
                $(#[doc = $doc])+
                pub $field: $crate::parameters!(@type S $kind $(($($word),+))?),
            )+
        }

        // written out because `derive` does not take macros in types
        impl<S: Clone> Clone for $name<S> {
            fn clone(&self) -> Self {
                Self { $($base: self.$base.clone(),)? $($field: self.$field.clone()),+ }
            }
        }

        impl<S: Copy> Copy for $name<S> {}

        impl<S: std::fmt::Debug> std::fmt::Debug for $name<S> {
            fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                out.debug_struct(stringify!($name))$(.field(stringify!($base), &self.$base))?$(.field(stringify!($field), &self.$field))+.finish()
            }
        }

        impl<S: PartialEq> PartialEq for $name<S> {
            fn eq(&self, other: &Self) -> bool {
                $(self.$base == other.$base &&)? $(self.$field == other.$field)&&+
            }
        }

        $crate::parameters!(@common $name [$($base $base_type)?] {
            $(
                $field [$kind $(($($word),+))?]
                $crate::ParameterSpec {
                    name: stringify!($field),
                    kind: $crate::parameters!(@kind $kind),
                    default: $crate::parameters!(@default [$default $($default_word)?] $kind $(($($word),+))?),
                    range: $crate::parameters!(@range $($range)?),
                    words: $crate::parameters!(@words $kind $(($($word),+))?),
                    doc: concat!($($doc),+).trim_ascii_start(),
                    source: $source,
                };
            )+
        });
    };

    (@common $name:ident [$($base:ident $base_type:ident)?] { $($field:ident [$($kind:tt)+] $spec:expr;)* } $([$marker:ident])?) => {
        impl $crate::Parameters for $name {
            const SPEC: &'static [$crate::ParameterSpec] = {
                const OWN: &[$crate::ParameterSpec] = &[$($spec),*];
                const BASE: &[$crate::ParameterSpec] = $crate::parameters!(@base_spec $($base_type)?);
                const ALL: [$crate::ParameterSpec; BASE.len() + OWN.len()] = $crate::params::join(BASE, OWN);
                &ALL
            };

            #[allow(unused_variables)] // without parameters nothing is read
            fn read(values: &[(String, $crate::Value)]) -> Result<Self, $crate::ValueError> {
                Ok($crate::parameters!(@build $name {
                    $($base: <$base_type as $crate::Parameters>::read(values)?,)?
                    $($field: $crate::params::read(Self::SPEC, stringify!($field), values)?,)*
                    $($marker: std::marker::PhantomData,)?
                }))
            }

            fn values(&self) -> Vec<(&'static str, $crate::Value)> {
                let own: Vec<(&'static str, $crate::Value)> =
                    vec![$((stringify!($field), $crate::params::Field::value(&self.$field))),*];
                $(
                    let base = <$base_type as $crate::Parameters>::values(&self.$base);
                    let own = [base, own].concat();
                )?
                own
            }

            fn set(&mut self, name: &str, value: f64) -> Result<(), $crate::ValueError> {
                self.set_scalar(name, value)
            }
        }

        impl $name {
            /// The same parameters in another scalar.
            #[must_use]
            pub fn lift<S: $crate::Scalar>(&self) -> $name<S> {
                $crate::parameters!(@build $name {
                    $($base: self.$base.lift(),)?
                    $($field: $crate::params::Lift::lift(&self.$field),)*
                    $($marker: std::marker::PhantomData,)?
                })
            }
        }

        impl<S: $crate::Scalar> $name<S> {
            /// Sets a numeric parameter, within its range.
            ///
            /// # Errors
            /// Names the parameter if there is none of that name, it is not numeric, or the value is out of its range.
            pub fn set_scalar(&mut self, name: &str, value: S) -> Result<(), $crate::ValueError> {
                let specs = <$name as $crate::Parameters>::SPEC;
                let spec = specs.iter().find(|spec| spec.name == name).ok_or_else(|| $crate::params::unknown(specs, name))?;
                match name {
                    $(stringify!($field) => $crate::parameters!(@assign self.$field, spec, value, $($kind)+),)*
                    _ => $crate::parameters!(@otherwise self spec value $($base)?),
                }
            }
        }
    };
    (@base_spec) => { &[] };
    (@base_spec $base_type:ident) => { <$base_type as $crate::Parameters>::SPEC };
    (@otherwise $self:ident $spec:ident $value:ident) => { Err($crate::params::not_changeable($spec, $value)) };
    (@otherwise $self:ident $spec:ident $value:ident $base:ident) => { $self.$base.set_scalar($spec.name, $value) };
    (@assign $place:expr, $spec:ident, $value:ident, flag) => { Err($crate::params::not_changeable($spec, $value)) };
    (@assign $place:expr, $spec:ident, $value:ident, choice($type:ident)) => {
        Err($crate::params::not_changeable($spec, $value))
    };
    (@assign $place:expr, $spec:ident, $value:ident, $($kind:tt)+) => {
        $crate::params::Assign::assign(&mut $place, $spec, $value)
    };
    (@build $name:ident {}) => { $name(std::marker::PhantomData) };
    (@build $name:ident { $($field:ident: $value:expr,)+ }) => { $name { $($field: $value),+ } };

    (@type $s:ident flag) => { bool };
    (@type $s:ident choice($type:ident)) => { $type };
    (@type $s:ident $kind:ident ($($word:tt),+)) => { $crate::NumberOr<$s> };
    (@type $s:ident $kind:ident) => { $s };

    (@kind number) => { $crate::Kind::Number };
    (@kind time) => { $crate::Kind::Time };
    (@kind rate) => { $crate::Kind::Rate };
    (@kind packets) => { $crate::Kind::Packets };
    (@kind bytes) => { $crate::Kind::Bytes };
    (@kind frequency) => { $crate::Kind::Frequency };
    (@kind flag) => { $crate::Kind::Flag };
    (@kind choice) => { $crate::Kind::Choice };

    (@default [required] $($kind:tt)+) => { $crate::DefaultValue::Required };
    (@default [word $default:literal] $($kind:tt)+) => { $crate::DefaultValue::Word($default) };
    (@default [$default:tt] flag) => { $crate::DefaultValue::Flag($default) };
    (@default [$default:tt] choice($type:ident)) => { $crate::DefaultValue::Word($type::$default.name()) };
    (@default [$default:tt] $($kind:tt)+) => { $crate::DefaultValue::Number($default) };

    (@range) => { $crate::Interval::ANY };
    (@range $range:expr) => { $range };

    (@words choice($type:ident)) => { $type::NAMES };
    (@words $kind:ident) => { &[] };
    (@words $kind:ident ($($word:tt),+)) => { &[$($word),+] };
}

/// Declares an enum of named choices, for use in [`parameters!`](crate::parameters).
#[macro_export]
macro_rules! choices {
    (
        $(#[$attribute:meta])*
        $visibility:vis enum $type:ident {
            $($(#[$variant_attribute:meta])* $variant:ident = $name:literal),+ $(,)?
        }
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $visibility enum $type {
            $($(#[$variant_attribute])* $variant),+
        }

        impl $type {
            /// The names of the choices in a scenario.
            pub const NAMES: &'static [&'static str] = &[$($name),+];

            /// Its name in a scenario.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name),+
                }
            }
        }

        impl $crate::params::Field for $type {
            fn read(spec: &$crate::ParameterSpec, value: &$crate::Value) -> Result<Self, $crate::ValueError> {
                match value {
                    $($crate::Value::Word(word) if word == $name => Ok(Self::$variant),)+
                    $crate::Value::Word(_) => Err(spec.error($crate::Fault::OutOfRange, value.to_string())),
                    _ => Err(spec.error($crate::Fault::WrongKind, value.to_string())),
                }
            }

            fn value(&self) -> $crate::Value {
                $crate::Value::Word(self.name().to_owned())
            }
        }

        impl $crate::params::Lift<Self> for $type {
            fn lift(&self) -> Self {
                *self
            }
        }
    };
}
