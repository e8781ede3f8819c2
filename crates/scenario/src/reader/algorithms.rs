//! Algorithms with their parameters.

use std::borrow::Cow;

use std::sync::Arc;

use ackclock_algorithms::library::{LIBRARY_KEYS, Library, LibraryKind};
use ackclock_algorithms::meta::Meta;
use ackclock_algorithms::registry::{CongestionSpec, congestion};
use ackclock_algorithms::{DefaultValue, Value as Setpoint, ValueError};

use super::{Item, Place, Reader, Table, join};
use crate::diagnostic::quoted_list;
use crate::options::Style;
use crate::tree::Value;

/// The name and the values of an algorithm that stands in a value of its own.
pub(crate) type Named = (&'static Meta, Vec<(String, Setpoint)>);

impl Reader<'_> {
    /// `"name"` or `{ kind = "name", ... }`.
    pub(crate) fn named(
        &self,
        item: &Item<'_>,
        known: &'static [Meta],
        noun: &str,
    ) -> Option<Named> {
        let Value::Table(entries) = &item.node.value else {
            let meta = self.algorithm(item, known, noun)?;
            let empty = Table {
                place: item.place.clone(),
                entries: &[],
                keys: &[],
            };
            return Some((meta, self.parameters(&empty, meta)?));
        };
        let Some((_, kind)) = entries.iter().find(|(name, _)| name.text == "kind") else {
            self.missing(
                &item.place,
                "kind",
                quoted_list(known.iter().map(|meta| meta.kind)),
            );
            return None;
        };
        let kind = Item {
            node: Cow::Borrowed(kind),
            place: Place {
                key: join(&item.place.key, "kind"),
                span: kind.span.clone(),
            },
            rule: item.rule,
        };
        let meta = self.algorithm(&kind, known, noun)?;
        let names: Vec<&str> = std::iter::once("kind")
            .chain(meta.parameters.iter().map(|spec| spec.name))
            .collect();
        let inner = self.table(&item.node, item.place.clone(), &[], &names)?;
        Some((meta, self.parameters(&inner, meta)?))
    }

    /// Returns what the registry makes of the values, or says what it refuses.
    pub(crate) fn or_refused<T>(&self, item: &Item<'_>, spec: Result<T, ValueError>) -> Option<T> {
        spec.map_err(|error| {
            let mut place = item.place.clone();
            if let Value::Table(entries) = &item.node.value
                && let Some((name, node)) = entries.iter().find(|(name, _)| name.text == error.name)
            {
                place.key = join(&place.key, &name.text);
                place.span.clone_from(&node.span);
            }
            self.refused(&place, &error);
        })
        .ok()
    }

    /// `{ kind = "endpoint", library = "file", options = "text" }`.
    fn library(&self, item: &Item<'_>, kind: LibraryKind) -> Option<Library> {
        let [path, options] = LIBRARY_KEYS;
        let keys = ["kind", path, options];
        let table = self.table(&item.node, item.place.clone(), &[], &keys)?;
        let text = |key: &str, must_say: bool| {
            let Some(entry) = table.find(key) else {
                if must_say {
                    self.missing(&item.place, key, "the file of a shared library".to_owned());
                }
                return (!must_say).then(String::new);
            };
            let item = Item {
                node: Cow::Borrowed(&entry.1),
                place: Place {
                    key: join(&item.place.key, key),
                    span: entry.1.span.clone(),
                },
                rule: item.rule,
            };
            match &item.node.value {
                Value::Text(text) if !(text.contains('\0') || must_say && text.is_empty()) => {
                    Some(text.clone())
                }
                _ => {
                    self.refuse(
                        &item,
                        "not a text that can stand here",
                        "a text without zeros",
                    );
                    None
                }
            }
        };
        let (path, options) = (text(path, true), text(options, false));
        Some(Library {
            kind,
            path: path?,
            options: options?,
        })
    }

    /// `congestion = "cubic"` or `{ kind = "compound", ... }`.
    pub(crate) fn congestion(&self, item: &Item<'_>, style: Style) -> Option<CongestionSpec> {
        if let Some(kind) = library_kind(item) {
            return Some(CongestionSpec::Custom(Arc::new(self.library(item, kind)?)));
        }
        let (meta, values) = self.named(item, congestion(), "congestion control")?;
        self.or_refused(
            item,
            CongestionSpec::from_values(meta.kind, &in_style(style, meta, values)),
        )
    }
}

/// The interface of a library that a value names in place of an algorithm.
fn library_kind(item: &Item<'_>) -> Option<LibraryKind> {
    let Value::Table(entries) = &item.node.value else {
        return None;
    };
    let (_, kind) = entries.iter().find(|(name, _)| name.text == "kind")?;
    let Value::Text(kind) = &kind.value else {
        return None;
    };
    LibraryKind::ALL
        .into_iter()
        .find(|entry| entry.name() == kind)
}

/// The values given, and those that the style has in place of defaults.
fn in_style(
    style: Style,
    meta: &Meta,
    mut given: Vec<(String, Setpoint)>,
) -> Vec<(String, Setpoint)> {
    if style == Style::Linux {
        for (name, value) in meta.linux {
            let value = match value {
                DefaultValue::Required => continue,
                DefaultValue::Number(number) => Setpoint::Number(*number),
                DefaultValue::Flag(flag) => Setpoint::Flag(*flag),
                DefaultValue::Word(word) => Setpoint::Word((*word).to_owned()),
            };
            if given.iter().all(|(other, _)| other != name) {
                given.push(((*name).to_owned(), value));
            }
        }
    }
    given
}
