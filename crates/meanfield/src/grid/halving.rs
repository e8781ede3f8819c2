//! Windows that grow by a constant and are halved: the coordinate is the window itself.
//!
//! Even and odd cells lie in arrays of their own: halving joins cells `2 b` and `2 b + 1` to cell
//! `b`, and every loop runs over contiguous memory.

use super::{LARGEST_HAZARD, Step, flush};
use crate::law::Hazard;

/// Zeros in front of the scratch arrays, so that pair `b - 1` exists for `b = 0`.
const LEADING_ZEROS: usize = 1;

/// Values of the cells: `even[b]` belongs to cell `2 b`, `odd[b]` to cell `2 b + 1`.
#[derive(Clone, Debug)]
struct Split {
    even: Vec<f64>,
    odd: Vec<f64>,
}

impl Split {
    fn zeros(length: usize) -> Self {
        Self {
            even: vec![0.0; length],
            odd: vec![0.0; length],
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Halving {
    /// Cell `j` reaches from `(j - 1) width + offset` to `j width + offset`; the top one, `2
    /// pairs`, is cut off by the largest window.
    mass: Split,
    pairs: usize,
    width: f64,
    offset: f64,
    atom: f64,
    increase: f64,
    w_max: f64,
    hazard: Hazard,
    /// Window between the cells of each pair, at offset zero.
    middle: Vec<f64>,
    /// Hazard of each cell in this step.
    rate: Split,
    /// Mass that jumps out of each cell, behind `LEADING_ZEROS` zeros.
    out: Split,
    /// The mass that came and jumps again within the step, likewise.
    again: Split,
    /// Mass that jumps into each cell; only the lower half gets any.
    gain: Vec<f64>,
    /// Sum of mass, and of mass times centre at offset zero, over all cells but the top one.
    sums: [f64; 2],
}

/// Where mass that leaves goes: index of a cell and the share of the next one.
#[derive(Clone, Copy)]
struct Target {
    cell: usize,
    share: f64,
}

impl Halving {
    pub(super) fn new(increase: f64, w_max: f64, cells: f64, hazard: Hazard) -> Self {
        let pairs = libm::ceil(0.5 * cells) as usize;
        let width = w_max / (2 * pairs) as f64;
        // the pair of the top cell, and one more for neighbours beyond the end
        let length = pairs + 1;
        Self {
            mass: Split::zeros(length),
            pairs,
            width,
            offset: 0.0,
            atom: 0.0,
            increase,
            w_max,
            hazard,
            middle: (0..length).map(|b| (2 * b) as f64 * width).collect(),
            rate: Split::zeros(length),
            out: Split::zeros(LEADING_ZEROS + length + 4),
            again: Split::zeros(LEADING_ZEROS + length + 4),
            gain: vec![0.0; 2 * (pairs / 2 + 2)],
            sums: [0.0; 2],
        }
    }

    #[inline]
    pub(super) fn advance(&mut self, step: Step) {
        if step.losses == 0.0 {
            self.drift(self.increase * step.rounds);
            return;
        }
        let half = 0.5 * self.increase * step.rounds;
        self.drift(half);
        let largest = match self.hazard {
            Hazard::PerPacket => step.losses * self.w_max,
            Hazard::PerLossEvent => step.rounds,
        };
        let stages = libm::ceil(largest / LARGEST_HAZARD).max(1.0);
        let atom_rate = self.rates(step, stages);
        for _ in 0..stages as u32 {
            self.jump(atom_rate);
        }
        self.drift(half);
        self.sum();
    }

    /// Moves the cells up; what crosses the largest window joins the atom.
    #[inline]
    fn drift(&mut self, mut distance: f64) {
        loop {
            let room = self.width - self.offset;
            let top = &mut self.mass.even[self.pairs];
            if distance < room {
                let out = *top * (distance / room);
                *top -= out;
                self.atom += out;
                self.offset += distance;
                return;
            }
            self.atom += *top;
            self.renumber();
            distance -= room;
        }
    }

    /// Cell `j` becomes cell `j + 1`.
    fn renumber(&mut self) {
        let Split { even, odd } = &mut self.mass;
        even[self.pairs] = 0.0;
        odd.copy_within(0..self.pairs, 1);
        odd[0] = 0.0;
        std::mem::swap(even, odd);
        even.iter_mut().chain(odd).for_each(flush);
        self.offset = 0.0;
        self.sum();
    }

    /// Sets the hazards of all cells; returns that of the atom.
    fn rates(&mut self, step: Step, stages: f64) -> f64 {
        let pairs = self.pairs;
        let (below, above) = (
            self.offset - 0.5 * self.width,
            self.offset + 0.5 * self.width,
        );
        let top = self.top();
        let Split { even, odd } = &mut self.rate;
        let (top_rate, atom_rate) = match self.hazard {
            Hazard::PerPacket => {
                let losses = step.losses / stages;
                for (even, middle) in even.iter_mut().zip(&self.middle) {
                    *even = losses * (middle + below);
                }
                for (odd, middle) in odd.iter_mut().zip(&self.middle) {
                    *odd = losses * (middle + above);
                }
                (losses * top, losses * self.w_max)
            }
            Hazard::PerLossEvent => {
                let kappa = step.losses / step.rounds;
                let rounds = step.rounds / stages;
                // exp(-kappa w) along equal steps of w is a geometric sequence
                let ratio = libm::exp(-2.0 * kappa * self.width);
                let mut survive = [libm::exp(-kappa * below), libm::exp(-kappa * above)];
                for (even, odd) in even.iter_mut().zip(&mut *odd) {
                    *even = rounds * (1.0 - survive[0]);
                    *odd = rounds * (1.0 - survive[1]);
                    survive = survive.map(|s| s * ratio);
                }
                (
                    rounds * self.hazard.rate(kappa, top),
                    rounds * self.hazard.rate(kappa, self.w_max),
                )
            }
        };
        // cell 0 straddles the bottom: nothing below to go to
        even[0] = 0.0;
        even[pairs] = top_rate;
        odd[pairs] = 0.0;
        atom_rate
    }

    /// Mean window of the top cell.
    #[inline]
    fn top(&self) -> f64 {
        self.w_max - 0.5 * (self.width - self.offset)
    }

    #[inline]
    fn target(&self, window: f64) -> Target {
        let place = ((window - self.offset) / self.width + 0.5).max(0.0);
        let cell = place as usize;
        Target {
            cell,
            share: place - cell as f64,
        }
    }

    /// One stage of decreases at rates `r`, of second order: `m (r - r^2 / 2)` leaves, as if
    /// nothing came, and of what comes, `g`, `g r / 2` leaves again.
    fn jump(&mut self, atom_rate: f64) {
        let targets = [self.target(0.5 * self.top()), self.target(0.5 * self.w_max)];
        let shares = Shares::new(self.offset / self.width);
        leave(
            &mut self.mass.even,
            &self.rate.even,
            &mut self.out.even[LEADING_ZEROS..],
        );
        leave(
            &mut self.mass.odd,
            &self.rate.odd,
            &mut self.out.odd[LEADING_ZEROS..],
        );
        let out_top = std::mem::take(&mut self.out.even[LEADING_ZEROS + self.pairs]);
        let out_atom = self.atom * (atom_rate - 0.5 * atom_rate * atom_rate);
        self.atom -= out_atom;
        shares.join(&self.out, &mut self.gain);
        for (target, out) in targets.into_iter().zip([out_top, out_atom]) {
            let up = out * target.share;
            self.gain[target.cell] += out - up;
            self.gain[target.cell + 1] += up;
        }
        // gains reach the lower half, and what of them leaves again the lowest quarter
        let (gains, _) = self.gain.as_chunks::<2>();
        respond(
            &mut self.mass.even,
            &self.rate.even,
            &mut self.again.even[LEADING_ZEROS..],
            gains,
            0,
        );
        respond(
            &mut self.mass.odd,
            &self.rate.odd,
            &mut self.again.odd[LEADING_ZEROS..],
            gains,
            1,
        );
        let lowest = 2 * (gains.len() / 2 + 1);
        shares.join(&self.again, &mut self.gain[..lowest]);
        let (gains, _) = self.gain[..lowest].as_chunks::<2>();
        for ((even, odd), gain) in self.mass.even.iter_mut().zip(&mut self.mass.odd).zip(gains) {
            *even += gain[0];
            *odd += gain[1];
        }
    }

    pub(super) fn add(&mut self, window: f64, mass: f64) {
        if window >= self.w_max {
            self.atom += mass;
        } else {
            let last = 2 * self.pairs;
            let Target { cell, share } = self.target(window);
            // the top cell's mean differs from that of a whole cell
            let cell = cell.min(last - 1);
            let share = if cell + 1 == last {
                let low = (cell as f64 - 0.5) * self.width + self.offset;
                ((window - low) / (self.top() - low)).clamp(0.0, 1.0)
            } else {
                share
            };
            *self.cell(cell) += mass * (1.0 - share);
            *self.cell(cell + 1) += mass * share;
        }
        self.sum();
    }

    fn cell(&mut self, cell: usize) -> &mut f64 {
        let side = if cell.is_multiple_of(2) {
            &mut self.mass.even
        } else {
            &mut self.mass.odd
        };
        &mut side[cell / 2]
    }

    pub(super) fn scale(&mut self, factor: f64) {
        self.mass
            .even
            .iter_mut()
            .chain(&mut self.mass.odd)
            .for_each(|mass| *mass *= factor);
        self.atom *= factor;
        self.sum();
    }

    fn sum(&mut self) {
        let (mut mass, mut first) = ([[0.0; 2]; 2], [0.0; 2]);
        let (even, _) = self.mass.even[..self.pairs].as_chunks::<2>();
        let (odd, _) = self.mass.odd[..self.pairs].as_chunks::<2>();
        let (middle, _) = self.middle[..self.pairs].as_chunks::<2>();
        for ((even, odd), middle) in even.iter().zip(odd).zip(middle) {
            for i in 0..2 {
                mass[0][i] += even[i];
                mass[1][i] += odd[i];
                first[i] += (even[i] + odd[i]) * middle[i];
            }
        }
        if !self.pairs.is_multiple_of(2) {
            let last = self.pairs - 1;
            mass[0][0] += self.mass.even[last];
            mass[1][0] += self.mass.odd[last];
            first[0] += (self.mass.even[last] + self.mass.odd[last]) * self.middle[last];
        }
        let (even, odd) = (mass[0][0] + mass[0][1], mass[1][0] + mass[1][1]);
        self.sums = [
            even + odd,
            first[0] + first[1] + 0.5 * self.width * (odd - even),
        ];
    }

    #[inline]
    pub(super) fn packets(&self) -> f64 {
        let top = self.mass.even[self.pairs] * self.top();
        self.sums[1] + self.offset * self.sums[0] + (top + self.atom * self.w_max)
    }

    pub(super) fn atom(&self) -> f64 {
        self.atom
    }

    pub(super) fn total(&self) -> f64 {
        self.mass.even.iter().sum::<f64>() + self.mass.odd.iter().sum::<f64>() + self.atom
    }

    pub(super) fn contents(&self) -> Vec<(f64, f64, f64)> {
        (0..=2 * self.pairs)
            .map(|cell| {
                let high = cell as f64 * self.width + self.offset;
                let side = if cell.is_multiple_of(2) {
                    &self.mass.even
                } else {
                    &self.mass.odd
                };
                (high - self.width, high.min(self.w_max), side[cell / 2])
            })
            .collect()
    }
}

fn leave(mass: &mut [f64], rate: &[f64], out: &mut [f64]) {
    let n = mass.len();
    let (rate, out) = (&rate[..n], &mut out[..n]);
    for i in 0..n {
        let leaving = mass[i] * (rate[i] - 0.5 * rate[i] * rate[i]);
        out[i] = leaving;
        mass[i] -= leaving;
    }
}

/// Half of what comes in a step at rate `rate` leaves again.
fn respond(mass: &mut [f64], rate: &[f64], again: &mut [f64], gains: &[[f64; 2]], side: usize) {
    let n = gains.len().min(mass.len());
    let (mass, rate, again) = (&mut mass[..n], &rate[..n], &mut again[..n]);
    for i in 0..n {
        let gain = gains[i][side];
        again[i] = 0.5 * rate[i] * gain;
        mass[i] += gain - again[i];
    }
}

/// Shares of the halved cells `2 b` (even) and `2 b + 1` (odd) that fall on cells `b - 1` (down),
/// `b` and `b + 1` (up).
///
/// Half the window of cell `j` lies at cell `j / 2 + 1/4 - phase / 2`, where `phase` is the offset
/// in cells.
#[derive(Clone, Copy)]
struct Shares {
    even: f64,
    even_up: f64,
    even_down: f64,
    odd: f64,
    odd_up: f64,
}

impl Shares {
    fn new(phase: f64) -> Self {
        let shift = 0.25 - 0.5 * phase;
        let (even_up, even_down) = (shift.max(0.0), (-shift).max(0.0));
        let odd_up = 0.5 + shift;
        Self {
            even: 1.0 - even_up - even_down,
            even_up,
            even_down,
            odd: 1.0 - odd_up,
            odd_up,
        }
    }

    /// Masses that land on each cell when `out` is halved.
    #[inline]
    fn join(&self, out: &Split, gain: &mut [f64]) {
        let Self {
            even,
            even_up,
            even_down,
            odd,
            odd_up,
        } = *self;
        // slices of one length: the loop then runs without bounds checks, two cells at a time
        let n = gain.len();
        let (below, here, above) = (&out.even[..n], &out.even[1..=n], &out.even[2..n + 2]);
        let (odd_below, odd_here) = (&out.odd[..n], &out.odd[1..=n]);
        for i in 0..n {
            gain[i] = (even_up * below[i] + odd_up * odd_below[i])
                + (even * here[i] + odd * odd_here[i])
                + even_down * above[i];
        }
    }
}
