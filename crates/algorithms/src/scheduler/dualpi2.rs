//! DualPI2: a queue for scalable senders beside one for classic ones, with coupled AQMs (RFC 9332,
//! appendix A).
//!
//! A PI controller of the longer of the two queueing delays gives a base probability p', every
//! `interval`: p' <- p' + alpha (d - target) + beta (d - d_old). Classic packets are dropped or
//! marked with probability p'^2. Packets of the low-latency queue (ECT(1)) are marked with the
//! larger of k p' and a ramp of their own queueing delay, so that scalable senders yield to classic
//! ones that share the link. In overload (k p' at 1) both queues drop with p'^2, and marks of
//! classic packets become drops from p'^2 = 1 / k^2 on (appendix A.2).
//!
//! Probabilities are added up and a packet is taken whenever the sum passes one (recur() of figure
//! 5), so that marks come at regular distances.
//!
//! With `form = "linux"`, packets are marked and dropped independently of one another; the base
//! probability does nothing while less than two packets of 1514 bytes wait in both queues together;
//! and a packet of the low-latency queue is also marked where it has waited longer than `step` and
//! found two or more waiting there as it came. `min_threshold`, `range` and `spare` are not for
//! this form.
//!
//! The low-latency queue goes first except for a share that is kept for the classic one: a credit
//! in bytes, as in Linux' sch_dualpi2 (`classic_share`).

//= RFC 9332 2.3/1..2: not applicable, queues set CE and change nothing else
//= RFC 9332 2.5.1/1: not applicable, the parts of RFC 9331 that concern this queue are those below
//= RFC 9332 2.5.1.1/1..4: not applicable, packets are classified by ECT(1) alone
//= RFC 9332 2.5.2.2/1..2: done, test dualpi2_shares_the_link_between_scalable_and_classic_senders;
//=   traces of each queue, mean and percentile of the link's delay
//= RFC 9332 2.5.2.3/1..2: not applicable, a run reports its series, not alarms

use std::collections::VecDeque;

use super::{Backlog, Coupling, Label, Scheduler, SchedulerAlgorithm, SchedulerView, Victim};
use crate::aqm::{Observation, PacketView, Pi2Params, Verdict};
use crate::congestion::Form;
use crate::meta::{About, Algorithm};
use crate::{Interval, Stream, Time, Value, parameters};

parameters! {
    /// Parameters of DualPI2.
    pub struct DualPi2Params {
        /// Queueing delay that the classic queue is steered to.
        //= RFC 9332 2.5.2.1/1..2: done, test updates_by_hand_follow_the_longer_delay
        target: time = 0.015, in Interval::above(0.0), "RFC 9332, appendix A.1";
        /// Time between two updates of the base probability (T_update).
        interval: time = 0.016, in Interval::above(0.0), "RFC 9332, appendix A.1";
        /// Weight of the delay's distance from the target, per second and update: 0.1 T_update /
        /// RTT_max^2 with RTT_max = 100 ms.
        alpha: number = 0.16, in Interval::above(0.0), "RFC 9332, appendix A.1";
        /// Weight of the delay's change since the last update, per second: about 0.3 / RTT_max.
        beta: number = 3.2, in Interval::at_least(0.0), "RFC 9332, appendix A.1";
        /// Coupling factor k: a scalable packet is marked with probability k p' where a classic one
        /// is dropped with p'^2.
        //= RFC 9332 2.5.1/9: done, test the_queues_are_coupled
        coupling: number = 2.0, in Interval::between(1.0, 100.0), "RFC 9332, appendix A.1";
        /// Queueing delay of the low-latency queue from which its packets are marked.
        min_threshold: time = 0.0008, in Interval::at_least(0.0), "RFC 9332, appendix A.1: minTh";
        /// Further delay over which the probability of a mark rises to one; 0 for a step.
        range: time = 0.0004, in Interval::at_least(0.0), "RFC 9332, appendix A.1: range";
        /// Packets left in the low-latency queue up to which its own delay marks nothing.
        spare: packets = 1.0, in Interval::at_least(0.0), "RFC 9332, appendix A.1: Th_len";
        /// Queueing delay of the low-latency queue above which its packets are marked, in Linux's
        /// form.
        step: time = 0.001, in Interval::at_least(0.0), "Linux: step_thresh";
        /// Whose form is at work: the RFC's pseudocode, or Linux's sch_dualpi2 of 2020.
        form: choice(Form) = Paper, "RFC 9332, appendix A; L4S team, sch_dualpi2.c for Linux (2020)";
        /// Share of the link that the classic queue keeps when both are backlogged.
        //= RFC 9332 2.5.2.1/3: deviation, a share of the link, as in Linux, not a relation of
        //=   delays
        classic_share: number = 0.1, in Interval::inside(0.0, 1.0), "Linux, tc-dualpi2(8): classic_protection 10 %; RFC 9332, section 4.2.2";
    }
}

impl Algorithm for DualPi2Params {
    const ABOUT: About = About {
        kind: "dualpi2",
        title: "DualPI2",
        summary: "A low-latency queue for scalable senders (ECT(1)) that marks early, coupled to a classic queue under PI2, so that both kinds share the link fairly.",
        citation: "K. De Schepper, B. Briscoe and G. White, Dual-queue coupled active queue management (AQM) for low latency, low loss, and scalable throughput (L4S), RFC 9332, 2023",
        ecn: true,
    };
}

const CLASSIC_QUEUE: usize = 0;
const LOW_LATENCY: usize = 1;

/// A full packet to Linux (`psched_mtu` of Ethernet), bytes.
const LINUX_MTU: f64 = 1514.0;

impl SchedulerAlgorithm for DualPi2Params {
    type Scheduler = DualPi2;

    const AQM: Option<(&'static str, &'static [(&'static str, bool)])> = None;

    /// The classic queue is under PI2 up to p' = 1, beyond its overload.
    fn coupling(&self) -> Option<Coupling> {
        let values = [
            ("target", self.target),
            ("interval", self.interval),
            ("alpha", self.alpha),
            ("beta", self.beta),
            ("highest", 1.0),
        ];
        Some(Coupling {
            aqm: Pi2Params::ABOUT.kind,
            values: values
                .map(|(name, value)| (name.to_owned(), Value::Number(value)))
                .to_vec(),
            factor: self.coupling,
            classic_share: self.classic_share,
        })
    }

    fn build(&self, _view: &SchedulerView) -> DualPi2 {
        DualPi2 {
            base: 0.0,
            delay: 0.0,
            next: interval(self),
            sums: [0.0; 2],
            credit: first_credit(self),
            may_step: VecDeque::new(),
            params: *self,
        }
    }
}

/// The credit of the classic queue when both begin to fill, bytes: in Linux the low-latency one
/// goes first.
fn first_credit(params: &DualPi2Params) -> f64 {
    match params.form {
        Form::Paper => 0.0,
        Form::Linux => LINUX_MTU * (2.0 * params.classic_share - 1.0),
    }
}

fn interval(params: &DualPi2Params) -> Time {
    Time(Time::from_seconds(params.interval).0.max(1))
}

/// DualPI2 at work.
#[derive(Clone, Debug)]
pub struct DualPi2 {
    /// p'.
    base: f64,
    /// Queueing delay at the last update, s.
    delay: f64,
    next: Time,
    /// Probabilities of each queue's packets added up.
    sums: [f64; 2],
    /// The credit of the classic queue, bytes: it goes first while this is above zero.
    credit: f64,
    /// Linux's form: of each packet in the low-latency queue, whether it found two waiting there.
    may_step: VecDeque<bool>,
    params: DualPi2Params,
}

impl DualPi2 {
    /// True each time that the probabilities of a queue have added up to more than one.
    fn recurs(&mut self, queue: usize, p: f64) -> bool {
        let sum = &mut self.sums[queue];
        *sum += p;
        let recurs = *sum > 1.0;
        if recurs {
            *sum -= 1.0;
        }
        recurs
    }

    /// p'^2.
    fn classic(&self) -> f64 {
        self.base * self.base
    }

    /// k p'.
    fn coupled(&self) -> f64 {
        self.params.coupling * self.base
    }

    /// The verdict on a packet in Linux's form.
    fn judge_as_linux(
        &mut self,
        queue: usize,
        sojourn: Time,
        packet: &PacketView,
        backlog: &[Backlog],
        random: &mut Stream,
    ) -> Verdict {
        let (base, coupled) = (self.base, self.coupled());
        let mut squared = || random.uniform() < base && random.uniform() < base;
        let waiting: u64 = backlog.iter().map(|state| state.bytes).sum();
        let judges = waiting as f64 >= 2.0 * LINUX_MTU;
        if queue == CLASSIC_QUEUE {
            return match judges && squared() {
                true if packet.ecn_capable && coupled <= 1.0 => Verdict::Mark,
                true => Verdict::Drop,
                false => Verdict::Accept,
            };
        }
        let may_step = self.may_step.pop_front().unwrap_or(false);
        let mut marks = may_step && sojourn.seconds() > self.params.step;
        if judges && coupled > 1.0 {
            if squared() {
                return Verdict::Drop;
            }
            marks = true;
        } else if judges {
            marks |= random.uniform() < coupled;
        }
        if marks {
            Verdict::Mark
        } else {
            Verdict::Accept
        }
    }

    /// The probability of a mark from the low-latency queue's own delay.
    fn native(&self, sojourn: f64) -> f64 {
        let over = sojourn - self.params.min_threshold;
        if over >= self.params.range {
            1.0
        } else {
            (over / self.params.range).max(0.0)
        }
    }
}

impl Scheduler for DualPi2 {
    fn queues(&self) -> usize {
        2
    }

    #[inline]
    fn classify(&mut self, packet: &PacketView, label: &Label) -> usize {
        //= RFC 9332 2.5.1/2: done, test packets_of_scalable_senders_have_a_queue_of_their_own
        if label.l4s && packet.ecn_capable {
            LOW_LATENCY
        } else {
            CLASSIC_QUEUE
        }
    }

    fn joined(&mut self, queue: usize, backlog: &[Backlog]) {
        if queue == LOW_LATENCY && self.params.form == Form::Linux {
            let before = backlog[LOW_LATENCY].packets - 1;
            self.may_step.truncate(before as usize); // one that found no room has gone
            self.may_step.push_back(before > 1);
        }
    }

    #[inline]
    fn next(&mut self, _now: Time, backlog: &[Backlog]) -> Option<usize> {
        match (
            backlog[CLASSIC_QUEUE].packets > 0,
            backlog[LOW_LATENCY].packets > 0,
        ) {
            (false, false) => None,
            (true, false) => Some(CLASSIC_QUEUE),
            (false, true) => Some(LOW_LATENCY),
            //= RFC 9332 2.5.1/4..6: done, test the_classic_queue_keeps_a_tenth
            (true, true) if self.credit > 0.0 => Some(CLASSIC_QUEUE),
            (true, true) => Some(LOW_LATENCY),
        }
    }

    /// While both queues have packets, bytes of the low-latency queue earn the classic one its
    /// share, and its own bytes use it up.
    #[inline]
    fn sent(&mut self, queue: usize, size: u32, backlog: &[Backlog]) {
        let (size, share) = (f64::from(size), self.params.classic_share);
        if queue == LOW_LATENCY && backlog[CLASSIC_QUEUE].packets > 0 {
            self.credit += share * size;
        } else if queue == CLASSIC_QUEUE && backlog[LOW_LATENCY].packets > 0 {
            self.credit -= (1.0 - share) * size;
        }
        if backlog.iter().all(|state| state.packets == 0) {
            self.credit = first_credit(&self.params);
        }
    }

    fn overflow_victim(&self, arrived: usize, _backlog: &[Backlog]) -> Victim {
        Victim {
            queue: arrived,
            head: false,
            packets: 1,
        }
    }

    fn judges(&self) -> bool {
        true
    }

    fn judge(
        &mut self,
        queue: usize,
        sojourn: Time,
        packet: &PacketView,
        backlog: &[Backlog],
        random: &mut Stream,
    ) -> Verdict {
        if self.params.form == Form::Linux {
            return self.judge_as_linux(queue, sojourn, packet, backlog, random);
        }
        let (classic, coupled) = (self.classic(), self.coupled());
        if queue == LOW_LATENCY {
            //= RFC 9332 2.5.1.1/5: done, test overload_drops_in_both_queues
            if coupled >= 1.0 {
                // overload
                if self.recurs(LOW_LATENCY, classic) {
                    return Verdict::Drop;
                }
                return Verdict::Mark;
            }
            let native = if f64::from(backlog[LOW_LATENCY].packets) > self.params.spare {
                self.native(sojourn.seconds())
            } else {
                0.0
            };
            //= RFC 9332 2.5.1/3, 2.5.1/7..8: done, test the_queues_are_coupled
            if self.recurs(LOW_LATENCY, native.max(coupled)) {
                return Verdict::Mark;
            }
        } else if self.recurs(CLASSIC_QUEUE, classic) {
            return if packet.ecn_capable && coupled < 1.0 {
                Verdict::Mark
            } else {
                Verdict::Drop
            };
        }
        Verdict::Accept
    }

    fn next_timer(&self) -> Option<Time> {
        Some(self.next)
    }

    fn on_timer(&mut self, now: Time, backlog: &[Backlog]) {
        let waited = backlog
            .iter()
            .filter(|state| state.packets > 0)
            .map(|state| now.since(state.since).seconds());
        let delay = waited.fold(0.0, f64::max);
        let params = &self.params;
        let step = params.alpha * (delay - params.target) + params.beta * (delay - self.delay);
        self.base = (self.base + step).clamp(0.0, 1.0);
        self.delay = delay;
        self.next = now + interval(params);
    }

    /// The probability is that of classic packets; the adapted parameter is the base probability
    /// p'.
    fn observe(&self) -> Observation {
        Observation {
            probability: Some(self.classic()),
            adapted: Some(self.base),
            ..Observation::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Parameters as _;
    use crate::aqm::test::random;
    use crate::scheduler::Ends;
    use crate::scheduler::test::{Queues, VIEW, of_flow};

    const SCALABLE: Label = Label {
        identity: 0,
        flow_hash: 0,
        priority: 0,
        l4s: true,
        dscp: 0,
        hosts: Ends {
            source: 0,
            destination: 0,
        },
        translated: Ends {
            source: false,
            destination: false,
        },
        class: 0,
    };

    fn params() -> DualPi2Params {
        DualPi2Params::from_values(&[]).unwrap()
    }

    fn capable(flow: u32) -> PacketView {
        PacketView {
            ecn_capable: true,
            ..of_flow(flow, 1500)
        }
    }

    fn waiting(low_latency: u32) -> [Backlog; 2] {
        let full = Backlog {
            packets: 10,
            bytes: 15_000,
            head: 1500,
            since: Time::ZERO,
        };
        [
            full,
            Backlog {
                packets: low_latency,
                ..full
            },
        ]
    }

    #[test]
    fn updates_by_hand_follow_the_longer_delay() {
        let mut scheduler = params().build(&VIEW);
        let mut update = |classic: f64, low_latency: f64| {
            let now = scheduler.next_timer().unwrap();
            let mut backlog = waiting(5);
            for (state, delay) in backlog.iter_mut().zip([classic, low_latency]) {
                state.since = now.since(Time::from_seconds(1e-3 * delay));
            }
            scheduler.on_timer(now, &backlog);
            scheduler.base
        };
        assert!((update(16.0, 1.0) - (0.16 * 0.001 + 3.2 * 0.016)).abs() < 1e-12); // 0.05136
        assert!((update(10.0, 16.0) - 0.05152).abs() < 1e-12); // + 0.00016
        assert!((update(10.0, 0.0) - (0.05152 - 0.16 * 0.005 - 3.2 * 0.006)).abs() < 1e-12);
        let now = scheduler.next_timer().unwrap();
        scheduler.on_timer(now, &[Backlog::default(); 2]); // nothing waits: - 0.0024 - 0.032
        assert_eq!(scheduler.base, 0.0);
        assert_eq!(
            scheduler.next_timer(),
            Some(Time::from_seconds(5.0 * 0.016))
        );
    }

    #[test]
    fn packets_of_scalable_senders_have_a_queue_of_their_own() {
        let mut scheduler = params().build(&VIEW);
        assert_eq!(scheduler.classify(&capable(0), &SCALABLE), LOW_LATENCY);
        assert_eq!(
            scheduler.classify(&capable(0), &Label::default()),
            CLASSIC_QUEUE
        );
        assert_eq!(
            scheduler.classify(&of_flow(0, 40), &SCALABLE),
            CLASSIC_QUEUE
        ); // a pure ACK is not ECT
    }

    /// Verdicts on 10,000 packets without delay of their own.
    fn judge(scheduler: &mut DualPi2, queue: usize, packet: &PacketView) -> [usize; 2] {
        let mut counts = [0; 2];
        for _ in 0..10_000 {
            match scheduler.judge(queue, Time::ZERO, packet, &waiting(5), &mut random()) {
                Verdict::Mark => counts[0] += 1,
                Verdict::Drop => counts[1] += 1,
                Verdict::Accept => {}
            }
        }
        counts
    }

    #[test]
    fn the_queues_are_coupled() {
        let mut scheduler = params().build(&VIEW);
        scheduler.base = 0.125;
        // 2 x 0.125 against 0.125^2 = 1/64: exact but for the first packet
        assert_eq!(judge(&mut scheduler, LOW_LATENCY, &capable(0)), [2499, 0]);
        assert_eq!(
            judge(&mut scheduler, CLASSIC_QUEUE, &of_flow(0, 1500)),
            [0, 156]
        );
        assert_eq!(judge(&mut scheduler, CLASSIC_QUEUE, &capable(0)), [156, 0]);
    }

    #[test]
    fn overload_drops_in_both_queues() {
        let mut scheduler = params().build(&VIEW);
        scheduler.base = 0.5; // k p' = 1, p'^2 = 1/4
        assert_eq!(
            judge(&mut scheduler, LOW_LATENCY, &capable(0)),
            [7501, 2499]
        );
        assert_eq!(judge(&mut scheduler, CLASSIC_QUEUE, &capable(0)), [0, 2499]);
    }

    #[test]
    fn the_low_latency_queue_marks_by_its_own_delay() {
        let mut scheduler = params().build(&VIEW);
        let native = |delay: f64| scheduler.native(1e-3 * delay);
        for (delay, p) in [(0.0, 0.0), (0.8, 0.0), (0.9, 0.25), (1.2, 1.0), (9.0, 1.0)] {
            assert!((native(delay) - p).abs() < 1e-12, "{delay}");
        }
        let late = Time::from_seconds(0.01);
        scheduler.sums = [0.0, 0.5];
        for (left, verdict) in [(1, Verdict::Accept), (2, Verdict::Mark)] {
            let judged = scheduler.judge(
                LOW_LATENCY,
                late,
                &capable(0),
                &waiting(left),
                &mut random(),
            );
            assert_eq!(judged, verdict, "{left}");
        }
        let step = DualPi2Params {
            range: 0.0,
            ..params()
        }
        .build(&VIEW);
        assert_eq!((step.native(0.000_799), step.native(0.0008)), (0.0, 1.0));
    }

    #[test]
    fn the_classic_queue_keeps_a_tenth() {
        let mut queues = Queues::new(params().build(&VIEW));
        let mut sent = [0; 2];
        for _ in 0..2000 {
            for (flow, label) in [(0, Label::default()), (1, SCALABLE)] {
                while queues.backlog[flow].packets < 5 {
                    queues.put(Time::ZERO, capable(flow as u32), label);
                }
            }
            let (queue, _, _) = queues.take(Time::ZERO).unwrap();
            sent[queue] += 1;
        }
        assert!((199..=201).contains(&sent[CLASSIC_QUEUE]), "{sent:?}");
        // alone, each has all of it, and nothing is owed afterwards
        let mut queues = Queues::new(params().build(&VIEW));
        queues.put(Time::ZERO, capable(0), Label::default());
        queues.put(Time::ZERO, capable(0), Label::default());
        assert_eq!(queues.take(Time::ZERO).unwrap().0, CLASSIC_QUEUE);
        assert_eq!(queues.scheduler.credit, 0.0);
    }

    fn linux() -> DualPi2 {
        DualPi2Params {
            form: Form::Linux,
            ..params()
        }
        .build(&VIEW)
    }

    /// Linux: only a packet that found two waiting is marked for its own delay, above 1 ms.
    #[test]
    fn linux_steps_where_two_waited() {
        let mut queues = Queues::new(linux());
        for _ in 0..4 {
            queues.put(Time::ZERO, capable(0), SCALABLE);
        }
        let (early, late) = (Time::from_seconds(0.001), Time::from_seconds(0.0011));
        for (now, verdict) in [
            (late, Verdict::Accept),
            (late, Verdict::Accept),
            (early, Verdict::Accept),
            (late, Verdict::Mark),
        ] {
            let (queue, since, packet) = queues.take(now).unwrap();
            let (backlog, sojourn) = (queues.backlog.clone(), now.since(since));
            let judged = queues
                .scheduler
                .judge(queue, sojourn, &packet, &backlog, &mut random());
            assert_eq!(judged, verdict);
        }
        // a packet that found no room leaves no trace
        let scheduler = &mut queues.scheduler;
        scheduler.joined(LOW_LATENCY, &waiting(1));
        scheduler.joined(LOW_LATENCY, &waiting(2));
        scheduler.joined(LOW_LATENCY, &waiting(2));
        assert_eq!(scheduler.may_step.len(), 2);
    }

    /// Linux draws for each packet: k p' and p'^2 on average, and nothing below two full packets.
    #[test]
    fn linux_draws_for_each_packet() {
        let mut scheduler = linux();
        scheduler.base = 0.125;
        let mut draws = random();
        let mut count = |queue: usize, packet: &PacketView, backlog: &[Backlog]| {
            let verdicts = (0..40_000)
                .map(|_| scheduler.judge(queue, Time::ZERO, packet, backlog, &mut draws));
            verdicts
                .filter(|&verdict| verdict != Verdict::Accept)
                .count() as f64
                / 40_000.0
        };
        // five standard deviations
        let (scalable, classic) = (
            count(LOW_LATENCY, &capable(0), &waiting(5)),
            count(CLASSIC_QUEUE, &of_flow(0, 1500), &waiting(5)),
        );
        assert!((scalable - 0.25).abs() < 0.011, "{scalable}");
        assert!((classic - 1.0 / 64.0).abs() < 0.0031, "{classic}");
        let backlog = [
            Backlog {
                bytes: 3027,
                ..Backlog::default()
            },
            Backlog::default(),
        ];
        assert_eq!(count(CLASSIC_QUEUE, &of_flow(0, 1500), &backlog), 0.0);
        assert_eq!(count(LOW_LATENCY, &capable(0), &backlog), 0.0);
    }

    /// c_protection: credit begins at 1514 (10 - 90) / 100 bytes, so that the low-latency queue
    /// goes first.
    #[test]
    fn linux_lets_the_low_latency_queue_begin() {
        let mut queues = Queues::new(linux());
        for _ in 0..20 {
            queues.put(Time::ZERO, capable(0), Label::default());
            queues.put(Time::ZERO, capable(1), SCALABLE);
        }
        let first: Vec<usize> = (0..12)
            .map(|_| queues.take(Time::ZERO).unwrap().0)
            .collect();
        // 1211.2 bytes at 150 a packet: the ninth pays the credit up
        assert_eq!(first[..9], [LOW_LATENCY; 9]);
        assert_eq!(first[9], CLASSIC_QUEUE);
    }
}
