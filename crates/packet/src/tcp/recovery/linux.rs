//! Recovery as Linux 6.1 does it, and its test for needless timeouts (F-RTO, RFC 5682).

use ackclock_algorithms::congestion::{CaState, CongestionControl as _, Signal};
use ackclock_algorithms::{Stream, Time};

use crate::packet::NONE;
use crate::tcp::config::TimeoutPolicy;
use crate::tcp::{AckSummary, Config, Sender, State};

impl Sender {
    /// What Linux 6.1 makes of an ACK: losses and marks alike bring the window down by proportional
    /// rate reduction, and every ACK that acknowledges something in order outside of that lets it
    /// grow by all that it delivers, the one that ends a reduction too.
    pub(in crate::tcp) fn on_ack_linux(
        &mut self,
        summary: &AckSummary,
        config: &Config,
        random: &mut Stream,
    ) {
        let delivered =
            (summary.acked + u64::from(summary.sacked) - u64::from(summary.known)) as u32;
        let round_start = self.una > self.round_end;
        if round_start {
            self.round_end = self.next;
        }
        let mut event = self.event(summary, delivered, round_start, config);
        if self.needs.every_ack {
            self.controller.on_every_ack(&event);
        }
        if let Some(sent_packets) = &mut self.sent_packets {
            sent_packets.new_first = false;
        }
        let over = match self.state {
            State::Recovery => self.una >= self.recover,
            _ => self.in_cwr && self.una > self.recover,
        };
        if over {
            self.state = State::Open;
            self.in_cwr = false;
            self.window.cwnd = self.window.ssthresh;
            self.round_end = self.next;
            if self.needs.ca_state {
                self.controller
                    .on_recovery_end(Time(summary.now), &mut self.window);
            }
        } else if self.state == State::Loss {
            self.on_ack_in_loss(summary, config);
        }
        let lost_again = self.state == State::Loss
            && self
                .sent_packets
                .as_ref()
                .and_then(|sent_packets| sent_packets.rack.as_ref())
                .is_some_and(|rack| rack.lost_again);
        if self.state == State::Open || lost_again {
            if summary.ece && !self.in_cwr && self.next > 0 {
                self.reduce(summary.now, Signal::Ecn, summary.before, config);
                self.counters.ecn_reductions += 1;
                (self.in_cwr, self.send_cwr) = (true, true);
                self.recover = self.next;
                self.prr.begin(self.prior_cwnd as u64);
            }
            // what was sent again in a recovery that is over is missing all the same
            if self.next > self.una && self.scoreboard.misses_any() {
                self.start_recovery(summary.now, summary.before, config);
            }
        }
        if self.update_ca_state(config) && self.ca_state == CaState::Open {
            self.round_end = self.next;
            event.round_start = false;
        }
        if self.state == State::Recovery || self.in_cwr {
            self.spread_reduction(summary.acked > 0, u64::from(delivered));
        } else if summary.acked > 0 {
            self.let_grow(event, summary.rtt, random);
        }
    }

    /// Whether the retransmission timer expires again for the segment that it expired for last; and
    /// whether RFC 5682's test for needless timeouts is made.
    pub(in crate::tcp) fn note_timeout(&mut self, config: &Config) -> bool {
        if config.timeout == TimeoutPolicy::Linux
            && let Some(sent_packets) = &mut self.sent_packets
        {
            let again = self.state == State::Loss && sent_packets.timed_out == self.una;
            if !again {
                sent_packets.prior_ssthresh = if self.in_cwr || self.state != State::Open {
                    self.window.ssthresh
                } else {
                    self.window.ssthresh.max(0.75 * self.window.cwnd)
                };
            }
            sent_packets.timed_out = self.una;
            sent_packets.frto = self.state == State::Open || again;
            sent_packets.new_first = false;
            return again;
        }
        self.rtt.is_backed_off()
    }

    /// An ACK arrives after a timeout: F-RTO with selective acknowledgements (RFC 5682, section
    /// 3.1), as Linux has it.
    fn on_ack_in_loss(&mut self, summary: &AckSummary, config: &Config) {
        let (next, recover) = (self.next, self.recover);
        let recovered = self.una >= recover;
        if let Some(sent_packets) = &mut self.sent_packets
            && sent_packets.frto
        {
            if sent_packets.lowest_original < recover {
                // step 3.b: what was sent before the timeout has arrived; it was needless
                self.window.cwnd = self.window.cwnd.max(self.prior_cwnd);
                self.window.ssthresh = self.window.ssthresh.max(sent_packets.prior_ssthresh);
                self.scoreboard.forgive();
                sent_packets.forgive();
                sent_packets.timed_out = NONE;
                self.state = State::Open;
                return;
            }
            if next > recover {
                if summary.sacked > 0 || summary.acked == 0 {
                    sent_packets.frto = false; // step 3.a: the loss was real
                }
            } else if summary.acked > 0 && !recovered {
                self.recover = next;
                // step 2.b: new data first
                sent_packets.new_first = next < self.written && next - self.una < config.max_window;
                sent_packets.frto = sent_packets.new_first;
                return;
            }
        }
        if recovered {
            self.state = State::Open;
        }
    }
}
