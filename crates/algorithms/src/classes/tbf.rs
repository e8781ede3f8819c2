//! Token bucket filter: one class, held back to a rate.
//!
//! A bucket of `burst` bytes is full at the start and is filled at `rate`. The first packet goes
//! when the bucket holds its size. With `peakrate` a second bucket of `mtu` bytes, filled at that
//! rate, must hold it too.

use super::{ClassAlgorithm, ClassScheduler, Declared, Turn, sending_time};
use crate::meta::{About, Algorithm};
use crate::params::inconsistent;
use crate::scheduler::Backlog;
use crate::{Interval, NumberOr, Time, ValueError, parameters};

parameters! {
    /// Parameters of the token bucket filter.
    pub struct TbfParams {
        /// Sustained rate.
        rate: rate = required, in Interval::above(0.0), "Linux, tc-tbf(8): rate";
        /// Bytes that may go at once after a silence: at least the largest packet.
        burst: bytes = 15140.0, in Interval::between(64.0, 4e9), "ten Ethernet frames of 1514 B; Linux, tc-tbf(8): burst";
        /// The most that goes at a time, within the burst. "none": the rate of the link.
        peakrate: rate("none") = word "none", in Interval::above(0.0), "Linux, tc-tbf(8): peakrate";
        /// Bytes that may go faster than `peakrate`: at least the largest packet.
        mtu: bytes = 1514.0, in Interval::between(64.0, 4e9), "Linux, tc-tbf(8): mtu";
    }
}

parameters! {
    /// The class has no parameters.
    pub struct TbfClassParams {}
}

impl Algorithm for TbfParams {
    const ABOUT: About = About {
        kind: "tbf",
        title: "Token bucket filter",
        summary: "Holds one class back to a rate: a packet goes when a bucket of tokens holds its size.",
        citation: "Linux, tc-tbf(8)",
        ecn: false,
    };

    fn check(&self) -> Result<(), ValueError> {
        match self.peakrate {
            NumberOr::Number(peak) if peak <= self.rate => Err(inconsistent(
                "peakrate",
                peak,
                format!("above rate, {} bit/s", self.rate),
            )),
            _ => Ok(()),
        }
    }
}

impl ClassAlgorithm for TbfParams {
    type Class = TbfClassParams;
    type Scheduler = Tbf;

    const LEVELS: usize = 1;
    const CLASSES: usize = 1;

    fn class_rate(&self, _class: &TbfClassParams) -> Option<f64> {
        Some(self.rate)
    }

    fn build(&self, _classes: &[Declared<TbfClassParams>]) -> Tbf {
        let bucket = |rate, bytes| Bucket {
            rate,
            most: sending_time(bytes, rate),
            tokens: sending_time(bytes, rate),
        };
        Tbf {
            bucket: bucket(self.rate, self.burst),
            peak: match self.peakrate {
                NumberOr::Number(rate) => Some(bucket(rate, self.mtu)),
                NumberOr::Word(_) => None,
            },
            filled: Time::ZERO,
        }
    }
}

/// Tokens as the time in which they come, ps.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    rate: f64,
    most: i64,
    tokens: i64,
}

impl Bucket {
    /// Tokens left `passed` later when a packet of `size` bytes has gone.
    fn after(&self, passed: i64, size: u32) -> i64 {
        // a packet larger than the bucket goes when the bucket is full
        let cost = sending_time(f64::from(size), self.rate).min(self.most);
        self.tokens.saturating_add(passed).min(self.most) - cost
    }
}

/// A token bucket filter at work.
#[derive(Debug)]
pub struct Tbf {
    bucket: Bucket,
    peak: Option<Bucket>,
    /// When the buckets were last looked at.
    filled: Time,
}

impl ClassScheduler for Tbf {
    fn joined(&mut self, _now: Time, _class: usize, _backlog: &[Backlog]) {}

    fn next(&mut self, now: Time, backlog: &[Backlog]) -> Turn {
        let Some(queue) = backlog.first().filter(|queue| queue.packets > 0) else {
            return Turn::Idle;
        };
        if queue.head == 0 {
            return Turn::Peek(0);
        }
        let passed = (now.0 - self.filled.0) as i64;
        let left = self.bucket.after(passed, queue.head);
        let peak = self.peak.map_or(0, |peak| peak.after(passed, queue.head));
        match left.min(peak) {
            short if short < 0 => Turn::Wait(Time(now.0 + short.unsigned_abs())),
            _ => Turn::Send(0),
        }
    }

    fn sent(&mut self, now: Time, _class: usize, size: u32, _backlog: &[Backlog]) {
        let passed = (now.0 - self.filled.0) as i64;
        self.bucket.tokens = self.bucket.after(passed, size);
        if let Some(peak) = &mut self.peak {
            peak.tokens = peak.after(passed, size);
        }
        self.filled = now;
    }

    fn emptied(&mut self, _now: Time, _class: usize) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classes::test::Queues;

    #[test]
    fn a_burst_then_the_rate_and_never_above_the_peak() {
        let params = TbfParams {
            rate: 8e6,
            burst: 10_000.0,
            ..TbfParams::from_values(&[("rate".to_owned(), crate::Value::Number(8e6))]).unwrap()
        };
        let mut queues = Queues::new(params.build(&[]), 1);
        for _ in 0..12 {
            queues.put(0, 1000);
        }
        // 10 at once, then one a millisecond
        let times: Vec<u64> = std::iter::from_fn(|| queues.take())
            .map(|it| it.0.0)
            .collect();
        assert_eq!(times[..10], [0; 10]);
        assert_eq!(times[10..], [1_000_000_000, 2_000_000_000]);

        let peaked = TbfParams {
            peakrate: NumberOr::Number(16e6),
            mtu: 1000.0,
            ..params
        };
        let mut queues = Queues::new(peaked.build(&[]), 1);
        for _ in 0..30 {
            queues.put(0, 1000);
        }
        // half a millisecond each until 10,000 + 1000 t = 2000 t + 1000: 19 packets, then a millisecond
        let times: Vec<u64> = std::iter::from_fn(|| queues.take())
            .map(|it| it.0.0)
            .collect();
        for (place, time) in times[..19].iter().enumerate() {
            assert_eq!(*time, 500_000_000 * place as u64);
        }
        assert_eq!(times[20] - times[19], 1_000_000_000);
    }

    use crate::Parameters as _;
}
