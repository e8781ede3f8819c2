//! Bottleneck packets per CPU-second: `cargo bench -p ackclock-packet [-- NAME ...]`. Each run takes several seconds of CPU time, so that setting up and
//! the caches' first filling do not count.
//!
//! `--simulated SECONDS` cuts the runs short. `--traced` records the traces of all links and flows. `--digest` prints a hash of all results and traces of each set-up instead of its speed (and of the scenario
//! files named): work on speed must not change it.
#![allow(clippy::print_stdout, reason = "a benchmark talks to its user")]

use ackclock_algorithms::Time;
use ackclock_packet::{FlowSelection, Options, Outcome, Simulation, TraceSelection};
use ackclock_scenario::{End, Scenario};
use cpu_time::ProcessTime;

const SETUPS: [(&str, &str); 13] = [
    ("s1", include_str!("setups/s1.toml")),
    ("s3", include_str!("setups/s3.toml")),
    ("s4", include_str!("setups/s4.toml")),
    ("s5-1", include_str!("setups/s5-1.toml")),
    ("s5-10", include_str!("setups/s5-10.toml")),
    ("s5-10-access", include_str!("setups/s5-10-access.toml")),
    ("s5-10-codel", include_str!("setups/s5-10-codel.toml")),
    ("s5-10-fq-codel", include_str!("setups/s5-10-fq-codel.toml")),
    ("s5-10-reverse", include_str!("setups/s5-10-reverse.toml")),
    ("s5-100", include_str!("setups/s5-100.toml")),
    ("s5-1000", include_str!("setups/s5-1000.toml")),
    ("s5-100000", include_str!("setups/s5-100000.toml")),
    ("lot-3", include_str!("setups/lot-3.toml")),
];

fn run(scenario: &Scenario, options: &Options) -> Result<Outcome, ackclock_packet::Error> {
    let mut simulation = Simulation::new(scenario, options)?;
    while !simulation.step(1 << 20)?.done {}
    simulation.finish()
}

/// A hash (FNV-1a) of everything that a run says, with traces.
fn digest(scenario: &Scenario) -> Result<u64, ackclock_packet::Error> {
    let mut hash = 0xcbf2_9ce4_8422_2325;
    for general in [false, true] {
        let options = Options {
            general,
            traces: TraceSelection {
                links: true,
                flows: FlowSelection::PerClass(3),
                ..TraceSelection::default()
            },
            ..Options::default()
        };
        let mut outcome = run(scenario, &options)?;
        outcome.events = 0; // how the engine got there is its own affair
        for byte in format!("{outcome:?}").bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    Ok(hash)
}

fn speed(name: &str, scenario: &Scenario, traced: bool) {
    let mut options = Options::default();
    if traced {
        options.traces.links = true;
        options.traces.flows = FlowSelection::All;
    }
    let begin = ProcessTime::now();
    let outcome = run(scenario, &options).expect("the engine takes it");
    let seconds = begin.elapsed().as_secs_f64();
    let packets = outcome.departures as f64;
    let loss = outcome.links[0].drops as f64 / outcome.links[0].arrivals as f64;
    println!(
        "{name:<14} {:>12} {seconds:>8.2} {:>10.2} {:>12.2} {loss:>10.5}",
        outcome.departures,
        packets / seconds / 1e6,
        outcome.events as f64 / packets
    );
}

fn main() {
    let mut simulated = None;
    let (mut digests, mut traced) = (false, false);
    let mut wanted = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--simulated" => {
                let value = arguments.next().and_then(|text| text.parse::<f64>().ok());
                simulated = Some(value.expect("--simulated takes seconds"));
            }
            "--digest" => digests = true,
            "--traced" => traced = true,
            word if word.starts_with('-') => {} // what cargo passes on
            _ => wanted.push(argument),
        }
    }
    let files = wanted.iter().filter(|word| word.ends_with(".toml"));
    let texts = files.map(|path| {
        let text = std::fs::read_to_string(path).expect("a scenario file");
        (path.clone(), text)
    });
    let setups = SETUPS
        .iter()
        .filter(|(name, _)| wanted.is_empty() || wanted.iter().any(|word| word == name))
        .map(|&(name, text)| (name.to_owned(), text.to_owned()));
    if !digests {
        println!(
            "{:<14} {:>12} {:>8} {:>10} {:>12} {:>8}",
            "set-up", "packets", "CPU s", "M packets/s", "events/pkt", "loss"
        );
    }
    for (name, text) in setups.chain(texts).collect::<Vec<_>>() {
        let mut scenario = match ackclock_scenario::parse(&text, &name) {
            Ok(scenario) => scenario,
            Err(faults) => {
                println!("{name}: {}", faults[0]);
                continue;
            }
        };
        if let (Some(seconds), End::At(end)) = (simulated, scenario.end) {
            let end = end.min(Time::from_seconds(seconds));
            scenario.end = End::At(end);
            scenario.changes.retain(|change| change.at < end);
            scenario.measure = scenario
                .measure
                .map(|(from, to)| (from.min(Time(end.0 / 2)), to.min(end)));
        }
        if digests {
            match digest(&scenario) {
                Ok(hash) => println!("{name} {hash:016x}"),
                Err(error) => println!("{name}: {error}"),
            }
        } else {
            speed(&name, &scenario, traced);
        }
    }
}
