//! Active queue management: what a queue does to an arriving or departing packet.

use crate::{Stream, Time};

/// What an AQM may know of a packet, as a router would.
#[derive(Clone, Copy, Debug)]
pub struct PacketView {
    /// Size on the wire, bytes.
    pub size: u32,
    /// The flow's identity (5-tuple).
    pub flow: u32,
    /// ECN-capable transport (RFC 3168): the queue may mark it instead of dropping.
    pub ecn_capable: bool,
    /// TCP SYN (or SYN-ACK).
    pub syn: bool,
}

/// The queue as an arriving or departing packet finds it. The packet in service is not counted.
#[derive(Clone, Copy, Debug)]
pub struct QueueView {
    /// Packets waiting.
    pub packets: u32,
    /// Bytes waiting.
    pub bytes: u64,
    /// Whether the arriving packet would exceed the queue's capacity. The link drops it in any case, whatever the AQM answers.
    pub full: bool,
    /// Since when the link has had nothing to send; `None` while it transmits.
    pub idle_since: Option<Time>,
    /// The link's rate now, bit/s.
    pub rate: f64,
}

/// What to do with a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Keep it as it is.
    Accept,
    /// Keep it and set Congestion Experienced. Only for an ECN-capable packet.
    Mark,
    /// Discard it.
    Drop,
}

/// An AQM's inner state, for traces.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Observation {
    /// Its average of the queue, packets, if it keeps one.
    pub average_packets: Option<f64>,
    /// Its dropping or marking probability, if it has one.
    pub probability: Option<f64>,
    /// Its adapted parameter (ARED's max_p), if it has one.
    pub adapted: Option<f64>,
}

/// What a queue does to packets. Pure: time, queue and random numbers are passed in.
pub trait Aqm {
    /// True when packets are judged as they leave ([`Aqm::dequeue`]), so that departures cannot be known at arrival.
    fn decides_at_dequeue(&self) -> bool {
        false
    }

    /// A packet arrives. Packets whose service begins at this very moment have left the queue already.
    fn enqueue(&mut self, now: Time, packet: &PacketView, queue: &QueueView, random: &mut Stream) -> Verdict;

    /// A packet is taken out of the queue to be sent, after `sojourn` in it; `queue` no longer holds it. Called only with
    /// [`Aqm::decides_at_dequeue`].
    fn dequeue(&mut self, _now: Time, _sojourn: Time, _packet: &PacketView, _queue: &QueueView, _random: &mut Stream) -> Verdict {
        Verdict::Accept
    }

    /// When [`Aqm::on_timer`] wants to run next; asked at the start and after each run of it.
    fn next_timer(&self) -> Option<Time> {
        None
    }

    /// The time asked for by [`Aqm::next_timer`] has come. It runs before packets that arrive at the same moment.
    fn on_timer(&mut self, _now: Time, _queue: &QueueView, _random: &mut Stream) {}

    /// The link's rate has changed (bit/s).
    fn on_link_change(&mut self, _now: Time, _rate: f64) {}

    /// Inner state for traces.
    fn observe(&self) -> Observation {
        Observation::default()
    }
}

/// What an AQM may know of its link when it is set up.
#[derive(Clone, Copy, Debug)]
pub struct LinkView {
    /// Rate, bit/s.
    pub rate: f64,
    /// Propagation delay, seconds.
    pub delay: f64,
    /// Capacity of the queue in packets (bytes over the mean packet where it is set in bytes); infinite without a limit.
    pub capacity_packets: f64,
}
