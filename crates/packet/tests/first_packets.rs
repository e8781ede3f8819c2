//! The first packets of two flows on the fast path, the only one with `unsafe`: short enough for
//! Miri (`cargo +nightly miri test -p ackclock-packet --test packet first_packets::`).

#[test]
fn two_flows_begin() {
    let outcome = crate::common::outcome(
        "[scenario]\nduration = \"40 ms\"\n\
         [[link]]\nname = \"link\"\nrate = \"10 Mbit/s\"\nqueue = { capacity = \"10 packets\" }\n\
         [[flows]]\ncount = 2\npath = [\"link\"]\ncongestion = \"reno\"\nrtt = \"10 ms\"\nhandshake = false\n",
    );
    // slow start fills the link from the second round trip on: 40 ms are 33 packets
    assert!(
        (20..=33).contains(&outcome.departures),
        "{}",
        outcome.departures
    );
}
