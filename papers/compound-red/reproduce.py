"""
Manjunath and Raina: Compound TCP with RED, and the threshold policy.

The scenario files here are the packet set-ups; an item changes round trip, thresholds and averaging as its figure says.
A round trip of the paper has a quarter on the bottleneck, or an eighth on each of the parking lot's links.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import compound_red_analysis as theory
import compound_red_appendix as normal_form
import numpy as np
from numpy.typing import NDArray

from ackclock import Result, Scenario, analysis
from ackclock.paper import Lab, Paper, spread, standard_error
from ackclock.plot import style

paper = Paper(
    "Compound TCP with Random Early Detection (RED): stability, bifurcation and performance analyses",
    "S. Manjunath and G. Raina, Indian Institute of Technology Madras; extends their paper at the 27th Chinese Control "
    "and Decision Conference, 2015.",
)

ROUND_TRIPS = (10, 25, 40, 55, 70, 85, 100, 120, 140, 160, 180, 200)
"""Of the sweeps, ms."""
QUICK_ROUND_TRIPS = (10, 200)
"""In quick mode."""
SEEDS = 5
"""Of figures over time."""
SWEEP_SEEDS = 3
"""Of sweeps over the round trip."""
QUICK = {"scenario.duration": "120 s", "scenario.measure": "95 s .. 120 s"}
POLICIES = {"RED": "red", "threshold": "threshold"}
TRACED: dict[str, Any] = {"dumbbell-red": 15, "mixed-dumbbell-red": [*range(8), *range(27, 34)]}
"""Fifteen flows; of mixed traffic eight of Compound and seven of CUBIC."""
SPREAD = "round trips within 15 % of their mean and access buffers of 50 packets, neither printed"
"""With which figures 15 to 19 are judged: other choices change them (item `sender`)."""
LOOKS = {"RED": style.SERIES[1], "threshold": style.SERIES[0]}


def at(lab: Lab, name: str, rtt: float | Sequence[float], **keys: Any) -> Scenario:
    """Return a scenario file at a round trip in ms, or at several that the flows take in turn."""
    mean = float(np.mean(rtt))
    share = 8 if "parking-lot" in name else 4
    changes: dict[str, Any] = {
        "flows.rtt": f"{rtt:g} ms" if isinstance(rtt, int | float) else [f"{seconds:g} ms" for seconds in rtt],
        "link.delay": f"{mean / share:g} ms",
        **(QUICK if lab.quick else {}),
        **{key.replace("__", "."): value for key, value in keys.items()},
    }
    return lab.scenario(name).with_(changes)


def seeds_of(lab: Lab, file: str, full: int) -> int:
    """Return how many seeds; mixed traffic takes longer."""
    return lab.pick(min(2, full) if file.startswith("mixed") else full, 1)


def inside(
    result: Result, name: str, entity: str = "bottleneck", begin: float | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return times and values of a link's trace in the measurement window, or from `begin` to its end."""
    first, last = result.window
    trace = result.traces[name].sel(link=entity, time=slice(first if begin is None else begin, last))
    return trace["time"].to_numpy(), trace.to_numpy().astype(float)


def oscillates(result: Result) -> bool:
    """Tell whether the queue oscillates in the second half of a run: the measurement window shows too few periods."""
    _, queue = inside(result, "link_queue_packets", begin=0.5 * result.window[1])
    rtt = float(result.flows["rtt_mean"].mean())
    return bool(analysis.is_oscillating(queue, float(result.traces.attrs["interval"]), rtt))


def windows(result: Result) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return times and the traced windows, a row a flow, in the measurement window."""
    trace = result.traces["flow_cwnd"].sel(time=slice(*result.window))
    return trace["time"].to_numpy(), trace.to_numpy().astype(float)


def seconds(ax: Any, result: Result, **look: Any) -> None:
    """Draw the utilisation of each second."""
    used = 100 * result.utilization_1s["bottleneck"]
    ax.step(result.window[0] + np.arange(len(used) + 1), [*used, used[-1]], where="post", **look)


def least(result: Result, link: str = "bottleneck") -> float:
    """Return the utilisation of the worst second."""
    return float(np.min(result.utilization_1s[link]))


for name, title, source, make in (
    ("table-1", "Window laws", "section II-A, table I", theory.table_1),
    (
        "eq-15",
        "Conditions for stability, transversality",
        "sections III and IV, equations (15) to (35)",
        theory.equations_15,
    ),
    ("fig-2", "Hopf curves with averaging", "section III-A, figure 2", theory.figure_2),
    ("fig-3", "Phase portraits", "section III-A, figure 3", theory.figure_3),
    ("fig-4", "Hopf curves without averaging", "section IV-A, figure 4", theory.figure_4),
):
    paper.item(name, title, source)(make)


# figures 6 and 7: round trips


def traces_figure(lab: Lab, runs: Mapping[str, Result]) -> None:
    """Draw queue, average queue, mean window and utilisation over the last 25 s, a column a setting."""
    caption = (
        "Queue (pale) and RED's average (dark), mean window of 15 flows, utilisation in each second; one of the seeds. "
        "Grey lines: the thresholds; the text has no other numbers of it."
    )
    rows = 3
    with lab.figure("traces", caption, rows, len(runs), size=(9, 6), sharex="col") as axes:
        for column, (title, result) in enumerate(runs.items()):
            time, queue = inside(result, "link_queue_packets")
            _, average = inside(result, "link_average_packets")
            top, middle, bottom = axes[:, column]
            top.plot(time, queue, color=style.SKY, linewidth=0.8)
            top.plot(time, average, color=style.NAVY, linewidth=1.1)
            for threshold in (50, 100):
                top.axhline(threshold, color=style.GREY, linewidth=0.7, linestyle=style.DOTTED)
            top.set(title=title)
            top.set_ylim(bottom=0)
            moments, cwnd = windows(result)
            middle.plot(moments, cwnd.mean(axis=0), color=style.BLUE, linewidth=0.9)
            middle.set_ylim(bottom=0)
            seconds(bottom, result, color=style.BLUE)
            bottom.set(ylim=(0, 104), xlim=result.window, xlabel="time (s)")
        for ax, text in zip(axes[:, 0], ("queue (packets)", "window (packets)", "utilisation (%)"), strict=True):
            ax.set_ylabel(text)


def round_trips(lab: Lab, file: str, settings: Mapping[str, float | Sequence[float]]) -> None:
    """Compare a short and a long round trip, as figures 6, 7, 10 and 11 do."""
    (short, _), (long, _) = settings.items()
    seeds = seeds_of(lab, file, SEEDS)
    results = lab.run(
        {name: at(lab, file, rtt) for name, rtt in settings.items()},
        seeds=seeds,
        trace_links=True,
        trace_flows=TRACED[file],
    )
    traces_figure(lab, {name: runs[0] for name, runs in results.items()})
    average = [inside(run, "link_average_packets")[1].mean() for run in results[short]]
    lab.claim(
        f"{short}: mean of RED's average lies in [50, 100]",
        50 <= np.mean(average) <= 100,
        ours=f"{spread(average)} packets",
        printed="between the thresholds",
        exact=True,
        robust=True,
    )
    used = [float(run.links.loc["bottleneck", "utilization"]) for run in results[short]]
    lab.claim(
        f"{short}: utilisation is 99.5 % or more",
        np.mean(used) >= 0.995,
        ours=spread(used, "{:.2%}"),
        printed="100 %",
        robust=True,
    )
    together = {name: [analysis.window_correlation(windows(run)[1]) for run in runs] for name, runs in results.items()}
    lab.claim(
        f"{short}: mean pairwise correlation of windows is below 0.2",
        np.mean(together[short]) < 0.2,
        ours=spread(together[short], "{:.2f}"),
        printed="desynchronised",
        robust=True,
    )
    worst = [least(run) for run in results[long]]
    lab.claim(
        f"{long}: the worst second's utilisation is below 95 %",
        np.mean(worst) < 0.95,
        ours=spread(worst, "{:.1%}"),
        printed="drops",
        robust=True,
    )
    lab.claim(
        f"{long}: mean pairwise correlation of windows is above 0.5",
        np.mean(together[long]) > 0.5,
        ours=spread(together[long], "{:.2f}"),
        printed="synchronised",
    )
    swings = {name: [oscillates(run) for run in runs] for name, runs in results.items()}
    lab.claim(
        "the queue oscillates at the long round trip and not at the short one, in all seeds",
        all(swings[long]) and not any(swings[short]),
        ours=f"{short}: {sum(swings[short])} of {seeds}; {long}: {sum(swings[long])} of {seeds}",
        printed="oscillates, random",
    )


@paper.item("fig-6", "RED at round trips of 10 and 200 ms", "section V-A.1, figure 6")
def figure_6(lab: Lab) -> None:
    """All flows at one round trip."""
    round_trips(lab, "dumbbell-red", {"10 ms": 10, "200 ms": 200})
    short = lab.run({0: at(lab, "dumbbell-red", 10)}, seeds=lab.pick(SEEDS, 1), trace_links=True, trace_flows=15)[0]
    mean = [windows(run)[1].mean() for run in short]
    lab.claim(
        "10 ms: mean window is 10 packets to within 15 %",
        abs(np.mean(mean) / 10 - 1) <= 0.15,
        ours=f"{spread(mean)} packets",
        printed="around 10 packets",
        robust=True,
    )


@paper.item("fig-7", "RED at two round trips together", "section V-A.1, figure 7")
def figure_7(lab: Lab) -> None:
    """Half of the flows at one round trip, half at three times that."""
    round_trips(lab, "dumbbell-red", {"5 and 15 ms": (5, 15), "100 and 300 ms": (100, 300)})


# figure 8: averaging


@paper.item("fig-8", "RED with and without averaging", "section V-A.2, figure 8")
def figure_8(lab: Lab) -> None:
    """Queue at 25 ms, and the worst second's utilisation against the round trip."""
    averaging(lab, "dumbbell-red")
    lab.note(
        "With a maximum probability of 0.5 in the place of 0.1 all that is printed of this figure holds: none of it "
        "shows a wrong one. Figure 6 does."
    )


def averaging(lab: Lab, file: str) -> None:
    """Compare RED with and without averaging, as figures 8 and 12 do."""
    variants = {"with averaging": "auto", "without averaging": "off"}
    results = lab.run(
        {name: at(lab, file, 25, link__queue__weight=weight) for name, weight in variants.items()},
        seeds=seeds_of(lab, file, SEEDS),
        trace_links=True,
    )
    caption = "Queue at 25 ms; grey: the thresholds, of which the upper one is the printed bound without averaging."
    with lab.figure("queue", caption, 1, 2, sharey=True, size=(9, 2.7)) as axes:
        for ax, (name, runs) in zip(axes[0], results.items(), strict=True):
            ax.plot(*inside(runs[0], "link_queue_packets"), color=style.BLUE, linewidth=0.8)
            for threshold in (50, 100):
                ax.axhline(threshold, color=style.GREY, linewidth=0.7, linestyle=style.DOTTED)
            ax.set(title=name, xlabel="time (s)", ylim=(0, None), xlim=runs[0].window)
        axes[0][0].set_ylabel("queue (packets)")
    queues = {name: [inside(run, "link_queue_packets")[1] for run in runs] for name, runs in results.items()}
    peaks = [float(queue.max()) for queue in queues["without averaging"]]
    above = {name: 100 * float(np.mean([np.mean(queue > 100) for queue in many])) for name, many in queues.items()}
    lab.claim(
        "25 ms, without averaging: the queue never exceeds 100 packets",
        max(peaks) <= 100,
        ours=f"at most {spread(peaks, '{:.0f}')} packets; above 100 for {above['without averaging']:.1f} % of the "
        f"time, with averaging {above['with averaging']:.0f} %",
        printed="does not increase beyond the upper threshold",
        exact=True,
    )
    lab.claim(
        "25 ms: the queue exceeds the upper threshold for less of the time without averaging, by a factor of 3 or more",
        3 * above["without averaging"] < above["with averaging"],
        ours=f"{above['without averaging']:.1f} % and {above['with averaging']:.1f} % of the time",
        printed="qualitative difference",
    )
    hard = {"link__queue__gentle": False, "link__queue__mode": "packets", "link__queue__weight": "off"}
    cut = lab.run({"": at(lab, file, 25, **hard)}, seeds=seeds_of(lab, file, SEEDS), trace_links=True)[""]
    most = [float(inside(run, "link_queue_packets")[1].max()) for run in cut]
    lab.claim(
        "25 ms, without averaging, without the gentle slope and with thresholds in packets: the queue never exceeds "
        "100 packets, in every seed",
        max(most) <= 100,
        ours=f"at most {spread(most, '{:.0f}')} packets",
    )
    worst_seconds(lab, file, variants)


def worst_seconds(lab: Lab, file: str, variants: Mapping[str, str]) -> None:
    """Judge the least utilisation against the round trip, of RED with and without averaging."""
    times = lab.pick(ROUND_TRIPS, QUICK_ROUND_TRIPS)
    sweep = lab.run(
        {
            (name, rtt): at(lab, file, rtt, link__queue__weight=weight)
            for name, weight in variants.items()
            for rtt in times
        },
        seeds=seeds_of(lab, file, SWEEP_SEEDS),
    )
    worst = {key: [least(run) for run in runs] for key, runs in sweep.items()}
    caption = (
        "Utilisation of the worst second of the last 25, mean and range over seeds. The paper's curves have no numbers "
        "in the text."
    )
    with lab.figure("utilisation", caption, size=(6, 3)) as axes:
        against(axes[0][0], times, worst, dict(zip(variants, (style.SERIES[1], style.SERIES[0]), strict=True)), 100)
        axes[0][0].set(ylabel="least utilisation (%)")
    means = {key: float(np.mean(values)) for key, values in worst.items()}
    errors = {key: standard_error(values) for key, values in worst.items()}

    first, last = times[0], times[-1]
    lab.claim(
        f"in both regimes the worst second's utilisation is lower at {last} than at {first} ms",
        all(means[name, last] < means[name, first] for name in variants),
        ours="; ".join(f"{name} {means[name, last]:.1%} and {means[name, first]:.1%}" for name in variants),
        printed="as RTT increases, the link utilisation falls in both the regimes",
        robust=True,
    )

    def is_behind(rtt: float) -> bool:
        gap = means["with averaging", rtt] - means["without averaging", rtt]
        noise = float(np.hypot(errors["with averaging", rtt], errors["without averaging", rtt]))
        return gap > max(2 * noise, TIE)

    behind = [rtt for rtt in times if is_behind(rtt)]
    lab.claim(
        "the worst second is better without averaging, or equal to within two standard errors, at every round trip",
        not behind,
        ours="at all" if not behind else f"not at {listed(behind)} ms",
        printed="higher when queue size averaging is not performed",
    )
    lab.claim(
        "the worst second is better without averaging, by three points or more, from 100 ms on",
        all(means["without averaging", rtt] > means["with averaging", rtt] + 0.03 for rtt in times if rtt >= 100),
        ours="; ".join(
            f"{rtt} ms: {means['without averaging', rtt]:.1%} and {means['with averaging', rtt]:.1%}"
            for rtt in times
            if rtt >= 100
        ),
        robust=not file.startswith("mixed"),
    )


TIE = 0.002
"""Utilisations that are nearer than this are equal."""


def listed(numbers: Sequence[float]) -> str:
    """Return numbers as words with commas."""
    return ", ".join(f"{number:g}" for number in numbers)


def against(
    ax: Any,
    times: Sequence[float],
    values: Mapping[tuple[str, float], Sequence[float]],
    looks: Mapping[str, Mapping[str, Any]],
    scale: float = 1,
) -> None:
    """Draw means and ranges over seeds against the round trip."""
    for name, look in looks.items():
        mean, low, high = (
            scale * np.array([function(values[name, rtt]) for rtt in times]) for function in (np.mean, np.min, np.max)
        )
        ax.plot(times, mean, label=name, **look)
        ax.fill_between(times, low, high, color=look["color"], alpha=0.15, linewidth=0)
    ax.set(xlabel="round trip (ms)", xlim=(0, 205))
    ax.legend(frameon=False)


# figure 9: thresholds


@paper.item("fig-9", "Small and large thresholds of RED", "section V-A.3, figure 9")
def figure_9(lab: Lab) -> None:
    """Thresholds 8 and 15, and 100 and 200, at 100 ms."""
    thresholds(lab, "dumbbell-red")


def thresholds(lab: Lab, file: str) -> None:
    """Compare small and large thresholds, as figures 9 and 13 do."""
    variants = {"8 and 15": (8, 15), "100 and 200": (100, 200)}
    results = lab.run(
        {
            name: at(
                lab,
                file,
                100,
                link__queue__min_threshold=f"{low} packets",
                link__queue__max_threshold=f"{high} packets",
            )
            for name, (low, high) in variants.items()
        },
        seeds=seeds_of(lab, file, SEEDS),
        trace_links=True,
    )
    with lab.figure(
        "queue", "Queue at 100 ms; grey: the thresholds. No other numbers are printed.", 1, 2, size=(9, 2.7)
    ) as axes:
        for ax, (name, runs) in zip(axes[0], results.items(), strict=True):
            ax.plot(*inside(runs[0], "link_queue_packets"), color=style.BLUE, linewidth=0.8)
            for threshold in variants[name]:
                ax.axhline(threshold, color=style.GREY, linewidth=0.7, linestyle=style.DOTTED)
            ax.set(title=f"thresholds {name} packets", xlabel="time (s)", ylim=(0, None), xlim=runs[0].window)
        axes[0][0].set_ylabel("queue (packets)")
    coherence, period = {}, {}
    for name, runs in results.items():
        interval = float(runs[0].traces.attrs["interval"])
        swings = [analysis.find_oscillation(inside(run, "link_queue_packets")[1], interval) for run in runs]
        coherence[name] = [swing.coherence if swing else 0.0 for swing in swings]
        period[name] = [swing.period for swing in swings if swing]
    lab.claim(
        "thresholds 100 and 200: the queue oscillates (coherence above 0.8)",
        np.mean(coherence["100 and 200"]) > 0.8,
        ours=f"coherence {spread(coherence['100 and 200'], '{:.2f}')}, period {np.mean(period['100 and 200']):.2f} s",
        printed="oscillates",
    )
    shown = f", period {np.mean(period['8 and 15']):.2f} s" if period["8 and 15"] else ""
    lab.claim(
        "thresholds 8 and 15: the queue varies randomly (coherence below 0.4)",
        np.mean(coherence["8 and 15"]) < 0.4,
        ours=f"coherence {spread(coherence['8 and 15'], '{:.2f}')}{shown}",
        printed="varies randomly",
    )
    lab.claim(
        "the queue repeats less exactly with the small thresholds (coherence lower by 0.1 or more)",
        np.mean(coherence["8 and 15"]) < np.mean(coherence["100 and 200"]) - 0.1,
        ours=f"{np.mean(coherence['8 and 15']):.2f} and {np.mean(coherence['100 and 200']):.2f}",
    )


# figures 10 to 13: mixed traffic


@paper.item("fig-10", "Mixed traffic over RED at round trips of 10 and 200 ms", "section V-B, figure 10")
def figure_10(lab: Lab) -> None:
    """Figure 6 with mixed traffic."""
    round_trips(lab, "mixed-dumbbell-red", {"10 ms": 10, "200 ms": 200})


@paper.item("fig-11", "Mixed traffic over RED at two round trips together", "section V-B, figure 11")
def figure_11(lab: Lab) -> None:
    """Figure 7 with mixed traffic."""
    round_trips(lab, "mixed-dumbbell-red", {"5 and 15 ms": (5, 15), "100 and 300 ms": (100, 300)})


@paper.item("fig-12", "Mixed traffic over RED with and without averaging", "section V-B, figure 12")
def figure_12(lab: Lab) -> None:
    """Figure 8 with mixed traffic."""
    averaging(lab, "mixed-dumbbell-red")


@paper.item("fig-13", "Mixed traffic over small and large thresholds of RED", "section V-B, figure 13")
def figure_13(lab: Lab) -> None:
    """Figure 9 with mixed traffic."""
    thresholds(lab, "mixed-dumbbell-red")


# figures 14, 15, 17, 18, 19: the threshold policy

paper.item("fig-14", "The threshold policy's Hopf curve and limit cycles", "section VI-A, figure 14")(theory.figure_14)


@paper.item("fig-15", "RED and the threshold policy", "section VI-C.1, figure 15", setting=SPREAD)
def figure_15(lab: Lab) -> None:
    """Queue and utilisation over one bottleneck, at 10 and 200 ms."""
    printed = lab.printed["fig-15"]
    limit = printed["threshold"]
    results = lab.run(
        {
            (policy, rtt): policy_scenario(lab, f"dumbbell-{name}", rtt)
            for rtt in (10, 200)
            for policy, name in POLICIES.items()
        },
        seeds=lab.pick(SEEDS, 1),
        trace_links=True,
    )
    caption = "Queue (left) and utilisation in each second (right), at 10 and 200 ms; one of the seeds."
    with lab.figure("traces", caption, 2, 2, size=(9, 5), sharex=True, sharey="col") as axes:
        for row, rtt in enumerate((10, 200)):
            left, right = axes[row]
            for policy in POLICIES:
                result = results[policy, rtt][0]
                color = LOOKS[policy]["color"]
                left.plot(*inside(result, "link_queue_packets"), color=color, linewidth=0.7, label=policy)
                seconds(right, result, color=color, label=policy)
            for level, text in ((limit, "printed: threshold"), (printed["burst"], "printed: bursts of RED")):
                left.axhline(level, color=style.BLACK, linewidth=0.8, linestyle=style.DOTTED, label=text)
            left.set(ylabel=f"{rtt} ms: queue (packets)", xlim=result.window, ylim=(0, 100))
            right.set(ylabel="utilisation (%)", ylim=(0, 104))
        for ax in axes[1]:
            ax.set_xlabel("time (s)")
        axes[0][0].legend(frameon=False, loc="upper right", fontsize=7)
        axes[1][1].axhline(100 * printed["utilization_min_threshold"], color=style.BLACK, linestyle=style.DOTTED)
        axes[1][1].axhline(100 * printed["utilization_min_red"], color=style.BLACK, linestyle=style.DOTTED)
    for rtt in (10, 200):
        most = [float(run.links.loc["bottleneck", "queue_packets_max"]) for run in results["threshold", rtt]]
        lab.claim(
            f"{rtt} ms: the threshold policy's queue stays at or below {limit} packets",
            max(most) <= limit,
            ours=f"largest {max(most):.0f} packets",
            printed="below 15 packets",
            exact=True,
            robust=True,
        )
        peak = [float(run.links.loc["bottleneck", "queue_packets_max"]) for run in results["RED", rtt]]
        lab.claim(
            f"{rtt} ms: RED's queue bursts up to {printed['burst']} packets: the range of the seeds has it",
            min(peak) <= printed["burst"] <= max(peak),
            ours=f"largest {spread(peak, '{:.0f}')} packets",
            printed=f"up to {printed['burst']} packets",
            exact=True,
        )
    full = [float(run.links.loc["bottleneck", "utilization"]) for run in results["threshold", 10]]
    lab.claim(
        "10 ms: the threshold policy's utilisation is 99.5 % or more",
        np.mean(full) >= 0.995,
        ours=spread(full, "{:.2%}"),
        printed="100 %",
        robust=True,
    )
    worst = {policy: [least(run) for run in results[policy, 200]] for policy in POLICIES}
    lab.claim(
        "200 ms: the threshold policy's worst second is better than RED's",
        np.mean(worst["threshold"]) > np.mean(worst["RED"]),
        ours="; ".join(f"{policy} {spread(values, '{:.1%}')}" for policy, values in worst.items()),
        printed="79 % and 38 %",
        exact=True,
        robust=True,
    )
    fine = lab.run(
        {
            policy: policy_scenario(lab, f"dumbbell-{name}", 200).with_({"scenario.sample": "1 ms"})
            for policy, name in POLICIES.items()
        },
        seeds=lab.pick(SEEDS, 1),
        trace_links=True,
    )
    lowest = {
        (width, policy): [100 * float(binned(inside(run, "link_utilization")[1], width).min()) for run in runs]
        for width in (1, 5, 6, 8, 10, 20, 100, 1000)
        for policy, runs in fine.items()
    }
    widths = list(dict.fromkeys(width for width, _ in lowest))
    lab.table(
        "Least utilisation at 200 ms (%), by the bin it is taken over",
        ["bin", *POLICIES],
        [[f"{width} ms", *(spread(lowest[width, policy], "{:.1f}") for policy in POLICIES)] for width in widths],
    )
    wanted = {policy: 100 * printed[f"utilization_min_{policy.lower()}"] for policy in POLICIES}
    off = {width: max(abs(np.mean(lowest[width, policy]) - wanted[policy]) for policy in POLICIES) for width in widths}
    best = min(widths, key=lambda width: off[width])
    lab.claim(
        "200 ms: over one of these bins the least utilisation is 79 % (threshold) and 38 % (RED), within three points",
        off[best] <= 3,
        ours=f"nearest over {best} ms: "
        + "; ".join(f"{policy} {spread(lowest[best, policy], '{:.1f}')} %" for policy in POLICIES),
        printed="79 % and 38 %",
    )


def binned(values: NDArray[np.float64], width: int) -> NDArray[np.float64]:
    """Return means over `width` samples."""
    return values[: len(values) // width * width].reshape(-1, width).mean(axis=1)


CASES: dict[str, tuple[str, tuple[str, ...]]] = {
    "dumbbell": ("dumbbell", ("bottleneck",)),
    "dumbbell, mixed": ("mixed-dumbbell", ("bottleneck",)),
    "parking lot": ("parking-lot", ("first", "second")),
    "parking lot, mixed": ("mixed-parking-lot", ("first", "second")),
}
"""Topologies: beginning of the scenario files' names, links."""


def spread_out(rtt: float) -> str:
    """Return round trips within 15 % of their mean: equal ones lock phases (figures 15 to 19)."""
    return f"uniform {0.85 * rtt:g} ms .. {1.15 * rtt:g} ms"


SMALL = {"link__queue__min_threshold": "8 packets", "link__queue__max_threshold": "15 packets"}
"""RED's thresholds in section VI."""


def policy_runs(lab: Lab, case: str) -> dict[tuple[str, float], list[Result]]:
    """Run both policies at every round trip."""
    seeds = seeds_of(lab, CASES[case][0], SWEEP_SEEDS)
    return lab.run(policy_scenarios(lab, case), seeds=seeds)


def policy_scenarios(lab: Lab, case: str) -> dict[tuple[str, float], Scenario]:
    """Return both policies' scenarios at every round trip."""
    prefix, _ = CASES[case]
    return {
        (policy, float(rtt)): policy_scenario(lab, f"{prefix}-{name}", rtt)
        for policy, name in POLICIES.items()
        for rtt in lab.pick(ROUND_TRIPS, QUICK_ROUND_TRIPS)
    }


def policy_scenario(lab: Lab, file: str, rtt: float, **keys: Any) -> Scenario:
    """Return a policy's scenario of section VI at a mean round trip."""
    small = SMALL if file.endswith("-red") else {}
    return at(lab, file, rtt, **small, **keys).with_({"flows.rtt": spread_out(rtt)})


def completion_runs(lab: Lab, case: str) -> dict[tuple[str, float], list[Result]]:
    """Run both policies at every round trip until each long-lived flow has transferred 500 MB."""

    def finite(scenario: Scenario) -> Scenario:
        transfer = {"kind": "transfer", "size": lab.pick("500 MB", "10 MB")}
        endless = [entry["name"] for entry in scenario.tree["flows"] if "traffic" not in entry]
        return scenario.with_(
            {
                **{f"flows.{name}.traffic": transfer for name in endless},
                "scenario.duration": "until done",
                "scenario.measure": "whole run",
            }
        )

    return lab.run({key: finite(scenario) for key, scenario in policy_scenarios(lab, case).items()})


def of_runs(
    runs: Mapping[tuple[str, float], Sequence[Result]], measure: Callable[[Result], float]
) -> dict[tuple[str, float], list[float]]:
    """Measure every run."""
    return {key: [measure(run) for run in many] for key, many in runs.items()}


def total_loss(result: Result) -> float:
    """Return the fraction of the packets sent that were dropped at any link."""
    return float(result.classes.loc["all", "drops"]) / float(result.classes.loc["all", "sent"])


def completion(result: Result) -> float:
    """Return the mean completion time of the long-lived flows, s; HTTP responses do not count."""
    flows = result.flows
    return float(flows["completion"][~flows["class"].astype(str).str.endswith("HTTP")].mean())


def everywhere(
    values: Mapping[tuple[str, float], Sequence[float]], good: Callable[[Sequence[float], Sequence[float]], bool]
) -> tuple[bool, list[float]]:
    """Return whether the threshold policy's values compare well with RED's at every round trip, and where not."""
    bad = [rtt for policy, rtt in values if policy == "RED" and not good(values["threshold", rtt], values["RED", rtt])]
    return not bad, bad


def below(ours: Sequence[float], other: Sequence[float]) -> bool:
    """Whether a mean is below another, or not above it by more than two standard errors and 0.2 %: ties are none."""
    noise = 2 * float(np.hypot(standard_error(ours), standard_error(other)))
    return float(np.mean(ours) - np.mean(other)) <= max(noise, TIE * float(np.mean(other)))


def within(share: float) -> Callable[[Sequence[float], Sequence[float]], bool]:
    """Return whether means are equal to within a share of the second."""
    return lambda ours, other: abs(float(np.mean(ours)) / float(np.mean(other)) - 1) <= share


def verdict_text(bad: Sequence[float], values: Mapping[tuple[str, float], Sequence[float]], form: str) -> str:
    """Say where a comparison fails, and the values at the ends."""
    ends = (min(rtt for _, rtt in values), max(rtt for _, rtt in values))
    shown = "; ".join(
        f"{rtt:g} ms: {form.format(np.mean(values['threshold', rtt]))} (threshold), "
        f"{form.format(np.mean(values['RED', rtt]))} (RED)"
        for rtt in ends
    )
    return shown if not bad else f"not at {listed(bad)} ms; {shown}"


@paper.item(
    "fig-17",
    "RED and the threshold policy over a parking lot, mixed traffic",
    "section VI-C.2, figure 17",
    setting=SPREAD,
)
def figure_17(lab: Lab) -> None:
    """Both queues at 10 and 200 ms."""
    burst = lab.printed["fig-17"]["burst"]
    limit = lab.printed["fig-15"]["threshold"]
    results = lab.run(
        {
            (policy, rtt): policy_scenario(lab, f"mixed-parking-lot-{name}", rtt)
            for rtt in (10, 200)
            for policy, name in POLICIES.items()
        },
        seeds=lab.pick(2, 1),
        trace_links=True,
    )
    caption = "Both queues; one of the seeds. Dotted: the printed threshold and largest bursts of RED."
    with lab.figure("queues", caption, 2, 2, size=(9, 5), sharex=True, sharey=True) as axes:
        for row, rtt in enumerate((10, 200)):
            for column, link in enumerate(("first", "second")):
                for policy in POLICIES:
                    result = results[policy, rtt][0]
                    time, queue = inside(result, "link_queue_packets", link)
                    axes[row][column].plot(time, queue, color=LOOKS[policy]["color"], linewidth=0.7, label=policy)
                for level, text in ((limit, "printed"), (burst, None)):
                    look = {"color": style.BLACK, "linewidth": 0.8, "linestyle": style.DOTTED}
                    axes[row][column].axhline(level, label=text, **look)
                axes[row][column].set(xlim=result.window, title=f"{rtt} ms, {link} link")
            axes[row][0].set_ylabel("queue (packets)")
        for ax in axes[1]:
            ax.set_xlabel("time (s)")
        axes[0][0].set_ylim(bottom=0)
        axes[0][1].legend(frameon=False)
    for rtt in (10, 200):
        peaks = {
            policy: [float(run.links["queue_packets_max"].max()) for run in results[policy, rtt]] for policy in POLICIES
        }
        lab.claim(
            f"{rtt} ms: the threshold policy keeps both queues at or below {limit} packets",
            max(peaks["threshold"]) <= limit,
            ours=f"largest {max(peaks['threshold']):.0f} packets",
            printed=f"at {limit} packets",
            exact=True,
            robust=True,
        )
        lab.claim(
            f"{rtt} ms: RED's queues reach {burst} packets: the range of the seeds has it",
            min(peaks["RED"]) <= burst <= max(peaks["RED"]),
            ours=f"largest {spread(peaks['RED'], '{:.0f}')} packets",
            printed=f"up to about {burst} packets",
            exact=True,
        )


@paper.item(
    "fig-18", "Queueing delay and completion time against the round trip", "section VI-C, figure 18", setting=SPREAD
)
def figure_18(lab: Lab) -> None:
    """RED with thresholds 8 and 15 against the threshold policy at 15."""
    times = [float(rtt) for rtt in lab.pick(ROUND_TRIPS, QUICK_ROUND_TRIPS)]
    cases = lab.pick(list(CASES), ["dumbbell"])
    delays, completions = {}, {}
    for case in cases:
        _, links = CASES[case]
        delays[case] = of_runs(
            policy_runs(lab, case),
            lambda run, links=links: 1e3 * sum(float(run.links.loc[link, "delay_mean"]) for link in links),
        )
        completions[case] = of_runs(completion_runs(lab, case), completion)
    caption = (
        "Mean queueing delay (sum of both queues in the parking lot) and mean completion time of 500 MB a flow. The "
        f"text has one number of them, a gap of {lab.printed['fig-18']['afct_gap_minutes']} minutes at 200 ms over the "
        "dumbbell."
    )
    with lab.figure("delay", caption, 2, len(cases), size=(13, 5.4), sharex=True) as axes:
        for column, case in enumerate(cases):
            against(axes[0][column], times, delays[case], LOOKS)
            against(axes[1][column], times, completions[case], LOOKS)
            axes[0][column].set(title=case, xlabel="")
            axes[0][column].set_ylim(bottom=0)
        axes[0][0].set_ylabel("queueing delay (ms)")
        axes[1][0].set_ylabel("completion time (s)")
    for case in cases:
        lower, bad = everywhere(delays[case], below)
        lab.claim(
            f"{case}: mean queueing delay below RED's, or equal to within two standard errors, at every round trip",
            lower,
            ours=verdict_text(bad, delays[case], "{:.2f} ms"),
            printed="smaller",
        )
        lower, bad = everywhere(completions[case], below)
        lab.claim(
            f"{case}: mean completion time below RED's, or equal to within two standard errors, at every round trip",
            lower,
            ours=verdict_text(bad, completions[case], "{:.0f} s"),
            printed="shorter",
        )
    gap = (completions["dumbbell"]["RED", 200.0][0] - completions["dumbbell"]["threshold", 200.0][0]) / 60
    minutes = lab.printed["fig-18"]["afct_gap_minutes"]
    lab.claim(
        f"dumbbell, 200 ms: completion times differ by {minutes} minutes, to within 2",
        abs(gap - minutes) <= 2,
        ours=f"{gap:.1f} min",
        printed=f"about {minutes} min",
    )
    lab.claim(
        "completion time grows more steeply with the round trip under RED (dumbbell, from the shortest to the longest)",
        slope(completions["dumbbell"], "RED") > slope(completions["dumbbell"], "threshold"),
        ours=f"{slope(completions['dumbbell'], 'RED'):.2f} s a ms (RED), "
        f"{slope(completions['dumbbell'], 'threshold'):.2f} s a ms (threshold)",
        printed="steeper",
        exact=True,
    )


def slope(values: Mapping[tuple[str, float], Sequence[float]], policy: str) -> float:
    """Return the mean rise of a measure per unit of round trip."""
    times = [rtt for name, rtt in values if name == policy]
    low, high = min(times), max(times)
    return float(np.mean(values[policy, high]) - np.mean(values[policy, low])) / (high - low)


@paper.item("fig-19", "Loss and throughput against the round trip", "section VI-C, figure 19", setting=SPREAD)
def figure_19(lab: Lab) -> None:
    """The same runs as figure 18."""
    times = [float(rtt) for rtt in lab.pick(ROUND_TRIPS, QUICK_ROUND_TRIPS)]
    cases = lab.pick(list(CASES), ["dumbbell"])
    losses, rates, shares, starved = {}, {}, {}, {}
    for case in cases:
        _, links = CASES[case]
        runs = policy_runs(lab, case)
        losses[case] = of_runs(runs, lambda run: 100 * total_loss(run))
        shares[case] = of_runs(runs, lambda run: float(run.classes.loc["all", "jain"]))
        starved[case] = of_runs(runs, lambda run: float(run.classes.loc["all", "starved"]))
        rates[case] = of_runs(
            runs,
            lambda run, links=links: 100 * sum(float(run.links.loc[link, "utilization"]) for link in links),
        )
    caption = (
        "Packets dropped at any link over packets sent; throughput (of both links together in the parking lot). The "
        "text has no numbers of them."
    )
    with lab.figure("loss", caption, 2, len(cases), size=(13, 5.4), sharex=True) as axes:
        for column, case in enumerate(cases):
            against(axes[0][column], times, losses[case], LOOKS)
            against(axes[1][column], times, rates[case], LOOKS)
            axes[0][column].set(title=case, xlabel="")
            axes[0][column].set_ylim(bottom=0)
            axes[1][column].set_ylim(bottom=0)
        axes[0][0].set_ylabel("loss (%)")
        axes[1][0].set_ylabel("throughput (Mbit/s)")
    for case in cases:
        equal, bad = everywhere(rates[case], within(0.02))
        lab.claim(
            f"{case}: throughput equal to RED's to within 2 % at every round trip",
            equal,
            ours=verdict_text(bad, rates[case], "{:.1f} Mbit/s"),
            printed="equal",
        )
    long = {key: values for key, values in losses["dumbbell"].items() if key[1] >= 100}
    lower, bad = everywhere(long, below)
    lab.claim(
        "dumbbell: loss below RED's at every round trip of 100 ms or more",
        lower,
        ours=verdict_text(bad, long, "{:.3f} %"),
        printed="drops below that of RED for large round trips",
    )
    near, bad = everywhere(losses["dumbbell"], within(0.25))
    lab.claim(
        "dumbbell: loss within a quarter of RED's at every round trip",
        near,
        ours=verdict_text(bad, losses["dumbbell"], "{:.3f} %"),
        printed="almost equal",
    )
    for case in cases:
        if "parking lot" in case:
            short = {key: values for key, values in losses[case].items() if key[1] <= 40}
            higher, bad = everywhere(short, lambda ours, other: np.mean(other) < np.mean(ours) <= 1.25 * np.mean(other))
            lab.claim(
                f"{case}: loss above RED's by at most a quarter at every round trip of 40 ms or less",
                higher,
                ours=verdict_text(bad, short, "{:.3f} %"),
                printed="marginally higher",
            )
    for case in cases:
        lab.table(
            f"{case}: Jain index of long-lived flows, and how many are starved (below a tenth of their share)",
            ["round trip (ms)", "threshold: Jain", "starved", "RED: Jain", "starved"],
            [
                [
                    f"{rtt:g}",
                    *(
                        f"{np.mean(of[case][policy, rtt]):.3g}"
                        for policy in ("threshold", "RED")
                        for of in (shares, starved)
                    ),
                ]
                for rtt in times
            ],
        )
    starving = {
        policy: [float(np.mean(of["dumbbell"][policy, 10.0])) for of in (starved, shares)] for policy in POLICIES
    }
    lab.claim(
        "dumbbell, 10 ms: the threshold policy locks flows out, five or more of sixty, where RED starves none",
        starving["threshold"][0] >= 5 and starving["RED"][0] == 0,
        ours=f"{starving['threshold'][0]:.3g} flows (Jain {starving['threshold'][1]:.3g}) and {starving['RED'][0]:.3g} "
        f"(Jain {starving['RED'][1]:.3g}): fifty flows at their access rate fill the link exactly",
    )


TEXTBOOK: dict[str, Any] = {"flows.compound.congestion": "compound"}
RFC_6675: dict[str, Any] = {
    "flows.compound.reduction": "at-once",
    "flows.compound.dup_threshold": 3,
    "flows.compound.detect_lost_retransmissions": False,
    "flows.compound.restart_rto_on_every_ack": False,
}
SENDERS: dict[str, dict[str, Any]] = {
    "ns-2's agent": {},
    "textbook's law, ns-2's recovery": TEXTBOOK,
    "textbook's law, RFC 6675": TEXTBOOK | RFC_6675,
}
"""Compound and its recovery as the paper's simulator has them, and as they are written."""


@paper.item("sender", "Compound as ns-2 has it, and by the textbook's law", "ours, of sections V and VI")
def senders(lab: Lab) -> None:
    """The set-ups of figures 6, 15 and 18 with both, and with access and round trips as the paper leaves them open."""
    red = {
        f"RED 50, 100, {rtt} ms": at(lab, "dumbbell-red", rtt) for rtt in lab.pick((10, 100, 200), QUICK_ROUND_TRIPS)
    }
    small = {"RED 8, 15, 200 ms": policy_scenario(lab, "dumbbell-red", 200)}
    threshold = {"threshold 15, 200 ms": policy_scenario(lab, "dumbbell-threshold", 200)}
    base = red | small | threshold
    seeds = lab.pick(SWEEP_SEEDS, 1)
    results = lab.run(
        {(name, sender): scenario.with_(keys) for name, scenario in base.items() for sender, keys in SENDERS.items()},
        seeds=seeds,
    )

    def row(result: Result) -> list[float]:
        link = result.links.loc["bottleneck"]
        keys = ("utilization", "loss", "queue_packets_mean", "queue_packets_std")
        return [float(link[key]) for key in keys]

    means = {key: np.mean([row(run) for run in runs], axis=0) for key, runs in results.items()}
    lab.table(
        "Utilisation, loss (%), mean queue and its deviation (packets), by the sender",
        ["set-up", "sender", "utilisation", "loss", "queue", "deviation"],
        [
            [name, sender, f"{value[0]:.3f}", f"{100 * value[1]:.3f}", f"{value[2]:.1f}", f"{value[3]:.1f}"]
            for (name, sender), value in means.items()
        ],
    )
    first, *_, last = SENDERS
    change = [
        means[f"RED 50, 100, {rtt} ms", last][1] / means[f"RED 50, 100, {rtt} ms", first][1] - 1
        for rtt in QUICK_ROUND_TRIPS
    ]
    lab.claim(
        "the sender decides at long round trips: loss differs by up to a tenth at 10 ms, by a fifth or more at 200 ms",
        abs(change[0]) <= 0.1 and change[1] >= 0.2,
        ours=f"{last}, over {first}: {change[0]:+.1%} at 10 ms, {change[1]:+.1%} at 200 ms",
    )
    locked = {"equal round trips, access without limit": {"flows.rtt": None, "flows.access_buffer": "unlimited"}}
    locked |= {"equal round trips": {"flows.rtt": None}, "access without limit": {"flows.access_buffer": "unlimited"}}
    locked |= {"as above": {}}
    rows = []
    starved = {}
    for rtt in lab.pick((10, 70, 200), QUICK_ROUND_TRIPS):
        for policy, name in POLICIES.items():
            plain = policy_scenario(lab, f"dumbbell-{name}", rtt)
            variants = {
                text: plain.with_({key: f"{rtt} ms" if value is None else value for key, value in keys.items()})
                for text, keys in locked.items()
            }
            for text, runs in lab.run(variants, seeds=seeds).items():
                delay = np.mean([1e3 * float(run.links.loc["bottleneck", "delay_mean"]) for run in runs])
                lost = np.mean([100 * total_loss(run) for run in runs])
                starved[rtt, policy, text] = float(np.mean([run.classes.loc["all", "starved"] for run in runs]))
                rows.append(
                    [f"{rtt} ms", policy, text, f"{delay:.2f}", f"{lost:.2f}", f"{starved[rtt, policy, text]:.1f}"]
                )
    lab.table(
        "What the paper does not print decides figures 15 to 19: queueing delay (ms), loss (%), starved flows of sixty",
        ["round trip", "policy", "setting", "delay", "loss", "starved"],
        rows,
    )
    lab.claim(
        "threshold policy, 10 ms: five or more of sixty flows starve with and without access buffers",
        min(starved[10, "threshold", text] for text in locked) >= 5,
        ours="; ".join(f"{text}: {starved[10, 'threshold', text]:.1f}" for text in locked),
    )


@paper.item("lock-out", "When the threshold policy locks flows out", "ours, of section VI", counted=False)
def lock_out(lab: Lab) -> None:
    """Follow sixty flows at 10, 25 and 40 ms until fifty hold the link, where ever they do, beside ns-2."""
    seeds = lab.pick(10, 1)
    base = {rtt: policy_scenario(lab, "dumbbell-threshold", rtt) for rtt in (10, 25, 40)}
    late = lab.run(base, seeds=seeds)
    starved = {rtt: [int(run.classes.loc["all", "starved"]) for run in runs] for rtt, runs in late.items()}
    lost = {rtt: [100 * total_loss(run) for run in runs] for rtt, runs in late.items()}
    lab.claim(
        "475 to 500 s: ten of sixty flows starve at 10 and 25 ms, and none at 40 ms, in every seed",
        set(starved[10] + starved[25]) == {10} and not any(starved[40]),
        ours="; ".join(f"{rtt} ms: {spread(values, '{:.0f}')} flows" for rtt, values in starved.items())
        + "; loss "
        + "; ".join(f"{rtt} ms: {spread(values, '{:.3f}')} %" for rtt, values in lost.items()),
    )
    soon = {"scenario.duration": "45 s", "scenario.measure": "20 s .. 45 s"}
    early = lab.run({"": base[25].with_(soon)}, seeds=seeds)[""]
    values = [100 * total_loss(run) for run in early]
    locked = ", ".join(str(int(run.classes.loc["all", "starved"])) for run in early)
    lab.claim(
        "25 ms, 20 to 45 s: the loss of most seeds is still that of ns-2, 1 % or more",
        float(np.median(values)) >= 1,
        ours=f"{spread(values, '{:.2f}')} %; starved {locked}",
    )
    unequal = lab.run({"": base[25].with_({"flows.access_rate": "2.01 Mbit/s"})}, seeds=seeds)[""]
    none = [int(run.classes.loc["all", "starved"]) for run in unequal]
    lab.claim(
        "25 ms, access links of 2.01 Mbit/s, so that fifty are more than the link: none starves, in every seed",
        not any(none),
        ours=f"{spread(none, '{:.0f}')} flows; loss {spread([100 * total_loss(run) for run in unequal], '{:.2f}')} %",
    )
    lab.note(
        "Fifty access links of 2 Mbit/s are exactly the bottleneck's rate. Once fifty flows keep their access queues "
        "busy, each packet of theirs finds the slot that the last one left, and the others find the queue full: a "
        "state that ends only by accident. At 10 and 20 ms both engines are in it within a minute. At 25 ms ours "
        "comes to it after half a minute to four minutes, ns-2 in two of seven seeds within 100 s; until then loss, "
        "queue, windows and timeouts agree. Timers, recovery, thresholds of 14 to 16 packets, access buffers of 50 and "
        "the spread of round trips do not keep ours from it (six seeds each); without limited transmit four escape."
    )


paper.item("eq-40", "Conditions for the threshold policy", "section VI, equations (40) to (44)")(theory.equations_40)


@paper.item("fig-20", "Kind of the Hopf bifurcation", "appendix B, figure 20")
def figure_20(lab: Lab) -> None:
    """As printed, and how far the cycles exist."""
    theory.figure_20(lab)
    normal_form.figure_20(lab)


paper.item("appendix", "The terms of (47), and (57) to (68) in numbers", "appendix, table II, (45) to (68)")(
    normal_form.appendix
)
