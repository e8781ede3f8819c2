//! Entries of the calendar that come late, timers above all: of a hundred thousand flows one each.
//!
//! A heap of all of them is larger than the caches, and each entry that is taken moves through it
//! from top to bottom. Only the earliest stand in one here; the others wait in no order, and a part
//! of them is looked through when the heap has run empty. The order in which entries come is that
//! of one heap.

use super::Entry;

/// A four-ary heap: half the levels of a binary one.
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

/// The heap is divided when it has more entries than this.
const MOST_IN_HEAP: usize = 4096;
/// Entries whose times are looked at to divide.
const SAMPLED_ENTRIES: usize = 64;

/// All entries that come late.
#[derive(Debug)]
pub(crate) struct Far {
    /// Entries up to `last`; empty only where there are no others.
    heap: Heap,
    last: u64,
    /// Entries after `last`, in no order.
    later: Vec<Entry>,
    /// With how many entries the heap is divided next.
    most: usize,
}

impl Default for Far {
    fn default() -> Self {
        Self {
            heap: Heap::default(),
            last: u64::MAX,
            later: Vec::new(),
            most: MOST_IN_HEAP,
        }
    }
}

impl Far {
    #[inline]
    pub(crate) fn first(&self) -> Option<&Entry> {
        self.heap.0.first()
    }

    pub(crate) fn len(&self) -> usize {
        self.heap.0.len() + self.later.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.heap.0.iter().chain(&self.later)
    }

    #[inline]
    pub(crate) fn push(&mut self, entry: Entry) {
        if entry.time > self.last {
            self.later.push(entry);
            return;
        }
        self.heap.push(entry);
        if self.heap.0.len() > self.most {
            self.later.append(&mut self.heap.0);
            self.divide();
        }
    }

    #[inline]
    pub(crate) fn pop(&mut self) {
        self.heap.pop();
        if self.heap.0.is_empty() && self.last != u64::MAX {
            self.divide();
        }
    }

    /// The earliest of those that wait in no order go to the heap, which is empty: all where they
    /// are few.
    #[cold]
    #[inline(never)]
    fn divide(&mut self) {
        let count = self.later.len();
        self.last = u64::MAX;
        if count <= MOST_IN_HEAP / 4 {
            for entry in self.later.drain(..) {
                self.heap.push(entry);
            }
            self.most = MOST_IN_HEAP;
            return;
        }
        let mut times: [u64; SAMPLED_ENTRIES] =
            std::array::from_fn(|at| self.later[at * count / SAMPLED_ENTRIES].time);
        times.sort_unstable();
        // more than a few, else the next time is soon
        for last in [times[2], times[8], times[SAMPLED_ENTRIES - 1]] {
            self.last = last;
            let heap = &mut self.heap;
            self.later.retain(|entry| {
                let stays = entry.time > last;
                if !stays {
                    heap.push(*entry);
                }
                stays
            });
            if self.heap.0.len() >= count / SAMPLED_ENTRIES {
                break;
            }
        }
        self.most = (2 * self.heap.0.len()).max(MOST_IN_HEAP);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calendar::{Class, Kind, Tag};
    use ackclock_algorithms::{Owner, Stream};

    /// Entries come in order, however many there are, equal times and ones that never come among
    /// them.
    #[test]
    fn the_order_is_that_of_sorted_entries() {
        let mut random = Stream::new(1, Owner::Queue, 0);
        let (mut far, mut sorted) = (Far::default(), std::collections::BTreeSet::new());
        let mut now = 0;
        let mut divided = 0;
        for step in 0..200_000_usize {
            let bits = random.bits();
            let grows = step % 60_000 < 40_000;
            if sorted.is_empty() || bits.is_multiple_of(4) != grows {
                let time = match bits >> 60 {
                    0 => u64::MAX,
                    1..=3 => now,
                    5..=7 => now + (bits >> 4) % 1000,
                    _ => now + (bits >> 4) % 5000,
                };
                let flow = step * 7919 % 200_003; // later ones may go before at the same time
                let tag = Tag::new(Class::Arrival, flow, Kind::Timer);
                far.push(Entry { time, tag });
                sorted.insert(Entry { time, tag }.key());
            } else {
                let first = far.first().expect("there is one");
                now = now.max(if first.time == u64::MAX {
                    0
                } else {
                    first.time
                });
                assert_eq!(Some(first.key()), sorted.pop_first());
                far.pop();
            }
            divided += usize::from(!far.later.is_empty());
            assert_eq!(far.len(), sorted.len());
            assert_eq!(far.first().map(|it| it.key()), sorted.first().copied());
        }
        assert!(divided > 10_000);
        assert_eq!(far.iter().count(), sorted.len());
    }
}
