//! The attack by the million: reads scenarios, one line of JSON each, and runs many of each with
//! all numbers drawn anew. `tests/attack/attack_many.py` makes the lines and reads the answers.
//!
//! `attack run|both|digest VARIANTS`: a line is a number, a tab and a scenario; `both` runs each on
//! both paths of the engine with traces, which must give the same bits. For each line come its
//! finds (`!`, what, a tab, the scenario), then how many were answered, refused and given up (`=`).
//! `digest` does what `both` does, and says in a hash of all results of a line (`#`) what two
//! builds of the engine must have in common.
#![allow(clippy::print_stdout, reason = "an example talks to its user")]

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{BufRead, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use ackclock_packet::{
    Error, FlowSelection, FlowTrace, LinkTrace, Options, Outcome, Simulation, TraceSelection,
    Traces,
};
use ackclock_scenario::{Scenario, parse_json};
use cpu_time::ThreadTime;

/// Larger scenarios are refused.
const MOST_BYTES: u64 = 1 << 27;
/// Runs are given up after so many events, with samples of traces twice as many.
const MOST_EVENTS: u64 = 10_000;
/// Events between two looks at Ctrl-C, at most and at first; half as many after steps that take
/// longer than that (as in `crates/python/src/run.rs`).
const MOST_EVENTS_PER_STEP: u64 = 500;
const FEWEST_EVENTS_PER_STEP: u64 = 5;
const STEP_TIME: Duration = Duration::from_millis(50);
/// Or after so long, as with 100,000 packets in each of thousands of windows.
const PATIENCE: Duration = Duration::from_secs(1);
/// Setting up, a step and the end may take so long; Ctrl-C waits for them.
const LATE: Duration = Duration::from_millis(500);

enum End {
    Answered,
    Refused,
    GivenUp,
    Found(String),
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (both, digests) = match arguments.next().as_deref() {
        Some("run") => (false, false),
        Some("both") => (true, false),
        Some("digest") => (true, true),
        other => panic!("run, both or digest, not {other:?}"),
    };
    let variants: u64 = arguments
        .next()
        .and_then(|text| text.parse().ok())
        .expect("how many variants of each line");
    // panics are finds, told with their scenario
    std::panic::set_hook(Box::new(|_| {}));
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let line = line.expect("a line");
        let (number, text) = line.split_once('\t').expect("a number and a scenario");
        let mut draw = Draw(number.parse().expect("a number"));
        let mut counts = [0_u64; 3];
        let mut digest = DefaultHasher::new();
        for variant in 0..variants {
            let text = if variant == 0 {
                text.to_owned()
            } else {
                redrawn(text, &mut draw)
            };
            match catch_unwind(AssertUnwindSafe(|| attacked(&text, both, &mut digest))) {
                Ok(End::Answered) => counts[0] += 1,
                Ok(End::Refused) => counts[1] += 1,
                Ok(End::GivenUp) => counts[2] += 1,
                Ok(End::Found(what)) => {
                    writeln!(out, "!{}\t{text}", what.replace(['\n', '\t'], " ")).expect("stdout");
                }
                Err(panic) => {
                    let said = panic.downcast_ref::<String>().cloned();
                    let said =
                        said.or_else(|| panic.downcast_ref::<&str>().map(|&text| text.to_owned()));
                    let said = said.unwrap_or_default().replace(['\n', '\t'], " ");
                    writeln!(out, "!panics: {said}\t{text}").expect("stdout");
                }
            }
        }
        if digests {
            writeln!(out, "#{:016x}", digest.finish()).expect("stdout");
        }
        let [answered, refused, given_up] = counts;
        writeln!(out, "={answered} {refused} {given_up}").expect("stdout");
        out.flush().expect("stdout");
    }
}

/// `digest` takes in what comes out.
fn attacked(text: &str, both: bool, digest: &mut DefaultHasher) -> End {
    let Ok(scenario) = parse_json(text, "attack") else {
        return End::Refused;
    };
    let mut options = Options::default();
    if Simulation::memory_estimate(&scenario, &options) > MOST_BYTES {
        return End::Refused;
    }
    if both {
        options.traces = TraceSelection {
            links: true,
            flows: FlowSelection::All,
            ..TraceSelection::default()
        };
        if Simulation::memory_estimate(&scenario, &options) > 1 << 22 {
            options.traces = TraceSelection::default();
        }
    }
    let fast = match run(&scenario, &options) {
        Ok(outcome) => outcome,
        Err(end) => return end,
    };
    if let Some(wrong) = impossible(&fast) {
        return End::Found(wrong);
    }
    if !both {
        return End::Answered;
    }
    options.general = true;
    match run(&scenario, &options) {
        Ok(general) => {
            (described(&general), bits(&general.traces)).hash(digest);
            difference(&fast, &general).map_or(End::Answered, End::Found)
        }
        Err(end) => end,
    }
}

/// A run to its end, in steps none of which takes long.
fn run(scenario: &Scenario, options: &Options) -> Result<Outcome, End> {
    let late = |what: &str, begin: ThreadTime| {
        let spent = begin.elapsed();
        (spent > LATE).then(|| End::Found(format!("{what} took {:.1} s", spent.as_secs_f64())))
    };
    let begin = ThreadTime::now();
    // what the engine cannot do it says in words
    let mut simulation = Simulation::new(scenario, options).map_err(|_| End::Refused)?;
    if let Some(end) = late("setting up", begin) {
        return Err(end);
    }
    let most = MOST_EVENTS * (1 + u64::from(options.traces.links));
    let whole = ThreadTime::now();
    let (mut events, mut step) = (0, FEWEST_EVENTS_PER_STEP);
    loop {
        let begin = ThreadTime::now();
        let progress = simulation.step(step);
        events += step;
        if let Some(end) = late("a step", begin) {
            return Err(end);
        }
        step = if begin.elapsed() > STEP_TIME {
            (step / 2).max(FEWEST_EVENTS_PER_STEP)
        } else {
            (step * 2).min(MOST_EVENTS_PER_STEP)
        };
        match progress {
            Ok(progress) if progress.done => break,
            Ok(_) if events > most && !options.general => return Err(End::GivenUp),
            Ok(_) if whole.elapsed() > PATIENCE => return Err(End::GivenUp),
            Ok(_) => {}
            // it takes longer than a time can hold
            Err(Error::Unsupported(_)) => return Err(End::Refused),
            Err(error) => return Err(End::Found(error.to_string())),
        }
    }
    let begin = ThreadTime::now();
    let outcome = simulation.finish();
    late("the end", begin).map_or_else(
        || outcome.map_err(|error| End::Found(error.to_string())),
        Err,
    )
}

/// A measurement that no run can have, if there is one.
fn impossible(outcome: &Outcome) -> Option<String> {
    // NaN is what was not measured
    let wrong = |number: f64| number < 0.0 || number.is_infinite();
    let measured = outcome.window.1 > outcome.window.0;
    for link in &outcome.links {
        let numbers = [
            link.queue_packets_mean,
            link.queue_packets_std,
            link.queue_bytes_mean,
            link.queue_bytes_std,
            link.delay_mean,
            link.delay_max,
        ];
        if numbers.into_iter().any(wrong)
            || (measured && !(0.0..=1.0 + 1e-9).contains(&link.utilization))
            || link.queue_packets_mean > f64::from(link.queue_packets_max) + 1e-6
            || link.delay_mean > link.delay_max * (1.0 + 1e-6)
            || !link.ledger.balances()
        {
            return Some(format!("impossible: {link:?}"));
        }
    }
    for flow in &outcome.flows {
        let numbers = [
            flow.goodput,
            flow.cwnd_mean,
            flow.rtt_mean,
            flow.completion,
            flow.start,
        ];
        if numbers.into_iter().any(wrong) || !flow.ledger.balances() {
            return Some(format!("impossible: {flow:?}"));
        }
    }
    for class in &outcome.classes {
        let numbers = [
            class.delay_mean,
            class.delay_min,
            class.delay_max,
            class.jitter,
        ];
        if numbers.into_iter().any(wrong) || class.measured > class.received {
            return Some(format!("impossible: {class:?}"));
        }
    }
    None
}

/// All but the traces and the number of events, which tells the paths apart.
fn described(outcome: &Outcome) -> [String; 6] {
    [
        format!("{:?} {:?}", outcome.window, outcome.end),
        format!("{:?}", outcome.links),
        format!("{:?}", outcome.classes),
        format!("{:?}", outcome.flows),
        format!("{:?}", outcome.transfers),
        format!("{:?} {}", outcome.notes, outcome.departures),
    ]
}

/// Where two outcomes differ in a bit.
fn difference(fast: &Outcome, general: &Outcome) -> Option<String> {
    for (a, b) in described(fast).into_iter().zip(described(general)) {
        if a != b {
            return Some(format!("differs: {a} and {b}"));
        }
    }
    (bits(&fast.traces) != bits(&general.traces)).then(|| "traces differ".to_owned())
}

/// All samples, as whole numbers of the same bits.
fn bits(traces: &Traces) -> Vec<Vec<u64>> {
    let floats = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect();
    let mut samples: Vec<Vec<u64>> = vec![floats(&traces.time)];
    for link in &traces.links {
        let LinkTrace {
            link: _,
            queue_packets,
            queue_bytes,
            average_packets,
            probability,
            utilization,
            drops,
            marks,
        } = link;
        samples.push(queue_packets.iter().map(|&value| value.into()).collect());
        samples.extend([queue_bytes, drops, marks].map(Clone::clone));
        samples.extend([average_packets, probability, utilization].map(|values| floats(values)));
    }
    for flow in &traces.flows {
        let FlowTrace {
            flow: _,
            cwnd,
            ssthresh,
            srtt,
            delivered,
        } = flow;
        samples.push(delivered.clone());
        samples.extend([cwnd, ssthresh, srtt].map(|values| floats(values)));
    }
    samples
}

/// SplitMix64.
struct Draw(u64);

impl Draw {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Between zero and one.
    fn share(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A number in place of another, whole if that is: mostly up to four times as large or small.
    fn number(&mut self, text: &str) -> String {
        let Ok(before) = text.parse::<f64>() else {
            return text.to_owned();
        };
        let now = match self.share() {
            ..0.3 => before,
            ..0.98 => before * 4_f64.powf(2.0 * self.share() - 1.0),
            ..0.985 => 0.0,
            ..0.99 => 1.0,
            ..0.995 => before * 1e3,
            _ => before / 1e3,
        };
        if text.contains(['.', 'e', 'E']) {
            now.to_string()
        } else {
            now.round().to_string()
        }
    }
}

/// The scenario with its numbers drawn anew; keys, names and choices stay.
fn redrawn(text: &str, draw: &mut Draw) -> String {
    let mut out = String::with_capacity(text.len() + 64);
    let mut rest = text;
    while !rest.is_empty() {
        // a string with its quotes, or what stands before the next one
        let string = rest.starts_with('"');
        let end = rest[usize::from(string)..]
            .find('"')
            .map_or(rest.len(), |place| place + 2 * usize::from(string));
        let (part, after) = rest.split_at(end);
        let quantity = ["\"uniform ", "\"exponential "]
            .iter()
            .any(|word| part.starts_with(word))
            || part.as_bytes().get(1).is_some_and(u8::is_ascii_digit);
        if !string || (quantity && !after.trim_start().starts_with(':')) {
            numbers(part, draw, &mut out);
        } else {
            out.push_str(part);
        }
        rest = after;
    }
    out
}

/// Copies a text with its numbers drawn anew.
fn numbers(text: &str, draw: &mut Draw, out: &mut String) {
    let mut rest = text;
    while let Some(begin) = rest.find(|letter: char| letter.is_ascii_digit()) {
        out.push_str(&rest[..begin]);
        let word = &rest[begin..];
        let mut end = 0;
        for (place, letter) in word.char_indices() {
            let exponent = place > 0 && matches!(word.as_bytes()[place - 1], b'e' | b'E');
            // "1 s .. 2 s" has dots of its own
            let point =
                letter == '.' && word[place + 1..].starts_with(|c: char| c.is_ascii_digit());
            let digit = letter.is_ascii_digit() || point || (exponent && "+-".contains(letter));
            if !(digit || (matches!(letter, 'e' | 'E') && place > 0)) {
                break;
            }
            end = place + 1;
        }
        out.push_str(&draw.number(&word[..end]));
        rest = &word[end..];
    }
    out.push_str(rest);
}
