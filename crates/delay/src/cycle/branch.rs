//! Branches of cycles, their folds and period doublings.

use super::{
    Cycle, Resolution,
    collocation::{Collocation, cycle_at, cycle_with_amplitude, phase_condition},
    multipliers::floquet,
};
use crate::{
    bifurcation::Curve,
    continuation::{ContinuationOptions, End, Equations, Limit, continue_curve},
    error::{Error, Result},
    linalg::solve,
    system::DynSystem,
};

/// A cycle of a branch.
#[derive(Clone, Debug, PartialEq)]
pub struct CyclePoint {
    /// The cycle.
    pub cycle: Cycle,
    /// Whether the parameter turned around between the last cycle and this one: a fold of cycles
    /// lies between.
    pub after_fold: bool,
}

struct Orbit<'a> {
    system: &'a dyn DynSystem,
    reference: Cycle,
    free: usize,
    resolution: Resolution,
}

impl Orbit<'_> {
    fn join(cycle: &Cycle, free: usize) -> Vec<f64> {
        let mut u = cycle.nodes.clone();
        u.push(cycle.period);
        u.push(cycle.p[free]);
        u
    }

    fn split(&self, u: &[f64]) -> Cycle {
        split_cycle(&self.reference, self.free, u)
    }
}

fn split_cycle(reference: &Cycle, free: usize, u: &[f64]) -> Cycle {
    let size = u.len() - 2;
    let mut cycle = reference.clone();
    cycle.nodes = u[..size].to_vec();
    cycle.period = u[size];
    cycle.p[free] = u[size + 1];
    cycle
}

impl Equations for Orbit<'_> {
    fn evaluate(
        &mut self,
        u: &[f64],
        residual: &mut Vec<f64>,
        jacobian: &mut Vec<f64>,
    ) -> Result<()> {
        let collocation = Collocation::of(&self.reference);
        let (size, columns) = (collocation.size(), u.len());
        jacobian.clear();
        jacobian.resize((columns - 1) * columns, 0.0);
        let mut p = self.reference.p.clone();
        p[self.free] = u[size + 1];
        collocation.assemble(
            self.system,
            &u[..size],
            u[size],
            &p,
            Some(self.free),
            residual,
            Some(&mut |r, c, _, v| {
                jacobian[r * columns + c] += v;
            }),
        )?;
        let phase = phase_condition(&self.reference, 2);
        residual.push(phase.row.iter().zip(u).map(|(a, b)| a * b).sum::<f64>() - phase.target);
        jacobian[size * columns..].copy_from_slice(&phase.row);
        Ok(())
    }

    fn accept(&mut self, u: &mut Vec<f64>, tangent: &mut Vec<f64>) -> Result<()> {
        let cycle = self.split(u);
        let (error, density) = cycle.estimate();
        self.reference = cycle;
        self.reference.error = error;
        let l = self.reference.intervals();
        let far = error > self.resolution.tolerance;
        if !far && error > 0.01 * self.resolution.tolerance {
            return Ok(());
        }
        if far && l >= self.resolution.largest {
            return Err(Error::NotResolved {
                estimate: error,
                intervals: l,
            });
        }
        let count = if far {
            (l as f64 * 1.3).ceil() as usize
        } else {
            l.saturating_sub(1).max(self.resolution.intervals)
        };
        if !far && count == l {
            return Ok(());
        }
        let mesh = self
            .reference
            .equidistributed(&density, count.min(self.resolution.largest));
        let direction = split_cycle(&self.reference, self.free, tangent).remeshed(mesh.clone());
        *tangent = Self::join(&direction, self.free);
        self.reference = self.reference.remeshed(mesh);
        *u = Self::join(&self.reference, self.free);
        Ok(())
    }

    fn scales(&self, u: &[f64], _: &mut Vec<f64>) -> Vec<f64> {
        let cycle = self.split(u);
        let weight = ((u.len() - 2) as f64).sqrt();
        let sizes: Vec<f64> = (0..cycle.n).map(|k| weight * cycle.size(k)).collect();
        let mut scales: Vec<f64> = (0..u.len() - 2).map(|k| sizes[k % cycle.n]).collect();
        scales.push(cycle.period);
        scales.push(u[u.len() - 1].abs().max(1e-9));
        scales
    }
}

/// Follows the branch of cycles through `start` in parameter `free`, both ways, through folds,
/// within `range`. It also ends where the cycle shrinks below a thousandth of its largest range (a
/// Hopf point).
///
/// # Errors
/// When `start` cannot be corrected to a cycle.
pub fn cycle_branch(
    system: &dyn DynSystem,
    start: &Cycle,
    free: usize,
    range: (f64, f64),
    options: &ContinuationOptions,
    resolution: &Resolution,
) -> Result<Curve<CyclePoint>> {
    let start = cycle_at(system, start, &start.p, resolution)?;
    let run = |sign: f64| {
        let mut orbit = Orbit {
            system,
            reference: start.clone(),
            free,
            resolution: resolution.clone(),
        };
        let u = Orbit::join(&start, free);
        let limits = [Limit {
            from_last: 0,
            parameter: free,
            low: range.0,
            high: range.1,
        }];
        let mut points: Vec<CyclePoint> = Vec::new();
        let mut before = sign;
        let mut largest: Vec<f64> = (0..start.n).map(|k| start.size(k)).collect();
        let lead = u.len() - 1;
        let mut visit = |cycle: Cycle, t: &[f64]| {
            let slope = t[t.len() - 1];
            let shrunk = (0..cycle.n).all(|k| {
                largest[k] = largest[k].max(cycle.size(k));
                cycle.size(k) < 1e-3 * largest[k]
            });
            points.push(CyclePoint {
                cycle,
                after_fold: slope * before < 0.0,
            });
            before = slope;
            shrunk.then_some(End::ZeroAmplitude)
        };
        let end = continue_cycles(&mut orbit, &u, lead, sign, &limits, options, &mut visit);
        (points, end)
    };
    let (backward, first) = run(-1.0);
    let (forward, last) = run(1.0);
    let mut points: Vec<CyclePoint> = backward.into_iter().rev().collect();
    // seen from the other side the turn lies between a point and its predecessor
    for k in (1..points.len()).rev() {
        points[k].after_fold = points[k - 1].after_fold;
    }
    if let Some(first) = points.first_mut() {
        first.after_fold = false;
    }
    points.push(CyclePoint {
        cycle: start.clone(),
        after_fold: false,
    });
    points.extend(forward);
    Ok(Curve {
        points,
        start: first,
        end: last,
    })
}

/// [`continue_curve`] with cycles in place of vectors: the mesh of a vector is the one the equations hold
/// when it is visited.
fn continue_cycles(
    orbit: &mut Orbit<'_>,
    u: &[f64],
    lead: usize,
    sign: f64,
    limits: &[Limit],
    options: &ContinuationOptions,
    visit: &mut dyn FnMut(Cycle, &[f64]) -> Option<End>,
) -> End {
    let shared = std::cell::RefCell::new(orbit.reference.clone());
    let free = orbit.free;
    struct Watched<'a, 'b>(&'a mut Orbit<'b>, &'a std::cell::RefCell<Cycle>);
    impl Equations for Watched<'_, '_> {
        fn evaluate(
            &mut self,
            u: &[f64],
            residual: &mut Vec<f64>,
            jacobian: &mut Vec<f64>,
        ) -> Result<()> {
            self.0.evaluate(u, residual, jacobian)
        }
        fn accept(&mut self, u: &mut Vec<f64>, tangent: &mut Vec<f64>) -> Result<()> {
            self.0.accept(u, tangent)?;
            self.1.replace(self.0.reference.clone());
            Ok(())
        }
        fn scales(&self, u: &[f64], values: &mut Vec<f64>) -> Vec<f64> {
            self.0.scales(u, values)
        }
    }
    let mut watched = Watched(orbit, &shared);
    let mut values = |u: &[f64], t: &[f64]| {
        let mut cycle = split_cycle(&shared.borrow(), free, u);
        cycle.error = cycle.estimate().0;
        visit(cycle, t)
    };
    continue_curve(
        &mut watched,
        u,
        lead,
        sign,
        limits,
        options,
        "a branch of cycles",
        &mut values,
    )
}

/// The fold of cycles (saddle-node of periodic orbits) between two amplitudes of state `component`
/// on one branch: the extremum of parameter `free` as a function of the amplitude, where d
/// parameter / d amplitude (exact) changes its sign.
///
/// # Errors
/// As [`cycle_with_amplitude`]; [`Error::NotFound`] if the derivative has the same sign at both
/// ends.
pub fn cycle_fold(
    system: &dyn DynSystem,
    near: &Cycle,
    free: usize,
    component: usize,
    amplitudes: (f64, f64),
    resolution: &Resolution,
) -> Result<Cycle> {
    let mut cycle = near.clone();
    let mut slope = |amplitude: f64| -> Result<(f64, Cycle)> {
        // walk there in steps that Newton's method can take
        let mut now = cycle.amplitude(component);
        while libm::log(amplitude / now).abs() > 0.3 {
            now *= if amplitude > now { 1.3 } else { 1.0 / 1.3 };
            cycle = cycle_with_amplitude(system, &cycle, free, component, now, resolution)?;
        }
        cycle = cycle_with_amplitude(system, &cycle, free, component, amplitude, resolution)?;
        Ok((
            parameter_slope(system, &cycle, free, component)?,
            cycle.clone(),
        ))
    };
    let (mut a, mut b) = amplitudes;
    let (mut fa, mut fb) = (slope(a)?.0, slope(b)?.0);
    if fa * fb > 0.0 {
        return Err(Error::NotFound {
            kind: "fold of cycles",
            parameter: free,
            from: near.p[free],
            to: near.p[free],
        });
    }
    let mut best = near.clone();
    for _ in 0..60 {
        let c = (a * fb - b * fa) / (fb - fa);
        let (fc, cycle) = slope(c)?;
        best = cycle;
        if fc * fb < 0.0 {
            (a, fa) = (b, fb);
        } else {
            fa *= 0.5;
        }
        let moved = (c - b).abs();
        (b, fb) = (c, fc);
        if moved < 1e-8 * c || fc == 0.0 {
            break;
        }
    }
    Ok(best)
}

/// d parameter / d amplitude at a cycle whose harmonic is a pure cosine.
fn parameter_slope(
    system: &dyn DynSystem,
    cycle: &Cycle,
    free: usize,
    component: usize,
) -> Result<f64> {
    let collocation = Collocation::of(cycle);
    let (n, size) = (cycle.n, collocation.size());
    let total = size + 2;
    let scales: Vec<f64> = (0..n).map(|k| cycle.size(k)).collect();
    let unit = |column: usize| {
        if column < size {
            scales[column % n]
        } else {
            1.0
        }
    };
    let mut a = vec![0.0; total * total];
    let mut residual = Vec::new();
    collocation.assemble(
        system,
        &cycle.nodes,
        cycle.period,
        &cycle.p,
        Some(free),
        &mut residual,
        Some(&mut |r, c, _, v| {
            a[r * total + c] += v * unit(c) / scales[r % n];
        }),
    )?;
    let (cos, sin) = collocation.harmonic(component);
    for k in 0..size {
        a[size * total + k] = cos[k] * unit(k) / scales[component];
        a[(size + 1) * total + k] = sin[k] * unit(k) / scales[component];
    }
    let mut b = vec![0.0; total];
    b[size] = 1.0 / scales[component];
    Ok(solve(total, &a, &b, "a fold of cycles")?[size + 1])
}

/// The period doubling between two cycles of one branch: where a real multiplier passes -1.
/// Parameter `free` is the one that differs between them.
///
/// # Errors
/// [`Error::NotFound`] if no multiplier passes -1 between them; as [`cycle_at`] and [`floquet`].
pub fn period_doubling(
    system: &dyn DynSystem,
    a: &Cycle,
    b: &Cycle,
    free: usize,
    resolution: &Resolution,
) -> Result<Cycle> {
    let test = |cycle: &Cycle| -> Result<f64> {
        let set = floquet(system, cycle, 0.05)?;
        Ok(set.nearest_minus_one().map_or(1.0, |m| m + 1.0))
    };
    let (mut va, mut vb) = (a.p[free], b.p[free]);
    let (mut fa, mut fb) = (test(a)?, test(b)?);
    if fa * fb > 0.0 {
        return Err(Error::NotFound {
            kind: "period doubling",
            parameter: free,
            from: va,
            to: vb,
        });
    }
    let mut best = b.clone();
    for _ in 0..60 {
        let v = (va * fb - vb * fa) / (fb - fa);
        let mut p = best.p.clone();
        p[free] = v;
        best = cycle_at(system, &best, &p, resolution)?;
        let f = test(&best)?;
        if f * fb < 0.0 {
            (va, fa) = (vb, fb);
        } else {
            fa *= 0.5;
        }
        let moved = (v - vb).abs();
        (vb, fb) = (v, f);
        if moved <= 1e-11 * v.abs() || f == 0.0 {
            break;
        }
    }
    Ok(best)
}
