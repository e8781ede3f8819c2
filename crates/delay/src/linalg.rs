//! Dense matrices. Characteristic matrices have two to twenty rows and are factorised many thousand
//! times a second, in place and without allocation; those of collocation have some hundred, mostly
//! zeros.
//!
//! A general library chooses its vector instructions, and with them the order of its sums, when it
//! runs. Here each sum has one order, so that results have the same bits on every machine.

use std::ops::{AddAssign, Div, Index, IndexMut, Mul, Neg, Sub, SubAssign};

use crate::complex::{Elementary, c64};
use crate::eigenvalues::hessenberg_qr;
use crate::error::{Error, Result};
use crate::work::spend;

/// Real or complex numbers.
pub(crate) trait Field:
    Copy
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + SubAssign
    + AddAssign
{
    const ZERO: Self;
    const ONE: Self;
    /// A cheap norm for pivoting.
    fn size(self) -> f64;
}

impl Field for f64 {
    const ZERO: Self = 0.0;
    const ONE: Self = 1.0;
    fn size(self) -> f64 {
        self.abs()
    }
}

impl Field for c64 {
    const ZERO: Self = Self::new(0.0, 0.0);
    const ONE: Self = Self::new(1.0, 0.0);
    fn size(self) -> f64 {
        self.re.abs() + self.im.abs()
    }
}

/// LU factors with row pivoting of a small matrix, row by row.
#[derive(Clone, Debug)]
pub(crate) struct Lu<T> {
    n: usize,
    a: Vec<T>,
    rows: Vec<usize>,
    odd: bool,
}

impl<T: Field> Lu<T> {
    pub(crate) fn new(n: usize) -> Self {
        Self {
            n,
            a: vec![T::ZERO; n * n],
            rows: (0..n).collect(),
            odd: false,
        }
    }

    /// Factorises `a`; a zero pivot is kept (the determinant is then zero and `solve` gives
    /// infinities).
    pub(crate) fn factorise(&mut self, a: &[T]) {
        let n = self.n;
        self.a.copy_from_slice(a);
        self.odd = false;
        for (i, row) in self.rows.iter_mut().enumerate() {
            *row = i;
        }
        for k in 0..n {
            let mut pivot = k;
            for i in k + 1..n {
                if self.a[i * n + k].size() > self.a[pivot * n + k].size() {
                    pivot = i;
                }
            }
            if pivot != k {
                for j in 0..n {
                    self.a.swap(k * n + j, pivot * n + j);
                }
                self.rows.swap(k, pivot);
                self.odd = !self.odd;
            }
            let diagonal = self.a[k * n + k];
            if diagonal.size() == 0.0 {
                continue;
            }
            for i in k + 1..n {
                let factor = self.a[i * n + k] / diagonal;
                self.a[i * n + k] = factor;
                for j in k + 1..n {
                    let term = factor * self.a[k * n + j];
                    self.a[i * n + j] -= term;
                }
            }
        }
    }

    pub(crate) fn of(n: usize, a: &[T]) -> Self {
        let mut lu = Self::new(n);
        lu.factorise(a);
        lu
    }

    pub(crate) fn determinant(&self) -> T {
        let mut d = if self.odd { -T::ONE } else { T::ONE };
        for k in 0..self.n {
            d = d * self.a[k * self.n + k];
        }
        d
    }

    /// Solves A x = b.
    pub(crate) fn solve(&self, b: &[T], x: &mut [T]) {
        let n = self.n;
        for i in 0..n {
            let mut s = b[self.rows[i]];
            for j in 0..i {
                s -= self.a[i * n + j] * x[j];
            }
            x[i] = s;
        }
        for i in (0..n).rev() {
            let mut s = x[i];
            for j in i + 1..n {
                s -= self.a[i * n + j] * x[j];
            }
            x[i] = s / self.a[i * n + i];
        }
    }

    /// Solves A^T x = b (no conjugation).
    pub(crate) fn solve_transposed(&self, b: &[T], x: &mut [T]) {
        let n = self.n;
        let mut y = b.to_vec();
        for i in 0..n {
            for j in 0..i {
                let term = self.a[j * n + i] * y[j];
                y[i] -= term;
            }
            y[i] = y[i] / self.a[i * n + i];
        }
        for i in (0..n).rev() {
            for j in i + 1..n {
                let term = self.a[j * n + i] * y[j];
                y[i] -= term;
            }
        }
        for i in 0..n {
            x[self.rows[i]] = y[i];
        }
    }
}

/// Solves a dense real system.
pub(crate) fn solve(n: usize, a: &[f64], b: &[f64], what: &'static str) -> Result<Vec<f64>> {
    let mut x = vec![0.0; n];
    if n <= 32 {
        Lu::of(n, a).solve(b, &mut x);
    } else {
        let mut large = LargeSystem::new(n);
        large.matrix.values.copy_from_slice(a);
        large.vector.copy_from_slice(b);
        large.factorise();
        large.solve(what)?;
        x.copy_from_slice(&large.vector);
    }
    if x.iter().all(|v| v.is_finite()) {
        Ok(x)
    } else {
        Err(Error::Singular { what })
    }
}

/// A real matrix, row by row.
#[derive(Clone, Debug)]
pub(crate) struct Matrix {
    columns: usize,
    pub(crate) values: Vec<f64>,
}

impl Matrix {
    pub(crate) fn zeros(rows: usize, columns: usize) -> Self {
        Self {
            columns,
            values: vec![0.0; rows * columns],
        }
    }

    pub(crate) fn row(&self, row: usize) -> &[f64] {
        &self.values[row * self.columns..(row + 1) * self.columns]
    }

    /// Subtracts `factor` times row `source` from row `target`, in columns `span`.
    fn subtract(&mut self, factor: f64, source: usize, target: usize, span: (usize, usize)) {
        let width = self.columns;
        let (low, high) = (source.min(target), source.max(target));
        let (head, tail) = self.values.split_at_mut(high * width);
        let (first, second) = (
            &mut head[low * width..(low + 1) * width],
            &mut tail[..width],
        );
        let (from, to) = if source < target {
            (&*first, second)
        } else {
            (&*second, first)
        };
        let (from, to) = (&from[span.0..span.1], &mut to[span.0..span.1]);
        for (to, from) in to.iter_mut().zip(from) {
            *to -= factor * from;
        }
    }
}

impl Index<(usize, usize)> for Matrix {
    type Output = f64;
    fn index(&self, (row, column): (usize, usize)) -> &f64 {
        &self.values[row * self.columns + column]
    }
}

impl IndexMut<(usize, usize)> for Matrix {
    fn index_mut(&mut self, (row, column): (usize, usize)) -> &mut f64 {
        &mut self.values[row * self.columns + column]
    }
}

/// Linear systems of one large size, solved one after the other in the same memory. Most entries of
/// a collocation matrix are zero, and many stay so: they are passed over.
pub(crate) struct LargeSystem {
    /// To be filled before [`LargeSystem::factorise`], whose factors take its place.
    pub(crate) matrix: Matrix,
    /// The right-hand side; after [`LargeSystem::solve`] the solution.
    pub(crate) vector: Vec<f64>,
    /// Row of the given matrix that stands at each place of the factors.
    order: Vec<usize>,
}

/// Zeros between two entries of a row that are taken along: shorter gaps cost more than they save.
const MAX_GAP: usize = 8;

impl LargeSystem {
    pub(crate) fn new(n: usize) -> Self {
        Self {
            matrix: Matrix::zeros(n, n),
            vector: vec![0.0; n],
            order: Vec::new(),
        }
    }

    /// LU factors with row pivoting; a zero pivot is kept, as in [`Lu::factorise`].
    pub(crate) fn factorise(&mut self) {
        let n = self.vector.len();
        let a = &mut self.matrix;
        self.order = (0..n).collect();
        let mut below: Vec<usize> = Vec::with_capacity(n);
        let mut spans: Vec<(usize, usize)> = Vec::new();
        for k in 0..n {
            below.clear();
            let (mut pivot, mut largest) = (k, a[(k, k)].abs());
            for i in k + 1..n {
                let size = a[(i, k)].abs();
                // not a number counts as an entry: it must not be lost
                if size != 0.0 {
                    below.push(i);
                }
                if size > largest {
                    (pivot, largest) = (i, size);
                }
            }
            if pivot != k {
                // the row that comes down may have a zero here: its update is then an empty one
                let (head, tail) = a.values.split_at_mut(pivot * n);
                head[k * n..(k + 1) * n].swap_with_slice(&mut tail[..n]);
                self.order.swap(k, pivot);
            }
            let diagonal = a[(k, k)];
            if diagonal == 0.0 {
                continue;
            }
            spans.clear();
            for (j, value) in a.row(k).iter().enumerate().skip(k + 1) {
                if *value != 0.0 {
                    match spans.last_mut() {
                        Some(last) if j < last.1 + MAX_GAP => last.1 = j + 1,
                        _ => spans.push((j, j + 1)),
                    }
                }
            }
            for i in &below {
                let factor = a[(*i, k)] / diagonal;
                a[(*i, k)] = factor;
                if factor != 0.0 {
                    for span in &spans {
                        a.subtract(factor, k, *i, *span);
                    }
                }
            }
        }
    }

    /// Solves matrix x = vector by the factors of the last [`LargeSystem::factorise`].
    pub(crate) fn solve(&mut self, what: &'static str) -> Result<()> {
        let n = self.vector.len();
        let mut x = Matrix::zeros(n, 1);
        x.values.copy_from_slice(&self.vector);
        let x = self.solve_all(&x);
        self.vector.copy_from_slice(&x.values);
        if self.vector.iter().all(|v| v.is_finite()) {
            Ok(())
        } else {
            Err(Error::Singular { what })
        }
    }

    /// Solves matrix X = B for several right-hand sides, the columns of `b`.
    pub(crate) fn solve_all(&self, b: &Matrix) -> Matrix {
        let (n, count) = (self.vector.len(), b.columns);
        let mut x = Matrix::zeros(n, count);
        for (i, row) in self.order.iter().enumerate() {
            x.values[i * count..(i + 1) * count].copy_from_slice(b.row(*row));
        }
        for i in 0..n {
            for (j, factor) in self.matrix.row(i)[..i].iter().enumerate() {
                if *factor != 0.0 {
                    x.subtract(*factor, j, i, (0, count));
                }
            }
        }
        for i in (0..n).rev() {
            for (j, factor) in self.matrix.row(i).iter().enumerate().skip(i + 1) {
                if *factor != 0.0 {
                    x.subtract(*factor, j, i, (0, count));
                }
            }
            let diagonal = self.matrix[(i, i)];
            for value in &mut x.values[i * count..(i + 1) * count] {
                *value /= diagonal;
            }
        }
        x
    }
}

/// All eigenvalues of a real matrix stored row by row.
pub(crate) fn eigenvalues(n: usize, a: &[f64], what: &'static str) -> Result<Vec<c64>> {
    if a.iter().any(|v| !v.is_finite()) {
        return Err(Error::Eigenvalues(what));
    }
    spend(n * n * n / 16)?;
    hessenberg_qr(n, a.to_vec()).ok_or(Error::Eigenvalues(what))
}

/// Right and left null vectors of a nearly singular complex matrix, of unit length, by bordered
/// inverse iteration.
pub(crate) fn null_vectors(
    n: usize,
    a: &[c64],
    what: &'static str,
) -> Result<(Vec<c64>, Vec<c64>)> {
    let scale = a.iter().fold(0.0_f64, |s, v| s.max(v.modulus()));
    let mut shifted = a.to_vec();
    // a shift at rounding level keeps an exactly singular matrix solvable and does not move its
    // null vector
    for i in 0..n {
        shifted[i * n + i] += c64::new(1e-15 * scale.max(f64::MIN_POSITIVE), 0.0);
    }
    let lu = Lu::of(n, &shifted);
    let mut right: Vec<c64> = (0..n).map(|i| c64::new(1.0, 0.37 * i as f64)).collect();
    let mut left = right.clone();
    let mut next = vec![c64::ZERO; n];
    for _ in 0..4 {
        lu.solve(&right, &mut next);
        normalise(&mut next);
        right.copy_from_slice(&next);
        lu.solve_transposed(&left, &mut next);
        normalise(&mut next);
        left.copy_from_slice(&next);
    }
    if right
        .iter()
        .chain(&left)
        .all(|v| v.re.is_finite() && v.im.is_finite())
    {
        Ok((right, left))
    } else {
        Err(Error::Singular { what })
    }
}

fn normalise(v: &mut [c64]) {
    let norm = v.iter().map(c64::norm_sqr).sum::<f64>().sqrt();
    for x in v {
        *x /= norm;
    }
}

pub(crate) fn norm(v: &[f64]) -> f64 {
    v.iter().map(|x| x * x).sum::<f64>().sqrt()
}
