//! Time integration with step-size control.
//!
//! Dormand and Prince's explicit Runge-Kutta pair of order 5(4) with its continuous extension of order 4 (Hairer, Norsett and
//! Wanner, Solving Ordinary Differential Equations I), a PI controller, and for delays: discontinuities propagated and stepped on,
//! stages iterated when a delay is shorter than the step (Bellen and Zennaro 2003; Shampine and Thompson 2001).

mod events;
mod trajectory;

use events::{crossed_break, first_event};
pub use trajectory::Trajectory;
use trajectory::{Segment, dense};

use crate::{
    error::{Error, Result},
    system::{Args, Bound, DynSystem, Settled},
    work::spend,
};

/// Tolerances and limits of [`integrate`].
#[derive(Clone, Debug, PartialEq)]
pub struct Tolerance {
    /// Relative local error per step.
    pub relative: f64,
    /// Absolute local error per step, in the units of each state.
    pub absolute: f64,
    /// Largest step; infinity for none.
    pub largest_step: f64,
    /// The most steps to take.
    pub steps: usize,
    /// Times before the start at which the history is not smooth.
    pub breakpoints: Vec<f64>,
}

impl Default for Tolerance {
    fn default() -> Self {
        Self {
            relative: 1e-8,
            absolute: 1e-11,
            largest_step: f64::INFINITY,
            steps: 1_000_000,
            breakpoints: Vec::new(),
        }
    }
}

/// What happened at a point of a trajectory where the right-hand side is not smooth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Event {
    /// When.
    pub time: f64,
    /// What.
    pub kind: EventKind,
}

/// Kinds of [`Event`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// The state reached a bound and slides along it.
    Reached {
        /// Index of the state.
        state: usize,
    },
    /// The state left its bound.
    Left {
        /// Index of the state.
        state: usize,
    },
    /// A switch function changed its sign.
    Switched {
        /// Index of the switch function.
        switch: usize,
    },
}

const A: [[f64; 6]; 6] = [
    [1.0 / 5.0, 0.0, 0.0, 0.0, 0.0, 0.0],
    [3.0 / 40.0, 9.0 / 40.0, 0.0, 0.0, 0.0, 0.0],
    [44.0 / 45.0, -56.0 / 15.0, 32.0 / 9.0, 0.0, 0.0, 0.0],
    [
        19372.0 / 6561.0,
        -25360.0 / 2187.0,
        64448.0 / 6561.0,
        -212.0 / 729.0,
        0.0,
        0.0,
    ],
    [
        9017.0 / 3168.0,
        -355.0 / 33.0,
        46732.0 / 5247.0,
        49.0 / 176.0,
        -5103.0 / 18656.0,
        0.0,
    ],
    [
        35.0 / 384.0,
        0.0,
        500.0 / 1113.0,
        125.0 / 192.0,
        -2187.0 / 6784.0,
        11.0 / 84.0,
    ],
];
const NODES: [f64; 7] = [0.0, 0.2, 0.3, 0.8, 8.0 / 9.0, 1.0, 1.0];
const ERROR: [f64; 7] = [
    71.0 / 57600.0,
    0.0,
    -71.0 / 16695.0,
    71.0 / 1920.0,
    -17253.0 / 339_200.0,
    22.0 / 525.0,
    -1.0 / 40.0,
];
const DENSE: [f64; 7] = [
    -12_715_105_075.0 / 11_282_082_432.0,
    0.0,
    87_487_479_700.0 / 32_700_410_799.0,
    -10_690_763_975.0 / 1_880_347_072.0,
    701_980_252_875.0 / 199_316_789_632.0,
    -1_453_857_185.0 / 822_651_844.0,
    69_997_945.0 / 29_380_423.0,
];
/// A discontinuity in a derivative of higher order than this does not disturb a method of order five.
const SMOOTH: usize = 5;
/// Discontinuities that are kept before the old ones are looked for.
const REMEMBERED: usize = 64;

struct Run<'a, D: DynSystem + ?Sized> {
    system: &'a D,
    /// The same with its parameters settled.
    settled: Option<Box<dyn Settled + 'a>>,
    history: &'a dyn Fn(f64, &mut [f64]),
    p: &'a [f64],
    t0: f64,
    n: usize,
    m: usize,
    path: Trajectory,
    /// The polynomial of the step in work: start, length, coefficients; `None` before the first iterate.
    current: Option<(f64, f64, Vec<f64>)>,
    hints: Vec<usize>,
    past: Vec<f64>,
    bounds: Vec<Bound>,
    /// For each bound: which end the state slides along.
    sliding: Vec<Option<f64>>,
    /// Whether a stage of this step looked into the step itself.
    overlap: bool,
}

impl<D: DynSystem + ?Sized> Run<'_, D> {
    fn solution(&mut self, t: f64, delay: usize, target: usize) {
        let n = self.n;
        let mut out = std::mem::take(&mut self.past);
        let slot = &mut out[target..target + n];
        if t <= self.t0 {
            (self.history)(t, slot);
        } else if t <= self.path.end && !self.path.segments.is_empty() {
            self.path.lookup(t, &mut self.hints[delay], slot);
        } else {
            self.overlap = true;
            if let Some((start, length, c)) = &self.current {
                dense(c, (t - start) / length, slot);
            } else if self.path.segments.is_empty() {
                (self.history)(self.t0, slot);
            } else {
                // first iterate: the last step's polynomial carried on
                let last = self.path.segments.len() - 1;
                self.path.polynomial(last, t, slot);
            }
        }
        self.past = out;
    }

    /// Fills the delayed states at (t, x).
    fn look_back(&mut self, t: f64, x: &[f64]) -> Result<()> {
        spend(self.n * (1 + self.m))?;
        for j in 0..self.m {
            let tau = self.system.delay_f64(
                j,
                Args {
                    x,
                    past: &self.past,
                    p: self.p,
                },
            );
            if tau < 0.0 || tau.is_nan() {
                return Err(Error::BadDelay {
                    delay: j,
                    value: tau,
                    time: t,
                    cause: "a delay must not be negative",
                });
            }
            if tau == 0.0 {
                self.past[j * self.n..(j + 1) * self.n].copy_from_slice(x);
            } else {
                self.solution(t - tau, j, j * self.n);
            }
        }
        Ok(())
    }

    /// The right-hand side without sliding.
    fn free_field(&mut self, t: f64, x: &[f64], out: &mut [f64]) -> Result<()> {
        self.look_back(t, x)?;
        let past = &self.past;
        match &mut self.settled {
            Some(settled) => settled.rhs(x, past, out),
            None => self.system.rhs_f64(Args { x, past, p: self.p }, out),
        }
        Ok(())
    }

    fn field(&mut self, t: f64, x: &[f64], out: &mut [f64]) -> Result<()> {
        self.free_field(t, x, out)?;
        for (bound, slides) in self.bounds.iter().zip(&self.sliding) {
            if slides.is_some() {
                out[bound.state] = 0.0;
            }
        }
        Ok(())
    }

    fn switches(&mut self, t: f64, x: &[f64], out: &mut [f64]) -> Result<()> {
        self.look_back(t, x)?;
        self.system.switch(
            Args {
                x,
                past: &self.past,
                p: self.p,
            },
            out,
        );
        Ok(())
    }

    /// One step of length h from (t, x) with stages k (k[0] given): the coefficients of its polynomial and the error estimate.
    fn step(
        &mut self,
        t: f64,
        x: &[f64],
        h: f64,
        k: &mut [Vec<f64>],
        tolerance: &Tolerance,
    ) -> Result<(Vec<f64>, Vec<f64>, f64)> {
        let n = self.n;
        let mut stage = vec![0.0; n];
        let mut previous: Option<Vec<f64>> = None;
        self.current = None;
        for _ in 0..12 {
            self.overlap = false;
            for s in 1..7 {
                for i in 0..n {
                    let mut sum = 0.0;
                    for (r, row) in k.iter().enumerate().take(s) {
                        sum += A[s - 1][r] * row[i];
                    }
                    stage[i] = x[i] + h * sum;
                }
                let mut out = std::mem::take(&mut k[s]);
                let outcome = self.field(t + NODES[s] * h, &stage, &mut out);
                k[s] = out;
                outcome?;
            }
            let mut c = vec![0.0; 5 * n];
            for i in 0..n {
                let rise = stage[i] - x[i];
                let bulge = h * k[0][i] - rise;
                c[i] = x[i];
                c[n + i] = rise;
                c[2 * n + i] = bulge;
                c[3 * n + i] = rise - h * k[6][i] - bulge;
                c[4 * n + i] = h * (0..7).map(|r| DENSE[r] * k[r][i]).sum::<f64>();
            }
            if !c.iter().all(|v| v.is_finite()) {
                return Err(Error::NotFinite { time: t + h });
            }
            let weight =
                |i: usize| tolerance.absolute + tolerance.relative * x[i].abs().max(stage[i].abs());
            let settled = !self.overlap
                || previous.as_ref().is_some_and(|old| {
                    (0..n).all(|i| {
                        (0..5).all(|r| (old[r * n + i] - c[r * n + i]).abs() < 0.02 * weight(i))
                    })
                });
            if settled {
                let mut error = 0.0;
                for i in 0..n {
                    let e = h * (0..7).map(|r| ERROR[r] * k[r][i]).sum::<f64>() / weight(i);
                    error += e * e;
                }
                return Ok((c, stage, (error / n as f64).sqrt()));
            }
            self.current = Some((t, h, c.clone()));
            previous = Some(c);
        }
        // no contraction: ask for a shorter step
        Ok((Vec::new(), stage, 1e6))
    }
}

/// Solves the initial-value problem from `t0` to `t1`; `history(t, out)` gives the state for all t <= t0.
///
/// Bounds are kept by sliding and switches are located to rounding; both are listed in [`Trajectory::events`].
///
/// # Errors
/// [`Error::StepUnderflow`], [`Error::NotFinite`], [`Error::TooManySteps`], [`Error::BadDelay`]; [`Error::Argument`] for an initial
/// state outside its bounds.
pub fn integrate<D: DynSystem + ?Sized>(
    system: &D,
    p: &[f64],
    history: &dyn Fn(f64, &mut [f64]),
    t0: f64,
    t1: f64,
    tolerance: &Tolerance,
) -> Result<Trajectory> {
    let (n, m) = (system.dimension(), system.delays());
    let mut x = vec![0.0; n];
    history(t0, &mut x);
    if !(t0.is_finite() && t1.is_finite() && t1 >= t0) {
        return Err(Error::Argument(format!("integration from {t0} to {t1}")));
    }
    let bounds = system.bounds(p);
    if let Some(b) = bounds
        .iter()
        .find(|b| x[b.state] < b.lower || x[b.state] > b.upper)
    {
        return Err(Error::Argument(format!(
            "state {} starts at {}, outside {} .. {}",
            b.state, x[b.state], b.lower, b.upper
        )));
    }
    let mut run = Run {
        system,
        settled: system.settle(p),
        history,
        p,
        t0,
        n,
        m,
        path: Trajectory {
            n,
            segments: Vec::new(),
            coefficients: Vec::new(),
            end: t0,
            events: Vec::new(),
        },
        current: None,
        hints: vec![0; m],
        past: vec![0.0; n * m],
        sliding: vec![None; bounds.len()],
        bounds,
        overlap: false,
    };
    let mut k = vec![vec![0.0; n]; 7];
    let mut t = t0;
    // discontinuities (time, order of the derivative that jumps), and those still ahead for constant delays
    let mut breaks: Vec<(f64, usize)> = tolerance
        .breakpoints
        .iter()
        .filter(|b| **b < t0)
        .map(|b| (*b, 1))
        .collect();
    breaks.push((t0, 0));
    let mut ahead: Vec<(f64, usize)> = Vec::new();
    let moving = system.state_dependent();
    run.look_back(t, &x)?;
    let constant: Vec<f64> = if moving {
        Vec::new()
    } else {
        (0..m)
            .map(|j| {
                system.delay_f64(
                    j,
                    Args {
                        x: &x,
                        past: &run.past,
                        p,
                    },
                )
            })
            .collect()
    };
    let push_ahead = |ahead: &mut Vec<(f64, usize)>, time: f64, order: usize| {
        for tau in constant.iter().filter(|tau| **tau > 0.0) {
            let next = time + tau;
            if order < SMOOTH
                && next > t0
                && next < t1
                && !ahead.iter().any(|(a, _)| (a - next).abs() <= 1e-12 * tau)
            {
                ahead.push((next, order + 1));
            }
        }
        ahead.sort_by(|a, b| b.0.total_cmp(&a.0));
    };
    for (time, order) in breaks.clone() {
        push_ahead(&mut ahead, time, order);
    }
    let count = system.switches();
    let mut signs = vec![0.0; count];
    run.switches(t, &x, &mut signs)?;
    for s in &mut signs {
        *s = if *s < 0.0 { -1.0 } else { 1.0 };
    }
    let mut restart = true;
    let mut leaving = None;
    let mut h = 0.0;
    let mut last_error = 1e-4_f64;
    let mut remembered = REMEMBERED;
    for _ in 0..tolerance.steps {
        if t >= t1 {
            return Ok(run.path);
        }
        if restart {
            settle(&mut run, t, &mut x, leaving.take())?;
            let mut k0 = std::mem::take(&mut k[0]);
            run.field(t, &x, &mut k0)?;
            k[0] = k0;
            if h == 0.0 {
                h = first_step(&x, &k[0], t1 - t, tolerance);
            }
            restart = false;
        }
        h = h.min(tolerance.largest_step);
        while ahead
            .last()
            .is_some_and(|(next, _)| *next <= t + 4.0 * f64::EPSILON * t.abs())
        {
            if let Some((time, order)) = ahead.pop() {
                push_ahead(&mut ahead, time, order);
            }
        }
        let stop = ahead.last().map_or(t1, |(next, _)| next.min(t1));
        let mut tried = if t + 1.01 * h >= stop { stop - t } else { h };
        if tried <= 16.0 * f64::EPSILON * t.abs().max(t1.abs()) && stop - t > tried {
            return Err(Error::StepUnderflow { time: t });
        }
        // a stage may leave the domain of the equations when the step is too long
        let (outcome, refusal) = match run.step(t, &x, tried, &mut k, tolerance) {
            Ok((c, end, error)) if error <= 1.0 => (Ok((c, end, error)), None),
            Ok((_, _, error)) => (Err(error), None),
            Err(e @ (Error::NotFinite { .. } | Error::BadDelay { .. })) => (Err(1e6), Some(e)),
            Err(e) => return Err(e),
        };
        let (mut c, mut end, error) = match outcome {
            Ok(done) => done,
            Err(error) => {
                let shrink = (0.9 * error.powf(-0.2)).clamp(0.1, 0.9);
                // NaN shrinks most
                h = tried * if shrink.is_nan() { 0.1 } else { shrink };
                if h <= 16.0 * f64::EPSILON * t.abs().max(1e-300) {
                    return Err(refusal.unwrap_or(Error::StepUnderflow { time: t }));
                }
                continue;
            }
        };
        run.current = Some((t, tried, c.clone()));
        // a delayed argument that passes an old discontinuity makes a new one: step onto it
        if moving
            && let Some((at, order)) = crossed_break(&mut run, t, &x, tried, &c, &end, &breaks)?
        {
            if at < tried * (1.0 - 1e-9) && at > 1e-9 * tried {
                tried = at;
                let redo = run.step(t, &x, tried, &mut k, tolerance)?;
                run.current = Some((t, tried, redo.0.clone()));
                // a bound reached on the way comes first
                if first_event(&mut run, t, tried, &redo.0, &redo.1, &mut signs)?.is_none() {
                    breaks.push((t + tried, order));
                    accept(&mut run, t, tried, tried, redo.0);
                    t += tried;
                    x = redo.1;
                    restart = true;
                    continue;
                }
                (c, end) = (redo.0, redo.1);
            } else {
                breaks.push((t + at, order));
            }
        }
        match first_event(&mut run, t, tried, &c, &end, &mut signs)? {
            None => {
                accept(&mut run, t, tried, tried, c);
                t = if t + tried >= stop { stop } else { t + tried };
                run.path.end = t;
                x = end;
                k.swap(0, 6);
            }
            Some((at, kind)) => {
                dense(&c, at / tried, &mut x);
                accept(&mut run, t, tried, at, c);
                t += at;
                run.path.end = t;
                match kind {
                    EventKind::Reached { state } => {
                        for (b, slides) in run.bounds.iter().zip(&mut run.sliding) {
                            if b.state == state {
                                let limit =
                                    if (x[state] - b.lower).abs() < (x[state] - b.upper).abs() {
                                        b.lower
                                    } else {
                                        b.upper
                                    };
                                x[state] = limit;
                                *slides = Some(limit);
                            }
                        }
                    }
                    EventKind::Left { state } => {
                        leaving = Some(state);
                        for (b, slides) in run.bounds.iter().zip(&mut run.sliding) {
                            if b.state == state {
                                *slides = None;
                            }
                        }
                    }
                    EventKind::Switched { switch } => signs[switch] = -signs[switch],
                }
                run.path.events.push(Event { time: t, kind });
                breaks.push((t, 0));
                push_ahead(&mut ahead, t, 0);
                restart = true;
            }
        }
        if moving && breaks.len() > remembered {
            forget(&mut run, t, &x, &mut breaks)?;
            remembered = REMEMBERED.max(2 * breaks.len());
        }
        let error = error.max(1e-10);
        h = tried * (0.9 * error.powf(-0.14) * last_error.powf(0.08)).clamp(0.2, 6.0);
        last_error = error.max(1e-4);
    }
    if t >= t1 {
        Ok(run.path)
    } else {
        Err(Error::TooManySteps {
            steps: tolerance.steps,
            time: t,
        })
    }
}

/// Forgets discontinuities that no delayed argument comes to any more, unless a delay more than doubles at once, and those that
/// have become too smooth to matter: what is left is looked through in every step.
fn forget<D: DynSystem + ?Sized>(
    run: &mut Run<'_, D>,
    t: f64,
    x: &[f64],
    breaks: &mut Vec<(f64, usize)>,
) -> Result<()> {
    run.look_back(t, x)?;
    let (past, p) = (&run.past, run.p);
    let longest = (0..run.m)
        .map(|j| run.system.delay_f64(j, Args { x, past, p }))
        .fold(0.0, f64::max);
    breaks.retain(|(time, order)| *time >= t - 2.0 * longest && *order < SMOOTH);
    Ok(())
}

fn accept<D: DynSystem + ?Sized>(
    run: &mut Run<'_, D>,
    t: f64,
    length: f64,
    used: f64,
    c: Vec<f64>,
) {
    run.path.segments.push(Segment { start: t, length });
    run.path.coefficients.extend(c);
    run.path.end = t + used;
    run.current = None;
}

/// At a restart: a state at its bound slides if the field pushes it outwards, and only then. The one that is just `leaving` does so because its slope passed
/// zero inside the step, where it is continuous: its sign here is rounding.
fn settle<D: DynSystem + ?Sized>(
    run: &mut Run<'_, D>,
    t: f64,
    x: &mut [f64],
    leaving: Option<usize>,
) -> Result<()> {
    if run.bounds.is_empty() {
        return Ok(());
    }
    let mut f = vec![0.0; run.n];
    run.free_field(t, x, &mut f)?;
    for (b, slides) in run.bounds.iter().zip(&mut run.sliding) {
        let (v, slope) = (x[b.state], f[b.state]);
        let now = if leaving == Some(b.state) {
            None
        } else if v <= b.lower && slope <= 0.0 {
            Some(b.lower)
        } else if v >= b.upper && slope >= 0.0 {
            Some(b.upper)
        } else {
            None
        };
        // a switch at the very bound may have come first
        let kind = match (slides.is_some(), now.is_some()) {
            (false, true) => Some(EventKind::Reached { state: b.state }),
            (true, false) => Some(EventKind::Left { state: b.state }),
            _ => None,
        };
        run.path
            .events
            .extend(kind.map(|kind| Event { time: t, kind }));
        *slides = now;
        if let Some(limit) = now {
            x[b.state] = limit;
        }
    }
    Ok(())
}

fn first_step(x: &[f64], f: &[f64], span: f64, tolerance: &Tolerance) -> f64 {
    let (mut size, mut speed) = (0.0_f64, 0.0_f64);
    for (x, f) in x.iter().zip(f) {
        let weight = tolerance.absolute + tolerance.relative * x.abs();
        size = size.max(x.abs() / weight);
        speed = speed.max(f.abs() / weight);
    }
    let guess = if speed > 1e-10 && size > 1e-5 {
        0.01 * size / speed
    } else {
        1e-6
    };
    guess
        .min(0.01 * span)
        .min(1.0 / speed.max(1e-30).powf(0.2))
        .max(1e-12 * span)
}
