"""Photographs a page of each kind for the docs: makes each with its command and opens it in a browser.

Needs playwright and a chromium. `pages.py why stability` does these only; `--dark` shows the dark look.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

HERE = Path(__file__).resolve().parent
SCENARIOS = HERE.parents[1] / "scenarios"
HEIGHT, MOST = 1000, 200_000
"""Pixels that are shown, and bytes that a picture may have."""
KINDS = {
    "run": ["run", f"{SCENARIOS}/home.toml"],
    "why": ["why", "--rate", "50mbit", "--rtt", "40ms", "--buffer", "250ms"],
    "stability": ["stability", f"{SCENARIOS}/compound-red.toml"],
    "compare": ["compare", "first.toml"],
    "tune": ["tune", f"{SCENARIOS}/home.toml", "--for", "rtt=10ms..100ms", "--for", "flows=2..16", "--target", "20ms"],
    "evaluate": ["evaluate", "pie", "--quick", "--only", "5", "--only", "6", "--seeds", "3"],
    "meanfield": ["meanfield", f"{SCENARIOS}/compound-red.toml"],
    "serve": ["serve", "--port", "0"],
    "paper": ["paper", "aimd-red", "fig-3", "thm-1", "eq-10"],
}


def main() -> None:
    """Make and photograph the kinds that are named, or all."""
    wanted = [kind for kind in sys.argv[1:] if kind in KINDS] or list(KINDS)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        readme = (HERE.parents[1] / "README.md").read_text(encoding="utf-8")
        Path(folder, "first.toml").write_text(readme.split("```toml\n")[1].split("```")[0], encoding="utf-8")
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        scheme: Any = "dark" if "--dark" in sys.argv else "light"
        page = browser.new_page(viewport={"width": 1280, "height": HEIGHT}, color_scheme=scheme)
        for kind in wanted:
            if kind == "serve":
                serve(page)
                continue
            html = Path(folder, ("-".join(KINDS[kind][1:]) if kind == "paper" else kind) + ".html")
            to = (
                ["--out", ".", "--papers", str(HERE.parents[1] / "papers")]
                if kind == "paper"
                else ["--report", f"{kind}.html"]
            )
            subprocess.run([sys.executable, "-m", "ackclock", *KINDS[kind], *to], cwd=folder, check=False)
            page.goto(html.as_uri())
            save(page, HERE / f"page-{kind}.png")


def serve(page: Any) -> None:
    """Photograph the interactive page when all its parts are there."""
    command = [sys.executable, "-m", "ackclock", *KINDS["serve"]]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        page.goto(server.stdout.readline().split()[2])
        page.wait_for_selector("canvas.chart")
        page.wait_for_function("() => !document.querySelector('progress')")
        save(page, HERE / "page.png")
        server.terminate()


def save(page: Any, path: Path) -> None:
    """Write what the browser shows, in few colours: a small file."""
    page.screenshot(path=str(path))
    Image.open(path).convert("RGB").quantize(256, Image.Quantize.MAXCOVERAGE).save(path, optimize=True)
    assert path.stat().st_size < MOST, path


if __name__ == "__main__":
    main()
