//! Recovery with cumulative ACKs alone: Tahoe, Reno, NewReno.

use ackclock_algorithms::Stream;

use crate::packet::NONE;
use crate::tcp::config::RecoveryPolicy;
use crate::tcp::{AckSummary, Config, Sender, State};

impl Sender {
    /// RFC 5681, section 3.2 (Reno), RFC 6582 (NewReno), and Tahoe.
    pub(in crate::tcp) fn on_ack_cumulative(
        &mut self,
        summary: &AckSummary,
        config: &Config,
        random: &mut Stream,
    ) {
        match self.state {
            State::Open | State::Loss => {
                let echo =
                    self.count_marks(summary, config, random) || self.on_echo(summary, config);
                if summary.acked > 0 {
                    let duplicates = std::mem::take(&mut self.dup_acks);
                    if !echo {
                        let acked = summary.acked as u32;
                        let counted = if self.state == State::Loss {
                            1
                        } else if config.duplicates_arrived {
                            acked.saturating_sub(duplicates).max(1)
                        } else {
                            acked
                        };
                        self.grow(summary, counted, config, random);
                    }
                    if self.una >= self.recovery.recover {
                        self.state = State::Open;
                    }
                } else if summary.before > 0 {
                    self.dup_acks += 1;
                    //= RFC 5681 3.2/3: done, tests fast_retransmit_and_fast_recovery,
                    //=   partial_acknowledgements
                    if self.dup_acks == config.loss.dup_threshold
                        && self.may_retransmit_fast(config)
                    {
                        self.retransmit_fast(summary, config);
                    }
                }
            }
            State::Recovery => {
                if summary.acked == 0 {
                    //= RFC 5681 3.2/10: done, test fast_retransmit_and_fast_recovery
                    self.window.cwnd += 1.0; // inflation: another segment has left the network
                } else if self.una >= self.recovery.recover
                    || config.recovery == RecoveryPolicy::Reno
                {
                    //= RFC 5681 3.2/12: done, test fast_retransmit_and_fast_recovery
                    self.window.cwnd = self.window.ssthresh;
                    if config.recovery == RecoveryPolicy::NewReno {
                        //= RFC 6582 3.2/3: done, test
                        //=   only_the_first_partial_acknowledgement_restarts_the_timer
                        // RFC 6582, section 3.2, step 3, option 1: no burst
                        let flight = self.outstanding().max(1) as f64;
                        self.window.cwnd = self.window.ssthresh.min(flight + 1.0);
                    }
                    self.state = State::Open;
                    self.dup_acks = 0;
                } else {
                    // partial ACK: the next hole, deflation, and the timer only for the first (RFC
                    // 6582, "impatient")
                    //= RFC 6582 3.2/4: done, tests
                    //=   only_the_first_partial_acknowledgement_restarts_the_timer,
                    //=   partial_acknowledgements
                    self.recovery.retransmit_next = self.una;
                    self.window.cwnd = (self.window.cwnd - summary.acked as f64 + 1.0).max(1.0);
                    //= RFC 6582 3.2/5: done, test
                    //=   only_the_first_partial_acknowledgement_restarts_the_timer
                    if !self.recovery.first_partial_ack {
                        self.timers.set_rto(summary.rto_before);
                    }
                    self.recovery.first_partial_ack = false;
                }
            }
            State::Closed | State::Cwr => {}
        }
    }

    /// Whether duplicate ACKs may tell of a loss that is not answered yet: no second reduction for
    /// losses of the window that was reduced already. To NewReno duplicates of the ACK that ends
    /// that window tell of what was sent again needlessly.
    fn may_retransmit_fast(&self, config: &Config) -> bool {
        //= RFC 6582 3.2/2: done, tests duplicates_of_the_last_acknowledgement_start_no_recovery,
        //=   duplicates_of_what_a_timeout_sends_again_start_no_recovery
        let covers_more = self.una > self.recovery.recover || self.recovery.recover == 0;
        covers_more
            || (self.una == self.recovery.recover && config.recovery != RecoveryPolicy::NewReno)
    }

    /// The duplicate ACKs are enough: fast retransmit, and fast recovery but for Tahoe.
    #[inline(always)]
    fn retransmit_fast(&mut self, summary: &AckSummary, config: &Config) {
        self.enter_recovery(summary.now, summary.before, config);
        self.recovery.first_partial_ack = true;
        if config.recovery == RecoveryPolicy::Tahoe {
            self.window.cwnd = 1.0;
            self.recovery.retransmit_next = NONE;
            self.next = self.una;
            self.state = State::Loss;
        } else {
            //= RFC 5681 3.2/9: done, test fast_retransmit_and_fast_recovery
            self.window.cwnd = self.window.ssthresh + f64::from(config.loss.dup_threshold);
        }
    }
}
