//! Records of an observer on a link, or beside a sender: captures of packets (pcapng) and logs of
//! senders (qlog).
//!
//! Whoever captures takes the engine's general path, where each packet has events of its own; the
//! run is the same to the last bit. Elsewhere nothing of this costs more than a look at an empty
//! option.
//!
//! A tap is where a link begins: it sees packets as they reach the queue, or, at the link's exit,
//! as they leave the transmitter. It sees both directions of each connection that crosses the link,
//! ACKs over a private path as they pass that router on their way back.

pub(crate) mod pcapng;
mod qlog;

use std::collections::{BinaryHeap, HashMap, HashSet};

use crate::Captured;
pub(crate) use pcapng::{Connection, Content, Segment};
pub(crate) use qlog::{Metrics, SenderLog};

const NANOSECOND: u64 = 1000;

/// A packet that passes a tap later.
struct Later {
    at: u64,
    order: u64,
    bytes: Vec<u8>,
    length: u32,
}

impl PartialEq for Later {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.order) == (other.at, other.order)
    }
}

impl Eq for Later {}

impl PartialOrd for Later {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Later {
    /// The first is the greatest, as a heap wants it.
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (other.at, other.order).cmp(&(self.at, self.order))
    }
}

/// An observer on a link.
pub(crate) struct Tap {
    pub(crate) link: usize,
    pub(crate) exit: bool,
    out: Vec<u8>,
    later: BinaryHeap<Later>,
    order: u64,
    /// Flows whose names have been written.
    named: HashSet<u32>,
}

/// Captures of a run.
pub(crate) struct Capture {
    pub(crate) taps: Vec<Tap>,
    pub(crate) senders: Vec<SenderLog>,
    /// Connections of flows whose state serves one connection after the other: when the present one
    /// began, and how many came before it.
    pub(crate) connections: HashMap<u32, (u64, u32)>,
}

impl Capture {
    pub(crate) fn new(taps: Vec<Tap>, senders: Vec<SenderLog>) -> Self {
        Self {
            taps,
            senders,
            connections: HashMap::new(),
        }
    }

    /// Takes what was written, if any of it is at least `bytes` long. What passes taps after `until`
    /// stays.
    pub(crate) fn take(&mut self, bytes: usize, until: u64) -> Option<Captured> {
        let links: Vec<Vec<u8>> = self
            .taps
            .iter_mut()
            .map(|tap| {
                tap.write_until(until);
                if tap.out.len() >= bytes.max(1) {
                    std::mem::take(&mut tap.out)
                } else {
                    Vec::new()
                }
            })
            .collect();
        let senders = self.senders.iter_mut();
        let flows: Vec<Vec<u8>> = senders
            .map(|log| log.take(bytes).unwrap_or_default())
            .collect();
        let nothing = links.iter().chain(&flows).all(Vec::is_empty);
        (!nothing).then_some(Captured { links, flows })
    }
}

impl Tap {
    /// An observer at a link's entry or exit, whose file begins with `head`.
    pub(crate) fn new(link: usize, exit: bool, head: Vec<u8>) -> Self {
        Self {
            link,
            exit,
            out: head,
            later: BinaryHeap::new(),
            order: 0,
            named: HashSet::new(),
        }
    }

    /// Writes the names of a flow's hosts before its first packet.
    pub(crate) fn name(&mut self, flow: u32, class: &str, index: usize) {
        if self.named.insert(flow) {
            pcapng::names(&mut self.out, flow, class, index);
        }
    }

    /// A packet passes at `at`; the present is `now`.
    pub(crate) fn record(&mut self, now: u64, at: u64, bytes: Vec<u8>, length: u32) {
        self.order += 1;
        self.later.push(Later {
            at,
            order: self.order,
            bytes,
            length,
        });
        self.write_until(now);
    }

    /// Writes everything that has passed by `until`.
    fn write_until(&mut self, until: u64) {
        while self.later.peek().is_some_and(|later| later.at <= until) {
            if let Some(later) = self.later.pop() {
                pcapng::packet(
                    &mut self.out,
                    later.at / NANOSECOND,
                    &later.bytes,
                    later.length,
                );
            }
        }
    }
}
