//! Sizes of transfers.

use ackclock_algorithms::Stream;

/// Payload of transfers, bytes, drawn once a transfer.
#[derive(Clone, Debug, PartialEq)]
pub enum Sizes {
    /// All the same.
    Fixed(u64),
    /// Exponential with this mean.
    Exponential(f64),
    /// Pareto: P(size > x) = (scale / x)^shape for x at or above the scale, which is `mean (shape - 1) / shape`.
    Pareto {
        /// Mean, bytes.
        mean: f64,
        /// Tail index, above one; at two and below the variance is infinite.
        shape: f64,
    },
    /// Log-normal.
    LogNormal {
        /// Mean, bytes.
        mean: f64,
        /// Standard deviation, bytes.
        deviation: f64,
    },
    /// Sizes (bytes, not falling) and the probability of sizes up to each (rising to one), linear
    /// between them.
    Empirical(Vec<(f64, f64)>),
}

/// Flow sizes of a web-search cluster (Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010,
/// figure 4), as the evaluation of pFabric (Alizadeh et al., SIGCOMM 2013) tabulated them in
/// segments of 1460 B: linear between the points the mean is 1141 segments (its scripts say 1138).
pub(crate) const WEB_SEARCH: [(f64, f64); 11] = [
    (6.0, 0.15),
    (13.0, 0.2),
    (19.0, 0.3),
    (33.0, 0.4),
    (53.0, 0.53),
    (133.0, 0.6),
    (667.0, 0.7),
    (1333.0, 0.8),
    (3333.0, 0.9),
    (6667.0, 0.97),
    (20000.0, 1.0),
];
/// Payload of the segments in which [`WEB_SEARCH`] counts, bytes.
pub(crate) const WEB_SEARCH_SEGMENT: f64 = 1460.0;

/// No transfer is larger: the tail of a heavy-tailed law has no end, but sequence numbers have.
const MAX_TRANSFER_BYTES: f64 = 1e15;

impl Sizes {
    /// The sizes of a web-search cluster.
    #[must_use]
    pub fn web_search() -> Self {
        let bytes = |(segments, part): &(f64, f64)| (segments * WEB_SEARCH_SEGMENT, *part);
        Self::Empirical(WEB_SEARCH.iter().map(bytes).collect())
    }

    /// Mean, bytes.
    #[must_use]
    pub fn mean(&self) -> f64 {
        match self {
            Self::Fixed(bytes) => *bytes as f64,
            Self::Exponential(mean) | Self::Pareto { mean, .. } | Self::LogNormal { mean, .. } => {
                *mean
            }
            Self::Empirical(points) => {
                let first = points.first().map_or(0.0, |(size, part)| size * part);
                let pieces = points.windows(2);
                first
                    + pieces
                        .map(|pair| (pair[1].1 - pair[0].1) * (pair[0].0 + pair[1].0) / 2.0)
                        .sum::<f64>()
            }
        }
    }

    /// One size: whole bytes, at least one.
    pub fn draw(&self, random: &mut Stream) -> u64 {
        let bytes = match self {
            Self::Fixed(bytes) => return *bytes,
            Self::Exponential(mean) => random.exponential(*mean),
            Self::Pareto { mean, shape } => {
                let scale = mean * (shape - 1.0) / shape;
                scale * libm::pow(1.0 - random.uniform(), -1.0 / shape)
            }
            Self::LogNormal { mean, deviation } => {
                let spread = deviation / mean;
                let variance = libm::log1p(spread * spread);
                mean * libm::exp(variance.sqrt() * random.normal() - variance / 2.0)
            }
            Self::Empirical(points) => quantile(points, random.uniform()),
        };
        // to the nearest byte; an exponential size of nothing would be no transfer
        (bytes + 0.5).clamp(1.0, MAX_TRANSFER_BYTES) as u64
    }
}

/// The value at probability `part` of points (value, probability), linear between them.
fn quantile(points: &[(f64, f64)], part: f64) -> f64 {
    let at = points.partition_point(|(_, up_to)| *up_to < part);
    match (
        at.checked_sub(1).and_then(|below| points.get(below)),
        points.get(at),
    ) {
        (Some((low, from)), Some((high, to))) => low + (high - low) * (part - from) / (to - from),
        (None, Some((first, _))) => *first,
        (_, None) => points.last().map_or(0.0, |(last, _)| *last),
    }
}

#[cfg(test)]
mod tests {
    use ackclock_algorithms::Owner;

    use super::*;

    const DRAWS: usize = 200_000;

    fn draws(sizes: &Sizes) -> Vec<f64> {
        let mut random = Stream::new(7, Owner::Traffic, 1);
        (0..DRAWS).map(|_| sizes.draw(&mut random) as f64).collect()
    }

    fn mean(values: &[f64]) -> f64 {
        values.iter().sum::<f64>() / values.len() as f64
    }

    /// The sample mean lies within four standard errors of the mean.
    #[test]
    fn means_are_those_promised() {
        for (sizes, deviation) in [
            (Sizes::Fixed(12_000), 0.0),
            (Sizes::Exponential(12_000.0), 12_000.0),
            // variance of a Pareto law: scale^2 shape / ((shape - 1)^2 (shape - 2))
            (
                Sizes::Pareto {
                    mean: 12_000.0,
                    shape: 3.0,
                },
                8_000.0 * 0.75_f64.sqrt(),
            ),
            (
                Sizes::LogNormal {
                    mean: 12_000.0,
                    deviation: 24_000.0,
                },
                24_000.0,
            ),
            (Sizes::web_search(), 3.3e6),
        ] {
            let error = (mean(&draws(&sizes)) - sizes.mean()).abs();
            assert!(
                error <= 0.01 + 4.0 * deviation / (DRAWS as f64).sqrt(),
                "{sizes:?}: {error}"
            );
        }
    }

    #[test]
    fn moments_of_the_log_normal_law() {
        let values = draws(&Sizes::LogNormal {
            mean: 1e6,
            deviation: 1e6,
        });
        let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
        let middle = mean(&logs);
        let variance = mean(
            &logs
                .iter()
                .map(|log| (log - middle).powi(2))
                .collect::<Vec<_>>(),
        );
        // ln 2 for a deviation equal to the mean; four standard errors
        assert!((variance - 2_f64.ln()).abs() < 4.0 * 2_f64.ln() * (2.0 / DRAWS as f64).sqrt());
        assert!(
            (middle - (1e6_f64.ln() - 2_f64.ln() / 2.0)).abs()
                < 4.0 * (2_f64.ln() / DRAWS as f64).sqrt()
        );
    }

    /// The maximum-likelihood estimate of the tail index (Hill's, over all values) is the index,
    /// and nothing lies below the scale.
    #[test]
    fn tail_of_the_pareto_law() {
        let (mean_size, shape) = (1e7, 1.3);
        let values = draws(&Sizes::Pareto {
            mean: mean_size,
            shape,
        });
        let scale = mean_size * (shape - 1.0) / shape;
        assert!(values.iter().all(|value| *value >= scale - 1.0));
        let estimate = 1.0
            / mean(
                &values
                    .iter()
                    .map(|value| (value / scale).ln())
                    .collect::<Vec<_>>(),
            );
        assert!(
            (estimate / shape - 1.0).abs() < 4.0 / (DRAWS as f64).sqrt(),
            "{estimate}"
        );
        // P(size > 100 scale) = 100^-1.3
        let beyond = values
            .iter()
            .filter(|value| **value > 100.0 * scale)
            .count() as f64;
        let expected = DRAWS as f64 * 100_f64.powf(-shape);
        assert!(
            (beyond - expected).abs() < 4.0 * expected.sqrt(),
            "{beyond} {expected}"
        );
    }

    #[test]
    fn quantiles_of_a_table() {
        let points = [(10.0, 0.5), (20.0, 0.75), (20.0, 0.8), (40.0, 1.0)];
        for (part, value) in [
            (0.0, 10.0),
            (0.5, 10.0),
            (0.625, 15.0),
            (0.78, 20.0),
            (0.9, 30.0),
            (1.0, 40.0),
        ] {
            assert!((quantile(&points, part) - value).abs() < 1e-12, "{part}");
        }
        let Sizes::Empirical(points) = Sizes::web_search() else {
            panic!("a table");
        };
        // 6 x 0.15 and the trapezia, by hand; the table's authors state 1138 segments
        let mean = Sizes::web_search().mean() / WEB_SEARCH_SEGMENT;
        assert!((mean - 1140.98).abs() < 1e-9, "{mean}");
        let below = draws(&Sizes::Empirical(points))
            .iter()
            .filter(|value| **value <= 53.0 * 1460.0)
            .count() as f64;
        assert!(
            (below / DRAWS as f64 - 0.53).abs() < 4.0 * (0.53_f64 * 0.47 / DRAWS as f64).sqrt()
        );
    }
}
