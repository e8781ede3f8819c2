"""The packet engine in style "linux" beside the committed runs of a Linux kernel; no kernel is needed."""

import statistics
import sys
from pathlib import Path
from typing import Any

import pytest

import ackclock as ac
from ackclock.questions import agreement

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "validation" / "linux"))

import guest
from cells import CONGESTION, Cell, compare, of_kernel, of_ours

STORE = guest.Store()


def compared(cell: Cell, seeds: int = 1) -> list[Any]:
    """Both sides of a cell."""
    rows = STORE.seeds(guest.translate(cell.scenario()))
    assert rows, f"no run of the kernel of {cell.name}"
    runs = ac.replicate(cell.scenario(), seeds)
    return compare([of_ours(run) for run in runs], [of_kernel(row) for row in rows])


@pytest.mark.parametrize("congestion", CONGESTION)
def test_single_flows_over_a_short_queue_agree(congestion: str) -> None:
    """33 packets at 10 Mb/s and 40 ms, nothing drawn on either side: every quantity is within its margin."""
    for measure in compared(Cell(10, "pfifo", 40, 1, congestion)):
        assert measure.equivalent, f"{measure.margin.name}: {measure.ours:.4g}, the kernel {measure.theirs:.4g}"


@pytest.mark.parametrize(
    ("congestion", "queue"),
    [
        ("bic", "pfifo"),
        ("bic", "fq_codel"),
        ("hybla", "pfifo"),
        ("hybla", "fq_codel"),
        ("nv", "pfifo"),
        ("nv", "fq_codel"),
        ("lp", "pfifo"),
    ],
)
def test_congestion_controls_beside_the_matrix_agree(congestion: str, queue: str) -> None:
    """One flow, nothing drawn but the origin of LP's clock, of which one in eight makes it other than Reno."""
    for comparison in compared(Cell(10, queue, 40, 1, congestion), 20 if congestion == "lp" else 1):
        assert comparison.equivalent, (
            f"{comparison.margin.name}: {comparison.ours:.4g}, the kernel {comparison.theirs:.4g}"
        )


@pytest.mark.parametrize(
    ("congestion", "queue"),
    [
        ("reno", "red"),
        ("cubic", "red"),
        ("reno", "pie"),
        ("cubic", "codel"),
        ("reno", "fq_codel"),
        ("cubic", "fq_codel"),
        ("scalable", "red"),
        ("dctcp", "red"),
        ("dctcp", "codel"),
    ],
)
def test_ten_flows_agree(congestion: str, queue: str) -> None:
    """Three seeds of ours beside the kernel's runs."""
    comparison = compared(Cell(10, queue, 40, 10, congestion), 3)
    assert all(measure.equivalent for measure in comparison), comparison


@pytest.mark.parametrize("queue", ["codel", "fq_codel", "red"])
def test_one_flow_of_bbr_loses_as_much_as_the_kernels(queue: str) -> None:
    """What it loses hangs on htb's second packet after a pause, and on when its phases end."""
    for measure in compared(Cell(10, queue, 40, 1, "bbr"), 3):
        assert measure.equivalent, f"{measure.margin.name}: {measure.ours:.4g}, the kernel {measure.theirs:.4g}"


@pytest.mark.parametrize(
    ("cell", "what"),
    [
        (Cell(10, "pfifo", 10, 1, "reno"), "the reordering window's timer: two drops a cycle"),
        (Cell(10, "fq_codel", 40, 60, "reno"), "a timeout moves a flow to another sub-queue"),
        (Cell(10, "fq_codel", 200, 60, "highspeed"), "and leaves CoDel's state behind"),
        (Cell(10, "sfb", 10, 60, "reno"), "SFB hashes the header: a timeout leaves a flow in its bins"),
        (Cell(10, "sfb", 40, 60, "cubic"), "so that those that are punished stay so"),
    ],
)
def test_timers_and_names_agree(cell: Cell, what: str) -> None:
    """Cells that hang on what Linux does at its timers."""
    for measure in compared(cell, 1 if cell.flows == 1 else 5 if cell.queue == "sfb" else 3):
        assert measure.equivalent, f"{what}; {measure.margin.name}: {measure.ours:.4g}, the kernel {measure.theirs:.4g}"


@pytest.mark.parametrize(
    ("cell", "what"),
    [
        (Cell(100, "codel", 40, 1, "htcp"), "H-TCP's largest round trip fades to a whole millisecond"),
        (Cell(10, "fq_codel", 40, 10, "westwood"), "Westwood+ filters rates in whole bytes a millisecond"),
    ],
)
def test_whole_numbers_agree(cell: Cell, what: str) -> None:
    """Cells that hang on how the kernel rounds."""
    for measure in compared(cell, 1 if cell.flows == 1 else 2):
        assert measure.equivalent, f"{what}; {measure.margin.name}: {measure.ours:.4g}, the kernel {measure.theirs:.4g}"


def test_bbr_does_not_take_timeouts_for_bandwidth() -> None:
    """
    Sixty flows over FQ-CoDel at 10 ms: delivery-rate samples begin anew where nothing is unacknowledged.

    Where they began anew as nothing was in flight, every timeout made a short sample and a high rate: 72 packets
    waited. Now 53 wait, in the kernel 55.
    """
    cell = Cell(10, "fq_codel", 10, 60, "bbr")
    (queue,) = (measure for measure in compared(cell, 3) if measure.margin.name == "queue")
    assert abs(queue.ours / queue.theirs - 1.0) < 0.1


def test_marks_that_bbr_ignores_lock_others_out() -> None:
    """
    RED with ECN at 10 Mb/s: data is marked and never answers it, SYNs and retransmissions are dropped.

    Linux 6.1 in the guest, `red limit 151400 min 15000 max 22500 avpkt 1500 burst 11 probability 0.1 ecn`, ten flows,
    seeds 1 to 3: 0.975, 0.963 and 0.973 of the packets marked, 72, 66 and 72 packets waiting, Jain's index 0.40, 0.35
    and 0.40.
    """
    cell = Cell(10, "red", 40, 10, "bbr")
    queue = {
        "link.queue.capacity": "151.4 kB",
        "link.queue.min_threshold": "10 packets",
        "link.queue.max_threshold": "15 packets",
        "link.queue.ecn": True,
    }
    marking = cell.scenario({"ecn": True, "start": "uniform 0 s .. 0.2 s"}).with_(queue)
    waiting, jain = [], []
    for run in ac.replicate(marking, 6):
        link: Any = run.links.loc["bottleneck"]
        assert link["marks"] > 0.95 * link["packets"]
        waiting.append(link["queue_packets_mean"])
        jain.append(run.json()["flows"]["all"]["jain"])
        # how many carry everything is chance
        goodput = run.flows["goodput"]
        assert 2 <= (goodput > 0.1 * goodput.mean()).sum() <= 6
    assert 60 < statistics.fmean(waiting) < 80, waiting
    assert 0.3 < statistics.fmean(jain) < 0.5, jain
    # where it drops instead, everyone has a share
    dropping = ac.run(cell.scenario({"start": "uniform 0 s .. 0.2 s"}).with_(queue | {"link.queue.ecn": False}))
    assert dropping.json()["flows"]["all"]["jain"] > 0.85


def test_without_the_style_the_kernel_is_not_met() -> None:
    """The comparison can fail: HighSpeed TCP as its RFC has it grows twice as fast as Linux's with delayed ACKs."""
    cell = Cell(10, "pfifo", 40, 1, "highspeed")
    rows = STORE.seeds(guest.translate(cell.scenario()))
    run = ac.run(cell.scenario({"style": "rfc"}))
    comparison = compare([of_ours(run)], [of_kernel(row) for row in rows])
    assert not all(measure.equivalent for measure in comparison)


def test_sack_blocks_take_bytes_of_the_way_back() -> None:
    """An ACK of 66 B has up to three blocks, 12 to 28 B more, where segments are missing, and none without SACK."""
    ack_bytes = {}
    for recovery in ("sack", "newreno"):
        scenario = Cell(10, "ack_all", 40, 10, "reno").scenario({"recovery": recovery, "style": "rfc"})
        run = ac.run(scenario.with_({"scenario.duration": "20 s", "scenario.measure": "5 s .. 20 s"}))
        back: Any = run.links.loc["uplink"]
        ack_bytes[recovery] = float(back["utilization"]) * 1e12 / 8 * 15 / float(back["packets"])
    assert ack_bytes["newreno"] == pytest.approx(66, abs=0.01)
    assert 66.3 < ack_bytes["sack"] < 94


def test_what_the_guest_cannot_do_is_refused_by_name() -> None:
    """Each refusal names the key."""
    base = Cell(10, "pfifo", 40, 1, "reno").scenario()
    for changes, named in [
        ({"flows[0].congestion": "compound"}, "flows.congestion"),
        ({"flows[0].initial_window": "3 packets"}, "flows.initial_window"),
        ({"flows[0].rtt": "uniform 10 ms .. 20 ms"}, "flows.rtt"),
        ({"link[0].loss": 0.01}, "link.loss"),
        ({"link[0].queue": {"aqm": "red", "capacity": "100 packets"}}, "queue.mode"),
        ({"link[0].queue": {"aqm": "blue", "capacity": "100 packets"}}, "queue.aqm"),
        ({"scenario.measure": "whole run"}, "scenario"),
    ]:
        with pytest.raises(guest.Refused, match=named.replace(".", r"\.")):
            guest.translate(base.with_(changes))


def test_reds_weight_is_what_tc_makes_of_the_burst() -> None:
    """`min 15000 avpkt 1500 burst 21` has weight 1/64 by tc's rule."""
    job = guest.translate(Cell(10, "red", 40, 1, "reno").scenario())
    words = job.queue.split()
    burst = int(words[words.index("burst") + 1])
    assert guest._weight(15000, burst, 1500) == 1 / 64


def test_the_kernel_that_is_named_ran_the_cells() -> None:
    """`ackclock why` names it beside its error bars."""
    assert {row["kernel"] for row in STORE.rows.values()} == {agreement.KERNEL}
