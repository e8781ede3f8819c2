//! A TCP receiver: reassembly, delayed and selective acknowledgements, ECN echo.

use crate::bitmap::Bitmap;
use crate::packet::{Flags, NONE};

/// What the receiver answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reply {
    /// Next segment expected.
    pub(crate) cum: u64,
    /// Time stamp echoed (RFC 7323, section 4.3).
    pub(crate) echo: u64,
    /// The segment just received out of order, or [`NONE`].
    pub(crate) sack: u64,
    /// ECN-Echo.
    pub(crate) ece: bool,
}

/// Options that the flows of a class share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Config {
    /// Whether ACKs are delayed.
    pub(crate) delayed: bool,
    /// Longest delay of an ACK, ps.
    pub(crate) timeout: u64,
    /// Where not zero, the first ACKs of a connection, and those after a duplicate or so long a pause (ps), are not delayed (Linux).
    pub(crate) quick_after: u64,
    /// Whether marks are echoed as they come (RFC 8257, section 3.2) instead of until CWR.
    pub(crate) accurate_ecn: bool,
    /// Whether segments with CWR are acknowledged at once, those whose mark differs from the last one's with `accurate_ecn`, and else two after the first mark
    /// (Linux).
    pub(crate) ecn_quick: bool,
}

/// ACKs that Linux sends at once at the beginning, and after a duplicate.
const QUICK: u32 = 16;

/// The receiving half of a TCP connection. The application reads at once, so that the offered window is constant.
#[derive(Debug)]
pub(crate) struct Receiver {
    /// Next segment expected; all below are delivered.
    pub(crate) next: u64,
    out_of_order: Bitmap,
    /// When the delayed ACK is due; 0: none is held back.
    pub(crate) due: u64,
    held_stamp: u64,
    /// ACKs that are not delayed yet, where they are quick at first.
    quick: u32,
    last_arrival: u64,
    last_stamp: u64,
    echo: bool,
    /// SACK blocks reported last, newest first, for receivers whose ACKs may be lost (RFC 2018, section 4).
    recent: Vec<(u64, u64)>,
}

impl Default for Receiver {
    fn default() -> Self {
        Self {
            next: 0,
            out_of_order: Bitmap::default(),
            due: 0,
            held_stamp: 0,
            quick: QUICK,
            last_arrival: 0,
            last_stamp: 0,
            echo: false,
            recent: Vec::new(),
        }
    }
}

impl Receiver {
    /// Data segment `seq` arrives at `now`, sent at `stamp`.
    #[inline(always)]
    pub(crate) fn on_data(
        &mut self,
        now: u64,
        seq: u64,
        stamp: u64,
        flags: Flags,
        config: &Config,
    ) -> Option<Reply> {
        if seq == self.next
            && config.quick_after == 0
            && !config.accurate_ecn
            && flags.0 & (Flags::CE | Flags::CWR) == 0
            && self.out_of_order.count() == 0
        {
            // nearly always
            self.next += 1;
            self.last_stamp = stamp;
            if self.due != 0 || !config.delayed {
                return Some(self.reply(NONE));
            }
            self.due = now + config.timeout;
            self.held_stamp = stamp;
            return None;
        }
        self.on_other_data(now, seq, stamp, flags, config)
    }

    /// [`Receiver::on_data`] where there is more to look at.
    #[inline(never)]
    fn on_other_data(
        &mut self,
        now: u64,
        seq: u64,
        stamp: u64,
        flags: Flags,
        config: &Config,
    ) -> Option<Reply> {
        let echoed = self.echo;
        if flags.has(Flags::CWR) || config.accurate_ecn {
            self.echo = false;
        }
        if flags.has(Flags::CE) {
            self.echo = true; // RFC 3168, section 6.1.3: until CWR
        }
        let mut at_once = false;
        if config.ecn_quick {
            at_once = flags.has(Flags::CWR);
            if config.accurate_ecn {
                at_once |= self.echo != echoed;
            } else if self.echo && !echoed {
                self.quick = self.quick.max(2);
            }
        }
        if config.quick_after > 0 {
            if now - self.last_arrival > config.quick_after {
                self.quick = QUICK;
            }
            self.last_arrival = now;
        }
        if seq != self.next {
            if seq < self.next {
                self.quick = QUICK;
            }
            let news = seq > self.next && self.out_of_order.insert(self.next, seq);
            return Some(self.reply(if news { seq } else { NONE }));
        }
        let held = self.due != 0;
        self.last_stamp = stamp;
        if self.out_of_order.count() == 0 {
            self.next += 1;
            if config.quick_after > 0 && self.quick > 0 {
                self.quick -= 1;
            } else if config.delayed && !held && !at_once {
                self.due = now + config.timeout;
                self.held_stamp = stamp;
                return None;
            }
            return Some(self.reply(NONE));
        }
        // it fills a gap: acknowledged at once (RFC 5681, section 4.2)
        let run = self.out_of_order.run(self.next, self.next + 1);
        let next = self.next + 1 + run;
        self.out_of_order.advance(self.next, next);
        self.next = next;
        Some(self.reply(NONE))
    }

    /// Whether the ACK held back must go before a segment with these flags is taken: an ACK speaks for marked segments or for unmarked ones, never for
    /// both (RFC 8257, section 3.2).
    #[inline]
    pub(crate) fn must_flush(&self, flags: Flags, config: &Config) -> bool {
        config.accurate_ecn && self.due != 0 && flags.has(Flags::CE) != self.echo
    }

    /// The delayed ACK is due.
    pub(crate) fn on_due(&mut self) -> Reply {
        self.reply(NONE)
    }

    #[inline]
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
            ece: self.echo,
        }
    }

    /// Up to three SACK blocks of an ACK for segment `sack`: the one that holds it, then those reported last (RFC 2018, section 4).
    pub(crate) fn blocks(&mut self, sack: u64) -> Vec<(u64, u64)> {
        let floor = self.next;
        let bits = &self.out_of_order;
        let grown = |seq: u64| (seq - bits.run_below(floor, seq), seq + bits.run(floor, seq));
        let mut blocks = Vec::with_capacity(3);
        if sack != NONE {
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

#[cfg(test)]
mod tests {
    use super::*;

    const AT_ONCE: Config = Config {
        delayed: false,
        timeout: 0,
        quick_after: 0,
        accurate_ecn: false,
        ecn_quick: false,
    };
    const DELAYED: Config = Config {
        delayed: true,
        timeout: 40,
        quick_after: 0,
        accurate_ecn: false,
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

    #[test]
    fn a_duplicate_is_acknowledged() {
        let mut receiver = Receiver::default();
        data(&mut receiver, 1, 0, &AT_ONCE);
        let reply = data(&mut receiver, 2, 0, &AT_ONCE).unwrap();
        assert_eq!((reply.cum, reply.sack), (1, NONE));
    }

    /// RFC 8257, section 3.2: with delayed ACKs the number of marked segments arrives exactly.
    #[test]
    fn marks_are_echoed_as_they_come() {
        let config = Config {
            accurate_ecn: true,
            ..DELAYED
        };
        let mut receiver = Receiver::default();
        let (mut told, mut acknowledged, mut replies) = (0, 0, 0);
        let mut count = |reply: Reply| {
            told += if reply.ece {
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
        assert_eq!((told, acknowledged), (8, 16));
        assert_eq!(replies, 10); // groups of 3, 3, 1, 1, 4, 4: 2 + 2 + 1 + 1 + 2 + 2
    }

    /// Linux: a segment whose mark differs from the one before it, and one that says that the window was reduced, is acknowledged at once.
    #[test]
    fn linux_does_not_delay_what_tells_of_marks() {
        let config = Config {
            accurate_ecn: true,
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
            receiver
                .on_data(1, seq, 1, Flags(flags), &AT_ONCE)
                .unwrap()
                .ece
        };
        assert!(!send(0, Flags::ECT));
        assert!(send(1, Flags::ECT | Flags::CE));
        assert!(send(2, Flags::ECT));
        assert!(!send(3, Flags::ECT | Flags::CWR));
        assert!(send(4, Flags::ECT | Flags::CWR | Flags::CE));
    }
}
