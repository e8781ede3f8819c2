//! Independent losses.
//!
//! Each packet that leaves the link is lost with probability p, whatever happened to the others:
//! gaps between losses are geometric, with mean 1 / p.

use super::{Loss, LossAlgorithm};
use crate::meta::{About, Algorithm};
use crate::{Interval, Stream, parameters};

parameters! {
    /// Parameters of independent losses.
    pub struct RandomLossParams {
        /// Probability that a packet is lost.
        probability: number = required, in Interval::between(0.0, 1.0), "Gilbert 1960: the memoryless case";
    }
}

impl Algorithm for RandomLossParams {
    const ABOUT: About = About {
        kind: "random",
        title: "Random loss",
        summary: "Loses each packet with the same probability, independently of all others.",
        citation: "E. N. Gilbert, Capacity of a burst-noise channel, Bell System Technical Journal 39(5), 1960: the memoryless case",
        ecn: false,
    };
}

impl LossAlgorithm for RandomLossParams {
    type Loss = RandomLoss;

    fn build(&self, _random: &mut Stream) -> RandomLoss {
        RandomLoss {
            probability: self.probability,
        }
    }

    fn mean_loss(&self) -> f64 {
        self.probability
    }

    fn mean_burst(&self) -> f64 {
        1.0 / (1.0 - self.probability)
    }
}

/// Independent losses at work.
#[derive(Clone, Copy, Debug)]
pub struct RandomLoss {
    probability: f64,
}

impl Loss for RandomLoss {
    #[inline]
    fn loses(&mut self, random: &mut Stream) -> bool {
        random.uniform() < self.probability
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Owner;

    #[test]
    fn loses_its_share() {
        let mut random = Stream::new(1, Owner::Loss, 0);
        for (probability, low, high) in [
            (0.0, 0, 0),
            (0.03, 29_000, 31_000),
            (1.0, 1_000_000, 1_000_000),
        ] {
            // 0.03: mean 30,000, deviation 171
            let mut loss = RandomLossParams { probability }.build(&mut random);
            let lost = (0..1_000_000).filter(|_| loss.loses(&mut random)).count();
            assert!((low..=high).contains(&lost), "{probability}: {lost}");
        }
    }
}
