//! The timers of Linux 6.1: when one that is set for a delay really expires.
//!
//! Time goes in ticks of a millisecond (`HZ` = 1000). Timers wait in a wheel of levels of 64
//! buckets, each level eight times as coarse as the one before, and never expire early: so a timer
//! of less than 63 ms comes up to 1 ms late, one of less than 504 ms up to 8 ms, one of less than 4
//! s up to 64 ms, and timers that were set at different times expire together
//! (kernel/time/timer.c).

/// A tick, ps.
pub(crate) const TICK_PS: u64 = 1_000_000_000;

/// Time that Linux adds to the delays of a probe and of the reordering window: `TCP_TIMEOUT_MIN`.
pub(super) const LEAST_TIMEOUT: u64 = 2 * TICK_PS;

/// When a timer expires that is set at `now` for `delay`.
pub(crate) fn expiry(now: u64, delay: u64) -> u64 {
    let ticks = delay.div_ceil(TICK_PS);
    let mut shift = 0;
    while shift < 24 && ticks >= 63 << shift {
        shift += 3;
    }
    ((((now / TICK_PS + ticks) >> shift) + 1) << shift) * TICK_PS
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = TICK_PS;

    #[test]
    fn never_early_and_an_eighth_late_at_most() {
        for now in [0, 1, MS / 3, 7 * MS + 5, 12_345 * MS, 99_999 * MS + 1] {
            for delay in [
                1,
                MS,
                40 * MS,
                62 * MS,
                63 * MS,
                250 * MS,
                503 * MS,
                504 * MS,
                3000 * MS,
                60_000 * MS,
            ] {
                let late = expiry(now, delay) - now - delay;
                assert!(late <= (delay / 7).max(2 * MS), "{now} {delay}: {late}");
            }
        }
    }

    #[test]
    fn timers_meet_in_buckets() {
        assert_eq!(expiry(10 * MS, 2 * MS), 13 * MS);
        assert_eq!(expiry(10 * MS, 62 * MS), 73 * MS);
        // 250 ms: buckets of 8 ms
        for now in 0..6 {
            assert_eq!(expiry(now * MS, 250 * MS), 256 * MS);
        }
        assert_eq!(expiry(6 * MS, 250 * MS), 264 * MS);
        // 1 s: of 64 ms
        assert_eq!(expiry(0, 1000 * MS), 1024 * MS);
        assert_eq!(expiry(24 * MS, 1000 * MS), 1088 * MS);
    }
}
