//! Numbers that the fluid faces compute with: plain, or dual numbers that carry derivatives along.

use std::fmt::Debug;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// A real number, or a dual number over it.
///
/// `f64` uses `libm`, so that results have the same bits on every machine.
pub trait Scalar:
    Copy
    + Debug
    + Send
    + Sync
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
        libm::pow(self, exponent)
    }
    #[inline]
    fn pow(self, exponent: Self) -> Self {
        libm::pow(self, exponent)
    }
}

#[cfg(feature = "autodiff")]
mod dual {
    use num_dual::{Dual2_64, Dual3_64, Dual64, DualNum, HyperDual64, HyperHyperDual64};

    use super::Scalar;

    macro_rules! dual {
        ($($type:ty),+) => {$(
            impl Scalar for $type {
                #[inline]
                fn from_f64(value: f64) -> Self {
                    Self::from(value)
                }
                #[inline]
                fn re(self) -> f64 {
                    DualNum::re(&self)
                }
                #[inline]
                fn exp(self) -> Self {
                    DualNum::exp(&self)
                }
                #[inline]
                fn ln(self) -> Self {
                    DualNum::ln(&self)
                }
                #[inline]
                fn sqrt(self) -> Self {
                    DualNum::sqrt(&self)
                }
                #[inline]
                fn powf(self, exponent: f64) -> Self {
                    DualNum::powf(&self, exponent)
                }
                #[inline]
                fn pow(self, exponent: Self) -> Self {
                    DualNum::powd(&self, exponent)
                }
            }
        )+};
    }

    dual!(Dual64, Dual2_64, Dual3_64, HyperDual64, HyperHyperDual64);
}
