//! Memory that flows cost, counted by an allocator: the same on every machine.
#![allow(unsafe_code, reason = "an allocator can be written in no other way")]

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use ackclock_algorithms::Time;
use ackclock_packet::{Options, Simulation};
use ackclock_scenario::End;
use common::scenario;

/// The system's allocator; it counts the bytes of each thread.
struct Counting;

thread_local! {
    static HELD: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

fn count(bytes: isize) {
    let held = HELD.get() + bytes;
    HELD.set(held);
    PEAK.set(PEAK.get().max(held));
}

// SAFETY: all is left to the system's allocator; counting allocates nothing, since the counters are
// constants without destructors.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Bytes that a run of `seconds` needs at most, and those that it holds before its results are
/// taken.
fn bytes(flows: &str, count: u32, seconds: f64) -> (isize, isize) {
    let text = format!(
        "[scenario]\nduration = \"100 s\"\n[[link]]\nname = \"link\"\nrate = \"1 Gbit/s\"\n\
         [[flows]]\npath = [\"link\"]\nrtt = \"uniform 38 ms .. 42 ms\"\ncount = {count}\n{flows}"
    );
    let mut scenario = scenario(&text);
    scenario.duration = End::At(Time::from_seconds(seconds));
    let before = HELD.get();
    PEAK.set(before);
    let mut simulation = Simulation::new(&scenario, &Options::default()).expect("it can be built");
    while !simulation.step(1 << 20).expect("it runs").done {}
    let held = HELD.get() - before;
    let outcome = simulation.finish().expect("the ledgers balance");
    assert_eq!(outcome.flows.len(), count as usize);
    (PEAK.get() - before, held)
}

/// The same for each flow, from 100 and 10,100 of them.
fn bytes_a_flow(flows: &str, seconds: f64) -> (isize, isize) {
    let few = bytes(flows, 100, seconds);
    let many = bytes(flows, 10_100, seconds);
    ((many.0 - few.0) / 10_000, (many.1 - few.1) / 10_000)
}

/// A flow that has not started has a row and an entry in the list of starts, whatever it will do;
/// at the end its results come on top.
#[test]
fn a_flow_that_has_not_started_takes_less_than_300_bytes() {
    for flows in [
        "start = \"uniform 5 s .. 9 s\"\n",
        "start = \"5 s\"\naccess_rate = \"2 Mbit/s\"\ncongestion = \"cubic\"\nstyle = \"linux\"\n",
        "start = \"5 s\"\ntraffic = { kind = \"transfer\", size = \"20 kB\" }\n",
        "start = \"5 s\"\ntraffic = { kind = \"http\", size = \"20 kB\", think = \"1 s\" }\n",
        "start = \"5 s\"\ntraffic = { kind = \"on-off\", rate = \"1 Mbit/s\", on = \"1 s\", off = \"1 s\" }\n",
    ] {
        let (peak, held) = bytes_a_flow(flows, 4.0);
        assert!(peak < 300, "{peak} B a flow:\n{flows}");
        assert!((1..=64).contains(&held), "{held} B a flow:\n{flows}");
    }
}

/// A transfer that is over gives its state to another: what remains are its counters, and then its
/// results.
#[test]
fn a_transfer_that_is_over_takes_less_than_500_bytes() {
    let flows =
        "start = \"uniform 0 s .. 80 s\"\ntraffic = { kind = \"transfer\", size = \"3 kB\" }\n";
    let (peak, held) = bytes_a_flow(flows, 90.0);
    assert!(peak < 500, "{peak} B a flow");
    assert!(held < 340, "{held} B a flow");
}

#[test]
fn a_need_beyond_all_numbers_is_not_a_small_one() {
    let scenario = scenario(
        "[scenario]\nduration = \"1 s\"\n[[link]]\nname = \"link\"\nrate = \"1 Gbit/s\"\n\
         [[flows]]\npath = [\"link\"]\nrtt = \"40 ms\"\ncount = 4000000000\n\
         traffic = { kind = \"poisson-arrivals\", rate = \"1e9/s\", size = \"1 kB\" }\n",
    );
    assert_eq!(
        Simulation::memory_estimate(&scenario, &Options::default()),
        u64::MAX
    );
}

/// The most bytes that a run holds, and their estimate.
fn need(text: &str) -> (u64, u64) {
    let scenario = scenario(text);
    let before = HELD.get();
    PEAK.set(before);
    ackclock_packet::run(&scenario, &Options::default()).expect("it runs");
    let peak = (PEAK.get() - before) as u64;
    (
        peak,
        Simulation::memory_estimate(&scenario, &Options::default()),
    )
}

/// Sub-queues were left out: a parking lot of 1000 hops of 65,536 each would have been begun. Now
/// they take memory when they are first used.
#[test]
fn sub_queues_are_part_of_the_need() {
    let of = |buckets: u32, flows: u32| {
        need(&format!(
            "[scenario]\nduration = \"1 s\"\n[parking_lot]\nrate = \"1 Mbit/s\"\nhops = 2\n\
             queue = {{ aqm = \"pi2\", scheduler = {{ kind = \"fq\", buckets = {buckets} }}, capacity = \"10 packets\" }}\n\
             [[flows]]\nrtt = \"40 ms\"\ncount = {flows}\n"
        ))
    };
    for (buckets, flows) in [(65536, 3), (65536, 100), (8, 100)] {
        let (peak, estimate) = of(buckets, flows);
        assert!(
            estimate > peak / 2 && estimate < 2 * peak,
            "{estimate} B where {peak} B are held: {flows} flows in {buckets} buckets"
        );
    }
}

/// 10,000 leaves of CAKE took 23.6 GB, as all of their 3072 sub-queues were there from the start.
#[test]
fn sub_queues_that_no_packet_comes_to_take_no_memory() {
    for (scheduler, most) in [
        ("cake", 30_000),
        ("fq_codel", 15_000),
        ("fq_pie", 20_000),
        ("sfq", 15_000),
        ("sch_fq", 15_000),
    ] {
        let of = |scheduler: &str| {
            need(&format!(
                "[scenario]\nduration = \"1 s\"\n[[link]]\nname = \"link\"\nrate = \"10 Mbit/s\"\n\
                 queue = {scheduler}\n[[flows]]\npath = [\"link\"]\nrtt = \"40 ms\"\ncount = 3\n"
            ))
            .0
        };
        let plain = of("{ aqm = \"drop-tail\", capacity = \"100 packets\" }");
        let more = of(&format!(
            "{{ scheduler = \"{scheduler}\", capacity = \"100 packets\" }}"
        ))
        .saturating_sub(plain);
        assert!(more < most, "{scheduler}: {more} B");
    }
}

/// They were left out: thousands of flows with windows of 95,400 packets would have been begun.
#[test]
fn initial_windows_are_part_of_the_need() {
    let unlimited = "queue = { aqm = \"drop-tail\", capacity = \"unlimited\" }\n";
    let codel = "queue = { aqm = \"codel\", capacity = \"unlimited\" }\n";
    let fair = "queue = { aqm = \"codel\", capacity = \"unlimited\", scheduler = \"fq\" }\n";
    let linux = "style = \"linux\"\ncongestion = \"cubic\"\n";
    let access = "access_rate = \"10 Mbit/s\"\n";
    let both = "access_rate = \"10 Mbit/s\"\ncongestion = \"bbr3\"\n";
    let short_queue =
        "access_rate = \"10 Mbit/s\"\naccess_buffer = \"100 packets\"\ncongestion = \"bbr\"\n";
    for (link, flows) in [
        ("", linux),
        ("", access),
        ("", both),
        ("", short_queue),
        (unlimited, ""),
        (unlimited, linux),
        (codel, ""),
        (fair, ""),
    ] {
        let text = format!(
            "[scenario]\nduration = \"0.1 s\"\n[[link]]\nname = \"link\"\nrate = \"10 Mbit/s\"\n{link}\
             [[flows]]\npath = [\"link\"]\nrtt = \"40 ms\"\ncount = 5\ninitial_window = \"20000 packets\"\n{flows}"
        );
        let scenario = scenario(&text);
        let before = HELD.get();
        PEAK.set(before);
        ackclock_packet::run(&scenario, &Options::default()).expect("it runs");
        let peak = (PEAK.get() - before) as u64;
        let estimate = Simulation::memory_estimate(&scenario, &Options::default());
        assert!(
            estimate > peak / 2 && estimate < 2 * peak,
            "{estimate} B where {peak} B are needed:\n{text}"
        );
    }
}

/// The room of a queue with classes was taken to be the link's; of its leaves nothing was known.
#[test]
fn leaves_are_part_of_the_need() {
    let leaves = |count: usize, queue: &str| {
        let leaf = |at| {
            format!(
                "{{ name = \"{at}\", rate = \"1 Mbit/s\", {}queue = {queue} }}",
                if at == 0 { "flows = [\"one\"], " } else { "" }
            )
        };
        (0..count).map(leaf).collect::<Vec<_>>().join(", ")
    };
    for (link, leaves) in [
        ("1 Gbit/s", leaves(300, "{ scheduler = \"fq_codel\" }")),
        ("1 Gbit/s", leaves(300, "{ scheduler = \"cake\" }")),
        (
            "1 Gbit/s",
            leaves(5000, "{ aqm = \"codel\", capacity = \"2 packets\" }"),
        ),
        ("1 Tbit/s", leaves(300, "{ scheduler = \"fq_codel\" }")),
    ] {
        let (peak, estimate) = need(&format!(
            "[scenario]\nduration = \"0.1 s\"\n[[link]]\nname = \"link\"\nrate = \"{link}\"\n\
             queue = {{ scheduler = \"htb\", classes = [ {{ name = \"root\", rate = \"10 Mbit/s\", classes = [ {leaves} ] }} ] }}\n\
             [[flows]]\nname = \"one\"\npath = [\"link\"]\nrtt = \"40 ms\"\n"
        ));
        assert!(
            estimate > peak / 2 && estimate < 2 * peak,
            "{estimate} B where {peak} B are held, {} B of leaves",
            leaves.len()
        );
    }
}
