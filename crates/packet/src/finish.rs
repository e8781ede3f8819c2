//! The end of a run: counters are closed, balances checked, results taken.

use std::collections::BTreeMap;

use ackclock_algorithms::Time;
use ackclock_scenario::Traffic;

use crate::class::Class;
use crate::engine::Engine;
use crate::flow::{Ends, Flow, FlowSlot, FlowSummary};
use crate::link::Link;
use crate::measurements::FlowCounters;
use crate::outcome::{ClassOutcome, FlowOutcome, Ledger, LinkOutcome, Outcome, TransferOutcome};
use crate::tcp::Counters;
use crate::{Abort, Error};

const SECOND: u64 = Time::PER_SECOND;

/// When something happened last, by the clocks of those to whom it did: on both paths the same.
fn last_moment(engine: &Engine) -> u64 {
    let links = engine.links.iter().map(Link::last_moment);
    let flows = engine.flows.iter().map(|flow| {
        let arrival = flow
            .data
            .arriving
            .iter()
            .last()
            .map_or(0, |packet| packet.at);
        flow.measured.watch.since.max(arrival)
    });
    let last = links.chain(flows).max().unwrap_or(0);
    last.max(engine.last_act).max(engine.last_completion)
}

/// Ends the run.
pub(crate) fn finish(mut engine: Engine, names: Vec<String>) -> Result<Outcome, Error> {
    if let Some((at, message)) = engine.abort.as_ref().and_then(Abort::raised) {
        return Err(Error::Algorithm { at, message });
    }
    if engine.end == u64::MAX {
        // nothing can happen any more, and yet not all transfers are complete
        engine.end = last_moment(&engine);
    }
    let end = engine.end;
    engine.catch_up_on_links(end);
    engine.catch_up_all(
        end.saturating_add(engine.max_clock_offset)
            .saturating_add(1),
    );
    let to = engine.window.1.min(end);
    // a run until all is done may end before its measurement window opens
    let unopened = engine.window.0 >= to;
    let from = engine.window.0.min(to);
    engine.window = (from, to);
    for link in &mut engine.links {
        if unopened {
            link.open_window(to);
        }
        if unopened || link.at_closing.is_none() {
            link.close_window(to);
        }
    }
    let in_flight = engine.in_flight();
    note_silence(&mut engine, &in_flight);
    let links = engine
        .links
        .iter_mut()
        .zip(names)
        .map(|(link, name)| link_outcome(link, name, from, to, end))
        .collect::<Result<Vec<_>, _>>()?;
    let (flows, parts, unfinished) = flow_outcomes(&mut engine, &in_flight)?;
    let classes = class_outcomes(&engine, &flows);
    let mut notes = std::mem::take(&mut engine.notes);
    if unopened {
        notes.push(format!(
            "the run ended at {} s, before the measurement window opened: nothing was measured",
            Time(end).seconds()
        ));
    }
    if unfinished > 0 {
        notes.push(format!(
            "{unfinished} finite transfers were not complete at the end: their completion times \
             are censored"
        ));
    }
    let transfers = transfer_outcomes(&engine, &mut notes)?;
    Ok(Outcome {
        window: (Time(from).seconds(), Time(to).seconds()),
        end: Time(end).seconds(),
        departures: engine.links.iter().map(|link| link.counters.starts).sum(),
        links,
        classes,
        flows,
        parts,
        transfers,
        traces: engine.recorder.rest(),
        notes,
        events: engine.events,
    })
}

/// Notes the transports of others that sent nothing, or wait for ever.
fn note_silence(engine: &mut Engine, in_flight: &[u64]) {
    let mut notes = Vec::new();
    for (flow, inside) in engine.flows.iter().zip(in_flight) {
        let Ends::Polled(polled) = &flow.ends else {
            continue;
        };
        let class = &engine.classes[flow.class as usize];
        if !polled.is_connected() || flow.transfer.completion != u64::MAX || flow.stopped {
            continue;
        }
        let label = format!(
            "flows \"{}\", flow {}: endpoint {}",
            class.name,
            flow.place.number() - engine.class_flows[flow.class as usize].start,
            polled.name()
        );
        let waits = polled.timers == [u64::MAX; 2] && *inside == 0 && flow.acks.ring.is_empty();
        if flow.measured.whole.sent == 0 {
            notes.push(format!("{label} sent nothing"));
        } else if waits
            && flow.connection.controls == 0
            && matches!(class.traffic, Traffic::Bulk | Traffic::Transfer { .. })
        {
            notes.push(format!(
                "{label} sent nothing after {:.3} s: it has data, nothing is on its way, and no timer runs",
                Time(polled.last_sent).seconds()
            ));
        }
    }
    engine.notes.append(&mut notes);
}

/// A row for each flow of the scenario, its payload in parts of the window, and how many finite
/// transfers were not complete.
fn flow_outcomes(
    engine: &mut Engine,
    in_flight: &[u64],
) -> Result<(Vec<FlowOutcome>, Vec<u64>, u64), Error> {
    let (end, window) = (engine.end, engine.window);
    let mut parts = Vec::new();
    // connections count in their sources' rows
    let mut connections: BTreeMap<u32, Sum> = BTreeMap::new();
    let mut unfinished = 0_u64;
    for (flow, inside) in engine.flows.iter_mut().zip(in_flight) {
        let class = &engine.classes[flow.class as usize];
        if flow.transfer.completion == u64::MAX {
            unfinished += u64::from(class.lifetime.total != u64::MAX);
            if flow.transfer.bytes > 0
                && flow.transfer.began >= window.0
                && flow.transfer.began < window.1
            {
                engine.transfers[flow.class as usize].censor(flow.transfer.bytes);
            }
        }
        if flow.place.number() != flow.identity.owner as usize {
            connections.entry(flow.identity.owner).or_default().add(
                flow.summary(),
                *inside,
                end,
                window,
            );
        }
    }
    let mut flows = Vec::with_capacity(engine.rows.len());
    for (id, members) in engine.class_flows.iter().enumerate() {
        let class = &engine.classes[id];
        for number in members.clone() {
            let mut sum = connections.remove(&(number as u32)).unwrap_or_default();
            let nothing = FlowSlot::Live(u32::MAX);
            let member = match std::mem::replace(&mut engine.rows[number], nothing) {
                FlowSlot::Waiting { rtt, .. } => {
                    unfinished += u64::from(class.lifetime.total != u64::MAX);
                    Member::waiting(rtt)
                }
                FlowSlot::Live(slot) => {
                    let flow = &mut engine.flows[slot as usize];
                    let member = Member::of(flow);
                    sum.add(flow.summary(), in_flight[slot as usize], end, window);
                    member
                }
                FlowSlot::Over(remains) => {
                    let member = Member {
                        rtt: Time(remains.rtt).seconds(),
                        start: remains.start,
                        completion: remains.completion,
                    };
                    sum.add(*remains, 0, end, window);
                    member
                }
            };
            flows.push(flow_outcome(number, id, class, &member, &sum, window)?);
            if let Some(template) = &class.parts {
                sum.parts.resize(template.count, 0);
                parts.append(&mut sum.parts);
            }
        }
    }
    Ok((flows, parts, unfinished))
}

/// Measurements by the receivers of each class of its packets on their way.
fn class_outcomes(engine: &Engine, flows: &[FlowOutcome]) -> Vec<ClassOutcome> {
    let mut received = vec![0; engine.classes.len()];
    for flow in flows {
        received[flow.class] += flow.received;
    }
    let classes = engine.classes.iter().zip(received);
    classes
        .map(|(class, received)| class.one_way.outcome(received))
        .collect()
}

/// How the transfers of sessions and sources fared, with a note for each class where some did not
/// end.
fn transfer_outcomes(
    engine: &Engine,
    notes: &mut Vec<String>,
) -> Result<Vec<TransferOutcome>, Error> {
    let mut transfers = Vec::new();
    for (class, tallies) in engine.transfers.iter().enumerate() {
        if !engine.classes[class].lifetime.reuses_flow_state {
            continue;
        }
        let outcomes = tallies.outcomes(class).map_err(Error::Conservation)?;
        let (started, censored) = (outcomes[0].started, outcomes[0].censored);
        if censored > 0 {
            notes.push(format!(
                "flows \"{}\": {censored} of {started} transfers were not complete at the end: \
                 their completion times are censored",
                engine.classes[class].name
            ));
        }
        transfers.extend(outcomes);
    }
    Ok(transfers)
}

fn check(what: impl Fn() -> String, ledger: Ledger) -> Result<Ledger, Error> {
    if ledger.balances() {
        return Ok(ledger);
    }
    let Ledger {
        sent,
        delivered,
        dropped,
        lost,
        in_flight,
    } = ledger;
    Err(Error::Conservation(format!(
        "{}: sent {sent}, delivered {delivered}, dropped {dropped}, lost {lost}, in flight {in_flight}",
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
    let mut classes = link.accounts_of_classes();
    for class in &mut classes {
        let what = || format!("link \"{name}\", class \"{}\"", class.name);
        class.ledger = check(what, class.ledger)?;
    }
    let (a, b) = (link.at_opening, link.at_closing.unwrap_or(link.counters));
    let mut outcome = LinkOutcome {
        name,
        arrivals: b.arrivals - a.arrivals,
        arrived_bytes: b.arrived_bytes - a.arrived_bytes,
        drops: b.drops - a.drops,
        dropped_bytes: b.dropped_bytes - a.dropped_bytes,
        overflows: b.overflows - a.overflows,
        marks: b.marks - a.marks,
        policed: b.policed - a.policed,
        losses: b.losses - a.losses,
        packets: b.starts - a.starts,
        bytes: b.started_bytes - a.started_bytes,
        utilization: 1.0 - (b.idle - a.idle) as f64 / (to - from) as f64,
        ledger,
        classes,
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
        } else {
            outcome.queue_packets_mean = f64::NAN;
            outcome.queue_packets_std = f64::NAN;
            outcome.queue_bytes_mean = f64::NAN;
            outcome.queue_bytes_std = f64::NAN;
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

/// Counts of one row of the results: a flow, or a source and its connections.
#[derive(Clone, Default)]
struct Sum {
    ledger: Ledger,
    window: FlowCounters,
    /// Counts of the senders, inside the window.
    counters: Counters,
    cwnd_integral: f64,
    cwnd_time: u64,
    /// Payload in parts of the window, bytes; none where nothing was counted.
    parts: Vec<u64>,
}

impl Sum {
    /// Adds a flow, whose measurements go on until the end.
    fn add(&mut self, mut flow: FlowSummary, in_flight: u64, end: u64, window: (u64, u64)) {
        flow.watch
            .record_edges(end, window, flow.cwnd, &flow.counters);
        let ledger = &mut self.ledger;
        ledger.sent += flow.whole.sent;
        ledger.delivered += flow.delivered;
        ledger.dropped += flow.whole.drops;
        ledger.lost += flow.whole.losses;
        ledger.in_flight += in_flight;
        let counters = &mut self.window;
        counters.sent += flow.window.sent;
        counters.retransmissions += flow.window.retransmissions;
        counters.drops += flow.window.drops;
        counters.losses += flow.window.losses;
        counters.marks += flow.window.marks;
        counters.received += flow.window.received;
        counters.payload += flow.window.payload;
        if let Some(parts) = flow.parts {
            self.parts.resize(parts.count, 0);
            let mut before = 0;
            for (part, ended) in self
                .parts
                .iter_mut()
                .zip(parts.ends.into_iter().chain([flow.window.payload]))
            {
                *part += ended - before;
                before = ended;
            }
        }
        let watch = &flow.watch;
        let a = watch.at_opening.as_deref().copied().unwrap_or_default();
        let closing = watch.at_closing.as_deref().copied();
        let b = closing.unwrap_or(flow.counters);
        let counters = &mut self.counters;
        counters.timeouts += b.timeouts - a.timeouts;
        counters.fast_recoveries += b.fast_recoveries - a.fast_recoveries;
        counters.ecn_reductions += b.ecn_reductions - a.ecn_reductions;
        counters.rtt_sum += b.rtt_sum - a.rtt_sum;
        counters.rtt_samples += b.rtt_samples - a.rtt_samples;
        self.cwnd_integral += watch.integral;
        self.cwnd_time += watch.time;
    }
}

/// Properties of the flow itself in a row.
struct Member {
    rtt: f64,
    /// `u64::MAX`: never.
    start: u64,
    completion: u64,
}

impl Member {
    /// A flow that has not started.
    fn waiting(rtt: u64) -> Self {
        Self {
            rtt: Time(rtt).seconds(),
            start: u64::MAX,
            completion: u64::MAX,
        }
    }

    fn of(flow: &Flow) -> Self {
        // a source has no round trip of its own: the mean over its connections
        let rtt = match &flow.application {
            Some(application) if matches!(flow.ends, Ends::ConnectionSource) => {
                application.round_trips as f64 * 1e-12 / application.opened as f64
            }
            _ => Time(flow.rtt).seconds(),
        };
        let finite = flow.application.is_none();
        Self {
            rtt,
            start: flow.start,
            completion: if finite {
                flow.transfer.completion
            } else {
                u64::MAX
            },
        }
    }
}

fn flow_outcome(
    number: usize,
    id: usize,
    class: &Class,
    member: &Member,
    sum: &Sum,
    window: (u64, u64),
) -> Result<FlowOutcome, Error> {
    let ledger = check(|| format!("flow {number}"), sum.ledger)?;
    let seconds = |time: u64| {
        if time == u64::MAX {
            f64::NAN
        } else {
            Time(time).seconds()
        }
    };
    let span = Time(window.1 - window.0).seconds();
    let mut outcome = FlowOutcome {
        class: id,
        rtt: member.rtt,
        start: seconds(member.start),
        goodput: sum.window.payload as f64 * 8.0 / span,
        sent: sum.window.sent,
        retransmissions: sum.window.retransmissions,
        drops: sum.window.drops,
        losses: sum.window.losses,
        marks: sum.window.marks,
        received: sum.window.received,
        cwnd_mean: f64::NAN,
        rtt_mean: f64::NAN,
        completion: if member.completion == u64::MAX {
            f64::NAN
        } else {
            Time(member.completion - member.start).seconds()
        },
        ledger,
        ..FlowOutcome::default()
    };
    if class.traffic.is_tcp() {
        let counters = &sum.counters;
        outcome.timeouts = counters.timeouts;
        outcome.fast_recoveries = counters.fast_recoveries;
        outcome.ecn_reductions = counters.ecn_reductions;
        outcome.rtt_mean = counters.rtt_sum as f64 * 1e-12 / counters.rtt_samples as f64;
        outcome.cwnd_mean = sum.cwnd_integral / sum.cwnd_time as f64;
    }
    Ok(outcome)
}
