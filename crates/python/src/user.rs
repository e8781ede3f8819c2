//! A user's congestion control or AQM, written as a Python class, at work in the engine.
//!
//! The engine knows no exceptions: the first one is kept in [`Failure`], every later call does
//! nothing, and the run stops.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ackclock_algorithms::aqm::{Aqm, LinkView, Observation, PacketView, QueueView, Verdict};
use ackclock_algorithms::congestion::{Ack, CongestionControl, Needs, Reduction, Signal, Window};
use ackclock_algorithms::registry::{AqmFactory, ControllerFactory};
use ackclock_algorithms::{Owner, Stream, Time};
use ackclock_packet::Abort;
use pyo3::exceptions::{PyKeyboardInterrupt, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The largest window that a user's controller may set, packets: TCP's largest, 2^30 bytes, at the
/// usual packet size.
const LARGEST_WINDOW: f64 = 1e6;
/// The smallest one, packets.
const SMALLEST_WINDOW: f64 = 1e-3;

/// The first exception that a user's algorithm raised, and when (simulated time, s); and the call
/// that is under way.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    first: Arc<Mutex<Option<(f64, PyErr)>>>,
    abort: Abort,
    calls: Arc<Mutex<Calls>>,
    /// Name of the algorithm, for messages.
    kind: Arc<str>,
}

/// The calls into a user's algorithms of one run, which is in one thread.
#[derive(Debug, Default)]
struct Calls {
    /// The algorithm, the method, and Python's number of the thread.
    now: Option<(Arc<str>, &'static str, u64)>,
    count: u64,
    /// The count when somebody last looked.
    last_count: Option<u64>,
}

impl Default for Failure {
    fn default() -> Self {
        Self {
            first: Arc::default(),
            abort: Abort::default(),
            calls: Arc::default(),
            kind: Arc::from(""),
        }
    }
}

impl Failure {
    /// The switch that stops the engine when something fails.
    pub(crate) fn abort(&self) -> Abort {
        self.abort.clone()
    }

    /// The same, for the calls of one algorithm.
    pub(crate) fn of(&self, kind: &str) -> Self {
        Self {
            kind: Arc::from(kind),
            ..self.clone()
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<(f64, PyErr)>> {
        self.first.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn calls(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn happened(&self) -> bool {
        self.lock().is_some()
    }

    pub(crate) fn take(&self) -> Option<(f64, PyErr)> {
        self.lock().take()
    }

    /// Raises `KeyboardInterrupt` in a call that has not returned since this was last asked, and
    /// says which it is.
    pub(crate) fn interrupt_stuck(&self, py: Python<'_>) -> PyResult<Option<String>> {
        let (kind, method, thread) = {
            let mut calls = self.calls();
            let count = calls.count;
            let stuck = calls.last_count.replace(count) == Some(count);
            match &calls.now {
                Some(call) if stuck => call.clone(),
                _ => return Ok(None),
            }
        };
        let ctypes = py.import("ctypes")?;
        let number = ctypes.getattr("c_ulong")?.call1((thread,))?;
        let error = ctypes
            .getattr("py_object")?
            .call1((py.get_type::<PyKeyboardInterrupt>(),))?;
        ctypes
            .getattr("pythonapi")?
            .call_method1("PyThreadState_SetAsyncExc", (number, error))?;
        Ok(Some(format!("{kind}.{method}")))
    }

    /// Runs `call`, a method of the algorithm, unless something failed before; `fallback` where
    /// there is no answer.
    fn guard<T>(
        &self,
        now: Time,
        method: &'static str,
        fallback: T,
        call: impl FnOnce(Python<'_>) -> PyResult<T>,
    ) -> T {
        if self.happened() {
            return fallback;
        }
        let recorded = |py: Python<'_>| {
            let thread = thread_number(py)?;
            {
                let mut calls = self.calls();
                calls.count += 1;
                calls.now = Some((self.kind.clone(), method, thread));
            }
            let answer = call(py);
            self.calls().now = None;
            answer
        };
        Python::attach(recorded).unwrap_or_else(|error| {
            self.abort.raise(now, error.to_string());
            self.lock().get_or_insert((now.seconds(), error));
            fallback
        })
    }
}

/// Python's number of this thread.
fn thread_number(py: Python<'_>) -> PyResult<u64> {
    thread_local! {
        static NUMBER: std::cell::Cell<Option<u64>> = const { std::cell::Cell::new(None) };
    }
    if let Some(known) = NUMBER.get() {
        return Ok(known);
    }
    let number = py
        .import("threading")?
        .call_method0("get_ident")?
        .extract()?;
    NUMBER.set(Some(number));
    Ok(number)
}

/// The random stream of the algorithm's flow or queue. Draw from it and nothing else, so that a
/// seed gives the same run again.
#[pyclass(module = "ackclock._core")]
pub(crate) struct Random(Stream);

#[pymethods]
impl Random {
    /// Uniform on [0, 1).
    fn uniform(&mut self) -> f64 {
        self.0.uniform()
    }

    /// Exponential with the given mean.
    fn exponential(&mut self, mean: f64) -> f64 {
        self.0.exponential(mean)
    }

    /// Standard normal.
    fn normal(&mut self) -> f64 {
        self.0.normal()
    }
}

impl Random {
    /// Lends `stream` to Python for one call.
    fn lend<T>(
        object: &Bound<'_, Self>,
        stream: &mut Stream,
        call: impl FnOnce() -> PyResult<T>,
    ) -> PyResult<T> {
        object.borrow_mut().0 = stream.clone();
        let answer = call();
        stream.clone_from(&object.borrow().0);
        answer
    }

    fn empty(py: Python<'_>) -> PyResult<Py<Self>> {
        Py::new(py, Self(Stream::new(0, Owner::Flow, 0)))
    }
}

/// The sender's window, in segments. Assign to `cwnd` and `ssthresh`.
#[pyclass(name = "Window", module = "ackclock._core", get_all, set_all)]
pub(crate) struct PyWindow {
    cwnd: f64,
    ssthresh: f64,
}

#[pymethods]
impl PyWindow {
    /// Whether the sender is in slow start.
    fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Grow by one segment per segment acknowledged, up to `ssthresh`. Returns the segments left
    /// over for congestion avoidance.
    fn slow_start(&mut self, acked: f64) -> f64 {
        let mut window = Window {
            cwnd: self.cwnd,
            ssthresh: self.ssthresh,
        };
        let left = window.slow_start(acked);
        self.cwnd = window.cwnd;
        left
    }

    fn __repr__(&self) -> String {
        format!("Window(cwnd={}, ssthresh={})", self.cwnd, self.ssthresh)
    }
}

/// A frozen Python class with the fields of what an engine shows, each converted where an
/// expression stands behind it; a field that Python does not see is named after `without`.
macro_rules! view {
    (@value $field:ident) => { $field };
    (@value $field:ident $value:expr) => { $value };
    (
        $(#[$about:meta])*
        $class:ident as $name:tt of $view:ident { $($field:ident: $kind:ty $(= $value:expr)?,)* }
        $(without $($left:ident)*)?
    ) => {
        $(#[$about])*
        #[pyclass(name = $name, module = "ackclock._core", frozen, get_all)]
        pub(crate) struct $class {
            $($field: $kind,)*
        }

        impl From<&$view> for $class {
            fn from(view: &$view) -> Self {
                let $view { $($field,)* $($($left: _,)*)? } = *view;
                Self { $($field: view!(@value $field $($value)?),)* }
            }
        }
    };
}

view! {
    /// The content of an arriving acknowledgement; times in seconds.
    PyAck as "Ack" of Ack {
        now: f64 = now.seconds(),
        acked: u32,
        rtt: f64,
        min_rtt: f64,
        srtt: f64,
        in_flight: u32,
        round_start: bool,
        cwnd_limited: bool,
        ece: bool,
        marked: u32,
    } without covered una next echo
}

view! {
    /// The sender's state when it must reduce; times in seconds. `signal` is "loss", "ecn" or
    /// "timeout".
    PyReduction as "Reduction" of Reduction {
        now: f64 = now.seconds(),
        signal: &'static str = match signal {
            Signal::Loss => "loss",
            Signal::Ecn => "ecn",
            Signal::Timeout => "timeout",
        },
        window_used: f64,
        min_rtt: f64,
        srtt: f64,
    }
}

view! {
    /// A packet as an AQM sees it.
    PyPacket as "Packet" of PacketView {
        size: u32,
        flow: u32,
        ecn_capable: bool,
        scalable: bool,
        syn: bool,
        priority: u8,
    }
}

view! {
    /// The queue as an arriving or departing packet finds it, without the packet in service.
    PyQueue as "Queue" of QueueView {
        packets: u32,
        bytes: u64,
        full: bool,
        idle_since: Option<f64> = idle_since.map(Time::seconds),
        rate: f64,
        head_sojourn: Option<f64> = head_sojourn.map(Time::seconds),
    }
}

/// The link that an AQM is set up for: rate in bit/s, delay in seconds.
#[pyclass(name = "Link", module = "ackclock._core", frozen, get_all)]
pub(crate) struct PyLink {
    rate: f64,
    delay: f64,
    capacity_packets: f64,
}

/// A Python class in one run: a factory of controllers or of queue managers.
#[derive(Debug)]
pub(crate) struct Factory {
    pub(crate) kind: String,
    pub(crate) class: Py<PyAny>,
    pub(crate) failure: Failure,
}

impl ControllerFactory for Factory {
    fn kind(&self) -> &str {
        &self.kind
    }

    fn build(&self, _flow: u32) -> Box<dyn CongestionControl + Send> {
        let built = self.failure.guard(Time::ZERO, "__init__", None, |py| {
            let object = self.class.call0(py)?;
            let has = |name| object.bind(py).hasattr(name);
            for name in ["on_ack", "on_congestion"] {
                if !has(name)? {
                    return Err(missing(&self.kind, name));
                }
            }
            Ok(Some(UserController {
                has_restart: has("on_restart")?,
                has_pacing: has("pacing_rate")?,
                now: Time::ZERO,
                window: Py::new(
                    py,
                    PyWindow {
                        cwnd: 1.0,
                        ssthresh: f64::INFINITY,
                    },
                )?,
                random: Random::empty(py)?,
                object,
                failure: self.failure.clone(),
            }))
        });
        match built {
            Some(controller) => Box::new(controller),
            None => Box::new(Inert),
        }
    }
}

impl AqmFactory for Factory {
    fn kind(&self) -> &str {
        &self.kind
    }

    fn build(&self, link: &LinkView) -> Box<dyn Aqm + Send> {
        let built = self.failure.guard(Time::ZERO, "__init__", None, |py| {
            let LinkView {
                rate,
                delay,
                capacity_packets,
            } = *link;
            let object = self.class.call1(
                py,
                (PyLink {
                    rate,
                    delay,
                    capacity_packets,
                },),
            );
            let object = object.map_err(|error| wants_link(py, error))?;
            let bound = object.bind(py);
            let has = |name| bound.hasattr(name);
            if !has("enqueue")? {
                return Err(missing(&self.kind, "enqueue"));
            }
            let at_dequeue = has("decides_at_dequeue")?
                && bound.call_method0("decides_at_dequeue")?.is_truthy()?;
            if at_dequeue && !has("dequeue")? {
                return Err(missing(&self.kind, "dequeue"));
            }
            Ok(Some(UserManager {
                at_dequeue,
                has_next_timer: has("next_timer")?,
                has_link_change: has("on_link_change")?,
                has_observe: has("observe")?,
                now: Time::ZERO,
                random: Random::empty(py)?,
                object,
                failure: self.failure.clone(),
            }))
        });
        match built {
            Some(manager) => Box::new(manager),
            None => Box::new(Inert),
        }
    }
}

fn missing(kind: &str, method: &str) -> PyErr {
    PyTypeError::new_err(format!("{kind} has no method {method}"))
}

/// Says how an AQM is made, where its class takes nothing.
fn wants_link(py: Python<'_>, error: PyErr) -> PyErr {
    let text = error.value(py).to_string();
    if error.is_instance_of::<PyTypeError>(py) && text.ends_with("() takes no arguments") {
        return PyTypeError::new_err(format!(
            "{text}, but an AQM is made with its link: def __init__(self, link)"
        ));
    }
    error
}

/// Stands where a user's algorithm could not be made, until the run stops.
struct Inert;

impl CongestionControl for Inert {
    fn on_ack(&mut self, _ack: &Ack, _window: &mut Window, _random: &mut Stream) {}
    fn on_congestion(&mut self, _reduction: &Reduction, _window: &mut Window) {}
}

impl Aqm for Inert {
    fn enqueue(
        &mut self,
        _now: Time,
        _packet: &PacketView,
        _queue: &QueueView,
        _random: &mut Stream,
    ) -> Verdict {
        Verdict::Accept
    }
}

struct UserController {
    object: Py<PyAny>,
    has_restart: bool,
    has_pacing: bool,
    /// Time of the last call that had one, for those that have none.
    now: Time,
    window: Py<PyWindow>,
    random: Py<Random>,
    failure: Failure,
}

impl UserController {
    /// Lets `call` change a copy of the window, and takes it over if it is a window.
    fn with_window(
        &self,
        py: Python<'_>,
        method: &str,
        window: Window,
        call: impl FnOnce(&Py<PyWindow>) -> PyResult<()>,
    ) -> PyResult<Window> {
        {
            let mut shown = self.window.borrow_mut(py);
            shown.cwnd = window.cwnd;
            shown.ssthresh = window.ssthresh;
        }
        call(&self.window)?;
        let PyWindow { cwnd, ssthresh } = *self.window.borrow(py);
        if !(SMALLEST_WINDOW..=LARGEST_WINDOW).contains(&cwnd) {
            return Err(PyValueError::new_err(format!(
                "{}() leaves cwnd = {cwnd}; it must be a number from {SMALLEST_WINDOW} to {LARGEST_WINDOW} packets",
                self.called(py, method)?
            )));
        }
        if ssthresh.is_nan() || ssthresh < SMALLEST_WINDOW {
            return Err(PyValueError::new_err(format!(
                "{}() leaves ssthresh = {ssthresh}; it must be a number of {SMALLEST_WINDOW} packets or more",
                self.called(py, method)?
            )));
        }
        Ok(Window { cwnd, ssthresh })
    }

    /// `Class.method`, by which a message finds its file and line.
    fn called(&self, py: Python<'_>, method: &str) -> PyResult<String> {
        let class = self.object.bind(py).get_type().qualname()?;
        Ok(format!("{class}.{method}"))
    }
}

impl CongestionControl for UserController {
    fn on_ack(&mut self, ack: &Ack, window: &mut Window, random: &mut Stream) {
        self.now = ack.now;
        *window = self.failure.guard(ack.now, "on_ack", *window, |py| {
            let draws = self.random.bind(py);
            self.with_window(py, "on_ack", *window, |shown| {
                Random::lend(draws, random, || {
                    self.object
                        .call_method1(py, "on_ack", (PyAck::from(ack), shown, draws))
                        .map(drop)
                })
            })
        });
    }

    fn on_congestion(&mut self, reduction: &Reduction, window: &mut Window) {
        self.now = reduction.now;
        *window = self
            .failure
            .guard(reduction.now, "on_congestion", *window, |py| {
                self.with_window(py, "on_congestion", *window, |shown| {
                    self.object
                        .call_method1(py, "on_congestion", (PyReduction::from(reduction), shown))
                        .map(drop)
                })
            });
        // what is spread over a round trip comes down to ssthresh
        if reduction.signal != Signal::Timeout && window.ssthresh.is_infinite() {
            window.ssthresh = window.cwnd;
        }
    }

    fn on_restart(&mut self, now: Time, _window: &mut Window) {
        self.now = now;
        if self.has_restart {
            self.failure.guard(now, "on_restart", (), |py| {
                self.object
                    .call_method1(py, "on_restart", (now.seconds(),))
                    .map(drop)
            });
        }
    }

    fn needs(&self) -> Needs {
        Needs {
            pacing: self.has_pacing,
            ..Needs::default()
        }
    }

    fn pacing_rate(&self) -> Option<f64> {
        if !self.has_pacing {
            return None;
        }
        self.failure.guard(self.now, "pacing_rate", None, |py| {
            let rate: Option<f64> = self.object.call_method0(py, "pacing_rate")?.extract(py)?;
            match rate {
                Some(rate) if rate.is_nan() || rate <= 0.0 => Err(PyValueError::new_err(format!(
                    "pacing_rate must be None or above zero, it is {rate}"
                ))),
                _ => Ok(rate),
            }
        })
    }
}

struct UserManager {
    object: Py<PyAny>,
    at_dequeue: bool,
    has_next_timer: bool,
    has_link_change: bool,
    has_observe: bool,
    /// Time of the last call that had one, for those that have none.
    now: Time,
    random: Py<Random>,
    failure: Failure,
}

/// The verdict of a user's AQM on a packet: the answer of one of its methods. Messages begin with
/// `Class.method()`, by which their file and line are found.
fn verdict(
    object: &Bound<'_, PyAny>,
    method: &str,
    answer: &Bound<'_, PyAny>,
    packet: &PacketView,
) -> PyResult<Verdict> {
    let called =
        || -> PyResult<String> { Ok(format!("{}.{method}()", object.get_type().qualname()?)) };
    let other = || -> PyResult<String> {
        let called = called()?;
        Ok(format!(
            "{called} must return \"accept\", \"mark\" or \"drop\", it returns {answer:?}"
        ))
    };
    let Ok(word) = answer.extract::<String>() else {
        return Err(PyTypeError::new_err(other()?));
    };
    let word: &str = &word;
    match word {
        "accept" => Ok(Verdict::Accept),
        "mark" if packet.ecn_capable => Ok(Verdict::Mark),
        "mark" => {
            let called = called()?;
            let text = format!("{called} marks a packet that is not ECN-capable");
            Err(PyValueError::new_err(text))
        }
        "drop" => Ok(Verdict::Drop),
        _ => Err(PyValueError::new_err(other()?)),
    }
}

impl Aqm for UserManager {
    /// It may: it sees the packet as a whole.
    fn reads_priority(&self) -> bool {
        true
    }

    fn decides_at_dequeue(&self) -> bool {
        self.at_dequeue
    }

    fn enqueue(
        &mut self,
        now: Time,
        packet: &PacketView,
        queue: &QueueView,
        random: &mut Stream,
    ) -> Verdict {
        self.now = now;
        self.failure.guard(now, "enqueue", Verdict::Accept, |py| {
            let draws = self.random.bind(py);
            let arguments = (
                now.seconds(),
                PyPacket::from(packet),
                PyQueue::from(queue),
                draws,
            );
            let answer = Random::lend(draws, random, || {
                self.object.call_method1(py, "enqueue", arguments)
            })?;
            verdict(self.object.bind(py), "enqueue", answer.bind(py), packet)
        })
    }

    fn dequeue(
        &mut self,
        now: Time,
        sojourn: Time,
        packet: &PacketView,
        queue: &QueueView,
        random: &mut Stream,
    ) -> Verdict {
        self.now = now;
        self.failure.guard(now, "dequeue", Verdict::Accept, |py| {
            let draws = self.random.bind(py);
            let arguments = (
                now.seconds(),
                sojourn.seconds(),
                PyPacket::from(packet),
                PyQueue::from(queue),
                draws,
            );
            let answer = Random::lend(draws, random, || {
                self.object.call_method1(py, "dequeue", arguments)
            })?;
            verdict(self.object.bind(py), "dequeue", answer.bind(py), packet)
        })
    }

    fn next_timer(&self) -> Option<Time> {
        if !self.has_next_timer {
            return None;
        }
        self.failure.guard(self.now, "next_timer", None, |py| {
            let at: Option<f64> = self.object.call_method0(py, "next_timer")?.extract(py)?;
            match at {
                None => Ok(None),
                // the timer of a run that is about to stop must not hold the clock
                Some(at) if at.is_finite() && Time::from_seconds(at) > self.now => {
                    Ok(Some(Time::from_seconds(at)))
                }
                Some(at) => Err(PyValueError::new_err(format!(
                    "next_timer must be later than now, it is {at} s"
                ))),
            }
        })
    }

    fn on_timer(&mut self, now: Time, queue: &QueueView, random: &mut Stream) {
        self.now = now;
        self.failure.guard(now, "on_timer", (), |py| {
            let draws = self.random.bind(py);
            let arguments = (now.seconds(), PyQueue::from(queue), draws);
            Random::lend(draws, random, || {
                self.object
                    .call_method1(py, "on_timer", arguments)
                    .map(drop)
            })
        });
    }

    fn on_link_change(&mut self, now: Time, rate: f64) {
        self.now = now;
        if self.has_link_change {
            self.failure.guard(now, "on_link_change", (), |py| {
                self.object
                    .call_method1(py, "on_link_change", (now.seconds(), rate))
                    .map(drop)
            });
        }
    }

    fn observe(&self) -> Observation {
        if !self.has_observe {
            return Observation::default();
        }
        self.failure
            .guard(self.now, "observe", Observation::default(), |py| {
                let answer = self.object.call_method0(py, "observe")?;
                let values = answer.bind(py).cast::<PyDict>()?;
                let get = |name| {
                    values
                        .get_item(name)?
                        .map(|value| value.extract::<f64>())
                        .transpose()
                };
                let observation = Observation {
                    average_packets: get("average_packets")?,
                    probability: get("probability")?,
                    adapted: get("adapted")?,
                };
                // NaN is the usual word for a value that is not known yet
                if let Some(value) = observation.probability.filter(|p| *p < 0.0 || *p > 1.0) {
                    return Err(PyValueError::new_err(format!(
                        "observe: the probability must be from 0 to 1, it is {value}"
                    )));
                }
                if let Some(value) = observation.average_packets.filter(|q| *q < 0.0) {
                    return Err(PyValueError::new_err(format!(
                        "observe: average_packets must be 0 or more, it is {value}"
                    )));
                }
                Ok(observation)
            })
    }
}
