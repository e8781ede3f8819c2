//! Charts over two parameters.

use ackclock_algorithms::fluid::Averaging;
use ackclock_delay::metered;
use ackclock_fluid::{Choices, Model, Rtt};

/// Work that a chart of 10,000 cells may take, twice what it does. Walking to each cell without an
/// equilibrium anew took thirty times that.
const WORK: u64 = 20_000_000;

/// Sixty Compound flows behind access links of 2 Mbit/s, 120 Mbit/s together.
fn compound() -> Model {
    let text = include_str!("../../../scenarios/compound-red.toml");
    let scenario = ackclock_scenario::parse(text, "test").unwrap_or_else(|e| panic!("{e:?}"));
    let choices = Choices {
        rtt: Rtt::Queueing,
        small_windows: true,
        averaging: Averaging::Exponential,
        clamped: true,
        ..Choices::default()
    };
    Model::from_scenario(&scenario, choices).unwrap()
}

fn over(now: f64, factor: f64) -> Vec<f64> {
    let value = |k| now / factor * (factor * factor).powf(f64::from(k) / 99.0);
    (0..100).map(value).collect()
}

const NAMES: [&str; 4] = ["compound.rtt", "bottleneck.rate", "compound.count", "gain"];

/// Charts over the first parameter and each later one: a cell without an equilibrium is not walked
/// to again and again, and every cell says what an equilibrium found afresh there does.
fn in_little_work(names: &[&str]) {
    let mut model = compound();
    let at = model.equilibrium().unwrap();
    let first = names[0];
    for &second in &names[1..] {
        let free = [first, second].map(|name| model.parameter(name).unwrap());
        let now = free.map(|index| model.parameters()[index]);
        let values = now.map(|value| over(value, 4.0));
        let chart = metered(
            WORK,
            || true,
            || model.chart(&at, (first, second), (&values[0], &values[1])),
        );
        let chart = chart
            .unwrap_or_else(|_| panic!("{first} {second}"))
            .unwrap();
        assert!(chart.contains(&None) && chart.contains(&Some(0)));
        for cell in (0..10_000).step_by(367) {
            let mut there = model.clone();
            there.set(free[0], values[0][cell / 100]);
            there.set(free[1], values[1][cell % 100]);
            let fresh = there.equilibria().ok().and_then(|all| {
                let same = all.into_iter().find(|other| other.regimes == at.regimes)?;
                ackclock_delay::count_right_of(&there.linearised(&same), 0.0).ok()
            });
            assert_eq!(chart[cell], fresh, "{first} {second} {cell}");
        }
    }
}

#[test]
fn of_a_round_trip_in_little_work() {
    in_little_work(&NAMES);
}

#[test]
fn of_other_pairs_in_little_work() {
    in_little_work(&NAMES[1..]);
    in_little_work(&NAMES[2..]);
}

/// Thirty Cx-TCP flows have two equilibria with a queue that is not full, which meet in a fold, and
/// one with a full queue. Each chart follows the one that it is asked about: the lower two up to
/// the fold and no further, the third everywhere.
#[test]
fn a_chart_follows_the_equilibrium_asked_about() {
    let text = include_str!("../../../papers/cx-tcp/alone.toml");
    let scenario = ackclock_scenario::parse(text, "test").unwrap_or_else(|e| panic!("{e:?}"));
    let choices = Choices {
        rtt: Rtt::Queueing,
        clamped: true,
        ..Choices::default()
    };
    let mut model = Model::from_scenario(&scenario, choices).unwrap();
    let names = ("delay-based.count", "delay-based.rtt");
    let free = [names.0, names.1].map(|name| model.parameter(name).unwrap());
    let counts: Vec<f64> = (0..17).map(|k| 10.0 + 5.0 * f64::from(k)).collect();
    let rtts: Vec<f64> = (0..15).map(|k| 0.02 * f64::from(k + 1)).collect();
    let wanted = model.equilibria().unwrap();
    assert_eq!(wanted.len(), 3);
    let charts: Vec<_> = wanted
        .iter()
        .map(|at| model.chart(at, names, (&counts, &rtts)).unwrap())
        .collect();
    let mut beyond = 0;
    for cell in 0..counts.len() * rtts.len() {
        let mut there = model.clone();
        there.set(free[0], counts[cell / rtts.len()]);
        there.set(free[1], rtts[cell % rtts.len()]);
        let verdict = |at| ackclock_delay::count_right_of(&there.linearised(at), 0.0).ok();
        let fresh = there.equilibria().unwrap();
        let (mut low, full): (Vec<_>, Vec<_>) =
            fresh.iter().partition(|at| at.regimes == wanted[0].regimes);
        low.sort_by(|a, b| a.x[0].total_cmp(&b.x[0]));
        assert_eq!(
            charts[2][cell],
            full.first().and_then(|at| verdict(at)),
            "{cell}"
        );
        for (k, chart) in charts[..2].iter().enumerate() {
            assert_eq!(
                chart[cell],
                low.get(k).and_then(|at| verdict(at)),
                "{k} {cell}"
            );
        }
        beyond += usize::from(low.is_empty());
    }
    assert!((20..100).contains(&beyond), "{beyond}");
}
