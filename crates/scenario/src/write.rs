//! From a [`Scenario`] back to a tree with every default filled in.

use ackclock_algorithms::impairment::{PolicerParams, ShaperParams};
use ackclock_algorithms::meta::Meta;
use ackclock_algorithms::{
    Kind as ParameterKind, ParameterSpec, Parameters as _, Value as Setpoint,
};

use crate::keys;
use crate::model::{
    Capacity, Change, Distribution, End, FlowClass, Link, LinkId, Scenario, Setting, Tcp, Traffic,
};
use crate::options::{Named as _, PacketSizes};
use crate::read::traffic_kind;
use crate::sizes::Sizes;
use crate::tree::{Node, Value};
use crate::units::{
    format_frequency, format_packets, format_rate, format_seconds, format_size, format_time,
};

type Entry<'a> = (&'a str, Node);

pub(crate) fn scenario(scenario: &Scenario) -> Node {
    let end = match scenario.end {
        End::At(end) => format_time(end),
        End::UntilDone => "until done".to_owned(),
    };
    let measure = match scenario.measure {
        Some((from, to)) => format!("{} .. {}", format_time(from), format_time(to)),
        None => "whole run".to_owned(),
    };
    let run = Node::table([
        ("name", Node::text(&scenario.name)),
        ("duration", Node::text(end)),
        ("measure", Node::text(measure)),
        ("seed", integer(scenario.seed)),
        (
            "sample",
            Node::text(
                scenario
                    .sample
                    .map_or_else(|| "auto".to_owned(), format_time),
            ),
        ),
    ]);
    let mut sections = vec![
        ("scenario", run),
        ("link", array(scenario.links.iter().map(link))),
        (
            "flows",
            array(scenario.flows.iter().map(|class| flows(class, scenario))),
        ),
    ];
    if !scenario.changes.is_empty() {
        sections.push((
            "change",
            array(scenario.changes.iter().map(|set| change(set, scenario))),
        ));
    }
    Node::table(sections)
}

fn array(items: impl Iterator<Item = Node>) -> Node {
    Value::Array(items.collect()).into()
}

fn integer(number: u64) -> Node {
    Value::Integer(i64::try_from(number).unwrap_or(i64::MAX)).into()
}

fn flag(flag: bool) -> Node {
    Value::Flag(flag).into()
}

/// A plain number, whole ones without a point.
fn number(number: f64) -> Node {
    if number.fract() == 0.0 && number.abs() < 1e15 {
        Value::Integer(number as i64).into()
    } else {
        Value::Float(number).into()
    }
}

fn capacity(capacity: Capacity) -> Node {
    Node::text(match capacity {
        Capacity::Packets(packets) => format_packets(f64::from(packets)),
        Capacity::Bytes(bytes) => format_size(bytes),
        Capacity::Unlimited => "unlimited".to_owned(),
    })
}

fn distribution(distribution: &Distribution) -> Node {
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

fn parameters<'a>(
    specs: &'static [ParameterSpec],
    values: &'a [(&'static str, Setpoint)],
) -> impl Iterator<Item = Entry<'a>> {
    values.iter().map(|(name, value)| {
        (
            *name,
            parameter(specs.iter().find(|spec| spec.name == *name), value),
        )
    })
}

/// An algorithm with its parameters.
fn named(meta: &'static Meta, values: &[(&'static str, Setpoint)]) -> Node {
    let kind = ("kind", Node::text(meta.kind));
    Node::table(std::iter::once(kind).chain(parameters(meta.parameters, values)))
}

fn none() -> Node {
    Node::text("none")
}

fn rate(link: &Link) -> Node {
    let Some(trace) = &link.trace else {
        return Node::text(format_rate(link.rate));
    };
    let rate_of = |rate: f64| {
        if rate == 0.0 {
            "0 bit/s".to_owned()
        } else {
            format_rate(rate)
        }
    };
    let steps = trace.steps().iter().map(|(from, rate)| {
        let pair = [Node::text(format_time(*from)), Node::text(rate_of(*rate))];
        array(pair.into_iter())
    });
    let repeat = trace
        .repeat()
        .map_or_else(|| "never".to_owned(), format_time);
    Node::table([("steps", array(steps)), ("repeat", Node::text(repeat))])
}

fn link(link: &Link) -> Node {
    let values = link.aqm.values();
    let specs = link.aqm.meta().map_or(&[][..], |meta| meta.parameters);
    let scheduler = link
        .scheduler
        .map_or_else(none, |it| named(it.meta(), &it.values()));
    let mut queue = vec![("scheduler", scheduler)];
    if link.scheduler.is_none_or(|it| it.default_aqm().is_some()) {
        queue.push(("aqm", Node::text(link.aqm.kind())));
    }
    queue.push(("capacity", capacity(link.capacity)));
    let bucket =
        |specs, values: &[(&'static str, Setpoint)]| Node::table(parameters(specs, values));
    let policer = link
        .policer
        .map_or_else(none, |it| bucket(PolicerParams::SPEC, &it.values()));
    let shaper = link
        .shaper
        .map_or_else(none, |it| bucket(ShaperParams::SPEC, &it.values()));
    let loss = link
        .loss
        .map_or_else(none, |it| named(it.meta(), &it.values()));
    let jitter = link.jitter.as_ref().map_or_else(none, |jitter| {
        Node::table([
            ("delay", distribution(&jitter.delay)),
            ("reorder", flag(jitter.reorder)),
        ])
    });
    Node::table([
        ("name", Node::text(&link.name)),
        ("rate", rate(link)),
        ("delay", Node::text(format_time(link.delay))),
        ("policer", policer),
        ("shaper", shaper),
        ("loss", loss),
        ("jitter", jitter),
        (
            "queue",
            Node::table(queue.into_iter().chain(parameters(specs, &values))),
        ),
    ])
}

fn path(path: &[LinkId], scenario: &Scenario) -> Node {
    array(
        path.iter()
            .map(|link| Node::text(&scenario.links[*link].name)),
    )
}

fn traffic(traffic: &Traffic) -> Node {
    let rate = |rate: &f64| ("rate", Node::text(format_rate(*rate)));
    let kind = ("kind", Node::text(traffic_kind(traffic).kind));
    let more = match traffic {
        Traffic::Bulk => vec![],
        Traffic::Transfer { bytes } => vec![("size", Node::text(format_size(*bytes)))],
        Traffic::AppLimited { rate: value } | Traffic::Cbr { rate: value } => vec![rate(value)],
        Traffic::OnOff {
            rate: value,
            on,
            off,
        } => {
            vec![
                rate(value),
                ("on", Node::text(format_seconds(*on))),
                ("off", Node::text(format_seconds(*off))),
            ]
        }
        Traffic::Poisson {
            rate: value,
            exponential_sizes,
        } => {
            vec![
                rate(value),
                (
                    "sizes",
                    Node::text(if *exponential_sizes {
                        PacketSizes::Exponential.name()
                    } else {
                        PacketSizes::Fixed.name()
                    }),
                ),
            ]
        }
        Traffic::Http {
            sizes: size,
            think,
            persistent,
        } => vec![
            ("size", sizes(size)),
            ("think", Node::text(format_seconds(*think))),
            ("persistent", flag(*persistent)),
        ],
        Traffic::Arrivals { rate, sizes: size } => {
            vec![("rate", per_second(*rate)), ("size", sizes(size))]
        }
        Traffic::PackMime {
            rate,
            mean_size,
            server_delay,
        } => {
            vec![
                ("rate", per_second(*rate)),
                (
                    "mean_size",
                    Node::text(mean_size.map_or_else(|| "model".to_owned(), format_bytes)),
                ),
                ("server_delay", flag(*server_delay)),
            ]
        }
    };
    Node::table(std::iter::once(kind).chain(more))
}

fn sizes(sizes: &Sizes) -> Node {
    let s = |bytes: &f64| format_bytes(*bytes);
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
fn format_bytes(bytes: f64) -> String {
    if bytes.fract() == 0.0 && bytes < 1e15 {
        format_size(bytes as u64)
    } else {
        format!("{bytes} B")
    }
}

/// Connections a second.
fn per_second(rate: f64) -> Node {
    Node::text(format!("{rate} /s"))
}

/// A value, or the word for none.
fn or_word<T>(value: Option<T>, word: &str, format: impl Fn(T) -> String) -> Node {
    Node::text(value.map_or_else(|| word.to_owned(), format))
}

fn flows(class: &FlowClass, scenario: &Scenario) -> Node {
    let back = class.reverse_path.as_ref();
    let mut entries = vec![
        ("name", Node::text(&class.name)),
        ("count", integer(u64::from(class.count))),
        ("path", path(&class.path, scenario)),
        (
            "reverse_path",
            back.map_or_else(|| Node::text("none"), |back| path(back, scenario)),
        ),
        ("rtt", distribution(&class.rtt)),
        ("priority", integer(u64::from(class.priority))),
        (
            "access_rate",
            or_word(class.access_rate, "unlimited", format_rate),
        ),
        ("access_buffer", capacity(class.access_buffer)),
        ("start", distribution(&class.start)),
        ("stop", or_word(class.stop, "never", format_time)),
        ("traffic", traffic(&class.traffic)),
        ("packet_size", size(class.packet_size)),
        ("header_size", size(class.header_size)),
    ];
    if class.traffic.is_tcp() {
        entries.push(("ack_size", size(class.ack_size)));
        entries.extend(endpoint(&class.tcp));
    }
    debug_assert!(
        entries
            .iter()
            .all(|(name, _)| keys::FLOWS.keys.iter().any(|key| key.name == *name))
    );
    Node::table(entries)
}

fn size(bytes: u32) -> Node {
    Node::text(format_size(u64::from(bytes)))
}

fn endpoint(tcp: &Tcp) -> Vec<(&'static str, Node)> {
    let specs = tcp
        .congestion
        .meta()
        .map_or(&[][..], |meta| meta.parameters);
    let kind = ("kind", Node::text(tcp.congestion.kind()));
    let values = tcp.congestion.values();
    let congestion = Node::table(std::iter::once(kind).chain(parameters(specs, &values)));
    let finite = |packets: f64| packets.is_finite().then_some(packets);
    let ssthresh = finite(tcp.initial_ssthresh);
    let max_window = tcp.max_window.map(f64::from);
    let ecn = if tcp.accurate_ecn {
        Node::text("accurate")
    } else {
        flag(tcp.ecn)
    };
    let granularity = Some(tcp.clock_granularity).filter(|time| time.0 > 0);
    let time = |time| Node::text(format_time(time));
    vec![
        ("style", Node::text(tcp.style.name())),
        ("congestion", congestion),
        ("recovery", Node::text(tcp.recovery.name())),
        ("reduction", Node::text(tcp.reduction.name())),
        ("loss_detection", Node::text(tcp.loss_detection.name())),
        (
            "detect_lost_retransmissions",
            flag(tcp.detect_lost_retransmissions),
        ),
        ("handshake", flag(tcp.handshake)),
        (
            "initial_window",
            Node::text(format_packets(tcp.initial_window)),
        ),
        (
            "initial_ssthresh",
            or_word(ssthresh, "unlimited", format_packets),
        ),
        (
            "max_window",
            or_word(max_window, "unlimited", format_packets),
        ),
        ("ecn", ecn),
        ("ecn_feedback", Node::text(tcp.ecn_feedback.name())),
        ("peer_ecn", Node::text(tcp.peer_ecn.name())),
        ("pacing", Node::text(tcp.pacing.name())),
        ("hystart", flag(tcp.hystart)),
        ("search", flag(tcp.search)),
        (
            "saved_window",
            or_word(tcp.resume.map(|saved| saved.0), "none", format_packets),
        ),
        (
            "saved_rtt",
            or_word(tcp.resume.map(|saved| saved.1), "none", format_time),
        ),
        ("delayed_ack", flag(tcp.delayed_ack)),
        ("delayed_ack_timeout", time(tcp.delayed_ack_timeout)),
        ("limited_transmit", flag(tcp.limited_transmit)),
        ("ecn_pause", flag(tcp.ecn_pause)),
        ("min_rto", time(tcp.min_rto)),
        ("max_rto", time(tcp.max_rto)),
        ("initial_rto", time(tcp.initial_rto)),
        ("rtt_samples", Node::text(tcp.rtt_samples.name())),
        (
            "clock_granularity",
            or_word(granularity, "none", format_time),
        ),
        (
            "restart_rto_on_every_ack",
            flag(tcp.restart_rto_on_every_ack),
        ),
        ("undo", Node::text(tcp.undo.name())),
        ("dup_threshold", integer(u64::from(tcp.dup_threshold))),
    ]
}

fn change(change: &Change, scenario: &Scenario) -> Node {
    let link = |id: &LinkId| ("link", Node::text(&scenario.links[*id].name));
    let class = |id: &usize| ("flows", Node::text(&scenario.flows[*id].name));
    let in_queue = |name: &str, node: Node| ("queue", Node::table([(name, node)]));
    let (target, setting) = match &change.set {
        Setting::LinkRate(id, rate) => (link(id), ("rate", Node::text(format_rate(*rate)))),
        Setting::LinkDelay(id, delay) => (link(id), ("delay", Node::text(format_time(*delay)))),
        Setting::LinkCapacity(id, limit) => (link(id), in_queue("capacity", capacity(*limit))),
        Setting::AqmParameter(id, name, value) => {
            let specs = scenario.links[*id]
                .aqm
                .meta()
                .map_or(&[][..], |meta| meta.parameters);
            let spec = specs.iter().find(|spec| spec.name == name);
            (
                link(id),
                in_queue(name, parameter(spec, &Setpoint::Number(*value))),
            )
        }
        Setting::Rtt(id, rtt) => (class(id), ("rtt", distribution(rtt))),
        Setting::TrafficRate(id, rate) if scenario.flows[*id].traffic.opens_connections() => {
            (class(id), ("rate", per_second(*rate)))
        }
        Setting::AccessRate(id, rate) | Setting::TrafficRate(id, rate) => {
            let key = if matches!(change.set, Setting::AccessRate(..)) {
                "access_rate"
            } else {
                "rate"
            };
            (class(id), (key, Node::text(format_rate(*rate))))
        }
        Setting::Count(id, count) => (class(id), ("count", integer(u64::from(*count)))),
        Setting::MaxWindow(id, window) => (
            class(id),
            ("max_window", Node::text(format_packets(f64::from(*window)))),
        ),
    };
    Node::table([("at", Node::text(format_time(change.at))), target, setting])
}
