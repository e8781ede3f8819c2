//! Hopf points, curves and normal forms of systems from the literature.

use std::f64::consts::{FRAC_PI_2, PI};

use crate::common::{
    Humphries, MackeyGlass, NeuralField, Neuron, Wright, close, close_complex, system,
};
use ackclock_delay::{Args, Scalar};
use ackclock_delay::{
    ContinuationOptions, Crossing, End, Error, HopfPoint, Normalisation, System, bautin_points,
    branch, c64, critical_root, criticality, crossings, fold_near, hopf_curve, hopf_near,
};

/// Wright's equation loses stability at a = pi/2 + 2 k pi; Faria's normal-form coefficients (2006).
#[test]
fn wright() {
    let search = crossings(&Wright, &[0.0], &[1.0, 1.0], 0, 0.5, 15.0, 40).unwrap();
    let hopf: Vec<&HopfPoint> = search
        .crossings
        .iter()
        .map(|c| {
            if let Crossing::Hopf(h) = c {
                h
            } else {
                panic!("{c:?}")
            }
        })
        .collect();
    assert_eq!(hopf.len(), 3);
    for (k, point) in hopf.iter().enumerate() {
        let a = FRAC_PI_2 + 2.0 * PI * k as f64;
        close(point.p[0], a, 1e-13);
        close(point.omega, a, 1e-13);
    }
    let nf = criticality(&Wright, hopf[0], 0, Normalisation::Component(0)).unwrap();
    close(nf.crossing.re, 0.4530183505, 1e-9);
    close(nf.c1.re, -0.3363560664, 1e-9);
    assert!(nf.is_supercritical() && nf.mu2 > 0.0);
    // a = pi/2 + 2 pi is N = 1 in Faria's numbering by half-turns, N = 2
    let nf = criticality(&Wright, hopf[1], 0, Normalisation::Component(0)).unwrap();
    close(nf.crossing.re, 0.1252927844, 1e-9);
    close(nf.c1.re, -0.5653697795, 1e-9);
}

/// Mackey and Glass: the Hopf point is known in closed form; L1 as printed by DDE-BIFTOOL.
#[test]
fn mackey_glass() {
    let p = [2.0, 1.0, 10.0, 0.3];
    let search = crossings(&MackeyGlass, &[1.0], &p, 3, 0.1, 1.0, 20).unwrap();
    let point = search.first_hopf().unwrap();
    close(point.p[3], (-0.25_f64).acos() / 15.0_f64.sqrt(), 1e-13);
    close(point.p[3], 0.470819628936, 1e-11);
    close(point.omega, 15.0_f64.sqrt(), 1e-13);
    let nf = criticality(&MackeyGlass, point, 3, Normalisation::Balanced).unwrap();
    // the printed value has finite differences in it
    close(nf.l1, -5.69527799058, 3e-6);
    // the projection formula for a scalar equation, with f(z) = 2 z / (1 + z^10): f' = -4, f'' = -5, f''' = 255 at z = 1
    let (tau, i_omega) = (point.p[3], c64::new(0.0, point.omega));
    let e = |l: c64| (-l * tau).exp();
    let delta = |l: c64| l + 1.0 + e(l) * 4.0;
    let h20 = e(i_omega * 2.0) * -5.0 / delta(i_omega * 2.0);
    let h11 = delta(c64::new(0.0, 0.0)).inv() * -5.0;
    let sum = e(i_omega) * 255.0 + e(i_omega) * h20 * -5.0 + e(i_omega) * h11 * -10.0;
    let c1 = sum / (c64::new(1.0, 0.0) - e(i_omega) * tau * 4.0) * 0.5;
    close_complex(
        criticality(&MackeyGlass, point, 3, Normalisation::Component(0))
            .unwrap()
            .c1,
        c1,
        1e-12,
    );
    // the classic scaling (0.2, 0.1, 10)
    let point = hopf_near(&MackeyGlass, &[1.0], 0.4, &[0.2, 0.1, 10.0, 4.5], 3).unwrap();
    close(point.p[3], 4.70819629, 1e-9);
    assert!(critical_root(&MackeyGlass, &point).unwrap().re.abs() < 1e-14);
}

/// DDE-BIFTOOL's neuron demo: a Hopf point, the steady bifurcation of the origin, and the double
/// Hopf point.
#[test]
fn neuron() {
    let p = [0.5, -1.0, 1.0, 0.2, 0.2, 0.2, 1.5];
    let search = crossings(&Neuron, &[0.0, 0.0], &p, 3, 0.3, 3.0, 40).unwrap();
    let point = search.first_hopf().unwrap();
    close(point.p[3], 0.8071232250, 1e-9);
    close(point.omega, 0.7819651621, 1e-9);
    close(
        criticality(&Neuron, point, 3, Normalisation::Unit)
            .unwrap()
            .l1,
        -0.39616,
        1e-5,
    );
    let steady = search
        .crossings
        .iter()
        .find_map(|c| {
            if let Crossing::Steady(f) = c {
                Some(f)
            } else {
                None
            }
        })
        .unwrap();
    close(steady.p[3], 2.25, 1e-12);
    let free = (3, 6);
    let first = hopf_near(
        &Neuron,
        &[0.0, 0.0],
        0.9157,
        &[0.5, -1.0, 1.0, 0.2072962661, 0.2, 0.2, 8.63],
        6,
    )
    .unwrap();
    close(first.p[6], 8.6340742189, 1e-9);
    close(first.omega, 0.9157115879, 1e-9);
    let two = hopf_near(
        &Neuron,
        &[0.0, 0.0],
        0.3287,
        &[0.5, -1.0, 1.0, 0.2072962661, 0.2, 0.2, 8.63],
        6,
    )
    .unwrap();
    close(two.p[6], 8.6340742189, 1e-8);
    close(two.omega, 0.3287154066, 1e-9);
    // the two Hopf curves cross there
    let options = ContinuationOptions {
        points: 40,
        ..ContinuationOptions::default()
    };
    let curve = hopf_curve(&Neuron, &first, free, [(0.1, 0.4), (5.0, 12.0)], &options).unwrap();
    assert!(
        curve
            .points
            .iter()
            .all(|point| critical_root(&Neuron, point).unwrap().re.abs() < 1e-11)
    );
}

/// Two-layer neural field (b = 2, c = 15/29, d = 1.2, tau = 12.7, 20.2).
#[test]
fn neural_field() {
    for (a, omega, l1) in [
        (0.3676281680, 0.7234938546, -0.0028635604),
        (0.3453112603, 0.1826428346, -0.0133009607),
        (0.2988605971, 0.2710841446, -0.0054576675),
    ] {
        let p = [a + 1e-4, 2.0, 15.0 / 29.0, 1.2, 12.7, 20.2];
        let point = hopf_near(&NeuralField, &[0.0, 0.0], omega + 1e-4, &p, 0).unwrap();
        close(point.p[0], a, 1e-9);
        close(point.omega, omega, 1e-9);
        close(
            criticality(&NeuralField, &point, 0, Normalisation::Balanced)
                .unwrap()
                .l1,
            l1,
            1e-6,
        );
    }
    // the double Hopf point: two frequencies at the same (a, c)
    for omega in [0.1560401, 0.2899790] {
        let p = [0.0903759, 2.0, 0.7732081, 1.2, 12.7, 20.2];
        let point = hopf_near(&NeuralField, &[0.0, 0.0], omega, &p, 2).unwrap();
        close(point.p[2], 0.7732081, 3e-7);
        close(point.omega, omega, 3e-7);
    }
}

/// Humphries' equation: the state-dependent delay leaves the linear part alone but not the normal
/// form.
#[test]
fn state_dependent_delays() {
    for (kappa1, omega, l1) in [
        (4.27366966, 2.39113638, -0.0368072),
        (5.95498588, 6.60271313, -0.0568095),
        (11.90823494, 11.03935548, -0.1286953),
    ] {
        let p = [kappa1, 2.3, 4.75, 1.3, 6.0, 1.0];
        let point = hopf_near(&Humphries, &[0.0], omega, &p, 0).unwrap();
        close(point.p[0], kappa1, 1e-8);
        close(point.omega, omega, 1e-8);
        close(
            criticality(&Humphries, &point, 0, Normalisation::Balanced)
                .unwrap()
                .l1,
            l1,
            1e-5,
        );
    }
}

system!(
    /// A Hopf bifurcation with a known Bautin point: z' = (mu + i) z + (nu + 0.5 i) |z|^2 z in the
    /// plane, p = (mu, nu).
    Planar, 2, [], |a, out| {
        let (x, y, p) = (a.x[0], a.x[1], a.p);
        let r = x * x + y * y;
        out[0] = p[0] * x - y + r * (p[1] * x - y * 0.5);
        out[1] = x + p[0] * y + r * (x * 0.5 + p[1] * y);
    }
);

/// Without delays everything is known: c1 = nu + i/2 for the unit first component, Bautin point at
/// nu = 0.
#[test]
fn planar_normal_form() {
    let point = hopf_near(&Planar, &[0.0, 0.0], 1.0, &[0.01, -0.3], 0).unwrap();
    let nf = criticality(&Planar, &point, 0, Normalisation::Component(0)).unwrap();
    // x = z + conj z and so |z|^2 = r / 4 for amplitude 2 |z|: the cubic term is four times the
    // planar one
    close_complex(nf.c1, c64::new(4.0 * -0.3, 4.0 * 0.5), 1e-12);
    close_complex(nf.crossing, c64::new(1.0, 0.0), 1e-12);
    let points: Vec<HopfPoint> = [-0.3, -0.1, 0.2]
        .iter()
        .map(|nu| HopfPoint {
            x: vec![0.0; 2],
            omega: 1.0,
            p: vec![0.0, *nu],
        })
        .collect();
    let bautin = bautin_points(&Planar, &points, (0, 1)).unwrap();
    assert_eq!(bautin.len(), 1);
    assert!(bautin[0].p[1].abs() < 1e-12, "{bautin:?}");
}

system!(
    /// x' = a + x - x^3 with a delayed self-term that does not move equilibria; p = (a).
    Hysteresis, 1, [|_| S::from(0.3)], |a, out| {
        out[0] = a.p[0] + a.x[0] - a.x[0] * a.x[0] * a.x[0] + (a.past[0] - a.x[0]) * 0.2;
    }
);

/// A branch passes its two folds, a = -+2/(3 sqrt 3), and stops at the ends of the range.
#[test]
fn a_branch_passes_folds() {
    let options = ContinuationOptions {
        points: 500,
        step: 0.02,
        largest_step: 0.05,
    };
    let curve = branch(&Hysteresis, &[-1.3], &[-0.8], 0, (-1.0, 1.0), &options).unwrap();
    assert_eq!(
        curve.start,
        End::Range {
            parameter: 0,
            value: -1.0
        }
    );
    assert_eq!(
        curve.end,
        End::Range {
            parameter: 0,
            value: 1.0
        }
    );
    let folds: Vec<_> = curve.points.iter().filter(|p| p.after_fold).collect();
    assert_eq!(folds.len(), 2);
    for (guess, sign) in folds.iter().zip([1.0, -1.0]) {
        let fold = fold_near(&Hysteresis, &guess.x, &guess.p, 0).unwrap();
        close(fold.p[0], sign * 2.0 / (3.0 * 3.0_f64.sqrt()), 1e-12);
    }
    assert!(
        curve
            .points
            .iter()
            .filter(|p| p.unstable == Some(1))
            .count()
            > 5
    );
}

/// Points that cannot be found give typed errors.
#[test]
fn failures_are_typed() {
    let never = crossings(&Wright, &[0.0], &[0.5, 1.0], 0, 0.1, 1.0, 10).unwrap();
    assert!(
        never.crossings.is_empty() && never.unstable_at_start == 0 && never.first_hopf().is_none()
    );
    assert!(matches!(
        crossings(&Wright, &[0.0], &[0.5, 1.0], 7, 0.1, 1.0, 10),
        Err(Error::Argument(_))
    ));
    // a + x - x^3 has no equilibrium branch through a fold that ends: scanning past it stops there
    // and says so
    let search = crossings(&Hysteresis, &[-1.0], &[0.0], 0, 0.0, 1.0, 30);
    match search {
        Ok(search) => assert!(search.stopped.is_some() || search.crossings.is_empty()),
        Err(e) => panic!("{e}"),
    }
}
