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

/// BBR alone on a link: the link is used, and the queue stays far below what fills its buffer of four bandwidth-delay products.
#[test]
fn bbr_alone() {
    let text = link("capacity = \"400 packets\"", 30, "congestion = \"bbr\"").replace(
        "duration = \"30 s\"",
        "duration = \"30 s\"\nmeasure = \"3 s .. 30 s\"",
    );
    let outcome = outcome(&text);
    let link = &outcome.links[0];
    assert!(link.utilization > 0.97, "{}", link.utilization);
    assert!(
        link.queue_packets_mean < 30.0,
        "{}",
        link.queue_packets_mean
    );
    assert_eq!(link.drops, 0);
}
