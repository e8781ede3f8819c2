//! Keys of a class of flows, and which of them other styles and other names concern.

use super::*;

/// `[[flows]]`.
pub const FLOWS: Section = Section {
    name: "flows",
    repeated: true,
    doc: "A class of flows that share a description.",
    keys: &[
        Key::new("name", Kind::Name, Derived("flows-1, flows-2, ... by position"), "Unique name, used in changes and results."),
        Key::new("count", Kind::Integer(0, u32::MAX as i64), Integer(1), "Number of flows (at the start, where a change sets it).").changeable(),
        Key::new("path", Kind::Path, Derived("by `from` and `to`; in a topology template, its whole length"), "Links that the data crosses, in order."),
        Key::new(
            "reverse_path",
            Kind::Path,
            Derived("none; with `from` and `to` the shortest way back, where there is one"),
            "Links that the ACKs cross, in order, sharing those queues.",
        )
        .or("none", "ACKs return over a pure delay"),
        Key::new("from", Kind::Name, Derived("none"), "Node of the sender, instead of `path`: the data takes the fewest links."),
        Key::new("to", Kind::Name, Derived("none"), "Node of the receiver."),
        Key::new(
            "rtt",
            Kind::Distribution,
            Derived("the propagation of `path` and `reverse_path`; without a reverse path, twice that of `path`"),
            "Base round-trip time: propagation alone, the links' included. What the links do not cover lies on the access sides.",
        )
        .changeable(),
        Key::new("priority", Kind::Integer(0, 7), Integer(0), "Priority of the class's packets at links with a priority scheduler: higher ones go first."),
        Key::new(
            "access_rate",
            Kind::Rate,
            Text("unlimited"),
            "Rate of the sender's uplink and of the receiver's downlink, each with a queue of its own.",
        )
        .or("unlimited", "access adds delay only")
        .changeable(),
        Key::new("access_buffer", Kind::Capacity, Text("unlimited"), "Limit of each access queue (drop-tail)."),
        Key::new("start", Kind::Distribution, Text("0 s"), "When flows start."),
        Key::new("stop", Kind::Span, Text("never"), "When senders stop: they send nothing new, and nothing again.").or("never", "at the end of the run"),
        Key::new("traffic", Kind::Traffic, Text("bulk"), "What the application sends."),
        Key::new("packet_size", Kind::Size, Text("1500 B"), "Size of a full data packet on the wire, headers included."),
        Key::new("header_size", Kind::Size, Text("40 B"), "Headers in each data packet (IPv4 and TCP without options: 40 B)."),
        // TCP only, from here: `tcp_keys`
        Key::new("style", Kind::Choice(Style::CHOICES), Text(Style::DEFAULT), "Where the defaults of the class's TCP and of its congestion control come from."),
        Key::new("ack_size", Kind::Size, Text("40 B"), "Size of a pure ACK on the wire."),
        Key::new("congestion", Kind::Congestion, Text("cubic"), "Congestion control (RFC 9438 is the default of today's stacks)."),
        Key::new("recovery", Kind::Choice(Recovery::CHOICES), Text(Recovery::DEFAULT), "How losses are repaired."),
        Key::new("reduction", Kind::Choice(WindowReduction::CHOICES), Text(WindowReduction::DEFAULT), "How the window comes down when selective ACKs find a loss; needs recovery \"sack\".").linux(Text("prr")),
        Key::new("loss_detection", Kind::Choice(LossDetection::CHOICES), Text(LossDetection::DEFAULT), "What tells a lost segment from one that is late; \"rack\" needs recovery \"sack\".").linux(Text("rack")),
        Key::new(
            "detect_lost_retransmissions",
            Kind::Flag,
            Flag(false),
            "Whether a lost retransmission is found when something sent after it is acknowledged selectively, as RACK does (RFC 8985), instead of by a timeout; needs recovery \"sack\".",
        ),
        Key::new("handshake", Kind::Flag, Flag(true), "Whether a three-way handshake of one round trip precedes the data; its packets cross the queues."),
        Key::new("initial_window", Kind::Packets, Text("10 packets"), "Initial window (RFC 6928: 10 segments)."),
        Key::new("initial_ssthresh", Kind::Packets, Text("unlimited"), "Initial slow-start threshold (RFC 5681, section 3.1: arbitrarily high).")
            .or("unlimited", "slow start until the first loss or mark"),
        Key::new("max_window", Kind::WholePackets, Text("unlimited"), "Largest window that the receiver offers (W_max).")
            .or("unlimited", "the receiver never limits")
            .changeable(),
        Key::new(
            "ecn",
            Kind::Flag,
            Derived("false, as in today's stacks; \"accurate\" where the congestion control counts marks"),
            "Whether ECN is negotiated (RFC 3168). A congestion control that counts marks gets the accurate kind in either case.",
        )
        .or("accurate", "and the receiver echoes each mark as it came (RFC 8257, section 3.2)"),
        Key::new(
            "ecn_feedback",
            Kind::Choice(EcnFeedback::CHOICES),
            Text(EcnFeedback::DEFAULT),
            "How marks come back to the sender. Needs ECN.",
        ),
        Key::new(
            "peer_ecn",
            Kind::Choice(PeerEcn::CHOICES),
            Text(PeerEcn::DEFAULT),
            "What the receiver answers in the handshake (RFC 9768, section 3.1.2). A sender that falls back from counted or exact marks to those of RFC 3168 sends ECT(0), and halves its window once a round trip for a mark.",
        ),
        Key::new("pacing", Kind::Choice(Pacing::CHOICES), Text(Pacing::DEFAULT), "How the segments of a window are spread over time."),
        Key::new(
            "hystart",
            Kind::Flag,
            Flag(false),
            "Whether the initial slow start ends when the round trip grows (HyStart++, RFC 9406), whatever the congestion control.",
        ),
        Key::new(
            "search",
            Kind::Flag,
            Flag(false),
            "Whether the initial slow start ends when what is delivered no longer doubles from one round trip to the next (SEARCH, draft-chung-ccwg-search), whatever the congestion control; not together with `hystart`.",
        ),
        Key::new(
            "saved_window",
            Kind::Packets,
            Text("none"),
            "Congestion window of an earlier connection on this path, half of which is taken on once the initial window is acknowledged (Careful Resume, RFC 9959); needs `saved_rtt`.",
        )
        .or("none", "nothing is known of the path"),
        Key::new(
            "saved_rtt",
            Kind::Span,
            Text("none"),
            "Smallest round trip of that connection: one of less than a half or more than ten times it is another path's.",
        )
        .or("none", "nothing is known of the path"),
        Key::new("delayed_ack", Kind::Flag, Flag(true), "Whether the receiver acknowledges every second segment (RFC 5681, section 4.2)."),
        Key::new("delayed_ack_timeout", Kind::Span, Text("40 ms"), "Longest wait of a delayed ACK (RFC 5681: below 500 ms; Linux: 40 ms)."),
        Key::new("limited_transmit", Kind::Flag, Flag(true), "Whether each of the first two duplicate ACKs lets one new segment out (RFC 3042)."),
        Key::new(
            "ecn_pause",
            Kind::Flag,
            Flag(true),
            "Whether a sender whose window is one segment waits for the retransmission timer when that is marked, since one cannot be halved (RFC 3168, section 6.1.2; Linux sends on), and twice as long after each further mark (ns-2). Not where the congestion control counts marks.",
        ).linux(Flag(false)),
        Key::new("min_rto", Kind::Span, Text("200 ms"), "Smallest retransmission timeout (RFC 6298, rule 2.4 says 1 s; Linux and most other stacks use about 200 ms)."),
        Key::new("max_rto", Kind::Span, Text("60 s"), "Largest retransmission timeout (RFC 6298, rule 2.5: at least 60 s).").linux(Text("120 s")),
        Key::new("initial_rto", Kind::Span, Text("1 s"), "Retransmission timeout before the first sample (RFC 6298, rule 2.1)."),
        Key::new("rtt_samples", Kind::Choice(RttSamples::CHOICES), Text(RttSamples::DEFAULT), "Which ACKs give samples of the round trip to the retransmission timer; style \"linux\" has its own way."),
        Key::new("clock_granularity", Kind::Span, Text("none"), "Tick in which the retransmission timer's samples are taken, the G of RFC 6298 (ns-2: 10 ms); with one sample a window the averages are in whole eighths and quarters of it, as in 4.4BSD. Style \"linux\" has its own ticks.")
            .or("none", "an exact clock"),
        Key::new(
            "restart_rto_on_every_ack",
            Kind::Flag,
            Flag(false),
            "Whether every ACK restarts the retransmission timer, duplicates too, as in ns-2's Linux-derived agent; RFC 6298 (rule 5.3): those that acknowledge new data. Style \"linux\" has its own rules.",
        ),
        Key::new("undo", Kind::Choice(Undo::CHOICES), Text(Undo::DEFAULT), "What tells that a reduction of the window was needless, so that it is taken back: by the response of RFC 4015 after a timeout, else at once (RFC 9438, section 4.9)."),
        Key::new(
            "dup_threshold",
            Kind::Integer(1, 1000),
            Integer(3),
            "Duplicate ACKs, or segments selectively acknowledged above, that mean a loss (RFC 5681, RFC 6675).",
        ),
    ],
};

/// Keys of [`FLOWS`] that only TCP has: `style`, and all that are declared after it.
pub fn tcp_keys() -> impl Iterator<Item = &'static Key> {
    FLOWS.keys.iter().skip_while(|key| key.name != "style")
}

/// A key of an earlier version.
pub(crate) struct Renamed {
    pub(crate) old: &'static str,
    /// The key in its place; the hint is given where that is one of the table's.
    pub(crate) new: &'static str,
    pub(crate) instead: &'static str,
}

/// Keys of earlier versions that scenario files may still have.
pub(crate) const RENAMED: &[Renamed] = &[Renamed {
    old: "whole_packets",
    new: "form",
    instead: "form = \"linux\" for true, form = \"paper\" for false",
}];
