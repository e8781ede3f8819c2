"""The verdict of `ackclock ci` as text, as Markdown for a pull request, and as JUnit XML."""

from __future__ import annotations

import textwrap
from itertools import groupby
from typing import TYPE_CHECKING, Final
from xml.etree import ElementTree as ET

from ... import _core
from ...core._words import counted
from ...questions.ci.verdict import BAD, Checked, Status

if TYPE_CHECKING:
    from ...questions.ci import Verdict

WIDTH = 100
"""Columns of a line."""
MARKS = {
    Status.PASS: "✅",
    Status.FAIL: "❌",
    Status.ERROR: "💥",
    Status.KNOWN: "☑️",
    Status.ACCEPTED: "☑️",
    Status.UNDECIDED: "❔",
}
"""Signs of Markdown."""


STATEMENTS: Final = {
    "accepted": " Accepted: {reason}.",
    "undecided": " {seeds} seeds do not decide.",
    "repeated": " With {seeds} other seeds {value}.",
    "not-repeated": " With other seeds {value}, which does not confirm it.",
    "beside-base": "{name} {value}, base {base}",
    "worse-again": " With other seeds {value}, base {base}.",
    "unconfirmed": " Other seeds do not confirm it.",
    "with-others": " With other seeds {value}.",
    "conforms": "{value}, {like}'s own with other seeds {own}, bound at least {part:.0%} of that.{more}",
}


def headline(verdict: Verdict) -> str:
    """Return the verdict in a sentence."""
    base = f", compared with {verdict.base}" if verdict.base else ""
    if verdict.passed:
        return f"{verdict.name} passes{base}: {_counts(verdict)}."
    return f"{verdict.name} fails {counted(len(verdict.bad), 'check')}{base}: {_counts(verdict)}."


def _counts(verdict: Verdict) -> str:
    return ", ".join(f"{count} {status}" for status, count in verdict.counts.items())


def text(verdict: Verdict) -> str:
    """Return the verdict, and every check that did not pass."""
    lines = [textwrap.fill(headline(verdict), WIDTH), ""]
    for check in verdict.checks:
        if check.status is not Status.PASS:
            lines.append(f"{check.status}: {check.number} {check.title}")
            lines.append(textwrap.fill(check.sentence, WIDTH, initial_indent="  ", subsequent_indent="  "))
    return "\n".join(lines).rstrip()


def markdown(verdict: Verdict) -> str:
    """Return the verdict, a table of what did not pass, and all others folded away."""
    lines = [f"### {MARKS[Status.PASS if verdict.passed else Status.FAIL]} {_escaped(headline(verdict))}", ""]
    order: list[Status] = [status for status in Status if status is not Status.PASS]
    shown = sorted(
        (check for check in verdict.checks if check.status in order), key=lambda check: order.index(check.status)
    )
    bad, rest = [check for check in shown if check.status in BAD], [check for check in shown if check.status not in BAD]
    passed = [check for check in verdict.checks if check.status is Status.PASS]
    lines += _table(bad)
    for title, group in (("not decided, or missed for a reason", rest), ("passed", passed)):
        if group:
            lines += [f"<details><summary>{len(group)} {title}</summary>", "", *_table(group), "</details>", ""]
    lines.append(
        f"ackclock {_core.VERSION}. A check fails where its number misses its bound for certain (95 %), and again with "
        "other seeds. Bounds are ackclock's; RFC 9743 sets none."
    )
    return "\n".join(lines) + "\n"


def _table(checks: list[Checked]) -> list[str]:
    if not checks:
        return []
    rows = [
        f"| {MARKS[check.status]} | {check.number} {check.title} | {_escaped(check.sentence)} |" for check in checks
    ]
    return ["| | heading | check |", "|---|---|---|", *rows, ""]


def _escaped(sentence: str) -> str:
    for sign in ("\\", "|", "<", ">", "*", "_", "`"):
        sentence = sentence.replace(sign, f"\\{sign}")
    return sentence.replace("\n", " ")


def junit(verdict: Verdict) -> str:
    """Return JUnit XML: a suite a heading, a case a check."""
    root = ET.Element("testsuites", name=f"ackclock ci {_plain(verdict.name)}")
    for number, group in groupby(sorted(verdict.checks, key=_order), key=lambda check: (check.number, check.title)):
        checks = list(group)
        suite = ET.SubElement(root, "testsuite", name=f"{number[0]} {number[1]}")
        for check in checks:
            case = ET.SubElement(suite, "testcase", classname=f"ackclock.{number[0]}", name=_plain(check.name))
            sentence = _plain(check.sentence)
            if check.status is Status.FAIL:
                ET.SubElement(case, "failure", message=sentence).text = sentence
            elif check.status is Status.ERROR:
                ET.SubElement(case, "error", message=sentence).text = sentence
            elif check.status is Status.PASS:
                ET.SubElement(case, "system-out").text = sentence
            else:
                ET.SubElement(case, "skipped", message=f"{check.status}: {sentence}")
        _count(suite)
    _count(root)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _order(check: Checked) -> tuple[bool, list[int]]:
    """Sort C.1 after 7.11, and 7.11 after 7.2."""
    return check.number.startswith("C"), [int(part) for part in check.number.split(".") if part.isdigit()]


def _count(of: ET.Element) -> None:
    for key, tag in (("tests", "testcase"), ("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        of.set(key, str(sum(1 for _ in of.iter(tag))))


def _plain(sentence: str) -> str:
    """Return text without what XML cannot hold, such as a controller's exception may have."""
    return "".join(sign if sign.isprintable() or sign in "\n\t" else "?" for sign in sentence)
