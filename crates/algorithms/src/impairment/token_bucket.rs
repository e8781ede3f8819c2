//! Token buckets: what conforms to a rate and a burst, to shape or to police.
//!
//! A bucket holds `burst` bytes of tokens, is full at the start and is filled at `rate`. A packet
//! conforms when the bucket holds its size, which it then takes. Kept as the time at which the
//! bucket will be full again (the virtual scheduling of ITU-T I.371), so that no tokens are ever
//! rounded away.

use crate::meta::{About, Algorithm};
use crate::{Interval, Time, choices, parameters};

choices! {
    /// When a shaper lets a packet go, by the names of Linux's queueing disciplines.
    pub enum Discipline {
        /// When the bucket holds its size. It leaves the queue before: the shaper holds one packet.
        Tbf = "tbf",
        /// When the bucket is not overdrawn, whatever its size, which is then taken. It stays in
        /// the queue until then.
        Htb = "htb",
    }
}

parameters! {
    /// Parameters of a shaper.
    pub struct ShaperParams {
        /// Sustained rate.
        rate: rate = required, in Interval::above(0.0), "RFC 2697, section 3: committed information rate";
        /// Bytes that may go at the link's own rate after a silence: at least the largest packet,
        /// but for `"htb"`.
        burst: bytes = 15140.0, in Interval::between(1.0, 4e9), "ten Ethernet frames of 1514 B; RFC 2697, section 3: committed burst size";
        /// When a packet goes: `"tbf"`, when the bucket holds its size, having left the queue
        /// before; `"htb"`, when the bucket is not overdrawn, out of the queue, so that a packet
        /// more than the burst goes after a silence.
        discipline: choice(Discipline) = Tbf, "Linux 6.1, sch_tbf.c (tbf_dequeue), sch_htb.c (htb_class_mode, htb_charge_class)";
    }
}

impl Algorithm for ShaperParams {
    const ABOUT: About = About {
        kind: "shaper",
        title: "Token-bucket shaper",
        summary: "Holds packets back until a token bucket covers them: a sustained rate below the link's own, which bursts still reach.",
        citation: "J. Turner, New directions in communications, IEEE Communications Magazine 24(10), 1986",
        ecn: false,
    };
}

parameters! {
    /// Parameters of a policer.
    pub struct PolicerParams {
        /// Rate that conforms.
        rate: rate = required, in Interval::above(0.0), "RFC 2697, section 3: committed information rate";
        /// Bytes above the rate that conform after a silence: at least the largest packet.
        burst: bytes = required, in Interval::between(1.0, 4e9), "RFC 2697, section 3: committed burst size";
    }
}

impl Algorithm for PolicerParams {
    const ABOUT: About = About {
        kind: "policer",
        title: "Token-bucket policer",
        summary: "Drops packets before the queue that a token bucket does not cover.",
        citation: "J. Turner, New directions in communications, IEEE Communications Magazine 24(10), 1986; RFC 2697, one colour",
        ecn: false,
    };
}

/// A token bucket at work.
#[derive(Clone, Copy, Debug)]
pub struct TokenBucket {
    /// Time that a byte's tokens take, 2^-32 ps.
    per_byte: u128,
    burst: u32,
    /// When the bucket will be full if nothing more is taken, 2^-32 ps.
    full_at: u128,
}

impl TokenBucket {
    /// A full bucket of `burst` bytes that is filled at `rate` bit/s.
    #[must_use]
    pub fn new(rate: f64, burst: f64) -> Self {
        Self {
            // at most 8e12 ps a byte (1 bit/s), below 2^75 in these units
            per_byte: (8e12 / rate * 4_294_967_296.0) as u128,
            burst: burst as u32,
            full_at: 0,
        }
    }

    /// The earliest time from `now` on at which a packet of `size` bytes conforms; a packet larger
    /// than the burst when the bucket is full.
    #[must_use]
    pub fn conforms_at(&self, now: Time, size: u32) -> Time {
        let spare = u128::from(self.burst.saturating_sub(size)) * self.per_byte;
        let at = self.full_at.saturating_sub(spare).div_ceil(1 << 32);
        Time(at as u64).max(now)
    }

    /// The earliest time from `now` on at which the bucket is not overdrawn.
    #[must_use]
    pub fn settled_at(&self, now: Time) -> Time {
        self.conforms_at(now, 0)
    }

    /// When the bucket will be full if nothing more is taken.
    #[must_use]
    pub fn full_at(&self) -> Time {
        Time(self.full_at.div_ceil(1 << 32) as u64)
    }

    /// Takes the tokens of a packet that is sent at `now`.
    pub fn take(&mut self, now: Time, size: u32) {
        let now = u128::from(now.0) << 32;
        self.full_at = self.full_at.max(now) + u128::from(size) * self.per_byte;
    }

    /// Whether a packet conforms at `now`; if so its tokens are taken.
    pub fn admits(&mut self, now: Time, size: u32) -> bool {
        let admitted = size <= self.burst && self.conforms_at(now, size) == now;
        if admitted {
            self.take(now, size);
        }
        admitted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = Time::PER_SECOND / 1000;

    #[test]
    fn a_burst_then_the_rate() {
        // 8 Mbit/s: a byte a microsecond
        let mut bucket = TokenBucket::new(8e6, 3000.0);
        let mut now = Time::ZERO;
        let mut times = Vec::new();
        for _ in 0..5 {
            now = bucket.conforms_at(now, 1000);
            bucket.take(now, 1000);
            times.push(now.0 / MS);
        }
        assert_eq!(times, [0, 0, 0, 1, 2]);
        // 10 ms of silence fill it again, not more
        now = Time(now.0 + 10 * MS);
        let mut sent = 0;
        while bucket.admits(now, 1000) {
            sent += 1;
        }
        assert_eq!(sent, 3);
        assert!(!bucket.admits(Time(now.0 + MS - 1), 1000));
        assert!(bucket.admits(Time(now.0 + MS), 1000));
    }

    /// Over every interval of length T at most rate T + burst bytes conform, and a saturated bucket
    /// lets rate T pass without loss by rounding.
    #[test]
    fn conformity_over_every_interval() {
        let (rate, burst) = (7.3e6, 5000.0);
        let mut bucket = TokenBucket::new(rate, burst);
        let sizes = [1500, 40, 576, 1500, 1200, 40, 999];
        let mut now = Time::ZERO;
        let mut sent = Vec::new();
        for k in 0..3000 {
            let size = sizes[k % sizes.len()];
            // now and then a pause that fills the bucket in part
            let wish = Time(now.0 + if k % 50 == 0 { 3 * MS } else { 0 });
            now = bucket.conforms_at(wish, size);
            bucket.take(now, size);
            sent.push((now, f64::from(size)));
        }
        for from in (0..sent.len()).step_by(7) {
            let mut bytes = 0.0;
            for (time, size) in &sent[from..] {
                bytes += size;
                let span = Time(time.0 - sent[from].0.0).seconds();
                assert!(
                    bytes <= rate / 8.0 * span + burst + 1e-3,
                    "{bytes} B in {span} s"
                );
            }
        }
        let mut bucket = TokenBucket::new(rate, burst);
        let mut now = Time::ZERO;
        for _ in 0..1_000_000 {
            now = bucket.conforms_at(now, 100);
            bucket.take(now, 100);
        }
        let exact = (1e6 * 100.0 - burst) * 8.0 / rate;
        assert!(
            (now.seconds() - exact).abs() < 1e-9,
            "{} against {exact}",
            now.seconds()
        );
    }

    /// With a burst of one packet two go at once, then one in each transmission time; a packet's
    /// own size does not count.
    #[test]
    fn a_bucket_that_may_be_overdrawn() {
        let mut bucket = TokenBucket::new(8e6, 1000.0);
        let mut now = Time::ZERO;
        let mut times = Vec::new();
        for size in [1000, 1000, 1000, 1500, 40, 1000] {
            now = bucket.settled_at(now);
            bucket.take(now, size);
            times.push(now.0 / (MS / 1000));
        }
        assert_eq!(times, [0, 0, 1000, 2000, 3500, 3540]);
        assert_eq!(bucket.full_at(), Time(5540 * (MS / 1000)));
    }

    #[test]
    fn a_packet_larger_than_the_burst() {
        let mut bucket = TokenBucket::new(8e6, 1000.0);
        assert!(!bucket.admits(Time::ZERO, 1001));
        // a shaper sends it when the bucket is full
        bucket.take(Time::ZERO, 1500);
        assert_eq!(bucket.conforms_at(Time::ZERO, 1500), Time(1_500_000_000));
    }
}
