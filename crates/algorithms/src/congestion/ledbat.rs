//! LEDBAT: background transfers that give way.
//!
//! The window moves by gain (target - delay) / target segments a round trip: up while the queueing
//! delay is below the target, down above it, faster the further off. It never grows faster than
//! Reno (gain at most 1) and not beyond one segment more than is in flight. Losses and marks halve
//! it. There is no slow start.
//!
//! - The queueing delay is the smallest of the last four samples less the base delay, the smallest sample of the last ten minutes, kept as the minima of ten parts
//!   of that time (RFC 6817, section 3.4.2).
//! - RFC 6817 wants one-way delays. A sender here knows round trips only, as many deployments do: queues on the way back count as well, and with
//!   delayed ACKs the filter of four samples keeps the receiver's waiting out.

use super::{Ack, CongestionAlgorithm, CongestionControl, MIN_SSTHRESH, Reduction, Window};
use crate::fluid::{FluidTcp, Path};
use crate::meta::{About, Algorithm};
use crate::{Interval, Scalar, Stream, Time, parameters};

parameters! {
    /// Parameters of LEDBAT.
    pub struct LedbatParams {
        /// Queueing delay that is aimed at.
        target: time = 0.1, in Interval::above_to(0.0, 0.1), "RFC 6817, section 3.3";
        /// Segments a round trip, at no delay.
        gain: number = 1.0, in Interval::above_to(0.0, 1.0), "RFC 6817, section 3.3";
        /// Segments by which the window may exceed what is in flight.
        allowed_increase: packets = 1.0, in Interval::between(1.0, 1000.0), "RFC 6817, section 2.5";
        /// Time over which the smallest delay counts as the base delay; it is kept in ten parts.
        base_history: time = 600.0, in Interval::at_least(0.01), "RFC 6817, section 2.5";
    }
}

impl Algorithm for LedbatParams {
    const ABOUT: About = About {
        kind: "ledbat",
        title: "LEDBAT",
        summary: "Steers the queueing delay to a target and gives way to everything that drives it higher: for background transfers.",
        citation: "S. Shalunov, G. Hazel, J. Iyengar and M. Kuehlewind, Low extra delay background transport, RFC 6817 (2012)",
        ecn: true,
    };
}

impl FluidTcp for LedbatParams {
    type Over<S: Scalar> = LedbatParams<S>;

    const APPROXIMATION: Option<&'static str> = Some(
        "with the true base delay (a sender that starts over a queue takes that for it, and keeps more packets there), without the filter of four samples",
    );

    const BY_DELAY: bool = true;

    /// gain (1 - delay / target) / w: RFC 6817, section 2.4.2.
    fn increase<S: Scalar>(params: &LedbatParams<S>, window: S, path: &Path<S>) -> S {
        params.gain * (params.target - path.delay()) / (params.target * window)
    }

    /// w / 2.
    fn decrease<S: Scalar>(_params: &LedbatParams<S>, window: S, _path: &Path<S>) -> S {
        window * 0.5
    }
}

/// Parts of the base delay's history.
const BASE_HISTORY: usize = 10;
/// Samples of the current delay.
const CURRENT_FILTER: usize = 4;

impl CongestionAlgorithm for LedbatParams {
    type Controller = Ledbat;

    fn build(&self, _flow: u32) -> Ledbat {
        Ledbat {
            base: [f32::INFINITY; BASE_HISTORY],
            part: 0,
            part_end: Time::from_seconds(self.base_history / BASE_HISTORY as f64),
            current: [f32::INFINITY; CURRENT_FILTER],
            next: 0,
            params: *self,
        }
    }
}

/// LEDBAT at work.
#[derive(Clone, Copy, Debug)]
pub struct Ledbat {
    /// Smallest delay in each part of the history, s; single precision (a nanosecond) keeps it
    /// small.
    base: [f32; BASE_HISTORY],
    part: u8,
    part_end: Time,
    /// The last samples, s.
    current: [f32; CURRENT_FILTER],
    next: u8,
    params: LedbatParams,
}

impl Ledbat {
    fn sample(&mut self, now: Time, rtt: f64) {
        while now >= self.part_end {
            self.part = (self.part + 1) % BASE_HISTORY as u8;
            self.base[usize::from(self.part)] = f32::INFINITY;
            let length = Time::from_seconds(self.params.base_history / BASE_HISTORY as f64);
            // a long pause passes in one step
            self.part_end = if now.since(self.part_end) > length {
                now + length
            } else {
                self.part_end + length
            };
        }
        let rtt = rtt as f32;
        let base = &mut self.base[usize::from(self.part)];
        *base = base.min(rtt);
        self.current[usize::from(self.next)] = rtt;
        self.next = (self.next + 1) % CURRENT_FILTER as u8;
    }

    /// Queueing delay, s; `None` before the first sample.
    fn delay(&self) -> Option<f64> {
        let least = |list: &[f32]| list.iter().copied().fold(f32::INFINITY, f32::min);
        let current = least(&self.current);
        current
            .is_finite()
            .then(|| f64::from(current) - f64::from(least(&self.base)))
    }
}

impl CongestionControl for Ledbat {
    #[inline]
    fn on_ack(&mut self, ack: &Ack, window: &mut Window, _random: &mut Stream) {
        if !ack.rtt.is_nan() {
            self.sample(ack.now, ack.rtt);
        }
        let Some(delay) = self.delay() else {
            return;
        };
        let LedbatParams {
            target,
            gain,
            allowed_increase,
            ..
        } = self.params;
        let off_target = (target - delay) / target;
        let step = gain * off_target * f64::from(ack.acked) / window.cwnd;
        if step <= 0.0 {
            window.cwnd = (window.cwnd + step).max(MIN_SSTHRESH.min(window.cwnd));
        } else if ack.cwnd_limited {
            let most = f64::from(ack.in_flight) + allowed_increase;
            window.cwnd = (window.cwnd + step).min(most.max(window.cwnd));
        }
    }

    fn on_congestion(&mut self, reduction: &Reduction, window: &mut Window) {
        window.ssthresh = (0.5 * reduction.window_used).max(MIN_SSTHRESH);
        window.cwnd = window.ssthresh.min(window.cwnd);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Parameters as _;
    use crate::congestion::test::{ack, loss, random};

    fn params() -> LedbatParams {
        LedbatParams::from_values(&[]).unwrap()
    }

    fn sample(now: f64, rtt: f64) -> Ack {
        Ack {
            now: Time::from_seconds(now),
            rtt,
            ..ack(1)
        }
    }

    /// The change by one segment at 20 segments after four samples of `delay` over a base of 50 ms.
    fn step(delay: f64) -> f64 {
        let mut control = params().build(0);
        let mut window = Window {
            cwnd: 20.0,
            ssthresh: f64::INFINITY,
        };
        for (n, extra) in [0.0, delay, delay, delay].into_iter().enumerate() {
            let quiet = Ack {
                acked: 0,
                ..sample(0.01 * n as f64, 0.05 + extra)
            };
            control.on_ack(&quiet, &mut window, &mut random());
        }
        control.on_ack(&sample(0.05, 0.05 + delay), &mut window, &mut random());
        window.cwnd - 20.0
    }

    #[test]
    fn the_step_is_in_proportion_to_the_distance_from_the_target() {
        // RFC 6817, section 2.4.2: GAIN * off_target / cwnd
        for (delay, off_target) in [
            (0.0, 1.0),
            (0.05, 0.5),
            (0.1, 0.0),
            (0.2, -1.0),
            (0.35, -2.5),
        ] {
            assert!(
                (step(delay) - off_target / 20.0).abs() < 1e-8,
                "{delay}: {}",
                step(delay)
            );
        }
    }

    #[test]
    fn single_late_samples_are_filtered() {
        let mut control = params().build(0);
        for (n, rtt) in [0.05, 0.09, 0.05, 0.09, 0.09, 0.09].into_iter().enumerate() {
            control.sample(Time::from_seconds(0.01 * n as f64), rtt);
            // the third sample from the end is the last short one
            assert!(control.delay().unwrap() < 1e-6);
        }
        control.sample(Time::from_seconds(0.06), 0.09);
        assert!((control.delay().unwrap() - 0.04).abs() < 1e-7);
    }

    #[test]
    fn the_base_delay_is_forgotten_after_ten_minutes() {
        let mut control = params().build(0);
        control.sample(Time::ZERO, 0.05);
        for second in 1..=599 {
            control.sample(Time::from_seconds(f64::from(second)), 0.08);
        }
        assert!((control.delay().unwrap() - 0.03).abs() < 1e-7);
        control.sample(Time::from_seconds(600.0), 0.08);
        assert!(control.delay().unwrap() < 1e-7);
    }

    #[test]
    fn the_window_stays_near_what_is_in_flight() {
        let mut control = params().build(0);
        let mut window = Window {
            cwnd: 20.0,
            ssthresh: f64::INFINITY,
        };
        let nearly = Ack {
            in_flight: 19,
            ..sample(0.0, 0.05)
        };
        control.on_ack(&nearly, &mut window, &mut random());
        assert_eq!(window.cwnd, 20.0);
        control.on_congestion(&loss(20.0), &mut window);
        assert_eq!(window.cwnd, 10.0);
    }
}
