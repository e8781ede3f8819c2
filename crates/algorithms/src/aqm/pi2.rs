//! PI2: a PI controller of the queueing delay whose output is squared.
//!
//! Every `interval` a base probability p' moves by alpha (d - d_ref) + beta (d - d_old), d being
//! the queueing delay now and d_old at the last update (RFC 9332, appendix A.1, figure 6; the law
//! and gains of DualPI2's classic queue). A packet is dropped or marked with probability p'^2:
//! since a window of Reno or CUBIC goes with one over the square root of the probability, the loop
//! has the same gain at all loads, without PIE's table (De Schepper, Bondarenko, Tsang and Briscoe
//! 2016).
//!
//! The delay is the queue's length over the link's rate.

use super::{
    Aqm, AqmAlgorithm, LinkView, Observation, PacketView, QueueView, Verdict, changed, happens,
    signal,
};
use crate::fluid::{AqmInput, FluidAqm, held_at_ends};
use crate::meta::{About, Algorithm};
use crate::{Interval, Scalar, Stream, Time, ValueError, parameters};

parameters! {
    /// Parameters of PI2.
    pub struct Pi2Params {
        /// Queueing delay that it steers to.
        target: time = 0.015, in Interval::above(0.0), "RFC 9332, appendix A.1";
        /// Time between two updates (T_update).
        interval: time = 0.016, in Interval::above(0.0), "RFC 9332, appendix A.1";
        /// Weight of the delay's distance from the target, per second and update: 0.1 T_update /
        /// RTT_max^2 with RTT_max = 100 ms.
        alpha: number = 0.16, in Interval::above(0.0), "RFC 9332, appendix A.1";
        /// Weight of the delay's change since the last update, per second: about 0.3 / RTT_max.
        beta: number = 3.2, in Interval::at_least(0.0), "RFC 9332, appendix A.1";
        /// Largest probability (of the squared ones).
        highest: number = 0.25, in Interval::above_to(0.0, 1.0), "RFC 9332, appendix A.1: p_Cmax = 1 / k^2 with k = 2";
        /// Queue that is spared: nothing is dropped or marked while no more than this waits.
        spare: bytes = 3000.0, in Interval::at_least(0.0), "De Schepper et al. 2016: as PIE, two packets of 1500 B";
        /// Whether ECN-capable packets are marked instead of dropped.
        ecn: flag = false, "RFC 9332, section 2.5";
    }
}

impl Algorithm for Pi2Params {
    const ABOUT: About = About {
        kind: "pi2",
        title: "PI2",
        summary: "Steers the queueing delay to a target with a PI controller and drops or marks with the square of its output.",
        citation: "K. De Schepper, O. Bondarenko, I.-J. Tsang and B. Briscoe, PI2: a linearized AQM for both classic and scalable TCP, CoNEXT 2016",
        ecn: true,
    };
}

impl AqmAlgorithm for Pi2Params {
    type Instance = Pi2;

    fn build(&self, _link: &LinkView) -> Pi2 {
        Pi2 {
            base: BaseProbability::default(),
            next: interval(self),
            params: *self,
        }
    }
}

fn interval(params: &Pi2Params) -> Time {
    Time(Time::from_seconds(params.interval).0.max(1))
}

/// The base probability p' and the delay at its last update.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BaseProbability {
    pub(super) p: f64,
    delay: f64,
}

impl BaseProbability {
    pub(super) fn update(&mut self, delay: f64, target: f64, alpha: f64, beta: f64) {
        let step = alpha * (delay - target) + beta * (delay - self.delay);
        self.p = (self.p + step).clamp(0.0, 1.0);
        self.delay = delay;
    }
}

impl FluidAqm for Pi2Params {
    type Over<S: Scalar> = Pi2Params<S>;

    const APPROXIMATION: Option<&'static str> = Some(
        "in continuous time (De Schepper, Bondarenko, Tsang and Briscoe 2016): sampling adds a delay of about half an interval; short queues are not spared",
    );

    fn on_link(&self, _link: &LinkView) -> Self {
        *self
    }

    fn state_names<S: Scalar>(_params: &Pi2Params<S>) -> &'static [&'static str] {
        &["integral part of the base probability"]
    }

    /// dI/dt = alpha / T (d - d_ref). It stands still where the base probability is clipped and
    /// would be clipped further.
    fn derivative<S: Scalar>(
        params: &Pi2Params<S>,
        input: &AqmInput<S>,
        state: &[S],
        rate: &mut [S],
    ) {
        let distance = input.queue / input.service - params.target;
        let change = params.alpha * distance / params.interval;
        rate[0] = held_at_ends(base(params, input, state), 1.0, change);
    }

    fn regimes<S: Scalar>(_params: &Pi2Params<S>) -> &'static [&'static str] {
        &["zero", "below the highest", "highest"]
    }

    fn regime<S: Scalar>(params: &Pi2Params<S>, input: &AqmInput<S>, state: &[S]) -> usize {
        let p = base(params, input, state).re();
        usize::from(p > 0.0) + usize::from(p > 0.0 && p * p >= params.highest.re())
    }

    /// (beta (d - d_ref) + I)^2.
    fn probability<S: Scalar>(
        params: &Pi2Params<S>,
        input: &AqmInput<S>,
        state: &[S],
        regime: usize,
    ) -> S {
        match regime {
            0 => S::from_f64(0.0),
            1 => {
                let p = base(params, input, state);
                p * p
            }
            _ => params.highest,
        }
    }
}

/// p' = beta (d - d_ref) + I.
fn base<S: Scalar>(params: &Pi2Params<S>, input: &AqmInput<S>, state: &[S]) -> S {
    params.beta * (input.queue / input.service - params.target) + state[0]
}

/// PI2 at work.
#[derive(Clone, Debug)]
pub struct Pi2 {
    base: BaseProbability,
    next: Time,
    params: Pi2Params,
}

impl Pi2 {
    fn probability(&self) -> f64 {
        (self.base.p * self.base.p).min(self.params.highest)
    }
}

impl Aqm for Pi2 {
    #[inline]
    fn enqueue(
        &mut self,
        _now: Time,
        packet: &PacketView,
        queue: &QueueView,
        random: &mut Stream,
    ) -> Verdict {
        if queue.full {
            Verdict::Drop
        } else if queue.bytes as f64 > self.params.spare && happens(self.probability(), random) {
            signal(self.params.ecn, packet)
        } else {
            Verdict::Accept
        }
    }

    fn next_timer(&self) -> Option<Time> {
        Some(self.next)
    }

    fn on_timer(&mut self, now: Time, queue: &QueueView, _random: &mut Stream) {
        let params = &self.params;
        let delay = queue.delay();
        self.base
            .update(delay, params.target, params.alpha, params.beta);
        self.next = now + interval(params);
    }

    fn set_parameter(&mut self, name: &str, value: f64) -> Result<(), ValueError> {
        self.params = changed(&self.params, name, value)?;
        Ok(())
    }

    fn observe(&self) -> Observation {
        Observation {
            probability: Some(self.probability()),
            ..Observation::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Parameters as _;
    use crate::aqm::test::{packet, queue, random};

    /// 12 Mbit/s: a packet of 1500 B a millisecond.
    const LINK: LinkView = LinkView {
        rate: 12e6,
        delay: 0.005,
        capacity_packets: 300.0,
    };

    fn params() -> Pi2Params {
        Pi2Params::from_values(&[]).unwrap()
    }

    fn run(aqm: &mut Pi2, queues: impl IntoIterator<Item = u32>) {
        for packets in queues {
            let view = QueueView {
                rate: LINK.rate,
                ..queue(packets)
            };
            aqm.on_timer(aqm.next_timer().unwrap(), &view, &mut random());
        }
    }

    #[test]
    fn updates_by_hand() {
        // n packets are n ms: steps of 0.16 (d - 15 ms) + 3.2 (d - d_old)
        let mut aqm = params().build(&LINK);
        run(&mut aqm, [20]); // 0.0008 + 0.064
        assert!((aqm.base.p - 0.0648).abs() < 1e-15);
        run(&mut aqm, [45]); // 0.0048 + 0.08
        assert!((aqm.base.p - 0.1496).abs() < 1e-15);
        assert!((aqm.observe().probability.unwrap() - 0.1496 * 0.1496).abs() < 1e-15);
        run(&mut aqm, [15]); // - 0.096
        assert!((aqm.base.p - 0.0536).abs() < 1e-15);
        run(&mut aqm, [0]); // - 0.0024 - 0.048, then - 0.0024 until nothing is left
        assert!((aqm.base.p - 0.0032).abs() < 1e-15);
        run(&mut aqm, [0, 0]);
        assert_eq!(aqm.base.p, 0.0);
        run(&mut aqm, [300]);
        assert_eq!(aqm.observe().probability, Some(0.25)); // the highest
        assert_eq!(aqm.next_timer(), Some(Time::from_seconds(8.0 * 0.016)));
    }

    #[test]
    fn drops_or_marks_with_the_square() {
        let mut aqm = Pi2Params {
            ecn: true,
            ..params()
        }
        .build(&LINK);
        aqm.base.p = 0.4;
        let mut random = random();
        let mut count = |waiting, capable, verdict| {
            let arriving = PacketView {
                ecn_capable: capable,
                ..packet()
            };
            (0..100_000)
                .filter(|_| {
                    aqm.enqueue(Time::ZERO, &arriving, &queue(waiting), &mut random) == verdict
                })
                .count() as f64
        };
        // five standard errors are 580
        assert!((count(20, true, Verdict::Mark) - 16_000.0).abs() < 580.0);
        assert!((count(20, false, Verdict::Drop) - 16_000.0).abs() < 580.0);
        assert_eq!(count(2, false, Verdict::Accept), 100_000.0); // 3000 B are spared
    }

    #[test]
    fn fluid_law_has_the_gains_of_the_algorithm() {
        let (mut aqm, law) = (params().build(&LINK), params().on_link(&LINK));
        let (mut integral, mut p) = (0.0, 0.0);
        run(&mut aqm, [15]);
        aqm.base.p = 0.0;
        for n in 0..80 {
            // a packet more every update
            run(&mut aqm, [16 + n]);
            let input = AqmInput::new(f64::from(16 + n) - 0.5, 0.0, 1000.0);
            let mut rate = [0.0];
            Pi2Params::derivative(&law, &input, &[integral], &mut rate);
            integral += rate[0] * 0.016;
            let input = AqmInput::new(f64::from(16 + n), 0.0, 1000.0);
            let regime = Pi2Params::regime(&law, &input, &[integral]);
            p = Pi2Params::probability(&law, &input, &[integral], regime);
            assert!(
                (p / aqm.probability() - 1.0).abs() < 0.06,
                "{p} {}",
                aqm.probability()
            );
        }
        assert!(p > 0.2);
    }
}
