"""The last answers of a kind, for all pages."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

Answer = TypeVar("Answer")


class Kept(Generic[Answer]):
    """Answers by what was asked; of more than `most` the one goes that was not asked for the longest."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._answers: OrderedDict[str, Answer] = OrderedDict()

    def get(
        self, asked: str, compute: Callable[[], Answer], whole: Callable[[Answer], bool] = lambda _: True
    ) -> Answer:
        """Return the answer, computed if it is not there; kept if it is `whole`, and not if computing it failed."""
        key = hashlib.sha256(asked.encode()).hexdigest()
        with self._lock:
            if key in self._answers:
                self._answers.move_to_end(key)
                return self._answers[key]
        answer = compute()
        if whole(answer):
            with self._lock:
                self._answers[key] = answer
                while len(self._answers) > self._most:
                    self._answers.popitem(last=False)
        return answer
