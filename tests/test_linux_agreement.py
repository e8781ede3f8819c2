"""The packet engine in style "linux" beside the committed runs of a Linux kernel; no kernel is needed."""

import sys
from pathlib import Path
from typing import Any

import pytest

import ackclock as ac

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
    for one in compared(Cell(10, "pfifo", 40, 1, congestion)):
        assert one.equivalent, f"{one.margin.name}: {one.ours:.4g}, the kernel {one.theirs:.4g}"


@pytest.mark.parametrize(
    ("congestion", "queue", "differing"),
    [
        ("reno", "red", []),
        ("cubic", "red", []),
        ("reno", "pie", []),
        ("cubic", "codel", []),
        ("reno", "fq_codel", ["utilisation"]),  # 1.1 points less than the kernel's: a cell that the page lists
        ("cubic", "fq_codel", []),
        ("scalable", "red", []),
        ("dctcp", "red", []),
        ("dctcp", "codel", []),
    ],
)
def test_ten_flows_agree(congestion: str, queue: str, differing: list[str]) -> None:
    """Three seeds of ours beside the kernel's runs."""
    comparison = compared(Cell(10, queue, 40, 10, congestion), 3)
    assert [one.margin.name for one in comparison if not one.equivalent] == differing, comparison


@pytest.mark.parametrize(
    ("cell", "what"),
    [
        (Cell(10, "pfifo", 10, 1, "reno"), "the reordering window's timer: two drops a cycle"),
        (Cell(10, "fq_codel", 40, 60, "reno"), "a timeout moves a flow to another sub-queue"),
        (Cell(10, "fq_codel", 200, 60, "highspeed"), "and leaves CoDel's state behind"),
    ],
)
def test_timers_and_names_agree(cell: Cell, what: str) -> None:
    """Cells that hang on what Linux does at its timers."""
    for one in compared(cell, 1 if cell.flows == 1 else 3):
        assert one.equivalent, f"{what}; {one.margin.name}: {one.ours:.4g}, the kernel {one.theirs:.4g}"


def test_without_the_style_the_kernel_is_not_met() -> None:
    """The comparison can fail: HighSpeed TCP as its RFC has it grows twice as fast as Linux's with delayed ACKs."""
    cell = Cell(10, "pfifo", 40, 1, "highspeed")
    rows = STORE.seeds(guest.translate(cell.scenario()))
    run = ac.run(cell.scenario({"style": "rfc"}))
    comparison = compare([of_ours(run)], [of_kernel(row) for row in rows])
    assert not all(one.equivalent for one in comparison)


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


def test_counts_ship_with_the_package() -> None:
    """What `ackclock why` quotes."""
    from ackclock import agreement

    assert "against Linux 6.1" in agreement.linux()
