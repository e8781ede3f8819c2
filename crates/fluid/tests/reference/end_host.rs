//! Marking at the end host: senders that back off at random with a probability that follows their
//! queueing delay (Cx-TCP, PERT).
//!
//! Budzisz et al., "Cx-TCP", equations (1) to (6): w' = (1 - p(delta) w^2 / 2) / (RTT + delta),
//! delta' = sum w / (RTT + delta) / C - 1.

use ackclock_delay::{Args, Bound, Result, Scalar, System, equilibria};

/// How the probability falls above the threshold delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) enum Falling {
    /// With the fourth power of the distance from the largest delay: the algorithm.
    #[default]
    FourthPower,
    /// Linearly: the paper's proofs.
    Linear,
}

/// The backoff probability against the queueing delay: rising from `smallest` to `threshold`,
/// falling to zero at `largest`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Response {
    /// Delay below which no backoff happens, s.
    pub(crate) smallest: f64,
    /// Delay of the largest probability, s.
    pub(crate) threshold: f64,
    /// Delay from which no backoff happens, s.
    pub(crate) largest: f64,
    /// The largest probability.
    pub(crate) peak: f64,
    /// The shape above the threshold.
    pub(crate) falling: Falling,
}

impl Response {
    /// The regime that a delay is in: 0 below `smallest`, 1 rising, 2 falling, 3 above `largest`.
    pub(crate) fn regime(&self, delay: f64) -> usize {
        [self.smallest, self.threshold, self.largest]
            .iter()
            .filter(|end| delay > **end)
            .count()
    }

    /// The probability by the formula of `regime`.
    pub(crate) fn probability<S: Scalar>(&self, delay: S, regime: usize) -> S {
        match regime {
            1 => (delay - self.smallest) * (self.peak / (self.threshold - self.smallest)),
            2 => {
                let rest = (-delay + self.largest) / (self.largest - self.threshold);
                match self.falling {
                    Falling::FourthPower => rest * rest * rest * rest * self.peak,
                    Falling::Linear => rest * self.peak,
                }
            }
            _ => S::from(0.0),
        }
    }
}

/// Flows that share a round-trip time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Flows {
    /// How many.
    pub(crate) count: f64,
    /// Round-trip time without queueing, s.
    pub(crate) rtt: f64,
}

/// Classes of end-host-marking flows at one bottleneck; a [`System`] with the windows (packets) and
/// the queueing delay (s) as states. Its parameters are the capacity (packets/s), the feedback
/// delay (s; zero in the paper), then count and round-trip time of each class.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct EndHost {
    /// Capacity, packets/s.
    pub(crate) rate: f64,
    /// The classes.
    pub(crate) flows: Vec<Flows>,
    /// The probability.
    pub(crate) response: Response,
    /// The regime of the probability that holds everywhere; `None`: the one the delay is in.
    pub(crate) regime: Option<usize>,
}

impl EndHost {
    /// The parameters of the system.
    pub(crate) fn parameters(&self) -> Vec<f64> {
        let classes = self.flows.iter().flat_map(|f| [f.count, f.rtt]);
        [self.rate, 0.0].into_iter().chain(classes).collect()
    }

    /// The system frozen in one regime of the probability.
    pub(crate) fn frozen(&self, regime: usize) -> Self {
        Self {
            regime: Some(regime),
            ..self.clone()
        }
    }

    /// The equilibria, by increasing queueing delay: one on the rising side (stable, if the flows
    /// are few enough) and one on the falling side, each with its regime.
    ///
    /// # Errors
    /// From the search, when neither side has one.
    pub(crate) fn equilibria(&self) -> Result<Vec<(usize, Vec<f64>)>> {
        let mut by_regime = Vec::new();
        let mut failure = None;
        for (regime, low, high) in [
            (1, self.response.smallest, self.response.threshold),
            (2, self.response.threshold, self.response.largest),
        ] {
            let n = self.flows.len();
            let width = high - low;
            let (mut lower, mut upper) = (vec![0.1; n], vec![1e5; n]);
            lower.push(low + 1e-9 * width);
            upper.push(high - 1e-9 * width);
            match equilibria(&self.frozen(regime), &lower, &upper, &self.parameters()) {
                Ok(states) => by_regime.extend(states.into_iter().map(|x| (regime, x))),
                Err(e) => failure = Some(e),
            }
        }
        match (by_regime.is_empty(), failure) {
            (true, Some(e)) => Err(e),
            _ => Ok(by_regime),
        }
    }

    /// The largest number of flows of round-trip time `rtt` whose equilibrium lies below the
    /// threshold delay: C (RTT + threshold) sqrt(peak / 2), from equation (5) at the threshold.
    pub(crate) fn largest_count(rate: f64, rtt: f64, response: &Response) -> f64 {
        rate * (rtt + response.threshold) * (0.5 * response.peak).sqrt()
    }
}

impl System for EndHost {
    fn dimension(&self) -> usize {
        self.flows.len() + 1
    }

    fn delays(&self) -> usize {
        1
    }

    fn rhs<S: Scalar>(&self, at: Args<'_, S>, out: &mut [S]) {
        let n = self.flows.len();
        let delay = at.x[n];
        let heard = at.past[n];
        let regime = self
            .regime
            .unwrap_or_else(|| self.response.regime(heard.real()));
        let p = self.response.probability(heard, regime);
        let mut arrivals = S::from(0.0);
        for (c, rate) in out[..n].iter_mut().enumerate() {
            let (count, rtt) = (at.p[2 + 2 * c], at.p[3 + 2 * c] + delay);
            let w = at.x[c];
            *rate = (-(p * w * w * 0.5) + 1.0) / rtt;
            arrivals += count * w / rtt;
        }
        out[n] = arrivals / at.p[0] - 1.0;
    }

    fn delay<S: Scalar>(&self, _: usize, at: Args<'_, S>) -> S {
        at.p[1]
    }

    fn switches(&self) -> usize {
        if self.regime.is_some() { 0 } else { 3 }
    }

    fn switch(&self, at: Args<'_, f64>, out: &mut [f64]) {
        let heard = at.past[self.flows.len()];
        for (o, end) in out.iter_mut().zip([
            self.response.smallest,
            self.response.threshold,
            self.response.largest,
        ]) {
            *o = heard - end;
        }
    }

    fn bounds(&self, _: &[f64]) -> Vec<Bound> {
        if self.regime.is_some() {
            return Vec::new();
        }
        vec![Bound {
            state: self.flows.len(),
            lower: 0.0,
            upper: f64::INFINITY,
        }]
    }
}
