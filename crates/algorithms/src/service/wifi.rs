//! Wi-Fi: aggregates of packets (A-MPDU of IEEE 802.11n and later), each an exchange on a medium that others share.
//!
//! An exchange takes, in the model of Hoiland-Jorgensen et al. (2017, section 2.2.1),
//!
//! DIFS + backoff + preamble + 8 L / rate + SIFS + (SIFS + block ACK),
//!
//! where the rate of the link is that of the physical layer and L the bytes of the frames with their
//! overhead, each padded to a multiple of 4. The backoff is drawn, 0 to `cw_min` slots. A frame that
//! finds a queue at the begin of an exchange goes with it, up to `max_frames`, `max_bytes` and
//! `max_duration`; all arrive at its end. What comes meanwhile waits for the next one.
//!
//! Links of one `medium` take turns: a link with `sharing = "turns"` has an exchange whenever it is
//! its turn, which gives slow and fast ones the same number of packets (the anomaly of 802.11); with
//! `"airtime"` a deficit of airtime decides, as in Linux, which gives the same time to all.
//!
//! Left out: collisions, lost frames and their retransmissions, RTS, aggregates of frames in one (A-MSDU), the choice of the rate.
//! Stations that contend do not count down at the same time here, which about makes up for collisions that are
//! not there.

use super::{BatchEnd, Service, ServiceAlgorithm};
use crate::meta::{About, Algorithm};
use crate::{Interval, Stream, Time, choices, parameters};

choices! {
    /// How links of a medium take turns.
    pub enum Sharing {
        /// By a deficit of airtime: the same time for all.
        Airtime = "airtime",
        /// One exchange after the other, however long.
        Turns = "turns",
    }
}

parameters! {
    /// Parameters of Wi-Fi.
    pub struct WifiParams {
        /// How the links of its medium take turns.
        sharing: choice(Sharing) = Airtime, "Hoiland-Jorgensen et al. 2017, section 3.2; Linux since 4.11";
        /// Frames in an aggregate at most.
        max_frames: packets = 64.0, in Interval::between(1.0, 1024.0), "IEEE 802.11-2016, 9.3.1.9.3: a block ACK's bitmap";
        /// Bytes in an aggregate at most, overhead included.
        max_bytes: bytes = 65535.0, in Interval::between(256.0, 6.5e6), "IEEE 802.11-2016, table 9-162 (HT); VHT: 1048575";
        /// Time that the frames of an aggregate take at most.
        max_duration: time = 0.004, in Interval::above(0.0), "Linux 6.1, ath9k; IEEE 802.11-2016: 5.484 ms";
        /// Bytes added to each packet: delimiter, header, check sequence.
        frame_overhead: bytes = 42.0, in Interval::between(0.0, 1000.0), "Hoiland-Jorgensen et al. 2017: 4 + 34 + 4";
        /// Preamble and header of the physical layer.
        preamble: time = 32e-6, in Interval::at_least(0.0), "Hoiland-Jorgensen et al. 2017";
        /// Silence before the backoff.
        difs: time = 34e-6, in Interval::at_least(0.0), "IEEE 802.11-2016, 10.3.2.3, OFDM at 5 GHz";
        /// Silence before an answer.
        sifs: time = 16e-6, in Interval::at_least(0.0), "IEEE 802.11-2016, table 17-21";
        /// A slot of the backoff.
        slot: time = 9e-6, in Interval::at_least(0.0), "IEEE 802.11-2016, table 17-21";
        /// Slots of the backoff at most.
        cw_min: number = 15.0, in Interval::between(0.0, 1023.0), "IEEE 802.11-2016, table 17-21";
        /// Bytes of a block ACK, at the rate of the link.
        ack_bytes: bytes = 58.0, in Interval::between(0.0, 1000.0), "Hoiland-Jorgensen et al. 2017";
    }
}

impl Algorithm for WifiParams {
    const ABOUT: About = About {
        kind: "wifi",
        title: "Wi-Fi",
        summary: "Sends aggregates of packets, each after a backoff on a medium that links may share, by turns or by airtime.",
        citation: "T. Hoiland-Jorgensen, M. Kazior, D. Taht, P. Hurtig and A. Brunstrom, Ending the anomaly: achieving low latency and airtime fairness in WiFi, USENIX ATC 2017; IEEE Std 802.11-2016",
        ecn: false,
    };
}

impl WifiParams {
    /// Bytes of a packet in an aggregate.
    fn frame(&self, size: u32) -> f64 {
        4.0 * ((f64::from(size) + self.frame_overhead) / 4.0).ceil()
    }

    /// Whether a frame of `more` bytes goes with `frames` of `bytes` bytes.
    fn has_room(&self, frames: f64, bytes: f64, more: f64, rate: f64) -> bool {
        let all = bytes + more;
        frames == 0.0
            || (frames < self.max_frames
                && all <= self.max_bytes
                && 8.0 * all / rate <= self.max_duration)
    }

    /// Duration of an exchange without its backoff, s.
    fn exchange(&self, bytes: f64, rate: f64) -> f64 {
        let ack = self.sifs + 8.0 * self.ack_bytes / rate;
        self.difs + self.preamble + 8.0 * bytes / rate + self.sifs + ack
    }
}

impl ServiceAlgorithm for WifiParams {
    type Service = Wifi;

    fn build(&self) -> Wifi {
        Wifi {
            params: *self,
            began: Time::ZERO,
            rate: f64::INFINITY,
            frames: 0.0,
            bytes: 0.0,
        }
    }

    fn saturated_rate(&self, rate: f64, size: u32) -> f64 {
        let (frame, mut frames) = (self.frame(size), 0.0);
        while self.has_room(frames, frames * frame, frame, rate) {
            frames += 1.0;
        }
        let backoff = 0.5 * self.cw_min.floor() * self.slot;
        8.0 * frames * f64::from(size) / (backoff + self.exchange(frames * frame, rate))
    }
}

/// Wi-Fi at work.
#[derive(Clone, Copy, Debug)]
pub struct Wifi {
    params: WifiParams,
    began: Time,
    rate: f64,
    frames: f64,
    bytes: f64,
}

impl Service for Wifi {
    fn opens(&mut self, now: Time, _woken: bool) -> Time {
        now
    }

    fn begin(&mut self, now: Time, rate: f64) {
        (self.began, self.rate) = (now, rate);
        (self.frames, self.bytes) = (0.0, 0.0);
    }

    fn takes(&mut self, size: u32) -> bool {
        let frame = self.params.frame(size);
        let fits = self
            .params
            .has_room(self.frames, self.bytes, frame, self.rate);
        if fits {
            self.frames += 1.0;
            self.bytes += frame;
        }
        fits
    }

    fn end(&mut self, _waiting: bool, random: &mut Stream) -> BatchEnd {
        let slots = (random.uniform() * (self.params.cw_min.floor() + 1.0)).floor();
        let length = slots * self.params.slot + self.params.exchange(self.bytes, self.rate);
        BatchEnd {
            free: self.began + Time::from_seconds(length),
            delay: Time::ZERO,
        }
    }

    fn sharing(&self) -> Option<Sharing> {
        Some(self.params.sharing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Owner, Parameters as _};

    /// Base rates of table 1 of the paper, Mbit/s, whose aggregates have broken numbers of frames of
    /// 1544 B (mean sizes): a mean over two whole numbers stands for each.
    #[test]
    fn base_rates_of_the_paper() {
        let params = WifiParams::from_values(&[]).unwrap();
        for (bytes, phy, base) in [
            (6892.0, 144.4e6, 97.3e6),
            (28_434.0, 144.4e6, 126.7e6),
            (2914.0, 7.2e6, 6.5e6),
        ] {
            let time = params.exchange(bytes, phy) + 0.5 * 15.0 * 9e-6;
            let rate = 8.0 * 1500.0 * (bytes / 1544.0) / time;
            assert!((rate - base).abs() < 0.05e6, "{rate} for {base}");
        }
    }

    #[test]
    fn aggregates_end_at_each_of_their_limits() {
        let count = |rate: f64, size: u32| {
            let mut wifi = WifiParams::from_values(&[]).unwrap().build();
            wifi.begin(Time::ZERO, rate);
            (0..1000).take_while(|_| wifi.takes(size)).count()
        };
        assert_eq!(count(1e9, 100), 64); // frames
        assert_eq!(count(1e9, 1500), 42); // 42 * 1544 = 64,848 B
        assert_eq!(count(7.2e6, 1500), 2); // 3600 B in 4 ms
        assert_eq!(count(1e6, 1500), 1); // 12.4 ms: one always goes
    }

    #[test]
    fn backoffs_are_the_slots_from_none_to_the_contention_window() {
        let mut random = Stream::new(1, Owner::Service, 0);
        let params = WifiParams::from_values(&[]).unwrap();
        let mut observed = [0_u32; 16];
        for _ in 0..16_000 {
            let mut wifi = params.build();
            wifi.begin(Time::ZERO, 1e8);
            wifi.takes(1500);
            let end = wifi.end(false, &mut random).free.seconds();
            let slots = (end - params.exchange(1544.0, 1e8)) / 9e-6;
            assert!((slots - slots.round()).abs() < 1e-6);
            observed[slots.round() as usize] += 1;
        }
        assert!(
            observed.iter().all(|n| (850..1150).contains(n)),
            "{observed:?}"
        );
    }
}
