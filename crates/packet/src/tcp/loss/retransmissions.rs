//! Retransmissions that are lost too.

//= RFC 8985 9.3/2: deviation, `reduction` is "at-once" by default
//= RFC 8985 9.3/2 (style "linux"): done, test linux_spreads_the_answer_to_a_mark

use ackclock_algorithms::congestion::CongestionControl as _;

use crate::tcp::Sender;

impl Sender {
    /// Retransmissions that something sent after them overtook are lost; true if there are any.
    pub(in crate::tcp) fn find_lost_retransmissions(&mut self, now: u64) -> bool {
        //= RFC 5681 4.3/5: deviation, a retransmission that is found lost by RACK or
        //=   `detect_lost_retransmissions` reduces nothing more; one that a timeout finds does
        //= RFC 8985 9.3/3: deviation, the same
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
