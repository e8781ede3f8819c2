//! When a receiver acknowledges what comes in order: every second segment (RFC 5681, section 4.2),
//! or as Linux does, which learns how long an ACK may wait.

use super::linux_timer_wheel::{TICK_PS, expiry};

/// How ACKs are delayed, where they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AckPolicy {
    /// The second segment is acknowledged at once, the first after a fixed time at most.
    Rfc5681,
    /// As in Linux 6.1: the first of a connection and those after a duplicate or a pause of a
    /// timeout not at all; the longest delay follows the gaps between segments; and from the fourth
    /// duplicate ACK on each waits a little for others.
    LinuxQuickAck {
        /// Smallest retransmission timeout, ps: gaps longer than the timeout are pauses.
        min_rto: u64,
        /// The first segments of a connection, which open the window that the receiver offers;
        /// while it opens ACKs are not delayed.
        opening: u16,
    },
}

impl AckPolicy {
    #[inline(always)]
    pub(super) fn is_linux(self) -> bool {
        matches!(self, Self::LinuxQuickAck { .. })
    }
}

/// ACKs that Linux sends at once at the beginning, and after a duplicate.
const QUICK_ACKS: u32 = 16;
/// The window that a Linux receiver offers begins with 64 kB and opens by two segments for each
/// that arrives, up to half of a receive buffer of 4 MB.
const FIRST_WINDOW: u32 = 65_535;
const LAST_WINDOW: u32 = 2 << 20;
/// Longest that Linux lets an ACK wait, ticks.
const MAX_DELAY: u64 = 200;
/// Duplicate ACKs that Linux sends at once; further ones wait for a twentieth of the round trip, a
/// millisecond at most, and the slack of that timer.
const PROMPT_DUPLICATES: u8 = 3;
const MAX_COMPRESSION: u64 = TICK_PS;
const COMPRESSION_SLACK: u64 = TICK_PS / 10;

/// How many segments of so many bytes open the window that a Linux receiver offers.
pub(crate) fn opening(payload: u32) -> u16 {
    ((LAST_WINDOW - FIRST_WINDOW) / (2 * payload)).min(u32::from(u16::MAX)) as u16
}

/// Knowledge of a Linux receiver about the segments that come (`inet_connection_sock`'s
/// `icsk_ack`). Receivers of RFC 5681 do not ask it.
#[derive(Debug)]
pub(super) struct QuickAcks {
    /// ACKs that are not delayed yet.
    quick: u32,
    /// When the last segment in order came, or the SYN.
    last_arrival: u64,
    /// Longest delay of an ACK, ticks; 0: no data yet.
    ato: u16,
    /// An ACK has waited that long since.
    late: bool,
    /// Duplicate ACKs in a row.
    duplicates: u8,
    /// Round trip of the handshake, us.
    rtt: u32,
    /// Segments that have opened the window.
    opened: u16,
    /// Until when the timer of the last ACK that waited runs, or would have run: an ACK that goes before
    /// does not stop it.
    until: u64,
}

impl Default for QuickAcks {
    fn default() -> Self {
        Self {
            quick: QUICK_ACKS,
            last_arrival: 0,
            ato: 0,
            late: false,
            duplicates: 0,
            rtt: 0,
            opened: 0,
            until: 0,
        }
    }
}

impl QuickAcks {
    /// A SYN arrives: the first data after it tells the round trip.
    pub(super) fn on_syn(&mut self, now: u64) {
        if self.ato == 0 {
            self.last_arrival = now;
        }
    }

    /// Segment `seq` arrives where `next` is expected and `waiting` have come out of order: what it
    /// does to the delay of ACKs (`tcp_event_data_recv`, `tcp_delack_timer_handler`). `timeout`:
    /// the shortest longest delay, ps.
    #[cold]
    #[inline(never)]
    pub(super) fn on_arrival(
        &mut self,
        now: u64,
        (seq, next): (u64, u64),
        waiting: u32,
        timeout: u64,
        policy: AckPolicy,
    ) {
        let AckPolicy::LinuxQuickAck { min_rto, opening } = policy else {
            return;
        };
        let least = (timeout / TICK_PS) as u16;
        // tcp_grow_window: by two segments each, up to half of what is free of the receive buffer
        let closed = u32::from(opening.saturating_sub(self.opened));
        if seq >= next && waiting < 4 * closed {
            self.opened += 1;
            self.open();
        }
        if self.ato == 0 {
            if self.last_arrival > 0 {
                self.rtt = ((now - self.last_arrival) / (TICK_PS / 1000)) as u32;
            }
            (self.ato, self.last_arrival) = (least, now);
            return;
        }
        let rtt = u64::from(self.rtt) / 1000;
        let rto = if rtt == 0 {
            1000
        } else {
            rtt + (2 * rtt).max(min_rto / TICK_PS)
        };
        let bound = |ato: u64| ato.min(rto) as u16;
        if self.late {
            self.late = false;
            self.ato = bound(2 * u64::from(self.ato));
        }
        if seq < next {
            (self.quick, self.ato) = (QUICK_ACKS, least);
        } else if seq == next {
            let gap = now / TICK_PS - self.last_arrival / TICK_PS;
            if gap <= u64::from(least / 2) {
                self.ato = self.ato / 2 + least / 2;
            } else if gap < u64::from(self.ato) {
                self.ato = bound(u64::from(self.ato / 2) + gap);
            } else if gap > rto {
                self.quick = QUICK_ACKS;
            }
            self.last_arrival = now;
        }
    }

    /// An ACK waits from `now` on: until when.
    pub(super) fn wait(&mut self, now: u64, timeout: u64) -> u64 {
        self.until = expiry(now, self.longest_delay(timeout));
        self.until
    }

    /// How long an ACK may wait (`tcp_send_delayed_ack`), ps.
    fn longest_delay(&self, timeout: u64) -> u64 {
        let least = timeout / TICK_PS;
        let bound = match u64::from(self.rtt) / 1000 {
            0 => MAX_DELAY,
            rtt => rtt.max(least),
        };
        u64::from(self.ato).min(bound.min(MAX_DELAY)) * TICK_PS
    }

    /// Takes one of the ACKs that are not delayed, if any is left.
    pub(super) fn take_quick(&mut self, timeout: u64) -> bool {
        if self.quick == 0 {
            return false;
        }
        self.quick -= 1;
        if self.quick == 0 {
            self.ato = (timeout / TICK_PS) as u16;
        }
        true
    }

    /// The offered window opens: an ACK at least is not delayed.
    pub(super) fn open(&mut self) {
        self.quick |= 1;
    }

    /// The receive buffer is half full: ACKs are delayed.
    pub(super) fn end_quick(&mut self) {
        self.quick = 0;
    }

    /// The next ACKs, two at least, are not delayed.
    pub(super) fn hurry(&mut self) {
        self.quick = self.quick.max(2);
    }

    /// An ACK has waited as long as it may.
    #[inline(always)]
    pub(super) fn set_late(&mut self, late: bool) {
        self.late = late;
    }

    /// Whether the next duplicate ACK waits for others.
    pub(super) fn compresses(&self) -> bool {
        self.quick == 0 && self.duplicates >= PROMPT_DUPLICATES
    }

    /// A duplicate ACK goes at once.
    pub(super) fn count_duplicate(&mut self) {
        if self.quick > 0 {
            self.quick -= 1;
        } else {
            self.duplicates = PROMPT_DUPLICATES.min(self.duplicates + 1);
        }
    }

    /// So many duplicate ACKs came in a row.
    pub(super) fn set_duplicates(&mut self, count: u8) {
        self.duplicates = count;
    }

    /// Until when a duplicate ACK waits for others from `now` on: the timer of delayed ACKs, which
    /// may still run for one that has gone, lets it go, too.
    pub(super) fn compression_ends(&self, now: u64) -> u64 {
        let share = u64::from(self.rtt) * (TICK_PS / 1000) / 20;
        let end = now + share.min(MAX_COMPRESSION) + COMPRESSION_SLACK;
        if self.until > now {
            end.min(self.until)
        } else {
            end
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Data out of order takes room in the receive buffer, from which the window cannot open.
    #[test]
    fn a_filled_buffer_holds_the_window_back() {
        let policy = AckPolicy::LinuxQuickAck {
            min_rto: 200 * TICK_PS,
            opening: 20,
        };
        let mut acks = QuickAcks::default();
        for waiting in 0..100 {
            acks.on_arrival(TICK_PS, (waiting + 1, 0), waiting as u32, 0, policy);
        }
        // four segments each are to come, and as many wait as four times that
        assert_eq!(acks.opened, 16);
        for seq in 100..200 {
            acks.on_arrival(TICK_PS, (seq, seq), 0, 0, policy);
        }
        assert_eq!(acks.opened, 20);
    }
}
