//! The law of Reno's window in closed form.
//!
//! Source: Reynier, "A simple stability condition for RED using TCP mean-field modeling" (INRIA,
//! 2006), section 3. Theorem 1 is misprinted there; the coefficients used here follow from the
//! continuity of the flux at W/2, W/4, ... (see [`RenoStationary`]).

use std::f64::consts::{FRAC_PI_2, PI};

use libm::{erf, exp};

use crate::error::{Error, check};

/// `alpha` of the square-root law `E[w] = alpha / sqrt(k)` of an unlimited Reno window that loses each packet with probability `k`.
///
/// It is `sqrt(2 / pi) (1/4; 1/4)_inf / (1/2; 1/4)_inf` with q-Pochhammer symbols (Baccelli,
/// McDonald and Reynier, 2002).
pub const SQUARE_ROOT_LAW: f64 = 1.309_833_274_658_021;

/// Density, atom and moments of a Reno window `w <= w_max` whose packets are lost independently
/// with probability `k`.
///
/// Per round trip the window grows by one packet up to `w_max` and is halved at rate `k w`. With `E
/// = k w_max^2 / 2` and
/// `w_max / 2^(n+1) <= w <= w_max / 2^n` the density is
///
/// `p(w) = M k w_max e^E sum_{i=0}^n b_i alpha_(n-i) exp(-4^i k w^2 / 2)`, where
/// `b_i = 4^i / prod_{l=1}^i (1 - 4^l)`,
/// `alpha_n = 1 + sum_{j=1}^n 4^(j(j-1)/2) / prod_{l=1}^j (4^l - 1) exp(-E (1 - 4^-j))`,
///
/// and `M` is the mass at `w_max`. Factoring `e^E` out keeps every term below one, whatever `E`.
#[derive(Clone, Debug)]
pub struct RenoStationary {
    loss: f64,
    w_max: f64,
    /// `M k w_max e^E`; for an unlimited window the factor of the series itself.
    scale: f64,
    atom: f64,
    below: f64,
    mean: f64,
    alpha: Vec<f64>,
}

/// `b_i`, until further terms vanish beside one.
fn coefficients() -> [f64; SERIES_TERMS] {
    let mut b = [1.0; SERIES_TERMS];
    let mut power = 1.0;
    for i in 1..SERIES_TERMS {
        power *= 4.0;
        b[i] = b[i - 1] * 4.0 / (1.0 - power);
    }
    b
}

/// `b_9` is about 4^-36, far below the rounding of the first term.
const SERIES_TERMS: usize = 10;
/// Halvings below the typical window after which the density has vanished: it falls faster than any
/// power.
const HALVING_DEPTH: usize = 14;

impl RenoStationary {
    /// The law at loss probability `loss` (0 to 1) with largest window `w_max` packets, which may
    /// be infinite if `loss > 0`.
    ///
    /// # Errors
    /// If `loss` is outside `[0, 1]`, or `w_max` is not positive, or both are degenerate.
    pub fn new(loss: f64, w_max: f64) -> Result<Self, Error> {
        check(
            (0.0..=1.0).contains(&loss),
            "the loss probability",
            loss,
            "from 0 to 1",
        )?;
        check(w_max > 0.0, "the largest window", w_max, "above 0 packets")?;
        check(
            loss > 0.0 || w_max.is_finite(),
            "the largest window",
            w_max,
            "finite when nothing is lost",
        )?;
        let b = coefficients();
        if w_max.is_infinite() {
            let unit: f64 = (0..SERIES_TERMS).map(|i| b[i] / power2(i)).sum::<f64>()
                * (FRAC_PI_2 / loss).sqrt();
            let first: f64 = (0..SERIES_TERMS)
                .map(|i| b[i] / (loss * power2(i) * power2(i)))
                .sum();
            return Ok(Self {
                loss,
                w_max,
                scale: 1.0 / unit,
                atom: 0.0,
                below: 1.0,
                mean: first / unit,
                alpha: vec![1.0],
            });
        }
        let e = 0.5 * loss * w_max * w_max;
        // the window stays near min(w_max, 1/sqrt(k)), that is log2(sqrt(2 E)) octaves down
        let octaves = HALVING_DEPTH
            + if e > 0.5 {
                (0.5 * libm::log2(2.0 * e)) as usize
            } else {
                0
            };
        let mut alpha = Vec::with_capacity(octaves + 1);
        alpha.push(1.0);
        let (mut c, mut power) = (1.0, 1.0);
        for j in 1..=octaves {
            // 4^(j(j-1)/2) / prod (4^l - 1), from its predecessor
            c *= power / (4.0 * power - 1.0);
            power *= 4.0;
            let last = alpha[j - 1];
            alpha.push(last + c * exp(-e * (1.0 - 1.0 / power)));
        }
        let (mut mass, mut first) = (0.0, 0.0);
        for n in (0..=octaves).rev() {
            let high = w_max / power2(n);
            let low = 0.5 * high;
            for i in 0..SERIES_TERMS.min(n + 1) {
                let rate = 0.5 * loss * power2(i) * power2(i);
                let term = b[i] * alpha[n - i];
                mass += term * gauss_integral(rate, low, high);
                first += term * gauss_first(rate, low, high);
            }
        }
        let (mass, first) = (mass * loss * w_max, first * loss * w_max);
        let unit = exp(-e) + mass;
        Ok(Self {
            loss,
            w_max,
            scale: loss * w_max / unit,
            atom: exp(-e) / unit,
            below: mass / unit,
            mean: (exp(-e) * w_max + first) / unit,
            alpha,
        })
    }

    /// Probability M of the window `w_max`.
    #[must_use]
    pub fn atom(&self) -> f64 {
        self.atom
    }

    /// Mean window F, packets, the atom included.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// Mean square of the window, packets^2: `2 (1 - M) / k`, exactly (equation (18)); `w_max^2`
    /// without losses.
    #[must_use]
    pub fn second_moment(&self) -> f64 {
        if self.loss == 0.0 {
            self.w_max * self.w_max
        } else {
            2.0 * self.below / self.loss
        }
    }

    /// Density at `window` packets (the atom not included), 1/packet; zero outside `0 .. w_max`.
    #[must_use]
    pub fn density(&self, window: f64) -> f64 {
        if !(window > 0.0 && window <= self.w_max) {
            return 0.0;
        }
        let b = coefficients();
        let n = if self.w_max.is_infinite() {
            usize::MAX - 1
        } else {
            libm::floor(libm::log2(self.w_max / window)) as usize
        };
        let last = self.alpha.len() - 1;
        let series: f64 = (0..SERIES_TERMS.min(n + 1))
            .map(|i| {
                b[i] * self.alpha[(n - i).min(last)]
                    * exp(-0.5 * self.loss * power2(2 * i) * window * window)
            })
            .sum();
        (self.scale * series).max(0.0)
    }
}

/// `2^n`.
fn power2(n: usize) -> f64 {
    libm::ldexp(1.0, n as i32)
}

/// Integral of `exp(-rate w^2)`.
fn gauss_integral(rate: f64, low: f64, high: f64) -> f64 {
    if rate * high * high < 1e-3 {
        // a difference of nearly equal error functions would lose digits
        let series = |w: f64| {
            let x = rate * w * w;
            w * (1.0 - x * (1.0 / 3.0 - x * (0.1 - x * (1.0 / 42.0 - x / 216.0))))
        };
        return series(high) - series(low);
    }
    let root = rate.sqrt();
    0.5 * (PI / rate).sqrt() * (erf(root * high) - erf(root * low))
}

/// Integral of `w exp(-rate w^2)`.
fn gauss_first(rate: f64, low: f64, high: f64) -> f64 {
    if rate == 0.0 {
        return 0.5 * (high * high - low * low);
    }
    let span = rate * (high * high - low * low);
    -0.5 * exp(-rate * low * low) * libm::expm1(-span) / rate
}
