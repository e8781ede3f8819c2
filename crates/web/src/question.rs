//! The questions that a page asks, as JSON has them: `{"ask": "check", "text": ...}`.

use serde::Deserialize;

/// A question.
#[derive(Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Question {
    /// The JSON Schema of scenarios.
    Schema,
    /// The registered algorithms and the keys of scenarios.
    Catalogue,
    /// A scenario's diagnostics, or all it says.
    Check {
        /// TOML.
        text: String,
    },
    /// A scenario file from a tree.
    Toml {
        /// JSON.
        json: String,
    },
    /// Begins a packet run.
    Run(Run),
    /// Goes on with it.
    Advance {
        /// The most events.
        events: u64,
    },
    /// Ends it.
    Outcome {
        /// The most samples of a trace: more are thinned out, evenly.
        points: usize,
    },
    /// Begins a run of the mean-field engine.
    Field(Field),
    /// Goes on with it.
    FieldAdvance {
        /// The most steps.
        steps: u32,
    },
    /// Ends it.
    FieldOutcome,
    /// Equilibria with roots and margins.
    Stability(About),
    /// The equations' trajectory.
    Trajectory(Trajectory),
    /// How far a parameter may move.
    Limit(Limit),
    /// The cycles beyond a limit.
    Cycles(Limit),
    /// The clamped equations where a parameter has another value.
    Beyond(Limit),
    /// Unstable roots over two parameters.
    Chart(Chart),
}

#[derive(Deserialize)]
pub(crate) struct Run {
    pub(crate) text: String,
    /// Instead of the scenario's own.
    pub(crate) seed: Option<u64>,
    /// Traced flows of each class.
    pub(crate) flows: u32,
    /// The most memory, bytes.
    pub(crate) memory: u64,
    /// Force the general path of the engine.
    #[serde(default)]
    pub(crate) general: bool,
}

#[derive(Deserialize)]
pub(crate) struct Field {
    pub(crate) text: String,
    pub(crate) cells_per_packet: f64,
    pub(crate) steps_per_rtt: f64,
    /// Samples of the traces, and densities, over the run.
    pub(crate) samples: u32,
    pub(crate) snapshots: u32,
    pub(crate) bins: usize,
}

/// A scenario as equations, with parameters moved.
#[derive(Deserialize)]
pub(crate) struct About {
    pub(crate) text: String,
    /// Parameters by name, in the units of the equations.
    #[serde(default)]
    pub(crate) set: Vec<(String, f64)>,
    /// The most work, in evaluations of an equation.
    pub(crate) work: u64,
}

#[derive(Deserialize)]
pub(crate) struct Trajectory {
    #[serde(flatten)]
    pub(crate) about: About,
    /// s.
    pub(crate) duration: f64,
    pub(crate) samples: u32,
    pub(crate) steps: usize,
    pub(crate) relative: f64,
}

#[derive(Deserialize)]
pub(crate) struct Limit {
    #[serde(flatten)]
    pub(crate) about: About,
    /// The parameter that moves.
    pub(crate) free: String,
    /// How far it may, or its value.
    pub(crate) to: f64,
    /// The most steps of an integration, or cycles.
    pub(crate) steps: usize,
}

#[derive(Deserialize)]
pub(crate) struct Chart {
    #[serde(flatten)]
    pub(crate) about: About,
    pub(crate) names: (String, String),
    pub(crate) first: Vec<f64>,
    pub(crate) second: Vec<f64>,
}
