//! Whether the window limits the sender, as Linux 6.1 finds it (`tcp_cwnd_validate`,
//! `tcp_is_cwnd_limited`): noted as data leaves, and held for a window of data.

use ackclock_algorithms::congestion::Window;

/// The largest use of the window in the present window of data.
#[derive(Debug, Default)]
pub(super) struct WindowUsage {
    /// New data has left since this was noted last.
    pub(super) sent: bool,
    /// The window was full.
    full: bool,
    /// Segments outstanding at most.
    outstanding: u64,
    /// The window of data is over when this segment is acknowledged.
    end: u64,
}

impl WindowUsage {
    /// Data has left, or could not for want of window: then the window is `full`. Segments from
    /// `una` up to `next` are outstanding.
    pub(super) fn note(&mut self, full: bool, una: u64, next: u64) {
        let outstanding = next - una;
        if una >= self.end || full || (!self.full && outstanding > self.outstanding) {
            (self.full, self.outstanding, self.end) = (full, outstanding, next);
        }
    }

    /// Whether the window may grow: it was full, or in slow start more than half of it was used.
    pub(super) fn is_limited(&self, window: &Window) -> bool {
        //= RFC 9438 4.6/3: done, tests the_use_holds_for_a_window_of_data,
        //=   a_window_grows_as_far_as_it_is_used, the_receivers_window_holds
        self.full || (window.in_slow_start() && window.cwnd < 2.0 * self.outstanding as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nine segments leave at once in a window of ten: each of their ACKs lets it grow, though ever
    /// fewer are outstanding, and it ends with twice the nine.
    #[test]
    fn the_use_holds_for_a_window_of_data() {
        let mut usage = WindowUsage::default();
        usage.note(false, 0, 9);
        for cwnd in [10.0, 12.0, 14.0, 16.0] {
            let ssthresh = f64::INFINITY;
            assert!(usage.is_limited(&Window { cwnd, ssthresh }), "{cwnd}");
        }
        let (cwnd, ssthresh) = (18.0, f64::INFINITY);
        assert!(!usage.is_limited(&Window { cwnd, ssthresh }));
        // less in the same window of data changes nothing, and in the next it counts
        usage.note(false, 8, 10);
        assert_eq!(usage.outstanding, 9);
        usage.note(false, 9, 10);
        assert_eq!(usage.outstanding, 1);
        // in congestion avoidance only a full window grows
        let (cwnd, ssthresh) = (1.0, 1.0);
        assert!(!usage.is_limited(&Window { cwnd, ssthresh }));
        usage.note(true, 9, 11);
        assert!(usage.is_limited(&Window { cwnd, ssthresh }));
    }
}
