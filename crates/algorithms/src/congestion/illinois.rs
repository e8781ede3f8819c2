//! TCP-Illinois: an AIMD whose increase falls, and whose decrease rises, with the queueing delay.
//!
//! Once a round trip the mean d_a of its queueing delays is compared with the largest such mean so
//! far, d_m:
//!
//! - increase alpha = alpha_max up to d_1 = eta_1 d_m, and beyond it kappa_1 / (kappa_2 + d_a), which falls to alpha_min at d_m. Once above d_1, the delay must
//!   stay below it for theta round trips before alpha is alpha_max again;
//! - decrease fraction beta = beta_min up to d_2 = eta_2 d_m, beta_max from d_3 = eta_3 d_m on, linear between.
//!
//! Windows below `small_window` have alpha = 1 and beta = 1/2; so has a sender after a timeout
//! until the next round is measured.
//!
//! With `form = "linux"`, every ACK is a sample; d_m is the largest single delay, not the largest
//! mean; alpha is alpha_max until the first round ends; what a round below `small_window` has set
//! holds for the next loss; rounds of low delay count towards theta however many others lie between
//! them; alpha counts in 128ths and beta in 64ths, rounded down; and an ACK counts for all that it
//! covers, what was acknowledged selectively before included, so that the one that ends a recovery
//! lets the window jump by about alpha.

use super::{
    Ack, CongestionAlgorithm, CongestionControl, Form, Forms, LINUX_FORM, MIN_SSTHRESH, Needs,
    Reduction, SegmentCount, Signal, Window,
};
use crate::fluid::{FluidTcp, Path};
use crate::meta::{About, Algorithm};
use crate::params::inconsistent;
use crate::{DefaultValue, Interval, Scalar, Stream, ValueError, parameters};

parameters! {
    /// Parameters of TCP-Illinois.
    pub struct IllinoisParams {
        /// Smallest increase, packets a round trip.
        alpha_min: number = 0.3, in Interval::above(0.0), "Liu, Basar and Srikant 2008, section 2";
        /// Largest increase, packets a round trip.
        alpha_max: number = 10.0, in Interval::above(0.0), "Liu, Basar and Srikant 2008, section 2";
        /// Smallest decrease fraction: the window falls to (1 - beta) w.
        beta_min: number = 0.125, in Interval::inside(0.0, 1.0), "Liu, Basar and Srikant 2008, section 2";
        /// Largest decrease fraction.
        beta_max: number = 0.5, in Interval::inside(0.0, 1.0), "Liu, Basar and Srikant 2008, section 2";
        /// Share of the largest queueing delay up to which the increase is the largest.
        eta_1: number = 0.01, in Interval::from_below(0.0, 1.0), "Liu, Basar and Srikant 2008, section 2";
        /// Share of the largest queueing delay up to which the decrease is the smallest.
        eta_2: number = 0.1, in Interval::between(0.0, 1.0), "Liu, Basar and Srikant 2008, section 2";
        /// Share of the largest queueing delay from which the decrease is the largest.
        eta_3: number = 0.8, in Interval::between(0.0, 1.0), "Liu, Basar and Srikant 2008, section 2";
        /// Round trips of low delay until the increase is the largest again.
        theta: number = 5.0, in Interval::at_least(1.0), "Liu, Basar and Srikant 2008, section 2";
        /// Window below which the sender is Reno.
        small_window: packets = 10.0, in Interval::at_least(0.0), "Liu, Basar and Srikant 2008, section 2";
        /// The algorithm as published, or as Linux implements it.
        form: choice(Form) = Paper, "style: Linux 6.1";
    }
}

impl IllinoisParams {
    /// alpha for mean queueing delays da (s) above d_1, at most dm (s).
    fn alpha(&self, da: f64, dm: f64) -> f64 {
        let d1 = self.eta_1 * dm;
        // kappa_1 / (kappa_2 + da), written so that alpha_min = alpha_max is no division by zero
        let way = (da - d1) / (dm - d1);
        self.alpha_max / (1.0 + way * (self.alpha_max / self.alpha_min - 1.0))
    }

    fn beta(&self, da: f64, dm: f64) -> f64 {
        let (d2, d3) = (self.eta_2 * dm, self.eta_3 * dm);
        if da <= d2 {
            self.beta_min
        } else if da >= d3 {
            self.beta_max
        } else {
            self.beta_min + (self.beta_max - self.beta_min) * (da - d2) / (d3 - d2)
        }
    }
}

impl Algorithm for IllinoisParams {
    const ABOUT: About = About {
        kind: "illinois",
        title: "TCP-Illinois",
        summary: "An AIMD driven by losses whose increase is large and decrease small while queueing delays are short, and the other way round when they are long.",
        citation: "S. Liu, T. Basar and R. Srikant, TCP-Illinois: a loss- and delay-based congestion control algorithm for high-speed networks, \
                   Performance Evaluation 65, 2008",
        ecn: true,
    };

    const LINUX: &'static [(&'static str, DefaultValue)] =
        &[LINUX_FORM, ("small_window", DefaultValue::Number(15.0))];

    fn check(&self) -> Result<(), ValueError> {
        for (name, value, below, least) in [
            ("alpha_max", self.alpha_max, "alpha_min", self.alpha_min),
            ("beta_max", self.beta_max, "beta_min", self.beta_min),
            ("eta_3", self.eta_3, "eta_2", self.eta_2),
        ] {
            if value < least {
                return Err(inconsistent(
                    name,
                    value,
                    format!("not below {below}, which is {least}"),
                ));
            }
        }
        Ok(())
    }
}

impl CongestionAlgorithm for IllinoisParams {
    type Controller = Forms<PaperIllinois, LinuxIllinois>;

    fn build(&self, _flow: u32) -> Self::Controller {
        let law = Law {
            alpha: match self.form {
                Form::Paper => 1.0,
                Form::Linux => self.alpha_max,
            },
            beta: 0.5,
            max_delay: 0.0,
            rtt_sum: 0.0,
            rtt_samples: 0,
            low_rounds: None,
            params: Box::new(*self),
        };
        match self.form {
            Form::Paper => Forms::Paper(PaperIllinois(law)),
            Form::Linux => Forms::Linux(LinuxIllinois {
                count: SegmentCount::default(),
                max_rtt: 0.0,
                round_end: 0,
                law,
            }),
        }
    }
}

impl FluidTcp for IllinoisParams {
    type Over<S: Scalar> = IllinoisParams<S>;

    const APPROXIMATION: Option<&'static str> = Some(
        "with the increase and decrease of short queueing delays (Manjunath and Raina, table I): in packets they hold up to a hundredth and a tenth (eta_1, eta_2) of the longest delay met; over a standing queue its flows grow up to thirty times more slowly and lose far less",
    );

    /// alpha_max / w.
    fn increase<S: Scalar>(params: &IllinoisParams<S>, window: S, _path: &Path<S>) -> S {
        params.alpha_max / window
    }

    /// beta_min w.
    fn decrease<S: Scalar>(params: &IllinoisParams<S>, window: S, _path: &Path<S>) -> S {
        params.beta_min * window
    }

    /// `small_window`. The increase is ten times as large from there on.
    fn small_below<S: Scalar>(params: &IllinoisParams<S>, _path: &Path<S>) -> S {
        params.small_window
    }
}

/// Steps of alpha and beta between 0 and 1, in kernels.
const ALPHA_STEPS: f64 = 128.0;
const BETA_STEPS: f64 = 64.0;

/// The common part of both forms: increase and decrease, and the round's samples.
#[derive(Clone, Debug)]
struct Law {
    alpha: f64,
    beta: f64,
    /// Largest mean queueing delay of a round, s; in Linux the largest single one.
    max_delay: f64,
    /// Round-trip samples of the round, s.
    rtt_sum: f64,
    rtt_samples: u32,
    /// Rounds of low delay since the delay was above d_1; `None` before it ever was.
    low_rounds: Option<u32>,
    params: Box<IllinoisParams>,
}

impl Law {
    #[inline]
    fn sample(&mut self, rtt: f64) {
        if !rtt.is_nan() {
            self.rtt_sum += rtt;
            self.rtt_samples += 1;
        }
    }

    /// The mean queueing delay of the round, NaN without samples; a new round begins.
    fn take_delay(&mut self, base_rtt: f64) -> f64 {
        let mean = self.rtt_sum / f64::from(self.rtt_samples);
        (self.rtt_sum, self.rtt_samples) = (0.0, 0);
        if mean.is_nan() {
            mean
        } else {
            (mean - base_rtt).max(0.0)
        }
    }

    fn become_reno(&mut self) {
        (self.alpha, self.beta) = (1.0, 0.5);
    }

    /// A round of low delay is over: after theta of them alpha is alpha_max again.
    fn count_low_round(&mut self) {
        self.low_rounds = self.low_rounds.map(|rounds| rounds + 1);
        if self
            .low_rounds
            .is_none_or(|rounds| f64::from(rounds) >= self.params.theta)
        {
            self.low_rounds = None;
            self.alpha = self.params.alpha_max;
        }
    }

    /// Sets the window to `left` after a signal.
    fn reduce_to(&mut self, left: f64, signal: Signal, window: &mut Window) {
        window.ssthresh = left.max(MIN_SSTHRESH);
        window.cwnd = window.ssthresh;
        if signal == Signal::Timeout {
            self.become_reno();
            (self.rtt_sum, self.rtt_samples) = (0.0, 0);
            self.low_rounds = None;
        }
    }
}

/// TCP-Illinois at work.
#[derive(Clone, Debug)]
pub struct PaperIllinois(Law);

impl PaperIllinois {
    fn end_round(&mut self, base_rtt: f64, cwnd: f64) {
        let law = &mut self.0;
        let delay = law.take_delay(base_rtt);
        law.max_delay = law.max_delay.max(delay);
        if cwnd < law.params.small_window {
            law.become_reno();
            return;
        }
        law.beta = law.params.beta(delay, law.max_delay);
        if delay > law.params.eta_1 * law.max_delay {
            law.low_rounds = Some(0);
            law.alpha = law.params.alpha(delay, law.max_delay);
        } else {
            law.count_low_round();
        }
    }
}

impl CongestionControl for PaperIllinois {
    #[inline]
    fn on_ack(&mut self, ack: &Ack, window: &mut Window, _random: &mut Stream) {
        self.0.sample(ack.rtt);
        if ack.round_start && self.0.rtt_samples > 0 {
            self.end_round(ack.min_rtt, window.cwnd);
        }
        if ack.cwnd_limited {
            let acked = window.slow_start(f64::from(ack.acked));
            if acked > 0.0 {
                window.cwnd += self.0.alpha * acked / window.cwnd;
            }
        }
    }

    fn on_congestion(&mut self, reduction: &Reduction, window: &mut Window) {
        let used = reduction.window_used;
        let beta = if used < self.0.params.small_window {
            0.5
        } else {
            self.0.beta
        };
        self.0
            .reduce_to(used * (1.0 - beta), reduction.signal, window);
    }
}

/// TCP-Illinois at work as in Linux.
#[derive(Clone, Debug)]
pub struct LinuxIllinois {
    /// Packets acknowledged, and the largest RTT.
    count: SegmentCount,
    max_rtt: f64,
    /// The round is over once more than this is acknowledged.
    round_end: u64,
    law: Law,
}

impl LinuxIllinois {
    fn end_round(&mut self, base_rtt: f64, cwnd: f64) {
        let law = &mut self.law;
        let delay = law.take_delay(base_rtt);
        if cwnd < law.params.small_window {
            law.become_reno();
            return;
        }
        if delay.is_nan() {
            return;
        }
        law.max_delay = self.max_rtt - base_rtt;
        law.beta = (BETA_STEPS * law.params.beta(delay, law.max_delay)).floor() / BETA_STEPS;
        if delay > law.params.eta_1 * law.max_delay {
            law.low_rounds = law.low_rounds.or(Some(0));
            let alpha = law.params.alpha(delay, law.max_delay);
            law.alpha = (ALPHA_STEPS * alpha).floor() / ALPHA_STEPS;
        } else {
            law.count_low_round();
        }
    }
}

impl CongestionControl for LinuxIllinois {
    fn needs(&self) -> Needs {
        Needs {
            every_ack: true,
            ..Needs::default()
        }
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack, window: &mut Window, _random: &mut Stream) {
        if ack.una > self.round_end {
            self.end_round(ack.min_rtt, window.cwnd);
            self.round_end = ack.next;
        }
        if !ack.cwnd_limited {
            return;
        }
        if window.in_slow_start() {
            window.slow_start(f64::from(ack.acked));
            return;
        }
        self.count.0 += f64::from(ack.covered);
        let due = (self.count.0 * self.law.alpha).floor();
        if due >= window.cwnd {
            window.cwnd += (due / window.cwnd).floor();
            self.count.clear();
        }
    }

    fn on_every_ack(&mut self, ack: &Ack) {
        self.law.sample(ack.rtt);
        self.max_rtt = self.max_rtt.max(ack.rtt); // NaN is not larger
    }

    fn on_congestion(&mut self, reduction: &Reduction, window: &mut Window) {
        let used = reduction.window_used;
        let left = used - (used * self.law.beta).floor();
        self.count.clear();
        self.law.reduce_to(left, reduction.signal, window);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Parameters as _;
    use crate::congestion::test::{PATH, ack, loss, random};

    fn params() -> IllinoisParams {
        IllinoisParams::from_values(&[]).unwrap()
    }

    /// A round of one ACK with queueing delay `delay` over a base of 0.1 s; the window is 100
    /// segments.
    fn round(control: &mut PaperIllinois, delay: f64) {
        let ack = Ack {
            rtt: 0.1 + delay,
            min_rtt: 0.1,
            round_start: true,
            cwnd_limited: false,
            ..ack(1)
        };
        let mut window = Window {
            cwnd: 100.0,
            ssthresh: 2.0,
        };
        control.on_ack(&ack, &mut window, &mut random());
    }

    #[test]
    fn increase_and_decrease_by_delay() {
        let p = params();
        // d_m = 100 ms: d_1 = 1, d_2 = 10, d_3 = 80 ms
        let (k1, k2) = (
            0.099 * 0.3 * 10.0 / (10.0 - 0.3),
            0.099 * 0.3 / (10.0 - 0.3) - 0.001,
        );
        for da in [0.001, 0.002, 0.01, 0.05, 0.1] {
            assert!(
                (p.alpha(da, 0.1) - k1 / (k2 + da)).abs() < 1e-9,
                "{da}: kappa_1 / (kappa_2 + d_a)"
            );
        }
        assert!((p.alpha(0.001, 0.1) - 10.0).abs() < 1e-9);
        assert!((p.alpha(0.1, 0.1) - 0.3).abs() < 1e-9);
        for (da, beta) in [
            (0.0, 0.125),
            (0.01, 0.125),
            (0.045, 0.3125),
            (0.08, 0.5),
            (0.1, 0.5),
        ] {
            assert!((p.beta(da, 0.1) - beta).abs() < 1e-12, "{da}");
        }
    }

    #[test]
    fn the_largest_mean_delay_is_the_measure() {
        let mut control = params().build(0).paper();
        round(&mut control, 0.0);
        assert_eq!((control.0.alpha, control.0.beta), (10.0, 0.125)); // no queue was ever seen
        round(&mut control, 0.05);
        assert!((control.0.alpha - 0.3).abs() < 1e-9 && control.0.beta == 0.5);
        round(&mut control, 0.1);
        round(&mut control, 0.045);
        assert!((control.0.beta - 0.3125).abs() < 1e-9);
        assert!((control.0.alpha - params().alpha(0.045, 0.1)).abs() < 1e-9);
    }

    #[test]
    fn the_largest_increase_returns_after_theta_rounds() {
        let mut control = params().build(0).paper();
        round(&mut control, 0.1);
        let slow = control.0.alpha;
        for _ in 0..4 {
            round(&mut control, 0.0);
            assert_eq!((control.0.alpha, control.0.beta), (slow, 0.125));
        }
        round(&mut control, 0.0);
        assert_eq!(control.0.alpha, 10.0);
    }

    #[test]
    fn a_round_adds_alpha_and_a_loss_takes_beta() {
        let mut control = params().build(0).paper();
        round(&mut control, 0.0);
        let mut window = Window {
            cwnd: 100.0,
            ssthresh: 100.0,
        };
        control.on_ack(&ack(1), &mut window, &mut random());
        assert!((window.cwnd - 100.1).abs() < 1e-12);
        control.on_congestion(&loss(100.0), &mut window);
        assert_eq!(window.cwnd, 87.5);
        control.on_congestion(&loss(9.0), &mut window); // small windows are Reno's
        assert_eq!(window.cwnd, 4.5);
        control.on_congestion(
            &Reduction {
                signal: Signal::Timeout,
                ..loss(100.0)
            },
            &mut window,
        );
        assert_eq!((control.0.alpha, control.0.beta), (1.0, 0.5));
    }

    #[test]
    fn fluid_equilibrium() {
        // alpha / w = beta w p: w = sqrt(alpha / (beta p)) = sqrt(80 / p)
        let p: f64 = 1e-3;
        let w = (80.0 / p).sqrt();
        let balance = IllinoisParams::increase(&params(), w, &PATH)
            - IllinoisParams::decrease(&params(), w, &PATH) * p;
        assert!(balance.abs() < 1e-14);
    }

    #[test]
    fn limits_in_the_wrong_order_are_refused() {
        let wrong = IllinoisParams {
            alpha_min: 11.0,
            ..params()
        };
        assert_eq!(wrong.check().unwrap_err().name, "alpha_max");
    }

    /// Linux: d_m is the largest single delay, and rounds of low delay add up.
    #[test]
    fn whole_packets_as_in_linux() {
        let linux = IllinoisParams {
            form: Form::Linux,
            small_window: 15.0,
            ..params()
        };
        let mut control = linux.build(0).linux();
        assert_eq!(control.law.alpha, 10.0);
        let sample = |rtt: f64| Ack { rtt, ..ack(1) };
        let mut una = 0;
        let mut end = |control: &mut LinuxIllinois, rtts: &[f64]| {
            una += 10;
            for &rtt in rtts {
                control.on_every_ack(&sample(rtt));
            }
            let ends = Ack {
                una,
                next: una + 9,
                min_rtt: 0.1,
                cwnd_limited: false,
                ..ack(1)
            };
            let mut window = Window {
                cwnd: 100.0,
                ssthresh: 2.0,
            };
            control.on_ack(&ends, &mut window, &mut random());
        };
        end(&mut control, &[0.1, 0.2]);
        // 50 ms of 100 ms
        let steps = (128.0 * linux.alpha(0.05, 0.1)).floor();
        assert_eq!(control.law.alpha, steps / 128.0);
        for low in 1..=5 {
            end(&mut control, &[0.2]);
            assert!(control.law.alpha < 1.0);
            end(&mut control, &[0.1]);
            assert_eq!(control.law.alpha == 10.0, low == 5, "{low}");
        }
        // the ACK that ends a recovery counts for all that it covers: 20 x 10 / 24 is 8 packets
        let mut window = Window {
            cwnd: 24.0,
            ssthresh: 24.0,
        };
        let jump = Ack {
            covered: 20,
            ..ack(1)
        };
        control.on_ack(&jump, &mut window, &mut random());
        assert_eq!(window.cwnd, 32.0);
    }
}
