//! Results of analyses: points, cycles and trajectories as objects, curves and normal forms as
//! dictionaries.

use ackclock_delay::{
    Criticality, Curve, Cycle, End, EventKind, FoldPoint, HopfPoint, Trajectory, c64,
};
use numpy::{Complex64, PyArray1, PyArray2};
use pyo3::prelude::*;
use pyo3::types::{PyComplex, PyDict, PyList};

/// A Hopf point: an equilibrium with a pair of characteristic roots on the imaginary axis.
#[pyclass(name = "HopfPoint", module = "ackclock._core", frozen)]
pub(crate) struct PyHopfPoint(pub(crate) HopfPoint);

#[pymethods]
impl PyHopfPoint {
    #[new]
    fn new(state: Vec<f64>, frequency: f64, parameters: Vec<f64>) -> Self {
        Self(HopfPoint {
            x: state,
            omega: frequency,
            p: parameters,
        })
    }
    /// The equilibrium.
    #[getter]
    fn state(&self) -> Vec<f64> {
        self.0.x.clone()
    }
    /// Frequency, radians per unit of time.
    #[getter]
    fn frequency(&self) -> f64 {
        self.0.omega
    }
    /// All parameters.
    #[getter]
    fn parameters(&self) -> Vec<f64> {
        self.0.p.clone()
    }
}

/// A periodic orbit.
#[pyclass(name = "Cycle", module = "ackclock._core", frozen)]
pub(crate) struct PyCycle(pub(crate) Cycle);

#[pymethods]
impl PyCycle {
    /// The period.
    #[getter]
    fn period(&self) -> f64 {
        self.0.period
    }
    /// All parameters.
    #[getter]
    fn parameters(&self) -> Vec<f64> {
        self.0.p.clone()
    }
    /// Estimated error relative to the size of each state.
    #[getter]
    fn error(&self) -> f64 {
        self.0.error
    }
    /// Number of mesh intervals.
    #[getter]
    fn intervals(&self) -> usize {
        self.0.intervals()
    }
    /// Amplitude of the first harmonic of state `index`.
    fn amplitude(&self, index: usize) -> f64 {
        self.0.amplitude(index)
    }
    /// Time average of state `index`.
    fn mean(&self, index: usize) -> f64 {
        self.0.mean(index)
    }
    /// Smallest and largest value of state `index`.
    fn range(&self, index: usize) -> (f64, f64) {
        self.0.range(index)
    }
    /// The states at phases (fractions of a period), one row a phase.
    fn at<'py>(&self, py: Python<'py>, phases: Vec<f64>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let rows: Vec<Vec<f64>> = phases
            .iter()
            .map(|s| self.0.state(s * self.0.period))
            .collect();
        Ok(PyArray2::from_vec2(py, &rows)?)
    }
}

/// A computed solution, continuous in time.
#[pyclass(name = "Trajectory", module = "ackclock._core", frozen)]
pub(crate) struct PyTrajectory(pub(crate) Trajectory);

#[pymethods]
impl PyTrajectory {
    /// First and last time.
    #[getter]
    fn span(&self) -> (f64, f64) {
        (self.0.start(), self.0.end())
    }
    /// Times of the steps.
    #[getter]
    fn mesh<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_iter(py, self.0.mesh())
    }
    /// The states at `times`, one row a time.
    fn at<'py>(&self, py: Python<'py>, times: Vec<f64>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let rows: Vec<Vec<f64>> = times.iter().map(|t| self.0.state(*t)).collect();
        Ok(PyArray2::from_vec2(py, &rows)?)
    }
    /// Time, kind and index of each event: "reached" and "left" a bound (index of the state),
    /// "switched" (index of the switch function).
    #[getter]
    fn events(&self) -> Vec<(f64, &'static str, usize)> {
        self.0
            .events
            .iter()
            .map(|event| match event.kind {
                EventKind::Reached { state } => (event.time, "reached", state),
                EventKind::Left { state } => (event.time, "left", state),
                EventKind::Switched { switch } => (event.time, "switched", switch),
            })
            .collect()
    }
}

pub(super) fn number(py: Python<'_>, value: c64) -> Bound<'_, PyComplex> {
    PyComplex::from_doubles(py, value.re, value.im)
}

pub(super) fn complexes<'py>(py: Python<'py>, values: &[c64]) -> Bound<'py, PyArray1<Complex64>> {
    PyArray1::from_iter(py, values.iter().map(|v| Complex64::new(v.re, v.im)))
}

/// Kind, index of a parameter (or None), its value (or None), and a sentence.
type EndParts = (&'static str, Option<usize>, Option<f64>, String);

fn end_parts(end: &End) -> EndParts {
    let plain = |kind, text: &str| (kind, None, None, text.to_owned());
    match end {
        End::Range { parameter, value } => (
            "range",
            Some(*parameter),
            Some(*value),
            "end of the range".to_owned(),
        ),
        End::Points => plain("points", "as many points as asked for"),
        End::Closed => plain("closed", "back at its start"),
        End::ZeroFrequency => plain(
            "zero frequency",
            "the frequency goes to zero (Bogdanov-Takens point)",
        ),
        End::ZeroAmplitude => plain("zero amplitude", "the amplitude goes to zero (Hopf point)"),
        End::Boundary(why) => plain("boundary", why),
        End::Failed(error) => ("failed", None, None, error.to_string()),
        other => ("failed", None, None, format!("{other:?}")),
    }
}

pub(crate) fn curve<'py, P>(
    py: Python<'py>,
    curve: Curve<P>,
    mut point: impl FnMut(P) -> PyResult<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let points = PyList::empty(py);
    for followed in curve.points {
        points.append(point(followed)?)?;
    }
    dict.set_item("points", points)?;
    dict.set_item("start", end_parts(&curve.start))?;
    dict.set_item("end", end_parts(&curve.end))?;
    Ok(dict)
}

pub(crate) fn hopf<'py>(py: Python<'py>, point: HopfPoint) -> PyResult<Bound<'py, PyAny>> {
    Ok(Bound::new(py, PyHopfPoint(point))?.into_any())
}

pub(super) fn fold<'py>(py: Python<'py>, point: FoldPoint) -> PyResult<Bound<'py, PyAny>> {
    let dict = PyDict::new(py);
    dict.set_item("state", point.x)?;
    dict.set_item("parameters", point.p)?;
    Ok(dict.into_any())
}

pub(crate) fn normal_form<'py>(
    py: Python<'py>,
    form: &Criticality,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("c1", number(py, form.c1))?;
    dict.set_item("crossing", number(py, form.crossing))?;
    set_fields! { dict, form; mu2, beta2, t2, l1 }
    dict.set_item("eigenvector", complexes(py, &form.q))?;
    Ok(dict)
}
