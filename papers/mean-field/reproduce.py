"""
Figures and verdicts of Reynier (2006): `python papers/mean-field/reproduce.py` (some minutes).

Writes figures and numbers beside this file and the table of verdicts into README.md.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

import ackclock as ac
from ackclock.meanfield import ALPHA
from ackclock.plot import style

HERE = Path(__file__).parent
RATE = 1e9 / (8 * 1064)
"""Packets per second of the router."""
BUFFER = 235
USERS = [5, 10, 15, 20, 25, 30, 35, 40, 60, 80, 100, 140]
DROP_TAIL, RED = (ac.load(HERE / f"{name}.toml") for name in ("drop-tail", "red"))
SPREAD = {"flows.rtt": "uniform 9.95 ms .. 10.05 ms", "flows.initial_ssthresh": "32 packets"}
"""Packets: round trips differ by 1 %, else phases lock."""
SHORT = {"scenario.duration": "25 s", "scenario.measure": "5 s .. 25 s"}

Row = tuple[str, str, str, str]
"""Item, printed, ours, verdict."""


def field(scenario: ac.Scenario, changes: dict[str, Any], **options: Any) -> tuple[float, float, float]:
    """Return utilisation, mean queue over the buffer, loss of the mean field."""
    link = ac.meanfield(scenario.with_(changes), **options).json()["links"]["router"]
    return link["utilization"], link["queue_packets_mean"] / BUFFER, link["loss"]


def packets(scenario: ac.Scenario, changes: dict[str, Any]) -> tuple[float, float, float]:
    """Return the same of the packet engine."""
    link = ac.run(scenario.with_({**SHORT, **changes}), seed=1).json()["links"]["router"]
    return link["utilization"], link["queue_packets_mean"] / BUFFER, link["loss"]


def save(name: str) -> None:
    """Write the current figure and close it."""
    plt.savefig(HERE / f"{name}.png", metadata={"Software": None})
    plt.close()


def figures_2_to_5() -> list[Row]:
    """Draw the stationary laws."""
    law = ac.stationary(0.0015, 64)
    with style.context():
        _, ax = plt.subplots()
        ax.plot(law.window, law.density, color=style.BLUE)
        ax.set(xlabel="window (packets)", ylabel="density (1/packet)", xlim=(0, 64), ylim=(0, None))
        ax.set_title(f"Figure 2: windows at a loss of 0.15 %, and {law.atom:.3%} of users at 64 packets", loc="left")
        save("figure-2")
        losses = np.geomspace(1e-5, 0.02, 200)
        laws = [ac.stationary(float(loss), 64, windows=[]) for loss in losses]
        atoms, means = np.array([law.atom for law in laws]), np.array([law.mean for law in laws])
        _, axes = plt.subplots(1, 2)
        for ax, scale in zip(axes, ("linear", "log"), strict=True):
            ax.plot(100 * losses, atoms, color=style.BLUE)
            ax.plot(100 * losses, np.exp(-losses * 64**2 / 2), color=style.VERMILION, linestyle=style.DASHED)
            ax.set(xlabel="loss (%)", xlim=(0, 0.4), yscale=scale, ylim=(None if scale == "linear" else 1e-4, 1.02))
        axes[0].set_ylabel("fraction of users at 64 packets")
        axes[0].set_title("Figures 3, 4: exact (solid), theorem 2 (dashed)", loc="left")
        save("figure-3-4")
        _, ax = plt.subplots()
        bound = np.minimum(64, ALPHA / np.sqrt(losses))
        ax.plot(100 * losses, means, color=style.BLUE)
        ax.plot(100 * losses, bound, color=style.VERMILION, linestyle=style.DASHED)
        ax.set(xlabel="loss (%)", ylabel="mean window (packets)", xlim=(0, 0.4), ylim=(0, 68))
        ax.set_title("Figure 5: exact (solid), min(64, 1.31 / sqrt(K)) (dashed)", loc="left")
        save("figure-5")
    gap = {loss: ac.stationary(loss, 64).mean / min(64, ALPHA / math.sqrt(loss)) - 1 for loss in (4e-4, 0.0015, 0.002)}
    root = (math.sqrt(ALPHA**2 + 4) - ALPHA) / 2
    return [
        ("fig. 2", "3.3 % at 64 packets", f"{law.atom:.3%}", "holds (truncated)" if 0.033 < law.atom < 0.034 else "no"),
        (
            "fig. 3, 4",
            "exp(-K W²/2), first order",
            f"exact over approximate {ac.stationary(2e-4, 64).atom / math.exp(-0.4096):.3f} at 0.02 %, "
            f"{law.atom / math.exp(-3.072):.3f} at 0.15 %",
            "for small losses",
        ),
        (
            "fig. 5",
            "square-root law almost exact above 0.15 %",
            ", ".join(f"{value:+.1%} at {loss:.2%}" for loss, value in gap.items()),
            "holds" if abs(gap[0.0015]) < 0.015 and abs(gap[0.002]) < 0.005 else "no",
        ),
        ("cor. 1", "K below 54 %", f"K below {root**2:.4%} (its root: {root:.2%})", "misprint"),
    ]


def period(time: Any, values: Any) -> float:
    """Return the mean distance of upward crossings of the mean, each after a dip of a quarter deviation, s."""
    low, mean = values.mean() - 0.25 * values.std(), values.mean()
    below, crossings = False, []
    for at, value in zip(time, values, strict=True):
        if value < low:
            below = True
        elif below and value > mean:
            crossings.append(at)
            below = False
    return (crossings[-1] - crossings[0]) / (len(crossings) - 1)


def figure_6() -> list[Row]:
    """Draw the queue of 35 users over time: mean field over packets."""
    fields = {hazard: ac.meanfield(DROP_TAIL.with_(SHORT), hazard=hazard) for hazard in ("packet", "event")}
    run = ac.run(DROP_TAIL.with_({**SHORT, **SPREAD}), seed=1, trace_links=True)
    show = slice(5.0, 25.0)
    queues = {f"mean field, per {hazard}": run_.traces["queue"].sel(time=show) for hazard, run_ in fields.items()}
    queues["packets"] = run.traces["link_queue_packets"].isel(link=0).sel(time=show).astype(float)
    with style.context():
        figure, axes = plt.subplots(3, 1, sharex=True, sharey=True, figsize=(7.2, 5))
        for ax, (name, queue) in zip(axes, queues.items(), strict=True):
            ax.plot(queue["time"], queue, color=style.BLUE, linewidth=0.9)
            ax.set_title(name, loc="left")
            ax.set(xlim=(20, 22), ylim=(0, 245))
        axes[1].set_ylabel("queue (packets)")
        axes[2].set_xlabel("time (s)")
        figure.suptitle("Figure 6: 35 users, drop-tail", x=0.02, ha="left")
        save("figure-6")
    found = {
        name: (float(queue.mean()) / BUFFER, period(queue["time"].values, queue.values))
        for name, queue in queues.items()
    }
    ours = "; ".join(f"{name}: mean {mean:.3f}, period {1e3 * every:.0f} ms" for name, (mean, every) in found.items())
    reference = found["packets"]
    close = [
        name
        for name, values in found.items()
        if name != "packets" and all(abs(a / b - 1) < 0.1 for a, b in zip(values, reference, strict=True))
    ]
    verdict = f"within 10 % of packets: {', '.join(close)}" if close else "not within 10 % of our packets"
    return [("fig. 6", "mean field over packets", ours, verdict)]


def figure_7() -> list[Row]:
    """Draw utilisation, queue and loss against the number of users."""
    makers: dict[str, Callable[[ac.Scenario, int], tuple[float, float, float]]] = {
        "per packet": lambda scenario, users: field(scenario, {**SHORT, "flows.count": users}),
        "per event": lambda scenario, users: field(scenario, {**SHORT, "flows.count": users}, hazard="event"),
        "packets": lambda scenario, users: packets(scenario, {**SPREAD, "flows.count": users}),
    }
    jobs = [(aqm, name, users) for aqm in ("drop-tail", "RED") for name in makers for users in USERS]
    with ThreadPoolExecutor(2) as pool:
        values = pool.map(lambda job: makers[job[1]](DROP_TAIL if job[0] == "drop-tail" else RED, job[2]), jobs)
        found = dict(zip(jobs, values, strict=True))
    with (HERE / "figure-7.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["queue", "engine", "users", "utilization", "mean_queue_over_buffer", "loss"])
        writer.writerows([*job, *(f"{value:.6f}" for value in row)] for job, row in found.items())
    with style.context():
        _, axes = plt.subplots(2, 2, sharex=True, sharey="row", figsize=(7.6, 5))
        for column, aqm in enumerate(("drop-tail", "RED")):
            for row, (part, text) in enumerate(((0, "utilisation"), (1, "mean queue / buffer"))):
                ax = axes[row][column]
                for name, look in zip(makers, style.SERIES, strict=False):
                    ax.plot(USERS, [found[aqm, name, users][part] for users in USERS], label=name, **look)
                ax.set(ylim=(0.94, 1.003) if part == 0 else (0, 1), xlim=(0, 145))
                if column == 0:
                    ax.set_ylabel(text)
            axes[0][column].set_title(f"Figure 7: {aqm}", loc="left")
            axes[1][column].set_xlabel("users")
        axes[0][1].legend(frameon=False, loc="lower right", title="mean field: per packet, per event")
        save("figure-7")

    def worst(aqm: str, name: str) -> str:
        use, users = min((found[aqm, name, users][0], users) for users in USERS if users >= 20)
        return f"{name}: {use:.2%} at {users}"

    def verdict(holds: Callable[[str], bool]) -> str:
        return ", ".join(f"{name}: {'holds' if holds(name) else 'no'}" for name in makers)

    def place(name: str) -> bool:
        return min((found["drop-tail", name, users][0], users) for users in USERS if users >= 20)[1] in (35, 40)

    def full(name: str) -> bool:
        return all(found["RED", name, users][0] >= 0.995 for users in USERS if users >= 20)

    lines = {aqm: "; ".join(worst(aqm, name) for name in makers) for aqm in ("drop-tail", "RED")}
    return [
        (
            "fig. 7, drop-tail",
            "worst 96 % near 40 users",
            lines["drop-tail"],
            f"place: {verdict(place)}",
        ),
        ("fig. 7, RED", "99.5 % or more to 140 users", lines["RED"], verdict(full)),
    ]


def switches() -> list[Row]:
    """Switch each reason for the differences of figure 7 on and off."""
    rows: list[Row] = []

    def row(name: str, values: dict[str, tuple[float, float, float]], part: int, what: str) -> None:
        rows.append((name, what, "; ".join(f"{key}: {value[part]:.4f}" for key, value in values.items()), "shown"))

    thirty_five = {"flows.count": 35}
    equal = SPREAD | {"flows.rtt": "10 ms"}
    row(
        "phases",
        {
            "round trips equal": packets(DROP_TAIL, equal | thirty_five),
            "0.1 % of spread": packets(DROP_TAIL, equal | thirty_five | {"flows.rtt": "uniform 9.995 ms .. 10.005 ms"}),
            "1 %": packets(DROP_TAIL, SPREAD | thirty_five),
            "10 %": packets(DROP_TAIL, equal | thirty_five | {"flows.rtt": "uniform 9.5 ms .. 10.5 ms"}),
        },
        0,
        "utilisation of packets, drop-tail, 35 users",
    )
    row(
        "timeouts",
        {
            f"{recovery}, min_rto {least}": packets(
                DROP_TAIL, SPREAD | {"flows.count": 40, "flows.recovery": recovery, "flows.min_rto": least}
            )
            for recovery, least in (("sack", "200 ms"), ("reno", "200 ms"), ("reno", "20 ms"))
        },
        0,
        "utilisation of packets, drop-tail, 40 users",
    )
    for engine, of in (
        ("packets", lambda change: packets(RED, SPREAD | change)),
        ("mean field", lambda c: field(RED, c)),
    ):
        found = {
            spacing: of({"flows.count": 40, "link.router.queue.spacing": spacing})
            for spacing in ("bernoulli", "uniform", "uniform-wait")
        }
        row(f"spacing, {engine}", found, 1, "mean queue / buffer, RED, 40 users")
    return rows


def closure() -> list[Row]:
    """Compare the Little-like closure with the delay line (section 2.2.1)."""
    both = ("delay-line", "little")
    use = [field(DROP_TAIL, SHORT, closure=name)[0] for name in both]
    deviation = [
        ac.meanfield(RED.with_({**SHORT, "flows.count": 76}), closure=name).json()["links"]["router"][
            "queue_packets_std"
        ]
        for name in both
    ]
    text = f"drop-tail, 35 users: {use[0]:.2%} and {use[1]:.2%}; "
    text += f"RED, 76 users: queue ± {deviation[0]:.2f} and ± {deviation[1]:.2f}"
    return [
        (
            "sec. 2.2.1",
            "w / R for packets in flight misleads",
            text,
            "holds" if deviation[1] > 100 * deviation[0] + 1 else "no",
        )
    ]


def theorems() -> list[Row]:
    """Draw the bounds of theorems 3 and 4 and the true threshold against the number of users."""
    setting = {"rate": RATE, "rtt": 0.01, "max_window": 64, "min_threshold": 4e-4, "max_threshold": 2e-3}
    users = np.arange(19.5, 76.5, 1.5)
    found = [ac.red_stability(flows=float(n), max_probability=0.005, **setting) for n in users]
    with style.context():
        _, ax = plt.subplots()
        ax.plot(users, [one.theorem_3 for one in found], color=style.VERMILION, linestyle=style.DASHED)
        ax.plot(users, [one.critical_slope for one in found], color=style.BLUE)
        ax.axhline(found[0].slope, color=style.GREY, linestyle=style.DOTTED)
        ax.set(xlabel="users", ylabel="slope of RED (1/s)", xlim=(18, 77), ylim=(0, None))
        ax.set_title("True threshold (solid), theorem 3 (dashed), RED at p_max 0.5 % (dotted)", loc="left")
        save("theorem-3")
    twenty = ac.red_stability(flows=20, max_probability=0.005, **setting)
    spread = {
        p: ac.meanfield(RED.with_({"flows.count": 20, "link.router.queue.max_probability": p}), sample=0.01).json()[
            "links"
        ]["router"]["queue_packets_std"]
        for p in (0.005, 0.0075, 0.01)
    }
    runs = ", ".join(f"± {value:.2f} at {p:.2%}" for p, value in spread.items())
    return [
        (
            "thm. 3",
            "sufficient",
            f"20 users: {twenty.theorem_3:.3f} /s, true threshold {twenty.critical_slope:.3f} /s",
            "sufficient here" if all(one.theorem_3 < (one.critical_slope or math.inf) for one in found) else "no",
        ),
        ("thm. 4", "p_max below 0.36 %", f"{twenty.theorem_4:.4%}; sharp {twenty.theorem_4_sharp:.4%}", "holds"),
        (
            "p_max at 20 users",
            "0.5 % works, 0.75 % does not",
            f"queue {runs}; slopes {0.005 / 0.0016:.2f}, {0.0075 / 0.0016:.2f}, {0.01 / 0.0016:.2f} /s",
            "0.75 % is stable here" if spread[0.0075] < 1 else "holds",
        ),
    ]


def latencies() -> list[Row]:
    """Larger latencies (section 5.3) and mixed ones (section 5.4)."""
    shares = (1.2, 1.5, 1.9, 2.2, 3.0, 5.0)
    lines: list[str] = []
    least: dict[tuple[int, str], list[float]] = {}
    with style.context():
        _, ax = plt.subplots()
        for rtt, look in zip((10, 20, 50), style.SERIES, strict=False):
            full = RATE * rtt * 1e-3 / 64
            counts = [round(share * full) for share in shares]
            for scenario, fill in ((DROP_TAIL, "full"), (RED, "none")):
                use = [field(scenario, {**SHORT, "flows.rtt": f"{rtt} ms", "flows.count": n})[0] for n in counts]
                name = "drop-tail" if scenario is DROP_TAIL else "RED"
                ax.plot(np.array(counts) / full, use, label=f"{rtt} ms, {name}", fillstyle=fill, **look)
                k = int(np.argmin(use))
                lines.append(f"{rtt} ms, {name}: {use[k]:.2%} at {counts[k]}")
                least[rtt, name] = use
        ax.set_ylim(0.82, 1.005)
        ax.set(xlabel="users over those that fill the link with 64 packets each", ylabel="utilisation (mean field)")
        ax.legend(frameon=False, ncols=3, loc="lower right")
        ax.set_title("Section 5.3: larger latencies, the same buffer", loc="left")
        save("section-5-3")
    early = all(
        least[rtt, "drop-tail"].index(min(least[rtt, "drop-tail"])) <= shares.index(2.2) for rtt in (10, 20, 50)
    )
    better = all(
        a <= b + 1e-6
        for rtt in (10, 20, 50)
        for a, b in zip(*(least[rtt, n] for n in ("drop-tail", "RED")), strict=True)
    )
    long = {"flows.rtt": "uniform 49.75 ms .. 50.25 ms", "flows.initial_ssthresh": "32 packets", "flows.count": 202}
    lines.append(f"packets at 50 ms, 202 users: {packets(DROP_TAIL, long)[0]:.2%}, {packets(RED, long)[0]:.2%}")
    mixed, count = [10.0, 20.0, 40.0], 60
    change = {**SHORT, "flows.count": count, "flows.rtt": [f"{rtt:g} ms" for rtt in mixed]}
    queue = field(RED, change)[1]

    def single(rtt: float) -> float:
        return field(RED, {**SHORT, "flows.count": count, "flows.rtt": f"{rtt:.9g} ms"})[1]

    harmonic = len(mixed) / sum(1 / rtt for rtt in mixed)
    low, high = min(mixed), max(mixed)
    for _ in range(12):  # more latency, shorter queue
        middle = 0.5 * (low + high)
        low, high = (middle, high) if single(middle) > queue else (low, middle)
    wait = 1e3 * queue * BUFFER / RATE
    whole = len(mixed) / sum(1 / (rtt + wait) for rtt in mixed) - wait
    seen = packets(RED, {**change, "flows.initial_ssthresh": "32 packets"})[1]
    text = (
        f"10, 20, 40 ms, {count} users: equivalent {0.5 * (low + high):.2f} ms; harmonic mean {harmonic:.2f} ms, "
        f"of round trips with queueing less the queueing {whole:.2f} ms; queue / buffer {queue:.3f} "
        f"(packets {seen:.3f}), {single(harmonic):.3f} at the harmonic mean"
    )
    close = abs(0.5 * (low + high) / whole - 1) < 0.01
    return [
        (
            "sec. 5.3",
            "worst drop-tail at early congestion; RED better",
            "; ".join(lines),
            "holds" if early and better else "no",
        ),
        ("sec. 5.4", "harmonic mean", text, "of the round trips with queueing" if close else "no"),
    ]


def main() -> None:
    """Do everything."""
    parts = (figures_2_to_5, figure_6, figure_7, switches, closure, theorems, latencies)
    rows = [row for part in parts for row in part()]
    table = ["| item | printed, or what is compared | ours | verdict |", "|---|---|---|---|"]
    table += [f"| {' | '.join(row)} |" for row in rows]
    readme = HERE / "README.md"
    head, begin, rest = readme.read_text(encoding="utf-8").partition("<!-- verdicts -->\n")
    _, end, tail = rest.partition("<!-- end of verdicts -->")
    if not (begin and end):
        raise SystemExit("README.md has no place for the verdicts")
    readme.write_text(head + begin + "\n" + "\n".join(table) + "\n\n" + end + tail, encoding="utf-8")
    print("\n".join(table))


if __name__ == "__main__":
    main()
