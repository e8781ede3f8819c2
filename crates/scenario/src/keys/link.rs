//! Keys of a link: itself, its queue, a rate over time and jitter.

use super::*;

/// `[[link]]`.
pub const LINK: Section = Section {
    name: "link",
    repeated: true,
    doc: "A directed link: a queue, a transmitter, a propagation delay.",
    keys: &[
        Key::new(
            "name",
            Kind::Name,
            Required,
            "Unique name, used in paths, changes and results.",
        ),
        Key::new(
            "rate",
            Kind::RateOrTrace,
            Required,
            "Speed of the transmitter: constant but for changes, or a rate over time.",
        )
        .changeable(),
        Key::new(
            "delay",
            Kind::Time,
            Text("0 s"),
            "Propagation delay in this direction.",
        )
        .changeable(),
        Key::new(
            "queue",
            Kind::Queue,
            Derived("drop-tail with the default capacity"),
            "What waits and who is dropped.",
        ),
        Key::new(
            "policer",
            Kind::Policer,
            Text("none"),
            "Token bucket before the queue: drops packets that do not conform to `rate` and `burst`.",
        )
        .or("none", "every packet may join the queue"),
        Key::new(
            "shaper",
            Kind::Shaper,
            Text("none"),
            "Token bucket behind the queue: holds packets back to a sustained `rate`; a `burst` goes at the rate of the link. Under \"tbf\" the first packet waits outside of the queue until the bucket holds its size; under \"htb\" packets wait in the queue while the bucket is overdrawn, so that one more than the burst goes after a pause.",
        )
        .or("none", "the link always sends at its own rate"),
        Key::new(
            "loss",
            Kind::Loss,
            Text("none"),
            "Packets lost on the wire, after transmission: a probability, or a loss model with its parameters.",
        )
        .or("none", "nothing is lost"),
        Key::new(
            "jitter",
            Kind::Jitter,
            Text("none"),
            "Delay that is added to each packet's propagation.",
        )
        .or("none", "every packet has the same propagation delay"),
        Key::new(
            "from",
            Kind::Name,
            Derived("none"),
            "Node where the link begins; only flows with `from` and `to` need nodes.",
        ),
        Key::new(
            "to",
            Kind::Name,
            Derived("none"),
            "Node where the link ends.",
        ),
    ],
};

/// `queue = { ... }`; the parameters of the AQM stand beside these keys.
pub const QUEUE: Section = Section {
    name: "queue",
    repeated: false,
    doc: "A link's queue: its AQM, the AQM's parameters, its limit. The packet in service is not counted.",
    keys: &[
        Key::new(
            "scheduler",
            Kind::Scheduler,
            Text("none"),
            "Several sub-queues that take turns, each under the AQM, instead of a single queue; they share the capacity.",
        )
        .or("none", "a single queue, first in, first out"),
        Key::new(
            "aqm",
            Kind::Text,
            Derived("drop-tail; with a scheduler, what belongs to it (fq_codel: codel)"),
            "Active queue management. A scheduler's name stands for that scheduler with its own AQM.",
        ),
        Key::new(
            "capacity",
            Kind::Capacity,
            Derived("`\"100 ms\"`; with scheduler fq_codel `\"10240 packets\"`"),
            "Largest number of packets or bytes that wait. A time means the bytes that the link sends in it, at its rate at the start.",
        )
        .changeable(),
    ],
};

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
    keys: &[
        Key::new(
            "delay",
            Kind::Distribution,
            Required,
            "Drawn anew for each packet.",
        ),
        Key::new(
            "reorder",
            Kind::Flag,
            Flag(false),
            "Whether packets may overtake each other; otherwise a packet waits for those before it.",
        ),
    ],
};
