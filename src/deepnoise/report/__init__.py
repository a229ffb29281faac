"""One page to look at: what was fitted, how good it is, and whether to trust it."""

from .render import report

__all__ = ["report"]
