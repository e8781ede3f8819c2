//! PERT: a Reno that backs off at random by its smoothed queueing delay, as a RED queue would make
//! it.
//!
//! On each ACK the RTT is smoothed with a weight of 0.01 (srtt_0.99) and its excess over the
//! smallest RTT taken as the queueing delay. The window falls by
//! `early_decrease` with a probability that is RED's gentle curve over the delay: zero up to `min_threshold`, `p_max` at `max_threshold`, one at twice that; not more than
//! once a round trip. Losses and marks halve it.
//!
//! The paper's receivers acknowledge each packet. Where they delay ACKs, the last ACK of a small
//! window waits for the receiver's timer, which looks like a queue and would hold the window at two
//! segments: with `filter_delayed_acks` the smaller of each two successive samples counts. With two
//! or three segments every sample may still be late.
//!
//! **The form of 2008** (`adaptive`) is to hold its share beside senders that fill the buffer. With
//! q the smoothed queueing delay and Q the largest that was seen (10 ms at least), it differs in
//! three things:
//!
//! - An early response takes q / (q + Q) of the window.
//! - It is certain from 0.65 Q on, where that is more than twice `max_threshold`.
//! - The window grows by alpha packets a round trip, between 1 and 32. Every five round trips alpha
//!   goes up by 0.5 where q was below `min_threshold`; where q was above Q / 2 it goes up by 0.1 as
//!   far as a target; anywhere else it falls by a tenth. The target is 1 + p' / p from 0.65 Q on,
//!   and falls along a hyperbola to 1 at Q / 2. Here p is the rate of losses a packet and p' that of
//!   early responses, both by TFRC's mean of the last eight intervals (RFC 5348, section 5.4);
//!   without a loss the target is 32.
//!
//! What this rests on: the paper of 2008 was not at hand. The rules are those of a public port to
//! ns-3 (`tcp-pert-red.cc`, `tcp-pert-pi.cc`), whose comments name Kotla and the code for ns-2 that
//! it comes from. Ours: alpha begins at 1 (port: 32), every ACK counts for the regions (port: only
//! those while the present interval between losses is longer than their mean), losses halve the
//! window (port: they take q / (q + Q) too).

use super::{Ack, CongestionAlgorithm, CongestionControl, MIN_SSTHRESH, Reduction, Window, chance};
use crate::fluid::{FluidTcp, Path, TcpInput};
use crate::meta::{About, Algorithm};
use crate::params::inconsistent;
use crate::{Interval, Scalar, Stream, Time, ValueError, parameters};

parameters! {
    /// Parameters of PERT.
    pub struct PertParams {
        /// Queueing delay up to which no early response happens.
        min_threshold: time = 0.005, in Interval::at_least(0.0), "Bhandarkar et al. 2007, section 3.3";
        /// Queueing delay of probability `p_max`; at twice it the probability is one.
        max_threshold: time = 0.01, in Interval::above(0.0), "Bhandarkar et al. 2007, section 3.3";
        /// Probability of an early response at `max_threshold`, for a packet.
        p_max: number = 0.05, in Interval::between(0.0, 1.0), "Bhandarkar et al. 2007, section 3.3";
        /// Decrease fraction of an early response: the window falls to (1 - early_decrease) w.
        early_decrease: number = 0.35, in Interval::inside(0.0, 1.0), "Bhandarkar et al. 2007, section 3.2";
        /// Weight of a sample in the smoothed RTT.
        weight: number = 0.01, in Interval::above_to(0.0, 1.0), "Bhandarkar et al. 2007, section 2";
        /// Whether single late samples, as delayed ACKs make them, do not count.
        filter_delayed_acks: flag = true, "ours";
        /// Whether increase and decrease adapt to senders that fill the buffer: the form of 2008,
        /// as a public port of its code has it.
        adaptive: flag = false, "Kotla and Reddy 2008, by a port to ns-3";
    }
}

/// Largest additive increase of the form of 2008, packets a round trip.
const MAX_INCREASE: f64 = 32.0;
/// Round trips between two changes of it.
const CHANGE_EVERY: f64 = 5.0;
/// Queueing delay that counts as the largest one until more was seen, s.
const LEAST_RANGE: f64 = 0.01;
/// Share of the largest queueing delay from which early responses are certain and the increase has
/// its full target.
const CERTAIN_SHARE: f64 = 0.65;
/// Share of it from which others are taken to fill the buffer.
const COMPETING_SHARE: f64 = 0.5;

impl<S: Scalar> PertParams<S> {
    /// Probability of an early response at a queueing delay, s; zero where it is not known.
    fn probability(&self, delay: S) -> S {
        self.curve(delay, self.max_threshold * 2.0)
    }

    /// The same where a response is certain from `certain` on.
    fn curve(&self, delay: S, certain: S) -> S {
        let Self {
            min_threshold,
            max_threshold,
            p_max,
            ..
        } = *self;
        let one = S::from_f64(1.0);
        if delay.re().is_nan() || delay.re() <= min_threshold.re() {
            S::from_f64(0.0)
        } else if delay.re() <= max_threshold.re() {
            p_max * (delay - min_threshold) / (max_threshold - min_threshold)
        } else {
            let way = certain - max_threshold;
            (p_max + (one - p_max) * (delay - max_threshold) / way).min(one)
        }
    }

    /// The change by one acknowledgement at a mean queueing delay, early responses included: they come
    /// with probability p / (1 + p w), as none comes in the round trip after one.
    fn step(&self, window: S, delay: S, per_ack: bool) -> S {
        let one = S::from_f64(1.0);
        let p = self.probability(delay);
        let early = p / (p * window + 1.0);
        let grows = if per_ack { one - early } else { one };
        grows / window - early * self.early_decrease * window
    }
}

impl Algorithm for PertParams {
    const ABOUT: About = About {
        kind: "pert",
        title: "PERT",
        summary: "Emulates RED at the sender: Reno with random early decreases by a probability that rises with the smoothed queueing delay.",
        citation: "S. Bhandarkar, A. L. N. Reddy, Y. Zhang and D. Loguinov, Emulating AQM from end hosts, SIGCOMM 2007; \
                   K. Kotla and A. L. N. Reddy, Making a delay-based protocol adaptive to heterogeneous environments, IWQoS 2008",
        ecn: true,
    };

    fn check(&self) -> Result<(), ValueError> {
        if self.max_threshold > self.min_threshold {
            return Ok(());
        }
        Err(inconsistent(
            "max_threshold",
            self.max_threshold,
            format!("above min_threshold, which is {}", self.min_threshold),
        ))
    }
}

impl CongestionAlgorithm for PertParams {
    type Controller = Pert;

    fn build(&self, _flow: u32) -> Pert {
        Pert {
            average: f64::NAN,
            sample: f64::INFINITY,
            last: None,
            adaptive: self.adaptive.then(Box::default),
            params: *self,
        }
    }
}

impl FluidTcp for PertParams {
    type Over<S: Scalar> = PertParams<S>;

    const APPROXIMATION: Option<&'static str> = Some(
        "with early responses at their mean rate for the smoothed delay, one a round trip at most",
    );

    const BY_DELAY: bool = true;

    /// The form of 2008 hangs on the largest delay that was ever seen, which no equation has.
    fn has_law(&self) -> bool {
        !self.adaptive
    }

    /// (1 - e) / w - e `early_decrease` w, where e is the probability of an early response at the
    /// delay of now: the emulated RED of Bhandarkar et al. as a rate (as Budzisz et al., IEEE/ACM
    /// Transactions on Networking 19(6), 2011, equation (2), has the back-offs of Cx-TCP).
    fn increase<S: Scalar>(params: &PertParams<S>, window: S, path: &Path<S>) -> S {
        params.step(window, path.delay(), true)
    }

    /// w / 2.
    fn decrease<S: Scalar>(_params: &PertParams<S>, window: S, _path: &Path<S>) -> S {
        window * 0.5
    }

    fn state_names<S: Scalar>(_params: &PertParams<S>) -> &'static [&'static str] {
        &["window (packets)", "mean RTT (s)"]
    }

    fn start<S: Scalar>(_params: &PertParams<S>, window: S, path: &Path<S>, state: &mut [S]) {
        state[0] = window;
        state[1] = path.measured;
    }

    /// The mean RTT follows with `weight` a sample.
    fn derivative<S: Scalar>(
        params: &PertParams<S>,
        input: &TcpInput<S>,
        state: &[S],
        rate: &mut [S],
    ) {
        let TcpInput {
            acks,
            signals,
            per_ack,
            path,
        } = input;
        let (window, average) = (state[0], state[1]);
        let step = params.step(window, average - path.base_rtt, *per_ack);
        rate[0] = step * *acks - window * 0.5 * *signals;
        rate[1] = params.weight * *acks * (path.measured - average);
    }
}

/// Packets between events of a kind: the last eight intervals, and the one that has not ended.
#[derive(Clone, Debug, Default)]
struct Intervals {
    /// The newest first; zero where there was none yet.
    ended: [f64; 8],
    open: f64,
}

impl Intervals {
    /// Weights of loss intervals, the newest first (RFC 5348, section 5.4).
    const WEIGHTS: [f64; 8] = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];

    fn end(&mut self) {
        if self.open > 0.0 {
            self.ended.rotate_right(1);
            self.ended[0] = core::mem::take(&mut self.open);
        }
    }

    /// The weighted mean of the intervals that ended, packets; zero if none did.
    fn mean(&self) -> f64 {
        Self::weighted(self.ended.iter())
    }

    /// The same with the open interval as the newest, where that makes it longer.
    fn mean_so_far(&self) -> f64 {
        self.mean()
            .max(Self::weighted([self.open].iter().chain(&self.ended[..7])))
    }

    fn weighted<'a>(intervals: impl Iterator<Item = &'a f64>) -> f64 {
        let (mut sum, mut weights) = (0.0, 0.0);
        for (interval, weight) in intervals.zip(Self::WEIGHTS) {
            if *interval > 0.0 {
                sum += weight * interval;
                weights += weight;
            }
        }
        if weights > 0.0 { sum / weights } else { 0.0 }
    }
}

/// Additional state of the form of 2008.
#[derive(Clone, Debug)]
struct Adaptive {
    /// Additive increase (alpha), packets a round trip.
    increase: f64,
    /// Largest RTT seen, s.
    max_rtt: f64,
    losses: Intervals,
    responses: Intervals,
    /// Segments acknowledged with a delay below `min_threshold` since the increase last changed, or
    /// the delay was last between the regions.
    low: f64,
    /// The same with a delay that others must have made.
    high: f64,
    /// When the increase last changed.
    changed: Option<Time>,
}

impl Default for Adaptive {
    fn default() -> Self {
        Self {
            increase: 1.0,
            max_rtt: 0.0,
            losses: Intervals::default(),
            responses: Intervals::default(),
            low: 0.0,
            high: 0.0,
            changed: None,
        }
    }
}

impl Adaptive {
    /// Largest queueing delay seen, s.
    fn range(&self, min_rtt: f64) -> f64 {
        (self.max_rtt - min_rtt).max(LEAST_RANGE)
    }

    /// The increase to rise to where others fill the buffer, `share` of the largest delay
    /// being there now.
    fn target(&self, share: f64) -> f64 {
        let losses = self.losses.mean_so_far();
        let responses = self.responses.mean();
        if self.losses.mean() == 0.0 {
            return MAX_INCREASE; // nothing was lost yet
        }
        // p' / p: zero without a response
        let more = if responses > 0.0 {
            losses / responses
        } else {
            0.0
        };
        // a hyperbola with its pole a hundredth below COMPETING, from 0 there to 1 at CERTAIN
        let pole = COMPETING_SHARE - 0.01;
        let rise = 1.0 / (COMPETING_SHARE - pole) - 1.0 / (CERTAIN_SHARE - pole);
        let part = (1.0 / (COMPETING_SHARE - pole) - 1.0 / (share - pole)) / rise;
        1.0 + more * part.clamp(0.0, 1.0)
    }

    /// Takes an ACK at a queueing delay; every five round trips the increase changes.
    fn on_ack(&mut self, ack: &Ack, delay: f64, window: f64, min_threshold: f64) {
        let acked = f64::from(ack.acked);
        self.losses.open += acked;
        self.responses.open += acked;
        let range = self.range(ack.min_rtt);
        if delay <= min_threshold {
            self.low += acked;
        } else if delay >= COMPETING_SHARE * range {
            self.high += acked;
        } else {
            (self.low, self.high) = (0.0, 0.0);
        }
        let changed = *self.changed.get_or_insert(ack.now);
        if ack.now.since(changed).seconds() < CHANGE_EVERY * ack.srtt {
            return;
        }
        self.increase = if self.high >= window {
            (self.increase + 0.1).min(self.target(delay / range))
        } else if self.low >= window {
            self.increase + 0.5
        } else {
            0.9 * self.increase
        }
        .clamp(1.0, MAX_INCREASE);
        (self.low, self.high) = (0.0, 0.0);
        self.changed = Some(ack.now);
    }
}

/// PERT at work.
#[derive(Clone, Debug)]
pub struct Pert {
    /// srtt_0.99, s; NaN before the first sample.
    average: f64,
    /// The last RTT sample, s; infinite before the first and without the filter.
    sample: f64,
    /// The last early response.
    last: Option<Time>,
    /// State of the form of 2008.
    adaptive: Option<Box<Adaptive>>,
    params: PertParams,
}

impl CongestionControl for Pert {
    #[inline]
    fn on_ack(&mut self, ack: &Ack, window: &mut Window, random: &mut Stream) {
        if !ack.rtt.is_nan() {
            let rtt = ack.rtt.min(self.sample);
            if self.params.filter_delayed_acks {
                self.sample = ack.rtt;
            }
            if self.average.is_nan() {
                self.average = rtt;
            }
            self.average += self.params.weight * (rtt - self.average);
        }
        let delay = self.average - ack.min_rtt;
        let (p, decrease, increase) = if let Some(adaptive) = &mut self.adaptive {
            adaptive.max_rtt = adaptive.max_rtt.max(ack.rtt); // of two, the one that is a number
            adaptive.on_ack(ack, delay, window.cwnd, self.params.min_threshold);
            let range = adaptive.range(ack.min_rtt);
            let certain = (CERTAIN_SHARE * range).max(2.0 * self.params.max_threshold);
            let decrease = delay.max(0.0) / (delay.max(0.0) + range);
            (
                self.params.curve(delay, certain),
                decrease,
                adaptive.increase,
            )
        } else {
            (
                self.params.probability(delay),
                self.params.early_decrease,
                1.0,
            )
        };
        let due = self
            .last
            .is_none_or(|last| ack.now.since(last).seconds() >= ack.srtt);
        if due && chance(p, ack.acked, random) {
            self.last = Some(ack.now);
            window.ssthresh = (window.cwnd * (1.0 - decrease)).max(MIN_SSTHRESH);
            window.cwnd = window.ssthresh.min(window.cwnd);
            if let Some(adaptive) = &mut self.adaptive {
                adaptive.responses.end();
            }
        } else if ack.cwnd_limited {
            let acked = window.slow_start(f64::from(ack.acked));
            window.cwnd += increase * acked / window.cwnd;
        }
    }

    fn on_congestion(&mut self, reduction: &Reduction, window: &mut Window) {
        if let Some(adaptive) = &mut self.adaptive {
            adaptive.losses.end();
        }
        window.ssthresh = (0.5 * reduction.window_used).max(MIN_SSTHRESH);
        window.cwnd = window.ssthresh;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Parameters as _;
    use crate::congestion::test::{ack, loss, random};

    fn params() -> PertParams {
        PertParams::from_values(&[]).unwrap()
    }

    #[test]
    fn the_curve_is_gentle_reds() {
        let p = |ms: f64| params().probability(1e-3 * ms);
        assert_eq!(
            (p(f64::NAN), p(5.0), p(20.0), p(50.0)),
            (0.0, 0.0, 1.0, 1.0)
        );
        assert!((p(7.5) - 0.025).abs() < 1e-15 && (p(10.0) - 0.05).abs() < 1e-15);
        assert!((p(15.0) - 0.525).abs() < 1e-12);
    }

    /// ACKs every 10 ms of RTT 0.1 + `delay`; the instants at which the window fell.
    fn falls(delay: f64, acks: u32) -> Vec<u32> {
        let mut control = params().build(0);
        let mut draws = random();
        let sample = |n: u32, rtt: f64| Ack {
            now: Time::from_seconds(0.01 * f64::from(n)),
            rtt,
            min_rtt: 0.1,
            srtt: rtt,
            ..ack(1)
        };
        control.average = 0.1 + delay;
        (0..acks)
            .filter(|n| {
                let mut window = Window {
                    cwnd: 100.0,
                    ssthresh: 2.0,
                };
                control.on_ack(&sample(*n, 0.1 + delay), &mut window, &mut draws);
                assert!([65.0, 100.01].contains(&window.cwnd), "{}", window.cwnd);
                window.cwnd == 65.0
            })
            .collect()
    }

    #[test]
    fn early_responses_take_35_per_cent_once_a_round_trip() {
        assert!(falls(0.004, 1000).is_empty());
        // certain at 25 ms: every 13th ACK of 10 ms, the first after a round trip of 125 ms
        assert_eq!(falls(0.025, 48), [0, 13, 26, 39]);
        // p = 0.05 at 10 ms: 11 ACKs of a round trip, then 20 on average; 100,000 / 30 = 3333
        let count = falls(0.01, 100_000).len();
        assert!((3150..3520).contains(&count), "{count}");
    }

    fn adaptive() -> Pert {
        let params = PertParams {
            adaptive: true,
            ..params()
        };
        params.build(0)
    }

    /// One ACK a round trip of 0.1 s and `delay`, for `rounds` of them; the increase afterwards.
    fn increase(control: &mut Pert, delay: f64, rounds: u32) -> f64 {
        let state = control.adaptive.as_mut().expect("the form of 2008");
        let begin = state.changed.map_or(0.0, Time::seconds);
        for n in 1..=rounds {
            let sample = Ack {
                now: Time::from_seconds(begin + 0.2 * f64::from(n)),
                min_rtt: 0.1,
                srtt: 0.2,
                ..ack(10)
            };
            state.on_ack(&sample, delay, 10.0, 0.005);
        }
        state.increase
    }

    #[test]
    fn the_form_of_2008_grows_by_more_where_others_fill_the_buffer() {
        let mut control = adaptive();
        control.adaptive.as_mut().unwrap().max_rtt = 0.3; // Q = 200 ms
        // without a loss, by 0.1 every five round trips beyond the first ACK
        assert!((increase(&mut control, 0.15, 51) - 2.0).abs() < 1e-9);
        // 100 packets from loss to loss and 25 from response to response: 1 + p' / p = 5
        let state = control.adaptive.as_mut().unwrap();
        for (intervals, packets) in [(&mut state.losses, 100.0), (&mut state.responses, 25.0)] {
            intervals.open = packets;
            intervals.end();
        }
        assert!((state.target(0.65) - 5.0).abs() < 1e-12);
        assert!((state.target(1.0) - 5.0).abs() < 1e-12);
        assert!((state.target(0.5) - 1.0).abs() < 1e-12);
        // k2 - k1 / (q - 0.49 Q) with k1 = 4 * 16 / 1500 Q and k2 = 1 + 4 * 16 / 15
        let at = 1.0 + 64.0 / 15.0 - 64.0 / 1500.0 / 0.06;
        assert!((state.target(0.55) - at).abs() < 1e-12);
        // between the regions it falls by a tenth, and not below one
        assert!((increase(&mut control, 0.05, 5) - 1.8).abs() < 1e-9);
        assert_eq!(increase(&mut control, 0.05, 100), 1.0);
        // an empty path: by 0.5, up to 32
        assert!((increase(&mut control, 0.001, 10) - 2.0).abs() < 1e-9);
        assert_eq!(increase(&mut control, 0.001, 500), 32.0);
    }

    #[test]
    fn the_form_of_2008_responds_by_its_share_of_the_largest_delay() {
        let mut control = adaptive();
        control.adaptive.as_mut().unwrap().max_rtt = 0.2; // Q = 100 ms
        control.average = 0.17;
        let mut window = Window {
            cwnd: 100.0,
            ssthresh: 2.0,
        };
        let late = Ack {
            rtt: f64::NAN,
            min_rtt: 0.1,
            srtt: 0.1,
            ..ack(1)
        };
        // 70 ms are above 0.65 Q: certain
        control.on_ack(&late, &mut window, &mut random());
        assert!((window.cwnd - 100.0 / 1.7).abs() < 1e-9, "{}", window.cwnd);
        let certain = PertParams::from_values(&[]).unwrap().curve(0.04, 0.065);
        assert!((certain - (0.05 + 0.95 * 30.0 / 55.0)).abs() < 1e-12);
    }

    #[test]
    fn intervals_are_those_of_tfrc() {
        let mut intervals = Intervals::default();
        assert_eq!(intervals.mean(), 0.0);
        for packets in [5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0] {
            intervals.open = packets;
            intervals.end();
        }
        // the newest four in full, the oldest, of 5, forgotten
        let mean = (80.0 + 70.0 + 60.0 + 50.0 + 32.0 + 18.0 + 8.0 + 2.0) / 6.0;
        assert!((intervals.mean() - mean).abs() < 1e-12);
        intervals.open = 10.0;
        assert_eq!(intervals.mean_so_far(), intervals.mean());
        intervals.open = 1000.0;
        assert!(intervals.mean_so_far() > 200.0);
    }

    #[test]
    fn delayed_acks_are_filtered() {
        let mut control = params().build(0);
        let mut window = Window {
            cwnd: 3.0,
            ssthresh: 2.0,
        };
        for n in 0..1000 {
            let sample = Ack {
                rtt: if n % 2 == 0 { 0.1 } else { 0.14 },
                min_rtt: 0.1,
                ..ack(1)
            };
            control.on_ack(&sample, &mut window, &mut random());
            assert_eq!(control.average, 0.1);
        }
    }

    #[test]
    fn the_smoothed_rtt_forgets_a_hundredth_a_sample() {
        let literal = PertParams {
            filter_delayed_acks: false,
            ..params()
        };
        let mut control = literal.build(0);
        let mut window = Window {
            cwnd: 100.0,
            ssthresh: 2.0,
        };
        for rtt in [0.1, f64::NAN, 0.2] {
            let sample = Ack {
                rtt,
                min_rtt: 0.1,
                srtt: 0.1,
                ..ack(1)
            };
            control.on_ack(&sample, &mut window, &mut random());
        }
        assert!((control.average - 0.101).abs() < 1e-15);
        control.on_congestion(&loss(100.0), &mut window);
        assert_eq!((window.cwnd, window.ssthresh), (50.0, 50.0));
    }
}
