//! Large-signal response: the clamped equations from far away.

use ackclock_delay::{Elementary, Tolerance, Trajectory, c64, count_right_of, rightmost_roots};

use crate::{equilibrium::Equilibrium, error::Result, model::Model};

/// A queue has settled when it stays this near its equilibrium, relative to it.
const SETTLED_DEVIATION: f64 = 0.02;
/// So many rises through the mean make a period.
const RISES_OF_PERIOD: usize = 3;
/// A run that did not show them, or still is on its way, is made so many times longer, so often.
const EXTENSION_FACTOR: f64 = 3.0;
const MAX_EXTENSIONS: usize = 2;
/// A swing has arrived when its ends move by less than this part of it from one eighth of a run to
/// the next.
const STEADY_SWING: f64 = 0.1;
/// An oscillation lasts if it keeps so much of its size over a quarter of a run, and a small one
/// would keep less.
const LASTING_SHARE: f64 = 0.97;
/// Relative error of a run.
const RELATIVE_ERROR: f64 = 1e-6;
/// Samples of each of the last two quarters of a run.
const QUARTER_SAMPLES: usize = 12_000;
/// Every so many of them the windows are looked at.
const WINDOWS_EVERY: usize = 20;

/// Response to a large disturbance.
#[derive(Clone, Debug)]
pub struct LargeSignal {
    /// Whether the queue comes to rest at its stable equilibrium; `None` where the run does not
    /// tell.
    pub settles: Option<bool>,
    /// Smallest queue in the last quarter of the run, packets; of equations without a queue their
    /// first window, as below.
    pub low: f64,
    /// Largest queue there, packets.
    pub high: f64,
    /// Mean queue there, packets.
    pub mean: f64,
    /// Period of the oscillation there, s; NaN where there is none.
    pub period: f64,
    /// Smallest window of the first class there, packets.
    pub window_low: f64,
    /// Largest window of the first class there, packets.
    pub window_high: f64,
    /// Whether the ends of the swing no longer move.
    pub steady: bool,
    /// The whole run, from time 0.
    pub run: Trajectory,
}

/// [`Model::time_scale`] for the rightmost root (1/s) and the longest round trip (s).
fn time_scale(root: c64, rtt: f64) -> f64 {
    let rate = root.re.abs().max(0.003 * root.modulus()).max(1e-9);
    let periods = 30.0 * std::f64::consts::TAU / root.im.abs().max(rate);
    (12.0 / rate + periods).min(10_000.0 * rtt + 100.0 / rate)
}

impl Model {
    /// The state whose amplitude answers report: the first queue, else the first state.
    #[must_use]
    pub fn observed_state(&self) -> usize {
        (0..self.link_count())
            .find_map(|link| self.queue_of(link))
            .map_or(0, |(queue, _)| queue)
    }

    /// A time over which small disturbances of an equilibrium die out, or grow large and show their
    /// oscillation, s.
    ///
    /// # Errors
    /// [`crate::Error::Analysis`]: no certified root.
    pub fn time_scale(&self, at: &Equilibrium) -> Result<f64> {
        let root = rightmost_roots(&self.linearised(at), 1)?.roots[0];
        Ok(time_scale(root, self.longest_rtt(at)))
    }

    fn longest_rtt(&self, at: &Equilibrium) -> f64 {
        let frozen = self.frozen(&at.regimes);
        let [_, rtts, _, _] = frozen.rates(&at.x, &self.lengthened(&at.p));
        rtts.into_iter().fold(f64::NAN, f64::max)
    }

    /// Runs the clamped equations from far away (windows of one packet over empty queues, unless
    /// `start` is given), in at most `steps` steps a run.
    ///
    /// The queue settles where no root is unstable and the last quarter of the run stays at the
    /// equilibrium `at`; it oscillates where its swing of the last quarter is that of the quarter
    /// before, though small swings would have died out, or where the equilibrium is unstable and the
    /// state moves.
    ///
    /// # Errors
    /// [`crate::Error::Analysis`]: no certified root, or a run that does not end.
    pub fn large_signal(
        &self,
        at: &Equilibrium,
        start: Option<&[f64]>,
        steps: usize,
    ) -> Result<LargeSignal> {
        let linear = self.linearised(at);
        let root = rightmost_roots(&linear, 1)?.roots[0];
        let unstable = match count_right_of(&linear, 0.0) {
            Ok(count) => Some(count),
            Err(ackclock_delay::Error::RootOnLine { .. }) => None,
            Err(error) => return Err(error.into()),
        };
        self.run_from_far(at, (root, unstable), start, steps)
    }

    /// [`Model::large_signal`] for an equilibrium with a known rightmost root and number of unstable
    /// ones.
    pub(crate) fn run_from_far(
        &self,
        at: &Equilibrium,
        roots: (c64, Option<usize>),
        start: Option<&[f64]>,
        steps: usize,
    ) -> Result<LargeSignal> {
        let mut end = time_scale(roots.0, self.longest_rtt(at));
        let empty = self.empty(1.0);
        let start = start.unwrap_or(&empty);
        let mut response = self.judged(at, roots, start, end, steps)?;
        for _ in 0..MAX_EXTENSIONS {
            // an oscillation of a period longer than the linear one was not seen three times
            if response.settles != Some(false) || (response.period.is_finite() && response.steady) {
                break;
            }
            end *= EXTENSION_FACTOR;
            response = self.judged(at, roots, start, end, steps)?;
        }
        Ok(response)
    }

    fn judged(
        &self,
        at: &Equilibrium,
        (root, unstable): (c64, Option<usize>),
        start: &[f64],
        end: f64,
        steps: usize,
    ) -> Result<LargeSignal> {
        let tolerance = Tolerance {
            relative: RELATIVE_ERROR,
            absolute: 1e-3 * RELATIVE_ERROR,
            steps,
            ..Tolerance::default()
        };
        let run = self.trajectory(None, start, end, &tolerance)?;
        let (states, step) = last_half(&run, end);
        let (earlier, tail) = states.split_at(QUARTER_SAMPLES);
        let observed = self.observed_state();
        let of = |states: &[Vec<f64>], index: usize| -> Vec<f64> {
            states.iter().map(|x| x[index]).collect()
        };
        let last = of(tail, observed);
        let rest = at.x[observed];
        let from_rest =
            |values: &[f64]| values.iter().fold(0.0_f64, |m, v| m.max((v - rest).abs()));
        let ((low, high), mean) = (extent(&last), average(&last));
        let (first, second) = last.split_at(QUARTER_SAMPLES / 2);
        let (first, second) = (extent(first), extent(second));
        let moved = (first.0 - second.0).abs().max((first.1 - second.1).abs());
        let away = from_rest(&last);
        let kept = away / from_rest(&of(earlier, observed)).max(1e-300);
        let moves = (0..at.x.len()).any(|index| {
            let (low, high) = extent(&of(tail, index));
            high - low > SETTLED_DEVIATION * low.abs().max(high.abs()).max(1e-9)
        });
        let dies_out = libm::exp(0.25 * root.re * end) < 2.0 * LASTING_SHARE - 1.0;
        let settles = if unstable == Some(0) && away <= SETTLED_DEVIATION * rest.abs().max(1.0) {
            Some(true)
        } else if moves && (root.re > 0.0 || (kept > LASTING_SHARE && dies_out)) {
            Some(false)
        } else {
            None
        };
        // the queue may rest while windows move
        let resting = high - low <= SETTLED_DEVIATION * high.max(0.01);
        let oscillating = if resting { of(tail, 0) } else { last };
        let period = if settles == Some(false) {
            step * samples_a_period(&oscillating)
        } else {
            f64::NAN
        };
        let p = self.parameters();
        let windows: Vec<f64> = tail
            .iter()
            .step_by(WINDOWS_EVERY)
            .map(|x| self.rates(x, &p)[0][0])
            .collect();
        let (window_low, window_high) = extent(&windows);
        Ok(LargeSignal {
            settles,
            low,
            high,
            mean,
            period,
            window_low,
            window_high,
            steady: moved <= (STEADY_SWING * (high - low)).max(SETTLED_DEVIATION * high.max(0.01)),
            run,
        })
    }
}

/// The states of the last two quarters of a run, and the time between two of them.
fn last_half(run: &Trajectory, end: f64) -> (Vec<Vec<f64>>, f64) {
    let step = 0.5 * end / (2 * QUARTER_SAMPLES) as f64;
    let time = |k: usize| {
        if k == 2 * QUARTER_SAMPLES {
            end
        } else {
            0.5 * end + k as f64 * step
        }
    };
    let states = (1..=2 * QUARTER_SAMPLES).map(|k| run.state(time(k)));
    (states.collect(), step)
}

/// Samples from one rise through the mean to the next, on average; NaN where there are too few.
fn samples_a_period(values: &[f64]) -> f64 {
    match rises(values).as_slice() {
        rises @ [first, .., last] if rises.len() >= RISES_OF_PERIOD => {
            (last - first) as f64 / (rises.len() - 1) as f64
        }
        _ => f64::NAN,
    }
}

/// Smallest and largest value.
fn extent(values: &[f64]) -> (f64, f64) {
    values
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| {
            (low.min(*v), high.max(*v))
        })
}

fn average(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// After which values a series rises through its mean.
fn rises(values: &[f64]) -> Vec<usize> {
    let mean = average(values);
    let pairs = values.windows(2).enumerate();
    pairs
        .filter(|(_, pair)| pair[0] < mean && pair[1] >= mean)
        .map(|(k, _)| k)
        .collect()
}
