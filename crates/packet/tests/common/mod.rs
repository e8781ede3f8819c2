//! Helpers that the integration tests share.
#![allow(dead_code, reason = "the test of memory uses a part of it")]

use ackclock_packet::{Options, Outcome, run};
use ackclock_scenario::Scenario;

/// The scenario in `text`, which must be right.
pub(crate) fn scenario(text: &str) -> Scenario {
    ackclock_scenario::parse(text, "test.toml").unwrap_or_else(|diagnostics| {
        let lines: Vec<String> = diagnostics.iter().map(ToString::to_string).collect();
        panic!("{}\n{text}", lines.join("\n"))
    })
}

/// Its outcome.
pub(crate) fn outcome(text: &str) -> Outcome {
    run(&scenario(text), &Options::default()).expect("the run succeeds")
}

/// Everything measured, as text: equal texts are equal bits. The number of events is left out: it
/// tells the paths of the engine apart.
pub(crate) fn bits(outcome: &Outcome) -> String {
    format!(
        "{:#?}",
        Outcome {
            events: 0,
            ..outcome.clone()
        }
    )
}

/// Where two outcomes differ first, if they do.
pub(crate) fn difference(a: &Outcome, b: &Outcome) -> Option<String> {
    let (a, b) = (bits(a), bits(b));
    let differing = a
        .lines()
        .zip(b.lines())
        .enumerate()
        .find(|(_, (a, b))| a != b);
    differing.map(|(line, (left, right))| {
        let before: Vec<&str> = a.lines().skip(line.saturating_sub(6)).take(6).collect();
        format!("line {line}:\n{}\n< {left}\n> {right}", before.join("\n"))
    })
}
