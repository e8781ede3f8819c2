//! Reaction of a sender to marks that come back as ECN-Echo (RFC 3168, section 6.1.2): one
//! reduction for each window of data, CWR, and the pause of a window that cannot be halved. Marks
//! that are counted are in `accecn.rs`.

use ackclock_algorithms::Stream;
use ackclock_algorithms::congestion::Signal;

use super::{AckSummary, Config, Sender, State};

/// Reaction that a sender owes to a mark.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct EcnReaction {
    /// ECN reacts again once segments from here on are acknowledged.
    reacts_from: u64,
    /// The next new segment says that the window is reduced.
    cwr: bool,
    /// Marks in a row that met a window of one segment: each after the first doubles the pause.
    backoff: u8,
}

impl EcnReaction {
    /// Nothing is owed.
    #[inline(always)]
    pub(super) fn is_clear(&self) -> bool {
        !self.cwr && self.backoff == 0
    }

    /// The first segment whose acknowledgement may lead to a reaction again.
    #[inline(always)]
    pub(super) fn reacts_from(&self) -> u64 {
        self.reacts_from
    }

    /// The window has come down: no mark of segments below `next` brings it down again.
    pub(super) fn set_reduced(&mut self, next: u64) {
        self.reacts_from = next;
    }

    /// Whether the next new segment carries CWR.
    #[inline(always)]
    pub(super) fn set_cwr(&mut self, cwr: bool) {
        self.cwr = cwr;
    }

    /// A segment leaves: whether it carries CWR, which only new ones do.
    #[inline(always)]
    pub(super) fn take_cwr(&mut self, retransmission: bool) -> bool {
        let carries = self.cwr && !retransmission;
        if carries {
            self.cwr = false;
        }
        carries
    }
}

impl Sender {
    /// Reacts to ECN-Echo once a window; true if the window must not grow on this ACK.
    #[inline]
    pub(super) fn on_echo(&mut self, summary: &AckSummary, config: &Config) -> bool {
        if summary.ece
            && self.state == State::Open
            && self.una > self.ecn.reacts_from
            && self.next > 0
        {
            let single = self.window.cwnd < 2.0;
            self.forget_undo();
            self.reduce(summary.now, Signal::Ecn, summary.before, config);
            self.counters.ecn_reductions += 1;
            self.ecn.reacts_from = self.next;
            self.ecn.cwr = true;
            if single && config.ecn.pause {
                self.pause(summary.now, config);
            } else {
                self.ecn.backoff = 0;
            }
        } else if !summary.ece && summary.acked > 0 {
            self.ecn.backoff = 0;
        }
        summary.ece
    }

    /// A window of one segment cannot be halved: the sender waits for the retransmission timer
    /// before it sends again (RFC 3168, section 6.1.2). The timer backs off while marks meet such a
    /// window (ns-2; the RFC says nothing of it): one segment a timeout may still be too much.
    #[cold]
    fn pause(&mut self, now: u64, config: &Config) {
        //= RFC 9438 4.6/6: done, test a_marked_window_of_one_segment_pauses
        //= RFC 9438 4.6/6 (style "linux"): deviation, the sender goes on
        let timeout = self.timeout(config).saturating_mul(1 << self.ecn.backoff);
        self.timers.pause(now + timeout.min(config.rto.max));
        self.ecn.backoff = (self.ecn.backoff + 1).min(16);
    }

    /// A marked ACK goes to an algorithm that counts marks, and then leads to its reaction; true if
    /// it was one.
    #[inline]
    pub(super) fn count_marks(
        &mut self,
        summary: &AckSummary,
        config: &Config,
        random: &mut Stream,
    ) -> bool {
        if !(config.ecn.accurate && summary.ece) {
            return false;
        }
        if summary.acked > 0 {
            self.grow(summary, summary.acked as u32, config, random);
        }
        self.on_echo(summary, config)
    }
}
