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
from .claims import Cause, Cell, Claim, Drawing, Outcome, PaperError, Table, Verdict, chosen, counts, summary, words
from .lab import Item, Lab, Paper
from .readme import BEGIN, COUNTS, END, END_OF_COUNTS, cause_table, causes_of, verdict_table, write_counts, write_readme
from .store import Cost, Store

__all__ = [
    "BEGIN",
    "COUNTS",
    "END",
    "END_OF_COUNTS",
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
    "Store",
    "Table",
    "Verdict",
    "cause_table",
    "causes_of",
    "chosen",
    "cost",
    "counts",
    "keys",
    "page_path",
    "paper",
    "papers_folder",
    "reproduce",
    "summary",
    "verdict_table",
    "words",
    "write_counts",
    "write_readme",
]
