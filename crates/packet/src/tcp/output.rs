//! Segments that a sender may send now, and what happens to it as a segment leaves.

use ackclock_algorithms::Time;
use ackclock_algorithms::congestion::CongestionControl as _;
use ackclock_scenario::WindowReduction;

use super::config::{RecoveryPolicy, RtoPolicy, TimerPolicy};
use super::{Config, Segment, Sender, State, whole};
use crate::packet::{Flags, NONE};

impl Sender {
    /// How many new segments may leave now, if nothing else is to be looked at: no loss is known,
    /// and nothing wants to hear of each segment. `None`: ask for each with
    /// [`Sender::next_segment`].
    #[inline]
    pub(crate) fn room(&self, config: &Config) -> Option<u64> {
        if !self.no_loss_pending {
            return None;
        }
        self.room_after_fast_path(config)
    }

    /// [`Sender::room`] after a plain ACK.
    #[inline(always)]
    pub(crate) fn room_after_fast_path(&self, config: &Config) -> Option<u64> {
        if self.pacer.is_on() {
            return None;
        }
        //= RFC 5681 2/1: done, test the_receivers_window_holds
        //= RFC 9406 3/1: done, test the_receivers_window_holds
        let window = whole(self.window.cwnd).min(config.max_window);
        let outstanding = self.next - self.una;
        let room = window.saturating_sub(outstanding);
        Some(room.min(self.written.saturating_sub(self.next)))
    }

    /// `count` new segments leave, as [`Sender::room`] allows: the first one's number.
    #[inline(always)]
    pub(crate) fn take(&mut self, now: u64, count: u64, config: &Config) -> u64 {
        let first = self.next;
        self.next += count;
        self.high = self.next;
        self.last_sent = now;
        self.start_rto(now, config);
        first
    }

    /// The next segment that may leave now, if any; it counts as sent.
    #[inline(always)]
    pub(crate) fn next_segment(&mut self, now: u64, config: &Config) -> Option<Segment> {
        let empty = (config.recovery == RecoveryPolicy::Linux || self.needs.ca_state)
            && !self.delivery
            && self.scoreboard.pipe(self.una, self.next) == 0;
        let before = self.next;
        let segment = self.choose(config)?;
        if empty {
            self.round_end = before;
            self.controller.on_restart(Time(now), &mut self.window);
        }
        if matches!(self.state, State::Cwr | State::Recovery | State::Loss) {
            self.record_sent_in_recovery(now, segment, config);
        }
        self.last_sent = now;
        self.start_rto(now, config);
        if self.tracks_segments {
            self.note_sent(now, segment, config);
        }
        let cwr = self.ecn.take_cwr(segment.1);
        Some(Segment {
            seq: segment.0,
            retransmission: segment.1,
            cwr,
        })
    }

    /// A segment leaves a sender that remembers its segments or how much of its window it uses, or
    /// paces them.
    #[cold]
    #[inline(never)]
    fn note_sent(&mut self, now: u64, segment: (u64, bool), config: &Config) {
        if let Some(usage) = &mut self.usage {
            usage.sent |= !segment.1;
        }
        if let Some(sent_packets) = &mut self.sent_packets {
            if segment.1 {
                sent_packets.undo.retransmissions += 1;
                if matches!(self.state, State::Recovery | State::Loss) {
                    sent_packets.undo.count_resent(now);
                }
            }
            let in_flight = self.scoreboard.pipe(self.una, self.next);
            if in_flight >= whole(self.window.cwnd) {
                sent_packets.note_full();
            }
            // Linux asks whether anything is unacknowledged (`packets_out`), the draft whether
            // anything is in flight
            let empty = if config.rto.policy == RtoPolicy::Linux {
                self.next - u64::from(!segment.1) == self.una
            } else {
                in_flight <= 1
            };
            if sent_packets.send(now, segment.0, in_flight, empty) && self.delivery {
                self.controller.on_restart(Time(now), &mut self.window);
            }
        }
        if self.pacer.is_on() {
            self.pace(now, config);
        }
        if config.loss.rack && config.timers == TimerPolicy::Shared {
            self.set_timer_linux(now, segment, config);
        } else if config.loss.rack {
            if !segment.1 {
                self.arm_probe(now);
            } else if segment.0 == self.una {
                //= RFC 6298 5/2 (RACK-TLP): deviation, a retransmission of the first segment
                //=   restarts the timer
                // Deviation from RFC 6298, section 5, rule 5.1 (RACK-TLP): the first segment sent
                // again has its time again, as in Linux; else a lost retransmission could not be
                // found before the timer expires.
                self.restart_rto(now, config);
            }
        }
    }

    /// Nothing more may be sent now. If that is for want of data and not of window, samples say so.
    #[inline]
    pub(crate) fn on_nothing_to_send(&mut self) {
        if self.tracks_segments {
            self.note_nothing_to_send();
        }
    }

    #[cold]
    #[inline(never)]
    fn note_nothing_to_send(&mut self) {
        self.pacer.end_burst();
        if self.delivery
            && self.next >= self.written
            && let Some(sent_packets) = &mut self.sent_packets
        {
            let in_flight = self.scoreboard.pipe(self.una, self.next);
            if (in_flight as f64) < self.window.cwnd {
                sent_packets.mark_app_limited(in_flight);
            }
        }
        if let Some(usage) = &mut self.usage {
            let in_flight = self.scoreboard.pipe(self.una, self.next);
            let full = in_flight >= whole(self.window.cwnd);
            if std::mem::take(&mut usage.sent) || (full && self.next < self.written) {
                usage.note(full, self.una, self.next);
            }
        }
    }

    #[inline(always)]
    fn choose(&mut self, config: &Config) -> Option<(u64, bool)> {
        if self.recovery.retransmit_next != NONE {
            let seq = std::mem::replace(&mut self.recovery.retransmit_next, NONE);
            // while it waited for the pacer an ACK may have come for it
            if seq >= self.una {
                if config.recovery.is_selective() {
                    self.scoreboard.retransmit(self.una, seq);
                    self.recovery.high_resent = seq + 1;
                }
                return Some((seq, true));
            }
        }
        if self.timers.is_pausing() {
            return None;
        }
        if self.probe {
            self.probe = false;
            if let Some(segment) = self.choose_new(config) {
                return Some(segment);
            }
        }
        let mut cwnd = whole(self.window.cwnd);
        if self.state == State::Recovery && config.reduction == WindowReduction::RateHalving {
            cwnd = cwnd.max(self.recovery.halving);
        }
        if config.recovery.is_selective() && !self.scoreboard.is_clear() {
            return self.choose_selective(cwnd, config);
        }
        // limited transmit (RFC 3042): one new segment for each of the first duplicate ACKs
        //= RFC 5681 3.2/4..5: done, test fast_retransmit_and_fast_recovery
        let extra = if config.loss.limited_transmit
            && self.state.is_open()
            && !config.recovery.is_selective()
        {
            u64::from(self.dup_acks.min(config.loss.dup_threshold - 1))
        } else {
            0
        };
        //= RFC 5681 3.2/11: done, test fast_retransmit_and_fast_recovery
        if self.next - self.una >= cwnd + extra {
            return None;
        }
        self.choose_new(config)
    }

    /// The next segment where something is acknowledged selectively or lost (RFC 6675, section 4,
    /// NextSeg).
    #[inline(always)]
    fn choose_selective(&mut self, cwnd: u64, config: &Config) -> Option<(u64, bool)> {
        let open = self.state.is_open();
        let pipe = if open && !config.loss.limited_transmit {
            self.outstanding()
        } else {
            self.scoreboard.pipe(self.una, self.next)
        };
        //= RFC 5681 3.2/6: done, test a_duplicate_without_news_sends_nothing
        //= RFC 6675 5/8..9: done, test selective_recovery
        //= RFC 8985 9.3/1: done, test selective_recovery; the first lost segment goes at once, as
        //=   in fast retransmit
        if pipe >= cwnd {
            return None;
        }
        if self.state == State::Loss
            && let Some(sent_packets) = &self.sent_packets
            && sent_packets.new_first
        {
            if let Some(segment) = self.choose_new(config) {
                return Some(segment);
            }
            if self.next > self.recovery.recover {
                return None;
            }
        }
        let lost = if open {
            None
        } else if config.loss.of_retransmissions || config.loss.rack {
            //= RFC 8985 9.2/1: done, test rack_is_as_quick_as_three_duplicates; lost
            //=   retransmissions go again
            self.scoreboard.next_lost_not_resent(self.una)
        } else {
            self.scoreboard
                .next_lost(self.una, self.recovery.high_resent)
        };
        //= RFC 6675 4/4..5: done, tests selective_recovery, the_next_segment_by_rule
        //= RFC 6675 5.1/3, 5.1/8: done, test a_timeout_keeps_the_scoreboard
        if let Some(seq) = lost {
            return Some(self.resend(seq)); // rule 1
        }
        if let Some(segment) = self.choose_new(config) {
            //= RFC 6675 4/6: done, tests selective_recovery, the_next_segment_by_rule
            return Some(segment); // rule 2
        }
        if self.state == State::Recovery && !config.loss.rack {
            //= RFC 6675 4/7, 4/10: done, test the_next_segment_by_rule
            if let Some(seq) = self
                .scoreboard
                .next_hole(self.una, self.recovery.high_resent)
            {
                return Some(self.resend(seq)); // rule 3
            }
            if !self.recovery.rescued
                && let Some(seq) = self.scoreboard.last_hole(self.una, self.next)
            {
                //= RFC 6675 4/8..9: done, test the_next_segment_by_rule
                // rule 4: once a recovery, and it does not move the edge of retransmissions
                self.recovery.rescued = true;
                self.scoreboard.retransmit(self.una, seq);
                return Some((seq, true));
            }
        }
        None
    }

    fn resend(&mut self, seq: u64) -> (u64, bool) {
        self.scoreboard.retransmit(self.una, seq);
        //= RFC 6675 5/10: done, test the_next_segment_by_rule
        self.recovery.high_resent = seq + 1;
        (seq, true)
    }

    #[inline]
    fn choose_new(&mut self, config: &Config) -> Option<(u64, bool)> {
        if !self.may_send(self.next, config) {
            return None;
        }
        let seq = self.next;
        self.next += 1;
        let retransmission = seq < self.high;
        self.high = self.high.max(self.next);
        Some((seq, retransmission))
    }

    /// The application writes after a pause: a window that was not used for a timeout's time is not
    /// trusted (RFC 5681, section 4.1).
    pub(crate) fn restart_if_idle(&mut self, now: u64, config: &Config) {
        // an algorithm that owns the window hears of an empty network as the next segment leaves
        if !self.delivery
            && self.next == self.una
            && self.last_sent > 0
            && now - self.last_sent > self.rtt.base_timeout()
        {
            //= RFC 5681 4.1/1: done, test an_idle_sender_begins_again
            self.window.cwnd = self.window.cwnd.min(config.initial_window);
            self.controller.on_restart(Time(now), &mut self.window);
        }
    }
}

impl Segment {
    /// Its ECN fields.
    ///
    /// Deviation from RFC 3168, section 6.1.5: retransmissions are ECN-capable where `ecn_always`
    /// says so, as they are in Linux where each mark is echoed as it came.
    #[inline]
    pub(crate) fn ecn_flags(self, config: &Config) -> Flags {
        //= RFC 9768 3.1.5/11..14: done, test ecn_fields_by_what_is_agreed
        //= RFC 9768 4/1: done, test ecn_fields_by_what_is_agreed; ECT(1) for scalable congestion
        //=   controls (RFC 9331)
        let capable = config.ecn.on && (!self.retransmission || config.ecn.always);
        let ect = if capable { config.ecn.ect } else { 0 };
        let cwr = self.cwr && config.ecn.accecn.is_none();
        Flags(ect | if cwr { Flags::CWR } else { 0 })
    }
}
