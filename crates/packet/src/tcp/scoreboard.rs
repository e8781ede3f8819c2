//! The sender's scoreboard: what of the outstanding data is acknowledged selectively, lost,
//! retransmitted (RFC 6675).

use std::collections::VecDeque;

use crate::bitmap::Bitmap;

/// A retransmission: when it left, and the next new segment at that time.
#[derive(Clone, Copy, Debug)]
struct Resent {
    seq: u64,
    next: u64,
    sent: u64,
}

/// State of the segments between the first unacknowledged one and the next new one.
///
/// `IsLost` of RFC 6675, section 4, counts from above: a segment is lost when
/// the duplicate threshold of segments above it have been acknowledged
/// selectively. So everything unacknowledged below the third-highest such segment is lost, and one
/// edge says it all.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scoreboard {
    sacked: Bitmap,
    retransmitted: Bitmap,
    /// Retransmissions in order; kept only where lost ones are looked for.
    resent: VecDeque<Resent>,
    /// The highest segments acknowledged selectively, descending; at most `dup_threshold` of them
    /// count.
    highest: Vec<u64>,
    /// Unacknowledged segments below this are lost.
    lost_edge: u64,
    /// Segments below `lost_edge` that are not acknowledged; with loss detection by time, those of
    /// `late`.
    lost: u32,
    /// With loss detection by time: the lost segments, which need not lie below all others.
    late: Option<Bitmap>,
    /// No lost segment below this waits to be sent again: the search goes on from here. From `una`
    /// each time it took as many steps as there are losses, and seconds for windows of 100,000.
    all_resent_below: u64,
}

impl Scoreboard {
    /// Whether nothing is known but the cumulative acknowledgement.
    #[inline]
    pub(crate) fn is_clear(&self) -> bool {
        self.sacked.count() == 0 && self.lost == 0 && self.retransmitted.count() == 0
    }

    /// Unacknowledged segments below this are lost.
    #[inline]
    pub(crate) fn lost_edge(&self) -> u64 {
        self.lost_edge
    }

    /// Whether `seq` has been acknowledged selectively.
    #[inline]
    pub(crate) fn is_sacked(&self, una: u64, seq: u64) -> bool {
        self.sacked.contains(una, seq)
    }

    /// The first segment of `from .. to` that has not been acknowledged selectively.
    #[inline]
    pub(crate) fn first_not_sacked(&self, una: u64, from: u64, to: u64) -> Option<u64> {
        self.sacked.first_absent(una, from, to)
    }

    /// Whether `seq`, which has been sent, is believed to be in the network.
    pub(crate) fn is_in_network(&self, una: u64, seq: u64) -> bool {
        !self.sacked.contains(una, seq)
            && (!self.is_lost(una, seq) || self.retransmitted.contains(una, seq))
    }

    /// Whether `seq`, which is not acknowledged, counts as lost, its retransmission aside.
    fn is_lost(&self, una: u64, seq: u64) -> bool {
        match &self.late {
            Some(late) => late.contains(una, seq),
            None => seq < self.lost_edge,
        }
    }

    /// A scoreboard whose lost segments are named by [`Scoreboard::lose`], not counted from above.
    pub(crate) fn by_time() -> Self {
        Self {
            late: Some(Bitmap::default()),
            ..Self::default()
        }
    }

    /// Number of segments acknowledged selectively.
    pub(crate) fn sacked(&self) -> u32 {
        self.sacked.count()
    }

    /// Number of segments that count as lost, sent again or not.
    pub(crate) fn lost(&self) -> u32 {
        self.lost
    }

    /// Number of retransmissions on their way.
    pub(crate) fn resent(&self) -> u32 {
        self.retransmitted.count()
    }

    /// Nothing counts as lost any more; where losses are counted from above, nothing but what the
    /// segments above tell.
    pub(crate) fn forgive(&mut self, una: u64, dup_threshold: u32) {
        self.lost = 0;
        self.all_resent_below = una;
        if let Some(late) = &mut self.late {
            late.clear();
            return;
        }
        self.lost_edge = una;
        if let Some(&edge) = self.highest.get(dup_threshold as usize - 1) {
            self.raise_lost_edge(una, edge);
        }
    }

    /// Whether a loss is known that nothing has been done about while no recovery is on.
    #[inline]
    pub(crate) fn calls_for_recovery(&mut self, una: u64) -> bool {
        if self.late.is_some() {
            self.next_lost_not_resent(una).is_some()
        } else {
            self.lost_edge > una && self.lost > 0
        }
    }

    /// Whether a segment is lost that has not arrived yet, sent again or not.
    #[inline]
    pub(crate) fn misses_any(&self) -> bool {
        self.lost > 0
    }

    /// Segment `seq` is lost, or its retransmission is.
    pub(crate) fn lose(&mut self, una: u64, seq: u64) {
        self.retransmitted.remove(una, seq);
        self.all_resent_below = self.all_resent_below.min(seq);
        if let Some(late) = &mut self.late {
            self.lost += u32::from(late.insert(una, seq));
        }
    }

    /// RFC 6675's `SetPipe`: segments between `una` and `next` that are believed to be in the
    /// network.
    #[inline]
    pub(crate) fn pipe(&self, una: u64, next: u64) -> u64 {
        //= RFC 6675 4/1, 4/3: done, tests pipe_is_that_of_rfc_6675,
        //=   the_next_to_resend_is_the_first_lost_one
        next - una + u64::from(self.retransmitted.count())
            - u64::from(self.sacked.count())
            - u64::from(self.lost)
    }

    /// The cumulative acknowledgement moves from `una` to `to`; returns how many of the segments
    /// between had been acknowledged selectively.
    pub(crate) fn advance(&mut self, una: u64, to: u64) -> u32 {
        if let Some(late) = &mut self.late {
            self.lost -= late.advance(una, to);
        } else if self.lost > 0 {
            let edge = self.lost_edge.min(to).max(una);
            self.lost -= (edge - una) as u32 - self.sacked.count_in(una, una, edge);
        }
        self.retransmitted.advance(una, to);
        self.highest.retain(|&seq| seq >= to);
        self.sacked.advance(una, to)
    }

    /// Segment `seq` has been acknowledged selectively; true if for the first time.
    pub(crate) fn sack(&mut self, una: u64, seq: u64, dup_threshold: u32) -> bool {
        if !self.sacked.insert(una, seq) {
            return false;
        }
        self.retransmitted.remove(una, seq);
        if let Some(late) = &mut self.late {
            self.lost -= u32::from(late.remove(una, seq));
            return true;
        }
        if seq < self.lost_edge {
            self.lost -= 1;
        }
        self.note_high(una, seq, dup_threshold as usize);
        true
    }

    /// Segment `seq` has been acknowledged selectively: it may be one of the highest, and so move
    /// the edge of the lost ones.
    #[inline]
    fn note_high(&mut self, una: u64, seq: u64, dup_threshold: usize) {
        match &mut self.highest[..] {
            // nearly always: as many as there can be, in order
            [first, second, third] if seq > *first && dup_threshold == 3 => {
                (*third, *second, *first) = (*second, *first, seq);
            }
            _ => {
                let place = self.highest.partition_point(|&high| high > seq);
                if place >= dup_threshold {
                    return;
                }
                self.highest.insert(place, seq);
                self.highest.truncate(dup_threshold);
            }
        }
        if let Some(&edge) = self.highest.get(dup_threshold - 1) {
            self.raise_lost_edge(una, edge);
        }
    }

    #[inline]
    fn raise_lost_edge(&mut self, una: u64, edge: u64) {
        let from = self.lost_edge.max(una);
        if edge == from + 1 {
            self.lost += u32::from(!self.sacked.contains(una, from));
            self.lost_edge = edge;
        } else if edge > from {
            self.lost += (edge - from) as u32 - self.sacked.count_in(una, from, edge);
            self.lost_edge = edge;
        }
    }

    /// After a timeout everything that is not acknowledged is lost, retransmissions too.
    pub(crate) fn lose_all(&mut self, una: u64, next: u64) {
        self.retransmitted.clear();
        self.resent.clear();
        self.all_resent_below = una;
        self.raise_lost_edge(una, next);
    }

    /// Retransmissions that are lost because something sent after them has been acknowledged
    /// selectively: they may go out again. Each with the time at which it left.
    pub(crate) fn find_lost_retransmissions(&mut self, una: u64, mut lost: impl FnMut(u64, u64)) {
        let Some(&highest) = self.highest.first() else {
            return;
        };
        while let Some(&Resent { seq, next, sent }) = self.resent.front()
            && next <= highest
        {
            self.resent.pop_front();
            if seq >= una && self.retransmitted.remove(una, seq) {
                self.all_resent_below = self.all_resent_below.min(seq);
                lost(seq, sent);
            }
        }
    }

    /// Remembers that `seq` was sent again at `sent` while `next` was the next new segment.
    pub(crate) fn remember(&mut self, seq: u64, next: u64, sent: u64) {
        self.resent.push_back(Resent { seq, next, sent });
    }

    /// True if `seq` was sent again and is not known to be lost since.
    pub(crate) fn is_resent(&self, una: u64, seq: u64) -> bool {
        self.retransmitted.contains(una, seq)
    }

    /// The first lost segment that is not on its way again.
    pub(crate) fn next_lost_not_resent(&mut self, una: u64) -> Option<u64> {
        let mut from = self.all_resent_below.max(una);
        let lost = loop {
            let next = match &self.late {
                // no number that stands here is that high
                Some(late) => late.first_present(una, from, una + late.span()),
                None => self.next_lost(una, from),
            };
            match next {
                Some(seq) if self.retransmitted.contains(una, seq) => from = seq + 1,
                other => break other,
            }
        };
        self.all_resent_below = lost.unwrap_or(from);
        lost
    }

    /// Segment `seq` is sent again.
    pub(crate) fn retransmit(&mut self, una: u64, seq: u64) {
        self.retransmitted.insert(una, seq);
    }

    /// `NextSeg` rule 1: the first lost segment at or above `from`.
    pub(crate) fn next_lost(&self, una: u64, from: u64) -> Option<u64> {
        if self.lost == 0 {
            return None;
        }
        self.sacked.first_absent(una, from.max(una), self.lost_edge)
    }

    /// `NextSeg` rule 3: the first unacknowledged segment at or above `from` and below the highest
    /// acknowledged one.
    pub(crate) fn next_hole(&self, una: u64, from: u64) -> Option<u64> {
        let highest = *self.highest.first()?;
        self.sacked.first_absent(una, from.max(una), highest)
    }

    /// `NextSeg` rule 4: the highest outstanding segment that is not acknowledged.
    pub(crate) fn last_hole(&self, una: u64, next: u64) -> Option<u64> {
        self.sacked.last_absent(una, una, next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts from the definitions of RFC 6675, section 4.
    fn slow_pipe(una: u64, next: u64, sacked: &[u64], retransmitted: &[u64]) -> u64 {
        let mut pipe = 0;
        for seq in una..next {
            if sacked.contains(&seq) {
                continue;
            }
            let above = sacked.iter().filter(|&&s| s > seq).count();
            pipe += u64::from(above < 3) + u64::from(retransmitted.contains(&seq));
        }
        pipe
    }

    #[test]
    fn pipe_is_that_of_rfc_6675() {
        let mut state = 3_u64;
        let mut draw = |n: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % n
        };
        for _ in 0..300 {
            let mut board = Scoreboard::default();
            let (mut una, next) = (1000 + draw(100), 1300);
            let (mut sacked, mut resent) = (Vec::new(), Vec::new());
            for _ in 0..60 {
                match draw(4) {
                    0 | 1 => {
                        let seq = una + 1 + draw(80);
                        let new = board.sack(una, seq, 3);
                        assert_eq!(new, !sacked.contains(&seq));
                        if new {
                            sacked.push(seq);
                            resent.retain(|&s| s != seq);
                        }
                    }
                    2 => {
                        let from = una + draw(20);
                        if let Some(seq) = board.next_lost(una, from) {
                            assert!(
                                sacked.iter().filter(|&&s| s > seq).count() >= 3
                                    && !sacked.contains(&seq)
                            );
                            board.retransmit(una, seq);
                            if !resent.contains(&seq) {
                                resent.push(seq);
                            }
                        }
                    }
                    _ => {
                        let to = una + draw(6);
                        board.advance(una, to);
                        una = to;
                        sacked.retain(|&s| s >= una);
                        resent.retain(|&s| s >= una);
                    }
                }
                // an edge once reached stays, even where the acknowledgements that raised it are
                // cumulative by now
                let edge_below = (una..next)
                    .filter(|s| !sacked.contains(s) && *s < board.lost_edge)
                    .count();
                assert_eq!(u64::from(board.lost), edge_below as u64);
                if sacked.len() >= 3 {
                    assert_eq!(
                        board.pipe(una, next),
                        slow_pipe(una, next, &sacked, &resent)
                    );
                }
            }
        }
    }

    /// The first lost segment that is not on its way again, from the definition.
    fn slow_next(board: &Scoreboard, una: u64, next: u64) -> Option<u64> {
        (una..next).find(|&seq| {
            !board.is_sacked(una, seq)
                && board.is_lost(una, seq)
                && !board.retransmitted.contains(una, seq)
        })
    }

    #[test]
    fn the_next_to_resend_is_the_first_lost_one() {
        let mut state = 5_u64;
        let mut draw = |n: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % n
        };
        for round in 0..400 {
            let mut board = if round % 2 == 0 {
                Scoreboard::default()
            } else {
                Scoreboard::by_time()
            };
            let (mut una, next) = (1000_u64, 1200_u64);
            for _ in 0..200 {
                let seq = una + draw(next - una);
                match draw(12) {
                    0..3 if seq > una => {
                        board.sack(una, seq, 3);
                    }
                    3 if !board.is_sacked(una, seq) => board.lose(una, seq),
                    4 => {
                        let to = una + draw(3);
                        if to < next {
                            board.advance(una, to);
                            una = to;
                        }
                    }
                    5 if draw(20) == 0 => board.forgive(una, 3),
                    6 if board.late.is_none() && draw(20) == 0 => board.lose_all(una, next),
                    7 => board.find_lost_retransmissions(una, |_, _| {}),
                    _ => {
                        let lost = board.next_lost_not_resent(una);
                        assert_eq!(lost, slow_next(&board, una, next));
                        if let Some(seq) = lost {
                            board.retransmit(una, seq);
                            board.remember(seq, next - draw(100), 0);
                        }
                    }
                }
            }
        }
    }

    /// A window of a million that is lost as a whole is sent again in as many steps, not in their
    /// square: that was half an hour in which nothing could be interrupted.
    #[test]
    fn a_large_window_is_sent_again_in_time() {
        for mut board in [Scoreboard::default(), Scoreboard::by_time()] {
            let (una, next) = (10, 1_000_010);
            if board.late.is_some() {
                (una..next).for_each(|seq| board.lose(una, seq));
            } else {
                board.lose_all(una, next);
            }
            let mut resent = 0;
            while let Some(seq) = board.next_lost_not_resent(una) {
                board.retransmit(una, seq);
                resent += 1;
            }
            assert_eq!(resent, next - una);
        }
    }

    #[test]
    fn a_timeout_loses_everything() {
        let mut board = Scoreboard::default();
        for seq in [12, 14] {
            board.sack(10, seq, 3);
        }
        assert!(!board.calls_for_recovery(10));
        board.lose_all(10, 20);
        assert_eq!(board.pipe(10, 20), 0);
        assert_eq!(board.next_lost(10, 10), Some(10));
        assert_eq!(board.next_lost(10, 12), Some(13));
        board.retransmit(10, 10);
        assert_eq!(board.pipe(10, 20), 1);
        board.advance(10, 11);
        assert_eq!(board.pipe(11, 20), 0);
    }
}
