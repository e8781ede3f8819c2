//! Design rules of the papers as functions, and the loops that they are about.

use std::f64::consts::FRAC_PI_2;

use ackclock_algorithms::aqm::ap_red_factors;
use ackclock_delay::{Elementary, c64};

use crate::margins::Loop;

/// Plant that a design rule is made for: N flows of round-trip time R over a link of C packets/s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plant {
    /// Number of flows.
    pub flows: f64,
    /// Round-trip time, s.
    pub rtt: f64,
    /// Capacity, packets/s.
    pub rate: f64,
}

impl Plant {
    /// The pole of the window dynamics, 2 N / (R^2 C), 1/s (Hollot, Misra, Towsley and Gong 2001).
    #[must_use]
    pub fn window_pole(&self) -> f64 {
        2.0 * self.flows / (self.rtt * self.rtt * self.rate)
    }
}

/// The increase alpha of an AIMD(alpha, beta) flow that shares fairly with TCP, 3 (1 - beta) / (1 +
/// beta) (Wang, Cai, Liu and Shen, equation (11)).
/// `beta` is the fraction of the window that remains after a reduction.
#[must_use]
pub fn tcp_friendly_alpha(beta: f64) -> f64 {
    3.0 * (1.0 - beta) / (1.0 + beta)
}

/// RED's parameters as AP-RED tunes them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ApRed {
    /// Minimum threshold, packets.
    pub min_threshold: f64,
    /// Maximum threshold, packets.
    pub max_threshold: f64,
    /// Probability at the maximum threshold.
    pub max_probability: f64,
    /// Weight of a sample in the average.
    pub weight: f64,
}

/// AP-RED's parameters in a new network, scaled from `initial` ones that suit `old` (Chen,
/// "Statistical tuning ...", equations (4.3) to (4.6)). The probability is not clamped to the
/// interval that a router would keep it in.
#[must_use]
pub fn ap_red(initial: &ApRed, old: &Plant, new: &Plant) -> ApRed {
    let (kr, kc, kn) = (
        new.rtt / old.rtt,
        new.rate / old.rate,
        new.flows / old.flows,
    );
    let few = new.flows <= 0.5 * new.rtt * new.rate;
    let (thresholds, probability, weight) = ap_red_factors(kr, kc, kn, few);
    ApRed {
        min_threshold: thresholds * initial.min_threshold,
        max_threshold: thresholds * initial.max_threshold,
        max_probability: probability * initial.max_probability,
        weight: weight * initial.weight,
    }
}

/// The left side of the stability proposition (4.9) over its right side: at most one means that the
/// proposition holds. It is sufficient only; its exact counterpart is the gain margin of
/// [`red_loop`].
#[must_use]
pub fn ap_red_gain(red: &ApRed, plant: &Plant) -> f64 {
    let bdp = plant.rtt * plant.rate;
    let bound = if plant.flows <= 0.5 * bdp {
        0.8 * plant.flows.powi(3) / bdp.powi(5)
    } else {
        0.4 * plant.flows.powi(2) / bdp.powi(4)
    };
    slope(red) * red.weight / bound
}

fn slope(red: &ApRed) -> f64 {
    red.max_probability / (red.max_threshold - red.min_threshold)
}

/// The loop of TCP and RED linearised, without the delay of a window's own term (Hollot, Misra,
/// Towsley and Gong 2001; Chen, equation (4.10)).
pub fn red_loop(red: &ApRed, plant: &Plant) -> impl Loop + use<> {
    let average = -libm::log(1.0 - red.weight) * plant.rate;
    let gain = slope(red) * (plant.rtt * plant.rate).powi(3) / (2.0 * plant.flows).powi(2);
    let (pole, rtt) = (plant.window_pole(), plant.rtt);
    move |s: c64| {
        (-s * rtt).exponential() * gain / ((s / average + 1.0) * (s / pole + 1.0) * (s * rtt + 1.0))
    }
}

/// A PI controller K_p (1 + z / s).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PiController {
    /// Proportional gain K_p, per packet.
    pub gain: f64,
    /// Zero z, 1/s.
    pub zero: f64,
}

impl PiController {
    /// The coefficients a and b of its sampled form at `frequency` (trapezoidal rule).
    #[must_use]
    pub fn sampled(&self, frequency: f64) -> (f64, f64) {
        let half = 0.5 * self.zero / frequency;
        (self.gain * (1.0 + half), self.gain * (1.0 - half))
    }
}

/// The PI controller that ns-2's a, b at `frequency` stand for: the inverse of
/// [`PiController::sampled`].
#[must_use]
pub fn pi_from_samples(a: f64, b: f64, frequency: f64) -> PiController {
    let gain = 0.5 * (a + b);
    PiController {
        gain,
        zero: frequency * (a - b) / gain,
    }
}

/// The PI controller of the stability proposition (6.3) (Chen): its zero cancels the window's pole,
/// and `lambda` (above 0; below about 0.86 for stability) sets the speed.
#[must_use]
pub fn pi_design(lambda: f64, plant: &Plant) -> PiController {
    let bdp = plant.rtt * plant.rate;
    let gain = 2.0 * lambda * (lambda * lambda + 1.0).sqrt() * plant.flows / (bdp * bdp);
    PiController {
        gain,
        zero: plant.window_pole(),
    }
}

/// The largest lambda of [`pi_design`]: where the phase lambda + arctan lambda reaches 90 degrees.
#[must_use]
pub fn pi_largest_lambda() -> f64 {
    let (mut low, mut high) = (0.0_f64, FRAC_PI_2);
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if middle + libm::atan(middle) < FRAC_PI_2 {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

/// The loop of TCP and a PI controller (Hollot et al.; Chen, equation (6.2)).
pub fn pi_loop(controller: &PiController, plant: &Plant) -> impl Loop + use<> {
    let (kp, z) = (controller.gain, controller.zero);
    let (pole, rtt) = (plant.window_pole(), plant.rtt);
    let gain = kp * plant.rate.powi(2) / (2.0 * plant.flows);
    move |s: c64| (-s * rtt).exponential() * gain * (s + z) / (s * (s + pole) * (s + 1.0 / rtt))
}
