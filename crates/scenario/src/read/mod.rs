//! From a tree to a [`Scenario`], collecting every mistake on the way.

mod changes;
mod flows;
mod links;
mod network;
mod routes;
mod tcp;
mod traffic;
mod values;

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ops::Range;

use ackclock_algorithms::{Fault, Kind as ParameterKind, ParameterSpec, Time, ValueError};

use crate::Files;
use crate::diagnostic::{Diagnostic, nearest, quoted_list};
use crate::keys::{self, Fallback, Key};
use crate::model::{End, FlowClass, Link, Scenario, Traffic};
use crate::options::Style;
use crate::tree::{Name, Node, Source, Value};
use crate::units::{Dimension, format_time, shorten};

pub(crate) use traffic::traffic_kind;

/// More messages than this help nobody.
const MOST_ERRORS: usize = 50;
/// So many are kept to find those that come first in the file.
const MOST_KEPT: usize = 200;

/// Where something stands.
#[derive(Clone, Debug)]
struct Place {
    key: String,
    span: Option<Range<usize>>,
}

/// What may stand in a place.
#[derive(Clone, Copy, Debug)]
enum Rule {
    Key(&'static Key),
    Parameter(&'static ParameterSpec),
}

/// A value, where it stands and what is allowed there.
#[derive(Clone, Debug)]
struct Item<'n> {
    node: Cow<'n, Node>,
    place: Place,
    rule: Rule,
}

impl Item<'_> {
    fn allowed(&self) -> String {
        match self.rule {
            Rule::Key(key) => key.allowed(),
            Rule::Parameter(spec) => allowed_parameter(spec),
        }
    }

    /// Whether the word stands here that is allowed in the value's place.
    fn is_word(&self) -> bool {
        match (&self.node.value, self.rule) {
            (
                Value::Text(text),
                Rule::Key(Key {
                    word: Some((word, _)),
                    ..
                }),
            ) => text.trim() == *word,
            _ => false,
        }
    }
}

/// What a parameter allows, with an example of its unit.
fn allowed_parameter(spec: &ParameterSpec) -> String {
    let unit = match dimension_of(spec.kind) {
        Some(dimension) if dimension != Dimension::Number => format!(" ({})", dimension.allowed()),
        _ => String::new(),
    };
    format!("{}{unit}", spec.allowed())
}

fn dimension_of(kind: ParameterKind) -> Option<Dimension> {
    match kind {
        ParameterKind::Number => Some(Dimension::Number),
        ParameterKind::Time => Some(Dimension::Time),
        ParameterKind::Rate => Some(Dimension::Rate),
        ParameterKind::Packets => Some(Dimension::Packets),
        ParameterKind::Bytes => Some(Dimension::Size),
        ParameterKind::Frequency => Some(Dimension::Frequency),
        ParameterKind::Flag | ParameterKind::Choice => None,
    }
}

/// A table whose keys are known to be valid names.
#[derive(Clone, Debug)]
struct Table<'n> {
    place: Place,
    entries: &'n [(Name, Node)],
    keys: &'static [Key],
}

impl<'n> Table<'n> {
    fn find(&self, name: &str) -> Option<&'n (Name, Node)> {
        self.entries.iter().find(|(key, _)| key.text == name)
    }

    fn place_of(&self, entry: &(Name, Node)) -> Place {
        Place {
            key: join(&self.place.key, &entry.0.text),
            span: entry.1.span.clone(),
        }
    }

    fn key(&self, name: &str) -> &'static Key {
        // every caller names a key of its own table, which the tests of the tables hold it to
        self.keys
            .iter()
            .find(|key| key.name == name)
            .unwrap_or(&self.keys[0])
    }

    /// The value of a key, if it is given.
    fn given(&self, name: &str) -> Option<Item<'n>> {
        let entry = self.find(name)?;
        Some(Item {
            node: Cow::Borrowed(&entry.1),
            place: self.place_of(entry),
            rule: Rule::Key(self.key(name)),
        })
    }
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() {
        key.to_owned()
    } else {
        format!("{path}.{key}")
    }
}

/// Reads a whole scenario.
pub(crate) fn scenario(
    root: &Node,
    source: &Source<'_>,
    files: Files<'_>,
) -> Result<Scenario, Vec<Diagnostic>> {
    let reader = Reader {
        source,
        files,
        errors: RefCell::default(),
        more: Cell::new(0),
    };
    let scenario = reader.root(root);
    let more = reader.more.get();
    let mut errors = reader.errors.into_inner();
    match scenario {
        Some(scenario) if errors.is_empty() => Ok(scenario),
        _ => {
            errors.sort_by_key(|error| error.position);
            if errors.len() > MOST_ERRORS {
                let more = more + errors.len() - MOST_ERRORS;
                errors.truncate(MOST_ERRORS);
                errors.push(source.diagnostic(None, "", format!("and {more} more mistakes")));
            }
            Err(errors)
        }
    }
}

struct Reader<'s> {
    source: &'s Source<'s>,
    files: Files<'s>,
    errors: RefCell<Vec<Diagnostic>>,
    /// Mistakes beyond those that are kept.
    more: Cell<usize>,
}

impl Reader<'_> {
    fn push(&self, place: &Place, problem: impl Into<String>, fill: impl FnOnce(&mut Diagnostic)) {
        if self.errors.borrow().len() >= MOST_KEPT {
            self.more.set(self.more.get() + 1);
            return;
        }
        let mut diagnostic = self
            .source
            .diagnostic(place.span.as_ref(), &place.key, problem);
        fill(&mut diagnostic);
        self.errors.borrow_mut().push(diagnostic);
    }

    /// The value is not allowed.
    fn wrong(&self, item: &Item<'_>, problem: impl Into<String>) {
        self.refuse(item, problem, item.allowed());
    }

    /// The value is not allowed here, beside others.
    fn refuse(&self, item: &Item<'_>, problem: impl Into<String>, allowed: impl Into<String>) {
        self.push(&item.place, problem, |diagnostic| {
            diagnostic.found = Some(item.node.describe());
            diagnostic.allowed = Some(allowed.into());
        });
    }

    fn wrong_kind(&self, item: &Item<'_>) {
        self.wrong(item, "the wrong kind of value");
    }

    fn unknown_name(&self, place: &Place, problem: impl Into<String>, word: &str, names: &[&str]) {
        self.push(place, problem, |diagnostic| {
            diagnostic.suggestion = nearest(word, names.iter().copied()).map(str::to_owned);
            diagnostic.allowed = Some(if names.is_empty() {
                "none are declared".to_owned()
            } else {
                quoted_list(names.iter().copied())
            });
        });
    }

    /// What the registry of algorithms refuses.
    fn refused(&self, place: &Place, error: &ValueError) {
        let problem = match error.fault {
            Fault::Unknown => "unknown",
            Fault::Missing => "the key is missing",
            Fault::WrongKind => "the wrong kind of value",
            Fault::OutOfRange => "out of range",
            Fault::Inconsistent => "contradicts another parameter",
            Fault::NotChangeable => "cannot change during a run",
        };
        self.push(place, problem, |diagnostic| {
            diagnostic.found = (!error.found.is_empty()).then(|| error.found.clone());
            diagnostic.allowed = Some(error.allowed.clone());
        });
    }
}

impl Reader<'_> {
    /// A table, whose keys must be among `keys` and `more`.
    fn table<'n>(
        &self,
        node: &'n Node,
        place: Place,
        keys: &'static [Key],
        more: &[&str],
    ) -> Option<Table<'n>> {
        let Value::Table(entries) = &node.value else {
            self.push(&place, "the wrong kind of value", |diagnostic| {
                diagnostic.found = Some(node.describe());
                diagnostic.allowed = Some(format!(
                    "a table with the keys {}",
                    quoted_list(keys.iter().map(|key| key.name))
                ));
            });
            return None;
        };
        let table = Table {
            place,
            entries,
            keys,
        };
        let names: Vec<&str> = keys
            .iter()
            .map(|key| key.name)
            .chain(more.iter().copied())
            .collect();
        for (name, _) in entries {
            if !names.contains(&name.text.as_str()) {
                self.unknown_key(&table.place, name, &names);
            }
        }
        Some(table)
    }

    fn unknown_key(&self, table: &Place, name: &Name, names: &[&str]) {
        let place = Place {
            key: join(&table.key, &shorten(&name.text)),
            span: name.span.clone(),
        };
        let renamed = keys::RENAMED
            .iter()
            .find(|renamed| name.text == renamed.old && names.contains(&renamed.new));
        if let Some(renamed) = renamed {
            self.push(&place, "this key has another name now", |diagnostic| {
                diagnostic.allowed = Some(renamed.instead.to_owned());
            });
            return;
        }
        self.push(&place, "unknown key", |diagnostic| {
            diagnostic.suggestion = nearest(&name.text, names.iter().copied()).map(str::to_owned);
            diagnostic.allowed = Some(names.join(", "));
        });
    }

    /// The value of a key, or its default; an error if it must be given.
    fn item<'n>(&self, table: &Table<'n>, name: &str) -> Option<Item<'n>> {
        self.item_in(table, name, Style::Rfc)
    }

    /// A key's value, or its default in this style.
    fn item_in<'n>(&self, table: &Table<'n>, name: &str, style: Style) -> Option<Item<'n>> {
        if let Some(item) = table.given(name) {
            return Some(item);
        }
        let key = table.key(name);
        let value = match key.default_in(style) {
            Fallback::Text(text) => Value::Text(text.to_owned()),
            Fallback::Flag(flag) => Value::Flag(flag),
            Fallback::Integer(number) => Value::Integer(number),
            Fallback::Derived(_) => return None,
            Fallback::Required => {
                self.missing(&table.place, name, key.allowed());
                return None;
            }
        };
        let place = Place {
            key: join(&table.place.key, name),
            span: table.place.span.clone(),
        };
        Some(Item {
            node: Cow::Owned(value.into()),
            place,
            rule: Rule::Key(key),
        })
    }

    fn missing(&self, table: &Place, name: &str, allowed: String) {
        let place = Place {
            key: join(&table.key, name),
            span: table.span.clone(),
        };
        self.push(&place, "the key is missing", |diagnostic| {
            diagnostic.allowed = Some(allowed);
        });
    }

    /// The tables of a `[[section]]`; an absent one is empty.
    fn repeated<'n>(&self, root: &Table<'n>, section: &str) -> Option<Vec<(Place, &'n Node)>> {
        let Some(entry) = root.find(section) else {
            return Some(Vec::new());
        };
        let place = root.place_of(entry);
        let Value::Array(items) = &entry.1.value else {
            self.push(&place, "the wrong kind of value", |diagnostic| {
                diagnostic.found = Some(entry.1.describe());
                diagnostic.allowed = Some(format!("an array of tables: [[{section}]]"));
            });
            return None;
        };
        let tables = items.iter().enumerate();
        Some(
            tables
                .map(|(at, node)| {
                    (
                        Place {
                            key: format!("{section}[{at}]"),
                            span: node.span.clone(),
                        },
                        node,
                    )
                })
                .collect(),
        )
    }
}

/// A name and where it was given, to find duplicates.
type Seen = HashMap<String, Place>;

impl Reader<'_> {
    fn root(&self, root: &Node) -> Option<Scenario> {
        const NO_KEYS: &[Key] = &[];
        let sections: Vec<&str> = keys::SECTIONS.iter().map(|section| section.name).collect();
        let place = Place {
            key: String::new(),
            span: root.span.as_ref().map(|span| span.start..span.start),
        };
        if !matches!(root.value, Value::Table(_)) {
            self.push(&place, "not a scenario", |diagnostic| {
                diagnostic.found = Some(root.describe());
                diagnostic.allowed = Some(format!(
                    "a table with the keys {}",
                    quoted_list(sections.iter().copied())
                ));
            });
            return None;
        }
        let table = self.table(root, place.clone(), NO_KEYS, &sections)?;
        let run = match table.find("scenario") {
            Some(entry) => self
                .table(&entry.1, table.place_of(entry), keys::SCENARIO.keys, &[])
                .map(|run| (self.run(&run), run)),
            None => {
                self.push(&place, "the section [scenario] is missing", |diagnostic| {
                    diagnostic.allowed = Some("[scenario] with at least a duration".to_owned());
                });
                None
            }
        };
        let end = run
            .as_ref()
            .and_then(|(run, _)| run.as_ref())
            .map(|run| run.end);
        let net = self.net(&table);
        let flows = self.all_flows(&table, net.as_ref(), end);
        let changes = match (&net, &flows) {
            (Some(net), Some(flows)) => self.changes(&table, net, flows, end),
            _ => None,
        };
        let (run, section) = run?;
        let run = run?;
        let classes: Option<Vec<FlowClass>> = flows?.into_iter().map(|(_, class)| class).collect();
        let links: Option<Vec<Link>> = net?.links.into_iter().collect();
        let (classes, links, changes) = (classes?, links?, changes?);
        self.buckets(&table, &links, &classes);
        if run.end == End::UntilDone
            && !classes
                .iter()
                .any(|class| matches!(class.traffic, Traffic::Transfer { .. }))
            && let Some(item) = section.given("duration")
        {
            self.push(
                &item.place,
                "the run would never end: no class has a transfer",
                |diagnostic| {
                    diagnostic.found = Some(item.node.describe());
                    diagnostic.allowed = Some(
                        "a time, or a class with traffic = { kind = \"transfer\", size = ... }"
                            .to_owned(),
                    );
                },
            );
        }
        Some(Scenario {
            links,
            flows: classes,
            changes,
            ..run
        })
    }

    /// `[scenario]`.
    fn run(&self, table: &Table<'_>) -> Option<Scenario> {
        let name = self
            .item(table, "name")
            .and_then(|item| self.text(&item).map(str::to_owned));
        let duration = self.item(table, "duration");
        let end = duration.and_then(|item| {
            if item.is_word() {
                Some(End::UntilDone)
            } else {
                self.time(&item).map(End::At)
            }
        });
        let measure = self.item(table, "measure").and_then(|item| {
            if item.is_word() {
                return Some(None);
            }
            let window = self.window(&item)?;
            if let Some(End::At(end)) = end
                && window.1 > end
            {
                self.push(
                    &item.place,
                    "the measurement ends after the run",
                    |diagnostic| {
                        diagnostic.found = Some(item.node.describe());
                        diagnostic.allowed = Some(format!("times up to {}", format_time(end)));
                    },
                );
                return None;
            }
            Some(Some(window))
        });
        let seed = self
            .item(table, "seed")
            .and_then(|item| self.integer(&item))
            .and_then(|seed| u64::try_from(seed).ok());
        let sample = self.item(table, "sample").and_then(|item| {
            if item.is_word() {
                let Some(End::At(end)) = end else {
                    return Some(None);
                };
                return Some(Some(Time(end.0 / 1000).max(Time(Time::PER_SECOND / 1000))));
            }
            self.time(&item).map(Some)
        });
        Some(Scenario {
            name: name?,
            end: end?,
            measure: measure?,
            seed: seed?,
            sample: sample?,
            links: Vec::new(),
            flows: Vec::new(),
            changes: Vec::new(),
        })
    }

    /// A name that nothing before it has.
    fn unique(&self, seen: &mut Seen, name: &str, place: &Place) {
        if let Some(first) = seen.get(name) {
            let first = match &first.span {
                Some(span) => format!("line {}", self.source.position(span.start).0),
                None => first.key.clone(),
            };
            self.push(
                place,
                format!("the name \"{name}\" is taken by {first}"),
                |_| {},
            );
        } else {
            seen.insert(name.to_owned(), place.clone());
        }
    }
}
