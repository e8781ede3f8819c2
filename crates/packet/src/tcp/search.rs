//! SEARCH (draft-chung-ccwg-search, version 3 of the algorithm): slow start that ends when what is
//! delivered no longer doubles from one round trip to the next.
//!
//! Deliveries are counted in bins of a tenth of 3.5 initial round trips. At the end of each bin the
//! last ten are compared with the ten of a round trip before: while nothing limits slow start they
//! hold twice as much. The round trip need not grow for that, and may vary.

/// Initial round trips in a window, and the bins that it is divided into.
const WINDOW_RTTS: f64 = 3.5;
const WINDOW_BINS: u64 = 10;
/// How many bins a round trip may be long at most.
const EXTRA_BINS: u64 = 15;
/// Share of twice the earlier deliveries that is missing when slow start ends.
const MISSING_SHARE: f64 = 0.35;
/// Deliveries that are older than so many initial round trips are undone.
const UNDONE_RTTS: f64 = 2.0;
/// After so many initial round trips without an ACK the bins begin anew: their gap would pass for a
/// bottleneck (version 3.1 of the authors' implementation).
const SILENT_RTTS: f64 = 2.0;
/// Ends of bins that are remembered: a window, a round trip, and one on either side of a fraction.
const BIN_ENDS: usize = (WINDOW_BINS + EXTRA_BINS + 2) as usize;

/// Counts of what was delivered by the end of each of the last bins.
#[derive(Debug, Default)]
pub(super) struct Search {
    /// Duration of a bin, ps; 0 before the first round trip.
    bin: u64,
    /// When the present bin ends, and how many have ended.
    end: u64,
    ended: u64,
    /// Segments delivered before the first bin, and by the end of bin `k` at `k % BIN_ENDS`.
    first: u64,
    delivered: [u64; BIN_ENDS],
}

impl Search {
    /// At `now` everything below `una` is acknowledged; `rtt` is the sample (ps; 0: none). The
    /// segments to take from the window when slow start is over: those delivered since the
    /// bottleneck was full.
    pub(super) fn on_ack(&mut self, now: u64, una: u64, rtt: u64) -> Option<u64> {
        if rtt == 0 {
            return None;
        }
        if self.bin == 0 {
            self.bin = ((WINDOW_RTTS * rtt as f64) as u64 / WINDOW_BINS).max(1);
            self.begin(now, una);
            return None;
        }
        if now <= self.end {
            return None;
        }
        let passed = (now - self.end) / self.bin + 1;
        if passed as f64 > SILENT_RTTS * self.initial_rtt() {
            self.begin(now, una);
            return None;
        }
        // the bins in which no ACK came hold nothing
        let before = self.by(self.ended);
        for _ in 1..passed {
            self.close(before);
        }
        self.close(una);
        self.end += passed * self.bin;
        self.is_flat(rtt).then(|| {
            let back = (UNDONE_RTTS * self.initial_rtt()) as u64;
            self.between(self.ended.saturating_sub(back), self.ended)
        })
    }

    /// The first bin begins.
    fn begin(&mut self, now: u64, una: u64) {
        (self.end, self.ended, self.first) = (now + self.bin, 0, una);
    }

    fn close(&mut self, delivered: u64) {
        self.delivered[(self.ended % BIN_ENDS as u64) as usize] = delivered;
        self.ended += 1;
    }

    /// In bins.
    fn initial_rtt(&self) -> f64 {
        WINDOW_BINS as f64 / WINDOW_RTTS
    }

    /// Segments delivered by the end of the first `bins` bins.
    fn by(&self, bins: u64) -> u64 {
        match bins {
            0 => self.first,
            _ => self.delivered[((bins - 1) % BIN_ENDS as u64) as usize],
        }
    }

    fn between(&self, from: u64, to: u64) -> u64 {
        self.by(to) - self.by(from)
    }

    /// Whether the deliveries of a window fall short of twice those of a round trip before.
    fn is_flat(&self, rtt: u64) -> bool {
        let shift = rtt / self.bin;
        // one bin more than the earlier window, for the fraction
        if shift > EXTRA_BINS || self.ended < shift + WINDOW_BINS + 1 {
            return false;
        }
        let fraction = (rtt % self.bin) as f64 / self.bin as f64;
        let window = |end: u64| self.between(end - WINDOW_BINS, end) as f64;
        let end = self.ended - shift;
        let earlier = (1.0 - fraction) * window(end) + fraction * window(end - 1);
        let present = window(self.ended);
        earlier > 0.0 && 2.0 * earlier - present >= MISSING_SHARE * 2.0 * earlier
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000_000;

    /// A slow start over a round trip of 100 ms whose deliveries double every round until they meet
    /// `limit` segments a round: an ACK every millisecond. When SEARCH ends it and what it takes
    /// back.
    fn exit(limit: f64, rtt: impl Fn(u64) -> u64) -> Option<(u64, u64)> {
        let (mut search, mut una) = (Search::default(), 0.0);
        (1..3000).find_map(|ms| {
            let rate = (10.0 * 2.0_f64.powf(ms as f64 / 100.0)).min(limit);
            una += rate / 100.0;
            let excess = search.on_ack(ms * MS, una as u64, rtt(ms) * MS)?;
            Some((ms, excess))
        })
    }

    #[test]
    fn deliveries_that_double_never_end_it() {
        assert_eq!(exit(f64::INFINITY, |_| 100), None);
    }

    /// The integral of the deliveries tells when the norm reaches 0.35: between one and three
    /// rounds after the bottleneck is full, at any rate. What is taken back was delivered in the
    /// last two rounds, five whole bins of 35 ms.
    #[test]
    fn it_ends_some_two_rounds_after_the_bottleneck_is_full() {
        for doublings in [4.0_f64, 6.0, 9.0] {
            let limit = 10.0 * 2.0_f64.powf(doublings);
            let (ms, excess) = exit(limit, |_| 100).expect("it ends");
            let rounds = ms as f64 / 100.0 - doublings;
            assert!((1.0..3.0).contains(&rounds), "{doublings}: {rounds}");
            let expected = limit * 1.75;
            assert!(
                (excess as f64 - expected).abs() < 0.05 * expected,
                "{excess}"
            );
        }
    }

    /// Round trips between the bins' lengths are interpolated: the result does not jump. Those of
    /// more than 15 bins say nothing.
    #[test]
    fn round_trips_that_vary() {
        let (first, _) = exit(640.0, |_| 100).unwrap();
        for rtt in [90, 104, 106, 120] {
            let (ms, _) = exit(640.0, |at| if at < 3 { 100 } else { rtt }).unwrap();
            assert!(ms.abs_diff(first) <= 105, "{rtt}: {ms} and {first}");
        }
        assert_eq!(exit(640.0, |at| if at < 3 { 100 } else { 600 }), None);
    }

    /// Two bins without an ACK hold nothing; after two round trips without one all begins anew.
    #[test]
    fn gaps() {
        let mut search = Search::default();
        let mut acks = |ms: u64, una: u64| search.on_ack(ms * MS, una, 100 * MS);
        assert_eq!(acks(100, 10), None);
        assert_eq!(acks(136, 20), None); // the first bin ends at 135
        assert_eq!(acks(241, 30), None); // 170, 205 and 240 have passed
        assert_eq!(search.ended, 4);
        let ends: Vec<_> = (0..=4).map(|bins| search.by(bins)).collect();
        assert_eq!(ends, [10, 20, 20, 20, 30]);
        assert_eq!(search.on_ack(600 * MS, 40, 100 * MS), None);
        assert_eq!((search.ended, search.first), (0, 40));
    }
}
