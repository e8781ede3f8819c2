//! Runs scenario files and prints a line per link: `cargo run --release -p ackclock-packet
//! --example run -- FILE [general] [seed=N]`.
#![allow(clippy::print_stdout, reason = "an example talks to its user")]

use std::time::Instant;

use ackclock_packet::{Options, run};

fn main() {
    let (mut files, mut options) = (Vec::new(), Options::default());
    for argument in std::env::args().skip(1) {
        if argument == "general" {
            options.general = true;
        } else if let Some(seed) = argument.strip_prefix("seed=") {
            options.seed = seed.parse().ok();
        } else {
            files.push(argument);
        }
    }
    for file in files {
        let text = std::fs::read(&file).unwrap_or_else(|error| panic!("{file}: {error}"));
        let scenario = match ackclock_scenario::parse(&text, &file) {
            Ok(scenario) => scenario,
            Err(diagnostics) => {
                for diagnostic in diagnostics {
                    println!("{diagnostic}");
                }
                std::process::exit(2);
            }
        };
        let begin = Instant::now();
        let outcome = run(&scenario, &options).unwrap_or_else(|error| panic!("{error}"));
        let seconds = begin.elapsed().as_secs_f64();
        println!(
            "{file}: {} events, {} departures, {seconds:.3} s, {:.3} M/s",
            outcome.events,
            outcome.departures,
            outcome.departures as f64 / seconds / 1e6
        );
        for link in &outcome.links {
            println!(
                "  {}: util {:.5} (min 1s {:.4}) loss {:.5} drops {} marks {} queue {:.2} +- {:.2} max {} delay {:.3} ms p99 {:.3} ms",
                link.name,
                link.utilization,
                link.utilization_1s
                    .iter()
                    .copied()
                    .fold(f64::INFINITY, f64::min),
                link.drops as f64 / link.arrivals as f64,
                link.drops,
                link.marks,
                link.queue_packets_mean,
                link.queue_packets_std,
                link.queue_packets_max,
                link.delay_mean * 1e3,
                link.delay_percentiles[2] * 1e3,
            );
        }
        let tcp: Vec<_> = outcome
            .flows
            .iter()
            .filter(|flow| flow.cwnd_mean.is_finite())
            .collect();
        let goodput: f64 = tcp.iter().map(|flow| flow.goodput).sum();
        let squares: f64 = tcp.iter().map(|flow| flow.goodput * flow.goodput).sum();
        println!(
            "  goodput {:.3} Mbit/s jain {:.4} cwnd {:.2} timeouts {} recoveries {} starved {}",
            goodput / 1e6,
            goodput * goodput / squares / tcp.len() as f64,
            tcp.iter().map(|flow| flow.cwnd_mean).sum::<f64>() / tcp.len() as f64,
            tcp.iter().map(|flow| flow.timeouts).sum::<u64>(),
            tcp.iter().map(|flow| flow.fast_recoveries).sum::<u64>(),
            tcp.iter()
                .filter(|flow| flow.goodput < 0.1 * goodput / tcp.len() as f64)
                .count(),
        );
        for note in &outcome.notes {
            println!("  note: {note}");
        }
    }
}
