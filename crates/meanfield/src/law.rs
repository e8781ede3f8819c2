//! How one flow's window moves: its growth, its jumps and how often they come.

use std::fmt::Debug;

/// Growth and decrease of a congestion window, in packets.
///
/// Windows grow by `increase(w)` for each packet acknowledged and shrink by `decrease(w)` for each
/// loss indication. Per round trip a window of
/// `w` packets therefore grows by `w * increase(w)`.
pub trait WindowLaw: Debug + Send + Sync {
    /// Growth i(w) for each packet acknowledged, packets; positive for `w > 0`.
    fn increase(&self, window: f64) -> f64;
    /// Decrease d(w) for each loss indication, packets; from 0 to `window`, and such that `w -
    /// d(w)` does not fall with `w`.
    fn decrease(&self, window: f64) -> f64;
    /// Set when the law is `i(w) = a / w`, `d(w) = w / 2`: then the value of `a`. Such laws have a
    /// faster path.
    fn halving_increase(&self) -> Option<f64> {
        None
    }
    /// Windows below this do not occur, packets.
    ///
    /// It must be positive for a law whose growth per round trip, `w * i(w)`, vanishes so fast at
    /// zero that no window ever leaves zero.
    fn floor(&self) -> f64 {
        0.0
    }
}

/// Additive increase, multiplicative decrease: `i(w) = a / w`, `d(w) = b w`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Aimd {
    /// Growth a per round trip, packets; above 0.
    pub increase: f64,
    /// Fraction b that a loss takes away; above 0, below 1.
    pub decrease: f64,
}

impl Aimd {
    /// TCP Reno in congestion avoidance: one packet a round trip, half at a loss (RFC 5681, section
    /// 3.1).
    pub const RENO: Self = Self {
        increase: 1.0,
        decrease: 0.5,
    };
}

impl WindowLaw for Aimd {
    fn increase(&self, window: f64) -> f64 {
        self.increase / window
    }
    fn decrease(&self, window: f64) -> f64 {
        self.decrease * window
    }
    fn halving_increase(&self) -> Option<f64> {
        (self.decrease == 0.5).then_some(self.increase)
    }
}

/// How many decreases a window of `w` packets suffers per round trip when each packet is lost with
/// probability `kappa`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Hazard {
    /// Each lost packet is a decrease: `kappa w` per round trip. This is the equation of Reynier
    /// (2006), equation (1).
    #[default]
    PerPacket,
    /// Losses of one round trip are one decrease: `1 - exp(-kappa w)` per round trip, as senders
    /// behave that react once a window (RFC 6675).
    PerLossEvent,
}

impl Hazard {
    /// Decreases per round trip.
    #[must_use]
    pub fn rate(self, kappa: f64, window: f64) -> f64 {
        match self {
            Self::PerPacket => kappa * window,
            Self::PerLossEvent => -libm::expm1(-kappa * window),
        }
    }
}
