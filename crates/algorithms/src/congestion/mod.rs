//! Congestion control: how a sender's window grows and shrinks.
//!
//! A new one is a file here, and in this file its `mod` and `pub use` and a line in `every_congestion_control`.

mod africa;
mod aimd;
mod compound;
mod cubic;
mod highspeed;
mod illinois;
mod reno;
mod scalable;

pub use africa::{Africa, AfricaParams};
pub use aimd::{Aimd, AimdParams};
pub use compound::{Compound, CompoundParams};
pub use cubic::{Cubic, CubicParams};
pub use highspeed::{Highspeed, HighspeedParams};
pub use illinois::{Illinois, IllinoisParams};
pub use reno::RenoParams;
pub use scalable::{Scalable, ScalableParams};

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
                }
                packets only {
                }
            }
        }
    };
}
pub(crate) use every_congestion_control;

use crate::registry::Algorithm;
use crate::{Stream, Time};

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

    /// Slow start: one segment per segment acknowledged, up to `ssthresh` (RFC 5681, section 3.1, with RFC 3465's
    /// byte counting). Returns the acknowledged segments left over for congestion avoidance.
    #[inline]
    pub fn slow_start(&mut self, acked: f64) -> f64 {
        let room = (self.ssthresh - self.cwnd).max(0.0);
        let used = acked.min(room);
        self.cwnd += used;
        acked - used
    }
}

/// Growth of a window in whole segments: acknowledged segments are counted, and add a segment to the window once there are enough of them. This is how
/// kernels do it; RFC 5681, section 3.1, allows it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SegmentCount(f64);

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

    /// The count begins anew.
    pub(crate) fn clear(&mut self) {
        self.0 = 0.0;
    }
}

/// What an arriving acknowledgement tells a sender. Given only while the window may grow or must be judged:
/// the loss recovery of the endpoint does not call [`CongestionControl::on_ack`] between a reduction and its end,
/// except in slow start after a timeout.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// Arrival at the sender.
    pub now: Time,
    /// Segments newly acknowledged, cumulatively or selectively.
    pub acked: u32,
    /// Round-trip time sample of this ACK, seconds; NaN when it gives none (Karn's rule).
    pub rtt: f64,
    /// Smallest round-trip time seen so far, seconds.
    pub min_rtt: f64,
    /// Smoothed round-trip time of RFC 6298, seconds.
    pub srtt: f64,
    /// Segments in flight just before this ACK.
    pub in_flight: u32,
    /// True at the first ACK of a segment that was sent after the last such ACK: once a round trip.
    pub round_start: bool,
    /// Whether the window was full, so that it was the window that limited the sender. A window must not grow when it
    /// is not used (RFC 7661).
    pub cwnd_limited: bool,
    /// The ACK carried ECN-Echo (RFC 3168).
    pub ece: bool,
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
    /// The window that was in use, segments: cwnd where the sender filled it, else the flight size (RFC 5681, equation 4;
    /// segments of limited transmit do not count).
    pub window_used: f64,
    /// Smallest round-trip time seen so far, seconds.
    pub min_rtt: f64,
    /// Smoothed round-trip time, seconds.
    pub srtt: f64,
}

/// The smallest ssthresh, segments (RFC 5681, equation 4).
pub const MIN_SSTHRESH: f64 = 2.0;

/// How a sender's window grows and shrinks. Pure: time, samples and random numbers are passed in.
pub trait CongestionControl {
    /// An ACK arrived that may let the window grow. The algorithm does its slow start itself
    /// ([`Window::slow_start`] helps), so that it can shape it.
    fn on_ack(&mut self, ack: &Ack, window: &mut Window, random: &mut Stream);

    /// The endpoint must reduce. For [`Signal::Loss`] and [`Signal::Ecn`] the algorithm sets `ssthresh` and `cwnd` to the window that it
    /// wants at once; for [`Signal::Timeout`] only `ssthresh` counts: the endpoint then sets `cwnd` to the loss window of one segment.
    fn on_congestion(&mut self, reduction: &Reduction, window: &mut Window);

    /// The connection is about to send after an idle time longer than a retransmission timeout (RFC 5681, section 4.1).
    fn on_restart(&mut self, _now: Time) {}

    /// Rate at which segments are to leave, segments per second; `None`: as ACKs clock them.
    fn pacing_rate(&self) -> Option<f64> {
        None
    }
}

/// Parameters that make a congestion control.
pub trait CongestionAlgorithm: Algorithm {
    /// The congestion control at work.
    type Controller: CongestionControl;

    /// The controller of flow number `flow`. The parameters have been checked.
    fn build(&self, flow: u32) -> Self::Controller;
}

#[cfg(test)]
pub(crate) mod test {
    //! What unit tests of congestion controls need.

    use super::{Ack, Reduction, Signal};
    use crate::fluid::Path;
    use crate::{Owner, Stream, Time};

    /// A path of 100 ms.
    pub(crate) const PATH: Path = Path {
        rtt: 0.1,
        base_rtt: 0.1,
    };

    /// An ACK of `acked` segments, 10 ms after nothing happened.
    pub(crate) fn ack(acked: u32) -> Ack {
        Ack {
            now: Time::ZERO,
            acked,
            rtt: 0.01,
            min_rtt: 0.01,
            srtt: 0.01,
            in_flight: 1000,
            round_start: false,
            cwnd_limited: true,
            ece: false,
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
