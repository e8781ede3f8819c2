//! The corpus of the fuzz target, run once as a plain test.

use ackclock_scenario::{canonical_toml, parse, parse_json, to_json};

#[test]
fn the_fuzz_corpus_never_panics() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/scenario");
    let mut accepted = 0;
    let mut refused = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        for read in [parse(&bytes, "corpus"), parse_json(&bytes, "corpus")] {
            match read {
                Ok(scenario) => {
                    accepted += 1;
                    let json = to_json(&scenario);
                    assert_eq!(to_json(&parse_json(&json, "json").unwrap()), json);
                    assert_eq!(
                        to_json(&parse(canonical_toml(&scenario), "toml").unwrap()),
                        json
                    );
                }
                Err(errors) => {
                    refused += 1;
                    assert!(!errors.is_empty());
                }
            }
        }
    }
    assert!(
        accepted >= 8 && refused >= 8,
        "{accepted} accepted, {refused} refused"
    );
}
