//! Questions that cannot be answered are refused, each with its cause, never answered wrongly.

use crate::common::first_hopf;
use ackclock_delay::{
    Args, Bound, ContinuationOptions, End, Error as Failure, Linear, Scalar, System,
    count_right_of, equilibria, equilibrium, rightmost_roots, root_near,
};
use ackclock_fluid::{Choices, Error, Model, Outside};

fn model(queue: &str, congestion: &str, rtt_ms: f64, choices: Choices) -> Model {
    let text = format!(
        "[scenario]\nname = 'one flow'\nduration = '10 s'\n[[link]]\nname = 'link'\nrate = '1.2 Mbit/s'\ndelay = '0 ms'\nqueue = {queue}\n\
         [[flows]]\nname = 'tcp'\ncount = 1\npath = ['link']\nrtt = '{rtt_ms} ms'\ncongestion = '{congestion}'\ndelayed_ack = false\n"
    );
    let scenario = ackclock_scenario::parse(text, "test").unwrap_or_else(|e| panic!("{e:?}"));
    Model::from_scenario(&scenario, choices).unwrap()
}

const RED: &str = "{ aqm = 'red', capacity = 'unlimited', min_threshold = '50 packets', max_threshold = '550 packets', max_probability = 0.1, \
     weight = 'off', spacing = 'bernoulli', gentle = GENTLE }";

/// Compound balances p / (1 - p) = w^(-5/4) / 4: at p = p_max = 0.1 with w = 2.25^0.8, which a
/// round trip of 0.9 w / C makes the equilibrium.
#[test]
fn an_equilibrium_on_a_clamp() {
    let rtt = 1e3 * 0.9 * 2.25_f64.powf(0.8) / 100.0;
    let kinked = model(
        &RED.replace("GENTLE", "true"),
        "compound",
        rtt,
        Choices::default(),
    );
    let equilibrium = kinked.equilibrium();
    let Err(Error::OnBoundary { link, below, above }) = equilibrium else {
        panic!("{equilibrium:?}")
    };
    assert_eq!(
        (link.as_str(), below, above),
        ("link", "minimum to maximum", "maximum to twice maximum")
    );
    // a thousandth to either side there is one, in either regime
    for (factor, regime) in [(1.001, below), (0.999, above)] {
        let at = model(
            &RED.replace("GENTLE", "true"),
            "compound",
            factor * rtt,
            Choices::default(),
        );
        assert_eq!(at.equilibrium().unwrap().regime_names, [regime]);
    }
}

/// Without the gentle slope nothing balances beyond p_max, and the message says which regime would
/// and where it ends.
#[test]
fn no_equilibrium() {
    let strict = model(
        &RED.replace("GENTLE", "false"),
        "compound",
        10.0,
        Choices::default(),
    );
    let text = strict.equilibrium().unwrap_err().to_string();
    assert!(
        text.contains("\"minimum to maximum\"") && text.contains("reaches \"above maximum\""),
        "{text}"
    );
    // the threshold policy's law is a power of the load: overloaded, it would lose more than
    // everything
    let queue = "{ aqm = 'threshold', threshold = '20 packets', capacity = 'unlimited' }";
    let policy = model(queue, "compound", 1000.0, Choices::default());
    let at = policy.equilibrium().unwrap();
    assert_eq!(policy.outside(&at.regimes, &at.x, &at.p), []);
    let overload = policy.outside(&at.regimes, &[150.0], &at.p);
    assert!(
        matches!(
            overload.as_slice(),
            [Outside::Regime { .. } | Outside::Probability { .. }]
        ),
        "{overload:?}"
    );
}

/// AFRICA's law begins at 38 packets; below, the answer carries a warning, and above it none.
#[test]
fn a_law_outside_its_range() {
    for (rtt, warned) in [(200.0, true), (600.0, false)] {
        let africa = model(
            &RED.replace("GENTLE", "true"),
            "africa",
            rtt,
            Choices::default(),
        );
        let at = africa.equilibrium().unwrap();
        let outside = africa.outside(&at.regimes, &at.x, &at.p);
        let small = outside
            .iter()
            .any(|o| matches!(o, Outside::SmallWindow { class, below } if class == "tcp" && *below == 38.0));
        assert_eq!(small, warned, "{} {outside:?}", at.x[0]);
        let named = outside
            .iter()
            .any(|o| o.to_string().contains("below 38 packets"));
        assert_eq!(named, warned, "{outside:?}");
    }
}

/// A Hopf curve ends at the boundary of its range and says so; where an AQM leaves the regime of
/// its law on the way, the points say that.
#[test]
fn a_curve_and_its_ends() {
    let queue = "{ aqm = 'red', capacity = 'unlimited', min_threshold = '50 packets', max_threshold = '75 packets', slope = 2e-4, weight = 'off', \
         spacing = 'bernoulli' }";
    let mut fluid = model(queue, "compound", 260.0, Choices::default());
    let at = fluid.equilibrium().unwrap();
    let start = first_hopf(&mut fluid, &at, "tcp.rtt", 0.26, 0.5);
    let ranges = [(5e-5, 1e-3), (0.05, 1.0)];
    let curve = fluid
        .hopf_curve(
            &at,
            &start,
            ("link.slope", "tcp.rtt"),
            ranges,
            &ContinuationOptions::default(),
        )
        .unwrap();
    let mut ends = vec![];
    for end in [&curve.start, &curve.end] {
        let End::Range { parameter, value } = end else {
            panic!("{end:?}")
        };
        assert_eq!(fluid.parameter_names()[*parameter], "link.slope");
        ends.push(*value);
    }
    ends.sort_by(f64::total_cmp);
    assert_eq!(ends, [5e-5, 1e-3]);
    let (mut inside, mut beyond) = (0, 0);
    for point in &curve.points {
        let left = fluid.outside(&at.regimes, &point.x, &point.p);
        let passed = left.iter().any(
            |o| matches!(o, Outside::Regime { regime, .. } if *regime == "maximum to twice maximum"),
        );
        assert_eq!(passed, point.x[1] >= 75.0, "{left:?}");
        *(if passed { &mut beyond } else { &mut inside }) += 1;
    }
    assert!(inside > 3 && beyond > 3, "{inside} {beyond}");
}

/// x' = 1 + x^2: no equilibrium; bounded below at zero and pushed down: its only one is beyond the
/// bound.
struct Pushed {
    linear: bool,
}
impl System for Pushed {
    fn dimension(&self) -> usize {
        1
    }
    fn delays(&self) -> usize {
        0
    }
    fn rhs<S: Scalar>(&self, at: Args<'_, S>, out: &mut [S]) {
        let x = at.x[0];
        out[0] = if self.linear { -x - 1.0 } else { x * x + 1.0 };
    }
    fn delay<S: Scalar>(&self, _: usize, _: Args<'_, S>) -> S {
        S::from(0.0)
    }
    fn bounds(&self, _: &[f64]) -> Vec<Bound> {
        vec![Bound {
            state: 0,
            lower: 0.0,
            upper: f64::INFINITY,
        }]
    }
}

#[test]
fn newton_and_the_certificate() {
    let none = Pushed { linear: false };
    assert!(matches!(
        equilibrium(&none, &[3.0], &[]),
        Err(Failure::NewtonFailed { .. } | Failure::Singular { .. })
    ));
    assert!(matches!(
        equilibria(&none, &[0.0], &[5.0], &[]),
        Err(Failure::NoEquilibrium { .. })
    ));
    let beyond = Pushed { linear: true };
    assert!(matches!(
        equilibrium(&beyond, &[3.0], &[]),
        Err(Failure::OutOfBounds {
            state: 0,
            bound: 0.0
        })
    ));
    // x' = - pi / 2 x(t - 1) has its roots on the axis: no side can be claimed
    let edge = Linear::new(
        1,
        vec![0.0, 1.0],
        vec![vec![0.0], vec![-std::f64::consts::FRAC_PI_2]],
    );
    assert!(matches!(
        count_right_of(&edge, 0.0),
        Err(Failure::RootOnLine { .. })
    ));
    // x' = -x, and a root sought near 1000 i: Newton's method must not wander off to -1
    let plain = Linear::new(1, vec![0.0], vec![vec![-1.0]]);
    assert!(matches!(
        root_near(&plain, ackclock_delay::c64::new(0.0, 1000.0)),
        Err(Failure::NewtonFailed { .. })
    ));
    // ten thousand roots crowd within a hundredth of a line: more than a generator of affordable
    // size resolves, and what is missing is noticed
    let crowded = Linear::new(1, vec![0.0, 1e5], vec![vec![-1.0], vec![0.999]]);
    assert!(matches!(
        rightmost_roots(&crowded, 3000),
        Err(Failure::CertificateFailed { .. } | Failure::RootOnLine { .. })
    ));
}

/// Flows that come or go while it is measured: the equations had them all the time without a word.
#[test]
fn flows_that_are_absent_for_a_time_are_said() {
    let notes = |start: &str, stop: &str| {
        let text = format!(
            "[scenario]\nduration = '60 s'\nmeasure = '20 s .. 60 s'\n[[link]]\nname = 'link'\n\
             rate = '20 Mbit/s'\nqueue = {{ aqm = 'red', capacity = '300 packets' }}\n\
             [[flows]]\nname = 'tcp'\npath = ['link']\nrtt = '60 ms'\ncongestion = 'reno'\n\
             [[flows]]\nname = 'cam'\npath = ['link']\nrtt = '60 ms'\nstart = '{start}'\n\
             stop = '{stop}'\ntraffic = {{ kind = 'cbr', rate = '4 Mbit/s' }}\n"
        );
        let scenario = ackclock_scenario::parse(text, "test").unwrap_or_else(|e| panic!("{e:?}"));
        let model = Model::from_scenario(&scenario, Choices::default()).unwrap();
        let all = model.notes().to_vec();
        all.into_iter()
            .find(|note| note.contains("all the time"))
            .unwrap_or_default()
    };
    assert_eq!(notes("uniform 0 s .. 5 s", "never"), "");
    assert_eq!(notes("0 s", "60 s"), "");
    let said = "flows `cam`: the equations have them all the time, though they";
    assert_eq!(
        notes("30 s", "never"),
        format!("{said} start as late as 30 s")
    );
    assert_eq!(notes("0 s", "40 s"), format!("{said} stop at 40 s"));
    assert_eq!(
        notes("uniform 10 s .. 25 s", "40 s"),
        format!("{said} start as late as 25 s and stop at 40 s")
    );
}
