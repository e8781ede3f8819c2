"""Draws compound-red.png for the README: sixty Compound flows over RED at base round trips of 10 and 200 ms."""

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt

import ackclock as ac
from ackclock import plot
from ackclock.plot import style

HERE = Path(__file__).resolve().parent
SCENARIOS = HERE.parents[1] / "scenarios"
SPAN = (485.0, 500.0)


def main() -> None:
    """Run both scenarios and draw queue and windows of each."""
    with style.context():
        figure, axes = plt.subplots(2, 2, figsize=(10.5, 5.2), sharex=True)
        for column, (name, rtt) in enumerate((("compound-red", 10), ("compound-red-200ms", 200))):
            scenario = ac.load(SCENARIOS / f"{name}.toml").with_({"scenario.sample": "10 ms"})
            result = ac.run(scenario, trace_links=True, trace_flows="all")
            plot.queue(result, span=SPAN, limits=(0, 300), ax=axes[0, column])
            plot.windows(result, span=SPAN, limits=(0, 60), ax=axes[1, column])
            axes[0, column].set_title(f"Base round trip {rtt} ms: queue", loc="left")
            axes[1, column].set_title("Congestion windows", loc="left")
            axes[0, column].set_xlabel("")
        figure.savefig(HERE / "compound-red.png", dpi=110)


if __name__ == "__main__":
    main()
