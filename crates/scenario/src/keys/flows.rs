//! Keys of a class of flows.

use ackclock_algorithms::Time;

use super::Tcp;
use super::declare::{joined, keys};
use super::traffic::TrafficOf;
use crate::form::{
    ByHand, Choice, Form, Integer, Limit, Name, Or, PacketSize, Path, Rate, ReadByHand, Span, Times,
};
use crate::key::Fallback::Derived;
use crate::key::{Key, Kind, Section};
use crate::model::{LinkId, Traffic};
use crate::options::{Dscp, Nat, Style};
use crate::reader::{Reader, Table};
use crate::tree::Node;
use crate::value::{Capacity, Distribution};

/// `[[flows]]`.
pub const FLOWS: Section = Section {
    name: "flows",
    repeated: true,
    doc: "A class of flows that share a description.",
    keys: &joined::<{ FlowClass::KEYS.len() + Tcp::KEYS.len() }>(FlowClass::KEYS, Tcp::KEYS),
};

keys! {
    /// Flows that share a description.
    pub struct FlowClass / FlowClassDraft {
        /// Unique name, used in changes and results.
        name: String as ReadByHand<Name> = Derived("flows-1, flows-2, ... by position");
        /// Number of flows (at the start, where a change sets it).
        count: u32 as Integer<0, { u32::MAX as i64 }> = 1;
        /// Links that the data crosses, in order.
        path: Vec<LinkId> as ByHand<Path> = Derived("by `from` and `to`; in a topology template, its whole length");
        /// Links that the ACKs cross, in order, sharing those queues.
        reverse_path: Option<Vec<LinkId>> as ByHand<Path> = Derived("none; with `from` and `to` the shortest way back, where there is one"), or "none" = "ACKs return over a pure delay";
        [
            /// Node of the sender, instead of `path`: the data takes the fewest links.
            from: Name = Derived("none");
            /// Node of the receiver.
            to: Name = Derived("none");
        ]
        /// Base round-trip time: propagation alone, the links' included. What the links do not cover
        /// lies on the access sides.
        rtt: Distribution as ReadByHand<Times> = Derived("the propagation of `path` and `reverse_path`; without a reverse path, twice that of `path`");
        /// Priority of the class's packets at links with a priority scheduler: higher ones go first.
        priority: u8 as Integer<0, 7> = 0;
        /// Name of the senders' hosts. Classes that give the same name share its hosts.
        source: Option<String> as Or<Name> = "own", or "own" = "each flow has a sending host of its own";
        /// Number of hosts with that name: the flows, or connections, of a class are dealt to them
        /// in turn.
        source_hosts: u32 as Integer<1, 65536> = 1;
        /// Name of the receivers' hosts, which may be the `source` of other classes.
        destination: Option<String> as Or<Name> = "own", or "own" = "each flow has a receiving host of its own";
        /// Number of hosts with that name.
        destination_hosts: u32 as Integer<1, 65536> = 1;
        /// Differentiated services code point of the class's packets, ACKs included.
        dscp: Dscp as Choice;
        /// Hosts of the class that stand behind a network address translator: a queue takes them for
        /// one, unless it looks behind the translator (`nat` of cake).
        nat: Nat as Choice;
        /// Name of a tunnel that carries the class: queues that hash addresses and ports see one flow
        /// between two hosts, whatever it carries; `exact` buckets tell its flows apart. Classes that
        /// give the same name share the tunnel.
        tunnel: Option<String> as Or<Name> = "none", or "none" = "each flow shows its own addresses and ports";
        /// Rate of the sender's uplink and of the receiver's downlink, each with a queue of its own.
        access_rate: Option<f64> as Or<Rate> = "unlimited", or "unlimited" = "access adds delay only";
        /// Limit of each access queue (drop-tail).
        access_buffer: Capacity as ReadByHand<Limit> = "unlimited";
        /// When flows start.
        start: Distribution as Times = "0 s";
        /// When senders stop: they send nothing new, and nothing again.
        stop: Option<Time> as Or<Span> = "never", or "never" = "at the end of the run";
        /// Traffic that the application sends.
        traffic: Traffic as ReadByHand<TrafficOf> = "bulk";
        /// Size of a full data packet on the wire, headers included.
        packet_size: u32 as PacketSize = "1500 B";
        /// Headers in each data packet (IPv4 and TCP without options: 40 B).
        header_size: u32 as PacketSize = "40 B";
    }
    with {
        /// How TCP classes behave. Unused by UDP traffic.
        tcp: Tcp,
    }
}
