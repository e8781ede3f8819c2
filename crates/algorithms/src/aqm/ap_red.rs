//! AP-RED: RED whose parameters are scaled to the network that the router measures.
//!
//! Parameters that suit a network of round-trip time R_0, rate C_0 and N_0 flows become, with k_r =
//! R / R_0, k_c = C / C_0 and k_n = N / N_0 (Chen 2010, equations (4.3) to (4.6)):
//!
//! - both thresholds times k = k_r k_c;
//! - the maximum probability times (k_n / k)^2, kept between `lowest` and `highest`;
//! - the weight times k_n / k^2 while N is at most R C / 2 (C in packets/s), else times 1 / k.
//!
//! C is the link's rate. R and N are given, or measured as a router can (section 4.4): R is the
//! mean over `interval` of the times from a flow's SYN to its next packet, a SYN that is seen twice
//! not counted; N is the number of 5-tuples seen within `flow_timeout`. Before there is a
//! measurement they are R_0 and N_0.

use std::collections::HashMap;

use super::adapted::OverRed;
use super::red::{Red, RedParams};
use super::{Aqm, AqmAlgorithm, LinkView, Observation, PacketView, QueueView, Verdict, changed};
use crate::fluid::AqmInput;
use crate::meta::{About, Algorithm};
use crate::params::inconsistent;
use crate::{Interval, NumberOr, Scalar, Stream, Time, ValueError, parameters};

parameters! {
    /// Parameters of AP-RED: those of RED in the network that they suit, and that network.
    pub struct ApRedParams {
        include red: RedParams;
        /// Round-trip time R_0 that the parameters suit.
        reference_rtt: time = 0.12, in Interval::above(0.0), "Chen 2010, section 4.5.1";
        /// Number of flows N_0 that the parameters suit.
        reference_flows: number = 50.0, in Interval::above(0.0), "Chen 2010, section 4.5.1";
        /// Rate C_0 that the parameters suit. "link": the link's at the start.
        reference_rate: rate("link") = word "link", in Interval::above(0.0), "Chen 2010, section 4.3.1";
        /// Round-trip time R. "measured": from SYNs and the packets that follow them.
        rtt: time("measured") = word "measured", in Interval::above(0.0), "Chen 2010, section 4.4";
        /// Number of flows N. "measured": 5-tuples seen within the time-out.
        flows: number("measured") = word "measured", in Interval::above(0.0), "Chen 2010, section 4.4";
        /// How often what has been measured is applied.
        interval: time = 10.0, in Interval::above(0.0), "Chen 2010, section 4.4 (found by trial); value of ackclock";
        /// After this time without a packet a flow has ended.
        flow_timeout: time = 60.0, in Interval::above(0.0), "Chen 2010, section 4.4";
        /// Smallest maximum probability.
        lowest: number = 0.01, in Interval::between(0.0, 1.0), "Chen 2010, section 4.3.1";
        /// Largest maximum probability.
        highest: number = 0.5, in Interval::above_to(0.0, 1.0), "Chen 2010, section 4.3.1";
    }
}

impl Algorithm for ApRedParams {
    const ABOUT: About = About {
        kind: "ap-red",
        title: "AP-RED",
        summary: "RED that scales thresholds, maximum probability and weight with the round-trip time, the rate and the number of flows, given or measured.",
        citation: "W. Chen and S.-H. Yang, The mechanism for adapting RED parameters to TCP traffic, Computer Communications 32(13-14), 2009",
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

/// Factors of thresholds, maximum probability and weight when round-trip time, rate and number of
/// flows change by `k_r`, `k_c`, `k_n` (Chen 2010, equations (4.3) to (4.6)). `few`: whether N is
/// at most R C / 2 afterwards.
pub fn ap_red_factors<S: Scalar>(k_r: S, k_c: S, k_n: S, few: bool) -> (S, S, S) {
    let k = k_r * k_c;
    let weight = if few {
        k_n / (k * k)
    } else {
        S::from_f64(1.0) / k
    };
    (k, k_n * k_n / (k * k), weight)
}

/// A weight of one or more would be no average at all.
const LARGEST_WEIGHT: f64 = 0.999;

impl<S: Scalar> ApRedParams<S> {
    /// RED's parameters, settled before, in a network of round-trip time `rtt`, `flows` flows and
    /// rate `rate` (bit/s) that was `reference_rate`.
    fn scaled(&self, rtt: S, flows: S, rate: S, reference_rate: S) -> RedParams<S> {
        let packets = rate.re() / (8.0 * self.red.mean_packet.re());
        let few = flows.re() <= 0.5 * rtt.re() * packets;
        let (thresholds, probability, weight) = ap_red_factors(
            rtt / self.reference_rtt,
            rate / reference_rate,
            flows / self.reference_flows,
            few,
        );
        let scale = |value: NumberOr<S>, by: S| match value {
            NumberOr::Number(number) => NumberOr::Number(number * by),
            word @ NumberOr::Word(_) => word,
        };
        let p = self.red.max_probability * probability;
        RedParams {
            min_threshold: scale(self.red.min_threshold, thresholds),
            max_threshold: scale(self.red.max_threshold, thresholds),
            max_probability: if p.re() > self.highest.re() {
                self.highest
            } else if p.re() < self.lowest.re() {
                self.lowest
            } else {
                p
            },
            weight: match scale(self.red.weight, weight) {
                NumberOr::Number(weight) if weight.re() > LARGEST_WEIGHT => {
                    NumberOr::Number(S::from_f64(LARGEST_WEIGHT))
                }
                weight => weight,
            },
            ..self.red
        }
    }
}

impl AqmAlgorithm for ApRedParams {
    type Instance = ApRed;

    fn build(&self, link: &LinkView) -> ApRed {
        let mut new = ApRed {
            red: self.red.build(link),
            rtt: self.reference_rtt,
            count: self.reference_flows,
            flows: HashMap::new(),
            samples: (0.0, 0),
            next: Time::from_seconds(self.interval),
            reference_rate: self.reference_rate.or_else(|_| link.rate),
            params: *self,
            link: *link,
        };
        new.rescale();
        new
    }
}

impl OverRed for ApRedParams {
    type Over<S: Scalar> = ApRedParams<S>;

    const APPROXIMATION: &'static str = "what it measures it knows at once and exactly";
    const FIXED: bool = false;
    const MOVES: bool = false;

    fn settled(&self, link: &LinkView) -> Self {
        Self {
            red: self.red.settled(link),
            reference_rate: NumberOr::Number(self.reference_rate.or_else(|_| link.rate)),
            ..*self
        }
    }

    fn red<S: Scalar>(params: &ApRedParams<S>) -> &RedParams<S> {
        &params.red
    }

    /// RED scaled to what the fluid engine knows of the network.
    fn now<S: Scalar>(params: &ApRedParams<S>, input: &AqmInput<S>) -> RedParams<S> {
        let rate = input.service * params.red.mean_packet * 8.0;
        params.scaled(
            params.rtt.or_else(|_| input.rtt),
            params.flows.or_else(|_| input.flows),
            rate,
            params.reference_rate.or_else(|_| rate),
        )
    }
}

/// The state of a flow.
#[derive(Clone, Copy, Debug)]
struct Flow {
    last_packet: Time,
    /// When its SYN was seen, until the next packet.
    syn: Option<Time>,
}

/// AP-RED at work.
#[derive(Clone, Debug)]
pub struct ApRed {
    red: Red,
    /// R, s, and N.
    rtt: f64,
    count: f64,
    flows: HashMap<u32, Flow>,
    /// Sum and number of the round-trip times of this interval.
    samples: (f64, u32),
    next: Time,
    /// bit/s.
    reference_rate: f64,
    params: ApRedParams,
    link: LinkView,
}

impl ApRed {
    fn rescale(&mut self) {
        let settled = ApRedParams {
            red: self.params.red.settled(&self.link),
            ..self.params
        };
        self.red.replace(settled.scaled(
            self.params.rtt.or_else(|_| self.rtt),
            self.params.flows.or_else(|_| self.count),
            self.link.rate,
            self.reference_rate,
        ));
    }

    fn measures(&self) -> bool {
        let measured = |value: NumberOr| matches!(value, NumberOr::Word(_));
        measured(self.params.rtt) || measured(self.params.flows)
    }

    fn look_at(&mut self, now: Time, packet: &PacketView) {
        let mut known = true;
        let flow = self.flows.entry(packet.flow).or_insert_with(|| {
            known = false;
            Flow {
                last_packet: now,
                syn: None,
            }
        });
        flow.last_packet = now;
        if packet.syn {
            // of a SYN that was sent again nobody knows which one is answered
            flow.syn = (!known).then_some(now);
        } else if let Some(syn) = flow.syn.take() {
            self.samples.0 += now.since(syn).seconds();
            self.samples.1 += 1;
        }
    }
}

impl Aqm for ApRed {
    #[inline]
    fn enqueue(
        &mut self,
        now: Time,
        packet: &PacketView,
        queue: &QueueView,
        random: &mut Stream,
    ) -> Verdict {
        if self.measures() {
            self.look_at(now, packet);
        }
        self.red.enqueue(now, packet, queue, random)
    }

    fn next_timer(&self) -> Option<Time> {
        self.measures().then_some(self.next)
    }

    fn on_timer(&mut self, now: Time, _queue: &QueueView, _random: &mut Stream) {
        let timeout = Time::from_seconds(self.params.flow_timeout);
        self.flows
            .retain(|_, flow| now.since(flow.last_packet) < timeout);
        if !self.flows.is_empty() {
            self.count = self.flows.len() as f64;
        }
        if self.samples.1 > 0 {
            self.rtt = self.samples.0 / f64::from(self.samples.1);
            self.samples = (0.0, 0);
        }
        self.rescale();
        self.next = now + Time(Time::from_seconds(self.params.interval).0.max(1));
    }

    fn on_link_change(&mut self, now: Time, rate: f64) {
        self.red.on_link_change(now, rate);
        self.link.rate = rate;
        self.rescale();
    }

    fn set_parameter(&mut self, name: &str, value: f64) -> Result<(), ValueError> {
        self.params = changed(&self.params, name, value)?;
        if let NumberOr::Number(rate) = self.params.reference_rate {
            self.reference_rate = rate;
        }
        self.rescale();
        Ok(())
    }

    /// The adapted parameter is the maximum probability.
    fn observe(&self) -> Observation {
        Observation {
            adapted: Some(self.red.initial_max_probability()),
            ..self.red.observe()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Parameters as _;
    use crate::aqm::test::{packet, queue, random};
    use crate::fluid::FluidAqm as _;

    /// Experiment 1 (section 4.5.1): 10 Mbit/s, 500 B, 120 ms, 50 flows.
    fn params() -> ApRedParams {
        let mut params = ApRedParams::from_values(&[]).unwrap();
        params.red = RedParams {
            min_threshold: NumberOr::Number(50.0),
            max_threshold: NumberOr::Number(150.0),
            max_probability: 0.05,
            weight: NumberOr::Number(1e-4),
            mean_packet: 500.0,
            ..params.red
        };
        params.reference_rate = NumberOr::Number(10e6);
        params
    }

    fn link(rate: f64) -> LinkView {
        LinkView {
            rate,
            delay: 0.01,
            capacity_packets: 500.0,
        }
    }

    fn scaled(rtt: f64, flows: f64, rate: f64) -> [f64; 4] {
        let red = params().scaled(rtt, flows, rate, 10e6);
        let number = |value: NumberOr| value.or_else(|_| f64::NAN);
        [
            red.max_probability,
            number(red.min_threshold),
            number(red.max_threshold),
            number(red.weight),
        ]
    }

    #[test]
    fn printed_parameter_sets() {
        // Chen 2010, sections 4.5.1 to 4.5.3. The second set is printed rounded: 0.1, 20, 60,
        // 3.5e-4
        for (observed, printed) in [
            (scaled(0.12, 50.0, 10e6), [0.05, 50.0, 150.0, 1e-4]),
            (
                scaled(0.1, 30.0, 5e6),
                [0.10368, 20.833_333, 62.5, 3.456e-4],
            ),
            (scaled(0.25, 100.0, 12e6), [0.032, 125.0, 375.0, 3.2e-5]),
        ] {
            for (observed, printed) in observed.into_iter().zip(printed) {
                assert!(
                    (observed / printed - 1.0).abs() < 1e-7,
                    "{observed} {printed}"
                );
            }
        }
    }

    #[test]
    fn many_flows_and_bounds() {
        // 200 flows against R C / 2 = 150: the weight goes with 1 / k only; (4)^2 x 0.05 is above
        // the bound
        assert_eq!(scaled(0.12, 200.0, 10e6), [0.5, 50.0, 150.0, 1e-4]);
        assert_eq!(scaled(0.48, 50.0, 10e6)[0], 0.01); // 0.05 / 16
    }

    #[test]
    fn measures_flows_and_round_trips() {
        let mut aqm = params().build(&link(10e6));
        assert_eq!(aqm.observe().adapted, Some(0.05)); // nothing measured yet
        let arrive = |aqm: &mut ApRed, seconds: f64, flow: u32, syn: bool| {
            let arriving = PacketView {
                flow,
                syn,
                ..packet()
            };
            aqm.enqueue(
                Time::from_seconds(seconds),
                &arriving,
                &queue(0),
                &mut random(),
            );
        };
        for flow in 0..40 {
            let start = 0.1 * f64::from(flow);
            arrive(&mut aqm, start, flow, true);
            // a quarter of them send their SYN again after a second
            if flow % 4 == 0 {
                arrive(&mut aqm, start + 1.0, flow, true);
            }
            let rtt = 0.1 + 0.002 * f64::from(flow);
            arrive(
                &mut aqm,
                start + 1.0 * f64::from(u8::from(flow % 4 == 0)) + rtt,
                flow,
                false,
            );
            arrive(&mut aqm, start + 5.0, flow, false);
        }
        aqm.on_timer(aqm.next_timer().unwrap(), &queue(0), &mut random());
        assert_eq!(aqm.count, 40.0);
        // the mean of 0.1 + 0.002 n over the n below 40 that 4 does not divide: 0.1 + 0.002 x 20
        assert!((aqm.rtt - 0.14).abs() < 1e-9, "{}", aqm.rtt);
        let expected = scaled(0.14, 40.0, 10e6)[0];
        assert!((aqm.observe().adapted.unwrap() - expected).abs() < 1e-12);
        // flows 0 to 9 go on, the others time out
        for n in 0..70 {
            for flow in 0..10 {
                arrive(&mut aqm, 10.0 + f64::from(n), flow, false);
            }
        }
        for _ in 0..7 {
            aqm.on_timer(aqm.next_timer().unwrap(), &queue(0), &mut random());
        }
        assert_eq!(aqm.count, 10.0);
        assert!((aqm.rtt - 0.14).abs() < 1e-9); // no new SYN
    }

    #[test]
    fn given_networks_need_no_measurement_and_follow_the_link() {
        let given = ApRedParams {
            rtt: NumberOr::Number(0.1),
            flows: NumberOr::Number(30.0),
            ..params()
        };
        let mut aqm = given.build(&link(5e6));
        assert_eq!(aqm.next_timer(), None);
        assert!((aqm.observe().adapted.unwrap() - 0.10368).abs() < 1e-12);
        aqm.on_link_change(Time::ZERO, 10e6);
        assert!((aqm.observe().adapted.unwrap() - 0.02592).abs() < 1e-12);
        aqm.set_parameter("flows", 60.0).unwrap();
        assert!((aqm.observe().adapted.unwrap() - 0.10368).abs() < 1e-12);
    }

    #[test]
    fn fluid_law_knows_the_network() {
        let law = params().on_link(&link(5e6));
        let input = AqmInput {
            rtt: 0.1,
            flows: 30.0,
            ..AqmInput::new(40.0, 1250.0, 1250.0)
        };
        let p = ApRedParams::probability(
            &law,
            &input,
            &[40.0],
            ApRedParams::regime(&law, &input, &[40.0]),
        );
        assert!((p - 0.10368 * (40.0 - 125.0 / 6.0) / (125.0 / 3.0)).abs() < 1e-12);
        let mut rate = [0.0];
        ApRedParams::derivative(&law, &input, &[30.0], &mut rate);
        assert!((rate[0] - 3.456e-4 * 1250.0 * 10.0).abs() < 1e-12);
    }
}
