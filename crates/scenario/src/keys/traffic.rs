//! Traffic that an application can send, and the keys of each kind.

use super::declare::keys;
use super::{Fallback::Derived, Fallback::Required, Key, Kind};
use crate::form::{
    Choice, Flag, Form, Frequency, MeanPayload, Or, PackMimeRate, Payload, PayloadSizes, Rate,
    ReadByHand, SpanSeconds,
};
use crate::options::{PacketSizes, Style};
use crate::reader::{Item, Reader, Table};
use crate::sizes::Sizes;
use crate::tree::Node;
use crate::units::Dimension;

/// A kind of traffic and its keys.
#[derive(Clone, Copy, Debug)]
pub struct TrafficKind {
    /// Its name.
    pub kind: &'static str,
    /// True if TCP carries it.
    pub tcp: bool,
    /// Meaning.
    pub doc: &'static str,
    /// Its keys beside `kind`.
    pub keys: &'static [Key],
}

/// Declares the kinds of traffic, each once, with its keys as [`keys!`] has them:
///
/// ```text
/// /// Its meaning.
/// Variant: Keys / Draft = "its name", tcp = whether TCP carries it, settled by function {
///     ...
/// }
/// ```
///
/// The first kind has no keys. Made of it are [`Traffic`], [`TRAFFIC`], how they are read and written. The function settles what
/// depends on more than one key, or on the path of the class.
macro_rules! traffic {
    (
        $(#[doc = $bulk_about:literal])+
        $bulk:ident = $bulk_kind:literal;
        $(
        $(#[doc = $about:literal])+
        $variant:ident: $keys:ident / $draft:ident = $kind:literal, tcp = $tcp:literal
            $(, settled by $settle:ident)? {
            $(
                $(#[doc = $doc:literal])+
                $name:ident: $type:ty as $form:ty $(= $default:expr)? $(, or $word:literal = $meaning:literal)?;
                $([$(
                    $(#[doc = $bare_doc:literal])+
                    $bare:ident: $bare_kind:ident = $bare_default:expr;
                )+])?
            )+
        }
    )+) => {
        /// Traffic that the application wants to send: rates in bit/s (of connections: each second),
        /// times in s, sizes in bytes.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Traffic {
            $(#[doc = $bulk_about])+
            $bulk,
            $($(#[doc = $about])+ $variant { $($(#[doc = $doc])+ $name: $type,)+ },)+
        }

        $(keys! {
            $(#[doc = $about])+
            pub(crate) struct $keys / $draft {
                $(
                    $(#[doc = $doc])+
                    $name: $type as $form $(= $default)? $(, or $word = $meaning)?;
                    $([$($(#[doc = $bare_doc])+ $bare: $bare_kind = $bare_default;)+])?
                )+
            }
            with {}
        })+

        /// `traffic = { kind = ..., ... }`.
        pub const TRAFFIC: &[TrafficKind] = &[TrafficKind {
            kind: $bulk_kind,
            tcp: true,
            doc: concat!($($bulk_about),+).trim_ascii_start(),
            keys: &[],
        }, $(TrafficKind {
            kind: $kind,
            tcp: $tcp,
            doc: concat!($($about),+).trim_ascii_start(),
            keys: $keys::KEYS,
        },)+];

        impl Traffic {
            /// Its name in a scenario.
            #[must_use]
            pub fn name(&self) -> &'static str {
                match self {
                    Self::$bulk => $bulk_kind,
                    $(Self::$variant { .. } => $kind,)+
                }
            }

            /// Traffic of this kind from its table; a message for each mistake.
            pub(crate) fn read(
                reader: &Reader<'_>,
                kind: &TrafficKind,
                table: &Table<'_>,
                path: &Bottleneck,
            ) -> Option<Self> {
                $(if kind.kind == $kind {
                    #[allow(unused_mut)]
                    let mut keys = $keys::read(reader, table, Style::default());
                    $($settle(&mut keys, reader, table, path);)?
                    let $keys { $($name),* } = keys.finish()?;
                    return Some(Self::$variant { $($name),* });
                })+
                Some(Self::$bulk)
            }

            /// Its name and each key with its value.
            pub(crate) fn write(self) -> Vec<(&'static str, Node)> {
                let kind = ("kind", Node::text(self.name()));
                let keys = match self {
                    Self::$bulk => Vec::new(),
                    $(Self::$variant { $($name),* } => $keys { $($name),* }.write(|_| None),)+
                };
                std::iter::once(kind).chain(keys).collect()
            }
        }
    };
}

traffic! {
    /// TCP that always has data to send.
    Bulk = "bulk";

    /// TCP with this much to send; the completion time runs from the start to the last ACK.
    Transfer: TransferKeys / TransferDraft = "transfer", tcp = true {
        /// Payload.
        size: u64 as Payload = Required;
    }

    /// TCP whose application writes at a constant rate.
    AppLimited: AppLimitedKeys / AppLimitedDraft = "app-limited", tcp = true {
        /// Payload written per second.
        rate: f64 as Rate = Required;
    }

    /// UDP at a constant rate: one packet each `packet_size / rate`.
    Cbr: CbrKeys / CbrDraft = "cbr", tcp = false {
        /// Rate on the wire, headers included.
        rate: f64 as Rate = Required;
    }

    /// UDP at a constant rate during exponential on-times, silent during exponential off-times.
    OnOff: OnOffKeys / OnOffDraft = "on-off", tcp = false, settled by rate_of_density {
        /// Rate on the wire while on, headers included.
        rate: f64 as ReadByHand<Rate> = Derived("by `density`");
        [
            /// Instead of `rate`: what all flows of the class send while on, over the rate of the
            /// slowest link of their path at the start.
            density: Share = Derived("none");
        ]
        /// Mean on-time.
        on: f64 as SpanSeconds = "1 s";
        /// Mean off-time.
        off: f64 as SpanSeconds = "1 s";
    }

    /// UDP packets as a Poisson process.
    Poisson: PoissonKeys / PoissonDraft = "poisson", tcp = false {
        /// Mean rate on the wire, headers included.
        rate: f64 as Rate = Required;
        /// Sizes of the packets.
        sizes: PacketSizes as Choice;
    }

    /// TCP sessions: a transfer, a think time after its last ACK, the next transfer.
    Http: HttpKeys / HttpDraft = "http", tcp = true {
        /// Payload of each transfer.
        size: Sizes as PayloadSizes = "exponential 12 kB";
        /// Mean think time (exponential).
        think: f64 as SpanSeconds = "500 ms";
        /// Whether all transfers use one connection, instead of a new one (with its slow start) each.
        persistent: bool as Flag = false;
    }

    /// TCP transfers that arrive as a Poisson process, each a connection of its own with its own draw
    /// of `rtt`; each flow of the class is such a process.
    Arrivals: ArrivalsKeys / ArrivalsDraft = "poisson-arrivals", tcp = true, settled by rate_of_load {
        /// New connections a second.
        rate: f64 as ReadByHand<Frequency> = Derived("by `load`");
        [
            /// Instead of `rate`: payload that arrives (all flows of the class together), over the
            /// rate of the slowest link of the path at the start.
            load: Share = Derived("none");
        ]
        /// Payload of each transfer.
        size: Sizes as PayloadSizes = Required;
    }

    /// HTTP responses over TCP after the PackMime model (Cao et al., INFOCOM 2004), each a connection
    /// of its own with its own draw of `rtt`.
    PackMime: PackMimeKeys / PackMimeDraft = "packmime", tcp = true {
        /// New connections a second, from 0.001 on.
        rate: f64 as PackMimeRate = Required;
        /// Mean payload of a response, to which the model's sizes are scaled.
        mean_size: Option<f64> as Or<MeanPayload> = "model", or "model" = "the model's own sizes, whose mean is 8.6 kB at 50 /s";
        /// Whether the server waits before it answers, as the model has it (mostly a few
        /// milliseconds, at most 100 ms).
        server_delay: bool as Flag = true;
    }
}

impl Traffic {
    /// Its kind.
    #[must_use]
    pub fn kind(&self) -> &'static TrafficKind {
        let name = self.name();
        TRAFFIC
            .iter()
            .find(|kind| kind.kind == name)
            .unwrap_or(&TRAFFIC[0])
    }

    /// True if a TCP sender carries it.
    #[must_use]
    pub fn is_tcp(&self) -> bool {
        self.kind().tcp
    }

    /// True if a transport of others can carry it: one connection from the start of the flow.
    #[must_use]
    pub fn fits_endpoint(&self) -> bool {
        matches!(
            self,
            Self::Bulk | Self::Transfer { .. } | Self::AppLimited { .. }
        )
    }

    /// True if connections come and go: each flow of the class is then a source of connections, not
    /// a connection.
    #[must_use]
    pub fn opens_connections(&self) -> bool {
        matches!(self, Self::Arrivals { .. } | Self::PackMime { .. })
    }
}

/// The capacity that a share refers to; `None` after a mistake in the key that says it.
#[derive(Default)]
pub(crate) struct Bottleneck {
    /// Rate of the slowest link of the path, bit/s.
    pub(crate) rate: Option<f64>,
    /// Flows of the class.
    pub(crate) flows: Option<u32>,
}

impl Bottleneck {
    /// The rate of each flow, bit/s, where the class sends this share.
    pub(crate) fn rate(&self, share: f64) -> Option<f64> {
        Some(share * self.rate? / f64::from(self.flows?.max(1)))
    }

    /// The connections a second of each flow, where the class sends this share.
    pub(crate) fn connections(&self, share: f64, size: &Sizes) -> Option<f64> {
        let bits = 8.0 * size.mean() * f64::from(self.flows?.max(1));
        Some(share * self.rate? / bits)
    }
}

/// Traffic by its name or its table.
pub(crate) struct TrafficOf;

impl Form<Traffic> for TrafficOf {
    const KIND: Kind = Kind::Traffic;

    fn read(reader: &Reader<'_>, item: &Item<'_>, _: Style) -> Option<Traffic> {
        reader.traffic(item, &Bottleneck::default())
    }

    fn write(traffic: &Traffic, _: &Key) -> Node {
        Node::table(traffic.clone().write())
    }
}

fn rate_of_density(
    keys: &mut OnOffDraft,
    reader: &Reader<'_>,
    table: &Table<'_>,
    path: &Bottleneck,
) {
    keys.rate = reader.rate_or_share(table, "density", Dimension::Rate, |density| {
        path.rate(density)
    });
}

fn rate_of_load(
    keys: &mut ArrivalsDraft,
    reader: &Reader<'_>,
    table: &Table<'_>,
    path: &Bottleneck,
) {
    keys.rate = reader.rate_or_share(table, "load", Dimension::Frequency, |load| {
        path.connections(load, keys.size.as_ref()?)
    });
}
