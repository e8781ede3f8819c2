//! Whatever a rate trace holds: no panic; one that is accepted has rates at all times, in steps
//! that go on.
//!
//! The first byte chooses the format, and whether it repeats.

#![no_main]

use ackclock_algorithms::Time;
use ackclock_scenario::{canonical_toml, parse, parse_with, to_json};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((first, text)) = bytes.split_first() else {
        return;
    };
    let form = ["csv", "mahimahi"][usize::from(first & 1)];
    let repeat = ["", ", repeat = \"never\"", ", repeat = \"5 s\""][usize::from(first >> 1) % 3];
    let scenario = format!(
        "[scenario]\nduration = \"1 s\"\n[[link]]\nname = \"a\"\n\
         rate = {{ trace = \"t\", format = \"{form}\"{repeat} }}\n[[flows]]\npath = [\"a\"]\nrtt = \"10 ms\"\n"
    );
    let read = |_: &str| String::from_utf8(text.to_vec()).map_err(|error| error.to_string());
    match parse_with(scenario, "fuzz", &read) {
        Ok(scenario) => {
            let trace = scenario.links[0].trace.as_ref().unwrap();
            assert!(trace.mean() > 0.0 && trace.mean().is_finite());
            let mut now = Time::ZERO;
            for _ in 0..1000 {
                let (rate, next) = trace.at(now);
                assert!(rate >= 0.0 && rate.is_finite() && next > now);
                if next == Time::NEVER {
                    break;
                }
                now = next;
            }
            // a scenario that was read holds its steps, and no longer the file's name
            let again = parse(canonical_toml(&scenario), "toml").unwrap();
            assert_eq!(to_json(&again), to_json(&scenario));
        }
        Err(errors) => assert!(errors.iter().all(|error| !error.to_string().is_empty())),
    }
});
