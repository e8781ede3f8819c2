//! Independent users, simulated one by one: the reference implementation of the stationary law.

use ackclock_algorithms::Stream;

use ackclock_meanfield::{Hazard, WindowLaw};

/// A time average and its standard error over independent users.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Estimate {
    /// Mean over the users.
    pub(crate) value: f64,
    /// Standard error of that mean.
    pub(crate) standard_error: f64,
}

/// Time averages of simulated users.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Users {
    /// Fraction of time at the largest window.
    pub(crate) atom: Estimate,
    /// Window, packets.
    pub(crate) mean: Estimate,
    /// Square of the window, packets^2.
    pub(crate) second_moment: Estimate,
}

/// Simulates `users` independent windows for `rounds` round trips each (after a tenth of that to
/// forget the start), each packet lost with probability `loss`.
///
/// `w_max` must be finite and above the law's floor, `rounds` positive and `users` at least 2.
pub(crate) fn simulate_users(
    law: &dyn WindowLaw,
    loss: f64,
    w_max: f64,
    hazard: Hazard,
    users: u32,
    rounds: f64,
    stream: &mut Stream,
) -> Users {
    let mut sums = [[0.0; 2]; 3];
    for _ in 0..users {
        let mut user = User {
            law,
            loss,
            w_max,
            hazard,
            window: (0.5 * w_max).max(law.floor()),
            area: [0.0; 3],
        };
        user.run(0.1 * rounds, stream);
        user.area = [0.0; 3];
        user.run(rounds, stream);
        for (sum, area) in sums.iter_mut().zip(user.area) {
            let average = area / rounds;
            sum[0] += average;
            sum[1] += average * average;
        }
    }
    let n = f64::from(users);
    let estimate = |[sum, square]: [f64; 2]| {
        let value = sum / n;
        let variance = (square / n - value * value).max(0.0) * n / (n - 1.0);
        Estimate {
            value,
            standard_error: (variance / n).sqrt(),
        }
    };
    Users {
        atom: estimate(sums[0]),
        mean: estimate(sums[1]),
        second_moment: estimate(sums[2]),
    }
}

struct User<'a> {
    law: &'a dyn WindowLaw,
    loss: f64,
    w_max: f64,
    hazard: Hazard,
    window: f64,
    /// Integrals over time of: being at the largest window, the window, its square.
    area: [f64; 3],
}

impl User<'_> {
    fn run(&mut self, rounds: f64, stream: &mut Stream) {
        // candidates for decreases come at the largest rate and are accepted in proportion to the
        // rate at the window then (thinning)
        let largest = self.hazard.rate(self.loss, self.w_max);
        let mut left = rounds;
        while left > 0.0 {
            let wait = stream.exponential(1.0 / largest);
            self.grow(wait.min(left));
            left -= wait;
            if left > 0.0 && stream.uniform() * largest < self.hazard.rate(self.loss, self.window) {
                self.window = (self.window - self.law.decrease(self.window)).max(self.law.floor());
            }
        }
    }

    /// Growth without losses, with Simpson's rule for the integrals.
    fn grow(&mut self, rounds: f64) {
        let speed = |w: f64| w * self.law.increase(w);
        let mut left = rounds;
        while left > 0.0 && self.window < self.w_max {
            // steps of at most an eighth of the window, as the speed may vary with it; Heun's
            // method at both ends
            let here = speed(self.window.max(1e-9));
            let mut step = (0.125 * (self.window + 1.0) / here).min(left);
            let advance = |step: f64| {
                let guess = speed(self.window + here * step);
                let middle = speed(self.window + 0.25 * step * (here + guess));
                self.window + step / 6.0 * (here + 4.0 * middle + guess)
            };
            let mut end = advance(step);
            if end >= self.w_max {
                step *= (self.w_max - self.window) / (end - self.window);
                end = self.w_max;
            }
            let middle = 0.5 * (self.window + end);
            let ends = self.window * self.window + end * end;
            self.area[1] += step * middle;
            self.area[2] += step / 6.0 * (ends + 4.0 * middle * middle);
            self.window = end;
            left -= step;
        }
        if left > 0.0 {
            self.area[0] += left;
            self.area[1] += left * self.w_max;
            self.area[2] += left * self.w_max * self.w_max;
        }
    }
}
