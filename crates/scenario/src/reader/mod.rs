//! Reads values of keys from a tree, and tells what is wrong with them, where, and what is allowed.

mod algorithms;
mod rates;
mod values;

use std::any::Any;
use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::sync::Arc;

use ackclock_algorithms::{Fault, Kind as ParameterKind, ParameterSpec, ValueError};

use crate::diagnostic::{Diagnostic, nearest, quoted_list};
use crate::key::{Fallback, Key, RENAMED};
use crate::options::Style;
use crate::tree::{Files, Name, Node, Source, Value};
use crate::units::{Dimension, shorten};
pub(crate) use values::is_named;

/// So many are kept to find those that come first in the file.
const MOST_KEPT: usize = 200;

/// Where something stands.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) key: String,
    pub(crate) span: Option<Range<usize>>,
}

/// Values that may stand in a place.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Rule {
    Key(&'static Key),
    Parameter(&'static ParameterSpec),
}

/// A value, where it stands and what is allowed there.
#[derive(Clone, Debug)]
pub(crate) struct Item<'n> {
    pub(crate) node: Cow<'n, Node>,
    pub(crate) place: Place,
    pub(crate) rule: Rule,
}

impl Item<'_> {
    pub(crate) fn allowed(&self) -> String {
        match self.rule {
            Rule::Key(key) => key.allowed(),
            Rule::Parameter(spec) => allowed_parameter(spec),
        }
    }

    /// Whether the word stands here that is allowed in the value's place.
    pub(crate) fn is_word(&self) -> bool {
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

/// Returns what a parameter allows, with an example of its unit.
pub(crate) fn allowed_parameter(spec: &ParameterSpec) -> String {
    let unit = match dimension_of(spec.kind) {
        Some(dimension) if dimension != Dimension::Number => format!(" ({})", dimension.allowed()),
        _ => String::new(),
    };
    format!("{}{unit}", spec.allowed())
}

pub(crate) fn dimension_of(kind: ParameterKind) -> Option<Dimension> {
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
pub(crate) struct Table<'n> {
    pub(crate) place: Place,
    pub(crate) entries: &'n [(Name, Node)],
    pub(crate) keys: &'static [Key],
}

impl<'n> Table<'n> {
    pub(crate) fn find(&self, name: &str) -> Option<&'n (Name, Node)> {
        self.entries.iter().find(|(key, _)| key.text == name)
    }

    pub(crate) fn place_of(&self, entry: &(Name, Node)) -> Place {
        Place {
            key: join(&self.place.key, &entry.0.text),
            span: entry.1.span.clone(),
        }
    }

    pub(crate) fn key(&self, name: &str) -> &'static Key {
        // every caller names a key of its own table, which the tests of the tables hold it to
        self.keys
            .iter()
            .find(|key| key.name == name)
            .unwrap_or(&self.keys[0])
    }

    /// The value of a key, if it is given.
    pub(crate) fn given(&self, name: &str) -> Option<Item<'n>> {
        let entry = self.find(name)?;
        Some(Item {
            node: Cow::Borrowed(&entry.1),
            place: self.place_of(entry),
            rule: Rule::Key(self.key(name)),
        })
    }
}

pub(crate) fn join(path: &str, key: &str) -> String {
    if path.is_empty() {
        key.to_owned()
    } else {
        format!("{path}.{key}")
    }
}

/// Names of classes of flows in a value, to be looked up when the classes are known.
pub(crate) struct Filtered {
    /// The value.
    pub(crate) of: Arc<dyn Any>,
    pub(crate) place: Place,
    /// The names, and where they stand.
    pub(crate) filter_names: Vec<(String, Place)>,
}

impl Filtered {
    /// True if `value` is the one that they stand in.
    pub(crate) fn is_of<T>(&self, value: &Arc<T>) -> bool {
        std::ptr::addr_eq(Arc::as_ptr(&self.of), Arc::as_ptr(value))
    }
}

/// A key in the wrong table.
pub(crate) struct Misplaced {
    pub(crate) problem: String,
    /// The table in which it may stand.
    pub(crate) allowed: String,
}

/// Finds where a key belongs, of its path, its name, and the names of its table.
pub(crate) type Elsewhere = fn(&str, &str, &[&str]) -> Option<Misplaced>;

pub(crate) struct Reader<'s> {
    pub(crate) source: &'s Source<'s>,
    pub(crate) files: Files<'s>,
    pub(crate) errors: RefCell<Vec<Diagnostic>>,
    /// Queues with classes, whose filters name classes of flows that come later.
    pub(crate) filtered: RefCell<Vec<Filtered>>,
    pub(crate) elsewhere: Elsewhere,
    /// Mistakes beyond those that are kept.
    pub(crate) more: Cell<usize>,
}

impl Reader<'_> {
    pub(crate) fn push(
        &self,
        place: &Place,
        problem: impl Into<String>,
        fill: impl FnOnce(&mut Diagnostic),
    ) {
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
    pub(crate) fn wrong(&self, item: &Item<'_>, problem: impl Into<String>) {
        self.refuse(item, problem, item.allowed());
    }

    /// The value is not allowed here, beside others.
    pub(crate) fn refuse(
        &self,
        item: &Item<'_>,
        problem: impl Into<String>,
        allowed: impl Into<String>,
    ) {
        self.push(&item.place, problem, |diagnostic| {
            diagnostic.found = Some(item.node.describe());
            diagnostic.allowed = Some(allowed.into());
        });
    }

    pub(crate) fn wrong_kind(&self, item: &Item<'_>) {
        self.wrong(item, "the wrong kind of value");
    }

    pub(crate) fn unknown_name(
        &self,
        place: &Place,
        problem: impl Into<String>,
        word: &str,
        names: &[&str],
    ) {
        self.push(place, problem, |diagnostic| {
            diagnostic.suggestion = nearest(word, names.iter().copied()).map(str::to_owned);
            diagnostic.allowed = Some(if names.is_empty() {
                "none are declared".to_owned()
            } else {
                quoted_list(names.iter().copied())
            });
        });
    }

    /// Reports what the registry of algorithms refuses.
    pub(crate) fn refused(&self, place: &Place, error: &ValueError) {
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
    pub(crate) fn table<'n>(
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
            if names.contains(&name.text.as_str()) {
                continue;
            }
            let place = Place {
                key: join(&table.place.key, &shorten(&name.text)),
                span: name.span.clone(),
            };
            match (self.elsewhere)(&place.key, &name.text, &names) {
                Some(misplaced) => {
                    let problem = format!("unknown key here: {}", misplaced.problem);
                    self.push(&place, problem, |diagnostic| {
                        diagnostic.allowed = Some(misplaced.allowed);
                    });
                }
                None => self.unknown_key(&table.place, name, &names),
            }
        }
        Some(table)
    }

    pub(crate) fn unknown_key(&self, table: &Place, name: &Name, names: &[&str]) {
        let place = Place {
            key: join(&table.key, &shorten(&name.text)),
            span: name.span.clone(),
        };
        let renamed = RENAMED
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
    pub(crate) fn item<'n>(&self, table: &Table<'n>, name: &str) -> Option<Item<'n>> {
        self.item_in(table, name, Style::Rfc)
    }

    /// A key's value, or its default in this style.
    pub(crate) fn item_in<'n>(
        &self,
        table: &Table<'n>,
        name: &str,
        style: Style,
    ) -> Option<Item<'n>> {
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

    pub(crate) fn missing(&self, table: &Place, name: &str, allowed: String) {
        let place = Place {
            key: join(&table.key, name),
            span: table.span.clone(),
        };
        self.push(&place, "the key is missing", |diagnostic| {
            diagnostic.allowed = Some(allowed);
        });
    }

    /// The tables of a `[[section]]`; an absent one is empty.
    pub(crate) fn repeated<'n>(
        &self,
        root: &Table<'n>,
        section: &str,
    ) -> Option<Vec<(Place, &'n Node)>> {
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
