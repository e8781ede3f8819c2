//! The windows of one class, and what it sends.

use crate::error::Error;
use crate::grid::{Grid, Step};
use crate::history::{DelayLine, QueueStep, Returned, Ring};
use crate::model::Class;

#[derive(Clone, Debug)]
pub(super) struct ClassState {
    pub(super) class: Class,
    pub(super) grid: Grid,
    pub(super) line: DelayLine,
    /// Active flows.
    pub(super) flows: f64,
    /// Packets in the network: the sum of the windows, each up to what its access link lets out in
    /// a round trip.
    pub(super) flight: f64,
    /// Round trip of what comes back now, s.
    pub(super) rtt: f64,
    pub(super) debt: f64,
    /// Windows of flows that start in this step, packets.
    pub(super) started: f64,
    /// Packets that arrive in this step.
    pub(super) arrivals: f64,
    pub(super) rounds: f64,
    pub(super) measured: ClassMeasured,
}

/// Sums over the measurement window.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ClassMeasured {
    pub(super) flows: f64,
    /// Sum of all windows.
    pub(super) windows: f64,
    pub(super) atom: f64,
    pub(super) arrivals: f64,
    pub(super) accepted: f64,
}

impl ClassState {
    /// Packets that a flow can have in the network.
    #[inline]
    fn limit(&self) -> f64 {
        self.class
            .access
            .map_or(f64::INFINITY, |rate| rate * self.rtt)
    }

    /// Packets in the network that the windows stand for.
    #[inline]
    pub(super) fn in_network(&self) -> f64 {
        self.grid.packets_within(self.limit())
    }

    /// The lowest cell stands for windows about half a cell below its upper edge: where nearly all
    /// are in it their mean may be negative.
    pub(super) fn below_a_cell(&self) -> Error {
        let width = self.grid.lowest_width();
        Error::Unsupported(format!(
            "windows below a cell of its grid, as nearly all of flows `{}` are after many losses; \
             a cell is {width:.3} packets wide there (give `max_window`: the fewer packets, the \
             narrower the cells)",
            self.class.name
        ))
    }

    /// Windows follow what came back; what is to be sent follows.
    #[inline]
    pub(super) fn respond(&mut self, back: Returned) {
        let before = self.flight;
        if back.rounds > 0.0 {
            self.grid.advance(Step {
                rounds: back.rounds,
                losses: back.losses,
                limit: self.limit(),
            });
        }
        self.flight = self.in_network();
        let wanted = (self.flight - before) + back.packets - self.debt;
        self.arrivals = wanted.max(0.0);
        self.debt = (-wanted).max(0.0);
        let middle = 0.5 * (before + self.started + self.flight);
        self.started = 0.0;
        self.rounds = if middle > 0.0 {
            self.arrivals / middle
        } else {
            0.0
        };
    }

    /// The Little-like closure: each flow sends a window a round trip, and learns of losses a round
    /// trip late.
    pub(super) fn follow_little(
        &mut self,
        dt: f64,
        rtt: f64,
        now: u64,
        queue_steps: &Ring<QueueStep>,
    ) {
        let ago = (rtt / dt) as u64;
        let signals = now
            .checked_sub(ago)
            .filter(|step| (self.line.oldest()..now).contains(step))
            .map_or(0.0, |step| queue_steps.get(step).signals);
        self.rtt = rtt;
        let rounds = dt / rtt;
        let before = self.flight + self.started;
        if self.flows > 0.0 {
            self.grid.advance(Step {
                rounds,
                losses: rounds * signals,
                limit: self.limit(),
            });
        }
        self.flight = self.in_network();
        self.started = 0.0;
        self.arrivals = 0.5 * (before + self.flight) * rounds;
        // what may still be asked for: the largest round trip is that of a full queue, or of the
        // queue as it is
        self.line.forget_before(now.saturating_sub(2 * ago + 64));
    }
}
