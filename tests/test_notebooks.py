"""The notebooks run from their first cell to the last, and say what their text says."""

import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"
needs_jupyter = pytest.mark.skipif(
    not all(map(importlib.util.find_spec, ("nbclient", "ipykernel"))), reason="needs the extra notebook"
)


def executed(name: str) -> str:
    """What a notebook prints."""
    import nbformat
    from nbclient import NotebookClient

    notebook: Any = nbformat.read(NOTEBOOKS / name, as_version=4)
    NotebookClient(notebook, resources={"metadata": {"path": str(NOTEBOOKS)}}).execute()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    figures = [output for output in outputs if "image/png" in output.get("data", {})]
    assert figures
    return "".join(output.text for output in outputs if output.output_type == "stream" and output.name == "stdout")


def test_committed_without_outputs() -> None:
    import nbformat

    for path in NOTEBOOKS.glob("*.ipynb"):
        notebook: Any = nbformat.read(path, as_version=4)
        cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
        assert cells
        assert not any(cell.outputs or cell.execution_count for cell in cells), path.name


def test_axes_of_a_sweep_keep_the_labels_that_fit_their_units() -> None:
    """One said "(s)" of milliseconds, and one "part of the link" of percent."""
    import nbformat

    for path in NOTEBOOKS.glob("*.ipynb"):
        notebook: Any = nbformat.read(path, as_version=4)
        for cell in notebook.cells:
            assert "sweep.plot(" not in cell.source or "ylabel" not in cell.source, path.name


@needs_jupyter
@pytest.mark.filterwarnings("default")  # those of Jupyter are not ours
def test_why_does_the_queue_oscillate() -> None:
    said = executed("why-does-the-queue-oscillate.ipynb")
    assert "The queue has no regular period of up to 2.56 s." in said
    assert re.search(r"The queue oscillates with a period of \d", said)
    # the text below it may say no more than this
    assert "Cannot tell from this run whether the flows are synchronised" in said
    assert "this run cannot tell" in (NOTEBOOKS / "why-does-the-queue-oscillate.ipynb").read_text(encoding="utf-8")
    assert "oscillations set in at 40.9 ms" in said
    assert "limit 90.0 ms, onset: sudden" in said
    assert "starts an oscillation (across an unstable limit cycle)" in said
    used = {
        name: float(value) for name, value in re.findall(r"^(RED.*?|drop-tail|CoDel|PI) +(\d+)%", said, re.MULTILINE)
    }
    assert used["RED 50..100 (as it is)"] < 70
    assert used["RED 50..1000, max_p 0.02"] >= 99


@needs_jupyter
@pytest.mark.filterwarnings("default")
def test_choose_an_aqm() -> None:
    said = executed("choose-an-aqm.ipynb")
    assert "The queue does not drain" in said
    match = re.search(r"are faster by (\d+) ± (\d+) ms", said)
    assert match is not None
    assert int(match[1]) > int(match[2])
    assert "tc qdisc replace dev DEV parent 1:1 fq_codel" in said
