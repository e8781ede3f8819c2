//! A congestion controller of others at the wheel of the engine's TCP sender.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use ackclock_algorithms::congestion::{
    Ack, CaState, CongestionControl, Delivery, Lost, Needs, Reduction, Signal, Window,
};
use ackclock_algorithms::library::LIBRARY_NEEDS;
use ackclock_algorithms::registry::ControllerFactory as Custom;
use ackclock_algorithms::{Owner, Stream, Time};
use ackclock_endpoint::{AckSample, Controller, ControllerFactory, Setup};

use crate::Abort;
use crate::draw::entity;
use crate::polled::words;

/// The largest window that a controller gets, packets: TCP's largest, 2^30 bytes, at the usual
/// packet size.
const MAX_WINDOW: f64 = 1e6;

/// Controllers of others for a class of flows of one run.
#[derive(Clone, Debug)]
pub struct Controllers {
    /// Makes them.
    pub factory: Arc<dyn ControllerFactory>,
    /// A text for it.
    pub options: String,
    /// Name of the class.
    pub class: String,
    /// Seed of the run.
    pub seed: u64,
    /// Payload of a segment, bytes.
    pub payload: u32,
    /// Whether the class asks for ECN.
    pub ecn: bool,
    /// Where they report that they failed.
    pub abort: Abort,
}

impl Custom for Controllers {
    fn kind(&self) -> &str {
        self.factory.name()
    }

    fn build(&self, flow: u32) -> Box<dyn CongestionControl + Send> {
        let owner = entity(&self.class, u64::from(flow));
        let setup = Setup {
            flow,
            seed: Stream::new(self.seed, Owner::Flow, owner).bits(),
            max_datagram: self.payload as usize,
            ecn: self.ecn,
            options: self.options.clone(),
        };
        let controller = catch_unwind(AssertUnwindSafe(|| self.factory.build(&setup)))
            .unwrap_or_else(|panic| Err(words(&*panic)));
        let mut steering = Steering {
            inner: None,
            payload: f64::from(self.payload),
            min_rtt: f64::INFINITY,
            lost: 0,
            label: format!(
                "flows \"{}\", flow {flow}: controller {}",
                self.class,
                self.factory.name()
            ),
            abort: self.abort.clone(),
        };
        match controller {
            Ok(inner) => steering.inner = Some(inner),
            Err(problem) => steering.fail(Time::ZERO, &problem),
        }
        Box::new(steering)
    }
}

/// A controller at work; none once it has failed.
struct Steering {
    inner: Option<Box<dyn Controller>>,
    payload: f64,
    /// Smallest round trip so far, s.
    min_rtt: f64,
    /// Segments found lost since the controller last heard of a loss.
    lost: u64,
    label: String,
    abort: Abort,
}

fn duration(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or_default()
}

fn clock(now: Time) -> Duration {
    Duration::from_nanos(now.0 / 1000)
}

impl Steering {
    fn fail(&mut self, now: Time, problem: &str) {
        self.inner = None;
        self.abort.raise(now, format!("{}: {problem}", self.label));
    }

    fn bytes(&self, segments: f64) -> u64 {
        (segments * self.payload) as u64
    }

    /// Calls the controller, and takes its window over.
    fn call(&mut self, now: Time, window: &mut Window, call: impl FnOnce(&mut dyn Controller)) {
        let Some(inner) = &mut self.inner else {
            return;
        };
        let answer = catch_unwind(AssertUnwindSafe(|| {
            call(&mut **inner);
            (inner.cwnd(), inner.ssthresh(), inner.pacing_rate())
        }));
        let (cwnd, ssthresh, rate) = match answer {
            Ok(answer) => answer,
            Err(panic) => {
                self.fail(now, &words(&*panic));
                return;
            }
        };
        if cwnd == 0 || cwnd == u64::MAX {
            let problem = match cwnd {
                0 => "its window is 0 bytes: nothing would be sent any more",
                _ => "it panicked, or has no window",
            };
            self.fail(now, problem);
            return;
        }
        if let Some(rate) = rate
            && !(rate > 0.0 && rate < f64::INFINITY)
        {
            self.fail(now, &format!("its pacing rate is {rate} bytes/s"));
            return;
        }
        window.cwnd = (cwnd as f64 / self.payload).min(MAX_WINDOW);
        window.ssthresh = ssthresh.map_or(f64::INFINITY, |bytes| bytes as f64 / self.payload);
    }
}

impl CongestionControl for Steering {
    fn on_ack(&mut self, _: &Ack, _: &mut Window, _: &mut Stream) {}

    fn on_congestion(&mut self, reduction: &Reduction, window: &mut Window) {
        let now = clock(reduction.now);
        let in_flight = self.bytes(reduction.window_used);
        // the loss that starts a recovery may be told before its segments are counted
        let lost = self.bytes(self.lost.max(1) as f64);
        self.lost = 0;
        self.call(reduction.now, window, |inner| match reduction.signal {
            Signal::Loss => inner.on_loss(now, lost, in_flight),
            Signal::Ecn => inner.on_ecn(now, in_flight),
            Signal::Timeout => inner.on_rto(now, in_flight),
        });
    }

    fn on_open(&mut self, now: Time, _srtt: f64, window: &mut Window) {
        self.call(now, window, |_| {});
    }

    fn needs(&self) -> Needs {
        LIBRARY_NEEDS
    }

    /// Without a rate of its own its segments leave as ACKs clock them.
    fn pacing_rate(&self) -> Option<f64> {
        let rate = self.inner.as_ref()?.pacing_rate();
        Some(rate.map_or(f64::INFINITY, |rate| rate / self.payload))
    }

    fn on_delivery(&mut self, delivery: &Delivery, window: &mut Window, _: &mut Stream) {
        self.min_rtt = self.min_rtt.min(delivery.rtt);
        let bytes = |segments: u64| self.bytes(segments as f64);
        let known = |seconds: f64| (!seconds.is_nan()).then(|| duration(seconds));
        let sample = AckSample {
            now: clock(delivery.now),
            acked: bytes(u64::from(delivery.acked)),
            marked: bytes(u64::from(delivery.marked)),
            lost: bytes(u64::from(delivery.lost)),
            delivered: bytes(delivery.delivered),
            prior_delivered: bytes(delivery.prior_delivered),
            in_flight: bytes(u64::from(delivery.in_flight)),
            prior_in_flight: bytes(u64::from(delivery.in_flight_before)),
            rtt: known(delivery.rtt),
            min_rtt: duration(self.min_rtt),
            srtt: duration(delivery.srtt),
            rate: (!delivery.rate.is_nan()).then_some(delivery.rate * self.payload),
            app_limited: delivery.app_limited,
            cwnd_limited: delivery.cwnd_limited,
            in_recovery: !matches!(delivery.ca_state, CaState::Open | CaState::Loss),
        };
        self.lost = 0;
        self.call(delivery.now, window, |inner| inner.on_ack(&sample));
    }

    fn on_lost(&mut self, _: &Lost) {
        self.lost += 1;
    }
}
