"""What the README shows works."""

import re
from pathlib import Path

import pytest

import ackclock as ac

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    found = re.findall(r"^```(\w*)\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)
    return [text for name, text in found if name == language]


def test_scenario() -> None:
    (text,) = blocks("toml")
    assert ac.run(ac.loads(text)).links.loc["bottleneck", "utilization"] > 0.9


def test_python(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.chdir(Path(__file__).parents[1])
    calm, runs = blocks("python")
    names: dict[str, object] = {}
    exec(compile(runs, "README.md", "exec"), names)
    shown = capsys.readouterr().out
    assert shown.count("bottleneck") == 2
    exec(compile(calm, "README.md", "exec"), names)


COMMANDS = [
    command for block in blocks("") for command in re.findall(r"^ackclock (.*?)\s*(?:#.*)?$", block, re.MULTILINE)
]


@pytest.mark.parametrize("command", COMMANDS)
def test_command_line_is_understood(command: str) -> None:
    import shlex

    from ackclock.cli import _parser

    assert _parser().parse_args(shlex.split(command))
