//! Errors of a scenario are reported with its place, the key and what is allowed.

use ackclock_scenario::{MAX_BYTES, parse, parse_json, to_json};

/// A scenario without mistakes, whose lines the tests replace.
const GOOD: &str = r#"[scenario]
duration = "100 s"
measure = "50 s .. 100 s"

[[link]]
name = "bottleneck"
rate = "100 Mbit/s"
delay = "5 ms"
queue = { aqm = "red", min_threshold = "50 packets", max_threshold = "100 packets" }

[[link]]
name = "second"
rate = "10 Mbit/s"
delay = "1 ms"

[[flows]]
name = "users"
count = 60
path = ["bottleneck", "second"]
rtt = "30 ms"
congestion = { kind = "reno" }
access_rate = "2 Mbit/s"

[[flows]]
name = "video"
path = ["second"]
traffic = { kind = "cbr", rate = "1 Mbit/s" }

[[change]]
at = "20 s"
link = "bottleneck"
delay = "10 ms"
"#;

/// All messages for a text, one a line.
fn messages(text: impl AsRef<[u8]>) -> String {
    let errors = parse(text, "home.toml").expect_err("there is a mistake");
    let lines: Vec<_> = errors.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

/// The messages after `old` was replaced by `new` in the good scenario.
fn with(old: &str, new: &str) -> String {
    assert!(GOOD.contains(old), "{old}");
    messages(GOOD.replacen(old, new, 1))
}

/// Exactly one message, which begins at this line and column, is about this key, and contains all
/// of these parts.
#[track_caller]
fn rejects(text: &str, place: &str, parts: &[&str]) {
    assert!(text.starts_with(&format!("home.toml:{place}: ")), "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
    for part in parts {
        assert!(text.contains(part), "no {part:?} in: {text}");
    }
}

#[test]
fn good_is_good() {
    parse(GOOD, "home.toml").unwrap();
}

#[test]
fn a_buffer_as_large_as_an_unlimited_queue() {
    let queue = r#"aqm = "red", min_threshold = "50 packets", max_threshold = "100 packets""#;
    rejects(
        &with(queue, r#"aqm = "avq", capacity = "unlimited""#),
        "9:9",
        &[
            "link[0].queue: contradicts the unlimited queue: `virtual_buffer` is its capacity; allowed: a number of packets",
        ],
    );
}

#[test]
fn a_queue_without_a_rate_of_its_own() {
    for (queue, at, message) in [
        (
            r#"aqm = "avq", scheduler = "drr""#,
            "9:17",
            "link[0].queue.aqm: contradicts the scheduler: avq steers by the rate of its queue",
        ),
        (
            r#"scheduler = "prio", classes = [ { name = "all", flows = ["web"], queue = { aqm = "exponential-red" } } ]"#,
            "9:43",
            "link[0].queue.classes[0]: contradicts a class without a rate of its own: exponential-red",
        ),
    ] {
        let old = r#"aqm = "red", min_threshold = "50 packets", max_threshold = "100 packets""#;
        rejects(&with(old, queue), at, &[message]);
    }
}

#[test]
fn misspelt_key() {
    let text = with(
        "max_threshold =",
        "max_treshold = \"60 packets\", max_threshold =",
    );
    rejects(
        &text,
        "9:54",
        &[
            "link[0].queue.max_treshold: unknown key; did you mean \"max_threshold\"? allowed: scheduler, aqm, capacity, min_threshold",
        ],
    );
    rejects(
        &with("delay = \"5 ms\"", "dealy = \"5 ms\""),
        "8:1",
        &[
            "link[0].dealy",
            "\"delay\"",
            "allowed: name, rate, delay, queue",
        ],
    );
    rejects(
        &with("count = 60", "cuont = 60"),
        "18:1",
        &["flows[0].cuont", "\"count\""],
    );
    rejects(
        &with("duration", "seed = 2\ndurration = \"1 s\"\nduration"),
        "3:1",
        &["scenario.durration", "\"duration\""],
    );
    rejects(
        &with("[[change]]", "[changes]\nx = 1\n[[change]]"),
        "29:2",
        &["changes: unknown key; did you mean \"change\"?"],
    );
    rejects(
        &with("at = \"20 s\"", "at = \"20 s\"\nrtae = \"1 Mbit/s\""),
        "31:1",
        &["change[0].rtae", "\"rate\""],
    );
    rejects(
        &with("kind = \"cbr\",", "kind = \"cbr\", of = 1,"),
        "27:27",
        &["flows[1].traffic.of: unknown key", "allowed: rate, kind"],
    );
}

#[test]
fn misspelt_word() {
    rejects(
        &with("aqm = \"red\"", "aqm = \"rde\""),
        "9:17",
        &[
            "link[0].queue.aqm: there is no AQM \"rde\"; did you mean \"red\"?",
            "\"drop-tail\"",
        ],
    );
    rejects(
        &with("aqm = \"red\"", "aqm = \"HTB\""),
        "9:17",
        &["there is no AQM \"HTB\" (it is a scheduler with classes: scheduler = \"htb\")"],
    );
    let capitals = GOOD.replacen("aqm = \"red\"", "aqm = \"RED\"", 1);
    let json = |text: &str| to_json(&parse(text, "home.toml").unwrap());
    assert_eq!(json(&capitals), json(GOOD));
    rejects(
        &with("kind = \"reno\"", "kind = \"rneo\""),
        "21:23",
        &["flows[0].congestion.kind", "did you mean \"reno\"?"],
    );
    rejects(
        &with("kind = \"cbr\"", "kind = \"cbrr\""),
        "27:20",
        &["flows[1].traffic.kind", "did you mean \"cbr\"?", "\"bulk\""],
    );
    rejects(
        &with("count = 60", "recovery = \"newrneo\""),
        "18:12",
        &[
            "flows[0].recovery",
            "did you mean \"newreno\"?",
            "\"tahoe\"",
        ],
    );
    rejects(
        &with("aqm = \"red\"", "aqm = \"red\", mode = \"byte\""),
        "9:31",
        &["link[0].queue.mode", "did you mean \"bytes\"?"],
    );
    rejects(
        &with("aqm = \"red\"", "aqm = \"red\", weight = \"automatic\""),
        "9:33",
        &["link[0].queue.weight", "\"auto\""],
    );
}

#[test]
fn missing_key() {
    rejects(
        &with("duration = \"100 s\"\n", ""),
        "1:1",
        &["scenario.duration: the key is missing; allowed: a time such as \"10 ms\""],
    );
    rejects(
        &with("rate = \"100 Mbit/s\"\n", ""),
        "5:1",
        &["link[0].rate: the key is missing", "bit/s"],
    );
    rejects(
        &with("path = [\"second\"]\n", ""),
        "24:1",
        &[
            "flows[1].path: the key is missing",
            "\"bottleneck\", \"second\"",
        ],
    );
    rejects(
        &with("at = \"20 s\"\n", ""),
        "29:1",
        &["change[0].at: the key is missing"],
    );
    rejects(
        &with("link = \"bottleneck\"\n", ""),
        "29:1",
        &["change[0].link: the key is missing", "class"],
    );
    rejects(
        &with("delay = \"10 ms\"\n", ""),
        "29:1",
        &[
            "change[0]: a change that changes nothing",
            "rate, delay, loss, queue, capacity",
            "max_threshold",
        ],
    );
    rejects(
        &with(", rate = \"1 Mbit/s\"", ""),
        "27:11",
        &["flows[1].traffic.rate: the key is missing"],
    );
    rejects(
        &with("kind = \"cbr\", ", ""),
        "27:11",
        &["flows[1].traffic.kind: the key is missing", "\"transfer\""],
    );
    rejects(
        &with(
            "[scenario]\nduration = \"100 s\"\nmeasure = \"50 s .. 100 s\"\n",
            "",
        ),
        "1:1",
        &["the section [scenario] is missing"],
    );
}

#[test]
fn missing_or_wrong_unit() {
    rejects(
        &with("\"5 ms\"", "5"),
        "8:9",
        &["link[0].delay: the unit is missing, found 5; allowed: a time such as \"10 ms\""],
    );
    rejects(
        &with("\"5 ms\"", "\"5\""),
        "8:9",
        &["link[0].delay: the unit is missing, found \"5\""],
    );
    rejects(
        &with("\"5 ms\"", "\"5 Mbit/s\""),
        "8:9",
        &["a data rate where a time is needed, found \"5 Mbit/s\""],
    );
    rejects(
        &with("\"100 Mbit/s\"", "\"100 ms\""),
        "7:8",
        &["a time where a data rate is needed"],
    );
    rejects(
        &with("\"100 Mbit/s\"", "\"100 MB\""),
        "7:8",
        &["a size where a data rate is needed"],
    );
    rejects(
        &with("\"100 Mbit/s\"", "\"100 Mbitt/s\""),
        "7:8",
        &["unknown unit \"Mbitt/s\"", "did you mean \"Mbit/s\"?"],
    );
    rejects(
        &with("\"100 Mbit/s\"", "\"100 MBps\""), // bytes, not an eighth of it
        "7:8",
        &["unknown unit \"MBps\"", "did you mean \"MB/s\"?"],
    );
    rejects(
        &with("\"50 packets\"", "50"),
        "9:40",
        &[
            "link[0].queue.min_threshold: the unit is missing",
            "packets",
        ],
    );
    rejects(
        &with("\"50 packets\"", "\"50 kB\""),
        "9:40",
        &["a size where a number of packets is needed"],
    );
    rejects(
        &with("\"30 ms\"", "\"uniform 20 ms .. 30\""),
        "20:7",
        &["flows[0].rtt: the unit is missing"],
    );
    rejects(
        &with("aqm = \"red\"", "aqm = \"red\", capacity = 100"),
        "9:35",
        &[
            "link[0].queue.capacity: the unit is missing",
            "\"300 packets\", \"300 kB\", \"unlimited\"",
        ],
    );
    rejects(
        &with("\"5 ms\"", "true"),
        "8:9",
        &["the wrong kind of value, found true"],
    );
    rejects(
        &with("count = 60", "count = \"60\""),
        "18:9",
        &["flows[0].count: the wrong kind of value", "a whole number"],
    );
    rejects(
        &with("count = 60", "count = 1.5"),
        "18:9",
        &["not a whole number"],
    );
    rejects(
        &with("name = \"users\"", "name = 5"),
        "17:8",
        &["flows[0].name: the wrong kind of value"],
    );
    rejects(
        &with("name = \"users\"", "name = 2020-01-01"),
        "17:8",
        &["the wrong kind of value, found the date 2020-01-01"],
    );
    rejects(
        &with("count = 60", "max_window = \"2.5 packets\""),
        "18:14",
        &["flows[0].max_window: not a whole number"],
    );
}

#[test]
fn negative_and_not_finite() {
    rejects(
        &with("\"5 ms\"", "\"-5 ms\""),
        "8:9",
        &["link[0].delay: negative, found \"-5 ms\""],
    );
    rejects(
        &with("\"100 Mbit/s\"", "\"-1 Mbit/s\""),
        "7:8",
        &["link[0].rate: negative"],
    );
    rejects(
        &with("\"100 Mbit/s\"", "\"inf Mbit/s\""),
        "7:8",
        &["link[0].rate: not finite"],
    );
    rejects(
        &with("\"100 Mbit/s\"", "nan"),
        "7:8",
        &["link[0].rate: not finite"],
    );
    rejects(
        &with("\"100 Mbit/s\"", "\"1e200 Gbit/s\""),
        "7:8",
        &["faster than 100 Tbit/s"],
    );
    rejects(
        &with("\"100 Mbit/s\"", "\"1e399 Gbit/s\""),
        "7:8",
        &["too large"],
    );
    rejects(
        &with("count = 60", "count = -1"),
        "18:9",
        &["flows[0].count: negative", "0 to 4294967295"],
    );
    rejects(
        &with("count = 60", "count = 5_000_000_000"),
        "18:9",
        &["flows[0].count: out of range"],
    );
    rejects(
        &with("count = 60", "count = 99999999999999999999"),
        "18:9",
        &["flows[0].count: out of range"],
    );
    rejects(
        &with("count = 60", "count = inf"),
        "18:9",
        &["flows[0].count: not finite"],
    );
    rejects(
        &with("\"50 packets\"", "\"-1 packets\""),
        "9:40",
        &["link[0].queue.min_threshold: negative"],
    );
    rejects(
        &with("duration = \"100 s\"", "duration = \"100 s\"\nseed = -3"),
        "3:8",
        &["scenario.seed: negative"],
    );
    rejects(
        &with("aqm = \"red\"", "aqm = \"red\", max_probability = nan"),
        "9:42",
        &["not finite"],
    );
    rejects(
        &with("\"100 s\"", "\"31 h 100 s\""),
        "2:12",
        &["unknown unit"],
    );
    rejects(
        &with("duration = \"100 s\"", "duration = \"800 h\""),
        "2:12",
        &["longer than 30 days"],
    );
    rejects(
        &with("duration = \"100 s\"", "duration = \"0 s\""),
        "2:12",
        &["scenario.duration: zero"],
    );
}

#[test]
fn zero_rate_link() {
    rejects(
        &with("\"100 Mbit/s\"", "\"0 Mbit/s\""),
        "7:8",
        &["link[0].rate: a rate of zero", "above zero"],
    );
    rejects(
        &with("delay = \"10 ms\"", "rate = \"0 bit/s\""),
        "32:8",
        &["change[0].rate: a rate of zero"],
    );
}

#[test]
fn thresholds_out_of_order() {
    rejects(
        &with("\"50 packets\"", "\"150 packets\""),
        "9:40",
        &[
            "link[0].queue.min_threshold: contradicts another parameter, found 150; allowed: below max_threshold (100)",
        ],
    );
    rejects(
        &with(
            "delay = \"10 ms\"",
            "queue = { min_threshold = \"200 packets\" }",
        ),
        "32:27",
        &[
            "change[0].queue.min_threshold: contradicts another parameter",
            "200",
        ],
    );
    // raised together they are in order, whichever comes first
    let both = "queue = { min_threshold = \"200 packets\", max_threshold = \"300 packets\" }";
    parse(GOOD.replace("delay = \"10 ms\"", both), "home.toml").unwrap();
}

#[test]
fn probability_outside() {
    for (value, shown) in [("1.5", "1.5"), ("-0.1", "-0.1"), ("\"150 %\"", "\"150 %\"")] {
        let text = with(
            "aqm = \"red\"",
            &format!("aqm = \"red\", max_probability = {value}"),
        );
        rejects(
            &text,
            "9:42",
            &[
                "link[0].queue.max_probability: ",
                &format!("found {shown}"),
                "above 0, at most 1",
            ],
        );
    }
}

#[test]
fn measurement_outside_the_run() {
    rejects(
        &with("50 s .. 100 s", "50 s .. 101 s"),
        "3:11",
        &[
            "scenario.measure: the measurement ends after the run",
            "times up to 100 s",
        ],
    );
    rejects(
        &with("50 s .. 100 s", "50 s .. 50 s"),
        "3:11",
        &["the end is not after the beginning"],
    );
    rejects(
        &with("50 s .. 100 s", "-1 s .. 50 s"),
        "3:11",
        &["negative"],
    );
    rejects(
        &with("50 s .. 100 s", "50 s"),
        "3:11",
        &["not two times", "75 s .. 100 s"],
    );
}

#[test]
fn unknown_link_or_class() {
    rejects(
        &with(
            "[\"bottleneck\", \"second\"]",
            "[\"botleneck\", \"second\"]",
        ),
        "19:9",
        &[
            "flows[0].path[0]: there is no link \"botleneck\"; did you mean \"bottleneck\"? allowed: \"bottleneck\", \"second\"",
        ],
    );
    rejects(
        &with("link = \"bottleneck\"", "link = \"botleneck\""),
        "31:8",
        &[
            "change[0].link: there is no link",
            "did you mean \"bottleneck\"?",
        ],
    );
    rejects(
        &with("link = \"bottleneck\"\ndelay", "flows = \"user\"\nrtt"),
        "31:9",
        &["change[0].flows: there is no class of flows \"user\"; did you mean \"users\"?"],
    );
    rejects(
        &with(
            "rtt = \"30 ms\"",
            "rtt = \"30 ms\"\nreverse_path = [\"back\"]",
        ),
        "21:17",
        &["flows[0].reverse_path[0]: there is no link \"back\""],
    );
    rejects(
        &with("[\"second\"]", "[]"),
        "26:8",
        &["flows[1].path: an empty path"],
    );
    rejects(
        &with("[\"second\"]", "[\"second\", \"second\"]"),
        "26:19",
        &["crosses \"second\" twice"],
    );
}

#[test]
fn rtt_below_the_path() {
    rejects(
        &with("\"30 ms\"", "\"5 ms\""),
        "20:7",
        &["flows[0].rtt: below the path's own propagation, found \"5 ms\"; allowed: 6 ms or more"],
    );
    rejects(
        &with("\"30 ms\"", "\"uniform 5 ms .. 30 ms\""),
        "20:7",
        &["below the path's own propagation"],
    );
    rejects(
        &with("\"30 ms\"", "[\"30 ms\", \"5 ms\"]"),
        "20:7",
        &["below the path's own propagation"],
    );
    rejects(
        &with("\"30 ms\"", "\"0 s\""),
        "20:7",
        &["a round-trip time of zero"],
    );
    rejects(
        &with("\"30 ms\"", "\"exponential 30 ms\""),
        "20:7",
        &["cannot be exponential"],
    );
    // the change of the link's delay comes first, so that 15 ms are then too short
    rejects(
        &with(
            "delay = \"10 ms\"\n",
            "delay = \"20 ms\"\n[[change]]\nat = \"30 s\"\nflows = \"users\"\nrtt = \"15 ms\"\n",
        ),
        "36:7",
        &["change[1].rtt: out of range", "(21 ms)"],
    );
    parse(GOOD.replace("\"30 ms\"", "\"6 ms\""), "home.toml").unwrap();
}

#[test]
fn bad_changes() {
    rejects(
        &with("at = \"20 s\"", "at = \"100 s\""),
        "30:6",
        &[
            "change[0].at: the change would come after the end of the run",
            "times before 100 s",
        ],
    );
    rejects(
        &with(
            "link = \"bottleneck\"",
            "link = \"bottleneck\"\nflows = \"users\"",
        ),
        "32:9",
        &["both a link and a class"],
    );
    rejects(
        &with("delay = \"10 ms\"", "gentle = false"),
        "32:10",
        &["change[0].gentle: not a numeric parameter"],
    );
    rejects(
        &with("delay = \"10 ms\"", "weight = \"auto\""),
        "32:10",
        &["change[0].weight: a change needs a number"],
    );
    rejects(
        &with("delay = \"10 ms\"", "max_probability = 2"),
        "32:19",
        &["change[0].max_probability: out of range"],
    );
    rejects(
        &with("delay = \"10 ms\"", "name = \"x\""),
        "32:1",
        &["change[0].name: unknown key"],
    );
    let flows = |key: &str| with("link = \"bottleneck\"\ndelay = \"10 ms\"", key);
    rejects(
        &flows("flows = \"users\"\npacket_size = \"100 B\""),
        "32:1",
        &[
            "change[0].packet_size: unknown key",
            "count, rtt, access_rate, max_window",
        ],
    );
    rejects(
        &flows("flows = \"users\"\nrate = \"1 Mbit/s\""),
        "32:1",
        &["change[0].rate: unknown key"],
    );
    rejects(
        &flows("flows = \"video\"\naccess_rate = \"1 Mbit/s\""),
        "32:15",
        &["has no access rate that could change"],
    );
    rejects(
        &flows("flows = \"video\"\nmax_window = \"5 packets\""),
        "32:1",
        &["change[0].max_window: unknown key"],
    );
    rejects(
        &flows("flows = \"users\"\naccess_rate = \"unlimited\""),
        "32:15",
        &["a change needs a number"],
    );
    parse(
        GOOD.replace(
            "link = \"bottleneck\"\ndelay = \"10 ms\"",
            "flows = \"video\"\nrate = \"1 Mbit/s\"",
        ),
        "home.toml",
    )
    .unwrap();
}

#[test]
fn duplicated_names() {
    let twice = GOOD.replace(
        "[[flows]]\nname = \"users\"",
        "[[link]]\nname = \"second\"\nrate = \"1 Mbit/s\"\n\n[[flows]]\nname = \"users\"",
    );
    rejects(
        &messages(twice),
        "17:8",
        &["link[2].name: the name \"second\" is taken by line 12"],
    );
    rejects(
        &with("name = \"video\"", "name = \"users\""),
        "25:8",
        &["flows[1].name: the name \"users\" is taken by line 17"],
    );
    rejects(
        &with("name = \"video\"", "name = \"all\""),
        "25:8",
        &["means all flows together"],
    );
    rejects(
        &with("name = \"video\"", "name = \"  \""),
        "25:8",
        &["not a usable name"],
    );
}

#[test]
fn empty_flows() {
    rejects(
        &with("count = 60", "count = 0"),
        "18:9",
        &[
            "flows[0].count: an empty class, and no change ever fills it",
            "allowed: 1 or more, or 0 where a change",
        ],
    );
    let filled = GOOD.replace("count = 60", "count = 0").replace(
        "link = \"bottleneck\"\ndelay = \"10 ms\"",
        "flows = \"users\"\ncount = 5",
    );
    parse(filled, "home.toml").unwrap();
    let none = "[scenario]\nduration = \"1 s\"\n[[link]]\nname = \"a\"\nrate = \"1 Mbit/s\"\n";
    rejects(
        &messages(none),
        "1:1",
        &["there are no flows; allowed: [[flows]]"],
    );
    rejects(
        &messages("flows = []\n".to_owned() + none),
        "1:1",
        &["there are no flows"],
    );
}

#[test]
fn contradictions_of_a_class() {
    rejects(
        &with("traffic = { kind", "ecn = true\ntraffic = { kind"),
        "27:1",
        &["flows[1].ecn: a key of TCP, but the traffic of this class is UDP"],
    );
    rejects(
        &with("count = 60", "start = \"100 s\""),
        "18:9",
        &["flows[0].start: no flow starts before the end of the run"],
    );
    rejects(
        &with("count = 60", "start = \"5 s\"\nstop = \"5 s\""),
        "19:8",
        &["flows[0].stop: every flow would stop before it starts"],
    );
    rejects(
        &with("count = 60", "header_size = \"1500 B\""),
        "18:15",
        &["leave no room for payload", "less than packet_size"],
    );
    rejects(
        &with("count = 60", "packet_size = \"70 kB\""),
        "18:15",
        &["flows[0].packet_size: larger than 65535 B"],
    );
    rejects(
        &with("count = 60", "min_rto = \"2 min\""),
        "18:11",
        &["min_rto is above max_rto", "at most max_rto 60 s"],
    );
    rejects(
        &with(
            "count = 60",
            "style = \"linux\"\nclock_granularity = \"10 ms\"",
        ),
        "19:21",
        &["contradicts style \"linux\"", "in style \"rfc\" only"],
    );
    rejects(
        &with(
            "count = 60",
            "style = \"linux\"\nrestart_rto_on_every_ack = true",
        ),
        "19:28",
        &["contradicts style \"linux\"", "in style \"rfc\" only"],
    );
    rejects(
        &with("count = 60", "initial_window = \"0 packets\""),
        "18:18",
        &["less than one packet"],
    );
    rejects(
        &with("\"30 ms\"", "\"20 ms .. 30 ms\""),
        "20:7",
        &["without a word that says how they are meant", "uniform"],
    );
    rejects(
        &with("\"30 ms\"", "\"uniform 30 ms .. 20 ms\""),
        "20:7",
        &["the second time is below the first"],
    );
    rejects(
        &with("\"30 ms\"", "\"unifrom 20 ms .. 30 ms\""),
        "20:7",
        &["an unknown distribution", "did you mean \"uniform\"?"],
    );
    rejects(
        &with("\"30 ms\"", "\"normal 20 ms\""),
        "20:7",
        &["not a mean and a standard deviation"],
    );
    rejects(&with("\"30 ms\"", "[]"), "20:7", &["an empty list"]);
    rejects(
        &with("\"30 ms\"", "[\"10 ms\", 20]"),
        "20:17",
        &["flows[0].rtt[1]: the unit is missing"],
    );
    rejects(
        &with(
            "duration = \"100 s\"\nmeasure = \"50 s .. 100 s\"",
            "duration = \"until done\"",
        ),
        "2:12",
        &["never end: no class has a transfer"],
    );
}

#[test]
fn options_that_do_not_fit_the_sender() {
    rejects(
        &with(
            "count = 60",
            "recovery = \"reno\"\nloss_detection = \"rack\"",
        ),
        "19:18",
        &[
            "flows[0].loss_detection: needs selective acknowledgements",
            "recovery = \"sack\"",
        ],
    );
    let text = |option: &str| {
        messages(format!(
            "[scenario]\nduration = \"1 s\"\n[[link]]\nname = \"a\"\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\n[[flows]]\npath = [\"a\"]\n\
             congestion = \"bbr\"\n{option}\n"
        ))
    };
    for (option, key, column) in [
        ("recovery = \"newreno\"", "recovery", 12),
        ("reduction = \"prr\"", "reduction", 13),
        ("hystart = true", "hystart", 11),
        ("search = true", "search", 10),
        (
            "saved_window = \"9 packets\"\nsaved_rtt = \"1 s\"",
            "saved_window",
            16,
        ),
    ] {
        rejects(
            &text(option),
            &format!("10:{column}"),
            &[
                &format!("flows[0].{key}: contradicts the congestion control"),
                "with \"bbr\"",
            ],
        );
    }
    rejects(
        &text("receive_buffer = \"4 MiB\""),
        "10:18",
        &[
            "flows[0].receive_buffer: is sized and read as by Linux",
            "max_window limits the window in both",
        ],
    );
    for keys in [
        "initial_receive_buffer = \"1 MiB\"",
        "read_size = \"9 kB\"",
        "style = \"linux\"\nread_size = \"9 kB\"",
    ] {
        let (at, key) = (if keys.starts_with("style") { 11 } else { 10 }, keys);
        let key = key.lines().last().and_then(|line| line.split(' ').next());
        let key = key.unwrap_or_default();
        rejects(
            &text(keys),
            &format!("{at}:{}", key.len() + 4),
            &[
                &format!(
                    "flows[0].{key}: belongs to the limited receive buffer of a Linux receiver"
                ),
                "with style = \"linux\" and a receive_buffer only",
            ],
        );
    }
    rejects(
        &text("ecn = \"exact\""),
        "10:7",
        &["flows[0].ecn", "true or false, or \"accurate\""],
    );
    rejects(
        &text("pacing = \"window2\""),
        "10:10",
        &["flows[0].pacing", "\"auto\", \"window\""],
    );
}

#[test]
fn nodes() {
    let nodes = r#"[scenario]
duration = "1 s"
[[link]]
name = "ab"
from = "a"
to = "b"
rate = "1 Mbit/s"
delay = "1 ms"
[[link]]
name = "bc"
from = "b"
to = "c"
rate = "1 Mbit/s"
delay = "1 ms"
[[link]]
name = "ac"
from = "a"
to = "c"
rate = "1 Mbit/s"
delay = "1 ms"
[[flows]]
from = "a"
to = "c"
congestion = "reno"
"#;
    let scenario = parse(nodes, "home.toml").unwrap();
    assert_eq!(
        (&scenario.flows[0].path, &scenario.flows[0].reverse_path),
        (&vec![2], &None)
    );
    let with = |old: &str, new: &str| messages(nodes.replacen(old, new, 1));
    rejects(
        &with("to = \"c\"\ncong", "to = \"d\"\ncong"),
        "23:6",
        &["flows[0].to: there is no node \"d\"", "\"a\", \"b\", \"c\""],
    );
    rejects(
        &with(
            "from = \"a\"\nto = \"c\"\ncong",
            "from = \"c\"\nto = \"a\"\ncong",
        ),
        "21:1",
        &["no links lead from \"c\" to \"a\""],
    );
    rejects(
        &with("from = \"a\"\nto = \"c\"\ncong", "from = \"a\"\ncong"),
        "21:1",
        &["flows[0].to: the key is missing"],
    );
    rejects(
        &with(
            "from = \"a\"\nto = \"c\"\ncong",
            "from = \"a\"\nto = \"a\"\ncong",
        ),
        "21:1",
        &["the same node"],
    );
    rejects(
        &with(
            "from = \"a\"\nto = \"c\"\ncong",
            "from = \"a\"\nto = \"c\"\npath = [\"ac\"]\ncong",
        ),
        "22:8",
        &["both `path` and nodes"],
    );
    rejects(
        &with(
            "from = \"a\"\nto = \"c\"\ncong",
            "path = [\"bc\", \"ab\"]\ncong",
        ),
        "22:15",
        &["\"bc\" ends at node \"c\", but \"ab\" begins at \"a\""],
    );
    rejects(
        &with("to = \"c\"\nrate", "rate"),
        "9:1",
        &["link[1].to: the key is missing"],
    );
    let tie = nodes
        .replace(
            "name = \"ac\"\nfrom = \"a\"\nto = \"c\"",
            "name = \"ac\"\nfrom = \"a\"\nto = \"d\"",
        )
        .replace(
            "[[flows]]",
            "[[link]]\nname = \"dc\"\nfrom = \"d\"\nto = \"c\"\nrate = \"1 Mbit/s\"\n[[flows]]",
        );
    rejects(
        &messages(tie),
        "26:1",
        &[
            "two ways are equally short: [ab, bc] and [ac, dc]",
            "name the links in `path`",
        ],
    );
}

#[test]
fn shapes() {
    let shape = |text: &str| {
        messages(format!(
            "[scenario]\nduration = \"1 s\"\n{text}\n[[flows]]\nrtt = \"1 s\"\ncongestion = \"reno\"\n"
        ))
    };
    rejects(
        &shape("[dumbbell]"),
        "3:1",
        &["dumbbell.rate: the key is missing"],
    );
    rejects(
        &shape("[parking_lot]\nrate = \"1 Mbit/s\"\nhops = 0"),
        "5:8",
        &["parking_lot.hops", "1 to 1000"],
    );
    rejects(
        &shape("[dumbbell]\nrate = \"1 Mbit/s\"\nreverse = { rte = 1 }"),
        "5:13",
        &["dumbbell.reverse.rte", "did you mean \"rate\"?"],
    );
    rejects(
        &shape("[dumbbell]\nrate = \"1 Mbit/s\"\n[parking_lot]\nrate = \"1 Mbit/s\""),
        "5:2",
        &["a second description of the network"],
    );
    rejects(
        &shape(""),
        "1:1",
        &[
            "there are no links",
            "[[link]], or [dumbbell], or [parking_lot]",
        ],
    );
    rejects(
        &shape("[link]\nname = \"a\""),
        "3:1",
        &["link: the wrong kind of value", "[[link]]"],
    );
}

#[test]
fn several_mistakes_at_once() {
    let text = messages(
        GOOD.replace("\"5 ms\"", "5")
            .replace("count = 60", "cuont = 60")
            .replace("\"20 s\"", "\"20\""),
    );
    let places: Vec<_> = text
        .lines()
        .map(|line| line.split(": ").next().unwrap())
        .collect();
    assert_eq!(
        places,
        ["home.toml:8:9", "home.toml:18:1", "home.toml:30:6"],
        "{text}"
    );
    let many = format!(
        "{GOOD}{}",
        (0..200)
            .map(|at| format!("wrong{at} = 1\n"))
            .collect::<String>()
    );
    let text = messages(many);
    assert_eq!(text.lines().count(), 51);
    assert!(text.ends_with("and 150 more mistakes"), "{text}");
}

#[test]
fn not_a_scenario_file() {
    rejects(&messages(""), "1:1", &["the file is empty"]);
    rejects(&messages(" \n\t\n"), "1:1", &["the file is empty"]);
    rejects(
        &messages(b"[scenario]\nname = \"caf\xe9\"\n"),
        "2:12",
        &["the file is not UTF-8 text, found byte 0xe9"],
    );
    rejects(
        &messages(b"\xd4\xc3\xb2\xa1\x02\x00\x04\x00"),
        "1:1",
        &["a capture of packets, not a scenario", "ackclock why"],
    );
    rejects(&messages("[scenario\n"), "1:10", &["not TOML: "]);
    rejects(&messages("duration 5"), "1:10", &["not TOML: "]);
    rejects(
        &messages("[scenario]\nseed = 1\nseed = 2\n"),
        "3:1",
        &["not TOML: duplicate key"],
    );
    assert!(messages("a = 1").starts_with("home.toml:1:1: a: unknown key"));
}

#[test]
fn huge_files_are_refused_before_they_are_read() {
    let mut text = GOOD.to_owned();
    text.push('#');
    text.extend(std::iter::repeat_n('x', 100 << 20));
    rejects(
        &messages(&text),
        "1:1",
        &[
            "too large to be a scenario",
            "at most 16777216 bytes (16 MiB)",
        ],
    );
    text.truncate(MAX_BYTES);
    parse(&text, "home.toml").unwrap();
}

#[test]
fn deep_nesting_is_an_error() {
    for text in [
        "a = ".to_owned() + &"[".repeat(100_000),
        "a = ".to_owned() + &"{b=".repeat(100_000),
        "a.".repeat(100_000) + "b = 1",
    ] {
        assert!(messages(text).contains("home.toml"));
    }
    let deep = "[".repeat(100_000);
    assert!(
        parse_json(deep, "x").unwrap_err()[0]
            .to_string()
            .contains("not JSON: recursion limit")
    );
}

#[test]
fn json_names_the_path_of_keys() {
    let json = r#"{"scenario": {"duration": "1 s", "seed": 18446744073709551615},
        "link": [{"name": "a", "rate": "1 Mbit/s", "queue": {"aqm": "drop-tail", "capcity": "5 packets"}}],
        "flows": [{"path": ["a"], "rtt": null, "congestion": "reno"}]}"#;
    let errors: Vec<_> = parse_json(json, "built")
        .unwrap_err()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(errors.len(), 3, "{errors:?}");
    assert!(
        errors[0].starts_with(
            "built: scenario.seed: out of range, found 18446744073709551615; allowed: "
        ),
        "{errors:?}"
    );
    assert!(
        errors[1]
            .starts_with("built: link[0].queue.capcity: unknown key; did you mean \"capacity\"?"),
        "{errors:?}"
    );
    assert!(
        errors[2]
            .starts_with("built: flows[0].rtt: the wrong kind of value, found null; allowed: "),
        "{errors:?}"
    );
    let error = |text: &str| parse_json(text, "built").unwrap_err()[0].to_string();
    assert!(error("{\"a\": NaN}").starts_with("built:1:7: not JSON"));
    assert!(error("{\"a\": 1, \"a\": 2}").contains("duplicate key \"a\""));
    assert!(error("[1]").contains("not a scenario, found an array"));
    assert!(error("{}").contains("the section [scenario] is missing"));
}

#[test]
fn both_forms_say_the_same() {
    let toml = GOOD
        .replace("\"5 ms\"", "5")
        .replace("[\"second\"]", "[\"secnd\"]")
        .replace("\"cbr\"", "\"cb\"");
    let json = r#"{"scenario": {"duration": "100 s", "measure": "50 s .. 100 s"},
        "link": [{"name": "bottleneck", "rate": "100 Mbit/s", "delay": 5,
                  "queue": {"aqm": "red", "min_threshold": "50 packets", "max_threshold": "100 packets"}},
                 {"name": "second", "rate": "10 Mbit/s", "delay": "1 ms"}],
        "flows": [{"name": "users", "count": 60, "path": ["bottleneck", "second"], "rtt": "30 ms",
                   "congestion": {"kind": "reno"}, "access_rate": "2 Mbit/s"},
                  {"name": "video", "path": ["secnd"], "traffic": {"kind": "cb", "rate": "1 Mbit/s"}}],
        "change": [{"at": "20 s", "link": "bottleneck", "delay": "10 ms"}]}"#;
    let without_place = |text: String| {
        let mut lines: Vec<_> = text
            .lines()
            .map(|line| line.split_once(": ").unwrap().1.to_owned())
            .collect();
        lines.sort();
        lines
    };
    let from_json: Vec<_> = parse_json(json, "home.toml")
        .unwrap_err()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        without_place(messages(toml)),
        without_place(from_json.join("\n"))
    );
}

#[test]
fn large_files_take_no_longer_than_their_size_deserves() {
    // each would take minutes if every name were compared with every other
    let many =
        |count: usize, entry: &dyn Fn(usize) -> String| (0..count).map(entry).collect::<String>();
    let links = many(20_000, &|at| {
        format!("[[link]]\nname = \"link {at}\"\nrate = \"1 Mbit/s\"\n")
    });
    let flows = many(20_000, &|at| {
        format!("[[flows]]\nname = \"class {at}\"\npath = [\"link {at}\"]\nrtt = \"1 ms\"\n")
    });
    let scenario = parse(
        format!("[scenario]\nduration = \"1 s\"\n{links}{flows}"),
        "many",
    )
    .unwrap();
    assert_eq!(
        (scenario.links.len(), scenario.flows.len()),
        (20_000, 20_000)
    );
    let wrong = flows.replace("path = [\"link", "path = [\"lnk");
    let text = messages(format!("[scenario]\nduration = \"1 s\"\n{links}{wrong}"));
    assert!(
        text.ends_with("and 19950 more mistakes") && text.len() < 100_000,
        "{}",
        text.len()
    );
    let text = messages(many(100_000, &|at| format!("key{at} = 1\n")));
    assert!(
        text.contains("more mistakes") && text.len() < 100_000,
        "{}",
        text.len()
    );
}

#[test]
fn schedulers_and_impairments() {
    const QUEUE: &str = "queue = { aqm = \"red\", min_threshold = \"50 packets\", max_threshold = \"100 packets\" }";
    for (line, parts) in [
        (
            "queue = { scheduler = \"fq_codl\" }",
            &[
                "link[0].queue.scheduler: there is no scheduler \"fq_codl\"; did you mean \"fq_codel\"?",
                "\"htb\"",
            ][..],
        ),
        (
            "queue = { aqm = \"fifo\", capacity = \"100 packets\" }",
            &["link[0].queue.aqm: there is no AQM \"fifo\"; did you mean \"drop-tail\"?"],
        ),
        (
            "queue = { scheduler = { kind = \"drr\", quantum = \"0 B\" } }",
            &["link[0].queue.scheduler.quantum", "from 1"],
        ),
        (
            "queue = { scheduler = { kind = \"drr\", buckets = 2.5 } }",
            &[
                "link[0].queue.scheduler.buckets",
                "found 2.5",
                "a whole number",
            ],
        ),
        (
            "queue = { scheduler = { quantum = \"1 B\" } }",
            &[
                "link[0].queue.scheduler.kind: the key is missing",
                "\"priority\"",
            ],
        ),
        (
            "queue = { scheduler = 3 }",
            &["link[0].queue.scheduler: the wrong kind of value"],
        ),
        ("loss = 1.5", &["link[0].loss: out of range", "found 1.5"]),
        (
            "loss = { kind = \"gilbert-eliot\" }",
            &[
                "link[0].loss.kind: there is no loss model",
                "did you mean \"gilbert-elliott\"?",
            ],
        ),
        (
            "loss = { kind = \"gilbert-elliott\", good_to_bad = 0, bad_to_good = 0 }",
            &["link[0].loss.bad_to_good: contradicts another parameter"],
        ),
        (
            "jitter = \"range 1 ms .. 2 ms\"",
            &["link[0].jitter: a range is dealt to flows"],
        ),
        (
            "jitter = { reorder = true }",
            &["link[0].jitter.delay: the key is missing"],
        ),
        (
            "shaper = { burst = \"10 kB\" }",
            &["link[0].shaper.rate: the key is missing"],
        ),
        (
            "shaper = \"5 Mbit/s\"",
            &["link[0].shaper: the wrong kind of value", "burst"],
        ),
        (
            "service = \"wify\"",
            &[
                "link[0].service: there is no service",
                "did you mean \"wifi\"?",
            ],
        ),
        (
            "service = { kind = \"lte\", block_error = 1 }",
            &["link[0].service.block_error"],
        ),
        (
            "medium = \"air\"\nservice = \"lte\"",
            &["link[0].medium: the link has no medium to share"],
        ),
        (
            "stalls = { interval = \"9 s\", shortest = \"3 s\" }\nservice = \"5g\"",
            &["link[0].stalls.shortest: contradicts another parameter"],
        ),
        (
            "stalls = { interval = \"9 s\" }",
            &["link[0].stalls: the link has no service that stalls"],
        ),
        (
            "shaper = { rate = \"5 Mbit/s\" }\nservice = \"wifi\"",
            &["link[0].shaper: a shaper on a link with the service wifi"],
        ),
        (
            "autorate = { min = \"5 Mbit/s\", max = \"9 Mbit/s\" }",
            &["link[0].autorate.probes: the key is missing"],
        ),
        (
            "autorate = { probes = \"pings\", min = \"5 Mbit/s\", max = \"9 Mbit/s\" }",
            &["link[0].autorate.probes: there is no such class of flows"],
        ),
        (
            "autorate = { probes = \"pings\", min = \"9 Mbit/s\", max = \"5 Mbit/s\" }",
            &["link[0].autorate.min: contradicts another parameter"],
        ),
        (
            "policer = { rate = \"5 Mbit/s\", burst = \"1 kB\" }",
            &[
                "link[0].policer.burst: the bucket cannot hold the largest packet, found 1000 B; allowed: 1500 B or more",
            ],
        ),
    ] {
        let text = messages(GOOD.replacen(QUEUE, line, 1));
        rejects(
            &text,
            text["home.toml:".len()..].split(": ").next().unwrap(),
            parts,
        );
        assert!(text.starts_with("home.toml:9:"), "{text}");
    }
    let text = with("rtt = \"30 ms\"", "rtt = \"30 ms\"\npriority = 8");
    rejects(
        &text,
        "21:12",
        &["flows[0].priority: out of range, found 8; allowed: a whole number from 0 to 7"],
    );
}

#[test]
fn rate_traces() {
    const RATE: &str = "rate = \"100 Mbit/s\"";
    for (rate, part) in [
        ("{ }", "link[0].rate.trace: the key is missing"),
        (
            "{ trace = \"x.csv\" }",
            "link[0].rate.trace: the trace file cannot be used: files cannot be read here",
        ),
        (
            "{ trace = \"x.csv\", format = \"pcap\" }",
            "link[0].rate.format: \"pcap\" is not a choice",
        ),
        (
            "{ steps = [] }",
            "link[0].rate.steps: the trace has no steps",
        ),
        (
            "{ steps = [[\"0 s\", \"1 Mbit/s\"], [\"1 s\"]] }",
            "link[0].rate.steps[1]: not a time and a rate",
        ),
        (
            "{ steps = [[\"1 s\", \"1 Mbit/s\"]] }",
            "the first step is not at 0 s",
        ),
        (
            "{ steps = [[\"0 s\", \"1 Mbit/s\"]], repeat = \"0 s\" }",
            "link[0].rate.repeat: zero",
        ),
    ] {
        let text = with(RATE, &format!("rate = {rate}"));
        assert!(
            text.starts_with("home.toml:7:") && text.contains(part),
            "{text}"
        );
        assert_eq!(text.lines().count(), 1, "{text}");
    }
    let change = GOOD
        .replacen(RATE, "rate = { steps = [[\"0 s\", \"1 Mbit/s\"]] }", 1)
        .replacen("delay = \"10 ms\"", "rate = \"1 Mbit/s\"", 1);
    rejects(
        &messages(change),
        "32:8",
        &["change[0].rate: the link's rate follows a trace"],
    );
}

/// A key of an earlier version is answered with the one in its place.
#[test]
fn the_form_has_taken_the_place_of_whole_packets() {
    rejects(
        &with(
            "congestion = { kind = \"reno\" }",
            "congestion = { kind = \"vegas\", whole_packets = true }",
        ),
        "21:32",
        &[
            "flows[0].congestion.whole_packets: this key has another name now",
            "form = \"linux\" for true",
        ],
    );
}

/// A key in the wrong table is answered with the table that it belongs in.
#[test]
fn a_key_of_another_table_is_told_its_place() {
    let class = |extra: &str| {
        with(
            "queue = { aqm = \"red\", min_threshold = \"50 packets\", max_threshold = \"100 packets\" }",
            &format!(
                "queue = {{ scheduler = \"htb\", default = \"c\", classes = [{{ name = \"c\", rate = \"5 Mbit/s\", {extra} }}] }}"
            ),
        )
    };
    rejects(
        &class("target = \"5 ms\""),
        "9:89",
        &[
            "link[0].queue.classes[0].target: unknown key here: a parameter of the AQM ",
            "\"codel\"",
            "in the queue of this table: queue = { aqm = ",
        ],
    );
    rejects(
        &class("capacity = \"20 packets\""),
        "9:89",
        &[
            "classes[0].capacity: unknown key here: a key of a queue; allowed: in the queue of this table: queue = { capacity = ... }",
        ],
    );
    let delay = "delay = \"5 ms\"\n";
    rejects(
        &with(delay, "delay = \"5 ms\"\naqm = \"codel\"\n"),
        "9:1",
        &[
            "link[0].aqm: unknown key here: a key of a queue",
            "queue = { aqm = ... }",
        ],
    );
    let queue = "aqm = \"red\", min_threshold = \"50 packets\", max_threshold = \"100 packets\"";
    rejects(
        &with(queue, "scheduler = { kind = \"drr\", target = \"5 ms\" }"),
        "9:39",
        &[
            "queue.scheduler.target: unknown key here: a parameter of the AQM ",
            "beside `scheduler`",
        ],
    );
    rejects(
        &with(queue, "aqm = \"drr\", target = \"5 ms\""),
        "9:24",
        &[
            "queue.target: unknown key here: a parameter of the AQM ",
            "with `aqm` one of ",
        ],
    );
}

/// A flow's `kind` and rate are its traffic's, and datagrams have the name of their kind.
#[test]
fn datagrams_are_told_their_kind() {
    let traffic = "traffic = { kind = \"cbr\", rate = \"1 Mbit/s\" }";
    rejects(
        &with(traffic, "kind = \"udp\""),
        "27:1",
        &[
            "flows[1].kind: unknown key here: a key of the traffic",
            "traffic = { kind = ... } with kind \"bulk\", ",
            "; datagrams (UDP) are \"cbr\", ",
        ],
    );
    rejects(
        &with(traffic, "rate = \"1 Mbit/s\""),
        "27:1",
        &[
            "flows[1].rate: unknown key here: a key of the traffic",
            "traffic = { kind = ",
        ],
    );
    rejects(
        &with("kind = \"cbr\"", "kind = \"udp\""),
        "27:20",
        &["there is no traffic \"udp\"; did you mean \"cbr\"?"],
    );
}

/// Scenarios that would keep an engine busy for ever are refused with the limit.
#[test]
fn limits_are_named() {
    rejects(
        &with(
            "congestion = { kind = \"reno\" }",
            "congestion = { kind = \"ledbat\", base_history = \"4 ps\" }",
        ),
        "21:48",
        &["flows[0].congestion.base_history", "0.01 or more s"],
    );
    rejects(
        &with(
            "congestion = { kind = \"reno\" }",
            "initial_window = \"1000000000 packets\"",
        ),
        "21:18",
        &["flows[0].initial_window: more than 100000 packets"],
    );
    rejects(
        &with(
            "rate = \"10 Mbit/s\"",
            "rate = { steps = [[\"0 s\", \"1 Mbit/s\"]], repeat = \"1 ns\" }",
        ),
        "13:18",
        &["a step must last 1 us or longer"],
    );
    rejects(
        &with(
            "congestion = { kind = \"reno\" }",
            "traffic = { kind = \"packmime\", rate = \"0.0005 /s\" }",
        ),
        "21:39",
        &["slower than 0.001 /s"],
    );
    // an ACK lets a window grow by alpha: 1e9 packets that are sent at once
    for kind in ["compound", "aimd"] {
        rejects(
            &with(
                "congestion = { kind = \"reno\" }",
                &format!("congestion = {{ alpha = 1001, kind = \"{kind}\" }}"),
            ),
            "21:24",
            &["flows[0].congestion.alpha", "at most 1000"],
        );
    }
}

/// Mb are bits, in any case: a rate, never megabytes.
#[test]
fn a_small_b_is_a_bit() {
    for unit in ["Mb", "mb", "Mbit", "Mb/s"] {
        let text = GOOD.replacen("100 Mbit/s", &format!("50 {unit}"), 1);
        let scenario = parse(&text, "home.toml").expect("it is a rate");
        assert_eq!(scenario.links[0].rate, 50e6, "{unit}");
    }
    rejects(
        &with("rtt = \"30 ms\"", "packet_size = \"1 kb\""),
        "20:15",
        &["a data rate where a size is needed"],
    );
}
