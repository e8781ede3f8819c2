//! CPU time of all set-ups, and what each probe costs: `cargo bench -p ackclock-speed --bench
//! packet [-- NAME]`.
//!
//! Throughput counts packets that left a link. criterion measures the thread's CPU clock, so that
//! the machine's other work does not count, and each run is long enough that setting up and the
//! first filling of the caches do not.

use std::time::Duration;

use ackclock_algorithms::Time;
use ackclock_packet::{FlowSelection, Options};
use ackclock_scenario::Scenario;
use cpu_time::ThreadTime;
use criterion::measurement::{Measurement, ValueFormatter, WallTime};
use criterion::{BenchmarkGroup, Criterion, SamplingMode, Throughput};
use criterion::{criterion_group, criterion_main};

#[path = "../../../crates/packet/benches/setups/mod.rs"]
mod setups;

use setups::{SETUPS, cut, run};

/// CPU time of the thread that runs the engine.
struct CpuTime;

impl Measurement for CpuTime {
    type Intermediate = ThreadTime;
    type Value = Duration;

    fn start(&self) -> ThreadTime {
        ThreadTime::now()
    }

    fn end(&self, begin: ThreadTime) -> Duration {
        begin.elapsed()
    }

    fn add(&self, sum: &Duration, more: &Duration) -> Duration {
        *sum + *more
    }

    fn zero(&self) -> Duration {
        Duration::ZERO
    }

    fn to_f64(&self, value: &Duration) -> f64 {
        value.as_nanos() as f64
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        WallTime.formatter()
    }
}

fn scenario(name: &str) -> (Scenario, f64) {
    let setup = SETUPS.iter().find(|setup| setup.name == name);
    let setup = setup.expect("a set-up of that name");
    let mut scenario = ackclock_scenario::parse(setup.text, name).expect("the set-up is right");
    cut(&mut scenario, setup.span);
    (scenario, setup.span)
}

fn measure(
    group: &mut BenchmarkGroup<'_, CpuTime>,
    name: &str,
    scenario: &Scenario,
    options: &Options,
) {
    let packets = run(scenario, options).expect("the engine takes it");
    group.throughput(Throughput::Elements(packets.departures));
    group.bench_function(name, |bencher| {
        bencher.iter(|| run(scenario, options).expect("as before"));
    });
}

/// A group whose samples are one run each, or two.
fn group<'c>(criterion: &'c mut Criterion<CpuTime>, name: &str) -> BenchmarkGroup<'c, CpuTime> {
    let mut group = criterion.benchmark_group(name);
    group.sample_size(10).sampling_mode(SamplingMode::Flat);
    group.warm_up_time(Duration::from_millis(1));
    group.measurement_time(Duration::from_secs(3));
    group
}

fn all(criterion: &mut Criterion<CpuTime>) {
    let mut group = group(criterion, "set-ups");
    for setup in &SETUPS {
        let (scenario, _) = scenario(setup.name);
        measure(&mut group, setup.name, &scenario, &Options::default());
    }
    group.finish();
}

/// Ten flows at 100 Mbit/s; one probe at a time.
fn probes(criterion: &mut Criterion<CpuTime>) {
    let mut group = group(criterion, "probes");
    let (mut scenario, span) = scenario("s5-10");
    let none = Options::default();
    let queue = {
        let mut options = none.clone();
        options.traces.links = true;
        options
    };
    let windows = {
        let mut options = none.clone();
        options.traces.flows = FlowSelection::All;
        options
    };
    let streamed = {
        let mut options = windows.clone();
        options.traces.links = true;
        options.traces.streamed = true;
        options
    };
    let whole = Some((Time(0), Time::from_seconds(span)));
    let end = Time::from_seconds(span);
    scenario.measure = Some((Time(end.0 - 1), end));
    measure(&mut group, "nothing", &scenario, &none);
    scenario.measure = whole;
    measure(&mut group, "measurements", &scenario, &none);
    for (name, interval) in [("10 ms", 0.01), ("1 ms", 0.001)] {
        scenario.sample = Some(Time::from_seconds(interval));
        for (what, options) in [
            ("queue", &queue),
            ("windows", &windows),
            ("queue and windows, streamed", &streamed),
        ] {
            let title = format!("measurements, {what} every {name}");
            measure(&mut group, &title, &scenario, options);
        }
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().with_measurement(CpuTime);
    targets = all, probes
}
criterion_main!(benches);
