//! Floquet multipliers of a cycle.

use super::{Cycle, collocation::Collocation};
use crate::{
    complex::{Elementary, c64},
    error::{Error, Result},
    linalg::{LargeSystem, Matrix, eigenvalues},
    system::DynSystem,
};

/// The Floquet multipliers of a cycle.
#[derive(Clone, Debug, PartialEq)]
pub struct Floquet {
    /// All but the trivial one, by descending modulus; of a complex pair the upper one comes first.
    pub multipliers: Vec<c64>,
    /// Distance from 1 of the multiplier taken as the trivial one: the accuracy of them all.
    pub trivial_error: f64,
}

impl Floquet {
    /// Number of multipliers outside the unit circle.
    ///
    /// # Errors
    /// [`Error::TrivialMultiplier`] when the trivial multiplier is off by more than `tolerance`, or
    /// so is another one from the unit circle: then nothing can be claimed.
    pub fn unstable(&self, tolerance: f64) -> Result<usize> {
        if self.trivial_error > tolerance {
            return Err(Error::TrivialMultiplier {
                error: self.trivial_error,
            });
        }
        Ok(self
            .multipliers
            .iter()
            .filter(|m| m.modulus() > 1.0)
            .count())
    }

    /// The real multiplier nearest to -1, if any is real and negative.
    #[must_use]
    pub fn nearest_minus_one(&self) -> Option<f64> {
        let flips = self
            .multipliers
            .iter()
            .filter(|m| m.im == 0.0 && m.re < 0.0)
            .map(|m| m.re);
        flips.min_by(|a, b| (a + 1.0).abs().total_cmp(&(b + 1.0).abs()))
    }
}

/// The Floquet multipliers of a cycle, down to modulus `smallest`.
///
/// # Errors
/// [`Error::Eigenvalues`], [`Error::Singular`]; [`Error::Argument`] when the delays span more than
/// eight periods.
pub fn floquet(system: &dyn DynSystem, cycle: &Cycle, smallest: f64) -> Result<Floquet> {
    const WHAT: &str = "the Floquet multipliers";
    let collocation = Collocation::of(cycle);
    let (n, size) = (cycle.n, collocation.size());
    let scales: Vec<f64> = (0..n).map(|k| cycle.size(k)).collect();
    // past[k] acts on the perturbation k + 1 periods ago
    let mut now = LargeSystem::new(size);
    let mut past: Vec<Matrix> = vec![Matrix::zeros(size, size)];
    let mut residual = Vec::new();
    let mut too_far = false;
    collocation.assemble(
        system,
        &cycle.nodes,
        cycle.period,
        &cycle.p,
        None,
        &mut residual,
        Some(&mut |row, column, back, value| {
            if back > 8 {
                too_far = true;
            } else if column < size {
                while past.len() < back {
                    past.push(Matrix::zeros(size, size));
                }
                let part = match back {
                    0 => &mut now.matrix,
                    _ => &mut past[back - 1],
                };
                part[(row, column)] += value * scales[column % n] / scales[row % n];
            }
        }),
    )?;
    if too_far {
        return Err(Error::Argument(
            "a delay spans more than eight periods of the cycle".into(),
        ));
    }
    now.factorise();
    let (total, map) = monodromy(&now, &past);
    if map.iter().any(|v| !v.is_finite()) {
        return Err(Error::Singular { what: WHAT });
    }
    let mut values = eigenvalues(total, &map, WHAT)?;
    let trivial = (0..values.len())
        .min_by(|a, b| {
            (values[*a] - 1.0)
                .modulus()
                .total_cmp(&(values[*b] - 1.0).modulus())
        })
        .ok_or(Error::Eigenvalues(WHAT))?;
    let trivial_error = (values.swap_remove(trivial) - 1.0).modulus();
    values.retain(|v| v.modulus() >= smallest);
    values.sort_by(|a, b| {
        b.modulus()
            .total_cmp(&a.modulus())
            .then(b.im.total_cmp(&a.im))
    });
    Ok(Floquet {
        multipliers: values,
        trivial_error,
    })
}

/// The map from one period's unknowns to the next's, with the periods before that still act, row by
/// row, and its order: only unknowns of the past that matter have a place in it.
fn monodromy(now: &LargeSystem, past: &[Matrix]) -> (usize, Vec<f64>) {
    let size = now.vector.len();
    let depth = past.len();
    let used: Vec<usize> = (0..size)
        .filter(|c| past.iter().any(|m| (0..size).any(|r| m[(r, *c)] != 0.0)))
        .collect();
    let count = used.len();
    let total = count * depth;
    let mut map = vec![0.0; total * total];
    for (back, part) in past.iter().enumerate() {
        let mut columns = Matrix::zeros(size, count);
        for r in 0..size {
            for (c, column) in used.iter().enumerate() {
                columns[(r, c)] = -part[(r, *column)];
            }
        }
        let image = now.solve_all(&columns);
        for (r, row) in used.iter().enumerate() {
            let place = r * total + back * count;
            map[place..place + count].copy_from_slice(image.row(*row));
        }
    }
    for k in count..total {
        map[k * total + k - count] = 1.0;
    }
    (total, map)
}
