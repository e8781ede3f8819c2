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
//! - An ACK that may have waited at the receiver tells of no queue: that of a segment alone in the
//!   network, and that of one segment where others acknowledge two, but for a smallest delay. A
//!   window of one packet would else never grow again over a receiver that delays its ACKs.
//!
//! With `form = "linux"`, delays are differences of time stamps, in ms: the receiver's, whose clock
//! has an origin that is drawn for each connection, times what its clock's rate is found to be, less
//! the sender's. They are counted in 32 bits and smoothed in eighths in as many, so that the
//! smoothed delay has lost its upper three bits: with seven origins in eight it is below the
//! smallest delay for ever, and the sender is Reno. An indication forgets the range of delays, and
//! cuts whatever the state of the connection; ACKs of what was sent before a cut count.

use super::{
    Ack, CongestionAlgorithm, CongestionControl, DelayedAcks, Form, Forms, LINUX_FORM,
    MIN_SSTHRESH, Needs, Reduction, SegmentCount, Signal, Window, tick_of,
};
use crate::meta::{About, Algorithm};
use crate::{DefaultValue, Interval, Stream, Time, parameters};

parameters! {
    /// Parameters of TCP-LP.
    pub struct LpParams {
        /// Share of the range of delays above which a smoothed delay indicates congestion.
        threshold: number = 0.15, in Interval::inside(0.0, 1.0), "Kuzmanovic and Knightly 2003 (delta); Linux 6.1";
        /// Weight of a sample in the smoothed delay.
        weight: number = 0.125, in Interval::above_to(0.0, 1.0), "Kuzmanovic and Knightly 2003 (gamma); Linux 6.1";
        /// Round trips after an indication in which the window does not grow.
        inference: number = 3.0, in Interval::at_least(0.0), "Kuzmanovic and Knightly 2003; Linux 6.1";
        /// The algorithm as published, or as Linux implements it, where the numbers above are fixed.
        form: choice(Form) = Paper, "style: Linux 6.1";
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

    const LINUX: &'static [(&'static str, DefaultValue)] = &[LINUX_FORM];

    const NO_LAW: Option<&'static str> = Some(
        "its threshold depends on the largest delay that the connection has ever seen, and its answer on the time since the last one: a history, which no function of window and queue replaces",
    );
}

impl CongestionAlgorithm for LpParams {
    type Controller = Forms<PaperLp, LinuxLp>;

    fn build(&self, _flow: u32) -> Self::Controller {
        match self.form {
            Form::Paper => Forms::Paper(PaperLp {
                smoothed: f64::NAN,
                least: f64::INFINITY,
                most: 0.0,
                inference_end: Time::ZERO,
                answered: 0,
                knows_largest: false,
                delayed: DelayedAcks::default(),
                params: *self,
            }),
            Form::Linux => Forms::Linux(LinuxLp {
                origin: None,
                clock_rate: 0,
                stamps: None,
                smoothed: 0,
                least: u32::MAX,
                most: 0,
                next_most: 0,
                inference: 0,
                last_cut: None,
                cut: false,
                infers: false,
                count: SegmentCount::default(),
            }),
        }
    }
}

/// TCP-LP at work, as published.
#[derive(Clone, Copy, Debug)]
pub struct PaperLp {
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
    delayed: DelayedAcks,
    params: LpParams,
}

impl PaperLp {
    fn sample(&mut self, rtt: f64) {
        self.least = self.least.min(rtt);
        self.most = self.most.max(rtt);
        if self.smoothed.is_nan() {
            self.smoothed = rtt;
        } else {
            self.smoothed += self.params.weight * (rtt - self.smoothed);
        }
    }

    /// Whether the receiver may have waited before it sent this ACK, as far as ACKs tell.
    fn may_have_waited(&mut self, ack: &Ack) -> bool {
        let waited = self.delayed.may_have_waited(ack.covered);
        waited || (ack.covered <= 1 && ack.in_flight <= 1)
    }

    /// Whether the smoothed delay indicates congestion.
    fn indicates(&self) -> bool {
        let range = self.most - self.least;
        self.knows_largest && self.smoothed > self.least + self.params.threshold * range
    }
}

impl CongestionControl for PaperLp {
    #[inline]
    fn on_ack(&mut self, ack: &Ack, window: &mut Window, _random: &mut Stream) {
        let measured = !ack.rtt.is_nan() && !self.may_have_waited(ack);
        if measured {
            self.sample(ack.rtt);
        } else {
            self.least = self.least.min(ack.rtt); // NaN is not smaller
        }
        let infers = ack.now < self.inference_end;
        if measured && ack.una > self.answered && self.indicates() {
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

/// TCP-LP at work, as Linux has it. Times and delays are whole ms.
#[derive(Clone, Copy, Debug)]
pub struct LinuxLp {
    /// Origin of the receiver's clock.
    origin: Option<u32>,
    /// Ticks of the receiver's clock in a second, as found; zero: not known.
    clock_rate: u32,
    /// Time stamps of the last ACK: the receiver's, and the echoed one.
    stamps: Option<(u32, u32)>,
    /// Eight times the smoothed delay.
    smoothed: u32,
    least: u32,
    /// Largest delay but one, and the largest.
    most: u32,
    next_most: u32,
    /// For how long after a cut the sender watches, and when it last cut.
    inference: u32,
    last_cut: Option<u32>,
    /// A cut is due: to one packet where the sender watches, or else to half.
    cut: bool,
    infers: bool,
    count: SegmentCount,
}

/// A time stamp: the clock's low bits.
fn milliseconds(time: Time) -> u32 {
    tick_of(time) as u32
}

impl LinuxLp {
    /// The delay between two time stamps, none while the rate of the receiver's clock is not known.
    fn delay(&mut self, received: u32, echoed: u32) -> Option<u32> {
        let scaled = i64::from(self.clock_rate << 6);
        let mut rate = scaled;
        if let Some((before, echoed_before)) = self.stamps
            && before != received
            && echoed_before != echoed
        {
            let passed = received.wrapping_sub(before).wrapping_mul(1000);
            let now = i64::from(passed / echoed.wrapping_sub(echoed_before));
            rate = if scaled > 0 {
                scaled + now - (scaled >> 6) // 63/64 of the old, 1/64 of the new
            } else {
                now << 6
            };
        }
        self.stamps = Some((received, echoed));
        self.clock_rate = (rate >> 6) as u32;
        let tick = 1000_u32.checked_div(self.clock_rate)?;
        let delay = received.wrapping_mul(tick).wrapping_sub(echoed);
        (delay > 0).then_some(delay)
    }

    fn sample(&mut self, delay: u32) {
        self.least = self.least.min(delay);
        if delay > self.most {
            self.most = delay;
            if delay > self.next_most {
                if self.next_most > 0 {
                    self.most = self.next_most; // the largest of all is forgotten
                }
                self.next_most = delay;
            }
        }
        self.smoothed = if self.smoothed == 0 {
            delay << 3
        } else {
            // seven eighths of the old, one of the new
            self.smoothed
                .wrapping_add(delay.wrapping_sub(self.smoothed >> 3))
        };
    }

    fn indicates(&self) -> bool {
        let range = self.most.wrapping_sub(self.least);
        self.smoothed >> 3 >= self.least.wrapping_add(range.wrapping_mul(15) / 100)
    }
}

impl CongestionControl for LinuxLp {
    fn needs(&self) -> Needs {
        Needs {
            every_ack: true,
            ..Needs::default()
        }
    }

    fn on_every_ack(&mut self, ack: &Ack) {
        self.cut = false; // one that was due in a recovery is forgotten: the window has been set since
        let Some(origin) = self.origin else {
            return;
        };
        let (now, echoed) = (milliseconds(ack.now), milliseconds(ack.echo));
        if !ack.rtt.is_nan()
            && let Some(delay) = self.delay(now.wrapping_add(origin), echoed)
        {
            self.sample(delay);
        }
        if now > echoed {
            self.inference = 3 * (now - echoed);
        }
        self.infers = self
            .last_cut
            .is_some_and(|cut| now.wrapping_sub(cut) < self.inference);
        if self.indicates() {
            let smoothed = self.smoothed >> 3;
            (self.least, self.most) = (smoothed, self.smoothed >> 2);
            self.next_most = self.most;
            self.cut = true;
            self.last_cut = Some(now);
        }
    }

    fn on_ack(&mut self, ack: &Ack, window: &mut Window, random: &mut Stream) {
        self.origin
            .get_or_insert_with(|| (random.uniform() * 2.0_f64.powi(32)) as u32);
        if std::mem::take(&mut self.cut) {
            window.cwnd = if self.infers {
                1.0
            } else {
                (0.5 * window.cwnd).floor().max(1.0)
            };
        }
        if !self.infers {
            self.count.grow_as_reno(ack, window);
        }
    }

    fn on_congestion(&mut self, reduction: &Reduction, window: &mut Window) {
        self.count.clear();
        window.ssthresh = (0.5 * reduction.window_used).floor().max(MIN_SSTHRESH);
        window.cwnd = window.ssthresh;
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

    fn control() -> PaperLp {
        LpParams::from_values(&[]).unwrap().build(0).paper()
    }

    /// An ACK of segment `una` at `now`, 40 segments in flight, 100 ms after it was sent.
    fn delayed(now: f64, una: u64, rtt: f64) -> Ack {
        Ack {
            now: Time::from_seconds(now),
            echo: Time::from_seconds(now - rtt),
            rtt,
            srtt: 0.1,
            una,
            next: una + 40,
            ..ack(1)
        }
    }

    /// Delays of 100 to 200 ms: 115 ms is the threshold.
    fn seasoned() -> PaperLp {
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

    /// ACKs of a segment alone in the network, or of one where others cover two, tell of no queue.
    #[test]
    fn an_ack_that_waited_at_the_receiver_is_no_delay() {
        let (mut control, mut window) = (seasoned(), AVOIDANCE);
        window.cwnd = 1.0;
        for n in 0..20_u32 {
            let alone = Ack {
                in_flight: 1,
                ..delayed(f64::from(n), 50 + u64::from(n), 0.18)
            };
            control.on_ack(&alone, &mut window, &mut random());
        }
        assert!(window.cwnd > 2.0, "{window:?}");
        assert_eq!((control.most, control.smoothed), (0.2, 0.1));
        let pair = Ack {
            covered: 2,
            ..delayed(30.0, 100, 0.1)
        };
        control.on_ack(&pair, &mut window, &mut random());
        control.on_ack(&delayed(30.1, 102, 0.18), &mut window, &mut random());
        assert_eq!(control.smoothed, 0.1);
        control.on_ack(&delayed(30.2, 103, 0.18), &mut window, &mut random());
        assert!((control.smoothed - 0.11).abs() < 1e-15);
    }

    fn of_linux(origin: u32) -> LinuxLp {
        let control = LpParams {
            form: Form::Linux,
            ..LpParams::from_values(&[]).unwrap()
        };
        LinuxLp {
            origin: Some(origin),
            ..control.build(0).linux()
        }
    }

    /// ACKs 10 ms apart, of `rtt` seconds each; the largest window.
    fn windows(control: &mut LinuxLp, window: &mut Window, rtts: impl Iterator<Item = f64>) -> f64 {
        let mut largest = 0.0;
        for (n, rtt) in rtts.enumerate() {
            let ack = delayed(1.0 + 0.01 * n as f64, n as u64, rtt);
            control.on_every_ack(&ack);
            control.on_ack(&ack, window, &mut random());
            largest = f64::max(largest, window.cwnd);
        }
        largest
    }

    /// Delays above 2^29 ms are never indicated: their smoothed value has no upper bits.
    #[test]
    fn linux_is_reno_with_most_origins() {
        let rises = || {
            (0..100).map(|n| {
                if n < 20 {
                    0.1
                } else {
                    0.1 + 0.01 * f64::from(n - 20)
                }
            })
        };
        for (origin, cuts) in [
            (1 << 28, true),
            (1 << 29, false),
            (u32::MAX - 1_000_000, false),
        ] {
            let (mut control, mut window) = (of_linux(origin), AVOIDANCE);
            windows(&mut control, &mut window, rises());
            assert_eq!(window.cwnd < 40.0, cuts, "{origin}");
            if !cuts {
                // 100 ACKs of one segment, in windows of 40 and 41
                assert_eq!(window.cwnd, 42.0);
            }
        }
    }

    /// 64ths of the distance, rounded down, of the ratio of two steps of the clocks.
    #[test]
    fn linux_finds_the_rate_of_the_receivers_clock() {
        let mut control = of_linux(0);
        assert_eq!(control.delay(100, 50), None);
        assert_eq!(control.delay(110, 60), Some(50)); // 1000 a second
        assert_eq!(control.delay(120, 65), Some(0_u32.wrapping_sub(65))); // 2000
        assert_eq!(control.clock_rate, 1015);
        assert_eq!(control.delay(120, 70), Some(0_u32.wrapping_sub(70))); // no step
        control.delay(130, 80);
        assert_eq!(control.clock_rate, 1014);
    }

    /// A delayed ACK echoes the first of the segments that it covers, and was sent for the last.
    #[test]
    fn linux_goes_by_the_time_that_an_ack_echoes() {
        let mut control = of_linux(0);
        control.clock_rate = 1000;
        let ack = Ack {
            echo: Time::from_seconds(0.85),
            ..delayed(1.0, 1, 0.1)
        };
        control.on_every_ack(&ack);
        assert_eq!(control.smoothed, 8 * 150);
        assert_eq!(control.inference, 450);
    }

    #[test]
    fn linux_forgets_the_largest_delay_and_halves_without_a_threshold() {
        let mut control = of_linux(0);
        for (delay, most) in [(50, 50), (80, 50), (70, 70)] {
            control.sample(delay);
            assert_eq!((control.least, control.most), (50, most));
        }
        assert_eq!(control.next_most, 80);
        assert_eq!(control.smoothed, 400 + 30 + (70 - 430 / 8));
        let mut window = AVOIDANCE;
        control.clock_rate = 1000;
        let ack = delayed(1.0, 1, 0.2);
        control.on_every_ack(&ack);
        control.on_ack(&ack, &mut window, &mut random());
        assert_eq!((window.cwnd, window.ssthresh), (20.0, 20.0));
    }
}
