//! Schedulers: which of several queues of a link sends next.
//!
//! A link with a scheduler has sub-queues, each under an AQM of its own; they share the link's
//! capacity. The scheduler says where an arriving packet goes, which sub-queue sends next and who
//! gives way when there is no room. It sees sizes and times, never packets.
//!
//! A new one is a file here, and in this file its `mod` and `pub use` and a line in
//! `every_scheduler`.

mod cake;
mod choke;
mod drr;
mod dualpi2;
mod fq;
mod fq_codel;
mod fq_pie;
mod priority;
mod sch_fq;
mod sfb;
mod sfq;

pub use cake::{Cake, CakeParams};
pub use choke::{Choke, ChokeParams};
pub use drr::{Drr, DrrParams};
pub use dualpi2::{DualPi2, DualPi2Params};
pub use fq::{Fq, FqParams};
pub use fq_codel::{FqCodel, FqCodelParams};
pub use fq_pie::{FqPie, FqPieParams};
pub use priority::{Priority, PriorityParams};
pub use sch_fq::{SchFq, SchFqParams};
pub use sfb::{Sfb, SfbParams};
pub use sfq::{Sfq, SfqParams};

/// Every scheduler: variant and parameters.
macro_rules! every_scheduler {
    ($then:ident) => {
        $then! {
            Fq(FqParams),
            Drr(DrrParams),
            FqCodel(FqCodelParams),
            Priority(PriorityParams),
            DualPi2(DualPi2Params),
            Cake(CakeParams),
            FqPie(FqPieParams),
            Sfq(SfqParams),
            Sfb(SfbParams),
            Choke(ChokeParams),
            SchFq(SchFqParams),
        }
    };
}

use crate::aqm::{Observation, PacketView, Verdict};
use crate::forward::forwarded;
use crate::meta::Algorithm;
use crate::params::inconsistent;
use crate::plain::plain_specs;
use crate::{NumberOr, Stream, Time, Value, ValueError};

/// A sub-queue as its scheduler sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Packets waiting.
    pub packets: u32,
    /// Bytes waiting.
    pub bytes: u64,
    /// Size of the packet at the head, bytes; 0 when empty.
    pub head: u32,
    /// When the packet at the head arrived.
    pub since: Time,
}

/// A packet's flow as a scheduler sees it in the header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Label {
    /// Addresses and ports as hash functions see them.
    pub identity: u32,
    /// The hash that the sender's host gives the flow: in Linux another one after each timeout
    /// (`sk_rethink_txhash`). Queues that take it instead of hashing the header put what is sent from
    /// then on into another sub-queue.
    pub flow_hash: u32,
    /// Priority, 0 to 7, as a priority code point (IEEE 802.1Q): higher ones go first.
    pub priority: u8,
    /// ECN codepoint ECT(1): the flow has a scalable congestion control (RFC 9331).
    pub l4s: bool,
    /// Differentiated services code point.
    pub dscp: u8,
    /// Addresses of the hosts, as hash functions see them.
    pub hosts: Ends<u32>,
    /// The hosts that stand behind a network address translator.
    pub translated: Translated,
    /// The class of flows of the scenario.
    pub class: u32,
}

impl Label {
    /// That of an ACK of the same flow, which goes the other way.
    #[must_use]
    pub fn reversed(self) -> Self {
        Self {
            hosts: self.hosts.reversed(),
            translated: self.translated.reversed(),
            ..self
        }
    }
}

/// Something of both ends of a packet's way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ends<T> {
    /// The packet's sender.
    pub source: T,
    /// Its receiver.
    pub destination: T,
}

impl<T> Ends<T> {
    fn reversed(self) -> Self {
        Self {
            source: self.destination,
            destination: self.source,
        }
    }
}

/// Ends that stand behind a network address translator, whose address their packets show.
pub type Translated = Ends<bool>;

/// SACK blocks of an ACK, as many as fit beside time stamps. Empty ones stand for none.
pub type SackBlocks = [(u64, u64); 3];

/// A waiting packet as a filter of ACKs sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acknowledgement {
    /// Number of its flow.
    pub flow: u32,
    /// Next segment expected.
    pub cumulative: u64,
    /// The segments of its SACK blocks, ends excluded, a duplicate's (RFC 2883) first.
    pub blocks: SackBlocks,
    /// Its echo of marks.
    pub ecn_echo: u8,
}

/// Who gives way when the queues are full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Victim {
    /// The sub-queue.
    pub queue: usize,
    /// Whether the oldest packets go instead of the newest.
    pub head: bool,
    /// Packets that go, at most; the link stops earlier only when the sub-queue is empty.
    pub packets: u32,
}

/// A link as a scheduler sees it when it is set up.
#[derive(Clone, Copy, Debug)]
pub struct SchedulerView {
    /// Flows at the start; more may come during the run.
    pub flows: u32,
    /// Salt of hash functions.
    pub salt: u64,
    /// The link's rate at the start, bit/s.
    pub rate: f64,
}

forwarded! { $ forward_scheduler #[inline(always)];
    /// Chooses among sub-queues. Pure: times, sizes and random numbers are passed in.
    pub trait Scheduler {
        /// Number of sub-queues at the start. `classify` may name further ones, which then come to
        /// be.
        fn queues(&self) -> usize;

        /// True if sub-queues are numbered in the order of their first use, so that none of
        /// [`Scheduler::queues`] needs to be there before.
        fn numbers_by_use(&self) -> bool {
            false
        }

        /// The sub-queue of a packet.
        fn classify(&mut self, packet: &PacketView, label: &Label) -> usize;

        /// The verdict on a packet that arrives at `queue` and that `backlog` does not count yet.
        /// Called only with [`Scheduler::judges`].
        fn judge_arrival(
            &mut self,
            _now: Time,
            _queue: usize,
            _packet: &PacketView,
            _label: &Label,
            _backlog: &[Backlog],
            _random: &mut Stream,
        ) -> Verdict {
            Verdict::Accept
        }

        /// The packet of `queue`, counted from its head, that is dropped with the arriving one
        /// where [`Scheduler::judge_arrival`] has just said to drop that.
        fn also_drops(&mut self) -> Option<usize> {
            None
        }

        /// True when ACKs that wait may give way to later ones ([`Scheduler::superseded`]).
        fn filters_acks(&self) -> bool {
            false
        }

        /// The waiting ACK, counted from the head of its sub-queue, that the last one of
        /// `waiting`, which has just joined, makes needless. `None` in the list are other packets.
        fn superseded(
            &mut self,
            _now: Time,
            _queue: usize,
            _waiting: &mut dyn Iterator<Item = Option<Acknowledgement>>,
        ) -> Option<usize> {
            None
        }

        /// A packet has joined `queue`; `backlog` counts it.
        fn joined(&mut self, _queue: usize, _backlog: &[Backlog]) {}

        /// The sub-queue that sends next, never an empty one; `None` when all are empty, or none
        /// may send before [`Scheduler::opens`]. It is asked again, without [`Scheduler::sent`],
        /// when an AQM has dropped the packet.
        fn next(&mut self, now: Time, backlog: &[Backlog]) -> Option<usize>;

        /// When a packet may be sent, after [`Scheduler::next`] had none although some wait. Only a
        /// scheduler that shapes has such times, all of them later than `now`.
        fn opens(&self, now: Time) -> Option<Time> {
            let until = self.shut_until();
            (until > now).then_some(until)
        }

        /// Until when [`Scheduler::next`] has none and changes nothing, whatever joins, as far as
        /// is known without asking. Only a scheduler that shapes all its packets has such times.
        fn shut_until(&self) -> Time {
            Time::ZERO
        }

        /// True while packets must give way ([`Scheduler::overflow_victim`]), although the queues
        /// may be within the link's capacity.
        fn overflows(&self) -> bool {
            false
        }

        /// A packet of `size` bytes has been dropped from `queue` other than by
        /// [`Scheduler::judge`]: for want of room, with an arriving one, or as an ACK that a later
        /// one made needless. `backlog` no longer counts it.
        fn removed(&mut self, _now: Time, _queue: usize, _size: u32, _backlog: &[Backlog]) {}

        /// A packet of `size` bytes has left `queue` to be sent; `backlog` no longer counts it.
        fn sent(&mut self, _queue: usize, _size: u32, _backlog: &[Backlog]) {}

        /// The queues are full, counting a packet that has just joined `arrived`.
        fn overflow_victim(&self, arrived: usize, backlog: &[Backlog]) -> Victim;

        /// Whether the AQM of a sub-queue from which a packet leaves is shown the bytes of all
        /// sub-queues for those of its own.
        fn shows_total(&self) -> bool {
            false
        }

        /// A sub-queue that was found empty in its turn since this was last asked. Called only with
        /// [`Scheduler::shows_total`].
        fn found_empty(&mut self) -> Option<usize> {
            None
        }

        /// True when the scheduler judges packets itself ([`Scheduler::judge`]) and its sub-queues
        /// have no AQMs.
        fn judges(&self) -> bool {
            false
        }

        /// A packet leaves `queue` after `sojourn` in it; `backlog` no longer counts it. Called
        /// only with [`Scheduler::judges`].
        fn judge(
            &mut self,
            _queue: usize,
            _sojourn: Time,
            _packet: &PacketView,
            _backlog: &[Backlog],
            _random: &mut Stream,
        ) -> Verdict {
            Verdict::Accept
        }

        /// When [`Scheduler::on_timer`] wants to run next.
        fn next_timer(&self) -> Option<Time> {
            None
        }

        /// The time asked for by [`Scheduler::next_timer`] has come.
        fn on_timer(&mut self, _now: Time, _backlog: &[Backlog]) {}

        /// Whether [`Scheduler::on_timer`] has just had all waiting packets moved. They are taken out,
        /// sub-queue by sub-queue, and each then joins the one that [`Scheduler::place`] gives it.
        fn moves(&mut self) -> bool {
            false
        }

        /// The sub-queue of a packet of a flow that moves; `backlog` does not count it.
        fn place(&mut self, _flow: u32, _backlog: &[Backlog]) -> usize {
            0
        }

        /// Inner state for traces.
        fn observe(&self) -> Observation {
            Observation::default()
        }
    }
}

/// Parameters that make a scheduler.
pub trait SchedulerAlgorithm: Algorithm {
    /// The scheduler at work.
    type Scheduler: Scheduler;

    /// The AQM of its sub-queues when a scenario names none, and those of its parameters whose
    /// defaults differ; `None` if the scheduler judges packets itself, so that there can be no AQM.
    const AQM: Option<(&'static str, &'static [(&'static str, bool)])> = Some(("drop-tail", &[]));

    /// The capacity when a scenario gives none, packets; `None`: that of any link.
    const CAPACITY: Option<u32> = None;

    /// The sub-queues that it gives flows that are alike.
    const ALIKE: Alike = Alike::Own;

    /// True if packets come out without their differentiated services code points.
    fn washes(&self) -> bool {
        false
    }

    /// How it couples a queue for scalable senders to one for classic ones, if it does.
    fn coupling(&self) -> Option<Coupling> {
        None
    }

    /// The scheduler of a link. The parameters have been checked.
    fn build(&self, view: &SchedulerView) -> Self::Scheduler;
}

/// The sub-queues that a scheduler gives flows that are alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alike {
    /// A queue for each flow, served with an equal share of the link.
    Each,
    /// One queue for all, as without a scheduler.
    One,
    /// Something of its own.
    Own,
}

/// A queue for scalable senders, which goes first, beside one for classic ones, with coupled
/// probabilities (RFC 9332, section 2.1): where the AQM of the classic queue drops or marks with
/// probability p, scalable packets are marked with k sqrt(p).
#[derive(Clone, Debug, PartialEq)]
pub struct Coupling {
    /// An AQM of the registry that does what the classic queue's does.
    pub aqm: &'static str,
    /// The parameters that differ from its defaults.
    pub values: Vec<(String, Value)>,
    /// k.
    pub factor: f64,
    /// Share of the link that the classic queue keeps when both are backlogged.
    pub classic_share: f64,
}

macro_rules! schedulers_of {
    ($($name:ident($params:ident),)*) => {
        plain_specs! {
            /// A scheduler and its parameters.
            SchedulerSpec, schedulers: $($name($params),)*
        }

        impl SchedulerSpec {
            /// The scheduler of a link.
            #[must_use]
            pub fn build(&self, view: &SchedulerView) -> AnyScheduler {
                match self {
                    $(Self::$name(params) => AnyScheduler::$name(params.build(view)),)*
                }
            }

            /// See [`SchedulerAlgorithm::AQM`].
            #[must_use]
            pub fn default_aqm(&self) -> Option<(&'static str, Vec<(String, Value)>)> {
                let aqm = match self {
                    $(Self::$name(_) => <$params as SchedulerAlgorithm>::AQM,)*
                };
                aqm.map(|(kind, flags)| {
                    let flags = flags.iter().map(|(name, flag)| ((*name).to_owned(), Value::Flag(*flag)));
                    (kind, flags.collect())
                })
            }

            /// See [`SchedulerAlgorithm::ALIKE`].
            #[must_use]
            pub fn alike(&self) -> Alike {
                match self {
                    $(Self::$name(_) => <$params as SchedulerAlgorithm>::ALIKE,)*
                }
            }

            /// See [`SchedulerAlgorithm::washes`].
            #[must_use]
            pub fn washes(&self) -> bool {
                match self {
                    $(Self::$name(params) => params.washes(),)*
                }
            }

            /// See [`SchedulerAlgorithm::coupling`].
            #[must_use]
            pub fn coupling(&self) -> Option<Coupling> {
                match self {
                    $(Self::$name(params) => params.coupling(),)*
                }
            }

            /// See [`SchedulerAlgorithm::CAPACITY`].
            #[must_use]
            pub fn default_capacity(&self) -> Option<u32> {
                match self {
                    $(Self::$name(_) => <$params as SchedulerAlgorithm>::CAPACITY,)*
                }
            }
        }

        /// A scheduler at work.
        #[derive(Debug)]
        pub enum AnyScheduler {
            $(
                #[doc = concat!("See [`", stringify!($params), "`].")]
                $name(<$params as SchedulerAlgorithm>::Scheduler),
            )*
        }

        forward_scheduler!([] AnyScheduler { $($name),* });
    };
}
every_scheduler!(schedulers_of);

/// Maps flows to sub-queues: by a salted hash into buckets, or each flow to its own.
///
/// Sub-queues are numbered in the order of their first use: those that no packet comes to take no
/// memory.
#[derive(Clone, Debug)]
struct Hash {
    queues: u32,
    /// `None`: each flow has its own.
    salt: Option<u64>,
    /// The sub-queue of each bucket, or [`NO_SUB_QUEUE`].
    numbers: Vec<u32>,
    /// The bucket of each sub-queue.
    buckets: Vec<u32>,
}

/// No sub-queue.
const NO_SUB_QUEUE: u32 = u32::MAX;

impl Hash {
    fn new(buckets: NumberOr, view: &SchedulerView) -> Self {
        match buckets {
            NumberOr::Number(buckets) => Self {
                queues: buckets as u32,
                salt: Some(view.salt),
                numbers: Vec::new(),
                buckets: Vec::new(),
            },
            NumberOr::Word(_) => Self {
                queues: view.flows.max(1),
                salt: None,
                numbers: Vec::new(),
                buckets: Vec::new(),
            },
        }
    }

    /// The bucket of a flow with this hash.
    #[inline]
    fn bucket(&self, flow: u32, hash: u32) -> usize {
        let Some(salt) = self.salt else {
            return flow as usize;
        };
        let hash = crate::random::mix(u64::from(hash) ^ salt);
        // the high half of the product: unbiased enough, and no division
        ((u128::from(hash) * u128::from(self.queues)) >> 64) as usize
    }

    /// The sub-queue of a flow with this hash.
    #[inline]
    fn queue(&mut self, flow: u32, hash: u32) -> usize {
        let bucket = self.bucket(flow, hash);
        match self.numbers.get(bucket) {
            Some(&number) if number != NO_SUB_QUEUE => number as usize,
            _ => self.number(bucket),
        }
    }

    /// A number for a bucket to which the first packet comes.
    #[cold]
    #[inline(never)]
    fn number(&mut self, bucket: usize) -> usize {
        if bucket >= self.numbers.len() {
            let hashed = self.salt.map_or(0, |_| self.queues as usize);
            self.numbers.resize(hashed.max(bucket + 1), NO_SUB_QUEUE);
        }
        let number = self.buckets.len();
        self.numbers[bucket] = number as u32;
        self.buckets.push(bucket as u32);
        number
    }

    /// The sub-queue with most bytes; of equals the one whose first packet has waited longest, and
    /// of those the one of the first bucket.
    fn fattest(&self, backlog: &[Backlog]) -> usize {
        let mut most = 0;
        for (queue, state) in backlog.iter().enumerate() {
            let first = &backlog[most];
            let older = || {
                let order = |queue: usize| self.buckets.get(queue).copied().unwrap_or(NO_SUB_QUEUE);
                (state.since, order(queue)) < (first.since, order(most))
            };
            if state.bytes > first.bytes || (state.bytes == first.bytes && older()) {
                most = queue;
            }
        }
        most
    }
}

/// Refuses a fraction of a sub-queue.
fn whole_buckets(buckets: NumberOr) -> Result<(), ValueError> {
    match buckets {
        NumberOr::Number(number) if number.fract() != 0.0 => Err(inconsistent(
            "buckets",
            number,
            "a whole number, or \"exact\"".to_owned(),
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
pub(crate) mod test {
    //! A link's queues, as small as unit tests of schedulers need them.

    use std::collections::VecDeque;

    use super::{Backlog, Label, Scheduler, SchedulerView};
    use crate::Time;
    use crate::aqm::PacketView;

    pub(crate) const VIEW: SchedulerView = SchedulerView {
        flows: 8,
        salt: 1,
        rate: 1e8,
    };

    pub(crate) fn of_flow(flow: u32, size: u32) -> PacketView {
        PacketView {
            size,
            flow,
            ..crate::aqm::test::packet()
        }
    }

    pub(crate) struct Queues<S> {
        pub(crate) scheduler: S,
        pub(crate) waiting: Vec<VecDeque<(Time, PacketView)>>,
        pub(crate) backlog: Vec<Backlog>,
    }

    impl<S: Scheduler> Queues<S> {
        pub(crate) fn new(scheduler: S) -> Self {
            let queues = scheduler.queues();
            Self {
                scheduler,
                waiting: vec![VecDeque::new(); queues],
                backlog: vec![Backlog::default(); queues],
            }
        }

        fn count(&mut self, queue: usize) {
            let waiting = &self.waiting[queue];
            self.backlog[queue] = Backlog {
                packets: waiting.len() as u32,
                bytes: waiting
                    .iter()
                    .map(|(_, packet)| u64::from(packet.size))
                    .sum(),
                head: waiting.front().map_or(0, |(_, packet)| packet.size),
                since: waiting.front().map_or(Time::ZERO, |(since, _)| *since),
            };
        }

        pub(crate) fn put(&mut self, now: Time, packet: PacketView, label: Label) -> usize {
            let queue = self.scheduler.classify(&packet, &label);
            self.waiting[queue].push_back((now, packet));
            self.count(queue);
            self.scheduler.joined(queue, &self.backlog);
            queue
        }

        pub(crate) fn take(&mut self, now: Time) -> Option<(usize, Time, PacketView)> {
            let queue = self.scheduler.next(now, &self.backlog)?;
            let (since, packet) = self.waiting[queue]
                .pop_front()
                .expect("a scheduler never chooses an empty queue");
            self.count(queue);
            self.scheduler.sent(queue, packet.size, &self.backlog);
            Some((queue, since, packet))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DefaultValue, Parameters};

    #[test]
    fn every_default_is_allowed_and_survives_a_round_trip() {
        for meta in schedulers() {
            assert!(
                meta.parameters
                    .iter()
                    .all(|spec| spec.default != DefaultValue::Required),
                "{}",
                meta.kind
            );
            let spec = SchedulerSpec::from_values(meta.kind, &[]).unwrap();
            let values: Vec<_> = spec
                .values()
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect();
            assert_eq!(
                SchedulerSpec::from_values(meta.kind, &values).unwrap(),
                spec
            );
            assert_eq!(spec.meta().kind, meta.kind);
        }
        let error = SchedulerSpec::from_values("wfq", &[]).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("there is no algorithm \"wfq\"; there are fq, drr, fq_codel"),
            "{error}"
        );
    }

    #[test]
    fn hashes_spread_flows_and_depend_on_the_salt() {
        let view = |salt| SchedulerView {
            flows: 0,
            salt,
            rate: 1e8,
        };
        let buckets = |salt| Hash::new(NumberOr::Number(16.0), &view(salt));
        let hash = buckets(5);
        let mut counts = [0; 16];
        for identity in 0..16_000 {
            counts[hash.bucket(0, identity)] += 1;
        }
        // binomial: mean 1000, deviation 31
        assert!(
            counts.iter().all(|count| (850..1150).contains(count)),
            "{counts:?}"
        );
        let other = buckets(6);
        assert!((0..100).any(|flow| hash.bucket(0, flow) != other.bucket(0, flow)));
        assert_eq!(FqParams::SPEC[0].name, "buckets");
    }
}
