//! From a scenario to a system of delay-differential equations.
//!
//! A class of N flows with windows w and round-trip time R sends x = N w / R packets a second. Each
//! link i on its path loses or marks the fraction p_i of what reaches it. A sender hears after one
//! round trip of what it sent then: its window follows the law of its congestion control
//! ([`ackclock_algorithms::fluid::FluidTcp`]), driven by w(t - R) / R and the path's loss
//! probability at t - R. A queue integrates arrivals less service. A sender behind an access link
//! of rate a sends min(w / R, a): what its window has beyond a R waits at its own link and is part
//! of its round trip, w / a then. The delay from sender to queue is neglected against the whole
//! round trip, as in all the papers below.
//!
//! Sources: Manjunath and Raina, "Compound TCP with RED", equations (1), (9), (26), (36); Misra,
//! Gong and Towsley 2000; Wang, Cai, Liu and Shen, "AIMD congestion control", equations (1) and
//! (2).

mod alone;
mod equations;
mod state;
mod translate;

use std::sync::Arc;

use ackclock_algorithms::aqm::Spacing;
use ackclock_algorithms::fluid::{Averaging, random_losses, round_average};
use ackclock_algorithms::registry::{AqmLaw, TcpLaw};
use ackclock_algorithms::{Scalar, Value};
use ackclock_averages::{Access, Flows};
use ackclock_scenario::Scenario;

use crate::error::{Error, Result};
use crate::user::WindowLaw;

/// At most so many links, and as many classes: sums over them live on the stack.
pub const MAX_LINKS: usize = 16;

/// Which form of the window equation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Form {
    /// w' = (i(w) (1 - p) - d(w) p) w(t - R) / R: growth with acknowledgements (Manjunath and
    /// Raina, equation (9)).
    #[default]
    PerAck,
    /// w' = i(w) w / R - d(w) p w(t - R) / R: growth with time (Misra, Gong and Towsley 2000; Wang
    /// et al., equation (1)).
    Rate,
}

/// Decrease by one congestion signal of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Decrease {
    /// d(w) of the present window (Manjunath and Raina; Reddy).
    #[default]
    PerSignal,
    /// d as seen from the average over a sawtooth, 2 (1 - beta) / (1 + beta) w for AIMD (Wang et
    /// al., equation (1)).
    RoundAverage,
    /// d as losses at random take it from windows of which the state is the mean, in proportion to
    /// `E[w^2] / E[w]^2` ([`random_losses`]).
    ///
    /// [`random_losses`]: ackclock_algorithms::fluid::random_losses
    Random,
}

impl Decrease {
    /// Returns what a signal takes from a window of `window` packets, of which the sender's law
    /// takes
    /// `fall`.
    pub(crate) fn of<S: Scalar>(self, window: S, fall: S) -> S {
        match self {
            Self::PerSignal => fall,
            Self::RoundAverage => round_average(window, fall),
            Self::Random => random_losses(window, fall),
        }
    }
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

/// Memory of a sender (CUBIC: W_max and the time since the last loss).
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
    /// Decrease by a signal.
    pub decrease: Decrease,
    /// Round-trip time.
    pub rtt: Rtt,
    /// Whether small windows follow their own law (Compound's Reno branch).
    pub small_windows: bool,
    /// Memory of the sender.
    pub memory: Memory,
    /// How RED's weight becomes a rate.
    pub averaging: Averaging,
    /// Whether RED's drop spacing counts: the mean rate that it gives ([`Spacing::rate`]) instead
    /// of the initial probability. The papers take the initial one, as for `spacing = "bernoulli"`.
    pub effective_spacing: bool,
    /// True: queues stay between empty and full, and laws follow all their regimes. False: every
    /// law stays in the smooth regime that holds at the equilibrium, continued everywhere.
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

impl Choices {
    /// The choices for a scenario where nobody chooses, as the packets have it: round trips with
    /// queueing, small windows with their own law, weights as exact rates, clamped; senders with a
    /// memory as at rest, which alone gives CUBIC its Reno-friendly region and a verdict.
    #[must_use]
    pub fn usual(scenario: &Scenario) -> Self {
        let rests = |class| {
            let flows = Flows::new(scenario, class, scenario.flows[class].packet_size);
            matches!(flows, Ok(Flows::Sender(sender)) if sender.law.at_equilibrium())
        };
        Self {
            rtt: Rtt::Queueing,
            small_windows: true,
            memory: if (0..scenario.flows.len()).any(rests) {
                Memory::AtRest
            } else {
                Memory::States
            },
            averaging: Averaging::Exponential,
            clamped: true,
            ..Self::default()
        }
    }
}

#[derive(Clone, Debug)]
struct Class {
    name: String,
    count: f64,
    /// Base round-trip time of the scenario: transmission on access links comes on top.
    rtt: f64,
    access: Option<Access>,
    /// Addition of the wires of its path to the round trip on average, s.
    jitter: f64,
    law: TcpLaw,
    values: Vec<(&'static str, Value)>,
    path: Vec<usize>,
    priority: u8,
    marked: bool,
    /// Whether it goes through the queue for scalable senders of links that have one.
    low_latency: bool,
    /// First of its states.
    at: usize,
    states: usize,
    /// Whether its state is the window itself.
    plain: bool,
    /// Whether its window at rest grows with what is sent, lost packets included: then it rests
    /// where the states of a sender with a memory do.
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
    packet_weight: f64,
    /// Packets/s of traffic that does not react.
    background: f64,
    /// The same by priority.
    background_of: Vec<(u8, f64)>,
    /// Fraction of what leaves the queue that the wire loses.
    wire_loss: f64,
    /// The classes that cross it.
    crossed_by: Vec<usize>,
    /// How a queue for scalable senders is coupled to its own, if there is one.
    coupled: Option<Coupled>,
    /// The queue's state, if the queue is one.
    queue: Option<usize>,
    /// First of the AQM's states.
    at: usize,
    states: usize,
}

/// A queue for scalable senders that goes first and stays empty, beside the link's own queue for
/// all others.
#[derive(Clone, Copy, Debug)]
struct Coupled {
    /// Scalable packets are marked with `factor` times the root of the classic probability.
    factor: f64,
    /// Share of the link that the classic queue keeps.
    classic_share: f64,
}

impl Coupled {
    /// The probability of a mark where classic packets meet `classic`.
    fn mark<S: Scalar>(&self, classic: S) -> S {
        if classic.re() <= 0.0 {
            return S::from_f64(0.0);
        }
        let marked = classic.sqrt() * self.factor;
        if marked.re() < 1.0 {
            marked
        } else {
            S::from_f64(1.0)
        }
    }
}

impl Link {
    /// Whether its queue can be full.
    fn overflows(&self) -> bool {
        self.queue.is_some() && self.limit.is_finite()
    }
}

/// Feedback that a sender hears of its path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Heard {
    /// Fraction of its packets lost or marked.
    pub lost: f64,
    /// The round-trip time that it measures, s.
    pub rtt: f64,
}

/// A parameter of an algorithm that an analysis varies.
#[derive(Clone, Debug)]
struct Varied {
    of_link: bool,
    owner: usize,
    name: String,
    value: f64,
}

/// The equations of a scenario; a [`System`](ackclock_delay::System) of the delay crate.
///
/// Parameters of the system are, in order: `gain` (an exogenous factor kappa on all rates of
/// change), the rate of each link, count and base round-trip time of each class, then those
/// enrolled by [`Model::parameter`].
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
    /// Regime of each link, when frozen: a regime of its AQM's law, and with the number of regimes
    /// added, that regime and a queue that overflows. `None` where it follows the state.
    regimes: Option<Vec<usize>>,
    /// Whether each class follows its law of small windows, when frozen. `None` where that follows
    /// the window.
    small: Option<Vec<bool>>,
    /// Feedback that a class's senders get instead of what the queues do: its loop is open.
    opened: Vec<Option<Heard>>,
    /// Whether senders hear of losses at once.
    undelayed: bool,
    /// Whether its one flow stands for many, each with a queue and a share of the link: rate and
    /// number of flows are then a flow's.
    one_of: bool,
}

fn unsupported<T>(what: impl Into<String>, why: impl Into<String>) -> Result<T> {
    Err(Error::Unsupported {
        what: what.into(),
        why: why.into(),
    })
}

impl Model {
    /// Puts a user's i(w) and d(w) in place of the law of a class whose state is its window.
    ///
    /// # Errors
    /// [`Error::Unsupported`] when there is no such class.
    pub fn set_law(&mut self, class: &str, law: Arc<dyn WindowLaw>) -> Result<()> {
        let Some(group) = self.classes.iter_mut().find(|c| c.name == class && c.plain) else {
            return unsupported(
                format!("a law of class {class}"),
                "there is no such class with a window alone",
            );
        };
        group.values.clear();
        group.user = Some(law);
        Ok(())
    }

    /// The choices that the equations follow.
    #[must_use]
    pub fn choices(&self) -> &Choices {
        &self.choices
    }

    /// Returns notes on what the equations leave out of the scenario.
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

    /// The index of a parameter: `gain`, `<link>.rate` (packets/s), `<class>.count`, `<class>.rtt`
    /// (s), or any numeric parameter of an algorithm as
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
        if self.one_of && matches!(key, "count" | "rate") {
            return fault(
                "each flow has a queue of its own: what it has is its share, the rate over the number of flows"
                    .to_owned(),
            );
        }
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

    /// The same model with every AQM frozen in the given regime of its law, queues unbounded:
    /// smooth everywhere.
    #[must_use]
    pub fn frozen(&self, regimes: &[usize]) -> Self {
        Self {
            regimes: Some(regimes.to_vec()),
            ..self.clone()
        }
    }

    /// The same model with every class frozen in its law of small windows, or above it: smooth
    /// where the window passes from one to the other.
    #[must_use]
    pub(crate) fn frozen_small(&self, small: &[bool]) -> Self {
        Self {
            small: (!small.is_empty()).then(|| small.to_vec()),
            ..self.clone()
        }
    }

    /// The same model with the senders of some classes told the same whatever the queues do: their
    /// loops are cut.
    pub(crate) fn opened(&self, heard: Vec<Option<Heard>>) -> Self {
        Self {
            opened: heard,
            ..self.clone()
        }
    }

    /// The index of a class.
    pub(crate) fn class(&self, name: &str) -> Result<usize> {
        let index = self.classes.iter().position(|c| c.name == name);
        index.ok_or_else(|| {
            let names: Vec<&str> = self.classes.iter().map(|c| c.name.as_str()).collect();
            Error::Parameter {
                name: name.to_owned(),
                why: format!("no class is called so; there are {}", names.join(", ")),
            }
        })
    }

    /// The same equations with the feedback delay zero: senders hear at once, at unchanged rates.
    /// Theorems on global stability are about these.
    #[must_use]
    pub fn undelayed(&self) -> Self {
        Self {
            undelayed: true,
            ..self.clone()
        }
    }

    /// The switching boundary that a switch function of the system stands for.
    pub(crate) fn boundary(&self, switch: usize) -> Error {
        let mut boundaries = self
            .links
            .iter()
            .flat_map(|l| l.law.regimes().windows(2).map(|ends| (&l.name, ends)));
        match boundaries.nth(switch) {
            Some((link, ends)) => Error::OnBoundary {
                link: link.clone(),
                below: ends[0],
                above: ends[1],
            },
            None => ackclock_delay::Error::OnClamp { switch }.into(),
        }
    }

    /// Number of regimes of each link: those of its law, and where its queue can be full, as many
    /// again in which it overflows.
    pub(crate) fn regime_counts(&self) -> Vec<usize> {
        self.links
            .iter()
            .map(|l| l.law.regimes().len() * if l.overflows() { 2 } else { 1 })
            .collect()
    }

    /// The names of the regimes that the links are in.
    pub(crate) fn regime_names(&self, regimes: &[usize]) -> Vec<&'static str> {
        self.links
            .iter()
            .zip(regimes)
            .map(|(l, k)| l.law.regimes().get(*k).copied().unwrap_or("overflow"))
            .collect()
    }

    /// Whether a queue overflows in these regimes.
    pub(crate) fn overflows(&self, regimes: &[usize]) -> bool {
        let mut links = self.links.iter().zip(regimes);
        links.any(|(l, k)| *k >= l.law.regimes().len())
    }

    /// A state with the queues that overflow in these regimes exactly at their limits.
    pub(crate) fn filled(&self, regimes: Option<&[usize]>, mut x: Vec<f64>) -> Vec<f64> {
        for (link, regime) in self.links.iter().zip(regimes.unwrap_or_default()) {
            if let Some(queue) = link.queue
                && *regime >= link.law.regimes().len()
            {
                x[queue] = link.limit;
            }
        }
        x
    }

    pub(crate) fn link_name(&self, link: usize) -> &str {
        &self.links[link].name
    }

    pub(crate) fn link_count(&self) -> usize {
        self.links.len()
    }

    pub(crate) fn class_count(&self) -> usize {
        self.classes.len()
    }
}
