//! Measurements of a queue: exact integer sums, so that they do not depend on who asked when.

/// Time-weighted statistics of a queue's length.
#[derive(Clone, Debug, Default)]
pub(crate) struct QueueClock {
    /// Time spent at each number of waiting packets, ps.
    at: Vec<u64>,
    /// Size of most packets, bytes: what waits is taken for so many of these, and what it differs
    /// by is recorded apart. 0: none has waited yet.
    size: u64,
    /// Integrals over time of waiting bytes, and of their square, less what those packets would
    /// have given (B ps, B^2 ps).
    odd: (i128, i128),
    /// How often there was something to record in them.
    oddities: u32,
    last: u64,
}

/// After so many oddities the size of most packets is looked at again.
const REBASE_AFTER: u32 = 4096;

impl QueueClock {
    /// The queue had this length from the last call until `now`.
    #[inline(always)]
    pub(crate) fn account(&mut self, now: u64, packets: usize, bytes: u64) {
        let span = now - self.last;
        self.last = now;
        let Some(time) = self.at.get_mut(packets) else {
            self.account_longer(span, packets, bytes);
            return;
        };
        *time += span;
        if bytes != (packets as u64).wrapping_mul(self.size) {
            self.account_odd(span, packets, bytes);
        }
    }

    /// When it was called last.
    pub(crate) fn last(&self) -> u64 {
        self.last
    }

    /// [`QueueClock::account`] of a queue that was never so long.
    #[cold]
    #[inline(never)]
    fn account_longer(&mut self, span: u64, packets: usize, bytes: u64) {
        self.at.resize((packets + 1).next_power_of_two(), 0);
        self.at[packets] += span;
        if bytes != (packets as u64).wrapping_mul(self.size) {
            self.account_odd(span, packets, bytes);
        }
    }

    /// Does the work of [`QueueClock::account`] for packets of another size: a connection's first
    /// ones, and where sizes are mixed nearly all.
    #[cold]
    #[inline(never)]
    fn account_odd(&mut self, span: u64, packets: usize, bytes: u64) {
        let count = packets as u64;
        if (self.size == 0 || self.oddities.is_multiple_of(REBASE_AFTER))
            && bytes.is_multiple_of(count)
        {
            self.at[packets] -= span; // not recorded yet
            self.rebase(bytes / count);
            self.at[packets] += span;
        }
        self.oddities = self.oddities.wrapping_add(1);
        let usual = count.wrapping_mul(self.size);
        // (usual + excess)^2 = usual^2 + (usual + bytes) excess
        let excess = bytes.wrapping_sub(usual) as i64;
        let area = i128::from(excess) * i128::from(span);
        self.odd.0 += area;
        self.odd.1 += i128::from(usual + bytes) * area;
    }

    /// Another size is that of most packets.
    fn rebase(&mut self, size: u64) {
        let (sum, square) = self.bytes();
        self.size = size;
        self.odd = (0, 0);
        let usual = self.bytes();
        self.odd = (sum - usual.0, square - usual.1);
    }

    /// Integrals of waiting bytes and of their square.
    fn bytes(&self) -> (i128, i128) {
        let spans = self.at.iter().enumerate();
        spans.fold(self.odd, |(sum, square), (packets, &span)| {
            let bytes = i128::from(packets as u64 * self.size);
            let area = bytes * i128::from(span);
            (sum + area, square + bytes * area)
        })
    }

    /// Forgets everything before `now`.
    pub(crate) fn restart(&mut self, now: u64) {
        *self = Self {
            last: now,
            ..Self::default()
        };
    }

    /// Results: nothing where no time has passed.
    pub(crate) fn summary(&self) -> Option<QueueSummary> {
        let total: u64 = self.at.iter().sum();
        if total == 0 {
            return None;
        }
        let time = total as f64;
        let (mut sum, mut square) = (0_u128, 0_u128);
        for (length, &span) in self.at.iter().enumerate() {
            sum += length as u128 * u128::from(span);
            square += (length * length) as u128 * u128::from(span);
        }
        let mean = sum as f64 / time;
        let mut percentiles = [0; 3];
        for (percentile, fraction) in percentiles.iter_mut().zip([0.50, 0.95, 0.99]) {
            let wanted = fraction * time;
            let mut passed = 0.0;
            *percentile = self
                .at
                .iter()
                .position(|&span| {
                    passed += span as f64;
                    passed >= wanted
                })
                .unwrap_or(0) as u32;
        }
        let (bytes, bytes_squared) = self.bytes();
        let bytes_mean = bytes as f64 / time;
        Some(QueueSummary {
            mean,
            std: (square as f64 / time - mean * mean).max(0.0).sqrt(),
            percentiles,
            max: self.at.iter().rposition(|&span| span > 0).unwrap_or(0) as u32,
            bytes_mean,
            bytes_std: (bytes_squared as f64 / time - bytes_mean * bytes_mean)
                .max(0.0)
                .sqrt(),
        })
    }
}

/// Results of [`QueueClock`].
pub(crate) struct QueueSummary {
    pub(crate) mean: f64,
    pub(crate) std: f64,
    pub(crate) percentiles: [u32; 3],
    pub(crate) max: u32,
    pub(crate) bytes_mean: f64,
    pub(crate) bytes_std: f64,
}

/// A histogram of delays with bins of constant relative width: `BINS` an octave (a power of two),
/// so that a value is known within 1 / `BINS`.
#[derive(Clone, Debug)]
pub(crate) struct Histogram<const BINS: u64> {
    bins: Vec<u64>,
    sum: u128,
    max: u64,
}

impl<const BINS: u64> Default for Histogram<BINS> {
    fn default() -> Self {
        Self {
            bins: Vec::new(),
            sum: 0,
            max: 0,
        }
    }
}

/// That of a link's queue and of completion times.
pub(crate) type DelayHistogram = Histogram<64>;

/// Delays below this many picoseconds (about a nanosecond) share the linear bins at the bottom.
const LINEAR_BITS: u32 = 4;

/// The bin of a delay: linear up to `BINS`, then the exponent and the first bits of the value as a
/// floating-point number. (Exact below 2^57 ps, which is 40 hours; above, a delay within a rounding
/// of an edge may be found in the next bin.)
#[inline(always)]
fn bin<const BINS: u64>(delay: u64) -> usize {
    let value = delay >> LINEAR_BITS;
    if value < BINS {
        return value as usize;
    }
    let bits = BINS.trailing_zeros();
    // as i64: one instruction, and a value shifted right is no negative one
    let number = (value as i64 as f64).to_bits() >> (52 - bits);
    (number - (1022 + u64::from(bits)) * BINS) as usize
}

/// First delay above the bin, ps.
fn upper_edge<const BINS: u64>(bin: usize) -> u64 {
    let next = bin as u64 + 1;
    if next <= 2 * BINS {
        return next << LINEAR_BITS;
    }
    let octave = (next - BINS) / BINS;
    (next - octave * BINS) << (octave + u64::from(LINEAR_BITS))
}

impl<const BINS: u64> Histogram<BINS> {
    #[inline(always)]
    pub(crate) fn record(&mut self, delay: u64) {
        let bin = bin::<BINS>(delay);
        self.sum += u128::from(delay);
        if let Some(count) = self.bins.get_mut(bin)
            && delay <= self.max
        {
            *count += 1;
        } else {
            self.record_longer(bin, delay);
        }
    }

    /// [`Histogram::record`] of a delay that is the largest so far.
    #[cold]
    #[inline(never)]
    fn record_longer(&mut self, bin: usize, delay: u64) {
        self.max = self.max.max(delay);
        if bin >= self.bins.len() {
            self.bins.resize(bin + 1, 0);
        }
        self.bins[bin] += 1;
    }

    /// Number of values.
    pub(crate) fn count(&self) -> u64 {
        self.bins.iter().sum()
    }

    /// Mean, s.
    pub(crate) fn mean(&self) -> f64 {
        self.sum as f64 * 1e-12 / self.count() as f64
    }

    /// Largest, s.
    pub(crate) fn max(&self) -> f64 {
        if self.count() == 0 {
            f64::NAN
        } else {
            self.max as f64 * 1e-12
        }
    }

    /// The upper edge of the bin that holds the given fraction, s (not above the largest).
    pub(crate) fn percentile(&self, fraction: f64) -> f64 {
        let count = self.count();
        if count == 0 {
            return f64::NAN;
        }
        let wanted = fraction * count as f64;
        let mut passed = 0;
        let bin = self.bins.iter().position(|&n| {
            passed += n;
            passed as f64 >= wanted
        });
        bin.map_or(f64::NAN, |bin| {
            upper_edge::<BINS>(bin).min(self.max) as f64 * 1e-12
        })
    }

    /// Non-empty bins: upper edge (s) and number.
    pub(crate) fn bins(&self) -> Vec<(f64, u64)> {
        let filled = self.bins.iter().enumerate().filter(|(_, n)| **n > 0);
        filled
            .map(|(bin, &n)| (upper_edge::<BINS>(bin) as f64 * 1e-12, n))
            .collect()
    }
}

/// Time in which a link transmitted, whole and per second of the measurement window, kept as its
/// idle gaps: those are few.
#[derive(Clone, Debug, Default)]
pub(crate) struct BusyClock {
    /// Idle time since the start of the run, ps.
    pub(crate) idle: u64,
    /// Start of the window, ps.
    from: u64,
    /// Idle time in each second of the window.
    seconds: Vec<u64>,
    /// From when until when the last of them is, ps.
    last: (u64, u64),
    /// Gaps are counted up to here.
    counted: u64,
}

const SECOND: u64 = 1_000_000_000_000;

impl BusyClock {
    /// The window opens: seconds are counted from `now`.
    pub(crate) fn restart(&mut self, now: u64) {
        self.from = now;
        self.seconds.clear();
    }

    /// Nothing was transmitted from `from` to `to`. Gaps come in order.
    #[inline]
    pub(crate) fn gap(&mut self, from: u64, to: u64) {
        let from = from.max(self.counted);
        if from < to {
            self.counted = to;
            self.idle += to - from;
            match self.seconds.last_mut() {
                Some(idle) if from >= self.last.0 && to <= self.last.1 => *idle += to - from,
                _ => self.count(from, to),
            }
        }
    }

    /// A gap that is not inside the second that the last one was in.
    #[cold]
    #[inline(never)]
    fn count(&mut self, from: u64, to: u64) {
        let mut from = from.max(self.from);
        while from < to {
            let second = ((from - self.from) / SECOND) as usize;
            let begin = self.from + second as u64 * SECOND;
            self.last = (begin, begin + SECOND);
            let end = to.min(begin + SECOND);
            if second >= self.seconds.len() {
                self.seconds.resize(second + 1, 0);
            }
            self.seconds[second] += end - from;
            from = end;
        }
    }

    /// Idle time in whole second `k` of the window, ps.
    pub(crate) fn idle_in_second(&self, k: usize) -> u64 {
        self.seconds.get(k).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_weighted_moments() {
        let mut clock = QueueClock::default();
        clock.account(10, 0, 0); // 10 ps empty
        clock.account(40, 2, 3000); // 30 ps with two packets
        let summary = clock.summary().unwrap();
        assert_eq!(summary.mean, 1.5);
        assert!((summary.std - 0.75_f64.sqrt()).abs() < 1e-15);
        assert_eq!((summary.percentiles, summary.max), ([2, 2, 2], 2));
        assert_eq!(summary.bytes_mean, 2250.0);
        clock.restart(40);
        assert!(clock.summary().is_none());
    }

    #[test]
    fn bytes_are_exact_whatever_their_sizes() {
        let mut clock = QueueClock::default();
        let (mut sum, mut square, mut now) = (0_u128, 0_u128, 0);
        // a small packet comes first, most are large, and now and then one is not
        for k in 0..40_000_u64 {
            let packets = k * k % 17;
            let bytes = match (packets, k) {
                (0, _) => 0,
                (n, 0..100) => 40 * n,
                (n, _) if k % 5 == 0 => 1500 * (n - 1) + 40,
                (n, _) => 1500 * n,
            };
            let span = 1 + k * 7919 % 1009;
            now += span;
            clock.account(now, packets as usize, bytes);
            sum += u128::from(bytes * span);
            square += u128::from(bytes * bytes * span);
        }
        assert_eq!(clock.size, 1500);
        assert_eq!(clock.bytes(), (sum as i128, square as i128));
    }

    #[test]
    fn a_bin_holds_its_values() {
        holds::<64>();
        holds::<128>();
    }

    fn holds<const BINS: u64>() {
        for delay in (0..100_000)
            .chain((1..200).map(|k| k * 7_654_321_987))
            .chain((10..57).flat_map(|k| [(1 << k) - 1, 1 << k, (1 << k) + 1]))
        {
            let bin = bin::<BINS>(delay);
            let low = if bin == 0 {
                0
            } else {
                upper_edge::<BINS>(bin - 1)
            };
            let high = upper_edge::<BINS>(bin);
            assert!(low <= delay && delay < high, "{delay}: {low} .. {high}");
            assert!((high - low) as f64 <= 16.0_f64.max(delay as f64 / BINS as f64));
        }
    }

    #[test]
    fn percentiles_and_mean() {
        let mut histogram = DelayHistogram::default();
        for k in 1..=1000 {
            histogram.record(k * 1_000_000);
        }
        assert!((histogram.mean() - 500.5e-6).abs() < 1e-12);
        assert!((histogram.percentile(0.5) / 500e-6 - 1.0).abs() < 1.0 / 64.0);
        assert!((histogram.percentile(0.99) / 990e-6 - 1.0).abs() < 1.0 / 64.0);
        assert_eq!(histogram.percentile(1.0), 1000e-6);
    }

    #[test]
    fn gaps_fall_into_their_seconds() {
        let mut clock = BusyClock::default();
        clock.gap(0, 10);
        clock.restart(SECOND);
        clock.gap(SECOND - 5, SECOND + 7);
        clock.gap(SECOND, SECOND + 7); // counted already
        clock.gap(2 * SECOND - 1, 4 * SECOND + 2);
        assert_eq!(clock.idle, 10 + 12 + 2 * SECOND + 3);
        let seconds: Vec<u64> = (0..5).map(|k| clock.idle_in_second(k)).collect();
        assert_eq!(seconds, [7 + 1, SECOND, SECOND, 2, 0]);
    }
}
