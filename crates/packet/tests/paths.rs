//! The fast path gives the bits of the general path where their clocks differ most: answers late by
//! seconds, segments shorter than a SYN, events after the end, packets that arrive together.

use crate::common::{difference, scenario};
use ackclock_packet::{FlowSelection, Options, Outcome, TraceSelection, run};

fn on_path(text: &str, general: bool) -> Outcome {
    let options = Options {
        general,
        traces: TraceSelection {
            links: true,
            parts: 7,
            flows: FlowSelection::All,
            ..TraceSelection::default()
        },
        ..Options::default()
    };
    run(&scenario(text), &options).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn same(text: &str) -> Outcome {
    let fast = on_path(text, false);
    assert_eq!(difference(&fast, &on_path(text, true)), None, "{text}");
    fast
}

/// Connections of a source that is far away: segments are sent again before the first answer comes,
/// and what is left of a connection outlives it.
#[test]
fn connections_with_round_trips_of_seconds() {
    for handshake in [false, true] {
        for seed in 1..=10 {
            same(&format!(
                "[scenario]\nduration = \"20 s\"\nseed = {seed}\n\
                 [[link]]\nname = \"link\"\nrate = \"20 Mbit/s\"\n\
                 [[flows]]\ncount = 3\npath = [\"link\"]\nrtt = \"3 s\"\nhandshake = {handshake}\n\
                 traffic = {{ kind = \"poisson-arrivals\", rate = \"0.2 /s\", size = \"4 kB\" }}\n"
            ));
        }
    }
}

/// ACKs tell what a receive buffer takes on every way back, some of which lose them; and no sender
/// goes beyond that.
#[test]
fn windows_of_receive_buffers() {
    let back = "[[link]]\nname = \"back\"\nrate = \"400 kbit/s\"\nqueue = { scheduler = { kind = \"cake\", \
                bandwidth = \"300 kbit/s\", ack_filter = \"ack-filter\" } }\n";
    let narrow = "[[link]]\nname = \"back\"\nrate = \"200 kbit/s\"\nqueue = { aqm = \"drop-tail\", capacity = \"5 packets\" }\n";
    for (way, link) in [
        ("", ""),
        ("reverse_path = [\"back\"]\n", back),
        ("reverse_path = [\"back\"]\n", narrow),
    ] {
        for (buffer, count) in [("1 B", 1), ("64 KiB", 1), ("300 kB", 4), ("4 MiB", 2)] {
            let outcome = same(&format!(
                "[scenario]\nduration = \"12 s\"\nseed = 3\n\
                 [[link]]\nname = \"link\"\nrate = \"20 Mbit/s\"\nqueue = {{ aqm = \"drop-tail\", capacity = \"60 packets\" }}\n{link}\
                 [[flows]]\ncount = {count}\npath = [\"link\"]\nrtt = \"80 ms\"\nstyle = \"linux\"\n{way}\
                 start = \"uniform 0 s .. 1 s\"\nreceive_buffer = \"{buffer}\"\nread_size = \"20 kB\"\n\
                 [[flows]]\nname = \"short\"\npath = [\"link\"]\nrtt = \"40 ms\"\nstyle = \"linux\"\nreceive_buffer = \"{buffer}\"\n\
                 traffic = {{ kind = \"poisson-arrivals\", rate = \"3 /s\", size = \"90 kB\" }}\n"
            ));
            let most = outcome
                .flows
                .iter()
                .map(|flow| flow.goodput)
                .fold(0.0, f64::max);
            assert!(most > 1e5, "{most}");
        }
    }
}

/// Deliveries of a source's connections count in its own row.
#[test]
fn connections_count_for_their_source() {
    let outcome = same(
        "[scenario]\nduration = \"400 s\"\nmeasure = \"0 s .. 400 s\"\n\
         [[link]]\nname = \"link\"\nrate = \"20 Mbit/s\"\n\
         [[flows]]\ncount = 4\npath = [\"link\"]\nrtt = \"20 ms\"\n\
         traffic = { kind = \"poisson-arrivals\", rate = \"1 /s\", size = \"4 kB\" }\n",
    );
    for flow in &outcome.flows {
        // 400 connections of 4 kB, with a standard deviation of 20 of them
        let opened = flow.goodput * 400.0 / 8.0 / 4000.0;
        assert!((opened - 400.0).abs() < 100.0, "{opened} connections");
    }
}

/// A SYN takes longer over the access link than a segment, so that a connecting sender's events lag
/// more than an established one's: the answer comes after the timer has expired, its event before.
#[test]
fn segments_shorter_than_a_syn() {
    let mut timeouts = 0;
    for count in 3..=5 {
        for seed in 1..=8 {
            let outcome = same(&format!(
                "[scenario]\nduration = \"20 s\"\nseed = {seed}\n\
                 [[link]]\nname = \"link\"\nrate = \"2500 bit/s\"\nqueue = {{ capacity = \"1 packets\" }}\n\
                 [[flows]]\ncount = {count}\npath = [\"link\"]\nrtt = \"300 ms\"\nstart = \"uniform 0 s .. 1 s\"\n\
                 access_rate = \"2700 bit/s\"\npacket_size = \"2 B\"\nheader_size = \"1 B\"\n"
            ));
            timeouts += outcome.flows.iter().map(|flow| flow.timeouts).sum::<u64>();
        }
    }
    assert!(timeouts > 0);
}

/// A segment takes 30 s over the access link: the connection is established before the end by an
/// ACK whose event comes after it, and its probe leaves before the end, too.
#[test]
fn a_connection_whose_events_come_after_the_end() {
    for count in [1, 3] {
        let outcome = same(&format!(
            "[scenario]\nduration = \"6 s\"\n\
             [[link]]\nname = \"link\"\nrate = \"600 bit/s\"\nqueue = {{ capacity = \"5 packets\" }}\n\
             [[flows]]\ncount = {count}\npath = [\"link\"]\nrtt = \"500 ms\"\n\
             access_rate = \"400 bit/s\"\nloss_detection = \"rack\"\n"
        ));
        // ten of the initial window, and the probe
        assert_eq!(outcome.flows[0].sent, 11);
    }
}

/// A link carries data and its ACKs, and what has overtaken waits, so that many packets come out
/// together: they queue again in the same order.
#[test]
fn packets_that_arrive_together() {
    for rtt in ["", "rtt = \"20 ms\"\n", "access_rate = \"50 Mbit/s\"\n"] {
        same(&format!(
            "[scenario]\nduration = \"0.3 s\"\n\
             [[link]]\nname = \"link\"\nrate = \"100 Mbit/s\"\ndelay = \"0.2 ms\"\njitter = \"uniform 0.1 ms .. 14 ms\"\n\
             [[flows]]\ncount = 3\npath = [\"link\"]\nreverse_path = [\"link\"]\n{rtt}"
        ));
    }
}

/// Each packet takes six days. The fast path knows when those that wait will leave: after 36 of
/// them that was beyond what a time can hold, and the next left at once.
#[test]
fn queues_of_months() {
    for flows in ["", "access_rate = \"1 bit/s\"\n", "style = \"linux\"\n"] {
        let fast = same(&format!(
            "[scenario]\nduration = \"50000 s\"\nsample = \"500 s\"\n\
             [[link]]\nname = \"link\"\nrate = \"1 bit/s\"\nqueue = {{ capacity = \"unlimited\" }}\n\
             [[flows]]\npath = [\"link\"]\nrtt = \"20 ms\"\npacket_size = \"65535 B\"\nhandshake = false\n{flows}"
        ));
        let ledger = &fast.flows[0].ledger;
        assert!(ledger.sent > 400 && ledger.delivered == 0, "{ledger:?}");
    }
}

/// A sender of style "linux" names its flow anew at each timeout, and what it has sent before keeps
/// the name that it left with, however long it takes to the scheduler's queue.
#[test]
fn packets_on_their_way_at_a_timeout_keep_their_sub_queue() {
    for (duration, rate, scheduler, flows) in [
        (
            "20 s",
            "28.39 kbit/s",
            "fq_codel",
            &["rtt = \"212.9 ms\"\nloss_detection = \"dup-acks\"\n"][..],
        ),
        (
            "33.1 s",
            "828.647 kbit/s",
            "fq_codel",
            &["count = 10\nrtt = \"18.29 ms\"\nrecovery = \"reno\"\n"],
        ),
        (
            "8.85 s",
            "27.1062 Mbit/s",
            "drr",
            &[
                "rtt = \"8.665 ms\"\nrecovery = \"newreno\"\n",
                "rtt = \"20.942 ms\"\nrecovery = \"newreno\"\n",
            ],
        ),
        (
            "100 s",
            "2.93931 kbit/s",
            "fq_codel",
            &["rtt = \"25.5 s\"\ntraffic = { kind = \"packmime\", rate = \"3.9014 /s\" }\n"],
        ),
    ] {
        let mut text = format!(
            "[scenario]\nduration = \"{duration}\"\n\
             [[link]]\nname = \"link\"\nrate = \"{rate}\"\nqueue = {{ scheduler = \"{scheduler}\" }}\n"
        );
        for class in flows {
            text += &format!("[[flows]]\npath = [\"link\"]\nstyle = \"linux\"\n{class}");
        }
        same(&text);
    }
}

/// The copy of a SYN that was sent again comes after data (packets overtake each other), and its
/// answer must not go before the ACK that had been held back until then.
#[test]
fn a_syn_that_arrives_while_an_ack_is_held_back() {
    for seed in 1..=20 {
        same(&format!(
            "[scenario]\nduration = \"30 s\"\nseed = {seed}\n\
             [[link]]\nname = \"link\"\nrate = \"30 kbit/s\"\n\
             jitter = {{ delay = \"exponential 1.94 s\", reorder = true }}\n\
             [[flows]]\npath = [\"link\"]\ncount = 2\nrtt = \"2 s\"\n"
        ));
    }
}

/// A sender stops before its transfer is complete, so that the run is never done: it ends with what
/// happens last, by the clock of whom it happens to.
#[test]
fn a_run_that_is_never_done() {
    for access in ["", "access_rate = \"28.7 Mbit/s\"\n"] {
        for seed in 1..=5 {
            let text = format!(
                "[scenario]\nduration = \"until done\"\nseed = {seed}\n\
                 [[link]]\nname = \"link\"\nrate = \"8.33 Mbit/s\"\nloss = 0.5\nqueue = {{ capacity = \"1 packets\" }}\n\
                 [[flows]]\npath = [\"link\"]\ncount = 3\nrtt = \"8.13 ms\"\nstop = \"50 ms\"\nhandshake = false\n{access}\
                 traffic = {{ kind = \"transfer\", size = \"9 kB\" }}\n"
            );
            let [fast, general] = [false, true].map(|general| {
                let options = Options {
                    general,
                    ..Options::default()
                };
                run(&scenario(&text), &options).expect("the run ends")
            });
            assert_eq!(difference(&fast, &general), None, "{text}");
            assert!(fast.notes.iter().any(|note| note.contains("censored")));
            // samples would be taken for ever, and an AQM's timer comes again
            for text in [
                text.clone(),
                text.replace("queue = { ", "queue = { aqm = \"pie\", "),
            ] {
                for (general, links) in [(false, true), (true, true), (false, false)] {
                    let flows = if links {
                        FlowSelection::All
                    } else {
                        FlowSelection::PerClass(1)
                    };
                    let options = Options {
                        general,
                        traces: TraceSelection {
                            links,
                            flows,
                            ..TraceSelection::default()
                        },
                        ..Options::default()
                    };
                    let error = run(&scenario(&text), &options).expect_err("no end");
                    assert!(error.to_string().contains("has no end"), "{error}: {text}");
                }
            }
        }
    }
}

/// An arrival drops packets of others that wait (the fattest sub-queue gives way): they count when
/// that happens, not when the link sends next. It does so every 120 ms, and runs and windows end
/// between.
#[test]
fn what_an_arrival_drops_counts_at_once() {
    let mut drops = 0;
    for step in 0..12 {
        for queue in [
            "{ scheduler = \"fq_codel\", capacity = \"6 packets\" }",
            "{ scheduler = { kind = \"cake\", memory_limit = \"12 kB\" } }",
        ] {
            let (close, end) = (3.0 + 0.013 * f64::from(step), 5.0 + 0.029 * f64::from(step));
            let outcome = same(&format!(
                "[scenario]\nduration = \"{end} s\"\nmeasure = \"1 s .. {close} s\"\nsample = \"50 ms\"\n\
                 [[link]]\nname = \"link\"\nrate = \"100 kbit/s\"\ndelay = \"400 ms\"\nqueue = {queue}\n\
                 [[flows]]\ncount = 4\npath = [\"link\"]\nrtt = \"uniform 900 ms .. 1 s\"\n\
                 congestion = \"cubic\"\ninitial_window = \"10 packets\"\n"
            ));
            drops += outcome.links[0].drops;
        }
    }
    assert!(drops > 100, "{drops}");
}

/// A class at its ceiling leaves the link idle; a packet of another one that comes while that one's
/// is being sent, which is a quarter of the time, follows at once: it waits for 6 ms at most.
#[test]
fn a_class_joins_while_another_is_sent() {
    let mut longest: f64 = 0.0;
    for rtt in [50, 57, 63, 71] {
        let outcome = same(&format!(
            "[scenario]\nduration = \"20 s\"\n[[link]]\nname = \"link\"\nrate = \"2 Mbit/s\"\ndelay = \"5 ms\"\n\
             queue = {{ scheduler = \"htb\", classes = [ \
             {{ name = \"slow\", rate = \"500 kbit/s\", ceil = \"500 kbit/s\", flows = [\"slow\"] }}, \
             {{ name = \"free\", rate = \"1 Mbit/s\", flows = [\"free\"] }} ] }}\n\
             [[flows]]\nname = \"slow\"\ncount = 2\npath = [\"link\"]\nrtt = \"40 ms\"\ncongestion = \"cubic\"\n\
             [[flows]]\nname = \"free\"\npath = [\"link\"]\nrtt = \"{rtt} ms\"\nmax_window = \"1 packets\"\n"
        ));
        let [slow, free] = &outcome.links[0].classes[..] else {
            panic!("{:?}", outcome.links[0].classes)
        };
        assert!(
            slow.packets > 500 && free.packets > 100,
            "{slow:?} {free:?}"
        );
        longest = longest.max(free.delay_max);
    }
    assert!(longest > 0.0 && longest <= 0.006, "{longest}");
}

/// A class joins and sends shortly before another was to be looked at: when that is shut, too, the
/// link is not to sleep beyond it.
#[test]
fn a_look_that_falls_into_a_transmission() {
    let outcome = same(
        "[scenario]\nduration = \"3 s\"\nseed = 30\n\
         [[link]]\nname = \"link\"\nrate = \"10 Mbit/s\"\ndelay = \"3 ms\"\n\
         queue.scheduler = \"htb\"\nqueue.default = \"x\"\n\
         [[link.queue.classes]]\nname = \"top\"\nrate = \"4 Mbit/s\"\nprio = 1\n\
         [[link.queue.classes.classes]]\nname = \"x\"\nrate = \"1 Mbit/s\"\nprio = 3\ncburst = \"9000 B\"\nflows = [\"f0\"]\n\
         queue = { aqm = \"drop-tail\", capacity = \"4 packets\" }\n\
         [[link.queue.classes.classes]]\nname = \"y\"\nrate = \"1 Mbit/s\"\nceil = \"2 Mbit/s\"\nprio = 3\ncburst = \"1 B\"\nflows = [\"f1\", \"f2\"]\n\
         queue = { aqm = \"drop-tail\", capacity = \"30 packets\" }\n\
         [[flows]]\nname = \"f0\"\npath = [\"link\"]\nrtt = \"uniform 16 ms .. 60 ms\"\necn = true\n\
         [[flows]]\nname = \"f1\"\npath = [\"link\"]\nrtt = \"uniform 16 ms .. 60 ms\"\ncongestion = \"cubic\"\nstart = \"uniform 0 s .. 500 ms\"\n\
         [[flows]]\nname = \"f2\"\ncount = 3\npath = [\"link\"]\nrtt = \"20 ms\"\ncongestion = \"bbr\"\necn = true\nstart = \"uniform 0 s .. 500 ms\"\n",
    );
    assert!(outcome.links[0].packets > 600);
}

/// Bulk data that crosses several links, marked and dropped at each of them, beside flows that cross
/// one, or another first.
#[test]
fn several_links() {
    let link = |name: &str, rate: &str| {
        format!(
            "[[link]]\nname = \"{name}\"\nrate = \"{rate} Mbit/s\"\ndelay = \"2 ms\"\n\
             queue = {{ aqm = \"red\", min_threshold = \"2 packets\", max_threshold = \"9 packets\", ecn = true, \
             weight = 0.2, capacity = \"12 packets\" }}\n"
        )
    };
    let links = [link("a", "4"), link("b", "3"), link("c", "4")].concat();
    let outcome = same(&format!(
        "[scenario]\nduration = \"20 s\"\nmeasure = \"5 s .. 20 s\"\n{links}\
         [[flows]]\ncount = 3\npath = [\"a\", \"b\", \"c\"]\nrtt = \"uniform 20 ms .. 40 ms\"\necn = true\n\
         [[flows]]\ncount = 2\npath = [\"c\", \"a\"]\nrtt = \"30 ms\"\naccess_rate = \"20 Mbit/s\"\n\
         [[flows]]\npath = [\"a\"]\nrtt = \"25 ms\"\necn = true\nhandshake = true\n\
         [[flows]]\npath = [\"b\"]\nrtt = \"25 ms\"\n\
         [[flows]]\npath = [\"c\"]\nrtt = \"25 ms\"\nreverse_path = [\"b\"]\n"
    ));
    for link in &outcome.links {
        let (marks, drops) = (link.marks, link.drops);
        assert!(marks > 20 && drops > 20, "{}: {marks} {drops}", link.name);
    }
    // a packet is marked once, at whichever link
    let marked: u64 = outcome.links.iter().map(|link| link.marks).sum();
    let flows: u64 = outcome.flows.iter().map(|flow| flow.marks).sum();
    assert_eq!(marked, flows);
}
