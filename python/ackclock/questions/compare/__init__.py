"""All engines on one scenario: what each says of the same queue, where they disagree, and why, by experiment."""

from __future__ import annotations

from collections.abc import Callable

from ...core.errors import AckclockError, AnalysisError, Interrupted, RunError, ScenarioError
from ...core.scenario import Scenario, ScenarioLike, scenario_of
from ...core.simulate import run
from ...core.statement import state
from ..phases import drawn
from ..stability import first_stable, stability
from ..tolerances import differ
from .comparison import Comparison
from .engines import EQUATIONS, add_packet, add_periods, resolved
from .evidence import Disagreement
from .experiments import Experiments, traced
from .values import Lines

__all__ = ["Comparison", "Disagreement", "Lines", "compare"]


def compare(
    scenario: ScenarioLike,
    *,
    seed: int | None = None,
    until_sure: bool = False,
    progress: Callable[[str], None] | None = None,
) -> Comparison:
    """
    Run one scenario in every engine that can represent it, and compare the results.

    An engine that cannot represent it says why. Where a measure differs by more than `TOLERANCES` from the packet
    engine, the cause is sought by experiment: first with other seeds, then in both engines with one thing at a time
    removed that the equations may leave out (`questions.compare.ablations`). An ablation that closes the difference
    names its cause. One that leaves at most seven tenths of it names a part of the cause. If several do so, or the
    seeds spread by as much as an ablation changes, the answer is "cannot tell"; if no ablation changes enough, "cause
    not found". Where more flows lessen a difference and do not close it, more still are tried.

    Parameters
    ----------
    scenario
        What to run.
    seed
        Seed of the packet engine, used instead of the scenario's own.
    until_sure
        Make all experiments, whatever they take; by default up to 300 million packets and a million steps of the
        fluid equations.
    progress
        Called with a text that says what is being done, several times a second while packets are simulated.

    Raises
    ------
    ScenarioError
        If the packet engine cannot represent it.
    RunError
        If its run failed.
    AnalysisError
        If nothing was measured, as a run "until done" ended before its measurement window opened.
    """
    given = scenario_of(scenario)
    scenario = drawn(given)
    say = progress or (lambda _text: None)
    result = run(
        resolved(scenario),
        seed=seed,
        trace_links=True,
        trace_flows=traced(scenario),
        progress=lambda now: say(f"packet engine, {max(now['times']):.0f} s simulated"),
    )
    if result.window[0] == result.window[1]:
        raise AnalysisError(
            f"nothing to compare: the run ended at {result.window[1]:.6g} s, before the measurement window opened",
            "nothing measured",
        )
    comparison = Comparison(scenario, window=result.window, drawn=scenario is not given)
    add_packet(comparison, result)
    for engine, (solve, read) in EQUATIONS.items():
        say(f"{engine} engine")
        try:
            solution = solve(scenario, say)
            read(comparison, solution, solution.window)
        except ScenarioError as error:
            comparison.refused[engine] = str(error)
        except (Interrupted, RunError):
            raise
        except AckclockError as error:
            comparison.refused[engine] = str(error)
            if isinstance(error, AnalysisError) and error.kind == "out of time":
                comparison.late.add(engine)
    if "fluid" in comparison.lines:
        say("stability")
        try:
            comparison.stable, comparison.idle = _stability(scenario)
        except AckclockError as error:
            comparison.stable = f"no answer: {error}"
    add_periods(comparison, result.window)
    _judge(comparison, until_sure, say)
    return comparison


def _stability(scenario: Scenario) -> tuple[str, tuple[str, ...]]:
    """Return what the equations say of stability, of the first stable equilibrium where there are several."""
    analysis = stability(scenario)
    if analysis.moving is not None:
        return analysis.moving.sentence, ()
    each = analysis.each()
    chosen = first_stable(each)
    said = chosen.answer().sentence
    if len(each) > 1:
        said = str(state("compare.one-of", which=each.index(chosen), count=len(each), said=said))
    return said, chosen.idle


def _judge(comparison: Comparison, until_sure: bool, say: Callable[[str], None]) -> None:
    """List the measures that differ, each with its cause."""
    apart = [
        (measure, of, engine)
        for (measure, of), values in comparison.values.items()
        if "packet" in values
        for engine in values
        if differ(measure, values["packet"], values[engine])
    ]
    if not apart:
        return
    causes = Experiments(comparison, until_sure=until_sure, say=say)
    for measure, of, engine in apart:
        values = comparison.values[measure, of]
        cause = causes.of(measure, of, engine)
        comparison.disagreements.append(Disagreement(measure, of, engine, values["packet"], values[engine], cause))
