//! Reductions taken back: what a sender remembers of a reduction until it knows whether what it
//! sent again had been lost (Linux 6.1, `tcp_may_undo`).
//!
//! Two things tell that it had not: the receiver reports each retransmission as a duplicate (DSACK,
//! RFC 2883 and RFC 3708), or an ACK echoes a time stamp from before the first retransmission
//! (Eifel, RFC 3522).

use super::timers::TICK;
use super::{Sender, State};
use crate::packet::NONE;

/// Of the last reduction, and of duplicates.
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
            timestamps: true,
            duplicates: 0,
            retransmissions: 0,
        }
    }
}

impl Undo {
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
        let stamped = self.timestamps && echo != 0 && self.resent_at != 0;
        self.marker != NONE && stamped && echo / TICK < self.resent_at / TICK
    }
}

impl Sender {
    /// Whether the last reduction was needless, as an ACK that echoes `echo` tells.
    pub(super) fn was_needless(&self, echo: u64) -> bool {
        let undo = self.sent_packets.as_ref().map(|packets| &packets.undo);
        undo.is_some_and(|undo| undo.is_settled() || undo.is_early(echo))
    }

    /// The same by the time stamp alone.
    pub(super) fn was_early(&self, echo: u64) -> bool {
        let undo = self.sent_packets.as_ref().map(|packets| &packets.undo);
        undo.is_some_and(|undo| undo.is_early(echo))
    }

    /// Takes the last reduction back where duplicates say so (`tcp_try_undo_dsack`).
    pub(super) fn undo_by_duplicates(&mut self) -> bool {
        let Some(packets) = &mut self.sent_packets else {
            return false;
        };
        if !packets.undo.is_settled() {
            return false;
        }
        if let Some(rack) = &mut packets.rack {
            rack.keep_window();
        }
        self.undo_reduction();
        true
    }

    /// The window and ssthresh become what they were before the last reduction, where they are
    /// smaller.
    pub(super) fn undo_reduction(&mut self) {
        let Some(packets) = &mut self.sent_packets else {
            return;
        };
        let undo = &mut packets.undo;
        undo.marker = NONE;
        if undo.prior_ssthresh > 0.0 {
            self.window.cwnd = self.window.cwnd.max(self.prior_cwnd);
            if undo.prior_ssthresh > self.window.ssthresh {
                self.window.ssthresh = undo.prior_ssthresh;
                self.send_cwr = false;
            }
        }
    }

    /// A reduction begins that may be taken back; ssthresh is `prior_ssthresh` before it, 0 where it
    /// stays as it is.
    pub(super) fn remember_for_undo(&mut self, prior_ssthresh: f64) {
        let resent = u64::from(self.scoreboard.resent());
        if let Some(packets) = &mut self.sent_packets {
            packets.undo.begin(self.una, resent);
            packets.undo.prior_ssthresh = prior_ssthresh;
        }
    }

    /// ssthresh as it is worth keeping (`tcp_current_ssthresh`).
    pub(super) fn current_ssthresh(&self) -> f64 {
        if self.in_cwr || self.state == State::Recovery {
            self.window.ssthresh
        } else {
            self.window.ssthresh.max(0.75 * self.window.cwnd)
        }
    }
}
