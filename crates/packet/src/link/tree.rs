//! A queue with classes, in place of a link's single one: a class scheduler over queues of any
//! kind, also with classes.
//!
//! A class whose own queue holds its packets back (a shaper below a scheduler that does not shape)
//! counts as empty for those above until that queue lets one go.

use std::sync::Arc;

use ackclock_algorithms::Time;
use ackclock_algorithms::aqm::{Aqm as _, LinkView, QueueView};
use ackclock_algorithms::classes::{AnyClassScheduler, ClassScheduler as _, Turn};
use ackclock_algorithms::scheduler::{Backlog, Label, SchedulerView};
use ackclock_scenario::{Dscp, FlowClass, Queue, Tree as Declared};

use super::leaf::{Counts, Fifo, Moment, Next, Shared};
use super::scheduled::Scheduled;
use crate::outcome::{Ledger, QueueAccount};
use crate::packet::Packet;
use crate::probe::DelayHistogram;
use crate::ring::Ring;

/// No class: packets of a class of flows that never crosses the link.
const NO_CLASS: usize = usize::MAX;

/// Place of a class's packets.
enum Inner {
    /// In the classes below it.
    Classes,
    Fifo(Box<Fifo>),
    Shared(Box<Shared>),
    Tree(Box<Tree>),
}

impl Inner {
    fn new(queue: &Queue, view: &LinkView, context: &Context<'_>) -> Option<Self> {
        if let Some(tree) = &queue.tree {
            return Some(Self::Tree(Box::new(Tree::new(tree, view.rate, context)?)));
        }
        Some(match queue.scheduler {
            Some(scheduler) => Self::Shared(Box::new(Shared {
                scheduled: Scheduled::new(
                    scheduler.build(&SchedulerView {
                        rate: view.rate,
                        ..context.scheduler
                    }),
                    queue.aqm.clone(),
                    *view,
                ),
                bytes: 0,
                capacity: queue.capacity,
            })),
            None => Self::Fifo(Box::new(Fifo {
                waiting: Ring::default(),
                bytes: 0,
                aqm: queue.aqm.build(view),
                capacity: queue.capacity,
                free: 0,
            })),
        })
    }

    /// A packet arrives, or is dropped (false); and what waited before and waits after.
    #[inline(always)]
    fn arrive(
        &mut self,
        moment: &mut Moment<'_>,
        packet: &mut Packet,
        label: &Label,
    ) -> (bool, Counts, Counts) {
        let before = self.counts();
        let joined = match self {
            Self::Classes => {
                moment.dropped(packet.size, false);
                false
            }
            Self::Fifo(fifo) => fifo.arrive(moment, packet),
            Self::Shared(shared) => shared.arrive(moment, packet, label),
            Self::Tree(tree) => tree.arrive_below(moment, packet, label),
        };
        (joined, before, self.counts())
    }

    /// A packet is to leave; and what waited before and waits after.
    #[inline(always)]
    fn take(&mut self, moment: &mut Moment<'_>) -> (Next, Counts, Counts) {
        let before = self.counts();
        let next = match self {
            Self::Classes => Next::Nothing,
            Self::Fifo(fifo) => fifo.take(moment),
            Self::Shared(shared) => shared.take(moment),
            Self::Tree(tree) => tree.take_below(moment),
        };
        (next, before, self.counts())
    }

    #[inline(always)]
    fn counts(&self) -> Counts {
        match self {
            Self::Classes => (0, 0),
            Self::Fifo(fifo) => fifo.counts(),
            Self::Shared(shared) => shared.counts(),
            Self::Tree(tree) => tree.counts(),
        }
    }

    /// The size of the packet that leaves next, 0 where only taking it tells.
    fn head(&self) -> u32 {
        match self {
            Self::Fifo(fifo) if !fifo.aqm.decides_at_dequeue() => {
                fifo.waiting.front().map_or(0, |(_, packet)| packet.size)
            }
            _ => 0,
        }
    }
}

struct Class {
    name: String,
    /// The most that it and those above it may send, bit/s.
    most: f64,
    inner: Inner,
    /// A packet that has left the queue and waits in front of it, and when it arrived.
    front: Option<(u64, Packet)>,
    /// Its queue lets nothing go before then; for the scheduler it is empty.
    held: Option<u64>,
    arrived: u64,
    sent: u64,
    sent_bytes: u64,
    dropped: u64,
    /// The same when the measurement window opened, and when it closed.
    at_opening: [u64; 4],
    at_closing: Option<[u64; 4]>,
    /// Time in the queue of packets that left it inside the window.
    delays: DelayHistogram,
}

/// Bytes of a class with an empty queue.
pub(crate) const CLASS: u64 =
    (size_of::<Class>() + size_of::<Backlog>() + size_of::<Fifo>()) as u64;

impl Class {
    fn counted(&self) -> [u64; 4] {
        [self.arrived, self.sent, self.sent_bytes, self.dropped]
    }

    fn packets(&self) -> usize {
        self.inner.counts().0 + usize::from(self.front.is_some())
    }
}

/// Circumstances that a tree is made in, beside its declaration.
pub(crate) struct Context<'s> {
    pub(crate) flows: &'s [FlowClass],
    pub(crate) scheduler: SchedulerView,
    pub(crate) delay: f64,
    pub(crate) mean_packet: f64,
}

/// A queue with classes.
pub(crate) struct Tree {
    scheduler: AnyClassScheduler,
    classes: Vec<Class>,
    backlog: Vec<Backlog>,
    /// The class of each class of flows: of packets with its code point, and without.
    class_of: [Vec<usize>; 2],
    packets: usize,
    bytes: u64,
    /// Classes that their own queues hold back.
    held: Vec<usize>,
    /// When the link asks again although nothing is sent.
    wake: Option<u64>,
    /// When the packet in service will have been sent; `u64::MAX`: nobody looks then, as nothing may
    /// follow, or nothing is being sent.
    pub(super) finish: u64,
    /// Until when no packet may go, whatever joins classes that have some already.
    shut: u64,
}

impl Tree {
    /// The tree at the start; `None` where parameters of classes are of another scheduler.
    pub(crate) fn new(declared: &Arc<Declared>, rate: f64, context: &Context<'_>) -> Option<Self> {
        let mut most: Vec<f64> = Vec::with_capacity(declared.classes.len());
        for class in &declared.classes {
            let above = class.parent.map_or(f64::INFINITY, |parent| most[parent]);
            most.push(declared.class_rate(class, above));
        }
        let class = |(class, most): (&ackclock_scenario::TreeClass, f64)| {
            let rate = rate.min(most);
            let inner = match &class.queue {
                Some(queue) => {
                    let view = LinkView {
                        rate,
                        delay: context.delay,
                        capacity_packets: super::in_packets(queue.capacity, context.mean_packet),
                    };
                    Inner::new(queue, &view, context)?
                }
                None => Inner::Classes,
            };
            Some(Class {
                name: class.name.clone(),
                most,
                inner,
                front: None,
                held: None,
                arrived: 0,
                sent: 0,
                sent_bytes: 0,
                dropped: 0,
                at_opening: [0; 4],
                at_closing: None,
                delays: DelayHistogram::default(),
            })
        };
        let declared_classes = declared.classes.iter().zip(most);
        let classes: Vec<Class> = declared_classes.map(class).collect::<Option<_>>()?;
        let filters = declared.filters();
        let place = |flows: &FlowClass, code| filters.class_of(flows, code).unwrap_or(NO_CLASS);
        let flows = context.flows.iter();
        let places = [
            flows
                .clone()
                .map(|flows| place(flows, flows.dscp))
                .collect(),
            flows.map(|flows| place(flows, Dscp::Cs0)).collect(),
        ];
        Some(Self {
            scheduler: declared.build()?,
            backlog: vec![Backlog::default(); classes.len()],
            classes,
            class_of: places,
            packets: 0,
            bytes: 0,
            held: Vec::new(),
            wake: None,
            finish: u64::MAX,
            shut: 0,
        })
    }

    #[inline(always)]
    fn counts(&self) -> Counts {
        (self.packets, self.bytes)
    }

    /// Packets waiting.
    pub(crate) fn packets(&self) -> usize {
        self.packets
    }

    /// Bytes waiting.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Brings what the scheduler is told of a class up to date.
    fn count(&mut self, class: usize) {
        let counts = self.classes[class].inner.counts();
        self.count_as(class, counts);
    }

    /// The same of a class with these packets and bytes in its queue.
    #[inline(always)]
    fn count_as(&mut self, class: usize, (mut packets, mut bytes): (usize, u64)) {
        let state = &self.classes[class];
        if let Some((_, front)) = &state.front {
            packets += 1;
            bytes += u64::from(front.size);
        }
        let backlog = &mut self.backlog[class];
        // of what its queue holds back, the scheduler is not told
        if state.held.is_none() {
            backlog.packets = packets as u32;
            backlog.bytes = bytes;
            backlog.head = match &state.front {
                Some((_, front)) => front.size,
                None => state.inner.head(),
            };
        }
    }

    /// [`Tree::arrive`] at a tree below another.
    #[inline(never)]
    fn arrive_below(
        &mut self,
        moment: &mut Moment<'_>,
        packet: &mut Packet,
        label: &Label,
    ) -> bool {
        self.arrive(moment, packet, label)
    }

    /// A packet arrives: false if it is dropped.
    #[inline(always)]
    pub(super) fn arrive(
        &mut self,
        moment: &mut Moment<'_>,
        packet: &mut Packet,
        label: &Label,
    ) -> bool {
        let place = self.class_of[usize::from(label.dscp == 0)].get(label.class as usize);
        let Some(class) = place.copied().filter(|class| *class != NO_CLASS) else {
            moment.dropped(packet.size, false);
            return false;
        };
        let state = &mut self.classes[class];
        state.arrived += 1;
        let rate = moment.rate;
        moment.rate = rate.min(state.most);
        let (joined, (packets, bytes), (after, bytes_after)) =
            state.inner.arrive(moment, packet, label);
        moment.rate = rate;
        state.dropped += (packets + 1 - after) as u64;
        self.packets = self.packets + after - packets;
        self.bytes = self.bytes + bytes_after - bytes;
        let left = after > 0 || state.front.is_some();
        if !joined {
            // another packet may have gone with it
            let before = self.backlog[class].packets;
            self.count(class);
            if before > 0 && self.backlog[class].packets == 0 {
                self.scheduler.emptied(Time(moment.now), class);
            }
            return false;
        }
        // a queue that holds its packets back may let this one go
        self.release(class);
        let fresh = self.backlog[class].packets == 0;
        if fresh {
            self.shut = 0;
            self.backlog[class].since = Time(moment.now);
        }
        self.count_as(class, (after, bytes_after));
        if left {
            self.scheduler
                .joined(Time(moment.now), class, &self.backlog);
        } else if !fresh {
            self.scheduler.emptied(Time(moment.now), class);
        }
        true
    }

    fn release(&mut self, class: usize) {
        if self.classes[class].held.take().is_some() {
            self.held.retain(|other| *other != class);
        }
    }

    /// Lets classes take part again whose queues have held them back until now.
    #[cold]
    fn release_due(&mut self, now: u64) {
        let due = |class: &usize| self.classes[*class].held.is_some_and(|until| until <= now);
        let released: Vec<usize> = self.held.iter().copied().filter(due).collect();
        for class in released {
            self.release(class);
            self.count(class);
            if self.backlog[class].packets > 0 {
                self.scheduler.joined(Time(now), class, &self.backlog);
            }
        }
    }

    /// Takes a packet from a class's queue, and counts what is left; the class is taken from the
    /// scheduler where that is nothing.
    #[inline(always)]
    fn take_from(&mut self, moment: &mut Moment<'_>, class: usize) -> bool {
        let state = &mut self.classes[class];
        if state.front.is_some()
            && let Some((arrival, packet)) = state.front.take()
        {
            (*moment.leaving, moment.arrival) = (Some(packet), arrival);
            self.packets -= 1;
            self.bytes -= u64::from(packet.size);
            self.count(class);
            return true;
        }
        let rate = moment.rate;
        moment.rate = rate.min(state.most);
        let (next, (packets, bytes), (after, bytes_after)) = state.inner.take(moment);
        moment.rate = rate;
        let taken = usize::from(matches!(next, Next::Packet));
        state.dropped += (packets - after - taken) as u64;
        self.packets = self.packets + after - packets;
        self.bytes = self.bytes + bytes_after - bytes;
        match next {
            Next::Packet => {
                self.count_as(class, (after, bytes_after));
                true
            }
            Next::Wait(until) => {
                state.held = Some(until);
                self.held.push(class);
                (self.backlog[class].packets, self.backlog[class].bytes) = (0, 0);
                self.backlog[class].head = 0;
                self.scheduler.emptied(Time(moment.now), class);
                false
            }
            Next::Nothing => {
                self.count(class);
                self.scheduler.emptied(Time(moment.now), class);
                false
            }
        }
    }

    /// [`Tree::take`] of a tree below another.
    #[inline(never)]
    fn take_below(&mut self, moment: &mut Moment<'_>) -> Next {
        self.take(moment)
    }

    #[inline(always)]
    fn take(&mut self, moment: &mut Moment<'_>) -> Next {
        let now = moment.now;
        if !self.held.is_empty() {
            self.release_due(now);
        }
        loop {
            match self.scheduler.next(Time(now), &self.backlog) {
                Turn::Send(class) => {
                    if !self.take_from(moment, class) {
                        continue;
                    }
                    let Some(size) = moment.leaving.as_ref().map(|it| it.size) else {
                        continue;
                    };
                    let state = &mut self.classes[class];
                    state.sent += 1;
                    state.sent_bytes += u64::from(size);
                    if moment.measured {
                        state.delays.record(now - moment.arrival);
                    }
                    self.scheduler.sent(Time(now), class, size, &self.backlog);
                    return Next::Packet;
                }
                Turn::Peek(class) => {
                    if self.take_from(moment, class) {
                        let front = moment.leaving.take().map(|it| (moment.arrival, it));
                        self.packets += 1;
                        self.bytes += front.as_ref().map_or(0, |(_, it)| u64::from(it.size));
                        self.classes[class].front = front;
                        self.count(class);
                    }
                }
                Turn::Wait(until) => {
                    return Next::Wait(self.earliest(Some(until.0)).unwrap_or(until.0));
                }
                Turn::Idle => return self.earliest(None).map_or(Next::Nothing, Next::Wait),
            }
        }
    }

    fn earliest(&self, until: Option<u64>) -> Option<u64> {
        let held = self
            .held
            .iter()
            .filter_map(|class| self.classes[*class].held);
        held.chain(until).min()
    }

    /// Takes the packet that the link sends next ([`Moment::leaving`]): its size; `Err` with the time to ask
    /// again, if packets wait and the link does not know yet.
    #[inline(always)]
    pub(super) fn send(&mut self, moment: &mut Moment<'_>) -> Result<u32, Option<u64>> {
        match self.take(moment) {
            Next::Packet => {
                // what a queue holds back may be let go unasked
                let held = !self.held.is_empty();
                let shut = (!held).then(|| self.scheduler.shut_until().0);
                self.shut = shut.unwrap_or(0);
                Ok(moment.leaving.as_ref().map_or(0, |it| it.size))
            }
            Next::Nothing => Err(None),
            Next::Wait(until) => Err(self.ask_at(until.max(moment.now + 1))),
        }
    }

    /// Until when none of the packets that wait at `now` may go, if it is known without asking.
    #[inline(always)]
    pub(super) fn shut_until(&self, now: u64) -> Option<u64> {
        (self.shut > now).then_some(self.shut)
    }

    /// A transmission ends at `finish`: when the transmitter acts next; `late`: not at that end if
    /// nothing may follow.
    #[inline(always)]
    pub(super) fn begun(&mut self, finish: u64, late: bool) -> Option<u64> {
        if late && self.shut > finish {
            self.finish = u64::MAX;
            // an earlier time may lie within the transmission, where it would be passed over
            self.wake = Some(self.shut);
            return self.wake;
        }
        self.finish = finish;
        Some(finish)
    }

    /// A packet joins while another is sent until `end`: whether to act then, against what
    /// [`Tree::begun`] said.
    pub(super) fn reopens(&mut self, end: u64) -> Option<u64> {
        let reopens = self.finish == u64::MAX && self.shut == 0;
        reopens.then(|| {
            self.finish = end;
            end
        })
    }

    /// The link is to ask again at `until`, unless it will before.
    pub(super) fn ask_at(&mut self, until: u64) -> Option<u64> {
        if self.wake.is_some_and(|wake| wake <= until) {
            return None;
        }
        self.wake = Some(until);
        self.wake
    }

    /// Whether the link was to ask again at `now`.
    pub(super) fn wakes(&mut self, now: u64) -> bool {
        self.wake.take_if(|wake| *wake == now).is_some()
    }

    /// Shows every queue with the most that it may be served with where the tree sends `rate`.
    fn each_queue(&mut self, rate: f64, act: &mut impl FnMut(&mut Inner, f64)) {
        for class in &mut self.classes {
            let rate = rate.min(class.most);
            match &mut class.inner {
                Inner::Tree(tree) => tree.each_queue(rate, act),
                inner => act(inner, rate),
            }
        }
    }

    /// The earliest timer of an AQM.
    pub(crate) fn next_timer(&self) -> Option<u64> {
        let timers = self.classes.iter().filter_map(|class| match &class.inner {
            Inner::Classes => None,
            Inner::Fifo(fifo) => fifo.aqm.next_timer().map(|time| time.0),
            Inner::Shared(shared) => shared.scheduled.next_timer(),
            Inner::Tree(tree) => tree.next_timer(),
        });
        timers.min()
    }

    pub(super) fn on_timer(&mut self, moment: &mut Moment<'_>) {
        let now = moment.now;
        self.each_queue(moment.rate, &mut |queue, rate| match queue {
            Inner::Fifo(fifo) if fifo.aqm.next_timer().is_some_and(|time| time.0 <= now) => {
                let view = QueueView {
                    rate,
                    ..fifo.view(moment, 0)
                };
                fifo.aqm.on_timer(Time(now), &view, moment.random);
            }
            Inner::Shared(shared) if shared.scheduled.next_timer().is_some_and(|it| it <= now) => {
                shared.scheduled.on_timer(now, rate, true, moment.random);
            }
            _ => {}
        });
    }

    pub(crate) fn on_link_change(&mut self, now: u64, rate: f64) {
        self.each_queue(rate, &mut |queue, rate| match queue {
            Inner::Fifo(fifo) => fifo.aqm.on_link_change(Time(now), rate),
            Inner::Shared(shared) => shared.scheduled.on_link_change(now, rate, |_| rate),
            _ => {}
        });
    }

    /// Whether ACKs that wait in one of the queues may give way to later ones.
    pub(crate) fn filters_acks(&self) -> bool {
        self.classes.iter().any(|class| match &class.inner {
            Inner::Classes | Inner::Fifo(_) => false,
            Inner::Shared(shared) => shared.scheduled.filters_acks(),
            Inner::Tree(tree) => tree.filters_acks(),
        })
    }

    /// Every packet that waits.
    pub(crate) fn held<'t>(&'t self, out: &mut Vec<&'t Packet>) {
        for class in &self.classes {
            out.extend(class.front.iter().map(|(_, front)| front));
            match &class.inner {
                Inner::Classes => {}
                Inner::Fifo(fifo) => out.extend(fifo.waiting.iter().map(|(_, packet)| packet)),
                Inner::Shared(shared) => out.extend(shared.scheduled.held()),
                Inner::Tree(tree) => tree.held(out),
            }
        }
    }

    /// The measurement window opens or closes.
    pub(super) fn window(&mut self, opens: bool) {
        for class in &mut self.classes {
            let counted = class.counted();
            if opens {
                class.at_opening = counted;
            } else {
                class.at_closing = Some(counted);
            }
            if let Inner::Tree(tree) = &mut class.inner {
                tree.window(opens);
            }
        }
    }

    /// The account of each class with a queue, by name.
    pub(crate) fn accounts(&self, above: &str, out: &mut Vec<QueueAccount>) {
        for class in &self.classes {
            if matches!(class.inner, Inner::Classes) {
                continue;
            }
            let name = format!("{above}{}", class.name);
            if let Inner::Tree(tree) = &class.inner {
                tree.accounts(&format!("{name}."), out);
            }
            let ledger = Ledger {
                sent: class.arrived,
                delivered: class.sent,
                dropped: class.dropped,
                lost: 0,
                in_flight: class.packets() as u64,
            };
            let end = class.at_closing.unwrap_or_else(|| class.counted());
            let [arrivals, packets, bytes, drops] =
                std::array::from_fn(|at| end[at] - class.at_opening[at]);
            out.push(QueueAccount {
                name,
                arrivals,
                packets,
                bytes,
                drops,
                delay_mean: class.delays.mean(),
                delay_percentiles: [0.5, 0.95, 0.99].map(|part| class.delays.percentile(part)),
                delay_max: class.delays.max(),
                ledger,
            });
        }
    }
}
