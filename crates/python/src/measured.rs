//! An outcome as Python dictionaries and numpy arrays.

use ackclock_packet::{
    ClassOutcome, FlowOutcome, FlowTrace, Ledger, LinkOutcome, LinkTrace, Outcome, QueueAccount,
    Traces, TransferOutcome,
};
use numpy::{Element, PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// Everything that a run measured. Columns rather than records, so that a run of 100,000 flows
/// stays small.
pub(crate) fn outcome<'py>(py: Python<'py>, outcome: Outcome) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    set_fields! { dict, outcome; window, end, events, departures, notes }
    let links = PyList::empty(py);
    for entry in outcome.links {
        links.append(link(py, entry)?)?;
    }
    dict.set_item("links", links)?;
    let classes = PyList::empty(py);
    for entry in outcome.classes {
        classes.append(class(py, entry)?)?;
    }
    dict.set_item("classes", classes)?;
    let rows = outcome.flows.len();
    dict.set_item("flows", flows(py, outcome.flows)?)?;
    let columns = outcome.parts.len() / rows.max(1);
    let parts = PyArray1::from_vec(py, outcome.parts);
    dict.set_item("parts", parts.reshape([rows, columns])?)?;
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
    set_fields! {
        dict, link; arrivals, arrived_bytes, drops, dropped_bytes, overflows, marks, policed,
        losses, packets, bytes, queue_packets_mean, queue_packets_std
    }
    for (name, value) in ["p50", "p95", "p99"]
        .iter()
        .zip(link.queue_packets_percentiles)
    {
        dict.set_item(format!("queue_packets_{name}"), value)?;
    }
    set_fields! { dict, link; queue_packets_max, queue_bytes_mean, queue_bytes_std, delay_mean }
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
    let classes = PyList::empty(py);
    for class in link.classes {
        classes.append(account(py, class)?)?;
    }
    dict.set_item("classes", classes)?;
    Ok(dict)
}

fn account<'py>(py: Python<'py>, class: QueueAccount) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    set_fields! { dict, class; name, arrivals, packets, bytes, drops, delay_mean }
    for (name, value) in ["p50", "p95", "p99"].iter().zip(class.delay_percentiles) {
        dict.set_item(format!("delay_{name}"), value)?;
    }
    dict.set_item("delay_max", class.delay_max)?;
    Ok(dict)
}

fn class<'py>(py: Python<'py>, class: ClassOutcome) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    set_fields! { dict, class; received, measured, delay_mean, delay_min }
    for (name, value) in ["p50", "p95", "p99"].iter().zip(class.delay_percentiles) {
        dict.set_item(format!("delay_{name}"), value)?;
    }
    dict.set_item("delay_max", class.delay_max)?;
    dict.set_item("jitter", class.jitter)?;
    let (edges, counts): (Vec<f64>, Vec<u64>) = class.delay_histogram.into_iter().unzip();
    dict.set_item("delay_edges", PyArray1::from_vec(py, edges))?;
    dict.set_item("delay_counts", PyArray1::from_vec(py, counts))?;
    Ok(dict)
}

fn transfer<'py>(py: Python<'py>, entry: TransferOutcome) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    set_fields! {
        dict, entry; class, size_from, size_to, started, completed, censored, size_mean, fct_mean
    }
    for (name, value) in ["p50", "p95", "p99"].iter().zip(entry.fct_percentiles) {
        dict.set_item(format!("fct_{name}"), value)?;
    }
    dict.set_item("fct_max", entry.fct_max)?;
    let (edges, counts): (Vec<f64>, Vec<u64>) = entry.fct_histogram.into_iter().unzip();
    dict.set_item("fct_edges", PyArray1::from_vec(py, edges))?;
    dict.set_item("fct_counts", PyArray1::from_vec(py, counts))?;
    Ok(dict)
}

/// A column of the flows' table while it is filled.
enum Column {
    Real(fn(&FlowOutcome) -> f64, Vec<f64>),
    Count(fn(&FlowOutcome) -> u64, Vec<u64>),
}

/// Flows whose columns are filled before their rows are given back.
const PIECE_FLOWS: usize = 1 << 12;

/// Rows become columns piece by piece, so that many flows need no memory for both.
fn flows(py: Python<'_>, mut flows: Vec<FlowOutcome>) -> PyResult<Bound<'_, PyDict>> {
    let real = |value| Column::Real(value, vec![0.0; flows.len()]);
    let count = |value| Column::Count(value, vec![0; flows.len()]);
    let mut columns = [
        ("class", count(|flow| flow.class as u64)),
        ("rtt", real(|flow| flow.rtt)),
        ("start", real(|flow| flow.start)),
        ("goodput", real(|flow| flow.goodput)),
        ("sent", count(|flow| flow.sent)),
        ("retransmissions", count(|flow| flow.retransmissions)),
        ("drops", count(|flow| flow.drops)),
        ("losses", count(|flow| flow.losses)),
        ("marks", count(|flow| flow.marks)),
        ("received", count(|flow| flow.received)),
        ("timeouts", count(|flow| flow.timeouts)),
        ("fast_recoveries", count(|flow| flow.fast_recoveries)),
        ("ecn_reductions", count(|flow| flow.ecn_reductions)),
        ("cwnd_mean", real(|flow| flow.cwnd_mean)),
        ("rtt_mean", real(|flow| flow.rtt_mean)),
        ("completion", real(|flow| flow.completion)),
        ("ledger_sent", count(|flow| flow.ledger.sent)),
        ("ledger_delivered", count(|flow| flow.ledger.delivered)),
        ("ledger_dropped", count(|flow| flow.ledger.dropped)),
        ("ledger_lost", count(|flow| flow.ledger.lost)),
        ("ledger_in_flight", count(|flow| flow.ledger.in_flight)),
    ];
    while !flows.is_empty() {
        let first = flows.len().saturating_sub(PIECE_FLOWS);
        for (_, column) in &mut columns {
            let piece = &flows[first..];
            match column {
                Column::Real(value, values) => fill(&mut values[first..], piece, *value),
                Column::Count(value, values) => fill(&mut values[first..], piece, *value),
            }
        }
        flows.truncate(first);
        flows.shrink_to_fit();
    }
    let dict = PyDict::new(py);
    for (name, column) in columns {
        match column {
            Column::Real(_, values) => dict.set_item(name, PyArray1::from_vec(py, values))?,
            Column::Count(_, values) => dict.set_item(name, PyArray1::from_vec(py, values))?,
        }
    }
    Ok(dict)
}

fn fill<T>(values: &mut [T], flows: &[FlowOutcome], value: fn(&FlowOutcome) -> T) {
    for (place, flow) in values.iter_mut().zip(flows) {
        *place = value(flow);
    }
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
