//! Reductions taken back: what a sender remembers of a reduction until it knows whether what it
//! sent again had been lost.
//!
//! Three things tell that it had not. The receiver reports each retransmission as a duplicate
//! (DSACK, RFC 2883 and RFC 3708). ACKs echo time stamps from before the first retransmission
//! (Eifel, RFC 3522). After a timeout ACKs come of what was sent before it and never again (F-RTO,
//! RFC 5682). Here are all three as the RFCs have them; Linux's order of things (`tcp_may_undo`) is
//! in `recovery/linux.rs`.

use ackclock_algorithms::Time;
use ackclock_algorithms::congestion::CongestionControl as _;

use super::config::{RecoveryPolicy, UndoPolicy};
use super::{AckSummary, Config, Sender, State, rack_of};
use crate::packet::NONE;

/// Memory of the last reduction, and of duplicates.
#[derive(Debug)]
pub(super) struct Undo {
    /// First unacknowledged segment when the window was reduced; [`NONE`]: nothing can be undone.
    pub(super) marker: u64,
    /// Retransmissions that have not been reported as duplicates; `None` before the first one.
    pending: Option<u64>,
    /// ssthresh before; zero where congestion is certain (ECN).
    pub(super) prior_ssthresh: f64,
    /// When the first retransmission left; 0: none has.
    resent_at: u64,
    /// An ACK of new data has come since that echoes a later time: something was lost.
    needed: bool,
    /// Tick of the time stamps.
    tick: u64,
    /// The reduction was for a timeout; SRTT and RTTVAR before it.
    timeout: bool,
    prior_rtt: (u64, u64),
    /// ACKs echo time stamps.
    pub(super) timestamps: bool,
    /// Segments that arrived twice, and retransmissions of any kind, so far.
    pub(super) duplicates: u64,
    pub(super) retransmissions: u64,
}

impl Default for Undo {
    fn default() -> Self {
        Self {
            marker: NONE,
            pending: None,
            prior_ssthresh: 0.0,
            resent_at: 0,
            needed: false,
            tick: 1,
            timeout: false,
            prior_rtt: (0, 0),
            timestamps: true,
            duplicates: 0,
            retransmissions: 0,
        }
    }
}

impl Undo {
    /// With time stamps in ticks of `tick`.
    pub(super) fn new(tick: u64) -> Self {
        Self {
            tick,
            ..Self::default()
        }
    }

    /// The window is reduced while `resent` retransmissions are on their way.
    pub(super) fn begin(&mut self, una: u64, resent: u64) {
        self.marker = una;
        self.pending = (resent > 0).then_some(resent);
    }

    /// A segment is sent again in a recovery.
    pub(super) fn count_resent(&mut self, now: u64) {
        self.pending = Some(self.pending.unwrap_or(0) + 1);
        if self.resent_at == 0 {
            self.resent_at = now;
        }
    }

    /// No retransmission is on its way, and no recovery is on.
    pub(super) fn forget_resent(&mut self) {
        self.resent_at = 0;
    }

    /// `count` segments up to `to` have arrived twice, `una` segments were acknowledged before.
    /// False where that cannot be the sender's doing.
    pub(super) fn report(&mut self, to: u64, count: u64, una: u64) -> bool {
        self.duplicates += count;
        if self.duplicates > self.retransmissions {
            return false;
        }
        if to <= una && to > self.marker {
            self.settle(count);
        }
        true
    }

    /// `count` retransmissions were needless.
    pub(super) fn settle(&mut self, count: u64) {
        if self.marker != NONE {
            self.pending = self.pending.map(|pending| pending.saturating_sub(count));
        }
    }

    /// Whether every retransmission was needless, as the receiver says.
    fn is_settled(&self) -> bool {
        self.marker != NONE && self.pending == Some(0)
    }

    /// Whether an ACK that echoes `echo` was sent before the first retransmission arrived.
    fn is_early(&self, echo: u64) -> bool {
        self.marker != NONE && self.resent_at != 0 && self.predates(echo, self.resent_at)
    }

    /// Whether an ACK that echoes `echo` answers something sent before `sent`.
    pub(super) fn predates(&self, echo: u64, sent: u64) -> bool {
        self.timestamps && echo != 0 && echo / self.tick < sent / self.tick
    }

    /// An ACK of new data echoes `echo`: what that says of the retransmissions before it.
    fn note_echo(&mut self, echo: u64) {
        self.needed |= self.resent_at != 0 && !self.is_early(echo);
    }

    /// Whether all ACKs of new data since the first retransmission were sent before that arrived.
    fn was_needless(&self) -> bool {
        self.marker != NONE && self.resent_at != 0 && !self.needed
    }
}

impl Sender {
    /// Whether the last reduction was needless, as an ACK that echoes `echo` tells.
    pub(super) fn was_needless(&self, echo: u64, config: &Config) -> bool {
        let undo = self.sent_packets.as_ref().map(|packets| &packets.undo);
        undo.is_some_and(|undo| {
            (config.undo.duplicates && undo.is_settled())
                || (config.undo.stamps && undo.is_early(echo))
        })
    }

    /// The same by the time stamp alone.
    pub(super) fn was_early(&self, echo: u64, config: &Config) -> bool {
        let undo = self.sent_packets.as_ref().map(|packets| &packets.undo);
        config.undo.stamps && undo.is_some_and(|undo| undo.is_early(echo))
    }

    /// Takes the last reduction back where duplicates say so (`tcp_try_undo_dsack`).
    pub(super) fn undo_by_duplicates(&mut self, now: u64, config: &Config) -> bool {
        let Some(packets) = &mut self.sent_packets else {
            return false;
        };
        if !(config.undo.duplicates && packets.undo.is_settled()) {
            return false;
        }
        if let Some(rack) = &mut packets.rack {
            rack.keep_window();
        }
        self.undo_reduction(now);
        true
    }

    /// The window and ssthresh become what they were before the last reduction, where they are
    /// smaller; an algorithm that owns the window hears of it instead.
    pub(super) fn undo_reduction(&mut self, now: u64) {
        let Some(packets) = &mut self.sent_packets else {
            return;
        };
        if let Some(rack) = &mut packets.rack {
            rack.look_again();
        }
        let undo = &mut packets.undo;
        undo.marker = NONE;
        if undo.prior_ssthresh > 0.0 && self.delivery {
            self.controller
                .on_spurious_recovery(Time(now), &mut self.window);
        } else if undo.prior_ssthresh > 0.0 {
            self.window.cwnd = self.window.cwnd.max(self.recovery.prior_cwnd);
            if undo.prior_ssthresh > self.window.ssthresh {
                self.window.ssthresh = undo.prior_ssthresh;
                self.ecn.set_cwr(false);
            }
        }
    }

    /// A reduction begins that may be taken back.
    pub(super) fn remember_for_undo(&mut self, timeout: bool, config: &Config) {
        let prior_ssthresh = self.ssthresh_to_keep(timeout, config);
        let resent = u64::from(self.scoreboard.resent());
        let prior_rtt = self.rtt.smoothed();
        if let Some(packets) = &mut self.sent_packets {
            let undo = &mut packets.undo;
            undo.begin(self.una, resent);
            undo.prior_ssthresh = prior_ssthresh;
            if config.recovery != RecoveryPolicy::Linux {
                (undo.resent_at, undo.needed) = (0, false);
                (undo.timeout, undo.prior_rtt) = (timeout, prior_rtt);
            }
        }
    }

    /// ssthresh as it is worth keeping, 0 where it stays as it is (RFC 4015, `pipe_prev`; in Linux
    /// `tcp_current_ssthresh`).
    fn ssthresh_to_keep(&self, timeout: bool, config: &Config) -> f64 {
        let ssthresh = self.window.ssthresh;
        if config.recovery != RecoveryPolicy::Linux {
            let flight = if timeout { self.outstanding() } else { 0 };
            ssthresh.max(flight as f64)
        } else {
            match self.state {
                State::Cwr if !timeout => 0.0,
                State::Cwr | State::Recovery => ssthresh,
                _ => ssthresh.max(0.75 * self.window.cwnd),
            }
        }
    }

    /// Congestion is certain: the last reduction stands.
    pub(super) fn forget_undo(&mut self) {
        if let Some(packets) = &mut self.sent_packets {
            packets.undo.marker = NONE;
        }
    }

    /// Takes the last reduction back where an ACK tells that it was needless; true if so.
    ///
    /// Deviation from RFC 3522, section 3.2: not the first ACK of new data alone decides on a
    /// recovery, but all until nothing counts as lost any more. One segment that comes late does
    /// not say that the others do.
    #[cold]
    #[inline(never)]
    pub(super) fn undo_if_needless(&mut self, summary: &AckSummary, config: &Config) -> bool {
        let UndoPolicy {
            stamps,
            duplicates,
            frto,
        } = config.undo;
        let (una, recover, lost) = (self.una, self.recovery.recover, self.scoreboard.lost());
        let Some(packets) = &mut self.sent_packets else {
            return false;
        };
        if summary.acked > 0 {
            packets.undo.note_echo(summary.echo);
        }
        if summary.ece {
            packets.undo.marker = NONE;
        }
        let reported = duplicates && packets.undo.is_settled();
        let early = stamps && summary.acked > 0 && packets.undo.was_needless();
        let timeout = packets.undo.timeout;
        let needless = match self.state {
            State::Recovery => reported || (early && (lost == 0 || una >= recover)),
            State::Loss => early || reported || (frto && self.try_frto(summary, config)),
            State::Open | State::Cwr | State::Closed => reported,
        };
        if !needless {
            if self.state == State::Recovery
                && una >= recover
                && let Some(rack) = rack_of(&mut self.sent_packets)
            {
                rack.end_recovery();
            }
        } else if timeout {
            self.undo_timeout(summary, config);
        } else {
            self.undo_recovery(summary.now, config);
        }
        needless
    }

    /// The last recovery was needless: window and ssthresh are what they were (RFC 9438, section
    /// 4.9.2).
    fn undo_recovery(&mut self, now: u64, config: &Config) {
        if self.state == State::Loss {
            // Tahoe's, which has gone back
            self.next = self.high;
            self.scoreboard.forgive(self.una, config.loss.dup_threshold);
        }
        if let Some(rack) = rack_of(&mut self.sent_packets) {
            rack.keep_window();
        }
        if self.delivery {
            self.forget_undo();
        } else {
            self.undo_reduction(now);
        }
        self.state = State::Open;
        self.dup_acks = 0;
        self.controller
            .on_spurious_recovery(Time(now), &mut self.window);
    }

    /// The last timeout was needless: new data goes on, the window is what is in the network and
    /// what the ACK allows, slow start leads back to what was in the network before, and the timer
    /// follows the round trip that was too long for it (RFC 4015, section 3.2).
    fn undo_timeout(&mut self, summary: &AckSummary, config: &Config) {
        let Some(packets) = &mut self.sent_packets else {
            return;
        };
        let undo = &mut packets.undo;
        let certain = undo.marker == NONE;
        let (prior_ssthresh, prior_rtt) = (undo.prior_ssthresh, undo.prior_rtt);
        undo.marker = NONE;
        packets.forgive();
        self.scoreboard.forgive(self.una, config.loss.dup_threshold);
        self.next = self.high;
        if !certain {
            if !self.delivery {
                let acked = (summary.acked as f64).min(config.initial_window);
                self.window.cwnd = self.window.cwnd.max(self.outstanding() as f64 + acked);
                self.window.ssthresh = self.window.ssthresh.max(prior_ssthresh);
            }
            self.ecn.set_cwr(false);
            self.controller
                .on_spurious_recovery(Time(summary.now), &mut self.window);
        }
        if summary.rtt > 0 {
            self.rtt.adapt(prior_rtt, summary.rtt, config);
            self.restart_or_stop_rto(summary.now, config);
        }
        self.state = State::Open;
        self.dup_acks = 0;
    }

    /// An ACK after a timeout, as F-RTO sees it (RFC 5682, sections 2.1 and 3.1): true if the
    /// timeout was needless.
    ///
    /// Deviation from RFC 5682, section 2.1: without SACK one new segment, not two, follows the
    /// first ACK after the timeout.
    fn try_frto(&mut self, summary: &AckSummary, config: &Config) -> bool {
        let selective = config.recovery.is_selective();
        let (una, recover) = (self.una, self.recovery.recover);
        let room = self.may_send(self.high, config);
        let Some(packets) = &mut self.sent_packets else {
            return false;
        };
        if !packets.frto {
            return false;
        }
        if packets.new_first {
            // step 3: the first ACK after new data
            let original =
                packets.lowest_original < recover && (selective || !packets.delivers_resent);
            (packets.frto, packets.new_first) = (false, false);
            if !original && !selective {
                self.next = una;
            }
            return original;
        }
        if summary.acked == 0 {
            packets.frto = selective; // step 2 goes on, or (a)
        } else if una >= recover || !room {
            packets.frto = false;
        } else {
            packets.new_first = true;
            if !selective {
                self.next = self.high;
                self.probe = true;
            }
        }
        false
    }
}
