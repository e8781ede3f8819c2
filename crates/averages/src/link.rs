//! A link and its queue on average.

use ackclock_algorithms::Value;
use ackclock_algorithms::aqm::{LinkView, Spacing};
use ackclock_algorithms::registry::AqmLaw;
use ackclock_scenario as scenario;

use crate::jitter::mean_jitter;
use crate::{Refusal, refuse};

/// A link and its queue.
#[derive(Clone, Debug)]
pub struct Link {
    /// Its name.
    pub name: String,
    /// Packets/s.
    pub rate: f64,
    /// Largest queue, packets; infinite without a limit.
    pub limit: f64,
    /// How its AQM drops or marks.
    pub law: AqmLaw,
    /// The parameters of its AQM.
    pub values: Vec<(&'static str, Value)>,
    /// How drops at the law's probability are spaced.
    pub spacing: Spacing,
    /// The weight of a packet in queue, thresholds and probability of the law: its size in mean
    /// packets where the AQM counts bytes.
    pub packet_weight: f64,
    /// Whether the AQM marks packets that can carry a mark.
    pub marks: bool,
    /// Fraction of what leaves the queue that the wire loses.
    pub wire_loss: f64,
    /// The mean delay that jitter adds, s.
    pub jitter: f64,
    /// The approximation of its AQM's law.
    pub approximation: Option<String>,
    /// Parts of the scenario that the averages leave out.
    pub notes: Vec<String>,
}

impl Link {
    /// The averages of `link` with packets of `packet_size` bytes. Drops are counted at the mean
    /// rate of the AQM's spacing, or at its initial probability (`effective_spacing` false: the
    /// papers' choice).
    ///
    /// # Errors
    /// When the link has something that only the packet engine follows, or its AQM has no fluid
    /// law.
    pub fn new(
        link: &scenario::Link,
        packet_size: u32,
        effective_spacing: bool,
    ) -> Result<Self, Refusal> {
        let what = || format!("link `{}`", link.name);
        let mut single_packets = link.clone();
        (single_packets.loss, single_packets.jitter) = (None, None);
        if let Some(more) = single_packets.packet_only() {
            return refuse(
                format!("{}: {more}", what()),
                "this engine has no averages of it; the packet engine follows single packets",
            );
        }
        let limit = packets(link.capacity, packet_size);
        let view = LinkView {
            rate: link.rate,
            delay: link.delay.seconds(),
            capacity_packets: limit,
        };
        let Some(law) = link.aqm.fluid(&view) else {
            return refuse(
                format!("AQM `{}` of {}", link.aqm.kind(), what()),
                crate::no_law(link.aqm.meta()),
            );
        };
        let mut notes = Vec::new();
        let mut note = |text: &str| notes.push(format!("{}: {text}", what()));
        let approximation = link.aqm.meta().and_then(|meta| meta.approximation);
        let spacing = if effective_spacing {
            law.spacing()
        } else {
            Spacing::Bernoulli
        };
        if spacing != Spacing::Bernoulli {
            note(&format!(
                "drops at p are counted at the mean rate of their spacing, about {:.2} p",
                spacing.rate_factor()
            ));
        }
        let values = link.aqm.values();
        let value = |name: &str| values.iter().find(|(key, _)| *key == name);
        let marks = value("ecn").is_some_and(|(_, value)| *value == Value::Flag(true));
        if value("ce_threshold").is_some_and(|(_, value)| matches!(value, Value::Number(_))) {
            return refuse(
                format!("`ce_threshold` of {}", what()),
                "no law is known for marks above a waiting time beside those of CoDel",
            );
        }
        if marks && value("mark_ceiling").is_some() {
            note("ECN packets are marked at any probability, without a ceiling");
        }
        let rate = link.rate / (8.0 * f64::from(packet_size));
        impairments_left_out(link)
            .iter()
            .for_each(|text| note(text));
        Ok(Self {
            name: link.name.clone(),
            rate,
            wire_loss: link.loss.map_or(0.0, |loss| loss.mean_loss()),
            jitter: link
                .jitter
                .as_ref()
                .map_or(0.0, |jitter| mean_jitter(jitter, rate)),
            limit,
            packet_weight: law.packet_weight(packet_size),
            law,
            spacing,
            marks,
            values,
            approximation: approximation.map(|text| format!("{}: {text}", what())),
            notes,
        })
    }
}

/// A limit in packets of `packet_size` bytes.
#[must_use]
pub fn packets(capacity: scenario::Capacity, packet_size: u32) -> f64 {
    match capacity {
        scenario::Capacity::Packets(packets) => f64::from(packets),
        scenario::Capacity::Bytes(bytes) => bytes as f64 / f64::from(packet_size),
        scenario::Capacity::Unlimited => f64::INFINITY,
    }
}

/// The parts of a wire's loss and jitter that the averages leave out.
fn impairments_left_out(link: &scenario::Link) -> Vec<String> {
    let mut left_out = Vec::new();
    if let Some(burst) = link.loss.map(|loss| loss.mean_burst())
        && burst > 1.5
    {
        left_out.push(format!(
            "losses on the wire count one by one, not as bursts of {burst:.3} packets"
        ));
    }
    if let Some(jitter) = &link.jitter {
        let text = if jitter.reorder {
            "jitter enters by its mean; what overtaking does to senders is left out"
        } else {
            "jitter enters by its mean, that of waiting for earlier packets included, at the rate of the link"
        };
        left_out.push(text.to_owned());
    }
    left_out
}
