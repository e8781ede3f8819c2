//! Errors, each with its cause.

use thiserror::Error;

/// Result of an analysis in this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Why an analysis gave no answer. No failure is ever reported as a verdict.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// The caller's arguments contradict each other or the system.
    #[error("bad argument: {0}")]
    Argument(String),
    /// No zero of the right-hand side was found where it was sought.
    #[error("no equilibrium found in the given box (best residual {residual:.3e})")]
    NoEquilibrium {
        /// Smallest residual met, in units of the right-hand side.
        residual: f64,
    },
    /// The equilibrium (or cycle) lies on a surface where the right-hand side is not smooth: no
    /// linearisation exists there.
    #[error(
        "the solution lies on a clamp (switch {switch}): the model is not smooth there, so it has no linearisation"
    )]
    OnClamp {
        /// Index of the switch function that vanishes.
        switch: usize,
    },
    /// The equilibrium lies at or beyond a bound of one of its states.
    #[error("state {state} of the equilibrium is at or beyond its bound {bound}")]
    OutOfBounds {
        /// Index of the state.
        state: usize,
        /// The bound.
        bound: f64,
    },
    /// Newton's method stopped without a solution.
    #[error(
        "Newton's method did not converge in {what} ({iterations} iterations, residual {residual:.3e})"
    )]
    NewtonFailed {
        /// The problem that was being solved.
        what: &'static str,
        /// Iterations spent.
        iterations: usize,
        /// Residual norm reached.
        residual: f64,
    },
    /// A linear system was singular: a fold, a double root, or a degenerate problem.
    #[error("singular matrix in {what}")]
    Singular {
        /// The problem that was being solved.
        what: &'static str,
    },
    /// The roots found and the argument-principle count disagree.
    #[error(
        "spectrum not certified: {found} roots found right of {line:.6e}, the argument principle counts {counted}"
    )]
    CertificateFailed {
        /// Roots found with a larger real part than `line`.
        found: usize,
        /// Roots counted there.
        counted: usize,
        /// Real part of the counting line.
        line: f64,
    },
    /// Counting the roots takes more work than is sensible.
    #[error("spectrum not certified: its shortest delay is too short beside the longest")]
    CertificateTooLong,
    /// A characteristic root lies on the counting line, to the accuracy of the count.
    #[error(
        "a characteristic root lies on the line Re = {line:.6e} near Im = {omega:.6e}: neither side can be claimed"
    )]
    RootOnLine {
        /// Real part of the line.
        line: f64,
        /// Imaginary part of the root, nearly.
        omega: f64,
    },
    /// An eigenvalue computation failed.
    #[error("the eigenvalue computation failed in {0}")]
    Eigenvalues(&'static str),
    /// No bifurcation of the wanted kind in the searched range.
    #[error("no {kind} found for parameter {parameter} between {from} and {to}")]
    NotFound {
        /// "Hopf point", "fold", ...
        kind: &'static str,
        /// Index of the parameter searched.
        parameter: usize,
        /// Start of the range.
        from: f64,
        /// End of the range.
        to: f64,
    },
    /// The time integration needed a step below the smallest representable one.
    #[error(
        "the equations cannot be followed beyond t = {time:.4}: no step is short enough for how fast they change there"
    )]
    StepUnderflow {
        /// Where.
        time: f64,
    },
    /// The time integration met a number that is not finite.
    #[error("the solution is not finite at t = {time:.6}")]
    NotFinite {
        /// Where.
        time: f64,
    },
    /// The step budget is spent.
    #[error("more than {steps} steps needed; reached t = {time:.6}")]
    TooManySteps {
        /// The budget.
        steps: usize,
        /// Time reached.
        time: f64,
    },
    /// A delay turned negative, or reached further back than the known history.
    #[error("delay {delay} is {value} at t = {time:.6}: {cause}")]
    BadDelay {
        /// Index of the delay.
        delay: usize,
        /// Its value.
        value: f64,
        /// When.
        time: f64,
        /// The cause.
        cause: &'static str,
    },
    /// The collocation error stayed above the tolerance at the largest mesh.
    #[error("the cycle is not resolved: error estimate {estimate:.3e} on {intervals} intervals")]
    NotResolved {
        /// Estimated relative error.
        estimate: f64,
        /// Mesh intervals used.
        intervals: usize,
    },
    /// The trivial Floquet multiplier is too far from one for the others to be trusted.
    #[error(
        "the trivial Floquet multiplier differs from 1 by {error:.3e}: the cycle cannot be classified"
    )]
    TrivialMultiplier {
        /// `|mu - 1|`.
        error: f64,
    },
    /// The meter's limit is reached ([`crate::metered`]).
    #[error("not decided within the work allowed")]
    OutOfWork,
    /// The caller of [`crate::metered`] said to stop.
    #[error("interrupted")]
    Interrupted,
    /// Newton's method fell onto an equilibrium while a cycle was sought.
    #[error("the cycle search collapsed onto an equilibrium")]
    Collapsed,
}
