//! Stacks of others and ackclock's own senders over the same paths.

use std::sync::Arc;

use ackclock_endpoint::EndpointFactory;
use ackclock_packet::{Error, FlowSelection, Options, Outcome, TraceSelection};
use ackclock_scenario::Scenario;

/// A path: name, and its link in TOML; round trips are 40 ms, but 200 ms on "long".
pub const PATHS: [(&str, &str, &str); 6] = [
    (
        "one BDP",
        "rate = \"20 Mbit/s\"\ndelay = \"5 ms\"\nqueue = { aqm = \"drop-tail\", capacity = \"67 packets\" }",
        "40 ms",
    ),
    (
        "shallow",
        "rate = \"20 Mbit/s\"\ndelay = \"5 ms\"\nqueue = { aqm = \"drop-tail\", capacity = \"14 packets\" }",
        "40 ms",
    ),
    (
        "deep",
        "rate = \"20 Mbit/s\"\ndelay = \"5 ms\"\nqueue = { aqm = \"drop-tail\", capacity = \"335 packets\" }",
        "40 ms",
    ),
    (
        "long",
        "rate = \"20 Mbit/s\"\ndelay = \"5 ms\"\nqueue = { aqm = \"drop-tail\", capacity = \"335 packets\" }",
        "200 ms",
    ),
    (
        "1 % loss",
        "rate = \"20 Mbit/s\"\ndelay = \"5 ms\"\nloss = 0.01\nqueue = { aqm = \"drop-tail\", capacity = \"67 packets\" }",
        "40 ms",
    ),
    (
        "CoDel",
        "rate = \"20 Mbit/s\"\ndelay = \"5 ms\"\nqueue = { aqm = \"codel\", capacity = \"1000 packets\" }",
        "40 ms",
    ),
];

/// Senders: stack and option.
pub const SENDERS: [(&str, &str); 14] = [
    ("ours", "reno"),
    ("quinn", "new-reno"),
    ("noq", "new-reno"),
    ("smoltcp", "reno"),
    ("ours", "cubic"),
    ("quinn", "cubic"),
    ("noq", "cubic"),
    ("smoltcp", "cubic"),
    ("s2n", "cubic"),
    ("ours", "bbr"),
    ("quinn", "bbr"),
    ("s2n", "bbr"),
    ("ours", "bbr3"),
    ("noq", "bbr3"),
];

/// The stack's connections; none of the engine's own senders.
#[must_use]
pub fn factory(stack: &str) -> Option<Arc<dyn EndpointFactory>> {
    Some(match stack {
        "quinn" => Arc::new(ackclock_quinn::Quinn),
        "noq" => Arc::new(ackclock_noq::Noq),
        "smoltcp" => Arc::new(ackclock_smoltcp::Smoltcp),
        "s2n" => Arc::new(ackclock_s2n::S2n),
        _ => return None,
    })
}

/// A flow of the sender alone on a path, or beside one of ackclock's CUBIC in style "linux".
///
/// # Panics
/// If a path is no valid scenario.
#[must_use]
pub fn scenario(path: usize, sender: (&str, &str), beside: bool, seconds: u32) -> Scenario {
    let (_, link, rtt) = PATHS[path];
    let (stack, option) = sender;
    let own = if stack == "ours" {
        format!("congestion = \"{option}\"\nstyle = \"linux\"\n")
    } else {
        String::new()
    };
    let other = format!(
        "[[flows]]\nname = \"beside\"\npath = [\"link\"]\nrtt = \"{rtt}\"\nstart = \"uniform 0 s .. 1 s\"\nstyle = \"linux\"\n"
    );
    let text = format!(
        "[scenario]\nduration = \"{seconds} s\"\nmeasure = \"{} s .. {seconds} s\"\nsample = \"50 ms\"\n\
         [[link]]\nname = \"link\"\n{link}\n\
         [[flows]]\nname = \"flow\"\npath = [\"link\"]\nrtt = \"{rtt}\"\nstart = \"uniform 0 s .. 1 s\"\n{own}{}",
        seconds / 3,
        if beside { &other } else { "" }
    );
    let mut scenario = ackclock_scenario::parse(text.as_bytes(), "path").expect("a valid path");
    if let Some(factory) = factory(stack) {
        ackclock_packet::with_endpoints(&mut scenario, "flow", factory, option)
            .expect("there is a class");
    }
    scenario
}

/// Runs a scenario; the windows are traced.
///
/// # Errors
/// The engine's, which name a stack that failed.
pub fn run(scenario: &Scenario, seed: u64) -> Result<Outcome, Error> {
    let options = Options {
        traces: TraceSelection {
            links: true,
            flows: FlowSelection::All,
            ..TraceSelection::default()
        },
        seed: Some(seed),
        ..Options::default()
    };
    ackclock_packet::run(scenario, &options)
}
