//! Stability charts from a scenario. `cargo bench -p ackclock-speed --bench fluid`

use ackclock_fluid::{Choices, Model};
use criterion::{Criterion, criterion_group, criterion_main};

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
}

criterion_group!(benches, speed);
criterion_main!(benches);
