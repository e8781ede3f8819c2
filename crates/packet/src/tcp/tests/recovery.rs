//! Slow start, duplicate ACKs, recovery, timeouts, reductions, marks.

use super::*;

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
    assert_eq!(bench.sender.timers.rto(), 2000 * MS);
    bench.ack(1, NONE, 0); // 100 ms
    assert_eq!(
        (bench.sender.rtt.srtt, bench.sender.rtt.rttvar()),
        (100 * MS, 50 * MS)
    );
    assert_eq!(bench.sender.timers.rto(), bench.now + 300 * MS);
    for cum in 2..40 {
        bench.ack(cum, NONE, 0);
    }
    assert_eq!(bench.sender.timeout(&bench.config), 200 * MS);
    let cwnd = bench.sender.window.cwnd;
    for doubling in 0..4 {
        bench.now = bench.sender.timers.rto();
        bench.sender.on_timeout(bench.now, &bench.config);
        assert_eq!(bench.sent().len(), 1);
        assert_eq!(
            bench.sender.timers.rto(),
            bench.now + (400 << doubling) * MS
        );
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
    bench.now = bench.sender.timers.rto();
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
    // the ACK of segment 9, the last that was sent before, still echoes: 10 is the first with CWR
    for cum in 2..=10 {
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
        bench.config.loss.of_retransmissions = detect;
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
        bench.config.loss.limited_transmit = false;
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
    bench.config.loss.limited_transmit = false;
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
    bench.config.loss.limited_transmit = false;
    bench.now = 200 * MS;
    bench.sent();
    bench.sender.window.ssthresh = 20.0;
    // 0 and 5 are lost
    for seq in (1..20).filter(|&seq| seq != 5) {
        bench.ack(0, seq, 0);
    }
    // the third selective ACK begins the recovery and counts, 3 to 19 without 5
    assert_eq!(bench.sender.recovery.prr.delivered, 16);
    bench.ack(5, NONE, 0);
    assert_eq!(bench.sender.recovery.prr.delivered, 17);
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
    let deadline = bench.sender.timers.next();
    assert_eq!(deadline, bench.now + bench.sender.timeout(&bench.config));
    bench.now = deadline;
    bench.sender.on_timer(deadline, &bench.config);
    assert_eq!(bench.sender.counters.timeouts, 0);
    assert_eq!(bench.sent(), [1]);
    assert_eq!(bench.sender.window.cwnd as u64, 1);
    // the next mark doubles the pause, as in ns-2
    assert_eq!(bench.ack(2, NONE, Flags::ECE), Vec::<i64>::new());
    let deadline = bench.sender.timers.next();
    assert_eq!(
        deadline,
        bench.now + 2 * bench.sender.timeout(&bench.config)
    );
    bench.now = deadline;
    bench.sender.on_timer(deadline, &bench.config);
    assert_eq!(bench.sent(), [2]);
    // as Linux does it
    bench.config.ecn.pause = false;
    assert_eq!(bench.ack(3, NONE, Flags::ECE), [3]);
}
