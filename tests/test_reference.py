"""Pages made from the registry and the tables of keys are complete, and what they say was checked can be found."""

import json
import re
from pathlib import Path

import ackclock as ac
from ackclock import _core
from algorithm_pages import PAGES, generate
from conftest import Command

ROOT = Path(__file__).parents[1]

KINDS = {(group, entry["kind"]) for group, entries in ac.list_algorithms().items() for entry in entries}


def test_pages_are_written_and_those_of_algorithms_that_are_gone_removed(tmp_path: Path) -> None:
    (tmp_path / "aqm").mkdir()
    for kept in ("README.md", "aqm/gone.md", "aqm/red.md"):
        (tmp_path / kept).write_text("old", encoding="utf-8")
    wanted = generate.pages()
    generate.main(tmp_path)
    written = {path.relative_to(tmp_path).as_posix(): path.read_text(encoding="utf-8") for path in tmp_path.rglob("*")
               if path.is_file()}  # fmt: skip
    assert written == wanted | {"README.md": "old"}
    unchanged = tmp_path / "aqm" / "red.md"
    before = unchanged.stat().st_mtime_ns
    generate.main(tmp_path)
    assert unchanged.stat().st_mtime_ns == before  # which Sphinx would read again


def test_the_reference_of_keys_has_every_key(ackclock: Command) -> None:
    text = ackclock("schema", "--keys").stdout
    assert text.strip() == _core.reference().strip()
    tables = dict(re.findall(r"^### `\[+(\w+)\]+`\n(.*?)(?=^### |\Z)", text, re.MULTILINE | re.DOTALL))
    assert len(tables) >= 5
    for key in list(_core.keys()):
        row = rf"^\| `{key['name']}` \| .+ \| .+ \| {re.escape(key['doc'])} \|$"
        assert len(re.findall(row, tables[key["table"]], re.MULTILINE)) == 1, key


def test_every_algorithm_has_a_page_with_equations_parameters_and_checks() -> None:
    pages = generate.pages()
    single = {"coverage.md", "style-linux.md", "deviations.md"}
    assert set(pages) == single | {f"{group}/{kind}.md" for group, kind in KINDS}
    for group, entries in ac.list_algorithms().items():
        for entry in entries:
            page, source = pages[f"{group}/{entry['kind']}.md"], generate.sources()[group, entry["kind"]]
            assert source.head(), entry["kind"]
            assert source.tests(), entry["kind"]
            assert generate.checks_of(group, entry["kind"]), entry["kind"]
            assert all(f"| `{parameter['name']}` |" in page for parameter in entry["parameters"])
            if group == "congestion" and entry["has_fluid"]:
                assert "- Increase i(w)" in page, entry["kind"]
                assert "- Decrease d(w)" in page, entry["kind"]
            if group == "aqm" and entry["has_fluid"]:
                assert "- Probability: " in page, entry["kind"]


def test_checks_name_algorithms_and_tests_that_exist() -> None:
    known = {kind for _, kind in KINDS} | {group for group, _ in KINDS}
    for check in generate.checks():
        assert set(check["kinds"]) <= known, check
        text = (ROOT / check["test"]).read_text(encoding="utf-8")
        if "name" in check:
            assert re.search(rf"(?:fn|def) {check['name']}\(", text), check


def test_the_index_has_every_algorithm() -> None:
    rows = re.findall(r"^\| \[([\w-]+)\]\((\w+)/([\w-]+)\.md\) \| \S", generate.index(), re.MULTILINE)
    assert {(group, kind) for kind, group, _ in rows} == KINDS
    assert all(kind == page for kind, _, page in rows)
    assert "<!-- algorithms -->" in (PAGES / "README.md").read_text(encoding="utf-8")


def test_deviations_from_rfcs_are_declared_where_they_are_made() -> None:
    declared = generate.deviations()
    assert {f"RFC {number}" for number in (3168, 5681, 6298, 6675, 9293, 9438)} <= {
        deviation.source for deviation in declared
    }
    page = generate.pages()["deviations.md"]
    for deviation in declared:
        assert deviation.what.endswith("."), deviation
        assert (ROOT / deviation.file).exists(), deviation
        assert f"| {deviation.source} | {deviation.section} |" in page, deviation
    # no comment declares one in a form that the page does not know
    text = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "crates").glob("*/src/**/*.rs"))
    assert len(re.findall(r"//[/!]? Deviation from", text)) == len(declared)


def test_a_page_says_what_style_linux_changes() -> None:
    page = generate.pages()["style-linux.md"]
    keys = re.findall(r"^\| `(\w+)` \| (.+) \|$", page, re.MULTILINE)
    assert keys == [
        ("reduction", '"prr"'),
        ("loss_detection", '"rack"'),
        ("ecn_pause", "false"),
        ("max_rto", '"120 s"'),
    ]
    flows = 'count = 2\npath = ["a"]\nrtt = "50 ms"\nstyle = "linux"\n'
    link = '[[link]]\nname = "a"\nrate = "10 Mbit/s"\n'
    flow = ac.loads(f'[scenario]\nduration = "1 s"\n{link}[[flows]]\n{flows}').canonical["flows"][0]
    assert [(key, json.dumps(flow[key])) for key, _ in keys] == keys
    for entry in ac.list_algorithms()["congestion"]:
        start = f"- [{entry['title']}](congestion/{entry['kind']}.md): "
        assert start in page
        line = page.split(start)[1].split("\n")[0]
        assert ("nothing" in line) == (not entry["linux"]), line
        assert all(f"`{name} = " in line for name in entry["linux"]), line
