"""What sections 5.5 and 6.4 of Chen's thesis say of transients: how soon a queue settles, and when it oscillates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from st_red_tables import LEAST_STABLE, Runs, listed, pieces, queue, restless, spans

from ackclock import Result
from ackclock.paper import Lab, spread

WIDTH = 10.0
"""Over which a queue is averaged before it is asked whether it has settled, s."""
HELD = 5
"""In how many of these means it must be near its level."""
NEAR = 0.25
"""Relative distance from the level."""


def settling_time(result: Result, start: float, level: float, haste: float) -> float:
    """Return how long after `start` the queue, over 10 s, first stays within a quarter of `level` for 50 s; or inf."""
    means = np.array([piece.mean() for piece in pieces(result, WIDTH / haste)])[int(start / WIDTH) :]
    near = np.abs(means / level - 1) <= NEAR
    held = [index for index in range(len(near) - HELD + 1) if near[index : index + HELD].all()]
    return WIDTH * held[0] if held else float("inf")


def times(runs: Runs, scheme: str, start: float, level: float | None = None) -> list[float]:
    """Return settling times of each seed, to `level` or to the mean over the last 100 s."""
    times = []
    for result in runs.longest(scheme):
        at, value = queue(result)
        own = float(value[at >= result.end - 100 / runs.haste].mean())
        times.append(settling_time(result, start, own if level is None else level, runs.haste))
    return times


def ratio(result: Result, begin: float, end: float, haste: float) -> float:
    """Return the deviation of a queue over its mean, between two times."""
    at, value = queue(result)
    part = value[(at >= begin / haste) & (at < end / haste)]
    return float(part.std() / part.mean())


def ratios(runs: Runs, scheme: str, begin: float, end: float) -> NDArray[np.float64]:
    """Return `ratio` of each seed."""
    return np.array([ratio(result, begin, end, runs.haste) for result in runs.longest(scheme)])


def sooner(
    lab: Lab, runs: Runs, start: float, pairs: Sequence[tuple[str, str]], printed: str, level: float | None = None
) -> None:
    """One scheme settles before another, by the mean over the seeds."""
    for first, second in pairs:
        if first in runs.schemes and second in runs.schemes:
            own, other = times(runs, first, start, level), times(runs, second, start, level)
            lab.claim(
                f"after {start:g} s {first} settles before {second}: within a quarter of "
                + ("its last mean" if level is None else f"{level:g} packets")
                + ", by the mean over the seeds",
                np.mean(own) < np.mean(other),
                ours=f"{spread(own, '{:.0f}')} and {spread(other, '{:.0f}')} s",
                printed=printed,
            )


def calm(lab: Lab, runs: Runs, scheme: str, parts: slice, text: str, printed: str) -> None:
    """The queue deviates by no more than the root of a half of its mean in each of some pieces of 200 s."""
    if scheme in runs.schemes:
        flags = restless(runs, scheme)
        lab.claim(
            f"{scheme}: the queue deviates by 0.71 of its mean at most in every 200 s {text}",
            not flags[parts].any(),
            ours=f"more than that: {spans(flags)}",
            printed=printed,
        )


def section_5_5_1(lab: Lab, runs: Runs) -> None:
    """PI settles late with the larger reference too."""
    if "PI-120" in runs.schemes:
        took = times(runs, "PI-120", 0, 120)
        lab.claim(
            "PI-120 takes 50 s or more until its queue stays within a quarter of the reference",
            np.mean(took) >= 50,
            ours=f"{spread(took, '{:.0f}')} s",
            printed="so does PI-120",
        )


def section_5_5_2(lab: Lab, runs: Runs) -> None:
    """ARED is calm again at the end; PI-40 hardly settles in 400 s, and swings more than PI-120."""
    calm(lab, runs, "ARED (20,60)", slice(7, None), "after 1400 s", "becomes stable again")
    took = times(runs, "PI-40", 0, 40)
    lab.claim(
        "PI-40: the queue does not stay within a quarter of the reference for 50 s in the first 400 s, in any seed",
        min(took) >= 350,
        ours=f"it does after {spread(took, '{:.0f}')} s",
        printed="hardly settle down for the first 400 seconds",
    )
    if "PI-120" in runs.schemes:
        (small, low), (large, high) = (runs.pieces(scheme) for scheme in ("PI-40", "PI-120"))
        worse = np.flatnonzero(high / large >= low / small)
        lab.claim(
            "PI-120's queue deviates by less of its mean than PI-40's in every 200 s",
            not worse.size,
            ours=f"not in: {listed(f'{200 * index} to {200 * index + 200} s' for index in worse)}",
            printed="more benign than PI-40",
            exact=True,
        )


def section_5_5_3(lab: Lab, runs: Runs) -> None:
    """PI is sluggish and swings more; ARED is calm throughout."""
    for scheme in ("ARED (20,60)", "ARED (60,180)"):
        calm(lab, runs, scheme, slice(None), "of the run", "a stable queue all the time")
    larger_swing(lab, runs, "the amplitude of oscillations is relatively large")
    sooner(lab, runs, 0, [("ARED (60,180)", "PI-120")], "responsiveness is sluggish", 120)


def section_5_5_4(lab: Lab, runs: Runs) -> None:
    """The same, as HTTP sessions come."""
    for scheme in ("ARED (20,60)", "ARED (60,180)"):
        calm(lab, runs, scheme, slice(None), "of the run", "can keep stable with small deviation")
    larger_swing(lab, runs, "although queue size keeps stable, the queue deviation is large")
    sooner(lab, runs, 0, [("ARED (60,180)", "PI-120")], "the sluggish response", 120)


def larger_swing(lab: Lab, runs: Runs, printed: str) -> None:
    """PI's deviation is above ARED's at the same reference."""
    for scheme, other in (("PI-40", "ARED (20,60)"), ("PI-120", "ARED (60,180)")):
        if scheme in runs.schemes and other in runs.schemes:
            lab.claim(
                f"{scheme}'s queue deviates by more than that of {other}, in every seed",
                runs.all(scheme, "queue_std").min() > runs.all(other, "queue_std").max(),
                ours=f"{spread(runs.all(scheme, 'queue_std'))} and {spread(runs.all(other, 'queue_std'))} packets",
                printed=printed,
                exact=True,
            )


def section_5_5_5(lab: Lab, runs: Runs) -> None:
    """ARED swings a bit more at the highest density of UDP; PI more than ARED, and it settles late."""
    for scheme in ("ARED (20,60)", "ARED (60,180)"):
        if scheme in runs.schemes:
            deviations = runs.pieces(scheme)[1]
            lab.claim(
                f"{scheme}: the queue deviates by more at a density of 0.9 (800 to 1000 s) than at 0.1 (0 to 200 s)",
                deviations[4] > deviations[0],
                ours=f"{deviations[4]:.1f} and {deviations[0]:.1f} packets",
                printed="a bit more severe queue oscillations",
                exact=True,
            )
    larger_swing(lab, runs, "more severe oscillations")
    sooner(lab, runs, 0, [("ARED (20,60)", "PI-40")], "take a long time for the queue to settle down", 40)
    sooner(lab, runs, 0, [("ARED (60,180)", "PI-120")], "take a long time for the queue to settle down", 120)


def section_6_4_1(lab: Lab, runs: Runs) -> None:
    """ARED and PI swing at long round trips only; ST-RED and ST-PI less, with more of a queue, then with less."""
    for scheme in ("ARED", "PI"):
        if scheme in runs.schemes:
            ratios_of = {text: ratios(runs, scheme, *text) for text in ((50, 100), (300, 500), (700, 900))}
            before, long, after = ratios_of.values()
            lab.claim(
                f"{scheme}: the queue deviates by more than 0.71 of its mean at 300 to 500 s, and by less at 50 to "
                "100 s and at 700 to 900 s, in every seed",
                long.min() > LEAST_STABLE and max(before.max(), after.max()) < LEAST_STABLE,
                ours="; ".join(f"{a} to {b} s {spread(values, '{:.2f}')}" for (a, b), values in ratios_of.items()),
                printed="benign from 0 to 100 s, severe to 500 s, reduce significantly after",
            )
    for tuned, plain in (("ST-RED", "ARED"), ("ST-PI", "PI")):
        if tuned in runs.schemes and plain in runs.schemes:
            own, other = ratios(runs, tuned, 400, 500), ratios(runs, plain, 400, 500)
            lab.claim(
                f"400 to 500 s: {tuned}'s queue deviates by less of its mean than {plain}'s, in every seed",
                bool((own < other).all()),
                ours=f"{spread(own, '{:.2f}')} and {spread(other, '{:.2f}')}",
                printed="oscillations become less severe",
                exact=True,
            )


def section_6_4_2(lab: Lab, runs: Runs) -> None:
    """ST-RED and ST-PI are calm at their new reference, and the others are not."""
    for scheme, steady in (("ARED", False), ("PI", False), ("ST-RED", True), ("ST-PI", True)):
        if scheme in runs.schemes:
            quotients = ratios(runs, scheme, 500, 600)
            lab.claim(
                f"500 to 600 s: {scheme}'s queue deviates by "
                + ("less" if steady else "more")
                + " than 0.71 of its mean, in every seed",
                quotients.max() < LEAST_STABLE if steady else quotients.min() > LEAST_STABLE,
                ours=spread(quotients, "{:.2f}"),
                printed="can stabilize the queue size" if steady else "malignant",
            )


def section_6_4_3(lab: Lab, runs: Runs) -> None:
    """ARED is back soon after the capacity has changed; PI is slow."""
    for start in (200, 400):
        sooner(lab, runs, start, [("ARED", "PI")], "quickly return back; responds slowly", 150)


def section_6_4_4(lab: Lab, runs: Runs) -> None:
    """Transients after the load has grown tenfold; queues of a third; swings of PI."""
    tuned = ("ST-PI", "ST-RED")
    sooner(lab, runs, 300, [(scheme, "PI") for scheme in tuned], "much faster than that of PI")
    sooner(lab, runs, 300, [(scheme, "ARED") for scheme in tuned], "slightly better than that of ARED")
    third(lab, runs)
    more_swing(lab, runs, ("PI",), "become obvious when traffic load increases")


def section_6_4_5(lab: Lab, runs: Runs) -> None:
    """Queues of a third; swings grow with the density of UDP."""
    third(lab, runs)
    more_swing(lab, runs, ("ARED", "PI"), "become larger when rho increases to 0.9")


def third(lab: Lab, runs: Runs) -> None:
    """ST-RED and ST-PI have a third of the queue of what they tune."""
    for tuned, plain in (("ST-RED", "ARED"), ("ST-PI", "PI")):
        if tuned in runs.schemes and plain in runs.schemes:
            thirds = [
                runs.mean(tuned, "queue_mean", window) / runs.mean(plain, "queue_mean", window)
                for window in runs.windows
            ]
            lab.claim(
                f"{tuned}'s mean queue is a third of {plain}'s in both windows, to within a quarter of a third",
                all(abs(3 * third - 1) <= NEAR for third in thirds),
                ours=" and ".join(f"{third:.3f}" for third in thirds),
                printed="about one third",
            )


def more_swing(lab: Lab, runs: Runs, schemes: Sequence[str], printed: str) -> None:
    """The queue deviates by more in the last window than in the first."""
    for scheme in schemes:
        if scheme in runs.schemes:
            first, last = (runs.all(scheme, "queue_std", window) for window in (runs.windows[0], runs.windows[-1]))
            lab.claim(
                f"{scheme}'s queue deviates by more in the second window than in the first, in every seed",
                bool((last > first).all()),
                ours=f"{spread(first)} and {spread(last)} packets",
                printed=printed,
                exact=True,
            )


CLAIMS: Mapping[str, Callable[[Lab, Runs], None]] = {
    "5-1": section_5_5_1,
    "5-2": section_5_5_2,
    "5-3": section_5_5_3,
    "5-4": section_5_5_4,
    "5-5": section_5_5_5,
    "6-1": section_6_4_1,
    "6-2": section_6_4_2,
    "6-3": section_6_4_3,
    "6-4": section_6_4_4,
    "6-5": section_6_4_5,
}
"""By table: what the text says of its figure."""
