"""Published configurations of Linux: imported, exported, and beside the committed runs of a kernel that loaded them."""

import sys
from pathlib import Path

import pytest

import ackclock as ac
from ackclock.core.tc.scenarios import export_tc, import_tc

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "validation" / "linux"))

import configurations
from configurations import CONFIGURATIONS


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_import_export_import_is_the_identity(name: str) -> None:
    if CONFIGURATIONS[name].circuit:
        scenario = import_tc(CONFIGURATIONS[name].files).scenario
        files = export_tc(scenario, "libreqos").files
        again = import_tc(list(files.items())).scenario
        assert again.canonical == scenario.canonical
        assert export_tc(again, "libreqos").files == files
        return
    scenario = configurations.imported(name)
    text = export_tc(scenario).files["tc"]
    again = import_tc([(name, text)]).scenario
    assert {**again.canonical, "scenario": {}} == {**scenario.canonical, "scenario": {}}
    assert export_tc(again).files["tc"] == text


def test_ten_are_known() -> None:
    """All of them were loaded into the kernel."""
    assert len(CONFIGURATIONS) >= 10
    assert set(configurations.read()) == set(CONFIGURATIONS)


@pytest.mark.parametrize("name", ["lartc-tbf", "tbf-400ms", "cake-3", "sqm-7", "four-tiers", "libreqos-2"])
def test_rate_queue_and_round_trip_are_the_kernels(name: str) -> None:
    """CUBIC flows over what it sets, and over what was read of it."""
    assert configurations.differing(configurations.ours(name), configurations.read()[name]) == []


def test_the_comparison_can_fail() -> None:
    """Half of the buffer, or another tier, is another queue."""
    kernel = configurations.read()["tbf-400ms"]
    scenario = configurations.scenario("tbf-400ms")
    half = scenario.with_({"link[0].queue.classes[0].queue.capacity": "25 kB"})
    mine = configurations.measured(ac.run(half))
    assert "queue_packets" in configurations.differing(mine, kernel)
