"""Recordings of a satellite's link, as LeoReplayer has them: rate, delay and loss are those of the traces."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ackclock as ac
from ackclock.core.leoreplayer import delays, recording
from conftest import Command


def recorded(folder: Path) -> tuple[Path, Path]:
    """A second in which the rate is 24, then 12 Mbit/s, and the delay 20, then 35 ms, over and over."""
    bandwidth, delay = folder / "bw_1.txt", folder / "delay_1.txt"
    lines = [k for k in range(500) for _ in range(2)] + list(range(500, 1001))
    bandwidth.write_text("".join(f"{k}\n" for k in lines), encoding="ascii")
    delay.write_text("20\n" * 50 + "35\n" * 50, encoding="ascii")
    return bandwidth, delay


def run(folder: Path, flow: str, **keys: str) -> ac.Result:
    """Twelve seconds of a recording, with another flow in place of its own."""
    bandwidth, delay = recorded(folder)
    text = recording(str(bandwidth), ("d", delay.read_text(encoding="ascii")), **keys)
    text = text.replace('duration = "1 s"', 'duration = "12 s"\nmeasure = "2 s .. 12 s"')
    flows, change = text.index("[[flows]]"), text.index("[[change]]")
    return ac.run(ac.loads(text[:flows] + flow + text[change:] if flow else text), trace_flows="all")


STREAM = """[[flows]]
name = "stream"
path = ["satellite"]
rtt = "40 ms"
packet_size = "{size} B"
traffic = {{ kind = "cbr", rate = "{rate}" }}

"""


def test_rate_delay_and_loss_are_the_recordings(tmp_path: Path) -> None:
    full = run(tmp_path, STREAM.format(size=1500, rate="60 Mbit/s"), loss="1 %")
    # ten turns of a second with 1501 packets, of which one in a hundred is lost
    assert int(full.classes["received"]["stream"]) == pytest.approx(0.99 * 15_010, rel=0.005)
    # a thin stream meets the delays of both halves
    row = run(tmp_path, STREAM.format(size=100, rate="80 kbit/s"), loss="1 %").classes.loc["stream"]
    assert float(row["one_way_s_min"]) == pytest.approx(0.020, abs=0.001)
    assert float(row["one_way_s_p95"]) == pytest.approx(0.035, abs=0.002)
    assert float(row["one_way_s_mean"]) == pytest.approx(0.0275, abs=0.001)
    assert float(row["one_way_loss"]) == pytest.approx(0.01, abs=0.008)


def test_acks_have_the_delay_too(tmp_path: Path) -> None:
    trips = run(tmp_path, "", loss="0 %", buffer="20 packets").traces["flow_srtt"].to_numpy()[0]
    assert np.nanmin(trips[100:]) > 0.04
    assert np.nanpercentile(trips, 90) > 0.07


def test_mistakes_have_a_line(ackclock: Command, tmp_path: Path) -> None:
    with pytest.raises(ac.ScenarioError, match=r"d:2: not a delay; found 1\.5"):
        delays("20\n1.5\n", "d")
    with pytest.raises(ac.ScenarioError, match=r"d: there are no delays"):
        delays("", "d")
    bandwidth, delay = recorded(tmp_path)
    done = ackclock("import", "leoreplayer", bandwidth)
    assert done.returncode == 2
    assert "two files, bw_N.txt and delay_N.txt" in done.stderr
    done = ackclock("import", "leoreplayer", tmp_path / "none", delay)
    assert done.returncode == 2
    done = ackclock("import", "leoreplayer", bandwidth, delay, "--loss", "much")
    assert done.returncode == 2
    assert done.stderr.startswith("--loss: ")
    broken = tmp_path / "broken.txt"
    broken.write_text("12\n13\nabc\n")
    done = ackclock("import", "leoreplayer", broken, delay)
    assert done.stderr.startswith(f"{broken}:3: not a whole number of milliseconds: abc")  # was delay.txt:7:18
    done = ackclock("import", "leoreplayer", bandwidth, delay, "--way", "upload")
    assert done.returncode == 0, done.stderr
    (tmp_path / "up.toml").write_text(done.stdout, encoding="utf-8")
    read = ac.load(tmp_path / "up.toml").canonical
    assert (read["link"][0]["loss"]["probability"], read["link"][0]["queue"]["capacity"]) == (0.002, "500 packets")
