"""The documentation's pages: each is in a table of contents, links lead somewhere, and names exist."""

import csv
import importlib
import math
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

import pytest

import ackclock as ac
from ackclock import analysis
from ackclock.cli import parser
from ackclock.experiment import sequential
from algorithm_pages import generate

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = {
    path.relative_to(DOCS).with_suffix("").as_posix(): path
    for pattern in ("*.md", "how-to/*.md", "reference/*.md", "algorithms/README.md")
    for path in DOCS.glob(pattern)
}
for directory in ("papers", "scenarios", "validation", "notebooks"):  # symbolic links, which glob does not follow
    for path in [*(ROOT / directory).rglob("*.md"), *(ROOT / directory).glob("*.ipynb")]:
        PAGES[f"{directory}/{path.relative_to(ROOT / directory).with_suffix('').as_posix()}"] = path
PROSE = {name: path.read_text(encoding="utf-8") for name, path in PAGES.items() if path.suffix == ".md"}
MADE = {f"algorithms/{name}".removesuffix(".md"): text for name, text in generate.pages().items()}
"""Pages that building the documentation writes."""
PAGES |= {name: DOCS / f"{name}.md" for name in MADE}
PROSE |= MADE | {"algorithms/README": f"{PROSE['algorithms/README']}\n{generate.index()}"}
PROSE["README"] = (ROOT / "README.md").read_text(encoding="utf-8")


def without_code(text: str) -> str:
    return re.sub(r"^(```|~~~).*?^\1|`[^`\n]*`", "", text, flags=re.MULTILINE | re.DOTALL)


def anchors(text: str) -> Iterator[str]:
    """As forges and MyST make them from headings."""
    for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)|`", r"\1", heading).lower()
        yield re.sub(r"[^\w\- ]", "", plain).strip().replace(" ", "-")


def test_every_page_is_in_a_table_of_contents() -> None:
    tables = re.findall(r"^```\{toctree\}\n(.*?)^```$", PROSE["index"], re.MULTILINE | re.DOTALL)
    entries = [line for table in tables for line in table.splitlines() if line and not line.startswith(":")]
    extension = (DOCS / "extension" / "ackclock_pages.py").read_text(encoding="utf-8")
    entries += re.findall(r'"/([\w/*]+)"', extension)  # of the pages that list others
    assert len(entries) == len(set(entries)) > 20
    assert not [page for page in PAGES if page != "index" and not any(fnmatch(page, entry) for entry in entries)]


@pytest.mark.parametrize("name", PROSE)
def test_links_lead_somewhere(name: str) -> None:
    path = PAGES.get(name, ROOT / "README.md").resolve()
    for target in re.findall(r"\]\(([^)\s]+)\)", without_code(PROSE[name])):
        place, _, part = target.partition("#")
        if re.match(r"\w+:", place):
            continue
        # papers and the like are symbolic links in docs/: a link may lead through it
        file = (path.parent / place).resolve() if place else path  # also beside a page that is not written
        text = next((text for page, text in MADE.items() if PAGES[page] == file), None)
        assert text or file.exists(), f"{name}: {target}"
        if part and file.suffix == ".md":
            assert part in set(anchors(text or file.read_text(encoding="utf-8"))), f"{name}: {target}"


COMMANDS = sorted(
    {
        command.strip()
        for name, text in PROSE.items()
        if name.startswith(("tutorial", "how-to", "model", "measured", "validation", "findings"))
        for block in re.findall(r"^```\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
        for command in re.findall(r"^ackclock (.*?)\s*(?:#.*)?$", block, re.MULTILINE)
    }
)


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_are_understood(command: str) -> None:
    import shlex

    assert parser().parse_args(shlex.split(command))


def test_the_reference_has_every_public_name() -> None:
    text = PROSE["reference/python"]
    shown = set(re.findall(r"auto(?:function|class|exception|module):: ackclock\.(?:\w+\.)*(\w+)", text))
    for module in re.findall(r"automodule:: (ackclock[\w.]+)", text):
        shown |= set(dir(importlib.import_module(module)))
    assert not {name for name in ac.__all__ if name not in shown and not name.startswith("__")}


def test_numbers_of_the_pages_are_those_of_code_and_data() -> None:
    stated = re.findall(r"(\d+) days", PROSE["model"])
    first = ac.loads(re.findall(r"^```toml\n(.*?)^```$", PROSE["tutorial"], re.MULTILINE | re.DOTALL)[0])
    with pytest.raises(ac.ScenarioError, match=rf"longer than {stated[0]} days"):
        first.with_({"scenario.duration": f"{86_400 * int(stated[0]) + 1} s"})
    code = (ROOT / "crates" / "packet" / "src" / "simulation.rs").read_text(encoding="utf-8")
    assert stated == [stated[0], *re.findall(r"within (\d+) days", code)]
    linux: dict[str, bool] = {}
    for row in rows_of("linux"):
        linux[row["cell"]] = linux.get(row["cell"], True) and row["equivalent"] == "1"
    assert f"| {sum(linux.values())} of {len(linux)} cells |" in PROSE["validation"]
    assert f"**{sum(linux.values())} of {len(linux)} cells are equivalent**" in PROSE["validation-linux"]


def test_numbers_of_published_measurements_are_those_of_the_comparison() -> None:
    verdicts: dict[str, Counter[str]] = {}
    for row in rows_of("published"):
        verdicts.setdefault(row["quantity"], Counter())[row["verdict"]] += 1
    share = verdicts["share"]
    close, near = share["agrees"], share["agrees"] + share["near"]
    ten = [verdicts[quantity] for quantity in ("jain", "loss_pct", "utilisation_pct")]
    of = ten[0].total()
    page = PROSE["validation"]
    assert f"{close} of {share.total()} shares (0.05), {near} (0.10)" in page
    assert (
        "Jain {} of {}, loss {}, utilisation {}".format(ten[0]["agrees"], of, *(c["agrees"] for c in ten[1:])) in page
    )
    readme = " ".join(PROSE["README"].split())
    assert f"{close} of {share.total()} shares lie within 0.05 and {near} within 0.10" in readme


def rows_of(comparison: str) -> list[dict[str, str]]:
    with (ROOT / "validation" / comparison / "comparison.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_the_caption_of_the_first_figure_is_measured() -> None:
    """It said 3.4 s, and that most flows reduce at the same time: undecided by the package's own measure."""
    caption = " ".join(re.findall(r"^\*Sixty.*?\*$", PROSE["README"], re.MULTILINE | re.DOTALL)).replace("\n", " ")
    scenario = ac.load(ROOT / "scenarios" / "compound-red-200ms.toml")
    runs = ac.replicate(scenario, 3, trace_links=True, trace_flows="all")
    periods, idle = [], []
    for run in runs:
        measured = run.traces.sel(time=slice(run.window[0], None))
        queue = measured["link_queue_packets"].sel(link="bottleneck")
        verdict = analysis.is_oscillating(queue, 0.02)
        assert verdict
        periods.append(verdict.oscillation.period)
        idle.append(1 - run.links.loc["bottleneck", "utilization_min_1s"])
        assert "Cannot tell" in analysis.is_synchronised(measured["flow_cwnd"]).sentence
    assert f"a period of {sum(periods) / 3:.1f} s" in caption
    assert "nearly a third" in caption
    assert all(0.29 < share < 1 / 3 for share in idle)
    assert "synchronised cannot be told" in caption


def test_the_tutorials_scenario_is_the_readmes() -> None:
    (first,) = re.findall(r"^```toml\n(.*?)^```$", PROSE["tutorial"], re.MULTILINE | re.DOTALL)
    (other,) = re.findall(r"^```toml\n(.*?)^```$", PROSE["README"], re.MULTILINE | re.DOTALL)
    assert ac.loads(first) == ac.loads(other)


def test_the_page_of_deciding_states_the_policies() -> None:
    rows = [
        [cell.strip() for cell in line.split("|")[1:-1]] for line in PROSE["deciding"].splitlines() if line[:2] == "| "
    ][1:]
    assert len(rows) == len(POLICIES)
    for (question, seeds, _, packets, sure), policy in zip(rows, POLICIES, strict=True):
        said = [int(number) for number in re.findall(r"\d+", seeds)]
        if policy is sequential.RUN:
            said[-1] += 1  # others, beside the run itself
        quick = sequential.EVALUATE_QUICK.seeds if policy is sequential.EVALUATE else ()
        assert said == [*policy.seeds, *quick, *([policy.fewest] if policy.fewest else [])], question
        for text, value in ((packets, policy.packets), (sure, policy.sure)):
            match = re.match(r"[\d.]+", text)
            assert (1e6 * float(match[0]) if match else math.inf) == pytest.approx(value), question


POLICIES = (
    sequential.WHY,
    sequential.PEOPLE,
    sequential.COMPARE,
    sequential.STABILITY,
    sequential.MEASURED,
    sequential.RUN,
    sequential.SYNCHRONISATION,
    sequential.TUNE,
    sequential.FAIR,
    sequential.BUFFER,
    sequential.SUBSCRIBERS,
    sequential.EVALUATE,
    sequential.CI,
)


def test_the_modem_of_the_guide_drops_nothing_before_it_is_full() -> None:
    """Its target of 100 s let BLUE, which an overflow wakes, drop from then on: no FIFO, as the guide says it is."""
    (block,) = re.findall(
        r"```toml\n(\[\[link\]\]\nname = \"modem\".*?)```", PROSE["how-to/queues-of-linux"], re.DOTALL
    )
    flow = '[[flows]]\ncount = 3\npath = ["modem"]\nrtt = "40 ms"\npacket_size = "1514 B"\nstyle = "linux"\n'
    text = f'[scenario]\nduration = "400 s"\nmeasure = "110 s .. 400 s"\n{block}{flow}'
    target = 'target = "100000 s"'
    assert target in text
    of_guide, never, early = (
        ac.run(ac.Scenario(tomllib.loads(text.replace(target, f'target = "{own}"')))).links.loc["modem"]
        for own in ("100000 s", "1000000 s", "100 s")
    )
    assert of_guide["drops"] > 0
    assert of_guide.equals(never)
    assert not of_guide.equals(early)
