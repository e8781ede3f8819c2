//! When the next segment of a paced sender may leave.

use ackclock_algorithms::Time;
use ackclock_algorithms::congestion::CongestionControl as _;

use super::{Config, Sender};

impl Sender {
    /// A segment leaves: when the next one may. Where the algorithm has no rate of its own the
    /// window is spread over the round trip, with 20 % to spare, and twice that in the first half
    /// of slow start, so that the window and not the pace limits (as Linux does it).
    #[cold]
    #[inline(never)]
    pub(super) fn pace(&mut self, now: u64, config: &Config) {
        let rate = self.controller.pacing_rate().or_else(|| {
            let gain = if self.window.cwnd < self.window.ssthresh / 2.0 {
                2.0
            } else {
                1.2
            };
            let window = self.window.cwnd.max(self.outstanding() as f64);
            (self.rtt.srtt > 0).then(|| gain * window / Time(self.rtt.srtt).seconds())
        });
        if let Some(rate) = rate {
            let mut gap = Time::from_seconds(1.0 / rate).0;
            if config.pacing_credit {
                // what leaves later than it may shortens the gap after it, by half at most
                gap -= now.saturating_sub(self.next_send).min(gap / 2);
            }
            self.next_send = now.saturating_add(gap);
        }
    }
}
