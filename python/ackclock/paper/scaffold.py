"""The files of a new paper: a directory that runs, to be filled."""

from __future__ import annotations

import re
from pathlib import Path

from .claims import PaperError
from .readme import BEGIN, END

README = f"""# KEY

Authors, *title*, where and when. Set-up (its section): what the paper prints of it.

`ackclock paper KEY` regenerates everything. The scenario file says what the paper leaves open, and
how it was chosen.

## Verdicts of the last full run

{BEGIN}
{END}
"""
SCENARIO = """# Which section and figures; what the paper prints of the set-up.
# What it leaves open, and what was chosen: each choice with its reason.

[scenario]
name = "KEY"
duration = "60 s"
measure = "20 s .. 60 s"

[[link]]
name = "bottleneck"
rate = "10 Mbit/s"
delay = "5 ms"
queue = { aqm = "drop-tail", capacity = "100 packets" }

[[flows]]
name = "flows"
count = 10
path = ["bottleneck"]
congestion = "reno"
rtt = "50 ms"
"""
PRINTED = """# Numbers that the text prints, as text where their digits count.

[fig-1]                           # its section
flows = 10
"""
REPRODUCE = '''"""What the paper is about, in a line."""

from __future__ import annotations

from ackclock.paper import Lab, Paper, spread

paper = Paper("Its title", "Its authors, where and when.")

SEEDS = 10
"""As many as the paper has, else ten."""


@paper.item("fig-1", "What the figure shows", "its section, figure 1")
def figure_1(lab: Lab) -> None:
    """Run the set-up; draw it; judge what the text says of it."""
    base = lab.scenario("set-up").with_({"flows.count": lab.printed["fig-1"]["flows"]})
    found = lab.run({"as printed": base}, seeds=lab.pick(SEEDS, 1))
    used = [float(run.links.loc["bottleneck", "utilization"]) for run in found["as printed"]]
    with lab.figure("utilisation", "Utilisation by seed.") as axes:
        axes[0][0].plot(range(1, len(used) + 1), used, marker="o")
        axes[0][0].set(xlabel="seed", ylabel="utilisation", ylim=(0, 1.05))
    # a claim of the paper has `printed`, its words or number; without, it is a statement of ours and not counted
    lab.claim("the link is used, in every seed", min(used) > 0, ours=spread(used, "{:.1%}"))
'''
VERDICTS = """# Why claims of this paper do not hold. A cause names each claim, its printed text and what
# ours was when the cause was established; where either moves, the claim is ours again. What has no
# cause here is ours.
"""
FILES = {
    "README.md": README,
    "set-up.toml": SCENARIO,
    "printed.toml": PRINTED,
    "reproduce.py": REPRODUCE,
    "verdicts.toml": VERDICTS,
}


def scaffold(folder: Path, key: str) -> Path:
    """
    Write the files of a new paper `key` into the directory of all papers, and return its own.

    Raises
    ------
    PaperError
        If `key` is no name of a directory in lower case with hyphens, or is there already.
    """
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", key) or key in ("all", "new"):
        raise PaperError(
            f'"{key}" is no name for a paper: lower case letters and digits with hyphens, such as red-2002'
        )
    place = folder / key
    if place.exists():
        raise PaperError(f"{place} is there already")
    place.mkdir()
    for name, text in FILES.items():
        (place / name).write_text(text.replace("KEY", key), encoding="utf-8")
    return place
