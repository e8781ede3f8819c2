//! When classes are looked at again.

use crate::Time;

/// A class that no wait queue has.
pub(super) const NO_PLACE: u32 = u32::MAX;

/// When classes are looked at again: a binary heap, the earliest first and of equal ones the first.
#[derive(Debug, Default)]
pub(super) struct Waiting(Vec<(Time, usize)>);

impl Waiting {
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    #[inline(always)]
    pub(super) fn first(&self) -> Option<(Time, usize)> {
        self.0.first().copied()
    }

    /// Looks at `class` again at `at`; `places` are those of all classes in the heap.
    #[inline(always)]
    pub(super) fn set(&mut self, places: &mut [u32], class: usize, at: Time) {
        let mut place = places[class] as usize;
        if places[class] == NO_PLACE {
            place = self.0.len();
            places[class] = place as u32;
            self.0.push((at, class));
        } else {
            self.0[place].0 = at;
        }
        if self.0.len() > 1 {
            self.restore(places, place);
        }
    }

    /// Looks at `class` no more.
    #[inline(always)]
    pub(super) fn remove(&mut self, places: &mut [u32], class: usize) {
        let place = places[class];
        if place == NO_PLACE {
            return;
        }
        places[class] = NO_PLACE;
        let place = place as usize;
        self.0.swap_remove(place);
        if let Some(&(_, moved)) = self.0.get(place) {
            places[moved] = place as u32;
            self.restore(places, place);
        }
    }

    /// The class at `place` goes where it belongs.
    #[inline(never)]
    fn restore(&mut self, places: &mut [u32], place: usize) {
        let place = self.rise(places, place);
        self.sink(places, place);
    }

    fn swap(&mut self, places: &mut [u32], place: usize, other_place: usize) {
        self.0.swap(place, other_place);
        places[self.0[place].1] = place as u32;
        places[self.0[other_place].1] = other_place as u32;
    }

    fn rise(&mut self, places: &mut [u32], mut place: usize) -> usize {
        while place > 0 && self.0[place] < self.0[(place - 1) / 2] {
            self.swap(places, place, (place - 1) / 2);
            place = (place - 1) / 2;
        }
        place
    }

    fn sink(&mut self, places: &mut [u32], mut place: usize) {
        loop {
            let (left, right) = (2 * place + 1, 2 * place + 2);
            let Some(first) = self.0.get(left) else {
                return;
            };
            let is_right = self.0.get(right).is_some_and(|other| other < first);
            let below = if is_right { right } else { left };
            if self.0[place] < self.0[below] {
                return;
            }
            self.swap(places, place, below);
            place = below;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::{Owner, Stream};

    /// The wait queue against a sorted set.
    #[test]
    fn the_earliest_is_looked_at_first() {
        let mut random = Stream::new(1, Owner::Queue, 0);
        let (mut waiting, mut places) = (Waiting::default(), vec![NO_PLACE; 50]);
        let mut sorted = BTreeSet::new();
        for _ in 0..20_000 {
            let bits = random.bits();
            let class = (bits % 50) as usize;
            let at = (bits & (1 << 20) != 0).then_some(Time(bits >> 58));
            sorted.retain(|(_, other)| *other != class);
            sorted.extend(at.map(|at| (at, class)));
            match at {
                Some(at) => waiting.set(&mut places, class, at),
                None => waiting.remove(&mut places, class),
            }
            assert_eq!(waiting.first(), sorted.first().copied());
            assert_eq!(places[class] == NO_PLACE, at.is_none());
        }
        assert!(sorted.len() > 10);
    }
}
