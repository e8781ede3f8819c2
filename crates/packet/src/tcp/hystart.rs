//! HyStart++ (RFC 9406): slow start that ends when the round trip grows, before losses end it.
//!
//! What the congestion control adds to its window in slow start is cut to a quarter in conservative slow start, and ssthresh becomes the window when
//! that has lasted five rounds.

const MS: u64 = 1_000_000_000;
// RFC 9406, section 4.3
//= RFC 9406 4.3/1: done, tests the_threshold, eight_samples_are_needed,
//=   five_rounds_of_conservative_growth_end_it, hystart_limits_an_ack_and_divides_growth
const MIN_RTT_THRESH: u64 = 4 * MS;
const MAX_RTT_THRESH: u64 = 16 * MS;
const MIN_RTT_DIVISOR: u64 = 8;
//= RFC 9406 4.3/2: done, test eight_samples_are_needed
const N_RTT_SAMPLE: u32 = 8;
/// Slow start grows by a segment for so many acknowledged in its conservative form.
pub(super) const CSS_GROWTH_DIVISOR: f64 = 4.0;
const CSS_ROUNDS: u32 = 5;
/// Segments of one ACK that may count where segments are not paced.
pub(super) const MAX_SEGMENTS_PER_ACK: u32 = 8;

/// Rounds and their round trips.
#[derive(Debug)]
pub(super) struct HyStart {
    /// The round ends when this segment is acknowledged.
    round_end: u64,
    last_round_min: u64,
    round_min: u64,
    samples: u32,
    /// Rounds of conservative slow start begun; 0: not in it.
    css_rounds: u32,
    css_baseline: u64,
}

impl HyStart {
    pub(super) fn new() -> Self {
        Self {
            round_end: 0,
            last_round_min: u64::MAX,
            round_min: u64::MAX,
            samples: 0,
            css_rounds: 0,
            css_baseline: u64::MAX,
        }
    }

    /// Whether growth is conservative now.
    pub(super) fn is_conservative(&self) -> bool {
        self.css_rounds > 0
    }

    /// Everything below `una` is acknowledged, `next` is the next new segment, `rtt` the sample
    /// (ps; 0: none). True when slow start is over.
    pub(super) fn on_ack(&mut self, una: u64, next: u64, rtt: u64) -> bool {
        if una > self.round_end {
            self.round_end = next;
            self.last_round_min = self.round_min;
            (self.round_min, self.samples) = (u64::MAX, 0);
            if self.css_rounds > 0 {
                if self.css_rounds == CSS_ROUNDS {
                    return true;
                }
                self.css_rounds += 1;
            }
        }
        if rtt == 0 {
            return false;
        }
        self.round_min = self.round_min.min(rtt);
        self.samples += 1;
        if self.samples < N_RTT_SAMPLE || self.last_round_min == u64::MAX {
            return false;
        }
        if self.css_rounds == 0 {
            let threshold =
                (self.last_round_min / MIN_RTT_DIVISOR).clamp(MIN_RTT_THRESH, MAX_RTT_THRESH);
            if self.round_min >= self.last_round_min + threshold {
                self.css_baseline = self.round_min;
                self.css_rounds = 1; // the round it begins in counts
            }
        } else if self.round_min < self.css_baseline {
            self.css_baseline = u64::MAX;
            self.css_rounds = 0;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A round of `acks` ACKs, each of two segments, with this round trip (ms). True if slow start
    /// ended in it.
    fn round(state: &mut HyStart, una: &mut u64, rtt: u64, acks: u64) -> bool {
        let next = *una + 2 * acks;
        let mut over = false;
        for _ in 0..acks {
            *una += 2;
            over |= state.on_ack(*una, next, rtt * MS);
        }
        over
    }

    /// RFC 9406, section 4.2: an eighth of the last round's least round trip, within 4 to 16 ms, is
    /// what the round trip must grow by.
    #[test]
    fn the_threshold() {
        for (base, stays, leaves) in [(16, 19, 20), (80, 89, 90), (400, 415, 416)] {
            for (rtt, conservative) in [(stays, false), (leaves, true)] {
                let (mut state, mut una) = (HyStart::new(), 0);
                round(&mut state, &mut una, base, 10);
                round(&mut state, &mut una, rtt, 10);
                assert_eq!(state.is_conservative(), conservative, "{base} {rtt}");
            }
        }
    }

    #[test]
    fn eight_samples_are_needed() {
        let (mut state, mut una) = (HyStart::new(), 0);
        round(&mut state, &mut una, 50, 10);
        round(&mut state, &mut una, 90, 7);
        assert!(!state.is_conservative());
        let (mut state, mut una) = (HyStart::new(), 0);
        round(&mut state, &mut una, 50, 10);
        round(&mut state, &mut una, 90, 8);
        assert!(state.is_conservative());
    }

    #[test]
    fn five_rounds_of_conservative_growth_end_it() {
        let (mut state, mut una) = (HyStart::new(), 0);
        round(&mut state, &mut una, 50, 10);
        for number in 0..5 {
            assert!(!round(&mut state, &mut una, 60 + number, 10), "{number}");
            assert!(state.is_conservative());
        }
        assert!(round(&mut state, &mut una, 70, 10));
    }

    /// The round trip falls below that at which conservative growth began: the queue was another's,
    /// slow start goes on.
    #[test]
    fn a_false_alarm_is_taken_back() {
        let (mut state, mut una) = (HyStart::new(), 0);
        round(&mut state, &mut una, 50, 10);
        round(&mut state, &mut una, 60, 10);
        assert!(state.is_conservative());
        round(&mut state, &mut una, 59, 10);
        assert!(!state.is_conservative());
        round(&mut state, &mut una, 70, 10);
        assert!(state.is_conservative());
    }
}
