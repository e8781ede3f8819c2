//! Traces while they are recorded.

use ackclock_algorithms::Time;

use crate::outcome::{FlowTrace, LinkTrace, Traces};

/// Recording of traces.
#[derive(Default)]
pub(crate) struct Recorder {
    pub(crate) interval: u64,
    /// Bytes of samples that may be held.
    pub(crate) most_bytes: Option<u64>,
    /// Samples that have been given away.
    pub(crate) taken: u64,
    pub(crate) links: Vec<LinkTrace>,
    /// Idle time of each traced link at its last sample.
    pub(crate) idle: Vec<u64>,
    pub(crate) flows: Vec<FlowTrace>,
    /// Position of a flow in `flows`, by flow; empty without flow traces.
    pub(crate) position: Vec<u32>,
}

impl Recorder {
    /// Samples of which every link and flow has its part.
    fn complete(&self) -> usize {
        let links = self.links.iter().map(|trace| trace.queue_packets.len());
        let flows = self.flows.iter().map(|trace| trace.cwnd.len());
        links.chain(flows).min().unwrap_or(0)
    }

    /// Bytes of one sample of every link and flow.
    fn row(&self) -> usize {
        LinkTrace::SAMPLE_BYTES * self.links.len() + FlowTrace::SAMPLE_BYTES * self.flows.len()
    }

    /// Bytes of the samples held, if they are more than may be.
    pub(crate) fn excess(&self) -> Option<u64> {
        let held = (self.complete() * self.row()) as u64;
        self.most_bytes
            .and_then(|most| (held > most).then_some(held))
    }

    /// The complete samples, if they are at least `bytes` bytes.
    pub(crate) fn take(&mut self, bytes: usize) -> Option<Traces> {
        let count = self.complete();
        if count == 0 || count * self.row() < bytes {
            return None;
        }
        let links = self.links.iter_mut().map(|trace| trace.take(count));
        let flows = self.flows.iter_mut().map(|trace| trace.take(count));
        let (links, flows) = (links.collect(), flows.collect());
        let traces = self.timed(links, flows, count);
        self.taken += count as u64;
        Some(traces)
    }

    /// Traces with their times, of which the first is that of the first sample not given away.
    fn timed(&self, links: Vec<LinkTrace>, flows: Vec<FlowTrace>, count: usize) -> Traces {
        let samples = self.taken..self.taken + count as u64;
        Traces {
            interval: Time(self.interval).seconds(),
            time: samples.map(|k| Time(k * self.interval).seconds()).collect(),
            links,
            flows,
        }
    }

    /// Returns the samples that have not been taken.
    pub(crate) fn rest(mut self) -> Traces {
        let links = std::mem::take(&mut self.links);
        let flows = std::mem::take(&mut self.flows);
        let count = links
            .first()
            .map(|trace| trace.queue_packets.len())
            .or_else(|| flows.first().map(|trace| trace.cwnd.len()))
            .unwrap_or(0);
        self.timed(links, flows, count)
    }
}
