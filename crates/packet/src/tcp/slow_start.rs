//! Ends of the initial slow start before losses do, beside any congestion control.

use ackclock_algorithms::Stream;
use ackclock_algorithms::congestion::{Ack as AckEvent, CongestionControl as _};

use super::config::SlowStartPolicy;
use super::hystart::{self, HyStart};
use super::search::Search;
use super::{Config, Sender};

/// State of the initial slow start.
#[derive(Debug)]
pub(super) struct SlowStart {
    /// The initial ssthresh: once it has changed this is over.
    ssthresh: f64,
    initial_window: f64,
    exit: Exit,
}

/// Algorithm that ends it.
#[derive(Debug)]
enum Exit {
    HyStart(HyStart),
    Search(Box<Search>),
}

impl SlowStart {
    pub(super) fn new(config: &Config, ssthresh: f64) -> Option<Box<Self>> {
        let exit = match config.slow_start {
            SlowStartPolicy::Losses => return None,
            SlowStartPolicy::HyStart => Exit::HyStart(HyStart::new()),
            SlowStartPolicy::Search => Exit::Search(Box::default()),
        };
        Some(Box::new(Self {
            ssthresh,
            initial_window: config.initial_window,
            exit,
        }))
    }
}

impl Sender {
    /// Growth in the initial slow start, which an ACK with the sample `rtt` (ps; 0: none) may end.
    #[cold]
    #[inline(never)]
    pub(super) fn grow_in_slow_start(&mut self, event: AckEvent, rtt: u64, random: &mut Stream) {
        let Some(mut state) = self.slow_start.take() else {
            return;
        };
        //= RFC 9406 4.3/5: done, test hystart_limits_an_ack_and_divides_growth
        if self.window.ssthresh != state.ssthresh || !self.window.in_slow_start() {
            self.controller.on_ack(&event, &mut self.window, random);
            return;
        }
        let over = match &mut state.exit {
            Exit::HyStart(exit) => self.grow_by_hystart(exit, event, rtt, random),
            Exit::Search(exit) => {
                self.controller.on_ack(&event, &mut self.window, random);
                let excess = exit.on_ack(event.now.0, self.una, rtt);
                if let Some(excess) = excess {
                    let cwnd = self.window.cwnd - excess as f64;
                    self.window.cwnd = cwnd.max(state.initial_window.min(self.window.cwnd));
                }
                excess.is_some()
            }
        };
        if over {
            self.window.ssthresh = self.window.cwnd;
        } else {
            self.slow_start = Some(state);
        }
    }

    /// HyStart++ (RFC 9406, section 4.2); true when slow start is over.
    fn grow_by_hystart(
        &mut self,
        state: &mut HyStart,
        mut event: AckEvent,
        rtt: u64,
        random: &mut Stream,
    ) -> bool {
        let over = state.on_ack(self.una, self.next, rtt);
        //= RFC 9406 4.3/4: done, test hystart_limits_an_ack_and_divides_growth
        if !self.pacer.is_on() {
            event.acked = event.acked.min(hystart::MAX_SEGMENTS_PER_ACK);
        }
        let before = self.window.cwnd;
        self.controller.on_ack(&event, &mut self.window, random);
        if state.is_conservative() && self.window.cwnd > before {
            //= RFC 9406 4.3/3: done, test hystart_limits_an_ack_and_divides_growth
            self.window.cwnd = before + (self.window.cwnd - before) / hystart::CSS_GROWTH_DIVISOR;
        }
        over
    }
}
