//! Samples of links and flows, and the edges of the measurement window.

use ackclock_algorithms::Time;

use super::Engine;
use crate::Error;
use crate::calendar::{Class as Order, Kind, Tag};
use crate::flow::{Ends, FlowSlot};

/// How long after their stop transfers may still be complete, by what is on its way, ps.
const MAX_IN_FLIGHT: u64 = 3600 * Time::PER_SECOND;

impl Engine {
    /// True if a run until all is done waits for transfers only that have been stopped for good for
    /// an hour: what they have sent has arrived, and they send nothing again. Others may go on for
    /// ever.
    pub(crate) fn waits_for_stopped_transfers(&self) -> bool {
        let last_change = self.changes.iter().map(|change| change.at).max();
        let settled = |at: u64| self.now > at.saturating_add(MAX_IN_FLIGHT);
        if self.end != u64::MAX || !last_change.is_none_or(settled) {
            return false;
        }
        let mut finite = self.classes.iter().zip(&self.class_flows);
        finite.all(|(class, numbers)| {
            class.lifetime.total == u64::MAX
                || self.rows[numbers.clone()].iter().all(|row| match row {
                    FlowSlot::Over(_) => true,
                    FlowSlot::Waiting { stopped, .. } => *stopped || settled(class.lifetime.stop),
                    FlowSlot::Live(slot) => {
                        let flow = &self.flows[*slot as usize];
                        flow.transfer.completion != u64::MAX
                            || flow.stopped
                            || settled(class.lifetime.stop)
                    }
                })
        })
    }

    pub(super) fn on_window_opens(&mut self) {
        self.catch_up_on_links(self.now);
        for link in &mut self.links {
            link.open_window(self.now);
        }
    }

    pub(crate) fn on_window_closes(&mut self) {
        self.catch_up_on_links(self.now);
        for link in &mut self.links {
            link.close_window(self.now);
        }
    }

    /// Samples of links; those of flows are taken at the same times by their clocks.
    ///
    /// # Errors
    /// [`Error::Unsupported`] in a run until all is done in which nothing else can happen any more:
    /// samples would be taken for ever.
    pub(super) fn on_sample_links(&mut self) -> Result<(), Error> {
        let now = self.now;
        let repeating = self.links.len() + self.recorder.flows.len();
        if self.end == u64::MAX && self.calendar.only_repeats(repeating) {
            return Err(Error::Unsupported(format!(
                "duration \"until done\" has no end: by {} s nothing is on its way, and yet not \
                 all transfers are complete, as when flows stop before; traces need a duration \
                 then, in seconds",
                Time(now).seconds()
            )));
        }
        self.catch_up_on_links(now);
        for (trace, idle) in self.recorder.links.iter_mut().zip(&mut self.recorder.idle) {
            let link = &mut self.links[trace.link];
            link.flush(now);
            let observed = link.observe();
            trace.queue_packets.push(link.length() as u32);
            trace.queue_bytes.push(link.bytes());
            trace
                .average_packets
                .push(observed.average_packets.unwrap_or(f64::NAN));
            trace
                .probability
                .push(observed.probability.unwrap_or(f64::NAN));
            trace
                .drops
                .push(link.counters.drops + link.counters.policed);
            trace.marks.push(link.counters.marks);
            let quiet = link.counters.idle - *idle;
            *idle = link.counters.idle;
            let busy = 1.0 - quiet as f64 / self.recorder.interval as f64;
            trace.utilization.push(if now == 0 { 0.0 } else { busy });
        }
        let next = now + self.recorder.interval;
        self.calendar
            .push_far(next, Tag::new(Order::Global, 0, Kind::SampleLinks));
        Ok(())
    }

    pub(super) fn on_sample_flow(&mut self, number: usize) {
        if let FlowSlot::Live(slot) = self.rows[number] {
            self.catch_up(slot as usize, self.now);
        }
        let position = self.recorder.position[number] as usize;
        let trace = &mut self.recorder.flows[position];
        let state = match self.rows[number] {
            FlowSlot::Live(slot) => Some(&self.flows[slot as usize]),
            FlowSlot::Waiting { .. } | FlowSlot::Over(_) => None,
        };
        // a connecting flow's events lag less than those of an established one: it may have started
        // after the time sampled
        if let Some(state) = state
            && let Ends::Tcp { sender, .. } = &state.ends
            && state.start < self.now - state.clock_offsets.sender
        {
            trace.cwnd.push(sender.window.cwnd);
            trace.ssthresh.push(sender.window.ssthresh);
            trace.srtt.push(sender.srtt_seconds());
            trace.delivered.push(sender.una);
        } else if let Some(state) = state
            && let Ends::Polled(polled) = &state.ends
            && polled.is_connected()
        {
            trace.cwnd.push(polled.cwnd().unwrap_or(f64::NAN));
            trace.ssthresh.push(polled.ssthresh());
            trace.srtt.push(polled.srtt());
            trace.delivered.push(polled.delivered());
        } else {
            trace.cwnd.push(f64::NAN);
            trace.ssthresh.push(f64::NAN);
            trace.srtt.push(f64::NAN);
            trace.delivered.push(0);
        }
        let next = self.now + self.recorder.interval;
        self.calendar.push_far(next, self.sample_tag(number));
    }
}
