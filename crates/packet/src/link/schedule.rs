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
    /// With the bits that each period carries up to the end of each step, once they were asked for.
    Trace(Arc<RateTrace>, Option<Arc<[f64]>>),
}

impl Rate {
    /// The rate at `time` and the time of the next change.
    fn get(&mut self, time: u64) -> (f64, u64) {
        match self {
            Self::Once(schedule) => schedule.get(time),
            Self::Trace(trace, _) => {
                let (rate, until) = trace.at(Time(time));
                (rate, until.0)
            }
        }
    }

    #[inline]
    fn value_at(&self, time: u64) -> f64 {
        match self {
            Self::Once(schedule) => schedule.value_at(time),
            Self::Trace(trace, _) => trace.at(Time(time)).0,
        }
    }

    /// Where a transmission stands shortly before its end that has `bits` to go at `from`: in which
    /// step, by its begin, and the bits left then. Whole periods of a trace are not walked through.
    /// What does not repeat it leaves as it is.
    #[cold]
    fn skip(&mut self, from: u64, bits: f64) -> (u64, f64) {
        let Self::Trace(trace, carried) = self else {
            return (from, bits);
        };
        let Some(period) = trace.repeat() else {
            return (from, bits);
        };
        let steps = trace.steps();
        let carried = carried.get_or_insert_with(|| {
            let ends = steps[1..].iter().map(|step| step.0).chain([period]);
            let mut sum = 0.0;
            let sums = steps.iter().zip(ends).map(|(step, end)| {
                sum += (end.0 - step.0.0) as f64 * 1e-12 * step.1;
                sum
            });
            sums.collect()
        });
        let before = |step: usize| if step == 0 { 0.0 } else { carried[step - 1] };
        let whole = carried[steps.len() - 1];
        let within = from % period.0;
        let at = steps.partition_point(|step| step.0.0 <= within) - 1;
        let sent = before(at) + (within - steps[at].0.0) as f64 * 1e-12 * steps[at].1;
        // counted from the begin of this period; what ends with a period belongs to it
        let bits = sent + bits;
        let periods = (libm::ceil(bits / whole) - 1.0).max(0.0);
        let begin = (from - within) as f64 + periods * period.0 as f64;
        if begin >= NEVER_PS as f64 {
            return (NEVER_PS.max(from), 0.0);
        }
        let rest = (bits - periods * whole).clamp(0.0, whole);
        let step = carried.partition_point(|&end| end < rest);
        let begin = from - within + periods as u64 * period.0 + steps[step].0.0;
        if begin <= from {
            // it ends in the step in which it stands
            return (from, bits - sent);
        }
        (begin, rest - before(step))
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

const FRACTIONS_PER_PS: f64 = 4_294_967_296.0;
/// 2^62 ps, 53 days: what a transmission takes while a trace's rate is zero; longer than any step.
const STANDSTILL_TIME: f64 = 4_611_686_018_427_387_904.0 * FRACTIONS_PER_PS;
/// 2^63 ps, 106 days: a transmission that would end later ends then, or over a trace in the step
/// after. Half of what a time can hold, so that no sum of times overflows; no run gets there.
pub(crate) const NEVER_PS: u64 = 1 << 63;
/// Steps of a trace that a transmission goes through one by one before it skips what repeats.
const MAX_SINGLE_STEPS: u32 = 1000;

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

    /// The earliest time from `time` on at which the rate is not zero.
    pub(crate) fn sends_from(&mut self, time: u64) -> u64 {
        let mut from = time;
        while from < NEVER_PS {
            let (rate, until) = self.rate.get(from);
            if rate > 0.0 {
                break;
            }
            from = until;
        }
        from
    }

    /// Transmissions that begin from `now` on go at another rate.
    pub(crate) fn set_rate(&mut self, now: u64, rate: f64) {
        if let Rate::Once(schedule) = &mut self.rate {
            schedule.push(now, rate);
            self.until = now;
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

    /// The rate at `time`, and until when it holds: [`NEVER_PS`] at most, so that a transmission that
    /// would end later is found without a further comparison.
    fn rate_before_never(&mut self, time: u64) -> (f64, u64) {
        let (rate, until) = self.rate.get(time);
        (rate, until.min(NEVER_PS))
    }

    #[cold]
    #[inline(never)]
    fn look_up(&mut self, start: u64, size: u32) {
        if start >= self.until {
            (self.present, self.until) = self.rate_before_never(start);
        }
        let time =
            (f64::from(size) * 8e12 / self.present * FRACTIONS_PER_PS).min(STANDSTILL_TIME) as u128;
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
        let mut steps = 0;
        while from < NEVER_PS {
            let (rate, until) = self.rate_before_never(from);
            (self.present, self.until) = (rate, until);
            self.cached_size = 0;
            let end = bits * 1e12 / rate;
            if from as f64 + end <= until as f64 {
                return from + (end + 0.5) as u64;
            }
            bits -= (until - from) as f64 * 1e-12 * rate;
            from = until;
            steps += 1;
            if steps == MAX_SINGLE_STEPS {
                (from, bits) = self.rate.skip(from, bits);
            }
        }
        from
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

    /// A packet of 65,535 B takes six days at 1 bit/s: the times of 36 in one queue were beyond what
    /// a time can hold, and the next one left at once.
    #[test]
    fn queues_of_months_end_never() {
        let mut slow = Transmitter::new(Rate::Once(Schedule::new(1.0)));
        let mut free = 0;
        for packet in 1..100_u64 {
            free = slow.finish(free, 65_535, packet > 1);
            assert_eq!(
                free,
                packet.saturating_mul(524_280_000_000_000_000).min(NEVER_PS)
            );
        }
    }

    /// A trace that repeats every `repeat`.
    fn repeating(steps: &str, repeat: &str) -> Transmitter {
        let text = format!(
            "[scenario]\nduration = \"1 s\"\n[[link]]\nname = \"a\"\nrate = {{ steps = {steps}, repeat = \"{repeat}\" }}\n\
             [[flows]]\npath = [\"a\"]\nrtt = \"9 ms\"\n"
        );
        let scenario = ackclock_scenario::parse(&text, "test").unwrap();
        let trace = scenario.links[0].trace.clone().unwrap();
        Transmitter::new(Rate::Trace(trace, None))
    }

    #[test]
    fn periods_without_number_are_not_walked_through() {
        // 1.001e-6 bits every 30 days: a packet of 1500 B would have taken 12,000,000,000 periods
        let mut transmitter = repeating(
            r#"[["0 s", "1 bit/s"], ["1.001 us", "0 bit/s"]]"#,
            "2592000 s",
        );
        let never = transmitter.finish(0, 1500, false);
        assert!(never >= NEVER_PS);
        assert_eq!(transmitter.finish(never, 1500, true), never);
        // 0.136383 bits every 5 s: 12,000 bits end in period 87,987, which has 0.13168.. to send
        let mut transmitter =
            repeating(r#"[["0 s", "1690 bit/s"], ["80.7 us", "0 bit/s"]]"#, "5 s");
        let (whole, second) = (1690.0 * 80.7e-6, 1_000_000_000_000_u64);
        let periods = (12_000.0_f64 / whole).floor();
        let rest = (12_000.0 - periods * whole) / 1690.0 * 1e12;
        let expected = periods as u64 * 5 * second + rest as u64;
        let finish = transmitter.finish(0, 1500, false);
        assert!(
            finish.abs_diff(expected) < 10_000,
            "{finish} and {expected}"
        );
        // the next one goes on from there
        let next = transmitter.finish(finish, 1500, true);
        assert!(next.abs_diff(2 * expected) < 6 * second, "{next}");
    }

    /// Periods that are skipped and those that are walked through end at the same time, within what
    /// the sums of the walk lose: a picosecond a step.
    #[test]
    fn skipped_periods_end_as_walked_ones() {
        for size in [1, 40, 1500, 65_000] {
            for (start, steps) in [
                (
                    0,
                    r#"[["0 s", "3 Mbit/s"], ["1 ms", "0 bit/s"], ["2 ms", "1 kbit/s"]]"#,
                ),
                (
                    2_500_000_000,
                    r#"[["0 s", "0 bit/s"], ["1 ms", "7 bit/s"], ["2 ms", "0 bit/s"]]"#,
                ),
                (
                    999_999_999,
                    r#"[["0 s", "1 bit/s"], ["1 ms", "2 bit/s"], ["2 ms", "9 bit/s"]]"#,
                ),
            ] {
                let mut walked = repeating(steps, "3 ms").rate;
                let mut skipped = walked.clone();
                let mut from = start;
                let mut bits = f64::from(size) * 0.08;
                let (at, left) = skipped.skip(start, bits);
                let looked_up = skipped.get(at);
                let end = at as f64 + left.max(0.0) * 1e12 / looked_up.0;
                assert!(looked_up.0 > 0.0 && end <= looked_up.1 as f64 + 1.0);
                let expected = loop {
                    let (rate, until) = walked.get(from);
                    let end = from as f64 + bits * 1e12 / rate;
                    if end <= until as f64 {
                        break end;
                    }
                    bits -= (until - from) as f64 * 1e-12 * rate;
                    from = until;
                };
                assert!((end / expected - 1.0).abs() < 1e-9, "{end} and {expected}");
            }
        }
    }
}
