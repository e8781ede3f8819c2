//! Time integration with a fixed step: the reference of the adaptive integration.

use ackclock_delay::{Args, Bound, DynSystem, Error, Result, Settled};

/// The formula of a [`FixedStep`] run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    /// Heun's method, order 2: two evaluations a step.
    Heun,
    /// The classical Runge-Kutta method, order 4: four evaluations a step.
    RungeKutta4,
}

/// Where a delayed state lies on the grid: steps back from now to the left node, and Hermite
/// weights of the two nodes.
#[derive(Clone, Copy, Debug, Default)]
struct Lookup {
    back: usize,
    value: [f64; 2],
    slope: [f64; 2],
}

impl Lookup {
    /// For the time `offset` steps after now (negative).
    fn new(offset: f64, h: f64) -> Self {
        let mut back = -offset as usize;
        if (back as f64) < -offset {
            back += 1;
        }
        let s = offset + back as f64;
        let r = 1.0 - s;
        Self {
            back,
            value: [r * r * (1.0 + 2.0 * s), s * s * (1.0 + 2.0 * r)],
            slope: [h * s * r * r, -h * s * s * r],
        }
    }
}

/// Steps through a system on the grid t0, t0 + h, ..., with cubic Hermite interpolation of the
/// past.
///
/// Delays must be zero or at least one step. Bounds are kept by projection after each step, so they
/// are accurate to first order in the step; use [`ackclock_delay::integrate`] where the moment of reaching a
/// bound matters.
pub(crate) struct FixedStep<'a, D: DynSystem + ?Sized> {
    system: &'a D,
    /// The same with its parameters settled.
    settled: Option<Box<dyn Settled + 'a>>,
    moving: bool,
    p: Vec<f64>,
    method: Method,
    t0: f64,
    h: f64,
    count: u64,
    n: usize,
    m: usize,
    x: Vec<f64>,
    /// States and slopes of the last grid points, a power of two of them.
    states: Vec<f64>,
    slopes: Vec<f64>,
    mask: usize,
    /// The history's own slope at t0, where the solution's may differ.
    slope_before: Vec<f64>,
    /// For constant delays: stage (0, 1/2, 1) x delay; `None` for a delay of zero.
    lookups: Vec<Option<Lookup>>,
    past: Vec<f64>,
    stage: Vec<f64>,
    k: [Vec<f64>; 4],
    bounds: Vec<Bound>,
}

impl<'a, D: DynSystem + ?Sized> FixedStep<'a, D> {
    /// Starts at `t0` with the past given by `history` (for t <= t0), steps of `h`. `longest_delay`
    /// bounds the delays of a state-dependent system and is ignored otherwise.
    ///
    /// # Errors
    /// [`Error::BadDelay`] for a delay between zero and `h`; [`Error::Argument`] for a bad step.
    pub(crate) fn new(
        system: &'a D,
        p: &[f64],
        history: &dyn Fn(f64, &mut [f64]),
        t0: f64,
        h: f64,
        longest_delay: f64,
        method: Method,
    ) -> Result<Self> {
        if !(h.is_finite() && h > 0.0) {
            return Err(Error::Argument(format!("step {h}")));
        }
        let (n, m) = (system.dimension(), system.delays());
        let mut x = vec![0.0; n];
        history(t0, &mut x);
        let mut new = Self {
            system,
            settled: system.settle(p),
            moving: system.state_dependent(),
            p: p.to_vec(),
            method,
            t0,
            h,
            count: 0,
            n,
            m,
            x,
            states: Vec::new(),
            slopes: Vec::new(),
            mask: 0,
            slope_before: vec![0.0; n],
            lookups: Vec::new(),
            past: vec![0.0; n * m],
            stage: vec![0.0; n],
            k: std::array::from_fn(|_| vec![0.0; n]),
            bounds: system.bounds(p),
        };
        let longest = if system.state_dependent() {
            longest_delay
        } else {
            new.set_lookups()?
        };
        let nodes = ((longest / h).ceil() as usize + 4).next_power_of_two();
        new.mask = nodes - 1;
        new.states = vec![0.0; nodes * n];
        new.slopes = vec![0.0; nodes * n];
        let (mut a, mut b) = (vec![0.0; n], vec![0.0; n]);
        for back in 0..nodes {
            let slot = new.slot(back);
            let t = t0 - back as f64 * h;
            history(t, &mut new.states[slot..slot + n]);
            // slopes of a given history by central differences a hundredth of a step wide,
            // one-sided at its end
            let width = 0.01 * h;
            history(t - width, &mut a);
            history(if back == 0 { t } else { t + width }, &mut b);
            let span = if back == 0 { width } else { 2.0 * width };
            for i in 0..n {
                new.slopes[slot + i] = (b[i] - a[i]) / span;
            }
        }
        let now = new.slot(0);
        new.slope_before.copy_from_slice(&new.slopes[now..now + n]);
        Ok(new)
    }

    /// Index into the rings of the grid point `back` steps ago.
    fn slot(&self, back: usize) -> usize {
        ((self.count as usize).wrapping_sub(back) & self.mask) * self.n
    }

    /// Computes the places of constant delays; returns the longest.
    fn set_lookups(&mut self) -> Result<f64> {
        self.lookups.clear();
        let mut longest = 0.0_f64;
        let mut delays = Vec::with_capacity(self.m);
        for j in 0..self.m {
            let tau = self.system.delay_f64(
                j,
                Args {
                    x: &self.x,
                    past: &self.past,
                    p: &self.p,
                },
            );
            self.check(j, tau)?;
            longest = longest.max(tau);
            delays.push(tau);
        }
        for c in [0.0, 0.5, 1.0] {
            for tau in &delays {
                self.lookups
                    .push((*tau != 0.0).then(|| Lookup::new(c - tau / self.h, self.h)));
            }
        }
        Ok(longest)
    }

    fn check(&self, delay: usize, tau: f64) -> Result<()> {
        let cause = if tau < 0.0 || !tau.is_finite() {
            "a delay must be finite and not negative"
        } else if tau != 0.0 && tau < self.h * (1.0 - 1e-12) {
            "with fixed steps a delay must not be shorter than the step"
        } else if !self.states.is_empty() && tau > self.h * (self.mask as f64 - 2.0) {
            "it reaches further back than the history kept"
        } else {
            return Ok(());
        };
        Err(Error::BadDelay {
            delay,
            value: tau,
            time: self.time(),
            cause,
        })
    }

    /// The current time.
    pub(crate) fn time(&self) -> f64 {
        self.t0 + self.count as f64 * self.h
    }

    /// The current state.
    pub(crate) fn state(&self) -> &[f64] {
        &self.x
    }

    #[inline]
    fn interpolate(&mut self, j: usize, lookup: Lookup) {
        let n = self.n;
        let left = self.slot(lookup.back);
        // the right node is `now` at most, whose slope is k[0] by the time it is needed
        let right = self.slot(lookup.back.wrapping_sub(1));
        let (x0, x1) = (&self.states[left..left + n], &self.states[right..right + n]);
        let v0 = &self.slopes[left..left + n];
        let v1 = if self.count as usize + 1 == lookup.back {
            &self.slope_before[..n]
        } else {
            &self.slopes[right..right + n]
        };
        let [a0, a1] = lookup.value;
        let [b0, b1] = lookup.slope;
        let ends = x0.iter().zip(x1).zip(v0.iter().zip(v1));
        for (out, ((x0, x1), (v0, v1))) in self.past[j * n..(j + 1) * n].iter_mut().zip(ends) {
            *out = a0 * x0 + a1 * x1 + b0 * v0 + b1 * v1;
        }
    }

    /// The place of delay `j` at a stage, for delays that depend on the state.
    fn find(&self, place: usize, j: usize) -> Result<Option<Lookup>> {
        let (x, past) = (&self.stage, &self.past);
        let tau = match &self.settled {
            Some(settled) => settled.delay(j, x, past),
            None => self.system.delay_f64(
                j,
                Args {
                    x,
                    past,
                    p: &self.p,
                },
            ),
        };
        self.check(j, tau)?;
        Ok((tau != 0.0).then(|| Lookup::new((place as f64 * 0.5 - tau / self.h).min(0.0), self.h)))
    }

    /// Right-hand side at stage `place` (0: now, 1: half a step on, 2: a step on) into `k[target]`.
    #[inline]
    fn field(&mut self, place: usize, target: usize) -> Result<()> {
        let n = self.n;
        for j in 0..self.m {
            let lookup = if self.moving {
                self.find(place, j)?
            } else {
                self.lookups[place * self.m + j]
            };
            match lookup {
                Some(lookup) => self.interpolate(j, lookup),
                None => self.past[j * n..(j + 1) * n].copy_from_slice(&self.stage),
            }
        }
        let out = &mut self.k[target];
        let (x, past) = (&self.stage, &self.past);
        match &mut self.settled {
            Some(settled) => settled.rhs(x, past, out),
            None => self.system.rhs_f64(
                Args {
                    x,
                    past,
                    p: &self.p,
                },
                out,
            ),
        }
        for b in &self.bounds {
            let v = self.stage[b.state];
            if v <= b.lower && out[b.state] < 0.0 || v >= b.upper && out[b.state] > 0.0 {
                out[b.state] = 0.0;
            }
        }
        Ok(())
    }

    /// One step.
    ///
    /// # Errors
    /// [`Error::BadDelay`] for a state-dependent delay out of range, [`Error::NotFinite`].
    pub(crate) fn step(&mut self) -> Result<()> {
        let (n, h) = (self.n, self.h);
        self.stage.copy_from_slice(&self.x);
        self.field(0, 0)?;
        let now = self.slot(0);
        self.slopes[now..now + n].copy_from_slice(&self.k[0]);
        match self.method {
            Method::Heun => {
                self.stage_from(h, 0);
                self.field(2, 1)?;
                let [k0, k1, ..] = &self.k;
                for (x, (a, b)) in self.x.iter_mut().zip(k0.iter().zip(k1)) {
                    *x += 0.5 * h * (a + b);
                }
            }
            Method::RungeKutta4 => {
                self.stage_from(0.5 * h, 0);
                self.field(1, 1)?;
                self.stage_from(0.5 * h, 1);
                self.field(1, 2)?;
                self.stage_from(h, 2);
                self.field(2, 3)?;
                let [k0, k1, k2, k3] = &self.k;
                let ends = k0.iter().zip(k3);
                let middles = k1.iter().zip(k2);
                for (x, ((a, d), (b, c))) in self.x.iter_mut().zip(ends.zip(middles)) {
                    *x += h / 6.0 * (a + 2.0 * (b + c) + d);
                }
            }
        }
        for b in &self.bounds {
            self.x[b.state] = self.x[b.state].clamp(b.lower, b.upper);
        }
        self.count += 1;
        if self.x.iter().any(|v| !v.is_finite()) {
            return Err(Error::NotFinite { time: self.time() });
        }
        let next = self.slot(0);
        self.states[next..next + n].copy_from_slice(&self.x);
        Ok(())
    }

    /// The state `step` ahead along slope `k`.
    #[inline]
    fn stage_from(&mut self, step: f64, k: usize) {
        for (s, (x, k)) in self.stage.iter_mut().zip(self.x.iter().zip(&self.k[k])) {
            *s = x + step * k;
        }
    }

    /// `steps` steps, with `sample(time, state)` called after every `every`-th.
    ///
    /// # Errors
    /// As [`FixedStep::step`].
    pub(crate) fn run(
        &mut self,
        steps: u64,
        every: u64,
        sample: &mut dyn FnMut(f64, &[f64]),
    ) -> Result<()> {
        for k in 1..=steps {
            self.step()?;
            if every > 0 && k % every == 0 {
                sample(self.time(), &self.x);
            }
        }
        Ok(())
    }
}
