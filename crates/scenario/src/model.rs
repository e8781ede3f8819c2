//! The scenario after parsing: SI units, every default filled in, names resolved to indices.
//!
//! This is the one description that every engine reads.

pub use crate::keys::{
    Autorate, Change, FlowClass, Jitter, Link, Queue, Scenario, Setting, SharedTree, Tcp, Traffic,
    Tree, TreeClass,
};
pub use crate::value::{Capacity, ClassId, Distribution, End, LinkId};

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
            self.service
                .map(|service| format!("service {}", service.kind())),
            self.autorate.is_some().then(|| "autorate".to_owned()),
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
