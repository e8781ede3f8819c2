//! The errors of the engine.

/// Why a mean-field computation is refused or stopped.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A number is outside the range that the model allows.
    #[error("{name} is {value}; it must be {allowed}")]
    Range {
        /// The name of the number.
        name: &'static str,
        /// Its value.
        value: f64,
        /// The allowed values, in words.
        allowed: &'static str,
    },
    /// The scenario holds something that the window distribution cannot represent.
    #[error("the mean-field engine cannot represent {0}")]
    Unsupported(String),
    /// The scenario holds a value that its algorithm does not take.
    #[error("{0}")]
    Value(String),
    /// There is no equilibrium of the kind asked for.
    #[error("no equilibrium: {0}")]
    NoEquilibrium(String),
    /// A balance that must hold does not: the result would be wrong.
    #[error("the balance of {what} is violated by {error:e} (allowed {allowed:e}) at {time} s")]
    Balance {
        /// `"mass"` or `"packets"`.
        what: &'static str,
        /// Size of the violation: relative to one flow's mass, or to the packets counted.
        error: f64,
        /// The largest allowed.
        allowed: f64,
        /// Simulated time, s.
        time: f64,
    },
}

pub(crate) fn check(
    ok: bool,
    name: &'static str,
    value: f64,
    allowed: &'static str,
) -> Result<(), Error> {
    if ok {
        Ok(())
    } else {
        Err(Error::Range {
            name,
            value,
            allowed,
        })
    }
}
