//! A class of flows on average.

use ackclock_algorithms::Value;
use ackclock_algorithms::fluid::Path;
use ackclock_algorithms::meta::Meta;
use ackclock_algorithms::registry::TcpLaw;
use ackclock_scenario::{Capacity, FlowClass, Scenario, Traffic};

use crate::{Refusal, refuse};

/// A class of flows.
#[derive(Clone, Debug)]
pub enum Flows {
    /// Senders with a window and always something to send.
    Sender(Box<Sender>),
    /// Traffic that does not react.
    Source(Source),
}

/// Senders with a window.
#[derive(Clone, Debug)]
pub struct Sender {
    /// Name of the class.
    pub name: String,
    /// Number of flows.
    pub count: f64,
    /// Links that data crosses.
    pub path: Vec<usize>,
    /// How the window moves.
    pub law: TcpLaw,
    /// The parameters of the congestion control.
    pub values: Vec<(&'static str, Value)>,
    /// The access links; `None` where they add delay only.
    pub access: Option<Access>,
    /// Whether its packets can carry a mark (ECN).
    pub ecn: bool,
    /// Parts of the scenario that the averages leave out.
    pub notes: Vec<String>,
}

/// Access links of one rate at both ends of each flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Access {
    /// Packets/s: no flow sends faster. A window beyond rate times round trip waits at the sender's
    /// own link.
    pub rate: f64,
    /// The transmission time on them in the base round trip: a data packet and an ACK at each end,
    /// s.
    pub transmission: f64,
}

/// Traffic that does not react.
#[derive(Clone, Debug)]
pub struct Source {
    /// Name of the class.
    pub name: String,
    /// Number of sources.
    pub count: f64,
    /// Links that it crosses.
    pub path: Vec<usize>,
    /// Mean rate of one source, in packets of TCP's size, packets/s.
    pub rate: f64,
    /// Parts of the scenario that the averages leave out.
    pub notes: Vec<String>,
}

impl Access {
    /// Access links of `rate` bit/s for packets of the class.
    #[must_use]
    pub fn new(rate: f64, flows: &FlowClass) -> Self {
        Self {
            rate: rate / (8.0 * f64::from(flows.packet_size)),
            transmission: 16.0 * f64::from(flows.packet_size + flows.tcp.ack_size) / rate,
        }
    }
}

impl Flows {
    /// The averages of a class of `scenario`, with packets of `packet_size` bytes.
    ///
    /// # Errors
    /// When flows come and go, or the congestion control has no fluid law.
    pub fn new(scenario: &Scenario, class: usize, packet_size: u32) -> Result<Self, Refusal> {
        let flows = &scenario.flows[class];
        let what = || format!("flows `{}`", flows.name);
        let per_packet = 8.0 * f64::from(packet_size);
        let source = |rate: f64, note: Option<&str>| {
            Ok(Self::Source(Source {
                name: flows.name.clone(),
                count: f64::from(flows.count),
                path: flows.path.clone(),
                rate: rate / per_packet,
                notes: note.iter().map(|n| format!("{}: {n}", what())).collect(),
            }))
        };
        match &flows.traffic {
            Traffic::Bulk => Ok(Self::Sender(Box::new(Sender::new(flows)?))),
            Traffic::Cbr { rate, .. } => source(*rate, None),
            Traffic::Poisson { rate, .. } => {
                source(*rate, Some("Poisson arrivals enter by their mean rate"))
            }
            Traffic::OnOff { rate, on, off, .. } => source(
                rate * on / (on + off),
                Some("on-off traffic enters by its mean rate"),
            ),
            Traffic::Transfer { .. } => refuse(
                what(),
                "finite transfers come and go; averages are those of flows that stay",
            ),
            Traffic::Http { .. } | Traffic::Arrivals { .. } | Traffic::PackMime { .. } => refuse(
                what(),
                "sessions and arrivals of short transfers come and go; averages are those of flows that stay",
            ),
            Traffic::AppLimited { .. } => refuse(
                what(),
                "a window that the application limits follows no law of its own",
            ),
        }
    }
}

impl Sender {
    fn new(flows: &FlowClass) -> Result<Self, Refusal> {
        let what = || format!("flows `{}`", flows.name);
        let congestion = &flows.tcp.congestion;
        let Some(law) = congestion.fluid() else {
            return refuse(
                format!("congestion control `{}` of {}", congestion.kind(), what()),
                crate::no_law(congestion.meta()),
            );
        };
        let mut notes = Vec::new();
        let mut note = |text: &str| notes.push(format!("{}: {text}", what()));
        // a law of marks is that of another control where packets cannot carry any
        let other = |meta: &Meta| meta.without_ecn.is_some() && !flows.tcp.ecn;
        let meta = congestion.meta().filter(|meta| !other(meta));
        if let Some(text) = meta.and_then(|meta| meta.approximation) {
            note(text);
        }
        if flows.tcp.delayed_ack {
            note("every packet is acknowledged (no delayed ACKs)");
        }
        let access = flows.access_rate.map(|rate| Access::new(rate, flows));
        if access.is_some() && flows.access_buffer != Capacity::Unlimited {
            note("what waits at the sender's own link has no limit");
        }
        Ok(Self {
            name: flows.name.clone(),
            count: f64::from(flows.count),
            path: flows.path.clone(),
            law,
            values: congestion.values(),
            access,
            ecn: flows.tcp.ecn,
            notes,
        })
    }
}

/// Growth a and decrease b of the AIMD law, i(w) = a / w and d(w) = b w, that a sender follows in
/// its region of Reno growth; `None` without such a region.
#[must_use]
pub fn reno_region(law: &TcpLaw) -> Option<(f64, f64)> {
    let exists = law.small_below(&Path::fixed(0.1)) > 0.0;
    exists.then(|| law.small_window(1.0))
}
