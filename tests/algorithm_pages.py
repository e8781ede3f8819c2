"""The maker of the pages of docs/algorithms that are not in Git."""

import importlib.util
from pathlib import Path

PAGES = Path(__file__).parents[1] / "docs" / "algorithms"

_spec = importlib.util.spec_from_file_location("generate", PAGES / "generate.py")
assert _spec is not None
assert _spec.loader is not None
generate = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(generate)
