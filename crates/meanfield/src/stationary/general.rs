//! The stationary law for any increase and decrease.

use crate::chebyshev::{Chebyshev, Nodes, POLYNOMIAL_ORDER, barycentric};
use crate::error::{Error, check};
use crate::law::{Hazard, WindowLaw};

/// Decreases expected on the way up to an effectively unlimited window: mass of the order
/// `exp(-MAX_HAZARD)` is cut off.
const MAX_HAZARD: f64 = 300.0;
/// Generations of decreases that are followed; the density falls faster than any geometric law
/// along them.
const MAX_GENERATIONS: usize = 400;

/// Relative error that moments may have.
const MOMENT_TOLERANCE: f64 = 1e-6;

/// Density, atom and moments of the window of any [`WindowLaw`] at a constant loss probability.
///
/// In units of round trips the window grows by `g(w) = w i(w)` and jumps down to `w - d(w)` at rate
/// `h(w)` ([`Hazard`]). The upward flux
/// `f = g p` through `w` equals the flux of the jumps over `w`. Along the images of a window under the jump, `w_m = w_(m-1) - d(w_(m-1))`,
/// the fluxes obey the chain of ordinary differential equations
///
/// `df_m = -(h/g)(w_m) f_m dw_m + (h/g)(w_(m-1)) f_(m-1) dw_(m-1)`,
///
/// solved downwards from `w_max` by Chebyshev collocation of order 16.
#[derive(Clone, Debug)]
pub struct Stationary {
    atom: f64,
    mean: f64,
    second: f64,
    /// Panels from the highest window down; each holds nodes in falling order.
    panels: Vec<Panel>,
}

#[derive(Clone, Debug)]
struct Panel {
    window: Nodes,
    density: Nodes,
}

impl Stationary {
    /// The law at loss probability `loss` with largest window `w_max` packets, which may be
    /// infinite if `loss > 0`.
    ///
    /// # Errors
    /// If `loss` is outside `[0, 1]`, `w_max` is not above the law's floor, no decrease ever stops
    /// the growth of an unlimited window, or the windows crowd at the floor so closely that the
    /// density is not resolved.
    pub fn new(law: &dyn WindowLaw, loss: f64, w_max: f64, hazard: Hazard) -> Result<Self, Error> {
        check(
            (0.0..=1.0).contains(&loss),
            "the loss probability",
            loss,
            "from 0 to 1",
        )?;
        check(
            w_max > law.floor(),
            "the largest window",
            w_max,
            "above the law's smallest window",
        )?;
        if loss == 0.0 {
            check(
                w_max.is_finite(),
                "the largest window",
                w_max,
                "finite when nothing is lost",
            )?;
            return Ok(Self {
                atom: 1.0,
                mean: w_max,
                second: w_max * w_max,
                panels: Vec::new(),
            });
        }
        let rate = |w: f64| hazard.rate(loss, w) / (w * law.increase(w));
        let top = effective_top(&rate, law, w_max)?;
        let law_at_rest = solve(law, loss, top, hazard, &rate, top < w_max);
        // as of any distribution between the floor and the top; near loss 1 the collocation leaves
        // that range
        let (mean, second) = (law_at_rest.mean, law_at_rest.second);
        let low = law.floor() * (1.0 - MOMENT_TOLERANCE);
        let high = top * (1.0 + MOMENT_TOLERANCE);
        let resolved = (0.0..=1.0 + MOMENT_TOLERANCE).contains(&law_at_rest.atom)
            && mean >= low
            && mean <= high
            && second >= mean * mean * (1.0 - MOMENT_TOLERANCE)
            && second <= high * mean;
        if !resolved {
            return Err(Error::NoEquilibrium(format!(
                "the stationary density at a loss of {loss} is too steep to be resolved"
            )));
        }
        Ok(law_at_rest)
    }

    /// Probability of the window `w_max`.
    #[must_use]
    pub fn atom(&self) -> f64 {
        self.atom
    }

    /// Mean window, packets, the atom included.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// Mean square of the window, packets^2, the atom included.
    #[must_use]
    pub fn second_moment(&self) -> f64 {
        self.second
    }

    /// Density at `window` packets (the atom not included), 1/packet.
    #[must_use]
    pub fn density(&self, window: f64) -> f64 {
        let at = self
            .panels
            .partition_point(|panel| panel.window[POLYNOMIAL_ORDER] > window);
        let Some(panel) = self
            .panels
            .get(at)
            .filter(|panel| panel.window[0] >= window)
        else {
            return 0.0;
        };
        barycentric(&panel.window, &panel.density, window).max(0.0)
    }
}

/// `w_max`, or a lower window that is reached with probability below `exp(-MAX_HAZARD)`.
fn effective_top(rate: &dyn Fn(f64) -> f64, law: &dyn WindowLaw, w_max: f64) -> Result<f64, Error> {
    let mut low = law.floor().max(1.0);
    let mut sum = 0.0;
    while low < 1e12 {
        if low >= w_max {
            return Ok(w_max);
        }
        // Simpson's rule on a step of 10 % is ample for choosing where to cut
        let high = 1.1 * low;
        sum += (high - low) / 6.0 * (rate(low) + 4.0 * rate(0.5 * (low + high)) + rate(high));
        low = high;
        if sum > MAX_HAZARD {
            return Ok(low);
        }
    }
    Err(Error::NoEquilibrium(
        "an unlimited window of this law outgrows its losses".to_owned(),
    ))
}

fn solve(
    law: &dyn WindowLaw,
    loss: f64,
    top: f64,
    hazard: Hazard,
    rate: &dyn Fn(f64) -> f64,
    cut: bool,
) -> Stationary {
    let floor = law.floor();
    let jump = |w: f64| w - law.decrease(w);
    let chebyshev = Chebyshev::new();
    // panels of the first generation, narrow enough for the exponential that the flux is there
    let bottom = jump(top).max(floor);
    let steps = (4.0 + 0.5 * rate(top).max(rate(bottom)) * (top - bottom)).min(400.0) as usize;
    let mut windows = panels_between(top, bottom, steps, &chebyshev);
    // with an atom of mass 1 (before normalisation); a window that was cut off has none, but the
    // flux through the cut starts the solution
    let mut flux = hazard.rate(loss, top);
    let mut sources: Vec<Nodes> = vec![[0.0; POLYNOMIAL_ORDER + 1]; steps];
    let mut solution = Unnormalised {
        sums: if cut { [0.0; 3] } else { [1.0, top, top * top] },
        panels: Vec::new(),
        atom: 1.0,
    };
    'generations: for generation in 0..MAX_GENERATIONS {
        let before = solution.sums[0];
        if generation == 1 {
            flux -= hazard.rate(loss, top) * solution.atom;
        }
        for (k, nodes) in windows.iter_mut().enumerate() {
            if generation > 0 {
                let above = *nodes;
                *nodes = above.map(jump);
                if nodes[0] <= floor {
                    break 'generations;
                }
                if nodes[POLYNOMIAL_ORDER] < floor {
                    // decreases from lower windows end at the floor: the density does too
                    chebyshev.cut(&above, nodes, &mut sources[k], &jump, floor);
                }
            }
            let slope = chebyshev.derivative(nodes);
            let weight: Nodes = std::array::from_fn(|i| rate(nodes[i]) * slope[i]);
            let f = chebyshev.solve(&weight, &sources[k], flux);
            flux = f[POLYNOMIAL_ORDER];
            let density = std::array::from_fn(|i| f[i] / (nodes[i] * law.increase(nodes[i])));
            sources[k] = std::array::from_fn(|i| weight[i] * f[i]);
            // minus: nodes fall as the parameter rises
            solution.add(*nodes, density, |i| -chebyshev.weights[i] * slope[i]);
            if solution.sums[0] > 1e200 {
                // a rare atom: the density grows by exp(hazard) on the way down
                let down = 1e-200;
                flux *= down;
                solution.scale(down);
                sources
                    .iter_mut()
                    .flatten()
                    .for_each(|value| *value *= down);
            }
            if nodes[POLYNOMIAL_ORDER] <= floor * (1.0 + 1e-12) {
                break 'generations;
            }
        }
        if generation > 2 && solution.sums[0] - before < 1e-17 * solution.sums[0] {
            break;
        }
    }
    solution.normalised(cut)
}

/// A stationary law on the way down, before its mass is one.
struct Unnormalised {
    /// Mass, first and second moment.
    sums: [f64; 3],
    panels: Vec<Panel>,
    atom: f64,
}

impl Unnormalised {
    fn add(&mut self, window: Nodes, density: Nodes, weight: impl Fn(usize) -> f64) {
        for i in 0..=POLYNOMIAL_ORDER {
            let mass = weight(i) * density[i];
            self.sums[0] += mass;
            self.sums[1] += mass * window[i];
            self.sums[2] += mass * window[i] * window[i];
        }
        self.panels.push(Panel { window, density });
    }

    fn scale(&mut self, by: f64) {
        self.atom *= by;
        self.sums.iter_mut().for_each(|sum| *sum *= by);
        for panel in &mut self.panels {
            panel.density.iter_mut().for_each(|p| *p *= by);
        }
    }

    fn normalised(mut self, cut: bool) -> Stationary {
        let [mass, first, second] = self.sums;
        // all becomes NaN, and is refused
        let mass = if mass > 0.0 { mass } else { f64::NAN };
        for panel in &mut self.panels {
            panel.density.iter_mut().for_each(|p| *p /= mass);
        }
        Stationary {
            atom: if cut { 0.0 } else { self.atom / mass },
            mean: first / mass,
            second: second / mass,
            panels: self.panels,
        }
    }
}

/// Nodes of panels of equal width, from `top` down.
fn panels_between(top: f64, bottom: f64, steps: usize, chebyshev: &Chebyshev) -> Vec<Nodes> {
    (0..steps)
        .map(|i| {
            let high = top + (bottom - top) * i as f64 / steps as f64;
            let low = top + (bottom - top) * (i + 1) as f64 / steps as f64;
            chebyshev
                .points
                .map(|x| 0.5 * (high + low) + 0.5 * (high - low) * x)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::Aimd;
    use crate::stationary::RenoStationary;

    #[test]
    fn agrees_with_the_closed_form() {
        for (loss, w_max) in [
            (0.0015, 64.0),
            (2e-4, 64.0),
            (0.003, 64.0),
            (0.05, 64.0),
            (0.3, 1000.0),
            (1e-6, 20.0),
            (0.01, f64::INFINITY),
        ] {
            let exact = RenoStationary::new(loss, w_max).unwrap();
            let numeric = Stationary::new(&Aimd::RENO, loss, w_max, Hazard::PerPacket).unwrap();
            let close = |a: f64, b: f64, what: &str| {
                assert!(
                    (a - b).abs() <= 1e-11 * b.abs() + 1e-12 / exact.mean(),
                    "{what} at {loss}, {w_max}: {a} against {b}"
                );
            };
            close(numeric.atom(), exact.atom(), "atom");
            close(numeric.mean(), exact.mean(), "mean");
            close(
                numeric.second_moment(),
                exact.second_moment(),
                "second moment",
            );
            for part in 1..40 {
                let w = exact.mean() * f64::from(part) / 15.0;
                close(numeric.density(w), exact.density(w), "density");
            }
        }
    }

    #[test]
    fn near_loss_one_it_has_a_possible_atom_or_none() {
        let text = r#"
            [scenario]
            duration = "1 s"
            [[link]]
            name = "l"
            rate = "20 kbit/s"
            [[flows]]
            path = ["l"]
            congestion = "illinois"
            rtt = "9 ms"
        "#;
        let scenario = ackclock_scenario::parse(text, "test").unwrap();
        let law = scenario.flows[0].tcp.congestion.fluid().unwrap();
        let law = crate::RegisteredTcp::new(law, ackclock_algorithms::fluid::Path::fixed(0.009));
        for loss in (1..=100).map(|part| f64::from(part) / 100.0) {
            for w_max in [2.5, 5.0, 10.0, 11.0, 20.0, 50.0, 100.0] {
                if let Ok(stationary) = Stationary::new(&law, loss, w_max, Hazard::PerPacket) {
                    let atom = stationary.atom();
                    assert!((0.0..=1.0).contains(&atom), "at {loss}, {w_max}: {atom}");
                }
            }
        }
    }

    #[test]
    fn near_loss_one_it_has_possible_moments_or_none() {
        let text = r#"
            [scenario]
            duration = "1 s"
            [[link]]
            name = "l"
            rate = "3000 bit/s"
            queue = { aqm = "avq", capacity = "337 packets" }
            [[flows]]
            path = ["l"]
            congestion = "illinois"
            rtt = "0.623 s"
        "#;
        let scenario = ackclock_scenario::parse(text, "test").unwrap();
        let law = scenario.flows[0].tcp.congestion.fluid().unwrap();
        let law = crate::RegisteredTcp::new(law, ackclock_algorithms::fluid::Path::fixed(0.623));
        for loss in [0.3, 0.9, 0.99, 0.9999, 0.999_999, 1.0] {
            for w_max in [20.0, 64.0, 337.0, 1000.0] {
                if let Ok(stationary) = Stationary::new(&law, loss, w_max, Hazard::PerPacket) {
                    assert!(
                        stationary.mean() > 0.0 && stationary.second_moment() > 0.0,
                        "at {loss}, {w_max}: {} and {}",
                        stationary.mean(),
                        stationary.second_moment()
                    );
                }
            }
        }
    }
}
