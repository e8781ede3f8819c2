//! The engine against theory: sawtooth cycles, the square-root law, queues with Poisson arrivals,
//! CUBIC's curve.

use std::sync::Arc;

use crate::common::{outcome, scenario};
use ackclock_algorithms::aqm::{Aqm, LinkView, PacketView, QueueView, Verdict};
use ackclock_algorithms::registry::{AqmFactory, AqmSpec};
use ackclock_algorithms::{Stream, Time};
use ackclock_packet::{FlowSelection, Options, Outcome, TraceSelection, run};

/// Drops packets whatever the queue.
#[derive(Clone, Copy, Debug)]
enum Loss {
    /// Each with this probability.
    Random(f64),
    /// Every n-th.
    Every(u64),
    /// The n-th, once.
    Once(u64),
}

struct Dropper {
    loss: Loss,
    arrivals: u64,
}

impl Aqm for Dropper {
    fn enqueue(&mut self, _: Time, _: &PacketView, _: &QueueView, random: &mut Stream) -> Verdict {
        self.arrivals += 1;
        let hit = match self.loss {
            Loss::Random(probability) => random.uniform() < probability,
            Loss::Every(n) => self.arrivals.is_multiple_of(n),
            Loss::Once(n) => self.arrivals == n,
        };
        if hit { Verdict::Drop } else { Verdict::Accept }
    }
}

impl AqmFactory for Loss {
    fn kind(&self) -> &str {
        "loss"
    }
    fn build(&self, _: &LinkView) -> Box<dyn Aqm + Send> {
        Box::new(Dropper {
            loss: *self,
            arrivals: 0,
        })
    }
}

/// One or more flows on a link that is never busy, with losses of a kind: the window is all there
/// is.
fn lossy(congestion: &str, count: u32, seconds: u32, loss: Loss) -> Outcome {
    let mut scenario = scenario(&format!(
        "[scenario]\nname = \"lossy\"\nduration = \"{seconds} s\"\nmeasure = \"20 s .. {seconds} s\"\nsample = \"10 ms\"\n\
         [[link]]\nname = \"link\"\nrate = \"100 Gbit/s\"\ndelay = \"10 ms\"\nqueue = {{ capacity = \"unlimited\" }}\n\
         [[flows]]\ncount = {count}\npath = [\"link\"]\ncongestion = {congestion}\nrtt = \"100 ms\"\nstart = \"uniform 0 s .. 1 s\"\n\
         delayed_ack = false\ninitial_ssthresh = \"20 packets\"\n"
    ));
    scenario.links[0].aqm = AqmSpec::Custom(Arc::new(loss));
    let traces = TraceSelection {
        links: false,
        flows: FlowSelection::All,
        ..TraceSelection::default()
    };
    run(
        &scenario,
        &Options {
            traces,
            ..Options::default()
        },
    )
    .expect("the run succeeds")
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let values: Vec<f64> = values.collect();
    values.iter().sum::<f64>() / values.len() as f64
}

fn close(what: &str, measured: f64, expected: f64, tolerance: f64) {
    assert!(
        (measured / expected - 1.0).abs() <= tolerance,
        "{what}: {measured}, expected {expected} within {tolerance}"
    );
}

/// Peak window of a cycle of `n` packets: 3/8 W^2 while the window grows from W/2 to W (Mathis,
/// Semke, Mahdavi and Ott 1997), and to next order the round until the loss is known (W packets)
/// and that of the recovery (W/2).
fn peak_of_cycle(n: f64) -> f64 {
    (-1.5 + (2.25 + 1.5 * n).sqrt()) / 0.75
}

/// With one loss every n packets the mean window is 3/4 of the peak, sqrt(3/2 n) to first order.
#[test]
fn square_root_law_of_periodic_loss() {
    for n in [500, 2000, 10_000] {
        let outcome = lossy("\"reno\"", 1, 600, Loss::Every(n));
        let expected = 0.75 * peak_of_cycle(n as f64);
        close(
            &format!("window at one loss in {n}"),
            outcome.flows[0].cwnd_mean,
            expected,
            0.015,
        );
        close("first order", expected, (1.5 * n as f64).sqrt(), 0.06);
    }
}

/// The same with independent losses: 1.3098 / sqrt(p) for one halving a loss and infinitely many
/// users (Ott, Kemperman and Mathis). A sender that halves once a window, however many losses it
/// holds, does a little better, the less the rarer losses are.
#[test]
fn square_root_law_of_random_loss() {
    for (probability, tolerance) in [(1e-3, 0.06), (1e-4, 0.04)] {
        let outcome = lossy("\"reno\"", 20, 400, Loss::Random(probability));
        let window = mean(outcome.flows.iter().map(|flow| flow.cwnd_mean));
        close(
            &format!("window at loss {probability}"),
            window,
            1.309_833 / probability.sqrt(),
            tolerance,
        );
    }
}

/// AIMD(alpha, beta) loses once in 1/p packets: W^2 (1 - beta^2) / (2 alpha) = 1/p, mean (1 +
/// beta)/2 W.
#[test]
fn sawtooth_of_aimd() {
    for (alpha, beta) in [(0.2_f64, 0.875_f64), (1.0, 0.5), (0.4286, 0.75)] {
        let outcome = lossy(
            &format!("{{ kind = \"aimd\", alpha = {alpha}, beta = {beta} }}"),
            1,
            3000,
            Loss::Every(4000),
        );
        let peak = (2.0 * alpha * 4000.0 / (1.0 - beta * beta)).sqrt();
        close(
            &format!("AIMD({alpha}, {beta})"),
            outcome.flows[0].cwnd_mean,
            (1.0 + beta) / 2.0 * peak,
            0.03,
        );
    }
}

/// One Reno flow and a drop-tail buffer of one bandwidth-delay product: the link stays busy; the
/// queue's length falls to almost zero; a cycle has 3/8 W^2 + 3/2 W packets, W being what pipe and
/// buffer hold; the window's time average is 7/9 W since rounds grow with the window.
#[test]
fn reno_sawtooth_over_drop_tail() {
    let outcome = outcome(
        "[scenario]\nname = \"saw\"\nduration = \"900 s\"\nmeasure = \"100 s .. 900 s\"\n\
         [[link]]\nname = \"link\"\nrate = \"10 Mbit/s\"\ndelay = \"20 ms\"\nqueue = { capacity = \"83 packets\" }\n\
         [[flows]]\npath = [\"link\"]\ncongestion = \"reno\"\nrtt = \"100 ms\"\ndelayed_ack = false\ninitial_ssthresh = \"60 packets\"\n",
    );
    let (link, flow) = (&outcome.links[0], &outcome.flows[0]);
    let peak = 10e6 * 0.1 / 12_000.0 + 83.0 + 1.0;
    close(
        "cycles",
        flow.fast_recoveries as f64,
        link.packets as f64 / (0.375 * peak * peak + 1.5 * peak),
        0.025,
    );
    close("mean window", flow.cwnd_mean, 7.0 / 9.0 * peak, 0.02);
    assert!(link.utilization > 0.995, "utilisation {}", link.utilization);
    assert_eq!(link.queue_packets_max, 83);
    assert_eq!(flow.timeouts, 0);
}

/// The same with next to no buffer: rounds are equally long, and the mean window is 3/4 of the
/// peak.
#[test]
fn reno_sawtooth_without_buffer() {
    let outcome = outcome(
        "[scenario]\nname = \"saw\"\nduration = \"900 s\"\nmeasure = \"100 s .. 900 s\"\n\
         [[link]]\nname = \"link\"\nrate = \"12 Mbit/s\"\ndelay = \"20 ms\"\nqueue = { capacity = \"5 packets\" }\n\
         [[flows]]\npath = [\"link\"]\ncongestion = \"reno\"\nrtt = \"200 ms\"\ndelayed_ack = false\ninitial_ssthresh = \"60 packets\"\n",
    );
    close(
        "mean window over peak",
        outcome.flows[0].cwnd_mean,
        0.75 * (200.0 + 6.0),
        0.02,
    );
    close("utilisation", outcome.links[0].utilization, 0.75, 0.03);
}

fn poisson(load: f64, sizes: &str, capacity: &str) -> Outcome {
    // 10 Mbit/s and 1250 B: a packet takes 1 ms
    outcome(&format!(
        "[scenario]\nname = \"queue\"\nduration = \"2000 s\"\nmeasure = \"10 s .. 2000 s\"\n\
         [[link]]\nname = \"link\"\nrate = \"10 Mbit/s\"\ndelay = \"1 ms\"\nqueue = {{ capacity = \"{capacity}\" }}\n\
         [[flows]]\npath = [\"link\"]\nrtt = \"10 ms\"\npacket_size = \"1250 B\"\n\
         traffic = {{ kind = \"poisson\", rate = \"{} kbit/s\", sizes = \"{sizes}\" }}\n",
        load * 10_000.0
    ))
}

/// Pollaczek and Khinchine: an M/D/1 queue holds rho^2 / (2 (1 - rho)) waiting packets.
#[test]
fn deterministic_service() {
    for load in [0.3, 0.6, 0.9] {
        let outcome = poisson(load, "fixed", "unlimited");
        let link = &outcome.links[0];
        let waiting = load * load / (2.0 * (1.0 - load));
        close(
            &format!("utilisation at {load}"),
            link.utilization,
            load,
            0.005,
        );
        close(
            &format!("queue at {load}"),
            link.queue_packets_mean,
            waiting,
            0.05,
        );
        close(
            &format!("delay at {load}"),
            link.delay_mean,
            waiting / load * 1e-3,
            0.05,
        );
    }
}

/// An M/M/1/K queue: blocking (1 - rho) rho^K / (1 - rho^(K+1)), K counting the packet in service.
#[test]
fn blocking_of_a_finite_queue() {
    for (load, waiting) in [(0.8_f64, 9), (1.2, 4)] {
        let outcome = poisson(load, "exponential", &format!("{waiting} packets"));
        let link = &outcome.links[0];
        let k = f64::from(waiting + 1);
        let blocking = (1.0 - load) * load.powf(k) / (1.0 - load.powf(k + 1.0));
        close(
            &format!("blocking at {load}"),
            link.drops as f64 / link.arrivals as f64,
            blocking,
            0.02,
        );
    }
}

/// RFC 9438, figure 1: after a loss at W_max the window follows C (t - K)^3 + W_max with K =
/// cbrt(W_max (1 - beta) / C).
#[test]
fn cubic_curve() {
    let outcome = lossy("\"cubic\"", 1, 60, Loss::Once(50_000));
    let trace = &outcome.traces.flows[0].cwnd;
    let drop = trace
        .windows(2)
        .position(|pair| pair[1] < 0.75 * pair[0])
        .expect("a loss");
    // ACKs come in a burst a round: the last sample may be a round's growth below the window that
    // was reduced
    let peak = trace[drop + 1] / 0.7;
    assert!(peak > 300.0, "the window before the loss: {peak}");
    let k = (peak * 0.3 / 0.4).cbrt();
    // the curve starts when recovery ends, a round after the loss, and its windows show in bursts a
    // round apart: up to three rounds late
    let curve = |t: f64| 0.4 * (t - k).powi(3) + peak;
    for (step, &window) in trace
        .iter()
        .enumerate()
        .skip(drop + 50)
        .take(1800)
        .step_by(10)
    {
        let t = outcome.traces.interval * (step - drop) as f64;
        let (early, late) = (0.998 * curve(t - 0.3), 1.002 * curve(t));
        assert!(
            early <= window && window <= late,
            "{t:.2} s after the loss: {window}, expected {early} to {late}"
        );
    }
}
