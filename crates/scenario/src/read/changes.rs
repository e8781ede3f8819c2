//! What changes during the run.

use std::borrow::Cow;

use ackclock_algorithms::{Fault, ParameterSpec, Time, Value as Setpoint, ValueError};

use super::flows::{NamedClass, traffic_kind};
use super::network::Net;
use super::routes::{least, own};
use super::{Item, Place, Reader, Rule, Table, join};
use crate::keys::{self, Key};
use crate::model::{Change, Distribution, End, FlowClass, Link, LinkId, Setting};
use crate::tree::{Name, Node, Value};
use crate::units::format_time;

/// One key of a change that has been read but not yet checked against what came before it.
pub(super) struct Draft<'n> {
    at: Time,
    setting: Setting,
    item: Item<'n>,
    /// Which `[[change]]` it belongs to.
    group: usize,
}

impl Reader<'_> {
    /// `[[change]]`.
    pub(super) fn changes(
        &self,
        root: &Table<'_>,
        net: &Net,
        flows: &[NamedClass],
        end: Option<End>,
    ) -> Option<Vec<Change>> {
        let mut drafts = Vec::new();
        let mut good = true;
        for (group, (place, node)) in self.repeated(root, "change")?.into_iter().enumerate() {
            let before = self.errors.borrow().len();
            self.change(node, place, net, flows, end, group, &mut drafts);
            good &= self.errors.borrow().len() == before;
        }
        drafts.sort_by_key(|draft| draft.at);
        self.replay(drafts, net, flows).filter(|_| good)
    }

    #[allow(clippy::too_many_arguments)]
    fn change<'n>(
        &self,
        node: &'n Node,
        place: Place,
        net: &Net,
        flows: &[NamedClass],
        end: Option<End>,
        group: usize,
        drafts: &mut Vec<Draft<'n>>,
    ) -> Option<()> {
        let Value::Table(entries) = &node.value else {
            self.table(node, place, keys::CHANGE.keys, &[]);
            return None;
        };
        let table = Table {
            place,
            entries,
            keys: keys::CHANGE.keys,
        };
        let at = self.item(&table, "at").and_then(|item| {
            let at = self.time(&item)?;
            match end {
                Some(End::At(end)) if at >= end => {
                    self.push(
                        &item.place,
                        "the change would come after the end of the run",
                        |diagnostic| {
                            diagnostic.found = Some(item.node.describe());
                            diagnostic.allowed = Some(format!("times before {}", format_time(end)));
                        },
                    );
                    None
                }
                _ => Some(at),
            }
        });
        match (table.given("link"), table.given("flows")) {
            (Some(item), None) => {
                let name = self.name(&item)?;
                let Some(link) = net.find(&name) else {
                    let names: Vec<&str> = net.names().collect();
                    self.unknown_name(
                        &item.place,
                        format!("there is no link \"{name}\""),
                        &name,
                        &names,
                    );
                    return None;
                };
                self.link_change(&table, link, net.links[link].as_ref()?, at, group, drafts)
            }
            (None, Some(item)) => {
                let name = self.name(&item)?;
                let Some(class) = flows.iter().position(|(known, _)| *known == name) else {
                    let names: Vec<&str> = flows.iter().map(|(name, _)| name.as_str()).collect();
                    self.unknown_name(
                        &item.place,
                        format!("there is no class of flows \"{name}\""),
                        &name,
                        &names,
                    );
                    return None;
                };
                self.flows_change(&table, class, flows[class].1.as_ref()?, at, group, drafts)
            }
            (None, None) => {
                self.missing(
                    &table.place,
                    "link",
                    "the name of a link, or `flows = ` the name of a class".to_owned(),
                );
                None
            }
            (Some(_), Some(item)) => {
                self.push(&item.place, "both a link and a class", |diagnostic| {
                    diagnostic.allowed = Some("one of them; write two changes".to_owned());
                });
                None
            }
        }
    }

    fn link_change<'n>(
        &self,
        table: &Table<'n>,
        link: LinkId,
        before: &Link,
        at: Option<Time>,
        group: usize,
        drafts: &mut Vec<Draft<'n>>,
    ) -> Option<()> {
        let parameters: Vec<&'static ParameterSpec> = before
            .aqm
            .meta()
            .map_or(&[][..], |meta| meta.parameters)
            .iter()
            .collect();
        let rate = before.rate;
        let of_link: Vec<&'static Key> = keys::LINK
            .keys
            .iter()
            .filter(|key| key.changeable)
            .collect();
        let of_queue: Vec<&'static Key> = keys::QUEUE
            .keys
            .iter()
            .filter(|key| key.changeable)
            .collect();
        let numeric = || {
            parameters
                .iter()
                .filter(|spec| spec.kind.is_numeric())
                .map(|spec| spec.name)
        };
        let queue_names: Vec<&str> = of_queue
            .iter()
            .map(|key| key.name)
            .chain(numeric())
            .collect();
        let names: Vec<&str> = ["at", "link", "queue"]
            .into_iter()
            .chain(of_link.iter().map(|key| key.name))
            .chain(queue_names.iter().copied())
            .collect();
        let mut found = false;
        let mut take = |entry: &'n (Name, Node), place: Place, in_queue: bool| {
            let name = entry.0.text.as_str();
            let names = if in_queue { &queue_names } else { &names };
            let item = |rule| Item {
                node: Cow::Borrowed(&entry.1),
                place: place.clone(),
                rule,
            };
            let draft = if let Some(key) = of_link.iter().find(|key| key.name == name && !in_queue)
            {
                let item = item(Rule::Key(key));
                let setting = match key.name {
                    "rate" => self.rate(&item).map(|rate| Setting::LinkRate(link, rate)),
                    _ => self
                        .time(&item)
                        .map(|delay| Setting::LinkDelay(link, delay)),
                };
                setting.map(|setting| (setting, item))
            } else if let Some(key) = of_queue.iter().find(|key| key.name == name) {
                let item = item(Rule::Key(key));
                self.capacity(&item, Some(rate))
                    .map(|capacity| (Setting::LinkCapacity(link, capacity), item))
            } else if let Some(spec) = parameters.iter().find(|spec| spec.name == name) {
                let item = item(Rule::Parameter(spec));
                if !spec.kind.is_numeric() {
                    self.push(
                        &item.place,
                        "not a numeric parameter, which cannot change during a run",
                        |diagnostic| {
                            diagnostic.allowed = Some(names.join(", "));
                        },
                    );
                    return;
                }
                match self.parameter(&item, spec) {
                    Some(Setpoint::Number(value)) => Some((
                        Setting::AqmParameter(link, spec.name.to_owned(), value),
                        item,
                    )),
                    Some(_) => {
                        self.wrong(&item, "a change needs a number");
                        None
                    }
                    None => None,
                }
            } else {
                let parent = place.key.rsplit_once('.').map_or("", |(parent, _)| parent);
                self.unknown_key(
                    &Place {
                        key: parent.to_owned(),
                        span: None,
                    },
                    &entry.0,
                    names,
                );
                None
            };
            if let (Some((setting, item)), Some(at)) = (draft, at) {
                drafts.push(Draft {
                    at,
                    setting,
                    item,
                    group,
                });
            }
        };
        for entry in table.entries {
            match entry.0.text.as_str() {
                "at" | "link" => continue,
                "queue" => {
                    let place = table.place_of(entry);
                    let Value::Table(inner) = &entry.1.value else {
                        self.push(&place, "the wrong kind of value", |diagnostic| {
                            diagnostic.found = Some(entry.1.describe());
                            diagnostic.allowed =
                                Some(format!("a table with the keys {}", queue_names.join(", ")));
                        });
                        return None;
                    };
                    for entry in inner {
                        take(
                            entry,
                            Place {
                                key: join(&place.key, &entry.0.text),
                                span: entry.1.span.clone(),
                            },
                            true,
                        );
                    }
                }
                _ => take(entry, table.place_of(entry), false),
            }
            found = true;
        }
        self.not_idle(table, found, &names[2..])
    }

    fn flows_change<'n>(
        &self,
        table: &Table<'n>,
        class: usize,
        before: &FlowClass,
        at: Option<Time>,
        group: usize,
        drafts: &mut Vec<Draft<'n>>,
    ) -> Option<()> {
        let kind = traffic_kind(&before.traffic);
        let is_tcp = before.traffic.is_tcp();
        let of_class: Vec<&'static Key> = keys::FLOWS
            .keys
            .iter()
            .filter(|key| key.changeable && (is_tcp || !keys::TCP_KEYS.contains(&key.name)))
            .chain(kind.keys.iter().filter(|key| key.changeable))
            .collect();
        let names: Vec<&str> = ["at", "flows"]
            .into_iter()
            .chain(of_class.iter().map(|key| key.name))
            .collect();
        let mut found = false;
        for entry in table.entries {
            let name = entry.0.text.as_str();
            if matches!(name, "at" | "flows") {
                continue;
            }
            found = true;
            let Some(key) = of_class.iter().find(|key| key.name == name) else {
                self.unknown_key(&table.place, &entry.0, &names);
                continue;
            };
            let item = Item {
                node: Cow::Borrowed(&entry.1),
                place: table.place_of(entry),
                rule: Rule::Key(key),
            };
            if item.is_word() {
                self.wrong(&item, "a change needs a number");
                continue;
            }
            let setting = match key.name {
                "count" => self
                    .integer(&item)
                    .and_then(|count| u32::try_from(count).ok())
                    .map(|count| Setting::Count(class, count)),
                "rtt" => self.distribution(&item).map(|rtt| Setting::Rtt(class, rtt)),
                "access_rate" if before.access_rate.is_none() => {
                    self.push(
                        &item.place,
                        "the class has no access rate that could change",
                        |diagnostic| {
                            diagnostic.allowed = Some("give the class an access_rate".to_owned());
                        },
                    );
                    None
                }
                "access_rate" => self
                    .rate(&item)
                    .map(|rate| Setting::AccessRate(class, rate)),
                "max_window" => self
                    .whole_packets(&item)
                    .map(|window| Setting::MaxWindow(class, window)),
                _ => self
                    .rate(&item)
                    .map(|rate| Setting::TrafficRate(class, rate)),
            };
            if let (Some(setting), Some(at)) = (setting, at) {
                drafts.push(Draft {
                    at,
                    setting,
                    item,
                    group,
                });
            }
        }
        self.not_idle(table, found, &names[2..])
    }

    fn not_idle(&self, table: &Table<'_>, found: bool, names: &[&str]) -> Option<()> {
        if !found {
            self.push(
                &table.place,
                "a change that changes nothing",
                |diagnostic| diagnostic.allowed = Some(names.join(", ")),
            );
        }
        found.then_some(())
    }

    /// Applies the changes one after the other, so that each is checked against the world that it finds.
    fn replay(
        &self,
        drafts: Vec<Draft<'_>>,
        net: &Net,
        flows: &[NamedClass],
    ) -> Option<Vec<Change>> {
        let mut now = net.clone();
        let mut changes = Vec::with_capacity(drafts.len());
        let mut good = true;
        let mut waiting = std::collections::VecDeque::from(drafts);
        while let Some(first) = waiting.pop_front() {
            let mut batch = vec![first];
            while waiting
                .front()
                .is_some_and(|next| next.group == batch[0].group)
            {
                batch.extend(waiting.pop_front());
            }
            // the keys of one change hold together: a lower threshold may have to wait for the upper one
            while !batch.is_empty() {
                let before = batch.len();
                let mut refused = Vec::new();
                for draft in batch {
                    match self.apply(&draft, &mut now, flows) {
                        Ok(()) => changes.push(Change {
                            at: draft.at,
                            set: draft.setting,
                        }),
                        Err(error) => refused.push((draft, error)),
                    }
                }
                if refused.len() == before {
                    good = false;
                    for (draft, error) in &refused {
                        self.refused(&draft.item.place, error);
                    }
                    break;
                }
                batch = refused.into_iter().map(|(draft, _)| draft).collect();
            }
        }
        good.then_some(changes)
    }

    fn apply(
        &self,
        draft: &Draft<'_>,
        now: &mut Net,
        flows: &[NamedClass],
    ) -> Result<(), ValueError> {
        match &draft.setting {
            Setting::LinkDelay(link, delay) => {
                if let Some(link) = &mut now.links[*link] {
                    link.delay = *delay;
                }
            }
            Setting::AqmParameter(link, name, value) => {
                if let Some(link) = &mut now.links[*link] {
                    link.aqm.set(name, *value)?;
                }
            }
            Setting::Rtt(class, rtt) => {
                let own = flows[*class]
                    .1
                    .as_ref()
                    .and_then(|class| own(now, &class.path, class.reverse_path.as_deref()));
                let own = own.unwrap_or_default();
                if matches!(rtt, Distribution::Exponential(_))
                    || least(rtt) <= 0.0
                    || Time::from_seconds(least(rtt)) < own
                {
                    return Err(ValueError {
                        name: "rtt".to_owned(),
                        fault: Fault::OutOfRange,
                        found: draft.item.node.describe(),
                        allowed: format!(
                            "above zero, and at least the path's own propagation at that time ({})",
                            format_time(own)
                        ),
                    });
                }
            }
            _ => {}
        }
        Ok(())
    }
}
