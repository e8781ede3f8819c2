//! Random scenarios: whatever is asked, the ledgers balance, limits hold, and the same question has
//! the same answer.

use std::fmt::Write as _;

use crate::common::{difference, scenario};
use ackclock_packet::{FlowSelection, Options, TraceSelection, run};
use ackclock_scenario::Setting;
use proptest::prelude::*;

/// A class of flows, as choices.
#[derive(Clone, Debug)]
struct Class {
    count: u32,
    congestion: &'static str,
    recovery: &'static str,
    traffic: String,
    rtt: u32,
    access: Option<u32>,
    buffer: Option<u32>,
    delayed_ack: bool,
    ecn: &'static str,
    pacing: &'static str,
    hystart: bool,
    search: bool,
    handshake: bool,
    limited_transmit: bool,
    path: u32,
    reverse: bool,
    window: Option<u32>,
    reduction: &'static str,
    detect: bool,
    rack: bool,
}

#[derive(Clone, Debug)]
struct RandomScenario {
    seed: u32,
    links: Vec<(u32, u32, String, String)>,
    classes: Vec<Class>,
    changes: Vec<String>,
}

fn queue() -> impl Strategy<Value = String> {
    prop_oneof![
        (1_u32..60).prop_map(|n| format!("{{ aqm = \"drop-tail\", capacity = \"{n} packets\" }}")),
        (2000_u32..60_000).prop_map(|n| format!("{{ aqm = \"drop-tail\", capacity = \"{n} B\" }}")),
        (3_u32..20, any::<bool>(), any::<bool>()).prop_map(|(n, bytes, ecn)| {
            let mode = if bytes { "bytes" } else { "packets" };
            format!(
                "{{ aqm = \"red\", capacity = \"100 packets\", min_threshold = \"{n} packets\", max_threshold = \"{} packets\", \
                 max_probability = 0.1, weight = 0.02, mode = \"{mode}\", ecn = {ecn} }}",
                3 * n
            )
        }),
        (2_u32..30).prop_map(|n| format!("{{ aqm = \"threshold\", capacity = \"100 packets\", threshold = \"{n} packets\" }}")),
        Just("{ aqm = \"pi\", capacity = \"80 packets\", reference = \"20 packets\" }".to_owned()),
    ]
}

/// A single queue, or several under a scheduler.
fn queues() -> impl Strategy<Value = String> {
    let scheduler = prop::sample::select(vec![
        "\"fq\"",
        "{ kind = \"fq\", buckets = 2 }",
        "{ kind = \"drr\", quantum = \"700 B\" }",
        "{ kind = \"fq_codel\", buckets = 3 }",
        "\"priority\"",
    ]);
    let scheduled = (scheduler, queue()).prop_map(|(scheduler, queue)| {
        queue.replacen('{', &format!("{{ scheduler = {scheduler},"), 1)
    });
    let own = prop::sample::select(vec![
        "{ aqm = \"fq_pie\", capacity = \"30 packets\" }",
        "{ scheduler = { kind = \"sfq\", perturb = \"300 ms\", depth = \"9 packets\", flows = 3, headdrop = true, red = true, min_threshold = \"3 kB\", max_threshold = \"9 kB\", ecn = true }, capacity = \"30 packets\" }",
        "{ scheduler = { kind = \"sfq\", buckets = 2, depth = \"5 packets\" } }",
        "{ scheduler = { kind = \"sfb\", rehash = \"400 ms\", warm_up = \"200 ms\", increment = 0.05, target = \"4 packets\", max = \"9 packets\" } }",
        "{ scheduler = { kind = \"choke\", min_threshold = \"3 packets\", max_threshold = \"12 packets\", weight = 0.1, ecn = true }, capacity = \"20 packets\" }",
        "{ scheduler = { kind = \"sch_fq\", maxrate = \"700 kbit/s\", flow_limit = \"8 packets\" }, capacity = \"40 packets\" }",
        "{ scheduler = { kind = \"sch_fq\", maxrate = \"200 kbit/s\", buckets = \"exact\", ce_threshold = \"5 ms\" } }",
        "{ aqm = \"cake\", capacity = \"40 packets\" }",
        "{ scheduler = { kind = \"cake\", bandwidth = \"900 kbit/s\", ack_filter = \"ack-filter\", memory_limit = \"20 kB\" } }",
        "{ scheduler = { kind = \"cake\", bandwidth = \"2 Mbit/s\", ingress = true, wash = true, isolation = \"dual-srchost\", tins = \"diffserv4\" }, capacity = \"60 packets\" }",
        "{ scheduler = { kind = \"cake\", bandwidth = \"300 kbit/s\", ack_filter = \"ack-filter-aggressive\", link = \"pppoe-llcsnap\", rtt = \"regional\", tins = \"precedence\" } }",
    ])
    .prop_map(str::to_owned);
    prop_oneof![3 => queue(), 2 => scheduled, 1 => own]
}

/// Further parts of a link: mostly none.
fn impairments() -> impl Strategy<Value = String> {
    let some = prop_oneof![
        (1_u32..100).prop_map(|n| format!("loss = {}\n", f64::from(n) / 1000.0)),
        (1_u32..50, 1_u32..500).prop_map(|(p, r)| format!(
            "loss = {{ kind = \"gilbert-elliott\", good_to_bad = {}, bad_to_good = {} }}\n",
            f64::from(p) / 1000.0,
            f64::from(r) / 500.0
        )),
        (1_u32..30, any::<bool>()).prop_map(|(ms, reorder)| format!(
            "jitter = {{ delay = \"exponential {ms} ms\", reorder = {reorder} }}\n"
        )),
        (200_u32..4000, prop::sample::select(vec!["tbf", "htb"])).prop_map(
            |(rate, discipline)| format!(
                "shaper = {{ rate = \"{rate} kbit/s\", discipline = \"{discipline}\" }}\n"
            )
        ),
        (200_u32..4000).prop_map(|rate| format!(
            "policer = {{ rate = \"{rate} kbit/s\", burst = \"20 kB\" }}\n"
        )),
    ];
    let service = (
        prop::sample::select(vec![
            "\"wifi\"",
            "{ kind = \"wifi\", sharing = \"turns\", max_frames = \"4 packets\" }",
            "{ kind = \"lte\", grant_delay = \"10 ms\" }",
            "{ kind = \"5g\", block_error = 0.4 }",
        ]),
        any::<bool>(),
    )
        .prop_map(|(service, stalls)| {
            let stalls = if stalls {
                "stalls = { interval = \"1 s\" }\n"
            } else {
                ""
            };
            format!("service = {service}\n{stalls}")
        });
    prop_oneof![
        3 => Just(String::new()),
        2 => some.clone(),
        1 => (service, some.clone()).prop_map(|(a, b)| if b.starts_with("shaper") { a } else { a + &b }),
        // two of different kinds
        1 => (some.clone(), some).prop_map(|(a, b)| if a[..3] == b[..3] { a } else { a + &b }),
    ]
}

fn traffic() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => Just("bulk".to_owned()).prop_map(|kind| format!("{{ kind = \"{kind}\" }}")),
        2 => (1_u32..200_000).prop_map(|n| format!("{{ kind = \"transfer\", size = \"{n} B\" }}")),
        1 => (50_u32..2000).prop_map(|n| format!("{{ kind = \"app-limited\", rate = \"{n} kbit/s\" }}")),
        1 => (50_u32..2000).prop_map(|n| format!("{{ kind = \"cbr\", rate = \"{n} kbit/s\" }}")),
        1 => (50_u32..2000).prop_map(|n| format!("{{ kind = \"on-off\", rate = \"{n} kbit/s\", on = \"100 ms\", off = \"200 ms\" }}")),
        2 => (500_u32..40_000, 1_u32..400, any::<bool>()).prop_map(|(size, think, persistent)| format!(
            "{{ kind = \"http\", size = \"exponential {size} B\", think = \"{think} ms\", persistent = {persistent} }}"
        )),
        2 => (1_u32..60, prop::sample::select(vec!["4 kB", "exponential 12 kB", "pareto 8 kB, 1.3", "log-normal 9 kB, 20 kB", "web-search"]))
            .prop_map(|(rate, size)| format!("{{ kind = \"poisson-arrivals\", rate = \"{rate} /s\", size = \"{size}\" }}")),
        1 => (1_u32..40, any::<bool>())
            .prop_map(|(rate, delay)| format!("{{ kind = \"packmime\", rate = \"{rate} /s\", server_delay = {delay} }}")),
        1 => (50_u32..2000, any::<bool>())
            .prop_map(|(n, sizes)| format!("{{ kind = \"poisson\", rate = \"{n} kbit/s\", sizes = \"{}\" }}", if sizes { "exponential" } else { "fixed" })),
    ]
}

fn class() -> impl Strategy<Value = Class> {
    (
        (
            1_u32..4,
            prop::sample::select(vec!["reno", "cubic", "compound", "dctcp", "bbr", "bbr3"]),
            prop::sample::select(vec!["sack", "newreno", "reno", "tahoe"]),
        ),
        (
            traffic(),
            10_u32..120,
            prop::option::of(500_u32..20_000),
            prop::option::of(1_u32..30),
        ),
        (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>()),
        (0_u32..3, any::<bool>(), prop::option::of(1_u32..40)),
        (
            prop::sample::select(vec!["at-once", "rate-halving", "prr"]),
            any::<bool>(),
            prop::sample::select(vec!["true", "false", "\"accurate\""]),
            prop::sample::select(vec!["auto", "window"]),
            any::<bool>(),
        ),
    )
        .prop_map(
            |(
                (count, congestion, recovery),
                (traffic, rtt, access, buffer),
                flags,
                (path, reverse, window),
                (reduction, detect, ecn, pacing, rack),
            )| Class {
                // BBR steers the window from selective acknowledgements itself
                recovery: if congestion.starts_with("bbr") {
                    "sack"
                } else {
                    recovery
                },
                reduction: if congestion.starts_with("bbr") {
                    "at-once"
                } else {
                    reduction
                },
                hystart: flags.1 && !congestion.starts_with("bbr"),
                search: !flags.1 && flags.3 && !congestion.starts_with("bbr"),
                count,
                congestion,
                traffic,
                rtt,
                access,
                buffer,
                delayed_ack: flags.0,
                ecn,
                pacing,
                handshake: flags.2,
                limited_transmit: flags.3,
                path,
                reverse,
                window,
                detect,
                rack,
            },
        )
}

fn change() -> impl Strategy<Value = String> {
    prop_oneof![
        (500_u32..2500, 300_u32..9000).prop_map(|(at, rate)| format!(
            "at = \"{at} ms\"\nlink = \"a\"\nrate = \"{rate} kbit/s\""
        )),
        (500_u32..2500, 0_u32..4).prop_map(|(at, delay)| format!(
            "at = \"{at} ms\"\nlink = \"a\"\ndelay = \"{delay} ms\""
        )),
        (500_u32..2500, 20_u32..200)
            .prop_map(|(at, rtt)| format!("at = \"{at} ms\"\nflows = \"c0\"\nrtt = \"{rtt} ms\"")),
        (500_u32..2500, 0_u32..6)
            .prop_map(|(at, count)| format!("at = \"{at} ms\"\nflows = \"c0\"\ncount = {count}")),
    ]
}

fn world() -> impl Strategy<Value = RandomScenario> {
    (
        any::<u32>(),
        prop::collection::vec((300_u32..8000, 0_u32..4, queues(), impairments()), 3),
        prop::collection::vec(class(), 1..4),
        prop::collection::vec(change(), 0..3),
    )
        .prop_map(|(seed, links, classes, changes)| RandomScenario {
            seed,
            links,
            classes,
            changes,
        })
}

impl RandomScenario {
    fn toml(&self) -> String {
        let mut text = format!(
            "[scenario]\nname = \"random\"\nduration = \"3 s\"\nmeasure = \"1 s .. 3 s\"\nseed = {}\nsample = \"50 ms\"\n",
            self.seed
        );
        for (name, (rate, delay, queue, more)) in ["a", "b", "back"].iter().zip(&self.links) {
            writeln!(text, "[[link]]\nname = \"{name}\"\nrate = \"{rate} kbit/s\"\ndelay = \"{delay} ms\"\nqueue = {queue}\n{more}").unwrap();
        }
        for (number, class) in self.classes.iter().enumerate() {
            let tcp = ["bulk", "transfer", "app", "http", "arrivals", "packmime"]
                .iter()
                .any(|kind| class.traffic.contains(kind));
            let path = ["[\"a\"]", "[\"b\"]", "[\"a\", \"b\"]"][class.path as usize];
            writeln!(text, "[[flows]]\nname = \"c{number}\"\ncount = {}\npriority = {}\npath = {path}\nrtt = \"{} ms\"\nstart = \"uniform 0 s .. 1 s\"", class.count, number * 3, class.rtt)
                .unwrap();
            let hosts = [
                "",
                "source = \"lan\"\nsource_hosts = 2\ndscp = \"ef\"",
                "source = \"lan\"\ndestination = \"wan\"\nnat = \"source\"\ndscp = \"cs1\"",
                "tunnel = \"vpn\"\ndscp = \"af41\"",
            ];
            writeln!(text, "{}", hosts[(number + class.count as usize) % 4]).unwrap();
            writeln!(text, "traffic = {}", class.traffic).unwrap();
            if let Some(rate) = class.access {
                writeln!(text, "access_rate = \"{rate} kbit/s\"").unwrap();
                if let Some(buffer) = class.buffer {
                    writeln!(text, "access_buffer = \"{buffer} packets\"").unwrap();
                }
            }
            if tcp {
                writeln!(
                    text,
                    "congestion = \"{}\"\nrecovery = \"{}\"\ndelayed_ack = {}",
                    class.congestion, class.recovery, class.delayed_ack
                )
                .unwrap();
                writeln!(
                    text,
                    "ecn = {}\nhandshake = {}\nlimited_transmit = {}",
                    class.ecn, class.handshake, class.limited_transmit
                )
                .unwrap();
                writeln!(
                    text,
                    "pacing = \"{}\"\nhystart = {}\nsearch = {}",
                    class.pacing, class.hystart, class.search
                )
                .unwrap();
                if class.search && class.delayed_ack {
                    text.push_str("saved_window = \"80 packets\"\nsaved_rtt = \"60 ms\"\n");
                }
                if class.recovery == "sack" {
                    writeln!(
                        text,
                        "reduction = \"{}\"\nloss_detection = \"{}\"\ndetect_lost_retransmissions = {}",
                        class.reduction,
                        if class.rack { "rack" } else { "dup-acks" },
                        class.detect && !class.rack
                    )
                    .unwrap();
                }
                if class.reverse {
                    writeln!(text, "reverse_path = [\"back\"]").unwrap();
                }
                if let Some(window) = class.window {
                    writeln!(text, "max_window = \"{window} packets\"").unwrap();
                }
            }
        }
        for change in &self.changes {
            writeln!(text, "[[change]]\n{change}").unwrap();
        }
        text
    }
}

fn traced() -> Options {
    Options {
        traces: TraceSelection {
            links: true,
            flows: FlowSelection::All,
            ..TraceSelection::default()
        },
        ..Options::default()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Ledgers balance (else the run fails), limits hold, the same seed gives the same bits, and
    /// the general path those of the fast one.
    #[test]
    fn ledgers_balance_and_paths_agree(world in world()) {
        let text = world.toml();
        let scenario = scenario(&text);
        let fast = run(&scenario, &traced()).map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
        let again = run(&scenario, &traced()).unwrap();
        prop_assert_eq!(difference(&fast, &again), None, "same seed, other bits: {}", text);
        let general = run(&scenario, &Options { general: true, ..traced() })
            .map_err(|error| TestCaseError::fail(format!("general: {error}\n{text}")))?;
        prop_assert_eq!(difference(&fast, &general), None, "the paths differ: {}", text);
        for (link, spec) in fast.links.iter().zip(&scenario.links) {
            if let ackclock_scenario::Capacity::Packets(limit) = spec.capacity {
                prop_assert!(link.queue_packets_max <= limit);
            }
            prop_assert!((0.0..=1.0).contains(&link.utilization), "utilisation {}", link.utilization);
            prop_assert_eq!(link.losses > 0 && spec.loss.is_none(), false);
        }
        // over the whole run no link drops more than came, and nobody gets more than the slowest
        // link of its path can carry (in a part of it packets may count that came before)
        let mut whole = scenario.clone();
        whole.measure = None;
        let outcome = run(&whole, &Options::default()).unwrap();
        for link in &outcome.links {
            prop_assert!(link.drops + link.policed <= link.arrivals);
        }
        for flow in &outcome.flows {
            let fastest = |&link: &usize| {
                let changes = whole.changes.iter().filter_map(|change| match change.set {
                    Setting::LinkRate(id, rate) if id == link => Some(rate),
                    _ => None,
                });
                changes.fold(whole.links[link].rate, f64::max)
            };
            let path = &whole.flows[flow.class].path;
            let limit = path.iter().map(fastest).fold(f64::INFINITY, f64::min);
            prop_assert!(flow.goodput <= limit, "goodput {} over {limit}", flow.goodput);
        }
    }

    /// A flow whose first packet would come after the end changes nobody.
    #[test]
    fn an_idle_flow_changes_nobody(world in world()) {
        let text = world.toml();
        let plain = run(&scenario(&text), &Options::default()).unwrap();
        let idle = "[[flows]]\nname = \"idle\"\npath = [\"a\"]\nrtt = \"50 ms\"\nstart = \"2999 ms\"\n";
        let (head, changes) = match text.find("[[change]]") {
            Some(at) => text.split_at(at),
            None => (text.as_str(), ""),
        };
        let mut more = run(&scenario(&format!("{head}{idle}{changes}")), &Options::default()).unwrap();
        more.flows.pop();
        more.classes.pop();
        prop_assert_eq!(difference(&plain, &more), None);
    }
}

/// A run that lasts until all transfers are done ends at the same time on both paths of the engine,
/// with all of them complete.
#[test]
fn until_done() {
    for (access, reverse, buffer) in [
        ("", "", ""),
        (
            "access_rate = \"5 Mbit/s\"\n",
            "",
            "access_buffer = \"20 packets\"\n",
        ),
        (
            "access_rate = \"8 Mbit/s\"\n",
            "reverse_path = [\"back\"]\n",
            "",
        ),
    ] {
        let text = format!(
            "[scenario]\nname = \"transfers\"\nduration = \"until done\"\n\
             [[link]]\nname = \"link\"\nrate = \"10 Mbit/s\"\ndelay = \"5 ms\"\nqueue = {{ capacity = \"30 packets\" }}\n\
             [[link]]\nname = \"back\"\nrate = \"2 Mbit/s\"\ndelay = \"5 ms\"\nqueue = {{ capacity = \"10 packets\" }}\n\
             [[flows]]\ncount = 7\npath = [\"link\"]\nrtt = \"uniform 30 ms .. 60 ms\"\nstart = \"uniform 0 s .. 2 s\"\n\
             traffic = {{ kind = \"transfer\", size = \"900 kB\" }}\n{access}{reverse}{buffer}\
             [[flows]]\npath = [\"link\"]\nrtt = \"50 ms\"\n{reverse}\
             [[flows]]\ncount = 2\npath = [\"link\"]\nrtt = \"25 ms\"\ntraffic = \"http\"\n{access}{reverse}{buffer}\
             [[flows]]\npath = [\"link\"]\nrtt = \"uniform 20 ms .. 200 ms\"\n{access}{reverse}{buffer}\
             traffic = {{ kind = \"poisson-arrivals\", rate = \"20 /s\", size = \"exponential 9 kB\" }}\n\
             [[flows]]\npath = [\"link\"]\nrtt = \"normal 50 ms, 10 ms\"\ntraffic = {{ kind = \"packmime\", rate = \"9 /s\" }}\n"
        );
        let scenario = scenario(&text);
        let fast = run(&scenario, &traced()).unwrap();
        let general = run(
            &scenario,
            &Options {
                general: true,
                ..traced()
            },
        )
        .unwrap();
        assert_eq!(difference(&fast, &general), None, "{text}");
        assert!(
            fast.flows[..7].iter().all(|flow| flow.completion > 0.0),
            "{:?}",
            fast.notes
        );
        let last = fast.flows[..7]
            .iter()
            .map(|flow| flow.start + flow.completion)
            .fold(0.0, f64::max);
        assert!(
            fast.end >= last && fast.end < last + 0.1,
            "ends at {}, last done at {last}",
            fast.end
        );
    }
}

/// A run that is done before its measurement window opens measures nothing, and says so. The window
/// had a length of 2^64 ps less what was missing, with a row for each of its 18 million seconds.
#[test]
fn done_before_the_window_opens() {
    let text = "[scenario]\nduration = \"until done\"\nmeasure = \"600 ms .. 3 s\"\n\
                [[link]]\nname = \"link\"\nrate = \"10 Mbit/s\"\nqueue = { capacity = \"30 packets\" }\n\
                [[flows]]\npath = [\"link\"]\nrtt = \"10 ms\"\ntraffic = { kind = \"transfer\", size = \"3 kB\" }\n\
                [[flows]]\npath = [\"link\"]\nrtt = \"10 ms\"\n";
    let scenario = scenario(text);
    let fast = run(&scenario, &traced()).unwrap();
    let general = Options {
        general: true,
        ..traced()
    };
    let general = run(&scenario, &general).unwrap();
    assert_eq!(difference(&fast, &general), None);
    assert!(fast.end < 0.6 && fast.window == (fast.end, fast.end));
    let link = &fast.links[0];
    assert!(link.utilization.is_nan() && link.queue_packets_mean.is_nan());
    assert_eq!((link.utilization_1s.len(), link.arrivals), (0, 0));
    for flow in &fast.flows {
        assert!(flow.goodput.is_nan() && flow.cwnd_mean.is_nan());
        assert_eq!((flow.sent, flow.timeouts, flow.received), (0, 0, 0));
        assert!(flow.ledger.delivered > 0);
    }
    let note = "before the measurement window opened: nothing was measured";
    assert!(fast.notes.iter().any(|line| line.contains(note)));
}

/// The first packet takes 26 million years where each 30 days carry a millionth of a bit.
#[test]
fn done_never() {
    let text = "[scenario]\nduration = \"until done\"\n\
                [[link]]\nname = \"link\"\n\
                rate = { steps = [[\"0 s\", \"1 bit/s\"], [\"1 us\", \"0 bit/s\"]], repeat = \"2592000 s\" }\n\
                [[flows]]\npath = [\"link\"]\nrtt = \"10 ms\"\ntraffic = { kind = \"transfer\", size = \"3 kB\" }\n";
    let error = run(&scenario(text), &Options::default()).unwrap_err();
    assert!(error.to_string().contains("within 106 days"), "{error}");
    let text = text.replace("until done", "30 s");
    let outcome = run(&scenario(&text), &Options::default()).unwrap();
    assert_eq!(
        (outcome.flows[0].received, outcome.links[0].packets),
        (0, 1)
    );
}

/// A transfer that is stopped halfway beside a flow without end: an error within seconds, not a run
/// of 106 days; one that is complete before its stop ends the run.
#[test]
fn done_never_beside_endless_flows() {
    for (how, handshake) in [("stop = \"2 s\"\n", true), ("", false)] {
        let text = format!(
            "[scenario]\nduration = \"until done\"\n\
             [[link]]\nname = \"link\"\nrate = \"400 kbit/s\"\n\
             [[flows]]\nname = \"bulk\"\npath = [\"link\"]\nrtt = \"10 ms\"\nmax_window = \"1 packets\"\n\
             [[flows]]\nname = \"part\"\npath = [\"link\"]\nrtt = \"10 ms\"\n{how}handshake = {handshake}\n\
             traffic = {{ kind = \"transfer\", size = \"1 MB\" }}\n\
             [[change]]\nat = \"3 s\"\nflows = \"part\"\ncount = {}\n",
            u32::from(handshake)
        );
        for general in [false, true] {
            let options = Options {
                general,
                ..Options::default()
            };
            let error = run(&scenario(&text), &options).unwrap_err();
            assert!(error.to_string().contains("has no end"), "{error}");
            let short = text.replace("1 MB", "3 kB");
            assert!(run(&scenario(&short), &options).is_ok());
        }
    }
}

/// The answer to a SYN arrives shortly before the timer expires: on the fast path its event comes
/// after the timer's, and yet it is in time.
#[test]
fn an_answer_in_time_stops_the_timer() {
    let scenario = scenario(include_str!("late_syn.toml"));
    let fast = run(&scenario, &traced()).unwrap();
    let general = Options {
        general: true,
        ..traced()
    };
    assert_eq!(difference(&fast, &run(&scenario, &general).unwrap()), None);
}

/// ACKs that wait for a busy uplink are taken by whoever looks at the sender before: timers (which
/// the uplink's queue outlasts), samples, changes, the end.
#[test]
fn nobody_sees_that_acks_wait() {
    for (rate, rto, buffer) in [
        ("300 kbit/s", "200 ms", ""),
        ("1 Mbit/s", "10 ms", ""),
        ("2 Mbit/s", "50 ms", "access_buffer = \"9 packets\"\n"),
    ] {
        let text = format!(
            "[scenario]\nname = \"wait\"\nduration = \"20 s\"\n\
             [[link]]\nname = \"link\"\nrate = \"2 Mbit/s\"\ndelay = \"5 ms\"\nqueue = {{ capacity = \"12 packets\" }}\n\
             [[flows]]\nname = \"a\"\ncount = 9\npath = [\"link\"]\nrtt = \"uniform 20 ms .. 60 ms\"\nstart = \"uniform 0 s .. 2 s\"\n\
             access_rate = \"{rate}\"\n{buffer}min_rto = \"{rto}\"\n\
             [[flows]]\ncount = 3\npath = [\"link\"]\nrtt = \"30 ms\"\ndelayed_ack = true\naccess_rate = \"{rate}\"\nmin_rto = \"{rto}\"\n\
             [[change]]\nat = \"5 s\"\nflows = \"a\"\nmax_window = \"30 packets\"\n\
             [[change]]\nat = \"8 s\"\nflows = \"a\"\ncount = 4\n\
             [[change]]\nat = \"11 s\"\nflows = \"a\"\ncount = 9\n"
        );
        let scenario = scenario(&text);
        let fast = run(&scenario, &traced()).unwrap();
        let general = Options {
            general: true,
            ..traced()
        };
        let general = run(&scenario, &general).unwrap();
        assert_eq!(difference(&fast, &general), None, "{text}");
        assert!(fast.flows.iter().any(|flow| flow.timeouts > 0));
    }
}
