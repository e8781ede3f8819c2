//! Requests to the processor for memory that will be needed soon.

/// Bytes of a line of the caches.
pub(crate) const LINE_BYTES: usize = 64;

/// Asks the processor for the memory at the beginning of `value`, and does not wait for it.
#[inline(always)]
pub(crate) fn prefetch<T>(value: &T) {
    prefetch_at(value, 0);
}

/// The same for what lies so many bytes after it, whether that is of the value or not.
#[inline(always)]
#[allow(
    unsafe_code,
    reason = "S5 with 10 and with 1000 flows takes 4 % less time in 16 pairs of runs each, with 100,000 flows 14 %; the instruction reads nothing, whatever the address"
)]
pub(crate) fn prefetch_at<T>(value: &T, offset: usize) {
    #[cfg(target_arch = "x86_64")]
    unsafe {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let place = std::ptr::from_ref(value).cast::<i8>();
        _mm_prefetch::<_MM_HINT_T0>(place.wrapping_add(offset));
    }
    let _ = (value, offset);
}
