//! One sender without a network, driven from Python.

use std::sync::Arc;

use ackclock_algorithms::Time;
use ackclock_algorithms::congestion::CaState;
use ackclock_algorithms::registry::CongestionSpec;
use ackclock_packet::{Arrival, Endpoint};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::run::named;
use crate::scenario::PyScenario;
use crate::user::{Factory, Failure};
use crate::{library, run_error};

/// One sender without a network; times in seconds.
#[pyclass(name = "Endpoint", module = "ackclock._core", unsendable)]
pub(crate) struct PyEndpoint {
    endpoint: Endpoint,
    failure: Failure,
    now: Time,
}

impl PyEndpoint {
    /// Advances time to `now`, s.
    fn at(&mut self, now: f64) -> PyResult<Time> {
        if !(now > 0.0 && now < 1e6) {
            return Err(PyValueError::new_err(format!(
                "a time must be above 0 s and below 1e6 s, not {now}"
            )));
        }
        let time = Time::from_seconds(now);
        if time < self.now {
            return Err(PyValueError::new_err(format!(
                "time went back from {} s to {now} s",
                self.now.seconds()
            )));
        }
        self.now = time;
        Ok(time)
    }

    /// Returns the error that a user's algorithm raised, if it did.
    fn checked(&self) -> PyResult<()> {
        if let Some((_, error)) = self.failure.take() {
            return Err(error);
        }
        match self.failure.abort().raised() {
            Some((at, message)) => Err(Python::attach(|py| run_error(py, message, Some(at)))),
            None => Ok(()),
        }
    }
}

#[pymethods]
impl PyEndpoint {
    /// A sender of class `index` of a scenario, with a Python class in place of its
    /// congestion control if there is one.
    #[new]
    fn new(
        py: Python<'_>,
        scenario: &PyScenario,
        index: usize,
        controller: Option<Py<PyAny>>,
        seed: u64,
    ) -> PyResult<Self> {
        let classes = &scenario.inner.flows;
        let Some(class) = classes.get(index) else {
            return Err(PyValueError::new_err(format!(
                "there is no class {index} of flows, but {}",
                classes.len()
            )));
        };
        let mut tcp = class.tcp.clone();
        let failure = Failure::default();
        if tcp.congestion.is_endpoint() {
            return Err(PyValueError::new_err(format!(
                "flows \"{}\" have a transport of their own in place of this one",
                class.name
            )));
        }
        if tcp.congestion.library().is_some() {
            let mut scenario = scenario.inner.clone();
            let opened = library::open(&scenario).map_err(PyValueError::new_err)?;
            for library in opened {
                library.put(&mut scenario, seed, &failure.abort());
            }
            tcp = scenario.flows[index].tcp.clone();
        }
        if let Some(controller) = controller {
            let kind = named(controller.bind(py)).unwrap_or_else(|| "congestion".to_owned());
            tcp.congestion = CongestionSpec::Custom(Arc::new(Factory {
                failure: failure.of(&kind),
                kind,
                class: controller,
            }));
        }
        let endpoint = Self {
            endpoint: Endpoint::new(&tcp, seed),
            failure,
            now: Time::ZERO,
        };
        endpoint.checked()?;
        Ok(endpoint)
    }

    #[pyo3(signature = (now, rtt = 0.0, syn_ack = None))]
    fn open(&mut self, now: f64, rtt: f64, syn_ack: Option<(bool, bool, bool)>) -> PyResult<()> {
        let now = self.at(now)?;
        if let Some((ae, cwr, ece)) = syn_ack {
            self.endpoint.negotiate(ae, cwr, ece);
        }
        self.endpoint.open(now, Time::from_seconds(rtt));
        self.checked()
    }

    fn write(&mut self, now: f64, segments: u64) -> PyResult<()> {
        let now = self.at(now)?;
        self.endpoint.write(now, segments);
        self.checked()
    }

    fn set_receiver_window(&mut self, segments: u64) {
        self.endpoint.set_receiver_window(segments);
    }

    #[expect(
        clippy::needless_pass_by_value,
        clippy::too_many_arguments,
        reason = "a sequence of Python's becomes a vector; an ACK says so much"
    )]
    #[pyo3(signature = (now, cumulative, blocks, echo = None, ece = false, ace = None, marked = None))]
    fn acknowledge(
        &mut self,
        now: f64,
        cumulative: u64,
        blocks: Vec<(u64, u64)>,
        echo: Option<f64>,
        ece: bool,
        ace: Option<u8>,
        marked: Option<u16>,
    ) -> PyResult<()> {
        if let Some(ace) = ace.filter(|ace| *ace > 7) {
            return Err(PyValueError::new_err(format!("ace is {ace}, not 0 to 7")));
        }
        let now = self.at(now)?;
        self.endpoint.acknowledge(
            now,
            &Arrival {
                cumulative,
                blocks: &blocks,
                echo: echo.map(Time::from_seconds),
                ece,
                ace,
                marked,
            },
        );
        self.checked()
    }

    /// Number, whether it was sent before, whether it is ECN-capable, whether it carries CWR.
    fn next_segment(&mut self, now: f64) -> PyResult<Option<(u64, bool, bool, bool)>> {
        let now = self.at(now)?;
        let segment = self.endpoint.next_segment(now);
        self.checked()?;
        Ok(segment.map(|segment| {
            let again = segment.retransmission;
            (segment.seq, again, segment.ect, segment.cwr)
        }))
    }

    fn next_event(&self) -> Option<f64> {
        self.endpoint.next_event().map(Time::seconds)
    }

    fn advance(&mut self, now: f64) -> PyResult<()> {
        let now = self.at(now)?;
        self.endpoint.advance(now);
        self.checked()
    }

    fn info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let info = self.endpoint.info();
        let dict = PyDict::new(py);
        set_fields! { dict, info; cwnd, ssthresh, unacked, sacked, lost, retrans, total_retrans }
        let state = match info.ca_state {
            CaState::Open => "open",
            CaState::Disorder => "disorder",
            CaState::Cwr => "cwr",
            CaState::Recovery => "recovery",
            CaState::Loss => "loss",
        };
        dict.set_item("ca_state", state)?;
        dict.set_item("backoff", info.backoff)?;
        dict.set_item("rto", info.rto.seconds())?;
        dict.set_item("srtt", info.srtt.seconds())?;
        let min_rtt = (info.min_rtt != Time::NEVER).then(|| info.min_rtt.seconds());
        dict.set_item("min_rtt", min_rtt)?;
        set_fields! { dict, info; reordering, reordering_seen, duplicates }
        Ok(dict)
    }
}
