//! From a scenario to a system of delay-differential equations.
//!
//! A class of N flows with windows w and round-trip time R sends x = N w / R packets a second. Each link i on its path loses or marks
//! the fraction p_i of what reaches it. A sender hears after one round trip of what it sent then: its window follows the law of its
//! congestion control ([`ackclock_algorithms::fluid::FluidTcp`]), driven by w(t - R) / R and the path's loss probability at t - R. A queue integrates
//! arrivals less service. The delay from sender to queue is neglected against the whole round trip, as in all the papers below.
//!
//! Sources: Manjunath and Raina, "Compound TCP with RED", equations (1), (9), (26), (36); Misra, Gong and Towsley 2000; Wang, Cai, Liu and Shen,
//! "AIMD congestion control", equations (1) and (2).

use std::sync::Arc;

use ackclock_algorithms::Value;
use ackclock_algorithms::aqm::{LinkView, Spacing};
use ackclock_algorithms::fluid::{
    AqmInput, Averaging, Path, QueueModel, TcpInput, overflow, round_average,
};
use ackclock_algorithms::registry::{AqmLaw, TcpLaw};
use ackclock_delay::{Args, Bound, Dual64, Scalar, Settled, System};
use ackclock_scenario::{Capacity, Distribution, Scenario, Traffic};

use crate::error::{Error, Result};
use crate::user::{self, WindowLaw};

/// At most so many links, and as many classes: sums over them live on the stack.
pub const LARGEST: usize = 16;

/// Which form of the window equation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Form {
    /// w' = (i(w) (1 - p) - d(w) p) w(t - R) / R: growth with acknowledgements (Manjunath and Raina, equation (9)).
    #[default]
    PerAck,
    /// w' = i(w) w / R - d(w) p w(t - R) / R: growth with time (Misra, Gong and Towsley 2000; Wang et al., equation (1)).
    Rate,
}

/// What one congestion signal takes from the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Decrease {
    /// d(w) of the present window (Manjunath and Raina; Reddy).
    #[default]
    PerSignal,
    /// d as seen from the average over a sawtooth, 2 (1 - beta) / (1 + beta) w for AIMD (Wang et al., equation (1)).
    RoundAverage,
}

/// Which round-trip time the equations have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Rtt {
    /// The base round-trip time: queueing is neglected (Manjunath and Raina).
    #[default]
    Fixed,
    /// Base plus the queueing delay q / C of the path: a state-dependent delay.
    Queueing,
}

/// What a sender with a memory (CUBIC: W_max and the time since the last loss) is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Memory {
    /// All its states.
    #[default]
    States,
    /// A window alone, moved by the i(w) and d(w) that its states have at rest.
    AtRest,
}

/// Choices on which the papers differ. They are part of every result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choices {
    /// Form of the window equation.
    pub form: Form,
    /// What a signal takes.
    pub decrease: Decrease,
    /// Round-trip time.
    pub rtt: Rtt,
    /// Whether small windows follow their own law (Compound's Reno branch).
    pub small_windows: bool,
    /// What a sender with a memory is.
    pub memory: Memory,
    /// How RED's weight becomes a rate.
    pub averaging: Averaging,
    /// Whether RED's drop spacing counts: the mean rate that it gives ([`Spacing::rate`]) instead of the initial probability. The papers take the
    /// initial one, as for `spacing = "bernoulli"`.
    pub effective_spacing: bool,
    /// Queues between empty and full, probabilities in their piecewise form (true); or every law in the smooth piece that holds at the equilibrium,
    /// continued everywhere (false).
    pub clamped: bool,
}

impl Default for Choices {
    fn default() -> Self {
        Self {
            form: Form::default(),
            decrease: Decrease::default(),
            rtt: Rtt::default(),
            small_windows: false,
            memory: Memory::default(),
            averaging: Averaging::Linear,
            effective_spacing: true,
            clamped: false,
        }
    }
}

#[derive(Clone, Debug)]
struct Class {
    name: String,
    count: f64,
    rtt: f64,
    law: TcpLaw,
    values: Vec<(&'static str, Value)>,
    path: Vec<usize>,
    marked: bool,
    /// First of its states.
    at: usize,
    states: usize,
    /// Whether its state is the window itself.
    plain: bool,
    /// Whether its window at rest grows with what is sent, lost packets included: then it rests where the states of a sender with a memory do.
    timed: bool,
    /// A user's i(w) and d(w) in place of the law's.
    user: Option<Arc<dyn WindowLaw>>,
}

#[derive(Clone, Debug)]
struct Link {
    name: String,
    /// Packets/s.
    rate: f64,
    law: AqmLaw,
    values: Vec<(&'static str, Value)>,
    limit: f64,
    spacing: Spacing,
    /// Packets/s of traffic that does not react.
    background: f64,
    /// The classes that cross it.
    crossed_by: Vec<usize>,
    /// The queue's state, if the queue is one.
    queue: Option<usize>,
    /// First of the AQM's states.
    at: usize,
    states: usize,
}

/// A parameter of an algorithm that an analysis varies.
#[derive(Clone, Debug)]
struct Varied {
    of_link: bool,
    owner: usize,
    name: String,
    value: f64,
}

/// The equations of a scenario; a [`System`] of the delay crate.
///
/// Parameters of the system are, in order: `gain` (an exogenous factor kappa on all rates of change), the rate of each link, count and base round-trip
/// time of each class, then those enrolled by [`Model::parameter`].
#[derive(Clone, Debug)]
pub struct Model {
    choices: Choices,
    classes: Vec<Class>,
    links: Vec<Link>,
    /// Order in which traffic meets the links.
    order: Vec<usize>,
    varied: Vec<Varied>,
    dimension: usize,
    names: Vec<String>,
    notes: Vec<String>,
    /// Piece of each AQM's law, when held; `None` where it follows the state.
    pieces: Option<Vec<usize>>,
    /// Loss probabilities that a class's senders are given instead of the queues' own: its loop is open.
    opened: Vec<Option<f64>>,
    /// Whether senders hear of losses at once.
    undelayed: bool,
}

/// What follows from the parameters alone: the laws of every class and link, with the enrolled parameters in them, and sums over flows.
struct Prepared<S> {
    tcp: Vec<TcpLaw<S>>,
    aqm: Vec<AqmLaw<S>>,
    /// Flows that cross each link.
    flows: Vec<S>,
    /// All flows.
    total: S,
    /// 1 / rate of each link.
    per_packet: Vec<S>,
    /// 1 / RTT of each class and the mean RTT, where queueing does not change them.
    per_rtt: Vec<S>,
    mean_rtt: S,
    /// Whether a class's losses follow from queues and AQM states alone, without arrivals.
    local: bool,
}

/// What the network does in one state.
struct Network<S> {
    probability: [S; LARGEST],
    arrivals: [S; LARGEST],
    /// What enters a queue, a full queue's overflow not taken off.
    entering: [S; LARGEST],
    rtt: [S; LARGEST],
    /// Packets/s of one flow of each class.
    rate: [S; LARGEST],
    /// Fraction of a class's packets that are on their way still, and that have met no signal.
    left: [S; LARGEST],
    unsignalled: [S; LARGEST],
    mean_rtt: S,
}

impl<S: Scalar> Network<S> {
    fn new() -> Self {
        let zero = [S::from(0.0); LARGEST];
        Self {
            probability: zero,
            arrivals: zero,
            entering: zero,
            rtt: zero,
            rate: zero,
            left: zero,
            unsignalled: zero,
            mean_rtt: S::from(0.0),
        }
    }
}

fn unsupported<T>(what: impl Into<String>, why: impl Into<String>) -> Result<T> {
    Err(Error::Unsupported {
        what: what.into(),
        why: why.into(),
    })
}

fn mean_rtt(d: &Distribution) -> f64 {
    match d {
        Distribution::Fixed(v) | Distribution::Normal(v, _) | Distribution::Exponential(v) => *v,
        Distribution::List(list) => list.iter().sum::<f64>() / list.len() as f64,
        Distribution::Range(a, b) | Distribution::Uniform(a, b) => 0.5 * (a + b),
    }
}

impl Model {
    /// The equations of `scenario` with the given choices.
    ///
    /// # Errors
    /// [`Error::Unsupported`] names what has no equations: finite transfers, shared reverse paths, algorithms without a fluid law, unequal packets.
    pub fn from_scenario(scenario: &Scenario, choices: Choices) -> Result<Self> {
        if scenario.links.len() > LARGEST || scenario.flows.len() > LARGEST {
            return unsupported(
                format!(
                    "{} links and {} classes",
                    scenario.links.len(),
                    scenario.flows.len()
                ),
                format!("at most {LARGEST} of each"),
            );
        }
        let mut notes = Vec::new();
        let size = scenario
            .flows
            .iter()
            .find(|f| f.traffic.is_tcp())
            .map_or(1500, |f| f.packet_size);
        if scenario
            .flows
            .iter()
            .any(|f| f.traffic.is_tcp() && f.packet_size != size)
        {
            return unsupported(
                "packets of different sizes",
                "windows and queues are counted in packets of one size",
            );
        }
        if !scenario.changes.is_empty() {
            notes.push(
                "changes during the run are not applied: the equations are those of its start"
                    .to_owned(),
            );
        }
        let per_packet = 8.0 * f64::from(size);
        let mut background = vec![0.0; scenario.links.len()];
        let mut names = Vec::new();
        let mut classes = Vec::new();
        for flow in &scenario.flows {
            let what = || format!("class {}", flow.name);
            match &flow.traffic {
                Traffic::Bulk => {}
                Traffic::Cbr { rate } | Traffic::Poisson { rate, .. } => {
                    for l in &flow.path {
                        background[*l] += f64::from(flow.count) * rate / per_packet;
                    }
                    continue;
                }
                Traffic::OnOff { rate, on, off } => {
                    for l in &flow.path {
                        background[*l] +=
                            f64::from(flow.count) * rate * on / (on + off) / per_packet;
                    }
                    notes.push(format!(
                        "{}: on-off traffic enters by its mean rate",
                        what()
                    ));
                    continue;
                }
                Traffic::Transfer { .. } => {
                    return unsupported(
                        what(),
                        "finite transfers come and go; the equations are those of flows that stay",
                    );
                }
                Traffic::Http { .. } | Traffic::Arrivals { .. } | Traffic::PackMime { .. } => {
                    return unsupported(
                        what(),
                        "sessions and arrivals of short transfers come and go; the equations are those of flows that stay",
                    );
                }
                Traffic::AppLimited { .. } => {
                    return unsupported(
                        what(),
                        "a window that the application limits follows no law of its own",
                    );
                }
            }
            if flow.reverse_path.is_some() {
                return unsupported(what(), "acknowledgements that share queues");
            }
            let Some(law) = flow.tcp.congestion.fluid() else {
                return unsupported(
                    format!(
                        "congestion control {} of {}",
                        flow.tcp.congestion.kind(),
                        what()
                    ),
                    "it has no fluid law",
                );
            };
            if let Some(text) = flow.tcp.congestion.meta().and_then(|m| m.approximation) {
                notes.push(format!("{}: {text}", what()));
            }
            if !matches!(flow.rtt, Distribution::Fixed(_)) {
                notes.push(format!(
                    "{}: its round-trip times enter by their mean",
                    what()
                ));
            }
            if flow.access_rate.is_some() {
                notes.push(format!("{}: access links add delay only", what()));
            }
            if flow.tcp.max_window.is_some() {
                notes.push(format!(
                    "{}: the receiver's window is taken as no limit",
                    what()
                ));
            }
            if flow.tcp.delayed_ack {
                notes.push(format!(
                    "{}: every packet is acknowledged (no delayed acknowledgements)",
                    what()
                ));
            }
            let all = law.state_names();
            let state_names = match choices.memory {
                Memory::AtRest if all.len() > 1 => &["window (packets)"],
                _ => all,
            };
            classes.push(Class {
                name: flow.name.clone(),
                count: f64::from(flow.count),
                rtt: mean_rtt(&flow.rtt),
                law,
                values: flow.tcp.congestion.values(),
                path: flow.path.clone(),
                marked: flow.tcp.ecn,
                at: names.len(),
                states: state_names.len(),
                plain: state_names.len() == 1,
                timed: false,
                user: None,
            });
            names.extend(state_names.iter().map(|s| format!("{}.{s}", flow.name)));
        }
        if classes.is_empty() {
            return unsupported("a scenario without TCP", "nothing in it reacts");
        }
        let mut links = Vec::new();
        for (l, link) in scenario.links.iter().enumerate() {
            let limit = match link.capacity {
                Capacity::Packets(n) => f64::from(n),
                Capacity::Bytes(n) => n as f64 / f64::from(size),
                Capacity::Unlimited => f64::INFINITY,
            };
            let view = LinkView {
                rate: link.rate,
                delay: link.delay.seconds(),
                capacity_packets: limit,
            };
            if let Some(more) = link.packet_only() {
                return unsupported(
                    format!("{more} of link {}", link.name),
                    "only the packet engine follows single packets",
                );
            }
            let Some(law) = link.aqm.fluid(&view) else {
                return unsupported(
                    format!("AQM {} of link {}", link.aqm.kind(), link.name),
                    "it has no fluid law",
                );
            };
            if let Some(text) = link.aqm.meta().and_then(|m| m.approximation) {
                notes.push(format!("link {}: {text}", link.name));
            }
            let queue = (law.queue_model() == QueueModel::Integrated).then(|| {
                names.push(format!("{}.queue (packets)", link.name));
                names.len() - 1
            });
            let states = law.states();
            let spacing = if choices.effective_spacing {
                law.spacing()
            } else {
                Spacing::Bernoulli
            };
            if spacing != Spacing::Bernoulli {
                notes.push(format!(
                    "link {}: drops at p are counted at the mean rate of their spacing, about {:.2} p",
                    link.name,
                    spacing.rate_factor()
                ));
            }
            links.push(Link {
                name: link.name.clone(),
                rate: link.rate / per_packet,
                law,
                values: link.aqm.values(),
                limit,
                spacing,
                background: background[l],
                crossed_by: (0..classes.len())
                    .filter(|c| classes[*c].path.contains(&l))
                    .collect(),
                queue,
                at: names.len(),
                states,
            });
            names.extend(
                law.state_names()
                    .iter()
                    .map(|s| format!("{}.{s}", link.name)),
            );
        }
        // an AQM marks what can be marked only if it is told to
        let marks: Vec<bool> = scenario
            .links
            .iter()
            .map(|l| {
                l.aqm
                    .values()
                    .iter()
                    .any(|(name, v)| *name == "ecn" && *v == Value::Flag(true))
            })
            .collect();
        for class in &mut classes {
            class.marked &= class.path.iter().all(|l| marks[*l]);
        }
        let order = order(&classes, links.len())?;
        let classes_count = classes.len();
        Ok(Self {
            choices,
            classes,
            links,
            order,
            varied: Vec::new(),
            dimension: names.len(),
            names,
            notes,
            pieces: None,
            opened: vec![None; classes_count],
            undelayed: false,
        })
    }

    /// Puts a user's i(w) and d(w) in place of the law of a class whose state is its window.
    ///
    /// # Errors
    /// [`Error::Unsupported`] when there is no such class.
    pub fn set_law(&mut self, class: &str, law: Arc<dyn WindowLaw>) -> Result<()> {
        let Some(found) = self.classes.iter_mut().find(|c| c.name == class && c.plain) else {
            return unsupported(
                format!("a law of class {class}"),
                "there is no such class with a window alone",
            );
        };
        found.values.clear();
        found.user = Some(law);
        Ok(())
    }

    /// The choices that the equations follow.
    #[must_use]
    pub fn choices(&self) -> &Choices {
        &self.choices
    }

    /// What the equations leave out of the scenario.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Names of the states, with their units.
    #[must_use]
    pub fn state_names(&self) -> &[String] {
        &self.names
    }

    /// Names of the parameters of the system, in order.
    #[must_use]
    pub fn parameter_names(&self) -> Vec<String> {
        let mut names = vec!["gain".to_owned()];
        names.extend(
            self.links
                .iter()
                .map(|l| format!("{}.rate (packets/s)", l.name)),
        );
        for c in &self.classes {
            names.push(format!("{}.count", c.name));
            names.push(format!("{}.rtt (s)", c.name));
        }
        for v in &self.varied {
            let owner = if v.of_link {
                &self.links[v.owner].name
            } else {
                &self.classes[v.owner].name
            };
            names.push(format!("{owner}.{}", v.name));
        }
        names
    }

    /// The values of the parameters, in order.
    #[must_use]
    pub fn parameters(&self) -> Vec<f64> {
        let mut p = vec![1.0];
        p.extend(self.links.iter().map(|l| l.rate));
        for c in &self.classes {
            p.push(c.count);
            p.push(c.rtt);
        }
        p.extend(self.varied.iter().map(|v| v.value));
        p
    }

    /// The index of a parameter: `gain`, `<link>.rate` (packets/s), `<class>.count`, `<class>.rtt` (s), or any numeric parameter of an algorithm as
    /// `<link>.<name>` or `<class>.<name>`, which is enrolled on its first use.
    ///
    /// # Errors
    /// [`Error::Parameter`] when there is none of that name.
    pub fn parameter(&mut self, name: &str) -> Result<usize> {
        let fault = |why: String| {
            Err(Error::Parameter {
                name: name.to_owned(),
                why,
            })
        };
        if name == "gain" {
            return Ok(0);
        }
        let Some((owner, key)) = name.rsplit_once('.') else {
            return fault("expected `gain` or `<link or class>.<parameter>`".to_owned());
        };
        let base = 1 + self.links.len() + 2 * self.classes.len();
        let link = self.links.iter().position(|l| l.name == owner);
        let class = self.classes.iter().position(|c| c.name == owner);
        match (link, class, key) {
            (Some(l), _, "rate") => return Ok(1 + l),
            (_, Some(c), "count") => return Ok(1 + self.links.len() + 2 * c),
            (_, Some(c), "rtt") => return Ok(2 + self.links.len() + 2 * c),
            (None, None, _) => return fault(format!("no link or class is called {owner}")),
            _ => {}
        }
        let of_link = link.is_some();
        let owner = link.or(class).unwrap_or_default();
        if let Some(k) = self
            .varied
            .iter()
            .position(|v| v.of_link == of_link && v.owner == owner && v.name == key)
        {
            return Ok(base + k);
        }
        let values = if of_link {
            &self.links[owner].values
        } else {
            &self.classes[owner].values
        };
        match values.iter().find(|(name, _)| *name == key) {
            Some((name, Value::Number(value))) => {
                self.varied.push(Varied {
                    of_link,
                    owner,
                    name: (*name).to_owned(),
                    value: *value,
                });
                Ok(base + self.varied.len() - 1)
            }
            Some((_, Value::Word(word))) => fault(format!(
                "it is \"{word}\" in the scenario: give it a number to vary"
            )),
            Some(_) => fault("it is not a number".to_owned()),
            None => {
                let names: Vec<&str> = values.iter().map(|(name, _)| *name).collect();
                fault(format!(
                    "there is none of that name; there are {}",
                    names.join(", ")
                ))
            }
        }
    }

    /// Sets a parameter by its index.
    pub fn set(&mut self, index: usize, value: f64) {
        let links = self.links.len();
        let classes = self.classes.len();
        if (1..=links).contains(&index) {
            self.links[index - 1].rate = value;
        } else if index > links && index <= links + 2 * classes {
            let k = index - links - 1;
            let class = &mut self.classes[k / 2];
            *(if k.is_multiple_of(2) {
                &mut class.count
            } else {
                &mut class.rtt
            }) = value;
        } else if let Some(v) = self
            .varied
            .get_mut(index.wrapping_sub(1 + links + 2 * classes))
        {
            v.value = value;
        }
    }

    /// The same model with every AQM held in the given piece of its law, queues unbounded: smooth everywhere.
    #[must_use]
    pub fn held(&self, pieces: &[usize]) -> Self {
        Self {
            pieces: Some(pieces.to_vec()),
            ..self.clone()
        }
    }

    /// The same model with windows alone, at rest, in place of the states of senders with a memory, if there are any. Equilibria are sought in it: at rest W
    /// meets W_max to third order in CUBIC's states, so that Newton's method would find them to a few digits only.
    pub(crate) fn at_rest(&self) -> Option<Self> {
        if self.classes.iter().all(|c| c.plain) {
            return None;
        }
        let mut model = self.clone();
        let mut next = 0;
        for class in &mut model.classes {
            class.timed = !class.plain;
            (class.at, class.states, class.plain) = (next, 1, true);
            next += 1;
        }
        for link in &mut model.links {
            if let Some(queue) = &mut link.queue {
                *queue = next;
                next += 1;
            }
            link.at = next;
            next += link.states;
        }
        model.dimension = next;
        Some(model)
    }

    /// The state of this model that stands for the state `y` of its [`Model::at_rest`].
    pub(crate) fn with_memory(&self, rest: &Self, y: &[f64], p: &[f64]) -> Option<Vec<f64>> {
        let prepared = self.prepare::<f64>(p)?;
        let mut x = vec![0.0; self.dimension];
        for (c, (class, plain)) in self.classes.iter().zip(&rest.classes).enumerate() {
            let path = Path {
                rtt: rest.rtt(c, y, p),
                base_rtt: p[self.count_at(c) + 1],
            };
            let state = &mut x[class.at..class.at + class.states];
            if class.plain {
                state[0] = y[plain.at];
            } else {
                prepared.tcp[c].start(y[plain.at], &path, state);
            }
        }
        for (link, plain) in self.links.iter().zip(&rest.links) {
            if let (Some(to), Some(from)) = (link.queue, plain.queue) {
                x[to] = y[from];
            }
            x[link.at..link.at + link.states]
                .copy_from_slice(&y[plain.at..plain.at + plain.states]);
        }
        Some(x)
    }

    /// Whether every state moves by less than a billionth of itself in a round trip, all delayed states being the same.
    pub(crate) fn rests(&self, x: &[f64], p: &[f64]) -> bool {
        let mut slope = vec![0.0; self.dimension];
        let past = x.repeat(self.classes.len());
        System::rhs(self, Args { x, past: &past, p }, &mut slope);
        let rtt = (0..self.classes.len()).map(|c| self.rtt(c, x, p));
        let rtt = rtt.fold(0.0, f64::max);
        slope
            .iter()
            .zip(x)
            .all(|(f, x)| (f * rtt).abs() <= 1e-9 * x.abs())
    }

    /// The same model with the senders of some classes given constant loss probabilities: their loops are cut.
    pub(crate) fn opened(&self, signals: Vec<Option<f64>>) -> Self {
        Self {
            opened: signals,
            ..self.clone()
        }
    }

    /// The index of a class.
    pub(crate) fn class(&self, name: &str) -> Result<usize> {
        let found = self.classes.iter().position(|c| c.name == name);
        found.ok_or_else(|| {
            let names: Vec<&str> = self.classes.iter().map(|c| c.name.as_str()).collect();
            Error::Parameter {
                name: name.to_owned(),
                why: format!("no class is called so; there are {}", names.join(", ")),
            }
        })
    }

    /// The same equations with the feedback delay zero: senders hear at once, at unchanged rates. Theorems on global stability are about these.
    #[must_use]
    pub fn undelayed(&self) -> Self {
        Self {
            undelayed: true,
            ..self.clone()
        }
    }

    /// The border that a switch function of the system stands for.
    pub(crate) fn border(&self, switch: usize) -> Error {
        let mut borders = self
            .links
            .iter()
            .flat_map(|l| l.law.pieces().windows(2).map(|ends| (&l.name, ends)));
        match borders.nth(switch) {
            Some((link, ends)) => Error::OnBorder {
                link: link.clone(),
                below: ends[0],
                above: ends[1],
            },
            None => ackclock_delay::Error::OnClamp { switch }.into(),
        }
    }

    /// The queue of a link, if it is a state, and its limit.
    pub(crate) fn queue_of(&self, link: usize) -> Option<(usize, f64)> {
        let link = &self.links[link];
        link.queue.map(|q| (q, link.limit))
    }

    /// Name and window of each class, and the window below which its sender follows another law.
    pub(crate) fn windows(&self, x: &[f64], p: &[f64]) -> Vec<(&str, f64, f64)> {
        let Some(prepared) = self.prepare::<f64>(p) else {
            return Vec::new();
        };
        self.classes
            .iter()
            .enumerate()
            .map(|(c, class)| {
                let path = Path {
                    rtt: self.rtt(c, x, p),
                    base_rtt: p[self.count_at(c) + 1],
                };
                let below = prepared.tcp[c].small_below(&path);
                (class.name.as_str(), self.window(&prepared, c, x), below)
            })
            .collect()
    }

    /// State, number of flows and b of the decrease b w of each class; `None` if one is not AIMD.
    pub(crate) fn aimd_decreases(&self, p: &[f64]) -> Option<Vec<(usize, f64, f64)>> {
        let prepared = self.prepare::<f64>(p)?;
        self.classes
            .iter()
            .zip(&prepared.tcp)
            .enumerate()
            .map(|(c, (class, law))| {
                let aimd = class.user.is_none() && matches!(law, TcpLaw::Aimd(_) | TcpLaw::Reno(_));
                let fall = match self.choices.decrease {
                    Decrease::PerSignal => law.decrease(1.0),
                    Decrease::RoundAverage => round_average(1.0, law.decrease(1.0)),
                };
                aimd.then_some((class.at, p[self.count_at(c)], fall))
            })
            .collect()
    }

    /// The queue's state and the slope of the probability in it, if the model has a single link with no further states, held in a piece that is linear.
    pub(crate) fn only_queue(
        &self,
        pieces: &[usize],
        x: &[f64],
        p: &[f64],
    ) -> Option<(usize, f64)> {
        let [link] = self.links.as_slice() else {
            return None;
        };
        let queue = link.queue.filter(|_| link.states == 0)?;
        let held = self.held(pieces);
        let p: Vec<Dual64> = p.iter().map(|v| (*v).into()).collect();
        let prepared = held.prepare(&p)?;
        let slope = |q: f64| {
            let mut x: Vec<Dual64> = x.iter().map(|v| (*v).into()).collect();
            x[queue] = Dual64::new(q, 1.0);
            let mut net = Network::new();
            held.network(&prepared, &x, &p, &mut net);
            net.probability[0].eps
        };
        let here = slope(x[queue]);
        (here > 0.0 && slope(1.5 * x[queue]) == here).then_some((queue, here))
    }

    /// Number of pieces of each link's law.
    pub(crate) fn piece_counts(&self) -> Vec<usize> {
        self.links.iter().map(|l| l.law.pieces().len()).collect()
    }

    /// The names of the pieces that the links are in.
    pub(crate) fn piece_names(&self, pieces: &[usize]) -> Vec<&'static str> {
        self.links
            .iter()
            .zip(pieces)
            .map(|(l, k)| l.law.pieces()[*k])
            .collect()
    }

    /// Window (packets), round-trip time (s) and sending rate of one flow (packets/s) of each class, and arrivals (packets/s) of each link, at a state.
    #[must_use]
    pub fn rates(&self, x: &[f64], p: &[f64]) -> [Vec<f64>; 4] {
        let mut net = Network::new();
        match self.prepare::<f64>(p) {
            Some(prepared) => self.network(&prepared, x, p, &mut net),
            None => net.rate = [f64::NAN; LARGEST],
        }
        let (classes, links) = (self.classes.len(), self.links.len());
        let windows = (0..classes).map(|c| net.rate[c] * net.rtt[c]).collect();
        [
            windows,
            net.rtt[..classes].to_vec(),
            net.rate[..classes].to_vec(),
            net.arrivals[..links].to_vec(),
        ]
    }

    /// The pieces of the AQMs' laws at a state, by name.
    #[must_use]
    pub fn pieces_named(&self, x: &[f64], p: &[f64]) -> Vec<&'static str> {
        self.piece_names(&self.pieces_at(x, p))
    }

    /// The state of senders with a window of `window` packets over empty queues, averages at zero, rates at the links'.
    #[must_use]
    pub fn empty(&self, window: f64) -> Vec<f64> {
        let mut x = vec![0.0; self.dimension];
        for link in &self.links {
            for (k, name) in link.law.state_names().iter().enumerate() {
                if name.contains("(packets/s)") {
                    x[link.at + k] = link.rate;
                }
            }
        }
        for class in &self.classes {
            let state = &mut x[class.at..class.at + class.states];
            if class.plain {
                state[0] = window;
            } else {
                class.law.start(window, &Path::fixed(class.rtt), state);
            }
        }
        x
    }

    pub(crate) fn link_name(&self, link: usize) -> &str {
        &self.links[link].name
    }

    /// Queues between empty and full, windows of at least one packet.
    pub(crate) fn clamps(&self) -> Vec<Bound> {
        let queues = self.links.iter().filter_map(|l| {
            l.queue.map(|q| Bound {
                state: q,
                lower: 0.0,
                upper: l.limit,
            })
        });
        // a sender keeps at least one packet in flight
        let windows = self.classes.iter().filter(|c| c.plain).map(|c| Bound {
            state: c.at,
            lower: 1.0,
            upper: f64::INFINITY,
        });
        queues.chain(windows).collect()
    }

    pub(crate) fn link_count(&self) -> usize {
        self.links.len()
    }

    /// Piece of each link's law at a state.
    pub(crate) fn pieces_at(&self, x: &[f64], p: &[f64]) -> Vec<usize> {
        let Some(prepared) = self.prepare::<f64>(p) else {
            return vec![0; self.links.len()];
        };
        let mut net = Network::new();
        self.network(&prepared, x, p, &mut net);
        (0..self.links.len())
            .map(|l| {
                let input = self.input(&prepared, &net, l, x, p);
                prepared.aqm[l].piece(&input, self.aqm_state(l, x))
            })
            .collect()
    }

    /// Loss or marking probability of each link, and of each class's path, at a state.
    #[must_use]
    pub fn probabilities(&self, x: &[f64], p: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let mut net = Network::new();
        match self.prepare::<f64>(p) {
            Some(prepared) => self.network(&prepared, x, p, &mut net),
            None => (net.probability, net.unsignalled) = ([f64::NAN; LARGEST], [f64::NAN; LARGEST]),
        }
        (
            net.probability[..self.links.len()].to_vec(),
            net.unsignalled[..self.classes.len()]
                .iter()
                .map(|u| 1.0 - u)
                .collect(),
        )
    }

    /// Whether what a state says can be: nobody without a window (an idle class rests, in equations that grow with acknowledgements), queues not negative,
    /// probabilities between zero and one.
    #[must_use]
    pub fn sensible(&self, x: &[f64], p: &[f64]) -> bool {
        let (links, _) = self.probabilities(x, p);
        self.classes.iter().all(|c| x[c.at] > 1e-6)
            && self
                .links
                .iter()
                .all(|l| l.queue.is_none_or(|q| x[q] >= 0.0 && x[q] <= l.limit))
            && links.iter().all(|v| (0.0..=1.0).contains(v))
    }

    /// A state to search from: every link shared fairly, with `fill` packets in every queue.
    pub(crate) fn start(&self, fill: f64, stretch: f64, p: &[f64]) -> Vec<f64> {
        let mut x = vec![0.0; self.dimension];
        let Some(prepared) = self.prepare::<f64>(p) else {
            return x;
        };
        let flows = &prepared.flows;
        for link in &self.links {
            let fill = fill.min(0.9 * link.limit);
            if let Some(q) = link.queue {
                x[q] = fill;
            }
            // an average starts at its queue, an integral of a probability at a small one
            for k in 0..link.states {
                let name = link.law.state_names()[k];
                if name.contains("(packets)") {
                    x[link.at + k] = fill;
                } else if !name.contains("(packets/s)") {
                    x[link.at + k] = 0.01;
                }
            }
        }
        // and a rate at the link's
        for (l, link) in self.links.iter().enumerate() {
            for k in 0..link.states {
                if link.law.state_names()[k].contains("(packets/s)") {
                    x[link.at + k] = p[1 + l];
                }
            }
        }
        for (c, class) in self.classes.iter().enumerate() {
            let share = class
                .path
                .iter()
                .map(|l| (p[1 + l] - self.links[*l].background).max(0.01 * p[1 + l]) / flows[*l])
                .fold(f64::INFINITY, f64::min);
            let base = p[self.count_at(c) + 1];
            let queueing: f64 = if self.choices.rtt == Rtt::Queueing {
                class
                    .path
                    .iter()
                    .map(|l| self.links[*l].queue.map_or(0.0, |q| x[q] / p[1 + l]))
                    .sum()
            } else {
                0.0
            };
            let rtt = base + queueing;
            let window = stretch * share * rtt;
            let path = Path {
                rtt,
                base_rtt: base,
            };
            let state = &mut x[class.at..class.at + class.states];
            if class.plain {
                state[0] = window;
            } else {
                prepared.tcp[c].start(window, &path, state);
            }
        }
        x
    }

    fn count_at(&self, class: usize) -> usize {
        1 + self.links.len() + 2 * class
    }

    /// The laws over a scalar, with the enrolled parameters in them; `None` when one does not take its value.
    fn prepare<S: Scalar>(&self, p: &[S]) -> Option<Prepared<S>> {
        let mut tcp: Vec<TcpLaw<S>> = self.classes.iter().map(|c| c.law.lift()).collect();
        let mut aqm: Vec<AqmLaw<S>> = self.links.iter().map(|l| l.law.lift()).collect();
        let base = 1 + self.links.len() + 2 * self.classes.len();
        for (v, value) in self.varied.iter().zip(&p[base..]) {
            let done = if v.of_link {
                aqm[v.owner].set(&v.name, *value)
            } else {
                tcp[v.owner].set(&v.name, *value)
            };
            if done.is_err() {
                return None;
            }
        }
        let sum = |classes: &mut dyn Iterator<Item = usize>| {
            classes.fold(S::from(0.0), |sum, c| sum + p[self.count_at(c)])
        };
        let total = sum(&mut (0..self.classes.len()));
        let one = S::from(1.0);
        let mut mean_rtt = S::from(0.0);
        for c in 0..self.classes.len() {
            mean_rtt += p[self.count_at(c)] * p[self.count_at(c) + 1];
        }
        Some(Prepared {
            per_packet: (0..self.links.len()).map(|l| one / p[1 + l]).collect(),
            per_rtt: (0..self.classes.len())
                .map(|c| one / p[self.count_at(c) + 1])
                .collect(),
            mean_rtt: mean_rtt / total,
            flows: self
                .links
                .iter()
                .map(|l| sum(&mut l.crossed_by.iter().copied()))
                .collect(),
            total,
            local: self.links.iter().all(|l| l.law.local()),
            tcp,
            aqm,
        })
    }

    fn aqm_state<'a, S>(&self, l: usize, x: &'a [S]) -> &'a [S] {
        &x[self.links[l].at..self.links[l].at + self.links[l].states]
    }

    /// Round-trip time of a class.
    #[inline]
    fn rtt<S: Scalar>(&self, c: usize, x: &[S], p: &[S]) -> S {
        let mut rtt = p[self.count_at(c) + 1];
        if self.choices.rtt == Rtt::Queueing {
            for l in &self.classes[c].path {
                if let Some(q) = self.links[*l].queue {
                    rtt += x[q] / p[1 + l];
                }
            }
        }
        rtt
    }

    /// The same with what is prepared.
    #[inline]
    fn prepared_rtt<S: Scalar>(&self, prepared: &Prepared<S>, c: usize, x: &[S], p: &[S]) -> S {
        let mut rtt = p[self.count_at(c) + 1];
        if self.choices.rtt == Rtt::Queueing {
            for l in &self.classes[c].path {
                if let Some(q) = self.links[*l].queue {
                    rtt += x[q] * prepared.per_packet[*l];
                }
            }
        }
        rtt
    }

    #[inline]
    fn window<S: Scalar>(&self, prepared: &Prepared<S>, c: usize, x: &[S]) -> S {
        let class = &self.classes[c];
        if class.plain {
            x[class.at]
        } else {
            prepared.tcp[c].window(&x[class.at..class.at + class.states])
        }
    }

    #[inline]
    fn input<S: Scalar>(
        &self,
        prepared: &Prepared<S>,
        net: &Network<S>,
        l: usize,
        x: &[S],
        p: &[S],
    ) -> AqmInput<S> {
        AqmInput {
            queue: self.links[l].queue.map_or(S::from(0.0), |q| x[q]),
            arrivals: net.arrivals[l],
            service: p[1 + l],
            limit: self.links[l].limit,
            sampling: p[1 + l],
            averaging: self.choices.averaging,
            flows: prepared.flows[l],
            rtt: net.mean_rtt,
        }
    }

    /// What the AQM of a link drops or marks, before a full queue's overflow.
    #[inline]
    fn managed<S: Scalar>(
        &self,
        prepared: &Prepared<S>,
        input: &AqmInput<S>,
        l: usize,
        x: &[S],
    ) -> S {
        let law = &prepared.aqm[l];
        let state = self.aqm_state(l, x);
        let piece = match &self.pieces {
            Some(pieces) => pieces[l],
            None => law.piece(input, state),
        };
        self.links[l]
            .spacing
            .rate(law.probability(input, state, piece))
    }

    /// Whether a queue is at its limit and may overflow.
    #[inline]
    fn full<S: Scalar>(&self, l: usize, x: &[S]) -> bool {
        let link = &self.links[l];
        self.pieces.is_none()
            && link
                .queue
                .is_some_and(|q| x[q].real() >= link.limit * (1.0 - 1e-12))
    }

    fn network<S: Scalar>(&self, prepared: &Prepared<S>, x: &[S], p: &[S], net: &mut Network<S>) {
        let zero = S::from(0.0);
        let one = S::from(1.0);
        let fixed = self.choices.rtt == Rtt::Fixed;
        net.mean_rtt = if fixed { prepared.mean_rtt } else { zero };
        for c in 0..self.classes.len() {
            let window = self.window(prepared, c, x);
            let rtt = self.prepared_rtt(prepared, c, x, p);
            net.rtt[c] = rtt;
            if fixed {
                net.rate[c] = window * prepared.per_rtt[c];
            } else {
                net.rate[c] = window / rtt;
                net.mean_rtt += p[self.count_at(c)] * rtt;
            }
            net.left[c] = one;
            net.unsignalled[c] = one;
        }
        if !fixed {
            net.mean_rtt /= prepared.total;
        }
        for &l in &self.order {
            let link = &self.links[l];
            let mut arrivals = S::from(link.background);
            for &c in &link.crossed_by {
                arrivals += p[self.count_at(c)] * net.rate[c] * net.left[c];
            }
            net.arrivals[l] = arrivals;
            let input = self.input(prepared, net, l, x, p);
            let managed = self.managed(prepared, &input, l, x);
            let extra = if self.full(l, x) {
                overflow(arrivals * (one - managed), p[1 + l])
            } else {
                zero
            };
            let lost = managed + (one - managed) * extra;
            net.probability[l] = lost;
            let mut entering = S::from(link.background) * (one - managed);
            for &c in &link.crossed_by {
                let kept = if self.classes[c].marked {
                    one
                } else {
                    one - managed
                };
                entering += p[self.count_at(c)] * net.rate[c] * net.left[c] * kept;
                net.left[c] *= kept * (one - extra);
                net.unsignalled[c] *= one - lost;
            }
            net.entering[l] = entering;
        }
    }

    /// What a sender hears of a past state: its own rate then, packets/s, and the fraction of it lost or marked.
    #[inline]
    fn heard<S: Scalar>(
        &self,
        prepared: &Prepared<S>,
        c: usize,
        past: &[S],
        p: &[S],
        work: &mut Network<S>,
    ) -> (S, S) {
        let one = S::from(1.0);
        let path = &self.classes[c].path;
        if !prepared.local || path.iter().any(|l| self.full(*l, past)) {
            self.network(prepared, past, p, work);
            return (work.rate[c], one - work.unsignalled[c]);
        }
        let mut unsignalled = one;
        for &l in path {
            let input = self.input(prepared, work, l, past, p);
            unsignalled *= one - self.managed(prepared, &input, l, past);
        }
        let window = self.window(prepared, c, past);
        let rate = match self.choices.rtt {
            Rtt::Fixed => window * prepared.per_rtt[c],
            Rtt::Queueing => window / self.prepared_rtt(prepared, c, past, p),
        };
        (rate, one - unsignalled)
    }

    /// The right-hand side.
    #[inline]
    fn field<S: Scalar>(
        &self,
        prepared: &Prepared<S>,
        at: Args<'_, S>,
        now: &mut Network<S>,
        work: &mut Network<S>,
        out: &mut [S],
    ) {
        let n = self.dimension;
        let one = S::from(1.0);
        self.network(prepared, at.x, at.p, now);
        for (c, class) in self.classes.iter().enumerate() {
            let past = &at.past[c * n..(c + 1) * n];
            let (rate, lost) = self.heard(prepared, c, past, at.p, work);
            let lost = self.opened[c].map_or(lost, S::from);
            let state = &at.x[class.at..class.at + class.states];
            let rates = &mut out[class.at..class.at + class.states];
            let path = Path {
                rtt: now.rtt[c],
                base_rtt: at.p[self.count_at(c) + 1],
            };
            let acks = match self.choices.form {
                Form::PerAck if !class.timed => (one - lost) * rate,
                _ => now.rate[c],
            };
            let signals = lost * rate;
            let tcp = &prepared.tcp[c];
            if class.plain {
                let window = state[0];
                let small =
                    self.choices.small_windows && window.real() < tcp.small_below(&path).real();
                let (grow, fall) = if let Some(user) = &class.user {
                    user::law(&**user, window, path.rtt)
                } else if small {
                    tcp.small_window(window)
                } else {
                    (tcp.increase(window, &path), tcp.decrease(window))
                };
                let fall = match self.choices.decrease {
                    Decrease::PerSignal => fall,
                    Decrease::RoundAverage => round_average(window, fall),
                };
                rates[0] = grow * acks - fall * signals;
            } else {
                let input = TcpInput {
                    acks,
                    signals,
                    path,
                };
                tcp.derivative(&input, state, rates);
            }
        }
        for (l, link) in self.links.iter().enumerate() {
            if let Some(q) = link.queue {
                out[q] = now.entering[l] - at.p[1 + l];
            }
            if link.states > 0 {
                let input = self.input(prepared, now, l, at.x, at.p);
                prepared.aqm[l].derivative(
                    &input,
                    self.aqm_state(l, at.x),
                    &mut out[link.at..link.at + link.states],
                );
            }
        }
        let gain = at.p[0];
        for v in out.iter_mut() {
            *v *= gain;
        }
    }
}

/// The model with its parameters settled.
struct Fixed<'a> {
    model: &'a Model,
    p: Vec<f64>,
    prepared: Prepared<f64>,
    now: Network<f64>,
    work: Network<f64>,
}

impl Settled for Fixed<'_> {
    fn rhs(&mut self, x: &[f64], past: &[f64], out: &mut [f64]) {
        let p = &self.p;
        let (now, work) = (&mut self.now, &mut self.work);
        self.model
            .field(&self.prepared, Args { x, past, p }, now, work, out);
    }

    fn delay(&self, j: usize, x: &[f64], _: &[f64]) -> f64 {
        if self.model.undelayed {
            0.0
        } else {
            self.model.prepared_rtt(&self.prepared, j, x, &self.p)
        }
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

impl System for Model {
    fn dimension(&self) -> usize {
        self.dimension
    }

    fn delays(&self) -> usize {
        self.classes.len()
    }

    fn state_dependent(&self) -> bool {
        self.choices.rtt == Rtt::Queueing && self.links.iter().any(|l| l.queue.is_some())
    }

    fn rhs<S: Scalar>(&self, at: Args<'_, S>, out: &mut [S]) {
        match self.prepare(at.p) {
            Some(prepared) => {
                let (mut now, mut work) = (Network::new(), Network::new());
                self.field(&prepared, at, &mut now, &mut work, out);
            }
            None => out.fill(S::from(f64::NAN)),
        }
    }

    fn delay<S: Scalar>(&self, j: usize, at: Args<'_, S>) -> S {
        if self.undelayed {
            S::from(0.0)
        } else {
            self.rtt(j, at.x, at.p)
        }
    }

    fn settle<'a>(&'a self, p: &[f64]) -> Option<Box<dyn Settled + 'a>> {
        Some(Box::new(Fixed {
            model: self,
            p: p.to_vec(),
            prepared: self.prepare(p)?,
            now: Network::new(),
            work: Network::new(),
        }))
    }

    /// One for each border between two pieces of an AQM's law.
    fn switches(&self) -> usize {
        if self.pieces.is_some() {
            0
        } else {
            self.links.iter().map(|l| l.law.pieces().len() - 1).sum()
        }
    }

    fn switch(&self, at: Args<'_, f64>, out: &mut [f64]) {
        if out.is_empty() {
            return;
        }
        let pieces = self.pieces_at(at.x, at.p);
        let mut slot = 0;
        for (link, piece) in self.links.iter().zip(pieces) {
            for border in 0..link.law.pieces().len() - 1 {
                out[slot] = piece as f64 - border as f64 - 0.5;
                slot += 1;
            }
        }
    }

    fn bounds(&self, _: &[f64]) -> Vec<Bound> {
        if self.pieces.is_some() {
            Vec::new()
        } else {
            self.clamps()
        }
    }
}
