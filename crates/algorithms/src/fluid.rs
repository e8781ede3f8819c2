//! Fluid faces: what algorithms do on average, as laws that the fluid, mean-field and stability
//! engines build equations from.
//!
//! Units everywhere: windows and queues in packets, rates in packets/s, times in seconds. Every law
//! is generic over [`Scalar`], so that the analyses differentiate it exactly, in states and in
//! parameters.
//!
//! A sender with window w (packets) and round-trip time R hears of x(t) = w(t - R) / R packets a
//! second, of which a fraction p(t - R) was lost or marked. In the plainest case its window moves
//! as
//!
//! dw/dt = ( i(w) (1 - p) - d(w) p ) x
//!
//! with i(w) = [`FluidTcp::increase`] and d(w) = [`FluidTcp::decrease`] (Raina and Wischik 2005;
//! Manjunath and Raina, "Compound TCP with RED", equations (1) and (9)). Models that drop the
//! factor 1 - p, or count a decrease from the peak of the window ([`round_average`]), are choices
//! of the engine: it states them by the rates in [`TcpInput`], or combines i(w) and d(w) itself.

use crate::Scalar;
use crate::forward::fluid_law;
use crate::link::{LinkView, Spacing};
use crate::params::Parameters;

/// The path, as a sender's law sees it.
#[derive(Clone, Copy, Debug)]
pub struct Path<S = f64> {
    /// Round-trip time now, queueing included, s.
    pub rtt: S,
    /// Round-trip time without queueing, s.
    pub base_rtt: S,
    /// Round-trip time that the sender measures now, s: that of the packets whose ACKs arrive,
    /// which were sent one round trip ago.
    pub measured: S,
    /// Round-trip time with every queue of the path full, s; infinite where one has no limit.
    pub full: S,
    /// Whether its signals are ECN marks; otherwise they are losses.
    pub marks: bool,
    /// The busiest link of the path; only for laws with [`FluidTcp::BY_RATE`].
    pub bottleneck: Bottleneck<S>,
}

/// The busiest link of a path, as a sender that measures its delivery rate meets it.
#[derive(Clone, Copy, Debug)]
pub struct Bottleneck<S = f64> {
    /// Packets that the link can send, packets/s.
    pub rate: S,
    /// Packets of all other flows that arrive at it, packets/s.
    pub others: S,
    /// Round-trip time over the path were the senders with [`FluidTcp::BY_RATE`] to leave its
    /// queues, s: what is left is the queueing delay of all other flows' packets.
    pub drained_rtt: S,
}

impl<S: Scalar> Path<S> {
    /// A path of round-trip time `rtt` whose queueing is neglected.
    pub fn fixed(rtt: S) -> Self {
        Self::steady(rtt, rtt)
    }

    /// A path at rest: what the sender measures is the round-trip time of now. Its queues have no
    /// limit, its signals are losses.
    pub fn steady(rtt: S, base_rtt: S) -> Self {
        Self {
            rtt,
            base_rtt,
            measured: rtt,
            full: S::from_f64(f64::INFINITY),
            marks: false,
            bottleneck: Bottleneck {
                rate: S::from_f64(f64::INFINITY),
                others: S::from_f64(0.0),
                drained_rtt: base_rtt,
            },
        }
    }

    /// The path with signals that are ECN marks, or losses.
    #[must_use]
    pub fn with_marks(self, marks: bool) -> Self {
        Self { marks, ..self }
    }

    /// Queueing delay that the sender measures now, s.
    pub fn delay(&self) -> S {
        self.measured - self.base_rtt
    }
}

/// The input of a sender's law.
#[derive(Clone, Copy, Debug)]
pub struct TcpInput<S = f64> {
    /// Packets acknowledged without a congestion signal, packets/s: (1 - p) x.
    pub acks: S,
    /// Congestion signals, 1/s: p x.
    pub signals: S,
    /// Whether `acks` are those of packets without a signal, so that growth counts them; otherwise
    /// all that is sent: growth with time, as in some papers.
    pub per_ack: bool,
    /// The path.
    pub path: Path<S>,
}

impl<S: Scalar> TcpInput<S> {
    /// Packets that the sender hears of, packets/s.
    pub fn packets(&self) -> S {
        if self.per_ack {
            self.acks + self.signals
        } else {
            self.acks
        }
    }

    /// The fraction of packets with a signal.
    pub fn share(&self) -> S {
        self.signals / self.packets()
    }

    /// Falls a second of a sender that answers a signal and then none for `interval` seconds,
    /// signals being at random among packets: after the interval it waits for the next, (1 - p) / p
    /// packets on average (derived here). Where all packets have a signal it falls once an
    /// interval, as in the equations for DCTCP of Alizadeh, Javanmard and Prabhakar (2011), whose
    /// signals come for all packets or for none.
    pub fn falls(&self, interval: S) -> S {
        self.signals / (self.signals * interval + (-self.share() + 1.0))
    }
}

/// The decrease by a mark, in packets, where a sender falls once a round trip at most, by half the share of marked packets,
/// and grows by a packet a round trip for packets without marks, at rest: (sqrt(3) - 1) / 2. With m marks a round trip
/// 1 - p = (m / 2) m / (m + 1 - p) has the root m = (1 - p) (1 + sqrt(3)), whatever the window (from
/// [`TcpInput::falls`]).
pub(crate) const FALL_A_MARK: f64 = 0.366_025_403_784_438_6;

/// An action that a sender repeats by a clock of its own; a law has its average alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scheduled {
    /// The action, in a few words.
    pub what: &'static str,
    /// How often, s.
    pub period: f64,
}

fluid_law! {
    $ forward_fluid_tcp;
    /// The fluid law of a congestion control in congestion avoidance; implemented by its
    /// parameters.
    pub trait FluidTcp: Parameters {
        items {
            /// The parameters over a scalar.
            type Over<S: Scalar>;

            /// Where the law leaves something of the algorithm out: what, and whose model it is.
            /// `None` for an exact law.
            const APPROXIMATION: Option<&'static str> = None;

            /// Whether windows follow the queueing delay, so that the law has no meaning where
            /// round-trip times are without it.
            const BY_DELAY: bool = false;

            /// Whether it measures its delivery rate and empties the queue of its own packets to
            /// measure the propagation time: the engine gives it [`Path::bottleneck`]. Its states
            /// are its law: a window alone does not stand for it.
            const BY_RATE: bool = false;

            /// Whether i(w) and d(w) stand for the sender better than its states do: a law that is
            /// followed by default.
            const AT_EQUILIBRIUM: bool = false;

            /// The actions that the sender repeats by its own clock in a state with round-trip time `rtt` (s): queues
            /// move with these periods whatever the law says.
            fn schedule(&self, _state: &[f64], _rtt: f64) -> Vec<Scheduled> {
                Vec::new()
            }

            /// Whether the law covers these parameters: an option may change the sender into one
            /// that no law is known for.
            fn has_law(&self) -> bool {
                true
            }
        }
        law of S {
            /// i(w): what one acknowledgement adds to the window `window`, packets.
            fn increase(params, window: S, path: &Path<S>) -> S;

            /// d(w): what one congestion signal takes from the window `window`, packets.
            fn decrease(params, window: S, path: &Path<S>) -> S;

            /// Window (packets) below which the sender really grows and shrinks by another law,
            /// that of [`FluidTcp::small_window`]; zero if it never does. The papers' smooth models
            /// leave this out: whether to follow it is the engine's choice.
            fn small_below(_params, _path: &Path<S>) -> S {
                S::from_f64(0.0)
            }

            /// i(w) and d(w) of small windows; Reno's unless it says otherwise.
            fn small_window(_params, window: S) -> (S, S) {
                (S::from_f64(1.0) / window, window * 0.5)
            }

            /// The names of its state variables, with their units. More than the window alone for
            /// senders with a memory; then [`FluidTcp::derivative`] is the better law, and i(w) and
            /// d(w) are its quasi-static approximation.
            fn state_names(_params) -> &'static [&'static str] {
                &["window (packets)"]
            }

            /// Whether the first state is the window, so that an engine may take more from it at a
            /// signal than its law does.
            fn window_first(_params) -> bool {
                true
            }

            /// Packets that it leaves in the network while it measures the propagation time, of laws
            /// with [`FluidTcp::BY_RATE`].
            fn left_in_network(_params, _state: &[S]) -> S {
                S::from_f64(0.0)
            }

            /// The window in a state, packets.
            fn window(_params, state: &[S]) -> S {
                state[0]
            }

            /// A state with window `window` from which an engine can start or search an
            /// equilibrium, written to `state`.
            fn start(_params, window: S, _path: &Path<S>, state: &mut [S]) {
                state[0] = window;
            }

            /// Writes the time derivative of each state variable (per second) to `rate`.
            fn derivative(
                params,
                input: &TcpInput<S>,
                state: &[S],
                rate: &mut [S],
            ) {
                let window = state[0];
                let gain = Self::increase(params, window, &input.path) * input.acks;
                rate[0] = gain - Self::decrease(params, window, &input.path) * input.signals;
            }
        }
    }
}

/// The decrease seen from the *average* window `window` of a sawtooth that falls by `decrease` =
/// d(w) from its peak.
///
/// The average lies half a decrease below the peak. Where d(w) = delta w the peak is w / (1 - delta
/// / 2), and the fall is 2 delta w / (2 - delta): 2 (1 - beta) / (1 + beta) w for AIMD with
/// remaining fraction beta (Wang, Cai, Liu and Shen, "AIMD congestion control", equation (1)).
/// Exact for decreases in proportion to the window.
pub fn round_average<S: Scalar>(window: S, decrease: S) -> S {
    decrease * window * 2.0 / (window * 2.0 - decrease)
}

/// The decrease by losses at random from windows of mean `window` on average, where one takes `decrease`
/// = d(w) = b w from a window w.
///
/// Losses at random meet larger windows more often: a loss takes `b E[w^2] / E[w]`, not `b E[w]`.
/// Between losses the square of an AIMD window grows by the same for each packet, and packets
/// between losses are geometric. The stationary law of that (Dumas, Guillemin and Robert, "A
/// Markovian analysis of additive-increase multiplicative-decrease algorithms", 2002) has `E[w]^2 /
/// E[w^2] = (2 b / pi) prod ((1 - (1 - b)^(2n)) / (1 - (1 - b)^(2n-1)))^2`, a quotient of theta
/// functions; their transformation leaves - ln(1 - b) (1 - b)^(1/4) / b for the factor `E[w^2] /
/// E[w]^2`, but for 5 exp(2 pi^2 / ln(1 - b)) of it (1e-12 where b = 1/2). Halvings: 1.1657; small
/// decreases: 1 + b / 4.
pub fn random_losses<S: Scalar>(window: S, decrease: S) -> S {
    let part = decrease / window;
    if part.re() > 0.0 && part.re() < 1.0 {
        let rest = -part + 1.0;
        -rest.ln() * rest.powf(0.25) * window
    } else {
        decrease
    }
}

/// A smooth step from -1 to 1 with slope one at zero, where an algorithm has a sharp one or a dead
/// zone: its flows do not all stand at the same place of it.
#[must_use]
pub fn smooth_sign<S: Scalar>(x: S) -> S {
    x / (x * x + 1.0).sqrt()
}

/// [`smooth_sign`] from 0 to 1: the share of flows on the upper side, with slope 1/2 at zero.
#[must_use]
pub fn smooth_share<S: Scalar>(x: S) -> S {
    (smooth_sign(x) + 1.0) * 0.5
}

/// How the weight w of one sample in an average r of the queue q becomes a rate k in dr/dt = k (q -
/// r).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Averaging {
    /// k = w x sampling rate: first order in w.
    Linear,
    /// k = - ln(1 - w) x sampling rate: exact for a constant queue. Not for w = 1.
    Exponential,
}

/// How near to an end of its range the integral of [`held_at_ends`] slows down. Of PIE and PI2 it
/// is a probability below 1e-7.
const EDGE_WIDTH: f64 = 1e-4;

/// The speed of an integral that stands still where the sum of which it is a part is clipped to 0
/// .. `top`, and would be clipped further: `change`, which falls to nothing within a narrow edge.
///
/// Switched off at once it would chatter. Beside zero the sum falls while the integral moves and
/// rises while it stands still.
pub fn held_at_ends<S: Scalar>(sum: S, top: f64, change: S) -> S {
    let room = if change.re() < 0.0 { sum } else { -sum + top };
    if room.re() >= EDGE_WIDTH {
        change
    } else if room.re() > 0.0 {
        change * room / EDGE_WIDTH
    } else {
        S::from_f64(0.0)
    }
}

/// The queue, as an AQM's law sees it.
#[derive(Clone, Copy, Debug)]
pub struct AqmInput<S = f64> {
    /// Packets waiting, all flows together.
    pub queue: S,
    /// Packets that arrive, packets/s, all flows together.
    pub arrivals: S,
    /// Packets that the link can send, packets/s.
    pub service: S,
    /// Largest queue, packets; infinite without a limit.
    pub limit: f64,
    /// Rate at which an averaging AQM takes samples, packets/s: the arrivals, or (the papers'
    /// choice) the service rate.
    pub sampling: S,
    /// How the weight of a sample becomes a rate.
    pub averaging: Averaging,
    /// Number of flows.
    pub flows: S,
    /// Average round-trip time of the flows, s.
    pub rtt: S,
    /// Priority of the packets whose probability is asked for; only of [`FluidAqm::by_priority`].
    pub priority: u8,
}

/// The initial values of an AQM's states: each takes the value of the quantity that it is.
#[derive(Clone, Copy, Debug)]
pub struct AqmStart<S = f64> {
    /// For averages of the queue, packets.
    pub queue: S,
    /// For averages of a rate, packets/s.
    pub rate: S,
    /// For integrals that are probabilities, and everything else.
    pub probability: S,
}

/// Fraction of arrivals that a full queue drops, so that what enters is what leaves: (B - C) / B,
/// zero while B < C (Baccelli, McDonald and Reynier, "A mean-field model for multiple TCP
/// connections through a buffer", 2002).
///
/// It applies to every queue at its limit, after the AQM has taken its share of the arrivals.
pub fn overflow<S: Scalar>(arrivals: S, service: S) -> S {
    if arrivals.re() > service.re() {
        (arrivals - service) / arrivals
    } else {
        S::from_f64(0.0)
    }
}

impl<S: Scalar> AqmInput<S> {
    /// A link alone: `queue` packets wait, `arrivals` come and `service` can go in a second; no
    /// limit, one flow, samples at the service rate.
    pub fn new(queue: S, arrivals: S, service: S) -> Self {
        let one = S::from_f64(1.0);
        Self {
            queue,
            arrivals,
            service,
            limit: f64::INFINITY,
            sampling: service,
            averaging: Averaging::Linear,
            flows: one,
            rtt: one,
            priority: 0,
        }
    }

    /// Standard deviation of the queue that windows in step with nobody leave, packets: that of the
    /// sum of the flows' windows, each uniform between two thirds and four thirds of its mean
    /// (Appenzeller, Keslassy and McKeown, "Sizing router buffers", SIGCOMM 2004, section 3: the
    /// mean over 3 sqrt(3) sqrt(N)).
    pub fn fluctuation(&self) -> S {
        let flight = self.arrivals * self.rtt;
        flight / (self.flows.sqrt() * (3.0 * 3.0_f64.sqrt()))
    }
}

/// How often a quantity that fluctuates around zero with the standard deviation `deviation` is
/// below `x`: the logistic distribution, near the normal one.
pub fn below<S: Scalar>(x: S, deviation: S) -> S {
    let one = S::from_f64(1.0);
    let scaled = x * (std::f64::consts::PI / 3.0_f64.sqrt()) / deviation;
    if scaled.re() > 0.0 {
        one / ((-scaled).exp() + 1.0)
    } else {
        let e = scaled.exp();
        e / (e + 1.0)
    }
}

/// An AQM that adapts a parameter, with that parameter where it is: another AQM of the registry,
/// and the values that it has.
#[derive(Clone, Debug, PartialEq)]
pub struct Frozen<S = f64> {
    /// Kind of the AQM that is left.
    pub kind: &'static str,
    /// The parameters that differ from the AQM's own of the same name.
    pub values: Vec<(&'static str, S)>,
}

/// Which queue an AQM's probability follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueModel {
    /// The queue integrates the difference of arrivals and service, and the probability follows it.
    Integrated,
    /// The queue is in equilibrium with the present rate of arrivals (small buffers: it moves much
    /// faster than the windows do), and the probability follows the rate. [`AqmInput::queue`] is
    /// not used.
    Stationary,
}

fluid_law! {
    $ forward_fluid_aqm;
    /// The fluid law of an AQM; implemented by its parameters.
    ///
    /// Probabilities are smooth inside *regimes* (below the minimum threshold, on the slope, ...).
    /// [`FluidAqm::regime`] tells which regime a point is in; [`FluidAqm::probability`] extends
    /// each regime smoothly beyond its own region, so that an analysis can freeze the regime.
    pub trait FluidAqm: Parameters {
        items {
            /// The parameters over a scalar.
            type Over<S: Scalar>;

            /// Where the law leaves something of the algorithm out: what, and whose model it is.
            /// `None` for an exact law.
            const APPROXIMATION: Option<&'static str> = None;

            /// The same parameters with everything settled that depends on the link ("auto" words
            /// become numbers).
            #[must_use]
            fn on_link(&self, link: &LinkView) -> Self;
        }
        law of S {
            /// Which queue the probability follows.
            fn queue_model(_params) -> QueueModel {
                QueueModel::Integrated
            }

            /// Whether the probability (and its regime) follows only the queue, the queue's limit
            /// and its own states: neither arrivals nor round-trip times. An engine may then leave
            /// those out of [`AqmInput`] (zeros) where it asks for the probability alone.
            fn local(_params) -> bool {
                false
            }

            /// Whether it never drops or marks by itself: only a full queue does.
            fn overflow_only(_params) -> bool {
                false
            }

            /// The queue (packets) at which every packet is dropped or marked, of an AQM that does
            /// nothing below it; `None` of all others. An engine that follows the queue through a
            /// round trip takes this in place of the probability, which is then that of a queue in
            /// equilibrium with its arrivals.
            fn hard_limit(_params) -> Option<S> {
                None
            }

            /// How drops at its probability are spaced. An engine counts them at the mean rate of
            /// that spacing, [`Spacing::rate`].
            fn spacing(_params) -> Spacing {
                Spacing::Bernoulli
            }

            /// The weight of a packet of `bytes` in its queue, thresholds and probability: its
            /// size over the mean packet in byte mode, one otherwise.
            fn packet_weight(_params, _bytes: u32) -> f64 {
                1.0
            }

            /// Whether the probability depends on the packet's priority, [`AqmInput::priority`].
            fn by_priority(_params) -> bool {
                false
            }

            /// Number of state variables of its own (an average, an integral). The names of
            /// [`FluidAqm::state_names`].
            fn states(params) -> usize {
                Self::state_names(params).len()
            }

            /// The names of its state variables, with their units.
            fn state_names(_params) -> &'static [&'static str] {
                &[]
            }

            /// A state from which an engine can start or search an equilibrium, written to `state`.
            fn start(_params, from: &AqmStart<S>, state: &mut [S]) {
                state.fill(from.probability);
            }

            /// Writes the time derivative of each state variable (per second) to `rate`.
            fn derivative(
                _params,
                _input: &AqmInput<S>,
                _state: &[S],
                _rate: &mut [S],
            ) {
            }

            /// The law in which its adapted parameters stay as they are in `input` and `state`;
            /// `None` where nothing is adapted.
            fn frozen(_params, _input: &AqmInput<S>, _state: &[S]) -> Option<crate::fluid::Frozen<S>> {
                None
            }

            /// Whether its adapted parameters in `state` lie within the bounds of their adaptation.
            fn within_bounds(_params, _input: &AqmInput<S>, _state: &[S]) -> bool {
                true
            }

            /// The names of the regimes of its probability, in the order of [`FluidAqm::regime`].
            fn regimes(params) -> &'static [&'static str];

            /// The regime that `input` and `state` are in.
            fn regime(params, input: &AqmInput<S>, state: &[S]) -> usize;

            /// Fraction of arriving packets that are dropped or marked, by the formula of `regime`.
            fn probability(
                params,
                input: &AqmInput<S>,
                state: &[S],
                regime: usize,
            ) -> S;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The product of Dumas, Guillemin and Robert, from which the closed form follows; with
    /// halvings the mean window is 1.3098 / sqrt(p), and falls of w / 2 that balance a growth of
    /// one a round trip need E[w^2] = 2 / p.
    #[test]
    fn losses_at_random_take_more() {
        for b in [0.75_f64, 0.5, 0.2, 0.02] {
            let (mut product, rest) = (1.0, 1.0 - b);
            for n in 1..3000 {
                let even = libm::pow(rest, f64::from(2 * n));
                product *= (1.0 - even) / (1.0 - even / rest);
            }
            let want = std::f64::consts::PI / (2.0 * b * product * product);
            let got = random_losses(10.0, 10.0 * b) / (10.0 * b);
            assert!((got / want - 1.0).abs() < 1e-5, "{b}: {got} {want}");
        }
        let halving: f64 = random_losses(8.0, 4.0) / 4.0;
        assert!(
            (halving - 2.0 / (1.309_8 * 1.309_8)).abs() < 1e-4,
            "{halving}"
        );
        assert_eq!(random_losses(8.0_f64, 0.0), 0.0);
        let small: f64 = random_losses(8.0, 8.0e-6) / 8.0e-6;
        assert!((small - 1.0).abs() < 1e-6, "{small}");
    }
}
