//! Several queues under a scheduler, in place of a link's single one.

use std::collections::VecDeque;

use ackclock_algorithms::aqm::{Aqm as _, LinkView, Observation, PacketView, QueueView, Verdict};
use ackclock_algorithms::registry::{AqmInstance, AqmSpec};
use ackclock_algorithms::scheduler::{AnyScheduler, Backlog, Label, Scheduler as _};
use ackclock_algorithms::{Owner, Stream, Time, ValueError};

use crate::packet::Packet;

/// A packet that leaves the queues, and what its AQM says of it.
pub(crate) struct Taken {
    pub(crate) arrival: u64,
    pub(crate) packet: Packet,
    pub(crate) verdict: Verdict,
    queue: usize,
}

struct SubQueue {
    waiting: VecDeque<(u64, Packet)>,
    aqm: AqmInstance,
    /// When its last packet had been sent.
    free: u64,
}

/// The sub-queues of a link and their scheduler.
pub(crate) struct Scheduled {
    scheduler: AnyScheduler,
    queues: Vec<SubQueue>,
    backlog: Vec<Backlog>,
    /// What makes the AQM of a sub-queue.
    aqm: AqmSpec,
    link: LinkView,
    packets: usize,
    bytes: u64,
    /// The sub-queue whose packet is being sent.
    serving: usize,
}

impl Scheduled {
    pub(crate) fn new(scheduler: AnyScheduler, aqm: AqmSpec, link: LinkView) -> Self {
        let count = scheduler.queues();
        let mut scheduled = Self {
            queues: Vec::with_capacity(count),
            backlog: Vec::with_capacity(count),
            scheduler,
            aqm,
            link,
            packets: 0,
            bytes: 0,
            serving: usize::MAX,
        };
        scheduled.grow(count);
        scheduled
    }

    fn grow(&mut self, count: usize) {
        while self.queues.len() < count {
            self.queues.push(SubQueue {
                waiting: VecDeque::new(),
                aqm: self.aqm.build(&self.link),
                free: 0,
            });
            self.backlog.push(Backlog::default());
        }
    }

    /// Packets waiting in all sub-queues.
    pub(crate) fn packets(&self) -> usize {
        self.packets
    }

    /// The sub-queue of a packet that arrives at `now`.
    pub(crate) fn classify(&mut self, now: u64, packet: &PacketView, label: Label) -> usize {
        let queue = self.scheduler.classify(packet, label);
        if queue >= self.queues.len() {
            // connections of a source become flows during the run
            let known = self.queues.len();
            self.grow(queue + 1);
            for new in known..=queue {
                self.catch_up(new, now);
            }
        }
        queue
    }

    /// The timer of a new sub-queue's AQM runs as if it had been there from the start, with nothing
    /// in the queue.
    fn catch_up(&mut self, queue: usize, now: u64) {
        let view = self.view(queue, now, self.link.rate, false);
        // empty queues draw no random numbers that anything could depend on
        let mut random = Stream::new(0, Owner::Queue, queue as u64);
        let aqm = &mut self.queues[queue].aqm;
        while let Some(due) = aqm.next_timer()
            && due.0 < now
        {
            aqm.on_timer(due, &view, &mut random);
            if aqm.next_timer() == Some(due) {
                break;
            }
        }
    }

    /// A sub-queue as its AQM sees it when a packet arrives. Capacity is shared: no sub-queue is
    /// ever full.
    fn view(&self, queue: usize, now: u64, rate: f64, sending: bool) -> QueueView {
        let state = &self.backlog[queue];
        let free = self.queues[queue].free;
        let idle = state.packets == 0 && free <= now && !(sending && self.serving == queue);
        QueueView {
            packets: state.packets,
            bytes: state.bytes,
            full: false,
            idle_since: idle.then_some(Time(free)),
            rate,
        }
    }

    /// What the AQM of `queue` says of an arriving packet; `sending`: the link is.
    pub(crate) fn judge_arrival(
        &mut self,
        queue: usize,
        now: u64,
        packet: &PacketView,
        rate: f64,
        sending: bool,
        random: &mut Stream,
    ) -> Verdict {
        if self.scheduler.judges() {
            return Verdict::Accept;
        }
        let view = self.view(queue, now, rate, sending);
        self.queues[queue]
            .aqm
            .enqueue(Time(now), packet, &view, random)
    }

    /// A packet joins `queue`.
    pub(crate) fn push(&mut self, queue: usize, now: u64, packet: &Packet) {
        let state = &mut self.backlog[queue];
        if state.packets == 0 {
            (state.head, state.since) = (packet.size, Time(now));
        }
        state.packets += 1;
        state.bytes += u64::from(packet.size);
        self.queues[queue].waiting.push_back((now, *packet));
        self.packets += 1;
        self.bytes += u64::from(packet.size);
        self.scheduler.joined(queue, &self.backlog);
    }

    fn pop(&mut self, queue: usize, head: bool) -> Option<(u64, Packet)> {
        let waiting = &mut self.queues[queue].waiting;
        let (arrival, packet) = if head {
            waiting.pop_front()
        } else {
            waiting.pop_back()
        }?;
        let state = &mut self.backlog[queue];
        state.packets -= 1;
        state.bytes -= u64::from(packet.size);
        (state.head, state.since) = waiting
            .front()
            .map_or((0, Time::ZERO), |(since, next)| (next.size, Time(*since)));
        self.packets -= 1;
        self.bytes -= u64::from(packet.size);
        Some((arrival, packet))
    }

    /// The packets that give way after one has joined `arrived`, handed to `drop` one after the
    /// other until the scheduler's batch is done.
    pub(crate) fn overflow(&mut self, arrived: usize, mut drop: impl FnMut(&Packet)) {
        let victim = self.scheduler.overflow_victim(arrived, &self.backlog);
        for _ in 0..victim.packets {
            match self.pop(victim.queue, victim.head) {
                Some((_, packet)) => drop(&packet),
                None => break,
            }
        }
    }

    /// The packet whose turn it is, judged by its AQM (`direct`: it has just arrived at an idle
    /// link, so that only a scheduler that judges all packets does). If it is not dropped,
    /// [`Scheduled::sends`] must follow, else it is asked again.
    pub(crate) fn take(
        &mut self,
        now: u64,
        rate: f64,
        direct: bool,
        view_of: impl Fn(&Packet) -> PacketView,
        random: &mut Stream,
    ) -> Option<Taken> {
        let next = self.scheduler.next(Time(now), &self.backlog);
        while let Some(empty) = self.scheduler.found_empty() {
            self.queues[empty].aqm.on_empty();
        }
        let queue = next?;
        let (arrival, packet) = self.pop(queue, true)?;
        let sojourn = Time(now - arrival);
        let verdict = if self.scheduler.judges() {
            let view = view_of(&packet);
            self.scheduler
                .judge(queue, sojourn, &view, &self.backlog, random)
        } else if !direct && self.queues[queue].aqm.decides_at_dequeue() {
            let mut view = QueueView {
                idle_since: None,
                ..self.view(queue, now, rate, true)
            };
            if self.scheduler.shows_total() {
                view.bytes = self.bytes;
            }
            self.queues[queue]
                .aqm
                .dequeue(Time(now), sojourn, &view_of(&packet), &view, random)
        } else {
            Verdict::Accept
        };
        Some(Taken {
            arrival,
            packet,
            verdict,
            queue,
        })
    }

    /// The packet taken is sent until `finish`.
    pub(crate) fn sends(&mut self, taken: &Taken, finish: u64) {
        self.scheduler
            .sent(taken.queue, taken.packet.size, &self.backlog);
        self.queues[taken.queue].free = finish;
        self.serving = taken.queue;
    }

    pub(crate) fn held(&self) -> impl Iterator<Item = &Packet> {
        self.queues
            .iter()
            .flat_map(|queue| queue.waiting.iter().map(|(_, packet)| packet))
    }

    /// The earliest timer of the scheduler and the AQMs.
    pub(crate) fn next_timer(&self) -> Option<u64> {
        let aqms = self
            .queues
            .iter()
            .filter_map(|queue| queue.aqm.next_timer());
        aqms.chain(self.scheduler.next_timer())
            .map(|time| time.0)
            .min()
    }

    pub(crate) fn on_timer(&mut self, now: u64, rate: f64, sending: bool, random: &mut Stream) {
        if self
            .scheduler
            .next_timer()
            .is_some_and(|time| time.0 <= now)
        {
            self.scheduler.on_timer(Time(now), &self.backlog);
        }
        for queue in 0..self.queues.len() {
            let due = self.queues[queue].aqm.next_timer();
            if due.is_some_and(|time| time.0 <= now) {
                let view = self.view(queue, now, rate, sending);
                self.queues[queue].aqm.on_timer(Time(now), &view, random);
            }
        }
    }

    pub(crate) fn on_link_change(&mut self, now: u64, rate: f64) {
        self.link.rate = rate;
        for queue in &mut self.queues {
            queue.aqm.on_link_change(Time(now), rate);
        }
    }

    pub(crate) fn set_parameter(&mut self, name: &str, value: f64) -> Result<(), ValueError> {
        self.aqm.set(name, value)?;
        self.queues
            .iter_mut()
            .try_for_each(|queue| queue.aqm.set_parameter(name, value))
    }

    /// What the scheduler shows of itself, or the AQM of the only sub-queue.
    pub(crate) fn observe(&self) -> Observation {
        match &self.queues[..] {
            [only] => only.aqm.observe(),
            _ => self.scheduler.observe(),
        }
    }
}
