//! CUBIC, as RFC 9438 has it.
//!
//! In congestion avoidance the window follows W(t) = C (t - K)^3 + W_max over the time t since the
//! present stage began, where W_max is the window before the last reduction and K the time at which
//! W(t) is back there (section 4.2):
//!
//! - An ACK aims at W(t + RTT), held between cwnd and 1.5 cwnd, and adds (target - cwnd) / cwnd a segment (sections 4.2, 4.4, 4.5).
//! - Where Reno would have the larger window, it follows the estimate W_est of that (section 4.3), which grows by alpha / cwnd a segment with
//!   alpha = 3 (1 - beta) / (1 + beta), and by Reno's own 1 / cwnd once it has reached the window before the last reduction.
//! - A loss or mark multiplies the window in use by beta (section 4.6). If the window had not come back to W_max, W_max is set lower still, to leave room for others
//!   (fast convergence, section 4.7).
//! - A stage begins at the first ACK in congestion avoidance after a reduction. Where cwnd then is not below W_max (slow start without a loss), W_max is cwnd
//!   and K zero; after a timeout always so (section 4.8).
//! - Idle and application-limited time is excluded from t (sections 4.2, 5.8).
//!
//! RTT is the smoothed one.
//!
//! Deviation from RFC 9438, section 4.9: a reduction that proves spurious is taken back only where
//! `undo` names how that is detected, and with `form = "linux"` the curve goes on from where it is.
//!
//! With `form = "linux"`, the curve is followed in whole packets: one is added once enough packets
//! have been acknowledged, and what remains after a reduction is rounded down; it looks ahead by
//! the smallest RTT instead of the smoothed one, and grows by a twentieth a round trip at least
//! while no loss has shown a W_max. While the window does not change the curve is
//! evaluated every 32 ms.
//!
//! With `hystart`, slow start also ends at signs of a queue (section 4.10; Ha and Rhee 2011), from
//! 16 segments on: in a round in which ACKs have come at most 2 ms apart for half the smallest RTT, or
//! whose RTTs, eight at least, have all grown by an eighth of it (4 to 16 ms). So it is in
//! Linux; HyStart++ is an option of the flow.

//= RFC 9438 4.6/4: not applicable, QUIC is not simulated

use super::{
    Ack, CongestionAlgorithm, CongestionControl, Form, LINUX_FORM, MIN_SSTHRESH, Reduction,
    SegmentCount, Signal, Window,
};
use crate::fluid::{FluidTcp, Path, TcpInput};
use crate::meta::{About, Algorithm};
use crate::{DefaultValue, Interval, Scalar, Stream, Time, parameters};

parameters! {
    /// Parameters of CUBIC.
    pub struct CubicParams {
        /// Scale of the cubic, segments/s^3 (C).
        //= RFC 9438 5.1/1..2: done, test section_4_6_and_4_2_reduction_and_k
        c: number = 0.4, in Interval::above(0.0), "RFC 9438, section 5";
        /// Fraction of the window that remains after a reduction.
        //= RFC 9438 4.6/2: done, test section_4_6_and_4_2_reduction_and_k
        beta: number = 0.7, in Interval::inside(0.0, 1.0), "RFC 9438, section 4.6";
        /// Whether W_max is reduced further where a loss comes before the window is back at the last
        /// W_max, which leaves room for new flows.
        fast_convergence: flag = true, "RFC 9438, section 4.7";
        /// Whether the window is never below the estimate of what Reno would have (the Reno-friendly
        /// region).
        reno_friendly: flag = true, "RFC 9438, section 4.3";
        /// Whether the Reno estimate grows by Reno's own 1 / cwnd once it has reached the window of
        /// the last reduction. Otherwise it keeps its smaller step, as in RFC 8312 and Linux 6.1.
        reno_pace: flag = true, "RFC 9438, section 4.3";
        /// The algorithm as published, or as Linux implements it.
        form: choice(Form) = Paper, "style: Linux 6.1";
        /// Whether hybrid slow start ends slow start before losses do.
        hystart: flag = false, "Linux 6.1; Ha and Rhee 2011";
    }
}

impl<S: Scalar> CubicParams<S> {
    /// alpha of the AIMD(alpha, beta) that is as fast as Reno (section 4.3).
    fn friendly_alpha(&self) -> S {
        let one = S::from_f64(1.0);
        (one - self.beta) * 3.0 / (one + self.beta)
    }

    /// (C / (1 - beta))^(1/3), s^-1 per cube root of a packet.
    fn speed(&self) -> S {
        (self.c / (S::from_f64(1.0) - self.beta)).powf(1.0 / 3.0)
    }
}

impl Algorithm for CubicParams {
    const ABOUT: About = About {
        kind: "cubic",
        title: "CUBIC",
        summary: "Lets the window follow a cubic function of the time since the last loss, with its plateau at the window of that loss; the default of Linux, macOS and Windows.",
        citation: "L. Xu, S. Ha, I. Rhee, V. Goel and L. Eggert, CUBIC for fast and long-distance networks, RFC 9438 (2023)",
        ecn: true,
    };

    const LINUX: &'static [(&'static str, DefaultValue)] = &[
        LINUX_FORM,
        ("reno_pace", DefaultValue::Flag(false)),
        ("hystart", DefaultValue::Flag(true)),
    ];
}

impl CongestionAlgorithm for CubicParams {
    type Controller = Cubic;

    fn build(&self, _flow: u32) -> Cubic {
        Cubic {
            c: self.c,
            beta: self.beta,
            alpha: self.friendly_alpha(),
            w_max: 0.0,
            cwnd_prior: 0.0,
            epoch_w_max: 0.0,
            k: 0.0,
            w_est: 0.0,
            epoch_start: Time::NEVER,
            last_ack: Time::ZERO,
            fast_convergence: self.fast_convergence,
            reno_friendly: self.reno_friendly,
            reno_pace: self.reno_pace,
            segments: (self.form == Form::Linux).then(Box::default),
            hystart: self.hystart.then(Box::default),
            before: None,
        }
    }
}

impl FluidTcp for CubicParams {
    type Over<S: Scalar> = CubicParams<S>;

    const APPROXIMATION: Option<&'static str> = Some(
        "as a window with memory: W_max and the time since the last loss (Vardoyan, Hollot and Towsley 2018), without fast convergence; \
         as i(w): the window at rest of that model (RFC 9438, section 5.1, has 2 % less)",
    );

    /// R (C / (1 - beta))^(1/3) (1 - beta) w^(-1/3): balances d(w) where a flow that sees w p / R
    /// signals a second just returns to W_max from one to the next.
    fn increase<S: Scalar>(params: &CubicParams<S>, window: S, path: &Path<S>) -> S {
        path.rtt * params.speed() * (S::from_f64(1.0) - params.beta) * window.powf(-1.0 / 3.0)
    }

    /// (1 - beta) w.
    fn decrease<S: Scalar>(params: &CubicParams<S>, window: S, _path: &Path<S>) -> S {
        (S::from_f64(1.0) - params.beta) * window
    }

    /// Where both increases are equal: the Reno-friendly region of section 4.3.
    fn small_below<S: Scalar>(params: &CubicParams<S>, path: &Path<S>) -> S {
        if !params.reno_friendly {
            return S::from_f64(0.0);
        }
        let cubic = path.rtt * params.speed() * (S::from_f64(1.0) - params.beta);
        (params.friendly_alpha() / cubic).powf(1.5)
    }

    /// As AIMD(alpha, beta) with the alpha of section 4.3.
    fn small_window<S: Scalar>(params: &CubicParams<S>, window: S) -> (S, S) {
        (
            params.friendly_alpha() / window,
            (S::from_f64(1.0) - params.beta) * window,
        )
    }

    /// Only i(w) has the Reno-friendly region; and the states have a characteristic root at zero
    /// whatever the parameters, which decides nothing.
    const AT_EQUILIBRIUM: bool = true;

    fn state_names<S: Scalar>(_params: &CubicParams<S>) -> &'static [&'static str] {
        &["W_max (packets)", "time since the last loss (s)"]
    }

    fn window_first<S: Scalar>(_params: &CubicParams<S>) -> bool {
        false
    }

    /// W = C (s - K)^3 + W_max with K = (W_max (1 - beta) / C)^(1/3).
    fn window<S: Scalar>(params: &CubicParams<S>, state: &[S]) -> S {
        let (w_max, since) = (state[0], state[1]);
        let late = since - w_max.powf(1.0 / 3.0) / params.speed();
        params.c * late * late * late + w_max
    }

    /// At rest at `window`: W_max is the window, and the time that of the return to it.
    fn start<S: Scalar>(params: &CubicParams<S>, window: S, _path: &Path<S>, state: &mut [S]) {
        state[0] = window;
        state[1] = window.powf(1.0 / 3.0) / params.speed();
    }

    /// dW_max/dt = (W - W_max) signals, ds/dt = 1 - s signals (Vardoyan, Hollot and Towsley,
    /// "Towards stability analysis of data transport mechanisms: a fluid model and an application",
    /// INFOCOM 2018, arXiv:1801.02741, equations (1) and (7)).
    fn derivative<S: Scalar>(
        params: &CubicParams<S>,
        input: &TcpInput<S>,
        state: &[S],
        rate: &mut [S],
    ) {
        rate[0] = (Self::window(params, state) - state[0]) * input.signals;
        rate[1] = S::from_f64(1.0) - state[1] * input.signals;
    }
}

/// Hybrid slow start (S. Ha and I. Rhee, Taming the elephants: new TCP slow start, Computer
/// Networks 55, 2011), with the constants of Linux 6.1.
#[derive(Clone, Copy, Debug, Default)]
struct HyStart {
    /// Beginning of the round, and the last ACK that came soon after the one before it.
    round: Time,
    train: Time,
    /// Smallest RTT of the round, s, and its samples so far.
    least: f64,
    samples: u32,
}

impl HyStart {
    const LOW_WINDOW: f64 = 16.0;
    const TRAIN_GAP: f64 = 0.002;
    /// The delay that the host may add to the spacing of a train, s.
    const TRAIN_SLACK: f64 = 0.001;
    const HYSTART_SAMPLES: u32 = 8;

    /// Whether slow start is over, by an ACK with a window of `cwnd`.
    fn over(&mut self, ack: &Ack, cwnd: f64) -> bool {
        if ack.round_start {
            *self = Self {
                round: ack.now,
                train: ack.now,
                least: f64::INFINITY,
                samples: 0,
            };
        }
        if cwnd < Self::LOW_WINDOW {
            return false;
        }
        let mut over = false;
        if ack.now.since(self.train).seconds() <= Self::TRAIN_GAP {
            self.train = ack.now;
            over = ack.now.since(self.round).seconds() > 0.5 * (ack.min_rtt + Self::TRAIN_SLACK);
        }
        self.least = self.least.min(ack.rtt);
        if self.samples < Self::HYSTART_SAMPLES {
            self.samples += 1;
        } else {
            over |= self.least > ack.min_rtt + (ack.min_rtt / 8.0).clamp(0.004, 0.016);
        }
        over
    }
}

/// A tick of Linux's clock, ps, and how many of them its curve is not looked at anew.
const TICK_PS: u64 = 1_000_000_000;
const TICKS_STILL: u64 = 31;

/// CUBIC at work.
#[derive(Clone, Debug)]
pub struct Cubic {
    c: f64,
    beta: f64,
    /// Increase of the Reno estimate below `cwnd_prior` (section 4.3).
    alpha: f64,
    /// Window before the last reduction, after fast convergence; zero if there is none.
    w_max: f64,
    /// Window before the last reduction.
    cwnd_prior: f64,
    /// `W_max` of this epoch.
    epoch_w_max: f64,
    /// Time from the start of the epoch to `epoch_w_max`, s (`K`, section 4.2).
    k: f64,
    /// The window that Reno would have (`W_est`).
    w_est: f64,
    /// Start of the epoch, moved on by idle and application-limited time; NEVER before it.
    epoch_start: Time,
    /// Time of the last ACK of the epoch.
    last_ack: Time,
    fast_convergence: bool,
    reno_friendly: bool,
    reno_pace: bool,
    /// Counters of Linux's form.
    segments: Option<Box<WholeSegments>>,
    /// Until it has ended slow start.
    hystart: Option<Box<HyStart>>,
    /// The state before the last loss, in the paper's form.
    before: Option<Box<Before>>,
}

/// The state that a needless response to a loss is taken back to (RFC 9438, section 4.9).
#[derive(Clone, Copy, Debug)]
struct Before {
    /// cwnd then, and the ssthresh of the response.
    cwnd: f64,
    ssthresh: f64,
    w_max: f64,
    cwnd_prior: f64,
    w_est: f64,
    epoch_w_max: f64,
    k: f64,
    epoch_start: Time,
}

/// Linux's counters, in whole segments.
#[derive(Clone, Debug, Default)]
struct WholeSegments {
    /// Towards the next one of the window, and of the estimate.
    count: SegmentCount,
    estimate_count: f64,
    /// When `per`, the segments that one of the window takes, was computed last, and with which
    /// window.
    computed: (Time, f64),
    per: f64,
}

impl Cubic {
    fn begin_epoch(&mut self, now: Time, cwnd: f64) {
        self.epoch_start = now;
        self.last_ack = now;
        //= RFC 9438 4.8/1: done, test section_4_8_after_a_timeout_k_is_zero
        self.w_est = cwnd;
        if cwnd < self.w_max {
            self.epoch_w_max = self.w_max;
            self.k = libm::cbrt((self.w_max - cwnd) / self.c);
        } else {
            self.epoch_w_max = cwnd;
            self.k = 0.0;
        }
    }

    /// `W_cubic` at `t` seconds of the epoch (section 4.2).
    fn curve(&self, t: f64) -> f64 {
        let late = t - self.k;
        self.c * late * late * late + self.epoch_w_max
    }

    /// The growth of `w_est` in a window of acknowledged segments: one from `cwnd_prior` on (section 4.3).
    fn alpha_now(&self) -> f64 {
        //= RFC 9438 4.3/2: done, test section_4_3_reno_friendly_region
        //= RFC 9438 4.3/2 (style "linux"): deviation, it keeps its own pace, as in RFC 8312
        if self.reno_pace && self.w_est >= self.cwnd_prior {
            1.0
        } else {
            self.alpha
        }
    }

    /// The window after `acked` segments in congestion avoidance.
    fn avoid(&mut self, acked: f64, ack: &Ack, cwnd: f64) -> f64 {
        if let Some(mut segments) = self.segments.take() {
            let cwnd = self.avoid_as_linux(&mut segments, acked, ack, cwnd);
            self.segments = Some(segments);
            return cwnd;
        }
        let share = acked / cwnd;
        let t = self.last_ack.since(self.epoch_start).seconds();
        if self.reno_friendly {
            self.w_est += self.alpha_now() * share;
            if self.curve(t) < self.w_est {
                //= RFC 9438 4.3/1: done, test section_4_3_reno_friendly_region
                return cwnd.max(self.w_est);
            }
        }
        //= RFC 9438 4.4/1, 4.5/1: done, tests section_4_4_one_ack_adds_its_share_of_the_way,
        //=   section_4_2_the_window_follows_the_curve
        let target = self.curve(t + ack.srtt).clamp(cwnd, 1.5 * cwnd);
        cwnd + (target - cwnd) * share
    }

    /// The same in whole segments (`bictcp_update`). The curve is looked at once a tick, and while
    /// the window stays as it is not within 31 of them.
    fn avoid_as_linux(
        &mut self,
        segments: &mut WholeSegments,
        acked: f64,
        ack: &Ack,
        mut cwnd: f64,
    ) -> f64 {
        segments.estimate_count += acked;
        let ticks = |time: Time| time.0 / TICK_PS;
        let (now, (computed, window)) = (ticks(ack.now), segments.computed);
        let still = window == cwnd && now.saturating_sub(ticks(computed)) <= TICKS_STILL;
        if !still {
            let begins = self.epoch_start == Time::NEVER;
            if begins || now != ticks(computed) {
                segments.computed = (ack.now, cwnd);
                if begins {
                    self.begin_epoch(ack.now, cwnd);
                    segments.estimate_count = acked;
                }
                segments.per = self.per_on_curve(ack, cwnd);
            }
            if self.reno_friendly {
                self.keep_up_with_reno(segments, cwnd);
            }
            segments.per = segments.per.max(2.0); // half more a round trip, as above
        }
        segments.count.grow(acked, segments.per, &mut cwnd);
        cwnd
    }

    /// Segments to be acknowledged for one that the curve asks for.
    fn per_on_curve(&self, ack: &Ack, cwnd: f64) -> f64 {
        let t = ack.now.since(self.epoch_start).seconds();
        // the distance from the origin is rounded down, so that the curve is flat on both sides of
        // it
        let ahead = self.curve(t + ack.min_rtt) - self.epoch_w_max;
        let target = self.epoch_w_max + ahead.trunc();
        let per = if target > cwnd {
            (cwnd / (target - cwnd)).floor()
        } else {
            100.0 * cwnd // hardly at all
        };
        if self.w_max == 0.0 {
            per.min(20.0)
        } else {
            per
        }
    }

    /// The Reno estimate grows by a segment for so many as its pace takes, in eighths of the
    /// window; where it is ahead, the window follows.
    fn keep_up_with_reno(&mut self, segments: &mut WholeSegments, cwnd: f64) {
        let eighths = (8.0 / self.alpha_now()).floor();
        let step = (cwnd * eighths / 8.0).floor().max(1.0);
        while segments.estimate_count > step {
            segments.estimate_count -= step;
            self.w_est += 1.0;
        }
        if self.w_est > cwnd {
            segments.per = segments.per.min((cwnd / (self.w_est - cwnd)).floor());
        }
    }
}

impl Cubic {
    /// Remembers what a loss changes that leaves `ssthresh` of `cwnd`.
    fn keep(&mut self, cwnd: f64, ssthresh: f64) {
        let before = Before {
            cwnd,
            ssthresh,
            w_max: self.w_max,
            cwnd_prior: self.cwnd_prior,
            w_est: self.w_est,
            epoch_w_max: self.epoch_w_max,
            k: self.k,
            epoch_start: self.epoch_start,
        };
        match &mut self.before {
            Some(kept) => **kept = before,
            None => self.before = Some(Box::new(before)),
        }
    }
}

impl CongestionControl for Cubic {
    fn on_ack(&mut self, ack: &Ack, window: &mut Window, _random: &mut Stream) {
        if window.in_slow_start()
            && let Some(hystart) = &mut self.hystart
            && !ack.rtt.is_nan()
            && hystart.over(ack, window.cwnd)
        {
            window.ssthresh = window.cwnd;
            self.hystart = None;
        }
        if window.in_slow_start() {
            if !ack.cwnd_limited {
                return;
            }
            //= RFC 9438 4.10/1: done, test slow_start_without_a_loss_starts_on_the_convex_side
            //= RFC 9438 4.10/2: deviation, HyStart++ is an option of the flow (`hystart`)
            //= RFC 9438 4.10/2 (style "linux"): deviation, hybrid slow start, its predecessor
            let acked = window.slow_start(f64::from(ack.acked));
            if !window.in_slow_start() && (acked > 0.0 || self.segments.is_none()) {
                if self.segments.is_none() {
                    self.begin_epoch(ack.now, window.cwnd);
                }
                window.cwnd = self.avoid(acked, ack, window.cwnd);
                self.last_ack = ack.now;
            }
            return;
        }
        if self.segments.is_some() {
            if ack.cwnd_limited {
                window.cwnd = self.avoid(f64::from(ack.acked), ack, window.cwnd);
            }
            self.last_ack = ack.now;
            return;
        }
        if self.epoch_start == Time::NEVER {
            self.begin_epoch(ack.now, window.cwnd);
        }
        if !ack.cwnd_limited {
            //= RFC 9438 4.2/1: done, test section_5_8_time_that_is_not_used_does_not_count
            self.epoch_start += ack.now.since(self.last_ack);
        }
        self.last_ack = ack.now;
        if ack.cwnd_limited {
            window.cwnd = self.avoid(f64::from(ack.acked), ack, window.cwnd);
        }
    }

    fn on_congestion(&mut self, reduction: &Reduction, window: &mut Window) {
        let used = reduction.window_used;
        let remaining = self.beta * used;
        if self.segments.is_none() && reduction.signal != Signal::Ecn {
            self.keep(window.cwnd, remaining.max(MIN_SSTHRESH));
        }
        //= RFC 9438 4.7/1: done, test section_4_7_fast_convergence
        //= RFC 9438 4.7/2: not applicable, a sender does not know that it is alone;
        //=   `fast_convergence` is a parameter
        self.w_max = if self.fast_convergence && used < self.w_max {
            used * (1.0 + self.beta) / 2.0
        } else {
            used
        };
        self.cwnd_prior = used;
        self.epoch_start = Time::NEVER;
        window.ssthresh = remaining.max(MIN_SSTHRESH);
        if let Some(segments) = &mut self.segments {
            self.w_max = self.w_max.floor();
            window.ssthresh = window.ssthresh.floor();
            segments.count.clear();
        }
        if reduction.signal == Signal::Timeout {
            // the next stage takes the window that slow start ends with as its W_max
            self.w_max = 0.0;
            if let Some(segments) = &mut self.segments {
                segments.computed = (Time::ZERO, 0.0);
            }
        } else if reduction.signal == Signal::Ecn && self.segments.is_none() {
            //= RFC 9438 4.6/5: done, test section_4_6_marks_leave_one_segment
            //= RFC 9438 4.6/5 (`form = "linux"`): deviation, two segments, as after a loss
            window.cwnd = remaining.max(1.0);
        } else {
            window.cwnd = window.ssthresh;
        }
    }

    /// RFC 9438, section 4.9. Linux's form goes on from where it is, as Linux does.
    fn on_spurious_recovery(&mut self, _now: Time, window: &mut Window) {
        if let Some(before) = &self.before {
            //= RFC 9438 4.9.2/1: done, test section_4_9_2_a_larger_window_goes_on
            //= RFC 9438 4.9.2/1 (`form = "linux"`): done, no test; nothing comes back
            if window.cwnd > before.cwnd {
                window.ssthresh = before.ssthresh;
                return;
            }
            self.w_max = before.w_max;
            self.cwnd_prior = before.cwnd_prior;
            self.w_est = before.w_est;
            self.epoch_w_max = before.epoch_w_max;
            self.k = before.k;
            self.epoch_start = before.epoch_start;
        }
    }

    fn on_restart(&mut self, now: Time, _window: &mut Window) {
        if self.epoch_start != Time::NEVER {
            self.epoch_start += now.since(self.last_ack);
            self.last_ack = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Parameters as _;
    use crate::congestion::test::{PATH, ack, loss, random};

    const RTT: f64 = 0.1;

    fn params() -> CubicParams {
        CubicParams::from_values(&[]).unwrap()
    }

    /// After a loss at `used` segments, with `before` as the W_max of earlier.
    fn after_loss(before: f64, used: f64) -> (Cubic, Window) {
        let mut control = Cubic {
            w_max: before,
            ..params().build(0)
        };
        let mut window = Window {
            cwnd: used,
            ssthresh: used,
        };
        control.on_congestion(&loss(used), &mut window);
        (control, window)
    }

    /// ACKs of a full window over `seconds` in steps of `tick`, from `from`: `cwnd` per RTT.
    /// Returns the time of the last.
    fn acks(control: &mut Cubic, window: &mut Window, from: f64, seconds: f64) -> f64 {
        let mut now = from;
        while now < from + seconds {
            now += RTT / window.cwnd;
            let ack = Ack {
                now: Time::from_seconds(now),
                srtt: RTT,
                ..ack(1)
            };
            control.on_ack(&ack, window, &mut random());
        }
        now
    }

    #[test]
    fn section_4_6_and_4_2_reduction_and_k() {
        let (mut control, mut window) = after_loss(0.0, 1000.0);
        assert_eq!(
            window,
            Window {
                cwnd: 700.0,
                ssthresh: 700.0
            }
        );
        control.on_ack(
            &Ack {
                srtt: RTT,
                ..ack(0)
            },
            &mut window,
            &mut random(),
        );
        // K = ((1000 - 700) / 0.4)^(1/3), W(0) = cwnd, W(K) = W_max
        assert!((control.k - 750.0_f64.cbrt()).abs() < 1e-12);
        assert!((control.curve(0.0) - 700.0).abs() < 1e-9);
        assert!((control.curve(control.k) - 1000.0).abs() < 1e-12);
        assert!((control.curve(control.k + 5.0) - 1050.0).abs() < 1e-9);
    }

    /// The state before a needless response comes back, and the curve goes on.
    #[test]
    fn section_4_9_what_was_before_comes_back() {
        for signal in [Signal::Loss, Signal::Timeout] {
            let (mut control, mut window) = after_loss(0.0, 1000.0);
            let now = acks(&mut control, &mut window, 0.0, 3.0);
            let (w_max, k, start) = (control.w_max, control.k, control.epoch_start);
            let cwnd = window.cwnd;
            control.on_congestion(
                &Reduction {
                    signal,
                    ..loss(cwnd)
                },
                &mut window,
            );
            assert_eq!(control.epoch_start, Time::NEVER);
            (window.cwnd, window.ssthresh) = (cwnd, 700.0);
            control.on_spurious_recovery(Time::from_seconds(now), &mut window);
            assert_eq!(
                (control.w_max, control.k, control.epoch_start),
                (w_max, k, start)
            );
            let later = acks(&mut control, &mut window, now, 2.0);
            let gap = window.cwnd - control.curve(later);
            assert!(gap.abs() < 15.0, "{signal:?}: {gap}");
        }
    }

    /// RFC 9438, section 4.9.2: a window that has grown beyond the one before the needless response
    /// by the time that this is found out goes on as it is.
    #[test]
    fn section_4_9_2_a_larger_window_goes_on() {
        for (later, goes_on) in [(999.0, false), (1000.0, false), (1001.0, true)] {
            let (mut control, mut window) = after_loss(0.0, 1000.0);
            let now = acks(&mut control, &mut window, 0.0, 3.0);
            let (w_max, k, start) = (control.w_max, control.k, control.epoch_start);
            assert_eq!(w_max, 1000.0);
            // the sender has taken cwnd and ssthresh back, where they are smaller
            (window.cwnd, window.ssthresh) = (later, f64::INFINITY);
            control.on_spurious_recovery(Time::from_seconds(now), &mut window);
            let expected = if goes_on {
                (w_max, k, start, 700.0)
            } else {
                (0.0, 0.0, Time::NEVER, f64::INFINITY)
            };
            let epoch = (control.w_max, control.k, control.epoch_start);
            assert_eq!((epoch.0, epoch.1, epoch.2, window.ssthresh), expected);
        }
    }

    /// RFC 9438, section 4.6: two segments are left after a loss, one after a mark; ssthresh is two
    /// after both.
    #[test]
    fn section_4_6_marks_leave_one_segment() {
        for (used, signal, cwnd) in [
            (2.0, Signal::Loss, 2.0),
            (2.0, Signal::Ecn, 1.4),
            (1.4, Signal::Ecn, 1.0),
            (1.0, Signal::Ecn, 1.0),
            (10.0, Signal::Ecn, 7.0),
        ] {
            for linux in [false, true] {
                let mut control = params().build(0);
                if linux {
                    control.segments = Some(Box::default());
                }
                let mut window = Window {
                    cwnd: used,
                    ssthresh: used,
                };
                control.on_congestion(
                    &Reduction {
                        signal,
                        ..loss(used)
                    },
                    &mut window,
                );
                let expected = if linux { cwnd.max(2.0) } else { cwnd };
                assert_eq!((window.cwnd, window.ssthresh), (expected, cwnd.max(2.0)));
            }
        }
    }

    #[test]
    fn section_4_2_the_window_follows_the_curve() {
        let (mut control, mut window) = after_loss(0.0, 1000.0);
        control.reno_friendly = false;
        let mut now = 0.0;
        for _ in 0..13 {
            now = acks(&mut control, &mut window, now, 1.0);
            // the window trails W(t + RTT) by what it gains in a round
            let (low, high) = (control.curve(now), control.curve(now + RTT));
            assert!(
                low - 1.0 < window.cwnd && window.cwnd < high + 1.0,
                "{now}: {low} {} {high}",
                window.cwnd
            );
        }
        assert!(window.cwnd > 1010.0);
    }

    #[test]
    fn section_4_4_one_ack_adds_its_share_of_the_way() {
        let (mut control, mut window) = after_loss(0.0, 1000.0);
        control.reno_friendly = false;
        control.on_ack(
            &Ack {
                srtt: RTT,
                ..ack(0)
            },
            &mut window,
            &mut random(),
        );
        let later = Ack {
            now: Time::from_seconds(2.0),
            srtt: RTT,
            ..ack(1)
        };
        control.on_ack(&later, &mut window, &mut random());
        let target = 0.4 * (2.1 - 750.0_f64.cbrt()).powi(3) + 1000.0;
        assert!((window.cwnd - 700.0 - (target - 700.0) / 700.0).abs() < 1e-9);
    }

    #[test]
    fn section_4_2_the_target_is_at_most_half_more() {
        let (mut control, mut window) = after_loss(0.0, 10.0);
        control.reno_friendly = false;
        control.on_ack(
            &Ack {
                srtt: RTT,
                ..ack(0)
            },
            &mut window,
            &mut random(),
        );
        let late = Ack {
            now: Time::from_seconds(100.0),
            srtt: RTT,
            ..ack(1)
        };
        control.on_ack(&late, &mut window, &mut random());
        assert!((window.cwnd - 7.5).abs() < 1e-12, "{}", window.cwnd); // 7 + (10.5 - 7) / 7
    }

    #[test]
    fn section_4_3_reno_friendly_region() {
        // 20 segments, 10 ms: the curve is slow, the estimate leads
        let (mut control, mut window) = after_loss(0.0, 20.0);
        let alpha = 3.0 * 0.3 / 1.7;
        let mut now = Time::ZERO;
        control.on_ack(
            &Ack {
                srtt: 0.01,
                ..ack(0)
            },
            &mut window,
            &mut random(),
        );
        let mut expected = 14.0;
        for _ in 0..28 {
            now += Time::from_seconds(0.01 / 14.0);
            expected += alpha / expected;
            control.on_ack(
                &Ack {
                    now,
                    srtt: 0.01,
                    ..ack(1)
                },
                &mut window,
                &mut random(),
            );
        }
        assert!(
            (window.cwnd - expected).abs() < 1e-12,
            "{} {expected}",
            window.cwnd
        );
        // from the old window on it grows as Reno
        control.w_est = 20.0;
        window.cwnd = 20.0;
        control.on_ack(
            &Ack {
                now,
                srtt: 0.01,
                ..ack(1)
            },
            &mut window,
            &mut random(),
        );
        assert_eq!(window.cwnd, 20.05);
    }

    #[test]
    fn without_reno_pace_the_estimate_keeps_its_own() {
        let (mut control, mut window) = after_loss(0.0, 20.0);
        control.reno_pace = false;
        window.cwnd = 20.0;
        control.w_est = 20.0;
        control.begin_epoch(Time::ZERO, 20.0);
        control.on_ack(
            &Ack {
                srtt: 0.01,
                ..ack(1)
            },
            &mut window,
            &mut random(),
        );
        assert_eq!(window.cwnd, 20.0 + 3.0 * 0.3 / 1.7 / 20.0);
    }

    #[test]
    fn in_whole_packets_the_curve_is_flat_near_its_origin() {
        let (mut control, mut window) = after_loss(0.0, 67.0);
        control.segments = Some(Box::default());
        control.reno_friendly = false;
        control.on_congestion(&loss(67.0), &mut window);
        assert_eq!((control.w_max, window.cwnd), (67.0, 46.0));
        // within (1 / C)^(1/3) = 1.36 s of K the target is W_max itself
        let mut reached = 0.0;
        for step in 1..4000 {
            let now = f64::from(step) * 1e-3;
            let ack = Ack {
                now: Time::from_seconds(now),
                srtt: 0.05,
                ..ack(2)
            };
            control.on_ack(&ack, &mut window, &mut random());
            if reached == 0.0 && window.cwnd >= 67.0 {
                reached = now;
            }
        }
        assert!(window.cwnd == window.cwnd.floor());
        assert!(reached < control.k - 1.2, "{reached} {}", control.k);
        assert_eq!(window.cwnd, 67.0);
    }

    /// Linux looks at its curve, and at the Reno estimate, once in 32 ms while the window stays.
    /// Fourteen ACKs in 26 ms bring the estimate above a window of seven (13 = 7 15/8 make one);
    /// the window follows at the first ACK after 31 ms.
    #[test]
    fn in_linux_a_window_that_stays_is_looked_at_every_32_ms() {
        let mut control = params().build(0);
        (control.segments, control.reno_pace) = (Some(Box::default()), false);
        let mut window = Window {
            cwnd: 7.0,
            ssthresh: 7.0,
        };
        let mut grown = None;
        for step in 0..20_u32 {
            let ack = Ack {
                now: Time::from_seconds(1.0 + 0.002 * f64::from(step)),
                ..ack(1)
            };
            control.on_ack(&ack, &mut window, &mut random());
            if window.cwnd > 7.0 && grown.is_none() {
                grown = Some(step);
            }
        }
        assert_eq!((grown, window.cwnd), (Some(16), 8.0));
    }

    #[test]
    fn section_4_7_fast_convergence() {
        assert_eq!(after_loss(1000.0, 800.0).0.w_max, 680.0);
        assert_eq!(after_loss(1000.0, 1200.0).0.w_max, 1200.0);
        let mut slow = Cubic {
            w_max: 1000.0,
            fast_convergence: false,
            ..params().build(0)
        };
        slow.on_congestion(
            &loss(800.0),
            &mut Window {
                cwnd: 800.0,
                ssthresh: 1.0,
            },
        );
        assert_eq!(slow.w_max, 800.0);
    }

    #[test]
    fn section_4_8_after_a_timeout_k_is_zero() {
        let mut control = params().build(0);
        let mut window = Window {
            cwnd: 100.0,
            ssthresh: 100.0,
        };
        control.on_congestion(
            &Reduction {
                signal: Signal::Timeout,
                ..loss(100.0)
            },
            &mut window,
        );
        assert_eq!(window.ssthresh, 70.0);
        window.cwnd = 69.0; // the endpoint starts from one; slow start is nearly done
        control.on_ack(
            &Ack {
                srtt: RTT,
                ..ack(2)
            },
            &mut window,
            &mut random(),
        );
        assert_eq!((control.k, control.epoch_w_max), (0.0, 70.0));
        assert!(window.cwnd >= 70.0);
    }

    #[test]
    fn slow_start_without_a_loss_starts_on_the_convex_side() {
        let mut control = params().build(0);
        let mut window = Window {
            cwnd: 31.0,
            ssthresh: 32.0,
        };
        control.on_ack(
            &Ack {
                srtt: RTT,
                ..ack(1)
            },
            &mut window,
            &mut random(),
        );
        assert_eq!(
            (window.cwnd, control.k, control.epoch_w_max),
            (32.0, 0.0, 32.0)
        );
    }

    #[test]
    fn section_5_8_time_that_is_not_used_does_not_count() {
        let (mut control, mut window) = after_loss(0.0, 1000.0);
        control.reno_friendly = false;
        acks(&mut control, &mut window, 0.0, 1.0);
        let (before, t) = (window.cwnd, control.last_ack.since(control.epoch_start));
        for second in 2..10 {
            let ack = Ack {
                now: Time::from_seconds(f64::from(second)),
                srtt: RTT,
                cwnd_limited: false,
                ..ack(1)
            };
            control.on_ack(&ack, &mut window, &mut random());
        }
        assert_eq!(
            (window.cwnd, control.last_ack.since(control.epoch_start)),
            (before, t)
        );
        control.on_restart(Time::from_seconds(100.0), &mut window);
        assert_eq!(control.last_ack.since(control.epoch_start), t);
    }

    #[test]
    fn fluid_models_agree_at_equilibrium() {
        let (params, w) = (params(), 200.0_f64);
        let mut state = [0.0; 2];
        CubicParams::start(&params, w, &PATH, &mut state);
        assert!((CubicParams::window(&params, &state) - w).abs() < 1e-12);
        let signals = 1.0 / state[1];
        let input = TcpInput {
            per_ack: true,
            acks: w / PATH.rtt - signals,
            signals,
            path: PATH,
        };
        let mut rate = [1.0; 2];
        CubicParams::derivative(&params, &input, &state, &mut rate);
        assert!(rate.iter().all(|rate| rate.abs() < 1e-12), "{rate:?}");
        // i(w) x = d(w) signals, with all packets counted as acknowledged
        let (i, d) = (
            CubicParams::increase(&params, w, &PATH),
            CubicParams::decrease(&params, w, &PATH),
        );
        assert!((i * w / PATH.rtt - d * signals).abs() < 1e-9);
    }

    #[test]
    fn fluid_window_is_that_of_section_5_1_within_2_per_cent() {
        // average window (C (3 + beta) / (4 (1 - beta)))^(1/4) (R / p)^(3/4)
        let (params, p) = (params(), 1e-4_f64);
        let standard = (0.4 * 3.7 / (4.0 * 0.3)).powf(0.25) * (PATH.rtt / p).powf(0.75);
        let w = standard / (3.7_f64 / 4.0).powf(0.25);
        let balance = CubicParams::increase(&params, w, &PATH)
            / (CubicParams::decrease(&params, w, &PATH) * p);
        assert!((balance - 1.0).abs() < 1e-12, "{balance}");
        assert!((w / standard - 1.0).abs() < 0.02);
    }

    /// ACKs of a round, `gap` seconds apart, with this RTT; the window after it.
    fn round(control: &mut Cubic, window: &mut Window, from: f64, gap: f64, rtt: f64, acks: u32) {
        for n in 0..acks {
            let ack = Ack {
                now: Time::from_seconds(from + gap * f64::from(n)),
                rtt,
                min_rtt: 0.08,
                round_start: n == 0,
                ..ack(1)
            };
            control.on_ack(&ack, window, &mut random());
        }
    }

    #[test]
    fn hybrid_slow_start_ends_by_delay_or_by_a_train() {
        let params = CubicParams {
            hystart: true,
            ..params()
        };
        // 80 ms: the delay may grow by 10 ms; ACKs 5 ms apart are no train
        for (rtt, acks, leaves) in [(0.089, 20, false), (0.091, 8, false), (0.091, 9, true)] {
            let (mut control, mut window) = (
                params.build(0),
                Window {
                    cwnd: 100.0,
                    ssthresh: f64::INFINITY,
                },
            );
            round(&mut control, &mut window, 1.0, 0.005, rtt, acks);
            assert_eq!(window.ssthresh.is_finite(), leaves, "{rtt} {acks}");
        }
        // ACKs 1 ms apart for more than half of 80 + 1 ms
        for (acks, leaves) in [(41, false), (42, true)] {
            let (mut control, mut window) = (
                params.build(0),
                Window {
                    cwnd: 100.0,
                    ssthresh: f64::INFINITY,
                },
            );
            round(&mut control, &mut window, 1.0, 0.001, 0.08, acks);
            assert_eq!(window.ssthresh.is_finite(), leaves, "{acks}");
        }
        let (mut control, mut window) = (
            params.build(0),
            Window {
                cwnd: 2.0,
                ssthresh: f64::INFINITY,
            },
        );
        round(&mut control, &mut window, 1.0, 0.005, 0.2, 10);
        assert!(window.in_slow_start(), "small windows go on");
    }
}
