//! The calendar of coming events, in a defined order.
//!
//! Each entity (a flow's ACKs, a link's wire, a timer) has only its *next* event here; what comes
//! after it waits in a ring of the entity. Simultaneous events are taken in the order of their
//! tags, never of their insertion, so that the order is a property of the scenario and not of how
//! the engine came to schedule them.

mod far;

use crate::prefetch::prefetch;
use far::Far;

/// Classes of events at one instant, first to last. A packet whose service ends or begins leaves
/// before anything else looks at the queue; probes and changes come next; packets that arrive at a
/// queue come last, in the order of where they come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Class {
    /// A link ends one transmission and begins the next.
    Transmit = 1,
    /// Samples, changes, edges of the measurement window.
    Global = 2,
    /// An AQM's own timer.
    AqmTimer = 3,
    /// Something reaches a receiver.
    Receiver = 4,
    /// Something reaches a sender.
    Sender = 5,
    /// A packet reaches a queue: from upstream links first, then from flows, each in order of
    /// index.
    Arrival = 6,
}

/// Kind of an event. Within one flow at one instant the kinds are taken in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    /// A link's transmission ends.
    Transmit,
    /// The measurement window opens.
    WindowOpens,
    /// The measurement window closes.
    WindowCloses,
    /// Entry of the scenario's list of changes (entity: its index).
    Change,
    /// Links are sampled.
    SampleLinks,
    /// An AQM's timer runs.
    AqmTimer,
    /// The head of a link's wire reaches the next queue.
    Wire,
    /// The head of a flow's inbound packets reaches its receiver.
    Receive,
    /// A receiver's delayed ACK is due.
    DelayedAck,
    /// The head of a flow's outbound ACKs reaches the first reverse queue.
    AckAccess,
    /// A packet from a flow's access link reaches the first queue.
    Access,
    /// A flow is sampled.
    SampleFlow,
    /// A flow starts.
    Start,
    /// The head of a flow's ACKs reaches its sender.
    Ack,
    /// The application has written more, or a source sends its next packet.
    Application,
    /// A flow's retransmission timer.
    Timer,
    /// A paced sender's next segment may leave.
    Pace,
}

impl Kind {
    const ALL: [Self; 17] = [
        Self::Transmit,
        Self::WindowOpens,
        Self::WindowCloses,
        Self::Change,
        Self::SampleLinks,
        Self::AqmTimer,
        Self::Wire,
        Self::Receive,
        Self::DelayedAck,
        Self::AckAccess,
        Self::Access,
        Self::SampleFlow,
        Self::Start,
        Self::Ack,
        Self::Application,
        Self::Timer,
        Self::Pace,
    ];
}

/// A flow: its number, by which it is ordered and known, and the slot of its state, which is nobody
/// else's affair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place(u64);

impl Place {
    /// Flows and slots that can be told apart.
    pub(crate) const MAX_NUMBER: usize = (1 << 27) - 1;
    /// Slot of a flow whose state is not made yet.
    const NO_SLOT: usize = Self::MAX_NUMBER;
    /// Flows come after everything else that is numbered.
    const FIRST_FLOW: u64 = 1 << 28;

    #[inline]
    pub(crate) fn new(number: usize, slot: usize) -> Self {
        Self(((Self::FIRST_FLOW | number as u64) << 32) | slot as u64)
    }

    /// A flow whose slot is not asked for, or not known.
    pub(crate) fn of_number(number: usize) -> Self {
        Self::new(number, Self::NO_SLOT)
    }

    #[inline]
    pub(crate) fn number(self) -> usize {
        (self.0 >> 32 & (Self::FIRST_FLOW - 1)) as usize
    }

    #[inline]
    pub(crate) fn slot(self) -> usize {
        (self.0 & Self::MAX_NUMBER as u64) as usize
    }
}

/// Order and meaning of an event: class, entity, kind; and the slot of its flow's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Tag(u64);

impl Tag {
    #[inline]
    pub(crate) fn new(class: Class, entity: usize, kind: Kind) -> Self {
        Self(((class as u64) << 61) | ((entity as u64) << 32) | ((kind as u64) << 27))
    }

    #[inline]
    pub(crate) fn of_flow(class: Class, place: Place, kind: Kind) -> Self {
        Self(((class as u64) << 61) | ((kind as u64) << 27) | place.0)
    }

    /// Whether it is of this kind.
    #[inline]
    pub(crate) fn is(self, kind: Kind) -> bool {
        (self.0 as u32) >> 27 == kind as u32
    }

    #[inline]
    pub(crate) fn kind(self) -> Kind {
        Kind::ALL[((self.0 as u32) >> 27) as usize]
    }

    /// Number of a link, or of an entry of the scenario's list of changes.
    #[inline]
    pub(crate) fn entity(self) -> usize {
        (self.0 >> 32 & (Place::FIRST_FLOW - 1)) as usize
    }

    /// Number of a flow.
    #[inline]
    pub(crate) fn flow(self) -> usize {
        self.entity()
    }

    /// Slot of the flow's state, if it was made when the entry was.
    #[inline]
    pub(crate) fn slot(self) -> usize {
        (self.0 & Place::MAX_NUMBER as u64) as usize
    }

    /// Whether the flow's state was made when the entry was.
    pub(crate) fn has_slot(self) -> bool {
        self.slot() != Place::NO_SLOT
    }
}

/// An event to come.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) time: u64,
    pub(crate) tag: Tag,
}

impl Entry {
    #[inline]
    pub(crate) fn key(self) -> u128 {
        (u128::from(self.time) << 64) | u128::from(self.tag.0)
    }
}

/// Buckets of equal width, in a ring: what comes next is found in a few steps however much is to
/// come. The entries of the bucket in hand are sorted, those of later ones are not yet. Neither
/// width nor number of buckets can be seen from outside: they follow the events' density.
#[derive(Debug)]
struct Wheel {
    /// First node of the bucket in hand, and of all earlier ones.
    current: u32,
    /// First free node.
    free: u32,
    /// Number of the bucket in hand: time over width.
    cursor: u64,
    /// Number of the last bucket that [`Wheel::foresee`] has looked into, and how many after the one
    /// in hand it looks into.
    foreseen: u64,
    ahead: u64,
    /// Width of a bucket, as a power of two of picoseconds.
    shift: u32,
    /// First node of each bucket, and a bit for each that has one.
    heads: Vec<u32>,
    occupied: Vec<u64>,
    nodes: Vec<Node>,
    /// Number of entries.
    count: usize,
    // when the density was looked at last, after how many entries that is done again, those still
    // to take, and those refused
    from: u64,
    period: u64,
    left: u64,
    refused: u64,
    // how far ahead an entry lay that was refused: at most since then, and where many were
    farthest: u64,
    reach: u64,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    entry: Entry,
    next: u32,
}

const LIST_END: u32 = u32::MAX;

/// More buckets than this are larger than the caches.
const MOST_BUCKETS: usize = 1 << 19;

/// How many entries ahead [`Wheel::foresee`] looks.
const ENTRIES_FORESEEN: u64 = 6;

impl Default for Wheel {
    fn default() -> Self {
        Self {
            current: LIST_END,
            free: LIST_END,
            cursor: 0,
            foreseen: 0,
            ahead: 0,
            shift: 26,
            heads: vec![LIST_END; 256],
            occupied: vec![0; 4],
            nodes: Vec::new(),
            count: 0,
            from: 0,
            period: 64,
            left: 64,
            refused: 0,
            farthest: 0,
            reach: 0,
        }
    }
}

impl Wheel {
    /// Whether an entry at `time` lies beyond the last bucket.
    #[inline(always)]
    fn is_beyond(&self, time: u64) -> bool {
        let bucket = time >> self.shift;
        bucket > self.cursor && bucket - self.cursor >= self.heads.len() as u64
    }

    /// Adds an entry; false if it lies beyond the last bucket. `now`: nothing will be asked for
    /// before that.
    #[inline(always)]
    fn push(&mut self, entry: Entry, now: u64) -> bool {
        if self.is_beyond(entry.time) && !self.moves_to(now, entry.time) {
            return false;
        }
        let place = if let Some(node) = self.nodes.get(self.free as usize) {
            std::mem::replace(&mut self.free, node.next)
        } else {
            self.add_node(entry)
        };
        self.count += 1;
        self.link(place, entry);
        true
    }

    #[cold]
    #[inline(never)]
    fn add_node(&mut self, entry: Entry) -> u32 {
        self.nodes.push(Node {
            entry,
            next: LIST_END,
        });
        self.nodes.len() as u32 - 1
    }

    /// Puts an entry, which lies not beyond the last bucket, into the node that it shall have.
    #[inline(always)]
    fn link(&mut self, place: u32, entry: Entry) {
        let bucket = entry.time >> self.shift;
        if bucket <= self.cursor {
            self.nodes[place as usize].entry = entry;
            self.insert(place);
            return;
        }
        let slot = bucket as usize & (self.heads.len() - 1);
        let next = std::mem::replace(&mut self.heads[slot], place);
        self.nodes[place as usize] = Node { entry, next };
        self.occupied[slot / 64] |= 1 << (slot % 64);
    }

    /// A wheel that has nothing to show moves on to `now`: whether `time` then lies within it.
    #[cold]
    #[inline(never)]
    fn moves_to(&mut self, now: u64, time: u64) -> bool {
        let present = now >> self.shift;
        if self.count == 0 && present > self.cursor {
            self.cursor = present;
            if !self.is_beyond(time) {
                return true;
            }
        }
        self.refused += 1;
        self.farthest = self.farthest.max(time.saturating_sub(now));
        false
    }

    /// Puts a node into its place in the bucket in hand.
    #[inline]
    fn insert(&mut self, place: u32) {
        let key = self.nodes[place as usize].entry.key();
        let (mut before, mut after) = (LIST_END, self.current);
        while let Some(node) = self.nodes.get(after as usize)
            && node.entry.key() < key
        {
            (before, after) = (after, node.next);
        }
        self.nodes[place as usize].next = after;
        match self.nodes.get_mut(before as usize) {
            Some(node) => node.next = place,
            None => self.current = place,
        }
    }

    /// Takes the next bucket in hand that is not empty.
    #[inline(always)]
    fn rotate(&mut self) {
        let mask = self.heads.len() - 1;
        let after = (self.cursor as usize + 1) & mask;
        let mut word = after / 64;
        let mut bits = self.occupied[word] & (u64::MAX << (after % 64));
        while bits == 0 {
            word = (word + 1) & (self.occupied.len() - 1);
            bits = self.occupied[word];
        }
        let slot = word * 64 + bits.trailing_zeros() as usize;
        self.cursor += ((slot.wrapping_sub(self.cursor as usize + 1)) & mask) as u64 + 1;
        self.occupied[word] &= !(1 << (slot % 64));
        self.current = std::mem::replace(&mut self.heads[slot], LIST_END);
        if self.nodes[self.current as usize].next != LIST_END {
            self.sort();
        }
    }

    /// First nodes of those buckets after `from`, up to `to`, that have one.
    #[inline]
    fn heads_between(&self, from: u64, to: u64) -> impl Iterator<Item = u32> {
        let mut bucket = from;
        std::iter::from_fn(move || {
            while bucket < to {
                bucket += 1;
                let slot = bucket as usize & (self.heads.len() - 1);
                let bits = self.occupied[slot / 64] >> (slot % 64);
                if bits & 1 != 0 {
                    return self.heads.get(slot).copied();
                }
                bucket += u64::from(bits.trailing_zeros()).min(64 - slot as u64 % 64) - 1;
            }
            None
        })
    }

    /// Shows the entries of buckets that will soon be in hand and have not been looked into yet,
    /// and asks the processor for those of later ones.
    #[inline]
    fn foresee(&mut self, mut show: impl FnMut(Tag)) {
        let (from, to) = (self.foreseen.max(self.cursor), self.cursor + self.ahead);
        if from >= to {
            return;
        }
        for place in self.heads_between(from + self.ahead, to + self.ahead) {
            if let Some(node) = self.nodes.get(place as usize) {
                prefetch(node);
            }
        }
        for mut place in self.heads_between(from, to) {
            while let Some(node) = self.nodes.get(place as usize) {
                show(node.entry.tag);
                place = node.next;
            }
        }
        self.foreseen = to;
    }

    /// Sorts the bucket in hand.
    #[inline]
    fn sort(&mut self) {
        let mut place = std::mem::replace(&mut self.current, LIST_END);
        while let Some(node) = self.nodes.get(place as usize) {
            let next = node.next;
            self.insert(place);
            place = next;
        }
    }

    #[inline(always)]
    fn first(&mut self) -> Option<&Entry> {
        if self.current == LIST_END && self.count > 0 {
            self.rotate();
        }
        self.nodes
            .get(self.current as usize)
            .map(|node| &node.entry)
    }

    /// Takes the first entry's node out.
    #[inline(always)]
    fn take(&mut self) -> u32 {
        let place = self.current;
        self.current = self.nodes[place as usize].next;
        self.left -= 1;
        place
    }

    /// Frees a node that was taken out.
    #[inline(always)]
    fn free(&mut self, place: u32) {
        self.nodes[place as usize].next = std::mem::replace(&mut self.free, place);
        self.count -= 1;
    }

    /// Whether width or number of buckets should change, from the entries taken until `now`: two to
    /// four buckets to an entry, so that few share one, and sixteen buckets at least for each
    /// entry. Where these would be more than there can be they are wider, so that they reach as far
    /// as entries do. If so, all entries come back.
    fn reshape(&mut self, now: u64) -> Option<Vec<Entry>> {
        let gap = (now - self.from) / self.period;
        let mut shift = 62_u32.saturating_sub(gap.leading_zeros()).clamp(1, 44);
        let crowded = self.refused * 8 > self.period;
        let room = (16 * self.count)
            .next_power_of_two()
            .clamp(1024, MOST_BUCKETS);
        let slots = room.max(if crowded {
            (2 * self.heads.len()).min(MOST_BUCKETS)
        } else {
            self.heads.len()
        });
        let overlooked = self.refused * 64 > self.period;
        if overlooked {
            self.reach = self.reach.max(self.farthest);
        }
        if slots == MOST_BUCKETS {
            let reached = (self.reach / slots as u64)
                .checked_ilog2()
                .map_or(0, |log| log + 1);
            shift = shift.max(reached.min(shift + 4));
        }
        self.period = (2 * self.period).min(1 << 20);
        (self.from, self.left) = (now, self.period);
        (self.refused, self.farthest) = (0, 0);
        self.ahead = ((ENTRIES_FORESEEN * gap) >> shift) + 1;
        let matters = if overlooked { 1 } else { 2 };
        if shift.abs_diff(self.shift) < matters && slots == self.heads.len() {
            return None;
        }
        let mut entries = Vec::with_capacity(self.count);
        let heads = std::iter::once(&self.current).chain(&self.heads);
        for &head in heads {
            let mut place = head;
            while let Some(node) = self.nodes.get(place as usize) {
                entries.push(node.entry);
                place = node.next;
            }
        }
        *self = Self {
            cursor: now >> shift,
            shift,
            heads: vec![LIST_END; slots],
            occupied: vec![0; slots / 64],
            from: now,
            period: self.period,
            left: self.period,
            reach: self.reach,
            ahead: self.ahead,
            ..Self::default()
        };
        Some(entries)
    }
}

/// An event that has been taken out, and whose place may be used again.
#[derive(Clone, Copy)]
pub(crate) struct Held(u32);

/// Coming events. Those of packets and ACKs are kept apart from timers and probes, which are many
/// and far away.
#[derive(Debug)]
pub(crate) struct Calendar {
    near: Wheel,
    far: Far,
    /// Time of the first far event; `u64::MAX` without one.
    far_at: u64,
    /// Time of the event that was taken last.
    now: u64,
}

impl Default for Calendar {
    fn default() -> Self {
        Self {
            near: Wheel::default(),
            far: Far::default(),
            far_at: u64::MAX,
            now: 0,
        }
    }
}

impl Calendar {
    /// Adds an event of a packet or an ACK.
    #[inline(always)]
    pub(crate) fn push_near(&mut self, time: u64, tag: Tag) {
        if !self.near.push(Entry { time, tag }, self.now) {
            self.push_far(time, tag);
        }
    }

    /// Adds a timer, a probe, a change.
    #[inline(never)]
    pub(crate) fn push_far(&mut self, time: u64, tag: Tag) {
        self.far.push(Entry { time, tag });
        self.far_at = self.far_at.min(time);
    }

    /// Whether nothing is to come but at most `most` samples and timers of AQMs, which follow one
    /// another for ever.
    pub(crate) fn only_repeats(&self, most: usize) -> bool {
        let repeats = |entry: &Entry| {
            matches!(
                entry.tag.kind(),
                Kind::SampleLinks | Kind::SampleFlow | Kind::AqmTimer
            )
        };
        self.near.count == 0 && self.far.len() <= most && self.far.iter().all(repeats)
    }

    /// The next event, and whether it is one of the near ones.
    #[inline(always)]
    pub(crate) fn peek(&mut self) -> Option<(Entry, bool)> {
        if let Some(near) = self.near.first()
            && near.time < self.far_at
        {
            return Some((*near, true));
        }
        self.peek_far()
    }

    /// [`Calendar::peek`] where no near event is the only one to come next.
    #[cold]
    #[inline(never)]
    fn peek_far(&mut self) -> Option<(Entry, bool)> {
        match (self.near.first(), self.far.first()) {
            (Some(near), Some(far)) if near.key() <= far.key() => Some((*near, true)),
            (Some(near), None) => Some((*near, true)),
            (_, far) => far.map(|far| (*far, false)),
        }
    }

    /// Removes the event that [`Calendar::peek`] showed; it is at `now`.
    #[inline(always)]
    pub(crate) fn pop(&mut self, near: bool, now: u64) {
        let held = self.take(near, now);
        self.drop(held);
    }

    /// Takes out the event that [`Calendar::peek`] showed, which is at `now`, to be followed by
    /// [`Calendar::put`] or [`Calendar::drop`] before the next one is asked for.
    #[inline(always)]
    pub(crate) fn take(&mut self, near: bool, now: u64) -> Held {
        self.now = now;
        if near {
            return Held(self.near.take());
        }
        self.pop_far();
        Held(LIST_END)
    }

    /// Returns the next event as far as is known while an event is taken out.
    #[inline(always)]
    pub(crate) fn look_ahead(&mut self) -> Option<Tag> {
        if self.near.current == LIST_END && self.near.count > 1 {
            self.near.rotate();
        }
        let node = self.near.nodes.get(self.near.current as usize)?;
        Some(node.entry.tag)
    }

    /// Shows events that come soon: each at most once, and not all.
    #[inline(always)]
    pub(crate) fn foresee(&mut self, show: impl FnMut(Tag)) {
        self.near.foresee(show);
    }

    /// The next far event.
    #[inline]
    pub(crate) fn next_far(&self) -> Option<Tag> {
        self.far.first().map(|entry| entry.tag)
    }

    /// Another near event in place of the one that was taken out.
    #[inline(always)]
    pub(crate) fn put(&mut self, held: Held, time: u64, tag: Tag) {
        if held.0 == LIST_END || self.near.is_beyond(time) {
            self.put_far(held, time, tag);
            return;
        }
        self.near.link(held.0, Entry { time, tag });
        if self.near.left == 0 {
            self.reshape();
        }
    }

    #[cold]
    #[inline(never)]
    fn put_far(&mut self, held: Held, time: u64, tag: Tag) {
        self.drop(held);
        self.push_near(time, tag);
    }

    /// Nothing in place of the event that was taken out.
    #[inline(always)]
    pub(crate) fn drop(&mut self, held: Held) {
        if held.0 != LIST_END {
            self.near.free(held.0);
        }
        if self.near.left == 0 {
            self.reshape();
        }
    }

    #[cold]
    #[inline(never)]
    fn pop_far(&mut self) {
        self.far.pop();
        self.far_at = self.far.first().map_or(u64::MAX, |far| far.time);
    }

    #[cold]
    #[inline(never)]
    fn reshape(&mut self) {
        for entry in self.near.reshape(self.now).into_iter().flatten() {
            self.push_near(entry.time, entry.tag);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_in_order_of_time_class_entity_kind() {
        let mut calendar = Calendar::default();
        let tags = [
            (5, Tag::new(Class::Arrival, 3, Kind::Ack)),
            (5, Tag::new(Class::Arrival, 2, Kind::Timer)),
            (5, Tag::new(Class::Transmit, 9, Kind::Transmit)),
            (4, Tag::new(Class::Arrival, 7, Kind::Ack)),
            (5, Tag::new(Class::Arrival, 2, Kind::Ack)),
            (5, Tag::new(Class::Global, 0, Kind::SampleLinks)),
        ];
        for (index, (time, tag)) in tags.iter().enumerate() {
            if index % 2 == 0 {
                calendar.push_near(*time, *tag);
            } else {
                calendar.push_far(*time, *tag);
            }
        }
        let mut popped = Vec::new();
        while let Some((entry, near)) = calendar.peek() {
            popped.push((entry.time, entry.tag.kind(), entry.tag.entity()));
            calendar.pop(near, entry.time);
        }
        assert_eq!(
            popped,
            [
                (4, Kind::Ack, 7),
                (5, Kind::Transmit, 9),
                (5, Kind::SampleLinks, 0),
                (5, Kind::Ack, 2),
                (5, Kind::Timer, 2),
                (5, Kind::Ack, 3),
            ]
        );
    }

    /// A twentieth of forty thousand entries lies so far ahead that as many buckets as there can be,
    /// three to an entry, do not reach them: they become wider. What comes is nearly always foreseen
    /// once.
    #[test]
    fn many_entries_are_within_reach_and_foreseen() {
        const FAR_WAIT: u64 = 100_000_000_000;
        let mut random = ackclock_algorithms::Stream::new(1, ackclock_algorithms::Owner::Queue, 0);
        let mut calendar = Calendar::default();
        let mut expected = std::collections::BTreeSet::new();
        let (mut now, mut entity) = (0, 0);
        let (mut shown, mut foreseen) = (std::collections::BTreeSet::new(), 0);
        for taken in 0..160_000_u64 {
            while expected.len() < 40_000 {
                let bits = random.bits();
                let far = bits.is_multiple_of(20);
                let wait = if far {
                    FAR_WAIT
                } else {
                    (bits >> 8) % (FAR_WAIT / 50)
                };
                let tag = Tag::new(Class::Arrival, entity, Kind::Ack);
                entity += 1;
                expected.insert((now + wait, tag));
                calendar.push_near(now + wait, tag);
            }
            let mut again = 0;
            calendar.foresee(|tag| again += u64::from(!shown.insert(tag)));
            let (entry, near) = calendar.peek().expect("entries are there");
            assert_eq!(expected.pop_first(), Some((entry.time, entry.tag)));
            calendar.pop(near, entry.time);
            now = entry.time;
            if taken >= 110_000 {
                assert_eq!(again, 0);
                foreseen += u64::from(shown.contains(&entry.tag));
            }
        }
        assert!(!calendar.near.is_beyond(now + FAR_WAIT));
        assert_eq!(calendar.near.heads.len(), MOST_BUCKETS);
        assert!((48_000..50_000).contains(&foreseen), "{foreseen}");
        assert!(shown.len() < 160_100, "{}", shown.len());
    }

    /// Against a sorted list, at densities that differ by ten orders of magnitude, with pauses and
    /// with more entries than buckets.
    #[test]
    fn any_density_comes_in_order() {
        let mut state = 1_u64;
        let mut draw = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            state >> 20
        };
        let mut calendar = Calendar::default();
        let mut expected = std::collections::BTreeSet::new();
        let mut now = 0;
        for (spread, pending) in [
            (30, 10),
            (12, 3000),
            (40, 100),
            (5, 2000),
            (36, 1),
            (20, 500),
        ] {
            for count in 0..6000_u64 {
                while expected.len() < pending {
                    let tag = Tag::new(Class::Arrival, (draw() % 1000) as usize, Kind::Ack);
                    let time = now + draw() % (1 << spread);
                    if expected.insert((time, tag)) {
                        calendar.push_near(time, tag);
                    }
                }
                let (entry, near) = calendar.peek().expect("entries are there");
                assert_eq!(
                    expected.pop_first(),
                    Some((entry.time, entry.tag)),
                    "{count}"
                );
                calendar.pop(near, entry.time);
                now = entry.time;
            }
        }
        while let Some((entry, near)) = calendar.peek() {
            assert_eq!(expected.pop_first(), Some((entry.time, entry.tag)));
            calendar.pop(near, entry.time);
        }
        assert!(expected.is_empty());
    }
}
