//! Flows whose ends are a transport of others.
//!
//! Its sender's datagrams take the way of data, those of its receiver the way of ACKs. On a private
//! way back each takes the time of an ACK of the class's size.

use ackclock_algorithms::Time;
use ackclock_scenario::Traffic;

use super::Engine;
use crate::calendar::{Class as Order, Kind};
use crate::flow::Ends;
use crate::packet::{Ack, Flags, NONE, Packet};
use crate::polled::{Cause, Leaving, RECEIVING_END, SENDING_END};
use crate::tcp::receiver::Reply;

impl Engine {
    /// The connection opens.
    pub(super) fn start_polled(&mut self, flow: usize) {
        let state = &mut self.flows[flow];
        let class = &self.classes[state.class as usize];
        let Ends::Polled(polled) = &mut state.ends else {
            return;
        };
        polled.written = match class.traffic {
            Traffic::Transfer { size, .. } => size,
            Traffic::AppLimited { .. } => 0,
            _ => u64::MAX,
        };
        if let Err(problem) = polled.connect() {
            self.give_up(flow, &problem);
            return;
        }
        self.wake_polled(flow, RECEIVING_END, Cause::Application);
        self.write_polled(flow);
    }

    /// The sending application writes what is due.
    pub(super) fn write_polled(&mut self, flow: usize) {
        self.write(flow, self.now);
        self.wake_polled(flow, SENDING_END, Cause::Application);
    }

    /// The endpoint cannot go on: the run ends.
    fn give_up(&mut self, flow: usize, problem: &str) {
        let state = &self.flows[flow];
        let class = &self.classes[state.class as usize];
        let Ends::Polled(polled) = &state.ends else {
            return;
        };
        let number = state.place.number() - self.class_flows[state.class as usize].start;
        let message = format!(
            "flows \"{}\", flow {number}: endpoint {}: {problem}",
            class.name,
            polled.name()
        );
        if let Some(abort) = &self.abort {
            abort.raise(Time(self.now), message);
        }
    }

    /// One end takes what has happened, and sends.
    pub(super) fn wake_polled(&mut self, flow: usize, side: usize, cause: Cause) {
        let now = self.now;
        let window = self.window;
        let state = &mut self.flows[flow];
        let class = &self.classes[state.class as usize];
        let stopped = state.stopped || now >= class.lifetime.stop || now > self.end;
        let Ends::Polled(polled) = &mut state.ends else {
            return;
        };
        if !polled.is_connected() || (stopped && side == SENDING_END) {
            if let Cause::Datagram(number, _) = cause {
                polled.forget(1 - side, number);
            }
            return;
        }
        if side == SENDING_END {
            let watch = &mut state.measured.watch;
            watch.record_edges(now, window, polled.cwnd(), &polled.counters);
        }
        let lost = polled.lost();
        let turn = match polled.wake(side, now, cause) {
            Ok(turn) => turn,
            Err(problem) => {
                self.give_up(flow, &problem);
                return;
            }
        };
        let inside = now >= window.0 && now < window.1;
        if side == SENDING_END {
            let sent = turn.leaving.len() as u64;
            state.measured.whole.sent += sent;
            if inside {
                state.measured.window.sent += sent;
                state.measured.window.retransmissions += polled.lost().saturating_sub(lost);
            }
        } else if turn.read > 0 {
            state.record_payload(now, turn.read, window);
        }
        let received = match &state.ends {
            Ends::Polled(polled) => polled.received(),
            _ => 0,
        };
        let done = matches!(class.traffic, Traffic::Transfer { size, .. } if received >= size);
        if done && state.transfer.completion == u64::MAX {
            state.transfer.completion = now;
            self.on_completion(now);
        }
        for leaving in &turn.leaving {
            if side == SENDING_END {
                let place = self.flows[flow].place;
                let &Leaving {
                    number,
                    size,
                    flags,
                } = leaving;
                self.launch(
                    flow,
                    Packet::new(place, number, now, size, Flags(flags)),
                    now,
                );
            } else {
                self.return_datagram(flow, leaving);
            }
        }
        if let Ends::Polled(polled) = &mut self.flows[flow].ends {
            polled.give_back(turn.leaving);
        }
        self.arm_polled(flow, side, turn.timer);
    }

    /// A datagram of the receiver leaves it.
    fn return_datagram(&mut self, flow: usize, leaving: &Leaving) {
        let reply = Reply {
            cum: leaving.number,
            echo: self.now,
            sack: NONE,
            flags: leaving.flags,
            marked: 0,
        };
        let size = leaving.size;
        self.reply_of_size(flow, reply, self.now, Flags::ACK, size);
    }

    /// Keeps one entry of the end's timer in the calendar, no later than the timer itself.
    fn arm_polled(&mut self, flow: usize, side: usize, timer: u64) {
        if timer == u64::MAX {
            return;
        }
        let at = timer.max(self.now + 1);
        let state = &mut self.flows[flow];
        let (entry, kind, order) = if side == SENDING_END {
            (&mut state.scheduled.timer, Kind::Timer, Order::Sender)
        } else {
            (
                &mut state.scheduled.delayed_ack,
                Kind::DelayedAck,
                Order::Receiver,
            )
        };
        if at < *entry {
            *entry = at;
            let tag = self.flow_tag(flow, kind, order);
            self.calendar.push_far(at, tag);
        }
    }

    /// An entry of an end's timer is reached: the timer may have moved since.
    pub(super) fn on_polled_timer(&mut self, flow: usize, side: usize) {
        let Ends::Polled(polled) = &self.flows[flow].ends else {
            return;
        };
        let timer = polled.timers[side];
        if timer > self.now {
            self.arm_polled(flow, side, timer);
        } else {
            self.wake_polled(flow, side, Cause::Timeout);
        }
    }

    /// A datagram reaches an end.
    #[cold]
    pub(super) fn take_datagram(&mut self, flow: usize, side: usize, number: u64, flags: Flags) {
        let cause = Cause::Datagram(number, flags.has(Flags::CE));
        self.wake_polled(flow, side, cause);
    }

    /// A datagram that reaches the sender over the way of ACKs.
    pub(super) fn take_returned(&mut self, flow: usize, ack: &Ack) {
        self.take_datagram(flow, SENDING_END, ack.cum, ack.flags);
    }

    /// The network has taken a packet: an endpoint's datagram is forgotten.
    #[cold]
    #[inline(never)]
    pub(super) fn forget_datagram(&mut self, slot: u32, seq: u64, flags: Flags) {
        if let Ends::Polled(polled) = &mut self.flows[slot as usize].ends {
            let side = if flags.has(Flags::ACK) {
                RECEIVING_END
            } else {
                SENDING_END
            };
            polled.forget(side, seq);
        }
    }
}
