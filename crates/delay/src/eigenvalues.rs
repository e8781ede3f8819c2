//! Eigenvalues of real matrices that have no symmetry: Householder's reduction to Hessenberg form and
//! Francis's double-shift QR iteration (Golub and Van Loan, Matrix Computations, 4th edition,
//! algorithms 7.4.2 and 7.5.1; shifts of EISPACK's `hqr`).

use crate::complex::c64;

/// Iterations that one eigenvalue may take; all but the oddest matrices need two to four.
const MAX_ITERATIONS: usize = 90;

/// All eigenvalues of a matrix of finite numbers, row by row; `None` where the iteration does not
/// converge.
pub(crate) fn hessenberg_qr(n: usize, mut a: Vec<f64>) -> Option<Vec<c64>> {
    reduce(n, &mut a);
    let mut values = Vec::with_capacity(n);
    let norm: f64 = a.iter().map(|v| v.abs()).sum();
    // what lies above the active rows is done with
    let mut end = n;
    let mut shifted = 0.0;
    let mut iteration = 0;
    while end > 0 {
        let last = end - 1;
        let start = negligible(n, &mut a, end, norm);
        let x = a[last * n + last];
        if start == last {
            values.push(c64::new(x + shifted, 0.0));
            end -= 1;
            iteration = 0;
            continue;
        }
        let y = a[(last - 1) * n + last - 1];
        let product = a[last * n + last - 1] * a[(last - 1) * n + last];
        if start + 1 == last {
            values.extend(pair(x, y, product).map(|root| root + shifted));
            end -= 2;
            iteration = 0;
            continue;
        }
        if iteration == MAX_ITERATIONS {
            return None;
        }
        let mut shift = (x, y, product);
        if iteration % 10 == 9 {
            // a shift out of turn breaks a cycle
            shifted += x;
            for i in 0..end {
                a[i * n + i] -= x;
            }
            let size = a[last * n + last - 1].abs() + a[(last - 1) * n + last - 2].abs();
            shift = (0.75 * size, 0.75 * size, -0.4375 * size * size);
        }
        iteration += 1;
        sweep(n, &mut a, (start, end), shift);
    }
    Some(values)
}

/// Householder's reflections make everything below the first subdiagonal zero.
fn reduce(n: usize, a: &mut [f64]) {
    let mut v = vec![0.0; n];
    let mut row = vec![0.0; n];
    for k in 0..n.saturating_sub(2) {
        let scale: f64 = (k + 1..n).map(|i| a[i * n + k].abs()).sum();
        if scale == 0.0 || (k + 2..n).all(|i| a[i * n + k] == 0.0) {
            continue;
        }
        let mut square = 0.0;
        for i in k + 1..n {
            v[i] = a[i * n + k] / scale;
            square += v[i] * v[i];
        }
        let length = square.sqrt().copysign(v[k + 1]);
        // v v^T / h with h = v . v / 2
        let h = square + v[k + 1] * length;
        v[k + 1] += length;
        // from the left: A -= v (v^T A) / h
        row[k..].fill(0.0);
        for i in k + 1..n {
            let factor = v[i];
            for (r, value) in row[k..].iter_mut().zip(&a[i * n + k..(i + 1) * n]) {
                *r += factor * value;
            }
        }
        for i in k + 1..n {
            let factor = v[i] / h;
            for (value, r) in a[i * n + k..(i + 1) * n].iter_mut().zip(&row[k..]) {
                *value -= factor * r;
            }
        }
        // from the right: A -= (A v) v^T / h
        for i in 0..n {
            let own = &mut a[i * n + k + 1..(i + 1) * n];
            let factor = dot(own, &v[k + 1..]) / h;
            for (value, v) in own.iter_mut().zip(&v[k + 1..]) {
                *value -= factor * v;
            }
        }
        for i in k + 2..n {
            a[i * n + k] = 0.0;
        }
    }
}

/// A sum of products in four lanes, which vector instructions of any width keep to.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut lanes = [0.0; 4];
    let (long, short) = (a.chunks_exact(4), b.chunks_exact(4));
    let rest: f64 = (long.remainder().iter().zip(short.remainder()))
        .map(|(a, b)| a * b)
        .sum();
    for (a, b) in long.zip(short) {
        for k in 0..4 {
            lanes[k] += a[k] * b[k];
        }
    }
    (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]) + rest
}

/// First row of the lowest block that no negligible entry of the subdiagonal divides.
fn negligible(n: usize, a: &mut [f64], end: usize, norm: f64) -> usize {
    for k in (1..end).rev() {
        let mut size = a[(k - 1) * n + k - 1].abs() + a[k * n + k].abs();
        if size == 0.0 {
            size = norm;
        }
        if a[k * n + k - 1].abs() <= f64::EPSILON * size {
            a[k * n + k - 1] = 0.0;
            return k;
        }
    }
    0
}

/// Eigenvalues of [[y, .], [., x]] whose other entries have this product.
fn pair(x: f64, y: f64, product: f64) -> [c64; 2] {
    let half = 0.5 * (y - x);
    let square = half * half + product;
    let root = square.abs().sqrt();
    if square < 0.0 {
        return [c64::new(x + half, root), c64::new(x + half, -root)];
    }
    let far = half + root.copysign(half);
    let near = if far == 0.0 { x } else { x - product / far };
    [c64::new(x + far, 0.0), c64::new(near, 0.0)]
}

/// Where a double step on rows `start..end` may begin, and the first column of (H - one shift)(H - the
/// other) there: two consecutive small entries let it begin below `start`.
fn beginning(
    n: usize,
    a: &[f64],
    (start, end): (usize, usize),
    (x, y, product): (f64, f64, f64),
) -> (usize, [f64; 3]) {
    let at = |i: usize, j: usize| a[i * n + j];
    let mut m = end - 3;
    loop {
        let (z, below) = (at(m, m), at(m + 1, m));
        // without the common factor `below`
        let first = ((x - z) * (y - z) - product) / below + at(m, m + 1);
        let second = at(m + 1, m + 1) - z - (x - z) - (y - z);
        let third = at(m + 2, m + 1);
        let size = first.abs() + second.abs() + third.abs();
        let bulge = [first / size, second / size, third / size];
        if m == start {
            return (m, bulge);
        }
        let around = at(m - 1, m - 1).abs() + z.abs() + at(m + 1, m + 1).abs();
        let passed = at(m, m - 1).abs() * (bulge[1].abs() + bulge[2].abs());
        if passed < f64::EPSILON * bulge[0].abs() * around {
            return (m, bulge);
        }
        m -= 1;
    }
}

/// One implicit double step on rows `start..end`, with the eigenvalues of [[y, .], [., x]] as shifts.
fn sweep(n: usize, a: &mut [f64], (start, end): (usize, usize), shift: (f64, f64, f64)) {
    let at = |a: &[f64], i: usize, j: usize| a[i * n + j];
    let last = end - 1;
    let (begin, mut bulge) = beginning(n, a, (start, end), shift);
    for i in begin + 2..end {
        a[i * n + i - 2] = 0.0;
        if i > begin + 2 {
            a[i * n + i - 3] = 0.0;
        }
    }
    for k in begin..last {
        let three = k + 1 < last;
        let mut scale = 1.0;
        if k > begin {
            bulge = [
                at(a, k, k - 1),
                at(a, k + 1, k - 1),
                if three { at(a, k + 2, k - 1) } else { 0.0 },
            ];
            scale = bulge[0].abs() + bulge[1].abs() + bulge[2].abs();
            if scale == 0.0 {
                continue;
            }
            bulge = bulge.map(|v| v / scale);
        }
        let [p, q, r] = bulge;
        let s = (p * p + q * q + r * r).sqrt().copysign(p);
        if k > begin {
            a[k * n + k - 1] = -s * scale;
        } else if start != begin {
            a[k * n + k - 1] = -a[k * n + k - 1];
        }
        // the reflection I - (x, y, z)^T (1, q, r) with x = 1 + p / s
        let lead = p + s;
        let (x, y, z) = (lead / s, q / s, r / s);
        let (q, r) = (q / lead, r / lead);
        let (head, tail) = a[k * n..].split_at_mut(n);
        let (middle, tail) = tail.split_at_mut(n);
        let (upper, lower) = (&mut head[k..end], &mut middle[k..end]);
        if three {
            let three = &mut tail[k..end];
            for ((a, b), c) in upper.iter_mut().zip(lower).zip(three) {
                let t = *a + q * *b + r * *c;
                *a -= t * x;
                *b -= t * y;
                *c -= t * z;
            }
        } else {
            for (a, b) in upper.iter_mut().zip(lower) {
                let t = *a + q * *b;
                *a -= t * x;
                *b -= t * y;
            }
        }
        for i in start..end.min(k + 4) {
            if three {
                let Some([a, b, c]) = a[i * n + k..].first_chunk_mut::<3>() else {
                    continue;
                };
                let t = x * *a + y * *b + z * *c;
                *a -= t;
                *b -= t * q;
                *c -= t * r;
            } else {
                let t = x * at(a, i, k) + y * at(a, i, k + 1);
                a[i * n + k] -= t;
                a[i * n + k + 1] -= t * q;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::hessenberg_qr;
    use crate::complex::{Elementary, c64};
    use crate::linalg::Lu;

    /// Pseudo-random numbers in (-1, 1).
    fn numbers(count: usize, mut seed: u64) -> Vec<f64> {
        (0..count)
            .map(|_| {
                seed = seed
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                (seed >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
            })
            .collect()
    }

    /// Every value makes the matrix singular, and their sum is the trace.
    #[test]
    fn random_matrices() {
        for n in 1..40 {
            for seed in 0..5 {
                let a = numbers(n * n, 1000 * seed + n as u64);
                let values = hessenberg_qr(n, a.clone()).unwrap();
                assert_eq!(values.len(), n);
                let trace: f64 = (0..n).map(|i| a[i * n + i]).sum();
                let sum: c64 = values.iter().sum();
                assert!((sum - trace).modulus() < 1e-12 * n as f64, "{n} {seed}");
                for value in &values {
                    let shifted = |by: c64| -> f64 {
                        let m: Vec<c64> = (0..n * n)
                            .map(|k| {
                                let own = if k / n == k % n { -by } else { c64::ZERO };
                                own + a[k]
                            })
                            .collect();
                        Lu::of(n, &m).determinant().modulus()
                    };
                    let beside = shifted(value + c64::new(1e-4, 2e-4));
                    assert!(shifted(*value) < 1e-6 * beside, "{n} {seed} {value}");
                }
            }
        }
    }

    /// Roots of a polynomial from its companion matrix, double ones and a circle among them.
    #[test]
    fn companions() {
        for n in 2..30 {
            // x^n = 1: a permutation, on which shifts within the matrix alone never converge
            let mut a = vec![0.0; n * n];
            for i in 0..n {
                a[i * n + (i + 1) % n] = 1.0;
            }
            let values = hessenberg_qr(n, a).unwrap();
            for value in &values {
                assert!((value.modulus() - 1.0).abs() < 1e-13, "{n} {value}");
                let power = (0..n).fold(c64::ONE, |p, _| p * value);
                assert!((power - 1.0).modulus() < 1e-12, "{n} {value}");
            }
            for (k, value) in values.iter().enumerate() {
                assert!((values[..k].iter()).all(|other| (value - other).modulus() > 0.1));
            }
        }
        assert_eq!(hessenberg_qr(3, vec![0.0; 9]).unwrap(), [c64::ZERO; 3]);
        assert_eq!(hessenberg_qr(0, vec![]).unwrap(), []);
        // Jordan's block: five times 2, to the fifth root of rounding
        let mut jordan = vec![0.0; 25];
        for i in 0..5 {
            jordan[6 * i] = 2.0;
            if i < 4 {
                jordan[6 * i + 1] = 1.0;
            }
        }
        for value in hessenberg_qr(5, jordan).unwrap() {
            assert!((value - 2.0).modulus() < 2e-3, "{value}");
        }
    }
}
