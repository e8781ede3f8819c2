//! FAST TCP: steers the window so that `alpha` packets of the flow wait in queues.
//!
//! Once a round trip w becomes min(2 w, (1 - gamma) w + gamma (w base RTT / RTT + alpha)), with an
//! RTT smoothed by the weight min(3 / w, 1/4) a sample. The step is in proportion to the distance
//! from the equilibrium w (1 - base RTT / RTT) = alpha, whatever the path. Slow start is Reno's
//! until alpha packets wait. Losses and marks halve the window. Pacing of bursts is not part of it.

use super::{Ack, CongestionAlgorithm, CongestionControl, MIN_SSTHRESH, Reduction, Window};
use crate::fluid::{FluidTcp, Path, TcpInput};
use crate::meta::{About, Algorithm};
use crate::{Interval, Scalar, Stream, parameters};

parameters! {
    /// Parameters of FAST TCP.
    pub struct FastParams {
        /// Packets of the flow that are to wait in queues. The authors used 8, 20 and 200 for flows
        /// of up to 10, 100 and 1000 Mbit/s.
        alpha: packets = 20.0, in Interval::above(0.0), "Wei, Jin, Low and Hegde 2006, section III";
        /// Share of the way to the target that is gone in a round trip.
        gamma: number = 0.5, in Interval::above_to(0.0, 1.0), "Wei, Jin, Low and Hegde 2006, equation (4)";
    }
}

impl Algorithm for FastParams {
    const ABOUT: About = About {
        kind: "fast",
        title: "FAST TCP",
        summary: "Moves the window each round trip towards the one that keeps alpha packets of the flow in queues.",
        citation: "D. X. Wei, C. Jin, S. H. Low and S. Hegde, FAST TCP: motivation, architecture, algorithms, performance, IEEE/ACM Transactions on Networking 14(6), 2006",
        ecn: true,
    };
}

impl CongestionAlgorithm for FastParams {
    type Controller = Fast;

    fn build(&self, _flow: u32) -> Fast {
        Fast {
            average: f64::NAN,
            limited: false,
            params: *self,
        }
    }
}

impl<S: Scalar> FastParams<S> {
    /// The change by one acknowledgement at a mean RTT of `average`, s.
    fn step(&self, window: S, average: S, base_rtt: S) -> S {
        let backlog = window * (average - base_rtt) / average;
        (self.gamma * (self.alpha - backlog)).min(window) / window
    }
}

impl FluidTcp for FastParams {
    type Over<S: Scalar> = FastParams<S>;

    const APPROXIMATION: Option<&'static str> = Some(
        "the step of each round trip as a rate (Jin, Wei and Low 2004, equation (3)), with the mean RTT as a state; bursts and pacing are left out",
    );

    const BY_DELAY: bool = true;

    /// gamma (alpha - w (1 - base RTT / RTT)) / w: C. Jin, D. X. Wei and S. H. Low, "FAST TCP:
    /// motivation, architecture, algorithms, performance", INFOCOM 2004, with the round trip as the
    /// unit of time. Not more than doubles the window in a round trip.
    fn increase<S: Scalar>(params: &FastParams<S>, window: S, path: &Path<S>) -> S {
        params.step(window, path.measured, path.base_rtt)
    }

    /// w / 2.
    fn decrease<S: Scalar>(_params: &FastParams<S>, window: S, _path: &Path<S>) -> S {
        window * 0.5
    }

    fn state_names<S: Scalar>(_params: &FastParams<S>) -> &'static [&'static str] {
        &["window (packets)", "mean RTT (s)"]
    }

    fn start<S: Scalar>(_params: &FastParams<S>, window: S, path: &Path<S>, state: &mut [S]) {
        state[0] = window;
        state[1] = path.measured;
    }

    /// The mean RTT follows with a weight of min(3 / w, 1/4) a sample.
    fn derivative<S: Scalar>(
        params: &FastParams<S>,
        input: &TcpInput<S>,
        state: &[S],
        rate: &mut [S],
    ) {
        let TcpInput {
            acks,
            signals,
            path,
            ..
        } = input;
        let (window, average) = (state[0], state[1]);
        let weight = (S::from_f64(3.0) / window).min(S::from_f64(0.25));
        rate[0] = params.step(window, average, path.base_rtt) * *acks - window * 0.5 * *signals;
        rate[1] = weight * *acks * (path.measured - average);
    }
}

/// FAST TCP at work.
#[derive(Clone, Copy, Debug)]
pub struct Fast {
    /// Mean RTT, s; NaN before the first sample.
    average: f64,
    /// Whether the window was full at some time in the round.
    limited: bool,
    params: FastParams,
}

impl CongestionControl for Fast {
    #[inline]
    fn on_ack(&mut self, ack: &Ack, window: &mut Window, _random: &mut Stream) {
        if self.average.is_nan() {
            self.average = ack.rtt;
        } else if !ack.rtt.is_nan() {
            self.average += (3.0 / window.cwnd).min(0.25) * (ack.rtt - self.average);
        }
        self.limited |= ack.cwnd_limited;
        let FastParams { alpha, gamma } = self.params;
        if ack.round_start && !self.average.is_nan() {
            let w = window.cwnd;
            let filled = w * ack.min_rtt / self.average;
            if !window.in_slow_start() {
                let target = (2.0 * w).min((1.0 - gamma) * w + gamma * (filled + alpha));
                if target < w || self.limited {
                    window.cwnd = target.max(MIN_SSTHRESH.min(w));
                    // a smaller window is no reason for slow start
                    window.ssthresh = window.ssthresh.min(window.cwnd).max(MIN_SSTHRESH);
                }
            } else if w - filled >= alpha {
                window.ssthresh = w.max(MIN_SSTHRESH);
            }
            self.limited = false;
        }
        if ack.cwnd_limited {
            window.slow_start(f64::from(ack.acked));
        }
    }

    fn on_congestion(&mut self, reduction: &Reduction, window: &mut Window) {
        window.ssthresh = (0.5 * reduction.window_used).max(MIN_SSTHRESH);
        window.cwnd = window.ssthresh;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Parameters as _;
    use crate::congestion::test::{ack, loss, random};

    fn params() -> FastParams {
        FastParams::from_values(&[]).unwrap()
    }

    /// A round with every sample `rtt`, the base being 0.1 s.
    fn round(control: &mut Fast, window: &mut Window, rtt: f64) {
        for n in 0..window.cwnd as u32 {
            let sample = Ack {
                rtt,
                min_rtt: 0.1,
                round_start: n == 0,
                ..ack(1)
            };
            control.on_ack(&sample, window, &mut random());
        }
    }

    #[test]
    fn equation_4() {
        let mut control = Fast {
            average: 0.125,
            ..params().build(0)
        };
        let mut window = Window {
            cwnd: 200.0,
            ssthresh: 2.0,
        };
        round(&mut control, &mut window, 0.125);
        // (200 + 160 + 20) / 2
        assert!((window.cwnd - 190.0).abs() < 1e-9);
        // never more than double
        let mut window = Window {
            cwnd: 5.0,
            ssthresh: 2.0,
        };
        control.average = 0.1;
        round(&mut control, &mut window, 0.1);
        assert_eq!(window.cwnd, 10.0);
    }

    #[test]
    fn alpha_packets_wait_in_equilibrium() {
        // a path of 0.1 s and 100 packets: the rest waits. Slow start overshoots to 256 and must
        // not come back on the way down
        let mut control = params().build(0);
        let mut window = Window {
            cwnd: 4.0,
            ssthresh: f64::INFINITY,
        };
        for _ in 0..200 {
            let rtt = 0.1 * (window.cwnd / 100.0).max(1.0);
            round(&mut control, &mut window, rtt);
        }
        assert!((window.cwnd - 120.0).abs() < 1e-6, "{}", window.cwnd);
        assert!(window.ssthresh <= window.cwnd);
    }

    #[test]
    fn the_average_forgets_with_three_windows_of_samples() {
        let mut control = Fast {
            average: 0.1,
            ..params().build(0)
        };
        for (cwnd, weight) in [(30.0, 0.1), (6.0, 0.25)] {
            control.average = 0.1;
            let mut window = Window {
                cwnd,
                ssthresh: 2.0,
            };
            let sample = Ack {
                rtt: 0.2,
                min_rtt: 0.1,
                ..ack(1)
            };
            control.on_ack(&sample, &mut window, &mut random());
            assert!((control.average - 0.1 - 0.1 * weight).abs() < 1e-15);
        }
        let mut window = Window {
            cwnd: 30.0,
            ssthresh: 2.0,
        };
        control.on_congestion(&loss(30.0), &mut window);
        assert_eq!((window.cwnd, window.ssthresh), (15.0, 15.0));
    }
}
