//! Equilibria as objects, and as dictionaries what is found along a parameter: branches, limits, cycles,
//! large disturbances.

use ackclock_fluid::{
    Branch, BranchCycle, Change, CycleBranch, CycleEnd, Equilibrium, LargeSignal, Limit, LimitKind,
    Outside, SpecialPoint, Status,
};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::delay::{PyCycle, PyHopfPoint, PyTrajectory, normal_form};

/// Where windows, queues and probabilities stand still.
#[pyclass(name = "FluidEquilibrium", module = "ackclock._core", frozen)]
pub(crate) struct PyEquilibrium(pub(crate) Equilibrium);

#[pymethods]
impl PyEquilibrium {
    #[getter]
    fn state(&self) -> Vec<f64> {
        self.0.x.clone()
    }
    #[getter]
    fn parameters(&self) -> Vec<f64> {
        self.0.p.clone()
    }
    /// Loss or marking probability of each link.
    #[getter]
    fn probability(&self) -> Vec<f64> {
        self.0.probability.clone()
    }
    /// Loss or marking probability on the path of each class.
    #[getter]
    fn signals(&self) -> Vec<f64> {
        self.0.signals.clone()
    }
    /// Names of the regimes of the AQMs' laws that hold.
    #[getter]
    fn regimes(&self) -> Vec<&'static str> {
        self.0.regime_names.clone()
    }
}

/// Where a cycle leaves the laws, and whether that is by choice.
pub(crate) fn left_of(left: &[Outside]) -> Vec<(String, bool)> {
    left.iter()
        .map(|passed| (passed.to_string(), passed.by_choice()))
        .collect()
}

pub(crate) fn special_dict(py: Python<'_>, special: SpecialPoint) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    let (kind, why, point) = match special.change {
        Change::Hopf(point) => ("hopf", String::new(), Some(PyHopfPoint(point))),
        Change::RealRoot => ("real root", String::new(), None),
        Change::Boundary(why) => ("boundary", why, None),
    };
    dict.set_item("value", special.value)?;
    dict.set_item("interval", special.interval)?;
    dict.set_item("converged", special.status == Status::Converged)?;
    dict.set_item("kind", kind)?;
    dict.set_item("why", why)?;
    dict.set_item("point", point)?;
    dict.set_item("before", special.before)?;
    dict.set_item("after", special.after)?;
    dict.set_item("at", PyEquilibrium(special.at))?;
    Ok(dict)
}

/// Points are (value, state, unstable roots or None).
pub(crate) fn branch_dict(py: Python<'_>, branch: Branch) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    let points = branch.points.into_iter();
    let points: Vec<_> = points
        .map(|point| (point.value, point.x, point.unstable))
        .collect();
    let special = branch.special.into_iter();
    let special: PyResult<Vec<_>> = special.map(|point| special_dict(py, point)).collect();
    dict.set_item("points", points)?;
    dict.set_item("special", special?)?;
    dict.set_item("end", branch.end)?;
    dict.set_item("ended", branch.ended)?;
    Ok(dict)
}

/// A cycle, whether a fold lies before it, and where it leaves the laws.
pub(crate) type CycleParts = (PyCycle, bool, Vec<(String, bool)>);

pub(crate) fn cycle_parts(branch_cycle: BranchCycle) -> CycleParts {
    (
        PyCycle(branch_cycle.cycle),
        branch_cycle.after_fold,
        left_of(&branch_cycle.left),
    )
}

pub(crate) fn cycles_dict(py: Python<'_>, branch: CycleBranch) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    let cycles: Vec<_> = branch.cycles.into_iter().map(cycle_parts).collect();
    let (kind, value, why) = match branch.end {
        CycleEnd::Range(value) => ("range", Some(value), String::new()),
        CycleEnd::Points => ("points", None, "as many points as asked for".to_owned()),
        CycleEnd::Boundary(why) => ("boundary", None, why),
        CycleEnd::Failed(why) => ("failed", None, why),
    };
    dict.set_item("cycles", cycles)?;
    dict.set_item("end", (kind, value, why))?;
    Ok(dict)
}

pub(crate) fn limit_dict(py: Python<'_>, limit: Limit) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    let (change, ended) = match limit.kind {
        LimitKind::Change(change) => (Some(special_dict(py, *change)?), None),
        LimitKind::End(why) => (None, Some(why)),
        LimitKind::None => (None, None),
    };
    let onset = limit.onset.map(|form| normal_form(py, &form));
    dict.set_item("value", limit.value)?;
    dict.set_item("change", change)?;
    dict.set_item("ended", ended)?;
    set_fields! { dict, limit; unstable, holds_to, beyond_at }
    dict.set_item("onset", onset.transpose()?)?;
    Ok(dict)
}

pub(crate) fn large_signal_dict(
    py: Python<'_>,
    large_signal: LargeSignal,
) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    set_fields! {
        dict, large_signal; settles, low, high, mean, period, window_low, window_high, steady
    }
    dict.set_item("run", PyTrajectory(large_signal.run))?;
    Ok(dict)
}
