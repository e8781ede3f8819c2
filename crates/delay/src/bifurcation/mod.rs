//! Hopf and fold points, the curves they lie on, branches of equilibria, and the normal form of a
//! Hopf bifurcation.
//!
//! Bifurcation points are zeros of a minimally augmented system (Govaerts, Numerical Methods for
//! Bifurcations of Dynamical Equilibria, 2000): a bordered characteristic matrix gives one smooth
//! scalar that vanishes with its determinant. Its derivatives come from second-order dual numbers.

mod curves;
mod normal_form;
mod search;

pub use curves::{BranchPoint, branch, fold_curve, hopf_curve};
pub use normal_form::{Criticality, Normalisation, bautin_points, critical_root, criticality};
pub use search::{Search, crossings};

use crate::complex::{Elementary, c64};

use crate::{
    continuation::{End, Equations, scales},
    equilibrium::check_smooth,
    error::{Error, Result},
    linalg::{Lu, null_vectors},
    linear::{Forms, Linear, Mode, steady},
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
    /// A real root crosses zero while the equilibrium lives on: two branches cross (a transcritical
    /// or pitchfork bifurcation).
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
            // at omega = 0 everything is real, and must be taken so for one real equation to
            // suffice
            for v in [&mut self.right, &mut self.left] {
                let largest = v
                    .iter()
                    .copied()
                    .max_by(|a, b| a.modulus().total_cmp(&b.modulus()))
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
        const NEWTON_ITERATIONS: usize = 30;
        let mut u = guess;
        let m = u.len();
        let (mut residual, mut jacobian) = (Vec::new(), Vec::new());
        let mut last = f64::INFINITY;
        let mut observed = vec![0.0; m];
        for iteration in 0..NEWTON_ITERATIONS {
            let scale = scales(&u, &mut observed);
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
            iterations: NEWTON_ITERATIONS,
            residual: last,
        })
    }

    /// From the bordered matrix [Delta b; c 0]: g, zero where Delta is singular, and the null
    /// vectors v and w.
    fn bordered(&self, delta: &[c64]) -> Result<(c64, Vec<c64>, Vec<c64>)> {
        let n = self.left.len();
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
        if g.re.is_finite() && g.im.is_finite() {
            Ok((g, v, w))
        } else {
            Err(Error::Singular {
                what: "the bordered characteristic matrix",
            })
        }
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
        let (g, v, w) = self.bordered(&delta)?;
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
/// [`Error::NewtonFailed`], [`Error::Singular`]; [`Error::OnClamp`] or [`Error::OutOfBounds`] if it
/// lies where the model is not smooth.
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
