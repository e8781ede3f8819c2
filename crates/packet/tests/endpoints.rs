//! Effects of the options of TCP's ends on a run as a whole.

use std::sync::Arc;

use crate::common::{outcome, scenario};
use ackclock_algorithms::aqm::{Aqm, LinkView, PacketView, QueueView, Verdict};
use ackclock_algorithms::registry::{AqmFactory, AqmSpec};
use ackclock_algorithms::{Stream, Time};
use ackclock_packet::{Options, Outcome, run};

/// Drops packets whatever the queue: each with this probability, or the one of this number.
#[derive(Clone, Copy, Debug)]
enum Loss {
    Random(f64),
    Once(u64),
}

struct Dropper(Loss, u64);

impl Aqm for Dropper {
    fn enqueue(&mut self, _: Time, _: &PacketView, _: &QueueView, random: &mut Stream) -> Verdict {
        self.1 += 1;
        let hit = match self.0 {
            Loss::Random(probability) => random.uniform() < probability,
            Loss::Once(number) => self.1 == number,
        };
        if hit { Verdict::Drop } else { Verdict::Accept }
    }
}

impl AqmFactory for Loss {
    fn kind(&self) -> &str {
        "loss"
    }
    fn build(&self, _: &LinkView) -> Box<dyn Aqm + Send> {
        Box::new(Dropper(*self, 0))
    }
}

fn lossy(text: &str, loss: Loss) -> Outcome {
    let mut scenario = scenario(text);
    scenario.links[0].aqm = AqmSpec::Custom(Arc::new(loss));
    run(&scenario, &Options::default()).expect("the run succeeds")
}

/// A link of 1000 packets/s (12 Mbit/s) with base RTT 100 ms: 100 packets of bandwidth-delay
/// product.
fn link(queue: &str, seconds: u32, flows: &str) -> String {
    format!(
        "[scenario]\nname = \"endpoint\"\nduration = \"{seconds} s\"\n[[link]]\nname = \"link\"\nrate = \"12 Mbit/s\"\ndelay = \"50 ms\"\n\
         queue = {{ {queue} }}\n[[flows]]\npath = [\"link\"]\nrtt = \"100 ms\"\n{flows}"
    )
}

/// A hundred NewReno flows over Adaptive RED (20, 60) at a round trip of 500 ms. ns-2 2.35, whose
/// timer takes one sample a window in ticks of 10 ms: utilisation 96.4 %, loss 0.87 %, 0.0035
/// timeouts per flow and second. With a sample from every ACK and an exact clock most timeouts are
/// spurious: the variation has gone by the time that the queue grows.
#[test]
fn a_coarse_clock_saves_spurious_timeouts() {
    let run = |keys: &str| {
        let run = outcome(&format!(
            "[scenario]\nname = \"coarse\"\nduration = \"200 s\"\nmeasure = \"50 s .. 200 s\"\n\
             [[link]]\nname = \"link\"\nrate = \"10 Mbit/s\"\ndelay = \"40 ms\"\n\
             queue = {{ aqm = \"adaptive-red\", capacity = \"250 kB\", min_threshold = \"20 packets\", max_threshold = \"60 packets\", \
             max_probability = 0.1, weight = 5e-5, mode = \"bytes\", mean_packet = \"500 B\", interval = \"500 ms\" }}\n\
             [[flows]]\ncount = 100\npath = [\"link\"]\ncongestion = \"reno\"\nrecovery = \"newreno\"\nrtt = \"500 ms\"\n\
             access_rate = \"100 Mbit/s\"\naccess_buffer = \"999 packets\"\nstart = \"uniform 0 s .. 10 s\"\n\
             packet_size = \"500 B\"\nheader_size = \"40 B\"\ninitial_window = \"2 packets\"\ndelayed_ack = false\n\
             min_rto = \"200 ms\"\ninitial_rto = \"3 s\"\n{keys}"
        ));
        let timeouts: u64 = run.flows.iter().map(|flow| flow.timeouts).sum();
        let link = &run.links[0];
        let loss = link.drops as f64 / link.arrivals as f64;
        (timeouts as f64 / 100.0 / 150.0, link.utilization, loss)
    };
    let (timeouts, utilization, loss) =
        run("rtt_samples = \"once-a-window\"\nclock_granularity = \"10 ms\"\n");
    assert!((timeouts - 0.0035).abs() < 0.0015, "{timeouts}");
    assert!((utilization - 0.964).abs() < 0.015, "{utilization}");
    assert!((loss / 0.0087 - 1.0).abs() < 0.15, "{loss}");
    let (exact, _, _) = run("");
    assert!(exact > 5.0 * timeouts, "{exact}, and {timeouts} in ticks");
}

/// An initial window of half the bandwidth-delay product queues as the burst that it is; paced it
/// spreads out over the round trip of the handshake.
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

/// Standard slow start doubles the window until the buffer is full, and loses about as much as it
/// holds. HyStart++ sees the queue in the smallest round trip of a round, grows by a quarter a
/// round five times more, and stops. SEARCH sees that deliveries no longer double some two round
/// trips after the link is full, and takes back what it has sent too much.
#[test]
fn slow_start_ends_before_losses() {
    let lost = |option: &str, buffer: u32| {
        let text = link(
            &format!("capacity = \"{buffer} packets\""),
            20,
            &format!("congestion = \"reno\"\n{option}"),
        );
        let outcome = outcome(&text);
        let link = &outcome.links[0];
        assert!(link.utilization > 0.9, "{}", link.utilization);
        link.drops
    };
    for option in ["hystart = true", "search = true"] {
        let (plain, early) = (lost("", 1000), lost(option, 1000));
        assert!(plain > 500 && early == 0, "{option}: {plain} and {early}");
        let (plain, early) = (lost("", 400), lost(option, 400));
        assert!(
            early > 0 && 3 * early < plain,
            "{option}: {plain} and {early}"
        );
    }
}

/// Careful Resume: a transfer of 300 packets over a path that holds 100 is over some round trips
/// earlier when the earlier connection's window is known. When that was another path's, ten times
/// as large, it loses some of what it sends, retreats and is later by three round trips at most.
#[test]
fn a_known_path_is_resumed() {
    let run = |option: &str| {
        let text = link(
            "capacity = \"100 packets\"",
            20,
            &format!(
                "congestion = \"cubic\"\ntraffic = {{ kind = \"transfer\", size = \"438 kB\" }}\n{option}"
            ),
        );
        let outcome = outcome(&text);
        let finished = outcome.flows[0].completion;
        (finished, outcome.links[0].drops)
    };
    let saved = |window: u32| {
        run(&format!(
            "saved_window = \"{window} packets\"\nsaved_rtt = \"100 ms\""
        ))
    };
    let (plain, known, wrong) = (run(""), saved(200), saved(2000));
    assert!(known.0 < plain.0 - 0.15, "{known:?} and {plain:?}");
    assert_eq!((known.1, plain.1), (0, 0));
    assert!(wrong.1 > 0, "{wrong:?} {known:?} {plain:?}");
    assert!(wrong.0 < plain.0 + 0.3, "{wrong:?} {known:?} {plain:?}");
}

/// Half of a receive buffer is on its way in each round trip of 100 ms, until the buffer grows.
#[test]
fn a_receive_buffer_limits_the_rate() {
    let run = |largest: &str| {
        let keys = format!(
            "style = \"linux\"\ncongestion = \"reno\"\nreceive_buffer = \"{largest}\"\ninitial_receive_buffer = \"64 KiB\""
        );
        let text = link("capacity = \"400 packets\"", 20, &keys).replace(
            "duration = \"20 s\"",
            "duration = \"20 s\"\nmeasure = \"5 s .. 20 s\"",
        );
        outcome(&text)
    };
    // segments of 1460 B, of which one may have come and not be acknowledged
    let small = run("128 KiB");
    let segments = (64 << 10) as f64 / 1460.0;
    let expected = segments * 1460.0 * 8.0 / 0.1;
    let goodput = small.flows[0].goodput;
    assert!(
        goodput < expected && goodput > (1.0 - 3.0 / segments) * expected,
        "{goodput} for {expected} bit/s"
    );
    assert_eq!((small.links[0].drops, small.flows[0].timeouts), (0, 0));
    // 150 kB fill the pipe
    let large = run("1 MiB");
    assert!(
        large.links[0].utilization > 0.95,
        "{}",
        large.links[0].utilization
    );
}

/// A BBR alone on a link uses it, and its queue is that of its probes, a quarter of the
/// bandwidth-delay product, however large the buffer. With a buffer of a tenth of that product
/// version 1 does not mind the losses that it causes, version 3 keeps them below 2 % of what it
/// sends. Losses are found by time, retransmissions' too: with duplicate ACKs each of these costs a
/// timeout, and version 3 then uses 89 %.
#[test]
fn bbr_alone() {
    for (kind, used) in [("bbr", 0.97), ("bbr3", 0.95)] {
        let run = |buffer: u32| {
            let text = link(
                &format!("capacity = \"{buffer} packets\""),
                40,
                &format!("congestion = \"{kind}\"\nloss_detection = \"rack\""),
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

/// Two BBR flows: each keeps two bandwidth-delay products of its own share in the network, which
/// makes a standing queue of up to one; the late comer gets its part.
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

/// Packets are lost at random, one in a thousand or one in a hundred: by the square-root law Reno
/// uses 41 % and 13 % of the link (less with delayed ACKs). BBR takes no notice; version 3 lowers
/// its short-term limits in every round with a loss, to what that round delivered, and wins them
/// back in its probes.
#[test]
fn bbr_bears_random_loss() {
    let used = |kind: &str, loss: f64| {
        let text = link(
            "capacity = \"400 packets\"",
            40,
            &format!("congestion = \"{kind}\"\nloss_detection = \"rack\""),
        );
        lossy(&text, Loss::Random(loss)).links[0].utilization
    };
    for (loss, reno, first, third) in [(0.001, 0.4, 0.95, 0.9), (0.01, 0.13, 0.95, 0.5)] {
        let [r, f, t] = ["reno", "bbr", "bbr3"].map(|kind| used(kind, loss));
        assert!(r < reno && f > first && t > third, "{loss}: {r}, {f}, {t}");
    }
}

/// The last segment of a transfer is lost. Nothing after it can tell; a probe does, two round trips
/// later, where a timer of a second has to expire without (RFC 8985, section 7).
#[test]
fn a_probe_repairs_the_tail() {
    let time = |detection: &str| {
        let text = link(
            "capacity = \"400 packets\"",
            10,
            &format!(
                "traffic = {{ kind = \"transfer\", size = \"29200 B\" }}\nmin_rto = \"1 s\"\ncongestion = \"reno\"\n\
                 initial_window = \"20 packets\"\nloss_detection = \"{detection}\""
            ),
        );
        // the SYN is the first packet, the twentieth segment the last
        let outcome = lossy(&text, Loss::Once(21));
        assert_eq!(outcome.links[0].drops, 1);
        assert_eq!(
            outcome.flows[0].timeouts,
            u64::from(detection == "dup-acks")
        );
        outcome.flows[0].completion
    };
    let (timer, probe) = (time("dup-acks"), time("rack"));
    assert!(timer > 1.2, "{timer}");
    // connection, data and a delayed ACK; two round trips and 200 ms for a delayed ACK of the one
    // segment outstanding; the probe and its delayed ACK
    assert!(
        probe < 0.1 + 0.12 + 0.04 + 0.24 + 0.2 + 0.1 + 0.04,
        "{probe}"
    );
}

/// DCTCP hears of every mark through delayed ACKs, and holds the queue at the threshold with the
/// link in use; halving at each window that holds a mark makes Reno's queue run empty.
#[test]
fn dctcp_holds_the_queue_at_the_threshold() {
    let run = |kind: &str| {
        let text = link(
            "aqm = \"threshold\", threshold = \"30 packets\", capacity = \"400 packets\", ecn = true",
            60,
            &format!("congestion = \"{kind}\"\necn = true\nhystart = true"),
        )
        .replace(
            "duration = \"60 s\"",
            "duration = \"60 s\"\nmeasure = \"20 s .. 60 s\"",
        );
        outcome(&text).links.remove(0)
    };
    let (dctcp, reno) = (run("dctcp"), run("reno"));
    assert_eq!(dctcp.drops + reno.drops, 0);
    assert!(dctcp.utilization > 0.99, "{}", dctcp.utilization);
    assert!(reno.utilization < 0.95, "{}", reno.utilization);
    assert!(
        (15.0..35.0).contains(&dctcp.queue_packets_mean),
        "{}",
        dctcp.queue_packets_mean
    );
    assert!(
        dctcp.marks > 3 * reno.marks,
        "{} and {}",
        dctcp.marks,
        reno.marks
    );
}

/// Jitter lets packets overtake each other. Three that overtake one are taken for a loss, again and
/// again; RACK gives it a quarter of the round trip.
#[test]
fn rack_bears_jitter() {
    let run = |detection: &str| {
        let text = link(
            "capacity = \"400 packets\"",
            20,
            &format!("congestion = \"cubic\"\nmax_window = \"60 packets\"\nloss_detection = \"{detection}\""),
        )
        .replace("delay = \"50 ms\"", "delay = \"40 ms\"\njitter = { delay = \"uniform 0 s .. 10 ms\", reorder = true }");
        let outcome = outcome(&text);
        (
            outcome.flows[0].fast_recoveries,
            outcome.links[0].utilization,
        )
    };
    let (plain, rack) = (run("dup-acks"), run("rack"));
    assert!(rack.0 <= 1 && rack.1 > 0.5, "{rack:?}");
    assert!(plain.0 > 20, "{plain:?}");
}

/// The Linux forms of Vegas, Veno and YeAH measure round trips by every ACK and rest while
/// something is lost. They do so in style "rfc" too, with and without selective acknowledgements.
#[test]
fn linux_forms_measure_in_every_style() {
    let queue = |kind: &str, recovery: &str, buffer: u32| {
        let flows = format!(
            "congestion = {{ kind = \"{kind}\", form = \"linux\" }}\nrecovery = \"{recovery}\"\n\
             initial_ssthresh = \"100 packets\""
        );
        let text = link(&format!("capacity = \"{buffer} packets\""), 60, &flows).replace(
            "duration = \"60 s\"",
            "duration = \"60 s\"\nmeasure = \"20 s .. 60 s\"",
        );
        let link = outcome(&text).links.remove(0);
        assert!(link.utilization > 0.99, "{kind} {}", link.utilization);
        link
    };
    for recovery in ["sack", "newreno"] {
        // Vegas keeps alpha to beta packets in the queue
        let vegas = queue("vegas", recovery, 400).queue_packets_mean;
        assert!((1.0..5.0).contains(&vegas), "{vegas}");
        // YeAH drains what exceeds its limit and never fills the buffer
        let yeah = queue("yeah", recovery, 400);
        assert_eq!(yeah.drops, 0);
        assert!(
            yeah.queue_packets_mean < 250.0,
            "{}",
            yeah.queue_packets_mean
        );
        // Veno sees a full queue, so that a loss halves the window and empties it
        let veno = queue("veno", recovery, 100).queue_packets_mean;
        assert!((40.0..70.0).contains(&veno), "{veno}");
    }
}

/// Packets that overtake one another (jitter of 0 to 20 ms on a path of 100 ms) at 12 Mbit/s, and
/// no losses. Without an undo each overtaking halves the window. Time stamps tell of it with the
/// first ACK that moves on; reports of duplicates come a round trip later, when mostly the next
/// recovery is under way. Means of ten seeds: that BBR gains by the reports does not show in each.
#[test]
fn needless_recoveries_are_undone() {
    let of = |congestion: &str, undo: &str, seed: u32| {
        let text = link(
            "capacity = \"200 packets\"",
            40,
            &format!("congestion = \"{congestion}\"\nundo = \"{undo}\"\n"),
        )
        .replace(
            "queue =",
            "jitter = { delay = \"uniform 0 ms .. 20 ms\", reorder = true }\nqueue =",
        )
        .replace("[[link]]", &format!("seed = {seed}\n[[link]]"));
        outcome(&text).flows[0].goodput / 12e6
    };
    let goodput = |congestion: &str, undo: &str| {
        (1..=10).map(|seed| of(congestion, undo, seed)).sum::<f64>() / 10.0
    };
    for congestion in ["reno", "cubic", "bbr3"] {
        let none = goodput(congestion, "none");
        assert_eq!(none, goodput(congestion, "auto"));
        for (undo, least) in [("eifel", 5.0), ("all", 5.0), ("dsack", 1.05)] {
            let undone = goodput(congestion, undo);
            let least = if congestion == "bbr3" && undo != "dsack" {
                2.0
            } else {
                least
            };
            assert!(
                undone > least * none,
                "{congestion} {undo}: {undone}, {none}"
            );
        }
    }
}

/// Losses that are none of reordering: nothing is undone, and results are the same to the last bit.
#[test]
fn real_losses_are_not_undone() {
    for loss_detection in ["dup-acks", "rack"] {
        let run = |undo: &str| {
            let text = link(
                "capacity = \"50 packets\"",
                30,
                &format!(
                    "congestion = \"cubic\"\ncount = 3\nloss_detection = \"{loss_detection}\"\nundo = \"{undo}\""
                ),
            );
            let outcome = lossy(&text, Loss::Random(0.002));
            outcome
                .flows
                .iter()
                .map(|flow| (flow.goodput, flow.timeouts, flow.fast_recoveries))
                .collect::<Vec<_>>()
        };
        let (none, all) = (run("none"), run("all"));
        assert!(none.iter().all(|flow| flow.2 > 5), "{none:?}");
        assert_eq!(none, all, "{loss_detection}");
    }
}

/// AccECN (RFC 9768) for senders that count marks, over a step of 30 packets: as with exact echoes
/// where all ACKs arrive. Where six of ten are lost on the way back, the option still tells of each
/// mark; three bits alone assume more of them than there are, and give up some of the link for it.
#[test]
fn counted_marks_come_through_a_lossy_way_back() {
    let run = |congestion: &str, feedback: &str, loss: f64| {
        let outcome = outcome(&format!(
            "[scenario]\nname = \"marks\"\nduration = \"20 s\"\nmeasure = \"5 s .. 20 s\"\n\
             [[link]]\nname = \"there\"\nrate = \"50 Mbit/s\"\ndelay = \"5 ms\"\n\
             queue = {{ aqm = \"threshold\", threshold = \"30 packets\", capacity = \"500 packets\", ecn = true }}\n\
             [[link]]\nname = \"back\"\nrate = \"50 Mbit/s\"\ndelay = \"5 ms\"\nloss = {loss}\n\
             [[flows]]\npath = [\"there\"]\nreverse_path = [\"back\"]\nrtt = \"20 ms\"\nhandshake = false\ninitial_window = \"40 packets\"\n\
             congestion = \"{congestion}\"\necn_feedback = \"{feedback}\"\n"
        ));
        let link = &outcome.links[0];
        (link.utilization, link.queue_packets_mean, link.marks)
    };
    for congestion in ["dctcp", "prague"] {
        let near = |a: (f64, f64, u64), b: (f64, f64, u64)| {
            (a.0 - b.0).abs() < 0.02 && (a.1 / b.1 - 1.0).abs() < 0.25
        };
        let [echo, exact, ace] =
            ["auto", "accecn", "ace"].map(|feedback| run(congestion, feedback, 0.0));
        assert!(near(echo, exact), "{congestion}: {echo:?} {exact:?}");
        assert!(near(exact, ace), "{congestion}: {exact:?} {ace:?}");
        let [lost, safe] = ["accecn", "ace"].map(|feedback| run(congestion, feedback, 0.6));
        let text = format!("{congestion}: {exact:?}; lossy {lost:?} {safe:?}");
        assert!(lost.0 > 0.9, "{text}");
        assert!(safe.0 < lost.0 - 0.02 || safe.1 < 0.8 * lost.1, "{text}");
    }
}

/// A sender that answers marks once a window does the same whichever way they come back: Reno over
/// RED.
#[test]
fn classic_senders_take_counted_marks() {
    let run = |feedback: &str| {
        let text = link(
            "aqm = \"red\", capacity = \"200 packets\", min_threshold = \"20 packets\", max_threshold = \"60 packets\", ecn = true",
            60,
            &format!("count = 5\ncongestion = \"reno\"\necn = true\necn_feedback = \"{feedback}\""),
        );
        let outcome = outcome(&text);
        let link = &outcome.links[0];
        assert!(
            link.marks > 20 && link.utilization > 0.9,
            "{feedback}: {}",
            link.utilization
        );
        link.queue_packets_mean
    };
    let [classic, counted, ace] = ["auto", "accecn", "ace"].map(run);
    assert!(
        (counted / classic - 1.0).abs() < 0.15,
        "{classic} {counted}"
    );
    assert!((ace / counted - 1.0).abs() < 0.1, "{counted} {ace}");
}

/// RFC 9768, section 3.1.2: a sender falls back to what the peer has. What counts marks then
/// answers those of RFC 3168 as Reno does, in queues of either kind, and without ECN it is dropped.
#[test]
fn a_peer_without_accecn_is_fallen_back_to() {
    let run = |keys: &str| {
        let text = link(
            "aqm = \"red\", capacity = \"200 packets\", min_threshold = \"20 packets\", max_threshold = \"60 packets\", ecn = true",
            60,
            &format!("count = 5\n{keys}"),
        );
        let mut outcome = outcome(&text);
        let link = outcome.links.swap_remove(0);
        (link.marks, link.drops, link.utilization)
    };
    // the offer alone changes nothing
    let classic = run("congestion = \"reno\"\necn = true");
    let offered =
        run("congestion = \"reno\"\necn = true\necn_feedback = \"accecn\"\npeer_ecn = \"classic\"");
    assert_eq!(classic, offered);
    let none = run("congestion = \"reno\"");
    let refused = run("congestion = \"reno\"\necn = true\npeer_ecn = \"none\"");
    assert_eq!(none, refused);
    assert!(none.0 == 0 && none.1 > 20 && classic.0 > 20);
    // TCP Prague takes AccECN by itself
    let prague = run("congestion = \"prague\"");
    assert_eq!(
        prague,
        run("congestion = \"prague\"\necn_feedback = \"accecn\"")
    );
    // a smaller share of marks holds flows that halve
    let fallen = run("congestion = \"prague\"\npeer_ecn = \"classic\"");
    assert!(
        fallen.0 > 20 && 2 * fallen.0 < prague.0 && fallen.2 > 0.9,
        "{fallen:?} {prague:?}"
    );
    let without = run("congestion = \"prague\"\npeer_ecn = \"none\"");
    assert!(without.0 == 0 && without.1 > 20, "{without:?}");
}

/// Linux's receiver doubles the longest delay of an ACK each time that one has waited that long
/// (`tcp_delack_timer_handler`), up to the round trip of the handshake (`tcp_send_delayed_ack`):
/// the timer tells of it, or the next segment, where that is looked at before; on every path.
#[test]
fn an_ack_that_waited_lets_the_next_wait_longer() {
    // 16 segments of this size open the offered window, after which ACKs are delayed
    const SIZE: f64 = 65_535.0;
    let plain = "path = [\"link\"]\n";
    let senders = [
        "congestion = \"cubic\"\n",
        "congestion = \"dctcp\"\n",
        "congestion = \"prague\"\n",
    ];
    let paths = [
        ("", "", plain),
        ("scheduler = \"drr\"", "", plain),
        (
            "",
            "[[link]]\nname = \"back\"\nrate = \"10 Gbit/s\"\n",
            "path = [\"link\"]\nreverse_path = [\"back\"]\n",
        ),
    ];
    for sender in senders {
        for (queue, more, path) in paths {
            for (window, segment, expected) in [
                // one at a time: its ACK waits for a handshake's round trip, 100 ms, and for the end
                // of the timer's bucket of 8 ms; with the first 40 ms this were 141 ms
                (1, 0.5e-3, 0.2005..0.2136),
                // two, of 80 ms each: the first's ACK still waits when the second comes, and two
                // more are sent when both have arrived; with 40 ms this were 221 ms
                (2, 80e-3, 0.25999..0.26001),
            ] {
                let rate = SIZE * 8.0 / segment;
                let text = format!(
                    "[scenario]\nduration = \"60 s\"\nmeasure = \"20 s .. 60 s\"\n\
                     [[link]]\nname = \"link\"\nrate = \"{rate:.0} bit/s\"\nqueue = {{ {queue} }}\n{more}\
                     [[flows]]\n{path}rtt = \"100 ms\"\nstyle = \"linux\"\npacket_size = \"65535 B\"\n\
                     max_window = \"{window} packets\"\n{sender}"
                );
                for general in [false, true] {
                    let options = Options {
                        general,
                        ..Options::default()
                    };
                    let outcome = run(&scenario(&text), &options).expect("the run succeeds");
                    let rtt = outcome.flows[0].rtt_mean;
                    assert!(expected.contains(&rtt), "{rtt}, general {general}: {text}");
                }
            }
        }
    }
}
