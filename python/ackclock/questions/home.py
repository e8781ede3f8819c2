"""The link of a home as a scenario: one way down, one way up, and what its people do."""

from __future__ import annotations

from typing import Any, Final

from ..core.scenario import Scenario, flows

DOWN: Final = "down"
UP: Final = "up"
CALL: Final = {"packet_size": "200 B", "traffic": {"kind": "cbr", "rate": "80 kbit/s"}}
"""A voice stream: G.711 with 20 ms of speech a packet and 40 B of headers (RFC 3551)."""
GAME_IN: Final = {"packet_size": "250 B", "traffic": {"kind": "cbr", "rate": "120 kbit/s"}}
"""Stream of a game's server: 60 updates a second."""
GAME_OUT: Final = {"packet_size": "100 B", "traffic": {"kind": "cbr", "rate": "48 kbit/s"}}
"""Stream of a player: 60 commands a second."""
WEB: Final = {"traffic": {"kind": "http", "size": "2 MB", "think": "5 s"}}
"""Somebody who opens pages of 2 MB, each over a new connection, and reads each for some seconds."""


def doing(
    down: list[str], up: list[str] | None, rtt: str, *, call: bool = False, game: bool = False, web: bool = False
) -> list[dict[str, Any]]:
    """Return the classes of what people do over a path, and over the way back if that is a link."""
    classes: list[dict[str, Any]] = []
    for wanted, name, come, go in ((call, "call", CALL, CALL), (game, "game", GAME_IN, GAME_OUT)):
        if wanted:
            classes.append({**come, "name": f"{name}-in", "path": down, "rtt": rtt})
            classes += [{**go, "name": f"{name}-out", "path": up, "rtt": rtt}] if up else []
    if web:
        classes.append({**WEB, "name": "pages", "path": down, "rtt": rtt, **({"reverse_path": up} if up else {})})
    return classes


def home(
    down: str,
    up: str,
    rtt: str,
    *,
    queue: dict[str, Any],
    count: int = 1,
    congestion: Any = "cubic",
    seed: int = 1,
    call: bool = False,
    game: bool = False,
    web: bool = False,
) -> Scenario:
    """
    Return a home with downloads, as many uploads, and what else its people do.

    Parameters
    ----------
    down, up
        Rates of both ways, such as ``"100 Mbit/s"``.
    rtt
        Round trip without queueing, such as ``"12 ms"``.
    queue
        Queue of both ways, with the keys of a scenario.
    count, congestion
        Downloads, and uploads, and their congestion control.
    seed
        Seed of the scenario.
    call, game, web
        True if there is a call, a game, somebody who opens pages.
    """
    both = ([DOWN], [UP])
    bulk = [
        {
            **flows(count, congestion, rtt=rtt, start="uniform 0 s .. 1 s"),
            "name": name,
            "path": path,
            "reverse_path": back,
        }
        for name, path, back in (("downloads", *both), ("uploads", *reversed(both)))
    ]
    tree = {
        "scenario": {"name": "why", "duration": "60 s", "measure": "20 s .. 60 s", "seed": seed},
        "link": [{"name": name, "rate": rate, "queue": queue} for name, rate in ((DOWN, down), (UP, up))],
        "flows": [*bulk, *doing([DOWN], [UP], rtt, call=call, game=game, web=web)],
    }
    return Scenario(tree, origin="why")
