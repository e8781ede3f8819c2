//! Recovery: what is sent next after a loss, and when it is over. Each file is one way; here is how
//! all begin.

mod cumulative;
mod linux;
mod sack;

use ackclock_algorithms::congestion::{CaState, Signal};

use super::config::{RecoveryPolicy, TimerPolicy};
use super::prr::Prr;
use super::{Config, Sender, State};
use crate::packet::NONE;

/// Memory of the last reduction of the window, and of the repair of losses.
#[derive(Debug)]
pub(in crate::tcp) struct Recovery {
    /// It ends when everything below this is acknowledged; duplicate ACKs below start no other.
    pub(in crate::tcp) recover: u64,
    /// cwnd when it began: what the window was when the data outstanding was sent.
    pub(in crate::tcp) prior_cwnd: f64,
    /// When the window was reduced last.
    pub(in crate::tcp) reduced_at: u64,
    /// Retransmissions went up to here (exclusive).
    pub(in crate::tcp) high_resent: u64,
    /// The next segment out is this one, whatever the window says (fast retransmit).
    pub(in crate::tcp) retransmit_next: u64,
    pub(in crate::tcp) rescued: bool,
    /// Rate halving: the window that falls by one for every two ACKs.
    pub(in crate::tcp) halving: u64,
    pub(in crate::tcp) prr: Prr,
    pub(in crate::tcp) first_partial_ack: bool,
}

impl Recovery {
    pub(in crate::tcp) fn new() -> Self {
        Self {
            //= RFC 6582 3.2/1: done, test partial_acknowledgements
            recover: 0,
            prior_cwnd: 0.0,
            reduced_at: 0,
            high_resent: 0,
            retransmit_next: NONE,
            rescued: false,
            halving: 0,
            prr: Prr::default(),
            first_partial_ack: false,
        }
    }
}

impl Sender {
    pub(in crate::tcp) fn enter_recovery(&mut self, now: u64, outstanding: u64, config: &Config) {
        self.counters.fast_recoveries += 1;
        self.remember_for_undo(false, config);
        self.set_ca_state(CaState::Recovery);
        if self.state == State::Cwr {
            // the window is coming down already
            if self.needs.loss_after_mark {
                let (cwnd, prior) = (self.window.cwnd, self.recovery.prior_cwnd);
                self.reduce(now, Signal::Loss, outstanding, config);
                (self.window.cwnd, self.recovery.prior_cwnd) = (cwnd, prior);
            }
        } else {
            self.reduce(now, Signal::Loss, outstanding, config);
            self.recovery.recover = self.next;
            self.forget_probe();
            if config.recovery == RecoveryPolicy::Linux {
                self.recovery.prr.begin(self.recovery.prior_cwnd as u64);
            }
        }
        self.rtt.stop_timing(self.high);
        self.ecn.set_reduced(self.next);
        self.ecn.set_cwr(config.ecn.on);
        self.state = State::Recovery;
        self.recovery.retransmit_next = self.una;
        if !(config.timers == TimerPolicy::Shared && config.loss.rack) {
            self.restart_rto(now, config);
        }
    }
}
