//! Events at given times.

use super::MeanField;
use crate::error::{Error, check};
use crate::grid::Grid;
use crate::model::Action;

impl MeanField {
    pub(super) fn apply(&mut self, action: Action) -> Result<(), Error> {
        match action {
            Action::Start {
                class,
                flows,
                window,
            } => self.start(class, flows, window)?,
            Action::Stop { class, flows } => self.stop(class, flows)?,
            Action::Sources { traffic, change } => {
                self.sources[traffic] = (self.sources[traffic] + change).max(0.0);
            }
            Action::SourceRate { traffic, rate } => {
                check(
                    rate >= 0.0 && rate.is_finite(),
                    "the rate of unresponsive traffic",
                    rate,
                    "0 or more",
                )?;
                self.model.unresponsive[traffic].rate = rate;
            }
            Action::Rate(rate) => {
                check(
                    rate > 0.0 && rate.is_finite(),
                    "the bottleneck's rate",
                    rate,
                    "above 0 packets/s",
                )?;
                self.model.bottleneck.rate = rate;
            }
            Action::Buffer(buffer) => {
                check(buffer >= 0.0, "the buffer", buffer, "0 packets or more")?;
                self.model.bottleneck.buffer = buffer;
            }
            Action::Rtt { class, rtt } => {
                let state = &mut self.classes[class];
                state.class.rtt = rtt;
                state.line.set_lag(rtt / self.dt);
            }
            Action::Access { class, rate } => {
                let state = &mut self.classes[class];
                check(
                    rate > 0.0 && rate.is_finite(),
                    "the access rate",
                    rate,
                    "above 0 packets/s",
                )?;
                state.class.access = state.class.access.map(|_| rate);
            }
            Action::MaxWindow { class, w_max } => self.bound_windows(class, w_max)?,
            Action::Aqm { name, value } => self.change_aqm(&name, value)?,
        }
        Ok(())
    }

    /// Flows of a class begin with one window.
    fn start(&mut self, class: usize, flows: f64, window: f64) -> Result<(), Error> {
        let state = &mut self.classes[class];
        check(
            flows >= 0.0 && flows.is_finite(),
            "the number of flows that start",
            flows,
            "0 or more",
        )?;
        check(
            window > 0.0,
            "the window at the start",
            window,
            "above 0 packets",
        )?;
        let before = state.in_network();
        state.grid.add(window.max(state.class.law.floor()), flows);
        state.started += state.in_network() - before;
        state.flows += flows;
        Ok(())
    }

    /// Flows of a class end, whatever their windows.
    fn stop(&mut self, class: usize, flows: f64) -> Result<(), Error> {
        let state = &mut self.classes[class];
        check(
            flows >= 0.0,
            "the number of flows that stop",
            flows,
            "0 or more",
        )?;
        if state.flows > 0.0 {
            let left = (1.0 - flows / state.flows).max(0.0);
            let now = self.step;
            self.balance.abandoned += state.line.in_flight(now) * (1.0 - left);
            state.line.scale(now, left);
            state.grid.scale(left);
            state.flows *= left;
            state.debt *= left;
            state.flight *= left;
        }
        Ok(())
    }

    /// Another largest window: a grid of its own, into which the windows go.
    fn bound_windows(&mut self, class: usize, w_max: f64) -> Result<(), Error> {
        let state = &mut self.classes[class];
        let mut grid = Grid::new(
            &state.class.law,
            w_max,
            self.options.cells_up_to(w_max),
            self.options.hazard,
            state.class.access.is_some(),
        )?;
        for (low, high, mass) in state.grid.contents() {
            grid.add((0.5 * (low + high)).max(0.0), mass);
        }
        grid.add(state.class.w_max, state.grid.atom());
        state.grid = grid;
        state.class.w_max = w_max;
        Ok(())
    }

    /// Another value of an AQM's parameter.
    fn change_aqm(&mut self, name: &str, value: f64) -> Result<(), Error> {
        let law = self.model.bottleneck.aqm.with(name, value)?;
        if law.states() != self.aqm_state.len() {
            return Err(Error::Unsupported(format!(
                "a change of `{name}` to {value}: it adds or removes a state of the AQM"
            )));
        }
        self.model.bottleneck.aqm = law;
        Ok(())
    }
}
