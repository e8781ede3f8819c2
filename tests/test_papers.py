"""Published results: quick mode gives the robust verdicts, a killed reproduction resumes to the same bytes, errors."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ackclock import paper
from ackclock.paper import Lab, Paper, PaperError, Verdict
from ackclock.present import cli

PAPERS = Path(__file__).resolve().parents[1] / "papers"
ITEMS = [(key, name) for key in paper.keys(PAPERS) for name in paper.paper(PAPERS, key).items]


@pytest.fixture(scope="session")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("papers")


@pytest.mark.parametrize(("key", "name"), ITEMS)
def test_quick_mode_gives_the_robust_verdicts_of_the_readme(key: str, name: str, out: Path) -> None:
    of = paper.paper(PAPERS, key)
    [outcome] = paper.reproduce(of, [of.find(name)], out=out, quick=True)
    assert outcome.claims
    table = verdicts(key)
    for claim in outcome.claims:
        if claim.robust and name in {item for item, _ in table}:
            assert table[name, claim.text] == claim.verdict, claim
    page = (out / f"{key}-{name}.html").read_text()
    assert page.count("<svg") == len(outcome.drawings)


def table(key: str, head: str) -> list[list[str]]:
    """The rows of a table in a paper's README whose first heading is `head`."""
    text = (PAPERS / key / "README.md").read_text()
    lines = text.partition(paper.BEGIN)[2].partition(paper.END)[0].splitlines()
    begin = next(index for index, line in enumerate(lines) if line.startswith(f"| {head} |"))
    rows = lines[begin + 2 :]
    end = next((index for index, row in enumerate(rows) if not row.startswith("|")), len(rows))
    return [[cell.strip() for cell in row.strip("|").split(" | ")] for row in rows[:end]]


def verdicts(key: str) -> dict[tuple[str, str], str]:
    """The table of claims in a paper's README."""
    return {(row[0], row[1].removesuffix(" (threshold ours)")): row[-1] for row in table(key, "item")}


@pytest.mark.parametrize("key", paper.keys(PAPERS))
def test_what_does_not_hold_has_a_cause_and_evidence_and_none_is_ours(key: str) -> None:
    of = paper.paper(PAPERS, key)
    causes = {row[0]: row for row in table(key, "cause")}
    assert set(causes) <= set(of.causes)
    for item, text, *_, cause, verdict in table(key, "item"):
        assert verdict != Verdict.OURS, (item, text)
        if verdict != Verdict.HOLDS:
            assert all(name in causes for name in cause.split(", ") if name) or "," in cause, (item, text)
            assert cause or verdict == Verdict.OPEN, (item, text)
    for cause in of.causes.values():
        assert cause.text.endswith(".")
        assert cause.evidence.startswith(("ackclock paper ", "validation/"))


@pytest.mark.parametrize("key", paper.keys(PAPERS))
def test_the_readme_is_of_these_items(key: str) -> None:
    assert {name for name, _ in verdicts(key)} <= set(paper.paper(PAPERS, key).items)
    folder = PAPERS / key
    for line in (folder / "README.md").read_text().splitlines():
        if line.startswith("!["):
            assert (folder / line.partition("(")[2].rstrip(")")).is_file(), line


def test_a_killed_reproduction_resumes_to_the_same_bytes(tmp_path: Path) -> None:
    made(tmp_path)

    def command(out: Path) -> list[str]:
        folders = ["--papers", str(tmp_path / "papers"), "--out", str(out)]
        return [sys.executable, "-m", "ackclock", "paper", "small", "runs", "--threads", "2", *folders]

    whole, killed = tmp_path / "whole", tmp_path / "killed"
    for wanted in (1, 4):
        process = subprocess.Popen(command(killed), stdout=subprocess.PIPE)
        while process.poll() is None and stored(killed) < wanted:
            pass
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


def test_numbers_are_compared_by_their_digits(tmp_path: Path) -> None:
    of = made(tmp_path)
    lab = Lab(of, of.items["thing"], paper.Store(tmp_path / "store"))
    assert lab.number("window", "17", 17.22) is Verdict.HOLDS
    assert lab.number("round trip", "0.0848", 0.084834105) is Verdict.HOLDS
    assert lab.number("round trip", "0.273", 0.27175129) is Verdict.OURS
    assert lab.number("round trip", "0.273", 0.27175129, within=0.01) is Verdict.HOLDS
    assert lab.claim("not printed", None, ours="", printed="79 %") is Verdict.OPEN
    lab.claim("a reason of ours", True, ours="")
    assert paper.summary([lab.outcome]) == ("5 printed numbers and claims: 3 hold, 1 is ours, 1 cannot be decided")


def test_a_cause_decides_what_does_not_hold_and_cells_count_each(tmp_path: Path) -> None:
    of = made(tmp_path)
    (of.folder / "verdicts.toml").write_text(CAUSES)
    lab = Lab(of, of.items["thing"], paper.Store(tmp_path / "store"))
    assert lab.claim("a root is 2", False, ours="3", printed="2") is Verdict.PAPER
    assert lab.claim("a root is 2, nearly", True, ours="2", printed="2") is Verdict.HOLDS
    assert lab.claim("a survey sentence", True, ours="so", printed="so") is Verdict.OPEN
    assert lab.claim("unknown", False, ours="1", printed="2") is Verdict.OURS
    cells = [("A", "1", "1", True), ("B", "2", "3", False), ("C", "3", "9", False)]
    lab.cells("every cell", cells, printed="table 1")
    row = lab.outcome.claims[-1]
    assert [cell.verdict for cell in row.cells] == [Verdict.HOLDS, Verdict.UNSAID, Verdict.OURS]
    assert (row.ours, row.chosen) == ("1 of 3", True)
    assert paper.counts([lab.outcome]) == {
        Verdict.HOLDS: 2,
        Verdict.PAPER: 1,
        Verdict.UNSAID: 1,
        Verdict.OURS: 2,
        Verdict.OPEN: 1,
    }
    assert paper.chosen([lab.outcome]) == (3, 1)
    assert [(cause.name, count) for cause, _, count in paper.causes_of(of, [lab.outcome])] == [
        ("misprint", 1),
        ("survey", 1),
        ("setting", 1),
    ]
    quick = Lab(of, of.items["thing"], paper.Store(tmp_path / "store"), quick=True)
    assert quick.claim("unknown", False, ours="1", printed="2") is Verdict.OPEN


CAUSES = """
[threshold_of_ours]
claims = ["thing: every*"]
[[cause]]
name = "misprint"
claims = ["thing: a root*"]
verdict = "does not hold: the paper's"
text = "It is 3."
evidence = "ackclock paper small thing"
[[cause]]
name = "survey"
always = true
claims = ["thing: a survey*"]
verdict = "cannot be decided"
text = "No network is named."
evidence = "ackclock paper small thing"
[[cause]]
name = "setting"
claims = ["thing: every cell: B"]
verdict = "depends on what the paper does not say"
text = "With 2 it holds."
evidence = "ackclock paper small thing"
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
    assert cli.main(options) == cli.FAILED
    (of.folder / "README.md").write_text(f"# Small\n\n{paper.BEGIN}{paper.END}\nThe rest.\n")
    assert cli.main(options) == cli.DONE
    assert "holds: one is 1" in capsys.readouterr().out
    text = (of.folder / "README.md").read_text()
    assert "| thing | one is 1 | 1 \\| one | 1 |  | holds |" in text
    assert text.endswith("\nThe rest.\n")
    assert (of.folder / "figures" / "thing-line.png").read_bytes().startswith(b"\x89PNG")
    assert cli.main(options) == cli.DONE
    assert (of.folder / "README.md").read_text() == text
    page = (tmp_path / "out" / "small.html").read_text()
    assert page.count("<svg") == 2
    assert "http" not in page.replace("http://www.w3.org", "")


def test_the_list_and_errors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made(tmp_path)
    papers = ["--papers", str(tmp_path / "papers")]
    assert cli.main(["paper", *papers, "--json"]) == cli.DONE
    assert list(json.loads(capsys.readouterr().out)["small"]["items"]) == ["thing", "runs"]
    for arguments, words in (
        (["smell"], 'did you mean "small"'),
        (["small", "thin"], 'did you mean "thing"'),
        (["small", "thing", "--write"], "full run"),
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
    assert cli.main(options) == cli.FAILED
    assert "no place for the counts" in capsys.readouterr().err
    index.write_text(f"# Papers\n\n{paper.COUNTS}{paper.END_OF_COUNTS}\nThe rest.\n")
    assert cli.main(options) == cli.DONE
    assert "the 6 runs behind it took" in capsys.readouterr().out
    text = index.read_text()
    assert "| [small](small/README.md) | 2 | 2 | 0 | 0 | 0 | 0 | 0, 0 |\n" in text
    assert "| all | 2 | 2 | 0 | 0 | 0 | 0 | 0, 0 |\n" in text
    assert text.endswith("\nThe rest.\n")
    cost = paper.cost(of, [paper.Outcome(name, "", "") for name in of.items], out)
    assert cost.runs == 6
    assert cost.cpu_s > 0
    assert cli.main(options) == cli.DONE  # nothing is run again
    assert paper.cost(of, [paper.Outcome(name, "", "") for name in of.items], out) == cost
    assert index.read_text() == text
