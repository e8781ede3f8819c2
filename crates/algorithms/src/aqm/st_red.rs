//! ST-RED, statistical tuning RED: Adaptive RED whose thresholds and weight follow the variance of
//! the queue.
//!
//! At each arrival, with q_ref half-way between the thresholds (Chen 2010, figure 5.3):
//!
//! - if 0 < q < 2 q_ref, the variance sigma^2 of q around q_ref takes a sample of weight phi_1 w_q;
//! - if also |q - q_ref| < gamma q_ref, the detection function g^2 takes one of weight phi_2 w_q;
//! - when then g and sigma are both above h_l q_ref (oscillations too large), or both below h_s q_ref (a queue longer than it need be), thresholds and
//!   `interval` are multiplied by k = sigma / (h q_ref), the weight is divided by it, and g^2 starts anew half-way between its bounds.
//!
//! The maximum probability is adapted as in Adaptive RED, but without bounds (other than one). The
//! thesis runs it in byte mode. Choices that the figure leaves open: a variance of zero changes
//! nothing; the weight stays at most 1; the gentle part takes the maximum probability of the last
//! change of the thresholds.
//!
//! The fluid law has the maximum probability as a slow state, as Adaptive RED, and the thresholds
//! where the variance of independent windows leaves them: their scale k is what brings that
//! variance back between its bounds, and one where it is between them. The variance of oscillations
//! is left out.

use super::adapted::{Moves, OverRed, Steps};
use super::red::{Red, RedParams};
use super::variance::{Band, Variance};
use super::{
    Aqm, AqmAlgorithm, LinkView, Observation, PacketView, QueueView, Verdict, changed, length,
};
use crate::fluid::AqmInput;
use crate::meta::{About, Algorithm};
use crate::params::inconsistent;
use crate::{Interval, NumberOr, Scalar, Stream, Time, ValueError, parameters};

parameters! {
    /// Parameters of ST-RED: those of RED (thresholds, weight and maximum probability are where it
    /// starts) and how it adapts.
    pub struct StRedParams {
        include red: RedParams;
        /// Time between two changes of the maximum probability, at the start.
        interval: time = 0.5, in Interval::above(0.0), "Chen 2010, figure 5.3; Floyd, Gummadi and Shenker 2001, section 4";
        /// Largest increase of the maximum probability at a time; at most a quarter of it is added.
        increment: number = 0.01, in Interval::between(0.0, 1.0), "Chen 2010, figure 5.3";
        /// Factor of a decrease of the maximum probability.
        decrease: number = 0.9, in Interval::inside(0.0, 1.0), "Chen 2010, figure 5.3";
        /// Weight of a sample in the variance, over RED's weight.
        phi_1: number = 1.0, in Interval::above_to(0.0, 1.0), "Chen 2010, section 5.4.1";
        /// Weight of a sample in the detection function, over RED's weight; below `phi_1`.
        phi_2: number = 0.25, in Interval::above_to(0.0, 1.0), "Chen 2010, section 5.4.1";
        /// Half the width of the range of queues in which changes are detected, over q_ref.
        gamma: number = 0.7, in Interval::above_to(0.0, 1.0), "Chen 2010, section 5.4.2";
        /// Largest deviation of the queue from q_ref, over q_ref (h_l). "auto": gamma / sqrt(3),
        /// that of a uniform queue.
        h_l: number("auto") = word "auto", in Interval::above(0.0), "Chen 2010, section 5.4.2";
        /// Smallest deviation, over q_ref (h_s): depends on the parameters at the start.
        h_s: number = 0.023_094, in Interval::at_least(0.0), "Chen 2010, section 6.4: 0.04 / sqrt(3)";
    }
}

impl StRedParams {
    fn band(&self) -> Band {
        Band {
            gamma: self.gamma,
            small: self.h_s,
            large: self.h_l.or_else(|_| self.gamma / 3.0_f64.sqrt()),
        }
    }
}

impl Algorithm for StRedParams {
    const ABOUT: About = About {
        kind: "st-red",
        title: "ST-RED",
        summary: "Statistical tuning RED: Adaptive RED that scales thresholds and weight when the variance of the queue has become large or small.",
        citation: "W. Chen, Parameter self-tuning in Internet congestion control, PhD thesis, Loughborough University 2010, chapter 5",
        ecn: true,
    };

    fn check(&self) -> Result<(), ValueError> {
        self.red.check()?;
        check_band(self.phi_1, self.phi_2, &self.band())
    }
}

/// Refuses bands that the detection of neither algorithm can use.
pub(super) fn check_band(phi_1: f64, phi_2: f64, band: &Band) -> Result<(), ValueError> {
    if phi_2 >= phi_1 {
        return Err(inconsistent(
            "phi_2",
            phi_2,
            format!("below phi_1 ({phi_1})"),
        ));
    }
    if band.small >= band.large {
        let allowed = format!("below h_l ({})", band.large);
        return Err(inconsistent("h_s", band.small, allowed));
    }
    Ok(())
}

impl AqmAlgorithm for StRedParams {
    type Instance = StRed;

    fn build(&self, link: &LinkView) -> StRed {
        let current = self.red.settled(link);
        let band = self.band();
        StRed {
            red: current.build(link),
            max_probability: current.max_probability,
            variance: Variance::new(reference(&current), &band),
            band,
            interval: self.interval,
            changed: Time::ZERO,
            current,
            params: *self,
            link: *link,
        }
    }
}

fn number(value: NumberOr) -> f64 {
    value.or_else(|_| f64::NAN) // settled parameters have no words
}

/// q_ref, packets.
fn reference(red: &RedParams) -> f64 {
    0.5 * (number(red.min_threshold) + number(red.max_threshold))
}

impl<S: Scalar> StRedParams<S> {
    /// The band of deviations over q_ref that changes nothing.
    fn deviations(&self) -> (S, S) {
        let large = self.h_l.or_else(|_| self.gamma / 3.0_f64.sqrt());
        (self.h_s, large)
    }

    /// The same with thresholds, weight and interval where the variance of independent windows
    /// leaves them.
    fn scaled(&self, input: &AqmInput<S>) -> Self {
        let number = |value: NumberOr<S>| value.or_else(|_| S::from_f64(f64::NAN)); // settled on the link
        let (min, max) = (
            number(self.red.min_threshold),
            number(self.red.max_threshold),
        );
        let k = settled_scale(input.fluctuation(), (min + max) * 0.5, self.deviations());
        Self {
            red: RedParams {
                min_threshold: NumberOr::Number(min * k),
                max_threshold: NumberOr::Number(max * k),
                weight: NumberOr::Number((number(self.red.weight) / k).min(S::from_f64(1.0))),
                ..self.red
            },
            interval: self.interval * k,
            ..*self
        }
    }
}

/// The factor on the reference at which a deviation lies between the two bounds (over the
/// reference): one if it does already.
pub(super) fn settled_scale<S: Scalar>(deviation: S, reference: S, (small, large): (S, S)) -> S {
    let over = deviation / reference;
    if over.re() > large.re() {
        over / large
    } else if over.re() > 0.0 && over.re() < small.re() {
        over / small
    } else {
        S::from_f64(1.0)
    }
}

impl OverRed for StRedParams {
    type Over<S: Scalar> = StRedParams<S>;

    const APPROXIMATION: &'static str = "thresholds are where the variance of independent windows (Appenzeller, Keslassy and McKeown 2004) leaves them; that of oscillations does not scale them, and packets keep any thresholds between its two bounds, as their start left them (derived here)";
    const FIXED: bool = false;
    const MOVES: bool = true;

    fn settled(&self, link: &LinkView) -> Self {
        Self {
            red: self.red.settled(link),
            ..*self
        }
    }

    fn red<S: Scalar>(params: &StRedParams<S>) -> &RedParams<S> {
        &params.red
    }

    /// RED with scaled thresholds.
    fn now<S: Scalar>(params: &StRedParams<S>, input: &AqmInput<S>) -> RedParams<S> {
        params.scaled(input).red
    }

    /// The mean of Adaptive RED's steps, bounded by zero and one only.
    fn moves<S: Scalar>(
        params: &StRedParams<S>,
        red: &RedParams<S>,
        input: &AqmInput<S>,
        state: &[S],
    ) -> Option<Moves<S>> {
        let steps = Steps {
            increment: params.increment,
            decrease: params.decrease,
            interval: params.scaled(input).interval,
        };
        Some(Moves {
            drift: steps.drift(red, input, state, TARGET_MARGIN),
            bounds: (S::from_f64(0.0), S::from_f64(1.0)),
            interval: steps.interval,
        })
    }
}

/// The target band of the average leaves this part of the way from minimum to maximum threshold
/// free at each end.
const TARGET_MARGIN: f64 = 0.4;

/// ST-RED at work.
#[derive(Clone, Debug)]
pub struct StRed {
    red: Red,
    /// RED's parameters now.
    current: RedParams,
    max_probability: f64,
    variance: Variance,
    band: Band,
    /// s.
    interval: f64,
    /// When the maximum probability last changed.
    changed: Time,
    params: StRedParams,
    link: LinkView,
}

impl StRed {
    fn detect(&mut self, queue: &QueueView) {
        let q = length(self.current.mode, self.current.mean_packet, queue);
        let weight = number(self.current.weight);
        let weights = (self.params.phi_1 * weight, self.params.phi_2 * weight);
        let reference = reference(&self.current);
        if let Some(k) = self.variance.sample(q, reference, weights, &self.band)
            && k > 0.0
        {
            self.scale(k);
        }
    }

    fn scale(&mut self, k: f64) {
        let red = &mut self.current;
        red.min_threshold = NumberOr::Number(k * number(red.min_threshold));
        red.max_threshold = NumberOr::Number(k * number(red.max_threshold));
        red.weight = NumberOr::Number((number(red.weight) / k).min(1.0));
        red.max_probability = self.max_probability;
        self.red.replace(*red);
        self.interval *= k;
        self.variance.restart(reference(red), &self.band);
    }

    fn adapt(&mut self, now: Time) {
        let (average, min, max) = self.red.average_and_thresholds();
        let p = &mut self.max_probability;
        if average > min + 0.6 * (max - min) {
            *p = (*p + self.params.increment.min(0.25 * *p)).min(1.0);
        } else if average < min + 0.4 * (max - min) {
            *p *= self.params.decrease;
        } else {
            return;
        }
        self.changed = now;
        self.red.set_max_probability(*p);
    }
}

impl Aqm for StRed {
    #[inline]
    fn enqueue(
        &mut self,
        now: Time,
        packet: &PacketView,
        queue: &QueueView,
        random: &mut Stream,
    ) -> Verdict {
        self.red.sample(now, queue);
        self.detect(queue);
        if now.since(self.changed).seconds() > self.interval {
            self.adapt(now);
        }
        self.red.judge(packet, queue, random)
    }

    fn on_link_change(&mut self, now: Time, rate: f64) {
        self.link.rate = rate;
        self.red.on_link_change(now, rate);
        self.red.set_max_probability(self.max_probability);
    }

    /// A parameter that is set anew is where it goes on from; what it has adapted stays otherwise.
    fn set_parameter(&mut self, name: &str, value: f64) -> Result<(), ValueError> {
        self.params = changed(&self.params, name, value)?;
        let settled = self.params.red.settled(&self.link);
        let mut current = RedParams {
            min_threshold: self.current.min_threshold,
            max_threshold: self.current.max_threshold,
            weight: self.current.weight,
            ..settled
        };
        self.band = self.params.band();
        match name {
            "min_threshold" | "max_threshold" => {
                current.min_threshold = settled.min_threshold;
                current.max_threshold = settled.max_threshold;
                self.variance.restart(reference(&current), &self.band);
            }
            "weight" => current.weight = settled.weight,
            "max_probability" | "slope" => self.max_probability = settled.max_probability,
            "interval" => self.interval = self.params.interval,
            "h_s" | "h_l" | "gamma" => self.variance.restart(reference(&current), &self.band),
            _ => {}
        }
        current.max_probability = self.max_probability;
        self.current = current;
        self.red.replace(current);
        Ok(())
    }

    /// The adapted parameter is q_ref, packets.
    fn observe(&self) -> Observation {
        Observation {
            adapted: Some(reference(&self.current)),
            ..self.red.observe()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Parameters as _;
    use crate::aqm::red::Mode;
    use crate::aqm::test::{LINK, packet, queue, random};

    /// The start of the thesis's simulations (section 6.4), but for a weight at which one sees
    /// something: q_ref = 150 mean packets of 500 B.
    fn params() -> StRedParams {
        let mut params = StRedParams::from_values(&[]).unwrap();
        params.red.min_threshold = NumberOr::Number(75.0);
        params.red.max_threshold = NumberOr::Number(225.0);
        params.red.weight = NumberOr::Number(0.01);
        params.red.mode = Mode::Bytes;
        params.red.mean_packet = 500.0;
        params.interval = 2.0;
        params
    }

    /// `packets` mean packets of 500 B.
    fn waiting(packets: f64) -> QueueView {
        QueueView {
            bytes: (500.0 * packets).round() as u64,
            ..queue(1)
        }
    }

    fn arrive(aqm: &mut StRed, seconds: f64, packets: f64) {
        let now = Time::from_seconds(seconds);
        aqm.enqueue(now, &packet(), &waiting(packets), &mut random());
    }

    /// A queue that goes up and down between q_ref (1 - amplitude) and q_ref (1 + amplitude), for
    /// `samples` arrivals; calls `see` after each.
    fn oscillate(aqm: &mut StRed, amplitude: f64, samples: u32, mut see: impl FnMut(&StRed)) {
        let centre = aqm.observe().adapted.unwrap();
        for n in 0..samples {
            let phase = f64::from(n % 200) / 100.0; // a triangle: uniform
            let height = 1.0 - 2.0 * (phase - 1.0).abs();
            arrive(aqm, 0.0, centre * (1.0 + amplitude * height));
            see(aqm);
        }
    }

    #[test]
    fn figure_5_2() {
        let mut aqm = params().build(&LINK);
        let large = 0.7 / 3.0_f64.sqrt() * 150.0;
        let start = 0.5 * ((0.023_094 * 150.0_f64).powi(2) + large * large);
        assert!((aqm.variance.detection - start).abs() < 1e-9 && aqm.variance.variance == 0.0);
        // up to t1: benign oscillations, nothing changes; both functions come to the variance of a
        // uniform queue of that amplitude
        oscillate(&mut aqm, 0.4, 4000, |aqm| {
            assert_eq!(aqm.observe().adapted, Some(150.0));
        });
        let steady = (0.4 * 150.0_f64).powi(2) / 3.0;
        assert!(
            (aqm.variance.variance / steady - 1.0).abs() < 0.4,
            "{:?}",
            aqm.variance
        );
        assert!(
            (aqm.variance.detection / steady - 1.0).abs() < 0.15,
            "{:?}",
            aqm.variance
        );
        // t1 to t4: a transient. g is frozen outside 45 to 255 packets, sigma outside 0 to 300 (the
        // bounds excluded)
        for (packets, g, sigma) in [
            (254.0, false, false),
            (255.0, true, false),
            (299.0, true, false),
            (300.0, true, true),
            (900.0, true, true),
            (0.0, true, true),
            (45.0, true, false),
            (46.0, false, false),
        ] {
            let before = aqm.variance;
            arrive(&mut aqm, 0.0, packets);
            let frozen = (
                aqm.variance.detection == before.detection,
                aqm.variance.variance == before.variance,
            );
            assert_eq!(frozen, (g, sigma), "{packets}");
        }
        oscillate(&mut aqm, 0.4, 4000, |_| {});
        assert_eq!(aqm.observe().adapted, Some(150.0));
        // t5: large oscillations. At t6 g crosses the upper threshold: sigma is there already, and
        // becomes the new one
        let mut last = aqm.variance;
        let mut event = None;
        for n in 0..20_000 {
            let phase = f64::from(n % 200) / 100.0;
            let height = 1.0 - 2.0 * (phase - 1.0).abs();
            // within the detection range most of the time, where it is uniform to the very ends
            arrive(&mut aqm, 0.0, 150.0 * (1.0 + 0.85 * height));
            if aqm.observe().adapted != Some(150.0) {
                event = Some(last);
                break;
            }
            last = aqm.variance;
        }
        assert!(event.is_some(), "{last:?}");
        let sigma = aqm.variance.variance.sqrt();
        let k = sigma / large;
        assert!(k > 1.0 && k < 3.0_f64.sqrt() / 0.7, "{k}");
        let near = |value: f64, expected: f64| {
            assert!((value / expected - 1.0).abs() < 1e-12, "{value} {expected}");
        };
        near(number(aqm.current.min_threshold), 75.0 * k);
        near(number(aqm.current.max_threshold), 225.0 * k);
        near(number(aqm.current.weight), 0.01 / k);
        near(aqm.interval, 2.0 * k);
        near(aqm.band.large * 150.0 * k, sigma); // the threshold is the variance
        near(aqm.variance.detection, start * k * k);
    }

    #[test]
    fn a_stable_queue_shrinks_its_thresholds_by_its_deviation() {
        let mut aqm = params().build(&LINK);
        let mut observed = None;
        oscillate(&mut aqm, 0.01, 20_000, |aqm| {
            if observed.is_none() && aqm.observe().adapted != Some(150.0) {
                observed = Some((aqm.variance.variance.sqrt(), aqm.current, aqm.interval));
            }
        });
        let (sigma, red, interval) = observed.expect("a change");
        let k = sigma / (0.023_094 * 150.0);
        // a uniform queue of amplitude 1.5 has a deviation of 0.87; g was well above it for most of
        // the way down
        assert!(k < 0.5, "{k}");
        assert!((reference(&red) - 150.0 * k).abs() < 1e-9);
        assert!(
            (number(red.weight) - 0.01 / k).abs() < 1e-12 && (interval - 2.0 * k).abs() < 1e-12
        );
    }

    #[test]
    fn both_functions_must_have_crossed() {
        let mut aqm = params().build(&LINK);
        aqm.variance = Variance {
            variance: 1.0,
            detection: 1e6,
        };
        arrive(&mut aqm, 0.0, 151.0);
        assert_eq!(aqm.observe().adapted, Some(150.0));
        aqm.variance.variance = 1e6;
        arrive(&mut aqm, 0.0, 151.0);
        assert!(aqm.observe().adapted > Some(150.0));
    }

    #[test]
    fn the_maximum_probability_adapts_without_bounds() {
        let mut params = params();
        params.red.weight = NumberOr::Number(1.0);
        params.h_s = 0.0;
        let mut aqm = params.build(&LINK);
        for n in 0..200 {
            arrive(&mut aqm, 2.01 * f64::from(n), 10.0);
        }
        assert!(aqm.max_probability < 1e-8);
        assert_eq!(aqm.observe().adapted, Some(150.0));
        for n in 200..1000 {
            arrive(&mut aqm, 2.01 * f64::from(n), 260.0);
        }
        assert_eq!(aqm.max_probability, 1.0);
    }

    #[test]
    fn contradictions_are_refused() {
        assert_eq!(
            StRedParams {
                phi_2: 1.0,
                ..params()
            }
            .check()
            .unwrap_err()
            .name,
            "phi_2"
        );
        assert_eq!(
            StRedParams {
                h_s: 0.5,
                ..params()
            }
            .check()
            .unwrap_err()
            .name,
            "h_s"
        );
    }
}
