//! quinn-proto's whole `Connection` at both ends of ackclock's flows, unmodified.
//!
//! Options: `new-reno`, `cubic` (the default, as in quinn) or `bbr`. Cryptography is [`null`]; all
//! flow-control windows are too large to matter; path MTU discovery is off, since the path takes
//! [`Setup::max_datagram`] and the stack is told so. Everything else is quinn's default.

#[path = "../../quic/end.rs"]
mod end;
#[path = "../../quic/handshake.rs"]
mod handshake;
mod null;
mod stack;

use std::sync::Arc;

use ackclock_endpoint::{EndpointFactory, Ends, Setup, export_endpoints};
use ackclock_random as _; // the source of quinn's random numbers, if it asks for any
use quinn_proto as proto;
use quinn_proto::congestion::{BbrConfig, ControllerFactory, CubicConfig, NewRenoConfig};

/// Connections of quinn-proto.
#[derive(Clone, Copy, Debug, Default)]
pub struct Quinn;

export_endpoints!(Quinn);

fn controller(options: &str) -> Result<Arc<dyn ControllerFactory + Send + Sync>, String> {
    Ok(match options {
        "new-reno" => Arc::new(NewRenoConfig::default()),
        "" | "cubic" => Arc::new(CubicConfig::default()),
        "bbr" => Arc::new(BbrConfig::default()),
        _ => {
            return Err(format!(
                "options are \"new-reno\", \"cubic\" or \"bbr\", not {options:?}"
            ));
        }
    })
}

impl EndpointFactory for Quinn {
    fn name(&self) -> &str {
        "quinn"
    }

    fn header(&self) -> u32 {
        28
    }

    fn connect(&self, setup: &Setup) -> Result<Ends, String> {
        end::connect(setup, controller(&setup.options)?)
    }
}
