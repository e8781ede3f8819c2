//! Flows that have not started, and those that have given their state back.

use super::Engine;
use crate::calendar::{Entry, Place, Tag};
use crate::class;
use crate::flow::{Ends, Flow, FlowSlot, make_flow};

impl Engine {
    /// Puts the next start into the calendar, if `entry` was the one there.
    pub(super) fn schedule_start(&mut self, entry: Entry) {
        if self.starts.get(self.next_start) != Some(&(entry.time, entry.tag.flow() as u32)) {
            return;
        }
        self.next_start += 1;
        self.push_start();
    }

    /// Puts the starts in order, and the first into the calendar.
    pub(crate) fn sort_starts(&mut self) {
        let mut starts = std::mem::take(&mut self.starts);
        starts.sort_unstable_by_key(|&(at, number)| (at, self.start_tag(number as usize)));
        self.starts = starts;
        self.push_start();
    }

    fn push_start(&mut self) {
        if let Some(&(at, number)) = self.starts.get(self.next_start) {
            self.calendar.push_far(at, self.start_tag(number as usize));
        }
    }

    /// Order of the start of a flow that has no state yet.
    pub(super) fn start_tag(&self, number: usize) -> Tag {
        class::start_tag(&self.classes[self.class_of(number)], number)
    }

    /// The slot of a flow of the scenario that is to start: its state is made, if it is not there.
    /// Nothing if it has been stopped.
    pub(super) fn wake(&mut self, number: usize) -> Option<usize> {
        let (random, rtt) = match &self.rows[number] {
            FlowSlot::Live(slot) => return Some(*slot as usize),
            FlowSlot::Waiting { stopped: true, .. } | FlowSlot::Over(_) => return None,
            FlowSlot::Waiting { random, rtt, .. } => (random.clone(), *rtt),
        };
        let class = self.class_of(number);
        let slot = self
            .vacant
            .pop()
            .map_or(self.flows.len(), |slot| slot as usize);
        let first = self.class_flows[class].start;
        let place = Place::new(number, slot);
        let built = &self.classes[class];
        let state = make_flow(built, class, first, place, self.seed, random, rtt);
        match self.flows.get_mut(slot) {
            Some(vacant) => *vacant = state,
            None => self.flows.push(state),
        }
        self.rows[number] = FlowSlot::Live(slot as u32);
        Some(slot)
    }

    /// Gives the state of a flow back whose transfer is complete, if nothing of it is on its way.
    /// Entries of the calendar may still name its slot.
    #[cold]
    pub(super) fn release(&mut self, flow: usize) {
        let state = &mut self.flows[flow];
        let number = state.place.number();
        let traced = self
            .recorder
            .position
            .get(number)
            .is_some_and(|&position| position != u32::MAX);
        if !self.classes[state.class as usize].lifetime.reclaimable || traced || self.now > self.end
        {
            return;
        }
        let class = &self.classes[state.class as usize];
        state.flush(self.now, self.window, class);
        state.flush_drops(self.now, self.window);
        if !state.is_over() {
            return;
        }
        self.rows[number] = FlowSlot::Over(Box::new(state.summary()));
        let (class, place, owner) = (state.class as usize, state.place, state.identity.owner);
        *state = Flow::new(
            class,
            place,
            Ends::ConnectionSource,
            state.random.clone(),
            owner,
        );
        state.transfer.completion = self.now; // else it would count as unfinished

        self.vacant.push(flow as u32);
    }
}
