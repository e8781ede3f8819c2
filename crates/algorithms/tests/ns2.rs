//! AQMs under a Poisson stream, against ns-2.
//!
//! One queue of 60 packets at 8 Mbit/s, fed by Poisson packets, half of them of 500 B and half of
//! 1500 B, at a multiple `load` of 1000 packets/s. Reference: ns-2 2.35 (Debian package), mean and
//! standard error of four runs of 4000 s. The traffic does not react, so that the AQM alone is
//! compared: its averaging, ageing, spacing, byte mode and adaptation. `ns2.tcl` is the script.

use std::collections::VecDeque;

use ackclock_algorithms::aqm::{Aqm as _, LinkView, PacketView, QueueView, Verdict};
use ackclock_algorithms::registry::AqmSpec;
use ackclock_algorithms::{Owner, Stream, Time, Value};

const SECONDS: f64 = 4000.0;
const RATE: f64 = 8e6;
const LIMIT: usize = 60;

/// Fraction of packets dropped, and the mean number of packets that wait.
fn simulate(kind: &str, load: f64, values: &[(&str, Value)]) -> (f64, f64) {
    let values: Vec<_> = values
        .iter()
        .map(|(name, value)| ((*name).to_owned(), value.clone()))
        .collect();
    let spec = AqmSpec::from_values(kind, &values).unwrap();
    let mut aqm = spec.build(&LinkView {
        rate: RATE,
        delay: 0.01,
        capacity_packets: LIMIT as f64,
    });
    let mut traffic = Stream::new(1, Owner::Traffic, 0);
    let mut random = Stream::new(1, Owner::Queue, 0);
    let mut waiting: VecDeque<(Time, u32)> = VecDeque::new();
    let (mut bytes, mut free, mut now) = (0_u64, Time::ZERO, Time::ZERO);
    let (mut arrivals, mut drops, mut waited) = (0_u32, 0_u32, 0.0);
    let view = |waiting: &mut VecDeque<(Time, u32)>, bytes: &mut u64, now: Time, free: Time| {
        while let Some((_, size)) = waiting.front().copied().filter(|(start, _)| *start <= now) {
            waiting.pop_front();
            *bytes -= u64::from(size);
        }
        QueueView {
            packets: waiting.len() as u32,
            bytes: *bytes,
            full: waiting.len() >= LIMIT,
            idle_since: (free <= now).then_some(free),
            rate: RATE,
            head_sojourn: None,
        }
    };
    loop {
        now += Time::from_seconds(traffic.exponential(0.001 / load));
        if now.seconds() > SECONDS {
            return (f64::from(drops) / f64::from(arrivals), waited / SECONDS);
        }
        while let Some(timer) = aqm.next_timer().filter(|timer| *timer <= now) {
            let queue = view(&mut waiting, &mut bytes, timer, free);
            aqm.on_timer(timer, &queue, &mut random);
        }
        let size = if traffic.uniform() < 0.5 { 500 } else { 1500 };
        let queue = view(&mut waiting, &mut bytes, now, free);
        let packet = PacketView {
            size,
            flow: 0,
            ecn_capable: false,
            scalable: false,
            syn: false,
            priority: 0,
        };
        arrivals += 1;
        if aqm.enqueue(now, &packet, &queue, &mut random) == Verdict::Drop {
            drops += 1;
            continue;
        }
        let start = free.max(now);
        if start > now {
            waiting.push_back((start, size));
            bytes += u64::from(size);
            waited += start.since(now).seconds();
        }
        free = start + Time::from_seconds(f64::from(size) * 8.0 / RATE);
    }
}

/// Five standard errors of the difference; one run has twice the error of the mean of four.
fn agree(case: &str, ours: f64, reference: f64, error: f64) {
    let allowed = 5.0 * 5.0_f64.sqrt() * error;
    assert!(
        (ours - reference).abs() < allowed,
        "{case}: {ours} instead of {reference} +- {allowed}"
    );
}

fn number(x: f64) -> Value {
    Value::Number(x)
}

fn word(x: &str) -> Value {
    Value::Word(x.to_owned())
}

#[test]
fn red_drops_and_queues_as_in_ns_2() {
    let base = [
        ("min_threshold", number(5.0)),
        ("max_threshold", number(15.0)),
        ("weight", number(0.002)),
        ("mean_packet", number(1000.0)),
    ];
    let uniform = ("spacing", word("uniform"));
    let bytes = ("mode", word("bytes"));
    let small = [
        ("min_threshold", number(10.0)),
        ("max_threshold", number(30.0)),
        ("mean_packet", number(500.0)),
        bytes.clone(),
    ];
    let cases = [
        // load, options over the base, dropped, mean queue
        ("wait", 0.95, vec![], (0.011754, 0.000055), (7.5129, 0.0073)),
        (
            "no wait",
            0.95,
            vec![uniform.clone()],
            (0.019760, 0.000058),
            (6.3688, 0.0045),
        ),
        (
            "automatic weight",
            0.95,
            vec![("weight", word("auto"))],
            (0.010932, 0.000051),
            (7.8068, 0.0059),
        ),
        (
            "bytes, small mean packet",
            0.95,
            small.to_vec(),
            (0.013689, 0.000052),
            (6.5733, 0.0068),
        ),
        (
            "wait, overload",
            1.1,
            vec![],
            (0.102225, 0.000146),
            (15.2829, 0.0079),
        ),
        (
            "no wait, overload",
            1.1,
            vec![uniform.clone()],
            (0.110040, 0.000157),
            (11.1389, 0.0067),
        ),
        (
            "bytes, overload",
            1.1,
            vec![bytes.clone()],
            (0.079081, 0.000120),
            (14.8097, 0.0087),
        ),
        (
            "bytes, no wait, overload",
            1.1,
            vec![bytes, uniform],
            (0.089812, 0.000132),
            (10.4925, 0.0052),
        ),
        (
            "not gentle, overload",
            1.1,
            vec![("gentle", Value::Flag(false))],
            (0.104588, 0.000171),
            (13.1043, 0.0032),
        ),
    ];
    for (case, load, options, dropped, queue) in cases {
        let options = [base.to_vec(), options].concat();
        let ours = simulate("red", load, &options);
        agree(case, ours.0, dropped.0, dropped.1);
        agree(case, ours.1, queue.0, queue.1);
    }
}

#[test]
fn adaptive_red_adapts_as_in_ns_2() {
    let options = [
        ("min_threshold", number(5.0)),
        ("max_threshold", number(15.0)),
        ("weight", number(0.002)),
        ("mean_packet", number(1000.0)),
    ];
    for (load, dropped, queue) in [
        (0.95, (0.007089, 0.000056), (8.4708, 0.0095)),
        (1.1, (0.107363, 0.000171), (12.3421, 0.0096)),
    ] {
        let ours = simulate("adaptive-red", load, &options);
        agree("adaptive", ours.0, dropped.0, dropped.1);
        agree("adaptive", ours.1, queue.0, queue.1);
    }
}

#[test]
fn pi_steers_as_in_ns_2() {
    let options = [
        ("a", number(2e-4)),
        ("b", number(1.9e-4)),
        ("reference", number(10.0)),
    ];
    for (load, dropped, queue) in [
        (1.0, (0.053002, 0.000353), (10.0032, 0.0013)),
        (1.1, (0.138950, 0.000323), (10.0179, 0.0010)),
    ] {
        let ours = simulate("pi", load, &options);
        agree("pi", ours.0, dropped.0, dropped.1);
        agree("pi", ours.1, queue.0, queue.1);
    }
}

/// Four runs of 1000 s, against one of ours as long as all of them: the error of the difference is
/// that of ns-2 times the root of two.
fn agree_with_short_runs(case: &str, ours: f64, (reference, error): (f64, f64)) {
    agree(case, ours, reference, error * f64::sqrt(2.0 / 5.0));
}

#[test]
fn rem_steers_as_in_ns_2() {
    let options = [
        ("gamma", number(0.01)),
        ("phi", number(1.01)),
        ("reference", number(20.0)),
        ("mean_packet", number(1000.0)),
    ];
    for (load, dropped, queue) in [
        (1.0, (0.026942, 0.000220), (16.8984, 0.0614)),
        (1.1, (0.116119, 0.000359), (18.0363, 0.0115)),
    ] {
        let ours = simulate("rem", load, &options);
        agree_with_short_runs("rem", ours.0, dropped);
        agree_with_short_runs("rem", ours.1, queue);
    }
}

#[test]
fn avq_adapts_as_in_ns_2() {
    let options = [
        ("mean_packet", number(1000.0)),
        ("count_drops", Value::Flag(false)),
    ];
    for (load, dropped, queue) in [
        (1.0, (0.015299, 0.000233), (16.5874, 0.1301)),
        (1.1, (0.079265, 0.000239), (8.6614, 0.0565)),
    ] {
        let ours = simulate("avq", load, &options);
        agree_with_short_runs("avq", ours.0, dropped);
        agree_with_short_runs("avq", ours.1, queue);
    }
}
