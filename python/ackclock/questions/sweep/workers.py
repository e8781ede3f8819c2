"""Who computes the points of a sweep: threads of this process, or the workers of a Dask cluster."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol

from ...core.scenario import Scenario
from ...core.simulate import run
from ...experiment.runner import completed
from .axes import SweepError
from .plan import Point


def compute(scenario: str, seed: int) -> dict[str, float]:
    """Metrics of a scenario (canonical JSON) with a seed; what a worker of a cluster runs."""
    from ...core.scenario import loads

    return _metrics(loads(scenario, form="json"), seed)


def _metrics(scenario: Scenario, seed: int) -> dict[str, float]:
    return run(scenario, seed=seed).numbers()


class Workers(Protocol):
    """Whoever computes points."""

    def results(self, todo: Sequence[Point], tell: Callable[[], None]) -> Iterator[tuple[Point, dict[str, float]]]:
        """Compute points, in any order; `tell` is called now and then."""


def workers(threads: int | None, cluster: str | None) -> contextlib.AbstractContextManager[Workers]:
    """Return those of a cluster, or as many threads as are asked for (default: one per processor)."""
    return contextlib.nullcontext(_Threads(threads or os.cpu_count() or 1)) if cluster is None else _dask(cluster)


@dataclass(frozen=True)
class _Threads:
    """Threads of this process: the engine leaves Python's lock alone."""

    count: int

    def results(self, todo: Sequence[Point], tell: Callable[[], None]) -> Iterator[tuple[Point, dict[str, float]]]:
        for number, metrics in completed(
            lambda point: _metrics(point.scenario, point.seed), todo, threads=self.count, tell=tell
        ):
            yield todo[number], metrics


@contextlib.contextmanager
def _dask(address: str) -> Iterator[Workers]:
    try:
        distributed: Any = import_module("distributed")
    except ImportError:
        raise SweepError("clusters need Dask: pip install 'ackclock[cluster]'") from None
    started = security = None
    local = re.fullmatch(r"local:(\d+)", address)
    if local and int(local[1]) < 1:
        raise SweepError(f"--cluster {address}: a cluster needs one worker or more")
    try:
        if local:
            # processes of our own: they come, however busy the machine is
            import_module("dask").config.set({"distributed.comm.timeouts.connect": "300 s"})
            security = _security(distributed)
            started = distributed.LocalCluster(
                n_workers=int(local[1]),
                threads_per_worker=1,
                dashboard_address=None,
                silence_logs="ERROR",
                protocol="tcp://" if security is None else "tls://",
                security=security,
            )
        client = distributed.Client(started or address, timeout="300 s" if local else "10 s", security=security)
    except RuntimeError as error:
        raise SweepError(f"--cluster {address}: {error}") from error
    except (OSError, ValueError, TimeoutError) as error:
        raise SweepError(
            f"--cluster {address}: there is no Dask scheduler ({error}); allowed are tcp://HOST:PORT and local:N"
        ) from None
    # what goes wrong is said by us, in a sentence
    loggers = [logging.getLogger(name) for name in ("distributed", "tornado")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield _Dask(client, address)
    finally:
        client.close()
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
        if started is not None:
            started.close()


def _security(distributed: Any) -> Any:
    """
    Return keys that live as long as a cluster, so that no other user of this machine can send it programs.

    Dask makes them with the package cryptography; None where that is not installed (see SECURITY.md).
    """
    try:
        return distributed.Security.temporary()
    except ImportError:
        return None


@dataclass(frozen=True)
class _Dask:
    """Workers of a Dask cluster. One that dies has its points computed by others."""

    client: Any
    address: str

    def results(self, todo: Sequence[Point], tell: Callable[[], None]) -> Iterator[tuple[Point, dict[str, float]]]:
        distributed: Any = import_module("distributed")
        running = {
            self.client.submit(
                compute,
                json.dumps(point.scenario.canonical),
                point.seed,
                key=f"ackclock-{point.key}",
                pure=True,
                retries=3,
            ): point
            for point in todo
        }
        waiting = set(running)
        last_seen = time.monotonic()
        # what a client says whose scheduler is gone depends on what it was about
        gone = (distributed.client.FuturesCancelledError, CancelledError, distributed.comm.CommClosedError)
        while waiting:
            done: set[Any] = set()
            try:
                state = distributed.wait(waiting, timeout=1.0, return_when="FIRST_COMPLETED")
                done, waiting = set(state.done), set(state.not_done)
            except TimeoutError:
                pass
            except gone:
                raise self._vanished() from None
            for future in done:
                if future.status in ("lost", "pending"):
                    waiting.add(future)  # its worker died with the result: another one computes it again
                    continue
                try:
                    metrics = future.result()
                except gone:
                    raise self._vanished() from None
                except distributed.scheduler.KilledWorker as error:
                    raise SweepError(
                        f"the cluster at {self.address}: the same point crashed several workers ({error}); what was "
                        "computed is kept"
                    ) from None
                yield running[future], metrics
            tell()
            alive = self.client.status == "running"
            last_seen = time.monotonic() if alive else last_seen
            if time.monotonic() - last_seen > _SILENCE_LIMIT_S:
                raise self._vanished()

    def _vanished(self) -> SweepError:
        return SweepError(f"the cluster at {self.address} has vanished; what was computed is kept, run again to go on")


_SILENCE_LIMIT_S = 10.0
"""How long a cluster may be out of reach, s."""
