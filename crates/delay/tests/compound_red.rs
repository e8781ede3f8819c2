//! The models of "Compound TCP with RED: stability, bifurcation and performance analyses"
//! (Manjunath and Raina): Hopf points, roots, normal forms against an independent 30-digit
//! computation from the same equations.

use crate::common::{
    ALPHA, BETA, BMIN, C, DEFAULTS, GAMMA, K, KAPPA, Law, Policy, QTH, RHO, TAU, Tcp, close,
    close_complex, tcp, tcp_start,
};
use ackclock_delay::{
    ContinuationOptions, Crossing, HopfPoint, Linear, Normalisation, c64, count_right_of,
    criticality, crossings, equilibrium, hopf_curve, is_stable, rightmost_roots,
};

/// The first Hopf point met by parameter `free` in a range that starts or ends stable.
fn hopf(system: &Tcp, p: &[f64], free: usize, range: (f64, f64)) -> HopfPoint {
    let mut p = p.to_vec();
    p[free] = range.0;
    let mut start = tcp_start(system.policy, &p);
    if system.law == Law::Africa {
        start[1] = 500.0;
    }
    let search = crossings(system, &start, &p, free, range.0, range.1, 40).unwrap();
    assert!(search.stopped.is_none(), "{search:?}");
    let Some(Crossing::Hopf(point)) = search.crossings.first() else {
        panic!("{search:?}")
    };
    point.clone()
}

fn with(changes: &[(usize, f64)]) -> Vec<f64> {
    let mut p = DEFAULTS.to_vec();
    for (k, v) in changes {
        p[*k] = *v;
    }
    p
}

const AVERAGED: Tcp = tcp(Policy::Averaged);
const INSTANTANEOUS: Tcp = tcp(Policy::Instantaneous);
const THRESHOLD: Tcp = tcp(Policy::Threshold);

/// Figures 2a and 4a: the Hopf delay is inversely proportional to the capacity per flow.
#[test]
fn critical_delay_against_capacity() {
    for (c, tau, omega) in [
        (100.0, 0.084834105, 0.099470578),
        (200.0, 0.042417052, 0.19894116),
        (300.0, 0.028278035, 0.29841173),
        (400.0, 0.021208526, 0.39788231),
        (500.0, 0.016966821, 0.49735289),
    ] {
        let point = hopf(&AVERAGED, &with(&[(C, c)]), TAU, (4.0 / c, 30.0 / c));
        close(point.p[TAU], tau, 3e-8);
        close(point.omega, omega, 3e-8);
        close(point.x[0], 8.6268585, 1e-8);
        close(point.x[1], 133.14037, 5e-8);
        close(point.x[2], 0.016628075, 5e-8);
        close(point.p[TAU] * c, 8.4834105, 2e-8);
    }
    for (c, tau, omega) in [
        (100.0, 0.27175129, 0.98839363),
        (200.0, 0.13587564, 1.9767873),
        (300.0, 0.090583762, 2.9651809),
        (400.0, 0.067937822, 3.9535745),
        (500.0, 0.054350257, 4.9419681),
    ] {
        let point = hopf(&INSTANTANEOUS, &with(&[(C, c)]), TAU, (4.0 / c, 60.0 / c));
        close(point.p[TAU], tau, 5e-8);
        close(point.omega, omega, 3e-8);
        close(point.x[0], 27.284078, 3e-8);
        close(point.x[1], 69.965755, 3e-8);
        close(point.p[TAU] * c, 27.175129, 3e-8);
    }
}

/// Equation (1) as printed, with (1 - p(t)) not delayed, moves the boundary by less than the
/// figures show.
#[test]
fn undelayed_acknowledgements() {
    let system = Tcp {
        undelayed: true,
        ..AVERAGED
    };
    close(
        hopf(&system, &DEFAULTS, TAU, (0.04, 0.3)).p[TAU],
        0.084883311,
        3e-8,
    );
    let system = Tcp {
        undelayed: true,
        ..INSTANTANEOUS
    };
    let point = hopf(&system, &DEFAULTS, TAU, (0.04, 0.6));
    close(point.p[TAU], 0.27226399, 3e-8);
    close(point.omega, 0.9883833, 1e-7);
}

/// Figure 2b: the Hopf delay against the averaging weight gamma; figure 3's point.
#[test]
fn critical_delay_against_averaging() {
    for (gamma, tau, omega, w) in [
        (1e-4, 0.084834105, 0.099470578, 8.6268585),
        (1e-3, 0.087692121, 0.30733725, 8.9115945),
        (0.01, 0.11785134, 0.77811661, 11.918183),
        (0.03, 0.170906, 0.93787731, 17.212469),
        (0.05, 0.19980452, 0.96538425, 20.097836),
    ] {
        let point = hopf(&AVERAGED, &with(&[(GAMMA, gamma)]), TAU, (0.04, 0.6));
        close(point.p[TAU], tau, if gamma == 0.03 { 1e-6 } else { 5e-8 });
        close(point.omega, omega, 5e-8);
        close(point.x[0], w, 5e-8);
    }
    let point = hopf(&AVERAGED, &with(&[(TAU, 0.171)]), GAMMA, (0.02, 0.05));
    close(point.p[GAMMA], 0.030048476, 3e-8);
    close(point.omega, 0.93800087, 3e-8);
}

/// Figure 3: the rightmost root changes sides between gamma = 0.03 and 0.032; the equilibrium does
/// not depend on gamma.
#[test]
fn rightmost_roots_around_figure_3() {
    for (gamma, re, im) in [
        (0.032, -0.0064126718, 0.94328082),
        (0.03, 0.00016557019, 0.93785991),
        (0.028, 0.0072771924, 0.93157434),
    ] {
        let p = with(&[(TAU, 0.171), (GAMMA, gamma)]);
        let x = equilibrium(&AVERAGED, &tcp_start(Policy::Averaged, &p), &p).unwrap();
        close(x[0], 17.221853, 3e-8);
        close(x[1], 85.37744, 5e-8);
        close(x[2], 0.0070754879, 5e-8);
        let root = rightmost_roots(&Linear::of(&AVERAGED, &x, &p), 2)
            .unwrap()
            .roots[0];
        close(root.re, re, 5e-8);
        close(root.im, im, 3e-8);
    }
}

/// Rightmost real parts on both sides of figures 2c and 4c, and for the tests of (18) and (35):
/// larger alpha stabilises.
#[test]
fn rightmost_real_parts() {
    let avg = [
        (0.1, 0.0024647055),
        (0.125, -4.6951374e-6),
        (0.15, -0.0014028),
        (0.2, -0.0028437332),
    ]
    .map(|(alpha, re)| {
        (
            &AVERAGED,
            with(&[(TAU, 0.0848), (ALPHA, alpha)]),
            re,
            if alpha == 0.15 { 3e-6 } else { 1e-7 },
        )
    });
    let noavg = [
        (0.1, 0.025004601),
        (0.125, 0.001266793),
        (0.15, -0.022414276),
        (0.2, -0.069607086),
    ]
    .map(|(alpha, re)| {
        (
            &INSTANTANEOUS,
            with(&[(TAU, 0.273), (ALPHA, alpha)]),
            re,
            1e-7,
        )
    });
    let eq18 = [
        (0.05, -0.00354423),
        (0.1, 0.00232703),
        (0.15, 0.0128998),
        (0.273, 0.042672),
    ]
    .map(|(tau, re)| (&AVERAGED, with(&[(TAU, tau)]), re, 3e-6));
    let eq35 = [
        (0.2, -0.0910702),
        (0.4, 0.100867),
        (3.0, 0.354708),
        (3.3, 0.349156),
        (5.0, 0.313535),
        (0.7751, 0.2524),
    ]
    .map(|(tau, re)| {
        (
            &INSTANTANEOUS,
            with(&[(TAU, tau)]),
            re,
            if tau == 0.7751 { 2e-4 } else { 3e-6 },
        )
    });
    let thr = [(38.0, -0.014306695), (38.5, -0.0053803638)]
        .map(|(qth, re)| (&THRESHOLD, with(&[(TAU, 1.0), (QTH, qth)]), re, 1e-7));
    for (system, p, re, tolerance) in avg
        .into_iter()
        .chain(noavg)
        .chain(eq18)
        .chain(eq35)
        .chain(thr)
    {
        let x = equilibrium(system, &tcp_start(system.policy, &p), &p).unwrap();
        let linear = Linear::of(system, &x, &p);
        close(
            rightmost_roots(&linear, 1).unwrap().abscissa(),
            re,
            tolerance,
        );
        assert_eq!(is_stable(&linear).unwrap(), re < 0.0);
    }
}

/// Figures 2c, 4b and 4c: Hopf values against RED's lower threshold (b_max = 550, p_max = 0.1).
#[test]
fn critical_values_against_the_lower_threshold() {
    let rho = |bmin: f64| 0.1 / (550.0 - bmin);
    for (bmin, alpha, omega) in [
        (50.0, 0.12493492, 0.099471408),
        (75.0, 0.12847612, 0.10075535),
        (125.0, 0.13653083, 0.10359577),
    ] {
        let p = with(&[(TAU, 0.0848), (BMIN, bmin), (RHO, rho(bmin))]);
        let point = hopf(&AVERAGED, &p, ALPHA, (0.1, 0.2));
        close(point.p[ALPHA], alpha, 5e-8);
        close(point.omega, omega, 5e-8);
    }
    for (bmin, tau) in [(50.0, 0.27175129), (100.0, 0.25968288), (150.0, 0.24684362)] {
        let p = with(&[(BMIN, bmin), (RHO, rho(bmin))]);
        close(hopf(&INSTANTANEOUS, &p, TAU, (0.05, 0.6)).p[TAU], tau, 3e-8);
    }
    for (bmin, alpha) in [(50.0, 0.12633584), (100.0, 0.14038034), (150.0, 0.15793896)] {
        let p = with(&[(TAU, 0.273), (BMIN, bmin), (RHO, rho(bmin))]);
        close(
            hopf(&INSTANTANEOUS, &p, ALPHA, (0.1, 0.25)).p[ALPHA],
            alpha,
            5e-8,
        );
    }
}

/// Appendix B: tau = 0.7751 is not a Hopf point at the default parameters; these values of other
/// parameters make it one.
#[test]
fn what_would_make_0_7751_a_hopf_point() {
    let p = with(&[(TAU, 0.7751)]);
    for (free, range, value, omega) in [
        (RHO, (5e-6, 5e-5), 1.8094964e-5, 0.29731674),
        (ALPHA, (0.5, 3.0), 1.3258878, 0.89491499),
        (BETA, (0.02, 0.2), 0.055885578, 0.33390255),
        (C, (20.0, 60.0), 35.060158, 0.34653237),
    ] {
        let point = hopf(&INSTANTANEOUS, &p, free, range);
        close(point.p[free], value, 5e-8);
        close(point.omega, omega, 5e-8);
    }
}

/// Figure 14 and table "threshold policy": the Hopf threshold and the Hopf alpha.
#[test]
fn threshold_policy() {
    let point = hopf(&THRESHOLD, &with(&[(TAU, 1.0)]), QTH, (20.0, 80.0));
    close(point.p[QTH], 38.80428, 5e-8);
    close(point.omega, 1.60298303, 1e-8);
    close(point.x[0], 83.6648214, 1e-9);
    for (qth, alpha, omega, w) in [
        (10.0, 0.47483789, 1.6954064, 59.64361),
        (20.0, 0.23970414, 1.6331983, 73.668525),
        (30.0, 0.16098704, 1.6124192, 80.210577),
        (50.0, 0.097381442, 1.5957805, 86.566522),
        (80.0, 0.061218194, 1.5864151, 90.782621),
        (100.0, 0.049083197, 1.5832924, 92.331789),
    ] {
        let point = hopf(
            &THRESHOLD,
            &with(&[(TAU, 1.0), (QTH, qth)]),
            ALPHA,
            (0.02, 1.0),
        );
        close(point.p[ALPHA], alpha, 5e-8);
        close(point.omega, omega, 3e-8);
        close(point.x[0], w, 3e-8);
    }
    // Reno with the threshold policy
    let reno = with(&[(ALPHA, 1.0), (K, 0.0)]);
    let mut p = reno.clone();
    p[TAU] = 1.0;
    close(
        hopf(&THRESHOLD, &p, QTH, (20.0, 400.0)).p[QTH],
        149.7832632,
        1e-9,
    );
    p[TAU] = 0.1;
    close(
        hopf(&THRESHOLD, &p, QTH, (3.0, 40.0)).p[QTH],
        13.423641,
        5e-8,
    );
}

/// Stability under the threshold policy is not irrespective of the RTT: the Hopf value of C tau for
/// several thresholds.
#[test]
fn threshold_policy_depends_on_the_round_trip_time() {
    let p = with(&[(TAU, 0.5), (QTH, 39.0)]);
    let x = equilibrium(&THRESHOLD, &tcp_start(Policy::Threshold, &p), &p).unwrap();
    assert!(!is_stable(&Linear::of(&THRESHOLD, &x, &p)).unwrap());
    for (qth, product, digits) in [
        (15.0, 1.93, 3e-3),
        (30.0, 35.2, 2e-3),
        (39.0, 102.05, 5e-5),
        (50.0, 276.9, 2e-4),
    ] {
        let point = hopf(
            &THRESHOLD,
            &with(&[(QTH, qth)]),
            TAU,
            (product / 300.0, product / 40.0),
        );
        close(point.p[TAU] * 100.0, product, digits);
    }
}

struct NormalForm {
    system: Tcp,
    p: Vec<f64>,
    free: usize,
    range: (f64, f64),
    value: f64,
    c1: c64,
    mu2: f64,
    beta2: f64,
    t2: f64,
}

/// Appendix, equations (67) and (68): c1(0) with the window's component 1, mu2 and beta2 (kappa the
/// parameter), period coefficient.
#[test]
fn normal_forms() {
    let reno = with(&[(ALPHA, 1.0), (K, 0.0)]);
    let cases = [
        NormalForm {
            system: INSTANTANEOUS,
            p: DEFAULTS.to_vec(),
            free: TAU,
            range: (0.1, 0.6),
            value: 0.27175129,
            c1: c64::new(-4.9389695027e-6, -0.00020586628403),
            mu2: 3.87422745622e-5,
            beta2: -9.87793900541e-6,
            t2: 0.0001708997,
        },
        NormalForm {
            system: AVERAGED,
            p: DEFAULTS.to_vec(),
            free: TAU,
            range: (0.04, 0.3),
            value: 0.084834105,
            c1: c64::new(0.000109127337737, -0.000214176256441),
            mu2: -0.267950402541,
            beta2: 0.000218254675475,
            t2: 0.26999193,
        },
        NormalForm {
            system: AVERAGED,
            p: with(&[(GAMMA, 0.03)]),
            free: TAU,
            range: (0.04, 0.3),
            value: 0.170906,
            c1: c64::new(-1.59450954388e-5, -0.00101788161587),
            mu2: 0.000242886940859,
            beta2: -3.18901908776e-5,
            t2: 0.00085005369,
        },
        NormalForm {
            system: THRESHOLD,
            p: with(&[(TAU, 1.0)]),
            free: QTH,
            range: (20.0, 80.0),
            value: 38.80428,
            c1: c64::new(-0.0796086273291, -0.0934457836668),
            mu2: 0.113870714673,
            beta2: -0.159217254658,
            t2: 0.025714407,
        },
        NormalForm {
            system: INSTANTANEOUS,
            p: with(&[(TAU, 0.7751)]),
            free: RHO,
            range: (5e-6, 5e-5),
            value: 1.8094964e-5,
            c1: c64::new(-3.88148987447e-7, -7.8350066038e-6),
            mu2: 1.16466354024e-5,
            beta2: -7.76297974894e-7,
            t2: 1.500926e-5,
        },
        NormalForm {
            system: INSTANTANEOUS,
            p: reno.clone(),
            free: TAU,
            range: (0.1, 0.6),
            value: 0.27855958,
            c1: c64::new(-0.000144227458311, -0.000222643625731),
            mu2: 0.00111053175545,
            beta2: -0.000288454916622,
            t2: -0.00084409239,
        },
        NormalForm {
            system: AVERAGED,
            p: with(&[(ALPHA, 10.0), (K, 0.0), (BETA, 0.125)]),
            free: TAU,
            range: (0.3, 1.0),
            value: 0.57023281,
            c1: c64::new(6.34107257334e-6, -2.06838038572e-6),
            mu2: -0.0051666215063,
            beta2: 1.26821451467e-5,
            t2: 0.0051828829,
        },
        NormalForm {
            system: THRESHOLD,
            p: {
                let mut p = reno.clone();
                p[TAU] = 0.1;
                p
            },
            free: QTH,
            range: (3.0, 40.0),
            value: 13.423641,
            c1: c64::new(-12.5019851292, -12.3543506574),
            mu2: 1.91393171193,
            beta2: -25.0039702583,
            t2: 0.18916108,
        },
        NormalForm {
            system: Tcp {
                law: Law::RenoClassic,
                ..INSTANTANEOUS
            },
            p: DEFAULTS.to_vec(),
            free: TAU,
            range: (0.1, 0.6),
            value: 0.27706241,
            c1: c64::new(-0.0001638685002, -0.0002121106085),
            mu2: 0.0011838728,
            beta2: -0.000327737,
            t2: f64::NAN,
        },
    ];
    for case in cases {
        let point = hopf(&case.system, &case.p, case.free, case.range);
        close(
            point.p[case.free],
            case.value,
            if case.value == 0.170906 { 1e-6 } else { 5e-8 },
        );
        let nf = criticality(&case.system, &point, KAPPA, Normalisation::Component(0)).unwrap();
        // the printed Hopf value has eight digits, the normal form belongs to the exact one
        close_complex(nf.c1, case.c1, 2e-9);
        close(nf.c1.re, case.c1.re, 1e-7);
        close(nf.mu2, case.mu2, 1e-7);
        close(nf.beta2, case.beta2, 1e-6);
        assert_eq!(nf.is_supercritical(), case.beta2 < 0.0);
        if case.t2.is_finite() {
            close(nf.t2, case.t2, 1e-7);
        }
    }
}

/// How fast the root crosses the axis, against the round trip and against kappa.
#[test]
fn crossing_speeds() {
    let point = hopf(&INSTANTANEOUS, &DEFAULTS, TAU, (0.1, 0.6));
    let nf = criticality(&INSTANTANEOUS, &point, TAU, Normalisation::Component(0)).unwrap();
    close_complex(nf.crossing, c64::new(1.0176958, -0.15437891), 1e-7);
    let nf = criticality(&INSTANTANEOUS, &point, KAPPA, Normalisation::Component(0)).unwrap();
    close_complex(nf.crossing, c64::new(0.12748269, 0.95374146), 1e-8);
    let point = hopf(&AVERAGED, &DEFAULTS, TAU, (0.04, 0.3));
    let nf = criticality(&AVERAGED, &point, KAPPA, Normalisation::Component(0)).unwrap();
    close_complex(nf.crossing, c64::new(0.0004072669296, 0.0994291366), 1e-9);
    close(nf.crossing.re, 0.0004072669296, 1e-7);
}

/// AFRICA (w > 38): Hopf values of rho and their normal forms.
#[test]
fn africa() {
    for (system, c, tau, rho, omega, x, c1, mu2) in [
        (
            INSTANTANEOUS,
            1000.0,
            0.1,
            5.0667551e-6,
            1.501837969,
            vec![100.040039, 128.991535],
            c64::new(-2.744327445e-6, -2.594924773e-5),
            2.46209266e-5,
        ),
        (
            AVERAGED,
            1000.0,
            0.1,
            2.5317765e-6,
            1.053058384,
            vec![100.040039, 208.082974],
            c64::new(6.326077658e-7, -2.242634519e-5),
            -1.17252182e-5,
        ),
        (
            INSTANTANEOUS,
            1000.0,
            1.0,
            2.9017803e-8,
            0.09760874498,
            vec![1000.02346, 858.517092],
            c64::new(-1.524871138e-9, -1.770198765e-8),
            3.2163416e-7,
        ),
        (
            AVERAGED,
            1000.0,
            1.0,
            2.6377833e-8,
            0.09303879724,
            vec![1000.02346, 939.435839],
            c64::new(-1.19186548e-9, -1.705742171e-8),
            2.76839802e-7,
        ),
        (
            INSTANTANEOUS,
            10000.0,
            0.1,
            2.9017803e-8,
            0.9760874498,
            vec![1000.02346, 858.517092],
            c64::new(-1.524871138e-8, -1.770198765e-7),
            3.2163416e-7,
        ),
        (
            AVERAGED,
            10000.0,
            0.1,
            2.6377833e-8,
            0.9303879724,
            vec![1000.02346, 939.435839],
            c64::new(-1.19186548e-8, -1.705742171e-7),
            2.76839802e-7,
        ),
    ] {
        let p = with(&[(C, c), (TAU, tau), (GAMMA, 0.01)]);
        let system = Tcp {
            law: Law::Africa,
            ..system
        };
        let point = hopf(&system, &p, RHO, (rho / 5.0, rho * 5.0));
        close(point.p[RHO], rho, 5e-8);
        close(point.omega, omega, 5e-10);
        for (a, b) in point.x.iter().zip(&x) {
            close(*a, *b, 1e-8);
        }
        let nf = criticality(&system, &point, KAPPA, Normalisation::Component(0)).unwrap();
        close_complex(nf.c1, c1, 1e-9);
        close(nf.mu2, mu2, 2e-8);
    }
}

/// The characteristic polynomials (12), (13) and (28), (29) of the paper are what the linearisation
/// gives.
#[test]
fn characteristic_equations_of_the_paper() {
    let lambda = c64::new(0.3, 0.7);
    let p = with(&[(TAU, 0.27175129)]);
    let x = equilibrium(&INSTANTANEOUS, &tcp_start(Policy::Instantaneous, &p), &p).unwrap();
    let (w, loss) = (x[0], p[RHO] * (x[1] - p[BMIN]));
    let (tau, rho, c, k) = (p[TAU], p[RHO], p[C], p[K]);
    let i = p[ALPHA] * w.powf(k - 1.0);
    let a1 = (rho * w + (2.0 - k) * i * (1.0 - loss)) / tau;
    let a2 = rho * c * (2.0 - k) * i / tau;
    let a3 = rho * c * i / (loss * tau);
    let want = lambda * lambda + lambda * a1 + a2 + (-lambda * tau).exp() * a3;
    close_complex(
        Linear::of(&INSTANTANEOUS, &x, &p).determinant(lambda),
        want,
        1e-12,
    );

    let p = with(&[(TAU, 0.084834105)]);
    let x = equilibrium(&AVERAGED, &tcp_start(Policy::Averaged, &p), &p).unwrap();
    let (w, loss) = (x[0], x[2]);
    let (tau, gamma) = (p[TAU], p[GAMMA]);
    let i = p[ALPHA] * w.powf(k - 1.0);
    let own = (2.0 - k) * i * (1.0 - loss) / tau;
    // det of the 3 x 3 matrix, expanded: window (own), averaging (gamma C), queue (gamma C rho w /
    // tau)
    let a4 = rho * gamma * c * c * i / (loss * tau);
    let want = (lambda + own) * (lambda * (lambda + gamma * c) + gamma * c * rho * w / tau)
        + (-lambda * tau).exp() * a4;
    close_complex(
        Linear::of(&AVERAGED, &x, &p).determinant(lambda),
        want,
        1e-11,
    );
}

/// The Hopf curve of figure 4a by continuation is the hyperbola C tau = 27.175129 (the system
/// scales so), and of 2b passes the tabulated points.
#[test]
fn hopf_curves() {
    let start = hopf(&INSTANTANEOUS, &DEFAULTS, TAU, (0.1, 0.6));
    let options = ContinuationOptions {
        points: 300,
        step: 0.02,
        largest_step: 0.05,
    };
    let curve = hopf_curve(
        &INSTANTANEOUS,
        &start,
        (C, TAU),
        [(50.0, 500.0), (0.01, 1.0)],
        &options,
    )
    .unwrap();
    let product = start.p[TAU] * start.p[C];
    assert!(curve.points.len() > 30);
    close(curve.points[0].p[C], 50.0, 1e-12);
    close(curve.points.last().unwrap().p[C], 500.0, 1e-12);
    for point in &curve.points {
        close(point.p[TAU] * point.p[C], product, 1e-11);
        close(point.omega / point.p[C], start.omega / start.p[C], 1e-11);
    }
    let start = hopf(&AVERAGED, &DEFAULTS, TAU, (0.04, 0.3));
    let curve = hopf_curve(
        &AVERAGED,
        &start,
        (GAMMA, TAU),
        [(1e-4, 0.05), (0.01, 1.0)],
        &options,
    )
    .unwrap();
    let last = curve.points.last().unwrap();
    close(last.p[GAMMA], 0.05, 1e-12);
    close(last.p[TAU], 0.19980452, 5e-8);
    for point in &curve.points {
        let x = equilibrium(&AVERAGED, &point.x, &point.p).unwrap();
        let count = |tau: f64| {
            let mut p = point.p.clone();
            p[TAU] *= tau;
            count_right_of(
                &Linear::of(&AVERAGED, &equilibrium(&AVERAGED, &x, &p).unwrap(), &p),
                0.0,
            )
            .unwrap()
        };
        assert_eq!((count(0.999), count(1.001)), (0, 2));
    }
}
