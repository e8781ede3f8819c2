//! Analyses that heed Ctrl-C and an allowance of work. No clock ends them: what they find does not
//! depend on the machine or its load.

use std::cell::{Cell, RefCell};
use std::sync::{Arc, Mutex, Once};
use std::time::{Duration, Instant};

use ackclock_delay::{left, metered};
use numpy::PyArray1;
use pyo3::prelude::*;

/// Where an exception waits until the analysis that it came up in is over.
pub(crate) type Raised = Arc<Mutex<Option<PyErr>>>;

/// Keeps the first exception.
pub(crate) fn keep(slot: &Mutex<Option<PyErr>>, error: PyErr) {
    if let Ok(mut slot) = slot.lock() {
        slot.get_or_insert(error);
    }
}

/// Time between two looks at signals.
const BETWEEN_SIGNALS: Duration = Duration::from_millis(50);

thread_local! {
    static ALLOWANCE: Cell<Option<u64>> = const { Cell::new(None) };
    static HALT: RefCell<Option<Py<PyAny>>> = const { RefCell::new(None) };
}

/// Sets the function that engines and analyses of this thread call many times a second; what it
/// raises ends them. `None` for nothing. Ctrl-C is seen by the main thread alone: this is how it
/// ends the others.
#[pyfunction]
pub(crate) fn set_halt(check: Option<Py<PyAny>>) {
    drop(HALT.replace(check));
}

/// Looks whether this thread is to end what it does.
///
/// # Errors
/// What a signal handler raised, or what `set_halt` asked to be called.
pub(crate) fn interrupts(py: Python<'_>) -> PyResult<()> {
    py.check_signals()?;
    let check = HALT.with_borrow(|check| check.as_ref().map(|check| check.clone_ref(py)));
    check.map_or(Ok(()), |check| check.call0(py).map(drop))
}

/// [`interrupts`] for waits in Python.
#[pyfunction]
pub(crate) fn check_interrupts(py: Python<'_>) -> PyResult<()> {
    interrupts(py)
}

/// Sets how much work the analyses of this thread may do from now on, all together; `None` for no
/// limit. Returns what was left of the last one.
#[pyfunction]
pub(crate) fn set_allowance(work: Option<u64>) -> Option<u64> {
    ALLOWANCE.replace(work)
}

/// Loads NumPy, whose arrays carry results, and makes the first: interrupted here it is an error like
/// any other. The first array asks NumPy for its version in Python code, where Ctrl-C would be a
/// panic: it is made in a thread of its own, as signals come up in the main thread alone.
///
/// # Errors
/// What the import raised, `KeyboardInterrupt` among it.
pub(crate) fn load_arrays(py: Python<'_>) -> PyResult<()> {
    static FIRST: Once = Once::new();
    py.import("numpy")?;
    let first = || Python::attach(|py| drop(PyArray1::<f64>::zeros(py, 0, false)));
    py.detach(|| {
        // what panics there does so again where the results are made
        FIRST.call_once_force(|_| drop(std::thread::spawn(first).join()));
    });
    py.check_signals()
}

/// Runs an analysis without the GIL.
///
/// # Errors
/// What a signal handler raised; `AnalysisError` "out of time" where the allowance is used up.
pub(crate) fn interruptible<T: Send>(
    py: Python<'_>,
    analysis: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    load_arrays(py)?;
    let raised = Raised::default();
    let slot = Arc::clone(&raised);
    let allowed = ALLOWANCE.get();
    let mut next = Instant::now() + BETWEEN_SIGNALS;
    let watch = move || {
        let now = Instant::now();
        if now < next {
            return true;
        }
        next = now + BETWEEN_SIGNALS;
        Python::attach(|py| {
            let signal = interrupts(py);
            let none = signal.is_ok();
            if let Err(error) = signal {
                keep(&slot, error);
            }
            none
        })
    };
    let late = || {
        let text = "not decided within the time allowed".to_owned();
        crate::raise(py, "AnalysisError", (text, "out of time"))
    };
    if allowed == Some(0) {
        return Err(late());
    }
    let counted = || (analysis(), left());
    let answer = py.detach(|| metered(allowed.unwrap_or(u64::MAX), watch, counted));
    ALLOWANCE.set(allowed.map(|_| answer.as_ref().map_or(0, |(_, left)| *left)));
    answer.map(|(found, _)| found).map_err(|_| {
        let signal = raised.lock().map_or(None, |mut slot| slot.take());
        signal.unwrap_or_else(late)
    })
}
