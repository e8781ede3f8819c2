//! The retransmission timeout as Linux 6.1 finds it.
//!
//! It is the smoothed round trip plus a variation: four mean deviations, of which the largest of a round trip counts, and the smallest timeout at least. So the timeout
//! exceeds the smoothed round trip by 200 ms at least, where RFC 6298 bounds their sum. The variation rises at once, and falls by a quarter a round trip; a round
//! trip that shrinks raises the deviation with an eighth of the weight of one that grows.

use super::{Config, Sender, timers};

/// State of the estimator; times in ps.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Variation {
    /// Four mean deviations.
    deviation: u64,
    /// The largest of this round trip.
    largest: u64,
    variation: u64,
    /// The round trip is over when this segment is acknowledged.
    round_end: u64,
}

impl Variation {
    /// A sample `rtt` arrives while the smoothed round trip is `srtt` (0: there is none yet), `una` is the first unacknowledged and `next` the next new segment.
    /// Returns the new smoothed round trip.
    pub(crate) fn sample(&mut self, rtt: u64, srtt: u64, una: u64, next: u64, min_rto: u64) -> u64 {
        if srtt == 0 {
            self.deviation = 2 * rtt;
            self.variation = self.deviation.max(min_rto);
            self.largest = self.variation;
            self.round_end = next;
            return rtt;
        }
        // four times the error, less the deviation of four times the mean: a quarter of it is the step
        let error = srtt.abs_diff(rtt);
        if error > self.deviation / 4 {
            let excess = error - self.deviation / 4;
            self.deviation += if rtt < srtt { excess / 8 } else { excess };
        } else {
            self.deviation -= self.deviation / 4 - error;
        }
        if self.deviation > self.largest {
            self.largest = self.deviation;
            self.variation = self.variation.max(self.largest);
        }
        if una > self.round_end {
            if self.largest < self.variation {
                self.variation -= (self.variation - self.largest) / 4;
            }
            self.round_end = next;
            self.largest = min_rto;
        }
        srtt - srtt / 8 + rtt / 8
    }

    /// What the timeout exceeds the smoothed round trip by.
    pub(crate) fn margin(&self) -> u64 {
        self.variation
    }
}

impl Sender {
    /// RFC 6298, section 2, with alpha = 1/8, beta = 1/4 and no clock granularity. With a sample from every ACK both gains are divided by the
    /// samples expected in a round trip, one for two segments in flight, as RFC 7323, appendix G, wants (here rounded up to a power of
    /// two): else the variation forgets within a round trip, and a queue that grows makes timers expire.
    #[inline]
    pub(super) fn sample(&mut self, rtt: u64, in_flight: u64, config: &Config) {
        self.sample_as(rtt, in_flight, config.linux, config);
    }

    /// The same in style "linux", or not.
    #[inline(always)]
    pub(super) fn sample_as(&mut self, rtt: u64, in_flight: u64, linux: bool, config: &Config) {
        let rtt = rtt.max(1);
        if linux && let Some(variation) = &mut self.variation {
            self.srtt = variation.sample(rtt, self.srtt, self.una, self.next, config.min_rto);
            let ticks = (self.srtt + variation.margin()).div_ceil(timers::TICK);
            self.rto = (ticks * timers::TICK).min(config.max_rto);
        } else if self.srtt == 0 {
            self.srtt = rtt;
            self.rttvar = rtt / 2;
        } else {
            let samples = (in_flight / 2).max(1).next_power_of_two().trailing_zeros();
            let error = self.srtt.abs_diff(rtt);
            let beta = 2 + samples; // and alpha one more
            self.rttvar = self.rttvar - (self.rttvar >> beta) + (error >> beta);
            self.srtt = self.srtt - (self.srtt >> beta >> 1) + (rtt >> beta >> 1);
        }
        if !linux || self.journal.is_none() || self.min_rtt == u64::MAX {
            self.min_rtt = self.min_rtt.min(rtt);
        }
        if !linux {
            let rto = self.srtt + 4 * self.rttvar;
            self.rto = rto.max(config.min_rto).min(config.max_rto);
        }
        self.backoff = 0;
        self.counters.rtt_sum += u128::from(rtt);
        self.counters.rtt_samples += 1;
    }

    /// Present retransmission timeout with its back-off (RFC 6298, rule 5.5).
    #[inline]
    pub(crate) fn timeout(&self, config: &Config) -> u64 {
        if self.backoff == 0 {
            return self.rto;
        }
        self.rto
            .saturating_mul(1 << self.backoff.min(16))
            .min(config.max_rto)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000_000;
    const MIN: u64 = 200 * MS;

    #[test]
    fn steady_round_trips_leave_the_floor() {
        let mut variation = Variation::default();
        let mut srtt = variation.sample(100 * MS, 0, 0, 10, MIN);
        assert_eq!((srtt, variation.margin()), (100 * MS, 200 * MS));
        for una in 1..100 {
            srtt = variation.sample(100 * MS, srtt, una, una + 10, MIN);
        }
        assert_eq!((srtt, variation.margin()), (100 * MS, MIN));
    }

    #[test]
    fn it_rises_at_once_and_falls_by_a_quarter_a_round() {
        let mut variation = Variation::default();
        let mut srtt = variation.sample(400 * MS, 0, 0, 1, MIN);
        assert_eq!(variation.margin(), 800 * MS);
        // 1 s: an error of 600 ms, a deviation of 800 ms: 800 + 600 - 200
        srtt = variation.sample(1000 * MS, srtt, 1, 2, MIN);
        assert_eq!((srtt, variation.margin()), (475 * MS, 1200 * MS));
        // the next round's largest deviation is 1200 + 0 - 300 = 900 ms: a quarter of the way there
        srtt = variation.sample(475 * MS, srtt, 3, 4, MIN);
        assert_eq!(srtt, 475 * MS);
        assert_eq!(variation.margin(), 1200 * MS);
        variation.sample(475 * MS, srtt, 5, 6, MIN);
        assert_eq!(variation.margin(), 1200 * MS - (1200 - 675) * MS / 4);
    }

    #[test]
    fn a_shrinking_round_trip_counts_less() {
        let mut variation = Variation::default();
        let srtt = variation.sample(800 * MS, 0, 0, 1, MIN);
        variation.deviation = 0;
        variation.sample(400 * MS, srtt, 1, 2, MIN);
        assert_eq!(variation.deviation, 50 * MS);
        variation.deviation = 0;
        variation.sample(1200 * MS, srtt, 1, 2, MIN);
        assert_eq!(variation.deviation, 400 * MS);
    }
}
