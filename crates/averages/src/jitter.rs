//! The mean delay that jitter adds to a link.

use ackclock_scenario::{Distribution, Jitter};

/// Parts into which the range of delays is cut.
const DELAY_PARTS: u32 = 400;
/// The tail of a distribution that no longer counts.
const NEGLIGIBLE_TAIL: f64 = 1e-12;

/// Mean of what is added to the delay, s, where `rate` packets/s leave the link.
///
/// Packets that may not overtake each other wait for those before them: what is added is the
/// largest of J_k - k / rate, with the jitter J_k of the packet that left k packets earlier. It is
/// below x with the probability F(x) F(x + 1 / rate) F(x + 2 / rate) ...
pub(crate) fn mean_jitter(jitter: &Jitter, rate: f64) -> f64 {
    let (mean, top) = match jitter.delay {
        Distribution::Fixed(value) => return value,
        Distribution::Uniform(low, high) | Distribution::Range(low, high) => {
            (0.5 * (low + high), high)
        }
        Distribution::Exponential(mean) => (mean, mean * -libm::log(NEGLIGIBLE_TAIL)),
        Distribution::Normal(mean, deviation) => {
            (mean_above_zero(mean, deviation), mean + 8.0 * deviation)
        }
        Distribution::List(ref values) => {
            let top = values.iter().fold(0.0, |top: f64, value| top.max(*value));
            (values.iter().sum::<f64>() / values.len() as f64, top)
        }
    };
    if jitter.reorder {
        return mean;
    }
    let step = top / f64::from(DELAY_PARTS);
    (0..DELAY_PARTS)
        .map(|part| step * (f64::from(part) + 0.5))
        .map(|x| step * (1.0 - none_above(&jitter.delay, x, top, rate)))
        .sum()
}

/// Probability that no packet so far keeps the present one for more than `x`.
fn none_above(delay: &Distribution, x: f64, top: f64, rate: f64) -> f64 {
    let mut product = 1.0;
    let mut at = x;
    while at < top && product > NEGLIGIBLE_TAIL {
        product *= below(delay, at);
        at += 1.0 / rate;
    }
    product
}

/// Probability that the jitter of a packet is at most `x`.
fn below(delay: &Distribution, x: f64) -> f64 {
    match delay {
        Distribution::Fixed(value) => f64::from(u8::from(*value <= x)),
        Distribution::Uniform(low, high) | Distribution::Range(low, high) => {
            ((x - low) / (high - low)).clamp(0.0, 1.0)
        }
        Distribution::Exponential(mean) => -libm::expm1(-x / mean),
        Distribution::Normal(mean, deviation) => {
            let under = normal(-mean / deviation);
            (normal((x - mean) / deviation) - under) / (1.0 - under)
        }
        Distribution::List(values) => {
            values.iter().filter(|value| **value <= x).count() as f64 / values.len() as f64
        }
    }
}

/// Mean of a normal distribution that is drawn again below zero.
fn mean_above_zero(mean: f64, deviation: f64) -> f64 {
    let at = mean / deviation;
    let density = libm::exp(-0.5 * at * at) / libm::sqrt(2.0 * std::f64::consts::PI);
    mean + deviation * density / (1.0 - normal(-at))
}

fn normal(x: f64) -> f64 {
    0.5 * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(delay: Distribution, reorder: bool, rate: f64) -> f64 {
        mean_jitter(&Jitter { delay, reorder }, rate)
    }

    /// Far apart, packets do not wait for each other; close together, all take the largest delay.
    /// Two packets within the range: the larger of J and J - 1 / rate.
    #[test]
    fn packets_wait_for_those_before_them() {
        let uniform = Distribution::Uniform(0.0, 0.02);
        assert!((mean(uniform.clone(), true, 1e6) - 0.01).abs() < 1e-12);
        assert!((mean(uniform.clone(), false, 10.0) - 0.01).abs() < 1e-6);
        assert!((mean(uniform.clone(), false, 1e7) - 0.02).abs() < 2e-4);
        // 10 ms apart: E max(J, J' - 10 ms) = E J + E (J' - J - 10 ms)^+
        let want = 0.01 + 0.02 / 48.0;
        assert!((mean(uniform, false, 100.0) - want).abs() < 1e-6);
    }

    #[test]
    fn a_normal_distribution_has_no_delays_below_zero() {
        let half = Distribution::Normal(0.0, 0.01);
        let want = 0.01 * libm::sqrt(2.0 / std::f64::consts::PI);
        assert!((mean(half.clone(), true, 1.0) - want).abs() < 1e-9);
        assert!((mean(half, false, 1.0) - want).abs() < 1e-6);
    }
}
