//! What is located within a step: discontinuities that delayed arguments pass, bounds reached and left, switches.

use super::{EventKind, Run, SMOOTH, trajectory::dense};
use crate::{
    error::Result,
    system::{Args, DynSystem},
};

/// The earliest point in the step where a delayed argument passes an earlier discontinuity: offset and order of the new one.
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
                *order < SMOOTH
                    && (from - old) * (to - old) < 0.0
                    && (from - old).abs() > 1e-8 * (to - from).abs() + 1e-12 * old.abs()
            })
            .min_by(|a, b| (a.0 - from).abs().total_cmp(&(b.0 - from).abs()));
        let Some((old, order)) = nearest else {
            continue;
        };
        let (mut low, mut high) = (0.0, h);
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            dense(c, middle / h, &mut state);
            let here = argument(run, t + middle, &state)?;
            if (here - old) * (from - old) > 0.0 {
                low = middle;
            } else {
                high = middle;
            }
        }
        if best.is_none_or(|(at, _)| high < at) {
            best = Some((high, order + 1));
        }
    }
    Ok(best)
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
    const PROBES: [f64; 4] = [0.25, 0.5, 0.75, 1.0];
    if run.bounds.is_empty() && signs.is_empty() {
        return Ok(None);
    }
    let n = run.n;
    let mut best: Option<(f64, EventKind)> = None;
    let mut state = vec![0.0; n];
    let mut field = vec![0.0; n];
    let bounds = run.bounds.clone();
    for (index, bound) in bounds.iter().enumerate() {
        let slides = run.sliding[index];
        // positive: event not yet; the first probe at or below zero brackets it
        let mut measure = |run: &mut Run<'_, D>, s: f64| -> Result<f64> {
            dense(c, s, &mut state);
            match slides {
                None => {
                    Ok((state[bound.state] - bound.lower).min(bound.upper - state[bound.state]))
                }
                Some(limit) => {
                    run.free_field(t + s * h, &state, &mut field)?;
                    Ok(if limit == bound.lower {
                        -field[bound.state]
                    } else {
                        field[bound.state]
                    })
                }
            }
        };
        let kind = if slides.is_none() {
            EventKind::Reached { state: bound.state }
        } else {
            EventKind::Left { state: bound.state }
        };
        let mut low = 0.0;
        for probe in PROBES {
            if measure(run, probe)? >= 0.0 {
                low = probe;
                continue;
            }
            let mut high = probe;
            for _ in 0..60 {
                let middle = 0.5 * (low + high);
                if measure(run, middle)? >= 0.0 {
                    low = middle;
                } else {
                    high = middle;
                }
            }
            // touching within rounding of the start is no event; a state that should have left by then leaves now
            let at = if slides.is_some() {
                high.max(1e-12)
            } else {
                high
            } * h;
            if at >= 1e-12 * h && best.is_none_or(|(first, _)| at < first) {
                best = Some((at, kind));
            }
            break;
        }
    }
    if !signs.is_empty() {
        let mut values = vec![0.0; signs.len()];
        run.switches(t + h, end, &mut values)?;
        for k in 0..signs.len() {
            if values[k] * signs[k] >= 0.0 {
                continue;
            }
            let (mut low, mut high) = (0.0, 1.0);
            for _ in 0..60 {
                let middle = 0.5 * (low + high);
                dense(c, middle, &mut state);
                run.switches(t + middle * h, &state, &mut values)?;
                if values[k] * signs[k] >= 0.0 {
                    low = middle;
                } else {
                    high = middle;
                }
            }
            if high < 1e-10 {
                // it had passed before this step began, by rounding
                signs[k] = -signs[k];
            } else if best.is_none_or(|(at, _)| high * h < at) {
                best = Some((high * h, EventKind::Switched { switch: k }));
            }
            run.switches(t + h, end, &mut values)?;
        }
    }
    Ok(best)
}
