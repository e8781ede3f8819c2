//! A shaper whose rate follows probes, before a link whose rate varies.

use crate::common::{bits, outcome};
use ackclock_packet::Outcome;

/// 30, 8 and 30 Mbit/s for 60 s each, behind a deep queue; four downloads and pings at 20 Hz go
/// through a shaper first.
fn run(autorate: &str, window: &str) -> Outcome {
    let text = format!(
        "[scenario]\nduration = \"180 s\"\nmeasure = \"{window}\"\n\
         [[link]]\nname = \"shaper\"\nrate = \"20 Mbit/s\"\nqueue = \"fq_codel\"\n{autorate}\n\
         [[link]]\nname = \"cell\"\nrate = {{ steps = [[\"0 s\", \"30 Mbit/s\"], [\"60 s\", \"8 Mbit/s\"], [\"120 s\", \"30 Mbit/s\"]] }}\n\
         queue = {{ capacity = \"1000 packets\" }}\n\
         [[flows]]\nname = \"downloads\"\ncount = 4\npath = [\"shaper\", \"cell\"]\nrtt = \"50 ms\"\ncongestion = \"cubic\"\n\
         [[flows]]\nname = \"pings\"\npath = [\"shaper\", \"cell\"]\nrtt = \"50 ms\"\npacket_size = \"84 B\"\n\
         traffic = {{ kind = \"cbr\", rate = \"13.44 kbit/s\" }}\n"
    );
    let run = outcome(&text);
    for link in &run.links {
        assert!(link.ledger.balances());
    }
    run
}

const AUTORATE: &str = "autorate = { probes = \"pings\", min = \"2 Mbit/s\", max = \"80 Mbit/s\" }";

/// Goodput of the downloads, Mbit/s, and the 95th percentile of the pings' delay above 25 ms, ms.
fn judged(run: &Outcome) -> (f64, f64) {
    let goodput: f64 = run.flows[..4].iter().map(|flow| flow.goodput).sum();
    let delay = run.classes[1].delay_percentiles[1] - 0.025;
    (1e-6 * goodput, 1e3 * delay)
}

#[test]
fn the_rate_follows_the_link_and_the_delay_is_bounded() {
    for (window, rate) in [
        ("30 s .. 60 s", 30.0),
        ("80 s .. 120 s", 8.0),
        ("150 s .. 180 s", 30.0),
    ] {
        let (goodput, delay) = judged(&run(AUTORATE, window));
        assert!((0.7 * rate..rate).contains(&goodput), "{window}: {goodput}");
        assert!(delay < 100.0, "{window}: {delay}");
    }
    // the shaper without it: a second and a half in the cell's queue, and a third of its rate unused before
    let (goodput, delay) = judged(&run("", "80 s .. 120 s"));
    assert!(goodput > 7.0 && delay > 1000.0, "{goodput}, {delay}");
    let (goodput, delay) = judged(&run("", "30 s .. 60 s"));
    assert!(goodput < 20.0 && delay < 10.0, "{goodput}, {delay}");
}

#[test]
fn the_same_run_has_the_same_bits() {
    let window = "80 s .. 120 s";
    assert_eq!(bits(&run(AUTORATE, window)), bits(&run(AUTORATE, window)));
}
