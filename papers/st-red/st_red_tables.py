"""Tables 5-1 to 5-5 and 6-1 to 6-5 of Chen's thesis, cell by cell, with their figures."""

from __future__ import annotations

import csv
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ackclock import Result, Scenario, analysis
from ackclock.paper import Lab, agree
from ackclock.plot import style

SEEDS = {"5": 2, "6": 7}
"""Chapter 5 shows one run of each, chapter 6 has seven."""
PIECE = 200.0
"""Over which a deviation is taken before it is averaged (section 5.5.1), s."""
PACKET = 500.0
"""The thesis counts a queue in packets of this size, B."""
HASTE = 100
"""Quick mode does everything so many times faster."""

METRICS = ("utilization", "throughput", "loss_rate", "queue_mean", "queue_std")
NAMES = {
    "utilization": "utilisation (%)",
    "throughput": "throughput (10^9 B)",
    "loss_rate": "loss (%)",
    "queue_mean": "mean queue (packets)",
    "queue_std": "deviation (packets)",
}
FIGURES = {
    "5-1": "fig-5.4", "5-2": "fig-5.5", "5-3": "fig-5.6", "5-4": "fig-5.7", "5-5": "fig-5.8",
    "6-1": "fig-6.3", "6-2": "fig-6.4", "6-3": "fig-6.5", "6-4": "fig-6.6", "6-5": "fig-6.7",
}  # fmt: skip
DRAWN = {"5": ("ARED (20,60)", "ARED (60,180)", "PI-40", "PI-120", "ST-RED"), "6": ("ARED", "PI", "ST-RED", "ST-PI")}
QUICK_SCHEMES = {"5": ("ARED (20,60)", "PI-40", "ST-RED"), "6": ("ARED", "ST-PI")}
"""In quick mode."""


@dataclass(frozen=True)
class Cell:
    """A printed value, or the range of seven."""

    table: str
    scheme: str
    window: str
    metric: str
    low: float
    high: float
    text: str

    @property
    def saturated(self) -> bool:
        """Whether it reaches 100.0 % of utilisation: any queue that never empties agrees, so it judges nothing."""
        return self.metric == "utilization" and self.high == 100.0

    def agrees(self, ours: NDArray[np.float64]) -> bool:
        """Whether printed range and ours, over seeds, have a value in common."""
        return agree(self.text, ranged(ours, self.metric))

    def distance(self, ours: float) -> float:
        """Return by how much ours is outside, relative to the nearer end."""
        low, high = sorted((self.low, self.high))
        nearest = min(max(ours, low), high)
        return abs(ours - nearest) / nearest


def printed_cells(lab: Lab, table: str) -> list[Cell]:
    """Read the printed values of a table with the digits of their column: the thesis leaves out zeros at the end."""

    def text(value: str, metric: str) -> str:
        return f"{float(value):.{1 if metric.startswith('queue') else 2}f}"

    with (lab.paper.folder / "tables.csv").open(encoding="utf-8", newline="") as file:
        return [
            Cell(
                row["table"],
                row["scheme"],
                row["window"],
                row["metric"],
                float(row["low"]),
                float(row["high"]),
                " to ".join(dict.fromkeys(text(row[end], row["metric"]) for end in ("low", "high"))),
            )
            for row in csv.DictReader(file)
            if row["table"] == table
        ]


AS_SECTION_2_2 = {"spacing": "uniform", "gentle": True}
"""RED with drops spaced by p / (1 - count p), and with the gentle slope, which is ns-2's default."""
VARIANTS: Mapping[str, tuple[str, Mapping[str, Any], Mapping[str, Any]]] = {
    "ST-RED, h_s x 10": ("ST-RED", {"h_s": 10}, {}),
    "ST-RED, h_s as printed": ("ST-RED", {"h_s": 0.1}, {}),
    "ST-RED, 0.3 / root 3": ("ST-RED", {"h_s": 0.75}, {}),
    **{
        f"{scheme}, {name}": (scheme, keys, {})
        for scheme in ("ARED", "ST-RED")
        for name, keys in (
            ("no marks", {"ecn": False}),
            ("as section 2.2", AS_SECTION_2_2),
            ("as section 2.2, no marks", {**AS_SECTION_2_2, "ecn": False}),
            ("gentle", {"gentle": True}),
        )
    },
    "PI, windows of two": ("PI", {}, {"flows.congestion": "reno"}),
    "PI, no pause after a mark": ("PI", {}, {"flows.ecn_pause": False}),
    "PI, HTTP with ECN": ("PI", {}, {"flows.HTTP.ecn": True}),
    "ARED, SACK": ("ARED", {}, {"flows.recovery": "sack"}),
    "ARED, 40 ms": (
        "ARED",
        {},
        {"link.forward.delay": "40 ms", "link.backward.delay": "40 ms", "flows.rtt": "uniform 82 ms .. 120 ms"},
    ),
}
"""Switches that show a cause: of which scheme, with which keys of the queue (h_s: a factor) and of the scenario."""


def with_scheme(lab: Lab, scenario: Scenario, chapter: str, scheme: str) -> Scenario:
    """Put a scheme into both directions; ARED (20,60) has these thresholds, PI-40 this reference."""
    schemes = tomllib.loads((lab.paper.folder / "schemes.toml").read_text(encoding="utf-8"))
    if variant := VARIANTS.get(scheme):
        name, queue_keys, keys = variant
        queue = schemes[chapter][name] | queue_keys
        if "h_s" in queue_keys:
            queue["h_s"] = queue_keys["h_s"] * schemes[chapter][name]["h_s"]
        scenario = scenario.with_(keys)
    elif match := re.fullmatch(r"ARED \((\d+),(\d+)\)", scheme):
        bounds = dict(zip(("min_threshold", "max_threshold"), (f"{n} packets" for n in match.groups()), strict=True))
        queue = schemes[chapter]["ARED"] | bounds
    elif match := re.fullmatch(r"PI-(\d+)", scheme):
        queue = schemes[chapter]["PI"] | {"reference": f"{match[1]} packets"}
    else:
        queue = schemes[chapter][scheme]
    return scenario.with_({"link.forward.queue": queue, "link.backward.queue": queue})


def seconds(text: str) -> float:
    """Read a time such as "200 s" of a scenario file."""
    return float(text.removesuffix(" s"))


def part(scenario: Scenario, begin: float, end: float, haste: float = 1) -> Scenario:
    """Cut a run at `end`, measured from `begin` on; everything `haste` times faster."""
    changes = [change for change in scenario.tree.get("change", []) if seconds(change["at"]) < end]
    return scenario.with_(
        {
            "change": [{**change, "at": f"{seconds(change['at']) / haste:g} s"} for change in changes],
            "scenario.duration": f"{end / haste:g} s",
            "scenario.measure": f"{begin / haste:g} s .. {end / haste:g} s",
            "scenario.sample": f"{(200 if haste == 1 else 2000) / haste:g} ms",
        }
    )


def queue(result: Result) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return times and the queue towards the receivers, in packets of the thesis."""
    trace = result.traces["link_queue_bytes"].sel(link="forward")
    return trace["time"].to_numpy(), trace.to_numpy() / PACKET


def pieces(result: Result, length: float) -> list[NDArray[np.float64]]:
    """Return the queue in pieces of `length` s."""
    time, value = queue(result)
    return [value[(time >= begin) & (time < begin + length)] for begin in np.arange(0, result.end - 1e-9, length)]


def measured(result: Result, chapter: str, haste: float) -> dict[str, float]:
    """Return what a row of the tables has."""
    link = result.links.loc["forward"]
    deviation = (
        float(np.mean([piece.std() for piece in pieces(result, PIECE / haste)]))
        if chapter == "5"
        else float(link["queue_bytes_std"]) / PACKET
    )
    return {
        "utilization": 100 * float(link["utilization"]),
        "throughput": float(link["bytes"]) / 1e9,
        "loss_rate": 100 * float(link["loss_bytes"]),
        "queue_mean": float(link["queue_bytes_mean"]) / PACKET,
        "queue_std": deviation,
    }


def without_reverse(scenario: Scenario, *, delay_one_way: bool) -> Scenario:
    """Leave out the flows of the other direction; the delay may change in the forward direction only."""
    tree = scenario.tree
    unwanted = [("flows", "reverse"), *([("link", "backward")] if delay_one_way else [])]
    return scenario.with_(
        {
            "flows": [entry for entry in tree["flows"] if entry["name"] != "reverse"],
            "change": [c for c in tree.get("change", []) if not any(c.get(kind) == name for kind, name in unwanted)],
        }
    )


def bounds(window: str, whole: float) -> tuple[float, float]:
    """Return begin and end of a window such as "400-500s", or of the run."""
    if window == "whole run":
        return 0.0, whole
    begin, _, end = window.removesuffix("s").partition("-")
    return float(begin), float(end)


class Runs:
    """The runs of a table: by scheme and window, a list over seeds."""

    def __init__(
        self,
        lab: Lab,
        table: str,
        *,
        one_way: bool = False,
        seeds: int | None = None,
        only: str = "",
        window: str = "",
    ) -> None:
        self.table, self.chapter = table, table[0]
        self.haste = float(lab.pick(1, HASTE))
        self.cells = printed_cells(lab, table)
        self.schemes = list(dict.fromkeys(cell.scheme for cell in self.cells))
        if lab.quick:
            self.schemes = [scheme for scheme in self.schemes if scheme in QUICK_SCHEMES[self.chapter]]
            self.cells = [cell for cell in self.cells if cell.scheme in self.schemes]
        if only:
            self.schemes = [only]
        self.windows = [window] if window else list(dict.fromkeys(cell.window for cell in self.cells))
        self.seeds = lab.pick(SEEDS[self.chapter] if seeds is None else seeds, 1)
        base = lab.scenario(f"table-{table}")
        if one_way:
            base = without_reverse(base, delay_one_way=table == "5-1")
        whole = seconds(base.tree["scenario"]["duration"])
        self.results = lab.run(
            {
                (scheme, window): part(with_scheme(lab, base, self.chapter, scheme), *bounds(window, whole), self.haste)
                for scheme in self.schemes
                for window in self.windows
            },
            seeds=self.seeds,
            trace_links=True,
        )
        self.values = {
            key: [measured(result, self.chapter, self.haste) for result in results]
            for key, results in self.results.items()
        }

    def all(self, scheme: str, metric: str, window: str | None = None) -> NDArray[np.float64]:
        """Values over the seeds."""
        return np.array([value[metric] for value in self.values[scheme, window or self.windows[0]]])

    def mean(self, scheme: str, metric: str, window: str | None = None) -> float:
        """Their mean."""
        return float(self.all(scheme, metric, window).mean())

    def longest(self, scheme: str) -> list[Result]:
        """The runs that reach furthest."""
        return self.results[scheme, self.windows[-1]]

    def each_seed(self, scheme: str, piece: int) -> str:
        """Mean queue of each seed in one piece of 200 s, counted from 0."""
        means = [pieces(result, PIECE / self.haste)[piece].mean() for result in self.longest(scheme)]
        return ", ".join(f"{mean:.0f}" for mean in means)

    def pieces(self, scheme: str, length: float = PIECE) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean and deviation of the queue in each piece, averaged over the seeds."""
        parts = [pieces(result, length / self.haste) for result in self.longest(scheme)]
        means = np.array([[piece.mean() for piece in run] for run in parts]).mean(axis=0)
        return means, np.array([[piece.std() for piece in run] for run in parts]).mean(axis=0)


def ranged(values: NDArray[np.float64], metric: str) -> str:
    """Return a mean over seeds and their range."""
    form = {"utilization": "{:.2f}", "throughput": "{:.3f}", "loss_rate": "{:.2f}"}.get(metric, "{:.1f}")
    mean, low, high = (form.format(value) for value in (values.mean(), values.min(), values.max()))
    return mean if low == high else f"{mean} ({low} to {high})"


def show_cells(lab: Lab, runs: Runs, other: Runs | None, caption: str) -> None:
    """Put every cell down, ours without and with the reverse flows beside printed."""
    at = {(cell.scheme, cell.window, cell.metric): cell for cell in runs.cells}
    present = [metric for metric in METRICS if any(cell.metric == metric for cell in runs.cells)]
    single = len(runs.windows) == 1
    for metrics in (present[:2], present[2:]):
        rows = []
        for scheme in runs.schemes:
            for window in runs.windows:
                row: list[object] = [scheme] if single else [scheme, spaced(window)]
                for metric in metrics:
                    cell = at[scheme, window, metric]
                    row.append(cell.text)
                    for group in (runs, *([other] if other else [])):
                        mark = "" if cell.agrees(group.all(scheme, metric, window)) else " *"
                        row.append(ranged(group.all(scheme, metric, window), metric) + mark)
                rows.append(row)
        head = ["scheme"] if single else ["scheme", "window"]
        for metric in metrics:
            head += [f"printed {NAMES[metric]}", "ours", *(["with reverse"] if other else [])]
        lab.table(caption, head, rows)


def agreement(lab: Lab, runs: Runs) -> None:
    """Judge each printed cell, a row for each metric, where it says something about the scheme."""
    single = len(runs.windows) == 1
    left: list[str] = []
    for metric in METRICS:
        rows = []
        for cell in (printed for printed in runs.cells if printed.metric == metric):
            name = cell.scheme if single else f"{cell.scheme} at {spaced(cell.window)}"
            if cell.saturated or repeats(runs, cell):
                left.append(f"{NAMES[metric].partition(' (')[0]} of {name}")
            else:
                rows.append((name, cell.text, ranged(runs.all(cell.scheme, metric, cell.window), metric)))
        if rows:
            lab.cells(
                f"{NAMES[metric].partition(' (')[0]}: printed and own range overlap",
                rows,
                printed=f"table {runs.table}",
            )
    if left:
        lab.note(
            "Not judged, because any link that is always busy agrees with a range up to 100.0 %, and because a scheme "
            f"that detects nothing repeats the row of ARED (20,60), in print as here: {listed(left)}."
        )


def repeats(runs: Runs, cell: Cell) -> bool:
    """Whether it is one of ST-RED's that repeats what is printed of ARED (20,60)."""
    twin = [
        printed.text
        for printed in runs.cells
        if (printed.scheme, printed.window, printed.metric) == (TWIN, cell.window, cell.metric)
    ]
    return cell.scheme == "ST-RED" and not adapts(runs) and twin == [cell.text]


TWIN = "ARED (20,60)"
"""What ST-RED is while it detects nothing."""


def adapts(runs: Runs) -> bool:
    """Whether ST-RED's queue is not that of ARED (20,60) in each seed."""
    if TWIN not in runs.schemes:
        return True
    return not np.allclose(runs.all("ST-RED", "queue_mean"), runs.all(TWIN, "queue_mean"), rtol=1e-9)


def spaced(window: str) -> str:
    """Return a window in words."""
    return window.replace("-", " to ").replace("s", " s")


def draw(lab: Lab, runs: Runs) -> None:
    """Draw the queues over time in the layout of the thesis."""
    shown = [scheme for scheme in DRAWN[runs.chapter] if scheme in runs.schemes]
    columns = 2 if len(shown) > 1 else 1
    lines = -(-len(shown) // columns)
    top = 500 if runs.chapter == "5" else 1000
    caption = (
        f"As figure {FIGURES[runs.table].removeprefix('fig-')}: queue (packets of 500 B) against time (s). Pale: one "
        f"seed; dark: mean over 10 s, with its range over seeds ({runs.seeds}). Red: the printed mean, or its range. "
        "The vertical range is the buffer."
    )
    with lab.figure("queue", caption, lines, columns, size=(10, 2.3 * lines), sharex=True, sharey=True) as axes:
        flat = list(axes.flat)
        for ax, scheme in zip(flat, shown, strict=False):
            results = runs.longest(scheme)
            time, value = queue(results[0])
            ax.plot(time, value, color=style.SKY, linewidth=0.4)
            width = 10.0 / runs.haste
            smooth = np.array([[piece.mean() for piece in pieces(result, width)] for result in results])
            middle = width * (np.arange(smooth.shape[1]) + 0.5)
            ax.fill_between(middle, smooth.min(axis=0), smooth.max(axis=0), color=style.BLUE, alpha=0.35, linewidth=0)
            ax.plot(middle, smooth.mean(axis=0), color=style.NAVY, linewidth=0.9)
            for cell in runs.cells:
                if (cell.scheme, cell.metric) == (scheme, "queue_mean"):
                    begin, end = bounds(cell.window, results[0].end * runs.haste)
                    for level in {cell.low, cell.high}:
                        ax.hlines(level, begin / runs.haste, end / runs.haste, color=style.VERMILION, linewidth=1.1)
            ax.set(title=scheme, xlim=(0, results[0].end), ylim=(0, top))
        for ax in flat[len(shown) :]:
            ax.set_visible(False)
        for index in range(len(shown)):
            if index % columns == 0:
                flat[index].set_ylabel("queue (packets)")
            if index + columns >= len(shown):
                flat[index].set_xlabel("time (s)")
                flat[index].tick_params(labelbottom=True)


LEAST_STABLE = analysis.thresholds.STABLE_DEVIATION


def listed(words: Iterable[object]) -> str:
    """Return words with commas, or none."""
    return ", ".join(map(str, words)) or "none"


def both(runs: Runs, metric: str, schemes: Sequence[str], window: str | None = None, form: str = "{:.2f}") -> str:
    """Return means of schemes."""
    return "; ".join(f"{scheme} {form.format(runs.mean(scheme, metric, window))}" for scheme in schemes)


def follows(lab: Lab, runs: Runs, top: tuple[int, float], end: float, text: str) -> None:
    """ST-RED's queue grows and shrinks with the network: near the printed figures, to within a quarter."""
    means, _ = runs.pieces("ST-RED")
    at, high = top
    lab.claim(
        f"ST-RED's mean queue is near {high:g} packets while {text}, to within a quarter",
        abs(means[at] / high - 1) <= 0.25,
        ours=f"{means[at]:.0f} packets",
        printed=f"about {high:g} packets",
    )
    lab.claim(
        f"ST-RED's mean queue is near {end:g} packets in the last 200 s, to within a quarter",
        abs(means[-1] / end - 1) <= 0.25,
        ours=f"{means[-1]:.0f} packets",
        printed=f"near {end:g} packets",
    )


def restless(runs: Runs, scheme: str, *, settled: bool = False) -> NDArray[np.bool_]:
    """In which 200 s, or if `settled` in whose last half, the queue deviates by more than 0.71 of its mean."""
    means, deviations = (values[1::2] for values in runs.pieces(scheme, PIECE / 2)) if settled else runs.pieces(scheme)
    return np.asarray(deviations > LEAST_STABLE * means)


def spans(flags: NDArray[np.bool_]) -> str:
    """Return the beginnings of pieces, in words."""
    return listed(f"{PIECE * index:g} to {PIECE * (index + 1):g} s" for index in np.flatnonzero(flags))


def swings(lab: Lab, runs: Runs, scheme: str, *, wild: bool, printed: str) -> None:
    """Between 400 and 1400 s the queue is restless, and before it is not; or it never is."""
    flags = restless(runs, scheme)
    if wild:
        text = (
            f"{scheme}: the queue deviates by more than 0.71 of its mean in every 200 s from 400 to 1400 s, "
            "and not before"
        )
        holds = bool(flags[2:7].all() and not flags[:2].any())
    else:
        text = f"{scheme}: the queue never deviates by more than 0.71 of its mean over 200 s"
        holds = not flags.any()
    lab.claim(text, holds, ours=f"more than that: {spans(flags)}", printed=printed)


def settling(runs: Runs, scheme: str, target: float, width: float = 10.0) -> float:
    """Return from when on the queue, over `width` s, first stays within a quarter of `target` for 50 s."""
    times = []
    for result in runs.longest(scheme):
        means = np.array([piece.mean() for piece in pieces(result, width / runs.haste)])
        near = np.abs(means / target - 1) <= 0.25
        held = [index for index in range(len(near) - 4) if near[index : index + 5].all()]
        times.append(width * held[0] if held else float("inf"))
    return float(np.mean(times))


def like_ared(lab: Lab, runs: Runs, printed: str) -> None:
    """Nothing is detected: ST-RED is ARED (20,60); the smallest queue and deviation."""
    gap = runs.mean("ST-RED", "queue_mean") / runs.mean("ARED (20,60)", "queue_mean") - 1
    lab.claim(
        "ST-RED detects nothing: its mean queue is that of ARED (20,60) to within 2 %",
        abs(gap) <= 0.02,
        ours=both(runs, "queue_mean", ("ST-RED", "ARED (20,60)"), form="{:.1f}") + " packets",
        printed=printed,
    )
    others = [scheme for scheme in runs.schemes if scheme not in ("ST-RED", "ARED (20,60)")]
    for metric, name in (("queue_mean", "mean queue"), ("queue_std", "deviation")):
        own = runs.mean("ST-RED", metric)
        smaller = [scheme for scheme in others if runs.mean(scheme, metric) < own]
        wrong = metric == "queue_mean" and runs.table == "5-3"
        lab.claim(
            f"no scheme but ARED (20,60) has a smaller {name} than ST-RED",
            not smaller,
            ours=both(runs, metric, runs.schemes, form="{:.1f}"),
            printed="the smallest (PI-40 has 39.4 in the table itself)" if wrong else "the smallest",
        )


def claims_5_1(lab: Lab, runs: Runs) -> None:
    """Section 5.5.1."""
    lab.claim(
        "ST-RED's utilisation is 99.5 % or more",
        runs.mean("ST-RED", "utilization") >= 99.5,
        ours=ranged(runs.all("ST-RED", "utilization"), "utilization") + " %",
        printed="99.67 %, very high",
    )
    others = [scheme for scheme in runs.schemes if scheme not in ("ST-RED", "ARED (40,120)")]
    loss, mean = runs.mean("ST-RED", "loss_rate"), runs.mean("ST-RED", "queue_mean")
    odd = [s for s in others if (runs.mean(s, "loss_rate") < loss) != (runs.mean(s, "queue_mean") > mean)]
    lab.claim(
        "the schemes with less loss than ST-RED are those with a longer queue (ARED (40,120) aside)",
        not odd,
        ours=f"not so: {listed(odd)}; ST-RED {loss:.2f} % at {mean:.0f} packets",
        printed="so",
        exact=True,
    )
    behind = [s for s in runs.schemes if runs.mean(s, "queue_mean") < mean]
    worse = [s for s in behind if runs.mean(s, "utilization") >= runs.mean("ST-RED", "utilization")]
    lab.claim(
        "no scheme with a shorter queue than ST-RED has its utilisation",
        not worse,
        ours=f"shorter: {listed(behind)}; of these with as much utilisation: {listed(worse)}",
        printed="none has",
        exact=True,
    )
    follows(lab, runs, (4, 120), 60, "d is 900 ms")
    swings(lab, runs, "ARED (20,60)", wild=True, printed="benign until 400 s, then severe until 1400 s")
    if not lab.quick:
        swings(lab, runs, "ARED (60,180)", wild=True, printed="deterministic oscillations between 400 and 1400 s")
        flags = restless(runs, "PI-120")
        lab.claim(
            "PI-120: the queue never deviates by more than 0.71 of its mean over 200 s",
            not flags.any(),
            ours=f"more than that: {spans(flags)}",
            printed="can stabilise the queue with all d",
        )
    flags = restless(runs, "PI-40", settled=True)
    lab.claim(
        "PI-40: over the last 100 s of each 200 s the queue deviates by more than 0.71 of its mean from 600 to 1200 s, "
        "and not at other times",
        bool(flags[3:6].all() and not flags[:3].any() and not flags[6:].any()),
        ours=f"more than that: {spans(flags)}",
        printed="cannot stabilise the queue when d is above 500 ms",
    )
    took = settling(runs, "PI-40", 40)
    lab.claim(
        "PI-40 takes 50 s or more until its queue stays within a quarter of the reference",
        took >= 50,
        ours=f"{took:.0f} s",
        printed="about 100 s",
    )
    flags = restless(runs, "ST-RED")
    lab.claim(
        "ST-RED: the queue deviates by more than 0.71 of its mean in one of the nine 200 s at most",
        flags.sum() <= 1,
        ours=f"more than that: {spans(flags)}",
        printed="a stable queue almost all the time",
    )


def claims_5_2(lab: Lab, runs: Runs) -> None:
    """Section 5.5.2."""
    own = runs.mean("ST-RED", "throughput")
    ahead = [s for s in runs.schemes if round(runs.mean(s, "throughput"), 2) > round(own, 2)]
    lab.claim(
        "no scheme has a throughput above ST-RED's, to the digits printed",
        not ahead,
        ours=both(runs, "throughput", runs.schemes, form="{:.3f}"),
        printed="the highest",
    )
    deviations = {s: runs.mean(s, "queue_std") for s in runs.schemes}
    lab.claim(
        "ST-RED's deviation is as near to the smallest as the printed one, to the digits printed",
        deviations["ST-RED"] / min(deviations.values()) <= 27.05 / 24.05,
        ours=both(runs, "queue_std", runs.schemes, form="{:.1f}"),
        printed="27.0, near the smallest, 24.1",
        exact=True,
    )
    shorter = [s for s in runs.schemes if runs.mean(s, "queue_mean") < runs.mean("ST-RED", "queue_mean")]
    bad = [
        s
        for s in shorter
        if runs.mean(s, "loss_rate") <= runs.mean("ST-RED", "loss_rate") or runs.mean(s, "throughput") >= own
    ]
    lab.claim(
        "the schemes with a shorter queue have more loss and a lower throughput",
        not bad,
        ours=f"shorter: {listed(shorter)}; not so: {listed(bad)}",
        printed="so",
        exact=True,
    )
    follows(lab, runs, (4, 120), 50, "C is 50 Mbit/s")
    swings(lab, runs, "ARED (20,60)", wild=True, printed="malignant oscillations between 400 and 1400 s")
    if not lab.quick:
        swings(lab, runs, "ARED (60,180)", wild=False, printed="acceptable throughout")
        for scheme in ("ARED (60,180)", "PI-120"):
            count = int(np.sum(runs.pieces("ST-RED")[0] < runs.pieces(scheme)[0]))
            lab.claim(
                f"ST-RED's mean queue is shorter than that of {scheme} in three quarters of the pieces of 200 s",
                count >= 0.75 * len(runs.pieces(scheme)[0]),
                ours=f"in {count} of {len(runs.pieces(scheme)[0])}",
                printed="lower most of the times",
            )


def claims_5_3(lab: Lab, runs: Runs) -> None:
    """Section 5.5.3."""
    like_ared(lab, runs, "the same performance")
    slow(lab, runs)


def claims_5_4(lab: Lab, runs: Runs) -> None:
    """Section 5.5.4."""
    like_ared(lab, runs, "the same performance")
    slow(lab, runs)


def slow(lab: Lab, runs: Runs) -> None:
    """PI settles later than ARED."""
    pi, ared = settling(runs, "PI-40", 40), settling(runs, "ARED (20,60)", 40)
    lab.claim(
        "PI-40 takes longer than ARED (20,60) until its queue stays within a quarter of 40 packets",
        pi > ared,
        ours=f"{pi:.0f} s and {ared:.0f} s",
        printed="sluggish",
    )


NEVER = "; it never adapts and is ARED (20,60)"


def claims_5_5(lab: Lab, runs: Runs) -> None:
    """Section 5.5.5."""
    for other in ("ARED (20,60)", "PI-40"):
        lab.claim(
            f"{other} has a shorter queue than ST-RED, more loss and a lower utilisation",
            runs.mean(other, "queue_mean") < runs.mean("ST-RED", "queue_mean")
            and runs.mean(other, "loss_rate") > runs.mean("ST-RED", "loss_rate")
            and runs.mean(other, "utilization") < runs.mean("ST-RED", "utilization"),
            ours="; ".join(
                f"{name} {both(runs, metric, (other, 'ST-RED'))}"
                for metric, name in (("queue_mean", "queue"), ("loss_rate", "loss"), ("utilization", "utilisation"))
            ),
            printed="so",
        )
    longer = [s for s in runs.schemes if s in ("ARED (60,180)", "PI-120")]
    lab.claim(
        "ST-RED, which adapts, has less than half the queue of ARED (60,180) and PI-120",
        adapts(runs) and all(runs.mean("ST-RED", "queue_mean") < 0.5 * runs.mean(s, "queue_mean") for s in longer),
        ours=both(runs, "queue_mean", ("ST-RED", *longer), form="{:.1f}") + ("" if adapts(runs) else NEVER),
        printed="much lower",
    )
    deviations = {s: runs.mean(s, "queue_std") for s in runs.schemes}
    lab.claim(
        "ST-RED, which adapts, has a deviation as near to the smallest as the printed one, to the digits printed",
        adapts(runs) and deviations["ST-RED"] / min(deviations.values()) <= 18.95 / 17.75,
        ours=both(runs, "queue_std", runs.schemes, form="{:.1f}") + ("" if adapts(runs) else NEVER),
        printed="18.9, near the smallest, 17.8",
        exact=True,
    )


def in_all_seeds(
    lab: Lab, runs: Runs, metric: str, window: str, better: str, worse: str, *, higher: bool, printed: str
) -> None:
    """One scheme is ahead of another in each of the seeds."""
    ours, other = runs.all(better, metric, window), runs.all(worse, metric, window)
    # of equal schemes neither is ahead: nothing was detected, or nothing was lost
    tie = np.isclose(ours, other, rtol=2e-3, atol=2e-3)
    ahead = (ours > other if higher else ours < other) & ~tie
    word = "above" if higher else "below"
    name = NAMES[metric].partition(" (")[0]
    lab.claim(
        f"{spaced(window)}: {better}'s {name} is {word} {worse}'s in all seeds",
        bool(ahead.all()),
        ours=f"in {int(ahead.sum())} of {len(ahead)}; {ranged(ours, metric)} and {ranged(other, metric)}"
        + (f"; {int(tie.sum())} ties" if tie.any() else ""),
        printed=printed,
    )


def compare(
    lab: Lab,
    runs: Runs,
    metric: str,
    windows: Iterable[str],
    pairs: Iterable[tuple[str, str]],
    *,
    higher: bool,
    printed: str,
) -> None:
    """All pairs whose schemes were run."""
    for window in windows:
        for better, worse in pairs:
            if better in runs.schemes and worse in runs.schemes:
                in_all_seeds(lab, runs, metric, window, better, worse, higher=higher, printed=printed)


FOUR = tuple((better, worse) for better in ("ST-RED", "ST-PI") for worse in ("ARED", "PI"))
"""What chapter 6 compares."""


def claims_6_1(lab: Lab, runs: Runs) -> None:
    """Section 6.4.1."""
    compare(lab, runs, "utilization", ["400-500s"], FOUR, higher=True, printed="in all seven")
    compare(lab, runs, "queue_mean", ["800-900s"], FOUR, higher=False, printed="in all seven")


def claims_6_2(lab: Lab, runs: Runs) -> None:
    """Section 6.4.2."""
    compare(lab, runs, "utilization", runs.windows, FOUR, higher=True, printed="in all seven")


def full(lab: Lab, runs: Runs, *, least: float | None = None, printed: str = "near 100 %") -> None:
    """The link is used: to `least`, the printed bound (%, to the digits of the table), or to 99.8, which is ours."""
    bound = 99.8 if least is None else least
    smallest = min(runs.all(scheme, "utilization", window).min() for scheme in runs.schemes for window in runs.windows)
    lab.claim(
        f"every utilisation is {bound:g} % or more",
        smallest >= bound if least is None else round(smallest, 2) >= bound,
        ours=f"smallest {smallest:.2f} %",
        printed=printed,
        exact=least is not None,
    )


def claims_6_3(lab: Lab, runs: Runs) -> None:
    """Section 6.4.3."""
    full(lab, runs, least=99.9, printed="greater than 99.9 %")
    compare(lab, runs, "queue_mean", runs.windows, FOUR, higher=False, printed="in all seven")
    less = (("ST-PI", "ST-RED"), ("ST-PI", "ARED"))
    compare(lab, runs, "loss_rate", runs.windows, less, higher=False, printed="in all seven")


def claims_6_4(lab: Lab, runs: Runs) -> None:
    """Section 6.4.4."""
    full(lab, runs)
    compare(lab, runs, "queue_mean", runs.windows, FOUR, higher=False, printed="in all seven")
    compare(lab, runs, "queue_std", runs.windows, [("ST-PI", "PI")], higher=False, printed="in all seven")
    compare(lab, runs, "loss_rate", runs.windows, [("ST-PI", "ST-RED")], higher=False, printed="much less")


def claims_6_5(lab: Lab, runs: Runs) -> None:
    """Section 6.4.5."""
    full(lab, runs)
    compare(lab, runs, "queue_mean", runs.windows, FOUR, higher=False, printed="in all seven")
    compare(
        lab,
        runs,
        "queue_std",
        runs.windows[1:],
        [("ST-RED", "ARED"), ("ST-PI", "PI")],
        higher=False,
        printed="in all seven",
    )
    compare(lab, runs, "loss_rate", runs.windows, [("ST-PI", "ST-RED")], higher=False, printed="much lower")


TABLES: Mapping[str, tuple[str, str, Callable[[Lab, Runs], None]]] = {
    "5-1": ("ARED, PI and ST-RED as the round trip varies", "section 5.5.1, table 5-1, figure 5.4", claims_5_1),
    "5-2": ("ARED, PI and ST-RED as the capacity varies", "section 5.5.2, table 5-2, figure 5.5", claims_5_2),
    "5-3": ("ARED, PI and ST-RED as the number of flows varies", "section 5.5.3, table 5-3, figure 5.6", claims_5_3),
    "5-4": ("ARED, PI and ST-RED as HTTP sessions come", "section 5.5.4, table 5-4, figure 5.7", claims_5_4),
    "5-5": ("ARED, PI and ST-RED as the density of UDP varies", "section 5.5.5, table 5-5, figure 5.8", claims_5_5),
    "6-1": ("ST-PI with ECN as the round trip varies", "section 6.4.1, table 6-1, figure 6.3", claims_6_1),
    "6-2": ("ST-PI with ECN over general round trips", "section 6.4.2, table 6-2, figure 6.4", claims_6_2),
    "6-3": ("ST-PI with ECN as the capacity varies", "section 6.4.3, table 6-3, figure 6.5", claims_6_3),
    "6-4": ("ST-PI with ECN as the load varies", "section 6.4.4, table 6-4, figure 6.6", claims_6_4),
    "6-5": ("ST-PI with ECN as the density of UDP varies", "section 6.4.5, table 6-5, figure 6.7", claims_6_5),
}
"""Titles, places, and the claims that the text draws from them."""


REVERSE = ("5-1", "5-3", "6-3")
"""Tables that are run with the reverse flows of the text, too."""


def table(lab: Lab, name: str, transients: Callable[[Lab, Runs], None]) -> None:
    """Regenerate a table and its figure; `transients` are the claims about the latter."""
    runs = Runs(lab, name, one_way=True)
    text = Runs(lab, name, seeds=1) if name in REVERSE else None
    seeds = f"mean and range over {runs.seeds} seeds" if runs.seeds > 1 else "one seed"
    more = ", ours with the reverse flows (one seed)" if text else ""
    show_cells(lab, runs, text, f"Table {name}: printed, ours ({seeds}){more}. *: outside the tolerance.")
    lab.note(
        "The printed numbers are those of a network without the reverse flows that the text describes"
        + (", in which the delay changes in the forward direction only" if name == "5-1" else "")
        + ": they are left out here (item `cells` shows it)."
    )
    agreement(lab, runs)
    TABLES[name][2](lab, runs)
    transients(lab, runs)
    if "ST-RED" in runs.schemes and (runs.chapter == "6" or name in ("5-1", "5-2")):
        larger(lab, runs)
    if not lab.quick:
        readings(lab, runs)
    if name == "6-3":
        causes(lab, runs, runs.windows[0])
    if name in ("5-2", "6-3"):
        arithmetic(lab, name)
    draw(lab, runs)


def larger(lab: Lab, runs: Runs) -> None:
    """What ST-RED does with other lower thresholds."""
    names = ["ST-RED, h_s x 10"] if runs.chapter == "5" else ["ST-RED, h_s as printed", "ST-RED, 0.3 / root 3"]
    printed = [cell for cell in runs.cells if cell.scheme == "ST-RED"]
    variants = {name: Runs(lab, runs.table, one_way=True, seeds=1, only=name) for name in names}
    groups = {"ST-RED": runs} | variants
    good = {
        name: sum(cell.agrees(of.all(name, cell.metric, cell.window)[:1]) for cell in printed)
        for name, of in groups.items()
    }
    whole = runs.chapter == "5"
    lab.table(
        "ST-RED by its lower threshold h_s: printed cells that agree in the first seed, and mean queue in each window "
        "(packets)" + (", the last two of each seed" if whole else ""),
        [
            "h_s",
            f"agree, of {len(printed)}",
            *map(spaced, runs.windows),
            *(["800 to 1000 s", "1600 to 1800 s"] if whole else []),
        ],
        [
            [
                name,
                str(good[name]),
                *(f"{of.mean(name, 'queue_mean', window):.0f}" for window in runs.windows),
                *([of.each_seed(name, 4), of.each_seed(name, 8)] if whole else []),
            ]
            for name, of in groups.items()
        ],
    )
    if runs.chapter == "6":
        printed_h = good["ST-RED, h_s as printed"]
        lab.claim(
            "h_s = 0.04 / sqrt 3: as many cells of ST-RED agree, in the first seed, as with ten times as much",
            printed_h >= good["ST-RED"],
            ours=f"{printed_h} of {len(printed)}; with 0.4 / sqrt 3 {good['ST-RED']}, with 0.3 / sqrt 3 "
            f"{good['ST-RED, 0.3 / root 3']}",
        )


READINGS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "5": {"ST-RED": ("as section 2.2",)},
    "6": {
        "ARED": ("no marks", "as section 2.2", "as section 2.2, no marks", "gentle"),
        "ST-RED": ("no marks", "as section 2.2", "as section 2.2, no marks"),
    },
}
"""What is compared with RED as it is judged."""
IN_WORDS = {"no marks": "without marks", "as section 2.2": "with RED as section 2.2 has it"}


def readings(lab: Lab, runs: Runs) -> None:
    """What the two kinds of RED do as section 2.2 has RED, and if they drop where the text of chapter 6 has ECN."""
    rows = []
    for scheme, names in READINGS[runs.chapter].items():
        groups = {scheme: runs} | {
            (name := f"{scheme}, {reading}"): Runs(lab, runs.table, one_way=True, seeds=1, only=name)
            for reading in names
        }
        printed = [cell for cell in runs.cells if cell.scheme == scheme and not cell.saturated]
        first = {key: [of.all(key, cell.metric, cell.window)[:1] for cell in printed] for key, of in groups.items()}
        good = {key: sum(map(Cell.agrees, printed, values)) for key, values in first.items()}
        off = {
            key: 100
            * float(np.median([cell.distance(float(value[0])) for cell, value in zip(printed, values, strict=True)]))
            for key, values in first.items()
        }
        rows += [
            [key, f"{good[key]} of {len(printed)}", f"{off[key]:.1f} %"]
            + [
                f"{of.all(key, metric, window)[0]:.{digits}f}"
                for window in runs.windows
                for metric, digits in (("loss_rate", 2), ("queue_mean", 1))
            ]
            for key, of in groups.items()
        ]
        for reading in names:
            if words := IN_WORDS.get(reading):
                lab.claim(
                    f"{scheme}: as many cells agree, in the first seed, as {words}",
                    good[scheme] >= good[f"{scheme}, {reading}"],
                    ours=f"{good[scheme]} of {len(printed)}, {good[f'{scheme}, {reading}']} {words}; half of them are "
                    f"off by less than {off[scheme]:.1f} %, {off[f'{scheme}, {reading}']:.1f} % {words}",
                )
    lab.table(
        "RED as judged, with ns-2's spacing of drops and no gentle slope, and in other readings: printed cells that "
        "agree in the first seed, by how much half of them are off, loss (%) and mean queue (packets) in each window",
        ["scheme", "agree", "off: half", *(f"{spaced(w)}: {what}" for w in runs.windows for what in ("loss", "queue"))],
        rows,
    )


def causes(lab: Lab, runs: Runs, window: str) -> None:
    """What the choices that are not printed, or not where one looks for them, do to table 6-3."""
    cells = {(c.scheme, c.metric): c for c in printed_cells(lab, "6-3") if c.window == window}
    for variant, metric, text in (
        ("ARED, as section 2.2", "loss_rate", "with drops spaced as section 2.2 has them ARED's loss"),
        ("ARED, gentle", "queue_mean", "with the gentle slope ARED's mean queue"),
        ("ARED, SACK", "loss_rate", "with SACK in the place of NewReno ARED's loss"),
        ("PI, windows of two", "queue_mean", "with windows of two packets or more PI's mean queue"),
        ("PI, no pause after a mark", "loss_rate", "without a pause after a marked window of one PI's loss"),
        ("PI, HTTP with ECN", "loss_rate", "with ECN for HTTP, too, PI's loss"),
        ("ARED, 40 ms", "loss_rate", "with 40 ms on the bottleneck, not 10, ARED's loss"),
    ):
        scheme = VARIANTS[variant][0]
        if scheme not in runs.schemes:
            continue
        variants_run = Runs(lab, "6-3", one_way=True, seeds=1, only=variant, window=window)
        value, chosen = variants_run.mean(variant, metric), float(runs.all(scheme, metric, window)[0])
        cell = cells[scheme, metric]
        unit = "%" if metric == "loss_rate" else "packets"
        lab.claim(
            f"{spaced(window)}: {text} is farther from the printed range, in the first seed",
            cell.distance(value) > cell.distance(chosen),
            ours=f"{value:.1f} {unit}, else {chosen:.1f} (printed {cell.text})",
        )


def arithmetic(lab: Lab, name: str) -> None:
    """What the printed numbers alone tell."""
    if name == "5-2":
        tree = lab.scenario("table-5-2").tree
        changes = [change for change in tree.get("change", []) if change["link"] == "forward"]
        times = [0.0, *(seconds(change["at"]) for change in changes)]
        rates = [
            float(text.removesuffix(" Mbit/s")) for text in (tree["link"][0]["rate"], *(c["rate"] for c in changes))
        ]

        def carried(end: float) -> float:
            """Return what the link can carry until then, 10^9 B."""
            lengths = np.diff([*times, end])
            return float(sum(1e6 / 8 * length * rate for length, rate in zip(lengths, rates, strict=True))) / 1e9

        whole = seconds(tree["scenario"]["duration"])
        values = [cell.low for cell in printed_cells(lab, "5-2") if cell.metric == "throughput"]
        lab.claim(
            "the largest printed throughput is what the link can carry, to the digits printed",
            abs(carried(whole) - max(values)) < 0.005,
            ours=f"{carried(whole):.3f} x 10^9 B in {whole:g} s, {carried(whole - PIECE):.3f} in {whole - PIECE:g} s; "
            f"printed {max(values):.2f}",
            robust=True,
        )
    else:
        here, there = (
            next(
                c for c in printed_cells(lab, table) if (c.scheme, c.window, c.metric) == ("ARED", window, "loss_rate")
            )
            for table, window in (("6-3", "100-200s"), ("6-1", "800-900s"))
        )
        lab.claim(
            "ARED's printed losses in this table and in table 6-1 at 800 to 900 s do not overlap",
            not (here.low <= there.high and there.low <= here.high),
            ours=f"{here.text} % and {there.text} %; between them are some 10 ms of round trip",
        )


def all_cells(lab: Lab) -> None:
    """Count the cells of all tables that agree, and in three tables those that the reverse flows bring nearer."""
    rows: list[list[object]] = []
    sums = np.zeros(2, dtype=int)
    sides = np.zeros(3, dtype=int)
    for name in lab.pick(list(TABLES), ["5-3"]):
        runs = Runs(lab, name, one_way=True)
        cells = [cell for cell in runs.cells if not cell.saturated and not repeats(runs, cell)]
        agreeing = sum(cell.agrees(runs.all(cell.scheme, cell.metric, cell.window)) for cell in cells)
        gaps = [100 * cell.distance(runs.mean(cell.scheme, cell.metric, cell.window)) for cell in cells]
        sums += (len(cells), agreeing)
        nearer: list[object] = ["", ""]
        if name in REVERSE:
            text = Runs(lab, name, seeds=1)
            pairs = [
                [cell.distance(float(of.all(cell.scheme, cell.metric, cell.window)[0])) for of in (text, runs)]
                for cell in cells
            ]
            nearer = [sum(near < other for near, other in pairs), sum(other < near for near, other in pairs)]
            sides += (*nearer, len(cells))
        rows.append(
            [name, len(cells), agreeing, f"{np.median(gaps):.1f} %", f"{np.quantile(gaps, 0.9):.1f} %", *nearer]
        )
    lab.table(
        "Printed values that are judged, and how many of ours agree: the printed value or range and our range over "
        "seeds overlap. By how much the mean is outside of what is printed: median, and nine tenths. In the last "
        "columns, by the first seed, how many come nearer to print with the reverse flows of the text, and without",
        ["table", "printed values", "agree", "off: half", "off: 90 %", "nearer with", "nearer without"],
        [*rows, ["all", *sums, "", "", *sides[:2]]],
    )
    lab.claim(
        "the tables are those of the network that the text describes, with its reverse flows: as many cells are nearer "
        f"to print with them as without, or more (tables {', '.join(REVERSE)})",
        sides[0] >= sides[1],
        ours=f"{sides[0]} with, {sides[1]} without, of {sides[2]}",
        printed="20 (50) reverse flows",
        exact=True,
    )
