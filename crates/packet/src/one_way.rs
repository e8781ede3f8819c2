//! Measurements by the receivers of a class of its packets on their way: one-way delay and its
//! variation.
//!
//! A packet's one-way delay lasts from its sending by the source, before the source's access link,
//! to its arrival at the destination (RFC 7679). It counts when it arrives. Packets that are lost
//! have none.

use std::cell::RefCell;

use crate::probe::Histogram;

/// Bins an octave: percentiles are known to 0.8 %. Of a long path the queue is a small part.
const BINS_PER_OCTAVE: u64 = 128;

/// Turns of a wheel from one segment to the next, as a part of 2^32: one in 32.36 (twenty times the
/// golden ratio), which is no near multiple of any rhythm that a sender may have.
const WHEEL_TURN: u32 = 132_721_787;

/// Whether segment `seq` of an endless flow is measured: of each turn the first two, neighbours.
/// That is one in sixteen; to measure every packet would take 8 % more instructions.
#[inline(always)]
pub(crate) fn is_chosen(seq: u64) -> bool {
    (seq as u32).wrapping_mul(WHEEL_TURN) < 2 * WHEEL_TURN
}

/// One-way delays of a class in the measurement window.
#[derive(Debug)]
pub(crate) struct OneWay {
    /// Whether every packet is measured, and not only those that [`is_chosen`] names.
    every: bool,
    /// Whether neighbours belong to one stream: not where connections follow one another.
    pub(crate) streams: bool,
    /// Shared by all who record an arrival: they hold the class, and never two of them at a time.
    tally: RefCell<Tally>,
}

#[derive(Debug)]
struct Tally {
    delays: Histogram<BINS_PER_OCTAVE>,
    /// Smallest delay, ps.
    least: u64,
    /// Absolute differences in delay of neighbours, ps, and their number.
    differences: u128,
    pairs: u64,
}

/// The packet of a flow that was measured last.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Latest {
    /// Number of its neighbour, which comes next; 0: none was measured.
    next: u64,
    delay: u64,
}

impl OneWay {
    pub(crate) fn new(every: bool, streams: bool) -> Self {
        Self {
            every,
            streams,
            tally: RefCell::new(Tally {
                delays: Histogram::default(),
                least: u64::MAX,
                differences: 0,
                pairs: 0,
            }),
        }
    }

    /// Whether segment `seq` is measured.
    #[inline(always)]
    pub(crate) fn measures(&self, seq: u64) -> bool {
        self.every || is_chosen(seq)
    }

    /// Packet `number` of a flow, in order of arrival and from 1, has taken `delay`.
    #[inline]
    pub(crate) fn record(&self, latest: &mut Latest, number: u64, delay: u64) {
        let tally = &mut *self.tally.borrow_mut();
        tally.delays.record(delay);
        tally.least = tally.least.min(delay);
        if self.streams && latest.next == number {
            tally.differences += u128::from(delay.abs_diff(latest.delay));
            tally.pairs += 1;
        }
        *latest = Latest {
            next: number + 1,
            delay,
        };
    }

    /// Results of a class whose receivers got `received` packets.
    pub(crate) fn outcome(&self, received: u64) -> crate::ClassOutcome {
        let tally = self.tally.borrow();
        let delays = &tally.delays;
        crate::ClassOutcome {
            received,
            measured: delays.count(),
            delay_mean: delays.mean(),
            delay_min: if delays.count() == 0 {
                f64::NAN
            } else {
                tally.least as f64 * 1e-12
            },
            delay_percentiles: [0.50, 0.95, 0.99].map(|fraction| delays.percentile(fraction)),
            delay_max: delays.max(),
            jitter: tally.differences as f64 * 1e-12 / tally.pairs as f64,
            delay_histogram: delays.bins(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_chosen_in_any_rhythm() {
        for period in [1, 2, 7, 16, 20, 32, 33, 64, 89] {
            for phase in 0..period {
                let numbers = (0..200_000).map(|k| k * period + phase);
                let chosen = numbers.filter(|&number| is_chosen(number)).count();
                assert!(
                    (chosen as f64 / 200_000.0 * 16.18 - 1.0).abs() < 0.02,
                    "{chosen} of 200,000, phase {phase} of {period}"
                );
            }
        }
        let begins: Vec<u64> = (1..10_000)
            .filter(|&k| is_chosen(k) && !is_chosen(k - 1))
            .collect();
        assert!(
            begins
                .iter()
                .all(|&k| is_chosen(k + 1) && !is_chosen(k + 2))
        );
    }

    #[test]
    fn only_neighbours_are_compared() {
        let class = OneWay::new(true, true);
        let mut latest = Latest::default();
        for (number, delay) in [(1, 500), (2, 900), (4, 100), (5, 50)] {
            class.record(&mut latest, number, delay * 1_000_000);
        }
        let outcome = class.outcome(5);
        assert_eq!((outcome.received, outcome.measured), (5, 4));
        assert!((outcome.jitter - 225e-6).abs() < 1e-15);
        assert!((outcome.delay_mean - 387.5e-6).abs() < 1e-15);
        let (least, most) = (outcome.delay_min / 50e-6, outcome.delay_max / 900e-6);
        assert!((least - 1.0).abs() < 1e-12 && (most - 1.0).abs() < 1e-12);
    }
}
