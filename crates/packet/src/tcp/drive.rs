//! A sender without a network: the caller supplies time and acknowledgements, and takes the
//! segments. For scripted tests (`validation/packetdrill`) and for looking at one sender closely.

use std::collections::VecDeque;

use ackclock_algorithms::congestion::CaState;
use ackclock_algorithms::{Owner, Stream, Time};
use ackclock_scenario::Tcp;

use super::accecn::{ace_bits, bits};
use super::negotiation::{Agreement, agreed};
use super::{Config, Handshake, Sender};
use crate::packet::{Ack, Flags, NONE};

/// The sending half of a connection, driven by hand. Sequence numbers count segments from 0.
///
/// Time must not go back, and begins after zero.
pub struct Endpoint {
    sender: Sender,
    config: Config,
    random: Stream,
    /// Records of the segments that are not acknowledged, from `base` on.
    sent: VecDeque<Sent>,
    base: u64,
    retransmissions: u64,
    /// A segment waits for its release time.
    paced: bool,
}

/// When a segment was sent last.
#[derive(Clone, Copy, Debug, Default)]
struct Sent {
    at: u64,
    again: bool,
    sacked: bool,
}

/// Contents of an acknowledgement.
#[derive(Clone, Copy, Debug, Default)]
pub struct Arrival<'a> {
    /// Everything below this has arrived.
    pub cumulative: u64,
    /// SACK blocks `[from, to)`; one that reports a duplicate (DSACK, RFC 2883) comes first.
    pub blocks: &'a [(u64, u64)],
    /// When the segment was sent that the time stamp echoes; `None` without time stamps.
    pub echo: Option<Time>,
    /// ECN-Echo, where marks are echoed (RFC 3168).
    pub ece: bool,
    /// Where they are counted (AccECN): what ACE says (RFC 9768, section 3.2.2), modulo eight;
    /// `None` tells of no further mark.
    pub ace: Option<u8>,
    /// The count of the option of AccECN, in segments; `None` on an ACK without it.
    pub marked: Option<u16>,
}

/// A segment that leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// Its number.
    pub seq: u64,
    /// It was sent before.
    pub retransmission: bool,
    /// It is ECN-capable (ECT).
    pub ect: bool,
    /// It carries CWR.
    pub cwr: bool,
}

/// State of a sender, in the terms of Linux's `tcp_info`. Windows and counts are in segments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Info {
    /// Congestion window.
    pub cwnd: f64,
    /// Slow-start threshold; infinite where there is none yet.
    pub ssthresh: f64,
    /// Segments outstanding; of those acknowledged selectively, lost, sent again and not
    /// acknowledged since.
    pub unacked: u64,
    /// See `unacked`.
    pub sacked: u64,
    /// See `unacked`.
    pub lost: u64,
    /// See `unacked`.
    pub retrans: u64,
    /// Retransmissions so far.
    pub total_retrans: u64,
    /// Congestion state.
    pub ca_state: CaState,
    /// Timeouts in a row.
    pub backoff: u32,
    /// Present retransmission timeout, with its back-off.
    pub rto: Time,
    /// Smoothed round trip; zero before the first sample.
    pub srtt: Time,
    /// Smallest round trip; [`Time::NEVER`] before the first sample.
    pub min_rtt: Time,
    /// Segments above which a missing one counts as lost (`dup_threshold`, or what reordering has
    /// made of it).
    pub reordering: u32,
    /// How often reordering was seen.
    pub reordering_seen: u32,
    /// Segments that arrived more than once, as the receiver said (DSACK).
    pub duplicates: u64,
}

impl Endpoint {
    /// A sender with a class's options (`[[flows]]`), not yet connected. Its congestion control
    /// draws from `seed`.
    #[must_use]
    pub fn new(tcp: &Tcp, seed: u64) -> Self {
        let config = Config::new(tcp);
        Self {
            sender: Sender::new(tcp.congestion.build(0), &config, tcp.initial_ssthresh),
            config,
            random: Stream::new(seed, Owner::Flow, 0),
            sent: VecDeque::new(),
            base: 0,
            retransmissions: 0,
            paced: false,
        }
    }

    /// The connection stands. `rtt` is the handshake's round trip, zero without one.
    pub fn open(&mut self, now: Time, rtt: Time) {
        let handshake = Handshake {
            rtt: rtt.0,
            ..Handshake::default()
        };
        self.sender.open(now.0, handshake, &self.config);
    }

    /// The SYN-ACK has come with these header bits: AE, CWR and ECE. To be called before
    /// [`Endpoint::open`]; without it the peer can what the class asks for.
    ///
    /// A peer with the ECN of RFC 3168 echoes marks, and one without ECN gets no ECN-capable
    /// segment (RFC 9768, section 3.1.2).
    pub fn negotiate(&mut self, ae: bool, cwr: bool, ece: bool) {
        let offered = self.config.ecn.accecn.is_some();
        let agreement = agreed(offered, (ae, cwr, ece));
        if agreement == Agreement::AccEcn {
            return;
        }
        let config = &mut self.config;
        (config.ecn.accecn, config.ecn.accurate, config.ecn.always) = (None, false, false);
        self.sender.accecn = None;
        config.ecn.on &= agreement == Agreement::Classic;
        config.ecn.ect = if config.ecn.on { Flags::ECT } else { 0 };
    }

    /// The application writes `segments` more.
    pub fn write(&mut self, now: Time, segments: u64) {
        self.sender.written += segments;
        self.sender.restart_if_idle(now.0, &self.config);
    }

    /// The receiver's window, in segments from the first unacknowledged one.
    pub fn set_receiver_window(&mut self, segments: u64) {
        self.config.max_window = segments;
    }

    /// An acknowledgement arrives.
    pub fn acknowledge(&mut self, now: Time, arrival: &Arrival<'_>) {
        let cum = arrival.cumulative.min(self.sender.high);
        let high = self.sender.high;
        let mut blocks: Vec<(u64, u64)> = arrival
            .blocks
            .iter()
            .map(|&(from, to)| (from.min(high), to.min(high)))
            .collect();
        // as Linux does: by the segment where it was sent once, else by the time stamp
        let echo = match self.send_time_of_first(cum) {
            0 => arrival.echo.map_or(0, |time| time.0),
            sent => sent,
        };
        if let Some(packets) = &mut self.sender.sent_packets {
            packets.undo.timestamps = arrival.echo.is_some();
        }
        let feedback = match (&self.sender.accecn, arrival.ace) {
            (Some(_), Some(ace)) => ace_bits(u64::from(ace)),
            (Some(accecn), None) => bits(accecn.marked),
            (None, _) if arrival.ece => Flags::ECE,
            (None, _) => 0,
        };
        if self.sender.accecn.is_some() {
            self.config.ecn.accecn = Some(arrival.marked.is_some());
        }
        let ack = Ack {
            at: now.0,
            cum,
            echo,
            sack: NONE,
            blocks: 0,
            flags: Flags(Flags::ACK | feedback),
            marked: arrival.marked.unwrap_or(0),
        };
        // a duplicate's report comes first; the others in order, as Linux looks at them
        let duplicate = super::reported_duplicate(&ack, &blocks).map(|_| blocks.remove(0));
        blocks.retain(|&(_, to)| to > cum);
        blocks.sort_unstable();
        if let Some(block) = duplicate {
            blocks.insert(0, block);
        }
        self.sender
            .on_ack(now.0, &ack, &blocks, &self.config, &mut self.random);
        let gone = (self.sender.una - self.base).min(self.sent.len() as u64);
        self.sent.drain(..gone as usize);
        self.base = self.sender.una;
        for (from, to) in blocks {
            for seq in from.max(self.base)..to {
                if let Some(sent) = self.sent.get_mut((seq - self.base) as usize) {
                    sent.sacked = true;
                }
            }
        }
    }

    /// When the first segment was sent that an ACK of everything below `cum` tells to have
    /// arrived; 0 where it says nothing of the round trip (Karn's rule).
    fn send_time_of_first(&self, cum: u64) -> u64 {
        let count = (cum.saturating_sub(self.base) as usize).min(self.sent.len());
        let acked = self.sent.range(..count);
        if acked.clone().any(|sent| sent.again) {
            return 0;
        }
        let mut new = acked.filter(|sent| !sent.sacked);
        new.next().map_or(0, |sent| sent.at)
    }

    /// The next segment that leaves now, if any. To be asked for after each of the other calls
    /// until there is none.
    pub fn next_segment(&mut self, now: Time) -> Option<Departure> {
        self.paced = false;
        if self.sender.pacer.next() > now.0 {
            self.paced = true;
            return None;
        }
        let Some(segment) = self.sender.next_segment(now.0, &self.config) else {
            self.sender.on_nothing_to_send();
            return None;
        };
        let place = (segment.seq - self.base) as usize;
        let sent = Sent {
            at: now.0,
            ..Sent::default()
        };
        match self.sent.get_mut(place) {
            Some(old) => {
                *old = Sent {
                    again: true,
                    ..sent
                }
            }
            None => self.sent.push_back(sent),
        }
        self.retransmissions += u64::from(segment.retransmission);
        let flags = segment.ecn_flags(&self.config);
        Some(Departure {
            seq: segment.seq,
            retransmission: segment.retransmission,
            ect: flags.has(Flags::ECT),
            cwr: segment.cwr,
        })
    }

    /// When [`Endpoint::advance`] is due next: a timer, or the release time of a paced segment.
    /// `None` if nothing happens without an acknowledgement or a write.
    #[must_use]
    pub fn next_event(&self) -> Option<Time> {
        let timer = self.sender.timers.next();
        let at = if self.paced {
            timer.min(self.sender.pacer.next())
        } else {
            timer
        };
        (at != u64::MAX).then_some(Time(at))
    }

    /// Advances time to `now`: a timer that is due by then expires.
    pub fn advance(&mut self, now: Time) {
        if self.sender.timers.next() <= now.0 {
            self.sender.on_timer(now.0, &self.config);
        }
    }

    /// Returns the state of the sender.
    #[must_use]
    pub fn info(&self) -> Info {
        Info {
            total_retrans: self.retransmissions,
            ..self.sender.info(&self.config)
        }
    }
}

impl Sender {
    /// Returns the state of the sender, without `total_retrans`, which it does not count.
    pub(crate) fn info(&self, config: &Config) -> Info {
        let unacked = self.outstanding();
        let selective = config.recovery.is_selective();
        let packets = self.sent_packets.as_ref();
        let rack = packets.and_then(|packets| packets.rack.as_ref());
        Info {
            cwnd: self.window.cwnd,
            ssthresh: self.window.ssthresh,
            unacked,
            sacked: if selective {
                u64::from(self.scoreboard.sacked())
            } else {
                u64::from(self.dup_acks).min(unacked)
            },
            lost: u64::from(self.scoreboard.lost()),
            retrans: u64::from(self.scoreboard.resent()),
            total_retrans: 0,
            ca_state: self.ca_state_now(config),
            backoff: self.rtt.backoff(),
            rto: Time(self.timeout(config)),
            srtt: Time(self.rtt.srtt),
            min_rtt: Time(self.rtt.min_rtt),
            reordering: rack
                .map_or(0, |rack| rack.extent)
                .max(config.loss.dup_threshold),
            reordering_seen: rack.map_or(0, |rack| rack.reorderings),
            duplicates: packets.map_or(0, |packets| packets.undo.duplicates),
        }
    }
}
