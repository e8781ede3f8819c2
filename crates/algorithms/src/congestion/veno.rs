//! TCP Veno: Reno that tells random losses from congestion by its backlog.
//!
//! Once a round trip the backlog of the flow in queues is estimated as N = w (1 - base RTT / RTT),
//! with the smallest RTT of the round. Below `beta` packets the path is taken as not congested:
//! growth is Reno's, and a loss takes only a fifth of the window. From there on growth is half as
//! fast (one segment every other round trip) and a loss takes half.
//!
//! With `form = "linux"`, the backlog is that of the last ACK's own RTT, in half packets rounded
//! down; in the congested state the window grows at every other time that a window of packets has
//! been counted, and the ACK after which it does does not count; while something is lost, marked or
//! out of order it is Reno; and the base RTT is forgotten whenever nothing is in the network.

use super::{
    Ack, CaState, CongestionAlgorithm, CongestionControl, Form, Forms, LINUX_FORM, MIN_SSTHRESH,
    Needs, Reduction, RttSamples, SegmentCount, Signal, Window,
};
use crate::fluid::{FluidTcp, Path, smooth_share};
use crate::meta::{About, Algorithm};
use crate::{DefaultValue, Interval, Scalar, Stream, Time, parameters};

parameters! {
    /// Parameters of TCP Veno.
    pub struct VenoParams {
        /// Backlog from which the path counts as congested.
        beta: packets = 3.0, in Interval::above(0.0), "Fu and Liew 2003, section III";
        /// Decrease fraction of a loss without congestion: the window falls to (1 -
        /// random_decrease) w.
        random_decrease: number = 0.2, in Interval::inside(0.0, 1.0), "Fu and Liew 2003, section III";
        /// The algorithm as published, or as Linux implements it.
        form: choice(Form) = Paper, "style: Linux 6.1";
    }
}

impl Algorithm for VenoParams {
    const ABOUT: About = About {
        kind: "veno",
        title: "TCP Veno",
        summary: "Reno that falls by a fifth only where a loss comes without a backlog in queues, and grows half as fast with one: for wireless links.",
        citation: "C. P. Fu and S. C. Liew, TCP Veno: TCP enhancement for transmission over wireless access networks, IEEE JSAC 21(2), 2003",
        ecn: true,
    };

    const LINUX: &'static [(&'static str, DefaultValue)] = &[LINUX_FORM];
}

impl CongestionAlgorithm for VenoParams {
    type Controller = Forms<PaperVeno, LinuxVeno>;

    fn build(&self, _flow: u32) -> Self::Controller {
        match self.form {
            Form::Paper => Forms::Paper(PaperVeno {
                round_rtt: f64::INFINITY,
                congested: true,
                params: *self,
            }),
            Form::Linux => Forms::Linux(LinuxVeno {
                congested: false,
                samples: RttSamples::NONE,
                grow_next: true,
                measuring: true,
                count: SegmentCount::default(),
                params: *self,
            }),
        }
    }
}

impl<S: Scalar> VenoParams<S> {
    /// Share of the flows whose backlog is beta or more where the mean window is `window`. Windows
    /// are spread evenly from 2/3 to 4/3 of their mean, as in a sawtooth that halves; the smooth
    /// share has that spread's value and slope at beta.
    fn congested(&self, window: S, path: &Path<S>) -> S {
        let backlog = window * path.delay() / path.measured;
        smooth_share((backlog / self.beta - 1.0) * 3.0)
    }
}

impl FluidTcp for VenoParams {
    type Over<S: Scalar> = VenoParams<S>;

    const APPROXIMATION: Option<&'static str> = Some(
        "growth and decrease of the share of flows whose backlog is beta or more (Fu and Liew 2003), which rises smoothly about beta; marks are taken as losses",
    );

    const BY_DELAY: bool = true;

    /// (1 - c / 2) / w, where c is the share of congested flows.
    fn increase<S: Scalar>(params: &VenoParams<S>, window: S, path: &Path<S>) -> S {
        (-params.congested(window, path) * 0.5 + 1.0) / window
    }

    /// (`random_decrease` (1 - c) + c / 2) w.
    fn decrease<S: Scalar>(params: &VenoParams<S>, window: S, path: &Path<S>) -> S {
        let more = -params.random_decrease + 0.5;
        (params.random_decrease + more * params.congested(window, path)) * window
    }
}

impl VenoParams {
    /// Share of the window that remains after a loss.
    fn remains(&self, random: bool) -> f64 {
        1.0 - if random { self.random_decrease } else { 0.5 }
    }
}

/// TCP Veno at work.
#[derive(Clone, Copy, Debug)]
pub struct PaperVeno {
    /// Smallest RTT of the round, s.
    round_rtt: f64,
    /// Whether the last round's backlog reached beta; as Reno before the first.
    congested: bool,
    params: VenoParams,
}

impl CongestionControl for PaperVeno {
    #[inline]
    fn on_ack(&mut self, ack: &Ack, window: &mut Window, _random: &mut Stream) {
        self.round_rtt = self.round_rtt.min(ack.rtt); // NaN is not smaller
        if ack.round_start && self.round_rtt < f64::INFINITY {
            let backlog = window.cwnd * (1.0 - ack.min_rtt / self.round_rtt);
            self.congested = backlog >= self.params.beta;
            self.round_rtt = f64::INFINITY;
        }
        if ack.cwnd_limited {
            let acked = window.slow_start(f64::from(ack.acked));
            let step = if self.congested { 0.5 } else { 1.0 };
            window.cwnd += step * acked / window.cwnd;
        }
    }

    fn on_congestion(&mut self, reduction: &Reduction, window: &mut Window) {
        let random = !self.congested && reduction.signal == Signal::Loss;
        let left = self.params.remains(random) * reduction.window_used;
        window.ssthresh = left.max(MIN_SSTHRESH);
        window.cwnd = window.ssthresh;
        self.round_rtt = f64::INFINITY;
    }
}

/// TCP Veno at work as in Linux.
#[derive(Clone, Copy, Debug)]
pub struct LinuxVeno {
    /// Whether the backlog reached beta at the last ACK that let the window grow.
    congested: bool,
    /// `least` is that since the last ACK that let the window grow; all samples count.
    samples: RttSamples,
    /// Whether the next window of packets lets the window grow.
    grow_next: bool,
    /// Whether it is at work; if not, Reno is.
    measuring: bool,
    count: SegmentCount,
    params: VenoParams,
}

impl CongestionControl for LinuxVeno {
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
        let known = self.samples.count > 2 && self.measuring;
        if known {
            // without a sample since the last ACK that counted nothing counts as carried
            let filled = (2.0 * window.cwnd * self.samples.base / self.samples.least).floor();
            let backlog = 2.0 * window.cwnd - filled;
            self.congested = backlog >= 2.0 * self.params.beta;
        }
        if self.measuring {
            self.samples.least = f64::INFINITY;
        }
        let acked = window.slow_start(f64::from(ack.acked));
        if acked <= 0.0 {
            return;
        }
        let per = window.cwnd;
        if !known || !self.congested {
            self.count.grow(acked, per, &mut window.cwnd);
        } else if self.count.0 >= per {
            self.count.clear();
            window.cwnd += f64::from(u8::from(self.grow_next));
            self.grow_next = !self.grow_next;
        } else {
            self.count.0 += acked;
        }
    }

    fn on_every_ack(&mut self, ack: &Ack) {
        self.samples.take(ack.rtt);
    }

    fn on_restart(&mut self, _now: Time, _window: &mut Window) {
        // nothing is in the network, in a recovery too
        self.samples.base = f64::INFINITY;
        self.samples.least = f64::INFINITY;
        (self.measuring, self.grow_next) = (true, true);
    }

    fn set_state(&mut self, state: CaState) {
        self.measuring = state == CaState::Open;
        if self.measuring {
            self.samples.least = f64::INFINITY;
        }
    }

    fn on_congestion(&mut self, reduction: &Reduction, window: &mut Window) {
        let left = (self.params.remains(!self.congested) * reduction.window_used).floor();
        self.count.clear();
        window.ssthresh = left.max(MIN_SSTHRESH);
        window.cwnd = window.ssthresh;
        self.samples.least = f64::INFINITY;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Parameters as _;
    use crate::congestion::test::{ack, loss, random};

    /// A round of one ACK at 60 segments over a base of 0.1 s. Returns what it added.
    fn round(control: &mut PaperVeno, rtt: f64) -> f64 {
        let mut window = Window {
            cwnd: 60.0,
            ssthresh: 2.0,
        };
        let sample = Ack {
            rtt,
            min_rtt: 0.1,
            round_start: true,
            ..ack(1)
        };
        control.on_ack(&sample, &mut window, &mut random());
        window.cwnd - 60.0
    }

    fn left(control: &mut PaperVeno, signal: Signal) -> f64 {
        let mut window = Window {
            cwnd: 60.0,
            ssthresh: 2.0,
        };
        let lost = Reduction {
            signal,
            ..loss(60.0)
        };
        control.on_congestion(&lost, &mut window);
        window.ssthresh
    }

    #[test]
    fn growth_and_fall_by_the_backlog() {
        let mut control = VenoParams::from_values(&[]).unwrap().build(0).paper();
        // 60 (1 - 0.1 / rtt) = 3 at rtt = 0.1 / 0.95
        let edge = 0.1 / 0.95;
        assert!((round(&mut control, edge - 1e-6) - 1.0 / 60.0).abs() < 1e-12);
        assert_eq!(left(&mut control, Signal::Loss), 48.0);
        assert_eq!(left(&mut control, Signal::Ecn), 30.0); // a mark is no random loss
        assert_eq!(left(&mut control, Signal::Timeout), 30.0);
        assert!((round(&mut control, edge + 1e-6) - 0.5 / 60.0).abs() < 1e-12);
        assert_eq!(left(&mut control, Signal::Loss), 30.0);
    }

    /// Linux: at the first RTT with a backlog of three packets growth is halved, and the loss
    /// halves; without one it takes a fifth.
    #[test]
    fn whole_packets_as_in_linux() {
        let linux = VenoParams {
            form: Form::Linux,
            ..VenoParams::from_values(&[]).unwrap()
        };
        for (rtt, acks, left) in [(0.1, 30, 24.0), (0.12, 62, 15.0)] {
            let mut control = linux.build(0);
            let mut window = Window {
                cwnd: 30.0,
                ssthresh: 2.0,
            };
            for _ in 0..3 {
                control.on_every_ack(&Ack { rtt: 0.1, ..ack(1) });
            }
            let mut counted = 0;
            while window.cwnd == 30.0 {
                let sample = Ack { rtt, ..ack(1) };
                control.on_every_ack(&sample);
                control.on_ack(&sample, &mut window, &mut random());
                counted += 1;
            }
            // the first counted window may grow at once: it is every other one that does not
            assert!(counted <= acks, "{counted}");
            window.cwnd = 30.0;
            control.on_congestion(&loss(30.0), &mut window);
            assert_eq!(window.cwnd, left);
        }
    }
}
