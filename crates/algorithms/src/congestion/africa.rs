//! TCP-AFRICA: HighSpeed TCP while queues are short, Reno when they are not.
//!
//! The backlog of the flow in queues is estimated as w (1 - base RTT / average RTT). Below `alpha`
//! segments the sender is in fast mode and grows by a(w) of HighSpeed TCP a round trip; from there
//! on in slow mode, by one segment. A loss or mark takes the fraction b(w) of HighSpeed TCP in
//! both. The average forgets with an eighth of each sample. Up to 38 segments all of it is Reno.

use super::{
    Ack, CongestionAlgorithm, CongestionControl, MIN_SSTHRESH, Reduction, ResponseParams, Window,
};
use crate::fluid::{FluidTcp, Path};
use crate::meta::{About, Algorithm};
use crate::{Interval, Scalar, Stream, ValueError, parameters};

parameters! {
    /// Parameters of TCP-AFRICA.
    pub struct AfricaParams {
        include highspeed: ResponseParams;
        /// Backlog in queues from which the sender is in slow mode.
        alpha: packets = 1.641, in Interval::above(0.0), "King, Baraniuk and Riedi 2005, section III";
        /// Weight of an RTT sample in the average.
        weight: number = 0.125, in Interval::above_to(0.0, 1.0), "King, Baraniuk and Riedi 2005, section III";
    }
}

impl Algorithm for AfricaParams {
    const ABOUT: About = About {
        kind: "africa",
        title: "TCP-AFRICA",
        summary: "Grows like HighSpeed TCP while its backlog in queues is below a threshold and like Reno above.",
        citation: "R. King, R. Baraniuk and R. Riedi, TCP-Africa: an adaptive and fair rapid increase rule for scalable TCP, INFOCOM 2005",
        ecn: true,
    };

    fn check(&self) -> Result<(), ValueError> {
        self.highspeed.check()
    }
}

impl CongestionAlgorithm for AfricaParams {
    type Controller = Africa;

    fn build(&self, _flow: u32) -> Africa {
        Africa {
            average: f64::NAN,
            params: *self,
        }
    }
}

impl FluidTcp for AfricaParams {
    type Over<S: Scalar> = AfricaParams<S>;

    const APPROXIMATION: Option<&'static str> =
        Some("in fast mode throughout: backlogs below alpha (Manjunath and Raina, table I)");

    /// a(w) / w.
    fn increase<S: Scalar>(params: &AfricaParams<S>, window: S, _path: &Path<S>) -> S {
        params.highspeed.at(window).0 / window
    }

    /// b(w) w.
    fn decrease<S: Scalar>(params: &AfricaParams<S>, window: S, _path: &Path<S>) -> S {
        params.highspeed.at(window).1 * window
    }

    /// `low_window`, as of HighSpeed TCP.
    fn small_below<S: Scalar>(params: &AfricaParams<S>, _path: &Path<S>) -> S {
        params.highspeed.low_window
    }
}

/// TCP-AFRICA at work.
#[derive(Clone, Copy, Debug)]
pub struct Africa {
    /// Average round-trip time, s; NaN before the first sample.
    average: f64,
    params: AfricaParams,
}

impl CongestionControl for Africa {
    #[inline]
    fn on_ack(&mut self, ack: &Ack, window: &mut Window, _random: &mut Stream) {
        if self.average.is_nan() {
            self.average = ack.rtt;
        } else if !ack.rtt.is_nan() {
            self.average += self.params.weight * (ack.rtt - self.average);
        }
        if ack.cwnd_limited {
            let acked = window.slow_start(f64::from(ack.acked));
            if acked > 0.0 {
                let backlog = window.cwnd * (1.0 - ack.min_rtt / self.average);
                let step = if backlog < self.params.alpha {
                    self.params.highspeed.aimd(window.cwnd).0
                } else {
                    1.0
                };
                window.cwnd += step * acked / window.cwnd;
            }
        }
    }

    fn on_congestion(&mut self, reduction: &Reduction, window: &mut Window) {
        let used = reduction.window_used;
        window.ssthresh = (used * (1.0 - self.params.highspeed.aimd(used).1)).max(MIN_SSTHRESH);
        window.cwnd = window.ssthresh;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Parameters as _;
    use crate::congestion::test::{PATH, ack, loss, random};

    fn params() -> AfricaParams {
        AfricaParams::from_values(&[]).unwrap()
    }

    /// The increase by one acknowledged segment at 1000 segments where the average RTT is `rtt` and the
    /// base 0.1 s.
    fn step(rtt: f64) -> f64 {
        let mut control = params().build(0);
        let mut window = Window {
            cwnd: 1000.0,
            ssthresh: 2.0,
        };
        let ack = Ack {
            rtt,
            min_rtt: 0.1,
            ..ack(1)
        };
        control.on_ack(&ack, &mut window, &mut random());
        window.cwnd - 1000.0
    }

    #[test]
    fn fast_below_the_threshold_slow_above() {
        let fast = AfricaParams::increase(&params(), 1000.0, &PATH);
        assert!(fast > 7.0 / 1000.0);
        // backlog 1000 (1 - 0.1 / rtt) = 1.641 at rtt = 0.1 / (1 - 0.001641)
        let edge = 0.1 / (1.0 - 0.001_641);
        assert!((step(edge - 1e-7) / fast - 1.0).abs() < 1e-9);
        assert!((step(edge + 1e-7) - 0.001).abs() < 1e-12);
        assert!((step(0.1) / fast - 1.0).abs() < 1e-9);
    }

    #[test]
    fn the_average_forgets_an_eighth_a_sample() {
        let mut control = params().build(0);
        let mut window = Window {
            cwnd: 100.0,
            ssthresh: 2.0,
        };
        for rtt in [0.1, f64::NAN, 0.2] {
            let ack = Ack {
                rtt,
                min_rtt: 0.1,
                ..ack(1)
            };
            control.on_ack(&ack, &mut window, &mut random());
        }
        assert!((control.average - 0.1125).abs() < 1e-15);
    }

    #[test]
    fn losses_are_highspeeds_in_both_modes_and_small_windows_renos() {
        let mut control = params().build(0);
        let mut window = Window {
            cwnd: 1000.0,
            ssthresh: 2.0,
        };
        control.on_congestion(&loss(1000.0), &mut window);
        let left = 1000.0 - AfricaParams::decrease(&params(), 1000.0, &PATH);
        assert!((window.cwnd - left).abs() < 1e-9);
        control.on_congestion(&loss(38.0), &mut window);
        assert_eq!(window.cwnd, 19.0);
        control.on_ack(&ack(1), &mut window, &mut random());
        assert_eq!(window.cwnd, 19.0 + 1.0 / 19.0);
    }
}
