//! JSON Schema (draft 2020-12) of scenario files, for editors: generated from the tables of keys
//! and the registry of algorithms.

use ackclock_algorithms::classes::{class_schedulers, class_specs};
use ackclock_algorithms::impairment::{
    AutorateParams, PolicerParams, ShaperParams, StallParams, loss_models,
};
use ackclock_algorithms::library::{LIBRARY_KEYS, LibraryKind};
use ackclock_algorithms::meta::{Algorithm, Meta};
use ackclock_algorithms::registry::{aqms, congestion};
use ackclock_algorithms::scheduler::{SchedulerSpec, schedulers};
use ackclock_algorithms::service::services;
use ackclock_algorithms::{DefaultValue, Kind as ParameterKind, ParameterSpec};
use serde_json::{Map, Value, json};

use crate::keys::{self, Fallback, Key, Kind, Section, Target};
use crate::units::{Dimension, unit_names};

/// The schema of scenario files.
///
/// Valid for the TOML as for the JSON form. It describes keys, kinds, units, ranges and defaults;
/// what depends on several keys at once (thresholds in order, paths over declared links) only the
/// parser checks.
#[must_use]
pub fn json_schema() -> Value {
    let mut properties = Map::new();
    for section in keys::SECTIONS {
        let table = table(section);
        let value = if section.repeated {
            json!({"type": "array", "items": table, "minItems": 1})
        } else {
            table
        };
        properties.insert(section.name.to_owned(), value);
    }
    if let Some(change) = properties.get_mut("change") {
        change["items"] = change_table();
    }
    let definitions: Map<String, Value> = DEFINED
        .iter()
        .map(|(name, shared)| ((*name).to_owned(), kind(*shared)))
        .chain(
            class_schedulers()
                .iter()
                .map(|meta| (class_of(meta), class(meta))),
        )
        .collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "ackclock scenario",
        "type": "object",
        "properties": properties,
        "required": ["scenario", "flows"],
        "oneOf": [{"required": ["link"]}, {"required": ["dumbbell"]}, {"required": ["parking_lot"]}],
        "additionalProperties": false,
        "$defs": definitions,
    })
}

/// The kinds that stand in `$defs`, because many keys have them.
const DEFINED: &[(&str, Kind)] = &[
    ("time", Kind::Time),
    ("rate", Kind::Rate),
    ("size", Kind::Size),
    ("packets", Kind::Packets),
    ("capacity", Kind::Capacity),
    ("distribution", Kind::Distribution),
    ("queue", Kind::Queue),
    ("scheduler", Kind::Scheduler),
    ("loss", Kind::Loss),
    ("congestion", Kind::Congestion),
    ("traffic", Kind::Traffic),
    ("sizes", Kind::Sizes),
    ("frequency", Kind::Frequency),
    ("share", Kind::Share),
    ("reverse", Kind::Reverse),
];

/// The schema of a kind, by reference where it is defined once for all.
fn reference(wanted: Kind) -> Value {
    let pattern_of = match wanted {
        Kind::Span => Kind::Time,
        Kind::WholePackets => Kind::Packets,
        other => other,
    };
    match DEFINED.iter().find(|(_, defined)| *defined == pattern_of) {
        Some((name, _)) => json!({"$ref": format!("#/$defs/{name}")}),
        None => kind(wanted),
    }
}

fn object(doc: &str, properties: &Map<String, Value>, required: &[&str]) -> Value {
    let mut schema = json!({"type": "object", "description": doc, "properties": properties, "additionalProperties": false});
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

fn required(keys: &'static [Key]) -> Vec<&'static str> {
    keys.iter()
        .filter(|key| key.default == Fallback::Required)
        .map(|key| key.name)
        .collect()
}

fn table(section: &Section) -> Value {
    object(
        section.doc,
        &section.keys.iter().map(property).collect(),
        &required(section.keys),
    )
}

fn property(key: &Key) -> (String, Value) {
    let mut schema = reference(key.kind);
    if let Some((word, meaning)) = key.word {
        schema = json!({"anyOf": [schema, {"const": word, "description": meaning}]});
    }
    let default = match key.default {
        Fallback::Text(text) => Some(json!(text)),
        Fallback::Flag(flag) => Some(json!(flag)),
        Fallback::Integer(number) => Some(json!(number)),
        Fallback::Required | Fallback::Derived(_) => None,
    };
    let note = match key.default {
        Fallback::Derived(rule) => format!("{} Default: {rule}.", key.doc),
        _ => key.doc.to_owned(),
    };
    schema["description"] = json!(note);
    if let Some(default) = default {
        schema["default"] = default;
    }
    (key.name.to_owned(), schema)
}

/// Pattern of one number and one of the units of these dimensions, unanchored.
fn quantity(dimensions: &[Dimension]) -> String {
    let mut units: Vec<String> = dimensions
        .iter()
        .flat_map(|dimension| unit_names(*dimension))
        .map(escape)
        .collect();
    // the longest first, so that a unit is not taken for the beginning of another
    units.sort_by_key(|unit| (std::cmp::Reverse(unit.len()), unit.clone()));
    format!(
        r"[+]?(\d[\d_]*(\.\d+)?|\.\d+)([eE][+-]?\d+)?\s*({})",
        units.join("|")
    )
}

fn escape(text: &str) -> String {
    text.replace('/', r"\/").replace('.', r"\.")
}

fn pattern(pattern: &str) -> Value {
    json!({"type": "string", "pattern": format!(r"^\s*{pattern}\s*$")})
}

fn kind(kind: Kind) -> Value {
    let time = quantity(&[Dimension::Time]);
    match kind {
        Kind::Text => json!({"type": "string"}),
        Kind::Name => json!({"type": "string", "minLength": 1, "maxLength": 100}),
        Kind::Flag => json!({"type": "boolean"}),
        Kind::Integer(low, high) => json!({"type": "integer", "minimum": low, "maximum": high}),
        Kind::Time | Kind::Span => pattern(&time),
        Kind::Rate => pattern(&quantity(&[Dimension::Rate])),
        Kind::Size => pattern(&quantity(&[Dimension::Size])),
        Kind::Packets | Kind::WholePackets => pattern(&quantity(&[Dimension::Packets])),
        Kind::Capacity => pattern(&format!(
            "({}|unlimited)",
            quantity(&[Dimension::Packets, Dimension::Size, Dimension::Time])
        )),
        Kind::Distribution => {
            let text = format!(
                r"({time}|(uniform|range)\s+{time}\s*\.\.\s*{time}|normal\s+{time}\s*,\s*{time}|exponential\s+{time})"
            );
            json!({"anyOf": [pattern(&text), {"type": "array", "items": pattern(&time), "minItems": 1}]})
        }
        Kind::Window => pattern(&format!(r"{time}\s*\.\.\s*{time}")),
        Kind::Choice(choices) => {
            json!({"enum": choices.iter().map(|(name, _)| name).collect::<Vec<_>>()})
        }
        Kind::Path => {
            json!({"anyOf": [{"type": "array", "items": {"type": "string"}, "minItems": 1, "uniqueItems": true}, {"type": "string"}]})
        }
        Kind::Queue => {
            let mut tables: Vec<Value> = aqms()
                .iter()
                .map(|meta| algorithm(meta, "aqm", keys::QUEUE.keys))
                .collect();
            for tag in ["aqm", "scheduler"] {
                tables.extend(schedulers().iter().map(|meta| flat(meta, tag)));
            }
            tables.extend(class_schedulers().iter().map(tree));
            tables.push(names(aqms()));
            tables.push(names(schedulers()));
            json!({"anyOf": tables})
        }
        Kind::Congestion => congestion_or_library(),
        Kind::Traffic => {
            let mut tables: Vec<Value> = keys::TRAFFIC.iter().map(traffic).collect();
            tables.push(json!({"enum": keys::TRAFFIC.iter().filter(|kind| required(kind.keys).is_empty()).map(|kind| kind.kind).collect::<Vec<_>>()}));
            json!({"anyOf": tables})
        }
        Kind::Reverse => table(&keys::REVERSE),
        Kind::Sizes => {
            let size = quantity(&[Dimension::Size]);
            let number = r"(\d+(\.\d+)?)";
            let text = format!(
                r"({size}|exponential\s+{size}|pareto\s+{size}\s*,\s*{number}|log-normal\s+{size}\s*,\s*{size}|web-search)"
            );
            let point = json!({"type": "array", "prefixItems": [pattern(&size), {"type": "number", "minimum": 0, "maximum": 1}], "minItems": 2, "maxItems": 2});
            json!({"anyOf": [pattern(&text), {"type": "array", "items": point, "minItems": 1}]})
        }
        Kind::Frequency => pattern(&quantity(&[Dimension::Frequency])),
        Kind::Share => {
            json!({"anyOf": [{"type": "number", "exclusiveMinimum": 0}, pattern(&quantity(&[Dimension::Percent]))]})
        }
        Kind::RateOrTrace => json!({"anyOf": [reference(Kind::Rate), table(&keys::TRACE)]}),
        Kind::Loss => {
            let mut schema = named(loss_models());
            if let Some(forms) = schema["anyOf"].as_array_mut() {
                forms.push(json!({"type": "number", "minimum": 0, "maximum": 1}));
                forms.push(pattern(&quantity(&[Dimension::Percent])));
            }
            schema
        }
        Kind::Jitter => {
            json!({"anyOf": [reference(Kind::Distribution), table(&keys::JITTER)]})
        }
        Kind::Steps => steps(&time),
        Kind::Service | Kind::Stalls | Kind::Autorate | Kind::Shaper | Kind::Policer => {
            of_transmitters(kind)
        }
        _ => of_classes(kind),
    }
}

/// How a link sends.
fn of_transmitters(kind: Kind) -> Value {
    match kind {
        Kind::Service => named(services()),
        Kind::Stalls => bucket::<StallParams>(),
        Kind::Autorate => autorate(),
        Kind::Policer => bucket::<PolicerParams>(),
        _ => bucket::<ShaperParams>(),
    }
}

/// Steps of a rate over time.
fn steps(time: &str) -> Value {
    let rate = pattern(&quantity(&[Dimension::Rate]));
    let step = json!({"type": "array", "prefixItems": [pattern(time), rate], "minItems": 2, "maxItems": 2});
    json!({"type": "array", "items": step, "minItems": 1})
}

/// Kinds of schedulers, with classes and without.
fn of_classes(kind: Kind) -> Value {
    match kind {
        Kind::Scheduler => named(schedulers()),
        Kind::ClassScheduler => named(class_schedulers()),
        Kind::Classes => json!({"type": "array", "items": {"type": "object"}, "minItems": 1}),
        Kind::CodePoints(choices) => {
            let name = json!({"enum": choices.iter().map(|(name, _)| *name).collect::<Vec<_>>()});
            json!({"anyOf": [{"type": "array", "items": name}, name]})
        }
        _ => {
            json!({"anyOf": [{"type": "array", "items": reference(Kind::Name)}, reference(Kind::Name)]})
        }
    }
}

/// Algorithms by name or as tables.
fn named(known: &'static [Meta]) -> Value {
    let mut tables: Vec<Value> = known
        .iter()
        .map(|meta| algorithm(meta, "kind", &[]))
        .collect();
    tables.push(names(known));
    json!({"anyOf": tables})
}

/// A congestion control, or a library in its place.
fn congestion_or_library() -> Value {
    let mut schema = named(congestion());
    if let Some(forms) = schema["anyOf"].as_array_mut() {
        forms.extend(LibraryKind::ALL.map(library));
    }
    schema
}

/// A shared library in place of an algorithm.
fn library(kind: LibraryKind) -> Value {
    let [path, options] = LIBRARY_KEYS;
    json!({
        "type": "object",
        "properties": {
            "kind": {"const": kind.name()},
            (path): {"type": "string", "minLength": 1},
            (options): {"type": "string", "default": ""},
        },
        "required": ["kind", path],
        "additionalProperties": false,
    })
}

/// A rate that follows probes.
fn autorate() -> Value {
    let mut schema = bucket::<AutorateParams>();
    schema["properties"]["probes"] = reference(Kind::Name);
    if let Some(required) = schema["required"].as_array_mut() {
        required.push(json!("probes"));
    }
    schema
}

/// A token bucket.
fn bucket<P: Algorithm>() -> Value {
    let properties: Map<String, Value> = P::SPEC
        .iter()
        .map(|spec| (spec.name.to_owned(), parameter(spec)))
        .collect();
    let required: Vec<&str> = P::SPEC
        .iter()
        .filter(|spec| spec.default == DefaultValue::Required)
        .map(|spec| spec.name)
        .collect();
    let about = P::ABOUT;
    object(
        &format!("{}. {}", about.title, about.citation),
        &properties,
        &required,
    )
}

/// The algorithms that need no parameters, so that their names alone will do.
fn names(known: &[Meta]) -> Value {
    let complete = |meta: &&Meta| {
        meta.parameters
            .iter()
            .all(|spec| spec.default != DefaultValue::Required)
    };
    json!({"enum": known.iter().filter(complete).map(|meta| meta.kind).collect::<Vec<_>>()})
}

/// The table of one algorithm: its name under `tag`, its parameters, and `more` keys.
fn algorithm(meta: &Meta, tag: &str, more: &'static [Key]) -> Value {
    let mut properties: Map<String, Value> = more.iter().map(property).collect();
    properties.insert(
        tag.to_owned(),
        json!({"const": meta.kind, "description": meta.summary}),
    );
    properties.extend(
        meta.parameters
            .iter()
            .map(|spec| (spec.name.to_owned(), parameter(spec))),
    );
    let mut required: Vec<&str> = meta
        .parameters
        .iter()
        .filter(|spec| spec.default == DefaultValue::Required)
        .map(|spec| spec.name)
        .collect();
    // the tag may be missing only where it has a default that means this algorithm
    let default = more
        .iter()
        .find(|key| key.name == tag)
        .map(|key| key.default);
    let implied = match default {
        Some(Fallback::Text(kind)) => kind == meta.kind,
        // drop-tail, or what belongs to a scheduler
        Some(Fallback::Derived(_)) => {
            meta.kind == "drop-tail"
                || schedulers()
                    .iter()
                    .any(|scheduler| own_aqm(scheduler) == Some(meta.kind))
        }
        _ => false,
    };
    if !implied {
        required.insert(0, tag);
    }
    object(
        &format!("{}. {}", meta.title, meta.citation),
        &properties,
        &required,
    )
}

/// The AQM that belongs to a scheduler, if one does.
fn own_aqm(scheduler: &Meta) -> Option<&'static str> {
    let spec = SchedulerSpec::from_values(scheduler.kind, &[]).ok()?;
    spec.default_aqm().map(|(kind, _)| kind)
}

/// A queue that names its scheduler under `tag`, the parameters of the scheduler and of its AQM beside
/// it.
fn flat(meta: &Meta, tag: &'static str) -> Value {
    let mut schema = algorithm(meta, tag, keys::QUEUE.keys);
    let own = own_aqm(meta).and_then(|kind| aqms().iter().find(|meta| meta.kind == kind));
    if let (Some(own), Some(properties)) = (own, schema["properties"].as_object_mut()) {
        properties.extend(
            own.parameters
                .iter()
                .map(|spec| (spec.name.to_owned(), parameter(spec))),
        );
    }
    schema
}

/// A queue with classes.
fn tree(meta: &Meta) -> Value {
    let mut schema = table(&keys::TREE);
    let own = algorithm(meta, "kind", &[]);
    schema["properties"]["scheduler"] =
        json!({"anyOf": [own, {"const": meta.kind, "description": meta.summary}]});
    schema["properties"]["classes"]["items"] =
        json!({"$ref": format!("#/$defs/{}", class_of(meta))});
    schema
}

/// The name of the definition of a scheduler's classes.
fn class_of(meta: &Meta) -> String {
    format!("class-{}", meta.kind)
}

/// A class of a queue.
fn class(meta: &Meta) -> Value {
    let mut schema = table(&keys::CLASS);
    schema["properties"]["classes"]["items"] =
        json!({"$ref": format!("#/$defs/{}", class_of(meta))});
    let specs = class_specs(meta);
    if let Some(properties) = schema["properties"].as_object_mut() {
        properties.extend(
            specs
                .iter()
                .map(|spec| (spec.name.to_owned(), parameter(spec))),
        );
    }
    let required = specs
        .iter()
        .filter(|spec| spec.default == DefaultValue::Required);
    if let Some(names) = schema["required"].as_array_mut() {
        names.extend(required.map(|spec| json!(spec.name)));
    }
    schema
}

fn traffic(kind: &keys::TrafficKind) -> Value {
    let mut properties: Map<String, Value> = kind.keys.iter().map(property).collect();
    properties.insert(
        "kind".to_owned(),
        json!({"const": kind.kind, "description": kind.doc}),
    );
    object(
        kind.doc,
        &properties,
        &std::iter::once("kind")
            .chain(required(kind.keys))
            .collect::<Vec<_>>(),
    )
}

fn parameter(spec: &ParameterSpec) -> Value {
    let number = |dimension: Dimension, unsigned: Kind| {
        if spec.range.low >= 0.0 {
            reference(unsigned)
        } else {
            pattern(&format!("-?{}", quantity(&[dimension])))
        }
    };
    let mut schema = match spec.kind {
        ParameterKind::Number => {
            let mut number = json!({"type": "number"});
            let range = spec.range;
            for (key, limit, used) in [
                ("minimum", range.low, !range.low_open),
                ("exclusiveMinimum", range.low, range.low_open),
                ("maximum", range.high, !range.high_open),
                ("exclusiveMaximum", range.high, range.high_open),
            ] {
                if used && limit.is_finite() {
                    number[key] = json!(limit);
                }
            }
            json!({"anyOf": [number, pattern(&quantity(&[Dimension::Percent]))]})
        }
        ParameterKind::Time => number(Dimension::Time, Kind::Time),
        ParameterKind::Rate => number(Dimension::Rate, Kind::Rate),
        ParameterKind::Packets => number(Dimension::Packets, Kind::Packets),
        ParameterKind::Bytes => number(Dimension::Size, Kind::Size),
        ParameterKind::Frequency => pattern(&format!("-?{}", quantity(&[Dimension::Frequency]))),
        ParameterKind::Flag => json!({"type": "boolean"}),
        ParameterKind::Choice => json!({"enum": spec.words}),
    };
    if spec.kind.is_numeric() && !spec.words.is_empty() {
        schema = json!({"anyOf": [schema, {"enum": spec.words}]});
    }
    schema["description"] = json!(format!(
        "{} ({}; {})",
        spec.doc,
        spec.allowed(),
        spec.source
    ));
    if let Some(value) = spec.default_value() {
        schema["default"] = json!(crate::written::parameter(Some(spec), &value));
    }
    schema
}

/// A change: its own keys, and every changeable key of links, queues, classes and traffic.
fn change_table() -> Value {
    let mut properties: Map<String, Value> = keys::CHANGE.keys.iter().map(property).collect();
    let mut queue = Map::new();
    let all = [Target::Link, Target::Class, Target::Traffic];
    for key in all.into_iter().flat_map(Target::keys) {
        let (name, mut schema) = property(&Key {
            word: None,
            default: Fallback::Required,
            ..*key
        });
        schema["description"] = json!(key.doc);
        // keys of one name may differ in kind (the rate of a link, of arrivals); which one a target
        // has only the parser knows
        match properties.get_mut(&name) {
            Some(known) if known["$ref"] != schema["$ref"] && known.get("anyOf").is_none() => {
                let doc = known["description"].take();
                let both = json!([{"$ref": known["$ref"]}, {"$ref": schema["$ref"]}]);
                *known = json!({"anyOf": both, "description": doc});
            }
            Some(_) => {}
            None => {
                properties.insert(name, schema);
            }
        }
    }
    let numeric = aqms()
        .iter()
        .flat_map(|meta| meta.parameters)
        .filter(|spec| spec.kind.is_numeric());
    let of_queue = Target::Queue.keys().map(property);
    for (name, schema) in
        of_queue.chain(numeric.map(|spec| (spec.name.to_owned(), parameter(spec))))
    {
        // AQMs may give one name different kinds; which one a link has only the parser knows
        queue.entry(name.clone()).or_insert_with(|| schema.clone());
        properties.entry(name).or_insert(schema);
    }
    properties.insert(
        "queue".to_owned(),
        object("Keys of the link's queue.", &queue, &[]),
    );
    object(keys::CHANGE.doc, &properties, &required(keys::CHANGE.keys))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every `$ref` in the schema.
    fn references(value: &Value, texts: &mut Vec<String>) {
        match value {
            Value::Object(table) => {
                for (key, value) in table {
                    match (key.as_str(), value) {
                        ("$ref", Value::String(target)) => texts.push(target.clone()),
                        _ => references(value, texts),
                    }
                }
            }
            Value::Array(items) => items.iter().for_each(|inner| references(inner, texts)),
            _ => {}
        }
    }

    #[test]
    fn every_reference_leads_somewhere() {
        let schema = json_schema();
        let mut targets = Vec::new();
        references(&schema, &mut targets);
        assert!(targets.len() > 30);
        for target in targets {
            assert!(
                schema.pointer(target.trim_start_matches('#')).is_some(),
                "{target}"
            );
        }
    }

    /// A queue may leave its AQM out where a default means one.
    #[test]
    fn an_implied_aqm_need_not_be_named() {
        let schema = json_schema();
        let forms = schema["$defs"]["queue"]["anyOf"].as_array().unwrap();
        let names_it = |kind: &str| {
            let form = forms
                .iter()
                .find(|form| form["properties"]["aqm"]["const"] == kind)
                .unwrap();
            form["required"]
                .as_array()
                .is_some_and(|keys| keys.iter().any(|key| key == "aqm"))
        };
        for implied in ["drop-tail", "codel", "pie"] {
            assert!(!names_it(implied), "{implied}");
        }
        assert!(names_it("blue") && names_it("red"));
    }

    #[test]
    fn every_key_and_every_algorithm_is_described() {
        let schema = json_schema();
        for section in keys::SECTIONS {
            let table = &schema["properties"][section.name];
            let table = if section.repeated {
                &table["items"]
            } else {
                table
            };
            for key in section.keys {
                let description = table["properties"][key.name]["description"].as_str();
                assert!(
                    description.is_some_and(|text| text.starts_with(key.doc)),
                    "{}.{}",
                    section.name,
                    key.name
                );
            }
            let required: Vec<&str> = required(section.keys);
            assert_eq!(
                table["required"].as_array().map_or(0, Vec::len),
                required.len(),
                "{}",
                section.name
            );
        }
        // a queue may name a scheduler, too: its tables and its names; a congestion control, a library
        for (name, tag, known, more) in [
            (
                "queue",
                "aqm",
                aqms(),
                2 * schedulers().len() + class_schedulers().len() + 1,
            ),
            ("congestion", "kind", congestion(), LibraryKind::ALL.len()),
        ] {
            let tables = schema["$defs"][name]["anyOf"].as_array().unwrap();
            assert_eq!(tables.len(), known.len() + 1 + more);
            for (table, meta) in tables.iter().zip(known) {
                assert_eq!(table["properties"][tag]["const"], meta.kind);
                for spec in meta.parameters {
                    let property = &table["properties"][spec.name];
                    assert!(
                        property["description"]
                            .as_str()
                            .is_some_and(|text| text.starts_with(spec.doc))
                    );
                    assert_eq!(
                        property.get("default").is_none(),
                        spec.default == DefaultValue::Required
                    );
                }
            }
        }
    }
}
