"""
Published results, regenerated and judged.

A paper is a directory ``papers/KEY`` of the source checkout. It holds scenario files, the printed numbers
(``printed.toml``) and ``reproduce.py``, which makes a `Paper` called ``paper`` and puts each figure or table into it::

    paper = Paper("Compound TCP with RED", "Manjunath and Raina, ...")

    @paper.item("fig-6", "Round trips of 10 and 200 ms", "section V-A.1, figure 6")
    def figure_6(lab: Lab) -> None:
        base = lab.scenario("dumbbell")
        runs = lab.run({rtt: base.with_({"flows.rtt": f"{rtt} ms"}) for rtt in (10, 200)}, trace_links=True)
        ...
        lab.claim("utilisation at 10 ms is 99.5 % or more", used >= 0.995, ours=f"{used:.2%}", printed="100 %")

Runs are kept in a store under what they depend on, so a reproduction that was interrupted, even killed, resumes where
it stopped and ends with the same bytes.
"""

from __future__ import annotations

from .catalogue import cost, keys, page_path, paper, papers_folder, reproduce
from .causes import Case, Cause, judged, named, stale, within
from .claims import (
    JUDGED,
    Cell,
    Claim,
    Drawing,
    Outcome,
    PaperError,
    Table,
    Verdict,
    agree,
    chosen,
    counts,
    summary,
    words,
)
from .lab import Item, Lab, Paper
from .ledger import merged, read_ledger, write_ledger
from .measures import Series, during, spread, standard_error
from .ns2 import Setup, run_missing, setups
from .readme import BEGIN, COLUMNS, COUNTS, END, END_OF_COUNTS, causes_of, write_counts, write_readme
from .scaffold import scaffold
from .store import Cost, Store

__all__ = [
    "BEGIN",
    "COLUMNS",
    "COUNTS",
    "END",
    "END_OF_COUNTS",
    "JUDGED",
    "Case",
    "Cause",
    "Cell",
    "Claim",
    "Cost",
    "Drawing",
    "Item",
    "Lab",
    "Outcome",
    "Paper",
    "PaperError",
    "Series",
    "Setup",
    "Store",
    "Table",
    "Verdict",
    "agree",
    "causes_of",
    "chosen",
    "cost",
    "counts",
    "during",
    "judged",
    "keys",
    "merged",
    "named",
    "page_path",
    "paper",
    "papers_folder",
    "read_ledger",
    "reproduce",
    "run_missing",
    "scaffold",
    "setups",
    "spread",
    "stale",
    "standard_error",
    "summary",
    "within",
    "words",
    "write_counts",
    "write_ledger",
    "write_readme",
]
