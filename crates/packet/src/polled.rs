//! A flow whose two ends are a transport of others: the calls into it, and its datagrams on their
//! way.

use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use ackclock_algorithms::library::Endpoints;
use ackclock_endpoint::{Ecn, Endpoint, Ends, Setup, Status};

use crate::packet::Flags;
use crate::tcp::Counters;

/// Picoseconds in the nanoseconds of an endpoint's clock.
const PER_NANOSECOND: u64 = 1000;
/// Datagrams that one end may send at one instant, beyond any window of a real path: an end that
/// sends more never stops.
const MAX_BURST: usize = 100_000;
/// Calls of `handle_timeout` at one instant, after which a timer that is due still will be for
/// ever.
const MAX_TIMEOUTS: u32 = 1000;

/// The end that sends, and the one that receives.
pub(crate) const SENDING_END: usize = 0;
pub(crate) const RECEIVING_END: usize = 1;

/// A time of the engine by an endpoint's clock.
fn clock(now: u64) -> Duration {
    Duration::from_nanos(now / PER_NANOSECOND)
}

fn flags(ecn: Ecn) -> u8 {
    match ecn {
        Ecn::NotEct => 0,
        Ecn::Ect0 => Flags::ECT,
        Ecn::Ect1 => Flags::ECT | Flags::ECT1,
        Ecn::Ce => Flags::ECT | Flags::CE,
    }
}

/// The message of a panic.
pub(crate) fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned());
    format!(
        "it panicked: {}",
        text.unwrap_or_else(|| "no message".to_owned())
    )
}

/// Datagrams of one end that are on their way, by number.
#[derive(Default)]
struct Datagrams {
    /// Number of the first that is kept.
    first: u64,
    kept: VecDeque<Option<(Ecn, Vec<u8>)>>,
    /// Memory of those that are not on their way any more.
    spare: Vec<Vec<u8>>,
}

impl Datagrams {
    fn next(&self) -> u64 {
        self.first + self.kept.len() as u64
    }

    /// Takes datagram `number` out.
    fn take(&mut self, number: u64) -> Option<(Ecn, Vec<u8>)> {
        let index = usize::try_from(number.checked_sub(self.first)?).ok()?;
        let datagram = self.kept.get_mut(index)?.take();
        while let Some(None) = self.kept.front() {
            self.kept.pop_front();
            self.first += 1;
        }
        datagram
    }

    fn reuse(&mut self, mut bytes: Vec<u8>) {
        if self.spare.len() < 1024 {
            bytes.clear();
            self.spare.push(bytes);
        }
    }
}

/// A datagram that leaves.
#[derive(Clone, Copy)]
pub(crate) struct Leaving {
    pub(crate) number: u64,
    pub(crate) size: u32,
    pub(crate) flags: u8,
}

/// An event that wakes an end.
#[derive(Clone, Copy)]
pub(crate) enum Cause {
    /// Its application, or the start of the connection.
    Application,
    /// A timer.
    Timeout,
    /// The datagram of this number of the other end, marked or not.
    Datagram(u64, bool),
}

/// The acts of an end that was woken.
#[derive(Default)]
pub(crate) struct Turn {
    pub(crate) leaving: Vec<Leaving>,
    /// When its timer is due; `u64::MAX`: it has none.
    pub(crate) timer: u64,
    /// Bytes that its application has newly read.
    pub(crate) read: u64,
}

/// Both ends of a connection.
pub(crate) struct Polled {
    ends: Option<Ends>,
    endpoints: Endpoints,
    setup: Setup,
    /// Payload of a full packet, by which windows are counted.
    payload: f64,
    datagrams: [Datagrams; 2],
    /// Bytes that the application has written.
    pub(crate) written: u64,
    /// Bytes that the application has read, by end.
    read: [u64; 2],
    status: Status,
    /// Counts of the sender: smoothed round trips as they stood when ACKs came, and events.
    pub(crate) counters: Counters,
    /// By end.
    pub(crate) timers: [u64; 2],
    /// When the sender sent last.
    pub(crate) last_sent: u64,
    leaving: Vec<Leaving>,
}

impl Polled {
    /// Ends that are not made yet. `packet_size` is that on the wire.
    pub(crate) fn new(
        endpoints: &Endpoints,
        flow: u32,
        seed: u64,
        packet_size: u32,
        payload: u32,
        ecn: bool,
    ) -> Self {
        let header = endpoints.factory.header();
        Self {
            ends: None,
            setup: Setup {
                flow,
                seed,
                max_datagram: packet_size.saturating_sub(header) as usize,
                ecn,
                options: endpoints.options.clone(),
            },
            endpoints: endpoints.clone(),
            payload: f64::from(payload),
            datagrams: Default::default(),
            written: 0,
            read: [0; 2],
            status: Status::default(),
            counters: Counters::default(),
            timers: [u64::MAX; 2],
            last_sent: 0,
            leaving: Vec::new(),
        }
    }

    pub(crate) fn name(&self) -> &str {
        self.endpoints.factory.name()
    }

    pub(crate) fn is_connected(&self) -> bool {
        self.ends.is_some()
    }

    /// Makes the ends.
    pub(crate) fn connect(&mut self) -> Result<(), String> {
        let (factory, setup) = (&self.endpoints.factory, &self.setup);
        let ends = catch_unwind(AssertUnwindSafe(|| factory.connect(setup)))
            .unwrap_or_else(|panic| Err(words(&*panic)));
        self.ends = Some(ends?);
        Ok(())
    }

    /// Congestion window, packets.
    pub(crate) fn cwnd(&self) -> Option<f64> {
        self.status.cwnd.map(|cwnd| cwnd as f64 / self.payload)
    }

    /// Slow-start threshold, packets.
    pub(crate) fn ssthresh(&self) -> f64 {
        self.status
            .ssthresh
            .map_or(f64::INFINITY, |ssthresh| ssthresh as f64 / self.payload)
    }

    /// Smoothed round trip, s; NaN where it is not known.
    pub(crate) fn srtt(&self) -> f64 {
        self.status.srtt.map_or(f64::NAN, |srtt| srtt.as_secs_f64())
    }

    /// Data that the receiving application has read, in payloads of full packets.
    pub(crate) fn delivered(&self) -> u64 {
        (self.read[RECEIVING_END] as f64 / self.payload) as u64
    }

    /// Bytes that the receiving application has read.
    pub(crate) fn received(&self) -> u64 {
        self.read[RECEIVING_END]
    }

    /// Packets that the sender has declared lost.
    pub(crate) fn lost(&self) -> u64 {
        self.status.lost
    }

    /// Forgets a datagram that the network has taken.
    pub(crate) fn forget(&mut self, side: usize, number: u64) {
        if let Some((_, bytes)) = self.datagrams[side].take(number) {
            self.datagrams[side].reuse(bytes);
        }
    }

    /// Gives memory back that was lent with a turn.
    pub(crate) fn give_back(&mut self, leaving: Vec<Leaving>) {
        self.leaving = leaving;
    }

    /// Wakes the end `side`.
    pub(crate) fn wake(&mut self, side: usize, now: u64, cause: Cause) -> Result<Turn, String> {
        let turn = catch_unwind(AssertUnwindSafe(|| self.turn(side, now, cause)));
        turn.unwrap_or_else(|panic| Err(words(&*panic)))
    }

    fn turn(&mut self, side: usize, time: u64, cause: Cause) -> Result<Turn, String> {
        let Some(ends) = &mut self.ends else {
            return Ok(Turn::default());
        };
        let now = clock(time);
        let end = &mut ends[side];
        match cause {
            Cause::Application => {}
            Cause::Timeout => end.handle_timeout(now),
            Cause::Datagram(number, marked) => {
                let sent = &mut self.datagrams[1 - side];
                if let Some((ecn, bytes)) = sent.take(number) {
                    let ecn = if marked { Ecn::Ce } else { ecn };
                    end.handle_datagram(now, &bytes, ecn);
                    sent.reuse(bytes);
                }
            }
        }
        let written = if side == SENDING_END { self.written } else { 0 };
        let mut sending = Sending {
            datagrams: &mut self.datagrams[side],
            header: self.endpoints.factory.header(),
            most: self.setup.max_datagram,
            leaving: std::mem::take(&mut self.leaving),
        };
        sending.leaving.clear();
        let mut read = self.read[side];
        let mut calls = 0;
        let timer = loop {
            read = read.max(end.application(now, written));
            sending.send_all(&mut **end, now)?;
            match end.next_timeout() {
                None => break u64::MAX,
                Some(due) if due > now => {
                    let due = u64::try_from(due.as_nanos()).unwrap_or(u64::MAX);
                    break due.saturating_mul(PER_NANOSECOND);
                }
                Some(due) if calls == MAX_TIMEOUTS => {
                    return Err(end.status().failure.unwrap_or_else(|| {
                        format!("next_timeout says {due:?}, which has passed, and still does after {MAX_TIMEOUTS} calls of handle_timeout")
                    }));
                }
                Some(_) => {
                    calls += 1;
                    end.handle_timeout(now);
                }
            }
        };
        let leaving = sending.leaving;
        self.timers[side] = timer;
        let status = end.status();
        if let Some(failure) = status.failure {
            return Err(failure);
        }
        if side == SENDING_END {
            self.account(cause, status);
            if !leaving.is_empty() {
                self.last_sent = time;
            }
        }
        let before = std::mem::replace(&mut self.read[side], read);
        Ok(Turn {
            leaving,
            timer,
            read: read - before,
        })
    }

    /// Takes the sender's state over.
    fn account(&mut self, cause: Cause, status: Status) {
        if let (Cause::Datagram(..), Some(srtt)) = (cause, status.srtt) {
            self.counters.rtt_sum += srtt.as_nanos() * u128::from(PER_NANOSECOND);
            self.counters.rtt_samples += 1;
        }
        self.counters.timeouts = status.timeouts;
        self.counters.fast_recoveries = status.congestion_events;
        self.counters.ecn_reductions = status.ecn_events;
        self.status = status;
    }
}

/// The datagrams that an end sends in a turn.
struct Sending<'p> {
    datagrams: &'p mut Datagrams,
    header: u32,
    /// Bytes of the largest datagram.
    most: usize,
    leaving: Vec<Leaving>,
}

impl Sending<'_> {
    /// Takes all that `end` sends now.
    fn send_all(&mut self, end: &mut dyn Endpoint, now: Duration) -> Result<(), String> {
        loop {
            let mut bytes = self.datagrams.spare.pop().unwrap_or_default();
            let Some(ecn) = end.poll_transmit(now, &mut bytes) else {
                self.datagrams.reuse(bytes);
                return Ok(());
            };
            let (length, most) = (bytes.len(), self.most);
            if !(1..=most).contains(&length) {
                return Err(format!(
                    "poll_transmit gave a datagram of {length} bytes, where 1 to {most} are possible"
                ));
            }
            if self.leaving.len() >= MAX_BURST {
                return Err(format!(
                    "poll_transmit gave {MAX_BURST} datagrams at one time, and still does"
                ));
            }
            self.leaving.push(Leaving {
                number: self.datagrams.next(),
                size: length as u32 + self.header,
                flags: flags(ecn),
            });
            self.datagrams.kept.push_back(Some((ecn, bytes)));
        }
    }
}
