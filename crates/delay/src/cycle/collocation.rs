//! One cycle: collocation, Newton's method, the mesh refined where the error is.

use std::f64::consts::TAU;

use crate::complex::{Elementary, c64};
use num_dual::Dual64;

use super::{Cycle, POLYNOMIAL_DEGREE, REFERENCE, Reference, Resolution, locate};
use crate::{
    bifurcation::{HopfPoint, Normalisation, criticality},
    error::{Error, Result},
    linalg::LargeSystem,
    system::{Args, DynSystem, private::Evaluate},
};

/// The discretised equations on one mesh.
pub(super) struct Collocation {
    reference: &'static Reference,
    mesh: Vec<f64>,
    n: usize,
}

impl Collocation {
    pub(super) fn of(cycle: &Cycle) -> Self {
        Self {
            reference: &REFERENCE,
            mesh: cycle.mesh.clone(),
            n: cycle.n,
        }
    }

    pub(super) fn size(&self) -> usize {
        self.n * ((self.mesh.len() - 1) * POLYNOMIAL_DEGREE + 1)
    }

    /// The row that integrates weight(s) times state `i` over the cycle.
    pub(super) fn integral(&self, i: usize, weight: &dyn Fn(f64) -> f64) -> Vec<f64> {
        let mut row = vec![0.0; self.size()];
        for interval in 0..self.mesh.len() - 1 {
            let (a, h) = (
                self.mesh[interval],
                self.mesh[interval + 1] - self.mesh[interval],
            );
            for (g, c) in self.reference.gauss.iter().enumerate() {
                let factor = h * self.reference.quadrature[g] * weight(a + h * c);
                for l in 0..=POLYNOMIAL_DEGREE {
                    row[(interval * POLYNOMIAL_DEGREE + l) * self.n + i] +=
                        factor * self.reference.value[g][l];
                }
            }
        }
        row
    }

    /// Rows of the cosine and sine coefficients of the first harmonic of state `i`.
    pub(super) fn harmonic(&self, i: usize) -> (Vec<f64>, Vec<f64>) {
        (
            self.integral(i, &|s| 2.0 * libm::cos(TAU * s)),
            self.integral(i, &|s| 2.0 * libm::sin(TAU * s)),
        )
    }

    /// The row of the phase condition, the integral of reference'(s) . u(s), each state in units of
    /// its size.
    fn phase(&self, reference: &Cycle) -> Vec<f64> {
        let mut row = vec![0.0; self.size()];
        let n = self.n;
        let size: Vec<f64> = (0..n).map(|k| reference.size(k)).collect();
        for interval in 0..self.mesh.len() - 1 {
            for g in 0..POLYNOMIAL_DEGREE {
                for k in 0..n {
                    let slope: f64 = (0..=POLYNOMIAL_DEGREE)
                        .map(|l| {
                            self.reference.slope[g][l]
                                * reference.nodes[(interval * POLYNOMIAL_DEGREE + l) * n + k]
                        })
                        .sum::<f64>()
                        / (size[k] * size[k]);
                    for l in 0..=POLYNOMIAL_DEGREE {
                        row[(interval * POLYNOMIAL_DEGREE + l) * n + k] +=
                            self.reference.quadrature[g] * slope * self.reference.value[g][l];
                    }
                }
            }
        }
        row
    }

    /// Residuals of u' = T f at the Gauss points, and their derivatives, if wanted, handed to
    /// `entry(row, column, periods back, value)`; the columns after the nodes are T and the free
    /// parameter.
    #[allow(clippy::too_many_arguments)] // all of them independent
    pub(super) fn assemble(
        &self,
        system: &dyn DynSystem,
        nodes: &[f64],
        period: f64,
        p: &[f64],
        free: Option<usize>,
        residual: &mut Vec<f64>,
        mut entry: Option<&mut dyn FnMut(usize, usize, usize, f64)>,
    ) -> Result<()> {
        let n = self.n;
        let size = self.size();
        residual.clear();
        let mut point = GaussPoint::new(self, system, nodes, period, p, free);
        for interval in 0..self.mesh.len() - 1 {
            let h = self.mesh[interval + 1] - self.mesh[interval];
            for g in 0..POLYNOMIAL_DEGREE {
                point.move_to(interval, g)?;
                let row = (interval * POLYNOMIAL_DEGREE + g) * n;
                let (value, slope) = (&self.reference.value[g], &self.reference.slope[g]);
                let base = interval * POLYNOMIAL_DEGREE;
                let directions = if entry.is_some() {
                    point.directions()
                } else {
                    1
                };
                for direction in 0..directions {
                    point.rates_along(direction);
                    for i in 0..n {
                        if direction == 0 {
                            let own: f64 = (0..=POLYNOMIAL_DEGREE)
                                .map(|l| slope[l] * nodes[(base + l) * n + i])
                                .sum();
                            residual.push(own / h - period * point.rates[i].re);
                        }
                        let derivative = -(point.rates[i] * point.length).eps;
                        let Some(entry) = entry.as_mut().filter(|_| derivative != 0.0) else {
                            continue;
                        };
                        match point.direction(direction) {
                            Direction::Now(k) => {
                                for l in 0..=POLYNOMIAL_DEGREE {
                                    entry(row + i, (base + l) * n + k, 0, derivative * value[l]);
                                }
                            }
                            Direction::Delayed(delay, k) => {
                                let Place { back, first, basis } = &point.places[delay];
                                for l in 0..=POLYNOMIAL_DEGREE {
                                    let column = (first + l) * n + k;
                                    entry(row + i, column, *back, derivative * basis[l]);
                                }
                            }
                            Direction::Scalar(which) => entry(row + i, size + which, 0, derivative),
                        }
                    }
                }
                if let Some(entry) = &mut entry {
                    for i in 0..n {
                        for l in 0..=POLYNOMIAL_DEGREE {
                            entry(row + i, (base + l) * n + i, 0, slope[l] / h);
                        }
                    }
                }
            }
        }
        // the orbit closes
        let last = size - n;
        for i in 0..n {
            residual.push(nodes[i] - nodes[last + i]);
            if let Some(entry) = &mut entry {
                entry(last + i, i, 0, 1.0);
                entry(last + i, last + i, 1, -1.0);
            }
        }
        if residual.iter().all(|r| r.is_finite()) {
            Ok(())
        } else {
            Err(Error::NotFinite { time: 0.0 })
        }
    }

    /// Puts the residual of a step of Newton's method from a cycle into `equations`, and if `anew`
    /// the factors of its matrix: those of the states in units of their `scales`, then the
    /// conditions, each row of these in units of its largest entry; columns in `units`.
    fn linearise(
        &self,
        system: &dyn DynSystem,
        (cycle, free): (&Cycle, Option<usize>),
        conditions: &[Condition],
        (scales, units): (&[f64], &[f64]),
        (equations, anew): (&mut LargeSystem, bool),
    ) -> Result<()> {
        let (n, size) = (self.n, self.size());
        let Cycle {
            nodes, period, p, ..
        } = cycle;
        let mut residual = Vec::with_capacity(size);
        let a = &mut equations.matrix;
        if anew {
            a.values.fill(0.0);
        }
        let mut entry = |row: usize, column: usize, _: usize, value: f64| {
            a[(row, column)] += value * units[column] / scales[row % n];
        };
        self.assemble(
            system,
            nodes,
            *period,
            p,
            free,
            &mut residual,
            anew.then_some(&mut entry),
        )?;
        for (i, r) in residual.iter().enumerate() {
            equations.vector[i] = r / scales[i % n];
        }
        let unknowns = nodes
            .iter()
            .chain([period])
            .chain(free.map(|f| &p[f]))
            .copied();
        for (i, condition) in conditions.iter().enumerate() {
            let mut largest = 0.0_f64;
            let row = size + i;
            let mut value = -condition.target;
            for (k, (c, unknown)) in condition.row.iter().zip(unknowns.clone()).enumerate() {
                largest = largest.max((c * units[k]).abs());
                value += c * unknown;
            }
            if anew {
                for (k, (c, unit)) in condition.row.iter().zip(units).enumerate() {
                    equations.matrix[(row, k)] = c * unit / largest;
                }
            }
            equations.vector[row] = value / largest;
        }
        if anew {
            equations.factorise();
        }
        Ok(())
    }
}

/// Variable that the rates are differentiated by.
enum Direction {
    /// State k now.
    Now(usize),
    /// State k before a delay.
    Delayed(usize, usize),
    /// The period (0) or the free parameter (1).
    Scalar(usize),
}

/// Where a delayed state lies on the mesh.
struct Place {
    /// Whole periods before this one.
    back: usize,
    /// First of the interval's nodes.
    first: usize,
    /// Weights of the nodes.
    basis: Vec<f64>,
}

/// The rates of change at one Gauss point, and their derivatives in each direction.
struct GaussPoint<'a> {
    collocation: &'a Collocation,
    system: &'a dyn DynSystem,
    nodes: &'a [f64],
    period: f64,
    p: &'a [f64],
    free: Option<usize>,
    x: Vec<f64>,
    past: Vec<f64>,
    /// Derivative of `past` by the phase.
    past_slope: Vec<f64>,
    places: Vec<Place>,
    dx: Vec<Dual64>,
    dpast: Vec<Dual64>,
    dp: Vec<Dual64>,
    /// The period.
    length: Dual64,
    /// The right-hand side.
    rates: Vec<Dual64>,
}

impl<'a> GaussPoint<'a> {
    fn new(
        collocation: &'a Collocation,
        system: &'a dyn DynSystem,
        nodes: &'a [f64],
        period: f64,
        p: &'a [f64],
        free: Option<usize>,
    ) -> Self {
        let (n, m) = (collocation.n, system.delays());
        let zero = Dual64::from_re(0.0);
        Self {
            collocation,
            system,
            nodes,
            period,
            p,
            free,
            x: vec![0.0; n],
            past: vec![0.0; n * m],
            past_slope: vec![0.0; n * m],
            places: Vec::with_capacity(m),
            dx: vec![zero; n],
            dpast: vec![zero; n * m],
            dp: p.iter().map(|v| Dual64::from_re(*v)).collect(),
            length: Dual64::from_re(period),
            rates: vec![zero; n],
        }
    }

    /// The states, and the delayed states with their places, at Gauss point `g` of an interval.
    fn move_to(&mut self, interval: usize, g: usize) -> Result<()> {
        let Collocation { reference, mesh, n } = self.collocation;
        let (nodes, n) = (self.nodes, *n);
        let at_node = |first: usize, weights: &[f64], k: usize| -> f64 {
            (0..=POLYNOMIAL_DEGREE)
                .map(|l| weights[l] * nodes[(first + l) * n + k])
                .sum()
        };
        let s = mesh[interval] + (mesh[interval + 1] - mesh[interval]) * reference.gauss[g];
        for k in 0..n {
            self.x[k] = at_node(interval * POLYNOMIAL_DEGREE, &reference.value[g], k);
        }
        self.places.clear();
        for j in 0..self.system.delays() {
            let (x, past, p) = (&self.x, &self.past, self.p);
            let tau = self.system.delay_f64(j, Args { x, past, p });
            if tau < 0.0 || tau.is_nan() {
                return Err(Error::BadDelay {
                    delay: j,
                    value: tau,
                    time: s * self.period,
                    cause: "a delay must not be negative",
                });
            }
            let at = s - tau / self.period;
            let (i, c) = locate(mesh, at - at.floor());
            let (basis, slope) = reference.basis(c);
            let (first, width) = (i * POLYNOMIAL_DEGREE, mesh[i + 1] - mesh[i]);
            for k in 0..n {
                self.past[j * n + k] = at_node(first, &basis, k);
                self.past_slope[j * n + k] = at_node(first, &slope, k) / width;
            }
            let back = (-at.floor()) as usize;
            self.places.push(Place { back, first, basis });
        }
        Ok(())
    }

    /// States now, delayed states, the period, the free parameter.
    fn directions(&self) -> usize {
        self.x.len() + self.past.len() + 1 + usize::from(self.free.is_some())
    }

    fn direction(&self, direction: usize) -> Direction {
        let n = self.x.len();
        match direction.checked_sub(n + self.past.len()) {
            Some(which) => Direction::Scalar(which),
            None if direction < n => Direction::Now(direction),
            None => Direction::Delayed(direction / n - 1, direction % n),
        }
    }

    /// Sets `rates` and `length` to values with their derivatives in one direction.
    fn rates_along(&mut self, direction: usize) {
        let (n, scalars) = (self.x.len(), self.x.len() + self.past.len());
        let unit = |own: usize| f64::from(u8::from(direction == own));
        for k in 0..n {
            self.dx[k] = Dual64::new(self.x[k], unit(k));
        }
        self.length = Dual64::new(self.period, unit(scalars));
        if let Some(free) = self.free {
            self.dp[free].eps = unit(scalars + 1);
        }
        for j in 0..self.system.delays() {
            let (x, past, p) = (&self.dx, &self.dpast, &self.dp);
            let tau = Dual64::delay(self.system, j, Args { x, past, p });
            let shift = -(tau / self.length).eps;
            for k in j * n..(j + 1) * n {
                let own = unit(n + k);
                self.dpast[k] = Dual64::new(self.past[k], own + self.past_slope[k] * shift);
            }
        }
        let (x, past, p) = (&self.dx, &self.dpast, &self.dp);
        Dual64::rhs(self.system, Args { x, past, p }, &mut self.rates);
    }
}

/// A linear condition on (nodes, T, parameter): row . unknowns = target.
pub(super) struct Condition {
    pub(super) row: Vec<f64>,
    pub(super) target: f64,
}

/// Newton's method on the collocation equations with one condition for each unknown beyond the
/// nodes.
pub(super) fn newton(
    system: &dyn DynSystem,
    cycle: &Cycle,
    free: Option<usize>,
    conditions: &[Condition],
) -> Result<Cycle> {
    const NEWTON_ITERATIONS: usize = 20;
    /// Steps shorter than this are followed by some with the same factors, as long as each is
    /// shorter than this part of the last.
    const KEEP_BELOW: f64 = 0.02;
    const KEEP_WHILE: f64 = 0.1;
    let collocation = Collocation::of(cycle);
    let (n, size) = (cycle.n, collocation.size());
    let total = size + conditions.len();
    let mut new = cycle.clone();
    let scales: Vec<f64> = (0..n).map(|k| cycle.size(k)).collect();
    let failed = |residual| Error::NewtonFailed {
        what: "a cycle",
        iterations: NEWTON_ITERATIONS,
        residual,
    };
    let mut last = f64::INFINITY;
    let mut equations = LargeSystem::new(total);
    let mut units = Vec::new();
    // close to the solution the factors of an earlier step serve as well
    let mut anew = true;
    for _ in 0..NEWTON_ITERATIONS {
        if anew {
            crate::work::spend(total * total * total / 32)?;
            units = units_of(&new, free, &scales, (size, total));
        } else {
            crate::work::spend(total * total / 4)?;
        }
        collocation.linearise(
            system,
            (&new, free),
            conditions,
            (&scales, &units),
            (&mut equations, anew),
        )?;
        equations.solve("a cycle")?;
        let step = &equations.vector;
        let length = step.iter().fold(0.0_f64, |s, v| s.max(v.abs()));
        // far from the solution a full step may leave the domain of the equations
        let damping = (1.0 / length).min(1.0);
        for (k, s) in step.iter().enumerate() {
            let change = damping * s * units[k];
            if k < size {
                new.nodes[k] -= change;
            } else if k == size {
                new.period -= change;
            } else if let Some(f) = free {
                new.p[f] -= change;
            }
        }
        if new.period <= 0.0 || new.period.is_nan() {
            return Err(failed(length));
        }
        if length < 1e-11 || length < 1e-8 && length > 0.2 * last {
            // collapsed: no state keeps a thousandth of its range
            let collapsed = (0..n).all(|k| new.size(k) < 1e-3 * scales[k]);
            return if collapsed {
                Err(Error::Collapsed)
            } else {
                Ok(new)
            };
        }
        anew = length > KEEP_BELOW || !anew && length > KEEP_WHILE * last;
        last = length;
    }
    Err(failed(last))
}

/// Each unknown's unit, its size: nodes, period, free parameter.
fn units_of(
    cycle: &Cycle,
    free: Option<usize>,
    scales: &[f64],
    (size, total): (usize, usize),
) -> Vec<f64> {
    let parameter = free.map_or(1.0, |f| cycle.p[f].abs());
    let parameter = if parameter == 0.0 { 1.0 } else { parameter };
    let nodes = (0..size).map(|k| scales[k % cycle.n]);
    let others = [cycle.period, parameter].into_iter().take(total - size);
    nodes.chain(others).collect()
}

/// Solves, adapts the mesh, and solves again until the error estimate is below the tolerance.
pub(super) fn refine(
    guess: &Cycle,
    resolution: &Resolution,
    solve: &mut dyn FnMut(&Cycle) -> Result<Cycle>,
) -> Result<Cycle> {
    let mut cycle = solve(guess)?;
    loop {
        let (error, density) = cycle.estimate();
        cycle.error = error;
        if error <= resolution.tolerance {
            return Ok(cycle);
        }
        let l = cycle.intervals();
        // try the same number of intervals in better places first
        let better = cycle.equidistributed(&density, l);
        let moved = solve(&cycle.remeshed(better))?;
        let (moved_error, density) = moved.estimate();
        cycle = moved;
        cycle.error = moved_error;
        if moved_error <= resolution.tolerance {
            return Ok(cycle);
        }
        if l >= resolution.largest {
            return Err(Error::NotResolved {
                estimate: moved_error,
                intervals: l,
            });
        }
        let growth = libm::pow(
            moved_error / resolution.tolerance,
            1.0 / (POLYNOMIAL_DEGREE + 1) as f64,
        )
        .clamp(1.25, 2.0);
        let more = ((l as f64 * growth).ceil() as usize).min(resolution.largest);
        let finer = cycle.equidistributed(&density, more);
        cycle = solve(&cycle.remeshed(finer))?;
    }
}

pub(super) fn phase_condition(cycle: &Cycle, extra: usize) -> Condition {
    let mut row = Collocation::of(cycle).phase(cycle);
    let target = row.iter().zip(&cycle.nodes).map(|(a, b)| a * b).sum();
    row.resize(row.len() + extra, 0.0);
    Condition { row, target }
}

/// The cycle near `guess` at parameters `p`.
///
/// # Errors
/// [`Error::NewtonFailed`], [`Error::Collapsed`] (the guess led to an equilibrium),
/// [`Error::NotResolved`].
pub fn cycle_at(
    system: &dyn DynSystem,
    guess: &Cycle,
    p: &[f64],
    resolution: &Resolution,
) -> Result<Cycle> {
    let mut start = guess.clone();
    start.p = p.to_vec();
    refine(&start, resolution, &mut |c| {
        newton(system, c, None, &[phase_condition(c, 1)])
    })
}

/// The cycle near `guess` whose state `component` has a first harmonic of the given amplitude;
/// parameter `free` is adjusted.
///
/// The amplitude is a safe coordinate: a branch of cycles passes folds in it, and Newton's method
/// cannot fall onto an equilibrium.
///
/// # Errors
/// As [`cycle_at`]; [`Error::Argument`] for an amplitude that is not positive.
pub fn cycle_with_amplitude(
    system: &dyn DynSystem,
    guess: &Cycle,
    free: usize,
    component: usize,
    amplitude: f64,
    resolution: &Resolution,
) -> Result<Cycle> {
    if !(amplitude > 0.0 && amplitude.is_finite()) || component >= guess.n {
        return Err(Error::Argument(format!(
            "amplitude {amplitude} of state {component}"
        )));
    }
    // turn the phase so that the harmonic of the component is a pure cosine
    let (cos, sin) = Collocation::of(guess).harmonic(component);
    let dot = |row: &[f64]| -> f64 { row.iter().zip(&guess.nodes).map(|(a, b)| a * b).sum() };
    let shift = libm::atan2(dot(&sin), dot(&cos)) / TAU;
    let mut turned = guess.clone();
    turned.fill(&|s, out| guess.at(s + shift, out));
    // and bring the amplitude near the wanted one
    let factor = amplitude / libm::hypot(dot(&cos), dot(&sin));
    let means: Vec<f64> = (0..guess.n).map(|k| guess.mean(k)).collect();
    for (k, v) in turned.nodes.iter_mut().enumerate() {
        *v = means[k % guess.n] + factor * (*v - means[k % guess.n]);
    }
    refine(&turned, resolution, &mut |c| {
        let (mut cos, mut sin) = Collocation::of(c).harmonic(component);
        cos.resize(cos.len() + 2, 0.0);
        sin.resize(sin.len() + 2, 0.0);
        newton(
            system,
            c,
            Some(free),
            &[
                Condition {
                    row: cos,
                    target: amplitude,
                },
                Condition {
                    row: sin,
                    target: 0.0,
                },
            ],
        )
    })
}

/// The cycle of a small given amplitude of state `component` that is born at a Hopf point.
///
/// # Errors
/// As [`cycle_with_amplitude`], and from the normal form that gives the first guess.
pub fn cycle_from_hopf(
    system: &dyn DynSystem,
    hopf: &HopfPoint,
    free: usize,
    component: usize,
    amplitude: f64,
    resolution: &Resolution,
) -> Result<Cycle> {
    let nf = criticality(system, hopf, free, Normalisation::Component(component))?;
    let mut p = hopf.p.clone();
    p[free] += nf.mu2 * (0.5 * amplitude) * (0.5 * amplitude);
    let profile = |s: f64, out: &mut [f64]| {
        let wave = c64::new(0.0, TAU * s).exponential();
        for (k, o) in out.iter_mut().enumerate() {
            *o = hopf.x[k] + amplitude * (nf.q[k] * wave).re;
        }
    };
    let guess = Cycle::guess(
        hopf.x.len(),
        TAU / hopf.omega,
        &p,
        resolution.intervals,
        &profile,
    )?;
    cycle_with_amplitude(system, &guess, free, component, amplitude, resolution)
}
