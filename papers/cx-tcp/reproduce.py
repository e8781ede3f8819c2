"""Budzisz et al.: delay-based TCP that coexists with loss-based TCP."""

from __future__ import annotations

import cx_tcp_analysis as theory

from ackclock.paper import Paper

paper = Paper(
    "On the Fair Coexistence of Loss- and Delay-Based TCP",
    "L. Budzisz, R. Stanojevic, A. Schlote, F. Baker and R. Shorten, IEEE/ACM Transactions on Networking, 2011.",
)

for name, title, source, make in (
    ("fig-1", "Back-off probability", "section II, figure 1", theory.figure_1),
    (
        "fig-2-fluid",
        "Equilibrium delay against the number of flows",
        "section III-A.1, figure 2, by the model",
        theory.figure_2,
    ),
    ("lemma-4.1", "Equilibria and Lyapunov function, one link", "section IV, lemmas 4.1 to 4.3", theory.lemmas),
    ("thm-4.4", "Several links", "section IV, theorem 4.4", theory.several_links),
):
    paper.item(name, title, source)(make)
