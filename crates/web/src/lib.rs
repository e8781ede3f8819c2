//! The engines for WebAssembly: a page asks in JSON and gets JSON. Conversions only, no mathematics.
//!
//! [`Laboratory::answer`] takes a question and returns an answer, natively and in a browser alike, so
//! that a test can hold the two beside each other. Runs go on in steps between which a page can show
//! how far they are, or drop them.

mod abi;
mod catalogue;
mod equations;
mod field;
mod json;
mod packets;
mod question;

use ackclock_scenario::{Diagnostic, Scenario};
use json::{Json, list, object};
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

type Answer = Result<Json, Refusal>;

impl Laboratory {
    /// Answers a question: `{"ok": ...}`, or `{"error": {"kind", "message", "diagnostics"}}`.
    pub fn answer(&mut self, question: &str) -> String {
        let answer = Question::read(question).and_then(|question| self.reply(&question));
        let (kind, message, diagnostics) = match answer {
            Ok(value) => return object! { "ok": value }.0,
            Err(Refusal::Diagnostics(all)) => {
                let message: Vec<String> = all.iter().map(ToString::to_string).collect();
                ("scenario", message.join("\n"), list(&all, diagnostic))
            }
            Err(Refusal::Engine { message, kind }) => (kind, message, Json::array([])),
        };
        let error = object! { "kind": kind, "message": message, "diagnostics": diagnostics };
        object! { "error": error }.0
    }

    fn reply(&mut self, question: &Question) -> Answer {
        match question.text("ask")? {
            "catalogue" => Ok(catalogue::catalogue()),
            "check" => check(question.text("text")?),
            "run" => {
                self.packets = None; // its memory goes first
                let (run, answer) = packets::Run::new(question)?;
                self.packets = Some(run);
                Ok(answer)
            }
            "advance" => self
                .packets
                .as_mut()
                .ok_or_else(idle)?
                .advance(question.whole("events")?),
            "outcome" => {
                let points = question.size("points")?;
                self.packets.take().ok_or_else(idle)?.outcome(points)
            }
            "field" => {
                self.field = None;
                let (run, answer) = field::Run::new(question)?;
                self.field = Some(run);
                Ok(answer)
            }
            "field_advance" => self
                .field
                .as_mut()
                .ok_or_else(idle)?
                .advance(question.whole_32("steps")?),
            "field_outcome" => self.field.take().ok_or_else(idle)?.outcome(),
            "stability" => equations::stability(question),
            "trajectory" => equations::trajectory(question),
            "limit" => equations::limit(question),
            "cycles" => equations::cycles(question),
            "chart" => equations::chart(question),
            other => Err(Refusal::engine(
                "question",
                format_args!("`{other}` is not asked here"),
            )),
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
    Ok(object! {
        "name": scenario.name,
        "duration": packets::duration(&scenario),
        "seed": scenario.seed,
        "given": given,
        "tree": ackclock_scenario::to_json(&scenario),
    })
}

fn diagnostic(of: &Diagnostic) -> Json {
    let (line, column) = of.position.unzip();
    object! {
        "line": line, "column": column, "key": of.key, "problem": of.problem, "found": of.found,
        "suggestion": of.suggestion, "allowed": of.allowed, "text": of.to_string(),
    }
}
