//! The fluid model of a scenario: its equations, equilibria, margins and trajectories. Its other
//! analyses are those of its [`PyDelaySystem`].

#![expect(clippy::needless_pass_by_value, reason = "PyO3 makes vectors of lists")]

use std::sync::Arc;

use ackclock_algorithms::fluid::Averaging;
use ackclock_averages::{Flows, reno_region};
use ackclock_delay::{Args, DynSystem, Tolerance, c64};
use ackclock_fluid::{
    Choices, Coverage, CycleOptions, Decrease, Error, Form, Loop, Memory, Model, Place, Rtt,
    coverage as pairs,
};
use ackclock_scenario::units::{Quantity, QuantityError};
use numpy::{Complex64, PyArray1, PyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::branches::{
    CycleParts, PyEquilibrium, branch_dict, cycle_parts, cycles_dict, large_signal_dict, left_of,
    limit_dict, special_dict,
};
use crate::delay::{
    PyCycle, PyDelaySystem, PyHopfPoint, PyTrajectory, continuation_options, curve,
    failure as analysis_failure, hopf, normal_form,
};
use crate::design::margins_dict;
use crate::laws::UserLaw;
use crate::scenario::PyScenario;
use crate::watch::{Raised, interruptible};

/// Link, kind of AQM, and its parameters by name.
type FrozenQueue = (String, &'static str, Vec<(&'static str, f64)>);

/// The delay equations of a scenario.
#[pyclass(name = "FluidModel", module = "ackclock._core")]
pub(crate) struct PyFluidModel {
    model: Model,
    origin: String,
    /// Errors of the users' laws in the model, where there are any.
    raised: Option<Raised>,
}

impl PyFluidModel {
    /// Runs an analysis without the GIL; an exception of a user's law goes before what the analysis
    /// made of it.
    fn run<T: Send>(
        &self,
        py: Python<'_>,
        analysis: impl FnOnce(&Model) -> Result<T, Error> + Send,
    ) -> PyResult<T> {
        let answer = interruptible(py, || analysis(&self.model))?;
        self.check()?;
        answer.map_err(|error| failure(py, &self.origin, &error))
    }

    /// The exception of a user's law, if there was one.
    fn check(&self) -> PyResult<()> {
        let slot = self.raised.as_ref().and_then(|slot| slot.lock().ok());
        slot.and_then(|mut slot| slot.take()).map_or(Ok(()), Err)
    }
}

fn failure(py: Python<'_>, origin: &str, error: &Error) -> PyErr {
    let kind = match error {
        Error::Unsupported { .. } => {
            return crate::scenario_error(py, &[crate::whole(origin, error.to_string())]);
        }
        Error::Parameter { .. } => return PyValueError::new_err(error.to_string()),
        Error::Analysis(error) => return analysis_failure(py, error),
        Error::NoEquilibrium { .. } => "no equilibrium",
        Error::OutsideValidity { .. } => "outside validity",
        Error::SeveralLoops { .. } => "several loops",
        _ => "failed",
    };
    crate::raise(py, "AnalysisError", (error.to_string(), kind))
}

fn place_dict<'py>(py: Python<'py>, place: &Place) -> PyResult<Bound<'py, PyDict>> {
    let dict = margins_dict(py, &place.margins)?;
    dict.set_item("unstable", place.unstable)?;
    dict.set_item("window", place.window)?;
    dict.set_item("queue", place.queue)?;
    dict.set_item("probability", place.equilibrium.probability[0])?;
    dict.set_item("regime", place.equilibrium.regime_names[0])?;
    Ok(dict)
}

fn choice<T: Copy>(name: &str, given: &str, allowed: &[(&str, T)]) -> PyResult<T> {
    allowed
        .iter()
        .find(|(word, _)| *word == given)
        .map(|(_, value)| *value)
        .ok_or_else(|| {
            let words: Vec<String> = allowed
                .iter()
                .map(|(word, _)| format!("{word:?}"))
                .collect();
            PyValueError::new_err(format!(
                "{name} must be {}, not {given:?}",
                words.join(" or ")
            ))
        })
}

#[pymethods]
impl PyFluidModel {
    #[new]
    #[pyo3(signature = (scenario, *, origin, form, decrease, rtt, small_windows, memory, averaging, effective_spacing, clamped))]
    #[expect(
        clippy::too_many_arguments,
        reason = "keyword arguments of a private function"
    )]
    fn new(
        py: Python<'_>,
        scenario: &PyScenario,
        origin: &str,
        form: &str,
        decrease: &str,
        rtt: &str,
        small_windows: &str,
        memory: &str,
        averaging: &str,
        effective_spacing: bool,
        clamped: bool,
    ) -> PyResult<Self> {
        let choices = Choices {
            form: choice("form", form, &[("ack", Form::PerAck), ("rate", Form::Rate)])?,
            decrease: choice(
                "decrease",
                decrease,
                &[
                    ("loss", Decrease::PerSignal),
                    ("round", Decrease::RoundAverage),
                    ("random", Decrease::Random),
                ],
            )?,
            rtt: choice(
                "rtt",
                rtt,
                &[("constant", Rtt::Fixed), ("queueing", Rtt::Queueing)],
            )?,
            small_windows: choice(
                "small_windows",
                small_windows,
                &[("law", false), ("own", true)],
            )?,
            memory: choice(
                "memory",
                memory,
                &[("states", Memory::States), ("rest", Memory::AtRest)],
            )?,
            effective_spacing,
            averaging: choice(
                "averaging",
                averaging,
                &[
                    ("linear", Averaging::Linear),
                    ("exponential", Averaging::Exponential),
                ],
            )?,
            clamped,
        };
        let model = Model::from_scenario(&scenario.inner, choices)
            .map_err(|error| failure(py, origin, &error))?;
        Ok(Self {
            model,
            origin: origin.to_owned(),
            raised: None,
        })
    }

    /// Puts the i(w) and d(w) of a Python object in place of the law of a class.
    fn set_law(&mut self, py: Python<'_>, class_: &str, law: Py<PyAny>) -> PyResult<()> {
        let raised = Arc::clone(self.raised.get_or_insert_default());
        self.model
            .set_law(
                class_,
                Arc::new(UserLaw {
                    object: law,
                    raised,
                }),
            )
            .map_err(|error| failure(py, &self.origin, &error))
    }

    /// Parts of the scenario that the equations leave out.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.model.notes().to_vec()
    }
    #[getter]
    fn state_names(&self) -> Vec<String> {
        self.model.state_names().to_vec()
    }
    #[getter]
    fn parameter_names(&self) -> Vec<String> {
        self.model.parameter_names()
    }
    #[getter]
    fn parameters(&self) -> Vec<f64> {
        self.model.parameters()
    }

    /// The index of a parameter; parameters of algorithms are enrolled on their first use.
    fn parameter(&mut self, py: Python<'_>, name: &str) -> PyResult<usize> {
        let index = self.model.parameter(name);
        index.map_err(|error| failure(py, &self.origin, &error))
    }

    fn set(&mut self, index: usize, value: f64) {
        self.model.set(index, value);
    }

    fn copy(&self) -> Self {
        Self {
            model: self.model.clone(),
            origin: self.origin.clone(),
            raised: self.raised.clone(),
        }
    }

    fn equilibria(&self, py: Python<'_>) -> PyResult<Vec<PyEquilibrium>> {
        let equilibria = self.run(py, Model::equilibria)?;
        Ok(equilibria.into_iter().map(PyEquilibrium).collect())
    }

    /// Link, kind of AQM and its parameters where what is adapted stays as it is at an equilibrium.
    fn frozen_adaptation(&self, at: &PyEquilibrium) -> Vec<FrozenQueue> {
        self.model
            .frozen_adaptation(&at.0.x, &at.0.p)
            .into_iter()
            .map(|(link, frozen)| (link.to_owned(), frozen.kind, frozen.values))
            .collect()
    }

    /// The equations frozen in the regimes of the AQMs' laws that hold at an equilibrium.
    fn system(&self, at: &PyEquilibrium) -> PyDelaySystem {
        PyDelaySystem::of(self.model.frozen(&at.0.regimes), self.raised.clone())
    }

    /// An equilibrium as the parameter of an index moves to a value: see [`Model::branch`].
    fn branch<'py>(
        &self,
        py: Python<'py>,
        at: &PyEquilibrium,
        free: usize,
        to: f64,
        points: usize,
        every: bool,
    ) -> PyResult<Bound<'py, PyDict>> {
        let followed = self.run(py, |model| model.branch(&at.0, free, to, points, every))?;
        branch_dict(py, followed)
    }

    /// Hopf points over a range of a parameter: see [`Model::crossings`].
    fn crossings<'py>(
        &self,
        py: Python<'py>,
        at: &PyEquilibrium,
        free: usize,
        span: (f64, f64),
        points: usize,
    ) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let crossings = self.run(py, |model| model.crossings(&at.0, free, span, points))?;
        crossings
            .into_iter()
            .map(|point| special_dict(py, point))
            .collect()
    }

    /// The nearest of them.
    fn nearest_hopf<'py>(
        &self,
        py: Python<'py>,
        at: &PyEquilibrium,
        free: usize,
        span: (f64, f64),
        points: usize,
    ) -> PyResult<Option<Bound<'py, PyDict>>> {
        let nearest = self.run(py, |model| model.nearest_hopf(&at.0, free, span, points))?;
        nearest.map(|point| special_dict(py, point)).transpose()
    }

    /// The normal form at a Hopf point in the laws of an equilibrium.
    fn criticality<'py>(
        &self,
        py: Python<'py>,
        at: &PyEquilibrium,
        point: &PyHopfPoint,
        free: usize,
        component: usize,
    ) -> PyResult<Bound<'py, PyDict>> {
        let onset = self.run(py, |model| model.onset(&at.0, &point.0, free, component))?;
        normal_form(py, &onset)
    }

    /// The branch of cycles from a Hopf point: cycles, each with whether a fold lies before it and
    /// where it leaves the laws, and kind, value and words of its end.
    #[expect(clippy::too_many_arguments, reason = "a private function")]
    fn cycles_from<'py>(
        &self,
        py: Python<'py>,
        at: &PyEquilibrium,
        point: &PyHopfPoint,
        free: usize,
        span: (f64, f64),
        component: usize,
        points: usize,
        tolerance: f64,
    ) -> PyResult<Bound<'py, PyDict>> {
        let options = CycleOptions {
            free,
            range: span,
            component,
            points,
            tolerance,
        };
        let cycles = self.run(py, |model| model.cycles_from(&at.0, &point.0, &options))?;
        cycles_dict(py, cycles)
    }

    /// How far the parameter of an index may move towards `end`: see [`Model::limit`].
    fn limit<'py>(
        &self,
        py: Python<'py>,
        at: &PyEquilibrium,
        free: usize,
        end: f64,
    ) -> PyResult<Bound<'py, PyDict>> {
        let limit = self.run(py, |model| model.limit(&at.0, free, end))?;
        limit_dict(py, limit)
    }

    /// Cycles beside a stable equilibrium: see [`Model::coexisting`].
    fn coexisting(
        &self,
        py: Python<'_>,
        at: &PyEquilibrium,
        point: &PyHopfPoint,
        free: usize,
        now: f64,
    ) -> PyResult<(Option<CycleParts>, Option<f64>)> {
        let cycle = self.run(py, |model| model.coexisting(&at.0, &point.0, free, now))?;
        Ok((cycle.0.map(cycle_parts), cycle.1))
    }

    /// How long what follows a small disturbance takes, s: see [`Model::time_scale`].
    fn time_scale(&self, py: Python<'_>, at: &PyEquilibrium) -> PyResult<f64> {
        self.run(py, |model| model.time_scale(&at.0))
    }

    /// The response to a large disturbance: see [`Model::large_signal`].
    fn large_signal<'py>(
        &self,
        py: Python<'py>,
        at: &PyEquilibrium,
        start: Option<Vec<f64>>,
        steps: usize,
    ) -> PyResult<Bound<'py, PyDict>> {
        let response = self.run(py, |model| {
            model.large_signal(&at.0, start.as_deref(), steps)
        })?;
        large_signal_dict(py, response)
    }

    /// The same where a parameter has another value, from empty queues: see [`Model::beyond`].
    fn beyond<'py>(
        &self,
        py: Python<'py>,
        free: usize,
        value: f64,
        steps: usize,
    ) -> PyResult<Bound<'py, PyDict>> {
        let (_, response) = self.run(py, |model| model.beyond(free, value, steps))?;
        large_signal_dict(py, response)
    }

    /// The limits of the laws of an equilibrium that a Hopf point in them has passed.
    fn left(&self, at: &PyEquilibrium, point: &PyHopfPoint) -> Vec<String> {
        let passed = self.model.outside(&at.0.regimes, &point.0.x, &point.0.p);
        passed.iter().map(ToString::to_string).collect()
    }

    /// Gain and phase margin (a factor, degrees), delay margin (s), and the two crossover
    /// frequencies (rad/s); with `class` those of the loop that is cut where this class hears of
    /// losses.
    #[pyo3(signature = (at, class_ = None))]
    fn margins<'py>(
        &self,
        py: Python<'py>,
        at: &PyEquilibrium,
        class_: Option<&str>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let margins = self.run(py, |model| match class_ {
            Some(class) => model.margins_of(&at.0, class),
            None => model.margins(&at.0),
        })?;
        margins_dict(py, &margins)
    }

    /// The loop transfer function L(i omega) at frequencies (rad/s).
    fn response<'py>(
        &self,
        py: Python<'py>,
        at: &PyEquilibrium,
        frequencies: Vec<f64>,
    ) -> PyResult<Bound<'py, PyArray1<Complex64>>> {
        crate::watch::load_arrays(py)?;
        let values = py.detach(|| -> Result<Vec<Complex64>, Error> {
            let open = self.model.feedback_loop(&at.0)?;
            Ok(frequencies
                .iter()
                .map(|omega| {
                    let value = open.at(c64::new(0.0, *omega));
                    Complex64::new(value.re, value.im)
                })
                .collect())
        });
        let values = values.map_err(|error| failure(py, &self.origin, &error))?;
        Ok(PyArray1::from_vec(py, values))
    }

    /// The Hopf curve through a point in two parameters, in the laws of an equilibrium.
    #[expect(clippy::too_many_arguments, reason = "a private function")]
    fn hopf_curve<'py>(
        &mut self,
        py: Python<'py>,
        at: &PyEquilibrium,
        start: &PyHopfPoint,
        names: (String, String),
        ranges: [(f64, f64); 2],
        points: usize,
        largest_step: f64,
    ) -> PyResult<Bound<'py, PyDict>> {
        let model = &mut self.model;
        let options = continuation_options(points, largest_step);
        let followed = interruptible(py, || {
            model.hopf_curve(&at.0, &start.0, (&names.0, &names.1), ranges, &options)
        })?;
        self.check()?;
        let followed = followed.map_err(|error| failure(py, &self.origin, &error))?;
        curve(py, followed, |point| hopf(py, point))
    }

    /// Number of unstable roots over a grid of two parameters, the first outermost; -1 where it is
    /// not known.
    fn chart<'py>(
        &mut self,
        py: Python<'py>,
        at: &PyEquilibrium,
        names: (String, String),
        first: Vec<f64>,
        second: Vec<f64>,
    ) -> PyResult<Bound<'py, PyArray2<i64>>> {
        let model = &mut self.model;
        let counts = interruptible(py, || {
            model.chart(&at.0, (&names.0, &names.1), (&first, &second))
        })?;
        let counts = counts.map_err(|error| failure(py, &self.origin, &error))?;
        let rows: Vec<Vec<i64>> = counts
            .chunks(second.len().max(1))
            .map(|row| {
                row.iter()
                    .map(|count| count.map_or(-1, |n| n as i64))
                    .collect()
            })
            .collect();
        Ok(PyArray2::from_vec2(py, &rows)?)
    }

    /// The largest real part of the roots over the same grid, 1/s; NaN where it is not known.
    fn chart_abscissas<'py>(
        &mut self,
        py: Python<'py>,
        at: &PyEquilibrium,
        names: (String, String),
        first: Vec<f64>,
        second: Vec<f64>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let model = &mut self.model;
        let abscissas = interruptible(py, || {
            model.chart_abscissas(&at.0, (&names.0, &names.1), (&first, &second))
        })?;
        let abscissas = abscissas.map_err(|error| failure(py, &self.origin, &error))?;
        let rows: Vec<Vec<f64>> = abscissas
            .chunks(second.len().max(1))
            .map(<[f64]>::to_vec)
            .collect();
        Ok(PyArray2::from_vec2(py, &rows)?)
    }

    /// Verdict and margins where parameters have the values of each row of `places`: see
    /// [`Model::survey`]. `None` where there is no equilibrium.
    fn survey<'py>(
        &self,
        py: Python<'py>,
        names: Vec<String>,
        places: Vec<Vec<f64>>,
        lag: f64,
    ) -> PyResult<Vec<Option<Bound<'py, PyDict>>>> {
        if places.iter().any(|place| place.len() != names.len()) {
            return Err(PyValueError::new_err("a value for each name"));
        }
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let survey = self.run(py, |model| model.survey(&names, &places, lag))?;
        survey
            .into_iter()
            .map(|place| place.map(|place| place_dict(py, &place)).transpose())
            .collect()
    }

    /// A state of the clamped equations with what leaves its bounds, such as a queue its buffer, at
    /// the nearest of them.
    fn bounded(&self, mut state: Vec<f64>) -> Vec<f64> {
        for bound in self.model.bounds(&[]) {
            if let Some(value) = state.get_mut(bound.state) {
                *value = value.max(bound.lower).min(bound.upper);
            }
        }
        state
    }

    /// Where a cycle leaves what the equations frozen in one regime hold for, beyond what its
    /// equilibrium does already; and whether that is by choice (one law for all windows).
    fn leaves_validity(&self, at: &PyEquilibrium, cycle: &PyCycle) -> Vec<(String, bool)> {
        left_of(&self.model.newly_left(&at.0, &cycle.0))
    }

    /// The limits of the equations that an equilibrium has passed.
    fn outside(&self, at: &PyEquilibrium) -> Vec<String> {
        let passed = self.model.outside(&at.0.regimes, &at.0.x, &at.0.p);
        passed.iter().map(ToString::to_string).collect()
    }

    /// The regime of each AQM's law at a state, by name, and whether probabilities and queues can
    /// be at all.
    fn validity(&self, state: Vec<f64>, parameters: Vec<f64>) -> (Vec<&'static str>, bool) {
        (
            self.model.regimes_named(&state, &parameters),
            self.model.sensible(&state, &parameters),
        )
    }

    /// Actions that the senders of each class repeat by a clock of their own at an equilibrium: class,
    /// action, period (s).
    fn schedules(&self, at: &PyEquilibrium) -> Vec<(String, &'static str, f64)> {
        let kept = self.model.schedules(&at.0.x, &at.0.p);
        kept.into_iter()
            .map(|(class, schedule)| (class.to_owned(), schedule.what, schedule.period))
            .collect()
    }

    /// Range of the mean queue in packets of drop-tail links that senders by rate share with loss-based
    /// ones, at an equilibrium: link, least, most (packets).
    fn sawtooth(&self, at: &PyEquilibrium) -> Vec<(String, f64, f64)> {
        let ranges = self.model.sawtooth(&at.0.x, &at.0.p);
        ranges
            .into_iter()
            .map(|(link, least, most)| (link.to_owned(), least, most))
            .collect()
    }

    /// The derivative of the states by the clamped laws, at `state` with the states that lie one
    /// delay of each class back.
    fn derivative(&self, state: Vec<f64>, past: Vec<Vec<f64>>) -> PyResult<Vec<f64>> {
        let n = self.model.state_names().len();
        let delays = DynSystem::delays(&self.model);
        if state.len() != n || past.len() != delays || past.iter().any(|row| row.len() != n) {
            return Err(PyValueError::new_err(format!(
                "a state has {n} values, and there are {delays} delays"
            )));
        }
        let (past, p) = (past.concat(), self.model.parameters());
        let mut out = vec![0.0; n];
        let at = Args {
            x: &state,
            past: &past,
            p: &p,
        };
        DynSystem::rhs_f64(&self.model, at, &mut out);
        Ok(out)
    }

    /// The delay of each class at a state, s.
    fn delays(&self, state: Vec<f64>) -> Vec<f64> {
        let p = self.model.parameters();
        let [_, rtts, _, _] = self.model.rates(&state, &p);
        rtts
    }

    /// Windows of `window` packets, everything else empty.
    fn empty(&self, window: f64) -> Vec<f64> {
        self.model.empty(window)
    }

    /// The solution from a constant history; with `at`, frozen in the regimes of that equilibrium.
    #[expect(clippy::too_many_arguments, reason = "a private function")]
    fn trajectory(
        &self,
        py: Python<'_>,
        at: Option<&PyEquilibrium>,
        start: Vec<f64>,
        duration: f64,
        relative: f64,
        absolute: f64,
        steps: usize,
    ) -> PyResult<PyTrajectory> {
        let n = self.model.state_names().len();
        if start.len() != n {
            return Err(PyValueError::new_err(format!(
                "the model has {n} states, not {}",
                start.len()
            )));
        }
        let tolerance = Tolerance {
            relative,
            absolute,
            steps,
            ..Tolerance::default()
        };
        let at = at.map(|at| &at.0);
        self.run(py, |model| {
            model.trajectory(at, &start, duration, &tolerance)
        })
        .map(PyTrajectory)
    }

    /// At `states`, one row a state: windows (packets), round-trip times (s) and rates (packets/s)
    /// of one flow of each class; arrivals (packets/s) and loss or marking probability of each
    /// link.
    fn observe<'py>(
        &self,
        py: Python<'py>,
        at: Option<&PyEquilibrium>,
        states: Vec<Vec<f64>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let p = self.model.parameters();
        let frozen = at.map(|at| self.model.frozen(&at.0.regimes));
        let model = frozen.as_ref().unwrap_or(&self.model);
        let mut columns: [Vec<Vec<f64>>; 5] = Default::default();
        for state in &states {
            let [windows, rtts, rates, arrivals] = model.rates(state, &p);
            let probabilities = model.probabilities(state, &p).0;
            for (column, row) in
                columns
                    .iter_mut()
                    .zip([windows, rtts, rates, arrivals, probabilities])
            {
                column.push(row);
            }
        }
        let dict = PyDict::new(py);
        for (name, column) in ["window", "rtt", "rate", "arrivals", "probability"]
            .iter()
            .zip(&columns)
        {
            dict.set_item(name, PyArray2::from_vec2(py, column)?)?;
        }
        Ok(dict)
    }
}

/// Every congestion control with every AQM: (congestion control, AQM, "exact" | "approximate" |
/// "refused", why).
#[pyfunction]
pub(crate) fn coverage(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let list = PyList::empty(py);
    for pair in pairs() {
        let (verdict, why) = match pair.coverage {
            Coverage::Exact => ("exact", Vec::new()),
            Coverage::Approximate(what) => ("approximate", what),
            Coverage::Refused(which) => ("refused", which),
        };
        list.append((pair.congestion, pair.aqm, verdict, why))?;
    }
    Ok(list)
}

/// The law of each class with an endless sender, for the averages: its name,
/// whether it is followed at rest by default, and growth a and what remains after a decrease of its
/// region of Reno growth, i(w) = a / w, if it has one. Classes without a law are left out.
#[pyfunction]
pub(crate) fn sender_laws<'py>(
    py: Python<'py>,
    scenario: &PyScenario,
) -> PyResult<Bound<'py, PyList>> {
    let scenario = &scenario.inner;
    let list = PyList::empty(py);
    for (class, flows) in scenario.flows.iter().enumerate() {
        if let Ok(Flows::Sender(sender)) = Flows::new(scenario, class, flows.packet_size) {
            let region = reno_region(&sender.law).map(|(a, b)| (a, 1.0 - b));
            list.append((sender.name, sender.law.at_equilibrium(), region))?;
        }
    }
    Ok(list)
}

/// A quantity such as "10 ms" in SI units (bit/s, bytes), and what it is: "time", "rate", ...; a
/// plain number is a "number".
#[pyfunction]
pub(crate) fn quantity(text: &str) -> PyResult<(f64, &'static str)> {
    use ackclock_scenario::units::Dimension;
    let wrong = |error: QuantityError| PyValueError::new_err(format!("{text}: {error}"));
    let quantity = match Quantity::parse(text) {
        Err(QuantityError::MissingUnit) => Quantity::parse_number(text),
        quantity => quantity,
    }
    .map_err(wrong)?;
    let value = quantity.value().map_err(wrong)?;
    Ok(match quantity.dimension {
        Dimension::Number => (value, "number"),
        Dimension::Time => (value, "time"),
        Dimension::Rate => (value, "rate"),
        Dimension::Size => (value, "size"),
        Dimension::Packets => (value, "packets"),
        Dimension::Frequency => (value, "frequency"),
        Dimension::Percent => (value, "number"),
    })
}
