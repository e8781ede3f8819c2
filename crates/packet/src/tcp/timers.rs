//! The timers of a sender: which is armed, and what its expiry does.
//!
//! [`Timers`] alone writes a deadline. [`Timers::next`] says which runs next and
//! [`Sender::on_timer`] which has expired. The engine takes a sender whose retransmission timer is
//! off for one without outstanding data, and looks at no other timer then. On the fast path an ACK
//! is taken up to [`Sender::max_ack_delay`] late, so no timer that an ACK arms may be shorter: a
//! sender with others has no fast path.

use ackclock_algorithms::congestion::{CaState, CongestionControl as _, Signal};

use super::config::{RecoveryPolicy, TimeoutPolicy, TimerPolicy};
use super::linux_timer_wheel::{LEAST_TIMEOUT, expiry};
use super::loss::rack::Rack;
use super::{AckSummary, Config, Sender, State, rack_of};
use crate::packet::NONE;

/// A timer that is off.
const TIMER_OFF: u64 = u64::MAX;

/// Purpose of RACK-TLP's timer: it has one for both (RFC 8985).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Purpose {
    /// The reordering window of a segment is over.
    Reordering,
    /// Nothing has arrived for long: send a probe.
    #[default]
    Probe,
}

/// When the timers of a sender expire, by its clock, ps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timers {
    /// Deadline of retransmissions, of the answer to a SYN, or of a pause.
    rto: u64,
    /// Deadline of the reordering window or of the tail loss probe.
    rack: u64,
    purpose: Purpose,
    /// The window was one segment when a mark came: nothing leaves before `rto`.
    pausing: bool,
}

impl Default for Timers {
    fn default() -> Self {
        Self {
            rto: TIMER_OFF,
            rack: TIMER_OFF,
            purpose: Purpose::default(),
            pausing: false,
        }
    }
}

impl Timers {
    /// When the next timer runs: the retransmission timer, or RACK's before it.
    #[inline(always)]
    pub(crate) fn next(&self) -> u64 {
        if self.rto == TIMER_OFF {
            TIMER_OFF
        } else {
            self.rto.min(self.rack)
        }
    }

    /// When the retransmission timer expires; `u64::MAX` while it is off.
    #[inline(always)]
    pub(crate) fn rto(&self) -> u64 {
        self.rto
    }

    /// Whether the retransmission timer is on.
    #[inline(always)]
    pub(crate) fn is_running(&self) -> bool {
        self.rto != TIMER_OFF
    }

    /// Whether nothing leaves before the retransmission timer expires.
    #[inline(always)]
    pub(super) fn is_pausing(&self) -> bool {
        self.pausing
    }

    /// Returns the purpose of RACK's timer, if it is on.
    fn pending(&self) -> Option<Purpose> {
        (self.rack != TIMER_OFF).then_some(self.purpose)
    }

    #[inline(always)]
    pub(super) fn set_rto(&mut self, at: u64) {
        self.rto = at;
    }

    #[inline(always)]
    pub(crate) fn stop_rto(&mut self) {
        self.rto = TIMER_OFF;
    }

    /// Nothing leaves until `at`.
    pub(super) fn pause(&mut self, at: u64) {
        (self.pausing, self.rto) = (true, at);
    }

    fn set_rack(&mut self, purpose: Purpose, at: u64) {
        (self.purpose, self.rack) = (purpose, at);
    }

    pub(super) fn stop_rack(&mut self) {
        self.rack = TIMER_OFF;
    }
}

impl Sender {
    /// No timer that an ACK starts is shorter than this; zero where an ACK starts others than that
    /// of retransmissions.
    pub(crate) fn max_ack_delay(&self, config: &Config) -> u64 {
        if !self.has_fast_path || self.pacer.is_on() {
            return 0;
        }
        config.rto.min.min(config.rto.initial).min(config.rto.max)
    }

    /// When a timer expires that is set at `now` for `delay`.
    fn expiry(now: u64, delay: u64, config: &Config) -> u64 {
        if config.timers == TimerPolicy::Shared {
            expiry(now, delay)
        } else {
            now + delay
        }
    }

    /// Data leaves: the retransmission timer runs from now on, if it does not (RFC 6298, rule 5.1).
    #[inline(always)]
    pub(super) fn start_rto(&mut self, now: u64, config: &Config) {
        if !self.timers.is_running() {
            self.restart_rto(now, config);
        }
    }

    /// The retransmission timer expires a timeout from now.
    #[inline(always)]
    pub(super) fn restart_rto(&mut self, now: u64, config: &Config) {
        //= RFC 6298 5/1..2: done, test retransmission_timer
        self.timers.set_rto(now + self.timeout(config));
    }

    /// The same if data is outstanding, else it is off (RFC 6298, rules 5.2 and 5.3).
    #[inline(always)]
    pub(super) fn restart_or_stop_rto(&mut self, now: u64, config: &Config) {
        if self.high > self.una {
            self.restart_rto(now, config);
        } else {
            self.timers.stop_rto();
        }
    }

    /// A SYN leaves.
    pub(crate) fn wait_for_syn_ack(&mut self, now: u64, config: &Config) {
        let timeout = self.timeout(config);
        self.timers.set_rto(Self::expiry(now, timeout, config));
    }

    /// RACK looks again at what is late after `longest` (RFC 8985, section 6.2, step 5).
    pub(super) fn wait_for_reordering(&mut self, now: u64, longest: u64, config: &Config) {
        if config.timers == TimerPolicy::Separate {
            //= RFC 8985 6.2/2: done, test rack_waits_for_the_reordering_window
            self.timers.set_rack(Purpose::Reordering, now + longest);
            return;
        }
        let delay = (longest + LEAST_TIMEOUT).min(self.timeout(config));
        let at = expiry(now, delay);
        self.timers.set_rack(Purpose::Reordering, at);
        self.timers.set_rto(self.timers.rto().max(at));
    }

    /// Linux has one timer for the reordering window, the probe and the retransmission timeout, so
    /// that the last of them counts from when the first unacknowledged segment was sent where it
    /// takes the place of one of the others.
    pub(super) fn rearm(&mut self, now: u64, config: &Config) {
        let timeout = self.timeout(config);
        let (una, idle) = (self.una, self.high == self.una);
        let mut delay = timeout;
        if let Some(sent_packets) = &self.sent_packets
            && self.timers.pending().is_some()
        {
            self.timers.stop_rack();
            delay = (sent_packets.sent(una) + timeout)
                .saturating_sub(now)
                .max(1);
        }
        self.timers
            .set_rto(if idle { TIMER_OFF } else { expiry(now, delay) });
    }

    /// Whether the ACK in hand acknowledges, selectively, a segment that was sent once and before
    /// the first unacknowledged one was sent last: in Linux the retransmission timer then counts
    /// from now (`tcp_clean_rtx_queue`).
    pub(super) fn sacks_from_before_the_first(&self) -> bool {
        self.sent_packets.as_ref().is_some_and(|packets| {
            let seq = packets.lowest_original;
            seq != NONE && packets.sent(seq) < packets.sent(self.una)
        })
    }

    /// Arms the probe's timer as Linux does; false where no probe is due. `acked`: an ACK of new
    /// data has just come, and the retransmission timeout counts from now.
    pub(super) fn schedule_probe(&mut self, now: u64, acked: bool, config: &Config) -> bool {
        let outstanding = self.outstanding();
        let quiet = match self.state {
            State::Cwr => true,
            State::Open => self.scoreboard.is_clear(),
            _ => false,
        };
        if !quiet || outstanding == 0 {
            return false;
        }
        let timeout = self.timeout(config);
        let (una, srtt) = (self.una, self.rtt.srtt);
        let Some(sent_packets) = &self.sent_packets else {
            return false;
        };
        let left = if acked {
            timeout
        } else {
            (sent_packets.sent(una) + timeout).saturating_sub(now)
        };
        if sent_packets.rack.is_none() {
            return false;
        }
        let mut delay = match (srtt, outstanding) {
            (0, _) => config.rto.initial,
            (_, 1) => 2 * srtt + config.rto.min,
            _ => 2 * srtt + LEAST_TIMEOUT,
        };
        if left > 0 {
            delay = delay.min(left);
        }
        let at = expiry(now, delay);
        self.timers.set_rack(Purpose::Probe, at);
        let running = self.timers.is_running();
        self.timers.set_rto(if running {
            self.timers.rto().max(at)
        } else {
            at
        });
        true
    }

    /// Arms the timer of the tail loss probe (RFC 8985, section 7.2): after an ACK, or after new
    /// data has left.
    pub(super) fn arm_probe(&mut self, now: u64) {
        let outstanding = self.outstanding();
        let wanted = self.state.is_open() && outstanding > 0 && self.scoreboard.sacked() == 0;
        let Some(rack) = rack_of(&mut self.sent_packets) else {
            return;
        };
        if self.timers.pending() == Some(Purpose::Reordering) {
            return;
        }
        //= RFC 8985 7.3/1: deviation, that a round trip was sampled since the last probe is not
        //=   asked: every ACK of new data is a sample
        if wanted && rack.probe_end == NONE {
            //= RFC 8985 7.2/1, 7.2/3: done, tests tail_loss_probes, probe_timeouts
            //= RFC 8985 8/1: deviation, the retransmission timer runs on behind the other
            //= RFC 8985 8/1 (style "linux"): done, test linux_has_one_timer_in_ticks
            let at = now + Rack::probe_timeout(self.rtt.srtt, outstanding);
            let at = at.min(self.timers.rto());
            self.timers.set_rack(Purpose::Probe, at);
        } else {
            self.timers.stop_rack();
        }
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
        //= RFC 8985 7.4.2/1..2: done, test tail_loss_probes
        let repaired = rack.probe_again && una > rack.probe_end;
        rack.probe_end = NONE;
        if repaired && self.state.is_open() {
            self.forget_undo();
            self.reduce(summary.now, Signal::Loss, summary.before, config);
            self.ecn.set_reduced(self.next);
        }
    }

    /// No probe is waited for any more: a reduction begins (RFC 8985, section 7.1;
    /// `tcp_init_cwnd_reduction`).
    pub(super) fn forget_probe(&mut self) {
        if let Some(rack) = rack_of(&mut self.sent_packets) {
            rack.probe_end = NONE;
        }
    }

    /// The timer of [`Timers::next`] has expired.
    pub(crate) fn on_timer(&mut self, now: u64, config: &Config) {
        if let Some(purpose) = self.timers.pending()
            && self.timers.rack <= now
        {
            if config.timers == TimerPolicy::Shared {
                self.on_timer_linux(now, purpose, config);
                return;
            }
            self.timers.stop_rack();
            match purpose {
                Purpose::Reordering => {
                    self.find_late(now, config);
                    if self.state == State::Open && self.scoreboard.calls_for_recovery(self.una) {
                        self.start_recovery(now, self.outstanding(), config);
                    }
                }
                Purpose::Probe => {
                    //= RFC 8985 7.3/2..3: done, test tail_loss_probes; the timer is not armed where
                    //=   no probe may go
                    //= RFC 8985 7.3/7: done, test tail_loss_probes
                    self.send_probe(config);
                    self.restart_rto(now, config);
                }
            }
            return;
        }
        self.on_timeout(now, config);
    }

    /// RACK's timer has expired, in Linux.
    fn on_timer_linux(&mut self, now: u64, purpose: Purpose, config: &Config) {
        let (una, next) = (self.una, self.next);
        let Some(sent_packets) = &mut self.sent_packets else {
            return;
        };
        let pipe = self.scoreboard.pipe(una, next);
        sent_packets.begin(pipe, self.rtt.min_rtt);
        let probing = matches!(&sent_packets.rack, Some(rack) if rack.probe_end != NONE);
        if purpose == Purpose::Reordering {
            self.find_late(now, config);
            if self.scoreboard.pipe(una, next) != pipe && self.state != State::Recovery {
                // after a timeout too: its ssthresh comes down again
                self.start_recovery(now, self.outstanding(), config);
                if config.recovery == RecoveryPolicy::Linux && !self.delivery {
                    self.spread_reduction(false, 1);
                }
            }
            self.rearm(now, config);
            return;
        }
        if probing {
            // one probe for each flight; the retransmission timer is next
            self.rearm(now, config);
            return;
        }
        self.timers.stop_rack();
        self.send_probe(config);
        self.timers.set_rto(expiry(now, self.timeout(config)));
    }

    /// The next segment out is a probe: a new one if there is one, else the last again (RFC 8985,
    /// section 7.3).
    fn send_probe(&mut self, config: &Config) {
        //= RFC 8985 7.3/4..5: done, test tail_loss_probes
        let new = self.may_send(self.next, config);
        if let Some(rack) = rack_of(&mut self.sent_packets) {
            rack.probe_end = self.next + u64::from(new);
            rack.probe_again = !new;
        }
        if new {
            self.probe = true;
        } else {
            self.recovery.retransmit_next = self.next - 1;
        }
    }

    /// The retransmission timer has expired (RFC 6298, rules 5.4 to 5.6; RFC 5681, section 3.1).
    pub(crate) fn on_timeout(&mut self, now: u64, config: &Config) {
        if std::mem::take(&mut self.timers.pausing) && self.una == self.high {
            // the pause after a mark is over: nothing is lost, and nothing backs off
            self.timers.stop_rto();
            self.update_no_loss_pending(config);
            return;
        }
        self.counters.timeouts += 1;
        self.no_loss_pending = false;
        // in Linux not twice for the losses of one window
        let answered = config.timeout == TimeoutPolicy::Linux
            && matches!(self.state, State::Recovery | State::Cwr)
            && self.una < self.recovery.recover;
        let again = self.note_timeout(config);
        self.set_ca_state(CaState::Loss);
        if !again && !answered {
            self.remember_for_undo(true, config);
            self.reduce(now, Signal::Timeout, self.outstanding(), config);
        }
        //= RFC 5681 3.1/16: done, test retransmission_timer
        //= RFC 8257 3.5/3: done, test retransmission_timer
        self.window.cwnd = 1.0;
        self.rtt.back_off();
        self.rtt.stop_timing(self.high);
        self.state = State::Loss;
        //= RFC 6582 3.2/6: done, test duplicates_of_what_a_timeout_sends_again_start_no_recovery
        //= RFC 6675 5.1/4..5: done, test duplicates_of_what_a_timeout_sends_again_start_no_recovery
        self.recovery.recover = self.high;
        self.ecn.set_reduced(self.high);
        self.dup_acks = 0;
        self.recovery.retransmit_next = NONE;
        self.recovery.rescued = true;
        self.round_end = self.high;
        if config.recovery.is_selective() {
            self.lose_all(now, config);
            self.recovery.high_resent = self.una;
            if config.timeout == TimeoutPolicy::Linux {
                self.window.cwnd = (self.scoreboard.pipe(self.una, self.next) + 1) as f64;
                if self.delivery {
                    self.controller.set_state(CaState::Loss);
                }
            }
        } else {
            self.next = self.una;
        }
        self.timers
            .set_rto(Self::expiry(now, self.timeout(config), config));
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
        let pending = self.timers.pending();
        if retransmission {
            if seq == self.una && pending != Some(Purpose::Reordering) {
                self.timers.stop_rack();
                self.timers.set_rto(expiry(now, self.timeout(config)));
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
        self.wait_for_syn_ack(now, config);
    }
}
