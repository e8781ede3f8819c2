//! The measurements of a run. Times in seconds, queues and windows in packets, rates in packets/s; NaN
//! where a quantity has no value.

/// Results of one run.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Start and end of the measurement window, s.
    pub window: (f64, f64),
    /// When the run ended, s.
    pub end: f64,
    /// The bottleneck inside the measurement window.
    pub link: LinkSummary,
    /// One entry a class.
    pub classes: Vec<ClassSummary>,
    /// Sampled over time, if asked for.
    pub traces: Traces,
    /// Densities over time, if asked for.
    pub snapshots: Vec<Snapshot>,
    /// The balances that were checked.
    pub balance: Balance,
    /// Caveats about how this result came about.
    pub notes: Vec<String>,
    /// Steps that the engine took.
    pub steps: u64,
}

/// The bottleneck inside the measurement window.
#[derive(Clone, Copy, Debug, Default)]
pub struct LinkSummary {
    /// Packets sent over those that could have been.
    pub utilization: f64,
    /// Packets dropped over packets that arrived.
    pub loss: f64,
    /// Packets marked over packets that arrived.
    pub marks: f64,
    /// Packets dropped, marked or lost on the wire over packets that arrived: what windows meet.
    pub signals: f64,
    /// Packets sent per second.
    pub throughput: f64,
    /// Waiting packets: time average.
    pub queue_mean: f64,
    /// Standard deviation over time.
    pub queue_std: f64,
    /// Smallest value.
    pub queue_min: f64,
    /// Largest value.
    pub queue_max: f64,
    /// Queueing delay, s: time average of what an arriving packet would wait.
    pub delay_mean: f64,
    /// Fraction of time in which the queue is full.
    pub full: f64,
    /// Fraction of time in which the queue is empty.
    pub empty: f64,
}

/// A class inside the measurement window.
#[derive(Clone, Debug, Default)]
pub struct ClassSummary {
    /// Its name.
    pub name: String,
    /// Index of the class of the scenario that it represents or is a part of.
    pub origin: usize,
    /// Base round-trip time at the end, s.
    pub rtt: f64,
    /// Active flows: time average.
    pub flows: f64,
    /// Mean window of active flows: time average, packets.
    pub window_mean: f64,
    /// Fraction of flows at the largest window: time average.
    pub atom: f64,
    /// Packets that arrived at the queue, per second and flow.
    pub arrivals: f64,
    /// Packets accepted by the queue (all but drops), per second and flow.
    pub throughput: f64,
}

/// Values sampled over time: the state at that time, and means since the sample before.
#[derive(Clone, Debug, Default)]
pub struct Traces {
    /// Sample times, s.
    pub time: Vec<f64>,
    /// Waiting packets.
    pub queue: Vec<f64>,
    /// Fraction of the capacity used since the last sample.
    pub utilization: Vec<f64>,
    /// Fraction of the arrivals dropped or marked since the last sample; NaN without arrivals.
    pub signals: Vec<f64>,
    /// One entry a class.
    pub classes: Vec<ClassTrace>,
}

/// A class over time; every vector has one value a sample.
#[derive(Clone, Debug, Default)]
pub struct ClassTrace {
    /// Active flows.
    pub flows: Vec<f64>,
    /// Mean window of active flows, packets; NaN without any.
    pub window_mean: Vec<f64>,
    /// Fraction of active flows at the largest window; NaN without any.
    pub atom: Vec<f64>,
}

/// The distribution of the windows of a class at one time.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// When, s.
    pub time: f64,
    /// Index of the class.
    pub class: usize,
    /// Largest window, packets: bins of equal width reach from zero to it.
    pub w_max: f64,
    /// Density in each bin, 1/packet, of one flow.
    pub density: Vec<f64>,
    /// Probability of the largest window.
    pub atom: f64,
}

/// How far the quantities that must be conserved were off, at worst over the run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Balance {
    /// Flows in the distribution against flows started and not stopped, relative, at each check.
    pub mass: f64,
    /// Sum of these differences over the run: the rounding that was put right.
    pub rounding: f64,
    /// Packets that arrived against those dropped, sent and waiting, relative to those that
    /// arrived.
    pub packets: f64,
    /// Packets in flight counted one by one in the delay line against the sum of the windows,
    /// relative.
    pub in_flight: f64,
    /// Largest debt, packets: windows had shrunk to less than was in flight, so that nothing could
    /// be sent until that many had returned.
    pub debt: f64,
    /// Steps with a debt.
    pub debt_steps: u64,
    /// Packets that came back after their flow had stopped.
    pub abandoned: f64,
}
