//! Recovery as Linux 6.1 does it, and its test for needless timeouts (F-RTO, RFC 5682).

use ackclock_algorithms::congestion::{CaState, CongestionControl as _, Signal};
use ackclock_algorithms::{Stream, Time};

use crate::packet::{Ack, NONE};
use crate::tcp::config::TimeoutPolicy;
use crate::tcp::{AckSummary, Config, Sender, State, rack_of, reported_duplicate};

impl Sender {
    /// Takes an ACK as Linux 6.1 does: losses and marks alike bring the window down by proportional
    /// rate reduction, and every ACK that acknowledges something in order outside of that lets it
    /// grow by all that it delivers, the one that ends a reduction too.
    pub(in crate::tcp) fn on_ack_linux(
        &mut self,
        summary: &AckSummary,
        config: &Config,
        random: &mut Stream,
    ) {
        let delivered = (summary.acked + u64::from(summary.sacked) - u64::from(summary.known))
            as u32
            + summary.duplicates;
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
        if summary.ece
            && let Some(sent_packets) = &mut self.sent_packets
        {
            sent_packets.undo.prior_ssthresh = 0.0; // congestion is certain
        }
        let mut undone = false;
        let over = match self.state {
            State::Recovery => self.ends_recovery(summary, &mut undone, config),
            State::Cwr => self.una > self.recovery.recover,
            _ => false,
        };
        if over {
            self.end_reduction(summary.now, undone);
        } else if self.state == State::Loss {
            self.on_ack_in_loss(summary, config);
        }
        let lost_again = self.state == State::Loss
            && self
                .sent_packets
                .as_ref()
                .and_then(|sent_packets| sent_packets.rack.as_ref())
                .is_some_and(|rack| rack.lost_again);
        if self.state == State::Open {
            self.undo_by_duplicates(summary.now, config);
        }
        if self.state.is_open() || lost_again {
            self.start_reduction(summary, config);
        }
        if self.update_ca_state(config) && self.ca_state == CaState::Open {
            self.round_end = self.next;
            event.round_start = false;
        }
        if self.delivery {
            // it hears of the ACK when all this is over (`tcp_cong_control`)
        } else if matches!(self.state, State::Recovery | State::Cwr) {
            self.spread_reduction(summary.acked > 0, u64::from(delivered));
        } else if summary.acked > 0 || (summary.sacked > 0 && self.bears_reordering(config)) {
            let before = self.window.cwnd;
            self.let_grow(event, summary.rtt, random);
            if self.needs.spread_backoff && self.window.cwnd < before {
                self.window.cwnd = before;
                self.recovery.prior_cwnd = before;
                self.enter_cwr(config);
            }
        }
        if self.state.is_open()
            && self.scoreboard.resent() == 0
            && let Some(sent_packets) = &mut self.sent_packets
            && !sent_packets.was_resent(self.una)
        {
            sent_packets.undo.forget_resent();
        }
    }

    /// A recovery or the answer to a mark is over; `undone`: it was needless.
    #[inline(always)]
    fn end_reduction(&mut self, now: u64, undone: bool) {
        if !undone && !self.delivery {
            self.window.cwnd = self.window.ssthresh;
        }
        self.state = State::Open;
        self.round_end = self.next;
        if self.needs.ca_state {
            self.controller.on_recovery_end(Time(now), &mut self.window);
        }
    }

    /// An ACK tells of a mark or of a loss that nothing has been done about.
    #[inline(always)]
    fn start_reduction(&mut self, summary: &AckSummary, config: &Config) {
        if summary.ece && self.state == State::Open && self.next > 0 {
            self.reduce(summary.now, Signal::Ecn, summary.before, config);
            self.counters.ecn_reductions += 1;
            self.enter_cwr(config);
        }
        // what was sent again in a recovery that is over is missing all the same
        if self.next > self.una && self.scoreboard.misses_any() {
            self.start_recovery(summary.now, summary.before, config);
            if summary.ece
                && let Some(sent_packets) = &mut self.sent_packets
            {
                sent_packets.undo.prior_ssthresh = 0.0; // congestion is certain
            }
        }
    }

    /// The window comes down from `prior_cwnd` to ssthresh without a loss (`tcp_enter_cwr`).
    fn enter_cwr(&mut self, config: &Config) {
        self.state = State::Cwr;
        self.ecn.set_cwr(config.ecn.on);
        self.recovery.recover = self.next;
        self.forget_probe();
        self.recovery.prr.begin(self.recovery.prior_cwnd as u64);
        if let Some(sent_packets) = &mut self.sent_packets {
            (sent_packets.undo.prior_ssthresh, sent_packets.undo.marker) = (0.0, NONE);
        }
    }

    /// Whether segments have come further out of order than the duplicate threshold: then selective
    /// acknowledgements let the window grow too (`tcp_may_raise_cwnd`).
    fn bears_reordering(&self, config: &Config) -> bool {
        let rack = self
            .sent_packets
            .as_ref()
            .and_then(|packets| packets.rack.as_ref());
        rack.is_some_and(|rack| rack.extent > config.loss.dup_threshold)
    }

    /// Whether the retransmission timer expires again for the segment that it expired for last; and
    /// whether RFC 5682's test for needless timeouts is made.
    pub(in crate::tcp) fn note_timeout(&mut self, config: &Config) -> bool {
        if config.timeout == TimeoutPolicy::Linux
            && let Some(sent_packets) = &mut self.sent_packets
        {
            let again = self.state == State::Loss && sent_packets.timed_out == self.una;
            sent_packets.timed_out = self.una;
            sent_packets.frto = config.undo.frto && (self.state.is_open() || again);
            sent_packets.new_first = false;
            return again;
        }
        if let Some(sent_packets) = &mut self.sent_packets {
            // RFC 5682, section 2.1, step 1: not in a recovery
            sent_packets.frto = config.undo.frto && self.state == State::Open;
            sent_packets.new_first = false;
        }
        self.rtt.is_backed_off()
    }

    /// An ACK arrives after a timeout: F-RTO with selective acknowledgements (RFC 5682, section
    /// 3.1), as Linux has it.
    fn on_ack_in_loss(&mut self, summary: &AckSummary, config: &Config) {
        let (next, recover) = (self.next, self.recovery.recover);
        let recovered = self.una >= recover;
        let room = self.may_send(next, config);
        if summary.acked > 0 && self.was_needless(summary.echo, config) {
            self.undo_losses(summary.now, config);
            return;
        }
        if let Some(sent_packets) = &mut self.sent_packets
            && sent_packets.frto
        {
            if sent_packets.lowest_original < recover {
                // step 3.b: what was sent before the timeout has arrived; it was needless
                self.undo_losses(summary.now, config);
                return;
            }
            if next > recover {
                if summary.sacked > 0 || summary.acked == 0 {
                    sent_packets.frto = false; // step 3.a: the loss was real
                }
            } else if summary.acked > 0 && !recovered {
                self.recovery.recover = next;
                // step 2.b: new data first
                sent_packets.new_first = room;
                sent_packets.frto = sent_packets.new_first;
                return;
            }
        }
        if recovered {
            self.state = State::Open;
        }
    }

    /// The reduction was needless, and nothing is lost (`tcp_undo_cwnd_reduction`).
    fn undo_losses(&mut self, now: u64, config: &Config) {
        self.undo_reduction(now);
        self.scoreboard.forgive(self.una, config.loss.dup_threshold);
        if let Some(sent_packets) = &mut self.sent_packets {
            sent_packets.forgive();
            sent_packets.timed_out = NONE;
        }
        self.state = State::Open;
    }

    /// An ACK arrives in a recovery: true if it acknowledges all of it. The window then becomes
    /// ssthresh, or what it was before where the recovery was needless (`tcp_try_undo_recovery`,
    /// `tcp_try_undo_partial`, `tcp_try_undo_dsack`).
    fn ends_recovery(&mut self, summary: &AckSummary, undone: &mut bool, config: &Config) -> bool {
        if self.una >= self.recovery.recover {
            if self.was_needless(summary.echo, config) {
                self.undo_reduction(summary.now);
                *undone = true;
            } else if let Some(rack) = rack_of(&mut self.sent_packets) {
                rack.end_recovery();
            }
            return true;
        }
        if summary.acked > 0
            && self.was_early(summary.echo, config)
            && self.scoreboard.resent() == 0
        {
            self.undo_losses(summary.now, config);
        } else if self.undo_by_duplicates(summary.now, config) {
            self.state = State::Open;
        }
        false
    }

    /// Notes what an ACK says of reordering (`tcp_check_sack_reordering`): segments that were sent
    /// once have arrived after others above them. `edge` is the first segment above all that had
    /// been acknowledged selectively before the ACK, or the first unacknowledged one.
    pub(in crate::tcp) fn note_reordering(&mut self, summary: &AckSummary, edge: u64) {
        let una = self.una;
        let sacked = self.scoreboard.sacked() > 0;
        let loss = self.state == State::Loss;
        let Some(packets) = &mut self.sent_packets else {
            return;
        };
        let (low_sacked, low_acked) = (summary.low_sacked, summary.low_acked);
        let undoable = packets.undo.marker != NONE;
        let Some(rack) = &mut packets.rack else {
            return;
        };
        let top = rack.highest() + 1;
        if low_sacked < edge && (!loss || undoable) {
            rack.note_reordering(top - low_sacked);
        }
        if low_acked < edge {
            let top = if sacked { top } else { una };
            if low_acked < top {
                rack.note_reordering(top - low_acked);
            }
        }
    }

    /// The receiver reports segments that have arrived twice (`tcp_check_dsack`): how many.
    pub(in crate::tcp) fn note_duplicates(&mut self, (from, to): (u64, u64)) -> u32 {
        let una = self.una;
        let Some(packets) = &mut self.sent_packets else {
            return 0;
        };
        let count = to.saturating_sub(from);
        if count == 0 || !packets.undo.report(to, count, una) {
            return 0;
        }
        // of segments that are still outstanding those were needless that were sent again
        let resent = (from.max(una)..to)
            .filter(|&seq| packets.was_resent(seq))
            .count();
        packets.undo.settle(resent as u64);
        if let Some(rack) = &mut packets.rack {
            let probe = rack.probe_end == to && rack.probe_again;
            if !probe {
                rack.note_duplicate();
            }
        }
        count as u32
    }

    /// An ACK arrives that a later one has overtaken: what it acknowledges selectively counts, and
    /// the window stays (`tcp_ack`, `old_ack`).
    pub(in crate::tcp) fn on_old_ack(
        &mut self,
        now: u64,
        ack: &Ack,
        blocks: &[(u64, u64)],
        config: &Config,
    ) {
        let mut summary = AckSummary::new(now, self.outstanding(), self.timers.rto());
        let edge = self.sacked_edge();
        if let Some(sent_packets) = &mut self.sent_packets {
            let pipe = self.scoreboard.pipe(self.una, self.next);
            sent_packets.begin(pipe, self.rtt.min_rtt);
        }
        if let Some(block) = reported_duplicate(ack, blocks) {
            self.note_duplicates(block);
        }
        if ack.sack != NONE && ack.sack >= self.una {
            self.sack_in_order(now, ack.sack, edge, &mut summary, config);
        }
        for &(from, to) in blocks {
            for seq in from.max(self.una)..to {
                self.sack_in_order(now, seq, edge, &mut summary, config);
            }
        }
        self.note_reordering(&summary, edge);
        if matches!(self.state, State::Open | State::Recovery)
            && self.undo_by_duplicates(summary.now, config)
        {
            self.state = State::Open;
        }
        self.find_late_after_news(now, config);
        if self.state.is_open() && self.next > self.una && self.scoreboard.misses_any() {
            self.start_recovery(now, summary.before, config);
        }
        self.update_ca_state(config);
        self.update_no_loss_pending(config);
    }
}
