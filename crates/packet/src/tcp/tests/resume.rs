//! Careful Resume (RFC 9959).

use super::*;

/// An initial window of ten segments is out at 1 s, after a handshake of 100 ms; a connection
/// before had 100 segments and `rtt` ms.
fn resuming(rtt: u64) -> Bench {
    let mut bench = Bench::new(Recovery::Sack, 10.0);
    bench.config = Config::new(&Tcp {
        saved_window: Some(100.0),
        saved_rtt: Some(Time(rtt * MS)),
        ..options(Recovery::Sack, 10.0)
    });
    let reno = CongestionSpec::from_values("reno", &[]).expect("reno is registered");
    bench.sender = Sender::new(reno.build(0), &bench.config, f64::INFINITY);
    bench
        .sender
        .open(1000 * MS, first_syn(100 * MS), &bench.config);
    bench.sender.written = u64::MAX;
    bench.now = 1000 * MS;
    assert_eq!(bench.sent().len(), 10);
    bench.now += 90 * MS;
    bench
}

/// Half of the saved window is taken on with the ACK of the initial one, and paced over a round
/// trip; once it is all on its way it is the window, and slow start goes on.
#[test]
fn half_of_the_saved_window_is_taken_on() {
    let mut bench = resuming(100);
    bench.ack(9, NONE, 0);
    assert_eq!(bench.sender.window.cwnd, 19.0);
    let sent = bench.ack(10, NONE, 0);
    assert_eq!(bench.sender.window.cwnd, 50.0);
    assert_eq!(bench.sender.outstanding(), 50);
    assert_eq!(sent.len(), 32);
    let gap = bench.sender.pacer.next() - bench.now;
    let expected = bench.sender.rtt.srtt / 50;
    assert!(gap.abs_diff(expected) < 2, "{gap} and {expected}");
    bench.ack(12, NONE, 0);
    assert_eq!(bench.sender.window.cwnd, 50.0, "what was on its way");
    bench.ack(14, NONE, 0);
    assert_eq!(bench.sender.window.cwnd, 52.0, "slow start");
    // the last of it comes through
    bench.ack(bench.sender.next, NONE, 0);
    assert!(bench.sender.resume.is_none());
}

#[test]
fn another_path_is_not_resumed() {
    for (rtt, resumes) in [(9, false), (11, true), (199, true), (300, false)] {
        let mut bench = resuming(rtt);
        bench.ack(10, NONE, 0);
        assert_eq!(bench.sender.window.cwnd == 50.0, resumes, "{rtt}");
        assert_eq!(bench.sender.resume.is_some(), resumes, "{rtt}");
    }
    // nor one that loses of the initial window
    let mut bench = resuming(100);
    for seq in 1..4 {
        bench.ack(0, seq, 0);
    }
    bench.ack(10, NONE, 0);
    assert!(bench.sender.resume.is_none());
    assert!(bench.sender.window.cwnd < 10.0);
}

/// A loss of what is not validated leaves half of what has come through, and that half of all that
/// did is ssthresh at the end.
#[test]
fn a_loss_is_retreated_from() {
    let mut bench = resuming(100);
    bench.ack(10, NONE, 0);
    bench.ack(30, NONE, 0);
    for seq in 32..35 {
        bench.ack(30, seq, 0);
    }
    assert_eq!(bench.sender.state, State::Recovery);
    // 20 acknowledged and two selectively, as the third tells
    assert_eq!(bench.sender.window.cwnd, 11.0);
    bench.ack(bench.sender.recovery.recover, NONE, 0);
    assert_eq!(bench.sender.state, State::Open);
    assert!(bench.sender.resume.is_none());
    assert_eq!(
        bench.sender.window.ssthresh,
        0.5 * (bench.sender.una - 10) as f64
    );
}
