//! Characteristic roots against Lambert's W and published or recomputed spectra.

use crate::common::{MackeyGlass, Neuron, SmallLoss, Wright, close, close_complex};
use ackclock_delay::{
    Linear, c64, count_right_of, equilibrium, is_stable, rightmost_roots, root_near, roots_right_of,
};

/// x' = -x(t - 1): the branches of Lambert's W at -1.
#[test]
fn scalar_delay_has_the_roots_of_lambert_w() {
    let linear = Linear::of(&Wright, &[0.0], &[1.0, 0.0]);
    let spectrum = rightmost_roots(&linear, 6).unwrap();
    let want = [
        c64::new(-0.3181315052047642, 1.3372357014306893),
        c64::new(-2.0622777296, 7.5886311785),
        c64::new(-2.6531919740, 13.9492083345),
    ];
    for (k, want) in want.iter().enumerate() {
        close_complex(
            spectrum.roots[2 * k],
            *want,
            if k == 0 { 1e-14 } else { 1e-10 },
        );
        close_complex(spectrum.roots[2 * k + 1], want.conj(), 1e-10);
    }
    assert_eq!(roots_right_of(&linear, -3.0).unwrap().roots.len(), 6);
    assert_eq!(count_right_of(&linear, -2.0).unwrap(), 2);
}

/// Many roots right of a line far to the left need a fine discretisation; each must satisfy the
/// equation.
#[test]
fn long_lists_of_roots_are_complete() {
    let linear = Linear::of(&Wright, &[0.0], &[1.0, 0.0]);
    let spectrum = roots_right_of(&linear, -4.5).unwrap();
    assert!(spectrum.roots.len() > 20);
    for z in &spectrum.roots {
        assert!((z + (-z).exp()).norm() < 1e-11 * z.norm(), "{z}");
    }
}

/// At a = 1/e the equation x' = -a x(t - 1) has the double root -1.
#[test]
fn a_double_root_is_counted_twice() {
    let linear = Linear::of(&Wright, &[0.0], &[(-1.0_f64).exp(), 0.0]);
    let spectrum = rightmost_roots(&linear, 2).unwrap();
    assert_eq!(spectrum.roots.len(), 2);
    for z in spectrum.roots {
        // a double root is determined to the square root of the rounding error
        close_complex(z, c64::new(-1.0, 0.0), 1e-6);
    }
}

/// Without delays the roots are the eigenvalues, and an empty right half plane is counted as such.
#[test]
fn without_delay_the_roots_are_eigenvalues() {
    let linear = Linear::new(2, vec![0.0], vec![vec![0.0, 1.0, -2.0, -0.2]]);
    let spectrum = rightmost_roots(&linear, 2).unwrap();
    close_complex(
        spectrum.roots[0],
        c64::new(-0.1, (2.0_f64 - 0.01).sqrt()),
        1e-13,
    );
    assert!(is_stable(&linear).unwrap());
}

/// The verdict turns exactly at the Hopf point a = pi/2, and a root on the axis is refused.
#[test]
fn the_verdict_turns_at_the_hopf_point() {
    let verdict = |a: f64| is_stable(&Linear::of(&Wright, &[0.0], &[a, 0.0]));
    let hopf = std::f64::consts::FRAC_PI_2;
    assert!(verdict(hopf - 1e-7).unwrap());
    assert!(!verdict(hopf + 1e-7).unwrap());
    assert!(verdict(hopf).is_err());
    for k in 1..=4 {
        let a = hopf + 2.0 * std::f64::consts::PI * f64::from(k);
        let linear = Linear::of(&Wright, &[0.0], &[a + 1e-3, 0.0]);
        assert_eq!(count_right_of(&linear, 0.0).unwrap() as i32, 2 * (k + 1));
    }
}

/// Mackey-Glass at its Hopf point: i sqrt(15) at tau = arccos(-1/4)/sqrt(15).
#[test]
fn mackey_glass_has_i_sqrt_15() {
    let p = [2.0, 1.0, 10.0, (-0.25_f64).acos() / 15.0_f64.sqrt()];
    let x = equilibrium(&MackeyGlass, &[0.8], &p).unwrap();
    close(x[0], 1.0, 1e-14);
    let linear = Linear::of(&MackeyGlass, &x, &p);
    let root = root_near(&linear, c64::new(0.1, 4.0)).unwrap();
    assert!(root.re.abs() < 1e-13);
    close(root.im, 3.872983346207417, 1e-13);
}

/// DDE-BIFTOOL's neuron demo at its Hopf-Hopf point, three delays of different size; spectrum
/// recomputed independently.
#[test]
fn neuron_spectrum_at_the_double_hopf_point() {
    let p = [0.5, -1.0, 1.0, 0.2072962661, 0.2, 0.2, 8.6340742189];
    let linear = Linear::of(&Neuron, &[0.0, 0.0], &p);
    let spectrum = rightmost_roots(&linear, 10).unwrap();
    let want = [
        (0.1284, 0.2509),
        (0.0, 0.9157115879),
        (0.0, 0.3287154066),
        (-0.0298, 1.0012),
        (-0.0662, 1.6968),
    ];
    let mut upper: Vec<c64> = spectrum
        .roots
        .iter()
        .copied()
        .filter(|z| z.im > 0.0)
        .collect();
    for (re, im) in want {
        let position = upper
            .iter()
            .position(|z| (z - c64::new(re, im)).norm() < 1e-4)
            .unwrap_or_else(|| panic!("{re} {im}: {upper:?}"));
        upper.remove(position);
    }
    let on_axis = spectrum.roots.iter().filter(|z| z.re.abs() < 1e-9).count();
    assert_eq!(on_axis, 4);
}

/// The linearised Hollot, Misra, Towsley and Gong plant (N = 60, C = 3750 packet/s, R = 0.246 s):
/// poles 2N/(R^2 C) and 1/R.
#[test]
fn open_loop_of_the_aqm_plant() {
    let (n, c, r) = (60.0, 3750.0, 0.246);
    let linear = Linear::new(
        2,
        vec![0.0],
        vec![vec![-2.0 * n / (r * r * c), 0.0, n / r, -1.0 / r]],
    );
    let roots = rightmost_roots(&linear, 2).unwrap().roots;
    close(roots[0].re, -0.528_785_8, 1e-7);
    close(roots[1].re, -4.065_040_7, 1e-7);
    close(c * c / (2.0 * n), 117_187.5, 1e-12);
}

/// A loss of 4e-8 that is reckoned as 1 - (1 - p) is known to a part in 1e8: Newton's method must
/// stop at that rounding, wherever it falls.
#[test]
fn equilibria_are_found_down_to_rounding() {
    for k in 0..400 {
        let share = 4e-8 * (1.0 + 1e-3 * f64::from(k));
        let x = equilibrium(&SmallLoss, &[3e-8, 20.0], &[share]).unwrap();
        close(x[0], share, 1e-7);
        close(x[1], 30.0, 1e-7);
    }
}
