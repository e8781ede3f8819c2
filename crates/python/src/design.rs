//! Design rules of the papers, and the margins of the loops that they are about.

use ackclock_fluid::{
    ApRed, Loop, Margins, PiController, Plant, ap_red as scaled, ap_red_gain as gain_of, margins,
    pi_design as designed, pi_from_samples as from_samples, pi_largest_lambda as largest, pi_loop,
    red_loop, tcp_friendly_alpha as friendly,
};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Number of flows, round-trip time (s), capacity (packets/s).
type PlantValues = (f64, f64, f64);
/// Minimum and maximum threshold (packets), maximum probability, weight.
type RedValues = (f64, f64, f64, f64);

fn plant((flows, rtt, rate): PlantValues) -> Plant {
    Plant { flows, rtt, rate }
}

fn red((min_threshold, max_threshold, max_probability, weight): RedValues) -> ApRed {
    ApRed {
        min_threshold,
        max_threshold,
        max_probability,
        weight,
    }
}

pub(crate) fn margins_dict<'py>(
    py: Python<'py>,
    margins: &Margins,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    set_fields! { dict, margins; gain, phase, delay, phase_crossover, gain_crossover }
    Ok(dict)
}

/// Margins between the frequencies that matter to a loop with round-trip time `rtt`.
fn of_loop(open: &dyn Loop, rtt: f64) -> Margins {
    margins(open, 1e-6 / rtt, 1e3 / rtt, 4000)
}

#[pyfunction]
pub(crate) fn tcp_friendly_alpha(beta: f64) -> f64 {
    friendly(beta)
}

#[pyfunction]
pub(crate) fn ap_red(initial: RedValues, old: PlantValues, new: PlantValues) -> RedValues {
    let design = scaled(&red(initial), &plant(old), &plant(new));
    (
        design.min_threshold,
        design.max_threshold,
        design.max_probability,
        design.weight,
    )
}

#[pyfunction]
pub(crate) fn ap_red_gain(parameters: RedValues, network: PlantValues) -> f64 {
    gain_of(&red(parameters), &plant(network))
}

#[pyfunction]
pub(crate) fn red_margins(
    py: Python<'_>,
    parameters: RedValues,
    network: PlantValues,
) -> PyResult<Bound<'_, PyDict>> {
    margins_dict(
        py,
        &of_loop(&red_loop(&red(parameters), &plant(network)), network.1),
    )
}

/// Gain (per packet) and zero (1/s).
#[pyfunction]
pub(crate) fn pi_design(speed: f64, network: PlantValues) -> (f64, f64) {
    let controller = designed(speed, &plant(network));
    (controller.gain, controller.zero)
}

#[pyfunction]
pub(crate) fn pi_from_samples(a: f64, b: f64, frequency: f64) -> (f64, f64) {
    let controller = from_samples(a, b, frequency);
    (controller.gain, controller.zero)
}

#[pyfunction]
pub(crate) fn pi_sampled(gain: f64, zero: f64, frequency: f64) -> (f64, f64) {
    PiController { gain, zero }.sampled(frequency)
}

#[pyfunction]
pub(crate) fn pi_margins(
    py: Python<'_>,
    gain: f64,
    zero: f64,
    network: PlantValues,
) -> PyResult<Bound<'_, PyDict>> {
    let open = pi_loop(&PiController { gain, zero }, &plant(network));
    margins_dict(py, &of_loop(&open, network.1))
}

#[pyfunction]
pub(crate) fn pi_largest_speed() -> f64 {
    largest()
}
