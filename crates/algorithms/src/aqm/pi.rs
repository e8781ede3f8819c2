//! The PI controller: a probability that integrates the distance of the queue from a reference.
//!
//! At a fixed frequency p <- p + a (q - q_ref) - b (q_old - q_ref), clipped to [0, 1], where q_old
//! is the queue of the last time. Each arriving packet is then dropped or marked with probability p
//! on its own. In byte mode the queue is measured in mean packets and a packet's probability is
//! proportional to its size.

use super::red::Mode;
use super::{
    Aqm, AqmAlgorithm, LinkView, Observation, PacketView, QueueView, Verdict, changed, weight,
};
use crate::fluid::{AqmInput, FluidAqm};
use crate::meta::{About, Algorithm};
use crate::params::inconsistent;
use crate::{Interval, Scalar, Stream, Time, ValueError, parameters};

parameters! {
    /// Parameters of the PI controller.
    pub struct PiParams {
        /// Weight of the present distance from the reference, per packet.
        a: number = 1.822e-5, in Interval::above(0.0), "Hollot, Misra, Towsley and Gong 2001, section V";
        /// Weight of the last distance from the reference, per packet; below `a`.
        b: number = 1.816e-5, in Interval::at_least(0.0), "Hollot, Misra, Towsley and Gong 2001, section V";
        /// Queue that it steers to (q_ref).
        reference: packets = 50.0, in Interval::at_least(0.0), "ns-2 2.35: qref_";
        /// How often the probability is computed.
        frequency: frequency = 170.0, in Interval::above_to(0.0, 1e9), "Hollot, Misra, Towsley and Gong 2001, section V: 170 Hz";
        /// Whether the queue is measured, and packets are dropped, by packets or by bytes.
        mode: choice(Mode) = Packets, "ns-2 2.35: bytes_ and queue_in_bytes_";
        /// Size of an average packet, for byte mode.
        mean_packet: bytes = 1500.0, in Interval::above(0.0), "ns-2 2.35: mean_pktsize_ (there 500 B)";
        /// Whether ECN-capable packets are marked instead of dropped.
        ecn: flag = false, "RFC 3168, section 5; ns-2 2.35: setbit_";
    }
}

impl Algorithm for PiParams {
    const ABOUT: About = About {
        kind: "pi",
        title: "PI controller",
        summary: "Computes its drop or mark probability at a fixed frequency from the queue's distance to a reference, now and last time.",
        citation: "C. V. Hollot, V. Misra, D. Towsley and W. Gong, On designing improved controllers for AQM routers supporting TCP flows, INFOCOM 2001",
        ecn: true,
    };

    fn check(&self) -> Result<(), ValueError> {
        if self.b >= self.a {
            // else it would steer away from the reference
            return Err(inconsistent("b", self.b, format!("below a ({})", self.a)));
        }
        Ok(())
    }
}

impl AqmAlgorithm for PiParams {
    type Instance = Pi;

    fn build(&self, _link: &LinkView) -> Pi {
        let period = period(self);
        Pi {
            probability: 0.0,
            last_queue: 0.0,
            next: period,
            period,
            params: *self,
        }
    }
}

impl FluidAqm for PiParams {
    type Over<S: Scalar> = PiParams<S>;

    const APPROXIMATION: Option<&'static str> = Some(
        "in continuous time (Hollot, Misra, Towsley and Gong 2001): sampling adds a delay of about half a period",
    );

    fn on_link(&self, _link: &LinkView) -> Self {
        *self
    }

    /// The integral of the queue's distance from the reference, as a probability.
    fn state_names<S: Scalar>(_params: &PiParams<S>) -> &'static [&'static str] {
        &["integral part of the probability"]
    }

    /// dI/dt = (a - b) f (q - q_ref): the trapezoidal rule turned round. It stands still where the
    /// probability is clipped and would be clipped further, since the algorithm stores the clipped
    /// probability.
    fn derivative<S: Scalar>(
        params: &PiParams<S>,
        input: &AqmInput<S>,
        state: &[S],
        rate: &mut [S],
    ) {
        if let ([integral], [rate]) = (state, rate) {
            let distance = input.queue - params.reference;
            let p = proportional(params, distance) + *integral;
            let clipped =
                (p.re() <= 0.0 && distance.re() < 0.0) || (p.re() >= 1.0 && distance.re() > 0.0);
            *rate = if clipped {
                S::from_f64(0.0)
            } else {
                (params.a - params.b) * params.frequency * distance
            };
        }
    }

    fn local<S: Scalar>(_params: &PiParams<S>) -> bool {
        true
    }

    fn packet_weight<S: Scalar>(params: &PiParams<S>, bytes: u32) -> f64 {
        weight(params.mode, params.mean_packet.re(), bytes)
    }

    fn regimes<S: Scalar>(_params: &PiParams<S>) -> &'static [&'static str] {
        &["zero", "between zero and one", "one"]
    }

    fn regime<S: Scalar>(params: &PiParams<S>, input: &AqmInput<S>, state: &[S]) -> usize {
        let p = Self::probability(params, input, state, 1).re();
        usize::from(p >= 0.0) + usize::from(p >= 1.0)
    }

    /// p = (a + b) / 2 (q - q_ref) + I.
    fn probability<S: Scalar>(
        params: &PiParams<S>,
        input: &AqmInput<S>,
        state: &[S],
        regime: usize,
    ) -> S {
        match regime {
            0 => S::from_f64(0.0),
            1 => state.iter().fold(
                proportional(params, input.queue - params.reference),
                |p, integral| p + *integral,
            ),
            _ => S::from_f64(1.0),
        }
    }
}

fn proportional<S: Scalar>(params: &PiParams<S>, distance: S) -> S {
    (params.a + params.b) * distance * 0.5
}

fn period(params: &PiParams) -> Time {
    Time(Time::from_seconds(1.0 / params.frequency).0.max(1))
}

/// The PI controller at work.
#[derive(Clone, Debug)]
pub struct Pi {
    probability: f64,
    last_queue: f64,
    next: Time,
    period: Time,
    params: PiParams,
}

impl Pi {
    /// Takes new parameters and goes on.
    pub(super) fn replace(&mut self, params: PiParams) {
        self.period = period(&params);
        self.params = params;
    }
}

impl Aqm for Pi {
    #[inline]
    fn enqueue(
        &mut self,
        _now: Time,
        packet: &PacketView,
        queue: &QueueView,
        random: &mut Stream,
    ) -> Verdict {
        if queue.full {
            return Verdict::Drop;
        }
        let p = match self.params.mode {
            Mode::Packets => self.probability,
            Mode::Bytes => self.probability * f64::from(packet.size) / self.params.mean_packet,
        };
        if p <= 0.0 || (p < 1.0 && random.uniform() >= p) {
            Verdict::Accept
        } else if self.params.ecn && packet.ecn_capable {
            Verdict::Mark
        } else {
            Verdict::Drop
        }
    }

    fn next_timer(&self) -> Option<Time> {
        Some(self.next)
    }

    fn on_timer(&mut self, now: Time, queue: &QueueView, _random: &mut Stream) {
        let params = &self.params;
        let length = match params.mode {
            Mode::Packets => f64::from(queue.packets),
            Mode::Bytes => queue.bytes as f64 / params.mean_packet,
        };
        let change = params.a * (length - params.reference)
            - params.b * (self.last_queue - params.reference);
        self.probability = (self.probability + change).clamp(0.0, 1.0);
        self.last_queue = length;
        self.next = now + self.period;
    }

    fn set_parameter(&mut self, name: &str, value: f64) -> Result<(), ValueError> {
        self.replace(changed(&self.params, name, value)?);
        Ok(())
    }

    fn observe(&self) -> Observation {
        Observation {
            probability: Some(self.probability),
            ..Observation::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Parameters as _;
    use crate::aqm::test::{LINK, packet, queue, random};

    fn params() -> PiParams {
        PiParams::from_values(&[]).unwrap()
    }

    /// Runs the timer over a sequence of queues.
    fn run(aqm: &mut Pi, queues: impl IntoIterator<Item = u32>) {
        for waiting in queues {
            aqm.on_timer(aqm.next_timer().unwrap(), &queue(waiting), &mut random());
        }
    }

    #[test]
    fn three_steps_by_hand() {
        let mut aqm = PiParams {
            a: 0.003,
            b: 0.002,
            ..params()
        }
        .build(&LINK);
        run(&mut aqm, [80]); // 0.003 x 30 - 0.002 x (0 - 50)
        assert!((aqm.probability - 0.19).abs() < 1e-15);
        run(&mut aqm, [60]); // + 0.003 x 10 - 0.002 x 30
        assert!((aqm.probability - 0.16).abs() < 1e-15);
        run(&mut aqm, [0]); // - 0.003 x 50 - 0.002 x 10
        assert_eq!(aqm.probability, 0.0);
    }

    #[test]
    fn it_rests_at_the_reference_only() {
        let mut aqm = PiParams {
            a: 0.003,
            b: 0.002,
            ..params()
        }
        .build(&LINK);
        run(&mut aqm, [80, 50, 50]);
        let before = aqm.probability;
        run(&mut aqm, [50; 1000]);
        assert_eq!(aqm.probability, before);
        run(&mut aqm, [51; 100]);
        // the step from 50 to 51 gives a once, each of the 99 others a - b
        assert!((aqm.probability - before - 0.003 - 99.0 * 0.001).abs() < 1e-12);
    }

    #[test]
    fn runs_at_its_frequency() {
        let mut aqm = PiParams {
            frequency: 160.0,
            ..params()
        }
        .build(&LINK);
        run(&mut aqm, [50; 159]);
        assert_eq!(aqm.next_timer(), Some(Time::from_seconds(1.0)));
        aqm.set_parameter("frequency", 100.0).unwrap();
        run(&mut aqm, [50]);
        assert_eq!(aqm.next_timer(), Some(Time::from_seconds(1.01)));
    }

    #[test]
    fn packets_are_dropped_or_marked_on_their_own() {
        let mut aqm = PiParams {
            a: 0.003,
            b: 0.002,
            ecn: true,
            ..params()
        }
        .build(&LINK);
        run(&mut aqm, [80]);
        let mut random = random();
        let (mut marks, mut drops) = (0, 0);
        for n in 0..200_000 {
            let arriving = PacketView {
                ecn_capable: n % 2 == 0,
                ..packet()
            };
            match aqm.enqueue(Time::ZERO, &arriving, &queue(60), &mut random) {
                Verdict::Mark => marks += 1,
                Verdict::Drop => drops += 1,
                Verdict::Accept => {}
            }
        }
        // 100,000 each at p = 0.19; five standard errors are 620
        assert!(
            (f64::from(marks) - 19_000.0).abs() < 620.0
                && (f64::from(drops) - 19_000.0).abs() < 620.0
        );
    }

    #[test]
    fn byte_mode_measures_mean_packets() {
        let bytes = PiParams {
            a: 0.003,
            b: 0.002,
            mode: Mode::Bytes,
            mean_packet: 1000.0,
            ..params()
        };
        let mut aqm = bytes.build(&LINK);
        run(&mut aqm, [80]); // 120 mean packets: 0.003 x 70 + 0.1
        assert!((aqm.probability - 0.31).abs() < 1e-15);
        let mut random = random();
        let drops = (0..100_000)
            .filter(|_| {
                aqm.enqueue(Time::ZERO, &packet(), &queue(80), &mut random) == Verdict::Drop
            })
            .count();
        assert!((drops as f64 - 46_500.0).abs() < 5.0 * 158.0, "{drops}"); // 0.31 x 1.5
    }

    #[test]
    fn gains_that_steer_away_are_refused() {
        assert_eq!(
            PiParams {
                b: 2e-5,
                ..params()
            }
            .check()
            .unwrap_err()
            .name,
            "b"
        );
    }

    #[test]
    fn fluid_law_has_the_gains_of_the_algorithm() {
        // both answer to a queue that grows steadily: 1 packet a step, from the reference on
        let params = PiParams {
            a: 3e-5,
            b: 2.9e-5,
            ..params()
        };
        let mut aqm = params.build(&LINK);
        run(&mut aqm, [50; 2]);
        let start = aqm.probability;
        run(&mut aqm, 50..=250);
        let law = params.on_link(&LINK);
        let (mut integral, steps) = (0.0, 20_000);
        for n in 0..steps {
            let mut rate = [0.0];
            let queue = 50.0 + 200.0 * (f64::from(n) + 0.5) / f64::from(steps);
            PiParams::derivative(
                &law,
                &AqmInput::new(queue, 0.0, 1.0),
                &[integral + 0.1],
                &mut rate,
            );
            integral += rate[0] * (200.0 / 170.0) / f64::from(steps);
        }
        let p = PiParams::probability(&law, &AqmInput::new(250.0, 0.0, 1.0), &[integral], 1);
        assert!(
            (p - (aqm.probability - start)).abs() < 1e-9,
            "{p} {}",
            aqm.probability - start
        );
    }
}
