//! What the options of TCP's ends do to a run as a whole.

mod common;

use common::outcome;

/// A link of 1000 packets/s (12 Mbit/s) with base RTT 100 ms: 100 packets of bandwidth-delay product.
fn link(queue: &str, seconds: u32, flows: &str) -> String {
    format!(
        "[scenario]\nname = \"endpoint\"\nduration = \"{seconds} s\"\n[[link]]\nname = \"link\"\nrate = \"12 Mbit/s\"\ndelay = \"50 ms\"\n\
         queue = {{ {queue} }}\n[[flows]]\npath = [\"link\"]\nrtt = \"100 ms\"\n{flows}"
    )
}

/// An initial window of half the bandwidth-delay product queues as the burst that it is; paced it spreads out over the round trip of the handshake.
#[test]
fn a_paced_window_does_not_queue() {
    let queue = |pacing: &str| {
        let text = link(
            "capacity = \"200 packets\"",
            10,
            &format!(
                "max_window = \"50 packets\"\ninitial_window = \"50 packets\"\npacing = \"{pacing}\""
            ),
        );
        let outcome = outcome(&text);
        let link = &outcome.links[0];
        assert!(
            (link.utilization - 0.5).abs() < 0.02,
            "{}",
            link.utilization
        );
        link.queue_packets_max
    };
    let (burst, paced) = (queue("auto"), queue("window"));
    assert!(
        paced <= 1 && burst > 10 * paced,
        "{burst} against {paced} packets"
    );
}

/// Standard slow start doubles the window until the buffer is full, and loses about as much as it holds. HyStart++ sees the queue in the smallest round trip
/// of a round, grows by a quarter a round five times more, and stops.
#[test]
fn slow_start_ends_before_losses() {
    let lost = |hystart: bool, buffer: u32| {
        let text = link(
            &format!("capacity = \"{buffer} packets\""),
            20,
            &format!("congestion = \"reno\"\nhystart = {hystart}"),
        );
        let outcome = outcome(&text);
        let link = &outcome.links[0];
        assert!(link.utilization > 0.9, "{}", link.utilization);
        link.drops
    };
    let (plain, early) = (lost(false, 1000), lost(true, 1000));
    assert!(plain > 500 && early == 0, "{plain} and {early}");
    let (plain, early) = (lost(false, 400), lost(true, 400));
    assert!(early > 0 && 3 * early < plain, "{plain} and {early}");
}

/// A BBR alone on a link uses it, and its queue is that of its probes, a quarter of the bandwidth-delay product, however large the buffer. With a buffer
/// of a tenth of that product version 1 does not mind the losses that it causes, version 3 keeps them below 2 % of what it sends.
#[test]
fn bbr_alone() {
    for (kind, used) in [("bbr", 0.97), ("bbr3", 0.95)] {
        let run = |buffer: u32| {
            let text = link(
                &format!("capacity = \"{buffer} packets\""),
                40,
                &format!("congestion = \"{kind}\""),
            )
            .replace(
                "duration = \"40 s\"",
                "duration = \"40 s\"\nmeasure = \"3 s .. 40 s\"",
            );
            outcome(&text).links.remove(0)
        };
        let deep = run(400);
        assert!(deep.utilization > used, "{kind} {}", deep.utilization);
        assert!(
            deep.queue_packets_mean < 25.0,
            "{kind} {}",
            deep.queue_packets_mean
        );
        assert!(
            deep.queue_packets_max < 100,
            "{kind} {}",
            deep.queue_packets_max
        );
        assert_eq!(deep.drops, 0, "{kind}");
        let shallow = run(10);
        assert!(shallow.utilization > 0.9, "{kind} {}", shallow.utilization);
        let loss = shallow.drops as f64 / shallow.arrivals as f64;
        assert_eq!(loss < 0.02, kind == "bbr3", "{kind} loses {loss}");
    }
}

/// Two BBR flows: each keeps two bandwidth-delay products of its own share in the network, which makes a standing queue of up to one; the late comer gets
/// its part.
#[test]
fn two_bbr_share() {
    for kind in ["bbr", "bbr3"] {
        let text = link(
            "capacity = \"200 packets\"",
            60,
            &format!("count = 2\nstart = [\"0 s\", \"3 s\"]\ncongestion = \"{kind}\""),
        )
        .replace(
            "duration = \"60 s\"",
            "duration = \"60 s\"\nmeasure = \"20 s .. 60 s\"",
        );
        let outcome = outcome(&text);
        let queue = outcome.links[0].queue_packets_mean;
        assert!((20.0..110.0).contains(&queue), "{kind}: {queue}");
        let [first, second] = [0, 1].map(|flow: usize| outcome.flows[flow].goodput / 12e6);
        assert!(first + second > 0.93, "{kind}: {first} and {second}");
        assert!(first.min(second) > 0.2, "{kind}: {first} and {second}");
    }
}
