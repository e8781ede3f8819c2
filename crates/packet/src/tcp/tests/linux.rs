//! Differences of style "linux".

use super::*;

/// A bench in style "linux": round trips of 100 ms have been seen, 20 segments are out, the window
/// is 20 and slow start over.
fn linux_bench() -> Bench {
    linux_bench_of("reno")
}

/// The same of another congestion control, which may steer the window by itself.
fn linux_bench_of(kind: &str) -> Bench {
    let mut bench = Bench::new(Recovery::Sack, 20.0);
    let control = CongestionSpec::from_values(kind, &[]).expect("it is registered");
    let controller = control.build(0);
    bench.config = Config::new(&Tcp {
        style: Style::Linux,
        loss_detection: LossDetection::Rack,
        reduction: WindowReduction::Prr,
        congestion: control,
        ..options(Recovery::Sack, 20.0)
    });
    bench.sender = Sender::new(controller, &bench.config, f64::INFINITY);
    bench
        .sender
        .open(1000 * MS, first_syn(100 * MS), &bench.config);
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
        bench.hear(cum, NONE, Flags(0), 100 * MS);
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
        bench.config.linux_pacing = credit;
        // 20 segments in 240 ms, with 20 % to spare: one in 10 ms
        bench.sender.rtt.srtt = 240 * MS;
        bench.sender.window.ssthresh = 2.0;
        bench.sender.pacer.release(bench.now);
        let now = bench.now + late * MS;
        bench.sender.pace(now, &bench.config);
        let pause = bench.sender.pacer.next() - now;
        assert!(pause.abs_diff(gap * MS) < 1000, "{pause}");
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
        bench.config.ecn.accurate = kind == "dctcp";
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
    config.ecn.always = true;
    assert!(segment.ecn_flags(&config).has(Flags::ECT));
}

/// RFC 5682, section 3.1: after a timeout new data goes out before what counts as lost; what is
/// delivered counts in full.
#[test]
fn linux_asks_whether_a_timeout_was_needed() {
    for real in [true, false] {
        let mut bench = linux_bench();
        bench.now = bench.sender.timers.rto();
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

/// Nothing waits for the first nine segments of a connection.
#[test]
fn linux_paces_after_the_tenth_segment() {
    let mut bench = linux_bench();
    bench.config.pacing = PacingPolicy::Window;
    bench.sender.window.cwnd = 10.0;
    for (sent, paced) in [(1, false), (9, false), (10, true)] {
        bench.sender.high = sent;
        bench.sender.pacer.release(0);
        bench.sender.pace(bench.now, &bench.config);
        assert_eq!(bench.sender.pacer.next() > bench.now, paced, "{sent}");
    }
}

/// A recovery whose only retransmission the receiver reports to have arrived twice (DSACK) is
/// undone; one that it does not report stands.
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
        let all = bench.sender.recovery.recover;
        bench.ack(all, sack, 0);
        assert_eq!(bench.sender.state, State::Open);
        assert_eq!(bench.sender.window.ssthresh == before.ssthresh, undone);
        assert_eq!(bench.sender.window.cwnd >= before.cwnd, undone);
    }
}

/// RFC 2883, section 4: of two retransmissions one arrives twice above what is acknowledged, and
/// counts all the same; a SACK block of it that is no such report does not.
#[test]
fn linux_counts_duplicates_above_what_is_acknowledged() {
    for (flags, undone) in [(Flags::SENT_TWICE, true), (0, false)] {
        let mut bench = linux_bench();
        bench.sender.written = 20;
        let before = bench.sender.window;
        for seq in 2..20 {
            bench.now -= 10 * MS;
            bench.ack(0, seq, 0);
        }
        assert_eq!(bench.sender.state, State::Recovery);
        assert_eq!(bench.sender.scoreboard.resent(), 2);
        // too soon for the retransmission: the first copies come
        bench.ack_of(0, 1, bench.now, 0);
        bench.ack_of(0, 1, bench.now, flags);
        bench.ack_of(20, 0, bench.now, Flags::SENT_TWICE);
        assert_eq!(bench.sender.state, State::Open);
        assert_eq!(bench.sender.window.ssthresh == before.ssthresh, undone);
    }
}

/// Segment 18 is sent again and arrives; all below 20 has, so that nothing is out of order. Segment
/// 20 is lost if it left before that retransmission, and may still come if it left after it.
#[test]
fn a_retransmission_overtakes_what_was_sent_before_it() {
    for (early, resent) in [(true, vec![-20]), (false, vec![])] {
        let mut bench = linux_bench();
        bench.sender.written = 20;
        bench.ack(18, NONE, 0);
        (bench.sender.window.cwnd, bench.sender.window.ssthresh) = (2.0, 2.0);
        if early {
            bench.sender.written = 21;
        }
        assert_eq!(bench.ack(18, 19, 0), if early { vec![20] } else { vec![] });
        bench.now = bench.sender.timers.next();
        bench.sender.on_timer(bench.now, &bench.config);
        assert_eq!(bench.sent(), [-18]);
        bench.now += MS;
        bench.sender.written = 21;
        bench.sender.window.cwnd = 4.0;
        assert_eq!(bench.sent(), if early { vec![] } else { vec![20] });
        bench.now += 110 * MS;
        assert_eq!(bench.ack(20, NONE, 0), resent);
        assert!(bench.sender.state != State::Open || !early);
    }
}

/// The ACK that ends a recovery is looked at as in state Open: one segment that came before another
/// may be late for a quarter of the round trip. A control that steers the window is no exception.
#[test]
fn the_end_of_a_repair_bears_reordering() {
    for kind in ["reno", "bbr"] {
        let mut bench = linux_bench_of(kind);
        for seq in 1..20 {
            bench.ack(0, seq, 0);
        }
        let all = bench.sender.recovery.recover;
        assert_eq!(bench.sender.state, State::Recovery, "{kind}");
        assert!(bench.sender.next > all + 1, "{kind}");
        bench.now += 50 * MS;
        let sent = bench.ack(all, all + 1, 0);
        assert!(!sent.contains(&-(all as i64)), "{kind}");
        assert_eq!(bench.sender.state, State::Open, "{kind}");
        bench.now = bench.sender.timers.next();
        bench.sender.on_timer(bench.now, &bench.config);
        assert_eq!(bench.sender.state, State::Recovery, "{kind}");
        assert_eq!(bench.sent()[0], -(all as i64), "{kind}");
    }
}

/// A control that steers the window keeps it as a recovery is undone, where others take the one of
/// before: both are in state Open, since the segment came late, as the time says that is echoed.
#[test]
fn a_recovery_is_undone_whoever_steers_the_window() {
    for kind in ["reno", "bbr"] {
        let mut bench = linux_bench_of(kind);
        bench.ack(1, NONE, 0);
        for seq in 2..5 {
            bench.ack(1, seq, 0);
        }
        assert_eq!(bench.sender.state, State::Recovery, "{kind}");
        let prior = bench.sender.recovery.prior_cwnd;
        bench.now += 50 * MS;
        bench.hear(5, NONE, Flags(0), 100 * MS);
        assert_eq!(bench.sender.state, State::Open, "{kind}");
        assert_eq!(bench.sender.scoreboard.lost(), 0, "{kind}");
        assert!(bench.sender.window.cwnd >= prior, "{kind}");
    }
}

/// RACK is asked only after it has heard of a delivery: a duplicate that tells of nothing new leaves
/// what is late to the timer.
#[test]
fn an_ack_without_news_finds_nothing_late() {
    let mut bench = linux_bench();
    bench.ack(1, NONE, 0);
    bench.ack(1, 3, 0);
    bench.now += 40 * MS;
    let at = bench.sender.timers.next();
    assert!(bench.now < at || !bench.ack(1, 3, 0).contains(&-1));
    assert_eq!(bench.sender.state, State::Open);
    bench.now = at;
    bench.sender.on_timer(bench.now, &bench.config);
    assert!(bench.sent().contains(&-1));
}

/// As the retransmission timer expires what left a round trip ago counts as lost, though segments
/// have come out of order before.
#[test]
fn a_timeout_bears_no_reordering() {
    let mut bench = linux_bench();
    bench.ack(0, 5, 0);
    let sent = bench.ack(6, NONE, 0).len();
    assert!(sent > 0, "it has sent beside its first window");
    // the last round trip was of 120 ms
    bench.now += 125 * MS;
    bench.sender.on_timeout(bench.now, &bench.config);
    assert_eq!(
        bench
            .sender
            .scoreboard
            .pipe(bench.sender.una, bench.sender.next),
        0
    );
    assert_eq!(bench.sender.window.cwnd, 1.0);
}

/// A probe that a recovery overtakes is forgotten: what it repaired is answered once.
#[test]
fn a_recovery_forgets_the_probe() {
    let mut bench = linux_bench();
    bench.sender.written = 20;
    bench.ack(10, NONE, 0);
    bench.now = bench.sender.timers.next();
    bench.sender.on_timer(bench.now, &bench.config);
    assert_eq!(bench.sent(), [-19]);
    bench.now += 100 * MS;
    bench.ack(10, 19, 0);
    assert_eq!(bench.sender.state, State::Recovery);
    let answered = bench.sender.window.ssthresh;
    bench.sender.written = 25;
    bench.now += 100 * MS; // it echoes a time after the repair
    bench.ack(20, NONE, 0);
    for cum in 21..=25 {
        bench.ack(cum, NONE, 0);
    }
    assert_eq!(bench.sender.window.ssthresh, answered);
}

/// An ACK that echoes a time from before a segment was sent again is for its first copy: nothing
/// that left in between is overtaken.
#[test]
fn the_first_copy_overtakes_nothing() {
    for (echoed, lost) in [(200, false), (50, true)] {
        let mut bench = linux_bench();
        bench.ack(1, NONE, 0);
        for seq in 3..9 {
            bench.ack(1, seq, 0);
        }
        assert_eq!(bench.sender.state, State::Recovery);
        assert_eq!(bench.sender.scoreboard.lost(), 2);
        assert_eq!(bench.sender.scoreboard.resent(), 2);
        bench.now += 110 * MS;
        bench.hear(2, NONE, Flags(0), echoed * MS);
        assert_eq!(bench.sender.scoreboard.lost() > 1, lost, "{echoed}");
    }
}

/// Linux takes what an ACK acknowledges selectively before what it covers: a delayed ACK that tells
/// of the first hole finds nothing lost, since RACK goes by the older of its round trips. The next
/// one does.
#[test]
fn linux_goes_by_what_is_covered_last() {
    let mut bench = linux_bench();
    bench.ack(2, NONE, 0); // 20 and 21 go
    bench.now += 30 * MS;
    bench.ack(20, NONE, 0); // and others, more than the reordering window later
    bench.now += 100 * MS;
    let sent = bench.ack(21, 22, 0);
    assert!(sent.iter().all(|&segment| segment > 21), "{sent:?}");
    let sent = bench.ack(21, 23, 0);
    assert!(sent.contains(&-21), "{sent:?}");
}

/// A segment that is acknowledged selectively and was sent before the first hole was sent again
/// gives the retransmission more time; one that was sent after it does not.
#[test]
fn linux_waits_on_while_older_segments_arrive() {
    let mut bench = linux_bench();
    for seq in 1..=3 {
        bench.ack(0, seq, 0);
    }
    assert_eq!(bench.sender.state, State::Recovery);
    // it takes the place of the reordering window's timer
    bench.ack(0, 4, 0);
    let resent = bench.sender.timers.rto();
    for seq in 5..20 {
        bench.ack(0, seq, 0);
        let timeout = bench.sender.timeout(&bench.config);
        assert_eq!(
            bench.sender.timers.rto(),
            linux_timer_wheel::expiry(bench.now, timeout)
        );
    }
    let last = bench.sender.timers.rto();
    assert!(last > resent);
    bench.now += 10 * MS;
    bench.hear(0, bench.sender.next - 1, Flags(0), 100 * MS);
    assert_eq!(bench.sender.timers.rto(), last);
}

/// One timer, in whole ticks: a probe two round trips and 2 ms after an ACK, or a timeout after the
/// first unacknowledged segment was sent; then the retransmission timer.
#[test]
fn linux_has_one_timer_in_ticks() {
    let mut bench = linux_bench();
    let first = bench.now;
    for cum in 1..=20 {
        bench.sender.written = if cum == 1 { 21 } else { 20 };
        if cum == 20 {
            bench.now += 190 * MS;
        }
        bench.hear(cum, NONE, Flags(0), 100 * MS);
        bench.sent();
    }
    bench.sender.written = u64::MAX;
    assert_eq!(bench.sender.una, 20);
    // one segment is out, sent at `first`; the ACK that left it alone has set the timer
    assert_eq!(
        (bench.sender.rtt.srtt, bench.sender.rtt.base_timeout()),
        (123_750 * MS / 1000, 324 * MS)
    );
    assert_eq!(
        bench.sender.timers.next(),
        linux_timer_wheel::expiry(bench.now, 324 * MS)
    );
    bench.sent();
    assert_eq!(
        bench.sender.timers.next(),
        linux_timer_wheel::expiry(bench.now, first + 324 * MS - bench.now)
    );
    bench.now = bench.sender.timers.next();
    let next = bench.sender.next;
    bench.sender.on_timer(bench.now, &bench.config);
    assert_eq!(bench.sent(), [next as i64]);
    let timeout = bench.sender.timeout(&bench.config);
    assert_eq!(timeout % MS, 0);
    assert_eq!(
        bench.sender.timers.next(),
        linux_timer_wheel::expiry(bench.now, timeout)
    );
    assert_eq!(bench.sender.timers.next(), bench.sender.timers.rto());
}

/// After a timeout a mark on the ACK that tells of a lost retransmission gets no answer of its own:
/// the window comes down once, as for a loss (`tcp_enter_recovery`), and because of the mark that
/// is not undone any more (`tcp_ecn_rcv_ecn_echo`).
#[test]
fn linux_answers_a_marked_lost_retransmission_as_a_loss() {
    for flags in [0, Flags::ECE] {
        let mut bench = linux_bench();
        bench.now = bench.sender.timers.rto();
        bench.sender.on_timeout(bench.now, &bench.config);
        assert_eq!(bench.sent(), [0]);
        bench.now += 100 * MS;
        assert_eq!(bench.ack(1, NONE, 0), [20, 21]); // RFC 5682, section 3.1: new data first
        bench.now += 100 * MS;
        assert_eq!(bench.ack(1, 20, 0), [-1]);
        assert_eq!(bench.ack(1, 21, 0), [-2]);
        assert_eq!(bench.sender.state, State::Loss);
        let ssthresh = bench.sender.window.ssthresh;
        // the retransmission of 2 arrives, that of 1 before it does not
        bench.now += 100 * MS;
        let sent = bench.ack(1, 2, flags);
        assert_eq!(sent.first(), Some(&-1), "{sent:?}");
        assert_eq!(bench.sender.state, State::Recovery);
        assert!(bench.sender.window.ssthresh < ssthresh);
        assert_eq!(bench.sender.counters.fast_recoveries, 1);
        assert_eq!(bench.sender.counters.ecn_reductions, 0);
        let sent_packets = bench.sender.sent_packets.as_ref();
        let undone_to = sent_packets.expect("RACK keeps them").undo.prior_ssthresh;
        assert_eq!(undone_to == 0.0, flags == Flags::ECE);
    }
}
