//! Windows of any law, in the coordinate in which they grow at unit speed.

use std::sync::Arc;

use super::{LARGEST_HAZARD, MOST_CELLS, Step, flush, smaller};
use crate::error::{Error, check};
use crate::law::{Hazard, WindowLaw};

/// Offsets within a cell for which the geometry is tabulated.
const CELL_PHASES: usize = 16;
/// Nodes of the table of windows, a cell.
const CELL_NODES: usize = 4 * CELL_PHASES;

/// Contents of the moving cells.
///
/// Cell `j` reaches from `(j - 1) width + offset` to `j width + offset`. Cell 0 straddles the
/// bottom, cell `count` is cut off by the largest window.
#[derive(Clone, Debug)]
struct Cells {
    mass: Vec<f64>,
    width: f64,
    count: usize,
    offset: f64,
    atom: f64,
    /// Above this cell all are empty.
    filled: usize,
    /// The least that this may be: flows below the law's floor jump up to it.
    least: usize,
}

impl Cells {
    fn new(count: usize, width: f64, least: usize) -> Self {
        // padded, so that loops over pairs and neighbours need no end cases
        Self {
            mass: vec![0.0; count + 4],
            width,
            count,
            offset: 0.0,
            atom: 0.0,
            filled: least,
            least,
        }
    }

    #[inline]
    fn fill(&mut self, cell: usize) {
        self.filled = self.filled.max(cell).min(self.count);
    }

    /// Moves the cells up. Returns whether their contents were renumbered.
    #[inline]
    fn drift(&mut self, mut distance: f64) -> bool {
        let mut renumbered = false;
        loop {
            let room = self.width - self.offset;
            let top = &mut self.mass[self.count];
            if distance < room {
                let out = *top * (distance / room);
                *top -= out;
                self.atom += out;
                self.offset += distance;
                return renumbered;
            }
            self.atom += *top;
            self.mass
                .copy_within(0..(self.filled + 1).min(self.count), 1);
            self.mass[0] = 0.0;
            self.fill(self.filled + 1);
            self.mass[..=self.filled].iter_mut().for_each(flush);
            while self.filled > self.least && self.mass[self.filled] == 0.0 {
                self.filled -= 1;
            }
            self.offset = 0.0;
            distance -= room;
            renumbered = true;
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct General {
    cells: Cells,
    w_max: f64,
    hazard: Hazard,
    phases: Arc<[Phase]>,
    phase: usize,
    rate: Vec<f64>,
    change: Vec<f64>,
    middle: Vec<f64>,
    /// Sum of mass times window, and its first and second derivative (halved) with respect to the
    /// offset, all but the atom.
    sums: [f64; 3],
}

/// The geometry at one offset: one entry a cell, the last one for the atom.
#[derive(Clone, Debug)]
struct Phase {
    window: Vec<f64>,
    /// `dw/dy`, and half of `d2w/dy2`.
    speed: Vec<f64>,
    bend: Vec<f64>,
    /// The cell below the target of a decrease, and the share of the next cell.
    cell: Vec<u32>,
    share: Vec<f64>,
}

/// Windows at equal steps of the coordinate, from the top down.
struct Table {
    window: Vec<f64>,
    step: f64,
    floor: f64,
    floor_speed: f64,
}

impl Table {
    /// At `nodes` half steps below the top; below the floor, a straight line.
    fn at(&self, half_nodes: f64) -> f64 {
        let place = (half_nodes * 0.5).max(0.0);
        let last = (self.window.len() - 1) as f64;
        if place >= last {
            return (self.floor - (place - last) * self.step * self.floor_speed).max(0.0);
        }
        let node = place as usize;
        let part = place - node as f64;
        // nodes are a sixty-fourth of a cell apart: a straight line between them is exact enough
        self.window[node] + part * (self.window[node + 1] - self.window[node])
    }
}

fn speed(law: &dyn WindowLaw, window: f64) -> f64 {
    if window > 0.0 {
        window * law.increase(window)
    } else {
        0.0
    }
}

impl General {
    pub(super) fn new(
        law: &Arc<dyn WindowLaw>,
        w_max: f64,
        cells_per_packet: f64,
        hazard: Hazard,
    ) -> Result<Self, Error> {
        let law = &**law;
        let floor = law.floor();
        // the fastest growth per round trip decides how long a cell may be
        let fastest = (0..=1000)
            .map(|i| floor + (w_max - floor) * f64::from(i) / 1000.0)
            .map(|w| speed(law, w))
            .fold(0.0, f64::max);
        check(
            fastest.is_finite() && fastest > 0.0,
            "the growth of the window in a round trip",
            fastest,
            "above 0 and finite",
        )?;
        let width = 1.0 / (cells_per_packet * fastest);
        let (count, width) = span(law, w_max, width)?;
        let table = tabulate(law, w_max, count, width / CELL_NODES as f64);
        let phases: Arc<[Phase]> = (0..CELL_PHASES)
            .map(|phase| Phase::new(law, &table, count, phase, w_max))
            .collect();
        let least = phases.iter().map(Phase::lifted).max().unwrap_or(1);
        let cells = Cells::new(count, width, least);
        let length = cells.mass.len();
        let scratch = vec![0.0; length];
        Ok(Self {
            cells,
            w_max,
            hazard,
            phases,
            phase: 0,
            rate: scratch.clone(),
            change: scratch.clone(),
            middle: scratch,
            sums: [0.0; 3],
        })
    }

    pub(super) fn advance(&mut self, step: Step) {
        if step.losses == 0.0 {
            if self.drift(step.rounds) | self.hold_back(step) {
                self.sum();
            }
            return;
        }
        self.drift(0.5 * step.rounds);
        self.hold_back(step);
        let largest = match self.hazard {
            Hazard::PerPacket => step.losses * smaller(self.w_max, step.limit),
            Hazard::PerLossEvent => step.rounds,
        };
        let stages = libm::ceil(largest / LARGEST_HAZARD).max(1.0);
        let phase = &self.phases[self.phase];
        let hazard = self.hazard;
        let rate = |window: f64| {
            let sent = smaller(window, step.limit);
            match hazard {
                Hazard::PerPacket => step.losses * sent / stages,
                Hazard::PerLossEvent => {
                    step.rounds * hazard.rate(step.losses / step.rounds, sent) / stages
                }
            }
        };
        let top = self.cells.count + 1;
        if self.cells.atom > 0.0 {
            self.cells.fill(phase.cell[top] as usize + 1);
            self.rate[top] = rate(phase.window[top]);
        }
        let filled = self.cells.filled;
        for (to, &window) in self.rate[..=filled].iter_mut().zip(&phase.window) {
            *to = rate(window);
        }
        self.rate[0] = 0.0;
        for _ in 0..stages as u32 {
            self.jump();
        }
        self.drift(0.5 * step.rounds);
        self.sum();
    }

    /// Returns whether the sums are those of another phase.
    fn drift(&mut self, rounds: f64) -> bool {
        let renumbered = self.cells.drift(rounds);
        let phase = ((self.cells.offset / self.cells.width * CELL_PHASES as f64) as usize)
            .min(CELL_PHASES - 1);
        let moved = renumbered || phase != self.phase;
        self.phase = phase;
        moved
    }

    /// Windows beyond the limit have grown by a whole round trip's growth, but so many packets were
    /// not acknowledged: takes back the part 1 - limit / w of it, by moving mass to the cell below.
    /// First order in the width of cells. Returns whether it did so.
    fn hold_back(&mut self, step: Step) -> bool {
        if step.limit >= self.w_max {
            return false;
        }
        let phase = &self.phases[self.phase];
        let count = self.cells.count;
        let first = phase.window[..=count].partition_point(|w| *w <= step.limit);
        for j in first.max(1)..=self.cells.filled {
            let w = phase.window[j];
            // the top cell's speed is halved in the table
            let speed = phase.speed[j] * if j == count { 2.0 } else { 1.0 };
            let excess = step.rounds * speed * (1.0 - step.limit / w);
            let out = self.cells.mass[j] * smaller(excess / (w - phase.window[j - 1]), 1.0);
            self.cells.mass[j] -= out;
            self.cells.mass[j - 1] += out;
        }
        true
    }

    fn jump(&mut self) {
        // the atom takes the place beyond the top cell
        let (filled, top) = (self.cells.filled, self.cells.count + 1);
        self.cells.mass[top] = self.cells.atom;
        let phase = &self.phases[self.phase];
        phase.spread(&self.cells.mass, &self.rate, filled, &mut self.change);
        let half = |mass: f64, change: f64| mass + 0.5 * change;
        for ((middle, mass), change) in self.middle[..=filled]
            .iter_mut()
            .zip(&self.cells.mass)
            .zip(&self.change)
        {
            *middle = half(*mass, *change);
        }
        self.middle[top] = half(self.cells.atom, self.change[top]);
        phase.spread(&self.middle, &self.rate, filled, &mut self.change);
        for (mass, change) in self.cells.mass[..=filled].iter_mut().zip(&self.change) {
            *mass += change;
        }
        self.cells.mass[top] += self.change[top];
        self.cells.atom = self.cells.mass[top];
        self.cells.mass[top] = 0.0;
    }

    pub(super) fn add(&mut self, window: f64, mass: f64) {
        let count = self.cells.count;
        if window >= self.w_max {
            self.cells.atom += mass;
        } else {
            let (cell, share) = place(&self.windows_now()[..=count], window);
            self.cells.mass[cell] += mass * (1.0 - share);
            self.cells.mass[cell + 1] += mass * share;
            self.cells.fill(cell + 1);
        }
        self.sum();
    }

    /// Distance of the offset from the middle of the tabulated phase.
    #[inline]
    fn excess(&self) -> f64 {
        self.cells.offset - (self.phase as f64 + 0.5) / CELL_PHASES as f64 * self.cells.width
    }

    fn windows_now(&self) -> Vec<f64> {
        let phase = &self.phases[self.phase];
        let x = self.excess();
        (0..phase.window.len())
            .map(|j| phase.window[j] + x * (phase.speed[j] + x * phase.bend[j]))
            .collect()
    }

    fn sum(&mut self) {
        let phase = &self.phases[self.phase];
        let mut sums = [0.0; 3];
        for (j, mass) in self.cells.mass[..=self.cells.filled].iter().enumerate() {
            sums[0] += mass * phase.window[j];
            sums[1] += mass * phase.speed[j];
            sums[2] += mass * phase.bend[j];
        }
        self.sums = sums;
    }

    #[inline]
    pub(super) fn packets(&self) -> f64 {
        let x = self.excess();
        self.sums[0] + x * (self.sums[1] + x * self.sums[2]) + self.cells.atom * self.w_max
    }

    pub(super) fn packets_within(&self, limit: f64) -> f64 {
        let phase = &self.phases[self.phase];
        let x = self.excess();
        let cells: f64 = self.cells.mass[..=self.cells.filled]
            .iter()
            .enumerate()
            .map(|(j, mass)| {
                let window = phase.window[j] + x * (phase.speed[j] + x * phase.bend[j]);
                mass * smaller(window, limit)
            })
            .sum();
        cells + self.cells.atom * self.w_max.min(limit)
    }

    pub(super) fn scale(&mut self, factor: f64) {
        self.cells.mass.iter_mut().for_each(|mass| *mass *= factor);
        self.cells.atom *= factor;
        self.sum();
    }

    pub(super) fn atom(&self) -> f64 {
        self.cells.atom
    }

    pub(super) fn total(&self) -> f64 {
        self.cells.mass[..=self.cells.count].iter().sum::<f64>() + self.cells.atom
    }

    pub(super) fn contents(&self) -> Vec<(f64, f64, f64)> {
        (0..=self.cells.count)
            .map(|cell| {
                let (low, high) = self.edges(cell);
                (low, high, self.cells.mass[cell])
            })
            .collect()
    }

    fn edges(&self, cell: usize) -> (f64, f64) {
        let phase = &self.phases[self.phase];
        let middle = phase.window[cell] + self.excess() * phase.speed[cell];
        if cell == self.cells.count {
            return ((2.0 * middle - self.w_max).min(self.w_max), self.w_max);
        }
        let half = 0.5 * self.cells.width * phase.speed[cell];
        ((middle - half).max(0.0), (middle + half).min(self.w_max))
    }
}

/// Number of cells from the floor (or zero) to the top, and their width, reduced so that they fit.
fn span(law: &dyn WindowLaw, w_max: f64, width: f64) -> Result<(usize, f64), Error> {
    let floor = law.floor();
    let mut window = w_max;
    let mut cells = 0.0;
    loop {
        let next = descend(law, window, width);
        if next <= floor || next <= 1e-9 * w_max {
            // the last cell counts as far as it reaches
            cells += ((window - floor) / (window - next)).clamp(0.0, 1.0);
            break;
        }
        window = next;
        cells += 1.0;
        if cells > MOST_CELLS {
            let what =
                "this window law: its growth vanishes towards zero, and it has no smallest window"
                    .to_owned();
            return Err(Error::Unsupported(what));
        }
    }
    let count = libm::ceil(cells).max(8.0);
    Ok((count as usize, width * cells / count))
}

/// The window `step` round trips earlier, by the classical Runge-Kutta method.
fn descend(law: &dyn WindowLaw, window: f64, step: f64) -> f64 {
    let a = speed(law, window);
    let b = speed(law, window - 0.5 * step * a);
    let c = speed(law, window - 0.5 * step * b);
    let d = speed(law, window - step * c);
    window - step / 6.0 * (a + 2.0 * (b + c) + d)
}

fn tabulate(law: &dyn WindowLaw, w_max: f64, count: usize, step: f64) -> Table {
    let floor = law.floor();
    let mut window = Vec::with_capacity(count * CELL_NODES + 1);
    window.push(w_max);
    for node in 0..count * CELL_NODES {
        window.push(descend(law, window[node], step).max(floor));
    }
    Table {
        window,
        step,
        floor,
        floor_speed: speed(law, floor),
    }
}

/// The cell at or below `window` among rising `windows`, and the share of the next one that keeps
/// the mean.
fn place(windows: &[f64], window: f64) -> (usize, f64) {
    let above = windows
        .partition_point(|w| *w <= window)
        .clamp(1, windows.len() - 1);
    let (low, high) = (windows[above - 1], windows[above]);
    let share = if high > low {
        (window - low) / (high - low)
    } else {
        0.0
    };
    (above - 1, share.clamp(0.0, 1.0))
}

impl Phase {
    fn new(law: &dyn WindowLaw, table: &Table, count: usize, phase: usize, w_max: f64) -> Self {
        // half nodes below the top of the centre of cell j at the middle of this phase
        let centre = |j: usize| {
            2.0 * (CELL_NODES as f64
                * ((count - j) as f64 + 0.5 - (phase as f64 + 0.5) / CELL_PHASES as f64))
        };
        let middle_of_top = CELL_NODES as f64 * (1.0 - (phase as f64 + 0.5) / CELL_PHASES as f64);
        let mut window: Vec<f64> = (0..count).map(|j| table.at(centre(j))).collect();
        window.push(table.at(middle_of_top));
        window.push(w_max);
        let floor = law.floor();
        let slope = |w: f64| {
            let w = w.max(floor);
            let h = 1e-4 * w;
            if w > 0.0 {
                (speed(law, w + h) - speed(law, w - h)) / (2.0 * h)
            } else {
                0.0
            }
        };
        // the top cell's mean window moves at half the speed, as its upper edge stands still
        let factor = |j: usize| {
            if j < count {
                1.0
            } else if j == count {
                0.5
            } else {
                0.0
            }
        };
        let speeds: Vec<f64> = window
            .iter()
            .enumerate()
            .map(|(j, &w)| factor(j) * speed(law, w.max(floor)))
            .collect();
        let bend = window
            .iter()
            .zip(&speeds)
            .enumerate()
            .map(|(j, (&w, s))| 0.5 * factor(j) * s * slope(w))
            .collect();
        let (cell, share) = window
            .iter()
            .map(|&w| {
                let (cell, share) = place(&window[..=count], (w - law.decrease(w)).max(floor));
                (cell as u32, share)
            })
            .unzip();
        Self {
            window,
            speed: speeds,
            bend,
            cell,
            share,
        }
    }

    /// The highest cell to which flows of lower ones jump.
    fn lifted(&self) -> usize {
        let above = |(j, cell): (usize, &u32)| (*cell as usize >= j).then_some(*cell as usize + 1);
        self.cell
            .iter()
            .enumerate()
            .filter_map(above)
            .max()
            .unwrap_or(1)
    }

    /// Change of each cell up to `filled`, and of the atom, by the decreases out of `mass` at `rate`.
    fn spread(&self, mass: &[f64], rate: &[f64], filled: usize, change: &mut [f64]) {
        let top = self.window.len() - 1;
        change[..=filled].fill(0.0);
        change[top] = 0.0;
        let mut jump = |j: usize, cell: u32, share: f64, out: f64| {
            let up = out * share;
            let cell = cell as usize;
            change[j] -= out;
            change[cell] += out - up;
            change[cell + 1] += up;
        };
        for (j, ((cell, share), (mass, rate))) in self.cell[..=filled]
            .iter()
            .zip(&self.share)
            .zip(mass.iter().zip(rate))
            .enumerate()
        {
            jump(j, *cell, *share, mass * rate);
        }
        if mass[top] != 0.0 {
            jump(top, self.cell[top], self.share[top], mass[top] * rate[top]);
        }
    }
}
