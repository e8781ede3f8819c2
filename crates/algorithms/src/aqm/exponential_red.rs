//! Exponential RED: a probability that grows exponentially with a virtual queue.
//!
//! The virtual queue v has the arrivals of the real one but only the fraction `gamma` of the link's
//! rate. Each arriving packet is dropped or marked with probability min_probability exp(beta (v -
//! min_threshold)) from `min_threshold` on, and never below (Liu, Basar and Srikant 2005). Since
//! dp/dt is then in proportion to p, the loop's gain does not depend on the load. The paper chooses
//! its numbers for each network; the defaults are those of no paper. In a class of a queue with
//! classes the rate is the most that the class may send; sub-queues and classes without one have no
//! Exponential RED.

use super::red::Mode;
use super::{
    Aqm, AqmAlgorithm, LinkView, Observation, PacketView, QueueView, Verdict, changed, happens,
    signal, weight,
};
use crate::fluid::{AqmInput, AqmStart, FluidAqm, QueueModel};
use crate::meta::{About, Algorithm};
use crate::{Interval, Scalar, Stream, Time, ValueError, parameters};

parameters! {
    /// Parameters of Exponential RED.
    pub struct ExponentialRedParams {
        /// Rate of the virtual queue, as a fraction of the link's.
        gamma: number = 0.98, in Interval::above_to(0.0, 1.0), "Liu, Basar and Srikant 2005: slightly below 1";
        /// Virtual queue below which nothing is dropped or marked.
        min_threshold: packets = 20.0, in Interval::at_least(0.0), "Liu, Basar and Srikant 2005 (form); value of ackclock";
        /// Probability at the minimum threshold.
        min_probability: number = 0.0001, in Interval::above_to(0.0, 1.0), "Liu, Basar and Srikant 2005 (form); value of ackclock";
        /// Growth of the probability's logarithm per packet of virtual queue.
        beta: number = 0.05, in Interval::above(0.0), "Liu, Basar and Srikant 2005 (form); value of ackclock";
        /// Whether the virtual queue is measured in packets or bytes.
        mode: choice(Mode) = Bytes, "as AVQ";
        /// Size of an average packet: turns the link's rate into packets/s, and scales byte mode.
        mean_packet: bytes = 1500.0, in Interval::above(0.0), "as RED";
        /// Whether ECN-capable packets are marked instead of dropped.
        ecn: flag = false, "Liu, Basar and Srikant 2005";
    }
}

impl Algorithm for ExponentialRedParams {
    const ABOUT: About = About {
        kind: "exponential-red",
        title: "Exponential RED",
        summary: "Drops or marks with a probability that grows exponentially with a virtual queue served a little slower than the real one.",
        citation: "S. Liu, T. Basar and R. Srikant, Exponential-RED: a stabilizing AQM scheme for low- and high-speed TCP protocols, IEEE/ACM Transactions on Networking 13(5), 2005",
        ecn: true,
    };

    const BY_RATE: bool = true;
}

impl AqmAlgorithm for ExponentialRedParams {
    type Instance = ExponentialRed;

    fn build(&self, _link: &LinkView) -> ExponentialRed {
        ExponentialRed {
            waiting: 0.0,
            since: Time::ZERO,
            probability: 0.0,
            params: *self,
        }
    }
}

/// Virtual queue at which the probability is one.
fn certain(params: &ExponentialRedParams) -> f64 {
    params.min_threshold - libm::log(params.min_probability) / params.beta
}

impl FluidAqm for ExponentialRedParams {
    type Over<S: Scalar> = ExponentialRedParams<S>;

    const APPROXIMATION: Option<&'static str> =
        Some("the real queue is taken as empty: the virtual one is served more slowly");

    fn on_link(&self, _link: &LinkView) -> Self {
        *self
    }

    fn queue_model<S: Scalar>(_params: &ExponentialRedParams<S>) -> QueueModel {
        QueueModel::Stationary
    }

    fn state_names<S: Scalar>(_params: &ExponentialRedParams<S>) -> &'static [&'static str] {
        &["virtual queue (packets)"]
    }

    /// dv/dt = x - gamma C, x without what is dropped; v is never below zero.
    fn derivative<S: Scalar>(
        params: &ExponentialRedParams<S>,
        input: &AqmInput<S>,
        state: &[S],
        rate: &mut [S],
    ) {
        let one = S::from_f64(1.0);
        let regime = Self::regime(params, input, state);
        let kept = if params.ecn {
            one
        } else {
            one - Self::probability(params, input, state, regime)
        };
        let change = input.arrivals * kept - params.gamma * input.service;
        rate[0] = if state[0].re() <= 0.0 && change.re() < 0.0 {
            S::from_f64(0.0)
        } else {
            change
        };
    }

    fn start<S: Scalar>(_params: &ExponentialRedParams<S>, from: &AqmStart<S>, state: &mut [S]) {
        state.fill(from.queue);
    }

    fn regimes<S: Scalar>(_params: &ExponentialRedParams<S>) -> &'static [&'static str] {
        &["below minimum", "above minimum", "one"]
    }

    fn regime<S: Scalar>(
        params: &ExponentialRedParams<S>,
        _input: &AqmInput<S>,
        state: &[S],
    ) -> usize {
        let v = state[0].re();
        let end =
            params.min_threshold.re() - libm::log(params.min_probability.re()) / params.beta.re();
        usize::from(v >= params.min_threshold.re()) + usize::from(v >= end)
    }

    /// min_probability exp(beta (v - min_threshold)) from min_threshold to where it is one; zero
    /// below.
    fn probability<S: Scalar>(
        params: &ExponentialRedParams<S>,
        _input: &AqmInput<S>,
        state: &[S],
        regime: usize,
    ) -> S {
        match regime {
            0 => S::from_f64(0.0),
            1 => params.min_probability * (params.beta * (state[0] - params.min_threshold)).exp(),
            _ => S::from_f64(1.0),
        }
    }
}

/// Exponential RED at work.
#[derive(Clone, Debug)]
pub struct ExponentialRed {
    /// Virtual queue, (mean) packets.
    waiting: f64,
    since: Time,
    /// Drop probability of the last packet.
    probability: f64,
    params: ExponentialRedParams,
}

impl Aqm for ExponentialRed {
    #[inline]
    fn enqueue(
        &mut self,
        now: Time,
        packet: &PacketView,
        queue: &QueueView,
        random: &mut Stream,
    ) -> Verdict {
        let params = &self.params;
        let rate = params.gamma * queue.rate / (8.0 * params.mean_packet);
        let drained = rate * now.since(self.since).seconds();
        self.since = now;
        self.waiting = (self.waiting - drained).max(0.0);
        self.probability = if self.waiting < params.min_threshold {
            0.0
        } else if self.waiting >= certain(params) {
            1.0
        } else {
            let growth = libm::exp(params.beta * (self.waiting - params.min_threshold));
            (params.min_probability * growth).min(1.0)
        };
        let verdict = if queue.full {
            Verdict::Drop
        } else if happens(self.probability, random) {
            signal(params.ecn, packet)
        } else {
            Verdict::Accept
        };
        if verdict != Verdict::Drop {
            self.waiting += weight(params.mode, params.mean_packet, packet.size);
        }
        verdict
    }

    fn set_parameter(&mut self, name: &str, value: f64) -> Result<(), ValueError> {
        self.params = changed(&self.params, name, value)?;
        Ok(())
    }

    /// The adapted parameter is the virtual queue, packets.
    fn observe(&self) -> Observation {
        Observation {
            probability: Some(self.probability),
            adapted: Some(self.waiting),
            ..Observation::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Parameters as _;
    use crate::aqm::test::{LINK, packet, queue, random};

    /// 100 Mbit/s, 1250 B: 10,000 packets/s, virtually 9800.
    fn params() -> ExponentialRedParams {
        ExponentialRedParams {
            mean_packet: 1250.0,
            mode: Mode::Packets,
            ..ExponentialRedParams::from_values(&[]).unwrap()
        }
    }

    #[test]
    fn the_virtual_queue_is_served_more_slowly() {
        let mut aqm = params().build(&LINK);
        for n in 0..1000 {
            // the link's own rate, for 0.1 s
            let now = Time::from_seconds(1e-4 * f64::from(n));
            aqm.enqueue(now, &packet(), &queue(0), &mut random());
        }
        assert!(
            (aqm.waiting - (1.0 + 999.0 * 0.02)).abs() < 1e-9,
            "{}",
            aqm.waiting
        );
        aqm.enqueue(Time::from_seconds(1.0), &packet(), &queue(0), &mut random());
        assert_eq!(aqm.waiting, 1.0);
    }

    #[test]
    fn the_probability_grows_by_the_same_factor_per_packet() {
        let mut aqm = params().build(&LINK);
        let mut see = |waiting| {
            aqm.waiting = waiting;
            aqm.enqueue(Time::ZERO, &packet(), &queue(5), &mut random());
            aqm.observe().probability.unwrap()
        };
        assert_eq!(see(19.9), 0.0);
        assert!((see(20.0) - 1e-4).abs() < 1e-18);
        assert!((see(60.0) / see(40.0) - 1.0_f64.exp()).abs() < 1e-12);
        assert!((see(60.0) - 1e-4 * 2.0_f64.exp()).abs() < 1e-15);
        assert_eq!(see(205.0), 1.0); // 20 + 20 ln 10^4 = 204.2
    }

    #[test]
    fn fluid_law_is_that_of_the_algorithm() {
        let law = params().on_link(&LINK);
        let input = AqmInput::new(0.0, 10_500.0, 10_000.0);
        let p = |v| {
            ExponentialRedParams::probability(
                &law,
                &input,
                &[v],
                ExponentialRedParams::regime(&law, &input, &[v]),
            )
        };
        assert_eq!((p(19.0), p(210.0)), (0.0, 1.0));
        assert!((p(60.0) - 1e-4 * 2.0_f64.exp()).abs() < 1e-15);
        let mut rate = [0.0];
        ExponentialRedParams::derivative(&law, &input, &[60.0], &mut rate);
        assert!((rate[0] - (10_500.0 * (1.0 - p(60.0)) - 9800.0)).abs() < 1e-9);
        // dp/dt = beta p dv/dt
        let step = 1e-6;
        let slope = (p(60.0 + rate[0] * step) - p(60.0)) / step;
        assert!((slope / (0.05 * p(60.0) * rate[0]) - 1.0).abs() < 1e-3);
    }
}
