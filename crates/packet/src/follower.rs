//! A link's rate that follows the delays of probes.

use ackclock_algorithms::Time;
use ackclock_algorithms::impairment::Autorate;

/// Setter of a link's rate.
#[derive(Clone, Debug)]
pub(crate) struct Follower {
    law: Autorate,
    /// When the achieved rate was measured last, ps, and the bytes sent until then.
    measured_at: u64,
    sent: u64,
    /// Rate achieved before, bit/s.
    achieved: f64,
}

impl Follower {
    pub(crate) fn new(law: Autorate) -> Self {
        Self {
            law,
            measured_at: 0,
            sent: 0,
            achieved: 0.0,
        }
    }

    /// A probe of flow `flow` has taken `delay`, ps, and the link has sent `sent` bytes so far: the
    /// new rate, bit/s, if it is another.
    pub(crate) fn on_probe(&mut self, now: u64, flow: usize, delay: u64, sent: u64) -> Option<f64> {
        let passed = now - self.measured_at;
        if passed >= self.law.interval().0 {
            self.achieved = 8.0 * (sent - self.sent) as f64 / Time(passed).seconds();
            (self.measured_at, self.sent) = (now, sent);
        }
        let before = self.law.rate();
        let delay = Time(delay).seconds();
        let rate = self.law.on_delay(Time(now), flow, delay, self.achieved);
        (rate != before).then_some(rate)
    }
}
