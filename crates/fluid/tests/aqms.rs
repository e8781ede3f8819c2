//! Equilibria of the AQMs' fluid laws: where their sources put them.

use ackclock_fluid::{Choices, Decrease, Equilibrium, Model, Rtt};

const FLOWS: f64 = 100.0;
/// 100 Mbit/s of 1500 B, packets/s.
const RATE: f64 = 100e6 / 12_000.0;
const RTT: f64 = 0.1;

/// Reno flows over a link of 5 ms, at a round trip of 100 ms: the keys of the link, those of the
/// flows and what follows them.
fn reno(link: &str, flows: &str, choices: Choices) -> (Model, Equilibrium) {
    let text = format!(
        "[scenario]\nduration = \"100 s\"\n\
         [[link]]\nname = \"link\"\ndelay = \"5 ms\"\n{link}\n\
         [[flows]]\nname = \"tcp\"\npath = [\"link\"]\ncongestion = \"reno\"\nrtt = \"100 ms\"\n{flows}\n"
    );
    let scenario = ackclock_scenario::parse(&text, "test")
        .unwrap_or_else(|errors| panic!("{link} {flows}: {errors:?}"));
    let model = Model::from_scenario(&scenario, choices).unwrap();
    let at = model
        .equilibrium()
        .unwrap_or_else(|error| panic!("{link} {flows}: {error}"));
    (model, at)
}

/// A hundred Reno flows over the given queue; queueing delay is left out of their round-trip time.
fn rest(queue: &str, ecn: bool) -> (Model, Equilibrium) {
    let marks = if ecn { ", ecn = true" } else { "" };
    let link =
        format!("rate = \"100 Mbit/s\"\nqueue = {{ capacity = \"2000 packets\", {queue}{marks} }}");
    let flows = format!("count = 100\necn = {ecn}");
    reno(&link, &flows, Choices::default())
}

fn state(model: &Model, at: &Equilibrium, name: &str) -> f64 {
    let place = model
        .state_names()
        .iter()
        .position(|known| known.contains(name))
        .unwrap_or_else(|| panic!("{:?}", model.state_names()));
    at.x[place]
}

fn close(what: &str, value: f64, expected: f64) {
    assert!(
        (value / expected - 1.0).abs() < 1e-6,
        "{what}: {value} {expected}"
    );
}

/// Reno's window where (1 - p) / w = p w / 2.
fn window(p: f64) -> f64 {
    (2.0 * (1.0 - p) / p).sqrt()
}

#[test]
fn integral_laws_rest_at_their_reference_whatever_the_load() {
    for (queue, expected) in [
        ("aqm = \"pi\", reference = \"70 packets\"", 70.0),
        ("aqm = \"rem\", reference = \"70 packets\"", 70.0),
        (
            "aqm = \"rem\", reference = \"70 packets\", rate_weight = 0.1",
            70.0,
        ),
        ("aqm = \"pie\", target = \"12 ms\"", 0.012 * RATE),
        ("aqm = \"pi2\", target = \"12 ms\"", 0.012 * RATE),
    ] {
        let (model, at) = rest(queue, true);
        close(queue, state(&model, &at, "queue (packets)"), expected);
        // marked packets are delivered: the windows fill the link
        let w = state(&model, &at, "window (packets)");
        close(queue, w, RATE * RTT / FLOWS);
        close(queue, window(at.probability[0]), w);
    }
}

#[test]
fn rem_counts_what_it_drops_as_load() {
    let (model, at) = rest("aqm = \"rem\", reference = \"70 packets\"", false);
    let p = at.probability[0];
    let arrivals = FLOWS * state(&model, &at, "window (packets)") / RTT;
    close("delivered", arrivals * (1.0 - p), RATE);
    // alpha f (q - q_ref) + x - C = 0
    let queue = 70.0 - (arrivals - RATE) / (0.1 * 500.0);
    close("queue", state(&model, &at, "queue (packets)"), queue);
}

#[test]
fn virtual_queues_leave_a_part_of_the_link_free() {
    for queue in [
        "aqm = \"avq\", gamma = 0.95",
        "aqm = \"exponential-red\", gamma = 0.95",
    ] {
        let (model, at) = rest(queue, true);
        let p = at.probability[0];
        let w = state(&model, &at, "window (packets)");
        close(queue, w, 0.95 * RATE * RTT / FLOWS);
        close(queue, window(p), w);
        if queue.contains("avq") {
            let capacity = state(&model, &at, "virtual capacity");
            close(queue, capacity, 0.95 * RATE * (1.0 - p));
        } else {
            // p = 10^-4 exp(0.05 (v - 20))
            close(
                queue,
                state(&model, &at, "virtual queue"),
                20.0 + 20.0 * (p / 1e-4).ln(),
            );
        }
    }
}

#[test]
fn ap_red_is_red_with_scaled_parameters() {
    let red = "min_threshold = \"100 packets\", max_threshold = \"300 packets\", max_probability = 0.05, weight = 1e-4";
    let ap = format!(
        "aqm = \"ap-red\", {red}, reference_rtt = \"200 ms\", reference_flows = 200, reference_rate = \"200 Mbit/s\""
    );
    // k = 1/4, k_n = 1/2: thresholds times 1/4, probability times 4, weight times 8
    let same = "aqm = \"red\", min_threshold = \"25 packets\", max_threshold = \"75 packets\", max_probability = 0.2, weight = 8e-4";
    let (model, scaled) = rest(&ap, true);
    let (other, plain) = rest(same, true);
    assert_eq!(model.state_names(), other.state_names());
    for (a, b) in scaled.x.iter().zip(&plain.x) {
        close("state", *a, *b);
    }
}

/// WRED drops traffic that does not react by its own priority: where that spares it, TCP has what
/// is left of the link to itself.
#[test]
fn wred_knows_the_priority_of_traffic_that_does_not_react() {
    let rest = |aqm: &str, rate: u32, traffic: &str| {
        let link = format!(
            "rate = \"{rate} Mbit/s\"\nqueue = {{ aqm = {aqm}, capacity = \"2000 packets\", min_threshold = \"50 packets\", \
             max_threshold = \"300 packets\", max_probability = 0.05, weight = 1e-4, spacing = \"bernoulli\" }}"
        );
        let choices = Choices {
            rtt: Rtt::Fixed,
            ..Choices::default()
        };
        let (model, at) = reno(&link, &format!("count = 60\n{traffic}"), choices);
        let window = state(&model, &at, "window (packets)");
        (window, state(&model, &at, "queue (packets)"))
    };
    let cbr = |priority: u8| {
        format!(
            "[[flows]]\nname = \"cbr\"\npath = [\"link\"]\npriority = {priority}\ntraffic = {{ kind = \"cbr\", rate = \"40 Mbit/s\" }}\n"
        )
    };
    let wred = "\"wred\", step = 0.125";
    let spared = rest(wred, 100, &cbr(7));
    let alone = rest("\"red\"", 60, "");
    assert!(spared.1 < 50.0 + 7.0 * 0.125 * 250.0, "{spared:?}");
    close("window", spared.0, alone.0);
    close("queue", spared.1, alone.1);
    // of priority 0 a part of it is dropped, and TCP has more
    let dropped = rest(wred, 100, &cbr(0));
    assert!(dropped.0 > 1.005 * alone.0, "{dropped:?} {alone:?}");
}

/// The wire loses a tenth of a percent after the queue: senders hear of both, the queue's own share
/// falls, and round trips have the mean of the jitter.
#[test]
fn loss_and_jitter_on_the_wire() {
    let red = "aqm = \"red\", min_threshold = \"50 packets\", max_threshold = \"1000 packets\", max_probability = 0.1, weight = 1e-4, spacing = \"bernoulli\"";
    let with = |wire: &str| {
        let link = format!(
            "rate = \"100 Mbit/s\"\n{wire}queue = {{ {red}, capacity = \"2000 packets\" }}"
        );
        let choices = Choices {
            rtt: Rtt::Queueing,
            ..Choices::default()
        };
        reno(&link, "count = 60", choices)
    };
    let (model, at) = with("loss = { kind = \"random\", probability = 0.001 }\n");
    let (w, p) = (state(&model, &at, "window (packets)"), at.probability[0]);
    let heard = 1.0 - (1.0 - p) * 0.999;
    close("heard", at.signals[0], heard);
    close("window", w, window(heard));
    // what the queue lets through fills the link
    let rtt = RTT + state(&model, &at, "queue (packets)") / RATE;
    close("rate", 60.0 * w / rtt * (1.0 - p), RATE);
    // packets that may overtake each other are late by the mean
    let (model, at) = with("jitter = { delay = \"uniform 0 ms .. 20 ms\", reorder = true }\n");
    let rtt = RTT + 0.01 + state(&model, &at, "queue (packets)") / RATE;
    let w = state(&model, &at, "window (packets)");
    close("jitter", 60.0 * w / rtt * (1.0 - at.probability[0]), RATE);
}

/// Losses that meet windows at random: the square of the mean window is 1.7155 / p for halvings, as
/// in the law of a single window (Reynier; Ott), not 2 / p.
#[test]
fn losses_at_random_give_the_square_root_law() {
    let red = "aqm = \"red\", min_threshold = \"50 packets\", max_threshold = \"1000 packets\", max_probability = 0.02, weight = 1e-4, spacing = \"bernoulli\"";
    let link = format!("rate = \"100 Mbit/s\"\nqueue = {{ {red}, capacity = \"2000 packets\" }}");
    let choices = Choices {
        decrease: Decrease::Random,
        ..Choices::default()
    };
    let (model, at) = reno(&link, "count = 10", choices);
    let (w, p) = (state(&model, &at, "window (packets)"), at.probability[0]);
    let square = p * w * w / (1.0 - p);
    assert!((square - 1.309_8 * 1.309_8).abs() < 1e-3, "{square}");
}
