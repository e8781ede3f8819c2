//! Queues with classes: what may stand in them, what is written back, and what is said of mistakes.

use ackclock_scenario::{Dscp, parse, parse_json, to_json};

const GOOD: &str = r#"
[scenario]
duration = "10 s"

[[link]]
name = "up"
rate = "100 Mbit/s"
queue = { scheduler = { kind = "htb", r2q = 5 }, default = "bulk", classes = [
  { name = "root", rate = "20 Mbit/s", classes = [
    { name = "calls", rate = "2 Mbit/s", ceil = "20 Mbit/s", prio = 0, flows = ["calls"], queue = { aqm = "codel" } },
    { name = "bulk", rate = "8 Mbit/s", queue = { scheduler = "prio", classes = [
      { name = "web", flows = "web" },
      { name = "rest", flows = ["rest"], queue = { scheduler = "fq_codel" } } ] } } ] } ] }

[[flows]]
name = "calls"
path = ["up"]
rtt = "40 ms"

[[flows]]
name = "web"
path = ["up"]
rtt = "40 ms"

[[flows]]
name = "rest"
path = ["up"]
rtt = "40 ms"
"#;

#[test]
fn what_is_written_reads_back() {
    let scenario = parse(GOOD, "home.toml").unwrap_or_else(|errors| panic!("{errors:?}"));
    let tree = scenario.links[0].tree.as_ref().unwrap();
    assert_eq!(tree.classes.len(), 3);
    assert_eq!(tree.classes[2].parent, Some(0));
    // a time of queue means the bytes of the most that the class can send
    let calls = tree.classes[1].queue.as_ref().unwrap();
    assert_eq!(calls.capacity, ackclock_scenario::Capacity::Bytes(250_000));
    assert_eq!(
        tree.filters().class_of(&scenario.flows[1], Dscp::Ef),
        Some(2)
    );
    let text = to_json(&scenario);
    let again = parse_json(&text, "again.json").unwrap_or_else(|errors| panic!("{errors:?}"));
    assert_eq!(to_json(&again), text);
    assert!(text.contains("\"quantum\": \"auto\""), "{text}");
    let only = scenario.links[0].packet_only();
    assert_eq!(only.as_deref(), Some("queue with classes (htb)"));
}

#[test]
fn curves_of_nothing_read_back() {
    let queue = r#"queue = { scheduler = "hfsc", default = "a", classes = [ { name = "a", rt_m2 = "3 Mbit/s" } ] }"#;
    let (head, rest) = GOOD.split_once("queue = ").unwrap();
    let (_, flows) = rest.split_once("\n\n[[flows]]").unwrap();
    let text = format!("{head}{queue}\n\n[[flows]]{flows}");
    let scenario = parse(&text, "home.toml").unwrap_or_else(|errors| panic!("{errors:?}"));
    let written = to_json(&scenario);
    let again = parse_json(&written, "again.json").unwrap_or_else(|errors| panic!("{errors:?}"));
    assert_eq!(to_json(&again), written);
}

#[track_caller]
fn refused(old: &str, new: &str, expected: &str) {
    assert!(GOOD.contains(old), "{old}");
    let errors = parse(GOOD.replacen(old, new, 1), "home.toml").unwrap_err();
    let text: Vec<String> = errors.iter().map(ToString::to_string).collect();
    let text = text.join("\n");
    assert!(
        text.starts_with("home.toml:") && text.contains(expected),
        "{text}"
    );
    assert_eq!(errors.len(), 1, "{text}");
}

#[test]
fn mistakes() {
    refused(
        "flows = [\"calls\"], queue",
        "flows = [\"cals\"], queue",
        "there is no class of flows \"cals\"; did you mean \"calls\"?",
    );
    refused(
        "flows = \"web\"",
        "flows = []",
        "no class takes the packets of flows \"web\"; allowed: `flows` of a class that name them, `dscp` of one (a queue on the way may wash it off), or `default`",
    );
    refused(
        "prio = 0",
        "proi = 0",
        "unknown key; did you mean \"prio\"?",
    );
    refused(
        "prio = 0",
        "prio = 9",
        "classes[0].classes[0].prio: out of range",
    );
    refused(
        "ceil = \"20 Mbit/s\"",
        "ceil = \"1 Mbit/s\"",
        "at least rate, 2000000 bit/s",
    );
    refused(
        "default = \"bulk\"",
        "default = \"root\"",
        "there is no class \"root\" with a queue",
    );
    refused(
        "name = \"web\", flows",
        "name = \"rest\", flows",
        "the name \"rest\" is taken by line 12",
    );
    refused(
        "\"prio\"",
        "\"prios\"",
        "there is no scheduler with classes \"prios\"; did you mean \"prio\"?",
    );
    refused(
        "name = \"web\", flows = \"web\"",
        "name = \"web\", classes = [ { name = \"x\", flows = \"web\" } ]",
        "too deep for prio",
    );
    refused("r2q = 5", "r2q = 5, kitten = 1", "kitten: unknown key");
    refused(
        "rate = \"8 Mbit/s\"",
        "ceil = \"8 Mbit/s\"",
        "the key is missing",
    );
}

/// A queue with classes has no AQM or capacity that a change could set.
#[test]
fn changes_of_a_queue_with_classes() {
    let change = "\n[[change]]\nat = \"1 s\"\nlink = \"up\"\ncapacity = \"9 packets\"\n";
    let errors = parse(format!("{GOOD}{change}"), "home.toml").unwrap_err();
    assert!(
        errors[0].to_string().contains("unknown key"),
        "{}",
        errors[0]
    );
}

#[test]
fn code_points_are_asked_for() {
    let text = GOOD
        .replace("flows = [\"calls\"]", "dscp = [\"ef\", \"cs6\", \"ef\"]")
        .replace("rtt = \"40 ms\"", "rtt = \"40 ms\"\ndscp = \"ef\"");
    let scenario = parse(&text, "home.toml").unwrap_or_else(|errors| panic!("{errors:?}"));
    let tree = scenario.links[0].tree.as_ref().unwrap();
    assert_eq!(tree.classes[1].dscp, [Dscp::Ef, Dscp::Cs6]);
    // calls by their code point, web by its name, whatever its code point
    assert_eq!(
        tree.filters().class_of(&scenario.flows[0], Dscp::Ef),
        Some(1)
    );
    assert_eq!(
        tree.filters().class_of(&scenario.flows[0], Dscp::Cs0),
        Some(2)
    );
    let written = to_json(&scenario);
    assert_eq!(
        to_json(&parse_json(&written, "again.json").unwrap()),
        written
    );
    refused(
        "flows = [\"calls\"]",
        "dscp = [\"eff\"]",
        "did you mean \"ef\"",
    );
    // packets that have lost their code point would have no class
    let lost = text.replace("default = \"bulk\", ", "").replace(
        "{ name = \"bulk\",",
        "{ name = \"bulk\", flows = [\"web\", \"rest\"],",
    );
    assert!(parse(&lost, "home.toml").is_ok());
    let before = "[[link]]\nname = \"first\"\nrate = \"1 Gbit/s\"\nqueue = { scheduler = { kind = \"cake\", wash = true } }\n\n[[link]]\n";
    let lost = lost
        .replacen("[[link]]\n", before, 1)
        .replace("path = [\"up\"]", "path = [\"first\", \"up\"]");
    let errors = parse(&lost, "home.toml").unwrap_err();
    assert!(
        errors[0].problem.contains("packets of flows \"calls\""),
        "{errors:?}"
    );
}

#[test]
fn changes_that_come_again() {
    let text = |more: &str| {
        let changes = format!("[[change]]\nat = \"1 s\"\nlink = \"up\"\n{more}");
        parse(format!("{GOOD}{changes}"), "home.toml")
    };
    let scenario = text(
        "every = \"2 s\"\nuntil = \"6 s\"\nrate = [\"1 Mbit/s\", \"2 Mbit/s\"]\ndelay = \"5 ms\"\n",
    );
    let scenario = scenario.unwrap_or_else(|errors| panic!("{errors:?}"));
    let times: Vec<f64> = scenario.changes.iter().map(|it| it.at.seconds()).collect();
    assert_eq!(times, [1.0, 1.0, 3.0, 3.0, 5.0, 5.0]);
    let text_of = to_json(&scenario);
    let again = parse_json(&text_of, "again.json").unwrap_or_else(|errors| panic!("{errors:?}"));
    assert_eq!(again.changes.len(), 6);
    for (more, problem) in [
        (
            "until = \"6 s\"\nrate = \"1 Mbit/s\"\n",
            "nothing is repeated",
        ),
        (
            "every = \"1 us\"\nrate = \"1 Mbit/s\"\n",
            "at most 100000 times",
        ),
        ("every = \"0 s\"\nrate = \"1 Mbit/s\"\n", "zero"),
        (
            "every = \"1 s\"\nrate = [\"1 Mbit/s\", \"x\"]\n",
            "change[0].rate[1]",
        ),
        ("rate = [\"1 Mbit/s\", \"2 Mbit/s\"]\n", "change[0].rate"),
        ("loss = \"1 %\"\n", "no loss that could change"),
    ] {
        let errors = text(more).expect_err(more);
        let all: String = errors.iter().map(ToString::to_string).collect();
        assert!(all.contains(problem), "{more}: {all}");
    }
}
