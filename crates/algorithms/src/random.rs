//! One random stream an entity: a flow, a queue, a traffic source.

use rand_core::{Rng as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;

/// A random stream that belongs to one entity.
///
/// It depends on the run's seed and the entity alone, so adding a flow does not change the draws of
/// another. The number of an entity must therefore not follow from its place among others; the
/// packet engine derives it from the name.
#[derive(Clone, Debug)]
pub struct Stream(Pcg64Mcg);

/// The owner of a stream: its kind keeps flow 3 and link 3 apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Owner {
    /// A flow's own choices: its RTT, its start time, its congestion control.
    Flow = 1,
    /// A queue's dropping or marking decisions.
    Queue = 2,
    /// The packets or requests of a traffic source.
    Traffic = 3,
    /// Losses on a link's wire.
    Loss = 16,
    /// Delays that a link's wire adds.
    Jitter = 17,
    /// A scheduler's hash function.
    Scheduler = 18,
    /// Backoffs and failures of a link's service.
    Service = 19,
    /// Times in which a link sends nothing.
    Stalls = 20,
}

impl Stream {
    /// The stream of entity `index` of kind `owner` in the run with `seed`.
    #[must_use]
    pub fn new(seed: u64, owner: Owner, index: u64) -> Self {
        // splitmix64 finalisers spread neighbouring seeds and indices over the whole state
        let a = mix(seed ^ mix(owner as u64));
        let b = mix(a ^ mix(index.wrapping_add(0x9e37_79b9_7f4a_7c15)));
        let state = (u128::from(mix(b)) << 64) | u128::from(b);
        Self(Pcg64Mcg::from_seed(state.to_le_bytes()))
    }

    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform on `[0, 1)`, with 53 random bits.
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// Exponential with the given mean.
    #[inline]
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * libm::log(1.0 - self.uniform())
    }

    /// Standard normal (Box and Muller's transform, one of the pair).
    pub fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(1.0 - self.uniform()));
        radius * libm::cos(std::f64::consts::TAU * self.uniform())
    }
}

/// The finaliser of splitmix64 (Steele, Lea and Flood, 2014).
pub(crate) fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
