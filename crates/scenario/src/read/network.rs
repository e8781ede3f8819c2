//! Links and the topology templates that stand for them.

use std::borrow::Cow;
use std::collections::HashMap;

use ackclock_algorithms::Time;
use ackclock_algorithms::meta::Meta;
use ackclock_algorithms::registry::{AqmSpec, aqms};
use ackclock_algorithms::scheduler::{SchedulerSpec, schedulers};

use super::tree::{below, has_classes};
use super::{Item, Place, Reader, Rule, Seen, Table, join};
use crate::keys::{self, Key, Queue};
use crate::model::{Capacity, Link, LinkId};
use crate::options::Style;
use crate::reader::is_named;
use crate::tree::{Name, Node, Value};

/// The links of a scenario while it is read.
#[derive(Clone)]
pub(super) struct Net {
    /// Names in the order of the file, also of links that have mistakes; the nodes that a link
    /// joins.
    pub(super) names: Vec<(String, Option<(String, String)>)>,
    /// `None` where a link has mistakes.
    pub(super) links: Vec<Option<Link>>,
    /// Ends of a flow without a path.
    pub(super) ends: Option<(String, String)>,
    index: HashMap<String, LinkId>,
}

impl Net {
    fn new(ends: Option<(String, String)>) -> Self {
        Self {
            names: Vec::new(),
            links: Vec::new(),
            ends,
            index: HashMap::new(),
        }
    }

    /// The nodes that each link joins, where it names them.
    pub(super) fn graph(&self) -> Vec<Option<(&str, &str)>> {
        self.names
            .iter()
            .map(|(_, ends)| ends.as_ref().map(|(from, to)| (from.as_str(), to.as_str())))
            .collect()
    }

    /// The first link of a name keeps it.
    fn push(&mut self, name: String, ends: Option<(String, String)>, link: Option<Link>) {
        self.index.entry(name.clone()).or_insert(self.names.len());
        self.names.push((name, ends));
        self.links.push(link);
    }

    pub(super) fn find(&self, name: &str) -> Option<LinkId> {
        self.index.get(name).copied()
    }

    /// Each name once.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        let names = self.names.iter().map(|(name, _)| name.as_str());
        let first = |(place, name): &(usize, &str)| self.find(name) == Some(*place);
        names.enumerate().filter(first).map(|(_, name)| name)
    }

    pub(super) fn nodes(&self) -> Vec<&str> {
        let mut nodes: Vec<&str> = self
            .names
            .iter()
            .filter_map(|(_, ends)| ends.as_ref())
            .flat_map(|(from, to)| [from.as_str(), to])
            .collect();
        nodes.sort_unstable();
        nodes.dedup();
        nodes
    }

    /// Rate of the slowest link, bit/s; `None` if a link has mistakes.
    pub(super) fn slowest(&self, path: &[LinkId]) -> Option<f64> {
        path.iter().try_fold(f64::INFINITY, |least, link| {
            Some(least.min(self.links.get(*link)?.as_ref()?.rate))
        })
    }

    /// Sum of the propagation delays; `None` if a link has mistakes.
    pub(super) fn propagation(&self, path: &[LinkId]) -> Option<Time> {
        path.iter().try_fold(Time::ZERO, |sum, link| {
            let delay = self.links.get(*link)?.as_ref()?.delay;
            Some(Time(sum.0.saturating_add(delay.0)))
        })
    }
}

impl Reader<'_> {
    pub(super) fn net(&self, root: &Table<'_>) -> Option<Net> {
        let shapes: Vec<&(Name, Node)> = ["link", "dumbbell", "parking_lot"]
            .into_iter()
            .filter_map(|name| root.find(name))
            .collect();
        if let [_, second, ..] = shapes[..] {
            let place = Place {
                key: second.0.text.clone(),
                span: second.0.span.clone(),
            };
            self.push(
                &place,
                "a second description of the network",
                |diagnostic| {
                    diagnostic.allowed =
                        Some("either [[link]], or [dumbbell], or [parking_lot]".to_owned());
                },
            );
            return None;
        }
        let Some(entry) = shapes.first() else {
            self.push(&root.place, "there are no links", |diagnostic| {
                diagnostic.allowed = Some("[[link]], or [dumbbell], or [parking_lot]".to_owned());
            });
            return None;
        };
        match entry.0.text.as_str() {
            "link" => self.links(root),
            "dumbbell" => self.shape(
                &entry.1,
                root.place_of(entry),
                keys::DUMBBELL.keys,
                |_, _| Some(1),
                |_| "bottleneck".to_owned(),
                |node| {
                    if node == 0 {
                        "left".to_owned()
                    } else {
                        "right".to_owned()
                    }
                },
            ),
            _ => self.shape(
                &entry.1,
                root.place_of(entry),
                keys::PARKING_LOT.keys,
                |reader, table| {
                    reader
                        .item(table, "hops")
                        .and_then(|item| reader.integer(&item))
                },
                |hop| format!("hop-{hop}"),
                |node| format!("node-{node}"),
            ),
        }
    }

    /// `[[link]]`.
    fn links(&self, root: &Table<'_>) -> Option<Net> {
        let tables = self.repeated(root, "link")?;
        if tables.is_empty() {
            self.push(&root.place, "there are no links", |diagnostic| {
                diagnostic.allowed = Some("[[link]]".to_owned());
            });
            return None;
        }
        let mut net = Net::new(None);
        let mut observed = Seen::new();
        for (place, node) in tables {
            let Some(table) = self.table(node, place, keys::LINK.keys, &[]) else {
                net.push(String::new(), None, None);
                continue;
            };
            let name = self.item(&table, "name").and_then(|item| {
                let name = self.name(&item)?;
                self.unique(&mut observed, &name, &item.place);
                Some(name)
            });
            let rate = self
                .item(&table, "rate")
                .and_then(|item| self.rate_or_trace(&item));
            let mut link = Link::read(self, &table, Style::default());
            let queue = self.queue(&table, rate.as_ref().map(|rate| rate.0));
            let from = table.given("from").map(|item| self.name(&item));
            let to = table.given("to").map(|item| self.name(&item));
            if from.is_some() != to.is_some() {
                let (given, other) = if from.is_some() {
                    ("from", "to")
                } else {
                    ("to", "from")
                };
                self.missing(
                    &table.place,
                    other,
                    format!("the other node, because `{given}` is given"),
                );
            }
            let ends = from.flatten().zip(to.flatten());
            let known = name.clone().unwrap_or_default();
            link.name = name;
            (link.rate, link.trace) = rate.unzip();
            if let Some(queue) = queue {
                link.capacity = Some(queue.capacity);
                link.aqm = Some(queue.aqm);
                link.scheduler = Some(queue.scheduler);
                link.tree = Some(queue.tree);
            }
            self.served(&table, &link);
            net.push(known, ends, link.finish());
        }
        Some(net)
    }

    /// `queue = { ... }` of a link, or the default queue.
    pub(super) fn queue(&self, link: &Table<'_>, rate: Option<f64>) -> Option<Queue> {
        let empty = Node::table([]);
        let (node, place) = match link.find("queue") {
            Some(entry) => (&entry.1, link.place_of(entry)),
            None => (&empty, below(link, "queue")),
        };
        self.queue_node(node, place, rate)
    }

    fn queue_node(&self, node: &Node, place: Place, rate: Option<f64>) -> Option<Queue> {
        let named = named_alone(node);
        let node = named.as_ref().unwrap_or(node);
        // a queue may also be given by the name of its scheduler, where an AQM's may stand
        let scheduled = with_scheduler(node);
        let node = scheduled.as_ref().unwrap_or(node);
        if has_classes(node) {
            let tree = self.tree(node, place, rate)?;
            return Some(Queue {
                scheduler: None,
                aqm: AqmSpec::from_values("drop-tail", &[]).ok()?,
                capacity: Capacity::Unlimited,
                tree: Some(tree),
            });
        }
        // the valid names depend on the AQM, which is therefore read first
        let Value::Table(entries) = &node.value else {
            self.table(node, place, keys::QUEUE.keys, &[]);
            return None;
        };
        let table = Table {
            place: place.clone(),
            entries,
            keys: keys::QUEUE.keys,
        };
        let mut queue = Queue::read(self, &table, Style::default());
        queue.tree = Some(None);
        let known = queue.scheduler.flatten();
        let beside = known
            .filter(|_| scheduled.is_some())
            .map_or_else(Vec::new, names_of);
        queue.capacity = match (table.given("capacity"), known) {
            (Some(item), _) => self.capacity(&item, rate),
            (None, Some(scheduler)) if scheduler.default_capacity().is_some() => {
                scheduler.default_capacity().map(Capacity::Packets)
            }
            (None, _) => self.capacity(&self.standing(&table, "capacity", "100 ms"), rate),
        };
        let own = match known {
            Some(scheduler) => scheduler.default_aqm(),
            None => Some(("drop-tail", Vec::new())),
        };
        let given = table.given("aqm");
        let Some((own, defaults)) = own else {
            if let (Some(item), Some(scheduler)) = (given, known) {
                self.judges_itself(&item, scheduler);
                return None;
            }
            self.table(node, place, keys::QUEUE.keys, &beside)?;
            queue.aqm = AqmSpec::from_values("drop-tail", &[]).ok();
            return queue.finish();
        };
        let item = given.unwrap_or_else(|| self.standing(&table, "aqm", own));
        let meta = self.algorithm(&item, aqms(), "AQM")?;
        let own_names = meta.parameters.iter().map(|spec| spec.name);
        let names: Vec<&str> = beside.into_iter().chain(own_names).collect();
        if meta.by_rate && queue.scheduler.as_ref().is_some_and(Option::is_some) {
            self.push(
                &item.place,
                format!("contradicts the scheduler: {} steers by the rate of its queue, and sub-queues share theirs", meta.kind),
                |diagnostic| diagnostic.allowed = Some("another AQM, or no scheduler".to_owned()),
            );
            return None;
        }
        let table = self.table(node, place, keys::QUEUE.keys, &names)?;
        let mut values = self.parameters(&table, meta)?;
        if meta.kind == own {
            let missing = |(name, _): &(String, _)| table.find(name).is_none();
            values.extend(defaults.into_iter().filter(missing));
        }
        let aqm = AqmSpec::from_values(meta.kind, &values)
            .map_err(|error| self.refused(&Self::place_of_parameter(&table, &error.name), &error))
            .ok()?;
        if queue.capacity == Some(Capacity::Unlimited) {
            self.needs_no_limit(&table, &aqm)?;
        }
        queue.aqm = Some(aqm);
        queue.finish()
    }

    /// Refuses an AQM beside a scheduler that judges packets itself.
    fn judges_itself(&self, aqm: &Item<'_>, scheduler: SchedulerSpec) {
        let problem = format!("scheduler {} is its own AQM", scheduler.kind());
        self.push(&aqm.place, problem, |diagnostic| {
            diagnostic.allowed = Some("no `aqm` beside it".to_owned());
        });
    }

    /// Refuses an unlimited queue whose AQM takes a parameter from its capacity.
    fn needs_no_limit(&self, table: &Table<'_>, aqm: &AqmSpec) -> Option<()> {
        let same = ackclock_algorithms::Value::Word("capacity".to_owned());
        let Some((name, _)) = aqm.values().into_iter().find(|(_, value)| *value == same) else {
            return Some(());
        };
        self.push(
            &Self::place_of_parameter(table, name),
            format!("contradicts the unlimited queue: `{name}` is its capacity"),
            |diagnostic| {
                diagnostic.allowed = Some("a number of packets, or a limited queue".to_owned());
            },
        );
        None
    }

    /// The item of a key that is not given, as if `text` stood there.
    fn standing<'n>(&self, table: &Table<'n>, name: &str, text: &str) -> Item<'n> {
        Item {
            node: Cow::Owned(Node::text(text)),
            place: Place {
                key: join(&table.place.key, name),
                span: table.place.span.clone(),
            },
            rule: Rule::Key(table.key(name)),
        }
    }

    /// A topology template: equal links in a row, with or without a way back.
    fn shape(
        &self,
        node: &Node,
        place: Place,
        keys: &'static [Key],
        hops: impl Fn(&Self, &Table<'_>) -> Option<i64>,
        link_name: impl Fn(usize) -> String,
        node_name: impl Fn(usize) -> String,
    ) -> Option<Net> {
        let table = self.table(node, place, keys, &[])?;
        let hops = hops(self, &table).and_then(|hops| usize::try_from(hops).ok());
        let rate = self.item(&table, "rate").and_then(|item| self.rate(&item));
        let delay = self.item(&table, "delay").and_then(|item| self.time(&item));
        let queue = self.queue(&table, rate);
        let reverse = match table.find("reverse") {
            None => Some(None),
            Some(entry) => self.reverse(&table, entry, rate, delay).map(Some),
        };
        let hops = hops?;
        let forward = plain(rate?, delay?, queue?);
        let mut net = Net::new(Some((node_name(0), node_name(hops))));
        let mut push = |name: String, from: usize, to: usize, link: &Link| {
            let ends = Some((node_name(from), node_name(to)));
            net.push(
                name.clone(),
                ends,
                Some(Link {
                    name,
                    ..link.clone()
                }),
            );
        };
        for hop in 1..=hops {
            push(link_name(hop), hop - 1, hop, &forward);
        }
        if let Some(back) = reverse? {
            for hop in 1..=hops {
                push(format!("{}-reverse", link_name(hop)), hop, hop - 1, &back);
            }
        }
        Some(net)
    }

    fn reverse(
        &self,
        shape: &Table<'_>,
        entry: &(Name, Node),
        rate: Option<f64>,
        delay: Option<Time>,
    ) -> Option<Link> {
        let table = self.table(&entry.1, shape.place_of(entry), keys::REVERSE.keys, &[])?;
        let rate = table.given("rate").map_or(rate, |item| self.rate(&item));
        let delay = table.given("delay").map_or(delay, |item| self.time(&item));
        // the forward queue's capacity in time means another number of bytes at another rate, so it
        // is read again
        let queue = if table.find("queue").is_some() {
            self.queue(&table, rate)?
        } else {
            let before = self.errors.borrow().len();
            let queue = self.queue(shape, rate);
            self.errors.borrow_mut().truncate(before); // reported for the forward queue already
            queue?
        };
        Some(plain(rate?, delay?, queue))
    }
}

/// A link without a name and without impairments.
fn plain(rate: f64, delay: Time, queue: Queue) -> Link {
    Link {
        name: String::new(),
        rate,
        trace: None,
        delay,
        capacity: queue.capacity,
        aqm: queue.aqm,
        scheduler: queue.scheduler,
        tree: queue.tree,
        policer: None,
        shaper: None,
        service: None,
        medium: None,
        stalls: None,
        autorate: None,
        loss: None,
        jitter: None,
    }
}

/// The table of a queue that is given by the name of its AQM alone.
fn named_alone(node: &Node) -> Option<Node> {
    let Value::Text(_) = node.value else {
        return None;
    };
    let aqm = Name {
        text: "aqm".to_owned(),
        span: node.span.clone(),
    };
    Some(Node {
        value: Value::Table(vec![(aqm, node.clone())]),
        span: node.span.clone(),
    })
}

/// The names of a scheduler's parameters, which may stand beside its own.
fn names_of(scheduler: SchedulerSpec) -> Vec<&'static str> {
    let parameters = scheduler.meta().parameters.iter();
    parameters.map(|spec| spec.name).collect()
}

/// `{ aqm = "fq_codel", quantum = "300 B", target = "5 ms" }` or `{ scheduler = "cake", isolation = "hosts" }`
/// in full: the scheduler and its parameters in a table of their own, those of its AQM beside it. `None`
/// where the queue names no scheduler so.
fn with_scheduler(node: &Node) -> Option<Node> {
    let Value::Table(entries) = &node.value else {
        return None;
    };
    let find = |key: &str| entries.iter().find(|(name, _)| name.text == key);
    let text = |key: &str| match find(key) {
        Some((tag, kind)) => match &kind.value {
            Value::Text(text) => Some((tag, kind, text.as_str())),
            _ => None,
        },
        None => None,
    };
    let named = |kind: &str| schedulers().iter().find(|meta| is_named(meta, kind));
    let other = find("scheduler")
        .is_some_and(|(_, node)| !matches!(&node.value, Value::Text(text) if text == "none"));
    let (tag, kind, meta) = match text("aqm") {
        Some((tag, kind, text)) if !other && named(text).is_some() => (tag, kind, named(text)?),
        _ => {
            let (tag, kind, text) = text("scheduler")?;
            (tag, kind, named(text)?)
        }
    };
    // what an AQM beside it may have, too, is the AQM's
    let aqm = text("aqm").and_then(|(_, _, text)| aqms().iter().find(|meta| is_named(meta, text)));
    let is_its = |(name, _): &&(Name, Node)| {
        let has = |meta: &Meta| meta.parameters.iter().any(|spec| spec.name == name.text);
        has(meta) && !aqm.is_some_and(has)
    };
    let name = |text: &str| Name {
        text: text.to_owned(),
        span: tag.span.clone(),
    };
    let mut own = vec![(name("kind"), kind.clone())];
    own.extend(entries.iter().filter(is_its).cloned());
    let mut queue = vec![(
        name("scheduler"),
        Node {
            value: Value::Table(own),
            span: kind.span.clone(),
        },
    )];
    let rest = |entry: &&(Name, Node)| {
        let key = entry.0.text.as_str();
        !is_its(entry) && key != "scheduler" && key != tag.text
    };
    queue.extend(entries.iter().filter(rest).cloned());
    Some(Node {
        value: Value::Table(queue),
        span: node.span.clone(),
    })
}
