"""Results of runs, and what they took."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from .. import _core
from ..core.files import whole_file


@dataclass(frozen=True)
class Cost:
    """CPU and wall time of all runs, s."""

    runs: int
    cpu_s: float
    wall_s: float


class Store:
    """Results of runs by what they depend on: scenario, seed, engine, and what was traced."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = threading.Lock()
        self.start_clock()

    def place(self, kind: str, **identity: Any) -> Path:
        """Where a result is or will be."""
        text = json.dumps({"kind": kind, "engine": _engine(), **identity}, sort_keys=True)
        return self.folder / hashlib.sha256(text.encode()).hexdigest()[:32]

    def start_clock(self) -> None:
        """Begin to count CPU time."""
        self._counted = time.process_time()

    def timed(self, place: Path, job: Callable[[], None]) -> None:
        """
        Do a job and record its CPU time, apart from the results, since it is not the same in every run.

        CPU time is the process's since the last job ended, so that the times of jobs that run at once add up.
        """
        wall = time.perf_counter()
        job()
        with self._lock:
            now = time.process_time()
            cpu, self._counted = now - self._counted, now
        self._keep(place.name, Cost(1, cpu, time.perf_counter() - wall))

    def add_up(self, name: str, places: Iterable[Path]) -> None:
        """Keep what the results at `places` took together."""
        costs = [cost for place in sorted(places) if (cost := self.cost(place.name))]
        total = Cost(len(costs), sum(cost.cpu_s for cost in costs), sum(cost.wall_s for cost in costs))
        self._keep(name, total)

    def cost(self, name: str) -> Cost | None:
        """Return what was kept under `name`."""
        path = self.folder / ".times" / f"{name}.json"
        return Cost(**json.loads(path.read_text(encoding="utf-8"))) if path.exists() else None

    def _keep(self, name: str, cost: Cost) -> None:
        folder = self.folder / ".times"
        folder.mkdir(exist_ok=True)
        with whole_file(folder / f"{name}.json") as temporary:
            temporary.write_text(json.dumps(asdict(cost)), encoding="utf-8")


@cache
def _engine() -> str:
    """The compiled core by its content: a rebuilt one starts anew."""
    return hashlib.sha256(Path(str(_core.__file__)).read_bytes()).hexdigest()
