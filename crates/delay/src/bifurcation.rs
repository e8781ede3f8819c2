//! Hopf and fold points, the curves they lie on, branches of equilibria, and the normal form of a Hopf bifurcation.
//!
//! Bifurcation points are zeros of a minimally augmented system (Govaerts, Numerical Methods for Bifurcations of Dynamical
//! Equilibria, 2000): a bordered characteristic matrix gives one smooth scalar that vanishes with its determinant. Its derivatives
//! come from second-order dual numbers.

use faer::c64;

use crate::{
    continuation::{End, Equations, Follow, Limit, correct, follow, scales},
    equilibrium::{check_smooth, newton},
    error::{Error, Result},
    linalg::{Lu, null_vectors},
    linear::{Forms, Linear, Mode, steady},
    spectrum::{count_right_of, rightmost_roots, root_near},
    system::DynSystem,
};

/// An equilibrium with a pair of characteristic roots +- i omega.
#[derive(Clone, Debug, PartialEq)]
pub struct HopfPoint {
    /// The equilibrium.
    pub x: Vec<f64>,
    /// The frequency omega > 0, in radians per unit of time.
    pub omega: f64,
    /// All parameters.
    pub p: Vec<f64>,
}

/// An equilibrium with a characteristic root 0.
#[derive(Clone, Debug, PartialEq)]
pub struct FoldPoint {
    /// The equilibrium.
    pub x: Vec<f64>,
    /// All parameters.
    pub p: Vec<f64>,
}

/// Either kind of loss of stability along a branch.
#[derive(Clone, Debug, PartialEq)]
pub enum Crossing {
    /// A pair crosses the imaginary axis.
    Hopf(HopfPoint),
    /// A real root crosses zero while the equilibrium lives on: two branches cross (a transcritical or pitchfork bifurcation).
    Steady(FoldPoint),
}

/// A curve in the space of two parameters (or a branch in one), in order.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve<P> {
    /// The points.
    pub points: Vec<P>,
    /// Why it stopped where it begins.
    pub start: End,
    /// Why it stopped where it ends.
    pub end: End,
}

/// f = 0 with the bordered characteristic matrix: unknowns (x, omega (Hopf only), free parameters).
struct Augmented<'a> {
    system: &'a dyn DynSystem,
    p: Vec<f64>,
    free: Vec<usize>,
    hopf: bool,
    /// Borders: near the right and left null vectors.
    right: Vec<c64>,
    left: Vec<c64>,
}

impl<'a> Augmented<'a> {
    fn new(
        system: &'a dyn DynSystem,
        x: &[f64],
        omega: f64,
        p: &[f64],
        free: &[usize],
        hopf: bool,
    ) -> Result<Self> {
        let mut new = Self {
            system,
            p: p.to_vec(),
            free: free.to_vec(),
            hopf,
            right: Vec::new(),
            left: Vec::new(),
        };
        new.set_borders(x, omega, p)?;
        Ok(new)
    }

    fn set_borders(&mut self, x: &[f64], omega: f64, p: &[f64]) -> Result<()> {
        let delta = Linear::of(self.system, x, p).characteristic(c64::new(0.0, omega));
        let (right, left) = null_vectors(x.len(), &delta, "a null vector")?;
        self.right = right.iter().map(c64::conj).collect();
        self.left = left.iter().map(c64::conj).collect();
        if !self.hopf {
            // at omega = 0 everything is real, and must be taken so for one real equation to suffice
            for v in [&mut self.right, &mut self.left] {
                let largest = v
                    .iter()
                    .copied()
                    .max_by(|a, b| a.norm().total_cmp(&b.norm()))
                    .unwrap_or(c64::ONE);
                for z in v.iter_mut() {
                    *z = c64::new((*z / largest).re, 0.0);
                }
            }
        }
        Ok(())
    }

    fn split(&self, u: &[f64]) -> (Vec<f64>, f64, Vec<f64>) {
        let n = self.system.dimension();
        let at = n + usize::from(self.hopf);
        let mut p = self.p.clone();
        for (k, index) in self.free.iter().enumerate() {
            p[*index] = u[at + k];
        }
        (u[..n].to_vec(), if self.hopf { u[n] } else { 0.0 }, p)
    }

    fn join(&self, x: &[f64], omega: f64, p: &[f64]) -> Vec<f64> {
        let mut u = x.to_vec();
        if self.hopf {
            u.push(omega);
        }
        u.extend(self.free.iter().map(|k| p[*k]));
        u
    }

    /// Square Newton iteration (one free parameter) from a guess.
    fn solve(&mut self, guess: Vec<f64>, what: &'static str) -> Result<Vec<f64>> {
        const ITERATIONS: usize = 30;
        let mut u = guess;
        let m = u.len();
        let (mut residual, mut jacobian) = (Vec::new(), Vec::new());
        let mut last = f64::INFINITY;
        let mut seen = vec![0.0; m];
        for iteration in 0..ITERATIONS {
            let scale = scales(&u, &mut seen);
            self.evaluate(&u, &mut residual, &mut jacobian)?;
            for i in 0..m {
                let size = (0..m).fold(0.0_f64, |s, k| {
                    s.max((jacobian[i * m + k] * scale[k]).abs())
                });
                if size > 0.0 {
                    residual[i] /= size;
                    for k in 0..m {
                        jacobian[i * m + k] /= size;
                    }
                }
            }
            let step = crate::linalg::solve(m, &jacobian, &residual, what)?;
            let size = (0..m).fold(0.0_f64, |s, k| s.max((step[k] / scale[k]).abs()));
            // no unknown moves by more than half its size at once
            let damping = (0.5 / size).min(1.0);
            for k in 0..m {
                u[k] -= damping * step[k];
            }
            if size < 1e-13
                || size > 0.3 * last && (size < 1e-9 || residual.iter().all(|r| r.abs() < 1e-14))
            {
                return Ok(u);
            }
            last = size;
            if iteration % 4 == 3 {
                let (x, omega, p) = self.split(&u);
                self.set_borders(&x, omega, &p)?;
            }
        }
        Err(Error::NewtonFailed {
            what,
            iterations: ITERATIONS,
            residual: last,
        })
    }
}

impl Equations for Augmented<'_> {
    fn evaluate(
        &mut self,
        u: &[f64],
        residual: &mut Vec<f64>,
        jacobian: &mut Vec<f64>,
    ) -> Result<()> {
        let (x, omega, p) = self.split(u);
        let n = x.len();
        let columns = u.len();
        let lambda = c64::new(0.0, omega);
        let (f, jf) = steady(self.system, &x, &p, &self.free);
        let extra = usize::from(self.hopf);
        residual.clear();
        residual.extend_from_slice(&f);
        jacobian.clear();
        jacobian.resize((n + 1 + extra) * columns, 0.0);
        let own = n + self.free.len();
        for i in 0..n {
            for k in 0..own {
                let column = if k < n { k } else { k + extra };
                jacobian[i * columns + column] = jf[i * own + k];
            }
        }
        crate::work::spend(8 * n * n * (1 + self.system.delays()))?;
        let linear = Linear::of(self.system, &x, &p);
        let (mut delta, mut slope) = (vec![c64::ZERO; n * n], vec![c64::ZERO; n * n]);
        linear.both_into(lambda, &mut delta, &mut slope);
        // bordered matrix [Delta b; c 0]
        let size = n + 1;
        let mut bordered = vec![c64::ZERO; size * size];
        for i in 0..n {
            bordered[i * size..i * size + n].copy_from_slice(&delta[i * n..(i + 1) * n]);
            bordered[i * size + n] = self.left[i];
            bordered[n * size + i] = self.right[i];
        }
        let lu = Lu::of(size, &bordered);
        let mut unit = vec![c64::ZERO; size];
        unit[n] = c64::ONE;
        let (mut v, mut w) = (vec![c64::ZERO; size], vec![c64::ZERO; size]);
        lu.solve(&unit, &mut v);
        lu.solve_transposed(&unit, &mut w);
        let g = v[n];
        v.truncate(n);
        w.truncate(n);
        if !(g.re.is_finite() && g.im.is_finite()) {
            return Err(Error::Singular {
                what: "the bordered characteristic matrix",
            });
        }
        // dg = -w^T dDelta v
        let mut write = |column: usize, value: c64| {
            jacobian[n * columns + column] = value.re;
            if extra == 1 {
                jacobian[(n + 1) * columns + column] = value.im;
            }
        };
        let pair = |m: &[c64]| -> c64 { w.iter().zip(m).map(|(a, b)| a * b).sum() };
        if self.hopf {
            let sv: Vec<c64> = (0..n)
                .map(|i| (0..n).map(|k| slope[i * n + k] * v[k]).sum())
                .collect();
            write(n, -pair(&sv) * c64::new(0.0, 1.0));
        }
        let forms = Forms {
            system: self.system,
            x: &x,
            p: &p,
        };
        let mode = Mode {
            exponent: lambda,
            amplitude: v.clone(),
        };
        for k in 0..own {
            let (mut dx, mut dp) = (vec![0.0; n], vec![0.0; p.len()]);
            if k < n {
                dx[k] = 1.0;
            } else {
                dp[self.free[k - n]] = 1.0;
            }
            // drift is the derivative of -Delta v
            let value = pair(&forms.drift(&mode, &dx, &dp));
            write(if k < n { k } else { k + extra }, value);
        }
        residual.push(g.re);
        if self.hopf {
            residual.push(g.im);
        }
        Ok(())
    }

    fn accept(&mut self, u: &mut Vec<f64>, _tangent: &mut Vec<f64>) -> Result<()> {
        let (x, omega, p) = self.split(u);
        check_smooth(self.system, &x, &p)?;
        self.set_borders(&x, omega, &p)
    }
}

/// The Hopf point near a guess (equilibrium, frequency), with parameter `free` adjusted.
///
/// # Errors
/// [`Error::NewtonFailed`], [`Error::Singular`]; [`Error::OnClamp`] or [`Error::OutOfBounds`] if it lies where the model is not
/// smooth.
pub fn hopf_near(
    system: &dyn DynSystem,
    x: &[f64],
    omega: f64,
    p: &[f64],
    free: usize,
) -> Result<HopfPoint> {
    let mut equations = Augmented::new(system, x, omega, p, &[free], true)?;
    let guess = equations.join(x, omega, p);
    let u = equations.solve(guess, "the Hopf point")?;
    let (x, omega, p) = equations.split(&u);
    check_smooth(system, &x, &p)?;
    Ok(HopfPoint {
        x,
        omega: omega.abs(),
        p,
    })
}

/// The fold (or other steady bifurcation) near a guess, with parameter `free` adjusted.
///
/// # Errors
/// As [`hopf_near`].
pub fn fold_near(system: &dyn DynSystem, x: &[f64], p: &[f64], free: usize) -> Result<FoldPoint> {
    let mut equations = Augmented::new(system, x, 0.0, p, &[free], false)?;
    let guess = equations.join(x, 0.0, p);
    let u = equations.solve(guess, "the fold")?;
    let (x, _, p) = equations.split(&u);
    check_smooth(system, &x, &p)?;
    Ok(FoldPoint { x, p })
}

/// The losses and gains of stability met while one parameter runs over a range.
#[derive(Clone, Debug, PartialEq)]
pub struct Search {
    /// In the order of the parameter's way.
    pub crossings: Vec<Crossing>,
    /// Number of unstable roots at the start of the range.
    pub unstable_at_start: usize,
    /// Where and why the search had to stop before the end of the range.
    pub stopped: Option<(f64, Error)>,
}

impl Search {
    /// The first Hopf point.
    #[must_use]
    pub fn first_hopf(&self) -> Option<&HopfPoint> {
        self.crossings.iter().find_map(|c| {
            if let Crossing::Hopf(h) = c {
                Some(h)
            } else {
                None
            }
        })
    }
}

/// Follows the equilibrium near `guess` while parameter `free` runs from `from` to `to` in `samples` steps (a geometric sequence
/// if both ends have the same sign and differ by more than a factor of five), and locates every crossing of the imaginary axis.
///
/// The number of unstable roots is counted by the argument principle at each sample; where it changes the interval is bisected,
/// and Newton's method finds the point. Two crossings that undo each other between samples go unseen: use enough of them.
///
/// # Errors
/// Only when the equilibrium at the start of the range cannot be found or counted; later failures are in [`Search::stopped`].
pub fn crossings(
    system: &dyn DynSystem,
    guess: &[f64],
    p: &[f64],
    free: usize,
    from: f64,
    to: f64,
    samples: usize,
) -> Result<Search> {
    if free >= p.len() || samples == 0 || !(from.is_finite() && to.is_finite()) {
        return Err(Error::Argument(format!(
            "parameter {free} of {}, {samples} samples from {from} to {to}",
            p.len()
        )));
    }
    let geometric = from * to > 0.0 && (from / to).abs().max((to / from).abs()) > 5.0;
    let value = |k: usize| {
        let s = k as f64 / samples as f64;
        if k == samples {
            to
        } else if geometric {
            from * (to / from).powf(s)
        } else {
            from + s * (to - from)
        }
    };
    let mut walker = Walker {
        system,
        p: p.to_vec(),
        free,
        found: Vec::new(),
    };
    let mut last = walker.sample(guess, value(0))?;
    let unstable_at_start = last.unstable;
    let mut stopped = None;
    for k in 1..=samples {
        let here = walker.sample(&last.x, value(k)).and_then(|here| {
            walker.between(&last, &here, 0)?;
            Ok(here)
        });
        match here {
            Ok(here) => last = here,
            Err(e) => {
                stopped = Some((value(k), e));
                break;
            }
        }
    }
    Ok(Search {
        crossings: walker.found,
        unstable_at_start,
        stopped,
    })
}

struct Walker<'a> {
    system: &'a dyn DynSystem,
    p: Vec<f64>,
    free: usize,
    found: Vec<Crossing>,
}

#[derive(Clone)]
struct Sample {
    value: f64,
    x: Vec<f64>,
    unstable: usize,
}

impl Walker<'_> {
    fn sample(&mut self, guess: &[f64], value: f64) -> Result<Sample> {
        let mut nudged = value;
        for attempt in 0..4 {
            self.p[self.free] = nudged;
            let x = newton(self.system, guess, &self.p)?;
            check_smooth(self.system, &x, &self.p)?;
            match count_right_of(&Linear::of(self.system, &x, &self.p), 0.0) {
                Ok(unstable) => {
                    return Ok(Sample {
                        value: nudged,
                        x,
                        unstable,
                    });
                }
                // exactly on a bifurcation: look a little further
                Err(Error::RootOnLine { .. }) if attempt < 3 => {
                    nudged = value + (1e-9 * value.abs().max(1e-9)) * 10_f64.powi(attempt);
                }
                Err(e) => return Err(e),
            }
        }
        Err(Error::RootOnLine {
            line: 0.0,
            omega: 0.0,
        })
    }

    fn between(&mut self, a: &Sample, b: &Sample, depth: usize) -> Result<()> {
        if a.unstable == b.unstable {
            return Ok(());
        }
        let narrow = (a.value - b.value).abs() < 1e-3 * a.value.abs().max(b.value.abs());
        let simple = a.unstable.abs_diff(b.unstable) <= 2;
        if narrow && simple || depth > 40 {
            match self.locate(a, b) {
                Ok(crossing) => {
                    self.found.push(crossing);
                    return Ok(());
                }
                Err(e) if depth > 40 => return Err(e),
                Err(_) => {}
            }
        }
        let middle = self.sample(&a.x, 0.5 * (a.value + b.value))?;
        self.between(a, &middle, depth + 1)?;
        self.between(&middle, b, depth + 1)
    }

    fn locate(&mut self, a: &Sample, b: &Sample) -> Result<Crossing> {
        let more = if a.unstable > b.unstable { a } else { b };
        self.p[self.free] = more.value;
        let linear = Linear::of(self.system, &more.x, &self.p);
        let roots = rightmost_roots(&linear, more.unstable)?.roots;
        let nearest = roots
            .iter()
            .copied()
            .filter(|z| z.im >= 0.0)
            .min_by(|u, v| u.re.abs().total_cmp(&v.re.abs()));
        let Some(nearest) = nearest else {
            return Err(Error::CertificateFailed {
                found: 0,
                counted: more.unstable,
                line: 0.0,
            });
        };
        let (value, crossing) = if nearest.im > 0.0 && a.unstable.abs_diff(b.unstable) != 1 {
            let point = hopf_near(self.system, &more.x, nearest.im, &self.p, self.free)?;
            (point.p[self.free], Crossing::Hopf(point))
        } else {
            let point = self.branch_point(a, b)?;
            (point.p[self.free], Crossing::Steady(point))
        };
        let width = (a.value - b.value).abs();
        if value < a.value.min(b.value) - 0.1 * width || value > a.value.max(b.value) + 0.1 * width
        {
            return Err(Error::NewtonFailed {
                what: "a crossing inside its bracket",
                iterations: 0,
                residual: f64::NAN,
            });
        }
        Ok(crossing)
    }
}

impl Walker<'_> {
    /// Where det Delta(0) changes its sign between two samples (Illinois false position: the equilibrium equations themselves
    /// are singular there, so Newton's method on them would not do).
    fn branch_point(&mut self, a: &Sample, b: &Sample) -> Result<FoldPoint> {
        let mut value = |v: f64| -> Result<(f64, Vec<f64>)> {
            self.p[self.free] = v;
            let x = newton(self.system, &a.x, &self.p)?;
            Ok((
                Linear::of(self.system, &x, &self.p)
                    .determinant(c64::ZERO)
                    .re,
                x,
            ))
        };
        let (mut v0, mut f0) = (a.value, value(a.value)?.0);
        let (mut v1, mut f1) = (b.value, value(b.value)?.0);
        if f0 * f1 > 0.0 {
            return Err(Error::CertificateFailed {
                found: 0,
                counted: a.unstable.abs_diff(b.unstable),
                line: 0.0,
            });
        }
        let mut x = a.x.clone();
        for _ in 0..100 {
            let v = (v0 * f1 - v1 * f0) / (f1 - f0);
            let (f, here) = value(v)?;
            x = here;
            let moved = (v - v1).abs();
            if f * f1 < 0.0 {
                (v0, f0) = (v1, f1);
            } else {
                f0 *= 0.5;
            }
            (v1, f1) = (v, f);
            if f == 0.0 || moved <= 1e-15 * v.abs() {
                break;
            }
        }
        self.p[self.free] = v1;
        Ok(FoldPoint {
            x,
            p: self.p.clone(),
        })
    }
}

/// Follows the Hopf curve through `start` in parameters `free.0` and `free.1`, both ways, within their `ranges`.
///
/// # Errors
/// [`Error::Argument`] for unusable ranges. What stops the curve is in [`Curve::start`] and [`Curve::end`].
pub fn hopf_curve(
    system: &dyn DynSystem,
    start: &HopfPoint,
    free: (usize, usize),
    ranges: [(f64, f64); 2],
    options: &Follow,
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
    options: &Follow,
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
    options: &Follow,
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
        let end = follow(
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
    /// Number of characteristic roots with positive real part; `None` when one lies on the axis to rounding.
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
    options: &Follow,
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
        let end = follow(
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

/// How the critical eigenvector is normalised: the size of c1, mu2 and beta2 depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Normalisation {
    /// The given component is 1, as in Hassard, Kazarinoff and Wan: amplitudes are those of that state.
    Component(usize),
    /// Right null vector of unit length.
    Unit,
    /// Right and left null vectors equally long, as in the normal forms of DDE-BIFTOOL.
    Balanced,
}

/// The Hopf normal form z' = (i omega + lambda' (a - a_H)) z + c1 |z|^2 z, and what follows from it.
#[derive(Clone, Debug, PartialEq)]
pub struct Criticality {
    /// c1(0).
    pub c1: c64,
    /// d lambda / da along the given parameter, the equilibrium moving with it.
    pub crossing: c64,
    /// Hassard's mu2 = -Re c1 / Re lambda': the cycles exist for a - a_H of this sign.
    pub mu2: f64,
    /// Hassard's beta2 = 2 Re c1: the cycle is stable (onset gradual, supercritical) if negative.
    pub beta2: f64,
    /// Hassard's T2 = -(Im c1 + mu2 Im lambda') / omega: relative change of the period per squared amplitude.
    pub t2: f64,
    /// First Lyapunov coefficient L1 = Re c1 / omega (Kuznetsov's convention).
    pub l1: f64,
    /// Right null vector q of Delta(i omega), normalised as asked.
    pub q: Vec<c64>,
}

impl Criticality {
    /// Whether the oscillation sets in gradually (stable small cycles) rather than suddenly.
    #[must_use]
    pub fn is_supercritical(&self) -> bool {
        self.c1.re < 0.0
    }
}

/// The normal form of the Hopf bifurcation at `point` (Kuznetsov's projection with exact third derivatives; Hassard, Kazarinoff
/// and Wan's coefficients). Parameter `free` is the one whose crossing speed is wanted.
///
/// # Errors
/// [`Error::Singular`] when 0 or 2 i omega is a root too, or i omega is not simple.
pub fn criticality(
    system: &dyn DynSystem,
    point: &HopfPoint,
    free: usize,
    normalisation: Normalisation,
) -> Result<Criticality> {
    const WHAT: &str = "the Hopf normal form";
    let n = point.x.len();
    let i_omega = c64::new(0.0, point.omega);
    let linear = Linear::of(system, &point.x, &point.p);
    let (mut q, mut left) = null_vectors(n, &linear.characteristic(i_omega), WHAT)?;
    let pair = |p: &[c64], v: &[c64]| -> c64 { p.iter().zip(v).map(|(a, b)| a * b).sum() };
    let slope = linear.characteristic_derivative(i_omega);
    let against = |q: &[c64], left: &[c64]| -> c64 {
        (0..n)
            .map(|i| left[i] * (0..n).map(|k| slope[i * n + k] * q[k]).sum::<c64>())
            .sum()
    };
    let divisor = match normalisation {
        Normalisation::Component(k) => *q
            .get(k)
            .ok_or_else(|| Error::Argument(format!("component {k} of {n}")))?,
        // the null vectors come with unit length
        Normalisation::Unit => c64::new(1.0, 0.0),
        Normalisation::Balanced => c64::new(against(&q, &left).norm().sqrt(), 0.0),
    };
    for v in &mut q {
        *v /= divisor;
    }
    let scale = against(&q, &left);
    for v in &mut left {
        *v /= scale;
    }
    let forms = Forms {
        system,
        x: &point.x,
        p: &point.p,
    };
    let f = Mode {
        exponent: i_omega,
        amplitude: q.clone(),
    };
    let fbar = f.conjugate();
    let solved = |lambda: c64, b: &[c64]| -> Vec<c64> {
        let mut x = vec![c64::ZERO; n];
        Lu::of(n, &linear.characteristic(lambda)).solve(b, &mut x);
        x
    };
    let h20 = Mode {
        exponent: i_omega * 2.0,
        amplitude: solved(i_omega * 2.0, &forms.second(&f, &f)),
    };
    let h11 = Mode {
        exponent: c64::ZERO,
        amplitude: solved(c64::ZERO, &forms.second(&f, &fbar)),
    };
    let cubic = forms.third(&f, &f, &fbar);
    let (b1, b2) = (forms.second(&fbar, &h20), forms.second(&f, &h11));
    let total: Vec<c64> = (0..n).map(|i| cubic[i] + b1[i] + b2[i] * 2.0).collect();
    let c1 = pair(&left, &total) * 0.5;
    // the equilibrium moves with the parameter: dx/da = -J^-1 df/da
    let (_, jacobian) = steady(system, &point.x, &point.p, &[free]);
    let square: Vec<f64> = (0..n * n)
        .map(|k| jacobian[k / n * (n + 1) + k % n])
        .collect();
    let rhs: Vec<f64> = (0..n).map(|i| -jacobian[i * (n + 1) + n]).collect();
    let dx = crate::linalg::solve(n, &square, &rhs, WHAT)?;
    let mut dp = vec![0.0; point.p.len()];
    dp[free] = 1.0;
    let crossing = pair(&left, &forms.drift(&f, &dx, &dp));
    if ![c1.re, c1.im, crossing.re].iter().all(|v| v.is_finite()) {
        return Err(Error::Singular { what: WHAT });
    }
    let mu2 = -c1.re / crossing.re;
    Ok(Criticality {
        c1,
        crossing,
        mu2,
        beta2: 2.0 * c1.re,
        t2: -(c1.im + mu2 * crossing.im) / point.omega,
        l1: c1.re / point.omega,
        q,
    })
}

/// The Bautin points (first Lyapunov coefficient zero: the onset turns from gradual to sudden) on a Hopf curve.
///
/// # Errors
/// From the normal form or from Newton's method between two points of the curve where L1 changes its sign.
pub fn bautin_points(
    system: &dyn DynSystem,
    curve: &[HopfPoint],
    free: (usize, usize),
) -> Result<Vec<HopfPoint>> {
    let l1 = |point: &HopfPoint| {
        criticality(system, point, free.0, Normalisation::Balanced).map(|c| c.l1)
    };
    let mut found = Vec::new();
    let mut last: Option<(&HopfPoint, f64)> = None;
    for point in curve {
        let value = l1(point)?;
        if let Some((before, old)) = last
            && old * value < 0.0
        {
            found.push(bautin_between(
                system, before, old, point, value, free, &l1,
            )?);
        }
        last = Some((point, value));
    }
    Ok(found)
}

/// Illinois false position on the chord between two Hopf points, each trial corrected back onto the curve.
fn bautin_between(
    system: &dyn DynSystem,
    a: &HopfPoint,
    fa: f64,
    b: &HopfPoint,
    fb: f64,
    free: (usize, usize),
    l1: &dyn Fn(&HopfPoint) -> Result<f64>,
) -> Result<HopfPoint> {
    let mut equations = Augmented::new(system, &a.x, a.omega, &a.p, &[free.0, free.1], true)?;
    let (ua, ub) = (
        equations.join(&a.x, a.omega, &a.p),
        equations.join(&b.x, b.omega, &b.p),
    );
    let scales = scales(&ua, &mut ub.iter().map(|v| v.abs()).collect::<Vec<_>>());
    let chord: Vec<f64> = (0..ua.len()).map(|k| (ub[k] - ua[k]) / scales[k]).collect();
    let (mut s0, mut f0, mut s1, mut f1) = (0.0, fa, 1.0, fb);
    let mut best = b.clone();
    for _ in 0..80 {
        let s = (s0 * f1 - s1 * f0) / (f1 - f0);
        let anchor: Vec<f64> = (0..ua.len()).map(|k| ua[k] + s * (ub[k] - ua[k])).collect();
        let mut u = anchor.clone();
        let (x, omega, p) = equations.split(&u);
        equations.set_borders(&x, omega, &p)?;
        correct(
            &mut equations,
            &mut u,
            &scales,
            &chord,
            &anchor,
            "a Bautin point",
        )?;
        let (x, omega, p) = equations.split(&u);
        best = HopfPoint { x, omega, p };
        let f = l1(&best)?;
        let converged = f == 0.0 || (s1 - s0).abs() < 1e-14;
        if converged {
            break;
        }
        if f * f1 < 0.0 {
            (s0, f0) = (s1, f1);
        } else {
            f0 *= 0.5;
        }
        let moved = (s - s1).abs();
        (s1, f1) = (s, f);
        if moved < 1e-13 {
            break;
        }
    }
    Ok(best)
}

/// The root on the imaginary axis that a Hopf point claims, as computed from the characteristic matrix alone: a check.
///
/// # Errors
/// [`Error::NewtonFailed`].
pub fn critical_root(system: &dyn DynSystem, point: &HopfPoint) -> Result<c64> {
    root_near(
        &Linear::of(system, &point.x, &point.p),
        c64::new(0.0, point.omega),
    )
}
