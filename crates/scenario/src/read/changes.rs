//! Changes during the run.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};

use ackclock_algorithms::{Fault, ParameterSpec, Time, Value as Setpoint, ValueError};

use super::flows::NamedClass;
use super::network::Net;
use super::routes::{least, own};
use super::{Item, Place, Reader, Rule, Table, join};
use crate::keys::{self, Bottleneck, Key, Target, Tcp};
use crate::model::{Change, ClassId, Distribution, End, FlowClass, Link, LinkId, Setting, Traffic};
use crate::tree::{Name, Node, Value};
use crate::units::{Dimension, format_time};

/// One key of a change that has been read but not yet checked against what came before it.
struct Draft<'n> {
    at: Time,
    setting: Setting,
    item: Item<'n>,
    /// Flows enter or leave during so much time from `at`.
    over: Time,
    /// Which `[[change]]` it belongs to.
    group: usize,
}

/// Links and flows that changes may refer to.
struct ChangeContext<'w> {
    net: &'w Net,
    flows: &'w [NamedClass],
    classes: HashMap<&'w str, ClassId>,
    end: Option<End>,
}

/// A change is repeated at most so many times.
const MOST_REPEATS: u64 = 100_000;

/// A change of a number of flows over some time has at most so many steps.
const MOST_STEPS: u32 = 1000;

/// The keys of a change to a link.
struct LinkKeys {
    link: Vec<&'static Key>,
    queue: Vec<&'static Key>,
    parameters: &'static [ParameterSpec],
}

impl LinkKeys {
    fn of(link: &Link) -> Self {
        Self {
            link: Target::Link.keys().collect(),
            queue: match link.tree {
                Some(_) => Vec::new(),
                None => Target::Queue.keys().collect(),
            },
            parameters: match (&link.tree, link.aqm.meta()) {
                (None, Some(meta)) => meta.parameters,
                _ => &[],
            },
        }
    }

    /// Names that may stand in `queue = { ... }`, or directly.
    fn names_in_queue(&self) -> Vec<&'static str> {
        let numeric = self.parameters.iter().filter(|spec| spec.kind.is_numeric());
        let keys = self.queue.iter().map(|key| key.name);
        keys.chain(numeric.map(|spec| spec.name)).collect()
    }

    fn names(&self) -> Vec<&'static str> {
        let keys = self.link.iter().map(|key| key.name);
        keys.chain(["queue"]).chain(self.names_in_queue()).collect()
    }
}

/// New values, where they stand, and which of the repetitions of a change they belong to: every
/// `.1`th from the `.0`th on.
type Settings<'n> = Vec<(Setting, Item<'n>, (u64, u64))>;

/// A `[[change]]`: from when on, how often, over what time, and its settings.
type Planned<'n> = (Time, Repeats, Time, Settings<'n>);

/// When a change comes again.
#[derive(Clone, Copy)]
struct Repeats {
    every: Time,
    times: u64,
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
        let names = flows.iter().enumerate();
        let classes = names
            .map(|(class, (name, _))| (name.as_str(), class))
            .collect();
        let context = ChangeContext {
            net,
            flows,
            classes,
            end,
        };
        let mut drafts = Vec::new();
        let mut good = true;
        let mut group = 0;
        for (place, node) in self.repeated(root, "change")? {
            let Some((at, repeats, over, settings)) = self.change(node, place, &context) else {
                good = false;
                continue;
            };
            for turn in 0..repeats.times {
                group += 1;
                let due = settings.iter().filter(|it| turn % it.2.1 == it.2.0);
                drafts.extend(due.map(|(setting, item, _)| Draft {
                    at: Time(at.0 + turn * repeats.every.0),
                    setting: setting.clone(),
                    item: item.clone(),
                    over,
                    group,
                }));
            }
        }
        drafts.sort_by_key(|draft| draft.at);
        let mut drafts = self.spread(drafts, flows)?;
        drafts.sort_by_key(|draft| draft.at);
        self.replay(drafts, net, flows).filter(|_| good)
    }

    fn change<'n>(
        &self,
        node: &'n Node,
        place: Place,
        context: &ChangeContext<'_>,
    ) -> Option<Planned<'n>> {
        let Value::Table(entries) = &node.value else {
            self.table(node, place, keys::CHANGE.keys, &[]);
            return None;
        };
        let table = Table {
            place,
            entries,
            keys: keys::CHANGE.keys,
        };
        let at = self
            .item(&table, "at")
            .and_then(|item| self.time_of_change(&item, context.end));
        let over = match table.given("over") {
            None => Some(Time::ZERO),
            Some(item) => self.span_of_change(&item, &table, at, context.end),
        };
        let settings = match (table.given("link"), table.given("flows")) {
            (Some(item), None) => self.link_change(&table, &item, context.net),
            (None, Some(item)) => self.flows_change(&table, &item, context),
            (None, None) => {
                let allowed = "the name of a link, or `flows = ` the name of a class";
                self.missing(&table.place, "link", allowed.to_owned());
                None
            }
            (Some(_), Some(item)) => {
                self.push(&item.place, "both a link and a class", |diagnostic| {
                    diagnostic.allowed = Some("one of them; write two changes".to_owned());
                });
                None
            }
        };
        let repeats = self.repeats(&table, at, context.end);
        Some((at?, repeats?, over?, settings?))
    }

    /// How often a change comes.
    fn repeats(&self, table: &Table<'_>, at: Option<Time>, end: Option<End>) -> Option<Repeats> {
        let (every, until) = (table.given("every"), table.given("until"));
        let Some(item) = every else {
            if let Some(item) = until {
                self.push(&item.place, "nothing is repeated", |diagnostic| {
                    diagnostic.allowed = Some("together with `every`".to_owned());
                });
                return None;
            }
            return Some(Repeats {
                every: Time::ZERO,
                times: 1,
            });
        };
        let every = self.time(&item)?;
        let last = match (&until, end?) {
            (Some(item), _) => self.time_of_change(item, end)?,
            (None, End::At(end)) => Time(end.0 - 1),
            (None, End::UntilDone) => {
                self.refuse(
                    &item,
                    "a run that lasts until all is done has no end to repeat to",
                    "together with `until`, or in a run with a duration".to_owned(),
                );
                return None;
            }
        };
        let times = 1 + last.0.saturating_sub(at?.0) / every.0.max(1);
        if times > MOST_REPEATS {
            self.refuse(
                &item,
                format!("the change would come {times} times"),
                format!("at most {MOST_REPEATS} times"),
            );
            return None;
        }
        Some(Repeats { every, times })
    }

    /// How long flows enter or leave.
    fn span_of_change(
        &self,
        item: &Item<'_>,
        table: &Table<'_>,
        at: Option<Time>,
        end: Option<End>,
    ) -> Option<Time> {
        let over = self.time(item)?;
        let problem = if table.find("count").is_none() {
            "only the number of flows changes bit by bit: there is no `count`"
        } else if let (Some(at), Some(End::At(end))) = (at, end)
            && at.0.saturating_add(over.0) >= end.0
        {
            "the change would last beyond the end of the run"
        } else {
            return Some(over);
        };
        self.wrong(item, problem);
        None
    }

    /// Changes of a number of flows over some time, as steps of as few flows as [`MOST_STEPS`]
    /// allows. Drafts are in order of time.
    fn spread<'n>(&self, drafts: Vec<Draft<'n>>, flows: &[NamedClass]) -> Option<Vec<Draft<'n>>> {
        let mut counts: HashMap<ClassId, (u32, Time)> = HashMap::new();
        let mut steps = Vec::with_capacity(drafts.len());
        for draft in drafts {
            let Setting::Count(class, to) = draft.setting else {
                steps.push(draft);
                continue;
            };
            let first = flows[class].1.as_ref().map_or(0, |class| class.count);
            let (from, busy) = counts
                .insert(class, (to, Time(draft.at.0 + draft.over.0)))
                .unwrap_or((first, Time::ZERO));
            if draft.at < busy {
                self.push(
                    &draft.item.place,
                    "an earlier change of this number is still going on",
                    |diagnostic| {
                        diagnostic.allowed = Some(format!("at {} or later", format_time(busy)));
                    },
                );
                return None;
            }
            let count = from.abs_diff(to).min(MOST_STEPS);
            if draft.over == Time::ZERO || count == 0 {
                steps.push(draft);
                continue;
            }
            for step in 1..=count {
                let part =
                    |span: u64| (u128::from(span) * u128::from(step) / u128::from(count)) as u64;
                let moved = part(u64::from(from.abs_diff(to))) as u32;
                let now = if to > from {
                    from + moved
                } else {
                    from - moved
                };
                steps.push(Draft {
                    at: Time(draft.at.0 + part(draft.over.0)),
                    setting: Setting::Count(class, now),
                    item: draft.item.clone(),
                    over: Time::ZERO,
                    group: draft.group,
                });
            }
        }
        Some(steps)
    }

    fn time_of_change(&self, item: &Item<'_>, end: Option<End>) -> Option<Time> {
        let at = self.time(item)?;
        match end {
            Some(End::At(end)) if at >= end => {
                self.refuse(
                    item,
                    "the change would come after the end of the run",
                    format!("times before {}", format_time(end)),
                );
                None
            }
            _ => Some(at),
        }
    }

    fn link_change<'n>(
        &self,
        table: &Table<'n>,
        target: &Item<'_>,
        net: &Net,
    ) -> Option<Settings<'n>> {
        let name = self.name(target)?;
        let Some(id) = net.find(&name) else {
            let names: Vec<&str> = net.names().collect();
            self.unknown_name(
                &target.place,
                format!("there is no link \"{name}\""),
                &name,
                &names,
            );
            return None;
        };
        let link = net.links[id].as_ref()?;
        let keys = LinkKeys::of(link);
        let mut settings = Vec::new();
        let mut good = true;
        let mut changes = false;
        for entry in table.entries {
            let place = table.place_of(entry);
            match (entry.0.text.as_str(), &entry.1.value) {
                (name, _) if keys::CHANGE.keys.iter().any(|key| key.name == name) => continue,
                ("queue", Value::Table(inner)) => {
                    for entry in inner {
                        let place = Place {
                            key: join(&place.key, &entry.0.text),
                            span: entry.1.span.clone(),
                        };
                        let setting =
                            self.link_setting((&entry.0, &entry.1), place, id, link, &keys, true);
                        good &= setting.is_some();
                        settings.extend(setting.map(|(set, item)| (set, item, (0, 1))));
                    }
                }
                ("queue", _) => {
                    self.push(&place, "the wrong kind of value", |diagnostic| {
                        let names = keys.names_in_queue().join(", ");
                        diagnostic.found = Some(entry.1.describe());
                        diagnostic.allowed = Some(format!("a table with the keys {names}"));
                    });
                    good = false;
                }
                (_, Value::Array(values))
                    if table.find("every").is_some() && !values.is_empty() =>
                {
                    let count = values.len() as u64;
                    for (turn, value) in values.iter().enumerate() {
                        let place = Place {
                            key: format!("{}[{turn}]", place.key),
                            span: value.span.clone().or_else(|| place.span.clone()),
                        };
                        let setting =
                            self.link_setting((&entry.0, value), place, id, link, &keys, false);
                        good &= setting.is_some();
                        let turn = turn as u64;
                        settings.extend(setting.map(|(set, item)| (set, item, (turn, count))));
                    }
                }
                _ => {
                    let entry = (&entry.0, &entry.1);
                    let setting = self.link_setting(entry, place, id, link, &keys, false);
                    good &= setting.is_some();
                    settings.extend(setting.map(|(set, item)| (set, item, (0, 1))));
                }
            }
            changes = true;
        }
        self.not_idle(table, changes, &keys.names())?;
        good.then_some(settings)
    }

    /// One key of a change to a link, directly in the change or in its `queue`.
    fn link_setting<'n>(
        &self,
        (key, node): (&'n Name, &'n Node),
        place: Place,
        id: LinkId,
        link: &Link,
        keys: &LinkKeys,
        in_queue: bool,
    ) -> Option<(Setting, Item<'n>)> {
        let name = key.text.as_str();
        let allowed = || match in_queue {
            true => keys.names_in_queue(),
            false => ["at", "link"].into_iter().chain(keys.names()).collect(),
        };
        let parent = Place {
            key: place
                .key
                .strip_suffix(name)
                .map_or("", |path| path.trim_end_matches('.'))
                .to_owned(),
            span: None,
        };
        let item = |rule| Item {
            node: Cow::Borrowed(node),
            place,
            rule,
        };
        if let Some(key) = keys.link.iter().find(|key| key.name == name && !in_queue) {
            let item = item(Rule::Key(key));
            if let Some((problem, allowed)) = fixed(key.name, link) {
                self.push(&item.place, problem, |diagnostic| {
                    diagnostic.allowed = Some(allowed.to_owned());
                });
                return None;
            }
            let setting = Setting::read(self, &item, (Target::Link, id), key)?;
            return Some((setting, item));
        }
        if let Some(key) = keys.queue.iter().find(|key| key.name == name) {
            let item = item(Rule::Key(key));
            let setting = match key.name {
                // a time means what the link sends in it
                "capacity" => Setting::LinkCapacity(id, self.capacity(&item, Some(link.rate))?),
                _ => Setting::read(self, &item, (Target::Queue, id), key)?,
            };
            return Some((setting, item));
        }
        let Some(spec) = keys.parameters.iter().find(|spec| spec.name == name) else {
            self.unknown_key(&parent, key, &allowed());
            return None;
        };
        let item = item(Rule::Parameter(spec));
        if !spec.kind.is_numeric() {
            self.push(
                &item.place,
                "not a numeric parameter, which cannot change during a run",
                |diagnostic| {
                    diagnostic.allowed = Some(allowed().join(", "));
                },
            );
            return None;
        }
        match self.parameter(&item, spec)? {
            Setpoint::Number(value) => {
                Some((Setting::AqmParameter(id, spec.name.to_owned(), value), item))
            }
            _ => {
                self.wrong(&item, "a change needs a number");
                None
            }
        }
    }

    fn flows_change<'n>(
        &self,
        table: &Table<'n>,
        target: &Item<'_>,
        context: &ChangeContext<'_>,
    ) -> Option<Settings<'n>> {
        let name = self.name(target)?;
        let Some(id) = context.classes.get(name.as_str()).copied() else {
            let names: Vec<&str> = context
                .flows
                .iter()
                .map(|(name, _)| name.as_str())
                .collect();
            self.unknown_name(
                &target.place,
                format!("there is no class of flows \"{name}\""),
                &name,
                &names,
            );
            return None;
        };
        let class = context.flows[id].1.as_ref()?;
        let is_tcp = class.traffic.is_tcp() && !class.tcp.congestion.is_endpoint();
        let of_class = Target::Class
            .keys()
            .filter(|key| is_tcp || Tcp::KEYS.iter().all(|only| only.name != key.name));
        let of_traffic = class.traffic.kind().keys.iter();
        let changeable: Vec<&'static Key> = of_class
            .chain(of_traffic.filter(|key| Target::Traffic.can_change(key)))
            .collect();
        let names: Vec<&str> = changeable.iter().map(|key| key.name).collect();
        let mut settings = Vec::new();
        let mut good = true;
        let mut changes = false;
        for entry in table.entries {
            if keys::CHANGE.keys.iter().any(|key| key.name == entry.0.text) {
                continue;
            }
            changes = true;
            let Some(key) = changeable.iter().find(|key| key.name == entry.0.text) else {
                let names: Vec<&str> = ["at", "flows", "over"]
                    .into_iter()
                    .chain(names.iter().copied())
                    .collect();
                self.unknown_key(&table.place, &entry.0, &names);
                good = false;
                continue;
            };
            let item = Item {
                node: Cow::Borrowed(&entry.1),
                place: table.place_of(entry),
                rule: Rule::Key(key),
            };
            let setting = self.flows_setting(&item, key, id, class, context.net);
            good &= setting.is_some();
            settings.extend(setting.map(|setting| (setting, item, (0, 1))));
        }
        self.not_idle(table, changes, &names)?;
        good.then_some(settings)
    }

    /// One key of a change to a class.
    fn flows_setting(
        &self,
        item: &Item<'_>,
        key: &Key,
        id: ClassId,
        class: &FlowClass,
        net: &Net,
    ) -> Option<Setting> {
        if item.is_word() {
            self.wrong(item, "a change needs a number");
            return None;
        }
        match key.name {
            "access_rate" if class.access_rate.is_none() => {
                self.push(
                    &item.place,
                    "the class has no access rate that could change",
                    |diagnostic| {
                        diagnostic.allowed = Some("give the class an access_rate".to_owned());
                    },
                );
                None
            }
            "density" | "load" => {
                let path = Bottleneck {
                    rate: net.slowest(&class.path),
                    flows: Some(class.count),
                };
                let rate = match &class.traffic {
                    Traffic::Arrivals { size, .. } => {
                        self.rate_of_share(item, Dimension::Frequency, |share| {
                            path.connections(share, size)
                        })?
                    }
                    _ => self.rate_of_share(item, Dimension::Rate, |share| path.rate(share))?,
                };
                Some(Setting::TrafficRate(id, rate))
            }
            "rate" => {
                let rate = match class.traffic {
                    Traffic::PackMime { .. } => self.packmime_rate(item)?,
                    Traffic::Arrivals { .. } => self.frequency(item)?,
                    _ => self.rate(item)?,
                };
                Some(Setting::TrafficRate(id, rate))
            }
            _ => match Setting::read(self, item, (Target::Class, id), key)? {
                Setting::Rtt(_, Distribution::Range(..)) if class.traffic.opens_connections() => {
                    self.wrong(item, "connections that come and go cannot be spaced evenly");
                    None
                }
                setting => Some(setting),
            },
        }
    }

    fn not_idle(&self, table: &Table<'_>, changes: bool, names: &[&str]) -> Option<()> {
        if !changes {
            self.push(
                &table.place,
                "a change that changes nothing",
                |diagnostic| diagnostic.allowed = Some(names.join(", ")),
            );
        }
        changes.then_some(())
    }

    /// Applies the changes one after the other, so that each is checked against the scenario that it
    /// finds.
    fn replay(
        &self,
        drafts: Vec<Draft<'_>>,
        net: &Net,
        flows: &[NamedClass],
    ) -> Option<Vec<Change>> {
        let mut now = net.clone();
        let mut changes = Vec::with_capacity(drafts.len());
        let mut good = true;
        let mut waiting = VecDeque::from(drafts);
        while let Some(first) = waiting.pop_front() {
            let mut batch = vec![first];
            while waiting
                .front()
                .is_some_and(|next| next.group == batch[0].group)
            {
                batch.extend(waiting.pop_front());
            }
            // the keys of one change hold together: a lower threshold may have to wait for the
            // upper one
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

/// Why a key of a link cannot change, and what there could be instead.
fn fixed(key: &str, link: &Link) -> Option<(&'static str, &'static str)> {
    match key {
        "rate" if link.trace.is_some() => Some((
            "the link's rate follows a trace, which cannot change",
            "a step of the trace, or a constant rate of the link",
        )),
        "rate" if link.autorate.is_some() => Some((
            "the link's rate follows probes, and cannot change",
            "a link without autorate",
        )),
        "loss" if link.loss.is_none() => Some((
            "the link has no loss that could change",
            "give the link a loss, such as \"0 %\"",
        )),
        _ => None,
    }
}
