//! From a [`Scenario`] back to a tree with every default filled in.

use ackclock_algorithms::Value as Setpoint;
use ackclock_algorithms::scheduler::SchedulerSpec;

use crate::keys::{Queue, Tree};
use crate::model::{Change, End, FlowClass, Link, LinkId, Scenario, Setting, Tcp, Traffic};
use crate::options::{Named as _, PacketSizes};
use crate::read::traffic_kind;
use crate::sizes::Sizes;
use crate::tree::{Node, Value};
use crate::units::{format_packets, format_rate, format_seconds, format_size, format_time};
use crate::written::{
    array, capacity, distribution, flag, integer, named, none, parameter, parameters,
};

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
    let mut entries = link.write(|key| match key {
        "name" => Some(Node::text(&link.name)),
        "rate" => Some(rate(link)),
        "queue" => Some(queue(&Queue {
            scheduler: link.scheduler,
            aqm: link.aqm.clone(),
            capacity: link.capacity,
            tree: link.tree.clone(),
        })),
        _ => None,
    });
    // the longest goes last
    entries.sort_by_key(|(key, _)| *key == "queue");
    Node::table(entries)
}

fn queue(queue: &Queue) -> Node {
    if let Some(tree) = &queue.tree {
        return self::tree(tree);
    }
    let judges = |it: SchedulerSpec| it.default_aqm().is_none();
    let keys = queue.write(|key| match key {
        "aqm" if queue.scheduler.is_some_and(judges) => None,
        "aqm" => Some(Node::text(queue.aqm.kind())),
        "capacity" => Some(capacity(queue.capacity)),
        _ => None,
    });
    let specs = queue.aqm.meta().map_or(&[][..], |meta| meta.parameters);
    let values = queue.aqm.values();
    Node::table(keys.into_iter().chain(parameters(specs, &values)))
}

/// A queue with classes.
fn tree(tree: &Tree) -> Node {
    let name = |class: usize| Node::text(&tree.classes[class].name);
    Node::table(tree.write(|key| match key {
        "default" => tree.default.map(name),
        "classes" => Some(classes(tree, None)),
        _ => None,
    }))
}

/// The classes that belong to one, or to none.
fn classes(tree: &Tree, parent: Option<usize>) -> Node {
    let members = tree.classes.iter().enumerate();
    let own = members.filter(|(_, class)| class.parent == parent);
    array(own.map(|(id, class)| {
        let keys = class.write(|key| match key {
            "name" => Some(Node::text(&class.name)),
            "queue" => class.queue.as_ref().map(|it| queue(it)),
            "classes" => class.queue.is_none().then(|| classes(tree, Some(id))),
            _ => None,
        });
        let inner = class.queue.is_none();
        let keys = keys
            .into_iter()
            .filter(|(key, _)| !(inner && matches!(*key, "flows" | "dscp")));
        let (mut entries, last): (Vec<_>, Vec<_>) =
            keys.partition(|(key, _)| !["queue", "classes"].contains(key));
        let values = class.params.values();
        entries.extend(parameters(tree.scheduler.class_specs(), &values));
        Node::table(entries.into_iter().chain(last))
    }))
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

fn flows(class: &FlowClass, scenario: &Scenario) -> Node {
    let mut entries = class.write(|key| match key {
        "name" => Some(Node::text(&class.name)),
        "path" => Some(path(&class.path, scenario)),
        "reverse_path" => Some(
            class
                .reverse_path
                .as_ref()
                .map_or_else(none, |back| path(back, scenario)),
        ),
        "rtt" => Some(distribution(&class.rtt)),
        "access_buffer" => Some(capacity(class.access_buffer)),
        "traffic" => Some(traffic(&class.traffic)),
        _ => None,
    });
    if class.traffic.is_tcp() {
        entries.extend(endpoint(&class.tcp));
    }
    Node::table(entries)
}

fn endpoint(tcp: &Tcp) -> Vec<(&'static str, Node)> {
    let mut entries = tcp.write(|key| match key {
        "ecn" if tcp.accurate_ecn => Some(Node::text("accurate")),
        "ecn" => Some(flag(tcp.ecn)),
        _ => None,
    });
    if tcp.congestion.is_endpoint() {
        entries.retain(|(key, _)| Tcp::OF_ENDPOINTS.contains(key));
    }
    entries
}

fn change(change: &Change, scenario: &Scenario) -> Node {
    let link = |id: &LinkId| ("link", Node::text(&scenario.links[*id].name));
    let class = |id: &usize| ("flows", Node::text(&scenario.flows[*id].name));
    let in_queue = |name: &str, node: Node| ("queue", Node::table([(name, node)]));
    let (target, setting) = match &change.set {
        Setting::LinkRate(id, rate) => (link(id), ("rate", Node::text(format_rate(*rate)))),
        Setting::LinkDelay(id, delay) => (link(id), ("delay", Node::text(format_time(*delay)))),
        Setting::LinkLoss(id, loss) => (link(id), ("loss", named(loss.meta(), &loss.values()))),
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
