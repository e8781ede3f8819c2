//! A link as both sides of an AQM, packets and averages, see it, and how drops at a
//! probability follow each other.

use crate::{Scalar, choices};

/// A link as an AQM sees it when it is set up.
#[derive(Clone, Copy, Debug)]
pub struct LinkView {
    /// Rate, bit/s.
    pub rate: f64,
    /// Propagation delay, seconds.
    pub delay: f64,
    /// Capacity of the queue in packets (bytes over the mean packet where it is set in bytes);
    /// infinite without a limit.
    pub capacity_packets: f64,
}

choices! {
    /// How drops at initial probability p_b are spaced out in time. `count` is the number of
    /// packets since the last drop.
    pub enum Spacing {
        /// ns-2's `wait_ = true`: none for 1 / p_b packets, then p_b / (2 - count p_b). Mean rate
        /// about 2 p_b / 3.
        UniformWait = "uniform-wait",
        /// p_b / (1 - count p_b): uniform on 1 to 1 / p_b. Mean rate about 2 p_b. The rule of Floyd
        /// and Jacobson.
        Uniform = "uniform",
        /// The same by another way: a number u is drawn once a gap, and the packet goes at which
        /// count p_b reaches it; packets count, not bytes. Where p_b grows within the gap it is
        /// shorter. Linux.
        Drawn = "drawn",
        /// p_b for each packet on its own. Mean rate p_b.
        Bernoulli = "bernoulli",
    }
}

impl Spacing {
    /// Long-run fraction of packets that are dropped, over p_b, as p_b goes to zero.
    #[must_use]
    pub const fn rate_factor(self) -> f64 {
        match self {
            Self::UniformWait => 2.0 / 3.0,
            Self::Uniform | Self::Drawn => 2.0,
            Self::Bernoulli => 1.0,
        }
    }

    /// Long-run fraction of packets that are dropped at initial probability `p`: one in 1 / p, (1 +
    /// 1 / p) / 2 or (1 + 3 / p) / 2 packets; all from p = 1 on.
    pub fn rate<S: Scalar>(self, p: S) -> S {
        match self {
            _ if p.re() >= 1.0 => p,
            Self::Bernoulli => p,
            Self::Uniform | Self::Drawn => p * 2.0 / (p + 1.0),
            Self::UniformWait => p * 2.0 / (p + 3.0),
        }
    }
}
