//! How a transmitter serves what waits: in batches, as radio links do. Without a service packets leave
//! one after the other at the rate of the link.
//!
//! A new one is a file here, and in this file its `mod` and `pub use` and a line in
//! `every_service`.

mod five_g;
mod lte;
mod wifi;

pub use five_g::FiveGParams;
pub use lte::{Cell, LteParams};
pub use wifi::{Sharing, Wifi, WifiParams};

/// Every service: variant and parameters.
macro_rules! every_service {
    ($then:ident) => {
        $then! {
            Wifi(WifiParams),
            Lte(LteParams),
            FiveG(FiveGParams),
        }
    };
}

use crate::meta::Algorithm;
use crate::plain::plain_specs;
use crate::{Stream, Time};

/// The end of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchEnd {
    /// When the transmitter is free again.
    pub free: Time,
    /// How much later the receiver has the packets.
    pub delay: Time,
}

/// Serves packets in batches.
pub trait Service {
    /// The earliest time from `now` on at which a batch may begin; `woken` if the first packet has just come to
    /// an idle transmitter.
    fn opens(&mut self, now: Time, woken: bool) -> Time;

    /// A batch begins, at `rate` bit/s.
    fn begin(&mut self, now: Time, rate: f64);

    /// Whether a packet of `size` bytes still goes with this batch, which then has it.
    fn takes(&mut self, size: u32) -> bool;

    /// The batch is complete; `waiting` if packets are left over.
    fn end(&mut self, waiting: bool, random: &mut Stream) -> BatchEnd;

    /// The first span that ends after `from` in which what failed is sent again.
    fn repeats(&self, _from: Time) -> Option<(Time, Time)> {
        None
    }

    /// How transmitters of one medium take turns; `None`: each has its own.
    fn sharing(&self) -> Option<Sharing> {
        None
    }
}

/// Parameters that make a service.
pub trait ServiceAlgorithm: Algorithm {
    /// The service at work.
    type Service: Service;

    /// The service of a link. The parameters have been checked.
    fn build(&self) -> Self::Service;

    /// Long-run rate in bit/s at which packets of `size` bytes leave that always wait, on a link of
    /// `rate` bit/s with a medium of its own.
    fn saturated_rate(&self, rate: f64, size: u32) -> f64;
}

macro_rules! services_of {
    ($($name:ident($params:ident),)*) => {
        plain_specs! {
            /// A service and its parameters.
            ServiceSpec, services: $($name($params),)*
        }

        impl ServiceSpec {
            /// The service of a link.
            #[must_use]
            pub fn build(&self) -> AnyService {
                match self {
                    $(Self::$name(params) => AnyService::$name(params.build()),)*
                }
            }

            /// See [`ServiceAlgorithm::saturated_rate`].
            #[must_use]
            pub fn saturated_rate(&self, rate: f64, size: u32) -> f64 {
                match self {
                    $(Self::$name(params) => params.saturated_rate(rate, size),)*
                }
            }
        }

        /// A service at work.
        #[derive(Debug)]
        pub enum AnyService {
            $(
                #[doc = concat!("See [`", stringify!($params), "`].")]
                $name(<$params as ServiceAlgorithm>::Service),
            )*
        }

        impl Service for AnyService {
            fn opens(&mut self, now: Time, woken: bool) -> Time {
                match self {
                    $(Self::$name(inner) => inner.opens(now, woken),)*
                }
            }

            fn begin(&mut self, now: Time, rate: f64) {
                match self {
                    $(Self::$name(inner) => inner.begin(now, rate),)*
                }
            }

            fn takes(&mut self, size: u32) -> bool {
                match self {
                    $(Self::$name(inner) => inner.takes(size),)*
                }
            }

            fn end(&mut self, waiting: bool, random: &mut Stream) -> BatchEnd {
                match self {
                    $(Self::$name(inner) => inner.end(waiting, random),)*
                }
            }

            fn repeats(&self, from: Time) -> Option<(Time, Time)> {
                match self {
                    $(Self::$name(inner) => inner.repeats(from),)*
                }
            }

            fn sharing(&self) -> Option<Sharing> {
                match self {
                    $(Self::$name(inner) => inner.sharing(),)*
                }
            }
        }
    };
}
every_service!(services_of);
