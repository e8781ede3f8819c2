//! The engines for WebAssembly: a page asks in JSON and gets JSON. Conversions only, no mathematics.
//!
//! [`Laboratory::answer`] takes a question and returns an answer, natively and in a browser alike, so
//! that a test can hold the two beside each other. Runs go on in steps between which a page can show
//! how far they are, or drop them.

mod abi;
mod catalogue;
mod equations;
mod field;
mod packets;
mod question;

use ackclock_scenario::{Diagnostic, Scenario};
use serde_json::{Value, json};

use question::Question;

/// The engines, with the runs that are under way.
#[derive(Default)]
pub struct Laboratory {
    packets: Option<packets::Run>,
    field: Option<field::Run>,
}

/// Why a question has no answer.
enum Refusal {
    /// Mistakes in the scenario.
    Diagnostics(Vec<Diagnostic>),
    /// The engine's own words, and whether the scenario is to blame.
    Engine {
        /// In words.
        message: String,
        /// `unsupported`, `failed`, `no equilibrium`, ...: for the page to act upon.
        kind: &'static str,
    },
}

impl Refusal {
    fn engine(kind: &'static str, message: impl std::fmt::Display) -> Self {
        Self::Engine {
            message: message.to_string(),
            kind,
        }
    }
}

type Answer = Result<Value, Refusal>;

impl Laboratory {
    /// Answers a question: `{"ok": ...}`, or `{"error": {"kind", "message", "diagnostics"}}`.
    pub fn answer(&mut self, question: &str) -> String {
        let answer = serde_json::from_str(question)
            .map_err(|error| Refusal::engine("question", error))
            .and_then(|question| self.reply(question));
        let tree = match answer {
            Ok(value) => json!({ "ok": value }),
            Err(Refusal::Diagnostics(list)) => {
                let message: Vec<String> = list.iter().map(ToString::to_string).collect();
                let list: Vec<Value> = list.iter().map(diagnostic).collect();
                json!({ "error": { "kind": "scenario", "message": message.join("\n"), "diagnostics": list } })
            }
            Err(Refusal::Engine { message, kind }) => {
                json!({ "error": { "kind": kind, "message": message, "diagnostics": [] } })
            }
        };
        tree.to_string()
    }

    fn reply(&mut self, question: Question) -> Answer {
        match question {
            Question::Schema => Ok(ackclock_scenario::json_schema()),
            Question::Catalogue => Ok(catalogue::catalogue()),
            Question::Check { text } => check(&text),
            Question::Toml { json } => toml(&json),
            Question::Run(start) => {
                self.packets = None; // its memory goes first
                let (run, answer) = packets::Run::new(&start)?;
                self.packets = Some(run);
                Ok(answer)
            }
            Question::Advance { events } => match &mut self.packets {
                Some(run) => run.advance(events),
                None => Err(idle()),
            },
            Question::Outcome { points } => match self.packets.take() {
                Some(run) => run.outcome(points),
                None => Err(idle()),
            },
            Question::Field(start) => {
                self.field = None;
                let (run, answer) = field::Run::new(&start)?;
                self.field = Some(run);
                Ok(answer)
            }
            Question::FieldAdvance { steps } => match &mut self.field {
                Some(run) => run.advance(steps),
                None => Err(idle()),
            },
            Question::FieldOutcome => match self.field.take() {
                Some(run) => run.outcome(),
                None => Err(idle()),
            },
            Question::Stability(about) => equations::stability(&about),
            Question::Trajectory(about) => equations::trajectory(&about),
            Question::Limit(about) => equations::limit(&about),
            Question::Cycles(about) => equations::cycles(&about),
            Question::Beyond(about) => equations::beyond(&about),
            Question::Chart(about) => equations::chart(&about),
        }
    }
}

fn idle() -> Refusal {
    Refusal::engine("question", "no run is under way")
}

/// Name that messages give a scenario of the page.
const ORIGIN: &str = "scenario";

fn parsed(text: &str) -> Result<Scenario, Refusal> {
    ackclock_scenario::parse(text, ORIGIN).map_err(Refusal::Diagnostics)
}

/// The keys of a scenario, as given and with every default: JSON in texts, which keep their order.
fn check(text: &str) -> Answer {
    let scenario = parsed(text)?;
    let given = ackclock_scenario::toml_to_json(text, ORIGIN).map_err(Refusal::Diagnostics)?;
    Ok(json!({
        "name": scenario.name,
        "duration": packets::duration(&scenario),
        "seed": scenario.seed,
        "given": given,
        "tree": ackclock_scenario::to_json(&scenario),
    }))
}

/// A scenario in JSON as a scenario file with every default.
fn toml(text: &str) -> Answer {
    let scenario = ackclock_scenario::parse_json(text, ORIGIN).map_err(Refusal::Diagnostics)?;
    Ok(json!(ackclock_scenario::canonical_toml(&scenario)))
}

fn diagnostic(of: &Diagnostic) -> Value {
    let (line, column) = of.position.unzip();
    json!({
        "line": line, "column": column, "key": of.key, "problem": of.problem, "found": of.found,
        "suggestion": of.suggestion, "allowed": of.allowed, "text": of.to_string(),
    })
}
