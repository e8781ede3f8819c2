//! The engine of a run: everything that moves. Each file beside this one does one part of the work.

mod captures;
mod changes;
mod endpoints;
mod event_loop;
mod fast_path;
mod network;
mod polled;
mod recorder;
mod sampling;
mod sources;
mod starts;

use ackclock_scenario::Setting;

use crate::Abort;
use crate::calendar::{Calendar, Class as Order, Kind, Place, Tag};
use crate::capture::Capture;
use crate::class::{self, Class};
use crate::flow::{Flow, FlowSlot};
use crate::link::Link;
use crate::medium::Medium;
use crate::packet::Flags;
use crate::traffic::transfers::Transfers;
pub(crate) use recorder::Recorder;

/// A scheduled change, in engine terms.
pub(crate) struct Change {
    pub(crate) at: u64,
    pub(crate) set: Setting,
}

/// Everything that moves.
pub(crate) struct Engine {
    pub(crate) calendar: Calendar,
    pub(crate) links: Vec<Link>,
    /// Media that links share.
    pub(crate) media: Vec<Medium>,
    /// The scenario's flows, by number.
    pub(crate) rows: Vec<FlowSlot>,
    /// Starts of flows that have no state yet, in the order of the calendar, which holds the next
    /// of them only; and which that is.
    pub(crate) starts: Vec<(u64, u32)>,
    pub(crate) next_start: usize,
    /// Flows that have started, by slot, which says nothing of their order: where it matters they
    /// go by number.
    pub(crate) flows: Vec<Flow>,
    /// Slots of flows that are over.
    pub(crate) vacant: Vec<u32>,
    /// Flows that have had a number: those of the scenario, and after them connections of sources.
    pub(crate) numbered: usize,
    pub(crate) seed: u64,
    pub(crate) classes: Vec<Class>,
    /// Number of the first flow of each class, and one past the last.
    pub(crate) class_flows: Vec<std::ops::Range<usize>>,
    pub(crate) changes: Vec<Change>,
    pub(crate) recorder: Recorder,
    pub(crate) capture: Option<Box<Capture>>,
    pub(crate) now: u64,
    /// When the run ends; `u64::MAX` until that is known.
    pub(crate) end: u64,
    /// Events so long after the end may still concern an end's clock before it.
    pub(crate) max_clock_offset: u64,
    /// Finite transfers not yet complete, when the run lasts until they are.
    pub(crate) remaining: Option<u64>,
    pub(crate) last_completion: u64,
    /// When a flow last started or had a timer expire, by its sender's clock, or something happened
    /// that is no flow's.
    pub(crate) last_act: u64,
    /// Outcomes of the transfers of each class.
    pub(crate) transfers: Vec<Transfers>,
    pub(crate) window: (u64, u64),
    pub(crate) events: u64,
    pub(crate) abort: Option<Abort>,
    pub(crate) notes: Vec<String>,
}

impl Engine {
    #[inline]
    fn in_window(&self, time: u64) -> bool {
        time >= self.window.0 && time < self.window.1
    }

    /// Order of a flow's events: those of a coalesced flow are arrivals at its queue.
    #[inline]
    pub(crate) fn flow_tag(&self, flow: usize, kind: Kind, plain: Order) -> Tag {
        let state = &self.flows[flow];
        let coalesced = self.classes[state.class as usize].coalesced;
        let order = if coalesced { Order::Arrival } else { plain };
        Tag::of_flow(order, state.place, kind)
    }

    /// Class of a flow of the scenario.
    pub(crate) fn class_of(&self, number: usize) -> usize {
        self.class_flows
            .partition_point(|flows| flows.end <= number)
    }

    /// Event time less sender's clock of a flow of the scenario: established, and before.
    pub(crate) fn clock_offsets_of(&self, number: usize) -> (u64, u64) {
        match &self.rows[number] {
            FlowSlot::Live(slot) => {
                let state = &self.flows[*slot as usize];
                (state.clock_offsets.sender, state.sender_clock_offset())
            }
            FlowSlot::Over(_) => (0, 0), // nothing happens to it
            &FlowSlot::Waiting { rtt, .. } => {
                let class = &self.classes[self.class_of(number)];
                let offsets = class::clock_offsets_if_coalesced(class, rtt);
                (offsets.sender, offsets.connecting)
            }
        }
    }

    /// Order of a flow's samples.
    pub(crate) fn sample_tag(&self, number: usize) -> Tag {
        let coalesced = self.classes[self.class_of(number)].coalesced;
        let order = if coalesced {
            Order::Arrival
        } else {
            Order::Sender
        };
        Tag::of_flow(order, Place::of_number(number), Kind::SampleFlow)
    }

    /// Slots of the flows of a class that have their state.
    pub(crate) fn slots(&self, class: usize) -> Vec<usize> {
        let rows = &self.rows[self.class_flows[class].clone()];
        rows.iter().filter_map(FlowSlot::slot).collect()
    }

    /// Packets of each flow that are in the network now, counted where they are; by slot.
    pub(crate) fn in_flight(&mut self) -> Vec<u64> {
        let (end, window) = (self.end, self.window);
        let mut inside: Vec<u64> = self
            .flows
            .iter_mut()
            .map(|flow| {
                flow.flush(end, window, &self.classes[flow.class as usize]);
                flow.flush_drops(end, window);
                let data = flow
                    .data
                    .outbound
                    .iter()
                    .filter(|packet| !packet.flags.has(Flags::SYN));
                let dropping = flow.cold.as_ref().map_or(0, |cold| cold.dropping.len());
                (flow.data.arriving.len() + data.count() + dropping) as u64
            })
            .collect();
        for link in &self.links {
            let held = link
                .held()
                .chain(link.wire.iter().map(|(_, packet)| packet));
            for packet in
                held.filter(|packet| !packet.flags.has(Flags::ACK) && !packet.flags.has(Flags::SYN))
            {
                inside[packet.slot as usize] += 1;
            }
        }
        inside
    }
}
