//! The interface between ackclock's packet engine and a transport stack, or a congestion
//! controller, of your own.
//!
//! The engine owns time, links, queues and cross traffic. A stack without input and output of its
//! own ("sans-IO") implements [`Endpoint`]: the engine hands in time and datagrams, and takes the
//! datagrams that leave. A congestion controller alone implements [`Controller`] and steers the
//! engine's own TCP sender.
//!
//! Time is the [`Duration`] since the run began. An implementation must not read a clock and must
//! draw random numbers only from [`Setup::seed`], so that a scenario and a seed give the same run
//! again.
//!
//! From Rust, hand an [`EndpointFactory`] to the engine (`ackclock_packet::endpoints`). As a shared
//! library that a scenario names, export one with [`export_endpoints!`] or [`export_controllers!`];
//! from C and other languages, with the header `include/ackclock.h`, which says the same.
//!
//! An endpoint that sends a datagram each millisecond:
//!
//! ```
//! use ackclock_endpoint::{Ecn, Endpoint, Status};
//! use std::time::Duration;
//!
//! struct Ticker {
//!     next: Duration,
//! }
//!
//! impl Endpoint for Ticker {
//!     fn poll_transmit(&mut self, now: Duration, datagram: &mut Vec<u8>) -> Option<Ecn> {
//!         if now < self.next {
//!             return None;
//!         }
//!         self.next += Duration::from_millis(1);
//!         datagram.resize(1200, 0);
//!         Some(Ecn::NotEct)
//!     }
//!     fn handle_datagram(&mut self, _now: Duration, _datagram: &[u8], _ecn: Ecn) {}
//!     fn next_timeout(&mut self) -> Option<Duration> {
//!         Some(self.next)
//!     }
//!     fn handle_timeout(&mut self, _now: Duration) {}
//!     fn application(&mut self, _now: Duration, _written: u64) -> u64 {
//!         0
//!     }
//!     fn status(&self) -> Status {
//!         Status::default()
//!     }
//! }
//! ```

pub mod abi;
#[doc(hidden)]
pub mod export;
#[cfg(feature = "load")]
mod load;

use std::fmt;
use std::time::Duration;

#[cfg(feature = "load")]
pub use load::Library;

/// The ECN codepoint of a datagram (RFC 3168, section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Ecn {
    /// Not ECN-capable.
    #[default]
    NotEct = 0,
    /// ECN-capable, L4S (RFC 9331).
    Ect1 = 1,
    /// ECN-capable.
    Ect0 = 2,
    /// Congestion experienced: what a queue makes of an ECN-capable one.
    Ce = 3,
}

impl Ecn {
    /// The codepoint of the two bits in an IP header.
    #[must_use]
    pub fn from_bits(bits: u8) -> Option<Self> {
        Some(match bits {
            0 => Self::NotEct,
            1 => Self::Ect1,
            2 => Self::Ect0,
            3 => Self::Ce,
            _ => return None,
        })
    }

    /// The two bits in an IP header.
    #[must_use]
    pub fn bits(self) -> u8 {
        self as u8
    }
}

/// The state of a sender that traces and reports show; what is not known stays at its default.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Status {
    /// Congestion window, bytes.
    pub cwnd: Option<u64>,
    /// Slow-start threshold, bytes; `None` where there is none (yet).
    pub ssthresh: Option<u64>,
    /// Smoothed round-trip time.
    pub srtt: Option<Duration>,
    /// Packets that the sender declared lost so far.
    pub lost: u64,
    /// Reductions of the window for a loss so far.
    pub congestion_events: u64,
    /// Reductions of the window for marks so far.
    pub ecn_events: u64,
    /// Expiries of the retransmission timer so far (of QUIC: persistent congestion).
    pub timeouts: u64,
    /// The reason for which the endpoint cannot go on, such as a connection that was closed. The
    /// engine ends the run and shows it.
    pub failure: Option<String>,
}

/// One end of a connection, polled: it does nothing by itself, and knows of no clock and no
/// network.
///
/// After each call of [`handle_datagram`](Self::handle_datagram) or
/// [`handle_timeout`](Self::handle_timeout), and once at the start, the engine calls
/// [`application`](Self::application), then [`poll_transmit`](Self::poll_transmit) until it returns
/// `None`, then [`next_timeout`](Self::next_timeout).
pub trait Endpoint: Send {
    /// Writes the next datagram that may leave at `now` into `datagram`, which is empty, and returns
    /// its ECN codepoint; `None` if none may leave. A datagram has at most
    /// [`Setup::max_datagram`] bytes.
    fn poll_transmit(&mut self, now: Duration, datagram: &mut Vec<u8>) -> Option<Ecn>;

    /// Takes a datagram that arrives at `now`.
    fn handle_datagram(&mut self, now: Duration, datagram: &[u8], ecn: Ecn);

    /// When [`handle_timeout`](Self::handle_timeout) is due next, if a timer runs. A time that has
    /// passed means at once.
    fn next_timeout(&mut self) -> Option<Duration>;

    /// Timers that are due by `now` expire.
    fn handle_timeout(&mut self, now: Duration);

    /// The application at this end acts: it has written `written` bytes in all so far
    /// (`u64::MAX`: there is always more), reads what has arrived, and returns the bytes that it
    /// has read in all. At the receiving end `written` is 0.
    fn application(&mut self, now: Duration, written: u64) -> u64;

    /// The sender's state.
    fn status(&self) -> Status;
}

/// The circumstances of a new endpoint or controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setup {
    /// Number of the flow within its class.
    pub flow: u32,
    /// Seed of its random numbers: different for each flow, the same for the same scenario and seed.
    pub seed: u64,
    /// The largest datagram, bytes, without the headers below it; of a controller, the payload of a
    /// segment.
    pub max_datagram: usize,
    /// Whether the scenario asks for ECN (`ecn`).
    pub ecn: bool,
    /// The text that the scenario gives as `options`.
    pub options: String,
}

/// The two ends of a connection: who sends, and who receives.
pub type Ends = [Box<dyn Endpoint>; 2];

/// Makes the ends of connections.
pub trait EndpointFactory: fmt::Debug + Send + Sync {
    /// The name in results and errors.
    fn name(&self) -> &str;

    /// Bytes of headers that the network adds to each datagram: 28 for UDP over IPv4, 0 where
    /// datagrams are whole IP packets.
    fn header(&self) -> u32;

    /// The two ends of a new connection. The sending end is the one that opens it.
    ///
    /// # Errors
    /// What is wrong with the set-up, in words.
    fn connect(&self, setup: &Setup) -> Result<Ends, String>;
}

/// An acknowledgement with its sample of the delivery rate (draft-ietf-ccwg-bbr, section 4.1).
/// Bytes are payload.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AckSample {
    /// Arrival.
    pub now: Duration,
    /// Bytes that it newly says are delivered.
    pub acked: u64,
    /// Bytes of those that it says were marked, where the receiver tells.
    pub marked: u64,
    /// Bytes newly found lost.
    pub lost: u64,
    /// Bytes delivered so far.
    pub delivered: u64,
    /// Bytes delivered when the newest segment delivered by this ACK was sent.
    pub prior_delivered: u64,
    /// Bytes in flight after it.
    pub in_flight: u64,
    /// Bytes in flight before it.
    pub prior_in_flight: u64,
    /// Round trip that it samples, if it does.
    pub rtt: Option<Duration>,
    /// Smallest round trip so far.
    pub min_rtt: Duration,
    /// Smoothed round trip (RFC 6298).
    pub srtt: Duration,
    /// Delivery rate, bytes/s, if it samples one.
    pub rate: Option<f64>,
    /// Whether the sample was taken while the application left the window unused.
    pub app_limited: bool,
    /// Whether the window was full since the newest segment delivered was sent.
    pub cwnd_limited: bool,
    /// Whether the window does not grow: segments arrive out of order, in fast recovery, and in the
    /// window of data after a mark. Not after a timeout, which slow start follows.
    pub in_recovery: bool,
}

/// A congestion controller alone: it steers the engine's TCP sender, which detects and repairs
/// losses and paces.
///
/// The window is the controller's at all times, in loss recovery too; only a retransmission timeout
/// sets it down to one segment until the next ACK.
pub trait Controller: Send {
    /// An ACK arrived.
    fn on_ack(&mut self, sample: &AckSample);

    /// Losses were found that need an answer, at most once a window: `lost` bytes at `now`, of
    /// `in_flight` bytes.
    fn on_loss(&mut self, now: Duration, lost: u64, in_flight: u64);

    /// The retransmission timer expired at `now`.
    fn on_rto(&mut self, now: Duration, in_flight: u64);

    /// Marks came back that need an answer, at most once a window (RFC 3168).
    fn on_ecn(&mut self, now: Duration, in_flight: u64);

    /// Congestion window, bytes.
    fn cwnd(&self) -> u64;

    /// Rate at which segments leave, bytes/s; `None`: as ACKs clock them.
    fn pacing_rate(&self) -> Option<f64> {
        None
    }

    /// Slow-start threshold, bytes, for traces; `None` where there is none.
    fn ssthresh(&self) -> Option<u64> {
        None
    }
}

/// Makes controllers.
pub trait ControllerFactory: fmt::Debug + Send + Sync {
    /// The name in results and errors.
    fn name(&self) -> &str;

    /// The controller of a flow.
    ///
    /// # Errors
    /// What is wrong with the set-up, in words.
    fn build(&self, setup: &Setup) -> Result<Box<dyn Controller>, String>;
}
