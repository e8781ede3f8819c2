//! Plain inputs of the engine: one bottleneck, classes of flows, events.

use std::fmt::Debug;
use std::sync::Arc;

use ackclock_algorithms::aqm::Spacing;
use ackclock_algorithms::fluid::{AqmInput, AqmStart, Averaging, QueueModel};
use ackclock_algorithms::registry::AqmLaw;

use crate::error::Error;
use crate::law::{Hazard, WindowLaw};

/// How an AQM drops or marks on average.
pub trait QueueLaw: Debug + Send + Sync {
    /// The queue (packets) at which it drops or marks every packet, where it does nothing below;
    /// its probability is not asked for then.
    fn hard_limit(&self) -> Option<f64> {
        None
    }
    /// Number of state variables of its own.
    fn states(&self) -> usize {
        0
    }
    /// Writes the state variables over an empty queue of a link that sends `rate` packets/s to
    /// `state`.
    fn start(&self, _rate: f64, state: &mut [f64]) {
        state.fill(0.0);
    }
    /// Writes the time derivative of each state variable (per second) to `rate`.
    fn derivative(&self, _input: &AqmInput, _state: &[f64], _rate: &mut [f64]) {}
    /// Fraction of arriving packets that are dropped or marked; the overflow of a full queue comes
    /// on top.
    fn probability(&self, input: &AqmInput, state: &[f64]) -> f64;
    /// Whether it never drops or marks by itself: only a full queue does.
    fn overflow_only(&self) -> bool {
        false
    }
    /// Whether it takes the queue to be in equilibrium with the rate of arrivals, and follows that
    /// rate: then a step's arrivals are not asked for, but those of the windows over a round trip.
    /// An ACK clock sends in bursts of any density, and no queue is in equilibrium with a burst.
    fn follows_rate(&self) -> bool {
        false
    }
    /// The same law with another value of the parameter `name` (as registered; SI units).
    ///
    /// # Errors
    /// If there is no such parameter or it does not take the value.
    fn with(&self, name: &str, value: f64) -> Result<Arc<dyn QueueLaw>, Error> {
        Err(Error::Unsupported(format!(
            "a change of `{name}` to {value}: this law has no such parameter"
        )))
    }
}

/// No AQM: only a full queue drops.
#[derive(Clone, Copy, Debug, Default)]
pub struct DropTail;

impl QueueLaw for DropTail {
    fn overflow_only(&self) -> bool {
        true
    }
    fn probability(&self, _: &AqmInput, _: &[f64]) -> f64 {
        0.0
    }
}

/// A registered AQM.
#[derive(Clone, Copy, Debug)]
pub struct RegisteredAqm {
    /// The law.
    pub law: AqmLaw,
    /// How drops at the law's probability are spaced: RED's rules `uniform` and `uniform-wait` drop
    /// more, or fewer, than one in `1 / p` packets.
    pub spacing: Spacing,
    /// Size of a packet over the mean packet of an AQM that counts bytes; 1 for one that counts
    /// packets.
    pub relative_size: f64,
    /// The priority of all packets, for an AQM that looks at it.
    pub priority: u8,
}

impl RegisteredAqm {
    fn input(&self, input: &AqmInput) -> AqmInput {
        AqmInput {
            queue: input.queue * self.relative_size,
            limit: input.limit * self.relative_size,
            priority: self.priority,
            ..*input
        }
    }
}

impl QueueLaw for RegisteredAqm {
    fn overflow_only(&self) -> bool {
        self.law.overflow_only()
    }
    fn hard_limit(&self) -> Option<f64> {
        self.law.hard_limit()
    }
    fn follows_rate(&self) -> bool {
        self.law.queue_model() == QueueModel::Stationary
    }
    fn states(&self) -> usize {
        self.law.states()
    }
    fn start(&self, rate: f64, state: &mut [f64]) {
        let empty = AqmStart {
            queue: 0.0,
            rate,
            probability: 0.0,
        };
        self.law.start(&empty, state);
    }
    fn derivative(&self, input: &AqmInput, state: &[f64], rate: &mut [f64]) {
        self.law.derivative(&self.input(input), state, rate);
    }
    fn probability(&self, input: &AqmInput, state: &[f64]) -> f64 {
        let input = self.input(input);
        let regime = self.law.regime(&input, state);
        let nominal = self.law.probability(&input, state, regime) * self.relative_size;
        self.spacing.rate(nominal.clamp(0.0, 1.0))
    }
    fn with(&self, name: &str, value: f64) -> Result<Arc<dyn QueueLaw>, Error> {
        let mut changed = *self;
        changed
            .law
            .set(name, value)
            .map_err(|error| Error::Value(error.to_string()))?;
        Ok(Arc::new(changed))
    }
}

/// The bottleneck.
#[derive(Clone, Debug)]
pub struct Bottleneck {
    /// Packets that it can send in a second.
    pub rate: f64,
    /// Largest queue, packets; infinite without a limit.
    pub buffer: f64,
    /// Fraction of what leaves the queue that the wire loses.
    pub wire_loss: f64,
    /// The law of the queue.
    pub aqm: Arc<dyn QueueLaw>,
    /// Whether the AQM marks packets of ECN-capable flows instead of dropping them.
    pub marks: bool,
    /// How the weight of an averaging AQM becomes a rate.
    pub averaging: Averaging,
}

impl Bottleneck {
    /// The largest queue that packets can form: with an AQM that drops all of them at a limit, that
    /// limit.
    #[must_use]
    pub fn room(&self) -> f64 {
        match self.aqm.hard_limit() {
            Some(limit) if !self.marks => limit.min(self.buffer),
            _ => self.buffer,
        }
    }
}

/// Flows that share a description.
#[derive(Clone, Debug)]
pub struct Class {
    /// Name in results.
    pub name: String,
    /// How the window moves.
    pub law: Arc<dyn WindowLaw>,
    /// Base round-trip time without queueing, s; transmission on access links is part of it.
    pub rtt: f64,
    /// Packets/s that the access link of a flow lets out, whatever its window; what the window has
    /// beyond that rate times the round trip waits there.
    pub access: Option<f64>,
    /// Largest window, packets; finite.
    pub w_max: f64,
    /// Whether `w_max` only bounds the grid and should never be reached. If it is, the result says
    /// so.
    pub open_ended: bool,
    /// Whether its packets can be marked instead of dropped (ECN).
    pub ecn: bool,
    /// Index of the class of the scenario that it represents or is a part of.
    pub origin: usize,
}

/// Packets that arrive at a constant rate whatever happens to them.
#[derive(Clone, Debug)]
pub struct Unresponsive {
    /// Name in results.
    pub name: String,
    /// Packets per second and source.
    pub rate: f64,
}

/// Something that happens at a point in time.
#[derive(Clone, Debug)]
pub struct Event {
    /// When, s.
    pub at: f64,
    /// The change.
    pub what: Action,
}

/// The change that an [`Event`] makes.
#[derive(Clone, Debug)]
pub enum Action {
    /// Flows of a class start, in congestion avoidance at the given window (packets).
    Start {
        /// Index of the class.
        class: usize,
        /// How many.
        flows: f64,
        /// Their window, packets.
        window: f64,
    },
    /// Flows of a class stop, whatever their windows. What they have in flight is delivered, but
    /// answered no more.
    Stop {
        /// Index of the class.
        class: usize,
        /// How many; more than there are means all.
        flows: f64,
    },
    /// Unresponsive sources start (a positive number) or stop.
    Sources {
        /// Index of the unresponsive traffic.
        traffic: usize,
        /// Change of their number.
        change: f64,
    },
    /// The rate of unresponsive sources, packets/s each.
    SourceRate {
        /// Index of the unresponsive traffic.
        traffic: usize,
        /// New value.
        rate: f64,
    },
    /// The bottleneck's rate, packets/s.
    Rate(f64),
    /// The bottleneck's buffer, packets.
    Buffer(f64),
    /// A class's base round-trip time, s.
    Rtt {
        /// Index of the class.
        class: usize,
        /// New value, s.
        rtt: f64,
    },
    /// The rate of a class's access links, packets/s; without effect on a class that has none.
    Access {
        /// Index of the class.
        class: usize,
        /// New value, packets/s.
        rate: f64,
    },
    /// A class's largest window, packets.
    MaxWindow {
        /// Index of the class.
        class: usize,
        /// New value, packets.
        w_max: f64,
    },
    /// A parameter of the AQM.
    Aqm {
        /// Its registered name.
        name: String,
        /// New value, SI units.
        value: f64,
    },
}

/// All that the engine needs to know of the world.
#[derive(Clone, Debug)]
pub struct Model {
    /// The queue that all share.
    pub bottleneck: Bottleneck,
    /// Classes of flows with congestion windows.
    pub classes: Vec<Class>,
    /// Traffic that does not react.
    pub unresponsive: Vec<Unresponsive>,
    /// Changes during the run, in any order.
    pub events: Vec<Event>,
    /// When the run ends, s.
    pub duration: f64,
    /// Start and end of the measurement window, s.
    pub measure: (f64, f64),
}

/// How packets in flight are accounted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Closure {
    /// A delay line: ACKs come back at the rate of the bottleneck, and what is sent is what comes
    /// back plus the growth of the windows.
    #[default]
    DelayLine,
    /// The approximation of usual fluid models, for comparison: at any time flows send at `w / R`
    /// with R the round trip of a packet that arrives now (Reynier 2006, section 2.2.1). It does
    /// not conserve packets in flight.
    Little,
}

/// Choices of method. The default suits most work.
#[derive(Clone, Debug)]
pub struct Options {
    /// The events that decrease a window.
    pub hazard: Hazard,
    /// How packets in flight are accounted for.
    pub closure: Closure,
    /// Cells of the window grid per packet (of growth per round trip, where that is not one
    /// packet). The error falls with the square.
    pub cells_per_packet: f64,
    /// The most cells of a class's grid: with more, from a large largest window, they are wider.
    pub most_cells: f64,
    /// Steps per smallest base round-trip time. The error falls with the square, apart from the
    /// instants at which the queue fills or empties.
    pub steps_per_rtt: f64,
    /// Whether RED's drop spacing counts: its mean rate instead of the nominal probability. Used
    /// when a scenario is read.
    pub effective_spacing: bool,
    /// Interval of traces, s; `None`: no traces (from a scenario: its own interval).
    pub sample: Option<f64>,
    /// Interval of snapshots of the density, s; `None`: no snapshots.
    pub snapshot: Option<f64>,
    /// Bins of a snapshot between zero and the largest window.
    pub bins: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            hazard: Hazard::PerPacket,
            closure: Closure::DelayLine,
            cells_per_packet: 4.0,
            most_cells: f64::INFINITY,
            steps_per_rtt: 200.0,
            effective_spacing: true,
            sample: None,
            snapshot: None,
            bins: 128,
        }
    }
}

impl Options {
    /// Cells per packet of a grid up to `w_max` packets.
    pub(crate) fn cells_up_to(&self, w_max: f64) -> f64 {
        self.cells_per_packet.min(self.most_cells / w_max)
    }
}
