//! The mean-field engine: runs with progress, the stationary law, RED's stability.

use std::time::{Duration, Instant};

use ackclock_meanfield::{
    Aimd, ClassSummary, ClassTrace, Closure, Error, Hazard, MeanField, Options, Outcome, RedLink,
    RegisteredTcp, RenoStationary, Snapshot, Stationary, Traces, WindowLaw,
};
use ackclock_scenario::Scenario;
use numpy::PyArray1;
use pyo3::exceptions::{PyKeyboardInterrupt, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::scenario::PyScenario;

const PROGRESS_INTERVAL: Duration = Duration::from_millis(200);
/// The largest grids take some milliseconds a step.
const STEPS_BETWEEN_LOOKS_AT_THE_CLOCK: u32 = 16;
/// Values of traces and densities that a run may keep: 800 MB.
const MOST_VALUES: f64 = 1e8;

fn hazard_named(name: &str) -> PyResult<Hazard> {
    match name {
        "packet" => Ok(Hazard::PerPacket),
        "event" => Ok(Hazard::PerLossEvent),
        _ => Err(PyValueError::new_err(format!(
            "hazard must be \"packet\" or \"event\", not {name:?}"
        ))),
    }
}

fn closure_named(name: &str) -> PyResult<Closure> {
    match name {
        "delay-line" => Ok(Closure::DelayLine),
        "little" => Ok(Closure::Little),
        _ => Err(PyValueError::new_err(format!(
            "closure must be \"delay-line\" or \"little\", not {name:?}"
        ))),
    }
}

/// Runs a scenario in the mean-field engine; errors call it `origin`. `progress` is called
/// with the simulated time and the end, s.
#[pyfunction]
#[pyo3(signature = (scenario, *, origin, hazard, closure, cells_per_packet, steps_per_rtt, effective_spacing, sample, snapshot, bins, progress = None))]
#[expect(
    clippy::too_many_arguments,
    reason = "keyword arguments of a private function"
)]
pub(crate) fn run_meanfield<'py>(
    py: Python<'py>,
    scenario: &PyScenario,
    origin: &str,
    hazard: &str,
    closure: &str,
    cells_per_packet: f64,
    steps_per_rtt: f64,
    effective_spacing: bool,
    sample: Option<f64>,
    snapshot: Option<f64>,
    bins: usize,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let scenario = &scenario.inner;
    let hazard = hazard_named(hazard)?;
    let options = Options {
        hazard,
        closure: closure_named(closure)?,
        cells_per_packet,
        most_cells: f64::INFINITY,
        steps_per_rtt,
        effective_spacing,
        sample,
        snapshot,
        bins,
    };
    let failed = |error: Error| failure(py, origin, &error);
    let mut engine = MeanField::new(scenario, options).map_err(failed)?;
    let end = engine.duration();
    let kept = sample.map_or(0.0, |every| end / every)
        + snapshot.map_or(0.0, |every| end / every * bins as f64);
    if kept > MOST_VALUES {
        let problem = format!(
            "{kept:.0} values of traces and densities would be kept; at most {MOST_VALUES:.0} are allowed"
        );
        return Err(crate::scenario_error(py, &[crate::whole(origin, problem)]));
    }
    crate::watch::load_arrays(py)?;
    while engine.time() < end {
        py.detach(|| steps_for(&mut engine, PROGRESS_INTERVAL, end))
            .map_err(failed)?;
        let watched = crate::watch::interrupts(py).and_then(|()| match progress {
            Some(progress) => progress.call1((engine.time(), end)).map(drop),
            None => Ok(()),
        });
        watched.map_err(|error| {
            if error.is_instance_of::<PyKeyboardInterrupt>(py) {
                crate::raise(py, "Interrupted", (vec![engine.time()], 0))
            } else {
                error
            }
        })?;
    }
    let last: Vec<Snapshot> = (0..).map_while(|class| engine.snapshot(class)).collect();
    let outcome = engine.finish().map_err(failed)?;
    let dict = outcome_dict(py, &outcome, scenario)?;
    dict.set_item(
        "stationary",
        stationaries(py, &outcome, scenario, &last, hazard)?,
    )?;
    Ok(dict)
}

/// Steps until `interval` of real time has passed or the run is over.
fn steps_for(engine: &mut MeanField, interval: Duration, end: f64) -> Result<(), Error> {
    let begin = Instant::now();
    while engine.time() < end && begin.elapsed() < interval {
        for _ in 0..STEPS_BETWEEN_LOOKS_AT_THE_CLOCK {
            engine.step()?;
        }
    }
    Ok(())
}

fn failure(py: Python<'_>, origin: &str, error: &Error) -> PyErr {
    match error {
        Error::Balance { time, .. } => {
            crate::run_error(py, format!("{origin}: {error}"), Some(*time))
        }
        _ => crate::scenario_error(py, &[crate::whole(origin, error.to_string())]),
    }
}

fn outcome_dict<'py>(
    py: Python<'py>,
    outcome: &Outcome,
    scenario: &Scenario,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    set_fields! { dict, outcome; window, end, steps }
    dict.set_item("notes", &outcome.notes)?;
    dict.set_item("link", link_dict(py, outcome, scenario)?)?;
    let classes = PyList::empty(py);
    for class in &outcome.classes {
        let ClassSummary {
            name,
            origin,
            rtt,
            flows,
            window_mean,
            atom,
            arrivals,
            throughput,
        } = class;
        let entry = PyDict::new(py);
        entry.set_item("name", name)?;
        entry.set_item("class", &scenario.flows[*origin].name)?;
        entry.set_item("rtt_s", rtt)?;
        entry.set_item("flows", flows)?;
        entry.set_item("window_mean", window_mean)?;
        entry.set_item("atom", atom)?;
        entry.set_item("arrivals_pps", arrivals)?;
        entry.set_item("throughput_pps", throughput)?;
        classes.append(entry)?;
    }
    dict.set_item("classes", classes)?;
    let balance = PyDict::new(py);
    set_fields! { balance, outcome.balance; mass, rounding, packets, in_flight }
    balance.set_item("debt_packets", outcome.balance.debt)?;
    balance.set_item("debt_steps", outcome.balance.debt_steps)?;
    balance.set_item("abandoned_packets", outcome.balance.abandoned)?;
    dict.set_item("balance", balance)?;
    dict.set_item("traces", traces_dict(py, &outcome.traces)?)?;
    let snapshots = PyList::empty(py);
    for snapshot in &outcome.snapshots {
        let entry = PyDict::new(py);
        set_fields! { entry, snapshot; time, class, w_max }
        entry.set_item("density", PyArray1::from_slice(py, &snapshot.density))?;
        entry.set_item("atom", snapshot.atom)?;
        snapshots.append(entry)?;
    }
    dict.set_item("snapshots", snapshots)?;
    Ok(dict)
}

fn link_dict<'py>(
    py: Python<'py>,
    outcome: &Outcome,
    scenario: &Scenario,
) -> PyResult<Bound<'py, PyDict>> {
    let link = PyDict::new(py);
    let summary = &outcome.link;
    // all flows share one queue
    let name = scenario
        .flows
        .first()
        .map(|flows| scenario.links[flows.path[0]].name.as_str());
    link.set_item("name", name)?;
    set_fields! { link, summary; utilization, loss, marks }
    link.set_item("throughput_pps", summary.throughput)?;
    link.set_item("queue_packets_mean", summary.queue_mean)?;
    link.set_item("queue_packets_std", summary.queue_std)?;
    link.set_item("queue_packets_min", summary.queue_min)?;
    link.set_item("queue_packets_max", summary.queue_max)?;
    link.set_item("delay_s_mean", summary.delay_mean)?;
    link.set_item("full", summary.full)?;
    link.set_item("empty", summary.empty)?;
    Ok(link)
}

fn traces_dict<'py>(py: Python<'py>, given: &Traces) -> PyResult<Bound<'py, PyDict>> {
    let array = |values: &[f64]| PyArray1::from_slice(py, values);
    let traces = PyDict::new(py);
    traces.set_item("time", array(&given.time))?;
    traces.set_item("queue", array(&given.queue))?;
    traces.set_item("utilization", array(&given.utilization))?;
    traces.set_item("loss", array(&given.signals))?;
    let classes = PyList::empty(py);
    for trace in &given.classes {
        let ClassTrace {
            flows,
            window_mean,
            atom,
        } = trace;
        let entry = PyDict::new(py);
        entry.set_item("flows", array(flows))?;
        entry.set_item("window_mean", array(window_mean))?;
        entry.set_item("atom", array(atom))?;
        classes.append(entry)?;
    }
    traces.set_item("classes", classes)?;
    Ok(traces)
}

/// For each class what its windows would be if the mean loss of the run were constant; None where
/// that has no stationary law.
fn stationaries<'py>(
    py: Python<'py>,
    outcome: &Outcome,
    scenario: &Scenario,
    last: &[Snapshot],
    hazard: Hazard,
) -> PyResult<Bound<'py, PyList>> {
    use ackclock_algorithms::fluid::Path;

    let list = PyList::empty(py);
    let loss = outcome.link.signals;
    for (class, state) in outcome.classes.iter().zip(last) {
        let flows = &scenario.flows[class.origin];
        // behind access links windows are slower beyond what those let out: there is no such law of
        // them
        let law = flows
            .tcp
            .congestion
            .fluid()
            .filter(|_| flows.access_rate.is_none());
        let stationary = law.and_then(|law| {
            let marks = flows.tcp.ecn && outcome.link.marks > 0.0;
            let path = Path::fixed(class.rtt).with_marks(marks);
            let law = RegisteredTcp::new(law, path);
            Stationary::new(&law, loss, state.w_max, hazard).ok()
        });
        let Some(stationary) = stationary else {
            list.append(py.None())?;
            continue;
        };
        let width = state.w_max / state.density.len() as f64;
        let windows: Vec<f64> = (0..state.density.len())
            .map(|bin| (bin as f64 + 0.5) * width)
            .collect();
        let density: Vec<f64> = windows.iter().map(|w| stationary.density(*w)).collect();
        let dict = PyDict::new(py);
        dict.set_item("loss", loss)?;
        dict.set_item("max_window", state.w_max)?;
        dict.set_item("atom", stationary.atom())?;
        dict.set_item("mean", stationary.mean())?;
        dict.set_item("second_moment", stationary.second_moment())?;
        dict.set_item("window", PyArray1::from_vec(py, windows))?;
        dict.set_item("density", PyArray1::from_vec(py, density))?;
        list.append(dict)?;
    }
    Ok(list)
}

/// The stationary law of an AIMD window: mass at the largest, mean, mean square, and its density at
/// `windows`.
///
/// Reno with a decrease for each lost packet in closed form, everything else numerically.
#[pyfunction]
pub(crate) fn stationary<'py>(
    py: Python<'py>,
    loss: f64,
    max_window: f64,
    increase: f64,
    decrease: f64,
    hazard: &str,
    windows: Vec<f64>,
) -> PyResult<Bound<'py, PyDict>> {
    let hazard = hazard_named(hazard)?;
    if !(increase > 0.0 && increase.is_finite() && decrease > 0.0 && decrease < 1.0) {
        return Err(PyValueError::new_err(
            "increase must be above 0 packets a round trip, decrease between 0 and 1",
        ));
    }
    let law = Aimd { increase, decrease };
    let wrong = |error: Error| PyValueError::new_err(error.to_string());
    macro_rules! numbers {
        ($law:expr) => {{
            let law = $law.map_err(wrong)?;
            let density: Vec<f64> = windows.into_iter().map(|w| law.density(w)).collect();
            (law.atom(), law.mean(), law.second_moment(), density)
        }};
    }
    let closed_form = law.halving_increase() == Some(1.0) && hazard == Hazard::PerPacket;
    let (atom, mean, second_moment, density) = if closed_form {
        numbers!(RenoStationary::new(loss, max_window))
    } else {
        numbers!(Stationary::new(&law, loss, max_window, hazard))
    };
    let dict = PyDict::new(py);
    dict.set_item("atom", atom)?;
    dict.set_item("mean", mean)?;
    dict.set_item("second_moment", second_moment)?;
    dict.set_item("density", PyArray1::from_vec(py, density))?;
    Ok(dict)
}

/// RED's equilibrium with many Reno flows, the bounds of theorems 3 and 4 and the true threshold.
/// Rates in packets/s, delays in s.
#[pyfunction]
#[expect(
    clippy::too_many_arguments,
    reason = "keyword arguments of a private function"
)]
pub(crate) fn red_stability<'py>(
    py: Python<'py>,
    rate: f64,
    flows: f64,
    rtt: f64,
    max_window: f64,
    min_threshold: f64,
    max_threshold: f64,
    max_probability: f64,
    averaging: Option<f64>,
) -> PyResult<Bound<'py, PyDict>> {
    let link = RedLink {
        rate,
        flows,
        rtt,
        w_max: max_window,
        min_threshold,
        max_threshold,
        max_probability,
    };
    let wrong = |error: Error| PyValueError::new_err(error.to_string());
    let (equilibrium, crossing) = py.detach(|| {
        let equilibrium = link.equilibrium().map_err(wrong)?;
        // without a crossing no slope destabilises
        Ok::<_, PyErr>((
            equilibrium,
            equilibrium.threshold(max_window, averaging).ok(),
        ))
    })?;
    let dict = PyDict::new(py);
    set_fields! { dict, equilibrium; delay, loss, rtt, window, atom }
    dict.set_item("slope", link.slope())?;
    dict.set_item("theorem_3", equilibrium.theorem_3())?;
    dict.set_item("u", equilibrium.u(link.slope()))?;
    dict.set_item("corollary_1", equilibrium.corollary_1())?;
    dict.set_item("theorem_4", link.theorem_4(RedLink::PRINTED_CONSTANT))?;
    dict.set_item(
        "theorem_4_sharp",
        link.theorem_4(2.0 * (1.0 - equilibrium.loss)),
    )?;
    dict.set_item(
        "critical_slope",
        crossing.map(|equilibrium| equilibrium.slope),
    )?;
    dict.set_item(
        "frequency",
        crossing.map(|equilibrium| equilibrium.frequency),
    )?;
    Ok(dict)
}
