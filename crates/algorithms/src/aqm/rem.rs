//! Random Exponential Marking.
//!
//! A price measures congestion. At a fixed frequency it moves by
//!
//! price <- max(0, price + gamma (alpha (q - q_ref) + x - c))
//!
//! where x is the number of packets that have arrived in the period (dropped ones too) and c the
//! number that the link could have sent. Each arriving packet is dropped or marked with probability
//! 1 - phi^(-price), so that along a path the prices add up. In byte mode queue and arrivals are
//! measured in mean packets and a packet's probability is proportional to its size.
//!
//! In a queue with a part of a link x - c is the change of the queue in the period, as the paper has
//! it where rates are not known.
//!
//! One detail differs from ns-2 2.35: it marks packets as they leave, here they are marked as they
//! arrive (as the paper has it).

use super::red::Mode;
use super::{
    Aqm, AqmAlgorithm, LinkView, Observation, PacketView, QueueView, Verdict, changed, happens,
    length, period, signal, weight,
};
use crate::fluid::{AqmInput, AqmStart, FluidAqm};
use crate::meta::{About, Algorithm};
use crate::{Interval, Scalar, Stream, Time, ValueError, parameters};

parameters! {
    /// Parameters of REM.
    pub struct RemParams {
        /// Step of the price per packet of mismatch.
        gamma: number = 0.001, in Interval::above(0.0), "Athuraliya, Low, Li and Yin 2001; ns-2 2.35: gamma_";
        /// Weight of the queue's distance from the reference against the mismatch of rates.
        alpha: number = 0.1, in Interval::above(0.0), "Athuraliya, Low, Li and Yin 2001; ns-2 2.35 (fixed there)";
        /// Base of the exponential probability 1 - phi^(-price).
        phi: number = 1.001, in Interval::above(1.0), "Athuraliya, Low, Li and Yin 2001; ns-2 2.35: phi_";
        /// Queue that it steers to (b*).
        reference: packets = 20.0, in Interval::at_least(0.0), "Athuraliya, Low, Li and Yin 2001; ns-2 2.35: pbo_";
        /// How often the price is computed.
        frequency: frequency = 500.0, in Interval::above_to(0.0, 1e9), "ns-2 2.35: pupdtime_ 2 ms";
        /// Weight of a period's arrivals in their average; 1 for no averaging.
        rate_weight: number = 1.0, in Interval::above_to(0.0, 1.0), "ns-2 2.35: inw_";
        /// Whether queue and arrivals are measured, and packets are dropped, by packets or by
        /// bytes.
        mode: choice(Mode) = Packets, "ns-2 2.35: qib_";
        /// Size of an average packet: sets the number of packets that the link can send, and scales
        /// byte mode.
        mean_packet: bytes = 1500.0, in Interval::above(0.0), "ns-2 2.35: mean_pktsize_ (there 1000 B)";
        /// Whether ECN-capable packets are marked instead of dropped.
        ecn: flag = false, "Athuraliya, Low, Li and Yin 2001; ns-2 2.35: markpkts_";
    }
}

impl Algorithm for RemParams {
    const ABOUT: About = About {
        kind: "rem",
        title: "REM",
        summary: "Random Exponential Marking: a price integrates the mismatch of queue and rate; packets are marked with probability 1 - phi^(-price).",
        citation: "S. Athuraliya, S. H. Low, V. H. Li and Q. Yin, REM: active queue management, IEEE Network 15(3), 2001",
        ecn: true,
    };
}

impl AqmAlgorithm for RemParams {
    type Instance = Rem;

    fn build(&self, _link: &LinkView) -> Rem {
        Rem {
            price: 0.0,
            probability: 0.0,
            arrived: 0.0,
            average: 0.0,
            last_length: 0.0,
            period: period(self.frequency),
            next: period(self.frequency),
            params: *self,
        }
    }
}

impl FluidAqm for RemParams {
    type Over<S: Scalar> = RemParams<S>;

    const APPROXIMATION: Option<&'static str> = Some(
        "in continuous time (Athuraliya, Low, Li and Yin 2001): sampling adds a delay of about half a period",
    );

    fn on_link(&self, _link: &LinkView) -> Self {
        *self
    }

    /// The price in units in which the probability is 1 - exp(-price), and the averaged arrivals if
    /// they are averaged.
    fn state_names<S: Scalar>(params: &RemParams<S>) -> &'static [&'static str] {
        if params.rate_weight.re() < 1.0 {
            &[
                "price times ln(phi)",
                "averaged rate of arrivals (packets/s)",
            ]
        } else {
            &["price times ln(phi)"]
        }
    }

    /// d price/dt = gamma (alpha f (q - q_ref) + x - C), never below zero.
    fn derivative<S: Scalar>(
        params: &RemParams<S>,
        input: &AqmInput<S>,
        state: &[S],
        rate: &mut [S],
    ) {
        let mut arrivals = input.arrivals;
        if let (Some(average), Some(rate)) = (state.get(1), rate.get_mut(1)) {
            *rate = params.rate_weight * params.frequency * (input.arrivals - *average);
            arrivals = *average;
        }
        let mismatch = params.alpha * params.frequency * (input.queue - params.reference)
            + arrivals
            - input.service;
        rate[0] = if state[0].re() <= 0.0 && mismatch.re() < 0.0 {
            S::from_f64(0.0)
        } else {
            params.gamma * params.phi.ln() * mismatch
        };
    }

    fn start<S: Scalar>(_params: &RemParams<S>, from: &AqmStart<S>, state: &mut [S]) {
        state[0] = from.probability;
        state[1..].fill(from.rate);
    }

    fn regimes<S: Scalar>(_params: &RemParams<S>) -> &'static [&'static str] {
        &["no price", "positive price"]
    }

    fn regime<S: Scalar>(_params: &RemParams<S>, _input: &AqmInput<S>, state: &[S]) -> usize {
        usize::from(state[0].re() > 0.0)
    }

    /// 1 - phi^(-price).
    fn probability<S: Scalar>(
        _params: &RemParams<S>,
        _input: &AqmInput<S>,
        state: &[S],
        regime: usize,
    ) -> S {
        match regime {
            0 => S::from_f64(0.0),
            _ => S::from_f64(1.0) - (-state[0]).exp(),
        }
    }
}

/// REM at work.
#[derive(Clone, Debug)]
pub struct Rem {
    price: f64,
    probability: f64,
    /// Packets that have arrived in this period.
    arrived: f64,
    /// Their average over periods.
    average: f64,
    /// Queue at the end of the last period, packets.
    last_length: f64,
    period: Time,
    next: Time,
    params: RemParams,
}

impl Aqm for Rem {
    #[inline]
    fn enqueue(
        &mut self,
        _now: Time,
        packet: &PacketView,
        queue: &QueueView,
        random: &mut Stream,
    ) -> Verdict {
        let weight = weight(self.params.mode, self.params.mean_packet, packet.size);
        self.arrived += weight;
        if queue.full {
            Verdict::Drop
        } else if happens(self.probability * weight, random) {
            signal(self.params.ecn, packet)
        } else {
            Verdict::Accept
        }
    }

    fn next_timer(&self) -> Option<Time> {
        Some(self.next)
    }

    fn on_timer(&mut self, now: Time, queue: &QueueView, _random: &mut Stream) {
        let params = &self.params;
        self.average += params.rate_weight * (self.arrived - self.average);
        self.arrived = 0.0;
        let length = length(params.mode, params.mean_packet, queue);
        let excess = if queue.head_sojourn.is_some() {
            length - self.last_length
        } else {
            self.average - queue.rate / (8.0 * params.mean_packet) / params.frequency
        };
        self.last_length = length;
        let mismatch = params.alpha * (length - params.reference) + excess;
        self.price = (self.price + params.gamma * mismatch).max(0.0);
        self.probability = 1.0 - libm::exp(-self.price * libm::log(params.phi));
        self.next = now + self.period;
    }

    fn set_parameter(&mut self, name: &str, value: f64) -> Result<(), ValueError> {
        self.params = changed(&self.params, name, value)?;
        self.period = period(self.params.frequency);
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

    /// 100 Mbit/s, 1250 B: 10,000 packets/s, 20 in a period.
    fn params() -> RemParams {
        RemParams {
            mean_packet: 1250.0,
            ..RemParams::from_values(&[]).unwrap()
        }
    }

    /// Lets packets arrive and the timer run, once for each pair of arrivals and queue.
    fn run(aqm: &mut Rem, periods: &[(u32, u32)]) {
        for &(arrivals, waiting) in periods {
            let timer = aqm.next_timer().unwrap();
            for _ in 0..arrivals {
                aqm.enqueue(timer, &packet(), &queue(waiting), &mut random());
            }
            aqm.on_timer(timer, &queue(waiting), &mut random());
        }
    }

    #[test]
    fn three_steps_by_hand() {
        let mut aqm = params().build(&LINK);
        run(&mut aqm, &[(25, 70)]); // 0.001 (0.1 x 50 + 25 - 20)
        assert!((aqm.price - 0.010).abs() < 1e-15);
        assert!((aqm.probability - (1.0 - 1.001_f64.powf(-0.010))).abs() < 1e-15);
        run(&mut aqm, &[(18, 30)]); // + 0.001 (0.1 x 10 + 18 - 20)
        assert!((aqm.price - 0.009).abs() < 1e-15);
        run(&mut aqm, &[(5, 0)]); // - 0.001 (2 + 15), but not below zero
        assert_eq!((aqm.price, aqm.probability), (0.0, 0.0));
    }

    #[test]
    fn it_rests_where_queue_and_rate_match() {
        let mut aqm = params().build(&LINK);
        run(&mut aqm, &[(400, 200)]);
        let before = aqm.price;
        run(&mut aqm, &[(20, 20); 1000]);
        assert!(before > 0.3 && (aqm.price - before).abs() < 1e-12);
        // too many packets and a queue that is as much too short, too
        run(&mut aqm, &[(21, 10); 1000]);
        assert!((aqm.price - before).abs() < 1e-12);
    }

    /// In a part of a link: 0.001 (0.1 (q - 20) + the change of q).
    #[test]
    fn a_part_of_a_link_has_no_rate() {
        let mut aqm = params().build(&LINK);
        for (waiting, price) in [(70, 0.001 * (5.0 + 70.0)), (60, 0.001 * (79.0 - 10.0))] {
            let part = QueueView {
                head_sojourn: Some(Time::ZERO),
                ..queue(waiting)
            };
            aqm.on_timer(aqm.next_timer().unwrap(), &part, &mut random());
            assert!((aqm.price - price).abs() < 1e-15, "{}", aqm.price);
        }
    }

    #[test]
    fn prices_of_a_path_add_up() {
        let probability = |price: f64| {
            let mut aqm = params().build(&LINK);
            aqm.price = price;
            run(&mut aqm, &[(20, 20)]);
            aqm.probability
        };
        let (first, second) = (probability(100.0), probability(250.0));
        let both = 1.0 - (1.0 - first) * (1.0 - second);
        assert!((both - probability(350.0)).abs() < 1e-12);
    }

    #[test]
    fn arrivals_are_averaged_if_asked() {
        let mut aqm = RemParams {
            rate_weight: 0.25,
            ..params()
        }
        .build(&LINK);
        run(&mut aqm, &[(100, 20)]);
        assert_eq!(aqm.average, 25.0);
        run(&mut aqm, &[(20, 20)]);
        assert_eq!(aqm.average, 23.75);
        assert!((aqm.price - 0.001 * (5.0 + 3.75)).abs() < 1e-15);
    }

    #[test]
    fn marks_or_drops_with_the_probability_of_its_price() {
        let mut aqm = RemParams {
            ecn: true,
            mode: Mode::Bytes,
            ..params()
        }
        .build(&LINK);
        aqm.probability = 0.2;
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
        // 100,000 each at p = 0.2 x 1500 / 1250 = 0.24; five standard errors are 675
        assert!((f64::from(marks) - 24_000.0).abs() < 675.0, "{marks}");
        assert!((f64::from(drops) - 24_000.0).abs() < 675.0, "{drops}");
    }

    #[test]
    fn fluid_law_has_the_gains_of_the_algorithm() {
        // a queue that grows steadily by one packet a period: 21 arrivals against 20
        let mut aqm = params().build(&LINK);
        let periods: Vec<_> = (20..220).map(|waiting| (21, waiting)).collect();
        run(&mut aqm, &periods);
        let law = params().on_link(&LINK);
        let (mut price, steps) = (0.0, 20_000);
        for n in 0..steps {
            let queue = 19.5 + 200.0 * (f64::from(n) + 0.5) / f64::from(steps);
            let mut rate = [0.0];
            RemParams::derivative(
                &law,
                &AqmInput::new(queue, 10_500.0, 10_000.0),
                &[price],
                &mut rate,
            );
            price += rate[0] * 0.4 / f64::from(steps);
        }
        let p = RemParams::probability(&law, &AqmInput::new(220.0, 0.0, 1.0), &[price], 1);
        assert!(
            (p / aqm.probability - 1.0).abs() < 1e-3,
            "{p} {}",
            aqm.probability
        );
    }
}
