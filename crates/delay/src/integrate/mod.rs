//! Time integration with step-size control.
//!
//! Dormand and Prince's explicit Runge-Kutta pair of order 5(4) with its continuous extension of
//! order 4 (Hairer, Norsett and Wanner, Solving Ordinary Differential Equations I), a PI
//! controller, and for delays: discontinuities propagated and stepped on, stages iterated when a
//! delay is shorter than the step (Bellen and Zennaro 2003; Shampine and Thompson 2001).

mod breaks;
mod events;
mod trajectory;

use breaks::Breaks;
use events::{crossed_break, first_event};
pub use trajectory::Trajectory;
use trajectory::{Segment, dense};

use libm::pow;

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

impl Tolerance {
    fn check(&self) -> Result<()> {
        let wrong = |name, allowed, value| {
            Error::Argument(format!("{name} must be {allowed}, not {value}"))
        };
        if !(self.relative > 0.0 && self.relative < 1.0) {
            return Err(wrong("relative", "above 0 and below 1", self.relative));
        }
        if !(self.absolute >= 0.0 && self.absolute.is_finite()) {
            return Err(wrong("absolute", "0 or more", self.absolute));
        }
        if self.steps == 0 {
            return Err(wrong("steps", "1 or more", 0.0));
        }
        Ok(())
    }
}

/// Event at a point of a trajectory where the right-hand side is not smooth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Event {
    /// When.
    pub time: f64,
    /// Kind of the event.
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
/// A discontinuity in a derivative of higher order than this does not disturb a method of order
/// five.
const SMOOTH_ORDER: usize = 5;
/// So many steps in a row that end where they began do not come to an end: a bound is left and
/// reached again, or a switch passed to and fro, at one instant.
const STEPS_AT_A_STANDSTILL: usize = 1000;
/// Discontinuities that are kept before the old ones are looked for.
const DISCONTINUITIES_KEPT: usize = 64;

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
    /// The polynomial of the step in work: start, length, coefficients; `None` before the first
    /// iterate.
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

    /// One step of length h from (t, x) with stages k (k[0] given): the coefficients of its
    /// polynomial and the error estimate.
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
                let evaluated = self.field(t + NODES[s] * h, &stage, &mut out);
                k[s] = out;
                evaluated?;
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

/// Solves the initial-value problem from `t0` to `t1`; `history(t, out)` gives the state for all t
/// <= t0.
///
/// Bounds are kept by sliding and switches are located to rounding; both are listed in
/// [`Trajectory::events`].
///
/// # Errors
/// [`Error::StepUnderflow`], [`Error::NotFinite`], [`Error::TooManySteps`], [`Error::BadDelay`];
/// [`Error::Argument`] for an initial state outside its bounds.
pub fn integrate<D: DynSystem + ?Sized>(
    system: &D,
    p: &[f64],
    history: &dyn Fn(f64, &mut [f64]),
    t0: f64,
    t1: f64,
    tolerance: &Tolerance,
) -> Result<Trajectory> {
    if !(t0.is_finite() && t1.is_finite() && t1 >= t0) {
        return Err(Error::Argument(format!("integration from {t0} to {t1}")));
    }
    tolerance.check()?;
    let mut work = Integration::new(system, p, history, (t0, t1), tolerance)?;
    let mut standing = 0;
    for _ in 0..tolerance.steps {
        if work.t >= t1 {
            return Ok(work.run.path);
        }
        let before = work.t;
        work.advance()?;
        let still = work.t - before <= 16.0 * f64::EPSILON * before.abs();
        standing = if still { standing + 1 } else { 0 };
        if standing >= STEPS_AT_A_STANDSTILL {
            return Err(Error::StepUnderflow { time: work.t });
        }
    }
    if work.t >= t1 {
        Ok(work.run.path)
    } else {
        Err(Error::TooManySteps {
            steps: tolerance.steps,
            time: work.t,
        })
    }
}

/// A step that the error estimate lets stand.
struct Step {
    length: f64,
    /// Coefficients of its polynomial.
    coefficients: Vec<f64>,
    end: Vec<f64>,
    error: f64,
}

/// An integration on its way.
struct Integration<'a, D: DynSystem + ?Sized> {
    run: Run<'a, D>,
    tolerance: &'a Tolerance,
    t: f64,
    t1: f64,
    x: Vec<f64>,
    /// The stages of a step; the first is the field at its start.
    k: Vec<Vec<f64>>,
    breaks: Breaks,
    /// At so many discontinuities the old ones are looked for.
    remembered: usize,
    /// The sign of each switch function.
    signs: Vec<f64>,
    /// The field jumped: its value at the start has to be computed anew.
    restart: bool,
    /// The state that has just left its bound.
    leaving: Option<usize>,
    /// Length of the next step.
    h: f64,
    last_error: f64,
}

impl<'a, D: DynSystem + ?Sized> Integration<'a, D> {
    fn new(
        system: &'a D,
        p: &'a [f64],
        history: &'a dyn Fn(f64, &mut [f64]),
        (t0, t1): (f64, f64),
        tolerance: &'a Tolerance,
    ) -> Result<Self> {
        let (n, m) = (system.dimension(), system.delays());
        let mut x = vec![0.0; n];
        history(t0, &mut x);
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
        run.look_back(t0, &x)?;
        let constant = if system.state_dependent() {
            Vec::new()
        } else {
            run.delays(&x).collect()
        };
        let mut signs = vec![0.0; system.switches()];
        run.switches(t0, &x, &mut signs)?;
        for s in &mut signs {
            *s = if *s < 0.0 { -1.0 } else { 1.0 };
        }
        Ok(Self {
            run,
            tolerance,
            t: t0,
            t1,
            x,
            k: vec![vec![0.0; n]; 7],
            breaks: Breaks::new(&tolerance.breakpoints, constant, t0, t1),
            remembered: DISCONTINUITIES_KEPT,
            signs,
            restart: true,
            leaving: None,
            h: 0.0,
            last_error: 1e-4,
        })
    }

    /// One step, or the attempt of one that was too long.
    fn advance(&mut self) -> Result<()> {
        if self.restart {
            self.begin()?;
        }
        self.h = self.h.min(self.tolerance.largest_step);
        let stop = self.breaks.stop_after(self.t);
        let Some(mut step) = self.attempt(stop)? else {
            return Ok(());
        };
        let (t, moving) = (self.t, self.run.system.state_dependent());
        self.run.current = Some((t, step.length, step.coefficients.clone()));
        if moving && self.stops_at_crossing(&mut step)? {
            return Ok(());
        }
        let Step {
            length,
            coefficients,
            end,
            error,
        } = step;
        let signs = &mut self.signs;
        match first_event(&mut self.run, t, length, &coefficients, &end, signs)? {
            None => {
                self.run.accept(t, length, length, coefficients);
                self.t = if t + length >= stop { stop } else { t + length };
                self.run.path.end = self.t;
                self.x = end;
                self.k.swap(0, 6);
            }
            Some((at, kind)) => {
                dense(&coefficients, at / length, &mut self.x);
                self.run.accept(t, length, at, coefficients);
                self.t += at;
                self.happened(kind);
            }
        }
        if moving && self.breaks.passed.len() > self.remembered {
            self.forget()?;
        }
        let error = error.max(1e-10);
        self.h = length * (0.9 * pow(error, -0.14) * pow(self.last_error, 0.08)).clamp(0.2, 6.0);
        self.last_error = error.max(1e-4);
        Ok(())
    }

    /// The field at the start of a step, where it may have jumped.
    fn begin(&mut self) -> Result<()> {
        let leaving = self.leaving.take();
        self.run.settle(self.t, &mut self.x, leaving)?;
        let mut k0 = std::mem::take(&mut self.k[0]);
        self.run.field(self.t, &self.x, &mut k0)?;
        self.k[0] = k0;
        if self.h == 0.0 {
            self.h = first_step(&self.x, &self.k[0], self.t1 - self.t, self.tolerance);
        }
        self.restart = false;
        Ok(())
    }

    /// A step of length h, or up to `stop`; `None` where h had to be made shorter.
    fn attempt(&mut self, stop: f64) -> Result<Option<Step>> {
        let (t, h) = (self.t, self.h);
        let length = if t + 1.01 * h >= stop { stop - t } else { h };
        if length <= 16.0 * f64::EPSILON * t.abs().max(self.t1.abs()) && stop - t > length {
            return Err(Error::StepUnderflow { time: t });
        }
        // a stage may leave the domain of the equations when the step is too long
        let (error, refusal) = match self
            .run
            .step(t, &self.x, length, &mut self.k, self.tolerance)
        {
            Ok((coefficients, end, error)) if error <= 1.0 => {
                return Ok(Some(Step {
                    length,
                    coefficients,
                    end,
                    error,
                }));
            }
            Ok((_, _, error)) => (error, None),
            Err(e @ (Error::NotFinite { .. } | Error::BadDelay { .. })) => (1e6, Some(e)),
            Err(e) => return Err(e),
        };
        let shrink = (0.9 * pow(error, -0.2)).clamp(0.1, 0.9);
        // NaN shrinks most
        self.h = length * if shrink.is_nan() { 0.1 } else { shrink };
        if self.h <= 16.0 * f64::EPSILON * t.abs().max(1e-300) {
            return Err(refusal.unwrap_or(Error::StepUnderflow { time: t }));
        }
        Ok(None)
    }

    /// A delayed argument that passes an old discontinuity makes a new one: steps onto it, unless a
    /// bound reached on the way comes first. Whether the step is done with that.
    fn stops_at_crossing(&mut self, step: &mut Step) -> Result<bool> {
        let t = self.t;
        let Some((at, order)) = crossed_break(
            &mut self.run,
            t,
            &self.x,
            step.length,
            &step.coefficients,
            &step.end,
            &self.breaks.passed,
        )?
        else {
            return Ok(false);
        };
        if at >= step.length * (1.0 - 1e-9) || at <= 1e-9 * step.length {
            self.breaks.passed.push((t + at, order));
            return Ok(false);
        }
        step.length = at;
        let (coefficients, end, _) = self.run.step(t, &self.x, at, &mut self.k, self.tolerance)?;
        self.run.current = Some((t, at, coefficients.clone()));
        let event = first_event(&mut self.run, t, at, &coefficients, &end, &mut self.signs)?;
        if event.is_none() {
            self.breaks.passed.push((t + at, order));
            self.run.accept(t, at, at, coefficients);
            self.t += at;
            self.x = end;
            self.restart = true;
            return Ok(true);
        }
        (step.coefficients, step.end) = (coefficients, end);
        Ok(false)
    }

    /// At `t` something happened that makes the field jump.
    fn happened(&mut self, kind: EventKind) {
        let (run, x) = (&mut self.run, &mut self.x);
        run.path.end = self.t;
        match kind {
            EventKind::Reached { state } => {
                for (b, slides) in run.bounds_of(state) {
                    let limit = if (x[state] - b.lower).abs() < (x[state] - b.upper).abs() {
                        b.lower
                    } else {
                        b.upper
                    };
                    x[state] = limit;
                    *slides = Some(limit);
                }
            }
            EventKind::Left { state } => {
                self.leaving = Some(state);
                for (_, slides) in run.bounds_of(state) {
                    *slides = None;
                }
            }
            EventKind::Switched { switch } => self.signs[switch] = -self.signs[switch],
        }
        run.path.events.push(Event { time: self.t, kind });
        self.breaks.add(self.t);
        self.restart = true;
    }

    /// Forgets discontinuities that no delayed argument comes to any more, unless a delay more than
    /// doubles at once, and those that have become too smooth to matter: what is left is looked
    /// through in every step.
    fn forget(&mut self) -> Result<()> {
        let t = self.t;
        self.run.look_back(t, &self.x)?;
        let longest = self.run.delays(&self.x).fold(0.0, f64::max);
        self.breaks
            .passed
            .retain(|(time, order)| *time >= t - 2.0 * longest && *order < SMOOTH_ORDER);
        self.remembered = DISCONTINUITIES_KEPT.max(2 * self.breaks.passed.len());
        Ok(())
    }
}

impl<D: DynSystem + ?Sized> Run<'_, D> {
    /// The delays at x, whose delayed states [`look_back`](Self::look_back) has filled in.
    fn delays<'r>(&'r self, x: &'r [f64]) -> impl Iterator<Item = f64> + 'r {
        let (past, p) = (&self.past[..], self.p);
        (0..self.m).map(move |j| self.system.delay_f64(j, Args { x, past, p }))
    }

    /// The bounds of a state, and which end it slides along.
    fn bounds_of(&mut self, state: usize) -> impl Iterator<Item = (&Bound, &mut Option<f64>)> {
        self.bounds
            .iter()
            .zip(&mut self.sliding)
            .filter(move |(b, _)| b.state == state)
    }

    fn accept(&mut self, t: f64, length: f64, used: f64, c: Vec<f64>) {
        self.path.segments.push(Segment { start: t, length });
        self.path.coefficients.extend(c);
        self.path.end = t + used;
        self.current = None;
    }

    /// At a restart: a state at its bound slides if the field pushes it outwards, and only then.
    /// The one that is just `leaving` does so because its slope passed zero inside the step, where
    /// it is continuous: its sign here is rounding.
    fn settle(&mut self, t: f64, x: &mut [f64], leaving: Option<usize>) -> Result<()> {
        if self.bounds.is_empty() {
            return Ok(());
        }
        let mut f = vec![0.0; self.n];
        self.free_field(t, x, &mut f)?;
        for (b, slides) in self.bounds.iter().zip(&mut self.sliding) {
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
            self.path
                .events
                .extend(kind.map(|kind| Event { time: t, kind }));
            *slides = now;
            if let Some(limit) = now {
                x[b.state] = limit;
            }
        }
        Ok(())
    }
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
        .min(1.0 / pow(speed.max(1e-30), 0.2))
        .max(1e-12 * span)
}
