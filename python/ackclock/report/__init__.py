"""Reports: one self-contained HTML file with summary, numbers, figures and the whole scenario."""

from ._page import page, write

__all__ = ["page", "write"]
