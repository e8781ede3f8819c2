//! The extension module `ackclock._core`: conversions, GIL release and error mapping, no maths.

/// Puts fields of a struct into a dictionary, under their own names.
macro_rules! set_fields {
    ($dict:ident, $from:expr; $($field:ident),+) => {
        $($dict.set_item(stringify!($field), $from.$field)?;)+
    };
}

mod branches;
mod delay;
mod design;
mod dual;
mod endpoint;
mod fluid;
mod laws;
mod library;
mod meanfield;
mod measured;
mod run;
mod scenario;
mod user;
mod watch;

use std::collections::HashMap;

use ackclock_algorithms::classes::{class_schedulers, class_specs};
use ackclock_algorithms::impairment::loss_models;
use ackclock_algorithms::meta::Meta;
use ackclock_algorithms::registry::{aqms, congestion};
use ackclock_algorithms::scheduler::schedulers;
use ackclock_algorithms::service::services;
use ackclock_algorithms::{DefaultValue, ParameterSpec};
use ackclock_packet::{
    CaptureSelection, Error, FlowSelection, Options, Outcome, Simulation, TraceSelection,
};
use ackclock_scenario::keys::Fallback;
use ackclock_scenario::{Diagnostic, Scenario};
use pyo3::IntoPyObjectExt as _;
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use run::{Job, Standing, Stop, Substitute};
use scenario::PyScenario;

/// Compiled core of ackclock.
#[pymodule]
mod _core {
    #[pymodule_export]
    use super::branches::PyEquilibrium;
    #[pymodule_export]
    use super::delay::{PyCycle, PyDelaySystem, PyHopfPoint, PyTrajectory};
    #[pymodule_export]
    use super::design::{
        ap_red, ap_red_gain, pi_design, pi_from_samples, pi_largest_speed, pi_margins, pi_sampled,
        red_margins, tcp_friendly_alpha,
    };
    #[pymodule_export]
    use super::dual::PyDual;
    #[pymodule_export]
    use super::endpoint::PyEndpoint;
    #[pymodule_export]
    use super::fluid::{PyFluidModel, coverage, quantity, sender_laws};
    #[pymodule_export]
    use super::meanfield::{red_stability, run_meanfield, stationary};
    #[pymodule_export]
    use super::scenario::{PyScenario, toml_to_json};
    #[pymodule_export]
    use super::user::{PyAck, PyLink, PyPacket, PyQueue, PyReduction, PyWindow, Random};
    #[pymodule_export]
    use super::watch::{check_interrupts, set_allowance, set_halt};
    #[pymodule_export]
    use super::{keys, reference, registry, run_scenario, schema};

    /// Version of the compiled core.
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");

    /// Commit that the core was built from, or "release" where it was built from a source archive.
    #[pymodule_export]
    const REVISION: &str = env!("ACKCLOCK_REVISION");

    /// Compiler of the core.
    #[pymodule_export]
    const RUSTC: &str = env!("ACKCLOCK_RUSTC");

    /// Machine that the core was built for.
    #[pymodule_export]
    const TARGET: &str = env!("ACKCLOCK_TARGET");

    /// The constant alpha of the square-root law, `E[w] = alpha / sqrt(loss)`.
    #[pymodule_export]
    const SQUARE_ROOT_LAW: f64 = ackclock_meanfield::SQUARE_ROOT_LAW;

    /// The largest scenario that is read, bytes.
    #[pymodule_export]
    const MAX_BYTES: usize = ackclock_scenario::MAX_BYTES;
}

/// JSON Schema of scenarios.
#[pyfunction]
fn schema() -> String {
    ackclock_scenario::json_schema().to_string()
}

/// All keys of scenarios but the parameters of algorithms, as tables in Markdown.
#[pyfunction]
fn reference() -> String {
    ackclock_scenario::reference()
}

/// All registered algorithms with their parameters.
#[pyfunction]
fn registry(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    for (group, entries) in [
        ("congestion", congestion()),
        ("aqm", aqms()),
        ("scheduler", schedulers()),
        ("class_scheduler", class_schedulers()),
        ("loss", loss_models()),
        ("service", services()),
    ] {
        let list = entries
            .iter()
            .map(|meta| algorithm(py, meta))
            .collect::<PyResult<Vec<_>>>()?;
        if group == "class_scheduler" {
            for (entry, meta) in list.iter().zip(entries) {
                let specs = class_specs(meta).iter();
                let classes = specs.map(|spec| parameter(py, spec));
                entry.set_item("class_parameters", classes.collect::<PyResult<Vec<_>>>()?)?;
            }
        }
        dict.set_item(group, list)?;
    }
    Ok(dict)
}

/// All keys of scenarios but the parameters of algorithms: `table`, `name`, `allowed` (in words),
/// `default` (None where it must be given or follows from other keys), `linux` (the default in style
/// "linux", None where it is no other one), `doc`.
#[pyfunction]
fn keys(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let list = PyList::empty(py);
    for section in ackclock_scenario::keys::SECTIONS {
        for key in section.keys {
            let dict = PyDict::new(py);
            dict.set_item("table", section.name)?;
            dict.set_item("name", key.name)?;
            dict.set_item("allowed", key.allowed())?;
            dict.set_item("default", fallback(py, Some(key.default))?)?;
            dict.set_item("linux", fallback(py, key.linux)?)?;
            dict.set_item("doc", key.doc)?;
            list.append(dict)?;
        }
    }
    Ok(list)
}

fn fallback(py: Python<'_>, value: Option<Fallback>) -> PyResult<Bound<'_, PyAny>> {
    Ok(match value {
        None | Some(Fallback::Required | Fallback::Derived(_)) => py.None().into_bound(py),
        Some(Fallback::Text(text)) => text.into_bound_py_any(py)?,
        Some(Fallback::Flag(flag)) => flag.into_bound_py_any(py)?,
        Some(Fallback::Integer(number)) => number.into_bound_py_any(py)?,
    })
}

fn algorithm<'py>(py: Python<'py>, meta: &Meta) -> PyResult<Bound<'py, PyDict>> {
    let Meta {
        kind,
        title,
        summary,
        citation,
        parameters,
        has_fluid,
        has_mean_field,
        approximation,
        ecn,
        linux,
        by_rate: _, // the reader's refusal says it
        without_ecn,
    } = *meta;
    let dict = PyDict::new(py);
    dict.set_item("kind", kind)?;
    dict.set_item("title", title)?;
    dict.set_item("summary", summary)?;
    dict.set_item("citation", citation)?;
    dict.set_item("has_fluid", has_fluid)?;
    dict.set_item("has_mean_field", has_mean_field)?;
    dict.set_item("approximation", approximation)?;
    dict.set_item("ecn", ecn)?;
    dict.set_item("without_ecn", without_ecn)?;
    let list = parameters
        .iter()
        .map(|spec| parameter(py, spec))
        .collect::<PyResult<Vec<_>>>()?;
    dict.set_item("parameters", list)?;
    let values = PyDict::new(py);
    for (name, value) in linux {
        set_default(&values, name, *value)?;
    }
    dict.set_item("linux", values)?;
    Ok(dict)
}

fn set_default(dict: &Bound<'_, PyDict>, key: &str, value: DefaultValue) -> PyResult<()> {
    match value {
        DefaultValue::Required => dict.set_item(key, dict.py().None()),
        DefaultValue::Number(number) => dict.set_item(key, number),
        DefaultValue::Flag(flag) => dict.set_item(key, flag),
        DefaultValue::Word(word) => dict.set_item(key, word),
    }
}

fn parameter<'py>(py: Python<'py>, spec: &ParameterSpec) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("name", spec.name)?;
    dict.set_item("unit", spec.kind.unit())?;
    set_default(&dict, "default", spec.default)?;
    dict.set_item("allowed", spec.allowed())?;
    dict.set_item("most", spec.range.most())?;
    dict.set_item("doc", spec.doc)?;
    dict.set_item("source", spec.source)?;
    Ok(dict)
}

#[derive(FromPyObject)]
enum FlowTraces {
    Word(String),
    PerClass(u32),
    List(Vec<usize>),
}

impl FlowTraces {
    fn selection(this: Option<Self>) -> PyResult<FlowSelection> {
        Ok(match this {
            None => FlowSelection::None,
            Some(Self::Word(word)) if word == "all" => FlowSelection::All,
            Some(Self::Word(word)) => {
                return Err(PyValueError::new_err(format!(
                    "trace_flows: {word:?} is not \"all\""
                )));
            }
            Some(Self::PerClass(count)) => FlowSelection::PerClass(count),
            Some(Self::List(flows)) => FlowSelection::List(flows),
        })
    }
}

/// Runs a scenario once for each seed, on up to `threads` threads; one outcome per seed.
#[pyfunction(name = "run")]
#[pyo3(signature = (scenario, seeds, *, threads = 1, trace_links = false, trace_flows = None, parts = 0, general = false, progress = None,
                    controllers = HashMap::new(), managers = HashMap::new(), memory = None, traces_to = None,
                    capture_links = Vec::new(), capture_flows = Vec::new(), captures_to = None))]
#[expect(
    clippy::too_many_arguments,
    reason = "keyword arguments of a private function"
)]
fn run_scenario<'py>(
    py: Python<'py>,
    scenario: &PyScenario,
    seeds: Vec<u64>,
    threads: usize,
    trace_links: bool,
    trace_flows: Option<FlowTraces>,
    parts: u32,
    general: bool,
    progress: Option<&Bound<'py, PyAny>>,
    controllers: HashMap<usize, Py<PyAny>>,
    managers: HashMap<usize, Py<PyAny>>,
    memory: Option<u64>,
    traces_to: Option<Py<PyAny>>,
    capture_links: Vec<(usize, bool)>,
    capture_flows: Vec<usize>,
    captures_to: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyList>> {
    let scenario = &scenario.inner;
    let parallel = threads.min(seeds.len()).max(1);
    let traces = TraceSelection {
        links: trace_links,
        flows: FlowTraces::selection(trace_flows)?,
        parts,
        streamed: traces_to.is_some(),
        // half: the lists grow by doubling, and what they hold becomes arrays
        most_bytes: memory.map(|bytes| bytes / (2 * parallel as u64)),
    };
    let captures = CaptureSelection {
        links: capture_links,
        flows: capture_flows,
    };
    let options = |seed| Options {
        general,
        traces: traces.clone(),
        seed: Some(seed),
        abort: None,
        captures: captures.clone(),
    };
    watch::load_arrays(py)?;
    refuse_beyond(py, scenario, &options(0), parallel, memory)?;

    let job = Job {
        scenario,
        options: seeds.iter().map(|seed| options(*seed)).collect(),
        controllers: substitutes(py, controllers)?,
        managers: substitutes(py, managers)?,
        libraries: library::open(scenario)
            .map_err(|problem| scenario_error(py, &[whole(&scenario.name, problem)]))?,
        traces_to,
        captures_to,
    };
    let watch = |standings: &[Standing], report: bool| {
        let shown = run::report(py, standings)?;
        let watched = watch::interrupts(py).and_then(|()| match progress {
            Some(progress) if report => progress.call1((&shown,)).map(drop),
            _ => Ok(()),
        });
        watched.map_err(|error| {
            if error.is_instance_of::<PyKeyboardInterrupt>(py) {
                interrupted(py, &shown)
            } else {
                error
            }
        })
    };
    let results = job.run(py, threads, watch)?;
    outcomes(py, &scenario.name, results.into_iter().zip(seeds))
}

/// The outcomes of the runs, or the error of the first that failed.
fn outcomes<'py>(
    py: Python<'py>,
    scenario: &str,
    results: impl Iterator<Item = (Result<Outcome, Stop>, u64)>,
) -> PyResult<Bound<'py, PyList>> {
    let outcomes = PyList::empty(py);
    let mut cancelled = false;
    for (ended, seed) in results {
        match ended {
            Ok(outcome) => outcomes.append(measured::outcome(py, outcome)?)?,
            Err(Stop::Cancelled) => cancelled = true,
            Err(stop) => return Err(stopped(py, scenario, seed, stop)),
        }
    }
    debug_assert!(
        !cancelled,
        "a run is cancelled only after another has failed"
    );
    Ok(outcomes)
}

fn substitutes(py: Python<'_>, classes: HashMap<usize, Py<PyAny>>) -> PyResult<Vec<Substitute>> {
    let name = |class: &Py<PyAny>| class.bind(py).repr().map(|text| text.to_string());
    classes
        .into_iter()
        .map(|(index, class)| {
            Ok(Substitute {
                index,
                kind: name(&class)?,
                class,
            })
        })
        .collect()
}

/// Refuses what would not fit into `memory` bytes.
fn refuse_beyond(
    py: Python<'_>,
    scenario: &Scenario,
    options: &Options,
    parallel: usize,
    memory: Option<u64>,
) -> PyResult<()> {
    let need = Simulation::memory_estimate(scenario, options).saturating_mul(parallel as u64);
    match memory {
        Some(limit) if need > limit => {
            let gigabytes = |bytes: u64| format!("{:.3} GB", bytes as f64 * 1e-9);
            let runs = if parallel > 1 {
                format!(" ({parallel} runs at once)")
            } else {
                String::new()
            };
            let problem = format!(
                "needs about {} of memory{runs}, the machine has {}; fewer flows, smaller initial windows, shorter queues or fewer traces need less",
                gigabytes(need),
                gigabytes(limit)
            );
            Err(scenario_error(py, &[whole(&scenario.name, problem)]))
        }
        _ => Ok(()),
    }
}

/// A mistake that belongs to no single key.
fn whole(scenario: &str, problem: String) -> Diagnostic {
    let file = scenario.to_owned();
    Diagnostic {
        file,
        position: None,
        key: String::new(),
        problem,
        found: None,
        suggestion: None,
        allowed: None,
    }
}

fn stopped(py: Python<'_>, scenario: &str, seed: u64, stop: Stop) -> PyErr {
    match stop {
        Stop::Engine(Error::Unsupported(problem)) => {
            scenario_error(py, &[whole(scenario, problem)])
        }
        Stop::Engine(Error::Algorithm { at, message }) => {
            run_error(py, format!("{scenario}: {message}"), Some(at))
        }
        Stop::Engine(error) => run_error(py, format!("{scenario}, seed {seed}: {error}"), None),
        Stop::User(at, cause) => {
            let message = format!(
                "{scenario}: an algorithm raised an exception at {at:.6} s of simulated time"
            );
            let error = run_error(py, message, Some(at));
            error.set_cause(py, Some(cause));
            error
        }
        Stop::Traces(error) => error,
        Stop::Panicked | Stop::Cancelled => PyRuntimeError::new_err(format!(
            "{scenario}, seed {seed}: the engine failed; this is a bug"
        )),
    }
}

/// An exception of the Python package.
fn raise<'py>(py: Python<'py>, class: &str, arguments: impl pyo3::call::PyCallArgs<'py>) -> PyErr {
    let exception = py
        .import("ackclock.errors")
        .and_then(|module| module.getattr(class)?.call1(arguments));
    exception.map_or_else(|error| error, PyErr::from_value)
}

fn run_error(py: Python<'_>, message: String, at: Option<f64>) -> PyErr {
    raise(py, "RunError", (message, at))
}

fn interrupted(py: Python<'_>, shown: &Bound<'_, PyDict>) -> PyErr {
    match (shown.get_item("times"), shown.get_item("finished")) {
        (Ok(times), Ok(finished)) => raise(py, "Interrupted", (times, finished)),
        (Err(error), _) | (_, Err(error)) => error,
    }
}

fn scenario_error(py: Python<'_>, diagnostics: &[Diagnostic]) -> PyErr {
    let make = || -> PyResult<PyErr> {
        let class = py.import("ackclock.errors")?.getattr("Diagnostic")?;
        let list = PyList::empty(py);
        for diagnostic in diagnostics {
            let Diagnostic {
                file,
                position,
                key,
                problem,
                found: result,
                suggestion,
                allowed,
            } = diagnostic;
            let (line, column) = position.unzip();
            let text = diagnostic.to_string();
            list.append(class.call1((
                file, line, column, key, problem, result, suggestion, allowed, text,
            ))?)?;
        }
        Ok(raise(py, "ScenarioError", (list,)))
    };
    make().unwrap_or_else(|error| error)
}
