//! BBR, version 3: BBR with limits that it learns from losses.
//!
//! - **Model**: as in version 1 the bandwidth is the largest recent delivery rate (of the last two probing cycles) and the propagation time the smallest round
//!   trip of ten seconds. Beside it the long-term limit `inflight_longterm` is what the path took without losing more than 2 %, and the short-term limits
//!   `bw_shortterm` and `inflight_shortterm` fall by 30 % in each round with a loss that comes while it does not probe.
//! - **Startup** at 4 ln 2 times the bandwidth, until three rounds bring less than a quarter more or six losses of more than 2 % come in a round; **Drain** at 0.5, for three rounds at most.
//! - **ProbeBW** in four parts: *down* at 0.9 until the queue is gone and there is room below `inflight_longterm`, *cruise* at 1, *refill* for a round at 1, then *up* at
//!   1.25, `inflight_longterm` growing faster from round to round, until losses exceed 2 % or the rate stands still. After a probe that lost too much the next one
//!   only goes up to `inflight_longterm` (precautionary probing); if that loses nothing a full one follows at once. Probes are 2 to 3 s apart, or as many rounds as
//!   Reno would need to come back, at most 63.
//! - **ProbeRTT** every five seconds without a smaller round trip: half a bandwidth-delay product in the network for 200 ms.
//! - **Window**: twice the bandwidth-delay product (2.25 times while probing up) plus what ACKs bring in excess of the bandwidth, within the limits.
//!
//! It wants `loss_detection = "rack"`, as BBR is deployed: with duplicate ACKs a lost
//! retransmission is found by the timer only, and two flows on 100 Mbit/s, 40 ms and 333 packets of
//! buffer have 5 to 16 timeouts in 60 s, with RACK none.
//!
//! With `form = "linux"`, it is that of Google's Linux tree (`tcp_bbr.c`, branch v3, kernel 6.4), which
//! is three years older than the draft: Drain at 88/256 (1 / 2.885) and until the queue is gone,
//! *down* at 232/256 (0.91); what ACKs bring in excess counts for five to ten rounds, one or two in
//! Startup, and adds no more than 100 ms of the bandwidth to the window (in a deep buffer, where a
//! round takes a second, the draft's sum may double it); an ACK's own sample of losses ends a probe
//! too, not lost segments alone; growth of the delivery rate by a quarter begins the search for a
//! plateau anew at every ACK, not at the first of a round only; what is in the network as a phase
//! ends is what will be there when the next segment leaves, a burst included while more is wanted;
//! cruising keeps `inflight_shortterm` at or below `inflight_longterm`; the window of before comes
//! back after a timeout only, not after a fast recovery; losses that end Startup are counted by ACKs;
//! volumes are whole segments and shares whole 256ths; a spurious recovery does not bring back the
//! state that it ended.
//!
//! Where the draft contradicts itself, `crates/packet/tests/bbr_draft.rs` says so.
//!
//! Not part of it: the reaction to ECN marks of Google's own version, which the draft leaves out.
//! Segments leave one by one, or `burst` of them at most together as with segmentation offload.

use super::bbr::{
    Aggregation, Conservation, MIN_PIPE_CWND, MaxFilter, Probe, Rounds, mean_of_growth,
    mean_quantum, send_quantum,
};
use super::{
    Ack, CaState, CongestionAlgorithm, CongestionControl, Delivery, Form, LINUX_FORM, Lost, Needs,
    Reduction, Signal, Window,
};
use crate::fluid::{FluidTcp, Path, Scheduled, TcpInput, smooth_share};
use crate::meta::{About, Algorithm};
use crate::{DefaultValue, Interval, Scalar, Stream, Time, parameters};

parameters! {
    /// Parameters of BBR version 3.
    pub struct Bbr3Params {
        /// Pacing gain of Startup.
        startup_gain: number = 2.77, in Interval::above(1.0), "draft-ietf-ccwg-bbr, section 2.4: 4 ln 2";
        /// Share of a round's segments lost above which the path is full.
        loss_threshold: number = 0.02, in Interval::inside(0.0, 1.0), "draft-ietf-ccwg-bbr, section 2.6: 2 %";
        /// Factor of the limits in the network after losses.
        beta: number = 0.7, in Interval::inside(0.0, 1.0), "draft-ietf-ccwg-bbr, section 2.6: 0.7";
        /// Share of `inflight_longterm` left to others while cruising.
        headroom: number = 0.15, in Interval::from_below(0.0, 1.0), "draft-ietf-ccwg-bbr, section 2.6: 0.15";
        /// Time without a smaller round trip after which it is looked for.
        probe_rtt_interval: time = 5.0, in Interval::above(0.0), "draft-ietf-ccwg-bbr, section 2.13.2: 5 s";
        /// How long it is looked for.
        probe_rtt_duration: time = 0.2, in Interval::above(0.0), "draft-ietf-ccwg-bbr, section 2.13.2: 200 ms";
        /// Segments that leave together at most, with the gap of all after them: the send quantum, if
        /// that is fewer.
        burst: packets = 1.0, in Interval::between(1.0, 64.0), "draft-ietf-ccwg-bbr, section 5.6.3; Linux with segmentation offload: 45";
        /// The algorithm of the draft, or that of Google's Linux tree.
        form: choice(Form) = Paper, "style: Google's Linux tree, branch v3";
    }
}

impl Algorithm for Bbr3Params {
    const ABOUT: About = About {
        kind: "bbr3",
        title: "BBR version 3",
        summary: "BBR that also keeps below what the path took without losing more than 2 %, and leaves room for others.",
        citation: "N. Cardwell, I. Swett and J. Beshay, BBR congestion control, draft-ietf-ccwg-bbr-06 (2026)",
        ecn: false,
    };
    const LINUX: &'static [(&'static str, DefaultValue)] = &[
        ("startup_gain", DefaultValue::Number(710.0 / 256.0)),
        ("loss_threshold", DefaultValue::Number(5.0 / 256.0)),
        ("beta", DefaultValue::Number(180.0 / 256.0)),
        ("headroom", DefaultValue::Number(38.0 / 256.0)),
        LINUX_FORM,
    ];
}

impl FluidTcp for Bbr3Params {
    type Over<S: Scalar> = Bbr3Params<S>;

    const APPROXIMATION: Option<&'static str> = Some(
        "the cycle of down, cruise, refill and up as an average (derived here, as the law of version 1): no Startup, no ACK aggregation, no long-term limit; after the first round with a loss \
         in a cycle the pace is what is delivered; probes of different flows never coincide, where in packets losses make many flows go down together and leave a queue shorter than the full one here; \
         ProbeRTT of all flows of this kind coincides and takes no throughput",
    );

    const BY_DELAY: bool = true;

    const BY_RATE: bool = true;

    fn schedule(&self, state: &[f64], rtt: f64) -> Vec<Scheduled> {
        let lasts = self.probe_rtt_duration + state[2];
        vec![
            Scheduled {
                what: "ProbeRTT",
                period: self.probe_rtt_interval + lasts,
            },
            Scheduled {
                what: "the probe for bandwidth",
                period: cycle(state[1] * state[2], state[2], rtt),
            },
        ]
    }

    /// Growth an ACK on the way to the window's cap where the bandwidth estimate is the rate w /
    /// R: none of the equations' own terms, which follow from three states.
    fn increase<S: Scalar>(_params: &Bbr3Params<S>, window: S, path: &Path<S>) -> S {
        let rate = window / path.rtt;
        (cap(rate, path.bottleneck.drained_rtt) - window) / (path.bottleneck.drained_rtt * rate)
    }

    /// Nothing: losses lower the pace, not the window.
    fn decrease<S: Scalar>(_params: &Bbr3Params<S>, _window: S, _path: &Path<S>) -> S {
        S::from_f64(0.0)
    }

    fn left_in_network<S: Scalar>(_params: &Bbr3Params<S>, state: &[S]) -> S {
        (state[1] * state[2] * PROBE_RTT_CWND_GAIN).max(S::from_f64(MIN_PIPE_CWND))
    }

    fn state_names<S: Scalar>(_params: &Bbr3Params<S>) -> &'static [&'static str] {
        &[
            "window (packets)",
            "bandwidth estimate (packets/s)",
            "propagation time (s)",
        ]
    }

    fn start<S: Scalar>(_params: &Bbr3Params<S>, window: S, path: &Path<S>, state: &mut [S]) {
        state[0] = window;
        state[1] = window / path.rtt;
        state[2] = path.bottleneck.drained_rtt;
    }

    /// With the window w, the bandwidth estimate b and the propagation time r, as version 1 but that
    ///
    /// - a cycle lasts T, from one probe to the next: 2.5 s or the rounds after which Reno would be
    ///   back, and what *refill*, *up* and *down* take; *down* brings the window to b r in each;
    /// - *up* adds b r / 4 beyond the window's cap, too, as its window gain is 2.25;
    /// - after the first round with a loss in a cycle the short-term limits hold the pace to what is
    ///   delivered and the window where it is. With e such rounds a second ([`TcpInput::falls`]) that
    ///   leaves (1 - exp(-e T)) / (e T) of the cycle to the pace b.
    ///
    /// At rest N flows alone in a shallow buffer lose the p at which what their probes find beyond
    /// their share in the rest of the cycle is what is lost.
    fn derivative<S: Scalar>(
        params: &Bbr3Params<S>,
        input: &TcpInput<S>,
        state: &[S],
        rate: &mut [S],
    ) {
        let (window, bandwidth, propagation) = (state[0], state[1], state[2]);
        let (zero, one) = (S::from_f64(0.0), S::from_f64(1.0));
        let path = &input.path;
        let probe = Probe { input };
        let product = bandwidth * propagation;
        let top = cap(bandwidth, propagation);
        let pulse = product * (UP_GAIN - 1.0);
        let cycle = cycle(product, propagation, path.rtt);
        let room = (product * (UP_CWND_GAIN - CWND_GAIN) + top - window)
            .max(zero)
            .min(pulse);
        let measured = probe.delivered(probe.sent() + room / path.rtt);
        // share of a cycle before its first round with a loss
        let losses = input.falls(path.rtt) * cycle;
        let free = if path.marks || losses.re() < 1e-6 {
            one
        } else {
            (-(-losses).exp() + 1.0) / losses
        };
        let lasts = (params.probe_rtt_duration + propagation) / params.probe_rtt_interval;
        // each ProbeRTT begins a cycle anew, so that of the last one before it half is lost on average,
        // and of the queue of its probe what has not drained; one probe is always made
        let interval = params.probe_rtt_interval;
        let complete = (interval - cycle * 0.5 - propagation * (0.5 * SWELL_LASTS)) / cycle;
        let time = interval * (lasts + 1.0) * (-lasts + 1.0);
        // a buffer below the peak cuts the triangle of the queue off; *up* goes on until the loss is heard
        let room = (path.full - propagation) / propagation;
        let share = room / (UP_GROWTH * UP_LASTS);
        let shape = if share.re() < 1.0 {
            let full = (room + 1.0).min((-room / UP_GROWTH) + UP_LASTS);
            share * share * PROBE_SWELL + room * full
        } else {
            S::from_f64(PROBE_SWELL)
        };
        let swell = product * propagation * shape;
        let low = product.max(mean_quantum(bandwidth) * 3.0) + swell * complete.max(one) / time;
        let gained = probe.gained(bandwidth, UP_GAIN) * free;
        let mean = mean_of_growth(low, top, gained, cycle);
        let mean = product + (mean - product) * (-lasts + 1.0);
        let ahead = smooth_share((low - window) / pulse) * pulse / cycle;
        let pace = probe.acked() + (bandwidth - probe.acked()) * free + ahead;
        rate[0] = (pace - window / path.rtt).min((mean - window) / propagation);
        rate[1] = (measured - bandwidth) / cycle;
        rate[2] = (path.bottleneck.drained_rtt - propagation) / params.probe_rtt_interval;
    }
}

/// Pacing gain of *up*.
const UP_GAIN: f64 = 1.25;
/// Mean time between probes, s.
const MEAN_WAIT: f64 = 2.5;
/// Propagation times that *refill* and *up* take: one, and three rounds in which the rate stands still,
/// each longer than the one before as the queue grows. *Down* is counted in the wait: both begin together.
const PROBE_ROUNDS: f64 = 1.0 + UP_LASTS;
/// ((1 + g)^3 - 1) / g, with g what *up* sends beyond the rate of the link.
const UP_LASTS: f64 = 3.0 + UP_GROWTH * (3.0 + UP_GROWTH);
const UP_GROWTH: f64 = UP_GAIN * PACING_MARGIN - 1.0;
/// Propagation times from the beginning of *up* until *down* has drained what it has added.
const SWELL_LASTS: f64 = UP_LASTS * (1.0 + UP_GROWTH / (1.0 - DOWN_GAIN * PACING_MARGIN));
/// Mean that *up* and *down* add to the window over a time t, in bandwidth-delay products times
/// propagation times over t: it rises by `UP_GROWTH` and falls by what `DOWN_GAIN` leaves free.
const PROBE_SWELL: f64 = 0.5 * UP_LASTS * UP_GROWTH * SWELL_LASTS;

/// Time from one probe for bandwidth to the next, s, of a bandwidth-delay product of `product` packets.
fn cycle<S: Scalar>(product: S, propagation: S, rtt: S) -> S {
    let rounds = product.min(S::from_f64(RENO_ROUNDS));
    (rounds * rtt).min(S::from_f64(MEAN_WAIT)) + propagation * PROBE_ROUNDS
}

/// The largest window, packets, of bandwidth `rate` packets/s over `propagation` seconds, but in *up*.
fn cap<S: Scalar>(rate: S, propagation: S) -> S {
    (rate * propagation * CWND_GAIN + mean_quantum(rate) * 3.0).max(S::from_f64(MIN_PIPE_CWND))
}

impl CongestionAlgorithm for Bbr3Params {
    type Controller = Bbr3;

    fn build(&self, _flow: u32) -> Bbr3 {
        Bbr3(Box::new(Model::new(self)))
    }
}

// draft-ietf-ccwg-bbr, sections 2.4 to 2.13
const PACING_MARGIN: f64 = 0.99;
const DRAIN_GAIN: f64 = 0.5;
/// In Linux (`bbr_drain_gain`, `bbr_pacing_gain`): 256 * 1000 / 2885 and 256 * 91 / 100, in whole 256ths.
const LINUX_DRAIN_GAIN: f64 = 88.0 / 256.0;
const DOWN_GAIN: f64 = 0.9;
const LINUX_DOWN_GAIN: f64 = 232.0 / 256.0;
/// Rounds after which Drain ends although the queue has not gone: the bandwidth was overestimated.
const DRAIN_ROUNDS: u64 = 3;
const CWND_GAIN: f64 = 2.0;
const UP_CWND_GAIN: f64 = 2.25;
const PROBE_RTT_CWND_GAIN: f64 = 0.5;
const MIN_RTT_WINDOW: f64 = 10.0;
const EXTRA_ACKED_ROUNDS: u64 = 10;
const STARTUP_LOSS_EVENTS: u32 = 6;
const RENO_ROUNDS: f64 = 63.0;

/// Where BBR stands in its state machine (draft-ietf-ccwg-bbr, section 5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BbrMode {
    /// Looks for the bandwidth, doubling the rate.
    Startup,
    /// Lets the queue of Startup go.
    Drain,
    /// ProbeBW_DOWN.
    Down,
    /// ProbeBW_CRUISE.
    Cruise,
    /// ProbeBW_REFILL.
    Refill,
    /// ProbeBW_UP.
    Up,
    /// Looks for the propagation time.
    ProbeRtt,
}
use BbrMode as Mode;

impl Mode {
    fn probes_bandwidth(self) -> bool {
        matches!(self, Self::Down | Self::Cruise | Self::Refill | Self::Up)
    }
}

/// The phase of a probe, as ACKs show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Idle,
    Refilling,
    Starting,
    Feedback,
    Stopping,
}

/// BBR version 3 at work.
#[derive(Clone, Debug)]
pub struct Bbr3(Box<Model>);

/// The variables of the draft that say what a sender thinks of its path, under the draft's names;
/// volumes in segments, rates in segments/s, times in s.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "the draft says what they are")]
pub struct Bbr3State {
    pub mode: BbrMode,
    pub round_count: u64,
    pub round_start: bool,
    pub pacing_gain: f64,
    pub cwnd_gain: f64,
    pub pacing_rate: f64,
    pub bw: f64,
    pub max_bw: f64,
    pub min_rtt: f64,
    pub bw_shortterm: f64,
    pub inflight_shortterm: f64,
    pub inflight_longterm: f64,
    pub extra_acked: f64,
    pub full_bw_now: bool,
    pub full_bw_reached: bool,
    pub full_bw_count: u32,
    pub drain_start_round: u64,
    pub bw_probe_wait: f64,
    pub idle_restart: bool,
    pub undo_mode: Option<BbrMode>,
    /// `Inflight(1.0)`.
    pub inflight_at_1: f64,
    /// `InflightWithHeadroom()`.
    pub inflight_with_headroom: f64,
}

impl Bbr3 {
    /// Its model of the path.
    #[must_use]
    pub fn state(&self) -> Bbr3State {
        let model = &*self.0;
        Bbr3State {
            mode: model.mode,
            round_count: model.rounds.count,
            round_start: model.rounds.start,
            pacing_gain: model.pacing_gain,
            cwnd_gain: model.cwnd_gain,
            pacing_rate: model.pacing_rate,
            bw: model.bw,
            max_bw: model.max_bw.value,
            min_rtt: model.min_rtt,
            bw_shortterm: model.bw_shortterm,
            inflight_shortterm: model.inflight_shortterm,
            inflight_longterm: model.inflight_longterm,
            extra_acked: model.extra_acked.value,
            full_bw_now: model.full_bw_now,
            full_bw_reached: model.full_bw_reached,
            full_bw_count: model.full_bw_rounds,
            drain_start_round: model.drain_start,
            bw_probe_wait: model.probe_wait,
            idle_restart: model.idle_restart,
            undo_mode: model.undo.mode,
            inflight_at_1: model.inflight(model.bw, 1.0),
            inflight_with_headroom: model.inflight_with_headroom(),
        }
    }
}

/// State that is restored when a recovery turns out to have been spurious.
#[derive(Clone, Copy, Debug)]
struct Undo {
    /// The present loss episode has saved it.
    saved: bool,
    /// The mode that losses have ended: Startup or a probe.
    mode: Option<Mode>,
    bw_shortterm: f64,
    inflight_shortterm: f64,
    inflight_longterm: f64,
}

#[derive(Clone, Copy, Debug)]
struct Model {
    mode: Mode,
    phase: Phase,
    rounds: Rounds,
    /// By probing cycle.
    max_bw: MaxFilter<2>,
    cycles: u64,
    /// The rate that the model allows, segments/s.
    bw: f64,
    bw_shortterm: f64,
    inflight_shortterm: f64,
    inflight_longterm: f64,
    bw_latest: f64,
    inflight_latest: f64,
    loss_in_round: bool,
    loss_round_end: u64,
    loss_round_start: bool,
    loss_events: u32,
    /// The segment found lost last: one that does not follow it begins another range.
    last_lost: u64,
    full_bw: f64,
    full_bw_rounds: u32,
    full_bw_now: bool,
    full_bw_reached: bool,
    min_rtt: f64,
    min_rtt_at: Time,
    probe_rtt_min: f64,
    probe_rtt_min_at: Time,
    probe_rtt_expired: bool,
    probe_rtt_end: Time,
    probe_rtt_round_done: bool,
    limited: (u64, u64),
    extra_acked: MaxFilter<{ EXTRA_ACKED_ROUNDS as usize }>,
    /// The same as Linux has it.
    aggregation: Aggregation,
    aggregation_at: Time,
    aggregation_acked: f64,
    /// When the present part of the cycle, and how long to the next probe.
    cycle_at: Time,
    probe_wait: f64,
    rounds_since_probe: f64,
    /// The next such wait in rounds and seconds, drawn ahead: an end of ProbeRTT without an ACK
    /// draws nothing.
    next_wait: Option<(f64, f64)>,
    /// Whether losses now tell of a probe.
    probe_samples: bool,
    /// Whether the last probe lost too much, and whether the present one was cut short for that
    /// reason (section "Precautionary Bandwidth Probing").
    prev_probe_too_high: bool,
    prev_probe_precautionary: bool,
    drain_start: u64,
    undo: Undo,
    /// Segments delivered, and the window, after the last ACK.
    delivered: u64,
    cwnd: f64,
    up_rounds: u32,
    up_acks: f64,
    up_count: f64,
    pacing_gain: f64,
    cwnd_gain: f64,
    pacing_rate: f64,
    initial_cwnd: f64,
    idle_restart: bool,
    recovery: Conservation,
    params: Bbr3Params,
}

impl Model {
    fn new(params: &Bbr3Params) -> Self {
        Self {
            mode: Mode::Startup,
            phase: Phase::Idle,
            rounds: Rounds::default(),
            max_bw: MaxFilter::EMPTY,
            cycles: 0,
            bw: 0.0,
            bw_shortterm: f64::INFINITY,
            inflight_shortterm: f64::INFINITY,
            inflight_longterm: f64::INFINITY,
            bw_latest: 0.0,
            inflight_latest: 0.0,
            loss_in_round: false,
            loss_round_end: 0,
            loss_round_start: false,
            loss_events: 0,
            last_lost: u64::MAX,
            full_bw: 0.0,
            full_bw_rounds: 0,
            full_bw_now: false,
            full_bw_reached: false,
            min_rtt: f64::INFINITY,
            min_rtt_at: Time::ZERO,
            probe_rtt_min: f64::INFINITY,
            probe_rtt_min_at: Time::ZERO,
            probe_rtt_expired: false,
            probe_rtt_end: Time::NEVER,
            probe_rtt_round_done: false,
            limited: (1, 0),
            extra_acked: MaxFilter::EMPTY,
            aggregation: Aggregation::default(),
            aggregation_at: Time::ZERO,
            aggregation_acked: 0.0,
            cycle_at: Time::ZERO,
            probe_wait: 0.0,
            rounds_since_probe: 0.0,
            next_wait: None,
            probe_samples: false,
            prev_probe_too_high: false,
            prev_probe_precautionary: false,
            drain_start: 0,
            undo: Undo {
                saved: false,
                mode: None,
                bw_shortterm: f64::INFINITY,
                inflight_shortterm: f64::INFINITY,
                inflight_longterm: f64::INFINITY,
            },
            delivered: 0,
            cwnd: 0.0,
            up_rounds: 0,
            up_acks: 0.0,
            up_count: f64::INFINITY,
            pacing_gain: params.startup_gain,
            cwnd_gain: CWND_GAIN,
            pacing_rate: 0.0,
            initial_cwnd: 0.0,
            idle_restart: false,
            recovery: Conservation::new(),
            params: *params,
        }
    }

    // ---- volumes -----------------------------------------------------------------------------------------------------------------

    fn is_linux(&self) -> bool {
        self.params.form == Form::Linux
    }

    fn bdp(&self, bandwidth: f64, gain: f64) -> f64 {
        if self.min_rtt.is_infinite() {
            return self.initial_cwnd;
        }
        let bdp = gain * bandwidth * self.min_rtt;
        if self.is_linux() {
            (bdp - 1e-6).ceil()
        } else {
            bdp
        }
    }

    /// Segments that leave in one burst, for the allowance of three.
    ///
    /// Linux (`bbr_tso_segs_generic`): what 2^-10 s take and 64 KiB halved for each 512 us of the
    /// smallest round trip, in whole segments of 1448 B.
    fn quantum(&self) -> f64 {
        if !self.is_linux() {
            return send_quantum(self.pacing_rate);
        }
        let halvings = (self.min_rtt * 1e6 / 512.0).floor().min(40.0);
        let by_rtt = (65536.0 * libm::exp2(-halvings)).floor() / 1448.0;
        (self.pacing_rate / 1024.0 + by_rtt)
            .floor()
            .clamp(2.0, 45.0)
    }

    /// Segments that will be in the network as the next one leaves: of `in_flight` those not
    /// delivered by then, with a burst more while more is wanted (Linux, `bbr_packets_in_net_at_edt`).
    fn in_network(&self, in_flight: u32, departs_in: f64) -> f64 {
        let delivered = (self.bw * departs_in).floor();
        let leaving = if self.pacing_gain > 1.0 {
            self.quantum()
        } else {
            0.0
        };
        (f64::from(in_flight) + leaving - delivered).max(0.0)
    }

    /// A volume that leaves room for bursts.
    fn budget(&self, inflight: f64) -> f64 {
        let floor = (3.0 * self.quantum()).max(MIN_PIPE_CWND);
        let probing = if self.mode == Mode::Up { 2.0 } else { 0.0 };
        inflight.max(floor) + probing
    }

    fn inflight(&self, bandwidth: f64, gain: f64) -> f64 {
        self.budget(self.bdp(bandwidth, gain))
    }

    fn inflight_with_headroom(&self) -> f64 {
        if self.inflight_longterm.is_infinite() {
            return f64::INFINITY;
        }
        let headroom = self.whole(self.params.headroom * self.inflight_longterm);
        let headroom = headroom.max(1.0);
        (self.inflight_longterm - headroom).max(MIN_PIPE_CWND)
    }

    fn target_inflight(&self, cwnd: f64) -> f64 {
        if self.is_linux() {
            self.inflight(self.bw, 1.0).min(cwnd)
        } else {
            self.bdp(self.bw, 1.0).min(cwnd)
        }
    }

    /// Linux counts whole segments.
    fn whole(&self, volume: f64) -> f64 {
        if self.is_linux() {
            volume.floor()
        } else {
            volume
        }
    }

    fn probe_rtt_cwnd(&self) -> f64 {
        self.bdp(self.bw, PROBE_RTT_CWND_GAIN).max(MIN_PIPE_CWND)
    }

    // ---- signals -----------------------------------------------------------------------------------------------------------------

    /// The delivery rate sample, if it may count.
    fn sample(&self, delivery: &Delivery) -> (f64, bool) {
        let limited = delivery.app_limited
            || (self.limited.0..=self.limited.1).contains(&delivery.prior_delivered);
        let rate = if delivery.rate.is_nan() {
            0.0
        } else {
            delivery.rate
        };
        (rate, limited)
    }

    fn update_signals(&mut self, delivery: &Delivery, window: &Window) {
        let (rate, limited) = self.sample(delivery);
        let volume = (delivery.delivered - delivery.prior_delivered) as f64;
        self.loss_round_start = false;
        // as in Linux a sample over less than a round trip says nothing of the model either
        if delivery.acked > 0 && !delivery.rate.is_nan() {
            self.bw_latest = self.bw_latest.max(rate);
            self.inflight_latest = self.inflight_latest.max(volume);
            if delivery.prior_delivered >= self.loss_round_end {
                self.loss_round_end = delivery.delivered;
                self.loss_round_start = true;
            }
        }
        self.rounds.update(delivery);
        if self.rounds.start {
            self.rounds_since_probe += 1.0;
        }
        if rate > 0.0 && (rate >= self.max_bw.value || !limited) {
            self.max_bw.update(rate, self.cycles, 2);
        }
        if !self.loss_round_start {
            return;
        }
        // outside of probes a round with a loss lowers the short-term limits
        if self.loss_in_round && !matches!(self.mode, Mode::Startup | Mode::Refill | Mode::Up) {
            let beta = self.params.beta;
            let (bw, inflight) = (
                if self.bw_shortterm.is_finite() {
                    self.bw_shortterm
                } else {
                    self.max_bw.value
                },
                if self.inflight_shortterm.is_finite() {
                    self.inflight_shortterm
                } else {
                    window.cwnd
                },
            );
            self.bw_shortterm = self.bw_latest.max(beta * bw);
            self.inflight_shortterm = self.inflight_latest.max(beta * inflight);
        }
        self.loss_in_round = false;
    }

    /// ACKs may come in bursts: what they bring above the bandwidth is allowed on top, as otherwise
    /// the sender would wait for them.
    fn update_aggregation(&mut self, delivery: &Delivery, cwnd: f64) {
        if self.is_linux() {
            let rounds = if self.full_bw_reached {
                Aggregation::EXTRA_ACKED_ROUNDS
            } else {
                1
            };
            self.aggregation
                .update(delivery, self.rounds.start, rounds, self.bw, cwnd);
            return;
        }
        let elapsed = delivery.now.since(self.aggregation_at).seconds();
        let mut expected = self.bw * elapsed;
        if self.aggregation_acked <= expected {
            self.aggregation_acked = 0.0;
            self.aggregation_at = delivery.now;
            expected = 0.0;
        }
        self.aggregation_acked += f64::from(delivery.acked);
        let extra = (self.aggregation_acked - expected).min(cwnd);
        let window = if self.full_bw_reached {
            EXTRA_ACKED_ROUNDS
        } else {
            1
        };
        self.extra_acked.update(extra, self.rounds.count, window);
    }

    fn reset_full_bw(&mut self, rate: f64) {
        self.full_bw = rate;
        self.full_bw_rounds = 0;
        self.full_bw_now = false;
    }

    fn check_full_bw(&mut self, delivery: &Delivery) {
        let (rate, limited) = self.sample(delivery);
        if self.full_bw_now || limited || !(self.rounds.start || self.is_linux()) {
            return;
        }
        if rate >= 1.25 * self.full_bw {
            self.reset_full_bw(rate);
            return;
        }
        if !self.rounds.start {
            return;
        }
        self.full_bw_rounds += 1;
        self.full_bw_now = self.full_bw_rounds >= 3;
        self.full_bw_reached |= self.full_bw_now;
    }

    fn check_startup_loss(&mut self, delivery: &Delivery) {
        if self.is_linux() {
            self.loss_events += u32::from(delivery.lost > 0);
        }
        // a round that ends in recovery began with its first loss
        if !self.full_bw_reached
            && self.loss_round_start
            && delivery.ca_state == CaState::Recovery
            && self.loss_events >= STARTUP_LOSS_EVENTS
            && self.is_too_much(delivery.lost_since_sent, delivery.sent_in_flight)
        {
            self.full_bw_reached = true;
            let bdp = if self.is_linux() {
                self.inflight(self.max_bw.value, 1.0)
            } else {
                self.undo.mode = Some(Mode::Startup);
                self.full_bw_now = true;
                self.bdp(self.max_bw.value, 1.0)
            };
            self.inflight_longterm = bdp.max(self.inflight_latest);
        }
        if self.loss_round_start {
            self.loss_events = 0;
        }
    }

    fn check_drain(&mut self, delivery: &Delivery) {
        let gain = self.pacing_gain;
        if self.mode == Mode::Startup && self.full_bw_reached {
            self.set_mode(Mode::Drain);
            self.drain_start = self.rounds.count;
            if self.is_linux() {
                self.loss_in_round = false;
                (self.bw_latest, self.inflight_latest) = (0.0, 0.0);
            }
        }
        if self.mode != Mode::Drain {
            return;
        }
        let is_over = if self.is_linux() {
            let drain = std::mem::replace(&mut self.pacing_gain, gain);
            let in_network = self.in_network(delivery.in_flight, delivery.departs_in);
            self.pacing_gain = drain;
            in_network <= self.inflight(self.max_bw.value, 1.0)
        } else {
            f64::from(delivery.in_flight) <= self.inflight(self.bw, 1.0)
                || self.rounds.count > self.drain_start + DRAIN_ROUNDS
        };
        if is_over {
            self.start_down(delivery.now);
        }
    }

    fn is_too_much(&self, lost: u32, in_flight: u32) -> bool {
        f64::from(lost) > self.whole(self.params.loss_threshold * f64::from(in_flight))
    }

    fn reset_short_term(&mut self) {
        self.bw_shortterm = f64::INFINITY;
        self.inflight_shortterm = f64::INFINITY;
    }

    // ---- probing for bandwidth ---------------------------------------------------------------------------------------------------

    fn set_mode(&mut self, mode: Mode) {
        self.mode = mode;
        (self.pacing_gain, self.cwnd_gain) = match mode {
            Mode::Startup => (self.params.startup_gain, CWND_GAIN),
            Mode::Drain if self.is_linux() => (LINUX_DRAIN_GAIN, CWND_GAIN),
            Mode::Drain => (DRAIN_GAIN, CWND_GAIN),
            Mode::Down if self.is_linux() => (LINUX_DOWN_GAIN, CWND_GAIN),
            Mode::Down => (DOWN_GAIN, CWND_GAIN),
            Mode::Cruise | Mode::Refill => (1.0, CWND_GAIN),
            Mode::Up => (1.25, UP_CWND_GAIN),
            Mode::ProbeRtt => (1.0, PROBE_RTT_CWND_GAIN),
        };
    }

    /// Draws the wait of the next cycle, if the last one is in use.
    fn draw_wait(&mut self, random: &mut Stream) {
        if self.next_wait.is_none() {
            self.next_wait = Some(((2.0 * random.uniform()).floor(), 2.0 + random.uniform()));
        }
    }

    fn start_down(&mut self, now: Time) {
        self.loss_in_round = false;
        (self.bw_latest, self.inflight_latest) = (0.0, 0.0);
        self.up_count = f64::INFINITY;
        if let Some(wait) = self.next_wait.take() {
            (self.rounds_since_probe, self.probe_wait) = wait;
        }
        self.cycle_at = now;
        self.phase = Phase::Stopping;
        self.rounds.restart_at(self.delivered);
        self.set_mode(Mode::Down);
    }

    fn start_cruise(&mut self) {
        if self.is_linux() && self.inflight_shortterm.is_finite() {
            self.inflight_shortterm = self.inflight_shortterm.min(self.inflight_longterm);
        }
        self.set_mode(Mode::Cruise);
    }

    fn start_refill(&mut self) {
        self.reset_short_term();
        (self.up_rounds, self.up_acks) = (0, 0.0);
        self.prev_probe_precautionary = false;
        self.phase = Phase::Refilling;
        self.rounds.restart_at(self.delivered);
        self.set_mode(Mode::Refill);
    }

    fn start_up(&mut self, delivery: &Delivery, cwnd: f64) {
        self.phase = Phase::Starting;
        self.rounds.restart_at(self.delivered);
        let (rate, _) = self.sample(delivery);
        self.reset_full_bw(rate);
        self.set_mode(Mode::Up);
        self.raise_slope(cwnd);
    }

    /// The long-term limit grows by 1, 2, 4, ... segments a round.
    fn raise_slope(&mut self, cwnd: f64) {
        let growth = f64::from(1_u32 << self.up_rounds);
        self.up_rounds = (self.up_rounds + 1).min(30);
        self.up_count = self.whole(cwnd / growth).max(1.0);
    }

    /// A probe has lost too much: `inflight` was in the network as losses passed the threshold.
    fn handle_too_much(&mut self, inflight: f64, app_limited: bool, now: Time) {
        self.prev_probe_too_high = true;
        self.probe_samples = false;
        if !app_limited {
            let target = self.target_inflight(self.cwnd);
            let least = self.whole(self.params.beta * target);
            self.inflight_longterm = inflight.max(least);
        }
        if self.mode == Mode::Up {
            if !self.is_linux() {
                self.undo.mode = Some(Mode::Up);
            }
            self.start_down(now);
        }
    }

    /// The long-term limits follow what probes tell. Whether that decided the next part of the
    /// cycle.
    fn adapt_long_term(&mut self, delivery: &Delivery, cwnd: f64) -> bool {
        let (_, limited) = self.sample(delivery);
        if self.rounds.start {
            match self.phase {
                Phase::Starting => self.phase = Phase::Feedback,
                Phase::Stopping => {
                    self.phase = Phase::Idle;
                    self.probe_samples = false;
                    if self.mode.probes_bandwidth() && !limited {
                        self.cycles += 1;
                        self.max_bw.update(0.0, self.cycles, 2);
                    }
                    // acceleration: the cautious probe came back without too much loss
                    if self.mode.probes_bandwidth()
                        && self.prev_probe_precautionary
                        && !self.prev_probe_too_high
                    {
                        self.start_refill();
                        return true;
                    }
                }
                _ => {}
            }
        }
        if delivery.acked > 0 && self.is_too_much(delivery.lost_since_sent, delivery.sent_in_flight)
        {
            // losses lower the limits one by one, as they are found; in Linux this sample does too
            if self.is_linux() && self.probe_samples {
                let inflight = f64::from(delivery.sent_in_flight);
                self.handle_too_much(inflight, limited, delivery.now);
            }
            return false;
        }
        if self.inflight_longterm.is_infinite() {
            return false;
        }
        self.inflight_longterm = self
            .inflight_longterm
            .max(f64::from(delivery.sent_in_flight));
        if self.mode == Mode::Up && delivery.cwnd_limited && cwnd >= self.inflight_longterm {
            self.up_acks += f64::from(delivery.acked);
            if self.up_acks >= self.up_count {
                let more = (self.up_acks / self.up_count).floor();
                self.up_acks -= more * self.up_count;
                self.inflight_longterm += more;
            }
            if self.rounds.start {
                self.raise_slope(cwnd);
            }
        }
        false
    }

    fn is_time_to_probe(&self, delivery: &Delivery, cwnd: f64) -> bool {
        let waited = delivery.now.since(self.cycle_at).seconds();
        let reno_rounds = self.target_inflight(cwnd).min(RENO_ROUNDS);
        waited > self.probe_wait || self.rounds_since_probe >= reno_rounds
    }

    fn update_cycle(&mut self, delivery: &Delivery, cwnd: f64) {
        if !self.full_bw_reached {
            return;
        }
        if self.adapt_long_term(delivery, cwnd) {
            return;
        }
        let in_flight = if self.is_linux() {
            self.in_network(delivery.in_flight_before, delivery.departs_in)
        } else {
            f64::from(delivery.in_flight)
        };
        match self.mode {
            Mode::Down | Mode::Cruise if self.is_time_to_probe(delivery, cwnd) => {
                self.start_refill();
            }
            Mode::Down
                if in_flight <= self.inflight_with_headroom()
                    && in_flight <= self.inflight(self.max_bw.value, 1.0) =>
            {
                self.start_cruise();
            }
            Mode::Refill if self.rounds.start => {
                self.probe_samples = true;
                self.start_up(delivery, cwnd);
            }
            // deceleration: what was too much last time is not held for a round
            Mode::Up if self.prev_probe_too_high && in_flight >= self.inflight_longterm => {
                self.prev_probe_precautionary = true;
                self.prev_probe_too_high = false;
                self.start_down(delivery.now);
            }
            Mode::Up => {
                if delivery.cwnd_limited && cwnd >= self.inflight_longterm {
                    // the limit holds the rate down, not the path
                    let (rate, _) = self.sample(delivery);
                    self.reset_full_bw(rate);
                } else if self.full_bw_now {
                    self.prev_probe_too_high = false;
                    self.start_down(delivery.now);
                }
            }
            _ => {}
        }
    }

    // ---- the smallest round trip -------------------------------------------------------------------------------------------------

    fn update_min_rtt(&mut self, delivery: &Delivery) {
        let age = |at: Time| delivery.now.since(at).seconds();
        self.probe_rtt_expired = age(self.probe_rtt_min_at) > self.params.probe_rtt_interval;
        if delivery.rtt < self.probe_rtt_min || (self.probe_rtt_expired && !delivery.rtt.is_nan()) {
            self.probe_rtt_min = delivery.rtt;
            self.probe_rtt_min_at = delivery.now;
        }
        if self.probe_rtt_min < self.min_rtt || age(self.min_rtt_at) > MIN_RTT_WINDOW {
            self.min_rtt = self.probe_rtt_min;
            self.min_rtt_at = self.probe_rtt_min_at;
        }
    }

    fn check_probe_rtt(&mut self, delivery: &Delivery, window: &mut Window) {
        if self.mode != Mode::ProbeRtt && self.probe_rtt_expired && !self.idle_restart {
            self.set_mode(Mode::ProbeRtt);
            // the draft's order: in ProbeRTT already, so that a larger window of before stays
            self.recovery.save(window.cwnd, true);
            self.probe_rtt_end = Time::NEVER;
            self.phase = Phase::Stopping;
            self.rounds.restart_at(self.delivered);
            self.limited.0 = delivery.delivered;
        }
        if self.mode == Mode::ProbeRtt {
            self.limited.1 = delivery.delivered + u64::from(delivery.in_flight);
            if self.probe_rtt_end == Time::NEVER {
                if f64::from(delivery.in_flight) <= self.probe_rtt_cwnd() {
                    let duration = Time::from_seconds(self.params.probe_rtt_duration);
                    self.probe_rtt_end = delivery.now + duration;
                    self.probe_rtt_round_done = false;
                    self.rounds.restart_at(self.delivered);
                }
            } else {
                self.probe_rtt_round_done |= self.rounds.start;
                if self.probe_rtt_round_done {
                    self.check_probe_rtt_done(delivery.now, window);
                }
            }
        }
        if delivery.acked > 0 {
            self.idle_restart = false;
        }
    }

    fn check_probe_rtt_done(&mut self, now: Time, window: &mut Window) {
        // NEVER until the volume is down
        if now <= self.probe_rtt_end {
            return;
        }
        self.probe_rtt_min_at = now;
        self.recovery.restore(window);
        self.reset_short_term();
        if self.full_bw_reached {
            self.start_down(now);
            self.start_cruise();
        } else {
            self.set_mode(Mode::Startup);
        }
    }

    // ---- rate and window ---------------------------------------------------------------------------------------------------------

    fn set_pacing_rate(&mut self, gain: f64) {
        let rate = gain * self.bw * PACING_MARGIN;
        if rate > 0.0 && (self.full_bw_reached || rate > self.pacing_rate) {
            self.pacing_rate = rate;
        }
    }

    fn set_cwnd(&mut self, delivery: &Delivery, window: &mut Window) {
        let linux = self.is_linux();
        let extra = if linux {
            self.aggregation.extra(self.bw)
        } else {
            self.extra_acked.value
        };
        let most = self.budget(self.bdp(self.bw, self.cwnd_gain) + extra);
        let restores = !(linux && self.recovery.is_fast());
        self.recovery.track(delivery.ca_state, window, restores);
        self.undo.saved &= !self.recovery.is_open();
        let acked = f64::from(delivery.acked);
        let is_small = if linux {
            window.cwnd < 2.0 * self.initial_cwnd
        } else {
            (delivery.delivered as f64) < self.initial_cwnd
        };
        if linux && delivery.acked == 0 {
            // only the limits below count
        } else if self.full_bw_reached {
            window.cwnd = (window.cwnd + acked).min(most);
        } else if window.cwnd < most || is_small {
            window.cwnd += acked;
        }
        window.cwnd = window.cwnd.max(MIN_PIPE_CWND);
        if self.mode == Mode::ProbeRtt {
            window.cwnd = window.cwnd.min(self.probe_rtt_cwnd());
        }
        let limit = match self.mode {
            Mode::Down | Mode::Refill | Mode::Up => self.inflight_longterm,
            Mode::Cruise | Mode::ProbeRtt => self.inflight_with_headroom(),
            Mode::Startup | Mode::Drain => f64::INFINITY,
        };
        window.cwnd = window
            .cwnd
            .min(limit.min(self.inflight_shortterm).max(MIN_PIPE_CWND));
    }
}

impl Model {
    /// Keeps what losses may change, as they begin.
    ///
    /// Deviation from draft-ietf-ccwg-bbr, sections 5.5.10 and 5.6.4.4: once in a loss episode, at
    /// its first loss. The draft's `NoteLoss` keeps the state anew in each round of the episode,
    /// and its
    /// `OnEnterFastRecovery` after the losses have been answered, which would leave nothing to undo.
    fn save_undo(&mut self) {
        if self.undo.saved {
            return;
        }
        self.undo = Undo {
            saved: true,
            mode: None,
            bw_shortterm: self.bw_shortterm,
            inflight_shortterm: self.inflight_shortterm,
            inflight_longterm: self.inflight_longterm,
        };
    }
}

impl CongestionControl for Bbr3 {
    /// Everything happens in [`CongestionControl::on_delivery`].
    fn on_ack(&mut self, _ack: &Ack, _window: &mut Window, _random: &mut Stream) {}

    fn on_congestion(&mut self, reduction: &Reduction, window: &mut Window) {
        if reduction.signal != Signal::Ecn {
            let model = &mut *self.0;
            model
                .recovery
                .save(window.cwnd, model.mode == Mode::ProbeRtt);
            model.save_undo();
        }
    }

    fn on_open(&mut self, now: Time, srtt: f64, window: &mut Window) {
        let model = &mut *self.0;
        model.initial_cwnd = window.cwnd;
        model.cwnd = window.cwnd;
        (model.probe_rtt_min_at, model.min_rtt_at) = (now, now);
        model.aggregation_at = now;
        if srtt > 0.0 {
            model.min_rtt = srtt;
            model.pacing_rate = model.params.startup_gain * window.cwnd / srtt;
        }
    }

    /// The draft's `HandleSpuriousLossDetection`.
    fn on_spurious_recovery(&mut self, _now: Time, window: &mut Window) {
        let model = &mut *self.0;
        let undo = model.undo;
        model.recovery.restore(window);
        model.loss_in_round = false;
        model.reset_full_bw(0.0);
        model.bw_shortterm = model.bw_shortterm.max(undo.bw_shortterm);
        model.inflight_shortterm = model.inflight_shortterm.max(undo.inflight_shortterm);
        model.inflight_longterm = model.inflight_longterm.max(undo.inflight_longterm);
        match undo.mode {
            Some(Mode::Startup) if model.mode != Mode::Startup => {
                model.full_bw_reached = false;
                if model.mode != Mode::ProbeRtt {
                    model.set_mode(Mode::Startup);
                }
            }
            Some(Mode::Up) if !matches!(model.mode, Mode::Up | Mode::ProbeRtt) => {
                model.start_refill();
            }
            _ => {}
        }
        model.undo.mode = None;
    }

    fn on_restart(&mut self, now: Time, window: &mut Window) {
        let model = &mut *self.0;
        model.idle_restart = true;
        model.aggregation_at = now;
        model.aggregation_acked = 0.0;
        if model.mode.probes_bandwidth() {
            model.set_pacing_rate(1.0);
        } else if model.mode == Mode::ProbeRtt {
            model.check_probe_rtt_done(now, window);
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
        self.0.quantum().min(self.0.params.burst) as u32
    }

    /// A segment lost in a probe: the volume at which the losses passed the threshold lies between
    /// what was in the network before it and with it.
    fn on_lost(&mut self, lost: &Lost) {
        let model = &mut *self.0;
        model.save_undo();
        if !model.loss_in_round {
            model.loss_round_end = lost.delivered;
            model.loss_in_round = true;
        }
        if !model.is_linux() {
            model.loss_events += u32::from(lost.seq != model.last_lost.wrapping_add(1));
            model.last_lost = lost.seq;
        }
        if !model.probe_samples || !model.is_too_much(lost.lost_since_sent, lost.sent_in_flight) {
            return;
        }
        let threshold = model.params.loss_threshold;
        let before = f64::from(lost.sent_in_flight) - 1.0;
        let lost_before = f64::from(lost.lost_since_sent) - 1.0;
        // not below zero: what was lost before it has passed the threshold already
        let budget = if model.is_linux() {
            (threshold * before).ceil()
        } else {
            threshold * before
        };
        let prefix = ((budget - lost_before) / (1.0 - threshold)).max(0.0);
        let prefix = model.whole(prefix);
        model.delivered = lost.delivered;
        model.handle_too_much(before + prefix, lost.app_limited, lost.now);
    }

    fn on_delivery(&mut self, delivery: &Delivery, window: &mut Window, random: &mut Stream) {
        let model = &mut *self.0;
        if model.pacing_rate == 0.0 && delivery.srtt > 0.0 {
            // the first round trip
            model.pacing_rate = model.params.startup_gain * model.initial_cwnd / delivery.srtt;
        }
        model.draw_wait(random);
        model.delivered = delivery.delivered;
        model.update_signals(delivery, window);
        model.update_aggregation(delivery, window.cwnd);
        if model.is_linux() {
            model.check_startup_loss(delivery);
            model.check_full_bw(delivery);
        } else {
            model.check_full_bw(delivery);
            model.check_startup_loss(delivery);
        }
        model.check_drain(delivery);
        model.update_cycle(delivery, window.cwnd);
        model.update_min_rtt(delivery);
        model.check_probe_rtt(delivery, window);
        if model.loss_round_start {
            // the next round's signals begin with this sample
            let (rate, _) = model.sample(delivery);
            model.bw_latest = rate;
            model.inflight_latest = (delivery.delivered - delivery.prior_delivered) as f64;
        }
        model.bw = model.max_bw.value.min(model.bw_shortterm);
        model.set_pacing_rate(model.pacing_gain);
        model.set_cwnd(delivery, window);
        model.cwnd = window.cwnd;
        model.draw_wait(random);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Parameters as _;
    use crate::congestion::bbr::tests::Pipe;
    use crate::congestion::test::random;

    struct Bench {
        bbr: Bbr3,
        window: Window,
        pipe: Pipe,
        random: Stream,
    }

    impl Bench {
        fn new() -> Self {
            let params = Bbr3Params::from_values(&[]).expect("the defaults are allowed");
            let mut bbr = params.build(0);
            let mut window = Window {
                cwnd: 10.0,
                ssthresh: f64::INFINITY,
            };
            bbr.on_open(Time::ZERO, 0.1, &mut window);
            Self {
                bbr,
                window,
                pipe: Pipe {
                    rate: 1000.0,
                    rtt: 0.1,
                    delivered: 0,
                    now: 0.0,
                },
                random: random(),
            }
        }

        /// A round of the path; `change` alters what it tells.
        fn round(&mut self, change: impl FnOnce(&mut Delivery)) {
            let rate = self.bbr.pacing_rate().unwrap_or(f64::INFINITY);
            // what the pace leaves in the network
            let inflight = self.window.cwnd.min((rate * self.pipe.rtt).max(4.0));
            let mut delivery = self.pipe.round(inflight, rate);
            change(&mut delivery);
            self.bbr
                .on_delivery(&delivery, &mut self.window, &mut self.random);
        }

        /// Segment `seq` is found lost, sent as the last of `in_flight`, the last of `lost` since.
        fn lose(&mut self, seq: u64, in_flight: u32, lost: u32) {
            self.bbr.on_lost(&Lost {
                now: Time::from_seconds(self.pipe.now),
                seq,
                sent_in_flight: in_flight,
                lost_since_sent: lost,
                delivered: self.pipe.delivered,
                prior_delivered: self.pipe.delivered - 100,
                app_limited: false,
            });
        }

        /// Rounds until it first comes into `mode`.
        fn until(&mut self, mode: Mode) {
            for _ in 0..200 {
                if self.bbr.0.mode == mode {
                    return;
                }
                self.round(|_| {});
            }
            panic!("never in {mode:?}");
        }
    }

    #[test]
    fn startup_drain_and_the_parts_of_a_cycle_come_in_order() {
        let mut bench = Bench::new();
        assert_eq!(bench.bbr.0.pacing_gain, 2.77);
        let mut modes = vec![bench.bbr.0.mode];
        for _ in 0..100 {
            bench.round(|_| {});
            if *modes.last().expect("not empty") != bench.bbr.0.mode {
                modes.push(bench.bbr.0.mode);
            }
        }
        let first = modes
            .iter()
            .position(|&mode| mode == Mode::Refill)
            .expect("it probes");
        assert_eq!(modes[first + 1], Mode::Up);
        assert_eq!(modes[first + 2], Mode::Down);
        assert!(modes[..first].contains(&Mode::Cruise), "{modes:?}");
        assert!((bench.bbr.0.bw - 1000.0).abs() < 1.0, "{}", bench.bbr.0.bw);
    }

    /// Losses above 2 % in a probe set the long-term limit to the volume at which they passed 2 %,
    /// and end the probe.
    #[test]
    fn losses_in_a_probe_limit_what_is_in_the_network() {
        let mut bench = Bench::new();
        bench.until(Mode::Up);
        assert!(bench.bbr.0.inflight_longterm.is_infinite());
        bench.lose(7, 120, 3);
        bench.round(|delivery| {
            delivery.lost = 3;
            delivery.lost_since_sent = 3;
        });
        // 119 in the network with 2 lost: 2 % of it is 2.38; 0.38 / 0.98 more reach 2 % exactly
        let expected = 119.0 + (0.02 * 119.0 - 2.0) / 0.98;
        assert!((bench.bbr.0.inflight_longterm - expected).abs() < 1e-9);
        assert_eq!(bench.bbr.0.mode, Mode::Down);
        bench.until(Mode::Cruise);
        assert!(
            (bench.window.cwnd - 0.85 * expected).abs() < 1e-9,
            "room for others"
        );
    }

    /// Draft, "Exiting DRAIN Based on Time": the bandwidth was overestimated, so the queue does not
    /// go.
    #[test]
    fn drain_ends_after_three_rounds() {
        let mut bench = Bench::new();
        bench.until(Mode::Drain);
        assert_eq!(bench.bbr.0.pacing_gain, 0.5);
        let mut rounds = 0;
        while bench.bbr.0.mode == Mode::Drain {
            rounds += 1;
            assert!(rounds < 10);
            bench.round(|delivery| delivery.in_flight = 1000);
        }
        assert_eq!((rounds, bench.bbr.0.mode), (4, Mode::Down));
    }

    /// After a probe that lost too much the next one turns back at the long-term limit; when
    /// nothing is lost there, a full probe follows at once.
    #[test]
    fn a_probe_after_losses_is_cautious() {
        let mut bench = Bench::new();
        bench.until(Mode::Up);
        bench.lose(7, 120, 12);
        bench.round(|delivery| delivery.lost = 12);
        assert_eq!(bench.bbr.0.mode, Mode::Down);
        assert!(bench.bbr.0.prev_probe_too_high);
        bench.until(Mode::Up);
        let limit = bench.bbr.0.inflight_longterm;
        bench.round(|delivery| delivery.in_flight = limit.ceil() as u32 + 10);
        assert_eq!(bench.bbr.0.mode, Mode::Down, "deceleration");
        let mut modes = vec![];
        for _ in 0..3 {
            bench.round(|_| {});
            modes.push(bench.bbr.0.mode);
        }
        assert!(
            modes.contains(&Mode::Refill) && !modes.contains(&Mode::Cruise),
            "acceleration: {modes:?}"
        );
    }

    /// Draft, "Exiting STARTUP on Loss When Application-Limited".
    #[test]
    fn losses_end_startup_though_the_application_is_the_limit() {
        let mut bench = Bench::new();
        for _ in 0..4 {
            bench.round(|delivery| delivery.app_limited = true);
        }
        for _ in 0..3 {
            // seven reports of losses in a round, 7 % of it
            for report in 0..7 {
                bench.lose(10 * u64::from(report), 100, report + 1);
                bench.round(|delivery| {
                    delivery.app_limited = true;
                    delivery.ca_state = CaState::Recovery;
                    (delivery.lost, delivery.lost_since_sent) = (1, report + 1);
                    delivery.sent_in_flight = 100;
                    if report < 6 {
                        delivery.prior_delivered = 0;
                    }
                });
            }
        }
        assert!(bench.bbr.0.full_bw_reached);
        assert_ne!(bench.bbr.0.mode, Mode::Startup);
    }

    /// Draft, "Never Exiting PROBE_UP (or STARTUP) When Application-Limited With No Loss".
    #[test]
    fn startup_lasts_while_the_application_is_the_limit() {
        let mut bench = Bench::new();
        for _ in 0..40 {
            bench.round(|delivery| delivery.app_limited = true);
        }
        assert_eq!(bench.bbr.0.mode, Mode::Startup);
    }

    /// Outside of probes a round with a loss takes 30 % of the short-term limits, and a probe
    /// forgets them.
    #[test]
    fn short_term_limits() {
        let mut bench = Bench::new();
        bench.until(Mode::Cruise);
        let cwnd = bench.window.cwnd;
        bench.lose(7, 100, 1);
        bench.round(|delivery| delivery.rate = 500.0);
        bench.round(|delivery| delivery.rate = 500.0);
        let model = &bench.bbr.0;
        assert!(
            (model.bw_shortterm - 700.0).abs() < 1.0,
            "{}",
            model.bw_shortterm
        );
        assert!(model.inflight_shortterm >= 0.7 * cwnd - 1.0 && model.inflight_shortterm < cwnd);
        assert_eq!(model.bw, model.bw_shortterm);
        bench.until(Mode::Refill);
        assert!(bench.bbr.0.bw_shortterm.is_infinite());
    }

    /// Draft, "Handling a Spurious Loss Recovery": limits come back, and the probe that the losses
    /// ended begins anew.
    #[test]
    fn a_spurious_recovery_is_undone() {
        let mut bench = Bench::new();
        bench.until(Mode::Up);
        let before = bench.bbr.state();
        bench.lose(7, 120, 3);
        let reduction = Reduction {
            now: Time::from_seconds(bench.pipe.now),
            signal: Signal::Loss,
            window_used: bench.window.cwnd,
            min_rtt: 0.1,
            srtt: 0.1,
        };
        bench.bbr.on_congestion(&reduction, &mut bench.window);
        for _ in 0..2 {
            // the second round loses more: what counts is the state before the first
            bench.lose(20, 120, 3);
            bench.round(|delivery| {
                (delivery.ca_state, delivery.rate) = (CaState::Recovery, 400.0);
            });
        }
        let lowered = bench.bbr.state();
        assert_ne!(lowered.mode, Mode::Up);
        assert!(lowered.inflight_longterm.is_finite() && lowered.bw_shortterm < 1000.0);
        let now = Time::from_seconds(bench.pipe.now);
        bench.bbr.on_spurious_recovery(now, &mut bench.window);
        let after = bench.bbr.state();
        assert_eq!(after.mode, Mode::Refill);
        assert_eq!(after.inflight_longterm, before.inflight_longterm);
        assert!(after.bw_shortterm.is_infinite() && after.inflight_shortterm.is_infinite());
        bench.round(|_| {});
        assert_eq!(bench.bbr.0.mode, Mode::Up);
    }

    fn linux() -> Bench {
        let mut bench = Bench::new();
        let model = &mut bench.bbr.0;
        model.params.form = Form::Linux;
        model.params.loss_threshold = 5.0 / 256.0;
        model.params.beta = 180.0 / 256.0;
        model.params.headroom = 38.0 / 256.0;
        bench
    }

    /// Google's Linux tree: gains in 256ths, and no end of Drain by time.
    #[test]
    fn linux_drains_until_the_queue_is_gone() {
        let mut bench = linux();
        bench.until(Mode::Drain);
        assert_eq!(bench.bbr.0.pacing_gain, 88.0 / 256.0);
        for _ in 0..10 {
            bench.round(|delivery| delivery.in_flight = 1000);
        }
        assert_eq!(bench.bbr.0.mode, Mode::Drain);
        bench.until(Mode::Down);
        assert_eq!(bench.bbr.0.pacing_gain, 232.0 / 256.0);
    }

    /// The excess that ACKs bring adds no more than 100 ms of the bandwidth to the window in Linux;
    /// in the draft the whole of it.
    #[test]
    fn linux_bounds_the_allowance_for_aggregation() {
        let extra = |mut bench: Bench| {
            bench.until(Mode::Cruise);
            let model = &mut bench.bbr.0;
            (model.min_rtt, model.min_rtt_at) = (1.0, Time::from_seconds(bench.pipe.now));
            model.probe_rtt_min_at = model.min_rtt_at;
            bench.window.cwnd = 2000.0;
            for _ in 0..12 {
                // 900 segments at once, of which 100 had been expected in the 0.1 s since the last
                bench.round(|delivery| {
                    (delivery.acked, delivery.rate, delivery.rtt) = (900, 1000.0, 1.0);
                });
            }
            let model = &bench.bbr.0;
            let bdp = 2.0 * model.bw * model.min_rtt;
            model.budget(bdp).min(bench.window.cwnd) + bench.window.cwnd - model.budget(bdp)
        };
        let (draft, limited) = (extra(Bench::new()), extra(linux()));
        assert!(limited <= 2000.0 + 100.0 + 1.0, "{limited}");
        assert!(draft > 2500.0, "{draft}");
    }

    /// The losses behind an ACK's own sample end a probe in Linux.
    #[test]
    fn linux_takes_losses_from_the_sample_too() {
        for (mut bench, mode) in [(Bench::new(), Mode::Up), (linux(), Mode::Down)] {
            bench.until(Mode::Up);
            bench.round(|delivery| {
                (
                    delivery.lost,
                    delivery.lost_since_sent,
                    delivery.sent_in_flight,
                ) = (3, 3, 120);
            });
            assert_eq!(bench.bbr.0.mode, mode);
            assert_eq!(
                bench.bbr.0.inflight_longterm.is_finite(),
                mode == Mode::Down
            );
        }
    }

    /// A fast recovery leaves the window where the model has it; one after a timeout brings back
    /// that of before.
    #[test]
    fn linux_restores_the_window_after_timeouts_only() {
        for (state, restored) in [(CaState::Recovery, false), (CaState::Loss, true)] {
            let mut bench = linux();
            bench.until(Mode::Cruise);
            bench.bbr.0.recovery.save(150.0, false);
            bench.round(|delivery| delivery.ca_state = state);
            bench.window.cwnd = 20.0;
            bench.round(|delivery| delivery.acked = 1);
            assert_eq!(bench.window.cwnd > 100.0, restored, "{state:?}");
        }
    }

    /// Losses that end Startup and turn out spurious let it go on.
    #[test]
    fn startup_goes_on_after_a_spurious_recovery() {
        let mut bench = Bench::new();
        bench.round(|_| {});
        for report in 0..7 {
            bench.lose(10 * u64::from(report), 20, report + 1);
        }
        for _ in 0..2 {
            bench.round(|delivery| {
                delivery.ca_state = CaState::Recovery;
                (delivery.lost_since_sent, delivery.sent_in_flight) = (7, 20);
            });
        }
        assert!(bench.bbr.0.full_bw_reached && bench.bbr.0.mode != Mode::Startup);
        let now = Time::from_seconds(bench.pipe.now);
        bench.bbr.on_spurious_recovery(now, &mut bench.window);
        let state = bench.bbr.state();
        assert_eq!((state.mode, state.full_bw_reached), (Mode::Startup, false));
        assert!(state.inflight_longterm.is_infinite());
    }

    /// Draft, "Restarting From Idle": ProbeRTT whose time is over ends before the first segment
    /// leaves.
    #[test]
    fn idle_time_ends_probe_rtt() {
        let mut bench = Bench::new();
        bench.until(Mode::ProbeRtt);
        while bench.bbr.0.probe_rtt_end == Time::NEVER {
            bench.round(|_| {});
        }
        let small = bench.window.cwnd;
        let later = Time::from_seconds(bench.pipe.now + 3.0);
        bench.bbr.on_restart(later, &mut bench.window);
        assert_eq!(bench.bbr.0.mode, Mode::Cruise);
        assert!(bench.window.cwnd > 1.5 * small, "{}", bench.window.cwnd);
    }

    #[test]
    fn the_smallest_round_trip_is_looked_for_every_five_seconds() {
        let mut bench = Bench::new();
        let mut times = vec![];
        while bench.pipe.now < 22.0 {
            let before = bench.bbr.0.mode;
            let crowded = bench.window.cwnd > 60.0 && bench.pipe.now > 1.0;
            bench.round(|delivery| {
                if crowded {
                    delivery.rtt += 0.01;
                }
            });
            if bench.bbr.0.mode == Mode::ProbeRtt && before != Mode::ProbeRtt {
                times.push(bench.pipe.now);
                assert!(bench.window.cwnd <= 51.0, "{}", bench.window.cwnd);
            }
        }
        assert!(times.len() >= 3, "{times:?}");
        for pair in times.windows(2) {
            assert!((5.0..6.5).contains(&(pair[1] - pair[0])), "{times:?}");
        }
    }
}
