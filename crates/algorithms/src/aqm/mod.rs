//! Active queue management: what a queue does to an arriving or departing packet.
//!
//! A new one is a file here, and in this file its `mod` and `pub use` and a line in `every_aqm`.

mod adapted;
mod adaptive_red;
mod ap_red;
mod auto_tuning_red;
mod avq;
mod blue;
mod codel;
mod drop_tail;
mod exponential_red;
mod lred;
mod pi;
mod pi2;
mod pie;
mod red;
mod rem;
mod sred;
mod st_pi;
mod st_red;
mod threshold;
mod variance;
mod wred;

pub use crate::link::{LinkView, Spacing};
pub use adaptive_red::{AdaptiveRed, AdaptiveRedParams};
pub use ap_red::{ApRed, ApRedParams, ap_red_factors};
pub use auto_tuning_red::{AutoTuningRed, AutoTuningRedParams};
pub use avq::{Avq, AvqParams};
pub use blue::{Blue, BlueParams};
pub use codel::{Codel, CodelLaw, CodelParams, CodelState};
pub use drop_tail::{DropTail, DropTailParams};
pub use exponential_red::{ExponentialRed, ExponentialRedParams};
pub use lred::{Lred, LredParams};
pub use pi::{Pi, PiParams};
pub use pi2::{Pi2, Pi2Params};
pub use pie::{Pie, PieParams};
pub use red::{Mode, Red, RedParams};
pub use rem::{Rem, RemParams};
pub use sred::{Sred, SredParams};
pub use st_pi::{StPi, StPiParams};
pub use st_red::{StRed, StRedParams};
pub use threshold::{Threshold, ThresholdParams};
pub use wred::{Wred, WredParams};

/// Every AQM: variant and parameters.
macro_rules! every_aqm {
    ($then:ident) => {
        $then! {
            aqm {
                with fluid law {
                    DropTail(DropTailParams),
                    Threshold(ThresholdParams),
                    Red(RedParams),
                    Pi(PiParams),
                    ApRed(ApRedParams),
                    Rem(RemParams),
                    Avq(AvqParams),
                    Pie(PieParams),
                    Pi2(Pi2Params),
                    ExponentialRed(ExponentialRedParams),
                    AdaptiveRed(AdaptiveRedParams),
                    Codel(CodelParams),
                    StRed(StRedParams),
                    StPi(StPiParams),
                    AutoTuningRed(AutoTuningRedParams),
                    Blue(BlueParams),
                    Lred(LredParams),
                    Sred(SredParams),
                    Wred(WredParams),
                }
                packets only {}
            }
        }
    };
}
pub(crate) use every_aqm;

use crate::forward::forwarded;
use crate::meta::Algorithm;
use crate::{Fault, Parameters, Stream, Time, ValueError};

/// A packet as an AQM sees it, in a router.
#[derive(Clone, Copy, Debug)]
pub struct PacketView {
    /// Size on the wire, bytes.
    pub size: u32,
    /// The flow's identity (5-tuple).
    pub flow: u32,
    /// ECN-capable transport (RFC 3168): the queue may mark it instead of dropping.
    pub ecn_capable: bool,
    /// Its codepoint is ECT(1): the flow has a scalable congestion control (RFC 9331).
    pub scalable: bool,
    /// TCP SYN (or SYN-ACK).
    pub syn: bool,
    /// Priority, 0 to 7: higher ones are to be preferred.
    pub priority: u8,
}

/// The queue as an arriving or departing packet finds it. The packet in service is not counted.
#[derive(Clone, Copy, Debug)]
pub struct QueueView {
    /// Packets waiting.
    pub packets: u32,
    /// Bytes waiting.
    pub bytes: u64,
    /// Whether the arriving packet would exceed the queue's capacity. The link drops it in any
    /// case, whatever the AQM answers.
    pub full: bool,
    /// Since when the link has had nothing to send; `None` while it transmits.
    pub idle_since: Option<Time>,
    /// The link's rate now, bit/s.
    pub rate: f64,
    /// Where the queue is one of several of a link or waits for a shaper, so that its length over
    /// the link's rate is not its delay: how long the packet at its head has waited, zero in an
    /// empty queue. `None` where it has the link to itself.
    pub head_sojourn: Option<Time>,
}

impl QueueView {
    /// The queueing delay, s: the queue's length over the link's rate, or where others have a part
    /// of the link the time stamp of the packet at the head (both in RFC 8033, section 4.3).
    #[must_use]
    pub fn delay(&self) -> f64 {
        match self.head_sojourn {
            Some(waited) => waited.seconds(),
            None => 8.0 * self.bytes as f64 / self.rate,
        }
    }
}

/// The fate of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Keep it as it is.
    Accept,
    /// Keep it and set Congestion Experienced. Only for an ECN-capable packet.
    Mark,
    /// Discard it.
    Drop,
}

/// An AQM's inner state, for traces.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Observation {
    /// Its average of the queue, packets, if it keeps one.
    pub average_packets: Option<f64>,
    /// Its dropping or marking probability, if it has one.
    pub probability: Option<f64>,
    /// Its adapted parameter (ARED's max_p), if it has one.
    pub adapted: Option<f64>,
}

forwarded! { $ forward_aqm #[inline];
    /// The decisions of a queue about packets. Pure: time, queue and random numbers are passed in.
    pub trait Aqm {
        /// True when packets are judged as they leave ([`Aqm::dequeue`]), so that departures cannot
        /// be known at arrival.
        fn decides_at_dequeue(&self) -> bool {
            false
        }

        /// False when nothing but a full queue drops what arrives, and nothing is marked then, so that
        /// [`Aqm::enqueue`] need not be asked. It then has no timer.
        fn judges_arrivals(&self) -> bool {
            true
        }

        /// Whether it looks at [`PacketView::priority`]; else packets need not be labelled for it.
        fn reads_priority(&self) -> bool {
            false
        }

        /// A packet arrives. Packets whose service begins at this very moment have left the queue
        /// already.
        fn enqueue(
            &mut self,
            now: Time,
            packet: &PacketView,
            queue: &QueueView,
            random: &mut Stream,
        ) -> Verdict;

        /// A packet is taken out of the queue to be sent, after `sojourn` in it; `queue` no longer
        /// holds it. Called only with [`Aqm::decides_at_dequeue`].
        fn dequeue(
            &mut self,
            _now: Time,
            _sojourn: Time,
            _packet: &PacketView,
            _queue: &QueueView,
            _random: &mut Stream,
        ) -> Verdict {
            Verdict::Accept
        }

        /// The queue was asked for a packet and had none. Only under a scheduler that says so
        /// ([`crate::scheduler::Scheduler::found_empty`]).
        fn on_empty(&mut self) {}

        /// When [`Aqm::on_timer`] wants to run next; asked at the start and after each run of it.
        fn next_timer(&self) -> Option<Time> {
            None
        }

        /// The time asked for by [`Aqm::next_timer`] has come. It runs before packets that arrive
        /// at the same moment.
        fn on_timer(&mut self, _now: Time, _queue: &QueueView, _random: &mut Stream) {}

        /// The link's rate has changed (bit/s).
        fn on_link_change(&mut self, _now: Time, _rate: f64) {}

        /// Sets a numeric parameter during the run. Nothing changes if the value is not allowed.
        ///
        /// # Errors
        /// Names the parameter, what was given and what is allowed.
        fn set_parameter(&mut self, name: &str, value: f64) -> Result<(), ValueError> {
            let allowed = "this AQM has no parameters that can".to_owned();
            Err(ValueError {
                name: name.to_owned(),
                fault: Fault::NotChangeable,
                found: value.to_string(),
                allowed,
            })
        }

        /// Inner state for traces.
        fn observe(&self) -> Observation {
            Observation::default()
        }
    }
}

/// Parameters that make an AQM.
pub trait AqmAlgorithm: Algorithm {
    /// The AQM at work.
    type Instance: Aqm + Clone;

    /// The AQM of a link's queue. The parameters have been checked.
    fn build(&self, link: &LinkView) -> Self::Instance;
}

/// `params` with `name` set to `value`, checked: the common part of every [`Aqm::set_parameter`].
fn changed<P: Algorithm>(params: &P, name: &str, value: f64) -> Result<P, ValueError> {
    let mut changed = params.clone();
    Parameters::set(&mut changed, name, value)?;
    changed.check()?;
    Ok(changed)
}

/// The queue in packets, or in mean packets in byte mode.
#[inline]
fn length(mode: Mode, mean_packet: f64, queue: &QueueView) -> f64 {
    match mode {
        Mode::Packets => f64::from(queue.packets),
        Mode::Bytes => queue.bytes as f64 / mean_packet,
    }
}

/// A packet as a number of packets: one, or its size in mean packets in byte mode.
#[inline]
fn weight(mode: Mode, mean_packet: f64, size: u32) -> f64 {
    match mode {
        Mode::Packets => 1.0,
        Mode::Bytes => f64::from(size) / mean_packet,
    }
}

/// True with probability `p`. No number is drawn where none decides.
#[inline]
fn happens(p: f64, random: &mut Stream) -> bool {
    p > 0.0 && (p >= 1.0 || random.uniform() < p)
}

/// A mark if marking is on and the packet can carry it, else a drop.
#[inline]
fn signal(ecn: bool, packet: &PacketView) -> Verdict {
    if ecn && packet.ecn_capable {
        Verdict::Mark
    } else {
        Verdict::Drop
    }
}

/// The period of a timer of `frequency`.
fn period(frequency: f64) -> Time {
    Time(Time::from_seconds(1.0 / frequency).0.max(1))
}

#[cfg(test)]
pub(crate) mod test {
    //! Helpers for the unit tests of AQMs.

    use super::{LinkView, PacketView, QueueView};
    use crate::{Owner, Stream};

    pub(crate) const LINK: LinkView = LinkView {
        rate: 100e6,
        delay: 0.005,
        capacity_packets: 1000.0,
    };

    /// A packet of 1500 B without ECN.
    pub(crate) fn packet() -> PacketView {
        PacketView {
            size: 1500,
            flow: 0,
            ecn_capable: false,
            scalable: false,
            syn: false,
            priority: 0,
        }
    }

    /// A busy queue of `packets` packets of 1500 B.
    pub(crate) fn queue(packets: u32) -> QueueView {
        QueueView {
            packets,
            bytes: u64::from(packets) * 1500,
            full: false,
            idle_since: None,
            rate: LINK.rate,
            head_sojourn: None,
        }
    }

    pub(crate) fn random() -> Stream {
        Stream::new(1, Owner::Queue, 0)
    }
}
