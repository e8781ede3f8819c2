//! Loss detection by time: RACK-TLP (RFC 8985). A segment is lost once one sent later has arrived
//! and its own round trip plus a reordering window is over; when nothing arrives any more a probe
//! asks before the retransmission timer does.
//!
//! The reordering window is a quarter of the smallest round trip, and as many more as round trips
//! have had retransmissions that the receiver reports as duplicates (DSACK; section 6.2, step 4).

//= RFC 8985 1/1: deviation, `loss_detection` is "dup-acks" by default
//= RFC 8985 1/1 (style "linux"): done, test linux_has_one_timer_in_ticks
//= RFC 8985 6.2/1: deviation, the smallest round trip is that of the whole connection: paths become
//=   longer by a scenario's change only

use crate::packet::NONE;

const MS: u64 = 1_000_000_000;
/// Recoveries for which a wider reordering window is kept (section 6.2, step 4).
const WINDOW_RECOVERIES: u8 = 16;
/// Budget for a delayed ACK when one segment is in flight (section 7.2).
const MAX_ACK_DELAY: u64 = 200 * MS;
/// Probe timeout before the first round-trip sample.
const INITIAL_PTO: u64 = 1000 * MS;

/// State of RACK-TLP.
#[derive(Clone, Debug)]
pub(crate) struct Rack {
    /// The segment sent last of those delivered: when it was sent, its number, its round trip.
    sent: u64,
    seq: u64,
    rtt: u64,
    /// A delivery was heard of since an ACK last asked what is late.
    pub(super) advanced: bool,
    /// Highest segment delivered.
    highest: u64,
    reordering_seen: bool,
    /// How often Linux has seen it, and its largest extent, segments (`tp->reordering`).
    pub(crate) reorderings: u32,
    pub(crate) extent: u32,
    /// Quarters of the smallest round trip in the reordering window, how many recoveries they are
    /// kept for, whether a duplicate asks for one more, and the segments delivered as the last was
    /// added.
    steps: u8,
    persist: u8,
    duplicate: bool,
    widened_at: u64,
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
            advanced: false,
            highest: 0,
            reordering_seen: false,
            reorderings: 0,
            extent: 0,
            steps: 1,
            persist: 0,
            duplicate: false,
            widened_at: 0,
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
        (self.rtt, self.advanced) = (rtt, true);
        if (sent, seq) > (self.sent, self.seq) {
            (self.sent, self.seq) = (sent, seq);
        }
    }

    /// Linux takes what an ACK acknowledges selectively first: the round trip that counts is that
    /// of the last segment of those that it covers, if it covers any, though others were sent later
    /// (`tcp_rack_advance`).
    pub(crate) fn take_covered(&mut self, rtt: u64) {
        if rtt > 0 {
            self.rtt = rtt;
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
        //= RFC 8985 3.3.2/1: done, tests rack_is_as_quick_as_three_duplicates,
        //=   rack_bears_reordering
        if !self.reordering_seen && (repairing || enough_sacked) {
            0
        } else {
            //= RFC 8985 3.3.2/2: done, test rack_waits_for_the_reordering_window
            //= RFC 8985 3.3.2/4..5: done, test duplicates_widen_the_reordering_window
            (min_rtt / 4).saturating_mul(self.steps.into()).min(srtt)
        }
    }

    /// Highest segment delivered.
    pub(crate) fn highest(&self) -> u64 {
        self.highest
    }

    /// A segment was overtaken by one `extent` segments above it, as Linux sees it
    /// (`tcp_check_sack_reordering`); at most `MAX_EXTENT` of them count.
    pub(crate) fn note_reordering(&mut self, extent: u64) {
        const MAX_EXTENT: u64 = 300; // net.ipv4.tcp_max_reordering
        self.extent = self.extent.max(extent.min(MAX_EXTENT) as u32);
        self.reorderings += 1;
        self.reordering_seen = true;
    }

    /// A retransmission has arrived twice.
    pub(crate) fn note_duplicate(&mut self) {
        self.duplicate |= self.reordering_seen;
    }

    /// An ACK has delivered something that was sent as `prior_delivered` segments were (0:
    /// nothing);
    /// `delivered` are now: the window may become wider, or what it was.
    pub(crate) fn adapt_window(&mut self, prior_delivered: u64, delivered: u64) {
        if prior_delivered == 0 {
            return;
        }
        if prior_delivered < self.widened_at {
            self.duplicate = false; // within the round trip of the last time
        }
        if self.duplicate {
            //= RFC 8985 3.3.2/3, 4/3: done, test duplicates_widen_the_reordering_window
            (self.steps, self.persist) = (self.steps.saturating_add(1), WINDOW_RECOVERIES);
            (self.duplicate, self.widened_at) = (false, delivered);
        } else if self.persist == 0 {
            self.steps = 1;
        }
    }

    /// A recovery is over that was needed.
    pub(crate) fn end_recovery(&mut self) {
        self.persist = self.persist.saturating_sub(1);
    }

    /// A reduction is taken back: the next ACK looks for late segments again
    /// (`tcp_undo_cwnd_reduction`).
    pub(crate) fn look_again(&mut self) {
        self.advanced = true;
    }

    /// A recovery was needless: the window stays for one more.
    pub(crate) fn keep_window(&mut self) {
        self.persist = (self.persist + 1).min(WINDOW_RECOVERIES);
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
            //= RFC 8985 7.2/2: done, test probe_timeouts
            INITIAL_PTO
        } else if in_flight == 1 {
            2 * srtt + MAX_ACK_DELAY
        } else {
            2 * srtt
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 8985, section 6.2, step 4: a quarter of the smallest round trip for each that had
    /// duplicates, SRTT at most; what it was after sixteen recoveries.
    #[test]
    fn duplicates_widen_the_reordering_window() {
        let mut rack = Rack {
            reordering_seen: true,
            ..Rack::default()
        };
        let window = |rack: &Rack| rack.window(true, true, 100 * MS, 120 * MS);
        assert_eq!(window(&rack), 25 * MS);
        for (round, expected) in [(1, 50), (2, 75), (3, 100), (4, 120), (5, 120)] {
            rack.note_duplicate();
            rack.note_duplicate(); // one step a round trip
            rack.adapt_window(10 * round, 10 * round + 5);
            assert_eq!(window(&rack), expected * MS, "{round}");
        }
        for _ in 0..WINDOW_RECOVERIES {
            assert_eq!(window(&rack), 120 * MS);
            rack.end_recovery();
            rack.adapt_window(1000, 1010);
        }
        assert_eq!(window(&rack), 25 * MS);
    }

    /// RFC 8985, section 7.2.
    #[test]
    fn probe_timeouts() {
        assert_eq!(Rack::probe_timeout(0, 5), 1000 * MS);
        assert_eq!(Rack::probe_timeout(100 * MS, 5), 200 * MS);
        assert_eq!(Rack::probe_timeout(100 * MS, 1), 400 * MS);
    }
}
