//! A queue of small plain values, in a ring of a power of two of places.

/// First in, first out. Empty rings that have never been used hold no memory.
#[derive(Debug, Default)]
pub(crate) struct Ring<T> {
    places: Vec<T>,
    head: u32,
    length: u32,
}

impl<T: Copy + Default> Ring<T> {
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.length as usize
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.length == 0
    }

    #[inline(always)]
    fn place(&self, offset: u32) -> usize {
        self.head.wrapping_add(offset) as usize & self.places.len().wrapping_sub(1)
    }

    #[inline(always)]
    pub(crate) fn front(&self) -> Option<&T> {
        if self.length == 0 {
            return None;
        }
        self.places.get(self.place(0))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        (0..self.length).map(|offset| &self.places[self.place(offset)])
    }

    /// Removes the first value of a queue that is not empty.
    #[inline(always)]
    pub(crate) fn skip_front(&mut self) {
        self.head = self.head.wrapping_add(1);
        self.length -= 1;
    }

    #[inline(always)]
    pub(crate) fn pop_front(&mut self) -> Option<T> {
        let first = self.front().copied()?;
        self.skip_front();
        Some(first)
    }

    #[inline(always)]
    pub(crate) fn pop_back(&mut self) -> Option<T> {
        let last = self.back_mut().copied()?;
        self.length -= 1;
        Some(last)
    }

    /// Takes out the value before which there are `index` others.
    pub(crate) fn remove(&mut self, index: usize) -> Option<T> {
        if index >= self.len() {
            return None;
        }
        let mut place = self.place(index as u32);
        let removed = self.places[place];
        for offset in index as u32 + 1..self.length {
            let next = self.place(offset);
            self.places[place] = self.places[next];
            place = next;
        }
        self.length -= 1;
        Some(removed)
    }

    #[inline]
    pub(crate) fn back_mut(&mut self) -> Option<&mut T> {
        let place = self.place(self.length.checked_sub(1)?);
        self.places.get_mut(place)
    }

    #[inline(always)]
    pub(crate) fn push_back(&mut self, value: T) {
        if self.length as usize == self.places.len() {
            self.grow();
        }
        let place = self.place(self.length);
        self.places[place] = value;
        self.length += 1;
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let mut places = Vec::with_capacity((2 * self.places.len()).max(4));
        places.extend((0..self.length).map(|offset| self.places[self.place(offset)]));
        places.resize(places.capacity().next_power_of_two(), T::default());
        (self.places, self.head) = (places, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    #[test]
    fn a_ring_is_a_queue() {
        let (mut ring, mut queue) = (Ring::default(), VecDeque::new());
        for k in 0..10_000_u64 {
            if k * k % 7 < 4 || k < 50 {
                ring.push_back(k);
                queue.push_back(k);
            } else if k % 11 == 0 {
                let index = (k / 11 % 9) as usize;
                assert_eq!(ring.remove(index), queue.remove(index));
            } else if k % 5 == 0 {
                assert_eq!(ring.pop_back(), queue.pop_back());
            } else {
                assert_eq!(ring.pop_front(), queue.pop_front());
            }
            assert_eq!(ring.front(), queue.front());
            assert_eq!(ring.back_mut(), queue.back_mut());
            assert!(ring.iter().eq(&queue));
            assert_eq!(
                (ring.len(), ring.is_empty()),
                (queue.len(), queue.is_empty())
            );
        }
        while let Some(value) = ring.pop_front() {
            assert_eq!(Some(value), queue.pop_front());
        }
        assert!(queue.is_empty() && ring.is_empty());
    }
}
