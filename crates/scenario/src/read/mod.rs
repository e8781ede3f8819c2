//! From a tree to a [`Scenario`], collecting every mistake on the way.

mod changes;
mod flows;
mod links;
mod misplaced;
mod network;
mod routes;
mod tcp;
mod traffic;
mod tree;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use ackclock_algorithms::Time;

use crate::diagnostic::{Diagnostic, quoted_list};
use crate::keys::{self, Key, ScenarioDraft};
use crate::model::{End, FlowClass, Link, Scenario, Traffic};
use crate::options::Style;
use crate::reader::{Item, Place, Reader, Rule, Table, join};
use crate::tree::{Files, Node, Source, Value};
use crate::units::format_time;

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
        elsewhere: misplaced::find,
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
        let end = run.as_ref().and_then(|(run, _)| run.duration);
        let net = self.net(&table);
        let flows = self.all_flows(&table, net.as_ref(), end);
        let changes = match (&net, &flows) {
            (Some(net), Some(flows)) => self.changes(&table, net, flows, end),
            _ => None,
        };
        let (mut run, section) = run?;
        let classes: Option<Vec<FlowClass>> = flows?.into_iter().map(|(_, class)| class).collect();
        let links: Option<Vec<Link>> = net?.links.into_iter().collect();
        let (classes, links, changes) = (classes?, links?, changes?);
        self.buckets(&table, &links, &classes);
        self.filters(&links, &classes);
        self.probes(&table, &links, &classes);
        if run.duration == Some(End::UntilDone)
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
        (run.links, run.flows, run.changes) = (Some(links), Some(classes), Some(changes));
        run.finish()
    }

    /// `[scenario]`.
    fn run(&self, table: &Table<'_>) -> ScenarioDraft {
        let mut run = Scenario::read(self, table, Style::default());
        let Some(End::At(end)) = run.duration else {
            return run;
        };
        if let (Some(Some(window)), Some(item)) = (run.measure, table.given("measure"))
            && window.1 > end
        {
            self.refuse(
                &item,
                "the measurement ends after the run",
                format!("times up to {}", format_time(end)),
            );
            run.measure = None;
        }
        if run.sample == Some(None) {
            let automatic = Time(end.0 / 1000).max(Time(Time::PER_SECOND / 1000));
            run.sample = Some(Some(automatic));
        }
        run
    }

    /// A name that nothing before it has.
    fn unique(&self, observed: &mut Seen, name: &str, place: &Place) {
        if let Some(first) = observed.get(name) {
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
            observed.insert(name.to_owned(), place.clone());
        }
    }
}
