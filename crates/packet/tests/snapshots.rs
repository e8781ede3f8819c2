//! Small networks as tables that a reader can check by eye: a change of behaviour shows as a
//! changed line.

use std::fmt::Write as _;

use crate::common::outcome;
use ackclock_packet::Outcome;

const QUEUES: [(&str, &str); 5] = [
    ("drop-tail", "{ capacity = \"40 packets\" }"),
    (
        "threshold",
        "{ aqm = \"threshold\", capacity = \"200 packets\", threshold = \"20 packets\" }",
    ),
    (
        "red",
        "{ aqm = \"red\", capacity = \"200 packets\", min_threshold = \"10 packets\", max_threshold = \"30 packets\", mode = \"packets\" }",
    ),
    (
        "adaptive-red",
        "{ aqm = \"adaptive-red\", capacity = \"200 packets\", min_threshold = \"10 packets\", max_threshold = \"30 packets\", mode = \"packets\" }",
    ),
    (
        "pi",
        "{ aqm = \"pi\", capacity = \"200 packets\", reference = \"20 packets\" }",
    ),
];

fn network(queue: &str, flows: &str) -> Outcome {
    outcome(&format!(
        "[scenario]\nname = \"small\"\nduration = \"60 s\"\nmeasure = \"20 s .. 60 s\"\n\
         [[link]]\nname = \"link\"\nrate = \"10 Mbit/s\"\ndelay = \"10 ms\"\nqueue = {queue}\n\
         [[flows]]\npath = [\"link\"]\nrtt = \"40 ms\"\nstart = \"uniform 0 s .. 1 s\"\n{flows}\n"
    ))
}

fn header() -> String {
    format!(
        "{:<34} {:>8} {:>8} {:>8} {:>7} {:>7} {:>7} {:>6} {:>6}\n",
        "", "Mbit/s", "least", "most", "Jain", "queue", "drops", "marks", "RTOs"
    )
}

fn row(table: &mut String, name: &str, outcome: &Outcome) {
    let goodputs: Vec<f64> = outcome
        .flows
        .iter()
        .map(|flow| flow.goodput / 1e6)
        .collect();
    let sum: f64 = goodputs.iter().sum();
    let squares: f64 = goodputs.iter().map(|goodput| goodput * goodput).sum();
    let link = &outcome.links[0];
    writeln!(
        table,
        "{name:<34} {sum:>8.2} {:>8.2} {:>8.2} {:>7.3} {:>7.1} {:>7} {:>6} {:>6}",
        goodputs.iter().copied().fold(f64::INFINITY, f64::min),
        goodputs.iter().copied().fold(0.0, f64::max),
        sum * sum / squares / goodputs.len() as f64,
        link.queue_packets_mean,
        link.drops,
        link.marks,
        outcome.flows.iter().map(|flow| flow.timeouts).sum::<u64>(),
    )
    .expect("writing to a string");
}

#[test]
fn senders_and_queues() {
    let mut table = header();
    for (name, queue) in QUEUES {
        for congestion in ["reno", "cubic", "compound"] {
            for count in [1, 8] {
                let outcome = network(
                    queue,
                    &format!("count = {count}\ncongestion = \"{congestion}\""),
                );
                row(
                    &mut table,
                    &format!("{name}, {count} {congestion}"),
                    &outcome,
                );
            }
        }
    }
    insta::assert_snapshot!(table);
}

#[test]
fn repairs() {
    let mut table = header();
    for recovery in ["sack", "newreno", "reno", "tahoe"] {
        row(
            &mut table,
            recovery,
            &network(
                QUEUES[0].1,
                &format!("count = 8\ncongestion = \"reno\"\nrecovery = \"{recovery}\""),
            ),
        );
    }
    for options in [
        "delayed_ack = false",
        "limited_transmit = false",
        "reduction = \"rate-halving\"",
        "reduction = \"prr\"",
        "detect_lost_retransmissions = true",
        "initial_window = \"2 packets\"",
        "min_rto = \"1 s\"",
        "max_window = \"8 packets\"",
    ] {
        row(
            &mut table,
            options,
            &network(
                QUEUES[0].1,
                &format!("count = 8\ncongestion = \"reno\"\n{options}"),
            ),
        );
    }
    insta::assert_snapshot!(table);
}

#[test]
fn marking() {
    let mut table = header();
    let queues = [
        "{ aqm = \"red\", capacity = \"200 packets\", min_threshold = \"10 packets\", max_threshold = \"30 packets\", mode = \"packets\", ecn = true }",
        "{ aqm = \"pi\", capacity = \"200 packets\", reference = \"20 packets\", ecn = true }",
        "{ aqm = \"threshold\", capacity = \"200 packets\", threshold = \"20 packets\", ecn = true }",
    ];
    for (name, queue) in ["red", "pi", "threshold"].iter().zip(queues) {
        for ecn in [true, false] {
            let outcome = network(
                queue,
                &format!("count = 8\ncongestion = \"reno\"\necn = {ecn}"),
            );
            row(&mut table, &format!("{name}, flows' ecn = {ecn}"), &outcome);
        }
    }
    insta::assert_snapshot!(table);
}
