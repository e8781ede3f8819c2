//! LRED, loss ratio based RED: a probability from the measured loss ratio and the queue.
//!
//! Every `period` the loss ratio l is taken over the last `periods` periods (packets dropped or
//! marked, over packets that arrived) and averaged: L <- w L + (1 - w) l. Each arriving packet is
//! then dropped or marked with probability
//!
//! p = L + beta sqrt(L) (q - q_ref)
//!
//! where q is the present queue (Wang, Li, Hou, Sohraby and Lin 2007): in equilibrium, where the
//! loss ratio is p, the queue is q_ref. Losses of a full queue count, so that a ratio of zero is
//! left when the queue first overflows.
//!
//! The fluid law has the averaged ratio as a state that follows p with the mean delay of the
//! measurement.

use std::collections::VecDeque;

use super::red::Mode;
use super::{
    Aqm, AqmAlgorithm, LinkView, Observation, PacketView, QueueView, Verdict, changed, happens,
    length, signal,
};
use crate::fluid::{AqmInput, FluidAqm, overflow};
use crate::meta::{About, Algorithm};
use crate::{Interval, Scalar, Stream, Time, ValueError, parameters};

parameters! {
    /// Parameters of LRED.
    pub struct LredParams {
        /// Queue that it steers to (q_0).
        reference: packets = 50.0, in Interval::at_least(0.0), "Wang et al. 2007: chosen by the operator";
        /// Weight of the queue's distance from the reference (beta), per packet.
        beta: number = 0.001, in Interval::above(0.0), "Wang et al. 2007";
        /// Time over which packets and losses are counted at a time.
        period: time = 1.0, in Interval::above(0.0), "Wang et al. 2007";
        /// Number of periods over which the loss ratio is taken (M), a whole number.
        periods: number = 4.0, in Interval::between(1.0, 1000.0), "Wang et al. 2007";
        /// Weight of the past in the average of loss ratios (mw).
        past: number = 0.1, in Interval::from_below(0.0, 1.0), "Wang et al. 2007";
        /// Whether the queue is measured in packets or bytes.
        mode: choice(Mode) = Packets, "as RED";
        /// Size of an average packet, for byte mode.
        mean_packet: bytes = 1500.0, in Interval::above(0.0), "as RED";
        /// Whether ECN-capable packets are marked instead of dropped.
        ecn: flag = false, "RFC 3168, section 5";
    }
}

impl Algorithm for LredParams {
    const ABOUT: About = About {
        kind: "lred",
        title: "LRED",
        summary: "Loss ratio based RED: drops or marks with the measured loss ratio, corrected in proportion to its square root and the queue's distance from a reference.",
        citation: "C. Wang, B. Li, Y. T. Hou, K. Sohraby and Y. Lin, LRED: a robust active queue management scheme based on packet loss ratio, IEEE Transactions on Parallel and Distributed Systems 18(1), 2007",
        ecn: true,
    };
}

impl AqmAlgorithm for LredParams {
    type Instance = Lred;

    fn build(&self, _link: &LinkView) -> Lred {
        Lred {
            ratio: 0.0,
            counts: VecDeque::from([(0, 0)]),
            probability: 0.0,
            next: period(self),
            params: *self,
        }
    }
}

fn period(params: &LredParams) -> Time {
    Time(Time::from_seconds(params.period).0.max(1))
}

/// A ratio below this is none: its square root would have no slope.
const MIN_RATIO: f64 = 1e-12;

impl FluidAqm for LredParams {
    type Over<S: Scalar> = LredParams<S>;

    const APPROXIMATION: Option<&'static str> = Some(
        "the measured loss ratio follows p as a lag of first order with the measurement's mean delay; all packets have the mean size (derived here)",
    );

    fn on_link(&self, _link: &LinkView) -> Self {
        *self
    }

    /// L, the averaged loss ratio.
    fn state_names<S: Scalar>(_params: &LredParams<S>) -> &'static [&'static str] {
        &["averaged loss ratio"]
    }

    /// dL/dt = (l - L) / T, l what is lost now (of a full queue too). A sample stands for the M
    /// periods before it, so its age is M/2 periods when it is taken, half a period more on average
    /// until the next, and the average adds w / (1 - w) periods.
    fn derivative<S: Scalar>(
        params: &LredParams<S>,
        input: &AqmInput<S>,
        state: &[S],
        rate: &mut [S],
    ) {
        if let ([ratio], [rate]) = (state, rate) {
            let one = S::from_f64(1.0);
            let age = (params.periods + 1.0) * 0.5 + params.past / (one - params.past);
            let regime = Self::regime(params, input, state);
            let p = Self::probability(params, input, state, regime);
            let full = input.queue.re() >= input.limit * (1.0 - 1e-9);
            let lost = if full {
                p + (one - p) * overflow(input.arrivals * (one - p), input.service)
            } else {
                p
            };
            *rate = (lost - *ratio) / (params.period * age);
        }
    }

    fn local<S: Scalar>(_params: &LredParams<S>) -> bool {
        true
    }

    fn regimes<S: Scalar>(_params: &LredParams<S>) -> &'static [&'static str] {
        &["zero", "between zero and one", "one"]
    }

    fn regime<S: Scalar>(params: &LredParams<S>, input: &AqmInput<S>, state: &[S]) -> usize {
        let p = Self::probability(params, input, state, 1).re();
        usize::from(p >= 0.0) + usize::from(p >= 1.0)
    }

    /// p = L + beta sqrt(L) (q - q_ref).
    fn probability<S: Scalar>(
        params: &LredParams<S>,
        input: &AqmInput<S>,
        state: &[S],
        regime: usize,
    ) -> S {
        let ratio = state.first().copied().unwrap_or(S::from_f64(0.0));
        match regime {
            0 => S::from_f64(0.0),
            1 => {
                let distance = input.queue - params.reference;
                ratio + params.beta * ratio.max(S::from_f64(MIN_RATIO)).sqrt() * distance
            }
            _ => S::from_f64(1.0),
        }
    }
}

/// LRED at work.
#[derive(Clone, Debug)]
pub struct Lred {
    /// The averaged loss ratio.
    ratio: f64,
    /// Packets and losses of the last periods, the present one last.
    counts: VecDeque<(u64, u64)>,
    /// Drop probability of the last packet.
    probability: f64,
    next: Time,
    params: LredParams,
}

impl Aqm for Lred {
    #[inline]
    fn enqueue(
        &mut self,
        _now: Time,
        packet: &PacketView,
        queue: &QueueView,
        random: &mut Stream,
    ) -> Verdict {
        let params = &self.params;
        let distance = length(params.mode, params.mean_packet, queue) - params.reference;
        let p = self.ratio + params.beta * self.ratio.sqrt() * distance;
        self.probability = p.clamp(0.0, 1.0);
        let verdict = if queue.full {
            Verdict::Drop
        } else if happens(self.probability, random) {
            signal(params.ecn, packet)
        } else {
            Verdict::Accept
        };
        if let Some((arrived, lost)) = self.counts.back_mut() {
            *arrived += 1;
            *lost += u64::from(verdict != Verdict::Accept);
        }
        verdict
    }

    fn next_timer(&self) -> Option<Time> {
        Some(self.next)
    }

    fn on_timer(&mut self, now: Time, _queue: &QueueView, _random: &mut Stream) {
        let (arrived, lost) = self
            .counts
            .iter()
            .fold((0, 0), |(a, l), (arrived, lost)| (a + arrived, l + lost));
        if arrived > 0 {
            let ratio = lost as f64 / arrived as f64;
            self.ratio += (1.0 - self.params.past) * (ratio - self.ratio);
        }
        self.counts.push_back((0, 0));
        while self.counts.len() > self.params.periods.round() as usize {
            self.counts.pop_front();
        }
        self.next = now + period(&self.params);
    }

    fn set_parameter(&mut self, name: &str, value: f64) -> Result<(), ValueError> {
        self.params = changed(&self.params, name, value)?;
        Ok(())
    }

    /// The adapted parameter is the averaged loss ratio.
    fn observe(&self) -> Observation {
        Observation {
            probability: Some(self.probability),
            adapted: Some(self.ratio),
            ..Observation::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Parameters as _;
    use crate::aqm::test::{LINK, packet, queue, random};

    fn params() -> LredParams {
        LredParams::from_values(&[]).unwrap()
    }

    /// A period with so many arrivals, of which so many find the queue full.
    fn period(aqm: &mut Lred, arrivals: u32, lost: u32) {
        let ratio = aqm.ratio;
        aqm.ratio = 0.0; // no early drops
        for n in 0..arrivals {
            let view = QueueView {
                full: n < lost,
                ..queue(50)
            };
            aqm.enqueue(Time::ZERO, &packet(), &view, &mut random());
        }
        aqm.ratio = ratio;
        aqm.on_timer(aqm.next_timer().unwrap(), &queue(50), &mut random());
    }

    #[test]
    fn the_ratio_is_taken_over_four_periods_and_averaged() {
        let mut aqm = params().build(&LINK);
        let mut average = 0.0;
        for (arrivals, lost, ratio) in [
            (1000, 0, 0.0),
            (1000, 20, 0.01),
            (2000, 20, 0.01),
            (1000, 35, 0.015),
            (1000, 0, 0.015), // 75 of 5000
            (500, 0, 55.0 / 4500.0),
            (500, 0, 35.0 / 3000.0),
            (500, 0, 0.0),
        ] {
            period(&mut aqm, arrivals, lost);
            average = 0.1 * average + 0.9 * ratio;
            assert!((aqm.ratio - average).abs() < 1e-15, "{arrivals} {lost}");
        }
    }

    #[test]
    fn the_queue_corrects_the_ratio() {
        let mut aqm = params().build(&LINK);
        aqm.ratio = 0.04;
        let mut see = |waiting| {
            aqm.enqueue(Time::ZERO, &packet(), &queue(waiting), &mut random());
            aqm.observe().probability.unwrap()
        };
        for (waiting, p) in [(50, 0.04), (100, 0.05), (20, 0.034), (0, 0.03)] {
            assert!((see(waiting) - p).abs() < 1e-15, "{waiting}");
        }
    }

    #[test]
    fn a_ratio_that_it_causes_itself_is_kept_at_the_reference() {
        let mut aqm = params().build(&LINK);
        aqm.ratio = 0.1;
        let mut random = random();
        for _ in 0..50 {
            for _ in 0..20_000 {
                aqm.enqueue(Time::ZERO, &packet(), &queue(50), &mut random);
            }
            aqm.on_timer(aqm.next_timer().unwrap(), &queue(50), &mut random);
        }
        // a random walk of steps of at most 0.0021 (one standard error of 20,000 packets)
        assert!(
            (aqm.ratio - 0.1).abs() < 5.0 * 0.0021 * 50.0_f64.sqrt() / 4.0,
            "{}",
            aqm.ratio
        );
        for _ in 0..20 {
            for _ in 0..20_000 {
                aqm.enqueue(Time::ZERO, &packet(), &queue(80), &mut random);
            }
            aqm.on_timer(aqm.next_timer().unwrap(), &queue(80), &mut random);
        }
        assert!(aqm.ratio > 0.12, "{}", aqm.ratio); // a longer queue raises it
    }
}
