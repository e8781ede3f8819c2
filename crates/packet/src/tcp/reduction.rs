//! How a reduced window comes down: at once, by rate halving, by proportional rate reduction (RFC 6937).

use ackclock_scenario::WindowReduction;

use super::{Config, News, Sender, State};

impl Sender {
    pub(super) fn begin_prr(&mut self, flight: u64) {
        self.prr_flight = flight.max(1);
        (self.prr_delivered, self.prr_out) = (0, 0);
    }

    /// RFC 6937, section 3, as Linux has it: the slow-start bound only where the ACK moves on without a new loss, and one segment at once.
    pub(super) fn spread_reduction(&mut self, moved: bool, delivered: u64) {
        if delivered == 0 {
            return;
        }
        let pipe = self.scoreboard.pipe(self.una, self.next);
        let ssthresh = self.window.ssthresh as u64;
        self.prr_delivered += delivered;
        let quota = if pipe > ssthresh {
            (self.prr_delivered * ssthresh)
                .div_ceil(self.prr_flight)
                .saturating_sub(self.prr_out)
        } else {
            let lost = self
                .journal
                .as_ref()
                .is_some_and(|journal| journal.newly_lost > 0);
            let bound = self
                .prr_delivered
                .saturating_sub(self.prr_out)
                .max(delivered)
                + u64::from(moved && !lost);
            bound.min(ssthresh - pipe)
        };
        self.window.cwnd = (pipe + quota.max(u64::from(self.prr_out == 0))) as f64;
    }

    /// The window in the course of a recovery, and at its end.
    pub(super) fn steer_recovery(&mut self, news: &News, config: &Config) {
        let over = self.una >= self.recover;
        if over {
            self.state = State::Open;
            self.dup_acks = 0;
        }
        if config.reduction == WindowReduction::AtOnce {
            return;
        }
        let pipe = self.scoreboard.pipe(self.una, self.next);
        if config.reduction == WindowReduction::RateHalving {
            self.halving = self.halving.min(pipe + 1);
            if over {
                self.window.cwnd = self
                    .window
                    .ssthresh
                    .min(pipe as f64 + 3.0)
                    .max(self.window.cwnd);
            }
            return;
        }
        // RFC 6937, section 3, in segments
        let ssthresh = self.window.ssthresh as u64;
        let delivered = news.acked + u64::from(news.sacked) - u64::from(news.known);
        self.prr_delivered += delivered;
        let quota = if pipe > ssthresh {
            (self.prr_delivered * ssthresh)
                .div_ceil(self.prr_flight)
                .saturating_sub(self.prr_out)
        } else {
            let bound = self
                .prr_delivered
                .saturating_sub(self.prr_out)
                .max(delivered)
                + 1;
            bound.min(ssthresh - pipe)
        };
        self.window.cwnd = if over {
            self.window.ssthresh
        } else {
            (pipe + quota) as f64
        };
    }

    /// A segment leaves during a recovery.
    pub(super) fn book_recovery(&mut self, (seq, retransmission): (u64, bool), config: &Config) {
        self.prr_out += 1;
        if config.reduction == WindowReduction::RateHalving {
            let pipe = self.scoreboard.pipe(self.una, self.next);
            self.halving = self.halving.min(pipe.saturating_sub(1).max(1));
        }
        if config.detect_lost && retransmission {
            self.scoreboard.remember(seq, self.next);
        }
    }
}
