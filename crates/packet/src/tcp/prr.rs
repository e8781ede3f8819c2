//! Proportional rate reduction: how many segments may be sent for those that are delivered.

/// Proportional rate reduction (RFC 9937): segments delivered and sent since it began, and in the
/// network when it did.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Prr {
    pub(super) delivered: u64,
    out: u64,
    flight: u64,
}

impl Prr {
    /// It begins with `flight` segments in the network.
    pub(super) fn begin(&mut self, flight: u64) {
        //= RFC 6937 3/1: deviation, RecoverFS leaves out what was acknowledged selectively before
        //=   (RFC 9937)
        *self = Self {
            delivered: 0,
            out: 0,
            flight: flight.max(1),
        };
    }

    /// An ACK has delivered `delivered` segments and `pipe` are in the network: how many may be
    /// sent now (RFC 9937, section 6). `extra` is what the bound allows beyond what is delivered
    /// where the network holds no more than ssthresh: one for the slow-start bound, none for the
    /// conservative one.
    pub(super) fn quota(&mut self, pipe: u64, ssthresh: u64, delivered: u64, extra: u64) -> u64 {
        //= RFC 6937 3/2: done, test proportional_reduction_counts_each_segment_once
        self.delivered += delivered;
        if pipe > ssthresh {
            //= RFC 6937 3/3: done, test reductions_over_a_round
            let share = (self.delivered * ssthresh).div_ceil(self.flight);
            share.saturating_sub(self.out)
        } else {
            //= RFC 6937 3/4: done, test proportional_reduction_grows_for_safe_acks_only; which
            //=   bound, SafeACK tells (RFC 9937)
            let bound = self.delivered.saturating_sub(self.out).max(delivered) + extra;
            bound.min(ssthresh - pipe)
        }
    }

    /// A segment leaves.
    pub(super) fn count_sent(&mut self) {
        //= RFC 6937 3/5: done, test reductions_over_a_round
        self.out += 1;
    }

    /// Whether nothing has been sent since it began.
    pub(super) fn is_fresh(&self) -> bool {
        self.out == 0
    }
}
