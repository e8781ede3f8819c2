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

    use super::{Scalar, power};

    /// Most derivatives that a number carries, and one.
    const MAX_TERMS: usize = 4;

    /// A function of a dual number from its Taylor coefficients at the number's value, which are
    /// exact: what is beside the value vanishes in a power beyond the last derivative.
    #[inline]
    fn taylor<T: DualNum<Primitive = f64> + Copy>(x: T, coefficients: [f64; MAX_TERMS]) -> T {
        const { assert!(T::NDERIV < MAX_TERMS) };
        let offset = x - x.re();
        let last = T::from(coefficients[T::NDERIV]);
        (coefficients[..T::NDERIV].iter().rev()).fold(last, |sum, c| sum * offset + *c)
    }

    fn exponential<T: DualNum<Primitive = f64> + Copy>(x: T) -> T {
        let value = libm::exp(x.re());
        taylor(x, [value, value, value / 2.0, value / 6.0])
    }

    fn logarithm<T: DualNum<Primitive = f64> + Copy>(x: T) -> T {
        let slope = 1.0 / x.re();
        let (square, cube) = (slope * slope, slope * slope * slope);
        taylor(x, [libm::log(x.re()), slope, -square / 2.0, cube / 3.0])
    }

    fn constant_power<T: DualNum<Primitive = f64> + Copy>(x: T, y: f64) -> T {
        let at = x.re();
        let mut coefficients = [power(at, y), 0.0, 0.0, 0.0];
        let (mut binomial, mut rest) = (1.0, coefficients[0]);
        for (k, coefficient) in coefficients
            .iter_mut()
            .enumerate()
            .take(T::NDERIV + 1)
            .skip(1)
        {
            let order = k as f64;
            binomial *= (y - (order - 1.0)) / order;
            if binomial == 0.0 {
                break;
            }
            rest = if at == 0.0 {
                power(at, y - order)
            } else {
                rest / at
            };
            *coefficient = binomial * rest;
        }
        taylor(x, coefficients)
    }

    /// `f64` is among these numbers (`NDERIV` is zero). All keep to `libm`, as `num-dual` does not.
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
            exponential(self)
        }
        #[inline]
        fn ln(self) -> Self {
            logarithm(self)
        }
        #[inline]
        fn sqrt(self) -> Self {
            DualNum::sqrt(&self)
        }
        #[inline]
        fn powf(self, exponent: f64) -> Self {
            constant_power(self, exponent)
        }
        #[inline]
        fn pow(self, exponent: Self) -> Self {
            let (x, y) = (self.re(), exponent.re());
            if T::NDERIV == 0 || x == 0.0 {
                return constant_power(self, y);
            }
            // x^y exp(what y ln x has beside its value)
            let log = logarithm(self) * exponent;
            exponential(log - log.re()) * power(x, y)
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
        use num_dual::{Dual3_64, Dual64, DualNum, HyperDual64, HyperHyperDual64};

        use crate::aqm::LinkView;
        use crate::fluid::{AqmInput, Path};
        use crate::registry::{AqmSpec, CongestionSpec};
        use crate::{Scalar, Value};

        /// All derivatives are those of `num-dual`, which has other formulas, to rounding.
        #[test]
        fn functions_of_dual_numbers() {
            let parts = |z: HyperHyperDual64| {
                [
                    z.re,
                    z.eps1,
                    z.eps2,
                    z.eps3,
                    z.eps1eps2,
                    z.eps1eps3,
                    z.eps2eps3,
                    z.eps1eps2eps3,
                ]
            };
            let x = HyperHyperDual64::new(1.7, 0.3, -1.1, 0.7, 0.2, 0.9, -0.4, 1.3);
            let y = HyperHyperDual64::new(-0.6, 1.2, 0.8, -0.5, 0.1, -0.7, 0.6, 0.2);
            for (name, ours, theirs) in [
                ("exp", Scalar::exp(x), DualNum::exp(&x)),
                ("ln", Scalar::ln(x), DualNum::ln(&x)),
                ("powf", Scalar::powf(x, 0.75), DualNum::powf(&x, 0.75)),
                ("square", Scalar::powf(x, 2.0), x * x),
                ("pow", Scalar::pow(x, y), DualNum::powd(&x, y)),
            ] {
                for (own, other) in parts(ours).into_iter().zip(parts(theirs)) {
                    assert!(
                        (own - other).abs() < 1e-14 * (1.0 + other.abs()),
                        "{name}: {own} {other}"
                    );
                }
            }
            // at zero a square still has its derivatives
            let zero = HyperHyperDual64::new(0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0);
            assert_eq!(parts(Scalar::powf(zero, 2.0))[4], 2.0);
            assert_eq!(
                Scalar::powf(Dual64::from_re(0.0).derivative(), 1.0).eps,
                1.0
            );
        }

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
