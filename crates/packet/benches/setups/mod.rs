//! The set-ups that the benchmarks share.

use ackclock_algorithms::Time;
use ackclock_packet::{Error, Options, Outcome, Simulation};
use ackclock_scenario::{End, Scenario};

/// A set-up to measure.
pub(crate) struct Setup {
    pub(crate) name: &'static str,
    pub(crate) text: &'static str,
    /// Simulated seconds that take about 0.3 s of CPU; of 100,000 flows a second and more until all
    /// have started, which takes longer.
    #[allow(dead_code, reason = "each benchmark uses its own part")]
    pub(crate) span: f64,
}

macro_rules! setups {
    ($($name:literal $span:literal)*) => {
        [$(Setup { name: $name, text: include_str!(concat!($name, ".toml")), span: $span }),*]
    };
}

pub(crate) const SETUPS: [Setup; 16] = setups! {
    "s1" 180.0
    "s3" 150.0
    "s4" 35.0
    "s5-1" 500.0
    "s5-10" 450.0
    "s5-10-access" 450.0
    "s5-10-codel" 220.0
    "s5-10-fq-codel" 150.0
    "s5-10-cake" 130.0
    "s5-10-htb" 90.0
    "s5-10-reverse" 70.0
    "s5-100" 43.0
    "s5-1000" 3.0
    "s5-1000-access" 3.0
    "s5-100000" 1.2
    "lot-3" 150.0
};

/// Ends a run after so many simulated seconds, if it lasts longer.
pub(crate) fn cut(scenario: &mut Scenario, seconds: f64) {
    let End::At(end) = scenario.duration else {
        return;
    };
    let end = end.min(Time::from_seconds(seconds));
    scenario.duration = End::At(end);
    scenario.changes.retain(|change| change.at < end);
    scenario.measure = scenario
        .measure
        .map(|(from, to)| (from.min(Time(end.0 / 2)), to.min(end)));
}

/// Runs a scenario to its end; streamed traces are taken in pieces and thrown away.
pub(crate) fn run(scenario: &Scenario, options: &Options) -> Result<Outcome, Error> {
    let mut simulation = Simulation::new(scenario, options)?;
    while !simulation.step(1 << 20)?.done {
        if options.traces.streamed {
            simulation.take_traces(1 << 22);
        }
    }
    simulation.finish()
}
