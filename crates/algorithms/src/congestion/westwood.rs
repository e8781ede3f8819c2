//! TCP Westwood+: after a loss the window is what the measured rate fills without a queue.
//!
//! Once a round trip the rate of acknowledged segments is sampled and smoothed. A loss, mark or
//! timeout sets ssthresh to rate x smallest RTT instead of half the window, so that random losses
//! on an empty path cost little. Growth is Reno's. Rounds in which losses were repaired give no
//! sample.
//!
//! With `form = "linux"`, the rate is measured over the last RTT sample, 50 ms at least, by every
//! ACK and with two filters of this weight one behind the other; a loss or mark halves the window,
//! and the rate sets it when the answer to it is over. Rates are whole bytes a millisecond, rounded
//! down where they are divided or filtered, so that a slow flow's is found up to an eighth too low;
//! a duplicate ACK counts for one segment, and what duplicates have counted is not counted again.

use super::{
    Ack, CongestionAlgorithm, CongestionControl, Form, Forms, LINUX_FORM, MIN_SSTHRESH, Needs,
    Reduction, SegmentCount, Signal, TICKS_PER_SECOND, Window, tick_of, ticks_of,
};
use crate::fluid::{FluidTcp, Path, TcpInput};
use crate::meta::{About, Algorithm};
use crate::{DefaultValue, Interval, Scalar, Stream, Time, parameters};

parameters! {
    /// Parameters of TCP Westwood+.
    pub struct WestwoodParams {
        /// Weight of a sample in the smoothed rate.
        weight: number = 0.1, in Interval::above_to(0.0, 1.0), "Grieco and Mascolo 2004, section 2.1";
        /// The algorithm as published, or as Linux implements it.
        form: choice(Form) = Paper, "style: Linux 6.1";
    }
}

impl Algorithm for WestwoodParams {
    const ABOUT: About = About {
        kind: "westwood",
        title: "TCP Westwood+",
        summary: "Reno that sets its window after a loss to the measured rate times the smallest RTT, for lossy links.",
        citation: "L. A. Grieco and S. Mascolo, Performance evaluation and comparison of Westwood+, New Reno and Vegas TCP congestion control, ACM CCR 34(2), 2004",
        ecn: true,
    };

    const LINUX: &'static [(&'static str, DefaultValue)] =
        &[LINUX_FORM, ("weight", DefaultValue::Number(0.125))];
}

impl CongestionAlgorithm for WestwoodParams {
    type Controller = Forms<PaperWestwood, LinuxWestwood>;

    fn build(&self, _flow: u32) -> Self::Controller {
        match self.form {
            Form::Paper => Forms::Paper(PaperWestwood {
                rate: 0.0,
                round: None,
                acked: 0,
                weight: self.weight,
            }),
            Form::Linux => Forms::Linux(LinuxWestwood::new(self.weight)),
        }
    }
}

impl FluidTcp for WestwoodParams {
    type Over<S: Scalar> = WestwoodParams<S>;

    const APPROXIMATION: Option<&'static str> = Some(
        "with the rate estimate as a state (Grieco and Mascolo 2004, sections 2.1 and 2.2), sampled in repairs too; without bounds of the window from below",
    );

    const BY_DELAY: bool = true;

    /// 1 / w.
    fn increase<S: Scalar>(_params: &WestwoodParams<S>, window: S, _path: &Path<S>) -> S {
        S::from_f64(1.0) / window
    }

    /// w (1 - base RTT / RTT): a window less what its rate fills without a queue.
    fn decrease<S: Scalar>(_params: &WestwoodParams<S>, window: S, path: &Path<S>) -> S {
        window * path.delay() / path.measured
    }

    fn state_names<S: Scalar>(_params: &WestwoodParams<S>) -> &'static [&'static str] {
        &["window (packets)", "measured rate (packets/s)"]
    }

    fn start<S: Scalar>(_params: &WestwoodParams<S>, window: S, path: &Path<S>, state: &mut [S]) {
        state[0] = window;
        state[1] = window / path.measured;
    }

    /// A signal takes w - r base RTT; the rate r follows that of the ACKs by `weight` a round trip.
    fn derivative<S: Scalar>(
        params: &WestwoodParams<S>,
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
        let (window, measured) = (state[0], state[1]);
        let fall = (window - measured * path.base_rtt).max(S::from_f64(0.0));
        rate[0] = *acks / window - fall * *signals;
        rate[1] = params.weight / path.measured * (*acks - measured);
    }
}

/// TCP Westwood+ at work.
#[derive(Clone, Copy, Debug)]
pub struct PaperWestwood {
    /// Smoothed rate, segments/s; zero before the first sample.
    rate: f64,
    /// Beginning of the round; `None` if it was not seen.
    round: Option<Time>,
    /// Segments acknowledged in the round.
    acked: u32,
    weight: f64,
}

impl CongestionControl for PaperWestwood {
    #[inline]
    fn on_ack(&mut self, ack: &Ack, window: &mut Window, _random: &mut Stream) {
        if ack.round_start {
            if let Some(begin) = self.round
                && ack.now > begin
            {
                let sample = f64::from(self.acked) / ack.now.since(begin).seconds();
                self.rate = if self.rate > 0.0 {
                    self.rate + self.weight * (sample - self.rate)
                } else {
                    sample
                };
            }
            self.round = Some(ack.now);
            self.acked = 0;
        }
        self.acked += ack.acked;
        if ack.cwnd_limited {
            let acked = window.slow_start(f64::from(ack.acked));
            window.cwnd += acked / window.cwnd;
        }
    }

    fn on_congestion(&mut self, reduction: &Reduction, window: &mut Window) {
        let used = reduction.window_used;
        // before the first sample as Reno
        let fill = if self.rate > 0.0 {
            (self.rate * reduction.min_rtt).min(used)
        } else {
            0.5 * used
        };
        self.round = None;
        window.ssthresh = fill.max(MIN_SSTHRESH);
        if reduction.signal != Signal::Timeout {
            window.cwnd = window.ssthresh;
        }
    }
}

/// TCP Westwood+ at work as in Linux: times in whole ticks of a millisecond, rates in whole bytes a
/// tick.
#[derive(Clone, Copy, Debug)]
pub struct LinuxWestwood {
    /// Rate after the first and the second filter; zero before the first sample.
    first: u64,
    rate: u64,
    /// Beginning of the measurement, and bytes acknowledged in it.
    begin: Option<u64>,
    acked: u64,
    /// Bytes counted by duplicate ACKs that no cumulative one has covered yet.
    ahead: u64,
    /// The last RTT, and the smallest since the last timeout; none before the next ACK.
    rtt: u64,
    min_rtt: Option<u64>,
    weight: f64,
    count: SegmentCount,
}

/// Bytes of data in a segment of Ethernet with time stamps: rates are rounded in bytes.
const SEGMENT_BYTES: u64 = 1448;
/// The RTT before the first sample, ticks.
const INITIAL_RTT: u64 = 20 * TICKS_PER_SECOND;
/// The shortest measurement of the rate, ticks.
const LEAST_SPAN: u64 = TICKS_PER_SECOND / 20;

impl LinuxWestwood {
    fn new(weight: f64) -> Self {
        Self {
            first: 0,
            rate: 0,
            begin: None,
            acked: 0,
            ahead: 0,
            rtt: INITIAL_RTT,
            min_rtt: None,
            weight,
            count: SegmentCount::default(),
        }
    }

    /// Segments that fill the path without a queue.
    fn fill(&self) -> f64 {
        let bytes = self.rate * self.min_rtt.unwrap_or(0);
        ((bytes / SEGMENT_BYTES) as f64).max(MIN_SSTHRESH)
    }

    /// A measurement of `rate` goes through both filters.
    fn filter(&mut self, rate: u64) {
        if self.rate == 0 && self.first == 0 {
            (self.first, self.rate) = (rate, rate);
            return;
        }
        let weight = self.weight;
        let mix = |old: u64, new: u64| ((1.0 - weight) * old as f64 + weight * new as f64) as u64;
        self.first = mix(self.first, rate);
        self.rate = mix(self.rate, self.first);
    }

    /// Bytes that an ACK counts for that covers `covered` segments: a duplicate for one, and what
    /// duplicates have counted for is not counted again.
    fn bytes_of(&mut self, covered: u32) -> u64 {
        let bytes = SEGMENT_BYTES * u64::from(covered);
        if bytes == 0 {
            self.ahead += SEGMENT_BYTES;
            return SEGMENT_BYTES;
        }
        if bytes == SEGMENT_BYTES {
            return bytes;
        }
        if self.ahead >= bytes {
            self.ahead -= bytes;
            return SEGMENT_BYTES;
        }
        bytes - std::mem::take(&mut self.ahead)
    }
}

impl CongestionControl for LinuxWestwood {
    fn needs(&self) -> Needs {
        Needs {
            every_ack: true,
            ca_state: true,
            ..Needs::default()
        }
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack, window: &mut Window, _random: &mut Stream) {
        self.count.grow_as_reno(ack, window);
    }

    fn on_every_ack(&mut self, ack: &Ack) {
        let (now, rtt) = (tick_of(ack.now), ticks_of(ack.rtt));
        // since the handshake
        let begin = *self
            .begin
            .get_or_insert(now.saturating_sub(rtt.unwrap_or(0)));
        let past = now.saturating_sub(begin);
        if past > self.rtt.max(LEAST_SPAN) {
            self.filter(self.acked / past);
            (self.begin, self.acked) = (Some(now), 0);
        }
        self.acked += self.bytes_of(ack.covered);
        self.min_rtt = Some(self.min_rtt.map_or(self.rtt, |least| least.min(self.rtt)));
        // what this ACK says of the round trip comes after what it says of the rate
        self.rtt = rtt.unwrap_or(self.rtt);
    }

    fn on_congestion(&mut self, reduction: &Reduction, window: &mut Window) {
        self.count.clear();
        if reduction.signal == Signal::Timeout {
            window.ssthresh = self.fill();
            self.min_rtt = None;
        } else {
            window.ssthresh = (0.5 * reduction.window_used).floor().max(MIN_SSTHRESH);
            window.cwnd = window.ssthresh;
        }
    }

    fn on_recovery_end(&mut self, _now: Time, window: &mut Window) {
        window.ssthresh = self.fill();
        window.cwnd = window.ssthresh;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Parameters as _;
    use crate::congestion::test::{ack, loss, random};

    fn params() -> WestwoodParams {
        WestwoodParams::from_values(&[]).unwrap()
    }

    /// A round of `acks` segments in 0.1 s, the `n`-th.
    fn round(control: &mut PaperWestwood, n: u32, acks: u32) {
        let sample = Ack {
            now: Time::from_seconds(0.1 * f64::from(n)),
            acked: acks,
            round_start: true,
            cwnd_limited: false,
            ..ack(1)
        };
        let mut window = Window {
            cwnd: 100.0,
            ssthresh: 2.0,
        };
        control.on_ack(&sample, &mut window, &mut random());
    }

    fn fall(control: &mut PaperWestwood, signal: Signal) -> Window {
        let mut window = Window {
            cwnd: 100.0,
            ssthresh: 2.0,
        };
        let lost = Reduction {
            signal,
            min_rtt: 0.05,
            ..loss(100.0)
        };
        control.on_congestion(&lost, &mut window);
        window
    }

    #[test]
    fn the_window_becomes_rate_times_smallest_rtt() {
        let mut control = params().build(0).paper();
        for n in 0..10 {
            round(&mut control, n, 80); // 800 segments/s
        }
        assert!((control.rate - 800.0).abs() < 1e-9);
        let window = fall(&mut control, Signal::Loss);
        assert!((window.cwnd - 40.0).abs() < 1e-9 && window.ssthresh == window.cwnd);
        // the round that the loss broke gives no sample
        round(&mut control, 20, 10);
        assert!((control.rate - 800.0).abs() < 1e-9);
        round(&mut control, 21, 10);
        assert!((control.rate - (0.9 * 800.0 + 0.1 * 100.0)).abs() < 1e-9);
        let window = fall(&mut control, Signal::Timeout);
        assert!((window.ssthresh - 36.5).abs() < 1e-9 && window.cwnd == 100.0);
    }

    #[test]
    fn never_more_than_was_in_use_and_half_without_a_sample() {
        let mut control = params().build(0).paper();
        assert_eq!(fall(&mut control, Signal::Loss).cwnd, 50.0);
        control.rate = 1e6;
        assert_eq!(fall(&mut control, Signal::Loss).cwnd, 100.0);
    }

    fn linux() -> LinuxWestwood {
        let params = WestwoodParams {
            form: Form::Linux,
            weight: 0.125,
        };
        params.build(0).linux()
    }

    /// `count` ACKs of a segment each, `gap` seconds apart and after 0.1 s.
    fn acks(control: &mut LinuxWestwood, count: u32, gap: f64) {
        for n in 0..count {
            let sample = Ack {
                now: Time::from_seconds(1.0 + gap * f64::from(n)),
                rtt: 0.1,
                ..ack(1)
            };
            control.on_every_ack(&sample);
        }
    }

    /// Linux: half the window while losses are repaired, then rate x smallest RTT.
    #[test]
    fn whole_packets_as_in_linux() {
        let mut control = linux();
        acks(&mut control, 10_000, 0.001); // 1000 segments/s; the first sample is of one ACK
        let mut window = Window {
            cwnd: 150.0,
            ssthresh: 150.0,
        };
        control.on_congestion(&loss(150.0), &mut window);
        assert_eq!(window.cwnd, 75.0);
        control.on_recovery_end(Time::from_seconds(2.1), &mut window);
        assert!((window.cwnd - 100.0).abs() <= 1.0, "{}", window.cwnd);
        assert_eq!(window.cwnd, window.cwnd.floor());
    }

    /// 90 segments/s are 130 B a millisecond. The filters round down, so that each rests up to seven
    /// below what it is given.
    #[test]
    fn slow_rates_are_found_too_low_in_linux() {
        let mut control = linux();
        control.filter(100);
        for _ in 0..1000 {
            control.filter(130);
        }
        assert_eq!((control.first, control.rate), (123, 116));
        let mut control = linux();
        control.filter(140);
        for _ in 0..1000 {
            control.filter(130);
        }
        assert_eq!((control.first, control.rate), (130, 130));
    }

    /// Three duplicates count for a segment each, and the ACK that covers four for the one that is
    /// left; a duplicate that reports more than one counts for one.
    #[test]
    fn duplicates_count_for_one_segment_in_linux() {
        let mut control = linux();
        let mut total = 0;
        for covered in [0, 0, 0, 4, 2] {
            total += control.bytes_of(covered);
        }
        assert_eq!(total, 6 * SEGMENT_BYTES);
        assert_eq!(control.bytes_of(0), SEGMENT_BYTES);
        assert_eq!(control.bytes_of(1), SEGMENT_BYTES); // not taken for one of several
        assert_eq!(control.bytes_of(3), 2 * SEGMENT_BYTES);
        // three ahead: an ACK of two counts for one, and leaves one ahead of the next
        for (covered, segments) in [(0, 1), (0, 1), (0, 1), (2, 1), (3, 2)] {
            assert_eq!(control.bytes_of(covered), segments * SEGMENT_BYTES);
        }
    }
}
