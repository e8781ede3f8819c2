//! Values: numbers with units, names, distributions, parameters of algorithms.

use std::borrow::Cow;

use ackclock_algorithms::classes::class_schedulers;
use ackclock_algorithms::meta::Meta;
use ackclock_algorithms::scheduler::schedulers;
use ackclock_algorithms::{
    DefaultValue, Kind as ParameterKind, ParameterSpec, Time, Value as Setpoint,
};

use super::{Item, Place, Reader, Rule, Table, allowed_parameter, dimension_of};
use crate::diagnostic::{nearest, usual};
use crate::key::{Key, Kind};
use crate::options::Named;
use crate::sizes::Sizes;
use crate::tree::{Node, Value};
use crate::units::{Dimension, Quantity, QuantityError, shorten};
use crate::value::{Capacity, Distribution, End};

/// The largest initial window, packets.
const LARGEST_INITIAL_WINDOW: f64 = 100_000.0;

/// The longest time that a scenario may name: sums of several stay far below the end of [`Time`].
const MAX_TIME: Time = Time(30 * 24 * 3600 * Time::PER_SECOND);
/// The largest packet, bytes (IPv4).
const LARGEST_PACKET: u64 = 65_535;

impl Reader<'_> {
    pub(crate) fn text<'i>(&self, item: &'i Item<'_>) -> Option<&'i str> {
        if let Value::Text(text) = &item.node.value {
            Some(text)
        } else {
            self.wrong_kind(item);
            None
        }
    }

    /// A name that can stand in paths and results.
    pub(crate) fn name(&self, item: &Item<'_>) -> Option<String> {
        let text = self.text(item)?.trim();
        if text.is_empty() || text.chars().count() > 100 || text.chars().any(char::is_control) {
            self.wrong(item, "not a usable name");
            return None;
        }
        Some(text.to_owned())
    }

    pub(crate) fn flag(&self, item: &Item<'_>) -> Option<bool> {
        if let Value::Flag(flag) = item.node.value {
            Some(flag)
        } else {
            self.wrong_kind(item);
            None
        }
    }

    pub(crate) fn integer(&self, item: &Item<'_>) -> Option<i64> {
        let Rule::Key(Key {
            kind: Kind::Integer(low, high),
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

    pub(crate) fn ok<T>(&self, item: &Item<'_>, result: Result<T, QuantityError>) -> Option<T> {
        result.map_err(|error| self.failed(item, &error)).ok()
    }

    /// A number with a unit of one of these dimensions.
    pub(crate) fn quantity(&self, item: &Item<'_>, dimensions: &[Dimension]) -> Option<Quantity> {
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
        if time > MAX_TIME {
            self.wrong(item, "longer than 30 days");
            return None;
        }
        Some(time)
    }

    /// A time, above zero where the key says so.
    pub(crate) fn time(&self, item: &Item<'_>) -> Option<Time> {
        let quantity = self.quantity(item, &[Dimension::Time])?;
        let time = self.time_of(item, quantity)?;
        if time == Time::ZERO
            && matches!(
                item.rule,
                Rule::Key(Key {
                    kind: Kind::Span,
                    ..
                })
            )
        {
            self.wrong(item, "zero");
            return None;
        }
        Some(time)
    }

    /// The same in seconds, as exact as it was written.
    pub(crate) fn seconds(&self, item: &Item<'_>) -> Option<f64> {
        self.time(item)?;
        let quantity = self.quantity(item, &[Dimension::Time])?;
        self.ok(item, quantity.value())
    }

    /// When a run ends: a time, or the key's word.
    pub(crate) fn end(&self, item: &Item<'_>) -> Option<End> {
        if item.is_word() {
            Some(End::UntilDone)
        } else {
            self.time(item).map(End::At)
        }
    }

    /// A number above zero, or per cent.
    pub(crate) fn share(&self, item: &Item<'_>) -> Option<f64> {
        let share = match item.node.value {
            Value::Integer(number) => number as f64,
            Value::Float(number) if number.is_finite() => number,
            Value::Float(_) => {
                self.wrong(item, "not finite");
                return None;
            }
            _ => {
                let quantity = self.quantity(item, &[Dimension::Percent])?;
                self.ok(item, quantity.value())?
            }
        };
        if share > 0.0 {
            return Some(share);
        }
        self.wrong(item, if share < 0.0 { "negative" } else { "zero" });
        None
    }

    /// Sizes of transfers.
    pub(crate) fn sizes(&self, item: &Item<'_>) -> Option<Sizes> {
        let bytes = |text: &str| {
            let quantity = self.quantity_in(item, text, &[Dimension::Size])?;
            let bytes = self.ok(item, quantity.value())?;
            if (1.0..=1e15).contains(&bytes) {
                return Some(bytes);
            }
            self.wrong(item, "a size is from 1 B to 1000 TB");
            None
        };
        if let Value::Array(points) = &item.node.value {
            return self.table_of_sizes(item, points);
        }
        let Value::Text(text) = &item.node.value else {
            self.quantity(item, &[Dimension::Size]); // says what is wrong
            return None;
        };
        let text = text.trim();
        let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        match word {
            "web-search" if rest.is_empty() => Some(Sizes::web_search()),
            "exponential" => bytes(rest).map(Sizes::Exponential),
            "pareto" => {
                let Some((mean, shape)) = rest.split_once(',') else {
                    self.wrong(item, "not a mean and a tail index");
                    return None;
                };
                let mean = bytes(mean)?;
                let shape = self
                    .ok(item, Quantity::parse_number(shape))
                    .and_then(|number| self.ok(item, number.value()))?;
                if !(shape > 1.0 && shape <= 100.0) {
                    self.wrong(
                        item,
                        "a tail index is above 1 (else there is no mean) and at most 100",
                    );
                    return None;
                }
                Some(Sizes::Pareto { mean, shape })
            }
            "log-normal" => {
                let Some((mean, deviation)) = rest.split_once(',') else {
                    self.wrong(item, "not a mean and a standard deviation");
                    return None;
                };
                Some(Sizes::LogNormal {
                    mean: bytes(mean)?,
                    deviation: bytes(deviation)?,
                })
            }
            _ if word.starts_with(char::is_alphabetic) => {
                let names = ["exponential", "pareto", "log-normal", "web-search"];
                self.push(&item.place, "an unknown law of sizes", |diagnostic| {
                    diagnostic.found = Some(item.node.describe());
                    diagnostic.suggestion = nearest(word, names).map(str::to_owned);
                    diagnostic.allowed = Some(item.allowed());
                });
                None
            }
            _ => self.size(item, 1_000_000_000_000_000).map(Sizes::Fixed),
        }
    }

    /// Sizes and the probability of sizes up to each.
    fn table_of_sizes(&self, item: &Item<'_>, points: &[Node]) -> Option<Sizes> {
        let mut table: Vec<(f64, f64)> = Vec::with_capacity(points.len());
        for (at, node) in points.iter().enumerate() {
            let entry = Item {
                node: Cow::Borrowed(node),
                place: Place {
                    key: format!("{}[{at}]", item.place.key),
                    span: node.span.clone().or(item.place.span.clone()),
                },
                rule: item.rule,
            };
            let pair = match &node.value {
                Value::Array(pair) => match pair.as_slice() {
                    [
                        Node {
                            value: Value::Text(size),
                            ..
                        },
                        part,
                    ] => Some((size, part)),
                    _ => None,
                },
                _ => None,
            };
            let Some((size, part)) = pair else {
                self.wrong(&entry, "not a pair of a size and a probability");
                return None;
            };
            let quantity = self.quantity_in(&entry, size, &[Dimension::Size])?;
            let size = self.ok(&entry, quantity.value())?;
            let part = match part.value {
                Value::Integer(number) => number as f64,
                Value::Float(number) => number,
                _ => f64::NAN,
            };
            let (least, below) = table.last().copied().unwrap_or((1.0, 0.0));
            let problem = if !(1.0..=1e15).contains(&size) {
                "a size is from 1 B to 1000 TB"
            } else if !(0.0..=1.0).contains(&part) {
                "not a probability"
            } else if size < least {
                "sizes must not fall"
            } else if part <= below && !(table.is_empty() && part == 0.0) {
                "probabilities must rise"
            } else {
                table.push((size, part));
                continue;
            };
            self.wrong(&entry, problem);
            return None;
        }
        if table.last().is_none_or(|(_, part)| *part != 1.0) {
            self.wrong(item, "the last probability must be 1");
            return None;
        }
        Some(Sizes::Empirical(table))
    }

    /// A whole number of bytes, from 1 to `most`.
    pub(crate) fn size(&self, item: &Item<'_>, most: u64) -> Option<u64> {
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

    /// A mean size of transfers, bytes.
    pub(crate) fn mean_size(&self, item: &Item<'_>) -> Option<f64> {
        self.size(item, 1_000_000_000_000).map(|bytes| bytes as f64)
    }

    pub(crate) fn packet_size(&self, item: &Item<'_>) -> Option<u32> {
        self.size(item, LARGEST_PACKET)
            .and_then(|bytes| u32::try_from(bytes).ok())
    }

    /// A number of packets, at least one.
    pub(crate) fn packets(&self, item: &Item<'_>) -> Option<f64> {
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

    /// An initial window, all of which leaves in one burst.
    pub(crate) fn initial_window(&self, item: &Item<'_>) -> Option<f64> {
        let packets = self.packets(item)?;
        if packets > LARGEST_INITIAL_WINDOW {
            self.wrong(
                item,
                format!(
                    "more than {LARGEST_INITIAL_WINDOW} packets, which would leave in one burst"
                ),
            );
            return None;
        }
        Some(packets)
    }

    pub(crate) fn whole_packets(&self, item: &Item<'_>) -> Option<u32> {
        let packets = self.packets(item)?;
        if packets.fract() != 0.0 {
            self.wrong(item, "not a whole number");
            return None;
        }
        Some(packets as u32)
    }

    /// A queue's limit; a time means what `rate` sends in it.
    pub(crate) fn capacity(&self, item: &Item<'_>, rate: Option<f64>) -> Option<Capacity> {
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

    pub(crate) fn window(&self, item: &Item<'_>) -> Option<(Time, Time)> {
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

    /// One of the names of an option.
    pub(crate) fn option<T: Named>(&self, item: &Item<'_>) -> Option<T> {
        let text = self.text(item)?;
        // RFCs write code points in capitals
        let named = T::named(text).or_else(|| T::named(&text.to_ascii_lowercase()));
        if named.is_none() {
            let names: Vec<_> = T::CHOICES.iter().map(|(name, _)| *name).collect();
            self.unknown_name(
                &item.place,
                format!("\"{}\" is not a choice", shorten(text)),
                text,
                &names,
            );
        }
        named
    }

    /// Times drawn once per flow, in seconds.
    pub(crate) fn distribution(&self, item: &Item<'_>) -> Option<Distribution> {
        let value = |text: &str| {
            let quantity = self.quantity_in(item, text, &[Dimension::Time])?;
            self.time_of(item, quantity)?; // neither negative nor too long
            self.ok(item, quantity.value())
        };
        if let Value::Array(items) = &item.node.value {
            return self.times(item, items).map(Distribution::List);
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
                    self.wrong(item, "not a mean and a standard deviation");
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
                self.wrong(
                    item,
                    "two times without a word that says how they are meant",
                );
                None
            }
            _ => value(text).map(Distribution::Fixed),
        }
    }

    fn times(&self, item: &Item<'_>, items: &[Node]) -> Option<Vec<f64>> {
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
        // every entry is read, so that every mistake is reported
        let list: Vec<Option<f64>> = items.iter().enumerate().map(read).collect();
        list.into_iter().collect()
    }

    /// A parameter of an algorithm, in the unit of its kind.
    pub(crate) fn parameter(
        &self,
        item: &Item<'_>,
        spec: &'static ParameterSpec,
    ) -> Option<Setpoint> {
        let Some(dimension) = dimension_of(spec.kind) else {
            return match (&item.node.value, spec.kind) {
                (Value::Flag(flag), ParameterKind::Flag) => Some(Setpoint::Flag(*flag)),
                (Value::Text(text), ParameterKind::Choice) => {
                    if spec.words.contains(&text.as_str()) {
                        return Some(Setpoint::Word(text.clone()));
                    }
                    self.unknown_name(
                        &item.place,
                        format!("\"{}\" is not a choice", shorten(text)),
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
                        shorten(text)
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
    pub(crate) fn parameters<'n>(
        &self,
        table: &Table<'n>,
        meta: &'static Meta,
    ) -> Option<Vec<(String, Setpoint)>> {
        self.specified(table, meta.parameters)
    }

    /// The values of `specs` in `table`.
    pub(crate) fn specified(
        &self,
        table: &Table<'_>,
        specs: &'static [ParameterSpec],
    ) -> Option<Vec<(String, Setpoint)>> {
        let mut values = Vec::new();
        let mut good = true;
        for spec in specs {
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
    pub(crate) fn algorithm(
        &self,
        item: &Item<'_>,
        known: &'static [Meta],
        noun: &str,
    ) -> Option<&'static Meta> {
        let kind = self.text(item)?;
        let meta = known.iter().find(|meta| is_named(meta, kind));
        if meta.is_none() {
            let mut names: Vec<_> = known.iter().map(|meta| meta.kind).collect();
            let tree = class_schedulers().iter().find(|meta| is_named(meta, kind));
            let mut hint = tree.map_or_else(String::new, |meta| {
                format!(
                    " (it is a scheduler with classes: scheduler = \"{}\")",
                    meta.kind
                )
            });
            if noun == "scheduler" {
                names.extend(class_schedulers().iter().map(|meta| meta.kind));
            }
            if noun == "AQM" {
                if schedulers().iter().any(|meta| is_named(meta, kind)) {
                    " (it is a scheduler, and the queue has one)".clone_into(&mut hint);
                } else {
                    // a scheduler's name may stand in place of an AQM's
                    names.extend(schedulers().iter().map(|meta| meta.kind));
                }
            }
            self.unknown_name(
                &item.place,
                format!("there is no {noun} \"{}\"{hint}", shorten(kind)),
                usual(kind),
                &names,
            );
        }
        meta
    }

    /// Where a parameter stands, to report what the registry says of it.
    pub(crate) fn place_of_parameter(table: &Table<'_>, name: &str) -> Place {
        table
            .find(name)
            .map_or_else(|| table.place.clone(), |entry| table.place_of(entry))
    }
}

/// Whether a word names an algorithm: in any case, with either kind of dash.
pub(crate) fn is_named(meta: &Meta, word: &str) -> bool {
    let plain = |letter: u8| {
        if letter == b'_' {
            b'-'
        } else {
            letter.to_ascii_lowercase()
        }
    };
    meta.kind.len() == word.len() && meta.kind.bytes().map(plain).eq(word.bytes().map(plain))
}
