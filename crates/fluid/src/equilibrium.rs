//! Where a model stands still, and its characteristic roots there.

use ackclock_delay::{
    Linear, Spectrum, Tolerance, Trajectory, count_right_of, equilibrium, integrate,
    rightmost_roots,
};

use crate::{
    error::{Error, Result},
    model::Model,
};

/// Where windows, queues and probabilities stand still.
#[derive(Clone, Debug, PartialEq)]
pub struct Equilibrium {
    /// The state, in the order of [`Model::state_names`].
    pub x: Vec<f64>,
    /// The parameters, in the order of [`Model::parameter_names`].
    pub p: Vec<f64>,
    /// Loss or marking probability of each link.
    pub probability: Vec<f64>,
    /// Loss or marking probability on each class's path.
    pub signals: Vec<f64>,
    /// The regime of each AQM's law that holds there.
    pub regimes: Vec<usize>,
    /// Their names.
    pub regime_names: Vec<&'static str>,
}

/// The windows that a search for equilibria starts from.
#[derive(Clone, Copy)]
enum Start {
    /// Every link shared evenly.
    Even,
    /// Each class at the window at which its own law balances, at a common loss.
    Balanced,
}

impl Model {
    /// All equilibria that a search over queues from empty to full finds, each in the regime of the
    /// AQMs' laws that holds there.
    ///
    /// Newton's method runs with the regimes following the state, and (up to 256 combinations of
    /// regimes) with each combination frozen; then the same with the senders frozen above and below
    /// the windows at which their laws change, as these may jump there. Where all that finds none,
    /// it runs from windows that balance one by one instead of even shares.
    ///
    /// # Errors
    /// [`Error::NoEquilibrium`] when there is none in any regime.
    pub fn equilibria(&self) -> Result<Vec<Equilibrium>> {
        let mut near: Option<Error> = None;
        let mut equilibria = Vec::new();
        self.in_all_regimes(Start::Even, &mut equilibria, &mut near);
        if self.choices().small_windows {
            for small in [false, true] {
                let frozen = self.frozen_small(&vec![small; self.class_count()]);
                frozen.in_all_regimes(Start::Even, &mut equilibria, &mut near);
            }
        }
        if equilibria.is_empty() && self.class_count() > 1 {
            self.in_all_regimes(Start::Balanced, &mut equilibria, &mut near);
        }
        if equilibria.is_empty() {
            return Err(near.unwrap_or_else(|| Error::NoEquilibrium {
                why: "no regime of the AQMs' laws balances arrivals and service at a probability between 0 and 1"
                    .to_owned(),
            }));
        }
        Ok(equilibria)
    }

    /// Adds what Newton's method finds in all regimes of the AQMs' laws.
    fn in_all_regimes(
        &self,
        from: Start,
        equilibria: &mut Vec<Equilibrium>,
        near: &mut Option<Error>,
    ) {
        let p = self.parameters();
        let counts = self.regime_counts();
        self.search(None, from, &p, equilibria, near);
        let combinations = counts
            .iter()
            .try_fold(1_usize, |n, c| n.checked_mul(*c))
            .filter(|n| *n <= 256);
        for index in 0..combinations.unwrap_or(0) {
            let mut rest = index;
            let regimes: Vec<usize> = counts
                .iter()
                .map(|c| {
                    let regime = rest % c;
                    rest /= c;
                    regime
                })
                .collect();
            self.search(Some(&regimes), from, &p, equilibria, near);
        }
    }

    /// Adds what Newton's method finds from many starts, with the given regimes frozen or following
    /// the state.
    fn search(
        &self,
        regimes: Option<&[usize]>,
        from: Start,
        p: &[f64],
        equilibria: &mut Vec<Equilibrium>,
        near: &mut Option<Error>,
    ) {
        let frozen = regimes.map_or_else(|| self.clone(), |k| self.frozen(k));
        let rest = frozen.without_memory();
        let start = |model: &Self, fill: f64, stretch: f64, level: f64| match from {
            Start::Even => model.start(fill, stretch, level, p),
            Start::Balanced => model.balanced_start(fill, level, p),
        };
        let solve = |fill: f64, stretch: f64, level: f64| match &rest {
            None => equilibrium(&frozen, &start(&frozen, fill, stretch, level), p),
            Some(rest) => {
                let y = equilibrium(rest, &start(rest, fill, stretch, level), p)?;
                match frozen.with_memory(rest, &y, p) {
                    Some(x) if frozen.rests(&x, p) => Ok(frozen.polished(x, p)),
                    start => equilibrium(&frozen, &start.unwrap_or_default(), p),
                }
            }
        };
        let overflows = regimes.is_some_and(|k| self.overflows(k));
        // a queue that overflows is full: one start will do
        let fills: &[f64] = if overflows {
            &[f64::MAX]
        } else {
            &[0.5, 5.0, 30.0, 100.0, 300.0, 1000.0, 5000.0, 20000.0]
        };
        let (levels, stretches): (&[f64], &[f64]) = match from {
            Start::Even => (&[1.0, 100.0, 10_000.0, 0.01], &[1.02, 0.9, 1.5]),
            Start::Balanced => (
                &[1.0, 0.3, 3.0, 0.1, 10.0, 0.03, 0.01, 3e-3, 1e-3, 3e-4, 1e-4],
                &[1.0],
            ),
        };
        for (level, fill) in levels
            .iter()
            .flat_map(|l| fills.iter().map(move |f| (*l, *f)))
        {
            if level != levels[0] && !equilibria.is_empty() {
                break;
            }
            for stretch in stretches.iter().copied() {
                let x = match solve(fill, stretch, level) {
                    Ok(x) => self.filled(regimes, x),
                    Err(ackclock_delay::Error::OnClamp { switch }) => {
                        *near = Some(self.boundary(switch));
                        continue;
                    }
                    Err(_) => continue,
                };
                if !self.sensible(&x, p) {
                    if let Some(why) = self.overwhelmed(&x, p) {
                        near.get_or_insert(why);
                    }
                    continue;
                }
                if self.leaves_small(&x, p) || !frozen.balances(&x, p) {
                    near.get_or_insert_with(|| Error::NoEquilibrium {
                        why: "a window stays where its sender's law jumps: nothing balances"
                            .to_owned(),
                    });
                    continue;
                }
                let here = self.regimes_at(&x, p);
                if let Some(regimes) = regimes
                    && self.belongs_elsewhere(regimes, &here, &x, p, overflows, near)
                {
                    continue;
                }
                self.add_new(&frozen, (x, here), p, equilibria);
            }
        }
    }

    /// Adds an equilibrium with its regimes, found where these were `frozen`, unless it is there.
    fn add_new(
        &self,
        frozen: &Self,
        (x, regimes): (Vec<f64>, Vec<usize>),
        p: &[f64],
        equilibria: &mut Vec<Equilibrium>,
    ) {
        let same = |e: &Equilibrium| {
            e.x.iter()
                .zip(&x)
                .all(|(a, b)| (a - b).abs() <= 1e-7 * (a.abs() + b.abs()).max(1e-9))
        };
        if equilibria.iter().any(same) {
            return;
        }
        let (probability, signals) = frozen.probabilities(&x, p);
        equilibria.push(Equilibrium {
            regime_names: self.regime_names(&regimes),
            x,
            p: p.to_vec(),
            probability,
            signals,
            regimes,
        });
    }

    /// Whether an equilibrium of frozen regimes is none of the system: it lies in other regimes, or
    /// on a boundary.
    /// `near` then says so.
    fn belongs_elsewhere(
        &self,
        regimes: &[usize],
        here: &[usize],
        x: &[f64],
        p: &[f64],
        overflows: bool,
        near: &mut Option<Error>,
    ) -> bool {
        if regimes != here {
            let limits = self.outside(regimes, x, p);
            let texts: Vec<String> = limits.iter().map(ToString::to_string).collect();
            let why = format!(
                "the regime \"{}\" of the law has one, but outside its own range: {}",
                self.regime_names(regimes).join(", "),
                texts.join("; ")
            );
            near.get_or_insert(Error::NoEquilibrium { why });
            return true;
        }
        // frozen laws have no switching boundaries: ask those that do
        if !overflows
            && let Err(ackclock_delay::Error::OnClamp { switch }) = equilibrium(self, x, p)
        {
            *near = Some(self.boundary(switch));
            return true;
        }
        false
    }

    /// The only equilibrium.
    ///
    /// # Errors
    /// As [`Model::equilibria`]; [`Error::OutsideValidity`] when there are several, which must then
    /// be asked for.
    pub fn equilibrium(&self) -> Result<Equilibrium> {
        let mut all = self.equilibria()?;
        match all.len() {
            1 => Ok(all.remove(0)),
            n => Err(Error::OutsideValidity {
                why: format!("there are {n} equilibria, and the question is about one"),
            }),
        }
    }

    /// The linearisation at an equilibrium.
    #[must_use]
    pub fn linearised(&self, at: &Equilibrium) -> Linear {
        Linear::of(&self.frozen(&at.regimes), &at.x, &at.p)
    }

    /// The rightmost characteristic roots, at least `count`, certified.
    ///
    /// # Errors
    /// [`Error::Analysis`].
    pub fn roots(&self, at: &Equilibrium, count: usize) -> Result<Spectrum> {
        Ok(rightmost_roots(&self.linearised(at), count)?)
    }

    /// The number of characteristic roots with a positive real part, by the argument principle.
    ///
    /// # Errors
    /// [`Error::Analysis`] when a root lies on the imaginary axis to rounding.
    pub fn unstable_roots(&self, at: &Equilibrium) -> Result<usize> {
        Ok(count_right_of(&self.linearised(at), 0.0)?)
    }

    /// The trajectory from a constant history `start` over `duration` seconds: of the laws frozen
    /// in the regimes of an equilibrium, or of the whole model, which keeps queues between empty and
    /// full.
    ///
    /// # Errors
    /// [`Error::Analysis`].
    pub fn trajectory(
        &self,
        frozen: Option<&Equilibrium>,
        start: &[f64],
        duration: f64,
        tolerance: &Tolerance,
    ) -> Result<Trajectory> {
        let p = self.parameters();
        let history = |_: f64, x: &mut [f64]| x.copy_from_slice(start);
        Ok(match frozen {
            Some(at) => {
                let model = self.frozen(&at.regimes);
                integrate(&model, &p, &history, 0.0, duration, tolerance)?
            }
            None => integrate(self, &p, &history, 0.0, duration, tolerance)?,
        })
    }

    /// An equilibrium in regimes of the laws, with what they say of it.
    pub(crate) fn named(&self, x: Vec<f64>, p: Vec<f64>, regimes: Vec<usize>) -> Equilibrium {
        let (probability, signals) = self.frozen(&regimes).probabilities(&x, &p);
        Equilibrium {
            regime_names: self.regime_names(&regimes),
            x,
            p,
            probability,
            signals,
            regimes,
        }
    }

    /// The parameters of a point, with those enrolled since at their values.
    pub(crate) fn lengthened(&self, p: &[f64]) -> Vec<f64> {
        let later = self.parameters().into_iter().skip(p.len());
        p.iter().copied().chain(later).collect()
    }
}
