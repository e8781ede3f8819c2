//! Tests of the sender as a whole.

mod linux;
mod rack;
mod recovery;
mod resume;
mod standards;
mod undo;

use super::*;
use ackclock_algorithms::congestion::{DctcpParams, Form};
use ackclock_algorithms::registry::CongestionSpec;
use ackclock_algorithms::{Owner, Value};
use ackclock_scenario::{LossDetection, Recovery, Style, Tcp, Undo, WindowReduction};

const MS: u64 = 1_000_000_000;

/// Options as the RFCs have them, with a smallest timeout of 200 ms.
fn options(recovery: Recovery, initial_window: f64) -> Tcp {
    let text = "[scenario]\nduration = \"1 s\"\n[[link]]\nname = \"l\"\nrate = \"1 Mbit/s\"\n\
                [[flows]]\npath = [\"l\"]\nrtt = \"0.1 s\"\n\
                congestion = \"reno\"\nmin_rto = \"200 ms\"\nmax_rto = \"60 s\"\ninitial_rto = \"1 s\"\n\
                limited_transmit = true\necn = true\nreduction = \"at-once\"\nloss_detection = \"dup-acks\"\n";
    let mut scenario = ackclock_scenario::parse(text, "test").expect("the scenario is right");
    let tcp = scenario.flows.remove(0).tcp;
    Tcp {
        recovery,
        initial_window,
        ..tcp
    }
}

/// A handshake without losses, its sample `rtt`.
fn first_syn(rtt: u64) -> Handshake {
    Handshake {
        rtt,
        ..Handshake::default()
    }
}

struct Bench {
    sender: Sender,
    config: Config,
    random: Stream,
    now: u64,
}

impl Bench {
    fn new(recovery: Recovery, initial_window: f64) -> Self {
        let config = Config::new(&options(recovery, initial_window));
        let reno = CongestionSpec::from_values("reno", &[]).expect("reno is registered");
        let mut sender = Sender::new(reno.build(0), &config, f64::INFINITY);
        sender.open(1000 * MS, first_syn(0), &config);
        sender.written = u64::MAX;
        Self {
            sender,
            config,
            random: Stream::new(1, Owner::Flow, 0),
            now: MS,
        }
    }

    /// All that may be sent now; retransmissions are negative.
    fn sent(&mut self) -> Vec<i64> {
        let mut segments = Vec::new();
        while let Some(segment) = self.sender.next_segment(self.now, &self.config) {
            segments.push(if segment.retransmission {
                -(segment.seq as i64)
            } else {
                segment.seq as i64
            });
        }
        self.sender.on_nothing_to_send();
        segments
    }

    fn ack(&mut self, cum: u64, sack: u64, flags: u8) -> Vec<i64> {
        self.now += 10 * MS;
        self.hear(cum, sack, Flags(flags), 100 * MS);
        self.sent()
    }

    /// An ACK arrives now that echoes what left one round trip ago.
    fn hear(&mut self, cum: u64, sack: u64, flags: Flags, rtt: u64) {
        let ack = Ack {
            at: self.now,
            cum,
            echo: self.now - rtt,
            sack,
            blocks: 0,
            flags,
            marked: 0,
        };
        self.sender
            .on_ack(self.now, &ack, &[], &self.config, &mut self.random);
    }
}
