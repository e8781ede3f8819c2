"""
Causes found by experiment, and sentences that carry their evidence.

    >>> import ackclock as ac
    >>> from ackclock.questions import causes
    >>> link = ac.dumbbell(rate="20 Mbit/s", queue={"aqm": "drop-tail", "capacity": "300 ms"},
    ...                    flows=ac.flows(1, "cubic", rtt="30 ms"), duration="10 s")
    >>> diagnosis = causes.diagnose(link)
    >>> [(finding.symptom, finding.causes[0].key) for finding in diagnosis.findings]
    [('delay', 'buffer')]

`ablations` holds the vocabulary, `experiment` the method, `lab` its runs, `scales` how long they must be, `sentences`
what a sentence is. `why`, `compare`, `tune`, reports and the page use these and no others.
"""

from ...core._words import called
from .ablations import GENERAL, OTHERS, SPECIFIC
from .experiment import Diagnosis, chosen, diagnose
from .findings import Cause, Finding
from .lab import Lab
from .measures import Numbers, numbers
from .scales import Length, needed
from .sentences import Evidence, Sentence
from .symptoms import SYMPTOMS

VOCABULARY = tuple(dict.fromkeys(ablation.key for ablation in (*SPECIFIC, OTHERS, *GENERAL)))
"""Every cause that can be named."""

__all__ = [
    "GENERAL",
    "SPECIFIC",
    "SYMPTOMS",
    "VOCABULARY",
    "Cause",
    "Diagnosis",
    "Evidence",
    "Finding",
    "Lab",
    "Length",
    "Numbers",
    "Sentence",
    "called",
    "chosen",
    "diagnose",
    "needed",
    "numbers",
]
