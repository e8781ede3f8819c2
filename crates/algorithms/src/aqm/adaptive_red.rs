//! Adaptive RED: RED whose maximum probability follows the average queue.
//!
//! At an arrival more than `interval` after the last change: while the average is below min + 0.4
//! (max - min), `max_probability` is multiplied by
//! `decrease`; while it is above max - 0.4 (max - min), the smaller of `increment` and a quarter of itself is added. It is left alone once it is at
//! or beyond `lowest` or `highest`, so one step may pass a bound. The gentle part keeps the slope of the start, as in ns-2 2.35. Nothing else differs
//! from RED.
//!
//! The fluid law has the maximum probability as a slow state that moves by the mean of those steps.

use super::adapted::{Adapted, Moves, OverRed, Steps};
use super::red::RedParams;
use super::{Aqm, AqmAlgorithm, LinkView, Observation, PacketView, QueueView, Verdict, changed};
use crate::fluid::AqmInput;
use crate::meta::{About, Algorithm};
use crate::params::inconsistent;
use crate::{Interval, NumberOr, Scalar, Stream, Time, ValueError, parameters};

/// The target band leaves this part of the way from minimum to maximum threshold free at each end.
const TARGET_MARGIN: f64 = 0.4;

parameters! {
    /// Parameters of Adaptive RED: those of RED (`max_probability` is where it starts) and how it
    /// adapts.
    pub struct AdaptiveRedParams {
        include red: RedParams;
        /// Shortest time between two changes of the maximum probability.
        interval: time = 0.5, in Interval::at_least(0.0), "Floyd, Gummadi and Shenker 2001, section 4";
        /// Largest increase of the maximum probability at a time; at most a quarter of it is added.
        increment: number = 0.01, in Interval::between(0.0, 1.0), "Floyd, Gummadi and Shenker 2001, section 4";
        /// Factor of a decrease of the maximum probability.
        decrease: number = 0.9, in Interval::inside(0.0, 1.0), "Floyd, Gummadi and Shenker 2001, section 4";
        /// The maximum probability does not increase from here on.
        highest: number = 0.5, in Interval::above_to(0.0, 1.0), "Floyd, Gummadi and Shenker 2001, section 4";
        /// The maximum probability does not decrease from here on. "auto": 0.01, or 80,000 bit/s
        /// over the link's rate where that is less.
        lowest: number("auto") = word "auto", in Interval::between(0.0, 1.0), "ns-2 2.35: bottom_ 0";
    }
}

impl AdaptiveRedParams {
    fn floor(&self, link: &LinkView) -> f64 {
        self.lowest
            .or_else(|_| f64::min(0.01, 80_000.0 / link.rate))
    }
}

impl Algorithm for AdaptiveRedParams {
    const ABOUT: About = About {
        kind: "adaptive-red",
        title: "Adaptive RED",
        summary: "RED that raises and lowers its maximum probability to keep the averaged queue half-way between the thresholds.",
        citation: "S. Floyd, R. Gummadi and S. Shenker, Adaptive RED: an algorithm for increasing the robustness of RED's active queue management, 2001",
        ecn: true,
    };

    fn check(&self) -> Result<(), ValueError> {
        self.red.check()?;
        match self.lowest {
            NumberOr::Number(lowest) if lowest > self.highest => Err(inconsistent(
                "lowest",
                lowest,
                format!("at most highest ({})", self.highest),
            )),
            _ => Ok(()),
        }
    }
}

impl AqmAlgorithm for AdaptiveRedParams {
    type Instance = AdaptiveRed;

    fn build(&self, link: &LinkView) -> AdaptiveRed {
        AdaptiveRed {
            adapted: Adapted::new(self.red.build(link)),
            changed: Time::ZERO,
            interval: Time::from_seconds(self.interval),
            floor: self.floor(link),
            params: *self,
            link: *link,
        }
    }
}

impl OverRed for AdaptiveRedParams {
    type Over<S: Scalar> = AdaptiveRedParams<S>;

    const APPROXIMATION: &'static str = "the maximum probability moves by the mean of its steps, over an average that fluctuates by half the width of the target band (derived here)";
    const FIXED: bool = true;
    const MOVES: bool = true;

    fn settled(&self, link: &LinkView) -> Self {
        Self {
            red: self.red.settled(link),
            lowest: NumberOr::Number(self.floor(link)),
            ..*self
        }
    }

    fn red<S: Scalar>(params: &AdaptiveRedParams<S>) -> &RedParams<S> {
        &params.red
    }

    /// The mean of the steps, within the bounds.
    fn moves<S: Scalar>(
        params: &AdaptiveRedParams<S>,
        red: &RedParams<S>,
        input: &AqmInput<S>,
        state: &[S],
    ) -> Option<Moves<S>> {
        let interval = params.interval.max(S::from_f64(MIN_INTERVAL_S));
        let steps = Steps {
            increment: params.increment,
            decrease: params.decrease,
            interval,
        };
        Some(Moves {
            drift: steps.drift(red, input, state, TARGET_MARGIN),
            bounds: (params.lowest.or_else(|_| S::from_f64(0.01)), params.highest),
            interval,
        })
    }
}

/// An interval of zero is a step a packet: the equations take no shorter one than this, s.
const MIN_INTERVAL_S: f64 = 1e-3;

/// Adaptive RED at work.
#[derive(Clone, Debug)]
pub struct AdaptiveRed {
    adapted: Adapted,
    /// When it last changed.
    changed: Time,
    interval: Time,
    floor: f64,
    params: AdaptiveRedParams,
    link: LinkView,
}

impl AdaptiveRed {
    fn adapt(&mut self, now: Time) {
        let (average, min, max) = self.adapted.red.average_and_thresholds();
        let margin = TARGET_MARGIN * (max - min);
        let p = &mut self.adapted.max_probability;
        if average < min + margin && *p > self.floor {
            *p *= self.params.decrease;
        } else if average > max - margin && *p < self.params.highest {
            *p += self.params.increment.min(0.25 * *p);
        } else {
            return;
        }
        self.changed = now;
        self.adapted.moved();
    }
}

impl Aqm for AdaptiveRed {
    #[inline]
    fn enqueue(
        &mut self,
        now: Time,
        packet: &PacketView,
        queue: &QueueView,
        random: &mut Stream,
    ) -> Verdict {
        self.adapted.red.sample(now, queue);
        if now.since(self.changed) > self.interval {
            self.adapt(now);
        }
        self.adapted.red.judge(packet, queue, random)
    }

    fn on_link_change(&mut self, now: Time, rate: f64) {
        self.link.rate = rate;
        self.floor = self.params.floor(&self.link);
        self.adapted.on_link_change(now, rate);
    }

    fn set_parameter(&mut self, name: &str, value: f64) -> Result<(), ValueError> {
        self.params = changed(&self.params, name, value)?;
        self.interval = Time::from_seconds(self.params.interval);
        self.floor = self.params.floor(&self.link);
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
    use crate::Parameters as _;
    use crate::aqm::test::{LINK, packet, queue, random};

    fn params() -> AdaptiveRedParams {
        let mut params = AdaptiveRedParams::from_values(&[]).unwrap();
        params.red.min_threshold = NumberOr::Number(20.0);
        params.red.max_threshold = NumberOr::Number(60.0);
        params.red.weight = NumberOr::Word("off");
        params
    }

    /// Maximum probabilities at the given times while `waiting` packets wait.
    fn watch(aqm: &mut AdaptiveRed, waiting: u32, seconds: &[f64]) -> Vec<f64> {
        let mut see = |time: &f64| {
            aqm.enqueue(
                Time::from_seconds(*time),
                &packet(),
                &queue(waiting),
                &mut random(),
            );
            aqm.observe().adapted.unwrap()
        };
        seconds.iter().map(&mut see).collect()
    }

    #[test]
    fn changes_only_after_more_than_the_interval() {
        let mut aqm = params().build(&LINK);
        let observed = watch(&mut aqm, 30, &[0.0, 0.5, 0.51, 0.9, 1.01, 1.02]);
        let (once, twice) = (0.1 * 0.9, 0.1 * 0.9 * 0.9);
        assert_eq!(observed, [0.1, 0.1, once, once, once, twice]);
    }

    #[test]
    fn the_target_band_is_left_alone() {
        // 20 + 16 = 36 to 60 - 16 = 44
        for (waiting, changed) in [(35, true), (36, false), (44, false), (45, true)] {
            let observed = watch(&mut params().build(&LINK), waiting, &[1.0]);
            assert_eq!(observed[0] != 0.1, changed, "{waiting}");
        }
    }

    #[test]
    fn increases_by_one_hundredth_or_a_quarter_up_to_the_upper_bound() {
        let mut aqm = params().build(&LINK);
        assert!((watch(&mut aqm, 50, &[1.0])[0] - 0.11).abs() < 1e-15);
        let mut small = AdaptiveRedParams {
            red: RedParams {
                max_probability: 0.02,
                ..params().red
            },
            ..params()
        }
        .build(&LINK);
        assert!((watch(&mut small, 50, &[1.0])[0] - 0.025).abs() < 1e-15);
        let times: Vec<f64> = (1..200).map(f64::from).collect();
        let top = *watch(&mut aqm, 50, &times).last().unwrap();
        assert!((0.5..0.51).contains(&top), "{top}");
    }

    #[test]
    fn the_lower_bound_falls_with_the_link_rate() {
        let times: Vec<f64> = (1..200).map(f64::from).collect();
        for (rate, floor) in [(1e6, 0.01), (8e6, 0.01), (80e6, 0.001)] {
            let mut aqm = params().build(&LinkView { rate, ..LINK });
            let bottom = *watch(&mut aqm, 0, &times).last().unwrap();
            assert!(bottom <= floor && bottom > 0.9 * floor, "{rate}: {bottom}");
        }
    }

    #[test]
    fn the_gentle_slope_stays_that_of_the_start() {
        let mut aqm = params().build(&LINK);
        let times: Vec<f64> = (1..40).map(f64::from).collect();
        let raised = *watch(&mut aqm, 50, &times).last().unwrap();
        assert!(raised > 0.4);
        watch(&mut aqm, 90, &[39.1]);
        let p = aqm.observe().probability.unwrap();
        assert!((p - (0.1 + 0.9 * 30.0 / 60.0)).abs() < 1e-12, "{p}"); // from 0.1 at 60 to 1 at 120
    }

    /// The equations take the same steps: a hundredth or a quarter of the probability up, a tenth of
    /// it down, per interval.
    #[test]
    fn the_drift_of_the_equations_is_the_step_per_interval() {
        let law = params().settled(&LINK);
        for (queue, p, step) in [
            (100.0, 0.2, 0.01),
            (100.0, 0.04, 0.01),
            (100.0, 0.02, 0.005),
            (0.0, 0.2, -0.02),
        ] {
            let input = AqmInput::new(queue, 1250.0, 1250.0);
            let moves = AdaptiveRedParams::moves(&law, &law.red, &input, &[p]).unwrap();
            let expected = step / law.interval;
            assert!(
                (moves.drift - expected).abs() < 1e-6,
                "{queue} {p}: {}",
                moves.drift
            );
        }
    }

    #[test]
    fn a_new_maximum_probability_is_where_it_goes_on_from() {
        let mut aqm = params().build(&LINK);
        aqm.set_parameter("max_probability", 0.3).unwrap();
        assert!((watch(&mut aqm, 40, &[1.0])[0] - 0.3).abs() < 1e-15);
        assert!(aqm.set_parameter("lowest", 0.6).is_err());
    }
}
