//! Several queues under a scheduler, in place of a link's single one.

use std::collections::BTreeSet;

use ackclock_algorithms::aqm::{Aqm as _, LinkView, Observation, PacketView, QueueView, Verdict};
use ackclock_algorithms::registry::{AqmInstance, AqmSpec};
use ackclock_algorithms::scheduler::{AnyScheduler, Backlog, Label, Scheduler as _};
use ackclock_algorithms::{Owner, Stream, Time, ValueError};

use super::Reported;
use crate::packet::Packet;
use crate::ring::Ring;

/// A packet that has left the queues, and what its AQM says of it.
pub(crate) struct Taken {
    pub(crate) arrival: u64,
    pub(crate) size: u32,
    pub(crate) verdict: Verdict,
    queue: usize,
}

struct SubQueue {
    waiting: Ring<(u64, Packet)>,
    aqm: AqmInstance,
    /// When its last packet had been sent.
    free: u64,
    /// Whether its AQM's timer, if it has one, does not run as it comes but late, when a packet
    /// joins. That of an empty sub-queue does.
    asleep: bool,
}

/// Bytes of an empty sub-queue.
pub(crate) const SUB_QUEUE: u64 = (size_of::<SubQueue>() + size_of::<Backlog>()) as u64;

/// The sub-queues of a link and their scheduler.
pub(crate) struct Scheduled {
    scheduler: AnyScheduler,
    /// Whether the scheduler judges packets itself: only then it may shape, drop what waits, or have
    /// limits of its own.
    judges: bool,
    /// Whether nobody judges arrivals.
    accepts_all: bool,
    /// Whether AQMs judge departures; none where they are a user's own.
    decides_at_dequeue: Option<bool>,
    /// Whether AQMs are shown the total, and told of sub-queues that were found empty.
    shows_total: bool,
    queues: Vec<SubQueue>,
    backlog: Vec<Backlog>,
    /// Parameters of the AQM of a sub-queue.
    aqm: AqmSpec,
    /// An AQM that never sees a packet and whose timer runs as it comes: what those of sub-queues
    /// begin as, and what tells when the timers of all run. None where they are a user's own.
    resting: Option<AqmInstance>,
    link: LinkView,
    packets: usize,
    bytes: u64,
    /// The sub-queue whose packet is being sent.
    serving: usize,
    /// Whether the scheduler's only sub-queue has an AQM, which is then what the link shows.
    is_single: bool,
    /// Sub-queues whose AQM's timer runs as it comes: those with packets. The others' may run late,
    /// as all of a link run at once; not those of a user's own AQM, which may have any period.
    ticking: BTreeSet<usize>,
}

impl Scheduled {
    pub(crate) fn new(scheduler: AnyScheduler, aqm: AqmSpec, link: LinkView) -> Self {
        let resting = aqm.build(&link).replica();
        Self::timed(scheduler, aqm, link, resting)
    }

    fn timed(
        scheduler: AnyScheduler,
        aqm: AqmSpec,
        link: LinkView,
        resting: Option<AqmInstance>,
    ) -> Self {
        let count = if scheduler.numbers_by_use() && resting.is_some() {
            0
        } else {
            scheduler.queues()
        };
        let judges = scheduler.judges();
        let mut scheduled = Self {
            accepts_all: !judges && resting.as_ref().is_some_and(|aqm| !aqm.judges_arrivals()),
            decides_at_dequeue: resting.as_ref().map(AqmInstance::decides_at_dequeue),
            queues: Vec::with_capacity(count),
            backlog: Vec::with_capacity(count),
            judges,
            is_single: scheduler.queues() == 1 && !judges,
            shows_total: scheduler.shows_total(),
            scheduler,
            link,
            packets: 0,
            bytes: 0,
            serving: usize::MAX,
            ticking: BTreeSet::new(),
            aqm,
            resting,
        };
        scheduled.grow(count);
        scheduled
    }

    fn grow(&mut self, count: usize) {
        while self.queues.len() < count {
            let replica = self.resting.as_ref().and_then(AqmInstance::replica);
            let late = replica.is_some();
            let aqm = replica.unwrap_or_else(|| self.aqm.build(&self.link));
            let timed = aqm.next_timer().is_some();
            if timed && !late {
                self.ticking.insert(self.queues.len());
            }
            self.queues.push(SubQueue {
                waiting: Ring::default(),
                aqm,
                free: 0,
                // a user's own AQM may have a timer later
                asleep: timed == late,
            });
            self.backlog.push(Backlog::default());
        }
    }

    /// Packets waiting in all sub-queues.
    pub(crate) fn packets(&self) -> usize {
        self.packets
    }

    /// The sub-queue of a packet that arrives at `now`.
    // this and the others below that are always inlined are the path of every packet; left to itself
    // the compiler splits them off when something unrelated grows (3 % more instructions with
    // FQ-CoDel)
    #[inline(always)]
    pub(crate) fn classify(&mut self, now: u64, packet: &PacketView, label: &Label) -> usize {
        let queue = self.scheduler.classify(packet, label);
        if queue >= self.queues.len() {
            let known = self.queues.len();
            self.grow(queue + 1);
            if self.resting.is_none() {
                let rate = self.link.rate;
                for new in known..=queue {
                    self.catch_up(new, now, |_| rate);
                }
            }
        }
        queue
    }

    /// Runs the timer of a sub-queue that has been empty as often as it was due before `until`.
    fn catch_up(&mut self, queue: usize, until: u64, rate_at: impl Fn(u64) -> f64) {
        // empty queues draw no random numbers that anything could depend on
        let mut random = Stream::new(0, Owner::Queue, queue as u64);
        let state = &mut self.queues[queue];
        while let Some(due) = state.aqm.next_timer()
            && due.0 < until
        {
            let view = QueueView {
                packets: 0,
                bytes: 0,
                full: false,
                idle_since: Some(Time(state.free)),
                rate: rate_at(due.0),
                head_sojourn: Some(Time::ZERO),
            };
            state.aqm.on_timer(due, &view, &mut random);
            if state.aqm.next_timer() == Some(due) {
                break;
            }
        }
    }

    /// The same for all whose timers run late: something changes at `now`, before timers.
    fn catch_up_all(&mut self, now: u64, rate_at: impl Fn(u64) -> f64) {
        for queue in 0..self.queues.len() {
            if self.queues[queue].asleep {
                self.catch_up(queue, now, &rate_at);
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
            head_sojourn: Some(head_sojourn(state, now)),
        }
    }

    /// Returns the verdict of the AQM of `queue` on an arriving packet; `sending`: the link is.
    #[inline(always)]
    pub(crate) fn judge_arrival(
        &mut self,
        queue: usize,
        now: u64,
        (packet, label): (&PacketView, &Label),
        rate_at: impl Fn(u64) -> f64,
        sending: bool,
        random: &mut Stream,
    ) -> Verdict {
        if self.accepts_all {
            return Verdict::Accept;
        }
        if self.judges {
            return self.scheduler.judge_arrival(
                Time(now),
                queue,
                packet,
                label,
                &self.backlog,
                random,
            );
        }
        let view = self.view(queue, now, rate_at(now), sending);
        if self.queues[queue].asleep {
            self.wake(queue, now, rate_at);
        }
        self.queues[queue]
            .aqm
            .enqueue(Time(now), packet, &view, random)
    }

    /// A packet arrives at a sub-queue whose timer has not run for some time.
    #[cold]
    #[inline(never)]
    fn wake(&mut self, queue: usize, now: u64, rate_at: impl Fn(u64) -> f64) {
        if self.queues[queue].aqm.next_timer().is_some() {
            self.catch_up(queue, now + 1, rate_at); // timers come before arrivals
            self.queues[queue].asleep = false;
            self.ticking.insert(queue);
        }
    }

    /// A packet joins `queue`.
    #[inline(always)]
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

    #[inline(always)]
    fn pop(&mut self, queue: usize, head: bool) -> Option<(u64, Packet)> {
        let waiting = &mut self.queues[queue].waiting;
        let (arrival, packet) = if head {
            waiting.pop_front()
        } else {
            waiting.pop_back()
        }?;
        left(waiting, &mut self.backlog[queue], packet.size);
        self.packets -= 1;
        self.bytes -= u64::from(packet.size);
        Some((arrival, packet))
    }

    /// Takes packet `index` out of a sub-queue.
    fn remove(&mut self, now: u64, queue: usize, index: usize) -> Option<Packet> {
        let waiting = &mut self.queues[queue].waiting;
        let (_, packet) = waiting.remove(index)?;
        left(waiting, &mut self.backlog[queue], packet.size);
        self.packets -= 1;
        self.bytes -= u64::from(packet.size);
        self.scheduler
            .removed(Time(now), queue, packet.size, &self.backlog);
        Some(packet)
    }

    /// The packet that goes with the one that has just been dropped as it came to `queue`.
    #[inline]
    pub(crate) fn also_dropped(&mut self, now: u64, queue: usize) -> Option<Packet> {
        if !self.judges {
            return None;
        }
        let index = self.scheduler.also_drops()?;
        self.remove(now, queue, index)
    }

    /// The ACK that the last packet of `queue` makes needless.
    #[inline(always)]
    pub(crate) fn superseded(
        &mut self,
        now: u64,
        queue: usize,
        reported: &Reported,
    ) -> Option<Packet> {
        if !self.filters_acks() {
            return None;
        }
        self.superseded_by_last(now, queue, reported)
    }

    #[inline(never)]
    fn superseded_by_last(
        &mut self,
        now: u64,
        queue: usize,
        reported: &Reported,
    ) -> Option<Packet> {
        let index = {
            let waiting = self.queues[queue].waiting.iter();
            let mut acks =
                waiting.map(|(_, packet)| packet.as_acknowledgement(reported.of(packet)));
            self.scheduler.superseded(Time(now), queue, &mut acks)?
        };
        self.remove(now, queue, index)
    }

    /// Whether ACKs that wait may give way to later ones.
    pub(crate) fn filters_acks(&self) -> bool {
        self.judges && self.scheduler.filters_acks()
    }

    /// Whether packets must give way, whatever the capacity of the link.
    #[inline]
    pub(crate) fn overflows(&self) -> bool {
        self.judges && self.scheduler.overflows()
    }

    /// Until when the scheduler lets none of the packets that wait at `now` go, if it is known
    /// without asking for one.
    #[inline(always)]
    pub(crate) fn shut_until(&self, now: u64) -> Option<u64> {
        if !self.judges || self.packets == 0 {
            return None;
        }
        let until = self.scheduler.shut_until().0;
        (until > now).then_some(until)
    }

    /// When the scheduler lets a packet go, if some wait for that alone.
    pub(crate) fn opens(&self, now: u64) -> Option<u64> {
        if self.packets == 0 || !self.judges {
            return None;
        }
        self.scheduler.opens(Time(now)).map(|time| time.0)
    }

    /// The packets that give way after one has joined `arrived`, handed to `drop` one after the
    /// other until the scheduler's batch is done; false if there are none.
    pub(crate) fn overflow(
        &mut self,
        now: u64,
        arrived: usize,
        mut drop: impl FnMut(&Packet),
    ) -> bool {
        let victim = self.scheduler.overflow_victim(arrived, &self.backlog);
        let before = self.packets;
        for _ in 0..victim.packets {
            match self.pop(victim.queue, victim.head) {
                Some((_, packet)) => {
                    self.scheduler
                        .removed(Time(now), victim.queue, packet.size, &self.backlog);
                    drop(&packet);
                }
                None => break,
            }
        }
        self.packets < before
    }

    /// The packet whose turn it is goes to `place`, judged by its AQM (`direct`: it has just arrived
    /// at an idle link, so that only a scheduler that judges all packets does). If it is not dropped,
    /// [`Scheduled::sends`] must follow, else it is asked again.
    #[inline(always)]
    pub(crate) fn take(
        &mut self,
        now: u64,
        rate: f64,
        direct: bool,
        view_of: impl Fn(&Packet) -> PacketView,
        random: &mut Stream,
        place: &mut Option<Packet>,
    ) -> Option<Taken> {
        let next = self.scheduler.next(Time(now), &self.backlog);
        if self.shows_total {
            while let Some(empty) = self.scheduler.found_empty() {
                self.queues[empty].aqm.on_empty();
            }
        }
        let queue = next?;
        let (state, backlog) = (self.queues.get_mut(queue)?, self.backlog.get_mut(queue)?);
        let &(arrival, ref first) = state.waiting.front()?;
        let packet = place.insert(*first);
        let size = packet.size;
        state.waiting.skip_front();
        left(&state.waiting, backlog, size);
        self.packets -= 1;
        self.bytes -= u64::from(size);
        let sojourn = Time(now - arrival);
        let verdict = if self.judges {
            let view = view_of(packet);
            self.scheduler
                .judge(queue, sojourn, &view, &self.backlog, random)
        } else if !direct
            && self
                .decides_at_dequeue
                .unwrap_or_else(|| state.aqm.decides_at_dequeue())
        {
            let view = QueueView {
                packets: backlog.packets,
                bytes: if self.shows_total {
                    self.bytes
                } else {
                    backlog.bytes
                },
                full: false,
                idle_since: None,
                rate,
                head_sojourn: Some(head_sojourn(backlog, now)),
            };
            state
                .aqm
                .dequeue(Time(now), sojourn, &view_of(packet), &view, random)
        } else {
            Verdict::Accept
        };
        Some(Taken {
            arrival,
            size,
            verdict,
            queue,
        })
    }

    /// Whether the scheduler may hold packets back, or judges them.
    pub(crate) fn judges(&self) -> bool {
        self.judges
    }

    /// The packet taken is sent until `finish`.
    #[inline(always)]
    pub(crate) fn sends(&mut self, taken: &Taken, finish: u64) {
        self.scheduler.sent(taken.queue, taken.size, &self.backlog);
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
            .ticking
            .iter()
            .filter_map(|&queue| self.queues[queue].aqm.next_timer());
        let resting = self.resting.as_ref().and_then(AqmInstance::next_timer);
        aqms.chain(resting)
            .chain(self.scheduler.next_timer())
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
            if self.scheduler.moves() {
                self.move_all();
            }
        }
        if let Some(resting) = &mut self.resting
            && resting.next_timer().is_some_and(|time| time.0 <= now)
        {
            let view = QueueView {
                packets: 0,
                bytes: 0,
                full: false,
                idle_since: Some(Time::ZERO),
                rate,
                head_sojourn: Some(Time::ZERO),
            };
            resting.on_timer(Time(now), &view, random);
        }
        let mut ticking = std::mem::take(&mut self.ticking);
        ticking.retain(|&queue| {
            let due = self.queues[queue].aqm.next_timer();
            if due.is_none_or(|time| time.0 > now) {
                return true;
            }
            let view = self.view(queue, now, rate, sending);
            let state = &mut self.queues[queue];
            state.aqm.on_timer(Time(now), &view, random);
            state.asleep = self.resting.is_some() && view.idle_since.is_some();
            !state.asleep
        });
        self.ticking = ticking;
    }

    /// Every packet that waits goes to its sub-queue anew.
    #[cold]
    #[inline(never)]
    fn move_all(&mut self) {
        let mut moving = Vec::with_capacity(self.packets);
        for (queue, backlog) in self.queues.iter_mut().zip(&mut self.backlog) {
            moving.extend(std::iter::from_fn(|| queue.waiting.pop_front()));
            *backlog = Backlog::default();
        }
        (self.packets, self.bytes) = (0, 0);
        for (arrival, packet) in moving {
            let queue = self.scheduler.place(packet.flow, &self.backlog);
            self.grow(queue + 1);
            self.push(queue, arrival, &packet);
        }
    }

    pub(crate) fn on_link_change(&mut self, now: u64, rate: f64, rate_at: impl Fn(u64) -> f64) {
        self.catch_up_all(now, rate_at);
        self.link.rate = rate;
        let queues = self.queues.iter_mut().map(|queue| &mut queue.aqm);
        for aqm in queues.chain(&mut self.resting) {
            aqm.on_link_change(Time(now), rate);
        }
    }

    pub(crate) fn set_parameter(
        &mut self,
        now: u64,
        rate_at: impl Fn(u64) -> f64,
        name: &str,
        value: f64,
    ) -> Result<(), ValueError> {
        self.catch_up_all(now, rate_at);
        self.aqm.set(name, value)?;
        let queues = self.queues.iter_mut().map(|queue| &mut queue.aqm);
        queues
            .chain(&mut self.resting)
            .try_for_each(|aqm| aqm.set_parameter(name, value))
    }

    /// Returns the state that the scheduler shows of itself, or the AQM of the only sub-queue.
    pub(crate) fn observe(&self) -> Observation {
        if !self.is_single {
            return self.scheduler.observe();
        }
        let only = self.queues.first().map(|queue| &queue.aqm);
        only.or(self.resting.as_ref())
            .map_or_else(Observation::default, AqmInstance::observe)
    }
}

/// A packet of `size` bytes has left a sub-queue.
#[inline(always)]
fn left(waiting: &Ring<(u64, Packet)>, backlog: &mut Backlog, size: u32) {
    backlog.packets -= 1;
    backlog.bytes -= u64::from(size);
    (backlog.head, backlog.since) = waiting
        .front()
        .map_or((0, Time::ZERO), |(since, next)| (next.size, Time(*since)));
}

/// How long the first packet of a sub-queue has waited.
#[inline(always)]
fn head_sojourn(backlog: &Backlog, now: u64) -> Time {
    if backlog.packets == 0 {
        return Time::ZERO;
    }
    Time(now).since(backlog.since)
}

#[cfg(test)]
mod tests {
    use ackclock_algorithms::scheduler::SchedulerView;

    use super::*;
    use crate::calendar::Place;
    use crate::packet::Flags;

    /// A link with fq_codel's sub-queues over another AQM, whose timers run late or not: what the
    /// AQMs say and show, and the most timers that ran at once.
    fn driven(aqm: &str, late: bool) -> (Vec<String>, usize) {
        let text = format!(
            "[scenario]\nduration = \"1 s\"\n[[link]]\nname = \"link\"\nrate = \"10 Mbit/s\"\n\
             queue = {{ scheduler = {{ kind = \"fq_codel\", buckets = 4000 }}, aqm = \"{aqm}\", capacity = \"500 packets\" }}\n\
             [[flows]]\npath = [\"link\"]\nrtt = \"10 ms\"\n"
        );
        let scenario = ackclock_scenario::parse(&text, "test").expect("the scenario is right");
        let scheduler = scenario.links[0].scheduler.expect("there is one");
        let scheduler = scheduler.build(&SchedulerView {
            flows: 1,
            salt: 1,
            rate: 10e6,
        });
        let link = LinkView {
            rate: 10e6,
            delay: 0.0,
            capacity_packets: 500.0,
        };
        let spec = scenario.links[0].aqm.clone();
        let resting = late.then(|| spec.build(&link));
        let mut queues = Scheduled::timed(scheduler, spec, link, resting);
        let mut random = Stream::new(1, Owner::Queue, 0);
        let view_of = |packet: &Packet| PacketView {
            size: packet.size,
            flow: packet.flow,
            ecn_capable: false,
            scalable: false,
            syn: false,
            priority: 0,
        };
        let (mut verdicts, mut most) = (Vec::new(), 0);
        let mut now = 0;
        for step in 0_u64..3000 {
            now += (step * step * 7919) % 1_500 * 1_000_000;
            while let Some(due) = queues.next_timer()
                && due <= now
            {
                most = most.max(queues.ticking.len());
                queues.on_timer(due, 10e6, queues.packets > 0, &mut random);
            }
            // 20 flows, of which all but five rest for most of the time
            let flow = if step % 500 < 50 { step % 20 } else { step % 5 };
            let packet = Packet::new(Place::of_number(flow as usize), 0, now, 1500, Flags(0));
            let label = Label {
                flow_hash: (flow as u32).wrapping_mul(0x9e37_79b9),
                ..Label::default()
            };
            let queue = queues.classify(now, &view_of(&packet), &label);
            let view = view_of(&packet);
            let verdict =
                queues.judge_arrival(queue, now, (&view, &label), |_| 10e6, false, &mut random);
            verdicts.push(format!(
                "{verdict:?} {:?}",
                queues.queues[queue].aqm.observe()
            ));
            if verdict != Verdict::Drop {
                queues.push(queue, now, &packet);
            }
            if step % 7 != 0
                && let Some(taken) = queues.take(now, 10e6, false, view_of, &mut random, &mut None)
            {
                verdicts.push(format!("{:?}", taken.verdict));
                queues.sends(&taken, now);
            }
        }
        (verdicts, most)
    }

    /// Packets that arrive after SFQ's hash function has changed stand behind those of their flow.
    #[test]
    fn what_waits_moves_with_its_flow() {
        let text = "[scenario]\nduration = \"1 s\"\n[[link]]\nname = \"link\"\nrate = \"10 Mbit/s\"\n\
                    queue = { scheduler = { kind = \"sfq\", perturb = \"1 s\" } }\n\
                    [[flows]]\npath = [\"link\"]\nrtt = \"10 ms\"\n";
        let scenario = ackclock_scenario::parse(text, "test").expect("the scenario is right");
        let (rate, flows) = (10e6, 1);
        let view = SchedulerView {
            flows,
            salt: 1,
            rate,
        };
        let scheduler = scenario.links[0]
            .scheduler
            .expect("there is one")
            .build(&view);
        let link = LinkView {
            rate,
            delay: 0.0,
            capacity_packets: 127.0,
        };
        let mut queues = Scheduled::new(scheduler, scenario.links[0].aqm.clone(), link);
        let packet_view = |flow: u64| PacketView {
            size: 1500,
            flow: flow as u32,
            ecn_capable: false,
            scalable: false,
            syn: false,
            priority: 0,
        };
        let place = |queues: &mut Scheduled, flow: u64| {
            let label = Label {
                identity: flow as u32 + 100,
                ..Label::default()
            };
            queues.classify(0, &packet_view(flow), &label)
        };
        for seq in 0..60 {
            let flow = seq % 20;
            let packet = Packet::new(Place::of_number(flow as usize), seq, 0, 1500, Flags(0));
            let queue = place(&mut queues, flow);
            queues.push(queue, seq, &packet);
        }
        let before: Vec<usize> = (0..20).map(|flow| place(&mut queues, flow)).collect();
        let due = queues.next_timer().expect("the hash function changes");
        queues.on_timer(due, rate, true, &mut Stream::new(1, Owner::Queue, 0));
        let after: Vec<usize> = (0..20).map(|flow| place(&mut queues, flow)).collect();
        assert_ne!(before, after);
        for (flow, &queue) in after.iter().enumerate() {
            let own = queues.queues[queue].waiting.iter();
            let own = own.filter(|(_, packet)| packet.flow as usize == flow);
            let seqs: Vec<u64> = own.map(|(_, packet)| packet.seq).collect();
            assert_eq!(seqs, [flow as u64, flow as u64 + 20, flow as u64 + 40]);
        }
        assert_eq!((queues.packets(), queues.bytes), (60, 60 * 1500));
        let mut left = 0;
        let random = &mut Stream::new(1, Owner::Queue, 0);
        let any = |packet: &Packet| packet_view(u64::from(packet.flow));
        while let Some(taken) = queues.take(due, rate, true, any, random, &mut None) {
            queues.sends(&taken, due);
            left += 1;
        }
        assert_eq!((left, queues.packets()), (60, 0));
    }

    /// Timers of empty sub-queues may run late: nobody sees it, and 4000 sub-queues cost what those
    /// with packets do.
    #[test]
    fn timers_cost_what_is_active() {
        for aqm in ["lred", "pi", "pi2", "rem", "pie", "st-pi"] {
            let ((on_time, all), (late, some)) = (driven(aqm, false), driven(aqm, true));
            assert_eq!(on_time, late, "{aqm}");
            assert_eq!(all, 4000, "{aqm}");
            assert!(some <= 20, "{aqm}: {some} timers at once");
        }
    }
}
