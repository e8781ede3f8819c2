//! TCP Reno's congestion control: AIMD(1, 0.5).
//!
//! - Slow start (w < ssthresh): one segment more a segment acknowledged (RFC 5681, section 3.1).
//! - Congestion avoidance: 1 / w a segment acknowledged, one segment a round trip (equation (3)). A window that is not used does not grow.
//! - Loss or mark: ssthresh and window become half of the window in use, two segments at least (equation (4)). Timeout: ssthresh the same, the window one segment.

use super::{Aimd, AimdParams, CongestionAlgorithm};
use crate::fluid::{FluidTcp, Path};
use crate::meta::{About, Algorithm};
use crate::{DefaultValue, Scalar, parameters};

parameters! {
    /// Parameters of Reno.
    pub struct RenoParams without numbers {
        /// Whether the window is a whole number of packets: it grows by one once a window of
        /// packets has been acknowledged, and half of it is rounded down. Kernels count so.
        whole_packets: flag = false, "RFC 5681, section 3.1; Linux 6.1";
    }
}

/// Reno as AIMD in any scalar.
fn aimd<S: Scalar>(whole_packets: bool) -> AimdParams<S> {
    AimdParams {
        alpha: S::from_f64(1.0),
        beta: S::from_f64(0.5),
        whole_packets,
        min_window: S::from_f64(2.0),
        halve_in_slow_start: false,
    }
}

impl Algorithm for RenoParams {
    const ABOUT: About = About {
        kind: "reno",
        title: "Reno",
        summary: "Adds one packet to the window each round trip and halves it at a loss or mark: AIMD(1, 0.5). \
                  How losses are repaired is the flow's `recovery`.",
        citation: "M. Allman, V. Paxson and E. Blanton, TCP congestion control, RFC 5681 (2009)",
        ecn: true,
    };

    const LINUX: &'static [(&'static str, DefaultValue)] =
        &[("whole_packets", DefaultValue::Flag(true))];
}

impl CongestionAlgorithm for RenoParams {
    type Controller = Aimd;

    fn build(&self, flow: u32) -> Aimd {
        aimd::<f64>(self.whole_packets).build(flow)
    }
}

impl FluidTcp for RenoParams {
    type Over<S: Scalar> = RenoParams<S>;

    /// 1 / w.
    fn increase<S: Scalar>(_params: &RenoParams<S>, window: S, path: &Path<S>) -> S {
        AimdParams::increase(&aimd(false), window, path)
    }

    /// w / 2.
    fn decrease<S: Scalar>(_params: &RenoParams<S>, window: S, path: &Path<S>) -> S {
        AimdParams::decrease(&aimd(false), window, path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Parameters as _;
    use crate::congestion::test::{PATH, ack, loss, random};
    use crate::congestion::{CongestionControl as _, Window};

    fn params() -> RenoParams {
        RenoParams::from_values(&[]).unwrap()
    }

    #[test]
    fn one_packet_a_round_trip_and_half_at_a_loss() {
        let mut control = params().build(0);
        let mut window = Window {
            cwnd: 20.0,
            ssthresh: 20.0,
        };
        control.on_ack(&ack(1), &mut window, &mut random());
        assert_eq!(window.cwnd, 20.0 + 1.0 / 20.0); // RFC 5681, equation (3)
        control.on_congestion(&loss(20.0), &mut window);
        assert_eq!(
            window,
            Window {
                cwnd: 10.0,
                ssthresh: 10.0
            }
        ); // equation (4)
    }

    #[test]
    fn fluid_equilibrium_is_the_square_root_law() {
        // i (1 - p) = d p gives w = sqrt(2 (1 - p) / p)
        let p: f64 = 0.01;
        let w = (2.0 * (1.0 - p) / p).sqrt();
        let params = params();
        let balance = RenoParams::increase(&params, w, &PATH) * (1.0 - p)
            - RenoParams::decrease(&params, w, &PATH) * p;
        assert!(balance.abs() < 1e-15);
    }
}
