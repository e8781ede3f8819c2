//! Congestion control: how a sender's window grows and shrinks.
//!
//! A new one is a file here, and in this file its `mod` and `pub use` and a line in
//! `every_congestion_control`.

mod africa;
mod aimd;
mod bbr;
mod bbr3;
mod bic;
mod cdg;
mod compound;
mod cubic;
mod cx;
mod dctcp;
mod fast;
mod highspeed;
mod htcp;
mod hybla;
mod illinois;
mod ledbat;
mod lp;
mod nv;
mod pert;
mod prague;
mod reno;
mod scalable;
mod vegas;
mod veno;
mod westwood;
mod yeah;

pub use africa::{Africa, AfricaParams};
pub use aimd::{Aimd, AimdParams};
pub use bbr::{Bbr, BbrParams};
pub use bbr3::{Bbr3, Bbr3Params, Bbr3State, BbrMode};
pub use bic::{Bic, BicParams};
pub use cdg::{Cdg, CdgParams};
pub use compound::{Compound, CompoundParams};
pub use cubic::{Cubic, CubicParams};
pub use cx::{Cx, CxBase, CxParams};
pub use dctcp::{DctcpParams, LinuxDctcp, PaperDctcp};
pub use fast::{Fast, FastParams};
pub use highspeed::{HighspeedParams, LinuxHighspeed, PaperHighspeed, ResponseParams};
pub use htcp::{HtcpParams, LinuxHtcp, PaperHtcp};
pub use hybla::{Hybla, HyblaParams};
pub use illinois::{IllinoisParams, LinuxIllinois, PaperIllinois};
pub use ledbat::{Ledbat, LedbatParams};
pub use lp::{LinuxLp, LpParams, PaperLp};
pub use nv::{Nv, NvParams};
pub use pert::{Pert, PertParams};
pub use prague::{Prague, PragueParams, RttControl};
pub use reno::RenoParams;
pub use scalable::{Scalable, ScalableParams};
pub use vegas::{LinuxVegas, PaperVegas, VegasParams};
pub use veno::{LinuxVeno, PaperVeno, VenoParams};
pub use westwood::{LinuxWestwood, PaperWestwood, WestwoodParams};
pub use yeah::{LinuxYeah, PaperYeah, YeahParams};

/// Every congestion control: variant and parameters.
macro_rules! every_congestion_control {
    ($then:ident) => {
        $then! {
            congestion {
                with fluid law {
                    Reno(RenoParams),
                    Aimd(AimdParams),
                    Compound(CompoundParams),
                    Cubic(CubicParams),
                    Highspeed(HighspeedParams),
                    Illinois(IllinoisParams),
                    Africa(AfricaParams),
                    Scalable(ScalableParams),
                    Dctcp(DctcpParams),
                    Vegas(VegasParams),
                    Fast(FastParams),
                    Cx(CxParams),
                    Pert(PertParams),
                    Ledbat(LedbatParams),
                    Veno(VenoParams),
                    Yeah(YeahParams),
                    Htcp(HtcpParams),
                    Westwood(WestwoodParams),
                    Prague(PragueParams),
                    Bbr(BbrParams),
                    Bbr3(Bbr3Params),
                    Bic(BicParams),
                    Hybla(HyblaParams),
                }
                packets only {
                    Nv(NvParams),
                    Lp(LpParams),
                    Cdg(CdgParams),
                }
            }
        }
    };
}
pub(crate) use every_congestion_control;

use crate::forward::forwarded;
use crate::meta::Algorithm;
use crate::{DefaultValue, Stream, Time, choices};

choices! {
    /// Which form of a congestion control is at work, where Linux's differs from that of its paper
    /// in more than rounding.
    pub enum Form {
        /// As its paper or RFC has it.
        Paper = "paper",
        /// As Linux 6.1 has it.
        Linux = "linux",
    }
}

/// The parameter that style "linux" sets in an algorithm that has a [`Form`].
pub(crate) const LINUX_FORM: (&str, DefaultValue) =
    ("form", DefaultValue::Word(Form::Linux.name()));

/// The sender's window, in segments. Real-valued: whole segments are sent, the fraction is kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Congestion window, segments.
    pub cwnd: f64,
    /// Slow-start threshold, segments.
    pub ssthresh: f64,
}

impl Window {
    /// Whether the sender is in slow start (RFC 5681, section 3.1).
    #[inline]
    #[must_use]
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Slow start: one segment per segment acknowledged, up to `ssthresh` (RFC 5681, section 3.1,
    /// with RFC 3465's byte counting). Returns the acknowledged segments left over for congestion
    /// avoidance.
    #[inline]
    pub fn slow_start(&mut self, acked: f64) -> f64 {
        let room = (self.ssthresh - self.cwnd).max(0.0);
        let used = acked.min(room);
        self.cwnd += used;
        acked - used
    }
}

/// Ticks of Linux's clock in a second (HZ).
pub(crate) const TICKS_PER_SECOND: u64 = 1000;

/// The tick of Linux's clock in which `time` lies.
pub(crate) fn tick_of(time: Time) -> u64 {
    time.0 / (Time::PER_SECOND / TICKS_PER_SECOND)
}

/// A round trip of `rtt` seconds in Linux's ticks: whole microseconds, rounded up. None for NaN.
pub(crate) fn ticks_of(rtt: f64) -> Option<u64> {
    const DECIMAL_TOLERANCE: f64 = 1e-3; // microseconds
    (rtt > 0.0).then(|| {
        ((rtt * 1e6 + DECIMAL_TOLERANCE) as u64)
            .div_ceil(1_000_000 / TICKS_PER_SECOND)
            .max(1)
    })
}

/// Growth of a window in whole segments: acknowledged segments are counted, and add a segment to
/// the window once there are enough of them. This is how kernels do it; RFC 5681, section 3.1,
/// allows it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SegmentCount(pub(crate) f64);

impl SegmentCount {
    /// `acked` more segments; each `per` of them (one or more) add one to the window.
    pub(crate) fn grow(&mut self, acked: f64, per: f64, cwnd: &mut f64) {
        if self.0 >= per {
            // counted when a step was longer: worth one step, not more
            self.0 = 0.0;
            *cwnd += 1.0;
        }
        self.0 += acked;
        let steps = (self.0 / per).floor();
        self.0 -= steps * per;
        *cwnd += steps;
    }

    /// Reno's growth by an ACK: slow start, then a segment a window.
    pub(crate) fn grow_as_reno(&mut self, ack: &Ack, window: &mut Window) {
        if ack.cwnd_limited {
            let acked = window.slow_start(f64::from(ack.acked));
            if acked > 0.0 {
                let per = window.cwnd;
                self.grow(acked, per, &mut window.cwnd);
            }
        }
    }

    /// The count begins anew.
    pub(crate) fn clear(&mut self) {
        self.0 = 0.0;
    }
}

/// Whether ACKs are held back at the receiver, as far as they tell: those of more than one segment
/// less those of one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DelayedAcks(u32);

impl DelayedAcks {
    /// Most segments that may be told from others ahead.
    const MAX_SEGMENTS: u32 = 5;

    /// Whether the receiver may have waited before it sent the ACK of `covered` segments.
    pub(crate) fn may_have_waited(&mut self, covered: u32) -> bool {
        if covered > 1 {
            self.0 = (self.0 + 1).min(Self::MAX_SEGMENTS);
            return false;
        }
        let waited = covered == 1 && self.0 > 0;
        self.0 -= u32::from(waited);
        waited
    }
}

/// Round-trip times as Linux's delay-based congestion controls sample them: by every ACK.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RttSamples {
    /// Smallest since nothing was in the network, s.
    pub(crate) base: f64,
    /// Smallest of the round, s.
    pub(crate) least: f64,
    /// Samples of the round.
    pub(crate) count: u32,
}

impl RttSamples {
    pub(crate) const NONE: Self = Self {
        base: f64::INFINITY,
        least: f64::INFINITY,
        count: 0,
    };

    /// Takes the RTT of an ACK; NaN is no sample.
    pub(crate) fn take(&mut self, rtt: f64) {
        if !rtt.is_nan() {
            self.base = self.base.min(rtt);
            self.least = self.least.min(rtt);
            self.count += 1;
        }
    }

    /// A new round begins.
    pub(crate) fn begin_round(&mut self) {
        (self.count, self.least) = (0, f64::INFINITY);
    }
}

/// Whether one of `packets` packets is hit, each with probability `p` of its own.
#[inline]
pub(crate) fn chance(p: f64, packets: u32, random: &mut Stream) -> bool {
    if p <= 0.0 {
        return false; // nothing is drawn where nothing can happen
    }
    let any = if packets == 1 {
        p
    } else {
        1.0 - libm::pow(1.0 - p, f64::from(packets))
    };
    random.uniform() < any
}

/// The content of an arriving acknowledgement. Given only while the window may grow or must be
/// judged: the loss recovery of the endpoint does not call [`CongestionControl::on_ack`] between a
/// reduction and its end, except in slow start after a timeout.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// Arrival at the sender.
    pub now: Time,
    /// Segments newly acknowledged, cumulatively or selectively.
    pub acked: u32,
    /// Segments acknowledged cumulatively, those acknowledged selectively before among them.
    pub covered: u32,
    /// Round-trip time sample of this ACK, seconds; NaN when it gives none (Karn's rule).
    pub rtt: f64,
    /// The time that it echoes: when the segment was sent that it answers, the first of those that a
    /// delayed ACK covers (RFC 7323, section 4.3); zero without one.
    pub echo: Time,
    /// Smallest round-trip time seen so far, seconds.
    pub min_rtt: f64,
    /// Smoothed round-trip time of RFC 6298, seconds.
    pub srtt: f64,
    /// Segments in flight just before this ACK.
    pub in_flight: u32,
    /// First segment not acknowledged, and next one to be sent, after this ACK.
    pub una: u64,
    /// See `una`.
    pub next: u64,
    /// True at the first ACK of a segment that was sent after the last such ACK: once a round trip.
    pub round_start: bool,
    /// Whether the window was full, so that it was the window that limited the sender. A window
    /// must not grow when it is not used (RFC 7661).
    pub cwnd_limited: bool,
    /// The ACK carried ECN-Echo (RFC 3168).
    pub ece: bool,
    /// Segments of `acked` that were marked Congestion Experienced, where the receiver says which
    /// were ([`Needs::marks`]); else zero.
    pub marked: u32,
}

/// The services that a congestion control asks of its endpoint beyond [`CongestionControl::on_ack`] and
/// [`CongestionControl::on_congestion`]. What is not asked for is not paid for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Segments leave at [`CongestionControl::pacing_rate`].
    pub pacing: bool,
    /// Delivery-rate samples: [`CongestionControl::on_delivery`] and [`CongestionControl::on_lost`]
    /// are called. The algorithm then owns the window in loss recovery too: nothing but a timeout
    /// changes it beside the algorithm.
    pub delivery: bool,
    /// The receiver echoes each mark as it came (RFC 8257, section 3.2) instead of until it hears
    /// of a reduction (RFC 3168): [`Ack::marked`] counts them, and marked ACKs come to
    /// [`CongestionControl::on_ack`] as well, before [`CongestionControl::on_congestion`], which is
    /// called once a window as with RFC 3168.
    pub marks: bool,
    /// Marks come counted (`AccECN`, RFC 9768), so that no lost or delayed ACK hides one.
    pub counted: bool,
    /// In style "linux" a loss found while the window comes down for a mark is answered as well, by
    /// [`CongestionControl::on_congestion`], of which then only `ssthresh` counts; else the answer
    /// to the mark stands for it. Style "rfc" answers it always.
    pub loss_after_mark: bool,
    /// [`CongestionControl::on_every_ack`] is called.
    pub every_ack: bool,
    /// In style "linux" a window that [`CongestionControl::on_ack`] takes down to ssthresh comes
    /// down over a round trip, as for a mark (`tcp_enter_cwr`), and there is no
    /// [`CongestionControl::on_ack`] meanwhile.
    pub spread_backoff: bool,
    /// [`CongestionControl::set_state`] and [`CongestionControl::on_recovery_end`] are called, and
    /// [`CongestionControl::on_restart`] whenever nothing is in the network.
    pub ca_state: bool,
}

/// The endpoint's congestion state, as in Linux's `tcp_ca_state`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaState {
    /// Nothing is lost, marked or out of order.
    Open,
    /// Segments have arrived out of order; none counts as lost.
    Disorder,
    /// The window has come down, or is coming down, for a mark (Congestion Window Reduced).
    Cwr,
    /// Fast recovery.
    Recovery,
    /// Recovery after a retransmission timeout.
    Loss,
}

/// The delivery of segments that an ACK reports (draft-ietf-ccwg-bbr, section 4.1). Every ACK
/// brings one, in loss recovery too.
#[derive(Clone, Copy, Debug)]
pub struct Delivery {
    /// Arrival at the sender.
    pub now: Time,
    /// Segments that this ACK newly says are delivered, cumulatively or selectively.
    pub acked: u32,
    /// Segments that it reports as marked Congestion Experienced, where the receiver says which were
    /// ([`Needs::marks`]); else zero.
    pub marked: u32,
    /// Segments newly found lost.
    pub lost: u32,
    /// Segments delivered so far.
    pub delivered: u64,
    /// Segments found lost so far.
    pub total_lost: u64,
    /// Segments in the network before this ACK, and after it.
    pub in_flight_before: u32,
    /// See `in_flight_before`.
    pub in_flight: u32,
    /// Round trip of the newest segment delivered, s; NaN when it was sent twice or nothing is
    /// newly delivered.
    pub rtt: f64,
    /// Smoothed round-trip time, s; zero before the first sample.
    pub srtt: f64,
    /// Delivery rate, segments/s; NaN when this ACK gives no sample, or one taken over less than
    /// the smallest round trip.
    pub rate: f64,
    /// `delivered` when the newest segment delivered by this ACK was sent.
    pub prior_delivered: u64,
    /// Whether the sample was taken while the application left the window unused.
    pub app_limited: bool,
    /// Segments in the network just after that segment was sent.
    pub sent_in_flight: u32,
    /// Segments found lost since then.
    pub lost_since_sent: u32,
    /// Whether the window was full at any time since the newest segment delivered was sent.
    pub cwnd_limited: bool,
    /// Whether the application has data waiting to be sent.
    pub backlogged: bool,
    /// Until the pace lets the next segment leave, s; zero if it may now.
    pub departs_in: f64,
    /// The endpoint's state of loss recovery after this ACK: [`CaState::Open`] where no loss is
    /// known, [`CaState::Recovery`] or [`CaState::Loss`].
    pub ca_state: CaState,
}

/// A segment found lost.
#[derive(Clone, Copy, Debug)]
pub struct Lost {
    /// When it was found.
    pub now: Time,
    /// Its number.
    pub seq: u64,
    /// Segments in the network just after it was sent.
    pub sent_in_flight: u32,
    /// Segments found lost since it was sent, itself included.
    pub lost_since_sent: u32,
    /// Segments delivered so far.
    pub delivered: u64,
    /// Segments delivered when it was sent.
    pub prior_delivered: u64,
    /// Whether the application left the window unused when it was sent.
    pub app_limited: bool,
}

/// Why the endpoint reduces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Loss found by duplicate or selective acknowledgements; at most once a window.
    Loss,
    /// An ECN-Echo; at most once a window (RFC 3168, section 6.1.2).
    Ecn,
    /// The first retransmission timeout of a segment.
    Timeout,
}

/// The sender's state when it must reduce.
#[derive(Clone, Copy, Debug)]
pub struct Reduction {
    /// When.
    pub now: Time,
    /// Why.
    pub signal: Signal,
    /// The window that was in use, segments: cwnd where the sender filled it, else the flight size
    /// (RFC 5681, equation 4; segments of limited transmit do not count).
    pub window_used: f64,
    /// Smallest round-trip time seen so far, seconds.
    pub min_rtt: f64,
    /// Smoothed round-trip time, seconds.
    pub srtt: f64,
}

/// The smallest ssthresh, segments (RFC 5681, equation 4).
pub const MIN_SSTHRESH: f64 = 2.0;

forwarded! { $ forward_congestion_control #[inline];
    /// How a sender's window grows and shrinks. Pure: time, samples and random numbers are passed
    /// in.
    ///
    /// The hooks are those of Linux's `tcp_congestion_ops`, and every style calls them; [`Needs`]
    /// says which of the rarer ones an algorithm wants.
    pub trait CongestionControl {
        /// An ACK arrived that may let the window grow (`cong_avoid`). The algorithm does its slow
        /// start itself ([`Window::slow_start`] helps), so that it can shape it.
        fn on_ack(&mut self, ack: &Ack, window: &mut Window, random: &mut Stream);

        /// The endpoint must reduce (`ssthresh`). For [`Signal::Loss`] and [`Signal::Ecn`] the
        /// algorithm sets `ssthresh` and `cwnd` to the window that it wants at once; for
        /// [`Signal::Timeout`] only `ssthresh` counts: the endpoint then sets `cwnd` to the loss
        /// window of one segment.
        fn on_congestion(&mut self, reduction: &Reduction, window: &mut Window);

        /// The connection is about to send after an idle time longer than a retransmission timeout
        /// (RFC 5681, section 4.1); with [`Needs::delivery`] after any time with nothing in the
        /// network because the application had nothing to send; in style "linux" and with
        /// [`Needs::ca_state`] whenever nothing is in the network (`CA_EVENT_TX_START`).
        fn on_restart(&mut self, _now: Time, _window: &mut Window) {}

        /// The connection stands (`init`); `srtt` is the round trip of its handshake, s, zero where
        /// it has none. Only with [`Needs::delivery`].
        fn on_open(&mut self, _now: Time, _srtt: f64, _window: &mut Window) {}

        /// The last recovery turns out to have been spurious: nothing of what counted as lost was
        /// (`undo_cwnd`). The endpoint restores `cwnd` and `ssthresh` itself, except with
        /// [`Needs::delivery`].
        fn on_spurious_recovery(&mut self, _now: Time, _window: &mut Window) {}

        /// An ACK arrived, whatever it says and whatever is made of it afterwards (`pkts_acked`):
        /// for algorithms that measure in loss recovery too. Only with [`Needs::every_ack`].
        fn on_every_ack(&mut self, _ack: &Ack) {}

        /// The endpoint's congestion state changes (`set_state`). When it becomes
        /// [`CaState::Open`] in style "linux", the ACKs of a new round trip are those from here on.
        /// Only with [`Needs::ca_state`]; with [`Needs::delivery`] in style "linux" as each
        /// retransmission timer expires.
        fn set_state(&mut self, _state: CaState) {}

        /// The answer to losses or marks is over and the window stands at ssthresh
        /// (`CA_EVENT_COMPLETE_CWR`). Only with [`Needs::ca_state`].
        fn on_recovery_end(&mut self, _now: Time, _window: &mut Window) {}

        /// The services that it asks of the endpoint; called once, at the start.
        fn needs(&self) -> Needs {
            Needs::default()
        }

        /// Rate at which segments are to leave, segments per second; `None`: the window is spread
        /// over the round trip; infinite: as ACKs clock them, unless the scenario asks for pacing.
        /// Only with [`Needs::pacing`].
        fn pacing_rate(&self) -> Option<f64> {
            None
        }

        /// Segments that leave together at that rate, as segmentation offload makes them.
        fn pacing_burst(&self) -> u32 {
            1
        }

        /// An ACK arrived, whatever it says (`cong_control`); after [`CongestionControl::on_ack`]
        /// and [`CongestionControl::on_congestion`]. Only with [`Needs::delivery`].
        fn on_delivery(&mut self, _delivery: &Delivery, _window: &mut Window, _random: &mut Stream) {}

        /// A segment was found lost; before the ACK that says so comes to
        /// [`CongestionControl::on_delivery`]. Only with [`Needs::delivery`].
        fn on_lost(&mut self, _lost: &Lost) {}
    }
}

/// A congestion control at work in one of its two forms.
#[derive(Clone, Copy, Debug)]
pub enum Forms<P, L> {
    /// [`Form::Paper`].
    Paper(P),
    /// [`Form::Linux`].
    Linux(L),
}

#[cfg(test)]
impl<P, L> Forms<P, L> {
    /// The one of the paper, which it is.
    pub(crate) fn paper(self) -> P {
        match self {
            Self::Paper(control) => control,
            Self::Linux(_) => panic!("it is Linux's"),
        }
    }

    /// The one of Linux, which it is.
    pub(crate) fn linux(self) -> L {
        match self {
            Self::Linux(control) => control,
            Self::Paper(_) => panic!("it is the paper's"),
        }
    }
}

forward_congestion_control!([<P: CongestionControl, L: CongestionControl>] Forms<P, L> {
    Paper,
    Linux,
});

/// Parameters that make a congestion control.
pub trait CongestionAlgorithm: Algorithm {
    /// The congestion control at work.
    type Controller: CongestionControl;

    /// The controller of flow number `flow`. The parameters have been checked.
    fn build(&self, flow: u32) -> Self::Controller;
}

#[cfg(test)]
pub(crate) mod test {
    //! Helpers for the unit tests of congestion controls.

    use super::{Ack, Reduction, Signal};
    use crate::fluid::{Bottleneck, Path};
    use crate::{Owner, Stream, Time};

    /// A path of 100 ms.
    pub(crate) const PATH: Path = Path {
        rtt: 0.1,
        base_rtt: 0.1,
        measured: 0.1,
        full: f64::INFINITY,
        marks: false,
        bottleneck: Bottleneck {
            rate: f64::INFINITY,
            others: 0.0,
            drained_rtt: 0.1,
        },
    };

    /// An ACK of `acked` segments, 10 ms after nothing happened.
    pub(crate) fn ack(acked: u32) -> Ack {
        Ack {
            now: Time::ZERO,
            acked,
            covered: acked,
            rtt: 0.01,
            echo: Time::ZERO,
            min_rtt: 0.01,
            srtt: 0.01,
            in_flight: 1000,
            una: 0,
            next: 0,
            round_start: false,
            cwnd_limited: true,
            ece: false,
            marked: 0,
        }
    }

    /// A loss while `window_used` segments were in use.
    pub(crate) fn loss(window_used: f64) -> Reduction {
        Reduction {
            now: Time::ZERO,
            signal: Signal::Loss,
            window_used,
            min_rtt: 0.01,
            srtt: 0.01,
        }
    }

    pub(crate) fn random() -> Stream {
        Stream::new(1, Owner::Flow, 0)
    }
}
