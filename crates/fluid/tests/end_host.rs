//! "Cx-TCP" (Budzisz et al.), section IV: equilibria, their stability, and the largest number of
//! flows, against a 30-digit computation.

use crate::reference::end_host::{EndHost, Falling, Flows, Response};
use ackclock_delay::{Linear, Tolerance, integrate, rightmost_roots};

#[track_caller]
fn close(got: f64, want: f64, tolerance: f64) {
    assert!(
        (got - want).abs() <= tolerance * want.abs(),
        "got {got:.10e}, want {want:.10e}"
    );
}

fn response(falling: Falling) -> Response {
    Response {
        smallest: 0.005,
        threshold: 0.02,
        largest: 0.1,
        peak: 0.05,
        falling,
    }
}

fn homogeneous(rate: f64, rtt: f64, count: f64, falling: Falling) -> EndHost {
    // the model's round-trip time includes the base queueing delay from which the probability is
    // counted
    EndHost {
        rate,
        flows: vec![Flows { count, rtt }],
        response: response(falling),
        regime: None,
    }
}

/// Lemmas 4.1 to 4.3 with the paper's illustration: 100 Mbit/s, 200 ms, 400 flows: a stable
/// equilibrium below the threshold, a saddle above it.
#[test]
fn illustration() {
    for (falling, saddle, eigenvalues) in [
        (Falling::FourthPower, 0.023948898, (3.137761, -8.879158)),
        (Falling::Linear, 0.045735874, (0.9038, -6.033056)),
    ] {
        let system = homogeneous(12500.0, 0.2, 400.0, falling);
        let equilibria = system.equilibria().unwrap();
        assert_eq!(equilibria.len(), 2, "{equilibria:?}");
        let p = system.parameters();
        let (regime, x) = &equilibria[0];
        close(x[1], 0.01793582, 3e-8);
        close(x[0], 6.8104944, 1e-8);
        close(
            system.response.probability(x[1], *regime),
            0.043119401,
            1e-8,
        );
        let roots = rightmost_roots(&Linear::of(&system.frozen(*regime), x, &p), 2)
            .unwrap()
            .roots;
        close(roots[0].re, -2.967994, 1e-6);
        close(roots[0].im, 7.032586, 1e-6);
        let (regime, x) = &equilibria[1];
        close(x[1], saddle, 1e-7);
        let roots = rightmost_roots(&Linear::of(&system.frozen(*regime), x, &p), 2)
            .unwrap()
            .roots;
        close(roots[0].re, eigenvalues.0, 1e-4);
        close(roots[1].re, eigenvalues.1, 1e-6);
    }
}

/// Two classes with equal round-trip times behave as one, plus an eigenvalue for their difference, - p w / (RTT + delta).
#[test]
fn difference_of_windows_decays() {
    let mut system = homogeneous(12500.0, 0.2, 400.0, Falling::FourthPower);
    system.flows = vec![
        Flows {
            count: 200.0,
            rtt: 0.2
        };
        2
    ];
    let equilibria = system.equilibria().unwrap();
    let (regime, x) = &equilibria[0];
    let roots = rightmost_roots(
        &Linear::of(&system.frozen(*regime), x, &system.parameters()),
        3,
    )
    .unwrap()
    .roots;
    close(roots[0].re, -1.34748, 1e-5);
    assert_eq!(roots[0].im, 0.0);
}

/// Figure 2's curve and the largest numbers of flows.
#[test]
fn counts() {
    for (count, stable, power, linear) in [
        (10.0, 5.5514709e-3, 72.606234e-3, 99.173991e-3),
        (30.0, 9.6030768e-3, 48.918126e-3, 92.0e-3),
        (50.0, 16.346995e-3, 29.199896e-3, 72.455411e-3),
        (59.0, 19.881615e-3, 20.295926e-3, 47.744786e-3),
    ] {
        for (falling, unstable) in [(Falling::FourthPower, power), (Falling::Linear, linear)] {
            let equilibria = homogeneous(3125.0, 0.1, count, falling)
                .equilibria()
                .unwrap();
            close(equilibria[0].1[1], stable, 1e-7);
            close(equilibria.last().unwrap().1[1], unstable, 1e-7);
        }
    }
    let r = response(Falling::FourthPower);
    close(EndHost::largest_count(3125.0, 0.1, &r), 59.292706, 1e-8);
    close(EndHost::largest_count(12500.0, 0.2, &r), 434.81318, 1e-8);
    close(
        EndHost::largest_count(25e6 / 8.0 / 1040.0, 0.1, &r),
        57.012217,
        1e-8,
    );
    close(EndHost::largest_count(3125.0, 0.09, &r), 54.351647, 1e-8);
    assert!(
        homogeneous(3125.0, 0.1, 70.0, Falling::FourthPower)
            .equilibria()
            .is_err()
    );
}

/// On either side of the saddle a trajectory goes to the stable equilibrium or away to long queues.
#[test]
fn the_saddle_divides() {
    let system = homogeneous(12500.0, 0.2, 400.0, Falling::FourthPower);
    let p = system.parameters();
    let equilibria = system.equilibria().unwrap();
    let saddle = &equilibria[1].1;
    for (shift, returns) in [(0.98, true), (1.02, false)] {
        let start = [saddle[0], saddle[1] * shift];
        let path = integrate(
            &system,
            &p,
            &|_, x| x.copy_from_slice(&start),
            0.0,
            20.0,
            &Tolerance::default(),
        )
        .unwrap();
        let end = path.state(20.0)[1];
        if returns {
            close(end, equilibria[0].1[1], 1e-6);
        } else {
            assert!(end > 0.1, "{end}");
        }
    }
}
