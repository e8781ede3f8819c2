//! One-way delay, its variation and loss of each class against independent computations.

use crate::common::outcome;
use ackclock_algorithms::{Owner, Stream};
use ackclock_packet::{ClassOutcome, Outcome};

/// A path of 20 ms one way and 1 ms of transmission (1250 B at 10 Mbit/s) for each class of flows.
fn network(head: &str, queue: &str, classes: &[&str]) -> Outcome {
    let flows: String = classes
        .iter()
        .map(|keys| format!("[[flows]]\npath = [\"link\"]\nrtt = \"40 ms\"\n{keys}\n"))
        .collect();
    outcome(&format!(
        "[scenario]\n{head}\n[[link]]\nname = \"link\"\nrate = \"10 Mbit/s\"\ndelay = \"10 ms\"\nqueue = {queue}\n{flows}"
    ))
}

const PATH: f64 = 0.020;
const PACKET: f64 = 0.001;
const SIZE: &str = "packet_size = \"1250 B\"\n";
const UNLIMITED: &str = "{ capacity = \"unlimited\" }";

fn close(value: f64, expected: f64, margin: f64) {
    assert!(
        (value / expected - 1.0).abs() <= margin,
        "{value} is not within {margin} of {expected}"
    );
}

/// Propagation, access links on both sides and the link, each transmission counted once.
#[test]
fn an_empty_path_takes_its_propagation_and_transmissions() {
    for (access, transmissions) in [("", PACKET), ("access_rate = \"20 Mbit/s\"", 2.0 * PACKET)] {
        let run = network(
            "duration = \"10 s\"\nmeasure = \"5 s .. 10 s\"",
            UNLIMITED,
            &[&format!(
                "{SIZE}traffic = {{ kind = \"cbr\", rate = \"1 Mbit/s\" }}
{access}"
            )],
        );
        let class = &run.classes[0];
        for value in [class.delay_min, class.delay_mean, class.delay_max]
            .iter()
            .chain(&class.delay_percentiles)
        {
            close(*value, PATH + transmissions, 1e-9);
        }
        assert_eq!(class.jitter, 0.0);
        // 100 packets a second
        assert_eq!((class.received, class.measured), (500, 500));
        assert_eq!(run.flows[0].received, 500);
    }
}

/// The waits of a queue with Poisson arrivals and service of 1, by Lindley's recursion.
fn lindley(load: f64, count: usize) -> Vec<f64> {
    let mut random = Stream::new(7, Owner::Flow, 99);
    let mut wait = 0.0_f64;
    (0..count)
        .map(|_| {
            wait = (wait + 1.0 - random.exponential(1.0 / load)).max(0.0);
            wait
        })
        .collect()
}

/// M/D/1: mean by Pollaczek and Khinchine; percentiles and differences of neighbours by Lindley's
/// recursion with other random numbers.
#[test]
fn poisson_arrivals_wait_as_theory_says() {
    let run = network(
        "duration = \"1020 s\"\nmeasure = \"20 s .. 1020 s\"",
        UNLIMITED,
        &[&format!(
            "{SIZE}traffic = {{ kind = \"poisson\", rate = \"7 Mbit/s\" }}"
        )],
    );
    let class = &run.classes[0];
    let load = 0.7;
    let base = PATH + PACKET;
    close(
        class.delay_mean - base,
        PACKET * load / (2.0 * (1.0 - load)),
        0.03,
    );
    close(class.delay_mean - base, run.links[0].delay_mean, 1e-3);
    let mut waits = lindley(load, 1_000_000);
    let differences = waits.windows(2).map(|pair| (pair[1] - pair[0]).abs());
    close(
        class.jitter,
        PACKET * differences.sum::<f64>() / 999_999.0,
        0.01,
    );
    waits.sort_unstable_by(f64::total_cmp);
    for (value, rank) in class.delay_percentiles.iter().zip([0.50, 0.95, 0.99]) {
        // within the width of a bin, and of its confidence interval
        let expected = PACKET * waits[(rank * 1e6) as usize];
        assert!(
            (value - base - expected).abs() < 0.04 * expected + 0.008 * base,
            "{rank}: {} instead of {expected}",
            value - base
        );
    }
    close(class.delay_min, base, 1e-9);
}

/// A class behind a known queue: bulk TCP with a window of 60 packets keeps 60 - 41 of them
/// waiting, or in service, and voice joins them.
#[test]
fn a_thin_class_waits_behind_a_standing_queue() {
    let run = network(
        "duration = \"60 s\"\nmeasure = \"20 s .. 60 s\"",
        UNLIMITED,
        &[
            &format!("{SIZE}name = \"bulk\"\nmax_window = \"60 packets\"\ndelayed_ack = false"),
            "name = \"voice\"\ntraffic = { kind = \"cbr\", rate = \"40 kbit/s\" }\npacket_size = \"100 B\"",
        ],
    );
    let [bulk, voice] = &run.classes[..] else {
        panic!("two classes")
    };
    // the round trip of a full link: 60 packets of bulk, and voice's 50 of 0.08 ms a second
    let round_trip = 60.0 * PACKET / (1.0 - 50.0 * 0.08e-3);
    close(bulk.delay_mean, round_trip - 0.020, 0.005);
    close(
        voice.delay_mean,
        round_trip - 0.020 - PACKET + 0.08e-3,
        0.02,
    );
    assert_eq!(voice.measured, 2000);
    assert!(bulk.measured < bulk.received / 12 && bulk.measured > bulk.received / 20);
}

fn of_queue(run: &Outcome) -> (&ClassOutcome, [f64; 3]) {
    (&run.classes[0], run.links[0].delay_percentiles)
}

/// Some packets of endless flows are measured: their delays are those of the link's queue, of which
/// every packet is measured, however the bursts are timed.
#[test]
fn a_sample_of_an_endless_flow_tells_of_all_its_packets() {
    const MARGIN: f64 = 0.03;
    for flows in [
        "count = 4\nstart = \"uniform 0 s .. 1 s\"\ncongestion = \"cubic\"",
        "count = 1\ncongestion = \"reno\"",
        // bursts of one length, all in one rhythm
        "count = 1\nmax_window = \"32 packets\"",
    ] {
        let run = network(
            "duration = \"220 s\"\nmeasure = \"20 s .. 220 s\"",
            "{ capacity = \"60 packets\" }",
            &[&format!("{SIZE}{flows}")],
        );
        let (class, link) = of_queue(&run);
        let base = PATH + PACKET;
        let wait = class.delay_mean - base;
        assert!(
            (wait - run.links[0].delay_mean).abs() <= MARGIN * run.links[0].delay_mean + 1e-5,
            "{flows}: {wait} instead of {}",
            run.links[0].delay_mean
        );
        for (value, queue) in class.delay_percentiles.iter().zip(link) {
            assert!(
                (value - base - queue).abs() <= MARGIN * queue + 0.008 * (base + queue),
                "{flows}: {} instead of {queue}",
                value - base
            );
        }
    }
}

/// A receiver that counts misses two things: drops of the queue, and packets lost on the wire.
#[test]
fn what_does_not_arrive_was_dropped_or_lost() {
    let run = outcome(
        "[scenario]\nduration = \"60 s\"\n[[link]]\nname = \"link\"\nrate = \"10 Mbit/s\"\ndelay = \"10 ms\"\n\
         queue = { capacity = \"20 packets\" }\nloss = 0.02\n\
         [[flows]]\ntraffic = { kind = \"poisson\", rate = \"11 Mbit/s\" }\npath = [\"link\"]\nrtt = \"40 ms\"\n",
    );
    let (flow, class) = (&run.flows[0], &run.classes[0]);
    assert!(flow.drops > 1000 && flow.losses > 500);
    assert_eq!(class.received, class.measured);
    assert_eq!(
        flow.sent,
        class.received + flow.drops + flow.losses + flow.ledger.in_flight
    );
}

/// The run ends with its last transfer, which nobody knows before: the paths of the engine agree,
/// and every packet that has arrived by then counts.
#[test]
fn a_run_until_done_counts_what_has_arrived() {
    let text = "[scenario]\nduration = \"until done\"\n[[link]]\nname = \"link\"\nrate = \"10 Mbit/s\"\ndelay = \"10 ms\"\n\
         queue = { capacity = \"30 packets\" }\n\
         [[flows]]\nname = \"file\"\ncount = 3\ntraffic = { kind = \"transfer\", size = \"500 kB\" }\npath = [\"link\"]\nrtt = \"40 ms\"\n\
         [[flows]]\nname = \"bulk\"\npath = [\"link\"]\nrtt = \"60 ms\"\n\
         [[flows]]\nname = \"voice\"\ntraffic = { kind = \"cbr\", rate = \"100 kbit/s\" }\npath = [\"link\"]\nrtt = \"400 ms\"\n";
    let run = outcome(text);
    for (id, class) in run.classes.iter().enumerate() {
        let flows = run.flows.iter().filter(|flow| flow.class == id);
        assert_eq!(
            class.received,
            flows.map(|flow| flow.ledger.delivered).sum::<u64>()
        );
        assert!(class.measured > 0);
    }
    assert_eq!(run.classes[2].received, run.classes[2].measured);
    let options = ackclock_packet::Options {
        general: true,
        ..ackclock_packet::Options::default()
    };
    let general = ackclock_packet::run(&crate::common::scenario(text), &options).expect("it runs");
    assert_eq!(crate::common::difference(&run, &general), None);
}
