//! Delay systems: the right-hand side, delays, bounds and switches, and their exact derivatives.

use num_dual::{Dual64, DualNum, HyperDual64, HyperHyperDual64};

/// The numbers a right-hand side is evaluated with: `f64`, and dual numbers that carry one, two or
/// three independent infinitesimals and so give exact first, second and third derivatives.
/// Comparisons look at the real part only.
pub trait Scalar: DualNum<Primitive = f64> + Copy + private::Evaluate {
    /// Its real part.
    #[inline]
    fn real(&self) -> f64 {
        self.re()
    }
}

impl Scalar for f64 {}
impl Scalar for Dual64 {}
impl Scalar for HyperDual64 {}
impl Scalar for HyperHyperDual64 {}

/// The arguments of a right-hand side.
#[derive(Clone, Copy, Debug)]
pub struct Args<'a, S> {
    /// The state now, x(t).
    pub x: &'a [S],
    /// The delayed states x(t - tau_j), one after the other.
    pub past: &'a [S],
    /// The parameters.
    pub p: &'a [S],
}

impl<S: Copy> Args<'_, S> {
    /// Component `i` of the state delayed by delay `j`.
    #[inline]
    #[must_use]
    pub fn delayed(&self, j: usize, i: usize) -> S {
        self.past[j * self.x.len() + i]
    }
}

/// A state that cannot leave an interval: a queue between empty and full.
///
/// While a state sits on its bound and the right-hand side pushes it out, it slides along the bound
/// (its derivative is zero).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// Index of the state.
    pub state: usize,
    /// Its smallest value (`-inf` for none).
    pub lower: f64,
    /// Its largest value (`inf` for none).
    pub upper: f64,
}

/// A system of delay-differential equations x'(t) = f(x(t), x(t - tau_1), ..., x(t - tau_m), p).
///
/// Implement this trait; every analysis takes the object-safe [`DynSystem`], which each `System`
/// is. A right-hand side that is only known at run time (a user's Python function) implements
/// [`DynSystem`] itself.
pub trait System: Send + Sync {
    /// Number of states.
    fn dimension(&self) -> usize;
    /// Number of delays.
    fn delays(&self) -> usize;
    /// The right-hand side f, written to `out` (one entry a state).
    fn rhs<S: Scalar>(&self, at: Args<'_, S>, out: &mut [S]);
    /// Delay `j` >= 0. It may depend on the parameters, and, if [`System::state_dependent`] says
    /// so, on the state now and on the states delayed by the delays before it (`at.delayed(k, ..)`
    /// is defined for k < j only).
    fn delay<S: Scalar>(&self, j: usize, at: Args<'_, S>) -> S;
    /// Whether a delay depends on the state.
    fn state_dependent(&self) -> bool {
        false
    }
    /// Number of switch functions.
    fn switches(&self) -> usize {
        0
    }
    /// Switch functions: the right-hand side is smooth as long as none of them changes its sign.
    fn switch(&self, _at: Args<'_, f64>, _out: &mut [f64]) {}
    /// The states that are confined to an interval.
    fn bounds(&self, _p: &[f64]) -> Vec<Bound> {
        Vec::new()
    }
    /// The system at fixed parameters `_p`, for a long integration. What follows from the
    /// parameters alone can be computed here once.
    /// `None` (the default) if there is nothing to gain.
    fn settle<'a>(&'a self, _p: &[f64]) -> Option<Box<dyn Settled + 'a>> {
        None
    }
}

/// A system whose parameters no longer change: the same values as those of the [`System`] it comes
/// from.
pub trait Settled: Send {
    /// The right-hand side.
    fn rhs(&mut self, x: &[f64], past: &[f64], out: &mut [f64]);
    /// Delay `j`.
    fn delay(&self, j: usize, x: &[f64], past: &[f64]) -> f64;
}

/// The object-safe form of [`System`], with one method for each [`Scalar`].
pub trait DynSystem: Send + Sync {
    /// Number of states.
    fn dimension(&self) -> usize;
    /// Number of delays.
    fn delays(&self) -> usize;
    /// Whether a delay depends on the state.
    fn state_dependent(&self) -> bool;
    /// Number of switch functions.
    fn switches(&self) -> usize;
    /// The switch functions.
    fn switch(&self, at: Args<'_, f64>, out: &mut [f64]);
    /// The states that are confined to an interval.
    fn bounds(&self, p: &[f64]) -> Vec<Bound>;
    /// The system with its parameters settled, if that is faster.
    fn settle<'a>(&'a self, _p: &[f64]) -> Option<Box<dyn Settled + 'a>> {
        None
    }
    /// Right-hand side, values only.
    fn rhs_f64(&self, at: Args<'_, f64>, out: &mut [f64]);
    /// Right-hand side with first derivatives.
    fn rhs_dual(&self, at: Args<'_, Dual64>, out: &mut [Dual64]);
    /// Right-hand side with second derivatives.
    fn rhs_hyper_dual(&self, at: Args<'_, HyperDual64>, out: &mut [HyperDual64]);
    /// Right-hand side with third derivatives.
    fn rhs_hyper_hyper_dual(&self, at: Args<'_, HyperHyperDual64>, out: &mut [HyperHyperDual64]);
    /// Delay `j`, value only.
    fn delay_f64(&self, j: usize, at: Args<'_, f64>) -> f64;
    /// Delay `j` with first derivatives.
    fn delay_dual(&self, j: usize, at: Args<'_, Dual64>) -> Dual64;
    /// Delay `j` with second derivatives.
    fn delay_hyper_dual(&self, j: usize, at: Args<'_, HyperDual64>) -> HyperDual64;
    /// Delay `j` with third derivatives.
    fn delay_hyper_hyper_dual(&self, j: usize, at: Args<'_, HyperHyperDual64>) -> HyperHyperDual64;
}

impl<T: System> DynSystem for T {
    fn dimension(&self) -> usize {
        System::dimension(self)
    }
    fn delays(&self) -> usize {
        System::delays(self)
    }
    fn state_dependent(&self) -> bool {
        System::state_dependent(self)
    }
    fn switches(&self) -> usize {
        System::switches(self)
    }
    fn switch(&self, at: Args<'_, f64>, out: &mut [f64]) {
        System::switch(self, at, out);
    }
    fn bounds(&self, p: &[f64]) -> Vec<Bound> {
        System::bounds(self, p)
    }
    fn settle<'a>(&'a self, p: &[f64]) -> Option<Box<dyn Settled + 'a>> {
        System::settle(self, p)
    }
    #[inline]
    fn rhs_f64(&self, at: Args<'_, f64>, out: &mut [f64]) {
        self.rhs(at, out);
    }
    fn rhs_dual(&self, at: Args<'_, Dual64>, out: &mut [Dual64]) {
        self.rhs(at, out);
    }
    fn rhs_hyper_dual(&self, at: Args<'_, HyperDual64>, out: &mut [HyperDual64]) {
        self.rhs(at, out);
    }
    fn rhs_hyper_hyper_dual(&self, at: Args<'_, HyperHyperDual64>, out: &mut [HyperHyperDual64]) {
        self.rhs(at, out);
    }
    #[inline]
    fn delay_f64(&self, j: usize, at: Args<'_, f64>) -> f64 {
        self.delay(j, at)
    }
    fn delay_dual(&self, j: usize, at: Args<'_, Dual64>) -> Dual64 {
        self.delay(j, at)
    }
    fn delay_hyper_dual(&self, j: usize, at: Args<'_, HyperDual64>) -> HyperDual64 {
        self.delay(j, at)
    }
    fn delay_hyper_hyper_dual(&self, j: usize, at: Args<'_, HyperHyperDual64>) -> HyperHyperDual64 {
        self.delay(j, at)
    }
}

pub(crate) mod private {
    use super::{Args, Dual64, DynSystem, HyperDual64, HyperHyperDual64};

    /// From the type of a scalar back to the method of [`DynSystem`] for it; also seals
    /// [`super::Scalar`].
    pub trait Evaluate: Sized {
        fn rhs<D: DynSystem + ?Sized>(system: &D, at: Args<'_, Self>, out: &mut [Self]);
        fn delay<D: DynSystem + ?Sized>(system: &D, j: usize, at: Args<'_, Self>) -> Self;
    }

    macro_rules! evaluate {
        ($scalar:ty, $rhs:ident, $delay:ident) => {
            impl Evaluate for $scalar {
                #[inline]
                fn rhs<D: DynSystem + ?Sized>(system: &D, at: Args<'_, Self>, out: &mut [Self]) {
                    system.$rhs(at, out);
                }
                #[inline]
                fn delay<D: DynSystem + ?Sized>(system: &D, j: usize, at: Args<'_, Self>) -> Self {
                    system.$delay(j, at)
                }
            }
        };
    }
    evaluate!(f64, rhs_f64, delay_f64);
    evaluate!(Dual64, rhs_dual, delay_dual);
    evaluate!(HyperDual64, rhs_hyper_dual, delay_hyper_dual);
    evaluate!(
        HyperHyperDual64,
        rhs_hyper_hyper_dual,
        delay_hyper_hyper_dual
    );
}

/// Evaluates the system on a history: `history(theta, out)` gives the state at time theta <= 0
/// relative to now. Because theta is a jet too, delays that depend on parameters or on the state
/// are differentiated exactly.
pub(crate) fn evaluate<S: Scalar>(
    system: &dyn DynSystem,
    history: &dyn Fn(S, &mut [S]),
    p: &[S],
    work: &mut Vec<S>,
    out: &mut [S],
) {
    let (n, m) = (system.dimension(), system.delays());
    work.clear();
    work.resize(n * (m + 1), S::from(0.0));
    let (x, past) = work.split_at_mut(n);
    history(S::from(0.0), x);
    for j in 0..m {
        let tau = S::delay(system, j, Args { x, past, p });
        history(-tau, &mut past[j * n..(j + 1) * n]);
    }
    S::rhs(system, Args { x, past, p }, out);
}

/// f(x, x, ..., x, p), the right-hand side of a constant history.
pub(crate) fn constant<S: Scalar>(
    system: &dyn DynSystem,
    x: &[S],
    p: &[S],
    work: &mut Vec<S>,
    out: &mut [S],
) {
    work.clear();
    for _ in 0..system.delays() {
        work.extend_from_slice(x);
    }
    S::rhs(system, Args { x, past: work, p }, out);
}

/// The delays at a constant state.
pub(crate) fn delays_at<S: Scalar>(system: &dyn DynSystem, x: &[S], p: &[S]) -> Vec<S> {
    let m = system.delays();
    let mut past = Vec::with_capacity(m * x.len());
    for _ in 0..m {
        past.extend_from_slice(x);
    }
    (0..m)
        .map(|j| S::delay(system, j, Args { x, past: &past, p }))
        .collect()
}
