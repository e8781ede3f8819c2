//! Questions as the tests ask them.

use ackclock_delay::{Cycle, HopfPoint, Resolution, cycle_from_hopf, cycle_with_amplitude};
use ackclock_fluid::{Equilibrium, Model};

/// The first Hopf point as a parameter rises over a range.
pub(crate) fn first_hopf(
    model: &mut Model,
    at: &Equilibrium,
    name: &str,
    from: f64,
    to: f64,
) -> HopfPoint {
    let free = model.parameter(name).unwrap();
    let crossings = model.crossings(at, free, (from, to), 120).unwrap();
    let first = crossings.first().unwrap_or_else(|| panic!("no Hopf point"));
    first.hopf().unwrap().clone()
}

/// The cycles with given first-harmonic amplitudes of the first state.
pub(crate) fn cycles(
    model: &mut Model,
    at: &Equilibrium,
    point: &HopfPoint,
    name: &str,
    amplitudes: &[f64],
) -> Vec<Cycle> {
    let free = model.parameter(name).unwrap();
    let mut point = point.clone();
    point
        .p
        .extend(model.parameters().into_iter().skip(point.p.len()));
    let (frozen, resolution) = (model.frozen(&at.regimes), Resolution::default());
    let mut cycles: Vec<Cycle> = Vec::new();
    for amplitude in amplitudes {
        let next = match cycles.last() {
            None => cycle_from_hopf(&frozen, &point, free, 0, *amplitude, &resolution),
            Some(last) => cycle_with_amplitude(&frozen, last, free, 0, *amplitude, &resolution),
        };
        cycles.push(next.unwrap());
    }
    cycles
}
