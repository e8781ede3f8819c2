//! DCTCP: falls in proportion to the share of marked packets.
//!
//! The receiver echoes each mark as it came. Once a round trip the share of segments that were
//! marked enters the estimate alpha with weight g (RFC 8257, section 3.3); the first mark of a
//! window takes alpha / 2 of it. Growth is Reno's, and so is the answer to losses. Without ECN it
//! is Reno.
//!
//! Over a queue that marks above a threshold, one flow that fills the path and the threshold with W
//! packets settles at alpha = sqrt(2 / W) (Alizadeh et al. 2010, section 3.3).
//!
//! With `form = "linux"`, the window grows by one once a window of packets has been acknowledged,
//! what a mark takes of it is rounded down, alpha is a whole number of 1024ths, renewed by the ACK
//! of everything that was sent when it last was, and a loss halves the window even while it comes
//! down for a mark.

//= RFC 8257 1/1, 5/1: not applicable, advice to those who run networks
//= RFC 8257 4.1/1: not applicable, control packets but the SYN are never ECN-capable

use super::{
    Ack, CongestionAlgorithm, CongestionControl, Form, Forms, LINUX_FORM, MIN_SSTHRESH, Needs,
    Reduction, SegmentCount, Signal, Window,
};
use crate::fluid::{FALL_A_MARK, FluidTcp, Path, TcpInput};
use crate::meta::{About, Algorithm};
use crate::{DefaultValue, Interval, Scalar, Stream, parameters};

parameters! {
    /// Parameters of DCTCP.
    pub struct DctcpParams {
        /// Weight of a round trip in the estimated share of marked segments.
        g: number = 0.0625, in Interval::above_to(0.0, 1.0), "RFC 8257, section 4.2";
        /// The estimate at the beginning: at 1 the first mark halves the window.
        initial_alpha: number = 1.0, in Interval::between(0.0, 1.0), "RFC 8257, section 3.3";
        /// The algorithm as published, or as Linux implements it.
        form: choice(Form) = Paper, "style: Linux 6.1";
    }
}

impl Algorithm for DctcpParams {
    const ABOUT: About = About {
        kind: "dctcp",
        title: "DCTCP",
        summary: "Estimates which share of packets is marked and falls in proportion to it: short queues in data centres whose switches mark above a low threshold.",
        citation: "S. Bensley, D. Thaler, P. Balasubramanian, L. Eggert and G. Judd, Data Center TCP, RFC 8257 (2017); \
                   M. Alizadeh et al., Data Center TCP, SIGCOMM 2010",
        ecn: true,
    };

    const LINUX: &'static [(&'static str, DefaultValue)] = &[LINUX_FORM];
    const WITHOUT_ECN: Option<&'static str> = Some("Reno");
}

impl CongestionAlgorithm for DctcpParams {
    type Controller = Forms<PaperDctcp, LinuxDctcp>;

    fn build(&self, _flow: u32) -> Self::Controller {
        match self.form {
            Form::Paper => Forms::Paper(PaperDctcp {
                marks: Marks::new(self),
            }),
            Form::Linux => Forms::Linux(LinuxDctcp {
                marks: Marks::new(self),
                round_end: 0,
                count: SegmentCount::default(),
            }),
        }
    }
}

impl FluidTcp for DctcpParams {
    type Over<S: Scalar> = DctcpParams<S>;

    const APPROXIMATION: Option<&'static str> = Some(
        "as a window with an estimate alpha beside it, as Alizadeh, Javanmard and Prabhakar (2011) have it, for marks at random among packets (derived here); \
         marks that come for all packets of a round trip or for none are fewer; losses beside marks count as marks",
    );

    /// 1 / w.
    fn increase<S: Scalar>(_params: &DctcpParams<S>, window: S, _path: &Path<S>) -> S {
        S::from_f64(1.0) / window
    }

    /// A mark: what its share of alpha w / 2 once a round trip is at rest. A loss: half of the
    /// window.
    fn decrease<S: Scalar>(_params: &DctcpParams<S>, window: S, path: &Path<S>) -> S {
        if path.marks {
            S::from_f64(FALL_A_MARK)
        } else {
            window * 0.5
        }
    }

    fn state_names<S: Scalar>(_params: &DctcpParams<S>) -> &'static [&'static str] {
        &["window (packets)", "estimated share of marks"]
    }

    /// At rest: alpha = p, and marks take as much as packets without marks give.
    fn start<S: Scalar>(_params: &DctcpParams<S>, window: S, path: &Path<S>, state: &mut [S]) {
        let share = S::from_f64(1.0) / (window * FALL_A_MARK + 1.0);
        state[0] = window;
        state[1] = share * f64::from(u8::from(path.marks));
    }

    /// dw/dt = (1 - p) x / w - (alpha w / 2) falls a second; dalpha/dt = g (p - alpha) / R. Losses
    /// halve w, and alpha forgets.
    fn derivative<S: Scalar>(
        params: &DctcpParams<S>,
        input: &TcpInput<S>,
        state: &[S],
        rate: &mut [S],
    ) {
        let (window, alpha, rtt) = (state[0], state[1], input.path.rtt);
        let grow = input.acks / window;
        if input.path.marks {
            rate[0] = grow - alpha * window * input.falls(rtt) * 0.5;
            rate[1] = params.g * (input.share() - alpha) / rtt;
        } else {
            rate[0] = grow - window * input.signals * 0.5;
            rate[1] = -params.g * alpha / rtt;
        }
    }
}

/// Steps of alpha between 0 and 1, in kernels.
const ALPHA_STEPS: f64 = 1024.0;

/// The record of marks, in both forms.
#[derive(Clone, Copy, Debug)]
struct Marks {
    /// Estimated share of marked segments.
    alpha: f64,
    /// Segments acknowledged in the round, and those of them that were marked.
    acked: u32,
    marked: u32,
    g: f64,
}

impl Marks {
    fn new(params: &DctcpParams) -> Self {
        Self {
            alpha: params.initial_alpha,
            acked: 0,
            marked: 0,
            g: params.g,
        }
    }

    fn count(&mut self, ack: &Ack) {
        self.acked += ack.acked;
        self.marked += ack.marked.min(ack.acked);
    }

    /// Fraction of the window that a signal takes.
    fn fall(&self, signal: Signal) -> f64 {
        if signal == Signal::Ecn {
            //= RFC 8257 3.3/3: done, test section_3_3_estimate_and_reduction
            0.5 * self.alpha
        //= RFC 8257 3.5/1..2: done, test section_3_3_estimate_and_reduction
        } else {
            0.5
        }
    }
}

/// DCTCP at work.
#[derive(Clone, Copy, Debug)]
pub struct PaperDctcp {
    marks: Marks,
}

impl CongestionControl for PaperDctcp {
    fn needs(&self) -> Needs {
        Needs {
            marks: true,
            ..Needs::default()
        }
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack, window: &mut Window, _random: &mut Stream) {
        let marks = &mut self.marks;
        if ack.round_start && marks.acked > 0 {
            let share = f64::from(marks.marked) / f64::from(marks.acked);
            //= RFC 8257 3.3/1..2: done, test section_3_3_estimate_and_reduction
            marks.alpha += marks.g * (share - marks.alpha);
            (marks.acked, marks.marked) = (0, 0);
        }
        marks.count(ack);
        if ack.cwnd_limited && !ack.ece {
            let acked = window.slow_start(f64::from(ack.acked));
            window.cwnd += acked / window.cwnd;
        }
    }

    fn on_congestion(&mut self, reduction: &Reduction, window: &mut Window) {
        let left = (1.0 - self.marks.fall(reduction.signal)) * reduction.window_used;
        window.ssthresh = left.max(MIN_SSTHRESH);
        window.cwnd = window.ssthresh;
    }
}

/// DCTCP at work as in Linux.
#[derive(Clone, Copy, Debug)]
pub struct LinuxDctcp {
    marks: Marks,
    /// The round is over once everything below is acknowledged.
    round_end: u64,
    count: SegmentCount,
}

impl CongestionControl for LinuxDctcp {
    fn needs(&self) -> Needs {
        Needs {
            marks: true,
            loss_after_mark: true,
            every_ack: true,
            ..Needs::default()
        }
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack, window: &mut Window, _random: &mut Stream) {
        if !ack.ece {
            self.count.grow_as_reno(ack, window);
        }
    }

    /// The estimate in whole 1024ths, what is taken and what is added rounded down each; an
    /// estimate too small for that falls to zero.
    fn on_every_ack(&mut self, ack: &Ack) {
        let marks = &mut self.marks;
        marks.count(ack);
        if ack.una < self.round_end {
            return;
        }
        let steps = ALPHA_STEPS * marks.alpha;
        //= RFC 8257 4.2/1..2: done, test dctcp::whole_packets_as_in_linux
        let mut left = steps - (marks.g * steps).floor();
        if left == steps {
            left = 0.0;
        }
        let share = f64::from(marks.marked) / f64::from(marks.acked.max(1));
        left += (ALPHA_STEPS * marks.g * share).floor();
        marks.alpha = left.min(ALPHA_STEPS) / ALPHA_STEPS;
        (marks.acked, marks.marked) = (0, 0);
        self.round_end = ack.next;
    }

    fn on_congestion(&mut self, reduction: &Reduction, window: &mut Window) {
        let left = (1.0 - self.marks.fall(reduction.signal)) * reduction.window_used;
        // what a mark takes is rounded down, what a loss leaves
        let left = if reduction.signal == Signal::Ecn {
            left.ceil()
        } else {
            left.floor()
        };
        self.count.clear();
        window.ssthresh = left.max(MIN_SSTHRESH);
        window.cwnd = window.ssthresh;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Parameters as _;
    use crate::congestion::test::{PATH, ack, loss, random};

    fn params() -> DctcpParams {
        DctcpParams::from_values(&[]).unwrap()
    }

    #[test]
    fn section_3_3_estimate_and_reduction() {
        let mut control = params().build(0).paper();
        let mut window = Window {
            cwnd: 100.0,
            ssthresh: 100.0,
        };
        // a round of 20 segments, 5 of them marked, ends with the first ACK of the next
        for n in 0..21 {
            let marked = u32::from(n < 5);
            let sample = Ack {
                round_start: n == 20,
                marked,
                ece: marked > 0,
                ..ack(1)
            };
            control.on_ack(&sample, &mut window, &mut random());
        }
        let alpha = 15.0 / 16.0 + 0.25 / 16.0;
        assert!((control.marks.alpha - alpha).abs() < 1e-15);
        // marked ACKs did not let the window grow
        assert!((window.cwnd - 100.0 - 16.0 / 100.0).abs() < 1e-3);
        let mark = Reduction {
            signal: Signal::Ecn,
            ..loss(100.0)
        };
        control.on_congestion(&mark, &mut window);
        assert!((window.cwnd - 100.0 * (1.0 - alpha / 2.0)).abs() < 1e-12);
        assert_eq!(window.ssthresh, window.cwnd);
        control.on_congestion(&loss(60.0), &mut window);
        assert_eq!(window.cwnd, 30.0);
    }

    /// Linux: alpha in whole 1024ths, renewed by the ACK of all that was sent when it last was;
    /// what a mark takes is rounded down, what a loss leaves too.
    #[test]
    fn whole_packets_as_in_linux() {
        let linux = DctcpParams {
            form: Form::Linux,
            ..params()
        };
        let mut control = linux.build(0).linux();
        let mut round = |una: u64, acked: u32, marked: u32| {
            let sample = Ack {
                una,
                next: una + 10,
                ece: marked > 0,
                marked,
                ..ack(acked)
            };
            control.on_every_ack(&sample);
            control.marks.alpha * 1024.0
        };
        assert_eq!(round(2, 2, 0), 960.0); // nothing was sent before: 1024 - 64
        assert_eq!(round(11, 9, 9), 960.0); // 12 ends the round
        // 960 - 60, and 64 x 12 / 13 = 59.07 for the marks of the round with this ACK
        assert_eq!(round(15, 4, 3), 959.0);
        let mut una = 15;
        let last = (0..200).map(|_| {
            una += 10;
            round(una, 10, 0)
        });
        // down by sixteenths, and from below 16 to zero
        let last: Vec<f64> = last.collect();
        assert!(
            last.windows(2)
                .all(|pair| pair[1] == 0.0 || pair[1] < pair[0])
        );
        assert_eq!(last.iter().copied().rfind(|&alpha| alpha > 0.0), Some(15.0));
        let mut window = Window {
            cwnd: 21.0,
            ssthresh: 21.0,
        };
        control.marks.alpha = 100.0 / 1024.0;
        let mark = Reduction {
            signal: Signal::Ecn,
            ..loss(21.0)
        };
        control.on_congestion(&mark, &mut window);
        assert_eq!(window.ssthresh, 20.0); // 21 x 100 / 2048 = 1.03
        control.on_congestion(&loss(21.0), &mut window);
        assert_eq!(window.ssthresh, 10.0);
        assert!(control.needs().loss_after_mark);
    }

    #[test]
    fn fixed_point_under_a_step_mark() {
        // Packets of a window above W are marked, and heard of a round trip later. A period is W
        // alpha / 2 round trips of growth and one with marks, so alpha = 1 / (W alpha / 2), about
        // sqrt(2 / W) (Alizadeh et al. 2010, equation (6)), less what two round trips more a period
        // make: the one with marks, in which the window stands, and the part of one by which it
        // overshoots.
        for full in [50.0_f64, 200.0, 400.0] {
            let fine = DctcpParams {
                g: 1.0 / 512.0,
                ..params()
            };
            let mut control = fine.build(0).paper();
            let mut window = Window {
                cwnd: full,
                ssthresh: 2.0,
            };
            let (mut sum, mut rounds) = (0.0, 0.0);
            let mut sent_above = false;
            for round in 0..12_000 {
                let marked = sent_above;
                sent_above = window.cwnd > full;
                let mut due = marked;
                for n in 0..window.cwnd as u32 {
                    let sample = Ack {
                        round_start: n == 0,
                        marked: u32::from(marked),
                        ece: marked,
                        ..ack(1)
                    };
                    control.on_ack(&sample, &mut window, &mut random());
                    if std::mem::take(&mut due) {
                        let mark = Reduction {
                            signal: Signal::Ecn,
                            ..loss(window.cwnd)
                        };
                        control.on_congestion(&mark, &mut window);
                        sent_above = window.cwnd > full;
                    }
                }
                if round >= 4000 {
                    sum += control.marks.alpha;
                    rounds += 1.0;
                }
            }
            let alpha: f64 = sum / rounds;
            let most = (2.0 / full).sqrt();
            let least = (-2.0 + (4.0 + 2.0 * full).sqrt()) / full;
            assert!(
                least < alpha && alpha < most,
                "{full}: {least} {alpha} {most}"
            );
        }
    }

    #[test]
    fn fluid_equilibrium() {
        let derivative = |path: Path, w: f64, p: f64, state: &[f64]| {
            let x = w / path.rtt;
            let input = TcpInput {
                per_ack: true,
                acks: (1.0 - p) * x,
                signals: p * x,
                path,
            };
            let mut rate = [f64::NAN; 2];
            DctcpParams::derivative(&params(), &input, state, &mut rate);
            (rate, input)
        };
        let w = 50.0;
        let marked = PATH.with_marks(true);
        let mut state = [0.0; 2];
        DctcpParams::start(&params(), w, &marked, &mut state);
        let p = state[1];
        let (rate, input) = derivative(marked, w, p, &state);
        assert!(rate[0].abs() < 1e-12 && rate[1].abs() < 1e-14, "{rate:?}");
        // and d(w) balances what packets without marks give
        let fall = DctcpParams::decrease(&params(), w, &marked) * input.signals;
        assert!((fall - input.acks / w).abs() < 1e-12);
        // where every packet is marked, half of alpha a round trip (Alizadeh, Javanmard and
        // Prabhakar 2011, equation (1))
        let (rate, _) = derivative(marked, w, 1.0, &[w, 0.4]);
        assert!((rate[0] * PATH.rtt + 0.2 * w).abs() < 1e-12, "{rate:?}");
        // losses: Reno
        let p = 2.0 / (w * w + 2.0);
        let (rate, _) = derivative(PATH, w, p, &[w, 0.0]);
        assert!(rate[0].abs() < 1e-12 && rate[1] == 0.0, "{rate:?}");
    }
}
