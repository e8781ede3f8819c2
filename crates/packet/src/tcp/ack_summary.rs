//! Contents of one acknowledgement, and what the options of a sender want to know of it.

use crate::packet::{Ack, Flags, NONE};

/// Contents of one ACK.
#[derive(Clone, Copy)]
pub(super) struct AckSummary {
    pub(super) now: u64,
    /// Segments acknowledged cumulatively, and selectively for the first time.
    pub(super) acked: u64,
    pub(super) sacked: u32,
    /// Segments of `acked` that had been acknowledged selectively before.
    pub(super) known: u32,
    /// Segments outstanding before it.
    pub(super) before: u64,
    pub(super) cwnd_limited: bool,
    /// RTT sample, ps; 0: none.
    pub(super) rtt: u64,
    pub(super) ece: bool,
    /// Marked segments that it tells of, where they are counted.
    pub(super) marked: u32,
    /// When the retransmission timer was to expire before it.
    pub(super) rto_before: u64,
    /// The time that it echoes, 0 without one.
    pub(super) echo: u64,
    /// The lowest segments sent once that it acknowledges selectively below others, and
    /// cumulatively; [`NONE`] without one.
    pub(super) low_sacked: u64,
    pub(super) low_acked: u64,
    /// Segments that it reports to have arrived twice.
    pub(super) duplicates: u32,
    /// It tells of new losses; found for PRR only.
    pub(super) loses: bool,
}

impl AckSummary {
    /// Returns the summary of an ACK that says nothing yet.
    pub(super) fn new(now: u64, before: u64, rto_before: u64) -> Self {
        Self {
            now,
            acked: 0,
            sacked: 0,
            known: 0,
            before,
            cwnd_limited: false,
            rtt: 0,
            ece: false,
            marked: 0,
            rto_before,
            echo: 0,
            low_sacked: NONE,
            low_acked: NONE,
            duplicates: 0,
            loses: false,
        }
    }
}

/// Parts of an ACK that the options of a sender want to know.
#[derive(Clone, Copy)]
pub(super) struct Wanted {
    /// All that Linux's recovery asks for.
    pub(super) linux: bool,
    /// Segments that it reports to have arrived twice.
    pub(super) duplicates: bool,
    /// Which of the remembered segments it delivers.
    pub(super) packets: bool,
    /// Marks that the receiver has counted.
    pub(super) marks: bool,
    /// Whether it tells that a reduction was needless.
    pub(super) undo: bool,
}

/// The segments that an ACK reports to have arrived twice, in its first SACK block (RFC 2883,
/// section 4) or as the segment that it is for.
pub(super) fn reported_duplicate(ack: &Ack, blocks: &[(u64, u64)]) -> Option<(u64, u64)> {
    match blocks {
        _ if ack.sack < ack.cum || ack.flags.has(Flags::SENT_TWICE) => {
            Some((ack.sack, ack.sack + 1))
        }
        [block, ..] if block.1 <= ack.cum => Some(*block),
        [block, (from, to), ..] if *from <= block.0 && block.1 <= *to => Some(*block),
        _ => None,
    }
}
