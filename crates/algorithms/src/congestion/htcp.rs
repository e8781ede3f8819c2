//! H-TCP: an AIMD whose increase grows with the time since the last loss.
//!
//! - Increase: for the first second (`delta_low`) after a reduction as Reno; from then on with Delta the time since it and x = Delta - delta_low
//!   alpha = 1 + 10 x + (x / 2)^2 segments a round trip, times 2 (1 - beta), so that the mean throughput does not depend on beta.
//! - With `rtt_scaling` also times base RTT / 0.1 s, between 0.1 and 2, and one at least before the factor 2 (1 - beta): the growth in time then depends
//!   less on the RTT.
//! - Decrease: beta (what remains) is RTT_min / RTT_max of the time between reductions, between 0.5 and 0.8: just enough to empty the queue. If the
//!   throughput before this reduction and that before the last differ by more than a fifth, beta is 0.5.
//!
//! Throughput is the largest of the rates of the round trips between two reductions, smoothed with
//! a weight of 1/4. RTT_max fades: after each reduction its distance from RTT_min counts 95 % (both
//! as in Linux).
//!
//! With `form = "linux"`, alpha is a whole number before the factor 2 (1 - beta), and is renewed
//! only as the window grows; the ACK after which it grows does not count; the time since a
//! reduction counts from the end of the answer to it, unused windows included; RTT_max follows by
//! 20 ms a sample at most, in state Open only; up to a base RTT of 10 ms beta is the smallest; the
//! first rounds after a reduction, up to four base RTTs, are not smoothed, and none are measured
//! until it is answered; and of losses at a steady throughput only the second in a row adapts beta.
//! Round trips are whole milliseconds, rounded up, rates whole packets a second, alpha and beta
//! 128ths, each rounded down where it is divided: so RTT_max fades by a millisecond more a loss.

use super::{
    Ack, CaState, CongestionAlgorithm, CongestionControl, Form, Forms, LINUX_FORM, MIN_SSTHRESH,
    Needs, Reduction, Signal, TICKS_PER_SECOND, Window, tick_of, ticks_of,
};
use crate::fluid::{FluidTcp, Path, TcpInput};
use crate::meta::{About, Algorithm};
use crate::params::inconsistent;
use crate::{DefaultValue, Interval, Scalar, Stream, Time, ValueError, parameters};

parameters! {
    /// Parameters of H-TCP.
    pub struct HtcpParams {
        /// Time after a reduction in which the sender is Reno.
        delta_low: time = 1.0, in Interval::at_least(0.0), "draft-leith-tcp-htcp-06, section 3";
        /// Smallest fraction of the window that remains after a reduction.
        beta_min: number = 0.5, in Interval::inside(0.0, 1.0), "draft-leith-tcp-htcp-06, section 3";
        /// Largest fraction of the window that remains after a reduction.
        beta_max: number = 0.8, in Interval::inside(0.0, 1.0), "draft-leith-tcp-htcp-06, section 3";
        /// Change of throughput between reductions, relative, above which beta is the smallest.
        throughput_change: number = 0.2, in Interval::at_least(0.0), "draft-leith-tcp-htcp-06, section 3";
        /// Whether the increase is in proportion to the base RTT.
        rtt_scaling: flag = true, "Linux 6.1";
        /// The algorithm as published, or as Linux implements it.
        form: choice(Form) = Paper, "style: Linux 6.1";
    }
}

impl Algorithm for HtcpParams {
    const ABOUT: About = About {
        kind: "htcp",
        title: "H-TCP",
        summary: "Grows the faster the longer the last loss is ago, and falls by just what empties the queue.",
        citation: "D. Leith and R. Shorten, H-TCP: TCP for high-speed and long-distance networks, PFLDnet 2004; draft-leith-tcp-htcp-06 (2008)",
        ecn: true,
    };

    const LINUX: &'static [(&'static str, DefaultValue)] = &[LINUX_FORM];

    fn check(&self) -> Result<(), ValueError> {
        if self.beta_max >= self.beta_min {
            return Ok(());
        }
        Err(inconsistent(
            "beta_max",
            self.beta_max,
            format!("not below beta_min, which is {}", self.beta_min),
        ))
    }
}

impl HtcpParams {
    /// The increase function, segments a round trip, `since` seconds after the last reduction.
    fn increase(&self, since: f64) -> f64 {
        let x = since - self.delta_low;
        if x > 0.0 {
            1.0 + 10.0 * x + 0.25 * x * x
        } else {
            1.0
        }
    }

    /// Whether the throughput before a reduction (`rate`) is that before the last one (`last`).
    fn is_steady(&self, rate: f64, last: f64) -> bool {
        (rate - last).abs() <= self.throughput_change * last
    }
}

impl CongestionAlgorithm for HtcpParams {
    type Controller = Forms<PaperHtcp, LinuxHtcp>;

    fn build(&self, _flow: u32) -> Self::Controller {
        match self.form {
            Form::Paper => Forms::Paper(PaperHtcp {
                beta: self.beta_min,
                last: Time::NEVER,
                last_ack: Time::ZERO,
                max_rtt: 0.0,
                throughput: Throughput::NONE,
                params: Box::new(*self),
            }),
            Form::Linux => Forms::Linux(LinuxHtcp::new(*self)),
        }
    }
}

impl<S: Scalar> HtcpParams<S> {
    /// Mean increase, segments a round trip, where losses come at random and the last one is `age`
    /// seconds ago on average; without the factor 2 (1 - beta).
    ///
    /// With the scale k of the round trip the increase is 1 up to a time t and k (1 + 10 x + x^2 /
    /// 4), x seconds after delta_low, from there on. The time since the last of random losses is
    /// distributed exponentially: the mean of (s - t)^n beyond t is n! age^n e^(-t / age).
    fn mean_increase(&self, age: S, base_rtt: S) -> S {
        let one = S::from_f64(1.0);
        let scale = if self.rtt_scaling {
            (base_rtt / 0.1).max(S::from_f64(0.1)).min(S::from_f64(2.0))
        } else {
            one
        };
        // where k (1 + 10 x + x^2 / 4) reaches one; a larger scale counts at once
        let (least, x) = if scale.re() < 1.0 {
            (one, (one / scale + 99.0).sqrt() * 2.0 - 20.0)
        } else {
            (scale, S::from_f64(0.0))
        };
        let later = (-(self.delta_low + x) / age).exp();
        least + scale * later * ((x * 0.5 + 10.0) * age + age * age * 0.5)
    }

    /// The fraction that remains on average: base over largest round trip, that of now, at
    /// reductions before which the throughput was steady, and beta_min at all others.
    fn remains(&self, path: &Path<S>) -> S {
        let filled = (path.base_rtt / path.measured)
            .max(self.beta_min)
            .min(self.beta_max);
        self.beta_min + (filled - self.beta_min) * self.steady_share()
    }

    /// How often two throughputs in a row differ by less than `throughput_change` c of the first
    /// where losses come at random.
    ///
    /// The square of a window grows evenly and losses end that at random: windows before reductions
    /// are taken as independent of each other and distributed by Rayleigh's law, so that their
    /// ratio is below x with x^2 / (1 + x^2). The default of 0.2 gives 0.20.
    fn steady_share(&self) -> S {
        let one = S::from_f64(1.0);
        let below = |ratio: S| ratio * ratio / (ratio * ratio + one);
        let least = (one - self.throughput_change).max(S::from_f64(0.0));
        below(one + self.throughput_change) - below(least)
    }

    /// Mean time since the last loss at which a window rests, s: where growth and decrease, both in
    /// proportion to 1 - beta, are equal.
    fn age_at_rest(&self, window: S, path: &Path<S>) -> S {
        let goal = window * path.rtt * 0.5;
        let excess = |age: S| age * self.mean_increase(age, path.base_rtt) - goal;
        let (mut low, mut high) = (1e-6, 1e6);
        for _ in 0..60 {
            let middle = libm::sqrt(low * high);
            if excess(S::from_f64(middle)).re() > 0.0 {
                high = middle;
            } else {
                low = middle;
            }
        }
        // Newton's method carries the derivatives
        let mut age = S::from_f64(libm::sqrt(low * high));
        for _ in 0..3 {
            let step = age.re() * 1e-4;
            let slope = (excess(S::from_f64(age.re() + step)).re()
                - excess(S::from_f64(age.re() - step)).re())
                / (2.0 * step);
            age = age - excess(age) / slope;
        }
        age
    }
}

impl FluidTcp for HtcpParams {
    type Over<S: Scalar> = HtcpParams<S>;

    const APPROXIMATION: Option<&'static str> = Some(
        "with the mean time since the last loss as a state, losses being random (as Vardoyan, Hollot and Towsley 2018 for CUBIC); beta from the round trip of now \
         and the smallest at the fifth of losses before which random losses left the throughput steady, and beta_min at the others; losses a few round trips apart, \
         which packets count once a round trip, count each",
    );

    const BY_DELAY: bool = true;

    /// The increase at rest: 2 (1 - beta) alpha / w where the time since the last loss is
    /// that of a window at rest.
    fn increase<S: Scalar>(params: &HtcpParams<S>, window: S, path: &Path<S>) -> S {
        let alpha = params.mean_increase(params.age_at_rest(window, path), path.base_rtt);
        (-params.remains(path) + 1.0) * 2.0 * alpha / window
    }

    /// (1 - beta) w with the mean of beta.
    fn decrease<S: Scalar>(params: &HtcpParams<S>, window: S, path: &Path<S>) -> S {
        (-params.remains(path) + 1.0) * window
    }

    fn state_names<S: Scalar>(_params: &HtcpParams<S>) -> &'static [&'static str] {
        &["window (packets)", "time since the last loss (s)"]
    }

    fn start<S: Scalar>(params: &HtcpParams<S>, window: S, path: &Path<S>, state: &mut [S]) {
        state[0] = window;
        state[1] = params.age_at_rest(window, path);
    }

    /// dw/dt = (1 - beta) (2 alpha / w acks - w signals), ds/dt = 1 - s signals.
    fn derivative<S: Scalar>(
        params: &HtcpParams<S>,
        input: &TcpInput<S>,
        state: &[S],
        rate: &mut [S],
    ) {
        let TcpInput {
            acks,
            signals,
            path,
            ..
        } = input;
        let (window, age) = (state[0], state[1]);
        let alpha = params.mean_increase(age, path.base_rtt);
        let taken = -params.remains(path) + 1.0;
        rate[0] = taken * (alpha * 2.0 / window * *acks - window * *signals);
        rate[1] = -age * *signals + 1.0;
    }
}

/// The measurement of the throughput, in both forms.
#[derive(Clone, Copy, Debug)]
struct Throughput {
    /// Beginning of the round; NEVER if it was not seen.
    round: Time,
    /// Segments acknowledged in the round.
    acked: u32,
    /// Smoothed rate, its largest value since the last reduction and that before it, segments/s;
    /// zero if there is none.
    rate: f64,
    top: f64,
    last: f64,
}

impl Throughput {
    const NONE: Self = Self {
        round: Time::NEVER,
        acked: 0,
        rate: 0.0,
        top: 0.0,
        last: 0.0,
    };
}

/// H-TCP at work.
#[derive(Clone, Debug)]
pub struct PaperHtcp {
    /// The factor of the last reduction.
    beta: f64,
    /// The last reduction, moved on by the time that does not count; NEVER before the first ACK.
    last: Time,
    /// The last ACK.
    last_ack: Time,
    /// Largest RTT since the last reduction, s, or what is left of that before it.
    max_rtt: f64,
    throughput: Throughput,
    params: Box<HtcpParams>,
}

impl PaperHtcp {
    /// Segments a round trip `since` seconds after the last reduction.
    fn alpha(&self, since: f64, base_rtt: f64) -> f64 {
        let mut alpha = self.params.increase(since);
        if self.params.rtt_scaling {
            alpha = (alpha * (base_rtt / 0.1).clamp(0.1, 2.0)).max(1.0);
        }
        alpha * 2.0 * (1.0 - self.beta)
    }

    fn end_round(&mut self, now: Time) {
        let known = &mut self.throughput;
        if known.round != Time::NEVER && now > known.round {
            let rate = f64::from(known.acked) / now.since(known.round).seconds();
            known.rate = if known.rate > 0.0 {
                0.75 * known.rate + 0.25 * rate
            } else {
                rate
            };
            known.top = known.top.max(known.rate);
        }
        known.round = now;
        known.acked = 0;
    }
}

impl CongestionControl for PaperHtcp {
    #[inline]
    fn on_ack(&mut self, ack: &Ack, window: &mut Window, _random: &mut Stream) {
        if self.last == Time::NEVER {
            self.last = ack.now;
        } else if !ack.cwnd_limited {
            self.last += ack.now.since(self.last_ack); // an unused window earns nothing
        }
        self.last_ack = ack.now;
        self.max_rtt = self.max_rtt.max(ack.rtt); // NaN is not larger
        if ack.round_start {
            self.end_round(ack.now);
        }
        self.throughput.acked += ack.acked;
        if ack.cwnd_limited {
            let acked = window.slow_start(f64::from(ack.acked));
            if acked > 0.0 {
                let since = ack.now.since(self.last).seconds();
                window.cwnd += self.alpha(since, ack.min_rtt) * acked / window.cwnd;
            }
        }
    }

    fn on_congestion(&mut self, reduction: &Reduction, window: &mut Window) {
        let HtcpParams {
            beta_min, beta_max, ..
        } = *self.params;
        let Throughput { top, last, .. } = self.throughput;
        self.beta = if last > 0.0 && self.params.is_steady(top, last) && self.max_rtt > 0.0 {
            (reduction.min_rtt / self.max_rtt).clamp(beta_min, beta_max)
        } else {
            beta_min
        };
        self.throughput = Throughput {
            last: top,
            ..Throughput::NONE
        };
        self.max_rtt -= 0.05 * (self.max_rtt - reduction.min_rtt).max(0.0);
        (self.last, self.last_ack) = (reduction.now, reduction.now);
        window.ssthresh = (self.beta * reduction.window_used).max(MIN_SSTHRESH);
        if reduction.signal != Signal::Timeout {
            window.cwnd = window.ssthresh;
        }
    }

    fn on_restart(&mut self, now: Time, _window: &mut Window) {
        if self.last != Time::NEVER {
            self.last += now.since(self.last_ack);
            self.last_ack = now;
        }
    }
}

/// H-TCP at work as in Linux: times in whole ticks of a millisecond, rates in whole packets a
/// second, alpha and beta in 128ths.
#[derive(Clone, Debug)]
pub struct LinuxHtcp {
    /// The factor of the last reduction, and the increase at present.
    beta: u64,
    alpha: u64,
    /// The last reduction, or the end of the answer to it, ticks; whether that is still to come.
    last: Option<u64>,
    reducing: bool,
    /// Packets that the last ACK in state Open covered, one once it has been counted; those counted
    /// towards the next step of the window.
    covered: u64,
    count: u64,
    /// Whether a loss may adapt beta.
    adapts: bool,
    state: CaState,
    /// Time of the last ACK, ticks.
    now: u64,
    known: Box<LinuxSamples>,
}

/// Samples of H-TCP in Linux.
#[derive(Clone, Debug)]
struct LinuxSamples {
    /// The smallest RTT, ticks, and the largest since the last reduction or what is left of that
    /// before it; zero without a sample.
    min_rtt: u64,
    max_rtt: u64,
    /// The window after the last ACK.
    cwnd: f64,
    /// Beginning of the round in which the throughput is measured, ticks; packets covered in it.
    round: Option<u64>,
    packets: u64,
    /// Smoothed rate, the largest since the last reduction, and that before it, packets/s.
    rate: u64,
    top: u64,
    last_top: u64,
    params: HtcpParams,
}

/// A fraction in 128ths, rounded down.
fn in_128ths(fraction: f64) -> u64 {
    (128.0 * fraction) as u64
}

impl LinuxHtcp {
    fn new(params: HtcpParams) -> Self {
        Self {
            beta: in_128ths(params.beta_min),
            alpha: 128,
            last: None,
            reducing: false,
            covered: 1,
            count: 0,
            adapts: false,
            state: CaState::Open,
            now: 0,
            known: Box::new(LinuxSamples {
                min_rtt: 0,
                max_rtt: 0,
                cwnd: 0.0,
                round: None,
                packets: 0,
                rate: 0,
                top: 0,
                last_top: 0,
                params,
            }),
        }
    }

    /// Ticks since the last reduction.
    fn since(&self) -> u64 {
        self.last.map_or(0, |last| self.now.saturating_sub(last))
    }

    /// Renews the increase.
    fn renew_alpha(&mut self) {
        let since = self.since() as f64 / TICKS_PER_SECOND as f64;
        let mut factor = self.known.params.increase(since) as u64;
        if self.known.params.rtt_scaling && self.known.min_rtt > 0 {
            let scale = (8 * TICKS_PER_SECOND / (10 * self.known.min_rtt)).clamp(4, 80);
            factor = (8 * factor / scale).max(1);
        }
        self.alpha = 2 * factor * (128 - self.beta);
    }

    /// Renews the fraction that remains.
    fn renew_beta(&mut self) {
        let (least, most) = (
            in_128ths(self.known.params.beta_min),
            in_128ths(self.known.params.beta_max),
        );
        let (top, last_top) = (self.known.top, self.known.last_top);
        self.known.last_top = top;
        if !self.known.params.is_steady(top as f64, last_top as f64) {
            (self.beta, self.adapts) = (least, false);
        } else if self.adapts && self.known.min_rtt > 10 && self.known.max_rtt > 0 {
            self.beta = (128 * self.known.min_rtt / self.known.max_rtt).clamp(least, most);
        } else {
            (self.beta, self.adapts) = (least, true);
        }
    }

    fn take_rtt(&mut self, rtt: u64) {
        if self.known.min_rtt == 0 || rtt < self.known.min_rtt {
            self.known.min_rtt = rtt;
        }
        if self.state == CaState::Open {
            self.known.max_rtt = self.known.max_rtt.max(self.known.min_rtt);
            if rtt > self.known.max_rtt && rtt <= self.known.max_rtt + 20 {
                self.known.max_rtt = rtt;
            }
        }
    }

    fn take_throughput(&mut self, covered: u64) {
        if !matches!(self.state, CaState::Open | CaState::Disorder) {
            (self.known.packets, self.known.round) = (0, Some(self.now));
            return;
        }
        self.known.packets += covered;
        let past = self.known.round.map_or(u64::MAX, |round| self.now - round);
        let least = self.known.cwnd - (self.alpha >> 7).max(1) as f64;
        if (self.known.packets as f64) < least
            || past < self.known.min_rtt
            || self.known.min_rtt == 0
        {
            return;
        }
        let rate = (self.known.packets * TICKS_PER_SECOND)
            .checked_div(past)
            .unwrap_or(0);
        if self.since() / self.known.min_rtt <= 3 {
            (self.known.rate, self.known.top) = (rate, rate);
        } else {
            self.known.rate = (3 * self.known.rate + rate) / 4;
            self.known.top = self.known.top.max(self.known.rate);
        }
        (self.known.packets, self.known.round) = (0, Some(self.now));
    }
}

impl CongestionControl for LinuxHtcp {
    fn needs(&self) -> Needs {
        Needs {
            every_ack: true,
            ca_state: true,
            ..Needs::default()
        }
    }

    fn on_every_ack(&mut self, ack: &Ack) {
        self.now = tick_of(ack.now);
        let rtt = ticks_of(ack.rtt);
        if self.last.is_none() {
            // since the handshake
            self.last = Some(self.now.saturating_sub(rtt.unwrap_or(0)));
        }
        let covered = u64::from(ack.covered);
        if self.state == CaState::Open {
            self.covered = covered;
        }
        if let Some(rtt) = rtt {
            self.take_rtt(rtt);
        }
        self.take_throughput(covered);
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack, window: &mut Window, _random: &mut Stream) {
        if ack.cwnd_limited {
            if window.in_slow_start() {
                window.slow_start(f64::from(ack.acked));
            } else {
                if ((self.count * self.alpha) >> 7) as f64 >= window.cwnd {
                    window.cwnd += 1.0;
                    self.count = 0;
                    self.renew_alpha();
                } else {
                    self.count += self.covered;
                }
                self.covered = 1;
            }
        }
        self.known.cwnd = window.cwnd;
    }

    fn on_congestion(&mut self, reduction: &Reduction, window: &mut Window) {
        self.now = tick_of(reduction.now);
        self.renew_beta();
        self.renew_alpha();
        if self.known.min_rtt > 0 && self.known.max_rtt > self.known.min_rtt {
            self.known.max_rtt =
                self.known.min_rtt + (self.known.max_rtt - self.known.min_rtt) * 95 / 100;
        }
        self.count = 0;
        (self.last, self.reducing) = (Some(self.now), true);
        let left = (reduction.window_used * self.beta as f64 / 128.0).floor();
        window.ssthresh = left.max(MIN_SSTHRESH);
        if reduction.signal != Signal::Timeout {
            window.cwnd = window.ssthresh;
        }
        self.known.cwnd = window.cwnd;
    }

    fn set_state(&mut self, state: CaState) {
        self.state = state;
        if state == CaState::Open && self.reducing {
            (self.last, self.reducing) = (Some(self.now), false);
        }
    }

    fn on_recovery_end(&mut self, now: Time, window: &mut Window) {
        self.now = tick_of(now);
        (self.last, self.reducing) = (Some(self.now), false);
        self.known.cwnd = window.cwnd;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Parameters as _;
    use crate::congestion::test::{ack, loss, random};

    fn params() -> HtcpParams {
        HtcpParams::from_values(&[]).unwrap()
    }

    /// Rayleigh's law of windows: the ratio of two is within a fifth of one as often as 1.44 / 2.44 - 0.64 / 1.64; and always within any bound.
    #[test]
    fn how_often_random_losses_leave_the_throughput_steady() {
        let share = |throughput_change: f64| -> f64 {
            HtcpParams {
                throughput_change,
                ..params()
            }
            .steady_share()
        };
        assert!((share(0.2) - 0.1999).abs() < 1e-4, "{}", share(0.2));
        assert_eq!(share(0.0), 0.0);
        assert!(share(1e6) > 0.999_999);
    }

    #[test]
    fn the_increase_function() {
        let unscaled = HtcpParams {
            rtt_scaling: false,
            ..params()
        };
        let control = unscaled.build(0).paper();
        // beta 0.5: alpha itself. 1 up to a second, then 1 + 10 x + x^2 / 4
        for (since, alpha) in [
            (0.0, 1.0),
            (1.0, 1.0),
            (2.0, 11.25),
            (3.0, 22.0),
            (11.0, 126.0),
        ] {
            assert!((control.alpha(since, 0.1) - alpha).abs() < 1e-12, "{since}");
        }
        let gentle = PaperHtcp {
            beta: 0.8,
            ..control
        };
        assert!((gentle.alpha(3.0, 0.1) - 22.0 * 0.4).abs() < 1e-12);
    }

    #[test]
    fn scaled_with_the_rtt() {
        let control = params().build(0).paper();
        for (rtt, factor) in [(0.1, 1.0), (0.05, 0.5), (0.001, 0.1), (0.3, 2.0)] {
            assert!(
                (control.alpha(3.0, rtt) - 22.0 * factor).abs() < 1e-12,
                "{rtt}"
            );
        }
        assert_eq!(control.alpha(0.5, 0.01), 1.0);
    }

    /// Rounds of 0.1 s at `rate` segments a second for two seconds, RTT `rtt`, then a loss at 100
    /// segments. Returns the window left.
    fn epoch(control: &mut PaperHtcp, begin: f64, rate: u32, rtt: f64) -> f64 {
        for n in 0..20_u32 {
            let sample = Ack {
                now: Time::from_seconds(begin + 0.1 * f64::from(n)),
                acked: rate / 10,
                rtt,
                min_rtt: 0.1,
                round_start: true,
                ..ack(1)
            };
            let mut window = Window {
                cwnd: 100.0,
                ssthresh: 2.0,
            };
            control.on_ack(&sample, &mut window, &mut random());
        }
        let mut window = Window {
            cwnd: 100.0,
            ssthresh: 2.0,
        };
        let lost = Reduction {
            now: Time::from_seconds(begin + 2.0),
            min_rtt: 0.1,
            ..loss(100.0)
        };
        control.on_congestion(&lost, &mut window);
        window.cwnd
    }

    #[test]
    fn the_decrease_empties_the_queue_if_throughput_is_steady() {
        let mut control = params().build(0).paper();
        assert_eq!(epoch(&mut control, 0.0, 1000, 0.15), 50.0); // nothing to compare with
        assert!((epoch(&mut control, 2.0, 1000, 0.15) - 100.0 / 1.5).abs() < 1e-9);
        assert!((epoch(&mut control, 4.0, 1100, 0.15) - 100.0 / 1.5).abs() < 1e-9);
        assert_eq!(epoch(&mut control, 6.0, 2000, 0.15), 50.0);
        // RTT_max fades from 0.15 s by 5 % of its distance, so 0.11 s does not show yet
        let left = epoch(&mut control, 8.0, 2000, 0.11);
        assert!((left - 100.0 * 0.1 / 0.1475).abs() < 1e-9, "{left}");
        // short queues: 0.8 at most; long ones: 0.5 at least
        control.max_rtt = 0.0;
        assert_eq!(epoch(&mut control, 10.0, 2000, 0.11), 80.0);
        assert_eq!(epoch(&mut control, 12.0, 2000, 0.9), 50.0);
    }

    #[test]
    fn time_without_use_does_not_count() {
        let mut control = params().build(0).paper();
        let mut window = Window {
            cwnd: 100.0,
            ssthresh: 2.0,
        };
        for (now, cwnd_limited) in [(0.0, true), (10.0, false)] {
            let sample = Ack {
                now: Time::from_seconds(now),
                min_rtt: 0.1,
                cwnd_limited,
                ..ack(0)
            };
            control.on_ack(&sample, &mut window, &mut random());
        }
        control.on_restart(Time::from_seconds(20.0), &mut window);
        let sample = Ack {
            now: Time::from_seconds(20.0),
            min_rtt: 0.1,
            ..ack(1)
        };
        control.on_ack(&sample, &mut window, &mut random());
        assert!((window.cwnd - 100.01).abs() < 1e-12);
    }

    /// Linux at 40 ms: 8 / 20 of the increase function, rounded down, one at least.
    #[test]
    fn whole_packets_as_in_linux() {
        let mut control = linux();
        let alpha = |rtt: f64, since: u64| {
            let mut control = LinuxHtcp {
                now: since,
                last: Some(0),
                ..linux()
            };
            control.known.min_rtt = ticks_of(rtt).unwrap();
            control.renew_alpha();
            control.alpha as f64 / 128.0
        };
        for (since, expected) in [
            (500, 1.0),
            (1100, 1.0),
            (1300, 1.0),
            (1500, 2.0),
            (2000, 4.0),
        ] {
            assert_eq!(alpha(0.04, since), expected, "{since}");
        }
        // less than a microsecond more is the same round trip, one more rounds up to 41 ms
        for (rtt, expected) in [(0.040_000_012, 8.0), (0.040_001, 9.0)] {
            assert_eq!(alpha(rtt, 3000), expected, "{rtt}");
        }
        let mut window = Window {
            cwnd: 30.0,
            ssthresh: 2.0,
        };
        let sample = Ack {
            now: Time::from_seconds(0.5),
            min_rtt: 0.04,
            rtt: 0.04,
            ..ack(2)
        };
        let mut step = || {
            control.on_every_ack(&sample);
            control.on_ack(&sample, &mut window, &mut random());
            window.cwnd
        };
        // fifteen ACKs are counted, the sixteenth adds the packet
        for _ in 0..15 {
            assert_eq!(step(), 30.0);
        }
        assert_eq!(step(), 31.0);
    }

    fn linux() -> LinuxHtcp {
        let params = HtcpParams {
            form: Form::Linux,
            ..params()
        };
        params.build(0).linux()
    }

    /// The distance of the largest RTT from the smallest fades by 5 %, and to a whole millisecond:
    /// from 20 by one a reduction. Samples of a recovery do not raise it.
    #[test]
    fn the_largest_rtt_fades_in_whole_milliseconds() {
        let mut control = linux();
        let every = |control: &mut LinuxHtcp, rtt: f64| {
            control.on_every_ack(&Ack { rtt, ..ack(1) });
        };
        every(&mut control, 0.04);
        every(&mut control, 0.06);
        every(&mut control, 0.09); // more than 20 ms at once: not taken
        let mut window = Window {
            cwnd: 30.0,
            ssthresh: 30.0,
        };
        let mut fades = Vec::new();
        for _ in 0..4 {
            control.on_congestion(&loss(30.0), &mut window);
            control.set_state(CaState::Recovery);
            every(&mut control, 0.06);
            control.set_state(CaState::Open);
            fades.push(control.known.max_rtt);
        }
        assert_eq!(fades, [59, 58, 57, 56]);
        assert_eq!(control.known.min_rtt, 40);
    }

    /// An ACK out of state Open counts for one packet, and the time since a reduction begins with the
    /// end of the answer to it.
    #[test]
    fn counts_and_times_follow_the_state() {
        let mut control = linux();
        let mut window = Window {
            cwnd: 30.0,
            ssthresh: 2.0,
        };
        let at = |seconds: f64| Ack {
            now: Time::from_seconds(seconds),
            ..ack(7)
        };
        let take = |control: &mut LinuxHtcp, window: &mut Window, seconds: f64| {
            control.on_every_ack(&at(seconds));
            control.on_ack(&at(seconds), window, &mut random());
        };
        take(&mut control, &mut window, 0.1);
        assert_eq!(control.count, 7);
        control.set_state(CaState::Disorder);
        take(&mut control, &mut window, 0.2);
        assert_eq!(control.count, 8);
        let lost = Reduction {
            now: Time::from_seconds(5.0),
            ..loss(30.0)
        };
        control.on_congestion(&lost, &mut window);
        control.set_state(CaState::Recovery);
        take(&mut control, &mut window, 5.5);
        assert_eq!((control.since(), control.known.packets), (500, 0));
        control.set_state(CaState::Open);
        assert_eq!(control.since(), 0);
    }
}
