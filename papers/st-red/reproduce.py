"""Chen's thesis: self-tuning RED and PI."""

from __future__ import annotations

from collections.abc import Callable

import st_red_analysis as theory
import st_red_comparisons as comparisons
import st_red_detection as detection
import st_red_review as reviewed
import st_red_scaling as scaling
import st_red_tables as tables
import st_red_transients as transients

from ackclock.paper import Lab, Paper

paper = Paper(
    "Parameter self-tuning in internet congestion control", "J. Chen, doctoral thesis, Loughborough University, 2010."
)


def of_table(name: str) -> Callable[[Lab], None]:
    """Return the function that regenerates a table."""
    return lambda lab: tables.table(lab, name, transients.CLAIMS[name])


NO_REVERSE = "no reverse flows, which the text has"
RED = (
    "RED's drops spaced as ns-2 does by default, where section 2.2 prints p / (1 - count p); RED without its gentle "
    "slope, which is not printed"
)
CHAPTER_6 = f"{NO_REVERSE}; {RED}; 10 ms on the bottleneck and HTTP without ECN, neither printed"
SETTINGS = {
    "5-1": f"{NO_REVERSE}; {RED}; delays that change in the forward direction alone",
    "5-2": f"{NO_REVERSE}; {RED}; 2000 s, of which the text gives the first 1600 s",
    **dict.fromkeys(("5-3", "5-4", "5-5"), f"{NO_REVERSE}; {RED}"),
    **dict.fromkeys(("6-1", "6-2", "6-3", "6-4", "6-5"), f"{CHAPTER_6}; h_s of ST-RED ten times the printed one"),
}
"""What the tables are run with against the print, or without it: with it more of their cells agree."""

ITEMS = (
    ("ch2-claims", "Drop-tail and RED", "sections 2.1.3, 2.3.5 and 2.4", reviewed.review),
    ("boxes", "The AQMs of chapters 2 and 3, each as in its box", "sections 2.2 and 3.2 to 3.7", reviewed.boxes),
    ("others", "Exponential RED, LRED, SRED, WRED", "sections 1.2, 2.5 and 3.1, which name them", reviewed.others),
    ("ch3-claims", "AQMs compared", "sections 3.2 to 3.8", comparisons.compared),
    ("prop-4.9", "Scaling of RED's parameters, and stability", "sections 4.3 to 4.5", theory.proposition_4_9),
    ("eq-4.10", "The stability proposition's proof, and scaling", "section 4.3.3", theory.equations_4_10),
    ("fig-4.3", "ARED and AP-RED where the parameters suit", "section 4.5.1, figure 4.3", scaling.figure_4_3),
    ("fig-4.4", "ARED and AP-RED in a smaller network", "section 4.5.2, figure 4.4", scaling.figure_4_4),
    ("fig-4.5", "ARED and AP-RED in a larger network", "section 4.5.3, figure 4.5", scaling.figure_4_5),
    ("measured", "AP-RED that measures its network", "section 4.4", scaling.measured),
    ("fig-5.2", "Variance and detection function", "section 5.3, figure 5.2", detection.figure_5_2),
    (
        "eq-5.11",
        "ST-RED's factors and thresholds, and the time constant",
        "sections 5.3.2 and 5.4",
        detection.equations_5_11,
    ),
    ("eq-6.3", "PI: design, stability, scaling", "section 6.2, equations (6.1) to (6.10)", theory.equations_6_3),
    *((f"table-{key}", title, source, of_table(key)) for key, (title, source, _) in tables.TABLES.items()),
    ("cells", "The ten tables, counted", "sections 5.5 and 6.4, tables 5-1 to 6-5", tables.all_cells),
)
UNCOUNTED = ("ch2-claims", "boxes", "others", "ch3-claims", "fig-5.2")
"""Opinions of a survey about no network in particular, and tests of our algorithms: no claims."""

for name, title, source, make in ITEMS:
    setting = SETTINGS.get(name.removeprefix("table-"), "")
    paper.item(name, title, source, setting=setting, counted=name not in UNCOUNTED)(make)
