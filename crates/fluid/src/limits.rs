//! How far a parameter may move before the verdict changes, and what follows beyond.

use ackclock_delay::{Criticality, HopfPoint, count_right_of, rightmost_roots};

use crate::{
    continuation::{Branch, Change, SpecialPoint},
    cycles::{BranchCycle, CycleOptions},
    equilibrium::Equilibrium,
    error::Result,
    large_signal::LargeSignal,
    model::Model,
};

/// Steps in which a range is gone through.
const STEPS_OF_A_RANGE: usize = 120;
/// How far beyond a limit the clamped equations are run, relative to the limit.
const BEYOND_LIMIT: f64 = 0.05;
/// How far beyond a limit cycles are followed, relative to the way to it.
const CYCLES_BEYOND: f64 = 0.2;
/// The most cycles of a branch that is followed back from a limit, and their error.
const MAX_CYCLES: usize = 40;
const CYCLE_TOLERANCE: f64 = 1e-9;
/// A cycle is at the limit itself where its parameter is nearer to it than this, relative to it.
const AT_LIMIT: f64 = 1e-4;
/// A branch reaches a value that its last cycle meets to this, relative to it.
const MET_TOLERANCE: f64 = 1e-6;

/// Event at which a parameter is stopped.
#[derive(Clone, Debug, PartialEq)]
pub enum LimitKind {
    /// The verdict changes at this point.
    Change(Box<SpecialPoint>),
    /// The verdict does not change: the equilibrium or the equations end before it does, why, in
    /// words.
    End(String),
    /// It does not change up to the end of the range.
    None,
}

/// Where a parameter changes the verdict, or why it does not, in one direction.
#[derive(Clone, Debug)]
pub struct Limit {
    /// The parameter at the limit, or as far as it went.
    pub value: f64,
    /// Kind of the limit.
    pub kind: LimitKind,
    /// Unstable roots at the start; `None` with one on the axis.
    pub unstable: Option<usize>,
    /// Up to this value the verdict beyond the limit holds; NaN without a limit.
    pub holds_to: f64,
    /// How oscillations set in at a Hopf point, for amplitudes of [`Model::observed_state`].
    pub onset: Option<Criticality>,
    /// A value beyond the limit at which the verdict after it still holds; NaN without a limit.
    pub beyond_at: f64,
}

impl Branch {
    /// The first point at which the verdict changes, and up to where the verdict after it holds.
    #[must_use]
    pub fn change(&self) -> Option<(&SpecialPoint, f64)> {
        let stable = self.points.first()?.unstable == Some(0);
        let mut special = self.special.iter();
        let differs = |special_point: &SpecialPoint| (special_point.after == Some(0)) != stable;
        let first = special.find(|special_point| {
            differs(special_point) && special_point.before != special_point.after
        })?;
        let back = special.find(|special_point| !differs(special_point));
        Some((
            first,
            back.map_or(self.end, |special_point| special_point.value),
        ))
    }
}

impl Model {
    /// How far parameter `free` may move from its value at `at` towards `end` before the verdict
    /// changes.
    ///
    /// # Errors
    /// [`crate::Error::Analysis`].
    pub fn limit(&self, at: &Equilibrium, free: usize, end: f64) -> Result<Limit> {
        let now = self.lengthened(&at.p)[free];
        let branch = self.branch(at, free, end, STEPS_OF_A_RANGE, false)?;
        let mut limit = Limit {
            value: branch.end,
            kind: LimitKind::None,
            unstable: branch.points[0].unstable,
            holds_to: f64::NAN,
            onset: None,
            beyond_at: f64::NAN,
        };
        if limit.unstable.is_none() {
            let why = "a characteristic root lies on the axis whatever the parameter";
            limit.kind = LimitKind::End(why.to_owned());
            return Ok(limit);
        }
        let Some((change, holds_to)) = branch.change() else {
            if let Some(why) = branch.ended {
                limit.kind = LimitKind::End(why);
            }
            return Ok(limit);
        };
        limit.value = change.value;
        limit.holds_to = holds_to;
        limit.kind = LimitKind::Change(Box::new(change.clone()));
        // the cycles of a queue that overflows leave its limit, which the equations of that regime
        // do not know
        if let Change::Hopf(point) = &change.change
            && !self.overflows(&change.at.regimes)
        {
            limit.onset = Some(self.onset(&change.at, point, free, self.observed_state())?);
        }
        let step = (BEYOND_LIMIT * limit.value.abs()).min(0.5 * (holds_to - limit.value).abs());
        limit.beyond_at = limit.value + if end > now { step } else { -step };
        Ok(limit)
    }

    /// Returns what the clamped equations do from empty queues where parameter `free` has a value,
    /// in at most `steps` steps a run.
    ///
    /// # Errors
    /// [`crate::Error::NoEquilibrium`]; [`crate::Error::Analysis`], also with a root on the axis.
    pub fn beyond(
        &self,
        free: usize,
        value: f64,
        steps: usize,
    ) -> Result<(Equilibrium, LargeSignal)> {
        let mut there = self.clone();
        there.set(free, value);
        let at = there.equilibria()?.swap_remove(0);
        let linear = there.linearised(&at);
        let root = rightmost_roots(&linear, 1)?.roots[0];
        let unstable = count_right_of(&linear, 0.0)?;
        let response = there.run_from_far(&at, (root, Some(unstable)), None, steps)?;
        Ok((at, response))
    }

    /// Cycles on the stable side of a Hopf point in the laws of `regime`, as far as they are followed: a sudden onset's own,
    /// or some behind a fold. The unstable one at the parameter's value `now`, where a disturbance
    /// as large tips the queue, and the value from which on any coexist with the stable equilibrium.
    ///
    /// # Errors
    /// As [`Model::cycles_from`].
    pub fn coexisting(
        &self,
        regime: &Equilibrium,
        point: &HopfPoint,
        free: usize,
        now: f64,
    ) -> Result<(Option<BranchCycle>, Option<f64>)> {
        let value = self.lengthened(&point.p)[free];
        let far = value + CYCLES_BEYOND * (value - now);
        if now == far {
            return Ok((None, None));
        }
        let options = CycleOptions {
            free,
            range: (now.min(far), now.max(far)),
            component: self.observed_state(),
            points: MAX_CYCLES,
            tolerance: CYCLE_TOLERANCE,
        };
        let mut cycles = self.cycles_from(regime, point, &options)?.cycles;
        let near =
            |a: f64, b: f64, tolerance: f64| (a - b).abs() <= tolerance * a.abs().max(b.abs());
        let inside = cycles
            .iter()
            .map(|branch_cycle| branch_cycle.cycle.p[free])
            .filter(|place| {
                (place - value) * (now - value) > 0.0 && !near(*place, value, AT_LIMIT)
            });
        let from = if value > now {
            inside.reduce(f64::min)
        } else {
            inside.reduce(f64::max)
        };
        let last = cycles.pop();
        Ok((
            last.filter(|branch_cycle| near(branch_cycle.cycle.p[free], now, MET_TOLERANCE)),
            from,
        ))
    }
}
