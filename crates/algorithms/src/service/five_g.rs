//! 5G New Radio: as LTE, in shorter slots.
//!
//! A transport block in each slot of `slot`, 0.5 ms at a subcarrier spacing of 30 kHz; what is said
//! of LTE's blocks, repetitions and grants holds here, too. HARQ is asynchronous; the default is two periods of
//! a common pattern of slots in a TDD cell (DDDSU, 2.5 ms), an assumption. A TDD link sends in
//! some of its slots only: its rate is to be that over all slots.

use super::{Cell, ServiceAlgorithm};
use crate::meta::{About, Algorithm};
use crate::{Interval, parameters};

parameters! {
    /// Parameters of 5G New Radio.
    pub struct FiveGParams {
        /// Length of a slot.
        slot: time = 0.0005, in Interval::between(1e-5, 1.0), "3GPP TS 38.211, table 4.3.2-1: 30 kHz";
        /// Probability that a transport block fails.
        block_error: number = 0.1, in Interval::between(0.0, 0.9), "3GPP TS 38.214, section 5.2.2.1: the target of link adaptation";
        /// Time from a transmission to its repetition, rounded up to whole slots.
        harq_delay: time = 0.005, in Interval::between(1e-5, 10.0), "assumption: two periods of DDDSU at 30 kHz";
        /// Time for which the first packet after a silence waits for a grant: none downlink.
        grant_delay: time = 0.0, in Interval::between(0.0, 10.0), "3GPP TS 38.213, section 9.2.4: requests by the period that is set";
    }
}

impl Algorithm for FiveGParams {
    const ABOUT: About = About {
        kind: "5g",
        title: "5G New Radio",
        summary: "Sends a transport block each half of a millisecond; blocks that fail are repeated later, and later ones wait for them.",
        citation: "3GPP TS 38.211, 38.213, 38.214, 38.321, 38.322",
        ecn: false,
    };
}

impl ServiceAlgorithm for FiveGParams {
    type Service = Cell;

    fn build(&self) -> Cell {
        Cell::new(
            self.slot,
            self.block_error,
            self.harq_delay,
            self.grant_delay,
        )
    }

    fn saturated_rate(&self, rate: f64, _size: u32) -> f64 {
        rate * (1.0 - self.block_error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::Service as _;
    use crate::{Parameters as _, Time};

    #[test]
    fn slots_of_half_a_millisecond() {
        let mut cell = FiveGParams::from_values(&[]).unwrap().build();
        let ms = 1_000_000_000;
        assert_eq!(cell.opens(Time(1), false), Time(ms / 2));
        assert_eq!(cell.opens(Time(ms / 2 + 1), false), Time(ms));
    }
}
