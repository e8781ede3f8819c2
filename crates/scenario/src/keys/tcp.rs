//! Keys of TCP: the endpoints of a class of flows, and what of them contradicts what.

use ackclock_algorithms::Time;
use ackclock_algorithms::registry::CongestionSpec;

use super::declare::{Rule, keys};
use crate::form::{
    ByHand, Choice, Congestion, Flag, Form, InitialWindow, Integer, Or, PacketSize, Packets,
    PacketsOrInfinite, Payload, Span, SpanOrZero, WholePackets,
};
use crate::key::Fallback::Derived;
use crate::key::Key;
use crate::options::{
    EcnFeedback, LossDetection, Pacing, PeerEcn, Recovery, RttSamples, Style, Undo, WindowReduction,
};
use crate::reader::{Reader, Table};
use crate::tree::Node;
use crate::units::format_time;

keys! {
    /// A TCP endpoint's options.
    pub struct Tcp / TcpDraft {
        /// Size of a pure ACK on the wire. With recovery "sack" the blocks that it reports come on
        /// top where it crosses links: 12, 20 or 28 bytes.
        ack_size: u32 as PacketSize = "40 B";
        /// Where the defaults of the class's TCP and of its congestion control come from.
        style: Style as Choice;
        /// Congestion control (RFC 9438 is the default of today's stacks).
        congestion: CongestionSpec as Congestion = "cubic";
        /// How losses are repaired.
        recovery: Recovery as Choice;
        /// How the window comes down when selective ACKs find a loss; needs recovery "sack".
        reduction: WindowReduction as Choice, linux = "prr";
        /// Evidence that tells a lost segment from one that is late; "rack" needs recovery "sack".
        loss_detection: LossDetection as Choice, linux = "rack";
        /// Whether a lost retransmission is found when something sent after it is acknowledged
        /// selectively, as RACK does (RFC 8985), instead of by a timeout; needs recovery
        /// "sack".
        detect_lost_retransmissions: bool as Flag = false;
        /// Whether a three-way handshake of one round trip precedes the data; its packets cross
        /// the queues.
        handshake: bool as Flag = true;
        /// Initial window (RFC 6928: 10 segments).
        initial_window: f64 as InitialWindow = "10 packets";
        /// Initial slow-start threshold (RFC 5681, section 3.1: arbitrarily high).
        initial_ssthresh: f64 as PacketsOrInfinite = "unlimited", or "unlimited" = "slow start until the first loss or mark";
        /// Largest window that the receiver offers (W_max).
        max_window: Option<u32> as Or<WholePackets> = "unlimited", or "unlimited" = "the receiver never limits";
        /// Largest receive buffer (Linux: third value of `net.ipv4.tcp_rmem`), half of which is
        /// offered as a window at most. The window opens by two segments for each that comes,
        /// and the buffer grows with what the application reads in a round trip; needs style
        /// "linux".
        receive_buffer: Option<u64> as Or<Payload> = "unlimited", or "unlimited" = "the receiver never limits, but by `max_window`";
        /// Receive buffer as a connection begins (Linux: second value of `net.ipv4.tcp_rmem`), four
        /// segments at least.
        initial_receive_buffer: u64 as Payload = "128 KiB";
        /// Unread bytes for which the application reads (SO_RCVLOWAT), where the receive buffer is
        /// limited; before that only if the window is used up.
        read_size: u64 as Payload = "1 B";
        /// Whether ECN is negotiated (RFC 3168). A congestion control that counts marks gets
        /// the accurate kind in either case.
        ecn: bool as ByHand<Flag> = Derived("false, as in today's stacks; \"accurate\" where the congestion control counts marks"), or "accurate" = "and the receiver echoes each mark as it came (RFC 8257, section 3.2)";
        /// How marks come back to the sender. Needs ECN.
        ecn_feedback: EcnFeedback as Choice;
        /// Answer of the receiver in the handshake (RFC 9768, section 3.1.2). A sender that falls
        /// back from counted or exact marks to those of RFC 3168 sends ECT(0), and halves its
        /// window once a round trip for a mark.
        peer_ecn: PeerEcn as Choice;
        /// How the segments of a window are spread over time.
        pacing: Pacing as Choice;
        /// Whether the initial slow start ends when the round trip grows (HyStart++, RFC 9406),
        /// whatever the congestion control.
        hystart: bool as Flag = false;
        /// Whether the initial slow start ends when what is delivered no longer doubles from
        /// one round trip to the next (SEARCH, draft-chung-ccwg-search), whatever the
        /// congestion control; not together with `hystart`.
        search: bool as Flag = false;
        /// Congestion window of an earlier connection on this path, half of which is taken on
        /// once the initial window is acknowledged (Careful Resume, RFC 9959); needs
        /// `saved_rtt`.
        saved_window: Option<f64> as Or<Packets> = "none", or "none" = "nothing is known of the path";
        /// Smallest round trip of that connection: one of less than a half or more than ten
        /// times it is another path's.
        saved_rtt: Option<Time> as Or<Span> = "none", or "none" = "nothing is known of the path";
        /// Whether the receiver acknowledges every second segment (RFC 5681, section 4.2).
        delayed_ack: bool as Flag = true;
        /// Longest wait of a delayed ACK (RFC 5681: below 500 ms; Linux: 40 ms).
        delayed_ack_timeout: Time as Span = "40 ms";
        /// Whether each of the first two duplicate ACKs lets one new segment out (RFC 3042).
        limited_transmit: bool as Flag = true;
        /// Whether a sender whose window is one segment waits for the retransmission timer when
        /// that is marked, since one cannot be halved (RFC 3168, section 6.1.2; Linux sends
        /// on), and twice as long after each further mark (ns-2). Not where the congestion
        /// control counts marks.
        ecn_pause: bool as Flag = true, linux = false;
        /// Smallest retransmission timeout (RFC 6298, rule 2.4 says 1 s; Linux and most other
        /// stacks use about 200 ms).
        min_rto: Time as Span = "200 ms";
        /// Largest retransmission timeout (RFC 6298, rule 2.5: at least 60 s).
        max_rto: Time as Span = "60 s", linux = "120 s";
        /// Retransmission timeout before the first sample (RFC 6298, rule 2.1).
        initial_rto: Time as Span = "1 s";
        /// Which ACKs give samples of the round trip to the retransmission timer; style "linux"
        /// has its own way.
        rtt_samples: RttSamples as Choice;
        /// Tick in which the retransmission timer's samples are taken, the G of RFC 6298 (ns-2:
        /// 10 ms); with one sample a window the averages are in whole eighths and quarters of
        /// it, as in 4.4BSD. Style "linux" has its own ticks.
        clock_granularity: Time as SpanOrZero = "none", or "none" = "an exact clock";
        /// Whether every ACK restarts the retransmission timer, duplicates too, as in ns-2's
        /// Linux-derived agent; RFC 6298 (rule 5.3): those that acknowledge new data. Style
        /// "linux" has its own rules.
        restart_rto_on_every_ack: bool as Flag = false;
        /// Evidence that a reduction of the window was needless, so that it is taken back: by the
        /// response of RFC 4015 after a timeout, else at once (RFC 9438, section 4.9).
        undo: Undo as Choice;
        /// Duplicate ACKs, or segments selectively acknowledged above, that mean a loss (RFC
        /// 5681, RFC 6675).
        dup_threshold: u32 as Integer<1, 1000> = 3;
    }
    with {
        /// Whether the receiver echoes each mark as it came (RFC 8257, section 3.2), for congestion
        /// controls that count marks.
        accurate_ecn: bool,
    }
}

impl Tcp {
    /// Keys that a transport of others takes; it has its own way of everything else.
    pub(crate) const OF_ENDPOINTS: [&'static str; 2] = ["congestion", "ecn"];

    /// Careful Resume (RFC 9959): congestion window (segments) and smallest round trip of an earlier
    /// connection on the path.
    #[must_use]
    pub fn resume(&self) -> Option<(f64, Time)> {
        self.saved_window.zip(self.saved_rtt)
    }

    fn linux(&self) -> bool {
        self.style == Style::Linux
    }

    fn lacks_sack(&self) -> bool {
        self.recovery != Recovery::Sack
    }

    fn is_steered(&self) -> bool {
        self.congestion.needs().delivery
    }
}

/// Rules of what contradicts what; the first that applies is reported.
pub(crate) const RULES: &[Rule<Tcp>] = &[
    Rule {
        refused: &[
            ("saved_window", |tcp| {
                tcp.saved_window.is_some() && tcp.saved_rtt.is_none()
            }),
            ("saved_rtt", |tcp| {
                tcp.saved_rtt.is_some() && tcp.saved_window.is_none()
            }),
        ],
        problem: "contradicts what is not given beside it: a path is known by both",
        allowed: |_| "saved_window and saved_rtt, or neither".to_owned(),
    },
    // what style "linux" sets by itself is written with the scenario, and contradicts nothing
    Rule {
        refused: &[
            ("reduction", |tcp| {
                tcp.lacks_sack()
                    && match tcp.reduction {
                        WindowReduction::AtOnce => false,
                        WindowReduction::Prr => !tcp.linux(),
                        WindowReduction::RateHalving => true,
                    }
            }),
            ("loss_detection", |tcp| {
                tcp.lacks_sack() && tcp.loss_detection == LossDetection::Rack && !tcp.linux()
            }),
            ("undo", |tcp| tcp.lacks_sack() && tcp.undo == Undo::Dsack),
            ("detect_lost_retransmissions", |tcp| {
                tcp.lacks_sack() && tcp.detect_lost_retransmissions
            }),
        ],
        problem: "needs selective acknowledgements",
        allowed: |_| "with recovery = \"sack\" only".to_owned(),
    },
    Rule {
        refused: &[("search", |tcp| tcp.hystart && tcp.search)],
        problem: "contradicts hystart, which ends slow start its own way",
        allowed: |_| "one of both".to_owned(),
    },
    Rule {
        refused: &[
            ("recovery", |tcp| tcp.is_steered() && tcp.lacks_sack()),
            ("reduction", |tcp| {
                tcp.is_steered() && tcp.reduction != WindowReduction::AtOnce
            }),
            ("hystart", |tcp| tcp.is_steered() && tcp.hystart),
            ("search", |tcp| tcp.is_steered() && tcp.search),
            ("saved_window", |tcp| {
                tcp.is_steered() && tcp.resume().is_some()
            }),
        ],
        problem: "contradicts the congestion control, which steers the window from selective acknowledgements itself",
        allowed: |tcp| {
            format!(
                "recovery \"sack\", reduction \"at-once\", hystart and search false, no saved_window with \"{}\"",
                tcp.congestion.kind()
            )
        },
    },
    Rule {
        refused: &[("receive_buffer", |tcp| {
            !tcp.linux() && tcp.receive_buffer.is_some()
        })],
        problem: "is sized and read as by Linux, which a receiver of style \"rfc\" is not",
        allowed: |_| "with style = \"linux\" only; max_window limits the window in both".to_owned(),
    },
    Rule {
        refused: &[
            ("initial_receive_buffer", |tcp| {
                tcp.receive_buffer.is_none() && tcp.initial_receive_buffer != 128 << 10
            }),
            ("read_size", |tcp| {
                tcp.receive_buffer.is_none() && tcp.read_size != 1
            }),
        ],
        problem: "belongs to the limited receive buffer of a Linux receiver",
        allowed: |_| "with style = \"linux\" and a receive_buffer only".to_owned(),
    },
    Rule {
        refused: &[("ecn_pause", |tcp| tcp.linux() && tcp.ecn_pause)],
        problem: "Linux sends on",
        allowed: |_| "true with style = \"rfc\" only".to_owned(),
    },
    Rule {
        refused: &[
            ("rtt_samples", |tcp| {
                tcp.linux() && tcp.rtt_samples != RttSamples::EveryAck
            }),
            ("clock_granularity", |tcp| {
                tcp.linux() && tcp.clock_granularity != Time::ZERO
            }),
            ("restart_rto_on_every_ack", |tcp| {
                tcp.linux() && tcp.restart_rto_on_every_ack
            }),
        ],
        problem: "contradicts style \"linux\", whose timer has samples and ticks of its own",
        allowed: |_| "in style \"rfc\" only".to_owned(),
    },
    Rule {
        refused: &[
            ("ecn_feedback", |tcp| {
                !tcp.ecn && tcp.ecn_feedback != EcnFeedback::Auto
            }),
            ("peer_ecn", |tcp| !tcp.ecn && tcp.peer_ecn != PeerEcn::Same),
        ],
        problem: "needs ECN",
        allowed: |_| "with ecn = true only".to_owned(),
    },
    Rule {
        refused: &[
            ("min_rto", |tcp| tcp.min_rto > tcp.max_rto),
            ("max_rto", |tcp| tcp.min_rto > tcp.max_rto),
        ],
        problem: "min_rto is above max_rto",
        allowed: |tcp| {
            format!(
                "min_rto {} at most max_rto {}",
                format_time(tcp.min_rto),
                format_time(tcp.max_rto)
            )
        },
    },
];
