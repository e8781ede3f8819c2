//! Equilibria: one by Newton's method, or all of them in a box.

use crate::{
    error::{Error, Result},
    linalg::{Lu, norm},
    linear::steady,
    system::{Args, DynSystem, constant},
    work::spend,
};

/// How close a switch function may come to zero, relative to the change that a relative change of
/// 1e-9 of the states makes.
const CLAMP_TOLERANCE: f64 = 1e-9;

/// A Newton step shorter than this, relative to the states, that leads to no smaller residual is
/// rounding: its square is. A loss of 1e-8 that is reckoned as 1 - (1 - p) is known to 1e-8 of
/// itself.
const ROUNDING_STEP: f64 = 1e-7;

/// The equilibrium near `guess` (Newton's method with step halving).
///
/// # Errors
/// [`Error::NewtonFailed`], [`Error::Singular`], or, for a solution where the model is not smooth,
/// [`Error::OnClamp`] and [`Error::OutOfBounds`].
pub fn equilibrium(system: &dyn DynSystem, guess: &[f64], p: &[f64]) -> Result<Vec<f64>> {
    if guess.len() != system.dimension() {
        return Err(Error::Argument(format!(
            "{} starting values for {} states",
            guess.len(),
            system.dimension()
        )));
    }
    let x = newton(system, guess, p)?;
    check_smooth(system, &x, p)?;
    Ok(x)
}

/// Newton's method on f(x, ..., x, p) = 0, without a look at clamps.
pub(crate) fn newton(system: &dyn DynSystem, guess: &[f64], p: &[f64]) -> Result<Vec<f64>> {
    const NEWTON_ITERATIONS: usize = 60;
    let n = guess.len();
    let mut x = guess.to_vec();
    let mut step = vec![0.0; n];
    let mut lu = Lu::new(n);
    let (mut f, mut jacobian) = steady(system, &x, p, &[]);
    for _ in 0..NEWTON_ITERATIONS {
        // rows in units of their own derivatives, so that the residuals of different states can be
        // compared
        let weights = row_weights(n, &jacobian, &x);
        lu.factorise(&jacobian);
        lu.solve(&f, &mut step);
        if step.iter().any(|v| !v.is_finite()) {
            return Err(Error::Singular {
                what: "the equilibrium",
            });
        }
        let size = weighted(&f, &weights);
        let mut damping = 1.0;
        let accepted = loop {
            spend(2 * n * n * (1 + system.delays()))?;
            let trial: Vec<f64> = x.iter().zip(&step).map(|(a, s)| a - damping * s).collect();
            let (g, j) = steady(system, &trial, p, &[]);
            let new = weighted(&g, &weights);
            if new.is_finite() && (new < size || new < 1e-14) {
                f = g;
                jacobian = j;
                break Some(trial);
            }
            damping *= 0.5;
            if damping < 1e-8 {
                break None;
            }
        };
        let relative = step
            .iter()
            .zip(&x)
            .map(|(s, a)| s.abs() / a.abs().max(1e-30))
            .fold(0.0_f64, f64::max);
        match accepted {
            Some(trial) => {
                let done = damping == 1.0 && (relative < 1e-13 || weighted(&f, &weights) == 0.0);
                x = trial;
                if done {
                    return Ok(x);
                }
            }
            // No descent any more: rounding, if the step is tiny, else failure. What a step leaves of
            // a smooth residual is its square.
            None if relative < ROUNDING_STEP || size < 1e-14 => return Ok(x),
            None => break,
        }
    }
    let weights = row_weights(n, &jacobian, &x);
    let residual = weighted(&f, &weights);
    if residual < 1e-13 {
        return Ok(x);
    }
    Err(Error::NewtonFailed {
        what: "the equilibrium",
        iterations: NEWTON_ITERATIONS,
        residual,
    })
}

/// Inverse size of each equation: sum_k |J_ik x_k|.
fn row_weights(n: usize, jacobian: &[f64], x: &[f64]) -> Vec<f64> {
    let weights: Vec<f64> = (0..n)
        .map(|i| {
            (0..n)
                .map(|k| {
                    (jacobian[i * n + k] * x[k])
                        .abs()
                        .max(1e-12 * jacobian[i * n + k].abs())
                })
                .sum()
        })
        .collect();
    weights
        .iter()
        .map(|w: &f64| {
            if *w > 0.0 && w.is_finite() {
                1.0 / w
            } else {
                1.0
            }
        })
        .collect()
}

fn weighted(f: &[f64], weights: &[f64]) -> f64 {
    f.iter()
        .zip(weights)
        .map(|(a, w)| (a * w).abs())
        .fold(
            0.0,
            |m, v| if v.is_nan() { f64::INFINITY } else { v.max(m) },
        )
}

/// All equilibria in the box `lower <= x <= upper` that a dense multistart search finds, in
/// ascending order of the first state.
///
/// Newton's method is started from a grid over the box (every point where a one-dimensional
/// right-hand side changes its sign, for a scalar system); what lies outside the box, repeats an
/// earlier one, or sits on a clamp is left out. The search is thorough but not a proof that no
/// further equilibrium exists.
///
/// # Errors
/// [`Error::NoEquilibrium`] when nothing was found; [`Error::OnClamp`] or [`Error::OutOfBounds`]
/// when all that was found is not smooth there; [`Error::Argument`] for a bad box.
pub fn equilibria(
    system: &dyn DynSystem,
    lower: &[f64],
    upper: &[f64],
    p: &[f64],
) -> Result<Vec<Vec<f64>>> {
    let n = system.dimension();
    if lower.len() != n
        || upper.len() != n
        || lower
            .iter()
            .zip(upper)
            .any(|(a, b)| !(a.is_finite() && b.is_finite() && a < b))
    {
        return Err(Error::Argument(format!(
            "the box needs {n} finite, ordered pairs of ends"
        )));
    }
    let mut values: Vec<Vec<f64>> = Vec::new();
    let mut refused = None;
    let mut best = f64::INFINITY;
    let mut f = vec![0.0; n];
    for guess in starts(lower, upper) {
        constant(system, &guess, p, &mut Vec::new(), &mut f);
        best = best.min(norm(&f));
        spend(n)?;
        let Ok(x) = newton(system, &guess, p) else {
            continue;
        };
        let inside = (0..n).all(|i| {
            let slack = 1e-9 * (upper[i] - lower[i]);
            x[i] >= lower[i] - slack && x[i] <= upper[i] + slack
        });
        let known = values.iter().any(|y| {
            y.iter().zip(&x).enumerate().all(|(i, (a, b))| {
                (a - b).abs() <= 1e-7 * (a.abs() + b.abs()) + 1e-11 * (upper[i] - lower[i])
            })
        });
        if !inside || known {
            continue;
        }
        match check_smooth(system, &x, p) {
            Ok(()) => values.push(x),
            Err(e) => refused = Some(e),
        }
    }
    if values.is_empty() {
        return Err(refused.unwrap_or(Error::NoEquilibrium { residual: best }));
    }
    values.sort_by(|a, b| a[0].total_cmp(&b[0]));
    Ok(values)
}

/// Points all over a box: a grid, or beyond six states, where that is too large, a fixed
/// low-discrepancy sequence.
fn starts(lower: &[f64], upper: &[f64]) -> impl Iterator<Item = Vec<f64>> {
    let n = lower.len();
    let points: usize = match n {
        1 => 400,
        2 => 24,
        3 => 9,
        4 => 5,
        _ => 3,
    };
    let count = if n <= 6 { points.pow(n as u32) } else { 2000 };
    (0..count).map(move |index| {
        let mut rest = index;
        (0..n)
            .map(|i| {
                let fraction = if n <= 6 {
                    let k = rest % points;
                    rest /= points;
                    (k as f64 + 0.5) / points as f64
                } else {
                    // Weyl sequence on square roots of odd numbers
                    ((index + 1) as f64 * ((2 * i + 3) as f64).sqrt()).fract()
                };
                // boxes over decades are walked on a logarithmic scale
                if lower[i] > 0.0 && upper[i] > 20.0 * lower[i] {
                    lower[i] * libm::pow(upper[i] / lower[i], fraction)
                } else {
                    lower[i] + fraction * (upper[i] - lower[i])
                }
            })
            .collect()
    })
}

/// Refuses a state on a switch surface or at a bound.
pub(crate) fn check_smooth(system: &dyn DynSystem, x: &[f64], p: &[f64]) -> Result<()> {
    for bound in system.bounds(p) {
        let value = x[bound.state];
        for limit in [bound.lower, bound.upper] {
            if limit.is_finite()
                && (value - limit).abs()
                    <= CLAMP_TOLERANCE * value.abs().max(limit.abs()).max(1e-300)
            {
                return Err(Error::OutOfBounds {
                    state: bound.state,
                    bound: limit,
                });
            }
        }
        if value < bound.lower {
            return Err(Error::OutOfBounds {
                state: bound.state,
                bound: bound.lower,
            });
        }
        if value > bound.upper {
            return Err(Error::OutOfBounds {
                state: bound.state,
                bound: bound.upper,
            });
        }
    }
    let count = system.switches();
    if count == 0 {
        return Ok(());
    }
    let value = |x: &[f64]| {
        let mut past = Vec::new();
        for _ in 0..system.delays() {
            past.extend_from_slice(x);
        }
        let mut out = vec![0.0; count];
        system.switch(Args { x, past: &past, p }, &mut out);
        out
    };
    let here = value(x);
    // the size of each switch function's reaction to a relative change of the states sets the scale
    // of "zero"
    let mut scale = vec![0.0_f64; count];
    for i in 0..x.len() {
        let mut moved = x.to_vec();
        moved[i] += 1e-4 * x[i].abs().max(1e-12);
        for (s, (a, b)) in scale.iter_mut().zip(value(&moved).iter().zip(&here)) {
            *s = s.max((a - b).abs() * 1e4);
        }
    }
    // a switch function that is a step (the index of a regime) has no slope, but changes its sign
    // close by
    for i in 0..x.len() {
        for way in [-CLAMP_TOLERANCE, CLAMP_TOLERANCE] {
            let mut moved = x.to_vec();
            moved[i] += way * x[i].abs();
            let there = value(&moved);
            if let Some(switch) = (0..count).find(|k| here[*k] * there[*k] < 0.0) {
                return Err(Error::OnClamp { switch });
            }
        }
    }
    match here
        .iter()
        .zip(&scale)
        .position(|(g, s)| g.abs() <= CLAMP_TOLERANCE * s.max(1e-300))
    {
        Some(switch) => Err(Error::OnClamp { switch }),
        None => Ok(()),
    }
}
