//! When the next segment of a paced sender may leave.

use ackclock_algorithms::Time;
use ackclock_algorithms::congestion::CongestionControl as _;

use super::config::PacingPolicy;
use super::{Config, Sender};

/// Linux paces after this segment of a connection (`tcp_update_skb_after_send`).
const UNPACED: u64 = 10;

impl Sender {
    /// A segment leaves: when the next one may. Where the algorithm has no rate of its own the
    /// window is spread over the round trip, with 20 % to spare, and twice that in the first half
    /// of slow start, so that the window and not the pace limits (as Linux does it).
    #[cold]
    #[inline(never)]
    pub(super) fn pace(&mut self, now: u64, config: &Config) {
        if self.resume.is_none()
            && config.resume.is_some()
            && config.pacing == PacingPolicy::OnRequest
            && !self.needs.pacing
        {
            self.paced = false;
            return;
        }
        let rate = self.controller.pacing_rate().or_else(|| {
            if let Some(resume) = &self.resume {
                if let Some(rate) = resume.pacing_rate() {
                    return Some(rate);
                }
                if config.pacing == PacingPolicy::OnRequest {
                    return None;
                }
            }
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
            let burst = self.controller.pacing_burst();
            if burst > 1 {
                self.pace_burst(now, gap, burst);
                return;
            }
            if config.linux_pacing {
                if self.high < UNPACED {
                    return;
                }
                // what leaves later than it may shortens the gap after it, by half at most
                gap -= now.saturating_sub(self.next_send).min(gap / 2);
            }
            self.next_send = now.saturating_add(gap);
        }
    }

    /// The same where `burst` segments leave together: the gap after them is that of all.
    fn pace_burst(&mut self, now: u64, gap: u64, burst: u32) {
        if self.burst.1 == 0 || self.next_send != now {
            self.burst = (0, burst);
        }
        self.burst.0 += gap;
        self.burst.1 -= 1;
        self.next_send = now;
        if self.burst.1 == 0 {
            self.end_burst();
        }
    }

    /// A burst is over, full or not.
    pub(super) fn end_burst(&mut self) {
        self.next_send = self.next_send.saturating_add(self.burst.0);
        self.burst = (0, 0);
    }
}
