"""The sentences of `ackclock why` on links that cross every two levels of their features, for `campaign.py`."""

from typing import Any

from why_sentences import answer, checked, report  # also makes the folder of the next known

from covering import covering

__all__ = ["answer", "checked", "question", "report"]


def question(seed: int) -> tuple[str, Any]:
    """A row of the covering array: so many seeds in a row as it has rows cross all."""
    return "covering", covering(seed)
