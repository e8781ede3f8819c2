//! TCP-NV: Vegas for data centres, by the window that the measured rate would fill without a queue.
//!
//! Round-trip times are smoothed by halves. Each ACK gives a rate, the packets that were in flight
//! when its segment was sent over the smoothed RTT; the largest one of a decision's period times the
//! smallest RTT is the window without a queue, and `pad` packets more are the most that is wanted:
//!
//! - above that, `decrease` of the excess is taken (all of it if it is two packets or less), growth stops,
//!   and ssthresh becomes the wanted window; decided from `decrease_samples` ACKs and two round trips
//!   at least (thirty ACKs in the first slow start). With too few ACKs growth stops after ten round
//!   trips all the same;
//! - `pad_buffer` packets below it or more, the window may grow as Reno's; decided from
//!   `increase_samples` ACKs at least;
//! - between them the period goes on.
//!
//! A loss or mark leaves `loss_left` of the window, and growth stops until the next decision. Each
//! timeout halves the speed of growth once more; more than eight decisions without congestion double
//! it, up to Reno's. The smallest RTT is that of the last `reset_period`, which is drawn anew each
//! time between 3/4 and 5/4 of it.
//!
//! There is no paper; this is what Linux 6.1 does, less the answer to segmentation offload (a window
//! of which only one ACK comes) and a base RTT set from outside. The flight at which a segment was
//! sent is taken as the largest of the round trip before.

use super::{
    Ack, CongestionAlgorithm, CongestionControl, MIN_SSTHRESH, Reduction, SegmentCount, Signal,
    Window,
};
use crate::meta::{About, Algorithm};
use crate::{Interval, Stream, Time, parameters};

parameters! {
    /// Parameters of TCP-NV.
    pub struct NvParams {
        /// Packets of its own in the queue at most.
        pad: packets = 10.0, in Interval::at_least(2.0), "Linux 6.1";
        /// Room below `pad` in which the window stays.
        pad_buffer: packets = 2.0, in Interval::at_least(0.0), "Linux 6.1";
        /// Share of the excess that a decision takes.
        decrease: number = 0.296875, in Interval::above_to(0.0, 1.0), "Linux 6.1: 38 / 128";
        /// Fraction of the window that remains after a loss.
        loss_left: number = 0.7998046875, in Interval::inside(0.0, 1.0), "Linux 6.1: 819 / 1024";
        /// Time after which the smallest RTT is forgotten, on average.
        reset_period: time = 5.0, in Interval::above(0.0), "Linux 6.1";
        /// Smallest window that decisions leave.
        min_window: packets = 2.0, in Interval::at_least(1.0), "Linux 6.1";
        /// ACKs before a decision to decrease.
        decrease_samples: number = 60.0, in Interval::at_least(1.0), "Linux 6.1";
        /// ACKs before a decision to increase.
        increase_samples: number = 20.0, in Interval::at_least(1.0), "Linux 6.1";
    }
}

impl Algorithm for NvParams {
    const ABOUT: About = About {
        kind: "nv",
        title: "TCP-NV",
        summary: "Keeps few packets of its own in the queue, by the measured rate and the smallest RTT: for data centres where all senders do.",
        citation: "L. Brakmo, TCP-NV: congestion avoidance for data centers, Linux Plumbers Conference 2010; Linux 6.1",
        ecn: true,
    };

    const NO_LAW: Option<&'static str> = Some(
        "none is published: whether a window moves depends on how many ACKs have come since the last decision",
    );
}

impl CongestionAlgorithm for NvParams {
    type Controller = Nv;

    fn build(&self, _flow: u32) -> Nv {
        Nv {
            state: Box::new(State {
                measured: Measured::default(),
                least: f64::INFINITY,
                next_least: f64::INFINITY,
                reset_at: Time::from_seconds(FIRST_RESET),
                flight_before: 0,
                flight: 0,
                may_grow: true,
                after_loss: false,
                slower: 0,
                quiet_decisions: 0,
                count: SegmentCount::default(),
                params: *self,
            }),
        }
    }
}

/// Time after which the first smallest RTT is forgotten, s.
const FIRST_RESET: f64 = 2.0;
/// ACKs before a decision to end the first slow start.
const SLOW_START_SAMPLES: u32 = 30;
/// Round trips before a decision to decrease.
const DECREASE_ROUNDS: u32 = 2;
/// Round trips without a decision after which growth stops.
const STOP_ROUNDS: u32 = 10;
/// Decisions without congestion that double the speed of growth.
const QUIET_DECISIONS: u32 = 8;
/// Most halvings of the speed of growth.
const MAX_GROWTH_HALVINGS: u32 = 8;

/// TCP-NV at work.
#[derive(Clone, Debug)]
pub struct Nv {
    state: Box<State>,
}

/// The measurements since the last decision.
#[derive(Clone, Copy, Debug, Default)]
struct Measured {
    /// Smoothed RTT, s; zero before the first sample. It outlives decisions, not losses.
    rtt: f64,
    /// Largest rate, packets/s.
    rate: f64,
    acks: u32,
    rounds: u32,
}

#[derive(Clone, Copy, Debug)]
struct State {
    measured: Measured,
    /// Smallest smoothed RTT in use, and that of the present period, s.
    least: f64,
    next_least: f64,
    reset_at: Time,
    /// Largest flight of the last round trip, and of this one.
    flight_before: u32,
    flight: u32,
    may_grow: bool,
    /// Whether what was measured is of the time before a loss.
    after_loss: bool,
    /// Halvings of the speed of growth.
    slower: u32,
    quiet_decisions: u32,
    count: SegmentCount,
    params: NvParams,
}

impl State {
    fn sample(&mut self, ack: &Ack, random: &mut Stream) {
        let measured = &mut self.measured;
        if measured.rtt > 0.0 {
            measured.rtt = 0.5 * (ack.rtt + measured.rtt);
        } else {
            measured.rtt = ack.rtt;
            self.least = ack.rtt; // the first one after a loss, too
        }
        let flight = self.flight_before.max(1);
        measured.rate = measured.rate.max(f64::from(flight) / measured.rtt);
        measured.acks += 1;
        self.least = self.least.min(measured.rtt);
        self.next_least = self.next_least.min(measured.rtt);
        if ack.now >= self.reset_at {
            (self.least, self.next_least) = (self.next_least, f64::INFINITY);
            let period = self.params.reset_period * (0.75 + 0.5 * random.uniform());
            self.reset_at = ack.now + Time::from_seconds(period);
        }
    }

    /// The end of a round trip.
    fn decide(&mut self, window: &mut Window) {
        self.measured.rounds += 1;
        let Measured {
            rate, acks, rounds, ..
        } = self.measured;
        let NvParams {
            pad,
            pad_buffer,
            decrease,
            min_window,
            decrease_samples,
            increase_samples,
            ..
        } = self.params;
        let wanted = (rate * self.least).floor() + pad;
        let excess = window.cwnd - wanted;
        if excess > 0.0 {
            if rounds < DECREASE_ROUNDS {
                return;
            }
            if window.ssthresh.is_infinite() {
                if acks < SLOW_START_SAMPLES {
                    return;
                }
            } else if f64::from(acks) < decrease_samples {
                self.may_grow &= rounds <= STOP_ROUNDS;
                return;
            }
            self.may_grow = false;
            window.ssthresh = wanted.max(MIN_SSTHRESH);
            window.cwnd = if excess > 2.0 {
                window.cwnd - (excess * decrease).floor().max(2.0)
            } else {
                wanted
            };
            self.quiet_decisions = 0;
        } else if excess <= -pad_buffer {
            if f64::from(acks) < increase_samples {
                return;
            }
            self.may_grow = true;
            self.quiet_decisions += 1;
            if self.slower > 0 && self.quiet_decisions > QUIET_DECISIONS {
                self.slower -= 1;
                self.quiet_decisions = 0;
            }
        } else {
            return;
        }
        self.measured = Measured {
            rtt: self.measured.rtt,
            ..Measured::default()
        };
        window.cwnd = window.cwnd.max(min_window);
    }
}

impl CongestionControl for Nv {
    fn on_ack(&mut self, ack: &Ack, window: &mut Window, random: &mut Stream) {
        let state = &mut *self.state;
        if state.after_loss {
            state.after_loss = false;
            state.measured = Measured::default();
            state.quiet_decisions = 0;
        }
        state.flight = state.flight.max(ack.in_flight);
        if ack.round_start {
            (state.flight_before, state.flight) = (state.flight, ack.in_flight);
        }
        if !ack.rtt.is_nan() && ack.in_flight > 0 {
            state.sample(ack, random);
            if ack.round_start {
                state.decide(window);
            }
        }
        if !ack.cwnd_limited || !state.may_grow {
            return;
        }
        let acked = window.slow_start(f64::from(ack.acked));
        if acked > 0.0 {
            let per = if state.slower > 0 {
                window.cwnd * f64::from(1_u32 << state.slower)
            } else {
                window.cwnd.max(4.0)
            };
            state.count.grow(acked, per, &mut window.cwnd);
        }
    }

    fn on_congestion(&mut self, reduction: &Reduction, window: &mut Window) {
        let state = &mut *self.state;
        state.may_grow = false;
        state.after_loss = true;
        if reduction.signal == Signal::Timeout {
            state.slower = (state.slower + 1).min(MAX_GROWTH_HALVINGS);
        }
        let left = (reduction.window_used * state.params.loss_left).floor();
        window.ssthresh = left.max(MIN_SSTHRESH);
        window.cwnd = window.ssthresh;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Parameters as _;
    use crate::congestion::test::{ack, loss, random};

    fn control() -> Nv {
        NvParams::from_values(&[]).unwrap().build(0)
    }

    /// `rounds` round trips of `cwnd` ACKs, each `rtt` long; the window after them.
    fn run(control: &mut Nv, window: &mut Window, from: u32, rounds: u32, rtt: f64) -> f64 {
        for round in from..from + rounds {
            let packets = window.cwnd as u32;
            for n in 0..packets {
                let ack = Ack {
                    now: Time::from_seconds(
                        rtt * (f64::from(round) + f64::from(n) / f64::from(packets)),
                    ),
                    rtt,
                    in_flight: packets,
                    round_start: n == 0,
                    ..ack(1)
                };
                control.on_ack(&ack, window, &mut random());
            }
        }
        window.cwnd
    }

    /// 100 packets over 1.25 base RTTs: 80 without a queue, 90 wanted, so that 38 / 128 of 10 packets
    /// are taken, rounded down.
    #[test]
    fn a_share_of_the_excess_is_taken() {
        let mut control = control();
        let mut window = Window {
            cwnd: 100.0,
            ssthresh: 50.0,
        };
        run(&mut control, &mut window, 0, 2, 0.1);
        control.state.may_grow = false;
        window.cwnd = 100.0;
        control.state.measured = Measured {
            rtt: 0.125,
            ..Measured::default()
        };
        run(&mut control, &mut window, 0, 2, 0.125);
        assert_eq!((window.cwnd, window.ssthresh), (98.0, 90.0));
        // towards the wanted window, and there it stays: 80 + 10 packets wait no longer than 12.5 ms
        assert!(!control.state.may_grow);
    }

    #[test]
    fn it_grows_as_reno_while_no_queue_is_seen() {
        let mut control = control();
        let mut window = Window {
            cwnd: 40.0,
            ssthresh: 20.0,
        };
        let end = run(&mut control, &mut window, 0, 11, 0.1);
        assert!((49.0..=51.0).contains(&end), "{end}");
        assert!(control.state.may_grow);
    }

    #[test]
    fn a_loss_leaves_four_fifths_and_growth_stops() {
        let mut control = control();
        let mut window = Window {
            cwnd: 100.0,
            ssthresh: 50.0,
        };
        control.on_congestion(&loss(100.0), &mut window);
        assert_eq!(window.cwnd, 79.0); // 100 * 819 / 1024, rounded down
        control.on_ack(&ack(1), &mut window, &mut random());
        assert_eq!(window.cwnd, 79.0);
    }

    #[test]
    fn a_timeout_halves_growth_and_nine_quiet_decisions_double_it() {
        let mut control = control();
        let mut window = Window {
            cwnd: 40.0,
            ssthresh: 20.0,
        };
        let late = Reduction {
            signal: Signal::Timeout,
            ..loss(40.0)
        };
        control.on_congestion(&late, &mut window);
        assert_eq!(control.state.slower, 1);
        (window.cwnd, window.ssthresh) = (40.0, 20.0);
        let (end, from) = (run(&mut control, &mut window, 0, 9, 0.1), 9);
        assert!((43.0..=45.0).contains(&end), "{end}");
        run(&mut control, &mut window, from, 3, 0.1);
        assert_eq!(control.state.slower, 0);
    }

    #[test]
    fn the_smallest_rtt_is_forgotten() {
        let mut control = control();
        let mut window = Window {
            cwnd: 40.0,
            ssthresh: 20.0,
        };
        run(&mut control, &mut window, 0, 10, 0.1);
        assert!((control.state.least - 0.1).abs() < 1e-12);
        // at 2 s the least of these two seconds counts on, and that of the next 6.25 s at most
        run(&mut control, &mut window, 10, 60, 0.2);
        assert!((control.state.least - 0.2).abs() < 1e-6);
    }
}
