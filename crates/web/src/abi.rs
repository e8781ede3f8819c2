//! Exports for JavaScript: a request is written to a buffer of ours, the answer is read from one.
//!
//! The calls take and return numbers only, so that a loader is some lines and no generator of
//! bindings is needed. A panic ends in a trap; its message can still be asked for.

#![expect(
    unsafe_code,
    reason = "a name that JavaScript finds is an unsafe attribute; there is no unsafe block"
)]

use std::cell::RefCell;
use std::sync::{Mutex, PoisonError};

use crate::Laboratory;

thread_local! {
    static LABORATORY: RefCell<Laboratory> = RefCell::default();
    static REQUEST: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static ANSWER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}
static PANIC: Mutex<String> = Mutex::new(String::new());

/// Makes room for a request of `length` bytes and returns its place.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn ackclock_request(length: usize) -> *mut u8 {
    REQUEST.with_borrow_mut(|request| {
        request.clear();
        request.resize(length, 0);
        request.as_mut_ptr()
    })
}

/// Answers the request and returns the place of the answer (UTF-8), which lives until the next call.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn ackclock_answer() -> *const u8 {
    std::panic::set_hook(Box::new(|info| {
        *PANIC.lock().unwrap_or_else(PoisonError::into_inner) = info.to_string();
    }));
    let request = REQUEST.take();
    let text = String::from_utf8_lossy(&request);
    let answer = LABORATORY.with_borrow_mut(|laboratory| laboratory.answer(&text));
    ANSWER.with_borrow_mut(|place| {
        *place = answer.into_bytes();
        place.as_ptr()
    })
}

/// Length of the answer, bytes.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn ackclock_length() -> usize {
    ANSWER.with_borrow(Vec::len)
}

/// Makes the message of the last panic the answer and returns its place.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn ackclock_panic() -> *const u8 {
    let message = PANIC.lock().unwrap_or_else(PoisonError::into_inner).clone();
    ANSWER.with_borrow_mut(|place| {
        *place = message.into_bytes();
        place.as_ptr()
    })
}
