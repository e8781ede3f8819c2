//! Measurements of a flow.

use crate::one_way::Latest;
use crate::tcp;

/// Packets of one flow in the whole run, for the balance.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct FlowTotals {
    /// Packets that policers and wires took.
    pub(crate) losses: u64,
    pub(crate) drops: u64,
    pub(crate) sent: u64,
}

/// Counts of one flow inside the measurement window.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct FlowCounters {
    /// Packets that policers and wires took.
    pub(crate) losses: u64,
    pub(crate) drops: u64,
    pub(crate) marks: u64,
    pub(crate) retransmissions: u64,
    pub(crate) sent: u64,
    /// Data packets that reached the receiver.
    pub(crate) received: u64,
    /// New payload delivered to the application, bytes.
    pub(crate) payload: u64,
}

/// The time average of a sender's window, and what its counts were, inside the measurement window.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub(crate) struct Watch {
    /// Window times time.
    pub(crate) integral: f64,
    pub(crate) time: u64,
    /// When it was recorded last, by the sender's clock.
    pub(crate) since: u64,
    /// The sender's counts as the measurement window opened and closed on its clock.
    pub(crate) at_opening: Option<Box<tcp::Counters>>,
    pub(crate) at_closing: Option<Box<tcp::Counters>>,
}

impl Watch {
    /// Records the window until `now`, where an edge of the window may lie between. `cwnd`: of an
    /// established connection.
    #[cold]
    #[inline(never)]
    pub(crate) fn record_edges(
        &mut self,
        now: u64,
        window: (u64, u64),
        cwnd: Option<f64>,
        counters: &tcp::Counters,
    ) {
        let from = self.since.max(window.0);
        let to = now.min(window.1);
        if let Some(cwnd) = cwnd
            && to > from
        {
            self.integral += cwnd * (to - from) as f64;
            self.time += to - from;
        }
        if self.since < window.0 && now >= window.0 {
            self.at_opening = Some(Box::new(*counters));
        }
        if self.since < window.1 && now >= window.1 {
            self.at_closing = Some(Box::new(*counters));
        }
        self.since = now;
    }
}

/// New payload of a flow in equal parts of the measurement window.
#[derive(Clone, Debug)]
pub(crate) struct Parts {
    /// Number of parts.
    pub(crate) count: usize,
    /// Payload since the window opened, as each part ended; those of the last ones may be missing.
    pub(crate) ends: Vec<u64>,
}

impl Parts {
    /// Parts of a window that is known; none where it is not, or too short for them.
    pub(crate) fn of(window: (u64, u64), count: u32) -> Option<Box<Self>> {
        let known = count > 1 && window.1 != u64::MAX && window.1 - window.0 >= u64::from(count);
        known.then(|| {
            Box::new(Self {
                count: count as usize,
                ends: Vec::new(),
            })
        })
    }

    /// When the part ends that is the next to end; the last ends with the window.
    fn end(&self, window: (u64, u64)) -> u64 {
        let ended = self.ends.len() + 1;
        if ended < self.count {
            window.0 + (window.1 - window.0) / self.count as u64 * ended as u64
        } else {
            window.1
        }
    }
}

/// Measurements of a flow; each packet's are side by side, here and in what they are made of.
#[derive(Default)]
#[repr(C)]
pub(crate) struct Measurements {
    /// Whose one-way delay was measured last.
    pub(crate) latest: Latest,
    /// Before this time new payload is in the part of the window that is open; 0: not known.
    pub(crate) until: u64,
    pub(crate) window: FlowCounters,
    pub(crate) whole: FlowTotals,
    /// Data packets that have reached the receiver.
    pub(crate) delivered: u64,
    pub(crate) watch: Watch,
    /// Where payload is counted in parts of the window, too.
    pub(crate) parts: Option<Box<Parts>>,
}

impl Measurements {
    /// Whether new payload at a time, at which none before it arrives later, is in the window.
    #[inline(always)]
    pub(crate) fn counts(&mut self, at: u64, window: (u64, u64)) -> bool {
        at >= window.0 && (at < self.until || self.next_part(at, window))
    }

    /// Ends the parts of the window that are over; [`Measurements::counts`] of a time beyond them.
    #[cold]
    #[inline(never)]
    fn next_part(&mut self, at: u64, window: (u64, u64)) -> bool {
        self.until = window.1;
        if let Some(parts) = &mut self.parts {
            while parts.ends.len() + 1 < parts.count && at >= parts.end(window) {
                parts.ends.push(self.window.payload);
            }
            self.until = parts.end(window);
        }
        at < window.1
    }
}
