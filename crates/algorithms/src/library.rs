//! Endpoints and congestion controllers of others: a scenario's words for them, and the
//! engine's end of the interface.

use std::sync::Arc;

use ackclock_endpoint::EndpointFactory;

use crate::Stream;
use crate::congestion::{CongestionControl, Needs, Reduction, Window};

/// The interface that a library exports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LibraryKind {
    /// The two ends of a connection: a whole transport.
    Endpoint,
    /// A congestion controller alone, which steers the engine's TCP sender.
    Controller,
}

impl LibraryKind {
    /// Both kinds.
    pub const ALL: [Self; 2] = [Self::Endpoint, Self::Controller];

    /// Its name in a scenario.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Endpoint => "endpoint",
            Self::Controller => "controller",
        }
    }
}

/// A shared library that a scenario names in place of a congestion control. It is opened when a run
/// begins, not before: an engine that meets one that is not open refuses it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Library {
    /// The interface that it exports.
    pub kind: LibraryKind,
    /// Its file.
    pub path: String,
    /// A text for the library.
    pub options: String,
}

/// The parameters of a [`Library`] in a scenario.
pub const LIBRARY_KEYS: [&str; 2] = ["library", "options"];

/// Services that an open library's controller asks of its endpoint: it owns the window, and may pace.
pub const LIBRARY_NEEDS: Needs = Needs {
    pacing: true,
    delivery: true,
    marks: false,
    counted: false,
    loss_after_mark: false,
    every_ack: false,
    spread_backoff: false,
    ca_state: false,
};

/// Stands for the controller of a library that is not open.
pub(crate) struct Closed;

impl CongestionControl for Closed {
    fn on_ack(&mut self, _: &crate::congestion::Ack, _: &mut Window, _: &mut Stream) {}

    fn on_congestion(&mut self, _: &Reduction, _: &mut Window) {}

    fn needs(&self) -> Needs {
        LIBRARY_NEEDS
    }
}

/// Whole transports in place of the engine's TCP.
#[derive(Clone, Debug)]
pub struct Endpoints {
    /// Makes the two ends of each connection.
    pub factory: Arc<dyn EndpointFactory>,
    /// A text for it.
    pub options: String,
}
