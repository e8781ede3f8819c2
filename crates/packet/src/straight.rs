//! The common case in one go: bulk data crosses one link whose departures are known at arrival, and its ACKs come back over a private path.
//!
//! From the ACK that opens the window to the ACKs of what it lets out nothing else can look at the flow, so that flow, class and link are looked up once and
//! nothing is handed on. What happens is what the steps of [`Engine`] do one after the other; those are taken by `Options::general`, for connection set-up
//! and for every other path.

use crate::calendar::{Calendar, Class as Order, Kind, Tag};
use crate::engine::Engine;
use crate::flow::{Class, Ends, Flow};
use crate::link::{Link, Offer};
use crate::packet::{Ack, Flags, Packet};
use crate::receiver::Reply;

/// When something happens, in a run that ends and measures then.
#[derive(Clone, Copy)]
struct Moment {
    now: u64,
    end: u64,
    window: (u64, u64),
}

impl Moment {
    #[inline]
    fn measures(&self, time: u64) -> bool {
        time >= self.window.0 && time < self.window.1
    }
}

impl Engine {
    /// Sends all that the sender may send now; see [`Engine::send`].
    #[inline]
    pub(crate) fn send_straight(&mut self, flow: usize, first: usize) {
        let state = &mut self.flows[flow];
        let class = &self.classes[state.class as usize];
        let now = self.now - state.shift;
        if state.stopped || now >= class.stop || now > self.end {
            return;
        }
        let link = &mut self.links[first];
        let moment = Moment {
            now: self.now,
            end: self.end,
            window: self.window,
        };
        let number = self.link_count + flow;
        let config = &class.sender;
        let inside = u64::from(moment.measures(now));
        let direct = now + state.delays.up;
        loop {
            let Ends::Tcp { sender, .. } = &mut state.ends else {
                return;
            };
            if sender.next_send > now {
                if state.pace_at == u64::MAX {
                    state.pace_at = sender.next_send.saturating_add(state.shift);
                    let tag = Tag::new(Order::Arrival, number, Kind::Pace);
                    self.calendar.push_near(state.pace_at, tag);
                }
                break;
            }
            let Some(segment) = sender.next_segment(now, config) else {
                sender.on_nothing_to_send();
                break;
            };
            state.whole.sent += 1;
            state.window.sent += inside;
            let mut flags = if config.ecn { Flags::ECT } else { 0 };
            if segment.retransmission {
                state.whole.retransmissions += 1;
                state.window.retransmissions += inside;
                flags = 0; // not ECN-capable (RFC 3168, section 6.1.5)
            }
            if segment.cwr {
                flags |= Flags::CWR;
            }
            let packet = Packet::new(flow, segment.seq, now, class.packet_size, Flags(flags));
            let mut at = direct;
            if let Some(uplink) = &mut state.uplink {
                let Some(finish) = uplink.offer(now, packet.size) else {
                    state.whole.drops += 1;
                    state.window.drops += inside;
                    continue;
                };
                at = finish + state.delays.up;
            }
            if at == moment.now && at <= moment.end {
                cross(
                    state,
                    class,
                    link,
                    &mut self.calendar,
                    number,
                    moment,
                    packet,
                );
            } else {
                state.delay_outbound(&mut self.calendar, number, at, packet);
            }
        }
        let Ends::Tcp { sender, .. } = &state.ends else {
            return;
        };
        let next = sender.next_timer();
        if next != u64::MAX {
            let at = next.saturating_add(state.shift).max(moment.now);
            if at < state.timer_at {
                state.timer_at = at;
                self.calendar
                    .push_far(at, Tag::new(Order::Arrival, number, Kind::Timer));
            }
        }
    }

    /// Data of the flow reaches its only link from its uplink.
    #[inline]
    pub(crate) fn cross_later(&mut self, flow: usize, first: usize, packet: Packet) {
        let state = &mut self.flows[flow];
        let moment = Moment {
            now: self.now,
            end: self.end,
            window: self.window,
        };
        let class = &self.classes[state.class as usize];
        let link = &mut self.links[first];
        let number = self.link_count + flow;
        cross(
            state,
            class,
            link,
            &mut self.calendar,
            number,
            moment,
            packet,
        );
    }
}

/// Data reaches the link, leaves it, and is acknowledged, or not.
#[inline(always)]
fn cross(
    state: &mut Flow,
    class: &Class,
    link: &mut Link,
    calendar: &mut Calendar,
    number: usize,
    moment: Moment,
    mut packet: Packet,
) {
    let now = moment.now;
    let offer = link.offer_known(now, &mut packet);
    let inside = u64::from(moment.measures(now));
    let Offer::Departs(finish) = offer else {
        state.whole.drops += 1;
        state.window.drops += inside;
        return;
    };
    if packet.flags.has(Flags::CE) {
        state.whole.marks += 1;
        state.window.marks += inside;
    }
    let mut at = link.exit(finish);
    if let Some(downlink) = &mut state.downlink {
        let finish = downlink.offer(at, packet.size);
        state.settle_drops(now, moment.window);
        let Some(finish) = finish else {
            state.rare().dropping.push_back(at);
            return;
        };
        at = finish;
    }
    at = (at + state.delays.down).max(state.last_arrival);
    state.last_arrival = at;
    state.expect(at, now, moment.end, moment.window, class);
    if at > moment.end {
        return;
    }
    let Ends::Tcp { receiver, .. } = &mut state.ends else {
        return;
    };
    let (due, lag) = (receiver.due, state.delays.back + state.shift);
    if due != 0 {
        if due < at {
            let reply = receiver.on_due();
            answer(state, calendar, number, reply, due + lag);
        } else if receiver.must_flush(packet.flags, &class.receiver) {
            let reply = receiver.on_due();
            answer(state, calendar, number, reply, at + lag);
        }
    }
    let Ends::Tcp { receiver, .. } = &mut state.ends else {
        return;
    };
    let before = receiver.next;
    let reply = receiver.on_data(at, packet.seq, packet.stamp, packet.flags, &class.receiver);
    let payload = (receiver.next - before) * u64::from(class.payload);
    let due = receiver.due;
    state.accept(at, now, moment.end, moment.window, class, payload);
    if let Some(reply) = reply {
        answer(state, calendar, number, reply, at + lag);
    } else if due + lag < state.due_at {
        state.due_at = due + lag;
        calendar.push_far(
            state.due_at,
            Tag::new(Order::Arrival, number, Kind::DelayedAck),
        );
    }
}

/// An ACK that will reach the sender at `at` (the sender's event time).
#[inline(always)]
fn answer(state: &mut Flow, calendar: &mut Calendar, number: usize, reply: Reply, at: u64) {
    let at = at.max(state.last_ack);
    state.last_ack = at;
    if !state.ack_scheduled {
        state.ack_scheduled = true;
        calendar.push_near(at, Tag::new(Order::Arrival, number, Kind::Ack));
    }
    state.acks.push_back(Ack {
        at,
        cum: reply.cum,
        echo: reply.echo,
        sack: reply.sack,
        blocks: 0,
        flags: Flags(if reply.ece {
            Flags::ACK | Flags::ECE
        } else {
            Flags::ACK
        }),
    });
}
