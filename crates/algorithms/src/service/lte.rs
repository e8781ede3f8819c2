//! LTE: a transport block in each transmission time interval, repeated by HARQ until it arrives.
//!
//! Batches begin at multiples of `tti` only. Each takes as many bytes as the rate of the link gives
//! in an interval; a packet that does not fit goes on in the next one (segmentation by RLC) and arrives
//! with the block that has its last byte. What an interval does not use is lost.
//!
//! A block fails with probability `block_error`, again and again; each time it goes once more `harq_delay` later and
//! takes that interval. Later blocks that arrive before it wait for it (reordering by RLC), so that
//! nothing is lost or overtakes. In the long run 1 - `block_error` of the rate is left.
//!
//! A packet that comes to an idle transmitter waits `grant_delay` first: the scheduling request of
//! an uplink.
//!
//! Left out: other users of the cell, fading (give the link a rate over time), the control channel, limits on
//! repetitions (RLC in acknowledged mode then sends again, later still).

use std::collections::VecDeque;

use super::{BatchEnd, Service, ServiceAlgorithm};
use crate::meta::{About, Algorithm};
use crate::{Interval, Stream, Time, parameters};

parameters! {
    /// Parameters of LTE.
    pub struct LteParams {
        /// Transmission time interval.
        tti: time = 0.001, in Interval::between(1e-5, 1.0), "3GPP TS 36.211, section 4: a subframe";
        /// Probability that a transport block fails.
        block_error: number = 0.1, in Interval::between(0.0, 0.9), "3GPP TS 36.213, section 7.2.3: the target of link adaptation";
        /// Time from a transmission to its repetition, rounded up to whole intervals.
        harq_delay: time = 0.008, in Interval::between(1e-5, 10.0), "3GPP TS 36.213: FDD, synchronous, 8 subframes";
        /// Time for which the first packet after a silence waits for a grant: none downlink, 10 to 20 ms uplink.
        grant_delay: time = 0.0, in Interval::between(0.0, 10.0), "3GPP TS 36.213, section 10.1: requests every 5 to 80 ms, grants 4 ms later for 4 ms later";
    }
}

impl Algorithm for LteParams {
    const ABOUT: About = About {
        kind: "lte",
        title: "LTE",
        summary: "Sends a transport block each millisecond; blocks that fail are repeated 8 ms later, and later ones wait for them.",
        citation: "3GPP TS 36.211, 36.213, 36.321, 36.322",
        ecn: false,
    };
}

impl ServiceAlgorithm for LteParams {
    type Service = Cell;

    fn build(&self) -> Cell {
        Cell::new(
            self.tti,
            self.block_error,
            self.harq_delay,
            self.grant_delay,
        )
    }

    fn saturated_rate(&self, rate: f64, _size: u32) -> f64 {
        rate * (1.0 - self.block_error)
    }
}

/// A cellular link at work.
#[derive(Clone, Debug)]
pub struct Cell {
    tti: u64,
    harq_intervals: u64,
    block_error: f64,
    grant_delay: Time,
    /// Intervals that repetitions take, ascending.
    repetitions: VecDeque<u64>,
    /// The present interval.
    interval: u64,
    /// Bytes that the block has room for, and those of the packet before it that does not fit.
    room: f64,
}

impl Cell {
    pub(super) fn new(tti: f64, block_error: f64, harq_delay: f64, grant_delay: f64) -> Self {
        Self {
            tti: Time::from_seconds(tti).0.max(1),
            harq_intervals: (harq_delay / tti - 1e-9).ceil().max(1.0) as u64,
            block_error,
            grant_delay: Time::from_seconds(grant_delay),
            repetitions: VecDeque::new(),
            interval: 0,
            room: 0.0,
        }
    }
}

impl Service for Cell {
    fn opens(&mut self, now: Time, woken: bool) -> Time {
        let from = if woken { now + self.grant_delay } else { now };
        let mut interval = from.0.div_ceil(self.tti);
        let over = self.repetitions.partition_point(|it| *it < interval);
        for taken in self.repetitions.iter().skip(over) {
            if *taken > interval {
                break;
            }
            interval += 1;
        }
        Time(interval.saturating_mul(self.tti))
    }

    fn begin(&mut self, now: Time, rate: f64) {
        self.interval = now.0 / self.tti;
        let over = self.repetitions.partition_point(|it| *it < self.interval);
        self.repetitions.drain(..over);
        self.room += rate * Time(self.tti).seconds() / 8.0;
    }

    fn takes(&mut self, size: u32) -> bool {
        let left = self.room - f64::from(size);
        // a block that is exactly full must not fail to be so by rounding
        if left < -1e-6 {
            return false;
        }
        self.room = left.max(0.0);
        true
    }

    fn end(&mut self, waiting: bool, random: &mut Stream) -> BatchEnd {
        if !waiting {
            self.room = 0.0;
        }
        let mut last = self.interval;
        while random.uniform() < self.block_error {
            last += self.harq_intervals;
            let at = self.repetitions.partition_point(|taken| *taken < last);
            self.repetitions.insert(at, last);
        }
        BatchEnd {
            free: Time((self.interval + 1) * self.tti),
            delay: Time((last - self.interval) * self.tti),
        }
    }

    fn repeats(&self, from: Time) -> Option<(Time, Time)> {
        let mut free = 0;
        self.repetitions.iter().find_map(|taken| {
            let at = free.max(*taken);
            free = at + 1;
            let span = (Time(at * self.tti), Time(free * self.tti));
            (span.1 > from).then_some(span)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Owner, Parameters as _};

    const MS: u64 = 1_000_000_000;

    fn cell(block_error: f64) -> Cell {
        Cell::new(0.001, block_error, 0.008, 0.0)
    }

    #[test]
    fn blocks_begin_with_subframes() {
        let mut cell = Cell::new(0.001, 0.0, 0.008, 0.012);
        assert_eq!(cell.opens(Time(0), false), Time(0));
        assert_eq!(cell.opens(Time(1), false), Time(MS));
        assert_eq!(cell.opens(Time(3 * MS), false), Time(3 * MS));
        assert_eq!(cell.opens(Time(3 * MS + 5), true), Time(16 * MS)); // a grant first
    }

    /// At 20 Mbit/s a block has 2500 B: one packet of 1500 B, then two, as a thousand bytes of the
    /// second are there.
    #[test]
    fn packets_go_on_in_the_next_block() {
        let mut random = Stream::new(1, Owner::Service, 0);
        let mut cell = cell(0.0);
        let mut counts = Vec::new();
        for n in 0..6 {
            cell.begin(Time(n * MS), 20e6);
            let mut count = 0;
            while cell.takes(1500) {
                count += 1;
            }
            counts.push(count);
            let end = cell.end(true, &mut random);
            assert_eq!((end.free, end.delay), (Time((n + 1) * MS), Time(0)));
        }
        assert_eq!(counts, [1, 2, 2, 1, 2, 2]);
        // what nothing waits for is lost
        cell.begin(Time(6 * MS), 20e6);
        assert!(cell.takes(100));
        cell.end(false, &mut random);
        cell.begin(Time(7 * MS), 20e6);
        assert!(cell.takes(1500) && !cell.takes(1500));
    }

    /// A tenth of the blocks fail: nine tenths of the intervals are left for new ones, and a block is
    /// late by 8 ms / 9 on average.
    #[test]
    fn repetitions_take_their_intervals() {
        let mut random = Stream::new(1, Owner::Service, 0);
        let mut cell = cell(0.1);
        let blocks = 100_000_u64;
        let (mut now, mut late) = (Time::ZERO, 0);
        for _ in 0..blocks {
            let at = cell.opens(now, false);
            cell.begin(at, 1e6);
            let end = cell.end(true, &mut random);
            (now, late) = (end.free, late + end.delay.0);
        }
        let used = blocks as f64 / (now.0 / MS) as f64;
        assert!((used - 0.9).abs() < 0.004, "{used}"); // four standard deviations
        let mean = late as f64 / blocks as f64 / MS as f64;
        assert!((mean - 8.0 / 9.0).abs() < 0.04, "{mean}");
        // no interval between batches is idle
        let mut cell = Cell::new(0.001, 0.5, 0.008, 0.0);
        let mut free = Time::ZERO;
        for _ in 0..1000 {
            let at = cell.opens(free, false);
            while free < at {
                let (from, to) = cell.repeats(free).unwrap();
                assert!(from <= free && free < to, "{from:?} {free:?} {to:?}");
                free = to;
            }
            cell.begin(at, 1e6);
            free = cell.end(true, &mut random).free;
        }
        // and those that are taken are some of the next ones only
        assert!(cell.repetitions.len() < 40);
    }

    #[test]
    fn defaults_are_those_of_fdd() {
        let cell = LteParams::from_values(&[]).unwrap().build();
        assert_eq!((cell.tti, cell.harq_intervals), (MS, 8));
    }
}
