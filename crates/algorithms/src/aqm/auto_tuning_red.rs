//! Auto-Tuning RED: RED whose maximum probability moves in proportion to the averaged queue's
//! distance from the middle of the thresholds.
//!
//! If the averaged queue r settled at a probability p_b, the maximum probability that brings it to
//! q_ref, half-way between the thresholds, is 2 p_b: a change by 2 (r - q_ref) / (max - min) of
//! itself. Every four round-trip times the fraction `acceleration` x `fraction` of that change is
//! made, within
//! `lowest` and `highest` (Sirisena, Haider and Pawlikowski 2002, as described by Chen 2010, section 3.3 and figure 3.2). The authors set thresholds at least
//! 0.21 bandwidth-delay products apart and the weight to 1 - exp(-1 / (10 R C)).
//!
//! The fluid law makes that change continuously: the maximum probability is a slow state that
//! integrates the distance, so that the average rests at q_ref.

use super::adapted::{Adapted, Moves, OverRed, average_and_thresholds, top};
use super::red::RedParams;
use super::{Aqm, AqmAlgorithm, LinkView, Observation, PacketView, QueueView, Verdict, changed};
use crate::fluid::AqmInput;
use crate::meta::{About, Algorithm};
use crate::params::inconsistent;
use crate::{Interval, Scalar, Stream, Time, ValueError, parameters};

parameters! {
    /// Parameters of Auto-Tuning RED: those of RED (`max_probability` is where it starts) and how
    /// it adapts.
    pub struct AutoTuningRedParams {
        include red: RedParams;
        /// Round-trip time R: the maximum probability changes every 4 R.
        rtt: time = 0.1, in Interval::above(0.0), "Chen 2010, figure 3.2: interval 4 R";
        /// Acceleration factor of a change (epsilon).
        acceleration: number = 1.5, in Interval::above(0.0), "Chen 2010, figure 3.2";
        /// Interval as a fraction of the settling time of 40 R (zeta).
        fraction: number = 0.1, in Interval::above_to(0.0, 1.0), "Chen 2010, figure 3.2";
        /// Largest maximum probability.
        highest: number = 0.5, in Interval::above_to(0.0, 1.0), "Chen 2010, figure 3.2";
        /// Smallest maximum probability.
        lowest: number = 0.01, in Interval::between(0.0, 1.0), "Chen 2010, figure 3.2";
    }
}

impl Algorithm for AutoTuningRedParams {
    const ABOUT: About = About {
        kind: "auto-tuning-red",
        title: "Auto-Tuning RED",
        summary: "RED that changes its maximum probability in proportion to the averaged queue's distance from the middle of the thresholds.",
        citation: "H. Sirisena, A. Haider and K. Pawlikowski, Auto-tuning RED for accurate queue control, GLOBECOM 2002",
        ecn: true,
    };

    fn check(&self) -> Result<(), ValueError> {
        self.red.check()?;
        if self.lowest > self.highest {
            let allowed = format!("at most highest ({})", self.highest);
            return Err(inconsistent("lowest", self.lowest, allowed));
        }
        Ok(())
    }
}

impl AqmAlgorithm for AutoTuningRedParams {
    type Instance = AutoTuningRed;

    fn build(&self, link: &LinkView) -> AutoTuningRed {
        AutoTuningRed {
            adapted: Adapted::new(self.red.build(link)),
            last: Time::ZERO,
            interval: Time::from_seconds(4.0 * self.rtt),
            params: *self,
        }
    }
}

impl OverRed for AutoTuningRedParams {
    type Over<S: Scalar> = AutoTuningRedParams<S>;

    const APPROXIMATION: &'static str =
        "the maximum probability moves continuously, not every four round trips (derived here)";
    const FIXED: bool = true;
    const MOVES: bool = true;

    fn settled(&self, link: &LinkView) -> Self {
        Self {
            red: self.red.settled(link),
            ..*self
        }
    }

    fn red<S: Scalar>(params: &AutoTuningRedParams<S>) -> &RedParams<S> {
        &params.red
    }

    /// d p_max / dt = epsilon zeta 2 (r - q_ref) / (max - min) p_max / (4 R), within the bounds.
    fn moves<S: Scalar>(
        params: &AutoTuningRedParams<S>,
        red: &RedParams<S>,
        input: &AqmInput<S>,
        state: &[S],
    ) -> Option<Moves<S>> {
        let (average, min, max) = average_and_thresholds(red, input, state);
        let interval = params.rtt * 4.0;
        let change = (average - (min + max) * 0.5) / (max - min) * top(red, state) * 2.0;
        Some(Moves {
            drift: params.acceleration * params.fraction * change / interval,
            bounds: (params.lowest, params.highest),
            interval,
        })
    }
}

/// Auto-Tuning RED at work.
#[derive(Clone, Debug)]
pub struct AutoTuningRed {
    adapted: Adapted,
    /// When it was last looked at.
    last: Time,
    interval: Time,
    params: AutoTuningRedParams,
}

impl AutoTuningRed {
    fn adapt(&mut self) {
        let (average, min, max) = self.adapted.red.average_and_thresholds();
        let (params, p) = (&self.params, &mut self.adapted.max_probability);
        let change = 2.0 * (average - 0.5 * (min + max)) / (max - min) * *p;
        let moved = *p + params.acceleration * params.fraction * change;
        // what starts outside the bounds is not pulled in, only not moved further out
        if change > 0.0 && *p < params.highest {
            *p = moved.min(params.highest);
        } else if change < 0.0 && *p > params.lowest {
            *p = moved.max(params.lowest);
        }
        self.adapted.moved();
    }
}

impl Aqm for AutoTuningRed {
    #[inline]
    fn enqueue(
        &mut self,
        now: Time,
        packet: &PacketView,
        queue: &QueueView,
        random: &mut Stream,
    ) -> Verdict {
        self.adapted.red.sample(now, queue);
        if now.since(self.last) >= self.interval {
            self.last = now;
            self.adapt();
        }
        self.adapted.red.judge(packet, queue, random)
    }

    fn on_link_change(&mut self, now: Time, rate: f64) {
        self.adapted.on_link_change(now, rate);
    }

    fn set_parameter(&mut self, name: &str, value: f64) -> Result<(), ValueError> {
        self.params = changed(&self.params, name, value)?;
        self.interval = Time::from_seconds(4.0 * self.params.rtt);
        self.adapted.replace(self.params.red, name);
        Ok(())
    }

    fn observe(&self) -> Observation {
        self.adapted.observe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aqm::test::{LINK, packet, queue, random};
    use crate::{NumberOr, Parameters as _};

    /// q_ref = 40.
    fn params() -> AutoTuningRedParams {
        let mut params = AutoTuningRedParams::from_values(&[]).unwrap();
        params.red.min_threshold = NumberOr::Number(20.0);
        params.red.max_threshold = NumberOr::Number(60.0);
        params.red.weight = NumberOr::Word("off");
        params
    }

    fn watch(aqm: &mut AutoTuningRed, seconds: f64, waiting: u32) -> f64 {
        let now = Time::from_seconds(seconds);
        aqm.enqueue(now, &packet(), &queue(waiting), &mut random());
        aqm.observe().adapted.unwrap()
    }

    #[test]
    fn steps_in_proportion_to_the_distance_every_four_round_trips() {
        let mut aqm = params().build(&LINK);
        assert_eq!(watch(&mut aqm, 0.39, 50), 0.1);
        let first = watch(&mut aqm, 0.4, 50); // 0.15 x 2 x 10 / 40 of itself
        assert!((first - 0.1 * 1.075).abs() < 1e-15);
        assert_eq!(watch(&mut aqm, 0.79, 50), first);
        let second = watch(&mut aqm, 0.8, 30);
        assert!((second - first * 0.925).abs() < 1e-15);
        assert_eq!(watch(&mut aqm, 1.2, 40), second);
    }

    #[test]
    fn whole_steps_arrive_at_once() {
        // a queue that settled at r has p_b = p_max (r - 20) / 40; without the fraction one step
        // makes that half of the new maximum
        let mut whole = AutoTuningRedParams {
            acceleration: 1.0,
            fraction: 1.0,
            ..params()
        }
        .build(&LINK);
        let after = watch(&mut whole, 0.4, 52);
        assert!((0.5 * after - 0.1 * 32.0 / 40.0).abs() < 1e-15);
    }

    #[test]
    fn stays_within_its_bounds() {
        let mut aqm = params().build(&LINK);
        for n in 1..200 {
            watch(&mut aqm, 0.4 * f64::from(n), 55);
        }
        assert_eq!(aqm.adapted.max_probability, 0.5);
        for n in 200..400 {
            watch(&mut aqm, 0.4 * f64::from(n), 1);
        }
        assert_eq!(aqm.adapted.max_probability, 0.01);
    }
}
