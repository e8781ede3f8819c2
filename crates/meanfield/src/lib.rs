//! The mean-field engine: the distribution of the congestion windows of many flows.

mod engine;
mod error;
mod grid;
mod history;
mod law;
mod model;
mod monte_carlo;
mod outcome;
mod scenario;
mod stationary;

pub use engine::MeanField;
pub use error::Error;
pub use law::{Aimd, Hazard, WindowLaw};
pub use model::{
    Action, Bottleneck, Class, DropTail, Event, Model, Options, QueueLaw, RegisteredAqm,
    Unresponsive,
};
pub use monte_carlo::{Estimate, Users, simulate_users};
pub use outcome::{Balance, ClassSummary, ClassTrace, LinkSummary, Outcome, Snapshot, Traces};
pub use scenario::RegisteredTcp;
pub use stationary::{RenoStationary, SQUARE_ROOT_LAW, Stationary};
