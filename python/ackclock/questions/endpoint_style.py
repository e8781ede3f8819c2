"""The style of TCP endpoints, and the same scenario with another."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from typing import Any, Final

from ..core._words import listed
from ..core.scenario import Scenario

ALWAYS: Final = ("name", "count", "path", "reverse_path", "rtt", "start", "traffic", "packet_size")
"""Keys of a class that no style decides."""


def styled(tree: Mapping[str, Any], style: str) -> dict[str, Any]:
    """
    Return a canonical scenario with its TCP endpoints in another style.

    What the file says stays; what it leaves to its style has that style's defaults.
    """
    changed = copy.deepcopy(dict(tree))
    for place, flow in enumerate(changed["flows"]):
        if "congestion" not in flow or flow.get("style", style) == style:
            continue
        fixed = {key: flow[key] for key in ALWAYS if key in flow}
        kind = {"kind": flow["congestion"]["kind"]}
        plain = {**fixed, "style": flow["style"], "congestion": kind}
        defaults = Scenario({**changed, "flows": [plain], "change": []}).canonical["flows"][0]
        given = {key: value for key, value in flow.items() if key not in fixed and defaults.get(key) != value}
        control = {key: value for key, value in flow["congestion"].items() if defaults["congestion"].get(key) != value}
        changed["flows"][place] = {**fixed, **given, "style": style, "congestion": {**kind, **control}}
    return changed


def styles(flows: Iterable[Mapping[str, Any]]) -> str:
    """Return the styles of the TCP endpoints of some classes of flows, in words; nothing without TCP."""
    return listed(sorted({str(flow["style"]) for flow in flows if "style" in flow}))
