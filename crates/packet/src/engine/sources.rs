//! Demands of applications on their connections: sessions of transfers, and connections that come
//! and go. And how the transfers fared.
//!
//! A session is one flow whose connection is made anew for each transfer. A source of connections
//! is a flow without ends of its own; its connections live in further flows behind those of the
//! scenario, which it uses again once nothing of the old connection is left. Segments that outlive
//! their connection are known by their time stamps and ignored, as RFC 9293's TIME-WAIT would have
//! it.

use ackclock_algorithms::{Owner, Stream, Time};
use ackclock_scenario::{PacketSizes, Traffic};

use super::Engine;
use crate::access::Access;
use crate::calendar::{Class as Order, Kind, Place, Tag};
use crate::flow::{Ends, Flow};
use crate::packet::{Flags, Packet};
use crate::tcp::receiver::Receiver;
use crate::tcp::{Handshake, Sender, State};
use crate::traffic::packmime::PackMime;
use crate::{class, draw};

/// How long a flow rests after its connection is over, beside the lag of its events behind its
/// clock: nearly always long enough that nothing of the old connection is on its way any more.
const REST_PS: u64 = Time::PER_SECOND;

impl Engine {
    pub(super) fn on_start(&mut self, tag: Tag) {
        let Some(flow) = (if tag.has_slot() {
            Some(tag.slot())
        } else {
            self.wake(tag.flow())
        }) else {
            return;
        };
        let now = self.now;
        let state = &mut self.flows[flow];
        let class = &self.classes[state.class as usize];
        let sent = now - state.sender_clock_offset();
        self.last_act = self.last_act.max(sent);
        if state.stopped || sent >= class.lifetime.stop {
            return;
        }
        if let Ends::ConnectionSource = state.ends {
            self.start_source(flow);
            return;
        }
        if !self.start_session(flow, sent) {
            return;
        }
        let state = &mut self.flows[flow];
        let class = &self.classes[state.class as usize];
        if state.start == u64::MAX {
            state.start = sent;
        }
        state.transfer.written_from = sent;
        state.record_window(sent, self.window);
        state.measured.watch.since = sent;
        match &mut state.ends {
            Ends::ConnectionSource => {}
            Ends::Polled(_) => self.start_polled(flow),
            Ends::Udp(source) => {
                if let Traffic::OnOff { on, .. } = class.traffic {
                    source.burst_end = sent + Time::from_seconds(state.random.exponential(on)).0;
                }
                if let Traffic::Poisson { .. } = class.traffic {
                    self.schedule_source(flow, sent);
                } else {
                    self.on_application(flow);
                }
            }
            Ends::Tcp { sender, .. } => {
                if class.opening.handshake {
                    sender.wait_for_syn_ack(sent, &class.sender);
                    self.connect(flow);
                    self.arm_timer(flow);
                } else {
                    self.establish(flow, Handshake::default());
                }
            }
        }
    }

    /// An application-limited flow: what has been written by `now`, and when more will be.
    pub(super) fn write(&mut self, flow: usize, now: u64) {
        let state = &mut self.flows[flow];
        let class = &self.classes[state.class as usize];
        let Traffic::AppLimited { rate, .. } = class.traffic else {
            return;
        };
        let interval = f64::from(class.sizes.payload) * 8e12 / rate;
        // the first segment at once, the others as the rate fills them
        let filled = ((now - state.transfer.written_from) as f64 / interval) as u64;
        let written = state.transfer.written_before + filled + 1;
        match &mut state.ends {
            Ends::Tcp { sender, .. } => {
                sender.written = written;
                sender.restart_if_idle(now, &class.sender);
            }
            Ends::Polled(polled) => polled.written = written * u64::from(class.sizes.payload),
            Ends::Udp(_) | Ends::ConnectionSource => return,
        }
        if !state.scheduled.application {
            state.scheduled.application = true;
            let next = state.transfer.written_from + ((filled + 1) as f64 * interval).ceil() as u64;
            let at = next.max(now + 1).saturating_add(state.clock_offsets.sender);
            self.calendar
                .push_far(at, self.flow_tag(flow, Kind::Application, Order::Sender));
        }
    }

    /// Puts a UDP source's next packet into the calendar; `from` is when the last one was sent.
    pub(super) fn schedule_source(&mut self, flow: usize, from: u64) {
        let state = &mut self.flows[flow];
        let class = &self.classes[state.class as usize];
        let Ends::Udp(source) = &mut state.ends else {
            return;
        };
        let interval = f64::from(class.sizes.packet) * 8.0 / source.rate;
        let mut next = from + Time::from_seconds(interval).0.max(1);
        match class.traffic {
            Traffic::Poisson { .. } => {
                next = from
                    + Time::from_seconds(state.random.exponential(interval))
                        .0
                        .max(1);
            }
            Traffic::OnOff { on, off, .. } if next >= source.burst_end => {
                next = source.burst_end.max(from + 1)
                    + Time::from_seconds(state.random.exponential(off)).0;
                source.burst_end = next + Time::from_seconds(state.random.exponential(on)).0;
            }
            _ => {}
        }
        let at = next + state.clock_offsets.sender;
        self.calendar
            .push_near(at, self.flow_tag(flow, Kind::Application, Order::Sender));
    }

    /// A UDP source sends, or an application has written more.
    pub(super) fn on_application(&mut self, flow: usize) {
        let now = self.now;
        let state = &mut self.flows[flow];
        state.scheduled.application = false;
        let class = &self.classes[state.class as usize];
        let sent = now - state.clock_offsets.sender;
        if state.stopped || sent >= class.lifetime.stop || sent > self.end {
            return;
        }
        let Ends::Udp(source) = &mut state.ends else {
            if let Ends::ConnectionSource = state.ends {
                self.on_arrive(flow);
                return;
            }
            if let Traffic::AppLimited { rate, .. } = class.traffic {
                // nothing is due at an event of a rate that has changed since
                let interval = f64::from(class.sizes.payload) * 8e12 / rate;
                if ((sent - state.transfer.written_from) as f64) < interval
                    && state.transfer.written_before > 0
                {
                    state.scheduled.application = true;
                    return;
                }
            } else {
                self.write_transfer(flow, sent);
            }
            match self.flows[flow].ends {
                Ends::Polled(_) => self.write_polled(flow),
                _ => self.send(flow),
            }
            return;
        };
        let mut size = class.sizes.packet;
        if let Traffic::Poisson {
            sizes: PacketSizes::Exponential,
            ..
        } = class.traffic
        {
            size = (state.random.exponential(f64::from(size)) + 0.5).clamp(1.0, 1e9) as u32;
        }
        let seq = source.next_seq;
        source.next_seq += 1;
        state.measured.whole.sent += 1;
        if sent >= self.window.0 && sent < self.window.1 {
            state.measured.window.sent += 1;
        }
        let packet = Packet::new(state.place, seq, sent, size, Flags(0));
        self.launch(flow, packet, sent);
        self.schedule_source(flow, sent);
    }

    /// The transfer that the flow carries began inside the measurement window.
    fn counts(&self, flow: usize) -> bool {
        let at = self.flows[flow].transfer.began;
        at >= self.window.0 && at < self.window.1
    }

    /// A source begins: its first connection comes after a gap.
    pub(crate) fn start_source(&mut self, flow: usize) {
        self.flows[flow].start = self.now;
        self.schedule_arrival(flow);
    }

    /// Draws when a source opens its next connection.
    fn schedule_arrival(&mut self, flow: usize) {
        let state = &mut self.flows[flow];
        let class = &self.classes[state.class as usize];
        let Some(application) = &mut state.application else {
            return;
        };
        let at = self.now + application.draw_time(&class.traffic);
        application.next_at = at;
        if at < class.lifetime.stop && at <= self.end {
            let tag = Tag::of_flow(Order::Global, state.place, Kind::Application);
            self.calendar.push_far(at, tag);
        }
    }

    /// A source opens a connection.
    pub(crate) fn on_arrive(&mut self, source: usize) {
        let state = &mut self.flows[source];
        let Some(application) = &state.application else {
            return;
        };
        if state.stopped || application.next_at != self.now {
            return;
        }
        self.open_connection(source);
        self.schedule_arrival(source);
    }

    fn open_connection(&mut self, source: usize) {
        let now = self.now;
        let id = self.flows[source].class as usize;
        let class = &self.classes[id];
        let Some(application) = &mut self.flows[source].application else {
            return;
        };
        let number = application.opened;
        application.opened += 1;
        let bytes = application.draw_size(&class.traffic);
        let entity = application
            .base
            .wrapping_add(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut random = Stream::new(application.seed, Owner::Flow, entity);
        let least = Time(class.route.delay + class.route.reverse_delay).seconds();
        let rtt =
            Time::from_seconds(draw::draw(&class.rtt, least, number as u32, 1, &mut random)).0;
        let server_delay = match class.traffic {
            Traffic::PackMime {
                server_delay: true, ..
            } => Time::from_seconds(PackMime::server_delay(&mut random)).0,
            _ => 0,
        };
        application.round_trips += u128::from(rtt);
        let controller = class.opening.controller.build(number as u32);
        let sender = Sender::new(controller, &class.sender, class.opening.ssthresh);

        let slot = self.take_flow(id, source);
        let class = &self.classes[id];
        let state = &mut self.flows[slot];
        state.random = random;
        state.rtt = rtt;
        (state.identity.hash, state.identity.hosts) =
            class.hosts.of_flow(number, (entity >> 32) as u32);
        state.connection.server_delay = server_delay;
        state.connection.syn_retries = 0;
        for (access, buffer) in [
            (&mut state.uplink, class.access.buffer),
            (&mut state.downlink, class.access.buffer),
        ] {
            *access = class.access.rate.map(|rate| Access::new(rate, buffer));
        }
        state.renew(sender, now);
        state.transfer.began = now;
        state.transfer.completion = u64::MAX;
        state.set_delays(class);
        state.set_transfer(bytes, class.sizes.payload);
        self.begin_transfer(slot);
        let at = now + self.flows[slot].sender_clock_offset();
        self.calendar
            .push_far(at, self.flow_tag(slot, Kind::Start, Order::Sender));
    }

    /// A flow for a new connection of the class: one that is at rest, or another one.
    fn take_flow(&mut self, class: usize, source: usize) -> usize {
        let owner = self.flows[source].identity.owner;
        while let Some(slot) = self.flows[source].next_idle_flow(self.now) {
            let built = &self.classes[class];
            let state = &mut self.flows[slot as usize];
            state.flush(self.now, self.window, built);
            state.flush_drops(self.now, self.window);
            if state.is_quiet(self.now, built) {
                state.rest();
                return slot as usize;
            }
            let number = state.place.number() as u32;
            self.flows[source].add_idle_flow(self.now + REST_PS, number, slot);
        }
        let built = &self.classes[class];
        let sender = Sender::new(
            built.opening.controller.build(0),
            &built.sender,
            built.opening.ssthresh,
        );
        let ends = Ends::Tcp {
            sender,
            receiver: Receiver::default(),
        };
        let random = self.flows[source].random.clone();
        let slot = self.flows.len();
        let place = Place::new(self.numbered, slot);
        self.numbered += 1;
        let mut flow = Flow::new(class, place, ends, random, owner);
        flow.measured.parts.clone_from(&built.parts);
        self.flows.push(flow);
        slot
    }

    /// Records that a transfer begins now, by the flow's own clock.
    fn begin_transfer(&mut self, flow: usize) {
        if self.counts(flow) {
            let state = &self.flows[flow];
            self.transfers[state.class as usize].start(state.transfer.bytes);
        }
    }

    /// A session begins its next transfer, at `sent` by its own clock; false where it is not the
    /// time.
    pub(crate) fn start_session(&mut self, flow: usize, sent: u64) -> bool {
        let state = &mut self.flows[flow];
        let class = &self.classes[state.class as usize];
        let Some(application) = &mut state.application else {
            return true; // a connection of a source: all is set
        };
        if application.opened > 0 && application.next_at != sent {
            return false;
        }
        application.next_at = u64::MAX;
        application.opened += 1;
        application.round_trips += u128::from(state.rtt);
        let bytes = application.draw_size(&class.traffic);
        (state.connection.opened, state.transfer.began) = (sent, sent);
        state.connection.syn_retries = 0;
        state.transfer.completion = u64::MAX;
        state.set_transfer(bytes, class.sizes.payload);
        self.begin_transfer(flow);
        true
    }

    /// A TCP application has something to send: a server that has thought, or a session's next
    /// transfer over its open connection.
    pub(crate) fn write_transfer(&mut self, flow: usize, now: u64) {
        let state = &mut self.flows[flow];
        let class = &self.classes[state.class as usize];
        let persistent = matches!(
            class.traffic,
            Traffic::Http {
                persistent: true,
                ..
            }
        );
        if let Some(application) = &mut state.application
            && persistent
            && state.transfer.completion != u64::MAX
        {
            if application.next_at != now {
                return;
            }
            application.next_at = u64::MAX;
            application.opened += 1;
            application.round_trips += u128::from(state.rtt);
            let bytes = application.draw_size(&class.traffic);
            let Ends::Tcp { sender, .. } = &mut state.ends else {
                return;
            };
            sender.restart_if_idle(now, &class.sender);
            state.transfer.began = now;
            state.transfer.completion = u64::MAX;
            let before = state.transfer.total;
            state.set_transfer(bytes, class.sizes.payload);
            state.transfer.total += before;
            self.begin_transfer(flow);
        }
        let state = &mut self.flows[flow];
        if let Ends::Tcp { sender, .. } = &mut state.ends {
            sender.written = state.transfer.total;
        }
    }

    /// The transfer of `flow` is complete at `now`, by its own clock: it is counted, and the next
    /// one prepared.
    pub(crate) fn complete_transfer(&mut self, flow: usize, now: u64) {
        let inside = self.counts(flow);
        let state = &mut self.flows[flow];
        let id = state.class as usize;
        let class = &self.classes[id];
        if inside {
            self.transfers[id].complete(state.transfer.bytes, now - state.transfer.began);
        }
        let lag = class::clock_offsets(class, &state.delays);
        let Some(application) = &mut state.application else {
            let from = now + lag.longest() + REST_PS;
            let (number, owner) = (state.place.number() as u32, state.identity.owner);
            if let Some(source) = self.rows[owner as usize].slot() {
                self.flows[source].add_idle_flow(from, number, flow as u32);
            }
            return;
        };
        // the next start's event must not lie before this one, which the last segment's way to the
        // first queue separates from its clock
        let think = application
            .draw_time(&class.traffic)
            .max(lag.sender.saturating_sub(lag.connecting) + 1);
        let next = now + think;
        application.next_at = next;
        let offsets = state.clock_offsets;
        if matches!(
            class.traffic,
            Traffic::Http {
                persistent: true,
                ..
            }
        ) {
            self.calendar.push_far(
                next + offsets.sender,
                self.flow_tag(flow, Kind::Application, Order::Sender),
            );
            return;
        }
        let number = application.opened as u32;
        state.renew(class.new_sender(number), next);
        self.calendar.push_far(
            next + offsets.connecting,
            self.flow_tag(flow, Kind::Start, Order::Sender),
        );
    }

    /// A session or a source that was stopped goes on.
    pub(crate) fn resume(&mut self, flow: usize) {
        let now = self.now;
        let state = &mut self.flows[flow];
        let is_source = matches!(state.ends, Ends::ConnectionSource);
        let connected =
            matches!(&state.ends, Ends::Tcp { sender, .. } if sender.state != State::Closed);
        let Some(application) = &mut state.application else {
            return;
        };
        if application.next_at == u64::MAX || application.next_at > now {
            return; // in the middle of a transfer, or the entry of the calendar still stands
        }
        application.next_at = now;
        let (kind, order) = match (is_source, connected) {
            (true, _) => {
                self.schedule_arrival(flow);
                return;
            }
            (false, true) => (Kind::Application, Order::Sender),
            (false, false) => (Kind::Start, Order::Sender),
        };
        self.calendar
            .push_far(now, self.flow_tag(flow, kind, order));
    }

    /// The sources of a class open connections at another rate from now on.
    pub(crate) fn change_arrivals(&mut self, class: usize, rate: f64) {
        let mean = match &self.classes[class].traffic {
            Traffic::PackMime { mean_size, .. } => *mean_size,
            _ => None,
        };
        for flow in self.slots(class) {
            if let Some(application) = &mut self.flows[flow].application
                && let Some(packmime) = &mut application.packmime
            {
                packmime.set_rate(rate, mean);
            }
            if self.flows[flow].start != u64::MAX && !self.flows[flow].stopped {
                self.schedule_arrival(flow);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Options, setup};

    /// Ten thousand connections a second need no more flows than are open at a time, or at rest
    /// after that.
    #[test]
    fn flows_are_used_again() {
        let scenario = ackclock_scenario::parse(
            "[scenario]\nduration = \"8 s\"\n[[link]]\nname = \"link\"\nrate = \"1 Gbit/s\"\n[[flows]]\npath = [\"link\"]\nrtt = \"20 ms\"\n\
             traffic = { kind = \"poisson-arrivals\", rate = \"10000 /s\", size = \"3 kB\" }\n",
            "test",
        )
        .expect("the scenario is right");
        let mut engine = setup::build(&scenario, &Options::default()).expect("it can be built");
        while !engine.step(1 << 20).expect("it runs") {}
        let opened = engine.flows[0]
            .application
            .as_ref()
            .expect("a source")
            .opened;
        assert!((79_000..81_000).contains(&opened), "{opened}");
        // 1 s of rest, two round trips and a delayed ACK
        assert!(
            (10_500..11_500).contains(&engine.flows.len()),
            "{}",
            engine.flows.len()
        );
    }
}
