//! BIC: a binary search for the window at which the last loss came.
//!
//! After a loss at a window `W_max` the window falls to (1 - beta) `W_max`, and each round trip adds
//! a share of the gap that is left to `W_max`:
//!
//! - gap / `divisor` packets, `max_increment` at most (additive increase while the gap is wide);
//! - `min_increment` packets where the gap is `close` or less;
//! - beyond `W_max` (max probing) the same in reverse: the increase is doubled whenever the window has
//!   grown by it, from one packet up to `max_increment`, which then stays.
//!
//! A loss below the last `W_max` sets the new one midway between the window and the one that
//! remains (fast convergence). Windows below `low_window` are Reno's.
//!
//! With `form = "linux"`, windows are whole packets; a fifth of a packet a round trip within the last
//! eight packets to `W_max` and the first four beyond it, then (w - `W_max`) / (divisor - 1); before
//! the first loss a twentieth of the window a round trip at least; growth is multiplied by the mean
//! of segments an ACK covers; and a timeout forgets `W_max`.

use super::{
    Ack, CaState, CongestionAlgorithm, CongestionControl, Form, LINUX_FORM, MIN_SSTHRESH, Needs,
    Reduction, SegmentCount, Signal, Window,
};
use crate::fluid::{FluidTcp, Path};
use crate::meta::{About, Algorithm};
use crate::params::inconsistent;
use crate::{DefaultValue, Interval, Scalar, Stream, ValueError, parameters};

parameters! {
    /// Parameters of BIC.
    pub struct BicParams {
        /// Largest increase, packets a round trip (`S_max`).
        max_increment: number = 32.0, in Interval::above(0.0), "Xu, Harfoush and Rhee 2004, section V";
        /// Smallest increase, packets a round trip (`S_min`).
        min_increment: number = 0.01, in Interval::above(0.0), "Xu, Harfoush and Rhee 2004, section V";
        /// Fraction of the window that a loss takes.
        beta: number = 0.125, in Interval::inside(0.0, 1.0), "Xu, Harfoush and Rhee 2004, section V";
        /// Share of the gap (as a divisor) that a round trip closes.
        divisor: number = 2.0, in Interval::at_least(2.0), "Xu, Harfoush and Rhee 2004, section III";
        /// Gap up to which the increase is the smallest.
        close: packets = 0.02, in Interval::above(0.0), "half of it is min_increment";
        /// Window up to which the sender is Reno.
        low_window: packets = 14.0, in Interval::at_least(0.0), "Xu, Harfoush and Rhee 2004, section V";
        /// Whether W_max is reduced further where a loss comes before the window is back at the last
        /// W_max, which leaves room for new flows.
        fast_convergence: flag = true, "Xu, Harfoush and Rhee 2004, section III";
        /// The algorithm as published, or as Linux implements it.
        form: choice(Form) = Paper, "style: Linux 6.1";
    }
}

impl Algorithm for BicParams {
    const ABOUT: About = About {
        kind: "bic",
        title: "BIC TCP",
        summary: "Searches the window between its value after the last loss and before it by bisection, for large windows.",
        citation: "L. Xu, K. Harfoush and I. Rhee, Binary increase congestion control (BIC) for fast long-distance networks, INFOCOM 2004",
        ecn: true,
    };

    const LINUX: &'static [(&'static str, DefaultValue)] = &[
        LINUX_FORM,
        ("max_increment", DefaultValue::Number(16.0)),
        ("min_increment", DefaultValue::Number(0.2)), // 4 packets in 20 round trips
        ("beta", DefaultValue::Number(205.0 / 1024.0)),
        ("divisor", DefaultValue::Number(4.0)),
        ("close", DefaultValue::Number(8.0)), // a quarter of it rounds down to one
    ];

    fn check(&self) -> Result<(), ValueError> {
        if self.max_increment >= self.min_increment {
            return Ok(());
        }
        Err(inconsistent(
            "max_increment",
            self.max_increment,
            format!("not below min_increment, which is {}", self.min_increment),
        ))
    }
}

impl CongestionAlgorithm for BicParams {
    type Controller = Bic;

    fn build(&self, _flow: u32) -> Bic {
        Bic {
            w_max: f64::INFINITY,
            probe: None,
            linux: (self.form == Form::Linux).then(WholePackets::default),
            params: Box::new(*self),
        }
    }
}

impl<S: Scalar> BicParams<S> {
    /// Round trips from (1 - beta) w back to w: the wide part of the gap by `max_increment` each,
    /// then exponentially, the last part by `min_increment` each.
    fn rounds(&self, fall: S) -> S {
        let wide = self.divisor * self.max_increment;
        let close = self.close.min(wide);
        let mut rounds = fall.min(close) / self.min_increment;
        if fall.re() > close.re() {
            rounds = rounds + self.divisor * (fall.min(wide) / close).ln();
        }
        if fall.re() > wide.re() {
            rounds = rounds + (fall - wide) / self.max_increment;
        }
        rounds
    }
}

impl FluidTcp for BicParams {
    type Over<S: Scalar> = BicParams<S>;

    const APPROXIMATION: Option<&'static str> = Some(
        "with the increase of a round trip averaged from one loss to the next at the same window (the deterministic losses of Xu, Harfoush and Rhee 2004, section IV): without the memory of W_max, fast convergence and max probing",
    );

    /// beta w / (N w), with the N round trips that a flow needs to win back beta w.
    fn increase<S: Scalar>(params: &BicParams<S>, window: S, _path: &Path<S>) -> S {
        let fall = params.beta * window;
        fall / (params.rounds(fall) * window)
    }

    /// beta w.
    fn decrease<S: Scalar>(params: &BicParams<S>, window: S, _path: &Path<S>) -> S {
        params.beta * window
    }

    /// `low_window`. The increase has a step there.
    fn small_below<S: Scalar>(params: &BicParams<S>, _path: &Path<S>) -> S {
        params.low_window
    }
}

/// BIC at work.
#[derive(Clone, Debug)]
pub struct Bic {
    /// The window that is searched; infinite before the first loss and once probing has passed it.
    w_max: f64,
    /// Beyond `w_max`: the increase, packets a round trip, and the window at which it is doubled.
    probe: Option<(f64, f64)>,
    /// Counters of Linux's form.
    linux: Option<WholePackets>,
    params: Box<BicParams>,
}

/// The counters of Linux's form.
#[derive(Clone, Copy, Debug)]
struct WholePackets {
    count: SegmentCount,
    /// Mean of segments that an ACK covers, in 16ths.
    per_ack: f64,
    open: bool,
    /// Whether there was no loss yet.
    lossless: bool,
}

impl Default for WholePackets {
    fn default() -> Self {
        Self {
            count: SegmentCount::default(),
            per_ack: 32.0,
            open: true,
            lossless: true,
        }
    }
}

impl Bic {
    /// Growth of the paper's form, packets a round trip, at window `cwnd`.
    fn step(&mut self, cwnd: f64) -> f64 {
        let BicParams {
            max_increment,
            min_increment,
            divisor,
            close,
            low_window,
            ..
        } = *self.params;
        if cwnd <= low_window {
            return 1.0;
        }
        let gap = self.w_max - cwnd;
        if gap > close {
            return (gap / divisor).clamp(min_increment, max_increment);
        }
        if gap > 0.0 {
            return min_increment;
        }
        let (step, until) = self.probe.get_or_insert((1.0, cwnd + 1.0));
        if cwnd >= *until {
            *step *= 2.0;
            *until = cwnd + *step;
        }
        if *step >= max_increment {
            (self.w_max, self.probe) = (f64::INFINITY, None);
            return max_increment;
        }
        *step
    }

    /// Segments that one packet of the window takes in Linux's form.
    fn segments_per_packet(&self, linux: &WholePackets, cwnd: f64) -> f64 {
        let BicParams {
            max_increment,
            min_increment,
            divisor,
            close,
            low_window,
            ..
        } = *self.params;
        let known = if self.w_max.is_finite() {
            self.w_max
        } else {
            0.0
        };
        let per = if cwnd <= low_window {
            cwnd
        } else if cwnd < known {
            let gap = known - cwnd;
            let step = (gap / divisor).floor();
            if step > max_increment {
                cwnd / max_increment
            } else if gap < close {
                cwnd / min_increment
            } else {
                cwnd / step.max(1.0)
            }
        } else {
            let beyond = cwnd - known;
            if beyond < divisor {
                cwnd / min_increment
            } else if beyond < max_increment * (divisor - 1.0) {
                cwnd * (divisor - 1.0) / beyond
            } else {
                cwnd / max_increment
            }
        };
        let per = if linux.lossless && cwnd > low_window {
            per.min(20.0)
        } else {
            per
        };
        let per = if cwnd <= low_window {
            per
        } else {
            (per.floor() * 16.0 / linux.per_ack).floor()
        };
        per.max(1.0)
    }
}

impl CongestionControl for Bic {
    fn needs(&self) -> Needs {
        let linux = self.linux.is_some();
        Needs {
            every_ack: linux,
            ca_state: linux,
            ..Needs::default()
        }
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack, window: &mut Window, _random: &mut Stream) {
        if !ack.cwnd_limited {
            return;
        }
        let acked = window.slow_start(f64::from(ack.acked));
        if acked <= 0.0 {
            return;
        }
        if let Some(mut linux) = self.linux {
            let per = self.segments_per_packet(&linux, window.cwnd);
            linux.count.grow(acked, per, &mut window.cwnd);
            self.linux = Some(linux);
        } else {
            window.cwnd += self.step(window.cwnd) * acked / window.cwnd;
        }
    }

    fn on_every_ack(&mut self, ack: &Ack) {
        if let Some(linux) = &mut self.linux
            && linux.open
            && ack.acked > 0
        {
            linux.per_ack += f64::from(ack.acked) - (linux.per_ack / 16.0).floor();
        }
    }

    fn set_state(&mut self, state: CaState) {
        if let Some(linux) = &mut self.linux {
            linux.open = state == CaState::Open;
        }
    }

    fn on_congestion(&mut self, reduction: &Reduction, window: &mut Window) {
        let used = reduction.window_used;
        let BicParams {
            beta,
            low_window,
            fast_convergence,
            ..
        } = *self.params;
        let small = used <= low_window;
        let mut left = used * if small { 0.5 } else { 1.0 - beta };
        self.probe = None;
        self.w_max = if fast_convergence && self.w_max.is_finite() && used < self.w_max {
            0.5 * used * (2.0 - beta)
        } else {
            used
        };
        if let Some(linux) = &mut self.linux {
            left = left.floor();
            self.w_max = self.w_max.floor();
            linux.count.clear();
            linux.lossless = false;
            if reduction.signal == Signal::Timeout {
                let open = linux.open;
                *linux = WholePackets::default();
                linux.open = open;
                self.w_max = f64::INFINITY;
            }
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

    fn params() -> BicParams {
        BicParams::from_values(&[]).unwrap()
    }

    fn linux() -> BicParams {
        BicParams {
            form: Form::Linux,
            max_increment: 16.0,
            min_increment: 0.2,
            beta: 205.0 / 1024.0,
            divisor: 4.0,
            close: 8.0,
            ..params()
        }
    }

    /// Segments until the window is `until`.
    fn segments(control: &mut Bic, window: &mut Window, until: f64) -> f64 {
        let mut sum = 0.0;
        while window.cwnd < until {
            control.on_ack(&ack(1), window, &mut random());
            sum += 1.0;
        }
        sum
    }

    fn after_loss_at(params: &BicParams, cwnd: f64) -> (Bic, Window) {
        let mut control = params.build(0);
        let mut window = Window {
            cwnd,
            ssthresh: cwnd,
        };
        control.on_congestion(&loss(cwnd), &mut window);
        (control, window)
    }

    /// Wide gaps are closed by `S_max` a round trip, the rest exponentially: windows against the
    /// solution of dw/dn = min(S_max, (W - w) / 2).
    #[test]
    fn additive_then_binary() {
        let (mut control, mut window) = after_loss_at(&params(), 10_000.0);
        assert_eq!((window.cwnd, window.ssthresh), (8750.0, 8750.0));
        // from a gap of 1250 to one of 64 with 32 a round trip: the integral of w dw / 32
        let linear = (9936.0_f64.powi(2) - 8750.0_f64.powi(2)) / 64.0;
        let counted = segments(&mut control, &mut window, 9936.0);
        assert!((counted / linear - 1.0).abs() < 1e-3, "{counted} {linear}");
        // a gap of 64 exp(-n / 2) after n round trips: 6.4 after 2 ln 10 of them
        let counted = segments(&mut control, &mut window, 9993.6);
        let rounds = counted / 9972.0;
        assert!((rounds - 2.0 * 10_f64.ln()).abs() < 0.02, "{rounds}");
    }

    /// The whole way back takes the round trips of the fluid law.
    #[test]
    fn a_cycle_takes_the_rounds_of_the_law() {
        for peak in [100.0, 500.0, 2000.0] {
            let (mut control, mut window) = after_loss_at(&params(), peak);
            let mut rounds = 0.0;
            while window.cwnd < peak {
                rounds += 1.0 / window.cwnd;
                control.on_ack(&ack(1), &mut window, &mut random());
            }
            let law = params().rounds(0.125 * peak);
            assert!((rounds / law - 1.0).abs() < 0.02, "{peak}: {rounds} {law}");
        }
    }

    #[test]
    fn beyond_the_maximum_the_increase_doubles_up_to_s_max() {
        let (mut control, mut window) = after_loss_at(&params(), 1000.0);
        segments(&mut control, &mut window, 1000.0);
        // 1, 2, 4, 8, 16 packets a round trip over 1, 2, 4, 8, 16 packets: a round trip each
        let counted = segments(&mut control, &mut window, 1031.0);
        assert!((counted / 1010.0 - 5.0).abs() < 0.2, "{counted}");
        let counted = segments(&mut control, &mut window, 1031.0 + 320.0);
        assert!((counted / 1190.0 - 10.0).abs() < 0.2, "{counted}");
    }

    #[test]
    fn a_flow_that_loses_ground_aims_lower() {
        let (mut control, mut window) = after_loss_at(&params(), 1000.0);
        control.on_congestion(&loss(900.0), &mut window);
        assert_eq!(control.w_max, 900.0 * 0.9375);
        control.on_congestion(&loss(1100.0), &mut window);
        assert_eq!(control.w_max, 1100.0);
    }

    #[test]
    fn small_windows_are_renos() {
        let (mut control, mut window) = after_loss_at(&params(), 12.0);
        assert_eq!(window.cwnd, 6.0);
        control.on_ack(&ack(1), &mut window, &mut random());
        assert_eq!(window.cwnd, 6.0 + 1.0 / 6.0);
    }

    /// Without `S_max` and `S_min` in play the law is AIMD's (the paper's section IV: large windows
    /// are AIMD with `S_max` and beta).
    #[test]
    fn large_windows_are_aimd() {
        let w = 1e8;
        let law = BicParams::increase(&params(), w, &PATH) * w;
        assert!((law / 32.0 - 1.0).abs() < 1e-4, "{law}");
        assert_eq!(BicParams::decrease(&params(), w, &PATH), 0.125 * w);
    }

    /// Linux 6.1: 819 / 1024 remain; 16 packets a round trip, a quarter of the gap, a fifth.
    #[test]
    fn whole_packets_as_in_linux() {
        let (mut control, window) = after_loss_at(&linux(), 1000.0);
        assert_eq!(window.cwnd, 799.0);
        let counters = WholePackets {
            per_ack: 16.0,
            lossless: false,
            ..WholePackets::default()
        };
        control.linux = Some(counters);
        for (cwnd, per) in [
            (14.0, 14.0),
            (800.0, 50.0),   // gap 200: 16 a round trip
            (960.0, 96.0),   // gap 40: ten
            (996.0, 4980.0), // gap 4: 4 packets in 20 round trips
            (1002.0, 5010.0),
            (1012.0, 253.0), // 12 / 3 a round trip
            (1048.0, 65.0),  // 16 again
        ] {
            assert_eq!(control.segments_per_packet(&counters, cwnd), per, "{cwnd}");
        }
        // two segments an ACK: twice as fast
        let delayed = WholePackets {
            per_ack: 32.0,
            ..counters
        };
        assert_eq!(control.segments_per_packet(&delayed, 800.0), 25.0);
        // before the first loss a twentieth of the window
        let fresh = WholePackets {
            lossless: true,
            ..counters
        };
        assert_eq!(linux().build(0).segments_per_packet(&fresh, 100.0), 6.0);
        assert_eq!(linux().build(0).segments_per_packet(&fresh, 2000.0), 20.0);
    }

    #[test]
    fn increments_in_the_wrong_order_are_refused() {
        let wrong = BicParams {
            max_increment: 0.001,
            ..params()
        };
        assert_eq!(wrong.check().unwrap_err().name, "max_increment");
    }
}
