"""One page to look at: what was fitted, how good it is, and whether to trust it."""

from .page import report

__all__ = ["report"]
