//! Needless reductions are undone (RFC 3522, 3708, 4015, 5682).

use super::*;

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
        sender.open(1000 * MS, first_syn(100 * MS), &config);
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
    pub(super) fn ack_of(&mut self, cum: u64, sack: u64, echo: u64, flags: u8) -> Vec<i64> {
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
        self.now = self.sender.timers.rto();
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

/// Two segments count as lost, one comes late and the other is lost: the reduction stands.
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
        let twice = Flags::SENT_TWICE;
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
        assert_eq!(bench.sender.timers.rto(), bench.now + 3 * rtt);
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
