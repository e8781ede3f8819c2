//! The stationary law against numbers computed independently with 40 digits, and against simulated
//! users.

use crate::reference::monte_carlo::simulate_users;
use ackclock_algorithms::{Owner, Stream};
use ackclock_meanfield::{Aimd, Hazard, RenoStationary, SQUARE_ROOT_LAW, Stationary, WindowLaw};

#[track_caller]
fn close(value: f64, expected: f64, tolerance: f64) {
    assert!(
        (value - expected).abs() <= tolerance * expected.abs(),
        "{value} against {expected}"
    );
}

/// Theorem 1 with the corrected coefficients, W_max = 64 packets: loss probability, M, F.
#[test]
fn mass_and_mean_of_figures_2_to_5() {
    for (loss, mass, mean) in [
        (0.0015, 0.033_826_732_170_084_46, 33.453_340_270_803_9),
        (0.0002, 0.655_745_841_779_754_3, 57.705_180_040_601_91),
        (0.001, 0.106_978_307_171_960_7, 39.789_917_956_938_72),
        (0.003, 0.001_160_179_580_711_184, 23.907_311_091_701_06),
    ] {
        let law = RenoStationary::new(loss, 64.0).unwrap();
        close(law.atom(), mass, 1e-10);
        close(law.mean(), mean, 1e-10);
        let law = Stationary::new(&Aimd::RENO, loss, 64.0, Hazard::PerPacket).unwrap();
        close(law.atom(), mass, 1e-10);
        close(law.mean(), mean, 1e-10);
    }
}

/// Equation (18), the atom included.
#[test]
fn second_moment() {
    close(
        RenoStationary::new(0.0015, 64.0).unwrap().second_moment(),
        1_288.231_023_773_22,
        1e-10,
    );
    close(
        Stationary::new(&Aimd::RENO, 0.0015, 64.0, Hazard::PerPacket)
            .unwrap()
            .second_moment(),
        1_288.231_023_773_22,
        1e-10,
    );
}

/// Baccelli, McDonald and Reynier (2002): E[w] = alpha / sqrt(k), at any k.
#[test]
fn square_root_law() {
    close(SQUARE_ROOT_LAW, 1.309_833_274_658_021, 1e-15);
    for loss in [1e-8, 1e-3, 0.2] {
        close(
            RenoStationary::new(loss, f64::INFINITY).unwrap().mean() * loss.sqrt(),
            SQUARE_ROOT_LAW,
            1e-12,
        );
        // a window limit that is never reached changes nothing
        close(
            RenoStationary::new(loss, 100.0 / loss.sqrt())
                .unwrap()
                .mean()
                * loss.sqrt(),
            SQUARE_ROOT_LAW,
            1e-12,
        );
    }
    close(
        Stationary::new(&Aimd::RENO, 0.01, f64::INFINITY, Hazard::PerPacket)
            .unwrap()
            .mean()
            * 0.1,
        SQUARE_ROOT_LAW,
        1e-10,
    );
}

/// Figure 5: the square-root law cut at W_max is furthest off at small loss. (These numbers were
/// computed with alpha rounded to 1.309833.)
#[test]
fn gap_of_the_cut_square_root_law() {
    for (loss, gap) in [
        (0.0004, -0.185_997_04),
        (0.0015, -0.010_833_98),
        (0.002, -0.003_125_50),
    ] {
        let mean = RenoStationary::new(loss, 64.0).unwrap().mean();
        let cut = (1.309_833 / loss.sqrt()).min(64.0);
        assert!(
            ((mean - cut) / cut - gap).abs() < 1e-8,
            "{loss}: {}",
            (mean - cut) / cut
        );
    }
    let worst = (1..=500).map(|i| f64::from(i) * 1e-5).max_by(|&a, &b| {
        let gap = |k: f64| {
            1.0 - RenoStationary::new(k, 64.0).unwrap().mean()
                / (SQUARE_ROOT_LAW / k.sqrt()).min(64.0)
        };
        gap(a).total_cmp(&gap(b))
    });
    assert!((worst.unwrap() - 0.0004).abs() < 3e-5, "{worst:?}");
}

/// Extremes: nothing lost, next to nothing lost, everything lost, a window far beyond what losses
/// allow.
#[test]
fn extremes() {
    let law = RenoStationary::new(0.0, 64.0).unwrap();
    assert_eq!(
        (law.atom(), law.mean(), law.second_moment()),
        (1.0, 64.0, 4096.0)
    );
    // E w = W - (rate of halving k W) x (integral of the deficit on the way up, W^2 / 8), to first
    // order
    let law = RenoStationary::new(1e-12, 64.0).unwrap();
    close(64.0 - law.mean(), 1e-12 * 64.0_f64.powi(3) / 8.0, 1e-3);
    let law = RenoStationary::new(1.0, 1e6).unwrap();
    close(law.mean(), SQUARE_ROOT_LAW, 1e-12);
    assert!(law.atom() == 0.0);
    for bad in [
        (-0.1, 64.0),
        (1.1, 64.0),
        (0.1, 0.0),
        (f64::NAN, 64.0),
        (0.1, f64::NAN),
        (0.0, f64::INFINITY),
    ] {
        assert!(RenoStationary::new(bad.0, bad.1).is_err(), "{bad:?}");
        assert!(
            Stationary::new(&Aimd::RENO, bad.0, bad.1, Hazard::PerPacket).is_err(),
            "{bad:?}"
        );
    }
}

/// The density integrates to what the moments say, and its flux balances at every window: equation
/// (12) with the atom.
#[test]
fn flux_balance() {
    let (loss, w_max) = (0.0015, 64.0);
    let law = RenoStationary::new(loss, w_max).unwrap();
    let flux = |w: f64, n: usize| {
        // composite midpoint rule between the kinks w_max / 2^i
        let high = (2.0 * w).min(w_max);
        let mut cuts: Vec<f64> = (0..12)
            .map(|i| w_max / f64::from(1 << i))
            .filter(|c| *c > w && *c < high)
            .collect();
        cuts.extend([w, high]);
        cuts.sort_by(f64::total_cmp);
        let part: f64 = cuts
            .windows(2)
            .map(|c| {
                (0..n)
                    .map(|i| {
                        (c[1] - c[0]) / n as f64 * {
                            let v = c[0] + (c[1] - c[0]) * (i as f64 + 0.5) / n as f64;
                            loss * v * law.density(v)
                        }
                    })
                    .sum::<f64>()
            })
            .sum();
        part + if 2.0 * w > w_max {
            loss * w_max * law.atom()
        } else {
            0.0
        }
    };
    for w in [0.7, 3.0, 9.0, 17.0, 31.9, 32.1, 50.0, 63.0] {
        assert!((flux(w, 4000) - law.density(w)).abs() < 1e-9, "{w}");
    }
}

/// Laws of other shapes: Compound's power law, Scalable TCP, an additive increase of two packets,
/// losses counted once a window.
#[derive(Debug)]
struct Power {
    alpha: f64,
    k: f64,
    beta: f64,
}

impl WindowLaw for Power {
    fn increase(&self, window: f64) -> f64 {
        self.alpha * libm::pow(window, self.k - 1.0)
    }
    fn decrease(&self, window: f64) -> f64 {
        self.beta * window
    }
    fn floor(&self) -> f64 {
        // growth proportional to the window never leaves zero
        if self.k >= 1.0 { 1.0 } else { 0.0 }
    }
}

#[test]
fn independent_users_follow_the_law() {
    let compound = Power {
        alpha: 0.125,
        k: 0.75,
        beta: 0.5,
    };
    let scalable = Power {
        alpha: 0.01,
        k: 1.0,
        beta: 0.125,
    };
    let cases: [(&dyn WindowLaw, f64, f64, Hazard); 7] = [
        (&Aimd::RENO, 0.0015, 64.0, Hazard::PerPacket),
        (&Aimd::RENO, 0.003, 64.0, Hazard::PerPacket),
        (
            &Aimd {
                increase: 2.0,
                decrease: 0.3,
            },
            0.002,
            80.0,
            Hazard::PerPacket,
        ),
        (&Aimd::RENO, 0.01, 64.0, Hazard::PerLossEvent),
        (&compound, 0.005, 300.0, Hazard::PerPacket),
        (&scalable, 0.0009, 64.0, Hazard::PerPacket),
        (&scalable, 0.02, 64.0, Hazard::PerLossEvent),
    ];
    for (i, (law, loss, w_max, hazard)) in cases.into_iter().enumerate() {
        let exact = Stationary::new(law, loss, w_max, hazard).unwrap();
        let mut stream = Stream::new(1, Owner::Flow, i as u64);
        let users = simulate_users(
            law,
            loss,
            w_max,
            hazard,
            400,
            500.0 / (loss * exact.mean()),
            &mut stream,
        );
        for (what, estimate, expected) in [
            ("atom", users.atom, exact.atom()),
            ("mean", users.mean, exact.mean()),
            ("second moment", users.second_moment, exact.second_moment()),
        ] {
            // users are independent: the spread of their averages gives the standard error; 4 of
            // them and a floor for vanishing atoms
            let allowed = 4.0 * estimate.standard_error + 1e-6;
            assert!(
                (estimate.value - expected).abs() < allowed,
                "{law:?} {hazard:?} {what}: {estimate:?} against {expected}"
            );
            assert!(
                estimate.standard_error < 0.02 * expected.max(0.01),
                "{law:?} {what}: too few samples, {estimate:?}"
            );
        }
    }
}
