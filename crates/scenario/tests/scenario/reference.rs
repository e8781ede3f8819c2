//! The reference of the scenario language in `scenarios/README.md` is the generated one.

const BEGIN: &str = "<!-- generated from the parser's tables: UPDATE=1 cargo test --release -p ackclock-scenario --test scenario reference -->\n";

#[test]
fn the_readme_is_current() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/README.md");
    let text = std::fs::read_to_string(path).unwrap();
    let (head, generated) = text
        .split_once(BEGIN)
        .expect("the marker of the generated part");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(
            path,
            format!(
                "{head}{BEGIN}\n{}",
                ackclock_scenario::reference().trim_end().to_owned() + "\n"
            ),
        )
        .unwrap();
        return;
    }
    assert_eq!(generated.trim(), ackclock_scenario::reference().trim());
}
