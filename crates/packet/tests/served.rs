//! Links that send in batches: rates, delays and shares against closed forms.

use crate::common::outcome;
use ackclock_packet::Outcome;

/// Floods of 1500 B through links of their own; 30 s, measured from 5 s on.
fn floods(links: &[String], rate: &str) -> Outcome {
    let mut text = "[scenario]\nduration = \"30 s\"\nmeasure = \"5 s .. 30 s\"\n".to_owned();
    for (n, link) in links.iter().enumerate() {
        text += &format!("[[link]]\nname = \"link-{n}\"\n{link}\n");
        text += &format!(
            "[[flows]]\nname = \"flood-{n}\"\npath = [\"link-{n}\"]\nrtt = \"40 ms\"\ntraffic = {{ kind = \"cbr\", rate = \"{rate}\" }}\n"
        );
    }
    let outcome = outcome(&text);
    for link in &outcome.links {
        assert!(link.ledger.balances());
    }
    outcome
}

/// Bits a second that leave the queue of a link.
fn rate(outcome: &Outcome, link: usize) -> f64 {
    8.0 * outcome.links[link].bytes as f64 / 25.0
}

/// 802.11's arithmetic, apart from the program's: an exchange of `frames` packets of 1500 B (1544 B
/// each in the aggregate) with a mean backoff of 7.5 slots.
fn exchange(frames: f64, phy: f64) -> f64 {
    let fixed = 34e-6 + 7.5 * 9e-6 + 32e-6 + 16e-6 + 16e-6;
    fixed + (8.0 * 1544.0 * frames + 8.0 * 58.0) / phy
}

#[test]
fn a_flood_has_the_rate_of_full_aggregates() {
    // frames: 42 of 1544 B are the most below 65,535 B; 46 in 4 ms at 144.4 Mbit/s, too; 2 at 7.2
    for (phy, frames) in [(144.4e6, 42.0), (866.7e6, 42.0), (7.2e6, 2.0)] {
        let link = format!("rate = \"{phy} bit/s\"\nservice = \"wifi\"");
        let run = floods(&[link], "1 Gbit/s");
        let expected = 12_000.0 * frames / exchange(frames, phy);
        // means of some thousand backoffs of standard deviation 4.6 slots
        let error = rate(&run, 0) / expected - 1.0;
        assert!(error.abs() < 2e-3, "{phy}: {error}");
        assert!(run.links[0].utilization > 0.9999);
    }
}

/// The shares of Hoiland-Jorgensen et al. (2017), table 1: two stations at 144.4 Mbit/s and one at
/// 7.2, by turns (each the same number of bytes a turn here) and by airtime.
#[test]
fn stations_share_the_medium_by_turns_or_by_airtime() {
    let phy = [144.4e6, 144.4e6, 7.2e6];
    let station = |sharing: &str, phy: f64| {
        format!(
            "rate = \"{phy} bit/s\"\nmedium = \"air\"\nservice = {{ kind = \"wifi\", sharing = \"{sharing}\", max_frames = \"2 packets\" }}"
        )
    };
    let times = phy.map(|phy| exchange(2.0, phy));
    let round: f64 = times.iter().sum();
    for sharing in ["turns", "airtime"] {
        let run = floods(&phy.map(|phy| station(sharing, phy)), "200 Mbit/s");
        let mut airtime = 0.0;
        for (n, time) in times.iter().enumerate() {
            let share = if sharing == "turns" {
                time / round
            } else {
                1.0 / 3.0
            };
            let expected = share * 24_000.0 / time;
            let error = rate(&run, n) / expected - 1.0;
            assert!(error.abs() < 0.01, "{sharing}, station {n}: {error}");
            airtime += run.links[n].utilization;
        }
        // one at a time, and always one
        assert!((airtime - 1.0).abs() < 1e-3, "{airtime}");
    }
    // the anomaly: by turns a slow station leaves the fast ones its own rate
    let turns = floods(&phy.map(|phy| station("turns", phy)), "200 Mbit/s");
    assert!((rate(&turns, 0) / rate(&turns, 2) - 1.0).abs() < 0.01);
}

/// A lone packet waits for nothing but its exchange: 1500 B at 144.4 Mbit/s, backoffs of 0 to 15 slots.
#[test]
fn a_lone_packet_is_an_exchange_of_its_own() {
    let link = "rate = \"144.4 Mbit/s\"\nservice = \"wifi\"".to_owned();
    let class = &floods(&[link], "1 Mbit/s").classes[0];
    let least = exchange(1.0, 144.4e6) - 7.5 * 9e-6;
    let access = class.delay_min - least; // what else is on the path
    assert!((class.delay_mean - access - exchange(1.0, 144.4e6)).abs() < 2e-6);
    assert!((class.delay_max - access - least - 15.0 * 9e-6).abs() < 1e-9);
}

#[test]
fn failed_blocks_take_their_share_of_a_cell() {
    for (kind, failing) in [("lte", 0.0), ("lte", 0.1), ("lte", 0.3), ("5g", 0.1)] {
        let link = format!(
            "rate = \"30 Mbit/s\"\nservice = {{ kind = \"{kind}\", block_error = {failing} }}"
        );
        let run = floods(&[link], "50 Mbit/s");
        let error = rate(&run, 0) / 30e6 - (1.0 - failing);
        // 25,000 intervals: four standard deviations
        assert!(error.abs() < 0.012, "{kind}, {failing}: {error}");
        // packets always wait: it transmits, or transmits again, all the time
        let used = run.links[0].utilization;
        assert!(used > 0.998, "{kind}, {failing}: {used}");
    }
}

/// Packets of 1500 B at 1.2 Mbit/s, a tenth of the rate: each waits half an interval on average and
/// is sent in one, and blocks before it that are repeated hold it up. With p the probability of a failure,
/// a tenth of the intervals used, and 8 ms a repetition, delays are at least geometric with mean
/// 8 p / (1 - p).
#[test]
fn repetitions_delay_packets_by_whole_rounds() {
    let link = |failing: f64| {
        format!("rate = \"12 Mbit/s\"\nservice = {{ kind = \"lte\", block_error = {failing} }}")
    };
    let sparse = |failing: f64| {
        let text = format!(
            "[scenario]\nduration = \"200 s\"\n[[link]]\nname = \"link\"\n{}\n[[flows]]\npath = [\"link\"]\nrtt = \"40 ms\"\n\
             traffic = {{ kind = \"poisson\", rate = \"0.12 Mbit/s\" }}\n",
            link(failing)
        );
        let run = outcome(&text);
        (run.links[0].utilization, run.classes[0].clone())
    };
    let ((once, clean), (used, failing)) = (sparse(0.0), sparse(0.2));
    // 1 / (1 - p) transmissions a packet; 2000 packets: four standard deviations
    assert!((used / once - 1.25).abs() < 0.05, "{used} {once}");
    // half an interval of waiting, one of sending; one in a hundred meets another
    assert!((clean.delay_mean - clean.delay_min - 0.5e-3).abs() < 0.03e-3);
    let more = failing.delay_mean - clean.delay_mean;
    let alone = 8e-3 * 0.2 / 0.8;
    // ten packets a second: those that come within 8 ms of a block that fails wait for it, too
    assert!((alone - 0.1e-3..alone + 0.35e-3).contains(&more), "{more}");
    assert_eq!(failing.received, clean.received);
}

/// A link that stalls for 0.3 to 2.5 s each 10 s on average sends 10 / 11.4 of the time; the queue
/// holds what comes meanwhile, up to its limit.
#[test]
fn stalls_take_their_share() {
    let text = "[scenario]\nduration = \"2000 s\"\n[[link]]\nname = \"link\"\nrate = \"1 Mbit/s\"\nqueue = { capacity = \"1000 packets\" }\n\
                service = { kind = \"lte\", block_error = 0 }\nstalls = { interval = \"10 s\" }\n\
                [[flows]]\npath = [\"link\"]\nrtt = \"40 ms\"\ntraffic = { kind = \"cbr\", rate = \"2 Mbit/s\" }\n";
    let run = outcome(text);
    let share = run.links[0].utilization;
    // 175 stalls of mean 1.4 s, deviation 0.64 s, in exponential gaps
    assert!((share - 10.0 / 11.4).abs() < 0.03, "{share}");
    // one packet in ten of those that pass without a stall waits as long as the longest of them
    let alone = outcome(&text.replace("2 Mbit/s", "100 kbit/s"));
    assert!((2.3..2.6).contains(&alone.classes[0].delay_max) || alone.classes[0].delay_max > 2.3);
    assert_eq!(alone.links[0].drops, 0);
}

/// TCP fills a cell and a wireless link: what the service leaves is used.
#[test]
fn tcp_uses_what_the_service_leaves() {
    for (service, rate, leaves) in [
        ("\"lte\"", "30 Mbit/s", 27e6),
        ("\"5g\"", "100 Mbit/s", 90e6),
        (
            "\"wifi\"",
            "144.4 Mbit/s",
            12_000.0 * 42.0 / exchange(42.0, 144.4e6),
        ),
    ] {
        for queue in [
            "{ capacity = \"1000 packets\" }",
            "{ scheduler = \"fq_codel\" }",
        ] {
            let text = format!(
                "[scenario]\nduration = \"30 s\"\nmeasure = \"10 s .. 30 s\"\n[[link]]\nname = \"link\"\nrate = \"{rate}\"\nqueue = {queue}\nservice = {service}\n\
                 [[flows]]\ncount = 4\npath = [\"link\"]\nrtt = \"40 ms\"\ncongestion = \"cubic\"\n"
            );
            let run = outcome(&text);
            let goodput: f64 = run.flows.iter().map(|flow| flow.goodput).sum();
            let used = goodput / leaves * 1500.0 / 1460.0;
            assert!((0.9..1.02).contains(&used), "{service}, {queue}: {used}");
            assert!(run.links[0].ledger.balances());
        }
    }
}
