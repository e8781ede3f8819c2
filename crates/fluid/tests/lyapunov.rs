//! The papers' Lyapunov functions: never growing at random states and along trajectories from them,
//! and where a printed one does grow.

use crate::reference::end_host::{EndHost, Falling, Flows, Response};
use crate::reference::lyapunov::{Lyapunov, aimd_over_red};
use ackclock_algorithms::{Owner, Stream};
use ackclock_delay::{DynSystem, Tolerance, integrate};
use ackclock_fluid::{Choices, Decrease, Form, Model};

/// "AIMD congestion control" (Wang et al.): 1.2 Gbit/s, 100 ms, RED without averaging of slope
/// 1e-4. The paper's q is the queue above the threshold, which is zero here: there the queue is
/// reflected.
fn aimd(classes: &[(u32, f64, f64)]) -> Model {
    let mut text = "[scenario]\nname = 'aimd'\nduration = '10 s'\n[[link]]\nname = 'link'\nrate = '1200 Mbit/s'\ndelay = '0 ms'\n\
         queue = { aqm = 'red', capacity = 'unlimited', min_threshold = '0 packets', slope = 1e-4, weight = 'off', ecn = true, \
         spacing = 'bernoulli' }\n"
        .to_owned();
    for (k, (count, alpha, beta)) in classes.iter().enumerate() {
        text += &format!(
            "[[flows]]\nname = 'class {k}'\ncount = {count}\npath = ['link']\nrtt = '100 ms'\n\
             congestion = {{ kind = 'aimd', alpha = {alpha}, beta = {beta} }}\necn = true\n"
        );
    }
    let choices = Choices {
        form: Form::Rate,
        decrease: Decrease::RoundAverage,
        clamped: true,
        ..Choices::default()
    };
    let scenario = ackclock_scenario::parse(&text, "test").unwrap_or_else(|e| panic!("{e:?}"));
    Model::from_scenario(&scenario, choices).unwrap()
}

/// V never grows from `start` on; at the end less than a thousandth is left of it.
fn falls(v: &Lyapunov, system: &dyn DynSystem, p: &[f64], start: &[f64], duration: f64) {
    let history = |_: f64, x: &mut [f64]| x.copy_from_slice(start);
    let path = integrate(system, p, &history, 0.0, duration, &Tolerance::default()).unwrap();
    let first = v.value(start);
    let mut last = first;
    for step in 1..=400 {
        let now = v.value(&path.state(duration * f64::from(step) / 400.0));
        // where V is nearly flat the integrator's own error may lift it by its tolerance
        assert!(now <= last + 1e-6 * first, "{now} {last}");
        last = now;
    }
    assert!(last < 1e-3 * first, "{last} {first}");
}

/// Theorems 1 to 3: one, two and three classes. dV/dt <= 0 at 200 random states with windows up to
/// three times, queues up to forty times those of the equilibrium, and V falls along the
/// trajectories from five of them. With half of the queue's term, as printed before theorem 1, it
/// grows at some.
#[test]
fn aimd_over_red_without_delay() {
    for classes in [
        vec![(100, 1.0, 0.5)],
        vec![(100, 1.0, 0.5), (24, 0.2, 0.875)],
        vec![(60, 1.0, 0.5), (24, 0.2, 0.875), (30, 0.6, 0.6)],
    ] {
        let model = aimd(&classes).undelayed();
        let at = model.equilibrium().unwrap();
        // a round's average window (1 + beta) / 2 of the largest loses 1 - beta of that
        let decreases: Vec<(f64, f64)> = classes
            .iter()
            .map(|(count, _, beta)| (f64::from(*count), 2.0 * (1.0 - beta) / (1.0 + beta)))
            .collect();
        let v = aimd_over_red(&at, &decreases, 1e-4);
        let mut printed = v.clone();
        *printed.weights.last_mut().unwrap() *= 0.5;
        let mut rng = Stream::new(1, Owner::Flow, 0);
        let mut grows = 0;
        for k in 0..200 {
            let mut x: Vec<f64> =
                at.x.iter()
                    .map(|w| w * (0.01 + 3.0 * rng.uniform()))
                    .collect();
            let n = x.len() - 1;
            x[n] = at.x[n] * 40.0 * rng.uniform();
            let rate = v.rate(&model, &x, &at.p);
            assert!(rate <= 0.0, "{x:?}: {rate}");
            grows += usize::from(printed.rate(&model, &x, &at.p) > 0.0);
            if k < 5 {
                falls(&v, &model, &at.p, &x, 200.0);
            }
        }
        // the V of theorem 2 is printed right
        assert!(grows > 0 || classes.len() > 1);
    }
}

/// The theorems are about equations without delay: with it, the same set-up is unstable.
#[test]
fn delay_takes_the_theorem_away() {
    let model = aimd(&[(100, 1.0, 0.5)]);
    let at = model.equilibrium().unwrap();
    let undelayed = model.undelayed();
    assert_eq!(undelayed.unstable_roots(&at).unwrap(), 0);
    assert!(model.unstable_roots(&at).unwrap() > 0);
}

/// "Cx-TCP" (Budzisz et al.), lemma 4.2, with one class (the paper's illustration) and with two
/// round-trip times: dV/dt is twice the last line of (11), as that drops the factor two of d(w^2),
/// and never positive on the rising side.
#[test]
fn end_host_marking() {
    let single = [(400.0, 0.2)];
    let two = [(150.0, 0.15), (200.0, 0.25)];
    for flows in [&single[..], &two[..]] {
        let system = EndHost {
            rate: 12500.0,
            flows: flows
                .iter()
                .map(|(count, rtt)| Flows {
                    count: *count,
                    rtt: *rtt,
                })
                .collect(),
            response: Response {
                smallest: 0.005,
                threshold: 0.02,
                largest: 0.1,
                peak: 0.05,
                falling: Falling::FourthPower,
            },
            regime: None,
        };
        let equilibria = system.equilibria().unwrap();
        let (regime, at) = &equilibria[0];
        assert_eq!(*regime, 1);
        let frozen = system.frozen(1);
        let p = system.parameters();
        let v = system.lyapunov(at);
        let slope = 0.05 / 0.015;
        let n = flows.len();
        let mut rng = Stream::new(1, Owner::Queue, 0);
        for _ in 0..200 {
            let mut x: Vec<f64> = at.iter().map(|w| w * (0.3 + 1.4 * rng.uniform())).collect();
            x[n] = 0.005 + 0.015 * rng.uniform();
            // the last line of (11), flow by flow, with the queue q = C (delay - smallest delay)
            let (above, off) = (x[n] - 0.005, x[n] - at[n]);
            let mut printed = 0.0;
            for (c, (count, rtt)) in flows.iter().enumerate() {
                let d = x[c] - at[c];
                let (rtt, rtt_at) = (rtt + x[n], rtt + at[n]);
                let own = d * d / (at[c] * at[c]) * above * (d + 2.0 * at[c]) / rtt;
                printed -= 0.5 * slope * count * (own + off * off * at[c] / (rtt * rtt_at));
            }
            let rate = v.rate(&frozen, &x, &p);
            assert!((rate / printed - 2.0).abs() < 1e-11, "{rate} {printed}");
            assert!(rate <= 0.0);
        }
        let mut start = at.clone();
        start[0] *= 1.05;
        falls(&v, &frozen, &p, &start, 10.0);
    }
}
