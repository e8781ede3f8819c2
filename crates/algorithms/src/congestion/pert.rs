//! PERT: a Reno that backs off at random by its smoothed queueing delay, as a RED queue would make
//! it.
//!
//! On each ACK the RTT is smoothed with a weight of 0.01 (srtt_0.99) and its excess over the
//! smallest RTT taken as the queueing delay. The window falls by
//! `early_decrease` with a probability that is RED's gentle curve over the delay: zero up to `min_threshold`, `p_max` at `max_threshold`, one at twice that; not more than
//! once a round trip. Losses and marks halve it.
//!
//! The paper's receivers acknowledge each packet. Where they delay ACKs, the last ACK of a small
//! window waits for the receiver's timer, which looks like a queue and would hold the window at two
//! segments: with `filter_delayed_acks` the smaller of each two successive samples counts. With two
//! or three segments every sample may still be late.

use super::{Ack, CongestionAlgorithm, CongestionControl, MIN_SSTHRESH, Reduction, Window, chance};
use crate::fluid::{FluidTcp, Path, TcpInput};
use crate::meta::{About, Algorithm};
use crate::params::inconsistent;
use crate::{Interval, Scalar, Stream, Time, ValueError, parameters};

parameters! {
    /// Parameters of PERT.
    pub struct PertParams {
        /// Queueing delay up to which no early response happens.
        min_threshold: time = 0.005, in Interval::at_least(0.0), "Bhandarkar et al. 2007, section 3.3";
        /// Queueing delay of probability `p_max`; at twice it the probability is one.
        max_threshold: time = 0.01, in Interval::above(0.0), "Bhandarkar et al. 2007, section 3.3";
        /// Probability of an early response at `max_threshold`, for a packet.
        p_max: number = 0.05, in Interval::between(0.0, 1.0), "Bhandarkar et al. 2007, section 3.3";
        /// Decrease fraction of an early response: the window falls to (1 - early_decrease) w.
        early_decrease: number = 0.35, in Interval::inside(0.0, 1.0), "Bhandarkar et al. 2007, section 3.2";
        /// Weight of a sample in the smoothed RTT.
        weight: number = 0.01, in Interval::above_to(0.0, 1.0), "Bhandarkar et al. 2007, section 2";
        /// Whether single late samples, as delayed ACKs make them, do not count.
        filter_delayed_acks: flag = true, "ours";
    }
}

impl<S: Scalar> PertParams<S> {
    /// Probability of an early response at a queueing delay, s; zero where it is not known.
    fn probability(&self, delay: S) -> S {
        let Self {
            min_threshold,
            max_threshold,
            p_max,
            ..
        } = *self;
        let one = S::from_f64(1.0);
        if delay.re().is_nan() || delay.re() <= min_threshold.re() {
            S::from_f64(0.0)
        } else if delay.re() <= max_threshold.re() {
            p_max * (delay - min_threshold) / (max_threshold - min_threshold)
        } else {
            (p_max + (one - p_max) * (delay - max_threshold) / max_threshold).min(one)
        }
    }

    /// What one acknowledgement adds at a mean queueing delay, early responses included: they come
    /// with probability p / (1 + p w), as none comes in the round trip after one.
    fn step(&self, window: S, delay: S, per_ack: bool) -> S {
        let one = S::from_f64(1.0);
        let p = self.probability(delay);
        let early = p / (p * window + 1.0);
        let grows = if per_ack { one - early } else { one };
        grows / window - early * self.early_decrease * window
    }
}

impl Algorithm for PertParams {
    const ABOUT: About = About {
        kind: "pert",
        title: "PERT",
        summary: "Emulates RED at the sender: Reno with random early decreases by a probability that rises with the smoothed queueing delay.",
        citation: "S. Bhandarkar, A. L. N. Reddy, Y. Zhang and D. Loguinov, Emulating AQM from end hosts, SIGCOMM 2007",
        ecn: true,
    };

    fn check(&self) -> Result<(), ValueError> {
        if self.max_threshold > self.min_threshold {
            return Ok(());
        }
        Err(inconsistent(
            "max_threshold",
            self.max_threshold,
            format!("above min_threshold, which is {}", self.min_threshold),
        ))
    }
}

impl CongestionAlgorithm for PertParams {
    type Controller = Pert;

    fn build(&self, _flow: u32) -> Pert {
        Pert {
            average: f64::NAN,
            sample: f64::INFINITY,
            last: None,
            params: *self,
        }
    }
}

impl FluidTcp for PertParams {
    type Over<S: Scalar> = PertParams<S>;

    const APPROXIMATION: Option<&'static str> = Some(
        "with early responses at their mean rate for the smoothed delay, one a round trip at most",
    );

    const BY_DELAY: bool = true;

    /// (1 - e) / w - e `early_decrease` w, where e is the probability of an early response at the
    /// delay of now: the emulated RED of Bhandarkar et al. as a rate (as Budzisz et al., IEEE/ACM
    /// Transactions on Networking 19(6), 2011, equation (2), has the back-offs of Cx-TCP).
    fn increase<S: Scalar>(params: &PertParams<S>, window: S, path: &Path<S>) -> S {
        params.step(window, path.delay(), true)
    }

    /// w / 2.
    fn decrease<S: Scalar>(_params: &PertParams<S>, window: S, _path: &Path<S>) -> S {
        window * 0.5
    }

    fn state_names<S: Scalar>(_params: &PertParams<S>) -> &'static [&'static str] {
        &["window (packets)", "mean RTT (s)"]
    }

    fn start<S: Scalar>(_params: &PertParams<S>, window: S, path: &Path<S>, state: &mut [S]) {
        state[0] = window;
        state[1] = path.measured;
    }

    /// The mean RTT follows with `weight` a sample.
    fn derivative<S: Scalar>(
        params: &PertParams<S>,
        input: &TcpInput<S>,
        state: &[S],
        rate: &mut [S],
    ) {
        let TcpInput {
            acks,
            signals,
            per_ack,
            path,
        } = input;
        let (window, average) = (state[0], state[1]);
        let step = params.step(window, average - path.base_rtt, *per_ack);
        rate[0] = step * *acks - window * 0.5 * *signals;
        rate[1] = params.weight * *acks * (path.measured - average);
    }
}

/// PERT at work.
#[derive(Clone, Copy, Debug)]
pub struct Pert {
    /// srtt_0.99, s; NaN before the first sample.
    average: f64,
    /// The last RTT sample, s; infinite before the first and without the filter.
    sample: f64,
    /// The last early response.
    last: Option<Time>,
    params: PertParams,
}

impl CongestionControl for Pert {
    #[inline]
    fn on_ack(&mut self, ack: &Ack, window: &mut Window, random: &mut Stream) {
        if !ack.rtt.is_nan() {
            let rtt = ack.rtt.min(self.sample);
            if self.params.filter_delayed_acks {
                self.sample = ack.rtt;
            }
            if self.average.is_nan() {
                self.average = rtt;
            }
            self.average += self.params.weight * (rtt - self.average);
        }
        let p = self.params.probability(self.average - ack.min_rtt);
        let due = self
            .last
            .is_none_or(|last| ack.now.since(last).seconds() >= ack.srtt);
        if due && chance(p, ack.acked, random) {
            self.last = Some(ack.now);
            window.ssthresh = (window.cwnd * (1.0 - self.params.early_decrease)).max(MIN_SSTHRESH);
            window.cwnd = window.ssthresh.min(window.cwnd);
        } else if ack.cwnd_limited {
            let acked = window.slow_start(f64::from(ack.acked));
            window.cwnd += acked / window.cwnd;
        }
    }

    fn on_congestion(&mut self, reduction: &Reduction, window: &mut Window) {
        window.ssthresh = (0.5 * reduction.window_used).max(MIN_SSTHRESH);
        window.cwnd = window.ssthresh;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Parameters as _;
    use crate::congestion::test::{ack, loss, random};

    fn params() -> PertParams {
        PertParams::from_values(&[]).unwrap()
    }

    #[test]
    fn the_curve_is_gentle_reds() {
        let p = |ms: f64| params().probability(1e-3 * ms);
        assert_eq!(
            (p(f64::NAN), p(5.0), p(20.0), p(50.0)),
            (0.0, 0.0, 1.0, 1.0)
        );
        assert!((p(7.5) - 0.025).abs() < 1e-15 && (p(10.0) - 0.05).abs() < 1e-15);
        assert!((p(15.0) - 0.525).abs() < 1e-12);
    }

    /// ACKs every 10 ms of RTT 0.1 + `delay`; the instants at which the window fell.
    fn falls(delay: f64, acks: u32) -> Vec<u32> {
        let mut control = params().build(0);
        let mut draws = random();
        let sample = |n: u32, rtt: f64| Ack {
            now: Time::from_seconds(0.01 * f64::from(n)),
            rtt,
            min_rtt: 0.1,
            srtt: rtt,
            ..ack(1)
        };
        control.average = 0.1 + delay;
        (0..acks)
            .filter(|n| {
                let mut window = Window {
                    cwnd: 100.0,
                    ssthresh: 2.0,
                };
                control.on_ack(&sample(*n, 0.1 + delay), &mut window, &mut draws);
                assert!([65.0, 100.01].contains(&window.cwnd), "{}", window.cwnd);
                window.cwnd == 65.0
            })
            .collect()
    }

    #[test]
    fn early_responses_take_35_per_cent_once_a_round_trip() {
        assert!(falls(0.004, 1000).is_empty());
        // certain at 25 ms: every 13th ACK of 10 ms, the first after a round trip of 125 ms
        assert_eq!(falls(0.025, 48), [0, 13, 26, 39]);
        // p = 0.05 at 10 ms: 11 ACKs of a round trip, then 20 on average; 100,000 / 30 = 3333
        let count = falls(0.01, 100_000).len();
        assert!((3150..3520).contains(&count), "{count}");
    }

    #[test]
    fn delayed_acks_are_filtered() {
        let mut control = params().build(0);
        let mut window = Window {
            cwnd: 3.0,
            ssthresh: 2.0,
        };
        for n in 0..1000 {
            let sample = Ack {
                rtt: if n % 2 == 0 { 0.1 } else { 0.14 },
                min_rtt: 0.1,
                ..ack(1)
            };
            control.on_ack(&sample, &mut window, &mut random());
            assert_eq!(control.average, 0.1);
        }
    }

    #[test]
    fn the_smoothed_rtt_forgets_a_hundredth_a_sample() {
        let literal = PertParams {
            filter_delayed_acks: false,
            ..params()
        };
        let mut control = literal.build(0);
        let mut window = Window {
            cwnd: 100.0,
            ssthresh: 2.0,
        };
        for rtt in [0.1, f64::NAN, 0.2] {
            let sample = Ack {
                rtt,
                min_rtt: 0.1,
                srtt: 0.1,
                ..ack(1)
            };
            control.on_ack(&sample, &mut window, &mut random());
        }
        assert!((control.average - 0.101).abs() < 1e-15);
        control.on_congestion(&loss(100.0), &mut window);
        assert_eq!((window.cwnd, window.ssthresh), (50.0, 50.0));
    }
}
