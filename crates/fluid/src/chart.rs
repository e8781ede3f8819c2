//! The verdict over a grid of two parameters.

use std::collections::VecDeque;

use ackclock_delay::{Linear, count_right_of, equilibrium, rightmost_roots};

use crate::{equilibrium::Equilibrium, error::Result, model::Model};

/// The shortest step from one cell to the next, as a part of the way between them.
const SHORTEST_STEP: f64 = 1.0 / 16.0;
/// Cells from which the chart may begin where the nearest one has no equilibrium: so many along
/// each axis.
const STARTS_PER_AXIS: usize = 8;

impl Model {
    /// For every pair of values of two parameters: the number of unstable roots (argument
    /// principle), or `None` where the equilibrium in the regimes of `at` is lost or a root lies on
    /// the axis. Row by row, the first parameter outermost.
    ///
    /// The equilibrium is carried from cell to cell, outwards from the one nearest to `at`, so that
    /// a cell without one is tried from its neighbours only.
    ///
    /// # Errors
    /// [`crate::Error::Parameter`].
    pub fn chart(
        &mut self,
        at: &Equilibrium,
        names: (&str, &str),
        values: (&[f64], &[f64]),
    ) -> Result<Vec<Option<usize>>> {
        let chart = self.carried_over(at, names, values)?;
        Ok(chart.cells().map(|cell| chart.verdict(cell)).collect())
    }

    /// For the same cells the largest real part of the characteristic roots, 1/s; NaN where
    /// [`Model::chart`] has none to say.
    ///
    /// # Errors
    /// [`crate::Error::Parameter`].
    pub fn chart_abscissas(
        &mut self,
        at: &Equilibrium,
        names: (&str, &str),
        values: (&[f64], &[f64]),
    ) -> Result<Vec<f64>> {
        let chart = self.carried_over(at, names, values)?;
        Ok(chart.cells().map(|cell| chart.abscissa(cell)).collect())
    }

    fn carried_over<'a>(
        &'a mut self,
        at: &'a Equilibrium,
        names: (&str, &str),
        values: (&'a [f64], &'a [f64]),
    ) -> Result<Chart<'a>> {
        let free = (self.parameter(names.0)?, self.parameter(names.1)?);
        let p = self.lengthened(&at.p);
        let mut chart = Chart {
            model: self,
            frozen: self.frozen(&at.regimes),
            at,
            p,
            free,
            values,
            states: vec![None; values.0.len() * values.1.len()],
            walked: vec![false; values.0.len() * values.1.len()],
        };
        chart.fill();
        Ok(chart)
    }
}

struct Chart<'a> {
    model: &'a Model,
    /// In the regimes of the equilibrium that is carried.
    frozen: Model,
    at: &'a Equilibrium,
    p: Vec<f64>,
    free: (usize, usize),
    values: (&'a [f64], &'a [f64]),
    /// The equilibrium of the frozen laws in each cell, whether or not they hold there.
    states: Vec<Option<Vec<f64>>>,
    /// Cells to which the equilibrium was walked in short steps, in vain.
    walked: Vec<bool>,
}

impl Chart<'_> {
    /// Carries the equilibrium over all cells that it reaches.
    fn fill(&mut self) {
        let Some(first) = self.starts().into_iter().find(|cell| {
            let x = walk(&self.frozen, &self.at.x, &self.p, &self.parameters(*cell));
            self.states[*cell] = x;
            self.states[*cell].is_some()
        }) else {
            return;
        };
        let mut front = VecDeque::from([first]);
        while let Some(from) = front.pop_front() {
            for to in self.neighbours(from) {
                if self.states[to].is_none() {
                    self.states[to] = self.carry(from, to);
                    if self.states[to].is_some() {
                        front.push_back(to);
                    }
                }
            }
        }
    }

    /// The equilibrium of a cell, from that of its neighbour.
    fn carry(&mut self, from: usize, to: usize) -> Option<Vec<f64>> {
        let x = self.states[from].as_ref()?;
        let p = self.parameters(to);
        if std::mem::replace(&mut self.walked[to], true) {
            return equilibrium(&self.frozen, x, &p).ok();
        }
        walk(&self.frozen, x, &self.parameters(from), &p)
    }

    fn cells(&self) -> std::ops::Range<usize> {
        0..self.states.len()
    }

    /// The linearisation in a cell whose equilibrium lies in the regimes of the laws.
    fn linear(&self, cell: usize) -> Option<Linear> {
        let x = self.states[cell].as_ref()?;
        let p = self.parameters(cell);
        let holds = self.model.sensible(x, &p) && self.model.regimes_at(x, &p) == self.at.regimes;
        holds.then(|| Linear::of(&self.frozen, x, &p))
    }

    fn verdict(&self, cell: usize) -> Option<usize> {
        count_right_of(&self.linear(cell)?, 0.0).ok()
    }

    fn abscissa(&self, cell: usize) -> f64 {
        let roots = self
            .linear(cell)
            .filter(|linear| count_right_of(linear, 0.0).is_ok())
            .and_then(|linear| rightmost_roots(&linear, 1).ok());
        roots.map_or(f64::NAN, |root| root.abscissa())
    }

    fn parameters(&self, cell: usize) -> Vec<f64> {
        let columns = self.values.1.len();
        let mut p = self.p.clone();
        p[self.free.0] = self.values.0[cell / columns];
        p[self.free.1] = self.values.1[cell % columns];
        p
    }

    /// The cell nearest to the present values, and after it some from all over the chart.
    fn starts(&self) -> Vec<usize> {
        let columns = self.values.1.len();
        let place = |values: &[f64], now: f64| {
            let far = |v: f64| {
                if v * now > 0.0 {
                    libm::log(v / now).abs()
                } else {
                    (v - now).abs()
                }
            };
            (0..values.len()).min_by(|a, b| far(values[*a]).total_cmp(&far(values[*b])))
        };
        let (Some(row), Some(column)) = (
            place(self.values.0, self.p[self.free.0]),
            place(self.values.1, self.p[self.free.1]),
        ) else {
            return Vec::new();
        };
        let spread = |count: usize| {
            (0..STARTS_PER_AXIS).map(move |k| k * (count - 1) / (STARTS_PER_AXIS - 1))
        };
        let mut others: Vec<usize> = spread(self.values.0.len())
            .flat_map(|j| spread(columns).map(move |k| j * columns + k))
            .collect();
        others.sort_by_key(|c| {
            (c / columns).abs_diff(row).pow(2) + (c % columns).abs_diff(column).pow(2)
        });
        others.insert(0, row * columns + column);
        others
    }

    fn neighbours(&self, cell: usize) -> impl Iterator<Item = usize> + use<> {
        let (rows, columns) = (self.values.0.len(), self.values.1.len());
        let (row, column) = (cell / columns, cell % columns);
        [
            (column > 0).then(|| cell - 1),
            (column + 1 < columns).then(|| cell + 1),
            (row > 0).then(|| cell - columns),
            (row + 1 < rows).then(|| cell + columns),
        ]
        .into_iter()
        .flatten()
    }
}

/// The equilibrium carried from parameters `from` to `to`, in shorter steps where one does not do.
fn walk(system: &Model, x: &[f64], from: &[f64], to: &[f64]) -> Option<Vec<f64>> {
    let mut x = x.to_vec();
    let (mut done, mut step) = (0.0_f64, 1.0_f64);
    while done < 1.0 {
        let next = (done + step).min(1.0);
        let p: Vec<f64> = from
            .iter()
            .zip(to)
            .map(|(a, b)| a + next * (b - a))
            .collect();
        if let Ok(at) = equilibrium(system, &x, &p) {
            (x, done) = (at, next);
        } else {
            step *= 0.5;
            if step < SHORTEST_STEP {
                return None;
            }
        }
    }
    Some(x)
}
