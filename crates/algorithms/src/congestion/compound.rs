//! Compound TCP: a loss window as Reno's and a delay window beside it.
//!
//! The sender's window w is the sum of the loss window c and the delay window d. What happens when:
//!
//! - **Slow start** (w < ssthresh): c grows by one segment a segment acknowledged; d is zero.
//! - **Each ACK** in congestion avoidance: c grows by 1 / w a segment acknowledged.
//! - **Once a round trip** in congestion avoidance: the backlog of the flow in queues is estimated as diff = w (1 - base RTT / RTT), with the mean RTT of the
//!   round. Below `gamma`, d grows by alpha w^k - 1 where that is positive, else d stays: the delay window acts on windows above
//!   (1 / alpha)^(1/k) (16 segments) only, and with c's one segment w grows by alpha w^k a round. From `gamma` on, d shrinks by zeta diff, not below zero.
//! - **Loss or ECN mark**: c is halved and d becomes w (1 - beta) - c / 2 (c before the loss) where that is positive, else zero; so w falls to (1 - beta) w.
//! - **Timeout**: d becomes zero and slow start up to (1 - beta) w begins.
//!
//! A window that is not used does not grow. Gamma is fixed, as in the papers that analyse Compound, unless `adaptive_gamma` is on (section 5 of the draft): each
//! loss then shows the backlog diff_reno = c (1 - base RTT / RTT) that Reno alone would have had in the last round, and gamma becomes
//! (1 - lambda) gamma + lambda 3/4 diff_reno, between `gamma_low` and `gamma`. A timeout makes it `gamma` again.

use super::{Ack, CongestionAlgorithm, CongestionControl, MIN_SSTHRESH, Reduction, Signal, Window};
use crate::fluid::{FluidTcp, Path};
use crate::registry::{About, Algorithm};
use crate::{Interval, Scalar, Stream, parameters};

parameters! {
    /// Parameters of Compound TCP.
    pub struct CompoundParams {
        /// Scale of the increase: the window grows by alpha w^k a round trip.
        alpha: number = 0.125, in Interval::above(0.0), "Tan, Song, Zhang and Sridharan 2006, section III";
        /// Exponent of the increase.
        k: number = 0.75, in Interval::from_below(0.0, 1.0), "Tan, Song, Zhang and Sridharan 2006, section III";
        /// Decrease fraction: the window falls to (1 - beta) w at a loss or mark. (AIMD's beta is what remains.)
        beta: number = 0.5, in Interval::inside(0.0, 1.0), "Tan, Song, Zhang and Sridharan 2006, section III";
        /// Backlog in queues from which the delay window retreats.
        gamma: packets = 30.0, in Interval::above(0.0), "Tan, Song, Zhang and Sridharan 2006, section III";
        /// Whether gamma follows the backlog seen at losses; `gamma` is then its first and largest value.
        adaptive_gamma: flag = false, "draft-sridharan-tcpm-ctcp-02, section 5";
        /// Smallest gamma that is adapted to.
        gamma_low: packets = 5.0, in Interval::above(0.0), "draft-sridharan-tcpm-ctcp-02, section 5";
        /// Weight of a loss in the adapted gamma (lambda).
        gamma_weight: number = 0.8, in Interval::between(0.0, 1.0), "draft-sridharan-tcpm-ctcp-02, section 5";
        /// Share of the backlog by which the delay window retreats a round trip.
        zeta: number = 0.5, in Interval::at_least(0.0), "Manjunath and Raina, section II-A";
        /// Whether w^k and alpha w^k are rounded down to whole segments, as the integers of ns-2's Linux-derived agent do. The delay window then opens at 41
        /// segments instead of 16.
        whole_segments: flag = false, "ns-2 2.35: TCP/Linux with compound";
    }
}

impl Algorithm for CompoundParams {
    const ABOUT: About = About {
        kind: "compound",
        title: "Compound TCP",
        summary: "Adds a delay-based window, which grows fast while queues are short, to Reno's loss-based window.",
        citation: "K. Tan, J. Song, Q. Zhang and M. Sridharan, A compound TCP approach for high-speed and long distance networks, INFOCOM 2006; \
                   draft-sridharan-tcpm-ctcp-02 (2008)",
        ecn: true,
    };
}

impl CongestionAlgorithm for CompoundParams {
    type Controller = Compound;

    fn build(&self, _flow: u32) -> Compound {
        Compound {
            delay_window: 0.0,
            rtt_sum: 0.0,
            rtt_samples: 0,
            limited: false,
            gamma: self.gamma,
            reno_backlog: None,
            // (1 / alpha)^(1/k), and a hair less, so that rounding decides nothing
            opens: if self.k > 0.0 {
                0.999 * libm::pow(self.alpha, -1.0 / self.k)
            } else {
                0.0
            },
            params: *self,
        }
    }
}

impl FluidTcp for CompoundParams {
    type Over<S: Scalar> = CompoundParams<S>;

    const APPROXIMATION: Option<&'static str> = Some(
        "without the retreat of the delay window from backlogs above gamma (Manjunath and Raina, table I)",
    );

    /// alpha w^(k - 1) (Manjunath and Raina, table I): queues below gamma.
    fn increase<S: Scalar>(params: &CompoundParams<S>, window: S, _path: &Path<S>) -> S {
        params.alpha * window.pow(params.k - 1.0)
    }

    /// beta w.
    fn decrease<S: Scalar>(params: &CompoundParams<S>, window: S, _path: &Path<S>) -> S {
        params.beta * window
    }

    /// (1 / alpha)^(1/k): below it the delay window stays shut, and the loss window alone adds one packet a round trip.
    fn small_below<S: Scalar>(params: &CompoundParams<S>, _path: &Path<S>) -> S {
        if params.k.re() > 0.0 {
            (-params.alpha.ln() / params.k).exp()
        } else {
            S::from_f64(if params.alpha.re() < 1.0 {
                f64::INFINITY
            } else {
                0.0
            })
        }
    }

    /// 1 / w and beta w.
    fn small_window<S: Scalar>(params: &CompoundParams<S>, window: S) -> (S, S) {
        (S::from_f64(1.0) / window, params.beta * window)
    }
}

/// Compound TCP at work. The loss window is what `cwnd` exceeds the delay window by.
#[derive(Clone, Copy, Debug)]
pub struct Compound {
    delay_window: f64,
    /// Round-trip samples of the round, s.
    rtt_sum: f64,
    rtt_samples: u32,
    /// Whether the window was full at some time in the round.
    limited: bool,
    /// Gamma at present.
    gamma: f64,
    /// diff_reno of the last round; `None` if a loss has used it.
    reno_backlog: Option<f64>,
    /// Below this window (segments) the delay window certainly does not grow.
    opens: f64,
    params: CompoundParams,
}

impl Compound {
    /// The delay window moves at the end of a round.
    fn end_round(&mut self, base_rtt: f64, window: &mut Window) {
        let rtt = self.rtt_sum / f64::from(self.rtt_samples);
        let CompoundParams {
            alpha,
            k,
            zeta,
            whole_segments,
            ..
        } = self.params;
        let waiting = 1.0 - base_rtt / rtt;
        self.reno_backlog = Some((window.cwnd - self.delay_window) * waiting);
        let backlog = window.cwnd * waiting;
        let step = if backlog >= self.gamma {
            -(zeta * backlog).min(self.delay_window)
        } else if self.limited && window.cwnd >= self.opens {
            let power = libm::pow(window.cwnd, k);
            let gain = if whole_segments {
                (alpha * power.floor()).floor()
            } else {
                alpha * power
            };
            (gain - 1.0).max(0.0)
        } else {
            0.0
        };
        self.delay_window += step;
        window.cwnd += step;
    }
}

impl CongestionControl for Compound {
    #[inline]
    fn on_ack(&mut self, ack: &Ack, window: &mut Window, _random: &mut Stream) {
        let avoiding = !window.in_slow_start();
        if ack.cwnd_limited {
            let acked = window.slow_start(f64::from(ack.acked));
            if acked > 0.0 {
                window.cwnd += acked / window.cwnd;
            }
        }
        if ack.rtt > 0.0 {
            self.rtt_sum += ack.rtt;
            self.rtt_samples += 1;
        }
        self.limited |= ack.cwnd_limited;
        if ack.round_start {
            if avoiding && self.rtt_samples > 0 {
                self.end_round(ack.min_rtt, window);
            }
            (self.rtt_sum, self.rtt_samples, self.limited) = (0.0, 0, false);
        }
    }

    fn on_congestion(&mut self, reduction: &Reduction, window: &mut Window) {
        let used = reduction.window_used;
        let remaining = (1.0 - self.params.beta) * used;
        if reduction.signal == Signal::Timeout {
            self.delay_window = 0.0;
            self.gamma = self.params.gamma;
            self.reno_backlog = None;
            window.ssthresh = remaining.max(MIN_SSTHRESH);
            return;
        }
        if self.params.adaptive_gamma
            && let Some(backlog) = self.reno_backlog.take()
        {
            let weight = self.params.gamma_weight;
            self.gamma = ((1.0 - weight) * self.gamma + weight * 0.75 * backlog)
                .max(self.params.gamma_low)
                .min(self.params.gamma);
        }
        // of an unused window both parts count for what was used of them
        let delay_window = self.delay_window * (used / window.cwnd).min(1.0);
        let half_loss_window = 0.5 * (used - delay_window);
        let delay_window = (remaining - half_loss_window).max(0.0);
        window.ssthresh = (half_loss_window + delay_window).max(MIN_SSTHRESH);
        window.cwnd = window.ssthresh;
        // one segment at least is the loss window's, so that the other can shut
        self.delay_window = delay_window.min(window.cwnd - 1.0);
        // samples from before the loss say nothing of the time after it
        (self.rtt_sum, self.rtt_samples, self.limited) = (0.0, 0, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Parameters as _;
    use crate::congestion::test::{PATH, ack, loss, random};

    fn params() -> CompoundParams {
        CompoundParams::from_values(&[]).unwrap()
    }

    /// The last ACK of a round of round-trip time `rtt` (base 100 ms) that acknowledges nothing new, so that only the delay window moves.
    fn round(rtt: f64) -> Ack {
        Ack {
            acked: 0,
            rtt,
            min_rtt: 0.1,
            round_start: true,
            ..ack(0)
        }
    }

    /// Congestion avoidance with loss window 81 - d and delay window d.
    fn started(delay_window: f64) -> (Compound, Window) {
        (
            Compound {
                delay_window,
                ..params().build(0)
            },
            Window {
                cwnd: 81.0,
                ssthresh: 2.0,
            },
        )
    }

    #[test]
    fn empty_queues_open_the_delay_window() {
        let (mut control, mut window) = started(0.0);
        control.on_ack(&round(0.1), &mut window, &mut random());
        // 81^(3/4) = 27: 27 / 8 - 1
        assert!(
            (control.delay_window - 2.375).abs() < 1e-12 && (window.cwnd - 83.375).abs() < 1e-12
        );
        // with the loss window's segment a round adds alpha w^k
    }

    #[test]
    fn whole_segments_are_rounded_down() {
        for (cwnd, step) in [(40.0, 0.0), (41.0, 1.0), (81.0, 2.0)] {
            let mut control = CompoundParams {
                whole_segments: true,
                ..params()
            }
            .build(0);
            let mut window = Window {
                cwnd,
                ssthresh: 2.0,
            };
            control.on_ack(&round(0.1), &mut window, &mut random());
            assert_eq!(control.delay_window, step, "{cwnd}"); // floor(floor(w^0.75) / 8) - 1
        }
    }

    #[test]
    fn a_backlog_of_gamma_shuts_it() {
        // w (1 - base / rtt) = 81 x 0.4 = 32.4 >= 30: 16.2 off
        let (mut control, mut window) = started(40.0);
        control.on_ack(&round(0.1 / 0.6), &mut window, &mut random());
        assert!((control.delay_window - 23.8).abs() < 1e-9 && (window.cwnd - 64.8).abs() < 1e-9);
        // not below zero, and the loss window is not touched
        let (mut control, mut window) = started(10.0);
        control.on_ack(&round(0.1 / 0.6), &mut window, &mut random());
        assert!(control.delay_window.abs() < 1e-12 && (window.cwnd - 71.0).abs() < 1e-12);
    }

    #[test]
    fn the_mean_of_the_round_counts() {
        // samples 0.1 s and 0.2 s: mean 0.15, backlog 27 < 30: it still grows
        let (mut control, mut window) = started(0.0);
        control.on_ack(
            &Ack {
                round_start: false,
                ..round(0.1)
            },
            &mut window,
            &mut random(),
        );
        control.on_ack(&round(0.2), &mut window, &mut random());
        assert!(control.delay_window > 2.0);
    }

    #[test]
    fn small_windows_are_renos() {
        let (mut control, mut window) = (
            params().build(0),
            Window {
                cwnd: 15.9,
                ssthresh: 2.0,
            },
        );
        control.on_ack(&round(0.1), &mut window, &mut random());
        assert_eq!((control.delay_window, window.cwnd), (0.0, 15.9));
        control.on_ack(&ack(1), &mut window, &mut random());
        assert_eq!(window.cwnd, 15.9 + 1.0 / 15.9);
        assert!((CompoundParams::small_below(&params(), &PATH) - 16.0).abs() < 1e-12);
    }

    #[test]
    fn slow_start_has_no_delay_window() {
        let (mut control, mut window) = (
            params().build(0),
            Window {
                cwnd: 81.0,
                ssthresh: 200.0,
            },
        );
        control.on_ack(
            &Ack {
                acked: 1,
                ..round(0.1)
            },
            &mut window,
            &mut random(),
        );
        assert_eq!((control.delay_window, window.cwnd), (0.0, 82.0));
    }

    #[test]
    fn an_idle_window_does_not_grow() {
        let (mut control, mut window) = started(10.0);
        control.on_ack(
            &Ack {
                acked: 1,
                cwnd_limited: false,
                ..round(0.1)
            },
            &mut window,
            &mut random(),
        );
        assert_eq!((control.delay_window, window.cwnd), (10.0, 81.0));
    }

    #[test]
    fn a_loss_takes_beta_of_the_sum() {
        // w 81, c 61: c / 2 = 30.5, d = 40.5 - 30.5
        let (mut control, mut window) = started(20.0);
        control.on_congestion(&loss(81.0), &mut window);
        assert_eq!(
            (control.delay_window, window.cwnd, window.ssthresh),
            (10.0, 40.5, 40.5)
        );
        // with beta 0.6, c / 2 alone exceeds 0.4 w where d is small
        let mut control = Compound {
            delay_window: 1.0,
            ..CompoundParams {
                beta: 0.6,
                ..params()
            }
            .build(0)
        };
        let mut window = Window {
            cwnd: 81.0,
            ssthresh: 2.0,
        };
        control.on_congestion(&loss(81.0), &mut window);
        assert_eq!((control.delay_window, window.cwnd), (0.0, 40.0));
    }

    #[test]
    fn gamma_follows_the_backlog_seen_at_losses() {
        let adaptive = CompoundParams {
            adaptive_gamma: true,
            ..params()
        };
        let mut control = Compound {
            delay_window: 20.0,
            ..adaptive.build(0)
        };
        let mut window = Window {
            cwnd: 81.0,
            ssthresh: 2.0,
        };
        let quiet = |rtt| Ack {
            cwnd_limited: false,
            ..round(rtt)
        };
        // diff_reno = 61 (1 - 0.8) = 12.2: gamma = 0.2 x 30 + 0.8 x 0.75 x 12.2
        control.on_ack(&quiet(0.125), &mut window, &mut random());
        control.on_congestion(&loss(81.0), &mut window);
        assert!((control.gamma - 13.32).abs() < 1e-9, "{}", control.gamma);
        // a second loss of the same round shows nothing new
        control.on_congestion(&loss(40.0), &mut window);
        assert!((control.gamma - 13.32).abs() < 1e-9);
        // down to gamma_low, up to gamma
        for (rtt, limit) in [(0.1, 5.0), (100.0, 30.0)] {
            for _ in 0..20 {
                window.cwnd = 81.0;
                window.ssthresh = 2.0;
                control.on_ack(&quiet(rtt), &mut window, &mut random());
                window.cwnd = 81.0;
                control.on_congestion(&loss(81.0), &mut window);
            }
            assert_eq!(control.gamma, limit);
        }
        control.gamma = 10.0;
        let timeout = Reduction {
            signal: Signal::Timeout,
            ..loss(81.0)
        };
        control.on_congestion(&timeout, &mut window);
        assert_eq!(control.gamma, 30.0);
    }

    #[test]
    fn a_timeout_ends_the_delay_window() {
        let (mut control, mut window) = started(20.0);
        control.on_congestion(
            &Reduction {
                signal: Signal::Timeout,
                ..loss(81.0)
            },
            &mut window,
        );
        assert_eq!((control.delay_window, window.ssthresh), (0.0, 40.5));
    }

    #[test]
    fn a_round_adds_alpha_w_to_the_k() {
        // equation (2) of Manjunath and Raina, packet by packet
        let (mut control, mut window) = started(0.0);
        for n in 1..=81 {
            control.on_ack(
                &Ack {
                    round_start: n == 81,
                    rtt: 0.1,
                    min_rtt: 0.1,
                    ..ack(1)
                },
                &mut window,
                &mut random(),
            );
        }
        let step = CompoundParams::increase(&params(), 81.0, &PATH) * 81.0;
        assert!((window.cwnd - 81.0 - step).abs() < 0.04, "{}", window.cwnd);
    }

    #[test]
    fn fluid_equilibrium_of_the_paper() {
        // Manjunath and Raina, figure 2 at tau = 0.084834105 s, C = 100: w* = 8.6268585, p* = 0.016628075
        let (w, p) = (8.6268585, 0.016628075);
        let balance = CompoundParams::increase(&params(), w, &PATH) * (1.0 - p)
            / (CompoundParams::decrease(&params(), w, &PATH) * p);
        assert!((balance - 1.0_f64).abs() < 1e-7, "{balance}");
    }
}
