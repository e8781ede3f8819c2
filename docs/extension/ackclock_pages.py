"""
What these pages need beyond Sphinx and MyST.

Links between Markdown files are written as they lie in the checkout, so that they work in an editor and on a forge, and
the directories beside this one are symbolic links in it. The pages of algorithms are written before any is read;
`<!-- commands -->` becomes the reference of the command line, `<!-- keys -->` that of a scenario's keys,
`<!-- algorithms -->` the table of all algorithms, and `<!-- standards -->` the tables of what RFCs ask for. Mathematics
becomes MathML, which browsers draw without a script. Where the laboratory is beside the pages (`make site`), a mark
`<!-- laboratory: FILE ... -->` becomes links that open scenarios in it, and a paper's page lists all of its own. Keys
that are changed stand after a file: `FILE;flows.rtt=200ms`.
"""

from __future__ import annotations

import argparse
import html
import importlib.util
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import generate
from latex2mathml.converter import convert

from ackclock import load
from ackclock.present.server import fragment

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx
    from sphinx.config import Config
    from sphinx.environment import BuildEnvironment
    from sphinx.writers.html5 import HTML5Translator

DOCS = Path(__file__).resolve().parents[1]
LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s#]+)(#[^()\s]*)?\)")
MARK = re.compile(r"<!-- laboratory: (.+?) -->")
CHILDREN = {"algorithms/README": "/algorithms/*/*", "papers/README": "/papers/*/README"}
"""Pages that list others, and their pattern."""


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx calls this."""
    app.connect("config-inited", _write_pages)
    app.connect("env-before-read-docs", _know_links)
    app.connect("source-read", _read)
    app.add_html_math_renderer("mathml", inline_renderers=(_inline, None), block_renderers=(_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _write_pages(_app: Sphinx, _config: Config) -> None:
    generate.main()


def _know_links(app: Sphinx, env: BuildEnvironment, _names: list[str]) -> None:
    """Sphinx looks where a symbolic link leads, and knows a page by where the link is: it shall know both."""
    project = env.project
    project._path_to_docname |= {
        app.srcdir.joinpath(path).resolve(): name for name, path in project._docname_to_path.items()
    }


def _read(app: Sphinx, name: str, source: list[str]) -> None:
    path = app.env.doc2path(name)
    if path.suffix != ".md":
        return
    for marker, text in GENERATED.items():
        if marker in source[0]:
            source[0] = source[0].replace(marker, text())
    source[0] += _of_paper(path.resolve())
    source[0] = MARK.sub(lambda match: _laboratory(app, name, path, match[1].split()), source[0])
    source[0] = LINK.sub(lambda match: _link(match, path), source[0])
    if name in CHILDREN:
        source[0] += f"\n```{{toctree}}\n:hidden:\n:glob:\n:maxdepth: 1\n\n{CHILDREN[name]}\n```\n"


def _of_paper(path: Path) -> str:
    """The mark for all scenarios of a paper, under a heading; nothing on other pages."""
    if path.parent.parent.name != "papers":
        return ""
    files = [
        file.name for file in sorted(path.parent.glob("*.toml")) if "[[flows]]" in file.read_text(encoding="utf-8")
    ]
    return f"\n<!-- laboratory: {' '.join(files)} -->\n" if files else ""


def _laboratory(app: Sphinx, name: str, path: Path, files: list[str]) -> str:
    """Links that open scenarios in the laboratory beside these pages; nothing where there is none."""
    if not app.tags.has("site"):
        return ""
    place = os.path.relpath("laboratory/index.html", os.path.dirname(name) or ".")  # noqa: PTH120  a page's name
    links = []
    for entry in files:
        file, *changes = entry.split(";")
        scenario = load(path.resolve().parent / file).with_(dict(change.split("=", 1) for change in changes))
        label = html.escape(", ".join([scenario.name, *(change.replace("=", " ") for change in changes)]))
        links.append(f'<a href="{place}{fragment(scenario._core.toml())}">{label}</a>')
    return f'<p class="laboratory">Open in the laboratory: {", ".join(links)}</p>'


def _link(match: re.Match[str], path: Path) -> str:
    """A link from where the file really lies. One to a directory leads to what that says of itself, if anything."""
    label, place, part = match.groups("")
    if re.match(r"\w+:", place):
        return match[0]
    target = path.resolve().parent / place
    if target.is_dir():
        target /= "README.md"
        if not target.is_file():
            return label
    return f"[{label}]({os.path.relpath(target, path.parent.resolve())}{part})"


def keys() -> str:
    """The reference of a scenario's keys, in Markdown."""
    from ackclock import _core

    return _core.reference()


def commands() -> str:
    """The reference of the command line, in Markdown, from its parser."""
    return "\n".join(_commands())


def _commands() -> Iterator[str]:
    from ackclock.cli import parser as the_parser

    os.environ["COLUMNS"] = "100"  # argparse wraps the usage at it
    parser = the_parser()
    (subparsers,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    for name, command in subparsers.choices.items():
        yield from ("", f"## ackclock {name}", "", _text(command.description or ""), "")
        yield from ("```text", command.format_usage().removeprefix("usage: ").rstrip(), "```", "")
        examples = re.search(r"^examples:\n(.*?)(?:\n\n|\Z)", command.epilog or "", re.MULTILINE | re.DOTALL)
        if examples:
            yield from ("```text", re.sub(r"^  ", "", examples[1], flags=re.MULTILINE), "```", "")
        for action in command._actions:
            if action.dest == "help" or action.help is argparse.SUPPRESS:
                continue
            formatter = command._get_formatter()
            yield f"`{formatter._format_action_invocation(action)}`"
            yield f": {_text(formatter._expand_help(action)) if action.help else ''}"
            yield ""


def standards() -> str:
    """The tables of `standards/generate.py`, in Markdown."""
    spec = importlib.util.spec_from_file_location("standards", DOCS / "standards" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return "\n".join(module.page_lines())


GENERATED = {
    "<!-- commands -->": commands,
    "<!-- keys -->": keys,
    "<!-- algorithms -->": generate.index,
    "<!-- standards -->": standards,
}
"""Marks in pages, and what stands there instead of them."""


def _text(text: str) -> str:
    """Plain text as Markdown."""
    return re.sub(r"([*_<>\[\]`$|])", r"\\\1", " ".join(text.split()))


def _inline(self: HTML5Translator, node: nodes.math) -> None:
    self.body.append(convert(node.astext()))
    raise _skip()


def _block(self: HTML5Translator, node: nodes.math_block) -> None:
    self.body.append(f'<div class="math">{convert(node.astext(), display="block")}</div>')
    raise _skip()


def _skip() -> Exception:
    from docutils.nodes import SkipNode

    skip: Exception = SkipNode()
    return skip
