//! Parts of the example of Reynier (2006), section 5: 1 Gbit/s, 10 ms, windows of at most 64 packets of
//! 1064 B.

use std::sync::Arc;

use ackclock_algorithms::fluid::Averaging;
use ackclock_meanfield::{Action, Bottleneck, Class, Event, QueueLaw, WindowLaw};

/// Packets a second.
pub(crate) const RATE: f64 = 1e9 / (8.0 * 1064.0);

/// A link of so many packets a second, with a buffer in packets.
pub(crate) fn bottleneck(rate: f64, buffer: f64, aqm: Arc<dyn QueueLaw>) -> Bottleneck {
    Bottleneck {
        rate,
        buffer,
        wire_loss: 0.0,
        aqm,
        marks: false,
        averaging: Averaging::Exponential,
    }
}

/// The class of all flows.
pub(crate) fn users(law: Arc<dyn WindowLaw>) -> Class {
    Class {
        name: "users".to_owned(),
        law,
        rtt: 0.01,
        access: None,
        w_max: 64.0,
        open_ended: false,
        ecn: false,
        origin: 0,
    }
}

/// So many of them begin at 0 s with one window.
pub(crate) fn start(flows: f64, window: f64) -> Event {
    Event {
        at: 0.0,
        what: Action::Start {
            class: 0,
            flows,
            window,
        },
    }
}
