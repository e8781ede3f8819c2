//! The stationary law of the window at a constant loss probability.

mod general;
mod reno;

pub use general::Stationary;
pub use reno::{RenoStationary, SQUARE_ROOT_LAW};
