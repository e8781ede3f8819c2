//! How a reduced window comes down: at once, by rate halving, by proportional rate reduction (PRR).

use ackclock_scenario::WindowReduction;

use super::{Config, News, Sender, State};

/// Proportional rate reduction (RFC 6937): segments delivered and sent since it began, and in the network
/// when it did.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Prr {
    pub(super) delivered: u64,
    out: u64,
    flight: u64,
}

impl Prr {
    /// It begins with `flight` segments in the network.
    pub(super) fn begin(&mut self, flight: u64) {
        *self = Self {
            delivered: 0,
            out: 0,
            flight: flight.max(1),
        };
    }

    /// An ACK has delivered `delivered` segments and `pipe` are in the network: how many may be sent now
    /// (RFC 6937, section 3). `extra` is what the bound allows beyond what is delivered where the network
    /// holds no more than ssthresh: one for the slow-start bound, none for the conservative one.
    fn quota(&mut self, pipe: u64, ssthresh: u64, delivered: u64, extra: u64) -> u64 {
        self.delivered += delivered;
        if pipe > ssthresh {
            let share = (self.delivered * ssthresh).div_ceil(self.flight);
            share.saturating_sub(self.out)
        } else {
            let bound = self.delivered.saturating_sub(self.out).max(delivered) + extra;
            bound.min(ssthresh - pipe)
        }
    }

    /// A segment leaves.
    fn count_sent(&mut self) {
        self.out += 1;
    }

    /// Whether nothing has been sent since it began.
    fn is_fresh(&self) -> bool {
        self.out == 0
    }
}

impl Sender {
    /// PRR as Linux has it: the slow-start bound only where the ACK moves on without a new loss, and one
    /// segment at once (`tcp_cwnd_reduction`).
    pub(super) fn spread_reduction(&mut self, moved: bool, delivered: u64) {
        if delivered == 0 {
            return;
        }
        let pipe = self.scoreboard.pipe(self.una, self.next);
        let ssthresh = self.window.ssthresh as u64;
        let lost = self
            .journal
            .as_ref()
            .is_some_and(|journal| journal.newly_lost > 0);
        let extra = u64::from(moved && !lost);
        let quota = self.prr.quota(pipe, ssthresh, delivered, extra);
        self.window.cwnd = (pipe + quota.max(u64::from(self.prr.is_fresh()))) as f64;
    }

    /// The window in the course of a recovery, and at its end.
    pub(super) fn steer_recovery(&mut self, news: &News, config: &Config) {
        let over = self.una >= self.recover;
        if over {
            self.state = State::Open;
            self.dup_acks = 0;
        }
        match config.reduction {
            WindowReduction::AtOnce => {}
            WindowReduction::RateHalving => {
                let pipe = self.scoreboard.pipe(self.una, self.next);
                self.halving = self.halving.min(pipe + 1);
                if over {
                    let ceiling = self.window.ssthresh.min(pipe as f64 + 3.0);
                    self.window.cwnd = ceiling.max(self.window.cwnd);
                }
            }
            WindowReduction::Prr => {
                let pipe = self.scoreboard.pipe(self.una, self.next);
                let ssthresh = self.window.ssthresh as u64;
                let delivered = news.acked + u64::from(news.sacked) - u64::from(news.known);
                let quota = self.prr.quota(pipe, ssthresh, delivered, 1);
                self.window.cwnd = if over {
                    self.window.ssthresh
                } else {
                    (pipe + quota) as f64
                };
            }
        }
    }

    /// A segment leaves during a recovery.
    pub(super) fn book_recovery(&mut self, (seq, retransmission): (u64, bool), config: &Config) {
        self.prr.count_sent();
        if config.reduction == WindowReduction::RateHalving {
            let pipe = self.scoreboard.pipe(self.una, self.next);
            self.halving = self.halving.min(pipe.saturating_sub(1).max(1));
        }
        if config.detect_lost && retransmission {
            self.scoreboard.remember(seq, self.next);
        }
    }
}
