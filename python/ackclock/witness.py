"""What has been compared with Linux: the counts of ``docs/validation-linux.md``, which ship with the package."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files


@cache
def linux() -> str:
    """Say in how many cells the packet engine agrees with Linux's own TCP and queues."""
    told = json.loads(files(__package__).joinpath("linux_checked.json").read_text(encoding="ascii"))
    good, cells = told["cells"]["all"]
    agree = f"{good} of {cells} cells agree (docs/validation-linux.md)"
    return f'against Linux {told["kernel"]}, the engine in style "linux": {agree}'
