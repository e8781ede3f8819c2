//! Pseudo-arclength continuation of the zero set of m equations in m + 1 unknowns (Keller;
//! Moore-Penrose corrector).

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
    /// Called with every accepted point and its tangent (in the units of the unknowns), for
    /// references that move along: null vectors, phase conditions, meshes. Both may be replaced,
    /// even by longer ones as long as the last unknowns keep their meaning.
    fn accept(&mut self, _u: &mut Vec<f64>, _tangent: &mut Vec<f64>) -> Result<()> {
        Ok(())
    }
    /// The scale of each unknown: a change by it counts as a step of one.
    fn scales(&self, u: &[f64], values: &mut Vec<f64>) -> Vec<f64> {
        scales(u, values)
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
    /// The equations are not smooth beyond: where, in words.
    Boundary(String),
    /// The next point could not be computed.
    Failed(Error),
}

/// How to continue a curve.
#[derive(Clone, Debug, PartialEq)]
pub struct ContinuationOptions {
    /// The most points to compute in each direction.
    pub points: usize,
    /// First step, relative to the size of the unknowns.
    pub step: f64,
    /// Largest step, likewise.
    pub largest_step: f64,
}

impl Default for ContinuationOptions {
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

impl Limit {
    fn unknown(&self, u: &[f64]) -> usize {
        u.len() - 1 - self.from_last
    }

    /// The end of the range that lies ahead within `reach` along a tangent.
    fn end_ahead(&self, u: &[f64], tangent: &[f64], scales: &[f64], reach: f64) -> Option<f64> {
        let k = self.unknown(u);
        let speed = tangent[k] * scales[k];
        let end = if speed > 0.0 { self.high } else { self.low };
        ((end - u[k]).abs() <= reach * speed.abs()).then_some(end)
    }

    /// The end of the range that a point lies beyond.
    fn end_before(&self, u: &[f64]) -> Option<f64> {
        let value = u[self.unknown(u)];
        if value < self.low {
            Some(self.low)
        } else if value > self.high {
            Some(self.high)
        } else {
            None
        }
    }
}

/// The scale of each unknown: a change by it counts as a step of one. An unknown that passes zero
/// keeps a part of its past size.
pub(crate) fn scales(u: &[f64], values: &mut [f64]) -> Vec<f64> {
    u.iter()
        .zip(values)
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

/// The error that Newton's method may leave, in scaled unknowns, and below which size of its steps
/// it is trusted to be quadratic.
const NEWTON_ERROR: f64 = 1e-14;
const QUADRATIC_STEP: f64 = 0.01;

/// Newton's method with one linear condition `row . (u - anchor) / scales = 0` appended; returns
/// the iterations spent and the Jacobian from which the last step was taken.
pub(crate) fn correct(
    equations: &mut dyn Equations,
    u: &mut [f64],
    scales: &[f64],
    row: &[f64],
    anchor: &[f64],
    what: &'static str,
) -> Result<(usize, Vec<f64>)> {
    const NEWTON_ITERATIONS: usize = 12;
    let m = u.len();
    let (mut residual, mut jacobian) = (Vec::new(), Vec::new());
    let mut last = f64::INFINITY;
    for iteration in 1..=NEWTON_ITERATIONS {
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
        // what a quadratic iteration leaves after this step, from the ratio of the last two
        let left = if last < QUADRATIC_STEP {
            size * (size / last).powi(2)
        } else {
            f64::INFINITY
        };
        if size < 1e-12 || size < 1e-9 && size > 0.3 * last || size < 1e-5 && left < NEWTON_ERROR {
            return Ok((iteration, jacobian));
        }
        if size > 1e3 || iteration > 3 && size > 2.0 * last {
            break;
        }
        last = size;
    }
    Err(Error::NewtonFailed {
        what,
        iterations: NEWTON_ITERATIONS,
        residual: last,
    })
}

/// How near the end of a range a curve that cannot go on has reached it, in first steps.
const END_REACH: f64 = 0.01;

/// Sees a point and its scaled tangent, and may end the curve.
pub(crate) type Visit<'a> = &'a mut dyn FnMut(&[f64], &[f64]) -> Option<End>;

/// Follows the curve from `start` (a solution), first along increasing (`sign` > 0) or decreasing
/// unknown `lead`.
/// `visit` sees every point with its scaled tangent and may stop the curve.
#[allow(clippy::too_many_arguments)] // all of them independent
pub(crate) fn continue_curve(
    equations: &mut dyn Equations,
    start: &[f64],
    lead: usize,
    sign: f64,
    limits: &[Limit],
    options: &ContinuationOptions,
    what: &'static str,
    visit: Visit<'_>,
) -> End {
    let mut u = start.to_vec();
    let mut walk = Walk {
        scales: Vec::new(),
        sizes: vec![0.0; u.len()],
        h: options.step,
        equations,
        options,
        what,
    };
    walk.along(&mut u, lead, sign, start, limits, visit)
        .unwrap_or_else(End::Failed)
}

/// A walk along a curve, with what it adapts on the way.
struct Walk<'a> {
    equations: &'a mut dyn Equations,
    options: &'a ContinuationOptions,
    what: &'static str,
    scales: Vec<f64>,
    sizes: Vec<f64>,
    /// Length of the next step.
    h: f64,
}

impl Walk<'_> {
    fn along(
        &mut self,
        u: &mut Vec<f64>,
        lead: usize,
        sign: f64,
        start: &[f64],
        limits: &[Limit],
        visit: Visit<'_>,
    ) -> Result<End> {
        self.scales = self.equations.scales(u, &mut self.sizes);
        let (mut residual, mut jacobian) = (Vec::new(), Vec::new());
        let mut direction = vec![0.0; u.len()];
        direction[lead] = sign;
        self.equations.evaluate(u, &mut residual, &mut jacobian)?;
        let mut t = tangent(&jacobian, &self.scales, &direction)?;
        self.move_on(u, &mut t)?;
        for count in 0..self.options.points {
            let (next, new, h) = match self.step(u, &t) {
                Ok(step) => step,
                Err(error) => {
                    // the equations may end where the range does: a probability of one
                    let reach = END_REACH * self.options.step;
                    let ahead = limits.iter().find_map(|limit| {
                        let end = limit.end_ahead(u, &t, &self.scales, reach)?;
                        Some((limit, end))
                    });
                    let Some((limit, value)) = ahead else {
                        return Err(error);
                    };
                    let last = self.onto(u, u, limit, value)?;
                    return Ok(visit(&last, &t).unwrap_or(End::Range {
                        parameter: limit.parameter,
                        value,
                    }));
                }
            };
            let beyond = limits
                .iter()
                .find_map(|limit| limit.end_before(&next).map(|end| (limit, end)));
            if let Some((limit, end)) = beyond {
                let last = self.onto(u, &next, limit, end)?;
                return Ok(visit(&last, &new).unwrap_or(End::Range {
                    parameter: limit.parameter,
                    value: end,
                }));
            }
            (*u, t, self.h) = (next, new, h);
            if let Some(end) = visit(u, &t) {
                return Ok(end);
            }
            if count > 3 && closed(start, u, &t, &self.scales, h) {
                return Ok(End::Closed);
            }
            self.move_on(u, &mut t)?;
        }
        Ok(End::Points)
    }

    /// Tells the equations of the new point and brings the tangent to the new scales.
    fn move_on(&mut self, u: &mut Vec<f64>, t: &mut Vec<f64>) -> Result<()> {
        for (v, s) in t.iter_mut().zip(&self.scales) {
            *v *= s;
        }
        self.equations.accept(u, t)?;
        self.scales = self.equations.scales(u, &mut self.sizes);
        for (v, s) in t.iter_mut().zip(&self.scales) {
            *v /= s;
        }
        let length = norm(t);
        for v in t {
            *v /= length;
        }
        Ok(())
    }

    /// The next point, the tangent there, and how long the step after it should be.
    fn step(&mut self, u: &[f64], t: &[f64]) -> Result<(Vec<f64>, Vec<f64>, f64)> {
        loop {
            match advance(self.equations, u, t, &self.scales, self.h, self.what) {
                // a sharp bend is walked again with a shorter step
                Ok((next, new, iterations)) => {
                    let cosine: f64 = t.iter().zip(&new).map(|(a, b)| a * b).sum();
                    if cosine < 0.9 && self.h > 1e-4 * self.options.step {
                        self.h *= 0.5;
                        continue;
                    }
                    let grow = if iterations <= 3 && cosine > 0.99 {
                        1.6
                    } else if iterations >= 6 {
                        0.6
                    } else {
                        1.0
                    };
                    let longer = (self.h * grow).min(self.options.largest_step);
                    return Ok((next, new, longer));
                }
                Err(e) => {
                    self.h *= 0.4;
                    if self.h < 1e-5 * self.options.step {
                        return Err(e);
                    }
                }
            }
        }
    }

    /// The point between `u` and `next` at the end of a range.
    fn onto(&mut self, u: &[f64], next: &[f64], limit: &Limit, end: f64) -> Result<Vec<f64>> {
        let unknown = limit.unknown(u);
        let (value, before) = (next[unknown], u[unknown]);
        let fraction = if value == before {
            0.0
        } else {
            (end - before) / (value - before)
        };
        let mut last: Vec<f64> = u
            .iter()
            .zip(next)
            .map(|(a, b)| a + fraction * (b - a))
            .collect();
        last[unknown] = end;
        let mut row = vec![0.0; u.len()];
        row[unknown] = 1.0;
        let anchor = last.clone();
        correct(
            self.equations,
            &mut last,
            &self.scales,
            &row,
            &anchor,
            self.what,
        )?;
        last[unknown] = end;
        Ok(last)
    }
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
    let (iterations, jacobian) = correct(equations, &mut next, scales, t, &anchor, what)?;
    // what lies further from the predicted point than that from the last one is another curve
    let off: Vec<f64> = (0..next.len())
        .map(|k| (next[k] - anchor[k]) / scales[k])
        .collect();
    if norm(&off) > h {
        return Err(Error::NewtonFailed {
            what,
            iterations,
            residual: norm(&off),
        });
    }
    // the last step was below 1e-5: the tangent is off by as little, and only predicts the next point
    let new = tangent(&jacobian, scales, t)?;
    Ok((next, new, iterations))
}
