//! TCP Prague: DCTCP's answer to marks for paths of every length.
//!
//! The share of marked segments enters the estimate alpha with weight g, and marks take alpha / 2
//! of the window once a round trip, as in DCTCP. What it adds
//! (draft-briscoe-iccrg-prague-congestion-control; the L4S team's `tcp_prague.c` of 2020):
//!
//! - Segments leave one by one, at cwnd / srtt, and at twice that in the first half of slow start.
//! - What the window is to grow or fall by is carried in fractions of a segment, and the window moves by a whole segment, at most one an ACK. So small windows
//!   follow small values of alpha, and reductions are spread over a round trip.
//! - Acknowledged segments that were not marked let the window grow, those of the round trip of a reduction included.
//! - With `rtt_control = "rate"` round trips below `rtt_target` count as if they were that long: alpha is updated and the window falls once in the longer
//!   time, and the window grows by (srtt / target)^2 of a segment a round trip. So flows of different short round trips get equal rates. It begins
//!   `rtt_transition` round trips after slow start, so that short flows get up to speed as fast as others.
//! - alpha is not updated before the first mark: it is then 1, so that the first mark halves the window and ends slow start.
//!
//! A loss takes half of the window, as Reno's does. Without ECN the sender is Reno, paced.
//!
//! With `classic_fallback` it looks for queues under RFC 3168 (passive detection: Briscoe and
//! Ahmed, arXiv:1911.00710; Linux: `prague_ecn_fallback`, off): a score rises once a round trip by
//! half of log2(v / 750 us), v the mean deviation of the round trip, and by half of log2(d / 2 ms),
//! d its queueing delay, where that is above 2 ms. It stays between 0 and 17; between 8 and 9 the
//! least share that a mark takes goes from 0 to 5/16 of the window. The averages behind it forget
//! over 2 ssthresh^1.5 samples or so.
//!
//! Not part of it: bursts of up to 250 us at rates above 48 Mbit/s; windows below two segments.

use super::{
    Ack, CaState, CongestionAlgorithm, CongestionControl, Delivery, MIN_SSTHRESH, Needs, Reduction,
    Signal, Window,
};
use crate::fluid::{FALL_A_MARK, FluidTcp, Path, TcpInput};
use crate::meta::{About, Algorithm};
use crate::{Interval, Scalar, Stream, Time, choices, parameters};

choices! {
    /// How the rate depends on the round trip.
    pub enum RttControl {
        /// Not at all: each round trip counts as it is, as in DCTCP.
        None = "none",
        /// Round trips below the target count as if they were that long.
        Rate = "rate",
    }
}

parameters! {
    /// Parameters of TCP Prague.
    pub struct PragueParams {
        /// Weight of a round trip in the estimated share of marked segments.
        g: number = 0.0625, in Interval::above_to(0.0, 1.0), "draft-briscoe-iccrg-prague-congestion-control; Linux: PRAGUE_SHIFT_G";
        /// The estimate before the first mark: at 1 it halves the window.
        initial_alpha: number = 1.0, in Interval::between(0.0, 1.0), "Linux: PRAGUE_MAX_ALPHA";
        /// How the rate depends on the round trip.
        rtt_control: choice(RttControl) = Rate, "draft-briscoe-iccrg-prague-congestion-control; Linux: prague_rtt_scaling";
        /// Round trip that shorter ones count as.
        rtt_target: time = 0.025, in Interval::above(0.0), "draft-briscoe-iccrg-prague-congestion-control; Linux: prague_rtt_target";
        /// Round trips after slow start from which they do.
        rtt_transition: number = 500.0, in Interval::between(0.0, 1e9), "Linux: DEFAULT_RTT_TRANSITION";
        /// Segments that leave together, with the gap of all after them.
        burst: packets = 1.0, in Interval::between(1.0, 64.0), "draft-briscoe-iccrg-prague-congestion-control; Linux with segmentation offload: 2 at least (tcp_min_tso_segs)";
        /// Whether a queue under RFC 3168 is looked for, and answered nearly as Reno would.
        classic_fallback: flag = false, "Briscoe and Ahmed, arXiv:1911.00710; Linux: prague_ecn_fallback";
    }
}

impl Algorithm for PragueParams {
    const ABOUT: About = About {
        kind: "prague",
        title: "TCP Prague",
        summary: "DCTCP for the Internet, a scalable sender of L4S: paced, moves its window by fractions, and treats short round trips as one of 25 ms.",
        citation: "K. De Schepper, O. Tilmans, B. Briscoe and V. Goel, Prague congestion control, draft-briscoe-iccrg-prague-congestion-control (2024); \
                   L4S team, tcp_prague.c for Linux (2020)",
        ecn: true,
    };

    const WITHOUT_ECN: Option<&'static str> = Some("Reno, paced");
}

impl CongestionAlgorithm for PragueParams {
    type Controller = Prague;

    fn build(&self, _flow: u32) -> Prague {
        Prague {
            g: self.g,
            target: self.rtt_target,
            transition: match self.rtt_control {
                RttControl::None => f64::INFINITY,
                RttControl::Rate => self.rtt_transition,
            },
            burst: self.burst as u32,
            alpha: self.initial_alpha,
            carry: 0.0,
            rate: 0.0,
            step: 1.0,
            round_end: 0,
            round_delivered: 0,
            round_marked: 0,
            updated: Time::ZERO,
            reduced: Time::ZERO,
            rounds: 0.0,
            marked: false,
            classic: self.classic_fallback.then(Box::default),
        }
    }
}

impl FluidTcp for PragueParams {
    type Over<S: Scalar> = PragueParams<S>;

    const APPROXIMATION: Option<&'static str> = Some(
        "as DCTCP, with the round trip that shorter ones count as from the start, smoothly about it (derived here); falls come once in that time, where packets wait for whole round trips; without pacing, whole segments and the classic fallback; \
         losses beside marks count as marks",
    );

    /// (R / R_target)^2 / w, no more than 1 / w.
    fn increase<S: Scalar>(params: &PragueParams<S>, window: S, path: &Path<S>) -> S {
        let part = path.rtt / params.round(path.rtt);
        part * part / window
    }

    /// A mark: what its share of alpha w / 2 once in the longer of R and R_target is at rest. A
    /// loss: half of the window.
    fn decrease<S: Scalar>(params: &PragueParams<S>, window: S, path: &Path<S>) -> S {
        if path.marks {
            path.rtt / params.round(path.rtt) * FALL_A_MARK
        } else {
            window * 0.5
        }
    }

    fn state_names<S: Scalar>(_params: &PragueParams<S>) -> &'static [&'static str] {
        &["window (packets)", "estimated share of marks"]
    }

    /// At rest: alpha = p, and marks take as much as packets without marks give.
    fn start<S: Scalar>(params: &PragueParams<S>, window: S, path: &Path<S>, state: &mut [S]) {
        let part = path.rtt / params.round(path.rtt);
        state[0] = window;
        state[1] = if path.marks {
            part / (window * FALL_A_MARK + part)
        } else {
            S::from_f64(0.0)
        };
    }

    /// dw/dt = i(w) (1 - p) x - (alpha w / 2) falls a second; dalpha/dt = g (p - alpha) / T, with T
    /// the longer of R and R_target. Losses halve w, and alpha forgets.
    fn derivative<S: Scalar>(
        params: &PragueParams<S>,
        input: &TcpInput<S>,
        state: &[S],
        rate: &mut [S],
    ) {
        let (window, alpha) = (state[0], state[1]);
        let round = params.round(input.path.rtt);
        let grow = Self::increase(params, window, &input.path) * input.acks;
        if input.path.marks {
            rate[0] = grow - alpha * window * input.falls(round) * 0.5;
            rate[1] = params.g * (input.share() - alpha) / round;
        } else {
            rate[0] = grow - window * input.signals * 0.5;
            rate[1] = -params.g * alpha / round;
        }
    }
}

impl<S: Scalar> PragueParams<S> {
    /// The time that a round trip counts as, s: the longer of itself and the target, with the
    /// corner between them rounded off.
    fn round(&self, rtt: S) -> S {
        const CORNER_SHARE: f64 = 0.02;
        match self.rtt_control {
            RttControl::None => rtt,
            RttControl::Rate => {
                let (beyond, corner) = (rtt - self.rtt_target, self.rtt_target * CORNER_SHARE);
                (rtt + self.rtt_target + (beyond * beyond + corner * corner).sqrt()) * 0.5
            }
        }
    }
}

/// Passive detection of a queue that marks as RFC 3168 wants it.
#[derive(Clone, Copy, Debug)]
struct ClassicQueue {
    /// From 0, certainly not, to [`ClassicQueue::CLASSIC_SCORE`].
    score: f64,
    /// Smallest and smoothed round trip and its mean deviation, s.
    least: f64,
    mean: f64,
    deviation: f64,
    /// Weight of a sample in the mean; half of it in the deviation.
    gain: f64,
}

impl Default for ClassicQueue {
    fn default() -> Self {
        Self {
            score: 0.0,
            least: f64::INFINITY,
            mean: 0.0,
            deviation: 1e-6,
            gain: 1.0 / f64::from(1 << 18),
        }
    }
}

impl ClassicQueue {
    /// Up to here nothing changes; a step further the answer is the classic one.
    const STICKY_SCORE: f64 = 8.0;
    const CLASSIC_SCORE: f64 = 2.0 * Self::STICKY_SCORE + 1.0;

    fn sample(&mut self, rtt: f64) {
        self.least = self.least.min(rtt);
        if self.mean == 0.0 {
            self.mean = rtt;
            return;
        }
        let error = rtt - self.mean;
        self.mean += self.gain * error;
        self.deviation += 0.5 * self.gain * (error.abs() - self.deviation);
    }

    /// A window of `ssthresh` segments sets how long the averages remember.
    fn scale(&mut self, ssthresh: f64) {
        let bits = libm::floor(libm::log2(ssthresh.max(1.0)));
        self.gain = libm::exp2(-(bits + libm::floor(bits / 2.0) + 1.0).min(18.0));
    }

    /// Once a round trip.
    fn judge(&mut self) {
        self.score += 0.5 * libm::log2(self.deviation.max(1e-6) / 750e-6);
        let depth = self.mean - self.least;
        if depth > 2e-3 {
            self.score += 0.5 * libm::log2(depth / 2e-3);
        }
        self.score = self.score.clamp(0.0, Self::CLASSIC_SCORE);
    }

    /// The smallest alpha to answer with.
    fn alpha(&self) -> f64 {
        0.625 * (self.score - Self::STICKY_SCORE).clamp(0.0, 1.0)
    }
}

/// TCP Prague at work.
#[derive(Clone, Debug)]
pub struct Prague {
    g: f64,
    target: f64,
    /// Rounds after which short round trips count as longer ones.
    transition: f64,
    /// Estimated share of marked segments.
    alpha: f64,
    /// The pending change of the window, below zero a fall, segments.
    carry: f64,
    /// Pacing rate, segments/s; zero before the first round trip.
    rate: f64,
    /// Segments that a window grows by in a round trip.
    step: f64,
    /// The round is over once a segment is delivered that was sent when so many were.
    round_end: u64,
    /// Segments delivered since alpha was updated, and those of them that were marked.
    round_delivered: u32,
    round_marked: u32,
    /// When alpha was updated, and the window last fell for a mark.
    updated: Time,
    reduced: Time,
    /// Updates outside slow start.
    rounds: f64,
    /// Segments that leave together.
    burst: u32,
    /// A mark has come.
    marked: bool,
    /// Where it is looked for.
    classic: Option<Box<ClassicQueue>>,
}

impl Prague {
    /// Whether short round trips count as longer ones.
    fn is_rtt_independent(&self, window: &Window) -> bool {
        !window.in_slow_start() && self.rounds >= self.transition
    }

    /// Whether `rtt_target` has passed since `before`.
    fn is_target_over(&self, now: Time, before: Time) -> bool {
        now.since(before).seconds() >= self.target
    }

    /// Segments that a window grows by in a round trip of `srtt` seconds.
    fn increase(&self, srtt: f64, window: &Window) -> f64 {
        if !self.is_rtt_independent(window) || srtt <= 0.0 || srtt >= self.target {
            return 1.0;
        }
        let ratio = srtt / self.target;
        ratio * ratio
    }

    /// The window grows by what `acked` unmarked segments allow.
    fn grow(&mut self, acked: u32, window: &mut Window) {
        let left = window.slow_start(f64::from(acked));
        self.carry += left * self.step / window.cwnd;
    }

    /// The window moves by a segment where so much is carried.
    fn settle(&mut self, window: &mut Window) {
        if self.carry <= -1.0 {
            self.carry += 1.0;
            window.cwnd -= 1.0;
            if window.cwnd < MIN_SSTHRESH {
                window.cwnd = MIN_SSTHRESH;
                self.carry = 0.0;
            }
            window.ssthresh = window.cwnd;
        } else if self.carry >= 1.0 {
            self.carry -= 1.0;
            window.cwnd += 1.0;
        }
    }

    /// alpha, once a round trip and not more often than each `rtt_target` where that holds.
    fn update_alpha(&mut self, delivery: &Delivery, window: &Window) {
        let over = delivery.prior_delivered >= self.round_end
            && (!self.is_rtt_independent(window)
                || self.is_target_over(delivery.now, self.updated));
        if !over {
            return;
        }
        if self.marked && self.round_delivered > 0 {
            let share = f64::from(self.round_marked) / f64::from(self.round_delivered);
            self.alpha += self.g * (share - self.alpha);
            if let Some(classic) = &mut self.classic {
                classic.judge();
            }
        }
        (self.round_delivered, self.round_marked) = (0, 0);
        self.round_end = delivery.delivered;
        self.updated = delivery.now;
        if !window.in_slow_start() {
            self.rounds += 1.0;
        }
    }

    /// One window a round trip, twice that in the first half of slow start.
    fn pace(&mut self, delivery: &Delivery, window: &Window) {
        if delivery.srtt > 0.0 {
            let gain = if window.cwnd < window.ssthresh / 2.0 {
                2.0
            } else {
                1.0
            };
            let packets = window.cwnd.max(f64::from(delivery.in_flight));
            self.rate = gain * packets / delivery.srtt;
        }
    }
}

impl CongestionControl for Prague {
    /// Everything happens in [`CongestionControl::on_delivery`].
    fn on_ack(&mut self, _ack: &Ack, _window: &mut Window, _random: &mut Stream) {}

    fn on_congestion(&mut self, reduction: &Reduction, window: &mut Window) {
        match reduction.signal {
            Signal::Ecn => {
                window.ssthresh = window.ssthresh.min(window.cwnd).max(MIN_SSTHRESH);
                if self.is_rtt_independent(window)
                    && !self.is_target_over(reduction.now, self.reduced)
                {
                    return;
                }
                self.reduced = reduction.now;
                let mut alpha = self.alpha;
                if let Some(classic) = &mut self.classic {
                    classic.scale(window.ssthresh);
                    alpha = alpha.max(classic.alpha());
                }
                self.carry -= 0.5 * alpha * window.cwnd;
            }
            Signal::Loss => {
                window.ssthresh = window.ssthresh.min(window.cwnd).max(MIN_SSTHRESH);
                self.carry -= 0.5 * (window.cwnd + self.carry);
            }
            Signal::Timeout => {
                window.ssthresh = (0.5 * window.cwnd).max(MIN_SSTHRESH);
                self.carry = 0.0;
            }
        }
    }

    fn needs(&self) -> Needs {
        Needs {
            pacing: true,
            delivery: true,
            marks: true,
            counted: true,
            ..Needs::default()
        }
    }

    fn pacing_rate(&self) -> Option<f64> {
        (self.rate > 0.0).then_some(self.rate)
    }

    fn pacing_burst(&self) -> u32 {
        self.burst
    }

    fn on_delivery(&mut self, delivery: &Delivery, window: &mut Window, _random: &mut Stream) {
        let marked = delivery.marked.min(delivery.acked);
        self.round_delivered += delivery.acked;
        self.round_marked += marked;
        self.marked |= marked > 0;
        if let Some(classic) = &mut self.classic
            && !delivery.rtt.is_nan()
        {
            classic.sample(delivery.rtt);
        }
        let used = delivery.cwnd_limited || delivery.backlogged;
        if delivery.acked > marked && used && delivery.ca_state != CaState::Recovery {
            self.grow(delivery.acked - marked, window);
        }
        self.settle(window);
        self.update_alpha(delivery, window);
        self.step = self.increase(delivery.srtt, window);
        self.pace(delivery, window);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Parameters as _;
    use crate::congestion::test::{loss, random};

    const RTT: f64 = 0.01;

    fn prague(change: impl Fn(&mut PragueParams)) -> (Prague, Window) {
        let mut params = PragueParams::from_values(&[]).expect("the defaults are allowed");
        change(&mut params);
        let window = Window {
            cwnd: 100.0,
            ssthresh: 100.0,
        };
        (params.build(0), window)
    }

    fn delivery(now: f64, delivered: u64, prior: u64, acked: u32, marked: u32) -> Delivery {
        Delivery {
            now: Time::from_seconds(now),
            acked,
            marked,
            lost: 0,
            delivered,
            total_lost: 0,
            in_flight_before: 100,
            in_flight: 100 - acked,
            rtt: RTT,
            srtt: RTT,
            rate: 100.0 / RTT,
            prior_delivered: prior,
            app_limited: false,
            sent_in_flight: 100,
            lost_since_sent: 0,
            cwnd_limited: true,
            backlogged: true,
            departs_in: 0.0,
            ca_state: CaState::Open,
        }
    }

    /// A round trip of 100 ACKs from `start`, the first `marked` of them of marked segments.
    fn round(prague: &mut Prague, window: &mut Window, start: u64, marked: u64) {
        for n in 0..100 {
            let delivered = 100 * start + n + 1;
            let now = RTT * (start as f64 + n as f64 / 100.0);
            let prior = delivered.saturating_sub(100);
            let ack = delivery(now, delivered, prior, 1, u32::from(n < marked));
            prague.on_delivery(&ack, window, &mut random());
        }
    }

    fn mark(prague: &mut Prague, window: &mut Window, now: f64) {
        let reduction = Reduction {
            now: Time::from_seconds(now),
            signal: Signal::Ecn,
            ..loss(window.cwnd)
        };
        prague.on_congestion(&reduction, window);
    }

    #[test]
    fn a_segment_a_round_trip_and_none_for_marked_ones() {
        let (mut control, mut window) = prague(|_| {});
        round(&mut control, &mut window, 0, 0);
        assert!((window.cwnd + control.carry - 101.0).abs() < 0.01);
        let (mut control, mut window) = prague(|_| {});
        round(&mut control, &mut window, 0, 25);
        assert!((window.cwnd + control.carry - 100.75).abs() < 0.01);
    }

    /// Linux: PRAGUE_SHIFT_G is 4, alpha begins at 1 and waits for a mark.
    #[test]
    fn the_estimate_and_the_reduction() {
        let (mut control, mut window) = prague(|_| {});
        for start in 0..20 {
            round(&mut control, &mut window, start, 0);
        }
        assert_eq!(control.alpha, 1.0);
        for start in 20..22 {
            round(&mut control, &mut window, start, 20);
        }
        // the first of these ACKs ended a round of 100, and the hundredth after it the next
        let first = 15.0 / 16.0 + 0.01 / 16.0;
        assert!((control.alpha - (first * 15.0 / 16.0 + 0.2 / 16.0)).abs() < 1e-12);
        control.alpha = 0.3;
        let (cwnd, carry) = (window.cwnd, control.carry);
        mark(&mut control, &mut window, 1.0);
        assert_eq!(window.cwnd, cwnd, "it falls with the ACKs that come");
        assert!((carry - control.carry - 0.15 * cwnd).abs() < 1e-9);
        assert_eq!(window.ssthresh, 100.0);
    }

    #[test]
    fn the_window_falls_by_a_segment_an_ack() {
        let (mut control, mut window) = prague(|params| params.initial_alpha = 0.1);
        mark(&mut control, &mut window, 1.0); // five segments
        for n in 1..=20 {
            control.on_delivery(&delivery(1.0, n, 0, 1, 1), &mut window, &mut random());
            assert_eq!(window.cwnd, (100.0 - n as f64).max(95.0));
            assert_eq!(window.ssthresh, window.cwnd);
        }
        // never below two
        control.carry = -1000.0;
        for _ in 0..200 {
            control.on_delivery(&delivery(1.0, 30, 0, 1, 1), &mut window, &mut random());
        }
        assert_eq!(window.cwnd, MIN_SSTHRESH);
    }

    #[test]
    fn losses_halve_and_nothing_grows_in_recovery() {
        let (mut control, mut window) = prague(|_| {});
        control.on_congestion(&loss(100.0), &mut window);
        assert_eq!(control.carry, -50.0);
        for n in 1..=100 {
            let ack = Delivery {
                ca_state: CaState::Recovery,
                ..delivery(1.0, n, 0, 1, 0)
            };
            control.on_delivery(&ack, &mut window, &mut random());
        }
        assert_eq!((window.cwnd, control.carry), (50.0, 0.0));
    }

    /// (srtt / 25 ms)^2 a round trip, and one reduction in 25 ms, from 500 round trips on.
    #[test]
    fn short_round_trips_count_as_longer_ones() {
        let (mut control, mut window) = prague(|params| params.initial_alpha = 0.1);
        control.rounds = 499.0;
        assert_eq!(control.increase(RTT, &window), 1.0);
        control.rounds = 500.0;
        assert!((control.increase(RTT, &window) - 0.16).abs() < 1e-12);
        assert_eq!(control.increase(0.030, &window), 1.0);
        for (now, carry) in [(1.0, -5.0), (1.011, -5.0), (1.022, -5.0), (1.026, -10.0)] {
            mark(&mut control, &mut window, now);
            assert!((control.carry - carry).abs() < 1e-9, "{now}");
        }
        let (mut plain, mut window) = prague(|params| params.rtt_control = RttControl::None);
        plain.rounds = 1e6;
        assert_eq!(plain.increase(RTT, &window), 1.0);
        mark(&mut plain, &mut window, 1.0);
        mark(&mut plain, &mut window, 1.011);
        assert_eq!(plain.carry, -100.0);
    }

    #[test]
    fn a_window_a_round_trip_leaves() {
        let (mut control, mut window) = prague(|_| {});
        assert_eq!(control.pacing_rate(), None);
        let ack = delivery(1.0, 1, 0, 1, 1);
        control.on_delivery(&ack, &mut window, &mut random());
        assert_eq!(control.pacing_rate(), Some(100.0 / RTT));
        window.ssthresh = 1000.0;
        control.on_delivery(&ack, &mut window, &mut random());
        assert_eq!(control.pacing_rate(), Some(200.0 / RTT));
    }

    /// A queue of 10 ms that moves by 3 ms: half of lg 4, and half of lg 5, a round trip; beyond 8
    /// a mark takes 5/16.
    #[test]
    fn a_classic_queue_is_found() {
        let mut classic = ClassicQueue {
            least: 0.02,
            mean: 0.03,
            deviation: 0.003,
            ..ClassicQueue::default()
        };
        classic.judge();
        assert!((classic.score - 0.5 * (4f64.log2() + 5f64.log2())).abs() < 1e-12);
        assert_eq!(classic.alpha(), 0.0);
        for _ in 0..4 {
            classic.judge();
        }
        assert_eq!(classic.alpha(), 0.625);
        (classic.mean, classic.deviation) = (0.021, 0.000_187_5); // a low-latency queue: - 1 a round trip
        for _ in 0..20 {
            classic.judge();
        }
        assert_eq!(classic.score, 0.0);
        classic.scale(100.0);
        assert_eq!(classic.gain, 1.0 / 1024.0); // 6 + 3 + 1 bits
        let (mut control, mut window) = prague(|params| {
            params.classic_fallback = true;
            params.initial_alpha = 0.01;
        });
        control.classic = Some(Box::new(ClassicQueue {
            score: 17.0,
            ..classic
        }));
        mark(&mut control, &mut window, 1.0);
        assert_eq!(control.carry, -31.25);
    }
}
