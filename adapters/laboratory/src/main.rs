//! `ackclock-laboratory [SECONDS [SEEDS]]`: every sender over every path, alone and beside CUBIC, as
//! CSV; `ackclock-laboratory windows PATH SEED`: windows over time.

use std::env::args;

use ackclock_laboratory::{PATHS, SENDERS, run, scenario};
use cpu_time::ProcessTime;

fn main() {
    let words: Vec<String> = args().skip(1).collect();
    if words.first().is_some_and(|word| word == "windows") {
        windows(
            words[1].parse().expect("a path"),
            words[2].parse().expect("a seed"),
        );
        return;
    }
    let number = |at: usize, other| {
        words
            .get(at)
            .map_or(other, |word| word.parse().expect("a number"))
    };
    let (seconds, seeds) = (number(0, 60), number(1, 3));
    println!(
        "path,stack,option,beside,seed,goodput_mbps,beside_mbps,utilization,queue_packets,loss,cwnd,losses,timeouts,packets,cpu_s,problem"
    );
    for (path, (name, ..)) in PATHS.iter().enumerate() {
        for sender in SENDERS {
            for beside in [false, true] {
                for seed in 1..=u64::from(seeds) {
                    let begin = ProcessTime::now();
                    let outcome = run(&scenario(path, sender, beside, seconds), seed);
                    let spent = begin.elapsed().as_secs_f64();
                    let (stack, option) = sender;
                    match outcome {
                        Ok(outcome) => {
                            let (link, flow) = (&outcome.links[0], &outcome.flows[0]);
                            let other = outcome.flows.get(1).map_or(0.0, |flow| flow.goodput);
                            println!(
                                "{name},{stack},{option},{},{seed},{:.4},{:.4},{:.4},{:.2},{:.5},{:.2},{},{},{},{spent:.3},{}",
                                u8::from(beside),
                                flow.goodput * 1e-6,
                                other * 1e-6,
                                link.utilization,
                                link.queue_packets_mean,
                                (flow.drops + flow.losses) as f64 / flow.sent.max(1) as f64,
                                flow.cwnd_mean,
                                flow.fast_recoveries,
                                flow.timeouts,
                                outcome.departures,
                                outcome.notes.join("; "),
                            );
                        }
                        Err(error) => println!(
                            "{name},{stack},{option},{},{seed},,,,,,,,,,,{error}",
                            u8::from(beside)
                        ),
                    }
                }
            }
        }
    }
}

fn windows(path: usize, seed: u64) {
    println!("stack,option,time_s,cwnd,queue_packets");
    for sender in SENDERS {
        let outcome = run(&scenario(path, sender, false, 60), seed).expect("it runs");
        let traces = &outcome.traces;
        for (index, time) in traces.time.iter().enumerate() {
            println!(
                "{},{},{time},{},{}",
                sender.0,
                sender.1,
                traces.flows[0].cwnd[index],
                traces.links[0].queue_packets[index]
            );
        }
    }
}
