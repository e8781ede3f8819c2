//! Cx-TCP: an AIMD that also backs off at random by its queueing delay, and less so again where the
//! delay shows that loss-based flows fill the queue.
//!
//! On each ACK (algorithm 1): the queueing delay delta is estimated, the window falls as at a loss
//! with probability p(delta), else it grows. p rises linearly from zero at `delta_min` to `p_max`
//! at `delta_th` (region A, where flows of its kind alone settle) and falls from there with the
//! fourth power of the distance to delta_max = RTT_max - RTT_min (region B, where loss rules).
//! Nothing limits back-offs to one a window.
//!
//! - delta is a weighted mean of the RTT less its minimum. A sample's weight is in proportion to RTT / cwnd, the time between samples, so that flows of any RTT and
//!   window forget in the same time; how long that is (`averaging_time`) the paper does not say. 30 flows at 50 Mbit/s use 97 to 98 % of the link with 0.03 to 1 s
//!   (printed: 95 to 97 %); with 1 s 50 flows of 100 ms at 25 Mbit/s are already in loss mode, with 0.3 s and less not (printed: 50 to 55 flows).
//! - The paper speaks of packets where an ACK is for one: an ACK for more draws for each of them.
//! - `base` says what the AIMD is: Reno, or HighSpeed TCP with the parameters of RFC 3649 (section V-B), which then also decides the fall: b(w), which is 1/2 up to
//!   38 segments. Slow start is the base's, with back-offs.

use super::highspeed::RFC_3649;
use super::{Ack, CongestionAlgorithm, CongestionControl, MIN_SSTHRESH, Reduction, Window, chance};
use crate::fluid::{FluidTcp, Path, TcpInput};
use crate::meta::{About, Algorithm};
use crate::params::inconsistent;
use crate::{Interval, NumberOr, Scalar, Stream, ValueError, choices, parameters};

choices! {
    /// The AIMD under Cx-TCP.
    pub enum CxBase {
        /// One segment a round trip, halving.
        Reno = "reno",
        /// a(w) and b(w) of RFC 3649.
        Highspeed = "highspeed",
    }
}

parameters! {
    /// Parameters of Cx-TCP.
    pub struct CxParams {
        /// The AIMD that grows the window and says what a back-off takes.
        base: choice(CxBase) = Reno, "Budzisz et al., algorithm 1 and section V-B";
        /// Queueing delay up to which no back-off happens.
        delta_min: time = 0.005, in Interval::at_least(0.0), "Budzisz et al., section IV";
        /// Queueing delay of the largest back-off probability.
        delta_th: time = 0.02, in Interval::above(0.0), "Budzisz et al., section IV";
        /// Queueing delay from which no back-off happens; "measured": the largest RTT seen less the
        /// smallest.
        delta_max: time("measured") = word "measured", in Interval::above(0.0), "Budzisz et al., algorithm 1";
        /// Largest probability of a back-off a packet.
        p_max: number = 0.05, in Interval::between(0.0, 1.0), "Budzisz et al., section IV";
        /// Exponent of the probability's fall from `delta_th` to `delta_max`.
        power: number = 4.0, in Interval::above(0.0), "Budzisz et al., algorithm 1";
        /// Time constant of the mean RTT. Our choice: the paper gives the weight of a sample up to
        /// a constant.
        averaging_time: time = 0.1, in Interval::above(0.0), "ours; Budzisz et al., section II, has the proportion";
    }
}

impl<S: Scalar> CxParams<S> {
    /// p(delta) where the largest queueing delay is `largest`, s.
    #[must_use]
    pub fn probability(&self, delay: S, largest: S) -> S {
        let zero = S::from_f64(0.0);
        if delay.re() <= self.delta_min.re() {
            zero
        } else if delay.re() <= self.delta_th.re() {
            self.p_max * (delay - self.delta_min) / (self.delta_th - self.delta_min)
        } else if largest.re().is_infinite() {
            self.p_max
        } else if delay.re() < largest.re() {
            let rest = (largest - delay) / (largest - self.delta_th);
            self.p_max * rest.pow(self.power)
        } else {
            zero
        }
    }

    /// a(w) and b(w).
    fn aimd(&self, window: S) -> (S, S) {
        match self.base {
            CxBase::Reno => (S::from_f64(1.0), S::from_f64(0.5)),
            CxBase::Highspeed => RFC_3649.lift().aimd(window),
        }
    }

    /// The change by one acknowledgement at a mean queueing delay, back-offs included.
    fn step(&self, window: S, delay: S, path: &Path<S>, per_ack: bool) -> S {
        let one = S::from_f64(1.0);
        let largest = self.delta_max.or_else(|_| path.full - path.base_rtt);
        let p = self.probability(delay, largest);
        let (a, b) = self.aimd(window);
        let grows = if per_ack { one - p } else { one };
        grows * a / window - p * b * window
    }
}

impl Algorithm for CxParams {
    const ABOUT: About = About {
        kind: "cx",
        title: "Cx-TCP",
        summary: "Backs off at random by a probability that first rises and then falls with the queueing delay: short queues among its own kind, and its share beside \
                  loss-based flows.",
        citation: "L. Budzisz, R. Stanojevic, A. Schlote, F. Baker and R. Shorten, On the fair coexistence of loss- and delay-based TCP, \
                   IEEE/ACM Transactions on Networking 19(6), 2011",
        ecn: true,
    };

    fn check(&self) -> Result<(), ValueError> {
        let wrong = |name: &str, value: f64, below: &str, least: f64| {
            Err(inconsistent(
                name,
                value,
                format!("above {below}, which is {least}"),
            ))
        };
        if self.delta_th <= self.delta_min {
            return wrong("delta_th", self.delta_th, "delta_min", self.delta_min);
        }
        match self.delta_max {
            NumberOr::Number(largest) if largest <= self.delta_th => {
                wrong("delta_max", largest, "delta_th", self.delta_th)
            }
            _ => Ok(()),
        }
    }
}

impl CongestionAlgorithm for CxParams {
    type Controller = Cx;

    fn build(&self, _flow: u32) -> Cx {
        Cx {
            average: f64::NAN,
            max_rtt: 0.0,
            params: *self,
        }
    }
}

impl FluidTcp for CxParams {
    type Over<S: Scalar> = CxParams<S>;

    const APPROXIMATION: Option<&'static str> = Some(
        "with back-offs at their mean rate for the mean delay (Budzisz et al. 2011, equation (2)); a measured delta_max is that of full queues",
    );

    const BY_DELAY: bool = true;

    /// (1 - p) a(w) / w - p b(w) w with the p of the delay of now: equation (2), whose growth does
    /// not count the back-offs (growth with time).
    fn increase<S: Scalar>(params: &CxParams<S>, window: S, path: &Path<S>) -> S {
        params.step(window, path.delay(), path, true)
    }

    /// b(w) w: half the window where the base is Reno.
    fn decrease<S: Scalar>(params: &CxParams<S>, window: S, _path: &Path<S>) -> S {
        params.aimd(window).1 * window
    }

    fn state_names<S: Scalar>(_params: &CxParams<S>) -> &'static [&'static str] {
        &["window (packets)", "mean queueing delay (s)"]
    }

    fn start<S: Scalar>(_params: &CxParams<S>, window: S, path: &Path<S>, state: &mut [S]) {
        state[0] = window;
        state[1] = path.delay();
    }

    /// The mean delay follows in `averaging_time`.
    fn derivative<S: Scalar>(
        params: &CxParams<S>,
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
        let (window, delay) = (state[0], state[1]);
        let fall = Self::decrease(params, window, path);
        rate[0] = params.step(window, delay, path, *per_ack) * *acks - fall * *signals;
        rate[1] = (path.delay() - delay) / params.averaging_time;
    }
}

/// Cx-TCP at work.
#[derive(Clone, Copy, Debug)]
pub struct Cx {
    /// Mean RTT, s; NaN before the first sample.
    average: f64,
    /// Largest RTT seen, s.
    max_rtt: f64,
    params: CxParams,
}

impl Cx {
    fn back_off(&self, used: f64, window: &mut Window) {
        window.ssthresh = (used * (1.0 - self.params.aimd(used).1)).max(MIN_SSTHRESH);
        window.cwnd = window.ssthresh.min(window.cwnd);
    }
}

impl CongestionControl for Cx {
    #[inline]
    fn on_ack(&mut self, ack: &Ack, window: &mut Window, random: &mut Stream) {
        if self.average.is_nan() {
            self.average = ack.rtt;
        } else if !ack.rtt.is_nan() {
            let weight = self.average / (window.cwnd * self.params.averaging_time);
            self.average += weight.min(1.0) * (ack.rtt - self.average);
        }
        self.max_rtt = self.max_rtt.max(ack.rtt); // NaN is not larger
        let largest = match self.params.delta_max {
            NumberOr::Number(largest) => largest,
            NumberOr::Word(_) => self.max_rtt - ack.min_rtt,
        };
        let p = self.params.probability(self.average - ack.min_rtt, largest);
        if chance(p, ack.acked, random) {
            self.back_off(window.cwnd, window);
        } else if ack.cwnd_limited {
            let acked = window.slow_start(f64::from(ack.acked));
            if acked > 0.0 {
                window.cwnd += self.params.aimd(window.cwnd).0 * acked / window.cwnd;
            }
        }
    }

    fn on_congestion(&mut self, reduction: &Reduction, window: &mut Window) {
        self.back_off(reduction.window_used, window);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Parameters as _;
    use crate::congestion::test::{ack, loss, random};

    fn params() -> CxParams {
        CxParams::from_values(&[]).unwrap()
    }

    /// An ACK with queueing delay `delay` over a base of 0.1 s.
    fn delayed(delay: f64) -> Ack {
        Ack {
            rtt: 0.1 + delay,
            min_rtt: 0.1,
            srtt: 0.1 + delay,
            ..ack(1)
        }
    }

    #[test]
    fn algorithm_1_at_its_break_points() {
        // delta_max 100 ms: region A between 5 and 20 ms, region B to 100 ms
        let p = |delay: f64| params().probability(delay, 0.1);
        assert_eq!((p(0.0), p(0.005), p(0.1), p(0.2)), (0.0, 0.0, 0.0, 0.0));
        assert_eq!(p(0.02), 0.05);
        assert!((p(0.0125) - 0.025).abs() < 1e-15); // half way up
        assert!((p(0.06) - 0.05 / 16.0).abs() < 1e-15); // half way down: (1/2)^4
        assert!(p(0.005 + 1e-9) > 0.0 && p(0.02 + 1e-9) < 0.05);
        // no region B where the measured largest delay is below the threshold
        assert_eq!(params().probability(0.021, 0.019), 0.0);
        // the paper's equilibria (section IV-A, 400 flows of 200 ms at 100 Mb/s): W = sqrt(2 / p)
        let w = |delay: f64| (2.0 / p(delay)).sqrt();
        assert!((w(0.017_935_82) - 6.810_494_4).abs() < 1e-5);
        assert!((w(0.023_948_898) - 6.998_403_1).abs() < 1e-5);
    }

    #[test]
    fn the_average_forgets_in_the_same_time_for_any_window_and_rtt() {
        for (cwnd, base) in [(10.0, 0.1), (100.0, 0.1), (40.0, 0.02)] {
            let mut control = params().build(0);
            let mut window = Window {
                cwnd,
                ssthresh: 2.0,
            };
            let sample = |rtt| Ack {
                rtt,
                min_rtt: base,
                cwnd_limited: false,
                ..ack(1)
            };
            control.on_ack(&sample(base), &mut window, &mut random());
            // a step of the RTT by 1 ms: after a tenth of the averaging time 1 - e^-0.1 of it is in
            // the mean
            let acks = (0.1 * params().averaging_time / (base / cwnd)).round() as u32;
            for _ in 0..acks {
                control.on_ack(&sample(base + 0.001), &mut window, &mut random());
            }
            let share = (control.average - base) / 0.001;
            assert!(
                (share / 0.0952 - 1.0).abs() < 0.06,
                "{cwnd} {base}: {share}"
            );
        }
    }

    #[test]
    fn back_offs_come_with_their_probability_and_without_a_limit_a_window() {
        // at the threshold delay 1 ACK in 20 halves, also two in a row
        let mut control = Cx {
            average: 0.12,
            max_rtt: 0.2,
            ..params().build(0)
        };
        let mut draws = random();
        let (mut falls, mut pairs, mut last) = (0, 0, false);
        for _ in 0..100_000 {
            let mut window = Window {
                cwnd: 64.0,
                ssthresh: 2.0,
            };
            control.on_ack(&delayed(0.02), &mut window, &mut draws);
            let fell = window.cwnd == 32.0;
            assert!(fell && window.ssthresh == 32.0 || window.cwnd == 64.0 + 1.0 / 64.0);
            falls += u32::from(fell);
            pairs += u32::from(fell && last);
            last = fell;
        }
        // binomial: 5000 +- 69, pairs 250 +- 16
        assert!((4700..5300).contains(&falls), "{falls}");
        assert!((180..320).contains(&pairs), "{pairs}");
    }

    #[test]
    fn an_ack_for_two_draws_for_both() {
        let mut control = Cx {
            average: 0.12,
            max_rtt: 0.2,
            ..params().build(0)
        };
        let mut draws = random();
        let mut falls = 0;
        for _ in 0..100_000 {
            let mut window = Window {
                cwnd: 64.0,
                ssthresh: 2.0,
            };
            let two = Ack {
                acked: 2,
                ..delayed(0.02)
            };
            control.on_ack(&two, &mut window, &mut draws);
            falls += u32::from(window.cwnd == 32.0);
        }
        // 1 - 0.95^2 = 0.0975: 9750 +- 94
        assert!((9370..10_130).contains(&falls), "{falls}");
    }

    #[test]
    fn the_largest_delay_is_measured_or_given() {
        let mut control = params().build(0);
        let mut window = Window {
            cwnd: 20.0,
            ssthresh: 2.0,
        };
        // the delay has never been larger: beyond region B, so no back-off whatever the draw
        for _ in 0..1000 {
            control.on_ack(&delayed(0.05), &mut window, &mut random());
        }
        assert!(window.cwnd > 40.0);
        let given = CxParams {
            delta_max: NumberOr::Number(0.5),
            ..params()
        };
        let mut control = given.build(0);
        for _ in 0..1000 {
            control.on_ack(&delayed(0.05), &mut window, &mut random());
        }
        assert!(params().probability(0.05, 0.5) > 0.03);
        let wrong = CxParams {
            delta_max: NumberOr::Number(0.01),
            ..params()
        };
        assert_eq!(wrong.check().unwrap_err().name, "delta_max");
    }

    #[test]
    fn over_highspeed_it_grows_and_falls_as_that() {
        let over = CxParams {
            base: CxBase::Highspeed,
            ..params()
        };
        let mut control = over.build(0);
        let mut window = Window {
            cwnd: 10_661.0,
            ssthresh: 2.0,
        };
        control.on_ack(&delayed(0.0), &mut window, &mut random());
        let (a, b) = RFC_3649.aimd(10_661.0);
        assert!((window.cwnd - 10_661.0 - a / 10_661.0).abs() < 1e-9);
        control.on_congestion(&loss(10_661.0), &mut window);
        assert!((window.cwnd - 10_661.0 * (1.0 - b)).abs() < 1e-9);
        control.on_congestion(&loss(30.0), &mut window);
        assert_eq!(window.cwnd, 15.0);
    }
}
