//! Estimate of the memory that a run needs.

use ackclock_algorithms::scheduler::{Scheduler as _, SchedulerSpec, SchedulerView};
use ackclock_scenario::{Capacity, End, FlowClass, Scenario, Traffic, Tree, TreeClass};

use crate::packet::{Outbound, Packet};
use crate::{FlowSelection, Options, Simulation};
use crate::{flow, link, setup, tcp};

/// Segments of each flow that wait or are on their way, whatever its window.
const IN_FLIGHT: u64 = 64;

/// Bytes of a packet of a burst that waits: it and its time, and half as much while the ring grows.
const WAITING_BYTES: u64 = size_of::<(u64, Packet)>() as u64 * 3 / 2;

impl Simulation {
    /// A rough estimate of the memory that a run will need, in bytes: flows with their initial
    /// windows, or 64 segments each, in flight, full queues and traces. It is no bound: flows whose
    /// windows grow to more need more.
    #[must_use]
    pub fn memory_estimate(scenario: &Scenario, options: &Options) -> u64 {
        let mut bytes = 0_u64;
        let samples = match scenario.duration {
            End::At(end) => end.0 / setup::sample_interval(scenario) + 1,
            End::UntilDone => 100_000,
        };
        // of traces taken in pieces few samples are held
        let samples = if options.traces.streamed {
            samples.min(10_000)
        } else {
            samples
        };
        // of initial windows, at the link that they reach first: packets, and the smallest's bytes
        let mut bursts = vec![(0_u64, u32::MAX); scenario.links.len()];
        for (id, class) in scenario.flows.iter().enumerate() {
            let count = u64::from(scenario.max_count(id));
            // connections last for a second or two and rest for one
            let open = match class.traffic {
                Traffic::Arrivals { rate, .. } | Traffic::PackMime { rate, .. } => {
                    (3.0 * rate).min(1e9) as u64
                }
                _ => 0,
            };
            let flows = count.saturating_mul(1 + open);
            let burst = burst(class);
            let flow = size_of::<flow::Flow>() as u64 + 64 * IN_FLIGHT + of_burst(class, burst);
            // each row's, and then the table's
            let flow = flow + 16 * u64::from(options.traces.parts);
            bytes = bytes.saturating_add(flows.saturating_mul(flow));
            if class.access_rate.is_none() {
                let (packets, size) = &mut bursts[class.path[0]];
                *packets = packets.saturating_add(flows.saturating_mul(burst));
                *size = class.packet_size.min(*size);
            }
            let traced = match &options.traces.flows {
                FlowSelection::None => 0,
                FlowSelection::All => count,
                FlowSelection::PerClass(n) => count.min(u64::from(*n)),
                FlowSelection::List(list) => list.len() as u64,
            };
            bytes = bytes.saturating_add(traced.saturating_mul(samples).saturating_mul(32));
        }
        let flows = scenario.flows.iter().enumerate();
        let flows: Vec<Share<'_>> = flows
            .map(|(id, class)| (class, scenario.max_count(id)))
            .collect();
        for (link, (packets, size)) in scenario.links.iter().zip(bursts) {
            let (capacity, tree) = (link.capacity, link.tree.as_deref());
            let waiting = room(capacity, tree, 64.0, link.rate, &|rate| rate / 512.0);
            let waiting = (waiting.min(1e12) as u64).min(1 << 40) * 24;
            let most = room(capacity, tree, f64::from(size), link.rate, &|_| {
                f64::INFINITY
            });
            let burst = packets.min(most as u64);
            bytes = bytes.saturating_add(waiting.max(places(burst) * WAITING_BYTES));
            let held = of_queues(link.scheduler.as_ref(), tree, link.rate, &flows);
            bytes = bytes.saturating_add(held);
            if options.traces.links {
                bytes = bytes.saturating_add(samples.saturating_mul(64));
            }
        }
        bytes
    }
}

/// Packets of `size` bytes for which a queue has room, at a rate and no more than `limit` says of
/// that rate: of one with classes, those of its leaves.
fn room(
    capacity: Capacity,
    tree: Option<&Tree>,
    size: f64,
    rate: f64,
    limit: &dyn Fn(f64) -> f64,
) -> f64 {
    let Some(tree) = tree else {
        return link::in_packets(capacity, size).min(limit(rate));
    };
    let mut of_classes = vec![0.0; tree.classes.len()];
    let mut all = 0.0;
    for (id, class) in tree.classes.iter().enumerate().rev() {
        let rate = tree.class_rate(class, rate);
        let packets = match &class.queue {
            Some(queue) => room(queue.capacity, queue.tree.as_deref(), size, rate, limit),
            None => f64::min(of_classes[id], limit(rate)),
        };
        match class.parent {
            Some(parent) => of_classes[parent] += packets,
            None => all += packets,
        }
    }
    all.min(limit(rate))
}

/// A class of flows and their number.
type Share<'s> = (&'s FlowClass, u32);

/// Bytes of a queue without its packets: classes, and sub-queues with what schedulers keep of them.
fn of_queues(
    scheduler: Option<&SchedulerSpec>,
    tree: Option<&Tree>,
    rate: f64,
    flows: &[Share<'_>],
) -> u64 {
    if let Some(tree) = tree {
        let mut inside = vec![Vec::new(); tree.classes.len()];
        let filters = tree.filters();
        for &(flows, count) in flows {
            if let Some(class) = filters.class_of(flows, flows.dscp) {
                inside[class].push((flows, count));
            }
        }
        let class = |(class, flows): (&TreeClass, &Vec<Share<'_>>)| {
            let rate = tree.class_rate(class, rate);
            let queue = class.queue.as_deref();
            let inner = queue.map_or(0, |queue| {
                of_queues(queue.scheduler.as_ref(), queue.tree.as_deref(), rate, flows)
            });
            link::tree::CLASS.saturating_add(inner)
        };
        let classes = tree.classes.iter().zip(&inside).map(class);
        return classes.fold(0, u64::saturating_add);
    }
    scheduler.map_or(0, |scheduler| {
        let counts = flows.iter().map(|(_, count)| *count);
        let flows = counts.fold(0, u32::saturating_add);
        let view = SchedulerView {
            flows,
            salt: 0,
            rate,
        };
        let scheduler = scheduler.build(&view);
        let queues = scheduler.queues() as u64;
        if !scheduler.numbers_by_use() {
            return queues * link::scheduled::SUB_QUEUE;
        }
        // those in use, and the table of all where there is one
        let used = queues.min(u64::from(flows));
        let table = if used == 0 { 0 } else { queues * 4 };
        used * link::scheduled::SUB_QUEUE + table
    })
}

/// Segments of a flow's initial window, as far as it has data for them, where they are more than
/// [`IN_FLIGHT`]; else 0.
fn burst(class: &FlowClass) -> u64 {
    let payload = u64::from(class.packet_size.saturating_sub(class.header_size).max(1));
    let data = match &class.traffic {
        Traffic::Bulk => u64::MAX,
        Traffic::Transfer { size, .. } => size.div_ceil(payload),
        Traffic::Http { size, .. } | Traffic::Arrivals { size, .. } => {
            (size.mean() as u64).div_ceil(payload)
        }
        _ => 0,
    };
    let window = class.tcp.max_window.map_or(u64::MAX, u64::from);
    let burst = window.min(class.tcp.initial_window as u64).min(data);
    if burst > IN_FLIGHT { burst } else { 0 }
}

/// Bytes that a flow holds of its burst: what its sender remembers of each segment, and what waits
/// for its access link.
fn of_burst(class: &FlowClass, burst: u64) -> u64 {
    let config = tcp::Config::new(&class.tcp);
    let remembered = if config.remembers(&class.tcp.congestion.needs()) {
        places(burst) * tcp::SEGMENT_BYTES
    } else {
        0
    };
    let waits = match (class.access_rate, class.access_buffer) {
        (None, _) => 0,
        (Some(_), Capacity::Unlimited) => burst,
        (Some(_), limited) => burst.min(link::in_packets(limited, 64.0) as u64),
    };
    remembered + places(waits) * size_of::<Outbound>() as u64
}

/// Places of a ring that holds so many: a power of two.
fn places(values: u64) -> u64 {
    if values == 0 {
        0
    } else {
        values.min(1 << 40).next_power_of_two()
    }
}
