//! Runs of the mean-field engine, in steps.

use ackclock_meanfield::{ClassSummary, ClassTrace, MeanField, Options, Outcome, Snapshot};
use serde_json::{Value, json};

use crate::packets::duration;
use crate::question::Field;
use crate::{Answer, Refusal, parsed};

/// Values of traces and densities that a run may keep: 80 MB.
const MOST_VALUES: usize = 10_000_000;

/// A run under way.
pub(crate) struct Run(MeanField);

impl Run {
    pub(crate) fn new(start: &Field) -> Result<(Self, Value), Refusal> {
        let scenario = parsed(&start.text)?;
        let Some(end) = duration(&scenario) else {
            return Err(Refusal::engine("unsupported", "it needs a duration"));
        };
        if start.samples as usize + (start.snapshots as usize).saturating_mul(start.bins)
            > MOST_VALUES
        {
            return Err(Refusal::engine(
                "memory",
                "fewer samples, densities or bins",
            ));
        }
        let every = |count: u32| (count > 0).then(|| end / f64::from(count));
        let options = Options {
            cells_per_packet: start.cells_per_packet,
            steps_per_rtt: start.steps_per_rtt,
            sample: every(start.samples),
            snapshot: every(start.snapshots),
            bins: start.bins,
            ..Options::default()
        };
        let engine = MeanField::new(&scenario, options)
            .map_err(|error| Refusal::engine("unsupported", error))?;
        let answer = json!({ "notes": engine.notes(), "duration": engine.duration(), "step": engine.time_step() });
        Ok((Self(engine), answer))
    }

    pub(crate) fn advance(&mut self, steps: u32) -> Answer {
        let end = self.0.duration();
        for _ in 0..steps {
            if self.0.time() >= end {
                break;
            }
            self.0
                .step()
                .map_err(|error| Refusal::engine("failed", error))?;
        }
        let now = self.0.time();
        Ok(json!({ "now": now, "end": end, "done": now >= end }))
    }

    pub(crate) fn outcome(self) -> Answer {
        let outcome = self
            .0
            .finish()
            .map_err(|error| Refusal::engine("failed", error))?;
        Ok(tree(&outcome))
    }
}

fn tree(of: &Outcome) -> Value {
    let link = &of.link;
    let balance = &of.balance;
    json!({
        "window": of.window, "end": of.end, "steps": of.steps, "notes": of.notes,
        "link": {
            "utilization": link.utilization, "loss": link.loss, "marks": link.marks,
            "throughput": link.throughput, "queue_mean": link.queue_mean, "queue_std": link.queue_std,
            "queue_min": link.queue_min, "queue_max": link.queue_max, "delay_mean": link.delay_mean,
            "full": link.full, "empty": link.empty,
        },
        "classes": of.classes.iter().map(class).collect::<Vec<_>>(),
        "balance": { "mass": balance.mass, "packets": balance.packets, "in_flight": balance.in_flight },
        "traces": {
            "time": of.traces.time, "queue": of.traces.queue, "utilization": of.traces.utilization,
            "signals": of.traces.signals, "classes": of.traces.classes.iter().map(trace).collect::<Vec<_>>(),
        },
        "snapshots": of.snapshots.iter().map(snapshot).collect::<Vec<_>>(),
    })
}

fn class(of: &ClassSummary) -> Value {
    json!({
        "name": of.name, "origin": of.origin, "rtt": of.rtt, "flows": of.flows,
        "window_mean": of.window_mean, "atom": of.atom, "arrivals": of.arrivals, "throughput": of.throughput,
    })
}

fn trace(of: &ClassTrace) -> Value {
    json!({ "flows": of.flows, "window_mean": of.window_mean, "atom": of.atom })
}

fn snapshot(of: &Snapshot) -> Value {
    json!({ "time": of.time, "class": of.class, "w_max": of.w_max, "density": of.density, "atom": of.atom })
}
