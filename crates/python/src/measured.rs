//! An outcome as Python dictionaries and numpy arrays.

use ackclock_packet::{
    FlowOutcome, FlowTrace, Ledger, LinkOutcome, LinkTrace, Outcome, Traces, TransferOutcome,
};
use numpy::{Element, PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// Everything that a run measured. Columns rather than records, so that a run of 100,000 flows stays small.
pub(crate) fn outcome<'py>(py: Python<'py>, outcome: Outcome) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("window", outcome.window)?;
    dict.set_item("end", outcome.end)?;
    dict.set_item("events", outcome.events)?;
    dict.set_item("departures", outcome.departures)?;
    dict.set_item("notes", outcome.notes)?;
    let links = PyList::empty(py);
    for entry in outcome.links {
        links.append(link(py, entry)?)?;
    }
    dict.set_item("links", links)?;
    dict.set_item("flows", flows(py, &outcome.flows)?)?;
    let transfers = PyList::empty(py);
    for entry in outcome.transfers {
        transfers.append(transfer(py, entry)?)?;
    }
    dict.set_item("transfers", transfers)?;
    dict.set_item("traces", traces(py, outcome.traces)?)?;
    Ok(dict)
}

fn link<'py>(py: Python<'py>, link: LinkOutcome) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("name", link.name)?;
    dict.set_item("utilization", link.utilization)?;
    dict.set_item(
        "utilization_1s",
        PyArray1::from_vec(py, link.utilization_1s),
    )?;
    dict.set_item("arrivals", link.arrivals)?;
    dict.set_item("arrived_bytes", link.arrived_bytes)?;
    dict.set_item("drops", link.drops)?;
    dict.set_item("dropped_bytes", link.dropped_bytes)?;
    dict.set_item("overflows", link.overflows)?;
    dict.set_item("marks", link.marks)?;
    dict.set_item("policed", link.policed)?;
    dict.set_item("losses", link.losses)?;
    dict.set_item("packets", link.packets)?;
    dict.set_item("bytes", link.bytes)?;
    dict.set_item("queue_packets_mean", link.queue_packets_mean)?;
    dict.set_item("queue_packets_std", link.queue_packets_std)?;
    for (name, value) in ["p50", "p95", "p99"]
        .iter()
        .zip(link.queue_packets_percentiles)
    {
        dict.set_item(format!("queue_packets_{name}"), value)?;
    }
    dict.set_item("queue_packets_max", link.queue_packets_max)?;
    dict.set_item("queue_bytes_mean", link.queue_bytes_mean)?;
    dict.set_item("queue_bytes_std", link.queue_bytes_std)?;
    dict.set_item("delay_mean", link.delay_mean)?;
    for (name, value) in ["p50", "p95", "p99"].iter().zip(link.delay_percentiles) {
        dict.set_item(format!("delay_{name}"), value)?;
    }
    dict.set_item("delay_max", link.delay_max)?;
    let (edges, counts): (Vec<f64>, Vec<u64>) = link.delay_histogram.into_iter().unzip();
    dict.set_item("delay_edges", PyArray1::from_vec(py, edges))?;
    dict.set_item("delay_counts", PyArray1::from_vec(py, counts))?;
    let Ledger {
        sent,
        delivered,
        dropped,
        lost,
        in_flight,
    } = link.ledger;
    dict.set_item("ledger_sent", sent)?;
    dict.set_item("ledger_delivered", delivered)?;
    dict.set_item("ledger_dropped", dropped)?;
    dict.set_item("ledger_lost", lost)?;
    dict.set_item("ledger_in_flight", in_flight)?;
    Ok(dict)
}

fn transfer<'py>(py: Python<'py>, entry: TransferOutcome) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("class", entry.class)?;
    dict.set_item("size_from", entry.size_from)?;
    dict.set_item("size_to", entry.size_to)?;
    dict.set_item("started", entry.started)?;
    dict.set_item("completed", entry.completed)?;
    dict.set_item("censored", entry.censored)?;
    dict.set_item("size_mean", entry.size_mean)?;
    dict.set_item("fct_mean", entry.fct_mean)?;
    for (name, value) in ["p50", "p95", "p99"].iter().zip(entry.fct_percentiles) {
        dict.set_item(format!("fct_{name}"), value)?;
    }
    dict.set_item("fct_max", entry.fct_max)?;
    let (edges, counts): (Vec<f64>, Vec<u64>) = entry.fct_histogram.into_iter().unzip();
    dict.set_item("fct_edges", PyArray1::from_vec(py, edges))?;
    dict.set_item("fct_counts", PyArray1::from_vec(py, counts))?;
    Ok(dict)
}

fn flows<'py>(py: Python<'py>, flows: &[FlowOutcome]) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let real =
        |name: &str, value: fn(&FlowOutcome) -> f64| dict.set_item(name, column(py, flows, value));
    let count =
        |name: &str, value: fn(&FlowOutcome) -> u64| dict.set_item(name, column(py, flows, value));
    count("class", |flow| flow.class as u64)?;
    real("rtt", |flow| flow.rtt)?;
    real("start", |flow| flow.start)?;
    real("goodput", |flow| flow.goodput)?;
    count("sent", |flow| flow.sent)?;
    count("retransmissions", |flow| flow.retransmissions)?;
    count("drops", |flow| flow.drops)?;
    count("losses", |flow| flow.losses)?;
    count("marks", |flow| flow.marks)?;
    count("timeouts", |flow| flow.timeouts)?;
    count("fast_recoveries", |flow| flow.fast_recoveries)?;
    count("ecn_reductions", |flow| flow.ecn_reductions)?;
    real("cwnd_mean", |flow| flow.cwnd_mean)?;
    real("rtt_mean", |flow| flow.rtt_mean)?;
    real("completion", |flow| flow.completion)?;
    count("ledger_sent", |flow| flow.ledger.sent)?;
    count("ledger_delivered", |flow| flow.ledger.delivered)?;
    count("ledger_dropped", |flow| flow.ledger.dropped)?;
    count("ledger_lost", |flow| flow.ledger.lost)?;
    count("ledger_in_flight", |flow| flow.ledger.in_flight)?;
    Ok(dict)
}

fn column<'py, T: Element>(
    py: Python<'py>,
    flows: &[FlowOutcome],
    value: fn(&FlowOutcome) -> T,
) -> Bound<'py, PyArray1<T>> {
    PyArray1::from_iter(py, flows.iter().map(value))
}

/// Traces as arrays of entities by samples.
pub(crate) fn traces<'py>(py: Python<'py>, traces: Traces) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let Traces {
        interval,
        time,
        links,
        flows,
    } = traces;
    let samples = time.len();
    dict.set_item("interval", interval)?;
    dict.set_item("time", PyArray1::from_vec(py, time))?;
    dict.set_item(
        "links",
        PyArray1::from_iter(py, links.iter().map(|link| link.link as u64)),
    )?;
    dict.set_item(
        "flows",
        PyArray1::from_iter(py, flows.iter().map(|flow| flow.flow as u64)),
    )?;

    let set = |name: &str, array: PyResult<Bound<'py, PyAny>>| dict.set_item(name, array?);
    set(
        "link_queue_packets",
        stack(py, samples, &links, |link: &LinkTrace| &link.queue_packets),
    )?;
    set(
        "link_queue_bytes",
        stack(py, samples, &links, |link| &link.queue_bytes),
    )?;
    set(
        "link_average_packets",
        stack(py, samples, &links, |link| &link.average_packets),
    )?;
    set(
        "link_probability",
        stack(py, samples, &links, |link| &link.probability),
    )?;
    set(
        "link_utilization",
        stack(py, samples, &links, |link| &link.utilization),
    )?;
    set("link_drops", stack(py, samples, &links, |link| &link.drops))?;
    set("link_marks", stack(py, samples, &links, |link| &link.marks))?;
    set(
        "flow_cwnd",
        stack(py, samples, &flows, |flow: &FlowTrace| &flow.cwnd),
    )?;
    set(
        "flow_ssthresh",
        stack(py, samples, &flows, |flow| &flow.ssthresh),
    )?;
    set("flow_srtt", stack(py, samples, &flows, |flow| &flow.srtt))?;
    set(
        "flow_delivered",
        stack(py, samples, &flows, |flow| &flow.delivered),
    )?;
    Ok(dict)
}

/// One row an entity, one column a sample: the only copy that a trace goes through.
fn stack<'py, T, E>(
    py: Python<'py>,
    samples: usize,
    entities: &[T],
    values: fn(&T) -> &Vec<E>,
) -> PyResult<Bound<'py, PyAny>>
where
    E: Element + Copy,
{
    let mut all = Vec::with_capacity(samples * entities.len());
    for entity in entities {
        all.extend_from_slice(values(entity));
    }
    Ok(PyArray1::from_vec(py, all)
        .reshape([entities.len(), samples])?
        .into_any())
}
