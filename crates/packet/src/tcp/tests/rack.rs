//! RACK and tail loss probes (RFC 8985).

use super::*;

/// A bench with RACK; round trips of 100 ms have been seen, `cum` segments are acknowledged and ten
/// more are out, sent a millisecond apart.
fn rack_bench() -> (Bench, u64) {
    let mut bench = Bench::new(Recovery::Sack, 10.0);
    bench.config.loss.rack = true;
    let reno = CongestionSpec::from_values("reno", &[]).expect("reno is registered");
    bench.sender = Sender::new(reno.build(0), &bench.config, f64::INFINITY);
    bench.sender.open(1000 * MS, first_syn(0), &bench.config);
    bench.sender.written = u64::MAX;
    bench.now = 1000 * MS;
    bench.sent();
    bench.sender.window.ssthresh = 10.0;
    bench.now += 100 * MS;
    for cum in 1..=10 {
        bench.now += MS;
        rack_ack(&mut bench, cum, NONE);
    }
    let next = bench.sender.next;
    assert_eq!(bench.sender.una, 10);
    (bench, next)
}

fn rack_ack(bench: &mut Bench, cum: u64, sack: u64) -> Vec<i64> {
    bench.hear(cum, sack, Flags(0), 100 * MS);
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
    assert_eq!(bench.sender.timers.next(), 1226 * MS);
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

/// Segments that one ACK reports, the newest block first, have not overtaken each other (section
/// 6.2, step 3: in the order in which they were sent).
#[test]
fn one_ack_tells_of_no_reordering() {
    for blocks in [
        &[(11, 14)][..],
        &[(13, 14), (11, 12)],
        &[(13, 14), (12, 13), (11, 12)],
    ] {
        let (mut bench, _) = rack_bench();
        bench.now = 1204 * MS;
        let ack = Ack {
            at: bench.now,
            cum: 10,
            echo: bench.now - 100 * MS,
            sack: 13,
            blocks: 1,
            ..Ack::default()
        };
        let (config, random) = (&bench.config, &mut bench.random);
        bench.sender.on_ack(bench.now, &ack, blocks, config, random);
        bench.now += MS;
        let mut sent = bench.sent();
        sent.extend(rack_ack(&mut bench, 10, 15));
        assert!(sent.contains(&-10), "{blocks:?}: {sent:?}");
    }
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
        assert_eq!(bench.sender.timers.next(), bench.now + 2 * srtt);
        bench.now = bench.sender.timers.next();
        bench.sender.on_timer(bench.now, &bench.config);
        let last = next as i64 - 1;
        assert_eq!(bench.sent(), [if new { last + 1 } else { -last }]);
        assert_eq!(bench.sender.counters.timeouts, 0);
        // one probe only; then the retransmission timer
        assert_eq!(bench.sender.timers.next(), bench.sender.timers.rto());
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
