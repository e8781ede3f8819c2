//! YeAH-TCP: Scalable TCP while queues are short, Reno with a drain when they are not.
//!
//! Once a round trip the backlog of the flow is estimated as Q = w (RTT - base RTT) / RTT, with the
//! smallest RTT of the round.
//!
//! - Fast mode (Q at most `max_backlog` and the queueing delay at most base RTT / `delay_share`): grows as Scalable TCP, 1 / min(w, 100) a segment.
//! - Slow mode: grows as Reno. If Q exceeds `max_backlog`, the window falls by min(Q, w / 2) once a round trip ("precautionary decongestion"),
//!   but not below what a Reno flow beside it would have: half the window at the first slow round, one segment more each slow round, halved at a loss,
//!   forgotten after `fast_rounds` fast ones.
//! - Loss: the window falls by Q, by an eighth at least and half at most; by half if the last `slow_rounds` rounds were slow, which shows greedy
//!   flows in the queue.
//!
//! With `form = "linux"`, every ACK is a sample, windows and backlogs are whole packets, rounds of
//! fewer than three samples say nothing, and the base RTT is forgotten whenever nothing is in the
//! network.

use super::{
    Ack, CaState, CongestionAlgorithm, CongestionControl, Form, Forms, LINUX_FORM, MIN_SSTHRESH,
    Needs, Reduction, RttSamples, SegmentCount, Signal, Window,
};
use crate::fluid::{FluidTcp, Path, smooth_share};
use crate::meta::{About, Algorithm};
use crate::{DefaultValue, Interval, Scalar, Stream, Time, parameters};

parameters! {
    /// Parameters of YeAH-TCP.
    pub struct YeahParams {
        /// Backlog up to which the sender is fast.
        max_backlog: packets = 80.0, in Interval::above(0.0), "Baiocchi, Castellani and Vacirca 2007, section III";
        /// Share of the base RTT (as a divisor) up to which the queueing delay lets the sender be
        /// fast.
        delay_share: number = 8.0, in Interval::above(0.0), "Linux 6.1";
        /// Slow rounds in a row after which a loss halves.
        slow_rounds: number = 16.0, in Interval::at_least(0.0), "Linux 6.1";
        /// Fast rounds after which the Reno estimate is forgotten.
        fast_rounds: number = 50.0, in Interval::at_least(0.0), "Linux 6.1";
        /// The algorithm as published, or as Linux implements it.
        form: choice(Form) = Paper, "style: Linux 6.1";
    }
}

impl Algorithm for YeahParams {
    const ABOUT: About = About {
        kind: "yeah",
        title: "YeAH-TCP",
        summary: "Grows like Scalable TCP while its backlog is small, like Reno and with an early decrease when it is not, and yields no more than a Reno flow would.",
        citation: "A. Baiocchi, A. P. Castellani and F. Vacirca, YeAH-TCP: yet another highspeed TCP, PFLDnet 2007",
        ecn: true,
    };

    const LINUX: &'static [(&'static str, DefaultValue)] = &[LINUX_FORM];
}

impl CongestionAlgorithm for YeahParams {
    type Controller = Forms<PaperYeah, LinuxYeah>;

    fn build(&self, _flow: u32) -> Self::Controller {
        let modes = Modes {
            backlog: 0.0,
            reno: MIN_SSTHRESH,
            slow: 0,
            fast: 0,
            params: *self,
        };
        match self.form {
            Form::Paper => Forms::Paper(PaperYeah {
                round_rtt: f64::INFINITY,
                modes,
            }),
            Form::Linux => Forms::Linux(LinuxYeah {
                samples: RttSamples::NONE,
                count: SegmentCount::default(),
                modes,
            }),
        }
    }
}

/// Part of a threshold over which the share of flows above it rises in the equations.
const THRESHOLD_SPREAD: f64 = 0.1;

impl<S: Scalar> YeahParams<S> {
    /// Backlog, the share of flows that drain it, and the share of slow flows.
    fn modes(&self, window: S, path: &Path<S>) -> (S, S, S) {
        let backlog = window * path.delay() / path.measured;
        let above =
            |value: S, threshold: S| smooth_share((value / threshold - 1.0) / THRESHOLD_SPREAD);
        let crowded = above(backlog, self.max_backlog);
        let late = above(path.delay(), path.base_rtt / self.delay_share);
        (backlog, crowded, crowded + late - crowded * late)
    }
}

impl FluidTcp for YeahParams {
    type Over<S: Scalar> = YeahParams<S>;

    const APPROXIMATION: Option<&'static str> = Some(
        "fast and slow mode by the shares of flows beyond the thresholds of backlog and delay (Baiocchi, Castellani and Vacirca 2007), which rise smoothly over a \
         tenth of them, slow mode for more rounds than `slow_rounds`; without the floor of a Reno flow beside it under the drain",
    );

    const BY_DELAY: bool = true;

    /// (1 - s) / min(w, 100) + s / w - c min(Q, w / 2) / w, where s is the share of slow flows, c
    /// that of those that drain their backlog Q each round trip.
    fn increase<S: Scalar>(params: &YeahParams<S>, window: S, path: &Path<S>) -> S {
        let (backlog, crowded, slow) = params.modes(window, path);
        let one = S::from_f64(1.0);
        let drained = crowded * backlog.min(window * 0.5);
        (one - slow) / window.min(S::from_f64(100.0)) + (slow - drained) / window
    }

    /// Q, an eighth of the window at least and half at most, of fast flows; half of slow ones.
    fn decrease<S: Scalar>(params: &YeahParams<S>, window: S, path: &Path<S>) -> S {
        let (backlog, _, slow) = params.modes(window, path);
        let one = S::from_f64(1.0);
        let fast = backlog.min(window * 0.5).max(window * 0.125);
        (one - slow) * fast + slow * window * 0.5
    }
}

/// The common part of both forms: the backlog, the fast and the slow mode.
#[derive(Clone, Copy, Debug)]
struct Modes {
    /// Q of the last round.
    backlog: f64,
    /// The window of a Reno flow beside it, segments; two: not known.
    reno: f64,
    /// Slow rounds in a row; the sender is slow if there are any.
    slow: u32,
    /// Fast rounds since the last loss or reset.
    fast: u32,
    params: YeahParams,
}

impl Modes {
    /// Rounded down where packets are whole.
    fn whole(&self, packets: f64) -> f64 {
        match self.params.form {
            Form::Paper => packets,
            Form::Linux => packets.floor(),
        }
    }

    /// Acknowledged segments that let a window of `cwnd` grow by one.
    fn segments_per_step(&self, cwnd: f64) -> f64 {
        if self.slow == 0 {
            cwnd.min(100.0)
        } else {
            cwnd
        }
    }

    fn end_round(&mut self, round_rtt: f64, base_rtt: f64, window: &mut Window) {
        let delay = round_rtt - base_rtt;
        self.backlog = self.whole(window.cwnd * delay / round_rtt);
        let crowded = self.backlog > self.params.max_backlog;
        if crowded || delay > base_rtt / self.params.delay_share {
            if crowded && window.cwnd > self.reno {
                let drained = window.cwnd - self.backlog.min(self.whole(0.5 * window.cwnd));
                window.cwnd = drained.max(self.reno);
                window.ssthresh = window.cwnd;
            }
            self.reno = if self.reno <= MIN_SSTHRESH {
                self.whole(0.5 * window.cwnd).max(MIN_SSTHRESH)
            } else {
                self.reno + 1.0
            };
            self.slow = self.slow.saturating_add(1);
        } else {
            self.fast += 1;
            if f64::from(self.fast) > self.params.fast_rounds {
                (self.reno, self.fast) = (MIN_SSTHRESH, 0);
            }
            self.slow = 0;
        }
    }

    fn reduce(&mut self, reduction: &Reduction, window: &mut Window) {
        let used = reduction.window_used;
        let half = self.whole(used / 2.0);
        let few = f64::from(self.slow) < self.params.slow_rounds;
        let fall = if few && reduction.signal != Signal::Timeout {
            self.backlog.clamp(self.whole(used / 8.0), half)
        } else {
            half
        };
        self.fast = 0;
        self.reno = self.whole(0.5 * self.reno).max(MIN_SSTHRESH);
        window.ssthresh = (used - fall).max(MIN_SSTHRESH);
        window.cwnd = window.ssthresh;
    }
}

/// YeAH-TCP at work.
#[derive(Clone, Copy, Debug)]
pub struct PaperYeah {
    /// Smallest RTT of the round, s.
    round_rtt: f64,
    modes: Modes,
}

impl CongestionControl for PaperYeah {
    #[inline]
    fn on_ack(&mut self, ack: &Ack, window: &mut Window, _random: &mut Stream) {
        self.round_rtt = self.round_rtt.min(ack.rtt); // NaN is not smaller
        if ack.cwnd_limited {
            let acked = window.slow_start(f64::from(ack.acked));
            window.cwnd += acked / self.modes.segments_per_step(window.cwnd);
        }
        if ack.round_start && self.round_rtt < f64::INFINITY {
            self.modes.end_round(self.round_rtt, ack.min_rtt, window);
            self.round_rtt = f64::INFINITY;
        }
    }

    fn on_congestion(&mut self, reduction: &Reduction, window: &mut Window) {
        self.modes.reduce(reduction, window);
        self.round_rtt = f64::INFINITY;
    }
}

/// YeAH-TCP at work as in Linux.
#[derive(Clone, Copy, Debug)]
pub struct LinuxYeah {
    samples: RttSamples,
    count: SegmentCount,
    modes: Modes,
}

impl CongestionControl for LinuxYeah {
    fn needs(&self) -> Needs {
        Needs {
            every_ack: true,
            ca_state: true,
            ..Needs::default()
        }
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack, window: &mut Window, _random: &mut Stream) {
        if !ack.cwnd_limited {
            return;
        }
        let acked = window.slow_start(f64::from(ack.acked));
        if acked > 0.0 {
            let per = self.modes.segments_per_step(window.cwnd);
            self.count.grow(acked, per, &mut window.cwnd);
        }
        if ack.round_start {
            let RttSamples { base, least, count } = self.samples;
            if count > 2 {
                self.modes.end_round(least, base, window);
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
    }

    fn set_state(&mut self, state: CaState) {
        if state == CaState::Open {
            self.samples.begin_round();
        }
    }

    fn on_congestion(&mut self, reduction: &Reduction, window: &mut Window) {
        self.modes.reduce(reduction, window);
        self.count.clear();
        self.samples.least = f64::INFINITY;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Parameters as _;
    use crate::congestion::test::{ack, loss, random};

    fn start() -> PaperYeah {
        YeahParams::from_values(&[]).unwrap().build(0).paper()
    }

    /// A round of one ACK from `cwnd` over a base of 0.1 s.
    fn round(control: &mut PaperYeah, cwnd: f64, rtt: f64) -> f64 {
        let mut window = Window {
            cwnd,
            ssthresh: 2.0,
        };
        let sample = Ack {
            rtt,
            min_rtt: 0.1,
            round_start: true,
            ..ack(1)
        };
        control.on_ack(&sample, &mut window, &mut random());
        window.cwnd
    }

    #[test]
    fn scalable_while_queues_are_short_reno_else() {
        let mut control = start();
        assert_eq!(round(&mut control, 500.0, 0.1), 500.01);
        assert_eq!(round(&mut control, 50.0, 0.1), 50.02);
        // delay above an eighth of the base RTT, backlog 100 / 9 packets: slow from the next ACK
        // on, no drain
        assert_eq!(round(&mut control, 100.0, 0.1126), 100.01);
        assert_eq!(round(&mut control, 500.0, 0.1), 500.002);
        assert_eq!(control.modes.slow, 0); // fast again
    }

    #[test]
    fn backlogs_above_the_limit_are_drained_down_to_renos_window() {
        let mut control = start();
        // Q = 500.01 / 5 = 100.002 > 80
        let left = round(&mut control, 500.0, 0.125);
        assert!((left - 500.01 * 0.8).abs() < 1e-9, "{left}");
        assert!((control.modes.reno - left / 2.0).abs() < 1e-9);
        // Q = 2/3 w: half the window at most, and not below Reno's
        let left = round(&mut control, 600.0, 0.3);
        assert!((left - 300.0).abs() < 0.01, "{left}");
        assert!((control.modes.reno - 201.0).abs() < 0.01);
        let left = round(&mut control, 300.0, 0.3);
        assert!((left - 201.0).abs() < 0.01, "{left}");
    }

    #[test]
    fn a_loss_takes_the_backlog_unless_others_fill_the_queue() {
        let fall = |control: &mut PaperYeah| {
            let mut window = Window {
                cwnd: 400.0,
                ssthresh: 2.0,
            };
            control.on_congestion(&loss(400.0), &mut window);
            400.0 - window.cwnd
        };
        let mut control = start();
        assert_eq!(fall(&mut control), 50.0); // an eighth at least
        control.modes.backlog = 75.0;
        assert_eq!(fall(&mut control), 75.0);
        control.modes.backlog = 300.0;
        assert_eq!(fall(&mut control), 200.0); // half at most
        control.modes.backlog = 75.0;
        control.modes.slow = 15;
        assert_eq!(fall(&mut control), 75.0);
        control.modes.slow = 16;
        assert_eq!(fall(&mut control), 200.0);
    }

    #[test]
    fn renos_window_is_forgotten_after_fast_rounds() {
        let mut control = start();
        control.modes.reno = 100.0;
        for _ in 0..50 {
            round(&mut control, 100.0, 0.1);
        }
        assert_eq!(control.modes.reno, 100.0);
        round(&mut control, 100.0, 0.1);
        assert_eq!(control.modes.reno, 2.0);
    }
}
