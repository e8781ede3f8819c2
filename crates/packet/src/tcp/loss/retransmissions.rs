//! Retransmissions that are lost too.

//= RFC 8985 9.3/2: deviation, `reduction` is "at-once" by default
//= RFC 8985 9.3/2 (style "linux"): done, test linux_spreads_the_answer_to_a_mark

use ackclock_algorithms::congestion::{CongestionControl as _, Signal};
use ackclock_scenario::WindowReduction;

use crate::tcp::config::RecoveryPolicy;
use crate::tcp::{Config, Sender, State};

impl Sender {
    /// Retransmissions that something sent after them overtook are lost; true if there are any.
    pub(in crate::tcp) fn find_lost_retransmissions(&mut self, now: u64, config: &Config) -> bool {
        let mut resent_at = None;
        let (sent_packets, controller, delivery) =
            (&mut self.sent_packets, &mut self.controller, self.delivery);
        self.scoreboard
            .find_lost_retransmissions(self.una, |seq, sent| {
                resent_at = resent_at.max(Some(sent));
                if let Some(sent_packets) = sent_packets
                    && delivery
                {
                    controller.on_lost(&sent_packets.lose(now, seq));
                }
            });
        self.reduce_again(now, resent_at, config);
        resent_at.is_some()
    }

    /// Retransmissions were lost, the last of them sent at `resent_at`: a window of data in which
    /// the reduction of the first loss was not enough. Where one of them left after the last
    /// reduction the window comes down once more.
    pub(in crate::tcp) fn reduce_again(
        &mut self,
        now: u64,
        resent_at: Option<u64>,
        config: &Config,
    ) {
        //= RFC 5681 4.3/5: done, test a_lost_retransmission_reduces_again; those that RACK,
        //=   `detect_lost_retransmissions` or a timeout finds
        //= RFC 8985 9.3/3: done, test a_lost_retransmission_reduces_again
        //= RFC 5681 4.3/5 (reduction "rate-halving", style "linux"): deviation, one reduction a
        //=   recovery, as Linux has it
        //= RFC 8985 9.3/3 (reduction "rate-halving"): deviation, the same
        let answers = matches!(self.state, State::Recovery | State::Loss)
            && config.reduction == WindowReduction::AtOnce
            && config.recovery == RecoveryPolicy::Sack
            && !self.delivery;
        if answers && resent_at.is_some_and(|sent| sent >= self.recovery.reduced_at) {
            self.forget_undo();
            self.respond(now, Signal::Loss, self.window.cwnd, config);
            self.ecn.set_reduced(self.next);
            self.ecn.set_cwr(config.ecn.on);
        }
    }
}
