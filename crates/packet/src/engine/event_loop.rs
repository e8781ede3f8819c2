//! The event loop: what comes next, and who takes it.

use super::Engine;
use crate::Error;
use crate::calendar::{Kind, Tag};

/// Events after which a user's own algorithm is asked again whether it failed.
const EVENTS_UNWATCHED: u64 = 256;

impl Engine {
    /// Runs at most `budget` events; true when the run is over.
    // inlined into its only caller it takes four instructions more a packet
    #[inline(never)]
    pub(crate) fn step(&mut self, budget: u64) -> Result<bool, Error> {
        let mut left = budget;
        while left > 0 {
            if let Some(abort) = &self.abort
                && let Some((at, message)) = abort.raised()
            {
                return Err(Error::Algorithm { at, message });
            }
            let some = left.min(EVENTS_UNWATCHED);
            left -= some;
            for taken in 0..some {
                if self.take_next()? {
                    self.events += taken;
                    return Ok(true);
                }
            }
            self.events += some;
        }
        Ok(false)
    }

    /// Takes the next event; true when there is none, and the run is over.
    #[inline(always)]
    fn take_next(&mut self) -> Result<bool, Error> {
        let Some((entry, near)) = self.calendar.peek() else {
            return Ok(true);
        };
        let time = entry.time;
        if time > self.end && time > self.end.saturating_add(self.max_clock_offset) {
            return Ok(true);
        }
        if entry.tag.is(Kind::Ack) {
            self.take_ack(entry, near);
            return Ok(false);
        }
        if entry.tag.is(Kind::Access) {
            self.take_access(entry, near);
            return Ok(false);
        }
        if entry.tag.is(Kind::Transmit) {
            self.take_transmit(entry, near);
            return Ok(false);
        }
        if entry.tag.is(Kind::Wire) {
            self.take_wire(entry, near);
            return Ok(false);
        }
        self.calendar.pop(near, time);
        if !near && let Some(next) = self.calendar.next_far() {
            self.prefetch_timer(next);
        }
        if entry.tag.is(Kind::Start) {
            self.schedule_start(entry);
        }
        if time > self.end && !self.concerns_time_before_end(time, entry.tag) {
            self.pass_over(time, entry.tag);
            return Ok(false);
        }
        self.now = time;
        self.dispatch(entry.tag)?;
        Ok(false)
    }

    /// The clocks of a coalesced flow's ends lag behind its events: some that come after the end
    /// belong before it.
    fn concerns_time_before_end(&self, time: u64, tag: Tag) -> bool {
        let flow = tag.slot();
        match tag.kind() {
            Kind::Start if !tag.has_slot() => {
                time - self.clock_offsets_of(tag.flow()).1 <= self.end
            }
            Kind::Start | Kind::Application | Kind::Timer | Kind::Pace => {
                time - self.flows[flow].sender_clock_offset() <= self.end
            }
            Kind::SampleFlow => time - self.clock_offsets_of(tag.flow()).0 <= self.end,
            Kind::Receive => time - self.flows[flow].clock_offsets.receiver <= self.end,
            // a coalesced receiver's stands for the arrival of the ACK at the sender
            Kind::DelayedAck => {
                time - self.flows[flow]
                    .clock_offsets
                    .receiver
                    .max(self.flows[flow].clock_offsets.sender)
                    <= self.end
            }
            _ => false,
        }
    }

    /// An event after the end is not taken. A connection may yet be established before the end, by
    /// an ACK whose event comes later, and needs a timer then.
    #[cold]
    fn pass_over(&mut self, time: u64, tag: Tag) {
        if tag.is(Kind::Timer) && !self.is_of_another(tag) {
            let state = &mut self.flows[tag.slot()];
            if state.scheduled.timer == time {
                state.scheduled.timer = u64::MAX;
            }
        }
    }

    fn dispatch(&mut self, tag: Tag) -> Result<(), Error> {
        let flow = tag.slot();
        match tag.kind() {
            Kind::Ack | Kind::Access | Kind::Transmit | Kind::Wire => {
                unreachable!("taken by the caller")
            }
            Kind::Receive => self.on_receive(flow),
            Kind::AckAccess => self.on_ack_access(flow),
            Kind::DelayedAck | Kind::Timer | Kind::Pace if self.is_of_another(tag) => {}
            Kind::DelayedAck => self.on_delayed_ack(flow),
            Kind::Start => self.on_start(tag),
            Kind::Timer => self.on_timer(flow),
            Kind::Application => self.on_application(flow),
            Kind::Pace => self.on_pace(flow),
            Kind::SampleFlow => self.on_sample_flow(tag.flow()),
            Kind::AqmTimer
            | Kind::SampleLinks
            | Kind::WindowOpens
            | Kind::WindowCloses
            | Kind::Change => return self.dispatch_to_all(tag),
        }
        Ok(())
    }

    /// Events that are no flow's.
    fn dispatch_to_all(&mut self, tag: Tag) -> Result<(), Error> {
        let entity = tag.entity();
        self.last_act = self.now;
        match tag.kind() {
            Kind::AqmTimer => self.on_aqm_timer(entity),
            Kind::SampleLinks => self.on_sample_links()?,
            Kind::WindowOpens => self.on_window_opens(),
            Kind::WindowCloses => self.on_window_closes(),
            Kind::Change => self.on_change(entity)?,
            _ => unreachable!("a flow's"),
        }
        Ok(())
    }

    /// Whether a timer's entry of the calendar is one of a flow that has given its state back.
    #[inline]
    fn is_of_another(&self, tag: Tag) -> bool {
        self.flows[tag.slot()].place.number() != tag.flow()
    }
}
