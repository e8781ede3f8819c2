//! PackMime: the model of HTTP traffic of J. Cao, W. S. Cleveland, Y. Gao, K. Jeffay, F. D. Smith
//! and M. C. Weigle, "Stochastic models for generating synthetic HTTP source traffic", INFOCOM
//! 2004, with the fitted constants and quantiles of its authors' implementation in ns-2.35
//! (packmime/packmime_ranvar.cc).
//!
//! Everything follows from the rate of new connections r (1/s): the gaps between connections are
//! Weibull-distributed with mean 1/r and correlated over a long range; responses come in runs of
//! cache validations (about 150 B) and runs of downloads (median 2.3 kB, with a Pareto tail of
//! index 1.23).
//!
//! Simplified here: one response a connection (HTTP/1.0, as ns-2 has it by default; persistent
//! connections were 9 % of those measured), and requests take no capacity (they are one packet
//! nearly always, and travel against the data). Round-trip times are the scenario's.

use ackclock_algorithms::Stream;

fn logistic(x: f64) -> f64 {
    1.0 / (1.0 + libm::exp(-x))
}

/// Weibull with P(X > x) = exp(-(x / scale)^shape).
fn weibull(random: &mut Stream, shape: f64, scale: f64) -> f64 {
    scale * libm::pow(random.exponential(1.0), 1.0 / shape)
}

/// Quantiles of responses that only validate a cache, bytes, at the probabilities 1e-4, 1e-4 +
/// 0.0100999, ..., 0.99999.
const VALIDATIONS: [f64; 100] = [
    4.645, 22.7357, 40.8041, 53.0108, 61.468, 64.4307, 67.3933, 69.6925, 71.3981, 73.1037, 74.8092,
    80.6677, 87.4875, 93.5693, 97.6514, 101.249, 104.58, 107.021, 109.195, 111.087, 112.752,
    114.273, 115.545, 116.78, 118.014, 119.248, 120.483, 121.551, 122.51, 123.441, 124.312,
    125.119, 125.927, 126.734, 127.524, 128.288, 129.053, 129.818, 130.582, 131.347, 132.143,
    132.973, 133.835, 134.71, 135.603, 136.537, 137.47, 138.404, 139.337, 140.28, 141.233, 142.186,
    143.139, 144.092, 145.045, 145.979, 146.904, 147.816, 148.71, 149.589, 150.485, 151.478,
    152.703, 153.928, 155.403, 157.294, 159.389, 161.953, 165.018, 168.54, 172.7, 177.629, 183.365,
    189.766, 195.845, 200.636, 203.987, 206.43, 208.611, 211.114, 214.424, 218.008, 221.925,
    225.722, 229.242, 232.747, 236.235, 239.952, 244.076, 248.68, 253.434, 257.857, 261.539,
    264.471, 266.742, 268.487, 269.793, 270.794, 271.571, 272.234,
];
const VALIDATION_FIRST: f64 = 1e-4;
const VALIDATION_STEP: f64 = (0.99999 - 1e-4) / 99.0;

/// Quantiles of downloads: log2 of the bytes at log2 of the probability of more, from -6.06098 in
/// steps of 0.183611; below that the line goes on straight (a Pareto tail).
const DOWNLOADS: [f64; 34] = [
    16.0331, 15.8842, 15.739, 15.6026, 15.4804, 15.3778, 15.3003, 15.2465, 15.2045, 15.1597,
    15.0978, 15.0044, 14.8675, 14.6932, 14.4968, 14.2932, 14.0976, 13.9248, 13.7783, 13.6435,
    13.5042, 13.3444, 13.1478, 12.9005, 12.6008, 12.2512, 11.8545, 11.4133, 10.9303, 10.4104,
    9.86075, 9.28886, 8.70213, 8.10797,
];
const DOWNLOAD_FIRST: f64 = -6.06098;
const DOWNLOAD_STEP: f64 = (18.1793 - 0.0018) / 99.0;
/// Slope of the straight tail, from (-18.1793, 25.8765).
const DOWNLOAD_TAIL: f64 = (16.0331 - 25.8765) / (18.1793 - 6.06098);

/// Linear between the points of a table with even steps, and beyond its ends.
fn between(table: &[f64], first: f64, step: f64, x: f64) -> f64 {
    let place = (x - first) / step;
    let cell = (place.max(0.0) as usize).min(table.len() - 2);
    table[cell] + (table[cell + 1] - table[cell]) * (place - cell as f64)
}

/// Size of a response that validates a cache, bytes.
fn validation(part: f64) -> f64 {
    between(&VALIDATIONS, VALIDATION_FIRST, VALIDATION_STEP, part)
}

/// Size of a download, bytes; `beyond` is the probability of a larger one.
fn download(beyond: f64) -> f64 {
    let x = libm::log2(beyond);
    let log = if x < DOWNLOAD_FIRST {
        DOWNLOADS[0] + DOWNLOAD_TAIL * (x - DOWNLOAD_FIRST)
    } else {
        between(&DOWNLOADS, DOWNLOAD_FIRST, DOWNLOAD_STEP, x)
    };
    libm::exp2(log)
}

/// Shape and scale of the runs of validations and of downloads.
fn runs(rate: f64) -> [(f64, f64); 2] {
    let octaves = libm::log2(rate);
    [
        (logistic(0.718 + 0.357 * octaves), 0.775),
        (logistic(1.293 + 0.316 * octaves), 3.11),
    ]
}

/// Mean of a Weibull variable rounded up: the sum of P(X > k) over k = 0, 1, ...
fn mean_rounded_up(shape: f64, scale: f64) -> f64 {
    /// So many terms are added one by one; at low rates there are up to 1e16.
    const MAX_TERMS: u32 = 1000;
    let beyond = |k: u32| libm::exp(-libm::pow(f64::from(k) / scale, shape));
    let terms = (0..MAX_TERMS).map(beyond).take_while(|part| *part > 1e-12);
    let sum = terms.sum::<f64>();
    if beyond(MAX_TERMS) <= 1e-12 {
        return sum;
    }
    // the rest by Euler and Maclaurin: the integral from the next term on, half of it and a twelfth
    // of the slope there. With x = scale e^(z / shape) the integrand is smooth, and is nothing from
    // 40 deviations beyond its peak on (at e^z = 1 / shape); Simpson's rule
    let next = f64::from(MAX_TERMS);
    let place = libm::pow(next / scale, shape);
    let slope = -beyond(MAX_TERMS) * place * shape / next;
    let (low, high) = (
        libm::log(place),
        libm::log(1.0 / shape + 40.0 * libm::sqrt(1.0 / shape) + 40.0),
    );
    let integrand = |z: f64| scale / shape * libm::exp(z / shape - libm::exp(z));
    let pieces = 1000;
    let width = (high - low).max(0.0) / f64::from(pieces);
    let weighted = (0..=pieces).map(|k| {
        let weight = match k {
            0 => 1.0,
            _ if k == pieces => 1.0,
            _ if k % 2 == 1 => 4.0,
            _ => 2.0,
        };
        weight * integrand(low + f64::from(k) * width)
    });
    sum + weighted.sum::<f64>() * width / 3.0 + 0.5 * beyond(MAX_TERMS) - slope / 12.0
}

/// Mean size of a response at this rate of connections, bytes.
pub(crate) fn mean_size(rate: f64) -> f64 {
    let [validations, downloads] = runs(rate).map(|(shape, scale)| mean_rounded_up(shape, scale));
    let small = (validation(0.0)
        + 2.0
            * (1..1000)
                .map(|k| validation(f64::from(k) / 1000.0))
                .sum::<f64>()
        + validation(1.0))
        / 2000.0;
    // pieces of c u^s between neighbouring points, u the probability of more
    let piece = |from: (f64, f64), to: (f64, f64)| {
        let slope = (to.1 - from.1) / (to.0 - from.0);
        let whole = |x: f64, log: f64| libm::exp2(log + x) / (slope + 1.0);
        whole(to.0, to.1) - whole(from.0, from.1)
    };
    let point = |k: usize| (DOWNLOAD_FIRST + k as f64 * DOWNLOAD_STEP, DOWNLOADS[k]);
    let end = libm::log2(download(1.0));
    let large = libm::exp2(DOWNLOADS[0] + DOWNLOAD_FIRST) / (1.0 + DOWNLOAD_TAIL)
        + (1..DOWNLOADS.len())
            .map(|k| piece(point(k - 1), point(k)))
            .sum::<f64>()
        + piece(point(DOWNLOADS.len() - 1), (0.0, end));
    (downloads * large + validations * small) / (downloads + validations)
}

/// Number of past values on which fractional noise depends here.
const NOISE_MEMORY: usize = 1000;
/// Order of fractional differencing of the gaps.
const DIFFERENCING_ORDER: f64 = 0.33;

/// Gaussian noise x(t) + x(t - 1) of unit variance, where x is fractionally differenced noise of
/// [`DIFFERENCING_ORDER`], by the Durbin-Levinson recursion (Hosking, Water Resources Research 20(12), 1984):
/// exact up to [`NOISE_MEMORY`] values, an autoregression of that length after.
#[derive(Clone, Debug, Default)]
struct FractionalNoise {
    coefficients: Vec<f64>,
    /// Past values, newest last, in a ring of [`NOISE_MEMORY`].
    past: Vec<f64>,
    newest: usize,
    /// Variance of the next innovation, for unit variance of x.
    variance: f64,
}

impl FractionalNoise {
    fn next(&mut self, random: &mut Stream) -> f64 {
        let count = self.past.len();
        let last = if count == 0 {
            0.0
        } else {
            self.past[self.newest]
        };
        if count == 0 {
            self.variance = 1.0;
        } else if self.coefficients.len() < count {
            let partial = DIFFERENCING_ORDER / (count as f64 - DIFFERENCING_ORDER);
            let old = &self.coefficients;
            let mut new: Vec<f64> = (0..count - 1)
                .map(|k| old[k] - partial * old[count - 2 - k])
                .collect();
            new.push(partial);
            self.coefficients = new;
            self.variance *= 1.0 - partial * partial;
        }
        // coefficient k belongs to the value k + 1 steps ago
        let (late, early) = self.past.split_at((self.newest + 1).min(count));
        let newest_first = late.iter().rev().chain(early.iter().rev());
        let mean: f64 = newest_first
            .zip(&self.coefficients)
            .map(|(x, c)| x * c)
            .sum();
        let x = mean + self.variance.sqrt() * random.normal();
        if count < NOISE_MEMORY {
            self.past.push(x);
            self.newest = count;
        } else {
            self.newest = (self.newest + 1) % NOISE_MEMORY;
            self.past[self.newest] = x;
        }
        // the first value has no predecessor: one of the same size keeps the variance
        let sum = if count == 0 { 2.0 * x } else { x + last };
        let scale = if count == 0 {
            4.0
        } else {
            2.0 + 2.0 * DIFFERENCING_ORDER / (1.0 - DIFFERENCING_ORDER)
        };
        sum / f64::sqrt(scale)
    }
}

/// One source of connections.
#[derive(Clone, Debug)]
pub(crate) struct PackMime {
    /// Weibull law of the gaps.
    shape: f64,
    scale: f64,
    /// Share of white noise in what drives the gaps.
    white: f64,
    noise: FractionalNoise,
    runs: [(f64, f64); 2],
    downloads: bool,
    /// Responses left in the present run.
    left: u64,
    /// Factor to the model's sizes.
    stretch: f64,
}

impl PackMime {
    /// `mean` is the mean size of a response, bytes; `None`: the model's own.
    pub(crate) fn new(rate: f64, mean: Option<f64>) -> Self {
        let mut source = Self {
            shape: 1.0,
            scale: 1.0,
            white: 1.0,
            noise: FractionalNoise::default(),
            runs: [(1.0, 1.0); 2],
            downloads: false,
            left: 0,
            stretch: 1.0,
        };
        source.set_rate(rate, mean);
        source
    }

    /// From now on connections come at this rate.
    pub(crate) fn set_rate(&mut self, rate: f64, mean: Option<f64>) {
        let octaves = libm::log2(rate);
        self.white = logistic(0.333 + 0.414 * octaves);
        self.shape = logistic(0.352 + 0.388 * octaves);
        self.scale = 1.0 / (rate * libm::tgamma(1.0 + 1.0 / self.shape));
        self.runs = runs(rate);
        self.stretch = mean.map_or(1.0, |mean| mean / mean_size(rate));
    }

    /// Time to the next connection, s.
    pub(crate) fn gap(&mut self, random: &mut Stream) -> f64 {
        let slow = self.noise.next(random);
        let z = slow * (1.0 - self.white).sqrt() + random.normal() * self.white.sqrt();
        let beyond = 0.5 * libm::erfc(z / std::f64::consts::SQRT_2);
        self.scale * libm::pow(-libm::log(beyond), 1.0 / self.shape)
    }

    /// Size of the next response, bytes.
    pub(crate) fn size(&mut self, random: &mut Stream) -> u64 {
        if self.left == 0 {
            self.downloads = !self.downloads;
            let (shape, scale) = self.runs[usize::from(self.downloads)];
            self.left = libm::ceil(weibull(random, shape, scale)).max(1.0) as u64;
        }
        self.left -= 1;
        let part = random.uniform();
        let bytes = if self.downloads {
            download(1.0 - part)
        } else {
            validation(part)
        };
        (bytes * self.stretch + 0.5).clamp(1.0, 1e15) as u64
    }

    /// How long a server takes before it answers, s: the inverse of a Weibull variable, at most 100
    /// ms.
    pub(crate) fn server_delay(random: &mut Stream) -> f64 {
        1.0 / weibull(random, 0.63, 305.0).max(10.0)
    }
}

#[cfg(test)]
mod tests {
    use ackclock_algorithms::Owner;

    use super::*;

    fn random() -> Stream {
        Stream::new(11, Owner::Traffic, 5)
    }

    fn mean(values: &[f64]) -> f64 {
        values.iter().sum::<f64>() / values.len() as f64
    }

    #[test]
    fn tables_meet() {
        assert!((download(libm::exp2(-18.1793)).log2() - 25.8765).abs() < 1e-9);
        assert!((download(libm::exp2(-6.06098)).log2() - 16.0331).abs() < 1e-9);
        assert!((download(libm::exp2(-0.0018)).log2() - 8.10797).abs() < 1e-3);
        // a point in the middle of the published table, and one in its straight part
        assert!((download(libm::exp2(-3.12320)).log2() - 14.0976).abs() < 1e-3);
        assert!((download(libm::exp2(-12.1201)).log2() - 20.9548).abs() < 1e-3);
        assert!((validation(0.495) - 140.28).abs() < 0.05);
    }

    /// The mean of a Weibull variable rounded up lies between that of the variable, scale times
    /// gamma(1 + 1 / shape), and one more; where all terms can be added it is their sum.
    #[test]
    fn means_of_runs() {
        for (shape, scale) in [(0.5, 3.11), (0.45, 0.775), (0.4, 3.11), (0.3, 0.775)] {
            let terms = (0..20_000_000)
                .map(|k| libm::exp(-libm::pow(f64::from(k) / scale, shape)))
                .take_while(|part| *part > 1e-14);
            let (sum, mean) = (terms.sum::<f64>(), mean_rounded_up(shape, scale));
            assert!((mean / sum - 1.0).abs() < 1e-9, "{shape}: {mean} {sum}");
        }
        // connections of 0.1 to 0.001 /s; the sums were cut off after a million terms
        for shape in [0.25, 0.15, 0.1, 0.055, 0.03] {
            let mean = mean_rounded_up(shape, 0.775);
            let smooth = 0.775 * libm::tgamma(1.0 + 1.0 / shape);
            let between = mean > smooth * (1.0 - 1e-9) && mean < smooth * (1.0 + 1e-9) + 1.0;
            assert!(between, "{shape}: {mean} {smooth}");
        }
        assert!(mean_size(0.001).is_finite());
    }

    /// The share of downloads is that of the mean run lengths, sizes follow the tables, and the
    /// mean is the closed form's once the largest are set aside (the tail's own mean converges too
    /// slowly to be seen).
    #[test]
    fn sizes_follow_the_model() {
        let (mut source, mut random) = (PackMime::new(50.0, None), random());
        let sizes: Vec<f64> = (0..400_000)
            .map(|_| source.size(&mut random) as f64)
            .collect();
        let count = sizes.len() as f64;
        let median = download(0.5);
        // downloads are 72.42 % at 50 /s (mean runs 3.33 and 1.27); runs make the count vary three
        // times as much as independent draws
        let small = sizes.iter().filter(|size| **size <= 272.0).count() as f64;
        let expected = 0.2758 + 0.7242 * (1.0 - beyond(272.0));
        assert!(
            (small / count - expected).abs() < 0.006,
            "{} {expected}",
            small / count
        );
        let large = sizes.iter().filter(|size| **size > median).count() as f64;
        assert!(
            (large / count - 0.7242 / 2.0).abs() < 0.006,
            "{}",
            large / count
        );
        // tail: P(size > 1 MB)
        let huge = sizes.iter().filter(|size| **size > 1e6).count() as f64;
        let expected = count * 0.7242 * beyond(1e6);
        assert!(
            (huge - expected).abs() < 4.0 * expected.sqrt(),
            "{huge} {expected}"
        );
        assert!(
            (mean_size(50.0) - 8634.6).abs() < 5.0,
            "{}",
            mean_size(50.0)
        );
        let stretched = PackMime::new(50.0, Some(5000.0)).stretch;
        assert!((stretched * mean_size(50.0) - 5000.0).abs() < 1e-9);
    }

    /// Probability of a download larger than this, by bisection of its quantiles.
    fn beyond(bytes: f64) -> f64 {
        let (mut low, mut high) = (-40.0, 0.0);
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if download(libm::exp2(middle)) > bytes {
                low = middle;
            } else {
                high = middle;
            }
        }
        libm::exp2(low)
    }

    /// Gaps have the Weibull law's mean and coefficient of variation; their driving noise is
    /// correlated as published.
    #[test]
    fn gaps_follow_the_model() {
        let (mut source, mut random) = (PackMime::new(50.0, None), random());
        let gaps: Vec<f64> = (0..200_000).map(|_| source.gap(&mut random)).collect();
        assert!((mean(&gaps) * 50.0 - 1.0).abs() < 0.02, "{}", mean(&gaps));
        let shape = 1.0 / (1.0 + (-(0.352_f64 + 0.388 * 50_f64.log2())).exp());
        let below = gaps.iter().filter(|gap| **gap * 50.0 < 0.1).count() as f64 / gaps.len() as f64;
        let scale = 1.0 / libm::tgamma(1.0 + 1.0 / shape);
        let expected = 1.0 - (-(0.1 / scale).powf(shape)).exp();
        assert!((below - expected).abs() < 0.005, "{below} {expected}");
    }

    #[test]
    fn fractional_noise_has_its_correlations() {
        let (mut noise, mut random) = (FractionalNoise::default(), random());
        let values: Vec<f64> = (0..60_000).map(|_| noise.next(&mut random)).collect();
        let correlation = |lag: usize| {
            let pairs = values.iter().zip(&values[lag..]).skip(1);
            pairs.map(|(a, b)| a * b).sum::<f64>() / (values.len() - lag) as f64
        };
        // of fractional noise: rho(k) = prod (j - 1 + d) / (j - d); of the sum of neighbours: (2
        // rho(k) + rho(k-1) + rho(k+1)) / (2 + 2 rho(1))
        let rho = |lag: usize| {
            (1..=lag)
                .map(|j| (j as f64 - 1.0 + DIFFERENCING_ORDER) / (j as f64 - DIFFERENCING_ORDER))
                .product::<f64>()
        };
        for lag in [0, 1, 2, 5, 20] {
            let near = if lag == 0 { 1 } else { lag - 1 };
            let expected = (2.0 * rho(lag) + rho(near) + rho(lag + 1)) / (2.0 + 2.0 * rho(1));
            assert!(
                (correlation(lag) - expected).abs() < 0.08,
                "lag {lag}: {} {expected}",
                correlation(lag)
            );
        }
    }

    /// Mean of 1 / max(W, 10) by quadrature over the Weibull law.
    #[test]
    fn server_delays_follow_the_model() {
        let mut random = random();
        let delays: Vec<f64> = (0..100_000)
            .map(|_| PackMime::server_delay(&mut random))
            .collect();
        let expected: f64 = (0..100_000)
            .map(|k| {
                let part = (f64::from(k) + 0.5) / 1e5;
                1.0 / (305.0 * (-part.ln()).powf(1.0 / 0.63)).max(10.0)
            })
            .sum::<f64>()
            / 1e5;
        assert!(
            (mean(&delays) / expected - 1.0).abs() < 0.03,
            "{} {expected}",
            mean(&delays)
        );
        assert!(delays.iter().all(|delay| *delay <= 0.1));
    }
}
