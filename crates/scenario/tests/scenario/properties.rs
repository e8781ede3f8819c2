//! Random valid scenarios survive being written and read; nothing makes the parser panic.

use ackclock_algorithms::impairment::loss_models;
use ackclock_algorithms::registry::{aqms, congestion};
use ackclock_algorithms::scheduler::{SchedulerSpec, schedulers};
use ackclock_algorithms::service::services;
use ackclock_algorithms::{DefaultValue, Kind, ParameterSpec};
use ackclock_scenario::keys::{self, Fallback, Key, Target};
use ackclock_scenario::{canonical_toml, parse, parse_json, to_json};
use proptest::prelude::*;
use proptest::sample::select;

/// A time between 1 ps and about two days, in some unit.
fn time() -> impl Strategy<Value = String> {
    prop_oneof![
        (1_u64..1_000_000, select(vec!["ps", "ns", "us", "ms"]))
            .prop_map(|(number, unit)| format!("{number} {unit}")),
        (1e-9..1e5_f64).prop_map(|seconds| format!("{seconds} s")),
        (0.01..40.0_f64).prop_map(|hours| format!("{hours} h")),
    ]
}

fn distribution() -> impl Strategy<Value = String> {
    prop_oneof![
        time().prop_map(|time| format!("\"{time}\"")),
        proptest::collection::vec(time(), 1..4).prop_map(|list| format!("{list:?}")),
        (select(vec!["uniform", "range"]), 0.0..1e3_f64, 0.0..1e3_f64)
            .prop_map(|(word, low, more)| format!("\"{word} {low} s .. {} s\"", low + more)),
        (time(), time()).prop_map(|(mean, deviation)| format!("\"normal {mean}, {deviation}\"")),
    ]
}

fn rate() -> impl Strategy<Value = String> {
    prop_oneof![
        (
            1_u64..10_000,
            select(vec!["bit/s", "kbit/s", "Mbps", "Gb/s", "kB/s"])
        )
            .prop_map(|(number, unit)| format!("{number} {unit}")),
        (1.0..1e13_f64).prop_map(|rate| format!("{rate} bit/s")),
    ]
}

fn capacity() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("unlimited".to_owned()),
        any::<u32>().prop_map(|packets| format!("{packets} packets")),
        (any::<u64>()).prop_map(|bytes| format!("{bytes} B")),
        (1_u32..1000).prop_map(|time| format!("{time} ms")),
    ]
}

/// A value of a parameter within its range, which may still contradict another parameter's.
fn parameter(spec: &'static ParameterSpec) -> BoxedStrategy<String> {
    let range = spec.range;
    let low = if range.low.is_finite() {
        range.low
    } else {
        -100.0
    };
    let high = if range.high.is_finite() {
        range.high
    } else {
        low.abs() * 2.0 + 1000.0
    };
    let number = (0.001..0.999_f64).prop_map(move |part| low + part * (high - low));
    let words: Vec<String> = spec
        .words
        .iter()
        .map(|word| format!("\"{word}\""))
        .collect();
    match spec.kind {
        Kind::Flag => any::<bool>().prop_map(|flag| flag.to_string()).boxed(),
        Kind::Choice => select(words).boxed(),
        Kind::Number => number.prop_map(|number| number.to_string()).boxed(),
        kind if words.is_empty() => number
            .prop_map(move |number| format!("\"{number} {}\"", kind.unit()))
            .boxed(),
        kind => prop_oneof![
            select(words),
            number.prop_map(move |number| format!("\"{number} {}\"", kind.unit()))
        ]
        .boxed(),
    }
}

/// A table of an algorithm: all required parameters and some of the others.
fn algorithm(
    tag: &'static str,
    kind: &'static str,
    specs: &'static [ParameterSpec],
) -> BoxedStrategy<String> {
    let mut table = Just(format!("{{ {tag} = \"{kind}\"")).boxed();
    for spec in specs {
        let value = if spec.default == DefaultValue::Required {
            parameter(spec).prop_map(Some).boxed()
        } else {
            proptest::option::weighted(0.3, parameter(spec)).boxed()
        };
        table = (table, value)
            .prop_map(|(table, value)| match value {
                Some(value) => format!("{table}, {} = {value}", spec.name),
                None => table,
            })
            .boxed();
    }
    table
}

fn queue() -> impl Strategy<Value = String> {
    let any_aqm =
        select(aqms().to_vec()).prop_flat_map(|meta| algorithm("aqm", meta.kind, meta.parameters));
    let any_scheduler = select(schedulers().to_vec())
        .prop_flat_map(|meta| algorithm("kind", meta.kind, meta.parameters));
    let aqm = (any_aqm, capacity())
        .prop_map(|(table, capacity)| format!("{table}, capacity = \"{capacity}\" }}"));
    (aqm, proptest::option::weighted(0.3, any_scheduler)).prop_map(|(queue, scheduler)| {
        let Some(scheduler) = scheduler else {
            return queue;
        };
        let known = SchedulerSpec::from_values(
            schedulers()
                .iter()
                .map(|meta| meta.kind)
                .find(|kind| scheduler.contains(&format!("\"{kind}\"")))
                .unwrap_or("fq"),
            &[],
        );
        if known.is_ok_and(|known| known.default_aqm().is_none()) {
            return format!("{{ scheduler = {scheduler} }} }}");
        }
        queue.replacen('{', &format!("{{ scheduler = {scheduler} }},"), 1)
    })
}

/// Further parts of a link, each sometimes.
fn impairments() -> impl Strategy<Value = String> {
    let loss = prop_oneof![
        (0.0..=1.0_f64).prop_map(|share| format!("{share:?}")),
        select(loss_models().to_vec())
            .prop_flat_map(|meta| algorithm("kind", meta.kind, meta.parameters))
            .prop_map(|table| format!("{table} }}")),
    ];
    let jitter = prop_oneof![
        time().prop_map(|delay| format!("\"{delay}\"")),
        (time(), any::<bool>()).prop_map(|(delay, reorder)| format!(
            "{{ delay = \"exponential {delay}\", reorder = {reorder} }}"
        )),
    ];
    let bucket = || rate().prop_map(|rate| format!("{{ rate = \"{rate}\", burst = \"70 kB\" }}"));
    let shaper = (bucket(), select(vec!["", ", discipline = \"htb\""]))
        .prop_map(|(bucket, discipline)| bucket.replace(" }", &format!("{discipline} }}")));
    let stalls = proptest::option::weighted(0.5, 1_u32..100);
    let service = select(services().to_vec())
        .prop_flat_map(|meta| algorithm("kind", meta.kind, meta.parameters));
    let service = (service, stalls).prop_map(|(table, stalls)| {
        let stalls = stalls.map_or(String::new(), |longest| {
            format!(
                "stalls = {{ interval = \"2 s\", shortest = \"0 s\", longest = \"{longest} s\" }}\n"
            )
        });
        format!("service = {table} }}\n{stalls}")
    });
    let sometimes = |name: &'static str, value: BoxedStrategy<String>| {
        proptest::option::weighted(0.2, value).prop_map(move |value| {
            value.map_or(String::new(), |value| format!("{name} = {value}\n"))
        })
    };
    (
        sometimes("loss", loss.boxed()),
        sometimes("jitter", jitter.boxed()),
        // not both of them
        prop_oneof![3 => sometimes("shaper", shaper.boxed()), 1 => service],
        sometimes("policer", bucket().boxed()),
    )
        .prop_map(|(a, b, c, d)| a + &b + &c + &d)
}

fn controller() -> impl Strategy<Value = String> {
    let any_controller = select(congestion().to_vec())
        .prop_flat_map(|meta| algorithm("kind", meta.kind, meta.parameters));
    any_controller.prop_map(|table| format!("{table} }}"))
}

/// Values that a scenario may give for a key.
fn value(key: &Key) -> BoxedStrategy<String> {
    let text = |text: String| format!("\"{text}\"");
    let value = match key.kind {
        keys::Kind::Flag => any::<bool>().prop_map(|flag| flag.to_string()).boxed(),
        keys::Kind::Integer(low, high) => {
            (low..=high).prop_map(|number| number.to_string()).boxed()
        }
        keys::Kind::Choice(choices) => select(choices)
            .prop_map(move |(name, _)| text((*name).to_owned()))
            .boxed(),
        keys::Kind::Time | keys::Kind::Span => time().prop_map(text).boxed(),
        keys::Kind::Rate | keys::Kind::RateOrTrace => rate().prop_map(text).boxed(),
        keys::Kind::Size => (1_u32..65_536)
            .prop_map(move |bytes| text(format!("{bytes} B")))
            .boxed(),
        keys::Kind::Sizes => sizes().boxed(),
        keys::Kind::Frequency => (0.001..1e6_f64)
            .prop_map(move |rate| text(format!("{rate} /s")))
            .boxed(),
        keys::Kind::Share => (0.001..2.0_f64).prop_map(|share| share.to_string()).boxed(),
        keys::Kind::Packets => (1.0..1e4_f64)
            .prop_map(move |packets| text(format!("{packets} packets")))
            .boxed(),
        keys::Kind::WholePackets => (1_u32..100_000)
            .prop_map(move |packets| text(format!("{packets} segments")))
            .boxed(),
        keys::Kind::Capacity => capacity().prop_map(text).boxed(),
        keys::Kind::Distribution => distribution().boxed(),
        keys::Kind::Congestion => controller().boxed(),
        kind => unimplemented!("values of {}: {kind:?}", key.name),
    };
    match key.word {
        Some((word, _)) => prop_oneof![3 => value, 1 => Just(text(word.to_owned()))].boxed(),
        None => value,
    }
}

/// The keys of a TCP class, each sometimes.
fn tcp() -> impl Strategy<Value = String> {
    let sometimes = |key: &'static Key| {
        proptest::option::weighted(0.12, value(key)).prop_map(|value| {
            value.map_or_else(String::new, |value| format!("{} = {value}\n", key.name))
        })
    };
    let keys: Vec<_> = keys::Tcp::KEYS.iter().map(sometimes).collect();
    keys.prop_map(|keys| keys.concat())
}

/// A law of sizes.
fn sizes() -> impl Strategy<Value = String> {
    prop_oneof![
        (1_u64..1_000_000_000).prop_map(|size| format!("\"{size} B\"")),
        (1.0..1e9_f64).prop_map(|size| format!("\"exponential {size} B\"")),
        (1.0..1e9_f64, 1.001..100.0_f64)
            .prop_map(|(size, shape)| format!("\"pareto {size} B, {shape}\"")),
        (1.0..1e9_f64, 1.0..1e9_f64)
            .prop_map(|(mean, deviation)| format!("\"log-normal {mean} B, {deviation} B\"")),
        Just("\"web-search\"".to_owned()),
        (1.0..1e6_f64, 0.0..1e6_f64, 0.001..0.999_f64).prop_map(|(size, more, part)| format!(
            "[[\"{size} B\", {part}], [\"{} B\", 1]]",
            size + more
        )),
    ]
}

/// Traffic of any kind: what must be given, and each of the other keys sometimes.
fn traffic() -> impl Strategy<Value = String> {
    let tables = keys::TRAFFIC.iter().map(|kind| {
        let setting = |key: &Key| {
            let name = key.name;
            let given = value(key).prop_map(move |value| format!(", {name} = {value}"));
            match key.default {
                Fallback::Required | Fallback::Derived(_) => given.boxed(),
                _ => prop_oneof![given, Just(String::new())].boxed(),
            }
        };
        // a share of the path's capacity would stand in place of a rate
        let keys = kind.keys.iter().filter(|key| key.kind != keys::Kind::Share);
        let keys: Vec<_> = keys.map(setting).collect();
        let tcp = if kind.tcp {
            tcp().boxed()
        } else {
            Just(String::new()).boxed()
        };
        (tcp, keys)
            .prop_map(|(tcp, keys)| {
                let (name, keys) = (kind.kind, keys.concat());
                format!("{tcp}traffic = {{ kind = \"{name}\"{keys} }}\n")
            })
            .boxed()
    });
    proptest::strategy::Union::new(tables)
}

fn flows() -> impl Strategy<Value = String> {
    let path = select(vec![
        "[\"a\"]",
        "[\"b\"]",
        "[\"a\", \"b\"]",
        "[\"b\", \"a\"]",
    ]);
    let back = select(vec![
        "",
        "reverse_path = \"none\"\n",
        "reverse_path = [\"b\"]\n",
    ]);
    (traffic(), path, back, distribution(), proptest::option::of(rate()), 41_u32..65_000, 1_u32..1000, capacity()).prop_map(
        |(traffic, path, back, rtt, access, packet, count, buffer)| {
            let access = access.map_or_else(String::new, |rate| format!("access_rate = \"{rate}\"\naccess_buffer = \"{buffer}\"\n"));
            let rtt = if traffic.contains("arrivals") || traffic.contains("packmime") { rtt.replace("range", "uniform") } else { rtt };
            format!("[[flows]]\npath = {path}\n{back}count = {count}\nrtt = {rtt}\n{access}packet_size = \"{packet} B\"\n{traffic}\n")
        },
    )
}

fn scenario() -> impl Strategy<Value = String> {
    let head = (any::<String>(), time(), 0..i64::MAX).prop_map(|(name, duration, seed)| {
        format!(
            "[scenario]\nname = {}\nduration = \"{duration}\"\nseed = {seed}\n",
            serde_json::Value::from(name)
                .to_string()
                .replace('\u{7f}', "?")
        )
    });
    let links = ((rate(), queue()), (rate(), queue(), impairments()));
    // link "a" has no loss that could change
    let of_link = Target::Link.keys().filter(|key| key.name != "loss");
    let of_queue = Target::Queue.keys().map(|key| ("queue.", key));
    let changeable: Vec<_> = of_link.map(|key| ("", key)).chain(of_queue).collect();
    let change = select(changeable).prop_flat_map(|(table, key)| {
        value(key).prop_map(move |value| format!("{table}{} = {value}", key.name))
    });
    let changes = proptest::collection::vec(change, 0..3);
    (
        head,
        links,
        proptest::collection::vec(flows(), 1..4),
        changes,
    )
        .prop_map(
            |(head, ((rate_a, queue_a), (rate_b, queue_b, more)), flows, changes)| {
                let change: String = changes
                    .iter()
                    .map(|keys| format!("[[change]]\nat = \"0 s\"\nlink = \"a\"\n{keys}\n"))
                    .collect();
                format!(
                    "{head}[[link]]\nname = \"a\"\nrate = \"{rate_a}\"\nqueue = {queue_a}\n\
                 [[link]]\nname = \"b\"\nrate = \"{rate_b}\"\nqueue = {queue_b}\n{more}{}{change}",
                    flows.concat()
                )
            },
        )
}

/// Whether the only mistakes are keys or parameters that contradict each other, which the strategies above
/// cannot rule out.
fn only_contradictions(text: &str) -> bool {
    parse(text, "random").is_err_and(|errors| {
        errors.iter().all(|error| {
            error.problem.starts_with("contradicts ")
                || keys::contradictions().any(|problem| problem == error.problem)
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, max_global_rejects: 5000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn written_scenarios_read_back(text in scenario()) {
        prop_assume!(!only_contradictions(&text));
        let scenario = match parse(&text, "random") {
            Ok(scenario) => scenario,
            Err(errors) => {
                let lines: Vec<_> = errors.iter().map(ToString::to_string).collect();
                return Err(TestCaseError::fail(format!("{}\n{text}", lines.join("\n"))));
            }
        };
        let json = to_json(&scenario);
        let from_json = parse_json(&json, "json").unwrap();
        prop_assert_eq!(format!("{from_json:?}"), format!("{scenario:?}"));
        prop_assert_eq!(to_json(&from_json), json);
        let from_toml = parse(canonical_toml(&scenario), "toml").unwrap();
        prop_assert_eq!(format!("{from_toml:?}"), format!("{scenario:?}"));
    }

    #[test]
    fn mutations_never_panic(file in 0..SHIPPED.len(), edits in proptest::collection::vec((any::<proptest::sample::Index>(), any::<proptest::sample::Index>(), 0_u8..6, any::<char>()), 1..6)) {
        let mut text = SHIPPED[file].to_owned();
        for (at, to, kind, character) in edits {
            let places: Vec<usize> = text.char_indices().map(|(place, _)| place).collect();
            if places.is_empty() {
                break;
            }
            let (at, to) = (places[at.index(places.len())], places[to.index(places.len())]);
            let (at, to) = (at.min(to), at.max(to));
            match kind {
                0 => text.insert(at, character),
                1 => drop(text.remove(at)),
                2 => text.replace_range(at..text.floor_char_boundary(to.min(at + 40)), ""),
                3 => {
                    let piece = text[at..to].to_owned();
                    text.push_str(&piece);
                }
                4 => text.insert_str(at, "-1e999"),
                _ => {
                    let line = text[at..to].lines().next().unwrap_or("").to_owned();
                    text.insert_str(at, &line);
                }
            }
            text.truncate(text.floor_char_boundary(100_000));
        }
        match parse(&text, "mutated") {
            Ok(scenario) => {
                let json = to_json(&scenario);
                prop_assert_eq!(to_json(&parse_json(&json, "json").unwrap()), json);
            }
            Err(errors) => {
                prop_assert!(!errors.is_empty());
                for error in &errors {
                    let (line, column) = error.position.unwrap_or((1, 1));
                    prop_assert!(line >= 1 && column >= 1 && !error.problem.is_empty());
                }
            }
        }
        let _ = parse_json(&text, "mutated");
    }
}

const SHIPPED: [&str; 9] = [
    include_str!("../../../../scenarios/bbr-and-cubic.toml"),
    include_str!("../../../../scenarios/bufferbloat.toml"),
    include_str!("../../../../scenarios/home-fq-codel.toml"),
    include_str!("../../../../scenarios/changing-link.toml"),
    include_str!("../../../../scenarios/compound-red.toml"),
    include_str!("../../../../scenarios/compound-red-200ms.toml"),
    include_str!("../../../../scenarios/mixed-traffic.toml"),
    include_str!("../../../../scenarios/parking-lot.toml"),
    include_str!("../../../../scenarios/web-and-bulk.toml"),
];
