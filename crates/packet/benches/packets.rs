//! Bottleneck packets per CPU-second: `cargo bench -p ackclock-packet [-- NAME]`. Each run takes several seconds of CPU time, so that setting up and
//! the caches' first filling do not count.
#![allow(clippy::print_stdout, reason = "a benchmark talks to its user")]

use ackclock_packet::{Options, Simulation};
use cpu_time::ProcessTime;

const SETUPS: [(&str, &str); 9] = [
    ("s1", include_str!("setups/s1.toml")),
    ("s5-1", include_str!("setups/s5-1.toml")),
    ("s5-10", include_str!("setups/s5-10.toml")),
    ("s5-10-access", include_str!("setups/s5-10-access.toml")),
    ("s5-10-codel", include_str!("setups/s5-10-codel.toml")),
    ("s5-10-fq-codel", include_str!("setups/s5-10-fq-codel.toml")),
    ("s5-100", include_str!("setups/s5-100.toml")),
    ("s5-1000", include_str!("setups/s5-1000.toml")),
    ("s5-100000", include_str!("setups/s5-100000.toml")),
];

fn main() {
    let wanted: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with('-'))
        .collect();
    println!(
        "{:<14} {:>12} {:>8} {:>10} {:>12} {:>8}",
        "set-up", "packets", "CPU s", "M packets/s", "events/pkt", "loss"
    );
    for (name, text) in SETUPS {
        if !wanted.is_empty() && !wanted.iter().any(|word| word == name) {
            continue;
        }
        let scenario = ackclock_scenario::parse(text, name).expect("the set-ups are valid");
        let begin = ProcessTime::now();
        let mut simulation =
            Simulation::new(&scenario, &Options::default()).expect("the engine takes it");
        while !simulation.step(1 << 20).expect("no algorithm fails").done {}
        let seconds = begin.elapsed().as_secs_f64();
        let outcome = simulation.finish().expect("the books balance");
        let packets = outcome.departures as f64;
        let loss = outcome.links[0].drops as f64 / outcome.links[0].arrivals as f64;
        println!(
            "{name:<14} {packets:>12} {seconds:>8.2} {:>10.2} {:>12.2} {loss:>10.5}",
            packets / seconds / 1e6,
            outcome.events as f64 / packets
        );
    }
}
