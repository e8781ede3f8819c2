"""
Every shipped scenario through every command that takes one, in a part of its time and with small budgets.

A command answers (exit code 0), found nothing (1, `tune` alone), or says what it cannot represent (2). What it says is
about what the file has: never about a key or a time of a variant that the command made itself.
"""

import copy
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

import ackclock as ac
from ackclock import cli
from ackclock.experiment import sequential
from ackclock.questions.causes.scales import quantities
from ackclock.questions.tuning import packets

SHIPPED = sorted((Path(__file__).parents[1] / "scenarios").glob("*.toml"))
PARTS = {"meanfield": 0.01, "compare": 0.01}
"""Of the length that the file has; 0.1 for the others."""
COMMANDS = {
    "check": "check FILE",
    "run": "run FILE",
    "run --seeds": "run FILE --seeds 2 --json",
    "fluid": "fluid FILE",
    "meanfield": "meanfield FILE --cells 1 --json",
    "stability": "stability FILE --packets 100000 --budget 0.5",
    "why": "why FILE",
    "compare": "compare FILE",
    "sweep": "sweep FILE --vary scenario.seed=1,2 --store STORE",
    "tune": "tune FILE --aqm codel --seeds 1 --runs 1",
}
REFUSALS = {
    "fluid": r"cannot be represented by the fluid model: .*\. `ackclock run` simulates it",
    "meanfield": r"the mean-field engine cannot represent .*\. `ackclock run` simulates it",
    "stability": r"changes with time|come to an end",
    "tune": r"ackclock tune: ",
}
"""What a command may refuse, in its own words; the others answer for every scenario."""


def shortened(scenario: ac.Scenario, by: float) -> ac.Scenario:
    """The scenario in a part of its time: its length, its changes, and what begins late."""
    tree = copy.deepcopy(scenario.canonical)

    def part(text: Any) -> str:
        return re.sub(r"[\d.]+ (s|min|h)\b", lambda match: f"{by * quantities(match[0])[0]:.9g} s", str(text))

    tree["scenario"] = {key: part(value) if key in ("duration", "measure") else value
                        for key, value in tree["scenario"].items()}  # fmt: skip
    for flows in tree["flows"]:
        flows["start"] = part(flows["start"])
    for change in tree.get("change", []):
        change["at"] = part(change["at"])
    return ac.Scenario(tree)


pytestmark = pytest.mark.usefixtures("brief_people")


@pytest.fixture(autouse=True)
def small_budgets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(vars(sequential.WHY), "packets", 20_000)
    monkeypatch.setitem(vars(sequential.COMPARE), "packets", 100_000)
    monkeypatch.setattr(packets, "BUDGET", 4_000)
    monkeypatch.setattr(packets, "SHORTEST", 1.0)


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("file", SHIPPED, ids=lambda file: file.stem)
def test_every_command_answers_or_says_what_it_cannot(
    file: Path, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    short = tmp_path / file.name
    short.write_text(shortened(ac.load(file), PARTS.get(name, 0.1)).to_toml(), encoding="utf-8")
    words = [{"FILE": str(short), "STORE": str(tmp_path / "store")}.get(word, word)
             for word in shlex.split(COMMANDS[name])]  # fmt: skip
    code = cli.main(words)
    said = capsys.readouterr()
    assert "Traceback" not in said.err + said.out
    assert "a bug" not in said.err
    assert not re.search(r"(?m)^(scenario|text|tree): ", said.err), said.err  # of a scenario that nobody wrote
    command = name.partition(" ")[0]
    if code == 2:
        assert re.search(REFUSALS.get(command, "(?!)"), said.err), said.err
    else:
        assert code == 0 or (command, code) == ("tune", 1), said.err
        assert said.out.strip()
        assert not said.err, said.err
