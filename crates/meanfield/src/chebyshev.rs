//! Collocation on Chebyshev's extreme points: polynomials of order 16 on panels.

use std::ops::{Add, Div, Mul, Sub};

use libm::cos;
use num_complex::Complex64;

/// Order of the polynomials.
pub(crate) const POLYNOMIAL_ORDER: usize = 16;

/// Values at the nodes of a panel.
pub(crate) type Nodes = [f64; POLYNOMIAL_ORDER + 1];

/// Collocation on Chebyshev's extreme points, in falling order from 1 to -1.
pub(crate) struct Chebyshev {
    pub(crate) points: Nodes,
    /// Derivative with respect to the parameter that rises from 0 (at the first point) to 1 (at the
    /// last).
    derivative: [Nodes; POLYNOMIAL_ORDER + 1],
    /// Integral over that parameter.
    pub(crate) weights: Nodes,
}

impl Chebyshev {
    pub(crate) fn new() -> Self {
        use std::f64::consts::PI;
        let points: Nodes = std::array::from_fn(|i| cos(PI * i as f64 / POLYNOMIAL_ORDER as f64));
        let c = |i: usize| {
            if i == 0 || i == POLYNOMIAL_ORDER {
                2.0
            } else {
                1.0
            }
        };
        let mut derivative = [[0.0; POLYNOMIAL_ORDER + 1]; POLYNOMIAL_ORDER + 1];
        for i in 0..=POLYNOMIAL_ORDER {
            for j in 0..=POLYNOMIAL_ORDER {
                if i != j {
                    let sign = if (i + j) % 2 == 0 { 1.0 } else { -1.0 };
                    // points fall by 2 while the parameter rises by 1
                    derivative[i][j] = -2.0 * c(i) / c(j) * sign / (points[i] - points[j]);
                }
            }
            derivative[i][i] = -derivative[i].iter().sum::<f64>();
        }
        let mut weights = [0.0; POLYNOMIAL_ORDER + 1];
        for (i, weight) in weights.iter_mut().enumerate() {
            // Clenshaw and Curtis, on an interval of length 1
            let sum: f64 = (1..=POLYNOMIAL_ORDER / 2)
                .map(|k| {
                    let b = if 2 * k == POLYNOMIAL_ORDER { 1.0 } else { 2.0 };
                    b / (4.0 * (k * k) as f64 - 1.0)
                        * cos(2.0 * PI * (k * i) as f64 / POLYNOMIAL_ORDER as f64)
                })
                .sum();
            *weight = (1.0 - sum) / (POLYNOMIAL_ORDER as f64 * c(i));
        }
        Self {
            points,
            derivative,
            weights,
        }
    }

    /// Value at `x` (from 1 at the first node to -1 at the last) of the polynomial with these
    /// values.
    pub(crate) fn interpolate(&self, values: &Nodes, x: f64) -> f64 {
        barycentric(&self.points, values, x)
    }

    /// Shortens a panel so that its last node, the image of `above` under `jump`, lies on the
    /// floor.
    pub(crate) fn cut(
        &self,
        above: &Nodes,
        nodes: &mut Nodes,
        source: &mut Nodes,
        jump: &dyn Fn(f64) -> f64,
        floor: f64,
    ) {
        let (mut inside, mut outside) = (1.0, -1.0);
        for _ in 0..60 {
            let middle = 0.5 * (inside + outside);
            if jump(self.interpolate(above, middle)) > floor {
                inside = middle;
            } else {
                outside = middle;
            }
        }
        let part = 0.5 * (1.0 - inside);
        let old = *source;
        for (i, point) in self.points.iter().enumerate() {
            let x = 1.0 - part * (1.0 - point);
            nodes[i] = jump(self.interpolate(above, x)).max(floor);
            // a derivative with respect to the panel's parameter, which now runs slower
            source[i] = part * self.interpolate(&old, x);
        }
        nodes[POLYNOMIAL_ORDER] = floor;
    }

    /// Derivative at the nodes of the polynomial with these values.
    pub(crate) fn derivative(&self, values: &Nodes) -> Nodes {
        std::array::from_fn(|i| {
            self.derivative[i]
                .iter()
                .zip(values)
                .map(|(d, v)| d * v)
                .sum()
        })
    }

    /// Solves `f' = -weight f + source` from `f = start` at the first node.
    pub(crate) fn solve(&self, weight: &Nodes, source: &Nodes, start: f64) -> Nodes {
        let mut f = *source;
        f[0] = start;
        self.solve_all(weight, std::slice::from_mut(&mut f));
        f
    }

    /// Solves `f' = -weight f + source` for each of `problems`: on entry the sources, with the
    /// value of `f` at the first node in place of the source there; on return the solutions.
    pub(crate) fn solve_all<T: Number>(
        &self,
        weight: &[T; POLYNOMIAL_ORDER + 1],
        problems: &mut [[T; POLYNOMIAL_ORDER + 1]],
    ) {
        let mut a: [[T; POLYNOMIAL_ORDER + 1]; POLYNOMIAL_ORDER + 1] =
            self.derivative.map(|row| row.map(T::from));
        for i in 1..=POLYNOMIAL_ORDER {
            a[i][i] = a[i][i] + weight[i];
        }
        a[0] = [T::from(0.0); POLYNOMIAL_ORDER + 1];
        a[0][0] = T::from(1.0);
        // Gaussian elimination with partial pivoting, 17 by 17
        for column in 0..POLYNOMIAL_ORDER {
            let pivot = (column..=POLYNOMIAL_ORDER)
                .max_by(|&r, &s| a[r][column].size().total_cmp(&a[s][column].size()))
                .unwrap_or(column);
            a.swap(column, pivot);
            problems.iter_mut().for_each(|f| f.swap(column, pivot));
            for row in column + 1..=POLYNOMIAL_ORDER {
                let factor = a[row][column] / a[column][column];
                let (above, below) = a.split_at_mut(row);
                for (value, pivot) in below[0].iter_mut().zip(&above[column]).skip(column) {
                    *value = *value - factor * *pivot;
                }
                problems
                    .iter_mut()
                    .for_each(|f| f[row] = f[row] - factor * f[column]);
            }
        }
        for f in problems {
            for row in (0..=POLYNOMIAL_ORDER).rev() {
                let rest = (row + 1..=POLYNOMIAL_ORDER)
                    .fold(T::from(0.0), |sum, k| sum + a[row][k] * f[k]);
                f[row] = (f[row] - rest) / a[row][row];
            }
        }
    }
}

/// Real or complex.
pub(crate) trait Number:
    Copy + From<f64> + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self>
{
    /// Some norm.
    fn size(self) -> f64;
}

impl Number for f64 {
    fn size(self) -> f64 {
        self.abs()
    }
}

impl Number for Complex64 {
    fn size(self) -> f64 {
        self.l1_norm()
    }
}

/// Interpolation between Chebyshev's extreme points, mapped to `nodes` by a smooth monotone
/// function.
pub(crate) fn barycentric(nodes: &Nodes, values: &Nodes, at: f64) -> f64 {
    let (mut above, mut below) = (0.0, 0.0);
    for i in 0..=POLYNOMIAL_ORDER {
        let difference = at - nodes[i];
        if difference == 0.0 {
            return values[i];
        }
        // for nodes that are not exactly Chebyshev's the weights are products of differences
        let product: f64 = (0..=POLYNOMIAL_ORDER)
            .filter(|&j| j != i)
            .map(|j| (nodes[i] - nodes[j]) / (nodes[0] - nodes[POLYNOMIAL_ORDER]) * 4.0)
            .product();
        let weight = 1.0 / (product * difference);
        above += weight * values[i];
        below += weight;
    }
    above / below
}
