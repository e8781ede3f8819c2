//! CAIA delay gradient: backs off, by chance, while round-trip times rise from round trip to round trip.
//!
//! The smallest and the largest RTT of each round trip are kept; their changes from one round trip
//! to the next are summed over the last `rounds`. Where the sum g of the smallest ones (else of the
//! largest ones) is positive, the window falls to `backoff_left` of itself with probability
//! 1 - exp(-factor g), g in seconds, once a round trip. In between it grows as Reno's.
//!
//! - Other flows may be at fault, and not give way: from the `ineffectual`-th backoff on of which none made the
//!   delays fall, there is none until they do.
//! - Shadow window: what the window would be without backoffs. A loss leaves half of it, so that
//!   beside Reno nothing is lost twice; half of the window at least, the window at most.
//! - With `loss_tolerance`, a loss without a full queue does not count. Where the smallest RTTs rise and the
//!   largest do not, the queue is full.
//! - Slow start ends by HyStart: ACKs that follow each other within 3 ms for half of the smallest RTT, or
//!   the round trip's smallest RTT above nine eighths of that.
//!
//! This is what Linux 6.1 does. A backoff comes down over a round trip in style "linux", at once in
//! the others. The sender then pauses, and what it sends after the pause finds the queue drained: the
//! round trip of the backoff ends before the first ACK of that, or its fall would never be seen.
//!
//! Linux times the newest segment that an ACK covers, a time stamp (RFC 7323) the oldest, with what
//! the receiver waited for the next. In style "rfc" small windows therefore see delays rise and may
//! stay small: two flows over 18 Mbit/s and 55 ms use 17 to 22 % of the link in five seeds of six,
//! 97 % with an ACK for each segment; 95 % in style "linux".

use super::{
    Ack, CongestionAlgorithm, CongestionControl, DelayedAcks, MIN_SSTHRESH, Needs, Reduction,
    SegmentCount, Signal, Window,
};
use crate::meta::{About, Algorithm};
use crate::{Interval, Stream, Time, parameters};

parameters! {
    /// Parameters of CDG.
    pub struct CdgParams {
        /// Round trips over which gradients are summed.
        rounds: number = 8.0, in Interval::between(1.0, 256.0), "Hayes and Armitage 2011; Linux 6.1";
        /// Exponent of the probability of a backoff per second of rise over `rounds` round trips: 1000 / (3 rounds) in the paper.
        factor: number = 42.0, in Interval::at_least(0.0), "Linux 6.1";
        /// Fraction of the window that a backoff leaves.
        backoff_left: number = 0.70703125, in Interval::above_to(0.0, 1.0), "Linux 6.1: 724 / 1024; 0.7 in Hayes and Armitage 2011";
        /// Backoffs in a row that may do nothing; zero: any number.
        ineffectual: number = 5.0, in Interval::at_least(0.0), "Hayes and Armitage 2011; Linux 6.1";
        /// Whether losses are answered by the shadow window.
        shadow: flag = true, "Hayes and Armitage 2011; Linux 6.1";
        /// Whether losses without a full queue are tolerated.
        loss_tolerance: flag = false, "Linux 6.1; Hayes and Armitage 2011 do";
        /// Whether HyStart ends slow start.
        hystart: flag = true, "Linux 6.1";
    }
}

impl Algorithm for CdgParams {
    const ABOUT: About = About {
        kind: "cdg",
        title: "CDG",
        summary: "Reno that backs off with a probability by the rise of round-trip times from one to the next.",
        citation: "D. A. Hayes and G. Armitage, Revisiting TCP congestion control using delay gradients, IFIP Networking 2011; Linux 6.1",
        ecn: true,
    };

    const NO_LAW: Option<&'static str> = Some(
        "in equilibrium no delay rises, so that it never backs off there: what it does is a matter of the swings around it, and has a kink where they turn",
    );
}

impl CongestionAlgorithm for CdgParams {
    type Controller = Cdg;

    fn build(&self, _flow: u32) -> Cdg {
        Cdg {
            state: Box::new(State::new(*self)),
        }
    }
}

/// A sum of changes that falls by as much is a queue that drains, s.
const DRAINED_CHANGE: f64 = 32e-6;
/// Changes below half of this are none, to the tolerance of losses, s.
const CHANGE_RESOLUTION: f64 = 64e-6;
/// Longest pause between the ACKs of a train, s.
const TRAIN_GAP: f64 = 0.003;
/// Smallest length of a train, and smallest RTT, that end slow start, s.
const LEAST_HYSTART_DELAY: f64 = 125e-6;
/// Samples of a round trip before its smallest RTT counts for HyStart.
const HYSTART_SAMPLES: u32 = 8;

/// CDG at work.
#[derive(Clone, Debug)]
pub struct Cdg {
    state: Box<State>,
}

/// The smallest and the largest of something.
#[derive(Clone, Copy, Debug, Default)]
struct Extremes {
    min: f64,
    max: f64,
}

/// State of the queue by the last gradients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Queue {
    Unknown,
    NotFull,
    Full,
}

#[derive(Clone, Debug)]
struct State {
    /// RTTs of this round trip and of the last one, s.
    rtt: Option<Extremes>,
    last_rtt: Option<Extremes>,
    /// The last changes, a ring, and their sum, s.
    changes: Vec<Extremes>,
    sum: Extremes,
    next: usize,
    filled: bool,
    queue: Queue,
    /// The round trip ends with the ACK of a segment from here on.
    round_end: u64,
    /// A backoff is under way until the ACK of this segment.
    backoff_end: Option<u64>,
    /// RTTs of a backoff that came down at once, up to the last ACK of what was sent before it.
    backoff_rtt: Option<Extremes>,
    recovers: bool,
    /// A timeout is repaired: until the ACK of this segment, known from the first ACK on.
    repairs: Option<Option<u64>>,
    /// A backoff fell into the repair of a timeout, where the window stays: the next loss is
    /// answered as the backoff would have been.
    owes_backoff: bool,
    shadow: f64,
    backoffs: u32,
    delayed: DelayedAcks,
    // HyStart
    min_rtt: f64,
    samples: u32,
    train: Option<(Time, Time)>,
    count: SegmentCount,
    params: CdgParams,
}

impl State {
    fn new(params: CdgParams) -> Self {
        Self {
            rtt: None,
            last_rtt: None,
            changes: vec![Extremes::default(); params.rounds as usize],
            sum: Extremes::default(),
            next: 0,
            filled: false,
            queue: Queue::Unknown,
            round_end: 0,
            backoff_end: None,
            backoff_rtt: None,
            recovers: false,
            repairs: None,
            owes_backoff: false,
            shadow: f64::NAN,
            backoffs: 0,
            delayed: DelayedAcks::default(),
            min_rtt: f64::INFINITY,
            samples: 0,
            train: None,
            count: SegmentCount::default(),
            params,
        }
    }

    /// Takes the RTT of an ACK. The ACK of a single segment may have waited at the receiver, where
    /// others acknowledge two: then it counts only if it is the smallest all the same.
    fn sample(&mut self, rtt: f64, acked: u32) {
        if self.delayed.may_have_waited(acked) {
            if let Some(known) = &mut self.rtt {
                known.min = known.min.min(rtt);
            }
            return;
        }
        let known = self.rtt.get_or_insert(Extremes { min: rtt, max: rtt });
        known.min = known.min.min(rtt);
        known.max = known.max.max(rtt);
    }

    /// The sum of changes at the end of a round trip, s, as if `rounds` of them were known.
    fn gradient(&mut self, rtt: Extremes, last: Extremes) -> f64 {
        let change = Extremes {
            min: rtt.min - last.min,
            max: rtt.max - last.max,
        };
        let slot = &mut self.changes[self.next];
        self.sum.min += change.min - slot.min;
        self.sum.max += change.max - slot.max;
        *slot = change;
        let rounds = self.changes.len();
        self.next = (self.next + 1) % rounds;
        self.filled |= self.next == 0;
        let Extremes { min, max } = self.sum;
        let mut gradient = if min > 0.0 { min } else { max };
        if !self.filled {
            gradient *= rounds as f64 / self.next as f64;
        }
        if min <= -DRAINED_CHANGE || max <= -DRAINED_CHANGE {
            self.backoffs = 0;
        }
        let (min, max) = (
            libm::round(min / CHANGE_RESOLUTION),
            libm::round(max / CHANGE_RESOLUTION),
        );
        if min > 0.0 && max <= 0.0 {
            self.queue = Queue::Full;
        } else if (min > 0.0 && max > 0.0) || max < 0.0 {
            self.queue = Queue::NotFull;
        }
        gradient
    }

    /// Whether a gradient leads to a backoff.
    fn backs_off(&mut self, gradient: f64, random: &mut Stream) -> bool {
        let stays = libm::exp(-self.params.factor * gradient);
        if random.uniform() <= stays {
            return false;
        }
        self.backoffs = self.backoffs.saturating_add(1);
        self.params.ineffectual == 0.0 || f64::from(self.backoffs) <= self.params.ineffectual
    }

    /// The window that a backoff leaves.
    fn backed_off(&self, cwnd: f64) -> f64 {
        (cwnd * self.params.backoff_left).floor().max(MIN_SSTHRESH)
    }

    /// HyStart: whether slow start is over.
    fn fills(&mut self, ack: &Ack) -> bool {
        let Some(rtt) = self.rtt else {
            return false;
        };
        self.min_rtt = self.min_rtt.min(rtt.min);
        match self.train {
            Some((begin, last)) if ack.cwnd_limited => {
                if ack.now.since(last).seconds() < TRAIN_GAP {
                    self.train = Some((begin, ack.now));
                    let length = (0.5 * self.min_rtt).max(LEAST_HYSTART_DELAY);
                    if ack.now.since(begin).seconds() > length {
                        return true;
                    }
                }
            }
            _ => self.train = Some((ack.now, ack.now)),
        }
        if self.samples < HYSTART_SAMPLES {
            self.samples += 1;
            return false;
        }
        rtt.min > (1.125 * self.min_rtt).max(LEAST_HYSTART_DELAY)
    }

    /// Round trips begin anew where the window has come down.
    fn reduced(&mut self, ack: &Ack) {
        self.queue = Queue::Unknown;
        self.owes_backoff = false;
        self.round_end = ack.next;
        self.last_rtt = self.backoff_rtt.take().or(self.rtt);
        self.rtt = None;
    }
}

impl CongestionControl for Cdg {
    fn needs(&self) -> Needs {
        Needs {
            every_ack: true,
            spread_backoff: true,
            ..Needs::default()
        }
    }

    fn on_every_ack(&mut self, ack: &Ack) {
        if !ack.rtt.is_nan() {
            self.state.sample(ack.rtt, ack.covered);
        }
    }

    fn on_ack(&mut self, ack: &Ack, window: &mut Window, random: &mut Stream) {
        let state = &mut *self.state;
        if state.shadow.is_nan() {
            state.shadow = window.cwnd;
        }
        if let Some(end) = state.backoff_end {
            if ack.una <= end {
                state.backoff_rtt = state.rtt;
                return;
            }
            state.backoff_end = None;
            state.recovers = true;
        }
        if state.recovers {
            state.recovers = false;
            state.reduced(ack);
        }
        if let Some(end) = &mut state.repairs
            && ack.una >= *end.get_or_insert(ack.next)
        {
            state.repairs = None;
        }
        if window.in_slow_start() && state.params.hystart && state.fills(ack) {
            window.ssthresh = window.cwnd;
        }
        if ack.una > state.round_end
            && let Some(rtt) = state.rtt.take()
        {
            let gradient = state.last_rtt.map_or(0.0, |last| state.gradient(rtt, last));
            state.round_end = ack.next;
            state.last_rtt = Some(rtt);
            (state.train, state.samples) = (None, 0);
            if gradient > 0.0 && state.backs_off(gradient, random) {
                state.shadow = state.shadow.max(window.cwnd);
                if state.repairs.is_some() {
                    state.owes_backoff = true;
                    return;
                }
                window.ssthresh = state.backed_off(window.cwnd);
                window.cwnd = window.ssthresh.min(window.cwnd);
                state.backoff_end = Some(ack.next);
                return;
            }
        }
        if !ack.cwnd_limited {
            state.shadow = state.shadow.min(window.cwnd);
            return;
        }
        let before = window.cwnd;
        state.count.grow_as_reno(ack, window);
        state.shadow += window.cwnd - before;
    }

    fn on_congestion(&mut self, reduction: &Reduction, window: &mut Window) {
        let state = &mut *self.state;
        state.recovers = reduction.signal != Signal::Timeout;
        (state.backoff_end, state.backoff_rtt) = (None, None);
        state.repairs = (reduction.signal == Signal::Timeout).then_some(None);
        let used = reduction.window_used;
        let left = if state.owes_backoff {
            state.backed_off(used)
        } else if state.params.loss_tolerance && state.queue == Queue::NotFull {
            used
        } else {
            let before = if state.shadow.is_nan() {
                used
            } else {
                state.shadow
            };
            state.shadow = (0.5 * before).floor().min(used);
            let half = (0.5 * used).floor();
            if state.params.shadow {
                half.max(state.shadow)
            } else {
                half
            }
        };
        window.ssthresh = left.max(MIN_SSTHRESH);
        window.cwnd = window.ssthresh;
    }

    fn on_restart(&mut self, _now: Time, window: &mut Window) {
        *self.state = State {
            shadow: window.cwnd,
            count: self.state.count,
            ..State::new(self.state.params)
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Parameters as _;
    use crate::congestion::test::{ack, loss, random};

    fn params() -> CdgParams {
        CdgParams::from_values(&[]).unwrap()
    }

    fn tolerant() -> Cdg {
        CdgParams {
            loss_tolerance: true,
            ..params()
        }
        .build(0)
    }

    fn flat(rtt: f64) -> Extremes {
        Extremes { min: rtt, max: rtt }
    }

    /// The sums of min and max over eight changes are the RTT less that of eight round trips before.
    #[test]
    fn the_gradient_is_the_rise_over_eight_round_trips() {
        let mut state = State::new(params());
        let rtt = |round: u32| flat(0.1 + 1e-3 * f64::from(round * round));
        for round in 1..=20 {
            let gradient = state.gradient(rtt(round), rtt(round - 1));
            let known = round.min(8);
            let rise = rtt(round).min - rtt(round - known).min;
            let expected = rise * 8.0 / f64::from(known);
            assert!((gradient - expected).abs() < 1e-12, "{round}: {gradient}");
        }
    }

    /// 24 ms of rise in eight round trips are 3 ms a round trip, G of the paper: e^-1 of the draws
    /// leave the window; with Linux's 42 in place of 41.67, e^-1.008.
    #[test]
    fn the_probability_is_that_of_the_paper() {
        let mut state = State::new(CdgParams {
            ineffectual: 0.0,
            ..params()
        });
        let mut random = random();
        let draws = 100_000;
        let backoffs = (0..draws)
            .filter(|_| state.backs_off(0.024, &mut random))
            .count();
        let p = 1.0 - (-1.008_f64).exp();
        let sigma = (f64::from(draws) * p * (1.0 - p)).sqrt();
        assert!(
            (backoffs as f64 - f64::from(draws) * p).abs() < 4.0 * sigma,
            "{backoffs}"
        );
    }

    #[test]
    fn five_backoffs_without_effect_are_the_last() {
        let mut state = State::new(params());
        let mut random = random();
        let rises = |state: &mut State, random: &mut Stream| {
            (0..20).filter(|_| state.backs_off(10.0, random)).count()
        };
        assert_eq!(rises(&mut state, &mut random), 5);
        state.gradient(flat(0.1), flat(0.1));
        assert_eq!(rises(&mut state, &mut random), 0);
        state.gradient(flat(0.1), flat(0.1001)); // the queue drains
        assert_eq!(rises(&mut state, &mut random), 5);
    }

    /// One round trip with RTTs of `rtt`, from segment `una` on; the window after it.
    fn round(control: &mut Cdg, window: &mut Window, una: u64, rtt: f64) -> f64 {
        let ack = Ack {
            rtt,
            una,
            next: una + 40,
            ..ack(1)
        };
        control.on_every_ack(&ack);
        control.on_ack(&ack, window, &mut random());
        window.cwnd
    }

    #[test]
    fn a_backoff_leaves_seven_tenths_and_the_shadow_stays() {
        let mut control = params().build(0);
        let mut window = Window {
            cwnd: 100.0,
            ssthresh: 50.0,
        };
        round(&mut control, &mut window, 1, 0.1);
        assert_eq!(round(&mut control, &mut window, 42, 10.0), 70.0); // 100 * 724 / 1024
        assert_eq!(control.state.shadow, 100.0);
        // a loss now leaves half of the window without the backoff
        control.on_congestion(&loss(70.0), &mut window);
        assert_eq!(window.cwnd, 50.0);
        // the next one half of the window: the shadow has gone down, too
        control.on_congestion(&loss(50.0), &mut window);
        assert_eq!(window.cwnd, 25.0);
    }

    #[test]
    fn no_backoff_while_delays_are_constant_or_fall() {
        let mut control = params().build(0);
        let mut window = Window {
            cwnd: 100.0,
            ssthresh: 50.0,
        };
        for n in 0..50 {
            round(
                &mut control,
                &mut window,
                1 + 41 * n,
                0.1 / (1.0 + n as f64),
            );
        }
        assert_eq!(window.cwnd, 100.0); // 50 ACKs: not yet a window
        assert_eq!(control.state.backoffs, 0);
    }

    #[test]
    fn a_loss_without_a_full_queue_is_tolerated() {
        let mut control = tolerant();
        let mut window = Window {
            cwnd: 100.0,
            ssthresh: 50.0,
        };
        let (low, high) = (0.1, 0.2);
        let before = Extremes {
            min: low,
            max: high,
        };
        // both rise: the queue has room
        control.state.gradient(
            Extremes {
                min: 0.11,
                max: 0.21,
            },
            before,
        );
        control.on_congestion(&loss(100.0), &mut window);
        assert_eq!(window.cwnd, 100.0);
        // the largest stay: it is full
        let mut full = tolerant();
        full.state.gradient(
            Extremes {
                min: 0.11,
                max: 0.2,
            },
            before,
        );
        full.on_congestion(&loss(100.0), &mut window);
        assert_eq!(window.cwnd, 50.0);
    }

    /// Slow start ends once the smallest RTT of a round trip is above nine eighths of the smallest.
    #[test]
    fn hystart_ends_slow_start_by_the_delay() {
        for (rtt, ends) in [(0.112, false), (0.113, true)] {
            let mut control = params().build(0);
            control.state.min_rtt = 0.1;
            let mut window = Window {
                cwnd: 10.0,
                ssthresh: f64::INFINITY,
            };
            control.state.round_end = 1000;
            for n in 0..9 {
                let ack = Ack {
                    now: Time::from_seconds(0.004 * f64::from(n)),
                    rtt,
                    una: 1,
                    next: 50,
                    ..ack(1)
                };
                control.on_every_ack(&ack);
                control.on_ack(&ack, &mut window, &mut random());
            }
            assert_eq!(window.ssthresh.is_finite(), ends, "{rtt}");
        }
    }

    #[test]
    fn hystart_ends_slow_start_by_a_long_train() {
        let mut control = params().build(0);
        control.state.round_end = 1000;
        let mut window = Window {
            cwnd: 10.0,
            ssthresh: f64::INFINITY,
        };
        for n in 0..40 {
            let ack = Ack {
                now: Time::from_seconds(0.0025 * f64::from(n)),
                rtt: 0.1,
                una: 1,
                next: 50,
                ..ack(1)
            };
            control.on_every_ack(&ack);
            control.on_ack(&ack, &mut window, &mut random());
            // 50 ms: half of the smallest RTT
            assert_eq!(window.ssthresh.is_finite(), n > 20, "{n}");
        }
    }
}
