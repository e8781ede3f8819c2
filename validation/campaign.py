"""
Put what a command says of random scenarios beside its checker, and count.

``python validation/campaign.py KIND COUNT [FIRST SEED] [--store FILE] [--packets N]`` asks one kind of question of so
many random scenarios: ``run`` (its report), ``why``, ``covering`` (``why`` of links that cross every two features), ``stability``, ``compare``, ``tune``, ``verdicts`` (whether
variants that are the same system get the same answer; runs that do not tell are continued for up to N packets), or
``relations`` (whether the answers to two questions are bound as they have to be). With a store it resumes after being
killed.

``python validation/campaign.py tally FILE...`` counts what stores hold, a row a kind, as in docs/validation.md.
"""

import argparse
import json
import signal
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import compare_sentences
import covering_sentences
import relations
import run_sentences
import stability_sentences
import tune_sentences
import verdicts
import why_sentences

from ackclock.errors import AckclockError

Record = dict[str, Any]
"""
What was said of one scenario: ``kind``, ``seed``, ``what`` (the scenario in short) and ``seconds`` (processor time of the answer) and ``checking`` (of its checker);
then either ``error`` (a refusal), ``crash`` (any other exception), ``late`` (an answer that took too long) or
``unchecked`` (why the checker gave up), or the
numbers of statements in ``sentences`` and of those that say "cannot tell" in ``open``, and what is ``false``.
"""
SLOW = 60.0
"""An answer that takes longer is counted, s of processor time."""
PATIENT = 60.0
"""A checker that takes longer is given up, s of processor time."""
ANSWERED = 180.0
"""An answer that takes longer is not waited for, s of processor time."""


class Kind(Protocol):
    """A kind of question; each is a file beside this one."""

    def question(self, seed: int) -> tuple[str, Any]:
        """Make a random scenario; in words, and for the other two."""

    def answer(self, question: Any, packets: float) -> Any:
        """Ask."""

    def checked(self, question: Any, answer: Any, seed: int) -> Record:
        """Put the answer beside its checker: ``sentences``, ``open``, ``false`` and what else is kept."""

    def report(self, rows: list[Record]) -> str:
        """What more there is to say of records without an error."""


KINDS: dict[str, Kind] = {
    "run": run_sentences,
    "why": why_sentences,
    "covering": covering_sentences,
    "stability": stability_sentences,
    "compare": compare_sentences,
    "tune": tune_sentences,
    "verdicts": verdicts,
    "relations": relations,
}


def ask_and_check(name: str, seed: int, packets: float) -> Record:
    """Ask and check."""
    kind = KINDS[name]
    what, question = kind.question(seed)
    record: Record = {"kind": name, "seed": seed, "what": what}
    begun = time.process_time()
    try:
        with within(ANSWERED, "the answer"):
            answer = kind.answer(question, packets)
    except AckclockError as error:
        return record | {"seconds": time.process_time() - begun, "error": str(error)}
    except TimeoutError as error:
        return record | {"seconds": time.process_time() - begun, "late": str(error)}
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # a panic of the core is no Exception
        return record | {"seconds": time.process_time() - begun, "crash": traceback.format_exc()}
    record["seconds"] = time.process_time() - begun
    begun = time.process_time()
    try:
        with within(PATIENT, "the checker"):
            record |= kind.checked(question, answer, seed)
    except Exception as error:  # whatever a checker stumbles over, the next question is asked
        record["unchecked"] = f"{type(error).__name__}: {error}"
    return record | {"checking": time.process_time() - begun}


@contextmanager
def within(seconds: float, what: str) -> Iterator[None]:
    """End what takes longer than so many seconds of processor time."""

    def too_long(_signal: int, _frame: object) -> None:
        raise TimeoutError(f"{what} takes longer than {seconds:.0f} s")

    signal.signal(signal.SIGPROF, too_long)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def ask(name: str, seeds: range, store: Path | None, packets: float) -> list[Record]:
    """Ask what is not in the store; what was asked of these seeds and is in it, all in all."""
    kept: dict[int, Record] = {}
    if store is not None and store.exists():
        kept = {row["seed"]: row for row in read(store)}
    for seed in seeds:
        if seed in kept:
            continue
        row = kept[seed] = ask_and_check(name, seed, packets)
        for text in row.get("false", []):
            print(seed, row["what"], "FALSE:", text, flush=True)
        if "crash" in row:
            print(seed, row["what"], "CRASH:", row["crash"], flush=True)
        if store is not None:
            with store.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
    return [kept[seed] for seed in sorted(kept)]


def read(store: Path) -> list[Record]:
    """Records of a file."""
    return [json.loads(line) for line in store.read_text(encoding="utf-8").splitlines()]


def summary(name: str, rows: list[Record]) -> str:
    """The answers of one kind, and those that there are not."""
    checked = [row for row in rows if "false" in row]
    lines = [f"{name}: {row(rows)}"] + ([KINDS[name].report(checked)] if checked else [])
    for record in rows:
        where = f"{record['seed']} {record['what']}"
        lines += [f"{where} {word}: {record[key]}" for key, word in MISSING.items() if key in record]
        lines += [f"{where} took {record['seconds']:.0f} s"] if record["seconds"] > SLOW else []
    return "\n".join(line for line in lines if line)


MISSING = {"error": "no answer", "crash": "CRASH", "late": "answered too late", "unchecked": "not checked"}
"""Records without a verdict, and what they are called."""


def row(rows: list[Record]) -> str:
    """Count in words."""
    checked = [record for record in rows if "false" in record]
    said, unknown = (sum(record[key] for record in checked) for key in ("sentences", "open"))
    parts = [
        f"{len(checked)} scenarios",
        f"{said} statements",
        f"{sum(len(record['false']) for record in checked)} false in {sum(bool(record['false']) for record in checked)} scenarios",
        f"{unknown} cannot tell ({unknown / max(said, 1):.1%}) in {sum(bool(record['open']) for record in checked)} scenarios",
        *(f"{count} {word}" for key, word in MISSING.items() if (count := sum(key in record for record in rows))),
        f"{sum(record['seconds'] > SLOW for record in rows)} longer than a minute",
    ]
    return ", ".join(parts)


def main() -> None:
    """Ask, or count what was asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="kind", required=True, metavar="KIND")
    for name in KINDS:
        command = commands.add_parser(name)
        command.add_argument("count", type=int)
        command.add_argument("first", type=int, nargs="?", default=0)
        command.add_argument("--store", type=Path)
        command.add_argument("--packets", type=float, default=0, help="of continued runs, for verdicts")
    tally = commands.add_parser("tally")
    tally.add_argument("stores", type=Path, nargs="+")
    options = parser.parse_args()
    if options.kind != "tally":
        seeds = range(options.first, options.first + options.count)
        print(summary(options.kind, ask(options.kind, seeds, options.store, options.packets)))
        return
    rows = [row for store in options.stores for row in read(store)]
    for name in KINDS:
        if mine := [row for row in rows if row["kind"] == name]:
            print(f"{name}: {row(mine)}")


if __name__ == "__main__":
    main()
