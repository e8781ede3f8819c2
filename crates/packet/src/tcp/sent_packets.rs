//! Memory of a sender for each segment in the network, for congestion controls that ask for it:
//! when it was sent, and what had been delivered and lost by then. Delivery-rate samples follow
//! from it (draft-ietf-ccwg-bbr, section 4.1; draft-cheng-iccrg-delivery-rate-estimation).

use std::collections::VecDeque;

use ackclock_algorithms::Time;
use ackclock_algorithms::congestion::Lost;

use super::loss::rack::Rack;
use super::undo::Undo;
use crate::packet::NONE;

/// The connection as a segment was sent.
#[derive(Clone, Copy, Debug, Default)]
struct Record {
    sent: u64,
    /// When the first segment of the flight it belongs to was sent.
    first_sent: u64,
    /// Segments delivered, and when the last of them was.
    delivered: u64,
    delivered_at: u64,
    /// Segments found lost.
    lost: u64,
    in_flight: u32,
    app_limited: bool,
    /// It was sent more than once.
    again: bool,
}

/// The first and the last of times of which `sent` is the next; 0: none yet.
fn span((first, _): (u64, u64), sent: u64) -> (u64, u64) {
    (if first == 0 { sent } else { first }, sent)
}

/// Bytes that a sender remembers of a segment.
pub(crate) const SEGMENT_BYTES: u64 = size_of::<Record>() as u64;

/// A delivery-rate sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sample {
    /// Segments/s; NaN when it says nothing.
    pub(crate) rate: f64,
    /// Round trip of the newest segment delivered, ps; 0: unknown.
    pub(crate) rtt: u64,
    pub(crate) prior_delivered: u64,
    pub(crate) app_limited: bool,
    pub(crate) sent_in_flight: u32,
    pub(crate) lost_since_sent: u32,
    /// The window was full at some time since the newest segment delivered was sent.
    pub(crate) cwnd_limited: bool,
}

/// Records of the segments from the first unacknowledged one to the next new one, and the
/// connection's totals.
#[derive(Debug, Default)]
pub(crate) struct SentPackets {
    records: VecDeque<Record>,
    /// Segment of the first record.
    base: u64,
    pub(crate) delivered: u64,
    delivered_at: u64,
    first_sent: u64,
    pub(crate) lost: u64,
    /// One more than what had been delivered when the window was full last; 0: it never was.
    full_until: u64,
    /// The application left the window unused until so many segments are delivered; 0: it does not.
    app_limited: u64,
    /// Segments that the ACK in hand delivers and loses, and the newest segment that it delivers.
    pub(crate) newly_delivered: u32,
    pub(crate) newly_lost: u32,
    newest: Option<Record>,
    pub(crate) in_flight_before: u32,
    /// The lowest segment that the ACK in hand delivers and that was sent only once; [`NONE`]
    /// without one.
    pub(crate) lowest_original: u64,
    /// It delivers one that was sent more than once.
    pub(crate) delivers_resent: bool,
    /// When the first and the last segment were sent, of those sent once, that it acknowledges
    /// cumulatively and selectively; 0 without one. And whether it covers one that was sent again.
    acked_sent: (u64, u64),
    sacked_sent: (u64, u64),
    covers_resent: bool,
    /// Round trip of the last segment that it covers and that RACK has heard of; 0 without one.
    covered_rtt: u64,
    /// The segment that the retransmission timer expired for last, whether F-RTO is being made (RFC
    /// 5682), and new data goes first.
    pub(crate) timed_out: u64,
    pub(crate) frto: bool,
    pub(crate) new_first: bool,
    /// State that the last reduction can be taken back to.
    pub(super) undo: Undo,
    /// Loss detection by time; and for it the transmissions in order, each with its segment. One
    /// that counts no more may still be there.
    pub(crate) rack: Option<Rack>,
    transmissions: VecDeque<(u64, u64)>,
    min_rtt: u64,
}

impl SentPackets {
    /// An empty one, for loss detection by time if `rack`; time stamps count ticks of `tick` ps.
    pub(crate) fn new(rack: bool, tick: u64) -> Self {
        Self {
            rack: rack.then(Rack::default),
            timed_out: NONE,
            undo: Undo::new(tick),
            ..Self::default()
        }
    }

    /// Segment `seq` is sent; with it `in_flight` segments are in the network. True if it ends a
    /// time in which the application left the network empty.
    ///
    /// `empty`: no segment was in the network before it that could still be delivered, so that
    /// delivery-rate samples begin anew.
    //= RFC 8985 4/1..2: done, test rack_waits_for_the_reordering_window; with loss detection "rack"
    //=   only where recovery is "sack"
    //= RFC 8985 7.3/6: done, test tail_loss_probes
    pub(crate) fn send(&mut self, now: u64, seq: u64, in_flight: u64, empty: bool) -> bool {
        let restart = in_flight <= 1;
        if empty {
            (self.first_sent, self.delivered_at) = (now, now);
        }
        let record = Record {
            sent: now,
            first_sent: self.first_sent,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            lost: self.lost,
            in_flight: in_flight as u32,
            app_limited: self.app_limited > 0,
            again: false,
        };
        if self.rack.is_some() {
            self.transmissions.push_back((now, seq));
        }
        let place = (seq - self.base) as usize;
        if let Some(old) = self.records.get_mut(place) {
            *old = Record {
                again: true,
                ..record
            };
        } else {
            debug_assert_eq!(place, self.records.len());
            self.records.push_back(record);
        }
        restart && record.app_limited
    }

    /// An ACK arrives that finds `in_flight` segments in the network; `min_rtt` is the smallest
    /// round trip so far, ps.
    pub(crate) fn begin(&mut self, in_flight: u64, min_rtt: u64) {
        self.min_rtt = min_rtt;
        (self.newly_delivered, self.newly_lost, self.newest) = (0, 0, None);
        (self.lowest_original, self.delivers_resent) = (NONE, false);
        (self.acked_sent, self.sacked_sent, self.covers_resent) = ((0, 0), (0, 0), false);
        self.covered_rtt = 0;
        self.in_flight_before = in_flight as u32;
    }

    /// The ACK says that segment `seq` is delivered, for the first time.
    pub(crate) fn deliver(&mut self, now: u64, seq: u64) {
        if let Some(&record) = self.records.get((seq - self.base) as usize) {
            self.tell_rack(now, seq, &record);
            self.count_delivered(now, seq, &record);
        }
    }

    fn tell_rack(&mut self, now: u64, seq: u64, record: &Record) {
        if let Some(rack) = &mut self.rack {
            rack.deliver(now, seq, record.sent, record.again, self.min_rtt);
        }
    }

    fn count_delivered(&mut self, now: u64, seq: u64, record: &Record) {
        self.delivered += 1;
        self.delivered_at = now;
        self.newly_delivered += 1;
        self.delivers_resent |= record.again;
        if !record.again {
            self.lowest_original = self.lowest_original.min(seq);
            self.sacked_sent = span(self.sacked_sent, record.sent);
        }
        if self
            .newest
            .is_none_or(|newest| (record.delivered, record.sent) >= (newest.delivered, newest.sent))
        {
            self.newest = Some(*record);
            self.first_sent = record.sent;
        }
    }

    /// Segments that had been delivered when the newest one left that the ACK in hand delivers; 0:
    /// it delivers nothing.
    pub(crate) fn prior_delivered(&self) -> u64 {
        self.newest.map_or(0, |newest| newest.delivered)
    }

    /// Whether segment `seq` was sent more than once.
    pub(crate) fn was_resent(&self, seq: u64) -> bool {
        let place = seq.checked_sub(self.base).map(|place| place as usize);
        let record = place.and_then(|place| self.records.get(place));
        record.is_some_and(|record| record.again)
    }

    /// The ACK in hand acknowledges segment `seq` cumulatively; `known`: it had been acknowledged
    /// selectively. Where `echo`, the time that the ACK echoes, is from before it was sent again
    /// RACK learns nothing from it; zero: nobody looks (`tcp_skb_spurious_retrans`).
    pub(crate) fn cover(&mut self, now: u64, seq: u64, known: bool, echo: u64) {
        let Some(&record) = self.records.get((seq - self.base) as usize) else {
            return;
        };
        self.covers_resent |= record.again;
        if !known {
            let sacked = self.sacked_sent;
            if !(record.again && self.undo.predates(echo, record.sent)) {
                self.tell_rack(now, seq, &record);
                let rtt = now - record.sent;
                if !record.again || rtt >= self.min_rtt {
                    self.covered_rtt = rtt;
                }
            }
            self.count_delivered(now, seq, &record);
            self.sacked_sent = sacked;
            if !record.again {
                self.acked_sent = span(self.acked_sent, record.sent);
            }
        }
    }

    /// The round trips that Linux takes from the ACK in hand (`tcp_clean_rtx_queue`,
    /// `tcp_ack_update_rtt`), ps, 0 without one: the one that goes into the smoothed round trip, and
    /// the one that congestion controls hear of.
    ///
    /// They are in whole microseconds, of segments sent once: the smoothed round trip takes the first
    /// that is acknowledged cumulatively, where nothing is covered that was sent again, else the
    /// first that is acknowledged selectively; congestion controls hear of the last selectively, else
    /// of the last cumulatively acknowledged one, which no delayed ACK has lengthened. An ACK that
    /// `moves` on and has no such segment tells both by the time that it echoes, in ticks of `tick`.
    pub(crate) fn rtts_of_linux(&self, now: u64, echo: u64, moves: bool, tick: u64) -> (u64, u64) {
        const MICROSECOND: u64 = 1_000_000;
        let since = |sent: u64| {
            if sent == 0 {
                return 0;
            }
            ((now / MICROSECOND - sent / MICROSECOND) * MICROSECOND).max(MICROSECOND)
        };
        let acked = if self.covers_resent {
            (0, 0)
        } else {
            self.acked_sent
        };
        let sacked = self.sacked_sent;
        let choose = |first, second| if first > 0 { first } else { second };
        let smoothed = since(choose(acked.0, sacked.0));
        if smoothed > 0 {
            (smoothed, since(choose(sacked.1, acked.1)))
        } else if moves && echo > 0 {
            let rtt = (now / tick - echo / tick).max(1) * tick;
            (rtt, rtt)
        } else {
            (0, 0)
        }
    }

    /// All that the ACK in hand acknowledges has been taken; RACK goes by the round trip that it
    /// does in Linux.
    pub(crate) fn order_as_linux(&mut self) {
        if let Some(rack) = &mut self.rack {
            rack.take_covered(self.covered_rtt);
        }
    }

    /// Everything below `to` is acknowledged cumulatively.
    pub(crate) fn forget(&mut self, to: u64) {
        let gone = ((to - self.base) as usize).min(self.records.len());
        self.records.drain(..gone);
        self.base = to;
        while let Some(&(_, seq)) = self.transmissions.front()
            && seq < to
        {
            self.transmissions.pop_front();
        }
    }

    /// Nothing counts as lost any more: all transmissions count again.
    pub(crate) fn forgive(&mut self) {
        if self.rack.is_some() {
            let sent = self.records.iter().map(|record| record.sent);
            self.transmissions = sent.zip(self.base..).collect();
            self.transmissions.make_contiguous().sort_unstable();
        }
    }

    /// Returns RACK's verdict on the segments `in_network` with this reordering window: those that
    /// are late now, ascending, and how long the last of the others may still come (0: none may).
    ///
    /// Only transmissions are looked at that count, or will not be looked at again: among those
    /// sent before the last one delivered the late ones come first.
    pub(crate) fn late(
        &mut self,
        now: u64,
        window: u64,
        in_network: impl Fn(u64) -> bool,
    ) -> (Vec<u64>, u64) {
        let Some(rack) = self.rack.clone() else {
            return (Vec::new(), 0);
        };
        let (base, records) = (self.base, &self.records);
        let counts = |sent: u64, seq: u64| {
            let place = seq.checked_sub(base);
            let record = place.and_then(|place| records.get(place as usize));
            record.is_some_and(|record| record.sent == sent) && in_network(seq)
        };
        let left = |sent, seq| rack.time_left(now, seq, sent, window);
        let mut late = Vec::new();
        while let Some(&(sent, seq)) = self.transmissions.front() {
            if counts(sent, seq) {
                match left(sent, seq) {
                    Some(0) => late.push(seq),
                    _ => break,
                }
            }
            self.transmissions.pop_front();
        }
        // those sent together with the last one delivered may come in any order
        let passed = |&(sent, _): &(u64, u64)| sent <= rack.last_sent();
        let end = self.transmissions.partition_point(passed);
        let (mut longest, mut skipped) = (0, 0);
        for &(sent, seq) in self.transmissions.range(..end).rev() {
            if sent < rack.last_sent() && longest > 0 {
                break;
            }
            match left(sent, seq).filter(|_| counts(sent, seq)) {
                Some(0) => late.push(seq),
                Some(rest) => longest = longest.max(rest),
                None => skipped += 1,
            }
        }
        if skipped > 64 && 2 * skipped > end {
            self.transmissions
                .retain(|&(sent, seq)| counts(sent, seq) || sent > rack.last_sent());
        }
        late.sort_unstable();
        late.dedup();
        (late, longest)
    }

    /// Segment `seq` is found lost.
    pub(crate) fn lose(&mut self, now: u64, seq: u64) -> Lost {
        self.lost += 1;
        self.newly_lost += 1;
        let place = seq.checked_sub(self.base).map(|place| place as usize);
        let record = place
            .and_then(|place| self.records.get(place))
            .copied()
            .unwrap_or_default();
        Lost {
            now: Time(now),
            seq,
            sent_in_flight: record.in_flight,
            lost_since_sent: (self.lost - record.lost) as u32,
            delivered: self.delivered,
            prior_delivered: record.delivered,
            app_limited: record.app_limited,
        }
    }

    /// The window is full.
    pub(crate) fn note_full(&mut self) {
        self.full_until = self.delivered + 1;
    }

    /// The application has nothing to send though the window is open, with `in_flight` segments in
    /// the network.
    pub(crate) fn mark_app_limited(&mut self, in_flight: u64) {
        self.app_limited = (self.delivered + in_flight).max(1);
    }

    /// When segment `seq` was sent last.
    pub(crate) fn sent(&self, seq: u64) -> u64 {
        let record = seq
            .checked_sub(self.base)
            .and_then(|place| self.records.get(place as usize));
        record.map_or(0, |record| record.sent)
    }

    /// The sample that the ACK in hand gives; `min_rtt` is the smallest round trip so far, ps.
    pub(crate) fn sample(&mut self, now: u64, min_rtt: u64) -> Sample {
        if self.app_limited > 0 && self.delivered > self.app_limited {
            self.app_limited = 0;
        }
        let Some(newest) = self.newest else {
            return Sample {
                rate: f64::NAN,
                rtt: 0,
                prior_delivered: 0,
                app_limited: self.app_limited > 0,
                sent_in_flight: 0,
                lost_since_sent: 0,
                cwnd_limited: false,
            };
        };
        // neither a burst of ACKs nor a burst of segments may raise the rate: the longer of the two
        // intervals counts
        let interval =
            (newest.sent - newest.first_sent).max(self.delivered_at - newest.delivered_at);
        let delivered = (self.delivered - newest.delivered) as f64;
        Sample {
            rate: if interval == 0 || (min_rtt != u64::MAX && interval < min_rtt) {
                f64::NAN
            } else {
                delivered / Time(interval).seconds()
            },
            rtt: if newest.again { 0 } else { now - newest.sent },
            prior_delivered: newest.delivered,
            app_limited: newest.app_limited,
            sent_in_flight: newest.in_flight,
            lost_since_sent: (self.lost - newest.lost) as u32,
            cwnd_limited: self.full_until > newest.delivered,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000_000;

    /// Segments 1 ms apart in both directions over a path of 100 ms: 1000 segments/s from the
    /// second round on.
    #[test]
    fn a_steady_flow_shows_its_rate() {
        let mut sent_packets = SentPackets::default();
        for seq in 0..100 {
            sent_packets.send((1 + seq) * MS, seq, seq + 1, seq == 0);
        }
        for seq in 0..300 {
            let now = (101 + seq) * MS;
            sent_packets.begin(100, MS);
            sent_packets.deliver(now, seq);
            sent_packets.forget(seq + 1);
            sent_packets.send(now, seq + 100, 100, false);
            let sample = sent_packets.sample(now, 100 * MS);
            assert_eq!(sample.rtt, 100 * MS);
            if seq >= 100 {
                assert_eq!(sample.rate, 1000.0);
                assert_eq!(sample.prior_delivered, seq - 99);
            } else {
                assert!(sample.rate <= 1000.0, "{seq}: {}", sample.rate);
            }
        }
    }

    /// ACKs that come in one burst do not raise the rate above that of sending, nor do segments
    /// sent in a burst above that of the ACKs.
    #[test]
    fn bursts_do_not_raise_the_rate() {
        let mut sent_packets = SentPackets::default();
        for seq in 0..10 {
            sent_packets.send(MS + seq * 20 * MS, seq, seq + 1, seq == 0);
        }
        sent_packets.begin(10, MS);
        for seq in 0..10 {
            sent_packets.deliver(300 * MS, seq);
        }
        // ten segments over the 299 ms from the first sending to their ACK
        let sample = sent_packets.sample(300 * MS, 100 * MS);
        assert!((sample.rate - 10.0 / 0.299).abs() < 1e-9, "{}", sample.rate);
        let mut sent_packets = SentPackets::default();
        for seq in 0..10 {
            sent_packets.send(MS, seq, seq + 1, seq == 0);
        }
        for seq in 0..10 {
            sent_packets.begin(10 - seq, MS);
            sent_packets.deliver((101 + 10 * seq) * MS, seq);
            let sample = sent_packets.sample((101 + 10 * seq) * MS, 100 * MS);
            let seconds = 0.1 + 0.01 * seq as f64;
            assert!((sample.rate - (seq + 1) as f64 / seconds).abs() < 1e-9);
        }
    }

    #[test]
    fn a_sample_shorter_than_the_round_trip_says_nothing_and_an_unused_window_is_told() {
        let mut sent_packets = SentPackets::default();
        sent_packets.send(MS, 0, 1, true);
        sent_packets.begin(1, MS);
        sent_packets.deliver(51 * MS, 0);
        assert!(sent_packets.sample(51 * MS, 60 * MS).rate.is_nan());
        sent_packets.forget(1);
        sent_packets.mark_app_limited(0);
        assert!(
            sent_packets.send(80 * MS, 1, 1, true),
            "the network was empty"
        );
        assert!(!sent_packets.send(80 * MS, 2, 2, false));
        sent_packets.begin(2, MS);
        sent_packets.deliver(130 * MS, 1);
        let sample = sent_packets.sample(130 * MS, 50 * MS);
        assert!(sample.app_limited);
        // the idle time before does not count
        assert_eq!(sample.rate, 20.0);
    }

    /// A segment that was sent again is acknowledged sooner than anything can return: that was the
    /// first copy. The sample counts where what was delivered before is long ago, and not where its
    /// times of sending and acknowledging are both shorter than a round trip.
    #[test]
    fn the_first_copy_gives_a_sample_over_a_round_trip_only() {
        let mut sent_packets = SentPackets::default();
        for seq in 0..3 {
            sent_packets.send(MS, seq, seq + 1, seq == 0);
        }
        sent_packets.send(200 * MS, 0, 3, false);
        sent_packets.begin(3, 100 * MS);
        sent_packets.deliver(210 * MS, 0);
        let sample = sent_packets.sample(210 * MS, 100 * MS);
        assert!((sample.rate - 1.0 / 0.209).abs() < 1e-9, "{}", sample.rate);
        sent_packets.send(211 * MS, 1, 2, false);
        sent_packets.begin(2, 100 * MS);
        sent_packets.deliver(212 * MS, 1);
        let sample = sent_packets.sample(212 * MS, 100 * MS);
        assert!(sample.rate.is_nan(), "{}", sample.rate);
        assert_eq!((sample.rtt, sample.prior_delivered), (0, 1));
    }

    /// Linux: whole microseconds of the last segment sent once; what covers a retransmission is
    /// told by the echoed time, in whole milliseconds of either clock.
    #[test]
    fn round_trips_as_linux_has_them() {
        let mut sent_packets = SentPackets::default();
        for seq in 0..4 {
            sent_packets.send(MS + seq * 1_700_000, seq, seq + 1, seq == 0);
        }
        // segments 1 and 3 arrive; 0 and 2 are sent again
        let now = 41 * MS + 900_000;
        let both = |rtt| (rtt, rtt);
        sent_packets.begin(4, MS);
        sent_packets.deliver(now, 1);
        let rtts = sent_packets.rtts_of_linux(now, 0, false, MS);
        assert_eq!(rtts, both(39_999_000_000));
        sent_packets.begin(3, MS);
        sent_packets.deliver(now, 3);
        let rtts = sent_packets.rtts_of_linux(now, 0, false, MS);
        assert_eq!(rtts, both(39_995_000_000));
        let again = 42 * MS + MS / 2;
        sent_packets.send(again, 0, 2, false);
        sent_packets.send(again, 2, 2, false);
        // the second copy of segment 0, after 40.4 ms: from tick 42 to tick 82
        let now = again + 40 * MS + 4 * MS / 10;
        sent_packets.begin(2, MS);
        sent_packets.cover(now, 0, false, 0);
        sent_packets.cover(now, 1, true, 0);
        let rtts = |now, echo, moves| sent_packets.rtts_of_linux(now, echo, moves, MS);
        assert_eq!(rtts(now, again, true), both(40 * MS));
        // without a time that is echoed, or an ACK that moves on, there is none
        assert_eq!(rtts(now, 0, true), both(0));
        assert_eq!(rtts(now, again, false), both(0));
        // the same 0.6 ms later: one tick more
        assert_eq!(rtts(now + 6 * MS / 10, again, true), both(41 * MS));
    }

    /// Linux: the smoothed round trip takes that of the first segment, of what is acknowledged
    /// cumulatively if that was sent once; congestion controls hear of the last one's, of what is
    /// acknowledged selectively if there is any.
    #[test]
    fn the_smoothed_round_trip_takes_the_first_segment() {
        let mut sent_packets = SentPackets::default();
        for seq in 0..6 {
            sent_packets.send((1 + seq) * MS, seq, seq + 1, seq == 0);
        }
        let now = 41 * MS;
        sent_packets.begin(6, MS);
        sent_packets.cover(now, 0, false, MS);
        sent_packets.cover(now, 1, false, MS);
        let rtts = sent_packets.rtts_of_linux(now, MS, true, MS);
        assert_eq!(rtts, (40 * MS, 39 * MS));
        sent_packets.deliver(now, 4);
        sent_packets.deliver(now, 5);
        let rtts = sent_packets.rtts_of_linux(now, MS, true, MS);
        assert_eq!(rtts, (40 * MS, 35 * MS));
        sent_packets.begin(4, MS);
        sent_packets.deliver(now, 4);
        sent_packets.deliver(now, 5);
        let rtts = sent_packets.rtts_of_linux(now, 0, false, MS);
        assert_eq!(rtts, (36 * MS, 35 * MS));
    }

    #[test]
    fn losses_are_counted_since_a_segment_was_sent() {
        let mut sent_packets = SentPackets::default();
        for seq in 0..4 {
            sent_packets.send(MS, seq, seq + 1, seq == 0);
        }
        sent_packets.begin(4, MS);
        sent_packets.deliver(100 * MS, 3);
        let lost = sent_packets.lose(100 * MS, 0);
        assert_eq!((lost.lost_since_sent, lost.sent_in_flight), (1, 1));
        let lost = sent_packets.lose(100 * MS, 1);
        assert_eq!((lost.lost_since_sent, lost.sent_in_flight), (2, 2));
        assert_eq!(sent_packets.sample(100 * MS, MS).lost_since_sent, 2);
        // sent again: its round trip says nothing (Karn), and losses count from then
        sent_packets.send(101 * MS, 0, 3, false);
        sent_packets.begin(3, MS);
        sent_packets.deliver(200 * MS, 0);
        let sample = sent_packets.sample(200 * MS, MS);
        assert_eq!((sample.rtt, sample.lost_since_sent), (0, 0));
        assert_eq!(sample.prior_delivered, 1);
    }
}
