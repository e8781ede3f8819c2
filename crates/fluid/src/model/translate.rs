//! From a scenario to the model's classes and links.

use ackclock_algorithms::fluid::QueueModel;
use ackclock_averages::{self as averages, Flows, Refusal, Sender};
use ackclock_scenario::{Distribution, FlowClass, Scenario};

use super::alone::{alone, coupled, low_latency};
use super::{Choices, Class, Coupled, Link, MAX_LINKS, Memory, Model, Rtt, unsupported};
use crate::error::{Error, Result};

impl From<Refusal> for Error {
    fn from(Refusal { what, why }: Refusal) -> Self {
        Self::Unsupported { what, why }
    }
}

fn mean_rtt(d: &Distribution) -> f64 {
    match d {
        Distribution::Fixed(v) | Distribution::Normal(v, _) | Distribution::Exponential(v) => *v,
        Distribution::List(list) => list.iter().sum::<f64>() / list.len() as f64,
        Distribution::Range(a, b) | Distribution::Uniform(a, b) => 0.5 * (a + b),
    }
}

/// The time by which flows have started, s: of nearly all of them where there is no last one.
fn started_by(start: &Distribution) -> f64 {
    match start {
        Distribution::Fixed(at) | Distribution::Range(_, at) | Distribution::Uniform(_, at) => *at,
        Distribution::List(list) => list.iter().copied().fold(0.0, f64::max),
        Distribution::Normal(mean, deviation) => mean + 3.0 * deviation,
        Distribution::Exponential(mean) => 5.0 * mean,
    }
}

/// That flows are absent for a part of the measured time, where they are: the equations have all
/// flows all the time.
fn absence(scenario: &Scenario, flows: &FlowClass) -> Option<String> {
    let (from, to) = scenario.measure.map_or((0.0, f64::INFINITY), |(from, to)| {
        (from.seconds(), to.seconds())
    });
    let start = Some(started_by(&flows.start)).filter(|start| *start > from);
    let stop = flows.stop.map(ackclock_algorithms::Time::seconds);
    let stop = stop.filter(|stop| *stop < to);
    let what = match (start, stop) {
        (None, None) => return None,
        (Some(start), None) => format!("start as late as {start} s"),
        (None, Some(stop)) => format!("stop at {stop} s"),
        (Some(start), Some(stop)) => format!("start as late as {start} s and stop at {stop} s"),
    };
    let name = &flows.name;
    Some(format!(
        "flows `{name}`: the equations have them all the time, though they {what}"
    ))
}

impl Model {
    /// The equations of `scenario` with the given choices.
    ///
    /// # Errors
    /// [`Error::Unsupported`] names what has no equations: finite transfers, shared reverse paths,
    /// algorithms without a fluid law, unequal packets.
    pub fn from_scenario(scenario: &Scenario, choices: Choices) -> Result<Self> {
        if scenario.links.len() > MAX_LINKS || scenario.flows.len() > MAX_LINKS {
            return unsupported(
                format!(
                    "{} links and {} classes",
                    scenario.links.len(),
                    scenario.flows.len()
                ),
                format!("at most {MAX_LINKS} of each"),
            );
        }
        if let Some((alone, note)) = coupled(scenario)? {
            let mut model = Self::from_scenario(&alone, choices)?;
            model.notes.push(note);
            model.couple(scenario);
            return Ok(model);
        }
        if let Some((alike, note)) = alone(scenario)? {
            let mut model = Self::from_scenario(&alike, choices)?;
            model.one_of = scenario.flows[0].count != alike.flows[0].count;
            model.notes.push(note);
            // automatic parameters are those of the whole link, as each sub-queue's AQM has them
            let size = averages::packet_size(scenario)?;
            for (link, whole) in model.links.iter_mut().zip(&scenario.links) {
                let mut whole = whole.clone();
                whole.scheduler = None;
                let whole = averages::Link::new(&whole, size, choices.effective_spacing)?;
                link.law = whole.law;
                for class in &mut model.classes {
                    class.jitter = whole.jitter;
                }
            }
            return Ok(model);
        }
        let size = averages::packet_size(scenario)?;
        let mut model = Self::without_anything(choices);
        if !scenario.changes.is_empty() {
            model.notes.push(
                "changes during the run are not applied: the equations are those of its start"
                    .to_owned(),
            );
        }
        let mut background = vec![Vec::new(); scenario.links.len()];
        for (index, flows) in scenario.flows.iter().enumerate() {
            model.notes.extend(absence(scenario, flows));
            match Flows::new(scenario, index, size)? {
                Flows::Sender(sender) => model.add_class(*sender, flows)?,
                Flows::Source(source) => {
                    for l in &source.path {
                        background[*l].push((flows.priority, source.count * source.rate));
                    }
                    model.notes.extend(source.notes);
                }
            }
        }
        if model.classes.is_empty() {
            return unsupported("a scenario without TCP", "nothing in it reacts");
        }
        let (mut marks, mut jitter) = (Vec::new(), Vec::new());
        for (link, background) in scenario.links.iter().zip(background) {
            let link = averages::Link::new(link, size, choices.effective_spacing)?;
            marks.push(link.marks);
            jitter.push(link.jitter);
            model.add_link(link, background);
        }
        // an AQM marks what can be marked only if configured to
        for class in &mut model.classes {
            class.marked &= class.path.iter().all(|l| marks[*l]);
            class.jitter = class.path.iter().map(|l| jitter[*l]).sum();
        }
        model.order = order(&model.classes, model.links.len())?;
        model.dimension = model.names.len();
        model.opened = vec![None; model.classes.len()];
        Ok(model)
    }

    /// Puts a queue for scalable senders beside the one link's own, as the scheduler of `scenario`
    /// has it.
    fn couple(&mut self, scenario: &Scenario) {
        let Some(coupling) = scenario.links[0].scheduler.and_then(|s| s.coupling()) else {
            return;
        };
        self.links[0].coupled = Some(Coupled {
            factor: coupling.factor,
            classic_share: coupling.classic_share,
        });
        // classes stand in the order of the flows that have a window
        let tcp = scenario.flows.iter().filter(|flows| flows.traffic.is_tcp());
        for (class, flows) in self.classes.iter_mut().zip(tcp) {
            class.low_latency = low_latency(flows);
            class.marked = flows.tcp.ecn;
        }
    }

    fn without_anything(choices: Choices) -> Self {
        Self {
            choices,
            classes: Vec::new(),
            links: Vec::new(),
            order: Vec::new(),
            varied: Vec::new(),
            dimension: 0,
            names: Vec::new(),
            notes: Vec::new(),
            regimes: None,
            small: None,
            opened: Vec::new(),
            undelayed: false,
            one_of: false,
        }
    }

    fn add_class(&mut self, sender: Sender, flows: &FlowClass) -> Result<()> {
        let what = format!("flows `{}`", flows.name);
        if flows.reverse_path.is_some() {
            return unsupported(what, "acknowledgements that share queues");
        }
        if sender.law.by_delay() && self.choices.rtt == Rtt::Fixed {
            return unsupported(
                format!(
                    "constant round trips for congestion control `{}` of {what}",
                    flows.tcp.congestion.kind()
                ),
                "its windows follow the queueing delay",
            );
        }
        self.notes.extend(sender.notes);
        if !matches!(flows.rtt, Distribution::Fixed(_)) {
            self.notes
                .push(format!("{what}: its round-trip times enter by their mean"));
        }
        if flows.tcp.max_window.is_some() || flows.tcp.receive_buffer.is_some() {
            self.notes.push(format!(
                "{what}: the receiver's window is taken as no limit"
            ));
        }
        let all = sender.law.state_names();
        let state_names = match self.choices.memory {
            Memory::AtRest if all.len() > 1 && !sender.law.by_rate() => &["window (packets)"],
            _ => all,
        };
        let at = self.names.len();
        self.names.extend(
            state_names
                .iter()
                .map(|state| format!("{}.{state}", sender.name)),
        );
        self.classes.push(Class {
            name: sender.name,
            count: sender.count,
            rtt: mean_rtt(&flows.rtt),
            access: sender.access,
            jitter: 0.0,
            law: sender.law,
            values: sender.values,
            path: sender.path,
            priority: flows.priority,
            marked: sender.ecn,
            low_latency: false,
            at,
            states: state_names.len(),
            plain: state_names.len() == 1,
            timed: false,
            user: None,
        });
        Ok(())
    }

    fn add_link(&mut self, link: averages::Link, background: Vec<(u8, f64)>) {
        let index = self.links.len();
        self.notes.extend(link.approximation);
        self.notes.extend(link.notes);
        let queue = (link.law.queue_model() == QueueModel::Integrated).then(|| {
            self.names.push(format!("{}.queue (packets)", link.name));
            self.names.len() - 1
        });
        let at = self.names.len();
        let states = link.law.state_names();
        self.names
            .extend(states.iter().map(|s| format!("{}.{s}", link.name)));
        self.links.push(Link {
            name: link.name,
            rate: link.rate,
            law: link.law,
            values: link.values,
            limit: link.limit,
            spacing: link.spacing,
            packet_weight: link.packet_weight,
            background: background.iter().map(|(_, rate)| rate).sum(),
            background_of: background,
            wire_loss: link.wire_loss,
            crossed_by: (0..self.classes.len())
                .filter(|c| self.classes[*c].path.contains(&index))
                .collect(),
            coupled: None,
            queue,
            at,
            states: states.len(),
        });
    }
}

/// The links in an order that every path follows.
fn order(classes: &[Class], links: usize) -> Result<Vec<usize>> {
    let mut order = Vec::with_capacity(links);
    while order.len() < links {
        let next = (0..links).find(|l| {
            !order.contains(l)
                && classes
                    .iter()
                    .all(|c| match c.path.iter().position(|k| k == l) {
                        Some(at) => c.path[..at].iter().all(|k| order.contains(k)),
                        None => true,
                    })
        });
        match next {
            Some(l) => order.push(l),
            None => {
                return unsupported(
                    "paths that cross the same links in opposite orders",
                    "arrivals would depend on each other without delay",
                );
            }
        }
    }
    Ok(order)
}
