"""Notes of a sweep, as text."""

from __future__ import annotations

from typing import Final

_SHAPED: Final = "link `{link}`: utilisation is of the rate that its shaper lets through, not of the line's"

STATEMENTS: Final = {
    "shaped": _SHAPED,
    "shaped-stored": f"{_SHAPED}; utilization in the store and in --json is of the line",
    "policed": "link `{link}`: utilisation is of the line's rate, not of the rate that its policer lets through",
}
