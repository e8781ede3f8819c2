//! From a scenario to an engine that is ready to run.

use ackclock_algorithms::aqm::LinkView;
use ackclock_algorithms::impairment::Autorate;
use ackclock_algorithms::registry::CongestionSpec;
use ackclock_algorithms::scheduler::{Ends, SchedulerView};
use ackclock_algorithms::{Owner, Stream, Time};
use ackclock_scenario::{End, FlowClass, Nat, Scenario, Setting, Style, Traffic};

use crate::calendar::{Calendar, Class as Order, Kind, Place, Tag};
use crate::class::{
    Class, ClassAccess, ClassHosts, Delays, Lifetime, Opening, Route, Sizes, clock_offsets,
    clock_offsets_if_coalesced, delays_of,
};
use crate::draw::{draw, entity, largest};
use crate::engine::{Change, Engine, Recorder};
use crate::flow::{Flow, FlowSlot, make_flow};
use crate::follower::Follower;
use crate::link::impairments::Impairments;
use crate::link::schedule::{Rate, Schedule};
use crate::link::scheduled::Scheduled;
use crate::link::served::Server;
use crate::link::tree::{Context, Tree};
use crate::link::{Extras, Link, in_packets};
use crate::measurements::Parts;
use crate::medium::Medium;
use crate::one_way::OneWay;
use crate::outcome::{FlowTrace, LinkTrace};
use crate::tcp::delayed_ack::{AckPolicy, opening};
use crate::tcp::receive_buffer::Limits;
use crate::tcp::{self, receiver};
use crate::traffic::transfers::Transfers;
use crate::{Abort, Error, FlowSelection, Options};

/// Links whose rate follows the packets of the class.
fn probes_of(scenario: &Scenario, class: usize) -> Vec<usize> {
    let name = &scenario.flows[class].name;
    let follows = |id: &usize| {
        let autorate = &scenario.links[*id].autorate;
        autorate.as_ref().is_some_and(|it| it.probes == *name)
    };
    (0..scenario.links.len()).filter(follows).collect()
}

/// Whether something on the private paths of the class changes during the run.
fn changes_class(scenario: &Scenario, class: usize) -> bool {
    scenario.changes.iter().any(|change| match change.set {
        Setting::Rtt(id, _)
        | Setting::AccessRate(id, _)
        | Setting::Count(id, _)
        | Setting::TrafficRate(id, _)
        | Setting::MaxWindow(id, _) => id == class,
        _ => false,
    })
}

/// Hosts and code point that the packets of a class show to routers.
fn class_hosts(scenario: &Scenario, class: &FlowClass) -> ClassHosts {
    let washes = |link: &usize| {
        scenario.links[*link]
            .scheduler
            .is_some_and(|scheduler| scheduler.washes())
    };
    let washed = |path: &[usize]| {
        path.iter()
            .position(washes)
            .map_or(u16::MAX, |at| at as u16)
    };
    let named = |name: &Option<String>, hosts| name.clone().map(|name| (name, hosts));
    ClassHosts {
        source: named(&class.source, class.source_hosts),
        destination: named(&class.destination, class.destination_hosts),
        tunnel: class.tunnel.clone(),
        translated: Ends {
            source: class.nat == Nat::Source,
            destination: class.nat == Nat::Destination,
        },
        dscp: class.dscp.code(),
        washed: [
            washed(&class.path),
            washed(class.reverse_path.as_deref().unwrap_or_default()),
        ],
    }
}

/// The receive buffers of the class, where they limit senders.
fn buffer_of(class: &FlowClass, payload: u32) -> Option<Limits> {
    let payload = u64::from(payload);
    let largest = class.tcp.receive_buffer?.max(4 * payload);
    Some(Limits {
        first: class.tcp.initial_receive_buffer.clamp(4 * payload, largest),
        largest,
        payload,
        low_water: class.tcp.read_size,
    })
}

fn ack_policy(class: &FlowClass, payload: u32) -> AckPolicy {
    match class.tcp.style {
        Style::Rfc => AckPolicy::Rfc5681,
        Style::Linux => AckPolicy::LinuxQuickAck {
            min_rto: class.tcp.min_rto.0,
            // else the buffer says when the window opens
            opening: match class.tcp.receive_buffer {
                Some(_) => 0,
                None => opening(payload),
            },
        },
    }
}

fn build_class(scenario: &Scenario, id: usize, general: bool) -> Class {
    let class = &scenario.flows[id];
    let reuses_flow_state = carries_transfers(&class.traffic);
    let payload = class.packet_size.saturating_sub(class.header_size).max(1);
    let delay = |path: &[usize]| path.iter().map(|&link| scenario.links[link].delay.0).sum();
    let buffer = buffer_of(class, payload);
    let sender = tcp::Config {
        first_offer: buffer.map_or(u64::MAX, |limits| limits.first_window()),
        ..tcp::Config::new(&class.tcp)
    };
    let is_endpoint = class.tcp.congestion.is_endpoint();
    let (probes, changes) = (probes_of(scenario, id), changes_class(scenario, id));
    Class {
        name: class.name.clone(),
        receiver: receiver::Config {
            delayed: class.tcp.delayed_ack,
            timeout: class.tcp.delayed_ack_timeout.0,
            policy: ack_policy(class, payload),
            echo: match (sender.ecn.accecn, sender.ecn.accurate) {
                (Some(_), _) => receiver::Echo::Count,
                (None, true) => receiver::Echo::EachMark,
                (None, false) => receiver::Echo::UntilCwr,
            },
            dsack: sender.undo.duplicates,
            ecn_quick: class.tcp.style == Style::Linux,
            buffer,
        },
        sender,
        opening: Opening {
            handshake: class.tcp.handshake && class.traffic.is_tcp(),
            controller: class.tcp.congestion.clone(),
            ssthresh: class.tcp.initial_ssthresh,
        },
        traffic: class.traffic.clone(),
        lifetime: Lifetime {
            stop: class.stop.map_or(u64::MAX, |time| time.0),
            total: match class.traffic {
                Traffic::Transfer { size, .. } => size.div_ceil(u64::from(payload)),
                _ => u64::MAX,
            },
            reclaimable: !is_endpoint
                && matches!(class.traffic, Traffic::Transfer { .. })
                && class.reverse_path.is_none()
                && !changes,
            finite: reuses_flow_state || matches!(class.traffic, Traffic::Transfer { .. }),
            reuses_flow_state,
        },
        access: ClassAccess {
            rate: class.access_rate,
            buffer: class.access_buffer,
        },
        rtt: class.rtt.clone(),
        sizes: Sizes {
            packet: class.packet_size,
            payload,
            ack: class.tcp.ack_size,
        },
        priority: class.priority,
        hosts: class_hosts(scenario, class),
        rehashes: class.tcp.style == Style::Linux && class.tunnel.is_none(),
        coalesced: !general && !is_endpoint && !changes && probes.is_empty() && can_coalesce(class),
        fast_path: None,
        event_path: None,
        route: Route {
            path: class.path.clone(),
            reverse: class.reverse_path.clone(),
            delay: delay(&class.path),
            reverse_delay: class.reverse_path.as_deref().map_or(0, delay),
            time_varying: changes || !probes.is_empty(),
            probes,
        },
        one_way: OneWay::new(!matches!(class.traffic, Traffic::Bulk), !reuses_flow_state),
        parts: None,
    }
}

/// [`Class::fast_path`] and [`Class::event_path`] of a class.
fn short_path(class: &Class, links: &[Link]) -> (Option<usize>, Option<usize>) {
    let bulk = matches!(class.traffic, Traffic::Bulk);
    if !bulk || !class.coalesced || class.route.reverse.is_some() {
        return (None, None);
    }
    match class.route.path[..] {
        [only] if links[only].event_driven => (None, links[only].is_orderly().then_some(only)),
        [first, ..] => {
            let precomputed = |&link: &usize| !links[link].event_driven && !links[link].labelled;
            let all = class.route.path.iter().all(precomputed);
            (all.then_some(first), None)
        }
        [] => (None, None),
    }
}

/// How long after its acts the transmitter of each link may be looked at: where all that cross it
/// take the short path, what it sends is seen after its delay.
fn set_lookaheads(links: &mut [Link], classes: &[Class]) {
    let mut late = vec![true; links.len()];
    for class in classes {
        let short = class.event_path.filter(|_| class.route.probes.is_empty());
        let reverse = class.route.reverse.iter().flatten();
        for &link in class.route.path.iter().chain(reverse) {
            late[link] &= short == Some(link);
        }
    }
    for (link, _) in links.iter_mut().zip(late).filter(|(_, late)| *late) {
        link.acts.set_lookahead(link.steady_delay().unwrap_or(0));
    }
}

/// Whether connections of the class end and others follow them.
fn carries_transfers(traffic: &Traffic) -> bool {
    matches!(
        traffic,
        Traffic::Http { .. } | Traffic::Arrivals { .. } | Traffic::PackMime { .. }
    )
}

/// Whether the lags of coalesced flows are known in advance, and what is left of a session's last
/// connection cannot meet the next one in another order than it would on the general path.
fn can_coalesce(class: &FlowClass) -> bool {
    match class.traffic {
        Traffic::Http { .. } => class.reverse_path.is_none(),
        Traffic::Arrivals { .. } | Traffic::PackMime { .. } => largest(&class.rtt).is_some(),
        _ => true,
    }
}

/// Returns what a flow of the scenario draws before anything happens: its round trip and its start,
/// ps; and what remains of its stream.
fn draw_flow(
    class: &FlowClass,
    built: &Class,
    index: u32,
    count: u32,
    seed: u64,
) -> (u64, u64, Stream) {
    let owner = entity(&class.name, u64::from(index));
    let mut random = Stream::new(seed, Owner::Flow, owner);
    let propagation = Time(built.route.delay + built.route.reverse_delay).seconds();
    let rtt = Time::from_seconds(draw(&class.rtt, propagation, index, count, &mut random)).0;
    let start = Time::from_seconds(draw(&class.start, 0.0, index, count, &mut random)).0;
    if !class.traffic.is_tcp() {
        random = Stream::new(seed, Owner::Traffic, owner);
    }
    (rtt, start, random)
}

fn build_link(
    scenario: &Scenario,
    id: usize,
    seed: u64,
    window: (u64, u64),
    general: bool,
) -> Link {
    let link = &scenario.links[id];
    let mut rate = Schedule::new(link.rate);
    let mut delay = Schedule::new(link.delay.0);
    for change in &scenario.changes {
        match change.set {
            Setting::LinkRate(target, value) if target == id => rate.push(change.at.0, value),
            Setting::LinkDelay(target, value) if target == id => delay.push(change.at.0, value.0),
            _ => {}
        }
    }
    let mean_packet = scenario
        .flows
        .iter()
        .find(|class| class.path.contains(&id))
        .map_or(1500, |class| class.packet_size);
    let view = LinkView {
        rate: link
            .shaper
            .map_or(link.rate, |shaper| link.rate.min(shaper.rate)),
        delay: link.delay.seconds(),
        capacity_packets: in_packets(link.capacity, f64::from(mean_packet)),
    };
    let random = Stream::new(seed, Owner::Queue, entity(&link.name, 0));
    let rate = match &link.trace {
        Some(trace) => Rate::Trace(trace.clone(), None),
        None => Rate::Once(rate),
    };
    let built = Link::new(
        rate,
        delay,
        link.capacity,
        link.aqm.build(&view),
        random,
        window,
        general,
    );
    match build_extras(scenario, link, &view, mean_packet, seed) {
        Some(extras) => built.with(extras),
        None => built,
    }
}

/// Scheduler and impairments of a link, if it has any.
fn build_extras(
    scenario: &Scenario,
    link: &ackclock_scenario::Link,
    view: &LinkView,
    mean_packet: u32,
    seed: u64,
) -> Option<Extras> {
    let impaired = link.policer.is_some()
        || link.shaper.is_some()
        || link.loss.is_some()
        || link.jitter.is_some()
        || link.service.is_some()
        || link.autorate.is_some();
    if !impaired && link.scheduler.is_none() && link.tree.is_none() {
        return None;
    }
    let owner = entity(&link.name, 0);
    let flows = (0..scenario.flows.len()).map(|id| scenario.max_count(id));
    let scheduler_view = SchedulerView {
        flows: flows.sum(),
        salt: Stream::new(seed, Owner::Scheduler, owner).bits(),
        rate: link.rate,
    };
    let scheduled = link
        .scheduler
        .map(|scheduler| Scheduled::new(scheduler.build(&scheduler_view), link.aqm.clone(), *view));
    let context = Context {
        flows: &scenario.flows,
        scheduler: scheduler_view,
        delay: view.delay,
        mean_packet: f64::from(mean_packet),
    };
    let tree = link.tree.as_ref();
    Some(Extras {
        scheduled,
        tree: tree.and_then(|tree| Tree::new(tree, view.rate, &context)),
        impairments: Impairments::new(link, seed, owner),
        autorate: (link.autorate.as_ref())
            .map(|it| Box::new(Follower::new(Autorate::new(it.params, link.rate)))),
        server: Server::new(link, seed, owner).map(Box::new),
        reorders: link.jitter.as_ref().is_some_and(|jitter| jitter.reorder),
        shaped: false,
        finish: 0,
        wake: None,
    })
}

/// The flows to trace; `sources` tells which classes open connections: those have no window of
/// their own.
fn selected(
    selection: &FlowSelection,
    class_flows: &[std::ops::Range<usize>],
    sources: &[bool],
) -> Vec<usize> {
    let classes = class_flows.iter().zip(sources);
    let traceable = classes.filter_map(|(flows, source)| (!source).then_some(flows));
    match selection {
        FlowSelection::None => Vec::new(),
        FlowSelection::All => traceable.cloned().flatten().collect(),
        FlowSelection::PerClass(n) => traceable
            .flat_map(|range| range.clone().take(*n as usize))
            .collect(),
        FlowSelection::List(list) => list.clone(),
    }
}

/// The interval of traces, ps.
pub(crate) fn sample_interval(scenario: &Scenario) -> u64 {
    match (scenario.sample, scenario.duration) {
        (Some(interval), _) => interval.0.max(1),
        (None, End::At(end)) => (end.0 / 1000).max(1_000_000_000),
        (None, End::UntilDone) => Time::PER_SECOND / 10,
    }
}

/// The flows of a scenario, before anything happens.
#[derive(Default)]
struct Population {
    classes: Vec<Class>,
    class_flows: Vec<std::ops::Range<usize>>,
    rows: Vec<FlowSlot>,
    starts: Vec<(u64, u32)>,
    /// Flows whose state is made at once.
    flows: Vec<Flow>,
    /// The longest lag of an event behind an end's clock.
    max_clock_offset: u64,
}

impl Population {
    fn new(scenario: &Scenario, links: &[Link], seed: u64, general: bool) -> Result<Self, Error> {
        let counts = (0..scenario.flows.len()).map(|id| u64::from(scenario.max_count(id)));
        let most: u64 = counts.sum();
        if most >= Place::MAX_NUMBER as u64 {
            return Err(Error::Unsupported(format!(
                "{most} flows: fewer than {} are possible",
                Place::MAX_NUMBER
            )));
        }
        let mut population = Self {
            rows: Vec::with_capacity(most as usize),
            starts: Vec::with_capacity(most as usize),
            ..Self::default()
        };
        for (id, class) in scenario.flows.iter().enumerate() {
            if class.path.is_empty() {
                return Err(Error::Unsupported(format!(
                    "flows \"{}\": the path crosses no link",
                    class.name
                )));
            }
            refuse_library(class)?;
            let mut built = build_class(scenario, id, general);
            (built.fast_path, built.event_path) = short_path(&built, links);
            let first = population.rows.len();
            for index in 0..scenario.max_count(id) {
                population.add(scenario, id, &built, first, index, seed);
            }
            population.class_flows.push(first..population.rows.len());
            population.classes.push(built);
        }
        Ok(population)
    }

    /// Adds flow `index` of class `id`, whose flows begin at number `first`.
    fn add(
        &mut self,
        scenario: &Scenario,
        id: usize,
        built: &Class,
        first: usize,
        index: u32,
        seed: u64,
    ) {
        let class = &scenario.flows[id];
        let is_source = class.traffic.opens_connections();
        // a user's own controllers may depend on the order in which they are made
        let at_once = is_source || matches!(class.tcp.congestion, CongestionSpec::Custom(_));
        let count = scenario.max_count(id);
        let (rtt, start, random) = draw_flow(class, built, index, count, seed);
        let number = self.rows.len();
        let stopped = index >= class.count;
        if !stopped {
            let lag = clock_offsets_if_coalesced(built, rtt).connecting;
            let at = if is_source { start } else { start + lag };
            self.starts.push((at, number as u32));
        }
        self.rows.push(if at_once {
            let place = Place::new(number, self.flows.len());
            let mut flow = make_flow(built, id, first, place, seed, random, rtt);
            flow.stopped = stopped;
            self.flows.push(flow);
            FlowSlot::Live(place.slot() as u32)
        } else {
            FlowSlot::Waiting {
                random,
                rtt,
                stopped,
            }
        });
        // as if the flow was coalesced, whatever path of the engine is taken: both end a run until
        // all is done at the same time
        if !built.route.time_varying {
            let delays = match largest(&class.rtt) {
                Some(most) if is_source => delays_of(built, Time::from_seconds(most).0),
                None if is_source => Delays::default(),
                _ => delays_of(built, rtt),
            };
            let longest = clock_offsets(built, &delays).longest();
            self.max_clock_offset = self.max_clock_offset.max(longest);
        }
    }
}

/// Refuses a class of flows whose library is not open, or whose traffic it cannot carry.
fn refuse_library(class: &FlowClass) -> Result<(), Error> {
    let congestion = &class.tcp.congestion;
    if let Some(library) = congestion.library() {
        return Err(Error::Unsupported(format!(
            "flows \"{}\": library {:?} is not open; it is opened where a run of the packet engine begins",
            class.name, library.path
        )));
    }
    if congestion.is_endpoint() && !class.traffic.fits_endpoint() {
        return Err(Error::Unsupported(format!(
            "flows \"{}\": an endpoint carries bulk, transfer or app-limited traffic, no other",
            class.name
        )));
    }
    Ok(())
}

/// How many transfers a run waits for that lasts until they are done.
fn transfers_to_finish(scenario: &Scenario, classes: &[Class]) -> Result<Option<u64>, Error> {
    if let End::At(_) = scenario.duration {
        return Ok(None);
    }
    let classes = classes.iter().zip(&scenario.flows);
    let finite = classes.filter(|(class, _)| class.lifetime.total != u64::MAX);
    let count = finite.map(|(_, class)| u64::from(class.count)).sum();
    if count == 0 {
        return Err(Error::Unsupported(
            "duration \"until done\" needs at least one finite transfer".into(),
        ));
    }
    Ok(Some(count))
}

/// A calendar with everything that happens at times known in advance, but for the starts of flows.
fn first_events(scenario: &Scenario, links: &[Link], window: (u64, u64)) -> Calendar {
    let mut calendar = Calendar::default();
    for (index, change) in scenario.changes.iter().enumerate() {
        calendar.push_far(change.at.0, Tag::new(Order::Global, index, Kind::Change));
    }
    calendar.push_far(window.0, Tag::new(Order::Global, 0, Kind::WindowOpens));
    if window.1 != u64::MAX {
        calendar.push_far(window.1, Tag::new(Order::Global, 0, Kind::WindowCloses));
    }
    for (id, link) in links.iter().enumerate() {
        if let Some(next) = link.next_timer() {
            calendar.push_far(next, Tag::new(Order::AqmTimer, id, Kind::AqmTimer));
        }
    }
    calendar
}

/// The media that links share, each with a service that takes turns; a link that names none has its
/// own.
fn media(scenario: &Scenario, links: &[Link]) -> Vec<Medium> {
    let mut names: Vec<Option<&str>> = Vec::new();
    let mut media: Vec<Medium> = Vec::new();
    for (id, link) in links.iter().enumerate() {
        let Some(sharing) = link.sharing() else {
            continue;
        };
        let name = scenario.links[id].medium.as_deref();
        let known = names.iter().position(|it| it.is_some() && *it == name);
        let at = known.unwrap_or_else(|| {
            names.push(name);
            media.push(Medium::default());
            media.len() - 1
        });
        media[at].join(id, sharing);
    }
    media
}

/// Builds the engine of a run.
pub(crate) fn build(scenario: &Scenario, options: &Options) -> Result<Engine, Error> {
    let seed = options.seed.unwrap_or(scenario.seed);
    let end = match scenario.duration {
        End::At(end) => end.0,
        End::UntilDone => u64::MAX,
    };
    let window = scenario
        .measure
        .map_or((0, end), |(from, to)| (from.0, to.0));
    let general = options.general || !options.captures.is_empty();
    let mut links: Vec<Link> = (0..scenario.links.len())
        .map(|id| build_link(scenario, id, seed, window, general))
        .collect();
    let population = Population::new(scenario, &links, seed, general)?;
    let remaining = transfers_to_finish(scenario, &population.classes)?;
    // a run until all is done ends with its last event, which nothing may be late for
    if end != u64::MAX {
        set_lookaheads(&mut links, &population.classes);
    }
    let changes = scenario.changes.iter().map(|change| Change {
        at: change.at.0,
        set: change.set.clone(),
    });
    let mut engine = Engine {
        calendar: first_events(scenario, &links, window),
        media: media(scenario, &links),
        links,
        numbered: population.rows.len(),
        rows: population.rows,
        starts: population.starts,
        next_start: 0,
        flows: population.flows,
        vacant: Vec::new(),
        seed,
        transfers: vec![Transfers::default(); population.classes.len()],
        classes: population.classes,
        class_flows: population.class_flows,
        changes: changes.collect(),
        recorder: Recorder::default(),
        capture: None,
        now: 0,
        end,
        max_clock_offset: population.max_clock_offset,
        remaining,
        last_completion: 0,
        last_act: 0,
        window,
        events: 0,
        abort: options.abort.clone().or_else(|| {
            let any = scenario
                .flows
                .iter()
                .any(|class| class.tcp.congestion.custom().is_some());
            any.then(Abort::default)
        }),
        notes: notes(scenario),
    };
    engine.sort_starts();
    record(&mut engine, scenario, options)?;
    engine.prepare_captures(&options.captures, scenario)?;
    Ok(engine)
}

/// Returns notes on what is simplified of the scenario.
fn notes(scenario: &Scenario) -> Vec<String> {
    let packmime = scenario
        .flows
        .iter()
        .filter(|class| matches!(class.traffic, Traffic::PackMime { .. }));
    packmime
        .map(|class| {
            format!(
                "flows \"{}\": of PackMime the responses are sent, one a connection; requests take no capacity",
                class.name
            )
        })
        .collect()
}

/// Prepares the traces that were asked for.
fn record(engine: &mut Engine, scenario: &Scenario, options: &Options) -> Result<(), Error> {
    if engine.end != u64::MAX {
        let parts = Parts::of(engine.window, options.traces.parts);
        for class in &mut engine.classes {
            class.parts.clone_from(&parts);
        }
        for flow in &mut engine.flows {
            flow.measured.parts.clone_from(&parts);
        }
    }
    let sources: Vec<bool> = scenario
        .flows
        .iter()
        .map(|class| class.traffic.opens_connections())
        .collect();
    let flows = selected(&options.traces.flows, &engine.class_flows, &sources);
    if !options.traces.links && flows.is_empty() {
        return Ok(());
    }
    let recorder = &mut engine.recorder;
    recorder.interval = sample_interval(scenario);
    recorder.most_bytes = options.traces.most_bytes;
    if options.traces.links {
        recorder.links = (0..engine.links.len())
            .map(|link| LinkTrace {
                link,
                ..LinkTrace::default()
            })
            .collect();
        recorder.idle = vec![0; engine.links.len()];
    }
    engine
        .calendar
        .push_far(0, Tag::new(Order::Global, 0, Kind::SampleLinks));
    recorder.position = vec![
        u32::MAX;
        if flows.is_empty() {
            0
        } else {
            engine.rows.len()
        }
    ];
    for flow in flows {
        if flow >= engine.rows.len() {
            return Err(Error::Unsupported(format!(
                "there is no flow {flow} to trace"
            )));
        }
        if sources[engine.class_of(flow)] {
            return Err(Error::Unsupported(format!(
                "flow {flow} opens connections, and has no window of its own to trace"
            )));
        }
        let recorder = &mut engine.recorder;
        if recorder.position[flow] != u32::MAX {
            continue;
        }
        recorder.position[flow] = recorder.flows.len() as u32;
        recorder.flows.push(FlowTrace {
            flow,
            ..FlowTrace::default()
        });
        let (lag, _) = engine.clock_offsets_of(flow);
        let tag = engine.sample_tag(flow);
        engine.calendar.push_far(lag, tag);
    }
    Ok(())
}
