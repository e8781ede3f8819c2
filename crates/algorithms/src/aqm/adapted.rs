//! The common part of AQMs that are RED with parameters that they move: AP-RED, and Adaptive RED,
//! Auto-Tuning RED and ST-RED, which move the maximum probability.
//!
//! That is a state after RED's own. The gentle part keeps the maximum probability that it has in
//! the parameters, as the algorithms do.

use super::red::{Red, RedParams};
use super::{Aqm as _, Observation};
use crate::fluid::{AqmInput, AqmStart, FluidAqm, Frozen, below};
use crate::link::{LinkView, Spacing};
use crate::params::Parameters;
use crate::{NumberOr, Scalar, Time};

/// A fluid law that is RED's with parameters that move; [`FluidAqm`] follows from it.
pub trait OverRed: Parameters {
    /// [`FluidAqm::Over`].
    type Over<S: Scalar>;

    /// [`FluidAqm::APPROXIMATION`].
    const APPROXIMATION: &'static str;

    /// Whether thresholds and weight stay as they are set: [`FluidAqm::local`].
    const FIXED: bool;

    /// Whether the maximum probability is a state.
    const MOVES: bool;

    /// [`FluidAqm::on_link`].
    #[must_use]
    fn settled(&self, link: &LinkView) -> Self;

    /// RED's parameters as they are set.
    fn red<S: Scalar>(params: &Self::Over<S>) -> &RedParams<S>;

    /// RED's parameters as `input` makes them, but for a maximum probability that is a state.
    fn now<S: Scalar>(params: &Self::Over<S>, _input: &AqmInput<S>) -> RedParams<S> {
        *Self::red(params)
    }

    /// How the maximum probability moves, over RED's parameters `red` as `input` makes them; `None`
    /// where it is no state.
    fn moves<S: Scalar>(
        _params: &Self::Over<S>,
        _red: &RedParams<S>,
        _input: &AqmInput<S>,
        _state: &[S],
    ) -> Option<Moves<S>> {
        None
    }
}

/// How a maximum probability moves: the mean of its steps, 1/s, which no longer moves it out of
/// `bounds` (at a bound it comes to rest within about an `interval`), and the time between two steps,
/// s.
#[derive(Clone, Copy, Debug)]
pub struct Moves<S> {
    pub drift: S,
    pub bounds: (S, S),
    pub interval: S,
}

impl<T: OverRed> FluidAqm for T {
    type Over<S: Scalar> = <T as OverRed>::Over<S>;

    const APPROXIMATION: Option<&'static str> = Some(<T as OverRed>::APPROXIMATION);

    fn on_link(&self, link: &LinkView) -> Self {
        self.settled(link)
    }

    fn local<S: Scalar>(_params: &Self::Over<S>) -> bool {
        T::FIXED
    }

    fn spacing<S: Scalar>(params: &Self::Over<S>) -> Spacing {
        RedParams::spacing(T::red(params))
    }

    fn packet_weight<S: Scalar>(params: &Self::Over<S>, bytes: u32) -> f64 {
        RedParams::packet_weight(T::red(params), bytes)
    }

    fn state_names<S: Scalar>(params: &Self::Over<S>) -> &'static [&'static str] {
        let averages = RedParams::state_names(T::red(params));
        match (T::MOVES, averages.is_empty()) {
            (false, _) => averages,
            (true, true) => PLAIN,
            (true, false) => AVERAGED,
        }
    }

    /// A maximum probability starts where it is set; searches for an equilibrium also try others, in
    /// proportion to the level that they try.
    fn start<S: Scalar>(params: &Self::Over<S>, from: &AqmStart<S>, state: &mut [S]) {
        let red = T::red(params);
        let usual = 0.01;
        if !T::MOVES {
            RedParams::start(red, from, state);
        } else if let [averages @ .., top] = state {
            RedParams::start(red, from, averages);
            *top = red.max_probability;
            if from.probability.re() > 0.0 && from.probability.re() != usual {
                *top = (*top * from.probability / usual).min(S::from_f64(0.5));
            }
        }
    }

    /// RED's states move as RED's do.
    fn derivative<S: Scalar>(
        params: &Self::Over<S>,
        input: &AqmInput<S>,
        state: &[S],
        rate: &mut [S],
    ) {
        let red = T::now(params, input);
        match (T::moves(params, &red, input, state), state, &mut *rate) {
            (
                Some(Moves {
                    drift,
                    bounds,
                    interval,
                }),
                [averages @ .., top],
                [rates @ .., moved],
            ) => {
                RedParams::derivative(&red, input, averages, rates);
                *moved = if drift.re() < 0.0 {
                    drift.max((bounds.0 - *top) / interval)
                } else {
                    drift.min((bounds.1 - *top) / interval)
                };
            }
            _ => RedParams::derivative(&red, input, state, rate),
        }
    }

    /// RED with the maximum probability of the state, for good.
    fn frozen<S: Scalar>(
        params: &Self::Over<S>,
        input: &AqmInput<S>,
        state: &[S],
    ) -> Option<Frozen<S>> {
        if !T::MOVES {
            return None;
        }
        let red = T::now(params, input);
        Some(Frozen {
            kind: "red",
            values: vec![
                ("min_threshold", number(red.min_threshold)),
                ("max_threshold", number(red.max_threshold)),
                ("weight", number(red.weight)),
                ("max_probability", *state.last()?),
            ],
        })
    }

    /// To rounding, at which the search stops.
    fn within_bounds<S: Scalar>(params: &Self::Over<S>, input: &AqmInput<S>, state: &[S]) -> bool {
        let red = T::now(params, input);
        let (Some(moves), Some(top)) = (T::moves(params, &red, input, state), state.last()) else {
            return true;
        };
        let (low, high) = (moves.bounds.0.re(), moves.bounds.1.re());
        (low * (1.0 - BOUND_ROUNDING)..=high * (1.0 + BOUND_ROUNDING)).contains(&top.re())
    }

    fn regimes<S: Scalar>(params: &Self::Over<S>) -> &'static [&'static str] {
        RedParams::regimes(T::red(params))
    }

    fn regime<S: Scalar>(params: &Self::Over<S>, input: &AqmInput<S>, state: &[S]) -> usize {
        let averages = averages::<T, S>(state).0;
        RedParams::regime(&T::now(params, input), input, averages)
    }

    /// RED's p_b with the parameters of now; a gentle part has the maximum probability of the start.
    fn probability<S: Scalar>(
        params: &Self::Over<S>,
        input: &AqmInput<S>,
        state: &[S],
        regime: usize,
    ) -> S {
        let mut red = T::now(params, input);
        let (averages, top) = averages::<T, S>(state);
        if let Some(top) = top
            && regime == 1
        {
            red.max_probability = *top;
        }
        RedParams::probability(&red, input, averages, regime)
    }
}

/// RED's states, and the maximum probability where it is one.
fn averages<T: OverRed, S: Scalar>(state: &[S]) -> (&[S], Option<&S>) {
    match state {
        [averages @ .., top] if T::MOVES => (averages, Some(top)),
        _ => (state, None),
    }
}

/// A value that is settled on the link.
fn number<S: Scalar>(value: NumberOr<S>) -> S {
    value.or_else(|_| S::from_f64(f64::NAN))
}

/// Relative.
const BOUND_ROUNDING: f64 = 1e-9;

const AVERAGED: &[&str] = &["average queue (packets)", "maximum probability"];
const PLAIN: &[&str] = &["maximum probability"];

/// The average (the queue, without averaging) and the thresholds, packets.
pub(super) fn average_and_thresholds<S: Scalar>(
    red: &RedParams<S>,
    input: &AqmInput<S>,
    state: &[S],
) -> (S, S, S) {
    let average = match state {
        [average, _] => *average,
        _ => input.queue,
    };
    (
        average,
        number(red.min_threshold),
        number(red.max_threshold),
    )
}

/// The maximum probability: the last state, or as it is set.
pub(super) fn top<S: Scalar>(red: &RedParams<S>, state: &[S]) -> S {
    state.last().copied().unwrap_or(red.max_probability)
}

/// How Adaptive RED steps: what it adds at most, the factor of a decrease, and the time between two
/// steps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Steps<S> {
    pub(super) increment: S,
    pub(super) decrease: S,
    pub(super) interval: S,
}

impl<S: Scalar> Steps<S> {
    /// Mean change of the maximum probability per second.
    ///
    /// Each `interval` a step up is made if the average is then above the target band, and one down
    /// if it is below. The average is taken to fluctuate around its mean with half the width of the
    /// band as its standard deviation: without fluctuations every state inside the band would be at
    /// rest.
    pub(super) fn drift(
        &self,
        red: &RedParams<S>,
        input: &AqmInput<S>,
        state: &[S],
        margin: f64,
    ) -> S {
        let (average, min, max) = average_and_thresholds(red, input, state);
        let top = top(red, state);
        let band = max - min;
        let deviation = band * (0.5 - margin);
        let above = below(average - (max - band * margin), deviation);
        let under = below(min + band * margin - average, deviation);
        let up = self.increment.min(top * 0.25) * above;
        let down = (S::from_f64(1.0) - self.decrease) * top * under;
        (up - down) / self.interval
    }
}

/// RED at work with a maximum probability that moves.
#[derive(Clone, Debug)]
pub(super) struct Adapted {
    pub(super) red: Red,
    pub(super) max_probability: f64,
}

impl Adapted {
    pub(super) fn new(red: Red) -> Self {
        Self {
            max_probability: red.initial_max_probability(),
            red,
        }
    }

    /// Takes the maximum probability over that has moved.
    pub(super) fn moved(&mut self) {
        self.red.set_max_probability(self.max_probability);
    }

    pub(super) fn on_link_change(&mut self, now: Time, rate: f64) {
        self.red.on_link_change(now, rate);
        self.moved();
    }

    /// RED's parameters after `name` was set anew: a new maximum probability is where it goes on
    /// from.
    pub(super) fn replace(&mut self, red: RedParams, name: &str) {
        self.red.replace(red);
        if name == "max_probability" || name == "slope" {
            self.max_probability = self.red.initial_max_probability();
        }
        self.moved();
    }

    pub(super) fn observe(&self) -> Observation {
        Observation {
            adapted: Some(self.max_probability),
            ..self.red.observe()
        }
    }
}
