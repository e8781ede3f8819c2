//! Scalable TCP: multiplicative increase, multiplicative decrease.
//!
//! Above the legacy window (16 segments) each acknowledged segment adds `a` (0.01) to the window
//! and a loss or mark takes the fraction `b` (1/8) of it: after a loss it is back in ln(1 / (1 -
//! b)) / ln(1 + a) round trips (13.4) whatever its size. Smaller windows are Reno's, in growth and
//! fall. Linux 2.6 and ns-2 take a = 0.02, and 1 / w below 50 segments; Linux 6.1 takes 1 / w below
//! 100 segments, and b at every loss.

use super::{
    Ack, CongestionAlgorithm, CongestionControl, MIN_SSTHRESH, Reduction, SegmentCount, Window,
};
use crate::fluid::{FluidTcp, Path};
use crate::meta::{About, Algorithm};
use crate::{DefaultValue, Interval, Scalar, Stream, parameters};

parameters! {
    /// Parameters of Scalable TCP.
    pub struct ScalableParams {
        /// Segments added to the window for each one acknowledged.
        a: number = 0.01, in Interval::above_to(0.0, 1.0), "Kelly 2003, section 2.2";
        /// Decrease fraction: the window falls to (1 - b) w at a loss or mark.
        b: number = 0.125, in Interval::inside(0.0, 1.0), "Kelly 2003, section 2.2";
        /// Window up to which the sender is Reno.
        legacy_window: packets = 16.0, in Interval::at_least(0.0), "Kelly 2003, section 2.2";
        /// Whether windows up to `legacy_window` fall by half, as Reno's.
        legacy_halving: flag = true, "Kelly 2003, section 2.2";
        /// Whether the window is a whole number of packets: it grows by one once enough packets
        /// have been acknowledged, and what a reduction takes is rounded down. Kernels count so.
        whole_packets: flag = false, "Linux 6.1";
    }
}

impl Algorithm for ScalableParams {
    const ABOUT: About = About {
        kind: "scalable",
        title: "Scalable TCP",
        summary: "Adds a hundredth of the window each round trip and takes an eighth of it at a loss, so that the time between losses does not depend on the window.",
        citation: "T. Kelly, Scalable TCP: improving performance in highspeed wide area networks, ACM CCR 33(2), 2003",
        ecn: true,
    };

    const LINUX: &'static [(&'static str, DefaultValue)] = &[
        ("whole_packets", DefaultValue::Flag(true)),
        ("legacy_window", DefaultValue::Number(100.0)),
        ("legacy_halving", DefaultValue::Flag(false)),
    ];
}

impl CongestionAlgorithm for ScalableParams {
    type Controller = Scalable;

    fn build(&self, _flow: u32) -> Scalable {
        Scalable {
            params: *self,
            count: SegmentCount::default(),
        }
    }
}

impl FluidTcp for ScalableParams {
    type Over<S: Scalar> = ScalableParams<S>;

    /// a.
    fn increase<S: Scalar>(params: &ScalableParams<S>, _window: S, _path: &Path<S>) -> S {
        params.a
    }

    /// b w.
    fn decrease<S: Scalar>(params: &ScalableParams<S>, window: S, _path: &Path<S>) -> S {
        params.b * window
    }

    /// `legacy_window`. The increase falls there, from 1 / 16 to 1 / 100.
    fn small_below<S: Scalar>(params: &ScalableParams<S>, _path: &Path<S>) -> S {
        params.legacy_window
    }
}

/// Scalable TCP at work.
#[derive(Clone, Copy, Debug)]
pub struct Scalable {
    params: ScalableParams,
    count: SegmentCount,
}

impl CongestionControl for Scalable {
    #[inline]
    fn on_ack(&mut self, ack: &Ack, window: &mut Window, _random: &mut Stream) {
        if ack.cwnd_limited {
            let acked = window.slow_start(f64::from(ack.acked));
            let step = if window.cwnd > self.params.legacy_window {
                self.params.a
            } else {
                1.0 / window.cwnd
            };
            if !self.params.whole_packets {
                window.cwnd += acked * step;
            } else if acked > 0.0 {
                self.count
                    .grow(acked, (1.0 / step).round(), &mut window.cwnd);
            }
        }
    }

    fn on_congestion(&mut self, reduction: &Reduction, window: &mut Window) {
        let used = reduction.window_used;
        let fall = if used > self.params.legacy_window || !self.params.legacy_halving {
            self.params.b
        } else {
            0.5
        };
        let mut left = used * (1.0 - fall);
        if self.params.whole_packets {
            left = used - (used * fall).floor();
            self.count.clear();
        }
        window.ssthresh = left.max(MIN_SSTHRESH);
        window.cwnd = window.ssthresh;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Parameters as _;
    use crate::congestion::test::{PATH, ack, loss, random};

    fn params() -> ScalableParams {
        ScalableParams::from_values(&[]).unwrap()
    }

    /// Round trips from a loss at `window` until it is back, one ACK a segment.
    fn recovery(window: f64) -> f64 {
        let mut control = params().build(0);
        let mut state = Window {
            cwnd: window,
            ssthresh: window,
        };
        control.on_congestion(&loss(window), &mut state);
        let mut rounds = 0.0;
        while state.cwnd < window {
            rounds += 1.0 / state.cwnd;
            control.on_ack(&ack(1), &mut state, &mut random());
        }
        rounds
    }

    #[test]
    fn recovery_takes_the_same_round_trips_for_any_window() {
        // a full window of ACKs adds a w while they arrive: exponential growth, ln(8/7) / a round
        // trips
        let closed_form = (8.0_f64 / 7.0).ln() / 0.01;
        for window in [1000.0, 10_000.0, 100_000.0] {
            let rounds = recovery(window);
            assert!(
                (rounds / closed_form - 1.0).abs() < 0.005,
                "{window}: {rounds}"
            );
        }
    }

    #[test]
    fn small_windows_are_renos() {
        let mut control = params().build(0);
        let mut window = Window {
            cwnd: 16.0,
            ssthresh: 2.0,
        };
        control.on_ack(&ack(1), &mut window, &mut random());
        assert_eq!(window.cwnd, 16.0 + 1.0 / 16.0);
        control.on_ack(&ack(2), &mut window, &mut random());
        assert_eq!(window.cwnd, 16.0 + 1.0 / 16.0 + 0.02);
        control.on_congestion(&loss(16.0), &mut window);
        assert_eq!(window.cwnd, 8.0);
        control.on_congestion(&loss(80.0), &mut window);
        assert_eq!(window.cwnd, 70.0);
    }

    #[test]
    fn equilibrium_is_a_over_b_p() {
        // Kelly 2003: w = a / (b p) for small p
        let (w, p): (f64, f64) = (800.0, 1e-4);
        let balance = ScalableParams::increase(&params(), w, &PATH)
            - ScalableParams::decrease(&params(), w, &PATH) * p;
        assert!(balance.abs() < 1e-15);
    }

    /// Linux: 1 / min(w, 100) a segment, an eighth at every loss, rounded down.
    #[test]
    fn whole_packets_as_in_linux() {
        let linux = ScalableParams {
            legacy_window: 100.0,
            legacy_halving: false,
            whole_packets: true,
            ..params()
        };
        for (cwnd, acks) in [(20.0, 20), (400.0, 100)] {
            let mut control = linux.build(0);
            let mut window = Window {
                cwnd,
                ssthresh: 2.0,
            };
            for _ in 0..acks - 1 {
                control.on_ack(&ack(1), &mut window, &mut random());
            }
            assert_eq!(window.cwnd, cwnd);
            control.on_ack(&ack(1), &mut window, &mut random());
            assert_eq!(window.cwnd, cwnd + 1.0);
        }
        for (used, left) in [(15.0, 14.0), (100.0, 88.0)] {
            let (mut control, mut window) = (
                linux.build(0),
                Window {
                    cwnd: used,
                    ssthresh: used,
                },
            );
            control.on_congestion(&loss(used), &mut window);
            assert_eq!(window.cwnd, left);
        }
    }
}
