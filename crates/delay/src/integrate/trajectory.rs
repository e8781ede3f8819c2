//! A computed solution, continuous in time.

use super::Event;

/// One step's polynomial.
#[derive(Clone, Debug)]
pub(super) struct Segment {
    pub(super) start: f64,
    /// The polynomial's own length; the segment may end before, at the next one's start.
    pub(super) length: f64,
}

/// A computed solution, continuous in time.
#[derive(Clone, Debug)]
pub struct Trajectory {
    pub(super) n: usize,
    pub(super) segments: Vec<Segment>,
    /// Five coefficients a state and segment.
    pub(super) coefficients: Vec<f64>,
    pub(super) end: f64,
    /// Bounds reached and left, switches passed, in order.
    pub events: Vec<Event>,
}

impl Trajectory {
    /// First time.
    #[must_use]
    pub fn start(&self) -> f64 {
        self.segments.first().map_or(self.end, |s| s.start)
    }

    /// Last time.
    #[must_use]
    pub fn end(&self) -> f64 {
        self.end
    }

    /// Times of the steps, both ends included.
    pub fn mesh(&self) -> impl Iterator<Item = f64> + '_ {
        self.segments
            .iter()
            .map(|s| s.start)
            .chain(std::iter::once(self.end))
    }

    /// The state at time `t`, which is moved into the computed interval if it lies outside.
    pub fn at(&self, t: f64, out: &mut [f64]) {
        let index = self
            .segments
            .partition_point(|s| s.start <= t)
            .saturating_sub(1);
        self.polynomial(index, t.clamp(self.start(), self.end), out);
    }

    /// The state at time `t` as a new vector.
    #[must_use]
    pub fn state(&self, t: f64) -> Vec<f64> {
        let mut out = vec![0.0; self.n];
        self.at(t, &mut out);
        out
    }

    pub(super) fn polynomial(&self, index: usize, t: f64, out: &mut [f64]) {
        let s = &self.segments[index];
        let c = &self.coefficients[index * 5 * self.n..(index + 1) * 5 * self.n];
        dense(c, (t - s.start) / s.length, out);
    }

    /// As [`Trajectory::at`] for t after the start, near segment `hint`.
    pub(super) fn lookup(&self, t: f64, hint: &mut usize, out: &mut [f64]) {
        let last = self.segments.len() - 1;
        let mut k = (*hint).min(last);
        while k > 0 && self.segments[k].start > t {
            k -= 1;
        }
        while k < last && self.segments[k + 1].start <= t {
            k += 1;
        }
        *hint = k;
        self.polynomial(k, t, out);
    }
}

/// The continuous extension at fraction `s` of the step.
pub(super) fn dense(c: &[f64], s: f64, out: &mut [f64]) {
    let n = out.len();
    for i in 0..n {
        out[i] = c[i]
            + s * (c[n + i]
                + (1.0 - s) * (c[2 * n + i] + s * (c[3 * n + i] + (1.0 - s) * c[4 * n + i])));
    }
}
