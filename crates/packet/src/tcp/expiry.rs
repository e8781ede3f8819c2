//! Which timer of a sender is armed, and what its expiry does.
//!
//! [`Sender::next_timer`] says which runs next and [`Sender::on_timer`] which has expired. The
//! engine takes a sender whose retransmission timer is off for one without outstanding data, and
//! looks at no other timer then. On the fast path an ACK is taken up to [`Sender::max_ack_delay`]
//! late, so no timer that an ACK arms may be shorter: a sender with others is not
//! `fast_path_eligible`.

use ackclock_algorithms::congestion::{CaState, CongestionControl as _, Signal};

use super::config::{RecoveryPolicy, TimeoutPolicy, TimerPolicy};
use super::loss::rack::{Purpose, Rack};
use super::timers::{LEAST_TIMEOUT, expiry};
use super::{AckSummary, Config, Sender, State, rack_of};
use crate::packet::NONE;

impl Sender {
    /// When a timer expires that is set at `now` for `delay`.
    pub(crate) fn expiry(now: u64, delay: u64, config: &Config) -> u64 {
        if config.timers == TimerPolicy::Shared {
            expiry(now, delay)
        } else {
            now + delay
        }
    }

    /// Linux has one timer for the reordering window, the probe and the retransmission timeout, so
    /// that the last of them counts from when the first unacknowledged segment was sent where it
    /// takes the place of one of the others.
    pub(super) fn rearm(&mut self, now: u64, config: &Config) {
        let timeout = self.timeout(config);
        let (una, idle) = (self.una, self.high == self.una);
        let mut delay = timeout;
        if let Some(sent_packets) = &mut self.sent_packets {
            let sent = sent_packets.sent(una);
            if let Some(rack) = &mut sent_packets.rack
                && rack.timer != u64::MAX
            {
                rack.timer = u64::MAX;
                delay = (sent + timeout).saturating_sub(now).max(1);
            }
        }
        self.deadline = if idle { u64::MAX } else { expiry(now, delay) };
    }

    /// Arms the probe's timer as Linux does; false where no probe is due. `acked`: an ACK of new
    /// data has just come, and the retransmission timeout counts from now.
    pub(super) fn schedule_probe(&mut self, now: u64, acked: bool, config: &Config) -> bool {
        let outstanding = self.outstanding();
        let quiet = self.in_cwr || self.scoreboard.is_clear();
        if self.state != State::Open || !quiet || outstanding == 0 {
            return false;
        }
        let timeout = self.timeout(config);
        let (una, srtt) = (self.una, self.rtt.srtt);
        let Some(sent_packets) = &mut self.sent_packets else {
            return false;
        };
        let left = if acked {
            timeout
        } else {
            (sent_packets.sent(una) + timeout).saturating_sub(now)
        };
        let Some(rack) = &mut sent_packets.rack else {
            return false;
        };
        let mut delay = match (srtt, outstanding) {
            (0, _) => config.initial_rto,
            (_, 1) => 2 * srtt + config.min_rto,
            _ => 2 * srtt + LEAST_TIMEOUT,
        };
        if left > 0 {
            delay = delay.min(left);
        }
        (rack.timer, rack.purpose) = (expiry(now, delay), Purpose::Probe);
        let timer = rack.timer;
        self.deadline = if self.deadline == u64::MAX {
            timer
        } else {
            self.deadline.max(timer)
        };
        true
    }

    /// Arms the timer of the tail loss probe (RFC 8985, section 7.2): after an ACK, or after new
    /// data has left.
    pub(super) fn arm_probe(&mut self, now: u64) {
        let outstanding = self.outstanding();
        let wanted = self.state == State::Open && outstanding > 0 && self.scoreboard.sacked() == 0;
        let Some(rack) = rack_of(&mut self.sent_packets) else {
            return;
        };
        if rack.timer != u64::MAX && rack.purpose == Purpose::Reordering {
            return;
        }
        rack.purpose = Purpose::Probe;
        rack.timer = if wanted && rack.probe_end == NONE {
            (now + Rack::probe_timeout(self.rtt.srtt, outstanding)).min(self.deadline)
        } else {
            u64::MAX
        };
    }

    /// A probe is out: whether an ACK answers it, and whether it has repaired a loss (RFC 8985,
    /// section 7.4).
    pub(super) fn after_ack_of_probe(&mut self, summary: &AckSummary, config: &Config) {
        let una = self.una;
        let Some(rack) = rack_of(&mut self.sent_packets) else {
            return;
        };
        if rack.probe_end == NONE || una < rack.probe_end {
            return;
        }
        // sent again for nothing: an ACK that acknowledges nothing new answers the second copy
        let needless = summary.acked == 0 && summary.sacked == 0;
        if rack.probe_again && una == rack.probe_end && !needless {
            return; // one of the two copies; the next ACK tells
        }
        let repaired = rack.probe_again && una > rack.probe_end;
        rack.probe_end = NONE;
        if repaired && self.state == State::Open {
            self.forget_undo();
            self.reduce(summary.now, Signal::Loss, summary.before, config);
            self.cwr_end = self.next;
        }
    }

    /// When the next timer runs: the retransmission timer, or RACK's before it.
    #[inline]
    pub(crate) fn next_timer(&self) -> u64 {
        match &self.sent_packets {
            Some(sent_packets) if self.deadline != u64::MAX => sent_packets
                .rack
                .as_ref()
                .map_or(self.deadline, |rack| rack.timer.min(self.deadline)),
            _ => self.deadline,
        }
    }

    /// The timer of [`Sender::next_timer`] has expired.
    pub(crate) fn on_timer(&mut self, now: u64, config: &Config) {
        let rack = rack_of(&mut self.sent_packets);
        if let Some(rack) = rack
            && rack.timer <= now
        {
            if config.timers == TimerPolicy::Shared {
                self.on_timer_linux(now, config);
                return;
            }
            rack.timer = u64::MAX;
            match rack.purpose {
                Purpose::Reordering => {
                    self.find_late(now, config);
                    if self.state == State::Open && self.scoreboard.calls_for_recovery(self.una) {
                        self.start_recovery(now, self.outstanding(), config);
                    }
                }
                Purpose::Probe => {
                    let new = self.next < self.written && self.next - self.una < config.max_window;
                    rack.probe_end = self.next + u64::from(new);
                    rack.probe_again = !new;
                    if new {
                        self.probe = true;
                    } else {
                        self.forced = self.next - 1;
                    }
                    self.deadline = now + self.timeout(config);
                }
            }
            return;
        }
        self.on_timeout(now, config);
    }

    /// RACK's timer has expired, in Linux.
    fn on_timer_linux(&mut self, now: u64, config: &Config) {
        let (una, next) = (self.una, self.next);
        let Some(sent_packets) = &mut self.sent_packets else {
            return;
        };
        let pipe = self.scoreboard.pipe(una, next);
        sent_packets.begin(pipe, self.rtt.min_rtt);
        let Some(rack) = &mut sent_packets.rack else {
            return;
        };
        if rack.purpose == Purpose::Reordering {
            self.find_late(now, config);
            if self.scoreboard.pipe(una, next) != pipe && self.state != State::Recovery {
                // after a timeout too: its ssthresh comes down again
                self.start_recovery(now, self.outstanding(), config);
                if config.recovery == RecoveryPolicy::Linux {
                    self.spread_reduction(false, 1);
                }
            }
            self.rearm(now, config);
            return;
        }
        if rack.probe_end != NONE {
            // one probe for each flight; the retransmission timer is next
            self.rearm(now, config);
            return;
        }
        let new = next < self.written && next - una < config.max_window;
        (rack.probe_end, rack.probe_again) = (next + u64::from(new), !new);
        rack.timer = u64::MAX;
        if new {
            self.probe = true;
        } else {
            self.forced = next - 1;
        }
        self.deadline = expiry(now, self.timeout(config));
    }

    /// The retransmission timer has expired (RFC 6298, rules 5.4 to 5.6; RFC 5681, section 3.1).
    pub(crate) fn on_timeout(&mut self, now: u64, config: &Config) {
        if std::mem::take(&mut self.pausing) && self.una == self.high {
            // the pause after a mark is over: nothing is lost, and nothing backs off
            self.deadline = u64::MAX;
            self.update_no_loss_pending(config);
            return;
        }
        self.counters.timeouts += 1;
        self.no_loss_pending = false;
        // in Linux not twice for the losses of one window
        let answered = config.timeout == TimeoutPolicy::Linux
            && (self.state == State::Recovery || self.in_cwr)
            && self.una < self.recover;
        let again = self.note_timeout(config);
        self.set_ca_state(CaState::Loss);
        if !again && !answered {
            self.remember_for_undo(true, config);
            self.reduce(now, Signal::Timeout, self.outstanding(), config);
        }
        self.window.cwnd = 1.0;
        self.in_cwr = false;
        self.rtt.back_off();
        self.rtt.stop_timing(self.high);
        self.state = State::Loss;
        self.recover = self.high;
        self.cwr_end = self.high;
        self.dup_acks = 0;
        self.forced = NONE;
        self.rescued = true;
        self.round_end = self.high;
        if config.recovery.is_selective() {
            self.lose_all(now);
            self.high_resent = self.una;
            if config.timeout == TimeoutPolicy::Linux {
                self.window.cwnd = (self.scoreboard.pipe(self.una, self.next) + 1) as f64;
                if self.delivery {
                    self.controller.set_state(CaState::Loss);
                }
            }
        } else {
            self.next = self.una;
        }
        self.deadline = Self::expiry(now, self.timeout(config), config);
    }

    /// A segment has left: what that does to Linux's timer.
    pub(super) fn set_timer_linux(
        &mut self,
        now: u64,
        (seq, retransmission): (u64, bool),
        config: &Config,
    ) {
        let Some(rack) = rack_of(&mut self.sent_packets) else {
            return;
        };
        let pending = (rack.timer != u64::MAX).then_some(rack.purpose);
        if retransmission {
            if seq == self.una && pending != Some(Purpose::Reordering) {
                rack.timer = u64::MAX;
                self.deadline = expiry(now, self.timeout(config));
            }
        } else if pending.is_some() || seq + 1 != rack.probe_end {
            if pending == Some(Purpose::Probe) || self.outstanding() == 1 {
                self.rearm(now, config);
            }
            self.schedule_probe(now, false, config);
        }
    }

    /// A connection request was not answered in time: back off.
    pub(crate) fn on_syn_timeout(&mut self, now: u64, config: &Config) {
        self.counters.timeouts += 1;
        self.rtt.back_off();
        self.deadline = Self::expiry(now, self.timeout(config), config);
    }
}
