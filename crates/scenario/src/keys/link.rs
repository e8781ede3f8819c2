//! Keys of a link: itself, its queue, a rate over time and jitter.

use std::sync::Arc;

use ackclock_algorithms::impairment::{
    AutorateParams, LossSpec, PolicerParams, ShaperParams, StallParams,
};
use ackclock_algorithms::registry::AqmSpec;
use ackclock_algorithms::scheduler::SchedulerSpec;
use ackclock_algorithms::service::ServiceSpec;
use ackclock_algorithms::{Parameters as _, Time};

use super::Fallback::{Derived, Required, Text};
use super::declare::keys;
use super::{Key, Kind, Section, SharedTree};
use crate::form::{
    AddedDelay, AnyTime, ByHand, Flag, Form, Loss, Name, Or, Policer, RateOrTrace, ReadByHand,
    ServiceOf, Shaper, StallsOf,
};
use crate::options::{Named as _, Style, TraceFormat};
use crate::reader::{Item, Reader, Table};
use crate::trace::RateTrace;
use crate::tree::Node;
use crate::value::{Capacity, Distribution};
use crate::written;

/// `[[link]]`.
pub const LINK: Section = Section {
    name: "link",
    repeated: true,
    doc: "A directed link: a queue, a transmitter, a propagation delay.",
    keys: Link::KEYS,
};

keys! {
    /// A directed link: a queue, a transmitter, a propagation delay.
    pub struct Link / LinkDraft {
        /// Unique name, used in paths, changes and results.
        name: String as ReadByHand<Name> = Required;
        /// Speed of the transmitter: constant but for changes, or a rate over time.
        rate: f64 as ByHand<RateOrTrace> = Required;
        /// Propagation delay in this direction.
        delay: Time as AnyTime = "0 s";
        [
            /// Queue: what waits and who is dropped.
            queue: Queue = Derived("drop-tail with the default capacity");
        ]
        /// Token bucket before the queue: drops packets that do not conform to `rate` and `burst`.
        policer: Option<PolicerParams> as Or<Policer> = "none", or "none" = "every packet may join the queue";
        /// Token bucket behind the queue: holds packets back to a sustained `rate`; a `burst` goes
        /// at the rate of the link. Under "tbf" the first packet waits outside of the queue until
        /// the bucket holds its size; under "htb" packets wait in the queue while the bucket is
        /// overdrawn, so that one more than the burst goes after a pause.
        shaper: Option<ShaperParams> as Or<Shaper> = "none", or "none" = "the link always sends at its own rate";
        /// How packets are sent: in batches, as by radio; `rate` is then that of the physical layer.
        service: Option<ServiceSpec> as Or<ServiceOf> = "none", or "none" = "one after the other, at the rate of the link";
        /// Medium that links with Wi-Fi share: one of them sends at a time.
        medium: Option<String> as Or<Name> = "none", or "none" = "its own";
        /// Times in which a link with a service begins no batch, as in handovers.
        stalls: Option<StallParams> as Or<StallsOf> = "none", or "none" = "it may always send";
        /// A rate that follows the delays of probes and the load, as cake-autorate sets it; `rate` is that at the
        /// start, to which it returns.
        autorate: Option<Autorate> as Or<AutorateOf> = "none", or "none" = "the rate is as it is given";
        /// Packets lost on the wire, after transmission: a probability, or a loss model with its
        /// parameters.
        loss: Option<LossSpec> as Or<Loss> = "none", or "none" = "nothing is lost";
        /// Delay that is added to each packet's propagation.
        jitter: Option<Jitter> as Or<JitterOf> = "none", or "none" = "every packet has the same propagation delay";
        [
            /// Node where the link begins; only flows with `from` and `to` need nodes.
            from: Name = Derived("none");
            /// Node where the link ends.
            to: Name = Derived("none");
        ]
    }
    with {
        /// The rate over time, if it follows a trace; `rate` is its mean.
        trace: Option<Arc<RateTrace>>,
        /// Limit of the queue; the packet in service is not counted.
        capacity: Capacity,
        /// AQM of the queue, or each of its sub-queues.
        aqm: AqmSpec,
        /// Scheduler of the sub-queues; `None`: a single queue.
        scheduler: Option<SchedulerSpec>,
        /// The classes of a queue that has some, in place of capacity, AQM and scheduler.
        tree: SharedTree,
    }
}

/// `rate = { ... }` of a link.
pub const TRACE: Section = Section {
    name: "rate",
    repeated: false,
    doc: "A link's rate over time: from a file, or as steps. AQMs see the present rate in the queue, but are not told of changes.",
    keys: &[
        Key::new(
            "trace",
            Kind::Text,
            Derived("none: `steps` are given"),
            "File with the rate, relative to the scenario's own. The scenario that is stored with results has the steps themselves.",
        ),
        Key::new(
            "format",
            Kind::Choice(TraceFormat::CHOICES),
            Text(TraceFormat::DEFAULT),
            "How the file is written.",
        ),
        Key::new(
            "steps",
            Kind::Steps,
            Derived("those of the file"),
            "Each step's beginning and its rate, which may be zero; the first at 0 s.",
        ),
        Key::new(
            "repeat",
            Kind::Span,
            Derived("never; a Mahimahi trace, after its last line"),
            "After this time the trace begins anew.",
        )
        .or("never", "the last step lasts for ever"),
    ],
};

/// `jitter = { ... }` of a link.
pub const JITTER: Section = Section {
    name: "jitter",
    repeated: false,
    doc: "What is added to each packet's propagation delay.",
    keys: Jitter::KEYS,
};

keys! {
    /// Variation of a link's propagation delay from packet to packet.
    pub struct Jitter / JitterDraft {
        /// Drawn anew for each packet.
        delay: Distribution as AddedDelay = Required;
        /// Whether packets may overtake each other; otherwise a packet waits for those before it.
        reorder: bool as Flag = false;
    }
    with {}
}

/// A link's rate that follows probes.
#[derive(Clone, Debug)]
pub struct Autorate {
    /// Name of the class of flows whose packets are probes.
    pub probes: String,
    /// The law.
    pub params: AutorateParams,
}

/// Keys of a rate that follows probes, beside the parameters of the law.
pub(crate) const AUTORATE_KEYS: &[Key] = &[Key::new(
    "probes",
    Kind::Name,
    Required,
    "Class of flows whose packets are probes: datagrams that cross the link.",
)];

/// The class of probes, and the parameters of the law.
struct AutorateOf;

impl Form<Autorate> for AutorateOf {
    const KIND: Kind = Kind::Autorate;

    fn read(reader: &Reader<'_>, item: &Item<'_>, _: Style) -> Option<Autorate> {
        reader.autorate(item)
    }

    fn write(autorate: &Autorate, _: &Key) -> Node {
        let values = autorate.params.values();
        let parameters = written::parameters(AutorateParams::SPEC, &values);
        let probes = ("probes", Node::text(autorate.probes.clone()));
        Node::table([probes].into_iter().chain(parameters))
    }
}

/// Addition to a packet's delay, alone or in a table.
struct JitterOf;

impl Form<Jitter> for JitterOf {
    const KIND: Kind = Kind::Jitter;

    fn read(reader: &Reader<'_>, item: &Item<'_>, _: Style) -> Option<Jitter> {
        reader.jitter(item)
    }

    fn write(jitter: &Jitter, _: &Key) -> Node {
        Node::table(jitter.write(|_| None))
    }
}
