//! Queues with classes.

use std::borrow::Cow;
use std::sync::Arc;

use ackclock_algorithms::Value as Setpoint;
use ackclock_algorithms::classes::{ClassSchedulerSpec, class_schedulers};
use ackclock_algorithms::scheduler::SchedulerSpec;

use super::{Item, Place, Reader, Seen, Table, join};
use crate::diagnostic::quoted_list;
use crate::keys::{self, Queue, Tree, TreeClass};
use crate::model::{FlowClass, Link, LinkId};
use crate::options::{Dscp, Style};
use crate::reader::{Filtered, is_named};
use crate::tree::{Node, Value};

/// Where the classes of a tree are collected.
struct Branch<'t> {
    spec: ClassSchedulerSpec,
    /// The most that the tree sends, bit/s.
    rate: Option<f64>,
    class_names: &'t mut Seen,
    filter_names: &'t mut Vec<(String, Place)>,
    classes: &'t mut Vec<TreeClass>,
}

/// Whether a queue names a scheduler that has classes.
pub(super) fn has_classes(node: &Node) -> bool {
    let Value::Table(entries) = &node.value else {
        return false;
    };
    let find = |entries: &[(crate::tree::Name, Node)], key: &str| {
        let entry = entries.iter().find(|(name, _)| name.text == key);
        entry.map(|(_, node)| node.value.clone())
    };
    let kind = match find(entries, "scheduler") {
        Some(Value::Text(kind)) => Some(kind),
        Some(Value::Table(inner)) => match find(&inner, "kind") {
            Some(Value::Text(kind)) => Some(kind),
            _ => None,
        },
        _ => None,
    };
    find(entries, "classes").is_some()
        || kind.is_some_and(|kind| class_schedulers().iter().any(|meta| is_named(meta, &kind)))
}

impl Reader<'_> {
    /// A scheduler with classes, and its parameters.
    pub(crate) fn class_scheduler(&self, item: &Item<'_>) -> Option<ClassSchedulerSpec> {
        if !matches!(item.node.value, Value::Text(_) | Value::Table(_)) {
            self.wrong_kind(item);
            return None;
        }
        let (meta, values) = self.named(item, class_schedulers(), "scheduler with classes")?;
        self.or_refused(item, ClassSchedulerSpec::from_values(meta.kind, &values))
    }

    /// Names in a list.
    pub(crate) fn names(&self, item: &Item<'_>) -> Option<Vec<String>> {
        Some(
            self.named_places(item)?
                .into_iter()
                .map(|it| it.0)
                .collect(),
        )
    }

    /// Code points, in the order of their numbers.
    pub(crate) fn code_points(&self, item: &Item<'_>) -> Option<Vec<Dscp>> {
        let nodes = match &item.node.value {
            Value::Array(nodes) => nodes.as_slice(),
            Value::Text(_) => std::slice::from_ref(&*item.node),
            _ => {
                self.wrong_kind(item);
                return None;
            }
        };
        let code = |node: &Node| {
            let place = Place {
                span: node.span.clone().or_else(|| item.place.span.clone()),
                ..item.place.clone()
            };
            self.option(&Item {
                node: Cow::Owned(node.clone()),
                place,
                rule: item.rule,
            })
        };
        let mut codes: Vec<Dscp> = nodes.iter().map(code).collect::<Option<_>>()?;
        codes.sort_by_key(|code| code.code());
        codes.dedup();
        Some(codes)
    }

    fn named_places(&self, item: &Item<'_>) -> Option<Vec<(String, Place)>> {
        let nodes = match &item.node.value {
            Value::Array(nodes) => nodes.as_slice(),
            Value::Text(_) => std::slice::from_ref(&*item.node),
            _ => {
                self.wrong_kind(item);
                return None;
            }
        };
        let name = |node: &Node| {
            let place = Place {
                span: node.span.clone().or_else(|| item.place.span.clone()),
                ..item.place.clone()
            };
            let entry = Item {
                node: Cow::Owned(node.clone()),
                place: place.clone(),
                rule: item.rule,
            };
            Some((self.name(&entry)?, place))
        };
        nodes.iter().map(name).collect()
    }

    /// A queue with classes; `rate` is the most that its class or its link sends.
    pub(super) fn tree(&self, node: &Node, place: Place, rate: Option<f64>) -> Option<Arc<Tree>> {
        let table = self.table(node, place.clone(), keys::TREE.keys, &[])?;
        let mut tree = Tree::read(self, &table, Style::default());
        let Some(list) = table.given("classes") else {
            self.missing(&table.place, "classes", keys::TREE.keys[2].allowed());
            return None;
        };
        let mut classes = Vec::new();
        let (mut observed, mut wanted) = (Seen::new(), Vec::new());
        let mut branch = Branch {
            spec: tree.scheduler?,
            rate,
            class_names: &mut observed,
            filter_names: &mut wanted,
            classes: &mut classes,
        };
        self.classes(&list, None, 1, &mut branch)?;
        tree.default = match table.given("default") {
            None => Some(None),
            Some(item) => {
                let name = self.name(&item)?;
                let leaf = |class: &TreeClass| class.queue.is_some();
                let place = classes.iter().position(|it| it.name == name && leaf(it));
                if place.is_none() {
                    let leaves = classes.iter().filter(|class| leaf(class));
                    let names: Vec<&str> = leaves.map(|class| class.name.as_str()).collect();
                    let problem = format!("there is no class \"{name}\" with a queue");
                    self.unknown_name(&item.place, problem, &name, &names);
                    return None;
                }
                Some(place)
            }
        };
        tree.classes = Some(classes);
        let tree = Arc::new(tree.finish()?);
        self.filtered.borrow_mut().push(Filtered {
            of: tree.clone(),
            place,
            filter_names: wanted,
        });
        Some(tree)
    }

    /// The classes of a list, below `parent`.
    fn classes(
        &self,
        list: &Item<'_>,
        parent: Option<usize>,
        level: usize,
        branch: &mut Branch<'_>,
    ) -> Option<()> {
        let Value::Array(nodes) = &list.node.value else {
            self.wrong_kind(list);
            return None;
        };
        if nodes.is_empty() {
            self.wrong(list, "there are no classes");
            return None;
        }
        if level > branch.spec.levels() {
            let most = match branch.spec.levels() {
                1 => "one level of classes".to_owned(),
                levels => format!("{levels} levels of classes"),
            };
            self.refuse(list, format!("too deep for {}", branch.spec.kind()), most);
            return None;
        }
        let mut good = true;
        for (at, node) in nodes.iter().enumerate() {
            let place = Place {
                key: format!("{}[{at}]", list.place.key),
                span: node.span.clone().or_else(|| list.place.span.clone()),
            };
            if branch.classes.len() >= branch.spec.most_classes() {
                self.push(&place, "too many classes", |diagnostic| {
                    let (most, kind) = (branch.spec.most_classes(), branch.spec.kind());
                    diagnostic.allowed = Some(format!("{most} with {kind}"));
                });
                return None;
            }
            good &= self.class(node, place, parent, level, branch).is_some();
        }
        good.then_some(())
    }

    fn class(
        &self,
        node: &Node,
        place: Place,
        parent: Option<usize>,
        level: usize,
        branch: &mut Branch<'_>,
    ) -> Option<()> {
        let specs = branch.spec.class_specs();
        let names: Vec<&str> = specs.iter().map(|spec| spec.name).collect();
        let table = self.table(node, place, keys::CLASS.keys, &names)?;
        let mut class = TreeClass::read(self, &table, Style::default());
        let name = self.item(&table, "name")?;
        class.name = self.name(&name);
        self.unique(branch.class_names, class.name.as_ref()?, &name.place);
        let flows = table.given("flows");
        let inner = table.given("classes");
        let taken = ["flows", "dscp", "queue"].map(|key| table.given(key));
        if let (Some(_), Some(item)) = (&inner, taken.iter().flatten().next()) {
            self.push(
                &item.place,
                "a class with classes of its own has no packets",
                |diagnostic| {
                    diagnostic.allowed = Some("in a class without `classes`".to_owned());
                },
            );
            return None;
        }
        match flows {
            Some(item) => branch.filter_names.extend(self.named_places(&item)?),
            None => class.flows = Some(Vec::new()),
        }
        if table.given("dscp").is_none() {
            class.dscp = Some(Vec::new());
        }
        let values: Vec<(String, Setpoint)> = self.specified(&table, specs)?;
        let params = branch.spec.class_from_values(&values, inner.is_none());
        let params = params
            .map_err(|error| self.refused(&Self::place_of_parameter(&table, &error.name), &error))
            .ok()?;
        class.params = Some(params);
        class.parent = Some(parent);
        let own = branch.spec.class_rate(&params);
        let rate = match (own, branch.rate) {
            (Some(own), Some(rate)) => Some(own.min(rate)),
            (own, rate) => own.or(rate),
        };
        class.queue = match inner {
            Some(_) => Some(None),
            None => {
                let queue = self.queue(&table, rate)?;
                self.has_rate(&table, own, &queue)?;
                Some(Some(Box::new(queue)))
            }
        };
        let id = branch.classes.len();
        branch.classes.push(class.finish()?);
        match inner {
            Some(list) => self.classes(&list, Some(id), level + 1, branch),
            None => Some(()),
        }
    }

    /// Refuses an AQM that steers by the rate of its queue in a class that has none.
    fn has_rate(&self, table: &Table<'_>, own: Option<f64>, queue: &Queue) -> Option<()> {
        let meta = queue.aqm.meta().filter(|meta| meta.by_rate);
        let Some(meta) = meta.filter(|_| own.is_none()) else {
            return Some(());
        };
        self.push(
            &table.place,
            format!(
                "contradicts a class without a rate of its own: {} steers by it",
                meta.kind
            ),
            |diagnostic| {
                diagnostic.allowed = Some("another AQM, or a class with a rate".to_owned());
            },
        );
        None
    }

    /// Filters name classes of flows, and every class of flows that crosses a tree has a class
    /// there.
    pub(super) fn filters(&self, links: &[Link], flows: &[FlowClass]) {
        let names: Vec<&str> = flows.iter().map(|class| class.name.as_str()).collect();
        let filtered = self.filtered.take();
        let mut good = true;
        for (name, place) in filtered.iter().flat_map(|tree| &tree.filter_names) {
            if !names.contains(&name.as_str()) {
                good = false;
                let problem = format!("there is no class of flows \"{name}\"");
                self.unknown_name(place, problem, name, &names);
            }
        }
        for (id, link) in links.iter().enumerate() {
            if let Some(tree) = link.tree.as_ref().filter(|_| good) {
                let washes = |link: &LinkId| {
                    let scheduler = links[*link].scheduler.as_ref();
                    scheduler.is_some_and(SchedulerSpec::washes)
                };
                let mut crossing = Vec::new();
                for class in flows {
                    let back = class.reverse_path.as_deref().unwrap_or(&[]);
                    let mut path = class.path.iter().chain(back);
                    if path.clone().any(|other| *other == id) {
                        crossing.push((class, class.dscp));
                        crossing.extend(path.any(washes).then_some((class, Dscp::Cs0)));
                    }
                }
                self.covered(tree, &crossing, &filtered);
            }
        }
    }

    /// Every class of flows, with each code point that its packets may have, has a class.
    fn covered(&self, tree: &Arc<Tree>, flows: &[(&FlowClass, Dscp)], filtered: &[Filtered]) {
        let filters = tree.filters();
        let lost = |it: &&(&FlowClass, Dscp)| filters.class_of(it.0, it.1).is_none();
        if let Some((first, _)) = flows.iter().find(lost)
            && let Some(known) = filtered.iter().find(|it| it.is_of(tree))
        {
            let problem = format!("no class takes the packets of flows \"{}\"", first.name);
            self.push(&known.place, problem, |diagnostic| {
                let leaves = tree.classes.iter().filter(|class| class.queue.is_some());
                let names = quoted_list(leaves.map(|class| class.name.as_str()));
                diagnostic.allowed = Some(format!(
                    "`flows` of a class that name them, `dscp` of one (a queue on the way may wash it off), or `default`, one of {names}"
                ));
            });
        }
        for (at, class) in tree.classes.iter().enumerate() {
            if let Some(inner) = class.queue.as_ref().and_then(|queue| queue.tree.as_ref()) {
                let own = flows
                    .iter()
                    .copied()
                    .filter(|(flows, code)| filters.class_of(flows, *code) == Some(at));
                self.covered(inner, &own.collect::<Vec<_>>(), filtered);
            }
        }
    }
}

/// A place below a table, for what a queue says where nothing is given.
pub(super) fn below(table: &Table<'_>, key: &str) -> Place {
    Place {
        key: join(&table.place.key, key),
        span: table.place.span.clone(),
    }
}
