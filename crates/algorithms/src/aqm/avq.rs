//! The adaptive virtual queue.
//!
//! A virtual queue has the real one's arrivals and buffer but a smaller capacity. A packet that
//! would overflow it is dropped or marked in the real queue. The virtual capacity follows dC~/dt =
//! alpha (gamma C - lambda), between 0 and C, where lambda is the rate of arrivals: it falls until
//! the arrivals use the fraction gamma of the link. At each arrival, b being the packet (paper,
//! figure 1):
//!
//! VQ <- max(VQ - C~ (t - s), 0); drop or mark if VQ + b > B, else VQ <- VQ + b; C~ <- max(min(C~ +
//! alpha gamma C (t - s), C) - alpha b, 0); s <- t
//!
//! Where packets are dropped, arrivals that never enter the queue count as load in the paper's
//! algorithm, so that the link carries less than the fraction gamma; ns-2 2.35 leaves them out
//! (`count_drops = false`).
//!
//! C is the link's rate, and in a class of a queue with classes the most that the class may send.
//! Where neither is the queue's own (sub-queues, classes without a rate) there is no AVQ.

use super::red::Mode;
use super::{
    Aqm, AqmAlgorithm, LinkView, Observation, PacketView, QueueView, Verdict, changed, signal,
    weight,
};
use crate::fluid::{AqmInput, AqmStart, FluidAqm, QueueModel};
use crate::meta::{About, Algorithm};
use crate::{Interval, Scalar, Stream, Time, ValueError, parameters};

parameters! {
    /// Parameters of AVQ.
    pub struct AvqParams {
        /// Desired utilisation of the link.
        gamma: number = 0.98, in Interval::above_to(0.0, 1.0), "Kunniyur and Srikant 2004, section IV";
        /// Smoothing: how fast the virtual capacity follows, per second.
        alpha: number = 0.15, in Interval::above(0.0), "Kunniyur and Srikant 2004, section IV";
        /// Buffer of the virtual queue. "capacity": that of the real one.
        virtual_buffer: packets("capacity") = word "capacity", in Interval::above(0.0), "Kunniyur and Srikant 2004, section II; ns-2 2.35: buflim_ 1";
        /// Virtual capacity at the start, as a fraction of the link's rate.
        initial: number = 0.8, in Interval::between(0.0, 1.0), "ns-2 2.35: ecnlim_";
        /// Whether packets that are dropped count as load.
        count_drops: flag = true, "Kunniyur and Srikant 2004, figure 1; ns-2 2.35: false";
        /// Whether the virtual queue is measured in packets or bytes.
        mode: choice(Mode) = Bytes, "ns-2 2.35: queue_in_bytes_";
        /// Size of an average packet: turns the link's rate into packets/s, and a buffer in packets
        /// into bytes.
        mean_packet: bytes = 1500.0, in Interval::above(0.0), "ns-2 2.35: mean_pktsize_ (there 1000 B)";
        /// Whether ECN-capable packets are marked instead of dropped.
        ecn: flag = false, "Kunniyur and Srikant 2004, section II; ns-2 2.35: markpkts_";
    }
}

impl Algorithm for AvqParams {
    const ABOUT: About = About {
        kind: "avq",
        title: "AVQ",
        summary: "Adaptive virtual queue: drops or marks what overflows a virtual queue, whose capacity adapts until the link has the desired utilisation.",
        citation: "S. S. Kunniyur and R. Srikant, An adaptive virtual queue (AVQ) algorithm for active queue management, IEEE/ACM Transactions on Networking 12(2), 2004",
        ecn: true,
    };

    const BY_RATE: bool = true;
}

impl AvqParams {
    /// Packets that the link sends in a second.
    fn packet_rate(&self, rate: f64) -> f64 {
        rate / (8.0 * self.mean_packet)
    }
}

impl AqmAlgorithm for AvqParams {
    type Instance = Avq;

    fn build(&self, link: &LinkView) -> Avq {
        Avq {
            capacity: self.initial * self.packet_rate(link.rate),
            waiting: 0.0,
            since: Time::ZERO,
            adapted: Time::ZERO,
            buffer: self.virtual_buffer.or_else(|_| link.capacity_packets),
            params: *self,
            link: *link,
        }
    }
}

impl FluidAqm for AvqParams {
    type Over<S: Scalar> = AvqParams<S>;

    const APPROXIMATION: Option<&'static str> = Some(
        "the virtual queue is in equilibrium: what exceeds its capacity is dropped or marked, (lambda - C~) / lambda (Kunniyur and Srikant 2004, section III)",
    );

    fn on_link(&self, _link: &LinkView) -> Self {
        *self
    }

    /// With gamma below one the real queue is empty: the probability follows the rate of arrivals.
    fn queue_model<S: Scalar>(_params: &AvqParams<S>) -> QueueModel {
        QueueModel::Stationary
    }

    fn state_names<S: Scalar>(_params: &AvqParams<S>) -> &'static [&'static str] {
        &["virtual capacity (packets/s)"]
    }

    /// dC~/dt = alpha (gamma C - lambda), between 0 and C; where drops do not count, lambda is what
    /// passes, at most C~.
    fn derivative<S: Scalar>(
        params: &AvqParams<S>,
        input: &AqmInput<S>,
        state: &[S],
        rate: &mut [S],
    ) {
        let capacity = state[0];
        let counted = if params.ecn || params.count_drops || input.arrivals.re() < capacity.re() {
            input.arrivals
        } else {
            capacity
        };
        let change = params.alpha * (params.gamma * input.service - counted);
        let clipped = (capacity.re() <= 0.0 && change.re() < 0.0)
            || (capacity.re() >= input.service.re() && change.re() > 0.0);
        rate[0] = if clipped { S::from_f64(0.0) } else { change };
    }

    fn start<S: Scalar>(_params: &AvqParams<S>, from: &AqmStart<S>, state: &mut [S]) {
        state.fill(from.rate);
    }

    fn regimes<S: Scalar>(_params: &AvqParams<S>) -> &'static [&'static str] {
        &["below the virtual capacity", "above the virtual capacity"]
    }

    fn regime<S: Scalar>(_params: &AvqParams<S>, input: &AqmInput<S>, state: &[S]) -> usize {
        usize::from(input.arrivals.re() > state[0].re())
    }

    /// (lambda - C~) / lambda where the arrivals exceed the virtual capacity, else zero.
    fn probability<S: Scalar>(
        _params: &AvqParams<S>,
        input: &AqmInput<S>,
        state: &[S],
        regime: usize,
    ) -> S {
        match regime {
            0 => S::from_f64(0.0),
            _ => (input.arrivals - state[0]) / input.arrivals,
        }
    }
}

/// AVQ at work.
#[derive(Clone, Debug)]
pub struct Avq {
    /// Virtual capacity C~, (mean) packets/s.
    capacity: f64,
    /// Virtual queue, (mean) packets.
    waiting: f64,
    /// Last arrival.
    since: Time,
    /// Last arrival that counted.
    adapted: Time,
    /// Virtual buffer, (mean) packets.
    buffer: f64,
    params: AvqParams,
    link: LinkView,
}

impl Aqm for Avq {
    #[inline]
    fn enqueue(
        &mut self,
        now: Time,
        packet: &PacketView,
        queue: &QueueView,
        _random: &mut Stream,
    ) -> Verdict {
        let params = &self.params;
        let size = weight(params.mode, params.mean_packet, packet.size);
        let drained = self.capacity * now.since(self.since).seconds();
        self.since = now;
        self.waiting = (self.waiting - drained).max(0.0);
        let verdict = if queue.full {
            Verdict::Drop
        } else if self.waiting + size > self.buffer {
            signal(params.ecn, packet)
        } else {
            self.waiting += size;
            Verdict::Accept
        };
        if verdict != Verdict::Drop || params.count_drops {
            let link = params.packet_rate(queue.rate);
            let tokens = params.gamma * link * now.since(self.adapted).seconds();
            let raised = (self.capacity + params.alpha * tokens).min(link);
            self.capacity = (raised - params.alpha * size).max(0.0);
            self.adapted = now;
        }
        verdict
    }

    /// The virtual capacity keeps its value, but never exceeds the link's.
    fn on_link_change(&mut self, _now: Time, rate: f64) {
        self.link.rate = rate;
        self.capacity = self.capacity.min(self.params.packet_rate(rate));
    }

    fn set_parameter(&mut self, name: &str, value: f64) -> Result<(), ValueError> {
        self.params = changed(&self.params, name, value)?;
        self.buffer = self
            .params
            .virtual_buffer
            .or_else(|_| self.link.capacity_packets);
        Ok(())
    }

    /// The adapted parameter is the virtual capacity as a fraction of the link's.
    fn observe(&self) -> Observation {
        Observation {
            adapted: Some(self.capacity / self.params.packet_rate(self.link.rate)),
            ..Observation::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NumberOr;
    use crate::Parameters as _;
    use crate::aqm::test::{LINK, packet, queue, random};

    /// 100 Mbit/s, 1250 B: 10,000 packets/s.
    fn params() -> AvqParams {
        AvqParams {
            mean_packet: 1250.0,
            mode: Mode::Packets,
            virtual_buffer: NumberOr::Number(3.0),
            ..AvqParams::from_values(&[]).unwrap()
        }
    }

    #[test]
    fn five_arrivals_by_hand() {
        // steep adaptation, so that it shows: alpha = 100 per second and packet
        let mut aqm = AvqParams {
            alpha: 100.0,
            ..params()
        }
        .build(&LINK);
        let mut arrive = |seconds: f64| {
            let verdict = aqm.enqueue(
                Time::from_seconds(seconds),
                &packet(),
                &queue(0),
                &mut random(),
            );
            (verdict, aqm.waiting, aqm.capacity)
        };
        let near = |observed: (Verdict, f64, f64), verdict, waiting: f64, capacity: f64| {
            assert!(observed.0 == verdict, "{observed:?}");
            assert!((observed.1 - waiting).abs() < 1e-9, "{observed:?}");
            assert!((observed.2 - capacity).abs() < 1e-6, "{observed:?}");
        };
        // C~ = 8000 at the start; a packet takes 100 off, 100 us give 100 x 0.98 x 10000 x 1e-4 =
        // 98
        near(arrive(0.0), Verdict::Accept, 1.0, 7900.0);
        near(arrive(0.0), Verdict::Accept, 2.0, 7800.0);
        near(arrive(1e-4), Verdict::Accept, 2.22, 7798.0); // 0.78 drained
        near(arrive(2e-4), Verdict::Accept, 2.4402, 7796.0); // 0.7798 drained
        near(arrive(3e-4), Verdict::Accept, 2.6606, 7794.0);
        near(arrive(3e-4), Verdict::Drop, 2.6606, 7694.0); // 3.66 > 3
        // after a long time it is empty, and C~ is the link's less the packet
        near(arrive(1.0), Verdict::Accept, 1.0, 9900.0);
    }

    #[test]
    fn arrivals_at_the_desired_utilisation_leave_the_capacity_alone() {
        let mut aqm = params().build(&LINK);
        let run = |aqm: &mut Avq, load: f64, from: f64| {
            for n in 0..10_000 {
                let now = Time::from_seconds(from + f64::from(n) / (load * 10_000.0));
                aqm.enqueue(now, &packet(), &queue(0), &mut random());
            }
            aqm.observe().adapted.unwrap()
        };
        let first = run(&mut aqm, 0.98, 0.0);
        assert!((first - 0.8).abs() < 1e-4, "{first}");
        // 1 s at full load: alpha (0.98 - 1) C a second
        let second = run(&mut aqm, 1.0, 10_000.0 / 9800.0);
        assert!((second - first + 0.15 * 0.02).abs() < 1e-4, "{second}");
    }

    #[test]
    fn drops_count_as_load_unless_told_not_to() {
        // twice the link's rate, nothing reacts: C~ falls by 0.15 x 1.02 C a second if drops count,
        // else by 0.15 (C~ - 0.98 C)
        let run = |count_drops| {
            let mut aqm = AvqParams {
                count_drops,
                ..params()
            }
            .build(&LINK);
            for n in 0..20_000 {
                let now = Time::from_seconds(f64::from(n) / 20_000.0);
                aqm.enqueue(now, &packet(), &queue(0), &mut random());
            }
            aqm.observe().adapted.unwrap()
        };
        assert!((run(true) - (0.8 - 0.153)).abs() < 1e-3);
        assert!((run(false) - (0.98 - 0.18 * (-0.15_f64).exp())).abs() < 1e-3);
    }

    #[test]
    fn a_byte_is_a_byte() {
        let bytes = AvqParams {
            mode: Mode::Bytes,
            ecn: true,
            ..params()
        };
        let mut aqm = bytes.build(&LINK);
        let mut arrive = |size| {
            let arriving = PacketView {
                size,
                ecn_capable: true,
                ..packet()
            };
            aqm.enqueue(Time::ZERO, &arriving, &queue(0), &mut random())
        };
        // 3750 B of virtual buffer
        assert_eq!(
            [arrive(1500), arrive(1500), arrive(1000), arrive(750)],
            [
                Verdict::Accept,
                Verdict::Accept,
                Verdict::Mark,
                Verdict::Accept
            ]
        );
    }

    #[test]
    fn fluid_equilibrium_is_at_the_desired_utilisation() {
        let law = params().on_link(&LINK);
        let input = AqmInput::new(0.0, 9800.0, 10_000.0);
        let mut rate = [f64::NAN];
        AvqParams::derivative(&law, &input, &[9300.0], &mut rate);
        assert!(rate[0].abs() < 1e-9);
        assert_eq!(AvqParams::regime(&law, &input, &[9300.0]), 1);
        let p = AvqParams::probability(&law, &input, &[9300.0], 1);
        assert!((p - 500.0 / 9800.0).abs() < 1e-15);
        let over = AqmInput::new(0.0, 20_000.0, 10_000.0);
        AvqParams::derivative(&law, &over, &[8000.0], &mut rate);
        assert!((rate[0] + 0.15 * 10_200.0).abs() < 1e-9); // as in the test of drops above
        AvqParams::derivative(
            &law,
            &AqmInput::new(0.0, 100.0, 10_000.0),
            &[10_000.0],
            &mut rate,
        );
        assert_eq!(rate[0], 0.0);
    }
}
