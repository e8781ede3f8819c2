//! What a plot needs, as plain arrays: frequency responses, bifurcation diagrams, branches of
//! cycles.

use ackclock_delay::{
    Criticality, Crossing, Curve, Cycle, CyclePoint, End, Follow, HopfPoint, Resolution, branch,
    c64, cycle_at, cycle_branch, cycle_from_hopf, floquet,
};

use crate::{
    answer::Onset, error::Result, margins::Loop, model::Model, questions::Equilibrium,
    validity::Outside,
};

/// A loop's response to oscillations: a Bode plot is gain and phase against frequency, a Nyquist
/// plot the response in the complex plane.
#[derive(Clone, Debug, PartialEq)]
pub struct FrequencyResponse {
    /// Frequencies, rad/s.
    pub frequency: Vec<f64>,
    /// L(i omega).
    pub response: Vec<c64>,
    /// |L|, dB.
    pub gain: Vec<f64>,
    /// Phase of L, degrees, continuous from the lowest frequency on, where it lies between -180 and
    /// 180.
    pub phase: Vec<f64>,
}

/// The response of a loop at `samples` frequencies from `low` to `high` (rad/s), evenly spaced on a
/// logarithmic scale.
#[must_use]
pub fn frequency_response(
    open: &dyn Loop,
    low: f64,
    high: f64,
    samples: usize,
) -> FrequencyResponse {
    let last = samples.saturating_sub(1).max(1) as f64;
    let frequency: Vec<f64> = (0..samples)
        .map(|k| low * (high / low).powf(k as f64 / last))
        .collect();
    let response: Vec<c64> = frequency
        .iter()
        .map(|w| open.at(c64::new(0.0, *w)))
        .collect();
    let mut before = 0.0;
    let phase = response
        .iter()
        .map(|l| {
            let phase = l.arg().to_degrees();
            before = phase + 360.0 * ((before - phase) / 360.0).round();
            before
        })
        .collect();
    FrequencyResponse {
        gain: response.iter().map(|l| 20.0 * l.norm().log10()).collect(),
        frequency,
        response,
        phase,
    }
}

/// An equilibrium of a diagram.
#[derive(Clone, Debug, PartialEq)]
pub struct DiagramPoint {
    /// The parameter.
    pub parameter: f64,
    /// The state.
    pub x: Vec<f64>,
    /// Number of unstable roots; `None` with one on the axis.
    pub unstable: Option<usize>,
    /// Where it lies outside what the smooth model holds for.
    pub outside: Vec<Outside>,
}

/// A cycle of a diagram.
#[derive(Clone, Debug)]
pub struct CycleSummary {
    /// The parameter.
    pub parameter: f64,
    /// Period, s.
    pub period: f64,
    /// Smallest and largest value of each state.
    pub smallest: Vec<f64>,
    /// See `smallest`.
    pub largest: Vec<f64>,
    /// Whether it attracts; `None` where the multipliers are not accurate enough to tell.
    pub stable: Option<bool>,
    /// Its Floquet multipliers beside the trivial one, by descending modulus.
    pub multipliers: Vec<c64>,
    /// Whether the branch turned around between the last cycle and this one: a fold of cycles.
    pub after_fold: bool,
    /// Where it leaves what the smooth model holds for.
    pub outside: Vec<Outside>,
    /// The cycle itself.
    pub cycle: Cycle,
}

/// The cycles that grow from a Hopf point.
#[derive(Clone, Debug)]
pub struct CycleBranch {
    /// Where they are born.
    pub hopf: HopfPoint,
    /// How.
    pub onset: Onset,
    /// The normal form there.
    pub normal_form: Criticality,
    /// The cycles, from small to large.
    pub cycles: Vec<CycleSummary>,
    /// Why the branch ends.
    pub end: String,
}

/// Equilibria and cycles against a parameter.
#[derive(Clone, Debug)]
pub struct Diagram {
    /// The parameter.
    pub parameter: String,
    /// Names of the states.
    pub states: Vec<String>,
    /// The equilibria, in order along their branch.
    pub equilibria: Vec<DiagramPoint>,
    /// Why the branch of equilibria ends at either side.
    pub ends: [String; 2],
    /// One for each Hopf point in the range.
    pub branches: Vec<CycleBranch>,
    /// What failed on the way.
    pub caveats: Vec<String>,
}

impl Model {
    /// The frequency response of the loop of a model with one queue, from a hundredth of its lower
    /// crossover frequency to thirty times the upper one.
    ///
    /// # Errors
    /// As [`Model::feedback_loop`].
    pub fn frequency_response(
        &self,
        at: &Equilibrium,
        samples: usize,
    ) -> Result<FrequencyResponse> {
        let margins = self.margins(at)?;
        let bound = self.linearised(at).root_bound(0.0);
        let crossovers = [margins.gain_crossover, margins.phase_crossover];
        let low = crossovers
            .iter()
            .filter(|w| w.is_finite())
            .fold(bound, |low, w| w.min(low));
        let high = crossovers
            .iter()
            .filter(|w| w.is_finite())
            .fold(low, |high, w| w.max(high));
        Ok(frequency_response(
            &self.feedback_loop(at)?,
            0.01 * low,
            30.0 * high,
            samples,
        ))
    }

    /// Why a curve stopped, in words.
    #[must_use]
    pub fn explain(&self, end: &End) -> String {
        match end {
            End::Range { parameter, value } => {
                let names = self.parameter_names();
                let name = names.get(*parameter).map_or("a parameter", String::as_str);
                format!("{name} reaches {value:.6}, the end of its range")
            }
            End::Points => "as many points as asked for".to_owned(),
            End::Closed => "the curve is closed".to_owned(),
            End::ZeroFrequency => {
                "the frequency falls to zero (a Bogdanov-Takens point)".to_owned()
            }
            End::ZeroAmplitude => "the cycle shrinks onto an equilibrium (a Hopf point)".to_owned(),
            End::Failed(e) => format!("the next point could not be computed: {e}"),
            _ => "the curve ends".to_owned(),
        }
    }

    /// Equilibria of the smooth model against parameter `name` in `range`, its Hopf points, and the
    /// cycles that grow from each, through folds.
    ///
    /// # Errors
    /// [`crate::Error::Parameter`], [`crate::Error::Analysis`] when the branch of equilibria cannot
    /// begin; later failures are in [`Diagram::caveats`].
    pub fn bifurcation_diagram(
        &mut self,
        at: &Equilibrium,
        name: &str,
        range: (f64, f64),
        options: &Follow,
        resolution: &Resolution,
    ) -> Result<Diagram> {
        let free = self.parameter(name)?;
        let frozen = self.frozen(&at.regimes);
        let mut p = at.p.clone();
        p.extend(&self.parameters()[at.p.len()..]);
        let step = (range.1 / range.0).abs().ln().abs().clamp(0.01, 3.0) / 100.0;
        let follow = Follow {
            points: 400,
            step,
            largest_step: step,
        };
        let steady = branch(&frozen, &at.x, &p, free, range, &follow)?;
        let mut diagram = Diagram {
            parameter: name.to_owned(),
            states: self.state_names().to_vec(),
            ends: [self.explain(&steady.start), self.explain(&steady.end)],
            equilibria: Vec::with_capacity(steady.points.len()),
            branches: Vec::new(),
            caveats: Vec::new(),
        };
        for point in &steady.points {
            diagram.equilibria.push(DiagramPoint {
                parameter: point.p[free],
                x: point.x.clone(),
                unstable: point.unstable,
                outside: self.outside(&at.regimes, &point.x, &point.p),
            });
        }
        let search = self.stability_limits(at, name, range.0, range.1, 60)?;
        if let Some((value, e)) = search.stopped {
            diagram.caveats.push(format!(
                "{name}: the search for Hopf points stopped at {value}: {e}"
            ));
        }
        for crossing in &search.crossings {
            let Crossing::Hopf(hopf) = crossing else {
                continue;
            };
            match self.cycles_from(at, hopf, name, range, options, resolution) {
                Ok(found) => diagram.branches.push(found),
                Err(e) => diagram.caveats.push(format!(
                    "{name} = {}: no cycles from the Hopf point: {e}",
                    hopf.p[free]
                )),
            }
        }
        Ok(diagram)
    }

    /// The branch of cycles that begins at a Hopf point in parameter `name`.
    ///
    /// # Errors
    /// [`crate::Error::Parameter`], [`crate::Error::Analysis`] when it cannot begin.
    pub fn cycles_from(
        &mut self,
        at: &Equilibrium,
        hopf: &HopfPoint,
        name: &str,
        range: (f64, f64),
        options: &Follow,
        resolution: &Resolution,
    ) -> Result<CycleBranch> {
        let free = self.parameter(name)?;
        let frozen = self.frozen(&at.regimes);
        let normal_form = self.criticality(at, hopf, name)?;
        let mut hopf = hopf.clone();
        hopf.p.extend(&self.parameters()[hopf.p.len()..]);
        let small = 0.02 * hopf.x[0].abs();
        let first = cycle_from_hopf(&frozen, &hopf, free, 0, small, resolution)?;
        let curve: Curve<CyclePoint> =
            cycle_branch(&frozen, &first, free, range, options, resolution)?;
        // one way leads back to the Hopf point, the other away from it
        let backwards = matches!(curve.end, End::ZeroAmplitude);
        let end = self.explain(if backwards { &curve.start } else { &curve.end });
        let mut points = curve.points;
        if backwards {
            points.reverse();
        }
        let cycles = points
            .iter()
            .enumerate()
            .map(|(k, point)| CycleSummary {
                // a fold between two cycles belongs to the later one, which the reversed order
                // makes the earlier
                after_fold: k > 0 && points[if backwards { k - 1 } else { k }].after_fold,
                ..self.summary(at, &point.cycle, free)
            })
            .collect();
        Ok(CycleBranch {
            onset: if normal_form.is_supercritical() {
                Onset::Gradual
            } else {
                Onset::Sudden
            },
            hopf,
            normal_form,
            cycles,
            end,
        })
    }

    fn summary(&self, at: &Equilibrium, cycle: &Cycle, free: usize) -> CycleSummary {
        let (smallest, largest) = (0..at.x.len()).map(|i| cycle.range(i)).unzip();
        let set = floquet(&self.frozen(&at.regimes), cycle, 1e-3).ok();
        CycleSummary {
            parameter: cycle.p[free],
            period: cycle.period,
            smallest,
            largest,
            stable: set
                .as_ref()
                .and_then(|s| s.unstable(1e-4).ok())
                .map(|n| n == 0),
            multipliers: set.map_or_else(Vec::new, |s| s.multipliers),
            after_fold: false,
            outside: self.leaves_validity(at, cycle),
            cycle: cycle.clone(),
        }
    }

    /// The cycle of a branch at one value of its parameter `name`: the one nearest in size to the
    /// last cycle before that value, from the Hopf point on.
    ///
    /// # Errors
    /// [`crate::Error::Parameter`], [`crate::Error::Analysis`].
    pub fn cycle_at(
        &mut self,
        at: &Equilibrium,
        branch: &CycleBranch,
        name: &str,
        value: f64,
        resolution: &Resolution,
    ) -> Result<CycleSummary> {
        let free = self.parameter(name)?;
        let frozen = self.frozen(&at.regimes);
        let past = branch
            .cycles
            .windows(2)
            .find(|ends| (ends[0].parameter - value) * (ends[1].parameter - value) <= 0.0);
        // of two neighbours the one whose parameter is nearer
        let near = match (past, branch.cycles.as_slice()) {
            (Some([a, b]), _) if (a.parameter - value).abs() > (b.parameter - value).abs() => b,
            (Some([a, _]), _) | (None, [a, ..]) => a,
            _ => {
                return Err(crate::Error::NoEquilibrium {
                    why: "the branch has no cycles".to_owned(),
                });
            }
        };
        let mut p = near.cycle.p.clone();
        p[free] = value;
        let cycle = cycle_at(&frozen, &near.cycle, &p, resolution)?;
        Ok(self.summary(at, &cycle, free))
    }
}
