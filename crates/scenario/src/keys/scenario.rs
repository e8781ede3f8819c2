//! Keys of the run as a whole.

use ackclock_algorithms::Time;

use super::Fallback::Required;
use super::declare::keys;
use super::{Change, FlowClass, Key, Link, Section};
use crate::form::{AnyText, EndOfRun, Form, Integer, Or, Span, Window};
use crate::options::Style;
use crate::reader::{Reader, Table};
use crate::tree::Node;
use crate::value::End;

/// `[scenario]`.
pub const SCENARIO: Section = Section {
    name: "scenario",
    repeated: false,
    doc: "The run as a whole.",
    keys: Scenario::KEYS,
};

keys! {
    /// Links, their queues and their traffic, described once for every engine.
    pub struct Scenario / ScenarioDraft {
        /// Title shown in results.
        name: String as AnyText = "scenario";
        /// Simulated time.
        duration: End as EndOfRun = Required, or "until done" = "until the last finite transfer has been acknowledged completely";
        /// The part of the run that results count.
        measure: Option<(Time, Time)> as Or<Window> = "whole run", or "whole run" = "from zero to the end";
        /// Seed of every random stream: the same seed gives the same bits.
        seed: u64 as Integer<0, { i64::MAX }> = 1;
        /// Interval of traces.
        sample: Option<Time> as Or<Span> = "auto", or "auto" = "a thousandth of the duration, at least 1 ms";
    }
    with {
        /// Directed links, in the order of the file.
        links: Vec<Link>,
        /// Classes of flows, in the order of the file.
        flows: Vec<FlowClass>,
        /// Changes during the run, sorted by time (file order at equal times).
        changes: Vec<Change>,
    }
}
