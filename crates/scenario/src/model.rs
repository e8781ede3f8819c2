//! The scenario after parsing: SI units, every default filled in, names resolved to indices.
//!
//! This is the one description that every engine reads.

use std::sync::Arc;

use ackclock_algorithms::Time;
use ackclock_algorithms::impairment::{LossSpec, PolicerParams, ShaperParams};
use ackclock_algorithms::registry::AqmSpec;
use ackclock_algorithms::scheduler::SchedulerSpec;

pub use crate::keys::Tcp;
use crate::sizes::Sizes;
use crate::trace::RateTrace;
pub use crate::value::{Capacity, Distribution};

/// Index of a link in [`Scenario::links`].
pub type LinkId = usize;
/// Index of a class in [`Scenario::flows`].
pub type ClassId = usize;

/// A link, its queue and its traffic, described once for every engine.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Name shown in results.
    pub name: String,
    /// When the run ends.
    pub end: End,
    /// Results count what happens from `measure.0` to `measure.1`; `None`: from zero to the end.
    pub measure: Option<(Time, Time)>,
    /// Seed of every random stream.
    pub seed: u64,
    /// Interval of traces; `None`: a thousandth of the duration (at least 1 ms).
    pub sample: Option<Time>,
    /// Directed links, in the order of the file.
    pub links: Vec<Link>,
    /// Classes of flows, in the order of the file.
    pub flows: Vec<FlowClass>,
    /// What changes during the run, sorted by time (file order at equal times).
    pub changes: Vec<Change>,
}

/// When a run ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum End {
    /// At this time.
    At(Time),
    /// When the last finite transfer has been acknowledged completely.
    UntilDone,
}

/// A directed link: a queue, a transmitter, a propagation delay.
#[derive(Clone, Debug)]
pub struct Link {
    /// Unique name.
    pub name: String,
    /// bit/s, above zero; the mean of a trace.
    pub rate: f64,
    /// The rate over time, if it follows a trace.
    pub trace: Option<Arc<RateTrace>>,
    /// Propagation delay, taken by a packet when it departs.
    pub delay: Time,
    /// What limits the queue; the packet in service is not counted.
    pub capacity: Capacity,
    /// What manages the queue, or each of its sub-queues.
    pub aqm: AqmSpec,
    /// What chooses among sub-queues; `None`: a single queue.
    pub scheduler: Option<SchedulerSpec>,
    /// Drops packets above a profile before the queue.
    pub policer: Option<PolicerParams>,
    /// Holds packets back to a sustained rate below the link's own.
    pub shaper: Option<ShaperParams>,
    /// Packets lost on the wire, after transmission.
    pub loss: Option<LossSpec>,
    /// What varies the propagation delay from packet to packet.
    pub jitter: Option<Jitter>,
}

impl Link {
    /// What this link has that only an engine which follows each packet can represent, in words.
    #[must_use]
    pub fn packet_only(&self) -> Option<String> {
        let has = [
            self.scheduler
                .map(|scheduler| format!("scheduler {}", scheduler.kind())),
            self.trace.is_some().then(|| "rate trace".to_owned()),
            self.policer.is_some().then(|| "policer".to_owned()),
            self.shaper.is_some().then(|| "shaper".to_owned()),
            self.loss.map(|loss| format!("{} loss", loss.kind())),
            self.jitter.is_some().then(|| "jitter".to_owned()),
        ];
        let words: Vec<String> = has.into_iter().flatten().collect();
        (!words.is_empty()).then(|| words.join(", "))
    }
}

/// What varies a link's propagation delay from packet to packet.
#[derive(Clone, Debug, PartialEq)]
pub struct Jitter {
    /// What is added to the delay of each packet, s.
    pub delay: Distribution,
    /// Whether packets may overtake each other; otherwise one waits for those before it.
    pub reorder: bool,
}

/// Flows that share a description.
#[derive(Clone, Debug)]
pub struct FlowClass {
    /// Unique name; `flows-1`, `flows-2`, ... where the file gives none.
    pub name: String,
    /// Number of flows.
    pub count: u32,
    /// Links that data crosses, in order. Never empty.
    pub path: Vec<LinkId>,
    /// Links that ACKs cross, sharing those queues; `None`: ACKs return over a pure delay.
    pub reverse_path: Option<Vec<LinkId>>,
    /// Base round-trip time in seconds: propagation of both directions, without any serialisation.
    pub rtt: Distribution,
    /// Priority at links with a priority scheduler, 0 to 7: higher ones go first.
    pub priority: u8,
    /// bit/s of the sender's uplink and the receiver's downlink each (and of the ACKs' access in
    /// the other direction); `None`: access adds delay only.
    pub access_rate: Option<f64>,
    /// Limit of each access queue.
    pub access_buffer: Capacity,
    /// Start times, seconds.
    pub start: Distribution,
    /// The sender stops then: it sends nothing new, and nothing again.
    pub stop: Option<Time>,
    /// What the application wants to send.
    pub traffic: Traffic,
    /// Size on the wire of a full data packet, headers included, bytes.
    pub packet_size: u32,
    /// Headers in each data packet, bytes: payload is `packet_size - header_size`.
    pub header_size: u32,
    /// How TCP classes behave. Unused by UDP traffic.
    pub tcp: Tcp,
}

/// What the application wants to send.
#[derive(Clone, Debug, PartialEq)]
pub enum Traffic {
    /// TCP: always has data.
    Bulk,
    /// TCP: `bytes` of payload, then the flow is done; its completion time is measured from start
    /// to the last ACK.
    Transfer {
        /// Payload, bytes.
        bytes: u64,
    },
    /// TCP limited by its application, which writes at `rate` bit/s of payload.
    AppLimited {
        /// bit/s.
        rate: f64,
    },
    /// UDP, one packet each `packet_size / rate`.
    Cbr {
        /// bit/s on the wire.
        rate: f64,
    },
    /// UDP at `rate` during exponential on-times, silent during exponential off-times.
    OnOff {
        /// bit/s on the wire while on.
        rate: f64,
        /// Mean on-time, s.
        on: f64,
        /// Mean off-time, s.
        off: f64,
    },
    /// UDP packets as a Poisson process of mean `rate` bit/s on the wire.
    Poisson {
        /// bit/s.
        rate: f64,
        /// Sizes exponential with mean `packet_size` (at least 1 B) instead of fixed.
        exponential_sizes: bool,
    },
    /// TCP: transfers with think times between them, one after the other.
    Http {
        /// Sizes of the transfers.
        sizes: Sizes,
        /// Mean of the exponential time from the last ACK of one transfer to the start of the next,
        /// s.
        think: f64,
        /// One connection for all transfers, instead of a new one for each.
        persistent: bool,
    },
    /// TCP: a Poisson process of transfers, each a connection of its own.
    Arrivals {
        /// Transfers a second.
        rate: f64,
        /// Their sizes.
        sizes: Sizes,
    },
    /// TCP: HTTP responses after the PackMime model (Cao et al., INFOCOM 2004), each a connection
    /// of its own.
    PackMime {
        /// Connections a second.
        rate: f64,
        /// Mean size of a response, bytes, to which the model's sizes are scaled; `None`: its own.
        mean_size: Option<f64>,
        /// Whether the server takes its time before it answers.
        server_delay: bool,
    },
}

impl Traffic {
    /// Whether a TCP sender carries it.
    #[must_use]
    pub fn is_tcp(&self) -> bool {
        matches!(
            self,
            Self::Bulk
                | Self::Transfer { .. }
                | Self::AppLimited { .. }
                | Self::Http { .. }
                | Self::Arrivals { .. }
                | Self::PackMime { .. }
        )
    }

    /// Whether connections come and go: each flow of the class is then a source of connections, not
    /// a connection.
    #[must_use]
    pub fn opens_connections(&self) -> bool {
        matches!(self, Self::Arrivals { .. } | Self::PackMime { .. })
    }
}

/// Something that changes during the run.
#[derive(Clone, Debug)]
pub struct Change {
    /// When.
    pub at: Time,
    /// What, and to which value.
    pub set: Setting,
}

/// A value that can change during a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Setting {
    /// Rate of a link, bit/s.
    LinkRate(LinkId, f64),
    /// Propagation delay of a link.
    LinkDelay(LinkId, Time),
    /// Limit of a link's queue.
    LinkCapacity(LinkId, Capacity),
    /// A numeric parameter of a link's AQM, by its registered name, in SI units.
    AqmParameter(LinkId, String, f64),
    /// Base round-trip times of a class (its access delays change; the links' do not).
    Rtt(ClassId, Distribution),
    /// Rate of the access links of a class, bit/s.
    AccessRate(ClassId, f64),
    /// Number of active flows of a class: flows beyond it stop, flows up to it start.
    /// [`FlowClass::count`] is the number at the start; the largest number ever wanted is
    /// [`Scenario::max_count`].
    Count(ClassId, u32),
    /// Rate of a UDP or application-limited class, bit/s; of a class of arrivals, connections a
    /// second.
    TrafficRate(ClassId, f64),
    /// Receiver's window of a class, segments.
    MaxWindow(ClassId, u32),
}

impl Scenario {
    /// The largest number of flows that class `class` ever has.
    #[must_use]
    pub fn max_count(&self, class: ClassId) -> u32 {
        self.changes
            .iter()
            .filter_map(|change| match change.set {
                Setting::Count(id, count) if id == class => Some(count),
                _ => None,
            })
            .fold(self.flows[class].count, u32::max)
    }
}
