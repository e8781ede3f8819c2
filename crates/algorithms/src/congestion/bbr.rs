//! BBR, version 1: a model of the path (bottleneck bandwidth and round-trip propagation time) sets
//! rate and window.
//!
//! - **Model**: the bandwidth is the largest delivery rate of the last ten round trips, the propagation time the smallest round trip of the last ten seconds.
//! - **Startup**: paced at 2 / ln 2 times the bandwidth until three rounds have not raised it by a quarter; **Drain** at the inverse gain until what is in
//!   the network fits the bandwidth-delay product (BDP).
//! - **ProbeBW**: eight phases of a propagation time each, at 1.25 and 0.75 times the bandwidth and six at the bandwidth, begun at random (never with 0.75).
//! - **ProbeRTT**: when the propagation time is ten seconds old, four segments in the network for 200 ms and a round trip.
//! - **Window**: twice the BDP, plus three bursts. Losses reduce it only by what was lost, and for the first round of a recovery a segment leaves
//!   for each that arrives; afterwards the window is what it was before.
//! - **ECN**: a mark changes nothing, as in Linux, even where `ecn` of the flows makes their segments ECN-capable. They then
//!   keep a queue that marks them above its threshold, where it drops what is never ECN-capable: SYNs and retransmissions
//!   (RFC 3168, section 6.1.5). A flow that has lost one segment may so deliver nothing more in order. Of ten flows over RED
//!   with ECN at 10 Mbit/s four carry everything, in Linux 6.1 too; `max_window` bounds what they send meanwhile.
//!
//! With `policer_detection` losses tell a policer: two intervals of 4 to 16 rounds that begin and
//! end with a loss, in which a fifth of what was delivered was lost, and whose delivery rates agree
//! within an eighth, set the rate to their mean for 48 rounds.
//!
//! With `form = "linux"`, windows are whole: the bandwidth-delay product is rounded up, the window
//! to an even number, and the probing phase has two segments more; only a smaller round trip renews
//! the propagation time; the segments about to leave count as in the network; samples over less
//! than a round trip are ignored; ACKs that deliver nothing leave the window alone; at a
//! policer's rate the phases of the cycle end by time alone; a timeout starts the
//! search for the full bandwidth anew, and ends a round with a loss for the policer's intervals; the filter of the
//! bandwidth keeps three values (`lib/win_minmax.c`); and what is in the network as a phase or Drain
//! ends is what will be there when the next segment leaves.
//!
//! Segments leave one by one, or `burst` of them at most together as with segmentation offload; the
//! allowance of three bursts stays: what 1 ms takes of 1500 B segments, as the draft has it, or with `form = "linux"`
//! whole segments of 1448 B in 1/1024 s.

use super::{
    Ack, CaState, CongestionAlgorithm, CongestionControl, Delivery, Form, LINUX_FORM, Needs,
    Reduction, Signal, Window,
};
use crate::fluid::{FluidTcp, Path, Scheduled, TcpInput, smooth_share};
use crate::meta::{About, Algorithm};
use crate::{DefaultValue, Interval, Scalar, Stream, Time, parameters};

parameters! {
    /// Parameters of BBR version 1.
    pub struct BbrParams {
        /// Pacing and window gain of Startup; Drain has its inverse.
        startup_gain: number = 2.885, in Interval::above(1.0), "draft-cardwell-iccrg-bbr-congestion-control-00, section 4.3.2: 2 / ln 2";
        /// Window in bandwidth-delay products.
        cwnd_gain: number = 2.0, in Interval::at_least(1.0), "draft-cardwell-iccrg-bbr-congestion-control-00, section 4.2.3";
        /// Age of the estimate of the propagation time at which it is measured again, in ProbeRTT.
        probe_rtt_interval: time = 10.0, in Interval::above(0.0), "draft-cardwell-iccrg-bbr-congestion-control-00, section 4.1.2: 10 s";
        /// Duration of ProbeRTT, in which few packets are in flight.
        probe_rtt_duration: time = 0.2, in Interval::above(0.0), "draft-cardwell-iccrg-bbr-congestion-control-00, section 4.3.5: 200 ms";
        /// Whether a constant delivery rate with many losses is attributed to a policer.
        policer_detection: flag = false, "Linux 6.1";
        /// Share by which the pacing rate is below the estimated bandwidth.
        pacing_margin: number = 0.0, in Interval::from_below(0.0, 1.0), "Linux 6.1 (0.01)";
        /// Whether the window is enlarged by what ACKs delivered beyond the estimated bandwidth, the
        /// maximum of the last five to ten rounds and at most that of 100 ms, so that ACKs in bursts
        /// do not stop the sender.
        ack_aggregation: flag = false, "Linux 6.1; draft-cardwell-iccrg-bbr-congestion-control-02, section 4.5.3";
        /// Largest number of segments sent back to back, with the pacing gap of all of them after
        /// the last; no more than the pacing rate carries in 1 ms.
        burst: packets = 1.0, in Interval::between(1.0, 64.0), "draft-cardwell-iccrg-bbr-congestion-control-00, section 4.2.2; Linux with segmentation offload: 45";
        /// The algorithm as published, or as Linux implements it.
        form: choice(Form) = Paper, "style: Linux 6.1";
    }
}

impl Algorithm for BbrParams {
    const ABOUT: About = About {
        kind: "bbr",
        title: "BBR version 1",
        summary: "Paces at the bandwidth that it measures and keeps about one bandwidth-delay product in the network; it hardly reacts to losses.",
        citation: "N. Cardwell, Y. Cheng, C. S. Gunn, S. Hassas Yeganeh and V. Jacobson, BBR: congestion-based congestion control, ACM Queue 14(5) (2016); \
                   draft-cardwell-iccrg-bbr-congestion-control-00 (2017)",
        ecn: false,
    };

    const LINUX: &'static [(&'static str, DefaultValue)] = &[
        ("policer_detection", DefaultValue::Flag(true)),
        ("pacing_margin", DefaultValue::Number(0.01)),
        ("ack_aggregation", DefaultValue::Flag(true)),
        LINUX_FORM,
    ];
}

impl CongestionAlgorithm for BbrParams {
    type Controller = Bbr;

    fn build(&self, _flow: u32) -> Bbr {
        Bbr(Box::new(Model::new(self)))
    }
}

/// A probe for bandwidth over the path of `input`.
pub(super) struct Probe<'a, S> {
    pub(super) input: &'a TcpInput<S>,
}

impl<S: Scalar> Probe<'_, S> {
    /// Packets/s that the sender hears of, lost ones included.
    pub(super) fn sent(&self) -> S {
        self.input.acks + self.input.signals
    }

    /// Packets/s delivered of those that the sender hears of; a mark delivers, too.
    pub(super) fn acked(&self) -> S {
        if self.input.path.marks {
            self.sent()
        } else {
            self.input.acks
        }
    }

    /// Delivery rate, packets/s, of `rate` packets/s sent beside the other flows of the bottleneck:
    /// its share of a link that is full, what the queues do not drop of it otherwise.
    pub(super) fn delivered(&self, rate: S) -> S {
        let link = &self.input.path.bottleneck;
        let kept = rate * self.acked() / self.sent();
        let share = if link.rate.re().is_finite() {
            link.rate * rate / (rate + link.others)
        } else {
            kept
        };
        kept.min(share)
    }

    /// Packets/s that a sender with the bandwidth estimate `estimate` sends beyond what is delivered
    /// while it paces at it, its estimate being that of a pulse of gain `gain`.
    pub(super) fn gained(&self, estimate: S, gain: f64) -> S {
        let link = &self.input.path.bottleneck;
        if !link.rate.re().is_finite() {
            return S::from_f64(0.0);
        }
        let share = link.rate * estimate / (estimate + link.others);
        (self.delivered(estimate * gain) - share).max(S::from_f64(0.0))
    }
}

/// Phases of ProbeBW, in the equations.
const CYCLE_PHASES: f64 = CYCLE.len() as f64;

/// Mean over `period` seconds of a window that begins at `low`, grows by `speed` packets a second
/// and stays at `cap` once it is there.
pub(super) fn mean_of_growth<S: Scalar>(low: S, cap: S, speed: S, period: S) -> S {
    let room = cap - low;
    if (speed * period).re() < room.re() {
        low + speed * period * 0.5
    } else {
        cap - room * room / (speed * period * 2.0)
    }
}

/// [`send_quantum`] of the equations, packets.
pub(super) fn mean_quantum<S: Scalar>(rate: S) -> S {
    let least = if rate.re() < 100.0 { 1.0 } else { 2.0 };
    (rate * 0.001)
        .max(S::from_f64(least))
        .min(S::from_f64(43.0))
}

impl FluidTcp for BbrParams {
    type Over<S: Scalar> = BbrParams<S>;

    const APPROXIMATION: Option<&'static str> = Some(
        "ProbeBW with its pulses as an average (derived here; the equilibria are those of Scherrer, Legner, Perrig and Schmid, IMC 2022, and of Ware, Mukerjee, Seshan and Sherry, IMC 2019): \
         no Startup, no ACK aggregation, no policer detection, no answer to a loss; pulses of different flows never coincide; ProbeRTT of all flows of this kind coincides and takes no throughput",
    );

    const BY_DELAY: bool = true;

    const BY_RATE: bool = true;

    fn schedule(&self, state: &[f64], _rtt: f64) -> Vec<Scheduled> {
        let propagation = state[2];
        let lasts = self.probe_rtt_duration + propagation;
        vec![
            Scheduled {
                what: "ProbeRTT",
                period: self.probe_rtt_interval + lasts,
            },
            Scheduled {
                what: "the pulse of ProbeBW",
                period: CYCLE_PHASES * propagation,
            },
        ]
    }

    /// Growth an ACK on the way to the window's cap where the bandwidth estimate is the rate w /
    /// R: none of the equations' own terms, which follow from three states.
    fn increase<S: Scalar>(params: &BbrParams<S>, window: S, path: &Path<S>) -> S {
        let rate = window / path.rtt;
        let cap = params.cap(rate, path.bottleneck.drained_rtt);
        (cap - window) / (path.bottleneck.drained_rtt * rate)
    }

    /// Nothing: version 1 does not answer losses.
    fn decrease<S: Scalar>(_params: &BbrParams<S>, _window: S, _path: &Path<S>) -> S {
        S::from_f64(0.0)
    }

    fn left_in_network<S: Scalar>(_params: &BbrParams<S>, _state: &[S]) -> S {
        S::from_f64(MIN_PIPE_CWND)
    }

    fn state_names<S: Scalar>(_params: &BbrParams<S>) -> &'static [&'static str] {
        &[
            "window (packets)",
            "bandwidth estimate (packets/s)",
            "propagation time (s)",
        ]
    }

    fn start<S: Scalar>(_params: &BbrParams<S>, window: S, path: &Path<S>, state: &mut [S]) {
        state[0] = window;
        state[1] = window / path.rtt;
        state[2] = path.bottleneck.drained_rtt;
    }

    /// With the window w, the bandwidth estimate b and the propagation time r,
    ///
    /// - dw/dt = min(b - w / R, (W - w) / r): paced at b it gains what it sends beyond what is
    ///   delivered, towards the mean W of a window that begins at b r after each ProbeRTT, grows
    ///   while there is room and stays at its cap of `cwnd_gain` b r and three bursts (b less
    ///   `pacing_margin`, and more below the drained window, where the phase after a pulse ends early);
    /// - db/dt = (m - b) / (8 r): m is the delivery rate of the pulse of each cycle of eight phases,
    ///   which adds b r / 4 to the window where its cap leaves room;
    /// - dr/dt = (r' - r) / `probe_rtt_interval`: r' is the round trip where all senders of this kind
    ///   have left the queue.
    ///
    /// At rest N flows alone in a deep buffer fill it by one bandwidth-delay product; in a shallow
    /// one each estimates 5 C / (4 N + 1), and (N - 1) / (5 N) of all packets are lost.
    fn derivative<S: Scalar>(
        params: &BbrParams<S>,
        input: &TcpInput<S>,
        state: &[S],
        rate: &mut [S],
    ) {
        let (window, bandwidth, propagation) = (state[0], state[1], state[2]);
        let zero = S::from_f64(0.0);
        let path = &input.path;
        let probe = Probe { input };
        let product = bandwidth * propagation;
        let cap = params.cap(bandwidth, propagation);
        let pulse = product * (CYCLE[0] - 1.0);
        let room = (cap - window).max(zero).min(pulse);
        let measured = probe.delivered(probe.sent() + room / path.rtt);
        let low = params.drained_to(bandwidth, propagation);
        let every = params.probe_rtt_interval;
        let mean = mean_of_growth(low, cap, probe.gained(bandwidth, CYCLE[0]), every);
        // the queue is gone while ProbeRTT lasts
        let lasts = (params.probe_rtt_duration + propagation) / every;
        let mean = product + (mean - product) * (-lasts + 1.0);
        // the phase after a pulse ends as soon as the window is down again: below `low` the mean
        // pace is above the estimate
        let ahead = smooth_share((low - window) / pulse) * pulse / (propagation * CYCLE_PHASES);
        let pace = bandwidth * (-params.pacing_margin + 1.0) + ahead;
        rate[0] = (pace - window / path.rtt).min((mean - window) / propagation);
        rate[1] = (measured - bandwidth) / (propagation * CYCLE_PHASES);
        rate[2] = (path.bottleneck.drained_rtt - propagation) / params.probe_rtt_interval;
    }
}

impl<S: Scalar> BbrParams<S> {
    /// The largest window, packets, of bandwidth `rate` packets/s over `propagation` seconds.
    fn cap(&self, rate: S, propagation: S) -> S {
        let cap = self.cwnd_gain * rate * propagation + mean_quantum(rate) * 3.0;
        cap.max(S::from_f64(MIN_PIPE_CWND))
    }

    /// The mean window, packets, of a sender that has emptied the queue of its own packets: Drain
    /// and the phase after a pulse leave three bursts; half of a pulse comes, half of it goes.
    fn drained_to(&self, rate: S, propagation: S) -> S {
        rate * propagation * (1.0 + (CYCLE[0] - 1.0) / CYCLE_PHASES) + mean_quantum(rate) * 3.0
    }
}

/// Segments that the window never falls below, and that ProbeRTT leaves in the network.
pub(super) const MIN_PIPE_CWND: f64 = 4.0;
/// Rounds over which the largest bandwidth counts.
const BANDWIDTH_ROUNDS: u64 = 10;
/// Pacing gains of ProbeBW, phase by phase.
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];

/// Largest value of the last `N` periods (rounds or cycles).
#[derive(Clone, Copy, Debug)]
pub(super) struct MaxFilter<const N: usize> {
    maxima: [f64; N],
    period: u64,
    /// The largest of all.
    pub(super) value: f64,
}

impl<const N: usize> MaxFilter<N> {
    pub(super) const EMPTY: Self = Self {
        maxima: [0.0; N],
        period: 0,
        value: 0.0,
    };

    /// A value of `period`, which never goes back; only the last `window` periods (at most N) count
    /// from now on.
    pub(super) fn update(&mut self, value: f64, period: u64, window: u64) {
        for gone in (self.period + 1)..=period.min(self.period + N as u64) {
            self.maxima[gone as usize % N] = 0.0;
        }
        self.period = period;
        let slot = &mut self.maxima[period as usize % N];
        *slot = slot.max(value);
        let counted =
            (0..window.min(N as u64).min(period + 1)).map(|age| (period - age) as usize % N);
        self.value = counted.map(|slot| self.maxima[slot]).fold(0.0, f64::max);
    }
}

/// The kernel's windowed maximum (`lib/win_minmax.c`): the best value and two that may follow it. A
/// value counts for `window` rounds after its own, and what follows it need not be the largest of
/// those left.
#[derive(Clone, Copy, Debug, Default)]
struct WindowedMax {
    /// Round and value, the best first.
    best: [(u64, f64); 3],
}

impl WindowedMax {
    fn update(&mut self, value: f64, round: u64, window: u64) {
        let new = (round, value);
        if value >= self.best[0].1 || round - self.best[2].0 > window {
            self.best = [new; 3];
            return;
        }
        if value >= self.best[1].1 {
            (self.best[1], self.best[2]) = (new, new);
        } else if value >= self.best[2].1 {
            self.best[2] = new;
        }
        let [first, second, third] = self.best;
        let age = round - first.0;
        if age > window {
            self.best = [second, third, new];
            if round - second.0 > window {
                self.best = [third, new, new];
            }
        } else if second.0 == first.0 && age > window / 4 {
            self.best = [first, new, new];
        } else if third.0 == second.0 && age > window / 2 {
            self.best[2] = new;
        }
    }
}

/// Round trips counted in deliveries.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rounds {
    pub(super) count: u64,
    next: u64,
    /// Whether the ACK in hand begins a round.
    pub(super) start: bool,
}

impl Rounds {
    pub(super) fn update(&mut self, delivery: &Delivery) {
        // a sample over less than a round trip begins none (Linux, `rs->interval_us > 0`): segments
        // sent again a moment ago whose first copies arrive would each begin one
        self.start =
            delivery.acked > 0 && !delivery.rate.is_nan() && delivery.prior_delivered >= self.next;
        if self.start {
            self.next = delivery.delivered;
            self.count += 1;
        }
    }

    /// A round begins now.
    pub(super) fn restart(&mut self, delivery: &Delivery) {
        self.restart_at(delivery.delivered);
    }

    /// A round begins now that so many segments are delivered.
    pub(super) fn restart_at(&mut self, delivered: u64) {
        self.next = delivered;
    }
}

/// The window in loss recovery.
#[derive(Clone, Copy, Debug)]
pub(super) struct Conservation {
    /// The last good window.
    prior_cwnd: f64,
    ca_state: CaState,
    /// A segment leaves for each that arrives, and no more.
    active: bool,
}

impl Conservation {
    pub(super) const fn new() -> Self {
        Self {
            prior_cwnd: 0.0,
            ca_state: CaState::Open,
            active: false,
        }
    }

    /// Remembers a window that is still good.
    pub(super) fn save(&mut self, cwnd: f64, probing_rtt: bool) {
        self.prior_cwnd = if self.ca_state == CaState::Open && !probing_rtt {
            cwnd
        } else {
            self.prior_cwnd.max(cwnd)
        };
    }

    /// Whether nothing is being repaired.
    pub(super) fn is_open(&self) -> bool {
        !matches!(self.ca_state, CaState::Recovery | CaState::Loss)
    }

    pub(super) fn restore(&self, window: &mut Window) {
        window.cwnd = window.cwnd.max(self.prior_cwnd);
    }

    /// Whether a fast recovery is under way, not one from a timeout.
    pub(super) fn is_fast(&self) -> bool {
        self.ca_state == CaState::Recovery
    }

    /// Follows the endpoint into recovery and out of it, where the last good window comes back if
    /// `restores`.
    pub(super) fn track(&mut self, state: CaState, window: &mut Window, restores: bool) {
        let recovering = |state| matches!(state, CaState::Recovery | CaState::Loss);
        let before = std::mem::replace(&mut self.ca_state, state);
        if restores && recovering(before) && !recovering(state) {
            self.restore(window);
        }
    }

    /// Follows the endpoint into recovery and out of it; true while the window is not for the model
    /// to set.
    fn follow(
        &mut self,
        delivery: &Delivery,
        rounds: &mut Rounds,
        window: &mut Window,
        form: Form,
    ) -> bool {
        if form == Form::Linux && rounds.start {
            self.active = false;
        }
        let before = std::mem::replace(&mut self.ca_state, delivery.ca_state);
        match (before, delivery.ca_state) {
            (CaState::Open | CaState::Loss, CaState::Recovery) => {
                window.cwnd = f64::from(delivery.in_flight + delivery.acked.max(1));
                self.active = true;
                rounds.restart(delivery);
            }
            (CaState::Recovery, CaState::Recovery) if rounds.start => self.active = false,
            (CaState::Recovery | CaState::Loss, CaState::Open) => {
                self.active = false;
                self.restore(window);
            }
            (_, CaState::Loss) if form == Form::Paper => self.active = false,
            _ => {}
        }
        if delivery.lost > 0 && delivery.ca_state != CaState::Open {
            window.cwnd = (window.cwnd - f64::from(delivery.lost)).max(1.0);
        }
        if self.active {
            window.cwnd = window
                .cwnd
                .max(f64::from(delivery.in_flight + delivery.acked));
        }
        self.active
    }
}

/// Segments that leave in one burst where segmentation is offloaded: what 1 ms takes, at most 64
/// kB, at least one (two from 1.2 Mbit/s on, as segments of 1500 B).
pub(super) fn send_quantum(pacing_rate: f64) -> f64 {
    let least = if pacing_rate < 100.0 { 1.0 } else { 2.0 };
    (pacing_rate * 0.001).clamp(least, 43.0)
}

/// The same in Linux (`bbr_tso_segs_goal`): what 2^-10 s take, in whole segments of 1448 B, 64 kB
/// with the headers at most.
fn burst_goal(pacing_rate: f64) -> f64 {
    const LEAST_RATE: f64 = 150_000.0 / 1448.0;
    let least = if pacing_rate < LEAST_RATE { 1.0 } else { 2.0 };
    (pacing_rate / 1024.0).floor().clamp(least, 45.0)
}

/// The detection of a policer.
#[derive(Clone, Copy, Debug, Default)]
struct Policer {
    sampling: bool,
    /// Its rate, segments/s, once an interval has shown it, and whether a second one has confirmed
    /// it.
    rate: f64,
    known: bool,
    rounds: u32,
    /// Beginning of the interval: when, and what had been delivered and lost.
    begin: Time,
    delivered: u64,
    lost: u64,
}

impl Policer {
    const LEAST_ROUNDS: u32 = 4;
    const MOST_ROUNDS: u32 = 16;
    /// Share of the delivered segments that are lost.
    const POLICED_LOSS: f64 = 50.0 / 256.0;
    const RATE_AGREEMENT: f64 = 1.0 / 8.0;
    /// So much apart they agree, too, in Linux: 4 kbit/s in segments/s (`bbr_lt_bw_diff`).
    const RATE_DIFFERENCE: f64 = 500.0 / (0.99 * 1448.0);
    /// For so many rounds its rate is used.
    const USE_ROUNDS: u32 = 48;

    fn begin_interval(&mut self, delivery: &Delivery) {
        self.begin = delivery.now;
        self.delivered = delivery.delivered;
        self.lost = delivery.total_lost;
        self.rounds = 0;
    }

    fn forget(&mut self, delivery: &Delivery) {
        *self = Self::default();
        self.begin_interval(delivery);
    }

    /// True when its rate has been used for long enough.
    fn update(
        &mut self,
        delivery: &Delivery,
        limited: bool,
        round_start: bool,
        probing: bool,
    ) -> bool {
        if self.known {
            if probing && round_start {
                self.rounds += 1;
                if self.rounds >= Self::USE_ROUNDS {
                    self.forget(delivery);
                    return true;
                }
            }
            return false;
        }
        if !self.sampling {
            if delivery.lost == 0 {
                return false;
            }
            self.begin_interval(delivery);
            self.sampling = true;
        }
        if limited {
            self.forget(delivery);
            return false;
        }
        self.rounds += u32::from(round_start);
        if self.rounds < Self::LEAST_ROUNDS {
            return false;
        }
        if self.rounds > Self::MOST_ROUNDS {
            self.forget(delivery);
            return false;
        }
        let delivered = (delivery.delivered - self.delivered) as f64;
        let lost = (delivery.total_lost - self.lost) as f64;
        let past = delivery.now.since(self.begin).seconds();
        if delivery.lost == 0
            || delivered <= 0.0
            || lost < Self::POLICED_LOSS * delivered
            || past < 0.001
        {
            return false;
        }
        let rate = delivered / past;
        let agreement = (Self::RATE_AGREEMENT * self.rate).max(Self::RATE_DIFFERENCE);
        if self.rate > 0.0 && (rate - self.rate).abs() <= agreement {
            self.rate = 0.5 * (rate + self.rate);
            self.known = true;
            self.rounds = 0;
        } else {
            self.rate = rate;
            self.begin_interval(delivery);
        }
        false
    }
}

/// How far deliveries run ahead of the model's rate.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Aggregation {
    /// When deliveries last were no more than expected, and what has been delivered since.
    begin: Time,
    acked: f64,
    /// Most segments beyond the expected ones, of the present window of rounds and the one before.
    most: [f64; 2],
    rounds: u32,
}

impl Aggregation {
    /// Rounds of a window.
    pub(super) const EXTRA_ACKED_ROUNDS: u32 = 5;
    /// The segments of so much time count at most, s.
    const MAX_EXTRA_ACKED_S: f64 = 0.1;

    pub(super) fn update(
        &mut self,
        delivery: &Delivery,
        round_start: bool,
        rounds: u32,
        rate: f64,
        cwnd: f64,
    ) {
        if delivery.acked == 0 || delivery.rate.is_nan() {
            return;
        }
        if round_start {
            self.rounds += 1;
            if self.rounds >= rounds {
                self.rounds = 0;
                self.most = [0.0, self.most[0]];
            }
        }
        let mut expected = (rate * delivery.now.since(self.begin).seconds()).floor();
        if self.acked <= expected {
            (self.acked, self.begin, expected) = (0.0, delivery.now, 0.0);
        }
        self.acked += f64::from(delivery.acked);
        self.most[0] = self.most[0].max((self.acked - expected).min(cwnd));
    }

    /// Segments to add to the window.
    pub(super) fn extra(&self, rate: f64) -> f64 {
        let most = self.most[0].max(self.most[1]);
        most.min((rate * Self::MAX_EXTRA_ACKED_S).floor())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

/// BBR at work.
#[derive(Clone, Debug)]
pub struct Bbr(Box<Model>);

#[derive(Clone, Copy, Debug)]
struct Model {
    mode: Mode,
    rounds: Rounds,
    bandwidth: MaxFilter<{ BANDWIDTH_ROUNDS as usize }>,
    /// The same as Linux has it.
    windowed: WindowedMax,
    /// Smallest round trip, s, and when it was seen.
    min_rtt: f64,
    min_rtt_at: Time,
    full_bandwidth: f64,
    full_bandwidth_rounds: u32,
    pipe_filled: bool,
    cycle: usize,
    cycle_at: Time,
    pacing_gain: f64,
    cwnd_gain: f64,
    pacing_rate: f64,
    initial_cwnd: f64,
    probe_rtt_end: Time,
    probe_rtt_round_done: bool,
    /// Segments sent while so many were delivered say nothing of the bandwidth: the window was kept
    /// small.
    limited: (u64, u64),
    idle_restart: bool,
    recovery: Conservation,
    policer: Policer,
    /// Timeouts since the last ACK, and when and how much had been delivered by then.
    timeouts: u32,
    last: (Time, u64),
    aggregation: Aggregation,
    params: BbrParams,
}

impl Model {
    fn new(params: &BbrParams) -> Self {
        Self {
            mode: Mode::Startup,
            rounds: Rounds::default(),
            bandwidth: MaxFilter::EMPTY,
            windowed: WindowedMax::default(),
            min_rtt: f64::INFINITY,
            min_rtt_at: Time::ZERO,
            full_bandwidth: 0.0,
            full_bandwidth_rounds: 0,
            pipe_filled: false,
            cycle: 0,
            cycle_at: Time::ZERO,
            pacing_gain: params.startup_gain,
            cwnd_gain: params.startup_gain,
            pacing_rate: 0.0,
            initial_cwnd: 0.0,
            probe_rtt_end: Time::ZERO,
            probe_rtt_round_done: false,
            limited: (1, 0),
            idle_restart: false,
            recovery: Conservation::new(),
            policer: Policer::default(),
            timeouts: 0,
            last: (Time::ZERO, 0),
            aggregation: Aggregation::default(),
            params: *params,
        }
    }

    /// The bandwidth that counts, segments/s.
    fn rate(&self) -> f64 {
        if self.policer.known {
            self.policer.rate
        } else {
            self.bandwidth.value
        }
    }

    /// Segments in the network at this gain.
    fn inflight(&self, gain: f64) -> f64 {
        self.inflight_and(gain, 0.0)
    }

    /// The same with `extra` segments more.
    fn inflight_and(&self, gain: f64, extra: f64) -> f64 {
        self.inflight_at(self.rate(), gain, extra)
    }

    /// The same at a given bandwidth.
    fn inflight_at(&self, rate: f64, gain: f64, extra: f64) -> f64 {
        if self.min_rtt.is_infinite() {
            return self.initial_cwnd;
        }
        let bdp = gain * rate * self.min_rtt;
        if self.params.form == Form::Paper {
            return bdp + extra + 3.0 * send_quantum(self.pacing_rate);
        }
        let window = (bdp - 1e-6).ceil() + extra + 3.0 * burst_goal(self.pacing_rate);
        let probing = self.mode == Mode::ProbeBw && self.cycle == 0;
        2.0 * (0.5 * window).ceil() + if probing { 2.0 } else { 0.0 }
    }

    /// The number of `in_flight` segments that will be in the network as the next one leaves, it included
    /// where more of them are wanted (`bbr_packets_in_net_at_edt`).
    fn in_network_at_departure(&self, in_flight: u32, gain: f64, departs_in: f64) -> f64 {
        let delivered = (self.rate() * departs_in).floor();
        let leaving = if gain > 1.0 {
            burst_goal(self.pacing_rate)
        } else {
            0.0
        };
        (f64::from(in_flight) + leaving - delivered).max(0.0)
    }

    /// A timeout ends a round and is a loss, for what is known of a policer (`bbr_set_state`).
    fn note_timeouts(&mut self, delivery: &Delivery, random: &mut Stream) {
        let (now, delivered) = self.last;
        let timeout = Delivery {
            now,
            delivered,
            lost: 1,
            total_lost: delivery.total_lost - u64::from(delivery.lost),
            ..*delivery
        };
        for _ in 0..std::mem::take(&mut self.timeouts) {
            let probing = self.mode == Mode::ProbeBw;
            if self.params.policer_detection && self.policer.update(&timeout, false, true, probing)
            {
                self.enter_probe_bw(now, random);
            }
        }
        if delivery.acked > 0 {
            self.last = (delivery.now, delivery.delivered);
        }
    }

    fn update_bandwidth(&mut self, delivery: &Delivery, random: &mut Stream) {
        let linux = self.params.form == Form::Linux;
        if linux && delivery.rate.is_nan() {
            // not a valid sample: nothing of it counts (`bbr_update_bw`)
            self.rounds.start = false;
            return;
        }
        self.rounds.update(delivery);
        let limited = delivery.app_limited
            || (self.limited.0..=self.limited.1).contains(&delivery.prior_delivered);
        if self.params.policer_detection {
            let probing = self.mode == Mode::ProbeBw;
            if self
                .policer
                .update(delivery, limited, self.rounds.start, probing)
            {
                self.enter_probe_bw(delivery.now, random);
            }
        }
        if delivery.rate >= self.bandwidth.value || (!limited && !delivery.rate.is_nan()) {
            if linux {
                self.windowed
                    .update(delivery.rate, self.rounds.count, BANDWIDTH_ROUNDS);
                self.bandwidth.value = self.windowed.best[0].1;
            } else {
                self.bandwidth
                    .update(delivery.rate, self.rounds.count, BANDWIDTH_ROUNDS);
            }
        }
        // bandwidth that stands still for three rounds fills the pipe
        if self.pipe_filled || !self.rounds.start || limited {
            return;
        }
        if self.bandwidth.value >= 1.25 * self.full_bandwidth {
            self.full_bandwidth = self.bandwidth.value;
            self.full_bandwidth_rounds = 0;
        } else {
            self.full_bandwidth_rounds += 1;
            self.pipe_filled = self.full_bandwidth_rounds >= 3;
        }
    }

    fn advance_cycle(&mut self, now: Time) {
        self.cycle = (self.cycle + 1) % CYCLE.len();
        self.cycle_at = now;
        self.pacing_gain = CYCLE[self.cycle];
    }

    fn check_cycle(&mut self, delivery: &Delivery) {
        let long = delivery.now.since(self.cycle_at).seconds() > self.min_rtt;
        let linux = self.params.form == Form::Linux;
        // at a policer's rate there is no probing, so that time alone counts
        let gain = if linux && self.policer.known {
            1.0
        } else {
            self.pacing_gain
        };
        let before = if linux {
            self.in_network_at_departure(delivery.in_flight_before, gain, delivery.departs_in)
        } else {
            f64::from(delivery.in_flight_before)
        };
        let rate = if linux {
            self.bandwidth.value
        } else {
            self.rate()
        };
        let next = if gain > 1.0 {
            long && (delivery.lost > 0 || before >= self.inflight_at(rate, gain, 0.0))
        } else if gain < 1.0 {
            long || before <= self.inflight_at(rate, 1.0, 0.0)
        } else {
            long
        };
        if next {
            self.advance_cycle(delivery.now);
        }
    }

    fn enter_probe_bw(&mut self, now: Time, random: &mut Stream) {
        self.mode = Mode::ProbeBw;
        self.cwnd_gain = self.params.cwnd_gain;
        // the phase after this one: any but that of gain 0.75
        self.cycle = CYCLE.len() - 1 - (random.uniform() * 7.0) as usize;
        self.advance_cycle(now);
    }

    fn check_drain(&mut self, delivery: &Delivery, random: &mut Stream) {
        let gain = self.pacing_gain;
        if self.mode == Mode::Startup && self.pipe_filled {
            self.mode = Mode::Drain;
            self.pacing_gain = 1.0 / self.params.startup_gain;
            self.cwnd_gain = self.params.startup_gain;
        }
        if self.mode != Mode::Drain {
            return;
        }
        let drained = if self.params.form == Form::Linux {
            self.in_network_at_departure(delivery.in_flight, gain, delivery.departs_in)
                <= self.inflight_at(self.bandwidth.value, 1.0, 0.0)
        } else {
            f64::from(delivery.in_flight) <= self.inflight(1.0)
        };
        if drained {
            self.enter_probe_bw(delivery.now, random);
        }
    }

    fn check_probe_rtt(&mut self, delivery: &Delivery, window: &mut Window, random: &mut Stream) {
        let expired =
            delivery.now.since(self.min_rtt_at).seconds() > self.params.probe_rtt_interval;
        let smaller = if self.params.form == Form::Linux {
            delivery.rtt < self.min_rtt
        } else {
            delivery.rtt <= self.min_rtt
        };
        if smaller || (expired && !delivery.rtt.is_nan()) {
            self.min_rtt = delivery.rtt;
            self.min_rtt_at = delivery.now;
        }
        if self.mode != Mode::ProbeRtt && expired && !self.idle_restart {
            // as in ProbeRTT already: a larger window of before a recovery stays
            self.recovery.save(window.cwnd, true);
            self.mode = Mode::ProbeRtt;
            (self.pacing_gain, self.cwnd_gain) = (1.0, 1.0);
            self.probe_rtt_end = Time::NEVER;
            self.limited.0 = delivery.delivered;
        }
        if self.mode == Mode::ProbeRtt {
            self.limited.1 = delivery.delivered + u64::from(delivery.in_flight);
            if self.probe_rtt_end == Time::NEVER {
                if f64::from(delivery.in_flight) <= MIN_PIPE_CWND {
                    let duration = Time::from_seconds(self.params.probe_rtt_duration);
                    self.probe_rtt_end = delivery.now + duration;
                    self.probe_rtt_round_done = false;
                    self.rounds.restart(delivery);
                }
            } else {
                self.probe_rtt_round_done |= self.rounds.start;
                if self.probe_rtt_round_done && delivery.now > self.probe_rtt_end {
                    self.min_rtt_at = delivery.now;
                    self.recovery.restore(window);
                    if self.pipe_filled {
                        self.enter_probe_bw(delivery.now, random);
                    } else {
                        self.mode = Mode::Startup;
                        self.pacing_gain = self.params.startup_gain;
                        self.cwnd_gain = self.params.startup_gain;
                    }
                }
            }
        }
        if delivery.acked > 0 {
            self.idle_restart = false;
        }
    }

    /// Before a rate has been measured: `rate` is the initial window a round trip.
    fn pace_initially(&mut self, rate: f64) {
        self.pacing_rate = self.params.startup_gain * (1.0 - self.params.pacing_margin) * rate;
    }

    fn set_pacing_rate(&mut self, gain: f64) {
        let gain = if self.policer.known && self.mode == Mode::ProbeBw {
            1.0
        } else {
            gain
        };
        let rate = gain * self.rate() * (1.0 - self.params.pacing_margin);
        if rate > 0.0 && (self.pipe_filled || rate > self.pacing_rate) {
            self.pacing_rate = rate;
        }
    }

    fn set_cwnd(&mut self, delivery: &Delivery, window: &mut Window) {
        let extra = if self.params.ack_aggregation && self.pipe_filled {
            self.aggregation.extra(self.rate())
        } else {
            0.0
        };
        let target = self.inflight_and(self.cwnd_gain, extra);
        let silent = self.params.form == Form::Linux && delivery.acked == 0;
        let form = self.params.form;
        if !silent
            && !self
                .recovery
                .follow(delivery, &mut self.rounds, window, form)
        {
            let acked = f64::from(delivery.acked);
            if self.pipe_filled {
                window.cwnd = (window.cwnd + acked).min(target);
            } else if window.cwnd < target || (delivery.delivered as f64) < self.initial_cwnd {
                window.cwnd += acked;
            }
            window.cwnd = window.cwnd.max(MIN_PIPE_CWND);
        }
        if self.mode == Mode::ProbeRtt {
            window.cwnd = window.cwnd.min(MIN_PIPE_CWND);
        }
    }
}

impl CongestionControl for Bbr {
    /// Everything happens in [`CongestionControl::on_delivery`].
    fn on_ack(&mut self, _ack: &Ack, _window: &mut Window, _random: &mut Stream) {}

    fn on_congestion(&mut self, reduction: &Reduction, window: &mut Window) {
        let model = &mut *self.0;
        // in Linux a mark asks for `ssthresh` too, which remembers the window
        if reduction.signal != Signal::Ecn || model.params.form == Form::Linux {
            model
                .recovery
                .save(window.cwnd, model.mode == Mode::ProbeRtt);
        }
    }

    /// A timeout, in style "linux".
    fn set_state(&mut self, state: CaState) {
        let model = &mut *self.0;
        if state == CaState::Loss && model.params.form == Form::Linux {
            model.full_bandwidth = 0.0;
            model.recovery.ca_state = CaState::Loss;
            model.timeouts += 1;
        }
    }

    /// `bbr_undo_cwnd`: the window comes back as the recovery ends.
    fn on_spurious_recovery(&mut self, _now: Time, _window: &mut Window) {
        let model = &mut *self.0;
        (model.full_bandwidth, model.full_bandwidth_rounds) = (0.0, 0);
        model.policer = Policer::default();
    }

    fn on_open(&mut self, now: Time, srtt: f64, window: &mut Window) {
        let model = &mut *self.0;
        model.initial_cwnd = window.cwnd;
        model.min_rtt_at = now;
        if srtt > 0.0 {
            model.min_rtt = srtt;
            model.pace_initially(window.cwnd / srtt);
        }
    }

    fn on_restart(&mut self, _now: Time, _window: &mut Window) {
        self.0.idle_restart = true;
        if self.0.mode == Mode::ProbeBw {
            self.0.set_pacing_rate(1.0);
        }
    }

    fn needs(&self) -> Needs {
        Needs {
            pacing: true,
            delivery: true,
            ..Needs::default()
        }
    }

    fn pacing_rate(&self) -> Option<f64> {
        (self.0.pacing_rate > 0.0).then_some(self.0.pacing_rate)
    }

    fn pacing_burst(&self) -> u32 {
        burst_goal(self.0.pacing_rate).min(self.0.params.burst) as u32
    }

    fn on_delivery(&mut self, delivery: &Delivery, window: &mut Window, random: &mut Stream) {
        let model = &mut *self.0;
        if model.pacing_rate == 0.0 && delivery.srtt > 0.0 {
            // the first round trip
            model.pace_initially(model.initial_cwnd / delivery.srtt);
        }
        if model.params.form == Form::Linux {
            model.note_timeouts(delivery, random);
        }
        model.update_bandwidth(delivery, random);
        if model.params.ack_aggregation {
            let (rate, start) = (model.rate(), model.rounds.start);
            model.aggregation.update(
                delivery,
                start,
                Aggregation::EXTRA_ACKED_ROUNDS,
                rate,
                window.cwnd,
            );
        }
        if model.mode == Mode::ProbeBw {
            model.check_cycle(delivery);
        }
        model.check_drain(delivery, random);
        model.check_probe_rtt(delivery, window, random);
        model.set_pacing_rate(model.pacing_gain);
        model.set_cwnd(delivery, window);
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::Parameters as _;
    use crate::congestion::test::random;

    #[test]
    fn the_filter_forgets() {
        let mut filter = MaxFilter::<3>::EMPTY;
        for (value, period, expected) in [
            (5.0, 0, 5.0),
            (2.0, 1, 5.0),
            (3.0, 2, 5.0),
            (1.0, 3, 3.0),
            (0.5, 4, 3.0),
            (0.5, 5, 1.0),
            (0.25, 50, 0.25),
        ] {
            filter.update(value, period, 3);
            assert_eq!(filter.value, expected, "period {period}");
        }
        filter.update(4.0, 51, 3);
        filter.update(1.0, 52, 1);
        assert_eq!(filter.value, 1.0, "a shorter window");
    }

    /// A path that delivers at most `rate` segments/s after `rtt` seconds: what a sender sees of
    /// it, a round at a time.
    pub(in crate::congestion) struct Pipe {
        pub(in crate::congestion) rate: f64,
        pub(in crate::congestion) rtt: f64,
        pub(in crate::congestion) delivered: u64,
        pub(in crate::congestion) now: f64,
    }

    impl Pipe {
        /// A round trip in which `cwnd` segments were in the network, paced at `pacing`; one ACK
        /// stands for all.
        pub(in crate::congestion) fn round(&mut self, cwnd: f64, pacing: f64) -> Delivery {
            let queue = (cwnd - self.rate * self.rtt).max(0.0) / self.rate;
            let rtt = self.rtt + queue;
            let rate = (cwnd / rtt).min(self.rate).min(pacing.max(1.0));
            let acked = (rate * rtt).round().max(1.0) as u32;
            let prior_delivered = self.delivered;
            self.delivered += u64::from(acked);
            self.now += rtt;
            Delivery {
                now: Time::from_seconds(self.now),
                acked,
                marked: 0,
                lost: 0,
                delivered: self.delivered,
                total_lost: 0,
                in_flight_before: cwnd as u32,
                in_flight: (rate * rtt) as u32,
                rtt,
                srtt: rtt,
                rate,
                prior_delivered,
                app_limited: false,
                sent_in_flight: cwnd as u32,
                lost_since_sent: 0,
                cwnd_limited: true,
                backlogged: true,
                departs_in: 0.0,
                ca_state: CaState::Open,
            }
        }
    }

    fn started() -> (Bbr, Window, Pipe) {
        let mut window = Window {
            cwnd: 10.0,
            ssthresh: f64::INFINITY,
        };
        let pipe = Pipe {
            rate: 1000.0,
            rtt: 0.1,
            delivered: 0,
            now: 0.0,
        };
        let mut bbr = BbrParams::from_values(&[])
            .expect("the defaults are allowed")
            .build(0);
        bbr.on_open(Time::ZERO, 0.1, &mut window);
        (bbr, window, pipe)
    }

    #[test]
    fn startup_doubles_and_ends_when_the_bandwidth_stands_still() {
        let (mut bbr, mut window, mut pipe) = started();
        let mut random = random();
        let mut rates = vec![];
        for _ in 0..40 {
            let rate = bbr.pacing_rate().unwrap_or(f64::INFINITY);
            let delivery = pipe.round(window.cwnd, rate);
            bbr.on_delivery(&delivery, &mut window, &mut random);
            rates.push(bbr.0.bandwidth.value);
            if bbr.0.mode != Mode::Startup {
                break;
            }
        }
        assert_eq!(bbr.0.pacing_gain, 1.0 / 2.885);
        for pair in rates[..3].windows(2) {
            assert!((1.8..3.0).contains(&(pair[1] / pair[0])), "{rates:?}");
        }
        let last = rates.len() - 1;
        assert_eq!(rates[last], 1000.0);
        // three rounds that bring nothing more
        assert_eq!(rates[last - 3], 1000.0, "{rates:?}");
        assert!(rates[last - 4] < 1000.0, "{rates:?}");
    }

    #[test]
    fn the_cycle_probes_and_drains() {
        let (mut bbr, mut window, mut pipe) = started();
        let mut random = random();
        let mut gains = vec![];
        for _ in 0..60 {
            let rate = bbr.pacing_rate().unwrap_or(f64::INFINITY);
            let gain = bbr.0.pacing_gain;
            let inflight = (gain * 1000.0 * 0.1 + 6.0).min(window.cwnd);
            let mut delivery = pipe.round(inflight, rate);
            delivery.in_flight = delivery.in_flight.min(inflight as u32);
            bbr.on_delivery(&delivery, &mut window, &mut random);
            if bbr.0.mode == Mode::ProbeBw {
                gains.push(bbr.0.pacing_gain);
            }
        }
        assert!(gains.contains(&1.25) && gains.contains(&0.75), "{gains:?}");
        assert_ne!(gains[0], 0.75);
        for pair in gains.windows(2) {
            assert!(pair[0] != 1.25 || [1.25, 0.75].contains(&pair[1]));
        }
        // two bandwidth-delay products and three bursts of 2
        assert!((window.cwnd - (200.0 + 6.0)).abs() < 1.0, "{}", window.cwnd);
    }

    #[test]
    fn the_propagation_time_is_measured_every_ten_seconds() {
        let (mut bbr, mut window, mut pipe) = started();
        let mut random = random();
        let mut times = vec![];
        while pipe.now < 35.0 {
            let rate = bbr.pacing_rate().unwrap_or(f64::INFINITY);
            let before = bbr.0.mode;
            // something else keeps the round trip above the propagation time
            let mut delivery = pipe.round(window.cwnd.min(105.0), rate);
            if window.cwnd > MIN_PIPE_CWND && pipe.now > 1.0 {
                delivery.rtt += 0.01;
            }
            bbr.on_delivery(&delivery, &mut window, &mut random);
            if bbr.0.mode == Mode::ProbeRtt && before != Mode::ProbeRtt {
                times.push(pipe.now);
                assert_eq!(window.cwnd, MIN_PIPE_CWND);
            }
            if before == Mode::ProbeRtt && bbr.0.mode == Mode::ProbeBw {
                assert!(window.cwnd > 100.0, "{}", window.cwnd);
                assert!(
                    bbr.0.bandwidth.value > 999.9,
                    "the small window does not count"
                );
            }
        }
        assert_eq!(times.len(), 3, "{times:?}");
        for pair in times.windows(2) {
            assert!((10.0..11.5).contains(&(pair[1] - pair[0])), "{times:?}");
        }
    }

    #[test]
    fn recovery_gives_the_window_back() {
        let (mut bbr, mut window, mut pipe) = started();
        let mut random = random();
        for _ in 0..20 {
            let rate = bbr.pacing_rate().unwrap_or(f64::INFINITY);
            let delivery = pipe.round(window.cwnd.min(110.0), rate);
            bbr.on_delivery(&delivery, &mut window, &mut random);
        }
        let good = window.cwnd;
        bbr.on_congestion(&crate::congestion::test::loss(good), &mut window);
        assert_eq!(window.cwnd, good);
        let mut delivery = pipe.round(100.0, 1000.0);
        delivery.ca_state = CaState::Recovery;
        (delivery.lost, delivery.in_flight, delivery.acked) = (2, 90, 1);
        bbr.on_delivery(&delivery, &mut window, &mut random);
        assert_eq!(window.cwnd, 91.0, "one leaves for each that arrives");
        delivery.ca_state = CaState::Open;
        delivery.lost = 0;
        bbr.on_delivery(&delivery, &mut window, &mut random);
        assert!(window.cwnd >= good.min(bbr.0.inflight(2.0)));
    }

    /// Two intervals that lose a quarter at the same rate are a policer's; for 48 rounds its rate
    /// is used.
    #[test]
    fn a_policer_is_found_and_forgotten() {
        let mut policer = Policer::default();
        let mut delivery = Delivery {
            now: Time::from_seconds(1.0),
            acked: 10,
            marked: 0,
            lost: 3,
            delivered: 0,
            total_lost: 0,
            in_flight_before: 10,
            in_flight: 10,
            rtt: 0.1,
            srtt: 0.1,
            rate: 100.0,
            prior_delivered: 0,
            app_limited: false,
            sent_in_flight: 10,
            lost_since_sent: 0,
            cwnd_limited: true,
            backlogged: true,
            departs_in: 0.0,
            ca_state: CaState::Open,
        };
        let mut rounds = 0;
        while !policer.known {
            rounds += 1;
            assert!(rounds < 20);
            delivery.now += Time::from_seconds(0.1);
            delivery.delivered += 10;
            delivery.total_lost += 3;
            assert!(!policer.update(&delivery, false, true, true));
        }
        // two intervals of four rounds, after the loss that begins the first
        assert_eq!(rounds, 8);
        assert!((policer.rate - 100.0).abs() < 1.0, "{}", policer.rate);
        for round in 1..=48 {
            assert_eq!(policer.update(&delivery, false, true, true), round == 48);
        }
        assert!(!policer.known);
    }

    /// Linux: the bandwidth-delay product rounded up, an even window, two segments more in the
    /// probing phase; pacing 1 % below the rate.
    #[test]
    fn whole_windows_as_in_linux() {
        let params = BbrParams {
            form: Form::Linux,
            pacing_margin: 0.01,
            ..BbrParams::from_values(&[]).unwrap()
        };
        let mut model = Model::new(&params);
        model.bandwidth.update(825.0, 0, BANDWIDTH_ROUNDS);
        model.min_rtt = 0.04;
        (model.mode, model.cycle, model.pacing_rate) = (Mode::ProbeBw, 2, 825.0);
        assert_eq!(model.inflight(1.0), 40.0); // 33 and 3 x 2
        assert_eq!(model.inflight(2.0), 72.0);
        assert_eq!(model.inflight(1.01), 40.0); // 33.33: 34 and 6
        assert_eq!(model.inflight_and(2.0, 3.0), 76.0);
        model.cycle = 0;
        assert_eq!(model.inflight(2.0), 74.0);
        model.pipe_filled = true;
        model.set_pacing_rate(1.0);
        assert!((model.pacing_rate - 0.99 * 825.0).abs() < 1e-9);
    }

    /// `bbr_tso_segs_goal`: the kernel's trace of 8275 segments/s goes from seven to eight.
    #[test]
    fn bursts_as_in_linux() {
        for (rate, goal) in [
            (100.0, 1.0),
            (104.0, 2.0),
            (0.99 * 8256.0, 7.0),
            (0.99 * 8276.0, 8.0),
            (1e6, 45.0),
        ] {
            assert_eq!(burst_goal(rate), goal, "{rate}");
        }
    }

    /// Segments delivered until the next one leaves are in the network no more: at 100
    /// segments/s the probing phase ends with 14 of them where that may leave at once, and with 16
    /// where it waits for 25 ms.
    #[test]
    fn the_next_departure_counts_in_linux() {
        let params = BbrParams {
            form: Form::Linux,
            ..BbrParams::from_values(&[]).unwrap()
        };
        let mut model = Model::new(&params);
        model.bandwidth.update(100.0, 0, BANDWIDTH_ROUNDS);
        (model.min_rtt, model.mode, model.pacing_gain) = (0.1, Mode::ProbeBw, 1.25);
        model.pacing_rate = 100.0;
        assert_eq!(model.inflight(1.25), 18.0); // 13, three bursts, and two
        let mut pipe = Pipe {
            rate: 100.0,
            rtt: 0.1,
            delivered: 0,
            now: 0.0,
        };
        let base = pipe.round(10.0, 100.0);
        for (in_flight_before, departs_in, over) in [
            (16, 0.0, false),
            (17, 0.0, true),
            (18, 0.025, false),
            (19, 0.025, true),
        ] {
            let mut model = model;
            model.check_cycle(&Delivery {
                now: Time::from_seconds(1.0),
                in_flight_before,
                departs_in,
                ..base
            });
            assert_eq!(model.cycle == 1, over, "{in_flight_before} {departs_in}");
        }
    }

    /// A timeout ends a round, and is a loss that may end a policer's interval.
    #[test]
    fn timeouts_count_for_a_policer_in_linux() {
        let mut bbr = BbrParams {
            form: Form::Linux,
            policer_detection: true,
            ..BbrParams::from_values(&[]).unwrap()
        }
        .build(0);
        let mut window = Window {
            cwnd: 10.0,
            ssthresh: f64::INFINITY,
        };
        let mut pipe = Pipe {
            rate: 1000.0,
            rtt: 0.1,
            delivered: 0,
            now: 0.0,
        };
        bbr.on_open(Time::ZERO, 0.1, &mut window);
        for timeouts in [0, 2] {
            for _ in 0..timeouts {
                bbr.set_state(CaState::Loss);
            }
            let mut delivery = pipe.round(10.0, 1000.0);
            delivery.ca_state = CaState::Loss;
            bbr.on_delivery(&delivery, &mut window, &mut random());
            // the first begins the interval, the second and the ACK's own round count
            let expected = if timeouts == 0 { (false, 0) } else { (true, 3) };
            let policer = &bbr.0.policer;
            assert_eq!((policer.sampling, policer.rounds), expected);
            assert_eq!(bbr.0.timeouts, 0);
        }
    }

    /// Six segments at once where the rate has two: four beyond it, for five to ten rounds, and 100
    /// ms of the rate at most.
    #[test]
    fn aggregation_of_acks() {
        let mut pipe = Pipe {
            rate: 100.0,
            rtt: 0.1,
            delivered: 0,
            now: 0.0,
        };
        let base = pipe.round(10.0, 100.0);
        let mut aggregation = Aggregation::default();
        let mut ack = |at: f64, acked: u32, start: bool| {
            let delivery = Delivery {
                now: Time::from_seconds(at),
                acked,
                rate: 100.0,
                ..base
            };
            aggregation.update(
                &delivery,
                start,
                Aggregation::EXTRA_ACKED_ROUNDS,
                100.0,
                50.0,
            );
            aggregation.extra(100.0)
        };
        assert_eq!(ack(1.0, 1, false), 1.0); // an epoch begins with its first ACK
        assert_eq!(ack(1.0201, 6, false), 6.0); // late: another one
        assert_eq!(ack(1.0402, 6, false), 10.0); // 12 where 2 are expected
        for round in 1..10 {
            let extra = ack(1.0 + f64::from(round), 1, true);
            assert_eq!(extra, 10.0, "{round}");
        }
        assert_eq!(ack(20.0, 1, true), 1.0);
        assert_eq!(ack(20.001, 30, false), 10.0); // 31, but 100 ms are 10
    }
}
