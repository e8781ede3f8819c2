"""
Whether verdicts on packet runs depend on how they were asked, for `campaign.py`.

A random link is run in 18 variants that are the same system (seeds, length, sampling, order and names of classes, units
of time); answers that contradict those of most variants are false.
"""

import sys
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from verdict_variants import VARIANTS, answers, contradictions, random_link

QUESTIONS = ("oscillates", "is stable")


def question(seed: int) -> tuple[str, Any]:
    """A link with one or two classes of endless flows."""
    link = random_link(seed)
    return (
        f"{' and '.join(flow_class['congestion'] for flow_class in link['classes'])} over {link['queue']['aqm']}",
        link,
    )


def answer(link: Any, packets: float) -> Any:
    """Both answers of every variant."""
    return {variant.name: answers(link, variant, packets) for variant in VARIANTS}


def checked(_asked: Any, answers: Any, _seed: int) -> dict[str, Any]:
    """What contradicts."""
    wrong, unknown = [], 0
    for place, question in enumerate(QUESTIONS):
        verdicts = [pair[place] for pair in answers.values()]
        unknown += verdicts.count("cannot tell")
        said = ", ".join(f"{name}: {pair[place]}" for name, pair in answers.items())
        wrong += contradictions(verdicts) * [f"{question}: {said}"]
    return {"answers": answers, "sentences": len(QUESTIONS) * len(answers), "open": unknown, "false": wrong}


def report(rows: list[dict[str, Any]]) -> str:
    """What single runs of 40 s and of 160 s tell of each question, a line each."""
    lines = []
    for place, question in enumerate(QUESTIONS):
        wrong = sum(text.startswith(question) for row in rows for text in row["false"])
        plain, long = (
            dict(Counter(row["answers"][name][place] for row in rows)) for name in ("seed 1", "four times as long")
        )
        lines.append(f"{question}: {wrong} answers contradict the others'; 40 s: {plain}; 160 s: {long}")
    return "\n".join(lines)
