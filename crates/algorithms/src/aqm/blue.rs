//! BLUE: a probability that rises when packets are lost and falls when the link is idle.
//!
//! When the queue overflows, or is longer than `threshold`, the probability rises by `increment`;
//! when the link becomes idle it falls by `decrement`; neither before `freeze_time` has passed
//! since the last change (Feng, Shin, Kandlur and Saha 2002, figure 3). Each arriving packet is
//! dropped or marked with that probability on its own. The end of the last transmission is seen
//! when the next packet arrives, but counts from when it was.
//!
//! The fluid law has the probability as a state that moves by the mean of those steps, one in a
//! freeze time, over the fluctuations of the queue.

use super::{
    Aqm, AqmAlgorithm, LinkView, Observation, PacketView, QueueView, Verdict, changed, happens,
    signal,
};
use crate::fluid::{AqmInput, FluidAqm, below};
use crate::meta::{About, Algorithm};
use crate::{Interval, Scalar, Stream, Time, ValueError, parameters};

parameters! {
    /// Parameters of BLUE.
    pub struct BlueParams {
        /// Step up of the probability at a loss (delta 1, or d1).
        increment: number = 0.02, in Interval::above_to(0.0, 1.0), "Feng et al. 2002, section III: much larger than the decrement";
        /// Step down of the probability when the link is idle (delta 2, or d2).
        decrement: number = 0.002, in Interval::above_to(0.0, 1.0), "Feng et al. 2002, section III: a tenth of the increment";
        /// Shortest time between two changes; about a round-trip time.
        freeze_time: time = 0.1, in Interval::at_least(0.0), "Feng et al. 2002, section III";
        /// Queue above which the probability rises as if packets were lost. "capacity": only losses
        /// count.
        threshold: packets("capacity") = word "capacity", in Interval::at_least(0.0), "Feng et al. 2002, section III: L";
        /// Whether ECN-capable packets are marked instead of dropped.
        ecn: flag = false, "Feng et al. 2002, section III";
    }
}

impl Algorithm for BlueParams {
    const ABOUT: About = About {
        kind: "blue",
        title: "BLUE",
        summary: "Raises its drop or mark probability when packets are lost and lowers it when the link is idle, at most once in a freeze time.",
        citation: "W. Feng, K. G. Shin, D. D. Kandlur and D. Saha, The BLUE active queue management algorithms, IEEE/ACM Transactions on Networking 10(4), 2002",
        ecn: true,
    };
}

impl AqmAlgorithm for BlueParams {
    type Instance = Blue;

    fn build(&self, _link: &LinkView) -> Blue {
        Blue {
            probability: 0.0,
            changed: None,
            idle: None,
            params: *self,
        }
    }
}

impl FluidAqm for BlueParams {
    type Over<S: Scalar> = BlueParams<S>;

    const APPROXIMATION: Option<&'static str> = Some(
        "the probability moves by the mean of its steps over a queue that fluctuates as independent windows let it (Appenzeller, Keslassy and McKeown 2004; derived here)",
    );

    fn on_link(&self, _link: &LinkView) -> Self {
        *self
    }

    /// The probability.
    fn state_names<S: Scalar>(_params: &BlueParams<S>) -> &'static [&'static str] {
        &["probability"]
    }

    /// dp/dt = (d1 P(q > L) - d2 P(q < 0)) / freeze time, between 0 and 1.
    fn derivative<S: Scalar>(
        params: &BlueParams<S>,
        input: &AqmInput<S>,
        state: &[S],
        rate: &mut [S],
    ) {
        if let ([p], [rate]) = (state, rate) {
            let zero = S::from_f64(0.0);
            let limit = S::from_f64(input.limit);
            let long = params.threshold.or_else(|_| limit).min(limit);
            let deviation = input.fluctuation().max(S::from_f64(1.0));
            let lost = if long.re().is_finite() {
                below(input.queue - long, deviation)
            } else {
                zero
            };
            let idle = below(-input.queue, deviation);
            let freeze = params.freeze_time.max(S::from_f64(MIN_FREEZE_TIME_S));
            let drift = (params.increment * lost - params.decrement * idle) / freeze;
            let outside =
                (p.re() <= 0.0 && drift.re() < 0.0) || (p.re() >= 1.0 && drift.re() > 0.0);
            *rate = if outside { zero } else { drift };
        }
    }

    fn local<S: Scalar>(_params: &BlueParams<S>) -> bool {
        true
    }

    fn regimes<S: Scalar>(_params: &BlueParams<S>) -> &'static [&'static str] {
        &["its probability"]
    }

    fn regime<S: Scalar>(_params: &BlueParams<S>, _input: &AqmInput<S>, _state: &[S]) -> usize {
        0
    }

    /// The state.
    fn probability<S: Scalar>(
        _params: &BlueParams<S>,
        _input: &AqmInput<S>,
        state: &[S],
        _regime: usize,
    ) -> S {
        let zero = S::from_f64(0.0);
        let p = state.first().copied().unwrap_or(zero);
        p.max(zero).min(S::from_f64(1.0))
    }
}

/// A freeze time of zero is a step a packet: the equations take no shorter one than this, s.
const MIN_FREEZE_TIME_S: f64 = 1e-3;

/// BLUE at work.
#[derive(Clone, Debug)]
pub struct Blue {
    probability: f64,
    /// When the probability last changed.
    changed: Option<Time>,
    /// The last idle time that was counted.
    idle: Option<Time>,
    params: BlueParams,
}

impl Blue {
    fn step(&mut self, time: Time, by: f64) {
        let freeze = Time::from_seconds(self.params.freeze_time);
        if self
            .changed
            .is_none_or(|changed| time.since(changed) > freeze)
        {
            self.probability = (self.probability + by).clamp(0.0, 1.0);
            self.changed = Some(time);
        }
    }
}

impl Aqm for Blue {
    #[inline]
    fn enqueue(
        &mut self,
        now: Time,
        packet: &PacketView,
        queue: &QueueView,
        random: &mut Stream,
    ) -> Verdict {
        if let Some(since) = queue.idle_since
            && self.idle != Some(since)
        {
            self.idle = Some(since);
            self.step(since, -self.params.decrement);
        }
        let long = f64::from(queue.packets) > self.params.threshold.or_else(|_| f64::INFINITY);
        if queue.full || long {
            self.step(now, self.params.increment);
        }
        if queue.full {
            Verdict::Drop
        } else if happens(self.probability, random) {
            signal(self.params.ecn, packet)
        } else {
            Verdict::Accept
        }
    }

    fn set_parameter(&mut self, name: &str, value: f64) -> Result<(), ValueError> {
        self.params = changed(&self.params, name, value)?;
        Ok(())
    }

    fn observe(&self) -> Observation {
        Observation {
            probability: Some(self.probability),
            ..Observation::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aqm::test::{LINK, packet, queue, random};
    use crate::{NumberOr, Parameters as _};

    fn params() -> BlueParams {
        BlueParams::from_values(&[]).unwrap()
    }

    /// The probability after an arrival.
    fn arrive(aqm: &mut Blue, seconds: f64, view: QueueView) -> f64 {
        aqm.enqueue(Time::from_seconds(seconds), &packet(), &view, &mut random());
        aqm.observe().probability.unwrap()
    }

    fn full() -> QueueView {
        QueueView {
            full: true,
            ..queue(100)
        }
    }

    fn idle(since: f64) -> QueueView {
        QueueView {
            idle_since: Some(Time::from_seconds(since)),
            ..queue(0)
        }
    }

    #[test]
    fn losses_raise_it_once_in_a_freeze_time() {
        let mut aqm = params().build(&LINK);
        let observed =
            [1.0, 1.05, 1.1, 1.101, 1.15, 1.21].map(|time| arrive(&mut aqm, time, full()));
        assert_eq!(observed, [0.02, 0.02, 0.02, 0.04, 0.04, 0.06]);
        assert_eq!(arrive(&mut aqm, 2.0, queue(99)), 0.06);
    }

    #[test]
    fn each_idle_time_lowers_it_once_and_is_frozen_too() {
        let mut aqm = params().build(&LINK);
        arrive(&mut aqm, 1.0, full());
        assert_eq!(arrive(&mut aqm, 1.3, idle(1.05)), 0.02); // it began in the freeze time
        let lower = arrive(&mut aqm, 1.4, idle(1.35));
        assert!((lower - 0.018).abs() < 1e-15);
        assert_eq!(arrive(&mut aqm, 1.6, idle(1.35)), lower); // the same idle time
        assert!(arrive(&mut aqm, 1.7, idle(1.65)) < lower);
        for n in 0..100 {
            let since = 2.0 + 0.2 * f64::from(n);
            arrive(&mut aqm, since + 0.1, idle(since));
        }
        assert_eq!(aqm.probability, 0.0);
    }

    #[test]
    fn a_long_queue_counts_as_loss_if_asked() {
        let mut aqm = BlueParams {
            threshold: NumberOr::Number(50.0),
            ..params()
        }
        .build(&LINK);
        assert_eq!(arrive(&mut aqm, 1.0, queue(50)), 0.0);
        assert_eq!(arrive(&mut aqm, 1.0, queue(51)), 0.02);
    }

    #[test]
    fn marks_and_drops_have_its_probability() {
        let mut aqm = BlueParams {
            ecn: true,
            ..params()
        }
        .build(&LINK);
        aqm.probability = 0.3;
        let mut random = random();
        let mut count = |capable| {
            let arriving = PacketView {
                ecn_capable: capable,
                ..packet()
            };
            let expected = if capable {
                Verdict::Mark
            } else {
                Verdict::Drop
            };
            (0..100_000)
                .filter(|_| aqm.enqueue(Time::ZERO, &arriving, &queue(5), &mut random) == expected)
                .count() as f64
        };
        // five standard errors are 725
        assert!((count(true) - 30_000.0).abs() < 725.0 && (count(false) - 30_000.0).abs() < 725.0);
    }
}
