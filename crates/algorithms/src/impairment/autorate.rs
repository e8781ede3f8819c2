//! A shaper's rate by the delays of probes and the load: the law of cake-autorate 1.2, for links whose rate varies.
//!
//! - A baseline follows each probe's delay: by `baseline_decrease` of the difference where that is
//!   below it, by `baseline_increase` where it is above. A delay is late that is more than `threshold` above
//!   its baseline, plus the transmission of a packet of 1500 B at the present rate.
//! - `late` of the last `window` delays that are late are a standing queue: the rate becomes `decrease` of
//!   the rate achieved or of its own, the smaller of the two (its own if the first is below `min`), at most
//!   once in `refractory`.
//! - Else, with a load above `high_load` of the rate, each probe raises it by the factor `increase`, but for `refractory`
//!   after a standing queue.
//! - Else it decays by `decay` towards the rate that was set first, at most once in `decay_refractory`.
//!
//! The rate stays between `min` and `max`. It achieves what the link has sent in the last
//! `interval` at least.
//!
//! Left out: stalls, sleep, the choice and replacement of reflectors, the compensation of Starlink's
//! switches.

use crate::meta::{About, Algorithm};
use crate::params::inconsistent;
use crate::{Interval, Time, ValueError, parameters};

parameters! {
    /// Parameters of a rate that follows probes.
    pub struct AutorateParams {
        /// Smallest rate.
        min: rate = required, in Interval::above(0.0), "cake-autorate 1.2: min_dl_shaper_rate_kbps";
        /// Largest rate.
        max: rate = required, in Interval::above(0.0), "cake-autorate 1.2: max_dl_shaper_rate_kbps";
        /// Delay above the baseline from which a probe is late.
        threshold: time = 0.03, in Interval::above(0.0), "cake-autorate 1.2: dl_delay_thr_ms";
        /// Last probes that count.
        window: number = 6.0, in Interval::between(1.0, 64.0), "cake-autorate 1.2: bufferbloat_detection_window";
        /// Late ones among them that are a standing queue.
        late: number = 3.0, in Interval::between(1.0, 64.0), "cake-autorate 1.2: bufferbloat_detection_thr";
        /// Share of a rise that the baseline takes.
        baseline_increase: number = 0.001, in Interval::between(0.0, 1.0), "cake-autorate 1.2: alpha_baseline_increase";
        /// Share of a fall that the baseline takes.
        baseline_decrease: number = 0.9, in Interval::between(0.0, 1.0), "cake-autorate 1.2: alpha_baseline_decrease";
        /// Factor of the rate at a standing queue.
        decrease: number = 0.9, in Interval::inside(0.0, 1.0), "cake-autorate 1.2: shaper_rate_adjust_down_bufferbloat";
        /// Factor of the rate at each probe under a high load.
        increase: number = 1.01, in Interval::between(1.0, 2.0), "cake-autorate 1.2: shaper_rate_adjust_up_load_high";
        /// Share of the rate above which the load is high.
        high_load: number = 0.75, in Interval::between(0.0, 1.0), "cake-autorate 1.2: high_load_thr";
        /// Factor towards the rate set first, under a low load.
        decay: number = 0.01, in Interval::between(0.0, 1.0), "cake-autorate 1.2: shaper_rate_adjust_down_load_low";
        /// Time after a decrease without another one or an increase.
        refractory: time = 0.3, in Interval::at_least(0.0), "cake-autorate 1.2: bufferbloat_refractory_period_ms";
        /// Time between two steps of decay.
        decay_refractory: time = 1.0, in Interval::at_least(0.0), "cake-autorate 1.2: decay_refractory_period_ms";
        /// Time over which the achieved rate is measured, at least.
        interval: time = 0.2, in Interval::above(0.0), "cake-autorate 1.2: monitor_achieved_rates_interval_ms";
    }
}

impl Algorithm for AutorateParams {
    const ABOUT: About = About {
        kind: "autorate",
        title: "cake-autorate",
        summary: "Sets a shaper's rate by the delays of probes and the load.",
        citation: "cake-autorate 1.2, github.com/lynxthecat/cake-autorate (2023)",
        ecn: false,
    };

    fn check(&self) -> Result<(), ValueError> {
        if self.min <= self.max {
            return Ok(());
        }
        Err(inconsistent("min", self.min, "`max` or less".to_owned()))
    }
}

/// Bits of a packet whose transmission a late probe may have waited for.
const PACKET_BITS: f64 = 12_000.0;

/// A rate that follows probes.
#[derive(Clone, Debug)]
pub struct Autorate {
    params: AutorateParams,
    /// The rate set first, and now, bit/s.
    base: f64,
    rate: f64,
    /// Delay of each probing flow without a queue, s; NaN before its first one.
    baselines: Vec<f64>,
    /// Whether each of the last probes was late, the newest in the lowest bit.
    late: u64,
    decreased_at: Option<Time>,
    decayed_at: Option<Time>,
}

impl Autorate {
    /// A rate of `rate` bit/s at first.
    #[must_use]
    pub fn new(params: AutorateParams, rate: f64) -> Self {
        Self {
            params,
            base: rate,
            rate: rate.clamp(params.min, params.max),
            baselines: Vec::new(),
            late: 0,
            decreased_at: None,
            decayed_at: None,
        }
    }

    /// The rate now, bit/s.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// Time over which the achieved rate is measured, at least.
    #[must_use]
    pub fn interval(&self) -> Time {
        Time::from_seconds(self.params.interval)
    }

    /// A probe of flow `flow` has taken `delay` seconds, while `achieved` bit/s were sent: the rate
    /// from now on, bit/s.
    pub fn on_delay(&mut self, now: Time, flow: usize, delay: f64, achieved: f64) -> f64 {
        let AutorateParams {
            min,
            max,
            decrease,
            increase,
            high_load,
            decay,
            ..
        } = self.params;
        let queues = self.judge(flow, delay);
        let past =
            |at: Option<Time>, seconds: f64| at.is_none_or(|at| now.since(at).seconds() > seconds);
        let rested = past(self.decreased_at, self.params.refractory);
        if queues {
            if rested {
                let of_achieved = decrease * achieved;
                let own = decrease * self.rate;
                self.rate = if of_achieved > min {
                    of_achieved.min(own)
                } else {
                    own
                };
                self.decreased_at = Some(now);
            }
        } else if achieved > high_load * self.rate {
            if rested {
                self.rate *= increase;
            }
        } else if past(self.decayed_at, self.params.decay_refractory) {
            self.rate = if self.rate > self.base {
                (self.rate * (1.0 - decay)).max(self.base)
            } else {
                (self.rate * (1.0 + decay)).min(self.base)
            };
            self.decayed_at = Some(now);
        }
        self.rate = self.rate.clamp(min, max);
        self.rate
    }

    /// Whether a queue stands, with the delay of a probe.
    fn judge(&mut self, flow: usize, delay: f64) -> bool {
        let params = &self.params;
        if self.baselines.len() <= flow {
            self.baselines.resize(flow + 1, f64::NAN);
        }
        let baseline = &mut self.baselines[flow];
        if baseline.is_nan() {
            *baseline = delay;
        }
        let share = if delay > *baseline {
            params.baseline_increase
        } else {
            params.baseline_decrease
        };
        *baseline += share * (delay - *baseline);
        let late = delay - *baseline > params.threshold + PACKET_BITS / self.rate;
        self.late = self.late << 1 | u64::from(late);
        let window = u64::MAX >> (64 - (params.window as u32).clamp(1, 64));
        f64::from((self.late & window).count_ones()) >= params.late.floor()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Parameters as _, Value};

    fn autorate(rate: f64) -> Autorate {
        let given = [("min", 5e6), ("max", 80e6)]
            .map(|(name, rate)| (name.to_owned(), Value::Number(rate)));
        Autorate::new(AutorateParams::from_values(&given).unwrap(), rate)
    }

    /// Probes each 50 ms from `from` on, `delay` late; the rate after them.
    fn probes(it: &mut Autorate, from: f64, count: u32, delay: f64, achieved: f64) -> f64 {
        for n in 0..count {
            let now = Time::from_seconds(from + 0.05 * f64::from(n));
            it.on_delay(now, 0, delay, achieved);
        }
        it.rate()
    }

    #[test]
    fn a_high_load_raises_the_rate_by_a_percent_a_probe() {
        let mut it = autorate(20e6);
        let rate = probes(&mut it, 0.0, 10, 0.02, 20e6);
        assert!((rate / 20e6 - 1.01_f64.powi(10)).abs() < 1e-12);
        assert_eq!(probes(&mut it, 1.0, 1000, 0.02, 80e6), 80e6); // `max`
    }

    #[test]
    fn a_low_load_brings_it_back_once_a_second() {
        let mut it = autorate(20e6);
        it.rate = 40e6;
        // at 0, 1.05, 2.1, 3.15 s
        let rate = probes(&mut it, 0.0, 64, 0.02, 1e6);
        assert!((rate / 40e6 - 0.99_f64.powi(4)).abs() < 1e-12, "{rate}");
        it.rate = 10e6;
        assert!((probes(&mut it, 9.0, 1, 0.02, 1e6) - 10.1e6).abs() < 1.0);
        assert_eq!(probes(&mut it, 10.0, 40_000, 0.02, 1e6), 20e6);
    }

    #[test]
    fn the_third_late_probe_of_six_is_a_standing_queue() {
        let mut it = autorate(20e6);
        probes(&mut it, 0.0, 1, 0.02, 1e6);
        // 30 ms and 0.6 ms of a packet: 51 ms is late, 50 is not
        assert_eq!(probes(&mut it, 0.05, 2, 0.051, 18e6), 20e6 * 1.01 * 1.01);
        assert!((probes(&mut it, 0.2, 1, 0.051, 18e6) - 0.9 * 18e6).abs() < 1.0);
        // 300 ms of rest
        assert!((probes(&mut it, 0.25, 5, 0.051, 18e6) - 0.9 * 18e6).abs() < 1.0);
        // what was achieved counts where it is less than the rate's own share
        assert!((probes(&mut it, 0.55, 1, 0.051, 12e6) - 0.9 * 12e6).abs() < 1.0);
        // but not where next to nothing was
        let before = it.rate();
        assert!((probes(&mut it, 1.0, 1, 0.051, 1e6) - 0.9 * before).abs() < 1.0);
    }

    #[test]
    fn baselines_fall_at_once_and_rise_slowly() {
        let mut it = autorate(20e6);
        it.on_delay(Time::ZERO, 0, 0.05, 1e6);
        it.on_delay(Time::ZERO, 1, 0.5, 1e6); // another reflector
        it.on_delay(Time::ZERO, 0, 0.02, 1e6);
        assert!((it.baselines[0] - 0.023).abs() < 1e-12);
        it.on_delay(Time::ZERO, 0, 0.123, 1e6);
        assert!((it.baselines[0] - 0.0231).abs() < 1e-12);
        assert!((it.baselines[1] - 0.5).abs() < 1e-12);
        assert_eq!(it.late, 0b0001);
    }
}
