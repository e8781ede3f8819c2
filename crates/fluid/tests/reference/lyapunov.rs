//! Lyapunov functions of the papers: energies of a state that never grow along the solutions that
//! their theorems are about.

use ackclock_delay::{Args, DynSystem};
use ackclock_fluid::Equilibrium;

use super::end_host::EndHost;

/// V(x) = sum of weight (x - x*)^2 over the states.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Lyapunov {
    /// The equilibrium x*.
    pub(crate) centre: Vec<f64>,
    /// One weight for each state.
    pub(crate) weights: Vec<f64>,
}

impl Lyapunov {
    /// V at a state.
    pub(crate) fn value(&self, x: &[f64]) -> f64 {
        self.terms(x).map(|(weight, off)| weight * off * off).sum()
    }

    /// dV/dt at a state with a constant past, along the solution of `system`: gradient times
    /// right-hand side.
    pub(crate) fn rate(&self, system: &dyn DynSystem, x: &[f64], p: &[f64]) -> f64 {
        let past = x.repeat(system.delays());
        let mut slope = vec![0.0; x.len()];
        let at = Args { x, past: &past, p };
        system.rhs_f64(at, &mut slope);
        self.terms(x)
            .zip(&slope)
            .map(|((weight, off), f)| 2.0 * weight * off * f)
            .sum()
    }

    fn terms<'a>(&'a self, x: &'a [f64]) -> impl Iterator<Item = (f64, f64)> + 'a {
        self.weights
            .iter()
            .zip(x.iter().zip(&self.centre))
            .map(|(weight, (x, centre))| (*weight, x - centre))
    }
}

/// The Lyapunov function of AIMD flows over RED without averaging, for equations without feedback
/// delay ([`ackclock_fluid::Model::undelayed`]): sum over the classes of N (w - w*)^2 / (b w*^2), and
/// p'(q) (q - q*)^2, with b w the decrease per signal and p' RED's slope. Wang, Cai, Liu and Shen,
/// "AIMD congestion control", theorems 1 to 3; before theorem 1 they print half of the last term,
/// with which V can grow. `classes` are N and b of each.
pub(crate) fn aimd_over_red(at: &Equilibrium, classes: &[(f64, f64)], slope: f64) -> Lyapunov {
    let windows = classes.iter().zip(&at.x);
    let weights = windows.map(|((count, b), w)| count / (b * w * w));
    Lyapunov {
        centre: at.x.clone(),
        weights: weights.chain([slope]).collect(),
    }
}

impl EndHost {
    /// The Lyapunov function of the equilibrium `at` on the rising side, for feedback without
    /// delay: sum over the flows of (W - W*)^2 / W*^2, and K C (delta - delta*)^2 / 2 with the
    /// probability's slope K. Budzisz et al., "Cx-TCP", lemma 4.2. Their (11) gives half of its
    /// derivative.
    pub(crate) fn lyapunov(&self, at: &[f64]) -> Lyapunov {
        let r = &self.response;
        let slope = r.peak / (r.threshold - r.smallest);
        let windows = self.flows.iter().zip(at).map(|(f, w)| f.count / (w * w));
        Lyapunov {
            centre: at.to_vec(),
            weights: windows.chain([0.5 * slope * self.rate]).collect(),
        }
    }
}
