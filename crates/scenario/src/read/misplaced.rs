//! Keys that stand in one table and belong in another.

use ackclock_algorithms::registry::aqms;

use crate::diagnostic::quoted_list;
use crate::keys::{QUEUE, TRAFFIC};
use crate::reader::Misplaced;

/// Finds the table that `name` belongs in, which is none of the keys `names` of its own; `None` for
/// a key that is unknown there, too.
pub(super) fn find(key: &str, name: &str, names: &[&str]) -> Option<Misplaced> {
    let has = |other: &str| names.contains(&other);
    if has("traffic") {
        return of_traffic(name);
    }
    let owners: Vec<&str> = aqms()
        .iter()
        .filter(|meta| meta.parameters.iter().any(|spec| spec.name == name))
        .map(|meta| meta.kind)
        .collect();
    let of_queue = QUEUE.keys.iter().any(|key| key.name == name);
    if owners.is_empty() && !of_queue {
        return None;
    }
    let problem = if of_queue {
        "a key of a queue".to_owned()
    } else {
        format!(
            "a parameter of the AQM {}",
            quoted_list(owners.iter().copied())
        )
    };
    let allowed = if has("queue") {
        let aqm = if of_queue { "" } else { "aqm = ..., " };
        format!("in the queue of this table: queue = {{ {aqm}{name} = ... }}")
    } else if has("classes") {
        "in the queue of a class: classes = [ { queue = { ... } } ]".to_owned()
    } else if key.contains(".scheduler.") {
        format!("beside `scheduler`: queue = {{ scheduler = ..., {name} = ... }}")
    } else if has("aqm") {
        let owners = quoted_list(owners.iter().copied());
        format!("with `aqm` one of {owners}; here: {}", names.join(", "))
    } else {
        return None;
    };
    Some(Misplaced { problem, allowed })
}

/// A key of traffic that stands beside `traffic`.
fn of_traffic(name: &str) -> Option<Misplaced> {
    let kinds: Vec<&str> = TRAFFIC
        .iter()
        .filter(|kind| name == "kind" || kind.keys.iter().any(|key| key.name == name))
        .map(|kind| kind.kind)
        .collect();
    let first = kinds.first()?;
    let of_kinds = quoted_list(kinds.iter().copied());
    let datagrams = TRAFFIC.iter().filter(|kind| !kind.tcp);
    let allowed = if name == "kind" {
        let udp = quoted_list(datagrams.map(|kind| kind.kind));
        format!("traffic = {{ kind = ... }} with kind {of_kinds}; datagrams (UDP) are {udp}")
    } else {
        format!("traffic = {{ kind = \"{first}\", {name} = ... }} with kind {of_kinds}")
    };
    Some(Misplaced {
        problem: "a key of the traffic".to_owned(),
        allowed,
    })
}
