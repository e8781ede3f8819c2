//! Random Early Detection.
//!
//! Each arriving packet moves an average of the queue, and is dropped or marked with a probability
//! that grows with the average. This is the RED of ns-2 2.35, whose choices are all options here:
//!
//! - The average takes a sample at each arrival, before the packet joins; the packet in service is not counted. An idle link ages it by as many
//!   empty samples as average packets could have been sent meanwhile.
//! - From `min_threshold` to `max_threshold` of the average the *initial* probability p_b rises to `max_probability`; a gentle RED then rises to one at
//!   twice `max_threshold`.
//! - `spacing` turns p_b into the probability for this packet, from the packets (or bytes) that arrived since the last drop. The first packet that
//!   finds the average at or above `min_threshold` is never dropped. Any drop or mark, also by a full queue, starts the count anew.
//! - In byte mode the queue is measured in bytes, thresholds are scaled by `mean_packet`, whole mean packets are counted, and a packet's probability
//!   is proportional to its size.
//! - No early drop when nothing waits; in packet mode also none when a single packet waits.
//!
//! Two details differ from ns-2: a change of the link's rate also changes the ageing and an
//! automatic weight (ns-2 keeps those of the start), and the ageing over an idle time is one power
//! instead of a loop (equal up to rounding).

use super::{
    Aqm, AqmAlgorithm, LinkView, Observation, PacketView, QueueView, Verdict, changed, weight,
};
use crate::fluid::{AqmInput, AqmStart, Averaging, FluidAqm};
use crate::link::Spacing;
use crate::meta::{About, Algorithm};
use crate::params::inconsistent;
use crate::{Interval, NumberOr, Scalar, Stream, Time, ValueError, choices, parameters};

choices! {
    /// The unit that RED counts in.
    pub enum Mode {
        /// Packets: every packet counts the same.
        Packets = "packets",
        /// Bytes: queue, count and probability go by size.
        Bytes = "bytes",
    }
}

parameters! {
    /// Parameters of RED.
    pub struct RedParams {
        /// Average queue at which dropping or marking begins. "auto": half of `target_delay`, at
        /// least 5 packets.
        min_threshold: packets("auto") = word "auto", in Interval::at_least(0.0),
            "Floyd and Jacobson 1993, section IV; automatic: Floyd, Gummadi and Shenker 2001, section 5";
        /// Average queue at which the initial probability reaches `max_probability`. "auto": three
        /// times the minimum, or where a given `slope` reaches one.
        max_threshold: packets("auto") = word "auto", in Interval::above(0.0),
            "Floyd and Jacobson 1993, section IV; automatic: Floyd, Gummadi and Shenker 2001, section 5";
        /// Initial probability at the maximum threshold (1 / linterm_ in ns-2).
        max_probability: number = 0.1, in Interval::above_to(0.0, 1.0), "Floyd and Jacobson 1993, section IV; ns-2 2.35";
        /// Initial probability per packet of average queue above the minimum (K_p), instead of
        /// `max_probability`.
        slope: number("none") = word "none", in Interval::above(0.0), "Wang, Cai, Liu and Shen, section III-A";
        /// Weight of one sample in the average. "auto": time constant of ten round trips of at
        /// least 100 ms (q_weight_ -1 of ns-2); "auto-1s", "auto-0.1s": time constants of 1 s and
        /// 0.1 s (0 and -2); "off": no averaging.
        weight: number("auto", "auto-1s", "auto-0.1s", "off") = word "auto", in Interval::above_to(0.0, 1.0),
            "Floyd and Jacobson 1993, section VI; automatic rules: ns-2 2.35";
        /// Whether the queue is measured, and packets are counted, in packets or bytes.
        mode: choice(Mode) = Packets, "ns-2 2.35: bytes_ and queue_in_bytes_";
        /// Size of an average packet: scales thresholds and counts in byte mode, and sets the rate
        /// of ageing and the automatic weights.
        mean_packet: bytes = 1500.0, in Interval::above(0.0), "ns-2 2.35: mean_pktsize_ (there 500 B)";
        /// How drops are spaced.
        spacing: choice(Spacing) = UniformWait, "Floyd and Jacobson 1993, section VII; ns-2 2.35: wait_";
        /// Whether the probability rises to one at twice the maximum threshold, instead of jumping
        /// to one at the threshold.
        gentle: flag = true, "Floyd, Recommendation on using the gentle variant of RED, 2000";
        /// Whether the average decays while the queue is empty. In Linux it does not under a shaper
        /// that does not ask an empty queue for packets (htb).
        ageing: flag = true, "Floyd and Jacobson 1993, section IV; Linux 6.1";
        /// Whether ECN-capable packets are marked instead of dropped.
        ecn: flag = false, "RFC 3168, section 5; ns-2 2.35: setbit_";
        /// Packets are marked only while p_b is below this, and dropped above it. "none": marked
        /// until p_b reaches one; "never": never dropped, whatever p_b is (Linux).
        mark_ceiling: number("none", "never") = 0.1, in Interval::between(0.0, 1.0), "ns-2 2.35: mark_p_ and use_mark_p_";
        /// Queueing delay that automatic thresholds aim at.
        target_delay: time = 0.005, in Interval::above(0.0), "Floyd, Gummadi and Shenker 2001, section 5; ns-2 2.35: targetdelay_";
    }
}

impl RedParams {
    /// Average packets that the link sends in a second.
    fn packet_rate(&self, link: &LinkView) -> f64 {
        link.rate / (8.0 * self.mean_packet)
    }

    /// The weight that a word stands for.
    fn automatic_weight(&self, word: &str, link: &LinkView) -> f64 {
        let per_second = self.packet_rate(link);
        let packets = match word {
            "auto" => 10.0 * per_second * f64::max(0.1, 3.0 * (link.delay + 1.0 / per_second)),
            "auto-1s" => per_second,
            "auto-0.1s" => 0.1 * per_second,
            _ => 0.0, // off
        };
        1.0 - libm::exp(-1.0 / packets)
    }
}

impl<S: Scalar> RedParams<S> {
    /// The three numbers of the probability, packets: minimum, maximum and the probability there.
    fn curve(&self, automatic_minimum: S) -> (S, S, S) {
        let min = self.min_threshold.or_else(|_| automatic_minimum);
        match self.slope {
            NumberOr::Word(_) => {
                let max = self.max_threshold.or_else(|_| min * 3.0);
                (min, max, self.max_probability)
            }
            NumberOr::Number(slope) => {
                let max = self
                    .max_threshold
                    .or_else(|_| min + S::from_f64(1.0) / slope);
                (min, max, slope * (max - min))
            }
        }
    }
}

impl RedParams {
    /// The same with numbers for every word, and the probability at the maximum threshold instead
    /// of a slope.
    pub(super) fn settled(&self, link: &LinkView) -> Self {
        let (_, _, top) = self.curve(automatic_minimum(self, link));
        Self {
            slope: NumberOr::Word("none"),
            max_probability: top,
            ..self.on_link(link)
        }
    }
}

impl Algorithm for RedParams {
    const ABOUT: About = About {
        kind: "red",
        title: "RED",
        summary: "Random Early Detection: drops or marks arriving packets with a probability that rises with the averaged queue.",
        citation: "S. Floyd and V. Jacobson, Random early detection gateways for congestion avoidance, IEEE/ACM Transactions on Networking 1(4), 1993",
        ecn: true,
    };

    fn check(&self) -> Result<(), ValueError> {
        if let (NumberOr::Number(min), NumberOr::Number(max)) =
            (self.min_threshold, self.max_threshold)
        {
            if min >= max {
                return Err(inconsistent(
                    "min_threshold",
                    min,
                    format!("below max_threshold ({max})"),
                ));
            }
            if let NumberOr::Number(slope) = self.slope
                && slope * (max - min) > 1.0
            {
                let steepest = 1.0 / (max - min);
                let allowed = format!(
                    "at most {steepest}, so that the probability at max_threshold is at most 1"
                );
                return Err(inconsistent("slope", slope, allowed));
            }
        }
        if let NumberOr::Number(slope) = self.slope
            && self.max_probability != 0.1
        {
            return Err(inconsistent(
                "slope",
                slope,
                "left out when max_probability is given".to_owned(),
            ));
        }
        // an automatic maximum is three times the minimum and an automatic minimum is at least five
        // packets
        match (self.min_threshold, self.max_threshold, self.slope) {
            (NumberOr::Number(min), NumberOr::Word(_), NumberOr::Word(_)) if min <= 0.0 => {
                Err(inconsistent(
                    "min_threshold",
                    min,
                    "above 0 when max_threshold is three times it".to_owned(),
                ))
            }
            _ => Ok(()),
        }
    }
}

impl AqmAlgorithm for RedParams {
    type Instance = Red;

    fn build(&self, link: &LinkView) -> Red {
        Red {
            average: 0.0,
            since_drop: 0,
            bytes_since_drop: 0,
            above: false,
            initial: 0.0,
            draw: 0.0,
            curve: Curve::new(self, link),
            params: *self,
            link: *link,
        }
    }
}

impl FluidAqm for RedParams {
    type Over<S: Scalar> = RedParams<S>;

    fn on_link(&self, link: &LinkView) -> Self {
        let (min, max, _) = self.curve(automatic_minimum(self, link));
        let weight = self
            .weight
            .or_else(|word| self.automatic_weight(word, link));
        Self {
            min_threshold: NumberOr::Number(min),
            max_threshold: NumberOr::Number(max),
            weight: NumberOr::Number(weight),
            ..*self
        }
    }

    /// The average, unless averaging is off.
    fn state_names<S: Scalar>(params: &RedParams<S>) -> &'static [&'static str] {
        match params.weight {
            NumberOr::Number(weight) if weight.re() < 1.0 => &["average queue (packets)"],
            _ => &[],
        }
    }

    /// dr/dt = k (q - r) with k = weight x sampling rate (Manjunath and Raina, equation (5)), or -
    /// ln(1 - weight) x sampling rate (Misra, Gong and Towsley 2000), as [`AqmInput::averaging`]
    /// says.
    fn derivative<S: Scalar>(
        params: &RedParams<S>,
        input: &AqmInput<S>,
        state: &[S],
        rate: &mut [S],
    ) {
        if let (NumberOr::Number(weight), [average], [rate]) = (params.weight, state, rate) {
            let per_sample = match input.averaging {
                Averaging::Linear => weight,
                Averaging::Exponential => -(S::from_f64(1.0) - weight).ln(),
            };
            *rate = per_sample * input.sampling * (input.queue - *average);
        }
    }

    fn local<S: Scalar>(_params: &RedParams<S>) -> bool {
        true
    }

    fn start<S: Scalar>(_params: &RedParams<S>, from: &AqmStart<S>, state: &mut [S]) {
        state.fill(from.queue);
    }

    fn spacing<S: Scalar>(params: &RedParams<S>) -> Spacing {
        params.spacing
    }

    fn packet_weight<S: Scalar>(params: &RedParams<S>, bytes: u32) -> f64 {
        weight(params.mode, params.mean_packet.re(), bytes)
    }

    fn regimes<S: Scalar>(params: &RedParams<S>) -> &'static [&'static str] {
        if params.gentle {
            &[
                "below minimum",
                "minimum to maximum",
                "maximum to twice maximum",
                "above twice maximum",
            ]
        } else {
            &["below minimum", "minimum to maximum", "above maximum"]
        }
    }

    fn regime<S: Scalar>(params: &RedParams<S>, input: &AqmInput<S>, state: &[S]) -> usize {
        let (min, max, _) = params.curve(S::from_f64(0.0));
        let average = state.first().unwrap_or(&input.queue).re();
        let ends = [
            min.re(),
            max.re(),
            if params.gentle {
                2.0 * max.re()
            } else {
                f64::INFINITY
            },
        ];
        ends.iter().filter(|end| average >= **end).count()
    }

    /// p_b of the averaged queue (Manjunath and Raina, equation (6)). How drops are spaced does not
    /// enter: see [`Spacing::rate_factor`].
    fn probability<S: Scalar>(
        params: &RedParams<S>,
        input: &AqmInput<S>,
        state: &[S],
        regime: usize,
    ) -> S {
        let average = *state.first().unwrap_or(&input.queue);
        let (min, max, top) = params.curve(S::from_f64(0.0));
        let one = S::from_f64(1.0);
        match (regime, params.gentle) {
            (0, _) => S::from_f64(0.0),
            (1, _) => top * (average - min) / (max - min),
            (2, true) => top + (one - top) * (average - max) / max,
            _ => one,
        }
    }
}

/// The automatic minimum threshold, packets: half of the target delay, at least five packets.
fn automatic_minimum(params: &RedParams, link: &LinkView) -> f64 {
    f64::max(5.0, 0.5 * params.target_delay * params.packet_rate(link))
}

/// An average below this, in packets or bytes, is none.
const MIN_AVERAGE: f64 = 1e-100;

/// The thresholds and slopes of the hot path, in the unit of the queue (packets or bytes).
#[derive(Clone, Copy, Debug)]
struct Curve {
    weight: f64,
    /// Average packets a second.
    packet_rate: f64,
    min: f64,
    max: f64,
    /// p_b = slope average + offset up to `max`, ...
    slope: f64,
    offset: f64,
    /// ... gentle_slope average + gentle_offset above it (0 and 1 without gentle).
    gentle_slope: f64,
    gentle_offset: f64,
    /// At this average packets are dropped without asking; infinite with a marking ceiling.
    forced: f64,
    /// Packets are marked while p_b is below this.
    mark_below: f64,
    per_mean_packet: f64,
    mean_packet: u64,
    spacing: Spacing,
    bytes: bool,
}

impl Curve {
    /// p_b above the maximum: seldom, and a branch more costs less than a choice between two lines
    /// for all packets.
    #[cold]
    #[inline(never)]
    fn gentle(&self, average: f64) -> f64 {
        self.gentle_slope * average + self.gentle_offset
    }

    fn new(params: &RedParams, link: &LinkView) -> Self {
        let bytes = params.mode == Mode::Bytes;
        let scale = if bytes { params.mean_packet } else { 1.0 };
        let (min, max, top) = params.curve(automatic_minimum(params, link));
        let (min, max) = (min * scale, max * scale);
        let slope = top / (max - min);
        let certain = if params.gentle { 2.0 * max } else { max };
        Self {
            weight: params
                .weight
                .or_else(|word| params.automatic_weight(word, link)),
            packet_rate: params.packet_rate(link),
            min,
            max,
            slope,
            offset: -slope * min,
            gentle_slope: if params.gentle {
                (1.0 - top) / max
            } else {
                0.0
            },
            gentle_offset: if params.gentle { 2.0 * top - 1.0 } else { 1.0 },
            forced: match params.mark_ceiling {
                NumberOr::Number(_) => f64::INFINITY,
                NumberOr::Word("never") if params.ecn => f64::INFINITY,
                NumberOr::Word(_) => certain,
            },
            mark_below: match params.mark_ceiling {
                NumberOr::Number(ceiling) if params.ecn => ceiling,
                NumberOr::Word(_) if params.ecn => f64::INFINITY,
                _ => 0.0,
            },
            per_mean_packet: 1.0 / params.mean_packet,
            mean_packet: (params.mean_packet as u64).max(1),
            spacing: params.spacing,
            bytes,
        }
    }
}

/// RED at work.
#[derive(Clone, Debug)]
pub struct Red {
    /// Averaged queue, in packets or bytes.
    average: f64,
    /// Packets and bytes that arrived since the last drop or mark.
    since_drop: u64,
    bytes_since_drop: u64,
    /// Whether the last packet found the average above the minimum (and enough waiting).
    above: bool,
    /// p_b of the last packet.
    initial: f64,
    /// The number of this gap, with spacing "drawn".
    draw: f64,
    curve: Curve,
    params: RedParams,
    link: LinkView,
}

impl Red {
    /// Sets the probability at the maximum threshold. The gentle part keeps its own slope, as in
    /// ns-2.
    pub(super) fn set_max_probability(&mut self, probability: f64) {
        let curve = &mut self.curve;
        curve.slope = probability / (curve.max - curve.min);
        curve.offset = -curve.slope * curve.min;
    }

    /// Takes new parameters and goes on.
    pub(super) fn replace(&mut self, params: RedParams) {
        self.params = params;
        self.curve = Curve::new(&self.params, &self.link);
    }

    /// The probability at the maximum threshold at the start.
    pub(super) fn initial_max_probability(&self) -> f64 {
        self.params
            .curve(automatic_minimum(&self.params, &self.link))
            .2
    }

    /// The average, and the thresholds, in the unit of the queue.
    pub(super) fn average_and_thresholds(&self) -> (f64, f64, f64) {
        (self.average, self.curve.min, self.curve.max)
    }

    /// Takes a sample of the queue that an arriving packet finds.
    #[inline]
    pub(super) fn sample(&mut self, now: Time, queue: &QueueView) {
        if let Some(since) = queue.idle_since
            && self.params.ageing
        {
            self.age(now.since(since));
        }
        let length = if self.curve.bytes {
            queue.bytes as i64 as f64 // one instruction, where `as f64` takes eight
        } else {
            f64::from(queue.packets)
        };
        self.average += self.curve.weight * (length - self.average);
    }

    /// As many samples of an empty queue as average packets fit into `idle`.
    fn age(&mut self, idle: Time) {
        let mut samples = (self.curve.packet_rate * idle.seconds()) as u64;
        let mut factor = 1.0 - self.curve.weight;
        while samples > 0 {
            if samples & 1 == 1 {
                self.average *= factor;
            }
            factor *= factor;
            samples >>= 1;
        }
    }

    /// Decides on a packet after the average has been updated.
    #[inline(always)]
    pub(super) fn judge(
        &mut self,
        packet: &PacketView,
        queue: &QueueView,
        random: &mut Stream,
    ) -> Verdict {
        self.since_drop += 1;
        self.bytes_since_drop += u64::from(packet.size);
        let enough = || {
            if self.curve.bytes {
                queue.bytes > 1
            } else {
                queue.packets > 1
            }
        };
        let drawn = self.curve.spacing == Spacing::Drawn;
        if self.average < self.curve.min || !(drawn || enough()) {
            self.above = false;
            self.initial = 0.0;
            if self.average < MIN_AVERAGE {
                self.average = 0.0; // an average that fades for ever would end in slow subnormal numbers
            }
        } else if self.average >= self.curve.forced {
            self.initial = 1.0;
            return self.drop();
        } else if !self.above {
            self.above = true;
            self.since_drop = u64::from(!drawn);
            self.bytes_since_drop = u64::from(packet.size);
            if drawn {
                self.draw = random.uniform();
            }
        } else if !queue.full {
            return self.early(packet, random);
        }
        if queue.full {
            self.drop()
        } else {
            Verdict::Accept
        }
    }

    #[inline(always)]
    fn early(&mut self, packet: &PacketView, random: &mut Stream) -> Verdict {
        let curve = &self.curve;
        let line = if self.average < curve.max {
            curve.slope * self.average + curve.offset
        } else {
            curve.gentle(self.average)
        };
        self.initial = line.clamp(0.0, 1.0);
        if curve.spacing == Spacing::Drawn {
            if self.since_drop as f64 * self.initial < self.draw {
                return Verdict::Accept;
            }
            self.draw = random.uniform();
            let marked = packet.ecn_capable && self.initial < curve.mark_below;
            self.drop();
            return if marked { Verdict::Mark } else { Verdict::Drop };
        }
        let p = self.spaced(packet.size);
        // no number is drawn where none decides
        if p <= 0.0 || (p < 1.0 && random.uniform() >= p) {
            return Verdict::Accept;
        }
        if packet.ecn_capable && self.initial < curve.mark_below {
            self.drop();
            Verdict::Mark
        } else {
            self.drop()
        }
    }

    /// The probability for this packet.
    #[inline(always)]
    fn spaced(&self, size: u32) -> f64 {
        let curve = &self.curve;
        let p = self.initial;
        let count = if curve.bytes {
            self.bytes_since_drop / curve.mean_packet
        } else {
            self.since_drop
        };
        let progress = count as i64 as f64 * p;
        let spaced = match curve.spacing {
            Spacing::UniformWait if progress < 1.0 => return 0.0,
            Spacing::UniformWait if progress < 2.0 => p / (2.0 - progress),
            Spacing::Uniform if progress < 1.0 => p / (1.0 - progress),
            Spacing::Bernoulli => p,
            _ => 1.0,
        };
        if curve.bytes && spaced < 1.0 {
            spaced * f64::from(size) * curve.per_mean_packet
        } else {
            spaced
        }
    }

    /// A drop or mark: the count starts anew.
    fn drop(&mut self) -> Verdict {
        self.since_drop = 0;
        self.bytes_since_drop = 0;
        Verdict::Drop
    }
}

impl Aqm for Red {
    #[inline]
    fn enqueue(
        &mut self,
        now: Time,
        packet: &PacketView,
        queue: &QueueView,
        random: &mut Stream,
    ) -> Verdict {
        self.sample(now, queue);
        self.judge(packet, queue, random)
    }

    fn on_link_change(&mut self, _now: Time, rate: f64) {
        self.link.rate = rate;
        self.curve = Curve::new(&self.params, &self.link);
    }

    fn set_parameter(&mut self, name: &str, value: f64) -> Result<(), ValueError> {
        self.replace(changed(&self.params, name, value)?);
        Ok(())
    }

    fn observe(&self) -> Observation {
        let scale = if self.curve.bytes {
            self.curve.per_mean_packet
        } else {
            1.0
        };
        Observation {
            average_packets: Some(self.average * scale),
            probability: Some(self.initial),
            adapted: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aqm::test::{LINK, packet, queue, random};
    use crate::{Parameters as _, Value};

    /// 50 to 100 packets, max_p 0.1, no averaging, packet mode.
    fn params() -> RedParams {
        RedParams {
            min_threshold: NumberOr::Number(50.0),
            max_threshold: NumberOr::Number(100.0),
            weight: NumberOr::Word("off"),
            ..RedParams::from_values(&[]).unwrap()
        }
    }

    /// Fraction of `count` packets that are dropped while `waiting` packets wait.
    fn drop_rate(params: RedParams, waiting: u32, count: u32) -> f64 {
        let (mut red, mut random) = (params.build(&LINK), random());
        let mut drops = 0;
        for _ in 0..count {
            drops += u32::from(
                red.enqueue(Time::ZERO, &packet(), &queue(waiting), &mut random) == Verdict::Drop,
            );
        }
        f64::from(drops) / f64::from(count)
    }

    /// Mean number of packets from one drop to the next, when packet n is dropped with probability
    /// `hazard(n)`.
    fn mean_gap(hazard: impl Fn(f64) -> f64) -> f64 {
        let (mut alive, mut mean) = (1.0, 0.0);
        for n in 1..100_000 {
            mean += alive;
            alive *= 1.0 - hazard(f64::from(n)).clamp(0.0, 1.0);
        }
        mean
    }

    #[test]
    fn spacings_have_their_mean_rates() {
        let p = 0.1 * 11.0 / 50.0; // 61 packets wait
        let wait = |n: f64| {
            if n * p < 1.0 {
                0.0
            } else if n * p < 2.0 {
                p / (2.0 - n * p)
            } else {
                1.0
            }
        };
        let uniform = |n: f64| if n * p < 1.0 { p / (1.0 - n * p) } else { 1.0 };
        for (spacing, gap) in [
            (Spacing::UniformWait, mean_gap(wait)),
            (Spacing::Uniform, mean_gap(uniform)),
            (Spacing::Bernoulli, 1.0 / p),
        ] {
            let rate = drop_rate(
                RedParams {
                    spacing,
                    ..params()
                },
                61,
                2_000_000,
            );
            // five standard errors of the Bernoulli rate, the most variable of the three, are 2.4 %
            assert!((rate * gap - 1.0).abs() < 0.024, "{spacing:?}: {rate}");
            // and near the limit for small p
            assert!(
                (rate / p / spacing.rate_factor() - 1.0).abs() < 0.05,
                "{spacing:?}: {rate}"
            );
        }
    }

    #[test]
    fn uniform_wait_leaves_gaps_between_one_and_two_over_p() {
        let (mut red, mut random) = (params().build(&LINK), random());
        let (mut last, mut gaps) = (None, vec![]);
        for n in 0..100_000_u32 {
            if red.enqueue(Time::ZERO, &packet(), &queue(61), &mut random) == Verdict::Drop {
                gaps.extend(last.map(|last| n - last));
                last = Some(n);
            }
        }
        // 46 is the first n with 0.022 n >= 1, 91 the first with 0.022 n >= 2
        assert_eq!(
            (gaps.iter().min(), gaps.iter().max()),
            (Some(&46), Some(&90))
        );
    }

    #[test]
    fn average_and_idle_time() {
        let mut red = RedParams {
            weight: NumberOr::Number(0.002),
            ..params()
        }
        .build(&LINK);
        red.enqueue(Time::ZERO, &packet(), &queue(40), &mut random());
        assert_eq!(red.observe().average_packets, Some(0.002 * 40.0));
        // 1500 B at 100 Mbit/s take 120 us: 1 ms holds 8 whole ones; the arriving packet is one
        // more sample
        let idle = QueueView {
            idle_since: Some(Time::ZERO),
            ..queue(0)
        };
        red.enqueue(Time::from_seconds(0.001), &packet(), &idle, &mut random());
        let expected = 0.08 * 0.998_f64.powi(9);
        assert!((red.observe().average_packets.unwrap() / expected - 1.0).abs() < 1e-14);
    }

    #[test]
    fn a_very_long_idle_time_forgets_everything_at_once() {
        let mut red = RedParams {
            weight: NumberOr::Number(1e-3),
            ..params()
        }
        .build(&LINK);
        red.enqueue(Time::ZERO, &packet(), &queue(40), &mut random());
        let idle = QueueView {
            idle_since: Some(Time::ZERO),
            ..queue(0)
        };
        red.enqueue(Time::from_seconds(1e6), &packet(), &idle, &mut random());
        assert_eq!(red.observe().average_packets, Some(0.0));
    }

    #[test]
    fn automatic_weights_are_those_of_ns_2() {
        let weight = |word, link| params().automatic_weight(word, link);
        // ns-2 2.35 prints 0.00011999280028796022 for 100 Mbit/s, 5 ms, 1500 B, q_weight_ -1. Round
        // trips below 100 ms count as 100 ms: there the rules -1 and 0 coincide.
        assert!((weight("auto", &LINK) - 0.000_119_992_800_287_960_22).abs() < 1e-15);
        assert!((weight("auto-1s", &LINK) - 0.000_119_992_800_287_960_22).abs() < 1e-15);
        let long = LinkView { delay: 0.1, ..LINK };
        let packets = 1e8 / 12_000.0;
        assert!(
            (weight("auto", &long) - (1.0 - (-1.0 / (10.0 * 3.0 * (0.1 * packets + 1.0))).exp()))
                .abs()
                < 1e-15
        );
        assert!((weight("auto-0.1s", &LINK) - (1.0 - (-10.0 / packets).exp())).abs() < 1e-15);
        assert_eq!(weight("off", &LINK), 1.0);
    }

    #[test]
    fn the_first_packet_above_the_minimum_is_never_dropped() {
        let certain = RedParams {
            max_probability: 1.0,
            spacing: Spacing::Bernoulli,
            ..params()
        };
        let (mut red, mut random) = (certain.build(&LINK), random());
        let mut judge = |waiting| red.enqueue(Time::ZERO, &packet(), &queue(waiting), &mut random);
        assert_eq!(
            [judge(100), judge(100), judge(49), judge(100), judge(100)]
                .map(|verdict| verdict == Verdict::Drop),
            [false, true, false, false, true]
        );
    }

    #[test]
    fn a_single_waiting_packet_is_spared_in_packet_mode_only() {
        let low = RedParams {
            min_threshold: NumberOr::Number(0.5),
            max_threshold: NumberOr::Number(0.6),
            gentle: false,
            spacing: Spacing::Bernoulli,
            ..params()
        };
        assert_eq!(drop_rate(low, 1, 100), 0.0);
        assert_eq!(drop_rate(low, 2, 100), 0.99); // all but the first
        let bytes = RedParams {
            mode: Mode::Bytes,
            ..low
        };
        assert_eq!(drop_rate(bytes, 1, 100), 0.99);
        assert_eq!(drop_rate(bytes, 0, 100), 0.0);
    }

    #[test]
    fn gentle_rises_to_one_at_twice_the_maximum() {
        let bernoulli = RedParams {
            spacing: Spacing::Bernoulli,
            ..params()
        };
        let mut red = bernoulli.build(&LINK);
        let mut initial = |waiting| {
            red.enqueue(Time::ZERO, &packet(), &queue(waiting), &mut random());
            red.observe().probability.unwrap()
        };
        initial(60); // the first one only sets the state
        for (waiting, p) in [
            (49, 0.0),
            (60, 0.0),
            (75, 0.05),
            (100, 0.1),
            (150, 0.55),
            (200, 1.0),
            (300, 1.0),
        ] {
            assert!((initial(waiting) - p).abs() < 1e-12, "{waiting}");
        }
        let steep = RedParams {
            gentle: false,
            ..bernoulli
        };
        assert_eq!(drop_rate(steep, 100, 1000), 0.999);
    }

    #[test]
    fn byte_mode_scales_thresholds_and_probability_by_size() {
        let bytes = RedParams {
            mode: Mode::Bytes,
            mean_packet: 1000.0,
            spacing: Spacing::Bernoulli,
            ..params()
        };
        let (mut red, mut random) = (bytes.build(&LINK), random());
        // 75 mean packets wait: p_b = 0.05
        let view = QueueView {
            bytes: 75_000,
            ..queue(50)
        };
        let mut drops = [0.0_f64; 2];
        for n in 0..1_000_000 {
            let large = n % 2;
            let arriving = PacketView {
                size: [500, 1500][large],
                ..packet()
            };
            if red.enqueue(Time::ZERO, &arriving, &view, &mut random) == Verdict::Drop {
                drops[large] += 1.0;
            }
        }
        // five standard errors: 3.1 % of the small, 1.8 % of the large packets' drops
        assert!(
            (drops[0] / (500_000.0 * 0.025) - 1.0).abs() < 0.044,
            "{drops:?}"
        );
        assert!(
            (drops[1] / (500_000.0 * 0.075) - 1.0).abs() < 0.025,
            "{drops:?}"
        );
    }

    #[test]
    fn byte_mode_counts_whole_mean_packets() {
        let bytes = RedParams {
            mode: Mode::Bytes,
            mean_packet: 1000.0,
            ..params()
        };
        let (mut red, mut random) = (bytes.build(&LINK), random());
        // p_b = 0.05: none before 20 whole mean packets, so none before the 20 x 1000 B are full at
        // packet 14 of 1500 B (21000 B)
        let view = QueueView {
            bytes: 75_000,
            ..queue(50)
        };
        let (mut since, mut least) = (0, u32::MAX);
        for _ in 0..100_000 {
            since += 1;
            if red.enqueue(Time::ZERO, &packet(), &view, &mut random) == Verdict::Drop {
                (since, least) = (0, least.min(since));
            }
        }
        assert_eq!(least, 14);
    }

    #[test]
    fn marks_below_the_ceiling_and_drops_above_it() {
        let capable = PacketView {
            ecn_capable: true,
            ..packet()
        };
        let verdicts = |params: RedParams, waiting| {
            let (mut red, mut random) = (params.build(&LINK), random());
            let (mut marks, mut drops) = (0, 0);
            for _ in 0..10_000 {
                match red.enqueue(Time::ZERO, &capable, &queue(waiting), &mut random) {
                    Verdict::Mark => marks += 1,
                    Verdict::Drop => drops += 1,
                    Verdict::Accept => {}
                }
            }
            (marks > 0, drops > 0)
        };
        let ecn = RedParams {
            ecn: true,
            ..params()
        };
        assert_eq!(verdicts(ecn, 75), (true, false));
        assert_eq!(verdicts(ecn, 150), (false, true)); // p_b = 0.55, ceiling 0.1
        let free = RedParams {
            mark_ceiling: NumberOr::Word("none"),
            ..ecn
        };
        assert_eq!(verdicts(free, 150), (true, false));
        assert_eq!(verdicts(free, 200), (false, true)); // forced
        assert_eq!(verdicts(params(), 75), (false, true));
    }

    #[test]
    fn a_full_queue_drops_and_starts_the_count_anew() {
        let (mut red, mut random) = (params().build(&LINK), random());
        let full = QueueView {
            full: true,
            ..queue(61)
        };
        for _ in 0..40 {
            assert_eq!(
                red.enqueue(Time::ZERO, &packet(), &queue(61), &mut random),
                Verdict::Accept
            );
        }
        assert_eq!(
            red.enqueue(Time::ZERO, &packet(), &full, &mut random),
            Verdict::Drop
        );
        for _ in 0..45 {
            assert_eq!(
                red.enqueue(Time::ZERO, &packet(), &queue(61), &mut random),
                Verdict::Accept
            );
        }
    }

    #[test]
    fn slope_form_of_wang_et_al() {
        // K_p = 1e-4 above 200 packets: one at 10,200
        let values = [("min_threshold", 200.0), ("slope", 1e-4), ("weight", 1.0)]
            .map(|(name, x)| (name.to_owned(), Value::Number(x)));
        let params = RedParams {
            spacing: Spacing::Bernoulli,
            ..RedParams::from_values(&values).unwrap()
        };
        params.check().unwrap();
        let mut red = params.build(&LINK);
        for (waiting, p) in [(300, 0.0), (300, 0.01), (5200, 0.5)] {
            red.enqueue(Time::ZERO, &packet(), &queue(waiting), &mut random());
            assert!((red.observe().probability.unwrap() - p).abs() < 1e-12);
        }
        let both = RedParams {
            max_probability: 0.2,
            ..params
        };
        assert_eq!(both.check().unwrap_err().name, "slope");
    }

    #[test]
    fn contradicting_thresholds_are_refused() {
        let upside_down = RedParams {
            min_threshold: NumberOr::Number(100.0),
            max_threshold: NumberOr::Number(50.0),
            ..params()
        };
        let error = upside_down.check().unwrap_err();
        assert_eq!(
            error.to_string(),
            "`min_threshold` is 100; it must be below max_threshold (50)"
        );
        let mut red = params().build(&LINK);
        assert!(red.set_parameter("min_threshold", 120.0).is_err());
        red.set_parameter("min_threshold", 20.0).unwrap();
        assert_eq!(
            red.enqueue(Time::ZERO, &packet(), &queue(30), &mut random()),
            Verdict::Accept
        );
        red.enqueue(Time::ZERO, &packet(), &queue(30), &mut random());
        assert!((red.observe().probability.unwrap() - 0.1 * 10.0 / 80.0).abs() < 1e-15);
    }

    #[test]
    fn automatic_thresholds_follow_the_target_delay() {
        // 5 ms at 8333 packets/s are 41.7 packets: minimum 20.8, maximum 62.5
        let law = RedParams::from_values(&[]).unwrap().on_link(&LINK);
        let NumberOr::Number(min) = law.min_threshold else {
            panic!("not settled")
        };
        let NumberOr::Number(max) = law.max_threshold else {
            panic!("not settled")
        };
        assert!((min - 0.0025 * 1e8 / 12_000.0).abs() < 1e-12 && (max - 3.0 * min).abs() < 1e-12);
    }

    #[test]
    fn fluid_law_is_continuous_and_has_the_papers_slopes() {
        // Manjunath and Raina, below equation (6): rho = 2e-4, eta = 16.36e-4
        let params = RedParams {
            min_threshold: NumberOr::Number(50.0),
            max_threshold: NumberOr::Number(550.0),
            weight: NumberOr::Number(1e-4),
            ..params()
        };
        let input = AqmInput::new(133.14037, 100.0, 100.0);
        let p = |average: f64, regime| RedParams::probability(&params, &input, &[average], regime);
        assert_eq!(RedParams::regime(&params, &input, &[133.14037]), 1);
        assert!((p(133.14037, 1) - 0.016628075).abs() < 1e-9); // their equilibrium at tau = 0.0848 s
        assert!((p(550.0, 1) - p(550.0, 2)).abs() < 1e-15 && (p(1100.0, 2) - 1.0).abs() < 1e-15);
        assert!((p(700.0, 2) - p(600.0, 2) - 100.0 * 1.636_363_636e-3).abs() < 1e-9);
        let mut rate = [0.0];
        RedParams::derivative(&params, &input, &[100.0], &mut rate);
        assert!((rate[0] - 1e-4 * 100.0 * 33.14037).abs() < 1e-12); // equation (5)
        let log = AqmInput {
            averaging: Averaging::Exponential,
            sampling: 2500.0,
            queue: 101.0,
            ..input
        };
        RedParams::derivative(&params, &log, &[100.0], &mut rate);
        assert!((rate[0] - 0.250_012_5).abs() < 1e-8); // K of Chen's first AP-RED experiment
    }

    #[test]
    fn without_averaging_the_law_follows_the_queue() {
        let input = AqmInput::new(69.965755, 100.0, 100.0);
        let law = params().on_link(&LINK);
        assert!(RedParams::state_names(&law).is_empty());
        let p = RedParams::probability(&law, &input, &[], RedParams::regime(&law, &input, &[]));
        assert!((p - 0.1 * 19.965755 / 50.0).abs() < 1e-12);
    }
}
