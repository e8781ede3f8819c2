//! The speed goals: verdicts, Hopf curves, cycles with multipliers, trajectories. `cargo bench -p
//! ackclock-speed --bench delay`

use std::hint::black_box;

use ackclock_delay::{
    ContinuationOptions, Crossing, Linear, Resolution, System, Tolerance, crossings,
    cycle_from_hopf, cycle_with_amplitude, equilibrium, floquet, hopf_curve, integrate, is_stable,
    rightmost_roots,
};
use common::{C, DEFAULTS, KAPPA, Policy, TAU, tcp, tcp_start};
use criterion::{Criterion, criterion_group, criterion_main};

#[path = "../../../crates/delay/tests/common/mod.rs"]
mod common;

fn speed(c: &mut Criterion) {
    for (name, policy) in [
        ("2 states", Policy::Instantaneous),
        ("3 states", Policy::Averaged),
    ] {
        let system = tcp(policy);
        let mut p = DEFAULTS;
        p[TAU] = 0.2;
        let x = equilibrium(&system, &tcp_start(policy, &p), &p).unwrap();
        let linear = Linear::of(&system, &x, &p);
        c.bench_function(&format!("verdict by argument principle, {name}"), |b| {
            b.iter(|| is_stable(black_box(&linear)).unwrap());
        });
        c.bench_function(
            &format!("equilibrium, linearisation and verdict, {name}"),
            |b| {
                b.iter(|| {
                    let x = equilibrium(&system, black_box(&x), &p).unwrap();
                    is_stable(&Linear::of(&system, &x, &p)).unwrap()
                });
            },
        );
        c.bench_function(&format!("two rightmost roots, certified, {name}"), |b| {
            b.iter(|| rightmost_roots(black_box(&linear), 2).unwrap());
        });
    }
    let system = tcp(Policy::Averaged);
    let search = crossings(
        &system,
        &tcp_start(Policy::Averaged, &DEFAULTS),
        &DEFAULTS,
        TAU,
        0.04,
        0.3,
        20,
    )
    .unwrap();
    let Crossing::Hopf(hopf) = search.crossings[0].clone() else {
        panic!()
    };
    c.bench_function("Hopf curve of 500 points, 3 states", |b| {
        b.iter(|| {
            let options = ContinuationOptions {
                points: 250,
                step: 0.005,
                largest_step: 0.005,
            };
            let curve = hopf_curve(
                &system,
                black_box(&hopf),
                (C, TAU),
                [(1.0, 1e4), (1e-5, 100.0)],
                &options,
            )
            .unwrap();
            assert_eq!(curve.points.len(), 501);
            curve
        });
    });
    for policy in [Policy::Threshold, Policy::Instantaneous, Policy::Averaged] {
        let system = tcp(policy);
        let mut p = DEFAULTS;
        let (free, from, to) = if policy == Policy::Threshold {
            (9, 20.0, 80.0)
        } else {
            (TAU, 0.05, 0.6)
        };
        p[free] = from;
        if policy == Policy::Threshold {
            p[TAU] = 1.0;
        }
        let search = crossings(&system, &tcp_start(policy, &p), &p, free, from, to, 20).unwrap();
        let hopf = search.first_hopf().unwrap().clone();
        let resolution = Resolution {
            tolerance: 1e-7,
            ..Resolution::default()
        };
        let amplitude = 0.1 * hopf.x[0].min(10.0);
        let start = cycle_from_hopf(&system, &hopf, KAPPA, 0, amplitude, &resolution).unwrap();
        c.bench_function(
            &format!(
                "one cycle with multipliers, {} states",
                System::dimension(&system)
            ),
            |b| {
                b.iter(|| {
                    let cycle = cycle_with_amplitude(
                        &system,
                        black_box(&start),
                        KAPPA,
                        0,
                        1.2 * amplitude,
                        &resolution,
                    )
                    .unwrap();
                    floquet(&system, &cycle, 1e-3).unwrap()
                });
            },
        );
    }
    let system = tcp(Policy::Instantaneous);
    let mut p = DEFAULTS;
    p[TAU] = 0.25;
    let start = tcp_start(Policy::Instantaneous, &p);
    let history = |_: f64, x: &mut [f64]| x.copy_from_slice(&start);
    c.bench_function("adaptive trajectory, 100 s of 2 states", |b| {
        b.iter(|| {
            integrate(
                &system,
                &p,
                &history,
                0.0,
                black_box(100.0),
                &Tolerance::default(),
            )
            .unwrap()
        });
    });
}

criterion_group!(benches, speed);
criterion_main!(benches);
