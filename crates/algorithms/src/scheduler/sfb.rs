//! SFB: stochastic fair BLUE, a single queue that finds unresponsive flows in a Bloom filter.
//!
//! A packet is hashed into one of 16 bins on each of 8 levels. A bin counts the waiting packets
//! that map to it and has a probability: it grows while the bin holds `target` packets or more and
//! falls while it holds none. A packet is dropped, or marked, with the smallest probability of its
//! bins: a flow that shares all of its bins with unresponsive ones is rare. Where the smallest is
//! one, the flow is unresponsive, and its packets pass only at `penalty_rate`. Where all bins of a
//! packet hold `max`, it is dropped.
//!
//! After `rehash` the hash functions change. For `warm_up` before that, packets of unresponsive
//! flows train the next bins too, so that these know them when they take over.
//!
//! From a probability of one half on, ECN-capable packets are also dropped, more and more, as in
//! Linux. Probabilities are in 65536ths; times count exactly, where Linux has ticks.

use std::collections::VecDeque;

use super::{Backlog, Label, Scheduler, SchedulerAlgorithm, SchedulerView, Victim};
use crate::aqm::{Observation, PacketView, Verdict};
use crate::meta::{About, Algorithm};
use crate::random::mix;
use crate::{Interval, NumberOr, Stream, Time, parameters};

parameters! {
    /// Parameters of SFB.
    pub struct SfbParams {
        /// Packets of a bin from which its probability grows.
        target: packets = 20.0, in Interval::between(1.0, 65535.0), "tc-sfb(8): target";
        /// Packets of all bins of a flow from which its packets are dropped.
        max: packets = 25.0, in Interval::between(1.0, 65535.0), "tc-sfb(8): max";
        /// Step of a probability up, at each packet that finds its bin at the target.
        increment: number = 0.001, in Interval::above_to(0.0, 1.0), "Linux 6.1; tc-sfb(8) says 0.00050";
        /// Step of a probability down, at each packet that finds its bin empty.
        decrement: number = 0.0001666666666666666, in Interval::above_to(0.0, 1.0), "Linux 6.1; tc-sfb(8) says 0.00005";
        /// Packets of unresponsive flows that pass, per second.
        penalty_rate: frequency = 10.0, in Interval::at_least(0.0), "tc-sfb(8): penalty_rate";
        /// Packets of unresponsive flows that pass at once.
        penalty_burst: packets = 20.0, in Interval::at_least(0.0), "tc-sfb(8): penalty_burst";
        /// Time after which the hash functions change.
        rehash: time("never") = 600.0, in Interval::above(0.0), "tc-sfb(8): rehash";
        /// Time before that in which the next bins are trained.
        warm_up: time = 60.0, in Interval::at_least(0.0), "tc-sfb(8): db";
        /// Whether ECN-capable packets are marked instead of dropped.
        ecn: flag = true, "Linux 6.1: always";
    }
}

impl Algorithm for SfbParams {
    const ABOUT: About = About {
        kind: "sfb",
        title: "SFB",
        summary: "Stochastic fair BLUE: a Bloom filter of bins with probabilities of their own; a packet is dropped with the smallest of its bins, and flows that do not respond are limited.",
        citation: "W. Feng, D. Kandlur, D. Saha and K. Shin, Stochastic fair blue: a queue management algorithm for enforcing fairness, INFOCOM 2001; Linux 6.1, tc-sfb(8)",
        ecn: true,
    };
}

const HASH_LEVELS: usize = 8;
const LEVEL_BINS: usize = 16;
/// The largest probability, in 65536ths.
const MAX_PROBABILITY: u32 = 0xffff;

#[derive(Clone, Copy, Debug, Default)]
struct Bin {
    packets: u32,
    /// In 65536ths.
    probability: u32,
}

/// A set of bins with its hash function.
#[derive(Clone, Debug)]
struct Filter {
    salt: u64,
    bins: [[Bin; LEVEL_BINS]; HASH_LEVELS],
}

impl Filter {
    fn new(salt: u64) -> Self {
        Self {
            salt,
            bins: [[Bin::default(); LEVEL_BINS]; HASH_LEVELS],
        }
    }

    fn hash(&self, identity: u32) -> u32 {
        (mix(u64::from(identity) ^ self.salt) >> 32) as u32
    }

    /// The bins of a hash, four of its bits a level.
    fn of(&mut self, hash: u32) -> impl Iterator<Item = &mut Bin> {
        let levels = self.bins.iter_mut().enumerate();
        levels.map(move |(level, bins)| &mut bins[(hash >> (4 * level)) as usize % LEVEL_BINS])
    }
}

impl SchedulerAlgorithm for SfbParams {
    type Scheduler = Sfb;

    const AQM: Option<(&'static str, &'static [(&'static str, bool)])> = None;

    /// Length of a device's queue in Linux.
    const CAPACITY: Option<u32> = Some(1000);

    fn build(&self, view: &SchedulerView) -> Sfb {
        let steps =
            |p: f64| ((p * f64::from(MAX_PROBABILITY) + 0.5) as u32).clamp(1, MAX_PROBABILITY);
        Sfb {
            params: *self,
            up: steps(self.increment),
            down: steps(self.decrement),
            filters: Box::new([Filter::new(mix(view.salt)), Filter::new(mix(view.salt ^ 1))]),
            current: 0,
            changed: Time::ZERO,
            tokens: self.penalty_burst,
            filled: Time::ZERO,
            waiting: VecDeque::new(),
            arriving: [None; 2],
            probability: 0,
        }
    }
}

/// SFB at work.
#[derive(Clone, Debug)]
pub struct Sfb {
    params: SfbParams,
    up: u32,
    down: u32,
    filters: Box<[Filter; 2]>,
    current: usize,
    /// When the hash functions last changed.
    changed: Time,
    tokens: f64,
    filled: Time,
    /// Hashes of the waiting packets in each filter that counts them.
    waiting: VecDeque<[Option<u32>; 2]>,
    arriving: [Option<u32>; 2],
    /// Probability of the last packet, in 65536ths.
    probability: u32,
}

impl Sfb {
    /// Lets the bins of a packet learn: their least number of packets and least probability.
    fn learn(&mut self, filter: usize, hash: u32) -> (u32, u32) {
        let (target, up, down) = (self.params.target as u32, self.up, self.down);
        let (mut packets, mut probability) = (u32::MAX, u32::MAX);
        for bin in self.filters[filter].of(hash) {
            if bin.packets == 0 {
                bin.probability = bin.probability.saturating_sub(down);
            } else if bin.packets >= target {
                bin.probability = (bin.probability + up).min(MAX_PROBABILITY);
            }
            packets = packets.min(bin.packets);
            probability = probability.min(bin.probability);
        }
        (packets, probability)
    }

    /// True while the next filter learns too; changes filters when their time has come.
    fn warms_up(&mut self, now: Time) -> bool {
        let NumberOr::Number(rehash) = self.params.rehash else {
            return false;
        };
        let age = now.since(self.changed).seconds();
        if age > rehash {
            let salt = mix(self.filters[self.current].salt ^ 2);
            self.filters[self.current].salt = salt;
            self.current ^= 1;
            self.changed = now;
            return false;
        }
        age > rehash - self.params.warm_up
    }

    /// Whether a packet of an unresponsive flow passes.
    fn passes(&mut self, now: Time) -> bool {
        if self.tokens < 1.0 {
            let age = now.since(self.filled).seconds().min(10.0);
            self.tokens = (age * self.params.penalty_rate)
                .min(self.params.penalty_burst)
                .floor();
            self.filled = now;
        }
        let passes = self.tokens >= 1.0;
        if passes {
            self.tokens -= 1.0;
        }
        passes
    }

    fn count(&mut self, hashes: [Option<u32>; 2], joins: bool) {
        for (filter, hash) in self.filters.iter_mut().zip(hashes) {
            let Some(hash) = hash else {
                continue;
            };
            for bin in filter.of(hash) {
                if joins {
                    bin.packets += 1;
                } else {
                    bin.packets = bin.packets.saturating_sub(1);
                }
            }
        }
    }
}

impl Scheduler for Sfb {
    fn queues(&self) -> usize {
        1
    }

    fn classify(&mut self, _packet: &PacketView, _label: &Label) -> usize {
        0
    }

    fn judges(&self) -> bool {
        true
    }

    fn judge_arrival(
        &mut self,
        now: Time,
        _queue: usize,
        packet: &PacketView,
        label: &Label,
        _backlog: &[Backlog],
        random: &mut Stream,
    ) -> Verdict {
        let warms_up = self.warms_up(now);
        let (current, next) = (self.current, self.current ^ 1);
        let hash = self.filters[current].hash(label.identity);
        self.arriving = [None; 2];
        self.arriving[current] = Some(hash);
        let (packets, probability) = self.learn(current, hash);
        self.probability = probability;
        if packets >= self.params.max as u32 {
            return Verdict::Drop;
        }
        if probability >= MAX_PROBABILITY {
            if warms_up {
                let hash = self.filters[next].hash(label.identity);
                self.arriving[next] = Some(hash);
                self.learn(next, hash);
            }
            return if self.passes(now) {
                Verdict::Accept
            } else {
                Verdict::Drop
            };
        }
        let drawn = (random.bits() >> 48) as u32;
        if drawn >= probability {
            return Verdict::Accept;
        }
        let half = MAX_PROBABILITY / 2;
        let hopeless = probability > half && drawn < (probability - half) * 2;
        if self.params.ecn && packet.ecn_capable && !hopeless {
            Verdict::Mark
        } else {
            Verdict::Drop
        }
    }

    fn joined(&mut self, _queue: usize, _backlog: &[Backlog]) {
        self.waiting.push_back(self.arriving);
        self.count(self.arriving, true);
    }

    fn next(&mut self, _now: Time, backlog: &[Backlog]) -> Option<usize> {
        (backlog[0].packets > 0).then_some(0)
    }

    fn judge(
        &mut self,
        _queue: usize,
        _sojourn: Time,
        _packet: &PacketView,
        _backlog: &[Backlog],
        _random: &mut Stream,
    ) -> Verdict {
        if let Some(hashes) = self.waiting.pop_front() {
            self.count(hashes, false);
        }
        Verdict::Accept
    }

    /// The newest has found no room.
    fn removed(&mut self, _now: Time, _queue: usize, _size: u32, _backlog: &[Backlog]) {
        if let Some(hashes) = self.waiting.pop_back() {
            self.count(hashes, false);
        }
    }

    fn overflow_victim(&self, arrived: usize, _backlog: &[Backlog]) -> Victim {
        Victim {
            queue: arrived,
            head: false,
            packets: 1,
        }
    }

    fn observe(&self) -> Observation {
        Observation {
            probability: Some(f64::from(self.probability) / 65536.0),
            ..Observation::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::test::{VIEW, of_flow};
    use crate::{Owner, Parameters as _};

    /// Packets of flows arrive, one leaves for each two: how many of each flow are let in.
    fn let_in(sfb: &mut Sfb, flows: &[u32], rounds: usize) -> Vec<usize> {
        let mut random = Stream::new(1, Owner::Queue, 0);
        let mut accepted = vec![0; flows.len()];
        let mut now = Time::ZERO;
        for round in 0..rounds {
            for (place, &identity) in flows.iter().enumerate() {
                now += Time(1_000_000_000);
                let label = Label {
                    identity,
                    ..Label::default()
                };
                let packet = of_flow(identity, 1000);
                let verdict = sfb.judge_arrival(now, 0, &packet, &label, &[], &mut random);
                if verdict != Verdict::Drop {
                    accepted[place] += 1;
                    sfb.joined(0, &[]);
                }
            }
            if round % 2 == 0 {
                sfb.judge(0, now, &of_flow(0, 1000), &[], &mut random);
            }
        }
        accepted
    }

    /// A flow that sends ten times as much as it may comes to a probability of one, and another one
    /// beside it does not.
    #[test]
    fn an_unresponsive_flow_is_found() {
        let params = SfbParams {
            increment: 0.01,
            ..SfbParams::from_values(&[]).unwrap()
        };
        let mut sfb = params.build(&VIEW);
        let flood = [1; 10];
        let accepted: usize = let_in(&mut sfb, &flood, 1000).iter().sum();
        assert!(accepted < 1100, "{accepted}");
        assert!(
            sfb.probability >= MAX_PROBABILITY / 2,
            "{}",
            sfb.probability
        );
        let before = sfb.probability;
        let_in(&mut sfb, &[2], 20);
        assert!(sfb.probability < before / 10, "{}", sfb.probability);
    }

    /// A bin is too long from its target on, and unused when it is empty.
    #[test]
    fn probabilities_change_at_the_target_and_at_none() {
        let mut sfb = SfbParams::from_values(&[]).unwrap().build(&VIEW);
        let hash = sfb.filters[0].hash(1);
        for waiting in 1..=20 {
            sfb.count([Some(hash), None], true);
            let expected = if waiting < 20 { 0 } else { sfb.up };
            assert_eq!(sfb.learn(0, hash), (waiting, expected));
        }
        for waiting in (0..20).rev() {
            sfb.count([Some(hash), None], false);
            let expected = if waiting > 0 {
                sfb.up
            } else {
                sfb.up - sfb.down
            };
            assert_eq!(sfb.learn(0, hash), (waiting, expected));
        }
    }

    #[test]
    fn what_joins_leaves() {
        let mut sfb = SfbParams::from_values(&[]).unwrap().build(&VIEW);
        let_in(&mut sfb, &[1, 2, 3], 5);
        while !sfb.waiting.is_empty() {
            sfb.removed(Time::ZERO, 0, 1000, &[]);
        }
        let left: u32 = sfb
            .filters
            .iter()
            .flat_map(|filter| filter.bins.as_flattened())
            .map(|bin| bin.packets)
            .sum();
        assert_eq!(left, 0);
    }

    /// Before the hash functions change, the next bins learn what is unresponsive.
    #[test]
    fn bins_change_and_remember() {
        let params = SfbParams {
            increment: 0.5,
            rehash: NumberOr::Number(5.0),
            warm_up: 4.0,
            penalty_rate: 100.0, // twice what leaves
            ..SfbParams::from_values(&[]).unwrap()
        };
        let mut sfb = params.build(&VIEW);
        let_in(&mut sfb, &[1; 10], 490);
        let next = sfb.filters[1].bins.as_flattened();
        let learned = next
            .iter()
            .filter(|bin| bin.packets > 0 && bin.probability > 0);
        assert_eq!(learned.count(), HASH_LEVELS);
        let_in(&mut sfb, &[1], 1);
        let now = Time::from_seconds(5.1);
        assert!(!sfb.warms_up(now));
        assert_eq!((sfb.current, sfb.changed), (1, now));
    }
}
