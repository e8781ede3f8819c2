//! Loss detection by time: RACK-TLP (RFC 8985). A segment is lost once one sent later has arrived
//! and its own round trip plus a reordering window is over; when nothing arrives any more a probe
//! asks before the retransmission timer does.
//!
//! The receiver sends no DSACK, so the reordering window stays at a quarter of the smallest round
//! trip (section 6.2, step 4).

use crate::packet::NONE;

const MS: u64 = 1_000_000_000;
/// Budget for a delayed ACK when one segment is in flight (section 7.2).
const MAX_ACK_DELAY: u64 = 200 * MS;
/// Probe timeout before the first round-trip sample.
const INITIAL_PTO: u64 = 1000 * MS;

/// What the timer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// The reordering window of a segment is over.
    Reordering,
    /// Nothing has arrived for long: send a probe.
    Probe,
}

/// State of RACK-TLP.
#[derive(Clone, Debug)]
pub(crate) struct Rack {
    /// The segment sent last of those delivered: when it was sent, its number, its round trip.
    sent: u64,
    seq: u64,
    rtt: u64,
    /// Highest segment delivered.
    highest: u64,
    reordering_seen: bool,
    /// When the timer runs; `u64::MAX` while it is off.
    pub(crate) timer: u64,
    pub(crate) purpose: Purpose,
    /// A probe is out: the first segment not sent then; [`NONE`] without one. And whether it was a
    /// retransmission.
    pub(crate) probe_end: u64,
    pub(crate) probe_again: bool,
    /// The last look at what is late has found a retransmission lost.
    pub(crate) lost_again: bool,
}

impl Default for Rack {
    fn default() -> Self {
        Self {
            sent: 0,
            seq: 0,
            rtt: 0,
            highest: 0,
            reordering_seen: false,
            timer: u64::MAX,
            purpose: Purpose::Probe,
            probe_end: NONE,
            probe_again: false,
            lost_again: false,
        }
    }
}

impl Rack {
    /// Segment `seq`, sent at `sent`, is delivered (section 6.2, steps 2 and 3). `again`: it had
    /// been sent before.
    pub(crate) fn deliver(&mut self, now: u64, seq: u64, sent: u64, again: bool, min_rtt: u64) {
        if seq >= self.highest {
            self.highest = seq;
        } else if !again {
            self.reordering_seen = true;
        }
        let rtt = now - sent;
        if again && rtt < min_rtt {
            return; // what was sent first has arrived
        }
        self.rtt = rtt;
        if (sent, seq) > (self.sent, self.seq) {
            (self.sent, self.seq) = (sent, seq);
        }
    }

    /// How long a segment may be late for having been overtaken (step 4).
    pub(crate) fn window(
        &self,
        repairing: bool,
        enough_sacked: bool,
        min_rtt: u64,
        srtt: u64,
    ) -> u64 {
        if !self.reordering_seen && (repairing || enough_sacked) {
            0
        } else {
            (min_rtt / 4).min(srtt)
        }
    }

    /// How long segment `seq`, sent at `sent`, may still come (step 5): zero, it is lost; `None`,
    /// nothing sent later has arrived.
    pub(crate) fn time_left(&self, now: u64, seq: u64, sent: u64, window: u64) -> Option<u64> {
        ((self.sent, self.seq) > (sent, seq))
            .then(|| (sent + self.rtt + window).saturating_sub(now))
    }

    /// When the segment sent last of those delivered was sent: no other sent later is lost yet.
    pub(crate) fn last_sent(&self) -> u64 {
        self.sent
    }

    /// Whether a segment sent at `sent` is lost when the retransmission timer has expired (section
    /// 6.3).
    pub(crate) fn is_late(&self, now: u64, sent: u64, window: u64) -> bool {
        sent + self.rtt + window <= now
    }

    /// The probe timeout (section 7.2) with `in_flight` segments outstanding.
    pub(crate) fn probe_timeout(srtt: u64, in_flight: u64) -> u64 {
        if srtt == 0 {
            INITIAL_PTO
        } else if in_flight == 1 {
            2 * srtt + MAX_ACK_DELAY
        } else {
            2 * srtt
        }
    }
}
