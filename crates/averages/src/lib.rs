//! From a scenario to averages: the links and classes of flows as the fluid and the mean-field
//! engine both see them.
//!
//! Neither engine knows single packets. They share what a link and a class are on average, what is
//! left out (with a note) and what is refused (with its reason). Windows and queues are counted in
//! packets of one size, rates in packets/s, times in seconds.

mod flows;
mod jitter;
mod link;

use ackclock_algorithms::meta::Meta;
use ackclock_scenario::Scenario;
use thiserror::Error;

pub use flows::{Access, Flows, Sender, Source, reno_region};
pub use link::{Link, packets};

/// Part of a scenario that has no averages.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{what}: {why}")]
pub struct Refusal {
    /// The part of the scenario.
    pub what: String,
    /// Why.
    pub why: String,
}

/// That an algorithm has no fluid law, and why.
fn no_law(meta: Option<&Meta>) -> String {
    match meta {
        Some(meta) if meta.has_fluid => "it has no fluid law with these parameters".to_owned(),
        Some(Meta {
            approximation: Some(why),
            ..
        }) => format!("it has no fluid law: {why}"),
        _ => "it has no fluid law".to_owned(),
    }
}

fn refuse<T>(what: impl Into<String>, why: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal {
        what: what.into(),
        why: why.into(),
    })
}

/// The size of a packet in all classes of TCP, bytes; that of the first class without TCP.
///
/// # Errors
/// When classes of TCP have packets of different sizes.
pub fn packet_size(scenario: &Scenario) -> Result<u32, Refusal> {
    let mut tcp = scenario.flows.iter().filter(|flows| flows.traffic.is_tcp());
    let Some(first) = tcp.next().or(scenario.flows.first()) else {
        return refuse("a scenario without flows", "nothing in it sends");
    };
    match tcp.find(|other| other.packet_size != first.packet_size) {
        None => Ok(first.packet_size),
        Some(other) => refuse(
            format!(
                "packets of different sizes ({} B of flows `{}`, {} B of flows `{}`)",
                first.packet_size, first.name, other.packet_size, other.name
            ),
            "windows and queues are counted in packets of one size",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scenario(flows: &str) -> Scenario {
        let text = format!(
            r#"
            [scenario]
            duration = "10 s"
            [[link]]
            name = "bottleneck"
            rate = "12 Mbit/s"
            delay = "5 ms"
            queue = {{ aqm = "red", min_threshold = "5 packets", max_threshold = "15 packets", mode = "bytes", mean_packet = "500 B", capacity = "30 kB" }}
            {flows}
            "#
        );
        ackclock_scenario::parse(&text, "test").unwrap_or_else(|errors| panic!("{errors:?}"))
    }

    const TCP: &str = r#"
        [[flows]]
        name = "users"
        count = 3
        path = ["bottleneck"]
        rtt = "20 ms"
        access_rate = "2 Mbit/s"
        "#;

    #[test]
    fn a_link_in_packets() {
        let scenario = scenario(TCP);
        let link = Link::new(&scenario.links[0], 1500, true).unwrap();
        assert_eq!((link.rate, link.limit), (1000.0, 20.0));
        assert_eq!(link.packet_weight, 3.0, "bytes are counted in mean packets");
        assert!(!link.marks);
    }

    /// A data packet is sent at both ends and an ACK at both ends: 2 x 6 ms and 2 x 0.16 ms at 2
    /// Mbit/s.
    #[test]
    fn access_links_delay_and_limit() {
        let scenario = scenario(TCP);
        let Flows::Sender(sender) = Flows::new(&scenario, 0, 1500).unwrap() else {
            panic!("not a sender");
        };
        let access = sender.access.unwrap();
        assert!((access.rate - 2e6 / 12000.0).abs() < 1e-9);
        assert!((access.transmission - 0.01232).abs() < 1e-12, "{access:?}");
        assert_eq!(sender.count, 3.0);
    }

    /// CUBIC as AIMD with the alpha of RFC 9438, section 4.3, 3 (1 - beta) / (1 + beta), for the
    /// decrease that the scenario gives.
    #[test]
    fn the_region_of_reno_growth() {
        let law = |congestion: &str| {
            let text = format!("{TCP}congestion = {congestion}");
            match Flows::new(&scenario(&text), 0, 1500).unwrap() {
                Flows::Sender(sender) => sender.law,
                Flows::Source(_) => panic!("not a sender"),
            }
        };
        for beta in [0.7, 0.5] {
            let cubic = law(&format!("{{ kind = \"cubic\", beta = {beta} }}"));
            let (a, b) = reno_region(&cubic).unwrap();
            assert!((a - 3.0 * (1.0 - beta) / (1.0 + beta)).abs() < 1e-12, "{a}");
            assert!((b - (1.0 - beta)).abs() < 1e-12, "{b}");
            assert!(cubic.at_equilibrium());
        }
        assert_eq!(reno_region(&law("\"compound\"")), Some((1.0, 0.5)));
        assert_eq!(reno_region(&law("\"reno\"")), None);
    }

    /// "As a window with an estimate alpha beside it" stood beside "DCTCP without ECN is Reno".
    #[test]
    fn a_law_of_marks_is_noted_where_there_are_marks() {
        let notes = |ecn: bool| {
            let text = format!("{TCP}congestion = \"dctcp\"\necn = {ecn}\n");
            match Flows::new(&scenario(&text), 0, 1500).unwrap() {
                Flows::Sender(sender) => sender.notes.join("\n"),
                Flows::Source(_) => panic!("not a sender"),
            }
        };
        assert!(notes(true).contains("estimate alpha"));
        assert!(!notes(false).contains("estimate alpha"));
    }

    #[test]
    fn refusals_name_what_and_why() {
        let small = TCP.replace("\"users\"", "\"small\"") + "packet_size = \"500 B\"\n";
        let text = packet_size(&scenario(&format!("{TCP}{small}")))
            .unwrap_err()
            .to_string();
        assert!(
            text.contains("`small`") && text.contains("one size"),
            "{text}"
        );
        let transfer = format!("{TCP}traffic = {{ kind = \"transfer\", size = \"1 MB\" }}");
        let text = Flows::new(&scenario(&transfer), 0, 1500)
            .unwrap_err()
            .to_string();
        assert!(
            text.contains("`users`") && text.contains("finite transfers"),
            "{text}"
        );
        let pert = format!("{TCP}congestion = {{ kind = \"pert\", adaptive = true }}");
        let text = Flows::new(&scenario(&pert), 0, 1500)
            .unwrap_err()
            .to_string();
        assert!(
            text.contains("pert") && text.contains("these parameters"),
            "{text}"
        );
    }

    #[test]
    fn traffic_that_does_not_react_enters_by_its_mean_rate() {
        let text = format!(
            "{TCP}[[flows]]\nname = \"talk\"\ncount = 4\npath = [\"bottleneck\"]\n\
             traffic = {{ kind = \"on-off\", rate = \"120 kbit/s\", on = \"1 s\", off = \"3 s\" }}\n"
        );
        let scenario = scenario(&text);
        let Flows::Source(source) = Flows::new(&scenario, 1, 1500).unwrap() else {
            panic!("not a source");
        };
        assert!((source.rate - 2.5).abs() < 1e-12, "{source:?}");
        assert_eq!((source.count, source.notes.len()), (4.0, 1));
    }
}
