//! The congestion controllers of s2n-quic-core, unmodified, in a small transport of this adapter.
//!
//! s2n-quic's connection opens its own sockets and cannot be polled from outside, but its
//! controllers, its RTT estimator and its loss detector are public. They are called here as its
//! recovery manager calls them: packets with numbers, an ACK for every second one (or after 25 ms)
//! that names all that has arrived, loss by RFC 9002's thresholds, a probe timeout, persistent
//! congestion. Options: `cubic` (the default) or `bbr` (its BBRv2).

use std::collections::BTreeMap;
use std::time::Duration;

use ackclock_endpoint::{Ecn, Endpoint, EndpointFactory, Ends, Setup, Status, export_endpoints};
use s2n_quic_core::event::builder::{BbrState, SlowStartExitCause};
use s2n_quic_core::packet::number::PacketNumberSpace;
use s2n_quic_core::random::Generator;
use s2n_quic_core::recovery::bandwidth::{Bandwidth, RateSample};
use s2n_quic_core::recovery::bbr::BbrCongestionController;
use s2n_quic_core::recovery::congestion_controller::Publisher;
use s2n_quic_core::recovery::loss::{Outcome, detect};
use s2n_quic_core::recovery::{CongestionController, CubicCongestionController, RttEstimator};
use s2n_quic_core::time::{Clock, NoopClock, Timestamp};
use s2n_quic_core::varint::VarInt;

/// Bytes of header and tag of a datagram.
const OVERHEAD: usize = 30;
/// RFC 9002, section 6.1.1.
const PACKET_THRESHOLD: u64 = 3;
/// Ranges that an ACK holds at most: the default of s2n-quic-core's `ack::Settings`.
const ACK_RANGES: usize = 10;
const MAX_ACK_DELAY: Duration = Duration::from_millis(25);

/// Connections with controllers of s2n-quic-core.
#[derive(Clone, Copy, Debug, Default)]
pub struct S2n;

export_endpoints!(S2n);

impl EndpointFactory for S2n {
    fn name(&self) -> &str {
        "s2n"
    }

    fn header(&self) -> u32 {
        28
    }

    fn connect(&self, setup: &Setup) -> Result<Ends, String> {
        let size = setup.max_datagram;
        if !(1200..=9000).contains(&size) {
            return Err("datagrams of 1200 to 9000 bytes are possible".to_owned());
        }
        let receiver = Box::new(Receiver::default());
        let mtu = size as u16;
        match setup.options.as_str() {
            "" | "cubic" => {
                let control = CubicCongestionController::new(mtu, Default::default());
                Ok([Box::new(Sender::new(control, setup)), receiver])
            }
            "bbr" => {
                let control = BbrCongestionController::new(mtu, Default::default());
                Ok([Box::new(Sender::new(control, setup)), receiver])
            }
            other => Err(format!("options are \"cubic\" or \"bbr\", not {other:?}")),
        }
    }
}

/// Nobody listens to the controllers' events.
struct Silent;

impl Publisher for Silent {
    fn on_slow_start_exited(&mut self, _: SlowStartExitCause, _: u32) {}
    fn on_delivery_rate_sampled(&mut self, _: RateSample) {}
    fn on_pacing_rate_updated(&mut self, _: Bandwidth, _: u32, _: num_rational::Ratio<u64>) {}
    fn on_bbr_state_changed(&mut self, _: BbrState) {}
}

/// Random numbers from a seed (SplitMix64).
struct Seeded(u64);

impl Generator for Seeded {
    fn public_random_fill(&mut self, dest: &mut [u8]) {
        for byte in dest {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            *byte = (mixed >> 56) as u8;
        }
    }

    fn private_random_fill(&mut self, dest: &mut [u8]) {
        self.public_random_fill(dest);
    }
}

struct Record<P> {
    sent: Timestamp,
    bytes: usize,
    info: P,
    /// Offset and length of its data.
    data: (u64, usize),
}

struct Sender<C: CongestionController> {
    control: C,
    rtt: RttEstimator,
    random: Seeded,
    size: usize,
    base: Timestamp,
    now: Timestamp,
    next: u64,
    written: u64,
    offset: u64,
    /// Data to send again.
    again: Vec<(u64, usize)>,
    open: BTreeMap<u64, Record<C::PacketInfo>>,
    /// Data that has been acknowledged: first, one past the last.
    acked: BTreeMap<u64, u64>,
    largest: Option<u64>,
    loss_at: Option<Timestamp>,
    last_sent: Timestamp,
    pto_count: u32,
    probes: u32,
    lost: u64,
    events: u64,
    timeouts: u64,
    marks: u64,
    ecn: bool,
}

impl<C: CongestionController> Sender<C> {
    fn new(control: C, setup: &Setup) -> Self {
        let base = NoopClock.get_time();
        Self {
            control,
            rtt: RttEstimator::default(),
            random: Seeded(setup.seed),
            size: setup.max_datagram,
            base,
            now: base,
            next: 0,
            written: 0,
            offset: 0,
            again: Vec::new(),
            open: BTreeMap::new(),
            acked: BTreeMap::new(),
            largest: None,
            loss_at: None,
            last_sent: base,
            pto_count: 0,
            probes: 0,
            lost: 0,
            events: 0,
            timeouts: 0,
            marks: 0,
            ecn: setup.ecn,
        }
    }

    fn at(&mut self, now: Duration) {
        self.now = self.base + now;
    }

    fn since_base(&self, time: Timestamp) -> Duration {
        time.saturating_duration_since(self.base)
    }

    /// Finds losses (RFC 9002, section 6.1).
    fn detect(&mut self) {
        let Some(largest) = self.largest else { return };
        self.loss_at = None;
        let space = PacketNumberSpace::ApplicationData;
        let number = |value: u64| space.new_packet_number(VarInt::new(value).expect("small"));
        let threshold = self.rtt.loss_time_threshold();
        let mut lost = Vec::new();
        for (&packet, record) in self.open.range(..largest) {
            let (packet_number, largest) = (number(packet), number(largest));
            match detect(
                threshold,
                record.sent,
                PACKET_THRESHOLD,
                packet_number,
                largest,
                self.now,
            ) {
                Outcome::Lost => lost.push(packet),
                Outcome::NotLostYet { lost_time } => {
                    self.loss_at = Some(lost_time);
                    break;
                }
            }
        }
        let is_persistent = self.is_persistent(&lost);
        let mut before = None;
        let window = self.control.congestion_window();
        for packet in lost {
            let record = self.open.remove(&packet).expect("it was there");
            let burst = before != Some(packet.wrapping_sub(1));
            before = Some(packet);
            self.lost += 1;
            if !self.has_arrived(record.data) {
                self.again.push(record.data);
            }
            self.control.on_packet_lost(
                record.bytes as u32,
                record.info,
                is_persistent,
                burst,
                &mut self.random,
                self.now,
                &mut Silent,
            );
        }
        if is_persistent {
            self.rtt.on_persistent_congestion();
        }
        self.events += u64::from(self.control.congestion_window() < window);
    }

    /// Whether data has been acknowledged, be it of another packet.
    fn has_arrived(&self, (offset, length): (u64, usize)) -> bool {
        let before = self.acked.range(..=offset).next_back();
        before.is_some_and(|(_, to)| offset + length as u64 <= *to)
    }

    /// Whether packets in a row were lost for so long that it is persistent congestion (RFC 9002,
    /// section 7.6).
    fn is_persistent(&self, lost: &[u64]) -> bool {
        let Some(first) = self.rtt.first_rtt_sample() else {
            return false;
        };
        let (mut longest, mut run) = (Duration::ZERO, None::<(u64, Timestamp)>);
        for &packet in lost {
            let sent = self.open[&packet].sent;
            if sent < first {
                continue;
            }
            let begin = run
                .filter(|(last, _)| last + 1 == packet)
                .map_or(sent, |(_, begin)| begin);
            longest = longest.max(sent.saturating_duration_since(begin));
            run = Some((packet, begin));
        }
        longest > self.rtt.persistent_congestion_threshold()
    }

    fn pto(&self) -> Option<Timestamp> {
        (!self.open.is_empty()).then(|| {
            let period = self.rtt.pto_period(
                1 << self.pto_count.min(16),
                PacketNumberSpace::ApplicationData,
            );
            self.last_sent + period
        })
    }
}

impl<C: CongestionController> Endpoint for Sender<C> {
    fn poll_transmit(&mut self, now: Duration, datagram: &mut Vec<u8>) -> Option<Ecn> {
        self.at(now);
        let most = self.size - OVERHEAD;
        if self.again.is_empty() && self.offset >= self.written {
            return None;
        }
        if self.probes > 0 {
            self.probes -= 1;
        } else {
            if self.control.is_congestion_limited() && !self.control.requires_fast_retransmission()
            {
                return None;
            }
            if let Some(departure) = self.control.earliest_departure_time()
                && !departure.has_elapsed(self.now)
            {
                return None;
            }
        }
        let data = self.again.pop().unwrap_or_else(|| {
            let length = (self.written - self.offset).min(most as u64) as usize;
            let data = (self.offset, length);
            self.offset += length as u64;
            data
        });
        let (number, bytes) = (self.next, data.1 + OVERHEAD);
        self.next += 1;
        datagram.extend_from_slice(&number.to_be_bytes());
        datagram.extend_from_slice(&data.0.to_be_bytes());
        datagram.resize(bytes, 0);
        let app_limited = self.offset >= self.written && self.again.is_empty();
        let info =
            self.control
                .on_packet_sent(self.now, bytes, Some(app_limited), &self.rtt, &mut Silent);
        let record = Record {
            sent: self.now,
            bytes,
            info,
            data,
        };
        self.open.insert(number, record);
        self.last_sent = self.now;
        Some(if self.ecn { Ecn::Ect0 } else { Ecn::NotEct })
    }

    /// An ACK: its delay (microseconds), marks so far, how many ranges of numbers, and these from
    /// the newest on, each by its distance from the last one and its length.
    fn handle_datagram(&mut self, now: Duration, datagram: &[u8], _ecn: Ecn) {
        self.at(now);
        let mut fields = datagram;
        let (delay, marks, count) = (take(&mut fields), take(&mut fields), take(&mut fields));
        let (mut acked, mut newest) = (0, None::<(u64, Record<C::PacketInfo>)>);
        let mut last = take(&mut fields);
        for _ in 0..count {
            let to = last - take(&mut fields);
            let from = to - take(&mut fields);
            last = from;
            while let Some((&number, _)) = self.open.range(from..to).next_back() {
                let record = self.open.remove(&number).expect("it was there");
                acked += record.bytes;
                let (offset, length) = record.data;
                add(&mut self.acked, offset, offset + length as u64);
                if newest.as_ref().is_none_or(|(newest, _)| *newest < number) {
                    newest = Some((number, record));
                }
            }
        }
        let Some((number, record)) = newest else {
            return;
        };
        if self.largest.is_none_or(|largest| largest < number) {
            self.largest = Some(number);
            self.rtt.update_rtt(
                Duration::from_micros(delay),
                self.now.saturating_duration_since(record.sent),
                self.now,
                true,
                PacketNumberSpace::ApplicationData,
            );
            self.control
                .on_rtt_update(record.sent, self.now, &self.rtt, &mut Silent);
        }
        if marks > self.marks {
            let new = marks - self.marks;
            self.marks = marks;
            self.control
                .on_explicit_congestion(new, self.now, &mut Silent);
        }
        let again = std::mem::take(&mut self.again);
        self.again = again
            .into_iter()
            .filter(|data| !self.has_arrived(*data))
            .collect();
        self.pto_count = 0;
        self.detect();
        self.control.on_ack(
            record.sent,
            acked,
            record.info,
            &self.rtt,
            &mut self.random,
            self.now,
            &mut Silent,
        );
    }

    fn next_timeout(&mut self) -> Option<Duration> {
        let timer = self.loss_at.or_else(|| self.pto());
        let waits = !self.control.is_congestion_limited()
            && (!self.again.is_empty() || self.offset < self.written);
        let departure = self
            .control
            .earliest_departure_time()
            .filter(|time| waits && !time.has_elapsed(self.now));
        let due = [timer, departure].into_iter().flatten().min()?;
        // its timestamps are whole microseconds, of which one that has begun counts as past
        Some(
            self.since_base(due)
                .max(self.since_base(self.now) + Duration::from_nanos(1)),
        )
    }

    fn handle_timeout(&mut self, now: Duration) {
        self.at(now);
        if let Some(at) = self.loss_at {
            if at.has_elapsed(self.now) {
                self.detect();
            }
        } else if self.pto().is_some_and(|at| at.has_elapsed(self.now)) {
            self.pto_count += 1;
            self.timeouts += 1;
            self.probes = 2;
            if let Some((_, record)) = self.open.first_key_value() {
                self.again.push(record.data);
            }
        }
    }

    fn application(&mut self, _now: Duration, written: u64) -> u64 {
        self.written = written;
        0
    }

    fn status(&self) -> Status {
        Status {
            cwnd: Some(u64::from(self.control.congestion_window())),
            srtt: Some(self.rtt.smoothed_rtt()),
            lost: self.lost,
            congestion_events: self.events,
            ecn_events: self.marks,
            timeouts: self.timeouts,
            ..Status::default()
        }
    }
}

/// Acknowledges every second datagram, one out of order or marked at once.
#[derive(Default)]
struct Receiver {
    /// Ranges of numbers that have arrived: first, one past the last.
    ranges: BTreeMap<u64, u64>,
    /// Data that has arrived, likewise.
    data: BTreeMap<u64, u64>,
    total: u64,
    marks: u64,
    pending: u32,
    due: Option<Duration>,
    newest: Duration,
}

/// Writes an integer of variable length (RFC 9000, section 16).
fn put(datagram: &mut Vec<u8>, value: u64) {
    let (length, prefix) = match value {
        0..=0x3f => (1, 0),
        0x40..=0x3fff => (2, 1),
        0x4000..=0x3fff_ffff => (4, 2),
        _ => (8, 3),
    };
    let bytes = (value | (prefix << (8 * length - 2))).to_be_bytes();
    datagram.extend_from_slice(&bytes[8 - length..]);
}

/// Reads one.
fn take(datagram: &mut &[u8]) -> u64 {
    let (bytes, rest) = datagram.split_at(1 << (datagram[0] >> 6));
    *datagram = rest;
    let first = u64::from(bytes[0] & 0x3f);
    let more = bytes[1..].iter();
    more.fold(first, |value, byte| value << 8 | u64::from(*byte))
}

/// Adds a range; returns how much of it is new.
fn add(ranges: &mut BTreeMap<u64, u64>, mut from: u64, mut to: u64) -> u64 {
    let mut new = to - from;
    while let Some((&start, &end)) = ranges.range(..=to).next_back()
        && end >= from
    {
        new -= end.min(to).saturating_sub(start.max(from)).min(new);
        (from, to) = (from.min(start), to.max(end));
        ranges.remove(&start);
    }
    ranges.insert(from, to);
    new
}

impl Endpoint for Receiver {
    fn poll_transmit(&mut self, now: Duration, datagram: &mut Vec<u8>) -> Option<Ecn> {
        if self.pending < 2 && self.due.is_none_or(|due| now < due) {
            return None;
        }
        (self.pending, self.due) = (0, None);
        let delay = (now - self.newest).as_micros() as u64;
        let mut last = self.ranges.last_key_value().map_or(0, |(_, to)| *to);
        for field in [delay, self.marks, self.ranges.len() as u64, last] {
            put(datagram, field);
        }
        for (from, to) in self.ranges.iter().rev() {
            put(datagram, last - to);
            put(datagram, to - from);
            last = *from;
        }
        datagram.resize(datagram.len() + OVERHEAD, 0);
        Some(Ecn::NotEct)
    }

    fn handle_datagram(&mut self, now: Duration, datagram: &[u8], ecn: Ecn) {
        let field = |at: usize| {
            let bytes = datagram[at..at + 8].try_into();
            u64::from_be_bytes(bytes.expect("eight bytes"))
        };
        let (number, offset) = (field(0), field(8));
        let expected = self.ranges.last_key_value().map_or(0, |(_, to)| *to);
        add(&mut self.ranges, number, number + 1);
        while self.ranges.len() > ACK_RANGES {
            self.ranges.pop_first();
        }
        let length = (datagram.len() - OVERHEAD) as u64;
        self.total += add(&mut self.data, offset, offset + length);
        self.newest = now;
        self.pending += 1;
        if ecn == Ecn::Ce {
            self.marks += 1;
        }
        if number != expected || ecn == Ecn::Ce {
            self.pending = 2;
        }
        self.due = self.due.or(Some(now + MAX_ACK_DELAY));
    }

    fn next_timeout(&mut self) -> Option<Duration> {
        self.due
    }

    fn handle_timeout(&mut self, _now: Duration) {}

    fn application(&mut self, _now: Duration, _written: u64) -> u64 {
        self.total
    }

    fn status(&self) -> Status {
        Status::default()
    }
}
