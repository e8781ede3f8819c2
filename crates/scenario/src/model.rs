//! The scenario after parsing: SI units, every default filled in, names resolved to indices.
//!
//! This is the one description that every engine reads.

use ackclock_algorithms::Time;
use ackclock_algorithms::impairment::LossSpec;

pub use crate::keys::{FlowClass, Jitter, Link, Queue, SharedTree, Tcp, Traffic, Tree, TreeClass};
pub use crate::value::{Capacity, Distribution, LinkId};

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
    /// Changes during the run, sorted by time (file order at equal times).
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

impl Link {
    /// Returns a part of this link that only an engine which follows each packet can represent, in
    /// words.
    #[must_use]
    pub fn packet_only(&self) -> Option<String> {
        let has = [
            self.tree
                .as_ref()
                .map(|tree| format!("queue with classes ({})", tree.scheduler.kind())),
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

/// Something that changes during the run.
#[derive(Clone, Debug)]
pub struct Change {
    /// When.
    pub at: Time,
    /// The parameter, and its value.
    pub set: Setting,
}

/// A value that can change during a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Setting {
    /// Rate of a link, bit/s.
    LinkRate(LinkId, f64),
    /// Propagation delay of a link.
    LinkDelay(LinkId, Time),
    /// Losses on a link's wire.
    LinkLoss(LinkId, LossSpec),
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
