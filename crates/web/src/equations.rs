//! Questions to the fluid and stability engine.

use ackclock_delay::{Tolerance, metered};
use ackclock_fluid::{
    Change, Choices, CycleEnd, CycleOptions, Equilibrium, Error, LimitKind, Margins, Model,
};
use serde_json::{Value, json};

use crate::question::{About, Chart, Limit, Trajectory};
use crate::{Answer, Refusal, parsed};

/// Roots that are listed.
const ROOTS_LISTED: usize = 6;
/// Wanted error of a cycle.
const CYCLE_TOLERANCE: f64 = 1e-6;
/// Samples of a period.
const CYCLE_SAMPLES: u32 = 200;

fn refused(error: &Error) -> Refusal {
    let kind = match error {
        Error::Unsupported { .. } => "unsupported",
        Error::NoEquilibrium { .. } => "no equilibrium",
        Error::OutsideValidity { .. } => "outside validity",
        Error::SeveralLoops { .. } => "several loops",
        Error::Parameter { .. } => "question",
        _ => "failed",
    };
    Refusal::engine(kind, error)
}

/// The model of a scenario with its parameters moved.
fn model(about: &About) -> Result<Model, Refusal> {
    let scenario = parsed(&about.text)?;
    let choices = Choices::usual(&scenario);
    let mut model = Model::from_scenario(&scenario, choices).map_err(|error| refused(&error))?;
    for (name, value) in &about.set {
        let index = model.parameter(name).map_err(|error| refused(&error))?;
        model.set(index, *value);
    }
    Ok(model)
}

/// Runs an analysis within its work.
fn within<T>(work: u64, analysis: impl FnOnce() -> Result<T, Error>) -> Result<T, Refusal> {
    metered(work, || true, analysis)
        .map_err(|error| Refusal::engine("out of work", error))?
        .map_err(|error| refused(&error))
}

/// Equilibria, each with its roots, margins and values.
pub(crate) fn stability(about: &About) -> Answer {
    let model = model(about)?;
    let found = within(about.work, || model.equilibria());
    let (equilibria, reason) = match found {
        Ok(list) => (list, None),
        Err(Refusal::Engine { message, .. }) => (Vec::new(), Some(message)),
        Err(other) => return Err(other),
    };
    let trees: Vec<Value> = equilibria
        .iter()
        .map(|at| equilibrium(&model, at, about.work))
        .collect();
    let parameters: Vec<Value> = model
        .parameter_names()
        .into_iter()
        .zip(model.parameters())
        .map(|(name, value)| json!({ "name": name, "value": value }))
        .collect();
    Ok(json!({
        "notes": model.notes(), "states": model.state_names(), "parameters": parameters,
        "watched": model.watched(), "equilibria": trees, "reason": reason,
    }))
}

fn equilibrium(model: &Model, at: &Equilibrium, work: u64) -> Value {
    let roots = within(work, || model.roots(at, ROOTS_LISTED)).ok();
    let roots: Vec<(f64, f64)> = roots.map_or_else(Vec::new, |found| {
        found.roots.iter().map(|root| (root.re, root.im)).collect()
    });
    let [windows, rtts, rates, arrivals] = model.rates(&at.x, &at.p);
    let outside = model.outside(&at.regimes, &at.x, &at.p);
    json!({
        "state": at.x, "probability": at.probability, "signals": at.signals, "regimes": at.regime_names,
        "unstable": within(work, || model.unstable_roots(at)).ok(),
        "roots": roots,
        "margins": within(work, || model.margins(at)).ok().map(|found| margins(&found)),
        "outside": outside.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "windows": windows, "rtts": rtts, "rates": rates, "arrivals": arrivals,
    })
}

fn margins(of: &Margins) -> Value {
    json!({
        "gain": of.gain, "phase": of.phase, "delay": of.delay,
        "gain_crossover": of.gain_crossover, "phase_crossover": of.phase_crossover,
    })
}

/// The clamped equations from one packet a window over empty queues.
pub(crate) fn trajectory(asked: &Trajectory) -> Answer {
    let model = model(&asked.about)?;
    let tolerance = Tolerance {
        relative: asked.relative,
        absolute: asked.relative * 1e-3,
        steps: asked.steps,
        ..Tolerance::default()
    };
    let start = model.empty(1.0);
    let run = within(asked.about.work, || {
        model.trajectory(None, &start, asked.duration, &tolerance)
    })?;
    let count = asked.samples.max(2);
    let times: Vec<f64> = (0..count)
        .map(|k| run.end() * f64::from(k) / f64::from(count - 1))
        .collect();
    let p = model.parameters();
    let states: Vec<Vec<f64>> = times.iter().map(|time| run.state(*time)).collect();
    let mut columns: [Vec<Vec<f64>>; 4] = Default::default();
    for state in &states {
        let [windows, rtts, rates, _] = model.rates(state, &p);
        let probability = model.probabilities(state, &p).0;
        for (column, row) in columns.iter_mut().zip([windows, rtts, rates, probability]) {
            column.push(row);
        }
    }
    let [windows, rtts, rates, probability] = columns;
    Ok(json!({
        "states": model.state_names(), "time": times, "state": states, "windows": windows,
        "rtts": rtts, "rates": rates, "probability": probability,
    }))
}

/// How far a parameter may move before the verdict changes, the first equilibrium moving with it.
pub(crate) fn limit(asked: &Limit) -> Answer {
    let mut model = model(&asked.about)?;
    let free = model
        .parameter(&asked.free)
        .map_err(|error| refused(&error))?;
    let now = model.parameters()[free];
    let found = within(asked.about.work, || {
        let at = model.equilibria()?.swap_remove(0);
        model.limit(&at, free, asked.to)
    })?;
    let (kind, reason) = match &found.kind {
        LimitKind::Change(change) => match &change.change {
            Change::Hopf(_) => ("oscillation", None),
            Change::RealRoot => ("real root", None),
            Change::Boundary(why) => ("boundary", Some(why.clone())),
        },
        LimitKind::End(why) => ("end", Some(why.clone())),
        LimitKind::None => ("none", None),
    };
    let change = match &found.kind {
        LimitKind::Change(change) => Some(change),
        _ => None,
    };
    Ok(json!({
        "now": now, "value": found.value, "kind": kind, "reason": reason,
        "unstable": found.unstable, "after": change.and_then(|one| one.after),
        "holds_to": found.holds_to, "beyond_at": found.beyond_at,
        "omega": change.and_then(|one| one.hopf()).map(|point| point.omega),
        "onset": found.onset.map(|onset| json!({
            "supercritical": onset.is_supercritical(), "mu2": onset.mu2, "beta2": onset.beta2, "l1": onset.l1,
        })),
    }))
}

/// The branch of cycles from the nearest Hopf point towards `to`.
pub(crate) fn cycles(asked: &Limit) -> Answer {
    let mut model = model(&asked.about)?;
    let free = model
        .parameter(&asked.free)
        .map_err(|error| refused(&error))?;
    let found = within(asked.about.work, || {
        let at = model.equilibria()?.swap_remove(0);
        let limit = model.limit(&at, free, asked.to)?;
        let LimitKind::Change(change) = limit.kind else {
            return Ok(None);
        };
        let Some(point) = change.hopf() else {
            return Ok(None);
        };
        let now = model.parameters()[free];
        let options = CycleOptions {
            free,
            range: (now.min(asked.to), now.max(asked.to)),
            component: model.watched(),
            points: asked.steps,
            tolerance: CYCLE_TOLERANCE,
        };
        model.cycles_from(&change.at, point, &options).map(Some)
    })?;
    let Some(branch) = found else {
        return Ok(json!({ "cycles": [], "end": "there is no Hopf point on the way" }));
    };
    let watched = model.watched();
    let cycles: Vec<Value> = branch
        .cycles
        .iter()
        .map(|one| {
            let cycle = &one.cycle;
            let wave: Vec<f64> = (0..=CYCLE_SAMPLES)
                .map(|k| {
                    cycle.state(cycle.period * f64::from(k) / f64::from(CYCLE_SAMPLES))[watched]
                })
                .collect();
            json!({
                "value": cycle.p[free], "period": cycle.period, "range": cycle.range(watched),
                "after_fold": one.after_fold, "wave": wave,
            })
        })
        .collect();
    let end = match branch.end {
        CycleEnd::Range(_) => "the end of the range".to_owned(),
        CycleEnd::Points => "as many cycles as asked for".to_owned(),
        CycleEnd::Boundary(why) | CycleEnd::Failed(why) => why,
    };
    Ok(json!({ "cycles": cycles, "end": end }))
}

/// The response to a large disturbance where a parameter has the value `to`.
pub(crate) fn beyond(asked: &Limit) -> Answer {
    let mut model = model(&asked.about)?;
    let free = model
        .parameter(&asked.free)
        .map_err(|error| refused(&error))?;
    let (_, found) = within(asked.about.work, || {
        model.beyond(free, asked.to, asked.steps)
    })?;
    Ok(json!({
        "settles": found.settles, "low": found.low, "high": found.high, "mean": found.mean,
        "period": found.period, "window_low": found.window_low, "window_high": found.window_high,
        "steady": found.steady,
    }))
}

/// Unstable roots in each cell, from the equilibrium at the parameters that are set; -1 where that
/// is not reached.
pub(crate) fn chart(asked: &Chart) -> Answer {
    let mut model = model(&asked.about)?;
    let counts = within(asked.about.work, || {
        let at = model.equilibria()?.swap_remove(0);
        model.chart(
            &at,
            (&asked.names.0, &asked.names.1),
            (&asked.first, &asked.second),
        )
    })?;
    let counts: Vec<i64> = counts
        .iter()
        .map(|count| count.map_or(-1, |n| n as i64))
        .collect();
    Ok(json!(counts))
}
