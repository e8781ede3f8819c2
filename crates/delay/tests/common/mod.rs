//! The delay systems of the tests, and the comparison they share.
#![allow(dead_code, unused_imports, unreachable_pub, missing_docs)] // a benchmark uses a part of this module

use ackclock_delay::{Args, Scalar, System, c64};

/// Relative comparison that says what differed.
#[track_caller]
pub fn close(got: f64, want: f64, tolerance: f64) {
    assert!(
        (got - want).abs() <= tolerance * want.abs(),
        "got {got:.12e}, want {want:.12e}, off by {:.2e}",
        (got - want).abs() / want.abs()
    );
}

#[track_caller]
pub fn close_complex(got: c64, want: c64, tolerance: f64) {
    assert!(
        (got - want).norm() <= tolerance * want.norm(),
        "got {got}, want {want}"
    );
}

/// Implements `System` for a fixed number of states and constant delays given by expressions.
macro_rules! system {
    ($(#[$doc:meta])* $name:ident, $n:expr, [$($delay:expr),*], $rhs:expr) => {
        $(#[$doc])*
        pub(crate) struct $name;
        impl System for $name {
            fn dimension(&self) -> usize {
                $n
            }
            fn delays(&self) -> usize {
                <[&str]>::len(&[$(stringify!($delay)),*])
            }
            fn rhs<S: Scalar>(&self, at: Args<'_, S>, out: &mut [S]) {
                let f: fn(Args<'_, S>, &mut [S]) = $rhs;
                f(at, out);
            }
            fn delay<S: Scalar>(&self, j: usize, at: Args<'_, S>) -> S {
                let delays: &[fn(&[S]) -> S] = &[$($delay),*];
                delays[j](at.p)
            }
        }
    };
}

system!(
    /// x' = -p0 x(t - 1) (1 + p1 x): linear for p1 = 0, Wright's equation for p1 = 1.
    Wright, 1, [|_| S::from(1.0)], |a, out| out[0] = -a.p[0] * a.past[0] * (a.x[0] * a.p[1] + 1.0)
);
system!(
    /// Mackey and Glass: x' = beta x_tau / (1 + x_tau^n) - gamma x; p = (beta, gamma, n, tau).
    MackeyGlass, 1, [|p| p[3]], |a, out| {
        let z = a.past[0];
        out[0] = a.p[0] * z / ((z.ln() * a.p[2]).exp() + 1.0) - a.p[1] * a.x[0];
    }
);
system!(
    /// A price of so much loss as p0, by 1 - (1 - p), and a queue that follows both.
    SmallLoss, 2, [|_| S::from(1.0)], |a, out| {
        let one = S::from(1.0);
        out[0] = a.p[0] - (one - (one - a.past[0])) * a.x[1] / 30.0;
        out[1] = a.p[0] * (S::from(30.0) - a.x[1]) + (a.p[0] - (one - (one - a.x[0]))) * 1e3;
    }
);
system!(
    /// DDE-BIFTOOL's neuron demo; p = (kappa, beta, a12, a21, tau1, tau2, tau_s).
    Neuron, 2, [|p| p[4], |p| p[5], |p| p[6]], |a, out| {
        let (x, p) = (a.x, a.p);
        out[0] = -p[0] * x[0] + p[1] * a.delayed(2, 0).tanh() + p[2] * a.delayed(1, 1).tanh();
        out[1] = -p[0] * x[1] + p[1] * a.delayed(2, 1).tanh() + p[3] * a.delayed(0, 0).tanh();
    }
);
system!(
    /// Two-layer neural field of DDE-BIFTOOL's demo; p = (a, b, c, d, tau1, tau2).
    NeuralField, 2, [|p| p[4], |p| p[5]], |a, out| {
        let g = |z: S| ((z - 1.0).tanh() + 1.0_f64.tanh()) * 1.0_f64.cosh().powi(2);
        let (x, p) = (a.x, a.p);
        out[0] = -x[0] - p[0] * g(p[1] * a.delayed(0, 0)) + p[2] * g(p[3] * a.delayed(1, 1));
        out[1] = -x[1] - p[0] * g(p[1] * a.delayed(0, 1)) + p[2] * g(p[3] * a.delayed(1, 0));
    }
);

/// Humphries' equation with two state-dependent delays a_i + c u(t); p = (kappa1, kappa2, gamma,
/// a1, a2, c).
pub struct Humphries;
impl System for Humphries {
    fn dimension(&self) -> usize {
        1
    }
    fn delays(&self) -> usize {
        2
    }
    fn state_dependent(&self) -> bool {
        true
    }
    fn rhs<S: Scalar>(&self, a: Args<'_, S>, out: &mut [S]) {
        out[0] = -a.p[2] * a.x[0] - a.p[0] * a.past[0] - a.p[1] * a.past[1];
    }
    fn delay<S: Scalar>(&self, j: usize, a: Args<'_, S>) -> S {
        a.p[3 + j] + a.p[5] * a.x[0]
    }
}

/// How the router marks, in the models of Manjunath and Raina.
#[derive(Clone, Copy, PartialEq)]
pub enum Policy {
    /// RED on the averaged queue: systems (9) and (19), states w, q, p.
    Averaged,
    /// RED on the instantaneous queue: system (26), states w, q.
    Instantaneous,
    /// The threshold policy: system (36), state w.
    Threshold,
}

/// How the window grows and shrinks.
#[derive(Clone, Copy, PartialEq)]
pub enum Law {
    /// i = alpha w^(k-1), d = beta w: Compound; Reno and Illinois with k = 0.
    Power,
    /// AFRICA (table I of the paper), for w > 38.
    Africa,
    /// Reno as in section II-A, w' = 1/tau - w/2 w(t-tau) p(t-tau) / tau.
    RenoClassic,
}

/// The TCP models of "Compound TCP with RED" (Manjunath and Raina), with the extra gain kappa of
/// (19).
pub struct Tcp {
    pub policy: Policy,
    pub law: Law,
    /// (1 - p(t)) of equation (1) instead of (1 - p(t - tau)) of (9).
    pub undelayed: bool,
}

pub const KAPPA: usize = 0;
pub const TAU: usize = 1;
pub const C: usize = 2;
pub const GAMMA: usize = 3;
pub const RHO: usize = 4;
pub const BMIN: usize = 5;
pub const ALPHA: usize = 6;
pub const K: usize = 7;
pub const BETA: usize = 8;
pub const QTH: usize = 9;

/// (kappa, tau, C, gamma, rho, b_min, alpha, k, beta, q_th) with the paper's defaults.
pub const DEFAULTS: [f64; 10] = [1.0, 0.1, 100.0, 1e-4, 2e-4, 50.0, 0.125, 0.75, 0.5, 39.0];

pub const fn tcp(policy: Policy) -> Tcp {
    Tcp {
        policy,
        law: Law::Power,
        undelayed: false,
    }
}

impl System for Tcp {
    fn dimension(&self) -> usize {
        match self.policy {
            Policy::Averaged => 3,
            Policy::Instantaneous => 2,
            Policy::Threshold => 1,
        }
    }
    fn delays(&self) -> usize {
        1
    }
    fn rhs<S: Scalar>(&self, a: Args<'_, S>, out: &mut [S]) {
        let (p, w, w_old) = (a.p, a.x[0], a.past[0]);
        let red = |q: S| p[RHO] * (q - p[BMIN]);
        let threshold = |w: S| ((w / (p[C] * p[TAU])).ln() * p[QTH]).exp();
        let (loss_old, loss) = match self.policy {
            Policy::Averaged => (a.past[2], a.x[2]),
            Policy::Instantaneous => (red(a.past[1]), red(a.x[1])),
            Policy::Threshold => (threshold(w_old), threshold(w)),
        };
        let one = S::from(1.0);
        let acked = one - if self.undelayed { loss } else { loss_old };
        let growth = match self.law {
            Law::Power => {
                let increase = p[ALPHA] * (w.ln() * (p[K] - 1.0)).exp();
                (increase * acked - p[BETA] * w * loss_old) * w_old / p[TAU]
            }
            Law::Africa => {
                let b = (w / 38.0).ln() * (-0.4 / (83000.0_f64 / 38.0).ln()) + 0.5;
                let a = w * w * 0.156 * b / ((-b + 2.0) * w.powf(1.2));
                (a / w * acked - w * b * loss_old) * w_old / p[TAU]
            }
            Law::RenoClassic => (one - w * 0.5 * w_old * loss_old) / p[TAU],
        };
        out[0] = p[KAPPA] * growth;
        if self.policy != Policy::Threshold {
            out[1] = p[KAPPA] * ((one - loss) * w / p[TAU] - p[C]);
        }
        if self.policy == Policy::Averaged {
            out[2] = -p[KAPPA] * p[GAMMA] * p[C] * (a.x[2] - red(a.x[1]));
        }
    }
    fn delay<S: Scalar>(&self, _: usize, a: Args<'_, S>) -> S {
        a.p[TAU]
    }
}

/// The equilibrium of a [`Tcp`] model: near w = C tau there is exactly one.
pub fn tcp_start(policy: Policy, p: &[f64]) -> Vec<f64> {
    let w = p[C] * p[TAU];
    match policy {
        Policy::Averaged => vec![1.05 * w, 100.0, 0.01],
        Policy::Instantaneous => vec![1.05 * w, 100.0],
        Policy::Threshold => vec![0.9 * w],
    }
}
pub(crate) use system;
