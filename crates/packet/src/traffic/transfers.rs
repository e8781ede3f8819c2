//! How transfers fared, by size.

use crate::outcome::TransferOutcome;
use crate::probe::DelayHistogram;

/// Transfers of one class, all sizes and by size.
#[derive(Clone, Debug, Default)]
pub(crate) struct Transfers {
    /// All sizes first, then those of [`SIZES`].
    tallies: [Tally; 1 + SIZES.len()],
}

/// Upper ends of the classes of sizes, bytes (exclusive).
const SIZES: [u64; 5] = [10_000, 100_000, 1_000_000, 10_000_000, u64::MAX];

/// Transfers that began inside the measurement window.
#[derive(Clone, Debug, Default)]
struct Tally {
    started: u64,
    censored: u64,
    bytes: u128,
    times: DelayHistogram,
}

impl Transfers {
    fn of_size(&mut self, bytes: u64) -> impl Iterator<Item = &mut Tally> {
        let class = 1 + SIZES.partition_point(|end| *end <= bytes);
        let tallies = self.tallies.iter_mut().enumerate();
        tallies
            .filter(move |(at, _)| *at == 0 || *at == class)
            .map(|(_, tally)| tally)
    }

    /// A transfer of `bytes` began.
    pub(crate) fn start(&mut self, bytes: u64) {
        for tally in self.of_size(bytes) {
            tally.started += 1;
            tally.bytes += u128::from(bytes);
        }
    }

    /// It took `time`, ps.
    pub(crate) fn complete(&mut self, bytes: u64, time: u64) {
        for tally in self.of_size(bytes) {
            tally.times.record(time);
        }
    }

    /// The run ended before it did.
    pub(crate) fn censor(&mut self, bytes: u64) {
        for tally in self.of_size(bytes) {
            tally.censored += 1;
        }
    }

    /// Results, all sizes first; sizes that did not occur are left out. An error if transfers got
    /// lost.
    pub(crate) fn outcomes(&self, class: usize) -> Result<Vec<TransferOutcome>, String> {
        let edges = std::iter::once(0).chain(SIZES);
        let mut outcomes = Vec::new();
        for (at, (tally, from)) in self
            .tallies
            .iter()
            .zip(std::iter::once(0).chain(edges))
            .enumerate()
        {
            let completed = tally.times.count();
            if tally.started != completed + tally.censored {
                return Err(format!(
                    "class {class}: {} transfers started, {completed} completed, {} censored",
                    tally.started, tally.censored
                ));
            }
            if at > 0 && tally.started == 0 {
                continue;
            }
            let to = if at == 0 { u64::MAX } else { SIZES[at - 1] };
            outcomes.push(TransferOutcome {
                class,
                size_from: from as f64,
                size_to: if to == u64::MAX {
                    f64::INFINITY
                } else {
                    to as f64
                },
                started: tally.started,
                completed,
                censored: tally.censored,
                size_mean: tally.bytes as f64 / tally.started as f64,
                fct_mean: tally.times.mean(),
                fct_percentiles: [0.50, 0.95, 0.99].map(|part| tally.times.percentile(part)),
                fct_max: tally.times.max(),
                fct_histogram: tally.times.bins(),
            });
        }
        Ok(outcomes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transfers_are_tallied_by_size() {
        let mut transfers = Transfers::default();
        for bytes in [1, 9_999, 10_000, 99_999, 10_000_000, 1 << 40] {
            transfers.start(bytes);
            if bytes < 1 << 40 {
                transfers.complete(bytes, bytes * 1_000_000);
            } else {
                transfers.censor(bytes);
            }
        }
        let rows = transfers.outcomes(0).unwrap();
        let counts: Vec<_> = rows
            .iter()
            .map(|row| (row.size_from, row.size_to, row.started, row.completed))
            .collect();
        assert_eq!(
            counts,
            [
                (0.0, f64::INFINITY, 6, 5),
                (0.0, 1e4, 2, 2),
                (1e4, 1e5, 2, 2),
                (1e7, f64::INFINITY, 2, 1)
            ]
        );
        assert_eq!(rows[1].size_mean, 5000.0);
        assert!((rows[1].fct_mean - 0.005).abs() < 1e-12);
        assert!(rows[3].fct_max == 10.0 && rows[3].censored == 1);
        transfers.start(5);
        assert!(transfers.outcomes(0).is_err(), "one was lost");
    }
}
