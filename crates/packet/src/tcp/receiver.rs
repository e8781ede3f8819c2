//! A TCP receiver: reassembly, delayed and selective acknowledgements, ECN echo.

use super::accecn;
use super::delayed_ack::{AckPolicy, QuickAcks};
use crate::bitmap::Bitmap;
use crate::packet::{Flags, NONE};

/// Answer of the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reply {
    /// Next segment expected.
    pub(crate) cum: u64,
    /// Time stamp echoed (RFC 7323, section 4.3).
    pub(crate) echo: u64,
    /// The segment just received out of order, or [`NONE`]. Below `cum`: it has arrived twice.
    pub(crate) sack: u64,
    /// Header bits: [`Flags::ECE`], [`Flags::SENT_TWICE`]; the three of AccECN's count.
    pub(crate) flags: u8,
    /// Marked segments so far, modulo its range.
    pub(crate) marked: u16,
}

/// Feedback of marks by a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Echo {
    /// ACKs echo one until the sender says that it has reduced its window (RFC 3168).
    UntilCwr,
    /// ACKs echo each as it came (RFC 8257, section 3.2).
    EachMark,
    /// They are counted (RFC 9768).
    Count,
}

/// Options that the flows of a class share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Config {
    /// Whether ACKs are delayed.
    pub(crate) delayed: bool,
    /// Longest delay of an ACK, ps; the shortest that it may be, as in Linux.
    pub(crate) timeout: u64,
    pub(crate) policy: AckPolicy,
    /// Whether segments that arrive twice are reported (DSACK). Linux always does.
    pub(crate) dsack: bool,
    /// Feedback of marks.
    pub(crate) echo: Echo,
    /// Whether segments with CWR are acknowledged at once, those whose mark differs from the last
    /// one's with [`Echo::EachMark`] and [`Echo::Count`], and else two after the first mark
    /// (Linux).
    pub(crate) ecn_quick: bool,
}

/// The receiving half of a TCP connection. The application reads at once, so that the offered
/// window is constant.
#[derive(Debug, Default)]
pub(crate) struct Receiver {
    /// Next segment expected; all below are delivered.
    pub(crate) next: u64,
    out_of_order: Bitmap,
    /// When the delayed ACK is due; 0: none is held back.
    pub(crate) due: u64,
    held_stamp: u64,
    /// State from which Linux delays ACKs.
    acks: QuickAcks,
    /// How far above `next` the last segment is whose duplicate ACK waits for others (0: none), and
    /// how many wait for the same ACK.
    held: u32,
    merged: u8,
    /// Some of them are told by the blocks of the next ACK alone.
    unreported: bool,
    last_stamp: u64,
    /// The last segment was marked, or marks are being echoed; the header bits of ACKs that follow
    /// from it; and how many were marked, where they are counted.
    echo: bool,
    bits: u8,
    marked: u64,
    /// SACK blocks reported last, newest first, for receivers whose ACKs may be lost (RFC 2018,
    /// section 4).
    recent: Vec<(u64, u64)>,
}

impl Receiver {
    /// Data segment `seq` arrives at `now`, sent at `stamp`.
    ///
    /// Deviation from RFC 2883, section 4: a segment that arrives twice is acknowledged, and
    /// reported (DSACK) where `undo` says so and in style "linux" only.
    #[inline(always)]
    pub(crate) fn on_data(
        &mut self,
        now: u64,
        seq: u64,
        stamp: u64,
        flags: Flags,
        config: &Config,
    ) -> Option<Reply> {
        if self.fast_path_eligible(seq, flags, config) {
            self.on_data_fast_path(now, stamp, config)
        } else {
            self.on_data_slow_path(now, seq, stamp, flags, config)
        }
    }

    /// Whether a segment comes in order, and says nothing else to a receiver that waits for nothing
    /// else: nearly all do.
    #[inline(always)]
    pub(crate) fn fast_path_eligible(&self, seq: u64, flags: Flags, config: &Config) -> bool {
        seq == self.next
            && config.policy == AckPolicy::Rfc5681
            && config.echo == Echo::UntilCwr
            && flags.0 & (Flags::CE | Flags::CWR) == 0
            && self.out_of_order.count() == 0
    }

    /// Does the work of [`Receiver::on_data`] then.
    #[inline(always)]
    pub(crate) fn on_data_fast_path(
        &mut self,
        now: u64,
        stamp: u64,
        config: &Config,
    ) -> Option<Reply> {
        self.next += 1;
        self.last_stamp = stamp;
        if self.due == 0 && config.delayed {
            //= RFC 5681 4.2/1..5, 4.2/9: done, test every_second_segment_is_acknowledged;
            //=   `delayed_ack_timeout` is 40 ms by default
            self.due = now + config.timeout;
            self.held_stamp = stamp;
            return None;
        }
        Some(self.uncounted_reply(NONE))
    }

    /// Does the work of [`Receiver::on_data`] where a new segment leaves a gap, and nothing else is
    /// to be looked at; else `None`, and nothing has happened.
    #[inline(always)]
    pub(crate) fn on_gap_fast_path(
        &mut self,
        seq: u64,
        flags: Flags,
        config: &Config,
    ) -> Option<Reply> {
        if seq <= self.next
            || config.policy != AckPolicy::Rfc5681
            || config.echo != Echo::UntilCwr
            || config.dsack
            || flags.0 & (Flags::CE | Flags::CWR) != 0
        {
            return None;
        }
        let new = self.out_of_order.insert(self.next, seq);
        //= RFC 5681 3.2/1, 4.2/6..7: done, test a_gap_is_reported_at_once_and_when_filled
        Some(self.uncounted_reply(if new { seq } else { NONE }))
    }

    /// [`Receiver::on_data`] where there is more to look at.
    #[inline(never)]
    pub(crate) fn on_data_slow_path(
        &mut self,
        now: u64,
        seq: u64,
        stamp: u64,
        flags: Flags,
        config: &Config,
    ) -> Option<Reply> {
        let at_once = self.note_mark(flags, config);
        let linux = config.policy.is_linux();
        if linux {
            let place = (seq, self.next);
            let waiting = self.out_of_order.count();
            self.acks
                .on_arrival(now, place, waiting, config.timeout, config.policy);
        }
        if seq != self.next {
            let new = seq > self.next && self.out_of_order.insert(self.next, seq);
            let sack = if new { seq } else { NONE };
            return if linux {
                let mut reply = self.duplicate(now, sack, at_once);
                if let Some(reply) = &mut reply
                    && !new
                    && reply.sack == NONE
                {
                    (reply.sack, reply.flags) = (seq, reply.flags | Flags::SENT_TWICE);
                }
                reply
            } else {
                let mut reply = self.reply(sack);
                if config.dsack && !new {
                    (reply.sack, reply.flags) = (seq, reply.flags | Flags::SENT_TWICE);
                }
                Some(reply)
            };
        }
        let held = self.due != 0;
        self.last_stamp = stamp;
        if self.out_of_order.count() == 0 {
            self.next += 1;
            if linux {
                self.acks.set_duplicates(0);
            }
            let quick = linux && self.acks.take_quick(config.timeout);
            if !quick && config.delayed && !held && !at_once {
                self.due = if linux {
                    self.acks.wait(now, config.timeout)
                } else {
                    now + config.timeout
                };
                self.held_stamp = stamp;
                return None;
            }
            return Some(self.reply(NONE));
        }
        //= RFC 5681 3.2/2, 4.2/8: done, test a_gap_is_reported_at_once_and_when_filled
        //= RFC 6582 5/1: done, test a_gap_is_reported_at_once_and_when_filled
        // it fills a gap: acknowledged at once (RFC 5681, section 4.2)
        let run = self.out_of_order.run(self.next, self.next + 1);
        let next = self.next + 1 + run;
        self.out_of_order.advance(self.next, next);
        let mut sack = NONE;
        if linux {
            // one that this acknowledges is not to look like a duplicate
            sack = match self.take_held() {
                held if held < next => NONE,
                held => held,
            };
            // where more than one segment is new their ACK is sent for that, and not counted
            let more = self.out_of_order.count() > 0;
            let quick = self.acks.take_quick(config.timeout);
            self.acks
                .set_duplicates(u8::from(more && run == 0 && !quick));
        }
        // the ACK that may be held back is a duplicate, and this one echoes what fills the gap (RFC
        // 7323, section 4.3)
        self.held_stamp = stamp;
        self.next = next;
        Some(self.reply(sack))
    }

    /// Notes what a segment's ECN fields do to the ACKs from here on; true if its own goes at once.
    fn note_mark(&mut self, flags: Flags, config: &Config) -> bool {
        let (before, marked) = (self.echo, flags.has(Flags::CE));
        match config.echo {
            Echo::Count => {
                self.echo = marked;
                //= RFC 9768 3.1.5/15, 3.2/1, 3.2/3: done, tests a_lossy_way_back,
                //=   the_first_count_is_five
                //= RFC 9768 3.2.2/2, 3.2.2.2/1: done, tests a_lossy_way_back,
                //=   the_first_count_is_five
                self.marked += u64::from(marked);
                self.bits = accecn::bits(self.marked);
                //= RFC 9768 3.2.2.5.1/1: done, test changes_are_acknowledged_at_once
                //= RFC 9768 3.2.2.5.1/2..3, 3.2.2.5.1/5: done, test no_more_than_two_marks_wait
                // section 3.2.2.5.1: a mark after segments without; Linux: the end of marks, too
                return if config.ecn_quick {
                    marked != before
                } else {
                    marked && !before
                };
            }
            //= RFC 8257 3.2/1: done, test marks_are_echoed_as_they_come
            Echo::EachMark => self.echo = marked,
            // RFC 3168, section 6.1.3: until CWR
            Echo::UntilCwr => self.echo = marked || (before && !flags.has(Flags::CWR)),
        }
        self.bits = if self.echo { Flags::ECE } else { 0 };
        if !config.ecn_quick {
            return false;
        }
        if config.echo == Echo::UntilCwr && self.echo && !before {
            self.acks.hurry();
        }
        flags.has(Flags::CWR) || (config.echo == Echo::EachMark && self.echo != before)
    }

    /// A SYN arrives: the first data after it tells the round trip.
    pub(crate) fn on_syn(&mut self, now: u64) {
        self.acks.on_syn(now);
    }

    /// A duplicate ACK in Linux (`__tcp_ack_snd_check`, `tcp_sack_new_ofo_skb`): it waits for
    /// others, which join it as long as two blocks tell of all.
    #[cold]
    #[inline(never)]
    fn duplicate(&mut self, now: u64, sack: u64, at_once: bool) -> Option<Reply> {
        //= RFC 5681 3.2/1, 4.2/6..7 (style "linux"): deviation, a row of duplicate ACKs waits for
        //=   others up to a twentieth of a round trip
        if sack == NONE {
            self.acks.count_duplicate();
            let sack = self.take_held();
            return Some(self.reply(sack));
        }
        let held = self.take_held();
        let known = match held {
            NONE => Vec::new(),
            held => self.blocks(held),
        };
        let merged = if held == NONE { 0 } else { self.merged };
        if at_once || !self.acks.compresses() || merged == MOST_MERGED {
            self.acks.count_duplicate();
            self.unreported |= held != NONE;
            self.blocks(sack);
            return Some(self.reply(sack));
        }
        let holds = |(from, to): &(u64, u64)| (*from..*to).contains(&sack);
        let joins = held != NONE && (known.len() < 2 || known[..2].iter().any(holds));
        let before = (self.due != 0 && !joins).then(|| self.reply(held));
        if joins {
            self.unreported = true;
            self.merged = merged + 1;
        } else {
            self.due = self.acks.compression_ends(now);
            self.held_stamp = self.last_stamp;
            self.merged = 1;
        }
        self.held = (sack - self.next) as u32;
        before
    }

    /// The last segment whose ACK waits for others, or [`NONE`].
    fn take_held(&mut self) -> u64 {
        match std::mem::take(&mut self.held) {
            0 => NONE,
            held => self.next + u64::from(held),
        }
    }

    /// Whether the next ACK speaks for more segments than the one that it names; not for the one
    /// after it.
    #[inline(always)]
    pub(crate) fn take_unreported(&mut self) -> bool {
        std::mem::take(&mut self.unreported)
    }

    /// Whether the ACK held back must go before a segment with these flags is taken: an ACK speaks
    /// for marked segments or for unmarked ones, never for both (RFC 8257, section 3.2).
    #[inline]
    pub(crate) fn must_flush(&self, flags: Flags, config: &Config) -> bool {
        //= RFC 8257 3.2/2: done, test marks_are_echoed_as_they_come
        config.echo == Echo::EachMark && self.due != 0 && flags.has(Flags::CE) != self.echo
    }

    /// The delayed ACK is due.
    pub(crate) fn on_due(&mut self) -> Reply {
        self.acks.set_late(self.held == 0);
        self.flush()
    }

    /// The delayed ACK goes before it is due.
    pub(crate) fn flush(&mut self) -> Reply {
        let sack = self.take_held();
        self.reply(sack)
    }

    /// [`Receiver::reply`] of a receiver that counts no marks.
    #[inline(always)]
    fn uncounted_reply(&mut self, sack: u64) -> Reply {
        Reply {
            marked: 0,
            ..self.reply(sack)
        }
    }

    #[inline(always)]
    fn reply(&mut self, sack: u64) -> Reply {
        let echo = if self.due != 0 {
            self.held_stamp
        } else {
            self.last_stamp
        };
        self.due = 0;
        Reply {
            cum: self.next,
            echo,
            sack,
            flags: self.bits,
            marked: self.marked as u16,
        }
    }

    /// Up to three SACK blocks of an ACK for segment `sack`: the one that holds it, then those
    /// reported last (RFC 2018, section 4).
    pub(crate) fn blocks(&mut self, sack: u64) -> Vec<(u64, u64)> {
        if self.out_of_order.count() == 0 {
            self.recent.clear();
            return Vec::new();
        }
        let floor = self.next;
        let bits = &self.out_of_order;
        let grown = |seq: u64| (seq - bits.run_below(floor, seq), seq + bits.run(floor, seq));
        let mut blocks = Vec::with_capacity(3);
        if sack != NONE && sack >= floor {
            blocks.push(grown(sack));
        }
        for &(_, to) in &self.recent {
            if to > floor && bits.contains(floor, to - 1) && blocks.len() < 3 {
                let block = grown(to - 1);
                if !blocks.contains(&block) {
                    blocks.push(block);
                }
            }
        }
        self.recent.clone_from(&blocks);
        blocks
    }
}

/// Duplicate ACKs that Linux merges into one at most (`tcp_comp_sack_nr`).
const MOST_MERGED: u8 = 44;

/// Bytes of the option that reports `blocks` blocks, of which no more than three fit beside time
/// stamps, with the two that align it (RFC 2018, section 3).
pub(crate) fn sack_option(blocks: usize) -> u32 {
    match blocks.min(3) {
        0 => 0,
        blocks => 4 + 8 * blocks as u32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT_ONCE: Config = Config {
        delayed: false,
        timeout: 0,
        policy: AckPolicy::Rfc5681,
        dsack: false,
        echo: Echo::UntilCwr,
        ecn_quick: false,
    };
    const DELAYED: Config = Config {
        delayed: true,
        timeout: 40,
        policy: AckPolicy::Rfc5681,
        dsack: false,
        echo: Echo::UntilCwr,
        ecn_quick: false,
    };

    fn data(receiver: &mut Receiver, now: u64, seq: u64, config: &Config) -> Option<Reply> {
        receiver.on_data(now, seq, now, Flags::default(), config)
    }

    #[test]
    fn every_second_segment_is_acknowledged() {
        let mut receiver = Receiver::default();
        assert_eq!(data(&mut receiver, 1, 0, &DELAYED), None);
        assert_eq!(receiver.due, 41);
        let reply = data(&mut receiver, 2, 1, &DELAYED).unwrap();
        // the time stamp of the first segment that was held back (RFC 7323, section 4.3)
        assert_eq!((reply.cum, reply.echo, receiver.due), (2, 1, 0));
        data(&mut receiver, 3, 2, &DELAYED);
        assert_eq!(receiver.on_due().cum, 3);
    }

    #[test]
    fn a_gap_is_reported_at_once_and_when_filled() {
        let mut receiver = Receiver::default();
        data(&mut receiver, 1, 0, &DELAYED);
        let reply = data(&mut receiver, 2, 2, &DELAYED).unwrap();
        assert_eq!((reply.cum, reply.sack, reply.echo), (1, 2, 1));
        let reply = data(&mut receiver, 3, 4, &DELAYED).unwrap();
        assert_eq!((reply.cum, reply.sack), (1, 4));
        assert_eq!(receiver.blocks(4), [(4, 5)]);
        let reply = data(&mut receiver, 4, 1, &DELAYED).unwrap();
        assert_eq!((reply.cum, reply.sack, reply.echo), (3, NONE, 4));
        assert_eq!(receiver.blocks(NONE), [(4, 5)]);
        let reply = data(&mut receiver, 5, 3, &DELAYED).unwrap();
        assert_eq!(reply.cum, 5);
        assert!(receiver.blocks(NONE).is_empty());
    }

    #[test]
    fn blocks_are_the_newest_three() {
        let mut receiver = Receiver::default();
        for seq in [2, 4, 6, 8] {
            data(&mut receiver, seq, seq, &AT_ONCE);
            receiver.blocks(seq);
        }
        data(&mut receiver, 9, 5, &AT_ONCE);
        assert_eq!(receiver.blocks(5), [(4, 7), (8, 9)]);
        data(&mut receiver, 10, 3, &AT_ONCE);
        assert_eq!(receiver.blocks(3), [(2, 7), (8, 9)]);
    }

    /// Two bytes and eight a block (RFC 2018), and two that align them.
    #[test]
    fn blocks_have_a_size() {
        assert_eq!([0, 1, 2, 3, 4].map(sack_option), [0, 12, 20, 28, 28]);
    }

    /// Linux sends three duplicate ACKs at once; further ones wait for a millisecond and go as one,
    /// earlier where a third block would have to tell of a segment.
    #[test]
    fn linux_merges_duplicates() {
        let mut receiver = linux_receiver();
        let at = |us: u64| 2000 * MS + us * (MS / 1000);
        for seq in 18..21 {
            assert!(data(&mut receiver, at(seq), seq, &LINUX).is_some());
        }
        assert!(data(&mut receiver, at(21), 21, &LINUX).is_none());
        let due = receiver.due;
        for seq in [22, 23, 25] {
            assert!(data(&mut receiver, at(seq), seq, &LINUX).is_none());
            assert_eq!(receiver.due, due);
        }
        assert!(due > at(21) && due <= at(21) + 11 * MS / 10);
        // two blocks tell of 18 to 25 but 24
        let reply = data(&mut receiver, at(27), 27, &LINUX).unwrap();
        assert_eq!((reply.cum, reply.sack), (17, 25));
        assert!(receiver.take_unreported());
        assert_eq!(receiver.blocks(25), [(25, 26), (18, 24)]);
        // the one that was not merged waits alone
        assert_eq!(receiver.due, at(27) + (due - at(21)));
        let reply = receiver.on_due();
        assert_eq!((reply.cum, reply.sack), (17, 27));
        assert!(!receiver.take_unreported());
        // no more than 44 wait
        for seq in 28..72 {
            assert!(data(&mut receiver, at(100), seq, &LINUX).is_none(), "{seq}");
        }
        assert!(data(&mut receiver, at(100), 72, &LINUX).is_some());
        assert!(receiver.take_unreported());
        assert_eq!(receiver.blocks(72), [(27, 73), (25, 26), (18, 24)]);
    }

    /// Linux reports a segment that arrives twice (RFC 2883); it is no SACK block.
    #[test]
    fn linux_reports_duplicates() {
        let mut receiver = linux_receiver();
        let reply = data(&mut receiver, 1010 * MS, 3, &LINUX).unwrap();
        assert_eq!((reply.cum, reply.sack), (17, 3));
        assert!(reply.flags & Flags::SENT_TWICE != 0);
        assert!(receiver.blocks(reply.sack).is_empty());
        // above what is acknowledged, too; the block that holds it follows
        for (seq, twice) in [(19, false), (20, false), (19, true)] {
            let reply = data(&mut receiver, 1011 * MS, seq, &LINUX).unwrap();
            assert_eq!((reply.cum, reply.sack), (17, seq));
            assert_eq!(reply.flags & Flags::SENT_TWICE != 0, twice, "{seq}");
            assert_eq!(
                receiver.blocks(reply.sack),
                [(19, if twice || seq == 20 { 21 } else { 20 })]
            );
        }
    }

    #[test]
    fn a_duplicate_is_acknowledged() {
        let mut receiver = Receiver::default();
        data(&mut receiver, 1, 0, &AT_ONCE);
        let reply = data(&mut receiver, 2, 0, &AT_ONCE).unwrap();
        assert_eq!((reply.cum, reply.sack), (1, NONE));
    }

    /// RFC 2883, section 4: also one above what is acknowledged, whose block holds it.
    #[test]
    fn a_duplicate_is_reported() {
        let config = Config {
            dsack: true,
            ..AT_ONCE
        };
        let mut receiver = Receiver::default();
        for (seq, sack, twice) in [
            (0, NONE, false),
            (0, 0, true),
            (2, 2, false),
            (2, 2, true),
            (1, NONE, false),
            (2, 2, true),
        ] {
            let reply = data(&mut receiver, 1, seq, &config).unwrap();
            assert_eq!(
                (reply.sack, reply.flags & Flags::SENT_TWICE != 0),
                (sack, twice)
            );
        }
        assert_eq!(receiver.next, 3);
    }

    const MS: u64 = crate::tcp::linux_timer_wheel::TICK_PS;
    const LINUX: Config = Config {
        delayed: true,
        timeout: 40 * MS,
        policy: AckPolicy::LinuxQuickAck {
            min_rto: 200 * MS,
            opening: 0,
        },
        dsack: true,
        echo: Echo::UntilCwr,
        ecn_quick: true,
    };

    /// A receiver in Linux whose handshake took 100 ms, and which no longer acknowledges all at
    /// once; the next segment is 16, the time 1 s.
    fn linux_receiver() -> Receiver {
        let mut receiver = Receiver::default();
        receiver.on_syn(900 * MS);
        for seq in 0..16 {
            assert!(data(&mut receiver, 1000 * MS, seq, &LINUX).is_some());
        }
        assert!(data(&mut receiver, 1000 * MS, 16, &LINUX).is_none());
        receiver.flush();
        receiver
    }

    /// An ACK that has waited for 40 ms waits twice as long the next time, a round trip at most, in
    /// ticks; quick segments bring that down.
    #[test]
    fn linux_delays_by_the_gaps() {
        let mut receiver = linux_receiver();
        let waits = |receiver: &mut Receiver, now: u64| {
            let seq = receiver.next;
            assert!(data(receiver, now, seq, &LINUX).is_none());
            receiver.due - now
        };
        assert_eq!(waits(&mut receiver, 1100 * MS), 41 * MS);
        receiver.on_due();
        // 80 ms, up to a bucket of 8 ms
        assert_eq!(waits(&mut receiver, 1200 * MS), 88 * MS);
        receiver.on_due();
        // 160 ms, but the round trip takes 100
        assert_eq!(waits(&mut receiver, 1300 * MS), 108 * MS);
        for _ in 0..5 {
            let seq = receiver.next;
            data(&mut receiver, 1310 * MS, seq, &LINUX);
        }
        assert_eq!(waits(&mut receiver, 1311 * MS), 43 * MS);
        // a pause of a timeout, 300 ms: at once
        receiver.flush();
        let seq = receiver.next;
        assert!(data(&mut receiver, 1700 * MS, seq, &LINUX).is_some());
    }

    /// While the offered window opens ACKs are not delayed, and the count of those that are quick
    /// does not end.
    #[test]
    fn linux_is_quick_while_the_window_opens() {
        let config = Config {
            policy: AckPolicy::LinuxQuickAck {
                min_rto: 200 * MS,
                opening: 50,
            },
            ..LINUX
        };
        let mut receiver = Receiver::default();
        let quick = (0..200)
            .filter(|&seq| data(&mut receiver, 1000 * MS, seq, &config).is_some())
            .count();
        // the 16 follow; then every second
        assert_eq!(quick, 50 + 16 + (200 - 66) / 2);
    }

    /// Three duplicate ACKs go at once, the next waits for a millisecond and the slack; so again
    /// after the cumulative ACK has moved.
    #[test]
    fn linux_lets_duplicates_wait() {
        let mut receiver = linux_receiver();
        let base = receiver.next;
        for seq in 1..4 {
            let reply = data(&mut receiver, 1100 * MS, base + seq, &LINUX).unwrap();
            assert_eq!(reply.sack, base + seq);
        }
        assert_eq!(data(&mut receiver, 1101 * MS, base + 4, &LINUX), None);
        assert_eq!(receiver.due, 1101 * MS + MS + MS / 10);
        // the next before that joins it
        assert_eq!(data(&mut receiver, 1101 * MS + 1, base + 5, &LINUX), None);
        let reply = receiver.on_due();
        assert_eq!((reply.cum, reply.sack), (base, base + 5));
        assert!(receiver.take_unreported());
        assert_eq!(receiver.blocks(reply.sack), [(base + 1, base + 6)]);
        assert_eq!(data(&mut receiver, 1103 * MS, base + 7, &LINUX), None);
        // what fills the gap goes at once and speaks for it too
        let reply = data(&mut receiver, 1103 * MS + 1, base, &LINUX).unwrap();
        assert_eq!((reply.cum, reply.sack), (base + 6, base + 7));
        assert_eq!((reply.echo, receiver.due), (1103 * MS + 1, 0));
        // if it acknowledges that, it does not report it as one that has arrived twice
        for seq in [base + 8, base + 9, base + 10] {
            assert!(data(&mut receiver, 1104 * MS, seq, &LINUX).is_some());
        }
        for seq in [base + 11, base + 12] {
            assert_eq!(data(&mut receiver, 1104 * MS, seq, &LINUX), None);
        }
        let reply = data(&mut receiver, 1104 * MS + 1, base + 6, &LINUX).unwrap();
        assert_eq!((reply.cum, reply.sack), (base + 13, NONE));
        // one segment alone that fills a gap counts among the three, several do not
        let mut at_once = |seq| data(&mut receiver, 1105 * MS, base + seq, &LINUX).is_some();
        assert_eq!(
            [15, 16, 17, 18].map(&mut at_once),
            [true, true, true, false]
        );
        assert_eq!(
            [13, 19, 20, 21].map(&mut at_once),
            [true, true, true, false]
        );
    }

    /// The timer of an ACK that has gone earlier still runs, and lets go what waits for others.
    #[test]
    fn a_timer_that_still_runs_ends_the_wait() {
        let mut receiver = linux_receiver();
        let base = receiver.next;
        assert_eq!(data(&mut receiver, 1100 * MS, base, &LINUX), None);
        let runs = receiver.due;
        for seq in 2..5 {
            assert!(data(&mut receiver, 1101 * MS, base + seq, &LINUX).is_some());
        }
        assert_eq!(data(&mut receiver, runs - MS / 2, base + 5, &LINUX), None);
        assert_eq!(receiver.due, runs);
        receiver.on_due();
        assert_eq!(data(&mut receiver, runs + MS, base + 6, &LINUX), None);
        assert_eq!(receiver.due, runs + 2 * MS + MS / 10);
    }

    /// RFC 8257, section 3.2: with delayed ACKs the number of marked segments arrives exactly.
    #[test]
    fn marks_are_echoed_as_they_come() {
        let config = Config {
            echo: Echo::EachMark,
            ..DELAYED
        };
        let mut receiver = Receiver::default();
        let (mut echoed, mut acknowledged, mut replies) = (0, 0, 0);
        let mut count = |reply: Reply| {
            echoed += if reply.flags & Flags::ECE != 0 {
                reply.cum - acknowledged
            } else {
                0
            };
            acknowledged = reply.cum;
            replies += 1;
        };
        let marks = [0, 0, 0, 1, 1, 1, 0, 1, 0, 0, 0, 0, 1, 1, 1, 1];
        for (seq, &mark) in marks.iter().enumerate() {
            let flags = Flags(if mark == 1 {
                Flags::ECT | Flags::CE
            } else {
                Flags::ECT
            });
            if receiver.must_flush(flags, &config) {
                count(receiver.on_due());
            }
            if let Some(reply) = receiver.on_data(1, seq as u64, 1, flags, &config) {
                count(reply);
            }
        }
        if receiver.due != 0 {
            count(receiver.on_due());
        }
        assert_eq!((echoed, acknowledged), (8, 16));
        assert_eq!(replies, 10); // groups of 3, 3, 1, 1, 4, 4: 2 + 2 + 1 + 1 + 2 + 2
    }

    /// Linux: a segment whose mark differs from the one before it, and one that says that the
    /// window was reduced, is acknowledged at once.
    #[test]
    fn linux_does_not_delay_what_tells_of_marks() {
        let config = Config {
            echo: Echo::EachMark,
            ecn_quick: true,
            ..DELAYED
        };
        let mut receiver = Receiver::default();
        let marked = Flags::ECT | Flags::CE;
        for (seq, (flags, replies)) in [
            (Flags::ECT, false),
            (Flags::ECT, true),
            (marked, true),
            (marked, false),
            (marked, true),
            (Flags::ECT, true),
            (Flags::ECT | Flags::CWR, true),
        ]
        .into_iter()
        .enumerate()
        {
            let reply = receiver.on_data(1, seq as u64, 1, Flags(flags), &config);
            assert_eq!(reply.is_some(), replies, "{seq}");
        }
    }

    #[test]
    fn congestion_is_echoed_until_the_window_is_reduced() {
        let mut receiver = Receiver::default();
        let mut send = |seq, flags| {
            let reply = receiver.on_data(1, seq, 1, Flags(flags), &AT_ONCE);
            reply.unwrap().flags & Flags::ECE != 0
        };
        assert!(!send(0, Flags::ECT));
        assert!(send(1, Flags::ECT | Flags::CE));
        assert!(send(2, Flags::ECT));
        assert!(!send(3, Flags::ECT | Flags::CWR));
        assert!(send(4, Flags::ECT | Flags::CWR | Flags::CE));
    }
}
