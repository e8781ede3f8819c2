"""The interactive page: one link, its queue and its flows, with everything that the engines say of it."""

from .model import World, check_bounds, default, read

__all__ = ["World", "check_bounds", "default", "read"]
