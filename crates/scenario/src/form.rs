//! Forms of values: the type in the model, what a scenario may give for it, how it is read and
//! written. A key is declared with one of them.

use std::marker::PhantomData;

use ackclock_algorithms::Time;
use ackclock_algorithms::classes::ClassSchedulerSpec;
use ackclock_algorithms::impairment::{LossSpec, PolicerParams, ShaperParams, StallParams};
use ackclock_algorithms::registry::CongestionSpec;
use ackclock_algorithms::scheduler::SchedulerSpec;
use ackclock_algorithms::service::ServiceSpec;

use crate::key::{Fallback, Key, Kind};
use crate::options::{Dscp, Named, Style};
use crate::reader::{Item, Reader};
use crate::sizes::Sizes;
use crate::tree::Node;
use crate::units::{format_packets, format_rate, format_seconds, format_size, format_time};
use crate::value::{Capacity, Distribution, End};
use crate::written;

/// Values that a scenario may give for a key.
pub(crate) trait Kinded {
    /// In words, in the schema and in the reference.
    const KIND: Kind;
}

/// How a `Value` stands in a scenario.
#[diagnostic::on_unimplemented(
    message = "a key with values of type `{Value}` cannot be declared `as {Self}`",
    note = "crates/scenario/src/form.rs has the forms, and the types of their values"
)]
pub(crate) trait Form<Value> {
    /// Kind of the value that a scenario may give.
    const KIND: Kind;

    /// The default of a key that is declared without one.
    const DEFAULT: Option<Fallback> = None;

    /// True if the table's own code reads the value.
    const READ_BY_HAND: bool = false;

    /// True if the table's own code writes the value.
    const WRITTEN_BY_HAND: bool = false;

    /// The value; `None` after a message about what is wrong.
    fn read(reader: &Reader<'_>, item: &Item<'_>, style: Style) -> Option<Value>;

    /// The value as it stands in a scenario.
    fn write(value: &Value, key: &Key) -> Node;
}

/// Declares forms: `Name: type, kind, how it is read, how it is written`.
macro_rules! forms {
    ($($(#[$doc:meta])* $form:ident: $value:ty, $kind:expr, |$reader:ident, $item:ident| $read:expr, |$written:ident| $write:expr;)+) => {$(
        $(#[$doc])*
        pub(crate) struct $form;

        impl Kinded for $form {
            const KIND: Kind = $kind;
        }

        impl Form<$value> for $form {
            const KIND: Kind = $kind;

            fn read($reader: &Reader<'_>, $item: &Item<'_>, _: Style) -> Option<$value> {
                $read
            }

            fn write($written: &$value, _: &Key) -> Node {
                $write
            }
        }
    )+};
}

forms! {
    /// Any text.
    AnyText: String, Kind::Text, |reader, item| reader.text(item).map(str::to_owned), |text| Node::text(text.clone());
    /// True or false.
    Flag: bool, Kind::Flag, |reader, item| reader.flag(item), |flag| written::flag(*flag);
    /// A time, zero allowed.
    AnyTime: Time, Kind::Time, |reader, item| reader.time(item), |time| Node::text(format_time(*time));
    /// A time above zero.
    Span: Time, Kind::Span, |reader, item| reader.time(item), |time| Node::text(format_time(*time));
    /// A time above zero, s.
    SpanSeconds: f64, Kind::Span, |reader, item| reader.seconds(item), |seconds| Node::text(format_seconds(*seconds));
    /// Two times, the first before the second.
    Window: (Time, Time), Kind::Window, |reader, item| reader.window(item), |window| Node::text(format!("{} .. {}", format_time(window.0), format_time(window.1)));
    /// When a run ends: a time, or the word for the last acknowledgement.
    EndOfRun: End, Kind::Span, |reader, item| reader.end(item), |end| written::end(*end);
    /// The size of a packet, bytes.
    PacketSize: u32, Kind::Size, |reader, item| reader.packet_size(item), |bytes| Node::text(format_size(u64::from(*bytes)));
    /// A number of packets, at least one.
    Packets: f64, Kind::Packets, |reader, item| reader.packets(item), |packets| Node::text(format_packets(*packets));
    /// A whole number of packets, at least one.
    WholePackets: u32, Kind::WholePackets, |reader, item| reader.whole_packets(item), |packets| Node::text(format_packets(f64::from(*packets)));
    /// A data rate above zero, bit/s.
    Rate: f64, Kind::Rate, |reader, item| reader.rate(item), |rate| Node::text(format_rate(*rate));
    /// Connections a second.
    Frequency: f64, Kind::Frequency, |reader, item| reader.frequency(item), |rate| written::per_second(*rate);
    /// Connections a second of PackMime.
    PackMimeRate: f64, Kind::Frequency, |reader, item| reader.packmime_rate(item), |rate| written::per_second(*rate);
    /// The payload of a transfer, bytes.
    Payload: u64, Kind::Size, |reader, item| reader.size(item, u64::MAX), |bytes| Node::text(format_size(*bytes));
    /// A mean payload, bytes.
    MeanPayload: f64, Kind::Size, |reader, item| reader.mean_size(item), |bytes| Node::text(written::bytes(*bytes));
    /// Payload of transfers, drawn once a transfer.
    PayloadSizes: Sizes, Kind::Sizes, |reader, item| reader.sizes(item), |sizes| written::sizes(sizes);
    /// A queue's limit.
    Limit: Capacity, Kind::Capacity, |reader, item| reader.capacity(item, None), |limit| written::capacity(*limit);
    /// The name of something.
    Name: String, Kind::Name, |reader, item| reader.name(item), |name| Node::text(name.clone());
    /// Times drawn once per flow.
    Times: Distribution, Kind::Distribution, |reader, item| reader.distribution(item), |times| written::distribution(times);
    /// A scheduler with its parameters.
    SchedulerOf: SchedulerSpec, Kind::Scheduler, |reader, item| reader.scheduler(item), |it| written::named(it.meta(), &it.values());
    /// A scheduler with classes, and its own parameters.
    ClassScheduler: ClassSchedulerSpec, Kind::ClassScheduler, |reader, item| reader.class_scheduler(item), |it| written::named(it.meta(), &it.values());
    /// Names of classes of flows.
    Names: Vec<String>, Kind::Names, |reader, item| reader.names(item), |names| written::array(names.iter().map(Node::text));
    /// Code points in the header.
    CodePoints: Vec<Dscp>, Kind::CodePoints(Dscp::CHOICES), |reader, item| reader.code_points(item), |codes| written::array(codes.iter().map(|code| Node::text(code.name())));
    /// A token bucket that drops.
    Policer: PolicerParams, Kind::Policer, |reader, item| reader.bucket(item), |it| written::bucket(it);
    /// A token bucket that holds back.
    Shaper: ShaperParams, Kind::Shaper, |reader, item| reader.bucket(item), |it| written::bucket(it);
    /// A loss model with its parameters, or a probability.
    Loss: LossSpec, Kind::Loss, |reader, item| reader.loss(item), |it| written::named(it.meta(), &it.values());
    /// A service with its parameters.
    ServiceOf: ServiceSpec, Kind::Service, |reader, item| reader.service(item), |it| written::named(it.meta(), &it.values());
    /// Times in which a link sends nothing.
    StallsOf: StallParams, Kind::Stalls, |reader, item| reader.bucket(item), |it| written::bucket(it);
    /// Times drawn once per packet.
    AddedDelay: Distribution, Kind::Distribution, |reader, item| reader.added_delay(item), |times| written::distribution(times);
    /// A number of packets that leave in one burst.
    InitialWindow: f64, Kind::Packets, |reader, item| reader.initial_window(item), |packets| Node::text(format_packets(*packets));
}

/// A whole number from `LOW` to `HIGH`.
pub(crate) struct Integer<const LOW: i64, const HIGH: i64>;

impl<T, const LOW: i64, const HIGH: i64> Form<T> for Integer<LOW, HIGH>
where
    T: Copy + Into<u64> + TryFrom<i64>,
{
    const KIND: Kind = Kind::Integer(LOW, HIGH);

    fn read(reader: &Reader<'_>, item: &Item<'_>, _: Style) -> Option<T> {
        reader
            .integer(item)
            .and_then(|number| T::try_from(number).ok())
    }

    fn write(number: &T, _: &Key) -> Node {
        written::integer((*number).into())
    }
}

/// One of the names of an option; the first is the default.
pub(crate) struct Choice;

impl<T: Named> Form<T> for Choice {
    const KIND: Kind = Kind::Choice(T::CHOICES);
    const DEFAULT: Option<Fallback> = Some(Fallback::Text(T::DEFAULT));

    fn read(reader: &Reader<'_>, item: &Item<'_>, _: Style) -> Option<T> {
        reader.option(item)
    }

    fn write(value: &T, _: &Key) -> Node {
        Node::text(value.name())
    }
}

/// A value, or the word that may stand in its place: `None`.
pub(crate) struct Or<F>(PhantomData<F>);

impl<T, F: Form<T>> Form<Option<T>> for Or<F> {
    const KIND: Kind = F::KIND;

    fn read(reader: &Reader<'_>, item: &Item<'_>, style: Style) -> Option<Option<T>> {
        if item.is_word() {
            Some(None)
        } else {
            F::read(reader, item, style).map(Some)
        }
    }

    fn write(value: &Option<T>, key: &Key) -> Node {
        match (value, key.word) {
            (Some(value), _) => F::write(value, key),
            (None, Some((word, _))) => Node::text(word),
            (None, None) => written::none(),
        }
    }
}

/// A value, or a word in its place that means `WORD`.
macro_rules! or_value {
    ($($(#[$doc:meta])* $form:ident: $value:ty, $inner:ty, $word:expr;)+) => {$(
        $(#[$doc])*
        pub(crate) struct $form;

        impl Form<$value> for $form {
            const KIND: Kind = <$inner as Form<$value>>::KIND;

            fn read(reader: &Reader<'_>, item: &Item<'_>, style: Style) -> Option<$value> {
                Or::<$inner>::read(reader, item, style).map(|value| value.unwrap_or($word))
            }

            fn write(value: &$value, key: &Key) -> Node {
                Or::<$inner>::write(&Some(*value).filter(|value| *value != $word), key)
            }
        }
    )+};
}

or_value! {
    /// A number of packets, or the word for infinitely many.
    PacketsOrInfinite: f64, Packets, f64::INFINITY;
    /// A time above zero, or the word for zero.
    SpanOrZero: Time, Span, Time::ZERO;
}

/// A congestion control with its parameters.
pub(crate) struct Congestion;

impl Form<CongestionSpec> for Congestion {
    const KIND: Kind = Kind::Congestion;

    fn read(reader: &Reader<'_>, item: &Item<'_>, style: Style) -> Option<CongestionSpec> {
        reader.congestion(item, style)
    }

    fn write(congestion: &CongestionSpec, _: &Key) -> Node {
        let specs = congestion.meta().map_or(&[][..], |meta| meta.parameters);
        let kind = ("kind", Node::text(congestion.kind()));
        let values = congestion.values();
        Node::table(std::iter::once(kind).chain(written::parameters(specs, &values)))
    }
}

/// Links in the order in which they are crossed.
pub(crate) struct Path;

impl Kinded for Path {
    const KIND: Kind = Kind::Path;
}

/// A constant rate, or one over time.
pub(crate) struct RateOrTrace;

impl Kinded for RateOrTrace {
    const KIND: Kind = Kind::RateOrTrace;
}

/// The name of an AQM, whose parameters stand beside it.
pub(crate) struct AqmName;

impl Kinded for AqmName {
    const KIND: Kind = Kind::Text;
}

/// A value on which other keys have a say, too: the table's own code reads it.
pub(crate) struct ReadByHand<F>(PhantomData<F>);

impl<T, F: Form<T>> Form<T> for ReadByHand<F> {
    const KIND: Kind = F::KIND;
    const DEFAULT: Option<Fallback> = F::DEFAULT;
    const READ_BY_HAND: bool = true;

    fn read(reader: &Reader<'_>, item: &Item<'_>, style: Style) -> Option<T> {
        F::read(reader, item, style)
    }

    fn write(value: &T, key: &Key) -> Node {
        F::write(value, key)
    }
}

/// A value that stands for something else in the model: the table's own code reads and writes it.
pub(crate) struct ByHand<F>(PhantomData<F>);

impl<T, F: Kinded> Form<T> for ByHand<F> {
    const KIND: Kind = F::KIND;
    const READ_BY_HAND: bool = true;
    const WRITTEN_BY_HAND: bool = true;

    fn read(_: &Reader<'_>, _: &Item<'_>, _: Style) -> Option<T> {
        None
    }

    fn write(_: &T, _: &Key) -> Node {
        written::none()
    }
}
