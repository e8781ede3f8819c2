//! Gain, phase and delay margins of a feedback loop.

use std::f64::consts::PI;

use ackclock_delay::{Elementary, Linear, c64};

use crate::{
    equilibrium::Equilibrium,
    error::{Error, Result},
    model::{Heard, Model},
};

/// A loop transfer function L(s): the loop is closed by 1 + L(s) = 0.
pub trait Loop {
    /// L(s).
    fn at(&self, s: c64) -> c64;
}

impl<F: Fn(c64) -> c64> Loop for F {
    fn at(&self, s: c64) -> c64 {
        self(s)
    }
}

/// Margins of a loop. A margin that does not exist (no crossing in the range searched) is infinite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Margins {
    /// Factor by which the gain may grow: 1 / |L| at the first phase crossover.
    pub gain: f64,
    /// Frequency where the phase passes -180 degrees, rad/s; NaN without one.
    pub phase_crossover: f64,
    /// Phase above -180 degrees at the gain crossover, degrees.
    pub phase: f64,
    /// Frequency where |L| = 1, rad/s; NaN without one.
    pub gain_crossover: f64,
    /// Additional delay that the loop bears, s: phase margin over gain crossover frequency.
    pub delay: f64,
}

/// The margins of a loop between two frequencies (rad/s), by a scan of `samples` points on a
/// logarithmic scale and bisection. The phase is followed continuously from the lowest frequency.
#[must_use]
pub fn margins(open: &dyn Loop, low: f64, high: f64, samples: usize) -> Margins {
    let at = |w: f64| open.at(c64::new(0.0, w));
    let frequency = |k: usize| low * libm::pow(high / low, k as f64 / samples as f64);
    let mut margins = Margins {
        gain: f64::INFINITY,
        phase_crossover: f64::NAN,
        phase: f64::INFINITY,
        gain_crossover: f64::NAN,
        delay: f64::INFINITY,
    };
    let bisect = |mut a: f64, mut b: f64, positive: &dyn Fn(f64) -> bool| {
        let first = positive(a);
        for _ in 0..80 {
            let middle = (a * b).sqrt();
            if positive(middle) == first {
                a = middle;
            } else {
                b = middle;
            }
        }
        (a * b).sqrt()
    };
    let mut last = at(low);
    for k in 1..=samples {
        let (a, b) = (frequency(k - 1), frequency(k));
        let here = at(b);
        // the negative real axis is crossed
        if last.im * here.im < 0.0 && last.re + here.re < 0.0 {
            let w = bisect(a, b, &|w| at(w).im > 0.0);
            let gain = 1.0 / at(w).modulus();
            // only |L| < 1 leaves room upwards; a crossing beyond 1 bounds the gain from below
            if gain >= 1.0 && gain < margins.gain || margins.phase_crossover.is_nan() {
                margins.gain = gain;
                margins.phase_crossover = w;
            }
        }
        if (last.modulus() - 1.0) * (here.modulus() - 1.0) < 0.0 {
            let w = bisect(a, b, &|w| at(w).modulus() > 1.0);
            let mut phase = at(w).argument() + PI;
            if phase > PI {
                phase -= 2.0 * PI;
            }
            if phase.to_degrees().abs() < margins.phase.abs() {
                margins.phase = phase.to_degrees();
                margins.gain_crossover = w;
                margins.delay = phase / w;
            }
        }
        last = here;
    }
    margins
}

/// A loop of a model, cut where senders hear of losses and delays: L = det Delta_closed / det
/// Delta_open - 1.
struct ModelLoop {
    closed: Linear,
    open: Linear,
}

impl Loop for ModelLoop {
    fn at(&self, s: c64) -> c64 {
        self.closed.determinant(s) / self.open.determinant(s) - 1.0
    }
}

impl Model {
    /// The loop transfer function at an equilibrium, cut where the senders hear of losses, marks
    /// and queueing delays.
    ///
    /// # Errors
    /// [`Error::SeveralLoops`] with more than one queue: then there is no single loop, but one for
    /// each class ([`Model::feedback_loop_of`]).
    pub fn feedback_loop(&self, at: &Equilibrium) -> Result<impl Loop + use<>> {
        if self.link_count() != 1 {
            return Err(Error::SeveralLoops {
                links: self.link_count(),
            });
        }
        let every = (0..at.signals.len()).map(|c| Some(self.heard_at(at, c)));
        Ok(self.cut(at, every.collect()))
    }

    /// The loop of one class with those of the others closed, cut where its senders hear of losses,
    /// marks and queueing delays.
    ///
    /// # Errors
    /// [`Error::Parameter`] for no class of that name.
    pub fn feedback_loop_of(&self, at: &Equilibrium, class: &str) -> Result<impl Loop + use<>> {
        let mut heard = vec![None; at.signals.len()];
        let class = self.class(class)?;
        heard[class] = Some(self.heard_at(at, class));
        Ok(self.cut(at, heard))
    }

    /// Returns what the senders of a class hear at an equilibrium.
    fn heard_at(&self, at: &Equilibrium, class: usize) -> Heard {
        Heard {
            lost: at.signals[class],
            rtt: self.rtt(class, &at.x, &at.p),
        }
    }

    fn cut(&self, at: &Equilibrium, heard: Vec<Option<Heard>>) -> ModelLoop {
        let frozen = self.frozen(&at.regimes);
        ModelLoop {
            closed: self.linearised(at),
            open: Linear::of(&frozen.opened(heard), &at.x, &at.p),
        }
    }

    /// Gain, phase and delay margins of a model with one queue.
    ///
    /// # Errors
    /// As [`Model::feedback_loop`].
    pub fn margins(&self, at: &Equilibrium) -> Result<Margins> {
        Ok(self.scan(at, &self.feedback_loop(at)?))
    }

    /// The margins of one class's loop with those of the others closed (one loop at a time: not how
    /// far all may move together).
    ///
    /// # Errors
    /// As [`Model::feedback_loop_of`].
    pub fn margins_of(&self, at: &Equilibrium, class: &str) -> Result<Margins> {
        Ok(self.scan(at, &self.feedback_loop_of(at, class)?))
    }

    fn scan(&self, at: &Equilibrium, open: &dyn Loop) -> Margins {
        let bound = self.linearised(at).root_bound(0.0);
        margins(open, 1e-7 * bound, 10.0 * bound, 4000)
    }
}
