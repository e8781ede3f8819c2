//! A TCP receiver: reassembly, delayed and selective acknowledgements, ECN echo.

use super::accecn;
use super::delayed_ack::{AckPolicy, QuickAcks};
use super::receive_buffer::{Limits, Offer, ReceiveBuffer};
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
    /// The receive buffer whose window opens as data comes, as in Linux. Without one the offered
    /// window is constant.
    pub(crate) buffer: Option<Limits>,
}

/// The receiving half of a TCP connection; what each segment needs comes first.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct Receiver {
    /// Next segment expected; all below are delivered.
    pub(crate) next: u64,
    /// When the delayed ACK is due; 0: none is held back.
    pub(crate) due: u64,
    held_stamp: u64,
    last_stamp: u64,
    /// How far above `next` the last segment is whose duplicate ACK waits for others (0: none), and
    /// how many wait for the same ACK.
    held: u32,
    merged: u8,
    /// Some of them are told by the blocks of the next ACK alone.
    unreported: bool,
    /// The last segment was marked, or marks are being echoed; the header bits of ACKs that follow
    /// from it; and how many were marked, where they are counted.
    echo: bool,
    bits: u8,
    marked: u64,
    out_of_order: Bitmap,
    /// State from which Linux delays ACKs.
    acks: QuickAcks,
    /// SACK blocks reported last, newest first, for receivers whose ACKs may be lost (RFC 2018,
    /// section 4).
    recent: Vec<(u64, u64)>,
    /// From the first data on, where there is one.
    buffer: Option<Box<ReceiveBuffer>>,
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
        if let Some(limits) = &config.buffer {
            self.fill_buffer(now, seq, stamp, limits);
        }
        let before = self.next;
        let reply = self.on_segment(now, seq, stamp, flags, config);
        if let (Some(limits), Some(buffer)) = (&config.buffer, &mut self.buffer) {
            buffer.queue(before, self.next);
            buffer.take(limits, now, self.next);
        }
        reply
    }

    /// Segment `seq` comes into the receive buffer.
    #[cold]
    #[inline(never)]
    fn fill_buffer(&mut self, now: u64, seq: u64, stamp: u64, limits: &Limits) {
        let new = || Box::new(ReceiveBuffer::new(limits, now));
        let buffer = self.buffer.get_or_insert_with(new);
        buffer.measure(now, stamp);
        let old =
            seq < self.next || (seq > self.next && self.out_of_order.contains(self.next, seq));
        let next = self.next + u64::from(seq == self.next);
        let waiting = u64::from(self.out_of_order.count());
        if !old && seq > self.next {
            let follows = self.out_of_order.contains(self.next, seq - 1);
            buffer.wait(self.next, seq, follows);
        }
        if !old && buffer.grow(limits, next, waiting) {
            self.acks.open();
        }
    }

    /// Whether a receive buffer limits the sender.
    #[inline(always)]
    pub(crate) fn has_buffer(&self) -> bool {
        self.buffer.is_some()
    }

    /// The offer of an ACK that leaves at `at`.
    pub(crate) fn offer(&mut self, at: u64, config: &Config) -> Option<Offer> {
        let (limits, buffer) = (config.buffer.as_ref()?, self.buffer.as_mut()?);
        let waiting = u64::from(self.out_of_order.count());
        let (edge, filled) = buffer.select(limits, self.next, waiting);
        if filled {
            self.acks.end_quick();
        }
        Some(Offer { edge, sent: at })
    }

    /// An ACK that left at `sent` reaches the sender at `now`, by the sender's clock.
    pub(crate) fn note_heard(&mut self, now: u64, sent: u64) {
        if let Some(buffer) = &mut self.buffer {
            buffer.note_heard(now, sent);
        }
    }

    #[inline(always)]
    fn on_segment(
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
mod tests;
