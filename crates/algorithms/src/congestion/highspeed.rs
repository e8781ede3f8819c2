//! HighSpeed TCP, as RFC 3649 has it.
//!
//! Above `low_window` (38 segments) the response function is p(w) = 0.078 / w^1.2 instead of Reno's
//! 1.5 / w^2: a loss rate of 10^-7 carries 83,000 segments. The AIMD that has it grows by a(w)
//! segments a round trip and falls by the fraction b(w) of the window (RFC 3649, section 5):
//!
//! - b(w) falls linearly in log w from 0.5 at `low_window` to `high_decrease` at `high_window`;
//! - a(w) = w^2 p(w) 2 b(w) / (2 - b(w)), one segment at least.
//!
//! With `form = "linux"`, windows are whole packets and a(w), b(w) those of the table of RFC 3649,
//! appendix B, b in 256ths; each ACK then counts once, whatever it acknowledges, so that delayed
//! ACKs halve the growth.
//!
//! Smaller windows are Reno's. The table of the RFC's appendix B is this formula with 1/12.8 for
//! 0.078, in whole steps of a(w); here a(w) is not rounded. Limited slow start (RFC 3742) is not
//! part of it.

use super::{
    Ack, CongestionAlgorithm, CongestionControl, Form, Forms, LINUX_FORM, MIN_SSTHRESH, Reduction,
    Window,
};
use crate::fluid::{FluidTcp, Path};
use crate::meta::{About, Algorithm};
use crate::params::inconsistent;
use crate::{DefaultValue, Interval, Scalar, Stream, ValueError, parameters};

parameters! {
    /// The response function of HighSpeed TCP.
    pub struct ResponseParams {
        /// Window up to which the sender is Reno.
        low_window: packets = 38.0, in Interval::at_least(2.0), "RFC 3649, section 5";
        /// Window at which the sender decreases by `high_decrease`.
        high_window: packets = 83000.0, in Interval::above(2.0), "RFC 3649, section 5";
        /// Decrease fraction at `high_window`: the window falls to (1 - b) w.
        high_decrease: number = 0.1, in Interval::above_to(0.0, 0.5), "RFC 3649, section 5";
        /// Scale of the response function: loss rate p = response_scale / w^response_exponent.
        response_scale: number = 0.078, in Interval::above(0.0), "RFC 3649, section 5";
        /// Exponent of the response function.
        response_exponent: number = 1.2, in Interval::between(0.0, 2.0), "RFC 3649, section 5";
    }
}

parameters! {
    /// Parameters of HighSpeed TCP.
    pub struct HighspeedParams {
        include response: ResponseParams;
        /// The algorithm as published, or as Linux implements it.
        form: choice(Form) = Paper, "style: Linux 6.1";
    }
}

/// RFC 3649, appendix B: the windows at which a(w) rises by one more.
const TABLE: [u32; 72] = [
    38, 118, 221, 347, 495, 663, 851, 1058, 1284, 1529, 1793, 2076, 2378, 2699, 3039, 3399, 3778,
    4177, 4596, 5036, 5497, 5979, 6483, 7009, 7558, 8130, 8726, 9346, 9991, 10661, 11358, 12082,
    12834, 13614, 14424, 15265, 16137, 17042, 17981, 18955, 19965, 21013, 22101, 23230, 24402,
    25618, 26881, 28193, 29557, 30975, 32450, 33986, 35586, 37253, 38992, 40808, 42707, 44694,
    46776, 48961, 51258, 53677, 56230, 58932, 61799, 64851, 68113, 71617, 75401, 79517, 84035,
    89053,
];

/// The parameters of RFC 3649, section 5: the defaults.
pub(super) const RFC_3649: ResponseParams = ResponseParams {
    low_window: 38.0,
    high_window: 83000.0,
    high_decrease: 0.1,
    response_scale: 0.078,
    response_exponent: 1.2,
};

impl<S: Scalar> ResponseParams<S> {
    /// a(w) and b(w) by their formulas: packets a round trip, and the fraction that a loss takes,
    /// 0.5 at most (smaller windows) and 0.01 at least (windows far above `high_window`, where the
    /// line would end below zero).
    pub(super) fn at(&self, window: S) -> (S, S) {
        let half = S::from_f64(0.5);
        let way = (window / self.low_window).ln() / (self.high_window / self.low_window).ln();
        let b = (half + (self.high_decrease - half) * way)
            .max(S::from_f64(0.01))
            .min(S::from_f64(0.99));
        let p = self.response_scale * window.pow(-self.response_exponent);
        (window * window * p * b * 2.0 / (-b + 2.0), b)
    }

    /// Increase and decrease of the sender: [`ResponseParams::at`] above `low_window`, Reno up to it.
    #[inline]
    pub(super) fn aimd(&self, window: S) -> (S, S) {
        let one = S::from_f64(1.0);
        if window.re() <= self.low_window.re() {
            (one, S::from_f64(0.5))
        } else {
            let (a, b) = self.at(window);
            (a.max(one), b)
        }
    }
}

impl ResponseParams {
    /// See [`Algorithm::check`].
    pub(super) fn check(&self) -> Result<(), ValueError> {
        if self.high_window > self.low_window {
            return Ok(());
        }
        Err(inconsistent(
            "high_window",
            self.high_window,
            format!("above low_window, which is {}", self.low_window),
        ))
    }
}

impl Algorithm for HighspeedParams {
    const ABOUT: About = About {
        kind: "highspeed",
        title: "HighSpeed TCP",
        summary: "Grows faster and falls less the larger the window is, by a response function that sustains large windows at realistic loss rates.",
        citation: "S. Floyd, HighSpeed TCP for large congestion windows, RFC 3649 (2003)",
        ecn: true,
    };

    const LINUX: &'static [(&'static str, DefaultValue)] = &[LINUX_FORM];

    fn check(&self) -> Result<(), ValueError> {
        self.response.check()
    }
}

impl CongestionAlgorithm for HighspeedParams {
    type Controller = Forms<PaperHighspeed, LinuxHighspeed>;

    fn build(&self, _flow: u32) -> Self::Controller {
        match self.form {
            Form::Paper => Forms::Paper(PaperHighspeed(self.response)),
            Form::Linux => Forms::Linux(LinuxHighspeed {
                response: self.response,
                count: 0.0,
            }),
        }
    }
}

impl FluidTcp for HighspeedParams {
    type Over<S: Scalar> = HighspeedParams<S>;

    /// a(w) / w.
    fn increase<S: Scalar>(params: &HighspeedParams<S>, window: S, _path: &Path<S>) -> S {
        params.response.at(window).0 / window
    }

    /// b(w) w.
    fn decrease<S: Scalar>(params: &HighspeedParams<S>, window: S, _path: &Path<S>) -> S {
        params.response.at(window).1 * window
    }

    /// `low_window`. The increase has a small step there: a(38) is 0.955 by the formula, 1 by the RFC's table.
    fn small_below<S: Scalar>(params: &HighspeedParams<S>, _path: &Path<S>) -> S {
        params.response.low_window
    }
}

/// HighSpeed TCP at work.
#[derive(Clone, Copy, Debug)]
pub struct PaperHighspeed(ResponseParams);

impl CongestionControl for PaperHighspeed {
    #[inline]
    fn on_ack(&mut self, ack: &Ack, window: &mut Window, _random: &mut Stream) {
        if ack.cwnd_limited {
            let acked = window.slow_start(f64::from(ack.acked));
            if acked > 0.0 {
                window.cwnd += self.0.aimd(window.cwnd).0 * acked / window.cwnd;
            }
        }
    }

    fn on_congestion(&mut self, reduction: &Reduction, window: &mut Window) {
        let used = reduction.window_used;
        window.ssthresh = (used * (1.0 - self.0.aimd(used).1)).max(MIN_SSTHRESH);
        window.cwnd = window.ssthresh;
    }
}

/// HighSpeed TCP at work as in Linux.
#[derive(Clone, Copy, Debug)]
pub struct LinuxHighspeed {
    response: ResponseParams,
    /// Growth that is due: a(w) for each ACK.
    count: f64,
}

/// Row of the table for a window: the first whose window is not smaller.
fn row(window: f64) -> usize {
    TABLE
        .partition_point(|&edge| f64::from(edge) < window)
        .min(TABLE.len() - 1)
}

impl CongestionControl for LinuxHighspeed {
    #[inline]
    fn on_ack(&mut self, ack: &Ack, window: &mut Window, _random: &mut Stream) {
        if ack.cwnd_limited && window.slow_start(f64::from(ack.acked)) > 0.0 {
            self.count += (row(window.cwnd) + 1) as f64;
            if self.count >= window.cwnd {
                self.count -= window.cwnd;
                window.cwnd += 1.0;
            }
        }
    }

    fn on_congestion(&mut self, reduction: &Reduction, window: &mut Window) {
        self.count = 0.0;
        let used = reduction.window_used;
        let edge = f64::from(TABLE[row(used)]);
        let b = (256.0 * self.response.at(edge).1).floor() / 256.0;
        window.ssthresh = (used - (used * b).floor()).max(MIN_SSTHRESH);
        window.cwnd = window.ssthresh;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Parameters as _;
    use crate::congestion::test::{PATH, ack, loss, random};

    fn params() -> HighspeedParams {
        HighspeedParams::from_values(&[]).unwrap()
    }

    /// The same table: b(w) to two digits.
    const DECREASES: [(u32, f64); 12] = [
        (38, 0.50),
        (118, 0.44),
        (221, 0.41),
        (347, 0.38),
        (1058, 0.33),
        (2378, 0.28),
        (4177, 0.26),
        (10661, 0.21),
        (19965, 0.17),
        (30975, 0.15),
        (51258, 0.13),
        (84035, 0.10),
    ];

    #[test]
    fn appendix_b_table() {
        // each row is the first window at which a(w) exceeds that of the row before by more than
        // one
        let params = ResponseParams {
            response_scale: 1.0 / 12.8,
            ..RFC_3649
        };
        let (mut rows, mut last) = (vec![38], 1.0);
        for window in 38..=89_053_u32 {
            let (a, _) = params.at(f64::from(window));
            if a > last + 1.0 {
                rows.push(window);
                last = a;
            }
        }
        assert_eq!(rows, TABLE);
        for (window, b) in DECREASES {
            let (_, ours) = params.at(f64::from(window));
            assert!((ours - b).abs() <= 0.005_001, "{window}: {ours}");
        }
    }

    #[test]
    fn response_function_of_section_5() {
        // p = 10^-7 at 83,000 segments (there 0.078 / w^1.2 is rounded: 2.3 % off), 10^-3 at 38; w
        // = 0.12 / p^0.835 to the digits given
        let p = |w: f64| {
            let (a, b) = RFC_3649.at(w);
            a * (2.0 - b) / (2.0 * b * w * w)
        };
        assert!((p(83_000.0) / 1e-7 - 1.0).abs() < 0.025);
        assert!((p(38.0) / 1e-3 - 1.0).abs() < 0.01);
        for w in [100.0, 1000.0, 10_000.0] {
            assert!((0.12 / p(w).powf(0.835) / w - 1.0).abs() < 0.04, "{w}");
        }
        let (_, b) = RFC_3649.at(83_000.0);
        assert!((b - 0.1).abs() < 1e-15);
    }

    #[test]
    fn a_round_adds_a_and_a_loss_takes_b() {
        let mut control = params().build(0);
        let mut window = Window {
            cwnd: 10_661.0,
            ssthresh: 2.0,
        };
        for _ in 0..10_661 {
            control.on_ack(&ack(1), &mut window, &mut random());
        }
        // appendix B: 30 a round at 10,661
        assert!(
            (window.cwnd - 10_661.0 - 30.0).abs() < 0.05,
            "{}",
            window.cwnd
        );
        control.on_congestion(&loss(10_661.0), &mut window);
        assert!((window.cwnd / 10_661.0 - 0.79).abs() < 0.005);
    }

    #[test]
    fn small_windows_are_renos() {
        let mut control = params().build(0);
        let mut window = Window {
            cwnd: 38.0,
            ssthresh: 2.0,
        };
        control.on_ack(&ack(1), &mut window, &mut random());
        assert_eq!(window.cwnd, 38.0 + 1.0 / 38.0);
        control.on_ack(&ack(1), &mut window, &mut random()); // just above: at least Reno's
        assert!((window.cwnd - 38.0 - 2.0 / 38.0).abs() < 1e-4);
        control.on_congestion(&loss(38.0), &mut window);
        assert_eq!((window.cwnd, window.ssthresh), (19.0, 19.0));
    }

    #[test]
    fn fluid_law_of_manjunath_and_raina() {
        // table I: a(w) = 0.156 w^2 b / ((2 - b) w^1.2), b = 0.5 - 0.4 (log w - log 38) / (log
        // 83000 - log 38)
        let w = 1000.0_f64;
        let b = 0.5 - 0.4 * (w.ln() - 38_f64.ln()) / (83_000_f64.ln() - 38_f64.ln());
        let a = 0.156 * w * w * b / ((2.0 - b) * w.powf(1.2));
        assert!((HighspeedParams::increase(&params(), w, &PATH) / (a / w) - 1.0).abs() < 1e-14);
        assert!((HighspeedParams::decrease(&params(), w, &PATH) / (b * w) - 1.0).abs() < 1e-14);
    }

    #[test]
    fn the_defaults_are_the_rfcs() {
        assert_eq!(params().response, RFC_3649);
    }

    #[test]
    fn windows_in_the_wrong_order_are_refused() {
        let mut swapped = params();
        swapped.response.low_window = 1000.0;
        swapped.response.high_window = 100.0;
        assert_eq!(swapped.check().unwrap_err().name, "high_window");
    }

    /// Linux: an ACK counts once, whatever it acknowledges; a(w) and b(w) are those of the table.
    #[test]
    fn whole_packets_as_in_linux() {
        let linux = HighspeedParams {
            form: Form::Linux,
            ..params()
        };
        for (cwnd, acks) in [(30.0, 30), (40.0, 20), (200.0, 67)] {
            let mut control = linux.build(0);
            let mut window = Window {
                cwnd,
                ssthresh: 2.0,
            };
            for _ in 0..acks - 1 {
                control.on_ack(&ack(2), &mut window, &mut random());
            }
            assert_eq!(window.cwnd, cwnd);
            control.on_ack(&ack(2), &mut window, &mut random());
            assert_eq!(window.cwnd, cwnd + 1.0);
        }
        for (used, left) in [(33.0, 17.0), (100.0, 57.0), (200.0, 119.0)] {
            let (mut control, mut window) = (
                linux.build(0),
                Window {
                    cwnd: used,
                    ssthresh: used,
                },
            );
            control.on_congestion(&loss(used), &mut window);
            // 128, 112 and 104 of 256, rounded down
            assert_eq!(window.cwnd, left);
        }
    }
}
