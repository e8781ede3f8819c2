//! Changes of the scenario during the run.

use ackclock_algorithms::Time;
use ackclock_scenario::{Distribution, Setting, Traffic};

use super::Engine;
use crate::calendar::{Class as Order, Kind};
use crate::flow::{Ends, FlowSlot};
use crate::tcp::State;
use crate::{Error, draw};

impl Engine {
    pub(super) fn on_change(&mut self, index: usize) -> Result<(), Error> {
        let now = self.now;
        self.catch_up_on_links(now);
        self.catch_up_all(now);
        let set = self.changes[index].set.clone();
        match set {
            Setting::LinkRate(link, rate) => self.links[link].on_rate_change(now, rate),
            Setting::LinkDelay(..) => {} // the link's schedule knows
            Setting::LinkLoss(link, loss) => self.links[link].set_loss(&loss),
            Setting::LinkCapacity(link, capacity) => {
                self.links[link].advance(now);
                self.links[link].set_capacity(capacity);
            }
            Setting::AqmParameter(link, name, value) => {
                self.links[link].advance(now);
                let set = self.links[link].set_parameter(now, &name, value);
                set.map_err(|message| {
                    Error::Unsupported(format!("{}: {message}", self.changes[index].at))
                })?;
            }
            Setting::Rtt(class, rtt) => self.change_rtt(class, &rtt),
            Setting::AccessRate(class, rate) => {
                self.classes[class].access.rate = Some(rate);
                for flow in self.slots(class) {
                    let state = &mut self.flows[flow];
                    for access in [&mut state.uplink, &mut state.downlink]
                        .into_iter()
                        .flatten()
                    {
                        access.set_rate(rate);
                    }
                    self.flows[flow].set_delays(&self.classes[class]);
                }
            }
            Setting::Count(class, count) => self.change_count(class, count),
            Setting::TrafficRate(class, rate) => self.change_traffic_rate(class, rate),
            Setting::MaxWindow(class, segments) => {
                self.classes[class].sender.max_window = u64::from(segments);
                for flow in self.slots(class) {
                    if matches!(&self.flows[flow].ends, Ends::Tcp { sender, .. } if sender.state != State::Closed)
                    {
                        self.send(flow);
                    }
                }
            }
        }
        Ok(())
    }

    fn change_rtt(&mut self, class: usize, rtt: &Distribution) {
        let flows = self.class_flows[class].clone();
        let count = flows.len() as u32;
        self.classes[class].rtt = rtt.clone();
        // what the links take of the new round trip is their delay now
        let delay = |path: &[usize]| {
            path.iter()
                .map(|&link| self.links[link].delay_at(self.now))
                .sum::<u64>()
        };
        let built = &self.classes[class];
        let (forward, reverse) = (
            delay(&built.route.path),
            delay(built.route.reverse.as_deref().unwrap_or(&[])),
        );
        (
            self.classes[class].route.delay,
            self.classes[class].route.reverse_delay,
        ) = (forward, reverse);
        let least = Time(forward + reverse).seconds();
        for (index, number) in flows.enumerate() {
            let slot = self.rows[number].slot();
            let state = slot.map(|slot| &mut self.flows[slot]);
            let (random, own) = match (&mut self.rows[number], state) {
                (FlowSlot::Waiting { random, rtt, .. }, _) => (random, rtt),
                (FlowSlot::Live(_), Some(state)) => (&mut state.random, &mut state.rtt),
                (FlowSlot::Live(_) | FlowSlot::Over(_), _) => continue,
            };
            let seconds = draw::draw(rtt, least, index as u32, count, random);
            *own = Time::from_seconds(seconds).0;
            if let Some(slot) = slot {
                self.flows[slot].set_delays(&self.classes[class]);
            }
        }
    }

    fn change_count(&mut self, class: usize, count: u32) {
        let now = self.now;
        for (index, number) in self.class_flows[class].clone().enumerate() {
            let wanted = index < count as usize;
            let flow = match &mut self.rows[number] {
                FlowSlot::Live(slot) => *slot as usize,
                FlowSlot::Over(_) => continue,
                FlowSlot::Waiting { stopped, .. } => {
                    *stopped = !wanted;
                    if wanted {
                        self.calendar.push_far(now, self.start_tag(number));
                    }
                    continue;
                }
            };
            let state = &mut self.flows[flow];
            if !wanted {
                state.stopped = true;
            } else if state.start == u64::MAX {
                state.stopped = false;
                self.calendar
                    .push_far(now, self.flow_tag(flow, Kind::Start, Order::Sender));
            } else if state.stopped {
                state.stopped = false;
                match &state.ends {
                    Ends::ConnectionSource => self.resume(flow),
                    Ends::Polled(_) => self.write_polled(flow),
                    Ends::Udp(_) => self.schedule_source(flow, now),
                    // what was outstanding is repaired by the timer, which may have expired unheard
                    Ends::Tcp { .. } => {
                        self.resume(flow);
                        self.flows[flow].scheduled.timer = u64::MAX;
                        self.send(flow);
                        self.arm_timer(flow);
                    }
                }
            }
        }
    }

    fn change_traffic_rate(&mut self, class: usize, new: f64) {
        let old = match &mut self.classes[class].traffic {
            Traffic::Cbr { rate, .. }
            | Traffic::OnOff { rate, .. }
            | Traffic::Poisson { rate, .. }
            | Traffic::AppLimited { rate, .. } => std::mem::replace(rate, new),
            Traffic::Arrivals { rate, .. } | Traffic::PackMime { rate, .. } => {
                *rate = new;
                self.change_arrivals(class, new);
                return;
            }
            Traffic::Bulk | Traffic::Transfer { .. } | Traffic::Http { .. } => return,
        };
        let interval = f64::from(self.classes[class].sizes.payload) * 8e12;
        for flow in self.slots(class) {
            let now = self.now;
            let state = &mut self.flows[flow];
            match &mut state.ends {
                Ends::Udp(source) => source.rate = new,
                // what has been written stays, the part of a segment too
                Ends::Tcp { .. } | Ends::Polled(_)
                    if state.start != u64::MAX
                        && now > state.start + state.clock_offsets.sender =>
                {
                    let now = now - state.clock_offsets.sender;
                    let filled = (now - state.transfer.written_from) as f64 * old / interval;
                    let part = (filled - filled.floor()) * interval / new;
                    state.transfer.written_before += filled as u64;
                    state.transfer.written_from = now.saturating_sub(part as u64);
                    self.write_at_new_rate(flow);
                }
                Ends::Tcp { .. } | Ends::Polled(_) | Ends::ConnectionSource => {}
            }
        }
    }

    fn write_at_new_rate(&mut self, flow: usize) {
        let state = &mut self.flows[flow];
        match &state.ends {
            Ends::Tcp { sender, .. } if sender.state != State::Closed => {
                state.scheduled.application = false;
                self.send(flow);
            }
            Ends::Polled(_) => {
                state.scheduled.application = false;
                self.write_polled(flow);
            }
            _ => {}
        }
    }
}
