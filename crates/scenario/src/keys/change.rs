//! Keys of a change during the run, and the keys of links and flows that can change.

use ackclock_algorithms::impairment::LossSpec;
use ackclock_algorithms::{Time, Value as Setpoint};

use super::Fallback::{Derived, Required};
use super::{FLOWS, FlowClass, Key, Kind, LINK, Link, QUEUE, Section, TRAFFIC};
use crate::form::{AnyTime, Form, Integer, Limit, Loss, Rate, Times, WholePackets};
use crate::options::Style;
use crate::reader::{Item, Reader};
use crate::tree::Node;
use crate::units::format_rate;
use crate::value::{Capacity, ClassId, Distribution, LinkId};
use crate::written;

/// `[[change]]`: these keys choose when and what; beside them stand the new values.
pub const CHANGE: Section = Section {
    name: "change",
    repeated: true,
    doc: "Something that changes during the run: any numeric key of a link, of its queue, or of a class of flows.",
    keys: &[
        Key::new("at", Kind::Time, Required, "When."),
        Key::new(
            "over",
            Kind::Span,
            Derived("at once"),
            "With `count`: flows enter or leave one after the other, evenly from `at` to so much later.",
        ),
        Key::new(
            "every",
            Kind::Span,
            Derived("once"),
            "The change comes again after each such time, until the end of the run. Values of a link's keys may then be lists, of which each time has the next: rate, delay and loss by slot.",
        ),
        Key::new(
            "until",
            Kind::Time,
            Derived("the end of the run"),
            "With `every`: it does not come again after that.",
        ),
        Key::new(
            "link",
            Kind::Name,
            Derived("none"),
            "The link that changes: `rate`, `delay`, `loss`, `capacity`, numeric parameters of its AQM.",
        ),
        Key::new(
            "flows",
            Kind::Name,
            Derived("none"),
            "The class that changes: `count`, `rtt`, `access_rate`, `max_window`, `rate` of its traffic.",
        ),
    ],
};

/// Something that changes during the run.
#[derive(Clone, Debug)]
pub struct Change {
    /// When.
    pub at: Time,
    /// The parameter, and its value.
    pub set: Setting,
}

/// A table whose keys can change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A link.
    Link,
    /// A link's queue.
    Queue,
    /// A class of flows.
    Class,
    /// The traffic of a class.
    Traffic,
}

impl Target {
    /// Returns its keys that can change.
    pub fn keys(self) -> impl Iterator<Item = &'static Key> {
        let traffic = TRAFFIC.iter().flat_map(|kind| kind.keys);
        let keys: Vec<&'static Key> = match self {
            Self::Link => LINK.keys.iter().collect(),
            Self::Queue => QUEUE.keys.iter().collect(),
            Self::Class => FLOWS.keys.iter().collect(),
            Self::Traffic => traffic.collect(),
        };
        keys.into_iter().filter(move |key| self.can_change(key))
    }

    /// Its key of this name, one that can change.
    fn key(self, name: &str) -> &'static Key {
        self.keys()
            .find(|key| key.name == name)
            .unwrap_or(&CHANGE.keys[0])
    }

    /// True if this key of the table can change.
    #[must_use]
    pub fn can_change(self, key: &Key) -> bool {
        let changeable = |(target, name): &(Self, &str)| *target == self && *name == key.name;
        CHANGEABLE.iter().chain(OF_TRAFFIC).any(changeable)
    }
}

/// Keys that set the rate of a class's traffic, whose form depends on the kind of traffic.
const OF_TRAFFIC: &[(Target, &str)] = &[
    (Target::Traffic, "rate"),
    (Target::Traffic, "density"),
    (Target::Traffic, "load"),
];

/// Declares what can change, each once: `Variant(index, type as form) = table.key`.
macro_rules! settings {
    ($(
        $(#[$doc:meta])+
        $variant:ident($index:ident, $type:ty as $form:ty) = $target:ident.$key:ident;
    )+) => {
        /// A value that can change during a run.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Setting {
            $($(#[$doc])+ $variant($index, $type),)+
            /// A numeric parameter of a link's AQM, by its registered name, in SI units.
            AqmParameter(LinkId, String, f64),
            /// Rate of a UDP or application-limited class, bit/s; of a class of arrivals, connections
            /// a second.
            TrafficRate(ClassId, f64),
        }

        const CHANGEABLE: &[(Target, &str)] = &[$((Target::$target, stringify!($key)),)+];

        impl Setting {
            /// The new value of a table's key; `None` after a message about what is wrong.
            pub(crate) fn read(
                reader: &Reader<'_>,
                item: &Item<'_>,
                (target, id): (Target, usize),
                key: &Key,
            ) -> Option<Self> {
                match (target, key.name) {
                    $((Target::$target, stringify!($key)) => {
                        let value = <$form as Form<$type>>::read(reader, item, Style::default());
                        value.map(|value| Self::$variant(id, value))
                    })+
                    _ => None,
                }
            }

            /// The table, the key and its value.
            pub(crate) fn write(&self, links: &[Link], flows: &[FlowClass]) -> (Target, usize, &str, Node) {
                match self {
                    $(Self::$variant(id, value) => {
                        let key = Target::$target.key(stringify!($key));
                        let node = <$form as Form<$type>>::write(value, key);
                        (Target::$target, *id, key.name, node)
                    })+
                    Self::AqmParameter(id, name, value) => {
                        let meta = links[*id].aqm.meta();
                        let specs = meta.map_or(&[][..], |meta| meta.parameters);
                        let spec = specs.iter().find(|spec| spec.name == name);
                        let node = written::parameter(spec, &Setpoint::Number(*value));
                        (Target::Queue, *id, name, node)
                    }
                    Self::TrafficRate(id, rate) => {
                        let connections = flows[*id].traffic.opens_connections();
                        let node = match connections {
                            true => written::per_second(*rate),
                            false => Node::text(format_rate(*rate)),
                        };
                        (Target::Traffic, *id, "rate", node)
                    }
                }
            }
        }
    };
}

settings! {
    /// Rate of a link, bit/s.
    LinkRate(LinkId, f64 as Rate) = Link.rate;
    /// Propagation delay of a link.
    LinkDelay(LinkId, Time as AnyTime) = Link.delay;
    /// Losses on a link's wire.
    LinkLoss(LinkId, LossSpec as Loss) = Link.loss;
    /// Limit of a link's queue.
    LinkCapacity(LinkId, Capacity as Limit) = Queue.capacity;
    /// Number of active flows of a class: flows beyond it stop, flows up to it start.
    /// [`FlowClass::count`](crate::FlowClass::count) is the number at the start; the largest number
    /// ever wanted is [`Scenario::max_count`](crate::Scenario::max_count).
    Count(ClassId, u32 as Integer<0, { u32::MAX as i64 }>) = Class.count;
    /// Base round-trip times of a class (its access delays change; the links' do not).
    Rtt(ClassId, Distribution as Times) = Class.rtt;
    /// Rate of the access links of a class, bit/s.
    AccessRate(ClassId, f64 as Rate) = Class.access_rate;
    /// Receiver's window of a class, segments.
    MaxWindow(ClassId, u32 as WholePackets) = Class.max_window;
}
