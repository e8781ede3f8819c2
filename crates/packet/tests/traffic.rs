//! Sessions and connections that come and go, against what queueing theory and arithmetic say of
//! them.

use crate::common::{difference, outcome, scenario};
use ackclock_packet::{
    FlowOutcome, FlowSelection, Options, Outcome, TraceSelection, TransferOutcome, run,
};

const HEAD: &str = "[scenario]\nduration = \"200 s\"\n[[link]]\nname = \"link\"\nrate = \"10 Mbit/s\"\nqueue = { capacity = \"unlimited\" }\n";

/// Transfers of all sizes of the only class that has some.
fn all(outcome: &Outcome) -> &TransferOutcome {
    &outcome.transfers[0]
}

/// Each transfer is sent at once, so that the link is a queue with one server, Poisson arrivals and
/// the transfers' transmission times for service: the Pollaczek-Khinchine formula holds, whatever
/// the order of packets.
#[test]
fn waiting_times_of_an_m_g_1_queue() {
    // one packet is 1.2 ms; the second law is one packet with probability 0.9, else ten
    for (load, size, moments) in [
        (0.6, "\"1460 B\"", [1.0, 1.0]),
        (0.8, "\"1460 B\"", [1.0, 1.0]),
        (
            0.6,
            "[[\"1460 B\", 0.9], [\"14600 B\", 0.9000000001], [\"14600 B\", 1]]",
            [1.9, 10.9],
        ),
    ] {
        let packet = 1.2e-3;
        let rate = load / (moments[0] * packet);
        let run = outcome(&format!(
            "{HEAD}[[flows]]\npath = [\"link\"]\nrtt = \"10 ms\"\nhandshake = false\ninitial_window = \"20 packets\"\ndelayed_ack = false\n\
             congestion = \"reno\"\ntraffic = {{ kind = \"poisson-arrivals\", rate = \"{rate} /s\", size = {size} }}\n"
        ));
        let transfers = all(&run);
        let expected = rate * 200.0;
        assert!(
            (transfers.started as f64 - expected).abs() < 4.0 * expected.sqrt(),
            "{} arrivals, {expected}",
            transfers.started
        );
        assert!(
            (run.links[0].utilization - load).abs() < 0.02,
            "{}",
            run.links[0].utilization
        );
        let service = moments[0] * packet;
        let waiting = rate * moments[1] * packet * packet / (2.0 * (1.0 - load));
        let expected = waiting + service + 0.01;
        let excess = (transfers.fct_mean - 0.01) / (expected - 0.01) - 1.0;
        assert!(
            excess.abs() < 0.06,
            "load {load}, {size}: {} {expected}",
            transfers.fct_mean
        );
    }
}

/// Exponential sizes: every discipline that does not look at sizes has the mean sojourn E[S] / (1 -
/// load), and TCP over a short path, between processor sharing and first come first served, comes
/// near it.
#[test]
fn sojourn_of_a_shared_link() {
    let run = outcome(&format!(
        "{HEAD}[[flows]]\npath = [\"link\"]\nrtt = \"1 ms\"\nhandshake = false\ndelayed_ack = false\ncongestion = \"reno\"\n\
         traffic = {{ kind = \"poisson-arrivals\", load = 0.5, size = \"exponential 100 kB\" }}\n"
    ));
    let transfers = all(&run);
    // headers come on top of the payload, 40 B to 1460 B
    let (service, load) = (
        transfers.size_mean * 8.0 / 1e7 * 1500.0 / 1460.0,
        run.links[0].utilization,
    );
    assert!((load - 0.5 * 1500.0 / 1460.0).abs() < 0.05, "{load}");
    let expected = service / (1.0 - load);
    assert!(
        (transfers.fct_mean / expected - 1.0).abs() < 0.1,
        "{} {expected}",
        transfers.fct_mean
    );
    let goodput: f64 = run.flows.iter().map(|flow| flow.goodput).sum();
    let offered = transfers.started as f64 * transfers.size_mean * 8.0 / 200.0;
    assert!(
        (goodput / offered - 1.0).abs() < 0.01,
        "{goodput} {offered}"
    );
}

/// On an idle path a session's cycle is its think time and its completion time, which is a round
/// trip for the handshake and one for the data; over an open connection the data alone.
#[test]
fn cycles_of_sessions() {
    for (persistent, rounds) in [(false, 2.0), (true, 1.0)] {
        let run = outcome(&format!(
            "[scenario]\nduration = \"400 s\"\n[[link]]\nname = \"link\"\nrate = \"10 Gbit/s\"\n[[flows]]\ncount = 20\npath = [\"link\"]\n\
             rtt = \"50 ms\"\ndelayed_ack = false\nstart = \"uniform 0 s .. 1 s\"\n\
             traffic = {{ kind = \"http\", size = \"10 kB\", think = \"300 ms\", persistent = {persistent} }}\n"
        ));
        let transfers = all(&run);
        // 8 packets at 10 Gbit/s take 8.3 us
        assert!(
            (transfers.fct_percentiles[0] / (rounds * 0.05) - 1.0).abs() < 0.02,
            "{}",
            transfers.fct_percentiles[0]
        );
        let cycles = 20.0 * 400.0 / (0.3 + rounds * 0.05);
        // the deviation of a cycle is that of the think time
        let deviation = cycles.sqrt() * 0.3 / (0.3 + rounds * 0.05);
        assert!(
            (transfers.started as f64 - cycles).abs() < 4.0 * deviation + 20.0,
            "{} {cycles}",
            transfers.started
        );
        assert_eq!(transfers.started, transfers.completed + transfers.censored);
        let goodput: f64 = run.flows.iter().map(|flow| flow.goodput).sum();
        let offered = transfers.started as f64 * 8e4 / 400.0;
        assert!(
            (goodput / offered - 1.0).abs() < 0.002,
            "{goodput} {offered}"
        );
    }
}

/// The losses of the first burst lie before the measurement window. Connections whose handshake the
/// window's opening meets bring none of them along.
#[test]
fn timeouts_before_the_window_are_left_out() {
    for opens in 8..14 {
        let run = outcome(&format!(
            "[scenario]\nduration = \"16 s\"\nmeasure = \"{opens} s .. 16 s\"\n[[link]]\nname = \"link\"\n\
             rate = \"100 Mbit/s\"\nqueue = {{ capacity = \"500 packets\" }}\n\
             [[flows]]\npath = [\"link\"]\ncount = 100\ncongestion = \"reno\"\nrtt = \"200 ms\"\n\
             traffic = {{ kind = \"http\", size = \"14.6 kB\", think = \"1 s\" }}\n"
        ));
        let sum = |of: fn(&FlowOutcome) -> u64| run.flows.iter().map(of).sum::<u64>();
        assert!(sum(|flow| flow.ledger.dropped) > 100);
        assert_eq!(sum(|flow| flow.drops), 0);
        assert_eq!(sum(|flow| flow.timeouts), 0, "opens at {opens} s");
    }
}

/// Every transfer of a session starts slowly; over one connection only the first does.
#[test]
fn a_new_connection_starts_slowly() {
    let fct = |persistent: bool| {
        let run = outcome(&format!(
            "[scenario]\nduration = \"100 s\"\n[[link]]\nname = \"link\"\nrate = \"1 Gbit/s\"\n[[flows]]\npath = [\"link\"]\nrtt = \"100 ms\"\n\
             handshake = false\ndelayed_ack = false\ncongestion = \"reno\"\n\
             traffic = {{ kind = \"http\", size = \"100 kB\", think = \"10 ms\", persistent = {persistent} }}\n"
        ));
        all(&run).fct_percentiles[0]
    };
    // 69 segments from a window of 10: 10, 20, and 39 of 40 take three round trips; a window of 79
    // and more takes one
    assert!((fct(false) / 0.3 - 1.0).abs() < 0.03, "{}", fct(false));
    assert!((fct(true) / 0.1 - 1.0).abs() < 0.03, "{}", fct(true));
}

/// Counts in windows of one second are Poisson: their variance over seeds is their mean.
#[test]
fn arrivals_are_poisson() {
    let scenario = scenario(
        "[scenario]\nduration = \"2 s\"\nmeasure = \"1 s .. 2 s\"\n[[link]]\nname = \"link\"\nrate = \"1 Gbit/s\"\n[[flows]]\ncount = 2\n\
         path = [\"link\"]\nrtt = \"10 ms\"\ntraffic = { kind = \"poisson-arrivals\", rate = \"20 /s\", size = \"1 kB\" }\n",
    );
    let count = |seed| {
        let options = Options {
            seed: Some(seed),
            ..Options::default()
        };
        all(&run(&scenario, &options).unwrap()).started as f64
    };
    let counts: Vec<f64> = (0..400).map(count).collect();
    let mean = counts.iter().sum::<f64>() / 400.0;
    let variance = counts
        .iter()
        .map(|count| (count - mean).powi(2))
        .sum::<f64>()
        / 399.0;
    // two sources of 20 /s; four standard errors
    assert!(
        (mean - 40.0).abs() < 4.0 * (40.0_f64 / 400.0).sqrt(),
        "{mean}"
    );
    assert!(
        (variance / 40.0 - 1.0).abs() < 4.0 * (2.0_f64 / 400.0).sqrt(),
        "{variance}"
    );
}

/// A server that thinks delays each response by as much, and changes nothing else.
#[test]
fn servers_take_their_time() {
    let with = |delay: bool| {
        outcome(&format!(
            "[scenario]\nduration = \"100 s\"\n[[link]]\nname = \"link\"\nrate = \"10 Gbit/s\"\n[[flows]]\npath = [\"link\"]\nrtt = \"20 ms\"\n\
             traffic = {{ kind = \"packmime\", rate = \"50 /s\", server_delay = {delay} }}\n"
        ))
    };
    let (without, with) = (with(false), with(true));
    assert_eq!(all(&without).started, all(&with).started);
    assert_eq!(all(&without).size_mean, all(&with).size_mean);
    // the mean of 1 / max(W, 10 /s) s for W Weibull of shape 0.63 and scale 305 /s is 21.95 ms
    // (quadrature); four standard errors
    let more = all(&with).fct_mean - all(&without).fct_mean;
    assert!((more - 0.02195).abs() < 0.0016, "{more}");
    let rate = all(&with).started as f64 / 100.0;
    assert!((rate - 50.0).abs() < 4.0, "{rate}");
}

/// Another class does not change when connections arrive, nor how large they are.
#[test]
fn streams_belong_to_their_sources() {
    let web = "[[flows]]\nname = \"web\"\npath = [\"link\"]\nrtt = \"uniform 10 ms .. 90 ms\"\n\
               traffic = { kind = \"packmime\", rate = \"30 /s\" }\n";
    let bulk = "[[flows]]\nname = \"bulk\"\ncount = 3\npath = [\"link\"]\nrtt = \"30 ms\"\n";
    let alone = outcome(&format!("{HEAD}{web}"));
    let crowded = outcome(&format!("{HEAD}{bulk}{web}"));
    let (a, b) = (all(&alone), all(&crowded));
    assert_eq!((a.started, a.size_mean), (b.started, b.size_mean));
    assert_eq!(alone.flows[0].rtt, crowded.flows[3].rtt);
    assert!(b.fct_mean > a.fct_mean);
}

/// Fast and general path agree to the bit, with losses, a shared way back and connections that
/// reuse flows; and the ledgers balance.
#[test]
fn many_connections_over_a_bad_link() {
    let text = "[scenario]\nduration = \"20 s\"\nmeasure = \"5 s .. 20 s\"\n\
        [[link]]\nname = \"link\"\nrate = \"20 Mbit/s\"\ndelay = \"5 ms\"\nqueue = { capacity = \"8 packets\" }\n\
        [[link]]\nname = \"back\"\nrate = \"700 kbit/s\"\ndelay = \"5 ms\"\nqueue = { capacity = \"10 packets\" }\n\
        [[flows]]\nname = \"a\"\ncount = 2\npath = [\"link\"]\nreverse_path = [\"back\"]\nrtt = \"uniform 20 ms .. 80 ms\"\naccess_rate = \"5 Mbit/s\"\n\
        access_buffer = \"5 packets\"\ntraffic = { kind = \"poisson-arrivals\", rate = \"80 /s\", size = \"log-normal 9 kB, 20 kB\" }\n\
        [[flows]]\nname = \"h\"\ncount = 9\npath = [\"link\"]\nrtt = \"30 ms\"\naccess_rate = \"3 Mbit/s\"\n\
        traffic = { kind = \"http\", think = \"20 ms\" }\n";
    let scenario = scenario(text);
    let options = |general| Options {
        general,
        traces: TraceSelection {
            links: true,
            flows: FlowSelection::All,
            ..TraceSelection::default()
        },
        ..Options::default()
    };
    let fast = run(&scenario, &options(false)).unwrap();
    assert_eq!(
        difference(&fast, &run(&scenario, &options(true)).unwrap()),
        None
    );
    assert_eq!(fast.flows.len(), 11);
    assert_eq!(
        fast.traces.flows.len(),
        9,
        "sources have no window to trace"
    );
    for flow in &fast.flows {
        assert!(
            flow.ledger.balances() && flow.ledger.sent > 500,
            "{:?}",
            flow.ledger
        );
        assert!(flow.ledger.dropped > 0 && flow.goodput > 0.0);
    }
    for row in &fast.transfers {
        assert_eq!(row.started, row.completed + row.censored);
    }
    assert!(
        fast.notes
            .iter()
            .any(|note| note.contains("\"a\"") && note.contains("censored")),
        "{:?}",
        fast.notes
    );
}

/// The number of sessions and the rate of arrivals change during the run.
#[test]
fn populations_change() {
    let run = outcome(
        "[scenario]\nduration = \"90 s\"\nmeasure = \"60 s .. 90 s\"\n[[link]]\nname = \"link\"\nrate = \"1 Gbit/s\"\n\
         [[flows]]\nname = \"h\"\ncount = 5\npath = [\"link\"]\nrtt = \"20 ms\"\ndelayed_ack = false\n\
         traffic = { kind = \"http\", size = \"1 kB\", think = \"160 ms\" }\n\
         [[flows]]\nname = \"p\"\ncount = 2\npath = [\"link\"]\nrtt = \"20 ms\"\ntraffic = { kind = \"poisson-arrivals\", rate = \"5 /s\", size = \"1 kB\" }\n\
         [[change]]\nat = \"10 s\"\nflows = \"h\"\ncount = 0\nover = \"5 s\"\n\
         [[change]]\nat = \"20 s\"\nflows = \"h\"\ncount = 40\nover = \"20 s\"\n\
         [[change]]\nat = \"10 s\"\nflows = \"p\"\ncount = 0\n\
         [[change]]\nat = \"50 s\"\nflows = \"p\"\ncount = 1\n\
         [[change]]\nat = \"55 s\"\nflows = \"p\"\nrate = \"100 /s\"\n",
    );
    let rate = |class: usize| {
        let row = run.transfers.iter().find(|row| row.class == class).unwrap();
        row.started as f64 / 30.0
    };
    // forty cycles of 160 ms and two round trips
    assert!((rate(0) - 200.0).abs() < 10.0, "{}", rate(0));
    assert!((rate(1) - 100.0).abs() < 8.0, "{}", rate(1));
    assert_eq!(run.flows[6 + 35 - 1].class, 1);
}

/// An application that writes more slowly from now on has written what it has: nothing is taken
/// back, and it does not fall silent until the slower rate has caught up. One that writes faster
/// does so at once.
#[test]
fn the_rate_of_an_application_changes() {
    let run = |seconds: u32, changes: &str| {
        let run = outcome(&format!(
            "[scenario]\nduration = \"{seconds} s\"\n[[link]]\nname = \"link\"\nrate = \"100 Mbit/s\"\n\
             [[flows]]\nname = \"flow\"\npath = [\"link\"]\nrtt = \"20 ms\"\npacket_size = \"1500 B\"\nheader_size = \"40 B\"\n\
             traffic = {{ kind = \"app-limited\", rate = \"10 Mbit/s\" }}\n{changes}"
        ));
        run.flows[0].goodput * f64::from(seconds)
    };
    let change = |at: u32, rate: &str| {
        format!("[[change]]\nat = \"{at} s\"\nflows = \"flow\"\nrate = \"{rate}\"\n")
    };
    // bits: 2 s at 10 Mbit/s, 2 s at 1 Mbit/s
    let slower = run(4, &change(2, "1 Mbit/s"));
    assert!((slower / 22e6 - 1.0).abs() < 0.01, "{slower}");
    // 2 s at 10 Mbit/s, 4 s of silence (the next segment would be written after 117 s), 2 s at 20
    // Mbit/s
    let pause = run(8, &(change(2, "100 bit/s") + &change(6, "20 Mbit/s")));
    assert!((pause / 60e6 - 1.0).abs() < 0.01, "{pause}");
}
