//! Links whose transmitter is looked at late: after others' events that it cannot have an effect on.
//!
//! What leaves a link is seen by nobody before it has crossed the wire. Where no flow that crosses
//! the link meets another queue, its transmitter's acts therefore need no events of their own: it
//! is enough to catch up on them when somebody looks at the link (a packet arrives, a sample is
//! taken, a timer runs), and at the latest one propagation delay after the first of them. This is
//! the lookahead of conservative parallel simulation. A packet goes on when its transmission
//! begins: when that ends is known.

use super::Link;
use crate::calendar::{Class as Order, Kind, Tag};
use crate::packet::Packet;

/// Acts of a link's transmitter that are to come.
#[derive(Debug)]
pub(crate) struct Acts {
    /// How long after an act its effects are seen, ps; zero where acts are events of the calendar.
    lookahead: u64,
    /// When the transmitter acts next; `u64::MAX` if it does not.
    next: u64,
    /// When it acts after that, where more than one act was asked for, the earliest last.
    further: Vec<u64>,
    /// The earliest entry of the calendar that catches up on the link.
    entry: u64,
}

impl Default for Acts {
    fn default() -> Self {
        Self {
            lookahead: 0,
            next: u64::MAX,
            further: Vec::new(),
            entry: u64::MAX,
        }
    }
}

impl Acts {
    pub(crate) fn set_lookahead(&mut self, lookahead: u64) {
        self.lookahead = lookahead;
    }

    /// Whether acts are looked at late.
    #[inline]
    pub(crate) fn are_late(&self) -> bool {
        self.lookahead > 0
    }

    /// Whether the transmitter has acted by `until` unseen.
    #[inline(always)]
    pub(crate) fn are_due(&self, until: u64) -> bool {
        self.next <= until
    }

    /// The transmitter acts at `at`: when that needs an entry in the calendar.
    #[inline(always)]
    pub(crate) fn add(&mut self, at: u64) -> Option<u64> {
        if self.lookahead == 0 {
            return Some(at);
        }
        self.insert(at);
        let latest = at.saturating_add(self.lookahead);
        (latest < self.entry).then(|| {
            self.entry = latest;
            latest
        })
    }

    /// The same without an entry of its own.
    #[inline(always)]
    pub(crate) fn insert(&mut self, at: u64) {
        if self.next == u64::MAX {
            self.next = at;
        } else {
            self.insert_further(at);
        }
    }

    #[cold]
    #[inline(never)]
    fn insert_further(&mut self, at: u64) {
        let later = self.next.max(at);
        self.next = self.next.min(at);
        let place = self.further.partition_point(|other| *other > later);
        self.further.insert(place, later);
    }

    /// The next act, if it is due by `until`.
    #[inline(always)]
    pub(crate) fn take(&mut self, until: u64) -> Option<u64> {
        let at = self.next;
        if at > until {
            return None;
        }
        self.next = self.further.pop().unwrap_or(u64::MAX);
        Some(at)
    }

    /// An entry of the calendar came at `at`: when the next is to come, if one is.
    pub(crate) fn next_entry(&mut self, at: u64) -> Option<u64> {
        if at != self.entry {
            return None; // one that came earlier has taken its place
        }
        self.entry = match self.next {
            u64::MAX => u64::MAX,
            next => next.saturating_add(self.lookahead),
        };
        (self.entry != u64::MAX).then_some(self.entry)
    }
}

impl Link {
    /// The propagation delay, if it stays.
    pub(crate) fn steady_delay(&self) -> Option<u64> {
        self.steady.then_some(self.present_delay.0)
    }

    /// Whether a packet is being sent at `now`.
    #[inline(always)]
    pub(super) fn is_sending(&self, now: u64) -> bool {
        self.serving.is_some() || self.acts.are_late() && self.free > now
    }

    /// A packet whose transmission has begun, and when that ends, where acts are looked at late: it
    /// goes on at once ([`Link::goes_on`]).
    #[inline(always)]
    pub(crate) fn begun(&self) -> Option<(&Packet, u64)> {
        let begun = self.serving.as_ref().filter(|_| self.acts.are_late());
        begun.map(|packet| (packet, self.free))
    }

    /// The packet whose transmission has begun has gone on.
    #[inline(always)]
    pub(crate) fn goes_on(&mut self) {
        self.serving = None;
    }
}

/// The entry of a link's transmitter in the calendar.
pub(crate) fn tag(link: usize) -> Tag {
    Tag::new(Order::Transmit, link, Kind::Transmit)
}
