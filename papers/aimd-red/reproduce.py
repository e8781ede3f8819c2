"""Wang, Cai, Liu and Shen: AIMD congestion control over RED."""

from __future__ import annotations

import aimd_red_analysis as theory

from ackclock.paper import Paper

paper = Paper(
    "AIMD Congestion Control: Stability, TCP-friendliness, Delay Performance",
    "L. Wang, L. Cai, X. Liu and X. Shen.",
)

for name, title, source, make in (
    ("fig-3", "Windows and queue in the fluid model", "section III-C, figures 3 to 5", theory.figures_3_to_5),
    ("thm-1", "Lyapunov functions, and the system with its delay", "section III, theorems 1 to 3", theory.theorems),
    ("eq-10", "Fair and weighted pairs", "section III-B, equations (10) to (12)", theory.equations_10),
):
    paper.item(name, title, source)(make)
