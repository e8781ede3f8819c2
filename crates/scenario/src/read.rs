//! From a tree to a [`Scenario`], collecting every mistake on the way.

use std::borrow::Cow;
use std::cell::RefCell;
use std::ops::Range;

use ackclock_algorithms::registry::{AqmSpec, CongestionSpec, Meta, aqms, congestion};
use ackclock_algorithms::{
    DefaultValue, Fault, Kind as ParameterKind, ParameterSpec, Time, Value as Setpoint, ValueError,
};

use crate::diagnostic::{Diagnostic, nearest, quoted_list};
use crate::keys::{self, Fallback, Key};
use crate::model::{
    Capacity, Change, Distribution, End, FlowClass, Link, LinkId, Recovery, Scenario, Setting, Tcp,
    Traffic,
};
use crate::topology::{NoRoute, shortest};
use crate::tree::{Name, Node, Source, Value};
use crate::units::{Dimension, Quantity, QuantityError, format_time, seconds};

/// The longest time that a scenario may name: sums of several stay far below the end of [`Time`].
const LONGEST: Time = Time(30 * 24 * 3600 * Time::PER_SECOND);
/// The slowest and fastest rates, bit/s: at the fastest a 40 B packet still takes 3 ps.
const RATES: (f64, f64) = (1.0, 1e14);
/// The largest packet, bytes (IPv4).
const LARGEST_PACKET: u64 = 65_535;
/// More messages than this help nobody.
const MOST_ERRORS: usize = 50;

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

/// The links of a scenario while it is read.
struct Net {
    /// Names in the order of the file, also of links that have mistakes; the nodes that a link joins.
    names: Vec<(String, Option<(String, String)>)>,
    /// `None` where a link has mistakes.
    links: Vec<Option<Link>>,
    /// What a flow without a path gets.
    ends: Option<(String, String)>,
}

impl Net {
    fn find(&self, name: &str) -> Option<LinkId> {
        self.names.iter().position(|(known, _)| known == name)
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(|(name, _)| name.as_str())
    }

    fn nodes(&self) -> Vec<&str> {
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

    /// Sum of the propagation delays; `None` if a link has mistakes.
    fn propagation(&self, path: &[LinkId]) -> Option<Time> {
        path.iter().try_fold(Time::ZERO, |sum, link| {
            let delay = self.links.get(*link)?.as_ref()?.delay;
            Some(Time(sum.0.saturating_add(delay.0)))
        })
    }
}

/// Reads a whole scenario.
pub(crate) fn scenario(root: &Node, source: &Source<'_>) -> Result<Scenario, Vec<Diagnostic>> {
    let reader = Reader {
        source,
        errors: RefCell::default(),
    };
    let scenario = reader.root(root);
    let mut errors = reader.errors.into_inner();
    match scenario {
        Some(scenario) if errors.is_empty() => Ok(scenario),
        _ => {
            errors.sort_by_key(|error| error.position);
            if errors.len() > MOST_ERRORS {
                let more = errors.len() - MOST_ERRORS;
                errors.truncate(MOST_ERRORS);
                errors.push(source.diagnostic(None, "", format!("and {more} more mistakes")));
            }
            Err(errors)
        }
    }
}

struct Reader<'s> {
    source: &'s Source<'s>,
    errors: RefCell<Vec<Diagnostic>>,
}

// ---------------------------------------------------------------- messages

impl Reader<'_> {
    fn push(&self, place: &Place, problem: impl Into<String>, fill: impl FnOnce(&mut Diagnostic)) {
        let mut diagnostic = self
            .source
            .diagnostic(place.span.as_ref(), &place.key, problem);
        fill(&mut diagnostic);
        self.errors.borrow_mut().push(diagnostic);
    }

    /// The value is not allowed.
    fn wrong(&self, item: &Item<'_>, problem: impl Into<String>) {
        self.push(&item.place, problem, |diagnostic| {
            diagnostic.found = Some(item.node.describe());
            diagnostic.allowed = Some(item.allowed());
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

// ---------------------------------------------------------------- tables and keys

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
            key: join(&table.key, &crate::units::shorten(&name.text)),
            span: name.span.clone(),
        };
        self.push(&place, "unknown key", |diagnostic| {
            diagnostic.suggestion = nearest(&name.text, names.iter().copied()).map(str::to_owned);
            diagnostic.allowed = Some(names.join(", "));
        });
    }

    /// The value of a key, or its default; an error if it must be given.
    fn item<'n>(&self, table: &Table<'n>, name: &str) -> Option<Item<'n>> {
        if let Some(item) = table.given(name) {
            return Some(item);
        }
        let key = table.key(name);
        let value = match key.default {
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

// ---------------------------------------------------------------- values

impl Reader<'_> {
    fn text<'i>(&self, item: &'i Item<'_>) -> Option<&'i str> {
        if let Value::Text(text) = &item.node.value {
            Some(text)
        } else {
            self.wrong_kind(item);
            None
        }
    }

    /// A name that can stand in paths and results.
    fn name(&self, item: &Item<'_>) -> Option<String> {
        let text = self.text(item)?.trim();
        if text.is_empty() || text.chars().count() > 100 || text.chars().any(char::is_control) {
            self.wrong(item, "not a usable name");
            return None;
        }
        Some(text.to_owned())
    }

    fn flag(&self, item: &Item<'_>) -> Option<bool> {
        if let Value::Flag(flag) = item.node.value {
            Some(flag)
        } else {
            self.wrong_kind(item);
            None
        }
    }

    fn integer(&self, item: &Item<'_>) -> Option<i64> {
        let Rule::Key(Key {
            kind: keys::Kind::Integer(low, high),
            ..
        }) = item.rule
        else {
            return None;
        };
        match item.node.value {
            Value::Integer(number) if (*low..=*high).contains(&number) => return Some(number),
            Value::Integer(number) if number < 0 && *low >= 0 => self.wrong(item, "negative"),
            Value::Integer(_) | Value::Other(_) => self.wrong(item, "out of range"),
            Value::Float(number) if !number.is_finite() => self.wrong(item, "not finite"),
            Value::Float(_) => self.wrong(item, "not a whole number"),
            _ => self.wrong_kind(item),
        }
        None
    }

    fn failed(&self, item: &Item<'_>, error: &QuantityError) {
        self.push(&item.place, error.to_string(), |diagnostic| {
            diagnostic.found = Some(item.node.describe());
            diagnostic.allowed = Some(item.allowed());
            if let QuantityError::UnknownUnit { nearest, .. } = error {
                diagnostic.suggestion = nearest.map(str::to_owned);
            }
        });
    }

    fn ok<T>(&self, item: &Item<'_>, result: Result<T, QuantityError>) -> Option<T> {
        result.map_err(|error| self.failed(item, &error)).ok()
    }

    /// A number with a unit of one of these dimensions.
    fn quantity(&self, item: &Item<'_>, dimensions: &[Dimension]) -> Option<Quantity> {
        match &item.node.value {
            Value::Text(text) => self.quantity_in(item, text, dimensions),
            Value::Integer(_) => {
                self.wrong(item, "the unit is missing");
                None
            }
            Value::Float(number) => {
                self.wrong(
                    item,
                    if number.is_finite() {
                        "the unit is missing"
                    } else {
                        "not finite"
                    },
                );
                None
            }
            _ => {
                self.wrong_kind(item);
                None
            }
        }
    }

    fn quantity_in(
        &self,
        item: &Item<'_>,
        text: &str,
        dimensions: &[Dimension],
    ) -> Option<Quantity> {
        let quantity = self.ok(item, Quantity::parse(text))?;
        if dimensions.contains(&quantity.dimension) {
            return Some(quantity);
        }
        let needed = dimensions
            .iter()
            .map(|dimension| dimension.noun())
            .collect::<Vec<_>>()
            .join(" or ");
        self.wrong(
            item,
            format!("{} where {needed} is needed", quantity.dimension.noun()),
        );
        None
    }

    fn time_in(&self, item: &Item<'_>, text: &str) -> Option<Time> {
        let quantity = self.quantity_in(item, text, &[Dimension::Time])?;
        self.time_of(item, quantity)
    }

    fn time_of(&self, item: &Item<'_>, quantity: Quantity) -> Option<Time> {
        let time = self.ok(item, quantity.time())?;
        if time > LONGEST {
            self.wrong(item, "longer than 30 days");
            return None;
        }
        Some(time)
    }

    /// A time, above zero where the key says so.
    fn time(&self, item: &Item<'_>) -> Option<Time> {
        let quantity = self.quantity(item, &[Dimension::Time])?;
        let time = self.time_of(item, quantity)?;
        if time == Time::ZERO
            && matches!(
                item.rule,
                Rule::Key(Key {
                    kind: keys::Kind::Span,
                    ..
                })
            )
        {
            self.wrong(item, "zero");
            return None;
        }
        Some(time)
    }

    fn rate(&self, item: &Item<'_>) -> Option<f64> {
        let quantity = self.quantity(item, &[Dimension::Rate])?;
        let rate = self.ok(item, quantity.value())?;
        let problem = if rate < 0.0 {
            "negative"
        } else if rate == 0.0 {
            "a rate of zero"
        } else if rate < RATES.0 {
            "slower than 1 bit/s"
        } else if rate > RATES.1 {
            "faster than 100 Tbit/s"
        } else {
            return Some(rate);
        };
        self.wrong(item, problem);
        None
    }

    /// A whole number of bytes, from 1 to `most`.
    fn size(&self, item: &Item<'_>, most: u64) -> Option<u64> {
        let quantity = self.quantity(item, &[Dimension::Size])?;
        let bytes = self.ok(item, quantity.whole())?;
        if bytes == 0 {
            self.wrong(item, "zero");
            return None;
        }
        if bytes > most {
            self.wrong(item, format!("larger than {most} B"));
            return None;
        }
        Some(bytes)
    }

    fn packet_size(&self, item: &Item<'_>) -> Option<u32> {
        self.size(item, LARGEST_PACKET)
            .and_then(|bytes| u32::try_from(bytes).ok())
    }

    /// A number of packets, at least one.
    fn packets(&self, item: &Item<'_>) -> Option<f64> {
        let quantity = self.quantity(item, &[Dimension::Packets])?;
        let packets = self.ok(item, quantity.value())?;
        let problem = if packets < 0.0 {
            "negative"
        } else if packets < 1.0 {
            "less than one packet"
        } else if packets > 1e9 {
            "more than 1e9 packets"
        } else {
            return Some(packets);
        };
        self.wrong(item, problem);
        None
    }

    fn whole_packets(&self, item: &Item<'_>) -> Option<u32> {
        let packets = self.packets(item)?;
        if packets.fract() != 0.0 {
            self.wrong(item, "not a whole number");
            return None;
        }
        Some(packets as u32)
    }

    /// A queue's limit; a time means what `rate` sends in it.
    fn capacity(&self, item: &Item<'_>, rate: Option<f64>) -> Option<Capacity> {
        if matches!(&item.node.value, Value::Text(text) if text.trim() == "unlimited") {
            return Some(Capacity::Unlimited);
        }
        let quantity = self.quantity(
            item,
            &[Dimension::Packets, Dimension::Size, Dimension::Time],
        )?;
        match quantity.dimension {
            Dimension::Packets => {
                let packets = self.ok(item, quantity.whole())?;
                let packets = u32::try_from(packets)
                    .map_err(|_| self.wrong(item, "too large"))
                    .ok()?;
                Some(Capacity::Packets(packets))
            }
            Dimension::Size => self.ok(item, quantity.whole()).map(Capacity::Bytes),
            _ => {
                let time = self.time_of(item, quantity)?;
                // a link without a rate has been reported already
                Some(Capacity::Bytes(
                    (rate? / 8.0 * time.seconds()).round() as u64
                ))
            }
        }
    }

    fn window(&self, item: &Item<'_>) -> Option<(Time, Time)> {
        let Some((from, to)) = self.text(item)?.split_once("..") else {
            self.wrong(item, "not two times");
            return None;
        };
        let (from, to) = (self.time_in(item, from)?, self.time_in(item, to)?);
        if from >= to {
            self.wrong(item, "the end is not after the beginning");
            return None;
        }
        Some((from, to))
    }

    fn choice(&self, item: &Item<'_>) -> Option<&'static str> {
        let Rule::Key(Key {
            kind: keys::Kind::Choice(choices),
            ..
        }) = item.rule
        else {
            return None;
        };
        let text = self.text(item)?;
        let found = choices
            .iter()
            .map(|(name, _)| *name)
            .find(|name| *name == text);
        if found.is_none() {
            let names: Vec<_> = choices.iter().map(|(name, _)| *name).collect();
            self.unknown_name(
                &item.place,
                format!("\"{}\" is not a choice", crate::units::shorten(text)),
                text,
                &names,
            );
        }
        found
    }

    /// Times drawn once per flow, in seconds.
    fn distribution(&self, item: &Item<'_>) -> Option<Distribution> {
        let value = |text: &str| {
            let quantity = self.quantity_in(item, text, &[Dimension::Time])?;
            self.time_of(item, quantity)?; // neither negative nor too long
            self.ok(item, quantity.value())
        };
        if let Value::Array(items) = &item.node.value {
            if items.is_empty() {
                self.wrong(item, "an empty list");
                return None;
            }
            let read = |(at, node): (usize, &Node)| {
                let place = Place {
                    key: format!("{}[{at}]", item.place.key),
                    span: node.span.clone().or(item.place.span.clone()),
                };
                let entry = Item {
                    node: Cow::Borrowed(node),
                    place,
                    rule: item.rule,
                };
                let quantity = self.quantity(&entry, &[Dimension::Time])?;
                self.time_of(&entry, quantity)?;
                self.ok(&entry, quantity.value())
            };
            let list: Vec<Option<f64>> = items.iter().enumerate().map(read).collect();
            return list
                .into_iter()
                .collect::<Option<_>>()
                .map(Distribution::List);
        }
        let Value::Text(text) = &item.node.value else {
            self.quantity(item, &[Dimension::Time]); // says what is wrong
            return None;
        };
        let text = text.trim();
        let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        match word {
            "uniform" | "range" => {
                let Some((low, high)) = rest.split_once("..") else {
                    self.wrong(item, "not two times");
                    return None;
                };
                let (low, high) = (value(low)?, value(high)?);
                if low > high {
                    self.wrong(item, "the second time is below the first");
                    return None;
                }
                Some(if word == "range" {
                    Distribution::Range(low, high)
                } else {
                    Distribution::Uniform(low, high)
                })
            }
            "normal" => {
                let Some((mean, deviation)) = rest.split_once(',') else {
                    self.wrong(item, "not a mean and a deviation");
                    return None;
                };
                Some(Distribution::Normal(value(mean)?, value(deviation)?))
            }
            "exponential" => Some(Distribution::Exponential(value(rest)?)),
            _ if word.starts_with(char::is_alphabetic) => {
                let names = ["uniform", "range", "normal", "exponential"];
                self.push(&item.place, "an unknown distribution", |diagnostic| {
                    diagnostic.found = Some(item.node.describe());
                    diagnostic.suggestion = nearest(word, names).map(str::to_owned);
                    diagnostic.allowed = Some(item.allowed());
                });
                None
            }
            _ if text.contains("..") => {
                self.push(
                    &item.place,
                    "two times without a word that says how they are meant",
                    |diagnostic| {
                        diagnostic.found = Some(item.node.describe());
                        diagnostic.allowed = Some(item.allowed());
                    },
                );
                None
            }
            _ => value(text).map(Distribution::Fixed),
        }
    }

    /// A parameter of an algorithm, in the unit of its kind.
    fn parameter(&self, item: &Item<'_>, spec: &'static ParameterSpec) -> Option<Setpoint> {
        let Some(dimension) = dimension_of(spec.kind) else {
            return match (&item.node.value, spec.kind) {
                (Value::Flag(flag), ParameterKind::Flag) => Some(Setpoint::Flag(*flag)),
                (Value::Text(text), ParameterKind::Choice) => {
                    if spec.words.contains(&text.as_str()) {
                        return Some(Setpoint::Word(text.clone()));
                    }
                    self.unknown_name(
                        &item.place,
                        format!("\"{}\" is not a choice", crate::units::shorten(text)),
                        text,
                        spec.words,
                    );
                    None
                }
                _ => {
                    self.wrong_kind(item);
                    None
                }
            };
        };
        let number = match &item.node.value {
            Value::Text(text) if spec.words.contains(&text.as_str()) => {
                return Some(Setpoint::Word(text.clone()));
            }
            Value::Integer(number) if dimension == Dimension::Number => *number as f64,
            Value::Float(number) if dimension == Dimension::Number && number.is_finite() => *number,
            Value::Text(text)
                if !spec.words.is_empty() && text.trim_start().starts_with(char::is_alphabetic) =>
            {
                self.unknown_name(
                    &item.place,
                    format!(
                        "\"{}\" is neither a value nor one of the words",
                        crate::units::shorten(text)
                    ),
                    text,
                    spec.words,
                );
                return None;
            }
            Value::Text(_) if dimension == Dimension::Number => {
                let quantity = self.quantity(item, &[Dimension::Percent])?;
                self.ok(item, quantity.value())?
            }
            _ => {
                let quantity = self.quantity(item, &[dimension])?;
                self.ok(item, quantity.value())?
            }
        };
        if spec.range.contains(number) {
            return Some(Setpoint::Number(number));
        }
        self.wrong(
            item,
            if number < 0.0 && spec.range.low >= 0.0 {
                "negative"
            } else {
                "out of range"
            },
        );
        None
    }

    /// The parameters of an algorithm, which stand beside `keys` in `table`.
    fn parameters<'n>(
        &self,
        table: &Table<'n>,
        meta: &'static Meta,
    ) -> Option<Vec<(String, Setpoint)>> {
        let mut values = Vec::new();
        let mut good = true;
        for spec in meta.parameters {
            match table.find(spec.name) {
                Some(entry) => {
                    let item = Item {
                        node: Cow::Borrowed(&entry.1),
                        place: table.place_of(entry),
                        rule: Rule::Parameter(spec),
                    };
                    match self.parameter(&item, spec) {
                        Some(value) => values.push((spec.name.to_owned(), value)),
                        None => good = false,
                    }
                }
                None if spec.default == DefaultValue::Required => {
                    self.missing(&table.place, spec.name, allowed_parameter(spec));
                    good = false;
                }
                None => {}
            }
        }
        good.then_some(values)
    }

    /// An algorithm's name, or a near one offered.
    fn algorithm(
        &self,
        item: &Item<'_>,
        known: &'static [Meta],
        noun: &str,
    ) -> Option<&'static Meta> {
        let kind = self.text(item)?;
        let found = known.iter().find(|meta| meta.kind == kind);
        if found.is_none() {
            let names: Vec<_> = known.iter().map(|meta| meta.kind).collect();
            self.unknown_name(
                &item.place,
                format!("there is no {noun} \"{}\"", crate::units::shorten(kind)),
                kind,
                &names,
            );
        }
        found
    }

    /// Where a parameter stands, to report what the registry says of it.
    fn place_of_parameter(table: &Table<'_>, name: &str) -> Place {
        table
            .find(name)
            .map_or_else(|| table.place.clone(), |entry| table.place_of(entry))
    }
}

// ---------------------------------------------------------------- the scenario

/// A name and where it was given, to find duplicates.
type Seen = Vec<(String, Place)>;

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
        let (classes, changes) = (classes?, changes?);
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
            links: links?,
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
        if let Some((_, first)) = seen.iter().find(|(known, _)| known == name) {
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
            seen.push((name.to_owned(), place.clone()));
        }
    }
}

// ---------------------------------------------------------------- links

impl Reader<'_> {
    fn net(&self, root: &Table<'_>) -> Option<Net> {
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
        let mut net = Net {
            names: Vec::new(),
            links: Vec::new(),
            ends: None,
        };
        let mut seen = Seen::new();
        for (place, node) in tables {
            let Some(table) = self.table(node, place, keys::LINK.keys, &[]) else {
                net.names.push((String::new(), None));
                net.links.push(None);
                continue;
            };
            let name = self.item(&table, "name").and_then(|item| {
                let name = self.name(&item)?;
                self.unique(&mut seen, &name, &item.place);
                Some(name)
            });
            let rate = self.item(&table, "rate").and_then(|item| self.rate(&item));
            let delay = self.item(&table, "delay").and_then(|item| self.time(&item));
            let queue = self.queue(&table, rate);
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
            net.names.push((name.clone().unwrap_or_default(), ends));
            net.links.push((|| {
                let (aqm, capacity) = queue?;
                Some(Link {
                    name: name?,
                    rate: rate?,
                    delay: delay?,
                    capacity,
                    aqm,
                })
            })());
        }
        Some(net)
    }

    /// `queue = { ... }` of a link, or the default queue.
    fn queue(&self, link: &Table<'_>, rate: Option<f64>) -> Option<(AqmSpec, Capacity)> {
        let empty = Node::table([]);
        let (node, place) = match link.find("queue") {
            Some(entry) => (&entry.1, link.place_of(entry)),
            None => (
                &empty,
                Place {
                    key: join(&link.place.key, "queue"),
                    span: link.place.span.clone(),
                },
            ),
        };
        self.queue_node(node, place, rate)
    }

    fn queue_node(
        &self,
        node: &Node,
        place: Place,
        rate: Option<f64>,
    ) -> Option<(AqmSpec, Capacity)> {
        // a queue may be given by the name of its AQM alone
        let short;
        let node = if let Value::Text(_) = node.value {
            short = Node {
                value: Value::Table(vec![(
                    Name {
                        text: "aqm".to_owned(),
                        span: node.span.clone(),
                    },
                    node.clone(),
                )]),
                span: node.span.clone(),
            };
            &short
        } else {
            node
        };
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
        let capacity = self
            .item(&table, "capacity")
            .and_then(|item| self.capacity(&item, rate));
        let meta = self
            .item(&table, "aqm")
            .and_then(|item| self.algorithm(&item, aqms(), "AQM"))?;
        let names: Vec<&str> = meta.parameters.iter().map(|spec| spec.name).collect();
        let table = self.table(node, place, keys::QUEUE.keys, &names)?;
        let values = self.parameters(&table, meta)?;
        let aqm = AqmSpec::from_values(meta.kind, &values)
            .map_err(|error| self.refused(&Self::place_of_parameter(&table, &error.name), &error))
            .ok()?;
        Some((aqm, capacity?))
    }

    /// A ready shape: equal links in a row, with or without a way back.
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
        let (hops, (aqm, capacity)) = (hops?, queue?);
        let forward = Link {
            name: String::new(),
            rate: rate?,
            delay: delay?,
            capacity,
            aqm,
        };
        let mut net = Net {
            names: Vec::new(),
            links: Vec::new(),
            ends: Some((node_name(0), node_name(hops))),
        };
        for hop in 1..=hops {
            net.names
                .push((link_name(hop), Some((node_name(hop - 1), node_name(hop)))));
            net.links.push(Some(Link {
                name: link_name(hop),
                ..forward.clone()
            }));
        }
        if let Some(back) = reverse? {
            for hop in 1..=hops {
                let name = if keys.iter().any(|key| key.name == "hops") {
                    format!("{}-reverse", link_name(hop))
                } else {
                    "reverse".to_owned()
                };
                net.names
                    .push((name.clone(), Some((node_name(hop), node_name(hop - 1)))));
                net.links.push(Some(Link {
                    name,
                    ..back.clone()
                }));
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
        // the forward queue's capacity in time means another number of bytes at another rate, so it is read again
        let (aqm, capacity) = if table.find("queue").is_some() {
            self.queue(&table, rate)?
        } else {
            let before = self.errors.borrow().len();
            let queue = self.queue(shape, rate);
            self.errors.borrow_mut().truncate(before); // reported for the forward queue already
            queue?
        };
        Some(Link {
            name: String::new(),
            rate: rate?,
            delay: delay?,
            capacity,
            aqm,
        })
    }
}

// ---------------------------------------------------------------- flows

/// A class's name, and the class unless it has mistakes.
type NamedClass = (String, Option<FlowClass>);

impl Reader<'_> {
    /// `[[flows]]`.
    fn all_flows(
        &self,
        root: &Table<'_>,
        net: Option<&Net>,
        end: Option<End>,
    ) -> Option<Vec<NamedClass>> {
        let tables = self.repeated(root, "flows")?;
        if tables.is_empty() {
            self.push(&root.place, "there are no flows", |diagnostic| {
                diagnostic.allowed = Some("[[flows]]".to_owned());
            });
            return None;
        }
        let mut seen = Seen::new();
        let mut classes = Vec::new();
        for (at, (place, node)) in tables.into_iter().enumerate() {
            let automatic = format!("flows-{}", at + 1);
            let Some(table) = self.table(node, place, keys::FLOWS.keys, &[]) else {
                classes.push((automatic, None));
                continue;
            };
            let name = match table.given("name") {
                Some(item) => self.name(&item).filter(|name| {
                    self.unique(&mut seen, name, &item.place);
                    if name == "all" {
                        self.push(
                            &item.place,
                            "the name \"all\" means all flows together in results",
                            |diagnostic| {
                                diagnostic.allowed = Some("any other name".to_owned());
                            },
                        );
                    }
                    name != "all"
                }),
                None => {
                    self.unique(&mut seen, &automatic, &table.place);
                    Some(automatic.clone())
                }
            };
            let class = self.flows(&table, name.clone(), net, end);
            if let (Some(class), Some(item)) = (&class, table.given("count"))
                && class.count == 0
                && !self.is_changed(root, &class.name, "count")
            {
                self.wrong(&item, "an empty class, and no change ever fills it");
            }
            classes.push((name.unwrap_or(automatic), class));
        }
        Some(classes)
    }

    /// Whether some change names this class and this key (whatever the value).
    fn is_changed(&self, root: &Table<'_>, class: &str, key: &str) -> bool {
        let Some((
            _,
            Node {
                value: Value::Array(changes),
                ..
            },
        )) = root.find("change")
        else {
            return false;
        };
        changes.iter().any(|change| {
            let Value::Table(entries) = &change.value else {
                return false;
            };
            entries.iter().any(|(name, node)| {
                name.text == "flows"
                    && matches!(&node.value, Value::Text(text) if text.trim() == class)
            }) && entries.iter().any(|(name, _)| name.text == key)
        })
    }

    fn flows(
        &self,
        table: &Table<'_>,
        name: Option<String>,
        net: Option<&Net>,
        end: Option<End>,
    ) -> Option<FlowClass> {
        let get = |key: &str| self.item(table, key);
        let count = get("count")
            .and_then(|item| self.integer(&item))
            .and_then(|count| u32::try_from(count).ok());
        let traffic = self.traffic(table);
        let is_tcp = traffic.as_ref().is_none_or(Traffic::is_tcp);
        if !is_tcp {
            for key in keys::TCP_KEYS {
                if let Some(entry) = table.find(key) {
                    let place = Place {
                        key: join(&table.place.key, key),
                        span: entry.0.span.clone(),
                    };
                    self.push(
                        &place,
                        "a key of TCP, but the traffic of this class is UDP",
                        |_| {},
                    );
                }
            }
        }
        let route = net.and_then(|net| self.route(table, net));
        let rtt = match (table.given("rtt"), net, &route) {
            (Some(item), net, route) => {
                let own = net
                    .zip(route.as_ref())
                    .and_then(|(net, (path, back))| own(net, path, back.as_deref()));
                self.rtt(&item, own, is_tcp)
            }
            (None, Some(net), Some((path, back))) => {
                self.default_rtt(table, net, path, back.as_deref(), is_tcp)
            }
            _ => None,
        };
        let access_rate = get("access_rate").and_then(|item| {
            if item.is_word() {
                Some(None)
            } else {
                self.rate(&item).map(Some)
            }
        });
        let access_buffer =
            get("access_buffer").and_then(|item| self.capacity(&item, access_rate.flatten()));
        let start = get("start").and_then(|item| {
            let start = self.distribution(&item)?;
            if let Some(End::At(end)) = end
                && earliest(&start) >= seconds(end)
            {
                self.push(
                    &item.place,
                    "no flow starts before the end of the run",
                    |diagnostic| {
                        diagnostic.found = Some(item.node.describe());
                        diagnostic.allowed = Some(format!("times before {}", format_time(end)));
                    },
                );
                return None;
            }
            Some(start)
        });
        let stop = get("stop").and_then(|item| {
            if item.is_word() {
                return Some(None);
            }
            let stop = self.time(&item)?;
            if start
                .as_ref()
                .is_some_and(|start| earliest(start) >= seconds(stop))
            {
                self.wrong(&item, "every flow would stop before it starts");
                return None;
            }
            Some(Some(stop))
        });
        let packet_size = get("packet_size").and_then(|item| self.packet_size(&item));
        let header_size = get("header_size").and_then(|item| {
            let header = self.packet_size(&item)?;
            if packet_size.is_some_and(|packet| header >= packet) {
                self.push(
                    &item.place,
                    "the headers leave no room for payload",
                    |diagnostic| {
                        diagnostic.found = Some(item.node.describe());
                        diagnostic.allowed = Some("less than packet_size".to_owned());
                    },
                );
                return None;
            }
            Some(header)
        });
        let ack_size = get("ack_size").and_then(|item| self.packet_size(&item));
        let tcp = self.tcp(table);
        let (path, reverse_path) = route?;
        Some(FlowClass {
            name: name?,
            count: count?,
            path,
            reverse_path,
            rtt: rtt?,
            access_rate: access_rate?,
            access_buffer: access_buffer?,
            start: start?,
            stop: stop?,
            traffic: traffic?,
            packet_size: packet_size?,
            header_size: header_size?,
            ack_size: ack_size?,
            tcp: tcp?,
        })
    }

    fn tcp(&self, table: &Table<'_>) -> Option<Tcp> {
        let get = |key: &str| self.item(table, key);
        let flag = |key: &str| get(key).and_then(|item| self.flag(&item));
        let time = |key: &str| get(key).and_then(|item| self.time(&item));
        let congestion = self.congestion(table);
        let recovery = get("recovery")
            .and_then(|item| self.choice(&item))
            .map(|name| match name {
                "newreno" => Recovery::NewReno,
                "reno" => Recovery::Reno,
                "tahoe" => Recovery::Tahoe,
                _ => Recovery::Sack,
            });
        let initial_window = get("initial_window").and_then(|item| self.packets(&item));
        let initial_ssthresh = get("initial_ssthresh").and_then(|item| {
            if item.is_word() {
                Some(f64::INFINITY)
            } else {
                self.packets(&item)
            }
        });
        let max_window = get("max_window").and_then(|item| {
            if item.is_word() {
                Some(None)
            } else {
                self.whole_packets(&item).map(Some)
            }
        });
        let (handshake, ecn, delayed_ack, limited_transmit) = (
            flag("handshake"),
            flag("ecn"),
            flag("delayed_ack"),
            flag("limited_transmit"),
        );
        let delayed_ack_timeout = time("delayed_ack_timeout");
        let (min_rto, max_rto, initial_rto) =
            (time("min_rto"), time("max_rto"), time("initial_rto"));
        if let (Some(least), Some(most)) = (min_rto, max_rto)
            && least > most
            && let Some(item) = table.given("min_rto").or_else(|| table.given("max_rto"))
        {
            self.push(&item.place, "min_rto is above max_rto", |diagnostic| {
                diagnostic.found = Some(item.node.describe());
                diagnostic.allowed = Some(format!(
                    "min_rto {} at most max_rto {}",
                    format_time(least),
                    format_time(most)
                ));
            });
            return None;
        }
        let dup_threshold = get("dup_threshold")
            .and_then(|item| self.integer(&item))
            .and_then(|number| u32::try_from(number).ok());
        Some(Tcp {
            congestion: congestion?,
            recovery: recovery?,
            handshake: handshake?,
            initial_window: initial_window?,
            initial_ssthresh: initial_ssthresh?,
            max_window: max_window?,
            ecn: ecn?,
            delayed_ack: delayed_ack?,
            delayed_ack_timeout: delayed_ack_timeout?,
            limited_transmit: limited_transmit?,
            min_rto: min_rto?,
            max_rto: max_rto?,
            initial_rto: initial_rto?,
            dup_threshold: dup_threshold?,
        })
    }

    /// `congestion = "cubic"` or `{ kind = "compound", ... }`.
    fn congestion(&self, table: &Table<'_>) -> Option<CongestionSpec> {
        let item = self.item(table, "congestion")?;
        let Value::Table(entries) = &item.node.value else {
            let meta = self.algorithm(&item, congestion(), "congestion control")?;
            let empty = Table {
                place: item.place.clone(),
                entries: &[],
                keys: &[],
            };
            let values = self.parameters(&empty, meta)?;
            return CongestionSpec::from_values(meta.kind, &values)
                .map_err(|error| self.refused(&item.place, &error))
                .ok();
        };
        let Some((_, kind)) = entries.iter().find(|(name, _)| name.text == "kind") else {
            let names: Vec<_> = congestion().iter().map(|meta| meta.kind).collect();
            self.missing(&item.place, "kind", quoted_list(names));
            return None;
        };
        let place = Place {
            key: join(&item.place.key, "kind"),
            span: kind.span.clone(),
        };
        let meta = self.algorithm(
            &Item {
                node: Cow::Borrowed(kind),
                place,
                rule: item.rule,
            },
            congestion(),
            "congestion control",
        )?;
        let names: Vec<&str> = std::iter::once("kind")
            .chain(meta.parameters.iter().map(|spec| spec.name))
            .collect();
        let inner = self.table(&item.node, item.place.clone(), &[], &names)?;
        let values = self.parameters(&inner, meta)?;
        CongestionSpec::from_values(meta.kind, &values)
            .map_err(|error| self.refused(&Self::place_of_parameter(&inner, &error.name), &error))
            .ok()
    }

    /// `traffic = "bulk"` or `{ kind = "transfer", ... }`.
    fn traffic(&self, table: &Table<'_>) -> Option<Traffic> {
        let item = self.item(table, "traffic")?;
        let kinds: Vec<&str> = keys::TRAFFIC.iter().map(|kind| kind.kind).collect();
        let (kind, kind_place) = match &item.node.value {
            Value::Text(text) => (text.as_str(), item.place.clone()),
            Value::Table(entries) => match entries.iter().find(|(name, _)| name.text == "kind") {
                Some((_, node)) => {
                    let place = Place {
                        key: join(&item.place.key, "kind"),
                        span: node.span.clone(),
                    };
                    let Value::Text(text) = &node.value else {
                        self.push(&place, "the wrong kind of value", |diagnostic| {
                            diagnostic.found = Some(node.describe());
                            diagnostic.allowed = Some(quoted_list(kinds.iter().copied()));
                        });
                        return None;
                    };
                    (text.as_str(), place)
                }
                None => {
                    self.missing(&item.place, "kind", quoted_list(kinds.iter().copied()));
                    return None;
                }
            },
            _ => {
                self.wrong_kind(&item);
                return None;
            }
        };
        let Some(kind) = keys::TRAFFIC.iter().find(|known| known.kind == kind) else {
            self.unknown_name(
                &kind_place,
                format!("there is no traffic \"{}\"", crate::units::shorten(kind)),
                kind,
                &kinds,
            );
            return None;
        };
        let inner = match &item.node.value {
            Value::Table(_) => self.table(&item.node, item.place.clone(), kind.keys, &["kind"])?,
            _ => Table {
                place: item.place.clone(),
                entries: &[],
                keys: kind.keys,
            },
        };
        let rate = || self.item(&inner, "rate").and_then(|item| self.rate(&item));
        let mean = |key: &str| {
            self.item(&inner, key)
                .and_then(|item| self.time(&item))
                .map(seconds)
        };
        match kind.kind {
            "bulk" => Some(Traffic::Bulk),
            "transfer" => {
                let bytes = self
                    .item(&inner, "size")
                    .and_then(|item| self.size(&item, u64::MAX))?;
                Some(Traffic::Transfer { bytes })
            }
            "app-limited" => rate().map(|rate| Traffic::AppLimited { rate }),
            "cbr" => rate().map(|rate| Traffic::Cbr { rate }),
            "on-off" => {
                let (rate, on, off) = (rate(), mean("on"), mean("off"));
                Some(Traffic::OnOff {
                    rate: rate?,
                    on: on?,
                    off: off?,
                })
            }
            _ => {
                let (rate, sizes) = (
                    rate(),
                    self.item(&inner, "sizes")
                        .and_then(|item| self.choice(&item)),
                );
                Some(Traffic::Poisson {
                    rate: rate?,
                    exponential_sizes: sizes? == "exponential",
                })
            }
        }
    }
}

// ---------------------------------------------------------------- paths and round-trip times

/// A path and the way of the ACKs.
type Route = (Vec<LinkId>, Option<Vec<LinkId>>);

/// The propagation that the links of a path cover by themselves.
fn own(net: &Net, path: &[LinkId], back: Option<&[LinkId]>) -> Option<Time> {
    let there = net.propagation(path)?;
    Some(Time(
        there
            .0
            .saturating_add(net.propagation(back.unwrap_or(&[]))?.0),
    ))
}

/// The smallest value that a distribution promises (its mean where it has no lower end).
fn least(distribution: &Distribution) -> f64 {
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
fn earliest(start: &Distribution) -> f64 {
    match start {
        Distribution::Exponential(_) => 0.0,
        Distribution::Normal(_, deviation) if *deviation > 0.0 => 0.0,
        _ => least(start),
    }
}

impl Reader<'_> {
    fn route(&self, table: &Table<'_>, net: &Net) -> Option<Route> {
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
        let (from, to) = match (ends, &net.ends) {
            ((Some(from), Some(to)), _) => {
                let (from, to) = (self.node(&from, net), self.node(&to, net));
                (from?, to?)
            }
            ((None, None), Some((from, to))) => (from.clone(), to.clone()),
            ((None, None), None) => {
                self.missing(
                    &table.place,
                    "path",
                    format!(
                        "names of links ({}), or `from` and `to`",
                        quoted_list(net.names())
                    ),
                );
                return None;
            }
            ((Some(_), None), _) => {
                self.missing(
                    &table.place,
                    "to",
                    "the receiver's node, because `from` is given".to_owned(),
                );
                return None;
            }
            ((None, Some(_)), _) => {
                self.missing(
                    &table.place,
                    "from",
                    "the sender's node, because `to` is given".to_owned(),
                );
                return None;
            }
        };
        let graph: Vec<Option<(&str, &str)>> = net
            .names
            .iter()
            .map(|(_, ends)| ends.as_ref().map(|(from, to)| (from.as_str(), to.as_str())))
            .collect();
        let names = |way: &[LinkId]| {
            way.iter()
                .map(|link| net.names[*link].0.as_str())
                .collect::<Vec<_>>()
                .join(", ")
        };
        let tie = |key: &str, one: &[LinkId], other: &[LinkId]| {
            self.push(
                &table.place,
                format!(
                    "two ways are equally short: [{}] and [{}]",
                    names(one),
                    names(other)
                ),
                |diagnostic| {
                    diagnostic.allowed = Some(format!("name the links in `{key}`"));
                },
            );
        };
        if from == to {
            self.push(
                &table.place,
                format!("`from` and `to` are the same node \"{from}\""),
                |_| {},
            );
            return None;
        }
        let path = match shortest(&graph, &from, &to) {
            Ok(path) => path,
            Err(NoRoute::Unreachable) => {
                self.push(
                    &table.place,
                    format!("no links lead from \"{from}\" to \"{to}\""),
                    |_| {},
                );
                return None;
            }
            Err(NoRoute::Tie(one, other)) => {
                tie("path", &one, &other);
                return None;
            }
        };
        let back = match back? {
            Some(back) => back,
            None => match shortest(&graph, &to, &from) {
                Ok(back) => Some(back),
                Err(NoRoute::Unreachable) => None,
                Err(NoRoute::Tie(one, other)) => {
                    tie("reverse_path", &one, &other);
                    return None;
                }
            },
        };
        Some((path, back))
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
                    format!("there is no link \"{}\"", crate::units::shorten(name)),
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

    fn rtt(&self, item: &Item<'_>, own: Option<Time>, is_tcp: bool) -> Option<Distribution> {
        let rtt = self.distribution(item)?;
        let problem = match &rtt {
            Distribution::Exponential(_) => "a round-trip time cannot be exponential, because it could be below the path's propagation".to_owned(),
            _ if is_tcp && least(&rtt) <= 0.0 => "a round-trip time of zero".to_owned(),
            // picosecond rounding of the sum must not refuse an rtt that is written equal to it
            _ if own.is_some_and(|own| Time::from_seconds(least(&rtt)) < own) => {
                let own = own.unwrap_or_default();
                self.push(&item.place, "below the path's own propagation", |diagnostic| {
                    diagnostic.found = Some(item.node.describe());
                    diagnostic.allowed = Some(format!("{} or more", format_time(own)));
                });
                return None;
            }
            _ => return Some(rtt),
        };
        self.wrong(item, problem);
        None
    }

    fn default_rtt(
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

// ---------------------------------------------------------------- changes

/// One key of a change that has been read but not yet checked against what came before it.
struct Draft<'n> {
    at: Time,
    setting: Setting,
    item: Item<'n>,
    /// Which `[[change]]` it belongs to.
    group: usize,
}

impl Reader<'_> {
    /// `[[change]]`.
    fn changes(
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
        let mut now = Net {
            names: net.names.clone(),
            links: net.links.clone(),
            ends: None,
        };
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

/// The entry of [`keys::TRAFFIC`] that describes this traffic.
pub(crate) fn traffic_kind(traffic: &Traffic) -> &'static keys::TrafficKind {
    let name = match traffic {
        Traffic::Bulk => "bulk",
        Traffic::Transfer { .. } => "transfer",
        Traffic::AppLimited { .. } => "app-limited",
        Traffic::Cbr { .. } => "cbr",
        Traffic::OnOff { .. } => "on-off",
        Traffic::Poisson { .. } => "poisson",
    };
    keys::TRAFFIC
        .iter()
        .find(|kind| kind.kind == name)
        .unwrap_or(&keys::TRAFFIC[0])
}
