//! Events that are located within a step: discontinuities that delayed arguments pass, bounds
//! reached and left, switches.

use super::{EventKind, Run, SMOOTH_ORDER, trajectory::dense};
use crate::{
    error::Result,
    system::{Args, DynSystem},
};

/// The earliest point in the step where a delayed argument passes an earlier discontinuity: offset
/// and order of the new one.
pub(super) fn crossed_break<D: DynSystem + ?Sized>(
    run: &mut Run<'_, D>,
    t: f64,
    x: &[f64],
    h: f64,
    c: &[f64],
    end: &[f64],
    breaks: &[(f64, usize)],
) -> Result<Option<(f64, usize)>> {
    let mut best: Option<(f64, usize)> = None;
    let mut state = vec![0.0; run.n];
    for j in 0..run.m {
        let argument = |run: &mut Run<'_, D>, t: f64, x: &[f64]| -> Result<f64> {
            run.look_back(t, x)?;
            Ok(t - run.system.delay_f64(
                j,
                Args {
                    x,
                    past: &run.past,
                    p: run.p,
                },
            ))
        };
        let (from, to) = (argument(run, t, x)?, argument(run, t + h, end)?);
        // of all between, the argument, which is continuous, passes the nearest first
        let nearest = breaks
            .iter()
            .filter(|(old, order)| {
                // a start on the discontinuity itself is not a crossing
                *order < SMOOTH_ORDER
                    && (from - old) * (to - old) < 0.0
                    && (from - old).abs() > 1e-8 * (to - from).abs() + 1e-12 * old.abs()
            })
            .min_by(|a, b| (a.0 - from).abs().total_cmp(&(b.0 - from).abs()));
        let Some((old, order)) = nearest else {
            continue;
        };
        let at = last_of(0.0, h, &mut |at| {
            dense(c, at / h, &mut state);
            let here = argument(run, t + at, &state)?;
            Ok((here - old) * (from - old) > 0.0)
        })?;
        if best.is_none_or(|(first, _)| at < first) {
            best = Some((at, order + 1));
        }
    }
    Ok(best)
}

/// Where between `low` and `high` a state of affairs ends that holds at `low`: the least place
/// found where it does not hold.
fn last_of(mut low: f64, mut high: f64, holds: &mut dyn FnMut(f64) -> Result<bool>) -> Result<f64> {
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if holds(middle)? {
            low = middle;
        } else {
            high = middle;
        }
    }
    Ok(high)
}

/// The earliest bound reached or left or switch passed within the step.
pub(super) fn first_event<D: DynSystem + ?Sized>(
    run: &mut Run<'_, D>,
    t: f64,
    h: f64,
    c: &[f64],
    end: &[f64],
    signs: &mut [f64],
) -> Result<Option<(f64, EventKind)>> {
    let mut best: Option<(f64, EventKind)> = None;
    let mut offer = |at: f64, kind| {
        if best.is_none_or(|(first, _)| at < first) {
            best = Some((at, kind));
        }
    };
    for index in 0..run.bounds.len() {
        let state = run.bounds[index].state;
        let slides = run.sliding[index].is_some();
        let Some(place) = bound_passed(run, index, t, h, c)? else {
            continue;
        };
        // touching within rounding of the start is no event; a state that should have left by then
        // leaves now
        let place = if slides { place.max(1e-12) } else { place };
        if place * h >= 1e-12 * h {
            let kind = if slides {
                EventKind::Left { state }
            } else {
                EventKind::Reached { state }
            };
            offer(place * h, kind);
        }
    }
    if signs.is_empty() {
        return Ok(best);
    }
    let mut state = vec![0.0; run.n];
    let mut at_end = vec![0.0; signs.len()];
    run.switches(t + h, end, &mut at_end)?;
    let mut values = at_end.clone();
    for switch in 0..signs.len() {
        if at_end[switch] * signs[switch] >= 0.0 {
            continue;
        }
        let place = last_of(0.0, 1.0, &mut |place| {
            dense(c, place, &mut state);
            run.switches(t + place * h, &state, &mut values)?;
            Ok(values[switch] * signs[switch] >= 0.0)
        })?;
        if place < 1e-10 {
            // it had passed before this step began, by rounding
            signs[switch] = -signs[switch];
        } else {
            offer(place * h, EventKind::Switched { switch });
        }
    }
    Ok(best)
}

/// Where in the step (0 to 1) a bound is reached, or left by a state that slides along it.
fn bound_passed<D: DynSystem + ?Sized>(
    run: &mut Run<'_, D>,
    index: usize,
    t: f64,
    h: f64,
    c: &[f64],
) -> Result<Option<f64>> {
    const PROBES: [f64; 4] = [0.25, 0.5, 0.75, 1.0];
    let bound = run.bounds[index];
    let slides = run.sliding[index];
    let mut state = vec![0.0; run.n];
    let mut field = vec![0.0; run.n];
    // the first probe at which it no longer holds brackets the event
    let mut before = |place: f64| -> Result<bool> {
        dense(c, place, &mut state);
        let room = match slides {
            None => (state[bound.state] - bound.lower).min(bound.upper - state[bound.state]),
            Some(limit) => {
                run.free_field(t + place * h, &state, &mut field)?;
                if limit == bound.lower {
                    -field[bound.state]
                } else {
                    field[bound.state]
                }
            }
        };
        Ok(room >= 0.0)
    };
    let mut low = 0.0;
    for probe in PROBES {
        if !before(probe)? {
            return last_of(low, probe, &mut before).map(Some);
        }
        low = probe;
    }
    Ok(None)
}
