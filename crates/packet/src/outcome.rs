//! Measurements of a run. Times in seconds, rates in bit/s, windows in packets; NaN where a
//! quantity has no value.

/// Results of one run.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Start and end of the measurement window, s.
    pub window: (f64, f64),
    /// When the run ended, s.
    pub end: f64,
    /// One entry a link, in scenario order.
    pub links: Vec<LinkOutcome>,
    /// One entry a class of flows, in scenario order.
    pub classes: Vec<ClassOutcome>,
    /// One entry a flow; those of a class are contiguous and in scenario order.
    pub flows: Vec<FlowOutcome>,
    /// New payload of each flow in each of [`TraceSelection::parts`](crate::TraceSelection::parts),
    /// flow by flow, bytes.
    pub parts: Vec<u64>,
    /// Transfers of sessions and of connections that come and go, by class and size.
    pub transfers: Vec<TransferOutcome>,
    /// Sampled over time, if asked for.
    pub traces: Traces,
    /// Remarks for the user on how this result came about (approximations, censored transfers).
    pub notes: Vec<String>,
    /// Events that the engine processed.
    pub events: u64,
    /// Packets that began transmission, summed over all links, in the whole run.
    pub departures: u64,
}

/// One link inside the measurement window (the ledger: the whole run).
#[derive(Clone, Debug, Default)]
pub struct LinkOutcome {
    /// Name in the scenario.
    pub name: String,
    /// Fraction of the window in which the link transmitted.
    pub utilization: f64,
    /// The same for each whole second of the window, in order.
    pub utilization_1s: Vec<f64>,
    /// Packets that arrived at the queue.
    pub arrivals: u64,
    /// Bytes that arrived at the queue.
    pub arrived_bytes: u64,
    /// Packets dropped, for whatever reason.
    pub drops: u64,
    /// Bytes dropped.
    pub dropped_bytes: u64,
    /// Packets dropped because the queue was full (part of `drops`).
    pub overflows: u64,
    /// Packets marked (ECN).
    pub marks: u64,
    /// Packets that the policer dropped, before the queue (not part of `drops`).
    pub policed: u64,
    /// Packets lost on the wire, after transmission (not part of `drops`).
    pub losses: u64,
    /// Packets that began transmission.
    pub packets: u64,
    /// Bytes of those.
    pub bytes: u64,
    /// Waiting packets, time average (the packet in service is not counted).
    pub queue_packets_mean: f64,
    /// Waiting packets, standard deviation over time.
    pub queue_packets_std: f64,
    /// Waiting packets: 50th, 95th, 99th percentile over time.
    pub queue_packets_percentiles: [u32; 3],
    /// Largest number of waiting packets.
    pub queue_packets_max: u32,
    /// Waiting bytes, time average.
    pub queue_bytes_mean: f64,
    /// Waiting bytes, standard deviation over time.
    pub queue_bytes_std: f64,
    /// Sojourn in the queue (arrival to start of transmission) of departing packets, s.
    pub delay_mean: f64,
    /// Sojourn: 50th, 95th, 99th percentile, s (within 1.6 %).
    pub delay_percentiles: [f64; 3],
    /// Largest sojourn, s.
    pub delay_max: f64,
    /// Sojourn histogram: upper edge of the bin (s) and packets in it; empty bins left out.
    pub delay_histogram: Vec<(f64, u64)>,
    /// Conservation over the whole run.
    pub ledger: Ledger,
    /// The account of each class of a queue that has some.
    pub classes: Vec<QueueAccount>,
}

/// A class with a queue of its own, inside the measurement window (the ledger: the whole run).
#[derive(Clone, Debug, Default)]
pub struct QueueAccount {
    /// Its name; of a tree in a tree, behind that of the class which holds it, and a dot.
    pub name: String,
    /// Packets that arrived.
    pub arrivals: u64,
    /// Packets that left to be sent.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Packets dropped.
    pub drops: u64,
    /// Time in the queue of departing packets, mean, s; NaN without any.
    pub delay_mean: f64,
    /// Time in the queue: 50th, 95th, 99th percentile, s (within 1.6 %).
    pub delay_percentiles: [f64; 3],
    /// Longest time in the queue, s.
    pub delay_max: f64,
    /// Conservation over the whole run.
    pub ledger: Ledger,
}

/// Packets of one class on their way, as its receivers see them inside the measurement window.
///
/// One-way delay: from a packet's sending by the source, before the source's access link, to its
/// arrival at the destination (RFC 7679). Of endless TCP flows one packet in sixteen is measured,
/// in pairs of neighbours, of all others every packet.
#[derive(Clone, Debug, Default)]
pub struct ClassOutcome {
    /// Data packets that arrived, retransmissions included.
    pub received: u64,
    /// Packets among them whose one-way delay was measured.
    pub measured: u64,
    /// One-way delay, mean, s; NaN where none was measured.
    pub delay_mean: f64,
    /// Smallest one-way delay, s.
    pub delay_min: f64,
    /// One-way delay: 50th, 95th, 99th percentile, s (within 0.8 %).
    pub delay_percentiles: [f64; 3],
    /// Largest one-way delay, s.
    pub delay_max: f64,
    /// Mean absolute difference in one-way delay of two packets of a flow that arrived one after
    /// the other, s: the quantity that RFC 3550's interarrival jitter averages. NaN without such
    /// pairs, and where connections follow one another in a flow.
    pub jitter: f64,
    /// Histogram of one-way delays: upper edge of the bin (s) and packets in it; empty bins left
    /// out.
    pub delay_histogram: Vec<(f64, u64)>,
}

/// Conservation of packets: each term is counted on its own, none is a difference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ledger {
    /// Packets put in.
    pub sent: u64,
    /// Packets that came out.
    pub delivered: u64,
    /// Packets dropped.
    pub dropped: u64,
    /// Packets that policers dropped or wires lost.
    pub lost: u64,
    /// Packets inside at the end of the run.
    pub in_flight: u64,
}

impl Ledger {
    /// sent = delivered + dropped + lost + in flight.
    #[must_use]
    pub fn balances(&self) -> bool {
        self.sent == self.delivered + self.dropped + self.lost + self.in_flight
    }
}

/// One flow inside the measurement window (the ledger and the transfer: the whole run).
#[derive(Clone, Debug, Default)]
pub struct FlowOutcome {
    /// Index of its class in the scenario.
    pub class: usize,
    /// Base round-trip time, s.
    pub rtt: f64,
    /// When it started, s; NaN if it never did.
    pub start: f64,
    /// New payload delivered to the receiver's application, bit/s.
    pub goodput: f64,
    /// Data packets sent, retransmissions included.
    pub sent: u64,
    /// Retransmissions among them.
    pub retransmissions: u64,
    /// Data packets that queues dropped, anywhere on the path.
    pub drops: u64,
    /// Data packets that policers dropped or wires lost.
    pub losses: u64,
    /// Data packets that a queue marked.
    pub marks: u64,
    /// Data packets that reached the receiver, retransmissions included.
    pub received: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Window reductions by duplicate or selective ACKs.
    pub fast_recoveries: u64,
    /// Window reductions by ECN.
    pub ecn_reductions: u64,
    /// Time-averaged congestion window, packets; NaN for UDP.
    pub cwnd_mean: f64,
    /// Mean of the round-trip samples, s; NaN without samples.
    pub rtt_mean: f64,
    /// Completion time of a finite transfer, s: first packet (or SYN) sent to last byte
    /// acknowledged; NaN if not finished or not finite.
    pub completion: f64,
    /// Conservation of data packets over the whole run.
    pub ledger: Ledger,
}

/// Transfers of a class that began inside the measurement window: all sizes, or sizes within
/// limits.
#[derive(Clone, Debug, Default)]
pub struct TransferOutcome {
    /// Index of the class in the scenario.
    pub class: usize,
    /// Smallest size counted here, bytes; zero with an infinite `size_to`: all sizes.
    pub size_from: f64,
    /// First size above, bytes.
    pub size_to: f64,
    /// Transfers that began.
    pub started: u64,
    /// Transfers among them that were completed before the end of the run.
    pub completed: u64,
    /// Transfers among them that were not completed: their completion times are not known.
    pub censored: u64,
    /// Mean size of those that began, bytes of payload; NaN if none did.
    pub size_mean: f64,
    /// Completion time, s: first packet (or SYN, or request over an open connection) to last byte
    /// acknowledged.
    pub fct_mean: f64,
    /// Completion time: 50th, 95th, 99th percentile, s (within 1.6 %).
    pub fct_percentiles: [f64; 3],
    /// Longest completion time, s.
    pub fct_max: f64,
    /// Histogram of completion times: upper edge of the bin (s) and transfers in it; empty bins
    /// left out.
    pub fct_histogram: Vec<(f64, u64)>,
}

/// Values sampled every `interval`; sample `k` is taken at `k * interval`.
#[derive(Clone, Debug, Default)]
pub struct Traces {
    /// Sampling interval, s; 0 without traces.
    pub interval: f64,
    /// Sample times, s.
    pub time: Vec<f64>,
    /// One entry a traced link.
    pub links: Vec<LinkTrace>,
    /// One entry a traced flow.
    pub flows: Vec<FlowTrace>,
}

/// A link over time; every vector has one value a sample.
#[derive(Clone, Debug, Default)]
pub struct LinkTrace {
    /// Index in the scenario.
    pub link: usize,
    /// Waiting packets.
    pub queue_packets: Vec<u32>,
    /// Waiting bytes.
    pub queue_bytes: Vec<u64>,
    /// The AQM's own average of the queue, packets; NaN if it keeps none.
    pub average_packets: Vec<f64>,
    /// The AQM's probability; NaN if it has none.
    pub probability: Vec<f64>,
    /// Fraction of the time since the last sample in which the link transmitted.
    pub utilization: Vec<f64>,
    /// Packets dropped since the start, by the queue or by a policer before it.
    pub drops: Vec<u64>,
    /// Packets marked since the start.
    pub marks: Vec<u64>,
}

/// A TCP flow over time; every vector has one value a sample. NaN before its start.
#[derive(Clone, Debug, Default)]
pub struct FlowTrace {
    /// Index of the flow in [`Outcome::flows`].
    pub flow: usize,
    /// Congestion window, packets.
    pub cwnd: Vec<f64>,
    /// Slow-start threshold, packets (infinite until the first reduction).
    pub ssthresh: Vec<f64>,
    /// Smoothed round-trip time, s.
    pub srtt: Vec<f64>,
    /// Packets delivered in order to the receiver since the start.
    pub delivered: Vec<u64>,
}

/// The first `count` values; the others stay.
fn split<T>(values: &mut Vec<T>, count: usize) -> Vec<T> {
    let rest = values.split_off(count);
    std::mem::replace(values, rest)
}

impl LinkTrace {
    /// Bytes of one sample.
    pub(crate) const SAMPLE_BYTES: usize = 4 + 6 * 8;

    /// The first `count` samples; the others stay.
    pub(crate) fn take(&mut self, count: usize) -> Self {
        Self {
            link: self.link,
            queue_packets: split(&mut self.queue_packets, count),
            queue_bytes: split(&mut self.queue_bytes, count),
            average_packets: split(&mut self.average_packets, count),
            probability: split(&mut self.probability, count),
            utilization: split(&mut self.utilization, count),
            drops: split(&mut self.drops, count),
            marks: split(&mut self.marks, count),
        }
    }
}

impl FlowTrace {
    /// Bytes of one sample.
    pub(crate) const SAMPLE_BYTES: usize = 4 * 8;

    /// The first `count` samples; the others stay.
    pub(crate) fn take(&mut self, count: usize) -> Self {
        Self {
            flow: self.flow,
            cwnd: split(&mut self.cwnd, count),
            ssthresh: split(&mut self.ssthresh, count),
            srtt: split(&mut self.srtt, count),
            delivered: split(&mut self.delivered, count),
        }
    }
}
