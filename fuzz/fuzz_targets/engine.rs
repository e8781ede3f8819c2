//! Whatever scenario is accepted: the packet engine neither panics nor loses a packet, and both its
//! paths give the same.

#![no_main]

use ackclock_packet::{Options, Outcome, Simulation};
use ackclock_scenario::{Scenario, parse};
use libfuzzer_sys::fuzz_target;

/// Larger scenarios are left out.
const MOST_BYTES: u64 = 1 << 26;
/// Events after which a run is left.
const MOST_EVENTS: u64 = 100_000;

/// The end of a run; `None` if it is not reached, or there is no run.
fn run(scenario: &Scenario, general: bool) -> Option<Outcome> {
    let options = Options {
        general,
        ..Options::default()
    };
    let mut simulation = Simulation::new(scenario, &options).ok()?;
    let done = simulation.step(MOST_EVENTS).unwrap().done;
    done.then(|| simulation.finish().unwrap())
}

fuzz_target!(|bytes: &[u8]| {
    let Ok(scenario) = parse(bytes, "fuzz") else {
        return;
    };
    let flows: u32 = scenario.flows.iter().map(|flows| flows.count).sum();
    if flows > 100 || Simulation::memory_estimate(&scenario, &Options::default()) > MOST_BYTES {
        return;
    }
    if let (Some(fast), Some(general)) = (run(&scenario, false), run(&scenario, true)) {
        assert_eq!(format!("{:?}", fast.links), format!("{:?}", general.links));
        assert_eq!(format!("{:?}", fast.flows), format!("{:?}", general.flows));
    }
});
