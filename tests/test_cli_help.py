"""Help with examples that can be run, and completion in shells."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from ackclock.present import cli
from ackclock.questions.provider import Mix
from conftest import Command

EXAMPLES = {command.name: command.examples for command in cli.COMMANDS}
COMMANDS = list(EXAMPLES)


def test_every_command_has_examples() -> None:
    [commands] = [action for action in cli.parser()._actions if action.dest == "command" or action.choices]
    assert commands.choices is not None
    assert set(commands.choices) == set(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_examples_are_understood(command: str) -> None:
    for words, _ in EXAMPLES[command]:
        cli.parser().parse_args([command, *shlex.split(words.partition(" >")[0].partition("> ")[0])])


def test_help_of_a_command_shows_its_own_examples(ackclock: Command) -> None:
    done = ackclock("stability", "--help")
    assert done.returncode == 0
    assert "ackclock stability home.toml --vary rtt=10ms..400ms" in done.stdout
    assert "ackclock why" not in done.stdout
    assert "exit codes: 0 done" in done.stdout


def test_help_has_the_shares_of_subscribers_by_default(ackclock: Command) -> None:
    text = " ".join(ackclock("subscribers", "--help").stdout.split())
    for name, part in (("video", Mix.video), ("web", Mix.web), ("call", Mix.call), ("download", Mix.download)):
        assert re.search(rf"--{name} SHARE share of the subscribers [\w ]+ \(default: {100 * part:g}%\)", text)


def test_help_is_asked_for_as_a_command_too(capsys: pytest.CaptureFixture[str]) -> None:
    for words, first in ((["help", "list"], "usage: ackclock list"), (["help"], "usage: ackclock [-h]")):
        with pytest.raises(SystemExit) as ended:
            cli.main(words)
        assert ended.value.code == 0
        assert capsys.readouterr().out.startswith(first)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_every_command_and_option(ackclock: Command, shell: str) -> None:
    done = ackclock("completion", shell)
    assert done.returncode == 0
    for word in (*COMMANDS, "trace-flows", "effective-spacing", "cluster"):
        assert word in done.stdout


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_completion_in_bash(ackclock: Command, tmp_path: Path) -> None:
    script = tmp_path / "completion"
    script.write_text(ackclock("completion", "bash").stdout, encoding="utf-8")
    (tmp_path / "home.toml").touch()
    prompts = (("sta",), ("run", "--tr"), ("run", "ho"), ("fluid", "--form", ""))
    lines = [
        f"COMP_WORDS=(ackclock {' '.join(word or chr(34) * 2 for word in words)}); COMP_CWORD={len(words)}; "
        '_shtab_ackclock; echo "${COMPREPLY[@]}"'
        for words in prompts
    ]
    done = subprocess.run(
        ["bash", "-c", "\n".join([f"source {script}", *lines])],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=True,
    )
    assert done.stdout.splitlines() == ["stability", "--traces --trace-flows", "home.toml", "ack rate"]
