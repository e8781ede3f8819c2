//! How the distribution of windows answers a small change of the loss probability.

use num_complex::Complex64;

use crate::chebyshev::{Chebyshev, POLYNOMIAL_ORDER};
use crate::error::{Error, check};
use crate::stationary::RenoStationary;

type Panel<T> = [T; POLYNOMIAL_ORDER + 1];

/// Transfer function from the loss probability of a Reno window to its mean, about the stationary
/// law.
///
/// In time measured in round trips, with the growth of the window as the unit, `z` the complex
/// frequency and `u`, `m` the changes of density and atom per change of the loss probability K:
///
/// `z u + u' = 4 K w u(2w) - K w u + 4 w p(2w) - w p`, with a step of `W (K m + M)` at `W / 2`, and `z m = u(W) - K W m - M W`.
///
/// Octave by octave (`u(2w)` at the same relative place in the octave above) the solution is a sum
/// of the responses to its own values at the lower ends of the octaves, which continuity and the
/// conservation of mass determine. All are integrated upwards, in which direction they decay.
#[derive(Clone, Debug)]
pub struct WindowResponse {
    loss: f64,
    w_max: f64,
    atom: f64,
    octaves: usize,
    law: RenoStationary,
}

impl WindowResponse {
    /// About the stationary law at loss probability `loss` (above 0) and largest window `w_max`
    /// (finite).
    ///
    /// # Errors
    /// If these are out of range.
    pub fn new(loss: f64, w_max: f64) -> Result<Self, Error> {
        check(
            loss > 0.0 && loss < 1.0,
            "the loss probability",
            loss,
            "above 0 and below 1",
        )?;
        check(
            w_max.is_finite() && w_max > 0.0,
            "the largest window",
            w_max,
            "above 0 packets and finite",
        )?;
        let law = RenoStationary::new(loss, w_max)?;
        // below a two-hundredth of the typical window there is nothing
        let typical = law.mean();
        let octaves = 9 + libm::log2(w_max / typical).max(0.0) as usize;
        Ok(Self {
            loss,
            w_max,
            atom: law.atom(),
            octaves,
            law,
        })
    }

    /// Change of the mean window (packets) per change of the loss probability, at complex frequency
    /// `z` per round trip.
    #[must_use]
    pub fn at(&self, z: Complex64) -> Complex64 {
        let Self {
            loss,
            w_max,
            atom,
            octaves,
            ..
        } = *self;
        let Basis { tops, mass, first } = self.basis(z);
        let particular = octaves + 1;
        // the atom follows from the value at the top: m = (u(W) - M W) / (z + K W)
        let mut change: Vec<Complex64> = tops[0].clone();
        change[particular] -= atom * w_max;
        for value in &mut change {
            *value /= z + loss * w_max;
        }
        // unknowns: the values at the lower ends; equations: continuity at W/2, W/4, ..., and no
        // change of mass
        let n = octaves + 1;
        let mut rows: Vec<Vec<Complex64>> = Vec::with_capacity(n);
        for octave in 1..=octaves {
            let mut row = tops[octave].clone();
            row[octave - 1] -= 1.0;
            if octave == 1 {
                for (value, change) in row.iter_mut().zip(&change) {
                    *value += change * (loss * w_max);
                }
                row[particular] += atom * w_max;
            }
            rows.push(row);
        }
        rows.push(
            mass.iter()
                .zip(&change)
                .map(|(mass, change)| mass + change)
                .collect(),
        );
        let values = eliminate(rows);
        let total = |function: &[Complex64]| {
            function[..n]
                .iter()
                .zip(&values)
                .map(|(f, v)| f * v)
                .sum::<Complex64>()
                + function[particular]
        };
        total(&first) + total(&change) * w_max
    }

    /// Solves the equation octave by octave, once for each unknown value at a lower end and once
    /// for the source.
    fn basis(&self, z: Complex64) -> Basis {
        let Self { loss, w_max, .. } = *self;
        let zero = Complex64::from(0.0);
        let chebyshev = Chebyshev::new();
        // relative places 1 to 2 in an octave, in panels over which nothing turns or falls by more
        // than a few e-folds
        let panels =
            2 + ((libm::hypot(z.re, z.im) + loss * w_max) * 0.5 * w_max / 6.0).min(500.0) as usize;
        let place = |panel: usize| -> Panel<f64> {
            // the parameter rises with the window: nodes from 1 to -1 are read backwards
            chebyshev
                .points
                .map(|x| 1.0 + (panel as f64 + 0.5 * (1.0 - x)) / panels as f64)
        };
        let count = self.octaves + 2;
        let particular = count - 1;
        let mut above: Vec<Vec<Panel<Complex64>>> = Vec::new();
        let mut basis = Basis {
            tops: Vec::with_capacity(self.octaves + 1),
            mass: vec![zero; count],
            first: vec![zero; count],
        };
        for octave in 0..=self.octaves {
            let low = w_max * libm::ldexp(1.0, -(octave as i32) - 1);
            let mut here = Vec::with_capacity(panels);
            // the values at lower ends further down have no effect here: first this octave's own,
            // then those above, last the particular solution
            let mut start = vec![zero; octave + 2];
            start[octave] = Complex64::from(1.0);
            for panel in 0..panels {
                let window = place(panel).map(|xi| low * xi);
                let length = low / panels as f64;
                let weight = window.map(|w| (z + loss * w) * length);
                let mut problems = self.sources(octave, low, window, length, above.get(panel));
                for (problem, start) in problems.iter_mut().zip(&start) {
                    problem[0] = *start;
                }
                chebyshev.solve_all(&weight, &mut problems);
                for (index, solution) in problems.iter().enumerate() {
                    start[index] = solution[POLYNOMIAL_ORDER];
                    let unknown = if index <= octave { index } else { particular };
                    for i in 0..=POLYNOMIAL_ORDER {
                        let part = solution[i] * (chebyshev.weights[i] * length);
                        basis.mass[unknown] += part;
                        basis.first[unknown] += part * window[i];
                    }
                }
                here.push(problems);
            }
            let mut top = vec![zero; count];
            top[..=octave].copy_from_slice(&start[..=octave]);
            top[particular] = start[octave + 1];
            basis.tops.push(top);
            above = here;
        }
        basis
    }

    /// The inflow of a panel: halved windows from the octave above, and for the particular
    /// solution the change of the losses themselves.
    fn sources(
        &self,
        octave: usize,
        low: f64,
        window: Panel<f64>,
        length: f64,
        above: Option<&Vec<Panel<Complex64>>>,
    ) -> Vec<Panel<Complex64>> {
        let zero = Complex64::from(0.0);
        let mut problems = vec![[zero; POLYNOMIAL_ORDER + 1]; octave + 2];
        // of the octave above: all but the last are responses to unknown values, as here
        for (unknown, source) in above.into_iter().flatten().enumerate() {
            let problem = if unknown < octave {
                unknown
            } else {
                octave + 1
            };
            for i in 0..=POLYNOMIAL_ORDER {
                problems[problem][i] = source[i] * (4.0 * self.loss * window[i] * length);
            }
        }
        for (value, w) in problems[octave + 1].iter_mut().zip(window) {
            let double = if octave > 0 {
                4.0 * w * self.law.density(2.0 * w)
            } else {
                0.0
            };
            // at the lower end of an octave the density of this side
            let here = w * self.law.density(w.max(low * (1.0 + 1e-15)));
            *value += (double - here) * length;
        }
        problems
    }
}

/// Solutions on all octaves: one for each unknown value at an octave's lower end, then the
/// particular one.
struct Basis {
    /// By octave, their values at its top.
    tops: Vec<Vec<Complex64>>,
    /// Their integrals.
    mass: Vec<Complex64>,
    /// Their first moments.
    first: Vec<Complex64>,
}

/// Solves `row . (x, 1) = 0` for every row, by Gaussian elimination with partial pivoting.
fn eliminate(mut rows: Vec<Vec<Complex64>>) -> Vec<Complex64> {
    let n = rows.len();
    for column in 0..n {
        let pivot = (column..n)
            .max_by(|&r, &s| {
                rows[r][column]
                    .l1_norm()
                    .total_cmp(&rows[s][column].l1_norm())
            })
            .unwrap_or(column);
        rows.swap(column, pivot);
        let (above, below) = rows.split_at_mut(column + 1);
        let pivot = &above[column];
        for row in below {
            let factor = row[column] / pivot[column];
            for (value, pivot) in row.iter_mut().zip(pivot).skip(column) {
                *value -= factor * pivot;
            }
        }
    }
    let mut x = vec![Complex64::from(0.0); n];
    for row in (0..n).rev() {
        let rest: Complex64 = (row + 1..n).map(|k| rows[row][k] * x[k]).sum();
        x[row] = -(rows[row][n] + rest) / rows[row][row];
    }
    x
}
