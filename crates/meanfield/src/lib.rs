//! The mean-field engine: the distribution of the congestion windows of many flows that share a
//! queue.
//!
//! With many flows the histogram of their windows becomes a density with an atom at the largest
//! window, which obeys a transport equation: windows grow with the ACKs that come back and jump
//! down with the losses that are reported, while the flows together build the queue that delays and
//! drops. It says more than an average window (a fluid model) and costs the same for a hundred
//! flows as for ten thousand.
//!
//! - [`RenoStationary`] and [`Stationary`]: the law of a window at a constant loss probability, in closed form for Reno and numerically for any
//!   increase i(w) and decrease d(w).
//! - [`MeanField`]: the dynamics, from a scenario or from plain inputs ([`Model`]).
//! - [`RedLink`]: stability of RED's equilibrium: the bounds of Reynier (2006), and the true threshold of the linearised equations.
//!
//! ```
//! use ackclock_meanfield::{MeanField, Options};
//!
//! let scenario = ackclock_scenario::parse(
//!     r#"
//!     [scenario]
//!     name = "35 users on a gigabit"
//!     duration = "5 s"
//!     [[link]]
//!     name = "router"
//!     rate = "1 Gbit/s"
//!     delay = "5 ms"
//!     queue = { aqm = "drop-tail", capacity = "235 packets" }
//!     [[flows]]
//!     count = 35
//!     path = ["router"]
//!     rtt = "10 ms"
//!     packet_size = "1064 B"
//!     congestion = "reno"
//!     max_window = "64 packets"
//!     "#,
//!     "example.toml",
//! )
//! .unwrap();
//! let outcome = MeanField::new(&scenario, Options::default())?.finish()?;
//! assert!(outcome.link.utilization < 0.97); // they synchronise
//! # Ok::<(), ackclock_meanfield::Error>(())
//! ```

mod chebyshev;
mod engine;
mod error;
mod grid;
mod history;
mod law;
mod model;
mod outcome;
mod scenario;
mod stability;
mod stationary;

pub use engine::MeanField;
pub use error::Error;
pub use law::{Aimd, Hazard, WindowLaw};
pub use model::{
    Action, Bottleneck, Class, Closure, DropTail, Event, Model, Options, QueueLaw, RegisteredAqm,
    Unresponsive,
};
pub use outcome::{Balance, ClassSummary, ClassTrace, LinkSummary, Outcome, Snapshot, Traces};
pub use scenario::RegisteredTcp;
pub use stability::{Crossing, RedEquilibrium, RedLink, WindowResponse};
pub use stationary::{RenoStationary, SQUARE_ROOT_LAW, Stationary};
