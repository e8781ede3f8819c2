//! The detection of changes in a queue's variance that ST-RED and ST-PI share (Chen 2010, figures
//! 5.3 and 6.1).

/// Where the queue's oscillations are looked at, and which are too large or too small.
#[derive(Clone, Copy, Debug)]
pub(super) struct Band {
    /// The detection function is computed while the queue is within this fraction of the reference
    /// around it.
    pub(super) gamma: f64,
    /// Thresholds of the detection function, as fractions of the reference (h_s and h_l).
    pub(super) small: f64,
    pub(super) large: f64,
}

/// The variance of the queue around its reference, and the slower detection function.
#[derive(Clone, Copy, Debug)]
pub(super) struct Variance {
    /// sigma^2.
    pub(super) variance: f64,
    /// g^2.
    pub(super) detection: f64,
}

impl Variance {
    pub(super) fn new(reference: f64, band: &Band) -> Self {
        let mut new = Self {
            variance: 0.0,
            detection: 0.0,
        };
        new.restart(reference, band);
        new
    }

    /// Puts the detection function half-way between its thresholds.
    pub(super) fn restart(&mut self, reference: f64, band: &Band) {
        let square = |h: f64| (h * reference) * (h * reference);
        self.detection = 0.5 * (square(band.small) + square(band.large));
    }

    /// Takes a sample of the queue, with the weights of a sample in variance and detection
    /// function. When a significant change is detected: the factor k by which the reference is to
    /// change.
    pub(super) fn sample(
        &mut self,
        queue: f64,
        reference: f64,
        weights: (f64, f64),
        band: &Band,
    ) -> Option<f64> {
        if queue <= 0.0 || queue >= 2.0 * reference {
            return None;
        }
        let square = (queue - reference) * (queue - reference);
        self.variance += weights.0 * (square - self.variance);
        if queue <= (1.0 - band.gamma) * reference || queue >= (1.0 + band.gamma) * reference {
            return None;
        }
        self.detection += weights.1 * (square - self.detection);
        let (sigma, g) = (self.variance.sqrt(), self.detection.sqrt());
        let (small, large) = (band.small * reference, band.large * reference);
        if g > large && sigma > large {
            Some(sigma / large)
        } else if g < small && sigma < small {
            Some(sigma / small)
        } else {
            None
        }
    }
}
