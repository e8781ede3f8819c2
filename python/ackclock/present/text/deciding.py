"""How many runs would decide a question, in words."""

from __future__ import annotations

from typing import Final

STATEMENTS: Final = {
    "many-runs": "more than {seeds} runs would be needed to tell",
    "runs": "about {seeds} runs would tell",
}
