//! Class schedulers: queueing disciplines whose classes a scenario declares, each with parameters
//! of its own, and at each leaf any queue, also one with classes.
//!
//! A link with one has a tree of classes. The link finds the leaf of an arriving packet by the
//! filters of the scenario; the scheduler says which leaf sends next and, if it shapes, when. It
//! sees sizes and times, never packets.
//!
//! A new one is a file here, and in this file its `mod` and `pub use` and a line in
//! `every_class_scheduler`.

mod ets;
mod hfsc;
mod htb;
mod prio;
mod tbf;
mod waiting;

pub use ets::{Ets, EtsClassParams, EtsParams};
pub use hfsc::{Hfsc, HfscClassParams, HfscParams};
pub use htb::{Htb, HtbClassParams, HtbParams};
pub use prio::{Prio, PrioClassParams, PrioParams};
pub use tbf::{Tbf, TbfClassParams, TbfParams};

/// Every class scheduler: variant, parameters, parameters of a class.
macro_rules! every_class_scheduler {
    ($then:ident) => {
        $then! {
            Htb(HtbParams, HtbClassParams),
            Hfsc(HfscParams, HfscClassParams),
            Prio(PrioParams, PrioClassParams),
            Ets(EtsParams, EtsClassParams),
            Tbf(TbfParams, TbfClassParams),
        }
    };
}

use crate::forward::forwarded;
use crate::meta::{Algorithm, Meta};
use crate::plain::plain_specs;
use crate::scheduler::Backlog;
use crate::{ParameterSpec, Parameters, Time, Value, ValueError};

/// A class scheduler's next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// This class sends its first packet.
    Send(usize),
    /// The size of this class's first packet must be known before anything is decided: it leaves
    /// the class's queue, which judges it, and waits in front of it.
    Peek(usize),
    /// Packets wait, and none may go before this time.
    Wait(Time),
    /// There are no packets.
    Idle,
}

/// A class's place and parameters.
#[derive(Clone, Copy, Debug)]
pub struct Declared<P> {
    /// The class that it belongs to: one before it.
    pub parent: Option<usize>,
    /// Whether it has a queue, and no classes of its own.
    pub leaf: bool,
    /// Its parameters.
    pub params: P,
}

forwarded! { $ forward_class_scheduler #[inline];
    /// Chooses among classes. Pure: times and sizes are passed in. Classes are numbered in the
    /// order of their declaration, a class before those below it; `backlog` is empty at inner ones.
    pub trait ClassScheduler {
        /// A packet has joined the queue of `class`; `backlog` counts it.
        fn joined(&mut self, now: Time, class: usize, backlog: &[Backlog]);

        /// Decides what to do now. Where the answer is [`Turn::Send`], either [`ClassScheduler::sent`] or,
        /// when the queue has dropped all that it had, [`ClassScheduler::emptied`] follows.
        fn next(&mut self, now: Time, backlog: &[Backlog]) -> Turn;

        /// Until when [`ClassScheduler::next`] will answer [`Turn::Wait`], and need not be asked,
        /// whatever joins classes that have packets; in the past if that is not known. Asked after
        /// [`ClassScheduler::sent`].
        fn shut_until(&self) -> Time {
            Time::ZERO
        }

        /// A packet of `size` bytes has left `class` to be sent; `backlog` no longer counts it.
        fn sent(&mut self, now: Time, class: usize, size: u32, backlog: &[Backlog]);

        /// The queue of `class` has lost its last packet other than by sending it.
        fn emptied(&mut self, now: Time, class: usize);
    }
}

/// Parameters that make a class scheduler.
pub trait ClassAlgorithm: Algorithm {
    /// Parameters of each class.
    type Class: Parameters + Copy;

    /// The scheduler at work.
    type Scheduler: ClassScheduler;

    /// How many levels classes may have.
    const LEVELS: usize;

    /// How many classes there may be.
    const CLASSES: usize = 65_534;

    /// Refuses a class for more than the ranges of its parameters.
    ///
    /// # Errors
    /// Names the parameter, what was found and what is allowed.
    fn check_class(_class: &Self::Class, _leaf: bool) -> Result<(), ValueError> {
        Ok(())
    }

    /// The most that a class can send, bit/s; `None`: what the link sends.
    fn class_rate(&self, _class: &Self::Class) -> Option<f64> {
        None
    }

    /// The scheduler of a link. The parameters have been checked.
    fn build(&self, classes: &[Declared<Self::Class>]) -> Self::Scheduler;
}

macro_rules! class_schedulers_of {
    ($($name:ident($params:ident, $class:ident),)*) => {
        plain_specs! {
            /// A class scheduler and its parameters.
            ClassSchedulerSpec, class_schedulers: $($name($params),)*
        }

        /// The parameters of a class.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum ClassParams {
            $(
                #[doc = concat!("See [`", stringify!($class), "`].")]
                $name($class),
            )*
        }

        impl ClassParams {
            /// Every parameter with its value, in order.
            #[must_use]
            pub fn values(&self) -> Vec<(&'static str, Value)> {
                match self {
                    $(Self::$name(params) => params.values(),)*
                }
            }
        }

        /// Returns the declarations of the parameters of a class of this scheduler.
        #[must_use]
        pub fn class_specs(scheduler: &Meta) -> &'static [ParameterSpec] {
            $(
                if scheduler.kind == <$params as Algorithm>::ABOUT.kind {
                    return <$class as Parameters>::SPEC;
                }
            )*
            &[]
        }

        impl ClassSchedulerSpec {
            /// Returns the declarations of the parameters of a class.
            #[must_use]
            pub fn class_specs(&self) -> &'static [ParameterSpec] {
                match self {
                    $(Self::$name(_) => <$class as Parameters>::SPEC,)*
                }
            }

            /// The parameters of a class: those given, and defaults for all others.
            ///
            /// # Errors
            /// Names the parameter, what was given and what is allowed.
            pub fn class_from_values(
                &self,
                values: &[(String, Value)],
                leaf: bool,
            ) -> Result<ClassParams, ValueError> {
                match self {
                    $(Self::$name(_) => {
                        let class = <$class as Parameters>::from_values(values)?;
                        <$params as ClassAlgorithm>::check_class(&class, leaf)?;
                        Ok(ClassParams::$name(class))
                    })*
                }
            }

            /// See [`ClassAlgorithm::class_rate`].
            #[must_use]
            pub fn class_rate(&self, class: &ClassParams) -> Option<f64> {
                match (self, class) {
                    $((Self::$name(params), ClassParams::$name(class)) => params.class_rate(class),)*
                    _ => None,
                }
            }

            /// See [`ClassAlgorithm::LEVELS`].
            #[must_use]
            pub fn levels(&self) -> usize {
                match self {
                    $(Self::$name(_) => <$params as ClassAlgorithm>::LEVELS,)*
                }
            }

            /// See [`ClassAlgorithm::CLASSES`].
            #[must_use]
            pub fn most_classes(&self) -> usize {
                match self {
                    $(Self::$name(_) => <$params as ClassAlgorithm>::CLASSES,)*
                }
            }

            /// The scheduler of a link; each class with the one that it belongs to and whether it
            /// has a queue. `None` if a class has the parameters of another scheduler.
            #[must_use]
            pub fn build(
                &self,
                classes: &[(Option<usize>, bool, ClassParams)],
            ) -> Option<AnyClassScheduler> {
                match self {
                    $(Self::$name(params) => {
                        let declared = classes.iter().map(|(parent, leaf, class)| match class {
                            ClassParams::$name(class) => Some(Declared {
                                parent: *parent,
                                leaf: *leaf,
                                params: *class,
                            }),
                            _ => None,
                        });
                        let declared: Vec<_> = declared.collect::<Option<_>>()?;
                        Some(AnyClassScheduler::$name(Box::new(params.build(&declared))))
                    })*
                }
            }
        }

        /// A class scheduler at work.
        #[derive(Debug)]
        pub enum AnyClassScheduler {
            $(
                #[doc = concat!("See [`", stringify!($params), "`].")]
                $name(Box<<$params as ClassAlgorithm>::Scheduler>),
            )*
        }

        forward_class_scheduler!([] AnyClassScheduler { $($name),* });
    };
}
every_class_scheduler!(class_schedulers_of);

/// Time that `bytes` take at `rate` bit/s, ps.
fn sending_time(bytes: f64, rate: f64) -> i64 {
    (bytes * 8e12 / rate) as i64
}

#[cfg(test)]
pub(crate) mod test {
    //! Queues of packets of known sizes under a class scheduler.

    use std::collections::VecDeque;

    use super::{ClassScheduler, Turn};
    use crate::Time;
    use crate::scheduler::Backlog;

    pub(crate) struct Queues<S> {
        pub(crate) scheduler: S,
        waiting: Vec<VecDeque<(Time, u32)>>,
        backlog: Vec<Backlog>,
        now: Time,
        /// Bytes sent by class.
        pub(crate) sent: Vec<u64>,
    }

    impl<S: ClassScheduler> Queues<S> {
        pub(crate) fn new(scheduler: S, classes: usize) -> Self {
            Self {
                scheduler,
                waiting: vec![VecDeque::new(); classes],
                backlog: vec![Backlog::default(); classes],
                now: Time::ZERO,
                sent: vec![0; classes],
            }
        }

        fn count(&mut self, class: usize) {
            let waiting = &self.waiting[class];
            self.backlog[class] = Backlog {
                packets: waiting.len() as u32,
                bytes: waiting.iter().map(|(_, size)| u64::from(*size)).sum(),
                head: waiting.front().map_or(0, |(_, size)| *size),
                since: waiting.front().map_or(Time::ZERO, |(since, _)| *since),
            };
        }

        pub(crate) fn put(&mut self, class: usize, size: u32) {
            self.waiting[class].push_back((self.now, size));
            self.count(class);
            self.scheduler.joined(self.now, class, &self.backlog);
        }

        /// The next packet, sent now or when the scheduler lets it go.
        pub(crate) fn take(&mut self) -> Option<(Time, usize)> {
            loop {
                match self.scheduler.next(self.now, &self.backlog) {
                    Turn::Send(class) => {
                        let (_, size) = self.waiting[class]
                            .pop_front()
                            .expect("a scheduler never chooses an empty class");
                        self.count(class);
                        self.scheduler.sent(self.now, class, size, &self.backlog);
                        self.sent[class] += u64::from(size);
                        return Some((self.now, class));
                    }
                    Turn::Wait(until) => {
                        assert!(until > self.now, "{until:?} is not after {:?}", self.now);
                        self.now = until;
                    }
                    Turn::Peek(class) => panic!("the head of {class} is known"),
                    Turn::Idle => return None,
                }
            }
        }

        /// Keeps the classes in `busy` backlogged with packets of `size` at a link of `rate` until
        /// `end`: bytes sent by class from `from` on.
        pub(crate) fn saturate(
            &mut self,
            busy: &[usize],
            size: u32,
            rate: f64,
            (from, end): (Time, Time),
        ) -> Vec<u64> {
            let mut before = self.sent.clone();
            let mut counted = false;
            while self.now < end {
                if !counted && self.now >= from {
                    before.clone_from(&self.sent);
                    counted = true;
                }
                for &class in busy {
                    while self.waiting[class].len() < 3 {
                        self.put(class, size);
                    }
                }
                if self.take().is_none() {
                    break;
                }
                self.now = Time(self.now.0 + super::sending_time(f64::from(size), rate) as u64);
            }
            self.sent
                .iter()
                .zip(before)
                .map(|(after, before)| after - before)
                .collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DefaultValue;

    #[test]
    fn every_default_survives_a_round_trip() {
        for meta in class_schedulers() {
            let required = |spec: &ParameterSpec| spec.default == DefaultValue::Required;
            let given: Vec<_> = meta
                .parameters
                .iter()
                .filter(|spec| required(spec))
                .map(|spec| (spec.name.to_owned(), Value::Number(1e6)))
                .collect();
            let spec = ClassSchedulerSpec::from_values(meta.kind, &given).unwrap();
            assert_eq!(spec.kind(), meta.kind);
            let class: Vec<_> = spec
                .class_specs()
                .iter()
                .filter(|spec| required(spec))
                .map(|spec| (spec.name.to_owned(), Value::Number(1e6)))
                .collect();
            let class = spec.class_from_values(&class, true);
            let Ok(class) = class else { continue }; // hfsc: one curve of two must be given
            let values: Vec<_> = class
                .values()
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect();
            assert_eq!(spec.class_from_values(&values, true), Ok(class));
        }
    }
}
