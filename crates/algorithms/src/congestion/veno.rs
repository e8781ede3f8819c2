//! TCP Veno: Reno that tells random losses from congestion by its backlog.
//!
//! Once a round trip the backlog of the flow in queues is estimated as N = w (1 - base RTT / RTT), with the smallest RTT of the round. Below `beta` packets the path is
//! taken as not congested: growth is Reno's, and a loss takes only a fifth of the window. From there on growth is half as fast (one segment every other round
//! trip) and a loss takes half.

use super::{Ack, CongestionAlgorithm, CongestionControl, MIN_SSTHRESH, Reduction, Signal, Window};
use crate::registry::{About, Algorithm};
use crate::{Interval, Stream, parameters};

parameters! {
    /// Parameters of TCP Veno.
    pub struct VenoParams {
        /// Backlog from which the path counts as congested.
        beta: packets = 3.0, in Interval::above(0.0), "Fu and Liew 2003, section III";
        /// Decrease fraction of a loss without congestion: the window falls to (1 - random_decrease) w.
        random_decrease: number = 0.2, in Interval::inside(0.0, 1.0), "Fu and Liew 2003, section III";
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
}

impl CongestionAlgorithm for VenoParams {
    type Controller = Veno;

    fn build(&self, _flow: u32) -> Veno {
        Veno {
            round_rtt: f64::INFINITY,
            congested: true,
            params: *self,
        }
    }
}

/// TCP Veno at work.
#[derive(Clone, Copy, Debug)]
pub struct Veno {
    /// Smallest RTT of the round, s.
    round_rtt: f64,
    /// Whether the last round's backlog reached beta; as Reno before the first.
    congested: bool,
    params: VenoParams,
}

impl CongestionControl for Veno {
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
        let fall = if random {
            self.params.random_decrease
        } else {
            0.5
        };
        window.ssthresh = ((1.0 - fall) * reduction.window_used).max(MIN_SSTHRESH);
        window.cwnd = window.ssthresh;
        self.round_rtt = f64::INFINITY;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Parameters as _;
    use crate::congestion::test::{ack, loss, random};

    /// A round of one ACK at 60 segments over a base of 0.1 s. Returns what it added.
    fn round(control: &mut Veno, rtt: f64) -> f64 {
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

    fn left(control: &mut Veno, signal: Signal) -> f64 {
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
        let mut control = VenoParams::from_values(&[]).unwrap().build(0);
        // 60 (1 - 0.1 / rtt) = 3 at rtt = 0.1 / 0.95
        let edge = 0.1 / 0.95;
        assert!((round(&mut control, edge - 1e-6) - 1.0 / 60.0).abs() < 1e-12);
        assert_eq!(left(&mut control, Signal::Loss), 48.0);
        assert_eq!(left(&mut control, Signal::Ecn), 30.0); // a mark is no random loss
        assert_eq!(left(&mut control, Signal::Timeout), 30.0);
        assert!((round(&mut control, edge + 1e-6) - 0.5 / 60.0).abs() < 1e-12);
        assert_eq!(left(&mut control, Signal::Loss), 30.0);
    }
}
