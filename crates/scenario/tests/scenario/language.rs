//! Meaning of a scenario: defaults, short forms, ends, changes.

use ackclock_algorithms::Time;
use ackclock_scenario::{
    Capacity, Distribution, End, Recovery, Scenario, Setting, Traffic, canonical_toml, keys, parse,
    parse_json, to_json,
};

const MS: u64 = Time::PER_SECOND / 1000;

#[track_caller]
fn read(text: &str) -> Scenario {
    parse(text, "test.toml").unwrap_or_else(|errors| {
        let lines: Vec<_> = errors.iter().map(ToString::to_string).collect();
        panic!("{}", lines.join("\n"))
    })
}

const SMALL: &str = r#"
[scenario]
duration = "10 s"
[[link]]
name = "line"
rate = "8 Mbit/s"
delay = "5 ms"
[[flows]]
path = ["line"]
"#;

#[test]
fn defaults() {
    let scenario = read(SMALL);
    assert_eq!(scenario.name, "scenario");
    assert_eq!(
        (scenario.duration, scenario.measure, scenario.seed),
        (End::At(Time(10 * Time::PER_SECOND)), None, 1)
    );
    assert_eq!(scenario.sample, Some(Time(10 * MS)));
    let link = &scenario.links[0];
    assert_eq!(link.aqm.kind(), "drop-tail");
    assert_eq!(link.capacity, Capacity::Bytes(100_000)); // 100 ms of 8 Mbit/s
    let class = &scenario.flows[0];
    assert_eq!(
        (class.name.as_str(), class.count, &class.reverse_path),
        ("flows-1", 1, &None)
    );
    assert_eq!(class.rtt, Distribution::Fixed(0.01)); // there and back
    assert_eq!(
        (class.access_rate, class.access_buffer),
        (None, Capacity::Unlimited)
    );
    assert_eq!(
        (&class.start, class.stop, &class.traffic),
        (&Distribution::Fixed(0.0), None, &Traffic::Bulk)
    );
    assert_eq!(
        (class.packet_size, class.header_size, class.tcp.ack_size),
        (1500, 40, 40)
    );
    let tcp = &class.tcp;
    assert_eq!(
        (tcp.congestion.kind(), tcp.recovery, tcp.handshake),
        ("cubic", Recovery::Sack, true)
    );
    assert_eq!(
        (tcp.initial_window, tcp.initial_ssthresh, tcp.max_window),
        (10.0, f64::INFINITY, None)
    );
    assert_eq!(
        (
            tcp.ecn,
            tcp.delayed_ack,
            tcp.limited_transmit,
            tcp.dup_threshold
        ),
        (false, true, true, 3)
    );
    assert_eq!(tcp.delayed_ack_timeout, Time(40 * MS));
    assert_eq!(
        (tcp.min_rto, tcp.max_rto, tcp.initial_rto),
        (Time(200 * MS), Time(60_000 * MS), Time(1000 * MS))
    );
    assert_eq!(
        (tcp.rtt_samples, tcp.clock_granularity),
        (ackclock_scenario::RttSamples::EveryAck, Time(0))
    );
}

/// The keys of the first object after `section` in canonical JSON.
fn printed_keys(tree: &serde_json::Value) -> Vec<&str> {
    tree.as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect()
}

#[test]
fn every_default_is_printed() {
    let tree: serde_json::Value = serde_json::from_str(&to_json(&read(SMALL))).unwrap();
    for (section, place) in [
        (&keys::SCENARIO, "/scenario"),
        (&keys::LINK, "/link/0"),
        (&keys::FLOWS, "/flows/0"),
        (&keys::QUEUE, "/link/0/queue"),
    ] {
        // links and paths say what nodes would
        let mut expected: Vec<_> = section
            .keys
            .iter()
            .map(|key| key.name)
            .filter(|name| !["from", "to"].contains(name))
            .collect();
        expected.sort_unstable();
        let mut printed = printed_keys(tree.pointer(place).unwrap());
        printed.sort_unstable();
        assert_eq!(printed, expected, "{place}");
    }
    assert!(
        printed_keys(&tree["flows"][0]["congestion"]).len() > 1,
        "parameters of CUBIC"
    );
}

/// A congestion control that counts marks gets them all, asked for or not; others only on demand.
#[test]
fn who_counts_marks_gets_them() {
    for (kind, ecn, expected) in [
        ("cubic", "", (false, false)),
        ("cubic", "ecn = true", (true, false)),
        ("cubic", "ecn = \"accurate\"", (true, true)),
        ("dctcp", "", (true, true)),
        ("dctcp", "ecn = true", (true, true)),
        ("dctcp", "ecn = false", (false, false)),
    ] {
        let text = format!("{SMALL}congestion = \"{kind}\"\n{ecn}\n");
        let tcp = &read(&text).flows[0].tcp;
        assert_eq!((tcp.ecn, tcp.accurate_ecn), expected, "{kind} {ecn}");
    }
}

#[test]
fn a_udp_class_has_no_tcp_keys() {
    let text = SMALL.to_owned() + "traffic = { kind = \"cbr\", rate = \"1 Mbit/s\" }\n";
    let json = to_json(&read(&text));
    for key in keys::Tcp::KEYS.iter().map(|key| key.name) {
        assert!(!json.contains(&format!("\"{key}\"")), "{key}");
    }
}

/// Every key that is read is also written: a key that the writer forgets is lost wherever a
/// scenario is stored.
#[test]
fn a_tcp_class_has_all_tcp_keys() {
    let json = to_json(&read(SMALL));
    for key in keys::Tcp::KEYS.iter().map(|key| key.name) {
        assert!(json.contains(&format!("\"{key}\"")), "{key}");
    }
}

#[test]
fn short_spellings() {
    let long = read(
        &(SMALL.replace(
            "delay = \"5 ms\"",
            "delay = \"5 ms\"\nqueue = { aqm = \"red\" }",
        ) + "congestion = { kind = \"reno\" }\ntraffic = { kind = \"bulk\" }\n"),
    );
    let short = read(
        &(SMALL
            .replace("delay = \"5 ms\"", "delay = \"5ms\"\nqueue = \"red\"")
            .replace("[\"line\"]", "\"line\"")
            + "congestion = \"reno\"\ntraffic = \"bulk\"\n"),
    );
    assert_eq!(to_json(&long), to_json(&short));
}

#[test]
fn a_percentage_is_a_fraction() {
    let with = |value: &str| {
        let queue =
            format!("delay = \"5 ms\"\nqueue = {{ aqm = \"red\", max_probability = {value} }}");
        to_json(&read(&SMALL.replace("delay = \"5 ms\"", &queue)))
    };
    assert_eq!(with("0.07"), with("\"7 %\""));
}

#[test]
fn round_trip_times() {
    let rtt = |text: &str| {
        read(&(SMALL.to_owned() + &format!("rtt = {text}\n"))).flows[0]
            .rtt
            .clone()
    };
    assert_eq!(rtt("\"10 ms\""), Distribution::Fixed(0.01));
    assert_eq!(
        rtt("[\"5 ms\", \"15 ms\"]"),
        Distribution::List(vec![0.005, 0.015])
    );
    assert_eq!(
        rtt("\"range 10 ms .. 0.2 s\""),
        Distribution::Range(0.01, 0.2)
    );
    assert_eq!(
        rtt("\"uniform 38 ms..42 ms\""),
        Distribution::Uniform(0.038, 0.042)
    );
    assert_eq!(
        rtt("\"normal 100 ms, 10 ms\""),
        Distribution::Normal(0.1, 0.01)
    );
}

#[test]
fn until_done() {
    let text = SMALL.replace("\"10 s\"", "\"until done\"")
        + "traffic = { kind = \"transfer\", size = \"1 MiB\" }\n";
    let scenario = read(&text);
    assert_eq!((scenario.duration, scenario.sample), (End::UntilDone, None));
    assert_eq!(
        scenario.flows[0].traffic,
        Traffic::Transfer { size: 1 << 20 }
    );
}

#[test]
fn a_dumbbell_is_two_links() {
    let shape = r#"
[scenario]
duration = "10 s"
[dumbbell]
rate = "100 Mbit/s"
delay = "10 ms"
queue = { aqm = "threshold", threshold = "15 packets", capacity = "20 ms" }
reverse = { rate = "10 Mbit/s" }
[[flows]]
rtt = "50 ms"
[[flows]]
from = "right"
to = "left"
"#;
    let links = r#"
[scenario]
duration = "10 s"
[[link]]
name = "bottleneck"
rate = "100 Mbit/s"
delay = "10 ms"
queue = { aqm = "threshold", threshold = "15 packets", capacity = "250 kB" }
[[link]]
name = "bottleneck-reverse"
rate = "10 Mbit/s"
delay = "10 ms"
queue = { aqm = "threshold", threshold = "15 packets", capacity = "25 kB" }
[[flows]]
path = ["bottleneck"]
reverse_path = ["bottleneck-reverse"]
rtt = "50 ms"
[[flows]]
path = ["bottleneck-reverse"]
reverse_path = ["bottleneck"]
rtt = "20 ms"
"#;
    assert_eq!(to_json(&read(shape)), to_json(&read(links)));
}

#[test]
fn a_parking_lot_is_a_row() {
    let scenario = read(
        r#"
[scenario]
duration = "10 s"
[parking_lot]
hops = 3
rate = "10 Mbit/s"
delay = "2 ms"
[[flows]]
[[flows]]
from = "node-1"
to = "node-3"
[[flows]]
path = ["hop-1"]
"#,
    );
    let names: Vec<_> = scenario
        .links
        .iter()
        .map(|link| link.name.as_str())
        .collect();
    assert_eq!(names, ["hop-1", "hop-2", "hop-3"]);
    let paths: Vec<_> = scenario
        .flows
        .iter()
        .map(|class| class.path.clone())
        .collect();
    assert_eq!(paths, [vec![0, 1, 2], vec![1, 2], vec![0]]);
    assert_eq!(scenario.flows[0].rtt, Distribution::Fixed(0.012));
}

#[test]
fn changes_in_order_of_time() {
    let scenario = read(
        &(SMALL.to_owned()
            + r#"
name = "users"
access_rate = "1 Mbit/s"
[[change]]
at = "5 s"
link = "line"
rate = "1 Mbit/s"
queue.capacity = "10 packets"
[[change]]
at = "2 s"
flows = "users"
count = 7
rtt = "uniform 20 ms .. 30 ms"
access_rate = "2 Mbit/s"
max_window = "64 packets"
[[change]]
at = "2 s"
link = "line"
capacity = "100 ms"
delay = "8 ms"
"#),
    );
    let changes: Vec<_> = scenario
        .changes
        .iter()
        .map(|change| (change.at.0 / Time::PER_SECOND, change.set.clone()))
        .collect();
    assert_eq!(
        changes,
        [
            (2, Setting::Count(0, 7)),
            (2, Setting::Rtt(0, Distribution::Uniform(0.02, 0.03))),
            (2, Setting::AccessRate(0, 2e6)),
            (2, Setting::MaxWindow(0, 64)),
            (2, Setting::LinkCapacity(0, Capacity::Bytes(100_000))), // at the rate of the start
            (2, Setting::LinkDelay(0, Time(8 * MS))),
            (5, Setting::LinkRate(0, 1e6)),
            (5, Setting::LinkCapacity(0, Capacity::Packets(10))),
        ]
    );
    assert_eq!(scenario.max_count(0), 7);
}

#[test]
fn parameters_change_in_an_order_that_holds_together() {
    let scenario = read(&SMALL.replace(
        "[[flows]]",
        "queue = { aqm = \"red\", min_threshold = \"10 packets\", max_threshold = \"30 packets\" }\n\
         [[change]]\nat = \"1 s\"\nlink = \"line\"\nmin_threshold = \"50 packets\"\nmax_threshold = \"150 packets\"\n[[flows]]",
    ));
    let set: Vec<_> = scenario
        .changes
        .into_iter()
        .map(|change| change.set)
        .collect();
    assert_eq!(
        set,
        [
            Setting::AqmParameter(0, "max_threshold".into(), 150.0),
            Setting::AqmParameter(0, "min_threshold".into(), 50.0)
        ]
    );
}

#[test]
fn every_registered_algorithm_can_be_named() {
    use ackclock_algorithms::DefaultValue;
    use ackclock_algorithms::registry::{aqms, congestion};
    let complete = |specs: &[ackclock_algorithms::ParameterSpec]| {
        specs
            .iter()
            .all(|spec| spec.default != DefaultValue::Required)
    };
    for meta in aqms().iter().filter(|meta| complete(meta.parameters)) {
        let text = SMALL.replace(
            "delay = \"5 ms\"",
            &format!("delay = \"5 ms\"\nqueue = \"{}\"", meta.kind),
        );
        assert_eq!(read(&text).links[0].aqm.kind(), meta.kind);
    }
    for meta in congestion().iter().filter(|meta| complete(meta.parameters)) {
        let text = SMALL.to_owned() + &format!("congestion = \"{}\"\n", meta.kind);
        assert_eq!(read(&text).flows[0].tcp.congestion.kind(), meta.kind);
    }
}

#[test]
fn fq_codel_has_the_defaults_of_its_rfc() {
    let text = "[scenario]\nduration = \"1 s\"\n[[link]]\nname = \"a\"\nrate = \"1 Mbit/s\"\nqueue = { scheduler = \"fq_codel\" }\n\
                [[flows]]\npath = [\"a\"]\nrtt = \"10 ms\"\n";
    let scenario = parse(text, "test").unwrap();
    let tree: serde_json::Value = serde_json::from_str(&to_json(&scenario)).unwrap();
    let queue = &tree["link"][0]["queue"];
    // RFC 8290, sections 5.2.1 to 5.2.6
    assert_eq!(queue["aqm"], "codel");
    assert_eq!(
        (&queue["target"], &queue["interval"]),
        (&"5 ms".into(), &"100 ms".into())
    );
    assert_eq!(queue["capacity"], "10240 packets");
    assert_eq!(queue["ecn"], true);
    assert_eq!(queue["scheduler"]["kind"], "fq_codel");
    assert_eq!(
        (
            &queue["scheduler"]["quantum"],
            &queue["scheduler"]["buckets"]
        ),
        (&"1514 B".into(), &1024.into())
    );
    // what is given counts
    let text = text.replace(
        "\"fq_codel\" }",
        "\"fq_codel\", aqm = \"codel\", ecn = false, capacity = \"50 packets\" }",
    );
    let tree: serde_json::Value =
        serde_json::from_str(&to_json(&parse(text, "test").unwrap())).unwrap();
    assert_eq!(
        (
            &tree["link"][0]["queue"]["ecn"],
            &tree["link"][0]["queue"]["capacity"]
        ),
        (&false.into(), &"50 packets".into())
    );
}

#[test]
fn a_trace_file_becomes_steps() {
    let text = "[scenario]\nduration = \"9 s\"\n[[link]]\nname = \"radio\"\nrate = { trace = \"cell.csv\", repeat = \"4 s\" }\n\
                [[flows]]\npath = [\"radio\"]\nrtt = \"10 ms\"\n";
    let files = |path: &str| match path {
        "cell.csv" => Ok("time_s,rate_mbps\n0,8\n3,0\n".to_owned()),
        _ => Err("no such file".to_owned()),
    };
    let scenario = ackclock_scenario::parse_with(text, "test", &files).unwrap();
    assert_eq!(scenario.links[0].rate, 6e6);
    let json = to_json(&scenario);
    let tree: serde_json::Value = serde_json::from_str(&json).unwrap();
    let steps = serde_json::json!([["0 s", "8 Mbit/s"], ["3 s", "0 bit/s"]]);
    assert_eq!(
        tree["link"][0]["rate"],
        serde_json::json!({"steps": steps, "repeat": "4 s"})
    );
    // the canonical forms need no file
    assert_eq!(to_json(&parse_json(&json, "test").unwrap()), json);
    assert_eq!(
        to_json(&parse(canonical_toml(&scenario), "test").unwrap()),
        json
    );
}

/// A scheduler may be named where an AQM is; parameters of both then stand in the queue's table.
#[test]
fn a_scheduler_is_named_where_an_aqm_is() {
    let read = |queue: &str| {
        let text = format!(
            "[scenario]\nduration = \"1 s\"\n[[link]]\nname = \"l\"\nrate = \"10 Mbit/s\"\n\
             delay = \"1 ms\"\nqueue = {queue}\n[[flows]]\npath = [\"l\"]\nrtt = \"10 ms\"\n"
        );
        canonical_toml(&parse(&text, "home.toml").expect("it is valid"))
    };
    let plain = read("{ scheduler = \"fq_codel\" }");
    assert_eq!(read("\"fq_codel\""), plain);
    assert_eq!(read("{ aqm = \"fq_codel\", scheduler = \"none\" }"), plain);
    let full = "{ scheduler = { kind = \"fq_codel\", quantum = \"300 B\" }, target = \"2 ms\" }";
    let short = "{ aqm = \"fq_codel\", quantum = \"300 B\", target = \"2 ms\" }";
    assert_eq!(read(short), read(full));
    let named = "{ scheduler = \"fq_codel\", quantum = \"300 B\", target = \"2 ms\" }";
    assert_eq!(read(named), read(full));
    // ECN is CoDel's where both are named, the quantum the scheduler's
    let both = "{ scheduler = \"drr\", quantum = \"300 B\", aqm = \"codel\", ecn = true }";
    let apart =
        "{ scheduler = { kind = \"drr\", quantum = \"300 B\" }, aqm = \"codel\", ecn = true }";
    assert_eq!(read(both), read(apart));
    assert_eq!(read("\"dualpi2\""), read("{ scheduler = \"dualpi2\" }"));
}

#[test]
fn style_linux_with_any_recovery_is_written_and_read_back() {
    for recovery in ["sack", "newreno", "reno", "tahoe"] {
        let text = format!(
            r#"
            [scenario]
            duration = "1 s"
            [[link]]
            name = "a"
            rate = "1 Mbit/s"
            [[flows]]
            path = ["a"]
            rtt = "10 ms"
            style = "linux"
            recovery = "{recovery}"
            "#
        );
        let scenario = ackclock_scenario::parse(text, "test").unwrap();
        let json = ackclock_scenario::to_json(&scenario);
        let again = ackclock_scenario::parse_json(&json, "json");
        let again = again.unwrap_or_else(|errors| panic!("{recovery}: {errors:?}"));
        assert_eq!(ackclock_scenario::to_json(&again), json);
    }
}
