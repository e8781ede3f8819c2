//! A stability chart and a trajectory from a scenario. `cargo bench -p ackclock-fluid`

use ackclock_delay::{FixedStep, Method};
use ackclock_fluid::{Choices, Equilibrium, Model, Rtt};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

const SCENARIO: &str = "[scenario]\nname = 'one flow'\nduration = '10 s'\n[[link]]\nname = 'link'\nrate = '1.2 Mbit/s'\ndelay = '0 ms'\n\
    queue = { aqm = 'red', capacity = 'unlimited', min_threshold = '50 packets', max_threshold = '550 packets', max_probability = 0.1, \
    weight = 0.0001, spacing = 'bernoulli' }\n\
    [[flows]]\nname = 'tcp'\ncount = 1\npath = ['link']\nrtt = '60 ms'\ncongestion = 'compound'\ndelayed_ack = false\n";

fn speed(c: &mut Criterion) {
    let scenario = ackclock_scenario::parse(SCENARIO, "bench").unwrap();
    let mut model = Model::from_scenario(&scenario, Choices::default()).unwrap();
    let at = model.equilibrium().unwrap();
    let rates: Vec<f64> = (0..100).map(|k| 60.0 + 4.0 * f64::from(k)).collect();
    let rtts: Vec<f64> = (0..100).map(|k| 0.03 + 0.002 * f64::from(k)).collect();
    c.bench_function("stability chart, 100 x 100", |b| {
        b.iter(|| {
            let chart = model
                .chart(&at, ("link.rate", "tcp.rtt"), (&rates, &rtts))
                .unwrap();
            assert!(chart.iter().all(Option::is_some));
            chart
        });
    });
    let frozen = model.frozen(&at.regimes);
    trajectory(c, "one class, smooth", &frozen, &at, 1);
    let clamped = Choices {
        clamped: true,
        rtt: Rtt::Queueing,
        ..Choices::default()
    };
    for (name, choices) in [
        ("ten classes, smooth", Choices::default()),
        ("ten classes, clamped, queueing delay", clamped),
    ] {
        let scenario = ackclock_scenario::parse(ten_classes(), "bench").unwrap();
        let model = Model::from_scenario(&scenario, choices).unwrap();
        let at = model.equilibrium().unwrap();
        let frozen = model.frozen(&at.regimes);
        trajectory(
            c,
            name,
            if choices.clamped { &model } else { &frozen },
            &at,
            10,
        );
    }
}

/// Ten classes of 20 flows each with round-trip times of 20 to 200 ms over one RED queue.
fn ten_classes() -> String {
    let mut text =
        SCENARIO[..SCENARIO.find("[[flows]]").unwrap()].replace("1.2 Mbit/s", "240 Mbit/s");
    for k in 1..=10 {
        text += &format!(
            "[[flows]]\nname = 'class {k}'\ncount = 20\npath = ['link']\nrtt = '{} ms'\ncongestion = 'compound'\ndelayed_ack = false\n",
            20 * k
        );
    }
    text
}

/// Flow-steps a second: classes times steps of one millisecond.
fn trajectory(c: &mut Criterion, name: &str, model: &Model, at: &Equilibrium, classes: u64) {
    let mut group = c.benchmark_group("trajectory by Heun's method");
    let steps = 100_000;
    group.throughput(Throughput::Elements(steps * classes));
    group.sample_size(10);
    group.bench_function(name, |b| {
        b.iter(|| {
            let start = |_: f64, x: &mut [f64]| x.copy_from_slice(&at.x);
            let mut run =
                FixedStep::new(model, &at.p, &start, 0.0, 1e-3, 10.0, Method::Heun).unwrap();
            run.run(steps, 0, &mut |_, _| {}).unwrap();
            run.state()[0]
        });
    });
    group.finish();
}

criterion_group!(benches, speed);
criterion_main!(benches);
