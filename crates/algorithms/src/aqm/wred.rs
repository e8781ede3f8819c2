//! WRED: RED with a minimum threshold for each of eight priorities.
//!
//! All packets share one average of the queue. Priority i has the minimum threshold min + i step
//! (max - min), so that packets of low priority are dropped first when the queue grows; maximum
//! threshold and maximum probability are common, and each priority counts its packets since the
//! last drop on its own. With min = max / 2 and a step of 1/9 these are the defaults of Cisco's
//! Distributed WRED, (9 + i) / 18 of the maximum for IP precedence i.
//!
//! The fluid law is RED's for each priority. Its regimes lie between the thresholds of all
//! priorities, so that one holds for all of them.

use super::red::{Red, RedParams};
use super::{Aqm, AqmAlgorithm, LinkView, Observation, PacketView, QueueView, Verdict, changed};
use crate::fluid::{AqmInput, AqmStart, FluidAqm};
use crate::link::Spacing;
use crate::meta::{About, Algorithm};
use crate::{Interval, NumberOr, Scalar, Stream, Time, ValueError, parameters};

/// Number of priorities.
const PRIORITY_COUNT: u8 = 8;

parameters! {
    /// Parameters of WRED: those of RED (the minimum threshold is that of priority 0) and how the
    /// minimum rises with the priority.
    pub struct WredParams {
        include red: RedParams;
        /// Step of the minimum threshold from one priority to the next, over the distance from the minimum of
        /// priority 0 to the maximum.
        step: number = 0.111_111, in Interval::from_below(0.0, 0.142_857), "Cisco IOS 11.1, Distributed WRED: (9 + i) / 18 of the maximum threshold";
    }
}

impl Algorithm for WredParams {
    const ABOUT: About = About {
        kind: "wred",
        title: "WRED",
        summary: "Weighted RED: packets of higher priority have a higher minimum threshold.",
        citation: "Cisco Systems, Distributed Weighted Random Early Detection, Cisco IOS Release 11.1; S. Floyd and V. Jacobson 1993 (RED)",
        ecn: true,
    };

    fn check(&self) -> Result<(), ValueError> {
        self.red.check()
    }
}

impl WredParams {
    /// RED's parameters for packets of `priority`.
    fn of(&self, priority: u8, link: &LinkView) -> RedParams {
        let settled = self.red.settled(link);
        let number = |value: NumberOr| value.or_else(|_| f64::NAN); // settled parameters have no words
        let (min, max) = (number(settled.min_threshold), number(settled.max_threshold));
        RedParams {
            min_threshold: NumberOr::Number(min + f64::from(priority) * self.step * (max - min)),
            ..settled
        }
    }
}

impl AqmAlgorithm for WredParams {
    type Instance = Wred;

    fn build(&self, link: &LinkView) -> Wred {
        Wred {
            reds: (0..PRIORITY_COUNT)
                .map(|priority| self.of(priority, link).build(link))
                .collect(),
            last: 0,
            params: *self,
            link: *link,
        }
    }
}

impl<S: Scalar> WredParams<S> {
    /// RED's parameters for packets of `priority`, of parameters that are settled on a link.
    fn at(&self, priority: u8) -> RedParams<S> {
        let number = |value: NumberOr<S>| value.or_else(|_| S::from_f64(f64::NAN)); // no words
        let (min, max) = (
            number(self.red.min_threshold),
            number(self.red.max_threshold),
        );
        let raised = self.step * (max - min) * f64::from(priority.min(PRIORITY_COUNT - 1));
        RedParams {
            min_threshold: NumberOr::Number(min + raised),
            ..self.red
        }
    }
}

impl FluidAqm for WredParams {
    type Over<S: Scalar> = WredParams<S>;

    fn on_link(&self, link: &LinkView) -> Self {
        Self {
            red: self.red.settled(link),
            ..*self
        }
    }

    fn by_priority<S: Scalar>(_params: &WredParams<S>) -> bool {
        true
    }

    fn local<S: Scalar>(_params: &WredParams<S>) -> bool {
        true
    }

    fn spacing<S: Scalar>(params: &WredParams<S>) -> Spacing {
        RedParams::spacing(&params.red)
    }

    fn packet_weight<S: Scalar>(params: &WredParams<S>, bytes: u32) -> f64 {
        RedParams::packet_weight(&params.red, bytes)
    }

    fn state_names<S: Scalar>(params: &WredParams<S>) -> &'static [&'static str] {
        RedParams::state_names(&params.red)
    }

    fn start<S: Scalar>(params: &WredParams<S>, from: &AqmStart<S>, state: &mut [S]) {
        RedParams::start(&params.red, from, state);
    }

    fn derivative<S: Scalar>(
        params: &WredParams<S>,
        input: &AqmInput<S>,
        state: &[S],
        rate: &mut [S],
    ) {
        RedParams::derivative(&params.red, input, state, rate);
    }

    fn regimes<S: Scalar>(params: &WredParams<S>) -> &'static [&'static str] {
        const BELOW: [&str; 9] = [
            "below minimum",
            "minimum of priority 0 to that of 1",
            "minimum of priority 1 to that of 2",
            "minimum of priority 2 to that of 3",
            "minimum of priority 3 to that of 4",
            "minimum of priority 4 to that of 5",
            "minimum of priority 5 to that of 6",
            "minimum of priority 6 to that of 7",
            "all minima to maximum",
        ];
        const GENTLE: [&str; 11] = {
            let [a, b, c, d, e, f, g, h, i] = BELOW;
            let (gentle, above) = ("maximum to twice maximum", "above twice maximum");
            [a, b, c, d, e, f, g, h, i, gentle, above]
        };
        const PLAIN: [&str; 10] = {
            let [a, b, c, d, e, f, g, h, i] = BELOW;
            [a, b, c, d, e, f, g, h, i, "above maximum"]
        };
        if params.red.gentle { &GENTLE } else { &PLAIN }
    }

    fn regime<S: Scalar>(params: &WredParams<S>, input: &AqmInput<S>, state: &[S]) -> usize {
        let of = |priority| RedParams::regime(&params.at(priority), input, state);
        match of(PRIORITY_COUNT - 1) {
            0 => (0..PRIORITY_COUNT).filter(|i| of(*i) > 0).count(),
            beyond => usize::from(PRIORITY_COUNT) + beyond - 1,
        }
    }

    /// RED's of the packet's priority.
    fn probability<S: Scalar>(
        params: &WredParams<S>,
        input: &AqmInput<S>,
        state: &[S],
        regime: usize,
    ) -> S {
        let last = usize::from(PRIORITY_COUNT);
        let priority = usize::from(input.priority.min(PRIORITY_COUNT - 1));
        let of_red = if regime > last {
            regime - last + 1
        } else {
            usize::from(regime > priority)
        };
        RedParams::probability(&params.at(input.priority), input, state, of_red)
    }
}

/// WRED at work.
#[derive(Clone, Debug)]
pub struct Wred {
    /// One for each priority; all take the same samples, so that their averages are one.
    reds: Vec<Red>,
    /// Priority of the last packet.
    last: usize,
    params: WredParams,
    link: LinkView,
}

impl Aqm for Wred {
    fn reads_priority(&self) -> bool {
        true
    }

    #[inline]
    fn enqueue(
        &mut self,
        now: Time,
        packet: &PacketView,
        queue: &QueueView,
        random: &mut Stream,
    ) -> Verdict {
        for red in &mut self.reds {
            red.sample(now, queue);
        }
        self.last = usize::from(packet.priority.min(PRIORITY_COUNT - 1));
        self.reds[self.last].judge(packet, queue, random)
    }

    fn on_link_change(&mut self, now: Time, rate: f64) {
        self.link.rate = rate;
        for red in &mut self.reds {
            red.on_link_change(now, rate);
        }
    }

    fn set_parameter(&mut self, name: &str, value: f64) -> Result<(), ValueError> {
        self.params = changed(&self.params, name, value)?;
        for (priority, red) in (0..PRIORITY_COUNT).zip(&mut self.reds) {
            red.replace(self.params.of(priority, &self.link));
        }
        Ok(())
    }

    /// The probability is that of the last packet.
    fn observe(&self) -> Observation {
        self.reds[self.last].observe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Parameters as _;
    use crate::aqm::test::{LINK, packet, queue, random};
    use crate::link::Spacing;

    fn params() -> WredParams {
        let mut params = WredParams::from_values(&[]).unwrap();
        params.red = RedParams {
            min_threshold: NumberOr::Number(90.0),
            max_threshold: NumberOr::Number(180.0),
            weight: NumberOr::Number(1.0),
            spacing: Spacing::Bernoulli,
            ..params.red
        };
        params.step = 1.0 / 9.0;
        params
    }

    fn probability(aqm: &mut Wred, priority: u8, waiting: u32) -> f64 {
        let arriving = PacketView {
            priority,
            ..packet()
        };
        for _ in 0..2 {
            // the first packet above the minimum is never dropped and has no probability
            aqm.enqueue(Time::ZERO, &arriving, &queue(waiting), &mut random());
        }
        aqm.observe().probability.unwrap()
    }

    #[test]
    fn minimum_thresholds_are_eighteenths_of_the_maximum() {
        let mut aqm = params().build(&LINK);
        for priority in 0..8 {
            let min = 180.0 * (9.0 + f64::from(priority)) / 18.0;
            assert_eq!(probability(&mut aqm, priority, min as u32 - 1), 0.0);
            let p = probability(&mut aqm, priority, min as u32 + 5);
            assert!(
                (p - 0.1 * 5.0 / (180.0 - min)).abs() < 1e-9,
                "{priority} {p}"
            );
            assert!((probability(&mut aqm, priority, 180) - 0.1).abs() < 1e-9);
        }
    }

    #[test]
    fn all_priorities_share_one_average() {
        let mut params = params();
        params.red.weight = NumberOr::Number(0.002);
        let mut aqm = params.build(&LINK);
        for n in 0..1000_u32 {
            let arriving = PacketView {
                priority: (n % 8) as u8,
                ..packet()
            };
            aqm.enqueue(Time::ZERO, &arriving, &queue(n % 50), &mut random());
        }
        let averages: Vec<_> = aqm
            .reds
            .iter()
            .map(|red| red.observe().average_packets)
            .collect();
        assert!(averages[0] > Some(10.0) && averages.iter().all(|average| *average == averages[0]));
    }

    #[test]
    fn low_priorities_lose_first() {
        let (mut aqm, mut random) = (params().build(&LINK), random());
        let mut drops = [0; 8];
        for n in 0..80_000_u32 {
            let priority = (n % 8) as u8;
            let arriving = PacketView {
                priority,
                ..packet()
            };
            let verdict = aqm.enqueue(Time::ZERO, &arriving, &queue(135), &mut random);
            drops[usize::from(priority)] += i32::from(verdict == Verdict::Drop);
        }
        // p = 0.1 (135 - min_i) / (180 - min_i), min_i = 90 + 10 i: nothing from priority 5 on
        for (priority, observed) in drops.into_iter().enumerate() {
            let min = 90.0 + 10.0 * priority as f64;
            let expected = (10_000.0 * 0.1 * (135.0 - min) / (180.0 - min)).max(0.0);
            assert!(
                (f64::from(observed) - expected).abs() <= 5.0 * expected.sqrt(),
                "{priority} {observed}"
            );
        }
    }
}
