//! Beyond the transmitter: the wire, and when packets come out of it.

use super::{Extras, Link};
use crate::calendar::{Calendar, Class as Order, Kind, Tag};
use crate::packet::Packet;

impl Link {
    /// When a packet that has left the transmitter at `finish` reaches the other end. A link never
    /// reorders: after its delay has fallen, a packet waits for those that are still on their way.
    #[inline]
    pub(crate) fn exit(&mut self, finish: u64) -> u64 {
        if self.steady {
            return finish + self.present_delay.0;
        }
        if finish >= self.present_delay.1 {
            self.present_delay = self.delay.get(finish);
        }
        self.last_exit = self.last_exit.max(finish + self.present_delay.0);
        self.last_exit
    }

    /// A packet will come out of the wire of the link, whose number is `own`, at `at`, after all that
    /// is on it.
    #[inline(always)]
    pub(crate) fn send_on(&mut self, calendar: &mut Calendar, own: usize, at: u64, packet: Packet) {
        self.wire.push_back((at, packet));
        if self.wire.len() == 1 {
            calendar.push_near(at, Tag::new(Order::Arrival, own, Kind::Wire));
        }
    }

    /// As [`Link::exit`], on a link that may have jitter and let packets overtake each other.
    #[inline]
    pub(crate) fn exit_event_driven(&mut self, finish: u64) -> u64 {
        let served = self.served;
        let varies = |it: &&mut Box<Extras>| served || it.impairments.has_jitter();
        let Some(extras) = self.extras.as_mut().filter(varies) else {
            return self.exit(finish);
        };
        let (delay, _) = self.delay.get(finish);
        let served = extras.server.as_ref().map_or(0, |server| server.delay);
        let at = finish + delay + served + extras.impairments.extra_delay();
        if extras.reorders {
            return at;
        }
        self.last_exit = self.last_exit.max(at);
        self.last_exit
    }

    /// Propagation delay at `time`, ps.
    pub(crate) fn delay_at(&self, time: u64) -> u64 {
        self.delay.value_at(time)
    }
}
