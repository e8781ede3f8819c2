//! Loss detection: each file is one way to find out what is lost; here is what they share.

pub(super) mod rack;
mod retransmissions;

use ackclock_algorithms::congestion::CongestionControl as _;

use super::config::{RecoveryPolicy, TimeoutPolicy, TimerPolicy};
use super::{AckSummary, Config, Sender, State, rack_of};
use crate::packet::NONE;

impl Sender {
    /// Everything below `cum` is delivered, by an ACK that has just come and echoes `echo`; zero:
    /// nobody looks.
    #[cold]
    #[inline(never)]
    pub(in crate::tcp) fn note_delivered(&mut self, now: u64, cum: u64, echo: u64) {
        if let Some(sent_packets) = &mut self.sent_packets {
            sent_packets.begin(self.scoreboard.pipe(self.una, self.next), self.rtt.min_rtt);
            for seq in self.una..cum {
                sent_packets.cover(now, seq, self.scoreboard.is_sacked(self.una, seq), echo);
            }
            sent_packets.forget(cum);
        }
    }

    /// Every detector looks at an ACK that may have told of segments; `edge`: where the lost ones
    /// ended before it. Whether one waits for its timer. `ANY`: see
    /// [`Sender::on_ack_slow_path_of`].
    #[inline(always)]
    pub(in crate::tcp) fn detect_losses<const ANY: bool>(
        &mut self,
        now: u64,
        edge: u64,
        summary: &mut AckSummary,
        config: &Config,
    ) -> bool {
        if summary.sacked > 0 {
            self.record_lost(now, edge);
            if config.loss.of_retransmissions {
                summary.loses = self.find_lost_retransmissions(now, config);
            }
        }
        if !ANY || !config.loss.rack {
            return false;
        }
        if config.timers == TimerPolicy::Separate {
            return self.find_late(now, config);
        }
        // Linux asks nothing of an ACK in order while nothing is amiss (`tcp_ack_is_dubious`)
        let dubious = self.state != State::Open || !self.scoreboard.is_clear();
        dubious && self.find_late_after_news(now, config)
    }

    /// [`Sender::find_late`] as Linux does it on ACKs: only after RACK has heard of a delivery
    /// (`tcp_rack_mark_lost`).
    pub(in crate::tcp) fn find_late_after_news(&mut self, now: u64, config: &Config) -> bool {
        let news = rack_of(&mut self.sent_packets).is_some_and(|rack| {
            rack.lost_again = false;
            std::mem::take(&mut rack.advanced)
        });
        news && self.find_late(now, config)
    }

    /// Whether the ACK in hand tells of losses that were not known: of segments between `edge` and
    /// the present edge of the lost ones, or by their times.
    pub(in crate::tcp) fn finds_loss(&self, edge: u64) -> bool {
        let una = self.una;
        let by_count = (edge.max(una)..self.scoreboard.lost_edge().max(una))
            .any(|seq| !self.scoreboard.is_sacked(una, seq));
        let packets = self.sent_packets.as_ref();
        by_count || packets.is_some_and(|packets| packets.newly_lost > 0)
    }

    /// Segments between `edge` and the present edge of the lost ones have just been found lost.
    #[cold]
    #[inline(never)]
    pub(in crate::tcp) fn record_lost(&mut self, now: u64, edge: u64) {
        let Some(sent_packets) = &mut self.sent_packets else {
            return;
        };
        for seq in edge.max(self.una)..self.scoreboard.lost_edge().max(self.una) {
            if !self.scoreboard.is_sacked(self.una, seq) {
                let lost = sent_packets.lose(now, seq);
                if self.delivery {
                    self.controller.on_lost(&lost);
                }
            }
        }
    }

    /// After a timeout all that is not acknowledged counts as lost; with RACK only the first
    /// segment and those that are late (RFC 8985, section 6.3), in Linux without a reordering window.
    pub(in crate::tcp) fn lose_all(&mut self, now: u64, config: &Config) {
        if let Some(sent_packets) = &mut self.sent_packets {
            sent_packets.begin(self.scoreboard.pipe(self.una, self.next), self.rtt.min_rtt);
            let rack = sent_packets.rack.clone();
            let window = match &rack {
                Some(rack) if config.timeout != TimeoutPolicy::Linux => {
                    rack.window(true, false, self.rtt.min_rtt, self.rtt.srtt)
                }
                _ => 0,
            };
            //= RFC 6675 5.1/1..2: deviation, the scoreboard is kept: no receiver here takes back
            //=   what it has acknowledged
            for seq in self.una..self.next {
                let late = rack.as_ref().is_none_or(|rack| {
                    seq == self.una || rack.is_late(now, sent_packets.sent(seq), window)
                });
                if late && self.scoreboard.is_in_network(self.una, seq) {
                    let lost = sent_packets.lose(now, seq);
                    if self.delivery {
                        self.controller.on_lost(&lost);
                    }
                    if rack.is_some() {
                        self.scoreboard.lose(self.una, seq);
                    }
                }
            }
            if let Some(rack) = &mut sent_packets.rack {
                rack.probe_end = NONE;
                self.timers.stop_rack();
                return;
            }
        }
        self.scoreboard.lose_all(self.una, self.next);
    }

    /// The segments that RACK now takes for lost (RFC 8985, section 6.2, step 5), and the timer for
    /// those that it will. True if it has set that timer.
    #[cold]
    #[inline(never)]
    pub(in crate::tcp) fn find_late(&mut self, now: u64, config: &Config) -> bool {
        let Some(sent_packets) = &mut self.sent_packets else {
            return false;
        };
        let first_sent = if self.una < self.next {
            sent_packets.sent(self.una)
        } else {
            u64::MAX
        };
        let Some(rack) = &mut sent_packets.rack else {
            return false;
        };
        rack.lost_again = false;
        if config.timers == TimerPolicy::Separate {
            self.timers.stop_rack();
        }
        if self.scoreboard.is_clear() && rack.last_sent() <= first_sent {
            return false; // everything came in order, and nothing overtook what is out
        }
        let resent = self.scoreboard.resent();
        // in Linux an ACK that ends a repair is looked at as in state Open (`tcp_fastretrans_alert`)
        let repaired =
            config.recovery == RecoveryPolicy::Linux && self.una >= self.recovery.recover;
        let window = rack.window(
            !self.state.is_open() && !repaired,
            self.scoreboard.sacked() >= config.loss.dup_threshold.max(rack.extent),
            self.rtt.min_rtt,
            self.rtt.srtt,
        );
        let (una, next, scoreboard) = (self.una, self.next, &self.scoreboard);
        let (late, longest) = sent_packets.late(now, window, |seq| {
            (una..next).contains(&seq) && scoreboard.is_in_network(una, seq)
        });
        let mut resent_at = None;
        for seq in late {
            if self.scoreboard.is_resent(self.una, seq) {
                resent_at = resent_at.max(Some(sent_packets.sent(seq)));
            }
            self.scoreboard.lose(self.una, seq);
            let lost = sent_packets.lose(now, seq);
            if self.delivery {
                self.controller.on_lost(&lost);
            }
        }
        let Some(rack) = &mut sent_packets.rack else {
            return false;
        };
        rack.lost_again = self.scoreboard.resent() < resent;
        self.reduce_again(now, resent_at, config);
        if longest == 0 {
            return false;
        }
        self.wait_for_reordering(now, longest, config);
        true
    }
}
