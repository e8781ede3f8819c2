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
//! With `whole_segments` both windows are integers, as in ns-2's Linux-derived agent, and differ in
//! more than rounding: c grows by a segment an ACK up to ssthresh itself, then by one after as many
//! ACKs as the window has segments; the delay law sees the segments of a round and its smallest
//! RTT, so that d opens at 41 segments; a reduction is the loss window's as far as that goes, so
//! that d outlives it if c is half of the window or less.
//!
//! A window that is not used does not grow. Gamma is fixed, as in the papers that analyse Compound,
//! unless `adaptive_gamma` is on (section 5 of the draft): each loss then shows the backlog
//! diff_reno = c (1 - base RTT / RTT) that Reno alone would have had in the last round, and gamma
//! becomes (1 - lambda) gamma + lambda 3/4 diff_reno, between `gamma_low` and `gamma`. A timeout
//! makes it `gamma` again.

use super::{Ack, CongestionAlgorithm, CongestionControl, MIN_SSTHRESH, Reduction, Signal, Window};
use crate::fluid::{FluidTcp, Path};
use crate::meta::{About, Algorithm};
use crate::{Interval, Scalar, Stream, parameters};

parameters! {
    /// Parameters of Compound TCP.
    pub struct CompoundParams {
        /// Scale of the increase: the window grows by alpha w^k a round trip.
        alpha: number = 0.125, in Interval::above_to(0.0, 1000.0), "Tan, Song, Zhang and Sridharan 2006, section III";
        /// Exponent of the increase.
        k: number = 0.75, in Interval::from_below(0.0, 1.0), "Tan, Song, Zhang and Sridharan 2006, section III";
        /// Decrease fraction: the window falls to (1 - beta) w at a loss or mark. (AIMD's beta is
        /// what remains.)
        beta: number = 0.5, in Interval::inside(0.0, 1.0), "Tan, Song, Zhang and Sridharan 2006, section III";
        /// Backlog in queues from which the delay window retreats.
        gamma: packets = 30.0, in Interval::above(0.0), "Tan, Song, Zhang and Sridharan 2006, section III";
        /// Whether gamma follows the backlog seen at losses; `gamma` is then its first and largest
        /// value.
        adaptive_gamma: flag = false, "draft-sridharan-tcpm-ctcp-02, section 5";
        /// Smallest gamma that is adapted to.
        gamma_low: packets = 5.0, in Interval::above(0.0), "draft-sridharan-tcpm-ctcp-02, section 5";
        /// Weight of a loss in the adapted gamma (lambda).
        gamma_weight: number = 0.8, in Interval::between(0.0, 1.0), "draft-sridharan-tcpm-ctcp-02, section 5";
        /// Share of the backlog by which the delay window retreats a round trip.
        zeta: number = 0.5, in Interval::at_least(0.0), "Manjunath and Raina, section II-A";
        /// Whether both windows are integers, as in ns-2's Linux-derived agent. The delay window
        /// then opens at 41 segments instead of 16, and slow start goes one segment beyond
        /// ssthresh.
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
            whole: self.whole_segments.then(Box::default),
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

    /// (1 / alpha)^(1/k): below it the delay window stays shut, and the loss window alone adds one
    /// packet a round trip.
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
#[derive(Clone, Debug)]
pub struct Compound {
    delay_window: f64,
    /// Round-trip samples of the round, s.
    rtt_sum: f64,
    rtt_samples: u32,
    /// Whether the window was full at some time in the round.
    limited: bool,
    /// State of windows in whole segments, where they are asked for.
    whole: Option<Box<Whole>>,
    /// Gamma at present.
    gamma: f64,
    /// diff_reno of the last round; `None` if a loss has used it.
    reno_backlog: Option<f64>,
    /// Below this window (segments) the delay window certainly does not grow.
    opens: f64,
    params: CompoundParams,
}

/// State of windows in whole segments.
#[derive(Clone, Copy, Debug, Default)]
struct Whole {
    /// The loss window; what a reduction left of the sum shows at the next ACK.
    loss_window: f64,
    /// ACKs since the loss window has grown.
    acks: f64,
    /// The next new segment when the last round and this one began.
    rounds: (u64, u64),
    /// Smallest round-trip time of the round, s.
    rtt: f64,
    /// Whether a reduction has broken the round off: another begins at the next ACK, and the last
    /// one then lasts from before the reduction to here.
    broken_off: bool,
}

impl Compound {
    /// An ACK where both windows are integers.
    #[cold]
    #[inline(never)]
    fn on_ack_whole(&mut self, ack: &Ack, window: &mut Window) {
        let Some(mut whole) = self.whole.take() else {
            return;
        };
        self.grow_whole(&mut whole, ack, window);
        self.whole = Some(whole);
    }

    fn grow_whole(&mut self, whole: &mut Whole, ack: &Ack, window: &mut Window) {
        let cwnd = window.cwnd.floor();
        if self.delay_window > cwnd || whole.loss_window > cwnd {
            self.delay_window = 0.0;
        }
        whole.loss_window = cwnd - self.delay_window;
        if ack.rtt > 0.0 {
            let before = if self.rtt_samples == 0 {
                ack.rtt
            } else {
                whole.rtt
            };
            whole.rtt = before.min(ack.rtt);
            self.rtt_samples += 1;
        }
        if !ack.cwnd_limited {
            return;
        }
        whole.acks += 1.0;
        if whole.loss_window <= window.ssthresh || whole.acks >= cwnd {
            (whole.loss_window, whole.acks) = (whole.loss_window + 1.0, 0.0);
        }
        if ack.round_start {
            self.end_whole_round(whole, ack.min_rtt, ack.next);
        }
        window.cwnd = whole.loss_window + self.delay_window;
    }

    /// The delay window moves at the end of a round of three samples or more.
    fn end_whole_round(&mut self, whole: &mut Whole, base_rtt: f64, next: u64) {
        let Whole { rounds, rtt, .. } = *whole;
        let samples = std::mem::take(&mut self.rtt_samples);
        if std::mem::take(&mut whole.broken_off) {
            whole.rounds.1 = next;
            return;
        }
        whole.rounds = (rounds.1, next);
        if samples <= 2 {
            return;
        }
        let (sent, waiting) = ((rounds.1 - rounds.0) as f64, 1.0 - base_rtt / rtt);
        self.reno_backlog = Some(whole.loss_window * waiting);
        self.delay_window = if sent * waiting >= self.gamma {
            let left = self.delay_window - self.params.zeta * sent * waiting;
            left.floor().max(0.0)
        } else {
            let power = libm::pow(sent, self.params.k).floor();
            self.delay_window + ((self.params.alpha * power).floor() - 1.0).max(0.0)
        };
    }

    /// The delay window moves at the end of a round.
    fn end_round(&mut self, base_rtt: f64, window: &mut Window) {
        let rtt = self.rtt_sum / f64::from(self.rtt_samples);
        let CompoundParams { alpha, k, zeta, .. } = self.params;
        let waiting = 1.0 - base_rtt / rtt;
        self.reno_backlog = Some((window.cwnd - self.delay_window) * waiting);
        let backlog = window.cwnd * waiting;
        let step = if backlog >= self.gamma {
            -(zeta * backlog).min(self.delay_window)
        } else if self.limited && window.cwnd >= self.opens {
            (alpha * libm::pow(window.cwnd, k) - 1.0).max(0.0)
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
        if self.whole.is_some() {
            self.on_ack_whole(ack, window);
            return;
        }
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
            let remaining = self.whole.as_mut().map_or(remaining, |whole| {
                (whole.broken_off, whole.acks) = (true, 0.0);
                remaining.floor()
            });
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
        if let Some(whole) = &mut self.whole {
            // which window it was taken from shows at the next ACK
            window.ssthresh = remaining.floor().max(MIN_SSTHRESH);
            window.cwnd = window.ssthresh;
            (whole.broken_off, whole.acks) = (true, 0.0);
            return;
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

    /// The last ACK of a round of round-trip time `rtt` (base 100 ms) that acknowledges nothing
    /// new, so that only the delay window moves.
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

    /// Windows in whole segments, and an ACK of one segment that leaves `next` to be sent.
    fn whole() -> Compound {
        CompoundParams {
            whole_segments: true,
            ..params()
        }
        .build(0)
    }

    fn at(next: u64, round_start: bool) -> Ack {
        Ack {
            acked: 1,
            next,
            round_start,
            ..round(0.1)
        }
    }

    /// Rounds of `sent` segments each in congestion avoidance.
    fn rounds(control: &mut Compound, window: &mut Window, sent: u64, from: u64, count: u64) {
        for n in 0..count {
            for k in 0..3 {
                control.on_ack(&at(from + n * sent, k == 2), window, &mut random());
            }
        }
    }

    #[test]
    fn whole_segments_are_rounded_down() {
        // floor(floor(w^0.75) / 8) - 1, from the third round on, which knows the length of one
        for (sent, step) in [(40, 0.0), (41, 1.0), (81, 2.0)] {
            let (mut control, mut window) = (
                whole(),
                Window {
                    cwnd: 200.0,
                    ssthresh: 2.0,
                },
            );
            rounds(&mut control, &mut window, sent, 0, 3);
            assert_eq!(control.delay_window, step, "{sent}");
        }
    }

    #[test]
    fn whole_segments_go_one_beyond_ssthresh_and_then_one_in_a_window_of_acks() {
        let (mut control, mut window) = (
            whole(),
            Window {
                cwnd: 9.0,
                ssthresh: 10.0,
            },
        );
        let mut observed = Vec::new();
        for _ in 0..13 {
            control.on_ack(&at(0, false), &mut window, &mut random());
            observed.push(window.cwnd as u32);
        }
        assert_eq!(
            observed,
            [10, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 12]
        );
    }

    #[test]
    fn whole_segments_take_a_reduction_from_the_loss_window() {
        // loss windows of 65 (above what is left) and 30 (not)
        for (delay_window, kept) in [(20.0, 0.0), (35.0, 35.0)] {
            let (mut control, mut window) = (
                Compound {
                    delay_window,
                    ..whole()
                },
                Window {
                    cwnd: delay_window + if kept > 0.0 { 30.0 } else { 65.0 },
                    ssthresh: 2.0,
                },
            );
            control.on_ack(&at(0, false), &mut window, &mut random());
            control.on_congestion(&loss(80.0), &mut window);
            assert_eq!((window.cwnd, window.ssthresh), (40.0, 40.0));
            control.on_ack(&at(0, false), &mut window, &mut random());
            assert_eq!(control.delay_window, kept);
        }
    }

    #[test]
    fn whole_rounds_last_from_before_a_reduction_to_its_end() {
        let (mut control, mut window) = (
            whole(),
            Window {
                cwnd: 200.0,
                ssthresh: 2.0,
            },
        );
        rounds(&mut control, &mut window, 20, 20, 3);
        assert_eq!(control.delay_window, 0.0); // 20 segments a round
        control.on_congestion(&loss(200.0), &mut window);
        // the recovery has sent 30 more, the round after it 20: 50 open the delay window by one
        rounds(&mut control, &mut window, 20, 90, 2);
        assert_eq!(control.delay_window, 1.0);
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
        // Manjunath and Raina, figure 2 at tau = 0.084834105 s, C = 100: w* = 8.6268585, p* =
        // 0.016628075
        let (w, p) = (8.6268585, 0.016628075);
        let balance = CompoundParams::increase(&params(), w, &PATH) * (1.0 - p)
            / (CompoundParams::decrease(&params(), w, &PATH) * p);
        assert!((balance - 1.0_f64).abs() < 1e-7, "{balance}");
    }
}
