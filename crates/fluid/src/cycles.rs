//! The cycles that grow from a Hopf point.

use ackclock_delay::{
    Cycle, HopfPoint, Resolution, cycle_at, cycle_from_hopf, cycle_with_amplitude,
};

use crate::{equilibrium::Equilibrium, error::Result, model::Model, validity::Outside};

/// Factor between the amplitudes of neighbours on a branch, at first and at least.
const AMPLITUDE_FACTOR: f64 = 1.3;
const LEAST_GROWTH: f64 = 1.01;
/// Amplitude of the first cycle, relative to the state whose amplitude counts.
const FIRST_AMPLITUDE: f64 = 0.02;
/// Bisections for the largest cycle within the laws.
const MAX_BISECTIONS: usize = 10;

/// A branch of cycles.
#[derive(Clone, Debug)]
pub struct CycleBranch {
    /// The cycles, from the Hopf point on.
    pub cycles: Vec<BranchCycle>,
    /// Why it ends.
    pub end: CycleEnd,
}

/// A cycle of a branch.
#[derive(Clone, Debug)]
pub struct BranchCycle {
    /// The cycle.
    pub cycle: Cycle,
    /// Whether a fold of cycles lies between the one before and this one.
    pub after_fold: bool,
    /// Where it leaves what the laws hold for, beyond what its equilibrium does.
    pub left: Vec<Outside>,
}

/// Why a branch of cycles ends.
#[derive(Clone, Debug, PartialEq)]
pub enum CycleEnd {
    /// The parameter reached this end of its range.
    Range(f64),
    /// As many cycles as asked for.
    Points,
    /// A cycle leaves the regimes of the laws: why, in words.
    Boundary(String),
    /// The next cycle could not be computed: why, in words.
    Failed(String),
}

/// Options of a branch of cycles: what it varies, and how far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CycleOptions {
    /// Index of the parameter.
    pub free: usize,
    /// Its range.
    pub range: (f64, f64),
    /// The state whose amplitude grows along the branch.
    pub component: usize,
    /// The most cycles.
    pub points: usize,
    /// Wanted error of a cycle, relative to the size of each state.
    pub tolerance: f64,
}

/// The first cycle and its growth, with what both need.
struct Growing<'a> {
    model: &'a Model,
    frozen: Model,
    at: &'a Equilibrium,
    options: &'a CycleOptions,
    resolution: Resolution,
}

impl Model {
    /// The branch of cycles from a Hopf point in the regimes of `at`, by amplitude, up to where a
    /// cycle leaves them.
    ///
    /// # Errors
    /// [`crate::Error::Analysis`] when it cannot begin.
    pub fn cycles_from(
        &self,
        at: &Equilibrium,
        point: &HopfPoint,
        options: &CycleOptions,
    ) -> Result<CycleBranch> {
        let growing = Growing {
            model: self,
            frozen: self.frozen(&at.regimes),
            at,
            options,
            resolution: Resolution {
                tolerance: options.tolerance,
                ..Resolution::default()
            },
        };
        let point = HopfPoint {
            p: self.lengthened(&point.p),
            ..point.clone()
        };
        growing.branch(&point)
    }

    /// Where a cycle leaves what the laws in the regimes of `at` hold for, beyond what that
    /// equilibrium does already.
    #[must_use]
    pub fn newly_left(&self, at: &Equilibrium, cycle: &Cycle) -> Vec<Outside> {
        let known = self.outside(&at.regimes, &at.x, &self.lengthened(&at.p));
        let mut left = self.leaves_validity(at, cycle);
        left.retain(|passed| !known.contains(passed));
        left
    }
}

impl Growing<'_> {
    fn branch(&self, point: &HopfPoint) -> Result<CycleBranch> {
        let CycleOptions {
            free,
            range: (low, high),
            component,
            points,
            ..
        } = *self.options;
        let size = match point.x[component].abs() {
            0.0 => 1.0,
            size => size,
        };
        let first = FIRST_AMPLITUDE * size;
        let mut cycles = vec![cycle_from_hopf(
            &self.frozen,
            point,
            free,
            component,
            first,
            &self.resolution,
        )?];
        let (mut factor, mut end) = (AMPLITUDE_FACTOR, CycleEnd::Points);
        while cycles.len() < points {
            let last = &cycles[cycles.len() - 1];
            let amplitude = last.amplitude(component);
            let cycle = match self.with_amplitude(factor * amplitude, last) {
                Ok(cycle) => cycle,
                Err(error) => {
                    factor = factor.sqrt();
                    if factor < LEAST_GROWTH {
                        end = CycleEnd::Failed(error.to_string());
                        break;
                    }
                    continue;
                }
            };
            let value = cycle.p[free];
            if !(low..=high).contains(&value) {
                let mut there = last.p.clone();
                there[free] = value.clamp(low, high);
                end = CycleEnd::Range(there[free]);
                let onto = cycle_at(&self.frozen, last, &there, &self.resolution);
                cycles.push(onto.unwrap_or(cycle));
                break;
            }
            if let Some(why) = self.forbids(&cycle) {
                end = CycleEnd::Boundary(why);
                let largest = self.up_to_boundary(last, (amplitude, factor * amplitude));
                cycles.extend(largest);
                break;
            }
            cycles.push(cycle);
        }
        let mut way = 0.0;
        let mut before = None;
        let cycles = cycles.into_iter().map(|cycle| {
            let value = cycle.p[free];
            let step = before.replace(value).map_or(0.0, |last| value - last);
            let after_fold = step * way < 0.0;
            if step != 0.0 {
                way = step;
            }
            BranchCycle {
                left: self.model.newly_left(self.at, &cycle),
                cycle,
                after_fold,
            }
        });
        Ok(CycleBranch {
            cycles: cycles.collect(),
            end,
        })
    }

    fn with_amplitude(&self, amplitude: f64, near: &Cycle) -> ackclock_delay::Result<Cycle> {
        let CycleOptions {
            free, component, ..
        } = *self.options;
        cycle_with_amplitude(
            &self.frozen,
            near,
            free,
            component,
            amplitude,
            &self.resolution,
        )
    }

    /// Why a branch may not go on to a cycle.
    fn forbids(&self, cycle: &Cycle) -> Option<String> {
        let left = self.model.newly_left(self.at, cycle);
        let reasons: Vec<String> = left
            .iter()
            .filter(|passed| !passed.by_choice())
            .map(ToString::to_string)
            .collect();
        (!reasons.is_empty()).then(|| reasons.join("; "))
    }

    /// The largest cycle that its laws hold for, by bisection between a good and a bad amplitude,
    /// if any.
    fn up_to_boundary(&self, near: &Cycle, (mut good, mut bad): (f64, f64)) -> Option<Cycle> {
        let mut largest: Option<Cycle> = None;
        for _ in 0..MAX_BISECTIONS {
            let middle = 0.5 * (good + bad);
            let cycle = self.with_amplitude(middle, largest.as_ref().unwrap_or(near));
            let Ok(cycle) = cycle else { break };
            if self.forbids(&cycle).is_none() {
                (good, largest) = (middle, Some(cycle));
            } else {
                bad = middle;
            }
        }
        largest
    }
}
