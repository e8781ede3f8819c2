//! Round-trip times: samples, their smoothed value and variation, the retransmission timeout.
//!
//! Two estimators: RFC 6298 with RFC 7323's gains, and that of Linux 6.1.

use ackclock_algorithms::Time;

use ackclock_scenario::RttSamples;

use super::config::Config;
use super::linux_timer_wheel::TICK_PS;

/// Knowledge of a sender about its round trip, ps.
#[derive(Debug)]
pub(super) struct RttEstimator {
    /// Smoothed; zero before the first sample.
    pub(super) srtt: u64,
    /// Its variation (RFC 6298).
    rttvar: u64,
    /// In place of `rttvar`, where the estimator is Linux's.
    linux: Option<Box<LinuxVariation>>,
    /// Smallest so far; `u64::MAX` before the first sample.
    pub(super) min_rtt: u64,
    rto: u64,
    backoff: u32,
    /// Where one segment is timed at a time: that one.
    timed: u64,
}

impl RttEstimator {
    pub(super) fn new(linux: bool, initial_rto: u64) -> Self {
        Self {
            srtt: 0,
            rttvar: 0,
            linux: linux.then(Box::default),
            min_rtt: u64::MAX,
            rto: initial_rto,
            backoff: 0,
            timed: 0,
        }
    }

    /// Smoothed, s; NaN before the first sample.
    pub(super) fn srtt_seconds(&self) -> f64 {
        if self.srtt == 0 {
            f64::NAN
        } else {
            Time(self.srtt).seconds()
        }
    }

    /// RFC 6298, section 2, with alpha = 1/8 and beta = 1/4.
    ///
    /// There is no clock granularity G, as simulated time has none.
    ///
    /// With a sample from every ACK both gains are divided by the samples expected in a round trip,
    /// one for two segments in flight, as RFC 7323, appendix G, wants (here rounded up to a power
    /// of two): else the variation forgets within a round trip, and a queue that grows makes timers
    /// expire.
    #[inline(always)]
    pub(super) fn sample(&mut self, rtt: u64, in_flight: u64, config: &Config) {
        if self.srtt == 0 {
            //= RFC 6298 2/2: done, tests retransmission_timer, samples_move_the_averages
            self.srtt = rtt;
            self.rttvar = rtt / 2;
        } else {
            let samples = (in_flight / 2).max(1).next_power_of_two().trailing_zeros();
            let error = self.srtt.abs_diff(rtt);
            //= RFC 6298 2/3..4: done, test samples_move_the_averages
            //= RFC 6298 2/5: done, test samples_move_the_averages; divided by the samples of a
            //=   round trip (RFC 7323, appendix G)
            let beta = 2 + samples; // and alpha one more
            self.rttvar = self.rttvar - (self.rttvar >> beta) + (error >> beta);
            self.srtt = self.srtt - (self.srtt >> beta >> 1) + (rtt >> beta >> 1);
        }
        self.min_rtt = self.min_rtt.min(rtt);
        //= RFC 6298 2/6: done, test samples_move_the_averages; G is zero, simulated time is exact
        let rto = self.srtt + 4 * self.rttvar;
        self.rto = rto.max(config.rto.min).min(config.rto.max);
        self.backoff = 0;
    }

    /// RFC 6298 with a clock that ticks, or by one segment timed at a time: `una` is the first
    /// unacknowledged segment, `next` the next new one.
    ///
    /// A sample is the number of ticks that begin while the segment is away, one at least. One that
    /// is taken once a window moves the averages by the whole gains of RFC 6298, and it alone ends
    /// the back-off (section 3, and section 5, the last paragraph).
    pub(super) fn sample_clocked(
        &mut self,
        (now, rtt): (u64, u64),
        (una, next): (u64, u64),
        in_flight: u64,
        config: &Config,
    ) {
        self.min_rtt = self.min_rtt.min(rtt);
        let once = config.rto.samples == RttSamples::OnceAWindow;
        if once && una <= self.timed && self.srtt > 0 {
            return;
        }
        self.timed = next;
        let tick = config.rto.clock_granularity;
        // no tick: an exact clock
        let ticks = |time: u64| time.checked_div(tick);
        let rtt = match (ticks(now - rtt), ticks(now)) {
            (Some(sent), Some(received)) => (received - sent).max(1) * tick,
            _ => rtt,
        };
        if self.srtt == 0 {
            self.srtt = rtt;
            self.rttvar = rtt / 2;
        } else if once && tick > 0 {
            self.average_in_ticks(rtt / tick, tick);
        } else {
            let samples = if once { 1 } else { in_flight / 2 };
            let spread = samples.max(1).next_power_of_two().trailing_zeros();
            let error = self.srtt.abs_diff(rtt);
            let beta = 2 + spread;
            self.rttvar = self.rttvar - (self.rttvar >> beta) + (error >> beta);
            self.srtt = self.srtt - (self.srtt >> beta >> 1) + (rtt >> beta >> 1);
        }
        //= RFC 6298 4/1: done, test the_clock_ticks
        let rto = self.srtt + (4 * self.rttvar).max(tick);
        self.rto = rto.max(config.rto.min).min(config.rto.max);
        self.backoff = 0;
    }

    /// The averages in whole eighths and quarters of a tick, each sample compared with their whole
    /// ticks (Jacobson 1988, appendix A; 4.4BSD and ns-2). So the variation stops falling at three
    /// quarters of a tick: the timeout exceeds the smoothed round trip by three ticks at least.
    fn average_in_ticks(&mut self, rtt: u64, tick: u64) {
        // rounded: they were cut to picoseconds
        let eighths = (8 * self.srtt + tick / 2) / tick;
        let quarters = (4 * self.rttvar + tick / 2) / tick;
        let (smoothed, variation) = (eighths / 8, quarters / 4);
        let error = rtt.abs_diff(smoothed);
        self.srtt = (eighths + rtt - smoothed).max(1) * tick / 8;
        self.rttvar = (quarters + error - variation).max(1) * tick / 4;
    }

    /// A loss is answered: what was sent below `high` is not timed any more (Karn's rule).
    pub(super) fn stop_timing(&mut self, high: u64) {
        self.timed = high;
    }

    /// The estimator of Linux: `una` is the first unacknowledged segment, `next` the next new one.
    /// Where the smallest round trip is followed by other samples (`min_apart`) only the first one
    /// counts for it.
    pub(super) fn sample_linux(
        &mut self,
        rtt: u64,
        (una, next): (u64, u64),
        min_apart: bool,
        config: &Config,
    ) {
        if let Some(variation) = &mut self.linux {
            self.srtt = variation.sample(rtt, self.srtt, una, next, config.rto.min);
            let ticks = (self.srtt + variation.margin()).div_ceil(TICK_PS);
            self.rto = (ticks * TICK_PS).min(config.rto.max);
        }
        if !min_apart || self.min_rtt == u64::MAX {
            self.min_rtt = self.min_rtt.min(rtt);
        }
        self.backoff = 0;
    }

    /// SRTT and RTTVAR.
    pub(super) fn smoothed(&self) -> (u64, u64) {
        (self.srtt, self.rttvar)
    }

    /// A timeout was needless whose segment took `rtt`: the timer follows (RFC 4015, section 3.2,
    /// step 7), from SRTT and RTTVAR before it.
    pub(super) fn adapt(&mut self, (srtt, rttvar): (u64, u64), rtt: u64, config: &Config) {
        self.srtt = srtt.max(rtt);
        self.rttvar = rttvar.max(rtt / 2);
        self.rto = (self.srtt + 4 * self.rttvar)
            .max(config.rto.min)
            .min(config.rto.max);
    }

    /// Present retransmission timeout with its back-off (RFC 6298, rule 5.5).
    #[inline]
    pub(super) fn timeout(&self, config: &Config) -> u64 {
        if self.backoff == 0 {
            return self.rto;
        }
        self.rto
            .saturating_mul(1 << self.backoff.min(16))
            .min(config.rto.max)
    }

    /// The smoothed variation of RFC 6298.
    #[cfg(test)]
    pub(super) fn rttvar(&self) -> u64 {
        self.rttvar
    }

    /// The timeout without its back-off.
    pub(super) fn base_timeout(&self) -> u64 {
        self.rto
    }

    /// A timer has expired (RFC 6298, rule 5.5).
    pub(super) fn back_off(&mut self) {
        //= RFC 6298 5/3: done, test retransmission_timer
        self.backoff += 1;
    }

    /// Whether a timer has expired since the last sample.
    pub(super) fn is_backed_off(&self) -> bool {
        self.backoff > 0
    }

    /// Timeouts since the last sample.
    pub(super) fn backoff(&self) -> u32 {
        self.backoff
    }

    /// The connection stands; `syn_resent`: its SYN was sent more than once (RFC 6298, rule 5.7).
    pub(super) fn open(&mut self, syn_resent: bool, config: &Config) {
        self.backoff = 0;
        if syn_resent {
            //= RFC 6298 5/4: done, test the_handshake_leaves_the_window_as_it_is
            let least = config.rto.initial.max(3 * Time::PER_SECOND);
            self.rto = least.min(config.rto.max);
        }
    }
}

/// The variation as Linux 6.1 finds it (`tcp_rtt_estimator`); times in ps.
///
/// The retransmission timeout is the smoothed round trip plus this: four mean deviations, of which
/// the largest of a round trip counts, and the smallest timeout at least. So the timeout exceeds
/// the smoothed round trip by 200 ms at least, where RFC 6298 bounds their sum. The variation rises
/// at once, and falls by a quarter a round trip; a round trip that shrinks raises the deviation
/// with an eighth of the weight of one that grows.
#[derive(Clone, Copy, Debug, Default)]
struct LinuxVariation {
    /// Four mean deviations.
    deviation: u64,
    /// The largest of this round trip.
    largest: u64,
    variation: u64,
    /// The round trip is over when this segment is acknowledged.
    round_end: u64,
}

impl LinuxVariation {
    /// A sample `rtt` arrives while the smoothed round trip is `srtt` (0: there is none yet), `una`
    /// is the first unacknowledged and `next` the next new segment. Returns the new smoothed round
    /// trip.
    fn sample(&mut self, rtt: u64, srtt: u64, una: u64, next: u64, min_rto: u64) -> u64 {
        if srtt == 0 {
            self.deviation = 2 * rtt;
            self.variation = self.deviation.max(min_rto);
            self.largest = self.variation;
            self.round_end = next;
            return rtt;
        }
        // four times the error, less the deviation of four times the mean: a quarter of it is the
        // step
        let error = srtt.abs_diff(rtt);
        if error > self.deviation / 4 {
            let excess = error - self.deviation / 4;
            self.deviation += if rtt < srtt { excess / 8 } else { excess };
        } else {
            self.deviation -= self.deviation / 4 - error;
        }
        if self.deviation > self.largest {
            self.largest = self.deviation;
            self.variation = self.variation.max(self.largest);
        }
        if una > self.round_end {
            if self.largest < self.variation {
                self.variation -= (self.variation - self.largest) / 4;
            }
            self.round_end = next;
            self.largest = min_rto;
        }
        srtt - srtt / 8 + rtt / 8
    }

    /// Returns the margin of the timeout over the smoothed round trip.
    fn margin(&self) -> u64 {
        self.variation
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000_000;
    const MIN: u64 = 200 * MS;

    #[test]
    fn steady_round_trips_leave_the_floor() {
        let mut variation = LinuxVariation::default();
        let mut srtt = variation.sample(100 * MS, 0, 0, 10, MIN);
        assert_eq!((srtt, variation.margin()), (100 * MS, 200 * MS));
        for una in 1..100 {
            srtt = variation.sample(100 * MS, srtt, una, una + 10, MIN);
        }
        assert_eq!((srtt, variation.margin()), (100 * MS, MIN));
    }

    #[test]
    fn it_rises_at_once_and_falls_by_a_quarter_a_round() {
        let mut variation = LinuxVariation::default();
        let mut srtt = variation.sample(400 * MS, 0, 0, 1, MIN);
        assert_eq!(variation.margin(), 800 * MS);
        // 1 s: an error of 600 ms, a deviation of 800 ms: 800 + 600 - 200
        srtt = variation.sample(1000 * MS, srtt, 1, 2, MIN);
        assert_eq!((srtt, variation.margin()), (475 * MS, 1200 * MS));
        // the next round's largest deviation is 1200 + 0 - 300 = 900 ms: a quarter of the way there
        srtt = variation.sample(475 * MS, srtt, 3, 4, MIN);
        assert_eq!(srtt, 475 * MS);
        assert_eq!(variation.margin(), 1200 * MS);
        variation.sample(475 * MS, srtt, 5, 6, MIN);
        assert_eq!(variation.margin(), 1200 * MS - (1200 - 675) * MS / 4);
    }

    #[test]
    fn a_shrinking_round_trip_counts_less() {
        let mut variation = LinuxVariation::default();
        let srtt = variation.sample(800 * MS, 0, 0, 1, MIN);
        variation.deviation = 0;
        variation.sample(400 * MS, srtt, 1, 2, MIN);
        assert_eq!(variation.deviation, 50 * MS);
        variation.deviation = 0;
        variation.sample(1200 * MS, srtt, 1, 2, MIN);
        assert_eq!(variation.deviation, 400 * MS);
    }

    /// Options of a class with these keys.
    fn config(keys: &str) -> Config {
        let text = format!(
            "[scenario]\nduration = \"1 s\"\n[[link]]\nname = \"l\"\nrate = \"1 Mbit/s\"\n\
             [[flows]]\npath = [\"l\"]\nrtt = \"0.1 s\"\nmin_rto = \"1 ms\"\n{keys}"
        );
        let scenario = ackclock_scenario::parse(&text, "test").expect("the scenario is right");
        Config::new(&scenario.flows[0].tcp)
    }

    /// RFC 6298, section 2: RTO = SRTT + max(G, 4 RTTVAR), samples in whole ticks.
    #[test]
    fn the_clock_ticks() {
        let config = config("clock_granularity = \"10 ms\"\n");
        let mut rtt = RttEstimator::new(false, 1000 * MS);
        rtt.sample_clocked((1000 * MS, 94 * MS), (0, 2), 2, &config);
        assert_eq!((rtt.srtt, rtt.rttvar), (100 * MS, 50 * MS));
        assert_eq!(rtt.min_rtt, 94 * MS, "what is measured is exact");
        for una in 1..200 {
            rtt.sample_clocked((1009 * MS, 94 * MS), (una, una + 2), 2, &config);
        }
        assert!(rtt.srtt.abs_diff(90 * MS) < MS / 1000 && rtt.rttvar < MS / 1000);
        assert!(rtt.timeout(&config).abs_diff(100 * MS) < MS / 100);
    }

    /// RFC 6298, rules 2.2 and 2.3, with alpha = 1/8 and beta = 1/4: RTTVAR moves by the SRTT before.
    /// With 8 segments in flight, four samples a round trip, both gains are a quarter of that.
    #[test]
    fn samples_move_the_averages() {
        let config = config("");
        for (in_flight, rttvar, srtt) in [(1, 62_500, 112_500), (8, 53_125, 103_125)] {
            let mut rtt = RttEstimator::new(false, 1000 * MS);
            rtt.sample(100 * MS, in_flight, &config);
            assert_eq!((rtt.srtt, rtt.rttvar), (100 * MS, 50 * MS));
            rtt.sample(200 * MS, in_flight, &config);
            assert_eq!(
                (rtt.rttvar, rtt.srtt),
                (rttvar * MS / 1000, srtt * MS / 1000)
            );
            let timeout = (srtt + 4 * rttvar) * MS / 1000;
            assert_eq!(rtt.timeout(&config), timeout);
        }
    }

    /// Whole eighths and quarters of a tick: a steady round trip leaves three quarters of a tick of
    /// variation.
    #[test]
    fn variation_in_ticks_has_a_floor() {
        let config = config("rtt_samples = \"once-a-window\"\nclock_granularity = \"10 ms\"\n");
        let mut rtt = RttEstimator::new(false, 1000 * MS);
        for una in 1..100 {
            rtt.sample_clocked((1000 * MS, 500 * MS), (una, una), 1, &config);
        }
        assert_eq!((rtt.srtt, rtt.rttvar), (500 * MS, 15 * MS / 2));
        assert_eq!(rtt.timeout(&config), 530 * MS);
    }

    /// One segment is timed at a time: of the ACKs of a window one gives a sample, with the whole
    /// gains; after a loss only what is sent then is timed, and until then the back-off stays.
    #[test]
    fn one_sample_a_window() {
        let config = config("rtt_samples = \"once-a-window\"\n");
        let mut rtt = RttEstimator::new(false, 1000 * MS);
        let sample = |rtt: &mut RttEstimator, ms: u64, una: u64, next: u64| {
            rtt.sample_clocked((1000 * MS, ms * MS), (una, next), 10, &config);
        };
        sample(&mut rtt, 100, 1, 10);
        for una in 2..=10 {
            sample(&mut rtt, 180, una, una + 10);
            assert_eq!(rtt.srtt, 100 * MS, "segment 10 is timed");
        }
        sample(&mut rtt, 180, 11, 21);
        assert_eq!(rtt.srtt, 110 * MS);
        assert_eq!(rtt.rttvar, (3 * 50 + 80) * MS / 4);
        rtt.back_off();
        rtt.stop_timing(30);
        sample(&mut rtt, 100, 30, 40);
        assert!(rtt.is_backed_off());
        sample(&mut rtt, 100, 31, 40);
        assert!(!rtt.is_backed_off());
    }
}
