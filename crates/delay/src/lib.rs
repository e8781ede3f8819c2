//! Numerics of delay-differential equations, x'(t) = f(x(t), x(t - tau_1), ..., x(t - tau_m), p),
//! in general.
//!
//! Write the right-hand side once, for any [`Scalar`], and implement [`System`]: dual numbers then
//! give exact derivatives up to third order, and every analysis follows. The crate knows nothing of
//! what the equations describe. Failures are typed ([`Error`]) and name their cause.

// indices are those of the formulas
#![allow(clippy::needless_range_loop)]

mod bifurcation;
mod complex;
mod continuation;
mod cycle;
mod eigenvalues;
mod equilibrium;
mod error;
mod integrate;
mod linalg;
mod linear;
mod spectrum;
mod system;
mod work;

pub use bifurcation::{
    BranchPoint, Criticality, Crossing, Curve, FoldPoint, HopfPoint, Normalisation, Search,
    bautin_points, branch, critical_root, criticality, crossings, fold_curve, fold_near,
    hopf_curve, hopf_near,
};
pub use complex::{Elementary, c64};
pub use continuation::{ContinuationOptions, End};
pub use cycle::{
    Cycle, CyclePoint, Floquet, Resolution, cycle_at, cycle_branch, cycle_fold, cycle_from_hopf,
    cycle_with_amplitude, floquet, period_doubling,
};
pub use equilibrium::{equilibria, equilibrium};
pub use error::{Error, Result};
pub use integrate::{Event, EventKind, Tolerance, Trajectory, integrate};
pub use linear::Linear;
pub use num_dual::{Dual64, DualNum, HyperDual64, HyperHyperDual64};
pub use spectrum::{
    Spectrum, count_right_of, is_stable, rightmost_roots, root_near, roots_right_of,
};
pub use system::{Args, Bound, DynSystem, Scalar, Settled, System};
pub use work::{bounded, left, metered, spend};
