//! Runs of the mean-field engine, in steps.

use ackclock_meanfield::{ClassSummary, ClassTrace, MeanField, Options, Outcome, Snapshot};

use crate::json::{Json, list, object};
use crate::packets::duration;
use crate::question::Question;
use crate::{Answer, Refusal, parsed};

/// Values of traces and densities that a run may keep: 80 MB.
const MOST_VALUES: usize = 10_000_000;

/// A run under way.
pub(crate) struct Run(MeanField);

impl Run {
    pub(crate) fn new(question: &Question) -> Result<(Self, Json), Refusal> {
        let scenario = parsed(question.text("text")?)?;
        let Some(end) = duration(&scenario) else {
            return Err(Refusal::engine("unsupported", "it needs a duration"));
        };
        let samples = question.whole_32("samples")?;
        let snapshots = question.whole_32("snapshots")?;
        let bins = question.size("bins")?;
        if samples as usize + (snapshots as usize).saturating_mul(bins) > MOST_VALUES {
            return Err(Refusal::engine(
                "memory",
                "fewer samples, densities or bins",
            ));
        }
        let every = |count: u32| (count > 0).then(|| end / f64::from(count));
        let options = Options {
            cells_per_packet: question.number("cells_per_packet")?,
            steps_per_rtt: question.number("steps_per_rtt")?,
            sample: every(samples),
            snapshot: every(snapshots),
            bins,
            ..Options::default()
        };
        let engine = MeanField::new(&scenario, options)
            .map_err(|error| Refusal::engine("unsupported", error))?;
        let answer = object! { "notes": engine.notes(), "duration": engine.duration(), "step": engine.time_step() };
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
        Ok(object! { "now": now, "end": end, "done": now >= end })
    }

    pub(crate) fn outcome(self) -> Answer {
        let finished = self
            .0
            .finish()
            .map_err(|error| Refusal::engine("failed", error))?;
        Ok(tree(&finished))
    }
}

fn tree(of: &Outcome) -> Json {
    let link = &of.link;
    let balance = &of.balance;
    object! {
        "window": of.window, "end": of.end, "steps": of.steps, "notes": of.notes,
        "link": object! {
            "utilization": link.utilization, "loss": link.loss, "marks": link.marks,
            "throughput": link.throughput, "queue_mean": link.queue_mean, "queue_std": link.queue_std,
            "queue_min": link.queue_min, "queue_max": link.queue_max, "delay_mean": link.delay_mean,
            "full": link.full, "empty": link.empty,
        },
        "classes": list(&of.classes, class),
        "balance": object! { "mass": balance.mass, "packets": balance.packets, "in_flight": balance.in_flight },
        "traces": object! {
            "time": of.traces.time, "queue": of.traces.queue, "utilization": of.traces.utilization,
            "signals": of.traces.signals, "classes": list(&of.traces.classes, trace),
        },
        "snapshots": list(&of.snapshots, snapshot),
    }
}

fn class(of: &ClassSummary) -> Json {
    object! {
        "name": of.name, "origin": of.origin, "rtt": of.rtt, "flows": of.flows,
        "window_mean": of.window_mean, "atom": of.atom, "arrivals": of.arrivals, "throughput": of.throughput,
    }
}

fn trace(of: &ClassTrace) -> Json {
    object! { "flows": of.flows, "window_mean": of.window_mean, "atom": of.atom }
}

fn snapshot(of: &Snapshot) -> Json {
    object! { "time": of.time, "class": of.class, "w_max": of.w_max, "density": of.density, "atom": of.atom }
}
