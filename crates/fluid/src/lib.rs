//! The fluid and stability engine: a scenario becomes delay-differential equations, and questions
//! about it become analyses of them.

mod answer;
mod chart;
mod coverage;
mod curves;
mod design;
mod diagram;
mod end_host;
mod error;
mod follow;
mod lyapunov;
mod margins;
mod model;
mod questions;
mod survey;
mod user;
mod validity;

pub use answer::{Answer, Onset, StabilityLimit};
pub use coverage::{Coverage, Pair, coverage};
pub use design::{
    ApRed, PiController, Plant, ap_red, ap_red_gain, pi_design, pi_from_samples, pi_largest_lambda,
    pi_loop, red_loop, tcp_friendly_alpha,
};
pub use diagram::{
    CycleBranch, CycleSummary, Diagram, DiagramPoint, FrequencyResponse, frequency_response,
};
pub use end_host::{EndHost, Falling, Flows, Response};
pub use error::{Error, Result};
pub use follow::{Change, Course, Look, Passage};
pub use lyapunov::Lyapunov;
pub use margins::{Loop, Margins, margins};
pub use model::{Choices, Decrease, Form, LARGEST, Memory, Model, Rtt};
pub use questions::Equilibrium;
pub use survey::Place;
pub use user::WindowLaw;
pub use validity::Outside;
