//! Stability of RED's equilibrium with many Reno flows: the printed bounds, and the true threshold.
//!
//! Source: Reynier, "A simple stability condition for RED using TCP mean-field modeling" (INRIA,
//! 2006), sections 3.4 and 4. The paper closes the linearised equations with `dp(W_max) = p(W_max)
//! dF`; its static gain has the wrong sign when more than half of the flows are at the largest
//! window. The threshold here solves the linearised transport equation itself ([`WindowResponse`]).

mod response;

use std::f64::consts::PI;

use num_complex::Complex64;

use crate::error::{Error, check};
use crate::stationary::{RenoStationary, SQUARE_ROOT_LAW};
pub use response::WindowResponse;

/// Many long-lived Reno flows of one round trip through one queue with RED on its instantaneous
/// length. Queues are measured as delays.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RedLink {
    /// Packets that the link can send in a second.
    pub rate: f64,
    /// Number of flows.
    pub flows: f64,
    /// Round-trip time T without queueing, s.
    pub rtt: f64,
    /// Largest window, packets.
    pub w_max: f64,
    /// Queueing delay at which dropping begins, s.
    pub min_threshold: f64,
    /// Queueing delay at which the probability is `max_probability`, s; the queue cannot exceed it.
    pub max_threshold: f64,
    /// Drop probability there.
    pub max_probability: f64,
}

/// A steady state of a [`RedLink`] with losses and a queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RedEquilibrium {
    /// Queueing delay Q, s.
    pub delay: f64,
    /// Loss probability K.
    pub loss: f64,
    /// Round-trip time R = T + Q, s.
    pub rtt: f64,
    /// Mean window F, packets.
    pub window: f64,
    /// Fraction M of flows at the largest window.
    pub atom: f64,
    /// Capacity C of the link per flow, packets/s.
    pub share: f64,
}

/// Where the loop is just unstable.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Crossing {
    /// Slope dK/dQ of the drop probability, 1/s of queueing delay.
    pub slope: f64,
    /// Angular frequency of the oscillation, 1/s.
    pub frequency: f64,
}

impl RedLink {
    fn check(&self) -> Result<(), Error> {
        check(
            self.rate > 0.0,
            "the link's rate",
            self.rate,
            "above 0 packets/s",
        )?;
        check(
            self.flows > 0.0,
            "the number of flows",
            self.flows,
            "above 0",
        )?;
        check(self.rtt > 0.0, "the round-trip time", self.rtt, "above 0 s")?;
        check(
            self.w_max > 0.0,
            "the largest window",
            self.w_max,
            "above 0 packets",
        )?;
        check(
            self.min_threshold >= 0.0,
            "the minimum threshold",
            self.min_threshold,
            "0 s or more",
        )?;
        let max = self.max_threshold;
        check(
            max > self.min_threshold,
            "the maximum threshold",
            max,
            "above the minimum threshold",
        )?;
        let p = self.max_probability;
        check(
            p > 0.0 && p < 1.0,
            "the maximum probability",
            p,
            "above 0 and below 1",
        )
    }

    /// Slope epsilon of the drop probability, 1/s of queueing delay.
    #[must_use]
    pub fn slope(&self) -> f64 {
        self.max_probability / (self.max_threshold - self.min_threshold)
    }

    /// The number of flows that hold the queue at `delay` seconds, whatever [`RedLink::flows`]
    /// says: equations (13) to (15).
    ///
    /// # Errors
    /// If a number is out of range, or `delay` is outside the thresholds.
    pub fn flows_at(&self, delay: f64) -> Result<f64, Error> {
        self.check()?;
        let inside = (self.min_threshold..=self.max_threshold).contains(&delay);
        check(
            inside,
            "the queueing delay",
            delay,
            "between the thresholds",
        )?;
        let loss = self.slope() * (delay - self.min_threshold);
        let window = RenoStationary::new(loss, self.w_max)?.mean();
        Ok(self.rate * (self.rtt + delay) / (window * (1.0 - loss)))
    }

    /// The steady state with losses.
    ///
    /// # Errors
    /// If a number is out of range, the flows are too few to reach the minimum threshold, or so
    /// many that the queue is full.
    pub fn equilibrium(&self) -> Result<RedEquilibrium, Error> {
        self.check()?;
        let few = self.flows_at(self.min_threshold)?;
        let many = self.flows_at(self.max_threshold)?;
        if self.flows <= few || self.flows > many {
            return Err(Error::NoEquilibrium(format!(
                "{} flows; RED holds a steady queue with more than {few:.5} and at most {many:.5}",
                self.flows
            )));
        }
        // more flows, longer queue
        let (mut low, mut high) = (self.min_threshold, self.max_threshold);
        for _ in 0..200 {
            let middle = 0.5 * (low + high);
            if middle <= low || middle >= high {
                break;
            }
            if self.flows_at(middle)? < self.flows {
                low = middle;
            } else {
                high = middle;
            }
        }
        let delay = 0.5 * (low + high);
        let loss = self.slope() * (delay - self.min_threshold);
        let law = RenoStationary::new(loss, self.w_max)?;
        Ok(RedEquilibrium {
            delay,
            loss,
            rtt: self.rtt + delay,
            window: law.mean(),
            atom: law.atom(),
            share: self.rate / self.flows,
        })
    }

    /// Theorem 4: RED is stable for every number of flows if the maximum probability is below this.
    ///
    /// `constant` is the numerator: `alpha^2` of the square-root law as printed ([`SQUARE_ROOT_LAW`] squared), or the sharp `2 (1 - K)` that
    /// `F_2 <= w_max F` allows.
    #[must_use]
    pub fn theorem_4(&self, constant: f64) -> f64 {
        (self.max_threshold - self.min_threshold) / (self.rtt + self.max_threshold) * constant
            / self.w_max
    }

    /// The constant of theorem 4 as printed.
    pub const PRINTED_CONSTANT: f64 = SQUARE_ROOT_LAW * SQUARE_ROOT_LAW;

    /// The slope and frequency at which the equilibrium loses its stability when RED's slope is
    /// raised about it (its place held fixed), with an average of the queue that follows it at
    /// `averaging` per second (`None`: instantaneous).
    ///
    /// # Errors
    /// As [`RedLink::equilibrium`]; or if no slope destabilises.
    pub fn threshold(&self, averaging: Option<f64>) -> Result<Crossing, Error> {
        self.equilibrium()?.threshold(self.w_max, averaging)
    }

    /// The maximum probability at which the equilibrium (which moves with it) loses its stability.
    ///
    /// # Errors
    /// As [`RedLink::equilibrium`]; or if RED is stable at every maximum probability below one that
    /// keeps an equilibrium.
    pub fn critical_max_probability(&self, averaging: Option<f64>) -> Result<f64, Error> {
        self.check()?;
        let excess = |p: f64| {
            let link = Self {
                max_probability: p,
                ..*self
            };
            link.threshold(averaging)
                .map(|crossing| link.slope() / crossing.slope - 1.0)
        };
        // a larger probability holds more flows: start where there is an equilibrium at all
        let mut high = 1e-6;
        while excess(high).is_err() || excess(high)? < 0.0 {
            high *= 1.5;
            if high >= 1.0 {
                return Err(Error::NoEquilibrium(
                    "RED is stable at every maximum probability".to_owned(),
                ));
            }
        }
        let mut low = high / 1.5;
        for _ in 0..30 {
            let middle = 0.5 * (low + high);
            if excess(middle).is_ok_and(|excess| excess > 0.0) {
                high = middle;
            } else {
                low = middle;
            }
        }
        Ok(0.5 * (low + high))
    }
}

impl RedEquilibrium {
    /// Theorem 3, equation (31): the equilibrium is stable if RED's slope, in 1/s of queueing
    /// delay, is below this. The printed proof has gaps; the condition was sufficient wherever it
    /// was compared with [`RedLink::threshold`].
    #[must_use]
    pub fn theorem_3(&self) -> f64 {
        self.loss * self.share / (1.0 - self.atom)
    }

    /// The weaker condition in the proof of theorem 3: stable if U, at this slope, is below one.
    #[must_use]
    pub fn u(&self, slope: f64) -> f64 {
        (1.0 - self.loss) * slope * (1.0 - self.atom)
            / (self.loss * (self.share + slope * self.window))
    }

    /// Corollary 1: the bound of theorem 3 for an unlimited window, 1/s; infinite where its
    /// denominator is negative (losses above 29.2 %).
    #[must_use]
    pub fn corollary_1(&self) -> f64 {
        let room = 1.0 - SQUARE_ROOT_LAW * self.loss.sqrt() - self.loss;
        if room > 0.0 {
            self.loss * self.share / room
        } else {
            f64::INFINITY
        }
    }

    /// Response of the queueing delay (s) to the drop probability at complex frequency `s` (1/s):
    /// `(1 - K) H(s) exp(-s R) / C - (1 - exp(-s R)) / (s (1 - K))`, from equations (7) and (8) with H the [`WindowResponse`].
    ///
    /// Where the link is saturated the advance A of the windows varies, but it multiplies what is
    /// zero in equilibrium: only the losses act.
    #[must_use]
    pub fn queue_response(&self, windows: &WindowResponse, s: Complex64) -> Complex64 {
        let round = s * self.rtt;
        let late = complex_exp(-round);
        let pass = 1.0 - self.loss;
        let held = if libm::hypot(round.re, round.im) < 1e-6 {
            Complex64::from(self.rtt)
        } else {
            (Complex64::from(1.0) - late) / s
        };
        windows.at(round) * late * (pass / self.share) - held / pass
    }

    /// See [`RedLink::threshold`].
    ///
    /// # Errors
    /// If no slope destabilises, or a number is out of range.
    pub fn threshold(&self, w_max: f64, averaging: Option<f64>) -> Result<Crossing, Error> {
        let windows = WindowResponse::new(self.loss, w_max)?;
        let gain = |frequency: f64| {
            let s = Complex64::new(0.0, frequency);
            let filter = averaging.map_or(Complex64::from(1.0), |rate| rate / (s + rate));
            self.queue_response(&windows, s) * filter
        };
        // the loop closes with gain one where the response is real and positive
        let mut lowest: Option<Crossing> = None;
        let step = 1.12;
        // the response falls with the frequency: higher crossings than the first two need larger
        // slopes
        let mut low = if averaging.is_some() { 0.01 } else { 0.2 } / self.rtt;
        let mut at_low = gain(low);
        while low < 3.0 * PI / self.rtt {
            let high = low * step;
            let at_high = gain(high);
            if at_low.im * at_high.im < 0.0 && at_low.re.max(at_high.re) > 0.0 {
                let frequency = root(
                    |frequency| gain(frequency).im,
                    (low, at_low.im),
                    (high, at_high.im),
                );
                let response = gain(frequency).re;
                if response > 0.0 && lowest.is_none_or(|crossing| 1.0 / response < crossing.slope) {
                    lowest = Some(Crossing {
                        slope: 1.0 / response,
                        frequency,
                    });
                }
            }
            (low, at_low) = (high, at_high);
        }
        lowest.ok_or_else(|| {
            Error::NoEquilibrium("no slope of RED destabilises this equilibrium".to_owned())
        })
    }
}

/// Zero of a function between two points of different sign: false position with the Illinois rule.
fn root(function: impl Fn(f64) -> f64, mut a: (f64, f64), mut b: (f64, f64)) -> f64 {
    for _ in 0..60 {
        let x = (a.0 * b.1 - b.0 * a.1) / (b.1 - a.1);
        let value = function(x);
        if value == 0.0 || (x - b.0).abs() < 1e-12 * x.abs() {
            return x;
        }
        if value * b.1 < 0.0 {
            a = b;
        } else {
            a.1 *= 0.5;
        }
        b = (x, value);
    }
    b.0
}

/// `exp(z)` by `libm`, the same on every machine.
fn complex_exp(z: Complex64) -> Complex64 {
    let (sin, cos) = libm::sincos(z.im);
    Complex64::new(cos, sin) * libm::exp(z.re)
}
