//! The event loop and the wiring between ends, access links and shared links.

use ackclock_algorithms::Time;
use ackclock_algorithms::scheduler::Label;
use ackclock_scenario::{Capacity, Distribution, Setting, Traffic};

use crate::application::{Pool, Transfers};
use crate::calendar::{Calendar, Class as Order, Entry, Kind, Place, Tag};
use crate::flow::{Class, Ends, Flow, Row};
use crate::link::{Fate, Link, Offer};
use crate::outcome::{FlowTrace, LinkTrace, Traces};
use crate::packet::{Ack, Flags, NONE, Outbound, Packet};
use crate::tcp::receiver::Reply;
use crate::tcp::{Sender, State};
use crate::{Abort, Error, setup};

/// A scheduled change, in engine terms.
pub(crate) struct Change {
    pub(crate) at: u64,
    pub(crate) set: Setting,
}

/// Recording of traces.
#[derive(Default)]
pub(crate) struct Recorder {
    pub(crate) interval: u64,
    /// Samples that have been given away.
    pub(crate) taken: u64,
    pub(crate) links: Vec<LinkTrace>,
    /// Idle time of each traced link at its last sample.
    pub(crate) idle: Vec<u64>,
    pub(crate) flows: Vec<FlowTrace>,
    /// Position of a flow in `flows`, by flow; empty without flow traces.
    pub(crate) position: Vec<u32>,
}

impl Recorder {
    /// Samples of which every link and flow has its part.
    fn complete(&self) -> usize {
        let links = self.links.iter().map(|trace| trace.queue_packets.len());
        let flows = self.flows.iter().map(|trace| trace.cwnd.len());
        links.chain(flows).min().unwrap_or(0)
    }

    /// The complete samples, if they are at least `bytes` bytes.
    pub(crate) fn take(&mut self, bytes: usize) -> Option<Traces> {
        let count = self.complete();
        let row = LinkTrace::ROW * self.links.len() + FlowTrace::ROW * self.flows.len();
        if count == 0 || count * row < bytes {
            return None;
        }
        let links = self.links.iter_mut().map(|trace| trace.take(count));
        let flows = self.flows.iter_mut().map(|trace| trace.take(count));
        let (links, flows) = (links.collect(), flows.collect());
        let traces = self.timed(links, flows, count);
        self.taken += count as u64;
        Some(traces)
    }

    /// Traces with their times, of which the first is that of the first sample not given away.
    fn timed(&self, links: Vec<LinkTrace>, flows: Vec<FlowTrace>, count: usize) -> Traces {
        let samples = self.taken..self.taken + count as u64;
        Traces {
            interval: Time(self.interval).seconds(),
            time: samples.map(|k| Time(k * self.interval).seconds()).collect(),
            links,
            flows,
        }
    }

    /// What has not been given away.
    pub(crate) fn rest(mut self) -> Traces {
        let links = std::mem::take(&mut self.links);
        let flows = std::mem::take(&mut self.flows);
        let count = links
            .first()
            .map(|trace| trace.queue_packets.len())
            .or_else(|| flows.first().map(|trace| trace.cwnd.len()))
            .unwrap_or(0);
        self.timed(links, flows, count)
    }
}

/// Everything that moves.
pub(crate) struct Engine {
    pub(crate) calendar: Calendar,
    pub(crate) links: Vec<Link>,
    /// The scenario's flows, by number.
    pub(crate) rows: Vec<Row>,
    /// Starts of flows that have no state yet, in the order of the calendar, which holds the next of them only; and which that is.
    pub(crate) starts: Vec<(u64, u32)>,
    pub(crate) next_start: usize,
    /// Flows that have started, by slot, which says nothing of their order: where it matters they go by number.
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
    pub(crate) now: u64,
    /// When the run ends; `u64::MAX` until that is known.
    pub(crate) end: u64,
    /// Events so long after the end may still concern an end's clock before it.
    pub(crate) grace: u64,
    /// Finite transfers not yet complete, when the run lasts until they are.
    pub(crate) remaining: Option<u64>,
    pub(crate) last_completion: u64,
    /// Of each class: how its transfers fared, and flows for its connections.
    pub(crate) transfers: Vec<Transfers>,
    pub(crate) pools: Vec<Pool>,
    pub(crate) window: (u64, u64),
    pub(crate) events: u64,
    pub(crate) abort: Option<Abort>,
    pub(crate) notes: Vec<String>,
}

impl Engine {
    /// Runs at most `budget` events; true when the run is over.
    pub(crate) fn step(&mut self, budget: u64) -> Result<bool, Error> {
        for count in 0..budget {
            if count % 256 == 0
                && let Some(abort) = &self.abort
                && let Some((at, message)) = abort.take()
            {
                return Err(Error::Algorithm { at, message });
            }
            let Some((entry, near)) = self.calendar.peek() else {
                return Ok(true);
            };
            let time = entry.time;
            if time > self.end && time > self.end.saturating_add(self.grace) {
                return Ok(true);
            }
            self.events += 1;
            if entry.tag.is(Kind::Ack) {
                self.take_ack(entry, near);
                continue;
            }
            if entry.tag.is(Kind::Access) {
                self.take_access(entry, near);
                continue;
            }
            self.calendar.pop(near, time);
            if entry.tag.is(Kind::Start) {
                self.schedule_start(entry);
            }
            if time > self.end && !self.concerns_time_before_end(time, entry.tag) {
                continue;
            }
            self.now = time;
            self.dispatch(entry.tag)?;
        }
        Ok(false)
    }

    /// The clocks of a fused flow's ends lag behind its events: some that come after the end belong before it.
    fn concerns_time_before_end(&self, time: u64, tag: Tag) -> bool {
        let flow = tag.slot();
        match tag.kind() {
            Kind::Start if !tag.has_slot() => time - self.lags_of(tag.flow()).1 <= self.end,
            Kind::Start | Kind::Application | Kind::Timer | Kind::Pace => {
                time - self.flows[flow].sender_shift() <= self.end
            }
            Kind::SampleFlow => time - self.lags_of(tag.flow()).0 <= self.end,
            Kind::Receive => time - self.flows[flow].receiver_shift <= self.end,
            // a fused receiver's is booked for the sender, when the ACK is there
            Kind::DelayedAck => {
                time - self.flows[flow].receiver_shift.max(self.flows[flow].shift) <= self.end
            }
            _ => false,
        }
    }

    fn dispatch(&mut self, tag: Tag) -> Result<(), Error> {
        let (flow, entity) = (tag.slot(), tag.entity());
        match tag.kind() {
            Kind::Ack | Kind::Access => unreachable!("taken by the caller"),
            Kind::Transmit => self.on_transmit(entity),
            Kind::Wire => self.on_wire(entity),
            Kind::Receive => self.on_receive(flow),
            Kind::AckAccess => self.on_ack_access(flow),
            Kind::DelayedAck | Kind::Timer | Kind::Pace if self.is_of_another(tag) => {}
            Kind::DelayedAck => self.on_delayed_ack(flow),
            Kind::Start => self.on_start(tag),
            Kind::Timer => self.on_timer(flow),
            Kind::Application => self.on_application(flow),
            Kind::Pace => self.on_pace(flow),
            Kind::SampleFlow => self.on_sample_flow(tag.flow()),
            Kind::AqmTimer => self.on_aqm_timer(entity),
            Kind::SampleLinks => self.on_sample_links(),
            Kind::WindowOpens => self.on_window_opens(),
            Kind::WindowCloses => self.on_window_closes(),
            Kind::Change => self.on_change(entity)?,
        }
        Ok(())
    }

    #[inline]
    fn in_window(&self, time: u64) -> bool {
        time >= self.window.0 && time < self.window.1
    }

    /// Order of a flow's events: those of a fused flow are arrivals at its queue.
    #[inline]
    pub(crate) fn flow_tag(&self, flow: usize, kind: Kind, plain: Order) -> Tag {
        let state = &self.flows[flow];
        let fused = self.classes[state.class as usize].fused;
        let order = if fused { Order::Arrival } else { plain };
        Tag::of_flow(order, state.place, kind)
    }

    // ---- flows that have not started ---------------------------------------------------------------------------------------------

    /// Class of a flow of the scenario.
    pub(crate) fn class_of(&self, number: usize) -> usize {
        self.class_flows
            .partition_point(|flows| flows.end <= number)
    }

    /// Event time less sender's clock of a flow of the scenario: established, and before.
    pub(crate) fn lags_of(&self, number: usize) -> (u64, u64) {
        match &self.rows[number] {
            Row::Live(slot) => {
                let state = &self.flows[*slot as usize];
                (state.shift, state.sender_shift())
            }
            Row::Over(_) => (0, 0), // nothing happens to it
            &Row::Waiting { rtt, .. } => {
                let class = &self.classes[self.class_of(number)];
                let [shift, connect_shift, _] = setup::lags_if_fused(class, rtt);
                (shift, connect_shift)
            }
        }
    }

    /// Puts the next start into the calendar, if `entry` was the one there.
    fn schedule_start(&mut self, entry: Entry) {
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
    fn start_tag(&self, number: usize) -> Tag {
        setup::start_tag(&self.classes[self.class_of(number)], number)
    }

    /// The slot of a flow of the scenario that is to start: its state is made, if it is not there. Nothing if it has been stopped.
    fn wake(&mut self, number: usize) -> Option<usize> {
        let (random, rtt) = match &self.rows[number] {
            Row::Live(slot) => return Some(*slot as usize),
            Row::Waiting { stopped: true, .. } | Row::Over(_) => return None,
            Row::Waiting { random, rtt, .. } => (random.clone(), *rtt),
        };
        let class = self.class_of(number);
        let slot = self
            .vacant
            .pop()
            .map_or(self.flows.len(), |slot| slot as usize);
        let first = self.class_flows[class].start;
        let place = Place::new(number, slot);
        let built = &self.classes[class];
        let state = setup::make_flow(built, class, first, place, self.seed, random, rtt);
        match self.flows.get_mut(slot) {
            Some(vacant) => *vacant = state,
            None => self.flows.push(state),
        }
        self.rows[number] = Row::Live(slot as u32);
        Some(slot)
    }

    /// Gives the state of a flow back whose transfer is complete, if nothing of it is on its way. Entries of the calendar may still name its slot.
    #[cold]
    fn release(&mut self, flow: usize) {
        let state = &mut self.flows[flow];
        let number = state.place.number();
        let traced = self
            .recorder
            .position
            .get(number)
            .is_some_and(|&position| position != u32::MAX);
        if !self.classes[state.class as usize].passing || traced || self.now > self.end {
            return;
        }
        state.settle(self.now, self.window);
        state.settle_drops(self.now, self.window);
        if !state.is_over() {
            return;
        }
        self.rows[number] = Row::Over(Box::new(state.remains()));
        let (class, place, owner) = (state.class as usize, state.place, state.owner);
        *state = Flow::new(class, place, Ends::Source, state.random.clone(), owner);
        state.completion = self.now; // else it would count as unfinished

        self.vacant.push(flow as u32);
    }

    /// Whether a timer's entry of the calendar is one of a flow that has given its state back.
    #[inline]
    fn is_of_another(&self, tag: Tag) -> bool {
        self.flows[tag.slot()].place.number() != tag.flow()
    }

    // ---- shared links ------------------------------------------------------------------------------------------------------------

    /// A packet reaches the queue of `link`.
    #[inline]
    pub(crate) fn arrive(&mut self, link: usize, mut packet: Packet) {
        let now = self.now;
        let marked = packet.flags.has(Flags::CE);
        let state = &mut self.links[link];
        if state.labelled {
            let flow = &self.flows[packet.slot as usize];
            let class = &self.classes[flow.class as usize];
            packet.priority = class.priority;
            state.label = Label {
                identity: flow.hashed(&packet, class.sender.linux),
                priority: class.priority,
                // what needs exact feedback of marks reacts to it as RFC 9331 wants
                l4s: class.receiver.accurate_ecn,
            };
        }
        let offer = state.offer(now, &mut packet);
        if packet.flags.has(Flags::CE) && !marked {
            self.book_mark(&packet);
        }
        match offer {
            Offer::Departs(finish) => {
                let at = self.links[link].exit(finish);
                self.forward(link, packet, at);
            }
            Offer::Dropped => self.book_drop(&packet),
            Offer::Policed => self.book_loss(&packet),
            Offer::Starts(finish) => {
                self.calendar
                    .push_near(finish, Tag::new(Order::Transmit, link, Kind::Transmit));
                self.book_judged(link);
            }
            Offer::Waits => self.book_judged(link),
        }
    }

    /// What a link has done to packets that it held.
    fn book_judged(&mut self, link: usize) {
        if self.links[link].judged.is_empty() {
            return;
        }
        let mut judged = std::mem::take(&mut self.links[link].judged);
        for (packet, fate) in judged.drain(..) {
            match fate {
                Fate::Marked => self.book_mark(&packet),
                Fate::Dropped => self.book_drop(&packet),
                Fate::Lost => self.book_loss(&packet),
            }
        }
        self.links[link].judged = judged;
    }

    fn book_mark(&mut self, packet: &Packet) {
        if packet.flags.has(Flags::SYN) {
            return;
        }
        let inside = self.in_window(self.now);
        let flow = &mut self.flows[packet.slot as usize];
        flow.whole.marks += 1;
        flow.window.marks += u64::from(inside);
    }

    fn book_drop(&mut self, packet: &Packet) {
        if packet.flags.has(Flags::ACK) || packet.flags.has(Flags::SYN) {
            return;
        }
        let inside = self.in_window(self.now);
        let flow = &mut self.flows[packet.slot as usize];
        flow.whole.drops += 1;
        flow.window.drops += u64::from(inside);
    }

    /// A policer or a wire has taken a packet away.
    fn book_loss(&mut self, packet: &Packet) {
        if packet.flags.has(Flags::ACK) || packet.flags.has(Flags::SYN) {
            return;
        }
        let inside = self.in_window(self.now);
        let flow = &mut self.flows[packet.slot as usize];
        flow.whole.losses += 1;
        flow.window.losses += u64::from(inside);
    }

    /// A transmission of an explicit link ends.
    fn on_transmit(&mut self, link: usize) {
        let now = self.now;
        let (sent, next) = self.links[link].transmit(now);
        if let Some(finish) = next {
            self.calendar
                .push_near(finish, Tag::new(Order::Transmit, link, Kind::Transmit));
        }
        self.book_judged(link);
        if let Some(packet) = sent {
            let at = self.links[link].exit_explicit(now);
            if self.links[link].reorders() {
                self.forward_unordered(link, packet, at);
            } else {
                self.forward(link, packet, at);
            }
        }
    }

    /// A packet will come out of a `link` that lets packets overtake each other: whatever follows must see it then, not before.
    fn forward_unordered(&mut self, link: usize, mut packet: Packet, at: u64) {
        packet.hop += 1;
        let wire = &mut self.links[link].wire;
        let place = wire.partition_point(|(other, _)| *other <= at);
        wire.insert(place, (at, packet));
        // one event a packet, not only for the head: another may become the head
        self.calendar
            .push_near(at, Tag::new(Order::Arrival, link, Kind::Wire));
    }

    /// A packet will come out of `link` at `at`.
    #[inline]
    fn forward(&mut self, link: usize, mut packet: Packet, at: u64) {
        packet.hop += 1;
        let class = &self.classes[self.flows[packet.slot as usize].class as usize];
        let is_ack = packet.flags.has(Flags::ACK);
        let path = if is_ack {
            class.reverse.as_deref().unwrap_or(&[])
        } else {
            &class.path
        };
        if (packet.hop as usize) < path.len() || class.varies {
            let wire = &mut self.links[link].wire;
            wire.push_back((at, packet));
            if wire.len() == 1 {
                self.calendar
                    .push_near(at, Tag::new(Order::Arrival, link, Kind::Wire));
            }
        } else if is_ack {
            self.return_ack(packet, at);
        } else {
            self.deliver_data(packet, at);
        }
    }

    /// The head of a link's wire reaches the next queue of its path, or the private path of its flow.
    fn on_wire(&mut self, link: usize) {
        let wire = &mut self.links[link].wire;
        let (_, packet) = wire.pop_front().expect("a wire event stands for a packet");
        let next = wire.front().map(|(at, _)| *at);
        if let Some(at) = next
            && !self.links[link].reorders()
        {
            self.calendar
                .push_near(at, Tag::new(Order::Arrival, link, Kind::Wire));
        }
        let class = &self.classes[self.flows[packet.slot as usize].class as usize];
        let is_ack = packet.flags.has(Flags::ACK);
        let path = if is_ack {
            class.reverse.as_deref().unwrap_or(&[])
        } else {
            &class.path
        };
        match path.get(packet.hop as usize) {
            Some(&next) => self.arrive(next, packet),
            None if is_ack => self.return_ack(packet, self.now),
            None => self.deliver_data(packet, self.now),
        }
    }

    fn on_aqm_timer(&mut self, link: usize) {
        self.links[link].on_timer(self.now);
        if let Some(next) = self.links[link].next_timer() {
            self.calendar.push_far(
                next.max(self.now + 1),
                Tag::new(Order::AqmTimer, link, Kind::AqmTimer),
            );
        }
    }

    // ---- sender to queue ---------------------------------------------------------------------------------------------------------

    /// Puts a packet on the flow's uplink at `sent` (sender's clock).
    #[inline]
    fn launch(&mut self, flow: usize, packet: Packet, sent: u64) {
        let state = &mut self.flows[flow];
        let mut at = sent + state.delays.up;
        if let Some(uplink) = &mut state.uplink {
            let Some(finish) = uplink.offer(sent, packet.size) else {
                if !packet.flags.has(Flags::SYN) {
                    state.whole.drops += 1;
                    if sent >= self.window.0 && sent < self.window.1 {
                        state.window.drops += 1;
                    }
                }
                return;
            };
            at = finish + state.delays.up;
        }
        if at == self.now && at <= self.end {
            let first = self.classes[state.class as usize].path[0];
            self.arrive(first, packet);
            return;
        }
        let packet = Outbound {
            at,
            seq: packet.seq,
            stamp: packet.stamp,
            size: packet.size,
            flags: packet.flags,
        };
        state.delay_outbound(&mut self.calendar, packet);
    }

    /// Sends all that the sender may send now.
    #[inline]
    fn send(&mut self, flow: usize) {
        let state = &mut self.flows[flow];
        let now = self.now - state.shift;
        let class = &self.classes[state.class as usize];
        if let Some(first) = class.straight {
            self.send_straight(flow, first, now);
            return;
        }
        if state.stopped || now >= class.stop || now > self.end {
            return;
        }
        let size = class.packet_size;
        let (header, finite) = (size - class.payload, class.finite);
        let limited = matches!(class.traffic, Traffic::AppLimited { .. });
        let inside = now >= self.window.0 && now < self.window.1;
        if limited {
            self.write(flow, now);
        }
        loop {
            let state = &mut self.flows[flow];
            let config = &self.classes[state.class as usize].sender;
            let Ends::Tcp { sender, .. } = &mut state.ends else {
                return;
            };
            if sender.next_send > now {
                self.arm_pace(flow);
                break;
            }
            let Some(segment) = sender.next_segment(now, config) else {
                sender.on_nothing_to_send();
                break;
            };
            let flags = config.ecn_flags(&segment);
            state.whole.sent += 1;
            state.whole.retransmissions += u64::from(segment.retransmission);
            if inside {
                state.window.sent += 1;
                state.window.retransmissions += u64::from(segment.retransmission);
            }
            let size = if finite && segment.seq + 1 == state.total {
                header + state.tail
            } else {
                size
            };
            let packet = Packet::new(state.place, segment.seq, now, size, flags);
            self.launch(flow, packet, now);
        }
        self.arm_timer(flow);
    }

    /// Keeps one entry of the retransmission timer in the calendar, no later than the timer itself.
    #[inline]
    fn arm_timer(&mut self, flow: usize) {
        let state = &self.flows[flow];
        let Ends::Tcp { sender, .. } = &state.ends else {
            return;
        };
        let next = sender.next_timer();
        if next == u64::MAX {
            return;
        }
        // a flow that was stopped may come back after its timer should have run
        let at = next.saturating_add(state.sender_shift()).max(self.now);
        if at < state.timer_at {
            self.flows[flow].timer_at = at;
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
        if state.pace_at == u64::MAX {
            state.pace_at = sender.next_send.saturating_add(state.shift);
            self.calendar.push_near(state.pace_at, tag);
        }
    }

    fn on_pace(&mut self, flow: usize) {
        let state = &mut self.flows[flow];
        if state.pace_at == self.now {
            state.pace_at = u64::MAX;
            self.send(flow);
        } // else the connection that waited for this has given way to another
    }

    fn on_timer(&mut self, flow: usize) {
        let now = self.now;
        let state = &mut self.flows[flow];
        if state.timer_at != now {
            return; // overtaken by an earlier entry
        }
        self.catch_up(flow, now + 1);
        let state = &mut self.flows[flow];
        state.timer_at = u64::MAX;
        let shift = state.sender_shift();
        let class = &self.classes[state.class as usize];
        let Ends::Tcp { sender, .. } = &mut state.ends else {
            return;
        };
        if sender.deadline == u64::MAX {
            self.release(flow);
            return;
        }
        if state.stopped || now - shift >= class.stop {
            return;
        }
        if sender.next_timer().saturating_add(shift) > now {
            self.arm_timer(flow);
            return;
        }
        if sender.state == State::Closed {
            // events of a connecting flow lag less than those of an established one: the answer may be there in time though its event comes later
            let late = sender.deadline.saturating_add(state.shift);
            if state
                .acks
                .iter()
                .any(|ack| ack.flags.has(Flags::SYN) && ack.at <= late && ack.echo >= state.opened)
            {
                return;
            }
            sender.on_syn_timeout(now - shift, &class.sender);
            state.connect_retries += 1;
            self.connect(flow);
            self.arm_timer(flow);
            return;
        }
        Self::book_window(state, now - shift, self.window);
        let Ends::Tcp { sender, .. } = &mut state.ends else {
            return;
        };
        sender.on_timer(now - shift, &class.sender);
        self.send(flow);
    }

    // ---- connections and applications --------------------------------------------------------------------------------------------

    fn on_start(&mut self, tag: Tag) {
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
        let sent = now - state.sender_shift();
        if state.stopped || sent >= class.stop {
            return;
        }
        if let Ends::Source = state.ends {
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
        state.written_from = sent;
        Self::book_window(state, sent, self.window);
        state.watch.since = sent;
        match &mut state.ends {
            Ends::Source => {}
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
                if class.handshake {
                    sender.deadline =
                        Sender::expiry(sent, sender.timeout(&class.sender), &class.sender);
                    self.connect(flow);
                    self.arm_timer(flow);
                } else {
                    self.establish(flow, 0);
                }
            }
        }
    }

    /// Sends a SYN.
    fn connect(&mut self, flow: usize) {
        let state = &mut self.flows[flow];
        let sent = self.now - state.connect_shift;
        state.connect_sent = sent;
        let class = &self.classes[state.class as usize];
        let ect = if class.sender.ecn_always {
            Flags::ECT
        } else {
            0
        };
        let packet = Packet::new(
            state.place,
            0,
            sent,
            class.ack_size,
            Flags(Flags::SYN | ect),
        );
        self.launch(flow, packet, sent);
    }

    /// The connection stands: data may flow. `rtt` is the handshake's sample, or 0.
    fn establish(&mut self, flow: usize, rtt: u64) {
        let state = &mut self.flows[flow];
        let class = &self.classes[state.class as usize];
        let Ends::Tcp { sender, .. } = &mut state.ends else {
            return;
        };
        if sender.state != State::Closed {
            return; // the answer to a SYN that was sent twice
        }
        sender.open(rtt, state.connect_retries > 0, &class.sender);
        state.watch.since = self.now - state.shift;
        if state.server_delay == 0 {
            sender.written = state.total;
        } else {
            let at = self.now + state.server_delay;
            self.calendar
                .push_far(at, self.flow_tag(flow, Kind::Application, Order::Sender));
        }
        self.send(flow);
    }

    /// An application-limited flow: what has been written by `now`, and when more will be.
    fn write(&mut self, flow: usize, now: u64) {
        let state = &mut self.flows[flow];
        let class = &self.classes[state.class as usize];
        let Traffic::AppLimited { rate } = class.traffic else {
            return;
        };
        let Ends::Tcp { sender, .. } = &mut state.ends else {
            return;
        };
        let interval = f64::from(class.payload) * 8e12 / rate;
        // the first segment at once, the others as the rate fills them
        sender.written = ((now - state.written_from) as f64 / interval) as u64 + 1;
        sender.restart_if_idle(now, &class.sender);
        if !state.application_scheduled {
            state.application_scheduled = true;
            let next = state.written_from + (sender.written as f64 * interval).ceil() as u64;
            let at = next.max(now + 1) + state.shift;
            self.calendar
                .push_far(at, self.flow_tag(flow, Kind::Application, Order::Sender));
        }
    }

    /// Puts a UDP source's next packet into the calendar; `from` is when the last one was sent.
    fn schedule_source(&mut self, flow: usize, from: u64) {
        let state = &mut self.flows[flow];
        let class = &self.classes[state.class as usize];
        let Ends::Udp(source) = &mut state.ends else {
            return;
        };
        let interval = f64::from(class.packet_size) * 8.0 / source.rate;
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
        let at = next + state.shift;
        self.calendar
            .push_near(at, self.flow_tag(flow, Kind::Application, Order::Sender));
    }

    /// A UDP source sends, or an application has written more.
    fn on_application(&mut self, flow: usize) {
        let now = self.now;
        let state = &mut self.flows[flow];
        state.application_scheduled = false;
        let class = &self.classes[state.class as usize];
        let sent = now - state.shift;
        if state.stopped || sent >= class.stop || sent > self.end {
            return;
        }
        let Ends::Udp(source) = &mut state.ends else {
            if let Ends::Source = state.ends {
                self.on_arrive(flow);
                return;
            }
            if !matches!(class.traffic, Traffic::AppLimited { .. }) {
                self.write_transfer(flow, sent);
            }
            self.send(flow);
            return;
        };
        let mut size = class.packet_size;
        if let Traffic::Poisson {
            exponential_sizes: true,
            ..
        } = class.traffic
        {
            size = (state.random.exponential(f64::from(size)) + 0.5).clamp(1.0, 1e9) as u32;
        }
        let seq = source.next_seq;
        source.next_seq += 1;
        state.whole.sent += 1;
        if sent >= self.window.0 && sent < self.window.1 {
            state.window.sent += 1;
        }
        let packet = Packet::new(state.place, seq, sent, size, Flags(0));
        self.launch(flow, packet, sent);
        self.schedule_source(flow, sent);
    }

    // ---- receiver ----------------------------------------------------------------------------------------------------------------

    /// A packet comes out of the last link at `at`, on its way to the receiver.
    #[inline]
    fn deliver_data(&mut self, packet: Packet, at: u64) {
        let flow = packet.slot as usize;
        let state = &mut self.flows[flow];
        let mut arrival = at;
        if let Some(downlink) = &mut state.downlink {
            let finish = downlink.offer(at, packet.size);
            state.settle_drops(self.now, self.window);
            let Some(finish) = finish else {
                if !packet.flags.has(Flags::SYN) {
                    // booked when it happens: the run may end before
                    state.rare().dropping.push_back(at);
                }
                return;
            };
            arrival = finish;
        }
        arrival = (arrival + state.delays.down).max(state.last_arrival);
        state.last_arrival = arrival;
        if !packet.flags.has(Flags::SYN) {
            let class = &self.classes[state.class as usize];
            state.expect(arrival, self.now, self.end, self.window, class);
        }
        let class = &self.classes[state.class as usize];
        if class.fused && class.reverse.is_none() {
            self.receive(flow, &packet, arrival);
            return;
        }
        let event = arrival + state.receiver_shift;
        let rare = state.rare();
        rare.inbound.push_back((event, packet));
        if rare.inbound.len() == 1 {
            self.calendar
                .push_near(event, self.flow_tag(flow, Kind::Receive, Order::Receiver));
        }
    }

    fn on_receive(&mut self, flow: usize) {
        let tag = self.flow_tag(flow, Kind::Receive, Order::Receiver);
        let shift = self.flows[flow].receiver_shift;
        let rare = self.flows[flow].rare();
        let (_, packet) = rare
            .inbound
            .pop_front()
            .expect("a receive event stands for a packet");
        if let Some(&(at, _)) = rare.inbound.front() {
            self.calendar.push_near(at, tag);
        }
        let arrival = self.now - shift;
        self.receive(flow, &packet, arrival);
    }

    /// A packet reaches the receiver at `at`, by the receiver's clock.
    #[inline]
    fn receive(&mut self, flow: usize, packet: &Packet, at: u64) {
        if at > self.end {
            return;
        }
        let state = &mut self.flows[flow];
        let class = &self.classes[state.class as usize];
        if class.renews && packet.stamp < state.opened {
            return; // of a connection that is over
        }
        if packet.flags.has(Flags::SYN) {
            if let Ends::Tcp { receiver, .. } = &mut state.ends {
                receiver.on_syn(at);
            }
            let reply = Reply {
                cum: 0,
                echo: packet.stamp,
                sack: NONE,
                ece: false,
            };
            self.reply(flow, reply, at, Flags::SYN | Flags::ACK);
            return;
        }
        let Ends::Tcp { receiver, .. } = &mut state.ends else {
            let payload = u64::from(
                packet
                    .size
                    .saturating_sub(class.packet_size - class.payload),
            );
            self.book_payload(flow, at, payload);
            return;
        };
        if receiver.due != 0 && receiver.due < at {
            let due = receiver.due;
            let reply = receiver.on_due();
            self.reply(flow, reply, due, Flags::ACK);
        } else if receiver.must_flush(packet.flags, &class.receiver) {
            let reply = receiver.flush();
            self.reply(flow, reply, at, Flags::ACK);
        }
        let state = &mut self.flows[flow];
        let class = &self.classes[state.class as usize];
        let Ends::Tcp { receiver, .. } = &mut state.ends else {
            return;
        };
        let before = receiver.next;
        let reply = receiver.on_data(at, packet.seq, packet.stamp, packet.flags, &class.receiver);
        let mut payload = (receiver.next - before) * u64::from(class.payload);
        if class.finite && receiver.next == state.total && payload > 0 {
            payload -= u64::from(class.payload - state.tail);
        }
        self.book_payload(flow, at, payload);
        match reply {
            Some(reply) => self.reply(flow, reply, at, Flags::ACK),
            None => self.arm_delayed_ack(flow),
        }
    }

    /// The application gets new payload at `at`: booked when it happens, since the run may end before.
    #[inline]
    fn book_payload(&mut self, flow: usize, at: u64, payload: u64) {
        let state = &mut self.flows[flow];
        let class = &self.classes[state.class as usize];
        state.accept(at, self.now, self.end, self.window, class, payload);
    }

    /// Keeps one entry of the delayed-ACK timer in the calendar.
    fn arm_delayed_ack(&mut self, flow: usize) {
        let state = &self.flows[flow];
        let class = &self.classes[state.class as usize];
        let Ends::Tcp { receiver, .. } = &state.ends else {
            return;
        };
        let lag = state.due_lag(class);
        let at = receiver.due + lag;
        if at < state.due_at {
            self.flows[flow].due_at = at;
            self.calendar
                .push_far(at, self.flow_tag(flow, Kind::DelayedAck, Order::Receiver));
        }
    }

    fn on_delayed_ack(&mut self, flow: usize) {
        let now = self.now;
        let state = &mut self.flows[flow];
        if state.due_at != now {
            return;
        }
        state.due_at = u64::MAX;
        let class = &self.classes[state.class as usize];
        let lag = state.due_lag(class);
        let Ends::Tcp { receiver, .. } = &mut state.ends else {
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
        let state = &mut self.flows[flow];
        let class = &self.classes[state.class as usize];
        let flags = Flags(if reply.ece { flags | Flags::ECE } else { flags });
        if class.reverse.is_none() {
            let ack = Ack {
                at: at + state.delays.back + state.shift,
                cum: reply.cum,
                echo: reply.echo,
                sack: reply.sack,
                blocks: 0,
                flags,
            };
            self.deliver_ack(flow, ack);
            return;
        }
        let size = class.ack_size;
        let mut number = 0;
        if let Ends::Tcp { receiver, .. } = &mut state.ends {
            let blocks = receiver.blocks(reply.sack);
            if !blocks.is_empty() {
                let rare = state.rare.get_or_insert_default();
                rare.last_block += 1;
                number = rare.last_block;
                rare.blocks.push_back((number, blocks));
            }
        }
        let packet = Packet {
            sack: reply.sack,
            blocks: number,
            ..Packet::new(state.place, reply.cum, reply.echo, size, flags)
        };
        let event = at + state.delays.back;
        if event == self.now && event <= self.end {
            self.arrive_reverse(flow, packet);
            return;
        }
        let rare = state.rare();
        let event = event.max(rare.last_ack_out);
        rare.last_ack_out = event;
        rare.acks_out.push_back((event, packet));
        if rare.acks_out.len() == 1 {
            let tag = Tag::of_flow(Order::Arrival, state.place, Kind::AckAccess);
            self.calendar.push_near(event, tag);
        }
    }

    fn arrive_reverse(&mut self, flow: usize, packet: Packet) {
        let class = &self.classes[self.flows[flow].class as usize];
        if let Some(&first) = class.reverse.as_ref().and_then(|path| path.first()) {
            self.arrive(first, packet);
        }
    }

    fn on_ack_access(&mut self, flow: usize) {
        let state = &mut self.flows[flow];
        let tag = Tag::of_flow(Order::Arrival, state.place, Kind::AckAccess);
        let rare = state.rare();
        let (_, packet) = rare
            .acks_out
            .pop_front()
            .expect("an ACK event stands for an ACK");
        if let Some(&(at, _)) = rare.acks_out.front() {
            self.calendar.push_near(at, tag);
        }
        self.arrive_reverse(flow, packet);
    }

    /// An ACK comes out of the last reverse link at `at`.
    fn return_ack(&mut self, packet: Packet, at: u64) {
        let flow = packet.slot as usize;
        let state = &self.flows[flow];
        let ack = Ack {
            at: at + state.delays.home + state.shift,
            cum: packet.seq,
            echo: packet.stamp,
            sack: packet.sack,
            blocks: packet.blocks,
            flags: packet.flags,
        };
        self.deliver_ack(flow, ack);
    }

    #[inline]
    fn deliver_ack(&mut self, flow: usize, mut ack: Ack) {
        let tag = self.flow_tag(flow, Kind::Ack, Order::Sender);
        let state = &mut self.flows[flow];
        ack.at = ack.at.max(state.last_ack);
        state.last_ack = ack.at;
        if !state.ack_scheduled {
            state.ack_scheduled = true;
            self.calendar.push_near(ack.at, tag);
        }
        state.acks.push_back(ack);
    }

    // ---- sender ------------------------------------------------------------------------------------------------------------------

    /// Books the window up to `now`, by the sender's clock.
    #[inline(always)]
    pub(crate) fn book_window(state: &mut Flow, now: u64, window: (u64, u64)) {
        let Ends::Tcp { sender, .. } = &state.ends else {
            return;
        };
        let watch = &mut state.watch;
        let stands = sender.state != State::Closed;
        if stands && watch.since >= window.0 && now < window.1 {
            // nearly always: no edge of the window lies between
            let span = now.saturating_sub(watch.since);
            watch.integral += sender.window.cwnd * span as i64 as f64;
            watch.time += span;
            watch.since = now;
        } else {
            let cwnd = stands.then_some(sender.window.cwnd);
            watch.book_edges(now, window, cwnd, &sender.counters);
        }
    }

    /// Takes the flow's ACKs that have come before `time` and wait for their turn ([`Flow::turn`]).
    pub(crate) fn catch_up(&mut self, flow: usize, time: u64) {
        let present = self.now;
        loop {
            let state = &mut self.flows[flow];
            let Some(&ack) = state.acks.front() else {
                break;
            };
            if state.patience == 0 || ack.at >= time || ack.at - state.shift > self.end {
                break;
            }
            state.acks.skip_front();
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
        let state = &mut self.flows[flow];
        let now = ack.at - state.shift;
        let class = &self.classes[state.class as usize];
        if class.renews && ack.echo < state.opened {
            return; // of a connection that is over
        }
        if ack.flags.has(Flags::SYN) {
            let rtt = if state.connect_retries == 0 {
                now - state.connect_sent
            } else {
                0
            };
            self.establish(flow, rtt);
            return;
        }
        Self::book_window(state, now, self.window);
        let class = &self.classes[state.class as usize];
        if let Some(first) = class.straight {
            if let Ends::Tcp { sender, .. } = &mut state.ends {
                sender.on_ack(now, ack, &[], &class.sender, &mut state.random);
            }
            self.send_straight(flow, first, now);
            return;
        }
        let blocks = if ack.blocks == 0 {
            Vec::new()
        } else {
            let rare = state.rare.get_or_insert_default();
            let mut found = Vec::new();
            while let Some(&(number, _)) = rare.blocks.front()
                && number <= ack.blocks
            {
                // numbers below belong to ACKs that were lost
                found = rare.blocks.pop_front().expect("just seen").1;
            }
            found
        };
        let Ends::Tcp { sender, .. } = &mut state.ends else {
            return;
        };
        sender.on_ack(now, ack, &blocks, &class.sender, &mut state.random);
        if class.finite && sender.is_done(state.total) && state.completion == u64::MAX {
            state.completion = now;
            sender.deadline = u64::MAX;
            if class.total == u64::MAX {
                self.complete_transfer(flow, now);
            } else {
                self.on_completion(now);
            }
            return;
        }
        self.send(flow);
    }

    fn on_completion(&mut self, at: u64) {
        self.last_completion = self.last_completion.max(at);
        if let Some(remaining) = &mut self.remaining {
            *remaining -= 1;
            if *remaining == 0 {
                // every event so far lies before this, whatever the senders' clocks
                self.end = self.last_completion + self.grace;
                self.window.1 = self.window.1.min(self.end);
            }
        }
    }

    // ---- probes and changes ------------------------------------------------------------------------------------------------------

    fn on_window_opens(&mut self) {
        for link in &mut self.links {
            link.open_window(self.now);
        }
    }

    pub(crate) fn on_window_closes(&mut self) {
        for link in &mut self.links {
            link.close_window(self.now);
        }
    }

    fn on_sample_links(&mut self) {
        let now = self.now;
        for (trace, idle) in self.recorder.links.iter_mut().zip(&mut self.recorder.idle) {
            let link = &mut self.links[trace.link];
            link.settle(now);
            let seen = link.observe();
            trace.queue_packets.push(link.length() as u32);
            trace.queue_bytes.push(link.bytes());
            trace
                .average_packets
                .push(seen.average_packets.unwrap_or(f64::NAN));
            trace.probability.push(seen.probability.unwrap_or(f64::NAN));
            trace.drops.push(link.counters.drops);
            trace.marks.push(link.counters.marks);
            let quiet = link.counters.idle - *idle;
            *idle = link.counters.idle;
            let busy = 1.0 - quiet as f64 / self.recorder.interval as f64;
            trace.utilization.push(if now == 0 { 0.0 } else { busy });
        }
        let next = now + self.recorder.interval;
        self.calendar
            .push_far(next, Tag::new(Order::Global, 0, Kind::SampleLinks));
    }

    fn on_sample_flow(&mut self, number: usize) {
        if let Row::Live(slot) = self.rows[number] {
            self.catch_up(slot as usize, self.now);
        }
        let position = self.recorder.position[number] as usize;
        let trace = &mut self.recorder.flows[position];
        let state = match self.rows[number] {
            Row::Live(slot) => Some(&self.flows[slot as usize]),
            Row::Waiting { .. } | Row::Over(_) => None,
        };
        // a connecting flow's events lag less than those of an established one: it may have started after the time sampled
        if let Some(state) = state
            && let Ends::Tcp { sender, .. } = &state.ends
            && state.start < self.now - state.shift
        {
            trace.cwnd.push(sender.window.cwnd);
            trace.ssthresh.push(sender.window.ssthresh);
            trace.srtt.push(sender.srtt_seconds());
            trace.delivered.push(sender.una);
        } else {
            trace.cwnd.push(f64::NAN);
            trace.ssthresh.push(f64::NAN);
            trace.srtt.push(f64::NAN);
            trace.delivered.push(0);
        }
        let next = self.now + self.recorder.interval;
        self.calendar.push_far(next, self.sample_tag(number));
    }

    /// Order of a flow's samples.
    pub(crate) fn sample_tag(&self, number: usize) -> Tag {
        let fused = self.classes[self.class_of(number)].fused;
        let order = if fused { Order::Arrival } else { Order::Sender };
        Tag::of_flow(order, Place::of_number(number), Kind::SampleFlow)
    }

    /// Slots of the flows of a class that have their state.
    pub(crate) fn slots(&self, class: usize) -> Vec<usize> {
        let rows = &self.rows[self.class_flows[class].clone()];
        rows.iter().filter_map(Row::slot).collect()
    }

    fn on_change(&mut self, index: usize) -> Result<(), Error> {
        let now = self.now;
        self.catch_up_all(now);
        let set = self.changes[index].set.clone();
        match set {
            Setting::LinkRate(link, rate) => self.links[link].on_rate_change(now, rate),
            Setting::LinkDelay(..) => {} // the link's schedule knows
            Setting::LinkCapacity(link, capacity) => {
                self.links[link].advance(now);
                self.links[link].set_capacity(capacity);
            }
            Setting::AqmParameter(link, name, value) => {
                self.links[link].advance(now);
                let outcome = self.links[link].set_parameter(&name, value);
                outcome.map_err(|message| {
                    Error::Unsupported(format!("{}: {message}", self.changes[index].at))
                })?;
            }
            Setting::Rtt(class, rtt) => self.change_rtt(class, &rtt),
            Setting::AccessRate(class, rate) => {
                self.classes[class].access_rate = Some(rate);
                for flow in self.slots(class) {
                    let state = &mut self.flows[flow];
                    for access in [&mut state.uplink, &mut state.downlink]
                        .into_iter()
                        .flatten()
                    {
                        access.set_rate(rate);
                    }
                    setup::set_delays(&self.classes[class], &mut self.flows[flow]);
                }
            }
            Setting::Count(class, count) => self.change_count(class, count),
            Setting::TrafficRate(class, rate) => self.change_traffic_rate(class, rate),
            Setting::MaxWindow(class, segments) => {
                self.classes[class].sender.max_window = u64::from(segments);
                for flow in self.slots(class) {
                    if matches!(&self.flows[flow].ends, Ends::Tcp { sender, .. } if sender.state != State::Closed)
                    {
                        self.send(flow);
                    }
                }
            }
        }
        Ok(())
    }

    fn change_rtt(&mut self, class: usize, rtt: &Distribution) {
        let flows = self.class_flows[class].clone();
        let count = flows.len() as u32;
        self.classes[class].rtt = rtt.clone();
        // what the links take of the new round trip is their delay now
        let delay = |path: &[usize]| {
            path.iter()
                .map(|&link| self.links[link].delay_at(self.now))
                .sum::<u64>()
        };
        let built = &self.classes[class];
        let (forward, reverse) = (
            delay(&built.path),
            delay(built.reverse.as_deref().unwrap_or(&[])),
        );
        (
            self.classes[class].links_forward,
            self.classes[class].links_reverse,
        ) = (forward, reverse);
        let least = Time(forward + reverse).seconds();
        for (index, number) in flows.enumerate() {
            let slot = self.rows[number].slot();
            let state = slot.map(|slot| &mut self.flows[slot]);
            let (random, own) = match (&mut self.rows[number], state) {
                (Row::Waiting { random, rtt, .. }, _) => (random, rtt),
                (Row::Live(_), Some(state)) => (&mut state.random, &mut state.rtt),
                (Row::Live(_) | Row::Over(_), _) => continue,
            };
            let seconds = setup::draw(rtt, least, index as u32, count, random);
            *own = Time::from_seconds(seconds).0;
            if let Some(slot) = slot {
                setup::set_delays(&self.classes[class], &mut self.flows[slot]);
            }
        }
    }

    fn change_count(&mut self, class: usize, count: u32) {
        let now = self.now;
        for (index, number) in self.class_flows[class].clone().enumerate() {
            let wanted = index < count as usize;
            let flow = match &mut self.rows[number] {
                Row::Live(slot) => *slot as usize,
                Row::Over(_) => continue,
                Row::Waiting { stopped, .. } => {
                    *stopped = !wanted;
                    if wanted {
                        self.calendar.push_far(now, self.start_tag(number));
                    }
                    continue;
                }
            };
            let state = &mut self.flows[flow];
            if !wanted {
                state.stopped = true;
            } else if state.start == u64::MAX {
                state.stopped = false;
                self.calendar
                    .push_far(now, self.flow_tag(flow, Kind::Start, Order::Sender));
            } else if state.stopped {
                state.stopped = false;
                match &state.ends {
                    Ends::Source => self.resume(flow),
                    Ends::Udp(_) => self.schedule_source(flow, now),
                    // what was outstanding is repaired by the timer, which may have expired unheard
                    Ends::Tcp { .. } => {
                        self.resume(flow);
                        self.flows[flow].timer_at = u64::MAX;
                        self.send(flow);
                        self.arm_timer(flow);
                    }
                }
            }
        }
    }

    fn change_traffic_rate(&mut self, class: usize, new: f64) {
        let old = match &mut self.classes[class].traffic {
            Traffic::Cbr { rate }
            | Traffic::OnOff { rate, .. }
            | Traffic::Poisson { rate, .. }
            | Traffic::AppLimited { rate } => std::mem::replace(rate, new),
            Traffic::Arrivals { rate, .. } | Traffic::PackMime { rate, .. } => {
                *rate = new;
                self.change_arrivals(class, new);
                return;
            }
            Traffic::Bulk | Traffic::Transfer { .. } | Traffic::Http { .. } => return,
        };
        for flow in self.slots(class) {
            let state = &mut self.flows[flow];
            match &mut state.ends {
                Ends::Udp(source) => source.rate = new,
                // keep what has been written: move the start so that the new rate would have written the same
                Ends::Tcp { .. } if state.start != u64::MAX && self.now > state.start => {
                    let span = (self.now - state.written_from) as f64 * old / new;
                    state.written_from = self.now.saturating_sub(span as u64);
                }
                Ends::Tcp { .. } | Ends::Source => {}
            }
        }
    }

    /// Packets of each flow that are in the network now, counted where they are; by slot.
    pub(crate) fn in_flight(&mut self) -> Vec<u64> {
        let (end, window) = (self.end, self.window);
        let mut inside: Vec<u64> = self
            .flows
            .iter_mut()
            .map(|flow| {
                flow.settle(end, window);
                flow.settle_drops(end, window);
                let data = flow
                    .outbound
                    .iter()
                    .filter(|packet| !packet.flags.has(Flags::SYN));
                let dropping = flow.rare.as_ref().map_or(0, |rare| rare.dropping.len());
                (flow.arriving.len() + data.count() + dropping) as u64
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

/// Whether a capacity limits anything.
pub(crate) fn in_packets(capacity: Capacity, packet: f64) -> f64 {
    match capacity {
        Capacity::Packets(n) => f64::from(n),
        Capacity::Bytes(bytes) => bytes as f64 / packet,
        Capacity::Unlimited => f64::INFINITY,
    }
}
