"""How the cost of a packet grows: `python benches/growth.py [--write]`.

CPU time per bottleneck packet against the number of flows, the links in the path, the buffer and the rate,
each alone, from the set-up of ten flows over 100 Mb/s drop-tail with one bandwidth-delay product of buffer
(S5). With `--write` docs/img/growth.png and growth.csv beside this file are made anew.
"""

import argparse
import csv
import statistics
from pathlib import Path
from typing import Any

import ackclock as ac

HERE = Path(__file__).resolve().parent
PACKETS = 3e6
"""Bottleneck packets of a run."""
ROUNDS = 3


def scenario(*, flows: int = 10, links: int = 1, buffer: int | None = None, rate: float = 100e6) -> ac.Scenario:
    """S5, changed in one respect; packets cross `links` links of which the first is the narrowest by a hair."""
    packets = rate / 12000
    stop = min(max(PACKETS / packets, 3.0), 20000.0)
    room = buffer or max(round(packets * 0.04), 10)
    names = [f"link-{k}" for k in range(links)]
    return ac.Scenario(
        {
            "scenario": {"name": "growth", "duration": f"{stop:.6g} s"},
            "link": [
                {
                    "name": name,
                    "rate": f"{rate * (1 + 0.001 * k):.0f} bit/s",
                    "delay": f"{10 / links:g} ms",
                    "queue": {"capacity": f"{room} packets"},
                }
                for k, name in enumerate(names)
            ],
            "flows": [
                {
                    "count": flows,
                    "path": names,
                    "congestion": "reno",
                    "rtt": "uniform 38 ms .. 42 ms",
                    "start": "uniform 0 s .. 1 s",
                    "initial_window": "2 packets",
                    "delayed_ack": False,
                }
            ],
        }
    )


STUDIES: dict[str, tuple[str, list[Any]]] = {
    "flows": ("flows (10 Mb/s each; 1 Mb/s each beyond 1000)", [1, 10, 100, 1000, 10_000, 100_000]),
    "links": ("links in the path", [1, 2, 3, 5, 10]),
    "buffer": ("buffer, packets", [10, 100, 1000, 10_000, 100_000]),
    "rate": ("rate, bit/s", [1e6, 1e7, 1e8, 1e9, 1e10, 1e11]),
}


def variant(study: str, value: Any) -> ac.Scenario:
    """One point of a study. More flows come with more rate, so that their windows stay those of ten at 100 Mb/s."""
    if study == "flows":
        return scenario(flows=value, rate=max(value, 10) * 10e6 if value <= 1000 else value * 1e6)
    return scenario(**{study: value})


def draw(rows: list[dict[str, Any]]) -> None:
    """A panel a study, all on the same scale."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 2, figsize=(8, 5), sharey=True, layout="constrained")
    for ax, (study, (label, values)) in zip(axes.flat, STUDIES.items(), strict=True):
        mine = [row for row in rows if row["study"] == study]
        middle = [row["ns_per_packet"] for row in mine]
        spread = [
            [row["ns_per_packet"] - row["least"] for row in mine],
            [row["most"] - row["ns_per_packet"] for row in mine],
        ]
        ax.errorbar(values, middle, spread, marker="o", color="#0072b2", capsize=3)
        if study != "links":
            ax.set_xscale("log")
        ax.set_xlabel(label)
        ax.grid(alpha=0.3)
    for ax in axes[:, 0]:
        ax.set_ylabel("CPU time per packet, ns")
    axes[0, 0].set_ylim(0, 1.08 * max(row["most"] for row in rows))
    figure.savefig(HERE.parent / "docs" / "img" / "growth.png", dpi=120)


def main() -> None:
    """Measure, print, on request draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    chosen = parser.parse_args()
    rows = []
    for study, (_, values) in STUDIES.items():
        for value in values:
            costs = []
            for seed in range(1, ROUNDS + 1):
                result = ac.run(variant(study, value), seed=seed)
                assert result.timing is not None
                packets = int(result.links.loc[result.links.index[0], "packets"])
                costs.append(result.timing["cpu_s"] / packets * 1e9)
            rows.append(
                {
                    "study": study,
                    "value": value,
                    "ns_per_packet": round(statistics.median(costs), 1),
                    "least": round(min(costs), 1),
                    "most": round(max(costs), 1),
                }
            )
            print(
                "{study:8} {value:>14} {ns_per_packet:>8} ns a packet ({least} to {most})".format(**rows[-1]),
                flush=True,
            )
    if not chosen.write:
        return
    with (HERE / "growth.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    draw(rows)


if __name__ == "__main__":
    main()
