//! Recovery with selective acknowledgements (RFC 6675).

use ackclock_algorithms::Stream;
use ackclock_scenario::WindowReduction;

use crate::packet::{Ack, Flags, NONE};
use crate::tcp::config::RecoveryPolicy;
use crate::tcp::{AckSummary, Config, Sender, State, whole};

impl Sender {
    /// Whether the ACK tells a sender in recovery of one more segment that has arrived, and nothing
    /// else.
    #[inline(always)]
    pub(crate) fn sack_fast_path_eligible(&self, ack: &Ack) -> bool {
        self.state == State::Recovery
            && self.short_recovery
            && ack.cum == self.una
            && ack.sack != NONE
            && ack.flags.0 & (Flags::ECE | Flags::SYN) == 0
    }

    /// Does the work of [`Sender::on_ack`] then.
    #[inline(always)]
    pub(crate) fn on_sack_fast_path(&mut self, ack: &Ack, config: &Config) {
        self.scoreboard
            .sack(self.una, ack.sack, config.loss.dup_threshold);
    }

    /// Whether a sender in recovery certainly has nothing to send.
    #[inline(always)]
    pub(crate) fn is_full(&self) -> bool {
        self.state == State::Recovery
            && self.short_recovery
            && self.recovery.retransmit_next == NONE
            && self.scoreboard.pipe(self.una, self.next) >= whole(self.window.cwnd)
    }

    /// RFC 6675, section 5.
    #[inline]
    pub(in crate::tcp) fn on_ack_sack(
        &mut self,
        summary: &AckSummary,
        config: &Config,
        random: &mut Stream,
    ) {
        match self.state {
            State::Open => {
                let echo =
                    self.count_marks(summary, config, random) || self.on_echo(summary, config);
                //= RFC 6675 5/2: done, test the_next_segment_by_rule
                if summary.acked > 0 {
                    self.dup_acks = 0;
                    if !echo {
                        self.grow(summary, summary.acked as u32, config, random);
                    }
                } else if summary.sacked > 0 {
                    self.dup_acks += 1;
                }
            }
            State::Loss if summary.acked > 0 => {
                // one segment an ACK: a cumulative jump after a timeout says nothing of what left
                // the network (RFC 3465, section 2.3)
                self.grow(summary, 1, config, random);
            }
            _ => {}
        }
        //= RFC 6675 5/4: done, tests selective_recovery, the_next_segment_by_rule
        if self.state == State::Recovery {
            self.steer_recovery(summary, config);
        }
        //= RFC 6675 5.1/6: done, test duplicates_of_what_a_timeout_sends_again_start_no_recovery
        if self.state == State::Loss && self.una >= self.recovery.recover {
            self.state = State::Open;
            self.dup_acks = 0;
        }
        if self.state == State::Open
            && self.next > self.una
            && ((self.dup_acks >= config.loss.dup_threshold && !config.loss.rack)
                || self.scoreboard.calls_for_recovery(self.una)
                || (config.chained_recoveries && self.scoreboard.misses_any()))
        {
            //= RFC 6675 5/3: done, test selective_recovery
            self.start_recovery(summary.now, summary.before, config);
            if config.reduction == WindowReduction::Prr {
                // RFC 9937, section 6: what was acknowledged selectively before the recovery will
                // not be delivered in it
                let before = self.scoreboard.sacked().saturating_sub(summary.sacked);
                self.recovery.prr.begin(summary.before - u64::from(before));
                self.steer_recovery(summary, config);
            }
        }
    }

    /// Recovery with selective acknowledgements begins; `outstanding` segments were before the
    /// event that calls for it.
    pub(in crate::tcp) fn start_recovery(&mut self, now: u64, outstanding: u64, config: &Config) {
        self.enter_recovery(now, outstanding, config);
        if config.loss.rack {
            self.recovery.retransmit_next = self
                .scoreboard
                .next_lost_not_resent(self.una)
                .unwrap_or(NONE);
        }
        self.recovery.high_resent = self.una;
        self.recovery.rescued = false;
        match config.reduction {
            WindowReduction::AtOnce => {}
            WindowReduction::RateHalving => {
                self.recovery.halving = self.recovery.prior_cwnd as u64;
                self.window.cwnd = (self.window.ssthresh / 2.0).floor().max(1.0);
            }
            WindowReduction::Prr if config.recovery == RecoveryPolicy::Linux => {}
            WindowReduction::Prr => {
                let sacked = u64::from(self.scoreboard.sacked());
                self.recovery.prr.begin(outstanding.saturating_sub(sacked));
            }
        }
    }
}
