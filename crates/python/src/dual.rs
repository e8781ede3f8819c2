//! Numbers with exact derivatives for right-hand sides written in Python.

use ackclock_delay::{Dual64, DualNum, HyperDual64, HyperHyperDual64, Scalar};
use pyo3::IntoPyObjectExt;
use pyo3::basic::CompareOp;
use pyo3::exceptions::{PyTypeError, PyZeroDivisionError};
use pyo3::prelude::*;
use pyo3::types::PyComplex;

/// A number with one, two or three infinitesimals.
#[derive(Clone, Copy)]
pub(crate) enum Jet {
    First(Dual64),
    Second(HyperDual64),
    Third(HyperHyperDual64),
}

/// A number that carries exact derivatives along; it takes part in arithmetic with floats, and
/// comparisons look at its value.
#[pyclass(name = "Dual", module = "ackclock._core", frozen)]
pub(crate) struct PyDual(Jet);

/// A scalar that a Python function can compute with.
pub(crate) trait Face: Scalar {
    fn give(self, py: Python<'_>) -> PyResult<Py<PyAny>>;
    fn jet(jet: Jet) -> Option<Self>;
    fn take(value: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(dual) = value.cast::<PyDual>() {
            return Self::jet(dual.get().0).ok_or_else(|| {
                PyTypeError::new_err(
                    "a dual number of another evaluation was returned; nothing may be kept between calls",
                )
            });
        }
        // what Python makes of a fractional power of a negative number
        if value.is_instance_of::<PyComplex>() {
            return Ok(Self::from(f64::NAN));
        }
        Ok(Self::from(value.extract::<f64>()?))
    }
}

impl Face for f64 {
    fn give(self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.into_py_any(py)
    }
    fn jet(_: Jet) -> Option<Self> {
        None
    }
}

macro_rules! face {
    ($scalar:ty, $variant:ident) => {
        impl Face for $scalar {
            fn give(self, py: Python<'_>) -> PyResult<Py<PyAny>> {
                PyDual(Jet::$variant(self)).into_py_any(py)
            }
            fn jet(jet: Jet) -> Option<Self> {
                match jet {
                    Jet::$variant(v) => Some(v),
                    _ => None,
                }
            }
        }
    };
}
face!(Dual64, First);
face!(HyperDual64, Second);
face!(HyperHyperDual64, Third);

impl Jet {
    fn real(&self) -> f64 {
        match self {
            Self::First(v) => v.real(),
            Self::Second(v) => v.real(),
            Self::Third(v) => v.real(),
        }
    }

    /// The constant `value` with as many infinitesimals.
    fn constant(&self, value: f64) -> Self {
        match self {
            Self::First(_) => Self::First(value.into()),
            Self::Second(_) => Self::Second(value.into()),
            Self::Third(_) => Self::Third(value.into()),
        }
    }
}

/// The same expression of one jet for each kind.
macro_rules! map {
    ($jet:expr, $v:ident => $result:expr) => {
        match $jet {
            Jet::First($v) => Jet::First($result),
            Jet::Second($v) => Jet::Second($result),
            Jet::Third($v) => Jet::Third($result),
        }
    };
}

/// The same expression of two jets for each kind.
macro_rules! both {
    ($a:expr, $b:expr, $x:ident, $y:ident => $result:expr) => {
        match ($a, $b) {
            (Jet::First($x), Jet::First($y)) => Ok(Jet::First($result)),
            (Jet::Second($x), Jet::Second($y)) => Ok(Jet::Second($result)),
            (Jet::Third($x), Jet::Third($y)) => Ok(Jet::Third($result)),
            _ => Err(PyTypeError::new_err(
                "dual numbers of different evaluations cannot be combined; nothing may be kept between calls",
            )),
        }
    };
}

/// The other operand of an operation; `None` where Python is to try something else.
struct Operand(Option<Jet>);

impl PyDual {
    fn operand(&self, other: &Bound<'_, PyAny>) -> Operand {
        if let Ok(dual) = other.cast::<Self>() {
            return Operand(Some(dual.get().0));
        }
        Operand(
            other
                .extract::<f64>()
                .ok()
                .map(|value| self.0.constant(value)),
        )
    }

    fn with(
        &self,
        py: Python<'_>,
        other: &Bound<'_, PyAny>,
        operation: impl FnOnce(Jet, Jet) -> PyResult<Jet>,
    ) -> PyResult<Py<PyAny>> {
        match self.operand(other).0 {
            Some(other) => Self(operation(self.0, other)?).into_py_any(py),
            None => Ok(py.NotImplemented()),
        }
    }
}

fn quotient(a: Jet, b: Jet) -> PyResult<Jet> {
    if b.real() == 0.0 {
        return Err(PyZeroDivisionError::new_err("division by zero"));
    }
    both!(a, b, x, y => x / y)
}

fn power(base: Jet, exponent: Jet) -> PyResult<Jet> {
    both!(base, exponent, x, y => x.powd(y))
}

#[pymethods]
impl PyDual {
    /// The value without its derivatives.
    #[getter]
    fn real(&self) -> f64 {
        self.0.real()
    }

    fn __add__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.with(py, other, |a, b| both!(a, b, x, y => x + y))
    }
    fn __radd__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.with(py, other, |a, b| both!(b, a, x, y => x + y))
    }
    fn __sub__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.with(py, other, |a, b| both!(a, b, x, y => x - y))
    }
    fn __rsub__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.with(py, other, |a, b| both!(b, a, x, y => x - y))
    }
    fn __mul__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.with(py, other, |a, b| both!(a, b, x, y => x * y))
    }
    fn __rmul__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.with(py, other, |a, b| both!(b, a, x, y => x * y))
    }
    fn __truediv__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.with(py, other, quotient)
    }
    fn __rtruediv__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.with(py, other, |a, b| quotient(b, a))
    }

    fn __pow__(
        &self,
        py: Python<'_>,
        other: &Bound<'_, PyAny>,
        modulo: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        if modulo.is_some() {
            return Ok(py.NotImplemented());
        }
        if let Ok(number) = other.extract::<f64>() {
            if number.fract() == 0.0 && number.abs() <= f64::from(i32::MAX) {
                return Self(map!(self.0, v => v.powi(number as i32))).into_py_any(py);
            }
            return Self(map!(self.0, v => v.powf(number))).into_py_any(py);
        }
        self.with(py, other, power)
    }
    fn __rpow__(
        &self,
        py: Python<'_>,
        other: &Bound<'_, PyAny>,
        _modulo: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        self.with(py, other, |a, b| power(b, a))
    }

    fn __neg__(&self) -> Self {
        Self(map!(self.0, v => -v))
    }
    fn __pos__(&self) -> Self {
        Self(self.0)
    }
    fn __abs__(&self) -> Self {
        Self(map!(self.0, v => if v.real() < 0.0 { -v } else { v }))
    }
    fn __bool__(&self) -> bool {
        self.0.real() != 0.0
    }

    fn __richcmp__(&self, other: &Bound<'_, PyAny>, how: CompareOp) -> PyResult<Py<PyAny>> {
        let py = other.py();
        let value = match other.cast::<Self>() {
            Ok(dual) => dual.get().0.real(),
            Err(_) => match other.extract::<f64>() {
                Ok(value) => value,
                Err(_) => return Ok(py.NotImplemented()),
            },
        };
        let own = self.0.real();
        match how {
            CompareOp::Lt => own < value,
            CompareOp::Le => own <= value,
            CompareOp::Eq => own == value,
            CompareOp::Ne => own != value,
            CompareOp::Gt => own > value,
            CompareOp::Ge => own >= value,
        }
        .into_py_any(py)
    }

    fn __float__(&self) -> PyResult<f64> {
        Err(PyTypeError::new_err(
            "a dual number does not become a float: that would lose its derivatives (use the functions of ackclock.delay, not those of math)",
        ))
    }

    fn __repr__(&self) -> String {
        let order = match self.0 {
            Jet::First(_) => "first",
            Jet::Second(_) => "second",
            Jet::Third(_) => "third",
        };
        format!("Dual({}, with {order} derivatives)", self.0.real())
    }

    fn exp(&self) -> Self {
        Self(map!(self.0, v => v.exp()))
    }
    fn log(&self) -> Self {
        Self(map!(self.0, v => v.ln()))
    }
    fn sqrt(&self) -> Self {
        Self(map!(self.0, v => v.sqrt()))
    }
    fn cbrt(&self) -> Self {
        Self(map!(self.0, v => v.cbrt()))
    }
    fn sin(&self) -> Self {
        Self(map!(self.0, v => v.sin()))
    }
    fn cos(&self) -> Self {
        Self(map!(self.0, v => v.cos()))
    }
    fn tan(&self) -> Self {
        Self(map!(self.0, v => v.tan()))
    }
    fn arctan(&self) -> Self {
        Self(map!(self.0, v => v.atan()))
    }
    fn sinh(&self) -> Self {
        Self(map!(self.0, v => v.sinh()))
    }
    fn cosh(&self) -> Self {
        Self(map!(self.0, v => v.cosh()))
    }
    fn tanh(&self) -> Self {
        Self(map!(self.0, v => v.tanh()))
    }
}
