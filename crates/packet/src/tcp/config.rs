//! The options of a class of flows, resolved once when its flows are set up.
//!
//! A scenario's style and options become policies here, each with one question. The sender asks a
//! policy and never the style, so that a policy can be chosen by itself.

use ackclock_algorithms::congestion::Needs;
use ackclock_scenario::{
    EcnFeedback, LossDetection, Pacing, PeerEcn, Recovery, RttSamples, Style, Tcp, Undo,
    WindowReduction,
};

use super::negotiation::{Agreement, agreed};
use crate::packet::Flags;

/// Whether the receiver is asked to count marks (AccECN), and with the option.
fn counts_marks(tcp: &Tcp) -> Option<bool> {
    match tcp.ecn_feedback {
        EcnFeedback::Auto => (tcp.accurate_ecn && tcp.congestion.needs().counted).then_some(true),
        EcnFeedback::AccEcn => Some(true),
        EcnFeedback::Ace => Some(false),
    }
}

/// How samples of the round-trip time become a retransmission timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RtoPolicy {
    /// RFC 6298, from the time stamp echoes of ACKs of new data.
    Rfc6298,
    /// RFC 6298 with a clock granularity or one sample a window.
    Clocked,
    /// Linux 6.1 (`tcp_rtt_estimator`), from the newest segment that an ACK delivers.
    ///
    /// Deviation from RFC 6298, section 2 (style "linux"): the timeout exceeds the smoothed round
    /// trip by 200 ms at least, where the RFC bounds their sum.
    //= RFC 6298 2/6..7 (style "linux"): deviation, 200 ms or more are added to SRTT
    Linux,
}

/// Which timers a sender has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TimerPolicy {
    /// One for retransmissions and one for RACK-TLP, both exact (RFC 6298, RFC 8985).
    Separate,
    /// One for all, on a wheel of ticks (Linux 6.1).
    Shared,
}

/// Handling of ACKs while losses are repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecoveryPolicy {
    /// Selective acknowledgements: RFC 6675.
    Sack,
    /// Selective acknowledgements: Linux 6.1.
    Linux,
    /// Cumulative acknowledgements: RFC 6582.
    NewReno,
    /// Cumulative acknowledgements: RFC 5681, section 3.2.
    Reno,
    /// Cumulative acknowledgements: slow start after fast retransmit.
    Tahoe,
}

impl RecoveryPolicy {
    /// Whether it uses selective acknowledgements.
    #[inline]
    pub(crate) fn is_selective(self) -> bool {
        matches!(self, Self::Sack | Self::Linux)
    }
}

/// Effect of an expired retransmission timer on the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TimeoutPolicy {
    /// The first timeout of a segment reduces ssthresh; one segment is sent (RFC 5681, section
    /// 3.1).
    Rfc5681,
    /// Losses of one window reduce ssthresh once, one segment more than is in the network may be
    /// sent, and F-RTO looks for needless timeouts (Linux 6.1).
    ///
    /// Deviation from RFC 5681, section 3.1 (style "linux"): the window after a timeout is one
    /// segment more than what is still in the network, not one segment.
    //= RFC 5681 3.1/16 (style "linux"): deviation, one segment more than what is still in the
    //=   network
    Linux,
}

/// The window that a reduction is taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReductionBase {
    /// Data in flight (RFC 5681, equation 4).
    FlightSize,
    /// The congestion window (Linux 6.1).
    ///
    /// Deviation from RFC 5681, section 3.1, equation 4 (style "linux"): the congestion window, and
    /// not what is in flight, is what ssthresh is taken from.
    //= RFC 5681 3.1/15, 3.2/7, 4.3/1 (style "linux"): deviation, of cwnd and not of what is in
    //=   flight
    CongestionWindow,
}

/// When the segments of a window leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PacingPolicy {
    /// At the rate of the congestion control, if it has one; else as ACKs come.
    OnRequest,
    /// Spread over the round trip where the congestion control has no rate.
    Window,
}

/// Condition that ends the initial slow start, beside losses and marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SlowStartPolicy {
    /// Nothing.
    Losses,
    /// Round trips that grow (RFC 9406).
    HyStart,
    /// Deliveries that no longer double (draft-chung-ccwg-search).
    Search,
}

/// Evidence that a reduction was needless, so that it is taken back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct UndoPolicy {
    /// Time stamps that ACKs echo (Eifel).
    pub(crate) stamps: bool,
    /// The receiver's reports of segments that arrived twice (DSACK).
    pub(crate) duplicates: bool,
    /// ACKs of data sent before a timeout (F-RTO).
    pub(crate) frto: bool,
}

impl UndoPolicy {
    fn new(tcp: &Tcp, linux_recovery: bool) -> Self {
        const ALL: UndoPolicy = UndoPolicy {
            stamps: true,
            duplicates: true,
            frto: true,
        };
        let selective = tcp.recovery == Recovery::Sack;
        let none = Self::default();
        match tcp.undo {
            Undo::Auto
                if linux_recovery && selective && tcp.loss_detection == LossDetection::Rack =>
            {
                ALL
            }
            Undo::Auto | Undo::None => none,
            Undo::Eifel => Self {
                stamps: true,
                ..none
            },
            Undo::Dsack => Self {
                duplicates: true,
                ..none
            },
            Undo::Frto => Self { frto: true, ..none },
            Undo::All => Self {
                duplicates: selective,
                ..ALL
            },
        }
    }

    /// Whether anything is ever taken back.
    pub(crate) fn is_on(self) -> bool {
        self != Self::default()
    }
}

/// The retransmission timeout.
#[derive(Clone, Debug)]
pub(crate) struct RtoConfig {
    pub(crate) policy: RtoPolicy,
    pub(crate) samples: RttSamples,
    /// Round trips are those of remembered segments, by when they were sent (Linux 6.1); time stamps
    /// tell them only of what was sent again.
    pub(crate) times_segments: bool,
    /// Zero: none.
    pub(crate) clock_granularity: u64,
    /// Every ACK restarts the retransmission timer.
    pub(crate) restart: bool,
    /// Deviation from RFC 6298, section 2, rule 2.4: the smallest timeout is 200 ms by default and
    /// not 1 s, as in Linux and most other stacks.
    //= RFC 6298 2/7: deviation, the smallest timeout is `min_rto`, 200 ms by default
    //= RFC 6298 1/1: deviation, more aggressive by that
    pub(crate) min: u64,
    pub(crate) max: u64,
    //= RFC 6298 2/1: done, test retransmission_timer
    pub(crate) initial: u64,
}

impl RtoConfig {
    fn new(tcp: &Tcp) -> Self {
        Self {
            policy: if tcp.style == Style::Linux {
                RtoPolicy::Linux
            } else if tcp.clock_granularity.0 > 0 || tcp.rtt_samples == RttSamples::OnceAWindow {
                RtoPolicy::Clocked
            } else {
                RtoPolicy::Rfc6298
            },
            samples: tcp.rtt_samples,
            times_segments: tcp.style == Style::Linux
                && tcp.recovery == Recovery::Sack
                && tcp.loss_detection == LossDetection::Rack,
            clock_granularity: tcp.clock_granularity.0,
            restart: tcp.restart_rto_on_every_ack,
            min: tcp.min_rto.0,
            max: tcp.max_rto.0,
            initial: tcp.initial_rto.0,
        }
    }
}

/// Explicit congestion notification.
#[derive(Clone, Debug)]
pub(crate) struct EcnConfig {
    pub(crate) on: bool,
    /// The codepoint of data: ECT(1) for flows that a scalable congestion control drives.
    pub(crate) ect: u8,
    /// ACKs tell of each mark, and the congestion control counts them.
    pub(crate) accurate: bool,
    /// The receiver counts marks (AccECN): whether it has the option, too.
    pub(crate) accecn: Option<bool>,
    /// Retransmissions and the SYN are ECN-capable too.
    pub(crate) always: bool,
    /// A marked sender whose window is one segment waits for the retransmission timer.
    ///
    /// Deviation from RFC 3168, section 6.1.2 (style "linux"): a marked window of one segment sends
    /// on.
    pub(crate) pause: bool,
}

impl EcnConfig {
    fn new(tcp: &Tcp) -> Self {
        Self {
            on: tcp.ecn,
            ect: match (tcp.ecn, tcp.accurate_ecn) {
                (false, _) => 0,
                (true, false) => Flags::ECT,
                // what needs exact feedback of marks reacts to it as RFC 9331 wants
                (true, true) => Flags::ECT | Flags::ECT1,
            },
            accurate: tcp.accurate_ecn,
            accecn: counts_marks(tcp),
            always: tcp.accurate_ecn && tcp.style == Style::Linux,
            pause: tcp.ecn_pause && !tcp.accurate_ecn,
        }
    }
}

/// Evidence that counts as a loss.
#[derive(Clone, Debug)]
pub(crate) struct LossConfig {
    pub(crate) dup_threshold: u32,
    /// Losses are found by time (RACK-TLP).
    pub(crate) rack: bool,
    /// Lost retransmissions are found by what was sent after them.
    pub(crate) of_retransmissions: bool,
    pub(crate) limited_transmit: bool,
}

/// Options that the flows of a class share.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    pub(crate) loss: LossConfig,
    pub(crate) recovery: RecoveryPolicy,
    pub(crate) reduction: WindowReduction,
    pub(crate) reduction_base: ReductionBase,
    pub(crate) rto: RtoConfig,
    pub(crate) timers: TimerPolicy,
    pub(crate) timeout: TimeoutPolicy,
    pub(crate) ecn: EcnConfig,
    pub(crate) pacing: PacingPolicy,
    /// The first segments are not paced, and one that leaves late shortens the gap after it.
    pub(crate) linux_pacing: bool,
    /// Data that is still missing as a recovery ends begins the next one at once.
    ///
    /// Deviation from RFC 6675, section 5 (style "linux"): a new recovery needs no new loss of data
    /// sent after the last one began.
    //= RFC 6675 5/3, 5.1/6 (style "linux"): deviation, what is still missing begins the next
    //=   recovery at once
    pub(crate) chained_recoveries: bool,
    /// Duplicate ACKs tell of arrived segments, so that the ACK after them lets the window grow by
    /// the rest only (Linux 6.1, `tcp_remove_reno_sacks`).
    pub(crate) duplicates_arrived: bool,
    /// Whether the window is used is found as data leaves, and holds until it is sent anew (Linux
    /// 6.1).
    pub(crate) remembers_use: bool,
    pub(crate) undo: UndoPolicy,
    pub(crate) initial_window: f64,
    /// Deviation from RFC 9293, section 3.8.6.1: a window that the receiver closes is not probed;
    /// `max_window` never closes.
    pub(crate) max_window: u64,
    /// Segments that the receiver's window holds before the first ACK, where that window grows.
    pub(crate) first_offer: u64,
    pub(crate) slow_start: SlowStartPolicy,
    /// Window and round trip (ps) of an earlier connection (Careful Resume).
    pub(crate) resume: Option<(f64, u64)>,
}

impl Config {
    /// The policies that a scenario's options come to, with the ECN that the peer agrees to.
    ///
    /// Deviation from RFC 9768, section 3.1.4.1: every SYN asks for the same, however many are
    /// lost.
    //= RFC 9768 3.1.4.1/2: deviation, every SYN asks for the same, however many are lost
    pub(crate) fn new(tcp: &Tcp) -> Self {
        let bits = match tcp.peer_ecn {
            PeerEcn::Same => return Self::agreed_upon(tcp),
            PeerEcn::Classic => (false, false, true),
            PeerEcn::None => (false, false, false),
        };
        let agreement = agreed(counts_marks(tcp).is_some(), bits);
        Self::agreed_upon(&Tcp {
            ecn: tcp.ecn && agreement == Agreement::Classic,
            accurate_ecn: false,
            ecn_feedback: EcnFeedback::Auto,
            ..tcp.clone()
        })
    }

    fn agreed_upon(tcp: &Tcp) -> Self {
        let linux = tcp.style == Style::Linux;
        // an algorithm that takes delivery-rate samples owns the window: nothing else steers it
        let steers = linux && tcp.congestion.needs().delivery;
        // and where marks are counted it answers them itself: with Linux's states they would be twice
        let linux_recovery = linux && !(steers && tcp.accurate_ecn);
        Self {
            loss: LossConfig {
                dup_threshold: tcp.dup_threshold,
                rack: tcp.loss_detection == LossDetection::Rack,
                // RACK finds them by itself
                of_retransmissions: tcp.detect_lost_retransmissions
                    && tcp.loss_detection == LossDetection::DupAcks,
                limited_transmit: tcp.limited_transmit,
            },
            recovery: match tcp.recovery {
                Recovery::Sack if linux_recovery => RecoveryPolicy::Linux,
                Recovery::Sack => RecoveryPolicy::Sack,
                Recovery::NewReno => RecoveryPolicy::NewReno,
                Recovery::Reno => RecoveryPolicy::Reno,
                Recovery::Tahoe => RecoveryPolicy::Tahoe,
            },
            reduction: tcp.reduction,
            reduction_base: if linux {
                ReductionBase::CongestionWindow
            } else {
                ReductionBase::FlightSize
            },
            rto: RtoConfig::new(tcp),
            timers: if linux {
                TimerPolicy::Shared
            } else {
                TimerPolicy::Separate
            },
            timeout: if linux {
                TimeoutPolicy::Linux
            } else {
                TimeoutPolicy::Rfc5681
            },
            ecn: EcnConfig::new(tcp),
            pacing: match tcp.pacing {
                Pacing::Auto => PacingPolicy::OnRequest,
                Pacing::Window => PacingPolicy::Window,
            },
            linux_pacing: linux,
            chained_recoveries: linux,
            duplicates_arrived: linux,
            remembers_use: linux && !steers,
            undo: UndoPolicy::new(tcp, linux_recovery),
            initial_window: tcp.initial_window,
            max_window: tcp.max_window.map_or(u64::MAX, u64::from),
            first_offer: u64::MAX,
            slow_start: match (tcp.hystart, tcp.search) {
                (true, _) => SlowStartPolicy::HyStart,
                (false, true) => SlowStartPolicy::Search,
                (false, false) => SlowStartPolicy::Losses,
            },
            resume: tcp.resume().map(|(window, rtt)| (window, rtt.0)),
        }
    }

    /// Whether a sender remembers each segment in the network: for RACK, for delivery-rate samples,
    /// or to undo what was no loss.
    pub(crate) fn remembers(&self, needs: &Needs) -> bool {
        (self.recovery.is_selective() && (self.loss.rack || needs.delivery)) || self.undo.is_on()
    }

    /// Whether nearly all ACKs can take the short path: recovery, timers and samples are those of
    /// the RFCs, and no segment is remembered.
    pub(crate) fn has_short_path(&self) -> bool {
        self.recovery != RecoveryPolicy::Linux
            && self.rto.policy == RtoPolicy::Rfc6298
            && self.timers == TimerPolicy::Separate
            && self.timeout == TimeoutPolicy::Rfc5681
            && self.reduction_base == ReductionBase::FlightSize
            && !self.loss.rack
            && !self.chained_recoveries
            && !self.remembers_use
            && !self.undo.is_on()
            && self.ecn.accecn.is_none()
            && self.resume.is_none()
    }

    /// Whether nearly all ACKs of a recovery say no more than which segment has arrived.
    pub(crate) fn has_short_recovery(&self) -> bool {
        self.recovery == RecoveryPolicy::Sack
            && self.reduction == WindowReduction::AtOnce
            && !self.loss.of_retransmissions
            && !self.rto.restart
    }
}
