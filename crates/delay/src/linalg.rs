//! Small dense matrices. Characteristic matrices have two to twenty rows and are factorised many
//! thousand times a second, in place and without allocation; eigenvalues and the large systems of
//! collocation go to faer.

use std::ops::{AddAssign, Div, Mul, Neg, Sub, SubAssign};

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::lu::partial_pivoting::{factor, solve as substitution};
use faer::perm::PermRef;
use faer::{Mat, Par, c64, prelude::Solve};

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

/// Solves a dense real system, small ones in place and large ones by faer.
pub(crate) fn solve(n: usize, a: &[f64], b: &[f64], what: &'static str) -> Result<Vec<f64>> {
    let mut x = vec![0.0; n];
    if n <= 32 {
        Lu::of(n, a).solve(b, &mut x);
    } else {
        let lu = Mat::from_fn(n, n, |i, j| a[i * n + j]).partial_piv_lu();
        let solution = lu.solve(&Mat::from_fn(n, 1, |i, _| b[i]));
        for (i, x) in x.iter_mut().enumerate() {
            *x = solution[(i, 0)];
        }
    }
    if x.iter().all(|v| v.is_finite()) {
        Ok(x)
    } else {
        Err(Error::Singular { what })
    }
}

/// Linear systems of one large size, solved one after the other in the same memory: to ask the
/// system for some megabytes anew each time took a third of the time.
pub(crate) struct LargeSystem {
    /// To be filled before [`LargeSystem::factorise`], whose factors take its place.
    pub(crate) matrix: Mat<f64>,
    /// The right-hand side; after [`LargeSystem::solve`] the solution.
    pub(crate) vector: Mat<f64>,
    order: (Vec<usize>, Vec<usize>),
    memory: MemBuffer,
}

impl LargeSystem {
    pub(crate) fn new(n: usize) -> Self {
        let params = Default::default();
        let factorises = factor::lu_in_place_scratch::<usize, f64>(n, n, Par::Seq, params);
        let solves = substitution::solve_in_place_scratch::<usize, f64>(n, 1, Par::Seq);
        Self {
            matrix: Mat::zeros(n, n),
            vector: Mat::zeros(n, 1),
            order: (vec![0; n], vec![0; n]),
            memory: MemBuffer::new(factorises.or(solves)),
        }
    }

    pub(crate) fn factorise(&mut self) {
        factor::lu_in_place(
            self.matrix.as_mut(),
            &mut self.order.0,
            &mut self.order.1,
            Par::Seq,
            MemStack::new(&mut self.memory),
            Default::default(),
        );
    }

    /// Solves matrix x = vector by the factors of the last [`LargeSystem::factorise`].
    pub(crate) fn solve(&mut self, what: &'static str) -> Result<()> {
        let n = self.order.0.len();
        substitution::solve_in_place(
            self.matrix.as_ref(),
            self.matrix.as_ref(),
            PermRef::new_checked(&self.order.0, &self.order.1, n),
            self.vector.as_mut(),
            Par::Seq,
            MemStack::new(&mut self.memory),
        );
        if self.vector.col(0).iter().all(|v| v.is_finite()) {
            Ok(())
        } else {
            Err(Error::Singular { what })
        }
    }
}

/// All eigenvalues of a real matrix stored row by row.
pub(crate) fn eigenvalues(n: usize, a: &[f64], what: &'static str) -> Result<Vec<c64>> {
    if a.iter().any(|v| !v.is_finite()) {
        return Err(Error::Eigenvalues(what));
    }
    spend(n * n * n / 16)?;
    Mat::from_fn(n, n, |i, j| a[i * n + j])
        .eigenvalues()
        .map_err(|_| Error::Eigenvalues(what))
}

/// Right and left null vectors of a nearly singular complex matrix, of unit length, by bordered
/// inverse iteration.
pub(crate) fn null_vectors(
    n: usize,
    a: &[c64],
    what: &'static str,
) -> Result<(Vec<c64>, Vec<c64>)> {
    let scale = a.iter().fold(0.0_f64, |s, v| s.max(v.norm()));
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
