//! Random draws of a scenario's distributions, and the numbers of the streams that they are taken
//! from.

use ackclock_algorithms::Stream;
use ackclock_scenario::Distribution;

/// A draw for flow `index` of `count`; a normal one is repeated until it is at least `least`.
pub(crate) fn draw(
    distribution: &Distribution,
    least: f64,
    index: u32,
    count: u32,
    random: &mut Stream,
) -> f64 {
    match distribution {
        Distribution::Fixed(value) => *value,
        Distribution::List(values) => values[index as usize % values.len()],
        Distribution::Range(from, to) => {
            from + (to - from) * f64::from(index) / f64::from(count.max(2) - 1)
        }
        Distribution::Uniform(from, to) => from + (to - from) * random.uniform(),
        Distribution::Normal(mean, deviation) => loop {
            let value = mean + deviation * random.normal();
            if value >= least {
                return value;
            }
        },
        Distribution::Exponential(mean) => random.exponential(*mean),
    }
}

/// Number of a named entity (FNV-1a): its stream follows its name, so that what stands before it in
/// the file does not matter.
pub(crate) fn entity(name: &str, index: u64) -> u64 {
    let bytes = name.bytes().chain(index.to_le_bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// The largest value of a distribution, if it has one.
pub(crate) fn largest(distribution: &Distribution) -> Option<f64> {
    match distribution {
        Distribution::Fixed(value) => Some(*value),
        Distribution::List(values) => Some(values.iter().copied().fold(0.0, f64::max)),
        Distribution::Range(from, to) | Distribution::Uniform(from, to) => Some(from.max(*to)),
        Distribution::Normal(..) | Distribution::Exponential(_) => None,
    }
}
