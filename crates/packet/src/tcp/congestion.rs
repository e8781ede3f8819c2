//! How the window grows and falls: what the congestion control is given, and when.

use ackclock_algorithms::congestion::{
    Ack as AckEvent, CaState, CongestionControl as _, Delivery, Reduction, Signal,
};
use ackclock_algorithms::registry::Controller;
use ackclock_algorithms::{Stream, Time};

use super::config::{RecoveryPolicy, ReductionBase, RtoPolicy};
use super::{AckSummary, Config, Sender, State};

impl Sender {
    /// The window in use when a reduction is due (RFC 5681, equation 4).
    fn window_used(&self, outstanding: u64, config: &Config) -> f64 {
        if config.reduction_base == ReductionBase::CongestionWindow {
            return self.window.cwnd;
        }
        let outstanding = outstanding as f64;
        match self.state {
            // the window that sent the outstanding data is the one that counts, not what recovery
            // made of it
            State::Recovery | State::Loss => outstanding.min(self.recovery.prior_cwnd),
            //= RFC 5681 3.2/8: done, test fast_retransmit_and_fast_recovery
            _ if outstanding + 1.0 > self.window.cwnd => self.window.cwnd,
            _ => outstanding,
        }
    }

    /// Reduces the window when `outstanding` segments are, or were before the ACK that says so.
    pub(super) fn reduce(&mut self, now: u64, signal: Signal, outstanding: u64, config: &Config) {
        let used = self.window_used(outstanding, config);
        self.recovery.prior_cwnd = self.window.cwnd;
        self.respond(now, signal, used, config);
    }

    /// The congestion control reduces what was used of the window.
    pub(super) fn respond(&mut self, now: u64, signal: Signal, used: f64, config: &Config) {
        let reduction = Reduction {
            now: Time(now),
            signal,
            window_used: used,
            min_rtt: Time(self.rtt.min_rtt).seconds(),
            srtt: Time(self.rtt.srtt).seconds(),
        };
        self.recovery.reduced_at = now;
        //= RFC 5681 3.1/9, 3.1/15: done, tests retransmission_timer,
        //=   congestion_is_answered_once_a_window
        //= RFC 5681 3.2/7: done, tests fast_retransmit_and_fast_recovery, partial_acknowledgements
        //= RFC 5681 4.3/1: done, test selective_recovery
        //= RFC 9438 4.6/1: done, tests selective_recovery, section_4_6_and_4_2_reduction_and_k
        self.controller.on_congestion(&reduction, &mut self.window);
        if self.resume.is_some() {
            self.retreat(config);
        }
    }

    /// Lets the window grow by what `acked` segments allow.
    #[inline(always)]
    pub(super) fn grow(
        &mut self,
        summary: &AckSummary,
        acked: u32,
        config: &Config,
        random: &mut Stream,
    ) {
        //= RFC 5681 3.1/1: done, test slow_start_then_one_segment_a_round
        let round_start = self.starts_round();
        let limited = summary.cwnd_limited || (self.state == State::Loss && !config.remembers_use);
        if !self.grow_additively(summary.now, acked, limited, random) {
            let event = self.bare_event(summary, acked, round_start, config);
            self.grow_otherwise(event, summary.rtt, random);
        }
    }

    /// Whether the ACK that has just come is the first of a round trip.
    #[inline(always)]
    pub(super) fn starts_round(&mut self) -> bool {
        let starts = self.una > self.round_end;
        if starts {
            self.round_end = self.next;
        }
        starts
    }

    /// Additive increase, which looks at no times: no divisions for them. False for other
    /// congestion controls.
    #[inline(always)]
    pub(super) fn grow_additively(
        &mut self,
        now: u64,
        acked: u32,
        cwnd_limited: bool,
        random: &mut Stream,
    ) -> bool {
        if self.slow_start.is_some() {
            return false;
        }
        // inlined for speed: what `grow_otherwise` comes to for congestion controls that look at
        // nothing but the number of acknowledged segments
        let (Controller::Reno(control) | Controller::Aimd(control)) = &mut self.controller else {
            return false;
        };
        let event = AckEvent {
            now: Time(now),
            acked,
            rtt: f64::NAN,
            echo: Time::ZERO,
            min_rtt: f64::NAN,
            srtt: f64::NAN,
            in_flight: 0,
            round_start: false,
            cwnd_limited,
            ece: false,
            marked: 0,
            next: 0,
            una: 0,
            covered: acked,
        };
        control.on_ack(&event, &mut self.window, random);
        true
    }

    #[inline(never)]
    pub(super) fn grow_otherwise(&mut self, mut event: AckEvent, rtt: u64, random: &mut Stream) {
        let round_start = event.round_start;
        match &mut self.controller {
            // inlined for speed: it looks at the smallest RTT once a round trip, and never at the
            // smoothed one; the general way below makes two divisions more
            Controller::Compound(control) if self.slow_start.is_none() => {
                if round_start {
                    event.min_rtt = Time(self.rtt.min_rtt).seconds();
                }
                control.on_ack(&event, &mut self.window, random);
            }
            _ => self.let_grow(self.with_round_trips(event), rtt, random),
        }
    }

    #[inline]
    pub(super) fn let_grow(&mut self, event: AckEvent, rtt: u64, random: &mut Stream) {
        if self.slow_start.is_some() {
            self.grow_in_slow_start(event, rtt, random);
        } else {
            self.controller.on_ack(&event, &mut self.window, random);
        }
    }

    /// Returns what an ACK of `acked` segments tells the congestion control.
    #[inline]
    pub(super) fn event(
        &self,
        summary: &AckSummary,
        acked: u32,
        round_start: bool,
        config: &Config,
    ) -> AckEvent {
        self.with_round_trips(self.bare_event(summary, acked, round_start, config))
    }

    #[inline]
    fn with_round_trips(&self, event: AckEvent) -> AckEvent {
        AckEvent {
            min_rtt: Time(self.rtt.min_rtt).seconds(),
            srtt: Time(self.rtt.srtt).seconds(),
            ..event
        }
    }

    /// [`Sender::event`] without the least and the smoothed round trip.
    #[inline(always)]
    pub(super) fn bare_event(
        &self,
        summary: &AckSummary,
        acked: u32,
        round_start: bool,
        config: &Config,
    ) -> AckEvent {
        AckEvent {
            now: Time(summary.now),
            acked,
            rtt: if summary.rtt == 0 {
                f64::NAN
            } else {
                Time(summary.rtt).seconds()
            },
            echo: Time(summary.echo),
            min_rtt: f64::NAN,
            srtt: f64::NAN,
            in_flight: summary.before as u32,
            covered: summary.acked as u32,
            una: self.una,
            next: self.next,
            round_start,
            cwnd_limited: summary.cwnd_limited
                || (self.state == State::Loss && !config.remembers_use),
            ece: summary.ece,
            marked: self.marked_of(summary, acked, config),
        }
    }

    /// How many of the segments that an ACK delivers were marked: what the receiver has counted, or
    /// all or none.
    #[inline]
    fn marked_of(&self, summary: &AckSummary, delivered: u32, config: &Config) -> u32 {
        match (summary.ece && config.ecn.accurate, &self.accecn) {
            (false, _) => 0,
            (true, None) => delivered,
            (true, Some(_)) => summary.marked,
        }
    }

    /// Tells the congestion control what this ACK says of the delivery of segments.
    pub(super) fn report_delivery(
        &mut self,
        summary: &AckSummary,
        config: &Config,
        random: &mut Stream,
    ) {
        let backlogged = self.next < self.written;
        let delivered = self.sent_packets.as_ref();
        let delivered = delivered.map_or(0, |packets| packets.newly_delivered);
        let marked = self.marked_of(summary, delivered, config);
        let Some(sent_packets) = &mut self.sent_packets else {
            return;
        };
        let mut sample = sent_packets.sample(summary.now, self.rtt.min_rtt);
        if config.rto.policy == RtoPolicy::Linux {
            sample.rtt = summary.rtt;
        }
        let delivery = Delivery {
            now: Time(summary.now),
            acked: sent_packets.newly_delivered,
            marked,
            lost: sent_packets.newly_lost,
            delivered: sent_packets.delivered,
            total_lost: sent_packets.lost,
            in_flight_before: sent_packets.in_flight_before,
            in_flight: self.scoreboard.pipe(self.una, self.next) as u32,
            rtt: if sample.rtt == 0 {
                f64::NAN
            } else {
                Time(sample.rtt).seconds()
            },
            srtt: Time(self.rtt.srtt).seconds(),
            rate: sample.rate,
            prior_delivered: sample.prior_delivered,
            app_limited: sample.app_limited,
            sent_in_flight: sample.sent_in_flight,
            lost_since_sent: sample.lost_since_sent,
            cwnd_limited: sample.cwnd_limited,
            backlogged,
            departs_in: Time(self.pacer.next().saturating_sub(summary.now)).seconds(),
            ca_state: match self.state {
                State::Closed | State::Open | State::Cwr => CaState::Open,
                State::Recovery => CaState::Recovery,
                State::Loss => CaState::Loss,
            },
        };
        self.controller
            .on_delivery(&delivery, &mut self.window, random);
    }

    /// The congestion state becomes what the sender's state says; true if it is another.
    pub(super) fn update_ca_state(&mut self, config: &Config) -> bool {
        self.set_ca_state(self.ca_state_now(config))
    }

    /// The congestion state that the sender's state comes to.
    pub(super) fn ca_state_now(&self, config: &Config) -> CaState {
        match self.state {
            State::Recovery => CaState::Recovery,
            State::Loss => CaState::Loss,
            State::Cwr => CaState::Cwr,
            State::Closed | State::Open if self.answers_mark(config) => CaState::Cwr,
            State::Closed | State::Open if self.dup_acks > 0 || !self.scoreboard.is_clear() => {
                CaState::Disorder
            }
            State::Closed | State::Open => CaState::Open,
        }
    }

    /// The congestion state becomes `state`; true if it is another.
    pub(super) fn set_ca_state(&mut self, state: CaState) -> bool {
        let changes = state != self.ca_state;
        if changes {
            self.ca_state = state;
            if self.needs.ca_state {
                self.controller.set_state(state);
            }
        }
        changes
    }

    /// Whether the window came down at once for a mark in the present window of data.
    fn answers_mark(&self, config: &Config) -> bool {
        let at_once = config.recovery != RecoveryPolicy::Linux;
        at_once && self.una < self.ecn.reacts_from()
    }

    /// Tells a congestion control that wants every ACK of this one, before it is acted upon. Style
    /// "linux" has its own place for that.
    pub(super) fn report_ack(&mut self, summary: &AckSummary, config: &Config) {
        if self.needs.every_ack {
            let delivered =
                (summary.acked + u64::from(summary.sacked) - u64::from(summary.known)) as u32;
            let event = self.event(summary, delivered, self.una > self.round_end, config);
            self.controller.on_every_ack(&event);
        }
    }

    /// Tells a congestion control that wants it what an ACK has made of the congestion state. Style
    /// "linux" has its own place for that.
    pub(super) fn report_ca_state(&mut self, now: u64, config: &Config) {
        if self.needs.ca_state {
            let before = self.ca_state;
            self.update_ca_state(config);
            if matches!(before, CaState::Recovery | CaState::Cwr)
                && matches!(self.ca_state, CaState::Open | CaState::Disorder)
            {
                self.controller.on_recovery_end(Time(now), &mut self.window);
            }
        }
    }
}
