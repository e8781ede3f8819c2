"""What chapters 2 and 3 of Chen's thesis review: the AQMs as in their boxes, and claims about drop-tail and RED."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ackclock import Result, Scenario, analysis
from ackclock.paper import Lab
from ackclock.plot import style

SEEDS = 3
DROP_TAIL = {"aqm": "drop-tail", "capacity": "200 packets"}
LOW, HIGH, MOST = 20.0, 60.0, 0.1
"""RED's thresholds (packets) and maximum probability in the scenario files."""
RED = {"aqm": "red", "weight": "auto", "spacing": "uniform", "mode": "bytes"}
BOUNDS = {"capacity": "200 packets", "min_threshold": f"{LOW:g} packets", "max_threshold": f"{HIGH:g} packets"}


def with_queue(scenario: Scenario, queue: Mapping[str, Any]) -> Scenario:
    """Put a queue in."""
    return scenario.with_({"link.link.queue": dict(queue)})


def shorter(lab: Lab, scenario: Scenario) -> Scenario:
    """Cut a run in quick mode."""
    return scenario.with_({"scenario.duration": "20 s", "scenario.measure": "5 s .. 20 s"}) if lab.quick else scenario


def runs(lab: Lab, name: str, queues: Mapping[str, Mapping[str, Any]], **traces: Any) -> dict[str, list[Result]]:
    """Run a scenario file with each of the queues."""
    base = lab.scenario(name)
    variants = {key: shorter(lab, with_queue(base, queue)) for key, queue in queues.items()}
    return lab.run(variants, seeds=lab.pick(SEEDS, 1), **traces)


def link(results: list[Result], column: str) -> float:
    """Return a measure of the link, mean over the seeds."""
    return float(np.mean([result.links.loc["link", column] for result in results]))


def of_class(results: list[Result], name: str, column: str) -> float:
    """Return a measure of a class, mean over the seeds."""
    return float(np.mean([float(result.classes.loc[name, column]) for result in results]))


def trace(result: Result, name: str) -> NDArray[np.float64]:
    """Return a trace of the link in the measurement window."""
    samples = result.traces[f"link_{name}"].sel(link="link", time=slice(*result.window))
    return samples.to_numpy().astype(float)


def traced(results: list[Result], name: str) -> NDArray[np.float64]:
    """Return the traces of all seeds together."""
    return np.concatenate([trace(result, name) for result in results])


def percent(value: float) -> str:
    """Return a fraction in per cent."""
    return f"{100 * value:.2f} %"


def boxes(lab: Lab) -> None:
    """Each algorithm does what its box says."""
    kept = {"capacity": "200 packets"}
    results = runs(
        lab,
        "review",
        {
            "RED": RED | BOUNDS,
            "ARED": RED | BOUNDS | {"aqm": "adaptive-red"},
            "Auto-Tuning RED": RED | BOUNDS | {"aqm": "auto-tuning-red"},
            "PI": kept | {"aqm": "pi", "a": 1.822e-4, "b": 1.816e-4, "reference": "40 packets"},
            "REM": kept | {"aqm": "rem", "reference": "40 packets", "ecn": True},
            "BLUE": kept | {"aqm": "blue"},
            "AVQ": kept | {"aqm": "avq", "ecn": True},
        },
        trace_links=True,
    )
    queues = {name: np.concatenate([trace(r, "queue_packets") for r in many]) for name, many in results.items()}
    with lab.figure(
        "queues", "Queue (packets) over each AQM, one of the seeds.", 4, 2, size=(9, 7), sharex=True
    ) as axes:
        flat = list(axes.flat)
        for ax, (name, many) in zip(flat, results.items(), strict=False):
            time = many[0].traces["time"].to_numpy()
            ax.plot(
                time, many[0].traces["link_queue_packets"].sel(link="link").to_numpy(), color=style.BLUE, linewidth=0.5
            )
            ax.set(title=name, xlim=(0, many[0].end), ylim=(0, 200))
        flat[-1].set_visible(False)
        for ax in (flat[-2], flat[-3]):
            ax.set_xlabel("time (s)")
            ax.tick_params(labelbottom=True)
    average, p = (traced(results["RED"], name) for name in ("average_packets", "probability"))
    wanted = np.where(
        average < LOW,
        0.0,
        np.where(average <= HIGH, (average - LOW) / (HIGH - LOW) * MOST, (average - HIGH) / HIGH * (1 - MOST) + MOST),
    )
    wanted = np.where(average >= 2 * HIGH, 1.0, wanted)
    worst = float(np.max(np.abs(p - wanted)[p > 0]))  # it is zero where too few packets wait
    lab.claim(
        "RED: the initial probability is equation (2.4) of the average wherever it is not zero, to 1e-9",
        worst <= 1e-9,
        ours=f"largest difference {worst:.1g}",
        printed="equation (2.4)",
        robust=True,
    )
    rate, dropped = float(np.mean(2 * p / (1 + p))), link(results["RED"], "loss")
    lab.claim(
        "RED: p / (1 - count p) makes gaps uniform: the loss is the mean of 2 p_i / (1 + p_i) to within 10 %",
        abs(dropped / rate - 1) <= 0.1,
        ours=f"{percent(dropped)}; mean of 2 p_i / (1 + p_i) {percent(rate)}",
        printed="uniform random variable",
    )
    band = (LOW + 0.4 * (HIGH - LOW), LOW + 0.6 * (HIGH - LOW))
    mean = float(traced(results["ARED"], "average_packets").mean())
    lab.claim(
        f"ARED: the mean of the average queue lies in the target range, {band[0]:g} to {band[1]:g} packets",
        band[0] <= mean <= band[1],
        ours=f"{mean:.1f} packets",
        printed="within the target zone",
    )
    mean = float(traced(results["Auto-Tuning RED"], "average_packets").mean())
    lab.claim(
        "Auto-Tuning RED: the mean of the average queue is half-way between the thresholds to within 10 %",
        abs(mean / (0.5 * (LOW + HIGH)) - 1) <= 0.1,
        ours=f"{mean:.1f} packets",
        printed="at a reference value",
    )
    for name, within in (("PI", 0.1), ("REM", 0.1)):
        mean = float(queues[name].mean())
        lab.claim(
            f"{name}: the mean queue is the reference, 40 packets, to within {100 * within:.0f} %",
            abs(mean / 40 - 1) <= within,
            ours=f"{mean:.1f} packets",
            printed="no steady-state error",
        )
    steps = np.abs(np.concatenate([np.diff(trace(r, "probability")) for r in results["BLUE"]]))
    odd = [step for step in steps[steps > 1e-12] if min(abs(step - 0.02), abs(step - 0.002)) > 1e-9]
    lab.claim(
        "BLUE: within 20 ms, less than the freeze time, the probability stays or moves by delta_1 or delta_2",
        not odd and bool(steps.any()),
        ours=f"{int((steps > 1e-12).sum())} steps, {len(odd)} others",
        printed="figure 3.3",
    )
    used = link(results["AVQ"], "utilization")
    lab.claim(
        "AVQ with ECN: utilisation is the desired 98 % to within a point",
        abs(used - 0.98) <= 0.01,
        ours=percent(used),
        printed="desired utilisation",
    )


def others(lab: Lab) -> None:
    """The schemes that the thesis names without a box, as their sources define them."""
    kept = {"capacity": "200 packets"}
    results = runs(
        lab,
        "review",
        {
            "Exponential RED": kept | {"aqm": "exponential-red", "ecn": True},
            "LRED": kept | {"aqm": "lred", "reference": "40 packets"},
        },
        trace_links=True,
    )
    crowd = with_queue(lab.scenario("review"), kept | {"aqm": "sred", "full": False}).with_(
        {"flows.long.count": 300, "link.link.rate": "100 Mbit/s"}
    )
    results["SRED"] = lab.run({0: shorter(lab, crowd)}, seeds=lab.pick(SEEDS, 1), trace_links=True)[0]
    used = link(results["Exponential RED"], "utilization")
    lab.claim(
        "Exponential RED with ECN: utilisation is the virtual queue's 98 % to within a point",
        abs(used - 0.98) <= 0.01,
        ours=f"{percent(used)}; mean queue {link(results['Exponential RED'], 'queue_packets_mean'):.1f} packets",
        printed="Liu, Basar and Srikant 2005",
    )
    mean = link(results["LRED"], "queue_packets_mean")
    lab.claim(
        "LRED: the mean queue is the reference, 40 packets, to within 15 %",
        abs(mean / 40 - 1) <= 0.15,
        ours=f"{mean:.1f} packets",
        printed="Wang et al. 2007",
    )
    queue, p = (traced(results["SRED"], name) for name in ("queue_bytes", "probability"))
    room = 200 * 1500
    high, low = p[queue > room / 3 + 1500], p[(queue > room / 6 + 1500) & (queue < room / 3 - 1500)]
    ratio = float(np.median(high) / np.median(low)) if len(high) and len(low) else float("nan")
    lab.claim(
        "SRED, 300 flows: the median probability above a third of the buffer is 4 times that above a sixth, to 10 %",
        abs(ratio / 4 - 1) <= 0.1,
        ours=f"ratio {ratio:.2f} ({len(low)} and {len(high)} samples)",
        printed="Ott, Lakshman and Wong 1999",
    )
    weighted = shorter(lab, lab.scenario("review-wred"))
    both = lab.run({0: weighted}, seeds=lab.pick(SEEDS, 1))[0]
    low_, high_ = of_class(both, "low", "loss"), of_class(both, "high", "loss")
    lab.claim(
        "WRED: the highest precedence loses less than the lowest",
        high_ < low_,
        ours=f"{percent(high_)} and {percent(low_)}",
        printed="precedences are treated differently",
    )


def review(lab: Lab) -> None:
    """Sections 2.1.3, 2.3.5 and 2.4."""
    lab.note(
        "The thesis prints no set-up for what it reviews: rates, round trips, numbers of flows and buffers are ours. "
        "None of these keys can be wrong, and nothing here is counted."
    )
    drop_tail(lab)
    modes(lab)
    web(lab)
    short_and_long(lab)
    round_trips(lab)
    udp(lab)
    buffers(lab)


def drop_tail(lab: Lab) -> None:
    """Sections 2.1.3 and 2.4.1: full queue, lock-out, synchronisation; what RED does about them."""
    results = runs(lab, "review", {"drop-tail": DROP_TAIL, "RED": RED | BOUNDS}, trace_links=True, trace_flows=20)
    tail, red = results["drop-tail"], results["RED"]
    means = [link(many, "queue_packets_mean") for many in (tail, red)]
    lab.claim(
        "drop-tail: the mean queue is 75 % of the buffer or more; RED: half or less",
        means[0] >= 150 and means[1] <= 100,
        ours=f"{means[0]:.0f} and {means[1]:.0f} of 200 packets",
        printed="full queue; RED avoids it",
    )
    fair = [of_class(many, "long", "jain") for many in (tail, red)]
    lab.claim(
        "drop-tail locks flows out: its Jain index is below RED's",
        fair[0] < fair[1],
        ours=f"{fair[0]:.3f} and {fair[1]:.3f}; starved {of_class(tail, 'long', 'starved'):.1f} and "
        f"{of_class(red, 'long', 'starved'):.1f} of 40 flows",
        printed="lock-out; RED solves it",
    )
    together = [
        float(
            np.mean(
                [analysis.window_correlation(r.traces["flow_cwnd"].sel(time=slice(*r.window)).to_numpy()) for r in many]
            )
        )
        for many in (tail, red)
    ]
    lab.claim(
        "drop-tail synchronises flows: the mean correlation of windows is above RED's",
        together[0] > together[1],
        ours=f"{together[0]:.3f} and {together[1]:.3f}",
        printed="global synchronisation; RED avoids it",
    )
    losses = [link(many, "loss") for many in (tail, red)]
    lab.claim(
        "RED loses less than drop-tail",
        losses[1] < losses[0],
        ours=f"{percent(losses[1])} and {percent(losses[0])}",
        printed="reducing loss rate",
    )
    used = [link(many, "utilization") for many in (tail, red)]
    lab.claim(
        "RED's utilisation is 99 % or more",
        used[1] >= 0.99,
        ours=f"{percent(used[1])} (drop-tail {percent(used[0])})",
        printed="maximises the link capacity",
    )


def modes(lab: Lab) -> None:
    """Section 2.3.5: fairness (2.7) among packets of 500 and 1500 B."""
    modes = {mode: RED | BOUNDS | {"mode": mode} for mode in ("bytes", "packets")}
    results = runs(lab, "review-sizes", modes)
    fair = {}
    for mode, many in results.items():
        fair[mode] = float(np.mean([analysis.jain_index(r.flows["goodput"].to_numpy()) for r in many]))
    lab.claim(
        "packets of two sizes: the fairness (2.7) is higher in byte mode, by 0.05 or more",
        fair["bytes"] >= fair["packets"] + 0.05,
        ours=f"byte mode {fair['bytes']:.3f}, packet mode {fair['packets']:.3f}",
        printed="much more fairness",
    )
    used = {mode: link(many, "utilization") for mode, many in results.items()}
    lab.claim(
        "and utilisation is higher in packet mode",
        used["packets"] > used["bytes"],
        ours=f"packet mode {percent(used['packets'])}, byte mode {percent(used['bytes'])}",
        printed="somewhat better",
    )
    spread = {mode: 1e3 * link(many, "queue_bytes_std") * 8 / 20e6 for mode, many in results.items()}
    lab.claim(
        "and the queueing delay deviates less in byte mode",
        spread["bytes"] < spread["packets"],
        ours=f"byte mode {spread['bytes']:.1f} ms, packet mode {spread['packets']:.1f} ms",
        printed="fluctuates less",
    )


def web(lab: Lab) -> None:
    """Section 2.4.3: response times at 95 % load."""
    settings = {
        f"RED ({low}, {3 * low}), {most:g}": RED
        | BOUNDS
        | {"min_threshold": f"{low} packets", "max_threshold": f"{3 * low} packets", "max_probability": most}
        for low in (5, 15, 30)
        for most in (0.1, 0.02)
    }
    results = runs(lab, "review-web", {"drop-tail": DROP_TAIL} | settings)
    times = {name: of_class(many, "all", "fct_s_mean") for name, many in results.items()}
    used = {name: link(many, "utilization") for name, many in results.items()}
    rows = [[name, f"{1e3 * times[name]:.0f}", percent(used[name])] for name in results]
    lab.table("Web transfers at a load of 95 %", ["queue", "mean completion time (ms)", "utilisation"], rows)
    best = min(settings, key=times.__getitem__)
    lab.claim(
        "web at 95 %: one of six settings of RED has a smaller mean completion time than drop-tail, and not all have",
        times[best] < times["drop-tail"] < max(times[name] for name in settings),
        ours=f"{best}: {1e3 * times[best]:.0f} ms; drop-tail {1e3 * times['drop-tail']:.0f} ms; worst "
        f"{1e3 * max(times[name] for name in settings):.0f} ms",
        printed="can be tuned; difficult",
    )
    fullest = max(settings, key=used.__getitem__)
    lab.claim(
        "the setting with the highest utilisation is not that with the smallest completion time",
        fullest != best,
        ours=f"{fullest} and {best}",
        printed="best utilisation, poorer response times",
    )


def short_and_long(lab: Lab) -> None:
    """Section 2.4.3: who gains from RED."""
    results = runs(lab, "review-mix", {"drop-tail": DROP_TAIL, "RED": RED | BOUNDS})
    tail, red = results["drop-tail"], results["RED"]
    times = [of_class(many, "short", "fct_s_mean") for many in (tail, red)]
    lab.claim(
        "short among long: the mean completion time of short transfers is smaller over RED",
        times[1] < times[0],
        ours=f"{1e3 * times[1]:.0f} ms, over drop-tail {1e3 * times[0]:.0f} ms",
        printed="higher goodput",
    )
    rates = [of_class(many, "long", "goodput_bps") / 1e6 for many in (tail, red)]
    lab.claim(
        "and the goodput of the long flows is lower",
        rates[1] < rates[0],
        ours=f"{rates[1]:.2f} Mbit/s, over drop-tail {rates[0]:.2f} Mbit/s",
        printed="tend to have lower goodput",
    )


def round_trips(lab: Lab) -> None:
    """Section 2.4.3: round trips of 40 and 160 ms."""
    queues = {"drop-tail": DROP_TAIL, "RED": RED | BOUNDS}
    results = runs(lab, "review-round-trips", queues)
    ratios = {
        name: of_class(many, "near", "goodput_bps") / of_class(many, "far", "goodput_bps")
        for name, many in results.items()
    }
    lab.claim(
        "long flows with round trips of 40 and 160 ms: goodputs are closer over RED",
        ratios["RED"] < ratios["drop-tail"],
        ours=f"ratio {ratios['RED']:.2f} over RED, {ratios['drop-tail']:.2f} over drop-tail",
        printed="fair; higher for the shorter round trip",
    )
    results = runs(lab, "review-short-round-trips", queues)
    ratios = {
        name: of_class(many, "far", "fct_s_mean") / of_class(many, "near", "fct_s_mean")
        for name, many in results.items()
    }
    lab.claim(
        "short connections: completion times are as the round trips, 4 to 1, to within a quarter, over both queues",
        all(abs(ratio / 4 - 1) <= 0.25 for ratio in ratios.values()),
        ours="; ".join(f"{name} {ratio:.2f}" for name, ratio in ratios.items()),
        printed="goodput inversely proportional",
    )


def udp(lab: Lab) -> None:
    """Section 2.4.3: smooth and bursty UDP beside TCP."""
    base = shorter(lab, lab.scenario("review-udp"))
    marking = with_queue(base, RED | BOUNDS | {"ecn": True}).with_({"flows.long.ecn": True})
    results = lab.run(
        {
            "drop-tail": with_queue(base, DROP_TAIL),
            "RED": with_queue(base, RED | BOUNDS),
            "RED, ECN": marking,
        },
        seeds=lab.pick(SEEDS, 1),
    )
    losses = {
        (name, kind): of_class(many, kind, "loss") for name, many in results.items() for kind in ("smooth", "bursty")
    }

    def words(kind: str) -> str:
        return "; ".join(f"{name} {percent(losses[name, kind])}" for name in results)

    lab.claim(
        "smooth UDP loses more over RED than over drop-tail",
        losses["RED", "smooth"] > losses["drop-tail", "smooth"],
        ours=words("smooth"),
        printed="increases",
    )
    lab.claim(
        "bursty UDP loses less over RED than over drop-tail",
        losses["RED", "bursty"] < losses["drop-tail", "bursty"],
        ours=words("bursty"),
        printed="reduces",
    )
    lab.claim(
        "with ECN for TCP, both lose more over RED than over drop-tail",
        all(losses["RED, ECN", kind] > losses["drop-tail", kind] for kind in ("smooth", "bursty")),
        ours=f"smooth: {words('smooth')}; bursty: {words('bursty')}",
        printed="always significantly increases",
    )


def buffers(lab: Lab) -> None:
    """Section 2.1.3: a buffer of R C, and of R C over the root of N."""
    results = runs(
        lab,
        "review-buffer",
        {"R C": DROP_TAIL | {"capacity": "833 packets"}, "R C / root N": DROP_TAIL | {"capacity": "83 packets"}},
    )
    used = {name: link(many, "utilization") for name, many in results.items()}
    losses = {name: link(many, "loss") for name, many in results.items()}
    lab.claim(
        "a hundred flows: a buffer of R C over the root of N gives 98 % of utilisation or more",
        used["R C / root N"] >= 0.98,
        ours=f"{percent(used['R C / root N'])}; with R C {percent(used['R C'])}",
        printed="is what is needed",
    )
    lab.claim(
        "at the cost of loss: twice that with R C or more",
        losses["R C / root N"] >= 2 * losses["R C"],
        ours=f"{percent(losses['R C / root N'])}; with R C {percent(losses['R C'])}",
        printed="a high loss rate",
    )
