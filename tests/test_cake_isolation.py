"""CAKE's isolation: what each of two hosts gets, against arithmetic."""

from __future__ import annotations

import pytest

import ackclock as ac

COUNTS = ((1, 2), (1, 8), (10, 1))
CONTROLS = (("cubic", "reno"), ("reno", "cubic"))
MODES = ("srchost", "dsthost", "hosts", "flows", "dual-srchost", "dual-dsthost", "triple-isolate")


def expected(mode: str, first: int, second: int, sides: str) -> float | None:
    """
    Share of the first host; `sides` are those at which the two are different hosts.

    By host each has a half, by flow each its number of flows. `triple-isolate` divides by the larger number of flows of
    both ends, so that a server that all flows share makes it fair by flow. None where one queue holds all.
    """
    by_flow = first / (first + second)
    if mode in ("flows", "triple-isolate"):
        return 0.5 if mode != "flows" and sides == "both" else by_flow
    side = {"srchost": "source", "dsthost": "destination", "hosts": sides}[mode.removeprefix("dual-")]
    if sides in ("both", side):
        return 0.5
    return by_flow if mode.startswith("dual-") else None


def share(mode: str, counts: tuple[int, int], controls: tuple[str, str], sides: str, *, rtt: str = "5 ms") -> float:
    flows = []
    for name, count, control in zip(("first", "second"), counts, controls, strict=True):
        ends = {end: f"{name} {end}" if sides in ("both", end) else f"the {end}" for end in ("source", "destination")}
        keys = {"style": "linux", "packet_size": "1514 B", "header_size": "66 B"}
        flows.append(ac.flows(count, control, rtt=rtt, name=name, **ends, **keys))
    cake = {"kind": "cake", "bandwidth": "50 Mbit/s", "isolation": mode}
    made = ac.dumbbell(
        rate="1 Gbit/s", queue={"scheduler": cake}, flows=flows, duration="3 s", measure="1 s .. 3 s", seed=3
    )
    goodput = ac.run(made).classes["goodput_bps"]
    return float(goodput["first"] / (goodput["first"] + goodput["second"]))


PLACES = [
    (mode, sides)
    for mode in MODES
    for sides in ("source", "destination", "both")
    if expected(mode, 1, 1, sides) is not None
]


@pytest.mark.parametrize(("mode", "sides"), PLACES)
def test_hosts_and_flows_have_their_shares(mode: str, sides: str) -> None:
    """50 Mbit/s at 5 ms, where a single flow fills its share; with all six set-ups of flows and controls."""
    for counts in COUNTS:
        wanted = expected(mode, *counts, sides)
        for controls in CONTROLS:
            assert share(mode, counts, controls, sides) == pytest.approx(wanted, abs=0.01), (counts, controls)


def test_one_queue_for_all_is_no_share_of_hosts() -> None:
    """It would fail if isolation were not looked at: without it ten flows have ten elevenths."""
    assert share("flowblind", (10, 1), ("cubic", "cubic"), "both") > 0.8
