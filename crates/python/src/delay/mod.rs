//! Analyses of delay-differential equations: those of a scenario, and a user's own in Python.

#![expect(clippy::needless_pass_by_value, reason = "PyO3 makes vectors of lists")]

mod results;
mod user;

use std::sync::{Arc, Mutex};

use ackclock_delay::{
    BranchPoint, ContinuationOptions, Crossing, Cycle, CyclePoint, DynSystem, Error, FoldPoint,
    HopfPoint, Linear, Normalisation, Resolution, Tolerance, bautin_points, branch, c64,
    count_right_of, criticality, crossings, cycle_at, cycle_branch, cycle_fold, cycle_from_hopf,
    cycle_with_amplitude, equilibria, equilibrium, floquet, fold_curve, fold_near, hopf_curve,
    hopf_near, integrate, period_doubling, rightmost_roots, root_near, roots_right_of,
};
use numpy::{Complex64, PyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyComplex, PyDict, PyList};

use crate::watch::{Raised, interruptible, keep};

pub(crate) use results::{PyCycle, PyHopfPoint, PyTrajectory, curve, hopf, normal_form};
use results::{complexes, fold, number};
use user::UserSystem;

/// A system of delay-differential equations.
#[pyclass(name = "DelaySystem", module = "ackclock._core", frozen)]
pub(crate) struct PyDelaySystem {
    system: Arc<dyn DynSystem>,
    /// Where a user's function leaves its exception.
    raised: Option<Raised>,
}

impl PyDelaySystem {
    pub(crate) fn of(system: impl DynSystem + 'static, raised: Option<Raised>) -> Self {
        Self {
            system: Arc::new(system),
            raised,
        }
    }

    /// Runs an analysis without the GIL; an exception of the user's function goes before what the
    /// analysis made of it.
    fn run<T: Send>(
        &self,
        py: Python<'_>,
        analysis: impl FnOnce(&dyn DynSystem) -> Result<T, Error> + Send,
    ) -> PyResult<T> {
        let system = &*self.system;
        let answer = interruptible(py, || analysis(system));
        if let Some(raised) = &self.raised
            && let Some(error) = raised.lock().map_or(None, |mut slot| slot.take())
        {
            return Err(error);
        }
        answer?.map_err(|error| failure(py, &error))
    }

    fn linear(&self, py: Python<'_>, x: &[f64], p: &[f64]) -> PyResult<Linear> {
        self.sizes(x, p)?;
        self.run(py, |system| Ok(Linear::of(system, x, p)))
    }

    fn sizes(&self, x: &[f64], _p: &[f64]) -> PyResult<()> {
        let n = self.system.dimension();
        if x.len() == n {
            return Ok(());
        }
        Err(PyValueError::new_err(format!(
            "the system has {n} states, not {}",
            x.len()
        )))
    }
}

/// An analysis that gave no answer, as an exception with its cause.
pub(crate) fn failure(py: Python<'_>, error: &Error) -> PyErr {
    if let Error::Argument(text) = error {
        return PyValueError::new_err(text.clone());
    }
    let kind = match error {
        Error::NoEquilibrium { .. } => "no equilibrium",
        Error::OnClamp { .. } => "on a clamp",
        Error::OutOfBounds { .. } => "out of bounds",
        Error::NewtonFailed { .. } => "not converged",
        Error::Singular { .. } => "singular",
        Error::CertificateFailed { .. } | Error::CertificateTooLong => "not certified",
        Error::Eigenvalues(_) => "no eigenvalues",
        Error::RootOnLine { .. } => "root on the line",
        Error::NotFound { .. } => "not found",
        Error::StepUnderflow { .. } => "step underflow",
        Error::NotFinite { .. } => "not finite",
        Error::TooManySteps { .. } => "too many steps",
        Error::BadDelay { .. } => "bad delay",
        Error::NotResolved { .. } => "not resolved",
        Error::TrivialMultiplier { .. } => "not classified",
        Error::Collapsed => "collapsed",
        _ => "failed",
    };
    crate::raise(py, "AnalysisError", (error.to_string(), kind))
}

fn resolution(tolerance: f64) -> Resolution {
    Resolution {
        tolerance,
        ..Resolution::default()
    }
}

pub(crate) fn continuation_options(points: usize, largest_step: f64) -> ContinuationOptions {
    ContinuationOptions {
        points,
        largest_step,
        ..ContinuationOptions::default()
    }
}

#[pymethods]
impl PyDelaySystem {
    /// A system whose right-hand side and delays are Python functions of (x, past, p), all flat
    /// lists.
    #[new]
    #[pyo3(signature = (rhs, delays, *, dimension, state_dependent, bounds))]
    fn new(
        rhs: Py<PyAny>,
        delays: Vec<Py<PyAny>>,
        dimension: usize,
        state_dependent: bool,
        bounds: Vec<(usize, f64, f64)>,
    ) -> Self {
        let raised = Arc::new(Mutex::new(None));
        let bounds = bounds
            .into_iter()
            .map(|(state, lower, upper)| ackclock_delay::Bound {
                state,
                lower,
                upper,
            })
            .collect();
        Self {
            system: Arc::new(UserSystem {
                rhs,
                delays,
                dimension,
                state_dependent,
                bounds,
                raised: Arc::clone(&raised),
            }),
            raised: Some(raised),
        }
    }

    #[getter]
    fn dimension(&self) -> usize {
        self.system.dimension()
    }

    fn equilibrium(&self, py: Python<'_>, guess: Vec<f64>, p: Vec<f64>) -> PyResult<Vec<f64>> {
        self.sizes(&guess, &p)?;
        self.run(py, |s| equilibrium(s, &guess, &p))
    }

    fn equilibria(
        &self,
        py: Python<'_>,
        lower: Vec<f64>,
        upper: Vec<f64>,
        p: Vec<f64>,
    ) -> PyResult<Vec<Vec<f64>>> {
        self.run(py, |s| equilibria(s, &lower, &upper, &p))
    }

    /// At least `count` rightmost roots, and the line right of which none is missing.
    fn roots<'py>(
        &self,
        py: Python<'py>,
        x: Vec<f64>,
        p: Vec<f64>,
        count: usize,
    ) -> PyResult<(Bound<'py, PyArray1<Complex64>>, f64)> {
        let linear = self.linear(py, &x, &p)?;
        let spectrum = self.run(py, |_| rightmost_roots(&linear, count))?;
        Ok((complexes(py, &spectrum.roots), spectrum.line))
    }

    /// All roots right of `line`.
    fn roots_right_of<'py>(
        &self,
        py: Python<'py>,
        x: Vec<f64>,
        p: Vec<f64>,
        line: f64,
    ) -> PyResult<(Bound<'py, PyArray1<Complex64>>, f64)> {
        let linear = self.linear(py, &x, &p)?;
        let spectrum = self.run(py, |_| roots_right_of(&linear, line))?;
        Ok((complexes(py, &spectrum.roots), spectrum.line))
    }

    /// The number of roots right of `line`, by the argument principle.
    fn count_right_of(
        &self,
        py: Python<'_>,
        x: Vec<f64>,
        p: Vec<f64>,
        line: f64,
    ) -> PyResult<usize> {
        let linear = self.linear(py, &x, &p)?;
        self.run(py, |_| count_right_of(&linear, line))
    }

    /// The root that Newton's method reaches from `start`.
    fn root_near<'py>(
        &self,
        py: Python<'py>,
        x: Vec<f64>,
        p: Vec<f64>,
        start: &Bound<'py, PyComplex>,
    ) -> PyResult<Bound<'py, PyComplex>> {
        let linear = self.linear(py, &x, &p)?;
        let start = c64::new(start.real(), start.imag());
        Ok(number(py, self.run(py, |_| root_near(&linear, start))?))
    }

    fn hopf_near(
        &self,
        py: Python<'_>,
        x: Vec<f64>,
        frequency: f64,
        p: Vec<f64>,
        free: usize,
    ) -> PyResult<PyHopfPoint> {
        self.sizes(&x, &p)?;
        self.run(py, |s| hopf_near(s, &x, frequency, &p, free))
            .map(PyHopfPoint)
    }

    fn fold_near<'py>(
        &self,
        py: Python<'py>,
        x: Vec<f64>,
        p: Vec<f64>,
        free: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.sizes(&x, &p)?;
        fold(py, self.run(py, |s| fold_near(s, &x, &p, free))?)
    }

    /// Crossings of the imaginary axis as a parameter runs through a range.
    #[expect(clippy::too_many_arguments, reason = "a private function")]
    fn crossings<'py>(
        &self,
        py: Python<'py>,
        guess: Vec<f64>,
        p: Vec<f64>,
        free: usize,
        start: f64,
        end: f64,
        samples: usize,
    ) -> PyResult<Bound<'py, PyDict>> {
        self.sizes(&guess, &p)?;
        let search = self.run(py, |s| crossings(s, &guess, &p, free, start, end, samples))?;
        let dict = PyDict::new(py);
        let list = PyList::empty(py);
        for crossing in search.crossings {
            match crossing {
                Crossing::Hopf(point) => list.append(("hopf", hopf(py, point)?))?,
                Crossing::Steady(point) => list.append(("steady", fold(py, point)?))?,
            }
        }
        dict.set_item("crossings", list)?;
        dict.set_item("unstable_at_start", search.unstable_at_start)?;
        let stopped = search
            .stopped
            .map(|(value, error)| (value, error.to_string()));
        dict.set_item("stopped", stopped)?;
        Ok(dict)
    }

    fn hopf_curve<'py>(
        &self,
        py: Python<'py>,
        start: &PyHopfPoint,
        free: (usize, usize),
        ranges: [(f64, f64); 2],
        points: usize,
        largest_step: f64,
    ) -> PyResult<Bound<'py, PyDict>> {
        let options = continuation_options(points, largest_step);
        let followed = self.run(py, |s| hopf_curve(s, &start.0, free, ranges, &options))?;
        curve(py, followed, |point| hopf(py, point))
    }

    #[expect(clippy::too_many_arguments, reason = "a private function")]
    fn fold_curve<'py>(
        &self,
        py: Python<'py>,
        x: Vec<f64>,
        p: Vec<f64>,
        free: (usize, usize),
        ranges: [(f64, f64); 2],
        points: usize,
        largest_step: f64,
    ) -> PyResult<Bound<'py, PyDict>> {
        let options = continuation_options(points, largest_step);
        let start = FoldPoint { x, p };
        let followed = self.run(py, |s| fold_curve(s, &start, free, ranges, &options))?;
        curve(py, followed, |point| fold(py, point))
    }

    /// The branch of equilibria in one parameter.
    #[expect(clippy::too_many_arguments, reason = "a private function")]
    fn branch<'py>(
        &self,
        py: Python<'py>,
        x: Vec<f64>,
        p: Vec<f64>,
        free: usize,
        span: (f64, f64),
        points: usize,
        largest_step: f64,
    ) -> PyResult<Bound<'py, PyDict>> {
        self.sizes(&x, &p)?;
        let options = continuation_options(points, largest_step);
        let followed = self.run(py, |s| branch(s, &x, &p, free, span, &options))?;
        curve(py, followed, |point: BranchPoint| {
            let dict = PyDict::new(py);
            dict.set_item("state", point.x)?;
            dict.set_item("parameters", point.p)?;
            Ok(dict.into_any())
        })
    }

    /// Where the first Lyapunov coefficient vanishes on a Hopf curve.
    fn bautin_points(
        &self,
        py: Python<'_>,
        points: Vec<PyRef<'_, PyHopfPoint>>,
        free: (usize, usize),
    ) -> PyResult<Vec<PyHopfPoint>> {
        let points: Vec<HopfPoint> = points.iter().map(|point| point.0.clone()).collect();
        let bautin = self.run(py, |s| bautin_points(s, &points, free))?;
        Ok(bautin.into_iter().map(PyHopfPoint).collect())
    }

    /// The normal form; `component` is the state whose amplitude counts.
    fn criticality<'py>(
        &self,
        py: Python<'py>,
        point: &PyHopfPoint,
        free: usize,
        component: usize,
    ) -> PyResult<Bound<'py, PyDict>> {
        let normalisation = Normalisation::Component(component);
        let form = self.run(py, |s| criticality(s, &point.0, free, normalisation))?;
        normal_form(py, &form)
    }

    fn cycle_from_hopf(
        &self,
        py: Python<'_>,
        point: &PyHopfPoint,
        free: usize,
        component: usize,
        amplitude: f64,
        tolerance: f64,
    ) -> PyResult<PyCycle> {
        let resolution = resolution(tolerance);
        self.run(py, |s| {
            cycle_from_hopf(s, &point.0, free, component, amplitude, &resolution)
        })
        .map(PyCycle)
    }

    fn cycle_with_amplitude(
        &self,
        py: Python<'_>,
        near: &PyCycle,
        free: usize,
        component: usize,
        amplitude: f64,
        tolerance: f64,
    ) -> PyResult<PyCycle> {
        let resolution = resolution(tolerance);
        self.run(py, |s| {
            cycle_with_amplitude(s, &near.0, free, component, amplitude, &resolution)
        })
        .map(PyCycle)
    }

    fn cycle_at(
        &self,
        py: Python<'_>,
        near: &PyCycle,
        p: Vec<f64>,
        tolerance: f64,
    ) -> PyResult<PyCycle> {
        let resolution = resolution(tolerance);
        self.run(py, |s| cycle_at(s, &near.0, &p, &resolution))
            .map(PyCycle)
    }

    /// The cycle near a profile: `states[k]` is the state at phase k / len(states).
    fn cycle_near(
        &self,
        py: Python<'_>,
        period: f64,
        p: Vec<f64>,
        states: Vec<Vec<f64>>,
        tolerance: f64,
    ) -> PyResult<PyCycle> {
        let n = self.system.dimension();
        if states.is_empty() || states.iter().any(|state| state.len() != n) {
            return Err(PyValueError::new_err(format!(
                "a profile needs rows of {n} states"
            )));
        }
        let resolution = resolution(tolerance);
        let profile = |s: f64, out: &mut [f64]| {
            let place = s.rem_euclid(1.0) * states.len() as f64;
            let (k, part) = (place as usize % states.len(), place.fract());
            let next = &states[(k + 1) % states.len()];
            for (i, o) in out.iter_mut().enumerate() {
                *o = states[k][i] * (1.0 - part) + next[i] * part;
            }
        };
        let guess = Cycle::guess(n, period, &p, 2 * resolution.intervals, &profile)
            .map_err(|error| failure(py, &error))?;
        self.run(py, |s| cycle_at(s, &guess, &p, &resolution))
            .map(PyCycle)
    }

    /// A branch of cycles through folds: each with whether a fold lies before it.
    #[expect(clippy::too_many_arguments, reason = "a private function")]
    fn cycle_branch<'py>(
        &self,
        py: Python<'py>,
        start: &PyCycle,
        free: usize,
        span: (f64, f64),
        points: usize,
        largest_step: f64,
        tolerance: f64,
    ) -> PyResult<Bound<'py, PyDict>> {
        let options = continuation_options(points, largest_step);
        let resolution = resolution(tolerance);
        let followed = self.run(py, |s| {
            cycle_branch(s, &start.0, free, span, &options, &resolution)
        })?;
        curve(py, followed, |point: CyclePoint| {
            let cycle = Bound::new(py, PyCycle(point.cycle))?;
            Ok((cycle, point.after_fold).into_pyobject(py)?.into_any())
        })
    }

    /// The fold of cycles between two amplitudes.
    fn cycle_fold(
        &self,
        py: Python<'_>,
        near: &PyCycle,
        free: usize,
        component: usize,
        amplitudes: (f64, f64),
        tolerance: f64,
    ) -> PyResult<PyCycle> {
        let resolution = resolution(tolerance);
        self.run(py, |s| {
            cycle_fold(s, &near.0, free, component, amplitudes, &resolution)
        })
        .map(PyCycle)
    }

    /// The Floquet multipliers but the trivial one, the error of that, and the number of unstable
    /// ones.
    fn floquet<'py>(
        &self,
        py: Python<'py>,
        cycle: &PyCycle,
        smallest: f64,
        tolerance: f64,
    ) -> PyResult<(Bound<'py, PyArray1<Complex64>>, f64, usize)> {
        let set = self.run(py, |s| floquet(s, &cycle.0, smallest))?;
        let unstable = set
            .unstable(tolerance)
            .map_err(|error| failure(py, &error))?;
        Ok((complexes(py, &set.multipliers), set.trivial_error, unstable))
    }

    fn period_doubling(
        &self,
        py: Python<'_>,
        a: &PyCycle,
        b: &PyCycle,
        free: usize,
        tolerance: f64,
    ) -> PyResult<PyCycle> {
        let resolution = resolution(tolerance);
        self.run(py, |s| period_doubling(s, &a.0, &b.0, free, &resolution))
            .map(PyCycle)
    }

    /// The solution from `history`, a function of the time, or the states of a constant history.
    #[expect(clippy::too_many_arguments, reason = "a private function")]
    fn integrate(
        &self,
        py: Python<'_>,
        history: &Bound<'_, PyAny>,
        p: Vec<f64>,
        start: f64,
        end: f64,
        relative: f64,
        absolute: f64,
        steps: usize,
    ) -> PyResult<PyTrajectory> {
        let tolerance = Tolerance {
            relative,
            absolute,
            steps,
            ..Tolerance::default()
        };
        let n = self.system.dimension();
        if !history.is_callable() {
            let state: Vec<f64> = history.extract()?;
            self.sizes(&state, &p)?;
            return self
                .run(py, |s| {
                    let constant = |_: f64, x: &mut [f64]| x.copy_from_slice(&state);
                    integrate(s, &p, &constant, start, end, &tolerance)
                })
                .map(PyTrajectory);
        }
        let function = history.clone().unbind();
        let raised: Mutex<Option<PyErr>> = Mutex::new(None);
        let trajectory = self.run(py, |s| {
            let past = |t: f64, x: &mut [f64]| {
                let state = Python::attach(|py| -> PyResult<Vec<f64>> {
                    let state: Vec<f64> = function.call1(py, (t,))?.extract(py)?;
                    if state.len() == n {
                        return Ok(state);
                    }
                    let count = state.len();
                    Err(PyValueError::new_err(format!(
                        "history({t}) gave {count} states, not {n}"
                    )))
                });
                match state {
                    Ok(state) => x.copy_from_slice(&state),
                    Err(error) => {
                        keep(&raised, error);
                        x.fill(f64::NAN);
                    }
                }
            };
            integrate(s, &p, &past, start, end, &tolerance)
        });
        match raised.into_inner() {
            Ok(Some(error)) => Err(error),
            _ => trajectory.map(PyTrajectory),
        }
    }
}
