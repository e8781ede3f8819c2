"""What the README and the tutorial show works, and their output is ours."""

import json
import re
import shlex
from pathlib import Path

import pytest

import ackclock as ac
import checkers

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


TUTORIAL = (Path(__file__).parents[1] / "docs" / "tutorial.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    numbers = re.findall(r"^```(\w*)\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)
    return [text for name, text in numbers if name == language]


def test_scenario() -> None:
    (text,) = blocks("toml")
    assert ac.run(ac.loads(text)).links.loc["bottleneck", "utilization"] > 0.9


def test_python(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.chdir(Path(__file__).parents[1])
    runs, steady = blocks("python")
    names: dict[str, object] = {}
    exec(compile(runs, "README.md", "exec"), names)
    shown = capsys.readouterr().out
    assert shown.count("bottleneck") == 2
    exec(compile(steady, "README.md", "exec"), names)


COMMANDS = [
    command for block in blocks("") for command in re.findall(r"^ackclock (.*?)\s*(?:#.*)?$", block, re.MULTILINE)
]


@pytest.mark.parametrize("command", COMMANDS)
def test_command_line_is_understood(command: str) -> None:
    from ackclock.cli import parser

    assert parser().parse_args(shlex.split(command))


@pytest.mark.parametrize("text", [README, TUTORIAL], ids=["README", "tutorial"])
def test_output_shown_is_what_is_printed(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from ackclock.cli import main

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")
    (scenario,) = blocks("toml")
    Path("first.toml").write_text(scenario, encoding="utf-8")
    numbers = re.findall(r"^```\nackclock ([^\n]*)\n```\n(?:\n```text\n(.*?)^```$)?", text, re.MULTILINE | re.DOTALL)
    shown = [(command, output) for command, output in numbers if output or command.startswith("sweep")]
    assert len(shown) > 3
    for command, output in shown:
        assert main(shlex.split(command)) == 0
        printed = iter(capsys.readouterr().out.splitlines())
        for line in output.splitlines():
            # "..." stands for what is left out; lines come in the order of the output
            assert line in ("", "...") or any(line == other for other in printed), f"{command}: {line}"


def test_sentences_of_why_are_derived_again(capsys: pytest.CaptureFixture[str]) -> None:
    """What the README and the tutorial say of a link, by checkers that share no code with what says it."""
    from ackclock.cli import main

    shown = {
        command for text in (README, TUTORIAL) for command in re.findall(r"^ackclock (why [^\n]*)", text, re.MULTILINE)
    }
    assert shown
    for command in shown:
        assert main([*shlex.split(command), "--json"]) == 0
        answer = json.loads(capsys.readouterr().out)
        assert checkers.check(answer) == len(answer["sentences"]) > 2
        for sentence in answer["sentences"]:
            assert all(sentence["text"] in text for text in (README, TUTORIAL) if command in text)
