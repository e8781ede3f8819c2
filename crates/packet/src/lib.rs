//! The packet engine: what happens on a congested link, packet by packet.

mod outcome;

pub use outcome::{FlowOutcome, FlowTrace, Ledger, LinkOutcome, LinkTrace, Outcome, Traces};
