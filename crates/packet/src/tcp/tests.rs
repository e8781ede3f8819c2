//! Tests of the sender as a whole.

use super::*;
use ackclock_algorithms::congestion::{DctcpParams, Form};
use ackclock_algorithms::registry::CongestionSpec;
use ackclock_algorithms::{Owner, Value};
use ackclock_scenario::{LossDetection, Recovery, Style, Tcp, Undo, WindowReduction};

const MS: u64 = 1_000_000_000;

/// Options as the RFCs have them, with a smallest timeout of 200 ms.
fn options(recovery: Recovery, initial_window: f64) -> Tcp {
    let text = "[scenario]\nduration = \"1 s\"\n[[link]]\nname = \"l\"\nrate = \"1 Mbit/s\"\n\
                [[flows]]\npath = [\"l\"]\nrtt = \"0.1 s\"\n\
                congestion = \"reno\"\nmin_rto = \"200 ms\"\nmax_rto = \"60 s\"\ninitial_rto = \"1 s\"\n\
                limited_transmit = true\necn = true\nreduction = \"at-once\"\nloss_detection = \"dup-acks\"\n";
    let mut scenario = ackclock_scenario::parse(text, "test").expect("the scenario is right");
    let tcp = scenario.flows.remove(0).tcp;
    Tcp {
        recovery,
        initial_window,
        ..tcp
    }
}

struct Bench {
    sender: Sender,
    config: Config,
    random: Stream,
    now: u64,
}

impl Bench {
    fn new(recovery: Recovery, initial_window: f64) -> Self {
        let config = Config::new(&options(recovery, initial_window));
        let reno = CongestionSpec::from_values("reno", &[]).expect("reno is registered");
        let mut sender = Sender::new(reno.build(0), &config, f64::INFINITY);
        sender.open(1000 * MS, 0, false, &config);
        sender.written = u64::MAX;
        Self {
            sender,
            config,
            random: Stream::new(1, Owner::Flow, 0),
            now: MS,
        }
    }

    /// All that may be sent now; retransmissions are negative.
    fn sent(&mut self) -> Vec<i64> {
        let mut segments = Vec::new();
        while let Some(segment) = self.sender.next_segment(self.now, &self.config) {
            segments.push(if segment.retransmission {
                -(segment.seq as i64)
            } else {
                segment.seq as i64
            });
        }
        self.sender.on_nothing_to_send();
        segments
    }

    fn ack(&mut self, cum: u64, sack: u64, flags: u8) -> Vec<i64> {
        self.now += 10 * MS;
        let ack = Ack {
            at: self.now,
            cum,
            echo: self.now - 100 * MS,
            sack,
            blocks: 0,
            flags: Flags(flags),
            marked: 0,
        };
        self.sender
            .on_ack(self.now, &ack, &[], &self.config, &mut self.random);
        self.sent()
    }
}

#[test]
fn slow_start_then_one_segment_a_round() {
    let mut bench = Bench::new(Recovery::Sack, 2.0);
    bench.now = 200 * MS;
    assert_eq!(bench.sent(), [0, 1]);
    assert_eq!(bench.ack(1, NONE, 0), [2, 3]);
    assert_eq!(bench.ack(2, NONE, 0), [4, 5]);
    bench.sender.window.ssthresh = 4.0;
    let sent: usize = (3..=6).map(|cum| bench.ack(cum, NONE, 0).len()).sum();
    assert_eq!((bench.sender.window.cwnd as u64, sent), (4, 4)); // 4 + 3.8/4...
    assert!(
        (bench.sender.window.cwnd - 5.0).abs() < 0.1,
        "{}",
        bench.sender.window.cwnd
    );
}

/// RFC 3042, RFC 6675 section 5: two new segments for two duplicates, then the hole; the second
/// hole when the pipe allows.
#[test]
fn selective_recovery() {
    let mut bench = Bench::new(Recovery::Sack, 10.0);
    bench.now = 200 * MS;
    assert_eq!(bench.sent(), (0..10).collect::<Vec<_>>());
    bench.sender.window.ssthresh = 10.0;
    // 0 and 2 are lost
    assert_eq!(bench.ack(0, 1, 0), [10]);
    assert_eq!(bench.ack(0, 3, 0), [11]);
    assert_eq!(bench.ack(0, 4, 0), [0]); // the retransmission of 0 prints as -0
    assert_eq!(bench.sender.state, State::Recovery);
    assert_eq!(
        (bench.sender.window.cwnd, bench.sender.window.ssthresh),
        (5.0, 5.0)
    );
    // pipe: 12 outstanding, 3 known to have arrived, 0 lost and sent again, 2 not yet lost by RFC
    // 6675
    assert!(bench.ack(0, 5, 0).is_empty());
    let mut resent = Vec::new();
    for sack in 6..12 {
        resent.extend(bench.ack(0, sack, 0));
    }
    assert!(resent.contains(&-2), "{resent:?}");
    assert_eq!(resent.iter().filter(|&&segment| segment < 0).count(), 1);
    bench.ack(2, NONE, 0);
    bench.ack(12, NONE, 0);
    assert_eq!(bench.sender.state, State::Open);
    assert_eq!(bench.sender.window.cwnd, 5.0);
    assert_eq!(bench.sender.counters.fast_recoveries, 1);
    assert_eq!(bench.sender.counters.timeouts, 0);
}

/// RFC 6582: a partial ACK repairs the next hole and stays in recovery; RFC 5681's Reno leaves it.
#[test]
fn partial_acknowledgements() {
    for (recovery, stays) in [(Recovery::NewReno, true), (Recovery::Reno, false)] {
        let mut bench = Bench::new(recovery, 10.0);
        bench.now = 200 * MS;
        bench.sent();
        for _ in 0..3 {
            bench.ack(0, NONE, 0);
        }
        assert_eq!(bench.sender.state, State::Recovery);
        assert_eq!(
            (bench.sender.window.ssthresh, bench.sender.window.cwnd),
            (5.0, 8.0)
        );
        for _ in 0..5 {
            bench.ack(0, NONE, 0);
        }
        let sent = bench.ack(4, NONE, 0);
        assert_eq!(bench.sender.state == State::Recovery, stays, "{recovery:?}");
        assert_eq!(sent.first() == Some(&-4), stays, "{recovery:?} {sent:?}");
        bench.ack(bench.sender.high, NONE, 0);
        assert_eq!(bench.sender.state, State::Open);
    }
}

#[test]
fn tahoe_goes_back_and_starts_slowly() {
    let mut bench = Bench::new(Recovery::Tahoe, 10.0);
    bench.now = 200 * MS;
    bench.sent();
    bench.ack(0, NONE, 0);
    bench.ack(0, NONE, 0);
    assert_eq!(bench.ack(0, NONE, 0), [0]);
    assert_eq!(
        (bench.sender.window.cwnd, bench.sender.window.ssthresh),
        (1.0, 5.0)
    );
    assert_eq!(bench.ack(10, NONE, 0).len(), 2);
}

/// RFC 6298: first samples (2.2, 2.3), the floor, doubling (5.5), restart by an ACK of new data.
#[test]
fn retransmission_timer() {
    let mut bench = Bench::new(Recovery::Sack, 4.0);
    bench.now = 1000 * MS;
    bench.sent();
    assert_eq!(bench.sender.deadline, 2000 * MS);
    bench.ack(1, NONE, 0); // 100 ms
    assert_eq!(
        (bench.sender.rtt.srtt, bench.sender.rtt.rttvar()),
        (100 * MS, 50 * MS)
    );
    assert_eq!(bench.sender.deadline, bench.now + 300 * MS);
    for cum in 2..40 {
        bench.ack(cum, NONE, 0);
    }
    assert_eq!(bench.sender.timeout(&bench.config), 200 * MS);
    let cwnd = bench.sender.window.cwnd;
    for doubling in 0..4 {
        bench.now = bench.sender.deadline;
        bench.sender.on_timeout(bench.now, &bench.config);
        assert_eq!(bench.sent().len(), 1);
        assert_eq!(bench.sender.deadline, bench.now + (400 << doubling) * MS);
        assert_eq!(bench.sender.window.cwnd, 1.0);
        // RFC 5681, section 3.1: ssthresh is not reduced again by the same segment
        assert_eq!(bench.sender.window.ssthresh, (cwnd / 2.0).max(2.0));
    }
    bench.ack(41, NONE, 0);
    assert_eq!(bench.sender.timeout(&bench.config), 200 * MS);
}

/// After a timeout only what is missing is sent again (RFC 6675, section 5.1).
#[test]
fn a_timeout_keeps_the_scoreboard() {
    let mut bench = Bench::new(Recovery::Sack, 6.0);
    bench.now = 200 * MS;
    bench.sent();
    bench.ack(0, 2, 0);
    bench.ack(0, 4, 0);
    bench.now = bench.sender.deadline;
    bench.sender.on_timeout(bench.now, &bench.config);
    assert_eq!(bench.sent(), [0]);
    assert_eq!(bench.ack(1, NONE, 0), [-1, -3]);
    // 6 and 7 were sent by limited transmit; the timeout has lost them too
    assert_eq!(bench.ack(3, NONE, 0), [-5, -6]);
    assert_eq!(bench.sender.counters.fast_recoveries, 0);
}

/// RFC 3168, section 6.1.2: one reduction a window, and CWR on the next new segment.
#[test]
fn congestion_is_answered_once_a_window() {
    let mut bench = Bench::new(Recovery::Sack, 10.0);
    bench.now = 200 * MS;
    bench.sent();
    bench.ack(1, NONE, Flags::ECE);
    assert_eq!(bench.sender.window.cwnd, 5.0);
    for cum in 2..10 {
        bench.ack(cum, NONE, Flags::ECE);
    }
    assert_eq!(bench.sender.counters.ecn_reductions, 1);
    bench.ack(11, NONE, Flags::ECE);
    assert_eq!(bench.sender.counters.ecn_reductions, 2);
}

/// A hole whose retransmission is lost too: found by what was sent after it, or else by the timer.
#[test]
fn lost_retransmissions() {
    for detect in [true, false] {
        let mut bench = Bench::new(Recovery::Sack, 10.0);
        bench.config.detect_lost = detect;
        bench.now = 200 * MS;
        bench.sent();
        let mut resent = 0;
        // segment 0 is lost, and lost again; everything else arrives
        for seq in 1..60 {
            if seq < bench.sender.high {
                resent += bench
                    .ack(0, seq, 0)
                    .iter()
                    .filter(|&&segment| segment <= 0)
                    .count();
            }
        }
        assert_eq!(resent > 1, detect, "sent again {resent} times");
    }
}

/// One segment for every two that are acknowledged, or a share of them, until half of the window is
/// left.
#[test]
fn reductions_over_a_round() {
    for (reduction, expected) in [
        (WindowReduction::AtOnce, 10),
        (WindowReduction::RateHalving, 10),
        (WindowReduction::Prr, 10),
    ] {
        let mut bench = Bench::new(Recovery::Sack, 20.0);
        bench.config.reduction = reduction;
        bench.config.limited_transmit = false;
        bench.now = 200 * MS;
        bench.sent();
        bench.sender.window.ssthresh = 20.0;
        let mut gaps = vec![0];
        for seq in 1..20 {
            match bench.ack(0, seq, 0).len() {
                0 => *gaps.last_mut().expect("not empty") += 1,
                _ => gaps.push(0),
            }
        }
        let longest = *gaps[1..].iter().max().expect("segments were sent");
        if reduction == WindowReduction::AtOnce {
            assert!(longest >= 6, "silence while the pipe empties: {gaps:?}");
        } else {
            assert!(longest <= 2, "{reduction:?}: {gaps:?}");
        }
        bench.ack(20, NONE, 0);
        assert_eq!(bench.sender.state, State::Open);
        assert_eq!(bench.sender.window.cwnd as u64, expected, "{reduction:?}");
    }
}

#[test]
fn the_receivers_window_holds() {
    let mut bench = Bench::new(Recovery::Sack, 10.0);
    bench.now = 200 * MS;
    bench.config.max_window = 4;
    assert_eq!(bench.sent(), [0, 1, 2, 3]);
    assert_eq!(bench.ack(1, NONE, 0), [4]);
    for cum in 2..50 {
        bench.ack(cum, NONE, 0);
    }
    // a window that is not used does not grow (RFC 7661)
    assert!(
        bench.sender.window.cwnd <= 10.0,
        "{}",
        bench.sender.window.cwnd
    );
}

/// RFC 9937, section 6: below ssthresh one segment for each that is delivered, and one more where
/// the ACK moves on and tells of no further loss (SafeACK).
#[test]
fn proportional_reduction_grows_for_safe_acks_only() {
    let mut bench = Bench::new(Recovery::Sack, 20.0);
    bench.config.reduction = WindowReduction::Prr;
    bench.config.limited_transmit = false;
    bench.now = 200 * MS;
    bench.sent();
    bench.sender.window.ssthresh = 20.0;
    // 0 to 9 and 18 are lost
    bench.ack(0, 10, 0);
    bench.ack(0, 11, 0);
    assert_eq!(bench.ack(0, 12, 0), [0]);
    assert_eq!(bench.sender.window.ssthresh, 10.0);
    for seq in 13..18 {
        assert_eq!(bench.ack(0, seq, 0).len(), 1, "{seq}");
    }
    assert_eq!(bench.ack(1, NONE, 0).len(), 2); // safe
    assert_eq!(bench.ack(1, 19, 0).len(), 1);
}

/// RFC 9937, section 6: what a cumulative ACK covers is delivered once, however it was acknowledged
/// before.
#[test]
fn proportional_reduction_counts_each_segment_once() {
    let mut bench = Bench::new(Recovery::Sack, 20.0);
    bench.config.reduction = WindowReduction::Prr;
    bench.config.limited_transmit = false;
    bench.now = 200 * MS;
    bench.sent();
    bench.sender.window.ssthresh = 20.0;
    // 0 and 5 are lost
    for seq in (1..20).filter(|&seq| seq != 5) {
        bench.ack(0, seq, 0);
    }
    // the third selective ACK begins the recovery and counts, 3 to 19 without 5
    assert_eq!(bench.sender.prr.delivered, 16);
    bench.ack(5, NONE, 0);
    assert_eq!(bench.sender.prr.delivered, 17);
}

/// A bench with RACK; round trips of 100 ms have been seen, `cum` segments are acknowledged and ten
/// more are out, sent a millisecond apart.
fn rack_bench() -> (Bench, u64) {
    let mut bench = Bench::new(Recovery::Sack, 10.0);
    bench.config.rack = true;
    let reno = CongestionSpec::from_values("reno", &[]).expect("reno is registered");
    bench.sender = Sender::new(reno.build(0), &bench.config, f64::INFINITY);
    bench.sender.open(1000 * MS, 0, false, &bench.config);
    bench.sender.written = u64::MAX;
    bench.now = 1000 * MS;
    bench.sent();
    bench.sender.window.ssthresh = 10.0;
    bench.now += 100 * MS;
    for cum in 1..=10 {
        bench.now += MS;
        let ack = Ack {
            at: bench.now,
            cum,
            echo: bench.now - 100 * MS,
            sack: NONE,
            blocks: 0,
            marked: 0,
            flags: Flags(0),
        };
        bench
            .sender
            .on_ack(bench.now, &ack, &[], &bench.config, &mut bench.random);
        bench.sent();
    }
    let next = bench.sender.next;
    assert_eq!(bench.sender.una, 10);
    (bench, next)
}

fn rack_ack(bench: &mut Bench, cum: u64, sack: u64) -> Vec<i64> {
    let ack = Ack {
        at: bench.now,
        cum,
        echo: bench.now - 100 * MS,
        sack,
        blocks: 0,
        marked: 0,
        flags: Flags(0),
    };
    bench
        .sender
        .on_ack(bench.now, &ack, &[], &bench.config, &mut bench.random);
    bench.sent()
}

/// RFC 8985, section 6.2: one segment overtaken is given a quarter of the smallest round trip; the
/// timer then declares it lost, without further ACKs.
#[test]
fn rack_waits_for_the_reordering_window() {
    let (mut bench, _) = rack_bench();
    // segment 10 was sent at 1101 ms, 11 a millisecond later; 11 arrives after 100 ms
    bench.now = 1202 * MS;
    assert!(!rack_ack(&mut bench, 10, 11).contains(&-10));
    assert_eq!(bench.sender.state, State::Open);
    // 1101 + 100 + 25 ms
    assert_eq!(bench.sender.next_timer(), 1226 * MS);
    bench.now = 1226 * MS;
    bench.sender.on_timer(bench.now, &bench.config);
    assert_eq!(bench.sender.state, State::Recovery);
    assert_eq!(bench.sent().first(), Some(&-10));
}

/// The segment arrives within the window: nothing was lost, and from now on three overtaken ones
/// are no longer enough.
#[test]
fn rack_bears_reordering() {
    let (mut bench, _) = rack_bench();
    bench.now = 1202 * MS;
    rack_ack(&mut bench, 10, 11);
    bench.now = 1210 * MS;
    rack_ack(&mut bench, 12, NONE);
    assert_eq!(bench.sender.state, State::Open);
    for seq in 13..17 {
        bench.now += MS / 10;
        assert!(
            rack_ack(&mut bench, 12, seq)
                .iter()
                .all(|&segment| segment > 0)
        );
    }
    assert_eq!(bench.sender.state, State::Open, "reordering has been seen");
    assert_eq!(bench.sender.counters.fast_recoveries, 0);
}

/// Without reordering seen, the third segment that overtakes leaves no time (section 6.2, step 4).
#[test]
fn rack_is_as_quick_as_three_duplicates() {
    let (mut bench, _) = rack_bench();
    let mut sent = vec![];
    for seq in 11..14 {
        bench.now = (1191 + seq) * MS;
        assert!(!sent.contains(&-10));
        sent.extend(rack_ack(&mut bench, 10, seq));
    }
    assert!(sent.contains(&-10), "{sent:?}");
    // the retransmission is lost too: what was sent after it tells
    bench.now += 100 * MS;
    let mut again = vec![];
    for seq in 14..30 {
        bench.now += 20 * MS;
        if seq < bench.sender.high {
            again.extend(rack_ack(&mut bench, 10, seq));
        }
    }
    assert!(again.contains(&-10), "{again:?}");
    assert_eq!(bench.sender.counters.timeouts, 0);
}

/// Section 7: nothing arrives for two smoothed round trips: a new segment goes out as a probe, or
/// the last one again. The window falls only where the probe was what repaired a loss.
#[test]
fn tail_loss_probes() {
    for (new, lost) in [(true, false), (false, true), (false, false)] {
        let (mut bench, next) = rack_bench();
        if !new {
            bench.sender.written = next;
        }
        let srtt = bench.sender.rtt.srtt;
        assert_eq!(bench.sender.next_timer(), bench.now + 2 * srtt);
        bench.now = bench.sender.next_timer();
        bench.sender.on_timer(bench.now, &bench.config);
        let last = next as i64 - 1;
        assert_eq!(bench.sent(), [if new { last + 1 } else { -last }]);
        assert_eq!(bench.sender.counters.timeouts, 0);
        // one probe only; then the retransmission timer
        assert_eq!(bench.sender.next_timer(), bench.sender.deadline);
        bench.sender.written = u64::MAX;
        let cwnd = bench.sender.window.cwnd;
        bench.now += 100 * MS;
        rack_ack(&mut bench, next, NONE);
        if lost {
            rack_ack(&mut bench, next + 1, NONE);
            assert!(bench.sender.window.cwnd < cwnd, "the probe repaired a loss");
        } else {
            rack_ack(&mut bench, next, NONE); // the second copy has arrived as well
            rack_ack(&mut bench, next + 1, NONE);
            assert!(bench.sender.window.cwnd >= cwnd);
        }
    }
}

/// A bench in style "linux": round trips of 100 ms have been seen, 20 segments are out, the window
/// is 20 and slow start over.
fn linux_bench() -> Bench {
    let mut bench = Bench::new(Recovery::Sack, 20.0);
    bench.config = Config::new(&Tcp {
        style: Style::Linux,
        loss_detection: LossDetection::Rack,
        reduction: WindowReduction::Prr,
        ..options(Recovery::Sack, 20.0)
    });
    let reno = CongestionSpec::from_values("reno", &[]).expect("reno is registered");
    bench.sender = Sender::new(reno.build(0), &bench.config, f64::INFINITY);
    bench.sender.open(1000 * MS, 100 * MS, false, &bench.config);
    bench.sender.written = u64::MAX;
    bench.now = 1000 * MS;
    bench.sent();
    bench.sender.window.ssthresh = 20.0;
    bench.now += 100 * MS;
    bench
}

/// The timeout is the smoothed round trip and 200 ms at least, whatever the variation.
#[test]
fn linux_adds_the_smallest_timeout_to_the_round_trip() {
    let mut bench = linux_bench();
    for cum in 1..=20 {
        bench.ack(cum, NONE, 0);
    }
    let rto = bench.sender.timeout(&bench.config);
    assert_eq!(rto, bench.sender.rtt.srtt + 200 * MS);
}

/// A mark brings the window down over a round trip, to half; the ACK that ends that lets it grow
/// again.
#[test]
fn linux_spreads_the_answer_to_a_mark() {
    let mut bench = linux_bench();
    let mut sent = bench.ack(2, NONE, Flags::ECE).len();
    assert_eq!(bench.sender.window.ssthresh, 10.0);
    assert!(bench.sender.window.cwnd > 15.0, "not at once");
    for cum in (4..=20).step_by(2) {
        sent += bench.ack(cum, NONE, Flags::ECE).len();
    }
    assert_eq!(sent, 10, "one for two");
    assert_eq!(bench.sender.counters.ecn_reductions, 1);
    bench.ack(22, NONE, 0);
    assert_eq!(bench.sender.window.cwnd, 10.0 + 2.0 / 10.0);
}

/// A recovery is over with everything that was sent before it; what was sent since, was lost and is
/// on its way again leads to the next at once, without an ACK that lets the window grow between
/// them.
#[test]
fn linux_recovers_again_from_what_is_missing() {
    let mut bench = linux_bench();
    // 0 is lost, and 22 of those sent in the recovery
    let mut resent = Vec::new();
    for seq in (1..30).filter(|&seq| seq != 22) {
        if seq < bench.sender.high {
            resent.extend(bench.ack(0, seq, 0).into_iter().filter(|&seq| seq <= 0));
        }
    }
    assert_eq!((resent.first(), resent.last()), (Some(&0), Some(&-22)));
    assert_eq!(bench.sender.window.ssthresh, 10.0);
    bench.ack(22, NONE, 0);
    assert_eq!(bench.sender.state, State::Recovery);
    assert_eq!(bench.sender.counters.fast_recoveries, 2);
    assert_eq!(bench.sender.window.ssthresh, 5.0);
    let sent = bench.ack(23, NONE, 0);
    assert!(sent.iter().all(|&segment| segment > 0), "{sent:?}");
}

/// A paced segment that leaves later than it might shortens the gap after it, by half at most.
#[test]
fn linux_gives_credit_for_pacing() {
    for (credit, late, gap) in [(true, 0, 10), (true, 2, 8), (true, 50, 5), (false, 50, 10)] {
        let mut bench = linux_bench();
        bench.config.pacing_credit = credit;
        // 20 segments in 240 ms, with 20 % to spare: one in 10 ms
        bench.sender.rtt.srtt = 240 * MS;
        bench.sender.window.ssthresh = 2.0;
        bench.sender.next_send = bench.now;
        let now = bench.now + late * MS;
        bench.sender.pace(now, &bench.config);
        let found = bench.sender.next_send - now;
        assert!(found.abs_diff(gap * MS) < 1000, "{found}");
    }
}

/// DCTCP halves the window for a loss even while it comes down for a mark; others have answered it
/// already. Its retransmissions are ECN-capable.
#[test]
fn linux_answers_a_loss_after_a_mark() {
    for (kind, left) in [("reno", 10.0), ("dctcp", 9.0)] {
        let mut bench = linux_bench();
        let spec = CongestionSpec::from_values(kind, &[]).expect("it is registered");
        let control = match spec {
            CongestionSpec::Dctcp(params) => CongestionSpec::Dctcp(DctcpParams {
                form: Form::Linux,
                ..params
            }),
            other => other,
        };
        bench.sender.controller = control.build(0);
        bench.sender.needs = bench.sender.controller.needs();
        bench.config.accurate_ecn = kind == "dctcp";
        bench.ack(2, NONE, Flags::ECE);
        assert_eq!(bench.sender.window.ssthresh, 10.0);
        for seq in [4, 5, 6] {
            bench.ack(2, seq, 0);
        }
        assert_eq!(bench.sender.state, State::Recovery);
        assert_eq!(bench.sender.window.ssthresh, left, "{kind}");
    }
    let mut config = linux_bench().config;
    let segment = Segment {
        seq: 0,
        retransmission: true,
        cwr: false,
    };
    assert!(!segment.ecn_flags(&config).has(Flags::ECT));
    config.ecn_always = true;
    assert!(segment.ecn_flags(&config).has(Flags::ECT));
}

/// RFC 5682, section 3.1: after a timeout new data goes out before what counts as lost; what is
/// delivered counts in full.
#[test]
fn linux_asks_whether_a_timeout_was_needed() {
    for real in [true, false] {
        let mut bench = linux_bench();
        bench.now = bench.sender.deadline;
        bench.sender.on_timeout(bench.now, &bench.config);
        assert_eq!(bench.sent(), [0]);
        assert_eq!(bench.sender.window.ssthresh, 10.0);
        let cwnd = bench.sender.window.cwnd;
        bench.now += 100 * MS;
        if real {
            assert_eq!(bench.ack(1, NONE, 0), [20, 21]);
            assert_eq!(bench.sender.window.cwnd, cwnd + 1.0);
            bench.now += 100 * MS;
            assert_eq!(bench.ack(1, 20, 0), [-1]);
            assert_eq!(bench.sender.state, State::Loss);
        } else {
            // 1 to 3 were sent once only: nothing was lost
            bench.ack(4, NONE, 0);
            assert_eq!(bench.sender.state, State::Open);
            assert!(bench.sender.window.cwnd >= 20.0);
            assert_eq!(bench.sender.window.ssthresh, 20.0);
        }
    }
}

/// A recovery whose only retransmission the receiver reports to have arrived twice (DSACK) is undone;
/// one that it does not report stands.
#[test]
fn linux_undoes_a_recovery_that_the_receiver_calls_needless() {
    for (sack, undone) in [(0, true), (NONE, false)] {
        let mut bench = linux_bench();
        let before = bench.sender.window;
        for seq in 1..=3 {
            bench.ack(0, seq, 0);
        }
        assert_eq!(bench.sender.state, State::Recovery);
        assert!(bench.sender.window.ssthresh < before.ssthresh);
        bench.now += 100 * MS;
        let all = bench.sender.recover;
        bench.ack(all, sack, 0);
        assert_eq!(bench.sender.state, State::Open);
        assert_eq!(bench.sender.window.ssthresh == before.ssthresh, undone);
        assert_eq!(bench.sender.window.cwnd >= before.cwnd, undone);
    }
}

/// One timer, in whole ticks: a probe two round trips and 2 ms after an ACK, or a timeout after the
/// first unacknowledged segment was sent; then the retransmission timer.
#[test]
fn linux_has_one_timer_in_ticks() {
    let mut bench = linux_bench();
    let first = bench.now + 10 * MS;
    for cum in 1..=20 {
        bench.sender.written = if cum == 1 { 21 } else { 20 };
        bench.ack(cum, NONE, 0);
    }
    bench.sender.written = u64::MAX;
    assert_eq!(bench.sender.una, 20);
    // one segment is out, sent at `first`; the ACK that left it alone has set the timer
    assert_eq!(
        (bench.sender.rtt.srtt, bench.sender.rtt.base_timeout()),
        (100 * MS, 300 * MS)
    );
    assert_eq!(
        bench.sender.next_timer(),
        timers::expiry(bench.now, 300 * MS)
    );
    bench.sent();
    assert_eq!(
        bench.sender.next_timer(),
        timers::expiry(bench.now, first + 300 * MS - bench.now)
    );
    bench.now = bench.sender.next_timer();
    let next = bench.sender.next;
    bench.sender.on_timer(bench.now, &bench.config);
    assert_eq!(bench.sent(), [next as i64]);
    let timeout = bench.sender.timeout(&bench.config);
    assert_eq!(timeout % MS, 0);
    assert_eq!(
        bench.sender.next_timer(),
        timers::expiry(bench.now, timeout)
    );
    assert_eq!(bench.sender.next_timer(), bench.sender.deadline);
}

/// RFC 3168, section 6.1.2: a window of one segment that is marked waits for the retransmission
/// timer; nothing counts as lost.
#[test]
fn a_marked_window_of_one_segment_pauses() {
    let mut bench = Bench::new(Recovery::Sack, 1.0);
    bench.now = 200 * MS;
    assert_eq!(bench.sent(), [0]);
    bench.sender.window.ssthresh = 1.0;
    let alone =
        CongestionSpec::from_values("aimd", &[("min_window".to_owned(), Value::Number(1.0))])
            .expect("aimd is there");
    bench.sender.controller = alone.build(0);
    assert_eq!(bench.ack(1, NONE, Flags::ECE), Vec::<i64>::new());
    let deadline = bench.sender.next_timer();
    assert_eq!(deadline, bench.now + bench.sender.timeout(&bench.config));
    bench.now = deadline;
    bench.sender.on_timer(deadline, &bench.config);
    assert_eq!(bench.sender.counters.timeouts, 0);
    assert_eq!(bench.sent(), [1]);
    assert_eq!(bench.sender.window.cwnd as u64, 1);
    // the next mark doubles the pause, as in ns-2
    assert_eq!(bench.ack(2, NONE, Flags::ECE), Vec::<i64>::new());
    let deadline = bench.sender.next_timer();
    assert_eq!(
        deadline,
        bench.now + 2 * bench.sender.timeout(&bench.config)
    );
    bench.now = deadline;
    bench.sender.on_timer(deadline, &bench.config);
    assert_eq!(bench.sent(), [2]);
    // as Linux does it
    bench.config.ecn_pause = false;
    assert_eq!(bench.ack(3, NONE, Flags::ECE), [3]);
}

impl Bench {
    /// Ten segments are out; what is needless is found by `undo`.
    fn with_undo(recovery: Recovery, undo: Undo) -> Self {
        let tcp = Tcp {
            undo,
            ..options(recovery, 10.0)
        };
        let config = Config::new(&tcp);
        let reno = CongestionSpec::from_values("reno", &[]).expect("reno is registered");
        let mut sender = Sender::new(reno.build(0), &config, 8.0);
        sender.open(1000 * MS, 100 * MS, false, &config);
        sender.written = u64::MAX;
        let mut bench = Self {
            sender,
            config,
            random: Stream::new(1, Owner::Flow, 0),
            now: 1000 * MS,
        };
        assert_eq!(bench.sent().len(), 10);
        bench
    }

    /// An ACK 10 ms later that echoes `echo`.
    fn ack_of(&mut self, cum: u64, sack: u64, echo: u64, flags: u8) -> Vec<i64> {
        self.now += 10 * MS;
        let ack = Ack {
            at: self.now,
            cum,
            echo,
            sack,
            blocks: 0,
            flags: Flags(flags),
            marked: 0,
        };
        self.sender
            .on_ack(self.now, &ack, &[], &self.config, &mut self.random);
        self.sent()
    }

    fn time_out(&mut self) -> Vec<i64> {
        self.now = self.sender.deadline;
        self.sender.on_timeout(self.now, &self.config);
        self.sent()
    }

    fn windows(&self) -> (f64, f64) {
        (self.sender.window.cwnd, self.sender.window.ssthresh)
    }
}

/// RFC 3522: a segment comes after three sent later, and the ACK of it echoes when it was sent
/// first. Nothing is undone where it does not, or where marks tell of congestion.
#[test]
fn eifel_undoes_a_recovery() {
    let first = 1000 * MS;
    for recovery in [Recovery::Sack, Recovery::NewReno] {
        for (undo, late, ece, back) in [
            (Undo::Eifel, false, false, true),
            (Undo::All, false, false, true),
            (Undo::Eifel, true, false, false),
            (Undo::All, true, false, false),
            (Undo::Eifel, false, true, false),
            (Undo::Frto, false, false, false),
            (Undo::None, false, false, false),
            (Undo::Auto, false, false, false),
        ] {
            let mut bench = Bench::with_undo(recovery, undo);
            for sack in 1..4 {
                let sack = if recovery == Recovery::Sack {
                    sack
                } else {
                    NONE
                };
                bench.ack_of(0, sack, first, 0);
            }
            assert_eq!(bench.sender.state, State::Recovery);
            assert_eq!(bench.sender.window.ssthresh, 5.0);
            let echo = if late { bench.now } else { first };
            bench.ack_of(4, NONE, echo, if ece { Flags::ECE } else { 0 });
            let case = format!("{recovery:?} {undo:?} {late} {ece}");
            assert_eq!(bench.windows() == (10.0, 8.0), back, "{case}");
            if back {
                assert_eq!(bench.sender.state, State::Open, "{case}");
                assert!(bench.sender.outstanding() >= 9, "{case}");
            }
        }
    }
}

/// Of two segments that count as lost one comes late and the other is lost: the reduction stands.
#[test]
fn one_late_segment_does_not_excuse_a_lost_one() {
    let mut bench = Bench::with_undo(Recovery::Sack, Undo::All);
    let first = 1000 * MS;
    for sack in [2, 3, 4, 5, 6, 7, 8] {
        bench.ack_of(0, sack, first, 0);
    }
    // 0 and 1 are sent again; 0 comes late, 1 only the second time
    bench.ack_of(1, NONE, first, 0);
    assert_eq!(
        (bench.sender.state, bench.sender.window.ssthresh),
        (State::Recovery, 5.0)
    );
    let resent = bench.now;
    bench.ack_of(bench.sender.high, NONE, resent, 0);
    assert_eq!(
        (bench.sender.state, bench.sender.window.ssthresh),
        (State::Open, 5.0)
    );
}

/// RFC 3708: the receiver says that every retransmission has arrived twice; also after the recovery
/// is over.
#[test]
fn duplicates_undo_a_recovery() {
    for (undo, back) in [(Undo::Dsack, true), (Undo::All, true), (Undo::Eifel, false)] {
        let mut bench = Bench::with_undo(Recovery::Sack, undo);
        let first = 1000 * MS;
        for sack in [2, 3, 4, 5, 6, 7, 8] {
            bench.ack_of(0, sack, first, 0);
        }
        let twice = Flags::TWICE;
        // echoes say nothing here: times after the retransmission
        bench.ack_of(9, NONE, bench.now, 0);
        bench.ack_of(10, 0, bench.now, twice);
        assert_eq!(bench.sender.window.ssthresh, 5.0, "one of two");
        bench.ack_of(10, 1, bench.now, twice);
        assert_eq!(
            bench.windows() == (10.0, 8.0),
            back,
            "{undo:?} {:?}",
            bench.windows()
        );
        assert_eq!(bench.sender.state == State::Open, back);
    }
}

/// RFC 4015: a delay spike. The ACK of the first copy comes 30 ms after the timeout; new data goes
/// on at once, slow start leads back, and the timer has learnt.
#[test]
fn eifel_undoes_a_timeout() {
    for recovery in [Recovery::Sack, Recovery::NewReno] {
        let mut bench = Bench::with_undo(recovery, Undo::Eifel);
        assert_eq!(bench.time_out(), [0]);
        assert_eq!(bench.windows(), (1.0, 5.0));
        bench.now += 20 * MS;
        let sent = bench.ack_of(2, NONE, 1000 * MS, 0);
        // eight outstanding and the two of the ACK; ssthresh what was in the network
        assert_eq!(bench.windows(), (10.0, 10.0), "{recovery:?}");
        assert_eq!(sent, [10, 11], "{recovery:?}");
        let rtt = bench.now - 1000 * MS;
        assert_eq!(bench.sender.rtt.smoothed(), (rtt, rtt / 2), "{recovery:?}");
        assert_eq!(bench.sender.deadline, bench.now + 3 * rtt);
        // a timeout of a lost segment stands, and is gone back over
        let mut bench = Bench::with_undo(recovery, Undo::Eifel);
        bench.time_out();
        let sent = bench.ack_of(1, NONE, bench.now, 0);
        assert_eq!(bench.sender.state, State::Loss);
        assert_eq!(sent, [-1, -2], "{recovery:?}");
    }
}

/// RFC 5682 without time stamps: two ACKs after the timeout that move on, and new data between
/// them; a duplicate, or one that the retransmission explains, shows a loss.
#[test]
fn frto_undoes_a_timeout() {
    for recovery in [Recovery::Sack, Recovery::NewReno] {
        let selective = recovery == Recovery::Sack;
        let mut bench = Bench::with_undo(recovery, Undo::Frto);
        assert_eq!(bench.time_out(), [0]);
        let new = if selective { vec![10, 11] } else { vec![10] };
        assert_eq!(bench.ack_of(1, NONE, bench.now, 0), new, "{recovery:?}");
        assert_eq!(
            (bench.sender.state, bench.sender.window.ssthresh),
            (State::Loss, 5.0)
        );
        bench.ack_of(2, NONE, bench.now, 0);
        assert_eq!(
            (bench.sender.state, bench.sender.window.ssthresh),
            (State::Open, 10.0)
        );
        // 0 and 1 are lost: the new segments come above a hole
        let mut bench = Bench::with_undo(recovery, Undo::Frto);
        bench.time_out();
        bench.ack_of(1, NONE, bench.now, 0);
        let sack = if selective { 10 } else { NONE };
        let sent = bench.ack_of(1, sack, bench.now, 0);
        assert_eq!(
            (bench.sender.state, bench.sender.window.ssthresh),
            (State::Loss, 5.0)
        );
        assert_eq!(sent.first(), Some(&-1), "{recovery:?} {sent:?}");
        // the retransmission fills the only hole: the loss was real
        let mut bench = Bench::with_undo(recovery, Undo::Frto);
        bench.time_out();
        bench.ack_of(10, NONE, bench.now, 0);
        assert_eq!(
            (bench.sender.state, bench.sender.window.ssthresh),
            (State::Open, 5.0)
        );
    }
}

/// draft-ietf-ccwg-ratelimited-increase: a window that the application does not fill grows to twice
/// the most that has been in flight in slow start, and to a segment more than that beyond it.
#[test]
fn a_window_grows_as_far_as_it_is_used() {
    for (ssthresh, limit) in [(f64::INFINITY, 2.0), (4.0, 1.0)] {
        let mut bench = Bench::new(Recovery::Sack, 4.0);
        bench.sender.window.ssthresh = ssthresh;
        (bench.sender.written, bench.now) = (0, 2000 * MS);
        let mut most: f64 = 4.0;
        for step in 0..2000_u64 {
            // three to seven segments a round trip, as the application has them
            bench.sender.written += 3 + step * step * 7919 % 7;
            bench.sent();
            while bench.sender.outstanding() > 0 {
                most = most.max(bench.sender.outstanding() as f64);
                bench.ack(bench.sender.una + 1, NONE, 0);
                let cwnd = bench.sender.window.cwnd;
                let bound = if limit > 1.0 {
                    limit * most
                } else {
                    most + limit
                };
                // the last step beyond it is that of one ACK
                assert!(cwnd <= bound + 1.0 / most, "{cwnd} with {most} in flight");
            }
        }
        assert!(most == 7.0 && bench.sender.window.cwnd > most, "{most}");
    }
}
