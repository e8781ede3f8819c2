//! Bottleneck packets per CPU-second: `cargo bench -p ackclock-packet --bench packets [-- NAME
//! ...]`. Each run takes several seconds of CPU time, so that setting up and the caches' first
//! filling do not count.
//!
//! `--simulated SECONDS` cuts the runs short. `--queue` and `--windows` record the traces of all
//! links and of all flows, `--sample SECONDS` how often. `--digest` prints a hash of all results
//! and traces of each set-up instead of its speed (and of the scenario files named): work on speed
//! must not change it.
#![allow(clippy::print_stdout, reason = "a benchmark talks to its user")]

use ackclock_algorithms::Time;
use ackclock_packet::{FlowSelection, Options, TraceSelection};
use ackclock_scenario::Scenario;
use cpu_time::ProcessTime;

mod setups;

use setups::{SETUPS, cut, run};

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

fn speed(name: &str, scenario: &Scenario, options: &Options) {
    let begin = ProcessTime::now();
    let outcome = run(scenario, options).expect("the engine takes it");
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
    let (mut simulated, mut sample) = (None, None);
    let mut digests = false;
    let mut options = Options::default();
    let mut wanted = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut seconds = || {
            let value = arguments.next().and_then(|text| text.parse::<f64>().ok());
            Some(value.expect("seconds"))
        };
        match argument.as_str() {
            "--simulated" => simulated = seconds(),
            "--sample" => sample = seconds(),
            "--digest" => digests = true,
            "--queue" => options.traces.links = true,
            "--windows" => options.traces.flows = FlowSelection::All,
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
        .filter(|setup| wanted.is_empty() || wanted.iter().any(|word| word == setup.name))
        .map(|setup| (setup.name.to_owned(), setup.text.to_owned()));
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
        if let Some(seconds) = simulated {
            cut(&mut scenario, seconds);
        }
        scenario.sample = sample.map(Time::from_seconds).or(scenario.sample);
        if digests {
            match digest(&scenario) {
                Ok(hash) => println!("{name} {hash:016x}"),
                Err(error) => println!("{name}: {error}"),
            }
        } else {
            speed(&name, &scenario, &options);
        }
    }
}
