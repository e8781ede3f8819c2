//! CoDel, RFC 8289: drops at the head of the queue while the shortest recent delay stays above a
//! target.
//!
//! Packets are judged as they leave. Once their sojourn times have been at or above `target` for a
//! whole `interval`, a packet is dropped; further ones follow at distances of interval /
//! sqrt(count) until a sojourn is below the target (or at most one packet of maximal size is left).
//! When dropping starts again within 16 intervals, it resumes with the number of drops of the last
//! time, count - lastcount (RFC 8289, section 5.5).
//!
//! The fluid law has the time above the target, the drops of the present row and the count at its
//! start as states. It has no equilibrium but a cycle: drops come ever faster until the queue is
//! below the target, and none come there.
//!
//! With `ce_threshold` packets that have waited longer are marked too, as in Linux, and change
//! nothing else.
//!
//! ECN-capable packets are marked instead of dropped. [`CodelState`] is what a queue keeps, so that
//! a scheduler can have one for each flow (RFC 8290).

//= RFC 8289 1/1, 4.3/2..3: not applicable, advice to those who choose queues and values

use super::{Aqm, AqmAlgorithm, LinkView, PacketView, QueueView, Verdict, changed, signal};
use crate::fluid::{AqmInput, AqmStart, FluidAqm};
use crate::meta::{About, Algorithm};
use crate::{Interval, NumberOr, Scalar, Stream, Time, ValueError, choices, parameters};

choices! {
    /// Which ECN-capable packets a threshold for marks is for.
    pub enum Selector {
        /// All.
        Any = "any",
        /// Packets of scalable congestion controls, ECT(1) (RFC 9331).
        Ect1 = "ect1",
    }
}

parameters! {
    /// Parameters of CoDel.
    pub struct CodelParams {
        /// Acceptable sojourn time in the queue.
        //= RFC 8289 4.3/1: done, test the_control_law_by_hand
        target: time = 0.005, in Interval::above(0.0), "RFC 8289, section 4.4";
        /// How long sojourn times must stay above the target before the first drop: about the
        /// largest round-trip time.
        //= RFC 8289 3.1/1, 4.2/1, 4.5/1: done, test the_control_law_by_hand
        interval: time = 0.1, in Interval::above(0.0), "RFC 8289, section 4.4";
        /// Largest packet: with no more than this left in the queue nothing is dropped.
        //= RFC 8289 5.3/1: deviation, `max_packet` is 1500 bytes whatever the flows send
        max_packet: bytes = 1500.0, in Interval::at_least(0.0), "RFC 8289, section 5.4: maxpacket";
        /// Whether ECN-capable packets are marked instead of dropped.
        ecn: flag = false, "RFC 8289, section 3";
        /// Sojourn time above which every ECN-capable packet that leaves is marked, whatever
        /// CoDel's own law says and whether or not it marks: with 1 ms and
        /// `ce_threshold_selector = "ect1"` the step of L4S for scalable congestion controls, beside CoDel for the others.
        ce_threshold: time("none") = word "none", in Interval::at_least(0.0), "Linux 6.1, codel_dequeue";
        /// Which packets those are.
        ce_threshold_selector: choice(Selector) = Any, "Linux 6.1, codel_dequeue: ce_threshold_selector, ce_threshold_mask";
        /// Whether 1 / sqrt(count) is followed by one Newton step a drop, in 65536ths, as in
        /// kernels: after a jump of the count it is off for some drops, so that dropping that
        /// starts again at a lower count goes on faster than it should.
        newton: flag = false, "Linux 6.1";
    }
}

impl Algorithm for CodelParams {
    const ABOUT: About = About {
        kind: "codel",
        title: "CoDel",
        summary: "Controlled Delay: drops departing packets, ever more often, while the shortest sojourn time of an interval stays above a target.",
        citation: "K. Nichols, V. Jacobson, A. McGregor and J. Iyengar, Controlled Delay active queue management, RFC 8289, 2018",
        ecn: true,
    };
}

impl CodelParams {
    /// The numbers that every packet needs.
    #[must_use]
    pub fn law(&self) -> CodelLaw {
        CodelLaw {
            target: Time::from_seconds(self.target),
            interval: Time::from_seconds(self.interval),
            max_packet: self.max_packet as u64,
            ecn: self.ecn,
            ce_threshold: match self.ce_threshold {
                NumberOr::Number(time) => Time::from_seconds(time),
                NumberOr::Word(_) => Time::NEVER,
            },
            scalable_only: self.ce_threshold_selector == Selector::Ect1,
            newton: self.newton,
        }
    }
}

/// One, in the steps of the kernel's 1 / sqrt(count).
const ROOT_STEPS: f64 = 65536.0;

/// CoDel's parameters as the hot path needs them.
#[derive(Clone, Copy, Debug)]
pub struct CodelLaw {
    target: Time,
    interval: Time,
    max_packet: u64,
    ecn: bool,
    /// Sojourn time above which packets are marked, [`Time::NEVER`] without one; only scalable
    /// ones.
    ce_threshold: Time,
    scalable_only: bool,
    newton: bool,
}

impl CodelLaw {
    /// Whether a packet that leaves after `sojourn` is marked for that alone.
    #[inline]
    fn exceeds(&self, sojourn: Time, packet: &PacketView) -> bool {
        sojourn > self.ce_threshold
            && packet.ecn_capable
            && (packet.scalable || !self.scalable_only)
    }

    /// When to drop next after `time` (RFC 8289, section 5.3).
    #[inline]
    fn next(&self, time: Time, state: &CodelState) -> Time {
        let gap = if self.newton {
            self.interval.0 as f64 * f64::from(state.root) / ROOT_STEPS
        } else {
            self.interval.0 as f64 / f64::from(state.count).sqrt()
        };
        time + Time((gap + 0.5) as u64)
    }
}

/// CoDel's state for one queue. The default is that of a new queue.
#[derive(Clone, Copy, Debug, Default)]
pub struct CodelState {
    /// When sojourn times will have been above the target for an interval, if they are.
    first_above: Option<Time>,
    drop_next: Time,
    /// Drops since dropping began.
    count: u32,
    /// `count` when it began.
    last_count: u32,
    /// The kernel's 1 / sqrt(count), in 65536ths; only with `newton`.
    root: u32,
    dropping: bool,
    /// A packet has just been dropped while dropping; the next decides when the next drop is due.
    dropped: bool,
}

impl CodelState {
    /// Judges a packet that leaves after `sojourn`, `left` bytes staying behind. After a drop the
    /// next packet is to be judged at once.
    #[inline]
    pub fn dequeue(
        &mut self,
        law: &CodelLaw,
        now: Time,
        sojourn: Time,
        left: u64,
        packet: &PacketView,
    ) -> Verdict {
        if law.ce_threshold != Time::NEVER {
            return self.dequeue_by_threshold(law, now, sojourn, left, packet);
        }
        self.control(law, now, sojourn, left, packet)
    }

    /// The same where there is a threshold for marks.
    #[inline(never)]
    fn dequeue_by_threshold(
        &mut self,
        law: &CodelLaw,
        now: Time,
        sojourn: Time,
        left: u64,
        packet: &PacketView,
    ) -> Verdict {
        match self.control(law, now, sojourn, left, packet) {
            Verdict::Accept if law.exceeds(sojourn, packet) => Verdict::Mark,
            verdict => verdict,
        }
    }

    /// The same by the law of RFC 8289 alone.
    #[inline(always)]
    fn control(
        &mut self,
        law: &CodelLaw,
        now: Time,
        sojourn: Time,
        left: u64,
        packet: &PacketView,
    ) -> Verdict {
        let due = self.above_for_an_interval(law, now, sojourn, left);
        if self.dropping {
            if !due {
                self.dropping = false;
            } else if self.dropped {
                self.drop_next = law.next(self.drop_next, self);
            }
            self.dropped = false;
            if !self.dropping || now < self.drop_next {
                return Verdict::Accept;
            }
            self.count = self.count.saturating_add(1);
            self.step_root(law);
            let verdict = signal(law.ecn, packet);
            if verdict == Verdict::Mark {
                self.drop_next = law.next(self.drop_next, self);
            } else {
                self.dropped = true;
            }
            verdict
        } else if due {
            self.dropping = true;
            let reached = self.count.saturating_sub(self.last_count);
            let recent = now.since(self.drop_next).0 < law.interval.0.saturating_mul(16);
            if reached > 1 && recent {
                self.count = reached;
                self.step_root(law);
            } else {
                self.count = 1;
                self.root = u32::from(u16::MAX);
            }
            self.last_count = self.count;
            //= RFC 8289 3.3/1, 4/1: done, test the_control_law_by_hand
            self.drop_next = law.next(now, self);
            signal(law.ecn, packet)
        } else {
            Verdict::Accept
        }
    }

    /// A Newton step of the root: x (3 - count x^2) / 2.
    #[inline]
    fn step_root(&mut self, law: &CodelLaw) {
        if law.newton {
            let root = f64::from(self.root) / ROOT_STEPS;
            let next = 0.5 * root * (3.0 - f64::from(self.count) * root * root);
            self.root = (ROOT_STEPS * next) as u32;
        }
    }

    fn above_for_an_interval(
        &mut self,
        law: &CodelLaw,
        now: Time,
        sojourn: Time,
        left: u64,
    ) -> bool {
        //= RFC 8289 4.1/1: done, test the_last_packet_is_spared
        if sojourn < law.target || left <= law.max_packet {
            self.first_above = None;
            return false;
        }
        let first = *self.first_above.get_or_insert(now + law.interval);
        now >= first
    }
}

/// States that are set at once in the algorithm follow within this part of the interval in the
/// equations.
const AT_ONCE: f64 = 0.02;

impl FluidAqm for CodelParams {
    type Over<S: Scalar> = CodelParams<S>;

    const APPROXIMATION: Option<&'static str> = Some(
        "drops are a rate, the sojourn time is that of the present queue, and what is set at once follows within a fiftieth of the interval; it has no equilibrium, only cycles, whose period one window for all flows makes a quarter too long (the mean-field engine has their distribution and the packets' period; derived here)",
    );

    fn on_link(&self, _link: &LinkView) -> Self {
        *self
    }

    fn state_names<S: Scalar>(_params: &CodelParams<S>) -> &'static [&'static str] {
        &[
            "time above target (s)",
            "drops of this row",
            "count at its start",
        ]
    }

    fn start<S: Scalar>(_params: &CodelParams<S>, _from: &AqmStart<S>, state: &mut [S]) {
        for (state, value) in state.iter_mut().zip([0.0, 0.0, 1.0]) {
            *state = S::from_f64(value);
        }
    }

    /// Below the target the time above it is forgotten, and the next row's count takes the drops of
    /// the last one (at least one). Above it and not yet dropping the time grows and the row has no
    /// drops. While dropping, sqrt(count) / interval drops are made a second.
    fn derivative<S: Scalar>(
        params: &CodelParams<S>,
        input: &AqmInput<S>,
        state: &[S],
        rate: &mut [S],
    ) {
        if let ([time, drops, first], [passes, dropped, moves]) = (state, rate) {
            let (zero, one) = (S::from_f64(0.0), S::from_f64(1.0));
            let at_once = params.interval * AT_ONCE;
            (*passes, *dropped, *moves) = match Self::regime(params, input, state) {
                0 => (-*time / at_once, zero, (drops.max(one) - *first) / at_once),
                1 => (one, -*drops / at_once, zero),
                _ => (zero, drop_rate(params, *drops, *first), zero),
            };
        }
    }

    fn regimes<S: Scalar>(_params: &CodelParams<S>) -> &'static [&'static str] {
        &[
            "below target",
            "above target for less than an interval",
            "dropping",
        ]
    }

    fn regime<S: Scalar>(params: &CodelParams<S>, input: &AqmInput<S>, state: &[S]) -> usize {
        let time = state.first().map_or(0.0, |time| time.re());
        if input.queue.re() < params.target.re() * input.service.re() {
            0
        } else if time < params.interval.re() {
            1
        } else {
            2
        }
    }

    fn local<S: Scalar>(_params: &CodelParams<S>) -> bool {
        true
    }

    /// sqrt(count) / (interval C) while dropping, C being what the link sends in a second; zero
    /// otherwise.
    fn probability<S: Scalar>(
        params: &CodelParams<S>,
        input: &AqmInput<S>,
        state: &[S],
        regime: usize,
    ) -> S {
        match state {
            [_, drops, first] if regime == 2 => {
                (drop_rate(params, *drops, *first) / input.service).min(S::from_f64(1.0))
            }
            _ => S::from_f64(0.0),
        }
    }
}

/// Drops a second: the next one comes interval / sqrt(count) after the last.
fn drop_rate<S: Scalar>(params: &CodelParams<S>, drops: S, first: S) -> S {
    let count = (drops + first).max(S::from_f64(1.0));
    count.sqrt() / params.interval
}

impl AqmAlgorithm for CodelParams {
    type Instance = Codel;

    fn build(&self, _link: &LinkView) -> Codel {
        Codel {
            state: CodelState::default(),
            law: self.law(),
            params: *self,
        }
    }
}

/// CoDel at work.
#[derive(Clone, Debug)]
pub struct Codel {
    state: CodelState,
    law: CodelLaw,
    params: CodelParams,
}

impl Aqm for Codel {
    fn decides_at_dequeue(&self) -> bool {
        true
    }

    #[inline]
    fn judges_arrivals(&self) -> bool {
        false
    }

    #[inline]
    fn enqueue(
        &mut self,
        _now: Time,
        _packet: &PacketView,
        queue: &QueueView,
        _random: &mut Stream,
    ) -> Verdict {
        if queue.full {
            Verdict::Drop
        } else {
            Verdict::Accept
        }
    }

    #[inline]
    fn dequeue(
        &mut self,
        now: Time,
        sojourn: Time,
        packet: &PacketView,
        queue: &QueueView,
        _random: &mut Stream,
    ) -> Verdict {
        self.state
            .dequeue(&self.law, now, sojourn, queue.bytes, packet)
    }

    fn on_empty(&mut self) {
        // RFC 8289, section 5.5: without a packet nothing is above the target
        self.state.first_above = None;
        self.state.dropping = false;
        self.state.dropped = false;
    }

    fn set_parameter(&mut self, name: &str, value: f64) -> Result<(), ValueError> {
        self.params = changed(&self.params, name, value)?;
        self.law = self.params.law();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Parameters as _;
    use crate::aqm::test::packet;

    fn law() -> CodelLaw {
        CodelParams::from_values(&[]).unwrap().law()
    }

    fn ms(time: f64) -> Time {
        Time::from_seconds(1e-3 * time)
    }

    /// Verdicts on the packets of a queue that is 20 packets long but for the last: (time,
    /// sojourn), both in ms.
    fn judge(state: &mut CodelState, law: &CodelLaw, packets: &[(f64, f64)]) -> Vec<Verdict> {
        let mut verdict = |&(time, sojourn): &(f64, f64)| {
            state.dequeue(law, ms(time), ms(sojourn), 20 * 1500, &packet())
        };
        packets.iter().map(&mut verdict).collect()
    }

    /// The kernel's log of a queue whose dropping begins with 45 drops counted and 44 reached: a
    /// root of 9877 / 65536, where 1 / sqrt(44) is 9880; then of one with 55 counted that goes on
    /// from 11: 12369, where the true one is 19760.
    #[test]
    fn roots_follow_by_newton_steps_as_in_linux() {
        let law = CodelParams {
            newton: true,
            ..CodelParams::from_values(&[]).unwrap()
        }
        .law();
        let mut state = CodelState {
            count: 1,
            root: 65535,
            ..CodelState::default()
        };
        for count in 2..=45 {
            state.count = count;
            state.step_root(&law);
        }
        (state.count, state.last_count) = (45, 1);
        let at = |state: &mut CodelState, from: f64| {
            judge(state, &law, &[(from, 6.0), (from + 101.0, 6.0)]);
            (state.count, state.root)
        };
        assert_eq!(at(&mut state, 0.0), (44, 9877));
        for count in 45..=55 {
            state.count = count;
            state.step_root(&law);
        }
        (state.dropping, state.first_above) = (false, None);
        assert_eq!(at(&mut state, 200.0), (11, 12369));
    }

    use Verdict::{Accept, Drop, Mark};

    #[test]
    fn the_control_law_by_hand() {
        let mut state = CodelState::default();
        let observed = judge(
            &mut state,
            &law(),
            &[
                (0.0, 4.9),    // below the target
                (10.0, 5.0),   // the interval begins: until 110 ms
                (60.0, 20.0),  // not over yet
                (109.9, 20.0), // still not
                (110.0, 20.0), // first drop, next at 210 ms
                (110.0, 20.0), // the packet that goes in its place
                (209.9, 20.0),
                (210.0, 20.0), // second drop, next at 210 + 100 / sqrt 2 = 280.71 ms
                (210.0, 20.0),
                (280.7, 20.0),
                (280.72, 20.0), // third drop, next at 280.71 + 100 / sqrt 3 = 338.446 ms
                (280.72, 20.0),
                (338.44, 20.0),
                (338.45, 20.0), // fourth drop, next at 338.446 + 100 / 2 = 388.446 ms
                (338.45, 20.0),
                (388.40, 4.9), // below the target: it is over
                (389.0, 20.0), // a new interval, until 489 ms
                (488.9, 20.0),
            ],
        );
        let drops: Vec<_> = (0..observed.len())
            .filter(|n| observed[*n] == Drop)
            .collect();
        assert_eq!(drops, [4, 7, 10, 13]);
        assert!((state.drop_next.seconds() - 0.388_446).abs() < 1e-6);
        // dropping begins again soon: at the rate reached, 4 drops less the 1 that it began with
        assert_eq!(judge(&mut state, &law(), &[(489.0, 20.0)]), [Drop]);
        assert_eq!((state.count, state.last_count), (3, 3));
        assert!((state.drop_next.seconds() - (0.489 + 0.1 / 3.0_f64.sqrt())).abs() < 1e-9);
    }

    #[test]
    fn after_sixteen_intervals_it_begins_anew() {
        for (pause, count) in [(1590.0, 3), (1610.0, 1)] {
            let mut state = CodelState {
                count: 4,
                last_count: 1,
                drop_next: ms(500.0),
                ..CodelState::default()
            };
            judge(
                &mut state,
                &law(),
                &[(400.0 + pause, 20.0), (500.0 + pause, 20.0)],
            );
            assert_eq!(state.count, count, "{pause}");
        }
    }

    #[test]
    fn overdue_drops_happen_at_once() {
        // no packet left for a long time: drops were due at 100 (the first now), 200, 270.7, 328.4
        // and 378.4 ms
        let mut state = CodelState::default();
        judge(
            &mut state,
            &law(),
            &[(0.0, 20.0), (100.0, 20.0), (100.0, 20.0)],
        );
        let observed = judge(&mut state, &law(), &[(330.0, 20.0); 5]);
        assert_eq!(observed, [Drop, Drop, Drop, Accept, Accept]);
        assert_eq!(state.count, 4);
    }

    #[test]
    fn a_good_packet_ends_a_row_of_drops() {
        let mut state = CodelState::default();
        judge(
            &mut state,
            &law(),
            &[(0.0, 20.0), (100.0, 20.0), (100.0, 20.0)],
        );
        let observed = judge(
            &mut state,
            &law(),
            &[(330.0, 20.0), (330.0, 3.0), (330.0, 20.0)],
        );
        assert_eq!(observed, [Drop, Accept, Accept]);
        assert!(!state.dropping);
    }

    #[test]
    fn the_last_packet_is_spared() {
        let mut state = CodelState::default();
        let mut at = |time, left| state.dequeue(&law(), ms(time), ms(50.0), left, &packet());
        assert_eq!(at(0.0, 1501), Accept);
        assert_eq!(at(100.0, 1500), Accept); // and the interval begins again
        assert_eq!(
            [at(101.0, 1501), at(200.9, 1501), at(201.0, 1501)],
            [Accept, Accept, Drop]
        );
    }

    /// Linux: above the threshold, and not at it; ECT(1) alone where the selector says so; marking
    /// need not be on; CoDel's own state goes on as without it.
    #[test]
    fn above_a_threshold_of_its_own_every_packet_is_marked() {
        let law = |selector| {
            CodelParams {
                ce_threshold: NumberOr::Number(0.001),
                ce_threshold_selector: selector,
                ..CodelParams::from_values(&[]).unwrap()
            }
            .law()
        };
        let ect = |ecn_capable, scalable| PacketView {
            ecn_capable,
            scalable,
            ..packet()
        };
        for (selector, packet, marked) in [
            (Selector::Any, ect(true, false), true),
            (Selector::Any, ect(true, true), true),
            (Selector::Any, ect(false, false), false),
            (Selector::Ect1, ect(true, false), false),
            (Selector::Ect1, ect(true, true), true),
        ] {
            let mut state = CodelState::default();
            let mut judge = |time, sojourn| {
                state.dequeue(&law(selector), ms(time), ms(sojourn), 30_000, &packet)
            };
            let above = if marked { Mark } else { Accept };
            assert_eq!(
                [
                    judge(0.0, 1.0),
                    judge(1.0, 1.1),
                    judge(2.0, 6.0),
                    judge(103.0, 6.0)
                ],
                [Accept, above, above, Drop],
                "{selector:?} {packet:?}"
            );
        }
    }

    #[test]
    fn marks_are_spaced_like_drops_and_the_packet_is_sent() {
        let law = CodelLaw { ecn: true, ..law() };
        let capable = PacketView {
            ecn_capable: true,
            ..packet()
        };
        let mut state = CodelState::default();
        let mut at = |time| state.dequeue(&law, ms(time), ms(50.0), 30_000, &capable);
        assert_eq!(
            [0.0, 100.0, 150.0, 200.0, 270.0, 270.8, 328.0, 328.5].map(&mut at),
            [Accept, Mark, Accept, Mark, Accept, Mark, Accept, Mark]
        );
        assert_eq!(state.count, 4);
    }
}
