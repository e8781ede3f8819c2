"""Sphinx: `make docs` writes out/docs/index.html. Warnings are errors there."""

import sys
from pathlib import Path

import ziamath

import ackclock

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "extension"), str(HERE / "algorithms")]

project = "ackclock"
author = "the ackclock authors"
version = release = ackclock.__version__
language = "en-GB"

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "ackclock_pages",
]
# papers, scenarios, validation and notebooks are links to the directories of the checkout
include_patterns = [
    "*.md",
    "algorithms/**.md",
    "how-to/*.md",
    "reference/*.md",
    "papers/**.md",
    "scenarios/*.md",
    "validation/**.md",
    "notebooks/*.ipynb",
]

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
html_math_renderer = "mathml"

nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_merge_streams = True

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
napoleon_numpy_docstring = True
napoleon_google_docstring = False
napoleon_use_rtype = False
default_role = "py:obj"
add_module_names = False
toc_object_entries_show_parents = "hide"

html_theme = "furo"
html_title = f"ackclock {release}"
# browsers draw MathML well only with a mathematical font, which many machines lack
html_static_path = ["style", str(Path(ziamath.__file__).parent / "fonts" / "STIXTwoMath-Regular.ttf")]
html_css_files = ["ackclock.css"]
html_copy_source = False
copybutton_exclude = ".linenos, .gp, .go"
copybutton_prompt_text = r"\$ "
copybutton_prompt_is_regexp = True
