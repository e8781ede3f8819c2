//! Options with named values, each declared once: the declaration is the type in the model, its
//! names in a scenario, how it is read and written, its schema and its documentation.

/// An option with named values.
pub(crate) trait Named: Copy + Sized + 'static {
    /// Each value's name in a scenario, and what it means.
    const CHOICES: &'static [(&'static str, &'static str)];

    /// The name of the default.
    const DEFAULT: &'static str;

    /// The value of this name.
    fn named(name: &str) -> Option<Self>;

    /// Its name in a scenario.
    fn name(self) -> &'static str;
}

/// Declares options: each value with its name and its meaning; the first is the default.
macro_rules! options {
    ($(
        $(#[doc = $doc:literal])+
        pub enum $option:ident {
            $first:ident = $first_name:literal: $first_meaning:literal,
            $($value:ident = $name:literal: $meaning:literal,)*
        }
    )+) => {
        $(
            $(#[doc = $doc])+
            #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
            pub enum $option {
                #[doc = concat!("`\"", $first_name, "\"`: ", $first_meaning, ".")]
                #[default]
                $first,
                $(
                    #[doc = concat!("`\"", $name, "\"`: ", $meaning, ".")]
                    $value,
                )*
            }

            impl Named for $option {
                const CHOICES: &'static [(&'static str, &'static str)] =
                    &[($first_name, $first_meaning), $(($name, $meaning)),*];
                const DEFAULT: &'static str = $first_name;

                fn named(name: &str) -> Option<Self> {
                    match name {
                        $first_name => Some(Self::$first),
                        $($name => Some(Self::$value),)*
                        _ => None,
                    }
                }

                fn name(self) -> &'static str {
                    match self {
                        Self::$first => $first_name,
                        $(Self::$value => $name,)*
                    }
                }
            }
        )+
    };
}

options! {
    /// Differentiated services code point, as routers read it in the header.
    pub enum Dscp {
        Cs0 = "cs0": "default forwarding: best effort (RFC 2474)",
        Le = "le": "lower effort (RFC 8622)",
        Cs1 = "cs1": "class selector 1 (RFC 2474)",
        Af11 = "af11": "assured forwarding, class 1, drop precedence 1 (RFC 2597)",
        Af12 = "af12": "assured forwarding, class 1, drop precedence 2 (RFC 2597)",
        Af13 = "af13": "assured forwarding, class 1, drop precedence 3 (RFC 2597)",
        Cs2 = "cs2": "class selector 2 (RFC 2474)",
        Af21 = "af21": "assured forwarding, class 2, drop precedence 1 (RFC 2597)",
        Af22 = "af22": "assured forwarding, class 2, drop precedence 2 (RFC 2597)",
        Af23 = "af23": "assured forwarding, class 2, drop precedence 3 (RFC 2597)",
        Cs3 = "cs3": "class selector 3 (RFC 2474)",
        Af31 = "af31": "assured forwarding, class 3, drop precedence 1 (RFC 2597)",
        Af32 = "af32": "assured forwarding, class 3, drop precedence 2 (RFC 2597)",
        Af33 = "af33": "assured forwarding, class 3, drop precedence 3 (RFC 2597)",
        Cs4 = "cs4": "class selector 4 (RFC 2474)",
        Af41 = "af41": "assured forwarding, class 4, drop precedence 1 (RFC 2597)",
        Af42 = "af42": "assured forwarding, class 4, drop precedence 2 (RFC 2597)",
        Af43 = "af43": "assured forwarding, class 4, drop precedence 3 (RFC 2597)",
        Cs5 = "cs5": "class selector 5 (RFC 2474)",
        VoiceAdmit = "voice-admit": "telephony with admission control (RFC 5865)",
        Ef = "ef": "expedited forwarding (RFC 3246)",
        Cs6 = "cs6": "class selector 6 (RFC 2474)",
        Cs7 = "cs7": "class selector 7 (RFC 2474)",
    }

    /// Side of a path whose hosts share an address.
    pub enum Nat {
        None = "none": "neither: each host shows its own address",
        Source = "source": "the senders'",
        Destination = "destination": "the receivers'",
    }

    /// Where the defaults of a TCP come from.
    pub enum Style {
        Rfc = "rfc": "those of this table, and of `ackclock list`, most of them an RFC's",
        Linux = "linux": "Linux 6.1's: reduction \"prr\" where the congestion control does not steer the window itself, loss_detection \"rack\", ecn_pause false, max_rto 120 s; and the values that `ackclock list NAME` gives for it",
    }

    /// How the segments of a window are spread over time.
    pub enum Pacing {
        Auto = "auto": "at the rate that the congestion control asks for; where it asks for none, as ACKs clock them",
        Window = "window": "where the congestion control asks for no rate, at 2 cwnd / srtt while cwnd is below half of ssthresh, else at 1.2 cwnd / srtt (Linux)",
    }

    /// How losses are repaired.
    pub enum Recovery {
        Sack = "sack": "selective acknowledgements with the loss recovery of RFC 6675",
        NewReno = "newreno": "NewReno (RFC 6582)",
        Reno = "reno": "Reno (RFC 5681, section 3.2): the first new ACK ends the recovery",
        Tahoe = "tahoe": "fast retransmit, then slow start from one segment",
    }

    /// Evidence that tells a lost segment from one that is late, where ACKs are selective.
    pub enum LossDetection {
        DupAcks = "dup-acks": "`dup_threshold` segments sent after it have arrived (RFC 6675)",
        Rack = "rack": "one sent after it has arrived and its time is over; a probe is sent before the retransmission timer expires (RACK-TLP, RFC 8985)",
    }

    /// How the window comes down when selective acknowledgements find a loss.
    pub enum WindowReduction {
        AtOnce = "at-once": "sending goes on when the pipe has fallen to the new window (RFC 6675)",
        RateHalving = "rate-halving": "one segment for every two acknowledged; ssthresh is a ceiling afterwards (Linux 2.6, ns-2's Linux-derived sender)",
        Prr = "prr": "proportional rate reduction (RFC 9937)",
    }

    /// Evidence that tells a sender that a reduction of its window was needless, so that it is
    /// taken back.
    pub enum Undo {
        Auto = "auto": "as the style has it: nothing in style \"rfc\"; in style \"linux\" all of them, with RACK and a congestion control that does not steer the window itself",
        None = "none": "nothing: reductions stand",
        Eifel = "eifel": "ACKs that echo a time stamp from before the first retransmission (RFC 3522)",
        Dsack = "dsack": "the receiver, which reports every retransmission as a duplicate (RFC 2883, RFC 3708); needs recovery \"sack\"",
        Frto = "f-rto": "after a timeout, ACKs of segments that were sent before it and never again (RFC 5682)",
        All = "all": "whichever of the three tells first",
    }

    /// How marks come back to a sender with ECN.
    pub enum EcnFeedback {
        Auto = "auto": "as `ecn` says: ECE until CWR (RFC 3168), or each mark as it came (RFC 8257); a congestion control that is made for AccECN gets that",
        AccEcn = "accecn": "the receiver counts them, and each ACK has the count in three bits and in an option (AccECN, RFC 9768)",
        Ace = "ace": "the same in three bits alone",
    }

    /// Answer of the receiver to the ECN that a sender asks for.
    pub enum PeerEcn {
        Same = "same": "it has what the sender asks for",
        Classic = "classic": "it has the ECN of RFC 3168 alone: the sender falls back to that",
        None = "none": "it has no ECN, and the sender does without",
    }

    /// Which ACKs give samples of the round trip to the retransmission timer.
    pub enum RttSamples {
        EveryAck = "every-ack": "each ACK of new data, from the time stamp that it echoes (RFC 7323, appendix G)",
        OnceAWindow = "once-a-window": "one segment is timed at a time, and none that was sent before a loss was answered (RFC 6298, section 3; ns-2)",
    }

    /// How the file of a rate trace is written.
    pub enum TraceFormat {
        Csv = "csv": "lines of a time and a rate, with units in the cells or in a header such as `time_s,rate_mbps`",
        Mahimahi = "mahimahi": "a line for each packet of 1500 B that can be delivered, with its millisecond; those of a millisecond are spread over it",
    }

    /// Sizes of UDP packets that arrive as a Poisson process.
    pub enum PacketSizes {
        Fixed = "fixed": "every packet has `packet_size`",
        Exponential = "exponential": "exponential with mean `packet_size`, at least 1 B",
    }
}

impl Dscp {
    /// Its six bits.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Self::Cs0 => 0,
            Self::Le => 1,
            Self::Cs1 => 8,
            Self::Af11 => 10,
            Self::Af12 => 12,
            Self::Af13 => 14,
            Self::Cs2 => 16,
            Self::Af21 => 18,
            Self::Af22 => 20,
            Self::Af23 => 22,
            Self::Cs3 => 24,
            Self::Af31 => 26,
            Self::Af32 => 28,
            Self::Af33 => 30,
            Self::Cs4 => 32,
            Self::Af41 => 34,
            Self::Af42 => 36,
            Self::Af43 => 38,
            Self::Cs5 => 40,
            Self::VoiceAdmit => 44,
            Self::Ef => 46,
            Self::Cs6 => 48,
            Self::Cs7 => 56,
        }
    }
}
