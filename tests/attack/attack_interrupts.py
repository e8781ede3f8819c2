#!/usr/bin/env python3
"""
Interrupt every command at random instants: it ends within half a second, in words.

    tests/attack/attack_interrupts.py --times 50          all commands
    tests/attack/attack_interrupts.py --only stability

Instants are random in seconds of the processor. What counts is the processor time between Ctrl-C and the end, which
other programs on the machine do not lengthen; the time on the clock is shown beside it, with the load. Ends with 1 if a
command took longer, or ended in other words than those.
"""

# ruff: noqa: T201
import argparse
import http.client
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import IO

LIMIT = 0.5
"""Seconds of processor time from Ctrl-C to the end of the process."""
IDLE = 20.0
"""Seconds without any computing after which a command is interrupted where it waits."""
SERVE = "serve"
TICKS = os.sysconf("SC_CLK_TCK")
MANY_FLOWS = """
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
FEW_FLOWS = """
[scenario]
duration = "1 s"
[[link]]
name = "a"
rate = "10 Mbit/s"
[[flows]]
path = ["a"]
rtt = "10 ms"
"""
QUERY = "SELECT sum(a.range * b.range) FROM range(10000000) a, range(1000000) b"
OWN = """
import ackclock as ac

class Endless:
    def on_ack(self, ack, window, random):
        while True:
            pass

    def on_congestion(self, reduction, window):
        pass

class Stuck:
    def __init__(self, link):
        pass

    def enqueue(self, now, packet, queue, random):
        while True:
            pass

"""
RUN = 'ac.run(ac.dumbbell(rate="10 Mbit/s", queue=%s, flows=ac.flows(1, %s, rtt="40 ms"), duration="60 s"))'
CALLBACKS = {
    "Endless.on_ack": OWN + RUN % ('"drop-tail"', "Endless"),
    "Stuck.enqueue": OWN + RUN % ('{"aqm": Stuck}', '"reno"'),
}
"""Scripts; their traceback is to name the method."""


def commands(folder: Path) -> dict[str, list[str]]:
    """A long job of each command; FRESH is a name that nothing has yet."""
    many, hard, few, own = (folder / name for name in ("many.toml", "hard.toml", "few.toml", "own.py"))
    for place, text in ((many, MANY_FLOWS), (hard, HARD), (few, FEW_FLOWS), (own, OWN)):
        place.write_text(text, encoding="utf-8")
    store = str(folder / "store")
    words = {
        "run": f"run {many}",
        "run --seeds": f"run {many} --seeds 4",
        "run --report": f"run {many} --duration 60s --report FRESH.html",
        "fluid": f"fluid {many} --duration 20000s",
        "meanfield": f"meanfield {many}",
        "stability": f"stability {many} --vary rtt --vary rate --report FRESH.html",
        "stability, hard": f"stability {hard}",
        "stability --from packets": f"stability {many} --from packets",
        "compare": f"compare {many}",
        "sweep": f"sweep {many} --vary rtt=10ms..200ms:8 --store FRESH",
        "tune": f"tune {many} --for rtt=10ms..200ms --for flows=10..200",
        "why": "why --rate 200mbit --rtt 100ms --buffer 250ms --until-sure",
        "fair": "fair bbr cubic",
        "evaluate": "evaluate cubic --quick",
        "evaluate, own that loops": f"evaluate {own}:Endless --quick",
        "paper": "paper mean-field --quick --out FRESH",
        SERVE: "serve --port 0",
    }
    ackclock = [sys.executable, "-m", "ackclock"]
    lines_of = {name: [*ackclock, *line.split()] for name, line in words.items()}
    sweep = [*ackclock, "sweep", str(few), "--vary", "rtt=10ms,20ms", "--store", store]
    subprocess.run(sweep, check=True, stdout=subprocess.DEVNULL)
    lines_of |= {"query": [*ackclock, "query", QUERY, "--store", store]}
    return lines_of | {name: [sys.executable, "-c", script] for name, script in CALLBACKS.items()}


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
    """Interrupt it when it has computed for so long, or computes no more; None if it has ended by itself."""
    with tempfile.TemporaryDirectory() as place, tempfile.TemporaryFile("w+") as errors:
        words = [word.replace("FRESH", f"{place}/fresh") for word in command]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=errors, text=True, start_new_session=True)
        assert process.stdout is not None
        printed: list[str] = []
        listener = threading.Thread(target=listen, args=(process.stdout, SERVE in command, printed), daemon=True)
        listener.start()
        if not computes(process, after):
            if process.returncode:
                errors.seek(0)
                raise SystemExit(f"{' '.join(words)} ends with {process.returncode} by itself: {errors.read()}")
            return None
        before, begin = processor_time(process.pid), time.monotonic()
        os.killpg(process.pid, signal.SIGINT)
        _, status, usage = os.wait4(process.pid, 0)
        spent, clock = usage.ru_utime + usage.ru_stime - before, time.monotonic() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        listener.join(10)
        errors.seek(0)
        text = errors.read()
        # it had its answer, and was about to end: by itself, or by the signal, without a word
        over = process.returncode == 0 or (process.returncode == -signal.SIGINT and printed and not text)
        if over and spent < LIMIT and SERVE not in command:
            return None
        return Ending(spent, clock, text)


def computes(process: subprocess.Popen[str], after: float) -> bool:
    """Wait until it has computed for so long, or has stopped to; False if it has ended."""
    observed, since = 0.0, time.monotonic()
    while (computed := processor_time(process.pid)) < after:
        if computed > observed:
            observed, since = computed, time.monotonic()
        elif time.monotonic() - since > IDLE:
            return True
        time.sleep(0.005)
        done, status, _ = os.wait4(process.pid, os.WNOHANG)
        if done:
            process.returncode = os.waitstatus_to_exitcode(status)
            return False
    return True


def listen(output: IO[str], visits: bool, printed: list[str]) -> None:
    """Read what it prints; of a server the address, which is asked for its page over and over."""
    line = output.readline()
    printed.extend([line] if line else [])
    while visits and "http" in line:
        try:
            browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
            browser.open(line.split()[2], timeout=5).read()
        except (OSError, http.client.HTTPException):
            break
    output.read()


def started() -> float:
    """Processor time of a process until its command begins: Python imports."""
    process = subprocess.Popen([sys.executable, "-m", "ackclock", "list"], stdout=subprocess.DEVNULL)
    _, _, usage = os.wait4(process.pid, 0)
    process.returncode = 0
    return usage.ru_utime + usage.ru_stime


def worded(name: str, text: str) -> bool:
    """Whether a command says what it is to say; a script of one's own shows a traceback that names the method."""
    if name in CALLBACKS:
        begun = text.count(", in <module>") == 1  # NumPy is loaded before the run
        return "Traceback" in text and (f"{name}, which had not returned" in text or not begun)
    answer = text.removesuffix("\n")
    return (name == SERVE and not answer) or ("interrupted" in answer and "Traceback" not in answer)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=50)
    parser.add_argument("--longest", type=float, default=8.0, help="seconds of processor time before the last instant")
    parser.add_argument("--only")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it, and so would ours
    rng, late, wrong = random.Random(options.seed), 0, 0
    start = started()
    print(f"a command begins after {start:.2f} s")
    print("| command | interrupted | over before | CPU s at most | late | clock s at most | late | load | misworded |")
    print("|---" * 9 + "|")
    with tempfile.TemporaryDirectory() as folder:
        for name, command in commands(Path(folder)).items():
            if options.only not in (None, name):
                continue
            endings = [interrupted(command, start + rng.uniform(0, options.longest)) for _ in range(options.times)]
            observed = [ending for ending in endings if ending is not None]
            worst = max((ended.processor for ended in observed), default=0.0)
            clock = max((ended.clock for ended in observed), default=0.0)
            traces = [ended.text for ended in observed if not worded(name, ended.text)]
            beyond = sum(ended.processor > LIMIT for ended in observed)
            late, wrong = late + beyond, wrong + len(traces)
            print(
                f"| {name} | {len(observed)} | {len(endings) - len(observed)} | {worst:.2f} | {beyond} | {clock:.2f} | "
                f"{sum(ended.clock > LIMIT for ended in observed)} | {os.getloadavg()[0]:.1f} | {len(traces)} |",
                flush=True,
            )
            for text in traces[:5]:
                print(text[-2000:])
    return 1 if late or wrong else 0


if __name__ == "__main__":
    sys.exit(main())
