//! Scenario files: what they mean to the engine, what it approximates and what it refuses.

use ackclock_algorithms::fluid::Path;
use ackclock_algorithms::registry::CongestionSpec;
use ackclock_meanfield::{
    Error, Hazard, MeanField, Options, Outcome, RegisteredTcp, Stationary, WindowLaw,
};
use ackclock_scenario::Scenario;

fn scenario(text: &str) -> Scenario {
    ackclock_scenario::parse(text, "test").unwrap_or_else(|errors| panic!("{errors:?}"))
}

fn run(text: &str, options: Options) -> Outcome {
    MeanField::new(&scenario(text), options)
        .unwrap()
        .finish()
        .unwrap()
}

fn refusal(text: &str) -> String {
    match MeanField::new(&scenario(text), Options::default()) {
        Err(error @ Error::Unsupported(_)) => error.to_string(),
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("not refused"),
    }
}

/// Reynier (2006), section 5.2.1: RED without averaging, drops of single packets independent of
/// each other.
fn figure_7(flows: u32, queue: &str) -> String {
    format!(
        r#"
        [scenario]
        name = "figure 7"
        duration = "20 s"
        measure = "5 s .. 20 s"
        [[link]]
        name = "router"
        rate = "1 Gbit/s"
        delay = "5 ms"
        queue = {{ capacity = "235 packets", {queue} }}
        [[flows]]
        name = "users"
        count = {flows}
        path = ["router"]
        rtt = "10 ms"
        packet_size = "1064 B"
        congestion = "reno"
        max_window = "64 packets"
        "#
    )
}

const RED: &str = r#"aqm = "red", min_threshold = "47 packets", max_threshold = "235 packets", max_probability = 0.005, weight = "off""#;

#[test]
fn figure_7_from_a_file() {
    let out = run(&figure_7(35, r#"aqm = "drop-tail""#), Options::default());
    assert!(
        (out.link.utilization - 0.95443).abs() < 5e-4,
        "{:?}",
        out.link
    );
    assert!((out.link.loss - 0.001774).abs() < 2e-5, "{:?}", out.link);
    assert_eq!(out.traces.time.len(), 1000);
    let bernoulli = format!("{RED}, spacing = \"bernoulli\"");
    let out = run(&figure_7(40, &bernoulli), Options::default());
    assert!(
        (out.link.queue_mean / 235.0 - 0.4617).abs() < 1e-3,
        "{:?}",
        out.link
    );
}

/// ns-2's RED spaces its drops. Their mean rate predicts queues of 0.3374 and 0.5757 of the buffer
/// for 40 users, where ns-2 2.35 (Sack, seeds 1 and 2) has 0.31 and 0.53; the nominal probability
/// gives 0.4617 for both.
#[test]
fn spacing_of_drops() {
    for (spacing, queue) in [("uniform", 0.3374), ("uniform-wait", 0.5757)] {
        let text = figure_7(40, &format!("{RED}, spacing = \"{spacing}\""));
        let out = run(&text, Options::default());
        assert!(
            (out.link.queue_mean / 235.0 - queue).abs() < 2e-3,
            "{spacing}: {:?}",
            out.link
        );
        assert!(
            out.notes.iter().any(|note| note.contains("spacing")),
            "{:?}",
            out.notes
        );
        let nominal = run(
            &text,
            Options {
                effective_spacing: false,
                ..Options::default()
            },
        );
        assert!(
            (nominal.link.queue_mean / 235.0 - 0.4617).abs() < 1e-3,
            "{spacing}: {:?}",
            nominal.link
        );
    }
}

/// Access links: transmission of a data packet and of an ACK at both ends is part of the base round
/// trip, and no flow sends faster.
#[test]
fn access_links_delay_and_limit() {
    let text = figure_7(40, r#"aqm = "drop-tail""#)
        .replace("max_window", "access_rate = \"10 Mbit/s\"\nmax_window");
    let out = run(&text, Options::default());
    // 2 x (1064 + 40) x 8 / 10 Mbit/s
    assert!(
        (out.classes[0].rtt - 0.01 - 0.001_766_4).abs() < 1e-12,
        "{:?}",
        out.classes
    );
    // 40 x 10 Mbit/s on a link of 1 Gbit/s, which windows of 64 packets would fill
    assert!((out.link.utilization - 0.4).abs() < 1e-3, "{:?}", out.link);
    assert!(out.link.queue_max < 1e-6 && out.link.loss == 0.0);
    // and the change of an access rate in the middle of a run
    let changed =
        text + "[[change]]\nat = \"8 s\"\nflows = \"users\"\naccess_rate = \"5 Mbit/s\"\n";
    let out = run(
        &changed.replace("5 s .. 20 s", "15 s .. 20 s"),
        Options::default(),
    );
    assert!((out.link.utilization - 0.2).abs() < 1e-3, "{:?}", out.link);
}

/// AP-RED with RED's own parameters and nothing to scale is RED, its spacing included.
#[test]
fn ap_red_spaces_its_drops_as_red_does() {
    let loss_at_rest = |queue: &str| {
        let out = run(&figure_7(40, queue), Options::default());
        (out.link.queue_mean, out.link.loss)
    };
    for spacing in ["bernoulli", "uniform", "uniform-wait"] {
        let red = loss_at_rest(&format!("{RED}, spacing = \"{spacing}\""));
        let own = RED.replace("\"red\"", "\"ap-red\"");
        let ap_red = loss_at_rest(&format!(
            "{own}, spacing = \"{spacing}\", rtt = \"10 ms\", flows = 40, reference_rtt = \"10 ms\", reference_flows = 40, lowest = 0, mean_packet = \"1064 B\""
        ));
        assert_eq!(red, ap_red, "{spacing}");
    }
}

/// Flows of one priority have WRED's thresholds of that priority, which are those of another RED;
/// flows of two are refused.
#[test]
fn wred_has_the_thresholds_of_the_priority() {
    let loss_at_rest = |text: &str| {
        let out = run(text, Options::default());
        (out.link.queue_mean, out.link.loss)
    };
    let with_priority = |priority: u8| {
        let wred = RED.replace("\"red\"", "\"wred\", step = 0.125");
        let text = figure_7(40, &wred);
        text.replace("[[flows]]", &format!("[[flows]]\npriority = {priority}"))
    };
    assert_eq!(
        loss_at_rest(&with_priority(0)),
        loss_at_rest(&figure_7(40, RED))
    );
    let fourth = RED.replace("47 packets", "141 packets"); // 47 + 4 * 0.125 * (235 - 47)
    let loss = loss_at_rest(&with_priority(4));
    assert_eq!(loss, loss_at_rest(&figure_7(40, &fourth)));
    assert_ne!(loss, loss_at_rest(&with_priority(0)));

    let text = with_priority(4);
    let more = text[text.find("[[flows]]").unwrap()..]
        .replace("users", "others")
        .replace("priority = 4", "priority = 2");
    let what = refusal(&format!("{text}\n{more}"));
    assert!(
        what.contains("wred") && what.contains("priorities 4 and 2"),
        "{what}"
    );
}

/// Every registered congestion control either runs and balances, or is refused by its name.
#[test]
fn every_registered_congestion_control() {
    let mut runs = 0;
    for meta in CongestionSpec::ALL {
        let text = figure_7(60, &format!("{RED}, spacing = \"bernoulli\""))
            .replace("\"reno\"", &format!("\"{}\"", meta.kind));
        match MeanField::new(&scenario(&text), Options::default()) {
            Ok(engine) => {
                assert!(meta.has_mean_field, "{}", meta.kind);
                let out = engine.finish().unwrap();
                assert!(out.link.utilization > 0.9, "{}: {:?}", meta.kind, out.link);
                assert!(
                    out.balance.mass < 1e-12 && out.balance.in_flight < 1e-9,
                    "{}: {:?}",
                    meta.kind,
                    out.balance
                );
                runs += 1;
            }
            Err(Error::Unsupported(what)) => {
                assert!(!meta.has_mean_field && what.contains(meta.kind), "{what}");
                let follows_delay = "its windows follow measured delays or rates";
                assert_eq!(what.contains(follows_delay), meta.has_fluid, "{what}");
            }
            Err(error) => panic!("{}: {error}", meta.kind),
        }
    }
    assert!(runs >= 4, "only {runs} laws run");
}

/// At a steady queue the distribution is the stationary law at the loss that the queue gives: RED
/// with Compound's i(w), d(w).
#[test]
fn steady_state_is_the_stationary_law() {
    let text = figure_7(60, &format!("{RED}, spacing = \"bernoulli\""))
        .replace("\"reno\"", "\"compound\"");
    let out = run(
        &text,
        Options {
            cells_per_packet: 8.0,
            ..Options::default()
        },
    );
    assert!(out.link.queue_std < 0.02, "{:?}", out.link);
    let law = scenario(&text).flows[0].tcp.congestion.fluid().unwrap();
    let law = RegisteredTcp::new(law, Path::fixed(0.01));
    let exact = Stationary::new(&law, out.link.loss, 64.0, Hazard::PerPacket).unwrap();
    assert!(
        (out.classes[0].window_mean - exact.mean()).abs() < 2e-3 * exact.mean(),
        "{} {}",
        out.classes[0].window_mean,
        exact.mean()
    );
    assert!(
        law.increase(30.0) > 1.0 / 30.0 && law.increase(5.0) == 0.2,
        "small windows grow as Reno's"
    );
}

#[test]
fn refuses_by_name() {
    let base = figure_7(40, r#"aqm = "drop-tail""#);
    let two_links = base.replace("[[flows]]", "[[link]]\nname = \"second\"\nrate = \"1 Gbit/s\"\ndelay = \"1 ms\"\nqueue = { aqm = \"drop-tail\", capacity = \"100 packets\" }\n[[flows]]");
    let text = two_links.replace("[\"router\"]", "[\"router\", \"second\"]");
    let message = refusal(&text);
    assert!(
        message.contains("`users`") && message.contains("`second`"),
        "{message}"
    );
    let message = refusal(
        &base
            .replace("duration = \"20 s\"", "duration = \"until done\"")
            .replace("measure = \"5 s .. 20 s\"", "")
            .replace(
                "congestion = \"reno\"",
                "congestion = \"reno\"\ntraffic = { kind = \"transfer\", size = \"1 MB\" }",
            ),
    );
    assert!(
        message.contains("until done") || message.contains("transfers"),
        "{message}"
    );
    let message = refusal(&base.replace(
        "congestion = \"reno\"",
        "congestion = \"reno\"\ntraffic = { kind = \"transfer\", size = \"1 MB\" }",
    ));
    assert!(
        message.contains("`users`") && message.contains("transfers"),
        "{message}"
    );
    let policed = "policer = { rate = \"1 Mbit/s\", burst = \"30 kB\" }\n[[flows]]";
    let message = refusal(&base.replace("[[flows]]", policed));
    assert!(
        message.contains("`router`") && message.contains("policer"),
        "{message}"
    );
}

#[test]
fn warns_of_few_flows() {
    for (flows, queue, warned) in [
        (9, r#"aqm = "drop-tail""#, true),
        (10, r#"aqm = "drop-tail""#, false),
        (24, RED, true),
        (25, RED, false),
    ] {
        let engine =
            MeanField::new(&scenario(&figure_7(flows, queue)), Options::default()).unwrap();
        let warning = engine
            .notes()
            .iter()
            .find(|note| note.contains("mean-field limit"));
        assert_eq!(warning.is_some(), warned, "{flows} {queue}");
        assert!(
            warning.is_none_or(|note| note.contains(&format!("{flows} flows"))),
            "{warning:?}"
        );
    }
}

/// Section 5.4: many round trips in one class become groups; changes reach them.
#[test]
fn groups_and_changes() {
    let text = figure_7(80, &format!("{RED}, spacing = \"bernoulli\"")).replace(
        "rtt = \"10 ms\"",
        "rtt = \"uniform 10 ms .. 30 ms\"\nstart = \"uniform 0 s .. 2 s\"\nstop = \"18 s\"",
    ) + r#"
        [[change]]
        at = "8 s"
        link = "router"
        rate = "500 Mbit/s"
        [[change]]
        at = "8 s"
        link = "router"
        delay = "6 ms"
        queue = { max_probability = 0.01 }
        [[change]]
        at = "10 s"
        flows = "users"
        count = 40
        [[change]]
        at = "12 s"
        flows = "users"
        max_window = "32 packets"
        "#;
    let out = run(&text, Options::default());
    assert_eq!(out.classes.len(), 8);
    assert!(
        (out.classes[0].rtt - 0.01225).abs() < 1e-9 && (out.classes[7].rtt - 0.02975).abs() < 1e-9,
        "{:?}",
        out.classes
    );
    let flows = |time: f64| -> f64 {
        let at = out.traces.time.iter().position(|t| *t >= time).unwrap();
        out.traces.classes.iter().map(|class| class.flows[at]).sum()
    };
    assert!((flows(1.0) - 40.0).abs() <= 1.0, "{}", flows(1.0));
    for (time, expected) in [(7.0, 80.0), (11.0, 40.0), (19.0, 0.0)] {
        assert!(
            (flows(time) - expected).abs() < 1e-9,
            "{time}: {}",
            flows(time)
        );
    }
    assert!(out.balance.packets < 1e-9 && out.balance.in_flight < 1e-9);
}

/// Constant traffic beside the flows.
#[test]
fn unresponsive_traffic() {
    let text = figure_7(18, r#"aqm = "drop-tail""#)
        + r#"
        [[flows]]
        name = "probe"
        path = ["router"]
        packet_size = "1064 B"
        traffic = { kind = "cbr", rate = "10 Mbit/s" }
        "#;
    let out = run(&text, Options::default());
    assert!(
        (out.link.utilization - 0.990582).abs() < 1e-6,
        "{:?}",
        out.link
    );
}

/// All sources of a class count, however their starts are given (with one start for all, a single
/// source was counted).
#[test]
fn every_source_of_a_class_counts() {
    let used = |count: u32, rate: &str, start: &str| {
        let text = format!(
            r#"
            [scenario]
            duration = "20 s"
            measure = "5 s .. 20 s"
            [[link]]
            name = "router"
            rate = "20 Mbit/s"
            queue = {{ aqm = "drop-tail", capacity = "100 packets" }}
            [[flows]]
            count = {count}
            path = ["router"]
            rtt = "20 ms"
            start = "{start}"
            traffic = {{ kind = "cbr", rate = "{rate}" }}
            "#
        );
        run(&text, Options::default()).link.utilization
    };
    for start in ["0 s", "uniform 0 s .. 1 s"] {
        for (count, rate) in [(1, "12 Mbit/s"), (3, "4 Mbit/s")] {
            let used = used(count, rate, start);
            assert!((used - 0.6).abs() < 1e-9, "{count} from {start}: {used}");
        }
    }
}

/// Ten Reno flows over 10 Mbit/s and 50 ms; packets use 92 % (AVQ) and 98 % (Exponential RED).
fn ten_flows(queue: &str) -> String {
    format!(
        r#"
        [scenario]
        duration = "60 s"
        measure = "20 s .. 60 s"
        [[link]]
        name = "l"
        rate = "10 Mbit/s"
        queue = {{ capacity = "100 packets", {queue} }}
        [[flows]]
        count = 10
        path = ["l"]
        congestion = "reno"
        rtt = "50 ms"
        "#
    )
}

/// A law of the rate of arrivals does not see the bursts of an ACK clock: a burst that exceeds the
/// link lost all, and so did what its loss sent a round trip later (utilisations of 0.002 and
/// 0.06).
#[test]
fn laws_of_the_rate_of_arrivals() {
    for (aqm, low, high) in [("avq", 0.8, 0.981), ("exponential-red", 0.95, 0.99)] {
        let out = run(&ten_flows(&format!("aqm = \"{aqm}\"")), Options::default());
        let used = out.link.utilization;
        assert!((low..high).contains(&used), "{aqm}: {:?}", out.link);
    }
}

/// A threshold that drops is the limit of its queue: packets see no difference (both use 99.18 %).
/// As the equilibrium of a queue that follows the rate of arrivals, a link of ten flows was used by
/// 55 %.
#[test]
fn a_threshold_that_drops_is_a_full_queue() {
    let threshold = run(
        &ten_flows(r#"aqm = "threshold", threshold = "15 packets""#),
        Options::default(),
    );
    let full = ten_flows(r#"aqm = "drop-tail""#).replace("100 packets", "15 packets");
    let full = run(&full, Options::default());
    assert_eq!(format!("{:?}", threshold.link), format!("{:?}", full.link));
    assert!(threshold.link.utilization > 0.97, "{:?}", threshold.link);
    assert!(
        !threshold.notes.iter().any(|note| note.contains("M/M/1")),
        "{:?}",
        threshold.notes
    );
}

/// A threshold that marks is no limit: the queue grows beyond it, and windows fall together. A
/// hundred flows over 100 Mbit/s: packets use 85 %, their queue is 68 packets with a deviation of
/// 70, and 20 % are marked. Where each mark is a decrease the engine has 77 %, 82, 81 and 29 %.
#[test]
fn a_threshold_that_marks_is_no_limit() {
    let text = ten_flows(r#"aqm = "threshold", threshold = "150 packets", ecn = true"#)
        .replace("100 packets", "3000 packets")
        .replace("10 Mbit/s", "100 Mbit/s")
        .replace("count = 10", "count = 100\n        ecn = true");
    let link = run(&text, Options::default()).link;
    assert_eq!(link.loss, 0.0);
    assert!((link.utilization - 0.85).abs() < 0.1, "{link:?}");
    assert!((link.queue_mean - 68.0).abs() < 20.0, "{link:?}");
    assert!((link.queue_std - 70.0).abs() < 20.0, "{link:?}");
    assert!(link.queue_max > 150.0, "{link:?}");
}

/// An adapted maximum probability starts where the parameter says, not at zero: with steps that
/// take longer than the run it is RED.
#[test]
fn states_of_an_aqm_start_where_its_law_says() {
    let thresholds = r#"min_threshold = "10 packets", max_threshold = "40 packets", max_probability = 0.1, weight = 0.002"#;
    let red = run(
        &ten_flows(&format!(r#"aqm = "red", gentle = true, {thresholds}"#)),
        Options::default(),
    );
    let adapted = run(
        &ten_flows(&format!(
            r#"aqm = "adaptive-red", {thresholds}, interval = "1000 s""#
        )),
        Options::default(),
    );
    let (fixed, adaptive) = (red.link.queue_mean, adapted.link.queue_mean);
    assert!(
        (fixed - adaptive).abs() < 0.05 * fixed,
        "{fixed} and {adaptive} packets"
    );
}

/// Two flows over AVQ, which drops 87 % of their first windows.
const CRUSHED: &str = r#"
[scenario]
duration = "20 ms"
[[link]]
name = "a"
rate = "80 Mbit/s"
delay = "0.1 ms"
queue = { aqm = "avq" }
[[flows]]
name = "short"
path = ["a"]
congestion = "reno"
rtt = "0.2 ms"
[[flows]]
name = "long"
path = ["a"]
rtt = "2 s"
"#;

/// Each class has a grid of its own: that of a round trip of 0.2 ms had cells of 13 packets, those of
/// one of 2 s beside it, and its mean window came to -3.
#[test]
fn a_long_round_trip_leaves_the_others_their_grid() {
    let out = run(CRUSHED, Options::default());
    let window = out.classes[0].window_mean;
    assert!((1.0..4.0).contains(&window), "{window}");
    assert!(out.balance.in_flight < 1e-9);
}

/// Where even so nearly all windows are below a cell, the run ends with the reason.
#[test]
fn windows_below_a_cell_are_named() {
    let options = Options {
        cells_per_packet: 1024.0 / 14_000.0,
        ..Options::default()
    };
    let field = MeanField::new(&scenario(CRUSHED), options).unwrap();
    let error = field.finish().unwrap_err().to_string();
    assert!(error.contains("windows below a cell"), "{error}");
    assert!(
        error.contains("`short`") && error.contains("13.360 packets"),
        "{error}"
    );
}

/// A grid much coarser than the windows gives no answer without saying so.
#[test]
fn a_coarse_grid_is_said() {
    let wide = |packets: &str| {
        let text = CRUSHED.replace("congestion = \"reno\"\n", "").replace(
            "rtt = \"0.2 ms\"",
            &format!("rtt = \"0.2 ms\"\nmax_window = \"{packets} packets\""),
        );
        let notes = run(&text, Options::default()).notes;
        notes
            .iter()
            .any(|note| note.contains("flows `short`: cells of"))
    };
    assert!(wide("100000"));
    assert!(!wide("64"));
}
