//! Pseudo-arclength continuation of the zero set of m equations in m + 1 unknowns (Keller; Moore-Penrose corrector).

use crate::{
    error::{Error, Result},
    linalg::{norm, solve},
};

/// Equations that define a curve.
pub(crate) trait Equations {
    /// Residual and Jacobian (row by row) at `u`.
    fn evaluate(
        &mut self,
        u: &[f64],
        residual: &mut Vec<f64>,
        jacobian: &mut Vec<f64>,
    ) -> Result<()>;
    /// Called with every accepted point and its tangent (in the units of the unknowns), for references that move along: null
    /// vectors, phase conditions, meshes. Both may be replaced, even by longer ones as long as the last unknowns keep their meaning.
    fn accept(&mut self, _u: &mut Vec<f64>, _tangent: &mut Vec<f64>) -> Result<()> {
        Ok(())
    }
    /// The scale of each unknown: a change by it counts as a step of one.
    fn scales(&self, u: &[f64], seen: &mut Vec<f64>) -> Vec<f64> {
        scales(u, seen)
    }
}

/// Why a curve stopped.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum End {
    /// A parameter reached an end of its range; the last point lies on it.
    Range {
        /// Index of the parameter.
        parameter: usize,
        /// The end reached.
        value: f64,
    },
    /// As many points as asked for.
    Points,
    /// The curve came back to its start.
    Closed,
    /// The frequency went to zero: a Bogdanov-Takens point.
    ZeroFrequency,
    /// The amplitude went to zero: the cycle was born at a Hopf bifurcation.
    ZeroAmplitude,
    /// The next point could not be computed.
    Failed(Error),
}

/// How to follow a curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Follow {
    /// The most points to compute in each direction.
    pub points: usize,
    /// First step, relative to the size of the unknowns.
    pub step: f64,
    /// Largest step, likewise.
    pub largest_step: f64,
}

impl Default for Follow {
    fn default() -> Self {
        Self {
            points: 200,
            step: 0.01,
            largest_step: 0.1,
        }
    }
}

/// A range that a parameter (or any unknown) must not leave.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit {
    /// Index of the unknown, counted from the last one (0).
    pub(crate) from_last: usize,
    pub(crate) parameter: usize,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

/// The scale of each unknown: a change by it counts as a step of one. An unknown that passes zero keeps a part of its past size.
pub(crate) fn scales(u: &[f64], seen: &mut [f64]) -> Vec<f64> {
    u.iter()
        .zip(seen)
        .map(|(v, s)| {
            *s = s.max(v.abs());
            let scale = v.abs().max(0.05 * *s);
            // what has always been zero has no size of its own
            if scale < 1e-12 { 1.0 } else { scale }
        })
        .collect()
}

/// The unit tangent (in scaled unknowns) at a point with the given Jacobian, along `direction`.
fn tangent(jacobian: &[f64], scales: &[f64], direction: &[f64]) -> Result<Vec<f64>> {
    let m = scales.len();
    let mut a = vec![0.0; m * m];
    for i in 0..m - 1 {
        for k in 0..m {
            a[i * m + k] = jacobian[i * m + k] * scales[k];
        }
    }
    scale_rows(&mut a, m, m - 1, None);
    a[(m - 1) * m..].copy_from_slice(direction);
    let mut b = vec![0.0; m];
    b[m - 1] = 1.0;
    let mut t = solve(m, &a, &b, "the tangent of the curve")?;
    let length = norm(&t);
    for v in &mut t {
        *v /= length;
    }
    Ok(t)
}

/// Brings every equation to the size of its own derivatives.
fn scale_rows(a: &mut [f64], columns: usize, rows: usize, mut residual: Option<&mut [f64]>) {
    for i in 0..rows {
        let row = &mut a[i * columns..(i + 1) * columns];
        let size = row.iter().fold(0.0_f64, |s, v| s.max(v.abs()));
        if size > 0.0 && size.is_finite() {
            for v in row.iter_mut() {
                *v /= size;
            }
            if let Some(r) = residual.as_deref_mut() {
                r[i] /= size;
            }
        }
    }
}

/// Newton's method with one linear condition `row . (u - anchor) / scales = 0` appended; returns the iterations spent.
pub(crate) fn correct(
    equations: &mut dyn Equations,
    u: &mut [f64],
    scales: &[f64],
    row: &[f64],
    anchor: &[f64],
    what: &'static str,
) -> Result<usize> {
    const ITERATIONS: usize = 12;
    let m = u.len();
    let (mut residual, mut jacobian) = (Vec::new(), Vec::new());
    let mut last = f64::INFINITY;
    for iteration in 1..=ITERATIONS {
        equations.evaluate(u, &mut residual, &mut jacobian)?;
        let mut a = vec![0.0; m * m];
        for i in 0..m - 1 {
            for k in 0..m {
                a[i * m + k] = jacobian[i * m + k] * scales[k];
            }
        }
        let mut b = residual.clone();
        scale_rows(&mut a, m, m - 1, Some(&mut b));
        a[(m - 1) * m..].copy_from_slice(row);
        b.push(
            (0..m)
                .map(|k| row[k] * (u[k] - anchor[k]) / scales[k])
                .sum(),
        );
        let step = solve(m, &a, &b, what)?;
        for k in 0..m {
            u[k] -= step[k] * scales[k];
        }
        let size = step.iter().fold(0.0_f64, |s, v| s.max(v.abs()));
        if size < 1e-12 || size < 1e-9 && size > 0.3 * last {
            return Ok(iteration);
        }
        if size > 1e3 || iteration > 3 && size > 2.0 * last {
            break;
        }
        last = size;
    }
    Err(Error::NewtonFailed {
        what,
        iterations: ITERATIONS,
        residual: last,
    })
}

/// Sees a point and its scaled tangent, and may end the curve.
pub(crate) type Visit<'a> = &'a mut dyn FnMut(&[f64], &[f64]) -> Option<End>;

/// Follows the curve from `start` (a solution), first along increasing (`sign` > 0) or decreasing unknown `lead`.
/// `visit` sees every point with its scaled tangent and may stop the curve.
#[allow(clippy::too_many_arguments)] // all of them independent
pub(crate) fn follow(
    equations: &mut dyn Equations,
    start: &[f64],
    lead: usize,
    sign: f64,
    limits: &[Limit],
    options: &Follow,
    what: &'static str,
    visit: Visit<'_>,
) -> End {
    let mut u = start.to_vec();
    let m = u.len();
    let mut seen = vec![0.0; m];
    let mut scales = equations.scales(&u, &mut seen);
    let (mut residual, mut jacobian) = (Vec::new(), Vec::new());
    let mut direction = vec![0.0; m];
    direction[lead] = sign;
    let mut t = match equations
        .evaluate(&u, &mut residual, &mut jacobian)
        .and_then(|()| tangent(&jacobian, &scales, &direction))
    {
        Ok(t) => t,
        Err(e) => return End::Failed(e),
    };
    if let Err(e) = move_on(equations, &mut u, &mut t, &mut scales, &mut seen) {
        return End::Failed(e);
    }
    let mut h = options.step;
    for count in 0..options.points {
        let outcome = loop {
            match advance(equations, &u, &t, &scales, h, what) {
                // a sharp bend is walked again with a shorter step
                Ok((next, new, iterations)) => {
                    let cosine: f64 = t.iter().zip(&new).map(|(a, b)| a * b).sum();
                    if cosine < 0.9 && h > 1e-4 * options.step {
                        h *= 0.5;
                        continue;
                    }
                    let grow = if iterations <= 3 && cosine > 0.99 {
                        1.6
                    } else if iterations >= 6 {
                        0.6
                    } else {
                        1.0
                    };
                    break Ok((next, new, (h * grow).min(options.largest_step)));
                }
                Err(e) => {
                    h *= 0.4;
                    if h < 1e-5 * options.step {
                        break Err(e);
                    }
                }
            }
        };
        let (next, new, step) = match outcome {
            Ok(o) => o,
            Err(e) => return End::Failed(e),
        };
        for limit in limits {
            let m = u.len();
            let unknown = m - 1 - limit.from_last;
            let (value, before) = (next[unknown], u[unknown]);
            let end = if value < limit.low {
                limit.low
            } else if value > limit.high {
                limit.high
            } else {
                continue;
            };
            // the last point goes onto the end of the range
            let fraction = if value == before {
                0.0
            } else {
                (end - before) / (value - before)
            };
            let mut last: Vec<f64> = u
                .iter()
                .zip(&next)
                .map(|(a, b)| a + fraction * (b - a))
                .collect();
            last[unknown] = end;
            let mut row = vec![0.0; m];
            row[unknown] = 1.0;
            let anchor = last.clone();
            if let Err(e) = correct(equations, &mut last, &scales, &row, &anchor, what) {
                return End::Failed(e);
            }
            last[unknown] = end;
            return visit(&last, &new).unwrap_or(End::Range {
                parameter: limit.parameter,
                value: end,
            });
        }
        u = next;
        t = new;
        h = step;
        if let Some(end) = visit(&u, &t) {
            return end;
        }
        if count > 3 && closed(start, &u, &t, &scales, h) {
            return End::Closed;
        }
        if let Err(e) = move_on(equations, &mut u, &mut t, &mut scales, &mut seen) {
            return End::Failed(e);
        }
    }
    End::Points
}

/// Tells the equations of the new point and brings the tangent to the new scales.
fn move_on(
    equations: &mut dyn Equations,
    u: &mut Vec<f64>,
    t: &mut Vec<f64>,
    scales: &mut Vec<f64>,
    seen: &mut Vec<f64>,
) -> Result<()> {
    for (v, s) in t.iter_mut().zip(scales.iter()) {
        *v *= s;
    }
    equations.accept(u, t)?;
    *scales = equations.scales(u, seen);
    for (v, s) in t.iter_mut().zip(scales.iter()) {
        *v /= s;
    }
    let length = norm(t);
    for v in t {
        *v /= length;
    }
    Ok(())
}

fn closed(start: &[f64], u: &[f64], t: &[f64], scales: &[f64], h: f64) -> bool {
    if start.len() != u.len() {
        return false;
    }
    let gap: Vec<f64> = start
        .iter()
        .zip(u)
        .zip(scales)
        .map(|((a, b), s)| (a - b) / s)
        .collect();
    let along: f64 = gap.iter().zip(t).map(|(a, b)| a * b).sum();
    let distance = norm(&gap);
    distance < 0.7 * h && along > 0.5 * distance
}

/// One predictor-corrector step: the new point, its tangent, and the corrector's iterations.
pub(crate) fn advance(
    equations: &mut dyn Equations,
    u: &[f64],
    t: &[f64],
    scales: &[f64],
    h: f64,
    what: &'static str,
) -> Result<(Vec<f64>, Vec<f64>, usize)> {
    let mut next: Vec<f64> = (0..u.len()).map(|k| u[k] + h * t[k] * scales[k]).collect();
    let anchor = next.clone();
    let iterations = correct(equations, &mut next, scales, t, &anchor, what)?;
    let (mut residual, mut jacobian) = (Vec::new(), Vec::new());
    equations.evaluate(&next, &mut residual, &mut jacobian)?;
    let new = tangent(&jacobian, scales, t)?;
    Ok((next, new, iterations))
}
