//! The linearisation at an equilibrium, its characteristic matrix, and multilinear forms of the
//! full system.

use num_dual::{Dual64, HyperDual64, HyperHyperDual64};

use crate::{
    complex::{Elementary, c64},
    linalg::Lu,
    system::{Args, DynSystem, Scalar, constant, delays_at, evaluate, private::Evaluate},
};

/// A linear system x'(t) = A_0 x(t) + sum_j A_j x(t - tau_j).
#[derive(Clone, Debug, PartialEq)]
pub struct Linear {
    n: usize,
    delays: Vec<f64>,
    matrices: Vec<Vec<f64>>,
}

impl Linear {
    /// From its matrices (row by row, n x n each), `matrices[j]` belonging to `delays[j]`; the
    /// undelayed part has delay 0.
    ///
    /// # Panics
    /// If the sizes do not agree or a delay is negative: a programming error.
    #[must_use]
    pub fn new(n: usize, delays: Vec<f64>, matrices: Vec<Vec<f64>>) -> Self {
        assert!(
            delays.len() == matrices.len() && matrices.iter().all(|a| a.len() == n * n),
            "sizes of the matrices"
        );
        assert!(delays.iter().all(|t| *t >= 0.0), "negative delay");
        Self {
            n,
            delays,
            matrices,
        }
    }

    /// The linearisation of `system` at the equilibrium `x`. A state-dependent delay is frozen at
    /// its value there, which is exact (the derivative of a constant history is zero).
    #[must_use]
    pub fn of(system: &dyn DynSystem, x: &[f64], p: &[f64]) -> Self {
        let (n, m) = (system.dimension(), system.delays());
        let mut delays = vec![0.0];
        delays.extend(delays_at(system, x, p));
        let mut matrices = vec![vec![0.0; n * n]; m + 1];
        let parameters: Vec<Dual64> = p.iter().map(|v| Dual64::from_re(*v)).collect();
        let mut states: Vec<Dual64> = Vec::with_capacity(n * (m + 1));
        for _ in 0..=m {
            states.extend(x.iter().map(|v| Dual64::from_re(*v)));
        }
        let mut out = vec![Dual64::from_re(0.0); n];
        for (j, matrix) in matrices.iter_mut().enumerate() {
            for k in 0..n {
                states[j * n + k].eps = 1.0;
                let (now, past) = states.split_at(n);
                Dual64::rhs(
                    system,
                    Args {
                        x: now,
                        past,
                        p: &parameters,
                    },
                    &mut out,
                );
                states[j * n + k].eps = 0.0;
                for i in 0..n {
                    matrix[i * n + k] = out[i].eps;
                }
            }
        }
        Self {
            n,
            delays,
            matrices,
        }
    }

    /// Number of states.
    #[must_use]
    pub fn dimension(&self) -> usize {
        self.n
    }

    /// The delays, in seconds (or whatever the system's unit of time is).
    #[must_use]
    pub fn delays(&self) -> &[f64] {
        &self.delays
    }

    /// The matrix that belongs to delay `j`, row by row.
    #[must_use]
    pub fn matrix(&self, j: usize) -> &[f64] {
        &self.matrices[j]
    }

    /// The largest delay.
    #[must_use]
    pub fn largest_delay(&self) -> f64 {
        self.delays.iter().fold(0.0, |a, b| a.max(*b))
    }

    /// The characteristic matrix Delta(lambda) = lambda I - sum_j A_j exp(-lambda tau_j), row by
    /// row.
    #[must_use]
    pub fn characteristic(&self, lambda: c64) -> Vec<c64> {
        let mut out = vec![c64::ZERO; self.n * self.n];
        self.both_into(lambda, &mut out, &mut vec![c64::ZERO; self.n * self.n]);
        out
    }

    /// Its derivative, Delta'(lambda) = I + sum_j tau_j A_j exp(-lambda tau_j).
    #[must_use]
    pub fn characteristic_derivative(&self, lambda: c64) -> Vec<c64> {
        let mut out = vec![c64::ZERO; self.n * self.n];
        self.both_into(lambda, &mut vec![c64::ZERO; self.n * self.n], &mut out);
        out
    }

    /// Delta and Delta' together, sharing the exponentials.
    pub(crate) fn both_into(&self, lambda: c64, delta: &mut [c64], derivative: &mut [c64]) {
        delta.fill(c64::ZERO);
        derivative.fill(c64::ZERO);
        for (tau, a) in self.delays.iter().zip(&self.matrices) {
            let e = if *tau == 0.0 {
                c64::ONE
            } else {
                (-lambda * *tau).exponential()
            };
            let slope = e * *tau;
            for k in 0..a.len() {
                if a[k] != 0.0 {
                    delta[k] -= e * a[k];
                    derivative[k] += slope * a[k];
                }
            }
        }
        for i in 0..self.n {
            delta[i * self.n + i] += lambda;
            derivative[i * self.n + i] += c64::ONE;
        }
    }

    /// det Delta(lambda).
    #[must_use]
    pub fn determinant(&self, lambda: c64) -> c64 {
        Lu::of(self.n, &self.characteristic(lambda)).determinant()
    }

    /// A bound on |lambda| for all characteristic roots with real part >= `line`: the Perron root
    /// of sum_j |A_j| exp(-line tau_j), which does not depend on the units of the states. It is
    /// bounded from above (Collatz and Wielandt).
    #[must_use]
    pub fn root_bound(&self, line: f64) -> f64 {
        let n = self.n;
        let mut total = vec![0.0; n * n];
        for (tau, a) in self.delays.iter().zip(&self.matrices) {
            let e = libm::exp(-line * tau);
            for (t, v) in total.iter_mut().zip(a) {
                *t += v.abs() * e;
            }
        }
        let mut v = vec![1.0; n];
        let mut best = f64::INFINITY;
        for _ in 0..60 {
            let w: Vec<f64> = (0..n)
                .map(|i| (0..n).map(|k| total[i * n + k] * v[k]).sum())
                .collect();
            let ratio = w.iter().zip(&v).map(|(a, b)| a / b).fold(0.0_f64, f64::max);
            let settled = ratio > 0.999 * best;
            best = best.min(ratio);
            if settled || best == 0.0 {
                break;
            }
            // averaging with the identity stops a periodic matrix from cycling; the floor keeps v
            // positive
            v = w
                .iter()
                .zip(&v)
                .map(|(a, b)| (a / best + b).max(1e-12 * b))
                .collect();
        }
        best
    }
}

/// A history direction: the real part of `amplitude * exp(sigma theta)`, or a perturbation of the
/// parameters alone.
#[derive(Clone, Debug)]
pub(crate) struct Mode {
    pub(crate) exponent: c64,
    pub(crate) amplitude: Vec<c64>,
}

impl Mode {
    pub(crate) fn conjugate(&self) -> Self {
        Self {
            exponent: self.exponent.conj(),
            amplitude: self.amplitude.iter().map(c64::conj).collect(),
        }
    }

    /// The mode whose real part is this mode's imaginary part.
    fn turned(&self) -> Self {
        Self {
            exponent: self.exponent,
            amplitude: self
                .amplitude
                .iter()
                .map(|a| a * c64::new(0.0, -1.0))
                .collect(),
        }
    }

    /// Real part of `amplitude[i] exp(exponent theta)` for a jet theta.
    fn real_at<S: Scalar>(&self, i: usize, theta: S) -> S {
        let a = self.amplitude[i];
        if self.exponent == c64::ZERO {
            return S::from(a.re);
        }
        let turn = theta * self.exponent.im;
        let (sin, cos) = libm::sincos(turn.real());
        let (sin, cos) = (
            taylor(turn, [sin, cos, -sin / 2.0, -cos / 6.0]),
            taylor(turn, [cos, -sin, -cos / 2.0, sin / 6.0]),
        );
        let wave = cos * a.re - sin * a.im;
        if self.exponent.re == 0.0 {
            wave
        } else {
            let growth = theta * self.exponent.re;
            let value = libm::exp(growth.real());
            wave * taylor(growth, [value, value, value / 2.0, value / 6.0])
        }
    }
}

/// A function of a jet from its Taylor coefficients at the jet's value, by `libm`: the dual numbers'
/// own functions are those of the platform.
fn taylor<S: Scalar>(x: S, coefficients: [f64; 4]) -> S {
    const { assert!(S::NDERIV < 4) };
    let offset = x - x.real();
    let last = S::from(coefficients[S::NDERIV]);
    (coefficients[..S::NDERIV].iter().rev()).fold(last, |sum, c| sum * offset + *c)
}

/// The derivatives of the right-hand side at an equilibrium as multilinear forms on complex
/// histories, and along the parameters.
pub(crate) struct Forms<'a> {
    pub(crate) system: &'a dyn DynSystem,
    pub(crate) x: &'a [f64],
    pub(crate) p: &'a [f64],
}

impl Forms<'_> {
    fn jet<S: Scalar>(&self, p: &[S], perturbation: &dyn Fn(S, usize) -> S) -> Vec<S> {
        let mut out = vec![S::from(0.0); self.x.len()];
        let history = |theta: S, out: &mut [S]| {
            for (i, o) in out.iter_mut().enumerate() {
                *o = perturbation(theta, i) + self.x[i];
            }
        };
        evaluate(self.system, &history, p, &mut Vec::new(), &mut out);
        out
    }

    fn parameters<S: Scalar>(&self) -> Vec<S> {
        self.p.iter().map(|v| S::from(*v)).collect()
    }

    /// B(u, v), the second derivative.
    pub(crate) fn second(&self, u: &Mode, v: &Mode) -> Vec<c64> {
        let p = self.parameters();
        let (e1, e2) = (
            HyperDual64::new(0.0, 1.0, 0.0, 0.0),
            HyperDual64::new(0.0, 0.0, 1.0, 0.0),
        );
        let real = |u: &Mode, v: &Mode| -> Vec<f64> {
            self.jet(&p, &|theta: HyperDual64, i| {
                u.real_at(i, theta) * e1 + v.real_at(i, theta) * e2
            })
            .iter()
            .map(|s| s.eps1eps2)
            .collect()
        };
        let (ui, vi) = (u.turned(), v.turned());
        let (rr, ii, ri, ir) = (real(u, v), real(&ui, &vi), real(u, &vi), real(&ui, v));
        (0..rr.len())
            .map(|k| c64::new(rr[k] - ii[k], ri[k] + ir[k]))
            .collect()
    }

    /// C(u, v, w), the third derivative.
    pub(crate) fn third(&self, u: &Mode, v: &Mode, w: &Mode) -> Vec<c64> {
        let p = self.parameters();
        let unit = |k: usize| {
            let mut e = HyperHyperDual64::from_re(0.0);
            match k {
                0 => e.eps1 = 1.0,
                1 => e.eps2 = 1.0,
                _ => e.eps3 = 1.0,
            }
            e
        };
        let (e1, e2, e3) = (unit(0), unit(1), unit(2));
        let real = |u: &Mode, v: &Mode, w: &Mode| -> Vec<f64> {
            self.jet(&p, &|theta: HyperHyperDual64, i| {
                u.real_at(i, theta) * e1 + v.real_at(i, theta) * e2 + w.real_at(i, theta) * e3
            })
            .iter()
            .map(|s| s.eps1eps2eps3)
            .collect()
        };
        let turned = [u.turned(), v.turned(), w.turned()];
        let straight = [u, v, w];
        let mut total = vec![c64::ZERO; self.x.len()];
        // (u_r + i u_i)(v_r + i v_i)(w_r + i w_i), term by term
        for mask in 0..8_usize {
            let pick = |k: usize| {
                if mask >> k & 1 == 1 {
                    &turned[k]
                } else {
                    straight[k]
                }
            };
            let power = [c64::ONE, c64::new(0.0, 1.0), -c64::ONE, c64::new(0.0, -1.0)]
                [mask.count_ones() as usize];
            for (t, v) in total.iter_mut().zip(real(pick(0), pick(1), pick(2))) {
                *t += power * v;
            }
        }
        total
    }

    /// d/da [ sum_j A_j exp(-lambda tau_j) ] q along a direction in (equilibrium, parameters): how
    /// the linear part moves.
    pub(crate) fn drift(&self, mode: &Mode, dx: &[f64], dp: &[f64]) -> Vec<c64> {
        let p: Vec<HyperDual64> = self
            .p
            .iter()
            .zip(dp)
            .map(|(v, d)| HyperDual64::new(*v, 0.0, *d, 0.0))
            .collect();
        let e1 = HyperDual64::new(0.0, 1.0, 0.0, 0.0);
        let real = |u: &Mode| -> Vec<f64> {
            self.jet(&p, &|theta: HyperDual64, i| {
                u.real_at(i, theta) * e1 + HyperDual64::new(0.0, 0.0, dx[i], 0.0)
            })
            .iter()
            .map(|s| s.eps1eps2)
            .collect()
        };
        let (re, im) = (real(mode), real(&mode.turned()));
        re.iter().zip(&im).map(|(a, b)| c64::new(*a, *b)).collect()
    }
}

/// f(x, ..., x, p) with its Jacobian in (x, p\[free\]): one row an equation, n + free.len()
/// columns.
pub(crate) fn steady(
    system: &dyn DynSystem,
    x: &[f64],
    p: &[f64],
    free: &[usize],
) -> (Vec<f64>, Vec<f64>) {
    let n = x.len();
    let columns = n + free.len();
    let mut xs: Vec<Dual64> = x.iter().map(|v| Dual64::from_re(*v)).collect();
    let mut ps: Vec<Dual64> = p.iter().map(|v| Dual64::from_re(*v)).collect();
    let mut work = Vec::new();
    let mut out = vec![Dual64::from_re(0.0); n];
    let mut jacobian = vec![0.0; n * columns];
    for k in 0..columns {
        *(if k < n {
            &mut xs[k].eps
        } else {
            &mut ps[free[k - n]].eps
        }) = 1.0;
        constant(system, &xs, &ps, &mut work, &mut out);
        *(if k < n {
            &mut xs[k].eps
        } else {
            &mut ps[free[k - n]].eps
        }) = 0.0;
        for i in 0..n {
            jacobian[i * columns + k] = out[i].eps;
        }
    }
    (out.iter().map(|o| o.re).collect(), jacobian)
}
