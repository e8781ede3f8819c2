//! The threshold policy: drop or mark every packet that finds the queue at or above a threshold.

use super::{Aqm, AqmAlgorithm, LinkView, PacketView, QueueView, Verdict, changed};
use crate::fluid::{AqmInput, FluidAqm, QueueModel};
use crate::meta::{About, Algorithm};
use crate::{Interval, Scalar, Stream, Time, ValueError, parameters};

parameters! {
    /// Parameters of the threshold policy.
    pub struct ThresholdParams {
        /// A packet that finds so many packets waiting, or more, is dropped or marked (q_th).
        threshold: packets = 15.0, in Interval::above(0.0), "Manjunath and Raina, section VI; 15 packets in figures 15 to 20";
        /// Whether ECN-capable packets are marked instead of dropped.
        ecn: flag = false, "RFC 3168, section 5";
    }
}

impl Algorithm for ThresholdParams {
    const ABOUT: About = About {
        kind: "threshold",
        title: "Threshold policy",
        summary: "Drops (or marks) every packet that finds the queue at or above a threshold.",
        citation: "S. Manjunath and G. Raina, Compound TCP with Random Early Detection (RED): stability, bifurcation and performance analyses, section VI",
        ecn: true,
    };
}

impl AqmAlgorithm for ThresholdParams {
    type Instance = Threshold;

    fn build(&self, _link: &LinkView) -> Threshold {
        Threshold { params: *self }
    }
}

impl FluidAqm for ThresholdParams {
    type Over<S: Scalar> = ThresholdParams<S>;

    const APPROXIMATION: Option<&'static str> = Some(
        "the queue follows the present rate of arrivals as an M/M/1 queue (Manjunath and Raina, section VI)",
    );

    fn on_link(&self, _link: &LinkView) -> Self {
        *self
    }

    fn queue_model<S: Scalar>(_params: &ThresholdParams<S>) -> QueueModel {
        QueueModel::Stationary
    }

    fn hard_limit<S: Scalar>(params: &ThresholdParams<S>) -> Option<S> {
        Some(params.threshold)
    }

    fn regimes<S: Scalar>(_params: &ThresholdParams<S>) -> &'static [&'static str] {
        &["below capacity", "at capacity"]
    }

    fn regime<S: Scalar>(_params: &ThresholdParams<S>, input: &AqmInput<S>, _state: &[S]) -> usize {
        usize::from(input.arrivals.re() >= input.service.re())
    }

    /// (x / C)^q_th: how often an arrival at an M/M/1 queue finds q_th packets or more (section VI,
    /// the law above equation (36)); one from x = C on.
    fn probability<S: Scalar>(
        params: &ThresholdParams<S>,
        input: &AqmInput<S>,
        _state: &[S],
        regime: usize,
    ) -> S {
        if regime == 0 {
            (input.arrivals / input.service).pow(params.threshold)
        } else {
            S::from_f64(1.0)
        }
    }
}

/// The threshold policy at work.
#[derive(Clone, Copy, Debug)]
pub struct Threshold {
    params: ThresholdParams,
}

impl Aqm for Threshold {
    #[inline]
    fn enqueue(
        &mut self,
        _now: Time,
        packet: &PacketView,
        queue: &QueueView,
        _random: &mut Stream,
    ) -> Verdict {
        if queue.full {
            Verdict::Drop
        } else if f64::from(queue.packets) < self.params.threshold {
            Verdict::Accept
        } else if self.params.ecn && packet.ecn_capable {
            Verdict::Mark
        } else {
            Verdict::Drop
        }
    }

    fn set_parameter(&mut self, name: &str, value: f64) -> Result<(), ValueError> {
        self.params = changed(&self.params, name, value)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aqm::test::{LINK, packet, queue, random};

    fn judge(params: ThresholdParams, packets: u32, ecn_capable: bool) -> Verdict {
        let packet = PacketView {
            ecn_capable,
            ..packet()
        };
        params
            .build(&LINK)
            .enqueue(Time::ZERO, &packet, &queue(packets), &mut random())
    }

    #[test]
    fn drops_at_and_above_the_threshold() {
        let params = ThresholdParams {
            threshold: 15.0,
            ecn: false,
        };
        assert_eq!(judge(params, 14, true), Verdict::Accept);
        assert_eq!(judge(params, 15, true), Verdict::Drop);
        assert_eq!(judge(params, 400, true), Verdict::Drop);
    }

    #[test]
    fn marks_only_packets_that_can_be_marked() {
        let params = ThresholdParams {
            threshold: 15.0,
            ecn: true,
        };
        assert_eq!(judge(params, 15, true), Verdict::Mark);
        assert_eq!(judge(params, 15, false), Verdict::Drop);
    }

    #[test]
    fn fluid_law_is_the_tail_of_an_m_m_1_queue() {
        let params = ThresholdParams {
            threshold: 15.0,
            ecn: false,
        };
        let input = AqmInput::new(0.0, 90.0, 100.0);
        // sum over n >= 15 of (1 - r) r^n
        let (mut tail, mut term) = (0.0, 0.1_f64);
        for n in 0..2000 {
            if n >= 15 {
                tail += term;
            }
            term *= 0.9;
        }
        assert!((ThresholdParams::probability(&params, &input, &[], 0) - tail).abs() < 1e-14);
    }

    #[test]
    fn threshold_can_change_during_a_run() {
        let mut aqm = ThresholdParams {
            threshold: 15.0,
            ecn: false,
        }
        .build(&LINK);
        aqm.set_parameter("threshold", 30.0).unwrap();
        assert_eq!(
            aqm.enqueue(Time::ZERO, &packet(), &queue(20), &mut random()),
            Verdict::Accept
        );
        assert!(aqm.set_parameter("threshold", -1.0).is_err());
        assert!(aqm.set_parameter("ecn", 1.0).is_err());
    }
}
