"""Published results: quick mode gives the robust verdicts, a killed reproduction resumes to the same bytes, errors."""

import json
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from ackclock import paper
from ackclock.paper import Lab, Paper, PaperError, Verdict, ns2
from ackclock.present import cli

PAPERS = Path(__file__).resolve().parents[1] / "papers"
ITEMS = [(key, name) for key in paper.keys(PAPERS) for name in paper.paper(PAPERS, key).items]


@pytest.fixture(scope="session")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("papers")


@pytest.mark.parametrize(("key", "name"), ITEMS)
def test_quick_mode_gives_the_robust_verdicts_of_the_ledger(key: str, name: str, out: Path) -> None:
    of = paper.paper(PAPERS, key)
    [outcome] = paper.reproduce(of, [of.find(name)], out=out, quick=True)
    assert outcome.claims
    kept = {text: claim for known in paper.read_ledger(of.folder) for text, claim in paper.named(known)}
    for text, claim in paper.named(outcome):
        assert text in kept or not claim.robust, text
        if claim.robust:
            assert (kept[text].holds, kept[text].verdict) == (claim.holds, claim.verdict), claim
    page = (out / f"{key}-{name}.html").read_text()
    assert page.count("<svg") == len(outcome.drawings)


@pytest.mark.parametrize("key", paper.keys(PAPERS))
def test_the_ledger_is_judged_by_the_causes_and_written_into_the_readme(key: str, tmp_path: Path) -> None:
    of = paper.paper(PAPERS, key)
    kept = paper.read_ledger(of.folder)
    assert [outcome.id for outcome in kept] == list(of.items)
    assert paper.judged(of.causes, kept) == kept
    assert paper.stale(of.causes, kept) == []
    for outcome in kept:
        setting = of.items[outcome.id].setting
        assert all(claim.setting.startswith(setting) for claim in outcome.claims)
        assert all(claim.verdict is not Verdict.UNJUDGED for claim in outcome.claims)
    text = (of.folder / "README.md").read_text()
    of.folder = tmp_path / key
    of.folder.mkdir()
    (of.folder / "README.md").write_text(text)
    (of.folder / "figures").symlink_to(PAPERS / key / "figures")
    for name in ("ns2.toml", "ns2.csv"):
        if (PAPERS / key / name).is_file():
            (of.folder / name).write_bytes((PAPERS / key / name).read_bytes())
    paper.write_readme(of, kept)
    assert (of.folder / "README.md").read_text() == text


@pytest.mark.parametrize("key", paper.keys(PAPERS))
def test_causes_say_what_their_verdict_needs_and_show_it(key: str) -> None:
    of = paper.paper(PAPERS, key)
    kept = {text: claim for outcome in paper.read_ledger(of.folder) for text, claim in paper.named(outcome)}
    for cause in of.causes.values():
        assert cause.text.endswith(".")
        assert cause.evidence.startswith(("ackclock paper ", "validation/"))
        for name in cause.holds:
            assert kept[name].holds, (cause.name, name)
        for name in [case.claim for case in cause.cases]:
            item = name.partition(": ")[0]
            assert item in of.items, name


@pytest.mark.parametrize("key", [key for key in paper.keys(PAPERS) if (PAPERS / key / "ns2.toml").is_file()])
def test_what_does_not_hold_has_ns_2_beside_it_or_a_reason(key: str, tmp_path: Path) -> None:
    kept = paper.read_ledger(PAPERS / key)
    assert ns2.alone(PAPERS / key, kept) == []
    failing = [item for item in kept if item.id in ns2.alone(PAPERS / key, kept, seeds=1000)]
    assert failing, "with more seeds than there are, items must be named"
    for name in ("ns2.toml", "ns2.csv"):
        shutil.copy(PAPERS / key / name, tmp_path)
    table = (tmp_path / "ns2.csv").read_text().splitlines(keepends=True)
    (tmp_path / "ns2.csv").write_text("".join(line for line in table if not line.startswith(f"{failing[0].id}/")))
    assert failing[0].id in ns2.alone(tmp_path, kept)


@pytest.mark.parametrize("key", paper.keys(PAPERS))
def test_figures_of_the_readme_are_there(key: str) -> None:
    folder = PAPERS / key
    for line in (folder / "README.md").read_text().splitlines():
        if line.startswith("!["):
            assert (folder / line.partition("(")[2].rstrip(")")).is_file(), line


def test_counts_of_all_papers_are_those_of_the_ledgers(tmp_path: Path) -> None:
    text = (PAPERS / "README.md").read_text()
    (tmp_path / "README.md").write_text(text)
    paper.write_counts(tmp_path, {key: paper.read_ledger(PAPERS / key) for key in paper.keys(PAPERS)})
    assert (tmp_path / "README.md").read_text() == text


def test_a_killed_reproduction_resumes_to_the_same_bytes(tmp_path: Path) -> None:
    made(tmp_path)

    def command(out: Path) -> list[str]:
        folders = ["--papers", str(tmp_path / "papers"), "--out", str(out)]
        return [sys.executable, "-m", "ackclock", "paper", "small", "runs", "--threads", "2", *folders]

    whole, killed = tmp_path / "whole", tmp_path / "killed"
    for wanted in (1, 4):
        process = subprocess.Popen(command(killed), stdout=subprocess.PIPE)
        while process.poll() is None and stored(killed) < wanted:
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
        process.communicate()
    for out in (whole, killed):
        subprocess.run(command(out), check=True, capture_output=True)
    assert stored(whole) == stored(killed) == 6
    written = [path.relative_to(whole) for path in whole.rglob("small*/*") if path.is_file()]
    assert {path.name for path in written} == {"runs.json", "runs-use.png"}
    for file in [*written, Path("small-runs.html")]:
        assert (whole / file).read_bytes() == (killed / file).read_bytes(), file


def stored(out: Path) -> int:
    """Results in the store, without those being written."""
    return sum(not entry.name.startswith(".") for entry in (out / "store").glob("*"))


def lab_of(of: Paper, folder: Path) -> Lab:
    return Lab(of, of.items["thing"], paper.Store(folder / "store"))


def test_numbers_are_compared_by_their_digits(tmp_path: Path) -> None:
    of = made(tmp_path)
    lab = lab_of(of, tmp_path)
    lab.number("window", "17", 17.22)
    lab.number("round trip", "0.0848", 0.084834105)
    lab.number("round trip, off", "0.273", 0.27175129)
    lab.number("round trip, about", "0.273", 0.27175129, within=0.01)
    lab.claim("a reason of ours", True, ours="")
    [outcome] = paper.judged({}, [lab.outcome])
    assert [claim.verdict for claim in outcome.claims] == [
        Verdict(name) for name in ("holds", "holds", "ours", "holds", "holds")
    ]
    assert [claim.chosen for claim in outcome.claims[:4]] == [False, False, False, True]
    assert paper.summary([outcome]) == (
        "4 printed numbers and claims: 3 hold, 1 is ours (1 are judged by a threshold of ours; 1 of these hold)"
    )


def agrees_exactly(printed: str, ours: str) -> bool:
    """Whether the two may be roundings of one number, in decimal arithmetic: apart from the code that is tested."""

    def ends(text: str) -> tuple[Decimal, Decimal]:
        head, _, tail = text.partition(" (")
        words = (tail.rstrip(")") or head).split(" to ")
        halves = [Decimal(5).scaleb(Decimal(word).as_tuple().exponent - 1) for word in words]  # type: ignore[operator]
        pairs = list(zip(map(Decimal, words), halves, strict=True))
        return min(value - half for value, half in pairs), max(value + half for value, half in pairs)

    (low, high), (least, most) = ends(printed), ends(ours)
    return low < most and least < high


def test_cells_of_the_tables_have_the_digits_of_their_column_and_can_fail() -> None:
    cells = [
        (claim.text, cell)
        for entry in paper.read_ledger(PAPERS / "st-red")
        for claim in entry.claims
        if entry.id.startswith("table-")
        for cell in claim.cells
    ]
    assert len(cells) > 200
    for text, cell in cells:
        digits = 1 if text.startswith(("mean queue", "deviation")) else 2
        assert {len(end.partition(".")[2]) for end in cell.printed.split(" to ")} == {digits}, cell
        assert not (text.startswith("utilisation") and cell.printed.endswith("100.00")), cell


def test_cells_of_the_ledgers_hold_where_the_roundings_overlap() -> None:
    cells = [
        cell
        for key in paper.keys(PAPERS)
        for outcome in paper.read_ledger(PAPERS / key)
        for c in outcome.claims
        for cell in c.cells
    ]
    assert {cell.holds for cell in cells} == {True, False}
    assert [cell.name for cell in cells if cell.holds != agrees_exactly(cell.printed, cell.ours)] == []


@pytest.mark.parametrize(
    ("printed", "ours", "holds"),
    [
        ("98.81", "98.81", True),
        ("98.81", "98.80", False),
        ("98.81", "98.6 (98.4 to 98.8)", True),
        ("98.81", "98.6 (98.4 to 98.7)", False),
        ("100.0", "99.96", True),
        ("131 to 164.6", "130.0 (128.9 to 130.6)", True),
        ("131 to 164.6", "130.0 (128.9 to 130.4)", False),
        ("0.9 to 1.06", "1.07 (1.07 to 1.2)", False),
        ("3.9 to 3.2", "3.5", True),
    ],
)
def test_numbers_agree_where_their_roundings_overlap(printed: str, ours: str, holds: bool) -> None:
    assert paper.agree(printed, ours) is agrees_exactly(printed, ours) is holds


@pytest.mark.parametrize(
    ("ours", "within"),
    [
        ("2.5 (2.3 to 2.9 over 9 seeds) s at 3 seeds", True),
        ("2.6 s at 3 seeds", True),
        ("2.61 (2.3 to 2.9 over 9 seeds) s at 3 seeds", False),
        ("2.1 s at 3 seeds", False),
        ("2.5 s at 4 seeds", False),
        ("2.5 ms at 3 seeds", False),
        ("2.5 s at 3 seeds, 1 of them", False),
        ("none", False),
    ],
)
def test_a_cause_applies_where_it_was_established(ours: str, within: bool) -> None:
    assert paper.within("2.41 (2.2 to 2.6 over 10 seeds) s at 3 seeds", ours) is within


def test_percentages_have_ranges() -> None:
    observed = "98.5% (98.4% to 98.6% over 3 seeds) and 93.4 (93.1 to 93.6) %"
    assert paper.within(observed, "98.6% (98.5% to 98.7% over 5 seeds) and 93.2 (93.1 to 93.3 over 5 seeds) %")
    assert not paper.within(observed, "98.7% (98.5% to 98.7% over 5 seeds) and 93.2 (93.1 to 93.3 over 5 seeds) %")


def test_what_fails_is_ours_unless_a_cause_names_it_at_this_value(tmp_path: Path) -> None:
    of = made(tmp_path)
    (of.folder / "verdicts.toml").write_text(CAUSES)
    lab = lab_of(of, tmp_path)
    lab.claim("a root is 2", False, ours="3", printed="2")
    lab.claim("a root is 2, nearly", False, ours="3", printed="2")
    lab.claim("a trace", False, ours="1.5 (1 to 2 over 3 seeds)", printed="so", robust=True)
    lab.cells("every cell", [("A", "1", "1"), ("B", "2", "3"), ("C", "3", "9")], printed="table 1")
    lab.claim("with 2 it is so", True, ours="in 3 of 3")
    [outcome] = paper.judged(of.causes, [lab.outcome])
    assert [claim.verdict for claim in outcome.claims] == [
        Verdict.PAPER, Verdict.OURS, Verdict.OPEN, Verdict.OURS, Verdict.HOLDS
    ]  # fmt: skip
    row = outcome.claims[3]
    assert [cell.verdict for cell in row.cells] == [Verdict.HOLDS, Verdict.UNSAID, Verdict.OURS]
    assert (row.ours, row.chosen, row.cause) == ("1 of 3", False, "setting")
    assert paper.counts([outcome]) == {
        Verdict.HOLDS: 1, Verdict.PAPER: 1, Verdict.UNSAID: 1, Verdict.OPEN: 1, Verdict.OURS: 2
    }  # fmt: skip
    assert paper.stale(of.causes, [outcome]) == []
    assert [(cause.name, count) for cause, _, count in paper.causes_of(of, [outcome])] == [
        ("misprint", 1), ("trace", 1), ("setting", 1)
    ]  # fmt: skip
    [quick] = paper.judged(of.causes, [lab.outcome], quick=True)
    assert quick.claims[1].verdict is Verdict.UNJUDGED
    assert paper.Outcome.from_json(outcome.json()) == outcome


def test_a_cause_ends_where_ours_or_print_moves_or_its_experiment_fails(tmp_path: Path) -> None:
    of = made(tmp_path)
    (of.folder / "verdicts.toml").write_text(CAUSES)
    lab = lab_of(of, tmp_path)
    lab.claim("a root is 2", False, ours="4", printed="2")
    lab.claim("a trace", True, ours="1.5 (1 to 2 over 3 seeds)", printed="so")
    lab.cells("every cell", [("B", "2", "3")], printed="table 1")
    lab.claim("with 2 it is so", False, ours="in 2 of 3")
    [outcome] = paper.judged(of.causes, [lab.outcome])
    assert [claim.verdict for claim in outcome.claims] == [Verdict.OURS, Verdict.HOLDS, Verdict.OURS, Verdict.OURS]
    wrong = paper.stale(of.causes, [outcome])
    assert len(wrong) == 3
    assert 'has moved: printed "2", ours "4", established at "2", "3"' in wrong[0]
    assert wrong[1].endswith('"thing: a trace" holds')
    lab.outcome.claims[0] = replace(lab.outcome.claims[0], printed="5", ours="3")
    assert paper.judged(of.causes, [lab.outcome])[0].claims[0].verdict is Verdict.OURS
    lab.outcome.claims.clear()
    assert all("is no claim" in problem for problem in paper.stale(of.causes, paper.judged(of.causes, [lab.outcome])))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"thing: a root is 2"', '"thing: a root*"', "wildcards"),
        ('by = "arithmetic"', "", '"by" is missing'),
        ('cost = "an hour"', "", '"cost" is missing'),
        ('cost = "an hour"', 'cost = "an hour"\nby = "arithmetic"', "by does not belong"),
        ('"thing: a trace"', '"thing: a root is 2"', "has two causes"),
        ('name = "trace"', 'name = "misprint"', "two causes are called"),
        ('verdict = "open"', 'verdict = "ours"', "verdict must be one of"),
        ('seen = "3"\n[[', "[[", "claim, printed and seen"),
    ],
)
def test_a_list_of_causes_is_checked(tmp_path: Path, old: str, new: str, words: str) -> None:
    of = made(tmp_path)
    assert old in CAUSES
    (of.folder / "verdicts.toml").write_text(CAUSES.replace(old, new))
    with pytest.raises(PaperError, match=words):
        _ = of.causes


CAUSES = """
[[cause]]
name = "misprint"
verdict = "the paper's"
text = "It is 3."
evidence = "ackclock paper small thing"
by = "arithmetic"
[[cause.claims]]
claim = "thing: a root is 2"
printed = "2"
seen = "3"
[[cause]]
name = "trace"
verdict = "open"
text = "A word is printed."
evidence = "ackclock paper small thing"
decided_by = "the paper's trace"
cost = "an hour"
claims = [{ claim = "thing: a trace", printed = "so", seen = "1.4 (1.2 to 1.6)" }]
[[cause]]
name = "setting"
verdict = "depends on what the paper does not say"
text = "With 2 it holds."
evidence = "ackclock paper small thing"
setting = "2 of them"
holds = ["thing: with 2 it is so"]
claims = [{ claim = "thing: every cell: B", printed = "2", seen = "3" }]
"""
SOURCE = """
from ackclock.paper import Lab, Paper
paper = Paper("A title", "An author, 2000.")
@paper.item("thing", "The thing", "section 1")
def thing(lab: Lab) -> None:
    lab.claim("one is 1", True, ours="1", printed="1 | one")
    with lab.figure("line", "A line.") as axes:
        axes[0][0].plot([0, 1])
@paper.item("runs", "Six runs", "section 2")
def runs(lab: Lab) -> None:
    base = lab.scenario("link")
    found = lab.run({n: base.with_({"flows.count": n}) for n in (1, 2, 3)}, seeds=2, trace_links=True)
    use = {n: [float(run.links.loc["link", "utilization"]) for run in runs] for n, runs in found.items()}
    lab.claim("used", True, ours=str(use), printed="used")
    with lab.figure("use", "Use.") as axes:
        axes[0][0].plot(list(use), list(use.values()))
"""
LINK = """
[scenario]
name = "small"
duration = "20 s"
[[link]]
name = "link"
rate = "20 Mbit/s"
queue = { aqm = "red", capacity = "50 packets", min_threshold = "5 packets", max_threshold = "15 packets" }
[[flows]]
path = ["link"]
rtt = "uniform 10 ms .. 30 ms"
"""


def made(folder: Path) -> Paper:
    """A paper with an item that needs no run, and one of six."""
    (folder / "papers" / "small").mkdir(parents=True)
    (folder / "papers" / "small" / "reproduce.py").write_text(SOURCE)
    (folder / "papers" / "small" / "link.toml").write_text(LINK)
    return paper.paper(folder / "papers", "small")


def test_a_paper_is_written_into_its_readme(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    of = made(tmp_path)
    options = ["paper", "small", "--papers", str(tmp_path / "papers"), "--out", str(tmp_path / "out"), "--write"]
    assert cli.main(options) == cli.WRONG_INPUT
    (of.folder / "README.md").write_text(f"# Small\n\n{paper.BEGIN}{paper.END}\nThe rest.\n")
    assert cli.main(options) == cli.DONE
    assert "holds: one is 1" in capsys.readouterr().out
    text = (of.folder / "README.md").read_text()
    assert "- holds: one is 1 (threshold ours). Printed: 1 \\| one; ours: 1" in text
    assert text.endswith("\nThe rest.\n")
    assert (of.folder / "figures" / "thing-line.png").read_bytes().startswith(b"\x89PNG")
    assert cli.main(options) == cli.DONE
    assert (of.folder / "README.md").read_text() == text
    page = (tmp_path / "out" / "small.html").read_text()
    assert page.count("<svg") == 2
    assert "http" not in page.replace("http://www.w3.org", "")


def test_data_of_figures_are_written(tmp_path: Path) -> None:
    made(tmp_path)
    options = ["paper", "small", "thing", "--papers", str(tmp_path / "papers"), "--out", str(tmp_path / "out")]
    assert cli.main([*options, "--data", str(tmp_path / "data")]) == cli.DONE
    first = {path.name: path.read_bytes() for path in (tmp_path / "data" / "small").iterdir()}
    assert sorted(first) == ["thing-line.csv", "thing-line.pdf", "thing-line.svg"]
    assert first["thing-line.csv"] == b"panel,series,x,y\n1,1,0,0\n1,1,1,1\n"
    assert first["thing-line.pdf"].startswith(b"%PDF")
    assert cli.main([*options, "--data", str(tmp_path / "data")]) == cli.DONE
    assert {path.name: path.read_bytes() for path in (tmp_path / "data" / "small").iterdir()} == first


def test_the_list_and_errors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made(tmp_path)
    papers = ["--papers", str(tmp_path / "papers")]
    assert cli.main(["paper", *papers, "--json"]) == cli.DONE
    assert list(json.loads(capsys.readouterr().out)["small"]["items"]) == ["thing", "runs"]
    for arguments, words in (
        (["smell"], 'did you mean "small"'),
        (["small", "thin"], 'did you mean "thing"'),
        (["small", "thing", "--write", "--quick"], "full run"),
        (["all", "--set", "flows.rtt=1s"], "needs a KEY"),
        (["all", "thing"], "no ID"),
    ):
        assert cli.main(["paper", *arguments, *papers]) == cli.WRONG_INPUT
        assert words in capsys.readouterr().err
    assert cli.main(["paper", "--papers", str(tmp_path / "nowhere")]) == cli.WRONG_INPUT
    assert "source checkout" in capsys.readouterr().err
    of = paper.paper(tmp_path / "papers", "small")
    assert of.find("thinga").id == "thing"
    with pytest.raises(PaperError, match="available: thing, runs"):
        of.find("other")


def test_papers_are_found_from_below_a_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(tmp_path)
    (tmp_path / "deep" / "down").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "deep" / "down")
    assert paper.papers_folder() == (tmp_path / "papers").resolve()
    assert paper.papers_folder(Path("../../papers")) == (tmp_path / "papers").resolve()


def test_counts_of_all_papers_and_what_their_runs_took(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    of = made(tmp_path)
    (of.folder / "README.md").write_text(f"{paper.BEGIN}{paper.END}\n")
    index = tmp_path / "papers" / "README.md"
    index.write_text("No place.\n")
    out = tmp_path / "out"
    options = ["paper", "all", "--papers", str(tmp_path / "papers"), "--out", str(out), "--write"]
    assert cli.main(options) == cli.WRONG_INPUT
    assert "no place for the counts" in capsys.readouterr().err
    index.write_text(f"# Papers\n\n{paper.COUNTS}{paper.END_OF_COUNTS}\nThe rest.\n")
    assert cli.main(options) == cli.DONE
    assert "the 6 runs behind it took" in capsys.readouterr().out
    text = index.read_text()
    assert "| [small](small/README.md) | as printed | 2 | 0 | 0 | 0 | 0 | 2, 2 |\n" in text
    assert "| all | as printed | 2 | 0 | 0 | 0 | 0 | 2, 2 |\n" in text
    assert text.endswith("\nThe rest.\n")
    cost = paper.cost(of, [paper.Outcome(name, "", "") for name in of.items], out)
    assert cost.runs == 6
    assert cost.cpu_s > 0
    assert cli.main(options) == cli.DONE  # nothing is run again
    assert paper.cost(of, [paper.Outcome(name, "", "") for name in of.items], out) == cost
    assert index.read_text() == text


FAKE_NS = """#!{python}
import sys
options = dict(zip(sys.argv[2::2], sys.argv[3::2]))
print("noise", file=sys.stderr)
for k in range(400):
    now = k * 0.5
    print("SERIES", now, 10 + 5 * (k % 8 < 4), 9, 20 + now, 40 + 2 * now, 7 + k % 3, 9 - k % 3, file=sys.stderr)
print("RESULT util=0.9", "loss=0.0" + options["seed"], file=sys.stderr)
print("FLOW 0 goodput=1", file=sys.stderr)
"""


def test_runs_of_ns2_are_kept_while_their_set_up_is_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs, folder = tmp_path / "programs", tmp_path / "papers" / "one"
    for directory in (programs, folder, tmp_path / "validation" / "ns2"):
        directory.mkdir(parents=True)
    (programs / "ns").write_text(FAKE_NS.replace("{python}", sys.executable))
    (programs / "ns").chmod(0o755)
    text = '[fig]\nshow = ["loss", "period"]\na = { script = "s.tcl", seeds = 2, options = { rtt = 1, warm = 100 } }\n'
    text += '[other-fig]\nshow = ["loss"]\nalso = ["fig/a"]\n'
    (folder / "ns2.toml").write_text(text)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PaperError, match="install ns-2"):
        paper.run_missing(folder)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    said: list[str] = []
    assert paper.run_missing(folder, progress=said.append) == 2
    assert said == ["one fig/a seed 1: 1 of 2", "one fig/a seed 2: 2 of 2"]
    rows = ns2.rows(folder)
    assert [row["loss"] for row in rows.values()] == [0.01, 0.02]
    row = rows["fig/a", 1]
    assert row["period"] == pytest.approx(4.0, rel=0.05)
    assert (row["queue_min"], row["queue_max"]) == (10, 15)
    assert row["ratio"] == pytest.approx(2.0)
    assert row["correlation"] == pytest.approx(-1.0)
    assert ns2.lines(folder, "fig") == ["ns-2, a (2 seeds): loss 0.015 (0.01 to 0.02), period 4"]
    assert ns2.lines(folder, "other-fig") == ["ns-2, fig/a (2 seeds): loss 0.015 (0.01 to 0.02)"]
    assert paper.run_missing(folder) == 0
    (folder / "ns2.toml").write_text(text.replace("rtt = 1", "rtt = 2"))
    assert ns2.rows(folder) == {}
    assert paper.run_missing(folder, only="other") == 0
    assert paper.run_missing(folder, only="fig/a") == 2


@pytest.mark.parametrize("key", paper.keys(PAPERS))
def test_ns2_has_runs_of_the_papers_own_items(key: str) -> None:
    of = paper.paper(PAPERS, key)
    setups = paper.setups(of.folder)
    assert {name.partition("/")[0] for name in setups} <= set(of.items)
    assert all((PAPERS.parent / "validation" / "ns2" / row.script).is_file() for row in setups.values())
    assert {name for name, _ in ns2.rows(of.folder)} <= set(setups)
    tables = tomllib.loads((of.folder / "ns2.toml").read_text()) if setups else {}
    assert {name for table in tables.values() for name in table.get("also", [])} <= set(setups)


def test_scaling_of_red_has_both_branches_of_its_weight(monkeypatch: pytest.MonkeyPatch) -> None:
    """(4.6) of the thesis by hand: 1 / (k_r k_c) where windows are below two packets, k_n / (k_r k_c)^2 elsewhere."""
    monkeypatch.syspath_prepend(str(PAPERS / "st-red"))
    from st_red_analysis import Network, scaled

    first = Network(50.0, 2500.0, 0.12)  # R C = 300 packets
    assert scaled(first, Network(100.0, 5000.0, 0.12)) == pytest.approx(2**3 / 2**5)
    assert scaled(first, Network(200.0, 625.0, 0.03)) == pytest.approx(4**2 * 16**3 * 16)


def test_a_new_paper_runs_and_is_not_written_twice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    papers = tmp_path / "papers"
    papers.mkdir()
    shutil.copytree(PAPERS / "mean-field", papers / "mean-field")
    assert cli.main(["paper", "new", "red-2002", "--papers", str(papers)]) == 0
    assert cli.main(["paper", "new", "red-2002", "--papers", str(papers)]) == 2
    assert "is there already" in capsys.readouterr().err
    assert cli.main(["paper", "new", "Red 2002", "--papers", str(papers)]) == 2
    options = ["--papers", str(papers), "--out", str(tmp_path / "out"), "--quick"]
    assert cli.main(["paper", "red-2002", *options]) == 0
    assert "holds: the link is used" in capsys.readouterr().out


def test_verdicts_for_each_value_of_a_key(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    word = "printed.fig-3.window=100,110"
    assert cli.main(["paper", "aimd-red", "fig-3", "--quick", "--out", str(tmp_path), "--vary", word]) == 0
    text = capsys.readouterr().out
    assert "  printed.fig-3.window=100: holds; 100\n  printed.fig-3.window=110: fails; 100\n" in text
    assert cli.main(["paper", "aimd-red", "fig-3", "--vary", "flows.count"]) == 2
    assert "must be KEY=VALUES" in capsys.readouterr().err
