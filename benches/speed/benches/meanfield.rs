//! Speed of the engine: simulated seconds per second on the example of Reynier (2006), section 5,
//! and of the analyses.

use std::hint::black_box;
use std::sync::Arc;

use ackclock_algorithms::fluid::AqmInput;
use ackclock_meanfield::{
    Aimd, DropTail, Hazard, MeanField, Model, Options, QueueLaw, RedLink, RenoStationary,
    Stationary, WindowLaw,
};
use criterion::{Criterion, criterion_group, criterion_main};

#[path = "../../../crates/meanfield/tests/common/mod.rs"]
mod common;

use common::{RATE, bottleneck, start, users};

#[derive(Clone, Copy, Debug)]
struct Red {
    min: f64,
    max: f64,
}

impl QueueLaw for Red {
    fn probability(&self, input: &AqmInput, _: &[f64]) -> f64 {
        (0.005 * (input.queue - self.min) / (self.max - self.min)).max(0.0)
    }
}

/// Reno without the shortcut for halving.
#[derive(Debug)]
struct Slow;

impl WindowLaw for Slow {
    fn increase(&self, window: f64) -> f64 {
        1.0 / window
    }
    fn decrease(&self, window: f64) -> f64 {
        0.5 * window
    }
}

fn model(flows: f64, red: bool, law: Arc<dyn WindowLaw>) -> Model {
    // 40 flows a gigabit
    let rate = RATE * flows / 40.0;
    let buffer = 0.002 * rate;
    let aqm: Arc<dyn QueueLaw> = if red {
        Arc::new(Red {
            min: 0.2 * buffer,
            max: buffer,
        })
    } else {
        Arc::new(DropTail)
    };
    Model {
        bottleneck: bottleneck(rate, buffer, aqm),
        classes: vec![users(law)],
        unresponsive: Vec::new(),
        events: vec![start(flows, 10.0)],
        duration: 1.0,
        measure: (0.5, 1.0),
    }
}

/// One simulated second each: a hundred simulated seconds per second are 10 ms here.
fn engine(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("simulated second");
    let mut run = |name: &str, flows: f64, red: bool, law: Arc<dyn WindowLaw>, hazard: Hazard| {
        let model = model(flows, red, law);
        let options = Options {
            hazard,
            ..Options::default()
        };
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                MeanField::from_model(black_box(model.clone()), options.clone())
                    .unwrap()
                    .finish()
                    .unwrap()
            });
        });
    };
    let reno: Arc<dyn WindowLaw> = Arc::new(Aimd::RENO);
    run(
        "drop-tail, 40 flows",
        40.0,
        false,
        reno.clone(),
        Hazard::PerPacket,
    );
    run("RED, 40 flows", 40.0, true, reno.clone(), Hazard::PerPacket);
    run(
        "RED, 100 flows",
        100.0,
        true,
        reno.clone(),
        Hazard::PerPacket,
    );
    run(
        "RED, 10000 flows",
        10_000.0,
        true,
        reno.clone(),
        Hazard::PerPacket,
    );
    run(
        "RED, 40 flows, loss events",
        40.0,
        true,
        reno,
        Hazard::PerLossEvent,
    );
    run(
        "RED, 40 flows, general law",
        40.0,
        true,
        Arc::new(Slow),
        Hazard::PerPacket,
    );
    group.finish();
}

fn analyses(criterion: &mut Criterion) {
    criterion.bench_function("stationary law, closed form", |bencher| {
        bencher.iter(|| RenoStationary::new(black_box(0.0015), 64.0).unwrap().mean());
    });
    criterion.bench_function("stationary law, any i(w), d(w)", |bencher| {
        bencher.iter(|| {
            Stationary::new(&Aimd::RENO, black_box(0.0015), 64.0, Hazard::PerPacket)
                .unwrap()
                .mean()
        });
    });
    let link = RedLink {
        rate: RATE,
        flows: 40.0,
        rtt: 0.01,
        w_max: 64.0,
        min_threshold: 0.0004,
        max_threshold: 0.002,
        max_probability: 0.005,
    };
    let mut group = criterion.benchmark_group("threshold");
    group.sample_size(10);
    group.bench_function("RED, 40 flows", |bencher| {
        bencher.iter(|| black_box(link).threshold(None).unwrap().slope);
    });
    group.finish();
}

criterion_group!(benches, engine, analyses);
criterion_main!(benches);
