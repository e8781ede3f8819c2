//! Time integration against exact solutions.

use std::f64::consts::{E, FRAC_PI_2};

use crate::common::{DEFAULTS, MackeyGlass, Policy, TAU, Wright, close, system, tcp, tcp_start};
use crate::reference::fixed::{FixedStep, Method};
use ackclock_delay::{Args, Bound, Error, EventKind, Scalar, System, Tolerance, integrate};

/// x' = -x(t - 1) with x = 1 before 0, by the method of steps: a sum of (-1)^k (t - k + 1)^k / k!.
fn pieces(t: f64) -> f64 {
    let (mut sum, mut factorial) = (1.0, 1.0);
    for k in 1..=(t.floor() as i32 + 1) {
        factorial *= f64::from(k);
        sum += (-1.0_f64).powi(k) * (t - f64::from(k) + 1.0).powi(k) / factorial;
    }
    sum
}

#[test]
fn polynomial_pieces() {
    let tight = Tolerance {
        relative: 1e-11,
        absolute: 1e-13,
        ..Tolerance::default()
    };
    let path = integrate(&Wright, &[1.0, 0.0], &|_, x| x[0] = 1.0, 0.0, 8.0, &tight).unwrap();
    for k in 1..=80 {
        let t = f64::from(k) * 0.1;
        assert!((path.state(t)[0] - pieces(t)).abs() < 2e-11, "{t}");
    }
    // the first pieces are polynomials of low degree: with the steps on the breakpoints they come
    // out exactly
    let loose = Tolerance {
        relative: 1e-3,
        absolute: 1e-3,
        ..Tolerance::default()
    };
    let path = integrate(&Wright, &[1.0, 0.0], &|_, x| x[0] = 1.0, 0.0, 3.0, &loose).unwrap();
    assert!((path.state(3.0)[0] - pieces(3.0)).abs() < 1e-14);
}

/// The error follows the tolerance.
#[test]
fn tolerance_is_proportional() {
    let p = [2.0, 1.0, 10.0, 2.0];
    let end = |relative: f64| {
        let tolerance = Tolerance {
            relative,
            absolute: relative,
            ..Tolerance::default()
        };
        integrate(&MackeyGlass, &p, &|_, x| x[0] = 0.5, 0.0, 10.0, &tolerance)
            .unwrap()
            .state(10.0)[0]
    };
    let best = end(1e-13);
    for (tolerance, allowed) in [(1e-5, 1e-4), (1e-7, 1e-6), (1e-9, 1e-8), (1e-11, 1e-10)] {
        assert!(
            (end(tolerance) - best).abs() < allowed,
            "{tolerance}: {:e}",
            (end(tolerance) - best).abs()
        );
    }
}

/// A delay much shorter than the natural step: stages look into their own step.
#[test]
fn steps_longer_than_the_delay() {
    // x' = -x(t - d) decays like exp(z t) with z + exp(-z d) = 0 when the history does
    let d = 1e-3;
    let mut z = -1.0_f64;
    for _ in 0..50 {
        z = -(-z * d).exp();
    }
    struct Short;
    impl System for Short {
        fn dimension(&self) -> usize {
            1
        }
        fn delays(&self) -> usize {
            1
        }
        fn rhs<S: Scalar>(&self, a: Args<'_, S>, out: &mut [S]) {
            out[0] = -a.past[0];
        }
        fn delay<S: Scalar>(&self, _: usize, _: Args<'_, S>) -> S {
            S::from(1e-3)
        }
    }
    let path = integrate(
        &Short,
        &[],
        &|t, x| x[0] = (z * t).exp(),
        0.0,
        2.0,
        &Tolerance::default(),
    )
    .unwrap();
    close(path.state(2.0)[0], (2.0 * z).exp(), 1e-7);
    assert!(path.mesh().count() < 150, "{}", path.mesh().count());
}

system!(
    /// The planted orbit A cos t of x' = -x(t - pi/2) + (x^2 + x(t - pi/2)^2 - A^2)^2 x; p = (A).
    Planted, 1, [|_| S::from(FRAC_PI_2)], |a, out| {
        let (x, z) = (a.x[0], a.past[0]);
        let off = x * x + z * z - a.p[0] * a.p[0];
        out[0] = -z + off * off * x;
    }
);

#[test]
fn planted_orbit() {
    let path = integrate(
        &Planted,
        &[0.7],
        &|t, x| x[0] = 0.7 * t.cos(),
        0.0,
        20.0,
        &Tolerance::default(),
    )
    .unwrap();
    for k in 0..200 {
        let t = f64::from(k) * 0.1;
        assert!((path.state(t)[0] - 0.7 * t.cos()).abs() < 1e-6);
    }
}

/// y' = y(t) y(ln y(t)) / t, y = 1 for t <= 1 (Neves): y = t up to e, exp(t/e) up to e^2. The delay
/// t - ln y depends on the state (time is the second one), and its argument passes the initial
/// discontinuity at t = e.
struct Neves;
impl System for Neves {
    fn dimension(&self) -> usize {
        2
    }
    fn delays(&self) -> usize {
        1
    }
    fn state_dependent(&self) -> bool {
        true
    }
    fn rhs<S: Scalar>(&self, a: Args<'_, S>, out: &mut [S]) {
        out[0] = a.x[0] * a.past[0] / a.x[1];
        out[1] = S::from(1.0);
    }
    fn delay<S: Scalar>(&self, _: usize, a: Args<'_, S>) -> S {
        a.x[1] - a.x[0].ln()
    }
}

#[test]
fn state_dependent_delay() {
    let history = |t: f64, x: &mut [f64]| {
        x[0] = 1.0;
        x[1] = t;
    };
    let path = integrate(&Neves, &[], &history, 1.0, 7.0, &Tolerance::default()).unwrap();
    for t in [1.5, 2.0, 2.7] {
        close(path.state(t)[0], t, 1e-9);
    }
    for t in [2.72, 3.5, 5.0, 7.0] {
        close(path.state(t)[0], (t / E).exp(), 1e-7);
    }
    let nearest = path
        .mesh()
        .map(|t| (t - E).abs())
        .fold(f64::INFINITY, f64::min);
    assert!(
        nearest < 1e-7,
        "no step ends at the breakpoint e: {nearest:e}"
    );
}

/// x' = cos(time), confined to x >= -0.2 and x <= 0.5; and a switch that cuts the slope at time 9.
struct Confined;
impl System for Confined {
    fn dimension(&self) -> usize {
        2
    }
    fn delays(&self) -> usize {
        0
    }
    fn rhs<S: Scalar>(&self, a: Args<'_, S>, out: &mut [S]) {
        out[0] = if a.x[1] < 9.0 {
            a.x[1].cos()
        } else {
            S::from(0.25)
        };
        out[1] = S::from(1.0);
    }
    fn delay<S: Scalar>(&self, _: usize, _: Args<'_, S>) -> S {
        S::from(0.0)
    }
    fn switches(&self) -> usize {
        1
    }
    fn switch(&self, a: Args<'_, f64>, out: &mut [f64]) {
        out[0] = a.x[1] - 9.0;
    }
    fn bounds(&self, _: &[f64]) -> Vec<Bound> {
        vec![Bound {
            state: 0,
            lower: -0.2,
            upper: 0.5,
        }]
    }
}

/// The state slides along its bounds and leaves them when the field turns inwards: all moments are
/// known.
#[test]
fn sliding_along_bounds() {
    let history = |_: f64, x: &mut [f64]| x.fill(0.0);
    let path = integrate(&Confined, &[], &history, 0.0, 10.0, &Tolerance::default()).unwrap();
    use EventKind::{Left, Reached, Switched};
    let pi = std::f64::consts::PI;
    // up to 0.5 at asin 0.5; left at pi/2; x = 0.5 + sin t - 1 reaches -0.2 where sin t = 0.3; left
    // at 3 pi/2; x = -0.2 + sin t + 1 reaches 0.5 where sin t = -0.3; left at 5 pi/2; at t = 9 the
    // slope becomes 1/4
    let want = [
        (0.5_f64.asin(), Reached { state: 0 }),
        (pi / 2.0, Left { state: 0 }),
        (pi - 0.3_f64.asin(), Reached { state: 0 }),
        (1.5 * pi, Left { state: 0 }),
        (2.0 * pi - 0.3_f64.asin(), Reached { state: 0 }),
        (2.5 * pi, Left { state: 0 }),
        (9.0, Switched { switch: 0 }),
    ];
    assert_eq!(path.events.len(), want.len(), "{:?}", path.events);
    for (event, (time, kind)) in path.events.iter().zip(want) {
        assert_eq!(event.kind, kind);
        assert!((event.time - time).abs() < 1e-7, "{event:?}, want {time}");
    }
    close(path.state(10.0)[0], 0.5 + 9.0_f64.sin() - 1.0 + 0.25, 1e-8);
    assert_eq!(path.state(1.0)[0], 0.5);
    // the fixed-step mode projects: first order in the step
    let mut fixed = FixedStep::new(
        &Confined,
        &[],
        &history,
        0.0,
        1e-3,
        0.0,
        Method::RungeKutta4,
    )
    .unwrap();
    fixed.run(10_000, 0, &mut |_, _| {}).unwrap();
    assert!((fixed.state()[0] - path.state(10.0)[0]).abs() < 1e-3);
}

/// Fixed steps: order of convergence, and the same bits twice.
#[test]
fn fixed_steps() {
    let p = [2.0, 1.0, 10.0, 2.0];
    let history = |_: f64, x: &mut [f64]| x[0] = 0.5;
    let tolerance = Tolerance {
        relative: 1e-13,
        absolute: 1e-13,
        ..Tolerance::default()
    };
    let exact = integrate(&MackeyGlass, &p, &history, 0.0, 20.0, &tolerance)
        .unwrap()
        .state(20.0)[0];
    let end = |method: Method, steps: u64| {
        let mut run = FixedStep::new(
            &MackeyGlass,
            &p,
            &history,
            0.0,
            20.0 / steps as f64,
            0.0,
            method,
        )
        .unwrap();
        run.run(steps, 0, &mut |_, _| {}).unwrap();
        run.state()[0]
    };
    for (method, order) in [(Method::Heun, 2.0), (Method::RungeKutta4, 4.0)] {
        let (coarse, fine) = (
            (end(method, 1000) - exact).abs(),
            (end(method, 2000) - exact).abs(),
        );
        let observed = (coarse / fine).log2();
        assert!(
            (observed - order).abs() < 0.4,
            "{method:?}: order {observed}"
        );
    }
    // a delay that is not a multiple of the step
    let (coarse, fine) = (
        (end(Method::RungeKutta4, 990) - exact).abs(),
        (end(Method::RungeKutta4, 1980) - exact).abs(),
    );
    assert!((coarse / fine).log2() > 2.9);
    assert_eq!(
        end(Method::RungeKutta4, 1000).to_bits(),
        end(Method::RungeKutta4, 1000).to_bits()
    );
}

/// A TCP-like system from both integrators.
#[test]
fn compound_red_settles_on_its_equilibrium() {
    let system = tcp(Policy::Instantaneous);
    let mut p = DEFAULTS.to_vec();
    p[TAU] = 0.15;
    let start = tcp_start(Policy::Instantaneous, &p);
    let history = |_: f64, x: &mut [f64]| x.copy_from_slice(&start);
    let path = integrate(&system, &p, &history, 0.0, 60.0, &Tolerance::default()).unwrap();
    let x = ackclock_delay::equilibrium(&system, &start, &p).unwrap();
    for (a, b) in path.state(60.0).iter().zip(&x) {
        close(*a, *b, 1e-3);
    }
    let mut fixed =
        FixedStep::new(&system, &p, &history, 0.0, 0.005, 0.0, Method::RungeKutta4).unwrap();
    fixed.run(2000, 0, &mut |_, _| {}).unwrap();
    for (a, b) in fixed.state().iter().zip(path.state(10.0)) {
        close(*a, b, 1e-6);
    }
}

#[test]
fn failures_are_typed() {
    let history = |_: f64, x: &mut [f64]| x[0] = 1.0;
    assert!(matches!(
        integrate(
            &Wright,
            &[1.0, 0.0],
            &history,
            0.0,
            -1.0,
            &Tolerance::default()
        ),
        Err(Error::Argument(_))
    ));
    let few = Tolerance {
        steps: 3,
        ..Tolerance::default()
    };
    assert!(matches!(
        integrate(&Wright, &[1.0, 0.0], &history, 0.0, 9.0, &few),
        Err(Error::TooManySteps { steps: 3, .. })
    ));
    let late = Error::TooManySteps {
        steps: 200_000,
        time: 1.448_295_968_802_672_6,
    };
    assert_eq!(
        late.to_string(),
        "more than 200000 steps needed; reached t = 1.448296"
    );
    assert!(matches!(
        FixedStep::new(&Wright, &[1.0, 0.0], &history, 0.0, 2.0, 0.0, Method::Heun),
        Err(Error::BadDelay { delay: 0, .. })
    ));
    // x' = -2 x(t - 1)(1 + x) started below -1 runs to minus infinity
    let escape = integrate(
        &Wright,
        &[2.0, 1.0],
        &|_, x| x[0] = -3.0,
        0.0,
        1000.0,
        &Tolerance::default(),
    );
    assert!(
        matches!(
            escape,
            Err(Error::NotFinite { .. } | Error::StepUnderflow { .. })
        ),
        "{:?}",
        escape.map(|p| p.end())
    );
}

/// An empty queue under two growing flows: it begins to fill when their sum passes the capacity,
/// whichever side of zero rounding puts it there.
struct Filling;
impl System for Filling {
    fn dimension(&self) -> usize {
        3
    }
    fn delays(&self) -> usize {
        0
    }
    fn rhs<S: Scalar>(&self, a: Args<'_, S>, out: &mut [S]) {
        (out[0], out[1]) = (S::from(10.0), S::from(2.0));
        out[2] = (a.x[0] * 100.0 + a.x[1] * 24.0) / 0.1 - 1e5;
    }
    fn delay<S: Scalar>(&self, _: usize, _: Args<'_, S>) -> S {
        S::from(0.0)
    }
    fn bounds(&self, _: &[f64]) -> Vec<Bound> {
        vec![Bound {
            state: 2,
            lower: 0.0,
            upper: f64::INFINITY,
        }]
    }
}

#[test]
fn sliding_ends_when_the_slope_turns() {
    for k in 0..200 {
        let start = [70.0 - 0.1 * f64::from(k), 83.3 - 0.07 * f64::from(k), 0.0];
        let path = integrate(
            &Filling,
            &[],
            &|_, x| x.copy_from_slice(&start),
            0.0,
            10.0,
            &Tolerance::default(),
        )
        .unwrap();
        let filling = 10.0 * 1000.0 + 2.0 * 240.0;
        let turn = (1e5 - 1000.0 * start[0] - 240.0 * start[1]) / filling;
        close(
            path.state(10.0)[2],
            0.5 * filling * (10.0 - turn).powi(2),
            1e-9,
        );
        assert_eq!(
            path.events.last().map(|e| e.kind),
            Some(EventKind::Left { state: 2 })
        );
    }
}
