//! Where a state leaves what the equations hold for.

use std::fmt;

use ackclock_delay::Cycle;

use crate::{equilibrium::Equilibrium, model::Model};

/// A limit of the smooth model that a state has passed.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Outside {
    /// An AQM is in another regime of its law than the one that was frozen.
    Regime {
        /// Name of the link.
        link: String,
        /// The regime that the state is in.
        regime: &'static str,
    },
    /// The law gives a probability below zero or above one.
    Probability {
        /// Name of the link.
        link: String,
    },
    /// A queue is below empty or above full.
    Queue {
        /// Name of the link.
        link: String,
        /// The bound passed, packets.
        bound: f64,
    },
    /// A sender keeps at least one packet in flight, and the equations have less.
    Window {
        /// Name of the class.
        class: String,
    },
    /// The window is so small that the sender really follows another law (Compound's Reno branch,
    /// HighSpeed's and AFRICA's below 38 packets).
    SmallWindow {
        /// Name of the class.
        class: String,
        /// Where the law of the equations begins, packets.
        below: f64,
    },
}

impl Outside {
    /// Whether it is passed by choice: one law for all windows.
    #[must_use]
    pub fn by_choice(&self) -> bool {
        matches!(self, Self::SmallWindow { .. })
    }
}

impl fmt::Display for Outside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Regime { link, regime } => write!(f, "the AQM of {link} reaches \"{regime}\""),
            Self::Probability { link } => {
                write!(f, "the probability of {link} is not between 0 and 1")
            }
            Self::Queue { link, bound } => {
                write!(
                    f,
                    "the queue of {link} passes its bound of {} packets",
                    (bound * 1e2).round() / 1e2
                )
            }
            Self::Window { class } => write!(f, "the window of {class} falls below one packet"),
            Self::SmallWindow { class, below } => write!(
                f,
                "the window of {class} is below {} packets, where its sender follows another law than that of the equations",
                (below * 1e4).round() / 1e4
            ),
        }
    }
}

impl Model {
    /// Returns the limits that a state has passed of the smooth model frozen in `regimes`. Empty if
    /// the clamped model would have the same derivative there.
    #[must_use]
    pub fn outside(&self, regimes: &[usize], x: &[f64], p: &[f64]) -> Vec<Outside> {
        self.outside_of(&self.frozen(regimes), regimes, x, p)
    }

    /// The same with the model frozen in these regimes.
    fn outside_of(&self, frozen: &Self, regimes: &[usize], x: &[f64], p: &[f64]) -> Vec<Outside> {
        let mut outside = Vec::new();
        let here = self.regimes_at(x, p);
        let names = self.regime_names(&here);
        let (probability, _) = frozen.probabilities(x, p);
        for (l, name) in names.iter().enumerate() {
            let link = || self.link_name(l).to_owned();
            if here[l] != regimes[l] {
                outside.push(Outside::Regime {
                    link: link(),
                    regime: name,
                });
            } else if !(0.0..=1.0).contains(&probability[l]) {
                outside.push(Outside::Probability { link: link() });
            }
            if let Some((queue, limit)) = self.queue_of(l) {
                let bound = x[queue].clamp(0.0, limit);
                if bound != x[queue] {
                    outside.push(Outside::Queue {
                        link: link(),
                        bound,
                    });
                }
            }
        }
        for (class, window, below) in self.windows(x, p) {
            if window < 1.0 {
                outside.push(Outside::Window {
                    class: class.to_owned(),
                });
            }
            if !self.choices().small_windows && window < below {
                outside.push(Outside::SmallWindow {
                    class: class.to_owned(),
                    below,
                });
            }
        }
        outside
    }

    /// Where a cycle of the smooth model leaves what the smooth model holds for. Empty if the
    /// clamped model has the same cycle.
    #[must_use]
    pub fn leaves_validity(&self, at: &Equilibrium, cycle: &Cycle) -> Vec<Outside> {
        let mut left: Vec<Outside> = Vec::new();
        let frozen = self.frozen(&at.regimes);
        for k in 0..400 {
            let x = cycle.state(cycle.period * f64::from(k) / 400.0);
            for passed in self.outside_of(&frozen, &at.regimes, &x, &cycle.p) {
                if !left.contains(&passed) {
                    left.push(passed);
                }
            }
        }
        left
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_has_no_more_digits_than_tell() {
        let passed = |bound| {
            let link = "l".to_owned();
            Outside::Queue { link, bound }.to_string()
        };
        let said = "the queue of l passes its bound of 83.33 packets"; // 83.33333333333333
        assert_eq!(passed(250.0 / 3.0), said);
        assert!(passed(0.0).ends_with("of 0 packets"));
    }
}
