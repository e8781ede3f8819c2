//! CHOKe: RED that compares each arriving packet with a random one of the queue.
//!
//! While the average queue is above the minimal threshold, an arriving packet is compared with one
//! that waits, drawn at random. If both are of one flow both are dropped: a flow with much of the
//! queue is hit often. Otherwise RED decides by the average: above the maximal threshold it drops
//! all, between the thresholds with a probability that grows with the packets since the last drop.
//!
//! Here as in Linux the average loses a packet's weight for each packet of `mean_packet` that the
//! link could have sent while the queue was empty.

use std::collections::VecDeque;

use super::{Backlog, Label, Scheduler, SchedulerAlgorithm, SchedulerView, Victim};
use crate::aqm::{Observation, PacketView, Verdict};
use crate::meta::{About, Algorithm};
use crate::params::inconsistent;
use crate::{Interval, NumberOr, Stream, Time, ValueError, parameters};

parameters! {
    /// Parameters of CHOKe.
    pub struct ChokeParams {
        /// Average queue from which packets are compared.
        min_threshold: packets = 83.0, in Interval::at_least(0.0), "tc-choke(8): min, a third of max";
        /// Average queue above which all are dropped.
        max_threshold: packets = 250.0, in Interval::above(0.0), "tc-choke(8): max, a quarter of the limit";
        /// Probability of RED at the maximal threshold.
        max_probability: number = 0.02, in Interval::above_to(0.0, 1.0), "tc-choke(8): probability";
        /// Weight of the queue in the average.
        weight: number = 0.015625, in Interval::above_to(0.0, 1.0), "tc-choke(8): burst; what tc takes of 138 packets";
        /// Mean packet, for the time that the queue is empty.
        mean_packet: bytes = 1000.0, in Interval::above(0.0), "Linux, tc: choke has 1000 B";
        /// Rate for the same. "link": that of the link at the start.
        bandwidth: rate("link") = word "link", in Interval::above(0.0), "tc-choke(8): bandwidth";
        /// Whether RED marks ECN-capable packets.
        ecn: flag = false, "tc-choke(8): ecn";
    }
}

impl Algorithm for ChokeParams {
    const ABOUT: About = About {
        kind: "choke",
        title: "CHOKe",
        summary: "RED that compares an arriving packet with a random one of the queue and drops both if they are of one flow.",
        citation: "R. Pan, B. Prabhakar and K. Psounis, CHOKe: a stateless active queue management scheme for approximating fair bandwidth allocation, INFOCOM 2000; Linux 6.1, tc-choke(8)",
        ecn: true,
    };

    fn check(&self) -> Result<(), ValueError> {
        if self.min_threshold >= self.max_threshold {
            let allowed = format!("below max_threshold ({} packets)", self.max_threshold);
            return Err(inconsistent("min_threshold", self.min_threshold, allowed));
        }
        Ok(())
    }
}

impl SchedulerAlgorithm for ChokeParams {
    type Scheduler = Choke;

    const AQM: Option<(&'static str, &'static [(&'static str, bool)])> = None;

    /// tc-choke(8): limit.
    const CAPACITY: Option<u32> = Some(1000);

    fn build(&self, view: &SchedulerView) -> Choke {
        let rate = match self.bandwidth {
            NumberOr::Number(rate) => rate,
            NumberOr::Word(_) => view.rate,
        };
        Choke {
            packet_time: self.mean_packet * 8.0 / rate,
            params: *self,
            average: 0.0,
            since: -1,
            drawn: 0.0,
            idle_since: None,
            flows: VecDeque::new(),
            arriving: 0,
            matched: None,
            leaving: None,
        }
    }
}

/// CHOKe at work.
#[derive(Clone, Debug)]
pub struct Choke {
    params: ChokeParams,
    /// s.
    packet_time: f64,
    average: f64,
    /// Packets since RED's last drop; -1 below the minimal threshold.
    since: i64,
    drawn: f64,
    idle_since: Option<Time>,
    /// Flows of the waiting packets.
    flows: VecDeque<u32>,
    arriving: u32,
    /// Place of the packet that is of the arriving one's flow.
    matched: Option<usize>,
    leaving: Option<usize>,
}

impl Choke {
    fn update(&mut self, now: Time, packets: u32) {
        let weight = self.params.weight;
        if let Some(since) = self.idle_since.take() {
            let missed = now.since(since).seconds() / self.packet_time;
            self.average *= libm::pow(1.0 - weight, missed);
        } else {
            self.average += weight * (f64::from(packets) - self.average);
        }
    }
}

impl Scheduler for Choke {
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
        backlog: &[Backlog],
        random: &mut Stream,
    ) -> Verdict {
        self.update(now, backlog[0].packets);
        self.arriving = label.identity;
        let params = &self.params;
        if self.average <= params.min_threshold {
            self.since = -1;
            return Verdict::Accept;
        }
        if !self.flows.is_empty() {
            let place = (random.uniform() * self.flows.len() as f64) as usize;
            if self.flows[place] == label.identity {
                self.matched = Some(place);
                return Verdict::Drop;
            }
        }
        let signal = if params.ecn && packet.ecn_capable {
            Verdict::Mark
        } else {
            Verdict::Drop
        };
        if self.average > params.max_threshold {
            self.since = -1;
            return signal;
        }
        self.since += 1;
        if self.since == 0 {
            self.drawn = random.uniform();
            return Verdict::Accept;
        }
        let part =
            (self.average - params.min_threshold) / (params.max_threshold - params.min_threshold);
        if part * params.max_probability * self.since as f64 >= self.drawn {
            self.since = 0;
            self.drawn = random.uniform();
            return signal;
        }
        Verdict::Accept
    }

    fn also_drops(&mut self) -> Option<usize> {
        self.leaving = self.matched.take();
        self.leaving
    }

    fn joined(&mut self, _queue: usize, _backlog: &[Backlog]) {
        self.flows.push_back(self.arriving);
    }

    fn next(&mut self, now: Time, backlog: &[Backlog]) -> Option<usize> {
        if backlog[0].packets > 0 {
            return Some(0);
        }
        self.idle_since.get_or_insert(now);
        None
    }

    fn judge(
        &mut self,
        _queue: usize,
        _sojourn: Time,
        _packet: &PacketView,
        _backlog: &[Backlog],
        _random: &mut Stream,
    ) -> Verdict {
        self.flows.pop_front();
        Verdict::Accept
    }

    /// The newest has found no room, or one was of an arriving packet's flow.
    fn removed(&mut self, _now: Time, _queue: usize, _size: u32, _backlog: &[Backlog]) {
        match self.leaving.take() {
            Some(place) => self.flows.remove(place),
            None => self.flows.pop_back(),
        };
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
            average_packets: Some(self.average),
            ..Observation::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::test::{VIEW, of_flow};
    use crate::{Owner, Parameters as _};

    fn choke(waiting: &[u32], average: f64) -> Choke {
        let params = ChokeParams {
            min_threshold: 10.0,
            max_threshold: 20.0,
            weight: 1e-9,
            ..ChokeParams::from_values(&[]).unwrap()
        };
        let mut choke = params.build(&VIEW);
        choke.average = average;
        choke.flows = waiting.iter().copied().collect();
        choke
    }

    fn arrive(choke: &mut Choke, identity: u32, random: &mut Stream) -> (Verdict, Option<usize>) {
        let backlog = [Backlog {
            packets: choke.flows.len() as u32,
            ..Backlog::default()
        }];
        let label = Label {
            identity,
            ..Label::default()
        };
        let packet = of_flow(identity, 1000);
        let verdict = choke.judge_arrival(Time::ZERO, 0, &packet, &label, &backlog, random);
        (verdict, choke.also_drops())
    }

    /// Three quarters of the queue are of flow 1: so are its chances to be hit, and both go.
    #[test]
    fn a_flow_is_hit_by_its_share_of_the_queue() {
        let mut random = Stream::new(1, Owner::Queue, 0);
        let waiting = [1, 1, 1, 1, 2, 1, 1, 2];
        let mut hits = [0, 0];
        for _ in 0..4000 {
            for (flow, hits) in (1..).zip(&mut hits) {
                let mut choke = choke(&waiting, 10.5);
                if let (Verdict::Drop, Some(place)) = arrive(&mut choke, flow, &mut random) {
                    assert_eq!(waiting[place], flow);
                    choke.removed(Time::ZERO, 0, 1000, &[]);
                    assert_eq!(choke.flows.len(), 7);
                    *hits += 1;
                }
            }
        }
        assert!((2880..3120).contains(&hits[0]), "{hits:?}");
        assert!((880..1120).contains(&hits[1]), "{hits:?}");
    }

    #[test]
    fn thresholds_of_the_average() {
        let mut random = Stream::new(1, Owner::Queue, 0);
        assert_eq!(
            arrive(&mut choke(&[1, 1], 9.0), 1, &mut random),
            (Verdict::Accept, None)
        );
        assert_eq!(
            arrive(&mut choke(&[1, 1], 21.0), 2, &mut random),
            (Verdict::Drop, None)
        );
    }

    #[test]
    fn the_average_falls_while_nothing_waits() {
        let params = ChokeParams {
            weight: 0.5,
            bandwidth: NumberOr::Number(8e6),
            ..ChokeParams::from_values(&[]).unwrap()
        };
        let mut choke = params.build(&VIEW);
        choke.average = 64.0;
        assert_eq!(choke.next(Time::ZERO, &[Backlog::default()]), None);
        choke.update(Time::from_seconds(0.005), 7); // five packets of 1000 B
        assert!((choke.average - 2.0).abs() < 1e-9, "{}", choke.average);
        choke.update(Time::from_seconds(0.006), 7);
        assert!((choke.average - 4.5).abs() < 1e-9);
    }
}
