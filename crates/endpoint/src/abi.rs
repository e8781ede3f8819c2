//! The C interface: what `include/ackclock.h` declares, field by field.
//!
//! Times are nanoseconds since the run began, sizes bytes, rates bytes/s.

use std::ffi::{c_char, c_void};

/// Version of the interface, the first field of what a library exports.
pub const ABI: u32 = 1;

/// No time, no value.
pub const NONE: u64 = u64::MAX;

/// Symbol of a library of endpoints: a function of type [`EndpointsSymbol`].
pub const ENDPOINTS: &str = "ackclock_endpoints_v1";

/// Symbol of a library of controllers: a function of type [`ControllerSymbol`].
pub const CONTROLLER: &str = "ackclock_controller_v1";

/// Type of the function [`ENDPOINTS`].
pub type EndpointsSymbol = unsafe extern "C" fn() -> *const Endpoints;

/// Type of the function [`CONTROLLER`].
pub type ControllerSymbol = unsafe extern "C" fn() -> *const Controller;

/// See [`crate::Setup`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// Seed of random numbers.
    pub seed: u64,
    /// Largest datagram, or payload of a segment.
    pub max_datagram: u64,
    /// Number of the flow.
    pub flow: u32,
    /// 1 if the scenario asks for ECN, else 0.
    pub ecn: u32,
    /// Text of the scenario, ended by a zero.
    pub options: *const c_char,
}

/// See [`crate::Status`]; [`NONE`] for what is not known.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Status {
    /// Congestion window.
    pub cwnd: u64,
    /// Slow-start threshold.
    pub ssthresh: u64,
    /// Smoothed round-trip time.
    pub srtt: u64,
    /// Packets declared lost so far.
    pub lost: u64,
    /// Reductions for losses so far.
    pub congestion_events: u64,
    /// Reductions for marks so far.
    pub ecn_events: u64,
    /// Expiries of the retransmission timer so far.
    pub timeouts: u64,
    /// Null, or why the endpoint cannot go on, valid until the next call.
    pub failure: *const c_char,
}

impl Default for Status {
    fn default() -> Self {
        Self {
            cwnd: NONE,
            ssthresh: NONE,
            srtt: NONE,
            lost: 0,
            congestion_events: 0,
            ecn_events: 0,
            timeouts: 0,
            failure: std::ptr::null(),
        }
    }
}

/// Functions of a library of endpoints.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Endpoints {
    /// [`ABI`].
    pub abi: u32,
    /// Size of this structure.
    pub size: u32,
    /// Name in results and errors, ended by a zero.
    pub name: *const c_char,
    /// See [`crate::EndpointFactory::header`].
    pub header: u64,
    /// Makes the two ends of a connection. Returns 0, or another number after writing the reason
    /// into the text of the given size.
    pub connect: Option<
        unsafe extern "C" fn(*const Setup, *mut *mut c_void, *mut c_char, usize) -> std::ffi::c_int,
    >,
    /// Gives an end back.
    pub release: Option<unsafe extern "C" fn(*mut c_void)>,
    /// Writes a datagram into the buffer of the given size, and its ECN codepoint. Returns its
    /// length, 0 if none may leave.
    pub poll_transmit:
        Option<unsafe extern "C" fn(*mut c_void, u64, *mut u8, usize, *mut u8) -> usize>,
    /// Takes a datagram.
    pub handle_datagram: Option<unsafe extern "C" fn(*mut c_void, u64, *const u8, usize, u8)>,
    /// When a timer is due, or [`NONE`].
    pub next_timeout: Option<unsafe extern "C" fn(*mut c_void) -> u64>,
    /// Timers expire.
    pub handle_timeout: Option<unsafe extern "C" fn(*mut c_void, u64)>,
    /// The application acts.
    pub application: Option<unsafe extern "C" fn(*mut c_void, u64, u64) -> u64>,
    /// Fills in the state.
    pub status: Option<unsafe extern "C" fn(*mut c_void, *mut Status)>,
}

/// See [`crate::AckSample`]; 0 without a sample.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Ack {
    /// Arrival.
    pub now: u64,
    /// Bytes newly delivered.
    pub acked: u64,
    /// Bytes of those that were marked.
    pub marked: u64,
    /// Bytes newly found lost.
    pub lost: u64,
    /// Bytes delivered so far.
    pub delivered: u64,
    /// The same when the newest segment delivered was sent.
    pub prior_delivered: u64,
    /// Bytes in flight after the ACK.
    pub in_flight: u64,
    /// Bytes in flight before it.
    pub prior_in_flight: u64,
    /// Round trip sampled, or 0.
    pub rtt: u64,
    /// Smallest round trip so far.
    pub min_rtt: u64,
    /// Smoothed round trip.
    pub srtt: u64,
    /// Delivery rate sampled, bytes/s, or 0.
    pub rate: f64,
    /// 1 or 0.
    pub app_limited: u8,
    /// 1 or 0.
    pub cwnd_limited: u8,
    /// 1 or 0.
    pub in_recovery: u8,
}

/// Functions of a controller.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Controller {
    /// [`ABI`].
    pub abi: u32,
    /// Size of this structure.
    pub size: u32,
    /// Name in results and errors, ended by a zero.
    pub name: *const c_char,
    /// Makes the controller of a flow; null after writing the reason into the text of the given
    /// size.
    pub init: Option<unsafe extern "C" fn(*const Setup, *mut c_char, usize) -> *mut c_void>,
    /// Gives it back.
    pub release: Option<unsafe extern "C" fn(*mut c_void)>,
    /// See [`crate::Controller::on_ack`].
    pub on_ack: Option<unsafe extern "C" fn(*mut c_void, *const Ack)>,
    /// Time, bytes lost, bytes in flight.
    pub on_loss: Option<unsafe extern "C" fn(*mut c_void, u64, u64, u64)>,
    /// Time, bytes in flight.
    pub on_rto: Option<unsafe extern "C" fn(*mut c_void, u64, u64)>,
    /// Time, bytes in flight.
    pub on_ecn: Option<unsafe extern "C" fn(*mut c_void, u64, u64)>,
    /// Congestion window.
    pub cwnd: Option<unsafe extern "C" fn(*const c_void) -> u64>,
    /// Bytes/s, 0 as ACKs clock the segments.
    pub pacing_rate: Option<unsafe extern "C" fn(*const c_void) -> f64>,
    /// Slow-start threshold, or [`NONE`].
    pub ssthresh: Option<unsafe extern "C" fn(*const c_void) -> u64>,
}
