//! The window that a Linux receiver offers: the part of its receive buffer that data may fill, which
//! opens as segments come, within a buffer that grows as the application reads.
//!
//! Linux 6.1, `net/ipv4/tcp_input.c` (`tcp_grow_window`, `tcp_rcv_space_adjust`,
//! `tcp_rcv_rtt_measure_ts`, `tcp_init_buffer_space`) and `tcp_output.c` (`tcp_select_window`,
//! `tcp_select_initial_window`), with `tcp_adv_win_scale` 1; after Fisk and Feng, Dynamic
//! Right-Sizing in TCP, 2001. A right edge that has been offered stays so (RFC 9293, section 3.8.6).

use std::collections::VecDeque;

use super::linux_timer_wheel::TICK_PS;
use crate::bitmap::Bitmap;

/// Largest window of a header without a scale, and with which a connection begins.
const UNSCALED_WINDOW: u64 = 65_535;
/// Segments of the first round trip (`TCP_INIT_CWND`).
const INITIAL_SEGMENTS: u64 = 10;
/// Memory that a segment takes beside its payload, bytes, which up to so many in a row share.
const BUFFER_OVERHEAD: u64 = 768;
const SEGMENTS_PER_BUFFER: u64 = 16;
/// Smallest segment that opens the window.
const MIN_PAYLOAD: u64 = 128;
/// Default of `net.core.rmem_max`: the scale allows for it where the buffer's limit is smaller.
const RMEM_MAX: u64 = 212_992;
const PS_PER_US: u64 = TICK_PS / 1000;

/// Sizes of the receive buffers of a class, bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// As the connection begins (`tcp_rmem`, second value).
    pub(crate) first: u64,
    /// As far as it grows (third value).
    pub(crate) largest: u64,
    /// Payload of a segment.
    pub(crate) payload: u64,
    /// Unread bytes for which the application reads (`SO_RCVLOWAT`).
    pub(crate) low_water: u64,
}

impl Limits {
    /// The window of the SYN-ACK, whole segments of it.
    pub(crate) fn first_window(&self) -> u64 {
        self.first_bytes() / self.payload
    }

    fn first_bytes(&self) -> u64 {
        let space = window_of(self.first);
        let whole = space / self.payload * self.payload;
        UNSCALED_WINDOW.min(if whole > 0 { whole } else { space })
    }

    /// The scale of the header's window.
    fn scale(&self) -> u32 {
        let space = window_of(self.first).max(self.largest).max(RMEM_MAX);
        space.ilog2().saturating_sub(15).min(14)
    }

    /// The scale, and the header's window where it takes so many segments.
    pub(crate) fn header(&self, segments: u64) -> (u8, u16) {
        let window = (segments * self.payload) >> self.scale();
        (self.scale() as u8, window.min(UNSCALED_WINDOW) as u16)
    }

    /// Memory that a segment's worth of window needs (`rcvmem` of `tcp_rcv_space_adjust`).
    fn memory_per_segment(&self) -> u64 {
        let mut bytes = self.payload + 896;
        while window_of(bytes) < self.payload {
            bytes += 128;
        }
        bytes
    }

    /// Memory that so many waiting segments take.
    fn occupied(&self, segments: u64) -> u64 {
        segments * self.payload + segments * BUFFER_OVERHEAD / SEGMENTS_PER_BUFFER
    }
}

/// The window that fits into so much memory.
fn window_of(space: u64) -> u64 {
    space - (space >> 1)
}

/// The part of an ACK that tells of the receive buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Offer {
    /// First segment that must not be sent.
    pub(crate) edge: u64,
    /// When the ACK left, by the receiver's clock.
    pub(crate) sent: u64,
}

/// The buffer of one connection. Places in the stream are in bytes.
#[derive(Debug)]
pub(crate) struct ReceiveBuffer {
    /// Present size.
    size: u64,
    /// Largest window that it allows (`window_clamp`), and that segments so far have opened
    /// (`rcv_ssthresh`).
    clamp: u64,
    opened: u64,
    /// Right edge of what is offered.
    edge: u64,
    /// Read by the application.
    read: u64,
    /// Segments in the first piece of memory that waits for it, and whether that is the last one,
    /// too, which others may join.
    first: u64,
    joins: bool,
    /// Where what waits out of order begins a piece of memory.
    starts: Bitmap,
    /// Since when, and from where on, what is read in a round trip is counted (`rcvq_space`); the
    /// most of one.
    since: u64,
    from: u64,
    most: u64,
    /// Smoothed round trip, eighths of a microsecond; 0: unknown.
    rtt: u64,
    /// When ACKs reached the sender and when they had left, of those that no segment has answered
    /// yet; and the last whose answer has come, by its tick.
    heard: VecDeque<(u64, u64)>,
    answered: u64,
}

impl ReceiveBuffer {
    pub(crate) fn new(limits: &Limits, now: u64) -> Self {
        let (full, mss) = (window_of(limits.first), limits.payload);
        // one segment stays reserved
        let clamp = full.saturating_sub(mss).max(full.min(2 * mss));
        let first = limits.first_bytes();
        let opened = first.min(clamp);
        Self {
            size: limits.first,
            clamp,
            opened,
            edge: first,
            read: 0,
            first: 0,
            joins: true,
            starts: Bitmap::default(),
            since: now,
            from: 0,
            most: opened.min(INITIAL_SEGMENTS * mss),
            rtt: 0,
            heard: VecDeque::new(),
            answered: 0,
        }
    }

    /// An ACK that left at `sent` has reached the sender at `now`, by the sender's clock: what is
    /// sent from now on echoes its time stamp.
    pub(crate) fn note_heard(&mut self, now: u64, sent: u64) {
        self.heard.push_back((now, sent));
    }

    /// A segment arrives at `now`, sent at `stamp`: the time since the ACK left that it echoes is a
    /// sample of the round trip, one for each time stamp.
    pub(crate) fn measure(&mut self, now: u64, stamp: u64) {
        let mut echoed = None;
        while let Some(&(heard, sent)) = self.heard.front()
            && heard <= stamp
        {
            echoed = Some(sent / TICK_PS);
            self.heard.pop_front();
        }
        let Some(echoed) = echoed.filter(|&tick| tick != self.answered) else {
            return;
        };
        self.answered = echoed;
        let sample = 1000 * (now / TICK_PS).saturating_sub(echoed).max(1);
        self.rtt = if self.rtt == 0 || 8 * sample < self.rtt {
            8 * sample
        } else {
            self.rtt - self.rtt / 8 + sample
        };
    }

    /// A new segment has come while `waiting` lie in the buffer out of order and all up to `next` in
    /// order: whether the window opens.
    pub(crate) fn grow(&mut self, limits: &Limits, next: u64, waiting: u64) -> bool {
        let room = self.clamp.min(self.free(limits, next, waiting));
        if limits.payload < MIN_PAYLOAD || room <= self.opened {
            return false;
        }
        self.opened += (2 * limits.payload).min(room - self.opened);
        true
    }

    /// Segment `seq` has come out of order while all up to `next` were in order; `follows`: the one
    /// before it waits too, and they share memory (`tcp_ooo_try_coalesce`).
    pub(crate) fn wait(&mut self, next: u64, seq: u64, follows: bool) {
        if !follows {
            self.starts.insert(next, seq);
        }
    }

    /// The segments from `from` on that are below `to` are in order: one that has come, and those
    /// that waited for it. They share memory with the ones before them while there is room for all
    /// that shared it as they waited (`tcp_try_coalesce`, `tcp_ofo_queue`).
    pub(crate) fn queue(&mut self, from: u64, to: u64) {
        let (mut at, mut end) = (from, from + 1);
        while at < to {
            let together = (end - at).min(SEGMENTS_PER_BUFFER);
            self.joins &= self.first + together <= SEGMENTS_PER_BUFFER;
            if self.joins {
                self.first += together;
            }
            at += together;
            if at == end {
                end = self.starts.first_present(from, at + 1, to).unwrap_or(to);
            }
        }
        self.starts.advance(from, to);
    }

    /// All up to `next` has come by `now`. The application reads once enough waits for it, or the
    /// window is used up but for a segment (`tcp_epollin_ready`).
    pub(crate) fn take(&mut self, limits: &Limits, now: u64, next: u64) {
        let at = next * limits.payload;
        let unread = at - self.read;
        if unread == 0 || (unread < limits.low_water && self.edge > at + limits.payload) {
            return;
        }
        // a round trip is judged as the first buffer of the read is empty
        let first = self.first * limits.payload;
        if self.rtt > 0 && now - self.since >= self.rtt / 8 * PS_PER_US {
            self.resize(limits, self.read + first - self.from);
            (self.since, self.from) = (now, self.read + first);
        }
        self.read += unread;
        (self.first, self.joins) = (0, true);
    }

    /// So much was read in a round trip: the buffer is to hold what comes in the next but one, twice
    /// for losses, and thrice where the rate has doubled.
    fn resize(&mut self, limits: &Limits, copied: u64) {
        if copied <= self.most {
            return;
        }
        let steady = 2 * copied + 16 * limits.payload;
        let growth = steady.saturating_mul(copied - self.most) / self.most;
        let segments = (steady + 2 * growth) / limits.payload;
        let memory = segments.saturating_mul(limits.memory_per_segment());
        let size = memory.min(limits.largest);
        if size > self.size {
            self.size = size;
            self.clamp = window_of(size);
        }
        self.most = copied;
    }

    fn free(&self, limits: &Limits, next: u64, waiting: u64) -> u64 {
        let unread = next - self.read / limits.payload;
        let occupied = limits.occupied(unread + waiting);
        window_of(self.size.saturating_sub(occupied))
    }

    /// The window of an ACK that leaves now: its right edge, and whether the buffer is so full that
    /// ACKs are delayed again.
    pub(crate) fn select(&mut self, limits: &Limits, next: u64, waiting: u64) -> (u64, bool) {
        let step = 1_u64 << limits.scale();
        let all = window_of(self.size);
        let at = next * limits.payload;
        let offered = self.edge.saturating_sub(at);
        let mut free = self.free(limits, next, waiting);
        let filled = free < self.clamp.min(all) / 2;
        if filled {
            free -= free % step;
            if free < all / 16 || free < limits.payload {
                free = 0;
            }
        }
        let window = free.min(self.opened).max(offered).next_multiple_of(step);
        self.edge = at + window.min(UNSCALED_WINDOW << limits.scale());
        (self.edge / limits.payload, filled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = TICK_PS;
    /// `tcp_rmem` with 4 MiB and 16 MiB.
    const LIMITS: Limits = Limits {
        first: 4 << 20,
        largest: 16 << 20,
        payload: 1448,
        low_water: 1,
    };

    /// A buffer whose round trip is known to take 100 ms.
    fn buffer() -> ReceiveBuffer {
        let mut buffer = ReceiveBuffer::new(&LIMITS, 100 * MS);
        buffer.note_heard(50 * MS, 10 * MS);
        buffer.measure(110 * MS, 60 * MS);
        assert_eq!(buffer.rtt, 8 * 100_000);
        buffer
    }

    /// All up to `next` has come in order by `now`.
    fn read(buffer: &mut ReceiveBuffer, limits: &Limits, now: u64, next: u64) {
        for seq in buffer.read / limits.payload..next {
            buffer.queue(seq, seq + 1);
        }
        buffer.take(limits, now, next);
    }

    /// A Linux 6.1 receiver of ten segments, as `tcp_info` had it (`tcpi_rcv_ssthresh`): 94,495
    /// bytes; and the windows in the headers of a connection that begins.
    #[test]
    fn it_opens_by_two_segments_for_each() {
        let mut buffer = buffer();
        assert_eq!(LIMITS.first_window(), 45);
        assert_eq!(LIMITS.header(45), (9, 127));
        for next in 1..=10 {
            assert!(buffer.grow(&LIMITS, next, 0));
            read(&mut buffer, &LIMITS, 100 * MS, next);
        }
        assert_eq!(buffer.opened, 65_535 + 10 * 2 * 1448);
        let (edge, filled) = buffer.select(&LIMITS, 10, 0);
        assert_eq!((edge, filled), (10 + 65, false));
        // half of the buffer, less a segment, at most
        for next in 11..2000 {
            buffer.grow(&LIMITS, next, 0);
            read(&mut buffer, &LIMITS, 100 * MS, next);
        }
        assert_eq!(buffer.opened, (2 << 20) - 1448);
        assert!(!buffer.grow(&LIMITS, 2000, 0));
    }

    /// Sizes that Linux 6.1 gave its buffer (`SO_RCVBUF`) for what it had read in two round trips
    /// (`tcpi_rcv_space`): a doubling, and a doubling again.
    #[test]
    fn the_buffer_follows_what_is_read_in_a_round_trip() {
        let mut buffer = buffer();
        buffer.most = 304_080;
        for (copied, size) in [
            (609_608, 7_704_688),
            (1_216_320, 15_131_864),
            (2_431_192, 16 << 20),
            (2_000_000, 16 << 20),
        ] {
            buffer.resize(&LIMITS, copied);
            assert_eq!((buffer.size, buffer.clamp), (size, size / 2));
        }
        assert_eq!(buffer.most, 2_431_192);
    }

    /// Data of less than a round trip is not judged; that of one is.
    #[test]
    fn a_round_trip_is_judged_once() {
        let mut buffer = buffer();
        read(&mut buffer, &LIMITS, 150 * MS, 3000);
        assert_eq!((buffer.size, buffer.most), (4 << 20, 14_480));
        read(&mut buffer, &LIMITS, 200 * MS, 3001);
        assert_eq!(buffer.most, 3001 * 1448);
        assert_eq!(buffer.size, 16 << 20);
        assert_eq!((buffer.since, buffer.from), (200 * MS, 3001 * 1448));
    }

    /// A segment that fills a gap joins those before it; those that had waited for it do while all
    /// that came together have room there.
    #[test]
    fn a_gap_splits_what_waits() {
        // segment 5 is late, and then `late` among those behind it
        for (waited, late, first) in [
            (10, 0, 16),
            (11, 0, 6),
            (40, 0, 6),
            (11, 9, 10),
            (40, 9, 10),
        ] {
            let mut buffer = buffer();
            for seq in 0..5 {
                buffer.queue(seq, seq + 1);
            }
            for seq in 6..6 + waited {
                if seq != late {
                    buffer.wait(5, seq, seq > 6 && seq != late + 1);
                }
            }
            if late > 0 {
                buffer.wait(5, late, true);
            }
            buffer.queue(5, 6 + waited);
            buffer.queue(6 + waited, 7 + waited);
            assert_eq!(buffer.first, first, "{waited} {late}");
        }
    }

    /// Less than the first ten segments that is read in the first round trip is no more than it
    /// begins with, so that what comes next lets the buffer grow further.
    #[test]
    fn a_gap_lets_the_buffer_grow() {
        for (waited, size) in [(15, 7_877_760), (8, 4 << 20)] {
            let mut buffer = buffer();
            for seq in 0..7 {
                buffer.queue(seq, seq + 1);
            }
            for seq in 8..8 + waited {
                buffer.wait(7, seq, seq > 8);
            }
            buffer.queue(7, 8 + waited);
            buffer.take(&LIMITS, 200 * MS, 72);
            read(&mut buffer, &LIMITS, 300 * MS, 72 + 70);
            assert_eq!(buffer.size, size, "{waited}");
        }
    }

    /// An application that waits for much reads nothing before.
    #[test]
    fn data_waits_for_the_application() {
        let limits = Limits {
            low_water: 100_000,
            ..LIMITS
        };
        let mut buffer = buffer();
        read(&mut buffer, &limits, 150 * MS, 43);
        assert_eq!(buffer.read, 0);
        // the window holds 45 and a part
        read(&mut buffer, &limits, 150 * MS, 45);
        assert_eq!(buffer.read, 45 * 1448);
        buffer.edge = 200 * 1448;
        read(&mut buffer, &limits, 150 * MS, 45 + 69);
        assert_eq!(buffer.read, 45 * 1448);
        read(&mut buffer, &limits, 150 * MS, 45 + 70);
        assert_eq!(buffer.read, (45 + 70) * 1448);
    }

    /// A right edge stays offered (RFC 9293, section 3.8.6) while data out of order fills the
    /// buffer, and moves on once that is read; a buffer more than half full delays ACKs.
    #[test]
    fn the_right_edge_never_moves_back() {
        let mut buffer = buffer();
        let mut last = 0;
        for next in 1..=1000 {
            buffer.grow(&LIMITS, next, 0);
            let (edge, filled) = buffer.select(&LIMITS, next, 0);
            assert!(edge >= last && !filled);
            last = edge;
            read(&mut buffer, &LIMITS, 100 * MS, next);
        }
        assert_eq!(last, 1000 + (2 << 20) / 1448 - 1);
        for waiting in 1..=1420 {
            buffer.grow(&LIMITS, 1000, waiting);
            let (edge, filled) = buffer.select(&LIMITS, 1000, waiting);
            assert!(
                (last..last + 2).contains(&edge),
                "{waiting}: {edge} after {last}"
            );
            assert_eq!(filled, waiting > 1402, "{waiting}");
        }
        let held = buffer.select(&LIMITS, 1000, 1420).0;
        read(&mut buffer, &LIMITS, 100 * MS, 2420);
        assert!(buffer.select(&LIMITS, 2420, 0).0 > held + 1300);
    }

    /// The time since the ACK left that a segment echoes, once for each tick; smaller at once, larger
    /// by an eighth.
    #[test]
    fn the_round_trip_is_that_of_echoes() {
        let mut buffer = buffer();
        let mut sample = |heard: u64, sent: u64, arrival: u64| {
            buffer.note_heard(heard * MS, sent * MS);
            buffer.measure(arrival * MS, (heard + 1) * MS);
            buffer.rtt / 8
        };
        assert_eq!(sample(100, 60, 150), 90_000);
        // the same time stamp says nothing more
        assert_eq!(sample(110, 60, 190), 90_000);
        assert_eq!(sample(200, 160, 330), 90_000 + (170_000 - 90_000) / 8);
        // an ACK that came after the segment had left is not what it echoes
        buffer.note_heard(400 * MS, 350 * MS);
        buffer.measure(410 * MS, 390 * MS);
        assert_eq!(buffer.rtt / 8, 100_000);
    }
}
