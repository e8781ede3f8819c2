//! A TCP sender: what it may send, what it makes of acknowledgements, and its timer.
//!
//! Sans I/O: the engine hands in acknowledgements and time, and asks for segments. Sequence numbers count segments; times are
//! picoseconds on the sender's own clock.

use ackclock_algorithms::congestion::{
    Ack as AckEvent, CongestionControl as _, Delivery, Reduction, Repair, Signal, Window,
};
use ackclock_algorithms::registry::Controller;
use ackclock_algorithms::{Stream, Time};
use ackclock_scenario::{Pacing, Recovery, WindowReduction};

use crate::hystart::{self, HyStart};
use crate::journal::Journal;
use crate::packet::{Ack, Flags, NONE};
use crate::rack::{Purpose, Rack};
use crate::scoreboard::Scoreboard;
use crate::variation::Variation;
use crate::wheel;

/// Options that the flows of a class share.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    /// What the other options leave open is done as in Linux 6.1.
    pub(crate) linux: bool,
    pub(crate) recovery: Recovery,
    pub(crate) reduction: WindowReduction,
    pub(crate) detect_lost: bool,
    pub(crate) initial_window: f64,
    pub(crate) max_window: u64,
    pub(crate) ecn: bool,
    /// The receiver echoes each mark as it came.
    pub(crate) accurate_ecn: bool,
    /// Retransmissions and the SYN are ECN-capable too.
    pub(crate) ecn_always: bool,
    pub(crate) limited_transmit: bool,
    pub(crate) pacing: Pacing,
    pub(crate) hystart: bool,
    /// Losses are found by time (RACK-TLP).
    pub(crate) rack: bool,
    pub(crate) dup_threshold: u32,
    pub(crate) min_rto: u64,
    pub(crate) max_rto: u64,
    pub(crate) initial_rto: u64,
}

impl Config {
    /// The ECN fields of a segment. Retransmissions are not ECN-capable (RFC 3168, section 6.1.5), but in kernels where each mark is echoed as it came.
    #[inline]
    pub(crate) fn ecn_flags(&self, segment: &Segment) -> Flags {
        let capable = self.ecn && (!segment.retransmission || self.ecn_always);
        let ect = if capable { Flags::ECT } else { 0 };
        Flags(ect | if segment.cwr { Flags::CWR } else { 0 })
    }
}

/// What the sender is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Not yet connected, or connecting.
    Closed,
    /// Nothing lost that it knows of.
    Open,
    /// Repairing losses found by duplicate or selective ACKs.
    Recovery,
    /// Repairing after a retransmission timeout.
    Loss,
}

/// A segment to put on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) seq: u64,
    pub(crate) retransmission: bool,
    /// Carries CWR (RFC 3168, section 6.1.2).
    pub(crate) cwr: bool,
}

/// What Linux adds to the delays of a probe and of the reordering window: `TCP_TIMEOUT_MIN`.
const LEAST_TIMEOUT: u64 = 2 * wheel::TICK;

/// RACK's state, where there is one.
fn rack_of(journal: &mut Option<Box<Journal>>) -> Option<&mut Rack> {
    journal.as_mut()?.rack.as_mut()
}

/// The whole segments of a window: `as u64`, in fewer instructions.
#[inline]
fn whole(window: f64) -> u64 {
    (window as i64).max(0) as u64
}

/// What one ACK says.
#[derive(Clone, Copy)]
struct News {
    now: u64,
    /// Segments acknowledged cumulatively, and selectively for the first time.
    acked: u64,
    sacked: u32,
    /// Those of `acked` that had been acknowledged selectively before.
    known: u32,
    /// Segments outstanding before it.
    before: u64,
    cwnd_limited: bool,
    /// RTT sample, ps; 0: none.
    rtt: u64,
    ece: bool,
    /// The retransmission timer before it.
    deadline: u64,
}

/// Counts of one sender.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counters {
    pub(crate) timeouts: u64,
    pub(crate) fast_recoveries: u64,
    pub(crate) ecn_reductions: u64,
    /// Sum (ps) and number of RTT samples.
    pub(crate) rtt_sum: u128,
    pub(crate) rtt_samples: u64,
}

/// The sending half of a TCP connection.
pub(crate) struct Sender {
    /// First segment not yet acknowledged.
    pub(crate) una: u64,
    /// Next segment to send in sequence; below `high` while going back over sent data.
    pub(crate) next: u64,
    /// First segment never sent.
    pub(crate) high: u64,
    /// The application has written segments below this.
    pub(crate) written: u64,
    pub(crate) window: Window,
    pub(crate) state: State,
    dup_acks: u32,
    /// Recovery ends when everything below this is acknowledged.
    recover: u64,
    /// cwnd when the recovery began: what the window was when the data outstanding was sent.
    prior_cwnd: f64,
    /// Retransmissions of this recovery went up to here (exclusive).
    high_resent: u64,
    /// The next segment out is this one, whatever the window says (fast retransmit).
    forced: u64,
    rescued: bool,
    /// Rate halving: the window that falls by one for every two ACKs.
    halving: u64,
    /// Proportional rate reduction: segments delivered and sent since the recovery began, and outstanding when it did.
    prr_delivered: u64,
    prr_out: u64,
    prr_flight: u64,
    first_partial_ack: bool,
    scoreboard: Scoreboard,
    /// Smoothed RTT and its variation, ps (RFC 6298); zero before the first sample.
    srtt: u64,
    rttvar: u64,
    /// In place of `rttvar` in style "linux".
    variation: Option<Box<Variation>>,
    min_rtt: u64,
    rto: u64,
    backoff: u32,
    /// When the retransmission timer expires; `u64::MAX` while it is off.
    pub(crate) deadline: u64,
    /// ACKs of segments from here on begin a new round trip.
    round_end: u64,
    /// ECN reacts again once segments from here on are acknowledged.
    cwr_end: u64,
    send_cwr: bool,
    /// The window comes down for a mark (style "linux").
    in_cwr: bool,
    /// What the congestion control knows of the state (style "linux").
    told_open: bool,
    /// Whether segments are paced, and when the next one may leave.
    paced: bool,
    pub(crate) next_send: u64,
    last_sent: u64,
    /// Of each segment in the network, for congestion controls that want delivery-rate samples, and for RACK.
    journal: Option<Box<Journal>>,
    /// Whether the congestion control wants delivery-rate samples, and owns the window.
    delivery: bool,
    /// Selective acknowledgements as RFC 6675 has them, without a journal: what the short paths are for.
    lean: bool,
    /// Certainly nothing is to be repaired, announced or answered but new data: what [`Sender::is_plain`] asks of the state. Found anew after each
    /// other ACK, and withdrawn by timeouts.
    calm: bool,
    /// The next segment out is a new one, whatever the window says (a probe).
    probe: bool,
    /// Until the initial slow start is over.
    hystart: Option<Box<HyStart>>,
    pub(crate) counters: Counters,
    pub(crate) controller: Controller,
}

impl Sender {
    pub(crate) fn new(controller: Controller, config: &Config, ssthresh: f64) -> Self {
        let needs = controller.needs();
        let selective = config.recovery == Recovery::Sack;
        let rack = selective && config.rack;
        Self {
            una: 0,
            next: 0,
            high: 0,
            written: 0,
            window: Window {
                cwnd: config.initial_window,
                ssthresh,
            },
            state: State::Closed,
            dup_acks: 0,
            recover: 0,
            prior_cwnd: 0.0,
            high_resent: 0,
            forced: NONE,
            rescued: false,
            halving: 0,
            prr_delivered: 0,
            prr_out: 0,
            prr_flight: 0,
            first_partial_ack: false,
            scoreboard: if rack {
                Scoreboard::by_time()
            } else {
                Scoreboard::default()
            },
            srtt: 0,
            rttvar: 0,
            variation: config.linux.then(Box::default),
            min_rtt: u64::MAX,
            rto: config.initial_rto,
            backoff: 0,
            deadline: u64::MAX,
            round_end: 0,
            cwr_end: 0,
            send_cwr: false,
            in_cwr: false,
            told_open: true,
            paced: needs.pacing || config.pacing == Pacing::Window,
            next_send: 0,
            last_sent: 0,
            journal: (rack || (needs.delivery && selective)).then(|| Box::new(Journal::new(rack))),
            delivery: needs.delivery && selective,
            lean: selective && !config.linux && !(rack || needs.delivery),
            calm: false,
            probe: false,
            hystart: config.hystart.then(|| Box::new(HyStart::new(ssthresh))),
            counters: Counters::default(),
            controller,
        }
    }

    /// Smoothed RTT, s; NaN before the first sample.
    pub(crate) fn srtt_seconds(&self) -> f64 {
        if self.srtt == 0 {
            f64::NAN
        } else {
            Time(self.srtt).seconds()
        }
    }

    /// Finds out whether the sender is calm.
    #[inline]
    fn settle(&mut self) {
        self.calm = self.lean
            && self.state == State::Open
            && self.scoreboard.is_clear()
            && self.forced == NONE
            && self.next == self.high
            && !self.send_cwr;
    }

    /// No timer that an ACK starts is shorter than this; zero where an ACK starts others than that of retransmissions.
    pub(crate) fn patience(&self, config: &Config) -> u64 {
        if !self.lean || self.paced {
            return 0;
        }
        config.min_rto.min(config.initial_rto).min(config.max_rto)
    }

    /// Segments outstanding.
    pub(crate) fn outstanding(&self) -> u64 {
        self.next - self.una
    }

    /// Whether all that the application will ever write (`total` segments) is acknowledged.
    #[inline]
    pub(crate) fn is_done(&self, total: u64) -> bool {
        self.una >= total
    }

    /// The connection stands; `rtt` is the handshake's sample, 0 without a usable one.
    pub(crate) fn open(&mut self, rtt: u64, syn_retransmitted: bool, config: &Config) {
        self.state = State::Open;
        self.backoff = 0;
        self.deadline = u64::MAX;
        self.settle();
        if rtt > 0 {
            self.sample(rtt, 1, config);
        } else if syn_retransmitted {
            self.rto = config
                .initial_rto
                .max(3 * Time::PER_SECOND)
                .min(config.max_rto); // RFC 6298, rule 5.7
        }
    }

    /// RFC 6298, section 2, with alpha = 1/8, beta = 1/4 and no clock granularity. With a sample from every ACK both gains are divided by the
    /// samples expected in a round trip, one for two segments in flight, as RFC 7323, appendix G, wants (here rounded up to a power of
    /// two): else the variation forgets within a round trip, and a queue that grows makes timers expire.
    #[inline]
    fn sample(&mut self, rtt: u64, in_flight: u64, config: &Config) {
        self.sample_as(rtt, in_flight, config.linux, config);
    }

    /// The same in style "linux", or not.
    #[inline(always)]
    fn sample_as(&mut self, rtt: u64, in_flight: u64, linux: bool, config: &Config) {
        let rtt = rtt.max(1);
        if linux && let Some(variation) = &mut self.variation {
            self.srtt = variation.sample(rtt, self.srtt, self.una, self.next, config.min_rto);
            let ticks = (self.srtt + variation.margin()).div_ceil(wheel::TICK);
            self.rto = (ticks * wheel::TICK).min(config.max_rto);
        } else if self.srtt == 0 {
            self.srtt = rtt;
            self.rttvar = rtt / 2;
        } else {
            let samples = (in_flight / 2).max(1).next_power_of_two().trailing_zeros();
            let error = self.srtt.abs_diff(rtt);
            let beta = 2 + samples; // and alpha one more
            self.rttvar = self.rttvar - (self.rttvar >> beta) + (error >> beta);
            self.srtt = self.srtt - (self.srtt >> beta >> 1) + (rtt >> beta >> 1);
        }
        if !linux || self.journal.is_none() || self.min_rtt == u64::MAX {
            self.min_rtt = self.min_rtt.min(rtt);
        }
        if !linux {
            let rto = self.srtt + 4 * self.rttvar;
            self.rto = rto.max(config.min_rto).min(config.max_rto);
        }
        self.backoff = 0;
        self.counters.rtt_sum += u128::from(rtt);
        self.counters.rtt_samples += 1;
    }

    /// Present retransmission timeout with its back-off (RFC 6298, rule 5.5).
    #[inline]
    pub(crate) fn timeout(&self, config: &Config) -> u64 {
        if self.backoff == 0 {
            return self.rto;
        }
        self.rto
            .saturating_mul(1 << self.backoff.min(16))
            .min(config.max_rto)
    }

    /// When a timer expires that is set at `now` for `delay`.
    pub(crate) fn expiry(now: u64, delay: u64, config: &Config) -> u64 {
        if config.linux {
            wheel::expiry(now, delay)
        } else {
            now + delay
        }
    }

    /// The window in use when a reduction is due (RFC 5681, equation 4).
    fn window_used(&self, outstanding: u64, config: &Config) -> f64 {
        if config.linux {
            return self.window.cwnd;
        }
        let outstanding = outstanding as f64;
        match self.state {
            // the window that sent the outstanding data is the one that counts, not what recovery made of it
            State::Recovery | State::Loss => outstanding.min(self.prior_cwnd),
            _ if outstanding + 1.0 > self.window.cwnd => self.window.cwnd,
            _ => outstanding,
        }
    }

    /// Reduces the window when `outstanding` segments are, or were before the ACK that says so.
    fn reduce(&mut self, now: u64, signal: Signal, outstanding: u64, config: &Config) {
        let reduction = Reduction {
            now: Time(now),
            signal,
            window_used: self.window_used(outstanding, config),
            min_rtt: Time(self.min_rtt).seconds(),
            srtt: Time(self.srtt).seconds(),
        };
        self.prior_cwnd = self.window.cwnd;
        self.controller.on_congestion(&reduction, &mut self.window);
    }

    /// Lets the window grow by what `acked` segments allow.
    #[inline]
    fn grow(&mut self, news: &News, acked: u32, config: &Config, random: &mut Stream) {
        let round_start = self.starts_round();
        let limited = news.cwnd_limited || self.state == State::Loss;
        if !self.grow_additively(news.now, acked, limited, random) {
            self.grow_otherwise(news, acked, round_start, config, random);
        }
    }

    /// Whether the ACK that has just come is the first of a round trip.
    #[inline(always)]
    fn starts_round(&mut self) -> bool {
        let starts = self.una > self.round_end;
        if starts {
            self.round_end = self.next;
        }
        starts
    }

    /// Additive increase, which looks at no times: no divisions for them. False for other congestion controls.
    #[inline(always)]
    fn grow_additively(
        &mut self,
        now: u64,
        acked: u32,
        cwnd_limited: bool,
        random: &mut Stream,
    ) -> bool {
        let (Controller::Reno(control) | Controller::Aimd(control)) = &mut self.controller else {
            return false;
        };
        if self.hystart.is_some() {
            return false;
        }
        let event = AckEvent {
            now: Time(now),
            acked,
            rtt: f64::NAN,
            min_rtt: f64::NAN,
            srtt: f64::NAN,
            in_flight: 0,
            round_start: false,
            cwnd_limited,
            ece: false,
            marked: 0,
            next: 0,
            una: 0,
            covered: acked,
        };
        control.on_ack(&event, &mut self.window, random);
        true
    }

    #[inline(never)]
    fn grow_otherwise(
        &mut self,
        news: &News,
        acked: u32,
        round_start: bool,
        config: &Config,
        random: &mut Stream,
    ) {
        let mut event = self.bare_event(news, acked, round_start, config);
        match &mut self.controller {
            // it looks at the base RTT once a round trip, and never at the smoothed one: two divisions less
            Controller::Compound(control) if self.hystart.is_none() => {
                if round_start {
                    event.min_rtt = Time(self.min_rtt).seconds();
                }
                control.on_ack(&event, &mut self.window, random);
            }
            _ => self.let_grow(self.with_round_trips(event), news.rtt, random),
        }
    }

    #[inline]
    fn let_grow(&mut self, event: AckEvent, rtt: u64, random: &mut Stream) {
        if self.hystart.is_some() {
            self.grow_by_hystart(event, rtt, random);
        } else {
            self.controller.on_ack(&event, &mut self.window, random);
        }
    }

    /// What an ACK of `acked` segments tells the congestion control.
    #[inline]
    fn event(&self, news: &News, acked: u32, round_start: bool, config: &Config) -> AckEvent {
        self.with_round_trips(self.bare_event(news, acked, round_start, config))
    }

    #[inline]
    fn with_round_trips(&self, event: AckEvent) -> AckEvent {
        AckEvent {
            min_rtt: Time(self.min_rtt).seconds(),
            srtt: Time(self.srtt).seconds(),
            ..event
        }
    }

    /// [`Sender::event`] without the least and the smoothed round trip.
    #[inline]
    fn bare_event(&self, news: &News, acked: u32, round_start: bool, config: &Config) -> AckEvent {
        AckEvent {
            now: Time(news.now),
            acked,
            rtt: if news.rtt == 0 {
                f64::NAN
            } else {
                Time(news.rtt).seconds()
            },
            min_rtt: f64::NAN,
            srtt: f64::NAN,
            in_flight: news.before as u32,
            covered: news.acked as u32,
            una: self.una,
            next: self.next,
            round_start,
            cwnd_limited: news.cwnd_limited
                || self.state == State::Loss
                || (config.linux && self.next < self.written),
            ece: news.ece,
            marked: if news.ece && config.accurate_ecn {
                acked
            } else {
                0
            },
        }
    }

    /// Growth in the initial slow start of HyStart++ (RFC 9406, section 4.2).
    #[cold]
    #[inline(never)]
    fn grow_by_hystart(&mut self, mut event: AckEvent, rtt: u64, random: &mut Stream) {
        let Some(mut state) = self.hystart.take() else {
            return;
        };
        if self.window.ssthresh != state.ssthresh || !self.window.in_slow_start() {
            self.controller.on_ack(&event, &mut self.window, random);
            return;
        }
        let over = state.on_ack(self.una, self.next, rtt);
        if !self.paced {
            event.acked = event.acked.min(hystart::L);
        }
        let before = self.window.cwnd;
        self.controller.on_ack(&event, &mut self.window, random);
        if state.is_conservative() && self.window.cwnd > before {
            self.window.cwnd = before + (self.window.cwnd - before) / hystart::CSS_GROWTH_DIVISOR;
        }
        if over {
            self.window.ssthresh = self.window.cwnd;
        } else {
            self.hystart = Some(state);
        }
    }

    /// An acknowledgement arrives. `blocks` are further SACK blocks `[from, to)`.
    #[inline]
    pub(crate) fn on_ack(
        &mut self,
        now: u64,
        ack: &Ack,
        blocks: &[(u64, u64)],
        config: &Config,
        random: &mut Stream,
    ) {
        if blocks.is_empty() && self.is_plain(ack) {
            self.on_plain_ack(now, ack, config, random);
        } else {
            self.on_other_ack(now, ack, blocks, config, random);
        }
    }

    /// Whether the ACK tells a sender in recovery of one more segment that has arrived, and nothing else.
    #[inline(always)]
    pub(crate) fn is_plain_sack(&self, ack: &Ack, config: &Config) -> bool {
        self.state == State::Recovery
            && self.lean
            && ack.cum == self.una
            && ack.sack != NONE
            && ack.flags.0 & (Flags::ECE | Flags::SYN) == 0
            && config.reduction == WindowReduction::AtOnce
            && !config.detect_lost
    }

    /// What [`Sender::on_ack`] comes to then.
    #[inline(always)]
    pub(crate) fn on_plain_sack(&mut self, ack: &Ack, config: &Config) {
        self.scoreboard
            .sack(self.una, ack.sack, config.dup_threshold);
    }

    /// Whether a sender in recovery certainly has nothing to send.
    #[inline(always)]
    pub(crate) fn is_full(&self, config: &Config) -> bool {
        self.state == State::Recovery
            && self.lean
            && self.forced == NONE
            && config.reduction == WindowReduction::AtOnce
            && self.scoreboard.pipe(self.una, self.next) >= whole(self.window.cwnd)
    }

    /// [`Sender::on_ack`] of an ACK that is not plain.
    #[inline(never)]
    pub(crate) fn on_other_ack(
        &mut self,
        now: u64,
        ack: &Ack,
        blocks: &[(u64, u64)],
        config: &Config,
        random: &mut Stream,
    ) {
        let before = self.next - self.una;
        let cwnd_limited = self.is_limited(before);
        let mut news = News {
            now,
            acked: 0,
            sacked: 0,
            known: 0,
            before,
            cwnd_limited,
            rtt: 0,
            ece: ack.flags.has(Flags::ECE) && config.ecn,
            deadline: self.deadline,
        };
        if ack.cum < self.una {
            return; // old news, overtaken
        }
        if self.journal.is_some() {
            self.note_delivered(now, ack.cum);
        }
        if ack.cum > self.una {
            news.acked = ack.cum - self.una;
            if !self.scoreboard.is_clear() {
                news.known = self.scoreboard.advance(self.una, ack.cum);
            }
            news.rtt = self.advance(now, ack, before, config.linux, config);
        }
        if config.recovery == Recovery::Sack {
            let edge = self.scoreboard.lost_edge();
            if ack.sack != NONE && ack.sack >= self.una {
                news.sacked += self.sack(now, ack.sack, config);
            }
            for &(from, to) in blocks {
                for seq in from.max(self.una)..to {
                    news.sacked += self.sack(now, seq, config);
                }
            }
            if news.sacked > 0 {
                self.book_lost(now, edge);
                if config.detect_lost {
                    self.find_lost_retransmissions(now);
                }
            }
            let waits = config.rack && self.find_late(now, config);
            if config.linux
                && let Some(journal) = &self.journal
            {
                // the congestion control hears of the newest segment's round trip, which no delayed ACK has lengthened
                news.rtt = journal.newest_rtt(now);
                if news.rtt > 0 {
                    if news.acked == 0 {
                        // selective acknowledgements are samples too
                        self.sample(news.rtt, news.before, config);
                    }
                    self.min_rtt = self.min_rtt.min(news.rtt);
                }
            }
            if config.linux && !self.delivery {
                self.on_ack_linux(&news, config, random);
            } else {
                self.on_ack_sack(&news, config, random);
            }
            if self.journal.is_some() {
                self.after_ack(&news, waits, config, random);
            }
        } else {
            self.on_ack_cumulative(&news, config, random);
        }
        self.settle();
    }

    /// Segment `seq` is acknowledged selectively: 1 if that is news.
    #[inline(always)]
    fn sack(&mut self, now: u64, seq: u64, config: &Config) -> u32 {
        let new = self.scoreboard.sack(self.una, seq, config.dup_threshold);
        if new && let Some(journal) = &mut self.journal {
            journal.deliver(now, seq);
        }
        u32::from(new)
    }

    /// Whether the window limits a sender with `before` segments outstanding: they are not below its whole segments, or above its half in slow start.
    #[inline(always)]
    fn is_limited(&self, before: u64) -> bool {
        let count = before as i64 as f64;
        count + 1.0 > self.window.cwnd
            || (self.window.in_slow_start() && self.window.cwnd < 2.0 * count)
    }

    /// Whether the ACK acknowledges new data of a sender that knows of no loss, and says nothing else: nearly all do.
    #[inline(always)]
    pub(crate) fn is_plain(&self, ack: &Ack) -> bool {
        ack.cum > self.una
            && ack.sack == NONE
            && ack.flags.0 & (Flags::ECE | Flags::SYN) == 0
            && self.calm
    }

    /// What [`Sender::on_ack`] comes to then.
    #[inline(always)]
    pub(crate) fn on_plain_ack(
        &mut self,
        now: u64,
        ack: &Ack,
        config: &Config,
        random: &mut Stream,
    ) {
        let before = self.next - self.una;
        let cwnd_limited = self.is_limited(before);
        let acked = ack.cum - self.una;
        let rtt = self.advance(now, ack, before, false, config);
        self.dup_acks = 0;
        let additive = self.grow_additively(now, acked as u32, cwnd_limited, random);
        let round_start = self.starts_round();
        if !additive {
            let news = News {
                now,
                acked,
                sacked: 0,
                known: 0,
                before,
                cwnd_limited,
                rtt,
                ece: false,
                deadline: self.deadline,
            };
            self.grow_otherwise(&news, acked as u32, round_start, config, random);
        }
    }

    /// New data is acknowledged: what is outstanding (`before`: until then), the RTT's sample, the timer. The sample, or 0.
    #[inline(always)]
    fn advance(&mut self, now: u64, ack: &Ack, before: u64, linux: bool, config: &Config) -> u64 {
        self.una = ack.cum;
        self.next = self.next.max(ack.cum);
        let mut rtt = 0;
        if ack.echo != 0 {
            rtt = now - ack.echo;
            self.sample_as(rtt, before, linux, config);
        }
        // RFC 6298, rules 5.2 and 5.3
        self.deadline = if self.high > self.una {
            now + self.timeout(config)
        } else {
            u64::MAX
        };
        rtt
    }

    /// Everything below `cum` is delivered, by an ACK that has just come.
    #[cold]
    #[inline(never)]
    fn note_delivered(&mut self, now: u64, cum: u64) {
        if let Some(journal) = &mut self.journal {
            journal.begin(self.scoreboard.pipe(self.una, self.next), self.min_rtt);
            for seq in self.una..cum {
                if !self.scoreboard.is_sacked(self.una, seq) {
                    journal.deliver(now, seq);
                }
            }
            journal.forget(cum);
        }
    }

    /// The segments that RACK now takes for lost (RFC 8985, section 6.2, step 5), and the timer for those that it will.
    /// True if it has set that timer.
    #[cold]
    #[inline(never)]
    fn find_late(&mut self, now: u64, config: &Config) -> bool {
        let timeout = self.timeout(config);
        let Some(journal) = &mut self.journal else {
            return false;
        };
        let Some(rack) = &mut journal.rack else {
            return false;
        };
        rack.lost_again = false;
        if !config.linux {
            rack.timer = u64::MAX;
        }
        if self.scoreboard.is_clear() {
            return false; // everything came in order
        }
        let resent = self.scoreboard.resent();
        let window = rack.window(
            self.state != State::Open,
            self.scoreboard.sacked() >= config.dup_threshold,
            self.min_rtt,
            self.srtt,
        );
        let rack = rack.clone();
        let mut longest = 0;
        for seq in self.una..self.next {
            if !self.scoreboard.is_in_network(self.una, seq) {
                continue;
            }
            match rack.patience(now, seq, journal.sent(seq), window) {
                None => {}
                Some(0) => {
                    self.scoreboard.lose(self.una, seq);
                    let lost = journal.lose(now, seq);
                    if self.delivery {
                        self.controller.on_lost(&lost);
                    }
                }
                Some(rest) => longest = longest.max(rest),
            }
        }
        let Some(rack) = &mut journal.rack else {
            return false;
        };
        rack.lost_again = self.scoreboard.resent() < resent;
        if longest == 0 {
            return false;
        }
        rack.purpose = Purpose::Reordering;
        rack.timer = if config.linux {
            wheel::expiry(now, (longest + LEAST_TIMEOUT).min(timeout))
        } else {
            now + longest
        };
        if config.linux {
            self.deadline = self.deadline.max(rack.timer);
        }
        true
    }

    /// Linux has one timer for the reordering window, the probe and the retransmission timeout, so that the last of them counts from when the first unacknowledged
    /// segment was sent where it takes the place of one of the others.
    fn rearm(&mut self, now: u64, config: &Config) {
        let timeout = self.timeout(config);
        let (una, idle) = (self.una, self.high == self.una);
        let mut delay = timeout;
        if let Some(journal) = &mut self.journal {
            let sent = journal.sent(una);
            if let Some(rack) = &mut journal.rack
                && rack.timer != u64::MAX
            {
                rack.timer = u64::MAX;
                delay = (sent + timeout).saturating_sub(now).max(1);
            }
        }
        self.deadline = if idle {
            u64::MAX
        } else {
            wheel::expiry(now, delay)
        };
    }

    /// Arms the probe's timer as Linux does; false where no probe is due. `acked`: an ACK of new data has just come, and the retransmission timeout counts from now.
    fn schedule_probe(&mut self, now: u64, acked: bool, config: &Config) -> bool {
        let outstanding = self.outstanding();
        let quiet = self.in_cwr || self.scoreboard.is_clear();
        if self.state != State::Open || !quiet || outstanding == 0 {
            return false;
        }
        let timeout = self.timeout(config);
        let (una, srtt) = (self.una, self.srtt);
        let Some(journal) = &mut self.journal else {
            return false;
        };
        let left = if acked {
            timeout
        } else {
            (journal.sent(una) + timeout).saturating_sub(now)
        };
        let Some(rack) = &mut journal.rack else {
            return false;
        };
        let mut delay = match (srtt, outstanding) {
            (0, _) => config.initial_rto,
            (_, 1) => 2 * srtt + config.min_rto,
            _ => 2 * srtt + LEAST_TIMEOUT,
        };
        if left > 0 {
            delay = delay.min(left);
        }
        (rack.timer, rack.purpose) = (wheel::expiry(now, delay), Purpose::Probe);
        let timer = rack.timer;
        self.deadline = if self.deadline == u64::MAX {
            timer
        } else {
            self.deadline.max(timer)
        };
        true
    }

    /// Arms the timer of the tail loss probe (RFC 8985, section 7.2): after an ACK, or after new data has left.
    fn arm_probe(&mut self, now: u64) {
        let outstanding = self.outstanding();
        let wanted = self.state == State::Open && outstanding > 0 && self.scoreboard.sacked() == 0;
        let Some(rack) = rack_of(&mut self.journal) else {
            return;
        };
        if rack.timer != u64::MAX && rack.purpose == Purpose::Reordering {
            return;
        }
        rack.purpose = Purpose::Probe;
        rack.timer = if wanted && rack.probe_end == NONE {
            (now + Rack::probe_timeout(self.srtt, outstanding)).min(self.deadline)
        } else {
            u64::MAX
        };
    }

    /// A probe is out: whether an ACK answers it, and whether it has repaired a loss (RFC 8985, section 7.4).
    fn after_ack_of_probe(&mut self, news: &News, config: &Config) {
        let una = self.una;
        let Some(rack) = rack_of(&mut self.journal) else {
            return;
        };
        if rack.probe_end == NONE || una < rack.probe_end {
            return;
        }
        // sent again for nothing: an ACK that acknowledges nothing new answers the second copy
        let needless = news.acked == 0 && news.sacked == 0;
        if rack.probe_again && una == rack.probe_end && !needless {
            return; // one of the two copies; the next ACK tells
        }
        let repaired = rack.probe_again && una > rack.probe_end;
        rack.probe_end = NONE;
        if repaired && self.state == State::Open {
            self.reduce(news.now, Signal::Loss, news.before, config);
            self.cwr_end = self.next;
        }
    }

    /// When the next timer runs: the retransmission timer, or RACK's before it.
    #[inline]
    pub(crate) fn next_timer(&self) -> u64 {
        match &self.journal {
            Some(journal) if self.deadline != u64::MAX => journal
                .rack
                .as_ref()
                .map_or(self.deadline, |rack| rack.timer.min(self.deadline)),
            _ => self.deadline,
        }
    }

    /// The timer of [`Sender::next_timer`] has expired.
    pub(crate) fn on_timer(&mut self, now: u64, config: &Config) {
        let rack = rack_of(&mut self.journal);
        if let Some(rack) = rack
            && rack.timer <= now
        {
            if config.linux {
                self.on_timer_linux(now, config);
                return;
            }
            rack.timer = u64::MAX;
            match rack.purpose {
                Purpose::Reordering => {
                    self.find_late(now, config);
                    if self.state == State::Open && self.scoreboard.calls_for_recovery(self.una) {
                        self.start_recovery(now, self.outstanding(), config);
                    }
                }
                Purpose::Probe => {
                    let new = self.next < self.written && self.next - self.una < config.max_window;
                    rack.probe_end = self.next + u64::from(new);
                    rack.probe_again = !new;
                    if new {
                        self.probe = true;
                    } else {
                        self.forced = self.next - 1;
                    }
                    self.deadline = now + self.timeout(config);
                }
            }
            return;
        }
        self.on_timeout(now, config);
    }

    /// RACK's timer has expired, in Linux.
    fn on_timer_linux(&mut self, now: u64, config: &Config) {
        let (una, next) = (self.una, self.next);
        let Some(journal) = &mut self.journal else {
            return;
        };
        let pipe = self.scoreboard.pipe(una, next);
        journal.begin(pipe, self.min_rtt);
        let Some(rack) = &mut journal.rack else {
            return;
        };
        if rack.purpose == Purpose::Reordering {
            self.find_late(now, config);
            if self.scoreboard.pipe(una, next) != pipe && self.state != State::Recovery {
                // after a timeout too: its ssthresh comes down again
                self.start_recovery(now, self.outstanding(), config);
                if !self.delivery {
                    self.spread_reduction(false, 1);
                }
            }
            self.rearm(now, config);
            return;
        }
        if rack.probe_end != NONE {
            // one probe for each flight; the retransmission timer is next
            self.rearm(now, config);
            return;
        }
        let new = next < self.written && next - una < config.max_window;
        (rack.probe_end, rack.probe_again) = (next + u64::from(new), !new);
        rack.timer = u64::MAX;
        if new {
            self.probe = true;
        } else {
            self.forced = next - 1;
        }
        self.deadline = wheel::expiry(now, self.timeout(config));
    }

    /// Segments between `edge` and the present edge of the lost ones have just been found lost.
    #[cold]
    #[inline(never)]
    fn book_lost(&mut self, now: u64, edge: u64) {
        let Some(journal) = &mut self.journal else {
            return;
        };
        for seq in edge.max(self.una)..self.scoreboard.lost_edge().max(self.una) {
            if !self.scoreboard.is_sacked(self.una, seq) {
                let lost = journal.lose(now, seq);
                if self.delivery {
                    self.controller.on_lost(&lost);
                }
            }
        }
    }

    /// Retransmissions that something sent after them overtook are lost.
    fn find_lost_retransmissions(&mut self, now: u64) {
        let (journal, controller, delivery) =
            (&mut self.journal, &mut self.controller, self.delivery);
        self.scoreboard.find_lost_retransmissions(self.una, |seq| {
            if let Some(journal) = journal
                && delivery
            {
                controller.on_lost(&journal.lose(now, seq));
            }
        });
    }

    /// What the journal is for: probes, and the congestion control that wants to hear of deliveries.
    #[cold]
    #[inline(never)]
    fn after_ack(&mut self, news: &News, waits: bool, config: &Config, random: &mut Stream) {
        if config.rack {
            self.after_ack_of_probe(news, config);
            if !config.linux {
                self.arm_probe(news.now);
            } else if news.acked > 0 && !waits && !self.schedule_probe(news.now, true, config) {
                self.rearm(news.now, config);
            }
        }
        if self.delivery {
            self.report_delivery(news, random);
        }
    }

    /// Tells the congestion control what this ACK says of the delivery of segments.
    fn report_delivery(&mut self, news: &News, random: &mut Stream) {
        let Some(journal) = &mut self.journal else {
            return;
        };
        let sample = journal.sample(news.now, self.min_rtt);
        let delivery = Delivery {
            now: Time(news.now),
            acked: journal.newly_delivered,
            lost: journal.newly_lost,
            delivered: journal.delivered,
            total_lost: journal.lost,
            in_flight_before: journal.in_flight_before,
            in_flight: self.scoreboard.pipe(self.una, self.next) as u32,
            rtt: if sample.rtt == 0 {
                f64::NAN
            } else {
                Time(sample.rtt).seconds()
            },
            srtt: Time(self.srtt).seconds(),
            rate: sample.rate,
            prior_delivered: sample.prior_delivered,
            app_limited: sample.app_limited,
            sent_in_flight: sample.sent_in_flight,
            lost_since_sent: sample.lost_since_sent,
            cwnd_limited: news.cwnd_limited,
            repair: match self.state {
                State::Closed | State::Open => Repair::None,
                State::Recovery => Repair::Recovery,
                State::Loss => Repair::Timeout,
            },
        };
        self.controller
            .on_delivery(&delivery, &mut self.window, random);
    }

    /// Reacts to ECN-Echo once a window; true if the window must not grow on this ACK.
    #[inline]
    fn on_echo(&mut self, news: &News, config: &Config) -> bool {
        if news.ece && self.state == State::Open && self.una >= self.cwr_end && self.next > 0 {
            self.reduce(news.now, Signal::Ecn, news.before, config);
            self.counters.ecn_reductions += 1;
            self.cwr_end = self.next;
            self.send_cwr = true;
        }
        news.ece
    }

    /// A marked ACK goes to an algorithm that counts marks, and then leads to its reaction; true if it was one.
    #[inline]
    fn count_marks(&mut self, news: &News, config: &Config, random: &mut Stream) -> bool {
        if !(config.accurate_ecn && news.ece) {
            return false;
        }
        if news.acked > 0 {
            self.grow(news, news.acked as u32, config, random);
        }
        self.on_echo(news, config)
    }

    /// RFC 6675, section 5.
    #[inline]
    fn on_ack_sack(&mut self, news: &News, config: &Config, random: &mut Stream) {
        match self.state {
            State::Open => {
                let echo = self.count_marks(news, config, random) || self.on_echo(news, config);
                if news.acked > 0 {
                    self.dup_acks = 0;
                    if !echo {
                        self.grow(news, news.acked as u32, config, random);
                    }
                } else if news.sacked > 0 {
                    self.dup_acks += 1;
                }
            }
            State::Loss if news.acked > 0 => {
                // one segment an ACK: a cumulative jump after a timeout says nothing of what left the network (RFC 3465, section 2.3)
                self.grow(news, 1, config, random);
            }
            _ => {}
        }
        if self.state == State::Recovery {
            self.steer_recovery(news, config);
        }
        if self.state == State::Loss && self.una >= self.recover {
            self.state = State::Open;
            self.dup_acks = 0;
        }
        if self.state == State::Open
            && self.next > self.una
            && ((self.dup_acks >= config.dup_threshold && !config.rack)
                || self.scoreboard.calls_for_recovery(self.una)
                || (config.linux && self.scoreboard.misses_any()))
        {
            self.start_recovery(news.now, news.before, config);
            if config.reduction == WindowReduction::Prr {
                self.steer_recovery(news, config);
            }
        }
    }

    /// What Linux 6.1 makes of an ACK: losses and marks alike bring the window down by proportional rate reduction, and every ACK that acknowledges
    /// something in order outside of that lets it grow by all that it delivers, the one that ends a reduction too.
    fn on_ack_linux(&mut self, news: &News, config: &Config, random: &mut Stream) {
        let delivered = (news.acked + u64::from(news.sacked) - u64::from(news.known)) as u32;
        let round_start = self.una > self.round_end;
        if round_start {
            self.round_end = self.next;
        }
        let mut event = self.event(news, delivered, round_start, config);
        self.controller.on_any_ack(&event);
        if let Some(journal) = &mut self.journal {
            journal.new_first = false;
        }
        let over = match self.state {
            State::Recovery => self.una >= self.recover,
            _ => self.in_cwr && self.una > self.recover,
        };
        if over {
            self.state = State::Open;
            self.in_cwr = false;
            self.window.cwnd = self.window.ssthresh;
            self.round_end = self.next;
            self.controller
                .on_repaired(Time(news.now), &mut self.window);
        } else if self.state == State::Loss {
            self.on_ack_in_loss(news, config);
        }
        let lost_again = self.state == State::Loss
            && self
                .journal
                .as_ref()
                .and_then(|journal| journal.rack.as_ref())
                .is_some_and(|rack| rack.lost_again);
        if self.state == State::Open || lost_again {
            if news.ece && !self.in_cwr && self.next > 0 {
                self.reduce(news.now, Signal::Ecn, news.before, config);
                self.counters.ecn_reductions += 1;
                (self.in_cwr, self.send_cwr) = (true, true);
                self.recover = self.next;
                self.begin_prr(self.prior_cwnd as u64);
            }
            // what was sent again in a recovery that is over is missing all the same
            if self.next > self.una && self.scoreboard.misses_any() {
                self.start_recovery(news.now, news.before, config);
            }
        }
        let open = self.state == State::Open && !self.in_cwr && self.scoreboard.is_clear();
        if open != self.told_open {
            self.told_open = open;
            if open {
                self.round_end = self.next;
                event.round_start = false;
            }
            self.controller.on_state(open);
        }
        if self.state == State::Recovery || self.in_cwr {
            self.spread_reduction(news.acked > 0, u64::from(delivered));
        } else if news.acked > 0 {
            self.let_grow(event, news.rtt, random);
        }
    }

    /// The congestion control hears that the state is no longer open.
    fn close_state(&mut self) {
        if self.told_open {
            self.told_open = false;
            self.controller.on_state(false);
        }
    }

    fn begin_prr(&mut self, flight: u64) {
        self.prr_flight = flight.max(1);
        (self.prr_delivered, self.prr_out) = (0, 0);
    }

    /// RFC 6937, section 3, as Linux has it: the slow-start bound only where the ACK moves on without a new loss, and one segment at once.
    fn spread_reduction(&mut self, moved: bool, delivered: u64) {
        if delivered == 0 {
            return;
        }
        let pipe = self.scoreboard.pipe(self.una, self.next);
        let ssthresh = self.window.ssthresh as u64;
        self.prr_delivered += delivered;
        let quota = if pipe > ssthresh {
            (self.prr_delivered * ssthresh)
                .div_ceil(self.prr_flight)
                .saturating_sub(self.prr_out)
        } else {
            let lost = self
                .journal
                .as_ref()
                .is_some_and(|journal| journal.newly_lost > 0);
            let bound = self
                .prr_delivered
                .saturating_sub(self.prr_out)
                .max(delivered)
                + u64::from(moved && !lost);
            bound.min(ssthresh - pipe)
        };
        self.window.cwnd = (pipe + quota.max(u64::from(self.prr_out == 0))) as f64;
    }

    /// Recovery with selective acknowledgements begins; `outstanding` segments were before the event that calls for it.
    fn start_recovery(&mut self, now: u64, outstanding: u64, config: &Config) {
        self.enter_recovery(now, outstanding, config);
        if config.rack {
            self.forced = self
                .scoreboard
                .next_lost_not_resent(self.una)
                .unwrap_or(NONE);
        }
        self.high_resent = self.una;
        self.rescued = false;
        match config.reduction {
            WindowReduction::AtOnce => {}
            WindowReduction::RateHalving => {
                self.halving = self.prior_cwnd as u64;
                self.window.cwnd = (self.window.ssthresh / 2.0).floor().max(1.0);
            }
            WindowReduction::Prr if config.linux => {}
            WindowReduction::Prr => self.begin_prr(outstanding),
        }
    }

    /// The window in the course of a recovery, and at its end.
    fn steer_recovery(&mut self, news: &News, config: &Config) {
        let over = self.una >= self.recover;
        if over {
            self.state = State::Open;
            self.dup_acks = 0;
        }
        if config.reduction == WindowReduction::AtOnce {
            return;
        }
        let pipe = self.scoreboard.pipe(self.una, self.next);
        if config.reduction == WindowReduction::RateHalving {
            self.halving = self.halving.min(pipe + 1);
            if over {
                self.window.cwnd = self
                    .window
                    .ssthresh
                    .min(pipe as f64 + 3.0)
                    .max(self.window.cwnd);
            }
            return;
        }
        // RFC 6937, section 3, in segments
        let ssthresh = self.window.ssthresh as u64;
        let delivered = news.acked + u64::from(news.sacked) - u64::from(news.known);
        self.prr_delivered += delivered;
        let quota = if pipe > ssthresh {
            (self.prr_delivered * ssthresh)
                .div_ceil(self.prr_flight)
                .saturating_sub(self.prr_out)
        } else {
            let bound = self
                .prr_delivered
                .saturating_sub(self.prr_out)
                .max(delivered)
                + 1;
            bound.min(ssthresh - pipe)
        };
        self.window.cwnd = if over {
            self.window.ssthresh
        } else {
            (pipe + quota) as f64
        };
    }

    fn enter_recovery(&mut self, now: u64, outstanding: u64, config: &Config) {
        self.counters.fast_recoveries += 1;
        if config.linux {
            self.close_state();
        }
        if self.in_cwr {
            // the window is coming down already
            self.in_cwr = false;
            if self.controller.needs().loss_after_mark {
                let (cwnd, prior) = (self.window.cwnd, self.prior_cwnd);
                self.reduce(now, Signal::Loss, outstanding, config);
                (self.window.cwnd, self.prior_cwnd) = (cwnd, prior);
            }
        } else {
            self.reduce(now, Signal::Loss, outstanding, config);
            self.recover = self.next;
            if config.linux {
                self.begin_prr(self.prior_cwnd as u64);
            }
        }
        self.cwr_end = self.next;
        self.send_cwr = config.ecn;
        self.state = State::Recovery;
        self.forced = self.una;
        if !(config.linux && config.rack) {
            self.deadline = now + self.timeout(config);
        }
    }

    /// RFC 5681, section 3.2 (Reno), RFC 6582 (NewReno), and Tahoe.
    fn on_ack_cumulative(&mut self, news: &News, config: &Config, random: &mut Stream) {
        match self.state {
            State::Open | State::Loss => {
                let echo = self.count_marks(news, config, random) || self.on_echo(news, config);
                if news.acked > 0 {
                    self.dup_acks = 0;
                    if !echo {
                        let counted = if self.state == State::Loss {
                            1
                        } else {
                            news.acked as u32
                        };
                        self.grow(news, counted, config, random);
                    }
                    if self.una >= self.recover {
                        self.state = State::Open;
                    }
                } else if news.before > 0 {
                    self.dup_acks += 1;
                    // RFC 6582, section 3.2, step 2: no second reduction for losses of the window that was reduced already
                    if self.dup_acks == config.dup_threshold && self.una >= self.recover {
                        self.enter_recovery(news.now, news.before, config);
                        self.first_partial_ack = true;
                        if config.recovery == Recovery::Tahoe {
                            self.window.cwnd = 1.0;
                            self.forced = NONE;
                            self.next = self.una;
                            self.state = State::Loss;
                        } else {
                            self.window.cwnd =
                                self.window.ssthresh + f64::from(config.dup_threshold);
                        }
                    }
                }
            }
            State::Recovery => {
                if news.acked == 0 {
                    self.window.cwnd += 1.0; // inflation: another segment has left the network
                } else if self.una >= self.recover || config.recovery == Recovery::Reno {
                    self.window.cwnd = self.window.ssthresh;
                    if config.recovery == Recovery::NewReno {
                        // RFC 6582, section 3.2, step 3, option 1: no burst
                        let flight = self.outstanding().max(1) as f64;
                        self.window.cwnd = self.window.ssthresh.min(flight + 1.0);
                    }
                    self.state = State::Open;
                    self.dup_acks = 0;
                } else {
                    // partial ACK: the next hole, deflation, and the timer only for the first (RFC 6582, "impatient")
                    self.forced = self.una;
                    self.window.cwnd = (self.window.cwnd - news.acked as f64 + 1.0).max(1.0);
                    if !self.first_partial_ack {
                        self.deadline = news.deadline;
                    }
                    self.first_partial_ack = false;
                }
            }
            State::Closed => {}
        }
    }

    /// The retransmission timer has expired (RFC 6298, rules 5.4 to 5.6; RFC 5681, section 3.1).
    pub(crate) fn on_timeout(&mut self, now: u64, config: &Config) {
        self.counters.timeouts += 1;
        self.calm = false;
        // in Linux not twice for the losses of one window
        let answered = config.linux
            && (self.state == State::Recovery || self.in_cwr)
            && self.una < self.recover;
        let again = self.note_timeout(config);
        if config.linux {
            self.close_state();
        }
        if !again && !answered {
            self.reduce(now, Signal::Timeout, self.outstanding(), config);
        }
        self.window.cwnd = 1.0;
        self.in_cwr = false;
        self.backoff += 1;
        self.state = State::Loss;
        self.recover = self.high;
        self.cwr_end = self.high;
        self.dup_acks = 0;
        self.forced = NONE;
        self.rescued = true;
        self.round_end = self.high;
        if config.recovery == Recovery::Sack {
            self.lose_all(now);
            self.high_resent = self.una;
            if config.linux {
                self.window.cwnd = (self.scoreboard.pipe(self.una, self.next) + 1) as f64;
            }
        } else {
            self.next = self.una;
        }
        self.deadline = Self::expiry(now, self.timeout(config), config);
    }

    /// Whether the retransmission timer expires again for the segment that it expired for last; and whether RFC 5682's test for needless timeouts is made.
    fn note_timeout(&mut self, config: &Config) -> bool {
        if config.linux
            && let Some(journal) = &mut self.journal
        {
            let again = self.state == State::Loss && journal.timed_out == self.una;
            if !again {
                journal.prior_ssthresh = if self.in_cwr || self.state != State::Open {
                    self.window.ssthresh
                } else {
                    self.window.ssthresh.max(0.75 * self.window.cwnd)
                };
            }
            journal.timed_out = self.una;
            journal.frto = self.state == State::Open || again;
            journal.new_first = false;
            return again;
        }
        self.backoff > 0
    }

    /// An ACK arrives after a timeout: F-RTO with selective acknowledgements (RFC 5682, section 3.1), as Linux has it.
    fn on_ack_in_loss(&mut self, news: &News, config: &Config) {
        let (next, recover) = (self.next, self.recover);
        let recovered = self.una >= recover;
        if let Some(journal) = &mut self.journal
            && journal.frto
        {
            if journal.lowest_original < recover {
                // step 3.b: what was sent before the timeout has arrived; it was needless
                self.window.cwnd = self.window.cwnd.max(self.prior_cwnd);
                self.window.ssthresh = self.window.ssthresh.max(journal.prior_ssthresh);
                self.scoreboard.forgive();
                journal.timed_out = NONE;
                self.state = State::Open;
                return;
            }
            if next > recover {
                if news.sacked > 0 || news.acked == 0 {
                    journal.frto = false; // step 3.a: the loss was real
                }
            } else if news.acked > 0 && !recovered {
                self.recover = next;
                // step 2.b: new data first
                journal.new_first = next < self.written && next - self.una < config.max_window;
                journal.frto = journal.new_first;
                return;
            }
        }
        if recovered {
            self.state = State::Open;
        }
    }

    /// After a timeout all that is not acknowledged counts as lost; with RACK only the first segment and those that are late (RFC 8985, section 6.3).
    fn lose_all(&mut self, now: u64) {
        if let Some(journal) = &mut self.journal {
            journal.begin(self.scoreboard.pipe(self.una, self.next), self.min_rtt);
            let rack = journal.rack.clone();
            let window = rack
                .as_ref()
                .map_or(0, |rack| rack.window(true, false, self.min_rtt, self.srtt));
            for seq in self.una..self.next {
                let late = rack.as_ref().is_none_or(|rack| {
                    seq == self.una || rack.is_late(now, journal.sent(seq), window)
                });
                if late && self.scoreboard.is_in_network(self.una, seq) {
                    let lost = journal.lose(now, seq);
                    if self.delivery {
                        self.controller.on_lost(&lost);
                    }
                    if rack.is_some() {
                        self.scoreboard.lose(self.una, seq);
                    }
                }
            }
            if let Some(rack) = &mut journal.rack {
                (rack.timer, rack.probe_end) = (u64::MAX, NONE);
                return;
            }
        }
        self.scoreboard.lose_all(self.una, self.next);
    }

    /// How many new segments may leave now, if nothing else is to be looked at: no loss is known, and nothing wants to hear of each segment. `None`: ask for
    /// each with [`Sender::next_segment`].
    #[inline]
    pub(crate) fn room(&self, config: &Config) -> Option<u64> {
        if !self.calm {
            return None;
        }
        self.room_after_plain(config)
    }

    /// [`Sender::room`] after a plain ACK.
    #[inline(always)]
    pub(crate) fn room_after_plain(&self, config: &Config) -> Option<u64> {
        if self.paced {
            return None;
        }
        let window = whole(self.window.cwnd).min(config.max_window);
        let outstanding = self.next - self.una;
        let room = window.saturating_sub(outstanding);
        Some(room.min(self.written.saturating_sub(self.next)))
    }

    /// `count` new segments leave, as [`Sender::room`] allows: the first one's number.
    #[inline(always)]
    pub(crate) fn take(&mut self, now: u64, count: u64, config: &Config) -> u64 {
        let first = self.next;
        self.next += count;
        self.high = self.next;
        self.last_sent = now;
        if self.deadline == u64::MAX {
            self.deadline = now + self.timeout(config);
        }
        first
    }

    /// The next segment that may leave now, if any; it counts as sent.
    #[inline]
    pub(crate) fn next_segment(&mut self, now: u64, config: &Config) -> Option<Segment> {
        let empty =
            config.linux && !self.delivery && self.scoreboard.pipe(self.una, self.next) == 0;
        let before = self.next;
        let segment = self.choose(config)?;
        if empty {
            self.round_end = before;
            self.controller.on_restart(Time(now));
        }
        if self.in_cwr || matches!(self.state, State::Recovery | State::Loss) {
            self.book_recovery(segment, config);
        }
        self.last_sent = now;
        if self.deadline == u64::MAX {
            self.deadline = now + self.timeout(config);
        }
        if self.journal.is_some() || self.paced {
            self.note_sent(now, segment, config);
        }
        let cwr = self.send_cwr && !segment.1;
        if cwr {
            self.send_cwr = false;
        }
        Some(Segment {
            seq: segment.0,
            retransmission: segment.1,
            cwr,
        })
    }

    /// A segment leaves a sender that remembers its segments, or paces them.
    #[cold]
    #[inline(never)]
    fn note_sent(&mut self, now: u64, segment: (u64, bool), config: &Config) {
        if let Some(journal) = &mut self.journal {
            let in_flight = self.scoreboard.pipe(self.una, self.next);
            if journal.send(now, segment.0, in_flight) && self.delivery {
                self.controller.on_restart(Time(now));
            }
        }
        if self.paced {
            self.pace(now, config);
        }
        if config.rack && config.linux {
            self.set_timer_linux(now, segment, config);
        } else if config.rack {
            if !segment.1 {
                self.arm_probe(now);
            } else if segment.0 == self.una {
                // sent again, it has its time again (as in Linux): else a lost retransmission could not be found before the timer expires
                self.deadline = now + self.timeout(config);
            }
        }
    }

    /// A segment has left: what that does to Linux's timer.
    fn set_timer_linux(&mut self, now: u64, (seq, retransmission): (u64, bool), config: &Config) {
        let Some(rack) = rack_of(&mut self.journal) else {
            return;
        };
        let pending = (rack.timer != u64::MAX).then_some(rack.purpose);
        if retransmission {
            if seq == self.una && pending != Some(Purpose::Reordering) {
                rack.timer = u64::MAX;
                self.deadline = wheel::expiry(now, self.timeout(config));
            }
        } else if pending.is_some() || seq + 1 != rack.probe_end {
            if pending == Some(Purpose::Probe) || self.outstanding() == 1 {
                self.rearm(now, config);
            }
            self.schedule_probe(now, false, config);
        }
    }

    /// A segment leaves: when the next one may. Where the algorithm has no rate of its own the window is spread over the round trip, with 20 % to spare,
    /// and twice that in the first half of slow start, so that the window and not the pace limits (as Linux does it).
    #[cold]
    #[inline(never)]
    fn pace(&mut self, now: u64, config: &Config) {
        let rate = self.controller.pacing_rate().or_else(|| {
            let gain = if self.window.cwnd < self.window.ssthresh / 2.0 {
                2.0
            } else {
                1.2
            };
            let window = self.window.cwnd.max(self.outstanding() as f64);
            (self.srtt > 0).then(|| gain * window / Time(self.srtt).seconds())
        });
        if let Some(rate) = rate {
            let mut gap = Time::from_seconds(1.0 / rate).0;
            if config.linux {
                // what leaves later than it may shortens the gap after it, by half at most
                gap -= now.saturating_sub(self.next_send).min(gap / 2);
            }
            self.next_send = now.saturating_add(gap);
        }
    }

    /// Nothing more may be sent now. If that is for want of data and not of window, samples say so.
    #[inline]
    pub(crate) fn on_nothing_to_send(&mut self) {
        if self.delivery
            && self.next >= self.written
            && let Some(journal) = &mut self.journal
        {
            let in_flight = self.scoreboard.pipe(self.una, self.next);
            if (in_flight as f64) < self.window.cwnd {
                journal.mark_app_limited(in_flight);
            }
        }
    }

    /// A segment leaves during a recovery.
    fn book_recovery(&mut self, (seq, retransmission): (u64, bool), config: &Config) {
        self.prr_out += 1;
        if config.reduction == WindowReduction::RateHalving {
            let pipe = self.scoreboard.pipe(self.una, self.next);
            self.halving = self.halving.min(pipe.saturating_sub(1).max(1));
        }
        if config.detect_lost && retransmission {
            self.scoreboard.remember(seq, self.next);
        }
    }

    #[inline]
    fn choose(&mut self, config: &Config) -> Option<(u64, bool)> {
        if self.forced != NONE {
            let seq = std::mem::replace(&mut self.forced, NONE);
            if config.recovery == Recovery::Sack {
                self.scoreboard.retransmit(self.una, seq);
                self.high_resent = seq + 1;
            }
            return Some((seq, true));
        }
        if self.probe {
            self.probe = false;
            if let Some(segment) = self.choose_new(config) {
                return Some(segment);
            }
        }
        let mut cwnd = whole(self.window.cwnd);
        if self.state == State::Recovery && config.reduction == WindowReduction::RateHalving {
            cwnd = cwnd.max(self.halving);
        }
        if config.recovery == Recovery::Sack && !self.scoreboard.is_clear() {
            let open = self.state == State::Open;
            let pipe = if open && !config.limited_transmit {
                self.outstanding()
            } else {
                self.scoreboard.pipe(self.una, self.next)
            };
            if pipe >= cwnd {
                return None;
            }
            if self.state == State::Loss
                && let Some(journal) = &self.journal
                && journal.new_first
            {
                if let Some(segment) = self.choose_new(config) {
                    return Some(segment);
                }
                if self.next > self.recover {
                    return None;
                }
            }
            let lost = if open {
                None
            } else if config.detect_lost || config.rack {
                self.scoreboard.next_lost_not_resent(self.una)
            } else {
                self.scoreboard.next_lost(self.una, self.high_resent)
            };
            if let Some(seq) = lost {
                return Some(self.resend(seq)); // rule 1
            }
            if let Some(segment) = self.choose_new(config) {
                return Some(segment); // rule 2
            }
            if self.state == State::Recovery && !config.rack {
                if let Some(seq) = self.scoreboard.next_hole(self.una, self.high_resent) {
                    return Some(self.resend(seq)); // rule 3
                }
                if !self.rescued
                    && let Some(seq) = self.scoreboard.last_hole(self.una, self.next)
                {
                    self.rescued = true; // rule 4: once a recovery, and it does not move the edge of retransmissions
                    self.scoreboard.retransmit(self.una, seq);
                    return Some((seq, true));
                }
            }
            return None;
        }
        // limited transmit (RFC 3042): one new segment for each of the first duplicate ACKs
        let extra = if config.limited_transmit
            && self.state == State::Open
            && config.recovery != Recovery::Sack
        {
            u64::from(self.dup_acks.min(config.dup_threshold - 1))
        } else {
            0
        };
        if self.next - self.una >= cwnd + extra {
            return None;
        }
        self.choose_new(config)
    }

    fn resend(&mut self, seq: u64) -> (u64, bool) {
        self.scoreboard.retransmit(self.una, seq);
        self.high_resent = seq + 1;
        (seq, true)
    }

    #[inline]
    fn choose_new(&mut self, config: &Config) -> Option<(u64, bool)> {
        if self.next >= self.written || self.next - self.una >= config.max_window {
            return None;
        }
        let seq = self.next;
        self.next += 1;
        let retransmission = seq < self.high;
        self.high = self.high.max(self.next);
        Some((seq, retransmission))
    }

    /// The application writes after a pause: a window that was not used for a timeout's time is not trusted (RFC 5681, section 4.1).
    pub(crate) fn restart_if_idle(&mut self, now: u64, config: &Config) {
        // an algorithm that owns the window hears of an empty network as the next segment leaves
        if !self.delivery
            && self.next == self.una
            && self.last_sent > 0
            && now - self.last_sent > self.rto
        {
            self.window.cwnd = self.window.cwnd.min(config.initial_window);
            self.controller.on_restart(Time(now));
        }
    }

    /// A connection request was not answered in time: back off.
    pub(crate) fn on_syn_timeout(&mut self, now: u64, config: &Config) {
        self.counters.timeouts += 1;
        self.backoff += 1;
        self.deadline = Self::expiry(now, self.timeout(config), config);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ackclock_algorithms::Owner;
    use ackclock_algorithms::congestion::DctcpParams;
    use ackclock_algorithms::registry::CongestionSpec;

    const MS: u64 = 1_000_000_000;

    struct Bench {
        sender: Sender,
        config: Config,
        random: Stream,
        now: u64,
    }

    impl Bench {
        fn new(recovery: Recovery, initial_window: f64) -> Self {
            let config = Config {
                linux: false,
                recovery,
                initial_window,
                reduction: WindowReduction::AtOnce,
                detect_lost: false,
                max_window: u64::MAX,
                ecn: true,
                accurate_ecn: false,
                ecn_always: false,
                limited_transmit: true,
                pacing: Pacing::Auto,
                hystart: false,
                rack: false,
                dup_threshold: 3,
                min_rto: 200 * MS,
                max_rto: 60_000 * MS,
                initial_rto: 1000 * MS,
            };
            let reno = CongestionSpec::from_values("reno", &[]).expect("reno is registered");
            let mut sender = Sender::new(reno.build(0), &config, f64::INFINITY);
            sender.open(0, false, &config);
            sender.written = u64::MAX;
            Self {
                sender,
                config,
                random: Stream::new(1, Owner::Flow, 0),
                now: MS,
            }
        }

        /// All that may be sent now; retransmissions are negative.
        fn sent(&mut self) -> Vec<i64> {
            let mut segments = Vec::new();
            while let Some(segment) = self.sender.next_segment(self.now, &self.config) {
                segments.push(if segment.retransmission {
                    -(segment.seq as i64)
                } else {
                    segment.seq as i64
                });
            }
            segments
        }

        fn ack(&mut self, cum: u64, sack: u64, flags: u8) -> Vec<i64> {
            self.now += 10 * MS;
            let ack = Ack {
                at: self.now,
                cum,
                echo: self.now - 100 * MS,
                sack,
                blocks: 0,
                flags: Flags(flags),
            };
            self.sender
                .on_ack(self.now, &ack, &[], &self.config, &mut self.random);
            self.sent()
        }
    }

    #[test]
    fn slow_start_then_one_segment_a_round() {
        let mut bench = Bench::new(Recovery::Sack, 2.0);
        bench.now = 200 * MS;
        assert_eq!(bench.sent(), [0, 1]);
        assert_eq!(bench.ack(1, NONE, 0), [2, 3]);
        assert_eq!(bench.ack(2, NONE, 0), [4, 5]);
        bench.sender.window.ssthresh = 4.0;
        let sent: usize = (3..=6).map(|cum| bench.ack(cum, NONE, 0).len()).sum();
        assert_eq!((bench.sender.window.cwnd as u64, sent), (4, 4)); // 4 + 3.8/4...
        assert!(
            (bench.sender.window.cwnd - 5.0).abs() < 0.1,
            "{}",
            bench.sender.window.cwnd
        );
    }

    /// RFC 3042, RFC 6675 section 5: two new segments for two duplicates, then the hole; the second hole when the pipe allows.
    #[test]
    fn selective_recovery() {
        let mut bench = Bench::new(Recovery::Sack, 10.0);
        bench.now = 200 * MS;
        assert_eq!(bench.sent(), (0..10).collect::<Vec<_>>());
        bench.sender.window.ssthresh = 10.0;
        // 0 and 2 are lost
        assert_eq!(bench.ack(0, 1, 0), [10]);
        assert_eq!(bench.ack(0, 3, 0), [11]);
        assert_eq!(bench.ack(0, 4, 0), [0]); // the retransmission of 0 prints as -0
        assert_eq!(bench.sender.state, State::Recovery);
        assert_eq!(
            (bench.sender.window.cwnd, bench.sender.window.ssthresh),
            (5.0, 5.0)
        );
        // pipe: 12 outstanding, 3 known to have arrived, 0 lost and sent again, 2 not yet lost by RFC 6675
        assert!(bench.ack(0, 5, 0).is_empty());
        let mut resent = Vec::new();
        for sack in 6..12 {
            resent.extend(bench.ack(0, sack, 0));
        }
        assert!(resent.contains(&-2), "{resent:?}");
        assert_eq!(resent.iter().filter(|&&segment| segment < 0).count(), 1);
        bench.ack(2, NONE, 0);
        bench.ack(12, NONE, 0);
        assert_eq!(bench.sender.state, State::Open);
        assert_eq!(bench.sender.window.cwnd, 5.0);
        assert_eq!(bench.sender.counters.fast_recoveries, 1);
        assert_eq!(bench.sender.counters.timeouts, 0);
    }

    /// RFC 6582: a partial ACK repairs the next hole and stays in recovery; RFC 5681's Reno leaves it.
    #[test]
    fn partial_acknowledgements() {
        for (recovery, stays) in [(Recovery::NewReno, true), (Recovery::Reno, false)] {
            let mut bench = Bench::new(recovery, 10.0);
            bench.now = 200 * MS;
            bench.sent();
            for _ in 0..3 {
                bench.ack(0, NONE, 0);
            }
            assert_eq!(bench.sender.state, State::Recovery);
            assert_eq!(
                (bench.sender.window.ssthresh, bench.sender.window.cwnd),
                (5.0, 8.0)
            );
            for _ in 0..5 {
                bench.ack(0, NONE, 0);
            }
            let sent = bench.ack(4, NONE, 0);
            assert_eq!(bench.sender.state == State::Recovery, stays, "{recovery:?}");
            assert_eq!(sent.first() == Some(&-4), stays, "{recovery:?} {sent:?}");
            bench.ack(bench.sender.high, NONE, 0);
            assert_eq!(bench.sender.state, State::Open);
        }
    }

    #[test]
    fn tahoe_goes_back_and_starts_slowly() {
        let mut bench = Bench::new(Recovery::Tahoe, 10.0);
        bench.now = 200 * MS;
        bench.sent();
        bench.ack(0, NONE, 0);
        bench.ack(0, NONE, 0);
        assert_eq!(bench.ack(0, NONE, 0), [0]);
        assert_eq!(
            (bench.sender.window.cwnd, bench.sender.window.ssthresh),
            (1.0, 5.0)
        );
        assert_eq!(bench.ack(10, NONE, 0).len(), 2);
    }

    /// RFC 6298: first samples (2.2, 2.3), the floor, doubling (5.5), restart by an ACK of new data.
    #[test]
    fn retransmission_timer() {
        let mut bench = Bench::new(Recovery::Sack, 4.0);
        bench.now = 1000 * MS;
        bench.sent();
        assert_eq!(bench.sender.deadline, 2000 * MS);
        bench.ack(1, NONE, 0); // 100 ms
        assert_eq!(
            (bench.sender.srtt, bench.sender.rttvar),
            (100 * MS, 50 * MS)
        );
        assert_eq!(bench.sender.deadline, bench.now + 300 * MS);
        for cum in 2..40 {
            bench.ack(cum, NONE, 0);
        }
        assert_eq!(bench.sender.timeout(&bench.config), 200 * MS);
        let cwnd = bench.sender.window.cwnd;
        for doubling in 0..4 {
            bench.now = bench.sender.deadline;
            bench.sender.on_timeout(bench.now, &bench.config);
            assert_eq!(bench.sent().len(), 1);
            assert_eq!(bench.sender.deadline, bench.now + (400 << doubling) * MS);
            assert_eq!(bench.sender.window.cwnd, 1.0);
            // RFC 5681, section 3.1: ssthresh is not reduced again by the same segment
            assert_eq!(bench.sender.window.ssthresh, (cwnd / 2.0).max(2.0));
        }
        bench.ack(41, NONE, 0);
        assert_eq!(bench.sender.timeout(&bench.config), 200 * MS);
    }

    /// After a timeout only what is missing is sent again (RFC 6675, section 5.1).
    #[test]
    fn a_timeout_keeps_the_scoreboard() {
        let mut bench = Bench::new(Recovery::Sack, 6.0);
        bench.now = 200 * MS;
        bench.sent();
        bench.ack(0, 2, 0);
        bench.ack(0, 4, 0);
        bench.now = bench.sender.deadline;
        bench.sender.on_timeout(bench.now, &bench.config);
        assert_eq!(bench.sent(), [0]);
        assert_eq!(bench.ack(1, NONE, 0), [-1, -3]);
        // 6 and 7 were sent by limited transmit; the timeout has lost them too
        assert_eq!(bench.ack(3, NONE, 0), [-5, -6]);
        assert_eq!(bench.sender.counters.fast_recoveries, 0);
    }

    /// RFC 3168, section 6.1.2: one reduction a window, and CWR on the next new segment.
    #[test]
    fn congestion_is_answered_once_a_window() {
        let mut bench = Bench::new(Recovery::Sack, 10.0);
        bench.now = 200 * MS;
        bench.sent();
        bench.ack(1, NONE, Flags::ECE);
        assert_eq!(bench.sender.window.cwnd, 5.0);
        for cum in 2..10 {
            bench.ack(cum, NONE, Flags::ECE);
        }
        assert_eq!(bench.sender.counters.ecn_reductions, 1);
        bench.ack(11, NONE, Flags::ECE);
        assert_eq!(bench.sender.counters.ecn_reductions, 2);
    }

    /// A hole whose retransmission is lost too: found by what was sent after it, or else by the timer.
    #[test]
    fn lost_retransmissions() {
        for detect in [true, false] {
            let mut bench = Bench::new(Recovery::Sack, 10.0);
            bench.config.detect_lost = detect;
            bench.now = 200 * MS;
            bench.sent();
            let mut resent = 0;
            // segment 0 is lost, and lost again; everything else arrives
            for seq in 1..60 {
                if seq < bench.sender.high {
                    resent += bench
                        .ack(0, seq, 0)
                        .iter()
                        .filter(|&&segment| segment <= 0)
                        .count();
                }
            }
            assert_eq!(resent > 1, detect, "sent again {resent} times");
        }
    }

    /// One segment for every two that are acknowledged, or a share of them, until half of the window is left.
    #[test]
    fn reductions_over_a_round() {
        for (reduction, expected) in [
            (WindowReduction::AtOnce, 10),
            (WindowReduction::RateHalving, 10),
            (WindowReduction::Prr, 10),
        ] {
            let mut bench = Bench::new(Recovery::Sack, 20.0);
            bench.config.reduction = reduction;
            bench.config.limited_transmit = false;
            bench.now = 200 * MS;
            bench.sent();
            bench.sender.window.ssthresh = 20.0;
            let mut gaps = vec![0];
            for seq in 1..20 {
                match bench.ack(0, seq, 0).len() {
                    0 => *gaps.last_mut().expect("not empty") += 1,
                    _ => gaps.push(0),
                }
            }
            let longest = *gaps[1..].iter().max().expect("segments were sent");
            if reduction == WindowReduction::AtOnce {
                assert!(longest >= 6, "silence while the pipe empties: {gaps:?}");
            } else {
                assert!(longest <= 2, "{reduction:?}: {gaps:?}");
            }
            bench.ack(20, NONE, 0);
            assert_eq!(bench.sender.state, State::Open);
            assert_eq!(bench.sender.window.cwnd as u64, expected, "{reduction:?}");
        }
    }

    #[test]
    fn the_receivers_window_holds() {
        let mut bench = Bench::new(Recovery::Sack, 10.0);
        bench.now = 200 * MS;
        bench.config.max_window = 4;
        assert_eq!(bench.sent(), [0, 1, 2, 3]);
        assert_eq!(bench.ack(1, NONE, 0), [4]);
        for cum in 2..50 {
            bench.ack(cum, NONE, 0);
        }
        // a window that is not used does not grow (RFC 7661)
        assert!(
            bench.sender.window.cwnd <= 10.0,
            "{}",
            bench.sender.window.cwnd
        );
    }

    /// RFC 6937, section 3: what a cumulative ACK covers is delivered once, however it was acknowledged before.
    #[test]
    fn proportional_reduction_counts_each_segment_once() {
        let mut bench = Bench::new(Recovery::Sack, 20.0);
        bench.config.reduction = WindowReduction::Prr;
        bench.config.limited_transmit = false;
        bench.now = 200 * MS;
        bench.sent();
        bench.sender.window.ssthresh = 20.0;
        // 0 and 5 are lost
        for seq in (1..20).filter(|&seq| seq != 5) {
            bench.ack(0, seq, 0);
        }
        // the third selective ACK begins the recovery and counts, 3 to 19 without 5
        assert_eq!(bench.sender.prr_delivered, 16);
        bench.ack(5, NONE, 0);
        assert_eq!(bench.sender.prr_delivered, 17);
    }

    /// A bench with RACK; round trips of 100 ms have been seen, `cum` segments are acknowledged and ten more are out, sent a millisecond apart.
    fn rack_bench() -> (Bench, u64) {
        let mut bench = Bench::new(Recovery::Sack, 10.0);
        bench.config.rack = true;
        let reno = CongestionSpec::from_values("reno", &[]).expect("reno is registered");
        bench.sender = Sender::new(reno.build(0), &bench.config, f64::INFINITY);
        bench.sender.open(0, false, &bench.config);
        bench.sender.written = u64::MAX;
        bench.now = 1000 * MS;
        bench.sent();
        bench.sender.window.ssthresh = 10.0;
        bench.now += 100 * MS;
        for cum in 1..=10 {
            bench.now += MS;
            let ack = Ack {
                at: bench.now,
                cum,
                echo: bench.now - 100 * MS,
                sack: NONE,
                blocks: 0,
                flags: Flags(0),
            };
            bench
                .sender
                .on_ack(bench.now, &ack, &[], &bench.config, &mut bench.random);
            bench.sent();
        }
        let next = bench.sender.next;
        assert_eq!(bench.sender.una, 10);
        (bench, next)
    }

    fn rack_ack(bench: &mut Bench, cum: u64, sack: u64) -> Vec<i64> {
        let ack = Ack {
            at: bench.now,
            cum,
            echo: bench.now - 100 * MS,
            sack,
            blocks: 0,
            flags: Flags(0),
        };
        bench
            .sender
            .on_ack(bench.now, &ack, &[], &bench.config, &mut bench.random);
        bench.sent()
    }

    /// RFC 8985, section 6.2: one segment overtaken is given a quarter of the smallest round trip; the timer then declares it lost, without further ACKs.
    #[test]
    fn rack_waits_for_the_reordering_window() {
        let (mut bench, _) = rack_bench();
        // segment 10 was sent at 1101 ms, 11 a millisecond later; 11 arrives after 100 ms
        bench.now = 1202 * MS;
        assert!(!rack_ack(&mut bench, 10, 11).contains(&-10));
        assert_eq!(bench.sender.state, State::Open);
        // 1101 + 100 + 25 ms
        assert_eq!(bench.sender.next_timer(), 1226 * MS);
        bench.now = 1226 * MS;
        bench.sender.on_timer(bench.now, &bench.config);
        assert_eq!(bench.sender.state, State::Recovery);
        assert_eq!(bench.sent().first(), Some(&-10));
    }

    /// The segment arrives within the window: nothing was lost, and from now on three overtaken ones are no longer enough.
    #[test]
    fn rack_bears_reordering() {
        let (mut bench, _) = rack_bench();
        bench.now = 1202 * MS;
        rack_ack(&mut bench, 10, 11);
        bench.now = 1210 * MS;
        rack_ack(&mut bench, 12, NONE);
        assert_eq!(bench.sender.state, State::Open);
        for seq in 13..17 {
            bench.now += MS / 10;
            assert!(
                rack_ack(&mut bench, 12, seq)
                    .iter()
                    .all(|&segment| segment > 0)
            );
        }
        assert_eq!(bench.sender.state, State::Open, "reordering has been seen");
        assert_eq!(bench.sender.counters.fast_recoveries, 0);
    }

    /// Without reordering seen, the third segment that overtakes leaves no time (section 6.2, step 4).
    #[test]
    fn rack_is_as_quick_as_three_duplicates() {
        let (mut bench, _) = rack_bench();
        let mut sent = vec![];
        for seq in 11..14 {
            bench.now = (1191 + seq) * MS;
            assert!(!sent.contains(&-10));
            sent.extend(rack_ack(&mut bench, 10, seq));
        }
        assert!(sent.contains(&-10), "{sent:?}");
        // the retransmission is lost too: what was sent after it tells
        bench.now += 100 * MS;
        let mut again = vec![];
        for seq in 14..30 {
            bench.now += 20 * MS;
            if seq < bench.sender.high {
                again.extend(rack_ack(&mut bench, 10, seq));
            }
        }
        assert!(again.contains(&-10), "{again:?}");
        assert_eq!(bench.sender.counters.timeouts, 0);
    }

    /// Section 7: nothing arrives for two smoothed round trips: a new segment goes out as a probe, or the last one again. The window falls only
    /// where the probe was what repaired a loss.
    #[test]
    fn tail_loss_probes() {
        for (new, lost) in [(true, false), (false, true), (false, false)] {
            let (mut bench, next) = rack_bench();
            if !new {
                bench.sender.written = next;
            }
            let srtt = bench.sender.srtt;
            assert_eq!(bench.sender.next_timer(), bench.now + 2 * srtt);
            bench.now = bench.sender.next_timer();
            bench.sender.on_timer(bench.now, &bench.config);
            let last = next as i64 - 1;
            assert_eq!(bench.sent(), [if new { last + 1 } else { -last }]);
            assert_eq!(bench.sender.counters.timeouts, 0);
            // one probe only; then the retransmission timer
            assert_eq!(bench.sender.next_timer(), bench.sender.deadline);
            bench.sender.written = u64::MAX;
            let cwnd = bench.sender.window.cwnd;
            bench.now += 100 * MS;
            rack_ack(&mut bench, next, NONE);
            if lost {
                rack_ack(&mut bench, next + 1, NONE);
                assert!(bench.sender.window.cwnd < cwnd, "the probe repaired a loss");
            } else {
                rack_ack(&mut bench, next, NONE); // the second copy has arrived as well
                rack_ack(&mut bench, next + 1, NONE);
                assert!(bench.sender.window.cwnd >= cwnd);
            }
        }
    }

    /// A bench in style "linux": round trips of 100 ms have been seen, 20 segments are out, the window is 20 and slow start over.
    fn linux_bench() -> Bench {
        let mut bench = Bench::new(Recovery::Sack, 20.0);
        bench.config.linux = true;
        bench.config.rack = true;
        bench.config.ecn = true;
        bench.config.reduction = WindowReduction::Prr;
        let reno = CongestionSpec::from_values("reno", &[]).expect("reno is registered");
        bench.sender = Sender::new(reno.build(0), &bench.config, f64::INFINITY);
        bench.sender.open(100 * MS, false, &bench.config);
        bench.sender.written = u64::MAX;
        bench.now = 1000 * MS;
        bench.sent();
        bench.sender.window.ssthresh = 20.0;
        bench.now += 100 * MS;
        bench
    }

    /// The timeout is the smoothed round trip and 200 ms at least, whatever the variation.
    #[test]
    fn linux_adds_the_smallest_timeout_to_the_round_trip() {
        let mut bench = linux_bench();
        for cum in 1..=20 {
            bench.ack(cum, NONE, 0);
        }
        let rto = bench.sender.timeout(&bench.config);
        assert_eq!(rto, bench.sender.srtt + 200 * MS);
    }

    /// A mark brings the window down over a round trip, to half; the ACK that ends that lets it grow again.
    #[test]
    fn linux_spreads_the_answer_to_a_mark() {
        let mut bench = linux_bench();
        let mut sent = bench.ack(2, NONE, Flags::ECE).len();
        assert_eq!(bench.sender.window.ssthresh, 10.0);
        assert!(bench.sender.window.cwnd > 15.0, "not at once");
        for cum in (4..=20).step_by(2) {
            sent += bench.ack(cum, NONE, Flags::ECE).len();
        }
        assert_eq!(sent, 10, "one for two");
        assert_eq!(bench.sender.counters.ecn_reductions, 1);
        bench.ack(22, NONE, 0);
        assert_eq!(bench.sender.window.cwnd, 10.0 + 2.0 / 10.0);
    }

    /// A recovery is over with everything that was sent before it; what was sent since, was lost and is on its way again leads to the next at once, without
    /// an ACK that lets the window grow between them.
    #[test]
    fn linux_recovers_again_from_what_is_missing() {
        let mut bench = linux_bench();
        // 0 is lost, and 22 of those sent in the recovery
        let mut resent = Vec::new();
        for seq in (1..30).filter(|&seq| seq != 22) {
            if seq < bench.sender.high {
                resent.extend(bench.ack(0, seq, 0).into_iter().filter(|&seq| seq <= 0));
            }
        }
        assert_eq!((resent.first(), resent.last()), (Some(&0), Some(&-22)));
        assert_eq!(bench.sender.window.ssthresh, 10.0);
        bench.ack(22, NONE, 0);
        assert_eq!(bench.sender.state, State::Recovery);
        assert_eq!(bench.sender.counters.fast_recoveries, 2);
        assert_eq!(bench.sender.window.ssthresh, 5.0);
        let sent = bench.ack(23, NONE, 0);
        assert!(sent.iter().all(|&segment| segment > 0), "{sent:?}");
    }

    /// A paced segment that leaves later than it might shortens the gap after it, by half at most.
    #[test]
    fn linux_gives_credit_for_pacing() {
        for (linux, late, gap) in [(true, 0, 10), (true, 2, 8), (true, 50, 5), (false, 50, 10)] {
            let mut bench = linux_bench();
            bench.config.linux = linux;
            // 20 segments in 240 ms, with 20 % to spare: one in 10 ms
            bench.sender.srtt = 240 * MS;
            bench.sender.window.ssthresh = 2.0;
            bench.sender.next_send = bench.now;
            let now = bench.now + late * MS;
            bench.sender.pace(now, &bench.config);
            let found = bench.sender.next_send - now;
            assert!(found.abs_diff(gap * MS) < 1000, "{found}");
        }
    }

    /// DCTCP halves the window for a loss even while it comes down for a mark; others have answered it already. Its retransmissions are ECN-capable.
    #[test]
    fn linux_answers_a_loss_after_a_mark() {
        for (kind, left) in [("reno", 10.0), ("dctcp", 9.0)] {
            let mut bench = linux_bench();
            let spec = CongestionSpec::from_values(kind, &[]).expect("it is registered");
            let control = match spec {
                CongestionSpec::Dctcp(params) => CongestionSpec::Dctcp(DctcpParams {
                    whole_packets: true,
                    ..params
                }),
                other => other,
            };
            bench.sender.controller = control.build(0);
            bench.config.accurate_ecn = kind == "dctcp";
            bench.ack(2, NONE, Flags::ECE);
            assert_eq!(bench.sender.window.ssthresh, 10.0);
            for seq in [4, 5, 6] {
                bench.ack(2, seq, 0);
            }
            assert_eq!(bench.sender.state, State::Recovery);
            assert_eq!(bench.sender.window.ssthresh, left, "{kind}");
        }
        let mut config = linux_bench().config;
        let segment = Segment {
            seq: 0,
            retransmission: true,
            cwr: false,
        };
        assert!(!config.ecn_flags(&segment).has(Flags::ECT));
        config.ecn_always = true;
        assert!(config.ecn_flags(&segment).has(Flags::ECT));
    }

    /// RFC 5682, section 3.1: after a timeout new data goes out before what counts as lost; what is delivered counts in full.
    #[test]
    fn linux_asks_whether_a_timeout_was_needed() {
        for real in [true, false] {
            let mut bench = linux_bench();
            bench.now = bench.sender.deadline;
            bench.sender.on_timeout(bench.now, &bench.config);
            assert_eq!(bench.sent(), [0]);
            assert_eq!(bench.sender.window.ssthresh, 10.0);
            let cwnd = bench.sender.window.cwnd;
            bench.now += 100 * MS;
            if real {
                assert_eq!(bench.ack(1, NONE, 0), [20, 21]);
                assert_eq!(bench.sender.window.cwnd, cwnd + 1.0);
                bench.now += 100 * MS;
                assert_eq!(bench.ack(1, 20, 0), [-1]);
                assert_eq!(bench.sender.state, State::Loss);
            } else {
                // 1 to 3 were sent once only: nothing was lost
                bench.ack(4, NONE, 0);
                assert_eq!(bench.sender.state, State::Open);
                assert!(bench.sender.window.cwnd >= 20.0);
                assert_eq!(bench.sender.window.ssthresh, 20.0);
            }
        }
    }

    /// One timer, in whole ticks: a probe two round trips and 2 ms after an ACK, or a timeout after the first unacknowledged segment was sent; then the
    /// retransmission timer.
    #[test]
    fn linux_has_one_timer_in_ticks() {
        let mut bench = linux_bench();
        let first = bench.now + 10 * MS;
        for cum in 1..=20 {
            bench.sender.written = if cum == 1 { 21 } else { 20 };
            bench.ack(cum, NONE, 0);
        }
        bench.sender.written = u64::MAX;
        assert_eq!(bench.sender.una, 20);
        // one segment is out, sent at `first`; the ACK that left it alone has set the timer
        assert_eq!((bench.sender.srtt, bench.sender.rto), (100 * MS, 300 * MS));
        assert_eq!(
            bench.sender.next_timer(),
            wheel::expiry(bench.now, 300 * MS)
        );
        bench.sent();
        assert_eq!(
            bench.sender.next_timer(),
            wheel::expiry(bench.now, first + 300 * MS - bench.now)
        );
        bench.now = bench.sender.next_timer();
        let next = bench.sender.next;
        bench.sender.on_timer(bench.now, &bench.config);
        assert_eq!(bench.sent(), [next as i64]);
        let timeout = bench.sender.timeout(&bench.config);
        assert_eq!(timeout % MS, 0);
        assert_eq!(bench.sender.next_timer(), wheel::expiry(bench.now, timeout));
        assert_eq!(bench.sender.next_timer(), bench.sender.deadline);
    }
}
