//! A system whose functions are a user's, in Python.

use ackclock_delay::{Args, Bound as StateBound, Dual64, DynSystem, HyperDual64, HyperHyperDual64};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::dual::Face;
use crate::watch::{Raised, keep};

/// A system whose functions are Python's. An exception makes the value NaN and waits for the end of
/// the analysis.
pub(super) struct UserSystem {
    pub(super) rhs: Py<PyAny>,
    pub(super) delays: Vec<Py<PyAny>>,
    pub(super) dimension: usize,
    pub(super) state_dependent: bool,
    pub(super) bounds: Vec<StateBound>,
    pub(super) raised: Raised,
}

impl UserSystem {
    fn arguments<'py, S: Face>(
        py: Python<'py>,
        at: &Args<'_, S>,
    ) -> PyResult<[Bound<'py, PyList>; 3]> {
        let list = |values: &[S]| {
            let given: PyResult<Vec<Py<PyAny>>> = values.iter().map(|v| v.give(py)).collect();
            PyList::new(py, given?)
        };
        Ok([list(at.x)?, list(at.past)?, list(at.p)?])
    }

    fn value<S: Face>(&self, at: Args<'_, S>, out: &mut [S]) {
        let called = Python::attach(|py| {
            let [x, past, p] = Self::arguments(py, &at)?;
            let values = self.rhs.bind(py).call1((x, past, p))?;
            let mut count = 0;
            for value in values.try_iter()? {
                if let Some(slot) = out.get_mut(count) {
                    *slot = S::take(&value?)?;
                }
                count += 1;
            }
            if count == out.len() {
                return Ok(());
            }
            let n = out.len();
            Err(PyValueError::new_err(format!(
                "the right-hand side gave {count} values for {n} states"
            )))
        });
        if let Err(error) = called {
            keep(&self.raised, error);
            out.fill(S::from(f64::NAN));
        }
    }

    fn lag<S: Face>(&self, j: usize, at: Args<'_, S>) -> S {
        let called = Python::attach(|py| {
            let [x, past, p] = Self::arguments(py, &at)?;
            S::take(&self.delays[j].bind(py).call1((x, past, p))?)
        });
        called.unwrap_or_else(|error| {
            keep(&self.raised, error);
            S::from(f64::NAN)
        })
    }
}

impl DynSystem for UserSystem {
    fn dimension(&self) -> usize {
        self.dimension
    }
    fn delays(&self) -> usize {
        self.delays.len()
    }
    fn state_dependent(&self) -> bool {
        self.state_dependent
    }
    fn switches(&self) -> usize {
        0
    }
    fn switch(&self, _: Args<'_, f64>, _: &mut [f64]) {}
    fn bounds(&self, _: &[f64]) -> Vec<StateBound> {
        self.bounds.clone()
    }
    fn rhs_f64(&self, at: Args<'_, f64>, out: &mut [f64]) {
        self.value(at, out);
    }
    fn rhs_dual(&self, at: Args<'_, Dual64>, out: &mut [Dual64]) {
        self.value(at, out);
    }
    fn rhs_hyper_dual(&self, at: Args<'_, HyperDual64>, out: &mut [HyperDual64]) {
        self.value(at, out);
    }
    fn rhs_hyper_hyper_dual(&self, at: Args<'_, HyperHyperDual64>, out: &mut [HyperHyperDual64]) {
        self.value(at, out);
    }
    fn delay_f64(&self, j: usize, at: Args<'_, f64>) -> f64 {
        self.lag(j, at)
    }
    fn delay_dual(&self, j: usize, at: Args<'_, Dual64>) -> Dual64 {
        self.lag(j, at)
    }
    fn delay_hyper_dual(&self, j: usize, at: Args<'_, HyperDual64>) -> HyperDual64 {
        self.lag(j, at)
    }
    fn delay_hyper_hyper_dual(&self, j: usize, at: Args<'_, HyperHyperDual64>) -> HyperHyperDual64 {
        self.lag(j, at)
    }
}
