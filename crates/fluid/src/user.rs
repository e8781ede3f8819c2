//! Laws of the window that are known at run time only: a user's own i(w) and d(w).

use std::{any::Any, fmt::Debug};

use ackclock_delay::{Dual64, HyperDual64, HyperHyperDual64, Scalar};

/// i(w) and d(w), packets per acknowledgement and per congestion signal, of a window w (packets) at
/// a round-trip time (s), for every kind of number that the analyses compute with.
pub trait WindowLaw: Debug + Send + Sync {
    /// Values only.
    fn law_f64(&self, window: f64, rtt: f64) -> (f64, f64);
    /// With first derivatives.
    fn law_dual(&self, window: Dual64, rtt: Dual64) -> (Dual64, Dual64);
    /// With second derivatives.
    fn law_hyper_dual(&self, window: HyperDual64, rtt: HyperDual64) -> (HyperDual64, HyperDual64);
    /// With third derivatives.
    fn law_hyper_hyper_dual(
        &self,
        window: HyperHyperDual64,
        rtt: HyperHyperDual64,
    ) -> (HyperHyperDual64, HyperHyperDual64);
}

/// The method of [`WindowLaw`] for a scalar.
pub(crate) fn law<S: Scalar>(of: &dyn WindowLaw, window: S, rtt: S) -> (S, S) {
    macro_rules! try_one {
        ($scalar:ty, $method:ident) => {
            if let (Some(w), Some(r)) = (same::<S, $scalar>(window), same::<S, $scalar>(rtt)) {
                let (grow, fall) = of.$method(w, r);
                if let (Some(grow), Some(fall)) =
                    (same::<$scalar, S>(grow), same::<$scalar, S>(fall))
                {
                    return (grow, fall);
                }
            }
        };
    }
    try_one!(f64, law_f64);
    try_one!(Dual64, law_dual);
    try_one!(HyperDual64, law_hyper_dual);
    try_one!(HyperHyperDual64, law_hyper_hyper_dual);
    // no other scalar exists: the trait is sealed
    (S::from(f64::NAN), S::from(f64::NAN))
}

/// The value as another type, if it is the same one.
fn same<A: Copy + 'static, B: Copy + 'static>(value: A) -> Option<B> {
    (&value as &dyn Any).downcast_ref::<B>().copied()
}
