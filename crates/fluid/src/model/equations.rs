//! The right-hand side: what the network does in a state, and how windows and AQMs move.

use ackclock_algorithms::fluid::{AqmInput, Bottleneck, Path, TcpInput, overflow};
use ackclock_algorithms::registry::{AqmLaw, TcpLaw};
use ackclock_averages::Access;
use ackclock_delay::{Args, Bound, Scalar, Settled, System};

use super::{Class, Decrease, Form, MAX_LINKS, Model, Rtt};
use crate::user;

/// How fast a queue that is held at its limit returns to it, in times that the link needs to send a
/// full queue.
const RETURN_TIMES: f64 = 10.0;

/// Parts that follow from the parameters alone: the laws of every class and link, with the enrolled
/// parameters in them, and sums over flows.
pub(super) struct Prepared<S> {
    pub(super) tcp: Vec<TcpLaw<S>>,
    pub(super) aqm: Vec<AqmLaw<S>>,
    /// Flows that cross each link.
    pub(super) flows: Vec<S>,
    /// All flows.
    pub(super) total: S,
    /// 1 / rate of each link.
    pub(super) per_packet: Vec<S>,
    /// 1 / RTT of each class and the mean RTT, where queueing does not change them.
    pub(super) per_rtt: Vec<S>,
    pub(super) mean_rtt: S,
    /// RTT of each class with every queue of its path full.
    pub(super) full_rtt: Vec<S>,
    /// Whether a class's losses follow from queues and AQM states alone, without arrivals.
    pub(super) local: bool,
}

/// State of the network at one point.
pub(super) struct Network<S> {
    pub(super) probability: [S; MAX_LINKS],
    pub(super) arrivals: [S; MAX_LINKS],
    /// Rates that enter each queue, a full queue's overflow not taken off.
    pub(super) entering: [S; MAX_LINKS],
    pub(super) rtt: [S; MAX_LINKS],
    /// Packets/s of one flow of each class.
    pub(super) rate: [S; MAX_LINKS],
    /// Fraction of a class's packets that are on their way still, and that have met no signal.
    pub(super) left: [S; MAX_LINKS],
    pub(super) unsignalled: [S; MAX_LINKS],
    pub(super) mean_rtt: S,
}

impl<S: Scalar> Network<S> {
    pub(super) fn new() -> Self {
        let zero = [S::from(0.0); MAX_LINKS];
        Self {
            probability: zero,
            arrivals: zero,
            entering: zero,
            rtt: zero,
            rate: zero,
            left: zero,
            unsignalled: zero,
            mean_rtt: S::from(0.0),
        }
    }
}

impl Model {
    pub(super) fn count_at(&self, class: usize) -> usize {
        1 + self.links.len() + 2 * class
    }

    /// The laws over a scalar, with the enrolled parameters in them; `None` when one does not take
    /// its value.
    pub(super) fn prepare<S: Scalar>(&self, p: &[S]) -> Option<Prepared<S>> {
        let mut tcp: Vec<TcpLaw<S>> = self.classes.iter().map(|c| c.law.lift()).collect();
        let mut aqm: Vec<AqmLaw<S>> = self.links.iter().map(|l| l.law.lift()).collect();
        let base = 1 + self.links.len() + 2 * self.classes.len();
        for (v, value) in self.varied.iter().zip(&p[base..]) {
            let done = if v.of_link {
                aqm[v.owner].set(&v.name, *value)
            } else {
                tcp[v.owner].set(&v.name, *value)
            };
            if done.is_err() {
                return None;
            }
        }
        let sum = |classes: &mut dyn Iterator<Item = usize>| {
            classes.fold(S::from(0.0), |sum, c| sum + p[self.count_at(c)])
        };
        let total = sum(&mut (0..self.classes.len()));
        let one = S::from(1.0);
        let mut mean_rtt = S::from(0.0);
        for c in 0..self.classes.len() {
            mean_rtt += p[self.count_at(c)] * self.base_rtt(c, p);
        }
        Some(Prepared {
            per_packet: (0..self.links.len()).map(|l| one / p[1 + l]).collect(),
            per_rtt: (0..self.classes.len())
                .map(|c| one / self.base_rtt(c, p))
                .collect(),
            mean_rtt: mean_rtt / total,
            full_rtt: (0..self.classes.len())
                .map(|c| self.full_rtt(c, p))
                .collect(),
            flows: self
                .links
                .iter()
                .map(|l| sum(&mut l.crossed_by.iter().copied()))
                .collect(),
            total,
            local: self.links.iter().all(|l| l.law.local()),
            tcp,
            aqm,
        })
    }

    pub(super) fn aqm_state<'a, S>(&self, l: usize, x: &'a [S]) -> &'a [S] {
        &x[self.links[l].at..self.links[l].at + self.links[l].states]
    }

    /// Round-trip time of a class without queueing: propagation, and transmission on access links.
    #[inline]
    pub(super) fn base_rtt<S: Scalar>(&self, c: usize, p: &[S]) -> S {
        let rtt = p[self.count_at(c) + 1] + self.classes[c].jitter;
        match self.classes[c].access {
            Some(access) => rtt + access.transmission,
            None => rtt,
        }
    }

    /// Round-trip time of a class with every queue of its path full; infinite where one has no
    /// limit.
    fn full_rtt<S: Scalar>(&self, c: usize, p: &[S]) -> S {
        let path = &self.classes[c].path;
        let queued = |l: &&usize| self.links[**l].queue.is_some() && !self.passes(c, **l);
        if path
            .iter()
            .filter(queued)
            .any(|l| self.links[*l].limit.is_infinite())
        {
            return S::from(f64::INFINITY);
        }
        path.iter()
            .filter(queued)
            .fold(self.base_rtt(c, p), |rtt, l| {
                rtt + S::from(self.links[*l].limit) / p[1 + l]
            })
    }

    /// Returns what a class's sender knows of its path where nothing has moved for a round trip.
    pub(super) fn equilibrium_path<S: Scalar>(&self, c: usize, rtt: S, p: &[S]) -> Path<S> {
        Path {
            full: self.full_rtt(c, p),
            marks: self.classes[c].marked,
            ..Path::steady(rtt, self.base_rtt(c, p))
        }
    }

    /// Round-trip time of a class.
    #[inline]
    pub(crate) fn rtt<S: Scalar>(&self, c: usize, x: &[S], p: &[S]) -> S {
        let mut rtt = self.base_rtt(c, p);
        if self.choices.rtt == Rtt::Queueing {
            for l in &self.classes[c].path {
                if self.links[*l].coupled.is_some() {
                    if let Some(prepared) = self.prepare(p) {
                        rtt += self.coupled_delay(&prepared, c, *l, x, p);
                    }
                } else if let Some(q) = self.links[*l].queue {
                    rtt += x[q] / p[1 + l];
                }
            }
            if self.classes[c].access.is_some()
                && let Some(prepared) = self.prepare(p)
            {
                rtt = behind_access(&self.classes[c], self.window(&prepared, c, x), rtt).1;
            }
        }
        rtt
    }

    /// Whether a class passes the queue of a link through one for scalable senders.
    pub(super) fn passes(&self, c: usize, l: usize) -> bool {
        self.classes[c].low_latency && self.links[l].coupled.is_some()
    }

    /// Returns what is left of a link's rate for its queue: what scalable packets, which go first,
    /// do not take, and the classic share at least.
    fn service<S: Scalar>(&self, prepared: &Prepared<S>, l: usize, x: &[S], p: &[S]) -> S {
        let Some(coupled) = &self.links[l].coupled else {
            return p[1 + l];
        };
        let rest = p[1 + l] - self.scalable(prepared, l, x, p);
        let kept = p[1 + l] * coupled.classic_share;
        if rest.real() > kept.real() {
            rest
        } else {
            kept
        }
    }

    /// Packets/s of scalable senders at a link: they meet no queue there.
    pub(super) fn scalable<S: Scalar>(
        &self,
        prepared: &Prepared<S>,
        l: usize,
        x: &[S],
        p: &[S],
    ) -> S {
        let mut rate = S::from(0.0);
        for &c in &self.links[l].crossed_by {
            if self.classes[c].low_latency {
                let window = self.window(prepared, c, x);
                let own_rate = behind_access(&self.classes[c], window, self.base_rtt(c, p)).0;
                rate += p[self.count_at(c)] * own_rate;
            }
        }
        rate
    }

    /// Queueing delay of a class at a link with a queue for scalable senders.
    fn coupled_delay<S: Scalar>(
        &self,
        prepared: &Prepared<S>,
        c: usize,
        l: usize,
        x: &[S],
        p: &[S],
    ) -> S {
        match self.links[l].queue {
            Some(q) if !self.classes[c].low_latency => x[q] / self.service(prepared, l, x, p),
            _ => S::from(0.0),
        }
    }

    /// Packets/s that one flow of a class sends, and its round-trip time.
    #[inline]
    fn sends<S: Scalar>(&self, prepared: &Prepared<S>, c: usize, x: &[S], p: &[S]) -> (S, S) {
        let class = &self.classes[c];
        let window = self.window(prepared, c, x);
        if self.choices.rtt == Rtt::Fixed {
            let rate = window * prepared.per_rtt[c];
            let rate = match class.access {
                Some(access) if rate.real() > access.rate => S::from(access.rate),
                _ => rate,
            };
            return (rate, self.base_rtt(c, p));
        }
        let mut rtt = self.base_rtt(c, p);
        for l in &class.path {
            if self.links[*l].coupled.is_some() {
                rtt += self.coupled_delay(prepared, c, *l, x, p);
            } else if let Some(q) = self.links[*l].queue {
                rtt += x[q] * prepared.per_packet[*l];
            }
        }
        behind_access(class, window, rtt)
    }

    #[inline]
    pub(super) fn window<S: Scalar>(&self, prepared: &Prepared<S>, c: usize, x: &[S]) -> S {
        let class = &self.classes[c];
        if class.plain {
            x[class.at]
        } else {
            prepared.tcp[c].window(&x[class.at..class.at + class.states])
        }
    }

    #[inline]
    pub(super) fn input<S: Scalar>(
        &self,
        prepared: &Prepared<S>,
        net: &Network<S>,
        l: usize,
        x: &[S],
        p: &[S],
    ) -> AqmInput<S> {
        let weight = self.links[l].packet_weight;
        AqmInput {
            queue: self.links[l].queue.map_or(S::from(0.0), |q| x[q] * weight),
            arrivals: net.arrivals[l],
            service: self.service(prepared, l, x, p),
            limit: self.links[l].limit * weight,
            sampling: p[1 + l],
            averaging: self.choices.averaging,
            flows: prepared.flows[l],
            rtt: net.mean_rtt,
            priority: 0,
        }
    }

    /// Returns what the AQM of a link drops or marks, before a full queue's overflow.
    #[inline]
    pub(super) fn managed<S: Scalar>(
        &self,
        prepared: &Prepared<S>,
        input: &AqmInput<S>,
        l: usize,
        x: &[S],
    ) -> S {
        let law = &prepared.aqm[l];
        let state = self.aqm_state(l, x);
        let regime = match &self.regimes {
            Some(regimes) => regimes[l] % self.links[l].law.regimes().len(),
            None => law.regime(input, state),
        };
        let link = &self.links[l];
        let nominal = law.probability(input, state, regime) * link.packet_weight;
        link.spacing.rate(nominal)
    }

    /// Whether a queue overflows where arrivals exceed service: it is at its limit, or frozen
    /// there.
    #[inline]
    pub(super) fn full<S: Scalar>(&self, l: usize, x: &[S]) -> bool {
        match &self.regimes {
            None => self.at_limit(l, x),
            Some(_) => self.frozen_full(l),
        }
    }

    /// Whether a queue is at its limit.
    #[inline]
    pub(super) fn at_limit<S: Scalar>(&self, l: usize, x: &[S]) -> bool {
        let link = &self.links[l];
        link.queue
            .is_some_and(|q| x[q].real() >= link.limit * (1.0 - 1e-9))
    }

    /// Whether a link is frozen in the regime in which its queue overflows.
    #[inline]
    pub(super) fn frozen_full(&self, l: usize) -> bool {
        let link = &self.links[l];
        let frozen = self.regimes.as_ref().map(|regimes| regimes[l]);
        link.overflows() && frozen.is_some_and(|regime| regime >= link.law.regimes().len())
    }

    pub(super) fn network<S: Scalar>(
        &self,
        prepared: &Prepared<S>,
        x: &[S],
        p: &[S],
        net: &mut Network<S>,
    ) {
        let zero = S::from(0.0);
        let one = S::from(1.0);
        let fixed = self.choices.rtt == Rtt::Fixed;
        net.mean_rtt = if fixed { prepared.mean_rtt } else { zero };
        for c in 0..self.classes.len() {
            let (rate, rtt) = self.sends(prepared, c, x, p);
            (net.rate[c], net.rtt[c]) = (rate, rtt);
            if !fixed {
                net.mean_rtt += p[self.count_at(c)] * rtt;
            }
            net.left[c] = one;
            net.unsignalled[c] = one;
        }
        if !fixed {
            net.mean_rtt /= prepared.total;
        }
        for &l in &self.order {
            let link = &self.links[l];
            let mut arrivals = S::from(link.background);
            for &c in &link.crossed_by {
                arrivals += p[self.count_at(c)] * net.rate[c] * net.left[c];
            }
            net.arrivals[l] = arrivals;
            let input = self.input(prepared, net, l, x, p);
            if link.law.by_priority() || link.coupled.is_some() {
                self.pass_by_kind(prepared, input, l, x, p, net);
                continue;
            }
            let managed = self.managed(prepared, &input, l, x);
            let extra = self.extra(l, arrivals * (one - managed), x, p);
            let lost = managed + (one - managed) * extra;
            net.probability[l] = lost;
            let mut entering = S::from(link.background) * (one - managed);
            for &c in &link.crossed_by {
                let kept = if self.classes[c].marked {
                    one
                } else {
                    one - managed
                };
                entering += p[self.count_at(c)] * net.rate[c] * net.left[c] * kept;
                net.left[c] *= kept * (one - extra) * (1.0 - link.wire_loss);
                net.unsignalled[c] *= (one - lost) * (1.0 - link.wire_loss);
            }
            net.entering[l] = entering;
        }
    }

    /// Part of `offered` (packets/s that the AQM let through) that a full queue drops.
    #[inline]
    fn extra<S: Scalar>(&self, l: usize, offered: S, x: &[S], p: &[S]) -> S {
        if self.frozen_full(l) {
            // the smooth law of the regime, also where arrivals fall below service
            S::from(1.0) - p[1 + l] / offered
        } else if self.full(l, x) {
            overflow(offered, p[1 + l])
        } else {
            S::from(0.0)
        }
    }

    /// Applies one link to its classes, where that depends on their packets' priority or on their
    /// queue.
    fn pass_by_kind<S: Scalar>(
        &self,
        prepared: &Prepared<S>,
        input: AqmInput<S>,
        l: usize,
        x: &[S],
        p: &[S],
        net: &mut Network<S>,
    ) {
        let one = S::from(1.0);
        let link = &self.links[l];
        let managed = |priority: u8, low_latency: bool| {
            let input = AqmInput { priority, ..input };
            let p = self.managed(prepared, &input, l, x);
            match &link.coupled {
                Some(coupled) if low_latency => coupled.mark(p),
                _ => p,
            }
        };
        let of = |c: usize| managed(self.classes[c].priority, self.classes[c].low_latency);
        let mut offered = S::from(0.0);
        for &(priority, background) in &link.background_of {
            offered += (one - managed(priority, false)) * background;
        }
        let mut entering = offered;
        for &c in &link.crossed_by {
            let arrive = p[self.count_at(c)] * net.rate[c] * net.left[c];
            let kept = one - of(c);
            offered += arrive * kept;
            entering += if self.classes[c].marked {
                arrive
            } else {
                arrive * kept
            };
        }
        let extra = self.extra(l, offered, x, p);
        for &c in &link.crossed_by {
            let managed = of(c);
            let kept = if self.classes[c].marked {
                one
            } else {
                one - managed
            };
            net.left[c] *= kept * (one - extra) * (1.0 - link.wire_loss);
            net.unsignalled[c] *= (one - managed) * (one - extra) * (1.0 - link.wire_loss);
        }
        net.entering[l] = entering;
        net.probability[l] = one - offered * (one - extra) / input.arrivals;
    }

    /// Returns what a sender hears of a past state: its own rate then, packets/s, the fraction of
    /// it lost or marked, and its round-trip time.
    #[inline]
    fn heard<S: Scalar>(
        &self,
        prepared: &Prepared<S>,
        c: usize,
        past: &[S],
        p: &[S],
        work: &mut Network<S>,
    ) -> (S, S, S) {
        let one = S::from(1.0);
        let path = &self.classes[c].path;
        if !prepared.local || path.iter().any(|l| self.full(*l, past)) {
            self.network(prepared, past, p, work);
            return (work.rate[c], one - work.unsignalled[c], work.rtt[c]);
        }
        let mut unsignalled = one;
        for &l in path {
            let mut input = self.input(prepared, work, l, past, p);
            input.priority = self.classes[c].priority;
            unsignalled *=
                (one - self.managed(prepared, &input, l, past)) * (1.0 - self.links[l].wire_loss);
        }
        let (rate, rtt) = self.sends(prepared, c, past, p);
        (rate, one - unsignalled, rtt)
    }

    /// Adds what senders that follow the queueing delay send where ACKs clock them: a window that
    /// grows sends at once, x = w / R + w' (Jacobsson, Andrew, Tang, Johansson, Hjalmarsson and
    /// Low, "ACK-clocking dynamics: modelling the interaction between windows and the network",
    /// INFOCOM 2008). Windows are known in `out`.
    #[inline]
    fn clock_by_acks<S: Scalar>(&self, at: Args<'_, S>, now: &mut Network<S>, out: &[S]) {
        if self.choices.form != Form::PerAck {
            return;
        }
        let one = S::from(1.0);
        for (c, class) in self.classes.iter().enumerate() {
            let rate = now.rate[c];
            let waits = |access: Access| rate.real() >= access.rate;
            if !class.law.by_delay() || class.user.is_some() || class.access.is_some_and(waits) {
                continue;
            }
            let grown = out[class.at];
            // nobody sends less than nothing
            let grown = if grown.real() < -rate.real() {
                -rate
            } else {
                grown
            };
            let mut more = at.p[self.count_at(c)] * grown;
            for &l in &class.path {
                now.arrivals[l] += more;
                if !class.marked {
                    more *= one - now.probability[l];
                }
                now.entering[l] += more;
            }
        }
    }

    /// The busiest link of a class's path, for laws that measure their delivery rate; a link without
    /// limit for all others.
    fn bottleneck<S: Scalar>(
        &self,
        c: usize,
        prepared: &Prepared<S>,
        net: &Network<S>,
        x: &[S],
        p: &[S],
    ) -> Bottleneck<S> {
        let zero = S::from(0.0);
        let base = self.base_rtt(c, p);
        let mut bottleneck = Bottleneck {
            rate: S::from(f64::INFINITY),
            others: zero,
            drained_rtt: base,
        };
        if !self.classes[c].law.by_rate() || self.classes[c].user.is_some() {
            return bottleneck;
        }
        let mut busiest = 0.0;
        for &l in &self.classes[c].path {
            let (arrivals, rate) = (net.arrivals[l], p[1 + l]);
            let load = arrivals.real() / rate.real();
            if load > busiest {
                busiest = load;
                bottleneck.rate = rate;
                bottleneck.others = arrivals - net.rate[c];
            }
            bottleneck.drained_rtt += self.left_by_draining(l, prepared, net, x, p);
        }
        bottleneck
    }

    /// Queueing delay of a link, s, once the senders that empty it of their packets have done so: what
    /// all windows then hold beyond their own paths.
    fn left_by_draining<S: Scalar>(
        &self,
        l: usize,
        prepared: &Prepared<S>,
        net: &Network<S>,
        x: &[S],
        p: &[S],
    ) -> S {
        let zero = S::from(0.0);
        let link = &self.links[l];
        if link.queue.is_none() {
            return zero;
        }
        let (mut in_flight, mut without_queue) = (zero, zero);
        for &c in &link.crossed_by {
            let class = &self.classes[c];
            let window = if class.law.by_rate() {
                prepared.tcp[c].left_in_network(&x[class.at..class.at + class.states])
            } else {
                net.rate[c] * net.rtt[c]
            };
            in_flight += p[self.count_at(c)] * window;
            without_queue += p[self.count_at(c)] * window * self.base_rtt(c, p);
        }
        let left = in_flight / (p[1 + l] - link.background) - without_queue / in_flight;
        if left.real() > 0.0 { left } else { zero }
    }

    /// Growth of a class's window an ACK, and its fall a signal, where the window is its only
    /// state.
    fn window_law<S: Scalar>(
        &self,
        c: usize,
        tcp: &TcpLaw<S>,
        window: S,
        path: &Path<S>,
    ) -> (S, S) {
        let small = self.small.as_ref().map_or_else(
            || self.choices.small_windows && window.real() < tcp.small_below(path).real(),
            |frozen| frozen[c],
        );
        let (grow, fall) = if let Some(user) = &self.classes[c].user {
            user::law(&**user, window, path.rtt)
        } else if small {
            tcp.small_window(window)
        } else {
            (tcp.increase(window, path), tcp.decrease(window, path))
        };
        (grow, self.choices.decrease.of(window, fall))
    }

    /// The right-hand side.
    #[inline]
    fn field<S: Scalar>(
        &self,
        prepared: &Prepared<S>,
        at: Args<'_, S>,
        now: &mut Network<S>,
        work: &mut Network<S>,
        out: &mut [S],
    ) {
        let n = self.dimension;
        let one = S::from(1.0);
        self.network(prepared, at.x, at.p, now);
        for (c, class) in self.classes.iter().enumerate() {
            let past = &at.past[c * n..(c + 1) * n];
            let (rate, lost, measured) = self.heard(prepared, c, past, at.p, work);
            let (lost, measured) = match &self.opened[c] {
                Some(given) => (S::from(given.lost), S::from(given.rtt)),
                None => (lost, measured),
            };
            let state = &at.x[class.at..class.at + class.states];
            let rates = &mut out[class.at..class.at + class.states];
            let path = Path {
                rtt: now.rtt[c],
                base_rtt: self.base_rtt(c, at.p),
                measured,
                full: prepared.full_rtt[c],
                marks: class.marked,
                bottleneck: self.bottleneck(c, prepared, now, at.x, at.p),
            };
            let per_ack = self.choices.form == Form::PerAck && !class.timed;
            let acks = if per_ack {
                (one - lost) * rate
            } else {
                now.rate[c]
            };
            let signals = lost * rate;
            let tcp = &prepared.tcp[c];
            if class.plain {
                let (grow, fall) = self.window_law(c, tcp, state[0], &path);
                rates[0] = grow * acks - fall * signals;
            } else {
                let input = TcpInput {
                    acks,
                    signals,
                    per_ack,
                    path,
                };
                tcp.derivative(&input, state, rates);
                if self.choices.decrease == Decrease::Random && tcp.window_first() {
                    let fall = tcp.decrease(state[0], &path);
                    rates[0] -= (Decrease::Random.of(state[0], fall) - fall) * signals;
                }
            }
        }
        self.clock_by_acks(at, now, out);
        for (l, link) in self.links.iter().enumerate() {
            if let Some(q) = link.queue {
                out[q] = if self.frozen_full(l) {
                    // the queue stands at its limit: a fast return to it in place of the equation
                    // that has no meaning there
                    (-at.x[q] + link.limit) * at.p[1 + l] * (RETURN_TIMES / link.limit)
                } else {
                    now.entering[l] - at.p[1 + l]
                };
            }
            if link.states > 0 {
                let input = self.input(prepared, now, l, at.x, at.p);
                prepared.aqm[l].derivative(
                    &input,
                    self.aqm_state(l, at.x),
                    &mut out[link.at..link.at + link.states],
                );
            }
        }
        let gain = at.p[0];
        for v in out.iter_mut() {
            *v *= gain;
        }
    }
}

/// Rate and round-trip time of a flow with a window of `window` on a path of round-trip time `rtt`
/// behind its access link: what the window has beyond the link's rate times the round trip waits
/// there.
#[inline]
fn behind_access<S: Scalar>(class: &Class, window: S, rtt: S) -> (S, S) {
    match class.access {
        Some(access) if window.real() > access.rate * rtt.real() => {
            (S::from(access.rate), window / access.rate)
        }
        _ => (window / rtt, rtt),
    }
}

/// The model with its parameters settled.
struct Fixed<'a> {
    model: &'a Model,
    p: Vec<f64>,
    prepared: Prepared<f64>,
    now: Network<f64>,
    work: Network<f64>,
}

impl Settled for Fixed<'_> {
    fn rhs(&mut self, x: &[f64], past: &[f64], out: &mut [f64]) {
        let p = &self.p;
        let (now, work) = (&mut self.now, &mut self.work);
        self.model
            .field(&self.prepared, Args { x, past, p }, now, work, out);
    }

    fn delay(&self, j: usize, x: &[f64], _: &[f64]) -> f64 {
        if self.model.undelayed {
            0.0
        } else {
            self.model.sends(&self.prepared, j, x, &self.p).1
        }
    }
}

impl System for Model {
    fn dimension(&self) -> usize {
        self.dimension
    }

    fn delays(&self) -> usize {
        self.classes.len()
    }

    fn state_dependent(&self) -> bool {
        self.choices.rtt == Rtt::Queueing && self.links.iter().any(|l| l.queue.is_some())
    }

    fn rhs<S: Scalar>(&self, at: Args<'_, S>, out: &mut [S]) {
        match self.prepare(at.p) {
            Some(prepared) => {
                let (mut now, mut work) = (Network::new(), Network::new());
                self.field(&prepared, at, &mut now, &mut work, out);
            }
            None => out.fill(S::from(f64::NAN)),
        }
    }

    fn delay<S: Scalar>(&self, j: usize, at: Args<'_, S>) -> S {
        if self.undelayed {
            S::from(0.0)
        } else {
            self.rtt(j, at.x, at.p)
        }
    }

    fn settle<'a>(&'a self, p: &[f64]) -> Option<Box<dyn Settled + 'a>> {
        Some(Box::new(Fixed {
            model: self,
            p: p.to_vec(),
            prepared: self.prepare(p)?,
            now: Network::new(),
            work: Network::new(),
        }))
    }

    /// One for each switching boundary between two regimes of an AQM's law.
    fn switches(&self) -> usize {
        if self.regimes.is_some() {
            0
        } else {
            self.links.iter().map(|l| l.law.regimes().len() - 1).sum()
        }
    }

    fn switch(&self, at: Args<'_, f64>, out: &mut [f64]) {
        if out.is_empty() {
            return;
        }
        let regimes = self.regimes_at(at.x, at.p);
        let mut slot = 0;
        for (link, regime) in self.links.iter().zip(regimes) {
            for boundary in 0..link.law.regimes().len() - 1 {
                let regime = regime % link.law.regimes().len();
                out[slot] = regime as f64 - boundary as f64 - 0.5;
                slot += 1;
            }
        }
    }

    fn bounds(&self, _: &[f64]) -> Vec<Bound> {
        if self.regimes.is_some() {
            Vec::new()
        } else {
            self.clamps()
        }
    }
}
