//! The initial state of a run, and the ranges of its inputs.

use super::MeanField;
use super::class::{ClassMeasured, ClassState};
use super::measure::{LinkLedger, Measured, Sampling};
use crate::error::{Error, check};
use crate::grid::Grid;
use crate::history::{DelayLine, Ring};
use crate::model::{Action, Class, Event, Model, Options};
use crate::outcome::{Balance, ClassTrace, Traces};

/// Steps beyond which a run is refused.
const MOST_STEPS: f64 = 1e12;

impl MeanField {
    /// Prepares a run.
    ///
    /// # Errors
    /// If a number is out of range.
    pub fn from_model(model: Model, options: Options) -> Result<Self, Error> {
        check_options(&options)?;
        check_world(&model)?;
        for event in &model.events {
            check_event(event, &model)?;
        }
        let dt = time_step(&model, options.steps_per_rtt)?;
        let (from, to) = model.measure;
        check(
            from >= 0.0 && from < to && to <= model.duration,
            "the start of the measurement window",
            from,
            "from 0 to before its end, which is at most the duration",
        )?;
        let classes = model
            .classes
            .iter()
            .map(|class| ClassState::new(class, &options, dt))
            .collect::<Result<Vec<_>, Error>>()?;
        let mut events = model.events.clone();
        events.sort_by(|a, b| a.at.total_cmp(&b.at));
        let states = model.bottleneck.aqm.states();
        let mut aqm_state = vec![0.0; states];
        model
            .bottleneck
            .aqm
            .start(model.bottleneck.rate, &mut aqm_state);
        let traces = Traces {
            classes: vec![ClassTrace::default(); classes.len()],
            ..Traces::default()
        };
        Ok(Self {
            dt,
            step: 0,
            last: libm::ceil(model.duration / dt - 1e-9) as u64,
            events,
            next_event: 0,
            classes,
            sources: vec![0.0; model.unresponsive.len()],
            queue_steps: Ring::new(),
            queue: 0.0,
            aqm_state,
            scratch: [vec![0.0; states], vec![0.0; states], vec![0.0; states]],
            probability: 0.0,
            ledger: LinkLedger::default(),
            measured: Measured {
                min: f64::INFINITY,
                ..Measured::default()
            },
            sample: Sampling {
                traces,
                ..Sampling::default()
            },
            balance: Balance::default(),
            snapshots: Vec::new(),
            notes: Vec::new(),
            failed: None,
            model,
            options,
        })
    }
}

impl ClassState {
    fn new(class: &Class, options: &Options, dt: f64) -> Result<Self, Error> {
        Ok(Self {
            grid: Grid::new(
                &class.law,
                class.w_max,
                options.cells_up_to(class.w_max),
                options.hazard,
                class.access.is_some(),
            )?,
            rtt: class.rtt,
            line: DelayLine::new(class.rtt / dt),
            class: class.clone(),
            flows: 0.0,
            flight: 0.0,
            debt: 0.0,
            started: 0.0,
            arrivals: 0.0,
            rounds: 0.0,
            measured: ClassMeasured::default(),
        })
    }
}

fn check_options(options: &Options) -> Result<(), Error> {
    check(
        options.steps_per_rtt >= 2.0 && options.steps_per_rtt.is_finite(),
        "the number of steps a round trip",
        options.steps_per_rtt,
        "2 or more",
    )?;
    check(
        options.bins >= 1,
        "the number of bins",
        options.bins as f64,
        "1 or more",
    )?;
    for interval in [options.sample, options.snapshot].into_iter().flatten() {
        check(
            interval > 0.0,
            "the sampling interval",
            interval,
            "above 0 s",
        )?;
    }
    Ok(())
}

fn check_world(model: &Model) -> Result<(), Error> {
    let bottleneck = &model.bottleneck;
    check(
        bottleneck.rate > 0.0 && bottleneck.rate.is_finite(),
        "the bottleneck's rate",
        bottleneck.rate,
        "above 0 packets/s",
    )?;
    check(
        bottleneck.buffer >= 0.0,
        "the buffer",
        bottleneck.buffer,
        "0 packets or more",
    )?;
    for class in &model.classes {
        check(
            class.rtt > 0.0 && class.rtt.is_finite(),
            "the base round-trip time",
            class.rtt,
            "above 0 s",
        )?;
    }
    for traffic in &model.unresponsive {
        check(
            traffic.rate >= 0.0 && traffic.rate.is_finite(),
            "the rate of unresponsive traffic",
            traffic.rate,
            "0 or more",
        )?;
    }
    Ok(())
}

fn check_event(event: &Event, model: &Model) -> Result<(), Error> {
    check(
        event.at >= 0.0 && event.at.is_finite(),
        "the time of an event",
        event.at,
        "0 s or more",
    )?;
    let (index, count) = match event.what {
        Action::Start { class, .. }
        | Action::Stop { class, .. }
        | Action::Rtt { class, .. }
        | Action::Access { class, .. }
        | Action::MaxWindow { class, .. } => (class, model.classes.len()),
        Action::Sources { traffic, .. } | Action::SourceRate { traffic, .. } => {
            (traffic, model.unresponsive.len())
        }
        Action::Rate(_) | Action::Buffer(_) | Action::Aqm { .. } => (0, 1),
    };
    check(
        index < count,
        "the class of an event",
        index as f64,
        "one of the model's",
    )
}

/// Length of a step, s: a part of the shortest base round trip that occurs.
fn time_step(model: &Model, steps_per_rtt: f64) -> Result<f64, Error> {
    // every round trip that occurs must be longer than a step
    let shortest = model
        .events
        .iter()
        .filter_map(|event| {
            if let Action::Rtt { rtt, .. } = event.what {
                Some(rtt)
            } else {
                None
            }
        })
        .chain(model.classes.iter().map(|class| class.rtt))
        .fold(f64::INFINITY, f64::min);
    check(
        shortest > 0.0,
        "the base round-trip time",
        shortest,
        "above 0 s",
    )?;
    let shortest = if shortest.is_finite() { shortest } else { 0.01 };
    let dt = shortest / steps_per_rtt;
    check(
        model.duration > 0.0 && model.duration / dt <= MOST_STEPS,
        "the duration",
        model.duration,
        "above 0 s, and at most 1e12 steps",
    )?;
    Ok(dt)
}
