"""Notes of a sweep, as text."""

from __future__ import annotations

from typing import Final

ALIKE: Final = (
    "since nothing here is drawn at random: their intervals are zero and tell nothing; "
    'flows.start = "uniform 0 s .. 1 s" makes seeds differ'
)
"""Why seeds make no difference, and what would make one."""
_SHAPED: Final = "link `{link}`: utilisation is of the rate that its shaper lets through, not of the line's"

STATEMENTS: Final = {
    "shaped": _SHAPED,
    "shaped-stored": f"{_SHAPED}; utilization in the store and in --json is of the line",
    "same": f"seeds make no difference, {ALIKE}",
    "policed": "link `{link}`: utilisation is of the line's rate, not of the rate that its policer lets through",
}
