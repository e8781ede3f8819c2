//! Replications in parallel threads, with progress and Ctrl-C.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ackclock_algorithms::registry::{AqmSpec, CongestionSpec};
use ackclock_packet::{Error, Options, Outcome, Simulation};
use ackclock_scenario::Scenario;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::library::Opened;
use crate::measured;
use crate::user::{Factory, Failure};

/// A Python class in place of the congestion control of a class of flows, or of the AQM of a link.
pub(crate) struct Substitute {
    pub(crate) index: usize,
    pub(crate) kind: String,
    pub(crate) class: Py<PyAny>,
}

/// The runs to be made.
pub(crate) struct Job<'a> {
    pub(crate) scenario: &'a Scenario,
    /// One run each; its seed is the one here.
    pub(crate) options: Vec<Options>,
    pub(crate) controllers: Vec<Substitute>,
    pub(crate) managers: Vec<Substitute>,
    /// Open libraries of transports and controllers.
    pub(crate) libraries: Vec<Opened>,
    /// Called with pieces of the traces as the runs go on, in place of keeping them.
    pub(crate) traces_to: Option<Py<PyAny>>,
    /// Called with pieces of captures: "link" or "flow", which of them, bytes.
    pub(crate) captures_to: Option<Py<PyAny>>,
}

/// Why a run gave no outcome.
pub(crate) enum Stop {
    /// The engine's own error.
    Engine(Error),
    /// A user's algorithm raised an exception at this simulated time, s.
    User(f64, PyErr),
    /// Another run failed, or the user pressed Ctrl-C.
    Cancelled,
    /// The error of the consumer of traces.
    Traces(PyErr),
    /// A bug of ours.
    Panicked,
}

/// How far each run has come.
pub(crate) struct Standing {
    /// Bits of the simulated time, s.
    now: AtomicU64,
    departures: AtomicU64,
    finished: AtomicBool,
}

/// Events between looks at Ctrl-C: at most, and at first. Few where they take long, such as calls
/// of Python and windows of 100,000 packets: 10 ms to send one.
const MOST_EVENTS_PER_STEP: u64 = 500;
const FEWEST_EVENTS_PER_STEP: u64 = 5;
const STEP_TIME: Duration = Duration::from_millis(50);
/// Between two looks at signals, and at calls of Python once the run is to end.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);
/// Looks between two reports of how far it is.
const LOOKS_PER_REPORT: u32 = 4;
/// Traces are handed over in pieces of so many bytes.
const PIECE_BYTES: usize = 1 << 22;

impl Job<'_> {
    /// Runs everything on up to `threads` threads. Results depend on the options alone, not on the
    /// threads.
    ///
    /// `watch` is called from the calling thread many times a second, attached to Python; its error cancels what still runs. A few
    /// times a second it is told to report.
    pub(crate) fn run(
        &self,
        py: Python<'_>,
        threads: usize,
        watch: impl Fn(&[Standing], bool) -> PyResult<()>,
    ) -> PyResult<Vec<Result<Outcome, Stop>>> {
        let count = self.options.len();
        let standings: Vec<Standing> = (0..count)
            .map(|_| Standing {
                now: AtomicU64::new(0),
                departures: AtomicU64::new(0),
                finished: AtomicBool::new(false),
            })
            .collect();
        let results: Vec<Mutex<Option<Result<Outcome, Stop>>>> =
            (0..count).map(|_| Mutex::new(None)).collect();
        let next = AtomicUsize::new(0);
        let cancel = AtomicBool::new(false);
        let working = Working::new(threads.clamp(1, count.max(1)));

        let failures: Vec<Failure> = (0..count).map(|_| Failure::default()).collect();

        let mut watched = Ok(());
        let mut looks = 0_u32;
        std::thread::scope(|scope| {
            for _ in 0..threads.clamp(1, count.max(1)) {
                scope.spawn(|| {
                    let work = || self.work(&next, &standings, &cancel, &failures, &results);
                    if self.controllers.is_empty() && self.managers.is_empty() {
                        work();
                    } else {
                        // once for all calls of a user's algorithm: Python makes and drops its
                        // state of a thread, with a page for its frames, at each first attachment
                        Python::attach(|py| py.detach(work));
                    }
                    working.leave();
                });
            }
            // detached while waiting: the threads may need Python for a user's algorithm
            while py.detach(|| working.wait(LOOK_INTERVAL)) {
                looks = looks.wrapping_add(1);
                if watched.is_ok() {
                    watched = watch(&standings, looks.is_multiple_of(LOOKS_PER_REPORT));
                    if watched.is_err() {
                        cancel.store(true, Ordering::Relaxed);
                    }
                }
                if cancel.load(Ordering::Relaxed) {
                    for failure in &failures {
                        if let (Ok(Some(call)), Err(error)) =
                            (failure.interrupt_stuck(py), &watched)
                        {
                            // an exception of another kind has no such method
                            let _ = error.value(py).call_method1("inside", (call,));
                        }
                    }
                }
            }
        });
        watched?;
        let outcomes = results.into_iter().map(|slot| {
            slot.into_inner()
                .unwrap_or_else(PoisonError::into_inner)
                .unwrap_or(Err(Stop::Cancelled))
        });
        Ok(outcomes.collect())
    }

    /// Runs what no other thread has begun, until nothing is left.
    fn work(
        &self,
        next: &AtomicUsize,
        standings: &[Standing],
        cancel: &AtomicBool,
        failures: &[Failure],
        results: &[Mutex<Option<Result<Outcome, Stop>>>],
    ) {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(slot) = results.get(index) else {
                break;
            };
            let result = catch_unwind(AssertUnwindSafe(|| {
                self.run_one(index, &standings[index], cancel, &failures[index])
            }))
            .unwrap_or(Err(Stop::Panicked));
            if result.is_err() {
                cancel.store(true, Ordering::Relaxed);
            }
            *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
        }
    }

    fn run_one(
        &self,
        index: usize,
        standing: &Standing,
        cancel: &AtomicBool,
        failure: &Failure,
    ) -> Result<Outcome, Stop> {
        let own = self.with_substitutes(index, failure);
        let scenario = own.as_ref().unwrap_or(self.scenario);
        let mut events = FEWEST_EVENTS_PER_STEP;
        let failed = || {
            let (at, error) = failure.take()?;
            let ours = cancel.load(Ordering::Relaxed)
                && Python::attach(|py| error.is_instance_of::<PyKeyboardInterrupt>(py));
            Some(if ours {
                Stop::Cancelled
            } else {
                Stop::User(at, error)
            })
        };

        let abort = own.is_some().then(|| failure.abort());
        let options = Options {
            abort,
            ..self.options[index].clone()
        };
        let mut simulation = Simulation::new(scenario, &options).map_err(Stop::Engine)?;
        loop {
            if cancel.load(Ordering::Relaxed) {
                return Err(Stop::Cancelled);
            }
            let begin = Instant::now();
            let progress = simulation.step(events);
            events = if begin.elapsed() > STEP_TIME {
                (events / 2).max(FEWEST_EVENTS_PER_STEP)
            } else {
                (events * 2).min(MOST_EVENTS_PER_STEP)
            };
            // what follows from a failed algorithm is no news
            if let Some(stop) = failed() {
                return Err(stop);
            }
            let progress = progress.map_err(Stop::Engine)?;
            standing
                .now
                .store(progress.now.to_bits(), Ordering::Relaxed);
            standing
                .departures
                .store(progress.departures, Ordering::Relaxed);
            let least = if progress.done { 1 } else { PIECE_BYTES };
            self.hand_over(&mut simulation, least)?;
            self.hand_captures_over(&mut simulation, least)?;
            if progress.done {
                break;
            }
        }
        let outcome = simulation.finish();
        if let Some(stop) = failed() {
            return Err(stop);
        }
        standing.finished.store(true, Ordering::Relaxed);
        outcome.map_err(Stop::Engine)
    }

    /// Gives traces away, if somebody wants them and there are `least` bytes of them.
    fn hand_over(&self, simulation: &mut Simulation, least: usize) -> Result<(), Stop> {
        let Some(target) = &self.traces_to else {
            return Ok(());
        };
        let Some(traces) = simulation.take_traces(least) else {
            return Ok(());
        };
        let classes: Vec<usize> = traces
            .flows
            .iter()
            .map(|trace| simulation.class_of(trace.flow))
            .collect();
        Python::attach(|py| {
            let piece = measured::traces(py, traces)?;
            piece.set_item("classes", classes)?;
            target.call1(py, (piece,)).map(drop)
        })
        .map_err(Stop::Traces)
    }

    /// Gives captures away, if somebody wants them and there are `least` bytes of one.
    fn hand_captures_over(&self, simulation: &mut Simulation, least: usize) -> Result<(), Stop> {
        let Some(target) = &self.captures_to else {
            return Ok(());
        };
        let Some(captured) = simulation.take_captures(least) else {
            return Ok(());
        };
        Python::attach(|py| {
            for (kind, pieces) in [("link", captured.links), ("flow", captured.flows)] {
                for (index, piece) in pieces.iter().enumerate() {
                    if !piece.is_empty() {
                        target.call1(py, (kind, index, PyBytes::new(py, piece)))?;
                    }
                }
            }
            Ok(())
        })
        .map_err(Stop::Traces)
    }

    /// The scenario with a user's algorithms in place, all reporting to `failure`; `None` if there
    /// are none.
    fn with_substitutes(&self, index: usize, failure: &Failure) -> Option<Scenario> {
        let classes = self.controllers.len() + self.managers.len();
        if classes + self.libraries.len() == 0 {
            return None;
        }
        let mut scenario = self.scenario.clone();
        let seed = self.options[index].seed.unwrap_or(scenario.seed);
        for library in &self.libraries {
            library.put(&mut scenario, seed, &failure.abort());
        }
        if classes == 0 {
            return Some(scenario);
        }
        Some(Python::attach(|py| {
            let factory = |substitute: &Substitute| {
                let Substitute { kind, class, .. } = substitute;
                Arc::new(Factory {
                    kind: kind.clone(),
                    class: class.clone_ref(py),
                    failure: failure.of(&named(class.bind(py)).unwrap_or_else(|| kind.clone())),
                })
            };
            for substitute in &self.controllers {
                scenario.flows[substitute.index].tcp.congestion =
                    CongestionSpec::Custom(factory(substitute));
            }
            for substitute in &self.managers {
                scenario.links[substitute.index].aqm = AqmSpec::Custom(factory(substitute));
            }
            scenario
        }))
    }
}

/// The name of a class.
pub(crate) fn named(class: &Bound<'_, PyAny>) -> Option<String> {
    class.getattr("__name__").ok()?.extract().ok()
}

/// The state of a progress display: times (s) of the runs, whether each is finished, packets of all.
pub(crate) fn report<'py>(py: Python<'py>, standings: &[Standing]) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let times: Vec<f64> = standings
        .iter()
        .map(|run| f64::from_bits(run.now.load(Ordering::Relaxed)))
        .collect();
    dict.set_item("times", times)?;
    dict.set_item(
        "finished",
        standings
            .iter()
            .filter(|run| run.finished.load(Ordering::Relaxed))
            .count(),
    )?;
    dict.set_item(
        "packets",
        standings
            .iter()
            .map(|run| run.departures.load(Ordering::Relaxed))
            .sum::<u64>(),
    )?;
    Ok(dict)
}

/// The threads that still work, to be waited for.
struct Working {
    threads: Mutex<usize>,
    changed: Condvar,
}

impl Working {
    fn new(threads: usize) -> Self {
        Self {
            threads: Mutex::new(threads),
            changed: Condvar::new(),
        }
    }

    fn leave(&self) {
        *self.threads.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.changed.notify_all();
    }

    /// Waits until no thread works, at most `timeout`. Whether some still do.
    fn wait(&self, timeout: Duration) -> bool {
        let threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        let (threads, _) = self
            .changed
            .wait_timeout_while(threads, timeout, |threads| *threads > 0)
            .unwrap_or_else(PoisonError::into_inner);
        *threads > 0
    }
}
