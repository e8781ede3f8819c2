//! Questions and answers as the page has them.

use ackclock_web::Laboratory;

const TEXT: &str = r#"
[scenario]
duration = "5 s"
[[link]]
name = "line"
rate = "10 Mbit/s"
queue = { aqm = "red", capacity = "200 packets", min_threshold = "10 packets", max_threshold = "50 packets", max_probability = 0.1 }
[[flows]]
name = "reno"
count = 8
path = ["line"]
congestion = "reno"
rtt = "30 ms"
"#;

fn ask(laboratory: &mut Laboratory, ask: &str, rest: &str) -> String {
    let text = TEXT.replace('\n', "\\n").replace('"', "\\\"");
    laboratory.answer(&format!(r#"{{"ask": "{ask}", "text": "{text}"{rest}}}"#))
}

#[test]
fn a_run_in_steps_ends_with_an_outcome() {
    let mut laboratory = Laboratory::default();
    let begun = ask(
        &mut laboratory,
        "run",
        r#", "flows": 2, "memory": 1000000000"#,
    );
    assert_eq!(begun, r#"{"ok":{"duration":5.0}}"#);
    let mut steps = 0;
    while !laboratory
        .answer(r#"{"ask": "advance", "events": 1000}"#)
        .contains("\"done\":true")
    {
        steps += 1;
    }
    assert!(steps > 5, "{steps}");
    let outcome = laboratory.answer(r#"{"ask": "outcome", "points": 100}"#);
    assert!(
        outcome.starts_with(r#"{"ok":{"#) && outcome.contains("\"cwnd\":"),
        "{outcome}"
    );
    // it was taken: there is none any more
    let again = laboratory.answer(r#"{"ask": "outcome", "points": 100}"#);
    assert!(again.contains("no run is under way"), "{again}");
}

#[test]
fn equations_answer_with_roots_and_margins() {
    let mut laboratory = Laboratory::default();
    let answer = ask(&mut laboratory, "stability", r#", "work": 20000000"#);
    assert!(answer.contains("\"unstable\":0"), "{answer}");
    assert!(answer.contains("\"delay\":"), "{answer}");
    let limit = ask(
        &mut laboratory,
        "limit",
        r#", "work": 20000000, "free": "reno.rtt", "to": 2.0, "steps": 100"#,
    );
    assert!(limit.contains("\"kind\":\"oscillation\""), "{limit}");
    // a bound on the work is kept
    let spent = ask(
        &mut laboratory,
        "limit",
        r#", "work": 100, "free": "reno.rtt", "to": 2.0, "steps": 100"#,
    );
    assert!(spent.contains("\"error\""), "{spent}");
}

#[test]
fn mistakes_have_their_place_and_nonsense_a_message() {
    let mut laboratory = Laboratory::default();
    let answer =
        laboratory.answer(r#"{"ask": "check", "text": "[scenario]\ndurattion = \"5 s\""}"#);
    assert!(
        answer.contains("\"line\":2") && answer.contains("\"suggestion\":\"duration\""),
        "{answer}"
    );
    for nonsense in [
        "",
        "{",
        "[]",
        r#"{"ask": "fly"}"#,
        r#"{"ask": "advance"}"#,
        "\u{0}",
        "null",
    ] {
        assert!(
            laboratory.answer(nonsense).starts_with(r#"{"error":"#),
            "{nonsense:?}"
        );
    }
    let refused = ask(&mut laboratory, "run", r#", "flows": 2, "memory": 10"#);
    assert!(refused.contains("needs more memory"), "{refused}");
}
