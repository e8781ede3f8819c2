//! Properties that the flows of a class share, and the private paths that follow from it.

use ackclock_algorithms::registry::CongestionSpec;
use ackclock_algorithms::scheduler::{Ends, Translated};
use ackclock_scenario::{Capacity, Distribution, PacketSizes, Traffic};

use crate::access::transmission;
use crate::calendar::{Class as Order, Kind, Place, Tag};
use crate::draw::entity;
use crate::measurements::Parts;
use crate::one_way::OneWay;
use crate::tcp::{self, Sender, receiver};

/// Links that the packets of a class cross.
pub(crate) struct Route {
    pub(crate) path: Vec<usize>,
    pub(crate) reverse: Option<Vec<usize>>,
    /// Propagation delays of the links of each way, ps.
    pub(crate) delay: u64,
    pub(crate) reverse_delay: u64,
    /// Delays of the private path change during the run: they are taken when a packet comes out of
    /// its last link.
    pub(crate) time_varying: bool,
    /// Links whose rate follows its packets.
    pub(crate) probes: Vec<usize>,
}

/// Bytes of a packet, of its payload, and of an ACK.
pub(crate) struct Sizes {
    pub(crate) packet: u32,
    pub(crate) payload: u32,
    pub(crate) ack: u32,
}

/// Access links of a class: each flow has its own.
pub(crate) struct ClassAccess {
    pub(crate) rate: Option<f64>,
    pub(crate) buffer: Capacity,
}

/// When the flows of a class end.
pub(crate) struct Lifetime {
    /// No packets are sent from here on.
    pub(crate) stop: u64,
    /// Segments of a finite transfer, else `u64::MAX`.
    pub(crate) total: u64,
    /// Flows end for good, with nothing left that could reach whoever has their state then.
    pub(crate) reclaimable: bool,
    /// Flows carry transfers, and connections follow one another in a flow: what bulk flows need
    /// not look at per packet.
    pub(crate) finite: bool,
    pub(crate) reuses_flow_state: bool,
}

/// State that new connections of a class begin with.
pub(crate) struct Opening {
    pub(crate) handshake: bool,
    pub(crate) controller: CongestionSpec,
    pub(crate) ssthresh: f64,
}

/// Properties that the flows of a class share.
pub(crate) struct Class {
    pub(crate) name: String,
    pub(crate) sender: tcp::Config,
    pub(crate) receiver: receiver::Config,
    pub(crate) opening: Opening,
    pub(crate) traffic: Traffic,
    pub(crate) lifetime: Lifetime,
    pub(crate) route: Route,
    pub(crate) access: ClassAccess,
    pub(crate) rtt: Distribution,
    pub(crate) sizes: Sizes,
    pub(crate) priority: u8,
    pub(crate) hosts: ClassHosts,
    /// A sender names its flow anew at each timeout, so that routers that hash flows move it.
    pub(crate) rehashes: bool,
    /// A sender's events take place when its packets reach the first queue, and a receiver's as
    /// part of the packet's departure, which saves two events a packet; not possible where
    /// something on the private path changes during the run.
    pub(crate) coalesced: bool,
    /// The first link of the path, if bulk data crosses all of them without events of its own at a
    /// link, and ACKs share no queue (`engine/fast_path.rs`).
    pub(crate) fast_path: Option<usize>,
    /// The only link of the path, if its departures are events, and all else is the same: what comes
    /// before and after them.
    pub(crate) event_path: Option<usize>,
    pub(crate) one_way: OneWay,
    /// Empty counts of the flows' payload in parts of the window, where these are counted.
    pub(crate) parts: Option<Box<Parts>>,
}

impl Class {
    /// Whether its packets need no events of their own up to the queue.
    pub(crate) fn has_short_path(&self) -> bool {
        self.fast_path.or(self.event_path).is_some()
    }

    /// A sender of a new connection; `number` tells it from others.
    pub(crate) fn new_sender(&self, number: u32) -> Sender {
        let controller = self.opening.controller.build(number);
        Sender::new(controller, &self.sender, self.opening.ssthresh)
    }
}

/// Hosts and code point that the packets of a class show to routers.
#[derive(Debug, Default)]
pub(crate) struct ClassHosts {
    /// Name and number of the hosts at the ends; none where each flow has its own.
    pub(crate) source: Option<(String, u32)>,
    pub(crate) destination: Option<(String, u32)>,
    pub(crate) tunnel: Option<String>,
    /// Ends of data behind a translator; ACKs go the other way.
    pub(crate) translated: Translated,
    pub(crate) dscp: u8,
    /// Links of `path` and of `reverse` after which the code point is lost.
    pub(crate) washed: [u16; 2],
}

impl ClassHosts {
    /// The identities of flow `index` and of its two hosts, as routers hash them; `own` is that of the
    /// flow without a tunnel.
    pub(crate) fn of_flow(&self, index: u64, own: u32) -> (u32, Ends<u32>) {
        let hash = |name: &str, number: u64| (entity(name, number) >> 32) as u32;
        if let Some(tunnel) = &self.tunnel {
            let end = |number| hash(tunnel, number);
            let (source, destination) = (end(1), end(2));
            return (
                end(0),
                Ends {
                    source,
                    destination,
                },
            );
        }
        let host = |named: &Option<(String, u32)>, side: u32| match named {
            Some((name, hosts)) => hash(name, index % u64::from(*hosts)),
            None => own ^ side,
        };
        let ends = Ends {
            source: host(&self.source, 0x5555_5555),
            destination: host(&self.destination, 0xaaaa_aaaa),
        };
        (own, ends)
    }
}

/// Constant delays of a flow's private path, ps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Delays {
    /// Sender to first queue, without transmission.
    pub(crate) sender_access: u64,
    /// Last link to receiver, without transmission.
    pub(crate) receiver_access: u64,
    /// Receiver to first reverse queue, or to the sender where ACKs share no queue; with the ACK's
    /// transmission.
    pub(crate) receiver_return: u64,
    /// Last reverse link to sender; zero where ACKs share no queue.
    pub(crate) sender_return: u64,
}

/// How far a coalesced flow's events lag behind the clocks of its ends: event time less clock, ps.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ClockOffsets {
    /// An established sender.
    pub(crate) sender: u64,
    /// A sender that connects.
    pub(crate) connecting: u64,
    /// A receiver with events of its own.
    pub(crate) receiver: u64,
}

impl ClockOffsets {
    pub(crate) fn longest(self) -> u64 {
        self.sender.max(self.connecting).max(self.receiver)
    }
}

/// [`clock_offsets`] of a flow with this round trip; none where its ends have events of their own.
pub(crate) fn clock_offsets_if_coalesced(class: &Class, rtt: u64) -> ClockOffsets {
    if class.coalesced {
        clock_offsets(class, &delays_of(class, rtt))
    } else {
        ClockOffsets::default()
    }
}

/// Private delays of a flow of the class with this round trip.
pub(crate) fn delays_of(class: &Class, rtt: u64) -> Delays {
    let ack_transmission = class
        .access
        .rate
        .map_or(0, |rate| transmission(class.sizes.ack, rate));
    let shares_reverse = class.route.reverse.is_some();
    split_round_trip(
        rtt,
        class.route.delay,
        class.route.reverse_delay,
        shares_reverse,
        ack_transmission,
    )
}

/// The clock offsets of a coalesced flow of the class with these delays.
pub(crate) fn clock_offsets(class: &Class, delays: &Delays) -> ClockOffsets {
    let transmit = |size| class.access.rate.map_or(0, |rate| transmission(size, rate));
    let variable_size = matches!(
        class.traffic,
        Traffic::Poisson {
            sizes: PacketSizes::Exponential,
            ..
        }
    ) || class.lifetime.reuses_flow_state;
    let own = if variable_size {
        0
    } else {
        transmit(class.sizes.packet)
    };
    // never more than that of an established sender, whose samples and ACKs would come too early
    let connecting = if class.opening.handshake {
        own.min(transmit(class.sizes.ack))
    } else {
        own
    };
    let receiver = if class.route.reverse.is_some() {
        delays.receiver_return
    } else {
        0
    };
    ClockOffsets {
        sender: delays.sender_access + own,
        connecting: delays.sender_access + connecting,
        receiver,
    }
}

/// Order of the start of flow `number`, which has no state yet.
pub(crate) fn start_tag(class: &Class, number: usize) -> Tag {
    let order = if class.coalesced {
        Order::Arrival
    } else {
        Order::Sender
    };
    Tag::of_flow(order, Place::of_number(number), Kind::Start)
}

/// Splits a base round trip over a flow's private path. `forward` and `reverse` are the propagation
/// delays of the links crossed.
///
/// The forward way gets half of the round trip where the links leave room for that, and each
/// direction's rest lies half at the sender's side and half at the receiver's.
pub(crate) fn split_round_trip(
    rtt: u64,
    forward: u64,
    reverse: u64,
    shares_reverse: bool,
    ack_transmission: u64,
) -> Delays {
    let rest = rtt.saturating_sub(forward + reverse);
    let ahead = (rtt / 2).saturating_sub(forward).min(rest);
    let back = rest - ahead;
    let sender_access = ahead / 2;
    if shares_reverse {
        Delays {
            sender_access,
            receiver_access: ahead - sender_access,
            receiver_return: back / 2 + ack_transmission,
            sender_return: back - back / 2 + ack_transmission,
        }
    } else {
        Delays {
            sender_access,
            receiver_access: ahead - sender_access,
            receiver_return: back + 2 * ack_transmission,
            sender_return: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_are_dealt_to_hosts_and_tunnels_hide_them() {
        let mut hosts = ClassHosts {
            source: Some(("lan".to_owned(), 3)),
            ..ClassHosts::default()
        };
        let of = |hosts: &ClassHosts, index| hosts.of_flow(index, 1000 + index as u32);
        let sources: Vec<u32> = (0..6).map(|index| of(&hosts, index).1.source).collect();
        assert_eq!(sources[..3], sources[3..]);
        assert!(sources[0] != sources[1] && sources[1] != sources[2]);
        assert_ne!(of(&hosts, 0).1.destination, of(&hosts, 1).1.destination);
        assert_eq!(of(&hosts, 4).0, 1004);
        hosts.tunnel = Some("wireguard".to_owned());
        assert_eq!(of(&hosts, 0), of(&hosts, 1));
    }

    #[test]
    fn the_round_trip_is_what_was_asked_for() {
        for (rtt, forward, reverse) in [
            (100, 10, 0),
            (100, 80, 0),
            (101, 10, 10),
            (100, 60, 40),
            (7, 0, 0),
        ] {
            let delays = split_round_trip(rtt, forward, reverse, reverse > 0, 0);
            assert_eq!(
                delays.sender_access
                    + delays.receiver_access
                    + delays.receiver_return
                    + delays.sender_return
                    + forward
                    + reverse,
                rtt
            );
            assert!(delays.sender_access.abs_diff(delays.receiver_access) <= 1);
        }
        assert_eq!(
            split_round_trip(100, 10, 0, false, 0),
            Delays {
                sender_access: 20,
                receiver_access: 20,
                receiver_return: 50,
                sender_return: 0
            }
        );
    }
}
