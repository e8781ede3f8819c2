//! Discontinuities of the solution, which delays carry on.

use super::SMOOTH_ORDER;

/// Where derivatives jump: time, and the order of the derivative.
pub(super) type Break = (f64, usize);

/// The discontinuities passed, and those still ahead, which only constant delays tell beforehand.
pub(super) struct Breaks {
    pub(super) passed: Vec<Break>,
    /// The next one last.
    ahead: Vec<Break>,
    constant: Vec<f64>,
    t0: f64,
    t1: f64,
}

impl Breaks {
    /// From those before the start, and the start itself; `constant` are the delays that do not
    /// change.
    pub(super) fn new(before: &[f64], constant: Vec<f64>, t0: f64, t1: f64) -> Self {
        let earlier = before.iter().filter(|b| **b < t0).map(|b| (*b, 1));
        let mut breaks = Self {
            passed: earlier.chain([(t0, 0)]).collect(),
            ahead: Vec::new(),
            constant,
            t0,
            t1,
        };
        for (time, order) in breaks.passed.clone() {
            breaks.carry_on(time, order);
        }
        breaks
    }

    /// A derivative jumps here, of itself.
    pub(super) fn add(&mut self, time: f64) {
        self.passed.push((time, 0));
        self.carry_on(time, 0);
    }

    /// Carries a discontinuity on by constant delays.
    fn carry_on(&mut self, time: f64, order: usize) {
        for tau in self.constant.iter().filter(|tau| **tau > 0.0) {
            let next = time + tau;
            if order < SMOOTH_ORDER
                && next > self.t0
                && next < self.t1
                && !self
                    .ahead
                    .iter()
                    .any(|(a, _)| (a - next).abs() <= 1e-12 * tau)
            {
                self.ahead.push((next, order + 1));
            }
        }
        self.ahead.sort_by(|a, b| b.0.total_cmp(&a.0));
    }

    /// The time that the next step may not pass.
    pub(super) fn stop_after(&mut self, t: f64) -> f64 {
        while let Some(&(next, order)) = self.ahead.last()
            && next <= t + 4.0 * f64::EPSILON * t.abs()
        {
            self.ahead.pop();
            self.carry_on(next, order);
        }
        self.ahead
            .last()
            .map_or(self.t1, |(next, _)| next.min(self.t1))
    }
}
