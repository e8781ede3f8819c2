//! What is lost? Each file answers for one way to find out; here is what they share.

pub(super) mod rack;
mod retransmissions;

use ackclock_algorithms::congestion::CongestionControl as _;

use super::Sender;
use crate::packet::NONE;

impl Sender {
    /// Everything below `cum` is delivered, by an ACK that has just come.
    #[cold]
    #[inline(never)]
    pub(in crate::tcp) fn note_delivered(&mut self, now: u64, cum: u64) {
        if let Some(journal) = &mut self.journal {
            journal.begin(self.scoreboard.pipe(self.una, self.next), self.rtt.min_rtt);
            for seq in self.una..cum {
                if !self.scoreboard.is_sacked(self.una, seq) {
                    journal.deliver(now, seq);
                }
            }
            journal.forget(cum);
        }
    }

    /// Segments between `edge` and the present edge of the lost ones have just been found lost.
    #[cold]
    #[inline(never)]
    pub(in crate::tcp) fn book_lost(&mut self, now: u64, edge: u64) {
        let Some(journal) = &mut self.journal else {
            return;
        };
        for seq in edge.max(self.una)..self.scoreboard.lost_edge().max(self.una) {
            if !self.scoreboard.is_sacked(self.una, seq) {
                let lost = journal.lose(now, seq);
                if self.delivery {
                    self.controller.on_lost(&lost);
                }
            }
        }
    }

    /// After a timeout all that is not acknowledged counts as lost; with RACK only the first segment and those that are late (RFC 8985, section 6.3).
    pub(in crate::tcp) fn lose_all(&mut self, now: u64) {
        if let Some(journal) = &mut self.journal {
            journal.begin(self.scoreboard.pipe(self.una, self.next), self.rtt.min_rtt);
            let rack = journal.rack.clone();
            let window = rack.as_ref().map_or(0, |rack| {
                rack.window(true, false, self.rtt.min_rtt, self.rtt.srtt)
            });
            for seq in self.una..self.next {
                let late = rack.as_ref().is_none_or(|rack| {
                    seq == self.una || rack.is_late(now, journal.sent(seq), window)
                });
                if late && self.scoreboard.is_in_network(self.una, seq) {
                    let lost = journal.lose(now, seq);
                    if self.delivery {
                        self.controller.on_lost(&lost);
                    }
                    if rack.is_some() {
                        self.scoreboard.lose(self.una, seq);
                    }
                }
            }
            if let Some(rack) = &mut journal.rack {
                (rack.timer, rack.probe_end) = (u64::MAX, NONE);
                return;
            }
        }
        self.scoreboard.lose_all(self.una, self.next);
    }
}
