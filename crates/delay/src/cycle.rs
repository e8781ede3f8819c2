//! Periodic orbits by collocation at Gauss points on an adaptive mesh, their branches and Floquet multipliers.
//!
//! Collocation for delay equations: Engelborghs, Luzyanina, in 't Hout and Roose, SIAM J. Sci. Comput. 22 (2000). Multipliers from
//! the same discretisation with earlier periods taken as unknowns of their own: Verheyden and Lust 2005; Sieber and Szalai 2011.

use std::f64::consts::{PI, TAU};

use faer::{Mat, c64, prelude::Solve};
use num_dual::Dual64;

use crate::{
    bifurcation::{Curve, HopfPoint, Normalisation, criticality},
    continuation::{End, Equations, Follow, Limit, follow},
    error::{Error, Result},
    linalg::{eigenvalues, solve},
    spectrum::barycentric,
    system::{Args, DynSystem, private::Evaluate},
};

/// Polynomial degree on a mesh interval.
const DEGREE: usize = 7;

/// A periodic orbit: piecewise polynomials of the phase s = t / period in [0, 1).
#[derive(Clone, Debug, PartialEq)]
pub struct Cycle {
    /// The period.
    pub period: f64,
    /// All parameters.
    pub p: Vec<f64>,
    /// Estimated error relative to the size of each state.
    pub error: f64,
    n: usize,
    mesh: Vec<f64>,
    /// State values at DEGREE + 1 Chebyshev points of each interval, ends shared.
    nodes: Vec<f64>,
}

/// How accurately cycles are computed.
#[derive(Clone, Debug, PartialEq)]
pub struct Resolution {
    /// Wanted error estimate, relative to the size of each state.
    pub tolerance: f64,
    /// Mesh intervals to begin with.
    pub intervals: usize,
    /// The most intervals to use.
    pub largest: usize,
}

impl Default for Resolution {
    fn default() -> Self {
        Self {
            tolerance: 1e-9,
            intervals: 8,
            largest: 120,
        }
    }
}

/// The Floquet multipliers of a cycle.
#[derive(Clone, Debug, PartialEq)]
pub struct Floquet {
    /// All but the trivial one, by descending modulus; of a complex pair the upper one comes first.
    pub multipliers: Vec<c64>,
    /// Distance from 1 of the multiplier taken as the trivial one: the accuracy of them all.
    pub trivial_error: f64,
}

impl Floquet {
    /// Number of multipliers outside the unit circle.
    ///
    /// # Errors
    /// [`Error::TrivialMultiplier`] when the trivial multiplier is off by more than `tolerance`, or so is another one from the unit
    /// circle: then nothing can be claimed.
    pub fn unstable(&self, tolerance: f64) -> Result<usize> {
        if self.trivial_error > tolerance {
            return Err(Error::TrivialMultiplier {
                error: self.trivial_error,
            });
        }
        Ok(self.multipliers.iter().filter(|m| m.norm() > 1.0).count())
    }

    /// The real multiplier nearest to -1, if any is real and negative.
    #[must_use]
    pub fn nearest_minus_one(&self) -> Option<f64> {
        let flips = self
            .multipliers
            .iter()
            .filter(|m| m.im == 0.0 && m.re < 0.0)
            .map(|m| m.re);
        flips.min_by(|a, b| (a + 1.0).abs().total_cmp(&(b + 1.0).abs()))
    }
}

/// Points, weights and basis values on the unit interval, the same for every interval.
struct Reference {
    nodes: Vec<f64>,
    weights: Vec<f64>,
    gauss: Vec<f64>,
    quadrature: Vec<f64>,
    /// Basis values and derivatives at the Gauss points, point by point.
    value: Vec<Vec<f64>>,
    slope: Vec<Vec<f64>>,
    /// Derivative matrix on the nodes.
    differentiate: Vec<Vec<f64>>,
}

impl Reference {
    fn new() -> Self {
        let m = DEGREE;
        let nodes: Vec<f64> = (0..=m)
            .map(|k| 0.5 * (1.0 - (PI * k as f64 / m as f64).cos()))
            .collect();
        let weights: Vec<f64> = (0..=m)
            .map(|k| {
                (if k == 0 || k == m { 0.5 } else { 1.0 }) * if k % 2 == 0 { 1.0 } else { -1.0 }
            })
            .collect();
        let mut differentiate = vec![vec![0.0; m + 1]; m + 1];
        for i in 0..=m {
            for j in 0..=m {
                if i != j {
                    differentiate[i][j] = weights[j] / weights[i] / (nodes[i] - nodes[j]);
                    differentiate[i][i] -= differentiate[i][j];
                }
            }
        }
        let (gauss, quadrature) = gauss_legendre(m);
        let value: Vec<Vec<f64>> = gauss
            .iter()
            .map(|c| barycentric(&nodes, &weights, *c))
            .collect();
        let slope = value
            .iter()
            .map(|b| {
                (0..=m)
                    .map(|j| (0..=m).map(|i| b[i] * differentiate[i][j]).sum())
                    .collect()
            })
            .collect();
        Self {
            nodes,
            weights,
            gauss,
            quadrature,
            value,
            slope,
            differentiate,
        }
    }

    /// Basis values and derivatives at a point of the unit interval.
    fn basis(&self, c: f64) -> (Vec<f64>, Vec<f64>) {
        let b = barycentric(&self.nodes, &self.weights, c);
        let d = (0..=DEGREE)
            .map(|j| (0..=DEGREE).map(|i| b[i] * self.differentiate[i][j]).sum())
            .collect();
        (b, d)
    }
}

/// Gauss-Legendre points and weights on [0, 1].
fn gauss_legendre(count: usize) -> (Vec<f64>, Vec<f64>) {
    let mut points = vec![0.0; count];
    let mut weights = vec![0.0; count];
    for k in 0..count {
        let mut x = -(PI * (k as f64 + 0.75) / (count as f64 + 0.5)).cos();
        let mut slope = 1.0;
        for _ in 0..50 {
            let (mut p0, mut p1) = (1.0, x);
            for j in 2..=count {
                (p0, p1) = (
                    p1,
                    ((2 * j - 1) as f64 * x * p1 - (j - 1) as f64 * p0) / j as f64,
                );
            }
            slope = count as f64 * (x * p1 - p0) / (x * x - 1.0);
            let step = p1 / slope;
            x -= step;
            if step.abs() < 1e-16 {
                break;
            }
        }
        points[k] = 0.5 * (1.0 + x);
        weights[k] = 1.0 / ((1.0 - x * x) * slope * slope);
    }
    (points, weights)
}

impl Cycle {
    /// A first guess from a function of the phase in [0, 1).
    ///
    /// # Errors
    /// [`Error::Argument`] for a period that is not positive.
    pub fn guess(
        n: usize,
        period: f64,
        p: &[f64],
        intervals: usize,
        profile: &dyn Fn(f64, &mut [f64]),
    ) -> Result<Self> {
        if !(period.is_finite() && period > 0.0 && intervals > 0 && n > 0) {
            return Err(Error::Argument(format!(
                "a cycle of period {period} on {intervals} intervals"
            )));
        }
        let mesh: Vec<f64> = (0..=intervals)
            .map(|i| i as f64 / intervals as f64)
            .collect();
        let mut new = Self {
            period,
            p: p.to_vec(),
            error: f64::INFINITY,
            n,
            mesh,
            nodes: Vec::new(),
        };
        new.fill(profile);
        Ok(new)
    }

    fn fill(&mut self, profile: &dyn Fn(f64, &mut [f64])) {
        let reference = Reference::new();
        let count = self.intervals() * DEGREE + 1;
        self.nodes = vec![0.0; count * self.n];
        for k in 0..count {
            profile(
                node_phase(&self.mesh, &reference, k),
                &mut self.nodes[k * self.n..(k + 1) * self.n],
            );
        }
    }

    /// Number of mesh intervals.
    #[must_use]
    pub fn intervals(&self) -> usize {
        self.mesh.len() - 1
    }

    /// The state at phase `s` (any real number; whole periods are dropped).
    pub fn at(&self, s: f64, out: &mut [f64]) {
        let reference = Reference::new();
        self.at_with(&reference, s, out);
    }

    fn at_with(&self, reference: &Reference, s: f64, out: &mut [f64]) {
        let (i, c) = locate(&self.mesh, s - s.floor());
        let b = barycentric(&reference.nodes, &reference.weights, c);
        out.fill(0.0);
        for (l, b) in b.iter().enumerate() {
            let node = (i * DEGREE + l) * self.n;
            for k in 0..self.n {
                out[k] += b * self.nodes[node + k];
            }
        }
    }

    /// The state at time `t` after phase 0.
    #[must_use]
    pub fn state(&self, t: f64) -> Vec<f64> {
        let mut out = vec![0.0; self.n];
        self.at(t / self.period, &mut out);
        out
    }

    /// Smallest and largest value of state `i` over the cycle.
    #[must_use]
    pub fn range(&self, i: usize) -> (f64, f64) {
        let reference = Reference::new();
        let mut state = vec![0.0; self.n];
        let mut value = |s: f64| {
            self.at_with(&reference, s, &mut state);
            state[i]
        };
        let samples = 12 * self.intervals();
        let phase = |k: i64| {
            // samples follow the mesh
            let k = k.rem_euclid(samples as i64) as usize;
            let (a, b) = (self.mesh[k / 12], self.mesh[k / 12 + 1]);
            a + (b - a) * (k % 12) as f64 / 12.0
        };
        let values: Vec<f64> = (0..samples as i64).map(|k| value(phase(k))).collect();
        let extreme = |sign: f64, value: &mut dyn FnMut(f64) -> f64| {
            let best = (0..samples)
                .max_by(|a, b| (sign * values[*a]).total_cmp(&(sign * values[*b])))
                .unwrap_or(0) as i64;
            let (mut a, mut b) = (phase(best - 1), phase(best + 1));
            let middle = phase(best);
            if a > middle {
                a -= 1.0;
            }
            if b < middle {
                b += 1.0;
            }
            // golden section: the function is smooth with one extremum here
            let ratio = 0.5 * (5.0_f64.sqrt() - 1.0);
            for _ in 0..60 {
                let (c, d) = (b - ratio * (b - a), a + ratio * (b - a));
                if sign * value(c) > sign * value(d) {
                    b = d;
                } else {
                    a = c;
                }
            }
            sign * (sign * value(0.5 * (a + b))).max(sign * values[best as usize])
        };
        (extreme(-1.0, &mut value), extreme(1.0, &mut value))
    }

    /// Amplitude of the first harmonic of state `i`.
    #[must_use]
    pub fn amplitude(&self, i: usize) -> f64 {
        let collocation = Collocation::of(self);
        let (cos, sin) = collocation.harmonic(i);
        let dot = |row: &[f64]| -> f64 { row.iter().zip(&self.nodes).map(|(a, b)| a * b).sum() };
        dot(&cos).hypot(dot(&sin))
    }

    /// Time average of state `i`.
    #[must_use]
    pub fn mean(&self, i: usize) -> f64 {
        Collocation::of(self)
            .integral(i, &|_| 1.0)
            .iter()
            .zip(&self.nodes)
            .map(|(a, b)| a * b)
            .sum()
    }

    /// The switch functions that change their sign along the cycle: the model is not smooth there, and neither the accuracy claimed
    /// nor the multipliers hold.
    #[must_use]
    pub fn switches_crossed(&self, system: &dyn DynSystem) -> Vec<usize> {
        let count = system.switches();
        if count == 0 {
            return Vec::new();
        }
        let reference = Reference::new();
        let (n, m) = (self.n, system.delays());
        let (mut low, mut high) = (vec![f64::INFINITY; count], vec![f64::NEG_INFINITY; count]);
        let (mut x, mut past, mut out) = (vec![0.0; n], vec![0.0; n * m], vec![0.0; count]);
        for k in 0..20 * self.intervals() {
            let s = k as f64 / (20 * self.intervals()) as f64;
            self.at_with(&reference, s, &mut x);
            for j in 0..m {
                let tau = system.delay_f64(
                    j,
                    Args {
                        x: &x,
                        past: &past,
                        p: &self.p,
                    },
                );
                let mut slot = vec![0.0; n];
                self.at_with(&reference, s - tau / self.period, &mut slot);
                past[j * n..(j + 1) * n].copy_from_slice(&slot);
            }
            system.switch(
                Args {
                    x: &x,
                    past: &past,
                    p: &self.p,
                },
                &mut out,
            );
            for i in 0..count {
                low[i] = low[i].min(out[i]);
                high[i] = high[i].max(out[i]);
            }
        }
        (0..count)
            .filter(|i| low[*i] < 0.0 && high[*i] > 0.0)
            .collect()
    }

    /// The cycle on another mesh.
    fn remeshed(&self, mesh: Vec<f64>) -> Self {
        let reference = Reference::new();
        let mut new = Self {
            mesh,
            nodes: Vec::new(),
            ..self.clone()
        };
        let old = |s: f64, out: &mut [f64]| {
            // the closing node belongs to the last interval, not to the first of the next period
            if s >= 1.0 {
                out.copy_from_slice(&self.nodes[self.nodes.len() - self.n..]);
            } else {
                self.at_with(&reference, s, out);
            }
        };
        new.fill(&old);
        new
    }

    /// Error estimate of each interval and the mesh density: both from the highest derivative the polynomials have, differenced
    /// between neighbours (de Boor).
    fn estimate(&self) -> (f64, Vec<f64>) {
        let reference = Reference::new();
        let (n, l) = (self.n, self.intervals());
        let factorial: f64 = (1..=DEGREE).map(|k| k as f64).product();
        // the m-th divided difference over the nodes is the m-th derivative / m!
        let differences: Vec<f64> = (0..=DEGREE)
            .map(|k| {
                1.0 / (0..=DEGREE)
                    .filter(|j| *j != k)
                    .map(|j| reference.nodes[k] - reference.nodes[j])
                    .product::<f64>()
            })
            .collect();
        let size: Vec<f64> = (0..n).map(|k| self.size(k)).collect();
        let mut density = vec![0.0; l];
        let mut error = 0.0_f64;
        for k in 0..n {
            let top: Vec<f64> = (0..l)
                .map(|i| {
                    let h = self.mesh[i + 1] - self.mesh[i];
                    let sum: f64 = (0..=DEGREE)
                        .map(|a| differences[a] * self.nodes[(i * DEGREE + a) * n + k])
                        .sum();
                    sum * factorial / h.powi(DEGREE as i32)
                })
                .collect();
            let jump = |i: usize| {
                let next = (i + 1) % l;
                let width =
                    0.5 * (self.mesh[i + 1] - self.mesh[i] + self.mesh[next + 1] - self.mesh[next]);
                (top[next] - top[i]).abs() / width
            };
            for i in 0..l {
                let slope = 0.5 * (jump(i) + jump((i + l - 1) % l)) / size[k];
                let h = self.mesh[i + 1] - self.mesh[i];
                error = error.max(
                    slope * h.powi(DEGREE as i32 + 1) / (factorial * (DEGREE + 1) as f64)
                        * 2.0_f64.powi(1 - 2 * DEGREE as i32),
                );
                density[i] = f64::max(density[i], slope.powf(1.0 / (DEGREE + 1) as f64));
            }
        }
        (error, density)
    }

    /// Size of state `i`: half its range, or a small part of its largest value.
    fn size(&self, i: usize) -> f64 {
        let values = self.nodes.iter().skip(i).step_by(self.n);
        let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| {
            (a.min(*v), b.max(*v))
        });
        (0.5 * (high - low))
            .max(1e-6 * low.abs().max(high.abs()))
            .max(1e-300)
    }

    fn equidistributed(&self, density: &[f64], intervals: usize) -> Vec<f64> {
        let l = density.len();
        let mean = (0..l)
            .map(|i| density[i] * (self.mesh[i + 1] - self.mesh[i]))
            .sum::<f64>();
        // a floor keeps intervals from growing without bound where the orbit is flat
        let floored: Vec<f64> = density.iter().map(|d| d + 0.3 * mean).collect();
        let mut cumulative = vec![0.0];
        for i in 0..l {
            cumulative.push(cumulative[i] + floored[i] * (self.mesh[i + 1] - self.mesh[i]));
        }
        let total = cumulative[l];
        let mut mesh: Vec<f64> = (0..=intervals)
            .map(|k| {
                let target = total * k as f64 / intervals as f64;
                let i = cumulative.partition_point(|c| *c <= target).clamp(1, l) - 1;
                self.mesh[i]
                    + (target - cumulative[i]) / (cumulative[i + 1] - cumulative[i])
                        * (self.mesh[i + 1] - self.mesh[i])
            })
            .collect();
        mesh[0] = 0.0;
        mesh[intervals] = 1.0;
        mesh
    }
}

/// Interval and position within it of a phase in [0, 1].
fn locate(mesh: &[f64], s: f64) -> (usize, f64) {
    let i = mesh.partition_point(|t| *t <= s).clamp(1, mesh.len() - 1) - 1;
    (i, (s - mesh[i]) / (mesh[i + 1] - mesh[i]))
}

fn node_phase(mesh: &[f64], reference: &Reference, k: usize) -> f64 {
    let i = (k / DEGREE).min(mesh.len() - 2);
    mesh[i] + (mesh[i + 1] - mesh[i]) * reference.nodes[k - i * DEGREE]
}

/// The discretised equations on one mesh.
struct Collocation {
    reference: Reference,
    mesh: Vec<f64>,
    n: usize,
}

impl Collocation {
    fn of(cycle: &Cycle) -> Self {
        Self {
            reference: Reference::new(),
            mesh: cycle.mesh.clone(),
            n: cycle.n,
        }
    }

    fn size(&self) -> usize {
        self.n * ((self.mesh.len() - 1) * DEGREE + 1)
    }

    /// The row that integrates weight(s) times state `i` over the cycle.
    fn integral(&self, i: usize, weight: &dyn Fn(f64) -> f64) -> Vec<f64> {
        let mut row = vec![0.0; self.size()];
        for interval in 0..self.mesh.len() - 1 {
            let (a, h) = (
                self.mesh[interval],
                self.mesh[interval + 1] - self.mesh[interval],
            );
            for (g, c) in self.reference.gauss.iter().enumerate() {
                let factor = h * self.reference.quadrature[g] * weight(a + h * c);
                for l in 0..=DEGREE {
                    row[(interval * DEGREE + l) * self.n + i] +=
                        factor * self.reference.value[g][l];
                }
            }
        }
        row
    }

    /// Rows of the cosine and sine coefficients of the first harmonic of state `i`.
    fn harmonic(&self, i: usize) -> (Vec<f64>, Vec<f64>) {
        (
            self.integral(i, &|s| 2.0 * (TAU * s).cos()),
            self.integral(i, &|s| 2.0 * (TAU * s).sin()),
        )
    }

    /// The row of the phase condition, the integral of reference'(s) . u(s), each state in units of its size.
    fn phase(&self, reference: &Cycle) -> Vec<f64> {
        let mut row = vec![0.0; self.size()];
        let n = self.n;
        let size: Vec<f64> = (0..n).map(|k| reference.size(k)).collect();
        for interval in 0..self.mesh.len() - 1 {
            for g in 0..DEGREE {
                for k in 0..n {
                    let slope: f64 = (0..=DEGREE)
                        .map(|l| {
                            self.reference.slope[g][l]
                                * reference.nodes[(interval * DEGREE + l) * n + k]
                        })
                        .sum::<f64>()
                        / (size[k] * size[k]);
                    for l in 0..=DEGREE {
                        row[(interval * DEGREE + l) * n + k] +=
                            self.reference.quadrature[g] * slope * self.reference.value[g][l];
                    }
                }
            }
        }
        row
    }

    /// Residuals of u' = T f at the Gauss points, and their derivatives handed to `entry(row, column, periods back, value)`;
    /// the columns after the nodes are T and the free parameter.
    #[allow(clippy::too_many_arguments)] // all of them independent
    fn assemble(
        &self,
        system: &dyn DynSystem,
        nodes: &[f64],
        period: f64,
        p: &[f64],
        free: Option<usize>,
        residual: &mut Vec<f64>,
        entry: &mut dyn FnMut(usize, usize, usize, f64),
    ) -> Result<()> {
        let (n, m) = (self.n, system.delays());
        let size = self.size();
        residual.clear();
        let zero = Dual64::from_re(0.0);
        let mut x = vec![0.0; n];
        let mut past = vec![0.0; n * m];
        let mut past_slope = vec![0.0; n * m];
        let mut places: Vec<(usize, usize, Vec<f64>)> = Vec::with_capacity(m);
        let mut dx = vec![zero; n];
        let mut dpast = vec![zero; n * m];
        let mut dp: Vec<Dual64> = p.iter().map(|v| Dual64::from_re(*v)).collect();
        let mut out = vec![zero; n];
        for interval in 0..self.mesh.len() - 1 {
            let (a, h) = (
                self.mesh[interval],
                self.mesh[interval + 1] - self.mesh[interval],
            );
            for g in 0..DEGREE {
                let row = (interval * DEGREE + g) * n;
                let s = a + h * self.reference.gauss[g];
                let (value, slope) = (&self.reference.value[g], &self.reference.slope[g]);
                let base = interval * DEGREE;
                for k in 0..n {
                    x[k] = (0..=DEGREE)
                        .map(|l| value[l] * nodes[(base + l) * n + k])
                        .sum();
                }
                places.clear();
                for j in 0..m {
                    let tau = system.delay_f64(
                        j,
                        Args {
                            x: &x,
                            past: &past,
                            p,
                        },
                    );
                    if tau < 0.0 || tau.is_nan() {
                        let time = s * period;
                        return Err(Error::BadDelay {
                            delay: j,
                            value: tau,
                            time,
                            cause: "a delay must not be negative",
                        });
                    }
                    let at = s - tau / period;
                    let back = (-at.floor()) as usize;
                    let (i, c) = locate(&self.mesh, at - at.floor());
                    let (b, d) = self.reference.basis(c);
                    let width = self.mesh[i + 1] - self.mesh[i];
                    for k in 0..n {
                        past[j * n + k] = (0..=DEGREE)
                            .map(|l| b[l] * nodes[(i * DEGREE + l) * n + k])
                            .sum();
                        past_slope[j * n + k] = (0..=DEGREE)
                            .map(|l| d[l] * nodes[(i * DEGREE + l) * n + k])
                            .sum::<f64>()
                            / width;
                    }
                    places.push((back, i, b));
                }
                // directions: states now, delayed states, the period, the free parameter
                let directions = n * (m + 1) + 1 + usize::from(free.is_some());
                for direction in 0..directions {
                    for k in 0..n {
                        dx[k] = Dual64::new(x[k], f64::from(u8::from(direction == k)));
                    }
                    let length = Dual64::new(period, f64::from(u8::from(direction == n * (m + 1))));
                    if let Some(free) = free {
                        dp[free].eps = f64::from(u8::from(direction == n * (m + 1) + 1));
                    }
                    for j in 0..m {
                        let tau = Dual64::delay(
                            system,
                            j,
                            Args {
                                x: &dx,
                                past: &dpast,
                                p: &dp,
                            },
                        );
                        let shift = -(tau / length).eps;
                        for k in 0..n {
                            let own = f64::from(u8::from(direction == n * (j + 1) + k));
                            dpast[j * n + k] =
                                Dual64::new(past[j * n + k], own + past_slope[j * n + k] * shift);
                        }
                    }
                    Dual64::rhs(
                        system,
                        Args {
                            x: &dx,
                            past: &dpast,
                            p: &dp,
                        },
                        &mut out,
                    );
                    for i in 0..n {
                        let derivative = -(out[i] * length).eps;
                        if direction == 0 {
                            let own: f64 = (0..=DEGREE)
                                .map(|l| slope[l] * nodes[(base + l) * n + i])
                                .sum();
                            residual.push(own / h - period * out[i].re);
                        }
                        if derivative == 0.0 {
                            continue;
                        }
                        if direction < n {
                            for l in 0..=DEGREE {
                                entry(
                                    row + i,
                                    (base + l) * n + direction,
                                    0,
                                    derivative * value[l],
                                );
                            }
                        } else if direction < n * (m + 1) {
                            let (back, interval, b) = &places[direction / n - 1];
                            for l in 0..=DEGREE {
                                entry(
                                    row + i,
                                    (interval * DEGREE + l) * n + direction % n,
                                    *back,
                                    derivative * b[l],
                                );
                            }
                        } else {
                            entry(row + i, size + direction - n * (m + 1), 0, derivative);
                        }
                    }
                }
                for i in 0..n {
                    for l in 0..=DEGREE {
                        entry(row + i, (base + l) * n + i, 0, slope[l] / h);
                    }
                }
            }
        }
        // the orbit closes
        let last = size - n;
        for i in 0..n {
            residual.push(nodes[i] - nodes[last + i]);
            entry(last + i, i, 0, 1.0);
            entry(last + i, last + i, 1, -1.0);
        }
        if residual.iter().all(|r| r.is_finite()) {
            Ok(())
        } else {
            Err(Error::NotFinite { time: 0.0 })
        }
    }
}

/// A linear condition on (nodes, T, parameter): row . unknowns = target.
struct Condition {
    row: Vec<f64>,
    target: f64,
}

/// Newton's method on the collocation equations with one condition for each unknown beyond the nodes.
fn newton(
    system: &dyn DynSystem,
    cycle: &Cycle,
    free: Option<usize>,
    conditions: &[Condition],
) -> Result<Cycle> {
    const ITERATIONS: usize = 20;
    let collocation = Collocation::of(cycle);
    let (n, size) = (cycle.n, collocation.size());
    let total = size + conditions.len();
    let mut new = cycle.clone();
    let scales: Vec<f64> = (0..n).map(|k| cycle.size(k)).collect();
    let mut residual = Vec::new();
    let mut last = f64::INFINITY;
    for _ in 0..ITERATIONS {
        crate::work::spend(total * total * total / 32)?;
        let mut a = vec![0.0; total * total];
        let (nodes, period, p) = (new.nodes.clone(), new.period, new.p.clone());
        let unit = |column: usize| {
            if column < size {
                scales[column % n]
            } else if column == size {
                period
            } else {
                free.map_or(1.0, |k| if p[k] == 0.0 { 1.0 } else { p[k].abs() })
            }
        };
        collocation.assemble(
            system,
            &nodes,
            period,
            &p,
            free,
            &mut residual,
            &mut |row, column, _, value| {
                a[row * total + column] += value * unit(column) / scales[row % n];
            },
        )?;
        for (i, r) in residual.iter_mut().enumerate() {
            *r /= scales[i % n];
        }
        for (i, condition) in conditions.iter().enumerate() {
            let unknowns = |k: usize| {
                if k < size {
                    nodes[k]
                } else if k == size {
                    period
                } else {
                    free.map_or(0.0, |f| p[f])
                }
            };
            let mut largest = 0.0_f64;
            let row = (size + i) * total;
            let mut value = -condition.target;
            for (k, c) in condition.row.iter().enumerate() {
                a[row + k] = c * unit(k);
                largest = largest.max(a[row + k].abs());
                value += c * unknowns(k);
            }
            for v in &mut a[row..row + total] {
                *v /= largest;
            }
            residual.push(value / largest);
        }
        let step = solve(total, &a, &residual, "a cycle")?;
        let length = step.iter().fold(0.0_f64, |s, v| s.max(v.abs()));
        // far from the solution a full step may leave the domain of the equations
        let damping = (1.0 / length).min(1.0);
        for (k, s) in step.iter().enumerate() {
            let change = damping * s * unit(k);
            if k < size {
                new.nodes[k] -= change;
            } else if k == size {
                new.period -= change;
            } else if let Some(f) = free {
                new.p[f] -= change;
            }
        }
        if new.period <= 0.0 || new.period.is_nan() {
            return Err(Error::NewtonFailed {
                what: "a cycle",
                iterations: ITERATIONS,
                residual: length,
            });
        }
        if length < 1e-11 || length < 1e-8 && length > 0.2 * last {
            // collapsed: no state keeps a thousandth of its range
            let collapsed = (0..n).all(|k| new.size(k) < 1e-3 * scales[k]);
            return if collapsed {
                Err(Error::Collapsed)
            } else {
                Ok(new)
            };
        }
        last = length;
    }
    Err(Error::NewtonFailed {
        what: "a cycle",
        iterations: ITERATIONS,
        residual: last,
    })
}

/// Solves, adapts the mesh, and solves again until the error estimate is below the tolerance.
fn refine(
    guess: &Cycle,
    resolution: &Resolution,
    solve: &mut dyn FnMut(&Cycle) -> Result<Cycle>,
) -> Result<Cycle> {
    let mut cycle = solve(guess)?;
    loop {
        let (error, density) = cycle.estimate();
        cycle.error = error;
        if error <= resolution.tolerance {
            return Ok(cycle);
        }
        let l = cycle.intervals();
        // try the same number of intervals in better places first
        let better = cycle.equidistributed(&density, l);
        let moved = solve(&cycle.remeshed(better))?;
        let (moved_error, density) = moved.estimate();
        cycle = moved;
        cycle.error = moved_error;
        if moved_error <= resolution.tolerance {
            return Ok(cycle);
        }
        if l >= resolution.largest {
            return Err(Error::NotResolved {
                estimate: moved_error,
                intervals: l,
            });
        }
        let growth = (moved_error / resolution.tolerance)
            .powf(1.0 / (DEGREE + 1) as f64)
            .clamp(1.25, 2.0);
        let more = ((l as f64 * growth).ceil() as usize).min(resolution.largest);
        let finer = cycle.equidistributed(&density, more);
        cycle = solve(&cycle.remeshed(finer))?;
    }
}

fn phase_condition(cycle: &Cycle, extra: usize) -> Condition {
    let mut row = Collocation::of(cycle).phase(cycle);
    let target = row.iter().zip(&cycle.nodes).map(|(a, b)| a * b).sum();
    row.resize(row.len() + extra, 0.0);
    Condition { row, target }
}

/// The cycle near `guess` at parameters `p`.
///
/// # Errors
/// [`Error::NewtonFailed`], [`Error::Collapsed`] (the guess led to an equilibrium), [`Error::NotResolved`].
pub fn cycle_at(
    system: &dyn DynSystem,
    guess: &Cycle,
    p: &[f64],
    resolution: &Resolution,
) -> Result<Cycle> {
    let mut start = guess.clone();
    start.p = p.to_vec();
    refine(&start, resolution, &mut |c| {
        newton(system, c, None, &[phase_condition(c, 1)])
    })
}

/// The cycle near `guess` whose state `component` has a first harmonic of the given amplitude; parameter `free` is adjusted.
///
/// The amplitude is a safe coordinate: a branch of cycles passes folds in it, and Newton's method cannot fall onto an equilibrium.
///
/// # Errors
/// As [`cycle_at`]; [`Error::Argument`] for an amplitude that is not positive.
pub fn cycle_with_amplitude(
    system: &dyn DynSystem,
    guess: &Cycle,
    free: usize,
    component: usize,
    amplitude: f64,
    resolution: &Resolution,
) -> Result<Cycle> {
    if !(amplitude > 0.0 && amplitude.is_finite()) || component >= guess.n {
        return Err(Error::Argument(format!(
            "amplitude {amplitude} of state {component}"
        )));
    }
    // turn the phase so that the harmonic of the component is a pure cosine
    let (cos, sin) = Collocation::of(guess).harmonic(component);
    let dot = |row: &[f64]| -> f64 { row.iter().zip(&guess.nodes).map(|(a, b)| a * b).sum() };
    let shift = dot(&sin).atan2(dot(&cos)) / TAU;
    let reference = Reference::new();
    let mut turned = guess.clone();
    turned.fill(&|s, out| guess.at_with(&reference, s + shift, out));
    // and bring the amplitude near the wanted one
    let factor = amplitude / dot(&cos).hypot(dot(&sin));
    let means: Vec<f64> = (0..guess.n).map(|k| guess.mean(k)).collect();
    for (k, v) in turned.nodes.iter_mut().enumerate() {
        *v = means[k % guess.n] + factor * (*v - means[k % guess.n]);
    }
    refine(&turned, resolution, &mut |c| {
        let (mut cos, mut sin) = Collocation::of(c).harmonic(component);
        cos.resize(cos.len() + 2, 0.0);
        sin.resize(sin.len() + 2, 0.0);
        newton(
            system,
            c,
            Some(free),
            &[
                Condition {
                    row: cos,
                    target: amplitude,
                },
                Condition {
                    row: sin,
                    target: 0.0,
                },
            ],
        )
    })
}

/// The cycle of a small given amplitude of state `component` that is born at a Hopf point.
///
/// # Errors
/// As [`cycle_with_amplitude`], and from the normal form that gives the first guess.
pub fn cycle_from_hopf(
    system: &dyn DynSystem,
    hopf: &HopfPoint,
    free: usize,
    component: usize,
    amplitude: f64,
    resolution: &Resolution,
) -> Result<Cycle> {
    let nf = criticality(system, hopf, free, Normalisation::Component(component))?;
    let mut p = hopf.p.clone();
    p[free] += nf.mu2 * (0.5 * amplitude) * (0.5 * amplitude);
    let profile = |s: f64, out: &mut [f64]| {
        let wave = c64::new(0.0, TAU * s).exp();
        for (k, o) in out.iter_mut().enumerate() {
            *o = hopf.x[k] + amplitude * (nf.q[k] * wave).re;
        }
    };
    let guess = Cycle::guess(
        hopf.x.len(),
        TAU / hopf.omega,
        &p,
        resolution.intervals,
        &profile,
    )?;
    cycle_with_amplitude(system, &guess, free, component, amplitude, resolution)
}

/// The Floquet multipliers of a cycle, down to modulus `smallest`.
///
/// # Errors
/// [`Error::Eigenvalues`], [`Error::Singular`]; [`Error::Argument`] when the delays span more than eight periods.
pub fn floquet(system: &dyn DynSystem, cycle: &Cycle, smallest: f64) -> Result<Floquet> {
    const WHAT: &str = "the Floquet multipliers";
    let collocation = Collocation::of(cycle);
    let (n, size) = (cycle.n, collocation.size());
    let scales: Vec<f64> = (0..n).map(|k| cycle.size(k)).collect();
    // parts[k] acts on the perturbation k periods ago
    let mut parts: Vec<Mat<f64>> = vec![Mat::zeros(size, size), Mat::zeros(size, size)];
    let mut residual = Vec::new();
    let mut too_far = false;
    collocation.assemble(
        system,
        &cycle.nodes,
        cycle.period,
        &cycle.p,
        None,
        &mut residual,
        &mut |row, column, back, value| {
            if back > 8 {
                too_far = true;
            } else if column < size {
                while parts.len() <= back {
                    parts.push(Mat::zeros(size, size));
                }
                parts[back][(row, column)] += value * scales[column % n] / scales[row % n];
            }
        },
    )?;
    if too_far {
        return Err(Error::Argument(
            "a delay spans more than eight periods of the cycle".into(),
        ));
    }
    let lu = parts[0].partial_piv_lu();
    let depth = parts.len() - 1;
    // only these unknowns of the past matter
    let used: Vec<usize> = (0..size)
        .filter(|c| {
            parts[1..]
                .iter()
                .any(|m| (0..size).any(|r| m[(r, *c)] != 0.0))
        })
        .collect();
    let count = used.len();
    let total = count * depth;
    let mut map = vec![0.0; total * total];
    for back in 1..=depth {
        let columns = Mat::from_fn(size, count, |r, c| -parts[back][(r, used[c])]);
        let image = lu.solve(&columns);
        for (r, row) in used.iter().enumerate() {
            for c in 0..count {
                map[r * total + (back - 1) * count + c] = image[(*row, c)];
            }
        }
    }
    for k in count..total {
        map[k * total + k - count] = 1.0;
    }
    if map.iter().any(|v| !v.is_finite()) {
        return Err(Error::Singular { what: WHAT });
    }
    let mut values = eigenvalues(total, &map, WHAT)?;
    let trivial = (0..values.len())
        .min_by(|a, b| {
            (values[*a] - 1.0)
                .norm()
                .total_cmp(&(values[*b] - 1.0).norm())
        })
        .ok_or(Error::Eigenvalues(WHAT))?;
    let trivial_error = (values.swap_remove(trivial) - 1.0).norm();
    values.retain(|v| v.norm() >= smallest);
    values.sort_by(|a, b| b.norm().total_cmp(&a.norm()).then(b.im.total_cmp(&a.im)));
    Ok(Floquet {
        multipliers: values,
        trivial_error,
    })
}

/// A cycle of a branch.
#[derive(Clone, Debug, PartialEq)]
pub struct CyclePoint {
    /// The cycle.
    pub cycle: Cycle,
    /// Whether the parameter turned around between the last cycle and this one: a fold of cycles lies between.
    pub after_fold: bool,
}

struct Orbit<'a> {
    system: &'a dyn DynSystem,
    reference: Cycle,
    free: usize,
    resolution: Resolution,
}

impl Orbit<'_> {
    fn join(cycle: &Cycle, free: usize) -> Vec<f64> {
        let mut u = cycle.nodes.clone();
        u.push(cycle.period);
        u.push(cycle.p[free]);
        u
    }

    fn split(&self, u: &[f64]) -> Cycle {
        split_cycle(&self.reference, self.free, u)
    }
}

fn split_cycle(reference: &Cycle, free: usize, u: &[f64]) -> Cycle {
    let size = u.len() - 2;
    let mut cycle = reference.clone();
    cycle.nodes = u[..size].to_vec();
    cycle.period = u[size];
    cycle.p[free] = u[size + 1];
    cycle
}

impl Equations for Orbit<'_> {
    fn evaluate(
        &mut self,
        u: &[f64],
        residual: &mut Vec<f64>,
        jacobian: &mut Vec<f64>,
    ) -> Result<()> {
        let collocation = Collocation::of(&self.reference);
        let (size, columns) = (collocation.size(), u.len());
        jacobian.clear();
        jacobian.resize((columns - 1) * columns, 0.0);
        let mut p = self.reference.p.clone();
        p[self.free] = u[size + 1];
        collocation.assemble(
            self.system,
            &u[..size],
            u[size],
            &p,
            Some(self.free),
            residual,
            &mut |r, c, _, v| {
                jacobian[r * columns + c] += v;
            },
        )?;
        let phase = phase_condition(&self.reference, 2);
        residual.push(phase.row.iter().zip(u).map(|(a, b)| a * b).sum::<f64>() - phase.target);
        jacobian[size * columns..].copy_from_slice(&phase.row);
        Ok(())
    }

    fn accept(&mut self, u: &mut Vec<f64>, tangent: &mut Vec<f64>) -> Result<()> {
        let cycle = self.split(u);
        let (error, density) = cycle.estimate();
        self.reference = cycle;
        self.reference.error = error;
        let l = self.reference.intervals();
        let far = error > self.resolution.tolerance;
        if !far && error > 0.01 * self.resolution.tolerance {
            return Ok(());
        }
        if far && l >= self.resolution.largest {
            return Err(Error::NotResolved {
                estimate: error,
                intervals: l,
            });
        }
        let count = if far {
            (l as f64 * 1.3).ceil() as usize
        } else {
            l.saturating_sub(1).max(self.resolution.intervals)
        };
        if !far && count == l {
            return Ok(());
        }
        let mesh = self
            .reference
            .equidistributed(&density, count.min(self.resolution.largest));
        let direction = split_cycle(&self.reference, self.free, tangent).remeshed(mesh.clone());
        *tangent = Self::join(&direction, self.free);
        self.reference = self.reference.remeshed(mesh);
        *u = Self::join(&self.reference, self.free);
        Ok(())
    }

    fn scales(&self, u: &[f64], _: &mut Vec<f64>) -> Vec<f64> {
        let cycle = self.split(u);
        let weight = ((u.len() - 2) as f64).sqrt();
        let sizes: Vec<f64> = (0..cycle.n).map(|k| weight * cycle.size(k)).collect();
        let mut scales: Vec<f64> = (0..u.len() - 2).map(|k| sizes[k % cycle.n]).collect();
        scales.push(cycle.period);
        scales.push(u[u.len() - 1].abs().max(1e-9));
        scales
    }
}

/// Follows the branch of cycles through `start` in parameter `free`, both ways, through folds, within `range`. It also ends where
/// the cycle shrinks below a thousandth of its largest range (a Hopf point).
///
/// # Errors
/// When `start` cannot be corrected to a cycle.
pub fn cycle_branch(
    system: &dyn DynSystem,
    start: &Cycle,
    free: usize,
    range: (f64, f64),
    options: &Follow,
    resolution: &Resolution,
) -> Result<Curve<CyclePoint>> {
    let start = cycle_at(system, start, &start.p, resolution)?;
    let run = |sign: f64| {
        let mut orbit = Orbit {
            system,
            reference: start.clone(),
            free,
            resolution: resolution.clone(),
        };
        let u = Orbit::join(&start, free);
        let limits = [Limit {
            from_last: 0,
            parameter: free,
            low: range.0,
            high: range.1,
        }];
        let mut points: Vec<CyclePoint> = Vec::new();
        let mut before = sign;
        let mut largest: Vec<f64> = (0..start.n).map(|k| start.size(k)).collect();
        let lead = u.len() - 1;
        let mut visit = |cycle: Cycle, t: &[f64]| {
            let slope = t[t.len() - 1];
            let shrunk = (0..cycle.n).all(|k| {
                largest[k] = largest[k].max(cycle.size(k));
                cycle.size(k) < 1e-3 * largest[k]
            });
            points.push(CyclePoint {
                cycle,
                after_fold: slope * before < 0.0,
            });
            before = slope;
            shrunk.then_some(End::ZeroAmplitude)
        };
        let end = follow_cycles(&mut orbit, &u, lead, sign, &limits, options, &mut visit);
        (points, end)
    };
    let (backward, first) = run(-1.0);
    let (forward, last) = run(1.0);
    let mut points: Vec<CyclePoint> = backward.into_iter().rev().collect();
    // seen from the other side the turn lies between a point and its predecessor
    for k in (1..points.len()).rev() {
        points[k].after_fold = points[k - 1].after_fold;
    }
    if let Some(first) = points.first_mut() {
        first.after_fold = false;
    }
    points.push(CyclePoint {
        cycle: start.clone(),
        after_fold: false,
    });
    points.extend(forward);
    Ok(Curve {
        points,
        start: first,
        end: last,
    })
}

/// [`follow`] with cycles in place of vectors: the mesh of a vector is the one the equations hold when it is visited.
fn follow_cycles(
    orbit: &mut Orbit<'_>,
    u: &[f64],
    lead: usize,
    sign: f64,
    limits: &[Limit],
    options: &Follow,
    visit: &mut dyn FnMut(Cycle, &[f64]) -> Option<End>,
) -> End {
    let shared = std::cell::RefCell::new(orbit.reference.clone());
    let free = orbit.free;
    struct Watched<'a, 'b>(&'a mut Orbit<'b>, &'a std::cell::RefCell<Cycle>);
    impl Equations for Watched<'_, '_> {
        fn evaluate(
            &mut self,
            u: &[f64],
            residual: &mut Vec<f64>,
            jacobian: &mut Vec<f64>,
        ) -> Result<()> {
            self.0.evaluate(u, residual, jacobian)
        }
        fn accept(&mut self, u: &mut Vec<f64>, tangent: &mut Vec<f64>) -> Result<()> {
            self.0.accept(u, tangent)?;
            self.1.replace(self.0.reference.clone());
            Ok(())
        }
        fn scales(&self, u: &[f64], seen: &mut Vec<f64>) -> Vec<f64> {
            self.0.scales(u, seen)
        }
    }
    let mut watched = Watched(orbit, &shared);
    let mut seen = |u: &[f64], t: &[f64]| {
        let mut cycle = split_cycle(&shared.borrow(), free, u);
        cycle.error = cycle.estimate().0;
        visit(cycle, t)
    };
    follow(
        &mut watched,
        u,
        lead,
        sign,
        limits,
        options,
        "a branch of cycles",
        &mut seen,
    )
}

/// The fold of cycles (saddle-node of periodic orbits) between two amplitudes of state `component` on one branch: the extremum of
/// parameter `free` as a function of the amplitude, where d parameter / d amplitude (exact) changes its sign.
///
/// # Errors
/// As [`cycle_with_amplitude`]; [`Error::NotFound`] if the derivative has the same sign at both ends.
pub fn cycle_fold(
    system: &dyn DynSystem,
    near: &Cycle,
    free: usize,
    component: usize,
    amplitudes: (f64, f64),
    resolution: &Resolution,
) -> Result<Cycle> {
    let mut cycle = near.clone();
    let mut slope = |amplitude: f64| -> Result<(f64, Cycle)> {
        // walk there in steps that Newton's method can take
        let mut now = cycle.amplitude(component);
        while (amplitude / now).ln().abs() > 0.3 {
            now *= if amplitude > now { 1.3 } else { 1.0 / 1.3 };
            cycle = cycle_with_amplitude(system, &cycle, free, component, now, resolution)?;
        }
        cycle = cycle_with_amplitude(system, &cycle, free, component, amplitude, resolution)?;
        Ok((
            parameter_slope(system, &cycle, free, component)?,
            cycle.clone(),
        ))
    };
    let (mut a, mut b) = amplitudes;
    let (mut fa, mut fb) = (slope(a)?.0, slope(b)?.0);
    if fa * fb > 0.0 {
        return Err(Error::NotFound {
            kind: "fold of cycles",
            parameter: free,
            from: near.p[free],
            to: near.p[free],
        });
    }
    let mut best = near.clone();
    for _ in 0..60 {
        let c = (a * fb - b * fa) / (fb - fa);
        let (fc, found) = slope(c)?;
        best = found;
        if fc * fb < 0.0 {
            (a, fa) = (b, fb);
        } else {
            fa *= 0.5;
        }
        let moved = (c - b).abs();
        (b, fb) = (c, fc);
        if moved < 1e-8 * c || fc == 0.0 {
            break;
        }
    }
    Ok(best)
}

/// d parameter / d amplitude at a cycle whose harmonic is a pure cosine.
fn parameter_slope(
    system: &dyn DynSystem,
    cycle: &Cycle,
    free: usize,
    component: usize,
) -> Result<f64> {
    let collocation = Collocation::of(cycle);
    let (n, size) = (cycle.n, collocation.size());
    let total = size + 2;
    let scales: Vec<f64> = (0..n).map(|k| cycle.size(k)).collect();
    let unit = |column: usize| {
        if column < size {
            scales[column % n]
        } else {
            1.0
        }
    };
    let mut a = vec![0.0; total * total];
    let mut residual = Vec::new();
    collocation.assemble(
        system,
        &cycle.nodes,
        cycle.period,
        &cycle.p,
        Some(free),
        &mut residual,
        &mut |r, c, _, v| {
            a[r * total + c] += v * unit(c) / scales[r % n];
        },
    )?;
    let (cos, sin) = collocation.harmonic(component);
    for k in 0..size {
        a[size * total + k] = cos[k] * unit(k) / scales[component];
        a[(size + 1) * total + k] = sin[k] * unit(k) / scales[component];
    }
    let mut b = vec![0.0; total];
    b[size] = 1.0 / scales[component];
    Ok(solve(total, &a, &b, "a fold of cycles")?[size + 1])
}

/// The period doubling between two cycles of one branch: where a real multiplier passes -1. Parameter `free` is the one that
/// differs between them.
///
/// # Errors
/// [`Error::NotFound`] if no multiplier passes -1 between them; as [`cycle_at`] and [`floquet`].
pub fn period_doubling(
    system: &dyn DynSystem,
    a: &Cycle,
    b: &Cycle,
    free: usize,
    resolution: &Resolution,
) -> Result<Cycle> {
    let test = |cycle: &Cycle| -> Result<f64> {
        let set = floquet(system, cycle, 0.05)?;
        Ok(set.nearest_minus_one().map_or(1.0, |m| m + 1.0))
    };
    let (mut va, mut vb) = (a.p[free], b.p[free]);
    let (mut fa, mut fb) = (test(a)?, test(b)?);
    if fa * fb > 0.0 {
        return Err(Error::NotFound {
            kind: "period doubling",
            parameter: free,
            from: va,
            to: vb,
        });
    }
    let mut best = b.clone();
    for _ in 0..60 {
        let v = (va * fb - vb * fa) / (fb - fa);
        let mut p = best.p.clone();
        p[free] = v;
        best = cycle_at(system, &best, &p, resolution)?;
        let f = test(&best)?;
        if f * fb < 0.0 {
            (va, fa) = (vb, fb);
        } else {
            fa *= 0.5;
        }
        let moved = (v - vb).abs();
        (vb, fb) = (v, f);
        if moved <= 1e-11 * v.abs() || f == 0.0 {
            break;
        }
    }
    Ok(best)
}
