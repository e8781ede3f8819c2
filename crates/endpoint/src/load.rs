//! Shared libraries that a scenario names.
#![allow(
    unsafe_code,
    reason = "opening a library and calling it is beyond what the compiler can check; this is the one place that does"
)]

use std::ffi::{CStr, CString, c_char, c_void};
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::abi::{self, NONE};
use crate::{
    AckSample, Controller, ControllerFactory, Ecn, Endpoint, EndpointFactory, Ends, Setup, Status,
};

/// Bytes before and after a buffer that a library must leave alone, and what is in them.
const GUARD_BYTES: usize = 64;
const GUARD_BYTE: u8 = 0xa5;

/// A text for the reason why a connection cannot be made.
const REASON_BYTES: usize = 256;

/// A shared library of endpoints or controllers. It stays open while anything that it made exists.
///
/// A library runs inside this process: one that corrupts memory or never returns takes it along.
/// Run what is not trusted in a process of its own.
#[derive(Clone)]
pub struct Library {
    open: Arc<libloading::Library>,
    path: Arc<str>,
}

impl fmt::Debug for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Library({:?})", self.path)
    }
}

impl Library {
    /// Opens the library in file `path`.
    ///
    /// # Errors
    /// The file and the system's reason.
    pub fn open(path: &Path) -> Result<Self, String> {
        let shown = path.display();
        if !path.is_file() {
            return Err(format!("{shown}: there is no such file"));
        }
        // SAFETY: its initialisers run, as the user who names the library wants
        let open = unsafe { libloading::Library::new(path) }
            .map_err(|error| format!("{shown}: {error}"))?;
        Ok(Self {
            open: Arc::new(open),
            path: shown.to_string().into(),
        })
    }

    fn missing(&self, symbol: &str, other: &str, kind: &str) -> String {
        // SAFETY: the symbol is not used
        let has = unsafe { self.open.get::<*const c_void>(other.as_bytes()) }.is_ok();
        if has {
            format!("{}: exports {other}, so its kind is \"{kind}\"", self.path)
        } else {
            format!("{}: does not export {symbol} (ackclock.h)", self.path)
        }
    }

    fn version(&self, abi: u32, size: u32, expected: usize) -> Result<(), String> {
        if abi == abi::ABI && size as usize == expected {
            return Ok(());
        }
        Err(format!(
            "{}: made for version {abi} of the interface ({size} bytes), not {} ({expected} bytes)",
            self.path,
            abi::ABI
        ))
    }

    fn name(&self, name: *const c_char) -> String {
        let file = Path::new(&*self.path).file_name();
        let file = file.map_or_else(String::new, |file| file.to_string_lossy().into_owned());
        if name.is_null() {
            return file;
        }
        // SAFETY: the interface says that it ends with a zero
        let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
        format!("{name} ({file})")
    }

    /// Its endpoints.
    ///
    /// # Errors
    /// What it lacks.
    pub fn endpoints(&self) -> Result<Arc<dyn EndpointFactory>, String> {
        // SAFETY: the symbol's type is what the header declares
        let symbol = unsafe {
            self.open
                .get::<abi::EndpointsSymbol>(abi::ENDPOINTS.as_bytes())
        };
        let Ok(symbol) = symbol else {
            return Err(self.missing(abi::ENDPOINTS, abi::CONTROLLER, "controller"));
        };
        // SAFETY: it returns null or a table that lives as long as the library
        let table = unsafe { symbol().as_ref() };
        let table = *table.ok_or_else(|| format!("{}: {} is null", self.path, abi::ENDPOINTS))?;
        self.version(table.abi, table.size, size_of::<abi::Endpoints>())?;
        let functions = || {
            Some(EndFunctions {
                connect: table.connect?,
                release: table.release?,
                poll_transmit: table.poll_transmit?,
                handle_datagram: table.handle_datagram?,
                next_timeout: table.next_timeout?,
                handle_timeout: table.handle_timeout?,
                application: table.application?,
                status: table.status?,
            })
        };
        let functions =
            functions().ok_or_else(|| format!("{}: a function of its table is null", self.path))?;
        Ok(Arc::new(LoadedEndpoints {
            functions,
            name: self.name(table.name),
            header: u32::try_from(table.header)
                .ok()
                .filter(|header| *header <= 1000)
                .ok_or_else(|| format!("{}: a header of {} bytes", self.path, table.header))?,
            library: self.clone(),
        }))
    }

    /// Its controllers.
    ///
    /// # Errors
    /// What it lacks.
    pub fn controllers(&self) -> Result<Arc<dyn ControllerFactory>, String> {
        // SAFETY: the symbol's type is what the header declares
        let symbol = unsafe {
            self.open
                .get::<abi::ControllerSymbol>(abi::CONTROLLER.as_bytes())
        };
        let Ok(symbol) = symbol else {
            return Err(self.missing(abi::CONTROLLER, abi::ENDPOINTS, "endpoint"));
        };
        // SAFETY: it returns null or a table that lives as long as the library
        let table = unsafe { symbol().as_ref() };
        let table = *table.ok_or_else(|| format!("{}: {} is null", self.path, abi::CONTROLLER))?;
        self.version(table.abi, table.size, size_of::<abi::Controller>())?;
        let functions = || {
            Some(ControllerFunctions {
                init: table.init?,
                release: table.release?,
                on_ack: table.on_ack?,
                on_loss: table.on_loss?,
                on_rto: table.on_rto?,
                on_ecn: table.on_ecn?,
                cwnd: table.cwnd?,
                pacing_rate: table.pacing_rate?,
                ssthresh: table.ssthresh?,
            })
        };
        let functions =
            functions().ok_or_else(|| format!("{}: a function of its table is null", self.path))?;
        Ok(Arc::new(LoadedControllers {
            functions,
            name: self.name(table.name),
            library: self.clone(),
        }))
    }
}

/// The set-up as the interface has it; the text must outlive it.
fn raw_setup(setup: &Setup, options: &CStr) -> abi::Setup {
    abi::Setup {
        seed: setup.seed,
        max_datagram: setup.max_datagram as u64,
        flow: setup.flow,
        ecn: u32::from(setup.ecn),
        options: options.as_ptr(),
    }
}

fn options_of(setup: &Setup) -> Result<CString, String> {
    CString::new(setup.options.as_str()).map_err(|_| "`options` holds a zero".to_owned())
}

/// The reason that a library has written down.
fn reason(bytes: &[c_char]) -> String {
    let bytes: Vec<u8> = bytes
        .iter()
        .take_while(|byte| **byte != 0)
        .map(|byte| *byte as u8)
        .collect();
    let words = String::from_utf8_lossy(&bytes).trim().to_owned();
    if words.is_empty() {
        "it refused to start, and gave no reason".to_owned()
    } else {
        words
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(NONE)
}

fn known(value: u64) -> Option<u64> {
    (value != NONE).then_some(value)
}

#[derive(Clone, Copy)]
struct EndFunctions {
    connect: unsafe extern "C" fn(
        *const abi::Setup,
        *mut *mut c_void,
        *mut c_char,
        usize,
    ) -> std::ffi::c_int,
    release: unsafe extern "C" fn(*mut c_void),
    poll_transmit: unsafe extern "C" fn(*mut c_void, u64, *mut u8, usize, *mut u8) -> usize,
    handle_datagram: unsafe extern "C" fn(*mut c_void, u64, *const u8, usize, u8),
    next_timeout: unsafe extern "C" fn(*mut c_void) -> u64,
    handle_timeout: unsafe extern "C" fn(*mut c_void, u64),
    application: unsafe extern "C" fn(*mut c_void, u64, u64) -> u64,
    status: unsafe extern "C" fn(*mut c_void, *mut abi::Status),
}

struct LoadedEndpoints {
    functions: EndFunctions,
    name: String,
    header: u32,
    library: Library,
}

impl fmt::Debug for LoadedEndpoints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "endpoints of {:?}", self.library)
    }
}

impl EndpointFactory for LoadedEndpoints {
    fn name(&self) -> &str {
        &self.name
    }

    fn header(&self) -> u32 {
        self.header
    }

    fn connect(&self, setup: &Setup) -> Result<Ends, String> {
        let options = options_of(setup)?;
        let raw = raw_setup(setup, &options);
        let mut ends = [std::ptr::null_mut(); 2];
        let mut words = [0; REASON_BYTES];
        // SAFETY: the arguments are what the header declares, and live through the call
        let refused = unsafe {
            (self.functions.connect)(
                &raw const raw,
                ends.as_mut_ptr(),
                words.as_mut_ptr(),
                REASON_BYTES,
            )
        };
        words[REASON_BYTES - 1] = 0;
        if refused != 0 {
            return Err(reason(&words));
        }
        if ends.iter().any(|end| end.is_null()) {
            return Err("connect returned an end that is null".to_owned());
        }
        let capacity = setup.max_datagram;
        Ok(ends.map(|end| {
            Box::new(LoadedEnd {
                end,
                functions: self.functions,
                buffer: vec![GUARD_BYTE; capacity + 2 * GUARD_BYTES],
                capacity,
                failure: None,
                _library: self.library.clone(),
            }) as Box<dyn Endpoint>
        }))
    }
}

struct LoadedEnd {
    end: *mut c_void,
    functions: EndFunctions,
    buffer: Vec<u8>,
    capacity: usize,
    failure: Option<String>,
    _library: Library,
}

// SAFETY: the interface says that an end may be called from any thread, one call at a time
unsafe impl Send for LoadedEnd {}

impl LoadedEnd {
    /// Whether the library has left alone what lies around its buffer.
    fn guards_stand(&self) -> bool {
        let (before, rest) = self.buffer.split_at(GUARD_BYTES);
        let after = &rest[self.capacity..];
        before.iter().chain(after).all(|byte| *byte == GUARD_BYTE)
    }
}

impl Endpoint for LoadedEnd {
    fn poll_transmit(&mut self, now: Duration, datagram: &mut Vec<u8>) -> Option<Ecn> {
        if self.failure.is_some() {
            return None;
        }
        let mut ecn = 0;
        // SAFETY: the buffer has `capacity` bytes, and more behind them
        let length = unsafe {
            (self.functions.poll_transmit)(
                self.end,
                nanoseconds(now),
                self.buffer.as_mut_ptr().add(GUARD_BYTES),
                self.capacity,
                &raw mut ecn,
            )
        };
        if !self.guards_stand() {
            self.failure = Some(format!(
                "poll_transmit wrote outside its buffer of {} bytes",
                self.capacity
            ));
            return None;
        }
        if length > self.capacity {
            self.failure = Some(format!(
                "poll_transmit returned {length}, more than its buffer's {} bytes",
                self.capacity
            ));
            return None;
        }
        if length == 0 {
            return None;
        }
        let Some(ecn) = Ecn::from_bits(ecn) else {
            self.failure = Some(format!(
                "poll_transmit set ECN codepoint {ecn}; it is 0 to 3"
            ));
            return None;
        };
        datagram.extend_from_slice(&self.buffer[GUARD_BYTES..GUARD_BYTES + length]);
        Some(ecn)
    }

    fn handle_datagram(&mut self, now: Duration, datagram: &[u8], ecn: Ecn) {
        // SAFETY: the datagram lives through the call
        unsafe {
            (self.functions.handle_datagram)(
                self.end,
                nanoseconds(now),
                datagram.as_ptr(),
                datagram.len(),
                ecn.bits(),
            );
        }
    }

    fn next_timeout(&mut self) -> Option<Duration> {
        // SAFETY: `end` is what `connect` returned
        known(unsafe { (self.functions.next_timeout)(self.end) }).map(Duration::from_nanos)
    }

    fn handle_timeout(&mut self, now: Duration) {
        // SAFETY: `end` is what `connect` returned
        unsafe { (self.functions.handle_timeout)(self.end, nanoseconds(now)) }
    }

    fn application(&mut self, now: Duration, written: u64) -> u64 {
        // SAFETY: `end` is what `connect` returned
        unsafe { (self.functions.application)(self.end, nanoseconds(now), written) }
    }

    fn status(&self) -> Status {
        let mut raw = abi::Status::default();
        // SAFETY: `end` is what `connect` returned
        unsafe { (self.functions.status)(self.end, &raw mut raw) };
        let failure = self.failure.clone().or_else(|| {
            // SAFETY: the interface says that it ends with a zero
            let words = (!raw.failure.is_null()).then(|| unsafe { CStr::from_ptr(raw.failure) });
            words.map(|words| words.to_string_lossy().into_owned())
        });
        Status {
            cwnd: known(raw.cwnd),
            ssthresh: known(raw.ssthresh),
            srtt: known(raw.srtt).map(Duration::from_nanos),
            lost: known(raw.lost).unwrap_or(0),
            congestion_events: known(raw.congestion_events).unwrap_or(0),
            ecn_events: known(raw.ecn_events).unwrap_or(0),
            timeouts: known(raw.timeouts).unwrap_or(0),
            failure,
        }
    }
}

impl Drop for LoadedEnd {
    fn drop(&mut self) {
        // SAFETY: `end` is what `connect` returned, and is not used again
        unsafe { (self.functions.release)(self.end) }
    }
}

#[derive(Clone, Copy)]
struct ControllerFunctions {
    init: unsafe extern "C" fn(*const abi::Setup, *mut c_char, usize) -> *mut c_void,
    release: unsafe extern "C" fn(*mut c_void),
    on_ack: unsafe extern "C" fn(*mut c_void, *const abi::Ack),
    on_loss: unsafe extern "C" fn(*mut c_void, u64, u64, u64),
    on_rto: unsafe extern "C" fn(*mut c_void, u64, u64),
    on_ecn: unsafe extern "C" fn(*mut c_void, u64, u64),
    cwnd: unsafe extern "C" fn(*const c_void) -> u64,
    pacing_rate: unsafe extern "C" fn(*const c_void) -> f64,
    ssthresh: unsafe extern "C" fn(*const c_void) -> u64,
}

struct LoadedControllers {
    functions: ControllerFunctions,
    name: String,
    library: Library,
}

impl fmt::Debug for LoadedControllers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "controllers of {:?}", self.library)
    }
}

impl ControllerFactory for LoadedControllers {
    fn name(&self) -> &str {
        &self.name
    }

    fn build(&self, setup: &Setup) -> Result<Box<dyn Controller>, String> {
        let options = options_of(setup)?;
        let raw = raw_setup(setup, &options);
        let mut words = [0; REASON_BYTES];
        // SAFETY: the arguments are what the header declares, and live through the call
        let this =
            unsafe { (self.functions.init)(&raw const raw, words.as_mut_ptr(), REASON_BYTES) };
        words[REASON_BYTES - 1] = 0;
        if this.is_null() {
            return Err(reason(&words));
        }
        Ok(Box::new(LoadedController {
            this,
            functions: self.functions,
            _library: self.library.clone(),
        }))
    }
}

struct LoadedController {
    this: *mut c_void,
    functions: ControllerFunctions,
    _library: Library,
}

// SAFETY: the interface says that a controller may be called from any thread, one call at a time
unsafe impl Send for LoadedController {}

impl Controller for LoadedController {
    fn on_ack(&mut self, sample: &AckSample) {
        let raw = abi::Ack {
            now: nanoseconds(sample.now),
            acked: sample.acked,
            marked: sample.marked,
            lost: sample.lost,
            delivered: sample.delivered,
            prior_delivered: sample.prior_delivered,
            in_flight: sample.in_flight,
            prior_in_flight: sample.prior_in_flight,
            rtt: sample.rtt.map_or(0, nanoseconds),
            min_rtt: nanoseconds(sample.min_rtt),
            srtt: nanoseconds(sample.srtt),
            rate: sample.rate.unwrap_or(0.0),
            app_limited: u8::from(sample.app_limited),
            cwnd_limited: u8::from(sample.cwnd_limited),
            in_recovery: u8::from(sample.in_recovery),
        };
        // SAFETY: `this` is what `init` returned
        unsafe { (self.functions.on_ack)(self.this, &raw const raw) }
    }

    fn on_loss(&mut self, now: Duration, lost: u64, in_flight: u64) {
        // SAFETY: `this` is what `init` returned
        unsafe { (self.functions.on_loss)(self.this, nanoseconds(now), lost, in_flight) }
    }

    fn on_rto(&mut self, now: Duration, in_flight: u64) {
        // SAFETY: `this` is what `init` returned
        unsafe { (self.functions.on_rto)(self.this, nanoseconds(now), in_flight) }
    }

    fn on_ecn(&mut self, now: Duration, in_flight: u64) {
        // SAFETY: `this` is what `init` returned
        unsafe { (self.functions.on_ecn)(self.this, nanoseconds(now), in_flight) }
    }

    fn cwnd(&self) -> u64 {
        // SAFETY: `this` is what `init` returned
        unsafe { (self.functions.cwnd)(self.this) }
    }

    fn pacing_rate(&self) -> Option<f64> {
        // SAFETY: `this` is what `init` returned
        Some(unsafe { (self.functions.pacing_rate)(self.this) }).filter(|rate| *rate != 0.0)
    }

    fn ssthresh(&self) -> Option<u64> {
        // SAFETY: `this` is what `init` returned
        known(unsafe { (self.functions.ssthresh)(self.this) })
    }
}

impl Drop for LoadedController {
    fn drop(&mut self) {
        // SAFETY: `this` is what `init` returned, and is not used again
        unsafe { (self.functions.release)(self.this) }
    }
}
