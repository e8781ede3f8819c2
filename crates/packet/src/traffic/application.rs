//! Demands of applications on their connections: sizes of transfers, think times, gaps between
//! connections.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use ackclock_algorithms::{Owner, Stream, Time};
use ackclock_scenario::Traffic;

use super::packmime::PackMime;
use crate::draw::entity;

/// The application of a session, or a source of connections.
pub(crate) struct Application {
    /// Sizes of transfers.
    sizes: Stream,
    /// Think times, or gaps between connections.
    times: Stream,
    pub(crate) packmime: Option<PackMime>,
    /// Seed of the run, and what the connections' own streams are derived from.
    pub(crate) seed: u64,
    pub(crate) base: u64,
    /// Connections opened so far, and the sum of their base round trips, ps.
    pub(crate) opened: u64,
    pub(crate) round_trips: u128,
    /// When the next transfer starts; entries of the calendar for other times are void.
    pub(crate) next_at: u64,
    /// Flows whose connections of this source are over, to be used again from a time on: time,
    /// number and slot. No other source uses them: what they count is in this one's row.
    pub(crate) idle_flows: BinaryHeap<Reverse<(u64, u32, u32)>>,
}

impl Application {
    pub(crate) fn new(name: &str, index: u64, seed: u64, traffic: &Traffic) -> Self {
        let entity_of = |what: &str| entity(&format!("{name}\u{1f}{what}"), index);
        let packmime = match traffic {
            Traffic::PackMime {
                rate, mean_size, ..
            } => Some(PackMime::new(*rate, *mean_size)),
            _ => None,
        };
        Self {
            sizes: Stream::new(seed, Owner::Traffic, entity_of("sizes")),
            times: Stream::new(seed, Owner::Traffic, entity_of("times")),
            packmime,
            seed,
            base: entity_of("connections"),
            opened: 0,
            round_trips: 0,
            next_at: u64::MAX,
            idle_flows: BinaryHeap::new(),
        }
    }

    pub(crate) fn draw_size(&mut self, traffic: &Traffic) -> u64 {
        match (&mut self.packmime, traffic) {
            (Some(packmime), _) => packmime.size(&mut self.sizes),
            (None, Traffic::Http { size, .. } | Traffic::Arrivals { size, .. }) => {
                size.draw(&mut self.sizes)
            }
            _ => 1,
        }
    }

    /// Time to the next connection of a source, or a session's think time, ps; at least one.
    pub(crate) fn draw_time(&mut self, traffic: &Traffic) -> u64 {
        let seconds = match (&mut self.packmime, traffic) {
            (Some(packmime), _) => packmime.gap(&mut self.times),
            (None, Traffic::Http { think, .. }) => self.times.exponential(*think),
            (None, Traffic::Arrivals { rate, .. }) => self.times.exponential(1.0 / rate),
            _ => f64::INFINITY,
        };
        // beyond the longest run: never
        Time::from_seconds(seconds.min(1e7)).0.max(1)
    }
}
