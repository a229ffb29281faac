"""Sites, scanners, batches: a column whose levels are alike, and a place for one not yet seen."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..model.covariates import InputLaw

# The level of all sites that were not there when fitting.
NEW = "(new)"


def site_place(sites: Any, names: Sequence[str]) -> int:
    """The number of the column of sites."""
    if isinstance(sites, int | np.integer) and not isinstance(sites, bool):
        if not 0 <= sites < len(names):
            raise ValueError(f"sites must be a column from 0 to {len(names) - 1}; got {sites}")
        return int(sites)
    if not isinstance(sites, str) or sites not in names:
        raise ValueError(f"sites must be a column of X, by name or number; there is no {sites!r}")
    return list(names).index(sites)


def site_texts(values: np.ndarray, name: str) -> list[str]:
    """Names of sites from values of text or whole numbers; None and NaN are missing."""
    texts = []
    for row, value in enumerate(values):
        if value is None or value != value:
            raise ValueError(
                f"X: column {name!r}, row {row}: the site is missing; name it, if need be as a "
                f"site of its own"
            )
        whole = isinstance(value, float | np.floating)
        if whole and not float(value).is_integer():
            raise ValueError(
                f"X: column {name!r}, row {row} holds {value:g}, but sites are text, categories "
                f"or whole numbers"
            )
        texts.append(str(int(value)) if whole else str(value))
    return texts


def site_levels(texts: Sequence[str], name: str) -> tuple[str, ...]:
    """The levels of a training column of sites, and last that of a site not seen."""
    levels = sorted(set(texts))
    if NEW in levels:
        raise ValueError(f"X: column {name!r}: no site may be called {NEW!r}; it stands for others")
    if len(levels) < 2:
        raise ValueError(
            f"sites: column {name!r} holds one site, {levels[0]!r}; how sites differ shows from "
            f"two on"
        )
    return (*levels, NEW)


def encode_sites(levels: Sequence[str], texts: Sequence[str], name: str) -> np.ndarray:
    """One column of zeros and ones a level; a site that was not there is ``NEW``."""
    place = {level: j for j, level in enumerate(levels)}
    unknown = [row for row, text in enumerate(texts) if text not in place]
    if unknown and NEW not in place:
        raise ValueError(
            f"X: column {name!r}, row {unknown[0]} holds {texts[unknown[0]]!r}, but this model was "
            f"adapted to {levels[-1]!r} alone; ask the model that was fitted"
        )
    return np.eye(len(levels))[[place.get(text, place.get(NEW, 0)) for text in texts]]


def without_later(law: InputLaw, column: int) -> InputLaw:
    """Input laws (M, ...) in which the column of sites to come says nothing of the others.

    It is 0 in all training rows, so that they do not show how inputs of a new site differ.
    """
    precision = np.array(law.precision)
    own = precision[:, column, column].copy()
    precision[:, column, :] = precision[:, :, column] = 0.0
    precision[:, column, column] = own
    return InputLaw(law.mu, precision)
