//! Senders whose windows follow the queueing delay: where they rest, and the characteristic
//! equations of their papers.

use std::f64::consts::TAU;

use crate::common::first_hopf;
use ackclock_fluid::{Choices, Equilibrium, Form, Model, Rtt};

/// Packets/s.
const RATE: f64 = 10_000.0;
const BASE: f64 = 0.1;

/// Flows of one kind over a link of 10,000 packets/s and 100 ms; with a queue of the given text.
fn over(queue: &str, congestion: &str, flows: u32) -> Model {
    at_rate(80e6, queue, congestion, flows, 0.1, Form::PerAck)
}

fn at_rate(rate: f64, queue: &str, congestion: &str, flows: u32, base: f64, form: Form) -> Model {
    let text = format!(
        "[scenario]\nduration = \"100 s\"\n\
         [[link]]\nname = \"link\"\nrate = \"{rate} bit/s\"\ndelay = \"5 ms\"\nqueue = {{ {queue} }}\n\
         [[flows]]\nname = \"senders\"\ncount = {flows}\npath = [\"link\"]\ncongestion = {congestion}\nrtt = \"{base} s\"\npacket_size = \"1000 B\"\n\
         delayed_ack = false\n"
    );
    let scenario =
        ackclock_scenario::parse(&text, "test").unwrap_or_else(|e| panic!("{text}: {e:?}"));
    let choices = Choices {
        form,
        rtt: Rtt::Queueing,
        clamped: true,
        ..Choices::default()
    };
    Model::from_scenario(&scenario, choices).unwrap()
}

const ENDLESS: &str = "aqm = \"drop-tail\", capacity = \"unlimited\"";
const RED: &str = "aqm = \"red\", capacity = \"4000 packets\", min_threshold = \"200 packets\", max_threshold = \"2000 packets\", weight = 1e-4, \
                   spacing = \"bernoulli\"";

fn queue(model: &Model, at: &Equilibrium) -> f64 {
    at.x[model
        .state_names()
        .iter()
        .position(|name| name == "link.queue (packets)")
        .unwrap()]
}

fn close(what: &str, value: f64, expected: f64, within: f64) {
    assert!(
        (value / expected - 1.0).abs() < within,
        "{what}: {value}, not {expected}"
    );
}

/// Returns what s + k (1 - r) + k r e^-s F(s) is at the rightmost root, with s in round trips and r
/// = base RTT / RTT. It is zero for senders whose window falls by k packets a round trip for each
/// packet of their own that waits, and that see the delay through the filter F. ACKs clock them:
/// the queue is what windows have beyond what the path carries.
fn residual(
    model: &Model,
    at: &Equilibrium,
    k: f64,
    filter: impl Fn((f64, f64)) -> (f64, f64),
) -> f64 {
    let rtt = BASE + queue(model, at) / RATE;
    let r = BASE / rtt;
    let root = model.roots(at, 1).unwrap().roots[0];
    let (a, b) = (root.re * rtt, root.im * rtt);
    let times = |(a, b): (f64, f64), (c, d): (f64, f64)| (a * c - b * d, a * d + b * c);
    let left = (a + k * (1.0 - r), b);
    let late = ((-a).exp() * b.cos(), -(-a).exp() * b.sin());
    let right = times(late, filter((a, b)));
    (left.0 + k * r * right.0).hypot(left.1 + k * r * right.1)
}

#[test]
fn fast_keeps_alpha_packets_of_each_flow_in_the_queue() {
    for (flows, alpha) in [(100, 20.0), (40, 8.0)] {
        let model = over(
            ENDLESS,
            &format!("{{ kind = \"fast\", alpha = \"{alpha} packets\" }}"),
            flows,
        );
        let at = model.equilibrium().unwrap();
        let waiting = f64::from(flows) * alpha;
        close("queue", queue(&model, &at), waiting, 1e-9);
        assert_eq!(at.signals[0], 0.0);
        let share = (waiting + BASE * RATE) / f64::from(flows);
        close("window", at.x[0], share, 1e-9);
        // the mean RTT: three samples in a window
        let filter = |(a, b): (f64, f64)| {
            let size = (a + 3.0) * (a + 3.0) + b * b;
            (3.0 * (a + 3.0) / size, -3.0 * b / size)
        };
        assert!(residual(&model, &at, 0.5, filter) < 1e-7);
        assert_eq!(model.unstable_roots(&at).unwrap(), 0);
    }
}

#[test]
fn vegas_rests_between_alpha_and_beta() {
    let model = over(ENDLESS, "{ kind = \"vegas\" }", 50);
    let at = model.equilibrium().unwrap();
    close("queue", queue(&model, &at), 150.0, 1e-9);
    assert_eq!(at.signals[0], 0.0);
    assert!(residual(&model, &at, 1.0 / 1.5, |_| (1.0, 0.0)) < 1e-7);
    assert_eq!(model.unstable_roots(&at).unwrap(), 0);
    // a single threshold is a sharper step, and too sharp a one for a path whose queue is short: k
    // r = 1.9 > pi / 2
    let sharp = over(
        ENDLESS,
        "{ kind = \"vegas\", alpha = \"1 packets\", beta = \"1 packets\" }",
        50,
    );
    let at = sharp.equilibrium().unwrap();
    close("queue", queue(&sharp, &at), 50.0, 1e-9);
    assert!(residual(&sharp, &at, 2.0, |_| (1.0, 0.0)) < 1e-7);
    assert!(sharp.unstable_roots(&at).unwrap() > 0);
}

/// s + K e^-s with K = gain N / q has its first root on the axis where K is pi / 2: four round
/// trips are a period.
#[test]
fn ledbat_waits_for_its_target_and_is_stable_up_to_a_number_of_flows() {
    let text = "{ kind = \"ledbat\", target = \"20 ms\", gain = 0.5 }";
    let mut model = over(ENDLESS, text, 100);
    let at = model.equilibrium().unwrap();
    close("queue", queue(&model, &at), 200.0, 1e-9);
    assert_eq!(at.signals[0], 0.0);
    let most = 0.25 * TAU * 200.0 / 0.5;
    // cut where the senders see the delay, the loop is K e^-s / s: so much more K, that is flows,
    // does it bear
    let margins = model.margins(&at).unwrap();
    close("gain margin", margins.gain, most / 100.0, 1e-6);
    let point = first_hopf(&mut model, &at, "senders.count", 100.0, 900.0);
    let count = model.parameter("senders.count").unwrap();
    close("flows", point.p[count], most, 1e-6);
    close("period", TAU / point.omega, 4.0 * 0.12, 1e-6);
}

/// Budzisz et al., lemma 4.1: 400 flows of 200 ms at 100 Mbit/s rest in region A and in region B;
/// with growth in time as in equation (2). Lemma 4.3: the second is a saddle. Figure 2: 25 Mbit/s
/// and 100 ms.
#[test]
fn cx_rests_on_both_sides_of_its_threshold() {
    let text = "{ kind = \"cx\", delta_max = \"100 ms\" }";
    for (rate, base, flows, delays) in [
        (100e6, 0.2, 400, [0.017_935_82, 0.023_948_898]),
        (25e6, 0.1, 10, [0.005_551_470_9, 0.072_606_234]),
        (25e6, 0.1, 30, [0.009_603_076_8, 0.048_918_126]),
        (25e6, 0.1, 50, [0.016_346_995, 0.029_199_896]),
        (25e6, 0.1, 59, [0.019_881_615, 0.020_295_926]),
    ] {
        let model = at_rate(rate, ENDLESS, text, flows, base, Form::Rate);
        let mut equilibria = model.equilibria().unwrap();
        equilibria.sort_by(|a, b| a.x[1].total_cmp(&b.x[1]));
        assert_eq!(equilibria.len(), 2, "{flows}: {equilibria:?}");
        for (at, delay) in equilibria.iter().zip(delays) {
            close("delay", at.x[1], delay, 1e-6);
            close("queue", queue(&model, at), delay * rate / 8000.0, 1e-6);
            assert_eq!(at.signals[0], 0.0);
        }
        let saddle = model.roots(&equilibria[1], 1).unwrap().roots[0];
        assert!(saddle.re > 0.0 && saddle.im == 0.0, "{flows}: {saddle}");
    }
}

/// Lemma 4.2 and 4.3 have no delays and no averaging: there region A is stable, with the roots of
/// equations (2) and (3).
#[test]
fn cx_without_delays_has_the_roots_of_the_paper() {
    let text = "{ kind = \"cx\", delta_max = \"100 ms\", averaging_time = \"1 us\" }";
    let model = at_rate(100e6, ENDLESS, text, 400, 0.2, Form::Rate);
    let mut equilibria = model.equilibria().unwrap();
    equilibria.sort_by(|a, b| a.x[1].total_cmp(&b.x[1]));
    let root = |at: &Equilibrium| model.undelayed().roots(at, 1).unwrap().roots[0];
    let (a, b) = (root(&equilibria[0]), root(&equilibria[1]));
    close("region A", a.re, -2.967_994, 1e-4);
    close("region A", a.im.abs(), 7.032_586, 1e-4);
    close("region B", b.re, 3.137_761, 1e-4);
}

/// Early responses at p / (1 + p w) a packet balance growth.
#[test]
fn pert_rests_where_early_responses_balance_growth() {
    let model = over(ENDLESS, "{ kind = \"pert\" }", 40);
    let at = model.equilibrium().unwrap();
    let (w, delay) = (at.x[0], queue(&model, &at) / RATE);
    let p = 0.05 * (delay - 0.005) / 0.005;
    let early = p / (1.0 + p * w);
    close("growth", (1.0 - early) / w, early * 0.35 * w, 1e-9);
    close("window", w, RATE / 40.0 * (BASE + delay), 1e-9);
    assert_eq!(at.signals[0], 0.0);
}

/// Fu and Liew: with a share c of congested flows, (1 - c / 2) (1 - p) = p w^2 (0.2 + 0.3 c). Over
/// a long queue c is nearly one: half of Reno's growth, and a loss halves. With none it is Reno
/// that loses a fifth.
#[test]
fn veno_is_reno_with_half_the_growth_over_a_long_queue() {
    let short = "aqm = \"red\", capacity = \"4000 packets\", min_threshold = \"1 packets\", max_threshold = \"8 packets\", spacing = \"bernoulli\"";
    for (queue_text, least, most) in [(RED, 0.95, 1.0), (short, 0.0, 0.05)] {
        let model = over(queue_text, "{ kind = \"veno\" }", 40);
        let at = model.equilibrium().unwrap();
        let (w, p) = (at.x[0], at.signals[0]);
        let waiting = queue(&model, &at);
        let u = 3.0 * (w * waiting / (RATE * BASE + waiting) / 3.0 - 1.0);
        let c = 0.5 * (1.0 + u / u.hypot(1.0));
        assert!((least..=most).contains(&c), "{c}");
        let grows = (1.0 - 0.5 * c) * (1.0 - p);
        close("growth", grows, p * w * w * (0.2 + 0.3 * c), 1e-6);
    }
}

/// A short queue leaves YeAH fast: Scalable TCP's 1 / 100 and an eighth, p = 0.08 whatever the
/// window. A long one makes it Reno.
#[test]
fn yeah_is_fast_over_a_short_queue_and_reno_over_a_long_one() {
    let model = over(RED, "{ kind = \"yeah\" }", 40);
    let at = model.equilibrium().unwrap();
    let (w, p) = (at.x[0], at.signals[0]);
    close("p w^2", p * w * w, 2.0, 0.05);
}

/// Mascolo: at rest the rate estimate is the rate of ACKs, and a signal takes what waits: (1 - p) =
/// p w^2 (1 - (1 - p) base RTT / RTT).
#[test]
fn westwood_gives_up_what_waits() {
    let model = over(RED, "{ kind = \"westwood\" }", 40);
    let at = model.equilibrium().unwrap();
    let (w, p) = (at.x[0], at.signals[0]);
    let rtt = BASE + queue(&model, &at) / RATE;
    close("rate", at.x[1], (1.0 - p) * w / rtt, 1e-9);
    let waits = 1.0 - (1.0 - p) * BASE / rtt;
    close("p w^2", p * w * w * waits, 1.0 - p, 1e-9);
}

/// Growth and fall of H-TCP are both in proportion to 1 - beta: 2 alpha(s) = w s / R at the mean
/// time s = 1 / (p x) since a loss.
#[test]
fn htcp_rests_where_the_time_since_the_last_loss_does() {
    let model = over(RED, "{ kind = \"htcp\", rtt_scaling = false }", 40);
    let at = model.equilibrium().unwrap();
    let (w, p, age) = (at.x[0], at.signals[0], at.x[1]);
    let rtt = BASE + queue(&model, &at) / RATE;
    close("age", age, rtt / (p * w), 1e-6);
    // the mean of 1 + 10 x + x^2 / 4 beyond the first second of an exponential time
    let alpha = 1.0 + (-1.0 / age).exp() * (10.0 * age + 0.5 * age * age);
    close("growth", 2.0 * alpha * (1.0 - p), p * w * w, 1e-6);
    model.unstable_roots(&at).unwrap();
}

/// Their law is one of the delay: without it there is nothing to say.
#[test]
fn constant_round_trips_are_refused() {
    let text = format!(
        "[scenario]\nduration = \"100 s\"\n[[link]]\nname = \"link\"\nrate = \"80 Mbit/s\"\ndelay = \"5 ms\"\nqueue = {{ {ENDLESS} }}\n\
         [[flows]]\nname = \"senders\"\ncount = 10\npath = [\"link\"]\ncongestion = \"fast\"\nrtt = \"100 ms\"\n"
    );
    let scenario = ackclock_scenario::parse(&text, "test").unwrap();
    let refused = Model::from_scenario(&scenario, Choices::default()).unwrap_err();
    assert!(refused.to_string().contains("queueing delay"), "{refused}");
}
