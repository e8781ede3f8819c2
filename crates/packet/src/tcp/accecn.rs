//! Accurate ECN (RFC 9768): the receiver counts the segments that arrive marked, and each of its
//! ACKs carries the count, modulo eight in the three bits that were ECN's and NS's in the header
//! (ACE), and in an option modulo much more.
//!
//! Deviation from RFC 9768, section 3.2.3: the option counts marked segments modulo 65,536, not
//! their bytes modulo 2^24, as all segments are full; it has no counters of unmarked bytes, and is
//! on every ACK where it is used at all.
//!
//! What the peer answers in the handshake is known when a class is set up (`Config::new`); a sender
//! without a network takes its answer, `Endpoint::negotiate`.
//!
//! Deviation from RFC 9768, section 3.1: the first ACKs do not say what became of the SYN's own
//! codepoint, which is Not-ECT.

//= RFC 9768 3.2.2.1/1..6: deviation, the handshake's last ACK carries a count like any other:
//=   nothing on a path here changes a SYN's codepoint
//= RFC 9768 3.2.2.2/2..5: not applicable, SYNs and SYN/ACKs are not ECN-capable with AccECN
//= RFC 9768 3.2.2.3/1..2, 3.2.2.4/1..2: not applicable, nothing on a path mangles fields: no test
//=   of it changes what is sent
//= RFC 9768 3.2.2.5.1/4: not applicable, pure ACKs are not ECN-capable
//= RFC 9768 3.2.2.5.1/6: not applicable, segments are not taken together
//= RFC 9768 3.2.2.5.1/7: not applicable, pure ACKs are not acknowledged
//= RFC 9768 3.1.5/16: not applicable, what both ends can is settled before the run
//= RFC 9768 3.2/2: deviation, segments and not bytes are counted, and marked ones only: all
//=   segments are full
//= RFC 9768 3.2.3/1..4: not applicable, the option is a field of the ACK without a wire format
//= RFC 9768 3.2.3/5..6: done, test counted_marks_come_through_a_lossy_way_back
//= RFC 9768 3.2.3/7: not applicable, no path removes options
//= RFC 9768 3.2.3.1/1: deviation, a counter of marked segments modulo 65,536
//= RFC 9768 3.2.3.2.1/1..5: not applicable, the option is on ACKs of data only, and the handshake
//=   carries none
//= RFC 9768 3.2.3.2.2/1..5: not applicable, no path drops packets for their options
//= RFC 9768 3.2.3.2.3/2: not applicable, data flows one way, so that one end sends feedback
//= RFC 9768 3.2.3.2.4/1..2: not applicable, nothing zeroes options
//= RFC 9768 3.2.3.2.5/1..2: deviation, where the option is there ACE is not looked at: both come
//=   from one count
//= RFC 9768 3.2.3.3/1..2, 3.2.3.3/5: not applicable, options take no room
//= RFC 9768 3.2.3.3/3..4, 3.2.3.3/6..10: done, test a_lossy_way_back; the option is on every ACK
//= RFC 9768 3.3.2/1: not applicable, there are no middleboxes that rewrite headers
//= RFC 9768 4/2: not applicable, the window that the receiver offers is never exceeded
//= RFC 9768 7/1: not applicable, options have no kinds here

use super::{AckSummary, Config, Sender};
use crate::packet::{Ack, Flags};

/// Count that both ends begin with (section 3.2.1).
const INITIAL_COUNT: u64 = 5;
/// ACE goes round after so many marks.
const ACE_MODULUS: u64 = 8;
/// The option's counter goes round after so many.
const OPTION_MODULUS: u64 = 1 << 16;

/// The header bits of a count.
pub(super) fn bits(marked: u64) -> u8 {
    ace_bits((marked + INITIAL_COUNT) % ACE_MODULUS)
}

/// The header bits of what ACE says.
pub(super) fn ace_bits(ace: u64) -> u8 {
    let bit = |value: u64, flag: u8| if ace & value != 0 { flag } else { 0 };
    bit(4, Flags::AE) | bit(2, Flags::CWR) | bit(1, Flags::ECE)
}

/// The count modulo eight that header bits stand for.
fn count(flags: Flags) -> u64 {
    let bit = |value: u64, flag: u8| if flags.has(flag) { value } else { 0 };
    //= RFC 9768 3.2.2/1, 3.2.2/3: done, test the_first_count_is_five; ACKs of SYNs are taken
    //=   elsewhere
    let ace = bit(4, Flags::AE) + bit(2, Flags::CWR) + bit(1, Flags::ECE);
    (ace + ACE_MODULUS - INITIAL_COUNT) % ACE_MODULUS
}

/// Knowledge of a sender about the receiver's count.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AccEcn {
    /// Marked segments that ACKs have told of.
    pub(super) marked: u64,
    /// Marks that the congestion control has not heard of yet.
    pub(super) pending: u32,
}

impl AccEcn {
    /// An ACK comes that delivers `delivered` segments for the first time: how many marks it tells
    /// of. `option` is the option's counter.
    ///
    /// Without the option, ACE may have gone round more than once where ACKs were lost and this one
    /// delivers more than seven segments; then as many times are assumed as these segments allow
    /// (section 3.2.2.5.2, appendix A.2).
    pub(super) fn take(&mut self, flags: Flags, option: Option<u16>, delivered: u64) -> u64 {
        let new = match option {
            Some(counter) => {
                (u64::from(counter) + OPTION_MODULUS - self.marked % OPTION_MODULUS)
                    % OPTION_MODULUS
            }
            None => {
                let least = (count(flags) + ACE_MODULUS - self.marked % ACE_MODULUS) % ACE_MODULUS;
                //= RFC 9768 3.2.2.5.2/1..2: done, test a_lossy_way_back
                //= RFC 9768 3.2.3.2.3/1: done, test a_lossy_way_back
                if delivered < ACE_MODULUS {
                    least
                } else {
                    least + delivered.saturating_sub(least) / ACE_MODULUS * ACE_MODULUS
                }
            }
        };
        self.marked += new;
        new
    }
}

impl Sender {
    /// The marks that an ACK tells of, for the congestion control: with an ACK that acknowledges
    /// nothing new they wait for the next one.
    pub(super) fn take_marks(&mut self, ack: &Ack, summary: &mut AckSummary, config: &Config) {
        let Some(accecn) = &mut self.accecn else {
            return;
        };
        let delivered = summary.acked + u64::from(summary.sacked) - u64::from(summary.known);
        let option = (config.ecn.accecn == Some(true)).then_some(ack.marked);
        accecn.pending += accecn.take(ack.flags, option, delivered) as u32;
        summary.ece = accecn.pending > 0;
        if delivered > 0 {
            summary.marked = std::mem::take(&mut accecn.pending);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::delayed_ack::AckPolicy;
    use super::super::receiver::{Config as Options, Echo, Receiver};
    use super::*;
    use ackclock_algorithms::{Owner, Stream};

    #[test]
    fn the_first_count_is_five() {
        assert_eq!(bits(0), Flags::AE | Flags::ECE);
        assert_eq!(bits(3), 0);
        for marked in 0..20 {
            assert_eq!(count(Flags(bits(marked))), marked % ACE_MODULUS);
        }
    }

    /// Returns what a sender counts over 20,000 segments of which so many are marked, in bursts,
    /// where each ACK is lost with this probability: with the option or without, and in truth.
    fn counted(option: bool, marking: f64, loss: f64) -> (u64, u64) {
        let config = Options {
            delayed: true,
            timeout: 40,
            policy: AckPolicy::Rfc5681,
            dsack: false,
            echo: Echo::Count,
            ecn_quick: false,
            buffer: None,
        };
        let mut random = Stream::new(1, Owner::Flow, 0);
        let (mut receiver, mut sender) = (Receiver::default(), AccEcn::default());
        let (mut acked, mut truth, mut burst) = (0, 0, false);
        for seq in 0..20_000 {
            if random.uniform() < 0.1 {
                burst = random.uniform() < marking;
            }
            truth += u64::from(burst);
            let flags = Flags(Flags::ECT | if burst { Flags::CE } else { 0 });
            let last = seq == 19_999;
            let Some(reply) = receiver.on_data(1, seq, 1, flags, &config) else {
                continue;
            };
            if random.uniform() < loss && !last {
                continue;
            }
            let counter = option.then_some(reply.marked);
            sender.take(Flags(reply.flags), counter, reply.cum - acked);
            acked = reply.cum;
        }
        // the last ACK may be a delayed one
        let reply = receiver.flush();
        let counter = option.then_some(reply.marked);
        sender.take(Flags(reply.flags), counter, reply.cum - acked);
        (sender.marked, truth)
    }

    /// Section 3.2.2.5.1: a marked segment after unmarked ones is acknowledged at once. Linux
    /// acknowledges each change at once, the end of marks, too.
    #[test]
    fn changes_are_acknowledged_at_once() {
        for (linux, expected) in [(false, 1), (true, 2)] {
            let config = Options {
                delayed: true,
                timeout: 40,
                policy: AckPolicy::Rfc5681,
                dsack: false,
                echo: Echo::Count,
                ecn_quick: linux,
                buffer: None,
            };
            let mut receiver = Receiver::default();
            let marks = [false, false, true, false, true, true];
            let acks: Vec<u64> = (0_u64..)
                .zip(marks)
                .filter_map(|(seq, marked)| {
                    let flags = Flags(Flags::ECT | if marked { Flags::CE } else { 0 });
                    receiver.on_data(1, seq, 1, flags, &config)
                })
                .map(|reply| reply.cum)
                .collect();
            let at_the_end = acks.iter().filter(|cum| **cum == 4).count() as u64;
            assert!(
                acks.contains(&2) && acks.contains(&3) && acks.contains(&5),
                "{acks:?}"
            );
            assert_eq!(1 + at_the_end, expected, "{acks:?}");
        }
    }

    /// Section 3.2.2.5.1: with delayed ACKs no more than two marks wait for an ACK.
    #[test]
    fn no_more_than_two_marks_wait() {
        let config = Options {
            delayed: true,
            timeout: 40,
            policy: AckPolicy::Rfc5681,
            dsack: false,
            echo: Echo::Count,
            ecn_quick: false,
            buffer: None,
        };
        let (mut receiver, mut waiting) = (Receiver::default(), 0);
        for seq in 0..100 {
            waiting += 1;
            let flags = Flags(Flags::ECT | Flags::CE);
            if receiver.on_data(1, seq, 1, flags, &config).is_some() {
                waiting = 0;
            }
            assert!(waiting < 2, "{seq}");
        }
    }

    /// Without losses of ACKs three bits are enough; with the option always. Where so many ACKs are
    /// lost that three bits go round unseen, ACE alone errs to the safe side: it counts too much,
    /// never too little.
    #[test]
    fn a_lossy_way_back() {
        for marking in [0.02, 0.3, 0.9] {
            for loss in [0.0, 0.3, 0.6, 0.9] {
                let (exact, truth) = counted(true, marking, loss);
                assert_eq!(exact, truth, "{marking} {loss}");
                let (ace, truth) = counted(false, marking, loss);
                if loss == 0.0 {
                    assert_eq!(ace, truth, "{marking}");
                } else {
                    assert!(ace >= truth, "{marking} {loss}: {ace} of {truth}");
                }
            }
        }
        // the price: nearly every ACK there delivers more than seven segments
        let (ace, truth) = counted(false, 0.02, 0.9);
        assert!(ace > 5 * truth, "{ace} of {truth}");
    }
}
