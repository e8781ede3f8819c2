//! Packet runs, in steps.

use ackclock_packet::{
    ClassOutcome, Error, FlowOutcome, FlowSelection, FlowTrace, LinkOutcome, LinkTrace, Options,
    Outcome, Simulation, TraceSelection, Traces,
};
use ackclock_scenario::{End, Scenario};

use crate::json::{Json, list, object};
use crate::question::Question;
use crate::{Answer, Refusal, parsed};

/// A run under way.
pub(crate) struct Run {
    simulation: Simulation,
    scenario: Scenario,
}

/// When the run ends, s; `None` where that is not known before.
pub(crate) fn duration(scenario: &Scenario) -> Option<f64> {
    match scenario.duration {
        End::At(time) => Some(time.seconds()),
        End::UntilDone => None,
    }
}

fn refused(error: &Error) -> Refusal {
    let kind = match error {
        Error::Unsupported(_) => "unsupported",
        _ => "failed",
    };
    Refusal::engine(kind, error)
}

impl Run {
    pub(crate) fn new(question: &Question) -> Result<(Self, Json), Refusal> {
        let scenario = parsed(question.text("text")?)?;
        let memory = question.whole("memory")?;
        let options = Options {
            general: question.flag("general"),
            traces: TraceSelection {
                links: true,
                flows: FlowSelection::PerClass(question.whole_32("flows")?),
                most_bytes: Some(memory / 2), // the other half is the answer's
                ..TraceSelection::default()
            },
            seed: question.seed()?,
            ..Options::default()
        };
        let need = Simulation::memory_estimate(&scenario, &options);
        if need > memory {
            let problem = format!(
                "needs more memory than the {:.1} GB that a tab has; fewer flows, shorter queues or a longer `sample` \
                 need less, and the command line has all of this machine's",
                memory as f64 * 1e-9,
            );
            return Err(Refusal::engine("memory", problem));
        }
        let simulation = Simulation::new(&scenario, &options).map_err(|error| refused(&error))?;
        let answer = object! { "duration": duration(&scenario) };
        Ok((
            Self {
                simulation,
                scenario,
            },
            answer,
        ))
    }

    pub(crate) fn advance(&mut self, events: u64) -> Answer {
        let progress = self
            .simulation
            .step(events)
            .map_err(|error| refused(&error))?;
        Ok(object! {
            "now": progress.now, "end": progress.end, "packets": progress.departures, "done": progress.done,
        })
    }

    pub(crate) fn outcome(mut self, points: usize) -> Answer {
        while !self
            .simulation
            .step(1 << 20)
            .map_err(|error| refused(&error))?
            .done
        {}
        let outcome = self.simulation.finish().map_err(|error| refused(&error))?;
        let classes: Vec<&str> = self
            .scenario
            .flows
            .iter()
            .map(|class| class.name.as_str())
            .collect();
        Ok(tree(&outcome, &classes, points.max(2)))
    }
}

fn tree(outcome: &Outcome, classes: &[&str], points: usize) -> Json {
    let count =
        |flows: &[FlowOutcome], class| flows.iter().filter(|flow| flow.class == class).count();
    let each = outcome.classes.iter().enumerate();
    let classes = Json::array(
        each.map(|(index, class)| class_tree(class, classes[index], count(&outcome.flows, index))),
    );
    object! {
        "window": outcome.window, "end": outcome.end, "events": outcome.events,
        "departures": outcome.departures, "notes": outcome.notes,
        "links": list(&outcome.links, link),
        "classes": classes,
        "flows": flows(&outcome.flows),
        "traces": traces(&outcome.traces, points),
    }
}

fn link(of: &LinkOutcome) -> Json {
    object! {
        "name": of.name, "utilization": of.utilization, "utilization_1s": of.utilization_1s,
        "arrivals": of.arrivals, "drops": of.drops, "overflows": of.overflows, "marks": of.marks,
        "policed": of.policed, "losses": of.losses, "packets": of.packets, "bytes": of.bytes,
        "queue_packets_mean": of.queue_packets_mean, "queue_packets_std": of.queue_packets_std,
        "queue_packets_percentiles": of.queue_packets_percentiles,
        "queue_packets_max": of.queue_packets_max, "queue_bytes_mean": of.queue_bytes_mean,
        "delay_mean": of.delay_mean, "delay_percentiles": of.delay_percentiles,
        "delay_max": of.delay_max, "delay_histogram": of.delay_histogram,
        "ledger": [of.ledger.sent, of.ledger.delivered, of.ledger.dropped, of.ledger.lost, of.ledger.in_flight],
    }
}

fn class_tree(of: &ClassOutcome, name: &str, flows: usize) -> Json {
    object! {
        "name": name, "flows": flows, "received": of.received, "measured": of.measured,
        "delay_mean": of.delay_mean, "delay_min": of.delay_min,
        "delay_percentiles": of.delay_percentiles, "delay_max": of.delay_max, "jitter": of.jitter,
    }
}

/// Columns, one value a flow.
fn flows(of: &[FlowOutcome]) -> Json {
    let real = |value: fn(&FlowOutcome) -> f64| of.iter().map(value).collect::<Vec<_>>();
    let count = |value: fn(&FlowOutcome) -> u64| of.iter().map(value).collect::<Vec<_>>();
    object! {
        "class": count(|flow| flow.class as u64), "rtt": real(|flow| flow.rtt),
        "start": real(|flow| flow.start), "goodput": real(|flow| flow.goodput),
        "sent": count(|flow| flow.sent), "retransmissions": count(|flow| flow.retransmissions),
        "drops": count(|flow| flow.drops), "losses": count(|flow| flow.losses),
        "marks": count(|flow| flow.marks), "received": count(|flow| flow.received),
        "timeouts": count(|flow| flow.timeouts),
        "fast_recoveries": count(|flow| flow.fast_recoveries),
        "ecn_reductions": count(|flow| flow.ecn_reductions),
        "cwnd_mean": real(|flow| flow.cwnd_mean), "rtt_mean": real(|flow| flow.rtt_mean),
        "completion": real(|flow| flow.completion),
    }
}

/// At most `points` samples, evenly: a page has no more pixels. Only what it draws.
fn traces(of: &Traces, points: usize) -> Json {
    let every = of.time.len().div_ceil(points).max(1);
    fn thin<T: Copy>(values: &[T], every: usize) -> Vec<T> {
        values.iter().copied().step_by(every).collect()
    }
    let link = |link_trace: &LinkTrace| {
        object! {
            "link": link_trace.link, "queue_packets": thin(&link_trace.queue_packets, every),
            "average_packets": thin(&link_trace.average_packets, every),
            "probability": thin(&link_trace.probability, every),
            "drops": thin(&link_trace.drops, every), "marks": thin(&link_trace.marks, every),
        }
    };
    let flow = |link_trace: &FlowTrace| {
        object! {
            "flow": link_trace.flow, "cwnd": thin(&link_trace.cwnd, every),
            "srtt": thin(&link_trace.srtt, every),
        }
    };
    object! {
        "interval": of.interval, "every": every, "time": thin(&of.time, every),
        "links": Json::array(of.links.iter().map(link)),
        "flows": Json::array(of.flows.iter().map(flow)),
    }
}
