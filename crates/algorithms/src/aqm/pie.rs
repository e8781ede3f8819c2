//! PIE: a PI controller of the queueing delay, RFC 8033.
//!
//! Every `interval` the drop probability moves by alpha (d - d_ref) + beta (d - d_old), where d is
//! the queueing delay now and d_old at the last update, scaled down while the probability is small
//! (section 4.2). A packet is dropped at random as it arrives; never while the burst allowance
//! lasts, while the delay is below half the reference and the probability below 0.2, or while at
//! most two mean packets wait (sections 4.1 and 4.4).
//!
//! The delay is the queue's length over the link's rate (section 4.3): on a link of known rate
//! there is nothing to estimate. In a queue with a part of a link, or behind a shaper, it is the
//! time that the packet at the head has waited. What the RFC calls optional is optional here: ECN
//! with its threshold (5.1), activation (5.3), de-randomisation (5.4), the capped increase (5.5).
//! With `timestamps` the delay is that of the packet that left last (as section 4.3 allows and
//! kernels do), so that the controller learns of a growing queue one queueing delay later.

use super::{
    Aqm, AqmAlgorithm, LinkView, Observation, PacketView, QueueView, Verdict, changed, happens,
};
use crate::fluid::{AqmInput, FluidAqm, held_at_ends};
use crate::meta::{About, Algorithm};
use crate::{Interval, Scalar, Stream, Time, ValueError, parameters};

parameters! {
    /// Parameters of PIE.
    pub struct PieParams {
        /// Queueing delay that it steers to (QDELAY_REF).
        //= RFC 8033 4.2/1: done, test pie::updates_by_hand
        target: time = 0.015, in Interval::above(0.0), "RFC 8033, section 4.2";
        /// Time between two updates (T_UPDATE).
        interval: time = 0.015, in Interval::above(0.0), "RFC 8033, section 4.2";
        /// Weight of the delay's distance from the target, per second and update.
        alpha: number = 0.125, in Interval::above(0.0), "RFC 8033, section 4.2";
        /// Weight of the delay's change since the last update, per second.
        beta: number = 1.25, in Interval::at_least(0.0), "RFC 8033, section 4.2";
        /// For how long after a time without congestion nothing is dropped (MAX_BURST).
        //= RFC 8033 4.4/1: done, test
        //=   the_burst_allowance_lasts_ten_updates_and_comes_back_without_congestion
        max_burst: time = 0.15, in Interval::at_least(0.0), "RFC 8033, section 4.4";
        /// Whether drops are spaced out: none before the probabilities of the packets since the
        /// last add up to 0.85, one at the latest when they reach 8.5.
        derandomize: flag = false, "RFC 8033, section 5.4 (optional)";
        /// Whether the probability, once at 0.1, rises by 0.02 at most in an update.
        cap_increase: flag = false, "RFC 8033, section 5.5 (optional)";
        /// Part of the queue's capacity at which PIE becomes active; 0: always active.
        activation: number = 0.0, in Interval::between(0.0, 1.0), "RFC 8033, section 5.3 (optional: one third)";
        /// Size of an average packet, for the rule that spares short queues.
        mean_packet: bytes = 1500.0, in Interval::above(0.0), "RFC 8033, section 4.1: MEAN_PKTSIZE";
        /// Whether ECN-capable packets are marked instead of dropped.
        ecn: flag = false, "RFC 8033, section 5.1";
        /// From this probability on ECN-capable packets are dropped too (mark_ecnth).
        //= RFC 8033 5.1/1: done, test marks_below_a_tenth_and_drops_above
        mark_ceiling: number = 0.1, in Interval::between(0.0, 1.0), "RFC 8033, section 5.1";
        /// Whether the delay is the time that the packet which left last has spent in the queue,
        /// zero where it left none behind, instead of the queue's length over the link's rate. The
        /// burst allowance then runs down from departure to departure, and begins anew at updates
        /// only.
        timestamps: flag = false, "RFC 8033, section 4.3; Linux 6.1";
        /// Factor of the probability at an update while there is no delay.
        decay: number = 0.98, in Interval::between(0.0, 1.0), "RFC 8033, section 4.2 (Linux: 63/64)";
        /// Above this delay every update adds 0.02 more to the probability; 0: never.
        steep_above: time = 0.0, in Interval::at_least(0.0), "Linux 6.1 (250 ms)";
        /// Whether a packet that is marked because the probabilities since the last drop have
        /// reached 8.5 leaves that sum as it is, so that all that follow are marked too, until one
        /// is dropped or the probability is zero.
        repeat_marks: flag = false, "Linux 6.1";
        /// Up to what the probability adds up while delays stay long: above one it takes its time
        /// to come down again.
        probability_ceiling: number = 1.0, in Interval::at_least(1.0), "RFC 8033, section 4.2 (Linux: 256, where its counter overflows)";
        /// When the first update comes; 0: after `interval`.
        first_update: time = 0.0, in Interval::at_least(0.0), "Linux 6.1 (half a second)";
        /// By how much each update is late: a kernel's timer that is set anew on a tick of its
        /// clock runs one tick after its time.
        tick: time = 0.0, in Interval::at_least(0.0), "Linux 6.1 (1 ms at 1000 Hz)";
    }
}

impl Algorithm for PieParams {
    const ABOUT: About = About {
        kind: "pie",
        title: "PIE",
        summary: "Proportional Integral controller Enhanced: steers the queueing delay to a target, with gains that grow with the probability and an allowance for bursts.",
        citation: "R. Pan, P. Natarajan, F. Baker and G. White, Proportional Integral Controller Enhanced (PIE), RFC 8033, 2017",
        ecn: true,
    };
}

/// Up to which drop probability a step is divided by what (RFC 8033, section 4.2); above them it is
/// not.
const TUNING: [(f64, f64); 6] = [
    (1e-6, 2048.0),
    (1e-5, 512.0),
    (1e-4, 128.0),
    (1e-3, 32.0),
    (1e-2, 8.0),
    (1e-1, 2.0),
];

/// The divisor of a step at probability `p`.
fn divisor(p: f64) -> f64 {
    TUNING
        .iter()
        .find(|(below, _)| p < *below)
        .map_or(1.0, |(_, divisor)| *divisor)
}

impl AqmAlgorithm for PieParams {
    type Instance = Pie;

    fn build(&self, link: &LinkView) -> Pie {
        let interval = interval(self);
        Pie {
            probability: 0.0,
            delay: 0.0,
            sojourn: 0.0,
            left: None,
            burst: Time::from_seconds(self.max_burst),
            accumulated: 0.0,
            active: self.activation <= 0.0,
            threshold: threshold(self, link),
            next: if self.first_update > 0.0 {
                Time::from_seconds(self.first_update)
            } else {
                interval
            },
            interval,
            params: *self,
            link: *link,
        }
    }
}

fn interval(params: &PieParams) -> Time {
    Time(Time::from_seconds(params.interval + params.tick).0.max(1))
}

/// Packets that must wait for PIE to become active. Without a limit there is no part of it: always.
fn threshold(params: &PieParams, link: &LinkView) -> f64 {
    if link.capacity_packets.is_finite() {
        params.activation * link.capacity_packets
    } else {
        0.0
    }
}

impl FluidAqm for PieParams {
    type Over<S: Scalar> = PieParams<S>;

    const APPROXIMATION: Option<&'static str> = Some(
        "in continuous time, without burst allowance, the rule that spares small delays, the decay at an empty queue and the options of RFC 8033, section 5",
    );

    fn on_link(&self, _link: &LinkView) -> Self {
        *self
    }

    /// The integral part of the sum of unscaled steps: the probability is a function of that sum,
    /// each decade of it with the slope of its scale.
    fn state_names<S: Scalar>(_params: &PieParams<S>) -> &'static [&'static str] {
        &["integral part of the unscaled probability"]
    }

    /// dI/dt = alpha / T (d - d_ref). It stands still where the probability is clipped and would be
    /// clipped further.
    fn derivative<S: Scalar>(
        params: &PieParams<S>,
        input: &AqmInput<S>,
        state: &[S],
        rate: &mut [S],
    ) {
        let distance = input.queue / input.service - params.target;
        let change = params.alpha * distance / params.interval;
        rate[0] = held_at_ends(unscaled(params, input, state), top(), change);
    }

    fn regimes<S: Scalar>(_params: &PieParams<S>) -> &'static [&'static str] {
        &[
            "zero",
            "up to 1e-6",
            "1e-6 to 1e-5",
            "1e-5 to 1e-4",
            "1e-4 to 1e-3",
            "1e-3 to 0.01",
            "0.01 to 0.1",
            "0.1 to one",
            "one",
        ]
    }

    fn regime<S: Scalar>(params: &PieParams<S>, input: &AqmInput<S>, state: &[S]) -> usize {
        let sum = unscaled(params, input, state).re();
        (0..8).filter(|regime| sum > corner(*regime).0).count()
    }

    /// p of the sum beta (d - d_ref) + I of unscaled steps, which the table of section 4.2 scales:
    /// below 1e-6 it rises by 1/2048 of the sum, and in each of the next decades by the slope of
    /// its row, up to the whole above 0.1.
    fn probability<S: Scalar>(
        params: &PieParams<S>,
        input: &AqmInput<S>,
        state: &[S],
        regime: usize,
    ) -> S {
        match regime {
            0 => S::from_f64(0.0),
            8 => S::from_f64(1.0),
            _ => {
                let (from, p) = corner(regime - 1);
                let slope = TUNING
                    .get(regime - 1)
                    .map_or(1.0, |(_, divisor)| 1.0 / divisor);
                (unscaled(params, input, state) - from) * slope + p
            }
        }
    }
}

/// The sum of unscaled steps, beta (d - d_ref) + I.
fn unscaled<S: Scalar>(params: &PieParams<S>, input: &AqmInput<S>, state: &[S]) -> S {
    params.beta * (input.queue / input.service - params.target) + state[0]
}

/// The corner where regime `regime` of the curve from sums of unscaled steps to probabilities ends:
/// the sum, and the probability.
fn corner(regime: usize) -> (f64, f64) {
    let (mut sum, mut p) = (0.0, 0.0);
    for (below, divisor) in TUNING.into_iter().chain([(1.0, 1.0)]).take(regime) {
        sum += (below - p) * divisor;
        p = below;
    }
    (sum, p)
}

/// The sum of unscaled steps at which the probability is one.
fn top() -> f64 {
    corner(7).0
}

/// PIE at work.
#[derive(Clone, Debug)]
pub struct Pie {
    probability: f64,
    /// Queueing delay at the last update, s.
    delay: f64,
    /// With time stamps: time in the queue of the packet that left last, s, and when it left.
    sojourn: f64,
    left: Option<Time>,
    /// The remaining burst allowance.
    burst: Time,
    /// Sum of the probabilities of packets since the last drop.
    accumulated: f64,
    active: bool,
    /// Packets that must wait for it to become active.
    threshold: f64,
    next: Time,
    interval: Time,
    params: PieParams,
    link: LinkView,
}

impl Pie {
    /// Whether the packet is to be dropped or marked (RFC 8033, sections 4.1 and 5.4).
    fn early(&mut self, capable: bool, queue: &QueueView, random: &mut Stream) -> bool {
        let delay = if self.params.timestamps {
            self.sojourn
        } else {
            self.delay
        };
        let uncongested = delay < 0.5 * self.params.target && self.probability < 0.2;
        if uncongested || queue.bytes as f64 <= 2.0 * self.params.mean_packet {
            return false;
        }
        if self.params.derandomize {
            if self.probability <= 0.0 {
                self.accumulated = 0.0;
            }
            self.accumulated += self.probability;
            if self.accumulated < 0.85 {
                return false;
            }
            if self.accumulated >= 8.5 {
                if !(self.params.repeat_marks && capable) {
                    self.accumulated = 0.0;
                }
                return true;
            }
        }
        let dropped = happens(self.probability, random);
        if dropped {
            self.accumulated = 0.0;
        }
        dropped
    }

    /// A packet leaves after `sojourn`, and others stay behind or not.
    fn note_departure(&mut self, now: Time, sojourn: Time, alone: bool) {
        self.sojourn = if alone { 0.0 } else { sojourn.seconds() };
        if let Some(before) = self.left.replace(now) {
            self.burst = self.burst.since(now.since(before));
        }
    }

    fn uncongested(&self) -> bool {
        self.probability <= 0.0 && self.delay < 0.5 * self.params.target
    }
}

impl Aqm for Pie {
    /// With time stamps it looks at what departs, and judges arrivals all the same.
    fn decides_at_dequeue(&self) -> bool {
        self.params.timestamps
    }

    fn dequeue(
        &mut self,
        now: Time,
        sojourn: Time,
        _packet: &PacketView,
        queue: &QueueView,
        _random: &mut Stream,
    ) -> Verdict {
        self.note_departure(now, sojourn, queue.packets == 0);
        Verdict::Accept
    }

    #[inline]
    fn enqueue(
        &mut self,
        now: Time,
        packet: &PacketView,
        queue: &QueueView,
        random: &mut Stream,
    ) -> Verdict {
        if !self.active && f64::from(queue.packets) >= self.threshold {
            self.active = true;
            self.probability = 0.0;
            self.delay = 0.0;
            self.accumulated = 0.0;
            self.burst = Time::from_seconds(self.params.max_burst);
        } else if !self.params.timestamps && self.uncongested() {
            self.burst = Time::from_seconds(self.params.max_burst);
        }
        let markable =
            self.params.ecn && packet.ecn_capable && self.probability < self.params.mark_ceiling;
        let verdict = if queue.full {
            self.accumulated = 0.0;
            Verdict::Drop
        } else if !self.active || self.burst > Time::ZERO || !self.early(markable, queue, random) {
            Verdict::Accept
        } else if markable {
            Verdict::Mark
        } else {
            Verdict::Drop
        };
        if self.params.timestamps && queue.idle_since.is_some() && verdict != Verdict::Drop {
            self.note_departure(now, Time::ZERO, true); // it leaves as it comes
        }
        verdict
    }

    fn next_timer(&self) -> Option<Time> {
        Some(self.next)
    }

    fn on_timer(&mut self, now: Time, queue: &QueueView, _random: &mut Stream) {
        self.next = now + self.interval;
        if !self.active {
            return;
        }
        let params = &self.params;
        let delay = if params.timestamps {
            self.sojourn
        } else {
            queue.delay()
        };
        let mut step = (params.alpha * (delay - params.target)
            + params.beta * (delay - self.delay))
            / divisor(self.probability);
        if params.cap_increase && self.probability >= 0.1 {
            step = step.min(0.02);
        }
        if params.steep_above > 0.0 && delay > params.steep_above {
            step += 0.02;
        }
        let mut p = self.probability + step;
        let unknown = params.timestamps && queue.packets > 0;
        if delay <= 0.0 && self.delay <= 0.0 && !unknown {
            p *= params.decay; // the congestion is over
        }
        self.probability = p.clamp(0.0, params.probability_ceiling);
        let was_uncongested = self.delay < 0.5 * params.target;
        self.delay = delay;
        if params.timestamps {
            if was_uncongested && self.uncongested() {
                self.burst = Time::from_seconds(params.max_burst);
                self.accumulated = 0.0;
                self.left = None;
            }
        } else {
            self.burst = self.burst.since(self.interval);
        }
        if was_uncongested && self.uncongested() && f64::from(queue.packets) < self.threshold {
            self.active = false;
        }
    }

    fn set_parameter(&mut self, name: &str, value: f64) -> Result<(), ValueError> {
        self.params = changed(&self.params, name, value)?;
        self.interval = interval(&self.params);
        self.threshold = threshold(&self.params, &self.link);
        Ok(())
    }

    fn observe(&self) -> Observation {
        Observation {
            probability: Some(self.probability.min(1.0)),
            ..Observation::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Parameters as _;
    use crate::aqm::test::{packet, queue, random};

    /// 12 Mbit/s: a packet of 1500 B a millisecond.
    const LINK: LinkView = LinkView {
        rate: 12e6,
        delay: 0.005,
        capacity_packets: 300.0,
    };

    fn params() -> PieParams {
        PieParams::from_values(&[]).unwrap()
    }

    fn waiting(packets: u32) -> QueueView {
        QueueView {
            rate: LINK.rate,
            ..queue(packets)
        }
    }

    /// Runs the timer over a sequence of queues.
    fn run(aqm: &mut Pie, queues: impl IntoIterator<Item = u32>) {
        for packets in queues {
            aqm.on_timer(aqm.next_timer().unwrap(), &waiting(packets), &mut random());
        }
    }

    /// The fates of 100,000 packets, marked if `capable`.
    fn verdicts(aqm: &mut Pie, packets: u32, capable: bool) -> (f64, f64) {
        let mut random = random();
        let (mut marks, mut drops) = (0.0, 0.0);
        let arriving = PacketView {
            ecn_capable: capable,
            ..packet()
        };
        for _ in 0..100_000 {
            match aqm.enqueue(Time::ZERO, &arriving, &waiting(packets), &mut random) {
                Verdict::Mark => marks += 1e-5,
                Verdict::Drop => drops += 1e-5,
                Verdict::Accept => {}
            }
        }
        (marks, drops)
    }

    #[test]
    fn updates_by_hand() {
        // n packets are n ms; each step is 0.125 (d - 15 ms) + 1.25 (d - d_old) over the scale of
        // the probability before it
        let mut aqm = params().build(&LINK);
        let mut expected = 0.0;
        for (packets, step, scale) in [
            (30, 0.125 * 0.015 + 1.25 * 0.030, 2048.0), // 1.92e-5
            (40, 0.125 * 0.025 + 1.25 * 0.010, 128.0),  // 1.41e-4
            (60, 0.125 * 0.045 + 1.25 * 0.020, 32.0),   // 1.10e-3
            (90, 0.125 * 0.075 + 1.25 * 0.030, 8.0),    // 6.96e-3
            (150, 0.125 * 0.135 + 1.25 * 0.060, 8.0),   // 0.0184
            (250, 0.125 * 0.235 + 1.25 * 0.100, 2.0),   // 0.0956
            (250, 0.125 * 0.235, 2.0),                  // 0.1103
            (290, 0.125 * 0.275 + 1.25 * 0.040, 1.0),   // 0.1947
            (10, 0.125 * -0.005 + 1.25 * -0.280, 1.0),  // below zero
        ] {
            run(&mut aqm, [packets]);
            expected = f64::max(0.0, expected + step / scale);
            assert!((aqm.probability - expected).abs() < 1e-15, "{packets}");
        }
        assert_eq!(aqm.probability, 0.0);
    }

    /// The delay is that of the last departure, the burst allowance runs down between departures,
    /// and what the kernel adds.
    #[test]
    fn time_stamps_as_in_linux() {
        let ms = |ms: u64| Time(ms * Time::PER_SECOND / 1000);
        let mut aqm = PieParams {
            timestamps: true,
            steep_above: 0.25,
            repeat_marks: true,
            probability_ceiling: 256.0,
            first_update: 0.5,
            tick: 0.001,
            derandomize: true,
            decay: 0.5,
            ecn: true,
            ..params()
        }
        .build(&LINK);
        let depart = |aqm: &mut Pie, at: u64, sojourn: u64, left: u32| {
            let (at, sojourn) = (ms(at), ms(sojourn));
            aqm.dequeue(at, sojourn, &packet(), &waiting(left), &mut random());
        };
        depart(&mut aqm, 100, 30, 3);
        run(&mut aqm, [60]); // the length is not what counts
        let p = (0.125 * 0.015 + 1.25 * 0.030) / 2048.0;
        assert!((aqm.probability - p).abs() < 1e-15);
        depart(&mut aqm, 130, 300, 3);
        assert_eq!(aqm.burst, ms(120));
        run(&mut aqm, [60]);
        let p = p + (0.125 * 0.285 + 1.25 * 0.270) / 128.0 + 0.02;
        assert!((aqm.probability - p).abs() < 1e-15);
        // without delay: known only where the queue is empty
        depart(&mut aqm, 140, 300, 0);
        assert_eq!(aqm.sojourn, 0.0);
        run(&mut aqm, [0, 1]);
        aqm.probability = 0.4;
        run(&mut aqm, [1]);
        let kept = 0.4 - 0.125 * 0.015;
        assert!((aqm.probability - kept).abs() < 1e-12);
        run(&mut aqm, [0]);
        assert!((aqm.probability - 0.5 * (kept - 0.125 * 0.015)).abs() < 1e-12);
        // half a second, then 16 ms an update, and a probability above one
        assert_eq!(aqm.next_timer(), Some(ms(500 + 6 * 16)));
        depart(&mut aqm, 150, 400, 3);
        run(&mut aqm, [1; 100]);
        assert!(aqm.probability > 3.0, "{}", aqm.probability);
        // once the sum has reached 8.5, every packet is marked
        aqm.burst = Time::ZERO;
        (aqm.probability, aqm.accumulated, aqm.sojourn) = (1e-9, 8.5, 0.02);
        let capable = PacketView {
            ecn_capable: true,
            ..packet()
        };
        for _ in 0..3 {
            let verdict = aqm.enqueue(Time::ZERO, &capable, &waiting(9), &mut random());
            assert_eq!(verdict, Verdict::Mark);
        }
        let verdict = aqm.enqueue(Time::ZERO, &packet(), &waiting(9), &mut random());
        assert_eq!(verdict, Verdict::Drop);
        let verdict = aqm.enqueue(Time::ZERO, &capable, &waiting(9), &mut random());
        assert_eq!(verdict, Verdict::Accept);
    }

    #[test]
    fn every_scale_of_the_table() {
        for (p, scale) in [
            (0.0, 2048.0),
            (9e-7, 2048.0),
            (1e-6, 512.0),
            (1e-5, 128.0),
            (1e-4, 32.0),
            (1e-3, 8.0),
            (1e-2, 2.0),
            (0.0999, 2.0),
            (0.1, 1.0),
            (1.0, 1.0),
        ] {
            assert_eq!(divisor(p), scale, "{p}");
        }
    }

    #[test]
    fn the_burst_allowance_lasts_ten_updates_and_comes_back_without_congestion() {
        let mut aqm = PieParams {
            alpha: 100.0, // certain drops, at once
            ..params()
        }
        .build(&LINK);
        for left in (0..10).rev() {
            assert_eq!(verdicts(&mut aqm, 100, false), (0.0, 0.0), "{left}");
            run(&mut aqm, [100]);
        }
        assert!((verdicts(&mut aqm, 100, false).1 - aqm.probability).abs() < 0.005);
        assert!(aqm.probability > 0.05);
        run(&mut aqm, [0, 0]);
        aqm.probability = 0.0;
        aqm.enqueue(Time::ZERO, &packet(), &waiting(0), &mut random());
        assert_eq!(aqm.burst, Time::from_seconds(0.15));
    }

    #[test]
    fn small_delays_and_short_queues_are_spared() {
        let mut aqm = params().build(&LINK);
        aqm.burst = Time::ZERO;
        (aqm.probability, aqm.delay) = (0.19, 0.007);
        assert_eq!(verdicts(&mut aqm, 50, false).1, 0.0);
        aqm.probability = 0.2; // five standard errors are 0.0063
        assert!((verdicts(&mut aqm, 50, false).1 - 0.2).abs() < 0.0063);
        (aqm.probability, aqm.delay) = (0.19, 0.0075);
        assert!((verdicts(&mut aqm, 50, false).1 - 0.19).abs() < 0.0063);
        assert_eq!(verdicts(&mut aqm, 2, false).1, 0.0);
        assert!(verdicts(&mut aqm, 3, false).1 > 0.18);
    }

    #[test]
    fn marks_below_a_tenth_and_drops_above() {
        let mut aqm = PieParams {
            ecn: true,
            ..params()
        }
        .build(&LINK);
        (aqm.burst, aqm.delay) = (Time::ZERO, 0.02);
        for (p, marks, drops) in [(0.09, 0.09, 0.0), (0.1, 0.0, 0.1), (0.3, 0.0, 0.3)] {
            aqm.probability = p;
            let observed = verdicts(&mut aqm, 50, true);
            assert!(
                (observed.0 - marks).abs() < 0.0075 && (observed.1 - drops).abs() < 0.0075,
                "{observed:?}"
            );
        }
    }

    #[test]
    fn spaced_drops_wait_for_their_probabilities_to_add_up() {
        let mut aqm = PieParams {
            derandomize: true,
            ..params()
        }
        .build(&LINK);
        (aqm.burst, aqm.delay, aqm.probability) = (Time::ZERO, 0.02, 0.05);
        let (mut random, mut gap, mut least) = (random(), 0, u32::MAX);
        let (mut total, mut drops) = (0, 0);
        for _ in 0..200_000 {
            gap += 1;
            if aqm.enqueue(Time::ZERO, &packet(), &waiting(50), &mut random) == Verdict::Drop {
                (total, drops, least, gap) = (total + gap, drops + 1, least.min(gap), 0);
            }
        }
        assert!((17..=18).contains(&least), "{least}"); // 17 x 0.05 = 0.85, up to rounding
        let mean = f64::from(total) / f64::from(drops);
        assert!(
            (mean - (f64::from(least) - 1.0 + 20.0)).abs() < 1.2,
            "{mean}"
        ); // five standard errors
    }

    #[test]
    fn the_increase_is_capped_if_asked() {
        let mut aqm = PieParams {
            cap_increase: true,
            ..params()
        }
        .build(&LINK);
        aqm.probability = 0.1;
        run(&mut aqm, [250]);
        assert!((aqm.probability - 0.12).abs() < 1e-15);
    }

    #[test]
    fn the_probability_decays_when_the_queue_is_empty() {
        let mut aqm = params().build(&LINK);
        aqm.probability = 0.5;
        run(&mut aqm, [0]);
        // the delay was zero before, too
        assert!((aqm.probability - 0.98 * (0.5 - 0.125 * 0.015)).abs() < 1e-15);
    }

    #[test]
    fn it_sleeps_until_a_third_of_the_queue_is_used_if_asked() {
        let mut aqm = PieParams {
            activation: 1.0 / 3.0,
            ..params()
        }
        .build(&LINK);
        aqm.enqueue(Time::ZERO, &packet(), &waiting(99), &mut random());
        run(&mut aqm, [99; 20]);
        assert_eq!(aqm.probability, 0.0);
        aqm.enqueue(Time::ZERO, &packet(), &waiting(100), &mut random());
        run(&mut aqm, [100; 20]);
        assert!(aqm.probability > 0.0 && aqm.active);
        run(&mut aqm, [0; 1000]);
        assert!(!aqm.active);
    }

    #[test]
    fn fluid_law_has_the_gains_of_the_algorithm() {
        // both answer to a delay that grows steadily by a microsecond an update, through all scales
        let params = PieParams {
            interval: 1e-4,
            ..params()
        };
        let (mut aqm, steps) = (params.build(&LINK), 60_000);
        let law = params.on_link(&LINK);
        let mut integral = 0.0;
        for n in 0..steps {
            let delay = 0.015 + 1e-6 * f64::from(n + 1);
            let bytes = (delay * LINK.rate / 8.0).round() as u64;
            let view = QueueView {
                bytes,
                ..waiting(1)
            };
            if n == 0 {
                aqm.delay = 0.015;
            }
            aqm.on_timer(aqm.next_timer().unwrap(), &view, &mut random());
            let mut rate = [0.0];
            let input = AqmInput::new(delay * 1000.0, 0.0, 1000.0);
            PieParams::derivative(&law, &input, &[integral], &mut rate);
            integral += rate[0] * 1e-4;
            if n % 100 == 99 {
                let regime = PieParams::regime(&law, &input, &[integral]);
                let p = PieParams::probability(&law, &input, &[integral], regime);
                assert!(
                    p >= 1.0 || (p - aqm.probability).abs() < 0.01 * p + 1e-6,
                    "{n} {p} {}",
                    aqm.probability
                );
            }
        }
        assert_eq!(aqm.probability, 1.0);
    }

    #[test]
    fn regimes_meet() {
        let law = params().on_link(&LINK);
        let input = AqmInput::new(15.0, 0.0, 1000.0); // at the target
        for regime in 0..8 {
            let at = [corner(regime).0];
            let p = |regime| PieParams::probability(&law, &input, &at, regime);
            assert!((p(regime) - p(regime + 1)).abs() < 1e-15, "{regime}");
        }
        assert!((top() - 1.198_976).abs() < 1e-12);
    }
}
