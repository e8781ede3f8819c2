//! SRED, stabilised RED: estimates the number of active flows from a list of recently seen ones.
//!
//! Each arriving packet is compared with a random entry of the "zombie list" (as long as the list
//! is not full, flows are only entered). Another flow there is replaced with probability
//! `overwrite`. P is the averaged frequency of hits; 1 / P estimates the number of active flows
//! (Ott, Lakshman and Wong 1999, section II). With B the capacity and q the queue, in bytes, the
//! packet is dropped or marked with probability
//!
//! p_sred(q) min(1, 1 / (256 P)^2), times 1 + hit / P in full SRED,
//!
//! where p_sred is `max_probability` from B / 3 up, a quarter of it from B / 6 up, and zero below
//! (section III).
//!
//! The fluid law takes P = 1 / N for N flows alike, so that a hit raises the mean probability
//! twofold in full SRED, and rounds the two steps by the queue's fluctuations.

use super::{
    Aqm, AqmAlgorithm, LinkView, Observation, PacketView, QueueView, Verdict, changed, happens,
    signal,
};
use crate::fluid::{AqmInput, FluidAqm, below};
use crate::meta::{About, Algorithm};
use crate::{Interval, NumberOr, Scalar, Stream, Time, ValueError, parameters};

parameters! {
    /// Parameters of SRED.
    pub struct SredParams {
        /// Length of the zombie list (M), a whole number.
        zombies: number = 1000.0, in Interval::between(1.0, 1e6), "Ott, Lakshman and Wong 1999, section II";
        /// Probability that a miss replaces the entry.
        overwrite: number = 0.25, in Interval::above_to(0.0, 1.0), "Ott, Lakshman and Wong 1999, section II";
        /// Weight of a packet in the average of hits (alpha). "auto": overwrite / zombies, so that
        /// it remembers as long as the list does.
        weight: number("auto") = word "auto", in Interval::above_to(0.0, 1.0), "Ott, Lakshman and Wong 1999, section II";
        /// Largest probability, before flows are counted.
        max_probability: number = 0.15, in Interval::above_to(0.0, 1.0), "Ott, Lakshman and Wong 1999, section III";
        /// Number of flows up to which the probability grows with its square.
        flows: number = 256.0, in Interval::above(0.0), "Ott, Lakshman and Wong 1999, section III";
        /// Whether a hit raises the probability by 1 + 1 / P, against flows that take more than
        /// their share ("full SRED").
        full: flag = true, "Ott, Lakshman and Wong 1999, section III";
        /// Buffer of which thirds and sixths are taken. "capacity": the queue's.
        buffer: packets("capacity") = word "capacity", in Interval::above(0.0), "Ott, Lakshman and Wong 1999, section III";
        /// Size of an average packet, for a buffer in packets.
        mean_packet: bytes = 1500.0, in Interval::above(0.0), "as RED";
        /// Whether ECN-capable packets are marked instead of dropped.
        ecn: flag = false, "RFC 3168, section 5";
    }
}

impl Algorithm for SredParams {
    const ABOUT: About = About {
        kind: "sred",
        title: "SRED",
        summary: "Stabilised RED: estimates the number of active flows from hits in a list of recently seen ones, and drops or marks by it and the queue.",
        citation: "T. J. Ott, T. V. Lakshman and L. H. Wong, SRED: stabilized RED, INFOCOM 1999",
        ecn: true,
    };
}

impl SredParams {
    fn weight(&self) -> f64 {
        self.weight.or_else(|_| self.overwrite / self.zombies)
    }
}

impl AqmAlgorithm for SredParams {
    type Instance = Sred;

    fn build(&self, link: &LinkView) -> Sred {
        Sred {
            list: Vec::with_capacity(self.zombies as usize),
            hits: 0.0,
            probability: 0.0,
            params: *self,
            capacity: link.capacity_packets,
        }
    }
}

impl FluidAqm for SredParams {
    type Over<S: Scalar> = SredParams<S>;

    const APPROXIMATION: Option<&'static str> = Some(
        "the flows are alike and counted without error, the queue fluctuates as independent windows let it (Appenzeller, Keslassy and McKeown 2004), all packets have the mean size (derived here)",
    );

    fn on_link(&self, link: &LinkView) -> Self {
        let buffer = self.buffer.or_else(|_| link.capacity_packets);
        Self {
            buffer: NumberOr::Number(buffer),
            ..*self
        }
    }

    fn regimes<S: Scalar>(_params: &SredParams<S>) -> &'static [&'static str] {
        &["its probability"]
    }

    fn regime<S: Scalar>(_params: &SredParams<S>, _input: &AqmInput<S>, _state: &[S]) -> usize {
        0
    }

    /// p_max min(1, (N / 256)^2) (P(q > B / 6) + 3 P(q > B / 3)) / 4, twice that for full SRED: a
    /// fraction P of the packets hits, and has 1 + 1 / P times it.
    fn probability<S: Scalar>(
        params: &SredParams<S>,
        input: &AqmInput<S>,
        _state: &[S],
        _regime: usize,
    ) -> S {
        let (zero, one) = (S::from_f64(0.0), S::from_f64(1.0));
        let buffer = params.buffer.or_else(|_| S::from_f64(f64::INFINITY));
        if !buffer.re().is_finite() {
            return zero;
        }
        let deviation = input.fluctuation().max(one);
        let reached = |part: f64| below(input.queue - buffer * part, deviation);
        let steps = reached(1.0 / 6.0) * 0.25 + reached(1.0 / 3.0) * 0.75;
        let few = (input.flows / params.flows).min(one);
        let full = if params.full { 1.0 } else { 0.0 };
        let hits = one / input.flows;
        let p = params.max_probability * few * few * steps;
        let hit = (p * (one + input.flows * full)).min(one);
        (p * (one - hits) + hit * hits).min(one)
    }
}

/// SRED at work.
#[derive(Clone, Debug)]
pub struct Sred {
    list: Vec<u32>,
    /// P.
    hits: f64,
    /// Drop probability of the last packet.
    probability: f64,
    params: SredParams,
    /// Capacity of the queue, packets.
    capacity: f64,
}

impl Sred {
    /// Whether the flow is the one found at a random place of the list.
    fn hit(&mut self, flow: u32, random: &mut Stream) -> bool {
        if (self.list.len() as f64) < self.params.zombies.floor() {
            self.list.push(flow);
            return false;
        }
        let place = (random.uniform() * self.list.len() as f64) as usize;
        if self.list[place] == flow {
            return true;
        }
        if happens(self.params.overwrite, random) {
            self.list[place] = flow;
        }
        false
    }
}

impl Aqm for Sred {
    #[inline]
    fn enqueue(
        &mut self,
        _now: Time,
        packet: &PacketView,
        queue: &QueueView,
        random: &mut Stream,
    ) -> Verdict {
        let hit = self.hit(packet.flow, random);
        let params = &self.params;
        self.hits += params.weight() * (f64::from(u8::from(hit)) - self.hits);
        let buffer = params.buffer.or_else(|_| self.capacity) * params.mean_packet;
        let fill = queue.bytes as f64 / buffer;
        let mut p = if fill >= 1.0 / 3.0 {
            params.max_probability
        } else if fill >= 1.0 / 6.0 {
            0.25 * params.max_probability
        } else {
            0.0
        };
        let few = params.flows * self.hits;
        p /= (few * few).max(1.0);
        if params.full && hit {
            p *= 1.0 + 1.0 / self.hits; // positive after a hit
        }
        self.probability = p.min(1.0);
        if queue.full {
            Verdict::Drop
        } else if happens(self.probability, random) {
            signal(params.ecn, packet)
        } else {
            Verdict::Accept
        }
    }

    /// A shorter list keeps its oldest entries.
    fn set_parameter(&mut self, name: &str, value: f64) -> Result<(), ValueError> {
        self.params = changed(&self.params, name, value)?;
        self.list.truncate(self.params.zombies as usize);
        Ok(())
    }

    /// The adapted parameter is the estimated number of flows.
    fn observe(&self) -> Observation {
        Observation {
            probability: Some(self.probability),
            adapted: (self.hits > 0.0).then(|| 1.0 / self.hits),
            ..Observation::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Parameters as _;
    use crate::aqm::test::{LINK, packet, queue, random};

    fn params() -> SredParams {
        SredParams {
            buffer: NumberOr::Number(300.0),
            ..SredParams::from_values(&[]).unwrap()
        }
    }

    fn arrive(aqm: &mut Sred, flow: u32, waiting: u32, random: &mut Stream) -> Verdict {
        aqm.enqueue(
            Time::ZERO,
            &PacketView { flow, ..packet() },
            &queue(waiting),
            random,
        )
    }

    #[test]
    fn the_list_fills_first_and_then_counts_flows() {
        let (mut aqm, mut random) = (params().build(&LINK), random());
        for n in 0..1000 {
            arrive(&mut aqm, n % 20, 0, &mut random);
            assert_eq!(aqm.hits, 0.0);
        }
        assert_eq!(aqm.list.len(), 1000);
        // memory of 4000 packets: the mean of 1 / P over 40,000 is that of ten independent samples
        // of about 4000 x 0.05 / 2 hits
        let mut mean = 0.0;
        for n in 0..60_000 {
            arrive(&mut aqm, n % 20, 0, &mut random);
            if n >= 20_000 {
                mean += aqm.hits / 40_000.0;
            }
        }
        assert!((mean * 20.0 - 1.0).abs() < 0.1, "{mean}");
        // 50 other flows take over
        for n in 0..60_000 {
            arrive(&mut aqm, 100 + n % 50, 0, &mut random);
        }
        assert!(aqm.list.iter().all(|flow| *flow >= 100));
        assert!((aqm.hits * 50.0 - 1.0).abs() < 0.5, "{}", aqm.hits);
    }

    #[test]
    fn misses_replace_a_quarter_of_the_time() {
        let (mut aqm, mut random) = (params().build(&LINK), random());
        for _ in 0..1000 {
            arrive(&mut aqm, 1, 0, &mut random);
        }
        for n in 0..400 {
            arrive(&mut aqm, 1000 + n, 0, &mut random);
        }
        let replaced = aqm.list.iter().filter(|flow| **flow != 1).count();
        // about 400 / 4 less those replaced twice; five standard errors are 43
        assert!((52..=140).contains(&replaced), "{replaced}");
    }

    #[test]
    fn steps_of_the_queue_and_flows() {
        let (mut aqm, mut random) = (
            SredParams {
                full: false,
                weight: NumberOr::Number(1e-9), // P stays as it is
                ..params()
            }
            .build(&LINK),
            random(),
        );
        let mut see = |hits, waiting| {
            aqm.hits = hits;
            arrive(&mut aqm, 0, waiting, &mut random);
            aqm.observe().probability.unwrap()
        };
        for (hits, waiting, p) in [
            (1e-4, 49, 0.0),
            (1e-4, 50, 0.0375),
            (1e-4, 99, 0.0375),
            (1e-4, 100, 0.15),
            (1.0 / 256.0, 100, 0.15),
            (1.0 / 64.0, 100, 0.15 / 16.0),
        ] {
            assert!((see(hits, waiting) - p).abs() < 1e-6, "{hits} {waiting}");
        }
    }

    #[test]
    fn hits_are_punished_in_full_sred() {
        let (mut aqm, mut random) = (
            SredParams {
                zombies: 1.0,
                overwrite: 1.0,
                weight: NumberOr::Number(1e-9),
                ..params()
            }
            .build(&LINK),
            random(),
        );
        aqm.hits = 1.0 / 64.0;
        let mut see = |flow| {
            arrive(&mut aqm, flow, 100, &mut random);
            aqm.observe().probability.unwrap()
        };
        see(1);
        assert!((see(1) / (0.15 / 16.0) - 65.0).abs() < 1e-3); // 1 + 1 / P
        assert!((see(2) / (0.15 / 16.0) - 1.0).abs() < 1e-3);
    }
}
