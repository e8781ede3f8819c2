//! AIMD(alpha, beta): additive increase, multiplicative decrease.
//!
//! In congestion avoidance each segment acknowledged adds alpha / w to the window, so that it grows
//! by alpha segments a round trip; a loss or mark leaves beta w of the window in use, `min_window`
//! segments at least. With a share p of packets lost the mean window goes with sqrt(alpha (1 +
//! beta) / (2 (1 - beta) p)): AIMD shares with Reno as an equal where alpha = 3 (1 - beta) / (1 +
//! beta). Slow start is Reno's, after a timeout up to beta w.

use super::{
    Ack, CongestionAlgorithm, CongestionControl, MIN_SSTHRESH, Reduction, SegmentCount, Window,
};
use crate::fluid::{FluidTcp, Path};
use crate::meta::{About, Algorithm};
use crate::{Interval, Scalar, Stream, parameters};

parameters! {
    /// Parameters of AIMD.
    pub struct AimdParams {
        /// Packets added to the window each round trip.
        alpha: number = 1.0, in Interval::above_to(0.0, 1000.0), "Wang, Cai, Liu and Shen, section II-A";
        /// Fraction of the window that remains after a reduction.
        beta: number = 0.5, in Interval::inside(0.0, 1.0), "Wang, Cai, Liu and Shen, section II-A";
        /// Whether the window is a whole number of packets: it grows by one once enough packets
        /// have been acknowledged, and what remains after a reduction is rounded down. Kernels
        /// count so.
        whole_packets: flag = false, "RFC 5681, section 3.1; Linux";
        /// Smallest window that a reduction leaves in use, packets; ssthresh is two at least
        /// whatever this is. With one (ns-2) many flows with small windows still give way to marks,
        /// with two they no longer do.
        min_window: number = 2.0, in Interval::between(1.0, 2.0), "RFC 5681, equation 4; ns-2 2.35: 1";
        /// Whether a reduction in slow start leaves half of the window, whatever beta is.
        halve_in_slow_start: flag = false, "Wang, Cai, Liu and Shen, section II-A";
    }
}

impl Algorithm for AimdParams {
    const ABOUT: About = About {
        kind: "aimd",
        title: "AIMD",
        summary: "Adds alpha packets to the window each round trip and keeps the fraction beta of it at a loss or mark; slow start as in RFC 5681.",
        citation: "Y. R. Yang and S. S. Lam, General AIMD congestion control, ICNP 2000; \
                   L. Wang, L. Cai, X. Liu and X. Shen, AIMD congestion control: stability, TCP-friendliness, delay performance",
        ecn: true,
    };
}

impl CongestionAlgorithm for AimdParams {
    type Controller = Aimd;

    fn build(&self, _flow: u32) -> Aimd {
        Aimd {
            alpha: self.alpha,
            beta: self.beta,
            whole: self.whole_packets,
            min_window: self.min_window,
            halve_in_slow_start: self.halve_in_slow_start,
            count: SegmentCount::default(),
        }
    }
}

impl FluidTcp for AimdParams {
    type Over<S: Scalar> = AimdParams<S>;

    /// alpha / w: alpha packets over the w acknowledgements of a round trip.
    fn increase<S: Scalar>(params: &AimdParams<S>, window: S, _path: &Path<S>) -> S {
        params.alpha / window
    }

    /// (1 - beta) w.
    fn decrease<S: Scalar>(params: &AimdParams<S>, window: S, _path: &Path<S>) -> S {
        (S::from_f64(1.0) - params.beta) * window
    }
}

/// AIMD at work.
#[derive(Clone, Copy, Debug)]
pub struct Aimd {
    alpha: f64,
    beta: f64,
    whole: bool,
    min_window: f64,
    halve_in_slow_start: bool,
    count: SegmentCount,
}

impl CongestionControl for Aimd {
    #[inline(always)]
    fn on_ack(&mut self, ack: &Ack, window: &mut Window, _random: &mut Stream) {
        if ack.cwnd_limited {
            let acked = window.slow_start(f64::from(ack.acked));
            if self.whole && acked > 0.0 {
                let per = (window.cwnd / self.alpha).max(1.0);
                self.count.grow(acked, per, &mut window.cwnd);
            } else if acked > 0.0 {
                //= RFC 5681 3.1/10..13: done, test one_packet_a_round_trip_and_half_at_a_loss
                //= RFC 5681 3.1/14: not applicable, windows are floating-point numbers
                window.cwnd += self.alpha * acked / window.cwnd;
            }
        }
    }

    fn on_congestion(&mut self, reduction: &Reduction, window: &mut Window) {
        let halves = self.halve_in_slow_start && window.in_slow_start();
        let beta = if halves { 0.5 } else { self.beta };
        let mut left = beta * reduction.window_used;
        if self.whole {
            left = left.floor();
            self.count.clear();
        }
        window.ssthresh = left.max(MIN_SSTHRESH);
        window.cwnd = left.max(self.min_window);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::test::{PATH, ack, loss, random};

    const TFRC_LIKE: AimdParams = AimdParams {
        alpha: 0.2,
        beta: 0.875,
        whole_packets: false,
        min_window: 2.0,
        halve_in_slow_start: false,
    };

    #[test]
    fn adds_alpha_packets_a_round_trip() {
        let mut control = TFRC_LIKE.build(0);
        let mut window = Window {
            cwnd: 100.0,
            ssthresh: 50.0,
        };
        for _ in 0..100 {
            control.on_ack(&ack(1), &mut window, &mut random());
        }
        // a little less than alpha: the window grows while the round's packets are counted
        assert!((window.cwnd - 100.2).abs() < 3e-4, "{}", window.cwnd);
    }

    #[test]
    fn in_whole_packets_one_is_added_after_a_window_of_them() {
        let params = AimdParams {
            alpha: 1.0,
            beta: 0.5,
            whole_packets: true,
            min_window: 2.0,
            halve_in_slow_start: false,
        };
        let mut control = params.build(0);
        let mut window = Window {
            cwnd: 11.0,
            ssthresh: 11.0,
        };
        control.on_congestion(&loss(11.0), &mut window);
        assert_eq!((window.cwnd, window.ssthresh), (5.0, 5.0));
        let windows: Vec<f64> = (0..11)
            .map(|_| {
                control.on_ack(&ack(1), &mut window, &mut random());
                window.cwnd
            })
            .collect();
        // five acknowledged at 5, six at 6
        assert_eq!(
            windows,
            [5.0, 5.0, 5.0, 5.0, 6.0, 6.0, 6.0, 6.0, 6.0, 6.0, 7.0]
        );
        control.on_ack(&ack(8), &mut window, &mut random());
        assert_eq!(window.cwnd, 8.0); // and one is left over
        control.on_ack(&ack(7), &mut window, &mut random());
        assert_eq!(window.cwnd, 9.0);
    }

    #[test]
    fn one_ack_for_two_segments_counts_twice() {
        let mut control = TFRC_LIKE.build(0);
        let mut window = Window {
            cwnd: 10.0,
            ssthresh: 10.0,
        };
        control.on_ack(&ack(2), &mut window, &mut random());
        assert_eq!(window.cwnd, 10.0 + 0.2 * 2.0 / 10.0);
    }

    #[test]
    fn keeps_beta_of_the_window_in_use() {
        let mut control = TFRC_LIKE.build(0);
        let mut window = Window {
            cwnd: 100.0,
            ssthresh: f64::INFINITY,
        };
        control.on_congestion(&loss(80.0), &mut window);
        assert_eq!(
            window,
            Window {
                cwnd: 70.0,
                ssthresh: 70.0
            }
        );
    }

    #[test]
    fn ssthresh_is_two_segments_at_least() {
        let mut control = AimdParams {
            alpha: 1.0,
            beta: 0.5,
            whole_packets: false,
            min_window: 2.0,
            halve_in_slow_start: false,
        }
        .build(0);
        let mut window = Window {
            cwnd: 3.0,
            ssthresh: 10.0,
        };
        control.on_congestion(&loss(3.0), &mut window);
        assert_eq!(window.ssthresh, MIN_SSTHRESH);
        assert_eq!(window.cwnd, 2.0);
    }

    #[test]
    fn with_a_smallest_window_of_one_it_falls_to_one_and_starts_slowly() {
        let mut control = AimdParams {
            beta: 0.5,
            min_window: 1.0,
            ..TFRC_LIKE
        }
        .build(0);
        let mut window = Window {
            cwnd: 3.0,
            ssthresh: 10.0,
        };
        for (used, left) in [(3.0, 1.5), (1.5, 1.0), (1.0, 1.0)] {
            control.on_congestion(&loss(used), &mut window);
            assert_eq!((window.cwnd, window.ssthresh), (left, MIN_SSTHRESH));
        }
        control.on_ack(&ack(1), &mut window, &mut random());
        assert_eq!(window.cwnd, 2.0);
    }

    #[test]
    fn a_window_that_is_not_used_does_not_grow() {
        let mut control = TFRC_LIKE.build(0);
        for ssthresh in [1.0, 100.0] {
            let mut window = Window {
                cwnd: 10.0,
                ssthresh,
            };
            control.on_ack(
                &super::Ack {
                    cwnd_limited: false,
                    ..ack(1)
                },
                &mut window,
                &mut random(),
            );
            assert_eq!(window.cwnd, 10.0);
        }
    }

    #[test]
    fn slow_start_ends_at_ssthresh_and_the_rest_counts_as_avoidance() {
        let mut control = AimdParams {
            alpha: 1.0,
            beta: 0.5,
            whole_packets: false,
            min_window: 2.0,
            halve_in_slow_start: false,
        }
        .build(0);
        let mut window = Window {
            cwnd: 9.5,
            ssthresh: 10.0,
        };
        control.on_ack(&ack(2), &mut window, &mut random());
        assert_eq!(window.cwnd, 10.0 + 1.5 / 10.0);
    }

    #[test]
    fn fluid_law_of_wang_et_al() {
        // with the average decrease, equation (3): alpha / R = 2 (1 - beta) / (1 + beta) W^2 p / R,
        // W = 100
        let w: f64 = 100.0;
        let p = TFRC_LIKE.alpha * (1.0 + TFRC_LIKE.beta) / (2.0 * (1.0 - TFRC_LIKE.beta) * w * w);
        let fall = crate::fluid::round_average(w, AimdParams::decrease(&TFRC_LIKE, w, &PATH));
        assert!((fall * p / AimdParams::increase(&TFRC_LIKE, w, &PATH) - 1.0).abs() < 1e-14);
    }

    #[test]
    fn slow_start_can_end_at_half_the_window() {
        for (halve_in_slow_start, left) in [(false, 87.5), (true, 50.0)] {
            let params = AimdParams {
                halve_in_slow_start,
                ..TFRC_LIKE
            };
            let mut control = params.build(0);
            let mut window = Window {
                cwnd: 100.0,
                ssthresh: f64::INFINITY,
            };
            control.on_congestion(&loss(100.0), &mut window);
            assert_eq!((window.cwnd, window.ssthresh), (left, left));
            // in congestion avoidance always the fraction beta
            control.on_congestion(&loss(left), &mut window);
            assert_eq!(window.cwnd, 0.875 * left);
        }
    }
}
