//! Numbers that the fluid faces compute with: plain, or dual numbers that carry derivatives along.

use std::fmt::Debug;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// A real number, or a dual number over it.
///
/// `f64` uses `libm`, so that results have the same bits on every machine. With the feature `autodiff` every (hyper-)dual number of
/// the `num-dual` crate over `f64` is a scalar, of any order.
pub trait Scalar:
    Copy
    + Debug
    + 'static
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + Add<f64, Output = Self>
    + Sub<f64, Output = Self>
    + Mul<f64, Output = Self>
    + Div<f64, Output = Self>
{
    /// A constant.
    #[must_use]
    fn from_f64(value: f64) -> Self;
    /// The value without its derivatives.
    #[must_use]
    fn re(self) -> f64;
    /// Exponential.
    #[must_use]
    fn exp(self) -> Self;
    /// Natural logarithm.
    #[must_use]
    fn ln(self) -> Self;
    /// Square root.
    #[must_use]
    fn sqrt(self) -> Self;
    /// Power with a constant exponent.
    #[must_use]
    fn powf(self, exponent: f64) -> Self;
    /// Power with an exponent that may carry derivatives; the base must be positive.
    #[must_use]
    fn pow(self, exponent: Self) -> Self;

    /// The larger by value.
    #[inline]
    #[must_use]
    fn max(self, other: Self) -> Self {
        if other.re() > self.re() { other } else { self }
    }

    /// The smaller by value.
    #[inline]
    #[must_use]
    fn min(self, other: Self) -> Self {
        if other.re() < self.re() { other } else { self }
    }
}

/// x^y. Quarters up to one (Compound's k - 1, say) by square roots: a sixth of the time, as
/// accurate, and the same bits everywhere.
#[inline]
fn power(x: f64, y: f64) -> f64 {
    let root = |quarters: f64| match quarters as u32 {
        1 => x.sqrt().sqrt(),
        2 => x.sqrt(),
        3 => x.sqrt() * x.sqrt().sqrt(),
        _ => x,
    };
    let quarters = 4.0 * y.abs();
    if x > 0.0 && (1.0..=4.0).contains(&quarters) && quarters == f64::from(quarters as u32) {
        if y > 0.0 {
            root(quarters)
        } else {
            1.0 / root(quarters)
        }
    } else {
        libm::pow(x, y)
    }
}

#[cfg(not(feature = "autodiff"))]
impl Scalar for f64 {
    #[inline]
    fn from_f64(value: f64) -> Self {
        value
    }
    #[inline]
    fn re(self) -> f64 {
        self
    }
    #[inline]
    fn exp(self) -> Self {
        libm::exp(self)
    }
    #[inline]
    fn ln(self) -> Self {
        libm::log(self)
    }
    #[inline]
    fn sqrt(self) -> Self {
        self.sqrt()
    }
    #[inline]
    fn powf(self, exponent: f64) -> Self {
        power(self, exponent)
    }
    #[inline]
    fn pow(self, exponent: Self) -> Self {
        power(self, exponent)
    }
}

#[cfg(feature = "autodiff")]
mod dual {
    use num_dual::DualNum;

    use super::Scalar;

    /// `f64` is among these numbers (`NDERIV` is zero) and keeps to `libm`, so that the feature changes no bit of it.
    impl<T: DualNum<Primitive = f64> + Copy> Scalar for T {
        #[inline]
        fn from_f64(value: f64) -> Self {
            Self::from(value)
        }
        #[inline]
        fn re(self) -> f64 {
            num_dual::DualStruct::re(&self)
        }
        #[inline]
        fn exp(self) -> Self {
            if T::NDERIV == 0 {
                Self::from(libm::exp(self.re()))
            } else {
                DualNum::exp(&self)
            }
        }
        #[inline]
        fn ln(self) -> Self {
            if T::NDERIV == 0 {
                Self::from(libm::log(self.re()))
            } else {
                DualNum::ln(&self)
            }
        }
        #[inline]
        fn sqrt(self) -> Self {
            DualNum::sqrt(&self)
        }
        #[inline]
        fn powf(self, exponent: f64) -> Self {
            if T::NDERIV == 0 {
                Self::from(super::power(self.re(), exponent))
            } else {
                DualNum::powf(&self, exponent)
            }
        }
        #[inline]
        fn pow(self, exponent: Self) -> Self {
            if T::NDERIV == 0 {
                Self::from(super::power(self.re(), exponent.re()))
            } else {
                DualNum::powd(&self, exponent)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Scalar;

    #[test]
    fn plain_numbers_use_libm() {
        let (x, y) = (1.234_567_8_f64, 0.7_f64);
        assert_eq!(Scalar::exp(x), libm::exp(x));
        assert_eq!(Scalar::ln(x), libm::log(x));
        assert_eq!(Scalar::powf(x, y), libm::pow(x, y));
        assert_eq!(Scalar::pow(x, y), libm::pow(x, y));
        assert_eq!((Scalar::max(x, y), Scalar::min(x, y)), (x, y));
        for quarters in -5..=5_i32 {
            let y = 0.25 * f64::from(quarters);
            for x in [1e-200, 0.3, 1.234_567_8, 8.6, 1e5, 1e200] {
                let want = libm::pow(x, y);
                // at most four roundings and a half of 1.1e-16 here, and one in `pow`
                assert!(
                    (Scalar::powf(x, y) - want).abs() <= 6.2e-16 * want,
                    "{x}^{y}"
                );
            }
        }
        assert_eq!(Scalar::powf(0.0, -0.25), f64::INFINITY);
        assert!(Scalar::powf(-1.0, 0.75).is_nan());
    }

    #[cfg(feature = "autodiff")]
    mod autodiff {
        use num_dual::{Dual3_64, Dual64, HyperDual64, HyperHyperDual64};

        use crate::aqm::LinkView;
        use crate::fluid::{AqmInput, Path};
        use crate::registry::{AqmSpec, CongestionSpec};
        use crate::{Scalar, Value};

        /// Compound's i(w) = alpha w^(k - 1) at w = 20, with derivatives by hand.
        #[test]
        fn derivatives_of_compounds_increase() {
            let law = CongestionSpec::from_values("compound", &[])
                .unwrap()
                .fluid()
                .unwrap();
            let (alpha, k, w) = (0.125, 0.75, 20.0_f64);
            let third = law.lift::<Dual3_64>().increase(
                Dual3_64::from_re(w).derivative(),
                &Path::fixed(Dual3_64::from_re(1.0)),
            );
            let i = alpha * w.powf(k - 1.0);
            for (order, value) in [third.re, third.v1, third.v2, third.v3]
                .into_iter()
                .enumerate()
            {
                let exact = [
                    i,
                    i * (k - 1.0) / w,
                    i * (k - 1.0) * (k - 2.0) / w.powi(2),
                    i * (k - 1.0) * (k - 2.0) * (k - 3.0) / w.powi(3),
                ][order];
                assert!(
                    (value / exact - 1.0).abs() < 1e-12,
                    "{order}: {value} {exact}"
                );
            }
            // in a parameter: d i / d k = i ln w
            let mut law = law.lift::<Dual64>();
            law.set("k", Dual64::from_re(k).derivative()).unwrap();
            let in_k = law.increase(Dual64::from_re(w), &Path::fixed(Dual64::from_re(1.0)));
            assert!((in_k.eps / (i * w.ln()) - 1.0).abs() < 1e-12);
        }

        /// The threshold policy's probability in arrival rate and threshold: mixed derivative.
        #[test]
        fn mixed_derivative_of_the_threshold_law() {
            let link = LinkView {
                rate: 1e6,
                delay: 0.0,
                capacity_packets: f64::INFINITY,
            };
            let spec = AqmSpec::from_values(
                "threshold",
                &[("threshold".to_owned(), Value::Number(15.0))],
            )
            .unwrap();
            let mut law = spec.fluid(&link).unwrap().lift::<HyperDual64>();
            law.set("threshold", HyperDual64::from_re(15.0).derivative2())
                .unwrap();
            let input = AqmInput::new(
                HyperDual64::from_re(0.0),
                HyperDual64::from_re(90.0).derivative1(),
                HyperDual64::from_re(100.0),
            );
            let p = law.probability(&input, &[], 0);
            let r: f64 = 0.9;
            // d/dq d/dx (x / C)^q = r^(q - 1) (1 + q ln r) / C
            let exact = r.powi(14) * (1.0 + 15.0 * r.ln()) / 100.0;
            assert!((p.eps1eps2 / exact - 1.0).abs() < 1e-12);
        }

        #[test]
        fn plain_and_dual_values_agree_for_every_law() {
            let link = LinkView {
                rate: 8e6,
                delay: 0.01,
                capacity_packets: 100.0,
            };
            let path = Path::steady(0.1, 0.08);
            let lifted = Path::steady(
                HyperHyperDual64::from_re(0.1),
                HyperHyperDual64::from_re(0.08),
            );
            for meta in crate::registry::congestion()
                .iter()
                .filter(|meta| meta.has_fluid)
            {
                let law = CongestionSpec::from_values(meta.kind, &[])
                    .unwrap()
                    .fluid()
                    .unwrap();
                let dual = law.lift::<HyperHyperDual64>();
                let w = HyperHyperDual64::from_re(30.0);
                assert!(
                    (law.increase(30.0, &path) / Scalar::re(dual.increase(w, &lifted)) - 1.0).abs()
                        < 1e-14
                );
                let (plain, wide) = (law.decrease(30.0, &path), dual.decrease(w, &lifted));
                assert!((plain - Scalar::re(wide)).abs() <= 1e-14 * plain);
            }
            for meta in crate::registry::aqms().iter().filter(|meta| meta.has_fluid) {
                let law = AqmSpec::from_values(meta.kind, &[])
                    .unwrap()
                    .fluid(&link)
                    .unwrap();
                let dual = law.lift::<HyperHyperDual64>();
                let of = HyperHyperDual64::from_re;
                let (plain, wide) = (
                    AqmInput::new(25.0, 80.0, 100.0),
                    AqmInput::new(of(25.0), of(80.0), of(100.0)),
                );
                let state = vec![20.0; law.states()];
                let wide_state: Vec<_> = state.iter().map(|x| of(*x)).collect();
                assert_eq!(law.regime(&plain, &state), dual.regime(&wide, &wide_state));
                for regime in 0..law.regimes().len() {
                    let (p, q) = (
                        law.probability(&plain, &state, regime),
                        dual.probability(&wide, &wide_state, regime),
                    );
                    assert!((p - Scalar::re(q)).abs() < 1e-14, "{} {regime}", meta.kind);
                }
            }
        }
    }
}
