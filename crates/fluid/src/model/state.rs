//! Properties of a state by the model, and states to start from.

use ackclock_algorithms::fluid::{AqmStart, Frozen, Path, Scheduled};
use ackclock_delay::{Args, Bound, System};

use super::equations::Network;
use super::{Class, Heard, Link, MAX_LINKS, Model, Rtt};
use crate::error::Error;

/// Loss or marking probability of the states that searches start from.
const USUAL_LOSS: f64 = 0.01;

impl Model {
    /// The same model with windows alone, at rest, in place of the states of senders with a memory,
    /// if there are any. Equilibria are sought in it: at rest W meets W_max to third order in
    /// CUBIC's states, so that Newton's method would find them to a few digits only. Senders whose
    /// states are their law keep them.
    pub(crate) fn without_memory(&self) -> Option<Self> {
        let reduced = |c: &Class| !c.plain && !c.law.by_rate();
        if !self.classes.iter().any(reduced) {
            return None;
        }
        let mut model = self.clone();
        let mut next = 0;
        for class in &mut model.classes {
            if reduced(class) {
                (class.timed, class.states, class.plain) = (true, 1, true);
            }
            class.at = next;
            next += class.states;
        }
        for link in &mut model.links {
            if let Some(queue) = &mut link.queue {
                *queue = next;
                next += 1;
            }
            link.at = next;
            next += link.states;
        }
        model.dimension = next;
        Some(model)
    }

    /// The state of this model that stands for the state `y` of its [`Model::without_memory`].
    pub(crate) fn with_memory(&self, rest: &Self, y: &[f64], p: &[f64]) -> Option<Vec<f64>> {
        let prepared = self.prepare::<f64>(p)?;
        let mut x = vec![0.0; self.dimension];
        for (c, (class, plain)) in self.classes.iter().zip(&rest.classes).enumerate() {
            let path = self.equilibrium_path(c, rest.rtt(c, y, p), p);
            let state = &mut x[class.at..class.at + class.states];
            if class.states == plain.states {
                state.copy_from_slice(&y[plain.at..plain.at + plain.states]);
            } else {
                prepared.tcp[c].start(y[plain.at], &path, state);
            }
        }
        for (link, plain) in self.links.iter().zip(&rest.links) {
            if let (Some(to), Some(from)) = (link.queue, plain.queue) {
                x[to] = y[from];
            }
            x[link.at..link.at + link.states]
                .copy_from_slice(&y[plain.at..plain.at + plain.states]);
        }
        Some(x)
    }

    /// Whether every state moves by less than a billionth of itself in a round trip, all delayed
    /// states being the same.
    pub(crate) fn rests(&self, x: &[f64], p: &[f64]) -> bool {
        let mut slope = vec![0.0; self.dimension];
        let past = x.repeat(self.classes.len());
        System::rhs(self, Args { x, past: &past, p }, &mut slope);
        let rtt = (0..self.classes.len()).map(|c| self.rtt(c, x, p));
        let rtt = rtt.fold(0.0, f64::max);
        slope
            .iter()
            .zip(x)
            .all(|(f, x)| (f * rtt).abs() <= 1e-9 * x.abs())
    }

    /// The equilibrium at a state that [`Model::rests`], which windows alone have found.
    ///
    /// What balances may be slow beside a round trip: a window of thousands of packets grows by a
    /// packet in each, and rests at 1e-9 of itself where a loss is wrong by 1e-6 of itself. Newton's
    /// method goes on in all states there, and its answer is taken where it is nearer to rest.
    pub(crate) fn polished(&self, x: Vec<f64>, p: &[f64]) -> Vec<f64> {
        const BALANCE_TOLERANCE: f64 = 1e-6;
        const NEAR_BOUNDARY: f64 = 1e-5;
        let (here, moved) = self.slopes(&x, p);
        let left = |f: &[f64]| {
            f.iter()
                .zip(&moved)
                .map(|(f, moved)| f.abs() / moved.abs().max(f64::MIN_POSITIVE))
                .fold(0.0, f64::max)
        };
        let before = left(&here);
        if before <= BALANCE_TOLERANCE {
            return x;
        }
        match ackclock_delay::equilibrium(self, &x, p) {
            Ok(better)
                if left(&self.slopes(&better, p).0) < before
                    && better
                        .iter()
                        .zip(&x)
                        .all(|(a, b)| (a - b).abs() <= NEAR_BOUNDARY * b.abs()) =>
            {
                better
            }
            _ => x,
        }
    }

    /// The rates of change where all delayed states are the same, and where all are a thousandth
    /// further out.
    fn slopes(&self, x: &[f64], p: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let slope = |x: &[f64]| {
            let mut slope = vec![0.0; self.dimension];
            let past = x.repeat(self.classes.len());
            System::rhs(self, Args { x, past: &past, p }, &mut slope);
            slope
        };
        let moved: Vec<f64> = x.iter().map(|v| 1.001 * v).collect();
        (slope(x), slope(&moved))
    }

    /// Whether the rates of change vanish at a state, delayed states being the same: beside those a
    /// thousandth further out, or beside the state itself over a round trip. Where a law jumps they
    /// change their sign without vanishing, and Newton's method may come to rest there.
    pub(crate) fn balances(&self, x: &[f64], p: &[f64]) -> bool {
        let rtt = (0..self.classes.len()).map(|c| self.rtt(c, x, p));
        let rtt = rtt.fold(0.0, f64::max);
        let (here, moved) = self.slopes(x, p);
        here.iter().zip(moved).zip(x).all(|((f, moved), x)| {
            f.abs() <= 1e-4 * moved.abs() || (f * rtt).abs() <= 1e-9 * x.abs()
        })
    }

    /// Which classes' windows are so small that another law holds for them; empty where the choices
    /// know of none.
    pub(crate) fn small_at(&self, x: &[f64], p: &[f64]) -> Vec<bool> {
        if !self.choices.small_windows {
            return Vec::new();
        }
        let windows = self.windows(x, p);
        windows.iter().map(|(_, w, below)| w < below).collect()
    }

    /// Whether each class waits at its access link, and follows its law of small windows: where one
    /// of these changes, the equations have a kink that no regime of an AQM's law stands for.
    pub(crate) fn pieces(&self, x: &[f64], p: &[f64]) -> Vec<(bool, bool)> {
        let [_, _, sent, _] = self.rates(x, p);
        let small = self.small_at(x, p);
        (0..self.classes.len())
            .map(|c| {
                let waits = self.classes[c].access.is_some_and(|a| sent[c] >= a.rate);
                (waits, small.get(c).copied().unwrap_or_default())
            })
            .collect()
    }

    /// Whether a window is in another law than the one that is frozen.
    pub(crate) fn leaves_small(&self, x: &[f64], p: &[f64]) -> bool {
        self.small
            .as_ref()
            .is_some_and(|frozen| *frozen != self.small_at(x, p))
    }

    /// The queue of a link, if it is a state, and its limit.
    pub(crate) fn queue_of(&self, link: usize) -> Option<(usize, f64)> {
        let link = &self.links[link];
        link.queue.map(|q| (q, link.limit))
    }

    /// Name and window of each class, and the window below which its sender follows another law.
    pub(crate) fn windows(&self, x: &[f64], p: &[f64]) -> Vec<(&str, f64, f64)> {
        let Some(prepared) = self.prepare::<f64>(p) else {
            return Vec::new();
        };
        self.classes
            .iter()
            .enumerate()
            .map(|(c, class)| {
                let path = self.equilibrium_path(c, self.rtt(c, x, p), p);
                let below = prepared.tcp[c].small_below(&path);
                (class.name.as_str(), self.window(&prepared, c, x), below)
            })
            .collect()
    }

    /// Window (packets), round-trip time (s) and sending rate of one flow (packets/s) of each
    /// class, and arrivals (packets/s) of each link, at a state.
    #[must_use]
    pub fn rates(&self, x: &[f64], p: &[f64]) -> [Vec<f64>; 4] {
        let mut net = Network::new();
        match self.prepare::<f64>(p) {
            Some(prepared) => self.network(&prepared, x, p, &mut net),
            None => net.rate = [f64::NAN; MAX_LINKS],
        }
        let (classes, links) = (self.classes.len(), self.links.len());
        let windows = (0..classes).map(|c| net.rate[c] * net.rtt[c]).collect();
        [
            windows,
            net.rtt[..classes].to_vec(),
            net.rate[..classes].to_vec(),
            net.arrivals[..links].to_vec(),
        ]
    }

    /// The regimes of the AQMs' laws at a state, by name.
    #[must_use]
    pub fn regimes_named(&self, x: &[f64], p: &[f64]) -> Vec<&'static str> {
        self.regime_names(&self.regimes_at(x, p))
    }

    /// The state of senders with a window of `window` packets over empty queues, averages at zero,
    /// rates at the links'.
    #[must_use]
    pub fn empty(&self, window: f64) -> Vec<f64> {
        let mut x = vec![0.0; self.dimension];
        for link in &self.links {
            let empty = AqmStart {
                queue: 0.0,
                rate: link.rate,
                probability: 0.0,
            };
            link.law
                .start(&empty, &mut x[link.at..link.at + link.states]);
        }
        for class in &self.classes {
            let state = &mut x[class.at..class.at + class.states];
            if class.plain {
                state[0] = window;
            } else {
                let base = class.rtt + class.access.map_or(0.0, |access| access.transmission);
                let path = Path::fixed(base).with_marks(class.marked);
                class.law.start(window, &path, state);
            }
        }
        x
    }

    /// Queues between empty and full, windows of at least one packet.
    pub(crate) fn clamps(&self) -> Vec<Bound> {
        let queues = self.links.iter().filter_map(|l| {
            l.queue.map(|q| Bound {
                state: q,
                lower: 0.0,
                upper: l.limit,
            })
        });
        // a sender keeps at least one packet in flight
        let windows = self.classes.iter().filter(|c| c.plain).map(|c| Bound {
            state: c.at,
            lower: 1.0,
            upper: f64::INFINITY,
        });
        queues.chain(windows).collect()
    }

    /// Regime of each link's law at a state.
    pub(crate) fn regimes_at(&self, x: &[f64], p: &[f64]) -> Vec<usize> {
        let Some(prepared) = self.prepare::<f64>(p) else {
            return vec![0; self.links.len()];
        };
        let mut net = Network::new();
        self.network(&prepared, x, p, &mut net);
        (0..self.links.len())
            .map(|l| {
                let input = self.input(&prepared, &net, l, x, p);
                let regime = prepared.aqm[l].regime(&input, self.aqm_state(l, x));
                // a full queue overflows where what enters would make it grow
                let overflows = self.links[l].overflows()
                    && self.at_limit(l, x)
                    && net.entering[l] > p[1 + l] * (1.0 + 1e-12);
                if overflows {
                    regime + self.links[l].law.regimes().len()
                } else {
                    regime
                }
            })
            .collect()
    }

    /// Loss or marking probability of each link, and of each class's path, at a state.
    #[must_use]
    pub fn probabilities(&self, x: &[f64], p: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let mut net = Network::new();
        match self.prepare::<f64>(p) {
            Some(prepared) => self.network(&prepared, x, p, &mut net),
            None => {
                (net.probability, net.unsignalled) = ([f64::NAN; MAX_LINKS], [f64::NAN; MAX_LINKS]);
            }
        }
        (
            net.probability[..self.links.len()].to_vec(),
            net.unsignalled[..self.classes.len()]
                .iter()
                .map(|u| 1.0 - u)
                .collect(),
        )
    }

    /// Actions that the senders of each class repeat by a clock of their own at a state: the equations
    /// have their average.
    #[must_use]
    pub fn schedules(&self, x: &[f64], p: &[f64]) -> Vec<(&str, Scheduled)> {
        let [_, rtts, _, _] = self.rates(x, p);
        let classes = self.classes.iter().zip(rtts);
        classes
            .flat_map(|(class, rtt)| {
                let state = &x[class.at..class.at + class.states];
                let kept = if class.user.is_some() {
                    Vec::new()
                } else {
                    class.law.schedule(state, rtt)
                };
                kept.into_iter()
                    .map(|schedule| (class.name.as_str(), schedule))
            })
            .collect()
    }

    /// Range of the mean queue in packets (link, least, most) of each full drop-tail link that senders
    /// with laws by rate share with loss-based ones, at a state.
    ///
    /// The equations lose in proportion and rest at the limit B. In packets a loss takes a whole
    /// decrease: a share 1 - beta of the window of each loss-based sender that loses. What a sender by
    /// rate keeps in the network is twice its rate times the queue that the others' windows leave it
    /// when it looks for the propagation time, and so falls as they do. With W packets in the network
    /// at the limit, the largest sawtooth runs from beta W to W, with a mean of B - (1 - beta) W / 2;
    /// where fewer lose at a time the mean lies between that and B (derived here).
    #[must_use]
    pub fn sawtooth(&self, x: &[f64], p: &[f64]) -> Vec<(&str, f64, f64)> {
        let [windows, rtts, _, _] = self.rates(x, p);
        let Some(prepared) = self.prepare::<f64>(p) else {
            return Vec::new();
        };
        let by_rate = |c: usize| self.classes[c].user.is_none() && self.classes[c].law.by_rate();
        let by_loss = |c: usize| self.classes[c].user.is_none() && !self.classes[c].law.by_delay();
        let full = |l: usize, link: &Link| link.law.overflow_only() && self.at_limit(l, x);
        let volume = |c: usize| p[self.count_at(c)] * windows[c];
        let links = self.links.iter().enumerate();
        links
            .filter(|(l, link)| full(*l, link) && link.crossed_by.iter().any(|c| by_rate(*c)))
            .filter_map(|(_, link)| {
                let others = || link.crossed_by.iter().copied().filter(|c| !by_rate(*c));
                let theirs: f64 = others().map(volume).sum();
                if theirs <= 0.0 || !others().all(by_loss) {
                    return None;
                }
                let falls: f64 = others()
                    .map(|c| {
                        let path = Path::fixed(rtts[c]);
                        p[self.count_at(c)] * prepared.tcp[c].decrease(windows[c], &path)
                    })
                    .sum();
                let all: f64 = link.crossed_by.iter().copied().map(volume).sum();
                let least = link.limit - 0.5 * all * falls / theirs;
                Some((link.name.as_str(), least.max(0.0), link.limit))
            })
            .collect()
    }

    /// The links whose AQMs adapt a parameter, each with what is left where that stays as it is in
    /// a state.
    #[must_use]
    pub fn frozen_adaptation(&self, x: &[f64], p: &[f64]) -> Vec<(&str, Frozen)> {
        let Some(prepared) = self.prepare::<f64>(p) else {
            return Vec::new();
        };
        let mut net = Network::new();
        self.network(&prepared, x, p, &mut net);
        self.links
            .iter()
            .enumerate()
            .filter_map(|(l, link)| {
                let input = self.input(&prepared, &net, l, x, p);
                let frozen = prepared.aqm[l].frozen(&input, self.aqm_state(l, x))?;
                Some((link.name.as_str(), frozen))
            })
            .collect()
    }

    /// Whether what a state says can be: nobody without a window (an idle class rests, in equations
    /// that grow with acknowledgements), queues not negative, probabilities between zero and one,
    /// adapted parameters within their bounds, coupled queues without overload.
    #[must_use]
    pub fn sensible(&self, x: &[f64], p: &[f64]) -> bool {
        let (links, _) = self.probabilities(x, p);
        self.classes.iter().all(|c| x[c.at] > 1e-6)
            && self.links.iter().all(|l| {
                l.queue
                    .is_none_or(|q| x[q] >= 0.0 && x[q] <= l.limit * (1.0 + 1e-12))
            })
            && links.iter().all(|v| (0.0..=1.0).contains(v))
            && self.adapts_beyond(x, p).is_none()
            && self.overwhelmed(x, p).is_none()
    }

    /// The first link whose AQM would adapt something beyond the bounds of its adaptation.
    pub(crate) fn adapts_beyond(&self, x: &[f64], p: &[f64]) -> Option<&str> {
        let prepared = self.prepare::<f64>(p)?;
        let mut net = Network::new();
        self.network(&prepared, x, p, &mut net);
        let beyond = |l: &usize| {
            let input = self.input(&prepared, &net, *l, x, p);
            !prepared.aqm[*l].within_bounds(&input, self.aqm_state(*l, x))
        };
        (0..self.links.len())
            .find(beyond)
            .map(|l| self.link_name(l))
    }

    /// A link whose coupled queues a state drives out of what its equations know, and why.
    pub(crate) fn overwhelmed(&self, x: &[f64], p: &[f64]) -> Option<Error> {
        let link = (0..self.links.len()).find(|l| !self.coupling_holds(*l, x, p))?;
        Some(Error::Unsupported {
            what: format!("link `{}`: its coupled queues", self.links[link].name),
            why: "scalable flows would take more than the classic share leaves them, or meet overload; only the packet engine follows that".to_owned(),
        })
    }

    /// Whether scalable packets leave the classic share of a link, and not all of them are marked.
    fn coupling_holds(&self, l: usize, x: &[f64], p: &[f64]) -> bool {
        let (Some(coupled), Some(prepared)) = (&self.links[l].coupled, self.prepare::<f64>(p))
        else {
            return true;
        };
        let mut net = Network::new();
        self.network(&prepared, x, p, &mut net);
        let input = self.input(&prepared, &net, l, x, p);
        coupled.mark(self.managed(&prepared, &input, l, x)) < 1.0
            && self.scalable(&prepared, l, x, p) <= (1.0 - coupled.classic_share) * p[1 + l]
    }

    /// A state to search from: every link shared fairly, with `fill` packets in every queue;
    /// integrals of the AQMs at `level` times what is usual.
    pub(crate) fn start(&self, fill: f64, stretch: f64, level: f64, p: &[f64]) -> Vec<f64> {
        let mut x = vec![0.0; self.dimension];
        let Some(prepared) = self.prepare::<f64>(p) else {
            return x;
        };
        let flows = &prepared.flows;
        for (l, link) in self.links.iter().enumerate() {
            let fill = fill.min(0.9 * link.limit);
            if let Some(q) = link.queue {
                x[q] = fill;
            }
            let from = AqmStart {
                queue: fill * link.packet_weight,
                rate: p[1 + l],
                probability: USUAL_LOSS * level,
            };
            link.law
                .start(&from, &mut x[link.at..link.at + link.states]);
        }
        for (c, class) in self.classes.iter().enumerate() {
            let share = class
                .path
                .iter()
                .map(|l| (p[1 + l] - self.links[*l].background).max(0.01 * p[1 + l]) / flows[*l])
                .fold(f64::INFINITY, f64::min);
            let base = self.base_rtt(c, p);
            let queueing: f64 = if self.choices.rtt == Rtt::Queueing {
                class
                    .path
                    .iter()
                    .filter(|l| !self.passes(c, **l))
                    .map(|l| self.links[*l].queue.map_or(0.0, |q| x[q] / p[1 + l]))
                    .sum()
            } else {
                0.0
            };
            let rtt = base + queueing;
            let window = stretch * share * rtt;
            let path = self.equilibrium_path(c, rtt, p);
            let state = &mut x[class.at..class.at + class.states];
            if class.plain {
                state[0] = window;
            } else {
                prepared.tcp[c].start(window, &path, state);
            }
        }
        x
    }

    /// A state to search from: as [`Model::start`], but each class whose state is its window at the
    /// window at which its own law balances at that queue and a loss of [`USUAL_LOSS`] times `level`.
    ///
    /// From even shares Newton's method is lost where a law is flat, as Vegas' is far from the few
    /// packets that it keeps in queues.
    pub(crate) fn balanced_start(&self, fill: f64, level: f64, p: &[f64]) -> Vec<f64> {
        const BISECTION_STEPS: usize = 30;
        let mut x = self.start(fill, 1.0, level, p);
        let heard = (0..self.classes.len()).map(|c| {
            let rtt = self.rtt(c, &x, p);
            let lost = USUAL_LOSS * level;
            Some(Heard { lost, rtt })
        });
        let opened = self.opened(heard.collect());
        let mut slope = vec![0.0; self.dimension];
        let mut grows = |at: usize, window: f64, x: &mut Vec<f64>| {
            x[at] = window;
            let past = x.repeat(self.classes.len());
            System::rhs(&opened, Args { x, past: &past, p }, &mut slope);
            slope[at] > 0.0
        };
        for class in self.classes.iter().filter(|c| c.plain) {
            let even = x[class.at];
            let (mut low, mut high) = (1e-3 * even, 1e3 * even);
            if !grows(class.at, low, &mut x) || grows(class.at, high, &mut x) {
                x[class.at] = even;
                continue;
            }
            for _ in 0..BISECTION_STEPS {
                let middle = (low * high).sqrt();
                if grows(class.at, middle, &mut x) {
                    low = middle;
                } else {
                    high = middle;
                }
            }
            x[class.at] = (low * high).sqrt();
        }
        x
    }
}
