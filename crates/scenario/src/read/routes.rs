//! Paths, and round-trip times over them.

use std::borrow::Cow;

use ackclock_algorithms::Time;

use super::network::Net;
use super::{Item, Place, Reader, Table};
use crate::diagnostic::quoted_list;
use crate::keys;
use crate::model::{Distribution, LinkId};
use crate::topology::{NoRoute, shortest};
use crate::tree::Value;
use crate::units::{format_time, seconds, shorten};

/// A path and the way of the ACKs.
pub(super) type Route = (Vec<LinkId>, Option<Vec<LinkId>>);

/// The propagation that the links of a path cover by themselves.
pub(super) fn own(net: &Net, path: &[LinkId], back: Option<&[LinkId]>) -> Option<Time> {
    let there = net.propagation(path)?;
    Some(Time(
        there
            .0
            .saturating_add(net.propagation(back.unwrap_or(&[]))?.0),
    ))
}

/// The smallest value that a distribution promises (its mean where it has no lower end).
pub(super) fn least(distribution: &Distribution) -> f64 {
    match distribution {
        Distribution::Fixed(value)
        | Distribution::Range(value, _)
        | Distribution::Uniform(value, _)
        | Distribution::Normal(value, _)
        | Distribution::Exponential(value) => *value,
        Distribution::List(values) => values.iter().copied().fold(f64::INFINITY, f64::min),
    }
}

/// The earliest time at which a start can fall.
pub(super) fn earliest(start: &Distribution) -> f64 {
    match start {
        Distribution::Exponential(_) => 0.0,
        Distribution::Normal(_, deviation) if *deviation > 0.0 => 0.0,
        _ => least(start),
    }
}

impl Reader<'_> {
    pub(super) fn route(&self, table: &Table<'_>, net: &Net) -> Option<Route> {
        let given = table.given("path");
        let ends = (table.given("from"), table.given("to"));
        if let (Some(path), Some(end)) = (&given, ends.0.as_ref().or(ends.1.as_ref())) {
            self.push(&end.place, "both `path` and nodes", |diagnostic| {
                diagnostic.allowed = Some("either `path`, or `from` and `to`".to_owned());
            });
            self.path(path, net);
            return None;
        }
        let back = match table.given("reverse_path") {
            Some(item) if item.is_word() => Some(Some(None)),
            Some(item) => self.path(&item, net).map(|path| Some(Some(path))),
            None => Some(None),
        };
        if let Some(item) = given {
            let path = self.path(&item, net);
            return Some((path?, back?.flatten()));
        }
        let (from, to) = self.ends(table, net)?;
        if from == to {
            self.push(
                &table.place,
                format!("`from` and `to` are the same node \"{from}\""),
                |_| {},
            );
            return None;
        }
        let path = match shortest(&net.graph(), &from, &to) {
            Ok(path) => path,
            Err(NoRoute::Unreachable) => {
                self.push(
                    &table.place,
                    format!("no links lead from \"{from}\" to \"{to}\""),
                    |_| {},
                );
                return None;
            }
            Err(NoRoute::Tie(entry, other)) => {
                self.tie(table, net, "path", &entry, &other);
                return None;
            }
        };
        let back = match back? {
            Some(back) => back,
            None => match shortest(&net.graph(), &to, &from) {
                Ok(back) => Some(back),
                Err(NoRoute::Unreachable) => None,
                Err(NoRoute::Tie(entry, other)) => {
                    self.tie(table, net, "reverse_path", &entry, &other);
                    return None;
                }
            },
        };
        Some((path, back))
    }

    /// The nodes of sender and receiver: the class's own or all classes'.
    fn ends(&self, table: &Table<'_>, net: &Net) -> Option<(String, String)> {
        let missing = |key, allowed: String| {
            self.missing(&table.place, key, allowed);
            None
        };
        match (table.given("from"), table.given("to"), &net.ends) {
            (Some(from), Some(to), _) => {
                let (from, to) = (self.node(&from, net), self.node(&to, net));
                Some((from?, to?))
            }
            (None, None, Some(ends)) => Some(ends.clone()),
            (None, None, None) => missing(
                "path",
                format!(
                    "names of links ({}), or `from` and `to`",
                    quoted_list(net.names())
                ),
            ),
            (Some(_), None, _) => missing(
                "to",
                "the receiver's node, because `from` is given".to_owned(),
            ),
            (None, Some(_), _) => missing(
                "from",
                "the sender's node, because `to` is given".to_owned(),
            ),
        }
    }

    /// Says that two ways are equally short.
    fn tie(&self, table: &Table<'_>, net: &Net, key: &str, link_ids: &[LinkId], other: &[LinkId]) {
        let names = |way: &[LinkId]| {
            way.iter()
                .map(|link| net.names[*link].0.as_str())
                .collect::<Vec<_>>()
                .join(", ")
        };
        self.push(
            &table.place,
            format!(
                "two ways are equally short: [{}] and [{}]",
                names(link_ids),
                names(other)
            ),
            |diagnostic| {
                diagnostic.allowed = Some(format!("name the links in `{key}`"));
            },
        );
    }

    fn node(&self, item: &Item<'_>, net: &Net) -> Option<String> {
        let name = self.name(item)?;
        let nodes = net.nodes();
        if !nodes.contains(&name.as_str()) {
            self.unknown_name(
                &item.place,
                format!("there is no node \"{name}\""),
                &name,
                &nodes,
            );
            return None;
        }
        Some(name)
    }

    /// Links by their names, each at most once, each beginning where the one before it ends.
    fn path(&self, item: &Item<'_>, net: &Net) -> Option<Vec<LinkId>> {
        let single;
        let nodes = match &item.node.value {
            Value::Array(nodes) if nodes.is_empty() => {
                self.wrong(item, "an empty path");
                return None;
            }
            Value::Array(nodes) => nodes,
            Value::Text(_) => {
                single = vec![item.node.clone().into_owned()];
                &single
            }
            _ => {
                self.wrong_kind(item);
                return None;
            }
        };
        let mut path = Vec::new();
        let mut good = true;
        for (at, node) in nodes.iter().enumerate() {
            let place = Place {
                key: format!("{}[{at}]", item.place.key),
                span: node.span.clone().or_else(|| item.place.span.clone()),
            };
            let Value::Text(name) = &node.value else {
                self.wrong_kind(&Item {
                    node: Cow::Borrowed(node),
                    place,
                    rule: item.rule,
                });
                good = false;
                continue;
            };
            let Some(link) = net.find(name.trim()) else {
                let names: Vec<&str> = net.names().collect();
                self.unknown_name(
                    &place,
                    format!("there is no link \"{}\"", shorten(name)),
                    name,
                    &names,
                );
                good = false;
                continue;
            };
            if path.contains(&link) {
                self.push(&place, format!("the path crosses \"{name}\" twice"), |_| {});
                good = false;
            }
            if let Some(before) = path.last()
                && let ((_, Some((_, end))), (_, Some((start, _)))) =
                    (&net.names[*before], &net.names[link])
                && end != start
            {
                let before = &net.names[*before].0;
                self.push(
                    &place,
                    format!(
                        "\"{before}\" ends at node \"{end}\", but \"{name}\" begins at \"{start}\""
                    ),
                    |_| {},
                );
                good = false;
            }
            path.push(link);
        }
        good.then_some(path)
    }

    pub(super) fn rtt(
        &self,
        item: &Item<'_>,
        own: Option<Time>,
        is_tcp: bool,
    ) -> Option<Distribution> {
        let rtt = self.distribution(item)?;
        let problem = match &rtt {
            Distribution::Exponential(_) => "a round-trip time cannot be exponential, because it could be below the path's propagation".to_owned(),
            _ if is_tcp && least(&rtt) <= 0.0 => "a round-trip time of zero".to_owned(),
            // picosecond rounding of the sum must not refuse an rtt that is written equal to it
            _ if own.is_some_and(|own| Time::from_seconds(least(&rtt)) < own) => {
                let own = own.unwrap_or_default();
                self.refuse(
                    item,
                    "below the path's own propagation",
                    format!("{} or more", format_time(own)),
                );
                return None;
            }
            _ => return Some(rtt),
        };
        self.wrong(item, problem);
        None
    }

    pub(super) fn default_rtt(
        &self,
        table: &Table<'_>,
        net: &Net,
        path: &[LinkId],
        back: Option<&[LinkId]>,
        is_tcp: bool,
    ) -> Option<Distribution> {
        let total = match back {
            Some(_) => own(net, path, back)?,
            None => Time(net.propagation(path)?.0.saturating_mul(2)),
        };
        if total == Time::ZERO && is_tcp {
            self.missing(
                &table.place,
                "rtt",
                format!(
                    "{}; the links of the path have no delay",
                    keys::Kind::Distribution.allowed()
                ),
            );
            return None;
        }
        Some(Distribution::Fixed(seconds(total)))
    }
}
