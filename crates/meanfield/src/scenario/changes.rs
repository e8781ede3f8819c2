//! The changes of a scenario as events of the engine.

use ackclock_averages::{self as averages, Access};
use ackclock_scenario::{LinkId, Setting};

use super::{Group, Reader, quantiles};
use crate::model::{Action, Event};

/// The scenario after the changes until now, and their events.
pub(super) struct Changes<'a> {
    reader: &'a Reader<'a>,
    /// Flows of each class of the scenario.
    counts: Vec<u32>,
    /// Propagation delay of each link, s.
    delays: Vec<f64>,
    /// Round trip of each group without the transmission on access links, s.
    round_trips: Vec<f64>,
    /// Transmission on the access links of each class of the scenario, s.
    transmissions: Vec<f64>,
    /// When the present change happens, s.
    at: f64,
    events: Vec<Event>,
}

impl<'a> Changes<'a> {
    /// All changes of the scenario, in its order.
    pub(super) fn of(reader: &'a Reader<'a>) -> Vec<Event> {
        let scenario = reader.scenario;
        let transmission = |class: usize| {
            let flows = &scenario.flows[class];
            let access = flows.access_rate.map(|rate| Access::new(rate, flows));
            access.map_or(0.0, |access| access.transmission)
        };
        let mut changes = Self {
            reader,
            counts: scenario.flows.iter().map(|class| class.count).collect(),
            delays: scenario
                .links
                .iter()
                .map(|link| link.delay.seconds())
                .collect(),
            round_trips: reader.groups.iter().map(|group| group.rtt).collect(),
            transmissions: (0..scenario.flows.len()).map(transmission).collect(),
            at: 0.0,
            events: Vec::new(),
        };
        for change in &scenario.changes {
            changes.at = change.at.seconds();
            changes.take(&change.set);
        }
        changes.events
    }

    fn push(&mut self, what: Action) {
        self.events.push(Event { at: self.at, what });
    }

    /// The groups of a class, with their indices.
    fn groups_of(&self, class: usize) -> impl Iterator<Item = (usize, &'a Group)> + use<'a> {
        let groups = self.reader.groups.iter().enumerate();
        groups.filter(move |(_, group)| group.class == class)
    }

    /// The unresponsive traffic that a class is, if it is.
    fn traffic_of(&self, class: usize) -> Option<usize> {
        self.reader.traffic.iter().position(|other| *other == class)
    }

    /// Tells the engine of a group's round trip.
    fn push_rtt(&mut self, group: usize) {
        let class = self.reader.groups[group].class;
        let rtt = self.round_trips[group] + self.transmissions[class] + self.reader.jitter;
        self.push(Action::Rtt { class: group, rtt });
    }

    fn take(&mut self, setting: &Setting) {
        let reader = self.reader;
        match setting {
            Setting::LinkRate(link, rate) if *link == reader.link => {
                self.push(Action::Rate(rate / reader.bits()));
            }
            Setting::LinkCapacity(link, capacity) if *link == reader.link => {
                let packets = averages::packets(*capacity, reader.packet_size);
                self.push(Action::Buffer(packets));
            }
            Setting::AqmParameter(link, name, value) if *link == reader.link => {
                self.push(Action::Aqm {
                    name: name.clone(),
                    value: *value,
                });
            }
            // another link carries ACKs alone, which do not queue here
            Setting::LinkRate(..)
            | Setting::LinkCapacity(..)
            | Setting::AqmParameter(..)
            | Setting::LinkLoss(..) => {}
            Setting::LinkDelay(link, delay) => self.link_delay(*link, delay.seconds()),
            Setting::Rtt(class, rtt) => {
                let mut values = quantiles(rtt, 1000);
                values.sort_by(f64::total_cmp);
                for (index, group) in self.groups_of(*class) {
                    let middle = 0.5 * (group.part.0 + group.part.1) * values.len() as f64;
                    self.round_trips[index] = values[(middle as usize).min(values.len() - 1)];
                    self.push_rtt(index);
                }
            }
            Setting::Count(class, count) => self.count(*class, *count),
            Setting::TrafficRate(class, rate) => {
                if let Some(traffic) = self.traffic_of(*class) {
                    let rate = rate / reader.bits();
                    self.push(Action::SourceRate { traffic, rate });
                }
            }
            Setting::MaxWindow(class, window) => {
                let w_max = f64::from(*window);
                for (class, _) in self.groups_of(*class) {
                    self.push(Action::MaxWindow { class, w_max });
                }
            }
            Setting::AccessRate(class, rate) => {
                let access = Access::new(*rate, &reader.scenario.flows[*class]);
                self.transmissions[*class] = access.transmission;
                for (index, _) in self.groups_of(*class) {
                    self.push(Action::Access {
                        class: index,
                        rate: access.rate,
                    });
                    self.push_rtt(index);
                }
            }
        }
    }

    /// Another propagation delay moves the round trip of every group that crosses the link, either
    /// way.
    fn link_delay(&mut self, link: LinkId, delay: f64) {
        let difference = delay - self.delays[link];
        self.delays[link] = delay;
        let reader = self.reader;
        for (index, group) in reader.groups.iter().enumerate() {
            let class = &reader.scenario.flows[group.class];
            let reverse = class.reverse_path.iter().flatten();
            let path = class.path.iter().chain(reverse);
            let crossings = path.filter(|crossed| **crossed == link).count();
            if crossings > 0 {
                self.round_trips[index] += difference * crossings as f64;
                self.push_rtt(index);
            }
        }
    }

    /// Another number of flows: some begin or end, in every group of the class.
    fn count(&mut self, class: usize, after: u32) {
        let before = std::mem::replace(&mut self.counts[class], after);
        let window = self.reader.scenario.flows[class].tcp.initial_window;
        for (index, group) in self.groups_of(class) {
            let flows = self.reader.size(group, after.abs_diff(before));
            self.push(if after > before {
                Action::Start {
                    class: index,
                    flows,
                    window,
                }
            } else {
                Action::Stop {
                    class: index,
                    flows,
                }
            });
        }
        if let Some(traffic) = self.traffic_of(class) {
            let change = f64::from(after) - f64::from(before);
            self.push(Action::Sources { traffic, change });
        }
    }
}
