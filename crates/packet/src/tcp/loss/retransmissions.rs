//! Retransmissions that are lost too.

use ackclock_algorithms::congestion::CongestionControl as _;

use crate::tcp::Sender;

impl Sender {
    /// Retransmissions that something sent after them overtook are lost; true if there are any.
    pub(in crate::tcp) fn find_lost_retransmissions(&mut self, now: u64) -> bool {
        let mut found = false;
        let (sent_packets, controller, delivery) =
            (&mut self.sent_packets, &mut self.controller, self.delivery);
        self.scoreboard.find_lost_retransmissions(self.una, |seq| {
            found = true;
            if let Some(sent_packets) = sent_packets
                && delivery
            {
                controller.on_lost(&sent_packets.lose(now, seq));
            }
        });
        found
    }
}
