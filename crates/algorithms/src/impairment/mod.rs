//! Impairments of packets on a link beside queueing: losses on the wire, stalls, token buckets that
//! shape or police, and a rate that follows probes.
//!
//! A new loss model is a file here, and in this file its `mod` and `pub use` and a line in
//! `every_loss`.

mod autorate;
mod gilbert_elliott;
mod random;
mod stalls;
mod token_bucket;

pub use autorate::{Autorate, AutorateParams};
pub use gilbert_elliott::{GilbertElliott, GilbertElliottParams};
pub use random::{RandomLoss, RandomLossParams};
pub use stalls::{StallParams, Stalls};
pub use token_bucket::{Discipline, PolicerParams, ShaperParams, TokenBucket};

/// Every loss model: variant and parameters.
macro_rules! every_loss {
    ($then:ident) => {
        $then! {
            Random(RandomLossParams),
            GilbertElliott(GilbertElliottParams),
        }
    };
}

use crate::Stream;
use crate::meta::Algorithm;
use crate::plain::plain_specs;

/// Decides which packets a wire loses.
pub trait Loss {
    /// Whether the next packet is lost.
    fn loses(&mut self, random: &mut Stream) -> bool;
}

/// Parameters that make a loss model.
pub trait LossAlgorithm: Algorithm {
    /// The model at work.
    type Loss: Loss;

    /// The model of a link's wire. The parameters have been checked.
    fn build(&self, random: &mut Stream) -> Self::Loss;

    /// Long-run fraction of packets that are lost.
    fn mean_loss(&self) -> f64;

    /// Packets that are lost in a row on average.
    fn mean_burst(&self) -> f64;
}

macro_rules! losses_of {
    ($($name:ident($params:ident),)*) => {
        plain_specs! {
            /// A loss model and its parameters.
            LossSpec, loss_models: $($name($params),)*
        }

        impl LossSpec {
            /// The model of a link's wire.
            #[must_use]
            pub fn build(&self, random: &mut Stream) -> AnyLoss {
                match self {
                    $(Self::$name(params) => AnyLoss::$name(params.build(random)),)*
                }
            }

            /// Long-run fraction of packets that are lost.
            #[must_use]
            pub fn mean_loss(&self) -> f64 {
                match self {
                    $(Self::$name(params) => LossAlgorithm::mean_loss(params),)*
                }
            }

            /// Packets that are lost in a row on average.
            #[must_use]
            pub fn mean_burst(&self) -> f64 {
                match self {
                    $(Self::$name(params) => LossAlgorithm::mean_burst(params),)*
                }
            }
        }

        /// A loss model at work.
        #[derive(Debug)]
        pub enum AnyLoss {
            $(
                #[doc = concat!("See [`", stringify!($params), "`].")]
                $name(<$params as LossAlgorithm>::Loss),
            )*
        }

        impl Loss for AnyLoss {
            #[inline]
            fn loses(&mut self, random: &mut Stream) -> bool {
                match self {
                    $(Self::$name(inner) => inner.loses(random),)*
                }
            }
        }
    };
}
every_loss!(losses_of);
