//! Transports of others at the ends of flows: a small one that keeps a window of datagrams on their
//! way and repeats those that no acknowledgement reports, and ones that misbehave.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ackclock_endpoint::{
    AckSample, Controller, ControllerFactory, Ecn, Endpoint, EndpointFactory, Ends, Setup, Status,
};
use ackclock_packet::{
    Abort, Error, FlowSelection, Options, Outcome, TraceSelection, run, with_controllers,
    with_endpoints,
};
use ackclock_scenario::Scenario;

const PAYLOAD: u64 = 1000;

/// Sends datagrams with the number of their data, at most `window` at a time.
struct Sender {
    window: usize,
    written: u64,
    next: u64,
    /// Number, when sent last.
    open: BTreeMap<u64, Duration>,
    /// Numbers to send again.
    again: Vec<u64>,
    timeout: Duration,
    lost: u64,
    marks: u64,
}

impl Endpoint for Sender {
    fn poll_transmit(&mut self, now: Duration, datagram: &mut Vec<u8>) -> Option<Ecn> {
        let number = if let Some(number) = self.again.pop() {
            number
        } else if self.open.len() < self.window && self.next * PAYLOAD < self.written {
            self.next += 1;
            self.next - 1
        } else {
            return None;
        };
        self.open.insert(number, now);
        datagram.extend_from_slice(&number.to_le_bytes());
        datagram.resize(PAYLOAD as usize, 0);
        Some(Ecn::Ect0)
    }

    fn handle_datagram(&mut self, _now: Duration, datagram: &[u8], ecn: Ecn) {
        assert_eq!(ecn, Ecn::NotEct);
        let number = u64::from_le_bytes(datagram[..8].try_into().expect("eight bytes"));
        self.marks += u64::from(datagram[8] == Ecn::Ce.bits());
        self.open.remove(&number);
    }

    fn next_timeout(&mut self) -> Option<Duration> {
        self.open.values().min().map(|sent| *sent + self.timeout)
    }

    fn handle_timeout(&mut self, now: Duration) {
        let late = |sent: &Duration| *sent + self.timeout <= now;
        self.again = self
            .open
            .iter()
            .filter(|(_, sent)| late(sent))
            .map(|(number, _)| *number)
            .collect();
        self.lost += self.again.len() as u64;
    }

    fn application(&mut self, _now: Duration, written: u64) -> u64 {
        self.written = written;
        0
    }

    fn status(&self) -> Status {
        Status {
            cwnd: Some(self.window as u64 * PAYLOAD),
            lost: self.lost,
            ecn_events: self.marks,
            srtt: Some(Duration::from_millis(50)),
            ..Status::default()
        }
    }
}

/// Acknowledges each datagram.
#[derive(Default)]
struct Receiver {
    answers: Vec<[u8; 9]>,
    arrived: std::collections::BTreeSet<u64>,
}

impl Endpoint for Receiver {
    fn poll_transmit(&mut self, _now: Duration, datagram: &mut Vec<u8>) -> Option<Ecn> {
        datagram.extend_from_slice(&self.answers.pop()?);
        Some(Ecn::NotEct)
    }

    fn handle_datagram(&mut self, _now: Duration, datagram: &[u8], ecn: Ecn) {
        let mut answer = [0; 9];
        answer[..8].copy_from_slice(&datagram[..8]);
        answer[8] = ecn.bits();
        self.arrived
            .insert(u64::from_le_bytes(datagram[..8].try_into().expect("eight")));
        self.answers.push(answer);
    }

    fn next_timeout(&mut self) -> Option<Duration> {
        None
    }

    fn handle_timeout(&mut self, _now: Duration) {}

    fn application(&mut self, _now: Duration, _written: u64) -> u64 {
        self.arrived.len() as u64 * PAYLOAD
    }

    fn status(&self) -> Status {
        Status::default()
    }
}

#[derive(Debug)]
struct Windowed(usize);

impl EndpointFactory for Windowed {
    fn name(&self) -> &str {
        "windowed"
    }

    fn header(&self) -> u32 {
        28
    }

    fn connect(&self, setup: &Setup) -> Result<Ends, String> {
        assert_eq!(setup.max_datagram, 1500 - 28);
        Ok([
            Box::new(Sender {
                window: self.0,
                written: 0,
                next: 0,
                open: BTreeMap::new(),
                again: Vec::new(),
                timeout: Duration::from_millis(500),
                lost: 0,
                marks: 0,
            }),
            Box::new(Receiver::default()),
        ])
    }
}

fn scenario(link: &str, flows: &str) -> Scenario {
    let text = format!(
        "[scenario]\nduration = \"20 s\"\nmeasure = \"5 s .. 20 s\"\n[[link]]\nname = \"out\"\nrate = \"10 Mbit/s\"\ndelay = \"5 ms\"\n{link}\n\
         [[link]]\nname = \"back\"\nrate = \"10 Mbit/s\"\n\
         [[flows]]\nname = \"own\"\npath = [\"out\"]\nrtt = \"50 ms\"\n{flows}\n"
    );
    ackclock_scenario::parse(text.as_bytes(), "test").expect("the scenario is right")
}

fn options() -> Options {
    Options {
        traces: TraceSelection {
            links: true,
            flows: FlowSelection::All,
            ..TraceSelection::default()
        },
        ..Options::default()
    }
}

fn played(mut scenario: Scenario, window: usize) -> Outcome {
    with_endpoints(&mut scenario, "own", Arc::new(Windowed(window)), "").expect("there is a class");
    let first = run(&scenario, &options()).expect("it runs");
    let general = Options {
        general: true,
        ..options()
    };
    for again in [options(), general] {
        let second = run(&scenario, &again).expect("it runs");
        assert_eq!(format!("{:?}", first.flows), format!("{:?}", second.flows));
        assert_eq!(format!("{:?}", first.links), format!("{:?}", second.links));
        let (a, b) = (&first.traces, &second.traces);
        assert_eq!(format!("{a:?}"), format!("{b:?}"));
    }
    first
}

/// A window of 20 datagrams of 1000 B in 50 ms and a transmission of 0.82 ms each: 3.148 Mbit/s of
/// payload.
#[test]
fn a_window_in_a_round_trip() {
    let outcome = played(scenario("", "count = 2"), 20);
    for flow in &outcome.flows {
        let round_trip = 0.050 + 1028.0 * 8.0 / 10e6;
        let expected = 20.0 * 1000.0 * 8.0 / round_trip;
        assert!(
            (flow.goodput / expected - 1.0).abs() < 0.02,
            "{} {expected}",
            flow.goodput
        );
        assert_eq!(flow.ledger.dropped + flow.ledger.lost, 0);
        assert!((flow.cwnd_mean - 20.0 * 1000.0 / 1460.0).abs() < 1e-9);
        assert!((flow.rtt_mean - 0.05).abs() < 1e-9);
    }
    let trace = &outcome.traces.flows[0];
    assert!(trace.delivered.last() > trace.delivered.first());
}

#[test]
fn losses_jitter_shared_ways_back_and_access_links() {
    for (link, flows) in [
        ("loss = 0.01", "count = 3"),
        (
            "queue = { aqm = \"drop-tail\", capacity = \"10 packets\" }",
            "count = 3",
        ),
        (
            "jitter = { delay = \"uniform 0 ms .. 5 ms\", reorder = true }",
            "",
        ),
        (
            "",
            "reverse_path = [\"back\"]\naccess_rate = \"3 Mbit/s\"\naccess_buffer = \"5 packets\"",
        ),
        (
            "queue = { scheduler = \"fq_codel\" }",
            "count = 4\nreverse_path = [\"back\"]",
        ),
        (
            "",
            "traffic = { kind = \"app-limited\", rate = \"1 Mbit/s\" }",
        ),
    ] {
        let outcome = played(scenario(link, flows), 40);
        let goodput: f64 = outcome.flows.iter().map(|flow| flow.goodput).sum();
        assert!(goodput > 0.9e6, "{link} {flows}: {goodput}");
        assert!(outcome.flows.iter().all(|flow| flow.ledger.balances()));
    }
}

/// 0.1 Mbit from 5 to 6 s, and 10 Mbit from 10 to 15 s.
#[test]
fn an_application_writes_at_the_rate_of_the_time() {
    let mut flows = "traffic = { kind = \"app-limited\", rate = \"100 kbit/s\" }".to_owned();
    for (at, rate) in [(6, "1 bit/s"), (10, "2 Mbit/s"), (15, "1 bit/s")] {
        flows += &format!("\n[[change]]\nat = \"{at} s\"\nflows = \"own\"\nrate = \"{rate}\"");
    }
    let outcome = played(scenario("", &flows), 40);
    let written = 15.0 * outcome.flows[0].goodput;
    assert!((written / 10.1e6 - 1.0).abs() < 0.01, "{written}");
}

#[test]
fn marks_come_to_the_receiver() {
    let outcome = played(
        scenario("queue = { aqm = \"codel\", ecn = true }", "count = 2"),
        80,
    );
    let marks: u64 = outcome.flows.iter().map(|flow| flow.marks).sum();
    assert!(marks > 0);
    let echoed: u64 = outcome.flows.iter().map(|flow| flow.ecn_reductions).sum();
    assert!(echoed.abs_diff(marks) <= 2 * 80, "{echoed} {marks}");
}

#[test]
fn a_transfer_completes() {
    let mut scenario = scenario(
        "loss = 0.02",
        "traffic = { kind = \"transfer\", size = \"1 MB\" }",
    );
    with_endpoints(&mut scenario, "own", Arc::new(Windowed(20)), "").expect("there is a class");
    let outcome = run(&scenario, &Options::default()).expect("it runs");
    let flow = &outcome.flows[0];
    assert!(
        flow.completion > 2.0 && flow.completion < 10.0,
        "{}",
        flow.completion
    );
    assert_eq!(flow.ledger.in_flight, 0);
}

/// Faults of endpoints.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    Panics,
    PanicsAtStart,
    NeverStops,
    TooLong,
    Empty,
    PastTimer,
    Silent,
    Stalls,
}

#[derive(Debug)]
struct Faulty(Fault);

struct FaultyEnd(Fault, u32);

impl Endpoint for FaultyEnd {
    fn poll_transmit(&mut self, now: Duration, datagram: &mut Vec<u8>) -> Option<Ecn> {
        self.1 += 1;
        match self.0 {
            Fault::Panics if now > Duration::from_secs(1) => panic!("out of cheese"),
            Fault::TooLong => datagram.resize(2000, 0),
            Fault::Empty => {}
            Fault::NeverStops => datagram.push(1),
            Fault::Stalls if self.1 < 3 => datagram.push(1),
            _ => return None,
        }
        Some(Ecn::NotEct)
    }

    fn handle_datagram(&mut self, _: Duration, _: &[u8], _: Ecn) {}

    fn next_timeout(&mut self) -> Option<Duration> {
        match self.0 {
            Fault::Panics => Some(Duration::from_secs(2)),
            Fault::PastTimer => Some(Duration::ZERO),
            _ => None,
        }
    }

    fn handle_timeout(&mut self, _: Duration) {}

    fn application(&mut self, _: Duration, _: u64) -> u64 {
        0
    }

    fn status(&self) -> Status {
        Status::default()
    }
}

impl EndpointFactory for Faulty {
    fn name(&self) -> &str {
        "faulty"
    }

    fn header(&self) -> u32 {
        28
    }

    fn connect(&self, _: &Setup) -> Result<Ends, String> {
        assert!(self.0 != Fault::PanicsAtStart, "no cheese at all");
        Ok([
            Box::new(FaultyEnd(self.0, 0)),
            Box::new(FaultyEnd(Fault::Silent, 0)),
        ])
    }
}

#[test]
fn a_faulty_endpoint_gives_a_line_that_names_it() {
    for (fault, words) in [
        (Fault::Panics, "it panicked: out of cheese"),
        (Fault::PanicsAtStart, "it panicked: no cheese at all"),
        (Fault::NeverStops, "100000 datagrams at one time"),
        (
            Fault::TooLong,
            "a datagram of 2000 bytes, where 1 to 1472 are possible",
        ),
        (Fault::Empty, "a datagram of 0 bytes"),
        (Fault::PastTimer, "which has passed"),
    ] {
        let mut scenario = scenario("", "");
        with_endpoints(&mut scenario, "own", Arc::new(Faulty(fault)), "").expect("a class");
        match run(&scenario, &Options::default()) {
            Err(Error::Algorithm { message, .. }) => {
                assert!(
                    message.starts_with("flows \"own\", flow 0: endpoint faulty: ")
                        && message.contains(words),
                    "{message}"
                );
            }
            other => panic!("{fault:?}: {other:?}"),
        }
    }
    for (fault, words) in [
        (Fault::Silent, "endpoint faulty sent nothing"),
        (
            Fault::Stalls,
            "it has data, nothing is on its way, and no timer runs",
        ),
    ] {
        let mut scenario = scenario("", "");
        with_endpoints(&mut scenario, "own", Arc::new(Faulty(fault)), "").expect("a class");
        let outcome = run(&scenario, &Options::default()).expect("it runs");
        assert!(
            outcome.notes.iter().any(|note| note.contains(words)),
            "{:?}",
            outcome.notes
        );
    }
}

/// Reno in bytes, as the engine's own.
struct Bytes {
    mss: f64,
    cwnd: f64,
    ssthresh: f64,
    recovering: bool,
    fault: &'static str,
}

impl Controller for Bytes {
    fn on_ack(&mut self, sample: &AckSample) {
        assert!(
            self.fault != "panics" || sample.delivered < 1_000_000,
            "out of cheese"
        );
        if self.fault == "zero" && sample.delivered > 1_000_000 {
            self.cwnd = 0.0;
        }
        self.recovering = sample.in_recovery;
        if sample.in_recovery || !sample.cwnd_limited {
            return;
        }
        let acked = sample.acked as f64;
        if self.cwnd < self.ssthresh {
            self.cwnd += acked;
        } else {
            self.cwnd += self.mss * acked / self.cwnd;
        }
    }

    fn on_loss(&mut self, _: Duration, lost: u64, _: u64) {
        assert!(lost > 0);
        self.ssthresh = (self.cwnd / 2.0).max(2.0 * self.mss);
        self.cwnd = self.ssthresh;
    }

    fn on_rto(&mut self, now: Duration, in_flight: u64) {
        self.on_loss(now, 1, in_flight);
        self.cwnd = self.mss;
    }

    fn on_ecn(&mut self, now: Duration, in_flight: u64) {
        self.on_loss(now, 1, in_flight);
    }

    fn cwnd(&self) -> u64 {
        self.cwnd as u64
    }

    fn ssthresh(&self) -> Option<u64> {
        self.ssthresh.is_finite().then_some(self.ssthresh as u64)
    }
}

#[derive(Debug)]
struct InBytes(&'static str);

impl ControllerFactory for InBytes {
    fn name(&self) -> &str {
        "in-bytes"
    }

    fn build(&self, setup: &Setup) -> Result<Box<dyn Controller>, String> {
        if self.0 == "refuses" {
            return Err("no such mode".to_owned());
        }
        let mss = setup.max_datagram as f64;
        Ok(Box::new(Bytes {
            mss,
            cwnd: 10.0 * mss,
            ssthresh: f64::INFINITY,
            recovering: false,
            fault: self.0,
        }))
    }
}

/// The engine's Reno and one that is driven through the interface share a link evenly.
#[test]
fn a_controller_beside_the_engines_own() {
    let text = "[scenario]\nduration = \"200 s\"\nmeasure = \"20 s .. 200 s\"\n[[link]]\nname = \"out\"\nrate = \"20 Mbit/s\"\ndelay = \"5 ms\"\nqueue = { aqm = \"red\", capacity = \"200 packets\", min_threshold = \"20 packets\", max_threshold = \"100 packets\", max_probability = 0.05 }\n\
         [[flows]]\nname = \"own\"\npath = [\"out\"]\nrtt = \"50 ms\"\ncount = 4\nstart = \"uniform 0 s .. 1 s\"\n\
         [[flows]]\nname = \"tcp\"\npath = [\"out\"]\nrtt = \"50 ms\"\ncongestion = \"reno\"\ncount = 4\nstart = \"uniform 0 s .. 1 s\"\n";
    let mut scenario = ackclock_scenario::parse(text.as_bytes(), "test").expect("it is right");
    let abort = Abort::default();
    with_controllers(&mut scenario, "own", Arc::new(InBytes("")), "", &abort).expect("a class");
    let outcome = run(
        &scenario,
        &Options {
            abort: Some(abort),
            ..Options::default()
        },
    )
    .expect("it runs");
    let goodput = |class| -> f64 {
        let of_class = outcome.flows.iter().filter(|flow| flow.class == class);
        of_class.map(|flow| flow.goodput).sum()
    };
    let (own, tcp) = (goodput(0), goodput(1));
    assert!(own + tcp > 18e6, "{own} {tcp}");
    assert!((0.8..1.25).contains(&(own / tcp)), "{own} {tcp}");
}

/// After a timeout with many segments in flight a controller's slow start is as fast as the engine's.
#[test]
fn a_controller_returns_from_a_timeout() {
    let delivered = |own: bool| {
        let text = "[scenario]\nduration = \"12 s\"\nmeasure = \"4 s .. 12 s\"\n[[link]]\nname = \"out\"\nrate = { steps = [[\"0 s\", \"50 Mbit/s\"], [\"5 s\", \"0 bit/s\"], [\"7 s\", \"50 Mbit/s\"]] }\ndelay = \"5 ms\"\nqueue = { aqm = \"drop-tail\", capacity = \"100 packets\" }\n\
             [[flows]]\nname = \"own\"\npath = [\"out\"]\nrtt = \"100 ms\"\ncongestion = \"reno\"\ninitial_ssthresh = \"400 packets\"\n";
        let mut scenario = ackclock_scenario::parse(text.as_bytes(), "test").expect("it is right");
        let abort = Abort::default();
        if own {
            with_controllers(&mut scenario, "own", Arc::new(InBytes("")), "", &abort)
                .expect("a class");
        }
        let options = Options {
            abort: Some(abort),
            ..Options::default()
        };
        let outcome = run(&scenario, &options).expect("it runs");
        assert!(outcome.flows[0].timeouts > 0);
        outcome.flows[0].goodput
    };
    let (own, tcp) = (delivered(true), delivered(false));
    assert!(own > 0.9 * tcp, "{own} {tcp}");
}

#[test]
fn a_faulty_controller_gives_a_line_that_names_it() {
    for (fault, words) in [
        ("panics", "controller in-bytes: it panicked: out of cheese"),
        ("zero", "controller in-bytes: its window is 0 bytes"),
        ("refuses", "controller in-bytes: no such mode"),
    ] {
        let mut scenario = scenario("", "");
        let abort = Abort::default();
        with_controllers(&mut scenario, "own", Arc::new(InBytes(fault)), "", &abort)
            .expect("a class");
        match run(
            &scenario,
            &Options {
                abort: Some(abort),
                ..Options::default()
            },
        ) {
            Err(Error::Algorithm { message, .. }) => assert!(message.contains(words), "{message}"),
            other => panic!("{fault}: {other:?}"),
        }
    }
}
