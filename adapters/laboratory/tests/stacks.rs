//! Every stack carries data over every path, and gives the same bytes twice, on one thread and on
//! two.

use std::thread;

use ackclock_laboratory::{PATHS, SENDERS, run, scenario};

fn digest(path: usize, sender: (&str, &str), seed: u64) -> String {
    let outcome = run(&scenario(path, sender, true, 6), seed).expect("it runs");
    for flow in &outcome.flows {
        assert!(flow.ledger.balances());
        assert!(
            flow.goodput > 1e4,
            "{sender:?} on {}: {}",
            PATHS[path].0,
            flow.goodput
        );
    }
    assert!(outcome.notes.is_empty(), "{:?}", outcome.notes);
    format!(
        "{:?} {:?} {:?}",
        outcome.flows, outcome.links, outcome.traces
    )
}

#[test]
fn the_same_bytes_twice_and_on_two_threads() {
    for sender in SENDERS {
        for path in [0, 4] {
            let first = digest(path, sender, 7);
            let others = thread::scope(|scope| {
                let both = [7, 8].map(|seed| scope.spawn(move || digest(path, sender, seed)));
                both.map(|thread| thread.join().expect("it runs"))
            });
            assert!(first == others[0], "{sender:?} on {}", PATHS[path].0);
            assert!(
                first != others[1],
                "{sender:?} on {}: the seed does nothing",
                PATHS[path].0
            );
        }
    }
}

/// Alone on a path with a buffer of one bandwidth-delay product every sender uses most of it.
#[test]
fn a_path_is_used() {
    for sender in SENDERS {
        let outcome = run(&scenario(0, sender, false, 20), 1).expect("it runs");
        let used = outcome.links[0].utilization;
        assert!(used > 0.75, "{sender:?}: {used}");
    }
}

/// An option that a stack does not know is refused with those that it does.
#[test]
fn unknown_options() {
    for stack in ["quinn", "noq", "smoltcp", "s2n"] {
        let error = run(&scenario(0, (stack, "vegas"), false, 6), 1).expect_err("refused");
        let text = error.to_string();
        assert!(
            text.contains("options are") && text.contains("vegas"),
            "{text}"
        );
    }
}
