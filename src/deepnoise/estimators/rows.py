"""The rows of a fit, as its chains know them."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from ..model.outcome import Choice, Levels, Window


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Rows in standardised units, which the chains of a fit were given.

    ``x`` (N, P) are inputs of the network, NaN where missing.  ``y`` (N, Q) has a number for every
    outcome.  ``seen`` is what is known of outcomes: ``y`` itself, windows, levels or choices.
    """

    x: np.ndarray
    y: np.ndarray
    seen: Any

    def __len__(self) -> int:
        return len(self.x)

    def arrays(self) -> dict[str, np.ndarray]:
        """What a model folder keeps of them, by name."""
        if self.seen is self.y:
            return {"x": self.x, "y": self.y}
        seen = {name: np.asarray(a) for name, a in vars(self.seen).items()}
        return {"x": self.x, "y": self.y, **seen}

    @classmethod
    def of(cls, arrays: Mapping[str, np.ndarray]) -> "TrainingRows":
        """The inverse of :meth:`arrays`, which may hold other arrays too."""
        for kind in (Window, Levels, Choice):
            names = [part.name for part in fields(kind)]
            if set(names) <= set(arrays):
                return cls(arrays["x"], arrays["y"], kind(*(arrays[name] for name in names)))
        return cls(arrays["x"], arrays["y"], arrays["y"])
