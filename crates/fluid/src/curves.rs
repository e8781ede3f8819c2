//! Hopf curves in two parameters, and why they end.

use ackclock_delay::{Curve, End, Follow, HopfPoint, hopf_curve};

use crate::{error::Result, model::Model, questions::Equilibrium};

/// How far beyond the last point of a curve that cannot be continued its other side is looked at,
/// relative to the unknown that moves most. The last step was a thousand times shorter.
const BEYOND: f64 = 1e-4;

impl Model {
    /// The Hopf curve through `start` in two parameters, in the regimes of the AQMs' laws that hold
    /// at `at`, both ways.
    ///
    /// A curve ends where the equations have a kink that is no boundary between two such regimes: a
    /// class that comes to wait at its access links, or whose window passes from one law to
    /// another. [`End::Boundary`] then says which.
    ///
    /// # Errors
    /// [`crate::Error::Parameter`], [`crate::Error::Analysis`].
    pub fn hopf_curve(
        &mut self,
        at: &Equilibrium,
        start: &HopfPoint,
        names: (&str, &str),
        ranges: [(f64, f64); 2],
        options: &Follow,
    ) -> Result<Curve<HopfPoint>> {
        let free = (self.parameter(names.0)?, self.parameter(names.1)?);
        let mut start = start.clone();
        start
            .p
            .extend(self.parameters().into_iter().skip(start.p.len()));
        let frozen = self.frozen(&at.regimes);
        let mut curve = hopf_curve(&frozen, &start, free, ranges, options)?;
        if let [last, before, ..] = curve.points.as_slice() {
            curve.start = frozen.told(curve.start, before, last);
        }
        if let [.., before, last] = curve.points.as_slice() {
            curve.end = frozen.told(curve.end, before, last);
        }
        Ok(curve)
    }

    /// The kink at which a curve failed, if there is one just beyond its last point.
    fn told(&self, end: End, before: &HopfPoint, last: &HopfPoint) -> End {
        if !matches!(end, End::Failed(_)) {
            return end;
        }
        let pairs = || {
            let states = last.x.iter().zip(&before.x);
            states.chain(last.p.iter().zip(&before.p))
        };
        let moved = pairs().fold(0.0_f64, |m, (a, b)| {
            m.max((a - b).abs() / a.abs().max(f64::MIN_POSITIVE))
        });
        if moved == 0.0 {
            return end;
        }
        let ahead = |a: &f64, b: &f64| a + (a - b) * BEYOND / moved;
        let x: Vec<f64> = last
            .x
            .iter()
            .zip(&before.x)
            .map(|(a, b)| ahead(a, b))
            .collect();
        let p: Vec<f64> = last
            .p
            .iter()
            .zip(&before.p)
            .map(|(a, b)| ahead(a, b))
            .collect();
        let (here, there) = (self.pieces(&last.x, &last.p), self.pieces(&x, &p));
        let windows = self.windows(&last.x, &last.p);
        let kink = (0..here.len()).find(|c| here[*c] != there[*c]);
        kink.map_or(end, |class| {
            let (name, _, below) = windows[class];
            End::Boundary(if here[class].0 == there[class].0 {
                passes(name, below)
            } else if there[class].0 {
                format!("the senders of {name} come to wait at their access links")
            } else {
                format!("the senders of {name} no longer wait at their access links")
            })
        })
    }
}

/// The window of a class passes from one law to another, in words.
pub(crate) fn passes(class: &str, below: f64) -> String {
    let below = (below * 1e4).round() / 1e4;
    format!("the window of {class} passes {below} packets, {LAW_CHANGES}")
}

/// Why a window comes to a switching boundary.
pub(crate) const LAW_CHANGES: &str = "where its sender's law changes";
