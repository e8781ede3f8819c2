//! Properties that hold for every registered algorithm.

use ackclock_algorithms::aqm::{Aqm, LinkView, PacketView, QueueView, Verdict};
use ackclock_algorithms::congestion::{
    Ack, CaState, CongestionControl, Delivery, Lost, Reduction, Signal, Window,
};
use ackclock_algorithms::fluid::{AqmInput, Bottleneck, Path, QueueModel, TcpInput};
use ackclock_algorithms::registry::{AqmSpec, CongestionSpec, aqms, congestion};
use ackclock_algorithms::{Interval, Kind, Owner, ParameterSpec, Stream, Time, Value};

const LINK: LinkView = LinkView {
    rate: 10e6,
    delay: 0.02,
    capacity_packets: 200.0,
};
const PATH: Path = Path {
    rtt: 0.12,
    base_rtt: 0.1,
    measured: 0.12,
    full: 0.36,
    marks: false,
    bottleneck: Bottleneck {
        rate: 1000.0,
        others: 500.0,
        drained_rtt: 0.11,
    },
};

fn random(index: u64) -> Stream {
    Stream::new(7, Owner::Traffic, index)
}

/// A value that a parameter may take, or what it may not if `random` says so.
fn some_value(spec: &ParameterSpec, random: &mut Stream) -> Value {
    let Interval { low, high, .. } = spec.range;
    match spec.kind {
        Kind::Flag => Value::Flag(random.uniform() < 0.5),
        Kind::Choice => Value::Word(
            spec.words[(random.uniform() * spec.words.len() as f64) as usize].to_owned(),
        ),
        _ if !spec.words.is_empty() && random.uniform() < 0.3 => {
            Value::Word(spec.words[0].to_owned())
        }
        _ => {
            let (low, high) = (low.max(-1e3), high.min(1e3));
            Value::Number(low + (high - low) * random.uniform().powi(4))
        }
    }
}

fn some_values(specs: &[ParameterSpec], random: &mut Stream) -> Vec<(String, Value)> {
    let some = specs
        .iter()
        .filter(|_| random.uniform() < 0.5)
        .collect::<Vec<_>>();
    some.into_iter()
        .map(|spec| (spec.name.to_owned(), some_value(spec, random)))
        .collect()
}

/// A queue of at most `limit` packets, fed at random: bursts, idle times, full buffers, ECN or not.
fn drive(aqm: &mut impl Aqm, random: &mut Stream, limit: u32, packets: u32) -> Vec<Verdict> {
    drive_around(aqm, random, limit, packets, None)
}

/// The same; with a `level`, the queue keeps near it, and the link is never idle.
fn drive_around(
    aqm: &mut impl Aqm,
    random: &mut Stream,
    limit: u32,
    packets: u32,
    level: Option<u32>,
) -> Vec<Verdict> {
    let mut draws = Stream::new(8, Owner::Queue, 0);
    let (mut now, mut waiting, mut verdicts) = (Time::ZERO, 0_u32, vec![]);
    for _ in 0..packets {
        now += Time::from_seconds(random.exponential(0.0005)); // 12 Mbit/s
        let idle = level.is_none() && random.uniform() < 0.05;
        waiting = if let Some(level) = level {
            level + (random.uniform() * 3.0) as u32
        } else if idle {
            0
        } else {
            (f64::from(waiting) + 20.0 * (random.uniform() - 0.45)).clamp(0.0, f64::from(limit))
                as u32
        };
        let packet = PacketView {
            size: 40 + (1460.0 * random.uniform()) as u32,
            flow: 0,
            ecn_capable: random.uniform() < 0.5,
            scalable: false,
            syn: false,
            priority: (8.0 * draws.uniform()) as u8,
        };
        let queue = QueueView {
            packets: waiting,
            bytes: u64::from(waiting) * 1000,
            full: waiting == limit,
            idle_since: idle.then(|| now.since(Time::from_seconds(random.exponential(0.005)))),
            rate: LINK.rate,
            head_sojourn: None,
        };
        while let Some(timer) = aqm.next_timer().filter(|timer| *timer <= now) {
            aqm.on_timer(timer, &queue, &mut draws);
            assert!(
                aqm.next_timer().is_none_or(|next| next > timer),
                "a timer that stands still"
            );
        }
        let verdict = aqm.enqueue(now, &packet, &queue, &mut draws);
        assert!(verdict != Verdict::Mark || packet.ecn_capable);
        assert!(verdict == Verdict::Drop || !queue.full);
        verdicts.push(verdict);
        if aqm.decides_at_dequeue() && waiting > 0 {
            // the packet at the head leaves
            let left = QueueView {
                packets: waiting - 1,
                bytes: u64::from(waiting - 1) * 1000,
                full: false,
                idle_since: None,
                ..queue
            };
            let sojourn = Time::from_seconds(f64::from(waiting) * 0.0008);
            let verdict = aqm.dequeue(now, sojourn, &packet, &left, &mut draws);
            assert!(verdict != Verdict::Mark || packet.ecn_capable);
            verdicts.push(verdict);
        }
        let observed = aqm.observe();
        assert!(
            observed
                .probability
                .is_none_or(|p| (0.0..=1.0).contains(&p)),
            "{observed:?}"
        );
        assert!(
            observed
                .average_packets
                .is_none_or(|average| average >= 0.0 && average.is_finite()),
            "{observed:?}"
        );
    }
    verdicts
}

#[test]
fn aqms_hold_their_contract_for_any_parameters() {
    for (index, meta) in aqms().iter().enumerate() {
        let mut random = random(index as u64);
        let mut accepted = 0;
        for _ in 0..300 {
            let values = some_values(meta.parameters, &mut random);
            // what contradicts itself is refused with a message
            match AqmSpec::from_values(meta.kind, &values) {
                Ok(spec) => {
                    accepted += 1;
                    drive(&mut spec.build(&LINK), &mut random, 200, 500);
                }
                Err(error) => assert!(!error.to_string().is_empty()),
            }
        }
        assert!(accepted > 30, "{}: {accepted}", meta.kind);
    }
}

#[test]
fn only_aqms_that_can_mark_do() {
    for meta in aqms() {
        let has_switch = meta.parameters.iter().any(|spec| spec.name == "ecn");
        assert_eq!(meta.ecn, has_switch, "{}", meta.kind);
        let verdicts = |values: &[(String, Value)]| {
            let spec = AqmSpec::from_values(meta.kind, values).unwrap();
            let run = |limit| drive(&mut spec.build(&LINK), &mut random(1), limit, 50_000);
            let around = |level| {
                let mut aqm = spec.build(&LINK);
                drive_around(&mut aqm, &mut random(2), 200, 20_000, Some(level))
            };
            [
                [12, 25, 50, 100, 200].map(run).concat(),
                [10, 20, 30, 60].map(around).concat(),
            ]
            .concat()
        };
        assert!(
            !verdicts(&[]).contains(&Verdict::Mark),
            "{} marks unasked",
            meta.kind
        );
        if has_switch {
            let on = [("ecn".to_owned(), Value::Flag(true))];
            assert!(
                verdicts(&on).contains(&Verdict::Mark),
                "{} does not mark",
                meta.kind
            );
        }
    }
}

#[test]
fn same_draws_give_the_same_verdicts() {
    for meta in aqms() {
        let spec = AqmSpec::from_values(meta.kind, &[]).unwrap();
        let run = || drive(&mut spec.build(&LINK), &mut random(3), 200, 20_000);
        assert_eq!(run(), run(), "{}", meta.kind);
    }
}

#[test]
fn a_change_to_the_present_value_changes_no_verdict() {
    for meta in aqms() {
        let spec = AqmSpec::from_values(meta.kind, &[]).unwrap();
        let mut touched = spec.build(&LINK);
        for (name, value) in spec.values() {
            if let Value::Number(number) = value {
                touched.set_parameter(name, number).unwrap();
            }
        }
        let plain = drive(&mut spec.build(&LINK), &mut random(4), 200, 20_000);
        assert_eq!(
            plain,
            drive(&mut touched, &mut random(4), 200, 20_000),
            "{}",
            meta.kind
        );
        assert!(touched.set_parameter("no such parameter", 1.0).is_err());
    }
}

/// ACKs, losses, marks, timeouts and pauses at random; `sane` looks at each window.
fn drive_sender(
    control: &mut impl CongestionControl,
    random: &mut Stream,
    mut sane: impl FnMut(&Window, &Window),
) {
    let mut draws = Stream::new(9, Owner::Flow, 0);
    let mut window = Window {
        cwnd: 10.0,
        ssthresh: f64::INFINITY,
    };
    let mut now = Time::ZERO;
    // those that own the window set it from delivery samples, and need no ssthresh
    let owns = control.needs().delivery;
    let (mut delivered, mut total_lost, mut ca_state) = (0_u64, 0_u64, CaState::Open);
    for _ in 0..20_000 {
        now += Time::from_seconds(random.exponential(0.01));
        let before = window;
        let rtt = 0.1 + random.exponential(0.01);
        let dice = random.uniform();
        if dice < 0.01 {
            let signal =
                [Signal::Loss, Signal::Ecn, Signal::Timeout][(random.uniform() * 3.0) as usize];
            let window_used = if random.uniform() < 0.5 {
                window.cwnd
            } else {
                (window.cwnd * random.uniform()).max(1.0)
            };
            control.on_congestion(
                &Reduction {
                    now,
                    signal,
                    window_used,
                    min_rtt: 0.1,
                    srtt: rtt,
                },
                &mut window,
            );
            assert!(owns || (window.ssthresh >= 2.0 && window.ssthresh <= before.cwnd.max(2.0)));
            if signal == Signal::Timeout {
                window.cwnd = 1.0;
            }
            ca_state = [CaState::Recovery, ca_state, CaState::Loss][signal as usize];
        } else if dice < 0.012 {
            now += Time::from_seconds(5.0);
            control.on_restart(now, &mut window);
        } else {
            let ack = Ack {
                now,
                acked: (random.uniform() * 3.0) as u32,
                rtt: if random.uniform() < 0.1 {
                    f64::NAN
                } else {
                    rtt
                },
                echo: Time::ZERO,
                min_rtt: 0.1,
                srtt: rtt,
                in_flight: window.cwnd as u32,
                covered: 1,
                una: 0,
                next: 0,
                round_start: random.uniform() < 0.1,
                cwnd_limited: random.uniform() < 0.9,
                ece: false,
                marked: 0,
            };
            control.on_ack(&ack, &mut window, &mut draws);
            if owns {
                let lost = (random.uniform() * 1.1) as u32;
                let prior_delivered = delivered.saturating_sub(window.cwnd as u64);
                (delivered, total_lost) = (
                    delivered + u64::from(ack.acked),
                    total_lost + u64::from(lost),
                );
                if lost > 0 {
                    control.on_lost(&Lost {
                        now,
                        seq: delivered,
                        sent_in_flight: window.cwnd as u32,
                        lost_since_sent: lost,
                        delivered,
                        prior_delivered,
                        app_limited: random.uniform() < 0.2,
                    });
                }
                if random.uniform() < 0.1 {
                    ca_state = CaState::Open;
                }
                let delivery = Delivery {
                    now,
                    acked: ack.acked,
                    marked: if random.uniform() < 0.1 { ack.acked } else { 0 },
                    lost,
                    delivered,
                    total_lost,
                    in_flight_before: ack.in_flight,
                    in_flight: ack.in_flight.saturating_sub(ack.acked),
                    rtt: ack.rtt,
                    srtt: rtt,
                    rate: if random.uniform() < 0.1 {
                        f64::NAN
                    } else {
                        1000.0 * random.uniform()
                    },
                    prior_delivered,
                    app_limited: random.uniform() < 0.2,
                    sent_in_flight: ack.in_flight,
                    lost_since_sent: lost,
                    cwnd_limited: ack.cwnd_limited,
                    backlogged: ack.cwnd_limited,
                    departs_in: 0.0,
                    ca_state,
                };
                control.on_delivery(&delivery, &mut window, &mut draws);
            }
        }
        assert!(control.pacing_rate().is_none_or(|rate| rate > 0.0));
        sane(&before, &window);
    }
}

#[test]
fn windows_stay_finite_and_at_least_one_segment_for_any_parameters() {
    for (index, meta) in congestion().iter().enumerate() {
        let mut random = random(100 + index as u64);
        for trial in 0..30 {
            // the first with defaults
            let values = if trial == 0 {
                vec![]
            } else {
                some_values(meta.parameters, &mut random)
            };
            if let Ok(spec) = CongestionSpec::from_values(meta.kind, &values) {
                drive_sender(&mut spec.build(0), &mut random, |_, window| {
                    assert!(
                        window.cwnd.is_finite() && window.cwnd >= 1.0,
                        "{values:?} {window:?}"
                    );
                    assert!(window.ssthresh >= 2.0, "{values:?} {window:?}");
                });
            }
        }
    }
}

#[test]
fn losses_never_enlarge_the_window_and_unused_windows_never_grow() {
    for meta in congestion() {
        let mut control = CongestionSpec::from_values(meta.kind, &[])
            .unwrap()
            .build(0);
        if control.needs().delivery {
            continue; // its window is not for losses to set
        }
        let mut draws = random(5);
        let mut window = Window {
            cwnd: 100.0,
            ssthresh: 50.0,
        };
        for n in 0..1000_u32 {
            let ack = Ack {
                now: Time::from_seconds(0.01 * f64::from(n)),
                acked: 1,
                rtt: 0.1,
                echo: Time::ZERO,
                min_rtt: 0.1,
                srtt: 0.1,
                in_flight: 5,
                covered: 1,
                una: 0,
                next: 0,
                round_start: n % 10 == 0,
                cwnd_limited: false,
                ece: false,
                marked: 0,
            };
            let before = window.cwnd;
            control.on_ack(&ack, &mut window, &mut draws);
            assert!(window.cwnd <= before, "{}", meta.kind);
        }
        let before = window.cwnd;
        let loss = Reduction {
            now: Time::from_seconds(10.0),
            signal: Signal::Loss,
            window_used: before,
            min_rtt: 0.1,
            srtt: 0.1,
        };
        control.on_congestion(&loss, &mut window);
        assert!(window.cwnd < before, "{}", meta.kind);
    }
}

#[test]
fn packet_and_fluid_face_agree_on_a_round_and_a_loss() {
    // a window in congestion avoidance, just after a loss at `peak`: what a round adds and what the
    // next loss takes
    for (kind, peak) in [
        ("reno", 200.0),
        ("aimd", 200.0),
        ("compound", 200.0),
        ("highspeed", 2000.0),
        ("scalable", 200.0),
        ("hybla", 2000.0),
    ] {
        let spec = CongestionSpec::from_values(kind, &[]).unwrap();
        let law = spec.fluid().unwrap();
        let (mut control, mut draws) = (spec.build(0), random(6));
        let mut window = Window {
            cwnd: peak,
            ssthresh: peak,
        };
        let loss = Reduction {
            now: Time::ZERO,
            signal: Signal::Loss,
            window_used: peak,
            min_rtt: 0.1,
            srtt: 0.1,
        };
        control.on_congestion(&loss, &mut window);
        assert!(
            (peak - window.cwnd - law.decrease(peak, &PATH)).abs() < 1e-9,
            "{kind}"
        );
        let start = window.cwnd;
        let (acks, path) = (start.floor() as u32, Path::fixed(0.1));
        for n in 1..=acks {
            let ack = Ack {
                now: Time::from_seconds(0.1 * f64::from(n) / start),
                acked: 1,
                rtt: 0.1,
                echo: Time::ZERO,
                min_rtt: 0.1,
                srtt: 0.1,
                in_flight: acks,
                covered: 1,
                una: 0,
                next: 0,
                round_start: n == acks,
                cwnd_limited: true,
                ece: false,
                marked: 0,
            };
            control.on_ack(&ack, &mut window, &mut draws);
        }
        let law = law.increase(start, &path) * f64::from(acks);
        assert!(
            ((window.cwnd - start) / law - 1.0).abs() < 0.02,
            "{kind}: {} {law}",
            window.cwnd - start
        );
    }
}

#[test]
fn fluid_tcp_laws_make_sense() {
    for meta in congestion().iter().filter(|meta| meta.has_fluid) {
        let law = CongestionSpec::from_values(meta.kind, &[])
            .unwrap()
            .fluid()
            .unwrap();
        let mut state = vec![0.0; law.state_names().len()];
        for window in [2.0, 10.0, 100.0, 10_000.0] {
            let path = if law.by_delay() {
                // a hundredth of a packet of the flow's own waits
                Path::steady(0.1 * (1.0 + 0.01 / window), 0.1)
            } else {
                PATH
            };
            assert!(law.increase(window, &path) > 0.0, "{}", meta.kind);
            let decrease = law.decrease(window, &PATH);
            assert!(decrease >= 0.0 && decrease < window);
            assert!(decrease > 0.0 || law.by_rate(), "{}", meta.kind);
            law.start(window, &PATH, &mut state);
            assert!(
                (law.window(&state) / window - 1.0).abs() < 1e-12,
                "{}",
                meta.kind
            );
            let mut rate = vec![f64::NAN; state.len()];
            law.derivative(
                &TcpInput {
                    acks: window / PATH.rtt,
                    signals: 0.1,
                    per_ack: true,
                    path: PATH,
                },
                &state,
                &mut rate,
            );
            assert!(rate.iter().all(|rate| rate.is_finite()), "{}", meta.kind);
            // where the small-window law ends, it has the increase of the other, but for those that
            // their sources let step there
            let edge = law.small_below(&PATH);
            let step = match meta.kind {
                "highspeed" | "africa" => 1.0 / 0.9546193230090059, // a(38)
                "illinois" => 0.1,                                  // 1 / alpha_max
                "scalable" => 1.0 / (16.0 * 0.01),                  // 1 / (legacy window x a)
                // round trips to win back an eighth of 14 packets
                "bic" => (2.0 + 2.0 * (1.75_f64 / 0.02).ln()) / 1.75,
                _ => 1.0,
            };
            if edge > 0.0 {
                assert!(
                    (law.small_window(edge).0 / law.increase(edge, &PATH) / step - 1.0).abs()
                        < 1e-9,
                    "{}",
                    meta.kind
                );
            }
        }
    }
}

#[test]
fn fluid_aqm_laws_make_sense() {
    for meta in aqms().iter().filter(|meta| meta.has_fluid) {
        let law = AqmSpec::from_values(meta.kind, &[])
            .unwrap()
            .fluid(&LINK)
            .unwrap();
        let stationary = law.queue_model() == QueueModel::Stationary;
        let mut last = 0.0;
        for step in 0..=4000 {
            let x = 0.05 * f64::from(step);
            let base = AqmInput {
                limit: LINK.capacity_packets,
                ..AqmInput::new(x, 833.0, 833.0)
            };
            let input = if stationary {
                AqmInput {
                    arrivals: 4.0 * x,
                    service: 400.0,
                    ..base
                }
            } else {
                base
            };
            // an average equal to the queue, a virtual capacity near the link's, an integral of
            // zero
            let state: Vec<f64> = law
                .state_names()
                .iter()
                .map(|name| match *name {
                    name if name.starts_with("average queue") => x,
                    name if name.starts_with("virtual capacity") => 0.98 * input.service,
                    name if name.starts_with("maximum probability") => 0.1,
                    _ => 0.0,
                })
                .collect();
            let regime = law.regime(&input, &state);
            assert!(regime < law.regimes().len());
            let p = law.probability(&input, &state, regime);
            assert!((0.0..=1.0).contains(&p), "{} {x} {p}", meta.kind);
            // rising without jumps
            assert!(
                p >= last && p - last < 0.1,
                "{} at {x}: {last} then {p}",
                meta.kind
            );
            last = p;
            let mut rate = vec![f64::NAN; law.states()];
            law.derivative(&input, &state, &mut rate);
            assert!(rate.iter().all(|rate| rate.is_finite()));
        }
    }
}
