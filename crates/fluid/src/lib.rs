//! The fluid and stability engine: a scenario becomes delay-differential equations, and questions
//! about it become analyses of them.

mod chart;
mod continuation;
mod coverage;
mod cycles;
mod design;
mod equilibrium;
mod error;
mod hopf;
mod large_signal;
mod limits;
mod margins;
mod model;
mod survey;
mod user;
mod validity;

pub use continuation::{Branch, Change, Continuation, ContinuationPoint, SpecialPoint, Status};
pub use coverage::{Coverage, Pair, coverage};
pub use cycles::{BranchCycle, CycleBranch, CycleEnd, CycleOptions};
pub use design::{
    ApRed, PiController, Plant, ap_red, ap_red_gain, pi_design, pi_from_samples, pi_largest_lambda,
    pi_loop, red_loop, tcp_friendly_alpha,
};
pub use equilibrium::Equilibrium;
pub use error::{Error, Result};
pub use large_signal::LargeSignal;
pub use limits::{Limit, LimitKind};
pub use margins::{Loop, Margins, margins};
pub use model::{Choices, Decrease, Form, MAX_LINKS, Memory, Model, Rtt};
pub use survey::Place;
pub use user::WindowLaw;
pub use validity::Outside;
