//! A link's rate and delay over time: known from the scenario, so that a departure is known at
//! arrival.

use std::sync::Arc;

use ackclock_algorithms::Time;
use ackclock_scenario::RateTrace;

/// A value that is constant between known times.
#[derive(Clone, Debug)]
pub(crate) struct Schedule<T> {
    /// `(from, value)`, ascending; the first from 0.
    pieces: Vec<(u64, T)>,
    at: usize,
}

impl<T: Copy> Schedule<T> {
    pub(crate) fn new(initial: T) -> Self {
        Self {
            pieces: vec![(0, initial)],
            at: 0,
        }
    }

    /// Adds a later piece; at an equal time the later one counts.
    pub(crate) fn push(&mut self, from: u64, value: T) {
        match self.pieces.last_mut() {
            Some(last) if last.0 == from => last.1 = value,
            _ => self.pieces.push((from, value)),
        }
    }

    /// The value at `time` and the time of the next change. Times asked for never go back.
    #[inline]
    pub(crate) fn get(&mut self, time: u64) -> (T, u64) {
        loop {
            let until = self
                .pieces
                .get(self.at + 1)
                .map_or(u64::MAX, |piece| piece.0);
            if time < until {
                return (self.pieces[self.at].1, until);
            }
            self.at += 1;
        }
    }

    /// Whether it never changes.
    pub(crate) fn is_constant(&self) -> bool {
        self.pieces.len() == 1
    }

    /// The value at `time`, wherever the cursor stands.
    pub(crate) fn value_at(&self, time: u64) -> T {
        let after = self.pieces.partition_point(|piece| piece.0 <= time);
        self.pieces[after.max(1) - 1].1
    }
}

/// A rate over time (bit/s): pieces that come once, or a trace that may repeat.
#[derive(Clone, Debug)]
pub(crate) enum Rate {
    Once(Schedule<f64>),
    Trace(Arc<RateTrace>),
}

impl Rate {
    /// The rate at `time` and the time of the next change.
    fn get(&mut self, time: u64) -> (f64, u64) {
        match self {
            Self::Once(schedule) => schedule.get(time),
            Self::Trace(trace) => {
                let (rate, until) = trace.at(Time(time));
                (rate, until.0)
            }
        }
    }

    #[inline]
    fn value_at(&self, time: u64) -> f64 {
        match self {
            Self::Once(schedule) => schedule.value_at(time),
            Self::Trace(trace) => trace.at(Time(time)).0,
        }
    }
}

/// Transmission at a rate (bit/s) that may change: exact, with the fraction of a picosecond carried
/// from packet to packet.
#[derive(Clone, Debug)]
pub(crate) struct Transmitter {
    rate: Rate,
    /// Transmission time of `cached_size` bytes at the present rate, ps, and its fraction in 2^-32
    /// ps.
    cached: (u64, u32),
    cached_size: u32,
    /// Until when the cached rate holds.
    until: u64,
    present: f64,
    /// Fraction of a picosecond by which the last departure was rounded down, in 2^-32 ps.
    fraction: u32,
}

const FRACTION: f64 = 4_294_967_296.0;
/// 2^63 ps: what a transmission takes while a trace's rate is zero; longer than any other.
const STANDSTILL: f64 = 9_223_372_036_854_775_808.0 * FRACTION;

impl Transmitter {
    pub(crate) fn new(rate: Rate) -> Self {
        let present = rate.value_at(0);
        Self {
            rate,
            cached: (0, 0),
            cached_size: 0,
            until: 0,
            present,
            fraction: 0,
        }
    }

    /// Rate at `time`, bit/s.
    #[inline]
    pub(crate) fn rate_at(&self, time: u64) -> f64 {
        match &self.rate {
            Rate::Once(schedule) if schedule.pieces.len() == 1 => schedule.pieces[0].1,
            rate => rate.value_at(time),
        }
    }

    /// When a packet of `size` bytes whose transmission begins at `start` has left; `follows`: it
    /// begins as the one before it ends.
    #[inline(always)]
    pub(crate) fn finish(&mut self, start: u64, size: u32, follows: bool) -> u64 {
        if start >= self.until || size != self.cached_size {
            self.look_up(start, size);
        }
        let carried = if follows { self.fraction } else { 0 };
        let (whole, fraction) = self.cached;
        let fraction = u64::from(carried) + u64::from(fraction);
        let finish = start + whole + (fraction >> 32);
        if finish > self.until {
            return self.finish_across(start, size);
        }
        self.fraction = fraction as u32;
        finish
    }

    #[cold]
    #[inline(never)]
    fn look_up(&mut self, start: u64, size: u32) {
        if start >= self.until {
            (self.present, self.until) = self.rate.get(start);
        }
        let time = (f64::from(size) * 8e12 / self.present * FRACTION).min(STANDSTILL) as u128;
        self.cached = ((time >> 32) as u64, time as u32);
        self.cached_size = size;
    }

    /// The same when the rate changes on the way.
    #[cold]
    #[inline(never)]
    fn finish_across(&mut self, start: u64, size: u32) -> u64 {
        let mut bits = f64::from(size) * 8.0;
        let mut from = start;
        self.fraction = 0;
        loop {
            let (rate, until) = self.rate.get(from);
            (self.present, self.until) = (rate, until);
            self.cached_size = 0;
            let end = bits * 1e12 / rate;
            if from as f64 + end <= until as f64 {
                return from + (end + 0.5) as u64;
            }
            bits -= (until - from) as f64 * 1e-12 * rate;
            from = until;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_of_a_picosecond_are_not_lost() {
        // 40 B at 99.7 Gbit/s: 3209.6 ps
        let mut transmitter = Transmitter::new(Rate::Once(Schedule::new(99.7e9)));
        let mut time = 0;
        for _ in 0..1_000_000 {
            time = transmitter.finish(time, 40, true);
        }
        let exact = 1e6 * 320.0 / 99.7e9 * 1e12;
        assert!((time as f64 - exact).abs() < 2.0, "{time} against {exact}");
    }

    #[test]
    fn a_packet_sees_the_rate_change_under_way() {
        let mut rate = Schedule::new(1e6);
        rate.push(1_000_000_000, 2e6);
        let mut transmitter = Transmitter::new(Rate::Once(rate));
        // 2000 bits: 1000 in the first millisecond, 1000 more in half of one
        assert_eq!(transmitter.finish(0, 250, false), 1_500_000_000);
        assert_eq!(transmitter.finish(1_500_000_000, 250, true), 2_500_000_000);
    }
}
