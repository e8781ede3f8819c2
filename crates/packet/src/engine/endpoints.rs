//! Senders and receivers: what reaches them, what they send, their timers.

use ackclock_scenario::Traffic;

use super::Engine;
use crate::calendar::{Class as Order, Kind, Tag};
use crate::flow::Ends;
use crate::packet::{Ack, Flags, NONE, Packet};
use crate::polled::{RECEIVING_END, SENDING_END};
use crate::tcp::receiver::{Reply, sack_option};
use crate::tcp::{Handshake, State};

impl Engine {
    /// Sends all that the sender may send now.
    #[inline]
    pub(super) fn send(&mut self, flow: usize) {
        let now = self.now - self.flows[flow].clock_offsets.sender;
        if self.send_short(flow, now) {
            return;
        }
        let state = &self.flows[flow];
        let class = &self.classes[state.class as usize];
        if state.stopped || now >= class.lifetime.stop || now > self.end {
            return;
        }
        if matches!(class.traffic, Traffic::AppLimited { .. }) {
            self.write(flow, now);
        }
        let state = &mut self.flows[flow];
        let config = &self.classes[state.class as usize].sender;
        let Ends::Tcp { sender, .. } = &mut state.ends else {
            return;
        };
        match sender.room(config) {
            Some(0) => {}
            Some(room) => {
                let begin = sender.take(now, room, config);
                let flags = Flags(config.ecn.ect);
                let inside = now >= self.window.0 && now < self.window.1;
                state.measured.whole.sent += room;
                state.measured.window.sent += if inside { room } else { 0 };
                for seq in begin..begin + room {
                    self.send_segment(flow, now, seq, flags);
                }
            }
            None => self.send_each(flow, now),
        }
        self.arm_timer(flow);
    }

    /// Asks the sender for one segment after the other.
    fn send_each(&mut self, flow: usize, now: u64) {
        let inside = now >= self.window.0 && now < self.window.1;
        loop {
            let state = &mut self.flows[flow];
            let config = &self.classes[state.class as usize].sender;
            let Ends::Tcp { sender, .. } = &mut state.ends else {
                return;
            };
            if sender.pacer.next() > now {
                self.arm_pace(flow);
                break;
            }
            let Some(segment) = sender.next_segment(now, config) else {
                sender.on_nothing_to_send();
                break;
            };
            let flags = segment.ecn_flags(config);
            state.measured.whole.sent += 1;
            if inside {
                state.measured.window.sent += 1;
                state.measured.window.retransmissions += u64::from(segment.retransmission);
            }
            self.send_segment(flow, now, segment.seq, flags);
        }
    }

    /// A segment leaves the sender at `now`, by its clock.
    #[inline(always)]
    fn send_segment(&mut self, flow: usize, now: u64, seq: u64, flags: Flags) {
        let mut state = &self.flows[flow];
        let class = &self.classes[state.class as usize];
        let mut size = class.sizes.packet;
        if class.lifetime.finite && seq + 1 == state.transfer.total {
            size = size - class.sizes.payload + state.transfer.tail;
        }
        if self.capture.is_some() {
            self.log_sent(flow, now, seq, size);
            state = &self.flows[flow];
        }
        self.launch(flow, Packet::new(state.place, seq, now, size, flags), now);
    }

    /// Keeps one entry of the retransmission timer in the calendar, no later than the timer itself.
    #[inline]
    pub(super) fn arm_timer(&mut self, flow: usize) {
        let state = &self.flows[flow];
        let Ends::Tcp { sender, .. } = &state.ends else {
            return;
        };
        let next = sender.timers.next();
        if next == u64::MAX {
            return;
        }
        // a flow that was stopped may come back after its timer should have run
        let at = next
            .saturating_add(state.sender_clock_offset())
            .max(self.now);
        if at < state.scheduled.timer {
            self.flows[flow].scheduled.timer = at;
            self.calendar
                .push_far(at, self.flow_tag(flow, Kind::Timer, Order::Sender));
        }
    }

    /// The next segment of a paced sender may leave later: the engine looks again then.
    fn arm_pace(&mut self, flow: usize) {
        let tag = self.flow_tag(flow, Kind::Pace, Order::Sender);
        let state = &mut self.flows[flow];
        let Ends::Tcp { sender, .. } = &state.ends else {
            return;
        };
        if state.scheduled.pacing == u64::MAX {
            state.scheduled.pacing = sender
                .pacer
                .next()
                .saturating_add(state.clock_offsets.sender);
            self.calendar.push_near(state.scheduled.pacing, tag);
        }
    }

    pub(super) fn on_pace(&mut self, flow: usize) {
        let state = &mut self.flows[flow];
        if state.scheduled.pacing == self.now {
            state.scheduled.pacing = u64::MAX;
            self.send(flow);
        } // else the connection that waited for this has given way to another
    }

    pub(super) fn on_timer(&mut self, flow: usize) {
        let now = self.now;
        let state = &mut self.flows[flow];
        if state.scheduled.timer != now {
            return; // overtaken by an earlier entry
        }
        self.catch_up(flow, now + 1);
        let state = &mut self.flows[flow];
        state.scheduled.timer = u64::MAX;
        let clock_offset = state.sender_clock_offset();
        self.last_act = self.last_act.max(now - clock_offset);
        let class = &self.classes[state.class as usize];
        let Ends::Tcp { sender, .. } = &mut state.ends else {
            self.on_polled_timer(flow, SENDING_END);
            return;
        };
        if !sender.timers.is_running() {
            self.release(flow);
            return;
        }
        if state.stopped || now - clock_offset >= class.lifetime.stop {
            return;
        }
        if sender.timers.next().saturating_add(clock_offset) > now {
            self.arm_timer(flow);
            return;
        }
        if sender.state == State::Closed {
            // events of a connecting flow lag less than those of an established one: the answer may
            // be there in time though its event comes later
            let late = sender
                .timers
                .rto()
                .saturating_add(state.clock_offsets.sender);
            if state.acks.ring.iter().any(|ack| {
                ack.flags.has(Flags::SYN) && ack.at <= late && ack.echo >= state.connection.opened
            }) {
                return;
            }
            state.record_window(now - clock_offset, self.window);
            if let Ends::Tcp { sender, .. } = &mut state.ends {
                sender.on_syn_timeout(now - clock_offset, &class.sender);
            }
            state.connection.syn_retries += 1;
            self.connect(flow);
            self.arm_timer(flow);
            return;
        }
        state.record_window(now - clock_offset, self.window);
        let Ends::Tcp { sender, .. } = &mut state.ends else {
            return;
        };
        sender.on_timer(now - clock_offset, &class.sender);
        self.send(flow);
        if self.capture.is_some() {
            self.log_metrics(flow, now - clock_offset, 0);
        }
    }

    /// Sends a SYN.
    ///
    /// Deviation from RFC 3168, section 6.1.1 (style "linux", marks echoed as they came): the SYN
    /// is ECN-capable, as in Linux with DCTCP.
    pub(super) fn connect(&mut self, flow: usize) {
        let state = &mut self.flows[flow];
        let sent = self.now - state.clock_offsets.connecting;
        if state.connection.syn_retries == 0 {
            state.connection.syn_sent = sent;
        }
        state.connection.controls += 1;
        let class = &self.classes[state.class as usize];
        let ect = if class.sender.ecn.always {
            Flags::ECT
        } else {
            0
        };
        let packet = Packet::new(
            state.place,
            0,
            sent,
            class.sizes.ack,
            //= RFC 8257 3.6/1: deviation, the SYN is ECN-capable in style "linux" only, and an
            //=   answer to it never
            Flags(Flags::SYN | ect),
        );
        self.launch(flow, packet, sent);
    }

    /// The connection stands: data may flow.
    pub(super) fn establish(&mut self, flow: usize, handshake: Handshake) {
        let state = &mut self.flows[flow];
        let class = &self.classes[state.class as usize];
        let Ends::Tcp { sender, .. } = &state.ends else {
            return;
        };
        if sender.state != State::Closed {
            return; // the answer to a SYN that was sent twice
        }
        let now = self.now - state.clock_offsets.sender;
        // an edge of the measurement window may lie in the handshake
        state.record_window(now, self.window);
        let Ends::Tcp { sender, .. } = &mut state.ends else {
            return;
        };
        sender.open(now, handshake, &class.sender);
        if state.connection.server_delay == 0 {
            sender.written = state.transfer.total;
        } else {
            let at = self.now + state.connection.server_delay;
            self.calendar
                .push_far(at, self.flow_tag(flow, Kind::Application, Order::Sender));
        }
        self.send(flow);
        if self.capture.is_some() {
            self.log_metrics(flow, now, handshake.rtt);
        }
    }

    /// A packet comes out of the last link at `at`, on its way to the receiver.
    #[inline]
    pub(super) fn deliver_data(&mut self, packet: Packet, at: u64) {
        let flow = packet.slot as usize;
        let mut state = &mut self.flows[flow];
        let mut arrival = at;
        if packet.flags.has(Flags::SYN) {
            state.connection.controls -= 1;
        }
        if let Some(downlink) = &mut state.downlink {
            let finish = downlink.offer(at, packet.size);
            state.flush_drops(self.now, self.window);
            let Some(finish) = finish else {
                if !packet.flags.has(Flags::SYN) {
                    // counted when it happens: the run may end before
                    state.cold().dropping.push_back(at);
                    self.forget_datagram(packet.slot, packet.seq, packet.flags);
                }
                return;
            };
            arrival = finish;
        }
        arrival = (arrival + state.delays.receiver_access).max(state.data.last_arrival);
        state.data.last_arrival = arrival;
        if self.capture.is_some() {
            self.capture_delivery(&packet, arrival);
            state = &mut self.flows[flow];
        }
        let class = &self.classes[state.class as usize];
        if !packet.flags.has(Flags::SYN) {
            let (sent, seq) = (packet.stamp, packet.seq);
            let (now, end) = (self.now, self.end);
            state.expect(arrival, sent, seq, now, end, self.window, class);
        }
        if class.coalesced && class.route.reverse.is_none() {
            self.receive(flow, &packet, arrival);
            return;
        }
        let event = arrival + state.clock_offsets.receiver;
        let cold = state.cold();
        cold.inbound.push_back((event, packet));
        if cold.inbound.len() == 1 {
            self.calendar
                .push_near(event, self.flow_tag(flow, Kind::Receive, Order::Receiver));
        }
    }

    pub(super) fn on_receive(&mut self, flow: usize) {
        let tag = self.flow_tag(flow, Kind::Receive, Order::Receiver);
        let clock_offset = self.flows[flow].clock_offsets.receiver;
        let cold = self.flows[flow].cold();
        let (_, packet) = cold
            .inbound
            .pop_front()
            .expect("a receive event stands for a packet");
        if let Some(&(at, _)) = cold.inbound.front() {
            self.calendar.push_near(at, tag);
        }
        let arrival = self.now - clock_offset;
        self.receive(flow, &packet, arrival);
    }

    /// A packet reaches the receiver at `at`, by the receiver's clock.
    #[inline]
    fn receive(&mut self, flow: usize, packet: &Packet, at: u64) {
        if at > self.end {
            return;
        }
        let mut state = &mut self.flows[flow];
        let mut class = &self.classes[state.class as usize];
        if class.lifetime.reuses_flow_state && packet.stamp < state.connection.opened {
            return; // of a connection that is over
        }
        if let Ends::Tcp { receiver, .. } = &mut state.ends
            && receiver.due != 0
            && receiver.due < at
        {
            let due = receiver.due;
            let reply = receiver.on_due();
            self.reply(flow, reply, due, Flags::ACK);
            state = &mut self.flows[flow];
            class = &self.classes[state.class as usize];
        }
        if packet.flags.has(Flags::SYN) {
            if let Ends::Tcp { receiver, .. } = &mut state.ends {
                receiver.on_syn(at);
            }
            let reply = Reply {
                cum: 0,
                echo: packet.stamp,
                sack: NONE,
                flags: 0,
                marked: 0,
            };
            self.reply(flow, reply, at, Flags::SYN | Flags::ACK);
            return;
        }
        let Ends::Tcp { receiver, .. } = &mut state.ends else {
            if let Ends::Polled(_) = &state.ends {
                self.take_datagram(flow, RECEIVING_END, packet.seq, packet.flags);
                return;
            }
            let payload = u64::from(
                packet
                    .size
                    .saturating_sub(class.sizes.packet - class.sizes.payload),
            );
            state.accept(at, self.now, self.end, self.window, class, payload);
            return;
        };
        if receiver.must_flush(packet.flags, &class.receiver) {
            let reply = receiver.flush();
            self.reply(flow, reply, at, Flags::ACK);
            state = &mut self.flows[flow];
            class = &self.classes[state.class as usize];
        }
        let Ends::Tcp { receiver, .. } = &mut state.ends else {
            return;
        };
        let before = receiver.next;
        let reply = receiver.on_data(at, packet.seq, packet.stamp, packet.flags, &class.receiver);
        let mut payload = (receiver.next - before) * u64::from(class.sizes.payload);
        if class.lifetime.finite && receiver.next == state.transfer.total && payload > 0 {
            payload -= u64::from(class.sizes.payload - state.transfer.tail);
        }
        state.accept(at, self.now, self.end, self.window, class, payload);
        match reply {
            Some(reply) => self.reply(flow, reply, at, Flags::ACK),
            None => self.arm_delayed_ack(flow),
        }
    }

    /// Keeps one entry of the delayed-ACK timer in the calendar.
    fn arm_delayed_ack(&mut self, flow: usize) {
        let state = &self.flows[flow];
        let class = &self.classes[state.class as usize];
        let Ends::Tcp { receiver, .. } = &state.ends else {
            return;
        };
        let lag = state.due_offset(class);
        let at = receiver.due + lag;
        if at < state.scheduled.delayed_ack {
            self.flows[flow].scheduled.delayed_ack = at;
            self.calendar
                .push_far(at, self.flow_tag(flow, Kind::DelayedAck, Order::Receiver));
        }
    }

    pub(super) fn on_delayed_ack(&mut self, flow: usize) {
        let now = self.now;
        let state = &mut self.flows[flow];
        if state.scheduled.delayed_ack != now {
            return;
        }
        state.scheduled.delayed_ack = u64::MAX;
        let class = &self.classes[state.class as usize];
        let lag = state.due_offset(class);
        let Ends::Tcp { receiver, .. } = &mut state.ends else {
            self.on_polled_timer(flow, RECEIVING_END);
            return;
        };
        if receiver.due == 0 {
            return;
        }
        if receiver.due + lag > now {
            self.arm_delayed_ack(flow);
            return;
        }
        let due = receiver.due;
        let reply = receiver.on_due();
        self.reply(flow, reply, due, Flags::ACK);
    }

    /// The receiver answers at `at`, by its clock.
    #[inline]
    fn reply(&mut self, flow: usize, reply: Reply, at: u64, flags: u8) {
        let size = self.classes[self.flows[flow].class as usize].sizes.ack;
        self.reply_of_size(flow, reply, at, flags, size);
    }

    /// The receiver answers with a packet of `size` bytes, SACK blocks not counted.
    #[inline(always)]
    pub(super) fn reply_of_size(
        &mut self,
        flow: usize,
        reply: Reply,
        at: u64,
        flags: u8,
        mut size: u32,
    ) {
        let mut state = &mut self.flows[flow];
        let class = &self.classes[state.class as usize];
        let flags = Flags(flags | reply.flags);
        if class.route.reverse.is_none() {
            if self.capture.is_some() {
                self.capture_reply(flow, &reply, at, flags);
                state = &mut self.flows[flow];
            }
            let class = &self.classes[state.class as usize];
            let blocks = state.keep_merged(reply.sack, at, &class.receiver);
            let ack = Ack {
                at: at + state.delays.receiver_return + state.clock_offsets.sender,
                cum: reply.cum,
                echo: reply.echo,
                sack: reply.sack,
                blocks,
                flags,
                marked: reply.marked,
            };
            self.deliver_ack(flow, ack);
            return;
        }
        state.connection.controls += 1;
        let mut number = 0;
        if let Ends::Tcp { receiver, .. } = &mut state.ends {
            let blocks = receiver.blocks(reply.sack);
            let twice = flags.has(Flags::SENT_TWICE);
            if class.sender.recovery.is_selective() {
                size += sack_option(blocks.len() + usize::from(twice));
            }
            if !blocks.is_empty() || twice || receiver.has_buffer() {
                number = state.keep_report(blocks, at, &class.receiver);
            }
        }
        let packet = Packet {
            sack: reply.sack,
            blocks: number,
            marked: reply.marked,
            ..Packet::new(state.place, reply.cum, reply.echo, size, flags)
        };
        let event = at + state.delays.receiver_return;
        if class.coalesced && event == self.now && event <= self.end {
            self.arrive_reverse(flow, packet);
            return;
        }
        let cold = state.cold();
        let event = event.max(cold.last_ack_out);
        cold.last_ack_out = event;
        cold.acks_out.push_back((event, packet));
        if cold.acks_out.len() == 1 {
            let tag = Tag::of_flow(Order::Arrival, state.place, Kind::AckAccess);
            self.calendar.push_near(event, tag);
        }
    }

    /// An ACK comes out of the last reverse link at `at`.
    pub(super) fn return_ack(&mut self, packet: Packet, at: u64) {
        if self.capture.is_some() {
            self.capture_ack(&packet, at);
        }
        let flow = packet.slot as usize;
        let state = &mut self.flows[flow];
        state.connection.controls -= 1;
        let ack = Ack {
            at: at + state.delays.sender_return + state.clock_offsets.sender,
            cum: packet.seq,
            echo: packet.stamp,
            sack: packet.sack,
            blocks: packet.blocks,
            flags: packet.flags,
            marked: packet.marked,
        };
        self.deliver_ack(flow, ack);
    }

    #[inline]
    fn deliver_ack(&mut self, flow: usize, mut ack: Ack) {
        let tag = self.flow_tag(flow, Kind::Ack, Order::Sender);
        let state = &mut self.flows[flow];
        ack.at = ack.at.max(state.acks.last);
        state.acks.last = ack.at;
        if !state.scheduled.ack {
            state.scheduled.ack = true;
            self.calendar.push_near(ack.at, tag);
        }
        state.acks.ring.push_back(ack);
    }

    /// Takes the flow's ACKs that have come before `time` and whose event comes later
    /// ([`Flow::ack_event_time`]).
    pub(crate) fn catch_up(&mut self, flow: usize, time: u64) {
        let present = self.now;
        loop {
            let state = &mut self.flows[flow];
            if state.acks.max_delay == 0 {
                break; // they are never taken late
            }
            let Some(&ack) = state.acks.ring.front() else {
                break;
            };
            if ack.at >= time || ack.at - state.clock_offsets.sender > self.end {
                break;
            }
            state.acks.ring.skip_front();
            self.now = ack.at;
            self.on_ack(flow, &ack);
        }
        self.now = present;
    }

    /// [`Engine::catch_up`] of all flows.
    pub(crate) fn catch_up_all(&mut self, time: u64) {
        for flow in 0..self.flows.len() {
            self.catch_up(flow, time);
        }
    }

    /// An ACK reaches its sender.
    #[inline(never)]
    pub(crate) fn on_ack(&mut self, flow: usize, ack: &Ack) {
        let mut state = &mut self.flows[flow];
        let now = ack.at - state.clock_offsets.sender;
        let mut class = &self.classes[state.class as usize];
        if class.lifetime.reuses_flow_state && ack.echo < state.connection.opened {
            return; // of a connection that is over
        }
        if ack.flags.has(Flags::SYN) {
            let retries = state.connection.syn_retries;
            let handshake = Handshake {
                rtt: if retries == 0 {
                    now - state.connection.syn_sent
                } else {
                    0
                },
                retries,
                lost: ack.echo > state.connection.syn_sent,
            };
            self.establish(flow, handshake);
            return;
        }
        state.record_window(now, self.window);
        let blocks = state.hear_report(ack.blocks, now);
        if class.has_short_path() {
            if let Ends::Tcp { sender, .. } = &mut state.ends {
                sender.on_ack(now, ack, &blocks, &class.sender, &mut state.random);
            }
            self.send_short(flow, now);
            return;
        }
        let Ends::Tcp { sender, .. } = &mut state.ends else {
            self.take_returned(flow, ack);
            return;
        };
        sender.on_ack(now, ack, &blocks, &class.sender, &mut state.random);
        if self.capture.is_some() {
            self.log_ack(flow, now, ack, &blocks);
            state = &mut self.flows[flow];
            class = &self.classes[state.class as usize];
        }
        let Ends::Tcp { sender, .. } = &mut state.ends else {
            return;
        };
        if class.lifetime.finite
            && sender.is_done(state.transfer.total)
            && state.transfer.completion == u64::MAX
        {
            state.transfer.completion = now;
            sender.timers.stop_rto();
            if class.lifetime.total == u64::MAX {
                self.complete_transfer(flow, now);
            } else {
                self.on_completion(now);
            }
            return;
        }
        self.send(flow);
        if self.capture.is_some() {
            let latest = if ack.echo == 0 { 0 } else { now - ack.echo };
            self.log_metrics(flow, now, latest);
        }
    }

    pub(super) fn on_completion(&mut self, at: u64) {
        self.last_completion = self.last_completion.max(at);
        if let Some(remaining) = &mut self.remaining {
            *remaining -= 1;
            if *remaining == 0 {
                // every event so far lies before this, whatever the senders' clocks
                self.end = self.last_completion + self.max_clock_offset;
                self.window.1 = self.window.1.min(self.end);
                // what is expected from now on is counted at once, after these
                for flow in &mut self.flows {
                    flow.measured.until = 0;
                    let class = &self.classes[flow.class as usize];
                    if !class.lifetime.reuses_flow_state {
                        flow.flush(self.end, self.window, class);
                    }
                }
            }
        }
    }
}
