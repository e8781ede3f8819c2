"""Reynier (2006): many TCP users behind one router, as a distribution of windows and packet by packet."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import mean_field_analysis as theory
import numpy as np
from numpy.typing import NDArray

import ackclock as ac
from ackclock.core.meanfield import ALPHA
from ackclock.paper import Lab, Paper, spread
from ackclock.plot import style

paper = Paper(
    "A simple stability condition for RED using TCP mean-field modeling",
    "J. Reynier, INRIA research report, 2006 (inria-00091036).",
)

RATE = 1e9 / (8 * 1064)
"""Packets per second of the router."""
BUFFER = 235
SPREAD = {"flows.rtt": "uniform 9.95 ms .. 10.05 ms", "flows.initial_ssthresh": "32 packets"}
"""Packets: round trips differ by 1 %, else phases lock."""
SHORT = {"scenario.duration": "25 s", "scenario.measure": "5 s .. 25 s"}
SETTING = {"rate": RATE, "rtt": 0.01, "max_window": 64, "min_threshold": 4e-4, "max_threshold": 2e-3}

SEEDS = 1
EACH = "in seed 1" if SEEDS == 1 else f"in every seed of {SEEDS}"
PACKETS = "round trips spread by 1 % and slow start up to 32 packets, neither printed"
EVENTS = "a decrease for each loss event, where the equations have one for each lost packet"

Triple = tuple[float, float, float]
"""Utilisation, mean queue over the buffer, loss."""
Changes = Mapping[str, Any]


def triple(tree: Mapping[str, Any]) -> Triple:
    """Return what is compared, of either engine's numbers."""
    link = tree["links"]["router"]
    return link["utilization"], link["queue_packets_mean"] / BUFFER, link["loss"]


def fields(lab: Lab, queue: str, variants: Mapping[Any, Changes], **options: Any) -> dict[Any, Triple]:
    """Run variants of a scenario file in the mean field."""
    base = lab.scenario(queue)
    trees = lab.fields({key: base.with_({**SHORT, **change}) for key, change in variants.items()}, **options)
    return {key: triple(tree) for key, tree in trees.items()}


def packets(lab: Lab, queue: str, variants: Mapping[Any, Changes]) -> dict[Any, Triple]:
    """Run variants of a scenario file packet by packet."""
    base = lab.scenario(queue)
    results = lab.run({key: base.with_({**SHORT, **change}) for key, change in variants.items()})
    return {key: triple(runs[0].json()) for key, runs in results.items()}


def seeded(lab: Lab, queue: str, variants: Mapping[Any, Changes]) -> dict[Any, list[Triple]]:
    """Run variants of a scenario file packet by packet, with all seeds."""
    base = lab.scenario(queue)
    scenarios = {key: base.with_({**SHORT, **SPREAD, **change}) for key, change in variants.items()}
    results = lab.run(scenarios, seeds=lab.pick(SEEDS, 1))
    return {key: [triple(run.json()) for run in runs] for key, runs in results.items()}


def listing(values: Mapping[Any, float], form: str = "{:.4f}") -> str:
    """Return named values in a line."""
    return "; ".join(f"{key}: {form.format(value)}" for key, value in values.items())


@paper.item("fig-2", "Stationary density of the windows", "section 3, figure 2")
def figure_2(lab: Lab) -> None:
    """Draw the law at a loss of 0.15 %."""
    law, printed = ac.stationary(0.0015, 64), lab.printed["fig-2"]["atom"]
    caption = (
        f"Loss 0.15 %; {law.atom:.3%} of the users are at 64 packets, printed are {printed} % (cross, right axis)."
    )
    with lab.figure("density", caption, size=(6, 2.7)) as axes:
        axes[0][0].plot(law.window, law.density, color=style.BLUE)
        right = axes[0][0].twinx()
        right.vlines([64], 0, [100 * law.atom], color=style.BLUE, linewidth=3, clip_on=False)
        right.plot([64], [float(printed)], color=style.VERMILION, marker="x", clip_on=False)
        right.set(ylabel="at 64 packets (%)", ylim=(0, 5))
        axes[0][0].set(xlabel="window (packets)", ylabel="density (1/packet)", xlim=(0, 64), ylim=(0, None))
    lab.number("users at 64 packets (%)", printed, 100 * law.atom)


def laws() -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return losses, fractions at the largest window, mean windows."""
    losses = np.geomspace(1e-5, 0.02, 200)
    stationary = [ac.stationary(float(loss), 64, windows=[]) for loss in losses]
    return losses, np.array([law.atom for law in stationary]), np.array([law.mean for law in stationary])


@paper.item("fig-3", "Users at the largest window against loss", "section 3, figures 3 and 4")
def figure_3(lab: Lab) -> None:
    """Compare the exact fraction with theorem 2."""
    losses, atoms, _ = laws()
    caption = "Exact (solid) and theorem 2 (dashed), linear and logarithmic; cross: printed with figure 2."
    with lab.figure("atom", caption, 1, 2) as axes:
        for ax, scale in zip(axes[0], ("linear", "log"), strict=True):
            ax.plot(100 * losses, atoms, color=style.BLUE)
            ax.plot(100 * losses, np.exp(-losses * 64**2 / 2), color=style.VERMILION, linestyle=style.DASHED)
            ax.plot([0.15], [0.033], color=style.BLACK, marker="x")
            ax.set(xlabel="loss (%)", xlim=(0, 0.4), yscale=scale, ylim=(None if scale == "linear" else 1e-4, 1.02))
        axes[0][0].set_ylabel("fraction at 64 packets")
    ratio = {loss: ac.stationary(loss, 64).atom / math.exp(-loss * 2048) for loss in (2e-4, 0.0015)}
    lab.claim(
        "exp(-K W²/2) is right to first order: within 2 % at a loss of 0.02 %",
        abs(ratio[2e-4] - 1) < 0.02,
        ours=f"exact over approximate {ratio[2e-4]:.3f} at 0.02 %, {ratio[0.0015]:.3f} at 0.15 %",
        printed="for small K",
        robust=True,
    )


@paper.item("fig-5", "Mean window and the square-root law", "section 3, figure 5")
def figure_5(lab: Lab) -> None:
    """Compare the exact mean with min(64, 1.31 / sqrt(K))."""
    losses, _, means = laws()
    with lab.figure("mean", "Exact (solid), min(64, 1.31 / sqrt(K)) (dashed).", size=(6, 2.7)) as axes:
        axes[0][0].plot(100 * losses, means, color=style.BLUE)
        bound = np.minimum(64, ALPHA / np.sqrt(losses))
        axes[0][0].plot(100 * losses, bound, color=style.VERMILION, linestyle=style.DASHED)
        axes[0][0].set(xlabel="loss (%)", ylabel="mean window (packets)", xlim=(0, 0.4), ylim=(0, 68))
    gap = {loss: ac.stationary(loss, 64).mean / min(64, ALPHA / math.sqrt(loss)) - 1 for loss in (4e-4, 0.0015, 0.002)}
    lab.claim(
        "the square-root law is within 1.5 % at a loss of 0.15 % and 0.5 % at 0.2 %",
        abs(gap[0.0015]) < 0.015 and abs(gap[0.002]) < 0.005,
        ours=", ".join(f"{value:+.1%} at {loss:.2%}" for loss, value in gap.items()),
        printed="almost exact above 0.15 %",
        robust=True,
    )


def period(time: Iterable[float], values: NDArray[np.float64]) -> float:
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


@paper.item("fig-6", "Queue of 35 users over drop-tail", "section 5.1, figure 6")
def figure_6(lab: Lab) -> None:
    """Compare the mean field's queue with that of packets."""
    base = lab.scenario("drop-tail")
    of_field = {hazard: ac.meanfield(lab.changed(base.with_(SHORT)), hazard=hazard) for hazard in ("packet", "event")}
    senders: dict[str, Changes] = {
        "packets": {},
        "Reno, timeouts of 20 ms or more": {"flows.min_rto": "20 ms"},
        "NewReno": {"flows.recovery": "newreno"},
        "SACK": {"flows.recovery": "sack"},
    }
    packets_of = lab.run(
        {name: base.with_({**SHORT, **SPREAD, **keys}) for name, keys in senders.items()},
        seeds=lab.pick(SEEDS, 1),
        trace_links=True,
    )
    show = slice(5.0, 25.0)
    queue_of = {
        name: [run.traces["link_queue_packets"].isel(link=0).sel(time=show).astype(float) for run in runs]
        for name, runs in packets_of.items()
    }
    queues = {f"mean field, per {hazard}": tree.traces["queue"].sel(time=show) for hazard, tree in of_field.items()}
    queues["packets"] = queue_of["packets"][0]
    caption = (
        "Two seconds of the queue: mean field with a decrease for each packet or each loss event, and packets. The "
        "vertical range is the printed buffer; the text has no other numbers of it."
    )
    with lab.figure("queue", caption, 3, 1, size=(7.2, 5), sharex=True, sharey=True) as axes:
        for ax, (name, queue) in zip(axes[:, 0], queues.items(), strict=True):
            ax.plot(queue["time"], queue, color=style.BLUE, linewidth=0.9)
            ax.set(title=name, xlim=(20, 22), ylim=(0, 245))
        axes[1][0].set_ylabel("queue (packets)")
        axes[2][0].set_xlabel("time (s)")
    del queues["packets"]
    shares = {name: [float(queue.mean()) / BUFFER for queue in many] for name, many in queue_of.items()}
    periods = {
        name: [1e3 * period(queue["time"].values, queue.values) for queue in many] for name, many in queue_of.items()
    }
    for name, queue in queues.items():
        mean, cycle = float(queue.mean()) / BUFFER, 1e3 * period(queue["time"].values, queue.values)
        seeds = zip(shares["packets"], periods["packets"], strict=True)
        with lab.against_print(f"{PACKETS}; {EVENTS}" if "event" in name else PACKETS):
            lab.claim(
                f"{name}: mean queue and period within 10 % of the packets', {EACH}",
                all(abs(mean / a - 1) < 0.1 and abs(cycle / b - 1) < 0.1 for a, b in seeds),
                ours=f"mean {mean:.3f} of the buffer, period {cycle:.0f} ms; packets: "
                f"{spread(shares['packets'], '{:.3f}')}, {spread(periods['packets'], '{:.0f}')} ms",
                printed="alike",
            )
    lab.table(
        "What the senders' recovery does: mean queue over the buffer, and period",
        ["packets", "mean queue", "period (ms)"],
        [
            [
                "Reno, as above" if name == "packets" else name,
                spread(shares[name], "{:.3f}"),
                spread(periods[name], "{:.0f}"),
            ]
            for name in queue_of
        ],
    )


@paper.item("fig-7", "Utilisation and queue against the number of users", "section 5, figure 7")
def figure_7(lab: Lab) -> None:
    """Compare drop-tail and RED, mean field and packets."""
    users = lab.pick([5, 10, 15, 20, 25, 30, 35, 40, 60, 80, 100, 140], [20, 40, 100])
    queues = {"drop-tail": "drop-tail", "RED": "red"}
    change = {count: {"flows.count": count} for count in users}
    of_seeds: dict[str, dict[int, list[Triple]]] = {}
    triples: dict[tuple[str, str], dict[int, Triple]] = {}
    for queue, name in queues.items():
        triples[queue, "per packet"] = fields(lab, name, change)
        triples[queue, "per event"] = fields(lab, name, change, hazard="event")
        of_seeds[queue] = seeded(lab, name, change)
        means = {count: np.mean(seeds, axis=0) for count, seeds in of_seeds[queue].items()}
        triples[queue, "packets"] = {count: (float(u), float(q), float(p)) for count, (u, q, p) in means.items()}
    engines = ("per packet", "per event", "packets")
    loaded = [count for count in users if count >= 20]
    least = min(of[count][0] for of in triples.values() for count in loaded)
    caption = (
        "Mean field with a decrease for each lost packet or each loss event, and packets. Below 20 users, where "
        "nothing is lost, utilisation is proportional to their number, and off the scale."
    )
    with lab.figure("users", caption, 2, 2, size=(8.4, 5), sharex=True, sharey="row") as axes:
        for column, queue in enumerate(queues):
            for row, text in enumerate(("utilisation", "mean queue / buffer")):
                ax = axes[row][column]
                for engine, look in zip(engines, style.SERIES, strict=False):
                    ax.plot(users, [triples[queue, engine][count][row] for count in users], label=engine, **look)
                ax.set(ylim=(min(0.94, least - 0.01), 1.003) if row == 0 else (0, 1), xlim=(0, 145))
                if column == 0:
                    ax.set_ylabel(text)
            if queue == "drop-tail":
                axes[0][0].plot([40], [0.96], color=style.BLACK, marker="x", linestyle="none", label="printed")
            else:
                axes[0][1].axhline(0.995, color=style.BLACK, linewidth=0.8, linestyle=style.DOTTED, label="printed")
            axes[0][column].set_title(queue)
            axes[1][column].set_xlabel("users")
        axes[0][1].legend(frameon=False, loc="lower right")
    lab.table(
        "Utilisation, mean queue over the buffer, loss",
        ["users", *(f"{queue}, {engine}" for queue, engine in triples)],
        [
            [str(count), *(" ".join(f"{value:.4f}" for value in of[count]) for of in triples.values())]
            for count in users
        ],
    )
    for engine, setting in (("per packet", ""), ("per event", EVENTS), ("packets", PACKETS)):
        one_seed = {queue: {count: [triples[queue, engine][count]] for count in users} for queue in queues}
        values = of_seeds if engine == "packets" else one_seed
        places = sorted({min(loaded, key=lambda n: triple_of[n][0]) for triple_of in by_seed(values["drop-tail"])})
        use = [min(triple_of[count][0] for count in loaded) for triple_of in by_seed(values["drop-tail"])]
        red = [min(triple_of[count][0] for count in loaded) for triple_of in by_seed(values["RED"])]
        ran = f", {EACH}" if engine == "packets" else ""
        with lab.against_print(setting):
            lab.claim(
                f"drop-tail, {engine}: worst near 40 users (35 or 40){ran}",
                set(places) <= {35, 40},
                ours=f"at {', '.join(map(str, places))}",
                printed="40",
            )
            lab.claim(
                f"drop-tail, {engine}: worst utilisation 96 %, to the whole per cent{ran}",
                all(round(100 * share) == 96 for share in use),
                ours=spread([100 * share for share in use], "{:.2f}") + " %",
                printed="96 %",
                exact=True,
            )
            lab.claim(
                f"RED, {engine}: utilisation is 99.5 % or more up to 140 users{ran}",
                min(red) >= 0.995,
                ours=spread([100 * share for share in red], "{:.2f}") + " % at the worst",
                printed="99.5 %",
                exact=True,
            )
    if lab.quick:
        return
    even = {count: {"flows.count": count, "link.router.queue.spacing": "uniform"} for count in loaded}
    red = [min(triple_of[count][0] for count in loaded) for triple_of in by_seed(seeded(lab, "red", even))]
    lab.claim(
        "RED, packets, drops spaced as ns-2 with wait_ = false spaces them: utilisation is 99.5 % or more up to 140 "
        f"users, {EACH}",
        min(red) >= 0.995,
        ours=spread([100 * share for share in red], "{:.2f}") + " % at the worst",
    )
    newreno = {"flows.recovery": "newreno"}
    worst = seeded(lab, "drop-tail", {count: {"flows.count": count, **newreno} for count in (35, 40)})
    use = [min(triple_of[count][0] for count in triple_of) for triple_of in by_seed(worst)]
    lab.claim(
        f"drop-tail, packets with NewReno's recovery: 96 % to within a point at the worse of 35 and 40 users, {EACH}",
        all(abs(share - 0.96) <= 0.01 for share in use),
        ours=spread([100 * share for share in use], "{:.2f}") + " %",
    )
    [full] = seeded(lab, "red", {140: {"flows.count": 140, **newreno}}).values()
    lab.claim(
        f"RED, packets with NewReno's recovery: 99.5 % or more at 140 users, {EACH}",
        min(triple[0] for triple in full) >= 0.995,
        ours=spread([100 * triple[0] for triple in full], "{:.2f}") + " %",
    )


def by_seed(values: Mapping[int, Sequence[Triple]]) -> list[dict[int, Triple]]:
    """Return what each seed found, by the number of users."""
    return [dict(zip(values, row, strict=True)) for row in zip(*values.values(), strict=True)]


@paper.item("differences", "Where mean field and packets differ, each reason switched", "ours")
def differences(lab: Lab) -> None:
    """Switch phases, timeouts and the spacing of RED's drops."""
    equal = {**SPREAD, "flows.rtt": "10 ms", "flows.count": 35}
    use = packets(
        lab,
        "drop-tail",
        {
            "round trips equal": equal,
            "0.1 % of spread": {**equal, "flows.rtt": "uniform 9.995 ms .. 10.005 ms"},
            "1 %": {**equal, "flows.rtt": SPREAD["flows.rtt"]},
            "10 %": {**equal, "flows.rtt": "uniform 9.5 ms .. 10.5 ms"},
        },
    )
    lab.claim(
        "equal round trips raise utilisation, as phases never mix (drop-tail, 35 users, packets): by a point or more",
        use["round trips equal"][0] > use["1 %"][0] + 0.01,
        ours=listing({key: value[0] for key, value in use.items()}),
    )
    use = packets(
        lab,
        "drop-tail",
        {
            f"{recovery}, min_rto {least}": {
                **SPREAD,
                "flows.count": 40,
                "flows.recovery": recovery,
                "flows.min_rto": least,
            }
            for recovery, least in (("sack", "200 ms"), ("reno", "200 ms"), ("reno", "20 ms"))
        },
    )
    lab.claim(
        "timeouts of Reno's recovery lower utilisation by five points or more (drop-tail, 40 users, packets)",
        use["reno, min_rto 200 ms"][0] < use["sack, min_rto 200 ms"][0] - 0.05,
        ours=listing({key: value[0] for key, value in use.items()}),
    )
    worst = packets(
        lab,
        "drop-tail",
        {
            f"drop-tail, {count} users": {**SPREAD, "flows.count": count, "flows.recovery": "newreno"}
            for count in (35, 40)
        },
    ) | packets(lab, "red", {"RED, 140 users": {**SPREAD, "flows.count": 140, "flows.recovery": "newreno"}})
    lab.table(
        "Utilisation where it is worst (figure 7), with NewReno's recovery",
        ["set-up", "utilisation"],
        [[name, f"{value[0]:.2%}"] for name, value in worst.items()],
    )
    spacings = {
        name: {"flows.count": 40, "link.router.queue.spacing": name}
        for name in ("bernoulli", "uniform", "uniform-wait")
    }
    of_packets = packets(lab, "red", {name: {**SPREAD, **spacing} for name, spacing in spacings.items()})
    of_field = fields(lab, "red", spacings)
    for engine, triples in (("packets", of_packets), ("mean field", of_field)):
        queue = {name: value[1] for name, value in triples.items()}
        lab.claim(
            f"ns-2's spacing of drops moves RED's mean queue by a fifth or more (40 users, {engine})",
            queue["uniform"] < 0.8 * queue["bernoulli"] and queue["uniform-wait"] > 1.2 * queue["bernoulli"],
            ours=f"mean queue over the buffer: {listing(queue)}",
        )


@paper.item("sec-2.2.1", "The Little-like closure", "section 2.2.1")
def closure(lab: Lab) -> None:
    """Compare w / R for the packets in flight with the delay line."""
    both = ("delay-line", "little")
    use = [fields(lab, "drop-tail", {0: {}}, closure=name)[0][0] for name in both]
    base = lab.scenario("red").with_({**SHORT, "flows.count": 77})
    deviation = [lab.fields({0: base}, closure=name)[0]["links"]["router"]["queue_packets_std"] for name in both]
    lab.claim(
        "w / R for packets in flight misleads: RED with 77 users oscillates with it and is steady with the delay line",
        deviation[1] > 100 * deviation[0] + 1,
        ours=f"queue ± {deviation[0]:.2f} (delay line), ± {deviation[1]:.2f} (w / R); "
        f"drop-tail, 35 users: utilisation {use[0]:.2%} and {use[1]:.2%}",
        robust=True,
    )


@paper.item("cor-1", "Bound of corollary 1", "section 3, corollary 1")
def corollary_1(lab: Lab) -> None:
    """Find the loss from which the window law without a largest window fails."""
    root = (math.sqrt(ALPHA**2 + 4) - ALPHA) / 2
    printed = lab.printed["cor-1"]["largest_loss"]
    lab.number("loss K below which the bound holds (%); 54 % is its square root", printed, 100 * root**2)


for name, title, source, make in (
    ("thm-1", "The law of the window", "section 3.2, theorems 1 and 2", theory.theorem_1),
    ("eq-18", "Second moment of the window", "section 4.1, equation (18)", theory.equation_18),
    ("lemma-1", "Roots of the characteristic equation", "section 4.3, lemma 1", theory.lemma_1),
):
    paper.item(name, title, source)(make)


@paper.item("thm-3", "Stability of RED", "section 4, theorem 3")
def theorem_3(lab: Lab) -> None:
    """Compare the bound with the true threshold."""
    users = np.arange(19.5, 76.5, 1.5)
    verdicts = [ac.red_stability(flows=float(n), max_probability=0.005, **SETTING) for n in users]
    caption = "Slope of RED: true threshold (solid), theorem 3 (dashed), RED at p_max 0.5 % (dotted)."
    with lab.figure("bounds", caption, size=(6, 2.9)) as axes:
        ax = axes[0][0]
        ax.plot(users, [verdict.theorem_3 for verdict in verdicts], color=style.VERMILION, linestyle=style.DASHED)
        ax.plot(users, [verdict.critical_slope for verdict in verdicts], color=style.BLUE)
        ax.axhline(verdicts[0].slope, color=style.GREY, linestyle=style.DOTTED)
        ax.set(xlabel="users", ylabel="slope of RED (1/s)", xlim=(18, 77), ylim=(0, None))
    twenty = ac.red_stability(flows=20, max_probability=0.005, **SETTING)
    lab.claim(
        "the bound is sufficient from 20 to 75 users",
        all(verdict.theorem_3 < (verdict.critical_slope or math.inf) for verdict in verdicts),
        ours=f"20 users: bound {twenty.theorem_3:.3f} /s, true threshold {twenty.critical_slope:.3f} /s",
        printed="sufficient",
        exact=True,
        robust=True,
    )


@paper.item("thm-4", "Rule of thumb for p_max", "section 4, theorem 4, and section 5.2")
def theorem_4(lab: Lab) -> None:
    """Compute the rule, and try p_max around it."""
    lab.takes("flows.count")
    base = lab.scenario("red").with_({"flows.count": 20, **lab.pick({}, SHORT)})
    users_tried = float(lab.changed(base).canonical["flows"][0]["count"])
    twenty = ac.red_stability(flows=users_tried, max_probability=0.005, **SETTING)
    lab.number("p_max of the example (%)", lab.printed["thm-4"]["p_max"], 100 * twenty.theorem_4)
    lab.note(f"With the sharp constant 2 (1 - K) the rule gives {twenty.theorem_4_sharp:.4%}.")
    trees = lab.fields(
        {p: base.with_({"link.router.queue.max_probability": p}) for p in (0.005, 0.0075, 0.01)}, sample=0.01
    )
    deviation = {p: tree["links"]["router"]["queue_packets_std"] for p, tree in trees.items()}
    text = ", ".join(f"± {value:.2f} packets at {p:.2%}" for p, value in deviation.items())
    lab.claim(
        f"{users_tried:g} users: p_max 0.5 % keeps the queue within ± 1 packet",
        deviation[0.005] < 1,
        ours=text,
        printed="works",
    )
    users = np.arange(19.5, 76.6, 1.5)
    steep = [ac.red_stability(flows=float(n), max_probability=0.0075, **SETTING) for n in users]
    lab.claim(
        "p_max 0.75 % does not stabilise in every case: the equilibrium is unstable for some number of users",
        any((verdict.critical_slope or math.inf) < verdict.slope for verdict in steep),
        ours=f"stable from {users[0]:g} to {users[-1]:g} users: the slope is {steep[0].slope:.4f} /s, the critical one "
        f"{min(verdict.critical_slope or math.inf for verdict in steep):.4f} /s or more",
        printed="too high to achieve a stabilization in every case",
        exact=True,
        robust=True,
    )


@paper.item("sec-5.1.1", "Before and at the beginning of congestion", "sections 5 and 5.1")
def few_users(lab: Lab) -> None:
    """Numbers of the set-up, and queue and utilisation of 18 to 25 users over drop-tail."""
    base = lab.scenario("drop-tail")
    link, [users] = base.canonical["link"][0], base.canonical["flows"]
    rate = _number(link["rate"], "Mbit/s") * 1e6 / (8 * _number(users["packet_size"], "B"))
    trip, most = 1e-3 * _number(users["rtt"], "ms"), _number(users["max_window"], "packets")
    room = _number(link["queue"]["capacity"], "packets")
    data = 8 * (_number(users["packet_size"], "B") - _number(users["header_size"], "B"))
    printed = lab.printed["sec-5"]
    lab.number("capacity of the router (1e5 packets/s)", printed["capacity"], rate / 1e5)
    lab.number("its buffer of 2 ms (packets)", printed["buffer"], 2e-3 * rate)
    lab.number("throughput of a user at the largest window (Mbit/s)", printed["throughput"], most / trip * data / 1e6)
    lab.claim(
        "18 users cannot fill the link, and 19 can",
        18 * most / trip < rate <= 19 * most / trip,
        ours=f"{rate * trip / most:.2f} users fill it",
        printed="for less than 19 users",
        exact=True,
        robust=True,
    )
    queue = {n: n * most - rate * trip for n in (20, 21, 22, 23)}
    lab.claim(
        "largest windows of 22 users fill the buffer, and do not exceed it; those of 23 do",
        0.97 * room < queue[22] <= room < queue[23],
        ours="; ".join(f"{n} users: {value:.0f} packets" for n, value in queue.items()),
        printed="from 20 to 22 users the queue increases steadily to its maximal value",
        robust=True,
    )
    triples = fields(lab, "drop-tail", {n: {"flows.count": n} for n in (22, 24)})
    lab.claim(
        "24 users, mean field: utilisation is 99 % or more",
        triples[24][0] >= 0.99,
        ours=f"{triples[24][0]:.2%}",
        printed="the bandwidth still stays around its maximum",
    )
    with lab.against_print(PACKETS):
        runs = seeded(lab, "drop-tail", {25: {"flows.count": 25}})[25]
        used = [100 * triple[0] for triple in runs]
        lab.claim(
            "25 users, packets: utilisation 99 %, to within half a point, in every seed",
            all(abs(share - 99) <= 0.5 for share in used),
            ours=spread(used, "{:.2f}") + " %",
            printed="drops to 99 % for NS-2",
        )


def _number(text: str, unit: str) -> float:
    """Return a value of a scenario in a unit that its canonical form may have a multiple of."""
    value, _, given = text.partition(" ")
    scale = {"Gbit/s": 1e3, "Mbit/s": 1.0, "kbit/s": 1e-3, "s": 1e3, "us": 1e-3}
    if given != unit and unit in ("Mbit/s", "ms"):
        return float(value) * scale[given]
    return float(value)


@paper.item("sec-5.2.2", "RED in its working regime, and beyond", "sections 5.2.2 and 5.2.3")
def working_regime(lab: Lab) -> None:
    """Equilibrium queue against the number of users, and the queue of 100 and 129 users."""
    lab.takes()
    delays = {}
    for count in np.arange(19.0, 78.0, lab.pick(1.0, 3.0)):
        try:
            delays[float(count)] = 1e3 * ac.red_stability(flows=float(count), max_probability=0.005, **SETTING).delay
        except ValueError:  # no equilibrium
            continue
    low, high, end = min(delays), max(n for n, d in delays.items() if d <= 1), max(delays)
    with lab.figure("queue", "Equilibrium queue of RED; dotted: the printed ranges.", size=(6, 2.9)) as axes:
        ax = axes[0][0]
        ax.plot(list(delays), list(delays.values()), color=style.BLUE)
        for x, y in (([21, 70, 70], [1, 1, 0]), ([71, 80, 80], [2, 2, 0])):
            ax.plot(x, y, color=style.BLACK, linestyle=style.DOTTED, linewidth=0.9)
        ax.set(xlabel="users", ylabel="queueing delay (ms)", xlim=(15, 90), ylim=(0, 2.1))
    lab.claim(
        "equilibrium queue at most 1 ms up to 70 users",
        high >= 70,
        ours=f"up to {high:g} users; at 70 users {delays[70.0]:.2f} ms",
        printed="from 21 to 70 users the queue size goes from 0 to 1 ms",
        exact=True,
        robust=True,
    )
    lab.claim(
        "there is an equilibrium from 20 to 80 users",
        low <= 20 and end >= 80,
        ours=f"from {low:g} to {end:g} users",
        printed="from 20 to 80 users, RED permits to have a steady state",
        exact=True,
        robust=True,
    )
    many = lab.fields({n: lab.scenario("red").with_({**SHORT, "flows.count": n}) for n in (85, 129)}, sample=0.001)
    lowest = {n: tree["links"]["router"]["queue_packets_min"] for n, tree in many.items()}
    lab.claim(
        "85 and 129 users, mean field: the queue never empties",
        min(lowest.values()) > 0,
        ours="; ".join(f"{n} users: at least {value:.1f} packets" for n, value in lowest.items()),
        printed="for less than 130 users the queue never empties",
        exact=True,
    )


@paper.item("sec-5.3", "Larger latency", "section 5.3")
def larger_latency(lab: Lab) -> None:
    """Compare drop-tail and RED at 10, 20 and 50 ms."""
    shares = (1.2, 1.5, 1.9, 2.2, 3.0, 5.0)
    use: dict[tuple[int, str], list[float]] = {}
    lines = []
    caption = (
        "Mean field, the same buffer. Users over those that fill the link with 64 packets each. The section has words "
        "and no numbers."
    )
    with lab.figure("latency", caption, size=(7.6, 3.4)) as axes:
        ax = axes[0][0]
        for rtt, look in zip((10, 20, 50), style.SERIES, strict=False):
            full = RATE * rtt * 1e-3 / 64
            counts = [round(share * full) for share in shares]
            for name, queue, fill in (("drop-tail", "drop-tail", "full"), ("RED", "red", "none")):
                change = {count: {"flows.rtt": f"{rtt} ms", "flows.count": count} for count in counts}
                use[rtt, name] = [value[0] for value in fields(lab, queue, change).values()]
                style_ = look | ({} if name == "drop-tail" else {"alpha": 0.6})
                ax.plot(np.array(counts) / full, use[rtt, name], label=f"{rtt} ms, {name}", fillstyle=fill, **style_)
                worst = int(np.argmin(use[rtt, name]))
                lines.append(f"{rtt} ms, {name}: {use[rtt, name][worst]:.2%} at {counts[worst]}")
        ax.set(xlabel="users over those that fill the link", ylabel="utilisation", ylim=(0.82, 1.005))
        ax.legend(frameon=False, ncols=3, loc="lower right")
    lab.claim(
        "drop-tail is worst at early congestion: by 2.2 times the users that fill the link",
        all(np.argmin(use[rtt, "drop-tail"]) <= shares.index(2.2) for rtt in (10, 20, 50)),
        ours="; ".join(lines),
        printed="at early congestion",
        robust=True,
    )
    worst_of = [min(use[rtt, "drop-tail"]) for rtt in (10, 20, 50)]
    lab.claim(
        "drop-tail: the worst utilisation falls as the latency rises, from 10 to 20 to 50 ms",
        worst_of[0] > worst_of[1] > worst_of[2],
        ours=", ".join(f"{value:.2%}" for value in worst_of),
        printed="the buffer does not provide the same bandwidth insurance",
        exact=True,
        robust=True,
    )
    lab.claim(
        "RED uses the link at least as well as drop-tail at every load and latency",
        all(a <= b + 1e-6 for rtt in (10, 20, 50) for a, b in zip(use[rtt, "drop-tail"], use[rtt, "RED"], strict=True)),
        ours="; ".join(lines),
        printed="better",
        exact=True,
    )
    long = {"flows.rtt": "uniform 49.75 ms .. 50.25 ms", "flows.initial_ssthresh": "32 packets", "flows.count": 202}
    share = {queue: packets(lab, queue, {0: long})[0][0] for queue in ("drop-tail", "red")}
    lab.claim(
        "50 ms, 202 users, packets: RED uses the link better", share["red"] > share["drop-tail"], ours=listing(share)
    )


@paper.item("sec-5.4", "Mixed latencies", "section 5.4")
def mixed_latencies(lab: Lab) -> None:
    """Find the single latency that equals 10, 20 and 40 ms together."""
    mixed, count = [10.0, 20.0, 40.0], 60
    change = {"flows.count": count, "flows.rtt": [f"{rtt:g} ms" for rtt in mixed]}
    queue = fields(lab, "red", {0: change})[0][1]

    def single(rtt: float) -> float:
        return fields(lab, "red", {0: {"flows.count": count, "flows.rtt": f"{rtt:.9g} ms"}})[0][1]

    harmonic = len(mixed) / sum(1 / rtt for rtt in mixed)
    low, high = min(mixed), max(mixed)
    for _ in range(12):  # more latency, shorter queue
        middle = 0.5 * (low + high)
        low, high = (middle, high) if single(middle) > queue else (low, middle)
    equivalent = 0.5 * (low + high)
    wait = 1e3 * queue * BUFFER / RATE
    whole = len(mixed) / sum(1 / (rtt + wait) for rtt in mixed) - wait
    queue_of_packets = packets(lab, "red", {0: {**change, "flows.initial_ssthresh": "32 packets"}})[0][1]
    text = f"equivalent {equivalent:.2f} ms; queue over the buffer {queue:.3f}, packets {queue_of_packets:.3f}"
    others = (math.prod(mixed) ** (1 / len(mixed)), sum(mixed) / len(mixed), min(mixed))
    lab.claim(
        "10, 20 and 40 ms together act as their harmonic mean: no other mean (geometric, arithmetic) is as near, nor "
        "10 ms",
        abs(equivalent - harmonic) < min(abs(equivalent - other) for other in others),
        ours=f"{text}; harmonic mean {harmonic:.2f} ms, where the queue is {single(harmonic):.3f}",
        printed="harmonic mean",
        robust=True,
    )
    lab.claim(
        "the harmonic mean of the round trips with queueing, less the queueing, is nearer still",
        abs(equivalent - whole) < abs(equivalent - harmonic),
        ours=f"{equivalent:.2f} ms and {whole:.2f} ms",
        robust=True,
    )
