//! The distribution of one class's windows on a grid that moves with the growth.
//!
//! In the coordinate `y(w) = integral of dw / (w i(w))` (round trips of growth) every window moves
//! at the same speed. So the cells move, not their contents: growth is exact, without numerical
//! diffusion, until a cell has moved by its own width, when all contents are renumbered. What
//! crosses the largest window collects in an atom there. Decreases carry mass down to the two cells
//! around the target, with weights that keep the mean window; they are integrated by a two-stage
//! Runge-Kutta method, so that a flow that has jumped within a step may jump again.

mod general;
mod halving;

use std::sync::Arc;

use crate::error::{Error, check};
use crate::law::{Hazard, WindowLaw};
use general::General;
use halving::Halving;

/// Largest hazard of one stage; larger ones are split.
const LARGEST_HAZARD: f64 = 0.2;
/// Cells beyond which a grid is refused.
const MOST_CELLS: f64 = 200_000.0;

/// Empties a cell that holds next to nothing: towards zero the density falls faster than any power,
/// and subnormal numbers are slow.
#[inline]
fn flush(mass: &mut f64) {
    if *mass < 1e-150 {
        *mass = 0.0;
    }
}

/// The smaller of two numbers, neither NaN: one instruction everywhere, where `f64::min` is a call in WebAssembly.
#[inline]
fn smaller(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}

/// Growth and losses of a step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    /// Round trips of growth: the integral of A.
    pub(crate) rounds: f64,
    /// The integral of kappa A.
    pub(crate) losses: f64,
    /// Packets that a flow can have in the network, whatever its window: an access link's rate
    /// times the round trip. Windows beyond it grow and lose as this many packets do. Infinite
    /// without such a link.
    pub(crate) limit: f64,
}

/// The distribution of the windows of one class. Masses are numbers of flows, in whatever unit the
/// caller adds them.
#[derive(Clone, Debug)]
pub(crate) enum Grid {
    Halving(Box<Halving>),
    General(Box<General>),
}

impl Grid {
    /// An empty grid; `limited` where steps have a limit.
    pub(crate) fn new(
        law: &Arc<dyn WindowLaw>,
        w_max: f64,
        cells_per_packet: f64,
        hazard: Hazard,
        limited: bool,
    ) -> Result<Self, Error> {
        check(
            w_max.is_finite() && w_max > law.floor(),
            "the largest window",
            w_max,
            "finite and above the law's smallest window",
        )?;
        check(
            cells_per_packet > 0.0,
            "the number of cells a packet",
            cells_per_packet,
            "above 0",
        )?;
        match law.halving_increase() {
            Some(increase) if law.floor() == 0.0 && !limited => {
                let cells = (w_max * cells_per_packet).max(8.0);
                check(
                    cells <= MOST_CELLS,
                    "the number of cells",
                    cells,
                    "at most 200000",
                )?;
                Ok(Self::Halving(Box::new(Halving::new(
                    increase, w_max, cells, hazard,
                ))))
            }
            _ => Ok(Self::General(Box::new(General::new(
                law,
                w_max,
                cells_per_packet,
                hazard,
            )?))),
        }
    }

    /// Advances by one step: half the growth, the losses, half the growth.
    #[inline]
    pub(crate) fn advance(&mut self, step: Step) {
        match self {
            Self::Halving(grid) => grid.advance(step),
            Self::General(grid) => grid.advance(step),
        }
    }

    /// Adds flows with the given window.
    pub(crate) fn add(&mut self, window: f64, mass: f64) {
        match self {
            Self::Halving(grid) => grid.add(window, mass),
            Self::General(grid) => grid.add(window, mass),
        }
    }

    /// Multiplies every mass.
    pub(crate) fn scale(&mut self, factor: f64) {
        match self {
            Self::Halving(grid) => grid.scale(factor),
            Self::General(grid) => grid.scale(factor),
        }
    }

    /// Sum of all windows, packets times the unit of mass.
    #[inline]
    pub(crate) fn packets(&self) -> f64 {
        match self {
            Self::Halving(grid) => grid.packets(),
            Self::General(grid) => grid.packets(),
        }
    }

    /// Sum of all windows, each counted up to `limit` packets.
    pub(crate) fn packets_within(&self, limit: f64) -> f64 {
        match self {
            Self::General(grid) if limit.is_finite() => grid.packets_within(limit),
            _ => self.packets(),
        }
    }

    /// Sum of all masses.
    pub(crate) fn mass(&self) -> f64 {
        match self {
            Self::Halving(grid) => grid.total(),
            Self::General(grid) => grid.total(),
        }
    }

    /// Mass at the largest window.
    #[inline]
    pub(crate) fn atom(&self) -> f64 {
        match self {
            Self::Halving(grid) => grid.atom(),
            Self::General(grid) => grid.atom(),
        }
    }

    /// Width of the lowest cell, packets.
    pub(crate) fn lowest_width(&self) -> f64 {
        let cells = self.contents();
        cells.first().map_or(0.0, |(low, high, _)| high - low)
    }

    /// Lower and upper edge (packets) and mass of each cell, in rising order; the atom is left out.
    pub(crate) fn contents(&self) -> Vec<(f64, f64, f64)> {
        match self {
            Self::Halving(grid) => grid.contents(),
            Self::General(grid) => grid.contents(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::Aimd;
    use crate::stationary::Stationary;

    /// The general path must do what the fast path does: here it is denied the shortcut.
    #[derive(Debug)]
    struct Slow(Aimd);

    impl WindowLaw for Slow {
        fn increase(&self, window: f64) -> f64 {
            self.0.increase(window)
        }
        fn decrease(&self, window: f64) -> f64 {
            self.0.decrease(window)
        }
    }

    /// i = 0.05, d = w / 8 above two packets.
    #[derive(Debug)]
    struct Scalable;

    impl WindowLaw for Scalable {
        fn increase(&self, _: f64) -> f64 {
            0.05
        }
        fn decrease(&self, window: f64) -> f64 {
            0.125 * window
        }
        fn floor(&self) -> f64 {
            2.0
        }
    }

    fn relax(
        law: &Arc<dyn WindowLaw>,
        cells: f64,
        hazard: Hazard,
        kappa: f64,
        rounds: f64,
        step: f64,
    ) -> Grid {
        let mut grid = Grid::new(law, 64.0, cells, hazard, false).unwrap();
        // spread out: a decrease of Scalable TCP is always the same number of rounds of growth, so
        // that phases never mix below the top
        (0..600).for_each(|i| grid.add(3.0 + 0.1 * f64::from(i), 1.0 / 600.0));
        for _ in 0..(rounds / step) as u32 {
            grid.advance(Step {
                rounds: step,
                losses: kappa * step,
                limit: f64::INFINITY,
            });
        }
        grid
    }

    #[test]
    fn relaxes_to_the_stationary_law() {
        let laws: [(Arc<dyn WindowLaw>, f64); 4] = [
            (Arc::new(Aimd::RENO), 0.003),
            (Arc::new(Slow(Aimd::RENO)), 0.003),
            (
                Arc::new(Aimd {
                    increase: 1.5,
                    decrease: 0.3,
                }),
                0.003,
            ),
            (Arc::new(Scalable), 0.02),
        ];
        for (law, kappa) in laws {
            for hazard in [Hazard::PerPacket, Hazard::PerLossEvent] {
                let exact = Stationary::new(&*law, kappa, 64.0, hazard).unwrap();
                let grid = relax(&law, 8.0, hazard, kappa, 400.0, 0.02);
                assert!(
                    (grid.mass() - 1.0).abs() < 1e-13,
                    "{law:?} {:e}",
                    grid.mass() - 1.0
                );
                let (mean, atom) = (grid.packets(), grid.atom());
                assert!(
                    (mean - exact.mean()).abs() < 2e-4 * exact.mean(),
                    "{law:?} {hazard:?}: {mean} {}",
                    exact.mean()
                );
                assert!(
                    (atom - exact.atom()).abs() < 2e-4,
                    "{law:?} {hazard:?}: {atom} {}",
                    exact.atom()
                );
                let contents = grid.contents();
                let mass: f64 = contents.iter().map(|c| c.2).sum::<f64>() + atom;
                assert!((mass - 1.0).abs() < 1e-13);
                assert!(
                    contents.iter().all(|c| c.2 >= 0.0),
                    "{law:?}: a negative density"
                );
                if law.floor() > 0.0 {
                    continue; // Scalable TCP below: phases that never mix leave ripples on the scale of the cells
                }
                // distance in total variation, with Simpson's rule in each cell
                let away: f64 = contents
                    .into_iter()
                    .map(|(low, high, mass)| {
                        let density = |part: f64| exact.density(low + part * (high - low));
                        (mass
                            - (high - low) / 6.0
                                * (density(0.0) + 4.0 * density(0.5) + density(1.0)))
                        .abs()
                    })
                    .sum();
                assert!(away < 2e-3, "{law:?} {hazard:?}: {away}");
            }
        }
    }

    /// Second order in the width of cells and in the step.
    #[test]
    fn order_of_convergence() {
        let kappa = 0.02;
        let mean = |law: &Arc<dyn WindowLaw>, cells: f64, step: f64| {
            relax(law, cells, Hazard::PerPacket, kappa, 200.0, step).packets()
        };
        let order = |law: &Arc<dyn WindowLaw>, values: [f64; 3]| {
            let order = libm::log2(((values[0] - values[1]) / (values[1] - values[2])).abs());
            assert!(
                (order - 2.0).abs() < 0.2,
                "{law:?}: {values:?}, order {order}"
            );
        };
        for law in [
            Arc::new(Aimd::RENO) as Arc<dyn WindowLaw>,
            Arc::new(Slow(Aimd::RENO)),
        ] {
            order(&law, [1.0, 2.0, 4.0].map(|cells| mean(&law, cells, 0.02)));
            order(&law, [0.1, 0.05, 0.025].map(|step| mean(&law, 32.0, step)));
        }
        let law: Arc<dyn WindowLaw> = Arc::new(Scalable);
        order(&law, [0.1, 0.05, 0.025].map(|step| mean(&law, 32.0, step)));
    }

    /// Between decreases windows only grow, exactly.
    #[test]
    fn growth_is_exact() {
        for law in [
            Arc::new(Aimd::RENO) as Arc<dyn WindowLaw>,
            Arc::new(Slow(Aimd::RENO)),
        ] {
            let mut grid = Grid::new(&law, 64.0, 4.0, Hazard::PerPacket, false).unwrap();
            grid.add(10.1, 0.7);
            grid.add(30.0, 0.3);
            assert!((grid.packets() - 16.07).abs() < 1e-9, "{}", grid.packets());
            for _ in 0..3000 {
                grid.advance(Step {
                    rounds: 0.01,
                    losses: 0.0,
                    limit: f64::INFINITY,
                });
            }
            assert!((grid.packets() - 46.07).abs() < 1e-9, "{}", grid.packets());
            for _ in 0..3000 {
                grid.advance(Step {
                    rounds: 0.01,
                    losses: 0.0,
                    limit: f64::INFINITY,
                });
            }
            assert!((grid.packets() - 64.0).abs() < 1e-12 && (grid.atom() - 1.0).abs() < 1e-14);
        }
    }

    /// Windows that an access link limits: dw/dn = i(w) e and kappa e decreases a round trip, with
    /// e = min(w, limit). In a clock that runs with the packets sent such a law is the one of its
    /// own with growth i(w) e and hazard kappa e; its stationary mean is found by a walk over a
    /// fine fixed grid.
    #[test]
    fn a_limit_slows_what_is_beyond_it() {
        let (kappa, limit, top) = (0.02, 8.0, 64.0);
        let cells = 4096_usize;
        let width = top / cells as f64;
        let centre = |j: usize| (j as f64 + 0.5) * width;
        // f' speed = source - rate f, marched down from the top by the balance of what crosses each
        // edge: up-flow = down-jumps from (w, 2 w)
        let speed = |w: f64| w.min(limit) / w;
        let hazard = |w: f64| kappa * w.min(limit);
        let mut density = vec![0.0; 2 * cells + 2];
        density[cells - 1] = 1.0;
        let mut jumps_over = 0.0;
        for j in (0..cells - 1).rev() {
            // edge between cells j and j + 1 at w: mass that jumps over it sits between w and 2 w
            let w = (j + 1) as f64 * width;
            jumps_over += hazard(centre(j + 1)) * density[j + 1] * width;
            let gone = 2 * (j + 1);
            for k in [gone, gone + 1] {
                if k < cells && k > j + 1 {
                    jumps_over -= hazard(centre(k)) * density[k] * width;
                }
            }
            density[j] = jumps_over / speed(w);
        }
        let mass: f64 = density[..cells].iter().sum();
        let mean = (0..cells).map(|j| density[j] * centre(j)).sum::<f64>() / mass;
        let grid = |per_packet: f64| {
            let law: Arc<dyn WindowLaw> = Arc::new(Aimd::RENO);
            let mut grid = Grid::new(&law, top, per_packet, Hazard::PerPacket, true).unwrap();
            grid.add(10.0, 1.0);
            for _ in 0..20_000 {
                grid.advance(Step {
                    rounds: 0.02,
                    losses: kappa * 0.02,
                    limit,
                });
            }
            assert!((grid.mass() - 1.0).abs() < 1e-12);
            let within: f64 = grid
                .contents()
                .iter()
                .map(|(low, high, mass)| mass * (0.5 * (low + high)).min(limit))
                .sum();
            assert!((grid.packets_within(limit) - within).abs() < 1e-9);
            grid.packets()
        };
        let (coarse, fine) = (grid(4.0), grid(8.0));
        assert!((fine - mean).abs() < 5e-3 * mean, "{fine} {mean}");
        assert!(
            (fine - mean).abs() < (coarse - mean).abs(),
            "{coarse} {fine} {mean}"
        );
    }
}
