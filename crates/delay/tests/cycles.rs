//! Periodic orbits and Floquet multipliers against exact orbits, and against an independent Fourier
//! collocation (eight digits).

use std::f64::consts::{FRAC_PI_2, TAU as TWO_PI};

use crate::common::{
    DEFAULTS, GAMMA, KAPPA, MackeyGlass, Policy, QTH, TAU, Tcp, close, system, tcp, tcp_start,
};
use ackclock_delay::{
    Args, ContinuationOptions, Crossing, Cycle, End, Error, HopfPoint, Normalisation, Resolution,
    Scalar, System, Tolerance, c64, criticality, crossings, cycle_at, cycle_branch, cycle_fold,
    cycle_from_hopf, cycle_with_amplitude, floquet, hopf_near, integrate, period_doubling,
};

system!(
    /// The planted orbit A cos t; p = (A).
    Planted, 1, [|_| S::from(FRAC_PI_2)], |a, out| {
        let (x, z) = (a.x[0], a.past[0]);
        let off = x * x + z * z - a.p[0] * a.p[0];
        out[0] = -z + off * off * x;
    }
);

/// The variational equation on the planted orbit is x' = -x(t - pi/2): multipliers exp(2 pi
/// lambda), lambda = (2/pi) W_k(-pi/2).
#[test]
fn planted_orbit_and_its_multipliers() {
    // the orbit is neutral to first order in its amplitude, so no isolated cycle can be solved for:
    // take the exact one
    let cycle = Cycle::guess(1, TWO_PI, &[0.7], 24, &|s, x| {
        x[0] = 0.7 * (TWO_PI * s).cos();
    })
    .unwrap();
    close(cycle.amplitude(0), 0.7, 1e-12);
    let (low, high) = cycle.range(0);
    close(high, 0.7, 1e-12);
    close(low, -0.7, 1e-12);
    let set = floquet(&Planted, &cycle, 1e-6).unwrap();
    // a pair of roots +- i: the trivial multiplier is double
    assert!(set.trivial_error < 1e-4, "{set:?}");
    let logs: Vec<f64> = set
        .multipliers
        .iter()
        .filter(|m| m.norm() < 0.5)
        .map(|m| m.norm().ln())
        .collect();
    close(logs[0], -6.4171637, 1e-6);
    close(logs[2], -8.7933705, 1e-6);
    close(logs[4], -10.2668157, 1e-5);
    close(logs[6], -11.3395087, 1e-4);
}

/// Mackey and Glass: period at tau = 0.5038, and the first period doubling.
#[test]
fn mackey_glass_period_doubling() {
    let hopf = hopf_near(&MackeyGlass, &[1.0], 3.9, &[2.0, 1.0, 10.0, 0.47], 3).unwrap();
    let resolution = Resolution::default();
    let small = cycle_from_hopf(&MackeyGlass, &hopf, 3, 0, 0.05, &resolution).unwrap();
    let options = ContinuationOptions {
        points: 100,
        step: 0.05,
        largest_step: 0.3,
    };
    let branch = cycle_branch(&MackeyGlass, &small, 3, (0.45, 1.4), &options, &resolution).unwrap();
    assert_eq!(branch.start, End::ZeroAmplitude, "{:?}", branch.start);
    assert_eq!(
        branch.end,
        End::Range {
            parameter: 3,
            value: 1.4
        }
    );
    assert!(branch.points.iter().all(|p| !p.after_fold));
    let mut p = vec![2.0, 1.0, 10.0, 0.5038];
    let near = branch.points.iter().find(|c| c.cycle.p[3] > 0.5).unwrap();
    // that vector's delay is given to four digits, and dT/dtau is about 3
    close(
        cycle_at(&MackeyGlass, &near.cycle, &p, &resolution)
            .unwrap()
            .period,
        1.722377,
        1.5e-4 / 1.7,
    );
    p[3] = 1.2798;
    let before = branch.points.iter().find(|c| c.cycle.p[3] > 1.2).unwrap();
    let before = cycle_at(&MackeyGlass, &before.cycle, &p, &resolution).unwrap();
    assert_eq!(
        floquet(&MackeyGlass, &before, 0.05)
            .unwrap()
            .unstable(1e-6)
            .unwrap(),
        0
    );
    p[3] = 1.33103971;
    let after = cycle_at(&MackeyGlass, &before, &p, &resolution).unwrap();
    let set = floquet(&MackeyGlass, &after, 0.05).unwrap();
    close(set.nearest_minus_one().unwrap(), -1.00965, 1e-4);
    assert_eq!(set.unstable(1e-6).unwrap(), 1);
    let doubling = period_doubling(&MackeyGlass, &before, &after, 3, &resolution).unwrap();
    close(doubling.p[3], 1.32492152, 5e-9);
    close(doubling.period, 3.91964959, 5e-9);
    let (low, high) = doubling.range(0);
    // the vector's extremes are those of its sample points, so ours must enclose them
    close(low, 0.60757, 1e-4);
    close(high, 1.22349, 1e-4);
    assert!(low < 0.607575 && high > 1.223485);
    // the cycle is where a long trajectory ends
    let path = integrate(
        &MackeyGlass,
        &before.p,
        &|_, x| x[0] = 0.9,
        0.0,
        800.0,
        &Tolerance::default(),
    )
    .unwrap();
    let values: Vec<f64> = (0..40_000)
        .map(|k| path.state(790.0 + f64::from(k) * 1e-4)[0])
        .collect();
    let (low, high) = before.range(0);
    close(
        values.iter().copied().fold(f64::INFINITY, f64::min),
        low,
        1e-6,
    );
    close(values.iter().copied().fold(0.0, f64::max), high, 1e-6);
}

fn with(changes: &[(usize, f64)]) -> Vec<f64> {
    let mut p = DEFAULTS.to_vec();
    for (k, v) in changes {
        p[*k] = *v;
    }
    p
}

fn hopf(system: &Tcp, p: &[f64], free: usize, range: (f64, f64)) -> HopfPoint {
    let mut p = p.to_vec();
    p[free] = range.0;
    let search = crossings(
        system,
        &tcp_start(system.policy, &p),
        &p,
        free,
        range.0,
        range.1,
        20,
    )
    .unwrap();
    let Some(Crossing::Hopf(point)) = search.crossings.first() else {
        panic!("{search:?}")
    };
    point.clone()
}

/// Cycles of the Compound models, kappa against the first-harmonic amplitude of the window:
/// (amplitude, kappa, period, largest non-trivial multiplier).
#[test]
fn compound_cycles_against_amplitude() {
    let resolution = Resolution::default();
    let noavg = tcp(Policy::Instantaneous);
    let thr = tcp(Policy::Threshold);
    let avg = tcp(Policy::Averaged);
    let check = |system: &Tcp, point: &HopfPoint, rows: &[(f64, f64, f64, f64)]| {
        let mut cycle = cycle_from_hopf(system, point, KAPPA, 0, rows[0].0, &resolution).unwrap();
        for (amplitude, kappa, period, multiplier) in rows {
            cycle =
                cycle_with_amplitude(system, &cycle, KAPPA, 0, *amplitude, &resolution).unwrap();
            close(cycle.p[KAPPA], *kappa, 6e-8);
            close(cycle.period, *period, 2e-8);
            let set = floquet(system, &cycle, 1e-4).unwrap();
            assert!(set.trivial_error < 1e-6, "{}", set.trivial_error);
            assert!((set.multipliers[0].re - multiplier).abs() < 6e-7, "{set:?}");
        }
    };
    check(
        &noavg,
        &hopf(&noavg, &DEFAULTS, TAU, (0.1, 0.6)),
        &[
            (0.5, 1.0000024, 6.3570345, 0.999996),
            (1.0, 1.0000096, 6.3572386, 0.999984),
            (3.0, 1.0000839, 6.3594373, 0.99987),
            (5.0, 1.0002164, 6.3639623, 0.999693),
            (5.3, 1.0002395, 6.3648563, 0.999668),
            (8.0, 1.0004446, 6.3757437, 0.999586),
        ],
    );
    check(
        &thr,
        &hopf(&thr, &with(&[(TAU, 1.0)]), QTH, (20.0, 80.0)),
        &[
            (0.05, 1.0000712, 3.919746, 0.99961),
            (0.1, 1.0002846, 3.919935, 0.998441),
            (0.25, 1.001777, 3.9212583, 0.990287),
            (0.5, 1.0070812, 3.9259897, 0.961598),
            (1.0, 1.0278997, 3.9449943, 0.853414),
            (2.0, 1.1050377, 4.0221221, 0.514015),
            (3.0, 1.2138867, 4.1533601, 0.195747),
            (4.0, 1.3330366, 4.3382931, 0.035239),
        ],
    );
    check(
        &avg,
        &hopf(&avg, &with(&[(GAMMA, 0.03)]), TAU, (0.04, 0.3)),
        &[
            (0.25, 1.0000038, 6.6994571, 0.999997),
            (0.5, 1.0000152, 6.699724, 0.999987),
            (1.0, 1.0000609, 6.7007919, 0.999946),
        ],
    );
}

/// System (26): the branch of cycles in kappa folds at amplitude 10.16, kappa = 1.0005249, and is
/// unstable beyond.
#[test]
fn fold_of_cycles() {
    let resolution = Resolution::default();
    let system = tcp(Policy::Instantaneous);
    let point = hopf(&system, &DEFAULTS, TAU, (0.1, 0.6));
    let start = cycle_from_hopf(&system, &point, KAPPA, 0, 8.0, &resolution).unwrap();
    let fold = cycle_fold(&system, &start, KAPPA, 0, (8.0, 12.0), &resolution).unwrap();
    close(fold.p[KAPPA], 1.0005249, 6e-8);
    close(fold.amplitude(0), 10.16, 1e-3);
    // at the fold the trivial multiplier is double, beyond it one is outside the unit circle
    let beyond = cycle_with_amplitude(&system, &fold, KAPPA, 0, 11.5, &resolution).unwrap();
    let set = floquet(&system, &beyond, 1e-3).unwrap();
    assert_eq!(set.unstable(1e-6).unwrap(), 1, "{set:?}");
    // the branch by arclength passes the fold too
    let options = ContinuationOptions {
        points: 60,
        step: 0.05,
        largest_step: 0.2,
    };
    let branch = cycle_branch(&system, &start, KAPPA, (0.9, 1.1), &options, &resolution).unwrap();
    assert_eq!(branch.points.iter().filter(|p| p.after_fold).count(), 1);
    let highest = branch
        .points
        .iter()
        .map(|p| p.cycle.p[KAPPA])
        .fold(0.0, f64::max);
    assert!(highest < 1.0005250 && highest > 1.0005, "{highest}");
}

/// Figure 14b: size of the oscillation of the window against q_th (alpha = 0.125, tau = 1 s, C =
/// 100).
#[test]
fn threshold_policy_oscillation() {
    let resolution = Resolution {
        tolerance: 1e-9,
        ..Resolution::default()
    };
    let system = tcp(Policy::Threshold);
    let point = hopf(&system, &with(&[(TAU, 1.0)]), QTH, (20.0, 80.0));
    let small = cycle_from_hopf(&system, &point, QTH, 0, 0.3, &resolution).unwrap();
    let options = ContinuationOptions {
        points: 200,
        step: 0.05,
        largest_step: 0.4,
    };
    let branch = cycle_branch(&system, &small, QTH, (38.9, 101.0), &options, &resolution).unwrap();
    assert_eq!(
        branch.end,
        End::Range {
            parameter: QTH,
            value: 101.0
        }
    );
    for (qth, low, high, period, multiplier) in [
        (39.0, 83.2979911, 84.1292303, 3.92446725, 0.97316),
        (39.5, 83.0551981, 84.6166157, 3.9368869, 0.906345),
        (40.0, 82.9349335, 84.9748563, 3.94959951, 0.84206),
        (42.0, 82.7506247, 86.0476944, 4.00362883, 0.610445),
        (50.0, 82.6456374, 88.7943334, 4.28888114, 0.082206),
        (60.0, 81.7503972, 91.0665883, 4.9018818, -3.61e-4),
        (80.0, 75.5717024, 94.0270691, 7.32053067, 0.0),
        (100.0, 63.0214832, 95.8793445, 11.9011245, 0.0),
    ] {
        let near = branch
            .points
            .iter()
            .min_by(|a, b| {
                (a.cycle.p[QTH] - qth)
                    .abs()
                    .total_cmp(&(b.cycle.p[QTH] - qth).abs())
            })
            .unwrap();
        let cycle = cycle_at(
            &system,
            &near.cycle,
            &with(&[(TAU, 1.0), (QTH, qth)]),
            &resolution,
        )
        .unwrap();
        let range = cycle.range(0);
        // the vector at 100 has a Fourier tail of 9e-10
        let digits = if qth == 100.0 { 3e-8 } else { 2e-9 };
        close(range.0, low, digits);
        close(range.1, high, digits);
        close(cycle.period, period, digits);
        let set = floquet(&system, &cycle, 0.0).unwrap();
        assert!(set.trivial_error < 1e-6, "{}", set.trivial_error);
        assert!(
            (set.multipliers[0].re - multiplier).abs() < 2e-6,
            "{qth} {:?}",
            &set.multipliers[..2]
        );
    }
}

/// The same Hopf point three ways: roots, cycles as the amplitude vanishes, trajectories on both
/// sides.
#[test]
fn one_hopf_point_from_three_routes() {
    let system = tcp(Policy::Instantaneous);
    let point = hopf(&system, &DEFAULTS, TAU, (0.1, 0.6));
    let resolution = Resolution {
        tolerance: 1e-11,
        ..Resolution::default()
    };
    // two small amplitudes extrapolated to zero (the parameter is even in the amplitude)
    let value = |a: f64| cycle_from_hopf(&system, &point, TAU, 0, a, &resolution).unwrap();
    let (small, large) = (value(0.05), value(0.1));
    close(
        (4.0 * small.p[TAU] - large.p[TAU]) / 3.0,
        point.p[TAU],
        1e-10,
    );
    close(
        (4.0 * small.period - large.period) / 3.0,
        TWO_PI / point.omega,
        1e-9,
    );
    // and the curvature is the normal form's
    let nf = criticality(&system, &point, TAU, Normalisation::Component(0)).unwrap();
    close((large.p[TAU] - point.p[TAU]) / 0.0025, nf.mu2, 2e-3);
    // growth and decay of a small disturbance: twice as far on either side of the point
    for (tau, grows) in [(0.98 * point.p[TAU], false), (1.02 * point.p[TAU], true)] {
        let p = with(&[(TAU, tau)]);
        let x = ackclock_delay::equilibrium(&system, &point.x, &p).unwrap();
        let start = |_: f64, out: &mut [f64]| out.copy_from_slice(&[x[0] + 0.01, x[1]]);
        let path = integrate(
            &system,
            &p,
            &start,
            0.0,
            200.0,
            &Tolerance {
                relative: 1e-10,
                ..Tolerance::default()
            },
        )
        .unwrap();
        let swing = |from: f64| {
            (0..700)
                .map(|k| (path.state(from + f64::from(k) * 0.01)[0] - x[0]).abs())
                .fold(0.0, f64::max)
        };
        assert_eq!(swing(190.0) > 1.2 * swing(20.0), grows);
        assert_eq!(swing(190.0) < swing(20.0) / 1.2, !grows);
    }
}

system!(
    /// x' = -x(t - tau) + x^3 - x^5: a subcritical Hopf point at tau = pi/2, then a fold of cycles;
    /// p = (tau).
    Subcritical, 1, [|p| p[0]], |a, out| out[0] = -a.past[0] + a.x[0].powi(3) - a.x[0].powi(5)
);

/// A sudden onset: unstable cycles below the Hopf point, a fold, and stable ones that coexist with
/// the stable equilibrium.
#[test]
fn subcritical_branch() {
    let point = hopf_near(&Subcritical, &[0.0], 1.0, &[1.5], 0).unwrap();
    close(point.p[0], FRAC_PI_2, 1e-13);
    assert!(
        !criticality(&Subcritical, &point, 0, Normalisation::Component(0))
            .unwrap()
            .is_supercritical()
    );
    let resolution = Resolution::default();
    let small = cycle_from_hopf(&Subcritical, &point, 0, 0, 0.2, &resolution).unwrap();
    assert!(small.p[0] < FRAC_PI_2);
    assert_eq!(
        floquet(&Subcritical, &small, 1e-3)
            .unwrap()
            .unstable(1e-6)
            .unwrap(),
        1
    );
    let fold = cycle_fold(&Subcritical, &small, 0, 0, (0.3, 1.0), &resolution).unwrap();
    let beyond = cycle_with_amplitude(
        &Subcritical,
        &fold,
        0,
        0,
        fold.amplitude(0) * 1.1,
        &resolution,
    )
    .unwrap();
    assert!(beyond.p[0] > fold.p[0]);
    assert_eq!(
        floquet(&Subcritical, &beyond, 1e-3)
            .unwrap()
            .unstable(1e-6)
            .unwrap(),
        0
    );
    // the stable cycle is what a large disturbance reaches at the same delay, although the
    // equilibrium is stable
    assert!(beyond.p[0] < FRAC_PI_2);
    let path = integrate(
        &Subcritical,
        &beyond.p,
        &|_, x| x[0] = 0.9,
        0.0,
        2000.0,
        &Tolerance::default(),
    )
    .unwrap();
    let high = (0..2000)
        .map(|k| path.state(1990.0 + f64::from(k) * 0.005)[0])
        .fold(0.0, f64::max);
    close(high, beyond.range(0).1, 1e-4);
}

system!(
    /// z' = (mu + i) z - |z|^2 z with the last term delayed by p1 turns: the orbit |z| = sqrt(mu),
    /// multipliers known; p = (mu, tau).
    Circle, 2, [|p| p[1]], |a, out| {
        let (x, y, mu) = (a.x[0], a.x[1], a.p[0]);
        let r = a.delayed(0, 0) * a.delayed(0, 0) + a.delayed(0, 1) * a.delayed(0, 1);
        out[0] = mu * x - y - r * x;
        out[1] = x + mu * y - r * y;
    }
);

/// A delay longer than a period: the radius obeys r' = r (mu - r(t - tau)^2), so exponents solve
/// lambda = -2 mu exp(-lambda tau).
#[test]
fn delays_longer_than_the_period() {
    for tau in [1.0, 7.0, 13.5] {
        let p = [0.1, tau];
        let guess = Cycle::guess(2, 6.0, &p, 8, &|s, x| {
            x.copy_from_slice(&[0.3 * (TWO_PI * s).cos(), 0.3 * (TWO_PI * s).sin()]);
        })
        .unwrap();
        let cycle = cycle_at(&Circle, &guess, &p, &Resolution::default()).unwrap();
        close(cycle.period, TWO_PI, 1e-9);
        close(cycle.range(0).1, 0.1_f64.sqrt(), 1e-9);
        let set = floquet(&Circle, &cycle, 0.02).unwrap();
        assert!(set.trivial_error < 1e-7);
        let mut z = c64::new(-0.1, 0.1);
        for _ in 0..100 {
            let e = (-z * tau).exp() * 0.2;
            z -= (z + e) / (c64::new(1.0, 0.0) - e * tau);
        }
        let want = (z * TWO_PI).exp();
        let got = set
            .multipliers
            .iter()
            .map(|m| (m - want).norm().min((m - want.conj()).norm()))
            .fold(1.0, f64::min);
        assert!(
            got < 1e-7,
            "tau = {tau}: {want} not in {:?}",
            set.multipliers
        );
    }
}

#[test]
fn failures_are_typed() {
    assert!(matches!(
        Cycle::guess(1, -1.0, &[], 8, &|_, _| {}),
        Err(Error::Argument(_))
    ));
    // Mackey-Glass below its Hopf point has no cycle: the search collapses or fails, and says so
    let p = [2.0, 1.0, 10.0, 0.4];
    let guess = Cycle::guess(1, 1.5, &p, 10, &|s, x| {
        x[0] = 1.0 + 0.05 * (TWO_PI * s).cos();
    })
    .unwrap();
    let cycle = cycle_at(&MackeyGlass, &guess, &p, &Resolution::default());
    assert!(
        matches!(
            cycle,
            Err(Error::Collapsed | Error::NewtonFailed { .. } | Error::Singular { .. })
        ),
        "{cycle:?}"
    );
}
