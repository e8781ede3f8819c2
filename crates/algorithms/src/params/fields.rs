//! How a field of a parameters' struct is read, changed, shown and lifted to another scalar.

use super::{Fault, NumberOr, ParameterSpec, Value, ValueError, unknown};
use crate::Scalar;

/// A field of a parameter struct. An implementation detail of
/// [`parameters!`](crate::parameters).
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

/// How a field takes a number during a run. An implementation detail of
/// [`parameters!`](crate::parameters).
#[doc(hidden)]
pub trait Assign<S> {
    fn assign(&mut self, value: S);
}

impl<S: Scalar> Assign<S> for S {
    fn assign(&mut self, value: S) {
        *self = value;
    }
}

impl<S: Scalar> Assign<S> for NumberOr<S> {
    fn assign(&mut self, value: S) {
        *self = Self::Number(value);
    }
}

/// Checks that the parameter `name` may take `value` during a run: not generic, so that it is compiled once.
///
/// # Errors
/// Names the parameter if there is none of that name, it is not numeric, or the value is out of its range.
#[doc(hidden)]
pub fn settable(specs: &[ParameterSpec], name: &str, value: f64) -> Result<(), ValueError> {
    let spec = specs
        .iter()
        .find(|spec| spec.name == name)
        .ok_or_else(|| unknown(specs, name))?;
    if spec.kind.is_numeric() {
        return spec.number(value).map(drop);
    }
    let allowed = "only numeric parameters can".to_owned();
    Err(ValueError {
        name: spec.name.to_owned(),
        fault: Fault::NotChangeable,
        found: value.to_string(),
        allowed,
    })
}

/// How a field of `f64` becomes one of another scalar. An implementation detail of
/// [`parameters!`](crate::parameters).
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
