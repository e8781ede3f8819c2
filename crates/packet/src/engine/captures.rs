//! Where in the engine packets and senders' events are captured (`capture/`).

use ackclock_algorithms::congestion::{CaState, CongestionControl as _};
use ackclock_scenario::Scenario;

use super::Engine;
use crate::ack_reports::Report;
use crate::capture::{Capture, Connection, Content, Metrics, Segment, SenderLog, Tap, pcapng};
use crate::flow::Ends;
use crate::packet::{Ack, Flags, NONE, Packet};
use crate::tcp::State;
use crate::tcp::receiver::{Echo, Reply};
use crate::{CaptureSelection, Error};

/// Shift of the largest window scale (RFC 7323, section 2.3).
const MAX_SCALE: u8 = 14;
/// ACE before the first mark (RFC 9768, section 3.2.1): what data says of the other direction.
const FIRST_ACE: u16 = pcapng::AE | pcapng::ECE;

/// Where in the run something is captured.
#[derive(Clone, Copy)]
struct Passing<'a> {
    at: u64,
    forward: bool,
    flow: usize,
    ecn: u8,
    size: u32,
    /// Time stamp of the sender's clock that tells connections of one flow apart.
    stamp: u64,
    content: &'a Content,
}

/// Sequence numbers of bytes, of which the first of the payload is 1.
fn byte(seq: u64, payload: u32) -> u32 {
    1_u64.wrapping_add(seq.wrapping_mul(u64::from(payload))) as u32
}

/// ECN's codepoint of a packet.
fn codepoint(flags: Flags) -> u8 {
    match (flags.has(Flags::ECT), flags.has(Flags::CE)) {
        (_, true) => 3,
        (true, false) if flags.is_scalable() => 1,
        (true, false) => 2,
        (false, false) => 0,
    }
}

impl Engine {
    /// Prepares what was asked to be captured.
    pub(crate) fn prepare_captures(
        &mut self,
        selection: &CaptureSelection,
        scenario: &Scenario,
    ) -> Result<(), Error> {
        let (engine, seed) = (&*self, self.seed);
        if selection.links.is_empty() && selection.flows.is_empty() {
            return Ok(());
        }
        let application = format!("ackclock {}", env!("CARGO_PKG_VERSION"));
        let taps = selection.links.iter().map(|&(link, exit)| {
            let end = if exit { "exit" } else { "entry" };
            let comment = format!(
                "Simulated: scenario \"{}\", seed {seed}. Payload is zeros and not captured; ACKs \
                 are as long as their options ask for.",
                scenario.name
            );
            let interface = format!("{}, {end}", scenario.links[link].name);
            Tap::new(link, exit, pcapng::head(&application, &comment, &interface))
        });
        let taps = taps.collect();
        let mut senders = Vec::new();
        for &flow in &selection.flows {
            if flow >= engine.rows.len() {
                return Err(Error::Unsupported(format!(
                    "there is no flow {flow} to log; the scenario has {}",
                    engine.rows.len()
                )));
            }
            let id = engine.class_of(flow);
            let class = &engine.classes[id];
            if !class.traffic.is_tcp()
                || class.traffic.opens_connections()
                || class.lifetime.reuses_flow_state
            {
                return Err(Error::Unsupported(format!(
                    "flow {flow} (\"{}\") has no single TCP connection to log",
                    class.name
                )));
            }
            let index = flow - engine.class_flows[id].start;
            let title = format!("{}, flow {index} of \"{}\"", scenario.name, class.name);
            let description = format!(
                "A simulated TCP sender ({application}, seed {seed}) in the terms of qlog, which \
                 has none of TCP: packet numbers count transmissions, stream 0 is the connection's \
                 bytes, recovery:metrics_updated is the state of TCP."
            );
            senders.push(SenderLog::new(flow, &title, &description));
        }
        self.capture = Some(Box::new(Capture::new(taps, senders)));
        Ok(())
    }

    /// A packet is at the entry or the exit of a link.
    #[cold]
    #[inline(never)]
    pub(crate) fn capture_packet(&mut self, link: usize, packet: &Packet, exit: bool) {
        let here = |tap: &Tap| tap.link == link && tap.exit == exit;
        let capture = self.capture.as_ref();
        if !capture.is_some_and(|capture| capture.taps.iter().any(here)) {
            return;
        }
        let forward = !packet.flags.has(Flags::ACK);
        let (flow, now) = (packet.slot as usize, self.now);
        let content = if forward {
            self.data_content(flow, packet.seq, packet.flags)
        } else {
            let (blocks, edge) = self.report_of(flow, packet.blocks);
            let heard = (packet.seq, packet.sack, &blocks[..]);
            self.ack_content(flow, heard, edge, packet.flags)
        };
        let passing = Passing {
            at: now,
            forward,
            flow,
            ecn: codepoint(packet.flags),
            size: packet.size,
            stamp: packet.stamp,
            content: &content,
        };
        self.capture_at(passing, here);
    }

    /// Data comes out of the last link of its path, and will be at the receiver at `arrival`: it has
    /// passed routers that only its ACKs cross.
    #[cold]
    #[inline(never)]
    pub(crate) fn capture_delivery(&mut self, packet: &Packet, arrival: u64) {
        let flow = packet.slot as usize;
        let state = &self.flows[flow];
        let class = &self.classes[state.class as usize];
        let Some(reverse) = &class.route.reverse else {
            return;
        };
        let mut distance = state.delays.receiver_return;
        let mut places = Vec::new();
        for &link in reverse {
            places.push((link, arrival.saturating_sub(distance).max(self.now)));
            distance += self.links[link].delay_at(self.now);
        }
        let content = self.data_content(flow, packet.seq, packet.flags);
        for (link, at) in places {
            if class_crosses(
                &self.classes[self.flows[flow].class as usize].route.path,
                link,
            ) {
                continue; // seen there on its own way
            }
            let passing = Passing {
                at,
                forward: true,
                flow,
                ecn: codepoint(packet.flags),
                size: packet.size,
                stamp: packet.stamp,
                content: &content,
            };
            self.capture_at(passing, |tap| tap.link == link);
        }
    }

    /// A receiver answers at `at` over a private path.
    #[cold]
    #[inline(never)]
    pub(crate) fn capture_reply(&mut self, flow: usize, reply: &Reply, at: u64, flags: Flags) {
        let state = &mut self.flows[flow];
        // the same as the ACK itself reports or offers: asking twice changes nothing there
        let config = &self.classes[state.class as usize].receiver;
        let (blocks, offer) = match &mut state.ends {
            Ends::Tcp { receiver, .. } => (receiver.blocks(reply.sack), receiver.offer(at, config)),
            _ => (Vec::new(), None),
        };
        let arrival = at + state.delays.receiver_return;
        self.capture_return(
            flow,
            (reply.cum, reply.sack, &blocks),
            offer.map(|offer| offer.edge),
            (at, arrival),
            reply.echo,
            flags,
        );
    }

    /// An ACK comes out of its last reverse link.
    #[cold]
    #[inline(never)]
    pub(crate) fn capture_ack(&mut self, packet: &Packet, at: u64) {
        let flow = packet.slot as usize;
        let (blocks, edge) = self.report_of(flow, packet.blocks);
        let arrival = at + self.flows[flow].delays.sender_return;
        let heard = (packet.seq, packet.sack, &blocks[..]);
        let (times, stamp) = ((at, arrival), packet.stamp);
        self.capture_return(flow, heard, edge, times, stamp, packet.flags);
    }

    /// An ACK that is sent, or comes out of the last queue, at the first and reaches the sender at
    /// the second of `times` passes the routers that its data crosses.
    fn capture_return(
        &mut self,
        flow: usize,
        heard: (u64, u64, &[(u64, u64)]),
        edge: Option<u64>,
        (from, arrival): (u64, u64),
        stamp: u64,
        flags: Flags,
    ) {
        let state = &self.flows[flow];
        let class = &self.classes[state.class as usize];
        let size = class.sizes.ack;
        let reverse = class.route.reverse.as_deref().unwrap_or(&[]);
        let mut distance = state.delays.sender_access;
        let mut places = Vec::new();
        for &link in &class.route.path {
            if !class_crosses(reverse, link) {
                let at = arrival.saturating_sub(distance);
                places.push((link, at.max(from).max(self.now)));
            }
            distance += self.links[link].delay_at(self.now);
        }
        let content = self.ack_content(flow, heard, edge, flags);
        for (link, at) in places {
            let passing = Passing {
                at,
                forward: false,
                flow,
                ecn: codepoint(Flags(flags.0 & Flags::CE)),
                size,
                stamp,
                content: &content,
            };
            self.capture_at(passing, |tap| tap.link == link);
        }
    }

    /// SACK blocks of an ACK on a way that others share, and the first segment that it does not
    /// offer to take.
    fn report_of(&self, flow: usize, number: u32) -> (Vec<(u64, u64)>, Option<u64>) {
        let Some(cold) = &self.flows[flow].cold else {
            return (Vec::new(), None);
        };
        let of = |report: &Report| {
            let edge = report.offer.map(|offer| offer.edge);
            (report.blocks.clone(), edge)
        };
        cold.reports.of(number).map(of).unwrap_or_default()
    }

    /// The scale of windows of a flow's receiver, and its window in the header.
    fn window(&self, flow: usize) -> (u8, u16) {
        let class = &self.classes[self.flows[flow].class as usize];
        if let Some(limits) = &class.receiver.buffer {
            return limits.header(limits.first_window());
        }
        let bytes = class
            .sender
            .max_window
            .saturating_mul(u64::from(class.sizes.payload));
        let most = u64::from(u16::MAX);
        let scale = (0..MAX_SCALE).find(|scale| bytes >> scale <= most);
        let scale = scale.unwrap_or(MAX_SCALE);
        (scale, (bytes >> scale).min(most) as u16)
    }

    /// The same of an ACK of all below `cum`, whose receive buffer takes what lies below `edge`.
    fn window_up_to(&self, flow: usize, cum: u64, edge: Option<u64>) -> (u8, u16) {
        let class = &self.classes[self.flows[flow].class as usize];
        let (Some(limits), Some(edge)) = (&class.receiver.buffer, edge) else {
            return self.window(flow);
        };
        limits.header(edge - cum)
    }

    fn data_content(&self, flow: usize, seq: u64, flags: Flags) -> Content {
        let state = &self.flows[flow];
        let class = &self.classes[state.class as usize];
        if !matches!(state.ends, Ends::Tcp { .. }) {
            return Content::Udp;
        }
        let (scale, window) = self.window(flow);
        if flags.has(Flags::SYN) {
            let mut segment = Segment {
                flags: pcapng::SYN,
                window: u16::MAX,
                ..Segment::default()
            };
            if class.sender.ecn.accecn.is_some() {
                segment.flags |= pcapng::AE | pcapng::CWR | pcapng::ECE;
            } else if class.sender.ecn.ect != 0 {
                segment.flags |= pcapng::CWR | pcapng::ECE; // RFC 3168, section 6.1.1
            }
            let selective = class.sender.recovery.is_selective();
            segment.add_syn_options(class.sizes.payload, scale, selective);
            return Content::Tcp(segment);
        }
        let mut bits = pcapng::ACK;
        if flags.has(Flags::CWR) {
            bits |= pcapng::CWR;
        }
        if class.receiver.echo == Echo::Count {
            bits |= FIRST_ACE;
        }
        Content::Tcp(Segment {
            seq: byte(seq, class.sizes.payload),
            ack: 1,
            flags: bits,
            window,
            options: Vec::new(),
        })
    }

    fn ack_content(
        &self,
        flow: usize,
        (cum, sack, blocks): (u64, u64, &[(u64, u64)]),
        edge: Option<u64>,
        flags: Flags,
    ) -> Content {
        let state = &self.flows[flow];
        let class = &self.classes[state.class as usize];
        let (scale, window) = self.window_up_to(flow, cum, edge);
        let mut segment = Segment {
            flags: pcapng::ACK,
            window,
            ..Segment::default()
        };
        let selective = class.sender.recovery.is_selective();
        if flags.has(Flags::SYN) {
            segment.flags |= pcapng::SYN;
            segment.ack = 1;
            segment.window = u16::MAX;
            if class.sender.ecn.accecn.is_some() {
                segment.flags |= pcapng::CWR; // the SYN came Not-ECT (RFC 9768, table 2)
            } else if class.sender.ecn.ect != 0 {
                segment.flags |= pcapng::ECE;
            }
            segment.add_syn_options(class.sizes.payload, scale, selective);
            return Content::Tcp(segment);
        }
        let end_of = |seq: u64| {
            if class.lifetime.finite && seq == state.transfer.total && seq > 0 {
                byte(seq - 1, class.sizes.payload).wrapping_add(state.transfer.tail)
            } else {
                byte(seq, class.sizes.payload)
            }
        };
        segment.seq = 1;
        segment.ack = end_of(cum);
        for (flag, bit) in [(Flags::ECE, pcapng::ECE), (Flags::CWR, pcapng::CWR)] {
            if flags.has(flag) {
                segment.flags |= bit;
            }
        }
        if class.receiver.echo == Echo::Count && flags.has(Flags::AE) {
            segment.flags |= pcapng::AE;
        }
        if selective {
            let range = |&(from, to): &(u64, u64)| (byte(from, class.sizes.payload), end_of(to));
            let mut ranges = Vec::new();
            if flags.has(Flags::SENT_TWICE) && sack != NONE {
                ranges.push(range(&(sack, sack + 1)));
            }
            ranges.extend(blocks.iter().map(range));
            segment.add_blocks(&ranges);
        }
        Content::Tcp(segment)
    }

    /// Writes a packet at the taps that `sees` is true of.
    fn capture_at(&mut self, passing: Passing<'_>, sees: impl Fn(&Tap) -> bool) {
        let Some(capture) = &mut self.capture else {
            return;
        };
        let state = &self.flows[passing.flow];
        let class = &self.classes[state.class as usize];
        let number = state.place.number();
        let mut ordinal = 0;
        if class.lifetime.reuses_flow_state {
            let known = capture
                .connections
                .entry(number as u32)
                .or_insert((state.connection.opened, 0));
            if state.connection.opened > known.0 {
                *known = (state.connection.opened, known.1 + 1);
            }
            // what is left of the connection before
            ordinal = known.1 - u32::from(passing.stamp < known.0 && known.1 > 0);
        }
        let connection = Connection {
            flow: number as u32,
            ordinal,
        };
        let (bytes, length) = pcapng::headers(
            connection,
            passing.forward,
            passing.content,
            passing.ecn,
            passing.size,
        );
        let scenario = self
            .class_flows
            .get(state.class as usize)
            .map_or(0, |flows| flows.start);
        let now = self.now;
        for tap in capture.taps.iter_mut().filter(|tap| sees(tap)) {
            let index = number.saturating_sub(scenario);
            tap.name(connection.flow, &class.name, index);
            tap.record(now, passing.at, bytes.clone(), length);
        }
    }

    /// The log of a flow's sender, if there is one.
    fn log_of(&mut self, flow: usize) -> Option<&mut SenderLog> {
        let number = self.flows[flow].place.number();
        let logs = &mut self.capture.as_mut()?.senders;
        logs.iter_mut().find(|log| log.flow == number)
    }

    /// A segment leaves its sender.
    #[cold]
    #[inline(never)]
    pub(crate) fn log_sent(&mut self, flow: usize, now: u64, seq: u64, size: u32) {
        let class = &self.classes[self.flows[flow].class as usize];
        let headers = class.sizes.packet - class.sizes.payload;
        let offset = seq * u64::from(class.sizes.payload);
        if let Some(log) = self.log_of(flow) {
            log.sent(now, seq, offset, size.saturating_sub(headers), size);
        }
    }

    /// An ACK has reached its sender.
    #[cold]
    #[inline(never)]
    pub(crate) fn log_ack(&mut self, flow: usize, now: u64, ack: &Ack, blocks: &[(u64, u64)]) {
        let size = self.classes[self.flows[flow].class as usize].sizes.ack;
        let Some(log) = self.log_of(flow) else {
            return;
        };
        let single = [(ack.sack, ack.sack.wrapping_add(1))];
        let selective = match (blocks.is_empty(), ack.sack) {
            (true, NONE) => &[][..],
            (true, _) => &single[..],
            (false, _) => blocks,
        };
        log.acknowledged(now, ack.cum, selective, size);
    }

    /// Something has happened to a sender; `latest_rtt` (ps) is 0 where it was no ACK.
    #[cold]
    #[inline(never)]
    pub(crate) fn log_metrics(&mut self, flow: usize, now: u64, latest_rtt: u64) {
        let state = &self.flows[flow];
        let class = &self.classes[state.class as usize];
        let Ends::Tcp { sender, .. } = &state.ends else {
            return;
        };
        if sender.state == State::Closed {
            return;
        }
        let payload = f64::from(class.sizes.payload);
        let info = sender.info(&class.sender);
        let in_flight = (info.unacked + info.retrans).saturating_sub(info.sacked + info.lost);
        let in_recovery = matches!(
            info.ca_state,
            CaState::Recovery | CaState::Loss | CaState::Cwr
        );
        let metrics = Metrics {
            window: (info.cwnd * payload) as u64,
            ssthresh: if info.ssthresh.is_finite() {
                (info.ssthresh * payload) as u64
            } else {
                u64::MAX
            },
            in_flight: in_flight * u64::from(class.sizes.payload),
            smoothed_rtt: info.srtt.0,
            min_rtt: if info.min_rtt.0 == u64::MAX {
                0
            } else {
                info.min_rtt.0
            },
            latest_rtt,
            pacing_rate: sender
                .controller
                .pacing_rate()
                .filter(|rate| rate.is_finite())
                .map_or(0, |rate| (rate * 8.0 * payload) as u64),
            state: if in_recovery {
                "recovery"
            } else if info.cwnd < info.ssthresh {
                "slow_start"
            } else {
                "congestion_avoidance"
            },
        };
        if let Some(log) = self.log_of(flow) {
            log.metrics(now, &metrics);
        }
    }
}

fn class_crosses(path: &[usize], link: usize) -> bool {
    path.contains(&link)
}
