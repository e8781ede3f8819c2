//! Kinds of traffic: what is understood, and what is wrong with the rest.

use ackclock_scenario::{
    Scenario, Setting, Sizes, Traffic, canonical_toml, parse, parse_json, to_json,
};

/// A link of 10 Mbit/s and one class with this traffic and these further keys.
fn text(traffic: &str, more: &str) -> String {
    format!(
        "[scenario]\nduration = \"100 s\"\n[[link]]\nname = \"a\"\nrate = \"10 Mbit/s\"\n[[link]]\nname = \"b\"\nrate = \"20 Mbit/s\"\n\
         [[flows]]\nname = \"web\"\npath = [\"b\", \"a\"]\nrtt = \"50 ms\"\ntraffic = {traffic}\n{more}"
    )
}

fn read(traffic: &str, more: &str) -> Scenario {
    let text = text(traffic, more);
    let scenario = parse(&text, "web.toml").unwrap_or_else(|errors| panic!("{errors:?}\n{text}"));
    // what is written reads back as the same
    let json = to_json(&scenario);
    assert_eq!(to_json(&parse_json(&json, "json").unwrap()), json);
    assert_eq!(
        to_json(&parse(canonical_toml(&scenario), "toml").unwrap()),
        json
    );
    scenario
}

/// The only message.
#[track_caller]
fn wrong(traffic: &str, more: &str, parts: &[&str]) {
    let errors = parse(text(traffic, more), "web.toml").expect_err(traffic);
    let lines: Vec<_> = errors.iter().map(ToString::to_string).collect();
    assert_eq!(lines.len(), 1, "{lines:?}");
    for part in parts {
        assert!(lines[0].contains(part), "no {part:?} in: {}", lines[0]);
    }
}

fn sizes(written: &str) -> Sizes {
    let scenario = read(
        &format!("{{ kind = \"poisson-arrivals\", rate = \"10 /s\", size = {written} }}"),
        "",
    );
    let Traffic::Arrivals { size: sizes, .. } = &scenario.flows[0].traffic else {
        panic!("arrivals");
    };
    sizes.clone()
}

#[test]
fn sessions_have_defaults() {
    let sizes = Sizes::Exponential(12_000.0);
    for traffic in ["\"http\"", "{ kind = \"http\" }"] {
        assert_eq!(
            read(traffic, "").flows[0].traffic,
            Traffic::Http {
                size: sizes.clone(),
                think: 0.5,
                persistent: false
            }
        );
    }
    assert_eq!(
        read(
            "{ kind = \"http\", size = \"3 kB\", think = \"2 s\", persistent = true }",
            ""
        )
        .flows[0]
            .traffic,
        Traffic::Http {
            size: Sizes::Fixed(3000),
            think: 2.0,
            persistent: true
        }
    );
}

#[test]
fn laws_of_sizes() {
    assert_eq!(sizes("\"12 kB\""), Sizes::Fixed(12_000));
    assert_eq!(sizes("\"exponential 1.5 kB\""), Sizes::Exponential(1500.0));
    assert_eq!(
        sizes("\"pareto 12 kB, 1.2\""),
        Sizes::Pareto {
            mean: 12_000.0,
            shape: 1.2
        }
    );
    assert_eq!(
        sizes("\"log-normal 12 kB, 30 kB\""),
        Sizes::LogNormal {
            mean: 12_000.0,
            deviation: 30_000.0
        }
    );
    assert_eq!(sizes("\"web-search\""), Sizes::web_search());
    assert_eq!(
        sizes("[[\"1 kB\", 0.5], [\"10 kB\", 1]]"),
        Sizes::Empirical(vec![(1000.0, 0.5), (10_000.0, 1.0)])
    );
}

#[test]
fn wrong_sizes() {
    let with = |size: &str, parts: &[&str]| {
        wrong(
            &format!("{{ kind = \"poisson-arrivals\", rate = \"10 /s\", size = {size} }}"),
            "",
            parts,
        );
    };
    with(
        "\"12\"",
        &["web.toml:", "flows[0].traffic.size: the unit is missing"],
    );
    with("12", &["the unit is missing"]);
    with("\"0 B\"", &["zero"]);
    with("\"10 ms\"", &["a time where a size is needed"]);
    with("\"exponential\"", &["not a number"]);
    with(
        "\"exponentail 12 kB\"",
        &["an unknown law of sizes", "did you mean \"exponential\"?"],
    );
    with("\"pareto 12 kB\"", &["not a mean and a tail index"]);
    with("\"pareto 12 kB, 1\"", &["above 1 (else there is no mean)"]);
    with("\"pareto 12 kB, 2 kB\"", &["unknown unit"]);
    with(
        "\"log-normal 12 kB\"",
        &["not a mean and a standard deviation"],
    );
    with("\"log-normal 12 kB, 0 B\"", &["a size is from 1 B"]);
    with("[]", &["the last probability must be 1"]);
    with("[[\"1 kB\", 0.5]]", &["the last probability must be 1"]);
    with(
        "[[\"1 kB\", 0.5], [\"500 B\", 1]]",
        &["size[1]: sizes must not fall"],
    );
    with(
        "[[\"1 kB\", 0.5], [\"2 kB\", 0.5], [\"3 kB\", 1]]",
        &["size[1]: probabilities must rise"],
    );
    with("[[\"1 kB\", 1.5]]", &["size[0]: not a probability"]);
    with(
        "[[\"1 kB\"]]",
        &["size[0]: not a pair of a size and a probability"],
    );
    with("[\"1 kB\"]", &["size[0]: not a pair"]);
}

#[test]
fn loads_and_densities_become_rates() {
    // half of the slower link in transfers of 100 kB, from five sources
    let scenario = read(
        "{ kind = \"poisson-arrivals\", load = 0.5, size = \"100 kB\" }",
        "count = 5\n",
    );
    assert!(
        matches!(scenario.flows[0].traffic, Traffic::Arrivals { rate, .. } if (rate - 1.25).abs() < 1e-12)
    );
    // a hundred sources at rho C / 100
    let scenario = read(
        "{ kind = \"on-off\", density = \"10 %\" }",
        "count = 100\n[[change]]\nat = \"50 s\"\nflows = \"web\"\ndensity = 0.9\n",
    );
    assert!(
        matches!(scenario.flows[0].traffic, Traffic::OnOff { rate, .. } if (rate - 1e4).abs() < 1e-9)
    );
    assert!(
        matches!(scenario.changes[0].set, Setting::TrafficRate(0, rate) if (rate - 9e4).abs() < 1e-9)
    );
}

#[test]
fn wrong_rates() {
    wrong(
        "\"packmime\"",
        "",
        &["flows[0].traffic.rate: the key is missing", "50 /s"],
    );
    wrong(
        "{ kind = \"packmime\", rate = \"5 Mbit/s\" }",
        "",
        &["a data rate where a frequency is needed"],
    );
    wrong(
        "{ kind = \"packmime\", rate = \"0 /s\" }",
        "",
        &["a rate of zero"],
    );
    wrong(
        "{ kind = \"packmime\", rate = 50 }",
        "",
        &["the unit is missing"],
    );
    wrong(
        "{ kind = \"poisson-arrivals\", size = \"1 kB\" }",
        "",
        &["rate: the key is missing", "or `load`"],
    );
    wrong(
        "{ kind = \"poisson-arrivals\", size = \"1 kB\", rate = \"1 /s\", load = 1 }",
        "",
        &[
            "flows[0].traffic.load: both `rate` and `load`",
            "one of them",
        ],
    );
    wrong(
        "{ kind = \"poisson-arrivals\", size = \"1 kB\", load = 0 }",
        "",
        &["load: zero"],
    );
    wrong(
        "{ kind = \"poisson-arrivals\", size = \"1 kB\", load = \"-3 %\" }",
        "",
        &["load: negative"],
    );
    wrong(
        "{ kind = \"on-off\", density = 0.5 }",
        "[[change]]\nat = \"50 s\"\nflows = \"web\"\ndensity = 1e-9\n",
        &["density: gives no usable rate: slower than 1 bit/s"],
    );
    for (traffic, problem) in [
        (
            "{ kind = \"on-off\", density = 1e-9 }",
            "density: gives no usable rate: slower than 1 bit/s",
        ),
        (
            "{ kind = \"poisson-arrivals\", size = \"1 B\", load = 1e6 }",
            "load: gives no usable rate: faster than 1e9 /s",
        ),
    ] {
        wrong(traffic, "", &[problem]);
    }
    wrong(
        "{ kind = \"on-off\", density = \"1 Mbit/s\" }",
        "",
        &["a data rate where a percentage is needed"],
    );
    wrong(
        "{ kind = \"on-off\" }",
        "",
        &["rate: the key is missing", "or `density`"],
    );
    wrong("{ kind = \"http\", think = \"0 s\" }", "", &["think: zero"]);
    wrong(
        "{ kind = \"http\", thnik = \"1 s\" }",
        "",
        &["did you mean \"think\"?"],
    );
}

#[test]
fn connections_that_come_and_go_are_not_spaced() {
    let text = text("{ kind = \"packmime\", rate = \"5 /s\" }", "")
        .replace("\"50 ms\"", "\"range 50 ms .. 60 ms\"");
    let errors = parse(&text, "web.toml").unwrap_err();
    assert!(
        errors[0]
            .to_string()
            .contains("flows[0].rtt: connections that come and go cannot be spaced evenly"),
        "{errors:?}"
    );
}

#[test]
fn flows_come_and_go_over_a_time() {
    let scenario = read(
        "\"http\"",
        "count = 10\n[[change]]\nat = \"20 s\"\nflows = \"web\"\ncount = 14\nover = \"8 s\"\n\
         [[change]]\nat = \"50 s\"\nflows = \"web\"\ncount = 11\nover = \"3 s\"\n",
    );
    let steps: Vec<_> = scenario
        .changes
        .iter()
        .map(|change| match change.set {
            Setting::Count(0, count) => (change.at.seconds(), count),
            _ => panic!("a count"),
        })
        .collect();
    assert_eq!(
        steps,
        [
            (22.0, 11),
            (24.0, 12),
            (26.0, 13),
            (28.0, 14),
            (51.0, 13),
            (52.0, 12),
            (53.0, 11)
        ]
    );
    assert_eq!(scenario.max_count(0), 14);
    // a crowd moves in at most a thousand steps
    let crowd = read(
        "\"http\"",
        "[[change]]\nat = \"20 s\"\nflows = \"web\"\ncount = 30001\nover = \"10 s\"\n",
    );
    assert_eq!(crowd.changes.len(), 1000);
    assert!(matches!(crowd.changes[999].set, Setting::Count(0, 30_001)));
}

#[test]
fn wrong_spans_of_changes() {
    let with = |change: &str, parts: &[&str]| {
        wrong(
            "\"http\"",
            &format!("[[change]]\nat = \"20 s\"\n{change}"),
            parts,
        );
    };
    with(
        "flows = \"web\"\nrtt = \"60 ms\"\nover = \"5 s\"\n",
        &["change[0].over", "there is no `count`"],
    );
    with(
        "link = \"a\"\nrate = \"1 Mbit/s\"\nover = \"5 s\"\n",
        &["change[0].over", "there is no `count`"],
    );
    with(
        "flows = \"web\"\ncount = 3\nover = \"80 s\"\n",
        &["beyond the end of the run"],
    );
    with(
        "flows = \"web\"\ncount = 3\nover = \"0 s\"\n",
        &["over: zero"],
    );
    with(
        "flows = \"web\"\ncount = 3\nover = \"5 s\"\n[[change]]\nat = \"22 s\"\nflows = \"web\"\ncount = 1\n",
        &[
            "change[1].count: an earlier change of this number is still going on",
            "at 25 s or later",
        ],
    );
    with(
        "flows = \"web\"\nthink = \"1 s\"\n",
        &["change[0].think: unknown key"],
    );
}
