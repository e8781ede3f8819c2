//! The Rust side of a library that exports endpoints or controllers.
#![allow(
    unsafe_code,
    reason = "the functions of a C interface take pointers; the loader keeps what the header says of them"
)]

use std::any::Any;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use crate::abi::{self, NONE};
use crate::{
    AckSample, Controller, ControllerFactory, Ecn, Endpoint, EndpointFactory, Setup, Status,
};

/// Exports a type that implements [`EndpointFactory`] and [`Default`] from a crate of type
/// `cdylib`, as `congestion = { kind = "endpoint", library = ... }` opens it.
#[macro_export]
macro_rules! export_endpoints {
    ($factory:ty) => {
        /// The functions that ackclock calls (`ackclock.h`).
        #[unsafe(no_mangle)]
        pub extern "C" fn ackclock_endpoints_v1() -> *const $crate::abi::Endpoints {
            $crate::export::endpoints::<$factory>()
        }
    };
}

/// Exports a type that implements [`ControllerFactory`] and [`Default`] from a crate of type
/// `cdylib`, as `congestion = { kind = "controller", library = ... }` opens it.
#[macro_export]
macro_rules! export_controllers {
    ($factory:ty) => {
        /// The functions that ackclock calls (`ackclock.h`).
        #[unsafe(no_mangle)]
        pub extern "C" fn ackclock_controller_v1() -> *const $crate::abi::Controller {
            $crate::export::controllers::<$factory>()
        }
    };
}

/// The message of a panic.
fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned());
    format!(
        "it panicked: {}",
        text.unwrap_or_else(|| "no message".to_owned())
    )
}

fn time(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(NONE)
}

fn text(words: &str) -> CString {
    CString::new(words.replace('\0', " ")).unwrap_or_default()
}

unsafe fn setup_of(setup: *const abi::Setup) -> Setup {
    let setup = unsafe { &*setup };
    Setup {
        flow: setup.flow,
        seed: setup.seed,
        max_datagram: usize::try_from(setup.max_datagram).unwrap_or(usize::MAX),
        ecn: setup.ecn != 0,
        options: unsafe { CStr::from_ptr(setup.options) }
            .to_string_lossy()
            .into_owned(),
    }
}

/// Writes `words` into the text of `size` bytes at `to`, cut to its length.
unsafe fn explain(words: &str, to: *mut c_char, size: usize) {
    if to.is_null() || size == 0 {
        return;
    }
    let words = text(words);
    let bytes = words.as_bytes();
    let length = bytes.len().min(size - 1);
    unsafe {
        std::ptr::copy_nonoverlapping(bytes.as_ptr().cast(), to, length);
        *to.add(length) = 0;
    }
}

/// An end, and why it cannot go on.
struct End {
    inner: Box<dyn Endpoint>,
    datagram: Vec<u8>,
    panicked: Option<String>,
    failure: CString,
}

impl End {
    /// The answer of `call`, unless it panics or has before.
    unsafe fn call<T>(end: *mut c_void, silent: T, call: impl FnOnce(&mut Self) -> T) -> T {
        let end = unsafe { &mut *end.cast::<Self>() };
        if end.panicked.is_some() {
            return silent;
        }
        match catch_unwind(AssertUnwindSafe(|| call(end))) {
            Ok(answer) => answer,
            Err(panic) => {
                end.panicked = Some(words(&*panic));
                silent
            }
        }
    }
}

fn at(now: u64) -> Duration {
    Duration::from_nanos(now)
}

unsafe extern "C" fn connect<F: EndpointFactory + Default>(
    setup: *const abi::Setup,
    ends: *mut *mut c_void,
    error: *mut c_char,
    size: usize,
) -> c_int {
    let setup = unsafe { setup_of(setup) };
    let connected =
        catch_unwind(|| F::default().connect(&setup)).unwrap_or_else(|panic| Err(words(&*panic)));
    match connected {
        Ok(pair) => {
            for (index, inner) in pair.into_iter().enumerate() {
                let end = Box::new(End {
                    inner,
                    datagram: Vec::new(),
                    panicked: None,
                    failure: CString::default(),
                });
                unsafe { *ends.add(index) = Box::into_raw(end).cast() };
            }
            0
        }
        Err(words) => {
            unsafe { explain(&words, error, size) };
            1
        }
    }
}

unsafe extern "C" fn release(end: *mut c_void) {
    let end = unsafe { Box::from_raw(end.cast::<End>()) };
    drop(catch_unwind(AssertUnwindSafe(|| drop(end))));
}

unsafe extern "C" fn poll_transmit(
    end: *mut c_void,
    now: u64,
    buffer: *mut u8,
    capacity: usize,
    ecn: *mut u8,
) -> usize {
    unsafe {
        End::call(end, 0, |end| {
            end.datagram.clear();
            let Some(mark) = end.inner.poll_transmit(at(now), &mut end.datagram) else {
                return 0;
            };
            let length = end.datagram.len();
            assert!(
                0 < length && length <= capacity,
                "a datagram of {length} bytes, where 1 to {capacity} are possible"
            );
            std::ptr::copy_nonoverlapping(end.datagram.as_ptr(), buffer, length);
            *ecn = mark.bits();
            length
        })
    }
}

unsafe extern "C" fn handle_datagram(
    end: *mut c_void,
    now: u64,
    bytes: *const u8,
    length: usize,
    ecn: u8,
) {
    unsafe {
        End::call(end, (), |end| {
            let bytes = std::slice::from_raw_parts(bytes, length);
            let ecn = Ecn::from_bits(ecn).unwrap_or_default();
            end.inner.handle_datagram(at(now), bytes, ecn);
        });
    }
}

unsafe extern "C" fn next_timeout(end: *mut c_void) -> u64 {
    unsafe { End::call(end, NONE, |end| end.inner.next_timeout().map_or(NONE, time)) }
}

unsafe extern "C" fn handle_timeout(end: *mut c_void, now: u64) {
    unsafe { End::call(end, (), |end| end.inner.handle_timeout(at(now))) }
}

unsafe extern "C" fn application(end: *mut c_void, now: u64, written: u64) -> u64 {
    unsafe { End::call(end, 0, |end| end.inner.application(at(now), written)) }
}

unsafe extern "C" fn status(end: *mut c_void, to: *mut abi::Status) {
    let state = unsafe { End::call(end, Status::default(), |end| end.inner.status()) };
    let end = unsafe { &mut *end.cast::<End>() };
    let failure = end.panicked.as_ref().or(state.failure.as_ref());
    let status = abi::Status {
        cwnd: state.cwnd.unwrap_or(NONE),
        ssthresh: state.ssthresh.unwrap_or(NONE),
        srtt: state.srtt.map_or(NONE, time),
        lost: state.lost,
        congestion_events: state.congestion_events,
        ecn_events: state.ecn_events,
        timeouts: state.timeouts,
        failure: match failure {
            None => std::ptr::null(),
            Some(words) => {
                end.failure = text(words);
                end.failure.as_ptr()
            }
        },
    };
    unsafe { *to = status };
}

/// The functions of a factory, for [`export_endpoints!`].
#[must_use]
pub fn endpoints<F: EndpointFactory + Default>() -> *const abi::Endpoints {
    let factory = F::default();
    Box::leak(Box::new(abi::Endpoints {
        abi: abi::ABI,
        size: size_of::<abi::Endpoints>() as u32,
        name: text(factory.name()).into_raw(),
        header: u64::from(factory.header()),
        connect: Some(connect::<F>),
        release: Some(release),
        poll_transmit: Some(poll_transmit),
        handle_datagram: Some(handle_datagram),
        next_timeout: Some(next_timeout),
        handle_timeout: Some(handle_timeout),
        application: Some(application),
        status: Some(status),
    }))
}

/// A controller; one that panicked has a window of [`PANICKED_WINDOW`].
struct Steering {
    inner: Box<dyn Controller>,
    panicked: bool,
}

/// The window of a controller that panicked: no window, so that the loader refuses it.
const PANICKED_WINDOW: u64 = NONE;

impl Steering {
    unsafe fn call(this: *mut c_void, call: impl FnOnce(&mut dyn Controller)) {
        let this = unsafe { &mut *this.cast::<Self>() };
        if !this.panicked {
            this.panicked = catch_unwind(AssertUnwindSafe(|| call(&mut *this.inner))).is_err();
        }
    }

    unsafe fn ask<T>(this: *const c_void, silent: T, call: impl FnOnce(&dyn Controller) -> T) -> T {
        let this = unsafe { &*this.cast::<Self>() };
        if this.panicked {
            return silent;
        }
        catch_unwind(AssertUnwindSafe(|| call(&*this.inner))).unwrap_or(silent)
    }
}

unsafe extern "C" fn init<F: ControllerFactory + Default>(
    setup: *const abi::Setup,
    error: *mut c_char,
    size: usize,
) -> *mut c_void {
    let setup = unsafe { setup_of(setup) };
    match catch_unwind(|| F::default().build(&setup)).unwrap_or_else(|panic| Err(words(&*panic))) {
        Ok(inner) => Box::into_raw(Box::new(Steering {
            inner,
            panicked: false,
        }))
        .cast(),
        Err(words) => {
            unsafe { explain(&words, error, size) };
            std::ptr::null_mut()
        }
    }
}

unsafe extern "C" fn release_controller(this: *mut c_void) {
    let this = unsafe { Box::from_raw(this.cast::<Steering>()) };
    drop(catch_unwind(AssertUnwindSafe(|| drop(this))));
}

unsafe extern "C" fn on_ack(this: *mut c_void, ack: *const abi::Ack) {
    let ack = unsafe { &*ack };
    let sample = AckSample {
        now: at(ack.now),
        acked: ack.acked,
        marked: ack.marked,
        lost: ack.lost,
        delivered: ack.delivered,
        prior_delivered: ack.prior_delivered,
        in_flight: ack.in_flight,
        prior_in_flight: ack.prior_in_flight,
        rtt: (ack.rtt > 0).then(|| at(ack.rtt)),
        min_rtt: at(ack.min_rtt),
        srtt: at(ack.srtt),
        rate: (ack.rate > 0.0).then_some(ack.rate),
        app_limited: ack.app_limited != 0,
        cwnd_limited: ack.cwnd_limited != 0,
        in_recovery: ack.in_recovery != 0,
    };
    unsafe { Steering::call(this, |inner| inner.on_ack(&sample)) }
}

unsafe extern "C" fn on_loss(this: *mut c_void, now: u64, lost: u64, in_flight: u64) {
    unsafe { Steering::call(this, |inner| inner.on_loss(at(now), lost, in_flight)) }
}

unsafe extern "C" fn on_rto(this: *mut c_void, now: u64, in_flight: u64) {
    unsafe { Steering::call(this, |inner| inner.on_rto(at(now), in_flight)) }
}

unsafe extern "C" fn on_ecn(this: *mut c_void, now: u64, in_flight: u64) {
    unsafe { Steering::call(this, |inner| inner.on_ecn(at(now), in_flight)) }
}

unsafe extern "C" fn cwnd(this: *const c_void) -> u64 {
    unsafe { Steering::ask(this, PANICKED_WINDOW, |inner| inner.cwnd()) }
}

unsafe extern "C" fn pacing_rate(this: *const c_void) -> f64 {
    unsafe { Steering::ask(this, 0.0, |inner| inner.pacing_rate().unwrap_or(0.0)) }
}

unsafe extern "C" fn ssthresh(this: *const c_void) -> u64 {
    unsafe { Steering::ask(this, NONE, |inner| inner.ssthresh().unwrap_or(NONE)) }
}

/// The functions of a factory, for [`export_controllers!`].
#[must_use]
pub fn controllers<F: ControllerFactory + Default>() -> *const abi::Controller {
    Box::leak(Box::new(abi::Controller {
        abi: abi::ABI,
        size: size_of::<abi::Controller>() as u32,
        name: text(F::default().name()).into_raw(),
        init: Some(init::<F>),
        release: Some(release_controller),
        on_ack: Some(on_ack),
        on_loss: Some(on_loss),
        on_rto: Some(on_rto),
        on_ecn: Some(on_ecn),
        cwnd: Some(cwnd),
        pacing_rate: Some(pacing_rate),
        ssthresh: Some(ssthresh),
    }))
}
