//! Periodic orbits by collocation at Gauss points on an adaptive mesh, their branches and Floquet
//! multipliers.
//!
//! Collocation for delay equations: Engelborghs, Luzyanina, in 't Hout and Roose, SIAM J. Sci.
//! Comput. 22 (2000). Multipliers from the same discretisation with earlier periods taken as
//! unknowns of their own: Verheyden and Lust 2005; Sieber and Szalai 2011.

mod branch;
mod collocation;
mod multipliers;

pub use branch::{CyclePoint, cycle_branch, cycle_fold, period_doubling};
pub use collocation::{cycle_at, cycle_from_hopf, cycle_with_amplitude};
pub use multipliers::{Floquet, floquet};

use std::f64::consts::PI;
use std::sync::LazyLock;

use crate::{
    error::{Error, Result},
    spectrum::barycentric,
    system::{Args, DynSystem},
};

use collocation::Collocation;

/// Polynomial degree on a mesh interval.
const POLYNOMIAL_DEGREE: usize = 7;

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
    /// State values at POLYNOMIAL_DEGREE + 1 Chebyshev points of each interval, ends shared.
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

/// A cycle is asked for its state some thousand times.
static REFERENCE: LazyLock<Reference> = LazyLock::new(Reference::new);

impl Reference {
    fn new() -> Self {
        let m = POLYNOMIAL_DEGREE;
        let nodes: Vec<f64> = (0..=m)
            .map(|k| 0.5 * (1.0 - libm::cos(PI * k as f64 / m as f64)))
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
        let d = (0..=POLYNOMIAL_DEGREE)
            .map(|j| {
                (0..=POLYNOMIAL_DEGREE)
                    .map(|i| b[i] * self.differentiate[i][j])
                    .sum()
            })
            .collect();
        (b, d)
    }
}

/// Gauss-Legendre points and weights on [0, 1].
fn gauss_legendre(count: usize) -> (Vec<f64>, Vec<f64>) {
    let mut points = vec![0.0; count];
    let mut weights = vec![0.0; count];
    for k in 0..count {
        let mut x = -libm::cos(PI * (k as f64 + 0.75) / (count as f64 + 0.5));
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
        let count = self.intervals() * POLYNOMIAL_DEGREE + 1;
        self.nodes = vec![0.0; count * self.n];
        for k in 0..count {
            profile(
                node_phase(&self.mesh, k),
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
        let reference = &*REFERENCE;
        let (i, c) = locate(&self.mesh, s - s.floor());
        let b = barycentric(&reference.nodes, &reference.weights, c);
        out.fill(0.0);
        for (l, b) in b.iter().enumerate() {
            let node = (i * POLYNOMIAL_DEGREE + l) * self.n;
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
        let mut state = vec![0.0; self.n];
        let mut value = |s: f64| {
            self.at(s, &mut state);
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
        libm::hypot(dot(&cos), dot(&sin))
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

    /// The switch functions that change their sign along the cycle: the model is not smooth there,
    /// and neither the accuracy claimed nor the multipliers hold.
    #[must_use]
    pub fn switches_crossed(&self, system: &dyn DynSystem) -> Vec<usize> {
        let count = system.switches();
        if count == 0 {
            return Vec::new();
        }
        let (n, m) = (self.n, system.delays());
        let (mut low, mut high) = (vec![f64::INFINITY; count], vec![f64::NEG_INFINITY; count]);
        let (mut x, mut past, mut out) = (vec![0.0; n], vec![0.0; n * m], vec![0.0; count]);
        for k in 0..20 * self.intervals() {
            let s = k as f64 / (20 * self.intervals()) as f64;
            self.at(s, &mut x);
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
                self.at(s - tau / self.period, &mut slot);
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
                self.at(s, out);
            }
        };
        new.fill(&old);
        new
    }

    /// Error estimate of each interval and the mesh density: both from the highest derivative the
    /// polynomials have, differenced between neighbours (de Boor).
    fn estimate(&self) -> (f64, Vec<f64>) {
        let reference = &*REFERENCE;
        let (n, l) = (self.n, self.intervals());
        let factorial: f64 = (1..=POLYNOMIAL_DEGREE).map(|k| k as f64).product();
        // the m-th divided difference over the nodes is the m-th derivative / m!
        let differences: Vec<f64> = (0..=POLYNOMIAL_DEGREE)
            .map(|k| {
                1.0 / (0..=POLYNOMIAL_DEGREE)
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
                    let sum: f64 = (0..=POLYNOMIAL_DEGREE)
                        .map(|a| differences[a] * self.nodes[(i * POLYNOMIAL_DEGREE + a) * n + k])
                        .sum();
                    sum * factorial / h.powi(POLYNOMIAL_DEGREE as i32)
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
                    slope * h.powi(POLYNOMIAL_DEGREE as i32 + 1)
                        / (factorial * (POLYNOMIAL_DEGREE + 1) as f64)
                        * 2.0_f64.powi(1 - 2 * POLYNOMIAL_DEGREE as i32),
                );
                density[i] = f64::max(
                    density[i],
                    libm::pow(slope, 1.0 / (POLYNOMIAL_DEGREE + 1) as f64),
                );
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

fn node_phase(mesh: &[f64], k: usize) -> f64 {
    let i = (k / POLYNOMIAL_DEGREE).min(mesh.len() - 2);
    mesh[i] + (mesh[i + 1] - mesh[i]) * REFERENCE.nodes[k - i * POLYNOMIAL_DEGREE]
}
