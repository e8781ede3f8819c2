//! Drop-tail: no active management, the queue drops what does not fit.
//!
//! An arriving packet is dropped if with it the queue would exceed its capacity, in packets or in
//! bytes; the packet in service does not count.

use super::{Aqm, AqmAlgorithm, LinkView, PacketView, QueueView, Verdict};
use crate::fluid::{AqmInput, FluidAqm};
use crate::meta::{About, Algorithm};
use crate::{Scalar, Stream, Time, parameters};

parameters! {
    /// Drop-tail has no parameters: the capacity of the queue belongs to the link.
    pub struct DropTailParams {}
}

impl Algorithm for DropTailParams {
    const ABOUT: About = About {
        kind: "drop-tail",
        title: "Drop-tail",
        summary: "Drops a packet that finds the queue full.",
        citation: "F. Baker and G. Fairhurst, IETF recommendations regarding active queue management, RFC 7567 (2015)",
        ecn: false,
    };
}

impl AqmAlgorithm for DropTailParams {
    type Instance = DropTail;

    fn build(&self, _link: &LinkView) -> DropTail {
        DropTail
    }
}

impl FluidAqm for DropTailParams {
    type Over<S: Scalar> = DropTailParams<S>;

    fn on_link(&self, _link: &LinkView) -> Self {
        *self
    }

    fn local<S: Scalar>(_params: &DropTailParams<S>) -> bool {
        true
    }

    fn overflow_only<S: Scalar>(_params: &DropTailParams<S>) -> bool {
        true
    }

    fn regimes<S: Scalar>(_params: &DropTailParams<S>) -> &'static [&'static str] {
        &["not full"]
    }

    fn regime<S: Scalar>(_params: &DropTailParams<S>, _input: &AqmInput<S>, _state: &[S]) -> usize {
        0
    }

    /// Zero: what a full queue drops is the engine's to count, as for every queue
    /// ([`crate::fluid::overflow`]).
    fn probability<S: Scalar>(
        _params: &DropTailParams<S>,
        _input: &AqmInput<S>,
        _state: &[S],
        _regime: usize,
    ) -> S {
        S::from_f64(0.0)
    }
}

/// Drop-tail at work.
#[derive(Clone, Copy, Debug)]
pub struct DropTail;

impl Aqm for DropTail {
    #[inline]
    fn judges_arrivals(&self) -> bool {
        false
    }

    #[inline]
    fn enqueue(
        &mut self,
        _now: Time,
        _packet: &PacketView,
        queue: &QueueView,
        _random: &mut Stream,
    ) -> Verdict {
        if queue.full {
            Verdict::Drop
        } else {
            Verdict::Accept
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aqm::test::{packet, queue, random};

    #[test]
    fn drops_only_when_full() {
        let mut aqm = DropTail;
        let view = queue(332);
        assert_eq!(
            aqm.enqueue(Time::ZERO, &packet(), &view, &mut random()),
            Verdict::Accept
        );
        let full = QueueView { full: true, ..view };
        assert_eq!(
            aqm.enqueue(Time::ZERO, &packet(), &full, &mut random()),
            Verdict::Drop
        );
    }
}
