//! TCP-LP: background transfers that give way at the first sign of a queue.
//!
//! Reno, but for early indications of congestion: the smoothed delay (one eighth of each sample)
//! lies above d_min + threshold (d_max - d_min), the smallest and largest delay that the connection
//! has seen. An indication
//!
//! - halves the window, and for `inference` round trips the sender only watches: the window does
//!   not grow;
//! - in that time leaves one packet, and the time begins anew.
//!
//! ACKs of packets that were sent before a cut say nothing about its effect and are no further
//! indication. After an indication the window grows as in congestion avoidance. Losses and marks are
//! answered as Reno does. Indications count from the first of them on: before, d_max is the first
//! queue that slow start makes, and a flow alone would use half of its link (an assumption).
//!
//! - The paper wants one-way delays. A sender here knows round trips only; the threshold depends on
//!   differences, so that a return path without queues makes no difference.
//! - Linux 6.1 has this form too, with one-way delays from timestamps. Their origin is drawn anew for
//!   each connection (so read in its source, not measured), which leaves its threshold without the
//!   paper's meaning; this is the paper's.

use super::{Ack, CongestionAlgorithm, CongestionControl, MIN_SSTHRESH, Reduction, Signal, Window};
use crate::meta::{About, Algorithm};
use crate::{Interval, Stream, Time, parameters};

parameters! {
    /// Parameters of TCP-LP.
    pub struct LpParams {
        /// Share of the range of delays above which a smoothed delay indicates congestion.
        threshold: number = 0.15, in Interval::inside(0.0, 1.0), "Kuzmanovic and Knightly 2003 (delta); Linux 6.1";
        /// Weight of a sample in the smoothed delay.
        weight: number = 0.125, in Interval::above_to(0.0, 1.0), "Kuzmanovic and Knightly 2003 (gamma); Linux 6.1";
        /// Round trips after an indication in which the window does not grow.
        inference: number = 3.0, in Interval::at_least(0.0), "Kuzmanovic and Knightly 2003; Linux 6.1";
    }
}

impl Algorithm for LpParams {
    const ABOUT: About = About {
        kind: "lp",
        title: "TCP-LP",
        summary: "Gives way to other traffic as soon as delays rise above a small share of their range: for background transfers.",
        citation: "A. Kuzmanovic and E. W. Knightly, TCP-LP: a distributed algorithm for low priority data transfer, INFOCOM 2003",
        ecn: true,
    };

    const NO_LAW: Option<&'static str> = Some(
        "its threshold depends on the largest delay that the connection has ever seen, and its answer on the time since the last one: a history, which no function of window and queue replaces",
    );
}

impl CongestionAlgorithm for LpParams {
    type Controller = Lp;

    fn build(&self, _flow: u32) -> Lp {
        Lp {
            smoothed: f64::NAN,
            least: f64::INFINITY,
            most: 0.0,
            inference_end: Time::ZERO,
            answered: 0,
            knows_largest: false,
            params: *self,
        }
    }
}

/// TCP-LP at work.
#[derive(Clone, Copy, Debug)]
pub struct Lp {
    /// Smoothed delay, s; NaN before the first sample.
    smoothed: f64,
    /// Smallest and largest delay so far, s.
    least: f64,
    most: f64,
    inference_end: Time,
    /// Segments before this one were sent before the last cut.
    answered: u64,
    /// Whether a queue has been full, so that the largest delay means something.
    knows_largest: bool,
    params: LpParams,
}

impl Lp {
    fn sample(&mut self, rtt: f64) {
        self.least = self.least.min(rtt);
        self.most = self.most.max(rtt);
        if self.smoothed.is_nan() {
            self.smoothed = rtt;
        } else {
            self.smoothed += self.params.weight * (rtt - self.smoothed);
        }
    }

    /// Whether the smoothed delay indicates congestion.
    fn indicates(&self) -> bool {
        let range = self.most - self.least;
        self.knows_largest && self.smoothed > self.least + self.params.threshold * range
    }
}

impl CongestionControl for Lp {
    #[inline]
    fn on_ack(&mut self, ack: &Ack, window: &mut Window, _random: &mut Stream) {
        if !ack.rtt.is_nan() {
            self.sample(ack.rtt);
        }
        let infers = ack.now < self.inference_end;
        if ack.una > self.answered && self.indicates() {
            window.cwnd = if infers {
                1.0
            } else {
                (0.5 * window.cwnd).max(1.0)
            };
            window.ssthresh = window.cwnd.max(MIN_SSTHRESH);
            self.answered = ack.next;
            self.inference_end = ack.now + Time::from_seconds(self.params.inference * ack.srtt);
        } else if ack.cwnd_limited && !infers {
            let acked = window.slow_start(f64::from(ack.acked));
            window.cwnd += acked / window.cwnd;
        }
    }

    fn on_congestion(&mut self, reduction: &Reduction, window: &mut Window) {
        window.ssthresh = (0.5 * reduction.window_used).max(MIN_SSTHRESH);
        window.cwnd = window.ssthresh;
        self.knows_largest = true;
        if reduction.signal == Signal::Timeout {
            // what was smoothed is of the time before a long silence
            self.smoothed = f64::NAN;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Parameters as _;
    use crate::congestion::test::{ack, loss, random};

    const AVOIDANCE: Window = Window {
        cwnd: 40.0,
        ssthresh: 20.0,
    };

    fn control() -> Lp {
        LpParams::from_values(&[]).unwrap().build(0)
    }

    /// An ACK of segment `una` at `now`, 40 segments in flight, 100 ms after it was sent.
    fn delayed(now: f64, una: u64, rtt: f64) -> Ack {
        Ack {
            now: Time::from_seconds(now),
            rtt,
            srtt: 0.1,
            una,
            next: una + 40,
            ..ack(1)
        }
    }

    /// Delays of 100 to 200 ms: 115 ms is the threshold.
    fn seasoned() -> Lp {
        let mut control = control();
        control.sample(0.1);
        control.sample(0.2);
        control.smoothed = 0.1;
        control.knows_largest = true;
        control
    }

    #[test]
    fn delays_below_the_threshold_let_it_grow_as_reno() {
        let (mut control, mut window) = (seasoned(), AVOIDANCE);
        control.smoothed = 0.1149;
        control.on_ack(&delayed(0.0, 1, 0.1149), &mut window, &mut random());
        assert_eq!(window.cwnd, 40.0 + 1.0 / 40.0);
    }

    #[test]
    fn the_delay_is_smoothed_by_eighths() {
        let mut control = seasoned();
        control.sample(0.18);
        assert!((control.smoothed - 0.11).abs() < 1e-15);
        assert!(!control.indicates());
        control.sample(0.18);
        assert!((control.smoothed - 0.11875).abs() < 1e-15);
        assert!(control.indicates());
    }

    #[test]
    fn an_indication_halves_and_a_second_one_in_three_round_trips_leaves_one() {
        let (mut control, mut window) = (seasoned(), AVOIDANCE);
        control.smoothed = 0.19;
        control.on_ack(&delayed(1.0, 1, 0.19), &mut window, &mut random());
        assert_eq!((window.cwnd, window.ssthresh), (20.0, 20.0));
        // sent before the cut
        control.on_ack(&delayed(1.05, 30, 0.19), &mut window, &mut random());
        assert_eq!(window.cwnd, 20.0);
        // sent after it
        control.on_ack(&delayed(1.15, 42, 0.19), &mut window, &mut random());
        assert_eq!((window.cwnd, window.ssthresh), (1.0, 2.0));
    }

    #[test]
    fn after_three_quiet_round_trips_it_grows_again() {
        let (mut control, mut window) = (seasoned(), AVOIDANCE);
        control.smoothed = 0.19;
        control.on_ack(&delayed(1.0, 1, 0.19), &mut window, &mut random());
        control.smoothed = 0.1;
        control.on_ack(&delayed(1.29, 60, 0.1), &mut window, &mut random());
        assert_eq!(window.cwnd, 20.0);
        control.on_ack(&delayed(1.31, 61, 0.1), &mut window, &mut random());
        assert_eq!(window.cwnd, 20.0 + 1.0 / 20.0);
    }

    #[test]
    fn a_loss_halves_and_indications_count_from_then_on() {
        let (mut control, mut window) = (control(), AVOIDANCE);
        control.sample(0.1);
        control.smoothed = 0.19;
        control.on_ack(&delayed(1.0, 1, 0.2), &mut window, &mut random());
        assert_eq!(window.cwnd, 40.0 + 1.0 / 40.0);
        control.on_congestion(&loss(40.0), &mut window);
        assert_eq!((window.cwnd, window.ssthresh), (20.0, 20.0));
        control.on_ack(&delayed(1.1, 2, 0.2), &mut window, &mut random());
        assert_eq!(window.cwnd, 10.0);
    }
}
