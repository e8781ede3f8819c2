//! SACK blocks of a flow's ACKs on their way, which carry the number of theirs.

use std::collections::VecDeque;

/// The blocks of one flow. Numbers are never given twice: what waits in a queue that filters ACKs is
/// known by its flow's state and its number.
#[derive(Default)]
pub(crate) struct AckBlocks {
    sent: VecDeque<(u32, Vec<(u64, u64)>)>,
    last: u32,
}

impl AckBlocks {
    /// Keeps the blocks of an ACK: their number.
    pub(crate) fn keep(&mut self, blocks: Vec<(u64, u64)>) -> u32 {
        self.last += 1;
        self.sent.push_back((self.last, blocks));
        self.last
    }

    /// The blocks of an ACK that is still on its way; none where there are none.
    pub(crate) fn of(&self, number: u32) -> &[(u64, u64)] {
        match self.sent.binary_search_by_key(&number, |&(it, _)| it) {
            Ok(place) => &self.sent[place].1,
            Err(_) => &[],
        }
    }

    /// Takes the blocks of an ACK that has arrived; those of ACKs that were lost before it are
    /// forgotten.
    #[cold]
    #[inline(never)]
    pub(crate) fn take(&mut self, number: u32) -> Vec<(u64, u64)> {
        let mut blocks = Vec::new();
        while let Some((it, _)) = self.sent.front()
            && *it <= number
        {
            blocks = self.sent.pop_front().unwrap_or_default().1;
        }
        blocks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_given_once() {
        let mut blocks = AckBlocks::default();
        let numbers = [3, 5, 7].map(|from| blocks.keep(vec![(from, from + 1)]));
        assert_eq!(blocks.of(numbers[1]), [(5, 6)]);
        // the first was lost
        assert_eq!(blocks.take(numbers[1]), [(5, 6)]);
        assert!(blocks.of(numbers[0]).is_empty() && blocks.of(numbers[1]).is_empty());
        assert_eq!(blocks.of(numbers[2]), [(7, 8)]);
        assert_eq!(blocks.take(numbers[2]), [(7, 8)]);
        assert!(blocks.take(numbers[2]).is_empty());
        assert!(!numbers.contains(&blocks.keep(Vec::new())));
    }
}
