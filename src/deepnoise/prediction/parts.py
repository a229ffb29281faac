"""Influence and variance parts as tables of texts, for notebooks and plain text."""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from .decompose import VarianceParts
    from .influence import Influence

Table = tuple[str, list[str], list[list[str]]]
FEATURES = 20
ROWS = 10


def influence_table(found: "Influence") -> Table:
    """The strongest columns first; of several outcomes, a line a column and outcome."""
    effects, spread = found.on_mean, found.on_sd
    columns = len(found.columns)
    size, floor, mean, low, high, on_sd = (
        part.reshape(columns, -1)
        for part in (
            effects.size,
            effects.floor,
            effects.signed.mean,
            effects.signed.lower,
            effects.signed.upper,
            spread.size,
        )
    )
    outcomes = size.shape[1]
    order = np.argsort(-size.max(axis=1), kind="stable")[:FEATURES]
    rows = [
        [
            found.columns[j],
            *([str(q + 1)] if outcomes > 1 else []),
            f"{size[j, q]:.4g}",
            f"{floor[j, q]:.4g}",
            f"{mean[j, q]:+.4g} ({low[j, q]:.4g} to {high[j, q]:.4g})",
            f"{on_sd[j, q]:.4g}",
        ]
        for j in order
        for q in range(outcomes)
    ]
    outcome = ["outcome"] if outcomes > 1 else []
    return (
        "Influence: change of y per sd of a column" + _more(columns, FEATURES, "strongest"),
        ["column", *outcome, "size", "noise reaches", "direction", "size, on the sd of y"],
        rows,
    )


def variance_table(found: "VarianceParts") -> Table:
    """The standard deviation of the first rows, and the share of each part in its square."""
    epistemic, aleatoric = (
        part.reshape(len(part), -1) for part in (found.epistemic, found.aleatoric)
    )
    total = epistemic + aleatoric
    shares = found.shares.reshape(len(total), len(found.sources), -1) * aleatoric[:, None]
    outcomes = total.shape[1]
    rows = [
        [
            str(n + 1),
            *([str(q + 1)] if outcomes > 1 else []),
            f"{np.sqrt(total[n, q]):.4g}",
            *(f"{100 * part / total[n, q]:.1f} %" for part in (epistemic[n, q], *shares[n, :, q])),
        ]
        for n in range(min(len(total), ROWS))
        for q in range(outcomes)
    ]
    outcome = ["outcome"] if outcomes > 1 else []
    return (
        "Predictive variance: share of not knowing the parameters (epistemic) and of each noise"
        + _more(len(total), ROWS, "first rows"),
        ["row", *outcome, "sd", "epistemic", *found.sources],
        rows,
    )


def _more(count: int, shown: int, which: str) -> str:
    return f", the {shown} {which} of {count:,}" if count > shown else ""
