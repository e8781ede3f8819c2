//! Characteristic roots: found by a Chebyshev discretisation, sharpened by Newton's method,
//! certified by the argument principle.
//!
//! Discretisation of the infinitesimal generator: Breda, Maset and Vermiglio, SIAM J. Sci. Comput.
//! 27 (2005). Counting roots by the change of the argument of det Delta along a line: Stepan,
//! Retarded Dynamical Systems (1989).

use std::f64::consts::{FRAC_PI_2, PI, TAU};

use crate::complex::{Elementary, c64};

use crate::{
    error::{Error, Result},
    linalg::{Field, Lu, eigenvalues},
    linear::Linear,
    work::{bounded, spend},
};

/// Work that the certificate of the rightmost roots may take: a second or two. Usual systems take a
/// ten-thousandth. Delays of microseconds beside one of a second make it endless.
const MOST_WORK: u64 = 20_000_000;

/// Characteristic roots to the right of a line, all of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Spectrum {
    /// The roots by descending real part, a multiple root repeated; of a complex pair the upper one
    /// comes first.
    pub roots: Vec<c64>,
    /// All roots with a larger real part than this are listed: the argument principle counts as
    /// many.
    pub line: f64,
}

impl Spectrum {
    /// Largest real part.
    #[must_use]
    pub fn abscissa(&self) -> f64 {
        self.roots.first().map_or(f64::NEG_INFINITY, |r| r.re)
    }
}

/// det Delta and its logarithmic derivative along a path, without allocation.
struct Determinant<'a> {
    linear: &'a Linear,
    delta: Vec<c64>,
    derivative: Vec<c64>,
    lu: Lu<c64>,
    column: Vec<c64>,
    solved: Vec<c64>,
}

impl<'a> Determinant<'a> {
    fn new(linear: &'a Linear) -> Self {
        let n = linear.dimension();
        Self {
            linear,
            delta: vec![c64::ZERO; n * n],
            derivative: vec![c64::ZERO; n * n],
            lu: Lu::new(n),
            column: vec![c64::ZERO; n],
            solved: vec![c64::ZERO; n],
        }
    }

    /// Work of one evaluation, for the meter.
    fn work(&self) -> usize {
        let n = self.linear.dimension();
        1 + n * n * (n + self.linear.delays().len()) / 8
    }

    /// (D, D'/D) at lambda, with D scaled by a positive number to stay in range.
    fn at(&mut self, lambda: c64) -> (c64, c64) {
        let n = self.linear.dimension();
        self.linear
            .both_into(lambda, &mut self.delta, &mut self.derivative);
        if n == 2 {
            let (a, d) = (&self.delta, &self.derivative);
            let det = a[0] * a[3] - a[1] * a[2];
            let slope = d[0] * a[3] + a[0] * d[3] - d[1] * a[2] - a[1] * d[2];
            return (det, slope / det);
        }
        self.lu.factorise(&self.delta);
        let mut trace = c64::ZERO;
        for k in 0..n {
            for i in 0..n {
                self.column[i] = self.derivative[i * n + k];
            }
            self.lu.solve(&self.column, &mut self.solved);
            trace += self.solved[k];
        }
        (self.lu.determinant(), trace)
    }

    /// The continuous change of arg D along `path(t)` = (lambda, d lambda/dt), t from `start` to
    /// `end`.
    ///
    /// A step moves by a fraction of 1/|D'/D|, which is no more than the distance to the nearest
    /// root, and is accepted only when the argument changes as its slopes at both ends predict.
    fn turn(
        &mut self,
        path: &dyn Fn(f64) -> (c64, c64),
        start: f64,
        end: f64,
        smallest: f64,
    ) -> std::result::Result<f64, f64> {
        let mut total = 0.0;
        let mut t = start;
        let (lambda, velocity) = path(t);
        let (mut d, slope) = self.at(lambda);
        let mut rate = slope * velocity;
        while t < end {
            if !(rate.re.is_finite() && rate.im.is_finite()) {
                return Err(t);
            }
            let mut h = (0.9 / rate.modulus()).min(end - t);
            loop {
                if h < smallest && h < end - t || spend(self.work()).is_err() {
                    return Err(t);
                }
                let next = if h >= end - t { end } else { t + h };
                let (lambda, velocity) = path(next);
                let (e, slope) = self.at(lambda);
                let new = slope * velocity;
                let change = (e / d).argument();
                // Im of the logarithmic derivative is the speed of the argument
                let predicted = 0.5 * (next - t) * (rate.im + new.im);
                if (change - predicted).abs() < 0.35 && change.abs() < 2.0 {
                    total += change;
                    (t, d, rate) = (next, e, new);
                    break;
                }
                h *= 0.4;
            }
        }
        Ok(total)
    }
}

/// The number of characteristic roots with a real part above `line`, by the argument principle.
///
/// # Errors
/// [`Error::RootOnLine`] if a root lies on the line to rounding, [`Error::CertificateFailed`]
/// never.
pub fn count_right_of(linear: &Linear, line: f64) -> Result<usize> {
    let n = linear.dimension();
    let bound = linear.root_bound(line);
    if bound == 0.0 {
        // nilpotent: all roots are zero
        return if line == 0.0 {
            Err(Error::RootOnLine { line, omega: 0.0 })
        } else {
            Ok(if line < 0.0 { n } else { 0 })
        };
    }
    // beyond `end` every eigenvalue of lambda^-1 (lambda I - Delta) is small: the remaining turn is
    // known
    let end = bound / libm::sin(FRAC_PI_2 / n as f64) * 1.01;
    let mut determinant = Determinant::new(linear);
    let turned = determinant
        .turn(
            &|w| (c64::new(line, w), c64::new(0.0, 1.0)),
            0.0,
            end,
            1e-11 * bound,
        )
        .map_err(|omega| Error::RootOnLine { line, omega })?;
    let last = c64::new(line, end);
    let (d, _) = determinant.at(last);
    let mut ratio = d;
    for _ in 0..n {
        ratio /= last;
    }
    let whole = turned + n as f64 * (FRAC_PI_2 - last.argument()) - ratio.argument();
    let count = 0.5 * n as f64 - whole / PI;
    let rounded = count.round();
    if rounded < 0.0 || (count - rounded).abs() > 0.01 {
        return Err(Error::RootOnLine { line, omega: 0.0 });
    }
    Ok(rounded as usize)
}

/// Whether all characteristic roots have negative real parts, by the argument principle alone: no
/// eigenvalue is computed.
///
/// # Errors
/// [`Error::RootOnLine`] when a root lies on the imaginary axis to rounding: neither verdict would
/// be safe.
pub fn is_stable(linear: &Linear) -> Result<bool> {
    Ok(count_right_of(linear, 0.0)? == 0)
}

/// All characteristic roots with a real part above `line`, certified.
///
/// # Errors
/// [`Error::CertificateFailed`] when the count and the roots found disagree at every discretisation
/// tried; [`Error::RootOnLine`] when a root lies on the line.
pub fn roots_right_of(linear: &Linear, line: f64) -> Result<Spectrum> {
    let counted = count_right_of(linear, line)?;
    let mut root_count = 0;
    for degree in degrees(linear) {
        let candidates = discretised(linear, degree)?;
        let mut roots = polish(
            linear,
            candidates
                .into_iter()
                .filter(|z| z.re > line - 0.5 * z.modulus())
                .collect(),
        );
        roots.retain(|z| z.re > line);
        if roots.len() < counted {
            roots = with_multiplicity(linear, &roots);
        }
        if roots.len() == counted {
            return Ok(Spectrum { roots, line });
        }
        root_count = roots.len();
    }
    Err(Error::CertificateFailed {
        found: root_count,
        counted,
        line,
    })
}

/// The `count` rightmost characteristic roots or a few more (a pair is not split), certified to be
/// the rightmost.
///
/// # Errors
/// [`Error::CertificateFailed`] when the count and the roots found disagree at every discretisation
/// tried; [`Error::CertificateTooLong`] when it takes more work than is sensible.
pub fn rightmost_roots(linear: &Linear, count: usize) -> Result<Spectrum> {
    match bounded(MOST_WORK, || certified(linear, count)) {
        Err(Error::OutOfWork) => {
            spend(0)?; // it may be the caller's limit
            Err(Error::CertificateTooLong)
        }
        Ok(spectrum) => spectrum,
        Err(other) => Err(other),
    }
}

fn certified(linear: &Linear, count: usize) -> Result<Spectrum> {
    let mut failure = Error::CertificateFailed {
        found: 0,
        counted: 0,
        line: f64::NAN,
    };
    for degree in degrees(linear) {
        let candidates = discretised(linear, degree)?;
        let polished = polish(linear, candidates);
        if polished.is_empty() {
            continue;
        }
        // the line goes into the first gap after the wanted roots that is wide enough to count in
        let cut = first_gap(&polished, count);
        let mut line = if cut < polished.len() {
            0.5 * (polished[cut - 1].re + polished[cut].re)
        } else {
            let last = polished[polished.len() - 1];
            last.re - 0.1 * last.modulus().max(1e-3 * linear.root_bound(0.0))
        };
        let counted = match count_right_of(linear, line) {
            Ok(counted) => counted,
            Err(e) => {
                failure = e;
                continue;
            }
        };
        let mut roots = polished;
        roots.retain(|z| z.re > line);
        if roots.len() < counted {
            roots = with_multiplicity(linear, &roots);
        }
        if roots.len() == counted {
            // a multiple root counts as so many of those wanted
            let cut = first_gap(&roots, count);
            if cut < roots.len() {
                line = 0.5 * (roots[cut - 1].re + roots[cut].re);
                roots.truncate(cut);
            }
            return Ok(Spectrum { roots, line });
        }
        failure = Error::CertificateFailed {
            found: roots.len(),
            counted,
            line,
        };
    }
    Err(failure)
}

/// How many of the roots, at least `count`, lie right of a gap that is wide enough to count in.
fn first_gap(roots: &[c64], count: usize) -> usize {
    let mut cut = count.max(1);
    while cut < roots.len()
        && roots[cut - 1].re - roots[cut].re < 1e-6 * (1e-300 + roots[cut - 1].modulus())
    {
        cut += 1;
    }
    cut
}

/// The degrees of discretisation to try, by the size of the matrix they lead to.
fn degrees(linear: &Linear) -> impl Iterator<Item = usize> {
    let n = linear.dimension();
    let delayed = linear.largest_delay() > 0.0;
    [16, 32, 64, 128]
        .into_iter()
        .filter(move |d| *d == 16 || n * d <= 1600 && delayed)
}

/// Eigenvalues of the Chebyshev discretisation of the generator with polynomials of `degree`, by
/// descending real part.
fn discretised(linear: &Linear, degree: usize) -> Result<Vec<c64>> {
    let n = linear.dimension();
    let scale = balance(linear);
    let longest = linear.largest_delay();
    let scaled = |j: usize, i: usize, k: usize| linear.matrix(j)[i * n + k] * scale[k] / scale[i];
    let nodes = if longest > 0.0 { degree + 1 } else { 1 };
    let size = n * nodes;
    let mut a = vec![0.0; size * size];
    let theta: Vec<f64> = (0..nodes)
        .map(|k| {
            if nodes == 1 {
                0.0
            } else {
                0.5 * longest * (libm::cos(PI * k as f64 / degree as f64) - 1.0)
            }
        })
        .collect();
    let weights: Vec<f64> = (0..nodes)
        .map(|k| {
            (if k == 0 || k + 1 == nodes { 0.5 } else { 1.0 }) * if k % 2 == 0 { 1.0 } else { -1.0 }
        })
        .collect();
    for (j, tau) in linear.delays().iter().enumerate() {
        let basis = barycentric(&theta, &weights, -tau);
        for i in 0..n {
            for k in 0..n {
                let v = scaled(j, i, k);
                if v != 0.0 {
                    for (m, b) in basis.iter().enumerate() {
                        a[i * size + m * n + k] += v * b;
                    }
                }
            }
        }
    }
    for r in 1..nodes {
        let mut diagonal = 0.0;
        for c in 0..nodes {
            if c != r {
                let d = weights[c] / weights[r] / (theta[r] - theta[c]);
                diagonal -= d;
                for i in 0..n {
                    a[(r * n + i) * size + c * n + i] = d;
                }
            }
        }
        for i in 0..n {
            a[(r * n + i) * size + r * n + i] = diagonal;
        }
    }
    let mut values = eigenvalues(size, &a, "the characteristic roots")?;
    values.sort_by(|a, b| b.re.total_cmp(&a.re));
    Ok(values)
}

/// Values of the Lagrange polynomials at `x` (barycentric form).
pub(crate) fn barycentric(nodes: &[f64], weights: &[f64], x: f64) -> Vec<f64> {
    if let Some(hit) = nodes.iter().position(|t| *t == x) {
        return (0..nodes.len())
            .map(|k| if k == hit { 1.0 } else { 0.0 })
            .collect();
    }
    let terms: Vec<f64> = nodes
        .iter()
        .zip(weights)
        .map(|(t, w)| w / (x - t))
        .collect();
    let sum: f64 = terms.iter().sum();
    terms.iter().map(|t| t / sum).collect()
}

/// A diagonal scaling that makes rows and columns of sum |A_j| equally large (Osborne), so that
/// units of states do not matter.
fn balance(linear: &Linear) -> Vec<f64> {
    let n = linear.dimension();
    let mut scale = vec![1.0_f64; n];
    for _ in 0..30 {
        for i in 0..n {
            let (mut row, mut column) = (0.0, 0.0);
            for j in 0..linear.delays().len() {
                for k in (0..n).filter(|k| *k != i) {
                    row += linear.matrix(j)[i * n + k].abs() * scale[k] / scale[i];
                    column += linear.matrix(j)[k * n + i].abs() * scale[i] / scale[k];
                }
            }
            if row > 0.0 && column > 0.0 {
                // powers of two do not round
                scale[i] *= libm::exp2(libm::log2((row / column).sqrt()).round());
            }
        }
    }
    scale
}

/// Newton's method on every candidate; what converges is kept once, conjugates together, by
/// descending real part.
fn polish(linear: &Linear, candidates: Vec<c64>) -> Vec<c64> {
    let mut determinant = Determinant::new(linear);
    let mut roots: Vec<c64> = Vec::new();
    for z in candidates.into_iter().filter(|z| z.im >= 0.0) {
        let Some(root) = newton(&mut determinant, z) else {
            continue;
        };
        let tolerance = 1e-7 * root.modulus().max(1e-6 * z.modulus());
        // a double real root is found to the square root of rounding: its conjugate is the same root
        let root = if 2.0 * root.im.abs() <= tolerance {
            c64::new(root.re, 0.0)
        } else {
            c64::new(root.re, root.im.abs())
        };
        if !roots.iter().any(|r| (r - root).modulus() <= tolerance) {
            roots.push(root);
        }
    }
    roots.sort_by(|a, b| b.re.total_cmp(&a.re).then(b.im.total_cmp(&a.im)));
    roots
        .into_iter()
        .flat_map(|r| {
            if r.im == 0.0 {
                vec![r]
            } else {
                vec![r, r.conj()]
            }
        })
        .collect()
}

/// Newton's method on det Delta: lambda - D/D'. It must stay in the neighbourhood of its start.
fn newton(determinant: &mut Determinant<'_>, start: c64) -> Option<c64> {
    let mut z = start;
    let mut last = f64::INFINITY;
    for _ in 0..60 {
        spend(determinant.work()).ok()?;
        let (_, slope) = determinant.at(z);
        if !(slope.re.is_finite() && slope.im.is_finite()) {
            // an exactly singular matrix
            return Some(z);
        }
        let step = slope.inv();
        if !(step.re.is_finite() && step.im.is_finite()) {
            return None;
        }
        let size = step.modulus();
        if size <= 1e-13 * z.modulus() && size >= 0.5 * last
            || size <= 4e-16 * z.modulus()
            || size < 1e-300
        {
            return Some(z - step);
        }
        if size >= last && last <= 1e-6 * z.modulus() {
            // a multiple root is known to the square root of rounding: there steps no longer shrink
            return Some(z);
        }
        last = size;
        z -= step;
        if (z - start).modulus() > 0.7 * start.modulus() + 1e-3 * determinant.linear.root_bound(0.0)
        {
            return None;
        }
    }
    (last <= 1e-6 * z.modulus()).then_some(z)
}

/// Repeats each root as often as the argument principle on a small circle around it counts.
fn with_multiplicity(linear: &Linear, roots: &[c64]) -> Vec<c64> {
    let mut determinant = Determinant::new(linear);
    let mut out = Vec::new();
    for (k, root) in roots.iter().enumerate() {
        let nearest = roots
            .iter()
            .enumerate()
            .filter(|(j, _)| *j != k)
            .map(|(_, r)| (r - root).modulus())
            .fold(root.modulus().max(1e-6 * linear.root_bound(0.0)), f64::min);
        let radius = (0.3 * nearest).min(1e-2 * root.modulus().max(1e-6 * linear.root_bound(0.0)));
        let circle = |t: f64| {
            let e = c64::new(0.0, t).exponential() * radius;
            (root + e, e * c64::new(0.0, 1.0))
        };
        let count = determinant
            .turn(&circle, 0.0, TAU, 1e-9)
            .map_or(1, |turned| (turned / TAU).round().max(1.0) as usize);
        out.extend(std::iter::repeat_n(*root, count));
    }
    out
}

/// One characteristic root near `start` by Newton's method on det Delta.
///
/// # Errors
/// [`Error::NewtonFailed`].
pub fn root_near(linear: &Linear, start: c64) -> Result<c64> {
    let mut determinant = Determinant::new(linear);
    newton(&mut determinant, start).ok_or_else(|| Error::NewtonFailed {
        what: "a characteristic root",
        iterations: 60,
        residual: linear.determinant(start).size(),
    })
}
