//! The scenarios that are shipped with the project.

use ackclock_scenario::{canonical_toml, parse, parse_json, to_json};

fn shipped() -> Vec<(String, String)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "toml")
        })
        .map(|path| {
            (
                path.file_name().unwrap().to_string_lossy().into_owned(),
                std::fs::read_to_string(&path).unwrap(),
            )
        })
        .collect();
    files.sort();
    files
}

#[test]
fn they_are_valid_and_survive_a_round_trip() {
    let files = shipped();
    assert!(files.len() >= 6);
    for (name, text) in files {
        let scenario = parse(&text, &name).unwrap_or_else(|errors| {
            let lines: Vec<_> = errors.iter().map(ToString::to_string).collect();
            panic!("{}", lines.join("\n"))
        });
        let json = to_json(&scenario);
        assert_eq!(to_json(&parse_json(&json, "json").unwrap()), json, "{name}");
        let toml = canonical_toml(&scenario);
        let again = parse(&toml, "canonical").unwrap();
        assert_eq!(canonical_toml(&again), toml, "{name}");
        assert_eq!(format!("{again:?}"), format!("{scenario:?}"), "{name}");
    }
}
