"""Chen's thesis: self-tuning RED and PI."""

from __future__ import annotations

import st_red_analysis as theory

from ackclock.paper import Paper

paper = Paper(
    "Parameter self-tuning in internet congestion control", "J. Chen, doctoral thesis, Loughborough University, 2010."
)

for name, title, source, make in (
    ("prop-4.9", "Scaling of RED's parameters, and stability", "sections 4.3 to 4.5", theory.proposition_4_9),
    ("eq-6.3", "PI: design, stability, scaling", "section 6.2, equations (6.1) to (6.10)", theory.equations_6_3),
):
    paper.item(name, title, source)(make)
