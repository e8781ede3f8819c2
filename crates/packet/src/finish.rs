//! The end of a run: books are closed, balances checked, results taken.

use ackclock_algorithms::Time;

use crate::Error;
use crate::engine::Engine;
use crate::flow::{Ends, Flow};
use crate::link::Link;
use crate::outcome::{FlowOutcome, Ledger, LinkOutcome, Outcome, Traces};

const SECOND: u64 = Time::PER_SECOND;

/// Ends the run.
pub(crate) fn finish(mut engine: Engine, names: Vec<String>) -> Result<Outcome, Error> {
    if engine.end == u64::MAX {
        // nothing can happen any more, and yet not all transfers are complete
        engine.end = engine.now;
    }
    let end = engine.end;
    let (from, to) = (engine.window.0, engine.window.1.min(end));
    engine.window.1 = to;
    for link in &mut engine.links {
        if link.at_closing.is_none() {
            link.close_window(to);
        }
    }
    let in_flight = engine.in_flight();
    let links = engine
        .links
        .iter_mut()
        .zip(names)
        .map(|(link, name)| link_outcome(link, name, from, to, end))
        .collect::<Result<Vec<_>, _>>()?;
    let window = (from, to);
    let mut flows = Vec::with_capacity(engine.flows.len());
    let mut unfinished = 0_u64;
    for (index, (flow, inside)) in engine.flows.iter_mut().zip(in_flight).enumerate() {
        Engine::book_window(flow, end, window);
        let class = &engine.classes[flow.class as usize];
        unfinished += u64::from(class.total != u64::MAX && flow.completion == u64::MAX);
        flows.push(flow_outcome(index, flow, inside, window)?);
    }
    let mut notes = engine.notes;
    if unfinished > 0 {
        notes.push(format!("{unfinished} finite transfers were not complete at the end: their completion times are censored"));
    }
    let recorder = engine.recorder;
    let samples = recorder
        .links
        .first()
        .map(|trace| trace.queue_packets.len())
        .or_else(|| recorder.flows.first().map(|trace| trace.cwnd.len()))
        .unwrap_or(0);
    Ok(Outcome {
        window: (Time(from).seconds(), Time(to).seconds()),
        end: Time(end).seconds(),
        departures: engine.links.iter().map(|link| link.counters.starts).sum(),
        links,
        flows,
        traces: Traces {
            interval: Time(recorder.interval).seconds(),
            time: (0..samples as u64)
                .map(|k| Time(k * recorder.interval).seconds())
                .collect(),
            links: recorder.links,
            flows: recorder.flows,
        },
        notes,
        events: engine.events,
    })
}

fn check(what: impl Fn() -> String, ledger: Ledger) -> Result<Ledger, Error> {
    if ledger.balances() {
        return Ok(ledger);
    }
    let Ledger {
        sent,
        delivered,
        dropped,
        in_flight,
    } = ledger;
    Err(Error::Conservation(format!(
        "{}: sent {sent}, delivered {delivered}, dropped {dropped}, in flight {in_flight}",
        what()
    )))
}

fn link_outcome(
    link: &mut Link,
    name: String,
    from: u64,
    to: u64,
    end: u64,
) -> Result<LinkOutcome, Error> {
    let ledger = check(|| format!("link \"{name}\""), link.ledger(end))?;
    let (a, b) = (link.at_opening, link.at_closing.unwrap_or(link.counters));
    let mut outcome = LinkOutcome {
        name,
        arrivals: b.arrivals - a.arrivals,
        arrived_bytes: b.arrived_bytes - a.arrived_bytes,
        drops: b.drops - a.drops,
        dropped_bytes: b.dropped_bytes - a.dropped_bytes,
        overflows: b.overflows - a.overflows,
        marks: b.marks - a.marks,
        packets: b.starts - a.starts,
        bytes: b.started_bytes - a.started_bytes,
        utilization: 1.0 - (b.idle - a.idle) as f64 / (to - from) as f64,
        ledger,
        ..LinkOutcome::default()
    };
    if let Some((clock, busy, delays)) = link.window_statistics() {
        if let Some(queue) = clock.summary() {
            outcome.queue_packets_mean = queue.mean;
            outcome.queue_packets_std = queue.std;
            outcome.queue_packets_percentiles = queue.percentiles;
            outcome.queue_packets_max = queue.max;
            outcome.queue_bytes_mean = queue.bytes_mean;
            outcome.queue_bytes_std = queue.bytes_std;
        }
        let seconds = ((to - from) / SECOND) as usize;
        outcome.utilization_1s = (0..seconds)
            .map(|k| 1.0 - busy.idle_in_second(k) as f64 / SECOND as f64)
            .collect();
        outcome.delay_mean = delays.mean();
        outcome.delay_percentiles = [0.50, 0.95, 0.99].map(|fraction| delays.percentile(fraction));
        outcome.delay_max = delays.max();
        outcome.delay_histogram = delays.bins();
    }
    Ok(outcome)
}

fn flow_outcome(
    index: usize,
    flow: &Flow,
    in_flight: u64,
    window: (u64, u64),
) -> Result<FlowOutcome, Error> {
    let ledger = Ledger {
        sent: flow.whole.sent,
        delivered: flow.delivered,
        dropped: flow.whole.drops,
        in_flight,
    };
    let ledger = check(|| format!("flow {index}"), ledger)?;
    let seconds = |time: u64| {
        if time == u64::MAX {
            f64::NAN
        } else {
            Time(time).seconds()
        }
    };
    let span = Time(window.1 - window.0).seconds();
    let mut outcome = FlowOutcome {
        class: flow.class as usize,
        rtt: Time(flow.rtt).seconds(),
        start: seconds(flow.start),
        goodput: flow.window.payload as f64 * 8.0 / span,
        sent: flow.window.sent,
        retransmissions: flow.window.retransmissions,
        drops: flow.window.drops,
        marks: flow.window.marks,
        cwnd_mean: f64::NAN,
        rtt_mean: f64::NAN,
        completion: if flow.completion == u64::MAX {
            f64::NAN
        } else {
            Time(flow.completion - flow.start).seconds()
        },
        ledger,
        ..FlowOutcome::default()
    };
    if let Ends::Tcp { sender, .. } = &flow.ends {
        let a = flow.at_opening.as_deref().copied().unwrap_or_default();
        let b = flow
            .at_closing
            .as_deref()
            .copied()
            .unwrap_or(sender.counters);
        outcome.timeouts = b.timeouts - a.timeouts;
        outcome.fast_recoveries = b.fast_recoveries - a.fast_recoveries;
        outcome.ecn_reductions = b.ecn_reductions - a.ecn_reductions;
        outcome.rtt_mean =
            (b.rtt_sum - a.rtt_sum) as f64 * 1e-12 / (b.rtt_samples - a.rtt_samples) as f64;
        outcome.cwnd_mean = flow.cwnd_integral / flow.cwnd_time as f64;
    }
    Ok(outcome)
}
