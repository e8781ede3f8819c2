//! The delay systems of the tests, and the comparison they share.
#![allow(dead_code, unreachable_pub, missing_docs)] // each test file uses a part of this module

use ackclock_delay::{Args, Scalar, System, c64};

/// Relative comparison that says what differed.
#[track_caller]
pub fn close(got: f64, want: f64, tolerance: f64) {
    assert!((got - want).abs() <= tolerance * want.abs(), "got {got:.12e}, want {want:.12e}, off by {:.2e}", (got - want).abs() / want.abs());
}

#[track_caller]
pub fn close_complex(got: c64, want: c64, tolerance: f64) {
    assert!((got - want).norm() <= tolerance * want.norm(), "got {got}, want {want}");
}

/// Implements `System` for a fixed number of states and constant delays given by expressions.
macro_rules! system {
    ($(#[$doc:meta])* $name:ident, $n:expr, [$($delay:expr),*], $rhs:expr) => {
        $(#[$doc])*
        pub struct $name;
        impl System for $name {
            fn dimension(&self) -> usize {
                $n
            }
            fn delays(&self) -> usize {
                [$(stringify!($delay)),*].len()
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
    /// DDE-BIFTOOL's neuron demo; p = (kappa, beta, a12, a21, tau1, tau2, tau_s).
    Neuron, 2, [|p| p[4], |p| p[5], |p| p[6]], |a, out| {
        let (x, p) = (a.x, a.p);
        out[0] = -p[0] * x[0] + p[1] * a.delayed(2, 0).tanh() + p[2] * a.delayed(1, 1).tanh();
        out[1] = -p[0] * x[1] + p[1] * a.delayed(2, 1).tanh() + p[3] * a.delayed(0, 0).tanh();
    }
);
