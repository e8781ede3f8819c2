"""An answer about stability as text and tables."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...core._words import digits, quantity

if TYPE_CHECKING:
    import pandas as pd

    from ...questions.stability import Answer, Stability


def equilibrium_text(of: Stability) -> str:
    """Return whether the equilibrium is stable, and its values."""
    verdict = {True: "stable", False: "unstable"}.get(bool(of.stable)) if of.unstable_roots is not None else None
    lines = [f"{of.name}: {verdict or 'cannot tell whether it is stable'}; .answer() has the limits of its parameters"]
    return "\n".join([*lines, *(f"{name}: {text}" for name, text in at_rest(of).items())])


def at_rest(of: Stability) -> dict[str, str]:
    """Return the lines about an equilibrium: name and value."""
    at = of.equilibrium
    rows: dict[str, str] = {}
    for name in at.window:
        rtt, loss = quantity(at.rtt[name], "s"), _percent(at.loss[name])
        text = f"window {digits(at.window[name])} packets, RTT {rtt}, loss {loss}"
        rows[f"flows {name}"] = text
    for name, value in at.probability.items():
        queue = at.state.get(f"{name}.queue")
        text = "" if queue is None else f"queue {digits(queue)} packets, "
        rows[f"link {name}"] = f'{text}loss or marks {_percent(value)}, AQM at "{at.regimes[name]}"'
    root = of.certified
    if root is None:
        rows["rightmost root"] = "not certified: the equations are too stiff"
    else:
        pair = f" +- {abs(root.imag):.5g}i" if root.imag else ""
        rows["rightmost root"] = f"{root.real:.5g}{pair} 1/s"
    return rows


def facts(answer: Answer) -> dict[str, str]:
    """Return the lines about the equilibrium and the loop: name and value."""
    rows = at_rest(answer.of)
    margins = answer.margins
    if margins is not None:
        text = f"gain {digits(margins.gain)}" if math.isfinite(margins.gain) else "gain unlimited"
        if math.isfinite(margins.phase):
            text += f", phase {digits(margins.phase)} degrees, delay {quantity(margins.delay, 's')}"
        rows["margins"] = text + (" (unsafe alone)" if answer.unsafe else "")
    run = answer.disturbed
    if run is not None:
        verdict = {True: "settles", False: "keeps oscillating", None: "cannot tell from this run"}[run.settles]
        windows = f"windows {digits(run.window_low)} to {digits(run.window_high)} packets"
        swing = f"queue {digits(run.low)} to {digits(run.high)} packets" if run.queued else windows
        rows["from empty queues"] = f"{verdict}, {f'queue empty, {windows}' if run.empty else swing} at the end"
    return rows


def equilibria_table(each: Sequence[Stability]) -> pd.DataFrame:
    """Return a table of the equilibria of one scenario, each with its verdict."""
    import pandas as pd

    lines = []
    for one in each:
        at, root = one.equilibrium, one.certified
        queues = [at.state[name] for link in one.equations.links if (name := f"{link}.queue") in at.state]
        shown = "not certified" if root is None else f"{root.real:.4g}"
        shown += f" +- {abs(root.imag):.4g}i" if root is not None and root.imag else ""
        lines.append(
            {
                "queue": " ".join(map(digits, queues)),
                "window": " ".join(map(digits, at.window.values())),
                "RTT": " ".join(quantity(value, "s") for value in at.rtt.values()),
                "loss": " ".join(map(_percent, at.loss.values())),
                "verdict": "stable" if one.stable else "unstable" if one.unstable_roots else "cannot tell",
                "rightmost root (1/s)": shown,
            }
        )
    return pd.DataFrame(lines, index=pd.RangeIndex(len(lines), name="equilibrium"))


def limits_table(answer: Answer) -> pd.DataFrame:
    """Return a table of the limits."""
    import pandas as pd

    lines = []
    for limit in answer.limits:
        line = {"from": quantity(limit.now, limit.unit), "to": quantity(limit.value, limit.unit), "what": limit.kind}
        line |= {"period": "", "onset": "", "mu2": "", "beta2": "", "beyond": "", "holds to": "", "why": limit.reason}
        if limit.changes:
            roots = limit.unstable_beyond
            line["beyond"] = "stable" if roots == 0 else f"{roots} unstable roots" if roots else "cannot tell"
            line["holds to"] = quantity(limit.holds_to, limit.unit)
        if limit.point is not None and limit.onset is not None:
            line |= {"period": quantity(limit.point.period, "s"), "onset": limit.onset.onset}
            line |= {"mu2": f"{limit.onset.mu2:.4g}", "beta2": f"{limit.onset.beta2:.4g}"}
        lines.append(line)
    table = pd.DataFrame(lines, index=pd.Index([limit.parameter for limit in answer.limits], name="parameter"))
    return table.loc[:, (table != "").any()]


def _percent(value: float) -> str:
    return f"{value:.3%}" if value < 0.1 else f"{value:.2%}"  # noqa: PLR2004
