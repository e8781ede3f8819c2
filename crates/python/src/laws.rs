//! Window laws that are Python objects.

use ackclock_delay::{Dual64, HyperDual64, HyperHyperDual64};
use ackclock_fluid::WindowLaw;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

use crate::dual::Face;
use crate::run_error;
use crate::watch::{Raised, keep};

/// A user's Python object with methods `increase(window, rtt)` and `decrease(window)`.
#[derive(Debug)]
pub(crate) struct UserLaw {
    pub(crate) object: Py<PyAny>,
    pub(crate) raised: Raised,
}

impl UserLaw {
    /// The exception of the user's code as that: with its file and line. Ctrl-C stays what it is.
    fn failed(cause: PyErr) -> PyErr {
        Python::attach(|py| {
            if cause.is_instance_of::<PyKeyboardInterrupt>(py) {
                return cause;
            }
            let message = "an algorithm raised an exception in the equations".to_owned();
            let error = run_error(py, message, None);
            error.set_cause(py, Some(cause));
            error
        })
    }

    fn rates<S: Face>(&self, window: S, rtt: S) -> (S, S) {
        let rates = Python::attach(|py| -> PyResult<(S, S)> {
            let object = self.object.bind(py);
            let grow = object.call_method1("increase", (window.give(py)?, rtt.give(py)?))?;
            let fall = object.call_method1("decrease", (window.give(py)?,))?;
            Ok((S::take(&grow)?, S::take(&fall)?))
        });
        rates.unwrap_or_else(|cause| {
            keep(&self.raised, Self::failed(cause));
            (S::from(f64::NAN), S::from(f64::NAN))
        })
    }
}

impl WindowLaw for UserLaw {
    fn law_f64(&self, window: f64, rtt: f64) -> (f64, f64) {
        self.rates(window, rtt)
    }
    fn law_dual(&self, window: Dual64, rtt: Dual64) -> (Dual64, Dual64) {
        self.rates(window, rtt)
    }
    fn law_hyper_dual(&self, window: HyperDual64, rtt: HyperDual64) -> (HyperDual64, HyperDual64) {
        self.rates(window, rtt)
    }
    fn law_hyper_hyper_dual(
        &self,
        window: HyperHyperDual64,
        rtt: HyperHyperDual64,
    ) -> (HyperHyperDual64, HyperHyperDual64) {
        self.rates(window, rtt)
    }
}
