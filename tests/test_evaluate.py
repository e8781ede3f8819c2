"""Evaluations: headings of RFC 9743 and RFC 7928, answered; numbers and answers are found again without the module."""

import json
import math
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import t as student

import ackclock as ac
from ackclock.algorithms import Queue, Random
from ackclock.questions.evaluate import Finding, headings
from ackclock.questions.evaluate.judge import answer, show
from ackclock.questions.evaluate.model import Case, Criterion, Quantity, Question
from conftest import Command

ROOT = Path(__file__).parents[1]
BAD = f"{ROOT / 'docs' / 'examples' / 'never_slows_down.py'}:NeverSlowsDown"


def mean_and_half(values: list[float]) -> tuple[float, float]:
    mean = math.fsum(values) / len(values)
    spread = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1))
    return mean, float(student.ppf(0.975, len(values) - 1)) * spread / math.sqrt(len(values))


def result(number: str, algorithm: str) -> dict[str, Any]:
    [heading] = ac.evaluate(algorithm, only=[number], quick=True, seeds=3).json()["headings"]
    return dict(heading)


def link(
    flows: list[dict[str, Any]], packets: int, window: str, *, rate: str = "10 Mbit/s", queue: str = "drop-tail"
) -> ac.Scenario:
    duration = window.split(" .. ")[1]
    placed = [
        {"path": ["bottleneck"], "rtt": "uniform 38 ms .. 42 ms", "start": "uniform 0 s .. 1 s"} | flow
        for flow in flows
    ]
    return ac.Scenario(
        {
            "scenario": {"name": "by hand", "duration": duration, "measure": window},
            "link": [{"name": "bottleneck", "rate": rate, "queue": {"aqm": queue, "capacity": f"{packets} packets"}}],
            "flows": placed,
        }
    )


def test_bufferbloat_is_the_median_wait_of_two_flows_in_a_deep_buffer() -> None:
    """RFC 9743, section 5.1.2: 16 bandwidth-delay products of 10 Mbit/s and 40 ms are 533 packets."""
    flows = {"count": 2, "name": "x", "congestion": "bbr3"}
    scenario = link([flows], 533, "20 s .. 50 s")
    waits = [ac.run(scenario, seed=seed).links.loc["bottleneck", "delay_p50"] for seed in (1, 2, 3)]
    mean, half = mean_and_half(waits)
    bbr3 = result("5.1.2", "bbr3")["numbers"]["median wait in the queue"]["16 BDP"]["bbr3"]
    assert bbr3["mean"] == pytest.approx(mean, rel=1e-9)
    assert bbr3["ci95"] == pytest.approx(half, rel=1e-6)


def test_share_of_the_others_is_their_part_of_the_goodput() -> None:
    """RFC 9743, section 5.2.1: two flows beside two of CUBIC over 20 Mbit/s, 40 ms, one bandwidth-delay product."""
    flows = [{"count": 2, "name": "x", "congestion": "scalable"}, {"count": 2, "name": "other", "congestion": "cubic"}]
    scenario = link(flows, 67, "10 s .. 40 s", rate="20 Mbit/s")
    shares = []
    for seed in (1, 2, 3):
        got = ac.run(scenario, seed=seed).flows.groupby("class", observed=True)["goodput"].sum()
        shares.append(float(got["other"] / got.sum()))
    mean, half = mean_and_half(shares)
    scalable = result("5.2.1", "scalable")["numbers"]["share of the others"]["CUBIC, 1 BDP"]["scalable"]
    assert (scalable["mean"], scalable["ci95"]) == pytest.approx((mean, half), rel=1e-6)


def test_loss_at_short_buffers_counts_what_the_queue_dropped() -> None:
    """RFC 9743, section 5.1.3: four flows over 30 Mbit/s, 40 ms, with half a bandwidth-delay product."""
    scenario = link([{"count": 4, "name": "x", "congestion": "reno"}], 50, "5 s .. 20 s", rate="30 Mbit/s")
    losses = []
    for seed in (1, 2, 3):
        row = ac.run(scenario, seed=seed).links.loc["bottleneck"]
        losses.append(row["drops"] / max(row["arrivals"], row["drops"] + row["packets"]))
    mean, half = mean_and_half(losses)
    reno = result("5.1.3", "reno")["numbers"]["packets dropped at the queue"]["0.5 BDP"]["reno"]
    assert (reno["mean"], reno["ci95"]) == pytest.approx((mean, half), rel=1e-6)


def test_wait_of_a_queue_is_that_of_a_run_by_hand() -> None:
    """RFC 7928, section 8.2.3: seven Reno flows over 10 Mbit/s, 100 ms, room for 83 packets."""
    flows = {"count": 7, "name": "tcp", "congestion": "reno", "rtt": "uniform 95 ms .. 105 ms"}
    scenario = link([flows], 83, "15 s .. 55 s", queue="codel")
    waits = [ac.run(scenario, seed=seed).links.loc["bottleneck", "delay_p50"] for seed in (1, 2, 3)]
    mean, half = mean_and_half(waits)
    numbers = result("8.2.3", "codel")["numbers"]["median wait"]["7 Reno flows"]["codel"]
    assert (numbers["mean"], numbers["ci95"]) == pytest.approx((mean, half), rel=1e-6)


def test_a_thin_flow_under_a_scheduler_waits_for_no_delayed_acks() -> None:
    """RFC 7928, section 5.3.1: "41 ms" under FQ-CoDel, 40 of them the receiver's delayed ACK; drop-tail starves it."""
    answer = result("5.3.1", "fq_codel")
    wait = answer["numbers"]["wait of the thin TCP flow"]["UDP, 120 %"]
    assert wait["fq_codel"]["mean"] < 1.2e-3  # a full packet of the UDP stream in front of it
    assert math.isinf(wait["drop-tail"]["mean"] or math.inf)
    assert answer["answer"] == "yes"


def test_every_heading_of_both_documents_is_there() -> None:
    sections = [heading.number for heading in headings("sender")]
    special = [f"7.{number}" for number in range(1, 12)]
    general = [f"6.{number}" for number in range(1, 5)]
    criteria = [*(f"5.1.{number}" for number in range(1, 6)), "5.2.1", "5.2.2", "5.2.3", "5.3.1", "5.3.2"]
    assert sections == ["3.1", "3.2", "4", *criteria, *general, *special]
    assert len(sections) == 28
    queues = {heading.number for heading in headings("queue")}
    assert queues >= {"5.1.1", "5.1.2", "5.2", "5.3.1", "5.3.2", "5.4", "6", "7", "8.2.2", "8.2.3", "8.2.4", "8.2.5"}
    assert queues >= {"8.2.6", "8.3", "9.1", "9.2", "10", "11", "12", "2.7", "4.4", "4.5", "4.6"}


def heading(criterion: Criterion) -> Question:
    case = Case("case", lambda _: None, lambda _: 0.0)
    return Question(
        "0",
        "Title",
        "Asks?",
        "It does",
        "It does not",
        quantities=(Quantity("wait", "ms", (case,)),),
        criteria=(criterion,),
    )


def judged(mine: tuple[float, ...], theirs: tuple[float, ...], criterion: Criterion) -> Finding:
    values = {"wait": {"case": {"": mine, "reno": theirs}}}
    return answer(heading(criterion), values, ["reno"], []).finding


def test_an_answer_needs_an_interval_on_one_side() -> None:
    bound = Criterion("wait", "at most", 0.1)
    assert judged((0.01, 0.02, 0.03), (0.0,) * 3, bound) is Finding.YES
    assert judged((0.21, 0.22, 0.23), (0.0,) * 3, bound) is Finding.NO
    assert judged((0.01, 0.1, 0.2), (0.0,) * 3, bound) is Finding.CANNOT_TELL
    assert judged((0.01,), (0.0,), bound) is Finding.CANNOT_TELL


def test_a_bound_beside_others_is_paired_by_seed() -> None:
    """Seeds that are hard for both do not blur the comparison."""
    hard = (0.1, 1.0, 10.0)
    relative = Criterion("wait", "at most", factor=1.0)
    assert judged(tuple(value - 0.05 for value in hard), hard, relative) is Finding.YES
    assert judged(tuple(value + 0.05 for value in hard), hard, relative) is Finding.NO
    assert judged(tuple(1.1 * value for value in hard), hard, relative) is Finding.CANNOT_TELL
    least = Criterion("wait", "at least", 0.9, 0.5)
    assert judged((0.8, 0.81, 0.82), (0.5, 0.5, 0.5), least) is Finding.YES
    assert judged((0.1, 0.11, 0.12), (0.5, 0.5, 0.5), least) is Finding.NO


def test_intervals_of_shares_end_where_shares_do() -> None:
    """ "60 ± 103%" of the packets."""
    assert show((0.1, 0.9, 0.8), "%") == "60 [0, 100] %"
    assert show((0.1, 0.9, 0.8), "% of a rate") == "60 [0, 168] %"
    assert show((0.1, 0.9, 0.8), "s") == "0.6 ± 1.1 s"
    assert show((0.50, 0.51, 0.52), "%") == "51.0 ± 2.5 %"
    assert show((0.99, 0.999, 1.0), "%") == "99.6 [98.3, 100.0] %"
    assert show((1.0, 1.0), "%") == "100 %"
    assert show((0.99, 0.999, 1.0), "index") == "0.996 [0.983, 1.000]"


def test_a_number_that_keeps_the_fixed_bound_is_not_left_open_by_a_reference_that_spreads() -> None:
    """BBR's Jain index of 0.999 keeps 0.9; "cannot tell", as 0.95 times CUBIC's spread from 0.5 to 1."""
    criterion = Criterion("wait", "at least", 0.9, 0.95)
    wide = (0.55, 0.98, 0.99, 0.97, 0.6)
    assert judged((0.999, 0.998, 1.0, 0.997, 0.999), wide, criterion) is Finding.YES
    assert judged((0.7, 0.98, 0.99, 0.8, 0.75), wide, criterion) is Finding.CANNOT_TELL
    assert judged((0.1, 0.11, 0.12, 0.1, 0.1), wide, criterion) is Finding.NO
    most = Criterion("wait", "at most", 0.1, 2.0)
    assert judged((0.03, 0.02, 0.03), (0.01, 0.2, 0.3), most) is Finding.YES


def test_transfers_that_never_end_are_a_no() -> None:
    bound = Criterion("wait", "at most", factor=1.5)
    assert judged((math.inf,) * 3, (1.0, 1.1, 0.9), bound) is Finding.NO
    assert judged((1.0, 1.1, 0.9), (math.inf,) * 3, bound) is Finding.YES
    assert judged((math.nan,) * 3, (1.0, 1.1, 0.9), bound) is Finding.CANNOT_TELL
    assert judged((math.inf, 1.0, 1.0), (1.0, 1.1, 0.9), bound) is Finding.CANNOT_TELL
    assert judged((math.inf, 2.0, 2.1, 2.0), (1.0,) * 4, bound) is Finding.NO
    assert judged((1.0, 1.1, 0.9, 1.0), (math.inf, 1.0, 1.0, 1.0), bound) is Finding.YES
    assert judged((1.0, 1.1), (math.inf, 1.0), bound) is Finding.CANNOT_TELL
    assert judged((math.inf, 1.0, math.nan), (1.0, 1.1, 0.9), bound) is Finding.CANNOT_TELL
    assert judged((math.nan, 1.0, 1.0), (1.0, 1.1, 0.9), bound) is Finding.CANNOT_TELL


def test_seeds_without_a_number_are_not_said_to_lie_on_the_bound() -> None:
    """REM, 5.3.1: "129 ms, at most half of 137 ms ... it lies on the bound", where a flow starved in one seed."""
    bound = Criterion("wait", "at most", factor=0.5)

    def said(mine: tuple[float, ...], theirs: tuple[float, ...]) -> str:
        return answer(heading(bound), {"wait": {"case": {"": mine, "reno": theirs}}}, ["reno"], []).sentence

    starved = (0.129, math.nan, 0.128, 0.13, 0.129)
    assert "1 of 5 seeds gave no such number" in said(starved, (0.137,) * 5)
    assert "1 of 5 seeds gave no such number" in said((0.129,) * 5, starved)
    assert "In 2 of 5 seeds it, or its bound, has no end" in said((0.1, math.inf, 0.1, math.inf, 0.1), (1.0,) * 5)
    near = (1.0, 1.0 + 1e-4, 1.0 - 1e-4, 1.0, 1.0 + 1e-5)
    assert "It lies on the bound" in said(near, (2.0,) * 5)


def test_few_seeds_do_not_tell_that_more_would_hardly_tell() -> None:
    """pi2, 8.2.6: "89.67 ± 0.90 %, bound ... It lies on the bound" (89.81) of 5 seeds; 24 seeds told that it is not."""
    bound = Criterion("wait", "at least", 0.898)
    mine = (0.906, 0.889, 0.8985, 0.892, 0.898)
    said = answer(heading(bound), {"wait": {"case": {"": mine}}}, [], []).sentence
    assert said.startswith("Cannot tell:")
    assert "It lies on the bound" not in said
    more = "is not known from these 5: if it is as far from the bound as it seems, about "
    assert f"How many seeds would tell {more}" in said


def test_the_bad_control_fails_where_it_must_and_reno_does_not() -> None:
    asked = ["5.1.3", "5.2.1", "7.2"]
    bad = ac.evaluate(BAD, only=asked, quick=True, seeds=3)
    assert [answer.finding for answer in bad.answers] == [Finding.NO] * 3
    good = ac.evaluate("reno", only=asked, quick=True, seeds=3)
    assert [answer.finding for answer in good.answers] == [Finding.YES] * 3


def test_a_store_keeps_runs_of_names_and_of_files(tmp_path: Path) -> None:
    reported: list[tuple[int, int]] = []

    def evaluation(algorithm: str) -> ac.Evaluation:
        reported.clear()
        return ac.evaluate(
            algorithm,
            only=["7.2"],
            quick=True,
            seeds=2,
            store=tmp_path / "kept",
            progress=lambda *at: reported.append(at),
        )

    own = tmp_path / "own.py"
    own.write_text((ROOT / "docs" / "examples" / "never_slows_down.py").read_text(encoding="utf-8"), encoding="utf-8")
    first = evaluation(f"{own}:NeverSlowsDown")
    assert reported[0] == (0, 12)
    again = evaluation(f"{own}:NeverSlowsDown")
    assert reported == [(12, 12)]
    assert json.dumps(first.json()) == json.dumps(again.json())
    own.write_text(own.read_text(encoding="utf-8").replace("2000.0", "100.0"), encoding="utf-8")
    evaluation(f"{own}:NeverSlowsDown")
    assert reported[0] == (8, 12), "those of CUBIC and Reno are kept, those of another class are not"


def test_what_was_computed_before_ctrl_c_is_kept(tmp_path: Path) -> None:
    def stop(done: int, every: int) -> None:
        if done == every // 2:
            raise KeyboardInterrupt

    options = {"only": ["7.2"], "quick": True, "seeds": 2, "store": tmp_path / "kept"}
    with pytest.raises(ac.errors.Interrupted, match="of 12 points are kept"):
        ac.evaluate("vegas", progress=stop, **options)
    reported: list[int] = []
    ac.evaluate("vegas", progress=lambda done, _: reported.append(done), **options)
    assert 6 <= reported[0] < 12
    assert reported[-1] == 12


class Careless:
    def on_ack(self, ack: object, window: object, random: object) -> None:
        raise ValueError("nothing learnt")

    def on_congestion(self, reduction: object, window: object) -> None:
        pass


def test_a_class_that_raises_is_told_of() -> None:
    [answer] = ac.evaluate(Careless, only=["7.2"], quick=True, seeds=2).answers
    assert answer.finding is Finding.CANNOT_TELL
    assert "nothing learnt" in answer.sentence


class Tenth:
    """Drops one packet of ten."""

    def __init__(self, link: object) -> None:
        pass

    def enqueue(self, now: float, packet: object, queue: Queue, random: Random) -> str:
        return "drop" if queue.full or random.uniform() < 0.1 else "accept"


def test_a_queue_of_ones_own() -> None:
    evaluation = ac.evaluate(Tenth, only=["8.2.2"], quick=True, seeds=2)
    loss = evaluation.json()["headings"][0]["numbers"]["packets dropped at the queue"]["3 Reno flows"]["Tenth"]
    assert loss["mean"] == pytest.approx(0.1, abs=0.02)


def test_import_of_the_package_loads_no_numpy() -> None:
    script = "import sys, ackclock; sys.exit(any(name in sys.modules for name in ('numpy', 'pandas', 'matplotlib')))"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_what_does_not_apply_says_why() -> None:
    answers = {
        answer.heading.number: answer for answer in ac.evaluate("cubic", only=["6.2", "7.10", "3"], seeds=2).answers
    }
    assert answers["6.2"].finding is answers["7.10"].finding is Finding.NOT_APPLICABLE
    assert answers["3.1"].finding is Finding.NOT_HERE
    [scheduled] = ac.evaluate("fq_codel", only=["4.6"], seeds=2).answers
    assert scheduled.sentence == "Not applicable: it is a scheduler itself."


def test_command(ackclock: Command, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    done = ackclock("evaluate", "reno", "--only", "5.1.2", "--quick", "--seeds", "2", "--report", page)
    assert done.returncode == 0, done.stderr
    assert "5.1.2  Protection Against Bufferbloat: no" in done.stdout
    text = page.read_text(encoding="utf-8")
    assert text.index("Summary") < text.index("Headings")
    assert text.count("<svg") == 1
    assert "ackclock evaluate reno" in text
    tree = json.loads(
        ackclock("evaluate", "pie", "--set", "target=30ms", "--only", "8.2.2", "--quick", "--json").stdout
    )
    assert tree["kind"] == "queue"
    [heading] = tree["headings"]
    numbers = heading["numbers"]["median wait"]["3 Reno flows"]
    assert numbers["pie with target 30ms"]["mean"] > 1.1 * numbers["pie"]["mean"]


def test_output_in_the_documentation_is_what_is_printed(ackclock: Command) -> None:
    text = (ROOT / "docs" / "how-to" / "evaluate.md").read_text(encoding="utf-8")
    shown = r"^```\nackclock ([^\n]*NeverSlowsDown[^\n]*)\n```\n\n```text\n(.*?)^```$"
    match = re.search(shown, text, re.DOTALL | re.MULTILINE)
    assert match is not None
    words = shlex.split(match[1])
    words[1] = BAD
    done = ackclock(*words)
    assert done.stdout.startswith(match[2].rstrip())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["cubik"], 'did you mean "cubic"?'),
        (["pie", "--set", "targets=5ms"], 'did you mean "target"?'),
        (["pie", "--set", "target=5 packets"], "target"),
        (["pie", "--set", "target"], "KEY=VALUE"),
        (["cubic", "--only", "9.9"], "there is no heading"),
        (["htb"], "htb is a scheduler of classes"),
        (["nowhere.py:Mine"], "nowhere.py"),
        (["nowhere.py"], "nowhere.py:Class"),
        ([BAD.replace("NeverSlowsDown", "NeverSlowDown")], 'did you mean "NeverSlowsDown"?'),
    ],
)
def test_wrong_input_is_told_in_words(ackclock: Command, words: list[str], said: str) -> None:
    done = ackclock("evaluate", *words)
    assert done.returncode == 2, done.stdout
    assert said in done.stderr
    assert "Traceback" not in done.stderr
