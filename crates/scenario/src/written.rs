//! Values as they stand in a scenario, with their units.

use ackclock_algorithms::meta::Meta;
use ackclock_algorithms::{Kind as ParameterKind, ParameterSpec, Parameters, Value as Setpoint};

use crate::sizes::Sizes;
use crate::tree::{Node, Value};
use crate::units::{
    format_frequency, format_packets, format_rate, format_seconds, format_size, format_time,
};
use crate::value::{Capacity, Distribution, End};

pub(crate) fn array(items: impl Iterator<Item = Node>) -> Node {
    Value::Array(items.collect()).into()
}

pub(crate) fn integer(number: u64) -> Node {
    Value::Integer(i64::try_from(number).unwrap_or(i64::MAX)).into()
}

pub(crate) fn flag(flag: bool) -> Node {
    Value::Flag(flag).into()
}

/// A plain number, whole ones without a point.
pub(crate) fn number(number: f64) -> Node {
    if number.fract() == 0.0 && number.abs() < 1e15 {
        Value::Integer(number as i64).into()
    } else {
        Value::Float(number).into()
    }
}

pub(crate) fn capacity(capacity: Capacity) -> Node {
    Node::text(match capacity {
        Capacity::Packets(packets) => format_packets(f64::from(packets)),
        Capacity::Bytes(bytes) => format_size(bytes),
        Capacity::Unlimited => "unlimited".to_owned(),
    })
}

pub(crate) fn distribution(distribution: &Distribution) -> Node {
    let s = |seconds: &f64| format_seconds(*seconds);
    Node::text(match distribution {
        Distribution::Fixed(value) => s(value),
        Distribution::List(values) => {
            return array(values.iter().map(|value| Node::text(s(value))));
        }
        Distribution::Range(low, high) => format!("range {} .. {}", s(low), s(high)),
        Distribution::Uniform(low, high) => format!("uniform {} .. {}", s(low), s(high)),
        Distribution::Normal(mean, deviation) => format!("normal {}, {}", s(mean), s(deviation)),
        Distribution::Exponential(mean) => format!("exponential {}", s(mean)),
    })
}

/// When a run ends.
pub(crate) fn end(end: End) -> Node {
    Node::text(match end {
        End::At(end) => format_time(end),
        End::UntilDone => "until done".to_owned(),
    })
}

pub(crate) fn sizes(sizes: &Sizes) -> Node {
    let s = |size: &f64| bytes(*size);
    Node::text(match sizes {
        Sizes::Fixed(bytes) => format_size(*bytes),
        Sizes::Exponential(mean) => format!("exponential {}", s(mean)),
        Sizes::Pareto { mean, shape } => format!("pareto {}, {shape}", s(mean)),
        Sizes::LogNormal { mean, deviation } => format!("log-normal {}, {}", s(mean), s(deviation)),
        Sizes::Empirical(points) => {
            let point = |(size, part): &(f64, f64)| {
                array([Node::text(s(size)), Value::Float(*part).into()].into_iter())
            };
            return array(points.iter().map(point));
        }
    })
}

/// A size that need not be whole.
pub(crate) fn bytes(bytes: f64) -> String {
    if bytes.fract() == 0.0 && bytes < 1e15 {
        format_size(bytes as u64)
    } else {
        format!("{bytes} B")
    }
}

/// Connections a second.
pub(crate) fn per_second(rate: f64) -> Node {
    Node::text(format!("{rate} /s"))
}

/// A parameter of an algorithm, with the unit of its kind.
pub(crate) fn parameter(spec: Option<&ParameterSpec>, value: &Setpoint) -> Node {
    match value {
        Setpoint::Flag(value) => flag(*value),
        Setpoint::Word(word) => Node::text(word),
        Setpoint::Number(value) => {
            let value = *value;
            let sign = if value < 0.0 { "-" } else { "" };
            let size = value.abs();
            match spec.map(|spec| spec.kind) {
                Some(ParameterKind::Time) => Node::text(format!("{sign}{}", format_seconds(size))),
                Some(ParameterKind::Rate) => Node::text(format!("{sign}{}", format_rate(size))),
                Some(ParameterKind::Packets) => {
                    Node::text(format!("{sign}{}", format_packets(size)))
                }
                Some(ParameterKind::Bytes) if size.fract() == 0.0 && size < 1e15 => {
                    Node::text(format!("{sign}{}", format_size(size as u64)))
                }
                Some(ParameterKind::Bytes) => Node::text(format!("{value} B")),
                Some(ParameterKind::Frequency) => {
                    Node::text(format!("{sign}{}", format_frequency(size)))
                }
                _ => number(value),
            }
        }
    }
}

pub(crate) fn parameters<'a>(
    specs: &'static [ParameterSpec],
    values: &'a [(&'static str, Setpoint)],
) -> impl Iterator<Item = (&'a str, Node)> {
    values.iter().map(|(name, value)| {
        (
            *name,
            parameter(specs.iter().find(|spec| spec.name == *name), value),
        )
    })
}

/// An algorithm with its parameters.
pub(crate) fn named(meta: &'static Meta, values: &[(&'static str, Setpoint)]) -> Node {
    let kind = ("kind", Node::text(meta.kind));
    Node::table(std::iter::once(kind).chain(parameters(meta.parameters, values)))
}

/// A token bucket.
pub(crate) fn bucket(bucket: &impl Parameters) -> Node {
    Node::table(parameters(specs_of(bucket), &bucket.values()))
}

fn specs_of<P: Parameters>(_: &P) -> &'static [ParameterSpec] {
    P::SPEC
}

pub(crate) fn none() -> Node {
    Node::text("none")
}
