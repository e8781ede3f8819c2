//! The example test cases of draft-ietf-ccwg-bbr-06, each a scenario run through the packet engine
//! with its criterion judged on the sender's variables after every event. Where the draft
//! contradicts itself, the test says so and judges what its pseudocode does.

use std::sync::{Arc, Mutex};

use crate::common::scenario;
use ackclock_algorithms::aqm::{Aqm, LinkView, PacketView, QueueView, Verdict};
use ackclock_algorithms::congestion::{
    Ack, Bbr3, Bbr3Params, Bbr3State, BbrMode, CaState, CongestionAlgorithm as _,
    CongestionControl, Delivery, Lost, Needs, Reduction, Signal, Window,
};
use ackclock_algorithms::registry::{AqmFactory, AqmSpec, CongestionSpec, ControllerFactory};
use ackclock_algorithms::{Parameters as _, Stream, Time};
use ackclock_packet::{Options, Outcome, run};

/// Event that the sender saw.
#[derive(Clone, Copy, Debug)]
enum Event {
    Delivered(Delivery),
    Lost,
    Restarted,
    Reduced(Signal),
    Spurious,
}

/// The sender after an event.
#[derive(Clone, Copy, Debug)]
struct Entry {
    at: f64,
    event: Event,
    state: Bbr3State,
    cwnd: f64,
}

impl Entry {
    /// The delivery that it is about.
    fn delivery(&self) -> Option<&Delivery> {
        match &self.event {
            Event::Delivered(delivery) => Some(delivery),
            _ => None,
        }
    }
}

/// Whether a packet is dropped, given the time, its number since the rule began to ask, and the
/// state.
type Rule = fn(f64, &mut u64, &Bbr3State) -> bool;

#[derive(Debug, Default)]
struct Log {
    entries: Vec<Entry>,
    count: u64,
    /// The test plays the endpoint's detection: nothing is dropped, so that each recovery is
    /// spurious.
    undo: bool,
}

#[derive(Clone, Debug)]
struct Shared(Arc<Mutex<Log>>);

impl Shared {
    fn with<T>(&self, f: impl FnOnce(&mut Log) -> T) -> T {
        f(&mut self.0.lock().expect("no test panics in the engine"))
    }
}

/// BBRv3 that keeps a log.
struct Observed {
    bbr: Bbr3,
    log: Shared,
    before: CaState,
}

impl Observed {
    fn note(&self, now: Time, event: Event, cwnd: f64) {
        let (at, state) = (now.seconds(), self.bbr.state());
        self.log.with(|log| {
            log.entries.push(Entry {
                at,
                event,
                state,
                cwnd,
            });
        });
    }
}

impl CongestionControl for Observed {
    fn on_ack(&mut self, ack: &Ack, window: &mut Window, random: &mut Stream) {
        self.bbr.on_ack(ack, window, random);
    }
    fn on_congestion(&mut self, reduction: &Reduction, window: &mut Window) {
        self.bbr.on_congestion(reduction, window);
        self.note(reduction.now, Event::Reduced(reduction.signal), window.cwnd);
    }
    fn on_open(&mut self, now: Time, srtt: f64, window: &mut Window) {
        self.bbr.on_open(now, srtt, window);
    }
    fn on_restart(&mut self, now: Time, window: &mut Window) {
        self.bbr.on_restart(now, window);
        self.note(now, Event::Restarted, window.cwnd);
    }
    fn needs(&self) -> Needs {
        self.bbr.needs()
    }
    fn pacing_rate(&self) -> Option<f64> {
        self.bbr.pacing_rate()
    }
    fn on_lost(&mut self, lost: &Lost) {
        self.bbr.on_lost(lost);
        self.note(lost.now, Event::Lost, f64::NAN);
    }
    fn on_delivery(&mut self, delivery: &Delivery, window: &mut Window, random: &mut Stream) {
        let repairs = |state| matches!(state, CaState::Recovery | CaState::Loss);
        let over = repairs(self.before) && !repairs(delivery.ca_state);
        self.before = delivery.ca_state;
        if over && self.log.with(|log| log.undo) {
            self.bbr.on_spurious_recovery(delivery.now, window);
            self.note(delivery.now, Event::Spurious, window.cwnd);
        }
        self.bbr.on_delivery(delivery, window, random);
        self.note(delivery.now, Event::Delivered(*delivery), window.cwnd);
    }
}

impl ControllerFactory for Shared {
    fn kind(&self) -> &'static str {
        "observed"
    }
    fn build(&self, flow: u32) -> Box<dyn CongestionControl + Send> {
        let params = Bbr3Params::from_values(&[]).expect("the defaults are allowed");
        Box::new(Observed {
            bbr: params.build(flow),
            log: self.clone(),
            before: CaState::Open,
        })
    }
}

/// A drop-tail queue of so many packets before which a rule drops.
#[derive(Clone)]
struct Dropper {
    rule: Rule,
    log: Shared,
}

impl std::fmt::Debug for Dropper {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Dropper")
    }
}

impl Aqm for Dropper {
    fn enqueue(&mut self, now: Time, _: &PacketView, _: &QueueView, _: &mut Stream) -> Verdict {
        let rule = self.rule;
        let hit = self.log.with(|log| {
            let state = log.entries.last().map(|entry| entry.state);
            state.is_some_and(|state| rule(now.seconds(), &mut log.count, &state))
        });
        if hit { Verdict::Drop } else { Verdict::Accept }
    }
}

impl AqmFactory for Dropper {
    fn kind(&self) -> &'static str {
        "dropper"
    }
    fn build(&self, _: &LinkView) -> Box<dyn Aqm + Send> {
        Box::new(self.clone())
    }
}

/// A run of one flow.
struct Trial {
    entries: Vec<Entry>,
    outcome: Outcome,
}

fn trial_with(text: &str, rule: Option<Rule>, undo: bool) -> Trial {
    let log = Shared(Arc::new(Mutex::new(Log {
        undo,
        ..Log::default()
    })));
    let mut scenario = scenario(text);
    scenario.flows[0].tcp.congestion = CongestionSpec::Custom(Arc::new(log.clone()));
    if let Some(rule) = rule {
        let log = log.clone();
        scenario.links[0].aqm = AqmSpec::Custom(Arc::new(Dropper { rule, log }));
    }
    let outcome = run(&scenario, &Options::default()).expect("the run succeeds");
    let entries = log.with(|log| std::mem::take(&mut log.entries));
    Trial { entries, outcome }
}

fn trial(text: &str) -> Trial {
    trial_with(text, None, false)
}

impl Trial {
    /// Entries from the first one in `mode` after `from` (s) until the first one outside of it, and
    /// that one.
    fn stay(&self, mode: BbrMode, from: f64) -> (&[Entry], &Entry) {
        let inside = |entry: &Entry| entry.state.mode == mode;
        let begin = self
            .entries
            .iter()
            .position(|entry| entry.at >= from && inside(entry))
            .unwrap_or_else(|| panic!("never in {mode:?} after {from} s"));
        let length = self.entries[begin..]
            .iter()
            .position(|entry| !inside(entry))
            .unwrap_or_else(|| panic!("never out of {mode:?} after {from} s"));
        (
            &self.entries[begin..begin + length],
            &self.entries[begin + length],
        )
    }

    /// When it first comes into `mode` after `from`, s.
    fn time_of(&self, mode: BbrMode, from: f64) -> f64 {
        let entry = self
            .entries
            .iter()
            .find(|entry| entry.at >= from && entry.state.mode == mode);
        entry.unwrap_or_else(|| panic!("never in {mode:?}")).at
    }

    /// Entries of this span, s.
    fn during(&self, from: f64, to: f64) -> impl Iterator<Item = &Entry> {
        self.entries
            .iter()
            .filter(move |entry| (from..to).contains(&entry.at))
    }

    /// Segments delivered per second in this span.
    fn rate(&self, from: f64, to: f64) -> f64 {
        let delivered: u32 = self
            .during(from, to)
            .filter_map(Entry::delivery)
            .map(|delivery| delivery.acked)
            .sum();
        f64::from(delivered) / (to - from)
    }

    /// Modes in the order in which they come, from `from` on.
    fn modes(&self, from: f64) -> Vec<BbrMode> {
        let mut modes: Vec<_> = self.during(from, f64::MAX).map(|e| e.state.mode).collect();
        modes.dedup();
        modes
    }
}

/// A link of 1000 packets/s at a base round trip of 100 ms, 100 packets of bandwidth-delay product,
/// unless
/// `changes` say otherwise.
fn text(seconds: f64, queue: &str, flow: &str, changes: &str) -> String {
    link("\"12 Mbit/s\"", "100 ms", seconds, queue, flow, changes)
}

fn link(rate: &str, rtt: &str, seconds: f64, queue: &str, flow: &str, changes: &str) -> String {
    // as BBR is deployed: by ACKs that overtake alone a lost retransmission is found by the timer
    let detection = if flow.contains("loss_detection") {
        ""
    } else {
        "loss_detection = \"rack\"\n"
    };
    format!(
        "[scenario]\nname = \"draft\"\nduration = \"{seconds} s\"\n[[link]]\nname = \"link\"\nrate = {rate}\n\
         delay = \"0 s\"\nqueue = {{ capacity = \"{queue} packets\" }}\n[[flows]]\nname = \"flow\"\npath = [\"link\"]\n\
         rtt = \"{rtt}\"\n{detection}{flow}\n{changes}"
    )
}

fn app_limited(rate: &str) -> String {
    format!("traffic = {{ kind = \"app-limited\", rate = \"{rate}\" }}")
}

fn application_at(at: f64, rate: &str) -> String {
    format!("[[change]]\nat = \"{at} s\"\nflows = \"flow\"\nrate = \"{rate}\"\n")
}

fn link_at(at: f64, rate: &str) -> String {
    format!("[[change]]\nat = \"{at} s\"\nlink = \"link\"\nrate = \"{rate}\"\n")
}

/// Every so manyth packet.
fn one_in(count: &mut u64, period: u64) -> bool {
    *count += 1;
    count.is_multiple_of(period)
}

/// "Exiting STARTUP on Bandwidth Plateau".
#[test]
fn startup_ends_on_a_plateau() {
    let trial = trial(&text(4.0, "400", "", ""));
    let (inside, after) = trial.stay(BbrMode::Startup, 0.0);
    let counts: Vec<u32> = inside
        .iter()
        .chain([after])
        .filter(|entry| entry.state.round_start)
        .map(|entry| entry.state.full_bw_count)
        .collect();
    assert_eq!(counts[counts.len() - 4..], [0, 1, 2, 3]);
    assert_eq!(after.state.mode, BbrMode::Drain);
    assert!(after.state.full_bw_now && after.state.full_bw_reached);
    assert!(inside.iter().all(|entry| !entry.state.full_bw_reached));
    assert!(
        (after.state.max_bw / 1000.0 - 1.0).abs() < 0.02,
        "{after:?}"
    );
}

/// "Exiting STARTUP on Loss When Application-Limited". (The draft's section on this exit sets only
/// `full_bw_reached`, its test case `full_bw_now` as well.)
#[test]
fn startup_ends_on_loss_when_application_limited() {
    let rule: Rule = |at, count, _| at > 1.0 && one_in(count, 4);
    let run = text(4.0, "400", &app_limited("4 Mbit/s"), "");
    let trial = trial_with(&run, Some(rule), false);
    let (inside, after) = trial.stay(BbrMode::Startup, 0.0);
    // few segments are in the network, so that DRAIN ends with the ACK that begins it
    assert!(after.at > 1.0);
    assert_eq!(after.state.drain_start_round, after.state.round_count);
    assert!(after.state.full_bw_now && after.state.full_bw_reached);
    let last = inside.last().expect("not empty");
    assert!(last.state.full_bw_count < 3, "{last:?}");
    let delivery = after.delivery().expect("an ACK decides");
    assert!(delivery.app_limited && delivery.ca_state == CaState::Recovery);
    assert!(f64::from(delivery.lost_since_sent) > 0.02 * f64::from(delivery.sent_in_flight));
}

/// "Exiting DRAIN Based on Inflight".
#[test]
fn drain_ends_when_the_queue_is_gone() {
    let trial = trial(&text(4.0, "400", "", ""));
    let (inside, after) = trial.stay(BbrMode::Drain, 0.0);
    for entry in inside {
        assert_eq!(entry.state.pacing_gain, 0.5);
        let delivery = entry.delivery().expect("nothing else happens");
        assert!(f64::from(delivery.in_flight) > entry.state.inflight_at_1);
    }
    let delivery = after.delivery().expect("an ACK decides");
    assert!(f64::from(delivery.in_flight) <= after.state.inflight_at_1);
    assert!(after.state.round_count <= after.state.drain_start_round + 3);
    assert!(matches!(after.state.mode, BbrMode::Down | BbrMode::Cruise));
}

/// "Exiting DRAIN Based on Time". With the draft's 10 % less bandwidth the queue goes all the same,
/// at half of the rate: step 3 of the test case cannot be had with step 2. With 60 % less it stays.
#[test]
fn drain_ends_after_three_rounds() {
    let begin = trial(&text(4.0, "400", "", "")).time_of(BbrMode::Drain, 0.0) + 1e-6;
    let slower = |rate: &str| trial(&text(6.0, "400", "", &link_at(begin, rate)));
    let drained = slower("10.8 Mbit/s");
    let (_, after) = drained.stay(BbrMode::Drain, 0.0);
    let delivery = after.delivery().expect("an ACK decides");
    assert!(f64::from(delivery.in_flight) <= after.state.inflight_at_1);
    let full = slower("4.8 Mbit/s");
    let (inside, after) = full.stay(BbrMode::Drain, 0.0);
    for entry in inside.iter().chain([after]) {
        let delivery = entry.delivery().expect("nothing else happens");
        assert!(f64::from(delivery.in_flight) > entry.state.inflight_at_1);
    }
    assert_eq!(after.state.round_count, after.state.drain_start_round + 4);
    assert_eq!(after.state.mode, BbrMode::Down);
}

/// "Exiting PROBE_UP on Bandwidth Plateau".
#[test]
fn a_probe_ends_on_a_plateau() {
    let trial = trial(&text(8.0, "400", "", ""));
    let (inside, after) = trial.stay(BbrMode::Up, 0.0);
    assert!(
        inside
            .iter()
            .all(|entry| entry.delivery().is_some_and(|d| d.lost == 0))
    );
    assert!(inside.iter().all(|entry| !entry.state.full_bw_now));
    let last = inside.last().expect("not empty");
    assert_eq!(
        (last.state.full_bw_count, after.state.full_bw_count),
        (2, 3)
    );
    assert!(after.state.full_bw_now);
    assert_eq!(after.state.mode, BbrMode::Down);
    assert!((after.state.max_bw / 1000.0 - 1.0).abs() < 0.02);
}

/// A flow whose application writes more than the link takes until Startup is over, and half as much
/// from then on.
fn limited_from_the_first_cycle(seconds: f64) -> String {
    let change = application_at(1.2, "6 Mbit/s");
    text(seconds, "400", &app_limited("12 Mbit/s"), &change)
}

/// "Exiting PROBE_UP on Loss When Application-Limited". The test case wants `inflight_longterm`
/// updated "regardless of the application-limited state"; `HandleInflightTooHigh` leaves it as it
/// is when the lost segment was application-limited.
#[test]
fn a_probe_ends_on_loss_when_application_limited() {
    let rule: Rule = |_, count, state| state.mode == BbrMode::Up && one_in(count, 10);
    let trial = trial_with(&limited_from_the_first_cycle(8.0), Some(rule), false);
    let (inside, after) = trial.stay(BbrMode::Up, 0.0);
    assert!(
        inside
            .iter()
            .filter_map(Entry::delivery)
            .all(|delivery| delivery.app_limited)
    );
    assert!(matches!(after.event, Event::Lost), "{after:?}");
    assert_eq!(after.state.mode, BbrMode::Down);
    assert!(after.state.inflight_longterm.is_infinite());
}

/// "Never Exiting PROBE_UP (or STARTUP) When Application-Limited With No Loss". "Indefinitely" is
/// until ProbeRTT, which the draft enters from any state.
#[test]
fn a_probe_and_startup_last_while_the_application_is_the_limit() {
    let probe = trial(&limited_from_the_first_cycle(12.0));
    let (inside, after) = probe.stay(BbrMode::Up, 0.0);
    assert_eq!(after.state.mode, BbrMode::ProbeRtt);
    assert!(
        after.at - inside[0].at > 1.0,
        "{} to {}",
        inside[0].at,
        after.at
    );
    let startup = trial(&text(20.0, "400", &app_limited("4 Mbit/s"), ""));
    let modes = startup.modes(0.0);
    assert!(
        modes
            .iter()
            .all(|mode| matches!(mode, BbrMode::Startup | BbrMode::ProbeRtt)),
        "{modes:?}"
    );
}

/// "Exiting PROBE_DOWN on Inflight".
#[test]
fn down_ends_when_the_queue_is_gone() {
    // a buffer that is short enough for losses to set the long-term limit
    for (queue, limited) in [("400", false), ("40", true)] {
        let trial = trial(&text(20.0, queue, "", ""));
        let up = trial.time_of(BbrMode::Up, 0.0);
        let (inside, after) = trial.stay(BbrMode::Down, up);
        assert!(inside.iter().all(|entry| entry.state.pacing_gain == 0.9));
        assert_eq!(after.state.mode, BbrMode::Cruise);
        let delivery = after.delivery().expect("an ACK decides");
        let target = (after.state.max_bw * after.state.min_rtt).max(4.0).max(6.0);
        let volume = f64::from(delivery.in_flight);
        assert!(volume <= target && volume <= after.state.inflight_with_headroom);
        assert_eq!(
            after.state.inflight_longterm.is_finite(),
            limited,
            "{after:?}"
        );
    }
}

/// "Exiting PROBE_DOWN After Max Time".
#[test]
fn down_ends_when_it_is_time_to_probe() {
    let refill = trial(&text(8.0, "400", "", "")).time_of(BbrMode::Refill, 0.0);
    // a shorter round trip, which keeps PROBE_RTT away
    let shorter = format!("[[change]]\nat = \"{refill} s\"\nflows = \"flow\"\nrtt = \"98 ms\"\n");
    let plain = trial(&text(8.0, "400", "", &shorter));
    let up = plain.time_of(BbrMode::Up, 0.0);
    let down = plain.time_of(BbrMode::Down, up) + 1e-6;
    let changes = shorter + &link_at(down, "10.8 Mbit/s");
    let trial = trial(&text(14.0, "400", "", &changes));
    let (inside, after) = trial.stay(BbrMode::Down, up);
    assert_eq!(after.state.mode, BbrMode::Refill, "bypassing CRUISE");
    let wait = inside[0].state.bw_probe_wait;
    let stayed = after.at - inside[0].at;
    assert!(stayed > wait && stayed < wait + 0.2, "{stayed} of {wait}");
}

/// "Entering and Exiting PROBE_RTT".
#[test]
fn the_propagation_time_is_probed() {
    let trial = trial(&text(16.0, "400", "", ""));
    let (inside, after) = trial.stay(BbrMode::ProbeRtt, 0.0);
    assert!(inside[0].at > 5.0);
    let bdp = inside[0].state.bw * inside[0].state.min_rtt;
    for entry in inside {
        assert_eq!(entry.state.cwnd_gain, 0.5);
        assert!(entry.cwnd <= 0.5 * bdp + 1.0, "{} of {bdp}", entry.cwnd);
    }
    let low = inside
        .iter()
        .find(|entry| {
            entry
                .delivery()
                .is_some_and(|d| f64::from(d.in_flight) <= 0.5 * bdp)
        })
        .expect("the volume comes down");
    assert!(after.at - low.at >= 0.2);
    assert!(after.state.round_count > low.state.round_count);
    assert!(after.state.full_bw_reached && after.state.mode == BbrMode::Cruise);
    assert!(trial.rate(after.at + 0.5, 16.0) > 900.0);
}

/// "Skipping PROBE_RTT Due to Application-Limited Sending".
#[test]
fn an_idle_time_stands_for_probe_rtt() {
    let changes = application_at(1.2, "8 Mbit/s")
        + &application_at(4.0, "100 bit/s")
        + &application_at(11.0, "8 Mbit/s");
    let trial = trial(&text(15.0, "400", &app_limited("12 Mbit/s"), &changes));
    assert_eq!(trial.rate(5.5, 10.9), 0.0, "idle");
    let restart = trial
        .during(10.9, 15.0)
        .find(|entry| matches!(entry.event, Event::Restarted))
        .expect("it sends again");
    assert!(restart.state.idle_restart);
    assert!(!trial.modes(restart.at).contains(&BbrMode::ProbeRtt));
    assert!(trial.rate(12.0, 15.0) > 600.0);
}

/// A link that sends nothing for 18 of 20 ms, and ten times as fast in the rest.
const BATCHES: &str =
    "{ steps = [[\"0 s\", \"0 bit/s\"], [\"18 ms\", \"120 Mbit/s\"]], repeat = \"20 ms\" }";

/// "Achieving Expected STARTUP Bandwidth on a Link With Aggregation".
#[test]
fn startup_finds_the_bandwidth_behind_batches() {
    let trial = trial(&link(BATCHES, "100 ms", 6.0, "600", "", ""));
    let (inside, after) = trial.stay(BbrMode::Startup, 0.0);
    let last = inside.last().expect("not empty");
    assert!(
        (0.95..1.1).contains(&(after.state.max_bw / 1000.0)),
        "{after:?}"
    );
    // a batch holds 20 packets, 18 ms of which come early
    assert!((10.0..40.0).contains(&last.state.extra_acked), "{last:?}");
    assert!(
        last.cwnd > 2.0 * last.state.max_bw * last.state.min_rtt,
        "{last:?}"
    );
    let rounds: Vec<f64> = inside
        .iter()
        .filter(|entry| entry.state.round_start)
        .map(|entry| entry.state.max_bw)
        .collect();
    for pair in rounds
        .windows(2)
        .filter(|pair| pair[0] > 0.0 && pair[1] < 450.0)
    {
        assert!(pair[1] > 1.6 * pair[0], "doubles: {rounds:?}");
    }
}

/// "Achieving Expected Cruise Bandwidth on a Link With Aggregation": ACKs that come in batches from
/// 3 s on.
#[test]
fn cruise_keeps_the_link_busy_behind_batches() {
    let mut steps = vec!["[\"0 s\", \"10 Mbit/s\"]".to_owned()];
    for batch in 0..500 {
        let begin = 3000 + 20 * batch;
        steps.push(format!("[\"{begin} ms\", \"0 bit/s\"]"));
        steps.push(format!("[\"{} ms\", \"10 Mbit/s\"]", begin + 18));
    }
    let back = format!(
        "[[link]]\nname = \"back\"\nrate = {{ steps = [{}] }}\ndelay = \"0 s\"\n[[flows]]\nname = \"none\"\ncount = 0\npath = [\"back\"]\nrtt = \"100 ms\"\n",
        steps.join(", ")
    );
    let back = back
        .split("[[flows]]")
        .next()
        .unwrap_or_default()
        .to_owned();
    let text = text(12.0, "600", "reverse_path = [\"back\"]", "").replacen(
        "[[link]]",
        &(back + "[[link]]"),
        1,
    );
    let trial = trial(&text);
    let before = trial.during(2.0, 3.0).last().expect("it runs");
    assert!(before.state.extra_acked < 8.0, "{before:?}");
    let cruise: Vec<_> = trial
        .during(3.5, 12.0)
        .filter(|entry| entry.state.mode == BbrMode::Cruise && entry.delivery().is_some())
        .collect();
    assert!(!cruise.is_empty());
    for entry in &cruise {
        let state = &entry.state;
        assert!((10.0..60.0).contains(&state.extra_acked), "{entry:?}");
    }
    // what the window comes to once it has grown to it
    let settled = cruise.iter().rev().take(100);
    for entry in settled {
        let state = &entry.state;
        let target = 2.0 * state.bw * state.min_rtt + state.extra_acked;
        assert!((entry.cwnd - target).abs() < 1.0, "{entry:?}");
    }
    let from = cruise[0].at;
    let to = trial
        .during(from, 12.0)
        .find(|e| e.state.mode != BbrMode::Cruise)
        .map_or(12.0, |e| e.at);
    assert!(trial.rate(from, to) > 950.0, "{}", trial.rate(from, to));
}

/// "Correctly Managing Sub-Packet BDPs": 64 kbit/s at 20 ms is a ninth of a packet. (The draft's
/// `SetSendQuantum` makes a quantum of two packets at least, and `QuantizationBudget` three quanta:
/// six packets, above the four of the test case. Quanta of ours are one packet at such rates, as
/// the draft allows.)
#[test]
fn less_than_a_packet_in_the_network() {
    // the timer of a segment that takes 188 ms must not be one for a path of 20 ms
    let patient = "initial_window = \"4 packets\"\nmin_rto = \"2 s\"";
    let trial = trial(&link("\"64 kbit/s\"", "20 ms", 60.0, "50", patient, ""));
    let begin = trial.time_of(BbrMode::Down, 0.0);
    let entries = trial
        .during(begin, 60.0)
        .filter(|entry| entry.delivery().is_some());
    for entry in entries {
        assert!(entry.cwnd >= 4.0, "{entry:?}");
        if entry.state.mode == BbrMode::Cruise {
            assert!(
                (0.9..1.05).contains(&(entry.state.pacing_rate / 5.333)),
                "{entry:?}"
            );
        }
    }
    assert!(
        trial.rate(begin, 60.0) > 0.95 * 5.333,
        "{}",
        trial.rate(begin, 60.0)
    );
}

/// "Increasing Bandwidth 10x and Ensuring Full Bandwidth is Reached": 10 to 100 Mbit/s, with a
/// long-term limit that losses have set.
#[test]
fn ten_times_the_bandwidth() {
    let change = link_at(12.0, "100 Mbit/s");
    let trial = trial(&link("\"10 Mbit/s\"", "50 ms", 30.0, "20", "", &change));
    let before = trial.during(11.0, 12.0).last().expect("it runs");
    assert!(before.state.inflight_longterm.is_finite() && before.state.max_bw < 900.0);
    // what the limit grows by, round by round, in the longest probe after the change
    let mut growth: Vec<Vec<f64>> = vec![];
    let (mut start, mut inside) = (0.0, false);
    for entry in trial.during(12.0, 30.0) {
        let probing = entry.state.mode == BbrMode::Up;
        if probing && !inside {
            growth.push(vec![]);
            start = entry.state.inflight_longterm;
        } else if probing && entry.state.round_start && entry.delivery().is_some() {
            let steps = growth.last_mut().expect("a probe has begun");
            steps.push(entry.state.inflight_longterm - start);
            start = entry.state.inflight_longterm;
        }
        inside = probing;
    }
    let longest = growth
        .iter()
        .max_by_key(|steps| steps.len())
        .expect("it probes");
    let steps: Vec<f64> = longest
        .iter()
        .copied()
        .skip_while(|step| *step < 4.0)
        .collect();
    assert!(steps.len() >= 3, "{growth:?}");
    for pair in steps[..3].windows(2) {
        assert!(
            (1.8..2.2).contains(&(pair[1] / pair[0])),
            "doubles: {steps:?}"
        );
    }
    let fast = trial
        .during(12.0, 30.0)
        .find(|entry| entry.state.max_bw > 0.95 * 8333.0);
    let fast = fast.expect("the bandwidth is found");
    // two waits of up to 3 s each, and a logarithmic number of rounds
    assert!(fast.at < 12.0 + 8.0, "{}", fast.at);
}

/// "Decreasing Bandwidth 10x and Ensuring Max Bandwidth Adapts Down".
#[test]
fn a_tenth_of_the_bandwidth() {
    let change = link_at(8.0, "10 Mbit/s");
    let trial = trial(&link("\"100 Mbit/s\"", "50 ms", 24.0, "100", "", &change));
    let before = trial.during(7.0, 8.0).last().expect("it runs");
    assert!((before.state.max_bw / 8333.0 - 1.0).abs() < 0.05);
    // rounds take long behind a full queue: losses take 30 % in each
    let short = trial
        .during(8.0, 10.0)
        .map(|entry| entry.state.bw_shortterm);
    assert!(short.fold(f64::INFINITY, f64::min) < 2000.0);
    let cycles = trial
        .during(8.0, 24.0)
        .zip(trial.during(8.0, 24.0).skip(1))
        .filter(|(a, b)| a.state.mode != BbrMode::Down && b.state.mode == BbrMode::Down);
    let third = cycles.map(|(_, b)| b.at).nth(2).expect("it probes");
    let after = trial.during(third + 1.0, 24.0).next().expect("it runs");
    assert!((after.state.max_bw / 833.3 - 1.0).abs() < 0.1, "{after:?}");
    assert!(
        trial.rate(18.0, 24.0) > 0.85 * 833.3,
        "{}",
        trial.rate(18.0, 24.0)
    );
}

/// "Handling Token Bucket Policers": 10 Mbit/s and a bucket of 100 kB on a link of 100 Mbit/s.
#[test]
fn a_policer() {
    let text = link("\"100 Mbit/s\"", "40 ms", 40.0, "400", "", "")
        .replace(
            "delay = \"0 s\"\n",
            "delay = \"0 s\"\npolicer = { rate = \"10 Mbit/s\", burst = \"100 kB\" }\n",
        )
        .replace(
            "duration = \"40 s\"",
            "duration = \"40 s\"\nmeasure = \"20 s .. 40 s\"",
        );
    let trial = trial(&text);
    let begin = trial.time_of(BbrMode::Down, 0.0);
    let first = trial
        .during(begin, 40.0)
        .find(|entry| entry.state.bw_shortterm.is_finite());
    let first = first.expect("losses lower the short-term limits");
    assert!(first.state.inflight_shortterm.is_finite() && first.state.bw < first.state.max_bw);
    let goodput = trial.outcome.flows[0].goodput;
    assert!(goodput > 0.8 * 10e6, "{goodput}");
    // the probes lose, every 2 to 3 s
    let link = &trial.outcome.links[0];
    let loss = link.policed as f64 / link.arrivals as f64;
    assert!(loss < 0.05, "{loss}");
}

/// Checks what a spurious recovery must give back.
fn undone(trial: &Trial) -> usize {
    let mut count = 0;
    for (index, entry) in trial.entries.iter().enumerate() {
        if !matches!(entry.event, Event::Spurious) {
            continue;
        }
        count += 1;
        let before = &trial.entries[..index];
        let begin = before
            .iter()
            .rposition(|e| e.delivery().is_some_and(|d| d.ca_state == CaState::Open))
            .expect("nothing was lost at first");
        let saved = &before[begin].state;
        assert!(
            entry.state.bw_shortterm >= saved.bw_shortterm,
            "{saved:?} {entry:?}"
        );
        assert!(entry.state.inflight_shortterm >= saved.inflight_shortterm);
        assert!(entry.state.inflight_longterm >= saved.inflight_longterm);
        assert!(entry.cwnd >= before[begin].cwnd);
        assert_eq!(entry.state.undo_mode, None);
        // a probe that the losses ended begins anew; everything else goes on as it was
        let ended = before[begin + 1..].iter().find_map(|e| e.state.undo_mode);
        if let Some(mode) = ended
            && before[index - 1].state.mode != mode
            && before[index - 1].state.mode != BbrMode::ProbeRtt
        {
            let expected = if mode == BbrMode::Up {
                BbrMode::Refill
            } else {
                mode
            };
            assert_eq!(entry.state.mode, expected);
        }
    }
    count
}

/// "Handling Spurious Fast Recovery": packets overtake each other while it probes.
#[test]
fn a_spurious_fast_recovery() {
    let text = text(8.0, "400", "loss_detection = \"dup-acks\"", "").replace(
        "delay = \"0 s\"",
        "delay = \"0 s\"\njitter = { delay = \"uniform 0 s .. 8 ms\", reorder = true }",
    );
    let trial = trial_with(&text, None, true);
    assert_eq!(trial.outcome.links[0].drops, 0);
    assert!(
        trial
            .entries
            .iter()
            .any(|e| matches!(e.event, Event::Reduced(Signal::Loss)))
    );
    assert!(undone(&trial) > 5);
    let kept = trial_with(&text, None, false);
    assert!(
        trial.rate(2.0, 8.0) > 1.1 * kept.rate(2.0, 8.0),
        "{} {}",
        trial.rate(2.0, 8.0),
        kept.rate(2.0, 8.0)
    );
}

/// "Handling Spurious RTO Recovery": the path becomes 0.6 s longer for a moment.
#[test]
fn a_spurious_timeout() {
    let plain = trial(&text(8.0, "400", "", ""));
    let up = plain.time_of(BbrMode::Up, 0.0) + 0.05;
    let delay = |at: f64, rtt: &str| {
        format!("[[change]]\nat = \"{at} s\"\nflows = \"flow\"\nrtt = \"{rtt}\"\n")
    };
    let changes = delay(up, "900 ms") + &delay(up + 1.5, "100 ms");
    let trial = trial_with(
        &text(12.0, "400", "min_rto = \"200 ms\"", &changes),
        None,
        true,
    );
    assert_eq!(trial.outcome.links[0].drops, 0);
    assert!(
        trial
            .entries
            .iter()
            .any(|e| matches!(e.event, Event::Reduced(Signal::Timeout)))
    );
    assert!(undone(&trial) > 0);
}

/// "Entering and Exiting PROBE_RTT During STARTUP".
#[test]
fn the_propagation_time_is_probed_in_startup() {
    let change = application_at(8.0, "12 Mbit/s");
    let trial = trial(&text(14.0, "400", &app_limited("2 Mbit/s"), &change));
    let (inside, after) = trial.stay(BbrMode::ProbeRtt, 0.0);
    assert!(!inside[0].state.full_bw_reached && after.at - inside[0].at >= 0.2);
    assert_eq!(
        (after.state.mode, after.state.pacing_gain),
        (BbrMode::Startup, 2.77)
    );
    // it goes on with its search once there is more to send
    let last = trial.during(8.0, 14.0).last().expect("it runs");
    assert!(last.state.full_bw_reached && (last.state.max_bw / 1000.0 - 1.0).abs() < 0.02);
}

/// "Handling Loss During PROBE_UP After `inflight_longterm` is Set".
#[test]
fn losses_in_a_probe_lower_the_limit() {
    let rule: Rule = |at, count, state| {
        let set = state.inflight_longterm.is_finite();
        state.mode == BbrMode::Up && (at < 4.5 || set) && one_in(count, 8)
    };
    let trial = trial_with(&text(30.0, "400", "", ""), Some(rule), false);
    let pairs = trial.entries.iter().zip(trial.entries.iter().skip(1));
    let falls: Vec<_> = pairs
        .filter(|(before, after)| {
            before.state.mode == BbrMode::Up
                && before.state.inflight_longterm.is_finite()
                && after.state.inflight_longterm < before.state.inflight_longterm
        })
        .collect();
    assert!(!falls.is_empty());
    for (before, after) in falls {
        assert!(matches!(after.event, Event::Lost));
        assert_eq!(after.state.mode, BbrMode::Down);
        assert_eq!(after.state.undo_mode, Some(BbrMode::Up));
        let bdp = before.state.bw * before.state.min_rtt;
        assert!(after.state.inflight_longterm >= 0.7 * bdp.min(before.cwnd) - 1e-9);
    }
}

/// "Handling Application-Limited Sending During PROBE_REFILL".
#[test]
fn refill_without_data() {
    let steady = application_at(1.2, "8 Mbit/s");
    let run = |changes: &str| trial(&text(12.0, "400", &app_limited("12 Mbit/s"), changes));
    let refill = run(&steady).time_of(BbrMode::Refill, 0.0) + 1e-6;
    let changes =
        steady + &application_at(refill, "1 Mbit/s") + &application_at(refill + 0.5, "14 Mbit/s");
    let trial = run(&changes);
    let (inside, after) = trial.stay(BbrMode::Refill, 0.0);
    assert_eq!(after.state.mode, BbrMode::Up);
    let samples: Vec<_> = trial
        .during(refill, refill + 0.5)
        .filter_map(|entry| {
            entry
                .delivery()
                .map(|delivery| (delivery, entry.state.max_bw))
        })
        .collect();
    assert!(
        samples
            .iter()
            .any(|(d, bw)| d.app_limited && d.rate < 0.5 * bw)
    );
    assert!(samples.iter().all(|(_, bw)| *bw >= inside[0].state.max_bw));
    let modes = trial.modes(after.at);
    assert!(
        modes.contains(&BbrMode::Down) && modes.contains(&BbrMode::Cruise),
        "{modes:?}"
    );
    let last = trial.during(10.0, 12.0).last().expect("it runs");
    assert!((last.state.max_bw / 1000.0 - 1.0).abs() < 0.02, "{last:?}");
}
