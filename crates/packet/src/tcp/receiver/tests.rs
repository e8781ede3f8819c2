//! Tests of the receiver.

use super::*;

const AT_ONCE: Config = Config {
    delayed: false,
    timeout: 0,
    policy: AckPolicy::Rfc5681,
    dsack: false,
    echo: Echo::UntilCwr,
    ecn_quick: false,
    buffer: None,
};
const DELAYED: Config = Config {
    delayed: true,
    timeout: 40,
    policy: AckPolicy::Rfc5681,
    dsack: false,
    echo: Echo::UntilCwr,
    ecn_quick: false,
    buffer: None,
};

fn data(receiver: &mut Receiver, now: u64, seq: u64, config: &Config) -> Option<Reply> {
    receiver.on_data(now, seq, now, Flags::default(), config)
}

#[test]
fn every_second_segment_is_acknowledged() {
    let mut receiver = Receiver::default();
    assert_eq!(data(&mut receiver, 1, 0, &DELAYED), None);
    assert_eq!(receiver.due, 41);
    let reply = data(&mut receiver, 2, 1, &DELAYED).unwrap();
    // the time stamp of the first segment that was held back (RFC 7323, section 4.3)
    assert_eq!((reply.cum, reply.echo, receiver.due), (2, 1, 0));
    data(&mut receiver, 3, 2, &DELAYED);
    assert_eq!(receiver.on_due().cum, 3);
}

#[test]
fn a_gap_is_reported_at_once_and_when_filled() {
    let mut receiver = Receiver::default();
    data(&mut receiver, 1, 0, &DELAYED);
    let reply = data(&mut receiver, 2, 2, &DELAYED).unwrap();
    assert_eq!((reply.cum, reply.sack, reply.echo), (1, 2, 1));
    let reply = data(&mut receiver, 3, 4, &DELAYED).unwrap();
    assert_eq!((reply.cum, reply.sack), (1, 4));
    assert_eq!(receiver.blocks(4), [(4, 5)]);
    let reply = data(&mut receiver, 4, 1, &DELAYED).unwrap();
    assert_eq!((reply.cum, reply.sack, reply.echo), (3, NONE, 4));
    assert_eq!(receiver.blocks(NONE), [(4, 5)]);
    let reply = data(&mut receiver, 5, 3, &DELAYED).unwrap();
    assert_eq!(reply.cum, 5);
    assert!(receiver.blocks(NONE).is_empty());
}

#[test]
fn blocks_are_the_newest_three() {
    let mut receiver = Receiver::default();
    for seq in [2, 4, 6, 8] {
        data(&mut receiver, seq, seq, &AT_ONCE);
        receiver.blocks(seq);
    }
    data(&mut receiver, 9, 5, &AT_ONCE);
    assert_eq!(receiver.blocks(5), [(4, 7), (8, 9)]);
    data(&mut receiver, 10, 3, &AT_ONCE);
    assert_eq!(receiver.blocks(3), [(2, 7), (8, 9)]);
}

/// Two bytes and eight a block (RFC 2018), and two that align them.
#[test]
fn blocks_have_a_size() {
    assert_eq!([0, 1, 2, 3, 4].map(sack_option), [0, 12, 20, 28, 28]);
}

/// Linux sends three duplicate ACKs at once; further ones wait for a millisecond and go as one,
/// earlier where a third block would have to tell of a segment.
#[test]
fn linux_merges_duplicates() {
    let mut receiver = linux_receiver();
    let at = |us: u64| 2000 * MS + us * (MS / 1000);
    for seq in 18..21 {
        assert!(data(&mut receiver, at(seq), seq, &LINUX).is_some());
    }
    assert!(data(&mut receiver, at(21), 21, &LINUX).is_none());
    let due = receiver.due;
    for seq in [22, 23, 25] {
        assert!(data(&mut receiver, at(seq), seq, &LINUX).is_none());
        assert_eq!(receiver.due, due);
    }
    assert!(due > at(21) && due <= at(21) + 11 * MS / 10);
    // two blocks tell of 18 to 25 but 24
    let reply = data(&mut receiver, at(27), 27, &LINUX).unwrap();
    assert_eq!((reply.cum, reply.sack), (17, 25));
    assert!(receiver.take_unreported());
    assert_eq!(receiver.blocks(25), [(25, 26), (18, 24)]);
    // the one that was not merged waits alone
    assert_eq!(receiver.due, at(27) + (due - at(21)));
    let reply = receiver.on_due();
    assert_eq!((reply.cum, reply.sack), (17, 27));
    assert!(!receiver.take_unreported());
    // no more than 44 wait
    for seq in 28..72 {
        assert!(data(&mut receiver, at(100), seq, &LINUX).is_none(), "{seq}");
    }
    assert!(data(&mut receiver, at(100), 72, &LINUX).is_some());
    assert!(receiver.take_unreported());
    assert_eq!(receiver.blocks(72), [(27, 73), (25, 26), (18, 24)]);
}

/// Linux reports a segment that arrives twice (RFC 2883); it is no SACK block.
#[test]
fn linux_reports_duplicates() {
    let mut receiver = linux_receiver();
    let reply = data(&mut receiver, 1010 * MS, 3, &LINUX).unwrap();
    assert_eq!((reply.cum, reply.sack), (17, 3));
    assert!(reply.flags & Flags::SENT_TWICE != 0);
    assert!(receiver.blocks(reply.sack).is_empty());
    // above what is acknowledged, too; the block that holds it follows
    for (seq, twice) in [(19, false), (20, false), (19, true)] {
        let reply = data(&mut receiver, 1011 * MS, seq, &LINUX).unwrap();
        assert_eq!((reply.cum, reply.sack), (17, seq));
        assert_eq!(reply.flags & Flags::SENT_TWICE != 0, twice, "{seq}");
        assert_eq!(
            receiver.blocks(reply.sack),
            [(19, if twice || seq == 20 { 21 } else { 20 })]
        );
    }
}

#[test]
fn a_duplicate_is_acknowledged() {
    let mut receiver = Receiver::default();
    data(&mut receiver, 1, 0, &AT_ONCE);
    let reply = data(&mut receiver, 2, 0, &AT_ONCE).unwrap();
    assert_eq!((reply.cum, reply.sack), (1, NONE));
}

/// RFC 2883, section 4: also one above what is acknowledged, whose block holds it.
#[test]
fn a_duplicate_is_reported() {
    let config = Config {
        dsack: true,
        ..AT_ONCE
    };
    let mut receiver = Receiver::default();
    for (seq, sack, twice) in [
        (0, NONE, false),
        (0, 0, true),
        (2, 2, false),
        (2, 2, true),
        (1, NONE, false),
        (2, 2, true),
    ] {
        let reply = data(&mut receiver, 1, seq, &config).unwrap();
        assert_eq!(
            (reply.sack, reply.flags & Flags::SENT_TWICE != 0),
            (sack, twice)
        );
    }
    assert_eq!(receiver.next, 3);
}

const MS: u64 = crate::tcp::linux_timer_wheel::TICK_PS;
const LINUX: Config = Config {
    delayed: true,
    timeout: 40 * MS,
    policy: AckPolicy::LinuxQuickAck {
        min_rto: 200 * MS,
        opening: 0,
    },
    dsack: true,
    echo: Echo::UntilCwr,
    ecn_quick: true,
    buffer: None,
};

/// A receiver in Linux whose handshake took 100 ms, and which no longer acknowledges all at
/// once; the next segment is 16, the time 1 s.
fn linux_receiver() -> Receiver {
    let mut receiver = Receiver::default();
    receiver.on_syn(900 * MS);
    for seq in 0..16 {
        assert!(data(&mut receiver, 1000 * MS, seq, &LINUX).is_some());
    }
    assert!(data(&mut receiver, 1000 * MS, 16, &LINUX).is_none());
    receiver.flush();
    receiver
}

/// An ACK that has waited for 40 ms waits twice as long the next time, a round trip at most, in
/// ticks; quick segments bring that down.
#[test]
fn linux_delays_by_the_gaps() {
    let mut receiver = linux_receiver();
    let waits = |receiver: &mut Receiver, now: u64| {
        let seq = receiver.next;
        assert!(data(receiver, now, seq, &LINUX).is_none());
        receiver.due - now
    };
    assert_eq!(waits(&mut receiver, 1100 * MS), 41 * MS);
    receiver.on_due();
    // 80 ms, up to a bucket of 8 ms
    assert_eq!(waits(&mut receiver, 1200 * MS), 88 * MS);
    receiver.on_due();
    // 160 ms, but the round trip takes 100
    assert_eq!(waits(&mut receiver, 1300 * MS), 108 * MS);
    for _ in 0..5 {
        let seq = receiver.next;
        data(&mut receiver, 1310 * MS, seq, &LINUX);
    }
    assert_eq!(waits(&mut receiver, 1311 * MS), 43 * MS);
    // a pause of a timeout, 300 ms: at once
    receiver.flush();
    let seq = receiver.next;
    assert!(data(&mut receiver, 1700 * MS, seq, &LINUX).is_some());
}

/// While the offered window opens ACKs are not delayed, and the count of those that are quick
/// does not end.
#[test]
fn linux_is_quick_while_the_window_opens() {
    let config = Config {
        policy: AckPolicy::LinuxQuickAck {
            min_rto: 200 * MS,
            opening: 50,
        },
        ..LINUX
    };
    let mut receiver = Receiver::default();
    let quick = (0..200)
        .filter(|&seq| data(&mut receiver, 1000 * MS, seq, &config).is_some())
        .count();
    // the 16 follow; then every second
    assert_eq!(quick, 50 + 16 + (200 - 66) / 2);
}

/// Three duplicate ACKs go at once, the next waits for a millisecond and the slack; so again
/// after the cumulative ACK has moved.
#[test]
fn linux_lets_duplicates_wait() {
    let mut receiver = linux_receiver();
    let base = receiver.next;
    for seq in 1..4 {
        let reply = data(&mut receiver, 1100 * MS, base + seq, &LINUX).unwrap();
        assert_eq!(reply.sack, base + seq);
    }
    assert_eq!(data(&mut receiver, 1101 * MS, base + 4, &LINUX), None);
    assert_eq!(receiver.due, 1101 * MS + MS + MS / 10);
    // the next before that joins it
    assert_eq!(data(&mut receiver, 1101 * MS + 1, base + 5, &LINUX), None);
    let reply = receiver.on_due();
    assert_eq!((reply.cum, reply.sack), (base, base + 5));
    assert!(receiver.take_unreported());
    assert_eq!(receiver.blocks(reply.sack), [(base + 1, base + 6)]);
    assert_eq!(data(&mut receiver, 1103 * MS, base + 7, &LINUX), None);
    // what fills the gap goes at once and speaks for it too
    let reply = data(&mut receiver, 1103 * MS + 1, base, &LINUX).unwrap();
    assert_eq!((reply.cum, reply.sack), (base + 6, base + 7));
    assert_eq!((reply.echo, receiver.due), (1103 * MS + 1, 0));
    // if it acknowledges that, it does not report it as one that has arrived twice
    for seq in [base + 8, base + 9, base + 10] {
        assert!(data(&mut receiver, 1104 * MS, seq, &LINUX).is_some());
    }
    for seq in [base + 11, base + 12] {
        assert_eq!(data(&mut receiver, 1104 * MS, seq, &LINUX), None);
    }
    let reply = data(&mut receiver, 1104 * MS + 1, base + 6, &LINUX).unwrap();
    assert_eq!((reply.cum, reply.sack), (base + 13, NONE));
    // one segment alone that fills a gap counts among the three, several do not
    let mut at_once = |seq| data(&mut receiver, 1105 * MS, base + seq, &LINUX).is_some();
    assert_eq!(
        [15, 16, 17, 18].map(&mut at_once),
        [true, true, true, false]
    );
    assert_eq!(
        [13, 19, 20, 21].map(&mut at_once),
        [true, true, true, false]
    );
}

/// The timer of an ACK that has gone earlier still runs, and lets go what waits for others.
#[test]
fn a_timer_that_still_runs_ends_the_wait() {
    let mut receiver = linux_receiver();
    let base = receiver.next;
    assert_eq!(data(&mut receiver, 1100 * MS, base, &LINUX), None);
    let runs = receiver.due;
    for seq in 2..5 {
        assert!(data(&mut receiver, 1101 * MS, base + seq, &LINUX).is_some());
    }
    assert_eq!(data(&mut receiver, runs - MS / 2, base + 5, &LINUX), None);
    assert_eq!(receiver.due, runs);
    receiver.on_due();
    assert_eq!(data(&mut receiver, runs + MS, base + 6, &LINUX), None);
    assert_eq!(receiver.due, runs + 2 * MS + MS / 10);
}

/// RFC 8257, section 3.2: with delayed ACKs the number of marked segments arrives exactly.
#[test]
fn marks_are_echoed_as_they_come() {
    let config = Config {
        echo: Echo::EachMark,
        ..DELAYED
    };
    let mut receiver = Receiver::default();
    let (mut echoed, mut acknowledged, mut replies) = (0, 0, 0);
    let mut count = |reply: Reply| {
        echoed += if reply.flags & Flags::ECE != 0 {
            reply.cum - acknowledged
        } else {
            0
        };
        acknowledged = reply.cum;
        replies += 1;
    };
    let marks = [0, 0, 0, 1, 1, 1, 0, 1, 0, 0, 0, 0, 1, 1, 1, 1];
    for (seq, &mark) in marks.iter().enumerate() {
        let flags = Flags(if mark == 1 {
            Flags::ECT | Flags::CE
        } else {
            Flags::ECT
        });
        if receiver.must_flush(flags, &config) {
            count(receiver.on_due());
        }
        if let Some(reply) = receiver.on_data(1, seq as u64, 1, flags, &config) {
            count(reply);
        }
    }
    if receiver.due != 0 {
        count(receiver.on_due());
    }
    assert_eq!((echoed, acknowledged), (8, 16));
    assert_eq!(replies, 10); // groups of 3, 3, 1, 1, 4, 4: 2 + 2 + 1 + 1 + 2 + 2
}

/// Linux: a segment whose mark differs from the one before it, and one that says that the
/// window was reduced, is acknowledged at once.
#[test]
fn linux_does_not_delay_what_tells_of_marks() {
    let config = Config {
        echo: Echo::EachMark,
        ecn_quick: true,
        ..DELAYED
    };
    let mut receiver = Receiver::default();
    let marked = Flags::ECT | Flags::CE;
    for (seq, (flags, replies)) in [
        (Flags::ECT, false),
        (Flags::ECT, true),
        (marked, true),
        (marked, false),
        (marked, true),
        (Flags::ECT, true),
        (Flags::ECT | Flags::CWR, true),
    ]
    .into_iter()
    .enumerate()
    {
        let reply = receiver.on_data(1, seq as u64, 1, Flags(flags), &config);
        assert_eq!(reply.is_some(), replies, "{seq}");
    }
}

#[test]
fn congestion_is_echoed_until_the_window_is_reduced() {
    let mut receiver = Receiver::default();
    let mut send = |seq, flags| {
        let reply = receiver.on_data(1, seq, 1, Flags(flags), &AT_ONCE);
        reply.unwrap().flags & Flags::ECE != 0
    };
    assert!(!send(0, Flags::ECT));
    assert!(send(1, Flags::ECT | Flags::CE));
    assert!(send(2, Flags::ECT));
    assert!(!send(3, Flags::ECT | Flags::CWR));
    assert!(send(4, Flags::ECT | Flags::CWR | Flags::CE));
}
