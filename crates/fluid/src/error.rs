//! Errors, each with its cause.

use thiserror::Error;

/// Result of a question in this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Why there is no answer.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// The scenario holds something that the fluid model has no equations for.
    #[error("{what} cannot be represented by the fluid model: {why}")]
    Unsupported {
        /// Name of the part.
        what: String,
        /// Why.
        why: String,
    },
    /// No parameter of that name, or it does not take the value.
    #[error("parameter {name}: {why}")]
    Parameter {
        /// Name as it was given.
        name: String,
        /// The problem, and what is allowed.
        why: String,
    },
    /// The model has no equilibrium where all its laws hold.
    #[error("no equilibrium: {why}")]
    NoEquilibrium {
        /// The obstacle that the search met.
        why: String,
    },
    /// The equilibrium lies where two regimes of an AQM's law meet.
    #[error(
        "the equilibrium lies where the AQM of {link} changes from \"{below}\" to \"{above}\": the law is not smooth there, and has no linearisation"
    )]
    OnBoundary {
        /// Name of the link.
        link: String,
        /// The regime on one side.
        below: &'static str,
        /// The regime on the other.
        above: &'static str,
    },
    /// The equilibrium lies where the law that was assumed does not hold.
    #[error("outside the model's validity: {why}")]
    OutsideValidity {
        /// Which law, and what its limits are.
        why: String,
    },
    /// Margins need one loop.
    #[error(
        "margins are those of one feedback loop, and this model has {links} queues with feedback"
    )]
    SeveralLoops {
        /// Queues with feedback.
        links: usize,
    },
    /// An analysis failed.
    #[error(transparent)]
    Analysis(#[from] ackclock_delay::Error),
}
