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


def share(
    mode: str,
    counts: tuple[int, int],
    controls: tuple[str, str],
    sides: str,
    rtt: str = "5 ms",
    end: float = 3.0,
    seeds: int = 1,
) -> float:
    flows = []
    for name, count, control in zip(("first", "second"), counts, controls, strict=True):
        ends = {end: f"{name} {end}" if sides in ("both", end) else f"the {end}" for end in ("source", "destination")}
        keys = {"style": "linux", "start": "uniform 0 s .. 0.5 s", "packet_size": "1514 B", "header_size": "66 B"}
        flows.append(ac.flows(count, control, rtt=rtt, name=name, **ends, **keys))
    cake = {"kind": "cake", "bandwidth": "50 Mbit/s", "isolation": mode}
    network = ac.dumbbell(
        rate="1 Gbit/s",
        queue={"scheduler": cake},
        flows=flows,
        duration=f"{end:g} s",
        measure=f"{end / 3:g} s .. {end:g} s",
        seed=1,
    )
    shares = []
    for seed in range(1, 1 + seeds):
        goodput = ac.run(network, seed=seed).classes["goodput_bps"]
        shares.append(float(goodput["first"] / (goodput["first"] + goodput["second"])))
    return sum(shares) / seeds


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


KERNEL = {
    ((1, 2), ("cubic", "reno")): {"hosts": 0.493, "flows": 0.344, "dual-srchost": 0.486, "triple-isolate": 0.344},
    ((1, 8), ("reno", "cubic")): {"hosts": 0.460, "flows": 0.107, "dual-srchost": 0.455, "triple-isolate": 0.107},
    ((10, 1), ("cubic", "reno")): {"hosts": 0.540, "flows": 0.912, "dual-srchost": 0.547, "triple-isolate": 0.911},
}
"""Linux 6.1.192 (`flows -c ... -a ...` of validation/linux): 50 Mbit/s, 20 ms, one receiver, 5 to 15 s, one seed."""


@pytest.mark.parametrize("setup", KERNEL)
def test_shares_are_the_kernels_where_a_flow_does_not_fill_its_own(
    setup: tuple[tuple[int, int], tuple[str, str]],
) -> None:
    """At 20 ms a lone flow under CoDel leaves a part of its half, in the kernel as here."""
    for mode, theirs in KERNEL[setup].items():
        assert share(mode, *setup, "source", "20 ms", 15.0, 3) == pytest.approx(theirs, abs=0.02), mode


def test_code_points_share_as_the_kernels_do() -> None:
    """Voice beside bulk, both above their thresholds: 0.929 in Linux 6.1.192 (25 Mbit/s, 20 ms, one seed)."""
    for first, second, wanted in (("ef", "cs1", 0.929), ("cs1", "ef", 0.071)):
        keys = {"style": "linux", "rtt": "20 ms", "packet_size": "1514 B", "header_size": "66 B"}
        flows = [ac.flows(2, "cubic", name=f"in {dscp}", dscp=dscp, **keys) for dscp in (first, second)]
        cake = {"kind": "cake", "bandwidth": "25 Mbit/s", "tins": "diffserv4"}
        network = ac.dumbbell(
            rate="1 Gbit/s", queue={"scheduler": cake}, flows=flows, duration="6 s", measure="3 s .. 6 s"
        )
        goodput = ac.run(network, seed=1).classes["goodput_bps"]
        assert float(goodput[f"in {first}"] / goodput["all"]) == pytest.approx(wanted, abs=0.01)


def test_code_points_may_be_written_as_in_rfcs() -> None:
    """ "EF" was no choice."""
    flow = ac.flows(1, "cubic", rtt="20 ms", dscp="EF")
    tree = ac.dumbbell(rate="5 Mbit/s", queue="drop-tail", flows=flow, duration="5 s").canonical
    assert tree["flows"][0]["dscp"] == "ef"
