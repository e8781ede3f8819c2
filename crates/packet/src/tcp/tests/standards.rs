//! Requirements of RFCs on a sender, where no other test looks at it (`docs/standards.md`).

use super::*;
use crate::tcp::hystart;

/// A bench whose slow start is over, with a window of ten segments that have just left.
fn ten_out(recovery: Recovery) -> Bench {
    let mut bench = Bench::new(recovery, 10.0);
    bench.now = 200 * MS;
    assert_eq!(bench.sent().len(), 10);
    bench.sender.window.ssthresh = 10.0;
    bench
}

/// RFC 5681, section 3.2, steps 1 to 6, by Reno: two new segments for the first two duplicates,
/// which change no window; the third halves what was in flight without them, and inflates; more
/// inflate by one each; the next ACK deflates.
#[test]
fn fast_retransmit_and_fast_recovery() {
    let mut bench = ten_out(Recovery::Reno);
    assert_eq!(bench.ack(0, NONE, 0), [10]);
    assert_eq!(bench.ack(0, NONE, 0), [11]);
    assert_eq!(bench.sender.window.cwnd, 10.0);
    assert_eq!(bench.ack(0, NONE, 0), [0]); // again: prints as -0
    assert_eq!(
        (bench.sender.window.ssthresh, bench.sender.window.cwnd),
        (5.0, 8.0)
    );
    for more in 1..=4 {
        assert!(bench.ack(0, NONE, 0).is_empty());
        assert_eq!(bench.sender.window.cwnd, 8.0 + f64::from(more));
    }
    assert_eq!(bench.ack(0, NONE, 0), [12]); // a window of 13 over 12 outstanding
    bench.ack(12, NONE, 0);
    assert_eq!(bench.sender.window.cwnd, 5.0);
    assert_eq!(bench.sender.state, State::Open);
}

/// RFC 6582, section 3.2: the first partial ACK restarts the timer, further ones do not; the ACK of
/// everything ends the recovery with min(ssthresh, max(FlightSize, 1) + 1).
#[test]
fn only_the_first_partial_acknowledgement_restarts_the_timer() {
    let mut bench = ten_out(Recovery::NewReno);
    for _ in 0..3 {
        bench.ack(0, NONE, 0);
    }
    let high = bench.sender.high;
    assert_eq!(bench.ack(2, NONE, 0)[0], -2);
    // cwnd was 8; two segments are acknowledged, one is added back
    assert_eq!(bench.sender.window.cwnd, 7.0);
    let timer = bench.sender.timers.rto();
    assert_eq!(timer, bench.now + bench.sender.timeout(&bench.config));
    assert_eq!(bench.ack(4, NONE, 0)[0], -4);
    assert_eq!(bench.sender.timers.rto(), timer);
    bench.sender.written = high;
    bench.ack(high, NONE, 0);
    assert_eq!(bench.sender.state, State::Open);
    assert_eq!(bench.sender.window.cwnd, 2.0);
}

/// RFC 6582, section 3.2, steps 2 and 4; RFC 6675, section 5.1: duplicates of data sent before a
/// timeout start no fast retransmit.
#[test]
fn duplicates_of_what_a_timeout_sends_again_start_no_recovery() {
    for recovery in [Recovery::NewReno, Recovery::Sack] {
        let mut bench = ten_out(recovery);
        bench.now = bench.sender.timers.rto();
        bench.sender.on_timeout(bench.now, &bench.config);
        let (ssthresh, high) = (bench.sender.window.ssthresh, bench.sender.high);
        bench.sent();
        for seq in 0..5 {
            let sack = if recovery == Recovery::Sack {
                2 + seq
            } else {
                NONE
            };
            bench.ack(1, sack, 0);
        }
        assert_eq!(bench.sender.counters.fast_recoveries, 0, "{recovery:?}");
        assert_eq!(bench.sender.window.ssthresh, ssthresh);
        assert_eq!(bench.sender.recovery.recover, high);
        bench.ack(high, NONE, 0);
        assert_eq!(bench.sender.state, State::Open);
    }
}

/// RFC 5681, section 4.3, and RFC 8985, section 9.3: a retransmission that is lost, too, brings
/// ssthresh and cwnd down again, once for all that were sent before; one that was sent after that,
/// again. Not with rate halving (Linux 2.6).
#[test]
fn a_lost_retransmission_reduces_again() {
    for (reduction, expected) in [
        (WindowReduction::AtOnce, &[20.0, 10.0, 5.0, 2.5][..]),
        (WindowReduction::RateHalving, &[20.0, 10.0]),
    ] {
        for rack in [false, true] {
            let mut bench = Bench::new(Recovery::Sack, 20.0);
            let mut tcp = options(Recovery::Sack, 20.0);
            tcp.reduction = reduction;
            tcp.detect_lost_retransmissions = !rack;
            if rack {
                tcp.loss_detection = LossDetection::Rack;
            }
            bench.config = Config::new(&tcp);
            let reno = CongestionSpec::from_values("reno", &[]).expect("reno is registered");
            bench.sender = Sender::new(reno.build(0), &bench.config, f64::INFINITY);
            bench
                .sender
                .open(1000 * MS, first_syn(100 * MS), &bench.config);
            bench.sender.written = u64::MAX;
            bench.now = 2000 * MS;
            bench.sent();
            bench.sender.window.ssthresh = 20.0;
            let (mut ssthreshs, mut resent) = (vec![20.0], 0);
            // segments 0 and 1 are lost, and lost again twice; everything else arrives
            for seq in 2..200 {
                if seq >= bench.sender.high {
                    break;
                }
                bench.now += 40 * MS;
                let sent = bench.ack(0, seq, 0);
                if ssthreshs.last() != Some(&bench.sender.window.ssthresh) {
                    ssthreshs.push(bench.sender.window.ssthresh);
                    // the first reduction is for what was sent first
                    assert!(
                        ssthreshs.len() - 2 <= resent,
                        "{ssthreshs:?}, sent again {resent} times"
                    );
                }
                resent += sent.iter().filter(|&&segment| segment == 0).count();
                if ssthreshs.ends_with(&[2.5]) {
                    break;
                }
            }
            assert!(resent > 1, "{resent}");
            assert_eq!(ssthreshs, expected, "{reduction:?}, RACK {rack}");
        }
    }
}

/// RFC 6582, section 3.2, step 2: three duplicates of the ACK of all that was sent before a
/// recovery or a timeout start no fast retransmit in NewReno; of one segment more they do. Reno
/// and Tahoe (RFC 5681) know nothing of it.
#[test]
fn duplicates_of_the_last_acknowledgement_start_no_recovery() {
    for recovery in [Recovery::NewReno, Recovery::Reno, Recovery::Tahoe] {
        for timeout in [false, true] {
            for more in [0, 1] {
                let mut bench = ten_out(recovery);
                if timeout {
                    bench.now = bench.sender.timers.rto();
                    bench.sender.on_timeout(bench.now, &bench.config);
                    bench.sent();
                } else {
                    for _ in 0..3 {
                        bench.ack(0, NONE, 0);
                    }
                }
                let (before, recover) = (
                    bench.sender.counters.fast_recoveries,
                    bench.sender.recovery.recover,
                );
                bench.ack(recover, NONE, 0);
                bench.sender.window.cwnd = 10.0;
                bench.sent();
                if more > 0 {
                    bench.ack(recover + more, NONE, 0);
                }
                assert_eq!(bench.sender.state, State::Open);
                for _ in 0..3 {
                    bench.ack(recover + more, NONE, 0);
                }
                let starts = bench.sender.counters.fast_recoveries > before;
                let expected = more > 0 || recovery != Recovery::NewReno;
                assert_eq!(starts, expected, "{recovery:?}, {timeout}, {more}");
            }
        }
    }
}

/// RFC 6675, section 4, NextSeg: new data where nothing that is lost waits (rule 2), then a hole
/// that is not lost yet (rule 3), then the highest hole once (rule 4), then nothing (rule 5).
#[test]
fn the_next_segment_by_rule() {
    let mut bench = ten_out(Recovery::Sack);
    bench.sender.written = 13;
    bench.sender.window.cwnd = 30.0;
    // 0, 5 and 9 are missing; 5 has two segments above it acknowledged, 9 none
    for sack in [1, 2, 3, 4] {
        bench.ack(0, sack, 0);
    }
    assert_eq!(bench.sender.state, State::Recovery);
    assert_eq!(bench.sender.high, 13, "rule 2 sent all that is new");
    bench.sender.window.cwnd = 30.0;
    let sent = bench.ack(0, 7, 0);
    assert_eq!(sent.first(), Some(&-5), "rule 3: {sent:?}");
    assert_eq!(sent[1], -6, "rule 3: {sent:?}");
    assert_eq!(sent[2..], [-12], "rule 4, then rule 5: {sent:?}");
    // a rescue a recovery; it has not moved the edge of retransmissions
    assert_eq!(bench.sender.recovery.high_resent, 7);
    assert!(bench.ack(0, 6, 0).is_empty());
    // what is above RecoveryPoint stays known as the recovery ends
    let recover = bench.sender.recovery.recover;
    bench.sender.written = 40;
    bench.sent();
    bench.ack(0, recover + 1, 0);
    bench.ack(recover, NONE, 0);
    assert_eq!(bench.sender.state, State::Open);
    assert_eq!(bench.sender.dup_acks, 0);
    assert!(bench.sender.scoreboard.is_sacked(recover, recover + 1));
}

/// A paced sender takes up the first segment of a recovery when the pacer lets it; by then it may be
/// acknowledged, as after reordering.
#[test]
fn what_is_acknowledged_before_its_turn_is_not_sent_again() {
    let mut bench = ten_out(Recovery::Sack);
    bench.sender.recovery.retransmit_next = 3;
    let sent = bench.ack(5, NONE, 0);
    assert!(sent.iter().all(|&seq| seq > 0), "{sent:?}");
    assert_eq!(bench.sender.recovery.retransmit_next, NONE);
}

/// RFC 5681, section 4.1: after an idle time longer than the timeout the window is the initial one.
#[test]
fn an_idle_sender_begins_again() {
    for (idle, cwnd) in [(1, 60.0), (400, 10.0)] {
        let mut bench = ten_out(Recovery::Sack);
        bench.sender.written = 10;
        bench.ack(10, NONE, 0);
        bench.sender.window.cwnd = 60.0;
        bench
            .sender
            .restart_if_idle(bench.now + idle * MS, &bench.config);
        assert_eq!(bench.sender.window.cwnd, cwnd, "{idle} ms");
    }
}

/// RFC 5681, section 3.1: the handshake does not open the window. RFC 6298, rule 5.7: a SYN that
/// was sent twice makes the first timeout 3 s.
#[test]
fn the_handshake_leaves_the_window_as_it_is() {
    for (retries, timeout) in [(0, 1000), (1, 3000)] {
        let config = Config::new(&options(Recovery::Sack, 10.0));
        let reno = CongestionSpec::from_values("reno", &[]).expect("reno is registered");
        let mut sender = Sender::new(reno.build(0), &config, f64::INFINITY);
        let handshake = Handshake {
            retries,
            ..Handshake::default()
        };
        sender.open(1000 * MS, handshake, &config);
        assert_eq!(sender.window.cwnd, 10.0);
        assert_eq!(sender.timeout(&config), timeout * MS);
    }
}

/// RFC 5681, section 3.1: one segment after a SYN or its answer was lost; in style "linux" only
/// where two were (RFC 6928, section 2). A timer that was early loses nothing.
#[test]
fn a_lost_syn_leaves_one_segment() {
    for (retries, lost, rfc, linux) in [
        (0, false, 10.0, 10.0),
        (1, false, 10.0, 10.0),
        (1, true, 1.0, 10.0),
        (2, true, 1.0, 1.0),
    ] {
        for (style, expected) in [(Style::Rfc, rfc), (Style::Linux, linux)] {
            let tcp = Tcp {
                style,
                ..options(Recovery::Sack, 10.0)
            };
            let config = Config::new(&tcp);
            let reno = CongestionSpec::from_values("reno", &[]).expect("reno is registered");
            let mut sender = Sender::new(reno.build(0), &config, f64::INFINITY);
            let handshake = Handshake {
                rtt: 0,
                retries,
                lost,
            };
            sender.open(1000 * MS, handshake, &config);
            assert_eq!(sender.window.cwnd, expected, "{style:?}, {handshake:?}");
        }
    }
}

/// RFC 9406, section 4.3: an ACK counts for eight segments at most where nothing is paced, growth
/// is divided by four in conservative slow start, and a later slow start is the plain one.
#[test]
fn hystart_limits_an_ack_and_divides_growth() {
    let hystart_of = |pacing: &str| {
        let mut tcp = options(Recovery::Sack, 40.0);
        tcp.hystart = true;
        if pacing == "window" {
            tcp.pacing = ackclock_scenario::Pacing::Window;
        }
        let config = Config::new(&tcp);
        let reno = CongestionSpec::from_values("reno", &[]).expect("reno is registered");
        let mut sender = Sender::new(reno.build(0), &config, f64::INFINITY);
        sender.open(1000 * MS, first_syn(0), &config);
        sender.written = u64::MAX;
        Bench {
            sender,
            config,
            random: Stream::new(1, Owner::Flow, 0),
            now: 1000 * MS,
        }
    };
    for (pacing, grown) in [("auto", hystart::MAX_SEGMENTS_PER_ACK), ("window", 20)] {
        let mut bench = hystart_of(pacing);
        for _ in 0..40 {
            // however paced, all of the window is out
            bench.now = bench.now.max(bench.sender.pacer.next());
            bench.sender.next_segment(bench.now, &bench.config);
        }
        bench.ack(20, NONE, 0);
        assert_eq!(
            bench.sender.window.cwnd,
            40.0 + f64::from(grown),
            "{pacing}"
        );
    }
    // a round trip that grows: conservative from the eighth sample of the second round on
    let mut bench = hystart_of("auto");
    bench.sent();
    let mut growth = Vec::new();
    for cum in 1..=60 {
        let before = bench.sender.window.cwnd;
        bench.now += if cum > 40 { 3 * MS } else { 0 };
        let rtt = if cum > 40 { 130 * MS } else { 100 * MS };
        bench.hear(cum, NONE, Flags(0), rtt);
        bench.sent();
        growth.push(bench.sender.window.cwnd - before);
    }
    assert_eq!(growth[10], 1.0);
    assert_eq!(growth[59], 0.25);
    // after a loss slow start is over for HyStart++
    bench.sender.window.ssthresh = 1e6;
    let before = bench.sender.window.cwnd;
    bench.ack(61, NONE, 0);
    assert_eq!(bench.sender.window.cwnd - before, 1.0);
    assert!(bench.sender.slow_start.is_none());
}

/// RFC 5681, section 3.2, step 1: with SACK a duplicate ACK that tells of no further segment lets
/// nothing out.
#[test]
fn a_duplicate_without_news_sends_nothing() {
    let mut bench = ten_out(Recovery::Sack);
    assert!(bench.ack(0, NONE, 0).is_empty());
    assert_eq!(bench.ack(0, 1, 0), [10]);
    assert!(bench.ack(0, 1, 0).is_empty());
    assert!(bench.ack(0, NONE, 0).is_empty());
    assert_eq!(bench.sender.state, State::Open);
}

/// RFC 9768, section 3.1.5, RFC 8311, RFC 9331: ECT(0) with ECN, ECT(1) where a scalable congestion
/// control reacts to it, none without; CWR is no answer where marks are counted.
#[test]
fn ecn_fields_by_what_is_agreed() {
    use ackclock_scenario::{EcnFeedback, PeerEcn};
    let segment = Segment {
        seq: 1,
        retransmission: false,
        cwr: true,
    };
    let flags = |tcp: &Tcp| segment.ecn_flags(&Config::new(tcp)).0;
    let classic = options(Recovery::Sack, 10.0);
    assert_eq!(flags(&classic), Flags::ECT | Flags::CWR);
    let counted = Tcp {
        ecn_feedback: EcnFeedback::AccEcn,
        ..classic.clone()
    };
    assert_eq!(flags(&counted), Flags::ECT);
    let refused = Tcp {
        peer_ecn: PeerEcn::None,
        ..counted.clone()
    };
    assert_eq!(flags(&refused) & (Flags::ECT | Flags::ECT1), 0);
    let scalable = Tcp {
        accurate_ecn: true,
        ..counted
    };
    assert_eq!(flags(&scalable), Flags::ECT | Flags::ECT1);
}
