//! Traces taken in pieces while a run goes on.

use crate::common::scenario;
use ackclock_packet::{FlowSelection, Options, Outcome, Simulation, TraceSelection, Traces, run};

/// All samples of one kind, as they stand in the pieces.
fn joined<T: Clone>(pieces: &[Traces], values: impl Fn(&Traces) -> &Vec<T>) -> Vec<T> {
    pieces
        .iter()
        .flat_map(|piece| values(piece).clone())
        .collect()
}

#[test]
fn pieces_are_the_whole() {
    let scenario = scenario(
        "[scenario]\nduration = \"10 s\"\nsample = \"1 ms\"\n[[link]]\nname = \"link\"\nrate = \"10 Mbit/s\"\ndelay = \"5 ms\"\nqueue = { capacity = \"50 packets\" }\n\
         [[flows]]\ncount = 5\npath = [\"link\"]\nrtt = \"uniform 20 ms .. 300 ms\"\nstart = \"uniform 0 s .. 1 s\"\n",
    );
    let options = Options {
        traces: TraceSelection {
            links: true,
            flows: FlowSelection::All,
            streamed: true,
            ..TraceSelection::default()
        },
        ..Options::default()
    };
    let whole: Outcome = run(&scenario, &options).expect("the run succeeds");
    let mut simulation = Simulation::new(&scenario, &options).expect("it can be set up");
    let mut pieces = Vec::new();
    while !simulation.step(1000).expect("it runs").done {
        pieces.extend(simulation.take_traces(50_000));
    }
    assert!(pieces.len() > 10, "{}", pieces.len());
    pieces.push(simulation.finish().expect("the ledgers balance").traces);
    assert_eq!(joined(&pieces, |piece| &piece.time), whole.traces.time);
    assert_eq!(
        joined(&pieces, |piece| &piece.links[0].queue_bytes),
        whole.traces.links[0].queue_bytes
    );
    let bits = |values: &[f64]| {
        values
            .iter()
            .map(|value| value.to_bits())
            .collect::<Vec<_>>()
    };
    for (flow, trace) in whole.traces.flows.iter().enumerate() {
        let cwnd = joined(&pieces, |piece| &piece.flows[flow].cwnd);
        assert_eq!(bits(&cwnd), bits(&trace.cwnd));
        assert_eq!(
            joined(&pieces, |piece| &piece.flows[flow].delivered),
            trace.delivered
        );
    }
}

/// A run until all is done over 389 bit/s with a sample each 62 us filled 24 GB.
#[test]
fn samples_without_an_end_are_refused_where_they_fill_the_memory() {
    let scenario = scenario(
        "[scenario]\nduration = \"until done\"\nsample = \"62 us\"\n[[link]]\nname = \"link\"\nrate = \"389 bit/s\"\n\
         [[flows]]\npath = [\"link\"]\nrtt = \"40 ms\"\ntraffic = { kind = \"transfer\", size = \"15 kB\" }\n",
    );
    let options = Options {
        traces: TraceSelection {
            links: true,
            most_bytes: Some(1_000_000),
            ..TraceSelection::default()
        },
        ..Options::default()
    };
    let refused = |take: usize| {
        let mut simulation = Simulation::new(&scenario, &options).expect("it can be set up");
        loop {
            match simulation.step(1000) {
                Ok(progress) if progress.done => return None,
                Ok(_) => drop(simulation.take_traces(take)),
                Err(error) => return Some(error.to_string()),
            }
        }
    };
    let problem = refused(usize::MAX).expect("it is refused");
    assert!(problem.contains("the samples fill 0.001 GB"), "{problem}");
    assert_eq!(refused(100_000), None, "of what is taken nothing is held");
}

/// A run of 20 s measured from 4 s to another time, or for ten parts; by each path of the engine.
fn mixed(from: f64, to: f64, parts: u32, general: bool) -> Outcome {
    let scenario = scenario(&format!(
        "[scenario]\nduration = \"20 s\"\nmeasure = \"{from} s .. {to} s\"\n\
         [[link]]\nname = \"link\"\nrate = \"20 Mbit/s\"\ndelay = \"5 ms\"\nqueue = {{ capacity = \"80 packets\" }}\n\
         [[flows]]\ncount = 3\npath = [\"link\"]\nrtt = \"30 ms\"\nstart = \"uniform 0 s .. 9 s\"\n\
         [[flows]]\npath = [\"link\"]\nrtt = \"30 ms\"\nstop = \"11.2 s\"\ntraffic = {{ kind = \"cbr\", rate = \"1 Mbit/s\" }}\n\
         [[flows]]\ncount = 9\npath = [\"link\"]\nrtt = \"90 ms\"\nstart = \"uniform 3 s .. 15 s\"\n\
         traffic = {{ kind = \"transfer\", size = \"300 kB\" }}\n\
         [[flows]]\npath = [\"link\"]\nrtt = \"20 ms\"\ntraffic = {{ kind = \"poisson-arrivals\", rate = \"4 /s\", size = \"20 kB\" }}\n\
         [[flows]]\npath = [\"link\"]\nrtt = \"20 ms\"\ntraffic = {{ kind = \"on-off\", rate = \"1 Mbit/s\", on = \"1 s\", off = \"3 s\" }}\n"
    ));
    let traces = TraceSelection {
        parts,
        ..TraceSelection::default()
    };
    let options = Options {
        traces,
        general,
        ..Options::default()
    };
    run(&scenario, &options).expect("the run succeeds")
}

/// A run tells of each tenth of its window the same as runs measured in these tenths.
#[test]
fn parts_of_the_window_are_windows_of_their_own() {
    let whole = mixed(4.0, 19.0, 10, false);
    assert_eq!(whole.parts.len(), 10 * whole.flows.len());
    assert_eq!(mixed(4.0, 19.0, 10, true).parts, whole.parts);
    assert!(mixed(4.0, 19.0, 0, false).parts.is_empty());
    let parts = |flow: usize| &whole.parts[10 * flow..10 * (flow + 1)];
    for (flow, outcome) in whole.flows.iter().enumerate() {
        let payload: u64 = parts(flow).iter().sum();
        assert_eq!(payload as f64 * 8.0 / 15.0, outcome.goodput);
    }
    for part in 0..10 {
        let from = 4.0 + 1.5 * part as f64;
        let own = mixed(from, from + 1.5, 0, false);
        for (flow, outcome) in own.flows.iter().enumerate() {
            assert_eq!(parts(flow)[part] as f64 * 8.0 / 1.5, outcome.goodput);
        }
    }
    let idle = whole
        .flows
        .iter()
        .position(|flow| flow.completion.is_finite());
    assert!(idle.is_some_and(|flow| parts(flow).contains(&0)));
}
