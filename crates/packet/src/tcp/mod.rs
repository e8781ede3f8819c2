//! A TCP sender: what it may send, what it makes of acknowledgements, and its timer.
//!
//! Sans I/O: the engine hands in acknowledgements and time, and asks for segments. Sequence numbers
//! count segments; times are picoseconds on the sender's own clock.
//!
//! Deviation from RFC 9293, section 3.4: sequence numbers count segments from zero and never wrap,
//! all segments but the last of a transfer are full, and nothing is said of the end of a
//! connection.
//!
//! Deviation from RFC 7323, section 3: time stamps are exact and in every segment, though options
//! take no bytes beyond `header_size`; there is no PAWS, as nothing wraps.

//= RFC 5681 3/1: deviation, congestion controls and the initial window are those of later documents
//=   where a scenario says so or says nothing
//= RFC 5681 3.1/6..7: not applicable, a flow's segments have one size
//= RFC 6675 4/2: not applicable, segments have numbers and no content that could be forgotten

mod accecn;
mod ack_summary;
pub(crate) mod config;
mod congestion;
pub(crate) mod delayed_ack;
pub(crate) mod drive;
mod ecn;
mod hystart;
mod linux_timer_wheel;
mod loss;
mod negotiation;
mod output;
mod pacing;
mod prr;
pub(crate) mod receive_buffer;
pub(crate) mod receiver;
mod recovery;
mod reduction;
mod resume;
mod rtt;
mod scoreboard;
mod search;
mod sent_packets;
mod slow_start;
#[cfg(test)]
mod tests;
mod timers;
mod undo;
mod usage;

use std::mem::offset_of;

use ackclock_algorithms::congestion::{CaState, CongestionControl as _, Needs, Window};
use ackclock_algorithms::registry::Controller;
use ackclock_algorithms::{Stream, Time};
use ackclock_scenario::WindowReduction;

use crate::packet::{Ack, Flags, NONE};
use accecn::AccEcn;
use ack_summary::{AckSummary, Wanted, reported_duplicate};
pub(crate) use config::Config;
use config::{PacingPolicy, RecoveryPolicy, RtoPolicy, TimeoutPolicy, TimerPolicy};
use ecn::EcnReaction;
use loss::rack::Rack;
use pacing::Pacer;
use recovery::Recovery;
use resume::Resume;
use rtt::RttEstimator;
use scoreboard::Scoreboard;
pub(crate) use sent_packets::SEGMENT_BYTES;
use sent_packets::SentPackets;
use slow_start::SlowStart;
use timers::Timers;
use usage::WindowUsage;

/// State of the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Not yet connected, or connecting.
    Closed,
    /// Nothing lost that it knows of.
    Open,
    /// The same, and the window comes down for a mark (style "linux").
    Cwr,
    /// Repairing losses found by duplicate or selective ACKs.
    Recovery,
    /// Repairing after a retransmission timeout.
    Loss,
}

impl State {
    /// Whether it knows of no loss.
    pub(crate) fn is_open(self) -> bool {
        matches!(self, Self::Open | Self::Cwr)
    }
}

/// A segment to put on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) seq: u64,
    pub(crate) retransmission: bool,
    /// Carries CWR (RFC 3168, section 6.1.2).
    pub(crate) cwr: bool,
}

/// RACK's state, where there is one.
fn rack_of(sent_packets: &mut Option<Box<SentPackets>>) -> Option<&mut Rack> {
    sent_packets.as_mut()?.rack.as_mut()
}

/// The whole segments of a window: `as u64`, in fewer instructions.
#[inline]
fn whole(window: f64) -> u64 {
    (window as i64).max(0) as u64
}

/// Counts of one sender.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct Counters {
    /// Sum (ps) and number of RTT samples.
    pub(crate) rtt_sum: u128,
    pub(crate) rtt_samples: u64,
    pub(crate) timeouts: u64,
    pub(crate) fast_recoveries: u64,
    pub(crate) ecn_reductions: u64,
}

/// The sending half of a TCP connection; what each ACK needs comes first.
#[repr(C)]
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
    /// ACKs of segments from here on begin a new round trip.
    round_end: u64,
    last_sent: u64,
    rtt: RttEstimator,
    dup_acks: u32,
    pub(crate) state: State,
    /// State as the congestion control knows it.
    ca_state: CaState,
    /// No retransmission, CWR or recovery is pending: what [`Sender::fast_path_eligible`] asks of
    /// the state.
    /// Found anew after each ACK that is not plain, and withdrawn by timeouts.
    no_loss_pending: bool,
    /// Recovery, timers and samples are those of the RFCs, no segment is remembered, and the
    /// congestion control asks for nothing beyond `on_ack`: the fast path is for these.
    has_fast_path: bool,
    /// The same for ACKs within a recovery: it is that of RFC 6675, without options.
    short_recovery: bool,
    /// Segments are paced, or remembered, or the use of the window is.
    tracks_segments: bool,
    /// Whether the congestion control wants delivery-rate samples, and owns the window.
    delivery: bool,
    /// The next segment out is a new one, whatever the window says (a probe).
    probe: bool,
    pub(crate) pacer: Pacer,
    pub(crate) timers: Timers,
    /// State of whatever ends the initial slow start, until it is over.
    slow_start: Option<Box<SlowStart>>,
    pub(crate) counters: Counters,
    pub(crate) controller: Controller,
    scoreboard: Scoreboard,
    recovery: Recovery,
    ecn: EcnReaction,
    /// Needs of the congestion control.
    needs: Needs,
    /// The receiver takes segments below this.
    offered: u64,
    /// Records of each segment in the network, for congestion controls that want delivery-rate
    /// samples, and for RACK.
    sent_packets: Option<Box<SentPackets>>,
    /// Knowledge of the receiver's count of marks, where it has one.
    accecn: Option<Box<AccEcn>>,
    /// How much of the window is used, where that is remembered.
    usage: Option<Box<WindowUsage>>,
    /// Knowledge of the path from before, until that is used, or of no use.
    resume: Option<Box<Resume>>,
}

/// Outcome of a handshake, as its sender sees it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Handshake {
    /// Its sample of the round trip, ps; 0 without a usable one.
    pub(crate) rtt: u64,
    /// SYNs sent after the first.
    pub(crate) retries: u32,
    /// One of these is answered: those before it, or the answers to them, were lost.
    pub(crate) lost: bool,
}

impl Sender {
    /// Bytes at its beginning that a plain ACK needs, those of additive increase among them.
    pub(crate) const HOT_BYTES: usize = offset_of!(Self, controller) + 64;

    pub(crate) fn new(controller: Controller, config: &Config, ssthresh: f64) -> Self {
        let needs = controller.needs();
        let selective = config.recovery.is_selective();
        let rack = selective && config.loss.rack;
        let paced =
            needs.pacing || config.pacing == PacingPolicy::Window || config.resume.is_some();
        let remembers = config.remembers(&needs);
        let sent_packets = remembers.then(|| {
            let tick = match config.timers {
                TimerPolicy::Separate => 1,
                TimerPolicy::Shared => linux_timer_wheel::TICK_PS,
            };
            Box::new(SentPackets::new(rack, tick))
        });
        let tracks_segments = paced || remembers || config.remembers_use;
        let has_fast_path =
            config.has_short_path() && !(needs.delivery || needs.every_ack || needs.ca_state);
        Self {
            una: 0,
            next: 0,
            high: 0,
            written: 0,
            offered: config.first_offer,
            window: Window {
                //= RFC 5681 3.1/2..3: deviation, ten segments (RFC 6928) unless `initial_window`
                //=   says otherwise
                cwnd: config.initial_window,
                //= RFC 5681 3.1/8: done, test slow_start_then_one_segment_a_round;
                //=   `initial_ssthresh` is "unlimited" by default
                ssthresh,
            },
            state: State::Closed,
            dup_acks: 0,
            recovery: Recovery::new(),
            scoreboard: if rack {
                Scoreboard::by_time()
            } else {
                Scoreboard::default()
            },
            rtt: RttEstimator::new(config.rto.policy == RtoPolicy::Linux, config.rto.initial),
            timers: Timers::default(),
            round_end: 0,
            ecn: EcnReaction::default(),
            ca_state: CaState::Open,
            needs,
            pacer: Pacer::new(paced),
            last_sent: 0,
            sent_packets,
            tracks_segments,
            delivery: needs.delivery && selective,
            has_fast_path,
            short_recovery: has_fast_path && config.has_short_recovery(),
            no_loss_pending: false,
            probe: false,
            accecn: config.ecn.accecn.map(|_| Box::default()),
            usage: config.remembers_use.then(Box::default),
            slow_start: SlowStart::new(config, ssthresh),
            resume: config.resume.map(|saved| Box::new(Resume::new(saved))),
            counters: Counters::default(),
            controller,
        }
    }

    /// Smoothed RTT, s; NaN before the first sample.
    pub(crate) fn srtt_seconds(&self) -> f64 {
        self.rtt.srtt_seconds()
    }

    /// Finds out whether no retransmission, CWR or recovery is pending.
    #[inline]
    fn update_no_loss_pending(&mut self, config: &Config) {
        // else selective acknowledgements tell of what is missing, and limited transmit is theirs
        let selective = config.recovery.is_selective();
        self.no_loss_pending = self.has_fast_path
            && self.state == State::Open
            && self.scoreboard.is_clear()
            && self.recovery.retransmit_next == NONE
            && self.next == self.high
            && self.ecn.is_clear()
            && !self.timers.is_pausing()
            && (self.dup_acks == 0 || selective);
    }

    /// Segments outstanding.
    pub(crate) fn outstanding(&self) -> u64 {
        self.next - self.una
    }

    /// An ACK says that segments below `edge` may be sent.
    pub(crate) fn hear_offer(&mut self, edge: u64) {
        self.offered = self.offered.max(edge);
    }

    /// Whether the application has written segment `seq` and the receiver's window holds it.
    #[inline(always)]
    fn may_send(&self, seq: u64, config: &Config) -> bool {
        seq < self.written.min(self.offered) && seq - self.una < config.max_window
    }

    /// Whether all that the application will ever write (`total` segments) is acknowledged.
    #[inline]
    pub(crate) fn is_done(&self, total: u64) -> bool {
        self.una >= total
    }

    /// The connection stands.
    pub(crate) fn open(&mut self, now: u64, handshake: Handshake, config: &Config) {
        let Handshake { rtt, retries, lost } = handshake;
        self.state = State::Open;
        self.timers.stop_rto();
        self.update_no_loss_pending(config);
        //= RFC 5681 3.1/4: done, test the_handshake_leaves_the_window_as_it_is
        //= RFC 5681 3.1/5: done, test a_lost_syn_leaves_one_segment; where the answer echoes the
        //=   first SYN, only the timer was early (RFC 6928, section 2)
        //= RFC 5681 3.1/5 (style "linux"): deviation, only from the second retransmission on (RFC
        //=   6928, section 2)
        let patient = config.timeout == TimeoutPolicy::Linux;
        if lost && (retries > 1 || !patient) {
            self.window.cwnd = self.window.cwnd.min(1.0);
        }
        self.rtt.open(rtt == 0 && retries > 0, config);
        if rtt > 0 {
            self.sample(now, rtt, 1, config);
        }
        if self.delivery {
            let srtt = Time(self.rtt.srtt).seconds();
            self.controller.on_open(Time(now), srtt, &mut self.window);
        }
    }

    /// A sample of the round-trip time, ps, with `in_flight` segments outstanding.
    #[inline]
    fn sample(&mut self, now: u64, rtt: u64, in_flight: u64, config: &Config) {
        self.sample_as((now, rtt), in_flight, config.rto.policy, config);
    }

    /// The same under a policy that the caller may know at compile time.
    #[inline(always)]
    fn sample_as(
        &mut self,
        (now, rtt): (u64, u64),
        in_flight: u64,
        policy: RtoPolicy,
        config: &Config,
    ) {
        let rtt = rtt.max(1);
        match policy {
            RtoPolicy::Rfc6298 => self.rtt.sample(rtt, in_flight, config),
            RtoPolicy::Clocked => {
                let outstanding = (self.una, self.next);
                self.rtt
                    .sample_clocked((now, rtt), outstanding, in_flight, config);
            }
            RtoPolicy::Linux => {
                let outstanding = (self.una, self.next);
                let min_apart = self.sent_packets.is_some();
                self.rtt.sample_linux(rtt, outstanding, min_apart, config);
            }
        }
        self.counters.rtt_sum += u128::from(rtt);
        self.counters.rtt_samples += 1;
    }

    /// Present retransmission timeout with its back-off (RFC 6298, rule 5.5).
    #[inline]
    pub(crate) fn timeout(&self, config: &Config) -> u64 {
        self.rtt.timeout(config)
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
        if blocks.is_empty() && self.fast_path_eligible(ack) {
            self.on_ack_fast_path(now, (ack.cum, ack.echo), config, random);
        } else {
            self.on_ack_slow_path(now, ack, blocks, config, random);
        }
    }

    /// [`Sender::on_ack`] of an ACK that is not plain.
    #[inline(always)]
    pub(crate) fn on_ack_slow_path(
        &mut self,
        now: u64,
        ack: &Ack,
        blocks: &[(u64, u64)],
        config: &Config,
        random: &mut Stream,
    ) {
        if self.has_fast_path {
            self.on_ack_slow_path_of::<false>(now, ack, blocks, config, random);
        } else {
            self.on_ack_slow_path_of::<true>(now, ack, blocks, config, random);
        }
    }

    /// [`Sender::on_ack_slow_path`]; without `ANY` of the options that [`Sender::has_fast_path`]
    /// rules out the compiler leaves out what they ask for.
    #[inline(never)]
    fn on_ack_slow_path_of<const ANY: bool>(
        &mut self,
        now: u64,
        ack: &Ack,
        blocks: &[(u64, u64)],
        config: &Config,
        random: &mut Stream,
    ) {
        let before = self.next - self.una;
        let cwnd_limited = match &self.usage {
            Some(usage) if ANY => usage.is_limited(&self.window),
            _ => self.is_limited(before),
        };
        let wanted = self.wanted::<ANY>(config);
        let mut summary = AckSummary {
            cwnd_limited,
            ece: ack.flags.has(Flags::ECE) && config.ecn.on && !wanted.marks,
            echo: ack.echo,
            ..AckSummary::new(now, before, self.timers.rto())
        };
        if ack.cum < self.una {
            // overtaken by a later one
            if wanted.linux && (ack.sack != NONE || !blocks.is_empty()) {
                self.on_old_ack(now, ack, blocks, config);
            }
            return;
        }
        let top = if wanted.linux {
            self.sacked_edge()
        } else {
            NONE
        };
        if wanted.duplicates
            && let Some(block) = reported_duplicate(ack, blocks)
        {
            summary.duplicates = self.note_duplicates(block);
        }
        if wanted.packets {
            self.note_delivered(now, ack.cum, if wanted.linux { ack.echo } else { 0 });
        }
        if wanted.linux {
            let packets = self.sent_packets.as_ref();
            summary.low_acked = packets.map_or(NONE, |packets| packets.lowest_original);
        }
        if ack.cum > self.una {
            summary.acked = ack.cum - self.una;
            if !self.scoreboard.is_clear() {
                summary.known = self.scoreboard.advance(self.una, ack.cum);
            }
            let policy = if ANY {
                config.rto.policy
            } else {
                RtoPolicy::Rfc6298
            };
            summary.rtt = self.advance(now, (ack.cum, ack.echo), before, policy, config);
        }
        if config.recovery.is_selective() {
            let wanted = (wanted, top);
            self.on_selective_ack::<ANY>(ack, blocks, wanted, &mut summary, config, random);
        } else {
            if wanted.marks {
                self.take_marks(ack, &mut summary, config);
            }
            self.act_on_ack::<ANY>(&summary, wanted.undo, config, random);
        }
        if ANY && self.resume.is_some() {
            self.follow_resume(&summary, config);
        }
        let restarts = config.rto.restart && self.high > self.una;
        if restarts || (self.timers.is_pausing() && !self.timers.is_running()) {
            self.restart_rto(now, config);
        }
        self.update_no_loss_pending(config);
    }

    /// Returns what the options of this sender want to know of an ACK: nothing without `ANY`.
    #[inline(always)]
    fn wanted<const ANY: bool>(&self, config: &Config) -> Wanted {
        let linux = ANY && config.recovery == RecoveryPolicy::Linux;
        Wanted {
            linux,
            duplicates: linux || (ANY && config.undo.duplicates),
            packets: ANY && self.sent_packets.is_some(),
            marks: ANY && self.accecn.is_some(),
            undo: ANY && config.undo.is_on(),
        }
    }

    /// The rest of [`Sender::on_ack_slow_path`] where acknowledgements are selective; `top` is
    /// [`Sender::sacked_edge`] before the ACK, where Linux asks.
    #[inline(always)]
    fn on_selective_ack<const ANY: bool>(
        &mut self,
        ack: &Ack,
        blocks: &[(u64, u64)],
        (wanted, top): (Wanted, u64),
        summary: &mut AckSummary,
        config: &Config,
        random: &mut Stream,
    ) {
        let now = summary.now;
        let edge = self.scoreboard.lost_edge();
        self.take_sacks(now, ack, blocks, (wanted.linux, top), summary, config);
        if ANY && config.rto.policy == RtoPolicy::Linux {
            self.take_samples_linux(summary, config);
        }
        if wanted.duplicates {
            self.adapt_reordering_window();
        }
        if wanted.marks {
            self.take_marks(ack, summary, config);
        }
        let waits = self.detect_losses::<ANY>(now, edge, summary, config);
        if config.reduction == WindowReduction::Prr {
            summary.loses |= self.finds_loss(edge);
        }
        if wanted.linux {
            self.on_ack_linux(summary, config, random);
        } else {
            self.act_on_ack::<ANY>(summary, wanted.undo, config, random);
        }
        if wanted.packets {
            self.after_ack(summary, waits, config, random);
        }
    }

    /// Takes an ACK as a sender with the recovery of an RFC does, and what its congestion control
    /// hears of it.
    #[inline(always)]
    fn act_on_ack<const ANY: bool>(
        &mut self,
        summary: &AckSummary,
        undoes: bool,
        config: &Config,
        random: &mut Stream,
    ) {
        if ANY {
            self.report_ack(summary, config);
        }
        if !(undoes && self.undo_if_needless(summary, config)) {
            if config.recovery.is_selective() {
                self.on_ack_sack(summary, config, random);
            } else {
                self.on_ack_cumulative(summary, config, random);
            }
        }
        if ANY {
            self.report_ca_state(summary.now, config);
        }
    }

    /// Takes the round trips of an ACK as Linux does: the smoothed one takes the first segment's, the
    /// smallest one and the congestion control the last one's.
    #[inline(always)]
    fn take_samples_linux(&mut self, summary: &mut AckSummary, config: &Config) {
        let Some(sent_packets) = &self.sent_packets else {
            return;
        };
        let (now, moves) = (summary.now, summary.acked > 0);
        let (first, last) =
            sent_packets.rtts_of_linux(now, summary.echo, moves, linux_timer_wheel::TICK_PS);
        summary.rtt = last;
        if last > 0 {
            self.rtt.min_rtt = self.rtt.min_rtt.min(last);
            if config.rto.times_segments || !moves {
                self.sample(now, first, summary.before, config);
            }
        }
    }

    /// Takes what the ACK acknowledges selectively; `top` is [`Sender::sacked_edge`] before it,
    /// where Linux asks.
    #[inline(always)]
    fn take_sacks(
        &mut self,
        now: u64,
        ack: &Ack,
        blocks: &[(u64, u64)],
        (linux, top): (bool, u64),
        summary: &mut AckSummary,
        config: &Config,
    ) {
        if !blocks.is_empty() {
            let own = (ack.sack != NONE).then(|| (ack.sack, ack.sack + 1));
            self.take_sack_blocks(now, own, blocks, (linux, top), summary, config);
        } else if ack.sack != NONE && ack.sack >= self.una {
            if linux {
                self.sack_in_order(now, ack.sack, top, summary, config);
            } else {
                summary.sacked += self.sack(now, ack.sack, config);
            }
        }
        if linux {
            self.note_reordering(summary, top);
            if let Some(sent_packets) = &mut self.sent_packets {
                sent_packets.order_as_linux();
            }
        }
    }

    /// Takes the segment that an ACK is for and its SACK blocks in the order in which they were
    /// sent: what one ACK tells has not overtaken each other.
    #[cold]
    #[inline(never)]
    fn take_sack_blocks(
        &mut self,
        now: u64,
        own: Option<(u64, u64)>,
        blocks: &[(u64, u64)],
        (linux, top): (bool, u64),
        summary: &mut AckSummary,
        config: &Config,
    ) {
        let mut last = None;
        while let Some((from, to)) = own
            .into_iter()
            .chain(blocks.iter().copied())
            .filter(|&block| Some(block) > last)
            .min()
        {
            last = Some((from, to));
            let mut next = from.max(self.una);
            // what earlier ACKs told is passed over in whole words: blocks may be of thousands
            while let Some(seq) = self.scoreboard.first_not_sacked(self.una, next, to) {
                next = seq + 1;
                if linux {
                    self.sack_in_order(now, seq, top, summary, config);
                } else {
                    summary.sacked += self.sack(now, seq, config);
                }
            }
        }
    }

    /// Segment `seq` is acknowledged selectively: 1 if for the first time.
    #[inline(always)]
    fn sack(&mut self, now: u64, seq: u64, config: &Config) -> u32 {
        //= RFC 6675 5/1, 5/7, 5.1/7: done, tests selective_recovery, a_timeout_keeps_the_scoreboard
        let new = self
            .scoreboard
            .sack(self.una, seq, config.loss.dup_threshold);
        if new && let Some(sent_packets) = &mut self.sent_packets {
            sent_packets.deliver(now, seq);
        }
        u32::from(new)
    }

    /// [`Sender::sack`] that also looks whether the segment comes after others above it; `edge` is
    /// [`Sender::sacked_edge`] before the ACK.
    fn sack_in_order(
        &mut self,
        now: u64,
        seq: u64,
        edge: u64,
        summary: &mut AckSummary,
        config: &Config,
    ) {
        let packets = self.sent_packets.as_ref();
        let original = packets.is_some_and(|packets| !packets.was_resent(seq));
        let new = self.sack(now, seq, config);
        summary.sacked += new;
        if new > 0 && original && seq < edge {
            summary.low_sacked = summary.low_sacked.min(seq);
        }
    }

    /// The first segment above all that are acknowledged selectively, or the first unacknowledged
    /// one.
    fn sacked_edge(&self) -> u64 {
        let rack = self
            .sent_packets
            .as_ref()
            .and_then(|packets| packets.rack.as_ref());
        match rack {
            Some(rack) if self.scoreboard.sacked() > 0 => rack.highest() + 1,
            _ => self.una,
        }
    }

    /// RACK's reordering window follows what the ACK says of duplicates.
    fn adapt_reordering_window(&mut self) {
        if let Some(packets) = &mut self.sent_packets {
            let (prior, delivered) = (packets.prior_delivered(), packets.delivered);
            if let Some(rack) = &mut packets.rack {
                rack.adapt_window(prior, delivered);
            }
        }
    }

    /// Whether the window limits a sender with `before` segments outstanding: they are not below
    /// its whole segments, or above its half in slow start.
    #[inline(always)]
    fn is_limited(&self, before: u64) -> bool {
        let count = before as i64 as f64;
        count + 1.0 > self.window.cwnd
            || (self.window.in_slow_start() && self.window.cwnd < 2.0 * count)
    }

    /// Whether the ACK acknowledges new data of a sender that knows of no loss, and says nothing
    /// else: nearly all do.
    #[inline(always)]
    pub(crate) fn fast_path_eligible(&self, ack: &Ack) -> bool {
        ack.cum > self.una
            && ack.sack == NONE
            && ack.flags.0 & (Flags::ECE | Flags::SYN) == 0
            && self.no_loss_pending
    }

    /// Does the work of [`Sender::on_ack`] then, of an ACK of what is below `cum` that echoes
    /// `echo`.
    #[inline(always)]
    pub(crate) fn on_ack_fast_path(
        &mut self,
        now: u64,
        (cum, echo): (u64, u64),
        config: &Config,
        random: &mut Stream,
    ) {
        let before = self.next - self.una;
        let cwnd_limited = self.is_limited(before);
        let acked = cum - self.una;
        let rtt = self.advance(now, (cum, echo), before, RtoPolicy::Rfc6298, config);
        self.dup_acks = 0;
        let additive = self.grow_additively(now, acked as u32, cwnd_limited, random);
        let round_start = self.starts_round();
        if !additive {
            let summary = AckSummary {
                acked,
                cwnd_limited,
                rtt,
                echo,
                ..AckSummary::new(now, before, self.timers.rto())
            };
            let event = self.bare_event(&summary, acked as u32, round_start, config);
            self.grow_otherwise(event, rtt, random);
        }
    }

    /// New data is acknowledged: what is outstanding (`before`: until then), the RTT's sample, the
    /// timer. The sample, or 0.
    #[inline(always)]
    fn advance(
        &mut self,
        now: u64,
        (cum, echo): (u64, u64),
        before: u64,
        policy: RtoPolicy,
        config: &Config,
    ) -> u64 {
        self.una = cum;
        self.next = self.next.max(cum);
        let mut rtt = 0;
        if echo != 0 {
            //= RFC 6298 3/1: done, tests retransmission_timer, one_sample_a_window; time stamps
            //=   tell the copies apart
            //= RFC 6298 3/2: done, tests retransmission_timer, one_sample_a_window
            rtt = now - echo;
            if policy != RtoPolicy::Linux || !config.rto.times_segments {
                self.sample_as((now, rtt), before, policy, config);
            }
        }
        self.restart_or_stop_rto(now, config);
        rtt
    }

    /// Serves what segments are remembered for: probes, and congestion controls that take
    /// delivery-rate samples.
    #[cold]
    #[inline(never)]
    fn after_ack(
        &mut self,
        summary: &AckSummary,
        waits: bool,
        config: &Config,
        random: &mut Stream,
    ) {
        if config.loss.rack {
            self.after_ack_of_probe(summary, config);
            if config.timers == TimerPolicy::Separate {
                self.arm_probe(summary.now);
            } else if (summary.acked > 0 || self.sacks_from_before_the_first())
                && !waits
                && !self.schedule_probe(summary.now, true, config)
            {
                self.rearm(summary.now, config);
            }
        }
        if self.delivery {
            self.report_delivery(summary, config, random);
        }
    }
}
