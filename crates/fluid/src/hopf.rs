//! Hopf points: in one parameter, their curves in two, and how oscillations set in there.

use ackclock_delay::{
    ContinuationOptions, Criticality, Curve, End, HopfPoint, Normalisation, bautin_points,
    criticality, hopf_curve,
};

use crate::{
    continuation::{Continuation, SpecialPoint, passes},
    equilibrium::Equilibrium,
    error::Result,
    model::Model,
};

/// How far beyond the last point of a curve that cannot be continued its other side is looked at,
/// relative to the unknown that moves most. The last step was a thousand times shorter.
const BEYOND_END: f64 = 1e-4;

impl Model {
    /// The Hopf points as parameter `free` runs over a range, by rising value: the equilibrium is
    /// followed from its present value to both ends, across the boundaries between the AQMs'
    /// regimes, in `points` steps each.
    ///
    /// # Errors
    /// As [`Model::branch`].
    pub fn crossings(
        &self,
        at: &Equilibrium,
        free: usize,
        (low, high): (f64, f64),
        points: usize,
    ) -> Result<Vec<SpecialPoint>> {
        let mut hopf_points = Vec::new();
        for end in self.ends(at, free, (low, high)) {
            let branch = self.branch(at, free, end, points, true)?;
            hopf_points.extend(
                branch
                    .special
                    .into_iter()
                    .filter(|special_point| special_point.hopf().is_some()),
            );
        }
        hopf_points.retain(|special_point| (low..=high).contains(&special_point.value));
        hopf_points.sort_by(|a, b| a.value.total_cmp(&b.value));
        // one on which the scenario lies is met in both directions
        hopf_points.dedup_by(|b, a| {
            let omega = |special_point: &SpecialPoint| {
                special_point.hopf().map_or(f64::NAN, |point| point.omega)
            };
            alike(a.value, b.value, 1e-9) && alike(omega(a), omega(b), 1e-6)
        });
        Ok(hopf_points)
    }

    /// The Hopf point of [`Model::crossings`] that is nearest to the present value, in proportion.
    /// Either way is followed only as far as a nearer one may lie on it.
    ///
    /// # Errors
    /// As [`Model::branch`].
    pub fn nearest_hopf(
        &self,
        at: &Equilibrium,
        free: usize,
        (low, high): (f64, f64),
        points: usize,
    ) -> Result<Option<SpecialPoint>> {
        let now = self.lengthened(&at.p)[free];
        let far = |value: f64| {
            if value * now > 0.0 {
                libm::log(value / now).abs()
            } else {
                (value - now).abs()
            }
        };
        let mut best: Option<SpecialPoint> = None;
        let mut ways: Vec<(Continuation<'_>, f64)> = self
            .ends(at, free, (low, high))
            .map(|end| (Continuation::new(self, at, free, end, points, true), 0.0))
            .collect();
        // the way that has come less far goes on
        while let Some(k) = (0..ways.len()).min_by(|a, b| ways[*a].1.total_cmp(&ways[*b].1)) {
            ackclock_delay::spend(0)?;
            let (way, reached) = &mut ways[k];
            let nearer = best.as_ref().is_none_or(|best| *reached < far(best.value));
            let Some(point) = way.next().filter(|_| nearer) else {
                ways.swap_remove(k);
                continue;
            };
            *reached = far(point.value);
            let observed = way.branch().special.iter();
            let nearest = observed
                .filter(|point| point.hopf().is_some() && (low..=high).contains(&point.value))
                .min_by(|a, b| far(a.value).total_cmp(&far(b.value)));
            if let Some(nearest) = nearest
                && best
                    .as_ref()
                    .is_none_or(|best| far(nearest.value) < far(best.value))
            {
                best = Some(nearest.clone());
            }
        }
        Ok(best)
    }

    /// Where the ways from the present value over a range end: below it and above it, or where the
    /// range lies on one side, at its far end alone.
    fn ends(
        &self,
        at: &Equilibrium,
        free: usize,
        (low, high): (f64, f64),
    ) -> impl Iterator<Item = f64> + use<> {
        let now = self.lengthened(&at.p)[free];
        let (down, up) = (
            if low < now { low } else { high },
            if high > now { high } else { low },
        );
        [Some(down), (up != down).then_some(up)]
            .into_iter()
            .flatten()
            .filter(move |end| *end != now)
    }

    /// Whether oscillations set in gradually or suddenly at a Hopf point in the regimes of `at`:
    /// the normal form, for amplitudes of the state `component`.
    ///
    /// # Errors
    /// [`crate::Error::Parameter`], [`crate::Error::Analysis`].
    pub fn criticality(
        &mut self,
        at: &Equilibrium,
        point: &HopfPoint,
        name: &str,
        component: usize,
    ) -> Result<Criticality> {
        let free = self.parameter(name)?;
        self.onset(at, point, free, component)
    }

    /// [`Model::criticality`], of a parameter by its index.
    ///
    /// # Errors
    /// [`crate::Error::Analysis`].
    pub fn onset(
        &self,
        at: &Equilibrium,
        point: &HopfPoint,
        free: usize,
        component: usize,
    ) -> Result<Criticality> {
        let point = HopfPoint {
            p: self.lengthened(&point.p),
            ..point.clone()
        };
        let frozen = self.frozen(&at.regimes);
        let normalisation = Normalisation::Component(component);
        Ok(criticality(&frozen, &point, free, normalisation)?)
    }

    /// Where on a Hopf curve in two parameters the onset turns from gradual to sudden.
    ///
    /// # Errors
    /// [`crate::Error::Parameter`], [`crate::Error::Analysis`].
    pub fn bautin_points(
        &mut self,
        at: &Equilibrium,
        curve: &[HopfPoint],
        names: (&str, &str),
    ) -> Result<Vec<HopfPoint>> {
        let free = (self.parameter(names.0)?, self.parameter(names.1)?);
        Ok(bautin_points(&self.frozen(&at.regimes), curve, free)?)
    }

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
        options: &ContinuationOptions,
    ) -> Result<Curve<HopfPoint>> {
        let free = (self.parameter(names.0)?, self.parameter(names.1)?);
        let start = HopfPoint {
            p: self.lengthened(&start.p),
            ..start.clone()
        };
        let frozen = self.frozen(&at.regimes);
        let mut curve = hopf_curve(&frozen, &start, free, ranges, options)?;
        if let [last, before, ..] = curve.points.as_slice() {
            curve.start = frozen.resolved(curve.start, before, last);
        }
        if let [.., before, last] = curve.points.as_slice() {
            curve.end = frozen.resolved(curve.end, before, last);
        }
        Ok(curve)
    }

    /// The kink at which a curve failed, if there is one just beyond its last point.
    fn resolved(&self, end: End, before: &HopfPoint, last: &HopfPoint) -> End {
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
        let ahead = |a: &f64, b: &f64| a + (a - b) * BEYOND_END / moved;
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

/// Whether two numbers are the same to a relative tolerance.
fn alike(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() <= tolerance * a.abs().max(b.abs())
}
