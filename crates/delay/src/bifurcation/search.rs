//! The losses and gains of stability met while one parameter runs over a range.

use crate::complex::c64;

use super::{Crossing, FoldPoint, HopfPoint, hopf_near};
use crate::{
    equilibrium::{check_smooth, newton},
    error::{Error, Result},
    linear::Linear,
    spectrum::{count_right_of, rightmost_roots},
    system::DynSystem,
};

/// The losses and gains of stability met while one parameter runs over a range.
#[derive(Clone, Debug, PartialEq)]
pub struct Search {
    /// In the order of the parameter's way.
    pub crossings: Vec<Crossing>,
    /// Number of unstable roots at the start of the range.
    pub unstable_at_start: usize,
    /// Where and why the search had to stop before the end of the range.
    pub stopped: Option<(f64, Error)>,
}

impl Search {
    /// The first Hopf point.
    #[must_use]
    pub fn first_hopf(&self) -> Option<&HopfPoint> {
        self.crossings.iter().find_map(|c| {
            if let Crossing::Hopf(h) = c {
                Some(h)
            } else {
                None
            }
        })
    }
}

/// Follows the equilibrium near `guess` while parameter `free` runs from `from` to `to` in
/// `samples` steps (a geometric sequence if both ends have the same sign and differ by more than a
/// factor of five), and locates every crossing of the imaginary axis.
///
/// The number of unstable roots is counted by the argument principle at each sample; where it
/// changes the interval is bisected, and Newton's method finds the point. Two crossings that undo
/// each other between samples go unseen: use enough of them.
///
/// # Errors
/// Only when the equilibrium at the start of the range cannot be found or counted; later failures
/// are in [`Search::stopped`].
pub fn crossings(
    system: &dyn DynSystem,
    guess: &[f64],
    p: &[f64],
    free: usize,
    from: f64,
    to: f64,
    samples: usize,
) -> Result<Search> {
    if free >= p.len() || samples == 0 || !(from.is_finite() && to.is_finite()) {
        return Err(Error::Argument(format!(
            "parameter {free} of {}, {samples} samples from {from} to {to}",
            p.len()
        )));
    }
    let geometric = from * to > 0.0 && (from / to).abs().max((to / from).abs()) > 5.0;
    let value = |k: usize| {
        let s = k as f64 / samples as f64;
        if k == samples {
            to
        } else if geometric {
            from * libm::pow(to / from, s)
        } else {
            from + s * (to - from)
        }
    };
    let mut walker = Walker {
        system,
        p: p.to_vec(),
        free,
        crossings: Vec::new(),
    };
    let mut last = walker.sample(guess, value(0))?;
    let unstable_at_start = last.unstable;
    let mut stopped = None;
    for k in 1..=samples {
        let here = walker.sample(&last.x, value(k)).and_then(|here| {
            walker.between(&last, &here, 0)?;
            Ok(here)
        });
        match here {
            Ok(here) => last = here,
            Err(e) => {
                stopped = Some((value(k), e));
                break;
            }
        }
    }
    Ok(Search {
        crossings: walker.crossings,
        unstable_at_start,
        stopped,
    })
}

struct Walker<'a> {
    system: &'a dyn DynSystem,
    p: Vec<f64>,
    free: usize,
    crossings: Vec<Crossing>,
}

#[derive(Clone)]
struct Sample {
    value: f64,
    x: Vec<f64>,
    unstable: usize,
}

impl Walker<'_> {
    fn sample(&mut self, guess: &[f64], value: f64) -> Result<Sample> {
        let mut nudged = value;
        for attempt in 0..4 {
            self.p[self.free] = nudged;
            let x = newton(self.system, guess, &self.p)?;
            check_smooth(self.system, &x, &self.p)?;
            match count_right_of(&Linear::of(self.system, &x, &self.p), 0.0) {
                Ok(unstable) => {
                    return Ok(Sample {
                        value: nudged,
                        x,
                        unstable,
                    });
                }
                // exactly on a bifurcation: look a little further
                Err(Error::RootOnLine { .. }) if attempt < 3 => {
                    nudged = value + (1e-9 * value.abs().max(1e-9)) * 10_f64.powi(attempt);
                }
                Err(e) => return Err(e),
            }
        }
        Err(Error::RootOnLine {
            line: 0.0,
            omega: 0.0,
        })
    }

    fn between(&mut self, a: &Sample, b: &Sample, depth: usize) -> Result<()> {
        if a.unstable == b.unstable {
            return Ok(());
        }
        let narrow = (a.value - b.value).abs() < 1e-3 * a.value.abs().max(b.value.abs());
        let simple = a.unstable.abs_diff(b.unstable) <= 2;
        if narrow && simple || depth > 40 {
            match self.locate(a, b) {
                Ok(crossing) => {
                    self.crossings.push(crossing);
                    return Ok(());
                }
                Err(e) if depth > 40 => return Err(e),
                Err(_) => {}
            }
        }
        let middle = self.sample(&a.x, 0.5 * (a.value + b.value))?;
        self.between(a, &middle, depth + 1)?;
        self.between(&middle, b, depth + 1)
    }

    fn locate(&mut self, a: &Sample, b: &Sample) -> Result<Crossing> {
        let more = if a.unstable > b.unstable { a } else { b };
        self.p[self.free] = more.value;
        let linear = Linear::of(self.system, &more.x, &self.p);
        let roots = rightmost_roots(&linear, more.unstable)?.roots;
        let nearest = roots
            .iter()
            .copied()
            .filter(|z| z.im >= 0.0)
            .min_by(|u, v| u.re.abs().total_cmp(&v.re.abs()));
        let Some(nearest) = nearest else {
            return Err(Error::CertificateFailed {
                found: 0,
                counted: more.unstable,
                line: 0.0,
            });
        };
        let (value, crossing) = if nearest.im > 0.0 && a.unstable.abs_diff(b.unstable) != 1 {
            let point = hopf_near(self.system, &more.x, nearest.im, &self.p, self.free)?;
            (point.p[self.free], Crossing::Hopf(point))
        } else {
            let point = self.branch_point(a, b)?;
            (point.p[self.free], Crossing::Steady(point))
        };
        let width = (a.value - b.value).abs();
        if value < a.value.min(b.value) - 0.1 * width || value > a.value.max(b.value) + 0.1 * width
        {
            return Err(Error::NewtonFailed {
                what: "a crossing inside its bracket",
                iterations: 0,
                residual: f64::NAN,
            });
        }
        Ok(crossing)
    }
}

impl Walker<'_> {
    /// Where det Delta(0) changes its sign between two samples (Illinois false position: the
    /// equilibrium equations themselves are singular there, so Newton's method on them would not
    /// do).
    fn branch_point(&mut self, a: &Sample, b: &Sample) -> Result<FoldPoint> {
        let mut value = |v: f64| -> Result<(f64, Vec<f64>)> {
            self.p[self.free] = v;
            let x = newton(self.system, &a.x, &self.p)?;
            Ok((
                Linear::of(self.system, &x, &self.p)
                    .determinant(c64::ZERO)
                    .re,
                x,
            ))
        };
        let (mut v0, mut f0) = (a.value, value(a.value)?.0);
        let (mut v1, mut f1) = (b.value, value(b.value)?.0);
        if f0 * f1 > 0.0 {
            return Err(Error::CertificateFailed {
                found: 0,
                counted: a.unstable.abs_diff(b.unstable),
                line: 0.0,
            });
        }
        let mut x = a.x.clone();
        for _ in 0..100 {
            let v = (v0 * f1 - v1 * f0) / (f1 - f0);
            let (f, here) = value(v)?;
            x = here;
            let moved = (v - v1).abs();
            if f * f1 < 0.0 {
                (v0, f0) = (v1, f1);
            } else {
                f0 *= 0.5;
            }
            (v1, f1) = (v, f);
            if f == 0.0 || moved <= 1e-15 * v.abs() {
                break;
            }
        }
        self.p[self.free] = v1;
        Ok(FoldPoint {
            x,
            p: self.p.clone(),
        })
    }
}
