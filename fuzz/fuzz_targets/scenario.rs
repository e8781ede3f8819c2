//! Whatever the bytes: no panic, and what is accepted survives being written and read.
//!
//! `cargo +nightly fuzz run scenario -- -dict=fuzz/scenario.dict -max_len=8192`; the corpus is also run by a plain test of the
//! scenario crate.

#![no_main]

use ackclock_scenario::{canonical_toml, parse, parse_json, to_json};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    for read in [parse(bytes, "fuzz"), parse_json(bytes, "fuzz")] {
        match read {
            Ok(scenario) => {
                let json = to_json(&scenario);
                assert_eq!(to_json(&parse_json(&json, "json").unwrap()), json);
                assert_eq!(to_json(&parse(canonical_toml(&scenario), "toml").unwrap()), json);
            }
            Err(errors) => {
                for error in errors {
                    assert!(!error.to_string().is_empty());
                }
            }
        }
    }
});
