"""The answer of `ackclock ci`: checks, each with its status and the numbers that it rests on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from ... import _core
from ...core.accessors import presented

if TYPE_CHECKING:
    import os

    from ..evaluate import Evaluation
    from ..evaluate.model import Case
    from .configuration import Configuration
    from .envelope import Conformance


class Status(StrEnum):
    """How a check ended."""

    PASS = "pass"
    FAIL = "fail"
    ERROR = "error"
    """A run stopped: the controller raised an exception, or hangs."""
    KNOWN = "known"
    """Missed, but not worse than standards-track controls that miss it for certain, too."""
    ACCEPTED = "accepted"
    """Missed, and accepted in the configuration."""
    UNDECIDED = "cannot tell"


@dataclass(frozen=True)
class Checked:
    """A check: one number in one scenario, and its bound."""

    number: str
    """Number of its heading."""
    title: str
    name: str
    status: Status
    sentence: str
    case: Case | None = None
    """The scenario, where there is one."""

    @property
    def id(self) -> str:
        """A name that is unique and stays the same from run to run."""
        return f"{self.number} {self.name}"

    def json(self) -> dict[str, str]:
        """Everything as plain values."""
        return {
            "heading": self.number,
            "title": self.title,
            "check": self.name,
            "status": str(self.status),
            "sentence": self.sentence,
        }


BAD = (Status.FAIL, Status.ERROR)


@dataclass(frozen=True)
class Verdict:
    """All checks of a congestion control."""

    configuration: Configuration
    checks: tuple[Checked, ...]
    evaluations: tuple[Evaluation, ...]
    """Answers that the checks rest on: RFC 9743's headings and those of `ci`, start-up apart."""
    conformance: Conformance | None

    @property
    def name(self) -> str:
        """Name of the subject."""
        return self.configuration.subject.name

    @property
    def base(self) -> str | None:
        """Name of the base, if there is one."""
        return self.configuration.base.name if self.configuration.base else None

    @property
    def bad(self) -> tuple[Checked, ...]:
        """Checks that fail the build."""
        return tuple(check for check in self.checks if check.status in BAD)

    @property
    def passed(self) -> bool:
        """True if no check fails the build."""
        return not self.bad

    @property
    def counts(self) -> Mapping[Status, int]:
        """How many checks ended how."""
        counter = Counter(check.status for check in self.checks)
        return {status: counter[status] for status in Status if counter[status]}

    @property
    def runs(self) -> int:
        """Runs that the numbers of the first round come from."""
        return sum(evaluation.runs for evaluation in self.evaluations)

    def json(self) -> dict[str, Any]:
        """Everything as plain values."""
        return {
            "subject": self.name,
            "base": self.base,
            "version": _core.VERSION,
            "passed": self.passed,
            "counts": {str(status): count for status, count in self.counts.items()},
            "checks": [check.json() for check in self.checks],
        }

    @presented
    def __str__(self) -> str:
        raise NotImplementedError

    @presented
    def markdown(self) -> str:
        """Return a comment for a pull request."""
        raise NotImplementedError

    @presented
    def junit(self) -> str:
        """Return JUnit XML: a test suite a heading, a test case a check."""
        raise NotImplementedError

    @presented
    def report(self, path: str | os.PathLike[str]) -> None:
        """Write one HTML file with figures."""
        raise NotImplementedError
