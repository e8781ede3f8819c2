#!/usr/bin/env python3
"""
Make every report of every shipped scenario, and open each in a browser.

    ./reports.py                          all of them, into out/reports; goes on where it stopped
    ./reports.py --only "^tune home"      questions that this expression finds
    ./reports.py --pictures               with pictures of each page, in out/reports/pictures

Commands that take ``--report`` come from the parser of the command line. One that takes a scenario is asked about each
file of scenarios/, as it is and in the ways of ``WAYS``; of the others ``ELSEWHERE`` has the questions. What is made
stays as long as the package, the scenario and the question are the same. A command longer than ``--seconds`` is ended,
and not asked again.

The pages are judged by page/test/reports.ts, which begins with a page for each kind of fault and stops if it misses
one. The exit code is 1 where anything was found, or nothing could be opened.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from ackclock.present.cli import WRONG_INPUT, parser

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "out" / "reports"
PACKAGE = ROOT / "python" / "ackclock"
PAGE = ROOT / "page"

QUEUES = ("red", "pi2", "pi", "threshold", "codel", "fq_codel", "cake", "adaptive-red")
WAYS: dict[str, list[str]] = {
    "run": ["--seeds 3", "--set scenario.seed=1 --set scenario.seed=2"],
    "stability": ["--vary rtt --vary flows.count", "--from packets", "--from both"],
    "sweep": ["--vary scenario.seed=1,2,3", "--vary rtt=300ms..500ms:3 --vary queue.aqm=red,codel"],
    "tune": ["--for rtt=60ms..120ms --target 30ms", *(f"--aqm {name}" for name in QUEUES)],
    "why": ["--until-sure"],
}
"""Further arguments that make another page of a scenario's file."""

ELSEWHERE: dict[str, list[str]] = {
    "why": ["--rate 50mbit --rtt 40ms --buffer 250ms", "--down 100mbit --up 20mbit --rtt 12ms --call --game --web"],
    "run": ["scenarios/compound-red.toml scenarios/compound-red-200ms.toml"],
    "stability": ["--rate 50mbit --rtt 40ms --flows 20 --aqm pie", "--rate 50mbit --rtt 40ms --congestion reno"],
    "tune": ["--rate 50mbit --rtt 40ms --flows 20"],
    "buffer": ["--rate 100mbit --flows 50 --rtt 50ms"],
    "query": ['"SELECT seed, count(*) AS runs FROM points GROUP BY 1"'],
    "evaluate": [f"{name} --quick" for name in ("bbr3", "cubic", "pie", "codel")],
    "ci": ["docs/examples/ci/ackclock-ci.toml"],
}
"""Questions about no file of scenarios/."""

NOTHING_PLAIN = {"sweep"}
"""Commands that ask nothing of a scenario without further arguments."""
NO_SCENARIO = {"ci"}
"""Commands whose file is something else."""


@dataclass(frozen=True)
class Question:
    """A command with its arguments."""

    words: str

    @property
    def name(self) -> str:
        """As the name of its files."""
        short = re.sub(r"scenarios/(\S+)\.toml", r"\1", self.words)
        return re.sub(r"[^\w.=]+", "-", short).strip("-")

    @property
    def report(self) -> Path:
        """Where its page is written."""
        return OUT / f"{self.name}.html"

    @property
    def record(self) -> Path:
        """Where its answer is kept."""
        return OUT / f"{self.name}.json"


@dataclass
class Answer:
    """What became of a question."""

    stamp: str
    """Of all that the answer depends on."""
    code: int | None
    """Exit code; None where it took too long."""
    seconds: float
    said: str
    """The end of what it wrote to standard error."""
    judge: str = ""
    """Stamp of those who opened the report."""
    findings: tuple[str, ...] = ()


def questions() -> list[Question]:
    """All of them, the plain ones first; a command of which nobody knows what to ask is an error."""
    [chosen] = [action for action in parser()._actions if isinstance(action, argparse._SubParsersAction)]
    plain, ways, others = [], [], []
    files = sorted((ROOT / "scenarios").glob("*.toml"))
    for command, options in chosen.choices.items():
        if not any("--report" in action.option_strings for action in options._actions):
            continue
        takes = {action.dest for action in options._actions if not action.option_strings}
        if takes & {"file", "files"} and command not in NO_SCENARIO:
            for file in files:
                about = f"{command} scenarios/{file.name}"
                plain += [about] * (command not in NOTHING_PLAIN)
                ways += [f"{about} {way}" for way in WAYS.get(command, [])]
        elif command not in ELSEWHERE:
            raise SystemExit(f"reports.py: what to ask of `ackclock {command}` has to be said in ELSEWHERE")
        others += [f"{command} {words}" for words in ELSEWHERE.get(command, [])]
    return [Question(words) for words in (*plain, *ways, *others)]


@cache
def stamp_of(*paths: Path) -> str:
    """Digest of files, and of all files below folders."""
    digest = hashlib.sha256()
    for path in paths:
        for file in [path] if path.is_file() else sorted(path.rglob("*")):
            parts = file.relative_to(ROOT).parts
            if file.is_file() and not {"__pycache__", "page_files", "node_modules"} & {*parts}:
                digest.update("/".join(parts).encode())
                digest.update(file.read_bytes())
    return digest.hexdigest()


def stamp(question: Question) -> str:
    """Digest of all that an answer depends on."""
    files = [ROOT / word for word in re.findall(r"\S+\.toml", question.words)]
    return hashlib.sha256(f"{stamp_of(PACKAGE)} {stamp_of(*files)} {question.words}".encode()).hexdigest()[:16]


def read(question: Question) -> Answer | None:
    """What is known of a question, unless something changed."""
    with suppress(OSError, ValueError, TypeError):
        answer = Answer(**json.loads(question.record.read_text(encoding="utf-8")))
        answer.findings = tuple(answer.findings)
        return answer if answer.stamp == stamp(question) else None
    return None


def write(question: Question, answer: Answer) -> None:
    """Keep an answer."""
    question.record.write_text(json.dumps(asdict(answer), indent=1) + "\n", encoding="utf-8")


def ask(question: Question, seconds: float) -> Answer:
    """Run a command, for so many seconds at most; its whole group of processes ends with it."""
    question.report.unlink(missing_ok=True)
    words = [word.strip('"') for word in re.findall(r'"[^"]*"|\S+', question.words)]
    if words[0] in ("sweep", "query"):
        words += ["--store", str(OUT / "store")]
    line = [sys.executable, "-m", "ackclock", *words, "--report", str(question.report)]
    begin = time.monotonic()
    process = subprocess.Popen(
        line, cwd=ROOT, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
    )
    try:
        _, said = process.communicate(timeout=seconds)
        code: int | None = process.returncode
    except subprocess.TimeoutExpired:
        code, said = None, ""
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    answer = Answer(stamp(question), code, round(time.monotonic() - begin, 1), said[-2000:].strip())
    write(question, answer)
    return answer


def asked(chosen: Sequence[Question], seconds: float, jobs: int) -> Iterator[tuple[Question, Answer]]:
    """All answers, those that are known at once."""
    with ThreadPoolExecutor(jobs) as pool:
        try:
            new = [(question, pool.submit(ask, question, seconds)) for question in chosen if read(question) is None]
            for number, (question, future) in enumerate(new):
                answer = future.result()
                what = "too long" if answer.code is None else f"exit code {answer.code}"
                print(f"{number + 1}/{len(new)} {question.words}: {what}, {answer.seconds} s", flush=True)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    for question in chosen:
        if (known := read(question)) is not None:
            yield question, known


def judged(answers: Sequence[tuple[Question, Answer]], browser: str, pictures: bool) -> None:
    """Open what was made, and note what is found; what the same judges saw before is not opened again."""
    judge = stamp_of(PAGE / "test")
    new = {
        str(question.report): (question, answer)
        for question, answer in answers
        if question.report.exists() and answer.code is not None and (pictures or answer.judge != judge)
    }
    if not new:
        return
    line = [str(PAGE / "node_modules" / ".bin" / "vite-node"), "test/reports.ts", browser]
    line += [str(OUT / "pictures")] if pictures else []
    with subprocess.Popen(line, cwd=PAGE, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("".join(f"{path}\n" for path in new))
        process.stdin.close()
        for page in map(json.loads, process.stdout):
            question, answer = new.pop(page["file"])
            answer.judge, answer.findings = judge, tuple(page["findings"])
            write(question, answer)
    if process.returncode or new:
        raise SystemExit(f"reports.py: the browser ended with {len(new)} reports not opened")


def faults(question: Question, answer: Answer) -> Iterator[str]:
    """What is wrong with an answer: an error that is no refusal, a report that is missing, and what the page shows."""
    if answer.code == 0 and not question.report.exists():
        yield "no report was written"
    if "Traceback" in answer.said or "a bug, please report it" in answer.said or answer.code not in (None, 0, 1, 2):
        yield f"exit code {answer.code}: {answer.said[-300:]}"
    yield from answer.findings


def reason(answer: Answer) -> str:
    """Why a command refuses, without the name of its file."""
    first = next((line for line in answer.said.splitlines() if not line.startswith("see ackclock")), "nothing was said")
    return re.sub(r"^(ackclock( \w+)?|scenarios/\S+?): ", "", first)


def table(answers: Sequence[tuple[Question, Answer]]) -> str:
    """Commands, and how many of each were answered, refused, ended and found fault with."""
    rows = []
    for command in dict.fromkeys(question.words.split()[0] for question, _ in answers):
        own = [(question, answer) for question, answer in answers if question.words.split()[0] == command]
        made = [answer for question, answer in own if answer.code is not None and question.report.exists()]
        refused = [
            answer for question, answer in own if answer.code in (1, WRONG_INPUT) and not question.report.exists()
        ]
        found = sum(len(list(faults(question, answer))) for question, answer in own)
        late = sum(answer.code is None for _, answer in own)
        seconds = sum(answer.seconds for _, answer in own)
        rows.append((command, *map(str, (len(own), len(made), len(refused), late, found, round(seconds)))))
    rows.append(("all", *(str(sum(int(row[k]) for row in rows)) for k in range(1, 7))))
    head = ("command", "asked", "reports", "refused", "too long", "findings", "seconds")
    return "\n".join(row[0].ljust(10) + "".join(cell.rjust(10) for cell in row[1:]) for row in (head, *rows))


def told(answers: Sequence[tuple[Question, Answer]]) -> int:
    """Print all of it; return how much was found."""
    print(f"\n{table(answers)}")
    refused = Counter(
        (question.words.split()[0], reason(answer))
        for question, answer in answers
        if answer.code in (1, WRONG_INPUT) and not question.report.exists()
    )
    for (command, why), count in sorted(refused.items()):
        print(f"refused ({count}): {command}: {why}")
    for question, answer in answers:
        if answer.code is None:
            print(f"too long: ackclock {question.words}: more than {answer.seconds:.0f} s")
    found = [(question, what) for question, answer in answers for what in faults(question, answer)]
    for question, what in found:
        print(f"FOUND ackclock {question.words}: {what}")
    return len(found)


def main() -> int:
    """Ask, open, tell."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--only", type=re.compile, default=re.compile(""), help="an expression that finds questions")
    arguments.add_argument("--seconds", type=float, default=300.0, help="the longest that a command may take")
    arguments.add_argument("--jobs", type=int, default=1, help="commands at a time")
    arguments.add_argument("--browser", default="", help="path of a Chromium")
    arguments.add_argument("--pictures", action="store_true", help="write pictures of the pages")
    options = arguments.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    chosen = [question for question in questions() if options.only.search(question.words.replace("scenarios/", ""))]
    answers = list(asked(chosen, options.seconds, options.jobs))
    if options.browser:
        judged(answers, options.browser, options.pictures)
    found = told(answers)
    if not options.browser:
        print("no browser: the reports were made, but none was opened (BROWSER=/usr/bin/chromium)")
    return 1 if found or not options.browser else 0


if __name__ == "__main__":
    sys.exit(main())
