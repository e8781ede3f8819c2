"""Captures of a run: the packets of a link as pcapng, the events of a sender as qlog."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal

from ._words import among
from .errors import AckclockError
from .files import whole_file

__all__ = ["Capture", "CaptureError", "Pcap", "Qlog"]


class CaptureError(AckclockError, ValueError):
    """The scenario has no such link to capture."""


@dataclass(frozen=True)
class Pcap:
    """
    The packets of a link as a pcapng file, for Wireshark and tshark, with times in nanoseconds.

    Headers of IP, TCP and UDP are written from what the engine's packets carry: sequence numbers, acknowledgements,
    SACK blocks, ECN's bits, ACE of AccECN (RFC 9768), windows. Payload is zeros and is left out.
    """

    path: str | os.PathLike[str]
    link: str | None = None
    """Name of the link; needed where the scenario has several."""
    point: Literal["entry", "exit"] = "entry"
    """
    Where it is captured: packets as they reach the queue, dropped ones included, or as they leave the transmitter, with
    the marks of this queue. ACKs over a private path are seen as they pass this router on their way back.
    """


@dataclass(frozen=True)
class Qlog:
    """
    A TCP sender's events as qlog (JSON text sequences, version 0.3), for qvis.

    qlog has no schema of TCP: a packet number counts transmissions, stream 0 is the connection's bytes, and the state
    of the sender is ``recovery:metrics_updated``.
    """

    path: str | os.PathLike[str]
    flow: int = 0
    """Index of the flow over all classes."""


Capture = Pcap | Qlog


class CaptureFiles:
    """The files of captures while a run goes on; whole at its end, or not there."""

    def __init__(self, captures: Sequence[Capture], links: Sequence[str], outputs: ExitStack) -> None:
        self.links: list[tuple[int, bool]] = []
        self.flows: list[int] = []
        self._files: dict[tuple[str, int], BinaryIO] = {}
        for capture in captures:
            if isinstance(capture, Pcap):
                key = ("link", len(self.links))
                self.links.append((_link(capture.link, links), capture.point == "exit"))
            else:
                key = ("flow", len(self.flows))
                self.flows.append(capture.flow)
            part = outputs.enter_context(whole_file(Path(capture.path)))
            self._files[key] = outputs.enter_context(part.open("wb"))

    @property
    def target(self) -> Callable[[str, int, bytes], object] | None:
        """Where the engine writes to; None if nothing is captured."""
        return self._write if self._files else None

    def _write(self, kind: str, index: int, piece: bytes) -> None:
        self._files[kind, index].write(piece)


def _link(name: str | None, links: Sequence[str]) -> int:
    if name is None:
        if len(links) == 1:
            return 0
        raise CaptureError(
            f"the scenario has {len(links)} links: name the one to capture\navailable: {', '.join(links)}"
        )
    if name not in links:
        raise CaptureError(f'there is no link "{name}" to capture{among(name, list(links))}')
    return links.index(name)
