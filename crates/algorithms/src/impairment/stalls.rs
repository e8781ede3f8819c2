//! Stalls: times in which a link begins no transmission, as in handovers.
//!
//! They come at random, `interval` of sending apart on average (exponential), and last between
//! `shortest` and `longest` (uniform). What is being sent when one begins is sent to its end.

use crate::meta::{About, Algorithm};
use crate::params::inconsistent;
use crate::{Interval, Stream, Time, ValueError, parameters};

parameters! {
    /// Parameters of stalls.
    pub struct StallParams {
        /// Mean time between the end of a stall and the next one.
        interval: time = required, in Interval::between(1e-3, 1e6), "the link: handovers of a ride, for example";
        /// Shortest stall.
        shortest: time = 0.3, in Interval::between(0.0, 100.0), "assumption: a handover that fails is some hundred milliseconds";
        /// Longest stall.
        longest: time = 2.5, in Interval::between(0.0, 100.0), "assumption: a radio link that fails is made anew in seconds (3GPP TS 36.331, T310 and T311)";
    }
}

impl Algorithm for StallParams {
    const ABOUT: About = About {
        kind: "stalls",
        title: "Stalls",
        summary: "Times in which a link sends nothing, at random.",
        citation: "3GPP TS 36.331, section 5.3.11",
        ecn: false,
    };

    fn check(&self) -> Result<(), ValueError> {
        if self.shortest <= self.longest {
            return Ok(());
        }
        let allowed = "no longer than `longest`".to_owned();
        Err(inconsistent("shortest", self.shortest, allowed))
    }
}

impl StallParams {
    /// Long-run fraction of time in which the link may send.
    #[must_use]
    pub fn open_share(&self) -> f64 {
        self.interval / (self.interval + 0.5 * (self.shortest + self.longest))
    }
}

/// Stalls of a link.
#[derive(Clone, Debug)]
pub struct Stalls {
    params: StallParams,
    random: Stream,
    /// Begin and end of the next one that is not over.
    next: (Time, Time),
}

impl Stalls {
    /// Stalls that are drawn from `random`.
    #[must_use]
    pub fn new(params: StallParams, random: Stream) -> Self {
        let mut stalls = Self {
            params,
            random,
            next: (Time::ZERO, Time::ZERO),
        };
        stalls.draw();
        stalls
    }

    fn draw(&mut self) {
        let StallParams {
            interval,
            shortest,
            longest,
        } = self.params;
        let gap = self.random.exponential(interval);
        let length = shortest + (longest - shortest) * self.random.uniform();
        let begin = self.next.1 + Time::from_seconds(gap);
        self.next = (begin, begin + Time::from_seconds(length));
    }

    /// The earliest time from `now` on at which a transmission may begin. Times asked for never go back.
    pub fn open_from(&mut self, now: Time) -> Time {
        while self.next.1 <= now {
            self.draw();
        }
        if self.next.0 <= now { self.next.1 } else { now }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Owner;

    #[test]
    fn stalls_take_their_share_of_time() {
        let params = StallParams {
            interval: 10.0,
            shortest: 0.3,
            longest: 2.5,
        };
        let mut stalls = Stalls::new(params, Stream::new(1, Owner::Stalls, 0));
        let (mut open, mut lengths, mut now) = (0, Vec::new(), Time::ZERO);
        for _ in 0..1_000_000 {
            let from = stalls.open_from(now);
            if from == now {
                open += 1;
            } else if lengths.last() != Some(&stalls.next) {
                lengths.push(stalls.next);
            }
            now += Time::from_seconds(0.1);
        }
        let share = f64::from(open) / 1e6;
        // 8800 stalls of mean 1.4 s
        assert!((share - params.open_share()).abs() < 0.006, "{share}");
        let times: Vec<f64> = lengths
            .iter()
            .map(|it| it.1.since(it.0).seconds())
            .collect();
        assert!(times.iter().all(|it| (0.3..=2.5).contains(it)));
        let mean = times.iter().sum::<f64>() / times.len() as f64;
        assert!((mean - 1.4).abs() < 0.03, "{mean}");
    }
}
