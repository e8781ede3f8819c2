//! Oscillations by independent routes: characteristic roots, collocation and time integration agree
//! on where they set in, how, and how large they are.

use crate::common::{cycles, first_hopf};
use ackclock_delay::{
    Cycle, HopfPoint, Resolution, Tolerance, Trajectory, cycle_with_amplitude, floquet,
};
use ackclock_fluid::{
    Choices, CycleEnd, CycleOptions, Equilibrium, Error, Loop, Memory, Model, Rtt,
};

#[track_caller]
fn close(got: f64, want: f64, tolerance: f64) {
    assert!(
        (got - want).abs() <= tolerance * want.abs(),
        "got {got:.10e}, want {want:.10e}"
    );
}

/// One Compound flow of 100 packets/s over RED as in Manjunath and Raina.
fn compound(weight: &str, tau: f64, clamped: bool) -> Model {
    let text = format!(
        "[scenario]\nname = 'one flow'\nduration = '10 s'\n[[link]]\nname = 'link'\nrate = '1.2 Mbit/s'\ndelay = '0 ms'\n\
         queue = {{ aqm = 'red', capacity = 'unlimited', min_threshold = '50 packets', max_threshold = '550 packets', max_probability = 0.1, \
         weight = {weight}, spacing = 'bernoulli' }}\n\
         [[flows]]\nname = 'tcp'\ncount = 1\npath = ['link']\nrtt = '{} ms'\ncongestion = 'compound'\ndelayed_ack = false\n",
        1e3 * tau
    );
    let scenario = ackclock_scenario::parse(text, "test").unwrap_or_else(|e| panic!("{e:?}"));
    let choices = Choices {
        clamped,
        ..Choices::default()
    };
    Model::from_scenario(&scenario, choices).unwrap()
}

fn hopf(model: &mut Model, at: &Equilibrium, from: f64, to: f64) -> HopfPoint {
    first_hopf(model, at, "tcp.rtt", from, to)
}

/// The way from the equilibrium with `disturbance` packets added to the queue.
fn perturbed(model: &Model, at: &Equilibrium, disturbance: f64, duration: f64) -> Trajectory {
    let mut start = at.x.clone();
    start[1] += disturbance;
    let tolerance = Tolerance {
        relative: 1e-8,
        ..Tolerance::default()
    };
    let frozen = (!model.choices().clamped).then_some(at);
    model
        .trajectory(frozen, &start, duration, &tolerance)
        .unwrap()
}

/// Half of the queue's range over a little more than a period of at most `period` seconds, from
/// `from` on.
fn swing(path: &Trajectory, from: f64, period: f64) -> f64 {
    let queue = (0..2000).map(|k| path.state(from + period * f64::from(k) / 2000.0)[1]);
    let (low, high) = queue.fold((f64::INFINITY, 0.0_f64), |(a, b), q| (a.min(q), b.max(q)));
    0.5 * (high - low)
}

/// The critical round-trip time without averaging: where the roots cross, where the cycles shrink
/// to nothing, and where small oscillations neither grow nor decay in time.
#[test]
fn three_routes_to_one_hopf_point() {
    let mut model = compound("'off'", 0.2, false);
    let at = model.equilibrium().unwrap();
    let roots = hopf(&mut model, &at, 0.1, 0.6);
    // cycles at three amplitudes: p(A) = p(0) + a A^2 + b A^4
    let amplitudes = [0.5, 1.0, 2.0];
    let cycles = cycles(&mut model, &at, &roots, "tcp.rtt", &amplitudes);
    let extrapolate = |v: [f64; 3]| {
        let first = [(4.0 * v[0] - v[1]) / 3.0, (4.0 * v[1] - v[2]) / 3.0];
        (16.0 * first[0] - first[1]) / 15.0
    };
    let of = |f: &dyn Fn(&ackclock_delay::Cycle) -> f64| [0, 1, 2].map(|k| f(&cycles[k]));
    close(extrapolate(of(&|c| c.p[3])), roots.p[3], 1e-9);
    let period = extrapolate(of(&|c| c.period));
    close(period, std::f64::consts::TAU / roots.omega, 1e-9);
    // rates of growth of a disturbance of a hundredth of a packet, one per cent below and above
    let rate = |tau: f64| {
        let model = compound("'off'", tau, false);
        let at = model.equilibrium().unwrap();
        let path = perturbed(&model, &at, 0.01, 150.0);
        let rate = (swing(&path, 130.0, 8.0) / swing(&path, 30.0, 8.0)).ln() / 100.0;
        let root = model.roots(&at, 1).unwrap().abscissa();
        // eight seconds are not whole periods: that leaves a few per cent in the rates
        close(rate, root, 0.05);
        rate
    };
    let (below, above) = (rate(0.99 * roots.p[3]), rate(1.01 * roots.p[3]));
    assert!(below < 0.0 && above > 0.0);
    let zero = roots.p[3] * (0.99 - 0.02 * below / (above - below));
    close(zero, roots.p[3], 5e-4);
}

/// Compound over averaged RED at gamma = 0.008 (figure 2b, between the two values where the onset
/// changes): gradual. Just beyond the critical round-trip time a small and a large disturbance end
/// on one and the same small oscillation, that of the collocation; just below it both die out.
#[test]
fn gradual_onset_in_time() {
    let mut model = compound("0.008", 0.1, true);
    let at = model.equilibrium().unwrap();
    let point = hopf(&mut model, &at, 0.05, 0.3);
    let normal_form = model.criticality(&at, &point, "tcp.rtt", 0).unwrap();
    assert!(normal_form.is_supercritical());
    let beyond = 0.1112;
    let amplitude = 2.0 * ((beyond - point.p[3]) / normal_form.mu2).sqrt();
    // the cycle of this very round-trip time: amplitudes are adjusted by the secant rule
    let mut cycle_at = |a: f64| cycles(&mut model, &at, &point, "tcp.rtt", &[a]).remove(0);
    let (mut a, mut b) = (0.95 * amplitude, amplitude);
    let (mut fa, mut fb) = (cycle_at(a).p[3] - beyond, cycle_at(b).p[3] - beyond);
    for _ in 0..6 {
        if (b - a).abs() < 1e-9 {
            break;
        }
        let next = b - fb * (b - a) / (fb - fa);
        (a, fa) = (b, fb);
        (b, fb) = (next, cycle_at(next).p[3] - beyond);
    }
    let cycle = cycle_at(b);
    let on_cycle: Vec<f64> = (0..2000)
        .map(|k| cycle.state(cycle.period * f64::from(k) / 2000.0)[1])
        .collect();
    let half = 0.5
        * (on_cycle.iter().copied().fold(0.0, f64::max)
            - on_cycle.iter().copied().fold(f64::INFINITY, f64::min));
    let model = compound("0.008", beyond, true);
    let at = model.equilibrium().unwrap();
    assert!(model.unstable_roots(&at).unwrap() > 0);
    for disturbance in [3.0, 50.0] {
        let path = perturbed(&model, &at, disturbance, 30_000.0);
        close(swing(&path, 29_900.0, 10.0), half, 2e-3);
    }
    let model = compound("0.008", 0.111, true);
    let at = model.equilibrium().unwrap();
    assert_eq!(model.unstable_roots(&at).unwrap(), 0);
    for disturbance in [3.0, 50.0] {
        let path = perturbed(&model, &at, disturbance, 30_000.0);
        assert!(swing(&path, 29_900.0, 10.0) < 0.01);
    }
}

/// The same at gamma = 0.045, beyond the second change: sudden again. Below the critical round-trip
/// time a disturbance smaller than the unstable cycle dies out, one that is larger grows away.
#[test]
fn sudden_onset_in_time() {
    let mut model = compound("0.045", 0.15, true);
    let at = model.equilibrium().unwrap();
    let point = hopf(&mut model, &at, 0.1, 0.3);
    let normal_form = model.criticality(&at, &point, "tcp.rtt", 0).unwrap();
    assert!(!normal_form.is_supercritical());
    let before = point.p[3] - 6e-5;
    let tip = 2.0 * (-6e-5 / normal_form.mu2).sqrt() * normal_form.q[1].norm();
    let model = compound("0.045", before, true);
    let at = model.equilibrium().unwrap();
    assert_eq!(model.unstable_roots(&at).unwrap(), 0);
    for (share, grows) in [(0.5, false), (0.8, false), (1.25, true)] {
        let path = perturbed(&model, &at, share * tip, 20_000.0);
        let (early, late) = (swing(&path, 100.0, 8.0), swing(&path, 19_900.0, 8.0));
        assert_eq!(late > early, grows, "{share}: {early} {late}");
    }
}

/// CUBIC and Compound with different round-trip times over two RED links, a set-up of no paper.
fn two_links(memory: Memory, rate: f64) -> (Model, String) {
    let mut text = "[scenario]\nname = 'two'\nduration = '10 s'\n".to_owned();
    for name in ["one", "two"] {
        text += &format!(
            "[[link]]\nname = '{name}'\nrate = '{rate} Mbit/s'\ndelay = '1 ms'\nqueue = {{ aqm = 'red', capacity = '1000 packets', \
             min_threshold = '50 packets', max_threshold = '400 packets', max_probability = 0.1, weight = 0.02, spacing = 'bernoulli' }}\n"
        );
    }
    for (name, path, kind, rtt) in [
        ("both", "['one', 'two']", "cubic", 40),
        ("first", "['one']", "compound", 60),
        ("second", "['two']", "cubic", 100),
    ] {
        text += &format!(
            "[[flows]]\nname = '{name}'\ncount = 20\npath = {path}\nrtt = '{rtt} ms'\ncongestion = '{kind}'\ndelayed_ack = false\n"
        );
    }
    let choices = Choices {
        clamped: true,
        rtt: Rtt::Queueing,
        memory,
        ..Choices::default()
    };
    let scenario = ackclock_scenario::parse(&text, "test").unwrap_or_else(|e| panic!("{e:?}"));
    (Model::from_scenario(&scenario, choices).unwrap(), text)
}

/// Equilibrium by its own balance, roots, margins class by class, and the trajectory agree.
#[test]
fn cubic_and_compound_over_two_links() {
    for rate in [24.0, 40.0] {
        let (model, _) = two_links(Memory::AtRest, rate);
        let at = model.equilibrium().unwrap();
        let names = model.state_names();
        let state = |name: &str| {
            let k = names.iter().position(|n| n.starts_with(name));
            at.x[k.unwrap_or_else(|| panic!("{name} {names:?}"))]
        };
        // every link carries its capacity: what enters is what leaves
        let capacity = rate * 1e6 / 12_000.0;
        let queues = ["one.queue", "two.queue"].map(state);
        let delays = queues.map(|q| q / capacity);
        let x = |class: &str, rtt: f64| 20.0 * state(class) / rtt;
        let both = x("both", 0.04 + delays[0] + delays[1]);
        let first = x("first", 0.06 + delays[0]);
        let second = x("second", 0.1 + delays[1]);
        let passed = [1.0 - at.probability[0], 1.0 - at.probability[1]];
        close((both + first) * passed[0], capacity, 1e-10);
        close((both * passed[0] + second) * passed[1], capacity, 1e-10);
        close(1.0 - at.signals[0], passed[0] * passed[1], 1e-12);
        // CUBIC's window at rest is w = (R^3 0.4 / (0.3 p^3))^(1/4) with 1 - p acknowledged;
        // Compound's p / (1 - p) = w^(-5/4) / 4
        let p = at.signals[0];
        let rtt = 0.04 + delays[0] + delays[1];
        let (acked, decrease) = (1.0 - p, 0.3);
        let balance = rtt * (0.4_f64 / decrease).cbrt() * decrease * state("both").powf(-1.0 / 3.0);
        close(balance * acked, decrease * state("both") * p, 1e-9);
        let p = at.signals[1];
        close(p / (1.0 - p), 0.25 * state("first").powf(-1.25), 1e-9);
        // the trajectory from a small disturbance moves at the rate of the rightmost root
        let roots = model.roots(&at, 3).unwrap();
        assert_eq!(
            model.unstable_roots(&at).unwrap() == 0,
            roots.abscissa() < 0.0
        );
        let start: Vec<f64> = at.x.iter().map(|v| v * 1.0001).collect();
        let tolerance = Tolerance {
            relative: 1e-10,
            ..Tolerance::default()
        };
        let slowest = roots.abscissa().abs();
        let span = 4.0 / slowest;
        let path = model
            .trajectory(None, &start, 3.0 * span, &tolerance)
            .unwrap();
        let turn = std::f64::consts::TAU / roots.roots[0].im.abs().max(slowest);
        let peak = |from: f64| {
            let size = |x: Vec<f64>| {
                let off = x.iter().zip(&at.x).map(|(a, b)| ((a - b) / b).powi(2));
                off.sum::<f64>().sqrt()
            };
            (0..1000)
                .map(|k| size(path.state(from + turn * f64::from(k) / 1000.0)))
                .fold(0.0, f64::max)
        };
        if roots.abscissa() < 0.0 {
            close(
                (peak(2.0 * span) / peak(span)).ln() / span,
                roots.abscissa(),
                0.05,
            );
        } else {
            assert!(peak(span) > 5.0 * peak(0.0));
        }
        // no single loop, but one for each class: with the others closed its gain may grow to the
        // margin, and there a root reaches the axis
        assert!(matches!(
            model.margins(&at),
            Err(Error::SeveralLoops { links: 2 })
        ));
        for class in ["both", "first", "second"] {
            let margins = model.margins_of(&at, class).unwrap();
            let open = model.feedback_loop_of(&at, class).unwrap();
            if margins.phase_crossover.is_finite() {
                let s = ackclock_delay::c64::new(0.0, margins.phase_crossover);
                let edge = ackclock_fluid::Loop::at(&open, s) * margins.gain;
                close(edge.re, -1.0, 1e-6);
                assert!(edge.im.abs() < 1e-6);
            }
            if roots.abscissa() < 0.0 {
                assert!(
                    margins.gain > 1.0 && margins.phase > 0.0,
                    "{class}: {margins:?}"
                );
            }
        }
        assert!(matches!(
            model.margins_of(&at, "nobody"),
            Err(Error::Parameter { .. })
        ));
    }
}

/// With CUBIC's memory as states the equilibrium is the same, but dW_max/dt = (W - W_max) x p
/// vanishes there to third order: one root is zero, no verdict follows from the linearisation, and
/// none is given (Vardoyan, Hollot and Towsley 2018, section 4).
#[test]
fn cubic_with_memory_has_a_root_at_zero() {
    let (rest, _) = two_links(Memory::AtRest, 24.0);
    let (states, _) = two_links(Memory::States, 24.0);
    let (a, b) = (rest.equilibrium().unwrap(), states.equilibrium().unwrap());
    // time passes for all packets, while only 1 - p of them are acknowledged: the two laws at rest
    // differ by that
    for (p, q) in a.probability.iter().zip(&b.probability) {
        close(*p, *q, 0.03);
    }
    let names = states.state_names();
    let state = |name: &str| b.x[names.iter().position(|n| n.starts_with(name)).unwrap()];
    for (class, rtt, signals) in [("both", 0.04, b.signals[0]), ("second", 0.1, b.signals[2])] {
        let delay = |link: &str| state(&format!("{link}.queue")) / 2000.0;
        let queueing = delay("two") + if class == "both" { delay("one") } else { 0.0 };
        let (w_max, since) = (
            state(&format!("{class}.W_max")),
            state(&format!("{class}.time")),
        );
        close(since, (0.3 * w_max / 0.4).cbrt(), 1e-12);
        close(since * signals * w_max / (rtt + queueing), 1.0, 1e-9);
    }
    assert!(matches!(
        states.unstable_roots(&b),
        Err(Error::Analysis(ackclock_delay::Error::RootOnLine { .. }))
    ));
}

/// The loop's response at the crossovers has the margins' values.
#[test]
fn frequency_responses() {
    let model = compound("'off'", 0.15, false);
    let at = model.equilibrium().unwrap();
    let margins = model.margins(&at).unwrap();
    let open = model.feedback_loop(&at).unwrap();
    let response = |w: f64| open.at(ackclock_delay::c64::new(0.0, w));
    let crossover = response(margins.gain_crossover);
    close(crossover.norm(), 1.0, 1e-9);
    close(crossover.arg().to_degrees(), margins.phase - 180.0, 1e-9);
    let opposite = response(margins.phase_crossover) * margins.gain;
    close(opposite.re, -1.0, 1e-9);
    assert!(opposite.im.abs() < 1e-9);
}

/// The bifurcation diagram of the threshold policy against its threshold (figure 14): where it
/// turns unstable, and how far the window swings beyond, against an independent computation.
#[test]
fn diagram_of_the_threshold_policy() {
    let text = "[scenario]\nname = 'one flow'\nduration = '10 s'\n[[link]]\nname = 'link'\nrate = '1.2 Mbit/s'\ndelay = '0 ms'\n\
         queue = { aqm = 'threshold', threshold = '20 packets', capacity = 'unlimited' }\n\
         [[flows]]\nname = 'tcp'\ncount = 1\npath = ['link']\nrtt = '1000 ms'\ncongestion = 'compound'\ndelayed_ack = false\n";
    let scenario = ackclock_scenario::parse(text, "test").unwrap();
    let mut model = Model::from_scenario(&scenario, Choices::default()).unwrap();
    let at = model.equilibrium().unwrap();
    let free = model.parameter("link.threshold").unwrap();
    let steady = model.branch(&at, free, 101.0, 60, true).unwrap();
    for point in &steady.points {
        let unstable = if point.value < 38.80428 { 0 } else { 2 };
        // a point within rounding of the limit may be undecided
        assert!(point.unstable.is_none_or(|n| n == unstable), "{point:?}");
    }
    assert_eq!((steady.end, &steady.ended), (101.0, &None));
    let [change] = steady.special.as_slice() else {
        panic!("{:?}", steady.special)
    };
    close(change.value, 38.80428, 1e-7);
    let point = change.hopf().unwrap();
    let onset = model.criticality(&at, point, "link.threshold", 0).unwrap();
    assert!(onset.is_supercritical());
    let options = CycleOptions {
        free,
        range: (20.0, 101.0),
        component: 0,
        points: 60,
        tolerance: 1e-9,
    };
    let branch = model.cycles_from(&at, point, &options).unwrap();
    assert!(branch.cycles.len() > 5);
    let swing = |cycle: &Cycle| {
        let (low, high) = cycle.range(0);
        high - low
    };
    let swings: Vec<f64> = branch.cycles.iter().map(|c| swing(&c.cycle)).collect();
    assert!(swings[0] < 4.0 && swings.is_sorted());
    let frozen = model.frozen(&at.regimes);
    for branch_cycle in &branch.cycles {
        let unstable = floquet(&frozen, &branch_cycle.cycle, 0.01)
            .unwrap()
            .unstable(1e-4);
        assert!(unstable.is_ok_and(|n| n == 0));
    }
    assert_eq!(branch.end, CycleEnd::Range(101.0));
    // peak to peak, and period, at given thresholds
    for (threshold, range, period) in [
        (39.0, 0.83123916, 3.92446725),
        (39.5, 1.5614175, 3.9368869),
        (40.0, 2.0399228, 3.94959951),
        (42.0, 3.2970697, 4.00362883),
        (50.0, 6.148696, 4.28888114),
        (60.0, 9.3161911, 4.9018818),
        (80.0, 18.455367, 7.32053067),
        (100.0, 32.857861, 11.9011245),
    ] {
        // between two cycles that users see, by the secant rule in the amplitude
        let pair = branch
            .cycles
            .windows(2)
            .find(|pair| pair[1].cycle.p[free] >= threshold)
            .unwrap();
        let [mut before, mut cycle] =
            [&pair[0], &pair[1]].map(|branch_cycle| branch_cycle.cycle.clone());
        for _ in 0..30 {
            let [a, b] = [&before, &cycle].map(|branch_cycle| branch_cycle.amplitude(0));
            let [p, q] = [&before, &cycle].map(|branch_cycle| branch_cycle.p[free] - threshold);
            if q.abs() < 1e-10 * threshold {
                break;
            }
            let amplitude = b - q * (b - a) / (q - p);
            let resolution = Resolution::default();
            let next =
                cycle_with_amplitude(&frozen, &cycle, free, 0, amplitude, &resolution).unwrap();
            (before, cycle) = (cycle, next);
        }
        close(swing(&cycle), range, 2e-6);
        close(cycle.period, period, 1e-7);
    }
}
