//! Links whose service takes packets in batches: what a batch takes leaves the queue as it begins and
//! comes out of the link as it ends.

use std::collections::VecDeque;

use ackclock_algorithms::aqm::{Aqm as _, QueueView};
use ackclock_algorithms::impairment::Stalls;
use ackclock_algorithms::service::{AnyService, Service as _, Sharing};
use ackclock_algorithms::{Owner, Stream, Time};

use super::{Fate, Link, Offer, scheduled_in};
use crate::packet::Packet;

/// State of a transmitter with a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Nothing waits.
    Idle,
    /// The next batch may begin then.
    Opens(u64),
    /// It waits for its turn on a medium that it shares.
    Asks,
    /// A batch is sent until then.
    Sends(u64),
}

/// A transmitter that sends batches.
pub(crate) struct Server {
    service: AnyService,
    stalls: Option<Stalls>,
    random: Stream,
    state: State,
    /// Packets of the present batch.
    batch: VecDeque<Packet>,
    /// The packet with which the next batch begins, and its arrival: it has left the queue and did
    /// not fit in this one.
    next: Option<(u64, Packet)>,
    /// How much later than the end of the batch its packets come out, ps.
    pub(super) delay: u64,
}

impl Server {
    /// The transmitter of a link whose random streams follow `entity`.
    pub(crate) fn new(link: &ackclock_scenario::Link, seed: u64, entity: u64) -> Option<Self> {
        let service = link.service?.build();
        let stalls = |params| Stalls::new(params, Stream::new(seed, Owner::Stalls, entity));
        Some(Self {
            service,
            stalls: link.stalls.map(stalls),
            random: Stream::new(seed, Owner::Service, entity),
            state: State::Idle,
            batch: VecDeque::new(),
            next: None,
            delay: 0,
        })
    }

    /// Packets that are in no queue any more.
    pub(super) fn held(&self) -> impl Iterator<Item = &Packet> {
        self.batch
            .iter()
            .chain(self.next.iter().map(|(_, packet)| packet))
    }
}

impl Link {
    fn server(&self) -> Option<&Server> {
        self.extras.as_ref()?.server.as_deref()
    }

    fn server_mut(&mut self) -> Option<&mut Server> {
        self.extras.as_mut()?.server.as_deref_mut()
    }

    /// How it takes turns with others on a medium, if it does.
    pub(crate) fn sharing(&self) -> Option<Sharing> {
        self.server()?.service.sharing()
    }

    /// Whether it waits for its turn on its medium.
    pub(crate) fn asks(&self) -> bool {
        self.server().is_some_and(|it| it.state == State::Asks)
    }

    /// Whether it is sending a batch.
    pub(crate) fn sends(&self) -> bool {
        self.server()
            .is_some_and(|it| matches!(it.state, State::Sends(_)))
    }

    /// The fate of a packet where packets are taken in batches.
    #[inline(always)]
    pub(super) fn woken(&mut self, now: u64, offer: Offer) -> Offer {
        if !self.plain && self.served && offer == Offer::Waits {
            return self.wake(now);
        }
        offer
    }

    /// A packet has joined a queue: when the transmitter acts, if it was idle.
    #[inline(never)]
    pub(super) fn wake(&mut self, now: u64) -> Offer {
        let idle = self.server().is_some_and(|it| it.state == State::Idle);
        if !idle || self.length() == 0 {
            return Offer::Waits;
        }
        match self.prepare(now, true) {
            Some(at) => Offer::Acts(at),
            None if self.asks() => Offer::Asks,
            None => Offer::Waits,
        }
    }

    /// The transmitter is free at `now`: when it acts next. `woken`: it was idle.
    fn prepare(&mut self, now: u64, woken: bool) -> Option<u64> {
        let empty = self.length() == 0 && self.server().is_none_or(|it| it.next.is_none());
        if empty {
            self.server_mut()?.state = State::Idle;
            return None;
        }
        let at = self.opens(now, woken)?;
        if at == now {
            return self.open(now);
        }
        self.server_mut()?.state = State::Opens(at);
        Some(at)
    }

    /// The earliest time from `now` on at which a batch may begin.
    fn opens(&mut self, now: u64, woken: bool) -> Option<u64> {
        let (mut at, mut woken) = (now, woken);
        loop {
            let from = at;
            at = self.transmitter.sends_from(at);
            let server = self.server_mut()?;
            if let Some(stalls) = &mut server.stalls {
                at = stalls.open_from(Time(at)).0;
            }
            at = server.service.opens(Time(at), woken).0;
            if at == from {
                return Some(at);
            }
            woken = false;
        }
    }

    /// A batch may begin at `now`: it does, or the link asks for its turn.
    fn open(&mut self, now: u64) -> Option<u64> {
        if self.sharing().is_some() {
            self.server_mut()?.state = State::Asks;
            return None;
        }
        self.begin_batch(now)
    }

    /// A batch begins: when it ends, or the transmitter acts next. What becomes of packets on the way
    /// out of the queue is left in `judged`.
    pub(crate) fn begin_batch(&mut self, now: u64) -> Option<u64> {
        let rate = self.transmitter.rate_at(now);
        self.idle_until(now);
        let mut server = self.extras.as_mut()?.server.take()?;
        server.service.begin(Time(now), rate);
        while let Some((arrival, packet)) = server.next.take().or_else(|| self.leave_queue(now)) {
            if !server.service.takes(packet.size) {
                server.next = Some((arrival, packet));
                break;
            }
            self.counters.starts += 1;
            self.counters.started_bytes += u64::from(packet.size);
            self.record(arrival, now);
            server.batch.push_back(packet);
        }
        let waiting = server.next.is_some();
        let next = if server.batch.is_empty() && !waiting {
            // dropped, or a scheduler that shapes lets nothing go yet
            let opens = self.scheduled().and_then(|it| it.opens(now));
            server.state = opens.map_or(State::Idle, State::Opens);
            opens
        } else {
            let end = server.service.end(waiting, &mut server.random);
            self.free = end.free.0;
            server.delay = end.delay.0;
            server.state = State::Sends(end.free.0);
            Some(end.free.0)
        };
        self.extras.as_mut()?.server = Some(server);
        next
    }

    /// Counts the time up to `now` in which nothing was sent, neither for the first time nor again.
    pub(super) fn idle_until(&mut self, now: u64) {
        let mut from = self.idle_from();
        let server = self.extras.as_ref().and_then(|it| it.server.as_deref());
        while let Some((begin, end)) = server.and_then(|it| it.service.repeats(Time(from))) {
            if begin.0 >= now {
                break;
            }
            self.busy.gap(from, begin.0);
            from = end.0;
        }
        self.busy.gap(from, now);
    }

    /// The next packet leaves the queue, with its arrival.
    fn leave_queue(&mut self, now: u64) -> Option<(u64, Packet)> {
        if self.scheduled().is_some() {
            return self.leave_scheduled(now);
        }
        while let Some((arrival, mut packet)) = self.queue.pop_front() {
            self.clock.account(now, self.queue.len() + 1, self.bytes);
            self.bytes -= u64::from(packet.size);
            if self.judge_departure(now, arrival, &mut packet) {
                return Some((arrival, packet));
            }
        }
        None
    }

    /// The same of a queue with a scheduler.
    fn leave_scheduled(&mut self, now: u64) -> Option<(u64, Packet)> {
        let rate = self.transmitter.rate_at(now);
        loop {
            let before = self.length();
            let scheduled = scheduled_in(&mut self.extras)?;
            let (random, mut packet) = (&mut self.random, None);
            let taken = scheduled.take(now, rate, false, Self::packet_view, random, &mut packet)?;
            let mut packet = packet?;
            self.clock.account(now, before, self.bytes);
            self.bytes -= u64::from(packet.size);
            if !self.leaves(taken.verdict, &mut packet) {
                continue;
            }
            scheduled_in(&mut self.extras)?.sends(&taken, now);
            return Some((taken.arrival, packet));
        }
    }

    /// Whether a packet that leaves a queue without a scheduler goes on; it may be marked.
    #[inline]
    pub(super) fn judge_departure(&mut self, now: u64, arrival: u64, packet: &mut Packet) -> bool {
        if !self.aqm.decides_at_dequeue() {
            return true;
        }
        let view = QueueView {
            idle_since: None,
            ..self.view(now, packet.size)
        };
        let sojourn = Time(now - arrival);
        let packet_view = Self::packet_view(packet);
        let verdict = self
            .aqm
            .dequeue(Time(now), sojourn, &packet_view, &view, &mut self.random);
        self.leaves(verdict, packet)
    }

    /// The transmitter acts: a packet of the batch that has ended comes out, or the next batch may
    /// begin. A batch comes out packet by packet, all at the same time.
    #[inline(never)]
    pub(super) fn transmit_served(&mut self, now: u64) -> (Option<Packet>, Option<u64>) {
        let Some(server) = self.server_mut() else {
            return (None, None);
        };
        match server.state {
            State::Opens(at) if at <= now => (None, self.open(now)),
            State::Sends(end) if end <= now => {
                let mut sent = server.batch.pop_front();
                let more = !server.batch.is_empty();
                if let Some(packet) = sent {
                    let loses = |it: &mut Box<super::Extras>| it.impairments.loses();
                    if self.extras.as_mut().is_some_and(loses) {
                        self.counters.losses += 1;
                        self.judged.push((packet, Fate::Lost));
                        sent = None;
                    } else {
                        self.counters.finished += 1;
                    }
                }
                let next = if more {
                    Some(now)
                } else {
                    self.prepare(now, false)
                };
                (sent, next)
            }
            _ => (None, None),
        }
    }
}
