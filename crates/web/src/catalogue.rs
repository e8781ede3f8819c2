//! The choices of a page: algorithms with their parameters, keys of scenarios with their meaning.

use ackclock_algorithms::DefaultValue;
use ackclock_algorithms::impairment::loss_models;
use ackclock_algorithms::meta::Meta;
use ackclock_algorithms::registry::{aqms, congestion};
use ackclock_algorithms::scheduler::schedulers;
use ackclock_algorithms::service::services;
use ackclock_scenario::keys::{Fallback, SECTIONS};
use serde_json::{Value, json};

pub(crate) fn catalogue() -> Value {
    let list = |entries: &[Meta]| entries.iter().map(algorithm).collect::<Vec<_>>();
    let keys: Vec<Value> = SECTIONS
        .iter()
        .flat_map(|section| {
            section.keys.iter().map(|key| {
                json!({
                    "table": section.name, "name": key.name, "allowed": key.allowed(),
                    "default": fallback(key.default), "doc": key.doc,
                })
            })
        })
        .collect();
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "congestion": list(congestion()), "aqm": list(aqms()),
        "scheduler": list(schedulers()), "loss": list(loss_models()), "service": list(services()),
        "keys": keys,
    })
}

fn fallback(value: Fallback) -> Value {
    match value {
        Fallback::Required | Fallback::Derived(_) => Value::Null,
        Fallback::Text(text) => json!(text),
        Fallback::Flag(flag) => json!(flag),
        Fallback::Integer(number) => json!(number),
    }
}

fn algorithm(meta: &Meta) -> Value {
    let parameters: Vec<Value> = meta
        .parameters
        .iter()
        .map(|spec| {
            json!({
                "name": spec.name, "unit": spec.kind.unit(), "default": default(spec.default),
                "allowed": spec.allowed(), "doc": spec.doc, "source": spec.source,
            })
        })
        .collect();
    json!({
        "kind": meta.kind, "title": meta.title, "summary": meta.summary, "citation": meta.citation,
        "has_fluid": meta.has_fluid, "has_mean_field": meta.has_mean_field,
        "approximation": meta.approximation, "ecn": meta.ecn, "parameters": parameters,
    })
}

fn default(value: DefaultValue) -> Value {
    match value {
        DefaultValue::Required => Value::Null,
        DefaultValue::Number(number) => json!(number),
        DefaultValue::Flag(flag) => json!(flag),
        DefaultValue::Word(word) => json!(word),
    }
}
