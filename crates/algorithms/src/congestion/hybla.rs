//! TCP Hybla: every flow grows as Reno would over a short round trip.
//!
//! With rho = RTT / `rtt0`, one at least, a segment acknowledged adds 2^rho - 1 packets in slow start
//! and rho^2 / w in congestion avoidance: in a second as many packets as Reno adds over a round trip
//! of `rtt0`, so that satellite links are not at a disadvantage. Losses halve the window. The RTT is
//! the smallest one, so that queues do not speed a flow up. rho counts 16 at most in slow start. The
//! initial window is the scenario's, not scaled by rho.
//!
//! With `form = "linux"`, the RTT is the smallest smoothed one; rho counts in eighths and increments
//! in 128ths, both rounded down; each ACK counts once, whatever it acknowledges, but for a window
//! that a round trip has not changed; and slow start after a timeout is Reno's.

use super::{
    Ack, CaState, CongestionAlgorithm, CongestionControl, Form, LINUX_FORM, MIN_SSTHRESH, Needs,
    Reduction, SegmentCount, Window,
};
use crate::fluid::{FluidTcp, Path};
use crate::meta::{About, Algorithm};
use crate::{DefaultValue, Interval, Scalar, Stream, parameters};

parameters! {
    /// Parameters of TCP Hybla.
    pub struct HyblaParams {
        /// Round-trip time of the Reno flow that others are to equal (`RTT_0`).
        rtt0: time = 0.025, in Interval::above(0.0), "Caini and Firrincieli 2004, section 3; Linux 6.1";
        /// Largest window.
        largest_window: packets = 65535.0, in Interval::at_least(2.0), "Linux 6.1";
        /// The algorithm as published, or as Linux implements it.
        form: choice(Form) = Paper, "style: Linux 6.1";
    }
}

impl Algorithm for HyblaParams {
    const ABOUT: About = About {
        kind: "hybla",
        title: "TCP Hybla",
        summary: "Grows by the clock of a short round trip, whatever its own is: for satellite links.",
        citation: "C. Caini and R. Firrincieli, TCP Hybla: a TCP enhancement for heterogeneous networks, International Journal of Satellite Communications and Networking 22(5), 2004",
        ecn: true,
    };

    const LINUX: &'static [(&'static str, DefaultValue)] = &[LINUX_FORM];
}

impl CongestionAlgorithm for HyblaParams {
    type Controller = Hybla;

    fn build(&self, _flow: u32) -> Hybla {
        Hybla {
            rtt0: self.rtt0,
            largest: self.largest_window,
            linux: (self.form == Form::Linux).then_some(Eighths {
                least: f64::INFINITY,
                cents: 0.0,
                quiet: 0.0,
                open: true,
                reno: SegmentCount::default(),
            }),
        }
    }
}

impl FluidTcp for HyblaParams {
    type Over<S: Scalar> = HyblaParams<S>;

    /// rho^2 / w.
    fn increase<S: Scalar>(params: &HyblaParams<S>, window: S, path: &Path<S>) -> S {
        let rho = (path.base_rtt / params.rtt0).max(S::from_f64(1.0));
        rho * rho / window
    }

    /// w / 2.
    fn decrease<S: Scalar>(_params: &HyblaParams<S>, window: S, _path: &Path<S>) -> S {
        window * 0.5
    }
}

/// rho up to which slow start follows it.
const LARGEST_RHO: f64 = 16.0;

/// TCP Hybla at work.
#[derive(Clone, Copy, Debug)]
pub struct Hybla {
    rtt0: f64,
    largest: f64,
    /// State of Linux's form.
    linux: Option<Eighths>,
}

/// Linux's integers.
#[derive(Clone, Copy, Debug)]
struct Eighths {
    /// Smallest smoothed RTT, s.
    least: f64,
    /// 128ths of a packet that are due.
    cents: f64,
    /// ACKs since the window grew.
    quiet: f64,
    open: bool,
    reno: SegmentCount,
}

impl Eighths {
    /// Growth by an ACK of a window of `cwnd`, in 128ths of a packet.
    fn increment(&self, rtt0: f64, cwnd: f64, slow_start: bool) -> f64 {
        let eighths = (libm::round(8e6 * self.least) / (1e6 * rtt0))
            .floor()
            .max(8.0);
        if !slow_start {
            return (2.0 * eighths * eighths / cwnd).floor();
        }
        let whole = (eighths / 8.0).floor();
        let rest = libm::round(128.0 * libm::exp2(eighths / 8.0 - whole));
        libm::exp2(whole.min(LARGEST_RHO)) * rest - 128.0
    }

    fn grow(&mut self, rtt0: f64, window: &mut Window) {
        let slow_start = window.in_slow_start();
        let increment = self.increment(rtt0, window.cwnd, slow_start);
        if increment < 128.0 && !slow_start {
            self.quiet += 1.0;
        }
        self.cents += increment;
        let whole = (self.cents / 128.0).floor();
        self.cents -= 128.0 * whole;
        window.cwnd += whole;
        if whole > 0.0 {
            self.quiet = 0.0;
        } else if increment == 0.0 && self.quiet >= window.cwnd {
            // a window so large that an ACK adds nothing grows as Reno's
            window.cwnd += 1.0;
            self.quiet = 0.0;
        }
        if slow_start {
            window.cwnd = window.cwnd.min(window.ssthresh);
        }
    }
}

impl CongestionControl for Hybla {
    fn needs(&self) -> Needs {
        Needs {
            ca_state: self.linux.is_some(),
            ..Needs::default()
        }
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack, window: &mut Window, _random: &mut Stream) {
        if let Some(linux) = &mut self.linux {
            if ack.srtt > 0.0 {
                linux.least = linux.least.min(ack.srtt);
            }
            if !ack.cwnd_limited {
                return;
            }
            if linux.open && linux.least.is_finite() {
                linux.grow(self.rtt0, window);
            } else {
                linux.reno.grow_as_reno(ack, window);
            }
        } else {
            if !ack.cwnd_limited {
                return;
            }
            let rho = if ack.min_rtt.is_finite() {
                (ack.min_rtt / self.rtt0).max(1.0)
            } else {
                1.0
            };
            let acked = f64::from(ack.acked);
            if window.in_slow_start() {
                let step = libm::exp2(rho.min(LARGEST_RHO)) - 1.0;
                window.cwnd = (window.cwnd + step * acked).min(window.ssthresh);
            } else {
                window.cwnd += rho * rho * acked / window.cwnd;
            }
        }
        window.cwnd = window.cwnd.min(self.largest.max(1.0));
    }

    fn set_state(&mut self, state: CaState) {
        if let Some(linux) = &mut self.linux {
            linux.open = state == CaState::Open;
        }
    }

    fn on_congestion(&mut self, reduction: &Reduction, window: &mut Window) {
        let half = 0.5 * reduction.window_used;
        let left = match &mut self.linux {
            Some(linux) => {
                linux.reno.clear();
                half.floor()
            }
            None => half,
        };
        window.ssthresh = left.max(MIN_SSTHRESH);
        window.cwnd = window.ssthresh;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Parameters as _;
    use crate::congestion::test::{PATH, ack, loss, random};

    fn params() -> HyblaParams {
        HyblaParams::from_values(&[]).unwrap()
    }

    fn at(rtt: f64) -> Ack {
        Ack {
            rtt,
            min_rtt: rtt,
            srtt: rtt,
            ..ack(1)
        }
    }

    /// A round trip of 100 ms adds rho^2 = 16 packets: in a second as many as 25 ms add to Reno.
    #[test]
    fn rho_squared_a_round() {
        let mut control = params().build(0);
        let mut window = Window {
            cwnd: 1000.0,
            ssthresh: 2.0,
        };
        for _ in 0..1000 {
            control.on_ack(&at(0.1), &mut window, &mut random());
        }
        assert!((window.cwnd - 1016.0).abs() < 0.2, "{}", window.cwnd);
        let law = HyblaParams::increase(&params(), 1000.0, &PATH);
        assert!((law * 1000.0 / 16.0 - 1.0).abs() < 1e-12);
    }

    #[test]
    fn short_round_trips_are_renos() {
        let mut control = params().build(0);
        let mut window = Window {
            cwnd: 50.0,
            ssthresh: 2.0,
        };
        control.on_ack(&at(0.01), &mut window, &mut random());
        assert_eq!(window.cwnd, 50.02);
        let mut window = Window {
            cwnd: 10.0,
            ssthresh: 20.0,
        };
        control.on_ack(&at(0.01), &mut window, &mut random());
        assert_eq!(window.cwnd, 11.0); // 2^1 - 1
    }

    /// Slow start: 2^4 - 1 packets for each segment over 100 ms, up to ssthresh.
    #[test]
    fn slow_start_by_powers_of_two() {
        let mut control = params().build(0);
        let mut window = Window {
            cwnd: 10.0,
            ssthresh: 30.0,
        };
        control.on_ack(&at(0.1), &mut window, &mut random());
        assert_eq!(window.cwnd, 25.0);
        control.on_ack(&at(0.1), &mut window, &mut random());
        assert_eq!(window.cwnd, 30.0);
        control.on_congestion(&loss(30.0), &mut window);
        assert_eq!((window.cwnd, window.ssthresh), (15.0, 15.0));
    }

    #[test]
    fn no_window_above_the_largest() {
        let mut control = params().build(0);
        let mut window = Window {
            cwnd: 10.0,
            ssthresh: f64::INFINITY,
        };
        for _ in 0..3 {
            control.on_ack(&at(10.0), &mut window, &mut random());
        }
        assert_eq!(window.cwnd, 65535.0);
    }

    /// Linux: rho^2 in 64ths of eighths over the window, rounded down to 128ths of a packet.
    #[test]
    fn whole_packets_as_in_linux() {
        let linux = HyblaParams {
            form: Form::Linux,
            ..params()
        };
        let mut control = linux.build(0);
        let mut window = Window {
            cwnd: 100.0,
            ssthresh: 2.0,
        };
        // 100 ms: 32 eighths, 2 * 32^2 / 100 = 20.48, so 20 of 128 an ACK: the seventh adds one
        for acks in 1..=7 {
            control.on_ack(&at(0.1), &mut window, &mut random());
            assert_eq!(window.cwnd, if acks < 7 { 100.0 } else { 101.0 });
        }
        // slow start at 37.5 ms: 2^1.5 of 128 is 362, less 128: 1 packet and 106 of 128
        let eighths = Eighths {
            least: 0.0375,
            ..control.linux.unwrap()
        };
        assert_eq!(eighths.increment(0.025, 10.0, true), 234.0);
        // more than 128 packets over a short path: an ACK adds nothing, a window of them one
        let mut control = linux.build(0);
        let mut window = Window {
            cwnd: 200.0,
            ssthresh: 2.0,
        };
        for _ in 0..199 {
            control.on_ack(&at(0.01), &mut window, &mut random());
        }
        assert_eq!(window.cwnd, 200.0);
        control.on_ack(&at(0.01), &mut window, &mut random());
        assert_eq!(window.cwnd, 201.0);
        // while losses are repaired it is Reno
        control.set_state(CaState::Loss);
        let mut window = Window {
            cwnd: 2.0,
            ssthresh: 100.0,
        };
        control.on_ack(&at(0.1), &mut window, &mut random());
        assert_eq!(window.cwnd, 3.0);
    }
}
