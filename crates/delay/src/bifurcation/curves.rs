//! Curves of Hopf and fold points in two parameters, and branches of equilibria in one.

use super::{Augmented, Curve, FoldPoint, HopfPoint};
use crate::{
    continuation::{ContinuationOptions, End, Equations, Limit, continue_curve},
    equilibrium::{check_smooth, newton},
    error::{Error, Result},
    linear::{Linear, steady},
    spectrum::count_right_of,
    system::DynSystem,
};

/// Follows the Hopf curve through `start` in parameters `free.0` and `free.1`, both ways, within
/// their `ranges`.
///
/// # Errors
/// [`Error::Argument`] for unusable ranges. What stops the curve is in [`Curve::start`] and
/// [`Curve::end`].
pub fn hopf_curve(
    system: &dyn DynSystem,
    start: &HopfPoint,
    free: (usize, usize),
    ranges: [(f64, f64); 2],
    options: &ContinuationOptions,
) -> Result<Curve<HopfPoint>> {
    let join = |x, omega, p| HopfPoint { x, omega, p };
    two_parameter_curve(
        system,
        (&start.x, start.omega, &start.p),
        free,
        ranges,
        options,
        true,
        &join,
    )
}

/// Follows the fold curve through `start` in two parameters, as [`hopf_curve`].
///
/// # Errors
/// As [`hopf_curve`].
pub fn fold_curve(
    system: &dyn DynSystem,
    start: &FoldPoint,
    free: (usize, usize),
    ranges: [(f64, f64); 2],
    options: &ContinuationOptions,
) -> Result<Curve<FoldPoint>> {
    let join = |x, _, p| FoldPoint { x, p };
    two_parameter_curve(
        system,
        (&start.x, 0.0, &start.p),
        free,
        ranges,
        options,
        false,
        &join,
    )
}

fn two_parameter_curve<P>(
    system: &dyn DynSystem,
    (x, omega, p): (&[f64], f64, &[f64]),
    free: (usize, usize),
    ranges: [(f64, f64); 2],
    options: &ContinuationOptions,
    hopf: bool,
    join: &dyn Fn(Vec<f64>, f64, Vec<f64>) -> P,
) -> Result<Curve<P>> {
    if free.0 == free.1
        || free.0.max(free.1) >= p.len()
        || ranges
            .iter()
            .any(|(a, b)| a.is_nan() || b.is_nan() || a >= b)
    {
        return Err(Error::Argument(
            "a curve needs two different parameters and two ranges low < high".into(),
        ));
    }
    let n = system.dimension();
    let at = n + usize::from(hopf);
    let limits = [(0, free.0), (1, free.1)].map(|(k, parameter)| Limit {
        from_last: 1 - k,
        parameter,
        low: ranges[k].0,
        high: ranges[k].1,
    });
    let what = if hopf {
        "the Hopf curve"
    } else {
        "the fold curve"
    };
    let run = |sign: f64| -> Result<(Vec<P>, End)> {
        let mut equations = Augmented::new(system, x, omega, p, &[free.0, free.1], hopf)?;
        let u = equations.join(x, omega, p);
        let mut points = Vec::new();
        let base = equations.p.clone();
        let mut visit = |u: &[f64], _: &[f64]| {
            let mut p = base.clone();
            p[free.0] = u[at];
            p[free.1] = u[at + 1];
            if hopf && u[n] <= 0.0 {
                return Some(End::ZeroFrequency);
            }
            points.push(join(u[..n].to_vec(), if hopf { u[n] } else { 0.0 }, p));
            None
        };
        let end = continue_curve(
            &mut equations,
            &u,
            at,
            sign,
            &limits,
            options,
            what,
            &mut visit,
        );
        Ok((points, end))
    };
    let (backward, start) = run(-1.0)?;
    let mut points: Vec<P> = backward.into_iter().rev().collect();
    points.push(join(x.to_vec(), omega, p.to_vec()));
    if start == End::Closed {
        return Ok(Curve {
            points,
            start: End::Closed,
            end: End::Closed,
        });
    }
    let (forward, end) = run(1.0)?;
    points.extend(forward);
    Ok(Curve { points, start, end })
}

/// An equilibrium of a one-parameter branch.
#[derive(Clone, Debug, PartialEq)]
pub struct BranchPoint {
    /// The equilibrium.
    pub x: Vec<f64>,
    /// All parameters.
    pub p: Vec<f64>,
    /// Number of characteristic roots with positive real part; `None` when one lies on the axis to
    /// rounding.
    pub unstable: Option<usize>,
    /// Whether the parameter turned around between the last point and this one.
    pub after_fold: bool,
}

struct Steady<'a> {
    system: &'a dyn DynSystem,
    p: Vec<f64>,
    free: usize,
}

impl Equations for Steady<'_> {
    fn evaluate(
        &mut self,
        u: &[f64],
        residual: &mut Vec<f64>,
        jacobian: &mut Vec<f64>,
    ) -> Result<()> {
        let n = u.len() - 1;
        self.p[self.free] = u[n];
        (*residual, *jacobian) = steady(self.system, &u[..n], &self.p, &[self.free]);
        Ok(())
    }
    fn accept(&mut self, u: &mut Vec<f64>, _: &mut Vec<f64>) -> Result<()> {
        let n = u.len() - 1;
        self.p[self.free] = u[n];
        check_smooth(self.system, &u[..n], &self.p)
    }
}

/// Follows the branch of equilibria through `start` in parameter `free`, both ways, through folds.
///
/// # Errors
/// When `start` cannot be corrected to an equilibrium.
pub fn branch(
    system: &dyn DynSystem,
    start: &[f64],
    p: &[f64],
    free: usize,
    range: (f64, f64),
    options: &ContinuationOptions,
) -> Result<Curve<BranchPoint>> {
    let x = newton(system, start, p)?;
    check_smooth(system, &x, p)?;
    let n = x.len();
    let mut u = x;
    u.push(p[free]);
    let limits = [Limit {
        from_last: 0,
        parameter: free,
        low: range.0,
        high: range.1,
    }];
    let point = |u: &[f64], after_fold: bool| {
        let mut q = p.to_vec();
        q[free] = u[n];
        let unstable = count_right_of(&Linear::of(system, &u[..n], &q), 0.0).ok();
        BranchPoint {
            x: u[..n].to_vec(),
            p: q,
            unstable,
            after_fold,
        }
    };
    let run = |sign: f64| {
        let mut equations = Steady {
            system,
            p: p.to_vec(),
            free,
        };
        let mut points = Vec::new();
        let mut last = sign;
        let mut visit = |u: &[f64], t: &[f64]| {
            points.push(point(u, t[n] * last < 0.0));
            last = t[n];
            None
        };
        let end = continue_curve(
            &mut equations,
            &u,
            n,
            sign,
            &limits,
            options,
            "the branch of equilibria",
            &mut visit,
        );
        (points, end)
    };
    let (backward, start) = run(-1.0);
    let (forward, end) = run(1.0);
    let mut points: Vec<BranchPoint> = backward.into_iter().rev().collect();
    points.push(point(&u, false));
    points.extend(forward);
    Ok(Curve { points, start, end })
}
