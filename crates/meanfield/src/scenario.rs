//! From a scenario to the engine's plain inputs: what it means, what is approximated (with a note),
//! what is refused (by name).

mod changes;

use std::sync::Arc;

use ackclock_algorithms::Time;
use ackclock_algorithms::fluid::{Averaging, Path};
use ackclock_algorithms::registry::TcpLaw;
use ackclock_averages::{self as averages, Flows, Refusal};
use ackclock_scenario::{Change, Distribution, End, FlowClass, LinkId, Scenario, Setting};

use self::changes::Changes;
use crate::engine::MeanField;
use crate::error::Error;
use crate::law::WindowLaw;
use crate::model::{Action, Bottleneck, Class, Event, Model, Options, RegisteredAqm, Unresponsive};

/// Flows of a class with different round trips are put into so many groups.
const RTT_GROUPS: usize = 8;
/// Cells of a window grid where the largest window is large beside the share of a flow.
const GRID_CELLS: f64 = 1024.0;
/// Flows from which the mean-field limit is accurate with drop-tail, and with an AQM (Reynier 2006,
/// sections 2 and 5).
const ENOUGH: (f64, f64) = (10.0, 25.0);

/// A registered congestion control, as a law of its window.
#[derive(Clone, Copy, Debug)]
pub struct RegisteredTcp {
    law: TcpLaw,
    path: Path,
    /// Reno-like below this window, packets.
    small_below: f64,
    floor: f64,
    halving: Option<f64>,
}

impl RegisteredTcp {
    /// The law on a path. Small windows follow the sender's real behaviour where its smooth law
    /// leaves it out.
    #[must_use]
    pub fn new(law: TcpLaw, path: Path) -> Self {
        let mut new = Self {
            law,
            path,
            small_below: law.small_below(&path),
            floor: 0.0,
            halving: None,
        };
        // a growth per round trip in proportion to the window never leaves zero
        if 1e-6 * new.increase(1e-6) < 1e-3 {
            new.floor = 1.0;
        }
        let increase = new.increase(1.0);
        let halves = |w: f64| {
            new.decrease(w) == 0.5 * w && (w * new.increase(w) - increase).abs() <= 1e-15 * increase
        };
        if new.floor == 0.0 && (-8..=20).all(|i| halves(libm::ldexp(1.1, i))) {
            new.halving = Some(increase);
        }
        new
    }

    /// Whether the growth depends on the round-trip time; it is then taken at the base round trip.
    fn depends_on_path(&self) -> bool {
        let longer = Path::fixed(2.0 * self.path.rtt).with_marks(self.path.marks);
        [2.0, 20.0, 200.0]
            .iter()
            .any(|&w| self.law.increase(w, &self.path) != self.law.increase(w, &longer))
    }
}

impl WindowLaw for RegisteredTcp {
    fn increase(&self, window: f64) -> f64 {
        if window < self.small_below {
            self.law.small_window(window).0
        } else {
            self.law.increase(window, &self.path)
        }
    }
    fn decrease(&self, window: f64) -> f64 {
        if window < self.small_below {
            self.law.small_window(window).1
        } else {
            self.law.decrease(window, &self.path)
        }
    }
    fn halving_increase(&self) -> Option<f64> {
        self.halving
    }
    fn floor(&self) -> f64 {
        self.floor
    }
}

impl MeanField {
    /// Prepares a run of a scenario. Traces are sampled at the scenario's interval unless the
    /// options give one.
    ///
    /// # Errors
    /// Names what the scenario holds that a window distribution at one shared queue cannot
    /// represent, or what is out of range.
    pub fn new(scenario: &Scenario, mut options: Options) -> Result<Self, Error> {
        let mut reader = Reader::new(scenario)?;
        let model = reader.model(&mut options)?;
        let duration = model.duration;
        options.sample = options.sample.or_else(|| {
            Some(
                scenario
                    .sample
                    .map_or((duration / 1000.0).max(1e-3), Time::seconds),
            )
        });
        let mut engine = Self::from_model(model, options)?;
        engine.set_notes(reader.notes);
        Ok(engine)
    }
}

/// A group of flows of one class that have one round trip.
#[derive(Clone, Debug)]
struct Group {
    /// Index in the scenario.
    class: usize,
    /// Which flows of the class: from the first quantile to the second.
    part: (f64, f64),
    rtt: f64,
}

struct Reader<'a> {
    scenario: &'a Scenario,
    link: LinkId,
    /// Bytes.
    packet_size: u32,
    /// Mean jitter of the wire in a round trip, s.
    jitter: f64,
    groups: Vec<Group>,
    /// For each unresponsive traffic its class in the scenario.
    traffic: Vec<usize>,
    notes: Vec<String>,
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        Self::Unsupported(refusal.to_string())
    }
}

fn unsupported<T>(what: impl Into<String>) -> Result<T, Error> {
    Err(Error::Unsupported(what.into()))
}

impl<'a> Reader<'a> {
    fn new(scenario: &'a Scenario) -> Result<Self, Error> {
        let mut notes = Vec::new();
        let links = &scenario.links;
        // the one link whose queue holds data
        let mut crossed: Option<LinkId> = None;
        for class in &scenario.flows {
            if let [first, second, ..] = class.path[..] {
                return unsupported(format!(
                    "flows `{}`: their path crosses the queues of `{}` and `{}`, and this engine has one queue",
                    class.name, links[first].name, links[second].name
                ));
            }
            let link = class.path[0];
            if let Some(other) = crossed
                && other != link
            {
                return unsupported(format!(
                    "two bottlenecks, `{}` and `{}`: this engine has one queue, which all flows share",
                    links[other].name, links[link].name
                ));
            }
            crossed = Some(link);
        }
        let Some(link) = crossed else {
            return unsupported("a scenario without flows");
        };
        for class in &scenario.flows {
            if let Some(reverse) = &class.reverse_path {
                if reverse.contains(&link) {
                    return unsupported(format!(
                        "flows `{}`: their ACKs share the queue of `{}` with data",
                        class.name, links[link].name
                    ));
                }
                notes.push(format!(
                    "flows `{}`: ACKs return without queueing",
                    class.name
                ));
            }
        }
        let set = |change: &Change| matches!(change.set, Setting::LinkLoss(..));
        if scenario.changes.iter().any(set) {
            notes.push("changes of losses are not applied: they stay as at the start".to_owned());
        }
        let packet_size = averages::packet_size(scenario)?;
        let mut reader = Self {
            scenario,
            link,
            packet_size,
            jitter: 0.0,
            groups: Vec::new(),
            traffic: Vec::new(),
            notes,
        };
        for (class, flows) in scenario.flows.iter().enumerate() {
            if flows.traffic.is_tcp() {
                let groups = reader.groups_of(
                    class,
                    &flows.rtt,
                    flows.count.max(scenario.max_count(class)),
                );
                reader.groups.extend(groups);
            } else {
                reader.traffic.push(class);
            }
        }
        Ok(reader)
    }

    /// Groups of one round trip each.
    fn groups_of(&mut self, class: usize, rtt: &Distribution, count: u32) -> Vec<Group> {
        let values = quantiles(rtt, count as usize);
        let mut distinct = values.clone();
        distinct.sort_by(f64::total_cmp);
        distinct.dedup();
        if distinct.len() <= RTT_GROUPS {
            let mut start = 0.0;
            return distinct
                .into_iter()
                .map(|rtt| {
                    let share = values.iter().filter(|value| **value == rtt).count() as f64
                        / values.len() as f64;
                    let part = (start, start + share);
                    start = part.1;
                    Group { class, part, rtt }
                })
                .collect();
        }
        self.notes.push(format!(
            "flows `{}`: their round trips are represented by {RTT_GROUPS} groups of equal size",
            self.scenario.flows[class].name
        ));
        let mut sorted = values;
        sorted.sort_by(f64::total_cmp);
        let edge = |group: usize| group * sorted.len() / RTT_GROUPS;
        (0..RTT_GROUPS)
            .map(|group| {
                let members = &sorted[edge(group)..edge(group + 1)];
                let n = sorted.len() as f64;
                Group {
                    class,
                    part: (edge(group) as f64 / n, edge(group + 1) as f64 / n),
                    rtt: members.iter().sum::<f64>() / members.len() as f64,
                }
            })
            .collect()
    }

    fn model(&mut self, options: &mut Options) -> Result<Model, Error> {
        let scenario = self.scenario;
        let duration = match scenario.duration {
            End::At(time) => time.seconds(),
            End::UntilDone => {
                return unsupported("`duration = \"until done\"`: its flows never end");
            }
        };
        let bottleneck = self.bottleneck(options)?;
        let flows: f64 = self
            .groups
            .iter()
            .map(|group| self.size(group, self.scenario.max_count(group.class)))
            .sum();
        let overflow_only = bottleneck.aqm.overflow_only() || bottleneck.aqm.hard_limit().is_some();
        let enough = if overflow_only { ENOUGH.0 } else { ENOUGH.1 };
        if flows < enough {
            let over = match (bottleneck.aqm.overflow_only(), overflow_only) {
                (true, _) => "without an AQM",
                (false, true) => "over a threshold",
                _ => "with an AQM",
            };
            let plural = if flows == 1.0 { "" } else { "s" };
            self.notes.push(format!(
                "{flows} flow{plural}: the mean-field limit is accurate from about {enough} flows on {over}"
            ));
        }
        let classes = self
            .groups
            .clone()
            .iter()
            .map(|group| self.class(group, &bottleneck, flows))
            .collect::<Result<Vec<_>, Error>>()?;
        self.notes.dedup();
        options.most_cells = options.most_cells.min(GRID_CELLS);
        let unresponsive = self
            .traffic
            .clone()
            .into_iter()
            .map(|class| self.unresponsive(class))
            .collect::<Result<Vec<_>, Error>>()?;
        let events = self.events()?;
        let measure = scenario.measure.map_or((0.0, duration), |(from, to)| {
            (from.seconds(), to.seconds().min(duration))
        });
        Ok(Model {
            bottleneck,
            classes,
            unresponsive,
            events,
            duration,
            measure,
        })
    }

    /// Flows of a group when its class has `count`.
    fn size(&self, group: &Group, count: u32) -> f64 {
        (group.part.1 - group.part.0) * f64::from(count)
    }

    /// Bits of a packet.
    fn bits(&self) -> f64 {
        8.0 * f64::from(self.packet_size)
    }

    fn bottleneck(&mut self, options: &Options) -> Result<Bottleneck, Error> {
        let link = &self.scenario.links[self.link];
        let link = averages::Link::new(link, self.packet_size, options.effective_spacing)?;
        if link.law.hard_limit().is_none() {
            self.notes.extend(link.approximation);
        }
        self.notes.extend(link.notes);
        self.jitter = link.jitter;
        let priority = self.scenario.flows[0].priority;
        if link.law.by_priority() {
            let mut flows = self.scenario.flows.iter();
            if let Some(other) = flows.find(|flows| flows.priority != priority) {
                return unsupported(format!(
                    "AQM `{}` over flows of priorities {priority} and {}: this engine has one loss probability for all flows",
                    self.scenario.links[self.link].aqm.kind(),
                    other.priority
                ));
            }
        }
        Ok(Bottleneck {
            rate: link.rate,
            buffer: link.limit,
            wire_loss: link.wire_loss,
            aqm: Arc::new(RegisteredAqm {
                law: link.law,
                spacing: link.spacing,
                relative_size: link.packet_weight,
                priority,
            }),
            marks: link.marks,
            averaging: Averaging::Exponential,
        })
    }

    fn class(
        &mut self,
        group: &Group,
        bottleneck: &Bottleneck,
        flows: f64,
    ) -> Result<Class, Error> {
        let FlowClass { name, tcp, .. } = &self.scenario.flows[group.class];
        let Flows::Sender(sender) = Flows::new(self.scenario, group.class, self.packet_size)?
        else {
            return unsupported(format!("flows `{name}`: this kind of traffic"));
        };
        self.notes.extend(sender.notes);
        let congestion = &tcp.congestion;
        if sender.law.by_delay() {
            return unsupported(format!(
                "congestion control `{}` of flows `{name}`: its windows follow measured delays or rates, and this engine moves windows by their size alone",
                congestion.kind()
            ));
        }
        let rtt = group.rtt + self.jitter + sender.access.map_or(0.0, |access| access.transmission);
        let path = Path::fixed(rtt).with_marks(tcp.ecn && bottleneck.marks);
        let law = RegisteredTcp::new(sender.law, path);
        let mut note = |text: String| self.notes.push(format!("flows `{name}`: {text}"));
        if law.depends_on_path() {
            note(format!(
                "the growth of {} is taken at the base round-trip time",
                congestion.kind()
            ));
        }
        if tcp.initial_ssthresh > tcp.initial_window {
            note(format!(
                "there is no slow start: flows begin in congestion avoidance at {} packets",
                tcp.initial_window
            ));
        }
        // windows beyond what fills link and buffer alone never matter; many flows share, and a
        // window sixteen times the share is out of reach
        let buffer = if bottleneck.room().is_finite() {
            bottleneck.room()
        } else {
            bottleneck.rate * rtt
        };
        let all = bottleneck.rate * rtt + buffer;
        let reach = all.min((16.0 * all / flows.max(1.0)).max(64.0)).max(8.0);
        let w_max = tcp.max_window.map_or(reach, f64::from).max(law.floor + 1.0);
        let single = group.part == (0.0, 1.0);
        Ok(Class {
            name: if single {
                name.clone()
            } else {
                // to a microsecond, without zeros at the end
                format!("{name} ({} ms)", (group.rtt * 1e6).round() / 1e3)
            },
            law: Arc::new(law),
            rtt,
            access: sender.access.map(|access| access.rate),
            w_max,
            open_ended: tcp.max_window.is_none(),
            ecn: tcp.ecn,
            origin: group.class,
        })
    }

    fn unresponsive(&mut self, class: usize) -> Result<Unresponsive, Error> {
        match Flows::new(self.scenario, class, self.packet_size)? {
            Flows::Source(source) => {
                self.notes.extend(source.notes);
                Ok(Unresponsive {
                    name: source.name,
                    rate: source.rate,
                })
            }
            Flows::Sender(sender) => {
                unsupported(format!("flows `{}`: this kind of traffic", sender.name))
            }
        }
    }

    fn events(&mut self) -> Result<Vec<Event>, Error> {
        let mut events = Vec::new();
        for index in 0..self.groups.len() {
            let group = self.groups[index].clone();
            let FlowClass {
                count,
                start,
                stop,
                tcp,
                ..
            } = &self.scenario.flows[group.class];
            let size = self.size(&group, *count);
            // flows of a group start at quantiles of their own
            let starts = quantiles(start, libm::ceil(size).max(1.0) as usize);
            for at in &starts {
                let flows = size / starts.len() as f64;
                events.push(Event {
                    at: *at,
                    what: Action::Start {
                        class: index,
                        flows,
                        window: tcp.initial_window,
                    },
                });
            }
            if let Some(stop) = stop {
                events.push(Event {
                    at: stop.seconds(),
                    what: Action::Stop {
                        class: index,
                        flows: f64::INFINITY,
                    },
                });
            }
        }
        for (index, &class) in self.traffic.iter().enumerate() {
            let FlowClass {
                count, start, stop, ..
            } = &self.scenario.flows[class];
            // a start that all sources share is one value
            let starts = quantiles(start, *count as usize);
            for at in &starts {
                events.push(Event {
                    at: *at,
                    what: Action::Sources {
                        traffic: index,
                        change: f64::from(*count) / starts.len() as f64,
                    },
                });
            }
            if let Some(stop) = stop {
                events.push(Event {
                    at: stop.seconds(),
                    what: Action::Sources {
                        traffic: index,
                        change: f64::NEG_INFINITY,
                    },
                });
            }
        }
        events.extend(Changes::of(self));
        Ok(events)
    }
}

/// `count` values in the middle of equal parts of a distribution, rising; a list gives its own values.
fn quantiles(distribution: &Distribution, count: usize) -> Vec<f64> {
    let count = count.max(1);
    let spread = |quantile: &dyn Fn(f64) -> f64| {
        (0..count)
            .map(|i| quantile((i as f64 + 0.5) / count as f64))
            .collect()
    };
    match distribution {
        Distribution::Fixed(value) => vec![*value],
        Distribution::List(values) => values.iter().copied().cycle().take(count).collect(),
        Distribution::Range(from, to) if count > 1 => (0..count)
            .map(|i| from + (to - from) * i as f64 / (count - 1) as f64)
            .collect(),
        Distribution::Range(from, _) => vec![*from],
        Distribution::Uniform(from, to) => spread(&|u| from + (to - from) * u),
        Distribution::Exponential(mean) => spread(&|u| -mean * libm::log(1.0 - u)),
        // redrawn below zero: the part of the distribution above it
        Distribution::Normal(mean, deviation) => {
            let below = normal(-mean / deviation);
            spread(&|u| mean + deviation * normal_quantile(below + (1.0 - below) * u))
        }
    }
}

fn normal(x: f64) -> f64 {
    0.5 * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2)
}

fn normal_quantile(probability: f64) -> f64 {
    let (mut low, mut high) = (-40.0, 40.0);
    for _ in 0..80 {
        let middle = 0.5 * (low + high);
        if normal(middle) < probability {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}
