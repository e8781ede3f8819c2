"""What docs/extending.md tells the reader to do, done to a copy of the sources."""

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ackclock as ac

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")

TRY = """\
//! Runs the scenario of the page, as `ackclock run` does.

fn main() {
    let text = std::fs::read("toy.toml").unwrap();
    let scenario = ackclock_scenario::parse(&text, "toy.toml").unwrap();
    let outcome = ackclock_packet::run(&scenario, &ackclock_packet::Options::default()).unwrap();
    let link = &outcome.links[0];
    println!("{} {} {}", link.utilization, link.drops as f64 / link.arrivals as f64, link.queue_packets_mean);
}
"""


TRY_MANIFEST = """\
[package]
name = "try"
edition = "2024"

[dependencies]
ackclock-scenario.workspace = true
ackclock-packet.workspace = true
"""


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)


def files_and_blocks(language: str) -> list[tuple[str, str]]:
    """The blocks that follow the name of the file that they are for."""
    numbers = re.findall(rf"`(crates/[\w/]+\.rs)`:\n\n```{language}\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)
    assert len(numbers) == len(blocks(language))
    return numbers


def apply(change: str, text: str) -> str:
    """Insert the added lines of a diff whose context is found once."""
    for hunk in change.split("@@\n"):
        lines = hunk.splitlines(keepends=True)
        before = "".join(line[1:] for line in lines if line[0] == " ")
        after = "".join(line[1:] for line in lines)
        assert text.count(before) == 1, before
        text = text.replace(before, after)
    return text


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The sources as the page leaves them: the floors up to the packet engine."""
    root = tmp_path_factory.mktemp("extended")
    for name in ("endpoint", "algorithms", "scenario", "packet"):
        shutil.copytree(ROOT / "crates" / name, root / "crates" / name, ignore=shutil.ignore_patterns("target"))
    manifest = (ROOT / "Cargo.toml").read_text(encoding="utf-8")
    (root / "Cargo.toml").write_text(manifest.replace('"benches/speed", ', ""), encoding="utf-8")  # of all engines
    shutil.copy(ROOT / "Cargo.lock", root)
    for name, text in files_and_blocks("rust"):
        assert not (root / name).exists()
        (root / name).write_text(text, encoding="utf-8")
    for name, change in files_and_blocks("diff"):
        text = (root / name).read_text(encoding="utf-8")
        (root / name).write_text(apply(change, text), encoding="utf-8")
    yield root
    shutil.rmtree(root / "target", ignore_errors=True)  # some 200 MB


def cargo(workspace: Path, *arguments: str) -> str:
    """Run cargo without the network. Compiling is what takes the time, so without optimisation."""
    environment = {
        **os.environ,
        "CARGO_TARGET_DIR": str(workspace / "target"),
        "CARGO_NET_OFFLINE": "true",
        "CARGO_PROFILE_RELEASE_OPT_LEVEL": "0",
        "CARGO_PROFILE_RELEASE_DEBUG": "0",
        "CARGO_PROFILE_RELEASE_CODEGEN_UNITS": "16",
    }
    done = subprocess.run(
        ["cargo", *arguments], cwd=workspace, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_two_files_each(workspace: Path) -> None:
    touched = {
        path.relative_to(workspace).as_posix()
        for path in (workspace / "crates").rglob("*.rs")
        if not (old := ROOT / path.relative_to(workspace)).exists() or old.read_bytes() != path.read_bytes()
    }
    assert touched == {
        "crates/algorithms/src/congestion/sqrt.rs",
        "crates/algorithms/src/congestion/mod.rs",
        "crates/algorithms/src/aqm/proportional.rs",
        "crates/algorithms/src/aqm/mod.rs",
    }
    cargo(workspace, "fmt", "--check", "-p", "ackclock-algorithms")


def test_the_commands_pass(workspace: Path) -> None:
    commands = [shlex.split(line) for line in blocks("sh")[0].splitlines()]
    assert [program for program, *_ in commands] == ["cargo"] * 3
    for _, *arguments in commands:
        out = cargo(workspace, *arguments)
        assert sum(map(int, re.findall(r"(\d+) passed", out))) > 0, out


def measured_in_rust(workspace: Path) -> tuple[float, float, float]:
    """Utilisation, loss and mean queue of the page's scenario, in the engine with the two algorithms added."""
    crate = workspace / "crates" / "try"
    (crate / "src").mkdir(parents=True)
    (crate / "src" / "main.rs").write_text(TRY, encoding="utf-8")
    (crate / "Cargo.toml").write_text(TRY_MANIFEST, encoding="utf-8")
    (scenario,) = blocks("toml")
    (workspace / "toy.toml").write_text(scenario, encoding="utf-8")
    utilization, loss, queue = map(float, cargo(workspace, "run", "--release", "--quiet", "-p", "try").split())
    return utilization, loss, queue


def measured_in_python() -> tuple[float, float, float]:
    """The same of the classes in Python."""
    (program,) = blocks("python")
    names: dict[str, Any] = {}
    exec(compile(program, "extending.md", "exec"), names)
    link = names["result"].links.loc["bottleneck"]
    return link["utilization"], link["loss"], link["queue_packets_mean"]


def test_it_runs_and_python_gives_the_same(workspace: Path) -> None:
    utilization, loss, queue = measured_in_rust(workspace)
    assert utilization > 0.99
    # the queue says its loss: p = q / 2000
    assert loss == pytest.approx(queue / 2000, rel=0.1)
    assert measured_in_python() == (utilization, loss, queue)


def test_unchanged_sources_know_neither() -> None:
    with pytest.raises(ac.ScenarioError, match="sqrt"):
        ac.loads(blocks("toml")[0])


def test_engines_of_averages_name_no_algorithm() -> None:
    groups = ac.list_algorithms()
    kinds = [entry["kind"] for group in ("congestion", "aqm") for entry in groups[group]]
    named = re.compile(
        r"\b(?:AqmSpec|CongestionSpec|AqmLaw|TcpLaw)::[A-Z][a-z]\w*\(|"
        + "|".join(f'"{re.escape(kind)}"' for kind in kinds)
    )
    naming = []
    for crate in ("averages", "fluid", "meanfield"):
        for file in sorted((ROOT / "crates" / crate / "src").rglob("*.rs")):
            code = file.read_text(encoding="utf-8").split("#[cfg(test)]")[0]
            lines = enumerate(code.splitlines(), 1)
            naming += [
                f"{file}:{number}" for number, line in lines if not line.strip().startswith("//") and named.search(line)
            ]
    assert not naming
