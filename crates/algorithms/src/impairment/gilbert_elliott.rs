//! Bursty losses by a Markov chain of two states.
//!
//! The chain takes a step per packet: from the good state to the bad one with probability p, back
//! with probability r. A packet is lost with probability 1 - k in the good state and 1 - h in the
//! bad one. In the long run the chain is in the bad state for p / (p + r) of the packets, so that
//! (1 - k) r / (p + r) + (1 - h) p / (p + r) of them are lost; with k = 1 and h = 0 bursts have 1 /
//! r packets on average.

use super::{Loss, LossAlgorithm};
use crate::meta::{About, Algorithm};
use crate::params::inconsistent;
use crate::{Interval, Stream, ValueError, parameters};

parameters! {
    /// Parameters of Gilbert-Elliott losses.
    pub struct GilbertElliottParams {
        /// Probability per packet of going from the good state to the bad one (p).
        good_to_bad: number = required, in Interval::between(0.0, 1.0), "Elliott 1963; Hasslinger and Hohlfeld 2008, section 2";
        /// Probability per packet of going back (r): bursts last 1 / r packets on average.
        bad_to_good: number = required, in Interval::between(0.0, 1.0), "Elliott 1963; Hasslinger and Hohlfeld 2008, section 2";
        /// Probability that a packet is lost in the good state (1 - k).
        loss_good: number = 0.0, in Interval::between(0.0, 1.0), "Gilbert 1960: none";
        /// Probability that a packet is lost in the bad state (1 - h).
        loss_bad: number = 1.0, in Interval::between(0.0, 1.0), "the simple Gilbert model: every packet";
    }
}

impl GilbertElliottParams {
    /// Long-run fraction of packets in the bad state.
    #[must_use]
    pub fn bad_share(&self) -> f64 {
        self.good_to_bad / (self.good_to_bad + self.bad_to_good)
    }

    /// Long-run fraction of packets that are lost.
    #[must_use]
    pub fn mean_loss(&self) -> f64 {
        let bad = self.bad_share();
        self.loss_good * (1.0 - bad) + self.loss_bad * bad
    }
}

impl Algorithm for GilbertElliottParams {
    const ABOUT: About = About {
        kind: "gilbert-elliott",
        title: "Gilbert-Elliott loss",
        summary: "Loses packets in bursts: a chain of a good and a bad state takes a step per packet, and each state has its own probability of loss.",
        citation: "E. O. Elliott, Estimates of error rates for codes on burst-noise channels, Bell System Technical Journal 42(5), 1963",
        ecn: false,
    };

    fn check(&self) -> Result<(), ValueError> {
        if self.good_to_bad + self.bad_to_good > 0.0 {
            return Ok(());
        }
        let allowed =
            "above 0 when `good_to_bad` is 0: a chain that never moves has no long run".to_owned();
        Err(inconsistent("bad_to_good", self.bad_to_good, allowed))
    }
}

impl LossAlgorithm for GilbertElliottParams {
    type Loss = GilbertElliott;

    /// The chain begins in its stationary law.
    fn build(&self, random: &mut Stream) -> GilbertElliott {
        GilbertElliott {
            params: *self,
            bad: random.uniform() < self.bad_share(),
        }
    }

    fn mean_loss(&self) -> f64 {
        Self::mean_loss(self)
    }

    /// Losses over losses that follow a packet which was not lost.
    fn mean_burst(&self) -> f64 {
        let (bad, out, back) = (self.bad_share(), self.good_to_bad, self.bad_to_good);
        let (good_kept, bad_kept) = (
            (1.0 - bad) * (1.0 - self.loss_good),
            bad * (1.0 - self.loss_bad),
        );
        let begins = good_kept * ((1.0 - out) * self.loss_good + out * self.loss_bad)
            + bad_kept * (back * self.loss_good + (1.0 - back) * self.loss_bad);
        Self::mean_loss(self) / begins
    }
}

/// Gilbert-Elliott losses at work.
#[derive(Clone, Copy, Debug)]
pub struct GilbertElliott {
    params: GilbertElliottParams,
    bad: bool,
}

impl Loss for GilbertElliott {
    /// Loss by the present state, then a step.
    fn loses(&mut self, random: &mut Stream) -> bool {
        let (loss, leave) = if self.bad {
            (self.params.loss_bad, self.params.bad_to_good)
        } else {
            (self.params.loss_good, self.params.good_to_bad)
        };
        let lost = random.uniform() < loss;
        self.bad ^= random.uniform() < leave;
        lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Owner;

    /// Losses and bursts among `packets` packets.
    fn count(params: GilbertElliottParams, packets: usize) -> (f64, f64) {
        let mut random = Stream::new(7, Owner::Loss, 1);
        let mut loss = params.build(&mut random);
        let (mut lost, mut bursts, mut before) = (0, 0, false);
        for _ in 0..packets {
            let now = loss.loses(&mut random);
            lost += usize::from(now);
            bursts += usize::from(now && !before);
            before = now;
        }
        (lost as f64, bursts as f64)
    }

    #[test]
    fn stationary_loss_and_length_of_bursts() {
        let simple = GilbertElliottParams {
            good_to_bad: 0.01,
            bad_to_good: 0.25,
            loss_good: 0.0,
            loss_bad: 1.0,
        };
        assert!((simple.mean_loss() - 0.01 / 0.26).abs() < 1e-15);
        let packets = 2_000_000;
        let (lost, bursts) = count(simple, packets);
        // neighbouring states correlate with 1 - p - r = 0.74: deviation of the share sqrt(pi0 pi1
        // / n (1 + 0.74) / (1 - 0.74)) = 0.00035
        assert!(
            (lost / packets as f64 - simple.mean_loss()).abs() < 4.0 * 0.00035,
            "{lost}"
        );
        // geometric with mean 1 / r = 4, deviation 3.46 over some 19,000 bursts
        assert!(
            (lost / bursts - 4.0).abs() < 4.0 * 3.46 / bursts.sqrt(),
            "{}",
            lost / bursts
        );
    }

    #[test]
    fn both_states_lose() {
        let params = GilbertElliottParams {
            good_to_bad: 0.02,
            bad_to_good: 0.08,
            loss_good: 0.01,
            loss_bad: 0.5,
        };
        assert!((params.mean_loss() - (0.01 * 0.8 + 0.5 * 0.2)).abs() < 1e-15);
        let (lost, _) = count(params, 2_000_000);
        assert!((lost / 2e6 - params.mean_loss()).abs() < 0.003, "{lost}");
    }

    #[test]
    fn a_chain_that_never_moves_is_refused() {
        let params = GilbertElliottParams {
            good_to_bad: 0.0,
            bad_to_good: 0.0,
            loss_good: 0.0,
            loss_bad: 1.0,
        };
        assert!(
            params
                .check()
                .unwrap_err()
                .to_string()
                .contains("`bad_to_good` is 0")
        );
    }
}
