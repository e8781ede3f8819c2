#!/usr/bin/env python3
"""
Interrupt every command at random instants: it ends within half a second, in words.

    tests/attack/attack_interrupts.py --times 50          all commands
    tests/attack/attack_interrupts.py --only stability

What counts is the processor time between Ctrl-C and the end, which other programs on the machine do not lengthen; the
time on the clock is shown beside it. Ends with 1 if a command took longer, or ended in other words than those.
"""

# ruff: noqa: T201
import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

LIMIT = 0.5
"""Seconds of processor time from Ctrl-C to the end of the process."""
TICKS = os.sysconf("SC_CLK_TCK")
MANY = """
[scenario]
duration = "4000 s"
[[link]]
name = "a"
rate = "200 Mbit/s"
delay = "5 ms"
queue = { aqm = "red", capacity = "500 packets", min_threshold = "50 packets", max_threshold = "150 packets" }
[[flows]]
count = 60
path = ["a"]
congestion = "compound"
rtt = "uniform 20 ms .. 200 ms"
"""
HARD = """
[scenario]
duration = "60 s"
[[link]]
name = "a"
rate = "1.1 Mbit/s"
queue = { aqm = "pie", capacity = "52 packets", target = "12 ms" }
[[flows]]
name = "one"
count = 60
path = ["a"]
congestion = { kind = "cubic", beta = 0.001 }
rtt = "8.5 us"
[[flows]]
name = "two"
count = 10
path = ["a"]
congestion = "reno"
rtt = "3.6 s"
"""
CALLBACKS = "a Python on_ack that loops"
CALLBACK = """
import ackclock as ac

class Endless:
    def on_ack(self, ack, window, random):
        while True:
            pass

    def on_congestion(self, reduction, window):
        pass

queue = {"aqm": "drop-tail", "capacity": "50 packets"}
link = {"rate": "10 Mbit/s", "delay": "10 ms", "queue": queue}
ac.run(ac.dumbbell(**link, flows=ac.flows(1, Endless, rtt="40 ms"), duration="60 s"))
"""


def commands(folder: Path) -> dict[str, list[str]]:
    """A long job of each command."""
    many, hard = folder / "many.toml", folder / "hard.toml"
    many.write_text(MANY, encoding="utf-8")
    hard.write_text(HARD, encoding="utf-8")
    words = {
        "run": f"run {many}",
        "run --seeds": f"run {many} --seeds 4",
        "fluid": f"fluid {many} --duration 20000s",
        "meanfield": f"meanfield {many}",
        "stability": f"stability {many} --vary rtt",
        "stability, hard": f"stability {hard}",
        "stability --from packets": f"stability {many} --from packets",
        "compare": f"compare {many}",
        "sweep": f"sweep {many} --vary rtt=10ms..200ms:8 --store {folder}/store",
        "tune": f"tune {many}",
        "why": "why --rate 200mbit --rtt 100ms --buffer 250ms --until-sure",
        "fair": "fair bbr cubic",
    }
    found = {name: [sys.executable, "-m", "ackclock", *line.split()] for name, line in words.items()}
    found[CALLBACKS] = [sys.executable, "-c", CALLBACK]
    return found


@dataclass
class Ending:
    """How a command ended."""

    processor: float
    clock: float
    text: str


def processor_time(pid: int) -> float:
    """Seconds that a running process has computed."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def interrupted(command: list[str], after: float) -> Ending | None:
    """Interrupt it when it has computed for so long; None if it has ended by itself."""
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors, start_new_session=True)
        while True:
            done, _, _ = os.wait4(process.pid, os.WNOHANG)
            if done:
                process.returncode = 0
                return None
            if processor_time(process.pid) >= after:
                break
            time.sleep(0.005)
        before, begin = processor_time(process.pid), time.monotonic()
        os.killpg(process.pid, signal.SIGINT)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        spent = usage.ru_utime + usage.ru_stime - before
        if process.returncode == 0 and spent < LIMIT:
            return None  # it had its answer, and was about to end
        errors.seek(0)
        return Ending(spent, time.monotonic() - begin, errors.read())


def started() -> float:
    """Processor time of a process until its command begins: Python imports."""
    process = subprocess.Popen([sys.executable, "-m", "ackclock", "list"], stdout=subprocess.DEVNULL)
    _, _, usage = os.wait4(process.pid, 0)
    process.returncode = 0
    return usage.ru_utime + usage.ru_stime


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=50)
    parser.add_argument("--longest", type=float, default=8.0, help="seconds of processor time before the last instant")
    parser.add_argument("--only")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng, late, wrong = random.Random(options.seed), 0, 0
    start = started()
    print(f"a command begins after {start:.2f} s")
    with tempfile.TemporaryDirectory() as folder:
        for name, command in commands(Path(folder)).items():
            if options.only not in (None, name):
                continue
            endings = [interrupted(command, start + rng.uniform(0, options.longest)) for _ in range(options.times)]
            seen = [one for one in endings if one is not None]
            worst = max((one.processor for one in seen), default=0.0)
            clock = max((one.clock for one in seen), default=0.0)
            # a script shows its traceback, which is to name the method
            told = "Endless.on_ack, which had not returned" if name == CALLBACKS else "interrupted"
            traces = [
                one.text for one in seen if told not in one.text or ("Traceback" in one.text) != (name == CALLBACKS)
            ]
            beyond = sum(one.processor > LIMIT for one in seen)
            late, wrong = late + beyond, wrong + len(traces)
            print(
                f"{name:28} {len(seen):3} interrupted, {len(endings) - len(seen):3} over before; "
                f"longest {worst:.2f} s computed, {clock:.2f} s on the clock; "
                f"{beyond} late, {len(traces)} in other words",
                flush=True,
            )
            for text in traces[:1]:
                print(text[-2000:])
    return 1 if late or wrong else 0


if __name__ == "__main__":
    sys.exit(main())
