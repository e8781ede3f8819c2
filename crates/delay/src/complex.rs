//! Complex numbers whose functions have the same bits on every machine.

/// Complex numbers of `num-complex`.
#[allow(non_camel_case_types)] // as a number's name
pub type c64 = num_complex::Complex<f64>;

/// Functions of complex numbers by `libm`: `num-complex` takes those of the platform.
pub trait Elementary {
    /// Absolute value.
    #[must_use]
    fn modulus(self) -> f64;
    /// Angle, -pi to pi.
    #[must_use]
    fn argument(self) -> f64;
    /// Exponential.
    #[must_use]
    fn exponential(self) -> Self;
}

impl Elementary for c64 {
    #[inline]
    fn modulus(self) -> f64 {
        libm::hypot(self.re, self.im)
    }

    #[inline]
    fn argument(self) -> f64 {
        libm::atan2(self.im, self.re)
    }

    #[inline]
    fn exponential(self) -> Self {
        let (sin, cos) = libm::sincos(self.im);
        let size = libm::exp(self.re);
        Self::new(size * cos, size * sin)
    }
}
