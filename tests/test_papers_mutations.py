"""Set-ups of papers made wrong on purpose: what fails then is ours."""

from pathlib import Path

import pytest

from ackclock import paper
from ackclock.paper import Outcome, Verdict

PAPERS = Path(__file__).resolve().parents[1] / "papers"
WRONG = [
    ("aimd-red", "fig-3", "printed.fig-3.window", 110),
    ("aimd-red", "fig-3", "printed.iv-c.capacity", 12000),
    ("st-red", "eq-6.3", "printed.6-4.a", 7.5e-5),
    ("compound-red", "fig-20", "flows.congestion", "reno"),
]
"""Paper, item, and a key with a wrong value."""


def failing(outcome: Outcome) -> dict[str, tuple[str, str, Verdict]]:
    return {
        text: (claim.printed, claim.ours, claim.verdict)
        for text, claim in paper.named(outcome)
        if claim.printed and not claim.holds
    }


@pytest.mark.parametrize(("key", "item", "name", "value"), WRONG)
def test_what_fails_in_a_wrong_set_up_is_ours(key: str, item: str, name: str, value: object, tmp_path: Path) -> None:
    of = paper.paper(PAPERS, key)
    [outcome] = paper.reproduce(of, [of.find(item)], out=tmp_path, quick=True, changes={name: value})
    right = next(one for one in paper.read_ledger(of.folder) if one.id == item)
    kept = failing(right)
    moved = {text: found for text, found in failing(outcome).items() if kept.get(text) != found}
    assert moved
    ours = sum(verdict is Verdict.OURS for *_, verdict in moved.values())
    assert ours >= 0.8 * len(moved), moved
