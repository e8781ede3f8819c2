//! The normal form of a Hopf bifurcation, and where on a curve it changes its sign.

use crate::complex::{Elementary, c64};

use super::{Augmented, HopfPoint};
use crate::{
    continuation::{correct, scales},
    error::{Error, Result},
    linalg::{Lu, null_vectors},
    linear::{Forms, Linear, Mode, steady},
    spectrum::root_near,
    system::DynSystem,
};

/// How the critical eigenvector is normalised: the size of c1, mu2 and beta2 depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Normalisation {
    /// The given component is 1, as in Hassard, Kazarinoff and Wan: amplitudes are those of that
    /// state.
    Component(usize),
    /// Right null vector of unit length.
    Unit,
    /// Right and left null vectors equally long, as in the normal forms of DDE-BIFTOOL.
    Balanced,
}

/// The Hopf normal form z' = (i omega + lambda' (a - a_H)) z + c1 |z|^2 z, and what follows from
/// it.
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
    /// Hassard's T2 = -(Im c1 + mu2 Im lambda') / omega: relative change of the period per squared
    /// amplitude.
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

const WHAT: &str = "the Hopf normal form";

/// The normal form of the Hopf bifurcation at `point` (Kuznetsov's projection with exact third
/// derivatives; Hassard, Kazarinoff and Wan's coefficients). Parameter `free` is the one whose
/// crossing speed is wanted.
///
/// # Errors
/// [`Error::Singular`] when 0 or 2 i omega is a root too, or i omega is not simple.
pub fn criticality(
    system: &dyn DynSystem,
    point: &HopfPoint,
    free: usize,
    normalisation: Normalisation,
) -> Result<Criticality> {
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
        Normalisation::Balanced => c64::new(against(&q, &left).modulus().sqrt(), 0.0),
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
    let dx = shift_of_equilibrium(system, point, free)?;
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

/// How the equilibrium moves with a parameter: dx/da = -J^-1 df/da.
fn shift_of_equilibrium(
    system: &dyn DynSystem,
    point: &HopfPoint,
    free: usize,
) -> Result<Vec<f64>> {
    let n = point.x.len();
    let (_, jacobian) = steady(system, &point.x, &point.p, &[free]);
    let square: Vec<f64> = (0..n * n)
        .map(|k| jacobian[k / n * (n + 1) + k % n])
        .collect();
    let rhs: Vec<f64> = (0..n).map(|i| -jacobian[i * (n + 1) + n]).collect();
    crate::linalg::solve(n, &square, &rhs, WHAT)
}

/// The Bautin points (first Lyapunov coefficient zero: the onset turns from gradual to sudden) on a
/// Hopf curve.
///
/// # Errors
/// From the normal form or from Newton's method between two points of the curve where L1 changes
/// its sign.
pub fn bautin_points(
    system: &dyn DynSystem,
    curve: &[HopfPoint],
    free: (usize, usize),
) -> Result<Vec<HopfPoint>> {
    let l1 = |point: &HopfPoint| {
        criticality(system, point, free.0, Normalisation::Balanced).map(|c| c.l1)
    };
    let mut bautin = Vec::new();
    let mut last: Option<(&HopfPoint, f64)> = None;
    for point in curve {
        let value = l1(point)?;
        if let Some((before, old)) = last
            && old * value < 0.0
        {
            bautin.push(bautin_between(
                system, before, old, point, value, free, &l1,
            )?);
        }
        last = Some((point, value));
    }
    Ok(bautin)
}

/// Illinois false position on the chord between two Hopf points, each trial corrected back onto the
/// curve.
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

/// The root on the imaginary axis that a Hopf point claims, as computed from the characteristic
/// matrix alone: a check.
///
/// # Errors
/// [`Error::NewtonFailed`].
pub fn critical_root(system: &dyn DynSystem, point: &HopfPoint) -> Result<c64> {
    root_near(
        &Linear::of(system, &point.x, &point.p),
        c64::new(0.0, point.omega),
    )
}
