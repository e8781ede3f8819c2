//! Queues at their limit: what exceeds the service is lost.

use ackclock_fluid::{Choices, Model, Rtt};

const RATE: f64 = 100e6 / 12_000.0;

fn drop_tail(flows: u32, capacity: u32, more: &str) -> Model {
    let text = format!(
        "[scenario]\nduration = \"10 s\"\n\
         [[link]]\nname = \"link\"\nrate = \"100 Mbit/s\"\ndelay = \"5 ms\"\nqueue = {{ aqm = \"drop-tail\", capacity = \"{capacity} packets\" }}\n\
         [[flows]]\ncount = {flows}\npath = [\"link\"]\ncongestion = \"reno\"\nrtt = \"100 ms\"\n{more}\n"
    );
    let scenario = ackclock_scenario::parse(&text, "test").unwrap_or_else(|e| panic!("{e:?}"));
    let choices = Choices {
        rtt: Rtt::Queueing,
        clamped: true,
        ..Choices::default()
    };
    Model::from_scenario(&scenario, choices).unwrap()
}

/// The only equilibrium over drop-tail: the queue full, and a loss at which Reno's window, w^2 = 2
/// (1 - p) / p, sends what the link takes: N w (1 - p) / R = C with R = RTT + limit / C.
#[test]
fn the_overflow_regime_is_the_equilibrium() {
    let model = drop_tail(200, 100, "");
    let at = model.equilibrium().unwrap();
    assert_eq!(at.regime_names, ["overflow"]);
    let (w, q) = (at.x[0], at.x[1]);
    assert_eq!(q, 100.0);
    let p = at.probability[0];
    let rtt = 0.1 + 100.0 / RATE;
    assert!((200.0 * w * (1.0 - p) / rtt / RATE - 1.0).abs() < 1e-9);
    assert!(
        (w * w * p / (2.0 * (1.0 - p)) - 1.0).abs() < 1e-9,
        "{w} {p}"
    );
    assert!(model.outside(&at.regimes, &at.x, &at.p).is_empty());
    assert!(
        model.unstable_roots(&at).unwrap() > 0,
        "windows of {w} packets"
    );
}

/// There the senders alone move, with p = 1 - c / w(t - R), c = R C / N the window that fills the link: R w' = i(w) c - (w(t - R) - c) d(w). Linearised:
/// R x' = -a x - b x(t - R) with a = c / w^2 + (w - c) / 2, b = w / 2, which is stable only where acos(-a / b) > (b^2 - a^2)^(1/2).
#[test]
fn small_windows_rest_and_large_ones_cycle() {
    for flows in [300, 400, 500, 600, 800] {
        let model = drop_tail(flows, 100, "");
        let at = model.equilibrium().unwrap();
        let w = at.x[0];
        let c = (0.1 + 100.0 / RATE) * RATE / f64::from(flows);
        let (a, b) = (c / (w * w) + 0.5 * (w - c), 0.5 * w);
        let stable = a >= b || (-a / b).acos() > (b * b - a * a).sqrt();
        assert_eq!(
            model.unstable_roots(&at).unwrap() == 0,
            stable,
            "{flows}: {w}"
        );
    }
}

/// Access links: transmission is part of the round trip, and windows beyond what the link lets out
/// send no faster.
#[test]
fn access_links_delay_and_limit() {
    let model = drop_tail(40, 100, "access_rate = \"2 Mbit/s\"");
    let p = model.parameters();
    let base = 0.1 + 2.0 * 8.0 * 1540.0 / 2e6;
    let access = 2e6 / 12_000.0;
    for (window, rate, rtt) in [(10.0, 10.0 / base, base), (40.0, access, 40.0 / access)] {
        let [_, rtts, rates, arrivals] = model.rates(&[window, 0.0], &p);
        assert!((rates[0] / rate - 1.0).abs() < 1e-12, "{window}: {rates:?}");
        assert!((rtts[0] / rtt - 1.0).abs() < 1e-12, "{window}: {rtts:?}");
        assert!((arrivals[0] / (40.0 * rate) - 1.0).abs() < 1e-12);
    }
    // forty times 2 Mbit/s never fill 100 Mbit/s
    assert!(model.equilibrium().is_err());
}

/// Beside Reno in a full queue Vegas rests at three packets of its own, the middle of alpha and beta,
/// so that w = 3 (RTT + limit / C) / (limit / C), a sixteenth of an even share: there its law is
/// flat, and a search from even shares alone ends nowhere.
#[test]
fn vegas_balances_beside_reno() {
    const RATE: f64 = 20e6 / 12_000.0;
    for rtt in [30, 34, 36, 40, 43, 45, 48] {
        let text = format!(
            "[scenario]\nduration = \"80 s\"\n\
             [[link]]\nname = \"link\"\nrate = \"20 Mbit/s\"\ndelay = \"5 ms\"\nqueue = {{ aqm = \"drop-tail\", capacity = \"200 packets\" }}\n\
             [[flows]]\ncount = 2\npath = [\"link\"]\ncongestion = \"vegas\"\nrtt = \"{rtt} ms\"\n\
             [[flows]]\ncount = 2\npath = [\"link\"]\ncongestion = \"reno\"\nrtt = \"40 ms\"\n"
        );
        let scenario = ackclock_scenario::parse(&text, "test").unwrap_or_else(|e| panic!("{e:?}"));
        let model = Model::from_scenario(&scenario, Choices::usual(&scenario)).unwrap();
        let at = model
            .equilibrium()
            .unwrap_or_else(|error| panic!("{rtt} ms: {error}"));
        assert_eq!(at.regime_names, ["overflow"]);
        let wait = 200.0 / RATE;
        let w = 3.0 * (1e-3 * f64::from(rtt) + wait) / wait;
        assert!(
            (at.x[0] / w - 1.0).abs() < 1e-3,
            "{rtt} ms: {} {w}",
            at.x[0]
        );
        assert!(model.unstable_roots(&at).unwrap() > 0, "{rtt} ms");
    }
}
