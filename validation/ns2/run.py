#!/usr/bin/env python3
"""Run the ns-2 set-ups of this folder and write one CSV row per run.

    ./run.py                     the reference set-ups, seeds 1..10 -> ns2_runs.csv
    ./run.py --variants          the one-option changes, seeds 1..3 -> ns2_variants.csv
    ./run.py --senders           the Linux-derived agent's congestion controls on S5 and S1 -> ns2_senders.csv
    ./run.py --queues            REM, Vq (AVQ) and PI under SACK flows on S5 and S1 -> ns2_queues.csv
    ./run.py --papers            chapter 6 of st-red, figures 8, 15, 18, 19 of compound-red -> ns2_papers.csv
    ./run.py --check             seed 1 of S5 (senders, queues) and of figure 18 once more: do the committed numbers come out?
    ./run.py --only S1 --seeds 1..2
    ./run.py --summary           the table of means and deviations from the CSV

Needs ns-2 2.35 (`apt-get install ns2`). One process at a time (--jobs N for more), at low priority.
Rows already in the CSV are kept and not run again (--again runs them anew).
"""

import argparse
import csv
import os
import statistics
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

HERE = Path(__file__).resolve().parent

Options = dict[str, str | int | float]
Row = dict[str, str]

# (scenario, label, script, options)
SETUPS: list[tuple[str, str, str, Options]] = [
    ("S1", "compound_rtt10", "s1.tcl", {"rtt": 0.01}),
    ("S1", "compound_rtt100", "s1.tcl", {"rtt": 0.1}),
    ("S1", "compound_rtt50", "s1.tcl", {"rtt": 0.05}),
    ("S1", "compound_rtt150", "s1.tcl", {"rtt": 0.15}),
    ("S1", "compound_rtt200", "s1.tcl", {"rtt": 0.2}),
    ("S1", "compound_rtt250", "s1.tcl", {"rtt": 0.25}),
    ("S1", "sack_rtt10_acc100", "s1.tcl", {"rtt": 0.01, "tcp": "sack", "accbuf": 100}),
    ("S1", "sack_rtt100_acc100", "s1.tcl", {"rtt": 0.1, "tcp": "sack", "accbuf": 100}),
    ("S3", "ared_newreno", "s3.tcl", {}),
    ("S4", "kp1e-4_qw0.002", "s4.tcl", {}),
    ("S5", "N1", "s5.tcl", {"n": 1}),
    ("S5", "N10", "s5.tcl", {"n": 10}),
    ("S6", "compound", "s6.tcl", {"cc": "compound"}),
    ("S6", "reno", "s6.tcl", {"cc": "reno"}),
    ("S6", "sack", "s6.tcl", {"tcp": "sack"}),
]

# S1 with small queues, over round trips: RED 8/15 and a drop-tail queue of 15 packets (limit 16),
# access buffers of ns-2's default and access delays spread by 30 %: the policies of compound-red's
# figures 15 to 19.
_SPREAD: Options = {"accbuf": 50, "jitter": 0.3}
_POLICIES: list[tuple[str, Options]] = [
    ("RED", {"minth": 8, "maxth": 15}),
    ("threshold", {"queue": "DropTail", "limit": 16}),
]
SETUPS += [
    ("S7", f"{policy}_rtt{rtt}", "s1.tcl", {"rtt": rtt / 1000, **_SPREAD, **options})
    for rtt in (50, 150, 200, 250)
    for policy, options in _POLICIES
]

_LINUX: Options = {"rtt": 0.01}
_SACK: Options = {"rtt": 0.01, "tcp": "sack", "accbuf": 100}
_NEWRENO: Options = {"rtt": 0.01, "tcp": "newreno", "accbuf": 100}


def _set(words: str, base: Options) -> Options:
    return {**base, "set": words}


VARIANTS: list[tuple[str, str, str, Options]] = [
    # S1 at 10 ms: what each sender and each option is worth.
    ("S1", "linux_compound", "s1.tcl", _LINUX),
    ("S1", "linux_reno", "s1.tcl", {**_LINUX, "cc": "reno"}),
    ("S1", "linux_nomodule", "s1.tcl", {**_LINUX, "cc": "none"}),
    ("S1", "linux_notimestamps", "s1.tcl", {**_LINUX, "timestamps": 0}),
    ("S1", "linux_acc100", "s1.tcl", {**_LINUX, "accbuf": 100}),
    ("S1", "linux_delack", "s1.tcl", {**_LINUX, "delack": 1}),
    ("S1", "linux_reno_delack", "s1.tcl", {**_LINUX, "cc": "reno", "delack": 1}),
    ("S1", "linux_norxaccess", "s1.tcl", {**_LINUX, "rxaccess": 0}),
    ("S1", "linux_meanpkt500", "s1.tcl", {**_LINUX, "meanpkt": 500}),
    ("S1", "linux_nowait", "s1.tcl", _set("Queue/RED wait_ false", _LINUX)),
    ("S1", "linux_packetmode", "s1.tcl", _set("Queue/RED bytes_ false Queue/RED queue_in_bytes_ false", _LINUX)),
    ("S1", "sack_acc1000", "s1.tcl", {**_SACK, "accbuf": 1000}),
    ("S1", "sack_acc1000_300s", "s1.tcl", {**_SACK, "accbuf": 1000, "stop": 300, "warm": 275}),
    ("S1", "sack_acc100", "s1.tcl", _SACK),
    ("S1", "sack_acc1000_window20", "s1.tcl", {**_SACK, "accbuf": 1000, "window": 20}),
    ("S1", "sack_tick1ms", "s1.tcl", _set("Agent/TCP tcpTick_ 0.001", _SACK)),
    ("S1", "sack_numdupacks4", "s1.tcl", _set("Agent/TCP numdupacks_ 4", _SACK)),
    ("S1", "sack_nolimitedtransmit", "s1.tcl", _set("Agent/TCP singledup_ 0", _SACK)),
    ("S1", "sack_limtransmitfix", "s1.tcl", _set("Agent/TCP LimTransmitFix_ true", _SACK)),
    ("S1", "sack_partialack", "s1.tcl", _set("Agent/TCP partial_ack_ true", _SACK)),
    ("S1", "sack_integercwnd", "s1.tcl", _set("Agent/TCP precisionReduce_ false Agent/TCP windowOption_ 0", _SACK)),
    ("S1", "sack_delack", "s1.tcl", {**_SACK, "delack": 1}),
    ("S1", "newreno_acc100", "s1.tcl", _NEWRENO),
    ("S1", "newreno_acc1000", "s1.tcl", {**_NEWRENO, "accbuf": 1000}),
    ("S1", "newreno_slowbutsteady", "s1.tcl", _set("Agent/TCP/Newreno newreno_changes1_ 0", _NEWRENO)),
    ("S1", "newreno_nodeflation", "s1.tcl", _set("Agent/TCP/Newreno partial_window_deflation_ 0", _NEWRENO)),
    ("S1", "newreno_exitfix", "s1.tcl", _set("Agent/TCP/Newreno exit_recovery_fix_ 1", _NEWRENO)),
    ("S1", "newreno_nolimitedtransmit", "s1.tcl", _set("Agent/TCP singledup_ 0", _NEWRENO)),
    ("S1", "newreno_tick1ms", "s1.tcl", _set("Agent/TCP tcpTick_ 0.001", _NEWRENO)),
    ("S1", "reno_acc100", "s1.tcl", {**_NEWRENO, "tcp": "reno"}),
    # S1 at 100 ms: windows of 17.
    ("S1", "linux_compound_100ms", "s1.tcl", {"rtt": 0.1}),
    ("S1", "linux_reno_100ms", "s1.tcl", {"rtt": 0.1, "cc": "reno"}),
    ("S1", "linux_nomodule_100ms", "s1.tcl", {"rtt": 0.1, "cc": "none"}),
    ("S1", "sack_acc100_100ms", "s1.tcl", {**_SACK, "rtt": 0.1}),
    ("S1", "newreno_acc100_100ms", "s1.tcl", {**_NEWRENO, "rtt": 0.1}),
    ("S1", "sack_numdupacks4_100ms", "s1.tcl", _set("Agent/TCP numdupacks_ 4", {**_SACK, "rtt": 0.1})),
    ("S1", "sack_nolimitedtransmit_100ms", "s1.tcl", _set("Agent/TCP singledup_ 0", {**_SACK, "rtt": 0.1})),
    ("S1", "fack_100ms", "s1.tcl", {**_SACK, "tcp": "fack", "rtt": 0.1}),
    (
        "S1",
        "fack_rampdown_100ms",
        "s1.tcl",
        _set("Agent/TCP/Fack rampdown_ true", {**_SACK, "tcp": "fack", "rtt": 0.1}),
    ),
    # S3 with other senders and options.
    ("S3", "newreno", "s3.tcl", {}),
    ("S3", "sack", "s3.tcl", {"tcp": "sack"}),
    ("S3", "reno", "s3.tcl", {"tcp": "reno"}),
    ("S3", "newreno_window60", "s3.tcl", {"window": 60}),
    ("S3", "newreno_540B", "s3.tcl", {"size": 540}),
    ("S3", "newreno_minrto1", "s3.tcl", {"minrto": 1}),
    ("S3", "newreno_tick1ms", "s3.tcl", _set("Agent/TCP tcpTick_ 0.001", {})),
    ("S3", "newreno_slowbutsteady", "s3.tcl", _set("Agent/TCP/Newreno newreno_changes1_ 0", {})),
    ("S3", "newreno_nolimitedtransmit", "s3.tcl", _set("Agent/TCP singledup_ 0", {})),
    # S5, S6 with other senders.
    ("S5", "N10_overhead", "s5.tcl", {"n": 10, **_set("Agent/TCP overhead_ 0.00012", {})}),
    ("S5", "N10_newreno", "s5.tcl", {"tcp": "newreno"}),
    ("S5", "N10_linux_reno", "s5.tcl", {"tcp": "linux", "cc": "reno"}),
    ("S6", "compound_notimestamps", "s6.tcl", {"timestamps": 0}),
    ("S6", "nomodule", "s6.tcl", {"cc": "none"}),
    ("S6", "sack", "s6.tcl", {"tcp": "sack"}),
    ("S6", "newreno", "s6.tcl", {"tcp": "newreno"}),
]

# S5 and S1 with the congestion controls of the Linux-derived agent. Its HighSpeed TCP crashes when
# ten flows begin.
CONTROLS = ("reno", "highspeed", "illinois", "scalable", "htcp", "vegas", "veno", "westwood", "yeah")
SENDERS: list[tuple[str, str, str, Options]] = [
    ("S5", f"{cc}_N{n}", "s5.tcl", {"tcp": "linux", "cc": cc, "n": n})
    for cc in CONTROLS
    for n in (1, 10)
    if (cc, n) != ("highspeed", 10)
]
SENDERS += [("S1", f"{cc}_rtt10", "s1.tcl", {"rtt": 0.01, "cc": cc}) for cc in CONTROLS]
# A single Vegas flow still climbs at 20 s: once more, 120 to 160 s.
SENDERS += [("S5 late", "vegas_N1", "s5.tcl", {"tcp": "linux", "cc": "vegas", "n": 1, "stop": 160, "warm": 120})]

# The same links under other queues, with SACK flows. Parameters are ns-2's own, mean_pktsize_ apart
# (1500 B: a packet).
QUEUES: list[tuple[str, str, str, Options]] = [
    ("S5", f"{queue}_N10", "s5.tcl", {"n": 10, "queue": queue}) for queue in ("REM", "Vq", "PI")
]
QUEUES += [("S1", f"{queue}_rtt10", "s1.tcl", {**_SACK, "queue": queue}) for queue in ("REM", "Vq", "PI")]

# What decides claims of the papers: chapter 6 of st-red (PI's threshold is counted in bytes / 500),
# and Compound over RED and over a drop-tail queue of 15 packets, as S7.
_CHAPTER_6: list[tuple[str, str, Options]] = [
    ("table-6-3", "15Mbps", {"stop": 200, "warm": 100}),
    ("table-6-3", "5Mbps", {"rates": "200 5e6", "stop": 400, "warm": 300}),
    ("table-6-4", "1000_flows", {"n": 100, "sessions": 20, "loads": "300 900 180", "stop": 600, "warm": 500}),
]
PAPERS: list[tuple[str, str, str, Options]] = [
    (scenario, f"{queue}_{label}", "ch6.tcl", {"queue": queue, **options})
    for queue in ("ARED", "PI")
    for scenario, label, options in _CHAPTER_6
]
PAPERS += [
    ("fig-18", f"{policy}_rtt{rtt}", "s1.tcl", {"rtt": rtt / 1000, **_SPREAD, **options})
    for rtt in (10, 70, 200)
    for policy, options in _POLICIES
]
PAPERS += [
    ("fig-8", "no_averaging_rtt25", "s1.tcl", _set("Queue/RED q_weight_ 1.0", {"rtt": 0.025, "accbuf": 50})),
    ("fig-6", "rtt200", "s1.tcl", {"rtt": 0.2}),
]

FIGURES = [
    "util",
    "util_min1s",
    "loss",
    "byte_loss",
    "arrivals",
    "drops",
    "meanq",
    "stdq",
    "meanq_sampled",
    "meanq_bytes",
    "stdq_bytes",
    "peakq",
    "goodput_mbps",
    "jain",
    "starved",
    "timeouts",
    "timeouts_per_flow_s",
    "cuts",
    "retransmits",
    "segments",
    "cwnd_mean",
    "ave",
    "ave_std",
    "max_p",
    "q_weight",
    "flows",
    "window_s",
]
COLUMNS = ["scenario", "label", "options", "seed", *FIGURES]


def run_ns(script: str, options: Options, seed: int) -> Row:
    """Run one simulation; return its report as a dict of strings."""
    words = [w for option in {**options, "seed": seed}.items() for w in map(str, option)]
    # The agents print freely on stdout; the report comes on stderr.
    done = subprocess.run(
        ["ns", script, *words],
        cwd=HERE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        preexec_fn=lambda: os.nice(10),
    )
    for line in done.stderr.splitlines():
        if line.startswith("RESULT "):
            return dict(word.split("=", 1) for word in line.split()[1:])
    raise RuntimeError(f"ns {script} {' '.join(words)}: no result\n{done.stderr[:2000]}")


def read_rows(path: Path) -> list[Row]:
    """Rows of a CSV; none when there is no file."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def write_rows(path: Path, rows: Iterable[Row]) -> None:
    """Write the CSV in one move, so that a stop leaves the old one whole."""
    rows = sorted(rows, key=lambda r: (r["scenario"], r["label"], int(r["seed"])))
    partial = path.with_suffix(".part")
    with partial.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    partial.replace(path)


def short(value: str) -> str:
    """Six significant digits: the seeds differ in the third."""
    number = float(value)
    return str(int(number)) if number.is_integer() else f"{number:.6g}"


def summary(path: Path) -> str:
    """Mean ± standard deviation over seeds of the main figures, as a Markdown table."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in read_rows(path):
        groups.setdefault((row["scenario"], row["label"]), []).append(row)
    shown = [
        "util",
        "loss",
        "meanq",
        "stdq",
        "goodput_mbps",
        "jain",
        "util_min1s",
        "starved",
        "timeouts_per_flow_s",
        "cwnd_mean",
    ]
    lines = ["| set-up | seeds | " + " | ".join(shown) + " |", "|---" * (len(shown) + 2) + "|"]
    for (scenario, label), rows in groups.items():
        cells = []
        for key in shown:
            values = [float(r[key]) for r in rows]
            spread = statistics.stdev(values) if len(values) > 1 else 0.0
            cells.append(f"{statistics.mean(values):.4g} ± {spread:.2g}")
        lines.append(f"| {scenario} {label} | {len(rows)} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def check(jobs: int) -> int:
    """Run seed 1 of S5 and of figure 18 again; return 1 if a committed number does not come out."""
    wanted = [
        (name, run)
        for name, setups in (("senders", SENDERS), ("queues", QUEUES), ("papers", PAPERS))
        for run in setups
        if run[0] in ("S5", "fig-18")
    ]
    kept = {
        name: {(r["scenario"], r["label"]): r for r in read_rows(HERE / f"ns2_{name}.csv") if r["seed"] == "1"}
        for name, _ in wanted
    }
    with ThreadPoolExecutor(jobs) as pool:
        rows = list(pool.map(lambda job: run_ns(job[1][2], job[1][3], 1), wanted))
    wrong = 0
    for (name, (scenario, label, *_)), measures in zip(wanted, rows, strict=True):
        row = kept[name][scenario, label]
        for figure in ("util", "meanq", "loss"):
            if short(measures[figure]) != row[figure]:
                wrong += 1
                sys.stderr.write(f"{scenario} {label} {figure}: {short(measures[figure])}, committed {row[figure]}\n")
    sys.stderr.write(f"ns-2: {len(wanted)} runs, {wrong} numbers other than the committed ones\n")
    return int(wrong > 0)


def main() -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--variants", action="store_true", help="the one-option changes")
    parser.add_argument("--senders", action="store_true", help="the Linux-derived congestion controls")
    parser.add_argument("--queues", action="store_true", help="REM, Vq and PI")
    parser.add_argument("--papers", action="store_true", help="what decides claims of the papers")
    parser.add_argument("--only", default="", help="scenario, or scenario/label")
    parser.add_argument("--seeds", default="", help="FIRST..LAST")
    parser.add_argument(
        "--check", action="store_true", help="run seed 1 of S5 and figure 18 again and compare with the CSV"
    )
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument("--again", action="store_true", help="run rows that exist")
    parser.add_argument("--summary", action="store_true", help="print the table and stop")
    args = parser.parse_args()
    if args.check:
        sys.exit(check(args.jobs))
    name, setups, seeds = ("runs", SETUPS, "1..10")
    if args.variants:
        name, setups, seeds = ("variants", VARIANTS, "1..3")
    elif args.senders:
        name, setups, seeds = ("senders", SENDERS, "1..5")
    elif args.queues:
        name, setups, seeds = ("queues", QUEUES, "1..5")
    elif args.papers:
        name, setups, seeds = ("papers", PAPERS, "1..2")
    path = HERE / f"ns2_{name}.csv"
    if args.summary:
        sys.stdout.write(summary(path))
        return
    first, last = map(int, (args.seeds or seeds).split(".."))
    rows = {(r["scenario"], r["label"], int(r["seed"])): r for r in read_rows(path)}
    # Seeds outermost: a first set of all set-ups is there early.
    wanted = [
        (scenario, label, script, options, seed)
        for seed in range(first, last + 1)
        for scenario, label, script, options in setups
        if args.only in ("", scenario, f"{scenario}/{label}") and (args.again or (scenario, label, seed) not in rows)
    ]
    with ThreadPoolExecutor(args.jobs) as pool:
        runs = {pool.submit(run_ns, *run[2:]): run for run in wanted}
        for done in as_completed(runs):
            scenario, label, _, options, seed = runs[done]
            measures = done.result()
            text = " ".join(f"{k}={{{v}}}" if " " in str(v) else f"{k}={v}" for k, v in options.items())
            row = {"scenario": scenario, "label": label, "options": text, "seed": str(seed)}
            row |= {f: short(measures[f]) for f in FIGURES if f in measures}
            rows[scenario, label, seed] = row
            write_rows(path, rows.values())
            sys.stderr.write(f"{scenario} {label} seed {seed}: loss {row['loss']} queue {row['meanq']}\n")


if __name__ == "__main__":
    main()
