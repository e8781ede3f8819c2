"""
Set-ups of papers made wrong on purpose: what fails then is ours, or the key is refused by its name.

Run as a script it tries the longer list `MORE` too, and prints what became of each.
"""

from __future__ import annotations

import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any, cast

import pytest

from ackclock import ScenarioError, paper
from ackclock.paper import PaperError, Verdict

PAPERS = Path(__file__).resolve().parents[1] / "papers"
Case = tuple[str, str, str, object]
"""Paper, item, and a key with a wrong value."""
Failure = tuple[str, str, Verdict]
WRONG: list[Case] = [
    ("aimd-red", "fig-10", "flows.congestion", "cubic"),
    ("aimd-red", "fig-7", "flows.count", 300),
    ("aimd-red", "fig-7", "flows.rtt", "400 ms"),
    ("aimd-red", "fig-7", "link.queue.min_threshold", "20 packets"),
    ("aimd-red", "fig-7", "link.rate", "300 Mbit/s"),
    ("aimd-red", "fig-3", "printed.fig-3.window", 110),
    ("aimd-red", "fig-3", "printed.iv-c.capacity", 12000),
    ("compound-red", "eq-15", "link.queue.capacity", "50 packets"),
    ("compound-red", "eq-15", "link.queue.max_probability", 0.2),
    ("compound-red", "eq-15", "flows.congestion", "reno"),
    ("compound-red", "eq-40", "flows.congestion", "reno"),
    ("compound-red", "eq-40", "flows.rtt", "500 ms"),
    ("compound-red", "fig-20", "flows.congestion", "reno"),
    ("compound-red", "fig-20", "flows.rtt", "500 ms"),
    ("compound-red", "fig-20", "link.queue.min_threshold", "20 packets"),
    ("compound-red", "fig-20", "printed.fig-20.tau_hopf_at_C_100", "0.5"),
    ("compound-red", "table-1", "flows.congestion", "reno"),
    ("compound-red", "fig-14", "printed.fig-14.threshold_hopf", "45"),
    ("compound-red", "fig-2", "printed.fig-2.tau_hopf_at_C_100", "0.0948"),
    ("compound-red", "fig-15", "flows.access_rate", "1 Mbit/s"),
    ("compound-red", "fig-15", "link.queue.threshold", "30 packets"),
    ("compound-red", "fig-6", "flows.count", 20),
    ("compound-red", "fig-6", "link.rate", "50 Mbit/s"),
    ("compound-red", "fig-6", "link.queue.max_probability", 0.5),
    ("cx-tcp", "fig-2", "printed.fig-2.reverts", (60, 65)),
    ("cx-tcp", "fig-3", "flows.reverse.count", 1),
    ("cx-tcp", "fig-4", "printed.fig-4.utilization", (80, 90)),
    ("cx-tcp", "fig-5", "flows.delay-based.congestion", "reno"),
    ("cx-tcp", "fig-5", "flows.loss-based.recovery", "reno"),
    ("cx-tcp", "fig-7", "link.queue.capacity", "10 ms"),
    ("cx-tcp", "fig-8", "flows.delay-based.count", 40),
    ("cx-tcp", "fig-8", "link.rate", "50 Mbit/s"),
    ("mean-field", "fig-6", "flows.count", 70),
    ("mean-field", "cor-1", "printed.cor-1.largest_loss", "64"),
    ("mean-field", "fig-2", "printed.fig-2.atom", "4.3"),
    ("mean-field", "sec-5.1.1", "link.router.rate", "500 Mbit/s"),
    ("mean-field", "sec-5.1.1", "flows.rtt", "20 ms"),
    ("mean-field", "sec-5.1.1", "flows.max_window", "32 packets"),
    ("mean-field", "sec-5.1.1", "printed.sec-5.buffer", "285"),
    ("mean-field", "thm-1", "printed.thm-2.atom", "5.6"),
    ("st-red", "eq-6.3", "printed.6-4.a", 7.5e-5),
    ("st-red", "eq-6.3", "printed.6-4.b", 7e-5),
    ("st-red", "eq-6.3", "printed.6-4.sampling", 17),
    ("st-red", "prop-4.9", "printed.4-5.experiment-1.capacity", 5000),
    ("st-red", "prop-4.9", "printed.4-5.experiment-2.flows", 60),
    ("st-red", "prop-4.9", "printed.4-5.experiment-2.min_threshold", "30"),
    ("st-red", "prop-4.9", "printed.4-5.experiment-3.rtt", 0.5),
    ("st-red", "table-5-3", "link.rate", "5 Mbit/s"),
]
REFUSED: list[Case] = [
    ("aimd-red", "fig-3", "flows.rtt", "200 ms"),
    ("aimd-red", "fig-3", "link.rate", "300 Mbit/s"),
    ("aimd-red", "thm-1", "flows.rtt", "200 ms"),
    ("compound-red", "eq-40", "link.queue.threshold", "20 packets"),
    ("compound-red", "fig-9", "flows.rtt", "10 ms"),
    ("compound-red", "table-1", "link.queue.max_probability", 0.2),
    ("cx-tcp", "lemma-4.1", "link.rate", "50 Mbit/s"),
    ("mean-field", "cor-1", "flows.count", 30),
    ("mean-field", "thm-4", "link.router.rate", "500 Mbit/s"),
]
"""Items whose formulas have numbers of their own, and a round trip that is shorter than the path's propagation."""


@cache
def store() -> tempfile.TemporaryDirectory[str]:
    """Return a directory for the runs of all cases; it goes at the end."""
    return tempfile.TemporaryDirectory(prefix="mutations-")


@cache
def failing(key: str, item: str, name: str = "", value: object = None, *, quick: bool = True) -> dict[str, Failure]:
    """
    Return what fails, by its name: as printed, ours, verdict; without a key in the right set-up.

    Verdicts are those of full runs, in quick ones too: what fails for being short does so in both set-ups.
    """
    of = paper.paper(PAPERS, key)
    changes = {name: value} if name else None
    outcomes = paper.reproduce(of, [of.find(item)], out=Path(store().name), quick=quick, changes=changes)
    [outcome] = paper.judged(of.causes, outcomes, paper.read_ledger(of.folder))
    return {
        text: (claim.printed, claim.ours, claim.verdict)
        for text, claim in paper.named(outcome)
        if claim.printed and not claim.holds
    }


IMMATERIAL: list[tuple[Case, str]] = [
    (
        ("compound-red", "fig-8", "link.queue.max_probability", 0.5),
        "what is printed of figure 8 holds with it too; figure 6 does not",
    ),
    (("mean-field", "thm-4", "flows.count", 40), "(32) has no number of users in it"),
    (("mean-field", "sec-5.4", "flows.count", 30), "the number of users is ours: the section prints none"),
    (
        ("mean-field", "sec-5.4", "link.router.queue.capacity", "1000 packets"),
        "RED at its thresholds keeps the queue below the buffer as printed",
    ),
    (("st-red", "ch2-claims", "flows.count", 10), "the chapters print no set-up, and nothing of them is counted"),
]
"""Changed set-ups whose claims hold as before, and why they ought to; the script tries them."""
FORMULAS: list[tuple[str, str, str, str, float]] = [
    ("aimd-red", "eq-10", "aimd_red_analysis", "fall", 1.1),
    ("aimd-red", "eq-10", "aimd_red_analysis", "equilibrium", 1.05),
    ("aimd-red", "thm-1", "aimd_red_analysis", "printed_4", 1.1),
    ("aimd-red", "thm-1", "aimd_red_analysis", "rates", -1.0),
    ("compound-red", "appendix", "compound_red_appendix", "table_2", 1.05),
    ("compound-red", "eq-15", "compound_red_analysis", "third_order", 1.05),
    ("compound-red", "eq-15", "compound_red_analysis", "kappa_derivative", 1.05),
    ("compound-red", "eq-40", "compound_red_analysis", "equilibrium_window", 1.05),
    ("cx-tcp", "fig-1", "cx_tcp_analysis", "rising", 1.1),
    ("cx-tcp", "thm-4.4", "cx_tcp_analysis", "linearised", -1.0),
    ("mean-field", "thm-1", "mean_field_analysis", "coefficients", 1.1),
    ("mean-field", "thm-1", "mean_field_analysis", "density", 1.1),
    ("mean-field", "thm-1", "mean_field_analysis", "product", 1.1),
    ("st-red", "eq-4.10", "st_red_analysis", "bound_4_9", 1.1),
    ("st-red", "eq-4.10", "st_red_analysis", "scaled", 1.1),
    ("st-red", "eq-5.11", "st_red_detection", "steady_state", 1.1),
    ("st-red", "eq-6.3", "st_red_analysis", "design_gain", 1.2),
]
"""Paper, item, and a function of a module of it that returns a wrong multiple of what it should."""


MORE: list[Case] = [
    ("aimd-red", "eq-12", "flows.count", 300),
    ("aimd-red", "fig-13", "link.router.rate", "300 Mbit/s"),
    ("cx-tcp", "fig-13", "link.rate", "5 Mbit/s"),
    ("mean-field", "fig-7", "flows.recovery", "sack"),
    ("mean-field", "fig-7", "flows.rtt", "20 ms"),
    ("mean-field", "fig-7", "link.rate", "500 Mbit/s"),
    ("mean-field", "sec-5.3", "flows.max_window", "20 packets"),
    ("mean-field", "sec-5.4", "flows.rtt", "20 ms"),
    ("st-red", "fig-4.3", "link.rate", "2 Mbit/s"),
    ("st-red", "fig-4.4", "link.rate", "50 Mbit/s"),
    ("st-red", "table-5-5", "link.forward.rate", "50 Mbit/s"),
    ("st-red", "table-6-2", "flows.count", 30),
    ("st-red", "table-6-2", "link.rate", "5 Mbit/s"),
    ("st-red", "table-6-3", "link.rate", "30 Mbit/s"),
]
"""What takes longer; whether each is noticed, only the script says."""


def moved(case: Case, *, quick: bool = True) -> list[Verdict]:
    """Return the verdicts on what fails in the wrong set-up, and did not, or differently, in the right one."""
    key, item, *change = case
    right = failing(key, item, quick=quick)
    return [
        failure[-1] for text, failure in failing(key, item, *change, quick=quick).items() if right.get(text) != failure
    ]


@pytest.mark.parametrize("case", WRONG, ids=str)
def test_what_fails_in_a_wrong_set_up_is_ours(case: Case) -> None:
    verdicts = moved(case)
    assert verdicts
    assert verdicts.count(Verdict.OURS) >= 0.8 * len(verdicts), verdicts


def multiple(value: object, factor: float) -> Any:
    """Return numbers, in whatever they are, times a factor."""
    if isinstance(value, dict):
        return {name: multiple(inner, factor) for name, inner in value.items()}
    if isinstance(value, tuple | list):
        return type(value)(multiple(inner, factor) for inner in value)
    return cast("float", value) * factor


@pytest.mark.parametrize(("key", "item", "module", "name", "factor"), FORMULAS)
def test_what_fails_with_a_wrong_formula_is_ours(
    key: str, item: str, module: str, name: str, factor: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = failing(key, item)
    place = sys.modules[module]
    formula = getattr(place, name)
    monkeypatch.setattr(place, name, lambda *given, **named: multiple(formula(*given, **named), factor))
    wrong = failing.__wrapped__(key, item)
    verdicts = [failure[-1] for text, failure in wrong.items() if right.get(text) != failure]
    assert verdicts
    assert set(verdicts) == {Verdict.OURS}


@pytest.mark.parametrize("case", REFUSED, ids=str)
def test_keys_that_an_item_does_not_take_are_refused(case: Case) -> None:
    with pytest.raises((PaperError, ScenarioError), match=f'--set {case[2]}: {case[0]} {case[1]}|found "{case[3]}"'):
        failing(*case)


def main() -> int:
    """Try and print every case; return 1 if one is not noticed, or less than 80 % of a paper's failures are ours."""
    quick = "--full" not in sys.argv[1:]
    tally: dict[str, list[int]] = {}
    for case in (*WRONG, *REFUSED, *MORE):
        key, item, name, value = case
        sums = tally.setdefault(key, [0, 0, 0, 0])  # set-ups, noticed, newly failing claims, of these ours
        sums[0] += 1
        try:
            verdicts = moved(case, quick=quick)
        except (PaperError, ScenarioError) as error:
            sums[1] += 1
            text = f"refused: {str(error).splitlines()[0]}"
        else:
            mine = verdicts.count(Verdict.OURS)
            sums[1:] = [sums[1] + bool(verdicts), sums[2] + len(verdicts), sums[3] + mine]
            text = f"{mine} of {len(verdicts)} ours" if verdicts else "not noticed"
        sys.stdout.write(f"{key} {item} --set {name}={value}: {text}\n")
        sys.stdout.flush()
    for case, reason in IMMATERIAL:
        verdicts = moved(case, quick=quick)
        sys.stdout.write(f"{' '.join(map(str, case))}: {len(verdicts)} fail; {reason}\n")
    for key, (count, noticed, failing_now, mine) in sorted(tally.items()):
        sys.stdout.write(f"{key}: {noticed} of {count} wrong set-ups noticed; {mine} of {failing_now} failures ours\n")
    return int(any(noticed < count or mine < 0.8 * new for count, noticed, new, mine in tally.values()))


if __name__ == "__main__":
    sys.exit(main())
