//! Random numbers of the system, for stacks that ask for them and offer no seed: here they follow
//! from a seed.
//!
//! This is a backend of the crate getrandom, which the workspace's `.cargo/config.toml` chooses by
//! `--cfg getrandom_backend="custom"`.

use std::cell::Cell;
use std::thread;

/// Whether the build chose this source; if not, random numbers are the system's.
pub const CHOSEN: bool = cfg!(getrandom_backend = "custom");

thread_local! {
    static STATE: Cell<u64> = const { Cell::new(0) };
}

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
fn next() -> u64 {
    let state = STATE.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
    STATE.set(state);
    let mut mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// What `work` returns, with random numbers from `seed`.
///
/// It runs in a thread of its own: generators such as `rand::rng()` are kept by thread, and would go
/// on where the last one stopped.
pub fn seeded<T: Send>(seed: u64, work: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        let worker = scope.spawn(|| {
            STATE.set(seed);
            work()
        });
        worker.join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Fills `dest`; called by getrandom.
///
/// # Safety
/// `dest` has room for `len` bytes.
#[cfg(getrandom_backend = "custom")]
#[unsafe(no_mangle)]
unsafe extern "Rust" fn __getrandom_v03_custom(
    dest: *mut u8,
    len: usize,
) -> Result<(), getrandom::Error> {
    // SAFETY: the caller's promise
    let bytes = unsafe {
        dest.write_bytes(0, len);
        std::slice::from_raw_parts_mut(dest, len)
    };
    for piece in bytes.chunks_mut(8) {
        piece.copy_from_slice(&next().to_le_bytes()[..piece.len()]);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_follow_from_the_seed() {
        let draw = |seed| {
            seeded(seed, || {
                let mut bytes = [0; 20];
                getrandom::fill(&mut bytes).expect("it never fails");
                bytes
            })
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }
}
