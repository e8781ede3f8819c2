"""
Budzisz et al.: delay-based TCP that coexists with loss-based TCP.

The scenario files here are the packet set-ups; an item changes rates, numbers of flows and the AIMD as its figure says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import cx_tcp_analysis as theory
import numpy as np
from numpy.typing import NDArray

from ackclock import Result, Scenario
from ackclock.paper import Lab, Paper, Series, spread, standard_error
from ackclock.plot import style

paper = Paper(
    "On the Fair Coexistence of Loss- and Delay-Based TCP",
    "L. Budzisz, R. Stanojevic, A. Schlote, F. Baker and R. Shorten, IEEE/ACM Transactions on Networking, 2011.",
)

THRESHOLD = 20.0
"""delta_th, ms."""
PACKET = 1000
"""B."""
SEEDS = 5
HIGHSPEED = {"delay-based": {"congestion.base": "highspeed"}, "loss-based": {"congestion": "highspeed"}}
"""Section V-B: HighSpeed TCP in place of Reno, by class."""
NEWRENO = "NewReno's recovery, where table I has Reno"
"""With Reno's the ratio of figure 5 is 0.65 (its table)."""
Changes = Mapping[str, Any]


def at(lab: Lab, name: str, changes: Changes | None = None, *, highspeed: bool = False) -> Scenario:
    """Return a scenario file with keys changed; in quick mode shorter where nothing happens over time."""
    base = lab.scenario(name)
    classes = [entry["name"] for entry in base.tree["flows"]]
    keys: dict[str, Any] = {}
    if highspeed:
        for kind, change in HIGHSPEED.items():
            if kind in classes:
                keys |= {f"flows.{kind}.{key}": value for key, value in change.items()}
    if lab.quick and "change" not in base.tree:
        keys |= {"scenario.duration": "80 s", "scenario.measure": "20 s .. 80 s"}
    return base.with_({**keys, **(changes or {})})


def mean_delay(result: Result, link: str = "bottleneck") -> float:
    """Return a queue's mean delay, ms."""
    return 1e3 * float(result.links.loc[link, "delay_mean"])


def loss(result: Result, link: str = "bottleneck") -> float:
    """Return drops over arrivals, %."""
    return 100 * float(result.links.loc[link, "loss"])


def rate(result: Result, link: str) -> float:
    """Return a link's rate, packets/s: what it sent over the time in which it transmitted."""
    row = result.links.loc[link]
    start, end = result.window
    return float(row["bytes"]) / PACKET / (float(row["utilization"]) * (end - start))


def rates(result: Result, *kinds: str) -> NDArray[np.float64]:
    """Return goodputs of the flows of some classes, Mbit/s."""
    flows = result.flows
    return np.asarray(flows["goodput"][flows["class"].isin(kinds)], dtype=float) / 1e6


# over time


def delays(result: Result, link: str = "bottleneck", width: float = 1.0) -> Series:
    """Return times and a queue's delay (ms), averaged over `width` seconds; time zero is left out."""
    trace = result.traces["link_queue_packets"].sel(link=link)[1:]
    return binned(trace.to_numpy(), result, width, np.mean, 1e3 / rate(result, link))


def losses(result: Result, link: str = "bottleneck", width: float = 10.0) -> Series:
    """Return times and the drops over arrivals (%) in each `width` seconds."""
    traces = result.traces.sel(link=link)
    drops = np.diff(traces["link_drops"].to_numpy().astype(float))
    interval = float(result.traces.attrs["interval"])
    sent = traces["link_utilization"].to_numpy()[1:] * interval * rate(result, link)
    times, dropped = binned(drops, result, width, np.sum)
    return times, 100 * dropped / (dropped + binned(sent, result, width, np.sum)[1])


def binned(
    values: NDArray[Any], result: Result, width: float, function: Callable[..., Any], scale: float = 1.0
) -> Series:
    """Return the middles of pieces of `width` seconds, and a function of the samples in each."""
    each = round(width / float(result.traces.attrs["interval"]))
    pieces = values[: len(values) // each * each].reshape(-1, each).astype(float)
    return width * (np.arange(len(pieces)) + 0.5), scale * function(pieces, axis=1)


def during(series: Series, start: float, stop: float) -> float:
    """Return the mean of a series between two times, s."""
    times, values = series
    return float(values[(times > start) & (times < stop)].mean())


def band(ax: Any, many: Sequence[Series], look: Mapping[str, Any], label: str = "") -> None:
    """Draw the mean over seeds of a series, and their range."""
    times, values = many[0][0], np.array([trace[1] for trace in many])
    ax.fill_between(times, values.min(axis=0), values.max(axis=0), color=look["color"], alpha=0.25, linewidth=0)
    line = {key: value for key, value in look.items() if key != "marker"}
    ax.plot(times, values.mean(axis=0), linewidth=1.0, label=label, **line)


def threshold(ax: Any) -> None:
    """Draw delta_th."""
    ax.axhline(THRESHOLD, color=style.GREY, linewidth=0.8, linestyle=style.DOTTED)


paper.item("fig-1", "Back-off probability", "section II, figure 1")(theory.figure_1)


# figures 2 and 3: how many flows


def many_flows(lab: Lab, name: str, numbers: Sequence[int]) -> dict[int, list[float]]:
    """Return the mean delay (ms) with each number of flows at 100 ms, for each seed."""
    runs = lab.run(
        {n: at(lab, name, {"flows.delay-based.count": n, "flows.delay-based.rtt": "100 ms"}) for n in numbers},
        seeds=lab.pick(SEEDS, 1),
    )
    return {n: [mean_delay(run) for run in results] for n, results in runs.items()}


FORWARD = (1, 2, 5, 10, 15, 20, 25, 30, 35, 40, 43, 46, 48, 49, 50, 51, 52, 53, 54, 55, 57, 60)
REVERSED = (1, 2, 5, 10, 15, 20, 25, 30, 35, 38, 40, 43, 46, 48, 49, 50, 51, 52, 53, 54, 55)


def break_point(delays_of: Mapping[int, Sequence[float]]) -> int:
    """Return the first number of flows whose mean delay is above delta_th."""
    return min(n for n in delays_of if np.mean(delays_of[n]) > THRESHOLD)


def against_flows(ax: Any, delays_of: Mapping[int, Sequence[float]], look: Mapping[str, Any], label: str) -> None:
    """Draw delays over the number of flows, mean and range over seeds."""
    numbers = sorted(delays_of)
    ax.plot(numbers, [np.mean(delays_of[n]) for n in numbers], label=label, **look)
    ends = [[function(delays_of[n]) for n in numbers] for function in (np.min, np.max)]
    ax.fill_between(numbers, *ends, color=look["color"], alpha=0.2, linewidth=0)


@paper.item("fig-2", "Delay against the number of flows", "section III-A.1, figure 2", setting=NEWRENO)
def figure_2(lab: Lab) -> None:
    """Packets beside the fluid model: 25 Mbit/s, 100 ms."""
    delays_of = many_flows(lab, "alone", lab.pick(FORWARD, (30, 52, 60)))
    caption = (
        "Packets (points; range over seeds) beside the model's equilibria: stable (dashed), unstable (dotted). Red: "
        "the printed numbers of flows between which the network reverts; grey: delta_th."
    )
    with lab.figure("delay", caption, size=(6, 3)) as axes:
        ax = axes[0][0]
        theory.equilibrium_lines(ax)
        against_flows(ax, delays_of, style.SERIES[0], "packets")
        reverts = {"color": style.VERMILION, "alpha": 0.2, "linewidth": 0, "label": "printed: reverts"}
        ax.axvspan(*lab.printed["fig-2"]["reverts"], **reverts)
        threshold(ax)
        ax.set(xlabel="Cx-TCP flows", ylabel="queueing delay (ms)", xlim=(0, 60), ylim=(0, 70))
        ax.legend(frameon=False, loc="center left", bbox_to_anchor=(0, 0.55))
    last = break_point(delays_of)
    low, high = lab.printed["fig-2"]["reverts"]
    lab.claim(
        f"the first number of flows whose mean delay is above delta_th = 20 ms lies between {low} and {high}",
        low <= last <= high,
        ours=f"{last} flows; " + "; ".join(f"{n}: {spread(delays_of[n])} ms" for n in (48, 50, 52, 55))
        if not lab.quick
        else f"{last}",
        printed=f"{low} to {high}",
        exact=True,
    )
    lab.claim(
        "30 flows keep the mean delay below 20 ms, and 60 are in loss mode: above 40 ms",
        np.mean(delays_of[30]) < THRESHOLD and np.mean(delays_of[60]) > 2 * THRESHOLD,
        ours=f"{spread(delays_of[30])} ms and {spread(delays_of[60])} ms",
        printed="reverts to a loss-based network",
        robust=True,
    )
    theory.figure_2(lab)


@paper.item(
    "fig-3", "Delay against the number of flows, with reverse traffic", "section III-A.2, figure 3", setting=NEWRENO
)
def figure_3(lab: Lab) -> None:
    """Twenty flows on the reverse path."""
    delays_of = many_flows(lab, "reverse", lab.pick(REVERSED, (30, 49, 60)))
    alone = many_flows(lab, "alone", lab.pick(FORWARD, (30, 49, 60)))
    caption = "Range over seeds; grey: delta_th. The text has no other numbers of it."
    with lab.figure("delay", caption, size=(6, 3)) as axes:
        ax = axes[0][0]
        against_flows(ax, delays_of, style.SERIES[0], "20 flows on the reverse path")
        against_flows(ax, alone, style.SERIES[1], "none (figure 2)")
        threshold(ax)
        ax.set(xlabel="Cx-TCP flows on the forward path", ylabel="queueing delay (ms)", xlim=(0, 60), ylim=(0, 70))
        ax.legend(frameon=False, loc="upper left")
    ends = {name: break_point(values) for name, values in (("reverse", delays_of), ("alone", alone))}
    lab.claim(
        "the break point is at fewer flows with reverse traffic",
        ends["reverse"] < ends["alone"],
        ours=f"above 20 ms from {ends['reverse']} flows on, without reverse traffic from {ends['alone']} on",
        printed="the limit has been decreased",
        exact=True,
    )
    lab.claim(
        "30 flows keep the mean delay below 20 ms",
        np.mean(delays_of[30]) < THRESHOLD,
        ours=f"{spread(delays_of[30])} ms",
        printed="below delta_th",
        exact=True,
        robust=True,
    )


# figure 4: alone


@paper.item(
    "fig-4", "Utilisation, windows and convergence of delay-based flows", "section III-A.3, figure 4", setting=NEWRENO
)
def figure_4(lab: Lab) -> None:
    """Thirty flows at 50 Mbit/s; then 31, 51, 21."""
    seeds = lab.pick(SEEDS, 1)
    base = at(lab, "alone", {"flows.delay-based.count": 30, "link.bottleneck.rate": "50 Mbit/s"})
    runs = lab.run({"": base}, seeds=seeds, trace_links=True)[""]
    variants: dict[str, Changes] = {"slow start": {}}
    if not lab.quick:
        variants["no slow start"] = {"flows.delay-based.initial_ssthresh": "2 packets"}
    moving = lab.run(
        {name: at(lab, "changing", keys) for name, keys in variants.items()},
        seeds=seeds,
        trace_links=True,
        trace_flows=[0],
    )
    means = np.array([run.flows["cwnd_mean"].to_numpy() for run in runs])
    caption = (
        "Utilisation in each second, mean and range over seeds (red: the printed range); mean window of each flow; "
        "window of one flow while 31, 51, 21 flows run (means over 5 s, one seed), the newcomers with slow start and "
        "without."
    )
    with lab.figure("features", caption, 1, 3, size=(11, 3)) as axes:
        left, middle, right = axes[0]
        used = np.array([100 * run.utilization_1s["bottleneck"] for run in runs])
        times = runs[0].window[0] + np.arange(used.shape[1]) + 0.5
        band(left, [(times, share) for share in used], style.SERIES[0])
        left.axhline(used.mean(), color=style.BLACK, linewidth=0.8, linestyle=style.DASHED)
        left.axhspan(*lab.printed["fig-4"]["utilization"], color=style.VERMILION, alpha=0.2, linewidth=0)
        left.set(xlabel="time (s)", ylabel="utilisation (%)", ylim=(80, 101), xlim=(0, 500))
        flows = np.arange(1, means.shape[1] + 1)
        low, high = (abs(means.mean(axis=0) - ends) for ends in (means.min(axis=0), means.max(axis=0)))
        middle.bar(flows, means.mean(axis=0), yerr=[low, high], color=style.SKY, error_kw={"linewidth": 0.8})
        middle.set(xlabel="flow, by its round trip", ylabel="mean window (packets)")
        for name, look in zip(variants, (style.SERIES[1], style.SERIES[0]), strict=False):
            series = [windows(run) for run in moving[name]]
            right.plot(*series[0], color=look["color"], linestyle=look["linestyle"], linewidth=1.1, label=name)
        right.set(xlabel="time (s)", ylabel="window (packets)", ylim=(0, None), xlim=(0, 500))
        right.legend(frameon=False, loc="upper left")
    shares = [float(run.links.loc["bottleneck", "utilization"]) for run in runs]
    least, most = lab.printed["fig-4"]["utilization"]
    lab.claim(
        f"30 flows, 50 Mbit/s: utilisation is {least} to {most} %, to the whole per cent",
        least - 0.5 <= 100 * np.mean(shares) < most + 0.5,
        ours=spread(shares, "{:.2%}"),
        printed=f"{least} % to {most} %",
        exact=True,
    )
    lab.claim(
        "30 flows, 50 Mbit/s: utilisation is at least 95 %",
        min(shares) >= 0.95,
        ours=spread(shares, "{:.2%}"),
        robust=True,
    )
    off = means.mean(axis=0) / means.mean() - 1
    lab.claim(
        "every flow's mean window is within 15 % of their mean, whatever its round trip (30 to 130 ms)",
        bool(np.all(abs(off) < 0.15)),
        ours=f"{means.mean():.3g} packets; from {min(off):+.1%} to {max(off):+.1%}",
        printed="similar",
    )
    phases = {31: (150, 200), 51: (250, 400), 21: (420, 500)}
    same = {"flows.delay-based.rtt": lab.scenario("changing").tree["flows"][0]["rtt"]}
    still = lab.run({n: base.with_({"flows.delay-based.count": n, **same}) for n in phases}, seeds=seeds)
    wanted = [float(np.mean([run.flows["cwnd_mean"].iloc[0] for run in runs])) for runs in still.values()]
    for name in variants:
        got = [float(np.mean([during(windows(run), *span) for run in moving[name]])) for span in phases.values()]
        lab.claim(
            f"newcomers with {name}: the window is that of runs with 31, 51 and 21 flows all the time, within 10 %",
            all(abs(a / b - 1) < 0.1 for a, b in zip(got, wanted, strict=True)),
            ours=", ".join(f"{a:.3g}" for a in got) + " packets, all the time " + ", ".join(f"{b:.3g}" for b in wanted),
            printed="switches instantaneously to the correct equilibria" if name == "slow start" else "",
        )
    lab.table(
        "Mean queueing delay (ms) while 31, 51 and 21 flows run (150 to 200, 250 to 400, 420 to 500 s)",
        ["newcomers", "31", "51", "21"],
        [
            [
                name,
                *(
                    spread([during(delays(run), *span) for run in results])
                    for span in ((150, 200), (250, 400), (420, 500))
                ),
            ]
            for name, results in moving.items()
        ],
    )


def windows(result: Result, width: float = 5.0) -> Series:
    """Return times and the traced flow's window, averaged over `width` seconds."""
    return binned(result.traces["flow_cwnd"].to_numpy()[0, 1:], result, width, np.mean)


# figures 5, 6, 7, 13, 14: beside loss-based flows

MIXES = ((20, 10), (10, 20))


def mixed(lab: Lab, pair: tuple[int, int], changes: Changes | None = None, *, highspeed: bool = False) -> Scenario:
    """Return so many delay-based and loss-based flows, and web flows."""
    sizes = {"flows.delay-based.count": pair[0], "flows.loss-based.count": pair[1]}
    return at(lab, "mixed", {**sizes, **(changes or {})}, highspeed=highspeed)


def bars(ax: Any, runs: Sequence[Result]) -> None:
    """Draw each long-lived flow's throughput over the largest, mean and range over seeds."""
    first = 0
    for kind, color, hatch in (("delay-based", style.SKY, ""), ("loss-based", style.VERMILION, "////")):
        shares = np.array([rates(run, kind) / rates(run, "delay-based", "loss-based").max() for run in runs])
        mean = shares.mean(axis=0)
        ends = [mean - shares.min(axis=0), shares.max(axis=0) - mean]
        where = first + np.arange(len(mean)) + 1
        many = len(mean) > 50
        look = {"yerr": None if many else ends, "error_kw": {"linewidth": 0.7}, "width": 1.0 if many else 0.8}
        ax.bar(
            where,
            mean,
            color=color,
            hatch=None if many else hatch,
            edgecolor=style.NAVY,
            linewidth=0 if many else 0.4,
            label=kind,
            **look,
        )
        first += len(mean)
    ax.set(xlabel="flow", ylim=(0, 1.19), xlim=(0, first + 1))
    ax.legend(frameon=False, loc="upper left", ncols=2)


def ratios(runs: Sequence[Result]) -> list[float]:
    """Return the mean throughput of delay-based flows over that of loss-based ones, for each seed."""
    return [float(rates(run, "delay-based").mean() / rates(run, "loss-based").mean()) for run in runs]


def coexistence(lab: Lab, *, highspeed: bool) -> dict[tuple[int, int], list[Result]]:
    """Compare throughputs of two mixes, as figures 5 and 13 do."""
    results = lab.run({pair: mixed(lab, pair, highspeed=highspeed) for pair in MIXES}, seeds=lab.pick(SEEDS, 1))
    caption = (
        "Goodput over the largest of all flows, mean and range over seeds; in each class by round trip, 30 to 130 ms. "
        "The text has no numbers of the bars."
    )
    with lab.figure("throughput", caption, 1, 2, size=(9, 3), sharey=True) as axes:
        for ax, (pair, runs) in zip(axes[0], results.items(), strict=True):
            bars(ax, runs)
            ax.set(title=f"{pair[0]} delay-based, {pair[1]} loss-based")
        axes[0][0].set_ylabel("normalised throughput")
    for pair, runs in results.items():
        share = ratios(runs)
        lab.claim(
            f"{pair}: mean throughput of delay-based over loss-based flows lies in [0.75, 1]",
            0.75 <= np.mean(share) <= 1,
            ours=spread(share, "{:.3f}"),
            printed="reasonably fair, with a bias in favour of the loss-based flows",
        )
        lab.claim(
            f"{pair}: no flow gets less than a third of the mean goodput",
            min(rates(run, "delay-based", "loss-based").min() for run in runs)
            > np.mean([rates(run, "delay-based", "loss-based").mean() for run in runs]) / 3,
            ours=f"least {min(rates(run, 'delay-based', 'loss-based').min() for run in runs):.3g} Mbit/s",
        )
    return results


@paper.item("fig-5", "Throughput beside Reno", "section III-A.4, figure 5", setting=NEWRENO)
def figure_5(lab: Lab) -> None:
    """Mixes of (20, 10) and (10, 20) flows at 25 Mbit/s."""
    coexistence(lab, highspeed=False)
    variants: dict[str, Changes] = {
        "as it is": {},
        "mean RTT forgets in 30 ms": {"flows.delay-based.congestion.averaging_time": "30 ms"},
        "in 1 s": {"flows.delay-based.congestion.averaging_time": "1 s"},
        "no back-offs: p_max 0": {"flows.delay-based.congestion.p_max": 0.0},
        "region B falls with power 8": {"flows.delay-based.congestion.power": 8.0},
        "delta_max 100 ms instead of measured": {"flows.delay-based.congestion.delta_max": "100 ms"},
        "Reno recovery": {f"flows.{kind}.recovery": "reno" for kind in ("delay-based", "loss-based", "web")},
        "round trips drawn": {
            f"flows.{kind}.rtt": "uniform 30 ms .. 130 ms" for kind in ("delay-based", "loss-based", "web")
        },
    }
    results = lab.run({name: mixed(lab, MIXES[0], keys) for name, keys in variants.items()}, seeds=lab.pick(SEEDS, 1))
    lab.table(
        "(20, 10), what our choices are worth: mean throughput of delay-based over loss-based flows, delay, loss",
        ["variant", "ratio", "delay (ms)", "loss (%)"],
        [
            [
                name,
                spread(ratios(runs), "{:.3f}"),
                f"{np.mean([mean_delay(run) for run in runs]):.3g}",
                f"{np.mean([loss(run) for run in runs]):.3g}",
            ]
            for name, runs in results.items()
        ],
    )


@paper.item("fig-6", "Throughput beside Reno, 600 flows", "section III-A.5, figure 6", setting=NEWRENO)
def figure_6(lab: Lab) -> None:
    """A mix of (400, 200) flows at 500 Mbit/s, with 100 web flows."""
    scale = lab.pick(1, 4)
    keys = {"link.bottleneck.rate": f"{500 // scale} Mbit/s", "flows.web.count": 100 // scale}
    runs = lab.run({"": mixed(lab, (400 // scale, 200 // scale), keys)}, seeds=lab.pick(4, 1))[""]
    with lab.figure("throughput", "As figure 5; mean over seeds.", size=(9, 3)) as axes:
        bars(axes[0][0], runs)
        axes[0][0].set(ylabel="normalised throughput")
    share = ratios(runs)
    lab.claim(
        "(400, 200): mean throughput of delay-based over loss-based flows lies in [0.75, 1]",
        0.75 <= np.mean(share) <= 1,
        ours=spread(share, "{:.3f}"),
        printed="keeps the fairness, with a slight bias in favour of the loss-based flows",
    )
    small = lab.run({"": mixed(lab, MIXES[0])}, seeds=lab.pick(SEEDS, 1))[""]
    lab.claim(
        "(400, 200) at 500 Mbit/s: the ratio is that of (20, 10) at 25 Mbit/s to within 0.1",
        abs(np.mean(share) - np.mean(ratios(small))) <= 0.1,
        ours=f"{np.mean(share):.3f} and {np.mean(ratios(small)):.3f}",
        printed="constant",
    )


CAPACITIES = (10, 20, 30, 40, 50, 60, 70, 80, 90, 100)
"""Mbit/s."""


def loss_rates(lab: Lab, *, highspeed: bool) -> dict[tuple[str, int], list[Result]]:
    """Compare losses of a mix and of loss-based flows alone, as figures 7 and 14 do."""
    capacities = lab.pick(CAPACITIES, (10, 50))
    scenarios = {}
    for mbit in capacities:
        keys = {"link.bottleneck.rate": f"{mbit} Mbit/s"}
        scenarios["20 delay-based, 10 loss-based", mbit] = mixed(lab, MIXES[0], keys, highspeed=highspeed)
        scenarios["30 loss-based", mbit] = at(lab, "reno", keys, highspeed=highspeed)
    results = lab.run(scenarios, seeds=lab.pick(2, 1))
    values = {key: [loss(run) for run in runs] for key, runs in results.items()}
    names = list(dict.fromkeys(name for name, _ in values))
    caption = "Drops over arrivals at the bottleneck, mean and range over seeds. The text has no numbers of them."
    with lab.figure("loss", caption, size=(6, 3)) as axes:
        ax = axes[0][0]
        for name, look in zip(names, style.SERIES, strict=False):
            rows = np.array([values[name, mbit] for mbit in capacities])
            ax.plot(capacities, rows.mean(axis=1), label=name, **look)
            ax.fill_between(capacities, rows.min(axis=1), rows.max(axis=1), color=look["color"], alpha=0.2, linewidth=0)
        ax.set(xlabel="capacity (Mbit/s)", ylabel="loss (%)", xlim=(0, 105), ylim=(0, None))
        ax.legend(frameon=False)
    over = {mbit: np.mean(values[names[0], mbit]) / np.mean(values[names[1], mbit]) for mbit in capacities}
    most, fewest = max(over.values()), min(over.values())
    if highspeed:
        text, holds = (
            "the mix loses as much as loss-based flows alone, to within 15 %, at every capacity",
            (fewest >= 1 / 1.15 and most <= 1.15),
        )
    else:
        text, holds = "the mix loses no more than loss-based flows alone, at every capacity", most <= 1
    lab.claim(
        text,
        holds,
        ours="; ".join(
            f"{mbit} Mbit/s: {np.mean(values[names[0], mbit]):.3g} % over {np.mean(values[names[1], mbit]):.3g} %"
            for mbit in (capacities[0], capacities[len(capacities) // 2], capacities[-1])
        )
        + f"; ratio {fewest:.3f} to {most:.3f}",
        printed="similar loss rates; no significant difference" if highspeed else "not significantly increased",
        robust=highspeed,
    )
    lab.table(
        "Throughput of the mix's delay-based flows over that of its loss-based ones, and mean window of the latter",
        ["capacity (Mbit/s)", "ratio", "window (packets)"],
        [
            [
                str(mbit),
                spread(ratios(results[names[0], mbit]), "{:.3f}"),
                spread([float(run.classes.loc["loss-based", "cwnd_mean"]) for run in results[names[0], mbit]]),
            ]
            for mbit in capacities
        ],
    )
    return results


@paper.item("fig-7", "Loss beside Reno", "section III-A.6, figure 7", setting=NEWRENO)
def figure_7(lab: Lab) -> None:
    """Thirty flows and ten web flows, 10 to 100 Mbit/s."""
    rates_of = loss_rates(lab, highspeed=False)
    capacities = sorted({mbit for _, mbit in rates_of})
    mixes = {mbit: rates_of["20 delay-based, 10 loss-based", mbit] for mbit in capacities}
    waits = [mean_delay(run) for runs in mixes.values() for run in runs]
    lab.claim(
        "the mix's mean queueing delay is above delta_th = 20 ms, in loss-based operation, at every capacity and in "
        "every seed",
        min(waits) > THRESHOLD,
        ours=f"{min(waits):.1f} to {max(waits):.1f} ms",
        printed="in the loss-based operation mode",
        exact=True,
        robust=True,
    )
    shares = {mbit: ratios(runs) for mbit, runs in mixes.items()}
    lab.claim(
        "at every capacity the mean throughput of delay-based over loss-based flows lies in [0.75, 1], as in figure 5",
        all(0.75 <= np.mean(share) <= 1 for share in shares.values()),
        ours="; ".join(f"{mbit} Mbit/s: {np.mean(share):.3f}" for mbit, share in shares.items()),
        printed="fair coexistence is achieved",
    )
    if lab.quick:
        return
    fall = [np.mean(shares[mbit]) for mbit in (10, 100)]
    fast = {"link.bottleneck.rate": "100 Mbit/s", "flows.delay-based.congestion.p_max": 0.05 / 16}
    scaled = lab.run({"": mixed(lab, MIXES[0], fast)}, seeds=2)[""]
    lab.claim(
        "delay-based flows lose their share as windows grow: at 100 Mbit/s less than half of the ratio at 10 Mbit/s",
        fall[1] < 0.5 * fall[0],
        ours=f"{fall[0]:.3f} at 10 Mbit/s, {fall[1]:.3f} at 100 Mbit/s, there with p_max / 16 "
        f"{spread(ratios(scaled), '{:.3f}')}",
    )


# figures 8 and 15: loss-based flows on and off

BEFORE, WHILE, AFTER = (20, 100), (105, 250), (350, 500)
"""s: before loss-based flows enter, while all are there, and after the last has left at 300 s and some time more."""


def switching(lab: Lab, runs: Sequence[Result]) -> None:
    """Draw delay and loss over time, and judge them, as figures 8 and 15 do."""
    caption = (
        "Means over 1 s (delay) and 10 s (loss): mean and range over seeds. Grey: delta_th, and while loss-based flows "
        "are there; the text has no other numbers of it."
    )
    with lab.figure("traces", caption, 1, 2, size=(9, 2.8)) as axes:
        on_off(axes[0], {"": runs})
    levels = [[during(delays(run), *span) for run in runs] for span in (BEFORE, WHILE, AFTER)]
    lab.claim(
        "mean delay below 20 ms from 20 to 100 s, above from 105 to 250 s, below again from 350 s on, in every seed",
        max(levels[0]) < THRESHOLD < min(levels[1]) and max(levels[2]) < THRESHOLD,
        ours="; ".join(f"{spread(level)} ms" for level in levels),
        printed="switches on and off",
        robust=True,
    )
    back = [returned(run) for run in runs]
    lab.claim(
        "on average over seeds the delay (means over 5 s) is below 20 ms within 10 s of the last loss-based flow's end",
        np.mean(back) <= 10,
        ours=f"after {spread(back, '{:.0f}')} s",
        printed="swiftly",
    )
    off = [float(np.nansum([during(losses(run), *span) for span in (BEFORE, AFTER)])) for run in runs]
    on = [during(losses(run), *WHILE) for run in runs]
    lab.claim(
        "there is loss while loss-based flows are there, and none (below 0.01 %) before and from 350 s on",
        min(on) > 0.1 and max(off) < 0.01,
        ours=f"{spread(on)} %, else {spread(off)} %",
        printed="figures 8b, 15b",
        robust=True,
    )


LEFT = 300.0
"""s: when the last loss-based flow leaves."""


def returned(result: Result, link: str = "bottleneck") -> float:
    """Return how long after the last loss-based flow's leaving the mean delay over 5 s is below delta_th, s."""
    times, values = delays(result, link, 5.0)
    good = times[(times > LEFT) & (values < THRESHOLD)]
    return max(float(good[0]) + 2.5 - LEFT, 0.0) if len(good) else float("inf")


def on_off(axes: Any, results: Mapping[str, Sequence[Result]], link: str = "bottleneck") -> None:
    """Draw delay and loss over time of named runs."""
    left, right = axes
    for (name, runs), look in zip(results.items(), style.SERIES, strict=False):
        band(left, [delays(run, link) for run in runs], look, name)
        band(right, [losses(run, link) for run in runs], look, name)
    threshold(left)
    for ax in (left, right):
        ax.axvspan(100, 300, color=style.PALE, zorder=0)
        ax.set(xlabel="time (s)", xlim=(0, 500), ylim=(0, None))
    left.set(ylabel="queueing delay (ms)")
    right.set(ylabel="loss (%)")
    if any(results):
        right.legend(frameon=False)


@paper.item("fig-8", "Loss-based flows on and off", "section III-A.7, figure 8", setting=NEWRENO)
def figure_8(lab: Lab) -> None:
    """Twenty delay-based flows; ten Reno flows from 100 s, which leave from 250 to 300 s."""
    runs = traced(lab, {"": at(lab, "on-off")})[""]
    switching(lab, runs)
    ratio = [0.5 * share / (1 - share) for share in map(beside, runs)]  # twenty flows and ten
    lab.claim(
        "from 105 to 250 s a delay-based flow delivers three quarters of a loss-based one's packets or more, in every "
        "seed",
        min(ratio) >= 0.75,
        ours=spread(ratio, "{:.2f}"),
        printed="compete fairly for bandwidth",
        robust=True,
    )


def traced(lab: Lab, variants: Mapping[str, Scenario], seeds: int = SEEDS) -> dict[str, list[Result]]:
    """Run with traces of links and flows."""
    return lab.run(variants, seeds=lab.pick(seeds, 1), trace_links=True, trace_flows="all")


@paper.item("pert", "PERT in the place of Cx-TCP", "sections II and V", setting=NEWRENO)
def pert(lab: Lab) -> None:
    """Figure 8 with PERT: that of 2007, which the paper cites, and the form of 2008, which adapts its increase."""
    cited = {"kind": "pert", "filter_delayed_acks": False}  # every packet is acknowledged
    senders = {"PERT": cited, "PERT of 2008": cited | {"adaptive": True}}
    results = traced(
        lab,
        {
            "Cx-TCP": at(lab, "on-off"),
            **{name: at(lab, "on-off", {"flows.delay-based.congestion": sender}) for name, sender in senders.items()},
        },
        seeds=10,
    )
    with lab.figure("traces", "As figure 8. PERT: that of 2007, and its form of 2008.", 1, 2, size=(9, 2.8)) as axes:
        on_off(axes[0], results)
    after = {name: [during(delays(run), *AFTER) for run in runs] for name, runs in results.items()}
    lost = {name: [during(losses(run), *WHILE) for run in runs] for name, runs in results.items()}
    share = {name: [beside(run) for run in runs] for name, runs in results.items()}

    def judge(name: str) -> None:
        def each(values: Mapping[str, Sequence[float]], unit: str, form: str = "{:.3g}") -> str:
            return "; ".join(f"{kind} {spread(values[kind], form)}{unit}" for kind in (name, "Cx-TCP"))

        lab.claim(
            f"{name}: the mean delay from 350 s on stays above 20 ms",
            np.mean(after[name]) > THRESHOLD,
            ours=each(after, " ms"),
            printed="may fail to revert",
        )
        lab.claim(
            f"{name}: more loss than with Cx-TCP while loss-based flows are there (105 to 250 s), by two standard "
            "errors",
            np.mean(lost[name]) - np.mean(lost["Cx-TCP"])
            > 2 * np.hypot(standard_error(lost[name]), standard_error(lost["Cx-TCP"])),
            ours=each(lost, " %"),
            printed="can lead to high loss rates",
        )
        lab.claim(
            f"{name} coexists less fairly: its share of the packets sent from 105 to 250 s is further from two thirds "
            "than Cx-TCP's",
            abs(np.mean(share[name]) - 2 / 3) > abs(np.mean(share["Cx-TCP"]) - 2 / 3),
            ours=each(share, "", "{:.1%}"),
            printed="fails to solve the coexistence problem",
        )

    judge("PERT")
    with lab.against_print(f"{lab.setting}; PERT in its form of 2008, which adapts AIMD's increase; cited is 2007"):
        judge("PERT of 2008")


def beside(result: Result) -> float:
    """Return the delay-based flows' share of what was delivered while all loss-based flows were there."""
    traces = result.traces["flow_delivered"].astype(float)
    sums = traces.sel(time=list(WHILE), method="nearest").groupby("flow_class").sum().diff("time")
    return (sums.sel(flow_class="delay-based").sum() / sums.sum()).item()


# figures 9, 10, 11: two bottlenecks

LINKS = ("first", "second")


@paper.item("fig-9", "Two bottlenecks", "section III-B.1, figure 9", setting=NEWRENO)
def figure_9(lab: Lab) -> None:
    """Thirty delay-based flows, and a mix of (20, 10); half over both links, half over the second."""
    seeds = lab.pick(SEEDS, 1)
    results = lab.run(
        {name: at(lab, name) for name in ("parking-lot", "parking-lot-mixed")}, seeds=seeds, trace_links=True
    )
    caption = (
        "Above: delay-based flows only; below: with loss-based ones. Delay of both links (means over 1 s), goodput of "
        "each flow; mean and range over seeds. Grey: delta_th; the text has no other numbers of it."
    )
    classes = {
        "parking-lot": (("long", style.SKY, ""), ("short", style.SKY, "....")),
        "parking-lot-mixed": (
            ("delay-based long", style.SKY, ""),
            ("loss-based long", style.VERMILION, "////"),
            ("delay-based short", style.SKY, "...."),
            ("loss-based short", style.VERMILION, "xxxx"),
        ),
    }
    with lab.figure("traces", caption, 2, 3, size=(11, 5.2)) as axes:
        for row, (name, runs) in zip(axes, results.items(), strict=True):
            for ax, link in zip(row[:2], LINKS, strict=True):
                band(ax, [delays(run, link) for run in runs], style.SERIES[0])
                threshold(ax)
                ax.set(xlim=(0, 500), ylim=(0, 110), title=f"{link} link")
            first = 0
            for kind, color, hatch in classes[name]:
                each = np.array([rates(run, kind) for run in runs])
                mean = each.mean(axis=0)
                where = first + np.arange(len(mean)) + 1
                ends = [mean - each.min(axis=0), each.max(axis=0) - mean]
                look = {"color": color, "hatch": hatch, "edgecolor": style.NAVY, "linewidth": 0.4}
                row[2].bar(where, mean, yerr=ends, error_kw={"linewidth": 0.7}, label=kind, **look)
                first += len(mean)
            row[2].set(ylabel="throughput (Mbit/s)", ylim=(0, 3))
            row[2].legend(frameon=False, ncols=2, fontsize=7, loc="upper left")
            row[0].set_ylabel("queueing delay (ms)")
        for ax, text in zip(axes[1], ("time (s)", "time (s)", "flow"), strict=True):
            ax.set_xlabel(text)
    alone, mix = results["parking-lot"], results["parking-lot-mixed"]
    lab.claim(
        "delay-based flows only: the mean delay of both links is below 20 ms",
        all(mean_delay(run, link) < THRESHOLD for run in alone for link in LINKS),
        ours="; ".join(f"{link} {spread([mean_delay(run, link) for run in alone])} ms" for link in LINKS),
        printed="below delta_th at each of the bottlenecks",
        robust=True,
    )
    for link in LINKS:
        full = [100 * float(np.mean(delays(run, link)[1] > THRESHOLD)) for run in mix]
        lab.claim(
            f"mix: the {link} link is in loss mode: mean delay above 20 ms, and in 90 % of the seconds",
            all(mean_delay(run, link) > THRESHOLD for run in mix) and np.mean(full) >= 90,
            ours=f"{spread([mean_delay(run, link) for run in mix])} ms; above 20 ms in {spread(full)} % of the seconds",
            printed="fills the queues at each bottleneck",
            robust=link == "second",
        )
    for path in ("long", "short"):
        share = [
            float(rates(run, f"delay-based {path}").mean() / rates(run, f"loss-based {path}").mean()) for run in mix
        ]
        lab.claim(
            f"mix, {path} path: mean throughput of delay-based over loss-based flows lies in [0.75, 1]",
            0.75 <= np.mean(share) <= 1,
            ours=spread(share, "{:.3f}"),
            printed="preserves the overall fairness",
        )


@paper.item(
    "fig-10",
    "Loss-based flows on and off over the first of two bottlenecks",
    "section III-B.2, figure 10",
    setting=NEWRENO,
)
def figure_10(lab: Lab) -> None:
    """Five delay-based and ten Reno flows over both links, fifteen delay-based ones over the second."""
    runs = lab.run({"": at(lab, "parking-lot-on-off")}, seeds=lab.pick(SEEDS, 1), trace_links=True)[""]
    with lab.figure("traces", "As figure 8.", 1, 3, size=(11, 2.8)) as axes:
        for ax, link, look in zip(axes[0], LINKS, style.SERIES, strict=False):
            band(ax, [delays(run, link) for run in runs], style.SERIES[0])
            threshold(ax)
            ax.set(title=f"{link} link", ylim=(0, 110), ylabel="queueing delay (ms)")
            band(axes[0][2], [losses(run, link) for run in runs], look, f"{link} link")
        axes[0][2].set(ylabel="loss (%)", ylim=(0, None))
        axes[0][2].legend(frameon=False)
        for ax in axes[0]:
            ax.axvspan(100, 300, color=style.PALE, zorder=0)
            ax.set(xlabel="time (s)", xlim=(0, 500))
    levels = {
        link: [[during(delays(run, link), *span) for run in runs] for span in (BEFORE, WHILE, AFTER)] for link in LINKS
    }
    first, second = levels["first"], levels["second"]
    lab.claim(
        "first link: mean delay below 20 ms before 100 s, above from 105 to 250 s, below again from 350 s on",
        max(first[0]) < THRESHOLD < min(first[1]) and max(first[2]) < THRESHOLD,
        ours="; ".join(f"{spread(level)} ms" for level in first),
        printed="switches on and off",
        robust=True,
    )
    lab.claim(
        "second link: mean delay below 20 ms all the time",
        max(map(max, second)) < THRESHOLD,
        ours="; ".join(f"{spread(level)} ms" for level in second),
        printed="stays in the low-queueing-delay regime",
        robust=True,
    )
    lost = {link: [during(losses(run, link), *WHILE) for run in runs] for link in LINKS}
    lab.claim(
        "only the first link loses packets (above 0.1 %; the second below 0.01 %) from 105 to 250 s",
        min(lost["first"]) > 0.1 and max(lost["second"]) < 0.01,
        ours="; ".join(f"{link} {spread(values)} %" for link, values in lost.items()),
        printed="affects only the bottleneck where the loss-based flows are",
        robust=True,
    )


@paper.item("fig-11", "Cx-TCP over drop-tail, and Reno over RED", "section V-A, figure 11", setting=NEWRENO)
def figure_11(lab: Lab) -> None:
    """Throughput of each flow over two bottlenecks."""
    names = {"Cx-TCP over drop-tail": "parking-lot", "Reno over RED": "parking-lot-red"}
    results = lab.run({name: at(lab, file) for name, file in names.items()}, seeds=lab.pick(SEEDS, 1))
    each = {name: np.array([rates(run, "long", "short") for run in runs]) for name, runs in results.items()}
    caption = (
        "Goodput of each flow, mean and range over seeds: 1 to 15 over both links, 16 to 30 over the second. The text "
        "has no numbers of them."
    )
    with lab.figure("throughput", caption, 1, 2, size=(9, 2.8), sharey=True) as axes:
        for ax, (name, values), color in zip(axes[0], each.items(), (style.SKY, style.VERMILION), strict=True):
            mean = values.mean(axis=0)
            ends = [mean - values.min(axis=0), values.max(axis=0) - mean]
            ax.bar(np.arange(1, 31), mean, yerr=ends, color=color, error_kw={"linewidth": 0.7})
            ax.set(title=name, xlabel="flow", ylim=(0, None))
        axes[0][0].set_ylabel("throughput (Mbit/s)")
    means = {name: values.mean(axis=0) for name, values in each.items()}
    ours, red = means.values()
    off = ours / red - 1
    lab.claim(
        "each flow's mean throughput is that under RED to within a quarter",
        bool(np.all(abs(off) <= 0.25)),
        ours=f"from {off.min():+.1%} to {off.max():+.1%}",
        printed="similar",
    )
    paths = {
        part: float(ours[at].mean() / red[at].mean()) for part, at in (("long", slice(0, 15)), ("short", slice(15, 30)))
    }
    lab.claim(
        "mean throughput of the flows over both links and of those over the second is that under RED to within 10 %",
        all(abs(value - 1) <= 0.1 for value in paths.values()),
        ours=", ".join(f"{part} {value:.3f} of it" for part, value in paths.items()),
        printed="similar fairness properties",
        robust=True,
    )
    low = {name: [mean_delay(run, link) for run in runs for link in LINKS] for name, runs in results.items()}
    lab.claim(
        "the mean delay of both links is below 20 ms, as under RED",
        max(map(max, low.values())) < THRESHOLD,
        ours="; ".join(f"{name} at most {max(values):.3g} ms" for name, values in low.items()),
        printed="low levels",
        robust=True,
    )


# figures 12 to 15: HighSpeed TCP


@paper.item("fig-12", "Delay of delay-based HighSpeed TCP", "section V-B, figure 12", setting=NEWRENO)
def figure_12(lab: Lab) -> None:
    """Thirty flows at 25 Mbit/s."""
    runs = lab.run({"": at(lab, "alone", highspeed=True)}, seeds=lab.pick(SEEDS, 1), trace_links=True)[""]
    with lab.figure("delay", "Means over 1 s; mean and range over seeds. Grey: delta_th.", size=(6, 2.8)) as axes:
        band(axes[0][0], [delays(run) for run in runs], style.SERIES[0])
        threshold(axes[0][0])
        axes[0][0].set(xlabel="time (s)", ylabel="queueing delay (ms)", xlim=(0, 500), ylim=(0, 100))
    lab.claim(
        "30 flows: the mean delay is below 20 ms",
        all(mean_delay(run) < THRESHOLD for run in runs),
        ours=f"{spread([mean_delay(run) for run in runs])} ms",
        printed="low queueing delay",
        exact=True,
    )
    largest = [float(run.flows["cwnd_mean"].max()) for run in runs]
    lab.claim(
        "the mean window of every flow is below 38 packets, where HighSpeed TCP is Reno",
        max(largest) < 38,
        ours=f"largest {spread(largest)} packets",
        robust=True,
    )


@paper.item("fig-13", "Throughput beside HighSpeed TCP", "section V-B, figure 13", setting=NEWRENO)
def figure_13(lab: Lab) -> None:
    """Figure 5 with HighSpeed TCP."""
    coexistence(lab, highspeed=True)


@paper.item("fig-14", "Loss beside HighSpeed TCP", "section V-B, figure 14", setting=NEWRENO)
def figure_14(lab: Lab) -> None:
    """Figure 7 with HighSpeed TCP."""
    loss_rates(lab, highspeed=True)


@paper.item("fig-15", "HighSpeed TCP on and off", "section V-B, figure 15", setting=NEWRENO)
def figure_15(lab: Lab) -> None:
    """Figure 8 with HighSpeed TCP."""
    switching(lab, traced(lab, {"": at(lab, "on-off", highspeed=True)})[""])


@paper.item("hs-real", "HighSpeed TCP where its windows exceed 38 packets", "ours, after section V-B")
def highspeed_windows(lab: Lab) -> None:
    """Figures 12, 13, 14 and 15 at ten times the rate."""
    fast = {"link.bottleneck.rate": "250 Mbit/s"}
    seeds = lab.pick(2, 1)
    short = {"scenario.duration": "40 s", "scenario.measure": "20 s .. 40 s"}
    keys = fast | lab.pick({}, short)
    alone = lab.run({"": at(lab, "alone", keys, highspeed=True)}, seeds=seeds)[""]
    mixes = lab.run({pair: mixed(lab, pair, keys, highspeed=True) for pair in MIXES}, seeds=seeds)
    only = lab.run({"": at(lab, "reno", keys, highspeed=True)}, seeds=seeds)[""]
    changing = {name: at(lab, "on-off", fast, highspeed=high) for name, high in (("HighSpeed", True), ("Reno", False))}
    if lab.quick:
        changing = {}
    off = lab.run(changing, seeds=seeds, trace_links=True)
    if off:
        with lab.figure("traces", "As figure 8, at 250 Mbit/s.", 1, 2, size=(9, 2.8)) as axes:
            on_off(axes[0], off)
    small = [float(run.flows["cwnd_mean"].mean()) for run in alone]
    lab.claim(
        "30 flows: mean window above 38 packets, mean delay below 20 ms",
        min(small) > 38 and all(mean_delay(run) < THRESHOLD for run in alone),
        ours=f"{spread(small)} packets, {spread([mean_delay(run) for run in alone])} ms, utilisation "
        + spread([float(run.links.loc["bottleneck", "utilization"]) for run in alone], "{:.1%}"),
        robust=True,
    )
    for pair, runs in mixes.items():
        lab.claim(
            f"{pair}: throughput of delay-based over loss-based flows is below a quarter (p_max suits small windows)",
            np.mean(ratios(runs)) < 0.25,
            ours=spread(ratios(runs), "{:.3f}"),
        )
    lost = [float(np.mean([loss(run) for run in runs])) for runs in (mixes[MIXES[0]], only)]
    lab.claim(
        "the (20, 10) mix loses at most 1.15 times as much as loss-based flows alone",
        lost[0] <= 1.15 * lost[1],
        ours=f"{lost[0]:.3g} % and {lost[1]:.3g} %",
    )
    for name, runs in off.items():
        levels = [[during(delays(run), *span) for run in runs] for span in (BEFORE, WHILE, AFTER)]
        lab.claim(
            f"on and off, {name}: mean delay below 20 ms until 100 s, above it from 105 to 250 s, below from 350 s on",
            max(levels[0]) < THRESHOLD < min(levels[1]) and max(levels[2]) < THRESHOLD,
            ours="; ".join(f"{spread(level)} ms" for level in levels),
        )


for name, title, source, make in (
    ("lemma-4.1", "Equilibria and Lyapunov function, one link", "section IV, lemmas 4.1 to 4.3", theory.lemmas),
    ("thm-4.4", "Several links", "section IV, theorem 4.4", theory.several_links),
):
    paper.item(name, title, source)(make)
