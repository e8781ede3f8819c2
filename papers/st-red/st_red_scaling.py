"""Chapter 4 of Chen's thesis: ARED and AP-RED in three networks, and AP-RED that measures its network."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from st_red_tables import pieces, queue, without_reverse

from ackclock import Result, Scenario, analysis
from ackclock.paper import Lab
from ackclock.plot import style

SEEDS = 3
NAMES = ("ARED", "AP-RED")
ADAPTIVE = ("min_threshold", "max_threshold", "max_probability", "weight", "spacing", "mode", "mean_packet", "capacity")
"""What ARED has of AP-RED's parameters."""


def network(
    lab: Lab, number: int, *, scheme: str = "AP-RED", http: bool = True, one_way: bool = True, **given: Any
) -> Scenario:
    """Put experiment `number` into the scenario file; `given` are further parameters of AP-RED."""
    entry = lab.printed["4-5"][f"experiment-{number}"]
    flows, rate, rtt = entry["flows"], f"{entry['capacity'] * 0.004:g} Mbit/s", 1000 * entry["rtt"]
    base = lab.scenario("chapter-4")
    queue = base.tree["link"][0]["queue"] | {"rtt": f"{rtt:g} ms", "flows": flows} | given
    if scheme == "ARED":
        queue = {"aqm": "adaptive-red", "interval": "500 ms"} | {key: queue[key] for key in ADAPTIVE}
    changes: dict[str, Any] = {"flows.rtt": f"{rtt:g} ms", "flows.FTP.count": flows, "flows.HTTP.count": 2 * flows}
    for link in ("forward", "backward"):
        changes[f"link.{link}.rate"] = rate
        changes[f"link.{link}.delay"] = f"{rtt * 5 / 12:g} ms"
        changes[f"link.{link}.queue"] = queue
    if lab.quick:
        changes |= {"scenario.duration": "20 s", "scenario.measure": "10 s .. 20 s"}
    scenario = base.with_(changes)
    if one_way:
        scenario = without_reverse(scenario, delay_one_way=False)
    if not http:
        kept = [entry for entry in scenario.tree["flows"] if entry["name"] != "HTTP"]
        scenario = scenario.with_({"flows": kept})
    return scenario


def steady(result: Result) -> NDArray[np.float64]:
    """Return the queue inside the measurement window."""
    time, value = queue(result)
    begin, end = result.window
    return value[(time >= begin) & (time < end)]


def mean(results: list[Result]) -> float:
    """Return the mean queue over the seeds, packets of 500 B."""
    return float(np.mean([steady(result).mean() for result in results]))


def relative(results: list[Result]) -> float:
    """Return the deviation of the queue over its mean."""
    return float(np.mean([steady(result).std() / steady(result).mean() for result in results]))


def settled(results: list[Result]) -> float:
    """Return from when on the queue, over a second, stays within a quarter of its later mean for 5 s; s, over seeds."""
    times = []
    for result in results:
        near = np.abs(np.array([piece.mean() for piece in pieces(result, 1.0)]) / steady(result).mean() - 1) <= 0.25
        held = [index for index in range(len(near) - 4) if near[index : index + 5].all()]
        times.append(float(held[0]) if held else float("inf"))
    return float(np.mean(times))


Found = Mapping[str, list[Result]]


def experiment(lab: Lab, number: int) -> Found:
    """Run both schemes without the reverse flows, and draw their queues as the thesis does."""
    by_scheme = lab.run(
        {scheme: network(lab, number, scheme=scheme) for scheme in NAMES},
        seeds=lab.pick(SEEDS, 1),
        trace_links=True,
    )
    lab.note(
        "As the tables of chapters 5 and 6, the figure is that of a network without the reverse flows that the text "
        "describes: they are left out (item `cells`)."
    )
    entry = lab.printed["4-5"][f"experiment-{number}"]
    caption = (
        f"As figure 4.{number + 2}: queue (packets of 500 B) against time (s). Pale: one seed; dark: mean over a "
        "second, with its range over seeds; dotted: the printed thresholds, ARED's are those of experiment 1."
    )
    with lab.figure("queue", caption, 2, 1, size=(8, 5), sharex=True, sharey=True) as axes:
        for ax, label, scheme in zip(axes[:, 0], "ab", NAMES, strict=True):
            results = by_scheme[scheme]
            ax.plot(*queue(results[0]), color=style.SKY, linewidth=0.5)
            smooth = np.array([[piece.mean() for piece in pieces(result, 1.0)] for result in results])
            middle = np.arange(smooth.shape[1]) + 0.5
            ax.fill_between(middle, smooth.min(axis=0), smooth.max(axis=0), color=style.BLUE, alpha=0.35, linewidth=0)
            ax.plot(middle, smooth.mean(axis=0), color=style.NAVY, linewidth=0.9)
            own = entry if scheme == "AP-RED" else lab.printed["4-5"]["experiment-1"]
            for key in ("min_threshold", "max_threshold"):
                ax.axhline(float(own[key]), color=style.GREY, linewidth=0.7, linestyle=style.DOTTED)
            ax.set(title=f"({label}) {scheme}", ylabel="queue (packets)", xlim=(0, results[0].end), ylim=(0, 500))
        axes[1][0].set_xlabel("time (s)")
    return by_scheme


def stable(lab: Lab, by_scheme: Found, scheme: str, printed: str) -> None:
    """The queue deviates little from its mean."""
    value = relative(by_scheme[scheme])
    limit = analysis.thresholds.STABLE_DEVIATION
    lab.claim(
        f"{scheme} is stable: the queue's deviation is at most {limit:.2f} of its mean",
        value <= limit,
        ours=f"{value:.2f}",
        printed=printed,
    )


def near(lab: Lab, by_scheme: Found, scheme: str, wanted: float, printed: str) -> None:
    """The mean queue is where the thesis has it, to within 15 %."""
    value = mean(by_scheme[scheme])
    lab.claim(
        f"{scheme}'s mean queue is {wanted:g} packets to within 15 %",
        abs(value / wanted - 1) <= 0.15,
        ours=f"{value:.0f} packets",
        printed=printed,
    )


def figure_4_3(lab: Lab) -> None:
    """The network that the parameters suit."""
    claims_4_3(lab, experiment(lab, 1))


def claims_4_3(lab: Lab, by_scheme: Found) -> None:
    """The claims of the text."""
    stable(lab, by_scheme, "ARED", "a stable queue")
    near(lab, by_scheme, "ARED", 100, "around 100 packets")
    stable(lab, by_scheme, "AP-RED", "also stable")
    gap = mean(by_scheme["AP-RED"]) / mean(by_scheme["ARED"]) - 1
    lab.claim(
        "the mean queues of both are equal to within 15 %",
        abs(gap) <= 0.15,
        ours=f"AP-RED {mean(by_scheme['AP-RED']):.0f}, ARED {mean(by_scheme['ARED']):.0f} packets",
        printed="quite similar",
    )


def figure_4_4(lab: Lab) -> None:
    """A slower, shorter network with fewer flows."""
    before = lab.run({0: network(lab, 1, scheme="ARED")}, seeds=lab.pick(SEEDS, 1), trace_links=True)[0]
    claims_4_4(lab, experiment(lab, 2), before)


def claims_4_4(lab: Lab, by_scheme: Found, first: list[Result]) -> None:
    """The claims of the text."""
    before, after = (float(np.mean([steady(result).std() for result in many])) for many in (first, by_scheme["ARED"]))
    lab.claim(
        "ARED's queue deviates less than in experiment 1",
        after < before,
        ours=f"{after:.0f} and {before:.0f} packets",
        printed="oscillations become smaller",
    )
    near(lab, by_scheme, "ARED", 100, "100 packets")
    near(lab, by_scheme, "AP-RED", 40, "around 40 packets")
    stable(lab, by_scheme, "AP-RED", "stabilised")
    fast, slow = settled(by_scheme["AP-RED"]), settled(by_scheme["ARED"])
    lab.claim(
        "AP-RED's queue stays within a quarter of its mean after 10 s at most",
        fast <= 10,
        ours=f"{fast:.0f} s",
        printed="5 s",
    )
    lab.claim(
        "ARED's queue does so at least twice as late as AP-RED's",
        2 * fast <= slow < float("inf"),
        ours=f"{slow:.0f} s",
        printed="20 s",
    )


def figure_4_5(lab: Lab) -> None:
    """A faster, longer network with more flows."""
    claims_4_5(lab, experiment(lab, 3))


def claims_4_5(lab: Lab, by_scheme: Found) -> None:
    """The claims of the text."""
    interval = float(by_scheme["ARED"][0].traces.attrs["interval"])
    swings = [bool(analysis.is_oscillating(steady(result), interval)) for result in by_scheme["ARED"]]
    lab.claim(
        "ARED's queue oscillates in all seeds",
        all(swings),
        ours=f"in {sum(swings)} of {len(swings)}; deviation {relative(by_scheme['ARED']):.2f} of the mean",
        printed="deterministic oscillations",
    )
    stable(lab, by_scheme, "AP-RED", "stabilised")
    value = mean(by_scheme["AP-RED"])
    lab.claim(
        "AP-RED's mean queue lies between the printed thresholds, 125 and 375",
        125 <= value <= 375,
        ours=f"{value:.0f} packets",
        printed="between",
    )
    low, high = (f([f(steady(result)) for result in by_scheme["AP-RED"]]) for f in (min, max))
    lab.claim(
        "AP-RED's queue is never empty, and below the buffer of 500",
        low > 0 and high < 499,
        ours=f"{low:.0f} to {high:.0f} packets",
        printed="remains so",
    )
    used = {
        name: 100 * float(np.mean([r.links.loc["forward", "utilization"] for r in by_scheme[name]])) for name in NAMES
    }
    lab.claim(
        "AP-RED's utilisation is 99 % or more, and above ARED's",
        used["AP-RED"] >= 99 and used["AP-RED"] > used["ARED"],
        ours=f"{used['AP-RED']:.1f} % and {used['ARED']:.1f} %",
        printed="high utilisation is maintained; ARED's is low",
    )


def measured(lab: Lab) -> None:
    """R and N as a router measures them (section 4.4), C known; N_0 and R_0 given, or measured likewise."""
    seeds = lab.pick(SEEDS, 1)
    numbers = lab.pick((1, 2, 3), (2,))
    rows = []
    unknown = {"rtt": "measured", "flows": "measured"}
    for http, word in ((True, "with"), (False, "without")):
        first = lab.run({0: network(lab, 1, http=http)}, seeds=seeds, trace_links=True)[0]
        likewise = {
            "reference_rtt": f"{float(np.mean([r.classes.loc['FTP', 'rtt_s_mean'] for r in first])):.6g} s",
            "reference_flows": round(float(np.mean([tuples(result) for result in first]))),
        }
        results_of = lab.run(
            {
                (number, kind): network(lab, number, http=http, **given)
                for number in numbers
                for kind, given in (("known", {}), ("measured", unknown), ("likewise", unknown | likewise))
            },
            seeds=seeds,
            trace_links=True,
        )
        values = {key: mean(results) for key, results in results_of.items()}
        rows += [
            [f"{number}, {word} HTTP", *(f"{values[number, kind]:.0f}" for kind in ("known", "measured", "likewise"))]
            for number in numbers
        ]
        for kind, text in (("measured", "R_0 and N_0 given"), ("likewise", "R_0 and N_0 measured likewise")):
            off = {number: values[number, kind] / values[number, "known"] - 1 for number in numbers}
            lab.claim(
                f"{word} HTTP, {text}: mean queue within 15 % of that with known R and N in all three experiments",
                all(abs(value) <= 0.15 for value in off.values()),
                ours="; ".join(f"experiment {number}: {100 * value:+.0f} %" for number, value in off.items()),
                printed="feasible" if text == "R_0 and N_0 given" and http else "",
            )
    lab.table(
        "Mean queue of AP-RED (packets of 500 B)",
        ["experiment", "R, N known", "measured", "R_0, N_0 measured likewise"],
        rows,
    )


def tuples(result: Result) -> float:
    """Return how many 5-tuples a router sees in a minute: long flows, and connections of the sessions."""
    begin, end = result.window
    counts = result.classes
    long = float(counts.loc["FTP", "count"])
    started = result.transfers["started"]
    return long + (float(started.loc[("HTTP", "all")]) * 60 / (end - begin) if len(started) else 0.0)
