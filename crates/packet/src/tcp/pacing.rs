//! When the next segment of a paced sender may leave.

use ackclock_algorithms::Time;
use ackclock_algorithms::congestion::CongestionControl as _;

use super::config::PacingPolicy;
use super::{Config, Sender};

/// Linux paces after this segment of a connection (`tcp_update_skb_after_send`).
const UNPACED_SEGMENTS: u64 = 10;

/// When the segments of a paced sender leave.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pacer {
    on: bool,
    /// When the next segment may leave, by the sender's clock.
    next: u64,
    /// The gap that the burst under way asks for, ps, and segments that it may still have.
    gap: u64,
    left: u32,
}

impl Pacer {
    pub(super) fn new(on: bool) -> Self {
        Self {
            on,
            next: 0,
            gap: 0,
            left: 0,
        }
    }

    /// Whether segments are paced.
    #[inline(always)]
    pub(super) fn is_on(&self) -> bool {
        self.on
    }

    /// When the next segment may leave; zero where segments are not paced.
    #[inline(always)]
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// The next segment may leave at `now`.
    pub(super) fn release(&mut self, now: u64) {
        self.next = now;
    }

    /// A segment leaves, and the next one `gap` after it. As in Linux, what leaves later than it
    /// may shortens the gap after it, by half at most, if that is `shortened`.
    fn space(&mut self, now: u64, mut gap: u64, shortened: bool) {
        if shortened {
            gap -= now.saturating_sub(self.next).min(gap / 2);
        }
        self.next = now.saturating_add(gap);
    }

    /// The same where `burst` segments leave together: the gap after them is that of all.
    fn space_burst(&mut self, now: u64, gap: u64, burst: u32) {
        if self.left == 0 || self.next != now {
            (self.gap, self.left) = (0, burst);
        }
        self.gap += gap;
        self.left -= 1;
        self.next = now;
        if self.left == 0 {
            self.end_burst();
        }
    }

    /// A burst is over, full or not.
    pub(super) fn end_burst(&mut self) {
        if self.gap > 0 {
            self.next = self.next.saturating_add(self.gap);
            (self.gap, self.left) = (0, 0);
        }
    }
}

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
            self.pacer.on = false;
            return;
        }
        let own = self.controller.pacing_rate();
        let rate = own.filter(|rate| rate.is_finite()).or_else(|| {
            if let Some(resume) = &self.resume {
                if let Some(rate) = resume.pacing_rate() {
                    return Some(rate);
                }
                if config.pacing == PacingPolicy::OnRequest {
                    return None;
                }
            }
            // a control that does not pace is paced where the scenario asks for it
            if own.is_some() && config.pacing == PacingPolicy::OnRequest {
                return None;
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
            let gap = Time::from_seconds(1.0 / rate).0;
            let burst = self.controller.pacing_burst();
            if burst > 1 {
                self.pacer.space_burst(now, gap, burst);
            } else if !config.linux_pacing || self.high >= UNPACED_SEGMENTS {
                self.pacer.space(now, gap, config.linux_pacing);
            }
        }
    }
}
