//! Questions to the fluid and stability engine.

use ackclock_delay::{Tolerance, metered};
use ackclock_fluid::{
    Change, Choices, CycleEnd, CycleOptions, Equilibrium, Error, LimitKind, Margins, Model,
};

use crate::json::{Json, object};
use crate::question::Question;
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
fn model(question: &Question) -> Result<Model, Refusal> {
    let scenario = parsed(question.text("text")?)?;
    let choices = Choices::usual(&scenario);
    let mut model = Model::from_scenario(&scenario, choices).map_err(|error| refused(&error))?;
    for (name, value) in question.settings("set")? {
        let index = model.parameter(name).map_err(|error| refused(&error))?;
        model.set(index, value);
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
pub(crate) fn stability(question: &Question) -> Answer {
    let model = model(question)?;
    let work = question.whole("work")?;
    let solved = within(work, || model.equilibria());
    let (equilibria, reason) = match solved {
        Ok(list) => (list, None),
        Err(Refusal::Engine { message, .. }) => (Vec::new(), Some(message)),
        Err(other) => return Err(other),
    };
    let trees = Json::array(equilibria.iter().map(|at| equilibrium(&model, at, work)));
    let names = model.parameter_names().into_iter();
    let parameters = names
        .zip(model.parameters())
        .map(|(name, value)| object! { "name": name, "value": value });
    Ok(object! {
        "notes": model.notes(), "states": model.state_names(), "parameters": Json::array(parameters),
        "component": model.observed_state(), "equilibria": trees, "reason": reason,
    })
}

fn equilibrium(model: &Model, at: &Equilibrium, work: u64) -> Json {
    let roots = within(work, || model.roots(at, ROOTS_LISTED)).ok();
    let roots: Vec<(f64, f64)> = roots.map_or_else(Vec::new, |spectrum| {
        spectrum
            .roots
            .iter()
            .map(|root| (root.re, root.im))
            .collect()
    });
    let [windows, rtts, rates, arrivals] = model.rates(&at.x, &at.p);
    let outside = model.outside(&at.regimes, &at.x, &at.p);
    object! {
        "state": at.x, "probability": at.probability, "signals": at.signals, "regimes": at.regime_names,
        "unstable": within(work, || model.unstable_roots(at)).ok(),
        "roots": roots,
        "margins": within(work, || model.margins(at)).ok().map(|of| margins(&of)),
        "outside": outside.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "windows": windows, "rtts": rtts, "rates": rates, "arrivals": arrivals,
    }
}

fn margins(of: &Margins) -> Json {
    object! {
        "gain": of.gain, "phase": of.phase, "delay": of.delay,
        "gain_crossover": of.gain_crossover, "phase_crossover": of.phase_crossover,
    }
}

/// The clamped equations from one packet a window over empty queues.
pub(crate) fn trajectory(question: &Question) -> Answer {
    let model = model(question)?;
    let relative = question.number("relative")?;
    let tolerance = Tolerance {
        relative,
        absolute: relative * 1e-3,
        steps: question.size("steps")?,
        ..Tolerance::default()
    };
    let duration = question.number("duration")?;
    let start = model.empty(1.0);
    let run = within(question.whole("work")?, || {
        model.trajectory(None, &start, duration, &tolerance)
    })?;
    let count = question.whole_32("samples")?.max(2);
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
    Ok(object! {
        "states": model.state_names(), "time": times, "state": states, "windows": windows,
        "rtts": rtts, "rates": rates, "probability": probability,
    })
}

/// The parameter that a question moves.
fn moved(model: &mut Model, question: &Question) -> Result<usize, Refusal> {
    model
        .parameter(question.text("free")?)
        .map_err(|error| refused(&error))
}

/// How far a parameter may move before the verdict changes, the first equilibrium moving with it.
pub(crate) fn limit(question: &Question) -> Answer {
    let mut model = model(question)?;
    let free = moved(&mut model, question)?;
    let to = question.number("to")?;
    let now = model.parameters()[free];
    let limit = within(question.whole("work")?, || {
        let at = model.equilibria()?.swap_remove(0);
        model.limit(&at, free, to)
    })?;
    let (kind, reason) = match &limit.kind {
        LimitKind::Change(change) => match &change.change {
            Change::Hopf(_) => ("oscillation", None),
            Change::RealRoot => ("real root", None),
            Change::Boundary(why) => ("boundary", Some(why.clone())),
        },
        LimitKind::End(why) => ("end", Some(why.clone())),
        LimitKind::None => ("none", None),
    };
    let change = match &limit.kind {
        LimitKind::Change(change) => Some(change),
        _ => None,
    };
    Ok(object! {
        "now": now, "value": limit.value, "kind": kind, "reason": reason,
        "unstable": limit.unstable, "after": change.and_then(|at_limit| at_limit.after),
        "holds_to": limit.holds_to, "beyond_at": limit.beyond_at,
        "omega": change.and_then(|at_limit| at_limit.hopf()).map(|point| point.omega),
        "onset": limit.onset.map(|onset| object! {
            "supercritical": onset.is_supercritical(), "mu2": onset.mu2, "beta2": onset.beta2, "l1": onset.l1,
        }),
    })
}

/// The branch of cycles from the nearest Hopf point towards `to`.
pub(crate) fn cycles(question: &Question) -> Answer {
    let mut model = model(question)?;
    let free = moved(&mut model, question)?;
    let to = question.number("to")?;
    let steps = question.size("steps")?;
    let cycles = within(question.whole("work")?, || {
        let at = model.equilibria()?.swap_remove(0);
        let limit = model.limit(&at, free, to)?;
        let LimitKind::Change(change) = limit.kind else {
            return Ok(None);
        };
        let Some(point) = change.hopf() else {
            return Ok(None);
        };
        let now = model.parameters()[free];
        let options = CycleOptions {
            free,
            range: (now.min(to), now.max(to)),
            component: model.observed_state(),
            points: steps,
            tolerance: CYCLE_TOLERANCE,
        };
        model.cycles_from(&change.at, point, &options).map(Some)
    })?;
    let Some(branch) = cycles else {
        return Ok(
            object! { "cycles": Json::array([]), "end": "there is no Hopf point on the way" },
        );
    };
    let observed = model.observed_state();
    let cycles: Vec<Json> = branch
        .cycles
        .iter()
        .map(|branch_cycle| {
            let cycle = &branch_cycle.cycle;
            let wave: Vec<f64> = (0..=CYCLE_SAMPLES)
                .map(|k| {
                    cycle.state(cycle.period * f64::from(k) / f64::from(CYCLE_SAMPLES))[observed]
                })
                .collect();
            object! {
                "value": cycle.p[free], "period": cycle.period, "range": cycle.range(observed),
                "after_fold": branch_cycle.after_fold, "wave": wave,
            }
        })
        .collect();
    let end = match branch.end {
        CycleEnd::Range(_) => "the end of the range".to_owned(),
        CycleEnd::Points => "as many cycles as asked for".to_owned(),
        CycleEnd::Boundary(why) | CycleEnd::Failed(why) => why,
    };
    Ok(object! { "cycles": cycles, "end": end })
}

/// Unstable roots in each cell, from the equilibrium at the parameters that are set; -1 where that
/// is not reached.
pub(crate) fn chart(question: &Question) -> Answer {
    let mut model = model(question)?;
    let names = question.pair("names")?;
    let (first, second) = (question.numbers("first")?, question.numbers("second")?);
    let counts = within(question.whole("work")?, || {
        let at = model.equilibria()?.swap_remove(0);
        model.chart(&at, names, (&first, &second))
    })?;
    let counts: Vec<i64> = counts
        .iter()
        .map(|count| count.map_or(-1, |n| n as i64))
        .collect();
    Ok(Json::of(&counts))
}
