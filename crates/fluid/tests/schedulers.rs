//! Equations under schedulers: flows that are alike.

use ackclock_fluid::{Choices, Model, Rtt};

fn model(
    scheduler: &str,
    rate: f64,
    count: u32,
    capacity: u32,
    more: &str,
) -> Result<Model, String> {
    let text = format!(
        "[scenario]\nduration = \"10 s\"\n[[link]]\nname = \"link\"\nrate = \"{rate} Mbit/s\"\ndelay = \"5 ms\"\n\
         queue = {{ {scheduler}aqm = \"red\", min_threshold = \"5 packets\", max_threshold = \"50 packets\", capacity = \"{capacity} packets\" }}\n\
         [[flows]]\nname = \"a\"\ncount = {count}\npath = [\"link\"]\ncongestion = \"reno\"\nrtt = \"50 ms\"\n{more}"
    );
    let scenario = ackclock_scenario::parse(&text, "test").unwrap_or_else(|e| panic!("{e:?}"));
    let choices = Choices {
        rtt: Rtt::Queueing,
        ..Choices::default()
    };
    Model::from_scenario(&scenario, choices).map_err(|e| e.to_string())
}

/// Ten flows with a queue each rest where one flow does with a tenth of the link and its capacity.
#[test]
fn a_flow_with_a_queue_has_its_share() {
    let share = model("", 10.0, 1, 100, "").unwrap();
    for kind in ["fq", "drr", "fq_codel"] {
        let scheduler = format!("scheduler = \"{kind}\", ");
        let mut each = model(&scheduler, 100.0, 10, 1000, "").unwrap();
        assert_eq!(
            each.equilibrium().unwrap().x,
            share.equilibrium().unwrap().x,
            "{kind}"
        );
        assert!(each.notes().iter().any(|note| note.contains("equal share")));
        let error = each.parameter("a.count").unwrap_err().to_string();
        assert!(error.contains("share"), "{error}");
        assert!(each.parameter("a.rtt").is_ok());
    }
}

#[test]
fn one_priority_is_one_queue() {
    let plain = model("", 100.0, 10, 1000, "").unwrap();
    let scheduler = "scheduler = \"priority\", ";
    let same = model(scheduler, 100.0, 10, 1000, "").unwrap();
    assert_eq!(
        same.equilibrium().unwrap().x,
        plain.equilibrium().unwrap().x
    );
    let high = "[[flows]]\nname = \"b\"\npath = [\"link\"]\nrtt = \"50 ms\"\npriority = 3\n";
    let error = model(scheduler, 100.0, 10, 1000, high).unwrap_err();
    assert!(error.contains("priorities"), "{error}");
}

#[test]
fn what_is_not_alike_is_refused_by_name() {
    let other = "[[flows]]\nname = \"b\"\npath = [\"link\"]\nrtt = \"90 ms\"\n";
    let error = model("scheduler = \"fq\", ", 100.0, 10, 1000, other).unwrap_err();
    assert!(
        error.contains("scheduler fq") && error.contains("one class"),
        "{error}"
    );
}

/// RED's automatic thresholds are those of the whole link (20.8 packets at 100 Mbit/s), as in the
/// packet engine; those of a tenth of it would be 5 packets.
#[test]
fn automatic_parameters_are_those_of_the_whole_link() {
    let text = "[scenario]\nduration = \"10 s\"\n[[link]]\nname = \"link\"\nrate = \"100 Mbit/s\"\ndelay = \"5 ms\"\n\
                queue = { aqm = \"red\", scheduler = \"fq\", capacity = \"1000 packets\" }\n\
                [[flows]]\nname = \"a\"\ncount = 10\npath = [\"link\"]\nrtt = \"50 ms\"\ncongestion = \"reno\"\n";
    let scenario = ackclock_scenario::parse(text, "test").unwrap_or_else(|e| panic!("{e:?}"));
    let model = Model::from_scenario(&scenario, Choices::default()).unwrap();
    let at = model.equilibrium().unwrap();
    let names = model.state_names();
    let queue = names
        .iter()
        .position(|name| name.contains("queue (packets)"));
    assert!((20.8..62.5).contains(&at.x[queue.unwrap()]), "{:?}", at.x);
}

/// DualPI2 on a link of 400 Mbit/s, with so many Reno and Prague flows at 40 ms.
fn dualpi2(classic: u32, scalable: u32) -> Result<Model, String> {
    let class = |name: &str, count: u32, ecn: bool| {
        if count == 0 {
            return String::new();
        }
        format!(
            "[[flows]]\nname = \"{name}\"\ncount = {count}\npath = [\"link\"]\ncongestion = \"{name}\"\n\
             ecn = {ecn}\nrtt = \"40 ms\"\n"
        )
    };
    let text = format!(
        "[scenario]\nduration = \"10 s\"\n[[link]]\nname = \"link\"\nrate = \"400 Mbit/s\"\ndelay = \"5 ms\"\n\
         queue = {{ scheduler = \"dualpi2\" }}\n{}{}",
        class("reno", classic, false),
        class("prague", scalable, true),
    );
    let scenario = ackclock_scenario::parse(&text, "test").unwrap_or_else(|e| panic!("{e:?}"));
    let choices = Choices {
        rtt: Rtt::Queueing,
        ..Choices::default()
    };
    Model::from_scenario(&scenario, choices).map_err(|e| e.to_string())
}

/// The classic queue waits the target on what scalable flows leave of the link, these meet twice the
/// root of its probability, and the link is full.
#[test]
fn coupled_queues_rest_at_the_target_with_coupled_marks() {
    let mut model = dualpi2(30, 30).unwrap();
    let at = model.equilibrium().unwrap();
    let names = model.state_names();
    let state = |name: &str| at.x[names.iter().position(|n| n.starts_with(name)).unwrap()];
    let (_, of_class) = model.probabilities(&at.x, &at.p);
    assert!((of_class[1] - 2.0 * of_class[0].sqrt()).abs() < 1e-12);
    let rate = 400e6 / 12_000.0;
    let scalable = 30.0 * state("prague.window") / 0.040;
    let classic = 30.0 * state("reno.window") / 0.055;
    let delay = state("link.queue") / (rate - scalable);
    assert!((delay - 0.015).abs() < 1e-9, "{delay}");
    let served = classic * (1.0 - of_class[0]) + scalable;
    assert!((served / rate - 1.0).abs() < 1e-9, "{served}");
    assert!(model.parameter("reno.count").is_ok());
}

/// Without scalable flows the classic queue is one under PI2; without classic ones, or with so few
/// that the scheduler has to keep their share, the laws have nothing to say.
#[test]
fn coupled_queues_need_classic_flows() {
    let alone = dualpi2(30, 0).unwrap().equilibrium().unwrap();
    let pi2 = "[scenario]\nduration = \"10 s\"\n[[link]]\nname = \"link\"\nrate = \"400 Mbit/s\"\ndelay = \"5 ms\"\n\
               queue = { aqm = \"pi2\", highest = 1.0 }\n[[flows]]\nname = \"reno\"\ncount = 30\npath = [\"link\"]\n\
               congestion = \"reno\"\nrtt = \"40 ms\"\n";
    let scenario = ackclock_scenario::parse(pi2, "test").unwrap_or_else(|e| panic!("{e:?}"));
    let choices = Choices {
        rtt: Rtt::Queueing,
        ..Choices::default()
    };
    let same = Model::from_scenario(&scenario, choices).unwrap();
    for (own, other) in alone.x.iter().zip(same.equilibrium().unwrap().x) {
        assert!((own / other - 1.0).abs() < 1e-9, "{own} {other}");
    }
    let error = dualpi2(0, 30).unwrap_err();
    assert!(error.contains("without classic flows"), "{error}");
    let error = dualpi2(1, 60).unwrap().equilibrium().unwrap_err();
    assert!(error.to_string().contains("classic share"), "{error}");
}
