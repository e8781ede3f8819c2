//! AQMs in the engine: each in the equilibrium that its source promises, with twenty Reno flows on
//! a link of 10 Mbit/s (833 packets/s).

use crate::common::outcome;
use ackclock_packet::LinkOutcome;

/// Returns what the link has seen from 40 s to 120 s, after its queue was given as `queue`.
fn link(queue: &str, ecn: bool) -> LinkOutcome {
    let outcome = outcome(&format!(
        "[scenario]\nname = \"aqm\"\nduration = \"120 s\"\nmeasure = \"40 s .. 120 s\"\n\
         [[link]]\nname = \"link\"\nrate = \"10 Mbit/s\"\ndelay = \"20 ms\"\nqueue = {{ capacity = \"250 packets\", {queue}{} }}\n\
         [[flows]]\ncount = 20\npath = [\"link\"]\ncongestion = {{ kind = \"reno\" }}\nrtt = \"uniform 60 ms .. 140 ms\"\n\
         start = \"uniform 0 s .. 2 s\"\necn = {ecn}\n",
        if ecn { ", ecn = true" } else { "" }
    ));
    outcome.links.into_iter().next().unwrap()
}

#[test]
fn integral_controllers_rest_at_their_reference() {
    // the mean queue over 80 s: integral action leaves no offset but that of a probability clipped
    // at zero
    for (queue, ecn, expected, allowed) in [
        (
            "aqm = \"pi\", a = 1e-4, b = 0.98e-4, reference = \"60 packets\"",
            false,
            60.0,
            3.0,
        ),
        (
            "aqm = \"pi\", a = 1e-4, b = 0.98e-4, reference = \"60 packets\"",
            true,
            60.0,
            3.0,
        ),
        ("aqm = \"rem\", reference = \"40 packets\"", true, 40.0, 3.0),
        (
            "aqm = \"lred\", reference = \"60 packets\", past = 0.9",
            false,
            60.0,
            12.0,
        ),
    ] {
        let link = link(queue, ecn);
        let mean = link.queue_packets_mean;
        assert!(
            (mean - expected).abs() < allowed,
            "{queue} ecn {ecn}: {mean}"
        );
        assert!(
            link.utilization > 0.97,
            "{queue} ecn {ecn}: {}",
            link.utilization
        );
        assert_eq!(link.marks > 0, ecn, "{queue}");
    }
}

#[test]
fn dropped_packets_are_load_to_rem() {
    // x counts them, so that at rest alpha (q - q_ref) + p c = 0 in a period of c = 833 / 500
    // packets
    let link = link("aqm = \"rem\", reference = \"40 packets\"", false);
    let loss = link.drops as f64 / link.arrivals as f64;
    let expected = 40.0 - 10.0 * loss / (1.0 - loss) * 10e6 / 12_000.0 / 500.0;
    assert!(
        (link.queue_packets_mean - expected).abs() < 3.0,
        "{} {expected}",
        link.queue_packets_mean
    );
}

#[test]
fn delay_controllers_rest_at_their_target() {
    for aqm in ["pie", "pi2"] {
        for ecn in [false, true] {
            let link = link(&format!("aqm = \"{aqm}\", target = \"20 ms\""), ecn);
            // the delay of the queue at updates; a packet more or less is 1.2 ms
            assert!(
                (link.delay_mean - 0.02).abs() < 0.003,
                "{aqm} ecn {ecn}: {}",
                link.delay_mean
            );
            assert!(
                link.utilization > 0.95,
                "{aqm} ecn {ecn}: {}",
                link.utilization
            );
        }
    }
}

#[test]
fn avq_uses_the_desired_part_of_the_link() {
    for gamma in [0.9, 0.98] {
        let marked = link(&format!("aqm = \"avq\", gamma = {gamma}"), true);
        assert!(
            (marked.utilization - gamma).abs() < 0.01,
            "{gamma}: {}",
            marked.utilization
        );
        // what is dropped counts as load too, unless told not to
        let dropped = link(&format!("aqm = \"avq\", gamma = {gamma}"), false);
        let loss = dropped.drops as f64 / dropped.arrivals as f64;
        let expected = gamma * (1.0 - loss);
        assert!(
            (dropped.utilization - expected).abs() < 0.01,
            "{gamma}: {}",
            dropped.utilization
        );
        let plain = link(
            &format!("aqm = \"avq\", gamma = {gamma}, count_drops = false"),
            false,
        );
        assert!(
            (plain.utilization - gamma).abs() < 0.01,
            "{gamma}: {}",
            plain.utilization
        );
    }
}

#[test]
fn codel_and_virtual_queues_keep_delays_short() {
    for queue in ["aqm = \"codel\"", "aqm = \"exponential-red\", gamma = 0.95"] {
        for ecn in [false, true] {
            let link = link(queue, ecn);
            assert!(
                link.delay_mean < 0.05,
                "{queue} ecn {ecn}: {}",
                link.delay_mean
            );
            assert!(
                link.utilization > 0.9,
                "{queue} ecn {ecn}: {}",
                link.utilization
            );
        }
    }
    let full = link("aqm = \"drop-tail\"", false);
    assert!(full.delay_mean > 0.15, "{}", full.delay_mean);
}

#[test]
fn dualpi2_shares_the_link_between_scalable_and_classic_senders() {
    let run = |queue: &str| {
        let outcome = outcome(&format!(
            "[scenario]\nname = \"dual\"\nduration = \"60 s\"\nmeasure = \"20 s .. 60 s\"\n\
             [[link]]\nname = \"link\"\nrate = \"40 Mbit/s\"\ndelay = \"2 ms\"\nqueue = {{ capacity = \"1000 packets\", {queue} }}\n\
             [[flows]]\nname = \"classic\"\ncount = 2\npath = [\"link\"]\ncongestion = {{ kind = \"reno\" }}\nrtt = \"20 ms\"\n\
             [[flows]]\nname = \"scalable\"\ncount = 2\npath = [\"link\"]\ncongestion = {{ kind = \"dctcp\" }}\nrtt = \"20 ms\"\necn = true\n"
        ));
        let goodput = |class| {
            let flows = outcome.flows.iter().filter(|flow| flow.class == class);
            flows.map(|flow| flow.goodput).sum::<f64>()
        };
        goodput(1) / goodput(0)
    };
    // equal windows: rates are as round-trip times, 20 ms + 15 ms of queue against 20 ms + 1 ms
    let coupled = run("scheduler = \"dualpi2\"");
    assert!((coupled / (35.0 / 21.0) - 1.0).abs() < 0.25, "{coupled}");
    // the same controller over one queue leaves little to classic senders
    let single = run("aqm = \"pi2\", ecn = true");
    assert!(single > 5.0, "{single}");
}

#[test]
fn wred_prefers_high_priorities() {
    let outcome = outcome(
        "[scenario]\nname = \"wred\"\nduration = \"60 s\"\nmeasure = \"20 s .. 60 s\"\n\
         [[link]]\nname = \"link\"\nrate = \"20 Mbit/s\"\ndelay = \"2 ms\"\n\
         queue = { aqm = \"wred\", capacity = \"300 packets\", min_threshold = \"20 packets\", max_threshold = \"60 packets\" }\n\
         [[flows]]\nname = \"low\"\ncount = 5\npath = [\"link\"]\nrtt = \"40 ms\"\n\
         [[flows]]\nname = \"high\"\ncount = 5\npath = [\"link\"]\nrtt = \"40 ms\"\npriority = 7\n",
    );
    let share = |class| {
        let flows = outcome.flows.iter().filter(|flow| flow.class == class);
        let (drops, sent) = flows.fold((0, 0), |sum, flow| (sum.0 + flow.drops, sum.1 + flow.sent));
        drops as f64 / sent as f64
    };
    assert!(share(0) > 5.0 * share(1), "{} {}", share(0), share(1));
}

/// FQ-CoDel with the step of L4S, 1 ms for ECT(1) alone: TCP Prague keeps its queue at the step,
/// and a CUBIC with classic ECN beside it is judged by CoDel's law alone, as without the step. A
/// step for all ECN-capable packets takes from CUBIC what it needs.
#[test]
fn fq_codel_has_a_step_for_scalable_flows() {
    let run = |step: &str| {
        let outcome = outcome(&format!(
            "[scenario]\nname = \"step\"\nduration = \"40 s\"\nmeasure = \"10 s .. 40 s\"\n\
             [[link]]\nname = \"link\"\nrate = \"40 Mbit/s\"\ndelay = \"10 ms\"\nqueue = {{ aqm = \"fq_codel\"{step} }}\n\
             [[flows]]\nname = \"prague\"\npath = [\"link\"]\ncongestion = \"prague\"\nrtt = \"40 ms\"\n\
             [[flows]]\nname = \"cubic\"\npath = [\"link\"]\ncongestion = \"cubic\"\necn = true\nrtt = \"40 ms\"\n"
        ));
        let measures = |class: usize| {
            let flow = &outcome.flows[class];
            (flow.goodput / 1e6, flow.marks, flow.rtt_mean - 0.04)
        };
        (measures(0), measures(1))
    };
    let (prague, cubic) = run("");
    let (stepped, beside) = run(", ce_threshold = \"1 ms\", ce_threshold_selector = \"ect1\"");
    let (_, all) = run(", ce_threshold = \"1 ms\"");
    let text = format!("{prague:?} {cubic:?}; ect1 {stepped:?} {beside:?}; any {all:?}");
    // 2 ms: the step, and a packet of the other flow before each of Prague's
    assert!(stepped.2 < 0.002 && prague.2 > 0.005, "{text}");
    assert!(stepped.1 > prague.1, "{text}");
    assert!(stepped.0 > 17.5, "{text}");
    assert!(
        beside.1 < 2 * cubic.1 + 10 && beside.0 > 0.95 * cubic.0,
        "{text}"
    );
    assert!(all.1 > beside.1 && all.0 < 0.9 * beside.0, "{text}");
}

/// PIE steers the delay of each sub-queue to its target, however many share the link.
#[test]
fn fq_pie_holds_its_target_for_any_number_of_flows() {
    for flows in [1, 4, 16] {
        let run = outcome(&format!(
            "[scenario]\nduration = \"60 s\"\nmeasure = \"20 s .. 60 s\"\n\
             [[link]]\nname = \"link\"\nrate = \"40 Mbit/s\"\nqueue = {{ aqm = \"fq_pie\" }}\n\
             [[flows]]\npath = [\"link\"]\ncount = {flows}\ncongestion = \"reno\"\nrtt = \"20 ms\"\n"
        ));
        let delay = run.links[0].delay_mean;
        assert!((0.010..0.020).contains(&delay), "{flows} flows: {delay}");
    }
}

/// A law that counts with the link's rate counts with the shaper's, behind which its queue waits:
/// PIE steers the delay to 15 ms, AVQ and RED drop before the queue is full, whatever the line becomes.
#[test]
fn behind_a_shaper_its_rate_counts() {
    for (aqm, most) in [("pie", 0.020), ("avq", 0.060), ("red", 0.030)] {
        let run = outcome(&format!(
            "[scenario]\nduration = \"40 s\"\nmeasure = \"10 s .. 40 s\"\n\
             [[link]]\nname = \"link\"\nrate = \"400 Mbit/s\"\n\
             shaper = {{ rate = \"40 Mbit/s\", burst = \"10 kB\" }}\n\
             queue = {{ aqm = \"{aqm}\", capacity = \"100 ms\" }}\n\
             [[flows]]\npath = [\"link\"]\ncount = 4\ncongestion = \"reno\"\nrtt = \"20 ms\"\n\
             [[change]]\nat = \"5 s\"\nlink = \"link\"\nrate = \"800 Mbit/s\"\n"
        ));
        let delay = run.links[0].delay_mean;
        assert!((0.002..most).contains(&delay), "{aqm}: {delay}");
    }
}

/// A capacity that falls below what other flows' queues hold ends no run: nothing more is dropped.
#[test]
fn a_capacity_that_falls_below_the_backlog_is_no_endless_loop() {
    for aqm in ["sch_fq", "drr", "fq", "priority", "sfq"] {
        let found = outcome(&format!(
            "[scenario]\nduration = \"8 s\"\n\
             [[link]]\nname = \"link\"\nrate = \"1 Mbit/s\"\n\
             queue = {{ aqm = \"{aqm}\", capacity = \"100 packets\" }}\n\
             [[flows]]\npath = [\"link\"]\ncount = 4\ncongestion = \"reno\"\nrtt = \"20 ms\"\n\
             [[change]]\nat = \"4 s\"\nlink = \"link\"\ncapacity = \"1 packets\"\n"
        ));
        assert!(found.links[0].drops > 0, "{aqm}");
    }
}
