//! RED whose maximum probability moves, on average: what the fluid laws of Adaptive RED,
//! Auto-Tuning RED and ST-RED share.
//!
//! The maximum probability is a state after RED's own. The gentle part keeps the maximum
//! probability that it has in the parameters, as the algorithms do.

use super::red::RedParams;
use crate::fluid::{AqmInput, AqmStart, FluidAqm, Frozen, below};
use crate::{NumberOr, Scalar};

const AVERAGED: &[&str] = &["average queue (packets)", "maximum probability"];
const PLAIN: &[&str] = &["maximum probability"];

/// RED's states, then the maximum probability.
pub(super) fn state_names<S: Scalar>(red: &RedParams<S>) -> &'static [&'static str] {
    if RedParams::states(red) == 0 {
        PLAIN
    } else {
        AVERAGED
    }
}

/// The maximum probability starts where it is set; searches for an equilibrium also try others, in
/// proportion to the level that they try.
pub(super) fn start<S: Scalar>(red: &RedParams<S>, from: &AqmStart<S>, state: &mut [S]) {
    let usual = 0.01;
    if let [averages @ .., top] = state {
        RedParams::start(red, from, averages);
        *top = red.max_probability;
        if from.probability.re() > 0.0 && from.probability.re() != usual {
            *top = (*top * from.probability / usual).min(S::from_f64(0.5));
        }
    }
}

/// RED with the maximum probability of the state, and RED's states.
pub(super) fn now<'a, S: Scalar>(
    red: &RedParams<S>,
    state: &'a [S],
    regime: usize,
) -> (RedParams<S>, &'a [S]) {
    match state {
        [averages @ .., top] if regime == 1 => (
            RedParams {
                max_probability: *top,
                ..*red
            },
            averages,
        ),
        [averages @ .., _] => (*red, averages),
        [] => (*red, state),
    }
}

/// RED with the maximum probability of the state, for good.
pub(super) fn frozen<S: Scalar>(red: &RedParams<S>, state: &[S]) -> Option<Frozen<S>> {
    let number = |value: NumberOr<S>| value.or_else(|_| S::from_f64(f64::NAN)); // settled on the link
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

/// RED's probability with the maximum probability of the state.
pub(super) fn probability<S: Scalar>(
    red: &RedParams<S>,
    input: &AqmInput<S>,
    state: &[S],
    regime: usize,
) -> S {
    let (red, averages) = now(red, state, regime);
    RedParams::probability(&red, input, averages, regime)
}

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
    let number = |value: NumberOr<S>| value.or_else(|_| S::from_f64(f64::NAN)); // settled on the link
    (
        average,
        number(red.min_threshold),
        number(red.max_threshold),
    )
}

/// Moves RED's states as RED does and the maximum probability by `drift` (1/s), which no longer
/// moves it out of `bounds`: at a bound it comes to rest within about an `interval`.
pub(super) fn derivative<S: Scalar>(
    red: &RedParams<S>,
    input: &AqmInput<S>,
    state: &[S],
    drift: S,
    bounds: (S, S),
    interval: S,
    rate: &mut [S],
) {
    if let ([averages @ .., top], [rates @ .., moved]) = (state, rate) {
        RedParams::derivative(red, input, averages, rates);
        *moved = if drift.re() < 0.0 {
            drift.max((bounds.0 - *top) / interval)
        } else {
            drift.min((bounds.1 - *top) / interval)
        };
    }
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
    pub(super) fn drift(&self, average: S, min: S, max: S, margin: f64, top: S) -> S {
        let band = max - min;
        let deviation = band * (0.5 - margin);
        let above = below(average - (max - band * margin), deviation);
        let under = below(min + band * margin - average, deviation);
        let up = self.increment.min(top * 0.25) * above;
        let down = (S::from_f64(1.0) - self.decrease) * top * under;
        (up - down) / self.interval
    }
}
