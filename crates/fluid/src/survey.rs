//! One setting over a range: verdict and margins at many places, fast.

use ackclock_delay::{Elementary, c64, count_right_of, equilibrium};

use crate::{
    equilibrium::Equilibrium,
    error::Result,
    margins::{Loop, Margins, margins},
    model::Model,
};

/// Samples of the frequency in a survey's scan for crossovers; each is then bisected.
const FREQUENCY_SAMPLES: usize = 800;

/// Result of a survey at one place.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// The equilibrium; of several the one that the last place leads to, else the first.
    pub equilibrium: Equilibrium,
    /// Characteristic roots with a positive real part; `None` with a root on the axis to rounding.
    pub unstable: Option<usize>,
    /// Margins of the loop.
    pub margins: Margins,
    /// Window of the first class, packets.
    pub window: f64,
    /// Queue of the first link, packets; NaN in a model without one.
    pub queue: f64,
}

impl Model {
    /// Equilibrium, verdict and margins where parameters `names` have the values of each row of
    /// `places`; `None` where there is no equilibrium. Neighbouring rows should be near each other:
    /// an equilibrium is carried on from the row before, in whatever regime of an AQM's law it
    /// comes to, and searched anew where that fails.
    ///
    /// `lag` (s) is a delay in the loop that the equations do not have, such as half the period of a sampled controller: it counts in the margins.
    ///
    /// # Errors
    /// [`crate::Error::Parameter`]; [`crate::Error::SeveralLoops`] with more than one link.
    pub fn survey(
        &self,
        names: &[&str],
        places: &[Vec<f64>],
        lag: f64,
    ) -> Result<Vec<Option<Place>>> {
        let mut model = self.clone();
        let free: Vec<usize> = names
            .iter()
            .map(|name| model.parameter(name))
            .collect::<Result<_>>()?;
        let mut out = Vec::with_capacity(places.len());
        let mut near: Option<Vec<f64>> = None;
        for place in places {
            for (index, value) in free.iter().zip(place) {
                model.set(*index, *value);
            }
            let equilibrium = near
                .as_deref()
                .and_then(|x| model.carried(x))
                .or_else(|| model.equilibria().ok().map(|mut all| all.swap_remove(0)));
            let Some(at) = equilibrium else {
                near = None;
                out.push(None);
                continue;
            };
            near = Some(at.x.clone());
            out.push(Some(model.place(at, lag)?));
        }
        Ok(out)
    }

    /// The equilibrium that Newton's method reaches from a state, if it is one of the clamped
    /// equations.
    fn carried(&self, from: &[f64]) -> Option<Equilibrium> {
        let p = self.parameters();
        let x = equilibrium(self, from, &p).ok()?;
        let regimes = self.regimes_at(&x, &p);
        if !self.sensible(&x, &p) || !self.rests(&x, &p) {
            return None;
        }
        Some(self.named(x, p, regimes))
    }

    fn place(&self, at: Equilibrium, lag: f64) -> Result<Place> {
        let open = self.feedback_loop(&at)?;
        let closed = self.linearised(&at);
        let bound = closed.root_bound(0.0);
        let late = |s: c64| open.at(s) * (-s * lag).exponential();
        let window = self.windows(&at.x, &at.p).first().map_or(f64::NAN, |w| w.1);
        let queue = self.queue_of(0).map_or(f64::NAN, |(index, _)| at.x[index]);
        Ok(Place {
            unstable: count_right_of(&closed, 0.0).ok(),
            margins: margins(&late, 1e-7 * bound, 10.0 * bound, FREQUENCY_SAMPLES),
            window,
            queue,
            equilibrium: at,
        })
    }
}
