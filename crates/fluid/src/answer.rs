//! The answer to "is it stable?", in a sentence and in numbers.

use std::fmt::Write as _;

use ackclock_delay::{Crossing, c64};

use crate::{
    error::{Error, Result},
    margins::Margins,
    model::Model,
    questions::Equilibrium,
};

/// How oscillations set in at a stability limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Onset {
    /// Small stable oscillations that grow with the distance from the limit (supercritical).
    Gradual,
    /// No small stable oscillation: the system jumps to a large one, and a large enough disturbance
    /// tips it before the limit (subcritical).
    Sudden,
}

/// The value of a parameter where the verdict changes.
#[derive(Clone, Debug, PartialEq)]
pub struct StabilityLimit {
    /// Name of the parameter.
    pub parameter: String,
    /// Its value now.
    pub now: f64,
    /// Its value at the limit.
    pub limit: f64,
    /// Frequency of the oscillation that sets in there, rad/s.
    pub frequency: f64,
    /// How it sets in.
    pub onset: Onset,
    /// First-harmonic amplitude of the first class's window, packets, of the small cycle at a
    /// distance of one per cent of the limit, from the normal form: a stable one beyond the limit
    /// for a gradual onset, for a sudden one an unstable one before it: the disturbance that tips.
    pub amplitude_at_one_percent: f64,
}

/// Whether a scenario's equilibrium is stable, and how far that goes.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// In words.
    pub sentence: String,
    /// The equilibrium.
    pub equilibrium: Equilibrium,
    /// Whether it is stable.
    pub stable: bool,
    /// The rightmost characteristic root, 1/s.
    pub rightmost: c64,
    /// Margins, where there is one loop.
    pub margins: Option<Margins>,
    /// The nearest limits on either side, for each parameter asked about.
    pub limits: Vec<StabilityLimit>,
    /// What could not be told, and why.
    pub caveats: Vec<String>,
}

impl Model {
    /// Is the equilibrium stable, and how far may each of `parameters` move (between a thirtieth
    /// and thirty times its value) before that changes?
    ///
    /// # Errors
    /// As [`Model::equilibrium`] and [`Model::roots`]. What fails later is a caveat of the answer.
    pub fn answer(&mut self, parameters: &[&str]) -> Result<Answer> {
        let at = self.equilibrium()?;
        let rightmost =
            self.roots(&at, 1)?
                .roots
                .first()
                .copied()
                .ok_or_else(|| Error::NoEquilibrium {
                    why: "no characteristic root".to_owned(),
                })?;
        let stable = rightmost.re < 0.0;
        let mut answer = Answer {
            sentence: String::new(),
            margins: self.margins(&at).ok(),
            equilibrium: at,
            stable,
            rightmost,
            limits: Vec::new(),
            caveats: self.notes().to_vec(),
        };
        let at = &answer.equilibrium;
        let passed = self.outside(&at.regimes, &at.x, &at.p);
        answer
            .caveats
            .extend(passed.iter().map(|o| format!("at the equilibrium {o}")));
        for name in parameters {
            for up in [true, false] {
                if let Err(e) = self.limit(&mut answer, name, up) {
                    answer.caveats.push(format!(
                        "{name} {}: {e}",
                        if up { "upwards" } else { "downwards" }
                    ));
                }
            }
        }
        answer.sentence = sentence(&answer);
        Ok(answer)
    }

    fn limit(&mut self, answer: &mut Answer, name: &str, up: bool) -> Result<()> {
        let index = self.parameter(name)?;
        let now = self.parameters()[index];
        let end = if up { 30.0 * now } else { now / 30.0 };
        let at = answer.equilibrium.clone();
        let search = self.stability_limits(&at, name, now, end, 60)?;
        // only as far as the laws hold in the regimes of the equilibrium
        let Some(Crossing::Hopf(hopf)) = search.crossings.first() else {
            if let Some((value, e)) = search.stopped {
                answer
                    .caveats
                    .push(format!("{name}: the search stopped at {value}: {e}"));
            }
            return Ok(());
        };
        if !self.sensible(&hopf.x, &hopf.p) || self.regimes_at(&hopf.x, &hopf.p) != at.regimes {
            return Err(Error::OutsideValidity {
                why: format!(
                    "at {} an AQM has left the regime of its law, or a probability its range",
                    hopf.p[index]
                ),
            });
        }
        let nf = self.criticality(&at, hopf, name)?;
        let limit = hopf.p[index];
        answer.limits.push(StabilityLimit {
            parameter: (*name).to_owned(),
            now,
            limit,
            frequency: hopf.omega,
            onset: if nf.is_supercritical() {
                Onset::Gradual
            } else {
                Onset::Sudden
            },
            amplitude_at_one_percent: 2.0 * (0.01 * limit / nf.mu2.abs()).sqrt(),
        });
        Ok(())
    }
}

fn sentence(answer: &Answer) -> String {
    let mut text = if answer.stable {
        "Stable".to_owned()
    } else {
        "Unstable".to_owned()
    };
    if answer.limits.is_empty() {
        text.push('.');
    }
    for limit in &answer.limits {
        let verb = match (answer.stable, limit.limit > limit.now) {
            (true, true) => "may grow",
            (true, false) => "may shrink",
            (false, true) => "must grow",
            (false, false) => "must shrink",
        };
        let consequence = if answer.stable {
            "before the queue oscillates"
        } else {
            "for the queue to settle"
        };
        let onset = match limit.onset {
            Onset::Gradual => "onset gradual",
            Onset::Sudden => "onset sudden",
        };
        let _ = write!(
            text,
            "; {} {verb} from {:.4} to {:.4} {consequence} at {:.3} Hz, {onset}",
            limit.parameter,
            limit.now,
            limit.limit,
            limit.frequency / std::f64::consts::TAU
        );
    }
    if answer.stable && answer.limits.iter().any(|l| l.onset == Onset::Sudden) {
        text.push_str(". Margins alone are not safe here: near a sudden onset a large enough disturbance tips a stable queue into oscillation");
    }
    if !text.ends_with('.') {
        text.push('.');
    }
    text
}
