"""Reports: one self-contained HTML file with summary, numbers, figures and the whole scenario."""

from ._page import page, write
from ._template import made_by

__all__ = ["made_by", "page", "write"]
