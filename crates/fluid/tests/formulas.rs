//! The closed formulas of "Compound TCP with RED" (Manjunath and Raina) evaluated at our
//! equilibria: which are right, which misprinted.

use crate::common::first_hopf;
use ackclock_delay::c64;
use ackclock_fluid::{Choices, Model};

#[track_caller]
fn close(got: f64, want: f64, tolerance: f64) {
    assert!(
        (got - want).abs() <= tolerance * want.abs(),
        "got {got:.10e}, want {want:.10e}"
    );
}

/// One flow of 100 packets/s: equilibrium window, loss probability, and the numbers of the
/// formulas.
struct Point {
    w: f64,
    p: f64,
    tau: f64,
    rho: f64,
    c: f64,
    gamma: f64,
    k: f64,
    beta: f64,
}

fn one_flow(weight: &str, tau: f64, congestion: &str) -> Model {
    let text = format!(
        "[scenario]\nname = 'one flow'\nduration = '10 s'\n[[link]]\nname = 'link'\nrate = '1.2 Mbit/s'\ndelay = '0 ms'\n\
         queue = {{ aqm = 'red', capacity = 'unlimited', min_threshold = '50 packets', max_threshold = '550 packets', max_probability = 0.1, \
         weight = {weight}, spacing = 'bernoulli' }}\n\
         [[flows]]\nname = 'tcp'\ncount = 1\npath = ['link']\nrtt = '{} ms'\ncongestion = {congestion}\ndelayed_ack = false\n",
        tau * 1e3
    );
    let scenario = ackclock_scenario::parse(text, "test").unwrap_or_else(|e| panic!("{e:?}"));
    Model::from_scenario(&scenario, Choices::default()).unwrap()
}

fn point(weight: &str, tau: f64) -> Point {
    let at = one_flow(weight, tau, "'compound'").equilibrium().unwrap();
    let (w, p) = (at.x[0], at.probability[0]);
    let gamma = weight.parse().unwrap_or(1.0);
    Point {
        w,
        p,
        tau,
        rho: 2e-4,
        c: 100.0,
        gamma,
        k: 0.75,
        beta: 0.5,
    }
}

impl Point {
    /// (2 - k) beta p*, the window's own damping.
    fn m(&self) -> f64 {
        (2.0 - self.k) * self.beta * self.p
    }

    /// Omega of section IV with `factor` rho^2 beta^2 under the root: four is right, one is
    /// printed.
    fn omega(&self, factor: f64) -> f64 {
        let (r2, m2) = (self.rho * self.rho, self.m() * self.m());
        let inner = ((r2 - m2).powi(2) + factor * r2 * self.beta * self.beta).sqrt();
        (0.5 * (inner - r2 - m2)).sqrt()
    }

    /// a1, a2, a3 of (29).
    fn instantaneous(&self) -> [f64; 3] {
        let x = self.w / self.tau;
        [
            (self.rho + self.m()) * x,
            self.rho * self.m() * x * x,
            self.rho * self.beta * x * x,
        ]
    }

    /// a1 to a4 of (13).
    fn averaged(&self) -> [f64; 4] {
        let (x, gc, m) = (self.w / self.tau, self.gamma * self.c, self.m());
        [
            gc + m * x,
            gc * self.rho * x + gc * m * x,
            gc * self.rho * m * x * x,
            gc * self.rho * self.beta * x * x,
        ]
    }
}

const NOAVG: f64 = 0.271_751_286;
const AVG: f64 = 0.084_834_105;

/// Omega, (33) and (34): the printed rho^2 beta^2 must be 4 rho^2 beta^2, and the printed
/// denominator must lose its tau.
#[test]
fn without_averaging() {
    let at = point("'off'", NOAVG);
    let x = at.w / at.tau;
    close(at.omega(4.0) * x, 0.98839363, 2e-8);
    close(at.omega(1.0) * x, 0.68803092, 2e-8);
    // (33) gives the critical delay at the equilibrium of that very delay: the fixed point, by the
    // secant rule
    let tau = |factor: f64| {
        let excess = |tau: f64| {
            let at = point("'off'", tau);
            let [a1, _, a3] = at.instantaneous();
            let w0 = at.omega(factor) * at.w / at.tau;
            (a1 * w0 / a3).asin() / w0 - tau
        };
        let (mut a, mut b) = (0.268, 0.273);
        let (mut fa, mut fb) = (excess(a), excess(b));
        for _ in 0..12 {
            if (b - a).abs() < 1e-12 {
                break;
            }
            let next = b - fb * (b - a) / (fb - fa);
            (a, fa) = (b, fb);
            (b, fb) = (next, excess(next));
        }
        b
    };
    close(tau(4.0), 0.27175129, 3e-8);
    close(tau(1.0), 0.27095875, 3e-8);
    let [a1, a2, a3] = at.instantaneous();
    let w0 = at.omega(4.0) * x;
    // (28) has the root i omega0 there
    let s = c64::new(0.0, w0);
    assert!((s * s + s * a1 + a2 + (-s * at.tau).exp() * a3).norm() < 1e-7);
    // (34) corrected and as printed: Re (dlambda / dkappa)^-1 at kappa = 1, against the root's own
    // derivative
    let e = (-s * at.tau).exp();
    let slope = -(s * a1 + a2 * 2.0 + e * a3 * 2.0) / (s * 2.0 + a1 - e * a3 * at.tau);
    close(slope.inv().re, 0.13768894, 1e-7);
    close(slope.re, 0.12748269, 1e-7);
    close(slope.im, 0.95374146, 1e-7);
}

/// (35) as a test of stability: its left side passes one at the Hopf point, but falls again for
/// long round trips where the system is unstable.
#[test]
fn condition_35() {
    let left = |tau: f64| {
        let at = point("'off'", tau);
        let omega = at.omega(4.0);
        at.rho * at.beta * (at.w * omega).sin() / (omega * (at.rho + at.m()))
    };
    close(left(NOAVG), 1.0, 1e-7);
    for (tau, value) in [
        (0.2, 0.51977905),
        (0.4, 2.2380471),
        (3.0, 4.3359783),
        (3.3, -5.0770268),
        (5.0, -36.044577),
    ] {
        close(left(tau), value, 1e-6);
    }
}

/// (12) to (24): the averaged model's coefficients, condition (16), and the transversality
/// expression with its misprints.
#[test]
fn with_averaging() {
    let at = point("0.0001", AVG);
    let [a1, a2, a3, a4] = at.averaged();
    let s = c64::new(0.0, 0.099470578);
    let e = (-s * at.tau).exp();
    let left = s * s * s + s * s * a1 + s * a2 + a3 + e * a4;
    assert!(left.norm() < 1e-7 * a4, "{left} {a4}");
    // (23)
    let n = -(s * s * a1 + s * a2 * 2.0 + a3 * 3.0 + e * a4 * 3.0);
    let d = s * s * 3.0 + s * a1 * 2.0 + a2 - e * a4 * at.tau;
    close((n / d).re, 0.0004072669, 1e-5);
    close((n / d).im, 0.0994291366, 1e-7);
    // (24) printed with 6 omega^6, right with 3
    let w2 = s.im * s.im;
    let both = |six: f64| {
        at.tau
            * (six * w2.powi(3)
                + 2.0 * w2 * w2 * (a1 * a1 - 2.0 * a2)
                + w2 * (a2 * a2 - 2.0 * a1 * a3))
    };
    let dot = n.re * d.re + n.im * d.im;
    close(dot, 1.8505732e-5, 1e-6);
    close(both(3.0), 1.8505732e-5, 1e-6);
    close(both(6.0), 1.8752257e-5, 1e-6);
    // the claim (2 - k)^2 beta^2 p^2 - 2 gamma rho > 0 fails at gamma = 0.05
    let late = point("0.05", 0.199_804_52);
    close(
        late.m().powi(2) - 2.0 * late.gamma * late.rho,
        -6.6746444e-6,
        1e-6,
    );
}

/// RED's second slope and where the affine law ends: C tau at which p* = p_max.
#[test]
fn red_of_section_2() {
    close((1.0 - 0.1) / 550.0, 0.0016363636, 3e-8);
    let at = point("'off'", 1.7218231 / 100.0);
    close(at.p, 0.1, 1e-7);
}

/// (40), (42), (43) and (44): the threshold policy, w' = (i (1 - p) - d p) w(t - tau) / tau with p
/// = (w / (C tau))^q_th, at C tau = 100.
#[test]
fn threshold_conditions() {
    let text = |threshold: f64, congestion: &str| {
        format!(
            "[scenario]\nname = 'one flow'\nduration = '10 s'\n[[link]]\nname = 'link'\nrate = '1.2 Mbit/s'\ndelay = '0 ms'\n\
             queue = {{ aqm = 'threshold', capacity = 'unlimited', threshold = '{threshold} packets' }}\n\
             [[flows]]\nname = 'tcp'\ncount = 1\npath = ['link']\nrtt = '1000 ms'\ncongestion = {congestion}\ndelayed_ack = false\n"
        )
    };
    let window = |threshold: f64, congestion: &str| {
        let scenario = ackclock_scenario::parse(text(threshold, congestion), "test")
            .unwrap_or_else(|e| panic!("{e:?}"));
        let at = Model::from_scenario(&scenario, Choices::default())
            .unwrap()
            .equilibrium()
            .unwrap();
        (at.x[0], at.probability[0])
    };
    let secant = |f: &dyn Fn(f64) -> f64, mut a: f64, mut b: f64| {
        let (mut fa, mut fb) = (f(a), f(b));
        for _ in 0..20 {
            if (b - a).abs() < 1e-11 * b {
                break;
            }
            let next = b - fb * (b - a) / (fb - fa);
            (a, fa) = (b, fb);
            (b, fb) = (next, f(next));
        }
        b
    };
    // (40) and (42) hold with equality at the Hopf threshold
    let (w, p) = window(38.804_280_4, "'compound'");
    let i = 0.125 * w.powf(-0.25);
    let (a1, a2) = (1.25 * i * (1.0 - p), 38.804_280_4 * i);
    close((a2 * a2 - a1 * a1).sqrt(), (-a1 / a2).acos(), 1e-8);
    // the expression for w* that takes 1 - p as one
    let q_th = 38.804_280_4_f64;
    close(
        (0.125 / 0.5 * 100.0_f64.powf(q_th)).powf(1.0 / (q_th + 1.25)),
        83.666884,
        1e-8,
    );
    // (43), sufficient: alpha q_th w^(k - 1) = pi / 2
    for (threshold, alpha) in [
        (10.0, 0.4356971),
        (15.0, 0.30071098),
        (20.0, 0.2299849),
        (30.0, 0.15666141),
        (40.0, 0.11888444),
        (50.0, 0.09581933),
        (60.0, 0.080264008),
        (70.0, 0.069060946),
        (80.0, 0.060606213),
        (90.0, 0.053998215),
        (100.0, 0.048691044),
    ] {
        let excess = |alpha: f64| {
            let (w, _) = window(
                threshold,
                &format!("{{ kind = 'compound', alpha = {alpha} }}"),
            );
            alpha * threshold * w.powf(-0.25) - std::f64::consts::FRAC_PI_2
        };
        close(secant(&excess, 0.9 * alpha, 1.1 * alpha), alpha, 5e-8);
    }
    // (44), Reno: q_th / w = pi / 2
    let excess =
        |threshold: f64| threshold / window(threshold, "'reno'").0 - std::f64::consts::FRAC_PI_2;
    close(secant(&excess, 140.0, 155.0), 148.43298, 5e-8);
}

/// (15) and (16) hold with equality at the Hopf point; (18), offered as a sufficient condition,
/// holds where the system is unstable too: its left side lost the modulus of (16) and is negative.
#[test]
fn conditions_15_16_and_18() {
    let (tau, omega) = (0.084_834_105, 0.099_470_578);
    let at = point("0.0001", tau);
    let [a1, a2, a3, a4] = at.averaged();
    let right = omega * (a2 - omega * omega) / (a1 * omega * omega - a3);
    close((omega * tau).tan(), right, 1e-6);
    let left16 = a4 / (a2 * omega - omega.powi(3)).abs() * (omega * tau).sin().abs();
    close(left16, 1.0, 1e-6);
    for (tau, value, abscissa) in [
        (0.05, -5.3970558e-7, -0.00354423),
        (0.0848341, -2.5588784e-6, -6.40891e-10),
        (0.1, -4.1657864e-6, 0.00232703),
        (0.15, -1.3909287e-5, 0.0128998),
        (0.273, -8.3126431e-5, 0.042672),
    ] {
        let at = point("0.0001", tau);
        let (w2, quarter) = (at.w * at.w, 0.25 * std::f64::consts::PI.powi(2));
        let above = at.rho * at.gamma * 0.125 * at.w.powf(at.k) * at.c * at.tau / at.p;
        let below =
            at.gamma * (at.rho * w2 + (2.0 - at.k) * at.beta * w2 * at.p) - quarter / (1.0 - at.p);
        close(above / below, value, 1e-7);
        assert!(above / below < std::f64::consts::FRAC_PI_2);
        // the rightmost root of (12) says otherwise for the last three
        let model = one_flow("0.0001", tau, "'compound'");
        let roots = model.roots(&model.equilibrium().unwrap(), 1).unwrap();
        // (the second row is the Hopf point to the digits given)
        let off = (roots.abscissa() - abscissa).abs();
        assert!(off < f64::max(1e-5 * f64::abs(abscissa), 2e-9), "{off}");
    }
}

/// A factor of the quadratic and cubic terms: its coefficients of z, z^2 / 2 and z conj(z) on the
/// centre manifold.
#[derive(Clone, Copy)]
struct Factor {
    first: c64,
    second: c64,
    mixed: c64,
}

/// Coefficients of z^2 / 2, z conj(z), conj(z)^2 / 2 and z^2 conj(z) / 2 in a product of two
/// factors.
fn product(a: Factor, b: Factor) -> [c64; 4] {
    let (ac, bc) = (a.first.conj(), b.first.conj());
    [
        a.first * b.first * 2.0,
        a.first * bc + ac * b.first,
        ac * bc * 2.0,
        (a.mixed * b.first + b.mixed * a.first) * 2.0 + a.second * bc + b.second * ac,
    ]
}

/// The last of them in a product of three.
fn cubic(a: Factor, b: Factor, c: Factor) -> c64 {
    let (a, b, c) = (a.first, b.first, c.first);
    (a * b * c.conj() + a * b.conj() * c + a.conj() * b * c) * 2.0
}

/// The appendix's recipe, (47) to (67), at the Hopf point without averaging, step by step: it gives
/// the normal form of the general analysis if table II's coefficient of u1(t) u1(t - tau) u2(t -
/// tau) is - p' (i' + d') / tau, and 32 times its mu2 with the printed half of that.
#[test]
fn recipe_of_the_appendix() {
    let mut model = one_flow("'off'", 0.2, "'compound'");
    let at = model.equilibrium().unwrap();
    let hopf = first_hopf(&mut model, &at, "tcp.rtt", 0.2, 0.4);
    let normal_form = model.criticality(&at, &hopf, "gain", 0).unwrap();
    let (w, q, omega, tau) = (hopf.x[0], hopf.x[1], hopf.omega, hopf.p[3]);
    let (rho, k, beta) = (2e-4, 0.75, 0.5);
    let p = rho * (q - 50.0);
    // i(w) = w^(k - 1) / 8 and its derivatives; d(w) = w / 2
    let i = 0.125 * w.powf(k - 1.0);
    let di = i * (k - 1.0) / w;
    let ddi = di * (k - 2.0) / w;
    let dddi = ddi * (k - 3.0) / w;
    let c = |re: f64| c64::new(re, 0.0);
    let own = di * (1.0 - p) - beta * p;
    let (xi_x, xi_s) = (c(own * w / tau), c(-rho * (i + beta * w) * w / tau));
    let (chi_x, chi_y) = (c((1.0 - p) / tau), c(-rho * w / tau));
    let turn = c64::new(0.0, omega);
    let late = (-turn * tau).exp();
    let phi1 = chi_x / (turn - chi_y);
    let phi2 = -chi_x / (xi_x + turn);
    let b = (phi2 * (c(1.0) + phi1.conj() * xi_s * late.conj() * tau) + phi1.conj()).inv();
    let recipe = |xi_xrs: f64| {
        // u1(t), u1(t - tau), u2(t), u2(t - tau)
        let mut u = [c(1.0), late, phi1, phi1 * late].map(|first| Factor {
            first,
            second: c(0.0),
            mixed: c(0.0),
        });
        let quadratic = |u: &[Factor; 4]| {
            let [x, r, y, s] = *u;
            let mut window = [c(0.0); 4];
            for (factor, [a, b]) in [
                (ddi * (1.0 - p) * w / (2.0 * tau), [x, x]),
                (own / tau, [x, r]),
                (-rho * (di + beta) * w / tau, [x, s]),
                (-rho * (i + beta * w) / tau, [r, s]),
            ] {
                for (sum, term) in window.iter_mut().zip(product(a, b)) {
                    *sum += term * factor;
                }
            }
            (window, product(x, y).map(|v| v * (-rho / tau)))
        };
        let g = |window: c64, queue: c64| b.conj() * (phi2.conj() * window + queue);
        let (f1, f2) = quadratic(&u);
        let (g20, g11, g02) = (g(f1[0], f2[0]), g(f1[1], f2[1]), g(f1[2], f2[2]));
        // E and F of (66)
        let solve = |a1: c64, a2: c64, b1: c64, b2: c64, c1: c64, c2: c64| {
            let det = a1 * b2 - a2 * b1;
            ((c1 * b2 - c2 * b1) / det, (c2 * a1 - c1 * a2) / det)
        };
        let twice = turn * 2.0;
        let e = solve(
            xi_x - twice,
            chi_x,
            xi_s * late * late,
            chi_y - twice,
            -f1[0],
            -f2[0],
        );
        let f = solve(xi_x, chi_x, xi_s, chi_y, -f1[1], -f2[1]);
        // (62) at theta = 0 and - tau
        for (j, factor) in u.iter_mut().enumerate() {
            let (v, (e, f)) = if j < 2 {
                (c(1.0), (e.0, f.0))
            } else {
                (phi1, (e.1, f.1))
            };
            let l = if j % 2 == 0 { c(1.0) } else { late };
            factor.second =
                -g20 / turn * v * l - g02.conj() / (turn * 3.0) * v.conj() * l.conj() + e * l * l;
            factor.mixed = g11 / turn * v * l - g11.conj() / turn * v.conj() * l.conj() + f;
        }
        let (f1, f2) = quadratic(&u);
        let [x, r, _, s] = u;
        let third = cubic(x, x, x) * (dddi * (1.0 - p) * w / (6.0 * tau))
            + cubic(x, x, r) * (ddi * (1.0 - p) / (2.0 * tau))
            + cubic(x, x, s) * (-rho * ddi * w / (2.0 * tau))
            + cubic(x, r, s) * xi_xrs;
        let g21 = g(f1[3] + third, f2[3]);
        // (67)
        -(g20 * g11 - g11.norm_sqr() * 2.0 - g02.norm_sqr() / 3.0) / twice + g21 * 0.5
    };
    let right = -rho * (di + beta) / tau;
    let c1 = recipe(right);
    assert!(
        (c1 - normal_form.c1).norm() < 1e-9 * c1.norm(),
        "{c1} {}",
        normal_form.c1
    );
    assert!((c1 - c64::new(-4.9389695e-6, -0.00020586628)).norm() < 1e-7 * c1.norm());
    let printed = recipe(0.5 * right);
    assert!((printed - c64::new(-0.00015889335, -0.00048903678)).norm() < 1e-7 * printed.norm());
    let slope = 0.12748269;
    close(-c1.re / slope, 3.8742275e-5, 1e-6);
    close(-printed.re / slope, 0.0012463915, 1e-7);
    close(2.0 * printed.re, -0.0003177867, 1e-6);
}
