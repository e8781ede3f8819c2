//! Recovery: what is sent next after a loss, and when it is over. Each file is one way; here is how
//! all begin.

mod cumulative;
mod linux;
mod sack;

use ackclock_algorithms::congestion::{CaState, Signal};

use super::config::{RecoveryPolicy, TimerPolicy};
use super::{Config, Sender, State};

impl Sender {
    pub(in crate::tcp) fn enter_recovery(&mut self, now: u64, outstanding: u64, config: &Config) {
        self.counters.fast_recoveries += 1;
        self.remember_for_undo(false, config);
        self.set_ca_state(CaState::Recovery);
        if self.in_cwr {
            // the window is coming down already
            self.in_cwr = false;
            if self.needs.loss_after_mark {
                let (cwnd, prior) = (self.window.cwnd, self.prior_cwnd);
                self.reduce(now, Signal::Loss, outstanding, config);
                (self.window.cwnd, self.prior_cwnd) = (cwnd, prior);
            }
        } else {
            self.reduce(now, Signal::Loss, outstanding, config);
            self.recover = self.next;
            if config.recovery == RecoveryPolicy::Linux {
                self.prr.begin(self.prior_cwnd as u64);
            }
        }
        self.rtt.stop_timing(self.high);
        self.ecn.set_reduced(self.next);
        self.ecn.set_cwr(config.ecn);
        self.state = State::Recovery;
        self.retransmit_next = self.una;
        if !(config.timers == TimerPolicy::Shared && config.rack) {
            self.restart_rto(now, config);
        }
    }
}
