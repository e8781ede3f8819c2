//! Parts of a link beside rate, delay and queue: rates over time, token buckets, losses, jitter;
//! and the schedulers of queues.

use std::borrow::Cow;
use std::sync::Arc;

use ackclock_algorithms::impairment::{
    AutorateParams, Discipline, LossSpec, ShaperParams, loss_models,
};
use ackclock_algorithms::meta::Algorithm;
use ackclock_algorithms::scheduler::{SchedulerSpec, schedulers};
use ackclock_algorithms::service::{Service as _, ServiceSpec, services};
use ackclock_algorithms::{Parameters, Time};

use super::{Item, Reader, Table};
use crate::keys::{self, LinkDraft};
use crate::model::{Autorate, FlowClass, Jitter, Link};
use crate::options::{Style, TraceFormat};
use crate::trace::RateTrace;
use crate::tree::{Node, Value};
use crate::units::{Dimension, Quantity};
use crate::value::Distribution;

/// The value of a key of a table.
fn entry<'n>(table: &'n Node, key: &str) -> Option<&'n Node> {
    let Value::Table(entries) = &table.value else {
        return None;
    };
    entries
        .iter()
        .find(|(name, _)| name.text == key)
        .map(|(_, node)| node)
}

impl Reader<'_> {
    /// A scheduler with its parameters.
    pub(crate) fn scheduler(&self, item: &Item<'_>) -> Option<SchedulerSpec> {
        if !matches!(item.node.value, Value::Text(_) | Value::Table(_)) {
            self.wrong_kind(item);
            return None;
        }
        let (meta, values) = self.named(item, schedulers(), "scheduler")?;
        self.or_refused(item, SchedulerSpec::from_values(meta.kind, &values))
    }

    /// A service with its parameters.
    pub(crate) fn service(&self, item: &Item<'_>) -> Option<ServiceSpec> {
        if !matches!(item.node.value, Value::Text(_) | Value::Table(_)) {
            self.wrong_kind(item);
            return None;
        }
        let (meta, values) = self.named(item, services(), "service")?;
        self.or_refused(item, ServiceSpec::from_values(meta.kind, &values))
    }

    /// A rate that follows probes.
    pub(crate) fn autorate(&self, item: &Item<'_>) -> Option<Autorate> {
        if !matches!(item.node.value, Value::Table(_)) {
            self.wrong_kind(item);
            return None;
        }
        let specs = AutorateParams::SPEC;
        let names: Vec<&str> = specs.iter().map(|spec| spec.name).collect();
        let table = self.table(&item.node, item.place.clone(), keys::AUTORATE_KEYS, &names)?;
        let values = self.specified(&table, specs);
        let probes = self
            .item(&table, "probes")
            .and_then(|item| self.name(&item));
        let params = AutorateParams::from_values(&values?)
            .and_then(|params| params.check().map(|()| params));
        Some(Autorate {
            params: self.or_refused(item, params)?,
            probes: probes?,
        })
    }

    /// Probes must be datagrams that cross the link whose rate follows them.
    pub(super) fn probes(&self, root: &Table<'_>, links: &[Link], classes: &[FlowClass]) {
        for (id, link) in links.iter().enumerate() {
            let Some(autorate) = &link.autorate else {
                continue;
            };
            let class = classes.iter().find(|class| class.name == autorate.probes);
            let problem = match class {
                None => "there is no such class of flows",
                Some(class) if class.traffic.is_tcp() => "probes must not be TCP",
                Some(class) if !class.path.contains(&id) => "the probes do not cross the link",
                Some(_) => continue,
            };
            let span = root.find("link").and_then(|(_, node)| match &node.value {
                Value::Array(items) => entry(items.get(id)?, "autorate")?.span.clone(),
                _ => None,
            });
            let place = super::Place {
                key: format!("link[{id}].autorate.probes"),
                span,
            };
            self.push(&place, problem, |diagnostic| {
                diagnostic.found = Some(format!("\"{}\"", autorate.probes));
                diagnostic.allowed =
                    Some("a class with traffic such as \"cbr\" over this link".to_owned());
            });
        }
    }

    /// Refuses parts of a link that its service does not go with, and those that need one.
    pub(super) fn served(&self, table: &Table<'_>, link: &LinkDraft) {
        let service = link.service.flatten();
        let refuse = |key: &str, problem: &str, allowed: &str| {
            if let Some(item) = table.given(key) {
                self.refuse(&item, problem, allowed);
            }
        };
        if matches!(link.autorate, Some(Some(_))) {
            let problem = "a rate that follows probes is that of a shaper, not of this link";
            let allowed = "the autorate on a link of its own, before this one";
            if matches!(link.trace, Some(Some(_))) {
                refuse("rate", problem, allowed);
            }
            if service.is_some() {
                refuse("service", problem, allowed);
            }
        }
        let shares = service.is_some_and(|it| it.build().sharing().is_some());
        if matches!(link.medium, Some(Some(_))) && !shares {
            refuse(
                "medium",
                "the link has no medium to share",
                "a link with service = \"wifi\"",
            );
        }
        let Some(service) = service else {
            if matches!(link.stalls, Some(Some(_))) {
                refuse(
                    "stalls",
                    "the link has no service that stalls",
                    "a link with a `service`, or a rate over time with steps of 0 bit/s",
                );
            }
            return;
        };
        let kind = service.kind();
        if matches!(link.shaper, Some(Some(_))) {
            refuse(
                "shaper",
                &format!("a shaper on a link with the service {kind}"),
                "the shaper on a link of its own, before this one",
            );
        }
        if matches!(link.tree, Some(Some(_))) {
            refuse(
                "queue",
                &format!("a queue with classes on a link with the service {kind}"),
                "the classes on a link of their own, before this one",
            );
        }
    }

    /// A loss model with its parameters, or a probability.
    pub(crate) fn loss(&self, item: &Item<'_>) -> Option<LossSpec> {
        let random = loss_models().iter().find(|meta| meta.kind == "random")?;
        let (kind, values) = match &item.node.value {
            Value::Table(_) => {
                let (meta, values) = self.named(item, loss_models(), "loss model")?;
                (meta.kind, values)
            }
            Value::Text(_) | Value::Integer(_) | Value::Float(_) => {
                let spec = &random.parameters[0];
                let probability = self.parameter(item, spec)?;
                (random.kind, vec![(spec.name.to_owned(), probability)])
            }
            _ => {
                self.wrong_kind(item);
                return None;
            }
        };
        self.or_refused(item, LossSpec::from_values(kind, &values))
    }

    /// Jitter: a distribution, or a table of one.
    pub(crate) fn jitter(&self, item: &Item<'_>) -> Option<Jitter> {
        if let Value::Table(_) = item.node.value {
            let table = self.table(&item.node, item.place.clone(), keys::JITTER.keys, &[])?;
            return Jitter::read(self, &table, Style::default()).finish();
        }
        Some(Jitter {
            delay: self.added_delay(item)?,
            reorder: false,
        })
    }

    /// Reads the addition to the delay of each packet.
    pub(crate) fn added_delay(&self, item: &Item<'_>) -> Option<Distribution> {
        let delay = self.distribution(item)?;
        if let Distribution::Range(..) = delay {
            self.refuse(
                item,
                "a range is dealt to flows, not drawn for packets",
                "a uniform, normal or exponential distribution",
            );
            return None;
        }
        Some(delay)
    }

    /// A table of parameters, such as a token bucket's.
    pub(crate) fn bucket<P: Algorithm + Parameters>(&self, item: &Item<'_>) -> Option<P> {
        if !matches!(item.node.value, Value::Table(_)) {
            self.wrong_kind(item);
            return None;
        }
        let names: Vec<&str> = P::SPEC.iter().map(|spec| spec.name).collect();
        let table = self.table(&item.node, item.place.clone(), &[], &names)?;
        let values = self.specified(&table, P::SPEC)?;
        let bucket = P::from_values(&values).and_then(|bucket| bucket.check().map(|()| bucket));
        self.or_refused(item, bucket)
    }

    /// A token bucket must hold the largest packet, which else would never conform, unless it may
    /// be overdrawn.
    pub(super) fn buckets(&self, root: &Table<'_>, links: &[Link], classes: &[FlowClass]) {
        let holding =
            |shaper: ShaperParams| (shaper.discipline == Discipline::Tbf).then_some(shaper.burst);
        for (id, link) in links.iter().enumerate() {
            let crossing = classes.iter().filter(|class| class.path.contains(&id));
            let largest = crossing.map(|class| class.packet_size).max().unwrap_or(0);
            let buckets = [
                ("policer", link.policer.map(|it| it.burst)),
                ("shaper", link.shaper.and_then(holding)),
            ];
            for (key, burst) in buckets {
                let Some(burst) = burst.filter(|burst| *burst < f64::from(largest)) else {
                    continue;
                };
                let span = root.find("link").and_then(|(_, node)| match &node.value {
                    Value::Array(items) => entry(items.get(id)?, key)?.span.clone(),
                    _ => None,
                });
                let place = super::Place {
                    key: format!("link[{id}].{key}.burst"),
                    span,
                };
                self.push(
                    &place,
                    "the bucket cannot hold the largest packet",
                    |diagnostic| {
                        diagnostic.found = Some(format!("{burst} B"));
                        diagnostic.allowed = Some(format!("{largest} B or more"));
                    },
                );
            }
        }
    }

    /// `rate` of a link: constant, or a mean and a trace.
    pub(super) fn rate_or_trace(&self, item: &Item<'_>) -> Option<(f64, Option<Arc<RateTrace>>)> {
        if !matches!(item.node.value, Value::Table(_)) {
            return Some((self.rate(item)?, None));
        }
        let table = self.table(&item.node, item.place.clone(), keys::TRACE.keys, &[])?;
        let repeat = match table.given("repeat") {
            Some(item) if item.is_word() => None,
            Some(item) => Some(self.time(&item)?),
            None => None,
        };
        let trace = match (table.given("steps"), table.given("trace")) {
            (Some(item), None) => self.steps(&item, repeat)?,
            (None, Some(item)) => self.trace_file(&table, &item, repeat)?,
            (None, None) => {
                self.missing(
                    &table.place,
                    "trace",
                    "the name of a file, or `steps`".to_owned(),
                );
                return None;
            }
            (Some(_), Some(item)) => {
                self.push(&item.place, "both a file and steps", |diagnostic| {
                    diagnostic.allowed = Some("one of them".to_owned());
                });
                return None;
            }
        };
        Some((trace.mean(), Some(Arc::new(trace))))
    }

    fn trace_file(
        &self,
        table: &Table<'_>,
        item: &Item<'_>,
        repeat: Option<Time>,
    ) -> Option<RateTrace> {
        let path = self.text(item)?;
        let format = self
            .item(table, "format")
            .and_then(|item| self.option(&item))?;
        let never = table.given("repeat").is_some_and(|item| item.is_word());
        let read = (self.files)(path).and_then(|text| match format {
            TraceFormat::Csv => RateTrace::from_csv(&text, repeat),
            TraceFormat::Mahimahi if never => Err("a Mahimahi trace repeats".to_owned()),
            TraceFormat::Mahimahi => RateTrace::from_mahimahi(&text, repeat),
        });
        read.map_err(|problem| {
            self.push(
                &item.place,
                format!("the trace file cannot be used: {problem}"),
                |diagnostic| {
                    diagnostic.found = Some(item.node.describe());
                },
            );
        })
        .ok()
    }

    fn steps(&self, item: &Item<'_>, repeat: Option<Time>) -> Option<RateTrace> {
        let Value::Array(nodes) = &item.node.value else {
            self.wrong_kind(item);
            return None;
        };
        let step = |node: &Node| -> Option<(Time, f64)> {
            let Value::Array(pair) = &node.value else {
                return None;
            };
            let [time, rate] = &pair[..] else { return None };
            let (Value::Text(time), Value::Text(rate)) = (&time.value, &rate.value) else {
                return None;
            };
            let (time, rate) = (Quantity::parse(time).ok()?, Quantity::parse(rate).ok()?);
            let right = time.dimension == Dimension::Time && rate.dimension == Dimension::Rate;
            let value = rate.value().ok()?;
            let possible = value == 0.0 || (1.0..=1e14).contains(&value);
            (right && possible).then_some((time.time().ok()?, value))
        };
        let mut steps = Vec::with_capacity(nodes.len());
        for (at, node) in nodes.iter().enumerate() {
            let Some(step) = step(node) else {
                let mut item = item.clone();
                item.place.key = format!("{}[{at}]", item.place.key);
                item.place.span = node.span.clone().or(item.place.span);
                item.node = Cow::Owned(node.clone());
                self.wrong(&item, "not a time and a rate");
                return None;
            };
            steps.push(step);
        }
        RateTrace::new(steps, repeat)
            .map_err(|problem| self.wrong(item, problem))
            .ok()
    }
}
