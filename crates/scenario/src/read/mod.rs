//! From a tree to a [`Scenario`], collecting every mistake on the way.

mod changes;
mod flows;
mod links;
mod network;
mod routes;
mod tcp;
mod traffic;
mod tree;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use ackclock_algorithms::Time;

use crate::diagnostic::{Diagnostic, quoted_list};
use crate::keys::{self, Key};
use crate::model::{End, FlowClass, Link, Scenario, Traffic};
use crate::reader::{Item, Place, Reader, Rule, Table, join};
use crate::tree::{Files, Node, Source, Value};
use crate::units::format_time;

pub(crate) use traffic::traffic_kind;

/// More messages than this help nobody.
const MOST_ERRORS: usize = 50;

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
        filtered: RefCell::default(),
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
        self.filters(&links, &classes);
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
