//! The calendar of coming events, in a defined order.
//!
//! Each entity (a flow's ACKs, a link's wire, a timer) has only its *next* event here; what comes after it waits in a ring of the entity.
//! Simultaneous events are taken in the order of their tags, never of their insertion, so that the order is a property of the scenario
//! and not of how the engine came to schedule them.

/// Classes of events at one instant, first to last. A packet whose service ends or begins leaves before anything else looks at the
/// queue; probes and changes come next; packets that arrive at a queue come last, in the order of where they come from.
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
    /// A packet reaches a queue: from upstream links first, then from flows, each in order of index.
    Arrival = 6,
}

/// What happens. Within one flow at one instant the kinds are taken in this order.
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
    /// A packet from a flow's access link reaches the first queue.
    Access,
    /// A flow is sampled.
    SampleFlow,
    /// The head of a flow's inbound packets reaches its receiver.
    Receive,
    /// A receiver's delayed ACK is due.
    DelayedAck,
    /// The head of a flow's outbound ACKs reaches the first reverse queue.
    AckAccess,
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
        Self::Access,
        Self::SampleFlow,
        Self::Receive,
        Self::DelayedAck,
        Self::AckAccess,
        Self::Start,
        Self::Ack,
        Self::Application,
        Self::Timer,
        Self::Pace,
    ];
}

/// Order and meaning of an event: class, entity, kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Tag(u64);

impl Tag {
    #[inline]
    pub(crate) fn new(class: Class, entity: usize, kind: Kind) -> Self {
        Self(((class as u64) << 60) | ((entity as u64) << 8) | kind as u64)
    }

    #[inline]
    pub(crate) fn kind(self) -> Kind {
        Kind::ALL[(self.0 & 0xff) as usize]
    }

    #[inline]
    pub(crate) fn entity(self) -> usize {
        ((self.0 >> 8) & 0xf_ffff_ffff) as usize
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
    fn key(self) -> u128 {
        (u128::from(self.time) << 64) | u128::from(self.tag.0)
    }
}

/// A four-ary heap: half the levels of a binary one, and the four children share a cache line.
#[derive(Debug, Default)]
struct Heap(Vec<Entry>);

impl Heap {
    #[inline]
    fn push(&mut self, entry: Entry) {
        let mut hole = self.0.len();
        self.0.push(entry);
        let key = entry.key();
        while hole > 0 {
            let parent = (hole - 1) / 4;
            if self.0[parent].key() <= key {
                break;
            }
            self.0[hole] = self.0[parent];
            hole = parent;
        }
        self.0[hole] = entry;
    }

    #[inline]
    fn pop(&mut self) {
        if let Some(last) = self.0.pop()
            && !self.0.is_empty()
        {
            self.replace_top(last);
        }
    }

    #[inline]
    fn replace_top(&mut self, entry: Entry) {
        let heap = self.0.as_mut_slice();
        let length = heap.len();
        let key = entry.key();
        let mut hole = 0;
        loop {
            let first = 4 * hole + 1;
            if first >= length {
                break;
            }
            let mut least = first;
            let mut least_key = heap[first].key();
            let children = &heap[first..(first + 4).min(length)];
            for (offset, child) in children.iter().enumerate().skip(1) {
                let child_key = child.key();
                if child_key < least_key {
                    least = first + offset;
                    least_key = child_key;
                }
            }
            if key <= least_key {
                break;
            }
            heap[hole] = heap[least];
            hole = least;
        }
        heap[hole] = entry;
    }
}

/// Coming events. Those of packets and ACKs are kept apart from timers and probes, which are many and far away: the heap that is
/// touched per packet stays small.
#[derive(Debug, Default)]
pub(crate) struct Calendar {
    near: Heap,
    far: Heap,
}

impl Calendar {
    /// Adds an event of a packet or an ACK.
    #[inline]
    pub(crate) fn push_near(&mut self, time: u64, tag: Tag) {
        self.near.push(Entry { time, tag });
    }

    /// Adds a timer, a probe, a change.
    #[inline]
    pub(crate) fn push_far(&mut self, time: u64, tag: Tag) {
        self.far.push(Entry { time, tag });
    }

    /// The next event, and whether it stands in the near heap.
    #[inline]
    pub(crate) fn peek(&self) -> Option<(Entry, bool)> {
        match (self.near.0.first(), self.far.0.first()) {
            (Some(near), Some(far)) => {
                if near.key() <= far.key() {
                    Some((*near, true))
                } else {
                    Some((*far, false))
                }
            }
            (Some(near), None) => Some((*near, true)),
            (None, far) => far.map(|far| (*far, false)),
        }
    }

    /// Removes the event that [`Calendar::peek`] showed.
    #[inline]
    pub(crate) fn pop(&mut self, near: bool) {
        if near {
            self.near.pop();
        } else {
            self.far.pop();
        }
    }

    /// Removes the near event that was shown and adds another, in one step.
    #[inline]
    pub(crate) fn replace_near(&mut self, time: u64, tag: Tag) {
        self.near.replace_top(Entry { time, tag });
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
        let mut seen = Vec::new();
        while let Some((entry, near)) = calendar.peek() {
            seen.push((entry.time, entry.tag.kind(), entry.tag.entity()));
            calendar.pop(near);
        }
        assert_eq!(
            seen,
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

    #[test]
    fn a_heap_sorts_many() {
        let mut calendar = Calendar::default();
        let mut state = 1_u64;
        for _ in 0..1000 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            calendar.push_near(state >> 50, Tag::new(Class::Arrival, 0, Kind::Ack));
        }
        let mut last = 0;
        for _ in 0..500 {
            let (entry, near) = calendar.peek().unwrap();
            assert!(entry.time >= last);
            last = entry.time;
            assert!(near);
            calendar.replace_near(
                last + (last * 7) % 1000,
                Tag::new(Class::Arrival, 0, Kind::Ack),
            );
        }
    }
}
