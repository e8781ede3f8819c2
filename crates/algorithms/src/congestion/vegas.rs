//! TCP Vegas: keeps a few packets of its own in queues.
//!
//! Once a round trip the backlog of the flow is estimated as diff = w (1 - base RTT / RTT), with
//! the smallest RTT of the round, which delayed ACKs do not disturb, and the window at its
//! start:
//!
//! - Congestion avoidance: below `alpha` the window grows by one segment, above `beta` it shrinks by one, else it stays.
//! - Slow start doubles the window every other round trip. It ends when diff exceeds `gamma`, and leaves the window that fills the path without a queue,
//!   and one segment (as in Linux).
//! - Losses and marks take the fraction `loss_decrease`: half, as in Linux. Vegas' own retransmission after the first duplicate ACK is not part of it.
//!
//! With `form = "linux"`, diff = w (RTT / base RTT - 1) rounded down, with the present window; slow
//! start doubles the window every round trip; a round with fewer than three samples is Reno's, and
//! so is the time in which something is lost, marked or out of order; the base RTT is forgotten
//! whenever nothing is in the network.

use super::{
    Ack, CaState, CongestionAlgorithm, CongestionControl, Form, Forms, LINUX_FORM, MIN_SSTHRESH,
    Needs, Reduction, RttSamples, SegmentCount, Window,
};
use crate::fluid::{FluidTcp, Path, smooth_sign};
use crate::meta::{About, Algorithm};
use crate::params::inconsistent;
use crate::{DefaultValue, Interval, Scalar, Stream, Time, ValueError, parameters};

parameters! {
    /// Parameters of TCP Vegas.
    pub struct VegasParams {
        /// Backlog below which the window grows.
        alpha: packets = 2.0, in Interval::above(0.0), "Brakmo and Peterson 1995, section III-B";
        /// Backlog above which the window shrinks.
        beta: packets = 4.0, in Interval::above(0.0), "Brakmo and Peterson 1995, section III-B";
        /// Backlog that ends slow start.
        gamma: packets = 1.0, in Interval::above(0.0), "Brakmo and Peterson 1995, section III-C";
        /// Decrease fraction: the window falls to (1 - loss_decrease) w at a loss or mark.
        loss_decrease: number = 0.5, in Interval::inside(0.0, 1.0), "Linux 6.1";
        /// The algorithm as published, or as Linux implements it.
        form: choice(Form) = Paper, "style: Linux 6.1";
    }
}

impl Algorithm for VegasParams {
    const ABOUT: About = About {
        kind: "vegas",
        title: "TCP Vegas",
        summary: "Compares the window with what the path holds without queues and keeps between alpha and beta packets in them.",
        citation: "L. S. Brakmo and L. L. Peterson, TCP Vegas: end to end congestion avoidance on a global Internet, IEEE JSAC 13(8), 1995",
        ecn: true,
    };

    const LINUX: &'static [(&'static str, DefaultValue)] = &[LINUX_FORM];

    fn check(&self) -> Result<(), ValueError> {
        if self.beta >= self.alpha {
            return Ok(());
        }
        Err(inconsistent(
            "beta",
            self.beta,
            format!("not below alpha, which is {}", self.alpha),
        ))
    }
}

impl CongestionAlgorithm for VegasParams {
    type Controller = Forms<PaperVegas, LinuxVegas>;

    fn build(&self, _flow: u32) -> Self::Controller {
        match self.form {
            Form::Paper => Forms::Paper(PaperVegas {
                begin: 0.0,
                round_rtt: f64::INFINITY,
                limited: false,
                still: false,
                params: *self,
            }),
            Form::Linux => Forms::Linux(LinuxVegas {
                samples: RttSamples::NONE,
                count: SegmentCount::default(),
                measuring: true,
                params: *self,
            }),
        }
    }
}

impl FluidTcp for VegasParams {
    type Over<S: Scalar> = VegasParams<S>;

    const APPROXIMATION: Option<&'static str> = Some(
        "one packet a round trip by the sign of the backlog's distance from the middle of alpha and beta (Low, Peterson and Wang 2002, with a smooth step \
         across the dead zone and half a packet on either side): packets rest anywhere between alpha and beta, the equations in the middle",
    );

    const BY_DELAY: bool = true;

    /// s((m - diff) / h) / w with diff = w (1 - base RTT / RTT), m = (alpha + beta) / 2, h = (beta - alpha + 1) / 2 and s a smooth sign: the law of S. H. Low,
    /// L. L. Peterson and L. Wang, "Understanding TCP Vegas: a duality model", Journal of the ACM 49(2), 2002, section 2, whose step is sharp and whose alpha
    /// and beta are equal. Within the dead zone packets do not move; in the equations flows are spread over it, and over the packet that a window moves by.
    fn increase<S: Scalar>(params: &VegasParams<S>, window: S, path: &Path<S>) -> S {
        let backlog = window * path.delay() / path.measured;
        let middle = (params.alpha + params.beta) * 0.5;
        let half = (params.beta - params.alpha + 1.0) * 0.5;
        smooth_sign((middle - backlog) / half) / window
    }

    /// `loss_decrease` w.
    fn decrease<S: Scalar>(params: &VegasParams<S>, window: S, _path: &Path<S>) -> S {
        params.loss_decrease * window
    }
}

/// TCP Vegas at work.
#[derive(Clone, Copy, Debug)]
pub struct PaperVegas {
    /// Window at the beginning of the round; zero before the first.
    begin: f64,
    /// Smallest RTT of the round, s.
    round_rtt: f64,
    /// Whether the window was full at some time in the round.
    limited: bool,
    /// Whether slow start pauses in this round.
    still: bool,
    params: VegasParams,
}

impl PaperVegas {
    fn end_round(&mut self, base_rtt: f64, window: &mut Window) {
        let filled = self.begin * base_rtt / self.round_rtt;
        let backlog = self.begin - filled;
        if window.in_slow_start() {
            if backlog > self.params.gamma {
                window.cwnd = window.cwnd.min(filled + 1.0).max(MIN_SSTHRESH);
                window.ssthresh = window.ssthresh.min(window.cwnd);
            }
            self.still = !self.still;
        } else if backlog > self.params.beta {
            window.cwnd = (window.cwnd - 1.0).max(MIN_SSTHRESH.min(window.cwnd));
            // a smaller window is no reason for slow start
            window.ssthresh = window.ssthresh.min(window.cwnd).max(MIN_SSTHRESH);
        } else if backlog < self.params.alpha && self.limited {
            window.cwnd += 1.0;
        }
    }
}

impl CongestionControl for PaperVegas {
    #[inline]
    fn on_ack(&mut self, ack: &Ack, window: &mut Window, _random: &mut Stream) {
        self.round_rtt = self.round_rtt.min(ack.rtt); // NaN is not smaller
        self.limited |= ack.cwnd_limited;
        if ack.round_start {
            if self.begin > 0.0 && self.round_rtt < f64::INFINITY {
                self.end_round(ack.min_rtt, window);
            }
            self.begin = window.cwnd;
            self.round_rtt = f64::INFINITY;
            self.limited = false;
        }
        if ack.cwnd_limited && !self.still {
            window.slow_start(f64::from(ack.acked));
        }
    }

    fn on_congestion(&mut self, reduction: &Reduction, window: &mut Window) {
        let left = reduction.window_used * (1.0 - self.params.loss_decrease);
        window.ssthresh = left.max(MIN_SSTHRESH);
        window.cwnd = window.ssthresh;
        // what was measured belongs to the old window
        self.begin = 0.0;
        self.still = false;
    }
}

/// TCP Vegas at work as in Linux.
#[derive(Clone, Copy, Debug)]
pub struct LinuxVegas {
    samples: RttSamples,
    /// Reno's count.
    count: SegmentCount,
    /// Whether it is at work; if not, Reno is.
    measuring: bool,
    params: VegasParams,
}

impl LinuxVegas {
    fn end_round(&mut self, ack: &Ack, window: &mut Window) {
        let RttSamples { base, least, .. } = self.samples;
        let backlog = (window.cwnd * (least - base) / base).floor();
        if window.in_slow_start() {
            if backlog > self.params.gamma {
                let filled = (window.cwnd * base / least).floor();
                window.cwnd = window.cwnd.min(filled + 1.0);
                window.ssthresh = window.ssthresh.min(window.cwnd);
            } else {
                window.slow_start(f64::from(ack.acked));
            }
        } else if backlog > self.params.beta {
            window.cwnd -= 1.0;
            window.ssthresh = window.ssthresh.min(window.cwnd);
        } else if backlog < self.params.alpha {
            window.cwnd += 1.0;
        }
        window.cwnd = window.cwnd.max(MIN_SSTHRESH);
        // the threshold is three quarters of the window at least
        let floor = (0.5 * window.cwnd).floor() + (0.25 * window.cwnd).floor();
        window.ssthresh = window.ssthresh.max(floor);
    }
}

impl CongestionControl for LinuxVegas {
    fn needs(&self) -> Needs {
        Needs {
            every_ack: true,
            ca_state: true,
            ..Needs::default()
        }
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack, window: &mut Window, _random: &mut Stream) {
        if !self.measuring {
            self.count.grow_as_reno(ack, window);
        } else if !ack.round_start {
            if window.in_slow_start() {
                window.slow_start(f64::from(ack.acked));
            }
        } else {
            if self.samples.count <= 2 {
                self.count.grow_as_reno(ack, window);
            } else {
                self.end_round(ack, window);
            }
            self.samples.begin_round();
        }
    }

    fn on_every_ack(&mut self, ack: &Ack) {
        self.samples.take(ack.rtt);
    }

    fn on_restart(&mut self, _now: Time, _window: &mut Window) {
        // nothing is in the network, in a recovery too
        self.samples = RttSamples::NONE;
        self.measuring = true;
    }

    fn set_state(&mut self, state: CaState) {
        self.measuring = state == CaState::Open;
        if self.measuring {
            self.samples.begin_round();
        }
    }

    fn on_congestion(&mut self, reduction: &Reduction, window: &mut Window) {
        let left = (reduction.window_used * (1.0 - self.params.loss_decrease)).floor();
        self.count.clear();
        window.ssthresh = left.max(MIN_SSTHRESH);
        window.cwnd = window.ssthresh;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Parameters as _;
    use crate::congestion::test::{ack, loss, random};

    fn params() -> VegasParams {
        VegasParams::from_values(&[]).unwrap()
    }

    /// The window after `rounds` on a path of 0.1 s that carries `bdp` packets: what is above waits
    /// in the queue.
    fn alone(mut window: Window, bdp: f64, rounds: u32) -> Window {
        let mut control = params().build(0);
        for _ in 0..rounds {
            let acks = window.cwnd as u32;
            for n in 0..acks {
                let sample = Ack {
                    rtt: 0.1 * (window.cwnd / bdp).max(1.0),
                    min_rtt: 0.1,
                    round_start: n == 0,
                    ..ack(1)
                };
                control.on_ack(&sample, &mut window, &mut random());
            }
        }
        window
    }

    /// In Linux it rests while something is lost or out of order, and measures anew from when that
    /// is over.
    #[test]
    fn rests_where_the_state_is_not_open() {
        let mut control = VegasParams {
            form: Form::Linux,
            ..params()
        }
        .build(0)
        .linux();
        let mut window = Window {
            cwnd: 10.0,
            ssthresh: 5.0,
        };
        let mut round = |control: &mut LinuxVegas, rtt: f64| {
            let acks = window.cwnd as u32;
            for n in 0..acks {
                let sample = Ack {
                    rtt,
                    round_start: n + 1 == acks,
                    ..ack(1)
                };
                control.on_every_ack(&sample);
                control.on_ack(&sample, &mut window, &mut random());
            }
            window.cwnd
        };
        assert_eq!(round(&mut control, 0.1), 11.0);
        control.set_state(CaState::Recovery);
        // as Reno, whatever the round trip
        assert_eq!(round(&mut control, 0.2), 12.0);
        control.set_state(CaState::Open);
        // twelve packets in twice the time: six of them wait
        assert_eq!(round(&mut control, 0.2), 11.0);
        // nothing was in the network: the round trip of now is the base
        let mut unused = Window {
            cwnd: 1.0,
            ssthresh: 1.0,
        };
        control.on_restart(Time(0), &mut unused);
        assert_eq!(round(&mut control, 0.2), 12.0);
    }

    #[test]
    fn stops_with_alpha_to_beta_packets_in_the_queue() {
        let open = |cwnd| Window {
            cwnd,
            ssthresh: 2.0,
        };
        // from below it stops at alpha, from above at beta
        assert_eq!(alone(open(20.0), 50.0, 100).cwnd, 52.0);
        assert_eq!(alone(open(90.0), 50.0, 100).cwnd, 54.0);
        assert_eq!(alone(open(53.0), 50.0, 100).cwnd, 53.0);
        // and shrinking is no reason for slow start
        let halved = Window {
            cwnd: 90.0,
            ssthresh: 90.0,
        };
        assert_eq!(alone(halved, 50.0, 100).cwnd, 54.0);
    }

    #[test]
    fn slow_start_doubles_every_other_round_and_ends_with_the_path_full() {
        let begin = Window {
            cwnd: 4.0,
            ssthresh: f64::INFINITY,
        };
        let windows: Vec<f64> = (1..=5).map(|n| alone(begin, 1000.0, n).cwnd).collect();
        assert_eq!(windows, [8.0, 8.0, 16.0, 16.0, 32.0]);
        // 64 > 50: found after the round, left with 50 + 1 packets; then one a round up to alpha
        let end = alone(begin, 50.0, 40);
        assert_eq!((end.cwnd, end.ssthresh), (52.0, 51.0));
    }

    #[test]
    fn delayed_samples_do_not_count() {
        let mut control = params().build(0);
        let mut window = Window {
            cwnd: 20.0,
            ssthresh: 2.0,
        };
        for (n, rtt) in [0.1, 0.14, f64::NAN, 0.1, 0.14].into_iter().enumerate() {
            let sample = Ack {
                rtt,
                min_rtt: 0.1,
                round_start: n == 0 || n == 4,
                ..ack(1)
            };
            control.on_ack(&sample, &mut window, &mut random());
        }
        assert_eq!(window.cwnd, 21.0);
    }

    #[test]
    fn a_loss_halves() {
        let mut control = params().build(0);
        let mut window = Window {
            cwnd: 20.0,
            ssthresh: 2.0,
        };
        control.on_congestion(&loss(20.0), &mut window);
        assert_eq!((window.cwnd, window.ssthresh), (10.0, 10.0));
    }

    #[test]
    fn alpha_above_beta_is_refused() {
        let wrong = VegasParams {
            alpha: 5.0,
            ..params()
        };
        assert_eq!(wrong.check().unwrap_err().name, "beta");
    }
}
