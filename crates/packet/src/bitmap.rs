//! A sliding set of sequence numbers, as a ring of bits.

/// Sequence numbers at and above a floor that only grows. Empty sets hold no memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bitmap {
    words: Vec<u64>,
    count: u32,
}

impl Bitmap {
    /// Number of members.
    #[inline]
    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// No member lies so far above the floor.
    pub(crate) fn span(&self) -> u64 {
        64 * self.words.len() as u64
    }

    #[inline]
    fn mask(&self) -> usize {
        self.words.len().wrapping_sub(1)
    }

    /// Makes room so that `floor ..= seq` fits.
    #[inline(always)]
    fn reserve(&mut self, floor: u64, seq: u64) {
        let span = (seq / 64 - floor / 64 + 1) as usize;
        if span > self.words.len() {
            self.grow(floor, span);
        }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, floor: u64, span: usize) {
        let old = std::mem::take(&mut self.words);
        self.words = vec![0; span.next_power_of_two().max(2)];
        if self.count > 0 {
            let first = floor / 64;
            let old_mask = old.len() - 1;
            let mask = self.mask();
            for word in first..first + old.len() as u64 {
                self.words[word as usize & mask] = old[word as usize & old_mask];
            }
        }
    }

    /// Adds `seq`; true if it was new. `floor` is the smallest member that the set may hold.
    #[inline]
    pub(crate) fn insert(&mut self, floor: u64, seq: u64) -> bool {
        debug_assert!(seq >= floor);
        self.reserve(floor, seq);
        let mask = self.mask();
        let word = &mut self.words[(seq / 64) as usize & mask];
        let bit = 1 << (seq % 64);
        let new = *word & bit == 0;
        *word |= bit;
        self.count += u32::from(new);
        new
    }

    /// Whether `seq` (not below the floor of the last insertion) is a member.
    #[inline]
    pub(crate) fn contains(&self, floor: u64, seq: u64) -> bool {
        if self.count == 0 || (seq / 64 - floor / 64) as usize >= self.words.len() {
            return false;
        }
        self.words[(seq / 64) as usize & self.mask()] & (1 << (seq % 64)) != 0
    }

    /// Removes `seq` if it is a member.
    #[inline]
    pub(crate) fn remove(&mut self, floor: u64, seq: u64) -> bool {
        if !self.contains(floor, seq) {
            return false;
        }
        let mask = self.mask();
        self.words[(seq / 64) as usize & mask] &= !(1 << (seq % 64));
        self.count -= 1;
        true
    }

    /// Calls `f(word index, bits)` for the words that hold `from .. to`, with bits outside the
    /// range masked off.
    #[inline]
    fn words_in(&self, floor: u64, from: u64, to: u64, mut f: impl FnMut(u64, u64) -> bool) {
        if from >= to {
            return;
        }
        let mask = self.mask();
        for index in from / 64..=(to - 1) / 64 {
            let held = self.count > 0 && ((index - floor / 64) as usize) < self.words.len();
            let mut bits = if held {
                self.words[index as usize & mask]
            } else {
                0
            };
            let mut range = u64::MAX;
            if index == from / 64 {
                range &= u64::MAX << (from % 64);
            }
            if index == (to - 1) / 64 {
                range &= u64::MAX >> (63 - (to - 1) % 64);
            }
            bits &= range;
            if f(index, bits) {
                return;
            }
        }
    }

    /// Members in `from .. to`.
    pub(crate) fn count_in(&self, floor: u64, from: u64, to: u64) -> u32 {
        let mut total = 0;
        if self.count > 0 {
            self.words_in(floor, from, to, |_, bits| {
                total += bits.count_ones();
                false
            });
        }
        total
    }

    /// The smallest number in `from .. to` that is not a member.
    pub(crate) fn first_absent(&self, floor: u64, from: u64, to: u64) -> Option<u64> {
        if from < to && self.count == 0 {
            return Some(from);
        }
        let mut absent_seq = None;
        self.words_in(floor, from, to, |index, bits| {
            let mut absent = !bits;
            if index == from / 64 {
                absent &= u64::MAX << (from % 64);
            }
            if absent != 0 {
                absent_seq = Some(index * 64 + u64::from(absent.trailing_zeros()));
            }
            absent_seq.is_some()
        });
        absent_seq.filter(|&seq| seq < to)
    }

    /// The smallest member in `from .. to`.
    pub(crate) fn first_present(&self, floor: u64, from: u64, to: u64) -> Option<u64> {
        let mut member = None;
        if self.count > 0 {
            self.words_in(floor, from, to, |index, bits| {
                if bits != 0 {
                    member = Some(index * 64 + u64::from(bits.trailing_zeros()));
                }
                member.is_some()
            });
        }
        member
    }

    /// The largest number in `from .. to` that is not a member.
    pub(crate) fn last_absent(&self, floor: u64, from: u64, to: u64) -> Option<u64> {
        let mut end = to;
        while from < end {
            let index = (end - 1) / 64;
            let held = self.count > 0 && ((index - floor / 64) as usize) < self.words.len();
            let members = if held {
                self.words[index as usize & self.mask()]
            } else {
                0
            };
            let absent = !members & (u64::MAX >> (63 - (end - 1) % 64));
            if absent != 0 {
                let seq = index * 64 + 63 - u64::from(absent.leading_zeros());
                return (seq >= from).then_some(seq);
            }
            end = index * 64;
        }
        None
    }

    /// Raises the floor from `floor` to `to`, forgetting members below it; returns how many there
    /// were.
    pub(crate) fn advance(&mut self, floor: u64, to: u64) -> u32 {
        if self.count == 0 {
            return 0;
        }
        let mask = self.mask();
        let end = to.min((floor / 64 + self.words.len() as u64) * 64);
        let mut gone = 0;
        if floor < end {
            for index in floor / 64..=(end - 1) / 64 {
                let word = &mut self.words[index as usize & mask];
                let range = if index == (end - 1) / 64 {
                    u64::MAX >> (63 - (end - 1) % 64)
                } else {
                    u64::MAX
                };
                gone += (*word & range).count_ones();
                *word &= !range;
            }
        }
        self.count -= gone;
        gone
    }

    /// Forgets all members.
    pub(crate) fn clear(&mut self) {
        if self.count > 0 {
            self.words.fill(0);
            self.count = 0;
        }
    }

    /// Length of the run of members that starts at `from`.
    pub(crate) fn run(&self, floor: u64, from: u64) -> u64 {
        let end = (floor / 64 + self.words.len() as u64) * 64;
        if self.count == 0 || from >= end {
            return 0;
        }
        self.first_absent(floor, from, end).unwrap_or(end) - from
    }

    /// Length of the run of members that ends just below `to`.
    pub(crate) fn run_below(&self, floor: u64, to: u64) -> u64 {
        let begin = self
            .last_absent(floor, floor, to)
            .map_or(floor, |seq| seq + 1);
        to.saturating_sub(begin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// The bit ring against a plain set, over many random steps.
    #[test]
    fn it_is_a_set() {
        let mut bits = Bitmap::default();
        let mut set = BTreeSet::new();
        let mut floor = 100_u64;
        let mut state = 7_u64;
        let mut draw = |n: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % n
        };
        for step in 0..20_000 {
            match draw(6) {
                0..3 => {
                    let seq = floor + draw(if step % 1000 == 0 { 3000 } else { 200 });
                    assert_eq!(bits.insert(floor, seq), set.insert(seq));
                }
                3 => {
                    let seq = floor + draw(200);
                    assert_eq!(bits.remove(floor, seq), set.remove(&seq));
                }
                4 => {
                    let to = floor + draw(150);
                    let kept: BTreeSet<u64> = set.split_off(&to);
                    assert_eq!(bits.advance(floor, to) as usize, set.len());
                    set = kept;
                    floor = to;
                }
                _ => {
                    let (a, b) = (floor + draw(300), floor + draw(300));
                    let (from, to) = (a.min(b), a.max(b));
                    assert_eq!(
                        bits.count_in(floor, from, to) as usize,
                        set.range(from..to).count()
                    );
                    assert_eq!(
                        bits.first_absent(floor, from, to),
                        (from..to).find(|s| !set.contains(s))
                    );
                    assert_eq!(
                        bits.first_present(floor, from, to),
                        set.range(from..to).next().copied()
                    );
                    assert_eq!(
                        bits.last_absent(floor, from, to),
                        (from..to).rev().find(|s| !set.contains(s))
                    );
                    assert_eq!(
                        bits.run(floor, from),
                        (from..).take_while(|s| set.contains(s)).count() as u64
                    );
                    assert_eq!(
                        bits.run_below(floor, to),
                        (floor..to).rev().take_while(|s| set.contains(s)).count() as u64
                    );
                    assert_eq!(bits.contains(floor, from), set.contains(&from));
                }
            }
            assert_eq!(bits.count() as usize, set.len());
        }
    }
}
