//! How a reduced window comes down: at once, by rate halving, by proportional rate reduction (PRR).

use ackclock_scenario::WindowReduction;

use super::{AckSummary, Config, Sender, State};

impl Sender {
    /// PRR as Linux has it: the slow-start bound only where the ACK moves on without a new loss,
    /// and one segment at once (`tcp_cwnd_reduction`).
    pub(super) fn spread_reduction(&mut self, moved: bool, delivered: u64) {
        if delivered == 0 {
            return;
        }
        let pipe = self.scoreboard.pipe(self.una, self.next);
        let ssthresh = self.window.ssthresh as u64;
        let lost = self
            .sent_packets
            .as_ref()
            .is_some_and(|sent_packets| sent_packets.newly_lost > 0);
        let extra = u64::from(moved && !lost);
        let quota = self.recovery.prr.quota(pipe, ssthresh, delivered, extra);
        self.window.cwnd = (pipe + quota.max(u64::from(self.recovery.prr.is_fresh()))) as f64;
    }

    /// The window in the course of a recovery, and at its end.
    pub(super) fn steer_recovery(&mut self, summary: &AckSummary, config: &Config) {
        let over = self.una >= self.recovery.recover;
        //= RFC 6675 5/5..6: done, test the_next_segment_by_rule
        //= RFC 5681 4.3/2..4: done, tests reductions_over_a_round, selective_recovery
        if over {
            self.state = State::Open;
            self.dup_acks = 0;
        }
        match config.reduction {
            WindowReduction::AtOnce => {}
            WindowReduction::RateHalving => {
                let pipe = self.scoreboard.pipe(self.una, self.next);
                self.recovery.halving = self.recovery.halving.min(pipe + 1);
                if over {
                    let ceiling = self.window.ssthresh.min(pipe as f64 + 3.0);
                    self.window.cwnd = ceiling.max(self.window.cwnd);
                }
            }
            WindowReduction::Prr => {
                let pipe = self.scoreboard.pipe(self.una, self.next);
                let ssthresh = self.window.ssthresh as u64;
                let delivered =
                    summary.acked + u64::from(summary.sacked) - u64::from(summary.known);
                // SafeACK: it moves on, and tells of no further loss
                let safe = u64::from(summary.acked > 0 && !summary.loses);
                let quota = self.recovery.prr.quota(pipe, ssthresh, delivered, safe);
                self.window.cwnd = if over {
                    self.window.ssthresh
                } else {
                    (pipe + quota) as f64
                };
            }
        }
    }

    /// A segment leaves during a recovery.
    pub(super) fn record_sent_in_recovery(
        &mut self,
        now: u64,
        (seq, retransmission): (u64, bool),
        config: &Config,
    ) {
        self.recovery.prr.count_sent();
        if config.reduction == WindowReduction::RateHalving {
            let pipe = self.scoreboard.pipe(self.una, self.next);
            self.recovery.halving = self.recovery.halving.min(pipe.saturating_sub(1).max(1));
        }
        if config.loss.of_retransmissions && retransmission {
            self.scoreboard.remember(seq, self.next, now);
        }
    }
}
