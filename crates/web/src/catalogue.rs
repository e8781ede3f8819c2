//! The choices of a page: algorithms with their parameters, keys of scenarios with their meaning.

use crate::json::{Json, list, object};
use ackclock_algorithms::DefaultValue;
use ackclock_algorithms::impairment::loss_models;
use ackclock_algorithms::meta::Meta;
use ackclock_algorithms::registry::{aqms, congestion};
use ackclock_algorithms::scheduler::schedulers;
use ackclock_algorithms::service::services;
use ackclock_scenario::keys::{Fallback, SECTIONS};

pub(crate) fn catalogue() -> Json {
    let keys = SECTIONS.iter().flat_map(|section| {
        section.keys.iter().map(|key| {
            object! {
                "table": section.name, "name": key.name, "allowed": key.allowed(),
                "default": fallback(key.default), "doc": key.doc,
            }
        })
    });
    object! {
        "version": env!("CARGO_PKG_VERSION"),
        "congestion": list(congestion(), algorithm), "aqm": list(aqms(), algorithm),
        "scheduler": list(schedulers(), algorithm), "loss": list(loss_models(), algorithm),
        "service": list(services(), algorithm),
        "keys": Json::array(keys),
    }
}

fn fallback(value: Fallback) -> Json {
    match value {
        Fallback::Required | Fallback::Derived(_) => Json::of(&None::<bool>),
        Fallback::Text(text) => Json::of(&text),
        Fallback::Flag(flag) => Json::of(&flag),
        Fallback::Integer(number) => Json::of(&number),
    }
}

fn algorithm(meta: &Meta) -> Json {
    let parameters = meta.parameters.iter().map(|spec| {
        object! {
            "name": spec.name, "unit": spec.kind.unit(), "default": default(spec.default),
            "allowed": spec.allowed(), "doc": spec.doc, "source": spec.source,
        }
    });
    object! {
        "kind": meta.kind, "title": meta.title, "summary": meta.summary, "citation": meta.citation,
        "has_fluid": meta.has_fluid, "has_mean_field": meta.has_mean_field,
        "approximation": meta.approximation, "ecn": meta.ecn, "parameters": Json::array(parameters),
    }
}

fn default(value: DefaultValue) -> Json {
    match value {
        DefaultValue::Required => Json::of(&None::<bool>),
        DefaultValue::Number(number) => Json::of(&number),
        DefaultValue::Flag(flag) => Json::of(&flag),
        DefaultValue::Word(word) => Json::of(&word),
    }
}
