//! Everything that travels: packets and acknowledgements, as small plain values.

use std::collections::HashMap;

use ackclock_algorithms::scheduler::{Acknowledgement, SackBlocks};

use crate::calendar::Place;

/// No sequence number: an ACK that reports no segment out of order.
pub(crate) const NONE: u64 = u64::MAX;

/// Kind of a packet, and its header bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Flags(pub(crate) u8);

impl Flags {
    /// An acknowledgement (else data).
    pub(crate) const ACK: u8 = 1;
    /// Connection set-up: SYN, or SYN-ACK with [`Flags::ACK`].
    pub(crate) const SYN: u8 = 2;
    /// ECN-capable transport; with [`Flags::ECT1`] ECT(1), else ECT(0).
    pub(crate) const ECT: u8 = 4;
    /// Congestion experienced.
    pub(crate) const CE: u8 = 8;
    /// ECN-Echo, on ACKs.
    pub(crate) const ECE: u8 = 16;
    /// Congestion window reduced, on data.
    pub(crate) const CWR: u8 = 32;
    /// On data: ECT(1) (RFC 9331).
    pub(crate) const ECT1: u8 = 128;
    /// On ACKs: the third bit of AccECN's count, beside CWR and ECE.
    pub(crate) const AE: u8 = 128;
    /// The segment that an ACK names has arrived twice (DSACK).
    pub(crate) const SENT_TWICE: u8 = 64;

    #[inline]
    pub(crate) fn has(self, bit: u8) -> bool {
        self.0 & bit != 0
    }

    /// Data with ECT(1).
    #[inline]
    pub(crate) fn is_scalable(self) -> bool {
        self.0 & (Self::ECT | Self::ECT1) == Self::ECT | Self::ECT1
    }
}

/// A packet on its way through shared links. Sequence numbers count segments.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Packet {
    /// Data: its segment. ACK: the next segment expected.
    pub(crate) seq: u64,
    /// Data: when it was sent. ACK: the time echoed (0: none). Sender's clock, RFC 7323.
    pub(crate) stamp: u64,
    /// ACK: the segment just received out of order, or [`NO_NUMBER`].
    pub(crate) sack: u64,
    /// Number of its flow, and slot of the flow's state.
    pub(crate) flow: u32,
    pub(crate) slot: u32,
    /// Size on the wire, bytes.
    pub(crate) size: u32,
    /// Number of links crossed so far.
    pub(crate) hop: u16,
    pub(crate) flags: Flags,
    /// Its class's priority; set only on links that look at it.
    pub(crate) priority: u8,
    /// ACK: further SACK blocks, an index into the flow's own list (0: none).
    pub(crate) blocks: u32,
    /// ACK: marked segments so far, in AccECN's option.
    pub(crate) marked: u16,
    /// Data: how often its sender had named the flow anew when it left, for routers that hash it.
    pub(crate) rehashes: u16,
}

impl Packet {
    /// The fields that a filter of ACKs reads, with its SACK blocks; none of data and of what sets a
    /// connection up.
    pub(crate) fn as_acknowledgement(&self, blocks: SackBlocks) -> Option<Acknowledgement> {
        if !self.flags.has(Flags::ACK) || self.flags.has(Flags::SYN) {
            return None;
        }
        Some(Acknowledgement {
            flow: self.flow,
            cumulative: self.seq,
            blocks,
            ecn_echo: self.flags.0 & (Flags::ECE | Flags::CWR | Flags::AE),
        })
    }

    /// A packet that has crossed no link yet and reports nothing out of order.
    #[inline]
    pub(crate) fn new(flow: Place, seq: u64, stamp: u64, size: u32, flags: Flags) -> Self {
        Self {
            seq,
            stamp,
            sack: NONE,
            flow: flow.number() as u32,
            slot: flow.slot() as u32,
            size,
            hop: 0,
            flags,
            priority: 0,
            blocks: 0,
            marked: 0,
            rehashes: 0,
        }
    }
}

/// SACK blocks of the ACKs in a link that have some, where ACKs are filtered, by their flow's state
/// and their number in it.
#[derive(Debug, Default)]
pub(crate) struct Reported(HashMap<(u32, u32), SackBlocks>);

impl Reported {
    pub(crate) fn insert(&mut self, ack: &Packet, blocks: SackBlocks) {
        let before = self.0.insert((ack.slot, ack.blocks), blocks);
        // the state of a flow whose ACKs share a queue is not given to another
        debug_assert!(before.is_none(), "two ACKs in a link have one number");
    }

    pub(crate) fn of(&self, ack: &Packet) -> SackBlocks {
        let known = self.0.get(&(ack.slot, ack.blocks));
        known.copied().unwrap_or_default()
    }

    /// A packet leaves the link, or is dropped.
    #[inline(always)]
    pub(crate) fn forget(&mut self, packet: &Packet) {
        if packet.blocks != 0 && !self.0.is_empty() {
            self.0.remove(&(packet.slot, packet.blocks));
        }
    }
}

/// A data packet, or a SYN, between its flow's uplink and the first queue: what a [`Packet`] there
/// has of its own.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Outbound {
    /// When it reaches the queue.
    pub(crate) at: u64,
    pub(crate) seq: u64,
    pub(crate) stamp: u64,
    pub(crate) size: u32,
    pub(crate) rehashes: u16,
    pub(crate) flags: Flags,
}

impl Outbound {
    /// The packet as it reaches the first queue of its flow.
    #[inline]
    pub(crate) fn packet(&self, flow: Place) -> Packet {
        Packet {
            rehashes: self.rehashes,
            ..Packet::new(flow, self.seq, self.stamp, self.size, self.flags)
        }
    }
}

/// An ACK on its way back over a private path: what the sender will read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ack {
    /// When it reaches the sender (the sender's event time).
    pub(crate) at: u64,
    pub(crate) cum: u64,
    pub(crate) echo: u64,
    pub(crate) sack: u64,
    pub(crate) blocks: u32,
    pub(crate) flags: Flags,
    pub(crate) marked: u16,
}
