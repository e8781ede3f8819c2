//! noq-proto's whole `Connection` at both ends of ackclock's flows, unmodified.
//!
//! Options: `new-reno`, `cubic` (the default, as in noq) or `bbr3`. Cryptography is [`null`]; all
//! flow-control windows are too large to matter; path MTU discovery is off, since the path takes
//! [`Setup::max_datagram`] and the stack is told so. Everything else is noq's default.
//!
//! BBRv3 draws a seed from the system when it is made; `ackclock_random` gives it one that follows
//! from the scenario's.

#[path = "../../quic/end.rs"]
mod end;
#[path = "../../quic/handshake.rs"]
mod handshake;
mod null;
mod stack;

use std::sync::Arc;
use std::time::Instant;

use ackclock_endpoint::{EndpointFactory, Ends, Setup, export_endpoints};
use noq_proto as proto;
use noq_proto::congestion::{
    Bbr3Config, Controller, ControllerFactory, CubicConfig, NewRenoConfig,
};

/// Connections of noq-proto.
#[derive(Clone, Copy, Debug, Default)]
pub struct Noq;

export_endpoints!(Noq);

/// BBRv3 whose random numbers follow from a seed.
struct Seeded {
    config: Arc<Bbr3Config>,
    seed: u64,
}

impl ControllerFactory for Seeded {
    fn build(self: Arc<Self>, now: Instant, mtu: u16) -> Box<dyn Controller> {
        ackclock_random::seeded(self.seed, || Arc::clone(&self.config).build(now, mtu))
    }
}

fn controller(
    options: &str,
    seed: u64,
) -> Result<Arc<dyn ControllerFactory + Send + Sync>, String> {
    Ok(match options {
        "new-reno" => Arc::new(NewRenoConfig::default()),
        "" | "cubic" => Arc::new(CubicConfig::default()),
        "bbr3" if !ackclock_random::CHOSEN => {
            return Err(
                "bbr3 draws random numbers: build with --cfg getrandom_backend=\"custom\", \
                        as adapters/.cargo/config.toml has it where RUSTFLAGS is not set"
                    .into(),
            );
        }
        "bbr3" => Arc::new(Seeded {
            config: Arc::new(Bbr3Config::default()),
            seed,
        }),
        _ => {
            return Err(format!(
                "options are \"new-reno\", \"cubic\" or \"bbr3\", not {options:?}"
            ));
        }
    })
}

impl EndpointFactory for Noq {
    fn name(&self) -> &str {
        "noq"
    }

    fn header(&self) -> u32 {
        28
    }

    fn connect(&self, setup: &Setup) -> Result<Ends, String> {
        end::connect(setup, controller(&setup.options, setup.seed)?)
    }
}
