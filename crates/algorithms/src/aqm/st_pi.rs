//! ST-PI, statistical tuning PI: a PI controller whose reference and gain follow the variance of
//! the queue.
//!
//! At each sampling, T_s apart (Chen 2010, figure 6.1):
//!
//! - if 0 < q < 2 q_ref, the variance sigma^2 of q around q_ref takes a sample of weight phi_1 T_s;
//! - if also |q - q_ref| < gamma q_ref, the detection function g^2 takes one of weight phi_2 T_s;
//! - when then g and sigma are both above h_l q_ref, or both below h_s q_ref, with k = sigma / (h q_ref): q_ref <- k q_ref, K_p <- K_p / k^2, and g^2 starts
//!   anew half-way between its bounds.
//!
//! Then the controller computes its probability. Both its weights a and b are in proportion to the
//! gain K_p, since the zero stays where it is. phi_1 is the reciprocal of the system's time
//! constant (the figure calls it the time constant; section 6.4 sets it to 1/7).
//!
//! The fluid law is that of the PI controller with reference and gain where the variance of
//! independent windows leaves them; the variance of oscillations is left out.

use super::pi::{Pi, PiParams};
use super::st_red::{check_band, settled_scale};
use super::variance::{Band, Variance};
use super::{
    Aqm, AqmAlgorithm, LinkView, Observation, PacketView, QueueView, Verdict, changed, length,
};
use crate::fluid::{AqmInput, FluidAqm, Frozen};
use crate::meta::{About, Algorithm};
use crate::{Interval, Scalar, Stream, Time, ValueError, parameters};

parameters! {
    /// Parameters of ST-PI: those of the PI controller (a, b and reference are where it starts) and
    /// how it adapts.
    pub struct StPiParams {
        include pi: PiParams;
        /// Rate at which the variance follows the queue: the reciprocal of the system's time
        /// constant.
        phi_1: frequency = 0.142_857, in Interval::above(0.0), "Chen 2010, section 6.4: 1/7";
        /// Rate at which the detection function follows it; below `phi_1`. "auto": a quarter of
        /// `phi_1`.
        phi_2: frequency("auto") = word "auto", in Interval::above(0.0), "Chen 2010, figure 6.1";
        /// Half the width of the range of queues in which changes are detected, over the reference.
        gamma: number = 0.7, in Interval::above_to(0.0, 1.0), "Chen 2010, figure 6.1";
        /// Largest deviation of the queue from the reference, over the reference (h_l). "auto":
        /// gamma / sqrt(3), that of a uniform queue.
        h_l: number("auto") = word "auto", in Interval::above(0.0), "Chen 2010, figure 6.1";
        /// Smallest deviation, over the reference (h_s): depends on the parameters at the start.
        h_s: number = 0.259_808, in Interval::at_least(0.0), "Chen 2010, section 6.4: 0.45 / sqrt(3)";
    }
}

impl StPiParams {
    fn band(&self) -> Band {
        Band {
            gamma: self.gamma,
            small: self.h_s,
            large: self.h_l.or_else(|_| self.gamma / 3.0_f64.sqrt()),
        }
    }

    fn detection_rate(&self) -> f64 {
        self.phi_2.or_else(|_| 0.25 * self.phi_1)
    }

    /// Weights of a sample in variance and detection function.
    fn weights(&self) -> (f64, f64) {
        let weight = |rate: f64| (rate / self.pi.frequency).min(1.0);
        (weight(self.phi_1), weight(self.detection_rate()))
    }
}

impl Algorithm for StPiParams {
    const ABOUT: About = About {
        kind: "st-pi",
        title: "ST-PI",
        summary: "Statistical tuning PI: a PI controller that scales its reference and gain when the variance of the queue has become large or small.",
        citation: "W. Chen, Parameter self-tuning in Internet congestion control, PhD thesis, Loughborough University 2010, chapter 6",
        ecn: true,
    };

    fn check(&self) -> Result<(), ValueError> {
        self.pi.check()?;
        check_band(self.phi_1, self.detection_rate(), &self.band())
    }
}

impl AqmAlgorithm for StPiParams {
    type Instance = StPi;

    fn build(&self, link: &LinkView) -> StPi {
        let band = self.band();
        StPi {
            pi: self.pi.build(link),
            variance: Variance::new(self.pi.reference, &band),
            band,
            current: self.pi,
            params: *self,
        }
    }
}

impl<S: Scalar> StPiParams<S> {
    /// The controller with reference and gain where the variance of independent windows leaves
    /// them.
    fn scaled(&self, input: &AqmInput<S>) -> PiParams<S> {
        let large = self.h_l.or_else(|_| self.gamma / 3.0_f64.sqrt());
        let k = settled_scale(input.fluctuation(), self.pi.reference, (self.h_s, large));
        PiParams {
            a: self.pi.a / (k * k),
            b: self.pi.b / (k * k),
            reference: self.pi.reference * k,
            ..self.pi
        }
    }
}

impl FluidAqm for StPiParams {
    type Over<S: Scalar> = StPiParams<S>;

    const APPROXIMATION: Option<&'static str> = Some(
        "the PI controller in continuous time, reference and gain where the variance of independent windows (Appenzeller, Keslassy and McKeown 2004) leaves them; that of oscillations does not scale them (derived here)",
    );

    fn on_link(&self, _link: &LinkView) -> Self {
        *self
    }

    fn packet_weight<S: Scalar>(params: &StPiParams<S>, bytes: u32) -> f64 {
        PiParams::packet_weight(&params.pi, bytes)
    }

    fn state_names<S: Scalar>(params: &StPiParams<S>) -> &'static [&'static str] {
        PiParams::state_names(&params.pi)
    }

    fn derivative<S: Scalar>(
        params: &StPiParams<S>,
        input: &AqmInput<S>,
        state: &[S],
        rate: &mut [S],
    ) {
        PiParams::derivative(&params.scaled(input), input, state, rate);
    }

    fn frozen<S: Scalar>(
        params: &StPiParams<S>,
        input: &AqmInput<S>,
        _state: &[S],
    ) -> Option<Frozen<S>> {
        let PiParams {
            a, b, reference, ..
        } = params.scaled(input);
        Some(Frozen {
            kind: "pi",
            values: vec![("a", a), ("b", b), ("reference", reference)],
        })
    }

    fn regimes<S: Scalar>(params: &StPiParams<S>) -> &'static [&'static str] {
        PiParams::regimes(&params.pi)
    }

    fn regime<S: Scalar>(params: &StPiParams<S>, input: &AqmInput<S>, state: &[S]) -> usize {
        PiParams::regime(&params.scaled(input), input, state)
    }

    /// That of the PI controller with scaled reference and gain: p = (a + b) / (2 k^2) (q - k
    /// q_ref) + I.
    fn probability<S: Scalar>(
        params: &StPiParams<S>,
        input: &AqmInput<S>,
        state: &[S],
        regime: usize,
    ) -> S {
        PiParams::probability(&params.scaled(input), input, state, regime)
    }
}

/// ST-PI at work.
#[derive(Clone, Debug)]
pub struct StPi {
    pi: Pi,
    /// The controller's parameters now.
    current: PiParams,
    variance: Variance,
    band: Band,
    params: StPiParams,
}

impl Aqm for StPi {
    #[inline]
    fn enqueue(
        &mut self,
        now: Time,
        packet: &PacketView,
        queue: &QueueView,
        random: &mut Stream,
    ) -> Verdict {
        self.pi.enqueue(now, packet, queue, random)
    }

    fn next_timer(&self) -> Option<Time> {
        self.pi.next_timer()
    }

    fn on_timer(&mut self, now: Time, queue: &QueueView, random: &mut Stream) {
        let now_params = &mut self.current;
        let q = length(now_params.mode, now_params.mean_packet, queue);
        let weights = self.params.weights();
        if let Some(k) = self
            .variance
            .sample(q, now_params.reference, weights, &self.band)
            && k > 0.0
        {
            now_params.reference *= k;
            now_params.a /= k * k;
            now_params.b /= k * k;
            self.variance.restart(now_params.reference, &self.band);
            self.pi.replace(*now_params);
        }
        self.pi.on_timer(now, queue, random);
    }

    /// A parameter that is set anew is where it goes on from; what it has adapted stays otherwise.
    fn set_parameter(&mut self, name: &str, value: f64) -> Result<(), ValueError> {
        self.params = changed(&self.params, name, value)?;
        self.band = self.params.band();
        let mut current = PiParams {
            a: self.current.a,
            b: self.current.b,
            reference: self.current.reference,
            ..self.params.pi
        };
        match name {
            "a" | "b" => (current.a, current.b) = (self.params.pi.a, self.params.pi.b),
            "reference" => current.reference = self.params.pi.reference,
            _ => {}
        }
        if matches!(name, "reference" | "gamma" | "h_l" | "h_s") {
            self.variance.restart(current.reference, &self.band);
        }
        self.current = current;
        self.pi.replace(current);
        Ok(())
    }

    /// The adapted parameter is the reference, packets.
    fn observe(&self) -> Observation {
        Observation {
            adapted: Some(self.current.reference),
            ..self.pi.observe()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Parameters as _;
    use crate::aqm::red::Mode;
    use crate::aqm::test::{LINK, queue, random};

    /// The start of the thesis's simulations (section 6.4).
    fn params() -> StPiParams {
        let mut params = StPiParams::from_values(&[]).unwrap();
        (params.pi.a, params.pi.b, params.pi.reference) = (7.288e-5, 7.264e-5, 150.0);
        (params.pi.mode, params.pi.mean_packet) = (Mode::Bytes, 500.0);
        params
    }

    fn sample(aqm: &mut StPi, packets: f64) {
        let view = QueueView {
            bytes: (500.0 * packets).round() as u64,
            ..queue(1)
        };
        aqm.on_timer(aqm.next_timer().unwrap(), &view, &mut random());
    }

    /// Samples of a queue of a triangle's shape until the reference changes; whether it did within
    /// a thousand seconds.
    fn until_change(aqm: &mut StPi, amplitude: f64) -> bool {
        let before = aqm.current.reference;
        for n in 0..170_000 {
            let phase = f64::from(n % 600) / 300.0;
            sample(
                aqm,
                150.0 * (1.0 + amplitude * (1.0 - 2.0 * (phase - 1.0).abs())),
            );
            if aqm.current.reference != before {
                return true;
            }
        }
        false
    }

    #[test]
    fn large_oscillations_raise_the_reference_and_lower_the_gain() {
        let mut aqm = params().build(&LINK);
        assert!(until_change(&mut aqm, 0.85));
        let sigma = aqm.variance.variance.sqrt();
        let k = sigma / (0.7 / 3.0_f64.sqrt() * 150.0);
        assert!(k > 1.0 && k < 2.5, "{k}");
        let near = |value: f64, expected: f64| {
            assert!((value / expected - 1.0).abs() < 1e-12, "{value} {expected}");
        };
        near(aqm.current.reference, 150.0 * k);
        near(aqm.current.a, 7.288e-5 / (k * k));
        near(aqm.current.b, 7.264e-5 / (k * k));
        let square = |h: f64| (h * 150.0 * k).powi(2);
        near(
            aqm.variance.detection,
            0.5 * (square(0.259_808) + square(aqm.band.large)),
        );
    }

    #[test]
    fn small_oscillations_lower_it_and_those_between_leave_it_alone() {
        assert!(!until_change(&mut params().build(&LINK), 0.55));
        let mut aqm = params().build(&LINK);
        assert!(until_change(&mut aqm, 0.2));
        assert!(aqm.current.reference < 150.0 && aqm.current.a > 7.288e-5);
    }

    #[test]
    fn time_constants_are_in_seconds() {
        // a step of the queue within the detection range: sigma^2 comes up with 1/e left after 7 s,
        // g^2 after 28 s
        let mut aqm = StPiParams {
            h_s: 0.0,
            ..params()
        }
        .build(&LINK);
        aqm.variance.detection = 0.0;
        for _ in 0..(7 * 170) {
            sample(&mut aqm, 200.0);
        }
        assert!((aqm.variance.variance / 2500.0 - (1.0 - (-1.0_f64).exp())).abs() < 1e-3);
        assert!((aqm.variance.detection / 2500.0 - (1.0 - (-0.25_f64).exp())).abs() < 1e-3);
    }

    #[test]
    fn without_a_change_it_is_a_pi_controller() {
        let (mut aqm, mut plain) = (params().build(&LINK), params().pi.build(&LINK));
        for n in 0..500_u32 {
            let view = queue(40 + n % 20);
            let timer = plain.next_timer().unwrap();
            plain.on_timer(timer, &view, &mut random());
            aqm.on_timer(timer, &view, &mut random());
            assert_eq!(aqm.observe().probability, plain.observe().probability);
        }
        assert_eq!(aqm.current.reference, 150.0);
    }
}
