"""
The fluid engine: windows, queues and probabilities on average, as delay-differential equations.

Times are in seconds, windows and queues in packets. Sources of the equations: P. Manjunath and G. Raina, "Compound
TCP with Random Early Detection (RED)", equations (1), (9), (26), (36); Misra, Gong and Towsley, SIGCOMM 2000; Wang,
Cai, Liu and Shen, "AIMD congestion control", equations (1) and (2). Each algorithm's own documentation holds its law.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from .. import _core
from ._words import among, available, meant
from .accessors import presented
from .delay import Parameter
from .engine_result import EngineResult, plain
from .errors import AnalysisError, Diagnostic, ScenarioError
from .keys import full_key
from .scenario import Scenario, ScenarioLike, scenario_of
from .simulate import list_algorithms
from .units import seconds_of

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    import xarray as xr
    from matplotlib.axes import Axes
    from numpy.typing import NDArray


Form = Literal["ack", "rate"]
"""
"ack": w' = (i(w) (1 - p) - d(w) p) w(t - R) / R, growth with acknowledgements (Manjunath and Raina, equation (9));
"rate": w' = i(w) w / R - d(w) p w(t - R) / R, growth with time (Misra, Gong and Towsley; Wang et al., equation (1)).
"""
Decrease = Literal["loss", "round", "random"]
"""
The decrease at a signal: "loss" is d(w) of the present window; "round" is d as seen from the average over a sawtooth,
2 (1 - beta) / (1 + beta) w for AIMD (Wang et al., equation (1)); "random" is d as losses at random take it on average,
which meet larger windows more often: - ln(1 - b) (1 - b)^(1/4) w where a loss takes b w (derived from Dumas, Guillemin
and Robert 2002), 1.17 d(w) for halvings.
"""
Rtt = Literal["queueing", "constant"]
""""queueing": base round-trip time plus queueing delay, a state-dependent delay; "constant": the base alone."""
SmallWindows = Literal["law", "own"]
"""
"own": windows follow the law that their sender has for them, small ones their own (Compound's Reno branch below 16
packets, CUBIC's Reno-friendly region), as packets do; "law": one law for all windows, as in the papers.
"""
Memory = Literal["states", "rest"]
"""The model of a sender with a memory (CUBIC): all its states, or a window, moved by i(w) and d(w) at equilibrium."""
Averaging = Literal["exponential", "linear"]
"""How RED's weight w becomes a rate: - ln(1 - w) (exact for a constant queue), or w, per packet time."""

PER_ROUND_TRIP, FEWEST_TIMES, MOST_TIMES = 8, 2000, 100_000
"""Times in a round trip at which a summary looks, and how many at least and at most."""
SAMPLES = 2000
"""Times at which a trajectory is kept where the user does not say."""


@dataclass(frozen=True)
class Choices:
    """Modelling choices on which the papers differ. Every result repeats them."""

    form: Form = "ack"
    decrease: Decrease = "loss"
    rtt: Rtt = "queueing"
    small_windows: SmallWindows = "law"
    memory: Memory = "states"
    averaging: Averaging = "exponential"
    effective_spacing: bool = True
    """Whether RED drops at the mean rate of its `spacing`, or at the initial probability as the papers have it."""
    clamped: bool = True
    """
    Whether trajectories keep queues between empty and full and follow every regime of an AQM's law; otherwise the
    regime that holds at the equilibrium is continued everywhere. Analyses at an equilibrium do not depend on it.
    """

    def text(self) -> str:
        """Return the choices in words."""
        return "; ".join(
            (
                {"ack": "growth with acknowledgements", "rate": "growth with time"}[self.form],
                {
                    "loss": "decrease of the present window",
                    "round": "decrease seen from the average of a round",
                    "random": "decrease of windows that losses find at random",
                }[self.decrease],
                {"queueing": "round trips include queueing", "constant": "constant round trips"}[self.rtt],
                {"law": "one law for all windows", "own": "small windows have their own law"}[self.small_windows],
                {"states": "senders with all their states", "rest": "senders as at equilibrium"}[self.memory],
                {"exponential": "weights as exact rates", "linear": "weights as linear rates"}[self.averaging],
                "RED's drop spacing counted" if self.effective_spacing else "RED's initial probability",
                "clamped trajectories" if self.clamped else "smooth trajectories",
            )
        )


def choices_for(
    scenario: Scenario,
    *,
    form: Form = "ack",
    decrease: Decrease = "loss",
    rtt: Rtt = "queueing",
    small_windows: SmallWindows | None = None,
    memory: Memory | None = None,
    averaging: Averaging = "exponential",
    effective_spacing: bool = True,
    clamped: bool = True,
) -> Choices:
    """
    Return the choices for a scenario, the same for every engine of equations where the user does not choose.

    Windows follow the law that their sender has for windows of their size. CUBIC is a window alone, as at equilibrium:
    only so it has its Reno-friendly region, and a verdict (its states have a root at zero whatever the parameters).
    """
    if memory is None:
        laws = _core.sender_laws(scenario._core)
        memory = "rest" if any(equilibrium for _, equilibrium, _ in laws) else "states"
    return Choices(form, decrease, rtt, small_windows or "own", memory, averaging, effective_spacing, clamped)


class Equations:
    """
    The delay equations of a scenario, with the names that people use for states and parameters.

    Links that are `idle` have none: data crosses them without waiting.
    """

    def __init__(self, scenario: Scenario, choices: Choices, idle: Sequence[str] = ()) -> None:
        self._propagation = _propagation(scenario.canonical)
        scenario = _without_links(scenario, idle) if idle else scenario
        laws = _python_laws(scenario)
        self.choices = choices
        self.model = _core.FluidModel(scenario._core, origin=scenario.origin, **asdict(choices))
        for name, law in laws.items():
            self.model.set_law(name, law)
        self._of = scenario
        self._scenario = scenario.canonical
        named = [_unit_apart(name) for name in self.model.state_names]
        self.states: tuple[str, ...] = tuple(name for name, _ in named)
        """Names of the states, such as ``bottleneck.queue``."""
        self.units: dict[str, str] = dict(named)
        """Their units."""
        tcp = [entry for entry in self._scenario["flows"] if _is_bulk(entry)]
        self.classes: list[str] = [str(entry["name"]) for entry in tcp]
        """Classes of flows that react."""
        self.links: list[str] = [str(entry["name"]) for entry in self._scenario["link"]]
        """Names of the links."""
        self._kinds = {str(entry["name"]): str(entry["congestion"]["kind"]) for entry in tcp}
        # a scheduler that judges packets itself has no AQM
        self._aqms = {str(entry["name"]): str(entry["queue"].get("aqm", "")) for entry in self._scenario["link"]}
        size = _core.quantity(str(tcp[0]["packet_size"]))[0] if tcp else 1500.0
        self.packet_bits = 8 * size
        """Bits of a packet: rates are in bit/s for people and in packets/s in the equations."""
        self._aliases: dict[str, Parameter] = {}
        counts = dict(zip(self.model.parameter_names, self.model.parameters, strict=True))
        self.one_of = max((int(entry["count"] / counts[f"{entry['name']}.count"]) for entry in tcp), default=1)
        """Flows with a queue each of which the equations have one; 1 where they have all flows in one queue."""

    @property
    def notes(self) -> list[str]:
        """Parts of the scenario that the equations leave out."""
        return list(dict.fromkeys(self.model.notes))

    # names

    def parameter(self, name: str) -> Parameter:
        """Return a parameter by its key in a scenario: ``rtt``, ``flows.count``, ``link.NAME.queue.weight``."""
        if name not in self._aliases:
            inner, unit, scale = self._resolve(name)
            self._aliases[name] = Parameter(name, self.model.parameter(inner), scale, unit)
        return self._aliases[name]

    def value(self, name: str, given: str | float) -> float:
        """Return a value of a parameter in SI units; texts such as "10 ms" are read as in a scenario."""
        unit = self.parameter(name).unit
        if not isinstance(given, str):
            return float(given)
        value, kind = _core.quantity(given)
        wanted = {"s": "time", "bit/s": "rate", "bytes": "size", "B": "size", "packets": "packets", "Hz": "frequency"}
        expected = wanted.get(unit, "number")
        if kind != expected and not (kind == "number" and expected == "packets"):
            example = {"time": "10 ms", "rate": "100 Mbit/s", "size": "1500 B", "frequency": "170 Hz"}
            raise ValueError(f"{name}: {given} is not a {expected} such as {example.get(expected, '0.5')}")
        return value

    def least(self, name: str) -> tuple[float, str]:
        """Return below which value a parameter makes no scenario, in SI units, and what stands there."""
        owner, _, key = self._resolve(name)[0].rpartition(".")
        if owner not in self.classes or key not in ("rtt", "count"):
            return -math.inf, ""
        if key == "count":
            return 1.0, "the smallest number there is"
        return self._propagation[owner], "the propagation of its path"

    def most(self, name: str) -> float:
        """Return the largest value that a parameter without unit may have: 1 of a probability; infinite without one."""
        owner, _, key = self._resolve(name)[0].rpartition(".")
        group, kinds = ("aqm", self._aqms) if owner in self._aqms else ("congestion", self._kinds)
        declared = _declared(kinds.get(owner, ""), key, group)
        if declared is None or declared["unit"] or declared["most"] is None:
            return math.inf
        return float(declared["most"])

    def shown(self, parameters: Sequence[float]) -> dict[str, float]:
        """Return parameters by name: those of links and classes, and all that were asked for."""
        names: dict[str, Parameter] = {}
        for inner, index in zip(self.model.parameter_names, range(len(parameters)), strict=False):
            owner, _, key = _unit_apart(inner)[0].rpartition(".")
            if key == "rate":
                names[self._short("link", owner, "rate")] = Parameter("", index, self.packet_bits)
            elif key in ("rtt", "count") and index <= len(self.links) + 2 * len(self.classes):
                names[self._short("flows", owner, key)] = Parameter("", index)
        names |= {name: parameter for name, parameter in self._aliases.items() if parameter.index < len(parameters)}
        return {name: free.scale * parameters[free.index] for name, free in names.items()}

    def _short(self, group: str, owner: str, key: str) -> str:
        alone = len(self.links if group == "link" else self.classes) == 1
        return key if alone else f"{group}.{owner}.{key}"

    def state_index(self, name: str | None) -> int:
        """Return the place of a state, such as ``bottleneck.queue``, or ``queue`` where there is only one."""
        if name is None:
            return 0
        if name in self.states:
            return self.states.index(name)
        indices = [k for k, state in enumerate(self.states) if state.rpartition(".")[2] == name]
        if len(indices) == 1:
            return indices[0]
        problem = "several states are called" if indices else "there is no state"
        raise ValueError(f"{problem} {name!r}; the states are {', '.join(self.states)}")

    def parameters(self, given: Sequence[float]) -> list[float]:
        """Return the parameters, extended by those that were resolved by name since."""
        return [*given, *self.model.parameters[len(given) :]]

    def keys(self) -> list[str]:
        """Return everything that can be varied, by its shortest name."""
        groups: dict[str, Any] = list_algorithms()
        keys = ["gain"]
        keys += [self._short("link", link, "rate") for link in self.links]
        for name in self.classes:
            keys += [self._short("flows", name, "count"), self._short("flows", name, "rtt")]
        for group, kinds, owners, prefix, table in (
            ("aqm", self._aqms, self.links, "link", "queue"),
            ("congestion", self._kinds, self.classes, "flows", "congestion"),
        ):
            for owner in owners:
                start = table if len(owners) == 1 else f"{prefix}.{owner}.{table}"
                entry = next((algorithm for algorithm in groups[group] if algorithm["kind"] == kinds[owner]), None)
                own = next(item for item in self._scenario[prefix] if item["name"] == owner)[table]
                names = [str(parameter["name"]) for parameter in (entry or {"parameters": []})["parameters"]]
                keys += [f"{start}.{name}" for name in names if _is_number(own.get(name))]
        return keys

    def _resolve(self, name: str) -> tuple[str, str, float]:
        """Name in the equations, unit, and scale of a key."""
        if name == "gain":
            return name, "", 1.0
        try:
            path = full_key(name, self._of)
        except KeyError:
            path = name
        for group, owners, table in (("link", self.links, "queue"), ("flows", self.classes, "congestion")):
            if not path.startswith(f"{group}."):
                continue
            rest = path.removeprefix(f"{group}.")
            chosen = next((owner for owner in owners if rest.startswith(f"{owner}.")), None)
            key = rest.removeprefix(f"{chosen}.") if chosen is not None else rest
            plain = key in (("rate",) if group == "link" else ("rtt", "count"))
            kinds = self._aqms if group == "link" else self._kinds
            inner = key.removeprefix(f"{table}.")
            found = {
                owner: _declared(kinds[owner], inner, "aqm" if group == "link" else "congestion")
                for owner in (owners if chosen is None else [chosen])
            }
            possible = [owner for owner, declared in found.items() if plain or (key != inner and declared is not None)]
            if len(possible) > 1:
                options = ", ".join(f"{group}.{owner}.{key}" for owner in possible)
                raise ValueError(f"{name}: say which one; there are {options}")
            if possible and plain:
                scale = self.packet_bits if key == "rate" else 1.0
                return f"{possible[0]}.{key}", {"rate": "bit/s", "rtt": "s"}.get(key, ""), scale
            if possible:
                return f"{possible[0]}.{inner}", str((found[possible[0]] or {})["unit"] or ""), 1.0
        names = self.keys()
        near = [short for short in names if short.rpartition(".")[2] == name]
        rest = f"{meant(near[0])}{available(names)}" if near else among(name, names)
        raise ValueError(f"{name} is not a key that can be varied{rest}")


def _is_number(value: Any) -> bool:
    """Whether a key has a number now, with or without unit: words and switches cannot move."""
    if not isinstance(value, str):
        return isinstance(value, int | float) and not isinstance(value, bool)
    try:
        _core.quantity(value)
    except ValueError:
        return False
    return True


def _propagation(tree: Mapping[str, Any]) -> dict[str, float]:
    """Return the propagation of each class's path there and back over links, s: its base round trip is no shorter."""
    delays = {str(link["name"]): _core.quantity(str(link["delay"]))[0] for link in tree["link"]}
    paths = {
        str(flows["name"]): [*flows["path"], *(back if isinstance(back := flows["reverse_path"], list) else [])]
        for flows in tree["flows"]
    }
    return {name: sum(delays[str(link)] for link in path) for name, path in paths.items()}


def _without_links(scenario: Scenario, names: Sequence[str]) -> Scenario:
    """Return a scenario without some links, and without the flows that cross no others."""
    tree = scenario.canonical
    flows = [{**flow, "path": [link for link in flow["path"] if link not in names]} for flow in tree["flows"]]
    links = [{key: value for key, value in link.items() if key not in ("from", "to")} for link in tree["link"]]
    kept = {"link": [link for link in links if link["name"] not in names], "flows": [f for f in flows if f["path"]]}
    return Scenario({**tree, **kept}, origin=scenario.origin)


def _unit_apart(name: str) -> tuple[str, str]:
    text, opened, rest = name.rpartition(" (")
    return (text, rest[:-1]) if opened and rest.endswith(")") else (name, "")


def _is_bulk(entry: Mapping[str, Any]) -> bool:
    traffic = entry.get("traffic", {})
    return (traffic if isinstance(traffic, str) else traffic.get("kind", "bulk")) == "bulk"


def _declared(kind: str, key: str, group: str) -> dict[str, Any] | None:
    """Return what the registry says of a parameter of an algorithm."""
    entries: list[dict[str, Any]] = list_algorithms()[group]
    parameters = (parameter for entry in entries if entry["kind"] == kind for parameter in entry["parameters"])
    return next((parameter for parameter in parameters if parameter["name"] == key), None)


def _python_laws(scenario: Scenario) -> dict[str, object]:
    """Users' congestion controls by class, each with its fluid law; what has none is refused."""
    tree = scenario.canonical
    laws = {index: make() for index, make in scenario._controllers.items()}
    names = [
        tree["flows"][index]["congestion"]["kind"]
        for index, row in laws.items()
        if not all(callable(getattr(row, method, None)) for method in ("increase", "decrease"))
    ]
    names += [tree["link"][index]["queue"]["aqm"] for index in scenario._managers]
    if names:
        problem = (
            f"the fluid engine knows no law of {', '.join(names)}: a congestion control in Python needs the methods "
            "increase(window, rtt) and decrease(window), an AQM in Python can have none"
        )
        text = f"{scenario.origin}: {problem}"
        raise ScenarioError([Diagnostic(scenario.origin, None, None, "", problem, None, None, None, text)])
    return {str(tree["flows"][index]["name"]): row for index, row in laws.items()}


def fluid(
    scenario: ScenarioLike,
    *,
    duration: str | float | None = None,
    window: float = 1.0,
    start: Mapping[str, float] | None = None,
    samples: int = SAMPLES,
    form: Form = "ack",
    decrease: Decrease = "loss",
    rtt: Rtt = "queueing",
    small_windows: SmallWindows | None = None,
    memory: Memory | None = None,
    averaging: Averaging = "exponential",
    effective_spacing: bool = True,
    clamped: bool = True,
    relative: float = 1e-7,
    steps: int = 2_000_000,
) -> FluidResult:
    """
    Run a scenario in the fluid engine: its windows and queues as smooth functions of time.

    Parameters
    ----------
    scenario
        What to run. All flows start at time 0, and changes during the run are not applied.
    duration
        Length of the run, s, or a text such as "30 s"; the scenario's own by default.
    window
        Value of every window before time 0, packets. Queues are empty then.
    start
        States that have another value before time 0, by name: ``{"bottleneck.queue": 50}``.
    samples
        Number of equally spaced times at which the solution is kept, 2 or more.
    form, decrease, rtt, small_windows, memory, averaging, effective_spacing, clamped
        Choices on which the papers differ: see `Form`, `Decrease`, `Rtt`, `SmallWindows`, `Memory`, `Averaging` and
        `Choices`. The defaults are those of all analyses by equations (`choices_for`).
    relative
        Relative error allowed in a step.
    steps
        Largest number of steps.

    Raises
    ------
    ScenarioError
        If the scenario has no fluid equations; the message names what lacks them.
    ValueError
        If the scenario runs "until done" and no `duration` is given, or a number is out of range.
    AnalysisError
        If the integration fails, or if a smooth trajectory is asked for and there is no equilibrium.
    """
    scenario = scenario_of(scenario)
    choices = choices_for(
        scenario,
        form=form,
        decrease=decrease,
        rtt=rtt,
        small_windows=small_windows,
        memory=memory,
        averaging=averaging,
        effective_spacing=effective_spacing,
        clamped=clamped,
    )
    equations = Equations(scenario, choices)
    if duration is None:
        end = scenario._core.duration
        if end is None:
            raise ValueError('a fluid run needs a duration: the scenario runs "until done"')
    else:
        end = seconds_of("duration", duration, ValueError) if isinstance(duration, str) else float(duration)
    if not 0 < window < math.inf:
        raise ValueError(f"window must be above 0 packets, not {window:g}")
    state = equations.model.empty(window)
    for name, value in (start or {}).items():
        state[equations.state_index(name)] = float(value)
    at = None
    if not clamped:
        at = equations.model.equilibria()[0]
    try:
        return integrate(scenario, equations, at, state, end, samples, relative, steps)
    except AnalysisError as error:
        if error.kind != "too many steps":
            raise
        raise AnalysisError(
            f"{error} of {end:g} s. The equations change too fast there for longer steps: a duration below that time "
            "can be computed",
            error.kind,
        ) from None


def integrate(
    scenario: Scenario,
    equations: Equations,
    at: _core.FluidEquilibrium | None,
    state: Sequence[float],
    duration: float,
    samples: int,
    relative: float,
    steps: int,
) -> FluidResult:
    """Return the solution from a constant history."""
    for name, value, right, allowed in (
        ("duration", duration, 0 < duration < math.inf, "above 0 s"),
        ("samples", samples, samples >= 2 and float(samples).is_integer(), "a whole number, 2 or more"),  # noqa: PLR2004  both ends
        ("relative", relative, 0 < relative < 1, "above 0 and below 1"),
        ("steps", steps, steps >= 1 and float(steps).is_integer(), "a whole number, 1 or more"),
    ):
        if not right:
            raise ValueError(f"{name} must be {allowed}, not {value:g}")
    raw = equations.model.trajectory(at, list(state), duration, relative, 1e-3 * relative, steps)
    return solution(scenario, equations, raw, samples, at)


def share_lost(traces: xr.Dataset, link: str) -> float:
    """Return the part of the arrivals at a link that is dropped or marked in these traces; NaN without arrivals."""
    probability, arrivals = (traces[key].sel(link=link).to_numpy() for key in ("probability", "arrivals"))
    arrived = float(arrivals.sum())
    return float((probability * arrivals).sum()) / arrived if arrived > 0 else math.nan


def solution(
    scenario: Scenario,
    equations: Equations,
    raw: _core.Trajectory,
    samples: int,
    at: _core.FluidEquilibrium | None = None,
) -> FluidResult:
    """Return a trajectory of the core, looked at so many times, as a result."""
    import numpy as np

    times = np.linspace(0.0, raw.span[1], samples)
    states = raw.at(times.tolist())
    observed = equations.model.observe(at, states.tolist())
    return FluidResult(scenario, equations, times, states, observed, raw, at)


class FluidResult(EngineResult):
    """One solution of the fluid equations. Made by `ackclock.fluid` and `Stability.trajectory`."""

    def __init__(
        self,
        scenario: Scenario,
        equations: Equations,
        times: NDArray[np.float64],
        states: NDArray[np.float64],
        observed: dict[str, NDArray[np.float64]],
        raw: _core.Trajectory,
        at: _core.FluidEquilibrium | None = None,
    ) -> None:
        super().__init__(scenario.canonical)
        self._at = at
        self._equations = equations
        self._times, self._states, self._observed, self._raw = times, states, observed, raw
        self.choices = equations.choices
        """Modelling choices on which the papers differ."""
        self.notes = equations.notes
        """Parts of the scenario that the equations leave out."""

    @property
    def end(self) -> float:
        """When the run ended, s."""
        return float(self._times[-1])

    @property
    def one_of(self) -> int:
        """Flows with a queue each of which windows and queues are those of one; 1 where all share a queue."""
        return self._equations.one_of

    @property
    def window(self) -> tuple[float, float]:
        """
        Start and end of what the summary is of, s: the measurement window, or the last half of a run of another length.

        A run that was made longer than its scenario is made to see what comes later.
        """
        measure = str(self._scenario["scenario"].get("measure") or "")
        first, _, last = measure.partition("..")
        if last:
            start, end = (_core.quantity(part.strip())[0] for part in (first, last))
            own = str(self._scenario["scenario"]["duration"])
            if own == "until done" or math.isclose(_core.quantity(own)[0], self.end):
                return start, end
        return 0.5 * self.end, self.end

    @property
    def events(self) -> list[tuple[float, str, str]]:
        """Bounds that a state "reached" or "left": time (s), what, name of the state."""
        states = self._equations.states
        return [(time, what, states[index]) for time, what, index in self._raw.events if what != "switched"]

    @cached_property
    def traces(self) -> xr.Dataset:
        """
        Time series: `window`, `rtt`, `rate` by class; `queue`, `probability`, `arrivals` by link; every state.

        `window` is that of one flow (packets), `rate` its packets a second, `probability` that of loss or marking.
        """
        import numpy as np
        import xarray as xr

        equations = self._equations
        texts = {
            "window": ("class", "packets", "window of one flow"),
            "rtt": ("class", "s", "round-trip time"),
            "rate": ("class", "packets/s", "packets that one flow sends in a second"),
            "probability": ("link", "1", "fraction of the arrivals dropped or marked"),
            "arrivals": ("link", "packets/s", "packets that arrive in a second"),
        }
        data: dict[str, Any] = {
            name: ((of, "time"), self._observed[name].T, {"units": unit, "long_name": text})
            for name, (of, unit, text) in texts.items()
        }
        queues = np.full((len(equations.links), len(self._times)), np.nan)
        for k, link in enumerate(equations.links):
            if f"{link}.queue" in equations.states:
                queues[k] = self._states[:, equations.states.index(f"{link}.queue")]
        data["queue"] = (("link", "time"), queues, {"units": "packets", "long_name": "waiting packets"})
        data["state"] = (("name", "time"), self._states.T)
        coordinates = {
            "time": ("time", self._times, {"units": "s"}),
            "class": equations.classes,
            "link": equations.links,
            "name": list(equations.states),
        }
        return xr.Dataset(data, coords=coordinates, attrs={"scenario": self.name})

    @property
    def table(self) -> pd.DataFrame:
        """All states (columns) over the time (index, s)."""
        import pandas as pd

        index = pd.Index(self._times, name="time")
        return pd.DataFrame(self._states, index=index, columns=list(self._equations.states))

    @cached_property
    def summary(self) -> pd.DataFrame:
        """Mean, smallest and largest value of each window, queue and probability over `window`."""
        import numpy as np
        import pandas as pd

        # times of its own, many in every round trip: those of the traces depend on how long the run
        # is
        start, end = self.window
        shortest = float(np.nanmin(self._observed["rtt"]))
        count = int(np.clip(PER_ROUND_TRIP * (end - start) / shortest, FEWEST_TIMES, MOST_TIMES))
        times = start + (end - start) * (np.arange(count) + 0.5) / count
        states = self._raw.at(times.tolist())
        observed = self._equations.model.observe(self._at, states.tolist())
        equations = self._equations
        queues = np.full((len(equations.links), count), np.nan)
        for k, link in enumerate(equations.links):
            if f"{link}.queue" in equations.states:
                queues[k] = states[:, equations.states.index(f"{link}.queue")]
        columns = {
            "window": ("flows", equations.classes, observed["window"].T),
            "rtt": ("flows", equations.classes, observed["rtt"].T),
            "queue": ("links", equations.links, queues),
            "probability": ("links", equations.links, observed["probability"].T),
        }
        rows = {
            f"{group}.{owner}.{name}": {"mean": values.mean(), "smallest": values.min(), "largest": values.max()}
            for name, (group, owners, series) in columns.items()
            for owner, values in zip(owners, series, strict=True)
        }
        return pd.DataFrame(rows).T

    def json(self) -> dict[str, Any]:
        """Return the summary as a tree of plain values, the same for the same input."""
        groups: dict[str, Any] = {"links": {}, "flows": {}}
        for path, row in self.summary.iterrows():
            group, rest = str(path).split(".", 1)
            owner, key = rest.rsplit(".", 1)
            groups[group].setdefault(owner, {})[key] = dict(row)
        tree: dict[str, Any] = plain(
            {
                "scenario": self.name,
                "version": self.version,
                "engine": "fluid",
                "choices": asdict(self.choices),
                "window_s": list(self.window),
                "end_s": self.end,
                **groups,
                "notes": self.notes,
            }
        )
        return tree

    @presented
    def plot_queue(self, ax: Axes | None = None) -> Axes:
        """Draw the queues over time."""
        raise NotImplementedError

    @presented
    def plot_windows(self, ax: Axes | None = None) -> Axes:
        """Draw the windows over time."""
        raise NotImplementedError

    @presented
    def plot_loss(self, ax: Axes | None = None) -> Axes:
        """Draw the probabilities of loss or marking over time."""
        raise NotImplementedError

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the queues over time."""
        return self.plot_queue(ax)

    @presented
    def _repr_html_(self) -> str:
        raise NotImplementedError

    @presented
    def __str__(self) -> str:
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"<FluidResult of {self.name!r}: {self.end:g} s>"


def coverage() -> pd.DataFrame:
    """
    Return which pairs of congestion control (rows) and AQM (columns) the fluid engine knows.

    A pair is "exact" if both laws are exact averages, "approximate" if a law leaves something out, and "refused" if an
    algorithm has no fluid law. `ackclock.list_algorithms` says what is left out, and whose model it is.
    """
    import pandas as pd

    table: dict[str, dict[str, str]] = {}
    for tcp, aqm, verdict, _ in _core.coverage():
        table.setdefault(aqm, {})[tcp] = verdict
    frame = pd.DataFrame(table)
    frame.index.name = "congestion"
    return frame
