//! From a [`Scenario`] back to a tree with every default filled in.

use ackclock_algorithms::scheduler::SchedulerSpec;

use crate::keys::{Queue, Target, Tree};
use crate::model::{Change, FlowClass, Link, LinkId, Scenario, Tcp};
use crate::tree::Node;
use crate::units::{format_rate, format_time};
use crate::written::{array, flag, none, parameters};

pub(crate) fn scenario(scenario: &Scenario) -> Node {
    let mut sections = vec![
        ("scenario", Node::table(scenario.write(|_| None))),
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

fn flows(class: &FlowClass, scenario: &Scenario) -> Node {
    let mut entries = class.write(|key| match key {
        "path" => Some(path(&class.path, scenario)),
        "reverse_path" => Some(
            class
                .reverse_path
                .as_ref()
                .map_or_else(none, |back| path(back, scenario)),
        ),
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
    let (table, id, key, value) = change.set.write(&scenario.links, &scenario.flows);
    let link = || ("link", Node::text(&scenario.links[id].name));
    let (target, setting) = match table {
        Target::Link => (link(), (key, value)),
        Target::Queue => (link(), ("queue", Node::table([(key, value)]))),
        Target::Class | Target::Traffic => (
            ("flows", Node::text(&scenario.flows[id].name)),
            (key, value),
        ),
    };
    Node::table([("at", Node::text(format_time(change.at))), target, setting])
}
